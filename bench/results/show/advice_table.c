/* Prints advice as a table with a line for each program. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/tree.h"
#include "results/show/table.h"
#include "results/show/text_grid.h"

/* X(title for people, title of the CSV): the columns with numbers. */
#define NUMBER_LIST(X)                                                                             \
    X(now, ">now", "reserved_bytes")                                                               \
    X(then, ">then^2", "advised_reserved_bytes")                                                   \
    X(saved, ">saved", "saved_bytes")                                                              \
    X(percent, ">%^1", "saved_percent")                                                            \
    X(fits_now, ">fits now^4", "capacity_bytes")                                                   \
    X(fits_then, ">fits then^3", "advised_capacity_bytes")
#define NUMBER_OF(name, ...) NUMBER_##name,
enum number { NUMBER_LIST(NUMBER_OF) NUMBERS };

/* A line of the table. Texts are borrowed from the JSON; "" where it has none. */
struct program {
    const char *name, *reason, *strategy, *setting, *purpose, *sure;
    double
        number[NUMBERS]; /* NaN: unknown; saved is negative where the advised setting holds more */
    json_t *advice;
};

/* The words are explained by the help of gamut advise. */
static const char *sure_of(const json_t *trace, struct arena *arena)
{
    const double off = 100 * tree_get_number(trace, "most_off_bytes") /
                       tree_get_number(trace, "logged_peak_bytes");
    const json_t *advised = json_object_get(trace, "advised");
    const bool is_estimate = json_is_null(json_object_get(advised, "reserved_most_bytes"));
    const bool is_exact = json_is_true(json_object_get(trace, "calls_are_logged")) || off == 0;
    char percent[32];
    return json_object_get(trace, "reason")                             ? ""
           : !json_is_true(json_object_get(trace, "current_is_logged")) ? "assumed"
           : is_exact   ? (is_estimate ? "about" : "exact")
           : isnan(off) ? "unchecked"
                        : arena_printf(arena, "±%s", text_percent(percent, off));
}

static void set_saved(double number[NUMBERS])
{
    number[NUMBER_saved] = number[NUMBER_now] - number[NUMBER_then];
    number[NUMBER_percent] =
        number[NUMBER_now] > 0 ? 100 * number[NUMBER_saved] / number[NUMBER_now] : 0;
}

static struct program program_of(json_t *advice, struct arena *arena)
{
    const json_t *trace = json_array_get(json_object_get(advice, "traces"), 0);
    const json_t *now = json_object_get(trace, "current"),
                 *advised = json_object_get(trace, "advised");
    const bool changes = json_is_object(advised);
    const double logged = tree_get_number(trace, "logged_peak_bytes"),
                 now_bytes = logged > 0 ? logged : tree_get_number(now, "reserved_bytes"),
                 now_fits = tree_get_number(now, "capacity_bytes");
    struct program p = {
        .name = tree_get_text(trace, "trace"),
        .reason = tree_get_text(trace, "reason"),
        .strategy = tree_get_text(now, "strategy"),
        .setting = tree_get_text(advised, "words"),
        .purpose = tree_get_text(trace, "for"),
        .sure = sure_of(trace, arena),
        .number = {[NUMBER_now] = now_bytes,
                   [NUMBER_then] = changes ? tree_get_number(advised, "reserved_bytes") : now_bytes,
                   [NUMBER_fits_now] = now_fits,
                   [NUMBER_fits_then] =
                       changes ? tree_get_number(advised, "capacity_bytes") : now_fits},
        .advice = advice};
    set_saved(p.number);
    if (*p.reason)
        p.number[NUMBER_percent] = NAN;
    return p;
}

/* Most bytes first; those without an answer last. */
static int by_saved(const void *a, const void *b)
{
    const struct program *one = a, *other = b;
    const double x = *one->reason ? -INFINITY : one->number[NUMBER_saved],
                 y = *other->reason ? -INFINITY : other->number[NUMBER_saved];
    return x != y ? (x > y ? -1 : 1) : strcmp(one->name, other->name);
}

/* The lines of a list, in their order; the caller frees them. */
static struct program *programs_of(const json_t *advice, struct arena *arena, size_t *count)
{
    struct program *programs = must_alloc((json_array_size(advice) + 1) * sizeof *programs);
    json_t *one;
    *count = 0;
    for (size_t i = 0; (one = json_array_get(advice, i)); i++)
        if (json_array_size(json_object_get(one, "traces")) == 1) /* else for all together */
            programs[(*count)++] = program_of(one, arena);
    qsort(programs, *count, sizeof *programs, by_saved);
    return programs;
}

void advice_sort(json_t *advice)
{
    size_t count;
    struct arena arena = {0};
    struct program *programs = programs_of(advice, &arena, &count);
    for (size_t i = 0; i < count; i++)
        json_incref(programs[i].advice);
    json_array_clear(advice);
    for (size_t i = 0; i < count; i++)
        tree_append(advice, programs[i].advice);
    arena_free(&arena);
    free(programs);
}

/* ---- columns --------------------------------------------------------------------------------- */

/* The length of "PYTORCH_CUDA_ALLOC_CONF=", with which a setting begins; 0: with no variable. */
static size_t variable_length(const char *setting)
{
    const size_t length = strspn(setting, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
    return length && setting[length] == '=' ? length + 1 : 0;
}

/* The variable of all settings that have one; "" if they differ. */
static const char *variable_of(const struct program *programs, size_t count, struct arena *arena)
{
    const char *first = "";
    for (size_t i = 0; i < count; i++) {
        const char *setting = programs[i].setting;
        const size_t length = variable_length(setting);
        if (length && *first && strncmp(setting, first, variable_length(first)) != 0)
            return "";
        first = length && !*first ? setting : first;
    }
    return arena_copy(arena, first, variable_length(first));
}

static void add_numbers(struct text_grid *grid, const double number[NUMBERS], bool is_csv)
{
    char bytes[32];
    for (int i = 0; i < NUMBERS; i++)
        if (is_csv)
            text_grid_add_exact(grid, number[i]);
        else if (isnan(number[i]))
            text_grid_skip(grid, 1);
        else if (i == NUMBER_percent)
            text_grid_add(grid, "%.1f", number[i]);
        else
            text_grid_add(grid, "%s%s", number[i] < 0 ? "-" : "",
                          text_bytes(bytes, (uint64_t)fabs(number[i])));
}

/* `hidden`: bytes of a setting's variable that stand above the table. */
static void add_program(struct text_grid *grid, const struct program *p, size_t hidden,
                        enum table_format format)
{
    const bool is_csv = format == TABLE_CSV;
    struct text_grid_row *row = text_grid_add_row(grid);
    text_grid_add(grid, "%s", p->name);
    add_numbers(grid, p->number, is_csv);
    text_grid_add(grid, "%s", p->sure);
    if (is_csv)
        text_grid_add(grid, "%s", p->strategy);
    if (is_csv) {
        text_grid_add(grid, "%s", p->setting);
        text_grid_add(grid, "%s", p->purpose);
        text_grid_add(grid, "%s", p->reason);
    } else if (*p->setting) {
        text_grid_add(grid, strncmp(p->purpose, "less", 4) == 0 ? "%s" : "%s, for %s",
                      p->setting + (variable_length(p->setting) ? hidden : 0), p->purpose);
    } else {
        text_grid_add(grid, "%s", *p->reason ? p->reason : "as it is");
    }
    if (*p->reason && format == TABLE_TEXT) {
        row->cells = 1;
        row->remark = p->reason;
    }
}

static void add_total(struct text_grid *grid, const struct program *programs, size_t count)
{
    size_t better = 0, failed = 0;
    double sum[NUMBERS] = {[NUMBER_fits_now] = NAN, [NUMBER_fits_then] = NAN};
    for (size_t i = 0; i < count; i++) {
        failed += *programs[i].reason != 0;
        better += *programs[i].setting != 0;
        for (int n = NUMBER_now; n <= NUMBER_then && !*programs[i].reason; n++)
            sum[n] += programs[i].number[n];
    }
    set_saved(sum);
    text_grid_add_row(grid);
    text_grid_add(grid, "total of %zu", count);
    add_numbers(grid, sum, false);
    text_grid_skip(grid, 1);
    text_grid_add(grid, failed ? "%zu to change, %zu without an answer" : "%zu to change", better,
                  failed);
}

void advice_table_print(const json_t *advice, enum table_format format, FILE *out)
{
#define TITLE(name, title, csv) title "|"
#define CSV(name, title, csv)   csv "|"
    static const char *const for_people = "program|" NUMBER_LIST(TITLE) "sure|~setting";
    static const char *const for_programs =
        "trace|" NUMBER_LIST(CSV) "sure|strategy|setting|for|reason";
    const bool is_csv = format == TABLE_CSV;
    size_t count;
    struct text_grid grid = text_grid_of(is_csv ? for_programs : for_people);
    struct program *programs = programs_of(advice, &grid.arena, &count);
    const char *variable = is_csv ? "" : variable_of(programs, count, &grid.arena);
    const struct terminal terminal = terminal_of(out);
    struct terminal_page page;
    grid.complete = "--format csv has all";
    for (size_t i = 0; i < count; i++)
        add_program(&grid, &programs[i], strlen(variable), format);
    if (!is_csv)
        add_total(&grid, programs, count);
    terminal_page_open(&page, out);
    if (*variable)
        fprintf(page.out, "settings: %s...\n\n", variable);
    text_grid_print(&grid, format, &terminal, page.out);
    terminal_page_close(&page);
    text_grid_free(&grid);
    free(programs);
}
