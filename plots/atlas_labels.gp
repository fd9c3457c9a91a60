# Shared by the charts of an atlas: names at the lines. A line of sizes from 2 on ends where its data does. Needs low and
# high, the range of times as powers of ten, and panel_height.

lines = panels * count
array end_x[lines]
array end_y[lines]
do for [k = 1:lines] {
    end_x[k] = NaN
    end_y[k] = NaN
    stats data index k - 1 using ($2 > 0 ? (end_x[k] = log10($1), end_y[k] = log10($2), $1) : $1) nooutput
}
label_low = low
label_high = high
label_step = 13.5 / panel_height * (high - low)
label_near = 0.6 * (log10(SIZE_max) - log10(SIZE_min))
load "line_labels.gp"
# A second line of a fit is in the tables alone.
shown(s) = strstrt(s, ";") ? s[1:strstrt(s, ";") - 1] . " …" : s
longest = 4
do for [k = 1:words(legends)] { longest = strlen(shown(word(legends, k))) > longest ? strlen(shown(word(legends, k))) : longest }
names_width = 14 + 5.9 * longest
x_of(x) = x == x ? 10 ** x : SIZE_min
y_of(k) = is_line(k) ? 10 ** label_y[k] : 10 ** low
name_at(k) = is_line(k) ? shown(word(legends, k)) : ""
