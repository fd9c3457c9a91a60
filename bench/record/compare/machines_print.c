/* A comparison of machines as text, Markdown and CSV. Everything is read from the tree. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "base/tree.h"
#include "record/compare/machines.h"
#include "record/result/result.h"

/* ---- cells ------------------------------------------------------------------------------------- */

static const char *machine_name(const json_t *tree, size_t at)
{
    return tree_get_text(json_array_get(json_object_get(tree, "machines"), at), "name");
}

static size_t machine_count(const json_t *tree)
{
    return json_array_size(json_object_get(tree, "machines"));
}

/* Adds a column whose title is that of the machine and a word. */
static void add_machine_column(struct text_grid *grid, const json_t *tree, size_t at,
                               const char *word, unsigned drop)
{
    text_grid_add_column(
        grid, (struct text_grid_column){
                  .title = arena_printf(&grid->arena, "%s%s", machine_name(tree, at), word),
                  .kind = *word ? GRID_NUMBER : GRID_NAME,
                  .drop = drop});
}

static void add_factor(struct text_grid *grid, double factor)
{
    if (isnan(factor))
        text_grid_skip(grid, 1);
    else
        text_grid_add(grid, "%.2f×", factor);
}

static bool is_text(const json_t *object, const char *key, const char *text)
{
    return strcmp(tree_get_text(object, key), text) == 0;
}

/* ---- programs ---------------------------------------------------------------------------------- */

/* Adds "pool, +4", the fastest and the number of others that are as fast, and its ratio. */
static void add_fastest(struct text_grid *grid, const json_t *places)
{
    const json_t *place, *fastest = NULL;
    size_t others = 0;
    for (size_t i = 0; (place = json_array_get(places, i)); i++) {
        if (is_text(place, "verdict", "fastest"))
            fastest = place;
        else
            others += json_is_true(json_object_get(place, "is_fastest"));
    }
    const json_t *ratio = json_object_get(fastest, "speedup");
    const double lo = tree_get_number(ratio, "ci_lo"), hi = tree_get_number(ratio, "ci_hi");
    if (others)
        text_grid_add(grid, "%s, +%zu", tree_get_text(fastest, "name"), others);
    else
        text_grid_add(grid, "%s", tree_get_text(fastest, "name"));
    if (isnan(lo))
        add_factor(grid, tree_get_number(ratio, "median"));
    else
        text_grid_add(grid, "%.2f× [%.2f, %.2f]", tree_get_number(ratio, "median"), lo, hi);
}

/* "same: pool, tlsf, caching, +2", "differs: stream skipped on opencl:1", "unsure". */
static void add_agreement(struct text_grid *grid, const json_t *program)
{
    enum { NAMES_MOST = 3 };
    const json_t *names = json_object_get(program, "fastest_on_all");
    const char *reason = tree_get_text(program, "reason");
    const size_t count = is_text(program, "agreement", "same") ? json_array_size(names) : 0;
    struct text words = {0};
    text_add(&words, "%s%s%s", tree_get_text(program, "agreement"), *reason ? ": " : "", reason);
    for (size_t i = 0; i < count && i < NAMES_MOST; i++)
        text_add(&words, "%s%s", i ? ", " : ": ", json_string_value(json_array_get(names, i)));
    if (count > NAMES_MOST)
        text_add(&words, ", +%zu", count - NAMES_MOST);
    text_grid_add(grid, "%s", words.data);
    text_free(&words);
}

static void hide_constant(struct text_grid *grid, size_t column)
{
    const char *constant = text_grid_constant(grid, column);
    if (!grid->row_count || !constant)
        return;
    grid->column[column].hidden = true;
    grid->column[column].once = constant;
}

static struct text_grid programs_grid(const json_t *tree, enum compare_show show)
{
    struct text_grid grid = text_grid_of("program|dataset^1");
    const json_t *programs = json_object_get(tree, "programs"), *each;
    for (size_t at = 0; at < machine_count(tree); at++) {
        add_machine_column(&grid, tree, at, "", 0);
        text_grid_add_column(
            &grid, (struct text_grid_column){
                       .title = arena_printf(&grid.arena, "vs %s", tree_get_text(tree, "against")),
                       .kind = GRID_NUMBER});
    }
    text_grid_add_column(&grid, (struct text_grid_column){.title = "one choice", .drop = 3});
    text_grid_add_column(
        &grid, (struct text_grid_column){.title = "costs", .kind = GRID_NUMBER, .drop = 2});
    text_grid_add_column(
        &grid, (struct text_grid_column){.title = "fastest everywhere", .kind = GRID_PROSE});
    for (size_t i = 0; (each = json_array_get(programs, i)); i++) {
        if (show == COMPARE_SHOW_WORST && !is_text(each, "agreement", "differs"))
            continue;
        struct text_grid_row *row = text_grid_add_row(&grid);
        row->mood_of = grid.column_count - 1;
        row->mood = is_text(each, "agreement", "same")      ? GRID_PLAIN
                    : is_text(each, "agreement", "differs") ? GRID_WORSE
                                                            : GRID_UNSURE;
        text_grid_add(&grid, "%s", tree_get_text(each, "workload"));
        text_grid_add(&grid, "%s", tree_get_text(each, "dataset"));
        for (size_t at = 0; at < machine_count(tree); at++)
            add_fastest(&grid, json_array_get(json_object_get(each, "machines"), at));
        text_grid_add(&grid, "%s", tree_get_text(each, "choice"));
        add_factor(&grid, tree_get_number(each, "choice_loss"));
        add_agreement(&grid, each);
    }
    hide_constant(&grid, 1);
    return grid;
}

/* ---- configurations ---------------------------------------------------------------------------- */

static void add_losses_of(struct text_grid *grid, const json_t *on)
{
    const json_t *worst = json_object_get(on, "worst");
    add_factor(grid, tree_get_number(on, "mean_loss"));
    if (json_is_object(worst))
        text_grid_add(grid, "%.2f× %s", tree_get_number(on, "worst_loss"),
                      tree_get_text(worst, "workload"));
    else
        text_grid_skip(grid, 1);
    if (tree_get_number(on, "programs") > 0)
        text_grid_add(grid, "%.0f of %.0f", tree_get_number(on, "fastest"),
                      tree_get_number(on, "programs"));
    else
        text_grid_skip(grid, 1);
}

static struct text_grid losses_grid(const json_t *tree)
{
    struct text_grid grid = text_grid_of("configuration");
    const json_t *configurations = json_object_get(tree, "configurations"), *each;
    for (size_t at = 0; at < machine_count(tree); at++) {
        add_machine_column(&grid, tree, at, " mean", 0);
        text_grid_add_column(
            &grid, (struct text_grid_column){.title = "worst", .kind = GRID_NUMBER, .drop = 1});
        text_grid_add_column(&grid, (struct text_grid_column){
                                        .title = "fastest in", .kind = GRID_NUMBER, .drop = 2});
    }
    text_grid_add_column(
        &grid, (struct text_grid_column){.title = "worst everywhere", .kind = GRID_NUMBER});
    text_grid_add_column(&grid, (struct text_grid_column){.title = "", .kind = GRID_PROSE});
    for (size_t i = 0; (each = json_array_get(configurations, i)); i++) {
        text_grid_add_row(&grid);
        text_grid_add(&grid, "%s", tree_get_text(each, "name"));
        for (size_t at = 0; at < machine_count(tree); at++)
            add_losses_of(&grid, json_array_get(json_object_get(each, "machines"), at));
        add_factor(&grid, tree_get_number(each, "worst_loss"));
        text_grid_add(&grid, "%s",
                      json_is_true(json_object_get(each, "is_safest")) ? "safest" : "");
    }
    return grid;
}

struct text_grid machines_grid_of(const json_t *tree, enum machines_table table,
                                  enum compare_show show)
{
    switch (table) {
    case MACHINES_programs:
        return programs_grid(tree, show);
    case MACHINES_losses:
    case MACHINES_TABLES:
        break;
    }
    return losses_grid(tree);
}

/* ---- formats ----------------------------------------------------------------------------------- */

void machines_describe(const json_t *machine, struct text *words)
{
    const json_t *files = json_object_get(machine, "files"), *file;
    const char *driver = tree_get_text(machine, "driver");
    text_add(words, "%s%s%s, machine %s, ", tree_get_text(machine, "device_name"),
             *driver ? ", driver " : "", driver, tree_get_text(machine, "machine_id"));
    for (size_t i = 0; (file = json_array_get(files, i)); i++)
        text_add(words, "%s%s", i ? " and " : "", json_string_value(file));
}

static void print_machines(const json_t *tree, const char *end, FILE *out)
{
    const json_t *machines = json_object_get(tree, "machines"), *each;
    for (size_t at = 0; (each = json_array_get(machines, at)); at++) {
        struct text words = {0};
        machines_describe(each, &words);
        fprintf(out, "%s: %s%s", tree_get_text(each, "name"), words.data, end);
        text_free(&words);
    }
}

static void add_remark(json_t *remarks, struct text *words)
{
    tree_append(remarks, tree_text(words->data));
    text_free(words);
}

json_t *machines_remarks(const json_t *tree)
{
    const json_t *left_out = json_object_get(tree, "left_out"), *each;
    json_t *remarks = tree_array();
    for (size_t i = 0; (each = json_array_get(left_out, i)); i++) {
        struct text words = {0};
        text_add(&words, "%s %s is left out: %s", tree_get_text(each, "workload"),
                 tree_get_text(each, "dataset"), tree_get_text(each, "reason"));
        add_remark(remarks, &words);
    }
    json_array_extend(remarks, json_object_get(tree, "notes"));
    return remarks;
}

static void print_remarks(const json_t *tree, const char *end, FILE *out)
{
    json_t *remarks = machines_remarks(tree), *each;
    for (size_t i = 0; (each = json_array_get(remarks, i)); i++)
        fprintf(out, "! %s%s", json_string_value(each), end);
    json_decref(remarks);
}

static void print_people(const json_t *tree, enum table_format format, enum compare_show show,
                         FILE *out)
{
    const char *end = format == TABLE_MARKDOWN ? "  \n" : "\n";
    const json_t *sentences = json_object_get(tree, "sentences"), *each;
    struct terminal_page page;
    terminal_page_open(&page, out);
    print_machines(tree, end, page.out);
    print_remarks(tree, end, page.out);
    for (int table = 0; table < MACHINES_TABLES; table++) {
        struct text_grid grid = machines_grid_of(tree, (enum machines_table)table, show);
        grid.indent = 2;
        grid.complete = "--format csv has all";
        if (grid.row_count) {
            fprintf(page.out, "\n%s. %s%s%s", machines_titles[table], machines_abouts[table], end,
                    format == TABLE_MARKDOWN ? "\n" : "");
            text_grid_print_once(&grid, end, page.out);
            text_grid_print(&grid, format, &page.terminal, page.out);
        }
        text_grid_free(&grid);
    }
    fputc('\n', page.out);
    for (size_t i = 0; (each = json_array_get(sentences, i)); i++)
        fprintf(page.out, "%s%s", json_string_value(each), end);
    terminal_page_close(&page);
}

/* A line for each place: a program, a machine and a configuration. */
static void print_csv(const json_t *tree, FILE *out)
{
    static const char columns[] =
        "workload|dataset|agreement|machine|name|status|verdict|time_ns|over_fastest|over_lo|"
        "over_hi|speedup|speedup_lo|speedup_hi";
    static const char *const ratios[] = {"over_fastest", "speedup"};
    static const char *const numbers[] = {"median", "ci_lo", "ci_hi"};
    struct text_grid grid = text_grid_of(columns);
    const json_t *programs = json_object_get(tree, "programs"), *program, *places, *place;
    for (size_t p = 0; (program = json_array_get(programs, p)); p++)
        for (size_t at = 0; (places = json_array_get(json_object_get(program, "machines"), at));
             at++)
            for (size_t c = 0; (place = json_array_get(places, c)); c++) {
                text_grid_add_row(&grid);
                text_grid_add(&grid, "%s", tree_get_text(program, "workload"));
                text_grid_add(&grid, "%s", tree_get_text(program, "dataset"));
                text_grid_add(&grid, "%s", tree_get_text(program, "agreement"));
                text_grid_add(&grid, "%s", machine_name(tree, at));
                text_grid_add_json(&grid, json_object_get(place, "name"));
                text_grid_add_json(&grid, json_object_get(place, "status"));
                text_grid_add_json(&grid, json_object_get(place, "verdict"));
                text_grid_add_json(&grid, json_object_get(place, "time_ns"));
                for (size_t i = 0; i < 6; i++)
                    text_grid_add_json(&grid, json_object_get(json_object_get(place, ratios[i / 3]),
                                                              numbers[i % 3]));
            }
    text_grid_print(&grid, TABLE_CSV, NULL, out);
    text_grid_free(&grid);
}

int machines_print(const json_t *tree, enum table_format format, enum compare_show show, FILE *out,
                   struct error *error)
{
    if (format == TABLE_JSON)
        return result_print(tree, out, error);
    if (format == TABLE_CSV)
        print_csv(tree, out);
    else
        print_people(tree, format, show, out);
    if (fflush(out) != 0 || ferror(out))
        return error_set(error, ERR_IO, "stdout could not be written: %s", strerror(errno));
    return 0;
}
