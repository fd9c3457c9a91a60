# How much merging reduces the peak of requested bytes: bars by workload, negative where the peak grew. A short
# line marks the least live lower bound of all merge sets: a larger reduction is impossible.

load "style.gp"

set ylabel "off the peak as written"
set xzeroaxis lt 1 lc rgb "#404040" lw 1.5

# A bar that would dwarf all others ends at the bottom and has its number written on it.
lowest = -1
cut(v) = v < lowest ? lowest : v

chart = "plot data index 0 using 1:(0):xtic(2) with points pt -1 notitle, \
    for [i = 1:count] data index i using (at($1)):(cut($2)) with boxes lc rgb colour[i] fs pattern pattern[i] title word(series, i), \
    for [i = 1:count] data index i using (at($1) - box / 2):(cut($3)):(box):(0) with vectors nohead lw 2.5 lc rgb '#D55E00' title (i == 1 ? 'least bound' : ''), \
    for [i = 1:count] data index i using (at($1)):($2 < lowest ? lowest : 0):($2 < lowest ? sprintf('%.0f %%', 100 * $2) : '') with labels rotate by 90 left offset 0, 0.4 font ',9' notitle, \
    for [i = 1:count] data index i using (at($1)):(0):(stringcolumn(6) eq 'ok' ? '' : stringcolumn(6)) with labels rotate by 90 left offset 0, 0.4 font ',9' notitle"

set terminal dumb
set output "/dev/null"
eval chart
high = GPVAL_DATA_Y_MAX > 0.05 ? GPVAL_DATA_Y_MAX : 0.05
low = GPVAL_DATA_Y_MIN < 0 ? GPVAL_DATA_Y_MIN : 0
set yrange [low < 0 ? low - 0.05 : 0 : high * 1.12]
set format y "%.0f %%"
step = high - low > 10 ? (high - low) / 8 : high - low > 1 ? 0.5 : high - low > 0.4 ? 0.2 : high - low > 0.12 ? 0.05 : 0.01
set ytics ()
do for [k = int(floor(low / step)):int(ceil(high / step))] { set ytics add (sprintf("%.0f %%%%", 100 * k * step) k * step) }

load "draw.gp"
