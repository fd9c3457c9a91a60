/* The programs in detail: a page of gamut view for each of the few that request the most bytes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/text.h"
#include "base/tree.h"
#include "record/result/case_tree.h"
#include "report/sections.h"
#include "view/cases.h"
#include "view/view.h"

enum { PROGRAMS_MOST = 3 }; /* on a device */

/* A workload with a dataset on a device. Its page shows the case that requests the most bytes, and
 * the others with the same merge set and release policy. */
struct detail {
    const json_t *largest; /* of its cases */
    double peak_bytes;     /* requested */
};

static bool has_same(const json_t *one_case, const json_t *other, const char *member)
{
    return strcmp(tree_get_text(json_object_get(one_case, "key"), member),
                  tree_get_text(json_object_get(other, "key"), member)) == 0;
}

static bool are_of_one_program(const json_t *one_case, const json_t *other)
{
    return has_same(one_case, other, "workload") && has_same(one_case, other, "dataset") &&
           has_same(one_case, other, "device");
}

/* The programs that ran on one device each; a group of devices has no page. The caller frees
 * *details. */
static size_t find_details(const json_t *cases, struct detail **details)
{
    struct detail *all = must_alloc((json_array_size(cases) + 1) * sizeof *all);
    size_t i, p, count = 0;
    json_t *one_case;
    json_array_foreach(cases, i, one_case)
    {
        const double bytes = case_peak(one_case, "peak_requested_bytes");
        const json_t *key = json_object_get(one_case, "key");
        if (!case_is_ok(one_case) || !(bytes > 0) || *tree_get_text(key, "residency"))
            continue;
        for (p = 0; p < count && !are_of_one_program(one_case, all[p].largest);)
            p++;
        if (p == count)
            all[count++] = (struct detail){one_case, bytes};
        else if (bytes > all[p].peak_bytes)
            all[p] = (struct detail){one_case, bytes};
    }
    *details = all;
    return count;
}

/* The largest program of the device among those with bytes; `count`: there is none. */
static size_t find_largest(const struct detail *details, size_t count, const char *device)
{
    size_t largest = count;
    for (size_t i = 0; i < count; i++) {
        const json_t *key = json_object_get(details[i].largest, "key");
        if (details[i].peak_bytes > (largest < count ? details[largest].peak_bytes : 0) &&
            strcmp(tree_get_text(key, "device"), device) == 0)
            largest = i;
    }
    return largest;
}

/* ---- one page -------------------------------------------------------------------------------- */

static int print_view(const struct viewed_cases *cases, const char *trace, FILE *out,
                      struct error *error)
{
    const size_t count = cases->strategies.count;
    uint64_t *measured = must_alloc(count * sizeof *measured);
    const struct view_options options = {.name = cases->name,
                                         .strategy_count = count,
                                         .strategies = cases->strategies.items,
                                         .about = cases->about,
                                         .measured_bytes = measured,
                                         .free_at = FREE_AT_DONE,
                                         .last = UINT32_MAX};
    struct view_report report = {0};
    struct trace_reader *reader;
    for (size_t i = 0; i < count; i++)
        measured[i] = viewed_cases_reserved(cases, cases->strategies.items[i]);
    int code = trace_open(trace, &reader, error);
    if (!code) {
        code = view_write(reader, &options, out, &report, error);
        trace_close(reader);
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
    int code = view_cases(file->root, file->name, choice, trace.data, &cases, error);
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
    const json_t *cases = json_object_get(file->root, "cases");
    const char **ids = must_alloc(json_array_size(cases) * sizeof *ids);
    struct case_choice choice = {.workloads = "*",
                                 .datasets = "*",
                                 .merges = "*",
                                 .releases = "*",
                                 .devices = "*",
                                 .ids = ids};
    size_t i;
    json_t *one_case;
    json_array_foreach(cases, i, one_case)
    {
        if (are_of_one_program(one_case, detail->largest) &&
            has_same(one_case, detail->largest, "merge") &&
            has_same(one_case, detail->largest, "release"))
            ids[choice.id_count++] = tree_get_text(one_case, "id");
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
    const json_t *key = json_object_get(detail->largest, "key");
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
    html_print(page->out, "%s %s on %s", tree_get_text(key, "workload"),
               tree_get_text(key, "dataset"), tree_get_text(key, "device"));
    fputs(code ? "" : "</a>", page->out);
    html_print(page->out, ", merge set %s: %s are requested at the peak.",
               tree_get_text(key, "merge"), text_bytes(bytes, (uint64_t)detail->peak_bytes));
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
    const json_t *devices = json_object_get(json_object_get(file->root, "context"), "devices");
    struct detail *details;
    struct text folder = {0};
    size_t made = 0;
    const size_t count = find_details(json_object_get(file->root, "cases"), &details);
    if (count) {
        text_add(&folder, "%s/views", page->work);
        mkdir(folder.data, 0777); /* if this fails, each page reports it */
        page_section(page, file, "details", "Programs in detail",
                     "The programs that request the most bytes at once on each device. Their pages "
                     "show every block over time, and where each allocator puts it.");
        fputs("<ul class=\"plain\">\n", page->out);
        for (size_t d = 0; d < json_array_size(devices); d++)
            print_device(page, file, details, count,
                         tree_get_text(json_array_get(devices, d), "id"), &made);
        fputs("</ul>\n</section>\n", page->out);
        rmdir(folder.data); /* if it is empty */
    }
    text_free(&folder);
    free(details);
}
