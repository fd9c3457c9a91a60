/* The answer in words. */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "results/file/answer.h"

enum { NAMED_MOST = 4 }; /* left-out cases that are named */

/* The sentences of a device as they are written. */
struct sentences {
    struct answer_device *device;
    struct arena *arena;
    unsigned room;
};

bool answer_has_verdict(const struct answer_ranked *one, const char *verdict)
{
    return one->verdict && strcmp(one->verdict, verdict) == 0;
}

static void add_sentence(struct sentences *s, struct text *sentence)
{
    struct answer_device *d = s->device;
    if (sentence->length) {
        d->sentences = arena_grow(s->arena, d->sentences, (unsigned)d->sentence_count, &s->room,
                                  sizeof *d->sentences);
        d->sentences[d->sentence_count++] = arena_copy(s->arena, sentence->data, sentence->length);
    }
    text_free(sentence);
}

/* ---- what is left out ------------------------------------------------------------------------ */

static void add_skipped(struct sentences *s)
{
    const struct answer_device *d = s->device;
    struct text out = {0};
    if (d->not_here_count)
        text_add(&out, "not on %s: ", d->device);
    for (size_t i = 0; i < d->not_here_count; i++) {
        const char *why = d->why_not_here[i];
        const char *next = i + 1 < d->not_here_count ? d->why_not_here[i + 1] : NULL;
        text_add(&out, "%s%s", i ? ", " : "", d->not_here[i]);
        if (why && !(next && strcmp(why, next) == 0))
            text_add(&out, " (%s)", why);
    }
    add_sentence(s, &out);
}

static void add_not_ranked(struct sentences *s)
{
    const struct answer_device *d = s->device;
    struct text out = {0};
    if (d->not_ranked_count)
        text_add(&out, "not ranked on %s: ", d->device);
    for (size_t i = 0; i < d->not_ranked_count; i++)
        text_add(&out, "%s%s (%s)", i ? ", " : "", d->not_ranked[i].name, d->not_ranked[i].reason);
    add_sentence(s, &out);
}

static void add_left_out(struct sentences *s)
{
    const struct answer_device *d = s->device;
    struct text out = {0};
    if (d->left_out_count && d->ranked_count > 1)
        text_add(&out, "left out of the means on %s: ", d->device);
    for (size_t i = 0; out.length && i < NAMED_MOST && i < d->left_out_count; i++)
        text_add(&out, "%s%s %s (%s)", i ? ", " : "", d->left_out[i].workload,
                 d->left_out[i].dataset, d->left_out[i].reason);
    if (out.length && d->left_out_count > NAMED_MOST)
        text_add(&out, ", and %zu more", d->left_out_count - NAMED_MOST);
    add_sentence(s, &out);
}

/* ---- the fastest ----------------------------------------------------------------------------- */

/* "3.98× raw [3.89, 4.07]"; nothing is known without rounds. */
static void add_ratio(struct text *out, const struct statistics *ratio, const char *over)
{
    text_add(out, "%.2f×%s%s", ratio->median, *over ? " " : "", over);
    if (!isnan(ratio->ci_lo) && !isnan(ratio->ci_hi))
        text_add(out, " [%.2f, %.2f]", ratio->ci_lo, ratio->ci_hi);
}

/* The i-th of `count` names: "a, b and c". */
static void add_name(struct text *out, size_t i, size_t count, const char *name)
{
    text_add(out, "%s%s", i == 0 ? "" : i + 1 < count ? ", " : " and ", name);
}

/* Names those that have this verdict, "; caching and vmm", and returns how many there are.
 * *farthest: the end of the intervals that is farthest from 1, as a part of 1. */
static size_t add_names(struct text *out, const struct answer_device *d, const char *verdict,
                        double *farthest)
{
    size_t count = 0, named = 0;
    *farthest = 0;
    for (size_t i = 0; i < d->ranked_count; i++)
        count += answer_has_verdict(&d->ranking[i], verdict);
    for (size_t i = 0; i < d->ranked_count; i++) {
        const struct answer_ranked *each = &d->ranking[i];
        if (!answer_has_verdict(each, verdict))
            continue;
        *farthest =
            fmax(*farthest, fmax(1 - each->over_fastest.ci_lo, each->over_fastest.ci_hi - 1));
        text_add(out, "%s", named ? "" : "; ");
        add_name(out, named++, count, each->name);
    }
    return count;
}

static void add_near(struct text *out, const struct answer_device *d)
{
    double farthest;
    const size_t within = add_names(out, d, "within", &farthest);
    if (within)
        text_add(out, " %s within %.0f %%", within == 1 ? "is" : "are", 100 * ANSWER_CLOSE);
    if (add_names(out, d, "unsure", &farthest))
        text_add(out, " cannot be told apart from it (differences up to %.0f %%)",
                 ceil(100 * farthest));
}

/* The second place has a figure if the first is what ratios are over, and nothing is as fast. */
static void add_next(struct text *out, const struct answer_device *d)
{
    const struct answer_ranked *next = &d->ranking[1];
    if (!d->ranking[0].is_baseline || answer_has_verdict(next, "within") ||
        answer_has_verdict(next, "unsure"))
        return;
    text_add(out, "; next is %s, ", next->name);
    add_ratio(out, &next->speedup, "");
}

/* "Fastest on cuda:0: pool, 3.30× raw [3.22, 3.38]; caching and vmm are within 2 %." */
static bool add_fastest(struct sentences *s)
{
    const struct answer_device *d = s->device;
    const struct answer_ranked *first = &d->ranking[0];
    struct text out = {0};
    if (!first->speedup.count)
        return false;
    text_add(&out, "Fastest on %s: %s", d->device, first->name);
    if (!first->is_baseline) {
        text_add(&out, ", ");
        add_ratio(&out, &first->speedup, d->against);
    }
    add_near(&out, d);
    add_next(&out, d);
    text_add(&out, ".");
    add_sentence(s, &out);
    return true;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static double memory_of(const struct answer_device *d, const char *name)
{
    for (size_t i = 0; i < d->ranked_count; i++)
        if (strcmp(d->ranking[i].name, name) == 0)
            return d->ranking[i].memory_over_bound;
    return NAN;
}

/* "Least memory: raw, 1.00× the lower bound; pool, the fastest, holds 1.15×." The device is named
 * where no sentence before did. */
static void add_least_memory(struct sentences *s, bool has_times)
{
    const struct answer_device *d = s->device;
    const size_t count = d->least_memory_count;
    const bool is_all = count == d->ranked_count;
    struct text out = {0};
    if (!count)
        return;
    const double least = memory_of(d, d->least_memory[0]);
    const double its = d->ranking[0].memory_over_bound;
    text_add(&out, is_all ? "All hold the same memory" : "Least memory");
    if (!has_times)
        text_add(&out, " on %s", d->device);
    for (size_t i = 0; i < count && !is_all; i++) {
        text_add(&out, "%s", i ? "" : ": ");
        add_name(&out, i, count, d->least_memory[i]);
    }
    if (!isnan(least))
        text_add(&out, ", %.2f× the lower bound", least);
    if (has_times && its > least)
        text_add(&out, "; %s, the fastest, holds %.*f×", d->ranking[0].name, its < 1000 ? 2 : 0,
                 its);
    text_add(&out, ".");
    add_sentence(s, &out);
}

/* "27 of 28 cases, 10 rounds." */
static void add_basis(struct sentences *s)
{
    const struct answer_device *d = s->device;
    struct text out = {0};
    text_add(&out, "%" PRIu64, d->cases);
    if (d->cases < d->of)
        text_add(&out, " of %" PRIu64, d->of);
    text_add(&out, " case%s", d->of == 1 ? "" : "s");
    if (d->rounds > 0)
        text_add(&out, ", %" PRIu64 " round%s", d->rounds, d->rounds == 1 ? "" : "s");
    if (d->rounds > 0 && !d->ranking[1].verdict)
        text_add(&out, ": too few for intervals, so the order may be chance");
    text_add(&out, ".");
    add_sentence(s, &out);
}

/* "Least memory: tagged, 1.00× the lower bound with 3979 driver calls." and "Fewer driver
 * calls: vmm (224, 1.05×); fewest: bufalloc (9, 2.41×)." The ranking is by memory, so each that
 * makes fewer calls than all before it is beaten by none. */
static void add_least(struct sentences *s)
{
    const struct answer_device *d = s->device;
    struct text least = {0}, fewer = {0};
    double fewest = INFINITY, before = INFINITY;
    const bool is_dry = strcmp(d->device, CASE_DRY_DEVICE) == 0;
    for (size_t i = 0; i < d->ranked_count; i++)
        fewest = fmin(fewest, d->ranking[i].driver_calls);
    for (size_t i = 0; i < d->ranked_count; i++) {
        const struct answer_ranked *each = &d->ranking[i];
        const double calls = each->driver_calls, over = each->memory_over_bound;
        if (i == 0)
            text_add(&least,
                     "Least memory%s%s: %s, %.2f× the lower bound with %s%.0f driver call%s.",
                     is_dry ? "" : " on ", is_dry ? "" : d->device, each->name, over,
                     calls == fewest ? "the fewest, " : "", calls, calls == 1 ? "" : "s");
        else if (calls < before)
            text_add(&fewer, "%s%s (%.0f, %.2f×)",
                     calls == fewest ? fewer.length ? "; fewest: " : "Fewest driver calls: "
                     : fewer.length  ? ", "
                                     : "Fewer driver calls: ",
                     each->name, calls, over);
        before = fmin(before, calls);
    }
    if (fewer.length)
        text_add(&fewer, ".");
    add_sentence(s, &least);
    add_sentence(s, &fewer);
}

/* ---- what merging gained --------------------------------------------------------------------- */

/* "Merging on host under pool, over none: best 1.08× [1.05, 1.10] with 0.80× the memory.": the
 * merge sets under the fastest strategy. */
static void add_merging(struct sentences *s)
{
    const struct answer_device *d = s->device;
    const struct case_key *fastest = &d->ranking[0].key;
    struct text out = {0};
    for (size_t i = 0; i < d->ranked_count; i++) {
        const struct case_key *key = &d->ranking[i].key;
        const struct answer_gain *gain = d->ranking[i].over_none;
        if (!gain || !gain->speedup.count || !case_same_but_merge(key, fastest))
            continue;
        if (out.length)
            text_add(&out, "; ");
        else
            text_add(&out, "Merging on %s under %s, over none: ", d->device, fastest->strategy);
        text_add(&out, "%s ", key->merge);
        add_ratio(&out, &gain->speedup, "");
        if (!isnan(gain->memory))
            text_add(&out, " with %.2f× the memory", gain->memory);
    }
    if (out.length)
        text_add(&out, ".");
    add_sentence(s, &out);
}

/* ---- all of it ------------------------------------------------------------------------------- */

void answer_write(struct answer_device *device, struct arena *arena)
{
    struct sentences s = {.device = device, .arena = arena};
    add_skipped(&s);
    add_not_ranked(&s);
    add_left_out(&s);
    device->omission_count = device->sentence_count;
    if (device->ranked_count > 1) {
        add_merging(&s);
        if (device->rounds == 0 && !isnan(device->ranking[0].memory_over_bound) &&
            !isnan(device->ranking[0].driver_calls)) /* not timed, as replays are */
            add_least(&s);
        else
            add_least_memory(&s, add_fastest(&s));
        add_basis(&s);
    }
}

void answer_print(const struct answer *answer, const char *before, const char *after, FILE *out)
{
    for (size_t i = 0; i < answer->device_count; i++)
        for (size_t j = 0; j < answer->devices[i].sentence_count; j++)
            fprintf(out, "%s%s%s", before, answer->devices[i].sentences[j], after);
}
