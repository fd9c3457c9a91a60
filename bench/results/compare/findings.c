/* The changes of a comparison in sentences: one for each configuration, the worst first.
 *
 * A sentence has a clause for each kind of metric that changed: the estimate and its interval, or
 * the smallest and the largest ratio, and the number of programs. Memory, driver calls and copies
 * are one kind each, because one cause changes several of their counters: the clause has the one
 * that changed the most. Only rows that are gated are told. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/tree.h"
#include "results/compare/comparer.h"
#include "results/facts/case.h"
#include "results/file/answer.h"
#include "results/file/experiment_result.h"

enum { NAMES_MOST = 6 };

/* What was run in one way: the rows of a configuration, or of an experiment, in one file. */
struct group {
    const struct compare_row **rows;
    unsigned count, room;
    const struct result *result; /* the candidate */
    const char *name;
    bool fails, is_worse, is_better, is_unsure, is_same_over_cases;
    double farthest; /* of what is worse, or else better: the distance of the ratio from 1 */
    const char *sentence;
};

static bool is_of(const struct group *g, const struct compare_row *row)
{
    const struct compare_row *own = g->rows[0];
    const struct case_key *a = &own->of->key, *b = &row->of->key;
    bool varies[4] = {false};
    answer_varies(varies, a, b);
    return own->file == row->file && own->experiment == row->experiment &&
           strcmp(a->device, b->device) == 0 && !(varies[0] || varies[1] || varies[2] || varies[3]);
}

static bool is_status(const struct compare_row *row)
{
    return row->verdict == VERDICT_wrong || row->verdict == VERDICT_gone;
}

/* The distance of a change from none, as a logarithm: infinite from 0, or to it. */
static double distance(const struct compare_row *row)
{
    const double ratio = row->metric ? compare_ratio(row) : NAN;
    return ratio > 0 ? fabs(log(ratio)) : INFINITY;
}

static const char *name_of(struct arena *arena, const struct group *g)
{
    const struct compare_row *row = g->rows[0];
    const char *first = g->result->case_count ? g->result->cases[0].key.device : "";
    bool varies[4] = {false}, has_devices = strcmp(row->of->key.device, first) != 0;
    if (row->experiment)
        return row->experiment->name;
    for (size_t i = 0; i < g->result->case_count; i++) {
        const struct case_key *key = &g->result->cases[i].key;
        answer_varies(varies, &row->of->key, key);
        has_devices |= strcmp(key->device, first) != 0;
    }
    varies[0] = true;
    return arena_printf(arena, "%s%s%s", answer_name(arena, varies, &row->of->key),
                        has_devices ? " on " : "", has_devices ? row->of->key.device : "");
}

/* ---- one clause ------------------------------------------------------------------------------ */

/* The rows that a clause tells. */
struct changed {
    const struct compare_row *farthest, *over_cases;
    double least, most; /* ratios of the metric of `farthest` */
    size_t cases;
};

static const char *kind_of(const struct compare_row *row)
{
    const char *name = row->metric->name;
    static const char *const kinds[] = {"peak_*_bytes", "driver_*_count", "copy_*"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !row->experiment; i++)
        if (text_glob(kinds[i], name))
            return kinds[i];
    return name;
}

static bool is_told_with(const struct compare_row *row, const struct compare_row *other)
{
    return row->metric && row->gate && row->effect == other->effect &&
           strcmp(kind_of(row), kind_of(other)) == 0;
}

static struct changed changed_with(const struct group *g, const struct compare_row *first)
{
    struct changed all = {.least = INFINITY, .most = -INFINITY};
    const struct result_case *last = NULL;
    for (unsigned i = 0; i < g->count; i++) {
        const struct compare_row *row = g->rows[i], *old = all.farthest;
        if (!is_told_with(row, first))
            continue;
        if (row->cases) {
            all.over_cases = row;
            continue;
        }
        const double further = old ? distance(row) - distance(old) : 1;
        if (further > 0 ||
            (!(further < 0) && strcmp(row->metric->name, "peak_reserved_bytes") == 0))
            all.farthest = row;
    }
    for (unsigned i = 0; i < g->count; i++) {
        const struct compare_row *row = g->rows[i];
        if (!is_told_with(row, first) || row->cases || row->metric != all.farthest->metric)
            continue;
        all.least = fmin(all.least, compare_ratio(row));
        all.most = fmax(all.most, compare_ratio(row));
        all.cases += row->of != last;
        last = row->of;
    }
    return all;
}

static void add_value(struct text *out, const struct compare_row *row, double value)
{
    char text[64];
    if (row->metric->unit == UNIT_NS)
        text_add(out, "%s", text_ns(text, value));
    else if (row->metric->unit == UNIT_BYTES)
        text_add(out, "%s", text_bytes(text, (uint64_t)value));
    else
        text_add(out, "%.4g", value);
}

/* Three digits, as "1.74", "31.0", "1900". */
static void add_ratio(struct text *out, double ratio)
{
    text_add(out, "%.*f", ratio < 9.995 ? 2 : ratio < 99.95 ? 1 : 0, ratio);
}

/* "program", or as replays have it "trace". */
static const char *thing_of(const struct group *g)
{
    return g->rows[0]->experiment                                     ? "row"
           : strcmp(g->rows[0]->of->key.device, CASE_DRY_DEVICE) == 0 ? "trace"
                                                                      : "program";
}

static void add_case(struct text *out, const struct compare_row *row)
{
    const struct case_key *key = &row->of->key;
    if (row->experiment)
        experiment_row_words(row->experiment, row->of, out);
    else
        text_add(out, "%s%s%s", key->workload, *key->dataset ? " " : "", key->dataset);
}

/* " in canny small", which is not said again; " in 5 of 6 programs" */
static void add_place(struct text *out, const struct group *g, const struct compare_row *row,
                      size_t cases)
{
    size_t total = row->experiment ? row->experiment->row_count : 0;
    struct text place = {0};
    char count[48];
    for (size_t i = 0; i < g->result->case_count && !row->experiment; i++) {
        const struct compare_row other = {
            .file = row->file, .experiment = NULL, .of = &g->result->cases[i]};
        total += is_of(g, &other);
    }
    text_add(&place, " in ");
    if (cases == 1)
        add_case(&place, row);
    else if (cases < total)
        text_add(&place, "%zu of %s", cases, text_count(count, (double)total, thing_of(g)));
    else
        text_add(&place, "%s", text_count(count, (double)cases, thing_of(g)));
    if (cases != 1 || !out->data || !strstr(out->data, place.data))
        text_add(out, "%s", place.data);
    text_free(&place);
}

/* "takes 1.74 [1.69, 2.45] times as long" */
static void add_amount(struct text *out, const struct compare_row *row, double least, double most)
{
    static const struct {
        const char *metric, *verb, *times;
    } words[] = {{"wall_ns", "takes", "as long"},
                 {"peak_reserved_bytes", "holds", "as much"},
                 {"peak_granted_bytes", "grants", "as much"},
                 {"peak_requested_bytes", "requests", "as much"}};
    enum { WORDS = sizeof words / sizeof *words };
    const char *name = row->metric->name;
    size_t w = 0;
    while (w < WORDS && strcmp(words[w].metric, name) != 0)
        w++;
    text_add(out, "%s ", w < WORDS ? words[w].verb : "has");
    if (!(least > 0 && isfinite(most))) {
        text_add(out, "another %s", name);
        return;
    }
    if (row->metric->kind == KIND_EXACT && fabs(least - 1) < 0.005 && fabs(most - 1) < 0.005) {
        add_value(out, row, fabs(row->candidate - row->base));
        text_add(out, row->candidate > row->base ? " more" : " less");
        if (w == WORDS)
            text_add(out, " of %s", name);
        return;
    }
    add_ratio(out, least);
    if (most > least) {
        text_add(out, " to ");
        add_ratio(out, most);
    } else if (row->has_test && isfinite(row->shift.lo) && isfinite(row->shift.hi)) {
        text_add(out, " [");
        add_ratio(out, compare_ratio_of(row->shift.lo));
        text_add(out, ", ");
        add_ratio(out, compare_ratio_of(row->shift.hi));
        text_add(out, "]");
    }
    text_add(out, w < WORDS ? " times %s" : " times the %s", w < WORDS ? words[w].times : name);
}

/* "takes 1.74 [1.69, 2.45] times as long over 6 programs (5 established alone)", "holds 4.00 to
 * 31.0 times as much in 6 programs (srad small: 1.00 MiB before, 31.0 MiB now)" */
static void add_clause(struct text *out, const struct group *g, const struct compare_row *first)
{
    const struct changed all = changed_with(g, first);
    const struct compare_row *row = all.over_cases ? all.over_cases : all.farthest;
    char count[48];
    if (all.over_cases) {
        add_amount(out, row, compare_ratio(row), compare_ratio(row));
        text_add(out, " over %s (", text_count(count, (double)row->cases, thing_of(g)));
        text_add(out, all.cases ? "%zu" : "none", all.cases);
        text_add(out, " established alone)");
        return;
    }
    add_amount(out, row, all.least, all.most);
    add_place(out, g, row, all.cases);
    text_add(out, " (");
    if (all.cases > 1) {
        add_case(out, row);
        text_add(out, ": ");
    }
    add_value(out, row, row->base);
    text_add(out, " before, ");
    add_value(out, row, row->candidate);
    text_add(out, " now)");
}

/* "fails in canny small: wrong (made to fail)", "lacks 2 of 6 programs" */
static void add_status(struct text *out, const struct group *g, enum verdict verdict)
{
    const struct compare_row *first = NULL;
    size_t cases = 0;
    for (unsigned i = 0; i < g->count; i++)
        if (g->rows[i]->verdict == verdict && cases++ == 0)
            first = g->rows[i];
    if (!first)
        return;
    text_add(out, "%s%s", out->length ? " and " : "",
             verdict == VERDICT_gone ? "was not run" : "fails");
    add_place(out, g, first, cases);
    if (first->candidate_case)
        text_add(out, " (%s%s%s)", case_status_name(first->candidate_case->status),
                 first->reason ? ": " : "", first->reason ? first->reason : "");
}

/* ---- one sentence ---------------------------------------------------------------------------- */

static void write_sentence(struct arena *arena, struct group *g)
{
    static const enum change order[] = {CHANGE_WORSE, CHANGE_BETTER};
    struct text out = {0};
    add_status(&out, g, VERDICT_wrong);
    add_status(&out, g, VERDICT_gone);
    for (size_t o = 0; o < 2; o++)
        for (unsigned i = 0, j; i < g->count; i++) {
            const struct compare_row *row = g->rows[i];
            if (!row->metric || !row->gate || row->effect != order[o])
                continue;
            for (j = 0; j < i && !is_told_with(g->rows[j], row); j++)
                ;
            if (j < i)
                continue;
            text_add(&out, "%s", out.length ? " and " : "");
            add_clause(&out, g, row);
        }
    g->sentence = arena_copy(arena, out.length ? out.data : "", out.length);
    text_free(&out);
}

static void note_row(struct group *g, const struct compare_row *row)
{
    const bool is_gated = row->metric && row->gate;
    g->fails |= is_status(row);
    if (is_gated && row->effect == CHANGE_WORSE && !g->is_worse)
        g->farthest = 0;
    g->is_worse |= is_gated && row->effect == CHANGE_WORSE;
    g->is_better |= is_gated && row->effect == CHANGE_BETTER;
    g->is_unsure |= is_gated && row->verdict == VERDICT_unsure;
    g->is_same_over_cases |= is_gated && row->cases && row->verdict == VERDICT_same;
    if (is_gated && row->effect == (g->is_worse ? CHANGE_WORSE : CHANGE_BETTER))
        g->farthest = fmax(g->farthest, distance(row));
}

static int worst_first(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    const int order_x = x->fails * 4 + x->is_worse * 2 + x->is_better;
    const int order_y = y->fails * 4 + y->is_worse * 2 + y->is_better;
    const int order = order_y - order_x;
    if (order || x->farthest != y->farthest)
        return order ? order : (x->farthest < y->farthest) - (x->farthest > y->farthest);
    return x->rows[0] < y->rows[0] ? -1 : x->rows[0] > y->rows[0];
}

static struct group *groups_of(struct comparer *c, const struct compare_file *candidate,
                               unsigned *count)
{
    struct group *groups = NULL;
    unsigned room = 0;
    *count = 0;
    for (unsigned i = 0, g; i < c->row_count; i++) {
        const struct compare_row *row = &c->rows[i];
        for (g = 0; g < *count && !is_of(&groups[g], row); g++)
            ;
        if (g == *count) {
            groups = arena_grow(&c->arena, groups, (*count)++, &room, sizeof *groups);
            groups[g] = (struct group){.result = candidate[row->file].result};
        }
        struct group *own = &groups[g];
        own->rows = arena_grow(&c->arena, own->rows, own->count, &own->room, sizeof *own->rows);
        own->rows[own->count++] = row;
        note_row(own, row);
    }
    for (unsigned g = 0; g < *count; g++) {
        groups[g].name = name_of(&c->arena, &groups[g]);
        write_sentence(&c->arena, &groups[g]);
    }
    if (*count)
        qsort(groups, *count, sizeof *groups, worst_first);
    return groups;
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* Groups of which the same is said stand in one line: "raw, pool and 2 more: …" */
static bool is_one_line(const struct group *a, const struct group *b)
{
    return a->rows[0]->file == b->rows[0]->file && a->fails == b->fails &&
           a->is_unsure == b->is_unsure && a->is_same_over_cases == b->is_same_over_cases &&
           strcmp(a->sentence, b->sentence) == 0;
}

static void add_unsure(struct text *out, const struct group *groups, unsigned first, unsigned count)
{
    unsigned rounds = 0, rows = 0;
    char metrics[48];
    bool can_settle = true;
    for (unsigned g = first; g < count; g++)
        for (unsigned i = 0; i < groups[g].count && is_one_line(&groups[first], &groups[g]); i++) {
            const struct compare_row *row = groups[g].rows[i];
            if (row->verdict != VERDICT_unsure || !row->gate)
                continue;
            rows++;
            can_settle &= row->rounds_needed > 0;
            rounds = row->rounds_needed > rounds ? row->rounds_needed : rounds;
        }
    if (groups[first].is_same_over_cases)
        text_add(out, "unchanged over all programs; ");
    text_add(out, rows == 1 ? "%s is unsure" : "%s are unsure",
             text_count(metrics, rows, "gated metric"));
    if (can_settle && rounds)
        text_add(out, ": about %u rounds would settle %s", rounds, rows == 1 ? "it" : "them");
}

json_t *compare_findings(struct comparer *c, const struct compare_file *candidate)
{
    json_t *out = tree_array();
    unsigned count;
    struct group *groups = groups_of(c, candidate, &count);
    for (unsigned g = 0, j; g < count; g++) {
        const struct group *first = &groups[g];
        struct text line = {0};
        unsigned names = 0;
        for (j = 0; j < g && !is_one_line(&groups[j], first); j++)
            ;
        if (j < g || (!*first->sentence && !first->is_unsure))
            continue;
        if (c->file_count > 1)
            text_add(&line, "%s: ", candidate[first->rows[0]->file].name);
        for (j = g; j < count; j++)
            if (is_one_line(&groups[j], first) && names++ < NAMES_MOST)
                text_add(&line, "%s%s", names > 1 ? ", " : "", groups[j].name);
        if (names > NAMES_MOST)
            text_add(&line, " and %u more", names - NAMES_MOST);
        text_add(&line, "%s ", names > 1 || !*first->sentence ? ":" : "");
        if (*first->sentence)
            text_add(&line, "%s", first->sentence);
        else
            add_unsure(&line, groups, g, count);
        tree_append(out, tree_text(line.data));
        text_free(&line);
    }
    return out;
}
