# How often a pool that several chunks share is too small, against its size: measured, with sizes drawn one by one,
# with a separate buffer of its share for each chunk, and as claimed (dashed). A panel for each number of chunks. A
# claim below the axis is words.

panels = words(panel_names)
panel_height = 250
label_room = 76
series = '"measured" "drawn singly" "separate" "claimed"'
load "panels.gp"
array own[4] = ["#0072B2", "#56B4E9", "#E69F00", "#D55E00"]

stats data using 2 name "PERCENT" nooutput
stats data using ($3 > 0 ? $3 : NaN) name "SEEN" nooutput
label_low = floor(log10(SEEN_min)) - 1
label_high = 0.1
set xtics ("50 %%" 50, "100 %%" 100, "200 %%" 200, "400 %%" 400, "800 %%" 800) font ",9"
set ytics ("100 %%" 1, "10 %%" 0.1, "1 %%" 0.01, "0.1 %%" 1e-3, "0.01 %%" 1e-4, "0.001 %%" 1e-5, "0.0001 %%" 1e-6) font ",9"
heading = "how often a shared pool is too small, against its size"
x_title = "size of the pool over the mean demand"
y_title = "too small"
key = is_text ? "set key inside top right" : "unset key"
seen(y) = y > 10 ** label_low ? y : NaN

label_step = 12.0 / (panel_height - 58) * (label_high - label_low)
label_near = 1e9
array end_x[panels * count]
array end_y[panels * count]
array hidden[panels]
do for [p = 1:panels] {
    hidden[p] = 1
    do for [i = 1:count] {
        k = (p - 1) * count + i
        end_x[k] = 0
        end_y[k] = NaN
        stats data index p - 1 using (column(i + 2) > 10 ** label_low ? (end_x[k] = $2, end_y[k] = log10(column(i + 2)), $2) : $2) nooutput
        if (i == 4 && end_y[k] == end_y[k]) { hidden[p] = 0 }
    }
}
load "line_labels.gp"
set logscale x 2
set logscale y 10
set xrange [PERCENT_min / 1.1 : PERCENT_max * 1.1]
set yrange [10 ** label_low : 10 ** label_high]
end_of(p, i) = is_line((p - 1) * count + i) ? 10 ** label_y[(p - 1) * count + i] : 10 ** label_low
start_of(p, i) = end_x[(p - 1) * count + i] > 0 ? end_x[(p - 1) * count + i] : PERCENT_min
name_of(p, i) = is_line((p - 1) * count + i) && !is_text ? word(series, i) : ""
claim_of(p) = hidden[p] ? "claimed: below the axis" : ""

chart = "set title (word(panel_names, p) eq '1' ? 'one chunk' : word(panel_names, p) . ' chunks') offset 0, -0.8 font ',11'; \
    set label 3 claim_of(p) at graph 0.02, graph 0.06 font ',9' textcolor rgb own[4]; \
    plot for [i = 1:3] data index p - 1 using 2:(seen(column(i + 2))) with linespoints pt (i == 2 ? 6 : i == 3 ? 5 : 7) ps point_scale * (i == 1 ? 0.9 : 0.7) lw (i == 1 ? 2.5 : 1.5) lc rgb own[i] title word(series, i), \
        data index p - 1 using 2:(seen($6)) with lines lw 2 dt 2 lc rgb own[4] title word(series, 4), \
        for [i = 1:count] '+' every ::0::0 using (start_of(p, i)):(end_of(p, i)):(name_of(p, i)) with labels left offset 1, 0 font ',9' textcolor rgb own[i] notitle"
load "panels_draw.gp"
