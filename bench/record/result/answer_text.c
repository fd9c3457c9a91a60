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

/* "3.98× raw [3.89, 4.07]"; nothing is known without rounds. */
static void add_ratio(struct text *out, const json_t *ratio, const char *over)
{
    const double lo = tree_get_number(ratio, "ci_lo"), hi = tree_get_number(ratio, "ci_hi");
    text_add(out, "%.2f×%s%s", tree_get_number(ratio, "median"), *over ? " " : "", over);
    if (!isnan(lo) && !isnan(hi))
        text_add(out, " [%.2f, %.2f]", lo, hi);
}

/* The i-th of `count` names: "a, b and c". */
static void add_name(struct text *out, size_t i, size_t count, const char *name)
{
    text_add(out, "%s%s", i == 0 ? "" : i + 1 < count ? ", " : " and ", name);
}

/* Names those that have this verdict, "; caching and vmm", and returns how many there are.
 * *farthest: the end of the intervals that is farthest from 1, as a part of 1. */
static size_t add_names(struct text *out, const json_t *device, const char *verdict,
                        double *farthest)
{
    const json_t *each;
    size_t count = 0, named = 0;
    *farthest = 0;
    for (size_t i = 0; (each = json_array_get(ranking_of(device), i)); i++)
        count += has_verdict(each, verdict);
    for (size_t i = 0; (each = json_array_get(ranking_of(device), i)); i++) {
        const json_t *ratio = json_object_get(each, "over_fastest");
        if (!has_verdict(each, verdict))
            continue;
        *farthest = fmax(*farthest, fmax(1 - tree_get_number(ratio, "ci_lo"),
                                         tree_get_number(ratio, "ci_hi") - 1));
        text_add(out, "%s", named ? "" : "; ");
        add_name(out, named++, count, tree_get_text(each, "name"));
    }
    return count;
}

static void add_near(struct text *out, const json_t *device)
{
    double farthest;
    const size_t within = add_names(out, device, "within", &farthest);
    if (within)
        text_add(out, " %s within %.0f %%", within == 1 ? "is" : "are", 100 * ANSWER_CLOSE);
    if (add_names(out, device, "unsure", &farthest))
        text_add(out, " cannot be told apart from it (differences up to %.0f %%)",
                 ceil(100 * farthest));
}

/* The second place has a figure if the first is what ratios are over, and nothing is as fast. */
static void add_next(struct text *out, const json_t *device)
{
    const json_t *first = json_array_get(ranking_of(device), 0);
    const json_t *next = json_array_get(ranking_of(device), 1);
    if (!json_is_true(json_object_get(first, "is_baseline")) || has_verdict(next, "within") ||
        has_verdict(next, "unsure"))
        return;
    text_add(out, "; next is %s, ", tree_get_text(next, "name"));
    add_ratio(out, json_object_get(next, "speedup"), "");
}

/* "Fastest on cuda:0: pool, 3.30× raw [3.22, 3.38]; caching and vmm are within 2 %." */
static bool add_fastest(json_t *sentences, const json_t *device)
{
    const json_t *first = json_array_get(ranking_of(device), 0);
    const json_t *speedup = json_object_get(first, "speedup");
    struct text out = {0};
    if (!json_is_object(speedup))
        return false;
    text_add(&out, "Fastest on %s: %s", tree_get_text(device, "device"),
             tree_get_text(first, "name"));
    if (!json_is_true(json_object_get(first, "is_baseline"))) {
        text_add(&out, ", ");
        add_ratio(&out, speedup, tree_get_text(device, "against"));
    }
    add_near(&out, device);
    add_next(&out, device);
    text_add(&out, ".");
    add_sentence(sentences, &out);
    return true;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static double memory_of(const json_t *device, const char *name)
{
    const json_t *each;
    for (size_t i = 0; (each = json_array_get(ranking_of(device), i)); i++)
        if (strcmp(tree_get_text(each, "name"), name) == 0)
            return tree_get_number(each, "memory_over_bound");
    return NAN;
}

/* "Least memory: raw, 1.00× the lower bound; pool, the fastest, holds 1.15×." The device is named
 * where no sentence before did. */
static void add_least_memory(json_t *sentences, const json_t *device, bool has_times)
{
    const json_t *names = json_object_get(device, "least_memory");
    const size_t count = json_array_size(names);
    const char *fastest = tree_get_text(json_array_get(ranking_of(device), 0), "name");
    const bool is_all = count == json_array_size(ranking_of(device));
    struct text out = {0};
    if (!count)
        return;
    const double least = memory_of(device, json_string_value(json_array_get(names, 0)));
    const double its = memory_of(device, fastest);
    text_add(&out, is_all ? "All hold the same memory" : "Least memory");
    if (!has_times)
        text_add(&out, " on %s", tree_get_text(device, "device"));
    for (size_t i = 0; i < count && !is_all; i++) {
        text_add(&out, "%s", i ? "" : ": ");
        add_name(&out, i, count, json_string_value(json_array_get(names, i)));
    }
    if (!isnan(least))
        text_add(&out, ", %.2f× the lower bound", least);
    if (has_times && its > least)
        text_add(&out, "; %s, the fastest, holds %.2f×", fastest, its);
    text_add(&out, ".");
    add_sentence(sentences, &out);
}

/* "27 of 28 cases, 10 rounds." */
static void add_basis(json_t *sentences, const json_t *device)
{
    const double cases = tree_get_number(device, "cases"), of = tree_get_number(device, "of");
    const double rounds = tree_get_number(device, "rounds");
    const json_t *second = json_array_get(ranking_of(device), 1);
    struct text out = {0};
    text_add(&out, "%.0f", cases);
    if (cases < of)
        text_add(&out, " of %.0f", of);
    text_add(&out, " case%s", of == 1 ? "" : "s");
    if (rounds > 0)
        text_add(&out, rounds == 1 ? ", %.0f round" : ", %.0f rounds", rounds);
    if (rounds > 0 && !*tree_get_text(second, "verdict"))
        text_add(&out, ": too few for intervals, so the order may be chance");
    text_add(&out, ".");
    add_sentence(sentences, &out);
}

/* "Least memory on dry: tagged, 1.00× the lower bound with 3979 driver calls." and "Fewer driver
 * calls: vmm (224, 1.05×); fewest: bufalloc (9, 2.41×)." The ranking is by memory, so each that
 * makes fewer calls than all before it is beaten by none. */
static void add_least(json_t *sentences, const json_t *device)
{
    const json_t *each;
    struct text least = {0}, fewer = {0};
    double fewest = INFINITY, before = INFINITY;
    for (size_t i = 0; (each = json_array_get(ranking_of(device), i)); i++)
        fewest = fmin(fewest, tree_get_number(each, "driver_calls"));
    for (size_t i = 0; (each = json_array_get(ranking_of(device), i)); i++) {
        const double calls = tree_get_number(each, "driver_calls");
        const double over = tree_get_number(each, "memory_over_bound");
        const char *name = tree_get_text(each, "name");
        if (i == 0)
            text_add(&least,
                     "Least memory on %s: %s, %.2f× the lower bound with %s%.0f driver call%s.",
                     tree_get_text(device, "device"), name, over,
                     calls == fewest ? "the fewest, " : "", calls, calls == 1 ? "" : "s");
        else if (calls < before)
            text_add(&fewer, "%s%s (%.0f, %.2f×)",
                     calls == fewest ? fewer.length ? "; fewest: " : "Fewest driver calls: "
                     : fewer.length  ? ", "
                                     : "Fewer driver calls: ",
                     name, calls, over);
        before = fmin(before, calls);
    }
    if (fewer.length)
        text_add(&fewer, ".");
    add_sentence(sentences, &least);
    add_sentence(sentences, &fewer);
}

/* Were the cases run without being timed, as replays are? */
static bool is_counted(const json_t *device)
{
    const json_t *first = json_array_get(ranking_of(device), 0);
    return !(tree_get_number(device, "rounds") > 0) &&
           !isnan(tree_get_number(first, "memory_over_bound")) &&
           !isnan(tree_get_number(first, "driver_calls"));
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

/* "Merging on host under pool, over none: best 1.08× [1.05, 1.10] with 0.80× the memory.": the
 * merge sets under the fastest strategy. */
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
            text_add(&out, "Merging on %s under %s, over none: ", tree_get_text(device, "device"),
                     tree_get_text(fastest, "strategy"));
        text_add(&out, "%s ", tree_get_text(each, "merge"));
        add_ratio(&out, json_object_get(gain, "speedup"), "");
        if (!isnan(memory))
            text_add(&out, " with %.2f× the memory", memory);
    }
    if (out.length)
        text_add(&out, ".");
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
        if (is_counted(device))
            add_least(sentences, device);
        else
            add_least_memory(sentences, device, add_fastest(sentences, device));
        add_basis(sentences, device);
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
