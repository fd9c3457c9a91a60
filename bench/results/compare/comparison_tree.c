/* A comparison as JSON. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "base/text.h"
#include "base/tree.h"
#include "results/compare/comparer.h"
#include "results/facts/case.h"
#include "results/file/experiment_result.h"

static const char *const outcome_names[] = {COMPARE_OUTCOME_LIST(TEXT_NAME)};
enum { OUTCOMES = sizeof outcome_names / sizeof *outcome_names };

enum compare_outcome compare_outcome(const json_t *comparison)
{
    const char *verdict = tree_get_text(comparison, "verdict");
    int outcome = 0;
    while (outcome < OUTCOMES - 1 && strcmp(outcome_names[outcome], verdict) != 0)
        outcome++;
    return (enum compare_outcome)outcome;
}

static bool is_gated(const struct compare_row *row)
{
    return row->gate || !row->metric;
}

/* The part of the outcome that one row decides. */
static enum compare_outcome outcome_of(const struct compare_row *row)
{
    if (row->verdict == VERDICT_wrong || row->verdict == VERDICT_gone)
        return COMPARE_failed;
    if (row->is_regression)
        return COMPARE_regression;
    return row->verdict == VERDICT_dropped || (row->verdict == VERDICT_unsure && row->gate)
               ? COMPARE_unsure
               : COMPARE_ok;
}

static json_t *interval(const struct compare_row *row)
{
    if (!row->has_test || !isfinite(row->shift.lo) || !isfinite(row->shift.hi) ||
        isnan(compare_ratio(row)))
        return json_null();
    return tree_pack("[o, o]", tree_number(compare_ratio_of(row->shift.lo)),
                     tree_number(compare_ratio_of(row->shift.hi)));
}

static json_t *status_of(const struct result_case *one)
{
    return tree_text(one ? case_status_name(one->status) : "absent");
}

static void put_metric(json_t *out, const struct compare_row *row)
{
    const bool is_sampled = row->metric->kind == KIND_SAMPLED;
    tree_put(out, "metric", tree_text(row->metric->name));
    if (!row->experiment)
        tree_put(out, "phase", tree_text(row->is_cold ? "cold" : "warm"));
    tree_put(out, "kind", tree_text(is_sampled ? "sampled" : "exact"));
    tree_put(out, "unit", tree_text(counter_unit_name(row->metric->unit)));
    tree_put(out, "base", tree_number(row->base));
    tree_put(out, "new", tree_number(row->candidate));
    tree_put(out, "ratio", tree_number(compare_ratio(row)));
    if (is_sampled) {
        tree_put(out, "ci", interval(row));
        tree_put(out, "p", row->has_test ? tree_number(row->shift.p) : json_null());
        tree_put(out, "p_adj", tree_number(row->p_adjusted));
        tree_put(out, "limit", tree_number(expm1(row->limit)));
        tree_put(out, "floor", row->floor > 0 ? tree_number(expm1(row->floor)) : json_null());
        tree_put(
            out, "rounds",
            tree_pack("[o, o]", tree_count(row->base_rounds), tree_count(row->candidate_rounds)));
        if (row->verdict == VERDICT_unsure)
            tree_put(out, "rounds_needed", tree_count_or_null(row->rounds_needed));
    }
}

/* Puts the names that identify the row of an experiment. */
static void put_experiment(json_t *out, const struct result_experiment *experiment,
                           const struct result_case *row)
{
    char id[13];
    struct text words = {0}, all = {0};
    experiment_row_words(experiment, row, &words);
    text_add(&all, "%s\n%s\n%s", experiment->name, experiment->device, words.data);
    snprintf(id, sizeof id, "%012" PRIx64, digest_bytes(0, all.data, all.length) >> 16);
    tree_put(out, "id", tree_text(id));
    tree_put(out, "experiment", tree_text(experiment->name));
    tree_put(out, "row", tree_text(words.data));
    tree_put(out, "device", tree_text(experiment->device));
    text_free(&words);
    text_free(&all);
}

static json_t *row_to_json(const struct compare_row *row)
{
    static const char *const effects[] = {
        [CHANGE_NONE] = "none", [CHANGE_BETTER] = "better", [CHANGE_WORSE] = "worse"};
    json_t *out = tree_object();
    tree_put(out, "file", tree_count(row->file));
    if (row->experiment) {
        put_experiment(out, row->experiment, row->of);
    } else {
        tree_put(out, "id", tree_text(row->of->id));
        json_put_fields(out, case_key_struct.fields, &row->of->key);
    }
    if (row->cases)
        tree_put(out, "cases", tree_count(row->cases));
    if (row->metric) {
        put_metric(out, row);
    } else {
        tree_put(out, "metric", json_null());
        tree_put(out, "kind", tree_text("status"));
        tree_put(out, "base", status_of(row->base_case));
        tree_put(out, "new", status_of(row->candidate_case));
    }
    tree_put(out, "verdict", tree_text(verdict_names[row->verdict]));
    tree_put(out, "effect", tree_text(effects[row->effect]));
    tree_put(out, "gated", json_boolean(is_gated(row)));
    tree_put(out, "regression", json_boolean(row->is_regression));
    tree_put(out, "reason", tree_text_or_null(row->reason));
    return out;
}

/* Times without a gate have a row only where they changed. */
static bool has_row(const struct comparer *c, const struct compare_row *row)
{
    return c->options->keep_equal || is_gated(row) || row->metric->kind == KIND_EXACT ||
           row->effect != CHANGE_NONE;
}

static json_t *describe_file(const struct compare_file *file)
{
    const struct result_run *run = &file->result->run;
    const struct record_tool *tool = &file->result->context.tool;
    const size_t rows = experiment_row_count(file->result);
    json_t *out = tree_pack("{s:o, s:s, s:s, s:s, s:o}", "name", tree_text(file->name), "run",
                            run->id, "started_at", run->started_at, "status",
                            run_status_name(run->status), "rounds", tree_count(run->rounds));
    tree_put(out, "git_rev", json_field_value(record_tool_struct.fields, "git_rev", tool));
    tree_put(out, "git_dirty", json_field_value(record_tool_struct.fields, "git_dirty", tool));
    tree_put(out, "cases", tree_count(file->result->case_count));
    if (rows)
        tree_put(out, "experiment_rows", tree_count(rows));
    return out;
}

/* Counts the rows of each verdict: of all, or of the gated ones. */
static json_t *count_verdicts(const struct comparer *c, bool gated)
{
    json_t *out = tree_object();
    for (int v = 0; v < VERDICTS; v++) {
        size_t count = 0;
        for (size_t i = 0; i < c->row_count; i++)
            count += c->rows[i].verdict == (enum verdict)v && (!gated || is_gated(&c->rows[i]));
        if (v == VERDICT_same)
            count += gated ? c->gated_equal_count : c->equal_count;
        tree_put(out, verdict_names[v], tree_count(count));
    }
    return out;
}

static void add_notes(struct comparer *c, enum compare_outcome outcome)
{
    size_t count, too_few = 0;
    const struct counter_info *list = counter_list(&count);
    unsigned least = 0;
    for (size_t i = 0; i < c->row_count; i++) {
        const struct compare_row *row = &c->rows[i];
        if (!row->has_test || !row->gate || row->cases)
            continue;
        least = least ? least : rank_least_rounds(compare_least_alpha(c, row), c->by);
        too_few += row->base_rounds < least && row->candidate_rounds < least;
    }
    if (too_few)
        compare_note(
            c,
            "%u gated times: a change of one can be established with %u rounds and more; %zu "
            "of them have fewer",
            c->family[0], least, too_few);
    if (c->times_left_out)
        compare_note(c, "%zu times are left out: device, driver, machine or build differ",
                     c->times_left_out);
    if (!c->by && !c->options->force &&
        (c->times_left_out || c->all.dropped || outcome == COMPARE_incomparable))
        compare_note(c, "gamut compare --force-compare leaves out and drops nothing");
    if (c->alone_count)
        compare_note(c, "%zu cases have no counterpart that was run", c->alone_count);
    if (c->other_bits_count)
        compare_note(c, "%zu answers differ in bits, each within what its check allows",
                     c->other_bits_count);
    for (size_t i = 0; i < count; i++)
        for (int side = 0; side < 2; side++)
            if (c->lacks[side][i])
                compare_note(c, "%s was not counted in %s: it is not compared", list[i].name,
                             side ? "a new file" : "the base");
}

/* ---- the outcome ---------------------------------------------------------------------------- */

/* Was anything judged by which the comparison could fail? */
static bool is_any_judged(const struct comparer *c)
{
    if (c->gated_equal_count)
        return true;
    for (size_t i = 0; i < c->row_count; i++)
        if (c->rows[i].metric ? c->rows[i].gate != NULL : c->rows[i].effect == CHANGE_WORSE)
            return true;
    return false;
}

static enum compare_outcome outcome_of_all(const struct comparer *c)
{
    enum compare_outcome outcome = c->nothing;
    if (c->gated_times_left_out && !is_any_judged(c))
        outcome = COMPARE_incomparable;
    else if (c->gated_times_left_out && outcome > COMPARE_unsure)
        outcome = COMPARE_unsure;
    for (size_t i = 0; i < c->row_count; i++) {
        const enum compare_outcome part = outcome_of(&c->rows[i]);
        outcome = part < outcome ? part : outcome;
    }
    return outcome;
}

static bool has_unsure_row(const struct comparer *c)
{
    for (size_t i = 0; i < c->row_count; i++)
        if (c->rows[i].verdict == VERDICT_unsure && c->rows[i].gate)
            return true;
    return false;
}

static const char *first_words(const struct comparer *c, enum compare_outcome outcome,
                               const json_t *findings)
{
    static const char *const sentences[] = {COMPARE_OUTCOME_LIST(TEXT_SENTENCE)};
    if (c->nothing == outcome && c->nothing_because)
        return c->nothing_because;
    if ((outcome == COMPARE_failed || outcome == COMPARE_regression) && json_array_size(findings))
        return json_string_value(json_array_get(findings, 0));
    return outcome == COMPARE_unsure && !has_unsure_row(c) ? "no regression in what was compared"
                                                           : sentences[outcome];
}

/* The sentence of the outcome, and how much of the files it does not cover. */
static json_t *sentence_of(const struct comparer *c, enum compare_outcome outcome,
                           const json_t *findings, const char *what)
{
    const struct tally *t = &c->all;
    struct text sentence = {0};
    text_add(&sentence, "%s", first_words(c, outcome, findings));
    if (t->dropped)
        text_add(&sentence, "; %zu of %zu %s dropped", t->dropped, t->dropped + t->pairs, what);
    if (c->gated_times_left_out)
        text_add(&sentence, "; %zu gated time%s left out", c->gated_times_left_out,
                 c->gated_times_left_out == 1 ? "" : "s");
    if (t->failed_in_both && t->pairs)
        text_add(&sentence, "; %zu failed in both files", t->failed_in_both);
    json_t *text = tree_text(sentence.data);
    text_free(&sentence);
    return text;
}

/* ---- the tree ------------------------------------------------------------------------------- */

json_t *compare_tree(struct comparer *c, const struct compare_file *base,
                     const struct compare_file *candidate, size_t candidate_count,
                     const json_t *differences)
{
    const enum compare_outcome outcome = outcome_of_all(c);
    const bool has_cases = base->result->case_count > 0;
    json_t *files = tree_array();
    json_t *rows = tree_array();
    for (size_t i = 0; i < c->row_count; i++)
        if (has_row(c, &c->rows[i]) && c->rows[i].cases)
            tree_append(rows, row_to_json(&c->rows[i]));
    for (size_t i = 0; i < c->row_count; i++)
        if (has_row(c, &c->rows[i]) && !c->rows[i].cases)
            tree_append(rows, row_to_json(&c->rows[i]));
    for (size_t i = 0; i < candidate_count; i++)
        tree_append(files, describe_file(&candidate[i]));
    json_t *by =
        c->by ? tree_pack("{s:s, s:s}", "member", c->by, "value", c->by_value) : json_null();
    json_t *findings = compare_findings(c, candidate);
    add_notes(c, outcome);
    return tree_pack(
        "{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:O, s:O, s:o, s:o, s:o, s:o, "
        "s:o, "
        "s:o, s:o, s:o}",
        "schema", COMPARE_SCHEMA, "verdict", outcome_names[outcome], "sentence",
        sentence_of(c, outcome, findings, has_cases ? "cases" : "rows"), "findings", findings,
        "alpha", tree_number(COMPARE_ALPHA), "threshold", tree_number(c->options->threshold),
        "gates", gates_to_json(&c->options->gates), "forced", c->options->force, "base",
        describe_file(base), "new", files, "by", by, "context_diff", differences, "notes", c->notes,
        "pairs", tree_count(c->all.pairs), "dropped", tree_count(c->all.dropped), "times_left_out",
        tree_count(c->times_left_out), "gated_tests", tree_count(c->family[0]),
        "gated_tests_over_cases", tree_count(c->family[1]), "verdicts", count_verdicts(c, false),
        "gated_verdicts", count_verdicts(c, true), "rows", rows);
}
