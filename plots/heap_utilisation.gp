# How full an arena of the device heap gets before a request fails: a bar is the mean of the seeds, and its
# whisker goes down to the least. A panel for each distribution of sizes.

panels = words(sizes)
panel_height = 260
load "panels.gp"

set yrange [0 : 1.05]
set ytics ("0" 0, "25 %%" 0.25, "50 %%" 0.5, "75 %%" 0.75, "100 %%" 1) font ",9"
set xrange [-0.6 : count - 0.4]
set style fill solid noborder
set boxwidth 0.7
set xtics nomirror font ',9' ()
do for [i = 1:count] { set xtics add (word(series, i) i - 1) }
heading = "how full an arena gets before a request finds no room: mean, and down to the least"
key = "unset key"
x_title = "policy"
y_title = "filled"

chart = "set title word(sizes, p) . ' sizes' offset 0, -0.8 font ',11'; \
    plot for [i = 1:count] data index p - 1 using ($1 == i - 1 ? $1 : NaN):2 with boxes lc rgb colour[i] notitle, \
        data index p - 1 using 1:3:(0):($2 - $3) with vectors nohead lw 1.5 lc rgb '#404040' notitle, \
        data index p - 1 using 1:($2 + 0.04):(sprintf('%.1f %%', 100 * $2)) with labels font ',9' notitle"
load "panels_draw.gp"
