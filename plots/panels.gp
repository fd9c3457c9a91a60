# Draws the variable chart into the file that is open: a panel for each row of clusters, one below the
# other. The key, and the caption, stand once.

set multiplot
do for [row = 1:panels] {
    top = 1 - (head + (row - 1) * (panel + names)) / (1.0 * height)
    first = (row - 1) * per_row
    shown = per_row
    set tmargin at screen top
    set bmargin at screen top - panel / (1.0 * height)
    set lmargin at screen 0.095
    set rmargin at screen 0.99
    set xrange [first - 0.6 : first + per_row - 0.4]
    eval chart
    unset key
    unset label 1
}
unset multiplot
