# Draws the variable chart for each panel p (panels.gp). Needs the variables heading, key, x_title and y_title. Titles of
# axes stand at the first panel of a row and at the last of a column, in text behind the heading.

axes = !is_text ? "" : " (" . (x_title eq "" ? "" : "x: " . x_title . "; ") . "y: " . y_title . ")"
do for [file in terminals] {
    load "open.gp"
    eval key
    set multiplot
    set label 1 folded(caption . note) at screen 0.5, screen caption_at / height center font ",9" textcolor rgb "#606060"
    set label 2 (heading . axes) at screen 0.5, screen 1 - 14.0 / height center font bold . ",12"
    do for [p = 1:panels] {
        set lmargin at screen left(p)
        set rmargin at screen right(p)
        set tmargin at screen above(p)
        set bmargin at screen below(p)
        set xlabel (!is_text && p + per_row > panels ? x_title : "") font ",10" offset 0, 0.4
        set ylabel (!is_text && (p - 1) % per_row == 0 ? y_title : "") font ",10" offset 1.8, 0
        eval chart
        unset label 1
        unset label 2
    }
    unset multiplot
}
