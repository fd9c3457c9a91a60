/* The programs in detail: a page of gamut view for each of the few that request the most bytes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/text.h"
#include "results/file/measured.h"
#include "pages/sections.h"
#include "pages/view_cases.h"
#include "pages/view.h"

enum { PROGRAMS_MOST = 3 }; /* on a device */

/* A workload with a dataset on a device. Its page shows the case that requests the most bytes, and
 * the others with the same merge set and release policy. */
struct detail {
    const struct result_case *largest; /* of its cases */
    double peak_bytes;                 /* requested */
};

static bool are_of_one_program(const struct case_key *a, const struct case_key *b)
{
    return strcmp(a->workload, b->workload) == 0 && strcmp(a->dataset, b->dataset) == 0 &&
           strcmp(a->device, b->device) == 0;
}

/* The programs that ran on one device each; a group of devices has no page. The caller frees
 * *details. */
static size_t find_details(const struct result *result, struct detail **details)
{
    struct detail *all = must_alloc((result->case_count + 1) * sizeof *all);
    size_t p, count = 0;
    for (size_t i = 0; i < result->case_count; i++) {
        const struct result_case *one = &result->cases[i];
        const double bytes = measured_peak(one, "peak_requested_bytes");
        if (!(bytes > 0) || *one->key.residency)
            continue;
        for (p = 0; p < count && !are_of_one_program(&one->key, &all[p].largest->key);)
            p++;
        if (p == count)
            all[count++] = (struct detail){one, bytes};
        else if (bytes > all[p].peak_bytes)
            all[p] = (struct detail){one, bytes};
    }
    *details = all;
    return count;
}

/* The largest program of the device among those with bytes; `count`: there is none. */
static size_t find_largest(const struct detail *details, size_t count, const char *device)
{
    size_t largest = count;
    for (size_t i = 0; i < count; i++)
        if (details[i].peak_bytes > (largest < count ? details[largest].peak_bytes : 0) &&
            strcmp(details[i].largest->key.device, device) == 0)
            largest = i;
    return largest;
}

/* ---- one page -------------------------------------------------------------------------------- */

static int print_view(const struct viewed_cases *cases, const char *trace, FILE *out,
                      struct error *error)
{
    const size_t count = cases->strategies.count;
    uint64_t *measured = must_alloc(count * sizeof *measured);
    struct view_options options = {.name = cases->name,
                                   .strategy_count = count,
                                   .strategies = cases->strategies.items,
                                   .about = cases->about,
                                   .measured_bytes = measured,
                                   .free_at = FREE_AT_DONE,
                                   .last = UINT32_MAX};
    struct view_report report = {0};
    for (size_t i = 0; i < count; i++)
        measured[i] = viewed_cases_reserved(cases, cases->strategies.items[i]);
    int code = trace_open(trace, &options.reader, error);
    if (!code) {
        code = view_write(&options, 1, out, &report, error);
        trace_close(options.reader);
    }
    free(report.strategies);
    free(measured);
    return code;
}

static int write_view(const struct page_file *file, const struct case_choice *choice,
                      const char *path, struct error *error)
{
    struct viewed_cases cases;
    struct text trace = {0};
    text_add(&trace, "%s.trace", path);
    int code = view_cases(&file->result, file->name, choice, trace.data, &cases, error);
    FILE *out = code ? NULL : fopen(path, "w");
    if (!code && !out)
        code = error_set(error, ERR_IO, "%s could not be made: %s", path, strerror(errno));
    if (out) {
        code = print_view(&cases, trace.data, out, error);
        const bool failed = ferror(out);
        if ((fclose(out) != 0 || failed) && !code)
            code = error_set(error, ERR_IO, "%s could not be written: %s", path, strerror(errno));
        if (code)
            unlink(path);
    }
    unlink(trace.data);
    viewed_cases_free(&cases);
    text_free(&trace);
    return code;
}

/* Makes the page of a program at `path`, with the ids of its cases as the choice. */
static int make_view(const struct page_file *file, const struct detail *detail, const char *path,
                     struct error *error)
{
    const struct result *result = &file->result;
    const struct case_key *key = &detail->largest->key;
    const char **ids = must_alloc(result->case_count * sizeof *ids);
    struct case_choice choice = {.workloads = "*",
                                 .datasets = "*",
                                 .merges = "*",
                                 .releases = "*",
                                 .devices = "*",
                                 .ids = ids};
    for (size_t i = 0; i < result->case_count; i++) {
        const struct result_case *one = &result->cases[i];
        if (are_of_one_program(&one->key, key) && strcmp(one->key.merge, key->merge) == 0 &&
            strcmp(one->key.release, key->release) == 0)
            ids[choice.id_count++] = one->id;
    }
    const int code = write_view(file, &choice, path, error);
    free(ids);
    return code;
}

/* ---- the section ----------------------------------------------------------------------------- */

/* Prints the link to the page of a program, or why there is none and which command makes it. */
static void print_detail(const struct page *page, const struct page_file *file,
                         const struct detail *detail, const char *name)
{
    const struct case_key *key = &detail->largest->key;
    struct text path = {0};
    struct error error = {0};
    char bytes[32];
    text_add(&path, "%s/%s", page->work, name);
    const int code = make_view(file, detail, path.data, &error);
    fputs(code ? "<li>" : "<li><a href=\"", page->out);
    if (!code) {
        html_path(page->out, name);
        fputs("\">", page->out);
    }
    html_print(page->out, "%s %s on %s", key->workload, key->dataset, key->device);
    fputs(code ? "" : "</a>", page->out);
    html_print(page->out, ", merge set %s: %s are requested at the peak.", key->merge,
               text_bytes(bytes, (uint64_t)detail->peak_bytes));
    if (code) {
        struct arena arena = {0};
        html_print(page->out, " There is no page of it: %s.", error.text);
        if (code != ERR_USAGE)
            html_print(page->out,
                       " <code>gamut view data/%s %s</code> makes one where the program is.",
                       file->name, viewed_case_flags(&arena, detail->largest));
        arena_free(&arena);
    }
    fputs("</li>\n", page->out);
    text_free(&path);
}

/* Prints the largest programs of a device; *made is the number of pages so far. */
static void print_device(const struct page *page, const struct page_file *file,
                         struct detail *details, size_t count, const char *device, size_t *made)
{
    for (int n = 0; n < PROGRAMS_MOST; n++) {
        const size_t largest = find_largest(details, count, device);
        char name[64];
        if (largest == count)
            return;
        snprintf(name, sizeof name, "views/%s-%zu.html", file->id, ++*made);
        print_detail(page, file, &details[largest], name);
        details[largest].peak_bytes = 0;
    }
}

void section_details(const struct page *page, const struct page_file *file)
{
    const struct result_context *context = &file->result.context;
    struct detail *details;
    struct text folder = {0};
    size_t made = 0;
    const size_t count = find_details(&file->result, &details);
    if (count) {
        text_add(&folder, "%s/views", page->work);
        mkdir(folder.data, 0777); /* if this fails, each page reports it */
        page_section(page, file, "details", "Programs in detail",
                     "The programs that request the most bytes at once on each device. Their pages "
                     "show every block over time, and where each allocator puts it.");
        fputs("<ul class=\"plain\">\n", page->out);
        for (size_t d = 0; d < context->device_count; d++)
            print_device(page, file, details, count, context->devices[d].id, &made);
        fputs("</ul>\n</section>\n", page->out);
        rmdir(folder.data); /* if it is empty */
    }
    text_free(&folder);
    free(details);
}
