# What each merge set gains over none under one strategy: time, with intervals over rounds, and peak bytes. As in
# speedup, more than 1 is better.

titles = '"speed-up over none" "requested peak, none / set"'
better = "right is better"
reference_name = "none"
load "rows.gp"
