#include "pages/view.h"

#include <inttypes.h>
#include <string.h>

#include "base/arena.h"
#include "base/sort.h"
#include "base/text.h"
#include "pages/page.h"
#include "trace/holders.h"

/* page.css, view.css, and the hash of view.js */
extern const char kernel_text_page_style[], kernel_text_view_style[], kernel_text_view_hash[],
    kernel_text_view_how[];

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

/* "PyTorch 2.11, GPT, H100. At the peak, event 12, 1.34 GiB are requested at once." */
static void print_source(FILE *out, const struct view_history *h)
{
    const struct trace_info *info = trace_reader_info(h->reader);
    char bytes[32];
    html_print(out, "%s%s%s%s%s. At the peak, event %zu, %s are requested at once.",
               *info->source ? info->source : "A trace", *info->application ? ", " : "",
               info->application, *info->device ? ", " : "", info->device, (size_t)view_peak(h)->at,
               text_bytes(bytes, view_peak(h)->requested));
    const char *site = trace_name_of(h->reader, h->refusal.name);
    if (h->refusal.moment)
        html_print(out, " At event %zu the recorded allocator refused a request of %s%s%s.",
                   (size_t)h->refusal.moment, text_bytes(bytes, h->refusal.bytes),
                   *site ? ": " : "", site);
}

void view_page_begin(FILE *out, const struct view_pane *panes, size_t count)
{
    const char *name = panes[0].options->name, *other = panes[count - 1].options->name;
    const bool are_two = strcmp(name, other) != 0;
    fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
          out);
    html_policy(out, kernel_text_view_hash);
    html_print(out, "<title>%s%s%s: memory over time</title>\n<style>\n", name,
               are_two ? " and " : "", are_two ? other : "");
    fprintf(out, "%s%s", kernel_text_page_style, kernel_text_view_style);
    html_print(out, "</style>\n</head>\n<body>\n<header><h1>%s%s%s: memory over time</h1>\n", name,
               are_two ? " and " : "", are_two ? other : "");
    if (panes[0].history == panes[count - 1].history) {
        fputs("<p class=\"soft\">", out);
        print_source(out, panes[0].history);
        fputs("</p>", out);
    }
    fputs("</header>\n<main>\n<section id=\"live\" hidden></section>\n", out);
}

/* ---- two panes ---- */

/* The first strategy that serves the trace: the page has one. */
static size_t first_served(const struct view_pane *p)
{
    size_t i = 0;
    while (*p->report->strategies[i].reason)
        i++;
    return i;
}

static uint64_t reserved_by(const struct view_pane *p)
{
    return p->strategies[first_served(p)].outcome.counts.peak_reserved_bytes;
}

static const struct replay_refused *refused_by(const struct view_pane *p)
{
    return &p->strategies[first_served(p)].outcome.refused;
}

/* " under the limit of 1.78 GiB", or "" */
static const char *limit_text(char out[64], const struct view_result *result)
{
    char bytes[32];
    *out = 0;
    if (result->limit_bytes)
        snprintf(out, 64, " under the limit of %s", text_bytes(bytes, result->limit_bytes));
    return out;
}

/* "640 MiB (30 %) less", "as much" */
static void add_less(struct text *out, uint64_t is, uint64_t was)
{
    char bytes[32], share[32];
    const uint64_t by = is < was ? was - is : is - was;
    if (is == was)
        text_add(out, "as much");
    else
        text_add(out, "%s%s%s%s %s", text_bytes(bytes, by), was ? " (" : "",
                 was ? text_percent(share, 100 * (double)by / (double)was) : "", was ? ")" : "",
                 is < was ? "less" : "more");
}

/* The outcome that brought the reader here comes before the bytes. */
static void add_refused(struct text *out, const struct view_pane *left,
                        const struct view_pane *right)
{
    const struct replay_refused *then = refused_by(right), *first = refused_by(left);
    if (!then->count || then->served_count == first->served_count)
        return;
    text_add(out, "With “%s”, ", right->options->word);
    replay_add_refused(out, then);
    if (first->count == then->count && !first->served_count)
        text_add(out, "; with “%s”, %s refused again", left->options->word,
                 first->count == 1 ? "it is" : "all are");
    else if (first->count) {
        text_add(out, "; with “%s”, ", left->options->word);
        replay_add_refused(out, first);
    }
    text_add(out, ". ");
}

static void add_difference(struct text *out, const struct view_pane *left,
                           const struct view_pane *right)
{
    const uint64_t was = reserved_by(left), is = reserved_by(right);
    const uint64_t lived = view_peak(left->history)->requested;
    const uint64_t live = view_peak(right->history)->requested;
    char now[32], before[32];
    add_refused(out, left, right);
    text_add(out, "In a replay, “%s” ", right->options->word);
    if (right->options->strategy_count > 1)
        text_add(out, "with %s ", right->options->strategies[first_served(right)]);
    text_add(out, "reserves ");
    add_less(out, is, was);
    text_add(out, " at its peak %s “%s”: %s", is == was ? "as" : "than", left->options->word,
             text_bytes(now, is));
    if (is != was)
        text_add(out, " instead of %s", text_bytes(before, was));
    text_add(out, ". ");
    if (left->history == right->history) {
        text_add(out, "At its peak, the trace has %s live.", text_bytes(now, live));
    } else if (live == lived) {
        text_add(out, "At the peak of live bytes, both have %s.", text_bytes(now, live));
    } else {
        text_add(out, "At the peak of live bytes, ");
        add_less(out, live, lived);
        text_add(out, " is live: %s instead of %s.", text_bytes(now, live),
                 text_bytes(before, lived));
    }
}

void view_page_difference(FILE *out, const struct view_pane *panes, size_t count)
{
    struct text sentence = {0};
    char reserved[32], limit[64];
    if (count == 1)
        return;
    add_difference(&sentence, &panes[0], &panes[1]);
    snprintf(panes[0].report->difference, sizeof panes[0].report->difference, "%s", sentence.data);
    html_print(out, "<section id=\"difference\"><p class=\"headline\">%s</p>\n", sentence.data);
    text_free(&sentence);
    for (size_t i = 0; i < count; i++)
        if (panes[i].options->caution)
            html_print(out, "<p class=\"about\">%s</p>\n", panes[i].options->caution);
    fputs("<div class=\"panes\">\n", out);
    for (size_t i = 0; i < count; i++) {
        const struct view_options *o = panes[i].options;
        html_print(out,
                   "<div class=\"pane\"><h2>%s: %s</h2><p class=\"about\"><b>%s</b> reserved at "
                   "most by %s%s. ",
                   o->word, o->what, text_bytes(reserved, reserved_by(&panes[i])),
                   o->strategies[first_served(&panes[i])],
                   limit_text(limit, &panes[i].report->strategies[first_served(&panes[i])]));
        if (panes[0].history != panes[1].history)
            print_source(out, panes[i].history);
        fputs("</p></div>\n", out);
    }
    fputs("</div></section>\n", out);
}

/* ---- the picture ---- */

enum { LEFT = 70, TOP = 14, HIGH = 260 };

/* The scale and the axis that the pictures of all panes have. */
struct scale {
    int wide;
    uint64_t most;
    uint32_t first, last;
};

static double x_of(const struct scale *scale, double moment)
{
    return LEFT + scale->wide * (moment - scale->first) / ((double)scale->last - scale->first + 1);
}

/* A line through the most of each column. */
static void print_line(FILE *out, const struct scale *scale, const struct view_history *h,
                       const uint64_t *values, const char *colour, const char *fill)
{
    const struct view_level *level = &h->summary.levels[h->summary.level_count - 1];
    html_print(out, "<polyline fill=\"%s\" stroke=\"%s\" stroke-width=\"1.5\" points=\"", fill,
               colour);
    const uint32_t columns = level->count < STILL_COLUMNS ? level->count : STILL_COLUMNS;
    const double left = x_of(scale, h->first), wide = x_of(scale, (double)h->last + 1) - left;
    const bool is_filled = *fill != 'n';
    if (is_filled)
        fprintf(out, "%.1f,%d ", left, TOP + HIGH);
    for (uint32_t c = 0; c < columns; c++) {
        uint64_t highest = 0;
        const uint64_t begin = (uint64_t)level->count * c / columns;
        const uint64_t end = (uint64_t)level->count * (c + 1) / columns;
        for (uint64_t i = begin; i < end; i++) {
            const uint64_t value = values ? values[i] : level->buckets[i].requested;
            highest = value > highest ? value : highest;
        }
        const double y = TOP + HIGH * (1 - (double)highest / (double)scale->most);
        fprintf(out, "%.1f,%.1f %.1f,%.1f ", left + wide * c / columns, y,
                left + wide * (c + 1) / columns, y);
    }
    if (is_filled)
        fprintf(out, "%.1f,%d", left + wide, TOP + HIGH);
    fputs("\"/>\n", out);
}

/* The most that a strategy of a pane reserved in its window; 0 if it is not in the page. */
static uint64_t most_reserved(const struct view_pane *p, size_t strategy)
{
    const unsigned l = p->history->summary.level_count - 1;
    uint64_t most = 0;
    for (uint32_t i = 0; i < p->history->summary.levels[l].count; i++)
        if (!*p->report->strategies[strategy].reason)
            most = larger(most, p->strategies[strategy].summary.reserved[l][i]);
    return most;
}

static void print_axes(FILE *out, const struct scale *scale)
{
    char bytes[32];
    for (int i = 0; i <= 4; i++) {
        const int y = TOP + HIGH - HIGH * i / 4;
        fprintf(out, "<line x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\" stroke=\"var(--line)\"/>\n",
                LEFT, LEFT + scale->wide, y, y);
        html_print(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", LEFT - 6, y + 4,
                   text_bytes(bytes, (uint64_t)((double)scale->most * i / 4)));
        html_print(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\">%s%.0f</text>\n",
                   LEFT + scale->wide * i / 4, TOP + HIGH + 16,
                   i == 4 ? "end"
                   : i    ? "middle"
                          : "start",
                   i ? "" : "event ", scale->first + (double)(scale->last - scale->first) * i / 4);
    }
}

static void print_mark(FILE *out, const struct scale *scale, uint64_t moment, int y,
                       const char *text)
{
    const double x = x_of(scale, (double)moment);
    fprintf(out,
            "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" stroke=\"var(--bad)\" "
            "stroke-dasharray=\"4 3\"/><text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">%s</text>\n",
            x, x, TOP, TOP + HIGH, x, y, x > LEFT + scale->wide / 2 ? "end" : "start", text);
}

/* The colour of a strategy is the same in both panes. */
static const char *colour_of(const struct view_pane *panes, size_t pane, size_t strategy)
{
    const struct view_options *first = panes[0].options, *o = panes[pane].options;
    size_t i = 0;
    while (pane && i < first->strategy_count &&
           strcmp(first->strategies[i], o->strategies[strategy]) != 0)
        i++;
    return colours[(pane && i < first->strategy_count ? i : i + strategy) % COLOURS];
}

static void print_picture(FILE *out, const struct view_pane *panes, size_t pane,
                          const struct scale *scale)
{
    const struct view_pane *p = &panes[pane];
    const struct view_options *o = p->options;
    const struct view_history *h = p->history;
    fprintf(out,
            "<div class=\"scroll\"><svg class=\"still\" viewBox=\"0 0 %d 300\" role=\"img\" "
            "aria-label=\"Requested and reserved bytes over the events\">\n",
            LEFT + scale->wide + 20);
    print_axes(out, scale);
    print_line(out, scale, h, NULL, "var(--soft)", "var(--stripe)");
    for (size_t i = 0; i < o->strategy_count; i++)
        if (!*p->report->strategies[i].reason)
            print_line(out, scale, h, p->strategies[i].summary.reserved[h->summary.level_count - 1],
                       colour_of(panes, pane, i), "none");
    print_mark(out, scale, view_peak(h)->at, 11, "peak");
    if (h->refusal.moment)
        print_mark(out, scale, h->refusal.moment, 24, "refused");
    fputs("</svg></div>\n<p>The filled area is what the application requested. The lines are what "
          "the driver gave:",
          out);
    for (size_t i = 0; i < o->strategy_count; i++)
        if (!*p->report->strategies[i].reason) {
            char bytes[32], limit[64];
            const char *words = view_words(o->strategies[i]);
            html_print(out, " <b style=\"color:%s\">%s</b>%s%s%s %s at most%s",
                       colour_of(panes, pane, i), o->strategies[i], *words ? " (" : "", words,
                       *words ? ")" : "", text_bytes(bytes, most_reserved(p, i)),
                       limit_text(limit, &p->report->strategies[i]));
            if (view_measured(o, i))
                html_print(out, ", measured %s", text_bytes(bytes, view_measured(o, i)));
            fputs(".", out);
        }
    fputs("</p>\n", out);
}

/* Prints a part of each pane; two stand side by side, each with its word. */
static void print_panes(FILE *out, const struct view_pane *panes, size_t count,
                        void (*part)(FILE *out, const struct view_pane *panes, size_t pane,
                                     const struct scale *scale),
                        const struct scale *scale)
{
    fputs(count > 1 ? "<div class=\"panes\">" : "", out);
    for (size_t i = 0; i < count; i++) {
        if (count > 1)
            html_print(out, "<div class=\"pane\"><h3>%s</h3>\n", panes[i].options->word);
        part(out, panes, i, scale);
        fputs(count > 1 ? "</div>\n" : "", out);
    }
    fputs(count > 1 ? "</div>\n" : "", out);
}

void view_page_picture(FILE *out, const struct view_pane *panes, size_t count)
{
    struct scale scale = {.wide = count > 1 ? 420 : 900, .most = 1, .first = UINT32_MAX};
    for (size_t i = 0; i < count; i++) {
        const struct view_history *h = panes[i].history;
        scale.most = larger(scale.most, view_peak(h)->requested);
        for (size_t k = 0; k < panes[i].options->strategy_count; k++)
            scale.most = larger(scale.most, most_reserved(&panes[i], k));
        scale.first = h->first < scale.first ? h->first : scale.first;
        scale.last = h->last > scale.last ? h->last : scale.last;
    }
    fputs("<section id=\"still\"><h2>Bytes over the events of the trace</h2>\n", out);
    print_panes(out, panes, count, print_picture, &scale);
    fputs("<noscript><p class=\"soft\">With scripts on, this page shows each block, and where "
          "each strategy put it.</p></noscript></section>\n",
          out);
}

/* ---- the peak ---- */

static void print_holder(FILE *out, const struct trace_name *names, const struct holder *holder,
                         uint64_t all, bool by_site)
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
    if (!holder->stack) {
        html_print(out, "<td class=\"site\">%s</td></tr>\n", holder->site);
        return;
    }
    /* A click unfolds it to its call stack, the innermost frame first. */
    html_print(out, "<td class=\"site\"><details><summary>%s</summary>", holder->site);
    for (unsigned f = holder->stack; f; f = names[f].caller)
        if (!names[f].is_hidden)
            html_print(out, "%s<br>", names[f].text);
    fputs("</details></td></tr>\n", out);
}

/* In a trace without sites, the blocks of one size are held by one. */
static void print_peak(FILE *out, const struct view_pane *panes, size_t pane,
                       const struct scale *scale)
{
    const struct view_history *h = panes[pane].history;
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
                        b->site == b->name ? 0 : b->site, b->bytes);
    }
    holders_end(&all);
    const unsigned shown = all.count > SITES_MOST + 1 ? SITES_MOST : all.count;
    if (by_site && all.count)
        holders_add_line(&by_category, &all, 0);
    html_print(
        out,
        "<h2>Who holds what %s</h2>\n<p class=\"about\">After "
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
            print_holder(out, trace_reader_names(h->reader), holder, requested, by_site);
            continue;
        }
        rest.bytes += holder->bytes;
        rest.blocks += holder->blocks;
        rest.largest_bytes = larger(rest.largest_bytes, holder->largest_bytes);
    }
    rest.site =
        arena_printf(&all.arena, "%u other %s", all.count - shown, by_site ? "sites" : "sizes");
    if (shown < all.count)
        print_holder(out, trace_reader_names(h->reader), &rest, requested, by_site);
    fputs("</tbody></table></div>\n", out);
    text_free(&by_category);
    holders_free(&all);
}

/* Two panes of one trace have the same holders. */
void view_page_peak(FILE *out, const struct view_pane *panes, size_t count)
{
    count = panes[0].history == panes[count - 1].history ? 1 : count;
    fputs("<section id=\"peak\">", out);
    print_panes(out, panes, count, print_peak, NULL);
    fputs("</section>\n", out);
}

/* ---- the end ---- */

void view_page_end(FILE *out, const struct view_pane *panes, size_t count)
{
    fputs("<section id=\"how\"><h2>How to read this page</h2>\n", out);
    if (count > 1)
        fputs("<p class=\"about\">The page has two panes with one scale, one axis and one cursor."
              " A click selects the same place of the axis in both. Of two traces the flame graphs"
              " show the bytes that are requested at the moment of one pane and not at that of the"
              " other. With Shift, or with “compare” on, a click moves the moment of its pane"
              " alone.</p>\n",
              out);
    for (size_t i = 0; i < count; i++) {
        const struct view_history *h = panes[i].history;
        if (i == 0 || h != panes[0].history)
            html_print(out,
                       "<p class=\"about\">%s has all %zu blocks of the events %zu to %zu.</p>\n",
                       count > 1 ? panes[i].options->word : "The page", (size_t)h->blocks.count,
                       (size_t)h->first, (size_t)h->last);
        if (panes[i].options->about)
            html_print(out, "<p class=\"about\">%s</p>\n", panes[i].options->about);
    }
    fputs(kernel_text_view_how, out);
    if (trace_limit(trace_reader_info(panes[0].options->reader)) ||
        trace_limit(trace_reader_info(panes[count - 1].options->reader)))
        fputs("<p class=\"about\">The log shows a limit: more than it held was refused. Under the "
              "limit a replay asks for what was refused again. An allocator that does not serve the"
              " rest under it is replayed without one.</p>\n",
              out);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < panes[i].options->strategy_count; k++)
            if (*panes[i].report->strategies[k].reason)
                html_print(out, "<p class=\"about\"><b>%s</b> is not in the page: %s</p>\n",
                           panes[i].options->strategies[k], panes[i].report->strategies[k].reason);
    fputs("</section>\n</main>\n", out);
}
