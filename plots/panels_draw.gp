# Draws the variable chart for each panel p (panels.gp). Needs the variables heading and key.

do for [file in terminals] {
    load "open.gp"
    eval key
    set multiplot
    set label 1 folded(caption . note) at screen 0.5, screen caption_at / height center font ",9" textcolor rgb "#606060"
    set label 2 heading at screen 0.5, screen 1 - 14.0 / height center font ",13"
    do for [p = 1:panels] {
        set lmargin at screen left(p)
        set rmargin at screen right(p)
        set tmargin at screen above(p)
        set bmargin at screen below(p)
        eval chart
        unset label 1
        unset label 2
    }
    unset multiplot
}
