/* The table of what one strategy costs against another, program by program, the worst first. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/tree.h"
#include "results/show/table.h"
#include "results/show/text_grid.h"

enum { MEASURES = 3 };
/* Members of a fit of which less is better. */
static const char *const measures[MEASURES] = {"reserved_bytes", "capacity_bytes", "driver_ns"};

enum verdict { SAME, BETTER, MIXED, WORSE };

struct row {
    const char *program, *kind, *reason; /* "": it served the program */
    double change[MEASURES];             /* a ratio less 1; NaN: unknown */
    double worst;
    enum verdict verdict;
};

static struct row row_of(const json_t *base, const json_t *mine, double bound)
{
    struct row row = {.program = tree_get_text(mine, "trace"),
                      .kind = tree_get_text(mine, "kind"),
                      .reason = tree_get_text(mine, "reason"),
                      .worst = -INFINITY};
    bool better = false, worse = !(tree_get_number(mine, "capacity_bytes") > 0);
    for (int i = 0; i < MEASURES; i++) {
        const double from = tree_get_number(base, measures[i]);
        row.change[i] = tree_get_number(mine, measures[i]) / from - 1;
        if (isnan(row.change[i]))
            continue;
        better |= row.change[i] < -bound;
        worse |= row.change[i] > bound;
        row.worst = fmax(row.worst, row.change[i]);
    }
    row.worst = isinf(row.worst) ? INFINITY : row.worst; /* it did not serve the program */
    row.verdict = worse ? better ? MIXED : WORSE : better ? BETTER : SAME;
    return row;
}

static int worst_first(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->verdict != y->verdict)
        return (int)y->verdict - (int)x->verdict;
    if (x->worst != y->worst)
        return x->worst < y->worst ? 1 : -1;
    return strcmp(x->program, y->program);
}

static void print_rows(const struct row *rows, size_t count, const char *strategy,
                       enum table_format format, FILE *out)
{
    static const char *const words[] = {"same", "better", "mixed", "worse"};
    static const enum text_grid_mood moods[] = {GRID_PLAIN, GRID_BETTER, GRID_UNSURE, GRID_WORSE};
    struct text_grid grid =
        text_grid_of("strategy|program|kind^1||>reserved|>least capacity|>driver time");
    grid.column[0].hidden = true;
    for (size_t i = 0; i < count; i++) {
        if (rows[i].verdict == SAME && format != TABLE_CSV)
            continue;
        struct text_grid_row *row = text_grid_add_row(&grid);
        row->mood = moods[rows[i].verdict];
        row->mood_of = 3;
        if (*rows[i].reason)
            row->cells = 4, row->remark = rows[i].reason;
        text_grid_add(&grid, "%s", strategy);
        text_grid_add(&grid, "%s", rows[i].program);
        text_grid_add(&grid, "%s", rows[i].kind);
        text_grid_add(&grid, "%s", words[rows[i].verdict]);
        for (int m = 0; m < MEASURES; m++) {
            if (isnan(rows[i].change[m]))
                text_grid_skip(&grid, 1);
            else
                text_grid_add(&grid, "%+.*f%%", rows[i].change[m] < 1, 100 * rows[i].change[m]);
        }
    }
    text_grid_print(&grid, format, &(struct terminal){.width = terminal_of(out).width}, out);
    text_grid_free(&grid);
}

static size_t print_one(const json_t *fits, const json_t *bases, const char *base, const char *mine,
                        double bound, enum table_format format, struct arena *arena, FILE *out)
{
    struct row *rows = arena_alloc(arena, (json_array_size(fits) + 1) * sizeof *rows);
    size_t count = 0, of[WORSE + 1] = {0};
    json_t *fit;
    size_t i;
    json_array_foreach((json_t *)fits, i, fit)
    {
        const json_t *from = json_object_get(bases, tree_get_text(fit, "trace"));
        if (from && strcmp(tree_get_text(fit, "strategy"), mine) == 0)
            rows[count++] = row_of(from, fit, bound);
    }
    for (i = 0; i < count; i++)
        of[rows[i].verdict]++;
    qsort(rows, count, sizeof *rows, worst_first);
    if (format != TABLE_CSV)
        fprintf(out,
                "%s against %s: better in %zu, worse in %zu, mixed in %zu, no difference "
                "beyond %g%% in %zu\n\n",
                mine, base, of[BETTER], of[WORSE], of[MIXED], 100 * bound, of[SAME]);
    print_rows(rows, count, mine, format, out);
    return of[WORSE] + of[MIXED];
}

size_t against_print(const json_t *fits, const char *base, double bound, enum table_format format,
                     FILE *out)
{
    struct arena arena = {0};
    json_t *seen = tree_object(), *bases = tree_object(), *fit;
    size_t i, count = 0, worse = 0;
    json_array_foreach((json_t *)fits, i, fit)
    {
        if (strcmp(tree_get_text(fit, "strategy"), base) == 0)
            tree_put(bases, tree_get_text(fit, "trace"), json_incref(fit));
    }
    json_array_foreach((json_t *)fits, i, fit)
    {
        const char *mine = tree_get_text(fit, "strategy");
        if (strcmp(mine, base) == 0 || tree_index_of(seen, mine, count) < count)
            continue;
        if (count++ && format != TABLE_CSV)
            fputc('\n', out);
        worse += print_one(fits, bases, base, mine, bound, format, &arena, out);
    }
    json_decref(seen);
    json_decref(bases);
    arena_free(&arena);
    return worse;
}
