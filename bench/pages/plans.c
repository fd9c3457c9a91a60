/* The section about merging: what each merge set of a result did, what it refused, and why. A file
 * keeps no decisions, so they are made again for the sizes of the datasets, without a device. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "results/show/matrix.h"
#include "results/facts/context.h"
#include "pages/sections.h"
#include "run/select/inputs.h"
#include "run/select/merging.h"
#include "run/select/select.h"

/* The time limit of `gamut run`: with another one the exact planner may choose otherwise. */
enum { SETS_MOST = 32, DEFAULT_TIME_LIMIT = 0 };

/* A program of the file that was run under merge sets. */
struct merged_program {
    const char *workload, *dataset;
    size_t set_count;
    const char *sets[SETS_MOST];
};

struct merged_programs {
    struct labels names; /* "workload\ndataset" */
    struct merged_program *programs;
};

static void add_set(struct merged_program *program, const char *set)
{
    for (size_t i = 0; i < program->set_count; i++)
        if (strcmp(program->sets[i], set) == 0)
            return;
    if (program->set_count < SETS_MOST)
        program->sets[program->set_count++] = set;
}

static struct merged_programs programs_of(const struct result *result)
{
    struct merged_programs all = {0};
    for (size_t i = 0; i < result->case_count; i++) {
        const struct result_case *one = &result->cases[i];
        struct merged_program program = {.workload = one->key.workload,
                                         .dataset = one->key.dataset};
        struct text name = {0};
        if (case_is_unmerged(one))
            continue;
        text_add(&name, "%s\n%s", program.workload, program.dataset);
        const size_t known = all.names.count, p = labels_add(&all.names, name.data);
        text_free(&name);
        if (p == known) {
            all.programs = must_realloc(all.programs, (known + 1) * sizeof program);
            all.programs[p] = program;
        }
        add_set(&all.programs[p], one->key.merge);
    }
    return all;
}

/* ---- a program ------------------------------------------------------------------------------ */

/* Prints the conditions that refused, "C3×4, R1×12", and marks them in `met`. */
static void print_refusals(FILE *out, const struct merge *merge, bool met[CONDITION_COUNT])
{
    size_t counts[CONDITION_COUNT] = {0};
    const char *before = "";
    for (unsigned i = 0; i < merge->event_count; i++)
        counts[merge->events[i].refused] += !merge->events[i].further;
    for (int c = MERGE_ALLOWED + 1; c < CONDITION_COUNT; c++)
        if (counts[c]) {
            html_print(out, "%s%s×%zu", before, merge_condition_label((enum merge_condition)c),
                       counts[c]);
            before = ", ";
            met[c] = true;
        }
    if (!*before)
        fputs("–", out);
}

static size_t count_done(const struct merge *merge, enum merge_action action)
{
    size_t count = 0;
    for (unsigned i = 0; i < merge->event_count; i++)
        count += merge->events[i].action == action && merge->events[i].refused == MERGE_ALLOWED;
    return count;
}

static void print_counts(FILE *out, const struct merge_report *report,
                         const struct merge_report_row *row)
{
    char size[32];
    size_t copies = 0, elided = 0;
    if (!report->counted) {
        fputs("<td>–</td><td>–</td><td>–</td>", out);
        return;
    }
    for (int k = 0; k < COPY_KINDS; k++) {
        copies += row->last_use.copy[k].count;
        elided += row->last_use.copy[k].elided_count;
    }
    html_print(out, "<td>%s</td><td>%zu</td><td>%zu</td>",
               text_bytes(size, row->last_use.peak_requested_bytes), copies, elided);
}

static void print_set(FILE *out, const struct merge_report *report, size_t i,
                      const struct merged_program *program, bool met[CONDITION_COUNT])
{
    const struct merge_report_row *row = &report->rows[i];
    fputs(i ? "<tr>" : "<tr class=\"first\">", out);
    html_print(out, "<th scope=\"row\">%s %s</th><td>%s</td><td>%zu</td>",
               i ? "" : program->workload, i ? "" : program->dataset, row->set,
               (size_t)row->block_count);
    print_counts(out, report, row);
    static const enum merge_action actions[] = {MERGE_HOISTED, MERGE_COALESCED, MERGE_REUSED,
                                                MERGE_PACKED, MERGE_MOVED};
    for (size_t a = 0; a < sizeof actions / sizeof *actions; a++)
        html_print(out, "<td>%zu</td>", count_done(row->merge, actions[a]));
    fputs("<td class=\"w\">", out);
    print_refusals(out, row->merge, met);
    fputs("</td></tr>\n", out);
}

/* Prints the rows of a program. ERR_NOT_FOUND if this build does not have it. */
static int plan_program(FILE *out, const struct catalogue *catalogue,
                        const struct merged_program *program, bool met[CONDITION_COUNT],
                        struct error *error)
{
    const struct entry *entry = select_entry(catalogue, program->workload);
    const struct dataset *dataset = entry ? select_dataset(entry, program->dataset) : NULL;
    struct inputs inputs;
    struct merge_report report;
    if (!dataset)
        return error_set(error, ERR_NOT_FOUND, "it is not built in: gamut plan FILE.mem -m %s",
                         program->sets[0]);
    TRY(inputs_make_scalars(entry, dataset, &inputs, error));
    const char *sets[SETS_MOST + 1] = {"none"};
    memcpy(sets + 1, program->sets, program->set_count * sizeof *sets);
    int code = merge_report_make(entry->fun, &inputs.arguments, sets, program->set_count + 1,
                                 RELEASE_LAST_USE, DEFAULT_TIME_LIMIT, &report, error);
    if (!code) {
        for (size_t i = 0; i < report.row_count; i++)
            print_set(out, &report, i, program, met);
        merge_report_free(&report);
    }
    inputs_free(&inputs);
    return code;
}

static void print_programs(FILE *out, const struct catalogue *catalogue,
                           const struct merged_programs *all, bool met[CONDITION_COUNT])
{
    static const struct text_grid_column columns[] = {{.title = "program"},
                                                      {.title = "merge set"},
                                                      {.title = "blocks", .kind = GRID_NUMBER},
                                                      {.title = "peak", .kind = GRID_NUMBER},
                                                      {.title = "copies", .kind = GRID_NUMBER},
                                                      {.title = "elided", .kind = GRID_NUMBER},
                                                      {.title = "hoisted", .kind = GRID_NUMBER},
                                                      {.title = "coalesced", .kind = GRID_NUMBER},
                                                      {.title = "reused", .kind = GRID_NUMBER},
                                                      {.title = "packed", .kind = GRID_NUMBER},
                                                      {.title = "moved", .kind = GRID_NUMBER},
                                                      {.title = "refused"}};
    page_table(out, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < all->names.count; i++) {
        struct error error = {0};
        if (plan_program(out, catalogue, &all->programs[i], met, &error))
            html_print(out,
                       "<tr class=\"first\"><th scope=\"row\">%s %s</th><td colspan=\"11\" "
                       "class=\"soft\">%s</td></tr>\n",
                       all->programs[i].workload, all->programs[i].dataset, error.text);
    }
    page_table_end(out);
}

static void explain_refusals(FILE *out, const bool met[CONDITION_COUNT])
{
    bool any = false;
    for (int c = MERGE_ALLOWED + 1; c < CONDITION_COUNT; c++)
        any |= met[c];
    if (!any)
        return;
    fputs("<details open=\"open\"><summary>Why merging was refused</summary><dl>\n", out);
    for (int c = MERGE_ALLOWED + 1; c < CONDITION_COUNT; c++)
        if (met[c])
            html_print(out, "<dt>%s</dt><dd>%s</dd>\n",
                       merge_condition_label((enum merge_condition)c),
                       merge_condition_sentence((enum merge_condition)c));
    fputs("</dl></details>\n", out);
}

/* Another build may have made the file, and its passes may have decided otherwise. */
static void print_origin(FILE *out, const struct record_tool *theirs)
{
    const struct record_tool ours = context_tool();
    const char *rev = ours.git_rev ? ours.git_rev : "", *was = theirs->git_rev;
    if (strcmp(rev, was ? was : "") != 0 || ours.git_dirty > 0)
        html_print(out,
                   "<p class=\"about\">A result file keeps no decisions. Revision %s%s made these "
                   "again; revision %s made the runs.</p>\n",
                   rev, ours.git_dirty > 0 ? " with changes" : "", was ? was : "");
}

void section_plans(const struct page *page, const struct page_file *file)
{
    struct merged_programs all = programs_of(&file->result);
    struct catalogue catalogue = {0};
    struct error error = {0};
    bool met[CONDITION_COUNT] = {false};
    if (!all.names.count)
        return;
    page_section(
        page, file, "plans", "What merging decided",
        "A row is a program under a merge set: the allocations in its text, the most bytes that a "
        "run asks for at once if blocks are freed at their last use, and the copies that are made "
        "and left out. Then what the passes did, and how often they refused to merge, by reason. A "
        "– stands for what only a run can know. gamut plan PROGRAM -m SET names every decision.");
    print_origin(page->out, &file->result.context.tool);
    if (catalogue_open(&catalogue, &error)) {
        html_print(page->out, "<p class=\"bad\">%s</p>\n", error.text);
    } else {
        print_programs(page->out, &catalogue, &all, met);
        explain_refusals(page->out, met);
    }
    catalogue_close(&catalogue);
    free(all.programs);
    labels_free(&all.names);
    fputs("</section>\n", page->out);
}
