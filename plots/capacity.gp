# The least memory under which each strategy serves a trace, over the optimum of the same lifetimes. A ring is what
# the strategy holds without a limit.

x_name = "least memory that serves the trace, over the " . optimum_name
least_words = "needs the least"
dot_name = "least capacity"
ring_name = "held without a limit"
load "dots.gp"
