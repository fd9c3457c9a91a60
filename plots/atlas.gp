# The cost of each method of getting memory by size: a panel each for alloc, first use and free. Lines are medians,
# bands go from p10 to p90. The name at a line has the fit a + size / b.

panels = words(titles)
load "atlas_axes.gp"

# All panels have the same range of times, so that they can be compared.
stats data using 2 name "TIME" nooutput
stats data using 1 name "SIZE" nooutput
low = floor(log10(TIME_min))
high = ceil(log10(TIME_max))
set xrange [SIZE_min / 1.5 : SIZE_max * 3]
set yrange [10 ** low : 10 ** high]
panel_height = 250.0
between = 58.0
head = 30.0
width = 830
height = head + panels * (panel_height + between) + 36
load "atlas_labels.gp"

do for [file in terminals] {
    load "open.gp"
    if (file ne "dumb") {
        set multiplot
        set label 1 folded(caption . note) at screen 0.5, screen caption_at / height center font ',9' textcolor rgb '#606060'
        set lmargin at screen 76.0 / width
        set rmargin at screen (width - names_width) / width
        do for [p = 1:panels] {
            set tmargin at screen 1 - (head + (p - 1) * (panel_height + between)) / height
            set bmargin at screen 1 - (head + (p - 1) * (panel_height + between) + panel_height) / height
            set title word(titles, p) . (p == 1 ? ": median, and p10 to p90" : "") font bold . ",11" offset 0, -0.5
            if (p == panels) { set xlabel "size of the memory" offset 0, 0.4 }
            plot for [i = 1:count] data index (p - 1) * count + i - 1 using 1:3:4 \
                    with filledcurves lc rgb colour_of(word(series, i)) notitle, \
                for [i = 1:count] data index (p - 1) * count + i - 1 using 1:2 \
                    with linespoints lw 2 pt 7 ps point_scale * 0.4 lc rgb colour_of(word(series, i)) notitle, \
                for [i = 1:count] "+" every ::0::0 using (from_x((p - 1) * count + i)):(from_y((p - 1) * count + i)):(run_x((p - 1) * count + i)):(rise_y((p - 1) * count + i)) \
                    with vectors nohead lw 0.5 dt 3 lc rgb colour_of(word(series, i)) notitle, \
                for [i = 1:count] "+" every ::0::0 using (names_x):(y_of((p - 1) * count + i)):(name_at((p - 1) * count + i)) \
                    with labels left offset 0.8, 0 font ",10" textcolor rgb colour_of(word(series, i)) notitle
            unset label 1
        }
        unset multiplot
        unset xlabel
    } else {
        # On a terminal each panel is a page, and each method is drawn with a character of its own.
        set key below Left reverse maxcols 1
        do for [p = 1:panels] {
            set title word(titles, p) . (p == panels ? "\n" . folded(caption . note) : "")
            plot for [i = 1:count] data index (p - 1) * count + i - 1 using 1:2 with lines \
                title word(legends, (p - 1) * count + i)
        }
        unset title
    }
}
