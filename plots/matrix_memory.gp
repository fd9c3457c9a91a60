# Peak reserved memory over that of raw: a row a workload, a column a configuration. Blue is less than raw.

better = -1
key_title = "peak reserved memory over raw"

load "matrix_cells.gp"
