# Time against memory, means over the programs that all configurations ran.

x_name = "wall time over the fastest"
y_name = "peak held over the lower bound"
time_unit = "×"
grey_words = "grey name: another is faster beyond noise, and holds no more"
load "front.gp"
