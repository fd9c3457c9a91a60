#include "results/show/table.h"

#include <math.h>
#include <string.h>

#include "results/show/text_grid.h"

static const uint64_t shown_bytes[] = {4096, 1 << 20, 16 << 20, 1 << 30};
enum { SHOWN = sizeof shown_bytes / sizeof *shown_bytes };

static bool is_measured(const struct atlas_point *point)
{
    return point->live_count == 0 && point->sample_count > 0;
}

static const struct atlas_point *point_at(const struct atlas_curve *curve, uint64_t bytes)
{
    for (size_t i = 0; i < curve->point_count; i++)
        if (is_measured(&curve->points[i]) && curve->points[i].bytes == bytes)
            return &curve->points[i];
    return NULL;
}

static const struct atlas_point *largest_of(const struct atlas_curve *curve)
{
    const struct atlas_point *largest = NULL;
    for (size_t i = 0; i < curve->point_count; i++)
        if (is_measured(&curve->points[i]) && curve->points[i].bytes > 0)
            largest = &curve->points[i];
    return largest;
}

/* If the slope adds less than a tenth even at the largest size of the line, it is noise, and only
 * the constant is printed. */
static void add_line(const struct atlas_line *line, uint64_t largest_bytes, struct text *out)
{
    char ns[32];
    double gib_per_second = 1e9 / line->b_ns_per_byte / (double)(1 << 30);
    text_add(out, "%s", text_ns(ns, line->a_ns));
    if (line->b_ns_per_byte * (double)largest_bytes <= line->a_ns / 10)
        return;
    if (gib_per_second < 1000)
        text_add(out, " + %.3g GiB/s", gib_per_second);
    else if (gib_per_second < 1024 * 1000)
        text_add(out, " + %.3g TiB/s", gib_per_second / 1024);
    else /* no memory is that fast: the digits would be noise */
        text_add(out, " + over 1000 TiB/s");
}

void atlas_fit_text(const struct atlas_curve *curve, struct text *out)
{
    const struct atlas_point *largest = largest_of(curve);
    char size[32];
    for (unsigned i = 0; i < curve->line_count && largest; i++) {
        bool last = i + 1 == curve->line_count;
        if (i > 0)
            text_add(out, "; from %s ", text_bytes(size, curve->lines[i].from_bytes));
        add_line(&curve->lines[i], last ? largest->bytes : curve->lines[i + 1].from_bytes, out);
    }
}

/* "nothing, device from 64.0 MiB": what calls wait for, and the size from which on that changes. */
static void waits_text(const struct atlas_curve *curve, char out[96])
{
    char size[32];
    *out = 0;
    for (size_t i = 0; i < curve->probe_count; i++) {
        enum atlas_wait waits = curve->probes[i].waits;
        if (i > 0 && waits == curve->probes[i - 1].waits)
            continue;
        size_t used = strlen(out);
        if (i == 0)
            snprintf(out, 96, "%s", atlas_wait_name(waits));
        else
            snprintf(out + used, 96 - used, ", %s from %s", atlas_wait_name(waits),
                     text_bytes(size, curve->probes[i].bytes));
    }
}

/* ---- the tables ------------------------------------------------------------------------------ */

static void add_waits(struct text_grid *grid, const struct atlas_curve *curve)
{
    char text[96];
    waits_text(curve, text);
    text_grid_add(grid, "%s", *text ? text : "-");
}

static void add_method(struct text_grid *grid, const struct atlas_curve *curve)
{
    const struct atlas_point *largest = largest_of(curve), *mib = point_at(curve, 1 << 20);
    char size[32], ns[32];
    struct text fit = {0};
    text_grid_add_row(grid);
    text_grid_add(grid, "%s", curve->method);
    text_grid_add(grid, "%s", curve->call);
    for (size_t i = 0; i < SHOWN; i++) {
        const struct atlas_point *point = point_at(curve, shown_bytes[i]);
        text_grid_add_ns(grid, point ? (double)point->p50_ns : NAN);
    }
    text_grid_add(grid, "%s (%s)", text_ns(ns, (double)largest->p50_ns),
                  text_bytes(size, largest->bytes));
    text_grid_add_ns(grid, mib ? (double)mib->p99_ns : NAN);
    atlas_fit_text(curve, &fit);
    text_grid_add(grid, "%s", fit.length ? fit.data : "-");
    text_free(&fit);
    if (isnan(curve->fit_error))
        text_grid_skip(grid, 1);
    else
        text_grid_add(grid, "%.0f %%", 100 * curve->fit_error);
    add_waits(grid, curve);
}

static void print_grid(struct text_grid *grid, struct terminal_page *page)
{
    grid->complete = "--format json has all";
    if (grid->row_count) {
        fputc('\n', page->out);
        text_grid_print(grid, TABLE_TEXT, &page->terminal, page->out);
    }
    text_grid_free(grid);
}

static void print_methods(const struct atlas *atlas, struct terminal_page *page)
{
    struct text_grid grid = text_grid_of(
        "method|call|>4.00 KiB^5|>1.00 MiB^1|>16.0 MiB^4|>1.00 GiB^3|>largest^7|>p99 1 MiB^6|"
        "fit a + size / b^8|>fit off^9|~waits for");
    for (size_t c = 0; c < atlas->curve_count; c++)
        if (largest_of(&atlas->curves[c]))
            add_method(&grid, &atlas->curves[c]);
    print_grid(&grid, page);
}

static void print_commands(const struct atlas *atlas, struct terminal_page *page)
{
    struct text_grid grid = text_grid_of("command|>median|>p10^1|>p90^1|>p99^1|~waits for");
    for (size_t c = 0; c < atlas->curve_count; c++) {
        const struct atlas_curve *curve = &atlas->curves[c];
        const struct atlas_point *point = point_at(curve, 0);
        if (!point)
            continue;
        text_grid_add_row(&grid);
        text_grid_add(&grid, "%s", curve->call);
        text_grid_add_ns(&grid, (double)point->p50_ns);
        text_grid_add_ns(&grid, (double)point->p10_ns);
        text_grid_add_ns(&grid, (double)point->p90_ns);
        text_grid_add_ns(&grid, (double)point->p99_ns);
        add_waits(&grid, curve);
    }
    print_grid(&grid, page);
}

/* Prints a line for each call that a method does not offer, or that was left out from some size
 * on. */
static void print_skipped(const struct atlas *atlas, struct terminal_page *page)
{
    struct text_grid grid = text_grid_of("left out|~reason");
    for (size_t c = 0; c < atlas->curve_count; c++) {
        const struct atlas_curve *curve = &atlas->curves[c];
        const char *first = NULL;
        size_t count = 0;
        for (size_t i = 0; i < curve->point_count; i++)
            if (*curve->points[i].skipped && curve->points[i].live_count == 0) {
                first = first ? first : curve->points[i].skipped;
                count++;
            }
        if (!first)
            continue;
        text_grid_add_row(&grid);
        text_grid_add(&grid, "%s", curve->method);
        if (count > 1)
            text_grid_add(&grid, "%s, and %zu larger sizes", first, count - 1);
        else
            text_grid_add(&grid, "%s", first);
    }
    print_grid(&grid, page);
}

void atlas_print(const struct atlas *atlas, FILE *out)
{
    struct terminal_page page;
    char ns[32];
    terminal_page_open(&page, out);
    fprintf(page.out, "%s, %s%s%s; medians, of which %s is the reading of the clock\n",
            atlas->device, atlas->name, *atlas->driver ? ", driver " : "", atlas->driver,
            isnan(atlas->timer_ns) ? "an unknown part" : text_ns(ns, atlas->timer_ns));
    print_methods(atlas, &page);
    print_commands(atlas, &page);
    print_skipped(atlas, &page);
    terminal_page_close(&page);
}
