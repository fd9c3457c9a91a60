/* Where blocks lie and how long they live, and the arrays in them: a panel for each way to run a
 * workload.
 *
 * Addresses within a memory are true. Memories themselves are put where there is room for as long
 * as they are held, because what a driver calls an address may be none. How large one is is not
 * known: it counts as far as blocks reach.
 *
 *   block 0: a line a panel: number, title, steps
 *   then four blocks a panel, of memories, of blocks, of arrays, and of what two arrays have in
 * common, which live in the same bytes at the same time: born died from to colour label     steps,
 * bytes, number of the name
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "record/facts/address_map.h"
#include "record/chart/chart_memory.h"
#include "record/chart/gnuplot.h"
#include "base/tree.h"

enum { PANELS_MAX = 8, COLOURS = 8 };

/* A rectangle of the map: steps by bytes. */
struct box {
    double born, died, from, to;
};

/* A memory from its first block until the driver has it back. */
struct extent {
    double born, died, bytes;
    double base; /* where it is put; NaN: not yet */
};

struct layout_of_panel {
    const json_t *map;
    double steps;
    size_t block_count, array_count;
    struct box blocks[MAP_BLOCKS], arrays[MAP_ARRAYS];
    struct extent memories[MAP_BLOCKS];
    size_t memory_count;
    double top; /* bytes */
};

static struct box intersection(const struct box *a, const struct box *b)
{
    return (struct box){fmax(a->born, b->born), fmin(a->died, b->died), fmax(a->from, b->from),
                        fmin(a->to, b->to)};
}

/* ---- memories ------------------------------------------------------------------------------- */

static double death(const json_t *columns, size_t i, double steps)
{
    double died = memory_column(columns, "died", i);
    return isnan(died) ? steps : died;
}

static void find_extents(struct layout_of_panel *l)
{
    const json_t *b = json_object_get(l->map, "blocks");
    for (size_t i = 0; i < l->block_count; i++) {
        size_t m = memory_place(b, "memory", i);
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

/* The lowest place from `base` on that no memory has that lives at the same time. */
static double place_for(const struct layout_of_panel *l, const struct extent *e)
{
    double base = 0;
    for (size_t i = 0; i < l->memory_count; i++) {
        const struct extent *other = &l->memories[i];
        bool in_the_way = !isnan(other->base) && other->born < e->died && e->born < other->died &&
                          other->base < base + e->bytes && base < other->base + other->bytes;
        if (in_the_way) {
            base = other->base + other->bytes;
            i = (size_t)-1; /* from the start again: it may have jumped into another */
        }
    }
    return base;
}

/* In the order of their births. */
static void place_memories(struct layout_of_panel *l)
{
    for (size_t n = 0; n < l->memory_count; n++) {
        struct extent *next = NULL;
        for (size_t i = 0; i < l->memory_count; i++)
            if (isnan(l->memories[i].base) && (!next || l->memories[i].born < next->born))
                next = &l->memories[i];
        next->base = place_for(l, next);
        l->top = fmax(l->top, next->base + next->bytes);
    }
}

/* ---- boxes ---------------------------------------------------------------------------------- */

static struct layout_of_panel *lay_out(const json_t *memory)
{
    struct layout_of_panel *l = must_alloc(sizeof *l);
    l->map = json_object_get(memory, "map");
    l->steps = tree_get_number(memory, "steps");
    const json_t *b = json_object_get(l->map, "blocks"), *a = json_object_get(l->map, "arrays");
    const size_t blocks = json_array_size(json_object_get(b, "memory"));
    const size_t arrays = json_array_size(json_object_get(a, "block"));
    l->block_count = blocks < MAP_BLOCKS ? blocks : MAP_BLOCKS;
    l->array_count = arrays < MAP_ARRAYS ? arrays : MAP_ARRAYS;
    find_extents(l);
    place_memories(l);
    for (size_t i = 0; i < l->block_count; i++) {
        size_t m = memory_place(b, "memory", i);
        double from =
            (m < l->memory_count ? l->memories[m].base : 0) + memory_column(b, "offset_bytes", i);
        l->blocks[i] = (struct box){memory_column(b, "born", i), death(b, i, l->steps), from,
                                    from + memory_column(b, "bytes", i)};
    }
    for (size_t i = 0; i < l->array_count; i++) {
        size_t block = memory_place(a, "block", i);
        double from = (block < l->block_count ? l->blocks[block].from : 0) +
                      memory_column(a, "offset_bytes", i);
        l->arrays[i] =
            (struct box){memory_column(a, "born", i), fmin(death(a, i, l->steps), l->steps), from,
                         from + memory_column(a, "bytes", i)};
    }
    return l;
}

static bool has_arrays(const struct layout_of_panel *l, size_t block)
{
    const json_t *a = json_object_get(l->map, "arrays");
    for (size_t i = 0; i < l->array_count; i++)
        if (memory_place(a, "block", i) == block)
            return true;
    return false;
}

/* A label where the box has room for it. */
static void print_box(const struct box *box, double steps, double top, size_t colour,
                      const char *label, FILE *out)
{
    const double letters = (box->died - box->born) / steps * 55;
    bool fits = (double)strlen(label) <= letters && (box->to - box->from) / top > 0.055;
    fprintf(out, "%.0f %.0f %.0f %.0f %zu \"%s\"\n", box->born, box->died, box->from, box->to,
            colour, fits ? label : "");
}

/* The first box lies outside the picture: gnuplot wants some data. */
static void begin_boxes(const struct memory_panel *panel, const char *what, FILE *out)
{
    fprintf(out, "\n\n# %s: %s\n# born died from to colour label\n-2 -1 -2 -1 1 \"\"\n",
            panel->title.data, what);
}

static void print_overlaps(const struct layout_of_panel *l, FILE *out)
{
    for (size_t i = 0; i < l->array_count; i++)
        for (size_t j = 0; j < i; j++) {
            struct box both = intersection(&l->arrays[i], &l->arrays[j]);
            if (both.born < both.died && both.from < both.to)
                print_box(&both, 1, 1, 0, "", out);
        }
}

/* The same name has the same colour in all panels. */
static size_t name_of(struct labels *all, const struct layout_of_panel *l, const char *table,
                      const char *column, size_t i, const char **name)
{
    size_t at = memory_place(json_object_get(l->map, table), column, i);
    *name = json_string_value(json_array_get(json_object_get(l->map, "names"), at));
    if (!*name)
        *name = "?";
    return labels_add(all, *name) % COLOURS + 1;
}

static void print_panel(const struct memory_panel *panel, const struct layout_of_panel *l,
                        double top, struct labels *names, FILE *out)
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
        size_t colour = name_of(names, l, "blocks", "tag", i, &name);
        print_box(&l->blocks[i], l->steps, top, shared ? 0 : colour, shared ? "" : name, out);
    }
    begin_boxes(panel, "arrays", out);
    for (size_t i = 0; i < l->array_count; i++) {
        size_t colour = name_of(names, l, "arrays", "name", i, &name);
        print_box(&l->arrays[i], l->steps, top, colour, name, out);
    }
    begin_boxes(panel, "overlaps", out);
    print_overlaps(l, out);
}

static void add_left_out(const struct memory_panels *panels, struct text *note)
{
    for (size_t i = 0; i < panels->count; i++) {
        const json_t *map = json_object_get(panels->panel[i].memory, "map");
        double blocks = tree_get_number(map, "blocks_left_out");
        double arrays = tree_get_number(map, "arrays_left_out");
        if (blocks > 0 || arrays > 0)
            text_add(note, "%s%s: %.0f blocks and %.0f arrays left out", note->length ? "; " : "",
                     panels->panel[i].title.data, blocks, arrays);
    }
}

static int write(const struct chart_subject *of, FILE *data, struct text *variables,
                 struct error *error)
{
    struct memory_panels panels;
    struct layout_of_panel *layouts[PANELS_MAX];
    struct labels names = {0};
    struct text note = {0};
    double top = 1;
    int code = memory_panels_make(&chart_address_map, of, PANELS_MAX, &panels, error);
    if (code)
        return code;
    fprintf(data, "# gamut address_map of %s %s on %s\n# panel title steps\n", of->workload,
            of->dataset, of->device);
    for (size_t i = 0; i < panels.count; i++) {
        layouts[i] = lay_out(panels.panel[i].memory);
        fprintf(data, "%zu \"%s\" %.0f\n", i, panels.panel[i].title.data, layouts[i]->steps);
        top = fmax(top, layouts[i]->top);
    }
    for (size_t i = 0; i < panels.count; i++) {
        print_panel(&panels.panel[i], layouts[i], top, &names, data);
        free(layouts[i]);
    }
    add_left_out(&panels, &note);
    memory_panels_variables(&panels, of, note.length ? note.data : "", variables);
    memory_axis_variables(top, variables);
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
    .write = write,
};
