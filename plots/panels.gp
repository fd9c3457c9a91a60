# Lays out panels in a grid, two or more a row, with the caption below. Needs the variables data, series, panels and
# panel_height. A chart puts the plot command of panel p into the variable chart, and panels_draw.gp draws it. It may
# set label_room (for names at the ends of lines), in points.

load "terminal.gp"
load "colours.gp"

set border 3 lc rgb "#404040"
set tics nomirror out
if (!is_text) { set grid ytics lc rgb "#dddddd" lw 1 lt 1 }

if (!exists("label_room")) { label_room = 0 }
per_row = is_text || panels < 2 ? 1 : label_room > 0 || panels == 2 || panels == 4 ? 2 : 3
rows = int(ceil(panels / (1.0 * per_row)))
width = 860
head = 34
foot = is_text ? 100 : 74
height = head + rows * panel_height + foot
left(p) = ((is_text ? 80 : 66) + ((p - 1) % per_row) * (width - 60.0) / per_row) / width
right(p) = left(p) + ((width - 60.0) / per_row - (per_row > 1 ? 46 : 20) - label_room) / width
above(p) = 1 - (head + ((p - 1) / per_row) * panel_height + 24.0) / height
below(p) = above(p) - (panel_height - 58.0) / height
