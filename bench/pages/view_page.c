#include "pages/view.h"

#include <inttypes.h>
#include <string.h>

#include "base/arena.h"
#include "base/sort.h"
#include "base/text.h"
#include "pages/page.h"
#include "trace/holders.h"

/* page.css, view.css, and the hash of view.js */
extern const char kernel_text_page_style[], kernel_text_view_style[], kernel_text_view_hash[];

static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                      "#e69f00", "#56b4e9", "#7f7f7f", "#882255"};
enum { COLOURS = sizeof colours / sizeof *colours, STILL_COLUMNS = 400, SITES_MOST = 20 };

const struct view_bucket *view_peak(const struct view_history *h)
{
    const struct view_level *top = &h->summary.levels[h->summary.level_count - 1];
    const struct view_bucket *peak = &top->buckets[0];
    for (uint32_t i = 1; i < top->count; i++)
        peak = top->buckets[i].requested > peak->requested ? &top->buckets[i] : peak;
    return peak;
}

uint64_t view_measured(const struct view_options *o, size_t strategy)
{
    return o->measured_bytes ? o->measured_bytes[strategy] : 0;
}

const char *view_words(const char *strategy)
{
    return !strcmp(strategy, "recorded")  ? "the recorded allocator"
           : !strcmp(strategy, "caching") ? "PyTorch's default"
           : !strcmp(strategy, "vmm")     ? "PyTorch's expandable segments"
                                          : "";
}

void view_page_begin(FILE *out, const struct view_options *o, const struct view_history *h)
{
    const struct trace_info *info = trace_reader_info(h->reader);
    char bytes[32];
    fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
          out);
    html_policy(out, kernel_text_view_hash);
    html_print(out, "<title>%s: memory over time</title>\n<style>\n", o->name);
    fprintf(out, "%s%s", kernel_text_page_style, kernel_text_view_style);
    html_print(out, "</style>\n</head>\n<body>\n<header><h1>%s: memory over time</h1>\n", o->name);
    html_print(out,
               "<p class=\"soft\">%s%s%s%s%s. At the peak, event %zu, %s are requested at once.",
               *info->source ? info->source : "A trace", *info->application ? ", " : "",
               info->application, *info->device ? ", " : "", info->device, (size_t)view_peak(h)->at,
               text_bytes(bytes, view_peak(h)->requested));
    const char *site = trace_name_of(h->reader, h->refusal.name);
    if (h->refusal.moment)
        html_print(out, " At event %zu the recorded allocator refused a request of %s%s%s.",
                   (size_t)h->refusal.moment, text_bytes(bytes, h->refusal.bytes),
                   *site ? ": " : "", site);
    fputs("</p></header>\n<main>\n<section id=\"live\" hidden></section>\n", out);
}

/* ---- the picture ---- */

enum { LEFT = 70, TOP = 14, WIDE = 900, HIGH = 260 };

/* A line through the most of each column. */
static void print_line(FILE *out, const struct view_level *level, const uint64_t *values,
                       uint64_t most, const char *colour, const char *fill)
{
    html_print(out, "<polyline fill=\"%s\" stroke=\"%s\" stroke-width=\"1.5\" points=\"", fill,
               colour);
    const uint32_t columns = level->count < STILL_COLUMNS ? level->count : STILL_COLUMNS;
    const bool is_filled = *fill != 'n';
    if (is_filled)
        fprintf(out, "%d,%d ", LEFT, TOP + HIGH);
    for (uint32_t c = 0; c < columns; c++) {
        uint64_t highest = 0;
        const uint64_t begin = (uint64_t)level->count * c / columns;
        const uint64_t end = (uint64_t)level->count * (c + 1) / columns;
        for (uint64_t i = begin; i < end; i++) {
            const uint64_t value = values ? values[i] : level->buckets[i].requested;
            highest = value > highest ? value : highest;
        }
        const double y = TOP + HIGH * (1 - (double)highest / (double)most);
        fprintf(out, "%.1f,%.1f %.1f,%.1f ", LEFT + (double)WIDE * c / columns, y,
                LEFT + (double)WIDE * (c + 1) / columns, y);
    }
    if (is_filled)
        fprintf(out, "%d,%d", LEFT + WIDE, TOP + HIGH);
    fputs("\"/>\n", out);
}

static uint64_t most_reserved(const struct view_level *top, const uint64_t *values)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < top->count; i++)
        most = values[i] > most ? values[i] : most;
    return most;
}

static void print_axes(FILE *out, const struct view_history *h, uint64_t most)
{
    char bytes[32];
    for (int i = 0; i <= 4; i++) {
        const int y = TOP + HIGH - HIGH * i / 4;
        fprintf(out, "<line x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\" stroke=\"var(--line)\"/>\n",
                LEFT, LEFT + WIDE, y, y);
        html_print(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", LEFT - 6, y + 4,
                   text_bytes(bytes, (uint64_t)((double)most * i / 4)));
        html_print(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\">%s%.0f</text>\n",
                   LEFT + WIDE * i / 4, TOP + HIGH + 16,
                   i == 4 ? "end"
                   : i    ? "middle"
                          : "start",
                   i ? "" : "event ", h->first + (double)(h->last - h->first) * i / 4);
    }
}

static void print_mark(FILE *out, const struct view_history *h, uint64_t moment, int y,
                       const char *text)
{
    const double x = LEFT + WIDE * ((double)moment - h->first) / ((double)h->last - h->first + 1);
    fprintf(out,
            "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" stroke=\"var(--bad)\" "
            "stroke-dasharray=\"4 3\"/><text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">%s</text>\n",
            x, x, TOP, TOP + HIGH, x, y, x > LEFT + WIDE / 2 ? "end" : "start", text);
}

void view_page_picture(FILE *out, const struct view_options *o, const struct view_history *h,
                       const struct view_strategy *strategies, const struct view_result *results)
{
    const unsigned l = h->summary.level_count - 1;
    const struct view_level *top = &h->summary.levels[l];
    const struct view_bucket *peak = view_peak(h);
    uint64_t most = peak->requested;
    for (size_t i = 0; i < o->strategy_count; i++)
        if (!*results[i].reason) {
            const uint64_t reserved = most_reserved(top, strategies[i].summary.reserved[l]);
            most = reserved > most ? reserved : most;
        }
    most = most ? most : 1;
    html_print(out,
               "<section id=\"still\"><h2>Bytes over the events of the trace</h2>\n"
               "<div class=\"scroll\"><svg class=\"still\" viewBox=\"0 0 990 300\" role=\"img\" "
               "aria-label=\"Requested and reserved bytes over the events\">\n");
    print_axes(out, h, most);
    print_line(out, top, NULL, most, "var(--soft)", "var(--stripe)");
    for (size_t i = 0; i < o->strategy_count; i++)
        if (!*results[i].reason)
            print_line(out, top, strategies[i].summary.reserved[l], most, colours[i % COLOURS],
                       "none");
    print_mark(out, h, peak->at, 11, "peak");
    if (h->refusal.moment)
        print_mark(out, h, h->refusal.moment, 24, "refused");
    fputs("</svg></div>\n<p>", out);
    fputs("The filled area is what the application requested. The lines are what the driver gave:",
          out);
    for (size_t i = 0; i < o->strategy_count; i++)
        if (!*results[i].reason) {
            char bytes[32];
            const char *words = view_words(o->strategies[i]);
            html_print(out, " <b style=\"color:%s\">%s</b>%s%s%s %s at most", colours[i % COLOURS],
                       o->strategies[i], *words ? " (" : "", words, *words ? ")" : "",
                       text_bytes(bytes, most_reserved(top, strategies[i].summary.reserved[l])));
            if (view_measured(o, i))
                html_print(out, ", measured %s", text_bytes(bytes, view_measured(o, i)));
            fputs(".", out);
        }
    fputs(
        "</p>\n<noscript><p class=\"soft\">With scripts on, this page shows each block, and where "
        "each strategy put it.</p></noscript></section>\n",
        out);
}

/* ---- the peak ---- */

static void print_holder(FILE *out, const struct holder *holder, uint64_t all, bool by_site)
{
    char bytes[32], largest[32];
    html_print(
        out,
        "<tr><td class=\"n\">%s</td><td class=\"n\">%.1f&nbsp;%%</td><td class=\"n\">%zu</td>"
        "<td class=\"n\">%s</td>",
        text_bytes(bytes, holder->bytes), all ? 100.0 * (double)holder->bytes / (double)all : 0,
        (size_t)holder->blocks, text_bytes(largest, holder->largest_bytes));
    if (by_site)
        html_print(out, "<td>%s</td>", holder->category);
    html_print(out, "<td class=\"site\">%s</td></tr>\n", holder->site);
}

/* In a trace without sites, the blocks of one size are held by one. */
void view_page_peak(FILE *out, const struct view_history *h)
{
    const bool by_site = trace_reader_info(h->reader)->knows[TRACE_KNOWS_sites];
    const struct view_refusal *refusal = &h->refusal;
    const uint64_t at = refusal->moment ? refusal->moment : view_peak(h)->at;
    const uint64_t requested = refusal->moment ? refusal->requested : view_peak(h)->requested;
    struct holders all = {0};
    struct holder rest = {.category = ""};
    struct text by_category = {0};
    char bytes[32];
    for (unsigned i = 0; i < h->blocks.count; i++) {
        const struct view_block *b = &h->blocks.items[i];
        if (b->born <= at && at < b->died)
            holders_add(&all,
                        by_site ? trace_name_of(h->reader, b->name)
                                : arena_printf(&all.arena, "%" PRIu64 " B", b->bytes),
                        b->bytes);
    }
    holders_end(&all);
    const unsigned shown = all.count > SITES_MOST + 1 ? SITES_MOST : all.count;
    if (by_site && all.count)
        holders_add_line(&by_category, &all, 0);
    html_print(
        out,
        "<section id=\"peak\"><h2>Who holds what %s</h2>\n<p class=\"about\">After "
        "event %zu, %s are requested at once%s%s.%s</p>\n<div class=\"scroll\"><table><thead><tr>"
        "<th scope=\"col\" class=\"n\">bytes</th><th scope=\"col\" class=\"n\">share</th>"
        "<th scope=\"col\" class=\"n\">blocks</th><th scope=\"col\" class=\"n\">largest</th>",
        refusal->moment ? "when a request is refused" : "at the peak", (size_t)at,
        text_bytes(bytes, requested), by_category.length ? ": " : "",
        by_category.length ? by_category.data : "",
        by_site ? "" : " The trace does not know sites: these are blocks of one size.");
    fputs(by_site ? "<th scope=\"col\">category</th><th scope=\"col\">site</th></tr></thead>"
                  : "<th scope=\"col\">size</th></tr></thead>",
          out);
    fputs("<tbody>\n", out);
    for (unsigned i = 0; i < all.count; i++) {
        const struct holder *holder = &all.items[i];
        if (i < shown) {
            print_holder(out, holder, requested, by_site);
            continue;
        }
        rest.bytes += holder->bytes;
        rest.blocks += holder->blocks;
        rest.largest_bytes = larger(rest.largest_bytes, holder->largest_bytes);
    }
    rest.site =
        arena_printf(&all.arena, "%u other %s", all.count - shown, by_site ? "sites" : "sizes");
    if (shown < all.count)
        print_holder(out, &rest, requested, by_site);
    fputs("</tbody></table></div></section>\n", out);
    text_free(&by_category);
    holders_free(&all);
}

/* ---- the end ---- */

void view_page_end(FILE *out, const struct view_options *o, const struct view_history *h,
                   const struct view_result *results)
{
    html_print(
        out,
        "<section id=\"how\"><h2>How to read this page</h2>\n<p class=\"about\">The page has all "
        "%zu blocks of the events %zu to %zu. Each column of a picture shows one moment: the one "
        "of "
        "its events at which most was requested, so no peak is lost at any zoom. At a wide zoom "
        "the largest blocks are drawn one by one, and the rest is drawn as one band, “others”. "
        "Zoom in, and these come apart, down to one event. "
        "--from and --to make a smaller page of a part.</p>\n",
        (size_t)h->blocks.count, (size_t)h->first, (size_t)h->last);
    fputs("<p class=\"about\">A click, or Enter, selects a moment. At first it is that of the "
          "last request that the recorded allocator refused, or the peak. The flame graph shows "
          "the bytes that are requested then. A frame is as wide as its bytes, and what it called"
          " is below it. A click on a frame finds its blocks in the pictures. With Shift, or with"
          " “compare” on, a click chooses a second moment: one graph shows what the selected "
          "moment has more, the other what it has less. The slider sets a capacity: a map is red "
          "from the first event on at which its allocator reserves more.</p>\n",
          out);
    if (o->about)
        html_print(out, "<p class=\"about\">%s</p>\n", o->about);
    fputs(
        "<p class=\"about\">An address map has a strategy's addresses on one axis. Memory that the "
        "driver gave is grey where no block lies in it. At a wide zoom its cells are the darker "
        "the more "
        "of them blocks take that are not drawn one by one. Drivers' handles need not be "
        "addresses, so "
        "memories "
        "are placed where there is room; offsets within one are true.</p>\n",
        out);
    for (size_t i = 0; i < o->strategy_count; i++)
        if (*results[i].reason)
            html_print(out, "<p class=\"about\"><b>%s</b> is not in the page: %s</p>\n",
                       o->strategies[i], results[i].reason);
    fputs("</section>\n</main>\n", out);
}
