# The cost of each method of getting memory by size: a panel each for alloc, first use and free. Lines are
# medians, bands go from p10 to p90, and the legend has the fit a + size / b.

load "terminal.gp"

methods = words(series)
panels = words(titles)

load "atlas_axes.gp"

# All panels have the same range of times, so that they can be compared.
stats data using 2 name "TIME" nooutput
low = 10 ** floor(log10(TIME_min))
high = 10 ** ceil(log10(TIME_max))
stats data using 1 name "SIZE" nooutput
set xrange [SIZE_min / 1.5 : SIZE_max * 1.5]
set yrange [low : high]

width = 1500
height = 620
do for [file in terminals] {
    load "open.gp"
    if (file ne "dumb") {
        set multiplot layout 1, panels margins 0.05, 0.985, 0.38, 0.94 spacing 0.055, 0
        set label 1 folded(caption . note) at screen 0.5, 0.02 center font ',9' textcolor rgb '#606060'
        do for [p = 1:panels] {
            set title word(titles, p)
            plot for [i = 1:methods] data index (p - 1) * methods + i - 1 using 1:3:4 \
                    with filledcurves lc rgb colour_of(word(series, i)) notitle, \
                for [i = 1:methods] data index (p - 1) * methods + i - 1 using 1:2 \
                    with linespoints lw 2 pt 7 ps 0.4 lc rgb colour_of(word(series, i)) \
                    title word(legends, (p - 1) * methods + i)
            unset label 1
        }
        unset multiplot
    } else {
        # On a terminal each panel is a page, and each method is drawn with a character of its own.
        set key below Left reverse maxcols 1
        do for [p = 1:panels] {
            set title word(titles, p)
            if (p == panels) { set xlabel folded(caption . note) }
            plot for [i = 1:methods] data index (p - 1) * methods + i - 1 using 1:2 with lines \
                title word(legends, (p - 1) * methods + i)
        }
        unset xlabel
        unset title
    }
}
