# How often a pool that several chunks share is too small, against its size: measured, with sizes drawn one by one,
# with a separate buffer of its share for each chunk, and as claimed (dashed). A panel for each number of chunks.

panels = words(chunks)
key_height = 15 * 5
panel_height = 250 + key_height
series = '"measured" "drawn one by one" "separate buffers" "claimed (at the bottom: less than that)"'
load "panels.gp"

stats data using 1 name "PERCENT" nooutput
set logscale x 2
set logscale y 10
set xrange [PERCENT_min / 1.1 : PERCENT_max * 1.1]
set yrange [1e-6 : 1.5]
set xtics ("50 %%" 50, "100 %%" 100, "200 %%" 200, "400 %%" 400, "800 %%" 800) font ",9"
set ytics ("1" 1, "10 %%" 0.1, "1 %%" 0.01, "0.1 %%" 1e-3, "10⁻⁴" 1e-4, "10⁻⁵" 1e-5, "10⁻⁶" 1e-6) font ",9"
heading = "how often a pool is too small, against its size over the mean demand"
key = "set key at graph 0, graph -0.2 left top vertical Left reverse font ',9' samplen 3 spacing 1.05 maxcols 1"
seen(y) = y > 0 ? y : NaN

chart = "set title (word(chunks, p) eq '1' ? 'one chunk' : word(chunks, p) . ' chunks') offset 0, -0.8 font ',11'; \
    plot data index p - 1 using 1:(seen($2)) with linespoints pt 7 ps 0.9 lw 2.5 lc rgb '#0072B2' title word(series, 1), \
        data index p - 1 using 1:(seen($3)) with linespoints pt 6 ps 0.7 lw 1.5 lc rgb '#56B4E9' title word(series, 2), \
        data index p - 1 using 1:(seen($4)) with linespoints pt 5 ps 0.7 lw 1.5 lc rgb '#E69F00' title word(series, 3), \
        data index p - 1 using 1:($5 > 1.1e-6 ? $5 : 1.1e-6) with lines lw 2 dt 2 lc rgb '#D55E00' title word(series, 4)"
load "panels_draw.gp"
