#include "pages/view_cases.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/terminal.h"
#include "base/tree.h"
#include "results/file/measured.h"
#include "replay/cases.h"
#include "run/select/program_trace.h"

/* ---- choosing -------------------------------------------------------------------------------- */

static bool is_chosen(const struct case_choice *choice, const struct result_case *one)
{
    bool has_id = choice->id_count == 0;
    for (size_t i = 0; i < choice->id_count; i++)
        has_id |= strcmp(choice->ids[i], one->id) == 0;
    return has_id && text_is_listed(choice->workloads, one->key.workload) &&
           text_is_listed(choice->datasets, one->key.dataset) &&
           text_is_listed(choice->merges, one->key.merge) &&
           text_is_listed(choice->releases, one->key.release) &&
           text_is_listed(choice->devices, one->key.device);
}

const char *viewed_case_flags(struct arena *arena, const struct result_case *one)
{
    const struct case_key *key = &one->key;
    return arena_printf(arena, "-w %s -d %s -m %s --release %s -D %s", key->workload, key->dataset,
                        key->merge, key->release, key->device);
}

/* Lists the programs of the chosen cases, or of all if `only_chosen` is false, each once, in the
 * words that choose it. */
static size_t list_programs(struct arena *arena, const struct result *result,
                            const struct case_choice *choice, bool only_chosen, struct text *list)
{
    enum { LISTED = 6 };
    size_t count = 0;
    json_t *seen = tree_object();
    for (size_t i = 0; i < result->case_count; i++) {
        const char *flags = viewed_case_flags(arena, &result->cases[i]);
        if (json_object_get(seen, flags) || (only_chosen && !is_chosen(choice, &result->cases[i])))
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

/* Keeps the cases of one program: the first that the file has of them, or the second. */
static void keep_program(struct viewed_cases *cases, bool second)
{
    const struct result_case **all = cases->chosen;
    const char *first = viewed_case_flags(&cases->arena, all[0]);
    size_t kept = 0;
    for (size_t i = 0; i < cases->count; i++)
        if ((strcmp(viewed_case_flags(&cases->arena, all[i]), first) != 0) == second)
            all[kept++] = all[i];
    cases->count = kept;
}

/* Sets the chosen cases, all of one program. */
static int choose(const struct result *result, const char *path, const struct case_choice *choice,
                  struct viewed_cases *cases, struct error *error)
{
    struct text list = {0};
    int code = 0;
    cases->chosen = arena_alloc(&cases->arena, (result->case_count + 1) * sizeof *cases->chosen);
    for (size_t i = 0; i < result->case_count; i++)
        if (is_chosen(choice, &result->cases[i]))
            cases->chosen[cases->count++] = &result->cases[i];
    const bool is_none = cases->count == 0;
    const size_t programs = list_programs(&cases->arena, result, choice, !is_none, &list);
    if (result->case_count == 0)
        code = error_set(error, ERR_USAGE, "%s: the file has no cases", path);
    else if (is_none)
        code = error_set(error, ERR_USAGE, "%s: the file has no such case; it has:%s", path,
                         list.data);
    else if (programs > 2)
        code = error_set(error, ERR_USAGE,
                         "%s: these are cases of %zu programs, and a page shows one or two; choose "
                         "them by ids or by flags:%s",
                         path, programs, list.data);
    else
        keep_program(cases, choice->second);
    cases->has_second = programs == 2;
    text_free(&list);
    return code;
}

/* Takes the strategies of the cases that are ok. */
static int take_strategies(FILE *notes, struct viewed_cases *cases, struct error *error)
{
    cases->strategies.items =
        arena_alloc(&cases->arena, cases->count * sizeof *cases->strategies.items);
    for (size_t i = 0; i < cases->count; i++) {
        const struct result_case *one = cases->chosen[i];
        if (one->status == CASE_ok)
            cases->strategies.items[cases->strategies.count++] = one->key.strategy;
        else if (notes)
            terminal_print(notes, "gamut: %s is left out: in the file it is %s: %s\n",
                           one->key.strategy, case_status_name(one->status),
                           one->reason ? one->reason : "");
    }
    return cases->strategies.count
               ? 0
               : error_set(error, ERR_USAGE,
                           "no case is ok, and of what a run did that failed the file has nothing");
}

static const struct result_case *first_ok(const struct viewed_cases *cases)
{
    size_t i = 0;
    while (cases->chosen[i]->status != CASE_ok)
        i++;
    return cases->chosen[i];
}

/* ---- the program ----------------------------------------------------------------------------- */

static int refuse(const struct case_key *key, struct error *error)
{
    const char *workload = key->workload, *dataset = key->dataset;
    if (strcmp(dataset, REPLAY_DATASET) == 0 || strcmp(dataset, REPLAY_NO_GAPS) == 0)
        return error_set(error, ERR_USAGE,
                         "the cases are replays of the trace %s, and a page is made of the trace "
                         "itself: gamut view %s" TRACE_SUFFIX " -s %s",
                         workload, workload, key->strategy);
    if (*key->residency)
        return error_set(error, ERR_UNSUPPORTED,
                         "%s ran on a group of devices, and a page shows the memory of one",
                         workload);
    return 0;
}

/* Finds the program, and checks by its digest that it is that of the case. */
static int find_program(const struct result *result, const struct result_case *one,
                        struct catalogue *catalogue, struct selection *selection,
                        struct program_run *run, struct error *error)
{
    const char *workload = one->key.workload, *dataset = one->key.dataset;
    const char *was = one->program_digest;
    char is[17];
    TRY(catalogue_open(catalogue, error));
    run->entry = select_entry(catalogue, workload);
    if (!run->entry) {
        TRY(select_files_of_run(result->run.options, catalogue, selection, error));
        TRY(select_workload(catalogue, workload, &run->entry, error));
    }
    run->dataset = select_dataset(run->entry, dataset);
    if (!run->dataset)
        return error_set(error, ERR_UNSUPPORTED, "%s has no dataset %s", workload, dataset);
    snprintf(is, sizeof is, "%016" PRIx64, program_digest(run->entry->fun));
    return !was || strcmp(is, was) == 0
               ? 0
               : error_set(error, ERR_UNSUPPORTED,
                           "%s is another program than in the file: its digest is %s, and was %s",
                           workload, is, was);
}

/* Are the counts of the run those of the case? */
static int check_counts(const struct result_case *one, const struct dry_run *counts,
                        struct error *error)
{
    const struct {
        const char *name;
        uint64_t is;
    } facts[] = {{"peak_requested_bytes", counts->peak_requested_bytes},
                 {"live_lower_bound_bytes", counts->live_lower_bound_bytes},
                 {"alloc_count", counts->alloc_count},
                 {"free_count", counts->free_count}};
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        const double was = counter_value(measured_cold(one), facts[i].name);
        if (!isnan(was) && was != (double)facts[i].is)
            return error_set(error, ERR_UNSUPPORTED,
                             "%s asks for other memory than in the file: %s is %" PRIu64
                             ", and was %.0f",
                             one->key.workload, facts[i].name, facts[i].is, was);
    }
    return 0;
}

static int run_again(const struct result *result, const struct result_case *one, bool may_run,
                     const char *trace, struct error *error)
{
    const struct record_device *device = result_device(result, one->key.device);
    struct program_run run = {.merge = one->key.merge,
                              .policy = strcmp(one->key.release, "scope") == 0 ? RELEASE_SCOPE
                                                                               : RELEASE_LAST_USE,
                              .seed = result->run.seed,
                              .may_run = may_run,
                              .alignment_bytes = device ? device->alignment_bytes : 0};
    struct trace_info info = {.source = "A program run without a device"};
    struct catalogue catalogue = {0};
    struct selection selection = {0};
    struct dry_run counts;
    snprintf(info.application, sizeof info.application, "%.60s %.30s", one->key.workload,
             one->key.dataset);
    int code = find_program(result, one, &catalogue, &selection, &run, error);
    THEN(code, program_trace(&run, &info, trace, &counts, error));
    THEN(code, check_counts(one, &counts, error));
    select_free(&selection);
    catalogue_close(&catalogue);
    return code;
}

/* ---- what is said of it ---------------------------------------------------------------------- */

static const char *about(struct arena *arena, const char *path, const struct result *result,
                         const struct case_key *key)
{
    const struct record_device *device = result_device(result, key->device);
    const char *name = device ? device->name : "";
    return arena_printf(
        arena,
        "The program is that of the cases %s %s in %s, with the merge set %s and the release "
        "policy %s, which were measured on %s%s%s%s. The program was run again without a device, "
        "and it made as many requests, with as many bytes at the peak, as in the file. Addresses "
        "and reserved bytes are what each allocator does with these requests on a device like an "
        "NVIDIA GPU, without commands and without a limit. “Measured” is what the file says that "
        "the allocator reserved at most.",
        key->workload, key->dataset, text_file_name(path), key->merge, key->release, key->device,
        *name ? " (" : "", name, *name ? ")" : "");
}

int view_cases(const struct result *result, const char *path, const struct case_choice *choice,
               const char *trace, struct viewed_cases *cases, struct error *error)
{
    *cases = (struct viewed_cases){0};
    TRY(choose(result, path, choice, cases, error));
    TRY(refuse(&cases->chosen[0]->key, error));
    TRY(take_strategies(choice->notes, cases, error));
    const struct result_case *one = first_ok(cases);
    TRY(run_again(result, one, choice->may_run, trace, error));
    cases->name = arena_printf(&cases->arena, "%s %s", one->key.workload, one->key.dataset);
    cases->about = about(&cases->arena, path, result, &one->key);
    return 0;
}

uint64_t viewed_cases_reserved(const struct viewed_cases *cases, const char *strategy)
{
    for (size_t i = 0; i < cases->count; i++) {
        const struct result_case *one = cases->chosen[i];
        const double bytes = counter_value(measured_cold(one), "peak_reserved_bytes");
        if (one->status == CASE_ok && strcmp(one->key.strategy, strategy) == 0)
            return bytes > 0 ? (uint64_t)bytes : 0;
    }
    return 0;
}

void viewed_cases_free(struct viewed_cases *cases)
{
    arena_free(&cases->arena);
    *cases = (struct viewed_cases){0};
}
