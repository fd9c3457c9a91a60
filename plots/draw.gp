# Draws a panel for each row of clusters, one below the other; the key and the caption stand once. Needs the
# variable chart, and the range of the y axis.

do for [file in terminals] {
    load "open.gp"
    set key at screen 0.5, screen 1 - 8.0 / height center top horizontal samplen 1.5 maxcols key_columns
    set label 1 folded(caption . note) at screen 0.5, screen caption_at / height center font ",9" textcolor rgb "#606060"
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
}
