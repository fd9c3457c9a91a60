#include "results/file/answer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/tree.h"
#include "results/file/baseline.h"
#include "results/file/measured.h"
#include "results/statistics/statistics.h"

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
    const struct result_case *of;
    struct measured_series wall_ns;
};

struct configuration {
    struct case_key key;            /* of its first case */
    size_t order;                   /* of its first case in the file */
    const char *name, *why_skipped; /* NULL: several reasons, or none */
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

static size_t work_of(struct ranking *r, const struct case_key *key)
{
    const char *name = arena_printf(&r->arena, "%s\n%s", key->workload, key->dataset);
    const size_t at = tree_index_of(r->works, name, r->work_count);
    if (at == r->work_count) {
        r->work = arena_grow(&r->arena, r->work, r->work_count, &r->work_room, sizeof *r->work);
        r->work[r->work_count++] =
            (struct work){.workload = key->workload, .dataset = key->dataset};
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

static void add_ok(struct ranking *r, struct configuration *c, size_t work,
                   const struct result_case *one)
{
    for (size_t i = 0; i < c->ok_count; i++)
        if (c->ok[i].work == work)
            return;
    c->ok = arena_grow(&r->arena, c->ok, c->ok_count, &c->ok_room, sizeof *c->ok);
    c->ok[c->ok_count++] = (struct cell){work, one, measured_medians(&r->arena, one, "wall_ns")};
}

static void add_case(struct ranking *r, const struct result_case *one)
{
    if (strcmp(one->key.device, r->device) != 0)
        return;
    const size_t work = work_of(r, &one->key);
    struct configuration *c = configuration_of(r, &one->key);
    if (c->case_count++ == 0)
        c->why_skipped = one->reason;
    else if (!one->reason || !c->why_skipped || strcmp(c->why_skipped, one->reason) != 0)
        c->why_skipped = NULL;
    c->skipped_count += one->status == CASE_skipped;
    c->worst = one->status > c->worst ? one->status : c->worst;
    if (one->status == CASE_ok)
        add_ok(r, c, work, one);
}

/* ---- names ----------------------------------------------------------------------------------- */

void answer_varies(bool varies[4], const struct case_key *a, const struct case_key *b)
{
    varies[0] |= strcmp(a->strategy, b->strategy) != 0;
    varies[1] |= strcmp(a->merge, b->merge) != 0;
    varies[2] |= strcmp(a->release, b->release) != 0;
    varies[3] |= strcmp(a->residency, b->residency) != 0;
}

const char *answer_name(struct arena *arena, const bool varies[4], const struct case_key *key)
{
    const char *const members[] = {key->strategy, key->merge, key->release, key->residency};
    const char *name = NULL, *more = NULL;
    for (size_t i = 0; i < 4; i++) {
        if (!varies[i] || !*members[i])
            continue;
        if (!name)
            name = members[i];
        else
            more = more ? arena_printf(arena, "%s, %s", more, members[i]) : members[i];
    }
    if (!name)
        return key->strategy;
    return more ? arena_printf(arena, "%s (%s)", name, more) : name;
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
        for (size_t n = 0; n < like->wall_ns.count && r->work[c->ok[i].work].is_shared; n++) {
            const double ns = measured_in_round(&c->ok[i].wall_ns, like->wall_ns.round[n], n);
            c->log_ns[n] += (isnan(ns) ? NAN : log(fmax(ns, 1))) / (double)r->shared_count;
        }
}

/* Rounds that a ranked case lacks do not count for any. */
static void measure(struct ranking *r)
{
    const struct cell *like = first_shared(r);
    const size_t most = like ? like->wall_ns.count : 0;
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
            const double bound = measured_peak(cell->of, "live_lower_bound_bytes");
            const double held = measured_peak(cell->of, "peak_reserved_bytes");
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
            if (work->is_shared)
                c->driver_calls += measured_driver_calls(measured_cold(c->ok[k].of));
            if (!work->is_shared || isnan(work->bound))
                continue;
            sum += log(measured_peak(c->ok[k].of, "peak_reserved_bytes") / work->bound);
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
            case_same_but_merge(&r->ranked[i]->key, &of->key))
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

/* ---- what is said ---------------------------------------------------------------------------- */

static struct case_key named_members(const struct case_key *key)
{
    struct case_key out = {0};
#define X(member) memcpy(out.member, key->member, sizeof out.member);
    BASELINE_LIST(X)
#undef X
    return out;
}

static const char *verdict_of(const struct statistics *slower)
{
    const double most = 1 + ANSWER_CLOSE;
    if (isnan(slower->ci_lo))
        return NULL;
    if (slower->ci_lo >= 1 / most && slower->ci_hi <= most)
        return "within";
    return slower->ci_lo <= 1 && slower->ci_hi >= 1 ? "unsure" : "slower";
}

static struct answer_ranked ranked_of(struct ranking *r, const struct configuration *c,
                                      struct arena *arena)
{
    struct answer_ranked out = {
        .key = named_members(&c->key),
        .name = c->name,
        .is_baseline = c->baseline == c,
        .speedup = ratio(r, c->baseline, c),
        .over_fastest = ratio(r, c, r->ranked[0]),
        .memory_over_bound = exp(c->log_memory),
        .driver_calls = c->driver_calls,
    };
    out.verdict = c == r->ranked[0] ? "fastest" : verdict_of(&out.over_fastest);
    if (c->without) {
        out.over_none = arena_alloc(arena, sizeof *out.over_none);
        *out.over_none = (struct answer_gain){ratio(r, c->without, c),
                                              exp(c->log_memory - c->without->log_memory)};
    }
    return out;
}

/* Sums of the same numbers in another order differ in their last bits. */
static void set_least_memory(const struct ranking *r, struct answer_device *out)
{
    const double equal = 1e-9;
    double least = INFINITY;
    for (size_t i = 0; i < r->ranked_count; i++)
        least = fmin(least, r->ranked[i]->log_memory);
    for (size_t i = 0; i < r->ranked_count; i++)
        if (r->ranked[i]->log_memory - least <= equal)
            out->least_memory[out->least_memory_count++] = r->ranked[i]->name;
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

/* The reason of a skipped case, without the name of its strategy. */
static const char *why_skipped(const char *reason)
{
    const char *start = reason ? strstr(reason, " could not start: ") : NULL;
    return start ? start + strlen(" could not start: ") : reason;
}

bool answer_tells_skipped(const struct answer *answer, const struct result_case *one)
{
    const struct answer_device *device = answer_find(answer, one->key.device);
    bool is_told = false;
    for (size_t i = 0; device && one->status == CASE_skipped && one->reason &&
                       i < device->sentence_count && !is_told;
         i++)
        is_told = strncmp(device->sentences[i], "not on ", 7) == 0 &&
                  strstr(device->sentences[i], why_skipped(one->reason));
    return is_told;
}

static void add_not_here(struct answer_device *out, const char *name, const char *why)
{
    for (size_t i = 0; i < out->not_here_count; i++)
        if (strcmp(out->not_here[i], name) == 0)
            return;
    out->why_not_here[out->not_here_count] = why_skipped(why);
    out->not_here[out->not_here_count++] = name;
}

static void set_left_out_configurations(struct ranking *r, struct answer_device *out)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct configuration *c = &r->configuration[i];
        if (c->is_ranked)
            continue;
        if (was_skipped(c))
            add_not_here(out, skipped_name(r, c), c->why_skipped);
        else
            out->not_ranked[out->not_ranked_count++] = (struct answer_not_ranked){
                c->name, c->ok_count ? arena_printf(&r->arena, "ok in %u of %u cases", c->ok_count,
                                                    r->work_count)
                                     : case_status_name(c->worst)};
    }
}

/* Why is the work not shared? The first ranked configuration that lacks it says so. */
static const char *reason_of(struct ranking *r, const struct result *result,
                             const struct work *work)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct configuration *c = &r->configuration[i];
        bool has_it = !c->is_ranked;
        for (size_t k = 0; k < c->ok_count && !has_it; k++)
            has_it = &r->work[c->ok[k].work] == work;
        if (has_it)
            continue;
        struct case_key key = c->key;
        char id[13];
        snprintf(key.workload, sizeof key.workload, "%s", work->workload);
        snprintf(key.dataset, sizeof key.dataset, "%s", work->dataset);
        case_id(&key, id);
        const struct result_case *one = result_case_of(result, id);
        return one ? arena_printf(&r->arena, "%s under %s", case_status_name(one->status), c->name)
                   : arena_printf(&r->arena, "not run under %s", c->name);
    }
    return "";
}

/* The baseline of the ratios, in words: the name of the baseline that all have, or what was
 * named. */
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

static struct answer_device device_of(struct ranking *r, const struct result *result)
{
    const size_t most = r->count + 1;
    struct answer_device out = {
        .device = r->device,
        .baseline = named_members(r->baseline),
        .against = against(r),
        .cases = r->shared_count,
        .of = r->work_count,
        .rounds = r->round_count,
        .ranked_count = r->ranked_count,
        .ranking = arena_alloc(&r->arena, most * sizeof *out.ranking),
        .least_memory = arena_alloc(&r->arena, most * sizeof *out.least_memory),
        .not_here = arena_alloc(&r->arena, most * sizeof *out.not_here),
        .why_not_here = arena_alloc(&r->arena, most * sizeof *out.why_not_here),
        .not_ranked = arena_alloc(&r->arena, most * sizeof *out.not_ranked),
        .left_out = arena_alloc(&r->arena, (r->work_count + 1) * sizeof *out.left_out),
    };
    for (size_t i = 0; i < r->ranked_count; i++)
        out.ranking[i] = ranked_of(r, r->ranked[i], &r->arena);
    set_least_memory(r, &out);
    for (size_t w = 0; w < r->work_count && r->ranked_count > 0; w++)
        if (!r->work[w].is_shared)
            out.left_out[out.left_out_count++] = (struct answer_left_out){
                r->work[w].workload, r->work[w].dataset, reason_of(r, result, &r->work[w])};
    set_left_out_configurations(r, &out);
    answer_write(&out, &r->arena);
    return out;
}

/* ---- all devices ----------------------------------------------------------------------------- */

static struct answer_device answer_of_device(const struct result *result, const char *device,
                                             const struct case_key *baseline, struct arena *arena)
{
    struct ranking r = {.device = device,
                        .baseline = baseline,
                        .works = tree_object(),
                        .configurations = tree_object()};
    for (size_t i = 0; i < result->case_count; i++)
        add_case(&r, &result->cases[i]);
    for (size_t i = 1; i < r.count; i++)
        answer_varies(r.varies, &r.configuration[0].key, &r.configuration[i].key);
    for (size_t i = 0; i < r.count; i++)
        r.configuration[i].name = answer_name(&r.arena, r.varies, &r.configuration[i].key);
    choose(&r);
    measure(&r);
    weigh(&r);
    order(&r);
    const struct answer_device out = device_of(&r, result);
    json_decref(r.works);
    json_decref(r.configurations);
    arena_take(arena, &r.arena);
    return out;
}

/* The baseline by name; `raw` if the names are not those of the result's cases. */
static struct case_key named_baseline(const struct result *result, const char *names)
{
    struct case_key *keys = must_alloc((result->case_count + 1) * sizeof *keys), baseline;
    for (size_t i = 0; i < result->case_count; i++)
        keys[i] = result->cases[i].key;
    if (baseline_read(names, keys, result->case_count, &baseline, NULL))
        baseline = baseline_raw;
    free(keys);
    return baseline;
}

struct answer answer_of(const struct result *result, const char *names, struct arena *arena)
{
    struct answer answer = {0};
    const char *wanted = names ? names : tree_get_text(result->run.options, "baseline");
    const struct case_key baseline = *wanted ? named_baseline(result, wanted) : baseline_raw;
    unsigned room = 0;
    for (size_t i = 0; i < result->case_count; i++) {
        const char *device = result->cases[i].key.device;
        if (answer_find(&answer, device))
            continue;
        answer.devices = arena_grow(arena, answer.devices, (unsigned)answer.device_count, &room,
                                    sizeof *answer.devices);
        answer.devices[answer.device_count++] = answer_of_device(result, device, &baseline, arena);
    }
    return answer;
}

const struct answer_device *answer_find(const struct answer *answer, const char *device)
{
    for (size_t i = 0; i < answer->device_count; i++)
        if (strcmp(answer->devices[i].device, device) == 0)
            return &answer->devices[i];
    return NULL;
}

const char *answer_against(const struct answer *answer)
{
    const char *common = NULL;
    for (size_t i = 0; i < answer->device_count; i++) {
        const char *own = answer->devices[i].against;
        if (!answer->devices[i].ranked_count)
            continue;
        if (common && strcmp(common, own) != 0)
            return ANSWER_SEVERAL;
        common = own;
    }
    return common ? common : "raw";
}
