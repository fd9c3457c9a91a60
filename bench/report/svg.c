#include "report/svg.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "report/html.h"

/* What is drawn, and what is needed for it. Titles would show as tool tips with gnuplot's own
 * names. */
static const char *const kept_elements[] = {
    "svg",         "g",        "path",           "rect",           "circle", "ellipse",
    "line",        "polyline", "polygon",        "text",           "tspan",  "use",
    "defs",        "pattern",  "clipPath",       "mask",           "filter", "feFlood",
    "feComposite", "stop",     "linearGradient", "radialGradient",
};
/* Handlers (on...) and references to something else go too; see print_attribute. The page says how
 * large a chart is. */
static const char *const dropped_attributes[] = {"xmlns", "xmlns:xlink", "xml:space", "version"};
static const char *const dropped_from_svg[] = {"width", "height", "class", "style", "id"};

enum { DEEPEST = 64 };

struct reader {
    const char *start, *at; /* the document, and where in it */
    const char *prefix, *label;
    FILE *out;
    size_t depth;
    struct {
        const char *name;
        size_t length;
    } open[DEEPEST];
    size_t dropped; /* the depth at which something began that is left out; 0: nothing */
    struct error *error;
};

struct attribute {
    const char *name, *value;
    size_t name_length, value_length;
};

static int broken(struct reader *r, const char *what)
{
    size_t line = 1;
    for (const char *c = r->start; c < r->at; c++)
        line += *c == '\n';
    return error_set(r->error, ERR_PARSE, "line %zu of the SVG: %s", line, what);
}

static bool is(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

static bool is_in(const char *text, size_t length, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is(text, length, words[i]))
            return true;
    return false;
}
#define IS_IN(text, length, words) is_in(text, length, words, sizeof words / sizeof *words)

static size_t name_length(const char *at)
{
    size_t length = 0;
    while (isalnum((unsigned char)at[length]) || (at[length] && strchr(":_-.", at[length])))
        length++;
    return length;
}

/* "&lt;", "&#39;", "&#x3c;": its length, or 0. */
static size_t entity_length(const char *at)
{
    static const char *const names[] = {"amp", "lt", "gt", "quot", "apos"};
    const size_t end = strcspn(at, "; <\"'");
    if (at[end] != ';' || end < 3 || end > 8)
        return 0;
    if (IS_IN(at + 1, end - 1, names))
        return end + 1;
    const bool is_hex = at[2] == 'x';
    const char *digits = is_hex ? "0123456789abcdefABCDEF" : "0123456789";
    const size_t first = is_hex ? 3 : 2;
    return at[1] == '#' && end > first && first + strspn(at + first, digits) == end ? end + 1 : 0;
}

/* Text that is escaped already, and made sure of. */
static void print_escaped(struct reader *r, const char *text, size_t length)
{
    const char *const end = text + length;
    while (text < end) {
        size_t entity = *text == '&' ? entity_length(text) : 0;
        size_t character = html_character(text);
        if (entity > (size_t)(end - text))
            entity = 0;
        if (entity)
            fwrite(text, 1, entity, r->out);
        else if (*text == '&')
            fputs("&amp;", r->out);
        else if (*text == '<')
            fputs("&lt;", r->out);
        else if (*text == '"')
            fputs("&quot;", r->out);
        else if (character && character <= (size_t)(end - text))
            fwrite(text, 1, character, r->out);
        else
            fputs("\xef\xbf\xbd", r->out), character = 1;
        text += entity ? entity : character ? character : 1;
    }
}

/* In a value with "url(": every one is of "url(#id)", and gets the prefix. */
static bool urls_are_local(const char *value, size_t length)
{
    static const char word[] = "url(";
    for (size_t i = 0; i + 4 <= length; i++)
        if (strncmp(value + i, word, 4) == 0 && (i + 4 == length || value[i + 4] != '#'))
            return false;
    return true;
}

static void print_urls(struct reader *r, const char *value, size_t length)
{
    for (size_t i = 0; i < length;) {
        size_t plain = 0;
        while (i + plain < length && strncmp(value + i + plain, "url(#", 5) != 0)
            plain++;
        print_escaped(r, value + i, plain);
        i += plain;
        if (i < length) {
            fprintf(r->out, "url(#%s-", r->prefix);
            i += 5;
        }
    }
}

static void print_attribute(struct reader *r, const struct attribute *a)
{
    const bool is_reference =
        is(a->name, a->name_length, "href") || is(a->name, a->name_length, "xlink:href");
    if (IS_IN(a->name, a->name_length, dropped_attributes) ||
        (r->depth == 1 && IS_IN(a->name, a->name_length, dropped_from_svg)) ||
        strncmp(a->name, "on", 2) == 0 || !urls_are_local(a->value, a->value_length) ||
        (is_reference && *a->value != '#'))
        return;
    if (is_reference) {
        fprintf(r->out, " href=\"#%s-", r->prefix);
        print_escaped(r, a->value + 1, a->value_length - 1);
    } else if (is(a->name, a->name_length, "id")) {
        fprintf(r->out, " id=\"%s-", r->prefix);
        print_escaped(r, a->value, a->value_length);
    } else {
        fprintf(r->out, " %.*s=\"", (int)a->name_length, a->name);
        print_urls(r, a->value, a->value_length);
    }
    fputc('"', r->out);
}

static void skip_space(struct reader *r)
{
    while (isspace((unsigned char)*r->at))
        r->at++;
}

static int read_attribute(struct reader *r, struct attribute *a)
{
    a->name = r->at;
    a->name_length = name_length(r->at);
    r->at += a->name_length;
    skip_space(r);
    if (!a->name_length || *r->at != '=')
        return broken(r, "expected name=\"value\"");
    r->at++;
    skip_space(r);
    const char quote = *r->at;
    const char *end = quote == '"' || quote == '\'' ? strchr(r->at + 1, quote) : NULL;
    if (!end)
        return broken(r, "a value has no end");
    a->value = r->at + 1;
    a->value_length = (size_t)(end - a->value);
    r->at = end + 1;
    return 0;
}

static int close_element(struct reader *r)
{
    const size_t length = name_length(r->at += 2);
    if (!r->depth || r->open[r->depth - 1].length != length ||
        memcmp(r->open[r->depth - 1].name, r->at, length) != 0)
        return broken(r, "an end without its beginning");
    if (!r->dropped)
        fprintf(r->out, "</%.*s>", (int)length, r->at);
    if (r->dropped == r->depth)
        r->dropped = 0;
    r->depth--;
    r->at += length;
    skip_space(r);
    return *r->at++ == '>' ? 0 : broken(r, "expected >");
}

static int open_element(struct reader *r)
{
    const char *name = ++r->at;
    const size_t length = name_length(name);
    if (!length || r->depth == DEEPEST || (!r->depth && !is(name, length, "svg")))
        return broken(r, r->depth == DEEPEST ? "it is nested too deeply" : "expected <svg");
    r->open[r->depth].name = name;
    r->open[r->depth++].length = length;
    if (!r->dropped && !IS_IN(name, length, kept_elements))
        r->dropped = r->depth;
    const bool prints = !r->dropped;
    if (prints)
        fprintf(r->out, "<%.*s", (int)length, name);
    if (prints && r->depth == 1)
        html_print(r->out, " role=\"img\" aria-label=\"%s\"", r->label);
    r->at += length;
    for (skip_space(r); *r->at && *r->at != '>' && *r->at != '/'; skip_space(r)) {
        struct attribute attribute = {0};
        int rc = read_attribute(r, &attribute);
        if (rc)
            return rc;
        if (prints)
            print_attribute(r, &attribute);
    }
    const bool is_empty = *r->at == '/';
    r->at += is_empty;
    if (*r->at++ != '>')
        return broken(r, "expected >");
    if (prints)
        fputs(is_empty ? "/>" : ">", r->out);
    if (is_empty && r->dropped == r->depth)
        r->dropped = 0;
    r->depth -= is_empty;
    return 0;
}

/* <?...?>, <!-- -->, <!...> */
static int skip_declaration(struct reader *r)
{
    const char *mark = r->at[1] == '?' ? "?>" : strncmp(r->at, "<!--", 4) == 0 ? "-->" : ">";
    const char *end = strstr(r->at, mark);
    if (!end)
        return broken(r, "a comment or declaration has no end");
    r->at = end + strlen(mark);
    return 0;
}

int svg_inline(const char *svg, const char *prefix, const char *label, FILE *out,
               struct error *error)
{
    struct reader r = {
        .start = svg, .at = svg, .prefix = prefix, .label = label, .out = out, .error = error};
    bool any = false;
    int rc = 0;
    while (!rc && *r.at) {
        if (r.at[0] == '<' && (r.at[1] == '?' || r.at[1] == '!')) {
            rc = skip_declaration(&r);
        } else if (r.at[0] == '<' && r.at[1] == '/') {
            rc = close_element(&r);
        } else if (r.at[0] == '<') {
            rc = any && !r.depth ? broken(&r, "there is a second document") : open_element(&r);
            any = true;
        } else {
            const size_t length = strcspn(r.at, "<");
            if (r.depth && !r.dropped)
                print_escaped(&r, r.at, length);
            r.at += length;
        }
    }
    if (!rc && (!any || r.depth))
        rc = broken(&r, any ? "it has no end" : "there is nothing in it");
    return rc;
}
