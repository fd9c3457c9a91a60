# Both files of a chart. Needs the variable chart, and the y axis set.

do for [file in "svg png"] {
    eval(file eq "svg" ? svg : png)
    set key at screen 0.5, screen 1 - 8.0 / height center top horizontal noenhanced samplen 1.5 maxcols key_columns
    set label 1 caption at screen 0.5, screen 12.0 / height center noenhanced font ",9" textcolor rgb "#606060"
    load scripts . "/panels.gp"
}
