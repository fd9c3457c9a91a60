#include "results/compare/comparer.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/tree.h"

struct comparer comparer_of(const struct compare_options *options)
{
    struct comparer c = {
        .options = options, .file_count = 1, .notes = tree_array(), .nothing = COMPARE_ok};
    size_t count;
    const struct counter_info *list = counter_list(&count);
    for (size_t i = 0; i < count; i++)
        c.leaves_out_counters |= options->leave_out[i] && list[i].kind == KIND_EXACT;
    return c;
}

void comparer_free(struct comparer *c)
{
    rank_table_free(&c->table);
    arena_free(&c->arena);
    json_decref(c->notes);
    free(c->rows);
}

void compare_note(struct comparer *c, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    tree_append(c->notes, tree_text(text));
}

/* Below 1 the inverse is taken after rounding, so that swapped files give exact inverses. */
double compare_ratio_of(double logarithm)
{
    return logarithm < 0 ? 1 / exp(-logarithm) : exp(logarithm);
}

double compare_ratio(const struct compare_row *row)
{
    if (row->base <= 0 || row->candidate <= 0)
        return NAN;
    if (row->metric->kind == KIND_SAMPLED)
        return compare_ratio_of(row->shift.estimate);
    return row->candidate < row->base ? 1 / (row->base / row->candidate)
                                      : row->candidate / row->base;
}
