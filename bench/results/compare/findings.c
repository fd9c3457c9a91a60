/* The changes of a comparison in sentences: one for each configuration, the worst first.
 *
 * A sentence has a clause for each kind of metric that changed: the estimate and its interval, or
 * the smallest and the largest ratio, and the number of cases. Memory, driver calls and copies are
 * one kind each, because one cause changes several of their counters: the clause has the one that
 * changed the most. Only rows that are gated are told. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "base/text.h"
#include "base/tree.h"
#include "results/compare/comparer.h"
#include "results/file/answer.h"
#include "results/file/experiment_result.h"

enum { NAMES_MOST = 6 };

/* The rows of a configuration, or of an experiment, in one file. */
struct group {
    const struct compare_row **rows;
    unsigned count, room;
    const struct result *result; /* the candidate */
    const char *name, *sentence;
    double weight;           /* the largest first */
    unsigned unsure, rounds; /* gated rows that are unsure, and the rounds that would settle all */
    bool is_same_over_cases, cannot_settle;
};

static bool is_of(const struct compare_row *own, const struct compare_row *row)
{
    bool varies[4] = {false};
    answer_varies(varies, &own->of->key, &row->of->key);
    return own->file == row->file && own->experiment == row->experiment &&
           strcmp(own->of->key.device, row->of->key.device) == 0 &&
           !(varies[0] || varies[1] || varies[2] || varies[3]);
}

static bool is_gated_metric(const struct compare_row *row)
{
    return row->metric && row->gate;
}

/* The distance of a change from none, as a logarithm: infinite from 0, or to it. */
static double distance(const struct compare_row *row)
{
    const double ratio = compare_ratio(row);
    return ratio > 0 ? fabs(log(ratio)) : INFINITY;
}

/* What fails is worse than any change, and what is worse is than any that is better. */
static double weight(const struct compare_row *row)
{
    const bool counts = row->effect != CHANGE_NONE && (!row->metric || row->gate);
    const double far = row->metric ? fmin(distance(row), 999) : 1000;
    return !counts ? 0 : far + (row->effect == CHANGE_WORSE ? 1000 : 0);
}

static const char *name_of(struct arena *arena, const struct group *g)
{
    const struct compare_row *row = g->rows[0];
    const struct case_key *own = &row->of->key;
    bool varies[4] = {false}, has_devices = false;
    if (row->experiment)
        return row->experiment->name;
    for (size_t i = 0; i < g->result->case_count; i++) {
        answer_varies(varies, own, &g->result->cases[i].key);
        has_devices |= strcmp(own->device, g->result->cases[i].key.device) != 0;
    }
    varies[0] = true;
    return arena_printf(arena, "%s%s%s", answer_name(arena, varies, own), has_devices ? " on " : "",
                        has_devices ? own->device : "");
}

/* ---- a clause -------------------------------------------------------------------------------- */

static const char *kind_of(const struct compare_row *row)
{
    static const char *const kinds[] = {"peak_*_bytes", "driver_*_count", "copy_*"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !row->experiment; i++)
        if (text_glob(kinds[i], row->metric->name))
            return kinds[i];
    return row->metric->name;
}

static bool is_told_with(const struct compare_row *row, const struct compare_row *other)
{
    return is_gated_metric(row) && row->effect == other->effect &&
           strcmp(kind_of(row), kind_of(other)) == 0;
}

static void add_value(struct text *out, const struct compare_row *row, double value)
{
    char text[32];
    if (row->metric->unit == UNIT_NS || row->metric->unit == UNIT_BYTES)
        text_add(out, "%s",
                 row->metric->unit == UNIT_NS ? text_ns(text, value)
                                              : text_bytes(text, (uint64_t)value));
    else
        text_add(out, "%.4g", value);
}

static void add_ratio(struct text *out, const char *before, double ratio)
{
    text_add(out, "%s%.*f", before, ratio < 9.995 ? 2 : ratio < 99.95 ? 1 : 0, ratio);
}

static void add_case(struct text *out, const struct compare_row *row)
{
    if (row->experiment)
        experiment_row_words(row->experiment, row->of, out);
    else
        text_add(out, "%s %s", row->of->key.workload, row->of->key.dataset);
}

/* " in canny small", which is not said again; " in 5 of 6 cases" */
static void add_place(struct text *out, const struct group *g, const struct compare_row *row,
                      size_t cases)
{
    struct text place = {0};
    size_t total = 0;
    char count[48];
    for (size_t i = 0; i < g->result->case_count; i++)
        total += is_of(row, &(struct compare_row){.file = row->file, .of = &g->result->cases[i]});
    total = total > cases ? total : cases;
    text_add(&place, cases > 1 && cases < total ? " in %zu of " : " in ", cases);
    if (cases == 1)
        add_case(&place, row);
    else
        text_add(&place, "%s", text_count(count, (double)total, row->experiment ? "row" : "case"));
    if (cases > 1 || !out->data || !strstr(out->data, place.data))
        text_add(out, "%s", place.data);
    text_free(&place);
}

/* "takes 1.74 [1.69, 2.45] times as long" */
static void add_amount(struct text *out, const struct compare_row *row, double least, double most)
{
    static const char *const words[][3] = {{"wall_ns", "takes", "as long"},
                                           {"peak_reserved_bytes", "holds", "as much"},
                                           {"peak_granted_bytes", "grants", "as much"},
                                           {"peak_requested_bytes", "requests", "as much"},
                                           {NULL, "has", NULL}};
    const char *name = row->metric->name;
    size_t w = 0;
    while (words[w][0] && strcmp(words[w][0], name) != 0)
        w++;
    text_add(out, "%s ", words[w][1]);
    if (!(least > 0 && isfinite(most))) {
        text_add(out, "another %s", name);
    } else if (row->metric->kind == KIND_EXACT && fmax(fabs(least - 1), fabs(most - 1)) < 0.005) {
        add_value(out, row, fabs(row->candidate - row->base));
        text_add(out, row->candidate > row->base ? " more" : " less");
        text_add(out, words[w][2] ? "" : " of %s", name);
    } else {
        add_ratio(out, "", least);
        if (most > least) {
            add_ratio(out, " to ", most);
        } else if (row->has_test && isfinite(row->shift.lo) && isfinite(row->shift.hi)) {
            add_ratio(out, " [", compare_ratio_of(row->shift.lo));
            add_ratio(out, ", ", compare_ratio_of(row->shift.hi));
            text_add(out, "]");
        }
        text_add(out, words[w][2] ? " times %s" : " times the %s",
                 words[w][2] ? words[w][2] : name);
    }
}

/* "takes 1.74 [1.69, 2.45] times as long over 6 cases (5 established alone)", "holds 4.00 to 31.0
 * times as much in 6 cases (srad small: 1.00 MiB before, 31.0 MiB now)" */
static void add_clause(struct text *out, const struct group *g, const struct compare_row *first)
{
    const struct compare_row *over_cases = NULL, *farthest = NULL, *row;
    const struct result_case *last = NULL;
    double least = INFINITY, most = -INFINITY;
    size_t cases = 0;
    for (unsigned i = 0; i < g->count; i++) {
        row = g->rows[i];
        if (!is_told_with(row, first))
            continue;
        if (row->cases)
            over_cases = row;
        else if (!farthest || distance(row) > distance(farthest) ||
                 (!(distance(row) < distance(farthest)) &&
                  strcmp(row->metric->name, "peak_reserved_bytes") == 0))
            farthest = row;
    }
    for (unsigned i = 0; i < g->count && farthest; i++) {
        row = g->rows[i];
        if (!is_told_with(row, first) || row->cases || row->metric != farthest->metric)
            continue;
        least = fmin(least, compare_ratio(row));
        most = fmax(most, compare_ratio(row));
        cases += row->of != last;
        last = row->of;
    }
    if (over_cases) {
        add_amount(out, over_cases, compare_ratio(over_cases), compare_ratio(over_cases));
        text_add(out, " over %zu cases (", over_cases->cases);
        text_add(out, cases ? "%zu established alone)" : "none established alone)", cases);
        return;
    }
    add_amount(out, farthest, least, most);
    add_place(out, g, farthest, cases);
    text_add(out, " (");
    if (cases > 1)
        add_case(out, farthest);
    text_add(out, cases > 1 ? ": " : "");
    add_value(out, farthest, farthest->base);
    text_add(out, " before, ");
    add_value(out, farthest, farthest->candidate);
    text_add(out, " now)");
}

/* ---- a sentence ------------------------------------------------------------------------------ */

/* "fails in canny small (wrong: made to fail)" */
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

static void write_sentence(struct arena *arena, struct group *g)
{
    struct text out = {0};
    add_status(&out, g, VERDICT_wrong);
    add_status(&out, g, VERDICT_gone);
    for (int effect = CHANGE_WORSE; effect > CHANGE_NONE; effect--)
        for (unsigned i = 0, j; i < g->count; i++) {
            const struct compare_row *row = g->rows[i];
            if (!is_gated_metric(row) || row->effect != (enum change)effect)
                continue;
            for (j = 0; !is_told_with(g->rows[j], row); j++)
                ;
            text_add(&out, "%s", j == i && out.length ? " and " : "");
            if (j == i)
                add_clause(&out, g, row);
        }
    g->sentence = arena_copy(arena, out.length ? out.data : "", out.length);
    text_free(&out);
}

ORDER_FROM_MOST(worst_first, struct group, weight, rows[0])

static struct group *groups_of(struct comparer *c, const struct compare_file *candidate,
                               unsigned *count)
{
    struct group *groups = NULL;
    unsigned room = 0;
    *count = 0;
    for (unsigned i = 0, g; i < c->row_count; i++) {
        const struct compare_row *row = &c->rows[i];
        for (g = 0; g < *count && !is_of(groups[g].rows[0], row); g++)
            ;
        if (g == *count) {
            groups = arena_grow(&c->arena, groups, (*count)++, &room, sizeof *groups);
            groups[g] = (struct group){.result = candidate[row->file].result};
        }
        struct group *own = &groups[g];
        own->rows = arena_grow(&c->arena, own->rows, own->count, &own->room, sizeof *own->rows);
        own->rows[own->count++] = row;
        own->weight = fmax(own->weight, weight(row));
        if (is_gated_metric(row) && row->verdict == VERDICT_unsure) {
            own->unsure++;
            own->cannot_settle |= row->rounds_needed == 0;
            own->rounds = row->rounds_needed > own->rounds ? row->rounds_needed : own->rounds;
        }
        own->is_same_over_cases |= row->cases && row->verdict == VERDICT_same;
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
    return a->rows[0]->file == b->rows[0]->file && !a->unsure == !b->unsure &&
           a->is_same_over_cases == b->is_same_over_cases && a->cannot_settle == b->cannot_settle &&
           strcmp(a->sentence, b->sentence) == 0;
}

json_t *compare_findings(struct comparer *c, const struct compare_file *candidate)
{
    json_t *out = tree_array();
    unsigned count;
    struct group *groups = groups_of(c, candidate, &count);
    for (unsigned g = 0, j = 0; g < count; g++, j = 0) {
        const struct group *first = &groups[g];
        struct text line = {0};
        char metrics[48];
        unsigned names = 0, unsure = 0, rounds = 0;
        while (!is_one_line(&groups[j], first))
            j++;
        if (j < g || (!*first->sentence && !first->unsure))
            continue;
        if (c->file_count > 1)
            text_add(&line, "%s: ", candidate[first->rows[0]->file].name);
        for (; j < count; j++) {
            if (!is_one_line(&groups[j], first))
                continue;
            if (names++ < NAMES_MOST)
                text_add(&line, "%s%s", names > 1 ? ", " : "", groups[j].name);
            unsure += groups[j].unsure;
            rounds = groups[j].rounds > rounds ? groups[j].rounds : rounds;
        }
        if (names > NAMES_MOST)
            text_add(&line, " and %u more", names - NAMES_MOST);
        text_add(&line, "%s %s", names > 1 || !*first->sentence ? ":" : "", first->sentence);
        if (!*first->sentence)
            text_add(&line, "%s%s unsure",
                     first->is_same_over_cases ? "unchanged over all cases; " : "",
                     text_count(metrics, unsure, "gated metric"));
        if (!*first->sentence && !first->cannot_settle)
            text_add(&line, ": about %u rounds would settle %s", rounds, unsure > 1 ? "all" : "it");
        tree_append(out, tree_text(line.data));
        text_free(&line);
    }
    return out;
}
