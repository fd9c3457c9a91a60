# Opens the output of one file of terminals (terminal.gp). Texts are shown as they are: names of a result are no markup.
# A label that is not to be seen has no text: gnuplot 5.4 crashes on a plot of a single label at NaN.

# Points of an SVG are larger than those of an image.
point_scale = file eq "svg" ? 0.6 : 1.0
# gnuplot would name a family of fonts that no browser has.
bold = file eq "svg" ? "sans" : "sans:Bold"
if (file eq "svg") {
    set terminal svg size int(width), int(height) dynamic noenhanced font "sans,12" background rgb "white"
    set output out . ".svg"
}
if (file eq "png" && has_cairo) { set terminal pngcairo size int(pixels * width), int(pixels * height) noenhanced font "sans,12" fontscale 1.35 }
if (file eq "png" && !has_cairo) { set terminal png size int(pixels * width), int(pixels * height) noenhanced font "sans,12" fontscale 1.35 }
if (file eq "png") { set output out . ".png" }
if (file eq "dumb") {
    lines_of_text = int(columns * height / width / 1.4 + 0.5)
    set terminal dumb noenhanced size columns, (lines_of_text > 16 ? lines_of_text : 16)
    set output
}
