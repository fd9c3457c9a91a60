# The most memory that each configuration held from the driver, over the lower bound.

x_name = "memory held from the driver at most, over the lower bound, on " . where
least_words = "holds the least"
dot_name = "held"
ring_name = ""
optimum_name = ""
load "dots.gp"
