# Shared by the charts of an atlas: sizes and times on logarithmic axes, and a colour for each method.

load "terminal.gp"

count = words(series)
set border 3 lc rgb "#404040"
set tics nomirror out font ",10"
if (!is_text) { set grid xtics ytics lc rgb "#dddddd" lw 1 lt 1 }
set logscale x 2
set logscale y 10
set style fill transparent solid 0.15 noborder
set datafile missing "NaN"

set xtics ("1 KiB" 2**10, "32 KiB" 2**15, "1 MiB" 2**20, "32 MiB" 2**25, "1 GiB" 2**30, \
    "32 GiB" 2**35, "1 TiB" 2**40) 
set ytics ("1 ns" 1, "10 ns" 1e1, "100 ns" 1e2, "1 µs" 1e3, "10 µs" 1e4, "100 µs" 1e5, "1 ms" 1e6, \
    "10 ms" 1e7, "100 ms" 1e8, "1 s" 1e9, "10 s" 1e10)

# Wong's palette. A method that is a strategy, too, has the strategy's colour (colours.gp).
colour_of(method) = method eq "raw" ? "#999999" : method eq "resident" || method eq "stream:threshold=0" ? "#0072B2" : \
    method eq "stream:threshold=max" ? "#CC79A7" : method eq "vmm" ? "#56B4E9" : method eq "pinned" ? "#E69F00" : \
    method eq "shared" ? "#D55E00" : method eq "malloc" ? "#009E73" : "#F0E442"
dash_of(method) = method eq "raw" ? 1 : method eq "resident" || method eq "stream:threshold=0" ? 3 : method eq "stream:threshold=max" ? 4 : \
    method eq "vmm" ? 1 : method eq "pinned" ? 5 : method eq "shared" ? 4 : 1
