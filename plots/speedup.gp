# How many times faster than raw each configuration is. Whiskers are intervals over rounds.

titles = '"speed-up over raw"'
better = "right is faster"
reference_name = "raw"
mark_name = ""
load "rows.gp"
