# A row for each program and a dot for each configuration; the means over the programs stand apart, above, and
# their names are the legend. Needs the variables data, series, low_1, high_1, titles (a heading
# for each measure), better ("right is better") and reference_name (what 1 stands for).

load "terminal.gp"
load "colours.gp"

measures = words(titles)
array lows[2]
array highs[2]
lows[1] = low_1
highs[1] = high_1
if (measures > 1) { lows[2] = low_2; highs[2] = high_2 }
log2(x) = log(x) / log(2)
at(v) = v > 0 ? log2(v) : NaN
stats data index 0 using (strlen(strcol(2))) name "LABEL" nooutput
stats data index 1 using (strlen(strcol(2))) name "NAME" nooutput
# What the picture says: the mean of the first configuration, and where there is room that of the last.
array first[2]
do for [k = 1:measures] {
    first[k] = ""
    stats data index 1 every ::0::0 using (first[k] = strcol(2) . " " . strcol(6 + 4 * (k - 1)), 0) nooutput
    to_last = ""
    stats data index 1 every ::(count - 1) using (to_last = " to " . strcol(2) . " " . strcol(6 + 4 * (k - 1)), 0) nooutput
    if (measures == 1 && count > 1 && strlen(titles . first[k] . to_last) < 66) { first[k] = first[k] . to_last }
}
rows = LABEL_records
longest = LABEL_max > NAME_max + 2 * is_text ? LABEL_max : NAME_max + 2 * is_text

# Sizes in points of the SVG.
width = 830
line = is_text ? width * 1.4 / columns : 18.0
names_width = is_text ? (longest + 2.0) * width / columns : 20 + 6.6 * longest
# The words above the names have room, too.
over_names = is_text ? 22.0 * width / columns : 122.0
names_width = names_width < over_names ? over_names : names_width
texts_width = is_text ? 11.0 * width / columns : measures > 1 ? 70 : 142
lane_height = count > 12 ? 2.2 : 3.2
row_height = is_text ? line : lane_height * count + 5 > 17 ? lane_height * count + 5 : 17.0
head = is_text ? 3 * line : 54
edge = is_text ? 0.5 : 0.2 # beyond the first and the last row
means_height = (count + 2 * edge) * line
gap = is_text ? 4 * line : 54
foot = is_text ? 5 * line : 78
height = head + means_height + gap + row_height * (rows + 2 * edge) + foot
panel_width = (width - names_width - (measures > 1 ? 0 : texts_width)) / measures
# The place of a distance from the top. The last line of a text is at 0.
down(distance) = 1 - distance / (is_text ? height - line : height)
left(k) = (names_width + (k - 1) * panel_width) / width
right(k) = left(k) + (panel_width - (measures > 1 ? texts_width : 6)) / width

set border 1 lc rgb "#404040"
set tics nomirror out font ",10"
if (!is_text) { set grid xtics lc rgb "#dddddd" lw 1 lt 1 }
unset key
unset ytics
set datafile missing "NaN"
letter(i) = word("A B C D E F G H I J K L M N O P Q R S T U V W X", i)
name_of(i, name) = is_text ? letter(int(i)) . " " . name : name
lane(i) = is_text ? 0 : (i - (count + 1) / 2.0) * 0.8 / count
clip(v) = v < first_x ? first_x : v > last_x ? last_x : v
mark_size = count > 9 ? 0.6 : 0.75

do for [file in terminals] {
    load "open.gp"
    set multiplot
    set label 1 folded(caption . note) at screen 0.5, screen caption_at / height center font ",9" textcolor rgb "#606060"
    do for [k = 1:measures] {
        low = lows[k]
        high = highs[k]
        # Room for half a dot at both ends.
        room = 0.02 * (high - low > 0.05 ? high - low : 0.05)
        first_x = low - room
        last_x = high + room
        set xrange [first_x : last_x]
        most = int(panel_width / (is_text ? 8.0 * width / columns : 50.0))
        load "log2_ticks.gp"
        set lmargin at screen left(k)
        set rmargin at screen right(k)
        if (!is_text) { set arrow 1 from first 0, graph 0 to first 0, graph 1 nohead lw 1.2 lc rgb "#404040" front }
        c = 3 + 4 * (k - 1)

        # The means, which are the legend, too.
        set tmargin at screen down(head)
        set bmargin at screen down(head + means_height)
        set yrange [count + 0.5 + edge : 0.5 - edge]
        set title word(titles, k) . ": " . first[k] font bold . (measures > 1 ? ",9" : ",11") offset 0, -0.5
        unset xlabel
        if (k == 1) { set label 3 (rows > 1 ? sprintf("mean of %d programs", rows) : "") at screen left(k), screen down(is_text ? head - 0.3 * line : head - 9) right offset -0.8, 0 font ",9" textcolor rgb "#404040" }
        plot for [i = 1:(is_text ? 0 : count)] data index 1 every ::(i - 1)::(i - 1) using (clip(at(column(c)))):1:(clip(at(column(c + 1)))):(clip(at(column(c + 2)))) \
                with xerrorbars pt 0 lw 1.5 lc rgb thin[i] notitle, \
            for [i = 1:(is_text ? 0 : count)] data index 1 every ::(i - 1)::(i - 1) using (clip(at(column(c)))):1 with points pt point[i] ps point_scale * 1.1 lw 1.5 lc rgb thin[i] notitle, \
            data index 1 using (is_text ? clip(at(column(c))) : first_x):1:(is_text ? letter(int($1)) : "") with labels notitle, \
            data index 1 using (first_x):1:(k == 1 ? name_of($1, strcol(2)) : "") with labels right offset -0.8, 0 font ",10" notitle, \
            data index 1 using (last_x):1:(strcol(c + 3)) with labels left offset (is_text ? 2 : 0.8), 0 font ",9" textcolor rgb "#404040" notitle
        unset label 1

        # The programs.
        set tmargin at screen down(head + means_height + gap)
        set bmargin at screen down(height - foot)
        set yrange [rows + 0.5 + edge : 0.5 - edge]
        unset title
        set xlabel (is_text ? "" : word(titles, k) . ": " . better) font ",10" offset 0, 0.3
        if (!is_text) { do for [r = 1:rows:2] { set object r rectangle from graph 0, first r - 0.5 to graph 1, first r + 0.5 behind fs solid 1 noborder fc rgb "#F3F3F3" } }
        if (k == 1) { set label 3 (rows > 1 ? "largest first" : "") at screen left(k), screen down(head + means_height + gap - 9) right offset -0.8, 0 font ",9" textcolor rgb "#404040" }
        if (k == 1) { set label 4 reference_name at screen right(k), screen down(head + means_height + gap - 9) left offset 0.8, 0 font ",9" textcolor rgb "#404040" }
        plot for [i = 1:(is_text ? 0 : count)] data index 1 + i using (clip(at(column(2 + 3 * (k - 1))))):($1 + lane(i)):(clip(at(column(3 + 3 * (k - 1))))):(clip(at(column(4 + 3 * (k - 1))))) \
                with xerrorbars pt 0 lw 1 lc rgb thin[i] notitle, \
            for [i = 1:count] data index 1 + i using (clip(at(column(2 + 3 * (k - 1))))):($1 + lane(i)):(is_text ? letter(i) : "") with labels notitle, \
            for [i = 1:(is_text ? 0 : count)] data index 1 + i using (clip(at(column(2 + 3 * (k - 1))))):($1 + lane(i)) with points pt point[i] ps point_scale * mark_size lw 1.2 lc rgb thin[i] notitle, \
            data index 0 using (first_x):1:(k == 1 ? strcol(2) : "") with labels right offset -0.8, 0 font ",10" notitle, \
            data index 0 using (last_x):1:(k == 1 ? strcol(4) : "") with labels right offset -1, 0 font ",8" textcolor rgb "#B04000" notitle, \
            data index 0 using (last_x):1:(k == 1 ? strcol(3) : "") with labels left offset (is_text ? 2 : 0.8), 0 font ",9" textcolor rgb "#404040" notitle
        unset label 3
        unset label 4
        unset object
    }
    unset multiplot
}
