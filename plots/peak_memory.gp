# The most memory that each configuration held from the driver, over the bound that none can go below.

titles = '"peak held over the lower bound"'
better = "left is less"
reference_name = "lower bound"
load "rows.gp"
