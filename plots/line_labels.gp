# Places for names at the ends of lines, so that none covers another. Needs panels, count (lines a panel), the arrays
# end_x and end_y (of line (p - 1) * count + i, in units of the axes; end_y is NaN where there is no line), label_low
# and label_high (the range of y), label_step (a line of text) and label_near (lines whose ends are farther apart
# in x than this do not meet). Makes the array label_y.

array label_y[panels * count]
is_line(k) = end_y[k] == end_y[k] && end_y[k] >= label_low && end_y[k] <= label_high
do for [k = 1:panels * count] { label_y[k] = end_y[k] }
do for [pass = 1:80] {
    do for [p = 1:panels] {
        do for [i = (p - 1) * count + 1:p * count] {
            do for [j = (p - 1) * count + 1:p * count] {
                if (i != j && is_line(i) && is_line(j) && abs(end_x[i] - end_x[j]) < label_near) {
                    apart = label_y[j] - label_y[i]
                    if (apart < label_step && (apart > 0 || apart == 0 && j > i)) {
                        label_y[i] = label_y[i] - 0.3 * (label_step - apart)
                        label_y[j] = label_y[j] + 0.3 * (label_step - apart)
                    }
                }
            }
        }
        do for [i = (p - 1) * count + 1:p * count] {
            if (is_line(i) && label_y[i] < label_low + 0.5 * label_step) { label_y[i] = label_low + 0.5 * label_step }
            if (is_line(i) && label_y[i] > label_high - 0.5 * label_step) { label_y[i] = label_high - 0.5 * label_step }
        }
    }
}
