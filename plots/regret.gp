# Regret against the time in the driver's calls, of a typical program.

x_name = "predicted time in the driver's calls, for each request"
y_name = "regret: reserved at the peak over the optimum"
time_unit = " µs" # the blank ends no word
grey_words = "grey name: another one has no more regret and takes no more time"
load "front.gp"
