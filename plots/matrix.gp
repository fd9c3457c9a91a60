# How many times faster than raw: a row a workload, a column a configuration, by gain. Blue is better than raw.

better = 1
key_title = "speed-up over raw\n~ noise: the interval contains 1"

load "matrix_cells.gp"
