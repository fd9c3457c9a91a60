#include "run/rounds/progress.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/text.h"
#include "results/statistics/statistics.h"

/* Logs are read from time to time: a line every ten seconds says that the run goes on. */
static const uint64_t plain_pause_ns = 10000000000;

void progress_begin(struct progress *p, enum progress_mode mode, unsigned rounds)
{
    *p = (struct progress){.rounds = rounds, .since_ns = clock_ns()};
    status_line_open(&p->line, stderr);
    p->plain = mode == PROGRESS_PLAIN || (mode == PROGRESS_AUTO && !p->line.redraws);
    p->line.redraws = mode == PROGRESS_ALWAYS || (mode == PROGRESS_AUTO && p->line.redraws);
}

char *progress_duration(char out[16], uint64_t ns)
{
    uint64_t seconds = ns / 1000000000;
    unsigned hours = (unsigned)(seconds / 3600);
    unsigned minutes = (unsigned)(seconds / 60 % 60), rest = (unsigned)(seconds % 60);
    if (hours)
        snprintf(out, 16, "%u:%02u:%02u", hours % 10000, minutes, rest);
    else
        snprintf(out, 16, "%02u:%02u", minutes, rest);
    return out;
}

static void add_place(const struct progress *p, const struct items_state *s,
                      const struct case_key *key, uint64_t now_ns, struct text *line)
{
    char eta[16] = "--:--";
    const size_t done = s->done - p->done_before;
    if (done)
        progress_duration(
            eta, (uint64_t)((double)(now_ns - p->since_ns) / (double)done * (double)s->left));
    text_add(line, "case %zu/%zu  ETA %s  %s %s/%s on %s", s->position + 1, s->in_round, eta,
             key->strategy, key->workload, key->dataset, key->device);
}

void progress_text(const struct progress *p, const struct items_state *s,
                   const struct case_key *key, uint64_t now_ns, struct text *text)
{
    text_add(text, "round %u/%u  ", s->round + 1, p->rounds);
    add_place(p, s, key, now_ns, text);
    if (s->failed)
        text_add(text, "  %zu failed", s->failed);
}

/* A line about a case: "[ 1/10] case 4/56  ETA 03:10  pool stencil/small on host: 2.31 ms". */
static void tell_case(struct progress *p, const struct items_state *s, const struct case_key *key,
                      const char *what, uint64_t now_ns)
{
    struct text line = {0};
    text_add(&line, "[%2u/%2u] ", s->round + 1, p->rounds);
    add_place(p, s, key, now_ns, &line);
    fprintf(p->line.out, "%s: %s\n", line.data, what);
    fflush(p->line.out);
    text_free(&line);
    p->told_ns = now_ns;
}

static void tell_waiting(struct progress *p, const struct items_state *s,
                         const struct case_key *key, uint64_t now)
{
    char what[40], duration[16];
    if (s->done != p->at_done || !p->at_since_ns) {
        p->at_done = s->done;
        p->at_since_ns = now;
    }
    if (now - (p->told_ns > p->at_since_ns ? p->told_ns : p->at_since_ns) < plain_pause_ns)
        return;
    snprintf(what, sizeof what, "runs for %s", progress_duration(duration, now - p->at_since_ns));
    tell_case(p, s, key, what, now);
}

void progress_case(struct progress *p, const struct items_state *s, const struct case_round *round)
{
    const uint64_t now = clock_ns();
    char what[32];
    /* The first result at once. */
    if (!p->plain || (p->told_ns && now - p->told_ns < plain_pause_ns))
        return;
    if (round->status != CASE_ok)
        return; /* the caller says why */
    double *wall_ns = must_alloc(round->sample_count * sizeof *wall_ns);
    for (size_t i = 0; i < round->sample_count; i++)
        wall_ns[i] = (double)round->samples[i].wall_ns;
    text_ns(what, statistics_median(wall_ns, round->sample_count));
    free(wall_ns);
    tell_case(p, s, &round->key, what, now);
}

void progress_working(struct progress *p, const struct items_state *state,
                      const struct case_key *key)
{
    uint64_t now = clock_ns();
    if (p->plain)
        tell_waiting(p, state, key, now);
    if (!p->line.redraws)
        return;
    struct text text = {0};
    progress_text(p, state, key, now, &text);
    status_line_show(&p->line, "%s", text.data);
    text_free(&text);
}

void progress_round(struct progress *p, const struct items_state *s)
{
    if (s->round == 0) {
        p->since_ns = clock_ns();
        p->done_before = s->done;
    }
    if (!p->plain)
        return;
    p->told_ns = clock_ns();
    char cases[48];
    fprintf(p->line.out, "[%2u/%2u] %s %.1f s", s->round + 1, p->rounds,
            text_count(cases, (double)s->in_round, "case"), (double)s->round_ns * 1e-9);
    if (s->failed)
        fprintf(p->line.out, ", %zu failed so far", s->failed);
    fputc('\n', p->line.out);
    fflush(p->line.out);
}

void progress_clear(struct progress *p)
{
    status_line_clear(&p->line);
}
