#include "record/compare/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/tree.h"
#include "record/compare/compare_internal.h"
#include "record/compare/noise.h"
#include "record/compare/steps.h"
#include "record/facts/case.h"
#include "record/result/case_tree.h"
#include "record/statistics/statistics.h"

/* ---- what is kept of a result --------------------------------------------------------------- */

struct run {
    json_t *root;  /* the result with the chosen cases, each with `medians` in place of rounds */
    json_t *index; /* its cases by id */
    const char *name, *machine, *started_at;
    int64_t committed_at;
};

/* How far the cases of two runs can be compared; made when it is needed. */
struct pair {
    size_t base, candidate;
    struct comparer comparer;
};

struct point {
    size_t run;
    const json_t *one_case;
};

/* The points of one case that can be compared. */
struct chain {
    unsigned count, room;
    struct point *point;
    const char *begins; /* what changed; NULL: it is the first of its case */
    size_t
        before; /* one more than the index of the chain of this case that began before it; 0: none */
};

struct history {
    const struct history_options *options;
    unsigned run_count, run_room;
    struct run *run;
    unsigned pair_count, pair_room;
    struct pair **pair;
    size_t time_series;   /* number of series of times with two points and more */
    size_t without_cases; /* number of results without a chosen case */
    json_t *left_out;
    struct arena arena;
};

struct history *history_new(const struct history_options *options)
{
    struct history *h = must_alloc(sizeof *h);
    h->options = options;
    h->left_out = tree_array();
    return h;
}

void history_free(struct history *h)
{
    for (size_t i = 0; i < h->run_count; i++) {
        json_decref(h->run[i].root);
        json_decref(h->run[i].index);
    }
    for (size_t i = 0; i < h->pair_count; i++) {
        comparer_free(&h->pair[i]->comparer);
        free(h->pair[i]);
    }
    json_decref(h->left_out);
    arena_free(&h->arena);
    free(h->run);
    free(h->pair);
    free(h);
}

void history_leave_out(struct history *h, const char *name, const char *reason)
{
    tree_append(h->left_out,
                tree_pack("{s:o, s:o}", "name", tree_text(name), "reason", tree_text(reason)));
}

static bool is_chosen(const struct history *h, const json_t *key)
{
    const struct history_options *o = h->options;
    return (!o->workloads || text_is_listed(o->workloads, tree_get_text(key, "workload"))) &&
           (!o->strategies || text_is_listed(o->strategies, tree_get_text(key, "strategy"))) &&
           (!o->devices || text_is_listed(o->devices, tree_get_text(key, "device")));
}

/* The median of each round, of every sampled metric that is chosen. */
static json_t *medians_of(const struct history *h, const json_t *one_case)
{
    size_t count;
    const struct counter_info *list = counter_list(&count);
    const size_t most = json_array_size(json_object_get(one_case, "rounds"));
    double *round = must_alloc(2 * most * sizeof *round), *median = round + most;
    json_t *all = tree_object();
    for (size_t i = 0; i < count; i++) {
        if (list[i].kind != KIND_SAMPLED || h->options->compare.leave_out[i])
            continue;
        const size_t known = case_round_medians(one_case, list[i].name, round, median);
        json_t *values = tree_array();
        for (size_t r = 0; r < known; r++)
            tree_append(values, tree_number(median[r]));
        tree_put(all, list[i].name, values);
    }
    free(round);
    return all;
}

/* A case without its rounds; NULL if it is not chosen or was never measured. */
static json_t *kept_case(const struct history *h, const json_t *one_case)
{
    static const char *const members[] = {
        "id",       "key",           "status",  "reason", "program_digest", "inputs_digest",
        "counters", "traffic_bytes", "warnings"};
    if (!is_chosen(h, json_object_get(one_case, "key")) || case_is_skipped(one_case))
        return NULL;
    json_t *kept = tree_object();
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (json_object_get(one_case, members[i]))
            tree_put(kept, members[i], tree_share(one_case, members[i]));
    tree_put(kept, "medians", medians_of(h, one_case));
    return kept;
}

/* Has another file the same run? A copy would confirm what it copies. */
static const char *same_run(const struct history *h, const json_t *root)
{
    const json_t *run = json_object_get(root, "run");
    for (size_t i = 0; i < h->run_count; i++) {
        const json_t *other = json_object_get(h->run[i].root, "run");
        if (json_equal(json_object_get(run, "id"), json_object_get(other, "id")) &&
            json_equal(json_object_get(run, "started_at"), json_object_get(other, "started_at")))
            return h->run[i].name;
    }
    return NULL;
}

void history_add(struct history *h, json_t *root, const char *name, int64_t committed_at)
{
    static const char *const members[] = {"run", "context", "noise"};
    const char *other = same_run(h, root);
    json_t *kept = tree_object(), *cases = tree_array(), *one_case, *chosen;
    size_t i;
    json_array_foreach(json_object_get(root, "cases"), i, one_case)
    {
        if ((chosen = kept_case(h, one_case)))
            tree_append(cases, chosen);
    }
    for (i = 0; i < sizeof members / sizeof *members; i++)
        if (json_object_get(root, members[i]))
            tree_put(kept, members[i], tree_share(root, members[i]));
    tree_put(kept, "cases", cases);
    if (other || json_array_size(cases) == 0) {
        struct text reason = {0};
        text_add(&reason, "it has the run of %s again", other ? other : "");
        if (json_array_size(cases) == 0)
            h->without_cases++;
        else
            history_leave_out(h, name, reason.data);
        text_free(&reason);
        json_decref(kept);
        return;
    }
    h->run = must_grow(h->run, h->run_count, &h->run_room, sizeof *h->run);
    h->run[h->run_count++] = (struct run){
        .root = kept,
        .index = compare_index(kept),
        .name = arena_copy(&h->arena, name, strlen(name)),
        .machine =
            tree_get_text(json_object_get(json_object_get(kept, "context"), "host"), "machine_id"),
        .started_at = tree_get_text(json_object_get(kept, "run"), "started_at"),
        .committed_at = committed_at,
    };
}

/* ---- the order of runs ---------------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
    const struct run *x = a, *y = b;
    const int order = strcmp(x->started_at, y->started_at);
    return order ? order : strcmp(x->name, y->name);
}

static int by_commit(const void *a, const void *b)
{
    const struct run *x = a, *y = b;
    const int order = (x->committed_at > y->committed_at) - (x->committed_at < y->committed_at);
    return order ? order : by_start(a, b);
}

/* Returns whether the order is that of the commits. */
static bool sort_runs(struct history *h)
{
    bool is_known = h->run_count > 0;
    for (size_t i = 0; i < h->run_count; i++)
        is_known &= h->run[i].committed_at >= 0;
    if (h->run_count)
        qsort(h->run, h->run_count, sizeof *h->run, is_known ? by_commit : by_start);
    return is_known;
}

/* ---- chains --------------------------------------------------------------------------------- */

static struct comparer *comparer_between(struct history *h, size_t base, size_t candidate)
{
    for (size_t i = h->pair_count; i-- > 0;)
        if (h->pair[i]->base == base && h->pair[i]->candidate == candidate)
            return &h->pair[i]->comparer;
    struct pair *pair = must_alloc(sizeof *pair);
    *pair = (struct pair){base, candidate, comparer_of(&h->options->compare)};
    h->pair = must_grow(h->pair, h->pair_count, &h->pair_room, sizeof *h->pair);
    h->pair[h->pair_count++] = pair;
    compare_scopes(&pair->comparer, h->run[base].root, h->run[candidate].root, h->run[base].index);
    return &pair->comparer;
}

struct chains {
    unsigned count, room;
    struct chain *chain;
    json_t *newest; /* by id: one more than the index of the newest chain of a case */
};

/* Adds a case to the newest chain that it can be compared with, or begins one. */
static void add_point(struct history *h, struct chains *all, enum matters most,
                      const struct point *point)
{
    const char *id = tree_get_text(point->one_case, "id"), *begins = NULL;
    struct chain *chain = NULL;
    const size_t newest = (size_t)json_integer_value(json_object_get(all->newest, id));
    for (size_t i = newest; i > 0 && !chain; i = all->chain[i - 1].before) {
        const struct point *last = &all->chain[i - 1].point[all->chain[i - 1].count - 1];
        const struct scope scope = compare_case_scope(comparer_between(h, last->run, point->run),
                                                      last->one_case, point->one_case);
        if (scope.matters <= most)
            chain = &all->chain[i - 1];
        else if (!begins && strcmp(h->run[last->run].machine, h->run[point->run].machine) == 0)
            begins = scope.reason;
    }
    if (!chain) {
        all->chain = must_grow(all->chain, all->count, &all->room, sizeof *all->chain);
        chain = &all->chain[all->count++];
        *chain = (struct chain){.begins = begins, .before = newest};
        tree_put(all->newest, id, tree_count(all->count));
    }
    chain->point = must_grow(chain->point, chain->count, &chain->room, sizeof *chain->point);
    chain->point[chain->count++] = *point;
}

/* The chains whose cases differ in nothing that matters more than `most`. */
static struct chains chains_of(struct history *h, enum matters most)
{
    struct chains all = {.newest = tree_object()};
    for (size_t r = 0; r < h->run_count; r++) {
        const json_t *one_case;
        const json_t *cases = json_object_get(h->run[r].root, "cases");
        for (size_t i = 0; (one_case = json_array_get(cases, i)); i++)
            add_point(h, &all, most, &(struct point){r, one_case});
    }
    return all;
}

static void chains_free(struct chains *all)
{
    for (size_t i = 0; i < all->count; i++)
        free(all->chain[i].point);
    free(all->chain);
    json_decref(all->newest);
}

/* ---- one series ----------------------------------------------------------------------------- */

static const char *const doubts[] = {
    [STEP_CERTAIN] = NULL,
    [STEP_FEW_ROUNDS] = "too few rounds",
    [STEP_IN_FLOOR] = "not beyond the noise floor",
    [STEP_IN_SPREAD] = "not beyond the spread of the runs",
    [STEP_BY_CHANCE] = "may be chance",
};

struct series {
    struct history *h;
    const struct chain *chain;
    const struct counter_info *info;
    bool is_gated;
    json_t *points, *steps;
    size_t known; /* number of points with a value */
};

/* Is a run the newest of its machine? */
static bool is_newest(const struct history *h, size_t run)
{
    for (size_t i = run + 1; i < h->run_count; i++)
        if (strcmp(h->run[i].machine, h->run[run].machine) == 0)
            return false;
    return true;
}

static json_t *new_point(const struct series *s, size_t i, double value)
{
    const struct point *point = &s->chain->point[i];
    json_t *out =
        tree_pack("{s:o, s:o}", "run", tree_count(point->run), "value", tree_number(value));
    if (!case_is_ok(point->one_case))
        tree_put(out, "status", tree_share(point->one_case, "status"));
    tree_append(s->points, out);
    return out;
}

/* `from` and `to` are indices of points. `doubt`: NULL for a step. */
static json_t *new_step(const struct series *s, size_t from, size_t to, double old, double new,
                        double ratio, const char *doubt)
{
    const struct counter_info *info = s->info;
    const bool is_more = ratio > 1 || (isnan(ratio) && new > old);
    const bool is_sampled = info->kind == KIND_SAMPLED;
    const char *effect = info->better == BETTER_NEITHER              ? "none"
                         : is_more == (info->better == BETTER_LOWER) ? "worse"
                                                                     : "better";
    json_t *out = tree_pack("{s:o, s:o, s:o, s:o, s:o, s:s, s:s, s:b, s:b}", "before",
                            tree_count(s->chain->point[from].run), "run",
                            tree_count(s->chain->point[to].run), "old", tree_number(old), "new",
                            tree_number(new), "ratio", tree_number(ratio), "verdict",
                            doubt        ? "unsure"
                            : is_sampled ? is_more ? "slower" : "faster"
                            : is_more    ? "larger"
                                         : "smaller",
                            "effect", doubt ? "none" : effect, "gated", s->is_gated, "newest",
                            to + 1 == s->chain->count && is_newest(s->h, s->chain->point[to].run));
    tree_put(out, "reason", tree_text_or_null(doubt));
    tree_append(s->steps, out);
    return out;
}

/* ---- times ---------------------------------------------------------------------------------- */

struct times {
    struct arena arena;
    size_t count;
    size_t *point;        /* index of each run's point */
    struct step_run *run; /* the points with a value */
    double *median;       /* of each, in nanoseconds */
};

static void add_time(struct series *s, struct times *t, size_t i)
{
    const struct point *point = &s->chain->point[i];
    const json_t *medians =
        json_object_get(json_object_get(point->one_case, "medians"), s->info->name);
    const size_t count = json_array_size(medians);
    double *value = arena_alloc(&t->arena, (count + 1) * sizeof *value);
    for (size_t r = 0; r < count; r++)
        value[r] = json_number_value(json_array_get(medians, r));
    const struct statistics stats = statistics_of(value, count);
    json_t *out = new_point(s, i, stats.median);
    if (!count)
        return;
    tree_put(out, "rounds", tree_count(count));
    tree_put(out, "lo", tree_number(stats.ci_lo));
    tree_put(out, "hi", tree_number(stats.ci_hi));
    for (size_t r = 0; r < count; r++)
        value[r] = log(fmax(value[r], 1));
    const json_t *root = s->h->run[point->run].root;
    const size_t before = t->count ? s->chain->point[t->point[t->count - 1]].run : 0;
    t->median[t->count] = stats.median;
    t->point[t->count] = i;
    t->run[t->count] = (struct step_run){
        .value = value,
        .count = count,
        .floor = fmax(0, log1p(noise_floor(root, point->one_case, s->info->name))),
        .in_turns = t->count && noise_alternated(s->h->run[before].root, root),
    };
    t->count++;
}

/* The median of the runs of a level, from the `begin`-th to the step after it. */
static double level_of(const struct times *t, size_t begin, size_t end)
{
    double *values = must_alloc((end - begin) * sizeof *values);
    size_t count = 0;
    for (size_t i = begin; i < end; i++)
        if (!t->run[i].is_outlier)
            values[count++] = t->median[i];
    const double level = statistics_median(values, count);
    free(values);
    return level;
}

static json_t *interval_of(const struct rank_shift *shift)
{
    if (!isfinite(shift->lo) || !isfinite(shift->hi))
        return json_null();
    return tree_pack("[o, o]", tree_number(exp(shift->lo)), tree_number(exp(shift->hi)));
}

static void add_time_steps(struct series *s, const struct times *t, const struct steps *found)
{
    size_t begin = 0;
    for (size_t i = 0; i < found->count; i++) {
        const struct step *step = &found->step[i];
        size_t end = i + 1;
        while (end < found->count && found->step[end].doubt != STEP_CERTAIN)
            end++;
        const size_t next = end < found->count ? found->step[end].at : t->count;
        json_t *out =
            new_step(s, t->point[step->at - 1], t->point[step->at], level_of(t, begin, step->at),
                     level_of(t, step->at, next), exp(step->shift.estimate), doubts[step->doubt]);
        tree_put(out, "ci", interval_of(&step->shift));
        tree_put(out, "p", tree_number(step->shift.p));
        tree_put(out, "floor", tree_number(expm1(step->floor)));
        tree_put(out, "spread", tree_number(expm1(step->spread)));
        if (step->doubt == STEP_CERTAIN)
            begin = step->at;
    }
}

static void find_time_steps(struct series *s)
{
    const size_t most = s->chain->count;
    struct times t = {.point = must_alloc(most * sizeof *t.point),
                      .run = must_alloc(most * sizeof *t.run),
                      .median = must_alloc(most * sizeof *t.median)};
    for (size_t i = 0; i < most; i++)
        add_time(s, &t, i);
    const struct compare_options *o = &s->h->options->compare;
    const double series = s->h->time_series ? (double)s->h->time_series : 1;
    struct steps found = steps_find(t.run, t.count,
                                    &(struct step_rules){.alpha = o->alpha / series,
                                                         .series = s->h->time_series,
                                                         .limit = log1p(o->threshold)});
    add_time_steps(s, &t, &found);
    for (size_t i = 0; i < t.count; i++)
        if (t.run[i].is_outlier)
            tree_put(json_array_get(s->points, t.point[i]), "outlier", json_true());
    s->known = t.count;
    steps_free(&found);
    arena_free(&t.arena);
    free(t.point);
    free(t.run);
    free(t.median);
}

/* ---- exact counters ------------------------------------------------------------------------- */

static bool varies(const json_t *one_case, const char *phase, const char *name)
{
    const json_t *warnings = json_object_get(one_case, "warnings"), *warning;
    for (size_t i = 0; (warning = json_array_get(warnings, i)); i++) {
        const char *subject = tree_get_text(warning, "subject");
        const size_t length = strlen(phase);
        if (strcmp(tree_get_text(warning, "code"), "not-deterministic") == 0 &&
            strncmp(subject, phase, length) == 0 && subject[length] == '.' &&
            strcmp(subject + length + 1, name) == 0)
            return true;
    }
    return false;
}

static double counter_of(const json_t *one_case, const char *phase, const char *name)
{
    const json_t *counters = json_object_get(one_case, "counters");
    return case_is_ok(one_case) ? tree_get_number(json_object_get(counters, phase), name) : NAN;
}

static void find_counter_steps(struct series *s, const char *phase)
{
    size_t last = 0;
    double before = NAN;
    for (size_t i = 0; i < s->chain->count; i++) {
        const json_t *one_case = s->chain->point[i].one_case;
        const double value = counter_of(one_case, phase, s->info->name);
        new_point(s, i, value);
        if (isnan(value))
            continue;
        if (!isnan(before) && value != before) {
            const bool any_varies = varies(one_case, phase, s->info->name) ||
                                    varies(s->chain->point[last].one_case, phase, s->info->name);
            new_step(s, last, i, before, value, before > 0 ? value / before : NAN,
                     any_varies ? "not deterministic" : NULL);
        }
        before = value;
        last = i;
        s->known++;
    }
}

/* Are the counts of the cold runs those of the warm ones, everywhere? */
static bool is_cold_alike(const struct chain *chain, const char *name)
{
    for (size_t i = 0; i < chain->count; i++) {
        const double cold = counter_of(chain->point[i].one_case, "cold", name);
        const double warm = counter_of(chain->point[i].one_case, "warm", name);
        if (!isnan(cold) && cold != warm)
            return false;
    }
    return true;
}

/* ---- all series ----------------------------------------------------------------------------- */

/* Runs of the series' machines and device, since it began, that lack the case. */
static size_t missing_of(const struct history *h, const struct chain *chain)
{
    const char *id = tree_get_text(chain->point[0].one_case, "id");
    const char *device = tree_get_text(json_object_get(chain->point[0].one_case, "key"), "device");
    size_t missing = 0;
    for (size_t r = chain->point[0].run + 1; r < h->run_count; r++) {
        const json_t *cases = json_object_get(h->run[r].root, "cases"), *one_case;
        bool is_here = false, has_device = false;
        for (size_t i = 0; i < chain->count; i++)
            is_here |= strcmp(h->run[chain->point[i].run].machine, h->run[r].machine) == 0;
        for (size_t i = 0; is_here && !has_device && (one_case = json_array_get(cases, i)); i++)
            has_device =
                strcmp(tree_get_text(json_object_get(one_case, "key"), "device"), device) == 0;
        missing += has_device && !json_object_get(h->run[r].index, id);
    }
    return missing;
}

static json_t *machines_of(const struct history *h, const struct chain *chain)
{
    json_t *all = tree_array(), *known;
    for (size_t i = 0; i < chain->count; i++) {
        const char *machine = h->run[chain->point[i].run].machine;
        size_t k = 0;
        while ((known = json_array_get(all, k)) && strcmp(json_string_value(known), machine) != 0)
            k++;
        if (!known)
            tree_append(all, tree_text(machine));
    }
    return all;
}

/* `phase` is NULL for times. */
static void add_series(struct history *h, const struct chain *chain, size_t metric,
                       const char *phase, json_t *all)
{
    static const char *const key_members[] = {
#define X(member) #member,
        CASE_KEY_ALL_LIST(X)
#undef X
    };
    size_t count;
    const struct counter_info *info = &counter_list(&count)[metric];
    struct series s = {.h = h,
                       .chain = chain,
                       .info = info,
                       .is_gated = h->options->compare.gates.gate[metric].is_set,
                       .points = tree_array(),
                       .steps = tree_array()};
    if (phase)
        find_counter_steps(&s, phase);
    else
        find_time_steps(&s);
    const json_t *key = json_object_get(chain->point[0].one_case, "key");
    json_t *out = tree_pack("{s:o}", "id", tree_share(chain->point[0].one_case, "id"));
    for (size_t i = 0; i < sizeof key_members / sizeof *key_members; i++)
        if (json_object_get(key, key_members[i]))
            tree_put(out, key_members[i], tree_share(key, key_members[i]));
    tree_put(out, "machines", machines_of(h, chain));
    tree_put(out, "metric", tree_text(info->name));
    tree_put(out, "phase", tree_text_or_null(phase));
    tree_put(out, "unit", tree_text(counter_unit_name(info->unit)));
    tree_put(out, "gated", json_boolean(s.is_gated));
    tree_put(out, "begins", tree_text_or_null(chain->begins));
    tree_put(out, "known", tree_count(s.known));
    tree_put(out, "missing", tree_count(missing_of(h, chain)));
    tree_put(out, "points", s.points);
    tree_put(out, "steps", s.steps);
    tree_append(all, out);
}

static size_t chosen_metrics(const struct history *h, enum counter_kind kind)
{
    size_t count, chosen = 0;
    const struct counter_info *list = counter_list(&count);
    for (size_t m = 0; m < count; m++)
        chosen += list[m].kind == kind && !h->options->compare.leave_out[m];
    return chosen;
}

static void add_all_series(struct history *h, json_t *all)
{
    size_t count;
    const struct counter_info *list = counter_list(&count);
    struct chains times = chains_of(h, MATTERS_NOTHING), counts = chains_of(h, MATTERS_TIMES);
    for (size_t i = 0; i < times.count; i++)
        h->time_series += times.chain[i].count > 1;
    h->time_series *= chosen_metrics(h, KIND_SAMPLED);
    for (size_t m = 0; m < count; m++) {
        const bool is_time = list[m].kind == KIND_SAMPLED;
        const struct chains *chains = is_time ? &times : &counts;
        for (size_t i = 0; i < chains->count && !h->options->compare.leave_out[m]; i++) {
            const struct chain *chain = &chains->chain[i];
            add_series(h, chain, m, is_time ? NULL : "warm", all);
            if (!is_time && !is_cold_alike(chain, list[m].name))
                add_series(h, chain, m, "cold", all);
        }
    }
    chains_free(&times);
    chains_free(&counts);
}

/* ---- the tree ------------------------------------------------------------------------------- */

static json_t *describe_runs(const struct history *h)
{
    json_t *runs = tree_array();
    for (size_t i = 0; i < h->run_count; i++) {
        const struct run *r = &h->run[i];
        const json_t *run = json_object_get(r->root, "run");
        const json_t *context = json_object_get(r->root, "context");
        const json_t *tool = json_object_get(context, "tool");
        tree_append(runs,
                    tree_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
                              tree_text(r->name), "run", tree_share(run, "id"), "started_at",
                              tree_share(run, "started_at"), "status", tree_share(run, "status"),
                              "rounds", tree_share(run, "rounds"), "git_rev",
                              tree_share(tool, "git_rev"), "git_dirty",
                              tree_share(tool, "git_dirty"), "committed_at",
                              r->committed_at < 0 ? json_null() : json_integer(r->committed_at),
                              "machine_id", tree_text(r->machine)));
    }
    return runs;
}

/* Did a case that was ok before fail in the newest run? */
static bool has_newest_failed(const struct history *h, const json_t *series)
{
    const json_t *points = json_object_get(series, "points");
    const json_t *last = json_array_get(points, json_array_size(points) - 1);
    const size_t run = (size_t)tree_get_number(last, "run");
    return json_object_get(last, "status") && tree_get_number(series, "known") > 0 &&
           is_newest(h, run);
}

static enum compare_outcome outcome_of_steps(const json_t *series)
{
    enum compare_outcome outcome = COMPARE_ok;
    size_t i;
    json_t *step;
    json_array_foreach(json_object_get(series, "steps"), i, step)
    {
        if (!json_is_true(json_object_get(step, "newest")) ||
            !json_is_true(json_object_get(step, "gated")))
            continue;
        const bool is_unsure = strcmp(tree_get_text(step, "verdict"), "unsure") == 0;
        const bool is_worse = strcmp(tree_get_text(step, "effect"), "worse") == 0;
        const enum compare_outcome own = is_unsure  ? COMPARE_unsure
                                         : is_worse ? COMPARE_regression
                                                    : COMPARE_ok;
        outcome = own < outcome ? own : outcome;
    }
    return outcome;
}

static enum compare_outcome outcome_of_all(const struct history *h, const json_t *all)
{
    enum compare_outcome outcome = COMPARE_ok;
    size_t i, compared = 0;
    json_t *series;
    json_array_foreach((json_t *)all, i, series)
    {
        const enum compare_outcome own =
            has_newest_failed(h, series) ? COMPARE_failed : outcome_of_steps(series);
        outcome = own < outcome ? own : outcome;
        compared += tree_get_number(series, "known") > 1;
    }
    if (outcome == COMPARE_ok && json_array_size(h->left_out))
        outcome = COMPARE_unsure;
    return compared || outcome == COMPARE_failed ? outcome : COMPARE_incomparable;
}

json_t *history_tree(struct history *h)
{
    static const struct {
        const char *name, *sentence;
    } outcomes[] = {
        [COMPARE_incomparable] = {"incomparable", "no series has two results that can be compared"},
        [COMPARE_failed] = {"failed", "a case that was ok fails in the newest run"},
        [COMPARE_regression] = {"regression", "a gated metric is worse since the newest run"},
        [COMPARE_unsure] = {"unsure", "nothing is established to be worse since the newest run"},
        [COMPARE_ok] = {"ok", "nothing that is gated is worse since the newest run"},
    };
    const bool by_commits = sort_runs(h);
    json_t *series = tree_array();
    add_all_series(h, series);
    const enum compare_outcome outcome = outcome_of_all(h, series);
    return tree_pack(
        "{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:O, s:o, s:o}", "schema", HISTORY_SCHEMA, "verdict",
        outcomes[outcome].name, "sentence", outcomes[outcome].sentence, "order",
        by_commits ? "commits" : "runs", "alpha", tree_number(h->options->compare.alpha),
        "threshold", tree_number(h->options->compare.threshold), "runs", describe_runs(h),
        "left_out", h->left_out, "without_cases", tree_count(h->without_cases), "series", series);
}
