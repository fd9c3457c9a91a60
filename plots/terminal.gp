# The output: an image that scales, one that every program shows, or text. A chart sets width and height, in points
# of the SVG, and loads open.gp for each file of terminals.

set encoding utf8
if (!exists("terminals")) { terminals = "svg png" }
if (!exists("columns")) { columns = 100 }
is_text = terminals eq "dumb"
pixels = 1.6
has_cairo = strstrt(GPVAL_TERMINALS, "pngcairo")

# Bytes in words.
amount(b) = b < 10 * 2**10 ? sprintf("%.0f B", b) : b < 2**20 ? sprintf("%.1f KiB", b / 2**10) : \
    b < 2.0**30 ? sprintf("%.1f MiB", b / 2**20) : sprintf("%.2f GiB", b / 2.0**30)

# A text below a picture, in at most two lines of this many letters; the rest becomes an ellipsis. Its middle is to be
# caption_at points above the edge.
fold_at = is_text ? columns - 4 : 180
fold_end(s) = (fold_last = fold_at, sum [i = 1:fold_at] (s[i:i] eq " " ? (fold_last = i, 0) : 0), fold_last)
shortened(s) = strlen(s) > fold_at ? s[1:fold_at - 1] . "…" : s
folded(s) = strlen(s) <= fold_at ? (caption_at = 12.0, s) : \
    (caption_at = 17.0, fold_break = fold_end(s), s[1:fold_break] . "\n" . shortened(s[fold_break + 1:*]))
