/* The charts of what `gamut run --timeline on` and `gamut replay` record of a case (its member
 * `memory`): a panel or a line for each configuration of a workload. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/tree.h"
#include "record/chart/gnuplot.h"
#include "record/facts/address_cover.h"
#include "record/facts/address_map.h"
#include "record/facts/latency.h"

/* ---- panels --------------------------------------------------------------------------------- */

struct memory_panel {
    const json_t *memory; /* the case's member `memory`; borrowed */
    struct text title;    /* "pool", "pool best": the members that differ between cases */
};

struct memory_panels {
    size_t count;
    struct memory_panel *panel;
    size_t left_out; /* configurations beyond the most that one picture shows */
};

/* Makes a panel for each good case whose memory was recorded with this member, in their order.
 * ERR_NOT_FOUND where none was; the message says what to do. The caller frees the panels if there is
 * no error. */
static int memory_panels_make(const struct chart *chart, const struct chart_subject *of,
                              const char *member, size_t most, struct memory_panels *panels,
                              struct error *error)
{
    const struct naming naming = naming_of(of);
    const json_t *one_case;
    *panels = (struct memory_panels){.panel = must_alloc(most * sizeof *panels->panel)};
    for (size_t i = 0; (one_case = case_next(of, &i));) {
        const json_t *memory = case_is_ok(one_case) ? json_object_get(one_case, "memory") : NULL;
        if (!json_is_object(json_object_get(memory, member)))
            continue;
        if (panels->count == most) {
            panels->left_out++;
        } else {
            struct memory_panel *panel = &panels->panel[panels->count++];
            panel->memory = memory;
            naming_column(&naming, true, json_object_get(one_case, "key"), &panel->title);
        }
    }
    if (panels->count)
        return 0;
    free(panels->panel);
    return error_set(error, ERR_NOT_FOUND,
                     "the chart %s shows what `gamut run --timeline on`%s records, and no good "
                     "case of %s/%s on %s has it",
                     chart->name, strcmp(member, "latency") == 0 ? "" : " or `gamut replay`",
                     of->workload, of->dataset, of->device);
}

static void memory_panels_free(struct memory_panels *panels)
{
    for (size_t i = 0; i < panels->count; i++)
        text_free(&panels->panel[i].title);
    free(panels->panel);
}

/* Adds what a step of a record is: step_name, and how many steps are 1 of that. */
static void memory_step_variables(const struct memory_panels *panels, struct text *out)
{
    const json_t *memory = panels->panel[0].memory;
    const char *unit = tree_get_text(memory, "step_unit");
    const bool in_ns = strcmp(unit, "ns") == 0;
    const double most = tree_get_number(memory, "steps");
    const double scale = !in_ns ? 1 : most >= 1e10 ? 1e9 : most >= 1e7 ? 1e6 : 1e3;
    gnuplot_variable(out, "step_name",
                     in_ns   ? (scale == 1e9   ? "seconds"
                                : scale == 1e6 ? "milliseconds"
                                               : "microseconds")
                     : *unit ? "events of the trace"
                             : "requests, releases and commands");
    gnuplot_number(out, "step_scale", scale);
}

/* Adds the variables series (the titles), what (workload and dataset), and note: `more`, and what
 * is left out. */
static void memory_panels_variables(const struct memory_panels *panels,
                                    const struct chart_subject *of, const char *more,
                                    struct text *out)
{
    struct text series = {0}, what = {0}, note = {0};
    for (size_t i = 0; i < panels->count; i++)
        gnuplot_word(&series, panels->panel[i].title.data);
    text_add(&what, "%s %s", of->workload, of->dataset);
    if (*more)
        text_add(&note, "; %s", more);
    if (panels->left_out)
        text_add(&note, "; %zu more configurations are not shown", panels->left_out);
    memory_step_variables(panels, out);
    gnuplot_words(out, "series", &series);
    gnuplot_variable(out, "what", what.data);
    gnuplot_variable(out, "note", note.length ? note.data : "");
    text_free(&series);
    text_free(&what);
    text_free(&note);
}

/* Adds the variables of an axis up to `top` bytes: unit ("MiB"), unit_bytes and top (in bytes). */
static void memory_axis_variables(double top, struct text *out)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double unit_bytes = 1;
    int u = 0;
    while (u < 4 && top >= 1024 * unit_bytes) {
        unit_bytes *= 1024;
        u++;
    }
    gnuplot_variable(out, "unit", units[u]);
    gnuplot_number(out, "unit_bytes", unit_bytes);
    gnuplot_number(out, "top", top > 0 ? top : 1);
}

/* An element of a column; NaN where it is null or missing. */
static double memory_column(const json_t *columns, const char *name, size_t i)
{
    return tree_to_number(json_array_get(json_object_get(columns, name), i));
}

/* An element of a column of indices; SIZE_MAX where it is none. */
static size_t memory_index(const json_t *columns, const char *name, size_t i)
{
    const json_t *value = json_array_get(json_object_get(columns, name), i);
    return json_is_integer(value) && json_integer_value(value) >= 0
               ? (size_t)json_integer_value(value)
               : SIZE_MAX;
}

/* ---- memory_timeline: bytes requested, granted and reserved over the events of a run ---------
 *
 *   block 0: a line a panel: number, title, most reserved bytes, stride of the points in steps
 *   then a block a panel: step requested granted reserved live least_requested
 */

enum { TIMELINES_MOST = 12 };

static double most_of(const json_t *columns, const char *name)
{
    double most = NAN;
    for (size_t i = 0; i < json_array_size(json_object_get(columns, name)); i++)
        most = fmax(most, memory_column(columns, name, i));
    return most;
}

static void print_timeline_point(const json_t *timeline, size_t i, double step, FILE *out)
{
    static const char *const names[] = {"requested_bytes", "granted_bytes", "reserved_bytes",
                                        "live_bytes", "least_requested_bytes"};
    const bool exact = tree_get_number(timeline, "stride") == 1;
    fprintf(out, "%.0f", step);
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        gnuplot_data(memory_column(timeline, n == 4 && exact ? names[0] : names[n], i), out);
    fputc('\n', out);
}

static void print_timeline(const struct memory_panel *panel, FILE *out)
{
    const json_t *timeline = json_object_get(panel->memory, "timeline");
    const size_t points = json_array_size(json_object_get(timeline, "step"));
    fputs("\n\n", out);
    gnuplot_comment(out, "%s", panel->title.data);
    gnuplot_comment(out, "step requested granted reserved live least_requested");
    for (size_t i = 0; i < points; i++)
        print_timeline_point(timeline, i, memory_column(timeline, "step", i), out);
    if (points) /* the last point holds until the end */
        print_timeline_point(timeline, points - 1, tree_get_number(panel->memory, "steps"), out);
}

static int timeline_write(const struct chart *chart, const struct chart_subject *of, FILE *data,
                          struct text *variables, struct error *error)
{
    struct memory_panels panels;
    int code = memory_panels_make(chart, of, "timeline", TIMELINES_MOST, &panels, error);
    if (code)
        return code;
    gnuplot_comment(data, "gamut memory_timeline of %s %s on %s", of->workload, of->dataset,
                    of->device);
    gnuplot_comment(data, "panel title reserved_bytes stride");
    double requested = 0, reserved = 0;
    for (size_t i = 0; i < panels.count; i++) {
        const json_t *timeline = json_object_get(panels.panel[i].memory, "timeline");
        fprintf(data, "%zu", i);
        gnuplot_data_text(panels.panel[i].title.data, data);
        gnuplot_data(most_of(timeline, "reserved_bytes"), data);
        gnuplot_data(tree_get_number(timeline, "stride"), data);
        fputc('\n', data);
        requested = fmax(requested, most_of(timeline, "granted_bytes"));
        reserved = fmax(reserved, most_of(timeline, "reserved_bytes"));
    }
    for (size_t i = 0; i < panels.count; i++)
        print_timeline(&panels.panel[i], data);
    /* An allocator that reserves much more than any program needs would leave the others flat. */
    const double shown = reserved > 3 * requested ? 2 * requested : reserved;
    memory_panels_variables(&panels, of, "", variables);
    memory_axis_variables(shown, variables);
    memory_panels_free(&panels);
    return 0;
}

const struct chart chart_memory_timeline = {
    .name = "memory_timeline",
    .help = "bytes requested, granted and reserved over a run, and the lower bound, by strategy",
    .scope = CHART_OF_WORKLOAD,
    .on_request = true,
    .write = timeline_write,
};

/* ---- fragmentation: bytes reserved and in no block ---------------------------------------------
 *
 *   block 0: a line a panel: number, title, most spare bytes, most reserved bytes
 *   then a block a panel: step most_spare least_spare
 */

/* A file without spare bytes has them in the difference, if its points are exact. */
static double spare_bytes(const json_t *timeline, const char *name, size_t i)
{
    if (json_object_get(timeline, name))
        return memory_column(timeline, name, i);
    if (tree_get_number(timeline, "stride") != 1)
        return NAN;
    if (json_object_get(timeline, "spare_bytes"))
        return memory_column(timeline, "spare_bytes", i);
    return memory_column(timeline, "reserved_bytes", i) -
           memory_column(timeline, "granted_bytes", i);
}

static double most_spare(const json_t *timeline)
{
    double most = NAN;
    for (size_t i = 0; i < json_array_size(json_object_get(timeline, "step")); i++)
        most = fmax(most, spare_bytes(timeline, "spare_bytes", i));
    return most;
}

static void print_spare(const struct memory_panel *panel, FILE *out)
{
    const json_t *timeline = json_object_get(panel->memory, "timeline");
    const size_t points = json_array_size(json_object_get(timeline, "step"));
    fputs("\n\n", out);
    gnuplot_comment(out, "%s", panel->title.data);
    gnuplot_comment(out, "step most_spare least_spare");
    for (size_t i = 0; i <= points; i++) { /* the last point holds until the end */
        const size_t at = i < points ? i : points - 1;
        fprintf(out, "%.0f",
                i < points ? memory_column(timeline, "step", i)
                           : tree_get_number(panel->memory, "steps"));
        gnuplot_data(spare_bytes(timeline, "spare_bytes", at), out);
        gnuplot_data(spare_bytes(timeline, "least_spare_bytes", at), out);
        fputc('\n', out);
    }
}

static int fragmentation_write(const struct chart *chart, const struct chart_subject *of,
                               FILE *data, struct text *variables, struct error *error)
{
    struct memory_panels panels;
    double top = NAN;
    TRY(memory_panels_make(chart, of, "timeline", TIMELINES_MOST, &panels, error));
    gnuplot_comment(data, "gamut fragmentation of %s %s on %s", of->workload, of->dataset,
                    of->device);
    gnuplot_comment(data, "panel title spare_bytes reserved_bytes");
    for (size_t i = 0; i < panels.count; i++) {
        const json_t *timeline = json_object_get(panels.panel[i].memory, "timeline");
        const double most = most_spare(timeline);
        fprintf(data, "%zu", i);
        gnuplot_data_text(panels.panel[i].title.data, data);
        gnuplot_data(most, data);
        gnuplot_data(most_of(timeline, "reserved_bytes"), data);
        fputc('\n', data);
        top = fmax(top, most);
    }
    for (size_t i = 0; i < panels.count; i++)
        print_spare(&panels.panel[i], data);
    memory_panels_variables(&panels, of, "", variables);
    memory_axis_variables(top, variables);
    memory_panels_free(&panels);
    return isnan(top) ? error_set(error, ERR_NOT_FOUND,
                                  "the file is older than the chart fragmentation: it has no spare "
                                  "bytes")
                      : 0;
}

const struct chart chart_fragmentation = {
    .name = "fragmentation",
    .help = "bytes held from the driver and in no block, over a run or a trace, by strategy",
    .scope = CHART_OF_WORKLOAD,
    .on_request = true,
    .write = fragmentation_write,
};

/* ---- address_map: where blocks lie and how long they live, and the arrays in them ------------
 *
 * Addresses within a memory are true. The memories themselves are placed where there is room while
 * they are held, because a driver's handle need not be an address. The size of a memory is not
 * known either: it counts as far as its blocks reach.
 *
 * A map that leaves blocks out has a cover (record/facts/address_cover.h), which shows all of them,
 * and the picture shows that instead.
 *
 *   block 0: a line a panel: number, title, steps, the top of what is held, and the steps and bytes of a
 *     cell; 0: no cover
 *   then five blocks a panel: memories, blocks, arrays, the bytes that two arrays use at the same
 *   time, and where blocks are missing, each as lines of
 *     born died from to colour label: steps, bytes, number of the name
 *   or, with a cover, in the first of the five
 *     column row held most least: the middle of a cell, and shares of it
 */

enum { MAPS_MOST = 8, COLOURS = 8, BOX_BLOCKS = 5, TITLE_LENGTH = 24 };

/* A rectangle of the map: steps by bytes. */
struct box {
    double born, died, from, to;
};

/* A memory from its first block until it is returned to the driver. */
struct extent {
    double born, died, bytes;
    double base; /* its address in the picture; NaN: not yet known */
};

struct layout {
    const json_t *map, *cover; /* cover: NULL if nothing is left out */
    double steps;
    size_t block_count, array_count;
    struct box blocks[MAP_BLOCKS], arrays[MAP_ARRAYS];
    struct extent memories[MAP_BLOCKS];
    size_t memory_count;
    double top;  /* bytes */
    double used; /* above the highest block */
};

static struct box intersection(const struct box *a, const struct box *b)
{
    return (struct box){fmax(a->born, b->born), fmin(a->died, b->died), fmax(a->from, b->from),
                        fmin(a->to, b->to)};
}

static double death(const json_t *columns, size_t i, double steps)
{
    double died = memory_column(columns, "died", i);
    return isnan(died) ? steps : died;
}

static void find_extents(struct layout *l)
{
    const json_t *b = json_object_get(l->map, "blocks");
    for (size_t i = 0; i < l->block_count; i++) {
        size_t m = memory_index(b, "memory", i);
        if (m >= MAP_BLOCKS)
            continue;
        for (; l->memory_count <= m; l->memory_count++)
            l->memories[l->memory_count] = (struct extent){INFINITY, 0, 0, NAN};
        struct extent *e = &l->memories[m];
        e->born = fmin(e->born, memory_column(b, "born", i));
        e->died = death(json_object_get(l->map, "memories"), m, l->steps);
        e->bytes =
            fmax(e->bytes, memory_column(b, "offset_bytes", i) + memory_column(b, "bytes", i));
    }
}

/* The lowest address that is free while the memory lives. */
static double base_for(const struct layout *l, const struct extent *e)
{
    double base = 0;
    for (size_t i = 0; i < l->memory_count; i++) {
        const struct extent *other = &l->memories[i];
        bool in_the_way = !isnan(other->base) && other->born < e->died && e->born < other->died &&
                          other->base < base + e->bytes && base < other->base + other->bytes;
        if (in_the_way) {
            base = other->base + other->bytes;
            i = (size_t)-1; /* from the start again: it may lie in another one there */
        }
    }
    return base;
}

/* Gives each memory an address, in the order of their births. */
static void stack_memories(struct layout *l)
{
    for (size_t n = 0; n < l->memory_count; n++) {
        struct extent *next = NULL;
        for (size_t i = 0; i < l->memory_count; i++)
            if (isnan(l->memories[i].base) && (!next || l->memories[i].born < next->born))
                next = &l->memories[i];
        next->base = base_for(l, next);
        l->top = fmax(l->top, next->base + next->bytes);
    }
}

static void find_tops(struct layout *l)
{
    const json_t *most = json_object_get(l->cover, "most");
    const double row_bytes = tree_get_number(l->cover, "row_bytes");
    for (size_t r = 0; r < json_array_size(most); r++) {
        const char *row = json_string_value(json_array_get(most, r));
        l->top = ((double)r + 1) * row_bytes;
        if (row && row[strspn(row, "0")])
            l->used = l->top;
    }
}

static struct layout *layout_of(const json_t *memory)
{
    struct layout *l = must_alloc(sizeof *l);
    l->map = json_object_get(memory, "map");
    l->cover = json_object_get(l->map, "cover");
    l->steps = tree_get_number(memory, "steps");
    if (l->cover) {
        find_tops(l);
        return l;
    }
    const json_t *b = json_object_get(l->map, "blocks"), *a = json_object_get(l->map, "arrays");
    const size_t blocks = json_array_size(json_object_get(b, "memory"));
    const size_t arrays = json_array_size(json_object_get(a, "block"));
    l->block_count = blocks < MAP_BLOCKS ? blocks : MAP_BLOCKS;
    l->array_count = arrays < MAP_ARRAYS ? arrays : MAP_ARRAYS;
    find_extents(l);
    stack_memories(l);
    for (size_t i = 0; i < l->block_count; i++) {
        size_t m = memory_index(b, "memory", i);
        double from =
            (m < l->memory_count ? l->memories[m].base : 0) + memory_column(b, "offset_bytes", i);
        l->blocks[i] = (struct box){memory_column(b, "born", i), death(b, i, l->steps), from,
                                    from + memory_column(b, "bytes", i)};
        l->used = fmax(l->used, l->blocks[i].to);
    }
    for (size_t i = 0; i < l->array_count; i++) {
        size_t block = memory_index(a, "block", i);
        double from = (block < l->block_count ? l->blocks[block].from : 0) +
                      memory_column(a, "offset_bytes", i);
        l->arrays[i] =
            (struct box){memory_column(a, "born", i), fmin(death(a, i, l->steps), l->steps), from,
                         from + memory_column(a, "bytes", i)};
    }
    return l;
}

static bool has_arrays(const struct layout *l, size_t block)
{
    const json_t *a = json_object_get(l->map, "arrays");
    for (size_t i = 0; i < l->array_count; i++)
        if (memory_index(a, "block", i) == block)
            return true;
    return false;
}

/* Prints a box, with its label if there is room for it. */
static void print_box(const struct box *box, double steps, double top, size_t colour,
                      const char *label, FILE *out)
{
    const double letters = (box->died - box->born) / steps * 55;
    bool fits = (double)strlen(label) <= letters && (box->to - box->from) / top > 0.055;
    fprintf(out, "%.0f %.0f %.0f %.0f %zu", box->born, box->died, box->from, box->to, colour);
    gnuplot_data_text(fits ? label : "", out);
    fputc('\n', out);
}

/* Begins a block with a box outside of the picture: gnuplot refuses a block without data. */
static void begin_boxes(const struct memory_panel *panel, const char *what, FILE *out)
{
    fputs("\n\n", out);
    gnuplot_comment(out, "%s: %s", panel->title.data, what);
    gnuplot_comment(out, "born died from to colour label");
    fputs("-2 -1 -2 -1 1 \"\"\n", out);
}

static void print_overlaps(const struct layout *l, FILE *out)
{
    for (size_t i = 0; i < l->array_count; i++)
        for (size_t j = 0; j < i; j++) {
            struct box both = intersection(&l->arrays[i], &l->arrays[j]);
            if (both.born < both.died && both.from < both.to)
                print_box(&both, 1, 1, 0, "", out);
        }
}

/* The same name has the same colour in all panels. */
static size_t map_name(struct labels *all, const struct layout *l, const char *table,
                       const char *column, size_t i, const char **name)
{
    size_t at = memory_index(json_object_get(l->map, table), column, i);
    *name = json_string_value(json_array_get(json_object_get(l->map, "names"), at));
    if (!*name)
        *name = "?";
    return labels_add(all, *name) % COLOURS + 1;
}

static void print_map(const struct memory_panel *panel, const struct layout *l, double top,
                      struct labels *names, FILE *out)
{
    const char *name;
    begin_boxes(panel, "memories", out);
    for (size_t i = 0; i < l->memory_count; i++) {
        const struct extent *e = &l->memories[i];
        const struct box box = {e->born, e->died, e->base, e->base + e->bytes};
        print_box(&box, 1, 1, 0, "", out);
    }
    begin_boxes(panel, "blocks", out);
    for (size_t i = 0; i < l->block_count; i++) {
        bool shared = has_arrays(l, i);
        size_t colour = map_name(names, l, "blocks", "tag", i, &name);
        print_box(&l->blocks[i], l->steps, top, shared ? 0 : colour, shared ? "" : name, out);
    }
    begin_boxes(panel, "arrays", out);
    for (size_t i = 0; i < l->array_count; i++) {
        size_t colour = map_name(names, l, "arrays", "name", i, &name);
        print_box(&l->arrays[i], l->steps, top, colour, name, out);
    }
    begin_boxes(panel, "overlaps", out);
    print_overlaps(l, out);
    begin_boxes(panel, "where blocks are missing", out);
    if (tree_get_number(l->map, "blocks_left_out") > 0) {
        const struct box box = {tree_get_number(l->map, "left_out_from"), l->steps, 0, l->top};
        print_box(&box, 1, 1, 0, "", out);
    }
}

static double share_at(const json_t *cover, const char *name, size_t row, size_t column)
{
    const char *text = json_string_value(json_array_get(json_object_get(cover, name), row));
    return text && column < strlen(text) ? cover_share(text[column]) : 0;
}

/* gnuplot needs two columns and two rows for an image, so a single one is drawn as two halves. */
static void print_cells(const json_t *cover, FILE *out)
{
    const json_t *most = json_object_get(cover, "most");
    const char *first = json_string_value(json_array_get(most, 0));
    const size_t columns = first ? strlen(first) : 0, rows = json_array_size(most);
    const size_t across = columns == 1 ? 2 : 1, up = rows == 1 ? 2 : 1;
    for (size_t r = 0; r < rows * up; r++)
        for (size_t c = 0; c < columns * across; c++)
            fprintf(out, "%g %g %.2g %.2g %.2g\n", ((double)c + 0.5) / (double)across,
                    ((double)r + 0.5) / (double)up, share_at(cover, "held", r / up, c / across),
                    share_at(cover, "most", r / up, c / across),
                    share_at(cover, "least", r / up, c / across));
}

/* The blocks of the boxes stay, each with one box outside of the picture. */
static void print_cover(const struct memory_panel *panel, const struct layout *l, FILE *out)
{
    fputs("\n\n", out);
    gnuplot_comment(out, "%s: cells", panel->title.data);
    gnuplot_comment(out, "column row held most least");
    print_cells(l->cover, out);
    for (int i = 1; i < BOX_BLOCKS; i++)
        begin_boxes(panel, "shown by the cells", out);
}

/* "2 arrays and 1,027 to 1,100 blocks left out": the panels differ, and a name for each makes the
 * caption too long. */
static void add_range(double least, double most, const char *what, struct text *note)
{
    if (most > 0) {
        text_add(note, "%s%.0f", note->length ? " and " : "", least);
        if (least < most)
            text_add(note, " to %.0f", most);
        text_add(note, " %s", what);
    }
}

static void add_left_out(const struct memory_panels *panels, struct layout *const *layouts,
                         struct text *note)
{
    double least[2] = {INFINITY, INFINITY}, most[2] = {0};
    bool has_cover = false;
    for (size_t i = 0; i < panels->count; i++) {
        static const char *const names[] = {"blocks_left_out", "arrays_left_out"};
        has_cover |= layouts[i]->cover != NULL;
        for (size_t k = 0; k < 2 && !layouts[i]->cover; k++) {
            const double count = tree_get_number(layouts[i]->map, names[k]);
            least[k] = fmin(least[k], count);
            most[k] = fmax(most[k], count);
        }
    }
    add_range(least[0], most[0], "blocks", note);
    add_range(least[1], most[1], "arrays", note);
    if (note->length)
        text_add(note, " left out of a panel");
    if (has_cover)
        text_add(note, "%sdark: in blocks all the time of a cell; light: at times; grey: held",
                 note->length ? "; " : "");
}

/* The names of each colour, which repeat where there are more names than colours: "image/dN". */
static void add_colour_names(const struct labels *names, struct text *variables)
{
    struct text words = {0};
    for (size_t colour = 0; colour < COLOURS && colour < names->count; colour++) {
        struct text title = {0};
        for (size_t i = colour; i < names->count; i += COLOURS)
            if (i == colour || title.length + strlen(names->name[i]) <= TITLE_LENGTH)
                text_add(&title, "%s%s", title.length ? "/" : "", names->name[i]);
        gnuplot_word(&words, title.data);
        text_free(&title);
    }
    gnuplot_words(variables, "names", &words);
    text_free(&words);
}

static int map_write(const struct chart *chart, const struct chart_subject *of, FILE *data,
                     struct text *variables, struct error *error)
{
    struct memory_panels panels;
    struct layout *layouts[MAPS_MOST];
    struct labels names = {0};
    struct text note = {0};
    double top = 1, used = 1;
    int code = memory_panels_make(chart, of, "map", MAPS_MOST, &panels, error);
    if (code)
        return code;
    gnuplot_comment(data, "gamut address_map of %s %s on %s", of->workload, of->dataset,
                    of->device);
    gnuplot_comment(data, "panel title steps held_bytes cell_steps cell_bytes");
    for (size_t i = 0; i < panels.count; i++) {
        layouts[i] = layout_of(panels.panel[i].memory);
        fprintf(data, "%zu", i);
        gnuplot_data_text(panels.panel[i].title.data, data);
        fprintf(data, " %.0f %.0f %.0f %.0f\n", layouts[i]->steps, layouts[i]->top,
                layouts[i]->cover ? tree_get_number(layouts[i]->cover, "stride") : 0,
                layouts[i]->cover ? tree_get_number(layouts[i]->cover, "row_bytes") : 0);
        top = fmax(top, layouts[i]->top);
        used = fmax(used, layouts[i]->used);
    }
    if (top > 3 * used) /* much memory that is held and never used would leave the blocks flat */
        top = 2 * used;
    for (size_t i = 0; i < panels.count; i++)
        if (layouts[i]->cover)
            print_cover(&panels.panel[i], layouts[i], data);
        else
            print_map(&panels.panel[i], layouts[i], top, &names, data);
    add_left_out(&panels, layouts, &note);
    for (size_t i = 0; i < panels.count; i++)
        free(layouts[i]);
    memory_panels_variables(&panels, of, note.length ? note.data : "", variables);
    memory_axis_variables(top, variables);
    add_colour_names(&names, variables);
    labels_free(&names);
    text_free(&note);
    memory_panels_free(&panels);
    return 0;
}

const struct chart chart_address_map = {
    .name = "address_map",
    .help = "where blocks lie and how long they live, and the arrays that merging put into them",
    .scope = CHART_OF_WORKLOAD,
    .on_request = true,
    .write = map_write,
};

/* ---- latency: how long the allocator's calls take, as cumulative distributions ----------------
 *
 *   four times, for cold alloc, cold free, warm alloc, warm free, a block a configuration:
 *     ns fraction                begins with the least time and 0
 *   then a block for each of the four: p50 p99 most, a line a configuration
 */

enum { LINES_MOST = 12, DISTRIBUTIONS = 4 };

static const struct {
    const char *phase, *call;
} distributions[DISTRIBUTIONS] = {
    {"cold", "alloc"}, {"cold", "free"}, {"warm", "alloc"}, {"warm", "free"}};

static const json_t *histogram_of(const struct memory_panel *panel, int d)
{
    const json_t *latency = json_object_get(panel->memory, "latency");
    return json_object_get(json_object_get(latency, distributions[d].phase), distributions[d].call);
}

/* The share of the calls below the end of each bucket. Where the bucket before is empty, a line for
 * the beginning of the bucket keeps the curve level in between. */
static void print_distribution(const json_t *h, FILE *out)
{
    const json_t *from = json_object_get(h, "from_ns"), *calls = json_object_get(h, "calls");
    const double count = tree_get_number(h, "count"), most_ns = tree_get_number(h, "most_ns");
    double sum = 0, reached_ns = NAN;
    if (!json_is_object(h))
        fputs("0.001 0\n", out); /* left of the picture */
    else
        fprintf(out, "%.0f 0\n", fmax(1, tree_get_number(h, "least_ns")));
    for (size_t i = 0; i < json_array_size(from); i++) {
        const json_int_t ns = json_integer_value(json_array_get(from, i));
        size_t next = latency_bucket((uint64_t)ns) + 1;
        double end_ns = next < LATENCY_BUCKETS ? (double)latency_bucket_ns(next) : most_ns;
        if ((double)ns > reached_ns)
            fprintf(out, "%lld %.6g\n", (long long)ns, sum / count);
        sum += tree_to_number(json_array_get(calls, i));
        reached_ns = end_ns;
        fprintf(out, "%.0f %.6g\n", fmax(1, fmin(end_ns, most_ns)), sum / count);
    }
}

static void print_quantiles(const json_t *h, FILE *out)
{
    if (json_is_object(h))
        fprintf(out, "%.0f %.0f %.0f\n", fmax(1, latency_quantile(h, 0.5)),
                fmax(1, latency_quantile(h, 0.99)), fmax(1, tree_get_number(h, "most_ns")));
    else
        fputs("0.001 0.001 0.001\n", out);
}

/* "45 ns, 60 ns, 1.2 µs", or "no call". */
static void add_legend(const json_t *h, struct text *out)
{
    char p50[32], p99[32], most[32], legend[100];
    snprintf(legend, sizeof legend, "%s, %s, %s", text_ns(p50, latency_quantile(h, 0.5)),
             text_ns(p99, latency_quantile(h, 0.99)), text_ns(most, tree_get_number(h, "most_ns")));
    gnuplot_word(out, json_is_object(h) ? legend : "no call");
}

static int latency_write(const struct chart *chart, const struct chart_subject *of, FILE *data,
                         struct text *variables, struct error *error)
{
    struct memory_panels lines;
    struct text legends = {0}, note = {0};
    double least_ns = INFINITY, most_ns = 1;
    int code = memory_panels_make(chart, of, "latency", LINES_MOST, &lines, error);
    if (code)
        return code;
    gnuplot_comment(data, "gamut latency of %s %s on %s", of->workload, of->dataset, of->device);
    for (int d = 0; d < DISTRIBUTIONS; d++)
        for (size_t i = 0; i < lines.count; i++) {
            fputs(d || i ? "\n\n" : "", data);
            gnuplot_comment(data, "%s %s, %s", distributions[d].phase, distributions[d].call,
                            lines.panel[i].title.data);
            gnuplot_comment(data, "ns fraction");
            const json_t *h = histogram_of(&lines.panel[i], d);
            print_distribution(h, data);
            add_legend(h, &legends);
            least_ns =
                fmin(least_ns,
                     tree_get_number(h, "least_ns")); /* fmin of a number and NaN is the number */
            most_ns = fmax(most_ns, tree_get_number(h, "most_ns"));
        }
    for (int d = 0; d < DISTRIBUTIONS; d++) {
        fprintf(data, "\n\n# %s %s: p50_ns p99_ns most_ns\n", distributions[d].phase,
                distributions[d].call);
        for (size_t i = 0; i < lines.count; i++)
            print_quantiles(histogram_of(&lines.panel[i], d), data);
    }
    text_add(&note, "reading the clock takes %.0f ns",
             tree_get_number(lines.panel[0].memory, "timer_ns"));
    memory_panels_variables(&lines, of, note.data, variables);
    gnuplot_words(variables, "legends", &legends);
    gnuplot_number(variables, "least_ns", fmax(1, fmin(least_ns, most_ns)));
    gnuplot_number(variables, "most_ns", most_ns);
    text_free(&legends);
    text_free(&note);
    memory_panels_free(&lines);
    return 0;
}

const struct chart chart_latency = {
    .name = "latency",
    .help = "how long the allocator's calls take, cold and warm: distributions by strategy",
    .scope = CHART_OF_WORKLOAD,
    .on_request = true,
    .write = latency_write,
};
