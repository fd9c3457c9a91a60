# Time of a frame over the longer of what the host does and what is queued: 1 is a frame that never waits.

titles = '"time of a frame over the longer work"'
better = "left is less waiting"
reference_name = "longer work"
mark_name = "claimed for a read-back: the sum of both works"
row_kind = "settings"
row_order = ""
load "rows.gp"
