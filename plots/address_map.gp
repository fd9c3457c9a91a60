# Where blocks lie (y) and how long they live (x): a panel for each configuration. A frame is a block that
# several arrays share, with the arrays in it. Hatching marks bytes that two arrays use at the same time. Grey
# is memory that is held and not used.

panels = words(series)
panel_height = 300
load "panels.gp"

array steps[panels]
stats data index 0 using (steps[int($1) + 1] = $3) nooutput
set yrange [0 : 1.02 * top / unit_bytes]
set xtics autofreq font ",9"
set ytics font ",9"
# Wong's palette, half as strong, so that names can be read on it.
tints = "0x9AD1F2 0xF2CC80 0x80CFB9 0xF7F0A1 0xE5BBD3 0xCCCCCC 0x80B9D8 0xEAAE80"
fill(i) = i < 1 ? 0xffffff : int(word(tints, int(i)))
heading = "address map of " . what . " (x: requests, releases and commands; y: " . unit . ")"
key = "unset key"

box = "(($1 + $2) / 2):(($3 + $4) / 2 / unit_bytes):1:2:($3 / unit_bytes):($4 / unit_bytes)"
solid = box . ":(fill($5)) with boxxyerror fs solid 1 border lc rgb '#404040' lw 0.7 fc rgb variable notitle"
name = "(($1 + $2) / 2):(($3 + $4) / 2 / unit_bytes):6 with labels font ',8' textcolor rgb '#111111' notitle"
chart = "set title word(series, p) offset 0, -0.8 font ',11'; b = 4 * p - 3; set xrange [0 : steps[p]]; \
    plot data index b using " . box . " with boxxyerror fs solid 1 noborder fc rgb '#e8e8e8' notitle, \
        data index b + 1 using " . solid . ", data index b + 2 using " . solid . ", \
        data index b + 3 using " . box . " with boxxyerror fs transparent pattern 4 noborder lw 0.7 fc rgb '#000000' notitle, \
        data index b + 1 using " . name . ", data index b + 2 using " . name
load "panels_draw.gp"
