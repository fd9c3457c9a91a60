# What all charts share: size, colours, grid, and the caption that says where the numbers come from.
# Needs the variables data, out, series and caption; see bench/record/chart.c.

set encoding utf8
set style fill solid 1.0 border rgb "#404040"
set grid ytics lc rgb "#dddddd" lw 1 lt 1
set border 3 lc rgb "#404040"
set tics nomirror out
set xtics noenhanced
set key outside top center horizontal noenhanced samplen 1.5
set bmargin 4.5
set label 1 caption at screen 0.5, 0.03 center noenhanced font ",9" textcolor rgb "#606060"

log2(x) = log(x) / log(2)
count = words(series)
box = 0.8 / count
set boxwidth box absolute

# Wong's palette, which people with any kind of colour blindness can tell apart. A strategy has the
# same colour in every chart; variants of one strategy, and new ones, take what is left.
base_name(name) = strstrt(name, ":") ? name[1 : strstrt(name, ":") - 1] : word(name, 1)
own_colour(name) = name eq "raw" ? "#999999" : name eq "pool" ? "#0072B2" : \
    name eq "tagged" ? "#E69F00" : name eq "bufalloc" ? "#009E73" : ""
spare = "#56B4E9 #D55E00 #CC79A7 #F0E442 #000000"
array colour[count]
taken = ""
next_spare = 0
do for [i = 1:count] {
    candidate = own_colour(base_name(word(series, i)))
    if (candidate eq "" || strstrt(taken, candidate)) {
        candidate = word(spare, next_spare % words(spare) + 1)
        next_spare = next_spare + 1
    }
    colour[i] = candidate
    taken = taken . candidate
}

stats data index 0 using 1 name "CLUSTER" nooutput
set xrange [-0.6 : CLUSTER_records - 0.4]
width = 260 + 110 * CLUSTER_records + 14 * count * CLUSTER_records
width = width < 700 ? 700 : width

# The two files: one that scales, one that goes everywhere.
svg = sprintf('set terminal svg size %d,420 dynamic font "sans,12" background rgb "white"; set output "%s.svg"', width, out)
png = sprintf('set terminal %s size %d,840 font "sans,12" fontscale 1.8; set output "%s.png"', \
    strstrt(GPVAL_TERMINALS, "pngcairo") ? "pngcairo" : "png", 2 * width, out)
