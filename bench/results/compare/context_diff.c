/* The differences of two results, and the cases that can be compared nevertheless.
 *
 * A comparison holds constant: program and data, an experiment's options, the device, and for times
 * the machine. It compares builds, strategies and merge sets, so revisions may differ.
 */
#include <stdio.h>
#include <string.h>

#include "base/tree.h"
#include "results/compare/comparer.h"
#include "results/file/experiment_result.h"

/* ---- which facts matter --------------------------------------------------------------------- */

static const char *const matters_names[] = {
    [MATTERS_NOTHING] = "nothing", [MATTERS_TIMES] = "times", [MATTERS_EVERYTHING] = "everything"};

/* The things that can have a fact. */
enum owner { OF_CASE, OF_DEVICE, OF_SETTINGS, OF_HOST, OF_TOOL };

/* Every fact that a result file has about what was run, where and by what. A difference in a fact
 * that matters for
 *
 *   everything   drops the cases that it is about: their requests are not the same
 *   times        leaves their times out; their counters are compared
 *   nothing      is noted
 *
 * A fact that one of the files lacks is no difference. */
static const struct fact {
    enum owner owner;
    const char *member;
    enum matters matters;
    const char *words; /* what a dropped case has; NULL: its row names the fact */
} facts[] = {
    {OF_CASE, "program_digest", MATTERS_EVERYTHING, "another program"},
    {OF_CASE, "inputs_digest", MATTERS_EVERYTHING, "other data"},
    {OF_CASE, "traffic_bytes", MATTERS_EVERYTHING, "other traffic"},

    /* Strategies round sizes to the alignment, and cut blocks only where the device can. */
    {OF_DEVICE, "backend", MATTERS_EVERYTHING, NULL},
    {OF_DEVICE, "alignment_bytes", MATTERS_EVERYTHING, NULL},
    {OF_DEVICE, "can_split", MATTERS_EVERYTHING, NULL},
    {OF_DEVICE, "name", MATTERS_TIMES, NULL},
    {OF_DEVICE, "arch", MATTERS_TIMES, NULL},
    {OF_DEVICE, "driver", MATTERS_TIMES, NULL},
    {OF_DEVICE, "platform", MATTERS_TIMES, NULL}, /* of the host: its number of threads */
    {OF_DEVICE, "compute_units", MATTERS_TIMES, NULL},
    {OF_DEVICE, "max_group_items", MATTERS_TIMES, NULL},
    {OF_DEVICE, "l2_bytes", MATTERS_TIMES, NULL},
    /* Sizes of memory are what the kernel or the driver leaves: PoCL's follow the free memory of
     * the host. The rate of a copy is measured by each run. The rest follows from the name. */
    {OF_DEVICE, "memory_bytes", MATTERS_NOTHING, NULL},
    {OF_DEVICE, "memory_free_start_bytes", MATTERS_NOTHING, NULL},
    {OF_DEVICE, "max_alloc_bytes", MATTERS_NOTHING, NULL},
    {OF_DEVICE, "copy_bytes_per_second", MATTERS_NOTHING, NULL},
    {OF_DEVICE, "kind", MATTERS_NOTHING, NULL},
    {OF_DEVICE, "has_f64", MATTERS_NOTHING, NULL},

    /* An administrator sets these. Defaults and the persistence of the driver change no clock. */
    {OF_SETTINGS, "ecc", MATTERS_TIMES, NULL},
    {OF_SETTINGS, "mig", MATTERS_TIMES, NULL},
    {OF_SETTINGS, "power_limit_mw", MATTERS_TIMES, NULL},
    {OF_SETTINGS, "sm_application_mhz", MATTERS_TIMES, NULL},
    {OF_SETTINGS, "sm_most_mhz", MATTERS_TIMES, NULL},
    {OF_SETTINGS, "memory_most_mhz", MATTERS_TIMES, NULL},
    {OF_SETTINGS, "persistence", MATTERS_NOTHING, NULL},
    {OF_SETTINGS, "power_limit_default_mw", MATTERS_NOTHING, NULL},
    {OF_SETTINGS, "sm_application_default_mhz", MATTERS_NOTHING, NULL},

    {OF_HOST, "machine_id", MATTERS_TIMES, NULL}, /* but see is_same_machine */
    {OF_HOST, "cpu", MATTERS_TIMES, NULL},
    {OF_HOST, "arch", MATTERS_TIMES, NULL},
    {OF_HOST, "cpus", MATTERS_TIMES, NULL},
    {OF_HOST, "usable_cpus", MATTERS_TIMES, NULL},
    {OF_HOST, "cpu_quota", MATTERS_TIMES, NULL},
    {OF_HOST, "governor", MATTERS_TIMES, NULL},
    {OF_HOST, "turbo", MATTERS_TIMES, NULL},
    {OF_HOST, "clocksource", MATTERS_TIMES, NULL},
    /* An update of the system may be what is compared; memory and load vary from run to run. */
    {OF_HOST, "os", MATTERS_NOTHING, NULL},
    {OF_HOST, "kernel", MATTERS_NOTHING, NULL},
    {OF_HOST, "memory_bytes", MATTERS_NOTHING, NULL},
    {OF_HOST, "memory_available_bytes", MATTERS_NOTHING, NULL},
    {OF_HOST, "memory_limit_bytes", MATTERS_NOTHING, NULL},
    {OF_HOST, "load1", MATTERS_NOTHING, NULL},

    /* Debug builds check after every operation. Revisions are what is compared. */
    {OF_TOOL, "build", MATTERS_TIMES, NULL},
    {OF_TOOL, "compiler", MATTERS_NOTHING, NULL},
    {OF_TOOL, "cflags", MATTERS_NOTHING, NULL},
    {OF_TOOL, "version", MATTERS_NOTHING, NULL},
};
enum { FACTS = sizeof facts / sizeof *facts };

/* From this factor on, another size of the device's memory is worth a sentence. */
static const double memory_factor = 2;

/* ---- the differences ------------------------------------------------------------------------ */

struct differ {
    struct comparer *c;
    json_t *all; /* the differences, each once; NULL: only the scope is asked for */
};

static void widen(struct scope *scope, enum matters matters, const char *reason)
{
    if (matters > scope->matters)
        *scope = (struct scope){matters, reason};
}

static void add_difference(const struct differ *d, const char *subject, const json_t *base,
                           const json_t *candidate, enum matters matters)
{
    if (!d->all)
        return;
    tree_append(d->all, tree_pack("{s:o, s:o, s:O?, s:O?, s:s}", "file", tree_count(d->c->file),
                                  "subject", tree_text(subject), "base", base, "new", candidate,
                                  "matters", matters_names[matters]));
}

/* The fact of an owner, as the table of its fields has it; NULL if there is none. */
static json_t *fact_of(const struct fact *fact, const void *owner)
{
    static const struct json_struct *const owners[] = {[OF_CASE] = &result_case_struct,
                                                       [OF_DEVICE] = &record_device_struct,
                                                       [OF_HOST] = &record_host_struct,
                                                       [OF_TOOL] = &record_tool_struct};
    if (!owner)
        return NULL;
    return fact->owner == OF_SETTINGS
               ? json_incref(json_object_get(owner, fact->member))
               : json_field_value(owners[fact->owner]->fields, fact->member, owner);
}

/* Compares the facts of one owner that both files have. `subject` names the owner. */
static struct scope compare_facts(const struct differ *d, const char *subject, enum owner owner,
                                  const void *base, const void *candidate)
{
    struct scope scope = {0};
    for (size_t i = 0; i < FACTS; i++) {
        if (facts[i].owner != owner)
            continue;
        json_t *a = fact_of(&facts[i], base), *b = fact_of(&facts[i], candidate);
        if (a && b && !json_is_null(a) && !json_is_null(b) && !json_equal(a, b)) {
            char name[256];
            snprintf(name, sizeof name, "%s %s", subject, facts[i].member);
            widen(&scope, facts[i].matters,
                  facts[i].words ? facts[i].words : arena_printf(&d->c->arena, "%s differs", name));
            add_difference(d, name, a, b, facts[i].matters);
        }
        json_decref(a);
        json_decref(b);
    }
    return scope;
}

/* ---- the machine ---------------------------------------------------------------------------- */

static void note_memory(struct comparer *c, const char *id, const struct record_device *base,
                        const struct record_device *candidate)
{
    const double ratio = base && candidate && base->memory_bytes && candidate->memory_bytes
                             ? (double)candidate->memory_bytes / (double)base->memory_bytes
                             : 1;
    if (ratio >= memory_factor || ratio <= 1 / memory_factor)
        compare_note(c,
                     "device %s has %.2g times the memory of the base's: what runs out of memory "
                     "on one of them may not on the other",
                     id, ratio);
}

/* The devices of the cases and experiments that both have, as an object's keys. */
static json_t *devices_in_common(const struct result *base, const struct result *candidate,
                                 const json_t *base_index)
{
    json_t *devices = tree_object();
    for (size_t i = 0; i < candidate->experiment_count; i++) {
        const struct result_experiment *each = &candidate->experiments[i];
        if (result_experiment_of(base, each->name, each->device))
            tree_put(devices, each->device, json_true());
    }
    for (size_t i = 0; i < candidate->case_count; i++) {
        const struct result_case *one = &candidate->cases[i];
        if (json_object_get(base_index, one->id) && !json_object_get(devices, one->key.device))
            tree_put(devices, one->key.device, json_true());
    }
    return devices;
}

static void compare_devices(const struct differ *d, const struct result *base_result,
                            const struct result *candidate_result, const json_t *base_index)
{
    struct comparer *c = d->c;
    json_t *devices = devices_in_common(base_result, candidate_result, base_index), *ignored;
    const char *id;
    c->device_scopes = arena_alloc(&c->arena, json_object_size(devices) * sizeof *c->device_scopes);
    c->device_count = 0;
    json_object_foreach(devices, id, ignored)
    {
        const struct record_device *base = result_device(base_result, id);
        const struct record_device *candidate = result_device(candidate_result, id);
        struct device_scope *own = &c->device_scopes[c->device_count++];
        char subject[128];
        own->device = arena_copy(&c->arena, id, strlen(id));
        snprintf(subject, sizeof subject, "device %s", id);
        own->scope = compare_facts(d, subject, OF_DEVICE, base, candidate);
        snprintf(subject, sizeof subject, "settings of %s", id);
        const struct scope settings =
            compare_facts(d, subject, OF_SETTINGS, base ? base->settings : NULL,
                          candidate ? candidate->settings : NULL);
        widen(&own->scope, settings.matters, settings.reason);
        note_memory(c, id, base, candidate);
    }
    json_decref(devices);
}

/* The id of a machine is a hash in which memory is rounded (results/facts/context.h). Where memory
 * is near the middle between two roundings, a few KiB make another id of the same machine. */
static bool is_same_machine(const struct record_host *base, const struct record_host *candidate)
{
    static const double rounding = 1.125;
    const double ratio = (double)candidate->memory_bytes / (double)base->memory_bytes;
    return ratio != 1 && ratio < rounding && ratio > 1 / rounding && *base->cpu &&
           strcmp(base->cpu, candidate->cpu) == 0;
}

/* A variable that only one of the files has is a difference too. */
static void compare_env(const struct differ *d, const json_t *base, const json_t *candidate)
{
    json_t *all = json_copy((json_t *)base), *value;
    const char *name;
    json_object_update_missing(all, (json_t *)candidate);
    json_object_foreach(all, name, value)
    {
        const json_t *before = json_object_get(base, name), *now = json_object_get(candidate, name);
        char subject[256];
        snprintf(subject, sizeof subject, "environment %s", name);
        if (!before || !now || !json_equal(before, now))
            add_difference(d, subject, before, now, MATTERS_NOTHING);
    }
    json_decref(all);
}

/* An allocator that runs into a limit makes other requests, so the limit matters for everything. */
static void compare_limits(const struct differ *d, const struct result *base,
                           const struct result *candidate)
{
    static const char limit[] = "mem-limit";
    const json_t *x = json_object_get(base->run.options, limit);
    const json_t *y = json_object_get(candidate->run.options, limit);
    if (x == y || json_equal(x, y))
        return;
    add_difference(d, "run --mem-limit", x, y, MATTERS_EVERYTHING);
    widen(&d->c->everywhere, MATTERS_EVERYTHING, "run --mem-limit differs");
}

/* ---- cases ---------------------------------------------------------------------------------- */

/* If many cases have another program, only the first ones are named. */
enum { CASES_NAMED = 5 };

static void compare_one_case(const struct differ *d, const struct result_case *base,
                             const struct result_case *candidate, size_t *differing)
{
    char subject[200];
    const size_t before = json_array_size(d->all);
    snprintf(subject, sizeof subject, "%s %s", candidate->key.workload, candidate->key.dataset);
    compare_facts(d, subject, OF_CASE, base, candidate);
    const size_t after = json_array_size(d->all);
    /* The other cases of the same workload and dataset differ in the same way. */
    for (size_t i = after; i-- > before;)
        for (size_t j = 0; j < before; j++)
            if (json_equal(json_array_get(d->all, i), json_array_get(d->all, j))) {
                json_array_remove(d->all, i);
                break;
            }
    if (json_array_size(d->all) > before && ++*differing > CASES_NAMED)
        while (json_array_size(d->all) > before)
            json_array_remove(d->all, before);
}

static void compare_counts(const struct differ *d, const char *subject, size_t base,
                           size_t candidate)
{
    json_t *a = tree_count(base), *b = tree_count(candidate);
    add_difference(d, subject, a, b, MATTERS_EVERYTHING);
    json_decref(a);
    json_decref(b);
}

/* Whether both results have a row of an experiment. */
static bool has_common_row(const struct result *base, const struct result *candidate)
{
    for (size_t i = 0; i < candidate->experiment_count; i++) {
        const struct result_experiment *each = &candidate->experiments[i];
        const struct result_experiment *before =
            result_experiment_of(base, each->name, each->device);
        for (size_t r = 0; r < each->row_count; r++)
            if (experiment_row(before, each->rows[r].values))
                return true;
    }
    return false;
}

/* Returns whether the files have a case or a row of an experiment in common. */
static bool compare_cases(const struct differ *d, const struct result *base,
                          const struct result *candidate, const json_t *base_index)
{
    size_t differing = 0, common = 0;
    for (size_t i = 0; i < candidate->case_count; i++) {
        const struct result_case *one = result_indexed(base, base_index, candidate->cases[i].id);
        if (!one)
            continue;
        common++;
        compare_one_case(d, one, &candidate->cases[i], &differing);
    }
    if (differing > CASES_NAMED) {
        json_t *number = tree_count(differing - CASES_NAMED);
        add_difference(d, "more such differences of program or data", NULL, number,
                       MATTERS_EVERYTHING);
        json_decref(number);
    }
    if (common || has_common_row(base, candidate))
        return true;
    if (base->case_count || candidate->case_count)
        compare_counts(d, "no case in common: cases", base->case_count, candidate->case_count);
    else
        compare_counts(d, "no row of an experiment in common: rows", experiment_row_count(base),
                       experiment_row_count(candidate));
    return false;
}

/* ---- experiments ---------------------------------------------------------------------------- */

/* Compares the options of an experiment, except its strategies: each row is about one of them. */
static struct scope compare_one_experiment(const struct differ *d,
                                           const struct result_experiment *base,
                                           const struct result_experiment *candidate)
{
    struct scope scope = {0};
    const char *name;
    json_t *value;
    json_object_foreach(candidate->options, name, value)
    {
        const json_t *before = json_object_get(base->options, name);
        char subject[256];
        if (!before || json_equal(before, value) || strcmp(name, "strategies") == 0)
            continue;
        snprintf(subject, sizeof subject, "%s on %s %s", candidate->name, candidate->device, name);
        widen(&scope, MATTERS_EVERYTHING, arena_printf(&d->c->arena, "option %s differs", name));
        add_difference(d, subject, before, value, MATTERS_EVERYTHING);
    }
    return scope;
}

/* ---- for compare.c and compare_rows.c -------------------------------------------------------- */

bool compare_context(struct comparer *c, const struct result *base, const struct result *candidate,
                     const json_t *base_index, json_t *differences)
{
    const struct differ d = {c, differences};
    const struct result_context *a = &base->context, *b = &candidate->context;
    struct record_host host = a->host;
    if (is_same_machine(&host, &b->host))
        memcpy(host.machine_id, b->host.machine_id, sizeof host.machine_id);
    compare_devices(&d, base, candidate, base_index);
    c->everywhere = compare_facts(&d, "host", OF_HOST, &host, &b->host);
    const struct scope tool = compare_facts(&d, "tool", OF_TOOL, &a->tool, &b->tool);
    widen(&c->everywhere, tool.matters, tool.reason);
    compare_limits(&d, base, candidate);
    const bool have_common = compare_cases(&d, base, candidate, base_index);
    for (size_t i = 0; i < candidate->experiment_count; i++) {
        const struct result_experiment *each = &candidate->experiments[i];
        const struct result_experiment *before =
            result_experiment_of(base, each->name, each->device);
        if (before)
            compare_one_experiment(&d, before, each);
    }
    compare_env(&d, a->env, b->env);
    return have_common;
}

static struct scope device_scope(const struct comparer *c, const char *device)
{
    struct scope scope = c->everywhere;
    for (size_t i = 0; i < c->device_count; i++)
        if (strcmp(c->device_scopes[i].device, device) == 0)
            widen(&scope, c->device_scopes[i].scope.matters, c->device_scopes[i].scope.reason);
    return scope;
}

/* By force everything is compared, and within a file what differs is what is compared. */
static bool compares_all(const struct comparer *c)
{
    return c->options->force || c->by;
}

struct scope compare_case_scope(struct comparer *c, const struct result_case *base,
                                const struct result_case *candidate)
{
    if (compares_all(c) || !base || !candidate)
        return (struct scope){0};
    const struct differ d = {c, NULL};
    struct scope scope = device_scope(c, candidate->key.device);
    const struct scope own = compare_facts(&d, "", OF_CASE, base, candidate);
    widen(&scope, own.matters, own.reason);
    return scope;
}

struct scope compare_experiment_scope(struct comparer *c, const struct result_experiment *base,
                                      const struct result_experiment *candidate)
{
    if (compares_all(c) || !base)
        return (struct scope){0};
    const struct differ d = {c, NULL};
    struct scope scope = device_scope(c, candidate->device);
    const struct scope own = compare_one_experiment(&d, base, candidate);
    widen(&scope, own.matters, own.reason);
    return scope;
}
