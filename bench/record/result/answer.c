#include "record/result/answer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/tree.h"
#include "record/facts/case.h"
#include "record/result/baseline.h"
#include "record/result/case_tree.h"
#include "record/statistics/statistics.h"

enum { NONE = -1 };

struct work {
    const char *workload, *dataset;
    bool is_shared;
    unsigned lacking; /* ranked configurations without a right answer */
    double bound;     /* least lower bound of the ranked configurations; NaN: not known of all */
};

/* A case that is ok, and the medians of its rounds. */
struct cell {
    size_t work;
    const json_t *one_case;
    size_t round_count;
    double *round, *wall_ns;
};

struct configuration {
    struct case_key key; /* of its first case */
    size_t order;        /* of its first case in the file */
    const char *name;
    unsigned case_count, skipped_count, ok_count, ok_room;
    enum case_status worst;
    struct cell *ok;
    bool is_ranked, has_times;
    double *log_ns; /* geometric mean of the shared works in each round */
    double log_memory;
    double driver_calls; /* of the cold runs of the shared works; NaN: not known of all */
    double score;        /* the least is the fastest */
    struct configuration *baseline; /* NULL: none was ranked */
    struct configuration *without;  /* the same without merging; NULL: none, or itself */
};

struct ranking {
    struct arena arena;
    const char *device;
    const struct case_key *baseline;
    unsigned work_count, work_room, count, room;
    struct work *work;
    struct configuration *configuration;
    json_t *works, *configurations; /* indices by name */
    struct configuration **ranked;  /* the fastest first */
    size_t ranked_count, shared_count, round_count;
    bool varies[4]; /* strategy, merge, release, residency */
};

/* ---- what there is --------------------------------------------------------------------------- */

static bool same_but_merge(const struct case_key *a, const struct case_key *b)
{
    return strcmp(a->release, b->release) == 0 && strcmp(a->residency, b->residency) == 0 &&
           strcmp(a->strategy, b->strategy) == 0;
}

static size_t work_of(struct ranking *r, const json_t *key)
{
    const char *workload = tree_get_text(key, "workload"), *dataset = tree_get_text(key, "dataset");
    const char *name = arena_printf(&r->arena, "%s\n%s", workload, dataset);
    const size_t at = tree_index_of(r->works, name, r->work_count);
    if (at == r->work_count) {
        r->work = arena_grow(&r->arena, r->work, r->work_count, &r->work_room, sizeof *r->work);
        r->work[r->work_count++] = (struct work){.workload = workload, .dataset = dataset};
    }
    return at;
}

static struct configuration *configuration_of(struct ranking *r, const struct case_key *key)
{
    const char *name = arena_printf(&r->arena, "%s\n%s\n%s\n%s", key->strategy, key->merge,
                                    key->release, key->residency);
    const size_t at = tree_index_of(r->configurations, name, r->count);
    if (at == r->count) {
        r->configuration =
            arena_grow(&r->arena, r->configuration, r->count, &r->room, sizeof *r->configuration);
        r->configuration[r->count++] = (struct configuration){.key = *key, .order = at};
    }
    return &r->configuration[at];
}

static void add_ok(struct ranking *r, struct configuration *c, size_t work, const json_t *one_case)
{
    for (size_t i = 0; i < c->ok_count; i++)
        if (c->ok[i].work == work)
            return;
    const size_t most = json_array_size(json_object_get(one_case, "rounds"));
    struct cell cell = {.work = work,
                        .one_case = one_case,
                        .round = arena_alloc(&r->arena, most * sizeof(double)),
                        .wall_ns = arena_alloc(&r->arena, most * sizeof(double))};
    cell.round_count = case_round_medians(one_case, "wall_ns", cell.round, cell.wall_ns);
    c->ok = arena_grow(&r->arena, c->ok, c->ok_count, &c->ok_room, sizeof *c->ok);
    c->ok[c->ok_count++] = cell;
}

static enum case_status status_of(const json_t *one_case)
{
    int status = CASE_STATUSES - 1;
    while (status > CASE_ok && !case_has_status(one_case, (enum case_status)status))
        status--;
    return (enum case_status)status;
}

static void add_case(struct ranking *r, const json_t *one_case)
{
    const json_t *json = json_object_get(one_case, "key");
    struct case_key key;
    if (strcmp(tree_get_text(json, "device"), r->device) != 0 ||
        case_key_from_json(json, &key, NULL))
        return;
    const size_t work = work_of(r, json);
    struct configuration *c = configuration_of(r, &key);
    const enum case_status status = status_of(one_case);
    c->case_count++;
    c->skipped_count += status == CASE_skipped;
    c->worst = status > c->worst ? status : c->worst;
    if (status == CASE_ok)
        add_ok(r, c, work, one_case);
}

/* ---- names ----------------------------------------------------------------------------------- */

static void find_what_varies(struct ranking *r)
{
    for (size_t i = 1; i < r->count; i++) {
        const struct case_key *a = &r->configuration[0].key, *b = &r->configuration[i].key;
        r->varies[0] |= strcmp(a->strategy, b->strategy) != 0;
        r->varies[1] |= strcmp(a->merge, b->merge) != 0;
        r->varies[2] |= strcmp(a->release, b->release) != 0;
        r->varies[3] |= strcmp(a->residency, b->residency) != 0;
    }
}

/* "pool", or with what else varies "pool (best, scope)". */
static const char *name_of(struct ranking *r, const struct case_key *key)
{
    const char *const members[] = {key->strategy, key->merge, key->release, key->residency};
    const char *name = NULL, *more = NULL;
    for (size_t i = 0; i < 4; i++) {
        if (!r->varies[i])
            continue;
        if (!name)
            name = members[i];
        else
            more = more ? arena_printf(&r->arena, "%s, %s", more, members[i]) : members[i];
    }
    if (!name)
        return key->strategy;
    return more ? arena_printf(&r->arena, "%s (%s)", name, more) : name;
}

/* ---- which cases are ranked ------------------------------------------------------------------ */

static void take_out(struct ranking *r, struct configuration *c)
{
    for (size_t w = 0; w < r->work_count; w++)
        r->work[w].lacking--;
    for (size_t i = 0; i < c->ok_count; i++)
        r->work[c->ok[i].work].lacking++;
    c->is_ranked = false;
    r->ranked_count--;
}

static struct configuration *with_fewest(struct ranking *r)
{
    struct configuration *fewest = NULL;
    for (size_t i = 0; i < r->count; i++) {
        struct configuration *c = &r->configuration[i];
        if (c->is_ranked && (!fewest || c->ok_count <= fewest->ok_count))
            fewest = c;
    }
    return fewest;
}

static size_t count_shared(const struct ranking *r)
{
    size_t shared = 0;
    for (size_t w = 0; w < r->work_count; w++)
        shared += r->work[w].lacking == 0;
    return shared;
}

static void choose(struct ranking *r)
{
    size_t able = 0;
    for (size_t i = 0; i < r->count; i++) {
        struct configuration *c = &r->configuration[i];
        c->is_ranked = c->ok_count > 0;
        r->ranked_count += c->is_ranked;
    }
    for (size_t w = 0; w < r->work_count; w++)
        r->work[w].lacking = (unsigned)r->ranked_count;
    for (size_t i = 0; i < r->count; i++)
        for (size_t k = 0; k < r->configuration[i].ok_count; k++)
            r->work[r->configuration[i].ok[k].work].lacking--;
    for (size_t w = 0; w < r->work_count; w++)
        able += r->work[w].lacking < r->ranked_count;
    while (r->ranked_count > 1 && 2 * count_shared(r) < able)
        take_out(r, with_fewest(r));
    for (size_t w = 0; w < r->work_count; w++)
        r->work[w].is_shared = r->ranked_count > 0 && r->work[w].lacking == 0;
    r->shared_count = r->ranked_count ? count_shared(r) : 0;
    r->ranked = arena_alloc(&r->arena, (r->ranked_count + 1) * sizeof *r->ranked);
    for (size_t i = 0, n = 0; i < r->count; i++)
        if (r->configuration[i].is_ranked)
            r->ranked[n++] = &r->configuration[i];
}

/* ---- their times ----------------------------------------------------------------------------- */

/* Most rounds have the same index in all cases, so `guess` is tried first. NaN: no such round. */
static double in_round(const struct cell *cell, double round, size_t guess)
{
    if (guess < cell->round_count && cell->round[guess] == round)
        return cell->wall_ns[guess];
    for (size_t i = 0; i < cell->round_count; i++)
        if (cell->round[i] == round)
            return cell->wall_ns[i];
    return NAN;
}

static const struct cell *first_shared(const struct ranking *r)
{
    const struct configuration *c = r->ranked_count ? r->ranked[0] : NULL;
    for (size_t i = 0; c && i < c->ok_count; i++)
        if (r->work[c->ok[i].work].is_shared)
            return &c->ok[i];
    return NULL;
}

/* Adds the logarithms of the configuration's times in each round of `like`; NaN where it lacks the
 * round. 0 ns counts as 1 ns, the resolution of the clock. */
static void add_logs(const struct ranking *r, struct configuration *c, const struct cell *like)
{
    for (size_t i = 0; i < c->ok_count; i++)
        for (size_t n = 0; n < like->round_count && r->work[c->ok[i].work].is_shared; n++) {
            const double ns = in_round(&c->ok[i], like->round[n], n);
            c->log_ns[n] += (isnan(ns) ? NAN : log(fmax(ns, 1))) / (double)r->shared_count;
        }
}

/* Rounds that a ranked case lacks do not count for any. */
static void measure(struct ranking *r)
{
    const struct cell *like = first_shared(r);
    const size_t most = like ? like->round_count : 0;
    for (size_t i = 0; i < r->ranked_count; i++) {
        r->ranked[i]->log_ns = arena_alloc(&r->arena, most * sizeof(double));
        if (like)
            add_logs(r, r->ranked[i], like);
    }
    for (size_t n = 0; n < most; n++) {
        bool all_have = true;
        for (size_t i = 0; i < r->ranked_count; i++)
            all_have &= !isnan(r->ranked[i]->log_ns[n]);
        for (size_t i = 0; i < r->ranked_count && all_have; i++)
            r->ranked[i]->log_ns[r->round_count] = r->ranked[i]->log_ns[n];
        r->round_count += all_have;
    }
}

/* The time of `over` divided by that of `under`, paired by round. */
static struct statistics ratio(struct ranking *r, const struct configuration *over,
                               const struct configuration *under)
{
    double *values = arena_alloc(&r->arena, r->round_count * sizeof *values);
    for (size_t n = 0; n < r->round_count; n++)
        values[n] = exp(over->log_ns[n] - under->log_ns[n]);
    return statistics_of(values, r->round_count);
}

/* ---- their memory ---------------------------------------------------------------------------- */

static void find_bounds(struct ranking *r)
{
    for (size_t w = 0; w < r->work_count; w++)
        r->work[w].bound = INFINITY;
    for (size_t i = 0; i < r->ranked_count; i++)
        for (size_t k = 0; k < r->ranked[i]->ok_count; k++) {
            const struct cell *cell = &r->ranked[i]->ok[k];
            struct work *work = &r->work[cell->work];
            const double bound = case_peak(cell->one_case, "live_lower_bound_bytes");
            const double held = case_peak(cell->one_case, "peak_reserved_bytes");
            if (bound > 0 && held > 0 && !isnan(work->bound))
                work->bound = fmin(work->bound, bound);
            else
                work->bound = NAN;
        }
}

static void weigh(struct ranking *r)
{
    find_bounds(r);
    for (size_t i = 0; i < r->ranked_count; i++) {
        struct configuration *c = r->ranked[i];
        double sum = 0;
        size_t count = 0;
        for (size_t k = 0; k < c->ok_count; k++) {
            const struct work *work = &r->work[c->ok[k].work];
            const json_t *counters = json_object_get(c->ok[k].one_case, "counters");
            if (work->is_shared)
                c->driver_calls += case_driver_calls(json_object_get(counters, "cold"));
            if (!work->is_shared || isnan(work->bound))
                continue;
            sum += log(case_peak(c->ok[k].one_case, "peak_reserved_bytes") / work->bound);
            count++;
        }
        c->log_memory = count ? sum / (double)count : NAN;
    }
}

/* ---- the order ------------------------------------------------------------------------------- */

static struct configuration *baseline_of(const struct ranking *r, const struct configuration *of)
{
    struct configuration *best = NULL;
    int least = NONE;
    for (size_t i = 0; i < r->ranked_count; i++) {
        const int rank = baseline_rank(r->baseline, &of->key, &r->ranked[i]->key);
        if (rank >= 0 && (!best || rank < least)) {
            best = r->ranked[i];
            least = rank;
        }
    }
    return best;
}

static struct configuration *unmerged(const struct ranking *r, const struct configuration *of)
{
    for (size_t i = 0; i < r->ranked_count && strcmp(of->key.merge, "none") != 0; i++)
        if (strcmp(r->ranked[i]->key.merge, "none") == 0 &&
            same_but_merge(&r->ranked[i]->key, &of->key))
            return r->ranked[i];
    return NULL;
}

/* Finds the baselines. Returns the one that all have; NULL if there is none. */
static struct configuration *find_baselines(struct ranking *r)
{
    bool is_common = true;
    for (size_t i = 0; i < r->ranked_count; i++) {
        struct configuration *c = r->ranked[i];
        c->baseline = baseline_of(r, c);
        c->without = unmerged(r, c);
        is_common &= c->baseline == r->ranked[0]->baseline;
    }
    return is_common && r->ranked_count ? r->ranked[0]->baseline : NULL;
}

static int by_score(const void *a, const void *b)
{
    const struct configuration *x = *(struct configuration *const *)a,
                               *y = *(struct configuration *const *)b;
    if (x->score != y->score)
        return x->score < y->score ? -1 : 1;
    if (!x->has_times && x->driver_calls != y->driver_calls)
        return x->driver_calls < y->driver_calls ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

/* Orders by the median over rounds of the time over the common baseline's, or else over the mean of
 * all. Without times the order is by memory, and of equal memory by driver calls. */
static void order(struct ranking *r)
{
    const struct configuration *common = find_baselines(r);
    double *reference = arena_alloc(&r->arena, r->round_count * sizeof *reference);
    double *values = arena_alloc(&r->arena, r->round_count * sizeof *values);
    for (size_t n = 0; n < r->round_count; n++)
        for (size_t i = 0; i < r->ranked_count; i++)
            reference[n] += common ? (r->ranked[i] == common) * common->log_ns[n]
                                   : r->ranked[i]->log_ns[n] / (double)r->ranked_count;
    for (size_t i = 0; i < r->ranked_count; i++) {
        struct configuration *c = r->ranked[i];
        for (size_t n = 0; n < r->round_count; n++)
            values[n] = c->log_ns[n] - reference[n];
        c->has_times = r->round_count > 0;
        c->score = r->round_count ? statistics_median(values, r->round_count) : c->log_memory;
        if (isnan(c->score))
            c->score = INFINITY;
    }
    qsort(r->ranked, r->ranked_count, sizeof *r->ranked, by_score);
    bool all_have = true;
    for (size_t i = 0; i < r->ranked_count; i++)
        all_have &= r->ranked[i]->baseline != NULL;
    for (size_t i = 0; i < r->ranked_count && !all_have; i++)
        r->ranked[i]->baseline = r->ranked[0];
    if (!all_have)
        r->baseline = &r->ranked[0]->key;
}

/* ---- as JSON --------------------------------------------------------------------------------- */

static json_t *interval_json(const struct statistics *s)
{
    if (!s->count)
        return json_null();
    json_t *out = tree_object();
    case_put_interval(out, s);
    return out;
}

static json_t *key_json(const struct case_key *key)
{
    json_t *out = tree_object();
#define X(member)                                                                                  \
    if (*key->member)                                                                              \
        tree_put(out, #member, tree_text(key->member));
    BASELINE_LIST(X)
#undef X
    return out;
}

static const char *verdict_of(const struct statistics *slower)
{
    const double most = 1 + ANSWER_CLOSE;
    if (isnan(slower->ci_lo))
        return "";
    if (slower->ci_lo >= 1 / most && slower->ci_hi <= most)
        return "within";
    return slower->ci_lo <= 1 && slower->ci_hi >= 1 ? "unsure" : "slower";
}

static json_t *ranked_json(struct ranking *r, const struct configuration *c)
{
    const struct statistics speedup = ratio(r, c->baseline, c);
    const struct statistics slower = ratio(r, c, r->ranked[0]);
    json_t *out = key_json(&c->key);
    tree_put(out, "name", tree_text(c->name));
    tree_put(out, "is_baseline", json_boolean(c->baseline == c));
    tree_put(out, "speedup", interval_json(&speedup));
    tree_put(out, "over_fastest", interval_json(&slower));
    tree_put(out, "verdict",
             c == r->ranked[0] ? tree_text("fastest") : tree_text_or_null(verdict_of(&slower)));
    tree_put(out, "memory_over_bound", tree_number(exp(c->log_memory)));
    tree_put(out, "driver_calls", tree_number(c->driver_calls));
    if (c->without) {
        const struct statistics gain = ratio(r, c->without, c);
        tree_put(out, "over_none",
                 tree_pack("{s:o, s:o}", "speedup", interval_json(&gain), "memory",
                           tree_number(exp(c->log_memory - c->without->log_memory))));
    }
    return out;
}

/* Sums of the same numbers in another order differ in their last bits. */
static json_t *least_memory(const struct ranking *r)
{
    const double equal = 1e-9;
    json_t *names = tree_array();
    double least = INFINITY;
    for (size_t i = 0; i < r->ranked_count; i++)
        least = fmin(least, r->ranked[i]->log_memory);
    for (size_t i = 0; i < r->ranked_count; i++)
        if (r->ranked[i]->log_memory - least <= equal)
            tree_append(names, tree_text(r->ranked[i]->name));
    return names;
}

static bool has_text(const json_t *texts, const char *text)
{
    size_t i;
    json_t *each;
    json_array_foreach((json_t *)texts, i, each)
    {
        if (strcmp(json_string_value(each), text) == 0)
            return true;
    }
    return false;
}

static bool was_skipped(const struct configuration *c)
{
    return c->skipped_count == c->case_count;
}

/* A strategy that was skipped in all its configurations is named once. */
static const char *skipped_name(const struct ranking *r, const struct configuration *c)
{
    for (size_t i = 0; i < r->count; i++)
        if (!was_skipped(&r->configuration[i]) &&
            strcmp(r->configuration[i].key.strategy, c->key.strategy) == 0)
            return c->name;
    return c->key.strategy;
}

static void put_left_out_configurations(struct ranking *r, json_t *out)
{
    json_t *skipped = tree_array(), *others = tree_array();
    for (size_t i = 0; i < r->count; i++) {
        const struct configuration *c = &r->configuration[i];
        if (c->is_ranked)
            continue;
        if (was_skipped(c)) {
            if (!has_text(skipped, skipped_name(r, c)))
                tree_append(skipped, tree_text(skipped_name(r, c)));
            continue;
        }
        const char *reason = c->ok_count ? arena_printf(&r->arena, "ok in %u of %u cases",
                                                        c->ok_count, r->work_count)
                                         : case_status_name(c->worst);
        tree_append(others, tree_pack("{s:o, s:s}", "name", tree_text(c->name), "reason", reason));
    }
    tree_put(out, "not_here", skipped);
    tree_put(out, "not_ranked", others);
}

/* Why is the work not shared? The first ranked configuration that lacks it says so. */
static const char *reason_of(struct ranking *r, const json_t *root, const struct work *work)
{
    const json_t *cases = json_object_get(root, "cases");
    for (size_t i = 0; i < r->count; i++) {
        const struct configuration *c = &r->configuration[i];
        bool has_it = !c->is_ranked;
        for (size_t k = 0; k < c->ok_count && !has_it; k++)
            has_it = &r->work[c->ok[k].work] == work;
        if (has_it)
            continue;
        struct case_key key = c->key;
        char id[13];
        const json_t *one_case;
        snprintf(key.workload, sizeof key.workload, "%s", work->workload);
        snprintf(key.dataset, sizeof key.dataset, "%s", work->dataset);
        case_id(&key, id);
        for (size_t n = 0; (one_case = json_array_get(cases, n)); n++)
            if (strcmp(tree_get_text(one_case, "id"), id) == 0)
                return arena_printf(&r->arena, "%s under %s", tree_get_text(one_case, "status"),
                                    c->name);
        return arena_printf(&r->arena, "not run under %s", c->name);
    }
    return "";
}

static json_t *left_out_cases(struct ranking *r, const json_t *root)
{
    json_t *out = tree_array();
    for (size_t w = 0; w < r->work_count && r->ranked_count > 0; w++)
        if (!r->work[w].is_shared)
            tree_append(out,
                        tree_pack("{s:o, s:o, s:o}", "workload", tree_text(r->work[w].workload),
                                  "dataset", tree_text(r->work[w].dataset), "reason",
                                  tree_text(reason_of(r, root, &r->work[w]))));
    return out;
}

/* What the ratios are over, in words: the name of the baseline that all have, or what was named. */
static const char *against(struct ranking *r)
{
    char words[384];
    bool is_common = true;
    if (!r->ranked_count)
        return "";
    for (size_t i = 0; i < r->ranked_count; i++)
        is_common &= r->ranked[i]->baseline == r->ranked[0]->baseline;
    return is_common ? r->ranked[0]->baseline->name
                     : arena_printf(&r->arena, "%s", baseline_words(words, r->baseline));
}

static json_t *device_json(struct ranking *r, const json_t *root)
{
    json_t *ranking = tree_array(), *out;
    for (size_t i = 0; i < r->ranked_count; i++)
        tree_append(ranking, ranked_json(r, r->ranked[i]));
    out = tree_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "device", tree_text(r->device),
                    "baseline", key_json(r->baseline), "against", tree_text(against(r)), "cases",
                    tree_count(r->shared_count), "of", tree_count(r->work_count), "rounds",
                    tree_count(r->round_count), "ranking", ranking, "least_memory", least_memory(r),
                    "left_out", left_out_cases(r, root));
    put_left_out_configurations(r, out);
    answer_write(out);
    return out;
}

/* ---- all devices ----------------------------------------------------------------------------- */

static json_t *answer_of_device(const json_t *root, const char *device,
                                const struct case_key *baseline)
{
    struct ranking r = {.device = device,
                        .baseline = baseline,
                        .works = tree_object(),
                        .configurations = tree_object()};
    size_t i;
    json_t *each;
    json_array_foreach(json_object_get(root, "cases"), i, each) add_case(&r, each);
    find_what_varies(&r);
    for (i = 0; i < r.count; i++)
        r.configuration[i].name = name_of(&r, &r.configuration[i].key);
    choose(&r);
    measure(&r);
    weigh(&r);
    order(&r);
    json_t *out = device_json(&r, root);
    json_decref(r.works);
    json_decref(r.configurations);
    arena_free(&r.arena);
    return out;
}

/* The baseline by name; `raw` if the names are not those of the result's cases. */
static struct case_key named_baseline(const json_t *root, const char *names)
{
    const json_t *cases = json_object_get(root, "cases");
    struct case_key *keys = must_alloc(json_array_size(cases) * sizeof *keys), baseline;
    size_t i, count = 0;
    json_t *each;
    json_array_foreach((json_t *)cases, i, each)
    {
        count += case_key_from_json(json_object_get(each, "key"), &keys[count], NULL) == 0;
    }
    if (baseline_read(names, keys, count, &baseline, NULL))
        baseline = baseline_raw;
    free(keys);
    return baseline;
}

json_t *answer_of(const json_t *root, const char *names)
{
    const json_t *options = json_object_get(json_object_get(root, "run"), "options");
    json_t *answer = tree_array(), *each;
    const char *wanted = names ? names : tree_get_text(options, "baseline");
    const struct case_key baseline = *wanted ? named_baseline(root, wanted) : baseline_raw;
    size_t i;
    json_array_foreach(json_object_get(root, "cases"), i, each)
    {
        const char *device = tree_get_text(json_object_get(each, "key"), "device");
        if (!answer_find(answer, device))
            tree_append(answer, answer_of_device(root, device, &baseline));
    }
    return answer;
}

const json_t *answer_find(const json_t *answer, const char *device)
{
    const json_t *each;
    for (size_t i = 0; (each = json_array_get(answer, i)); i++)
        if (strcmp(tree_get_text(each, "device"), device) == 0)
            return each;
    return NULL;
}

const char *answer_against(const json_t *answer)
{
    const char *common = NULL;
    size_t i;
    json_t *each;
    json_array_foreach((json_t *)answer, i, each)
    {
        const char *own = tree_get_text(each, "against");
        if (!json_array_size(json_object_get(each, "ranking")))
            continue;
        if (common && strcmp(common, own) != 0)
            return ANSWER_SEVERAL;
        common = own;
    }
    return common ? common : "raw";
}
