#include "pages/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "results/compare/compare.h"
#include "results/file/answer.h"
#include "results/show/matrix.h"
#include "pages/folder.h"
#include "pages/sections.h"

/* ---- files ---------------------------------------------------------------------------------- */

/* Names the copy of a file, without its folders, which are private to the machine that made the
 * report. Equal names, from different machines, get different copies. */
static void name_file(const struct page *page, struct page_file *file)
{
    const char *name = text_file_name(file->path);
    snprintf(file->name, sizeof file->name, "%s", name);
    for (const struct page_file *other = page->files; other < file; other++)
        if (strcmp(other->name, file->name) == 0)
            snprintf(file->name, sizeof file->name, "%s-%.200s", file->id, name);
}

static int load_files(struct page *page, struct error *error)
{
    const struct report_options *options = page->options;
    page->files = must_alloc(options->file_count * sizeof *page->files);
    for (size_t i = 0; i < options->file_count; i++) {
        struct page_file *file = &page->files[i];
        file->path = options->files[i];
        snprintf(file->id, sizeof file->id, "f%zu", i + 1);
        name_file(page, file);
        file->cases_most = 1 + (PAGE_CASES_MOST - 1) / options->file_count;
        TRY(result_open(file->path, &file->result, error));
        page->file_count++;
        const struct result *r = &file->result;
        if (!r->case_count && !r->experiment_count && (r->fits || r->advice))
            return error_set(error, ERR_USAGE,
                             "%s has %s alone, which no report shows: gamut print %s", file->path,
                             r->fits ? "fits" : "advice", file->path);
        file->result.answer = answer_of(&file->result, NULL, &file->result.derived);
    }
    return 0;
}

static int compare_files(struct page *page, struct error *error)
{
    const char *against = page->options->against;
    /* The defaults of `gamut compare`. */
    struct compare_options options = {.threshold = 0.02};
    struct result base;
    if (!against)
        return 0;
    TRY(result_open(against, &base, error));
    struct compare_file *candidates = must_alloc(page->file_count * sizeof *candidates);
    for (size_t i = 0; i < page->file_count; i++)
        candidates[i] = (struct compare_file){&page->files[i].result, page->files[i].name};
    options.gates = gates_default(options.threshold);
    int code = compare_results(&(struct compare_file){&base, text_file_name(against)}, candidates,
                               page->file_count, &options, &page->comparison, error);
    free(candidates);
    result_release(&base);
    return code;
}

static int copy_file(const struct page *page, const struct page_file *file, struct error *error)
{
    struct text text = {0}, path = {0};
    int code = text_read_file(&text, file->path, error);
    text_add(&path, "%s/data/%s", page->work, file->name);
    THEN(code, text_make_folders(path.data, error));
    THEN(code, text_write_file(&text, path.data, error));
    text_free(&text);
    text_free(&path);
    return code;
}

/* ---- the page ------------------------------------------------------------------------------- */

/* Adds the names of the devices, each once; of replays "gnn and 9 more traces". */
static void add_subject(struct text *out, const struct page_file *file)
{
    const struct result *result = &file->result;
    struct labels traces = {0};
    for (size_t i = 0; i < result->case_count && page_is_replay(file); i++)
        labels_add(&traces, result->cases[i].key.workload);
    if (traces.count)
        text_add(out, "%s", traces.name[0]);
    if (traces.count > 1)
        text_add(out, " and %zu more trace%s", traces.count - 1, traces.count > 2 ? "s" : "");
    labels_free(&traces);
    if (out->length)
        return;
    const struct record_device *devices = result->context.devices;
    for (size_t i = 0; i < result->context.device_count; i++) {
        bool known = false;
        for (size_t j = 0; j < i; j++)
            known |= strcmp(devices[j].name, devices[i].name) == 0;
        if (!known)
            text_add(out, "%s%s", out->length ? ", " : "", devices[i].name);
    }
}

static void print_header(const struct page *page, const char *title)
{
    bool only_replays = page->file_count > 0;
    for (size_t i = 0; i < page->file_count; i++)
        only_replays &= page_is_replay(&page->files[i]);
    const char *what = only_replays ? "Traces of applications, replayed under different memory "
                                      "strategies: memory and driver calls"
                                    : "GPU programs under different memory strategies: time, "
                                      "memory, driver calls";
    html_print(page->out, "<header><h1>%s</h1><p class=\"soft\">%s</p>\n</header>\n<main>\n", title,
               what);
}

static void print_file(const struct page *page, const struct page_file *file)
{
#define SECTION(name) section_##name,
    static void (*const sections[])(const struct page *,
                                    const struct page_file *) = {FILE_SECTION_LIST(SECTION)};
    struct text devices = {0};
    add_subject(&devices, file);
    html_print(page->out, "<div id=\"%s\">\n", file->id);
    if (page->file_count > 1)
        html_print(page->out, "<h2>%s<br/><small class=\"soft\">%s</small></h2>\n",
                   devices.data ? devices.data : "no device", file->name);
    text_free(&devices);
    for (size_t s = 0; s < sizeof sections / sizeof *sections; s++)
        sections[s](page, file);
    fputs("</div>\n", page->out);
}

/* Links to the sections, a line for each file. */
static void print_contents(const struct page *page, const struct page_contents *contents)
{
    const struct page_file *file = NULL;
    fputs("<nav aria-label=\"Contents\"><p>", page->out);
    for (size_t i = 0; i < contents->count; i++) {
        const struct page_heading *heading = &contents->headings[i];
        if (heading->file != file && page->file_count > 1)
            html_print(page->out, "</p><p><a href=\"#%s\"><strong>%s</strong></a> ",
                       heading->file->id, heading->file->name);
        file = heading->file;
        html_print(page->out, "<a href=\"#%s-%s\">%s</a> ", file ? file->id : "all", heading->id,
                   heading->title);
    }
    fputs("</p></nav>\n", page->out);
}

/* Prints the sections, and before them the contents, which the sections make. */
static void print_sections(struct page *page)
{
    FILE *out = page->out;
    struct page_contents contents = {0};
    char *sections;
    size_t length;
    page->contents = &contents;
    page->out = open_memstream(&sections, &length);
    section_comparison(page);
    section_machines(page, NULL);
    for (size_t i = 0; i < page->file_count; i++)
        print_file(page, &page->files[i]);
    fclose(page->out);
    page->out = out;
    if (contents.count)
        print_contents(page, &contents);
    fwrite(sections, 1, length, out);
    free(contents.headings);
    free(sections);
}

static void print_page(struct page *page)
{
    struct text title = {0};
    if (page->options->title)
        text_add(&title, "%s", page->options->title);
    else if (page->file_count)
        add_subject(&title, &page->files[0]);
    page_begin(page->out, title.data ? title.data : "gamut");
    print_header(page, title.data ? title.data : "gamut");
    fputs("<div class=\"front\">\n", page->out);
    section_banner(page);
    section_picture(page);
    fputs("</div>\n", page->out);
    print_sections(page);
    fputs(
        "</main>\n<footer>Made by <code>gamut report</code>. The page loads nothing but the charts "
        "in its own folder. Everything can be read without its script, which sorts and filters "
        "tables, and shows a case under a ratio.</footer>\n",
        page->out);
    page_end(page->out);
    text_free(&title);
}

static int write_page(struct page *page, struct error *error)
{
    struct text path = {0};
    int code = 0;
    text_add(&path, "%s/index.html", page->work);
    page->out = fopen(path.data, "w");
    if (!page->out)
        code = error_set(error, ERR_IO, "%s could not be made: %s", path.data, strerror(errno));
    else
        print_page(page);
    for (size_t i = 0; i < page->file_count && !code; i++)
        code = copy_file(page, &page->files[i], error);
    bool failed = page->out && ferror(page->out);
    if (page->out && (fclose(page->out) != 0 || failed) && !code)
        code = error_set(error, ERR_IO, "%s could not be written: %s", path.data, strerror(errno));
    text_free(&path);
    return code;
}

int report_make(const struct report_options *options, struct error *error)
{
    struct page page = {.options = options};
    struct text work = {0};
    int code = load_files(&page, error);
    THEN(code, compare_files(&page, error));
    THEN(code, report_folder_begin(options->out, options->force, &work, error));
    page.work = work.data;
    if (!code) {
        code = write_page(&page, error);
        THEN(code, report_folder_finish(work.data, options->out, error));
        if (code)
            report_folder_remove(work.data);
    }
    text_free(&work);
    json_decref(page.comparison);
    for (size_t i = 0; i < page.file_count; i++)
        result_release(&page.files[i].result);
    free(page.files);
    return code;
}
