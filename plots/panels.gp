# Lays out panels in a grid, two or more a row, for the charts of one workload, with the caption below. Needs the
# variables data, series, panels and panel_height. A chart puts the plot command of panel p into the variable chart,
# and panels_draw.gp draws it.

load "terminal.gp"
load "colours.gp"

set border 3 lc rgb "#404040"
set tics nomirror out
if (!is_text) { set grid ytics lc rgb "#dddddd" lw 1 lt 1 }

per_row = is_text ? 1 : panels < 5 ? (panels < 2 ? 1 : 2) : panels < 10 ? 3 : 4
rows = int(ceil(panels / (1.0 * per_row)))
width = 1000
head = 34
foot = is_text ? 100 : 58
key_at = is_text ? 66.0 : 36.0
height = head + rows * panel_height + foot
left(p) = ((is_text ? 80 : 52) + ((p - 1) % per_row) * 945.0 / per_row) / width
right(p) = left(p) + (945.0 / per_row - 48) / width
above(p) = 1 - (head + ((p - 1) / per_row) * panel_height + 24.0) / height
if (!exists("key_height")) { key_height = 0 }
below(p) = above(p) - (panel_height - key_height - 58.0) / height

# About four ticks of the x axis up to this end: 0, 5k, 10k.
tick_step(end) = (d = 10 ** floor(log10(end / 4.0)), m = end / 4.0 / d, (m < 1.5 ? 1 : m < 3.5 ? 2 : m < 7.5 ? 5 : 10) * d)
thousands(x) = floor(log10(x) / 3)
tick_format(end) = end < 1e4 ? "%g" : thousands(end) > thousands(tick_step(end)) ? "%.1s%c" : "%.0s%c"
