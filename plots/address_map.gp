# Where blocks lie (y) and how long they live (x): a panel for each configuration. A frame is a block that
# several arrays share, with the arrays in it. A shadow marks bytes that two arrays use at the same time. Grey
# is memory that is held and not used; red is where blocks are missing. (No patterns: browsers print each as an image.) A panel of a long run has
# cells: dark for what is in blocks all the time of the cell, light for what is at times.

panels = words(series)
panel_height = 300
legend_room = 46
load "panels.gp"

array steps[panels]
array held[panels]
array cell_steps[panels]
array cell_bytes[panels]
stats data index 0 using (steps[int($1) + 1] = $3, held[int($1) + 1] = $4, cell_steps[int($1) + 1] = $5, cell_bytes[int($1) + 1] = $6) nooutput
end = 1
do for [p = 1:panels] { end = steps[p] / step_scale > end ? steps[p] / step_scale : end }
set yrange [0 : 1.02 * top / unit_bytes]
set ytics font ",9"
set xrange [0 : end]
set xtics tick_step(end) font ",9"
set format x tick_format(end)
# Wong's palette, half as strong, so that names can be read on it.
tints = "0x9AD1F2 0xF2CC80 0x80CFB9 0xF7F0A1 0xE5BBD3 0xCCCCCC 0x80B9D8 0xEAAE80"
fill(i) = i < 1 ? 0xffffff : int(word(tints, int(i)))
heading = "address map of " . what
x_title = step_name
y_title = unit
key = is_text ? "unset key" : "set key at screen 0.5, screen key_at / height center vertical samplen 1.2 maxrows 4 font ',9'"

# What the colours are, in the key of the first panel. Maps with cells have no arrays.
has_cells = 0
do for [p = 1:panels] { has_cells = has_cells || cell_steps[p] > 0 }
once(count) = p == 1 && !is_text ? count : 0
map_value = "for [i = 1:values(2)] '+' every ::0::0 using (i > 1 ? end : 0):(0.51 * top / unit_bytes):(word(series, p) . ': what is drawn reaches up to ' . whole(held[p])) with labels hypertext point pt 7 ps reach(panel_reach) lc rgb clear notitle"
legend = map_value . ", for [i = 1:once(words(names))] keyentry with boxes fs solid 1 border lc rgb '#404040' fc rgb fill(i) title word(names, i), \
        for [i = 1:once(has_cells)] keyentry with boxes fs solid 1 border lc rgb '#404040' fc rgb '#005E9E' title 'in blocks all the time', \
        for [i = 1:once(has_cells)] keyentry with boxes fs solid 1 border lc rgb '#404040' fc rgb '#9AD1F2' title 'at times', \
        for [i = 1:once(1)] keyentry with boxes fs solid 1 noborder fc rgb '#e0e0e0' title 'held', \
        for [i = 1:once(!has_cells)] keyentry with boxes fs transparent solid 0.45 noborder fc rgb '#000000' title 'two arrays at once', \
        for [i = 1:once(!has_cells)] keyentry with boxes fs solid 1 noborder fc rgb '#FFC9C9' title 'not recorded'"

box = "(($1 + $2) / 2 / step_scale):(($3 + $4) / 2 / unit_bytes):($1 / step_scale):($2 / step_scale):($3 / unit_bytes):($4 / unit_bytes)"
solid = box . ":(fill($5)) with boxxyerror fs solid 1 border lc rgb '#404040' lw 0.7 fc rgb variable notitle"
name = "(($1 + $2) / 2 / step_scale):(($3 + $4) / 2 / unit_bytes):6 with labels font ',8' textcolor rgb '#111111' notitle"
boxes = "plot data index b using " . box . " with boxxyerror fs solid 1 noborder fc rgb '#e8e8e8' notitle, \
        data index b + 4 using " . box . " with boxxyerror fs solid 1 noborder fc rgb '#FFC9C9' notitle, \
        data index b + 1 using " . solid . ", data index b + 2 using " . solid . ", \
        data index b + 3 using " . box . " with boxxyerror fs transparent solid 0.45 noborder fc rgb '#000000' notitle, \
        data index b + 1 using " . name . ", data index b + 2 using " . name . ", " . legend

# Parts of the colours of a cell: white is not held, then grey, light and dark blue.
part(held, most, least, white, grey, light, dark) = (h = held > most ? held : most, \
    255 - (255 - grey) * (h - most) - (255 - light) * (most - least) - (255 - dark) * least)
red(held, most, least) = part(held, most, least, 255, 216, 154, 0)
green(held, most, least) = part(held, most, least, 255, 216, 209, 94)
blue(held, most, least) = part(held, most, least, 255, 216, 242, 158)
letter(held, most, least) = least > 0.5 ? "#" : most > 0.5 ? "+" : most > 0 ? "-" : held > 0 ? "." : " "
cell = "($1 * cell_steps[p] / step_scale):($2 * cell_bytes[p] / unit_bytes):"
cells = is_text ? "plot data index b using " . cell . "(letter($3, $4, $5)) with labels notitle" : \
    "plot data index b using " . cell . "(red($3, $4, $5)):(green($3, $4, $5)):(blue($3, $4, $5)) with rgbimage notitle, " . legend
cut(p) = held[p] > 1.02 * top ? " (held up to " . amount(held[p]) . ")" : ""
chart = "set title word(series, p) . cut(p) offset 0, -0.8 font ',11'; b = 5 * p - 4; \
    if (cell_steps[p] > 0) { " . cells . " } else { " . boxes . " }; unset key"
load "panels_draw.gp"
