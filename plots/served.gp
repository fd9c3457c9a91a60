# Sorted dots: how many times as fast unmodified programs are when served, a row a program, with the interval of the median.
# Needs the variables data (name, median, least, most; the least first), out and device.
set encoding utf8
stats data using 2 nooutput
set terminal pngcairo size 1200, 90 + 26 * STATS_records font "sans,12" background "white" noenhanced
set output out
set title "Served by gamut, an unmodified program of CUDA is up to " . sprintf("%.1f", STATS_max) . " times as fast (" . device . ")"
set xlabel "times as fast as alone"
set logscale x 2
set xtics add ("0.9" 0.9, "1" 1, "1.2" 1.2, "1.5" 1.5, "2" 2, "2.5" 2.5, "3" 3)
set yrange [STATS_records - 0.5 : -0.5]
set grid xtics linecolor "#dddddd"
set arrow from 1, graph 0 to 1, graph 1 nohead linecolor "#000000" linewidth 1.5
unset key
plot data using 2:0:3:4:ytic(1) with xerrorbars pointtype 7 pointsize 1.2 linewidth 1.5 linecolor "#0072B2"
