#include "record/chart/svg.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/text.h"

/* A hypertext of gnuplot; the text is borrowed from its SVG. */
struct value {
    const char *text;
    size_t length;
    double x, y, radius;
    double end_x; /* of a bar; x for a dot */
};

struct values {
    struct value *value;
    unsigned count, capacity;
};

/* ---- reading: gnuplot writes an element a line ----------------------------------------------- */

static size_t line_length(const char *line)
{
    const size_t length = strcspn(line, "\n");
    return length + (line[length] == '\n');
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Reads the two lines of a hypertext: a group with a handler that has the text, and its point. Returns their
 * length, or 0 if the line is no hypertext. */
static size_t read_value(const char *line, struct value *value)
{
    static const char before[] = "\t<g onmousemove=\"gnuplot_svg.showHypertext(evt,'";
    const size_t length = line_length(line);
    if (!begins(line, before))
        return 0;
    *value = (struct value){.text = line + sizeof before - 1};
    const char *end = strstr(value->text, "')\" onmouseout="), *point = line + length;
    const size_t point_length = line_length(point);
    const char *place = strstr(point, "translate(");
    if (!end || end > point || !place || place > point + point_length ||
        sscanf(place, "translate(%lf,%lf) scale(%lf)", &value->x, &value->y, &value->radius) != 3)
        return 0;
    value->length = (size_t)(end - value->text);
    value->end_x = value->x;
    return length + point_length;
}

static bool are_ends(const struct value *a, const struct value *b)
{
    return a->y == b->y && a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
}

/* Adds a dot, or makes the dot with the same text and height a bar. */
static void add_value(struct values *values, const struct value *value)
{
    for (unsigned i = values->count; i-- > 0;)
        if (are_ends(&values->value[i], value)) {
            values->value[i].end_x = fmax(values->value[i].end_x, value->x);
            values->value[i].x = fmin(values->value[i].x, value->x);
            return;
        }
    values->value =
        must_grow(values->value, values->count, &values->capacity, sizeof *values->value);
    values->value[values->count++] = *value;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Adds a line, without the name that gnuplot gives to an element of a plot. A group that has nothing in it goes. */
static void add_line(struct text *out, const char *line, size_t length, size_t *last)
{
    const char *title = begins(line, "\t<g id=\"gnuplot_plot_") ? strstr(line, "<title>") : NULL;
    const char *end = title ? strstr(title, "</title>") : NULL;
    if (begins(line, "</g>\n") && out->data && begins(out->data + *last, "<g fill=\"none\"")) {
        out->length = *last;
        out->data[*last] = 0;
        return;
    }
    *last = out->length;
    if (end && end < line + length) {
        const char *rest = end + strlen("</title>");
        text_add_bytes(out, line, (size_t)(title - line));
        text_add_bytes(out, rest, (size_t)(line + length - rest));
    } else {
        text_add_bytes(out, line, length);
    }
}

/* Begins a group of paths of one kind. A line of no length is seen by its round ends alone; those of a bar are
 * straight. */
static void begin_kind(struct text *out, const struct value *of, bool is_first)
{
    text_add(out, "%s<g stroke-width=\"%.3g\"%s>", is_first ? "" : "</g>\n", 2 * of->radius,
             of->end_x > of->x ? "" : " stroke-linecap=\"round\"");
}

static bool is_other_kind(const struct value *a, const struct value *b)
{
    return a->radius != b->radius || (a->end_x > a->x) != (b->end_x > b->x);
}

static void add_values(struct text *out, const struct values *values)
{
    if (!values->count)
        return;
    text_add(out, SVG_VALUES " fill=\"none\" stroke=\"#888\" stroke-opacity=\"0\" "
                             "pointer-events=\"stroke\">\n");
    for (unsigned i = 0; i < values->count; i++) {
        const struct value *each = &values->value[i];
        const bool is_bar = each->end_x > each->x;
        if (i == 0 || is_other_kind(each, each - 1))
            begin_kind(out, each, i == 0);
        text_add(out, "\n<path d=\"M%.0f %.0fH%.0f\"><title>", each->x, each->y,
                 is_bar ? fmax(each->end_x, each->x + 2) : each->x);
        text_add_bytes(out, each->text, each->length);
        text_add(out, "</title></path>");
    }
    text_add(out, "</g></g>\n");
}

int svg_finish(const char *path, struct error *error)
{
    struct text svg = {0}, out = {0};
    struct values values = {0};
    struct value value;
    size_t last = 0, length;
    int code = text_read_file(&svg, path, error);
    for (const char *line = svg.data; !code && line && *line; line += length) {
        length = read_value(line, &value);
        if (length) {
            add_value(&values, &value);
            continue;
        }
        length = line_length(line);
        if (begins(line, "</svg>"))
            add_values(&out, &values);
        add_line(&out, line, length, &last);
    }
    if (!code)
        code = text_write_file(&out, path, error);
    free(values.value);
    text_free(&svg);
    text_free(&out);
    return code;
}
