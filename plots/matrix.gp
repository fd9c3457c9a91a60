# How many times faster than raw: a row a workload, a column a configuration. Blue is better than raw.

better = 1
key_title = "speed-up over raw"

load "matrix_cells.gp"
