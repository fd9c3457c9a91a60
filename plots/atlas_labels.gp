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
label_step = (strstrt(legends, ";") ? 29 : 13.5) / panel_height * (high - low)
label_near = 1000
load "line_labels.gp"
# A fit of two lines has two lines of text. All names stand to the right of all lines, with a line to their own.
folded_fit(s) = strstrt(s, ";") ? s[1:strstrt(s, ";") - 1] . "\n   " . s[strstrt(s, ";") + 2:*] : s
wide(s) = strstrt(s, ";") && 2 * strstrt(s, ";") < strlen(s) + 3 ? strlen(s) - strstrt(s, ";") + 2 : strstrt(s, ";") ? strstrt(s, ";") - 1 : strlen(s)
longest = 4
do for [k = 1:words(legends)] { longest = wide(word(legends, k)) > longest ? wide(word(legends, k)) : longest }
names_width = 40 + 5.9 * longest
names_x = SIZE_max * 3
y_of(k) = is_line(k) ? 10 ** label_y[k] : 10 ** low
name_at(k) = is_line(k) ? folded_fit(word(legends, k)) : ""
from_x(k) = is_line(k) ? 10 ** end_x[k] : SIZE_min
from_y(k) = is_line(k) ? 10 ** end_y[k] : 10 ** low
run_x(k) = is_line(k) ? names_x - 10 ** end_x[k] : 0
rise_y(k) = is_line(k) ? y_of(k) - 10 ** end_y[k] : 0
