# How much merging reduces the peak of requested bytes; below 0 the peak grew. A larger reduction than the mark is impossible.

titles = '"off the peak of requested bytes"'
better = "right is less"
reference_name = "as written"
mark_name = "the largest possible: the least lower bound"
load "rows.gp"
