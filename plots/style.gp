# Shared by the charts of bars: size, colours, grid, and the caption that says where the numbers come from. Needs the
# variables data, out, series and caption (bench/record/chart/chart.h). A chart puts its plot command into the
# variable chart, and draw.gp draws it.

load "terminal.gp"

set style fill solid 1.0 border rgb "#404040"
if (!is_text) { set grid ytics lc rgb "#dddddd" lw 1 lt 1 }
set border 3 lc rgb "#404040"
set tics nomirror out
set xtics
log2(x) = log(x) / log(2)
load "colours.gp"
box = 0.8 / count
set boxwidth box absolute

# Clusters stand in rows of panels of equal length and scale. A row holds as many of them as leave a bar 12 pixels of
# a picture that is 1600 pixels wide, and room for the names.
stats data index 0 using (strlen(strcol(2))) name "CLUSTER" nooutput
clusters = CLUSTER_records
most = int(110 / (count + 1))
most = most > 10 ? 10 : most < 2 ? 2 : most
name_width = CLUSTER_max
if (is_text) {
    # Text cannot be slanted.
    fitting = int(0.85 * columns / (name_width + 2))
    most = fitting < 1 ? 1 : fitting < most ? fitting : most
}
panels = int(ceil(clusters / (1.0 * most)))
per_row = int(ceil(clusters / (1.0 * panels)))
slanted = !is_text && name_width > 130 / per_row
set xrange [-0.6 : clusters - 0.4]
if (slanted) { set xtics rotate by 18 right }

# Values outside of the panel are left out: arrows would leave their ends at its border.
first = 0
shown = clusters
at(x) = x > first - 0.6 && x < first + shown - 0.4 ? x : NaN

# The key: as many names a line as fit.
longest = strlen("least bound")
do for [i = 1:count] { longest = strlen(word(series, i)) > longest ? strlen(word(series, i)) : longest }
key_columns = int(95 / (longest + 7))
key_columns = key_columns < 1 ? 1 : key_columns
key_lines = int(ceil((count + 1.0) / key_columns))

# Heights in points of the SVG: key, a panel each with its names, caption.
width = 1000
head = 22 + 18 * key_lines
names = slanted ? 26 + 2.2 * name_width : 36
panel = panels > 1 ? 165 : 300
height = head + panels * (panel + names) + 20
