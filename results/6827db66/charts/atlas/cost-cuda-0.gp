# Made by `gamut plot`. In this folder, `gnuplot <this file>` draws it again as .svg and .png,
# `gnuplot -e "terminals='dumb'" <this file>` on the terminal.

data = 'cost-cuda-0.dat'
out = 'cost-cuda-0'
caption = 'NVIDIA H200 (cuda:0), driver 580.159.04, rev 890706878df1, 1 round, 2026-11-21'
note = ''
series = '"raw" "stream:threshold=0" "stream:threshold=max" "vmm" "pinned" "shared"'
legends = '"raw: 16.5 us; from 2.00 MiB 100.0 us + 2.49 TiB/s" "stream:threshold=0: 63.8 us + 939 GiB/s" "stream:threshold=max: 12.9 us + 53.2 TiB/s" "vmm: 101 us + 2.3 TiB/s" "pinned: 849 us; from 3.00 MiB 0.00 ns + 2.12 GiB/s" "shared: 162 us + 10.3 GiB/s"'

# What a memory costs by its size: alloc, first use and free on an idle device, a line a method, the legend with the
# fit a + size / b; and a copy of as many bytes, dashed.

# What to draw into: an image that scales, one that goes everywhere, or text. A chart sets width and
# height, in points of the SVG, and evaluates open_file(f) for each f of terminals.

set encoding utf8
if (!exists("terminals")) { terminals = "svg png" }
if (!exists("columns")) { columns = 100 }
is_text = terminals eq "dumb"
pixels = 1.6
bitmap = strstrt(GPVAL_TERMINALS, "pngcairo") ? "pngcairo" : "png"
open_file(f) = f eq "svg" ? sprintf('set terminal svg size %d,%d dynamic font "sans,12" background rgb "white"; set output "%s.svg"', width, height, out) \
    : f eq "png" ? sprintf('set terminal %s size %d,%d font "sans,12" fontscale 1.35; set output "%s.png"', bitmap, pixels * width, pixels * height, out) \
    : sprintf('set terminal dumb noenhanced size %d,%d; set output', columns, columns * height / width / 1.4 > 16 ? columns * height / width / 1.4 : 16)

methods = words(series)

# What charts of an atlas share: sizes and times on logarithmic axes, and a colour a method.

set border 3 lc rgb "#404040"
set tics nomirror out
if (!is_text) { set grid xtics ytics lc rgb "#dddddd" lw 1 lt 1 }
set logscale x 2
set logscale y 10
set key at graph 0, graph -0.17 left top vertical Left reverse noenhanced font ',10' samplen 1.5 spacing 1.1 maxcols 1
set style fill transparent solid 0.15 noborder
set datafile missing "NaN"

set xtics ("1 KiB" 2**10, "32 KiB" 2**15, "1 MiB" 2**20, "32 MiB" 2**25, "1 GiB" 2**30, \
    "32 GiB" 2**35, "1 TiB" 2**40) 
set ytics ("1 ns" 1, "10 ns" 1e1, "100 ns" 1e2, "1 µs" 1e3, "10 µs" 1e4, "100 µs" 1e5, "1 ms" 1e6, \
    "10 ms" 1e7, "100 ms" 1e8, "1 s" 1e9, "10 s" 1e10)

# Wong's palette. Methods that are strategies too have their colours (style.gp).
colour_of(method) = method eq "raw" ? "#999999" : method eq "resident" || method eq "stream:threshold=0" ? "#000000" : \
    method eq "stream:threshold=max" ? "#CC79A7" : method eq "vmm" ? "#56B4E9" : method eq "pinned" ? "#E69F00" : \
    method eq "shared" ? "#D55E00" : method eq "malloc" ? "#009E73" : "#F0E442"
dash_of(method) = method eq "raw" ? 1 : method eq "resident" || method eq "stream:threshold=0" ? 3 : method eq "stream:threshold=max" ? 4 : \
    method eq "vmm" ? 1 : method eq "pinned" ? 5 : method eq "shared" ? 4 : 1

set key at graph 0.02, 0.98 left top vertical Left reverse noenhanced font ',10' samplen 2 spacing 1.1 maxcols 1
set xlabel "bytes"
set ylabel "alloc + first use + free" offset 1
stats data using 2 name "TIME" nooutput
set yrange [10 ** floor(log10(TIME_min)) : 10 ** (ceil(log10(TIME_max)) + 1)]
stats data using 1 name "SIZE" nooutput
set xrange [SIZE_min / 1.5 : SIZE_max * 1.5]
set label 1 caption . note at screen 0.5, 0.025 center noenhanced font ',9' textcolor rgb '#606060'
set bmargin at screen 0.15

width = 1000
height = 560
if (is_text) { set key below maxcols 1; set bmargin; unset label 1; set xlabel caption . note noenhanced }
do for [file in terminals] {
    eval open_file(file)
    if (file eq "dumb") {
        plot for [i = 1:methods] data index i - 1 using 1:2 with lines title word(legends, i), \
            data index methods using 1:2 with points title "a copy of it"
    } else {
        plot for [i = 1:methods] data index i - 1 using 1:2 with linespoints lw 2 dt dash_of(word(series, i)) pt 7 ps 0.5 lc rgb colour_of(word(series, i)) title word(legends, i), \
            data index methods using 1:2 with lines lw 2.5 dt 2 lc rgb "#000000" title "a copy of it, for comparison"
    }
}
