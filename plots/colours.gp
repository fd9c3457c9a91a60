# The colour and pattern of each of the series. Needs the variable series.

count = words(series)

# Wong's palette, which people with any kind of colour blindness can tell apart. A strategy has the
# same colour in every chart; variants of one strategy, and new ones, take what is left. What a strategy is
# combined with (merge sets, release policies) is told by a pattern; 3 is a plain one.
base_name(name) = strstrt(name, ":") ? name[1 : strstrt(name, ":") - 1] : name
own_colour(name) = name eq "raw" ? "#999999" : name eq "pool" ? "#0072B2" : \
    name eq "tagged" ? "#E69F00" : name eq "bufalloc" ? "#009E73" : name eq "stream" ? "#CC79A7" : \
    name eq "vmm" ? "#56B4E9" : name eq "tlsf" ? "#D55E00" : name eq "caching" ? "#F0E442" : ""
spare = "#56B4E9 #CC79A7 #F0E442 #0072B2 #009E73 #E69F00 #000000 #999999 #D55E00"
patterns = "3 4 5 1 6 2 7"
array colour[count]
array pattern[count]
taken = ""
next_spare = 0
do for [i = 1:count] {
    name = word(word(series, i), 1)
    before = 0
    colour[i] = ""
    do for [j = 1:i - 1] {
        if (word(word(series, j), 1) eq name) { before = before + 1; colour[i] = colour[j] }
    }
    pattern[i] = int(word(patterns, before % words(patterns) + 1))
    if (colour[i] eq "") {
        colour[i] = own_colour(base_name(name))
        if (colour[i] eq "" || strstrt(taken, colour[i])) {
            colour[i] = word(spare, next_spare % words(spare) + 1)
            next_spare = next_spare + 1
            do for [k = words(spare):1:-1] {
                if (!strstrt(taken, word(spare, k))) { colour[i] = word(spare, k) }
            }
        }
        taken = taken . colour[i]
    }
}
