/* The answer in words. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/text.h"
#include "base/tree.h"
#include "record/result/answer.h"

enum { NAMED_MOST = 4 }; /* left-out cases that are named */

static const json_t *ranking_of(const json_t *device)
{
    return json_object_get(device, "ranking");
}

static bool has_verdict(const json_t *one, const char *verdict)
{
    return strcmp(tree_get_text(one, "verdict"), verdict) == 0;
}

static void add_sentence(json_t *sentences, struct text *sentence)
{
    if (sentence->length)
        tree_append(sentences, tree_text(sentence->data));
    text_free(sentence);
}

/* ---- what is left out ------------------------------------------------------------------------ */

static void add_skipped(json_t *sentences, const json_t *device)
{
    const json_t *names = json_object_get(device, "not_here");
    struct text out = {0};
    for (size_t i = 0; i < json_array_size(names); i++) {
        if (i == 0)
            text_add(&out, "not on %s: ", tree_get_text(device, "device"));
        text_add(&out, "%s%s", i ? ", " : "", json_string_value(json_array_get(names, i)));
    }
    add_sentence(sentences, &out);
}

static void add_not_ranked(json_t *sentences, const json_t *device)
{
    const json_t *all = json_object_get(device, "not_ranked"), *each;
    struct text out = {0};
    for (size_t i = 0; (each = json_array_get(all, i)); i++) {
        if (i == 0)
            text_add(&out, "not ranked on %s: ", tree_get_text(device, "device"));
        text_add(&out, "%s%s (%s)", i ? ", " : "", tree_get_text(each, "name"),
                 tree_get_text(each, "reason"));
    }
    add_sentence(sentences, &out);
}

static void add_left_out(json_t *sentences, const json_t *device)
{
    const json_t *all = json_object_get(device, "left_out"), *each;
    const size_t count = json_array_size(all);
    struct text out = {0};
    if (count && json_array_size(ranking_of(device)) > 1)
        text_add(&out, "left out of the means on %s: ", tree_get_text(device, "device"));
    for (size_t i = 0; out.length && i < NAMED_MOST && (each = json_array_get(all, i)); i++)
        text_add(&out, "%s%s %s (%s)", i ? ", " : "", tree_get_text(each, "workload"),
                 tree_get_text(each, "dataset"), tree_get_text(each, "reason"));
    if (out.length && count > NAMED_MOST)
        text_add(&out, ", and %zu more", count - NAMED_MOST);
    add_sentence(sentences, &out);
}

/* ---- the fastest ----------------------------------------------------------------------------- */

/* "3.98 times as fast as raw [3.89, 4.07]"; nothing is known without rounds. */
static void add_ratio(struct text *out, const json_t *ratio, const char *as_fast_as)
{
    const double lo = tree_get_number(ratio, "ci_lo"), hi = tree_get_number(ratio, "ci_hi");
    text_add(out, "%.2f times as fast%s%s", tree_get_number(ratio, "median"),
             *as_fast_as ? " as " : "", as_fast_as);
    if (!isnan(lo) && !isnan(hi))
        text_add(out, " [%.2f, %.2f]", lo, hi);
}

static void add_memory(struct text *out, const char *before, const json_t *one)
{
    const double over = tree_get_number(one, "memory_over_bound");
    if (!isnan(over))
        text_add(out, "%s%.2f times the bound", before, over);
}

/* "; within 2 %: caching, vmm". Returns the farthest end of the intervals, as a part of 1. */
static double names_with(const json_t *device, const char *verdict, struct text *names)
{
    const json_t *each;
    double farthest = 0;
    for (size_t i = 0; (each = json_array_get(ranking_of(device), i)); i++) {
        const json_t *ratio = json_object_get(each, "over_fastest");
        if (!has_verdict(each, verdict))
            continue;
        farthest = fmax(farthest, fmax(1 - tree_get_number(ratio, "ci_lo"),
                                       tree_get_number(ratio, "ci_hi") - 1));
        text_add(names, "%s%s", names->length ? ", " : "", tree_get_text(each, "name"));
    }
    return farthest;
}

static void add_near(struct text *out, const json_t *device)
{
    struct text within = {0}, unsure = {0};
    names_with(device, "within", &within);
    const double farthest = names_with(device, "unsure", &unsure);
    if (within.length)
        text_add(out, "; within %.0f %%: %s", 100 * ANSWER_CLOSE, within.data);
    if (unsure.length)
        text_add(out, "; not told apart by these %.0f rounds (differences up to %.0f %%): %s",
                 tree_get_number(device, "rounds"), ceil(100 * farthest), unsure.data);
    text_free(&within);
    text_free(&unsure);
}

/* The second place has a figure if the first is what ratios are over, and nothing is as fast. */
static void add_next(struct text *out, const json_t *device)
{
    const json_t *first = json_array_get(ranking_of(device), 0);
    const json_t *next = json_array_get(ranking_of(device), 1);
    if (!json_is_true(json_object_get(first, "is_baseline")) || has_verdict(next, "within") ||
        has_verdict(next, "unsure"))
        return;
    text_add(out, "; next: %s, ", tree_get_text(next, "name"));
    add_ratio(out, json_object_get(next, "speedup"), "");
}

static void add_least_memory(struct text *out, const json_t *device)
{
    const json_t *names = json_object_get(device, "least_memory"), *each;
    const size_t count = json_array_size(names);
    if (count == json_array_size(ranking_of(device))) {
        text_add(out, "%sall hold the same memory", out->length ? "; " : "");
        return;
    }
    for (size_t i = 0; i < count; i++)
        text_add(out, "%s%s",
                 i             ? ", "
                 : out->length ? "; least memory: "
                               : "least memory: ",
                 json_string_value(json_array_get(names, i)));
    for (size_t i = 0; count && (each = json_array_get(ranking_of(device), i)); i++)
        if (strcmp(tree_get_text(each, "name"), json_string_value(json_array_get(names, 0))) == 0)
            add_memory(out, ", ", each);
}

/* " (27 of 28 cases, 10 rounds)" */
static void add_basis(struct text *out, const json_t *device)
{
    const double cases = tree_get_number(device, "cases"), of = tree_get_number(device, "of");
    const double rounds = tree_get_number(device, "rounds");
    const json_t *second = json_array_get(ranking_of(device), 1);
    text_add(out, " (%.0f", cases);
    if (cases < of)
        text_add(out, " of %.0f", of);
    text_add(out, " case%s", of == 1 ? "" : "s");
    if (rounds > 0)
        text_add(out, rounds == 1 ? ", %.0f round" : ", %.0f rounds", rounds);
    if (rounds > 0 && !*tree_get_text(second, "verdict"))
        text_add(out, ": no interval, so the order is not established");
    text_add(out, ")");
}

/* "least memory on dry: tagged, 1.00 times the bound with 3979 driver calls; fewer driver calls: vmm
 * (1.05 times, 224); fewest driver calls: bufalloc (2.41 times, 9)". The ranking is by memory, so
 * each that makes fewer calls than all before it is beaten by none. */
static void add_least(json_t *sentences, const json_t *device)
{
    const json_t *each;
    struct text out = {0};
    double fewest = INFINITY, before = INFINITY;
    bool is_listing = false;
    for (size_t i = 0; (each = json_array_get(ranking_of(device), i)); i++)
        fewest = fmin(fewest, tree_get_number(each, "driver_calls"));
    for (size_t i = 0; (each = json_array_get(ranking_of(device), i)); i++) {
        const double calls = tree_get_number(each, "driver_calls");
        const double over = tree_get_number(each, "memory_over_bound");
        const char *name = tree_get_text(each, "name");
        if (i == 0) {
            text_add(&out, "least memory on %s: %s, %.2f times the bound with %s%.0f driver calls",
                     tree_get_text(device, "device"), name, over,
                     calls == fewest ? "the fewest, " : "", calls);
        } else if (calls < before) {
            text_add(&out, "%s%s (%.2f times, %.0f)",
                     calls == fewest ? "; fewest driver calls: "
                     : is_listing    ? ", "
                                     : "; fewer driver calls: ",
                     name, over, calls);
            is_listing = true;
        }
        before = fmin(before, calls);
    }
    add_basis(&out, device);
    add_sentence(sentences, &out);
}

/* Were the cases run without being timed, as replays are? */
static bool is_counted(const json_t *device)
{
    const json_t *first = json_array_get(ranking_of(device), 0);
    return !(tree_get_number(device, "rounds") > 0) &&
           !isnan(tree_get_number(first, "memory_over_bound")) &&
           !isnan(tree_get_number(first, "driver_calls"));
}

static void add_fastest(json_t *sentences, const json_t *device)
{
    const json_t *first = json_array_get(ranking_of(device), 0);
    const json_t *speedup = json_object_get(first, "speedup");
    struct text out = {0};
    if (json_is_object(speedup)) {
        text_add(&out, "%s, ", tree_get_text(first, "name"));
        if (!json_is_true(json_object_get(first, "is_baseline"))) {
            add_ratio(&out, speedup, tree_get_text(device, "against"));
            text_add(&out, ", ");
        }
        add_memory(&out, "memory ", first);
        add_near(&out, device);
        add_next(&out, device);
    }
    const bool has_times = out.length > 0;
    add_least_memory(&out, device);
    add_basis(&out, device);
    struct text sentence = {0};
    text_add(&sentence, "%s on %s: %s", has_times ? "fastest" : "without times",
             tree_get_text(device, "device"), out.data);
    text_free(&out);
    add_sentence(sentences, &sentence);
}

/* ---- what merging gained --------------------------------------------------------------------- */

/* Does the configuration differ from the fastest one in its merge set alone, if at all? */
static bool is_beside(const json_t *one, const json_t *fastest)
{
    static const char *const members[] = {"strategy", "release", "residency"};
    bool same = true;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        same &= strcmp(tree_get_text(one, members[i]), tree_get_text(fastest, members[i])) == 0;
    return same;
}

/* "merging on host under pool, over none: best 1.08 times as fast [1.05, 1.10] with 0.80 times the
 * memory": the merge sets under the fastest strategy. */
static void add_merging(json_t *sentences, const json_t *device)
{
    const json_t *fastest = json_array_get(ranking_of(device), 0), *each;
    struct text out = {0};
    for (size_t i = 0; (each = json_array_get(ranking_of(device), i)); i++) {
        const json_t *gain = json_object_get(each, "over_none");
        const double memory = tree_get_number(gain, "memory");
        if (!json_is_object(json_object_get(gain, "speedup")) || !is_beside(each, fastest))
            continue;
        if (out.length)
            text_add(&out, "; ");
        else
            text_add(&out, "merging on %s under %s, over none: ", tree_get_text(device, "device"),
                     tree_get_text(fastest, "strategy"));
        text_add(&out, "%s ", tree_get_text(each, "merge"));
        add_ratio(&out, json_object_get(gain, "speedup"), "");
        if (!isnan(memory))
            text_add(&out, " with %.2f times the memory", memory);
    }
    add_sentence(sentences, &out);
}

/* ---- all of it ------------------------------------------------------------------------------- */

json_t *answer_omissions(const json_t *device)
{
    json_t *sentences = tree_array();
    add_skipped(sentences, device);
    add_not_ranked(sentences, device);
    add_left_out(sentences, device);
    return sentences;
}

void answer_write(json_t *device)
{
    json_t *sentences = answer_omissions(device);
    if (json_array_size(ranking_of(device)) > 1) {
        add_merging(sentences, device);
        (is_counted(device) ? add_least : add_fastest)(sentences, device);
    }
    tree_put(device, "sentences", sentences);
}

void answer_print(const json_t *answer, const char *before, const char *after, FILE *out)
{
    size_t i, j;
    json_t *device, *sentence;
    json_array_foreach((json_t *)answer, i, device)
        json_array_foreach(json_object_get(device, "sentences"), j, sentence)
            fprintf(out, "%s%s%s", before, json_string_value(sentence), after);
}
