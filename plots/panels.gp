# Lays out panels in a grid, two or more a row, with the caption below. Needs the variables data, series, panels and
# panel_height. A chart puts the plot command of panel p into the variable chart, and panels_draw.gp draws it. It may
# set key_height (for a key below each panel) label_room (for names at the ends of lines) and
# legend_room (for more lines of the key of all panels), in points.

load "terminal.gp"
load "colours.gp"

set border 3 lc rgb "#404040"
set tics nomirror out
if (!is_text) { set grid ytics lc rgb "#dddddd" lw 1 lt 1 }

if (!exists("key_height")) { key_height = 0 }
if (!exists("label_room")) { label_room = 0 }
per_row = is_text || panels < 2 ? 1 : label_room > 0 || panels == 2 || panels == 4 ? 2 : 3
rows = int(ceil(panels / (1.0 * per_row)))
width = 860
head = 34
if (!exists("legend_room")) { legend_room = 0 }
foot = is_text ? 100 : 74 + legend_room
key_at = (is_text ? 66.0 : 40.0) + (legend_room > 0 ? legend_room - 22 : 0)
height = head + rows * panel_height + foot
left(p) = ((is_text ? 80 : 66) + ((p - 1) % per_row) * (width - 60.0) / per_row) / width
right(p) = left(p) + ((width - 60.0) / per_row - (per_row > 1 ? 46 : 20) - label_room) / width
above(p) = 1 - (head + ((p - 1) / per_row) * panel_height + 24.0) / height
below(p) = above(p) - (panel_height - key_height - 58.0) / height

# A value that belongs to all of a panel.
panel_reach = (panel_height - key_height - 58) / 2.0
whole(b) = amount(b) . sprintf(" (%.0f B)", b)

# About four ticks of the x axis up to this end: 0, 5k, 10k.
tick_step(end) = (d = 10 ** floor(log10(end / 4.0)), m = end / 4.0 / d, (m < 1.5 ? 1 : m < 3.5 ? 2 : m < 7.5 ? 5 : 10) * d)
thousands(x) = floor(log10(x) / 3)
tick_format(end) = end < 1e4 ? "%g" : thousands(end) > thousands(tick_step(end)) ? "%.1s%c" : "%.0s%c"
