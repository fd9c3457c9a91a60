#include "record/table/atlas_table.h"

#include <math.h>
#include <string.h>

#include "base/text.h"

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

/* What adds less than a tenth even at the largest size it is for is noise, and its rate a large
 * number: only the constant is told then. */
static void add_line(const struct atlas_line *line, uint64_t largest_bytes, struct text *out)
{
    char ns[32];
    double gib_per_second = 1e9 / line->b_ns_per_byte / (double)(1 << 30);
    text_add(out, "%s", text_ns(ns, line->a_ns));
    if (line->b_ns_per_byte * (double)largest_bytes <= line->a_ns / 10)
        return;
    if (gib_per_second < 1000)
        text_add(out, " + %.3g GiB/s", gib_per_second);
    else
        text_add(out, gib_per_second < 1e6 ? " + %.3g TiB/s" : " + %.0f TiB/s",
                 gib_per_second / 1024);
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

/* Sizes differ: "device from 64.0 MiB on" says where the classes change. */
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

static void print_time(const struct atlas_point *point, FILE *out)
{
    char ns[32];
    fprintf(out, "  %9s", point ? text_ns(ns, (double)point->p50_ns) : "-");
}

static void print_methods(const struct atlas *atlas, FILE *out)
{
    char size[32];
    fprintf(out, "\n%-20s  %-10s", "method", "call");
    for (size_t i = 0; i < SHOWN; i++)
        fprintf(out, "  %9s", text_bytes(size, shown_bytes[i]));
    fprintf(out, "  %20s  %9s  %-44s  %7s  %s\n", "largest", "p99 1 MiB", "fit a + size / b",
            "fit off", "waits for");
    for (size_t c = 0; c < atlas->curve_count; c++) {
        const struct atlas_curve *curve = &atlas->curves[c];
        const struct atlas_point *largest = largest_of(curve), *mib = point_at(curve, 1 << 20);
        char text[96], ns[32];
        if (!largest)
            continue;
        fprintf(out, "%-20s  %-10s", curve->method, curve->call);
        for (size_t i = 0; i < SHOWN; i++)
            print_time(point_at(curve, shown_bytes[i]), out);
        snprintf(text, sizeof text, "%s (%s)", text_ns(ns, (double)largest->p50_ns),
                 text_bytes(size, largest->bytes));
        fprintf(out, "  %20s  %9s", text, mib ? text_ns(ns, (double)mib->p99_ns) : "-");
        struct text fit = {0};
        atlas_fit_text(curve, &fit);
        fprintf(out, "  %-44s", fit.length ? fit.data : "-");
        text_free(&fit);
        if (isnan(curve->fit_error))
            fprintf(out, "  %7s", "-");
        else
            fprintf(out, "  %5.0f %%", 100 * curve->fit_error);
        waits_text(curve, text);
        fprintf(out, "  %s\n", *text ? text : "-");
    }
}

static void print_commands(const struct atlas *atlas, FILE *out)
{
    bool first = true;
    for (size_t c = 0; c < atlas->curve_count; c++) {
        const struct atlas_curve *curve = &atlas->curves[c];
        const struct atlas_point *point = point_at(curve, 0);
        char median[32], p10[32], p90[32], p99[32], waits[96];
        if (!point)
            continue;
        if (first)
            fprintf(out, "\n%-20s  %9s  %9s  %9s  %9s  %s\n", "command", "median", "p10", "p90",
                    "p99", "waits for");
        first = false;
        waits_text(curve, waits);
        fprintf(out, "%-20s  %9s  %9s  %9s  %9s  %s\n", curve->call,
                text_ns(median, (double)point->p50_ns), text_ns(p10, (double)point->p10_ns),
                text_ns(p90, (double)point->p90_ns), text_ns(p99, (double)point->p99_ns),
                *waits ? waits : "-");
    }
}

static void print_live(const struct atlas *atlas, FILE *out)
{
    bool first = true;
    for (size_t c = 0; c < atlas->curve_count; c++) {
        const struct atlas_curve *curve = &atlas->curves[c];
        bool named = false;
        for (size_t i = 0; i < curve->point_count; i++) {
            const struct atlas_point *p = &curve->points[i];
            char size[32], ns[32];
            if (p->live_count == 0)
                continue;
            if (first)
                fputs("\nmedian with other live allocations of the same method and size\n", out);
            if (!named)
                fprintf(out, "%-20s  %-10s  %9s", curve->method, curve->call,
                        text_bytes(size, p->bytes));
            first = false;
            named = true;
            if (p->sample_count)
                fprintf(out, "  %llu: %s", (unsigned long long)p->live_count,
                        text_ns(ns, (double)p->p50_ns));
            else
                fprintf(out, "  %llu: %s", (unsigned long long)p->live_count, p->skipped);
        }
        if (named)
            fputc('\n', out);
    }
}

/* One line for what a method does not offer, or from which size on something was left out. */
static void print_skipped(const struct atlas *atlas, FILE *out)
{
    bool first = true;
    for (size_t c = 0; c < atlas->curve_count; c++) {
        const struct atlas_curve *curve = &atlas->curves[c];
        const struct atlas_point *skipped = NULL;
        size_t count = 0;
        for (size_t i = 0; i < curve->point_count; i++)
            if (*curve->points[i].skipped && curve->points[i].live_count == 0) {
                skipped = skipped ? skipped : &curve->points[i];
                count++;
            }
        if (!skipped)
            continue;
        if (first)
            fputs("\nleft out\n", out);
        first = false;
        fprintf(out, "%-20s  %s", curve->method, skipped->skipped);
        fprintf(out, count > 1 ? ", and %zu larger sizes\n" : "\n", count - 1);
    }
}

void atlas_print(const struct atlas *atlas, FILE *out)
{
    char ns[32];
    fprintf(out, "%s, %s%s%s; medians, of which %s is the reading of the clock\n", atlas->device,
            atlas->name, *atlas->driver ? ", driver " : "", atlas->driver,
            isnan(atlas->timer_ns) ? "an unknown part" : text_ns(ns, atlas->timer_ns));
    print_methods(atlas, out);
    print_commands(atlas, out);
    print_live(atlas, out);
    print_skipped(atlas, out);
}
