# Made by `gamut plot`. In this folder, `gnuplot <this file>` draws it again as .svg and .png,
# `gnuplot -e "terminals='dumb'" <this file>` on the terminal.

data = 'atlas-opencl-1.dat'
out = 'atlas-opencl-1'
caption = 'NVIDIA H200 (opencl:1), driver 580.159.04, rev 890706878df1, 1 round, 2026-11-21'
note = ''
series = '"raw" "resident" "pinned" "shared"'
titles = '"alloc" "first use, a word a page" "free on an idle device"'
legends = '"raw: 665 ns + 155522 TiB/s" "resident: 14.4 us; from 2.00 MiB 74.8 us + 27.3 TiB/s" "pinned: 571 us; from 2.00 MiB 0.00 ns + 2.69 GiB/s" "shared: 604 us; from 3.00 MiB 118 us + 2.95 GiB/s" "raw: 11.8 us; from 2.00 MiB 71.6 us + 18.2 TiB/s" "resident: 9.40 us + 54.2 TiB/s" "pinned: 13.8 us + 3.22 TiB/s; from 64.0 MiB 32.3 us + 53.5 TiB/s" "shared: 16.3 us + 3.02 TiB/s; from 96.0 MiB 41.7 us + 68.9 TiB/s" "raw: 3.04 us + 5.69 TiB/s; from 2.00 MiB 29.9 us + 3.18 TiB/s" "resident: 3.06 us + 5.86 TiB/s; from 2.00 MiB 29.6 us + 3.14 TiB/s" "pinned: 260 us + 9.06 GiB/s" "shared: 285 us + 9.25 GiB/s" '

# What each way of getting memory costs by size, on a device: alloc, first use, free. Medians, with
# bands from p10 to p90; the legend has the fit a + size / b.

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

ways = words(series)
panels = words(titles)

# What charts of an atlas share: sizes and times on logarithmic axes, and a colour a way.

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

# Wong's palette. Ways that are strategies too have their colours (style.gp).
colour_of(way) = way eq "raw" ? "#999999" : way eq "resident" || way eq "stream:threshold=0" ? "#000000" : \
    way eq "stream:threshold=max" ? "#CC79A7" : way eq "vmm" ? "#56B4E9" : way eq "pinned" ? "#E69F00" : \
    way eq "shared" ? "#D55E00" : way eq "malloc" ? "#009E73" : "#F0E442"
dash_of(way) = way eq "raw" ? 1 : way eq "resident" || way eq "stream:threshold=0" ? 3 : way eq "stream:threshold=max" ? 4 : \
    way eq "vmm" ? 1 : way eq "pinned" ? 5 : way eq "shared" ? 4 : 1

# One range of times for all panels, so that they can be compared; the blocks are its data.
stats data using 2 name "TIME" nooutput
low = 10 ** floor(log10(TIME_min))
high = 10 ** ceil(log10(TIME_max))
stats data using 1 name "SIZE" nooutput
set xrange [SIZE_min / 1.5 : SIZE_max * 1.5]
set yrange [low : high]

draw = "set multiplot layout 1, panels margins 0.05, 0.985, 0.38, 0.94 spacing 0.055, 0; \
    set label 1 caption . note at screen 0.5, 0.02 center noenhanced font ',9' textcolor rgb '#606060'; \
    do for [p = 1:panels] { \
        set title word(titles, p); \
        plot for [i = 1:ways] data index (p - 1) * ways + i - 1 using 1:3:4 \
                with filledcurves lc rgb colour_of(word(series, i)) notitle, \
            for [i = 1:ways] data index (p - 1) * ways + i - 1 using 1:2 \
                with linespoints lw 2 pt 7 ps 0.4 lc rgb colour_of(word(series, i)) \
                title word(legends, (p - 1) * ways + i); \
        unset label 1 \
    }; \
    unset multiplot"

# On a terminal a panel is a page, and a way a character.
draw_text = "set key below Left reverse noenhanced maxcols 1; \
    do for [p = 1:panels] { \
        set title word(titles, p); \
        if (p == panels) { set xlabel caption . note noenhanced }; \
        plot for [i = 1:ways] data index (p - 1) * ways + i - 1 using 1:2 with lines \
            title word(legends, (p - 1) * ways + i) \
    }; \
    unset xlabel; unset title"

width = 1500
height = 620
do for [file in terminals] {
    eval open_file(file)
    eval file eq "dumb" ? draw_text : draw
}
