# Ticks at factors on an axis whose values are their logarithms to base 2: as round numbers as the range needs. Needs
# low and high, the range in octaves, and most, how many ticks there is room for. tick_unit stands after each number.
# Sets the ticks of the x axis, and makes tick_places and tick_names.

if (!exists("tick_unit")) { tick_unit = "×" }

span = high - low > 0.05 ? high - low : 0.05
octaves = int(ceil(span / (most > 1 ? most : 1)))
steps = "0.01 0.02 0.05 0.1 0.2 0.25 0.5"
step = 1.0
do for [k = words(steps):1:-1] { if ((2 ** high - 2 ** low) / real(word(steps, k)) <= most) { step = real(word(steps, k)) } }
tick_places = ""
tick_names = ""
if (span > 2.2 || step >= 1) {
    do for [k = octaves * int(floor(low / octaves)):int(ceil(high)):octaves] {
        tick_places = tick_places . sprintf(" %.6f", k)
        tick_names = tick_names . sprintf(" %g", 2.0 ** k) . tick_unit
        if (octaves == 1 && 2 * span < most) {
            tick_places = tick_places . sprintf(" %.6f", k + log(1.5) / log(2))
            tick_names = tick_names . sprintf(" %g", 1.5 * 2.0 ** k) . tick_unit
        }
    }
} else {
    do for [k = int(floor(2 ** low / step)):int(ceil(2 ** high / step))] {
        if (k > 0) {
            tick_places = tick_places . sprintf(" %.6f", log(k * step) / log(2))
            tick_names = tick_names . sprintf(" %g", k * step) . tick_unit
        }
    }
}
set xtics ()
do for [k = 1:words(tick_places)] { set xtics add (word(tick_names, k) real(word(tick_places, k))) }
