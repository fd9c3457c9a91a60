/* The table of what strategies cost over many programs, and which is best on which kind. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "results/file/standings.h"
#include "results/show/table.h"
#include "results/show/text_grid.h"

/* The table of kinds names the best strategy that spends less time than this in the driver, for
 * each request: a launch of a kernel takes several times as long. And it has PyTorch's default. */
enum { LITTLE_NS = 1000 };
#define USUAL "caching"

static void add_share(struct text_grid *grid, double share)
{
    if (isnan(share))
        text_grid_skip(grid, 1);
    else
        text_grid_add(grid, "%.0f%%", 100 * share);
}

static void print_strategies(const struct standings *all, enum table_format format, FILE *out)
{
    struct text_grid grid = text_grid_of(
        "strategy|>regret|>worst^1|>in^5|>least capacity|>driver/request|>driver calls^4|"
        ">hits^3|>idle at peak^2|front");
    grid.complete = "-f md has all";
    grid.column[5].hidden = grid.column[9].hidden = !all->has_times;
    for (size_t i = 0; i < all->count; i++) {
        const struct standing *s = &all->each[i];
        text_grid_add_row(&grid);
        text_grid_add(&grid, "%s", s->strategy);
        text_grid_add_interval(&grid, &s->regret);
        text_grid_add_ratio(&grid, s->worst_regret);
        text_grid_add(&grid, "%s", s->worst);
        text_grid_add_interval(&grid, &s->capacity);
        text_grid_add_ns(&grid, s->request_ns.median);
        text_grid_add(&grid, "%.0f", s->driver_calls);
        add_share(&grid, s->hit_share);
        add_share(&grid, s->idle_share);
        text_grid_add(&grid, "%s", s->on_front ? "yes" : "");
    }
    text_grid_print(&grid, format, &(struct terminal){.width = terminal_of(out).width}, out);
    text_grid_free(&grid);
}

/* "vmm 1.05×, 12 µs": the least regret among those that take no more time than `most_ns`; `named`:
 * that of this strategy alone. */
static void add_best(struct text_grid *grid, const struct standings *all, double most_ns,
                     const char *named)
{
    const struct standing *best = NULL;
    char ns[32];
    for (size_t i = 0; i < all->count && !best; i++)
        if (all->each[i].request_ns.median <= most_ns &&
            (!named || strcmp(all->each[i].strategy, named) == 0))
            best = &all->each[i];
    if (best)
        text_grid_add(grid, "%s %.2f×, %s", best->strategy, best->regret.median,
                      text_ns(ns, best->request_ns.median));
    else
        text_grid_skip(grid, 1);
}

static void print_kinds(const json_t *fits, enum table_format format, struct arena *arena,
                        FILE *out)
{
    size_t count;
    const char **kinds = standings_kinds(fits, &count, arena);
    struct text_grid grid = text_grid_of("kind of program|>programs^2|>least regret^3|"
                                         ">least regret below 1 µs a request|>PyTorch's default^1");
    for (size_t i = 0; i < count; i++) {
        const struct standings all = standings_of(fits, kinds[i], arena);
        text_grid_add_row(&grid);
        text_grid_add(&grid, "%s", kinds[i]);
        text_grid_add(&grid, "%zu", all.program_count);
        add_best(&grid, &all, INFINITY, NULL);
        add_best(&grid, &all, LITTLE_NS, NULL);
        add_best(&grid, &all, INFINITY, USUAL);
    }
    if (count) {
        fputc('\n', out);
        text_grid_print(&grid, format, &(struct terminal){.width = terminal_of(out).width}, out);
    }
    text_grid_free(&grid);
}

void standings_print(const json_t *fits, enum table_format format, FILE *out)
{
    struct arena arena = {0};
    char programs[48];
    const struct standings all = standings_of(fits, NULL, &arena);
    const bool is_for_people = format != TABLE_CSV;
    if (is_for_people)
        fprintf(out,
                "%s. Regret: reserved at the peak over the optimum, of a typical\n"
                "program, with its 95%% interval over programs.\n\n",
                text_count(programs, (double)all.program_count, "program"));
    print_strategies(&all, format, out);
    if (is_for_people && all.has_times)
        print_kinds(fits, format, &arena, out);
    for (size_t i = 0; i < all.left_out_count && is_for_people; i++)
        fprintf(out, "%s%s%s",
                i ? ", " : "\nnot ranked, because it did not serve all programs: ", all.left_out[i],
                i + 1 == all.left_out_count ? "\n" : "");
    arena_free(&arena);
}
