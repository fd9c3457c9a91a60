# The ends of lines on a logarithmic y axis, and their names there: end_x, end_of(p, i) and name_of(p, i). Needs panels, count,
# series, label_low and label_high (powers of ten), label_step and label_near; line i of panel p is the block (p - 1) * count + i - 1.

array end_x[panels * count]
array end_y[panels * count]
do for [k = 1:panels * count] {
    end_x[k] = 0
    end_y[k] = NaN
    stats data index k - 1 using ($2 > 0 ? (end_x[k] = $1, end_y[k] = log10($2), $1) : $1) nooutput
}
load "line_labels.gp"
end_of(p, i) = is_line((p - 1) * count + i) ? 10 ** label_y[(p - 1) * count + i] : 10 ** label_low
name_of(p, i) = is_line((p - 1) * count + i) && !is_text ? word(series, i) : ""
