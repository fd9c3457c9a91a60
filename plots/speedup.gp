# How many times faster than raw each configuration is. Whiskers are intervals over rounds.

titles = '"speed-up over raw"'
better = "right is faster"
reference_name = "raw"
load "rows.gp"
