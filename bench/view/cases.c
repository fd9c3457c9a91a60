#include "view/cases.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/terminal.h"
#include "base/tree.h"
#include "record/result/case_tree.h"
#include "run/replay/cases.h"
#include "run/select/program_trace.h"

/* ---- choosing -------------------------------------------------------------------------------- */

static const char *member(const json_t *one_case, const char *name)
{
    return tree_get_text(json_object_get(one_case, "key"), name);
}

static bool has_id(const struct case_choice *choice, const char *id)
{
    bool has = choice->id_count == 0;
    for (size_t i = 0; i < choice->id_count; i++)
        has |= strcmp(choice->ids[i], id) == 0;
    return has;
}

static bool is_chosen(const struct case_choice *choice, const json_t *one_case)
{
    return text_is_listed(choice->workloads, member(one_case, "workload")) &&
           text_is_listed(choice->datasets, member(one_case, "dataset")) &&
           text_is_listed(choice->merges, member(one_case, "merge")) &&
           text_is_listed(choice->releases, member(one_case, "release")) &&
           text_is_listed(choice->devices, member(one_case, "device")) &&
           has_id(choice, tree_get_text(one_case, "id"));
}

const char *viewed_case_flags(struct arena *arena, const json_t *one_case)
{
    return arena_printf(arena, "-w %s -d %s -m %s --release %s -D %s", member(one_case, "workload"),
                        member(one_case, "dataset"), member(one_case, "merge"),
                        member(one_case, "release"), member(one_case, "device"));
}

/* Lists the programs of these cases, each once, in the words that choose it. */
static size_t list_programs(struct arena *arena, const json_t *cases, struct text *list)
{
    enum { LISTED = 6 };
    const json_t *one_case;
    size_t i, count = 0;
    json_t *seen = tree_object();
    json_array_foreach((json_t *)cases, i, one_case)
    {
        const char *flags = viewed_case_flags(arena, one_case);
        if (json_object_get(seen, flags))
            continue;
        tree_put(seen, flags, json_true());
        if (count++ < LISTED)
            text_add(list, "\n  %s", flags);
    }
    if (count > LISTED)
        text_add(list, "\n  and %zu more", count - LISTED);
    json_decref(seen);
    return count;
}

/* The chosen cases, all of one program; the caller owns them. */
static int choose(const json_t *root, const char *path, const struct case_choice *choice,
                  struct arena *arena, json_t **chosen, struct error *error)
{
    const json_t *all = json_object_get(root, "cases"), *one_case;
    struct text list = {0};
    size_t i;
    int code = 0;
    *chosen = tree_array();
    json_array_foreach((json_t *)all, i, one_case)
    {
        if (is_chosen(choice, one_case))
            tree_append(*chosen, json_incref((json_t *)one_case));
    }
    const bool is_none = json_array_size(*chosen) == 0;
    const size_t programs = list_programs(arena, is_none ? all : *chosen, &list);
    if (json_array_size(all) == 0)
        code = error_set(error, ERR_USAGE, "%s: the file has no cases", path);
    else if (is_none)
        code = error_set(error, ERR_USAGE, "%s: the file has no such case; it has:%s", path,
                         list.data);
    else if (programs > 1)
        code = error_set(error, ERR_USAGE,
                         "%s: these are cases of %zu programs, and a page shows one; choose it "
                         "by an id or by flags:%s",
                         path, programs, list.data);
    text_free(&list);
    return code;
}

/* Takes the strategies of the cases that are ok. */
static int take_strategies(json_t *chosen, FILE *notes, struct viewed_cases *cases,
                           struct error *error)
{
    const size_t count = json_array_size(chosen);
    const json_t *one_case;
    size_t i;
    cases->strategies.items = arena_alloc(&cases->arena, count * sizeof *cases->strategies.items);
    json_array_foreach(chosen, i, one_case)
    {
        const char *strategy = member(one_case, "strategy");
        if (case_is_ok(one_case))
            cases->strategies.items[cases->strategies.count++] = strategy;
        else if (notes)
            terminal_print(notes, "gamut: %s is left out: in the file it is %s: %s\n", strategy,
                           tree_get_text(one_case, "status"), tree_get_text(one_case, "reason"));
    }
    return cases->strategies.count
               ? 0
               : error_set(error, ERR_USAGE,
                           "no case is ok, and of what a run did that failed the file has nothing");
}

static const json_t *first_ok(const json_t *chosen)
{
    size_t i = 0;
    while (!case_is_ok(json_array_get(chosen, i)))
        i++;
    return json_array_get(chosen, i);
}

/* ---- the program ----------------------------------------------------------------------------- */

static int refuse(const json_t *one_case, struct error *error)
{
    const char *workload = member(one_case, "workload"), *dataset = member(one_case, "dataset");
    if (strcmp(dataset, REPLAY_DATASET) == 0 || strcmp(dataset, REPLAY_NO_GAPS) == 0)
        return error_set(error, ERR_USAGE,
                         "the cases are replays of the trace %s, and a page is made of the trace "
                         "itself: gamut view %s" TRACE_SUFFIX " -s %s",
                         workload, workload, member(one_case, "strategy"));
    if (*member(one_case, "residency"))
        return error_set(error, ERR_UNSUPPORTED,
                         "%s ran on a group of devices, and a page shows the memory of one",
                         workload);
    return 0;
}

/* Finds the program, and checks by its digest that it is that of the case. */
static int find_program(const json_t *root, const json_t *one_case, struct catalogue *catalogue,
                        struct selection *selection, struct program_run *run, struct error *error)
{
    const char *workload = member(one_case, "workload"), *dataset = member(one_case, "dataset");
    const char *was = tree_get_text(one_case, "program_digest");
    char is[17];
    TRY(catalogue_open(catalogue, error));
    run->entry = select_entry(catalogue, workload);
    if (!run->entry) {
        TRY(select_files_of_run(root, catalogue, selection, error));
        TRY(select_workload(catalogue, workload, &run->entry, error));
    }
    run->dataset = select_dataset(run->entry, dataset);
    if (!run->dataset)
        return error_set(error, ERR_UNSUPPORTED, "%s has no dataset %s", workload, dataset);
    snprintf(is, sizeof is, "%016" PRIx64, program_digest(run->entry->fun));
    return !*was || strcmp(is, was) == 0
               ? 0
               : error_set(error, ERR_UNSUPPORTED,
                           "%s is another program than in the file: its digest is %s, and was %s",
                           workload, is, was);
}

/* Are the counts of the run those of the case? */
static int check_counts(const json_t *one_case, const struct dry_run *counts, struct error *error)
{
    const struct {
        const char *name;
        uint64_t is;
    } facts[] = {{"peak_requested_bytes", counts->peak_requested_bytes},
                 {"live_lower_bound_bytes", counts->live_lower_bound_bytes},
                 {"alloc_count", counts->alloc_count},
                 {"free_count", counts->free_count}};
    const json_t *cold = json_object_get(json_object_get(one_case, "counters"), "cold");
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        const double was = tree_get_number(cold, facts[i].name);
        if (!isnan(was) && was != (double)facts[i].is)
            return error_set(error, ERR_UNSUPPORTED,
                             "%s asks for other memory than in the file: %s is %" PRIu64
                             ", and was %.0f",
                             member(one_case, "workload"), facts[i].name, facts[i].is, was);
    }
    return 0;
}

static int run_again(const json_t *root, const json_t *one_case, bool may_run, const char *trace,
                     struct error *error)
{
    const json_t *device = case_device(root, member(one_case, "device"));
    const double alignment = tree_get_number(device, "alignment_bytes");
    struct program_run run = {
        .merge = member(one_case, "merge"),
        .policy =
            strcmp(member(one_case, "release"), "scope") == 0 ? RELEASE_SCOPE : RELEASE_LAST_USE,
        .seed = (uint64_t)json_integer_value(json_object_get(json_object_get(root, "run"), "seed")),
        .may_run = may_run,
        .alignment_bytes = alignment > 0 ? (uint64_t)alignment : 0};
    struct trace_info info = {.source = "A program run without a device"};
    struct catalogue catalogue = {0};
    struct selection selection = {0};
    struct dry_run counts;
    snprintf(info.application, sizeof info.application, "%.60s %.30s", member(one_case, "workload"),
             member(one_case, "dataset"));
    int code = find_program(root, one_case, &catalogue, &selection, &run, error);
    if (!code)
        code = program_trace(&run, &info, trace, &counts, error);
    if (!code)
        code = check_counts(one_case, &counts, error);
    select_free(&selection);
    catalogue_close(&catalogue);
    return code;
}

/* ---- what is said of it ---------------------------------------------------------------------- */

static const char *about(struct arena *arena, const char *path, const json_t *root,
                         const json_t *one_case)
{
    const char *id = member(one_case, "device"), *slash = strrchr(path, '/');
    const char *name = tree_get_text(case_device(root, id), "name");
    return arena_printf(
        arena,
        "The program is that of the cases %s %s in %s, with the merge set %s and the release "
        "policy %s, which were measured on %s%s%s%s. The program was run again without a device, "
        "and it made as many requests, with as many bytes at the peak, as in the file. Addresses "
        "and reserved bytes are what each allocator does with these requests on a device like an "
        "NVIDIA GPU, without commands and without a limit. “Measured” is what the file says that "
        "the allocator reserved at most.",
        member(one_case, "workload"), member(one_case, "dataset"), slash ? slash + 1 : path,
        member(one_case, "merge"), member(one_case, "release"), id, *name ? " (" : "", name,
        *name ? ")" : "");
}

int view_cases(const json_t *root, const char *path, const struct case_choice *choice,
               const char *trace, struct viewed_cases *cases, struct error *error)
{
    *cases = (struct viewed_cases){0};
    TRY(choose(root, path, choice, &cases->arena, &cases->chosen, error));
    TRY(refuse(json_array_get(cases->chosen, 0), error));
    TRY(take_strategies(cases->chosen, choice->notes, cases, error));
    const json_t *one_case = first_ok(cases->chosen);
    TRY(run_again(root, one_case, choice->may_run, trace, error));
    cases->name = arena_printf(&cases->arena, "%s %s", member(one_case, "workload"),
                               member(one_case, "dataset"));
    cases->about = about(&cases->arena, path, root, one_case);
    return 0;
}

uint64_t viewed_cases_reserved(const struct viewed_cases *cases, const char *strategy)
{
    const json_t *one_case;
    size_t i;
    json_array_foreach(cases->chosen, i, one_case)
    {
        const json_t *cold = json_object_get(json_object_get(one_case, "counters"), "cold");
        const double bytes = tree_get_number(cold, "peak_reserved_bytes");
        if (case_is_ok(one_case) && strcmp(member(one_case, "strategy"), strategy) == 0)
            return bytes > 0 ? (uint64_t)bytes : 0;
    }
    return 0;
}

void viewed_cases_free(struct viewed_cases *cases)
{
    json_decref(cases->chosen);
    arena_free(&cases->arena);
    *cases = (struct viewed_cases){0};
}
