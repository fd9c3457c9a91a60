#include "record/chart/chart_memory.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "record/chart/gnuplot.h"
#include "base/tree.h"

int memory_panels_make(const struct chart *chart, const struct chart_subject *of, size_t most,
                       struct memory_panels *panels, struct error *error)
{
    const struct naming naming = naming_of(of);
    size_t i;
    json_t *one_case;
    *panels = (struct memory_panels){0};
    json_array_foreach(json_object_get(of->root, "cases"), i, one_case)
    {
        const json_t *key = json_object_get(one_case, "key");
        const json_t *memory = json_object_get(one_case, "memory");
        if (!memory || !case_is_of(key, of))
            continue;
        if (panels->count == most) {
            panels->left_out++;
            continue;
        }
        panels->panel = must_realloc(panels->panel, (panels->count + 1) * sizeof *panels->panel);
        struct memory_panel *panel = &panels->panel[panels->count++];
        *panel = (struct memory_panel){.memory = memory};
        naming_series(&naming, true, key, &panel->title);
    }
    if (panels->count)
        return 0;
    return error_set(error, ERR_NOT_FOUND,
                     "the chart %s shows what `gamut run --timeline on` records, and no case of "
                     "%s/%s on %s has it",
                     chart->name, of->workload, of->dataset, of->device);
}

void memory_panels_free(struct memory_panels *panels)
{
    for (size_t i = 0; i < panels->count; i++)
        text_free(&panels->panel[i].title);
    free(panels->panel);
}

void memory_panels_variables(const struct memory_panels *panels, const struct chart_subject *of,
                             const char *more, struct text *out)
{
    struct text series = {0}, what = {0}, note = {0};
    for (size_t i = 0; i < panels->count; i++)
        text_add(&series, "\"%s\" ", panels->panel[i].title.data);
    text_add(&what, "%s %s", of->workload, of->dataset);
    if (*more)
        text_add(&note, "; %s", more);
    if (panels->left_out)
        text_add(&note, "; %zu more ways to run are not shown", panels->left_out);
    gnuplot_variable(out, "series", series.data);
    gnuplot_variable(out, "what", what.data);
    gnuplot_variable(out, "note", note.length ? note.data : "");
    text_free(&series);
    text_free(&what);
    text_free(&note);
}

void memory_axis_variables(double top, struct text *out)
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

double memory_column(const json_t *columns, const char *name, size_t i)
{
    return tree_to_number(json_array_get(json_object_get(columns, name), i));
}

size_t memory_place(const json_t *columns, const char *name, size_t i)
{
    const json_t *value = json_array_get(json_object_get(columns, name), i);
    return json_is_integer(value) && json_integer_value(value) >= 0
               ? (size_t)json_integer_value(value)
               : SIZE_MAX;
}
