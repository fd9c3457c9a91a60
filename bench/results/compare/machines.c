#include "results/compare/machines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/tree.h"
#include "results/file/answer.h"
#include "results/file/measured.h"
#include "results/statistics/ranks.h"

struct machine {
    const char *name, *file;
    const struct result *result;
    const struct record_device *device;
    size_t case_count;
    const struct result_case **cases;
};

/* A case of a program and a configuration on a machine. */
struct place {
    const struct result_case *of;       /* NULL: not run there */
    const struct answer_ranked *ranked; /* in the answer to the program; NULL: no right answer */
};

enum agreement { AGREE_differs, AGREE_unsure, AGREE_same };
static const char *const agreement_names[] = {
    [AGREE_differs] = "differs", [AGREE_unsure] = "unsure", [AGREE_same] = "same"};

struct program {
    const char *workload, *dataset;
    const char *left_out; /* the reason; NULL: it is compared */
    enum agreement agreement;
    size_t choice;      /* the configuration whose largest loss is the least */
    double choice_loss; /* NaN: none has a right answer on every machine */
};

struct configuration_on {
    size_t count; /* programs in which it is ranked */
    double mean_loss, worst_loss;
    size_t worst;         /* that program */
    size_t fastest_count; /* programs in which it is among the fastest */
};

struct machine_configuration {
    struct case_key key; /* without workload, dataset and device */
    const char *name;
    bool is_used;                /* in a program that is compared */
    bool is_everywhere;          /* ranked in each of them on each machine */
    double worst_loss;           /* on any machine; NaN unless it is everywhere */
    struct configuration_on *on; /* by machine */
};

struct machines {
    struct arena arena;
    unsigned machine_count, machine_room, program_count, program_room;
    unsigned configuration_count, configuration_room;
    struct machine *machine;
    struct program *program;
    struct machine_configuration *configuration;
    struct place *place;                         /* by program, configuration and machine */
    json_t *program_names, *configuration_names; /* indices by name */
    const char *against;         /* what the ratios of all answers are over; NULL: there are none */
    struct machines_words words; /* owned */
    size_t *order;               /* programs that are compared, in the order of the table */
    size_t compared_count, agree_count[3];
    const struct machine_configuration *safest; /* NULL: none is everywhere */
};

#define TITLE(name, title, about) title,
#define ABOUT(name, title, about) about,
const char *const machines_titles[] = {MACHINES_TABLE_LIST(TITLE)};
const char *const machines_abouts[] = {MACHINES_TABLE_LIST(ABOUT)};

static struct place *place_of(const struct machines *m, size_t p, size_t c, size_t at)
{
    return &m->place[(p * m->configuration_count + c) * m->machine_count + at];
}

/* ---- the machines --------------------------------------------------------------------------- */

static void add_device(struct machines *m, const struct compare_file *file,
                       const struct record_device *device)
{
    const struct result *result = file->result;
    struct machine machine = {
        .file = file->name,
        .result = result,
        .device = device,
        .cases = arena_alloc(&m->arena, (result->case_count + 1) * sizeof *machine.cases)};
    for (size_t i = 0; i < result->case_count; i++)
        if (strcmp(result->cases[i].key.device, device->id) == 0)
            machine.cases[machine.case_count++] = &result->cases[i];
    if (!machine.case_count)
        return;
    m->machine =
        arena_grow(&m->arena, m->machine, m->machine_count, &m->machine_room, sizeof *m->machine);
    m->machine[m->machine_count++] = machine;
}

static const char *machine_id_of(const struct machine *machine)
{
    return machine->result->context.host.machine_id;
}

/* The device's id, with the machine's where that is not unique, and numbered where both are not. */
static const char *name_in_words(struct machines *m, const struct machine *machine)
{
    const char *id = machine->device->id;
    bool same_id = false, other_machine = false;
    unsigned number = 1;
    for (size_t i = 0; i < m->machine_count; i++) {
        const struct machine *other = &m->machine[i];
        if (other == machine || strcmp(other->device->id, id) != 0)
            continue;
        const bool is_same = strcmp(machine_id_of(other), machine_id_of(machine)) == 0;
        same_id |= is_same;
        other_machine |= !is_same;
        number += is_same && other < machine;
    }
    const char *name =
        other_machine ? arena_printf(&m->arena, "%s %s", id, machine_id_of(machine)) : id;
    return same_id ? arena_printf(&m->arena, "%s #%u", name, number) : name;
}

static int find_machines(struct machines *m, const struct compare_file *files, size_t count,
                         struct error *error)
{
    for (size_t i = 0; i < count; i++)
        for (size_t d = 0; d < files[i].result->context.device_count; d++)
            add_device(m, &files[i], &files[i].result->context.devices[d]);
    for (size_t i = 0; i < m->machine_count; i++)
        m->machine[i].name = name_in_words(m, &m->machine[i]);
    if (m->machine_count > 1)
        return 0;
    return error_set(error, ERR_USAGE,
                     "%s: give files of several machines, or one with cases on several devices",
                     m->machine_count ? "all cases are of one device of one machine"
                                      : "the files have no cases");
}

/* ---- programs and configurations ------------------------------------------------------------ */

static size_t program_of(struct machines *m, const struct case_key *key)
{
    char name[sizeof key->workload + sizeof key->dataset];
    snprintf(name, sizeof name, "%s\n%s", key->workload, key->dataset);
    const size_t at = tree_index_of(m->program_names, name, m->program_count);
    if (at == m->program_count) {
        m->program = arena_grow(&m->arena, m->program, m->program_count, &m->program_room,
                                sizeof *m->program);
        m->program[m->program_count++] = (struct program){
            .workload = arena_copy(&m->arena, key->workload, strlen(key->workload)),
            .dataset = arena_copy(&m->arena, key->dataset, strlen(key->dataset)),
            .choice_loss = NAN};
    }
    return at;
}

/* The number of configurations for one that is new. */
static size_t find_configuration(struct machines *m, const struct case_key *key)
{
    const char *id = arena_printf(&m->arena, "%s\n%s\n%s\n%s", key->strategy, key->merge,
                                  key->release, key->residency);
    return tree_index_of(m->configuration_names, id, m->configuration_count);
}

static size_t configuration_of(struct machines *m, const struct case_key *key)
{
    const size_t at = find_configuration(m, key);
    if (at == m->configuration_count) {
        m->configuration = arena_grow(&m->arena, m->configuration, m->configuration_count,
                                      &m->configuration_room, sizeof *m->configuration);
        m->configuration[m->configuration_count++] =
            (struct machine_configuration){.key = *key, .worst_loss = NAN};
    }
    return at;
}

/* Finds the program and the configuration of every case; puts the cases into their places, if these
 * are there. */
static void find_places(struct machines *m)
{
    for (size_t at = 0; at < m->machine_count; at++)
        for (size_t i = 0; i < m->machine[at].case_count; i++) {
            const struct result_case *one = m->machine[at].cases[i];
            const size_t p = program_of(m, &one->key), c = configuration_of(m, &one->key);
            if (m->place)
                place_of(m, p, c, at)->of = one;
        }
}

/* A configuration counts in a program if every machine has tried it. Forgets the other places. */
static void keep_common(struct machines *m)
{
    for (size_t p = 0; p < m->program_count; p++)
        for (size_t c = 0; c < m->configuration_count; c++) {
            bool is_common = true;
            for (size_t at = 0; at < m->machine_count; at++)
                is_common &= place_of(m, p, c, at)->of != NULL;
            for (size_t at = 0; at < m->machine_count && !is_common; at++)
                place_of(m, p, c, at)->of = NULL;
            m->configuration[c].is_used |= is_common;
        }
}

static void name_configurations(struct machines *m)
{
    bool varies[4] = {true};
    for (size_t c = 1; c < m->configuration_count; c++)
        answer_varies(varies, &m->configuration[0].key, &m->configuration[c].key);
    for (size_t c = 0; c < m->configuration_count; c++)
        m->configuration[c].name = answer_name(&m->arena, varies, &m->configuration[c].key);
}

/* The reason that a program cannot be compared; NULL if it can. */
static const char *obstacle(struct machines *m, size_t p)
{
    bool is_common = false;
    for (size_t c = 0; c < m->configuration_count; c++)
        is_common |= place_of(m, p, c, 0)->of != NULL;
    if (!is_common)
        return "not run on every machine with the same configurations";
    for (size_t d = 0; d < 2; d++) {
        const char *first = NULL;
        for (size_t i = 0; i < m->configuration_count * m->machine_count; i++) {
            const size_t at = i % m->machine_count;
            const struct place *place = place_of(m, p, i / m->machine_count, at);
            const char *own = !place->of ? NULL
                              : d        ? place->of->inputs_digest
                                         : place->of->program_digest;
            if (first && own && strcmp(first, own) != 0)
                return d ? "other data on the machines" : "another program on the machines";
            first = own ? own : first;
        }
    }
    return NULL;
}

/* ---- the answer on each machine ------------------------------------------------------------- */

/* The answer to one program on one machine. */
static void answer_program(struct machines *m, size_t p, size_t at)
{
    const struct machine *machine = &m->machine[at];
    struct result part = {.run = machine->result->run};
    part.cases = arena_alloc(&m->arena, m->configuration_count * sizeof *part.cases);
    for (size_t c = 0; c < m->configuration_count; c++)
        if (place_of(m, p, c, at)->of)
            part.cases[part.case_count++] = *place_of(m, p, c, at)->of;
    const struct answer answer = answer_of(&part, NULL, &m->arena);
    const char *against = answer_against(&answer);
    if (!answer.device_count || !answer.devices->ranked_count)
        m->program[p].left_out = arena_printf(&m->arena, "no right answer on %s", machine->name);
    else if (!answer.devices->rounds)
        m->program[p].left_out = arena_printf(&m->arena, "no times on %s", machine->name);
    else
        for (size_t i = 0; i < answer.devices->ranked_count; i++) {
            const size_t c = find_configuration(m, &answer.devices->ranking[i].key);
            if (c < m->configuration_count && place_of(m, p, c, at)->of)
                place_of(m, p, c, at)->ranked = &answer.devices->ranking[i];
        }
    m->against = !m->against || strcmp(m->against, against) == 0 ? against : ANSWER_SEVERAL;
}

/* At least 1: where two are as fast, the median of the ratios in all rounds may be below. */
static double loss_of(const struct place *place)
{
    const double loss = place->ranked ? place->ranked->over_fastest.median : NAN;
    return loss < 1 ? 1 : loss;
}

static bool is_fastest(const struct place *place)
{
    const char *verdict = place->ranked ? place->ranked->verdict : NULL;
    return verdict && strcmp(verdict, "slower") != 0;
}

static bool is_fastest_everywhere(const struct machines *m, size_t p, size_t c)
{
    bool is_everywhere = true;
    for (size_t at = 0; at < m->machine_count; at++)
        is_everywhere &= is_fastest(place_of(m, p, c, at));
    return is_everywhere;
}

/* Is the order of the program on a machine established? */
static bool is_established(const struct machines *m, size_t p, size_t at)
{
    size_t ranked = 0;
    bool has_intervals = true;
    for (size_t c = 0; c < m->configuration_count; c++) {
        const struct place *place = place_of(m, p, c, at);
        ranked += place->ranked != NULL;
        has_intervals &= !place->ranked || !isnan(place->ranked->over_fastest.ci_lo);
    }
    return ranked < 2 || has_intervals;
}

static void agree(struct machines *m, size_t p)
{
    struct program *program = &m->program[p];
    program->agreement = AGREE_differs;
    for (size_t c = 0; c < m->configuration_count; c++) {
        double loss = 0;
        for (size_t at = 0; at < m->machine_count; at++) {
            const struct place *place = place_of(m, p, c, at);
            loss = place->ranked ? fmax(loss, loss_of(place)) : INFINITY;
        }
        if (is_fastest_everywhere(m, p, c))
            program->agreement = AGREE_same;
        if (isfinite(loss) && !(program->choice_loss <= loss)) {
            program->choice_loss = loss;
            program->choice = c;
        }
    }
    for (size_t at = 0; at < m->machine_count; at++)
        if (!is_established(m, p, at))
            program->agreement = AGREE_unsure;
}

/* ---- programs together ---------------------------------------------------------------------- */

static void sum_up(struct machines *m, size_t c)
{
    struct machine_configuration *one = &m->configuration[c];
    one->on = arena_alloc(&m->arena, m->machine_count * sizeof *one->on);
    one->is_everywhere = m->compared_count > 0;
    for (size_t at = 0; at < m->machine_count; at++) {
        struct configuration_on *on = &one->on[at];
        for (size_t i = 0; i < m->compared_count; i++) {
            const struct place *place = place_of(m, m->order[i], c, at);
            const double loss = loss_of(place);
            if (!place->ranked)
                continue;
            on->mean_loss += log(loss);
            if (!on->count++ || loss > on->worst_loss) {
                on->worst_loss = loss;
                on->worst = m->order[i];
            }
            on->fastest_count += is_fastest(place);
        }
        one->is_everywhere &= on->count == m->compared_count;
        on->mean_loss = on->count ? exp(on->mean_loss / (double)on->count) : NAN;
        on->worst_loss = on->count ? on->worst_loss : NAN;
    }
    for (size_t at = 0; at < m->machine_count && one->is_everywhere; at++)
        one->worst_loss = fmax(one->worst_loss, one->on[at].worst_loss);
    if (one->is_everywhere && (!m->safest || one->worst_loss < m->safest->worst_loss))
        m->safest = one;
}

/* Programs that differ first, and among equals those in which one choice for all costs the most. */
static void put_in_order(struct machines *m)
{
    m->order = arena_alloc(&m->arena, (m->program_count + 1) * sizeof *m->order);
    for (size_t p = 0; p < m->program_count; p++) {
        const struct program *program = &m->program[p];
        if (program->left_out)
            continue;
        size_t i = m->compared_count++;
        for (; i > 0; i--) {
            const struct program *before = &m->program[m->order[i - 1]];
            if (before->agreement < program->agreement ||
                (before->agreement == program->agreement &&
                 !(before->choice_loss < program->choice_loss)))
                break;
            m->order[i] = m->order[i - 1];
        }
        m->order[i] = p;
        m->agree_count[program->agreement]++;
    }
}

static void compare_programs(struct machines *m)
{
    find_places(m);
    m->place = arena_alloc(&m->arena, (size_t)m->program_count * m->configuration_count *
                                              m->machine_count * sizeof *m->place +
                                          1);
    find_places(m);
    name_configurations(m);
    keep_common(m);
    for (size_t p = 0; p < m->program_count; p++) {
        m->program[p].left_out = obstacle(m, p);
        for (size_t at = 0; at < m->machine_count && !m->program[p].left_out; at++)
            answer_program(m, p, at);
        if (!m->program[p].left_out)
            agree(m, p);
    }
    put_in_order(m);
    for (size_t c = 0; c < m->configuration_count; c++)
        sum_up(m, c);
}

/* ---- in words ------------------------------------------------------------------------------- */

static void say(json_t *to, struct text *words)
{
    tree_append(to, tree_text(words->data));
    text_free(words);
}

static void note_what_lacks(struct machines *m)
{
    struct text configurations = {0};
    for (size_t p = 0; p < m->program_count; p++)
        if (m->program[p].left_out)
            tree_append(m->words.remarks,
                        json_sprintf("%s %s is left out: %s", m->program[p].workload,
                                     m->program[p].dataset, m->program[p].left_out));
    for (size_t c = 0; c < m->configuration_count; c++)
        if (!m->configuration[c].is_used)
            text_add(&configurations, "%s%s", configurations.length ? ", " : "",
                     m->configuration[c].name);
    if (configurations.length)
        tree_append(m->words.remarks,
                    json_sprintf("left out, because not every machine ran a program with "
                                 "them: %s",
                                 configurations.data));
    text_free(&configurations);
}

static void say_agreement(const struct machines *m, json_t *to)
{
    struct text words = {0};
    char programs[48], count[48];
    text_add(&words, "%s on %s: ", text_count(programs, (double)m->compared_count, "program"),
             text_count(count, (double)m->machine_count, "machine"));
    text_add(&words, "the same configuration is among the fastest everywhere in %zu",
             m->agree_count[AGREE_same]);
    if (m->agree_count[AGREE_differs])
        text_add(&words, ", none is in %zu", m->agree_count[AGREE_differs]);
    if (m->agree_count[AGREE_unsure])
        text_add(&words, ", %zu unsure (an order needs %d rounds)", m->agree_count[AGREE_unsure],
                 RANKS_LEAST_ROUNDS);
    say(to, &words);
}

/* The configuration with the least worst loss after the safest; NULL if no other is everywhere. */
static const struct machine_configuration *next_safest(const struct machines *m)
{
    const struct machine_configuration *next = NULL;
    for (size_t c = 0; c < m->configuration_count; c++) {
        const struct machine_configuration *one = &m->configuration[c];
        if (one != m->safest && one->is_everywhere && (!next || one->worst_loss < next->worst_loss))
            next = one;
    }
    return next;
}

static void say_safest(const struct machines *m, json_t *to)
{
    struct text words = {0};
    const struct machine_configuration *safest = m->safest, *next = next_safest(m);
    size_t at = 0;
    if (!safest) {
        text_add(&words, "no configuration has right answers to all programs on every machine");
        say(to, &words);
        return;
    }
    for (size_t i = 1; i < m->machine_count; i++)
        at = safest->on[i].worst_loss > safest->on[at].worst_loss ? i : at;
    const size_t p = safest->on[at].worst, c = (size_t)(safest - m->configuration);
    const bool is_noise = safest->worst_loss > 1 && is_fastest(place_of(m, p, c, at));
    text_add(&words,
             "take %s everywhere: at most %.2f times as long as the fastest (%s %s on %s%s); mean",
             safest->name, safest->worst_loss, m->program[p].workload, m->program[p].dataset,
             m->machine[at].name, is_noise ? ", not told apart from it" : "");
    for (size_t i = 0; i < m->machine_count; i++)
        text_add(&words, "%s %.2f on %s", i ? "," : "", safest->on[i].mean_loss,
                 m->machine[i].name);
    if (next)
        text_add(&words, "; next: %s, at most %.2f", next->name, next->worst_loss);
    say(to, &words);
}

/* The configuration's speed-up on a machine over all programs that are compared, with its interval
 * over the rounds of that run; NULL without a right answer. */
static const struct statistics *speedup_on(struct machines *m, size_t c, size_t at)
{
    struct result part = {.run = m->machine[at].result->run};
    part.cases =
        arena_alloc(&m->arena, m->compared_count * m->configuration_count * sizeof *part.cases);
    for (size_t i = 0; i < m->compared_count * m->configuration_count; i++) {
        const struct place *place =
            place_of(m, m->order[i / m->configuration_count], i % m->configuration_count, at);
        if (place->of)
            part.cases[part.case_count++] = *place->of;
    }
    const struct answer answer = answer_of(&part, NULL, &m->arena);
    for (size_t i = 0; answer.device_count && i < answer.devices->ranked_count; i++) {
        const struct answer_ranked *one = &answer.devices->ranking[i];
        if (find_configuration(m, &one->key) == c)
            return isnan(one->speedup.median) ? NULL : &one->speedup;
    }
    return NULL;
}

static bool is_same_kind(const struct record_device *a, const struct record_device *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->api, b->api) == 0;
}

/* Runs on devices of one kind, of which the first is `first`: how far the safest configuration's
 * speed-up is apart between them, which an interval within a run does not show. */
static void say_range(struct machines *m, size_t first, json_t *to)
{
    struct text runs = {0}, words = {0};
    double least = INFINITY, most = 0;
    size_t count = 0;
    for (size_t at = first; at < m->machine_count; at++) {
        const struct statistics *own =
            is_same_kind(m->machine[first].device, m->machine[at].device)
                ? speedup_on(m, (size_t)(m->safest - m->configuration), at)
                : NULL;
        if (!own)
            continue;
        text_add(&runs, "%s%.2f", count++ ? ", " : "", own->median);
        if (!isnan(own->ci_lo))
            text_add(&runs, " [%.2f, %.2f]", own->ci_lo, own->ci_hi);
        text_add(&runs, " on %s", m->machine[at].name);
        least = fmin(least, own->median);
        most = fmax(most, own->median);
    }
    text_add(&words,
             "%s on %s (%s): %.2f to %.2f times as fast as %s in %zu runs of these programs: %s",
             m->safest->name, m->machine[first].device->name, m->machine[first].device->api, least,
             most, m->against, count, runs.data ? runs.data : "");
    if (count > 1)
        say(to, &words);
    text_free(&words);
    text_free(&runs);
}

static void say_ranges(struct machines *m, json_t *to)
{
    for (size_t at = 0; at < m->machine_count && m->safest && m->against; at++) {
        bool is_first = true;
        for (size_t i = 0; i < at; i++)
            is_first &= !is_same_kind(m->machine[i].device, m->machine[at].device);
        if (is_first)
            say_range(m, at, to);
    }
}

static void put_in_words(struct machines *m)
{
    for (size_t at = 0; at < m->machine_count; at++) {
        const struct machine *own = &m->machine[at];
        const char *driver = own->device->driver;
        /* "cuda:0: A GPU, driver 1, machine aaaaaaaa, a.json" */
        struct text line = {0};
        text_add(&line, "%s: %s%s%s, machine %s, %s", own->name, own->device->name,
                 *driver ? ", driver " : "", driver, machine_id_of(own), own->file);
        tree_append(m->words.machines, tree_text(line.data));
        text_free(&line);
    }
    note_what_lacks(m);
    if (m->compared_count) {
        say_agreement(m, m->words.answer);
        say_safest(m, m->words.answer);
        say_ranges(m, m->words.answer);
    }
}

/* ---- the comparison ------------------------------------------------------------------------- */

int machines_compare(const struct compare_file *files, size_t count, struct machines **machines,
                     struct error *error)
{
    struct machines *m = must_alloc(sizeof *m);
    *m = (struct machines){
        .program_names = tree_object(),
        .configuration_names = tree_object(),
        .words = {.machines = tree_array(), .remarks = tree_array(), .answer = tree_array()}};
    *machines = NULL;
    const int code = find_machines(m, files, count, error);
    if (code) {
        machines_free(m);
        return code;
    }
    compare_programs(m);
    put_in_words(m);
    *machines = m;
    return 0;
}

void machines_free(struct machines *m)
{
    if (!m)
        return;
    json_decref(m->program_names);
    json_decref(m->configuration_names);
    json_decref(m->words.machines);
    json_decref(m->words.remarks);
    json_decref(m->words.answer);
    arena_free(&m->arena);
    free(m);
}

bool machines_have_any(const struct machines *m)
{
    return m->compared_count > 0;
}

const struct machines_words *machines_words(const struct machines *m)
{
    return &m->words;
}

/* ---- who wins where ------------------------------------------------------------------------- */

static void add_column(struct text_grid *grid, const char *title, enum text_grid_kind kind,
                       unsigned drop)
{
    text_grid_add_column(grid,
                         (struct text_grid_column){.title = title, .kind = kind, .drop = drop});
}

/* Adds "pool, +4", the fastest and the number of others that are as fast, and its ratio. */
static void add_fastest(struct text_grid *grid, const struct machines *m, size_t p, size_t at)
{
    size_t fastest = 0, others = 0;
    for (size_t c = 0; c < m->configuration_count; c++) {
        const struct place *place = place_of(m, p, c, at);
        if (place->ranked && answer_has_verdict(place->ranked, "fastest"))
            fastest = c;
        else
            others += is_fastest(place);
    }
    const struct answer_ranked *ranked = place_of(m, p, fastest, at)->ranked;
    if (others)
        text_grid_add(grid, "%s, +%zu", m->configuration[fastest].name, others);
    else
        text_grid_add(grid, "%s", m->configuration[fastest].name);
    text_grid_add_interval(grid, &ranked->speedup);
}

/* Adds where a configuration that is fastest on some machine has no right answer: "stream skipped
 * on opencl:1". */
static void add_missing(struct text *words, const struct machines *m, size_t p)
{
    const char *before = ": ";
    for (size_t c = 0; c < m->configuration_count; c++) {
        bool is_first = false;
        for (size_t at = 0; at < m->machine_count; at++)
            is_first |= is_fastest(place_of(m, p, c, at));
        for (size_t at = 0; at < m->machine_count && is_first; at++)
            if (!place_of(m, p, c, at)->ranked) {
                text_add(words, "%s%s %s on %s", before, m->configuration[c].name,
                         case_status_name(place_of(m, p, c, at)->of->status), m->machine[at].name);
                before = ", ";
            }
    }
}

/* "same: pool, +2", "differs: stream skipped on opencl:1", "unsure". */
static void add_agreement(struct text_grid *grid, const struct machines *m, size_t p)
{
    enum { NAMES_MOST = 1 };
    const enum agreement agreement = m->program[p].agreement;
    size_t count = 0;
    struct text words = {0};
    text_add(&words, "%s", agreement_names[agreement]);
    for (size_t c = 0; c < m->configuration_count && agreement == AGREE_same; c++)
        if (is_fastest_everywhere(m, p, c) && count++ < NAMES_MOST)
            text_add(&words, "%s%s", count > 1 ? ", " : ": ", m->configuration[c].name);
    if (count > NAMES_MOST)
        text_add(&words, ", +%zu", count - NAMES_MOST);
    if (agreement == AGREE_differs)
        add_missing(&words, m, p);
    text_grid_add(grid, "%s", words.data);
    text_free(&words);
}

static struct text_grid programs_grid(const struct machines *m, enum compare_show show)
{
    static const enum text_grid_mood moods[] = {
        [AGREE_differs] = GRID_WORSE, [AGREE_unsure] = GRID_UNSURE, [AGREE_same] = GRID_PLAIN};
    struct text_grid grid = text_grid_of("program|dataset^1");
    for (size_t at = 0; at < m->machine_count; at++) {
        add_column(&grid, m->machine[at].name, GRID_NAME, 0);
        add_column(&grid, arena_printf(&grid.arena, "vs %s", m->against ? m->against : "raw"),
                   GRID_NUMBER, 3);
    }
    add_column(&grid, "one choice", GRID_NUMBER, 2);
    add_column(&grid, "costs", GRID_NUMBER, 1);
    add_column(&grid, "fastest everywhere", GRID_PROSE, 0);
    for (size_t i = 0; i < m->compared_count; i++) {
        const struct program *program = &m->program[m->order[i]];
        if (show == COMPARE_SHOW_WORST && program->agreement != AGREE_differs)
            continue;
        struct text_grid_row *row = text_grid_add_row(&grid);
        row->mood_of = grid.column_count - 1;
        row->mood = moods[program->agreement];
        text_grid_add(&grid, "%s", program->workload);
        text_grid_add(&grid, "%s", program->dataset);
        for (size_t at = 0; at < m->machine_count; at++)
            add_fastest(&grid, m, m->order[i], at);
        text_grid_add(&grid, "%s",
                      isnan(program->choice_loss) ? "" : m->configuration[program->choice].name);
        text_grid_add_ratio(&grid, program->choice_loss);
        add_agreement(&grid, m, m->order[i]);
    }
    const char *dataset = text_grid_constant(&grid, 1);
    if (grid.row_count && dataset) {
        grid.column[1].hidden = true;
        grid.column[1].once = dataset;
    }
    return grid;
}

/* ---- what a wrong choice costs -------------------------------------------------------------- */

static void add_losses_of(struct text_grid *grid, const struct machines *m,
                          const struct configuration_on *on)
{
    if (!on->count) {
        text_grid_skip(grid, 3);
        return;
    }
    text_grid_add_ratio(grid, on->mean_loss);
    text_grid_add(grid, "%.2f× %s", on->worst_loss, m->program[on->worst].workload);
    text_grid_add(grid, "%zu of %zu", on->fastest_count, on->count);
}

/* Whether `a` stands above `b` in the table: the safest comes first, and configurations without a
 * right answer everywhere come last. */
static bool is_safer(const struct machine_configuration *a, const struct machine_configuration *b)
{
    return !isnan(a->worst_loss) && !(b->worst_loss <= a->worst_loss);
}

static struct text_grid losses_grid(const struct machines *m)
{
    struct text_grid grid = text_grid_of("configuration");
    const struct machine_configuration **order =
        arena_alloc(&grid.arena, m->configuration_count * sizeof *order);
    size_t count = 0;
    for (size_t c = 0; c < m->configuration_count; c++) {
        const struct machine_configuration *one = &m->configuration[c];
        size_t i = one->is_used ? count++ : 0;
        for (; i > 0 && is_safer(one, order[i - 1]); i--)
            order[i] = order[i - 1];
        if (one->is_used)
            order[i] = one;
    }
    for (size_t at = 0; at < m->machine_count; at++) {
        add_column(&grid, arena_printf(&grid.arena, "%s mean", m->machine[at].name), GRID_NUMBER,
                   0);
        add_column(&grid, "worst", GRID_NUMBER, 1);
        add_column(&grid, "fastest in", GRID_NUMBER, 2);
    }
    add_column(&grid, "worst everywhere", GRID_NUMBER, 0);
    add_column(&grid, "", GRID_PROSE, 0);
    for (size_t i = 0; i < count; i++) {
        text_grid_add_row(&grid);
        text_grid_add(&grid, "%s", order[i]->name);
        for (size_t at = 0; at < m->machine_count; at++)
            add_losses_of(&grid, m, &order[i]->on[at]);
        text_grid_add_ratio(&grid, order[i]->worst_loss);
        text_grid_add(&grid, "%s", order[i] == m->safest ? "safest" : "");
    }
    return grid;
}

struct text_grid machines_grid_of(const struct machines *m, enum machines_table table,
                                  enum compare_show show)
{
    return table == MACHINES_programs ? programs_grid(m, show) : losses_grid(m);
}

/* ---- formats -------------------------------------------------------------------------------- */

static void print_words(const json_t *words, const char *before, const char *end, FILE *out)
{
    const json_t *each;
    for (size_t i = 0; (each = json_array_get(words, i)); i++)
        fprintf(out, "%s%s%s", before, json_string_value(each), end);
}

static void print_people(const struct machines *m, enum table_format format, enum compare_show show,
                         FILE *out)
{
    const char *end = format == TABLE_MARKDOWN ? "  \n" : "\n";
    struct terminal_page page;
    terminal_page_open(&page, out);
    print_words(m->words.machines, "", end, page.out);
    print_words(m->words.remarks, "! ", end, page.out);
    for (int table = 0; table < MACHINES_TABLES; table++) {
        struct text_grid grid = machines_grid_of(m, (enum machines_table)table, show);
        grid.indent = 2;
        grid.complete = "--format csv has all";
        if (grid.row_count) {
            fprintf(page.out, "\n%s. %s%s%s", machines_titles[table], machines_abouts[table], end,
                    format == TABLE_MARKDOWN ? "\n" : "");
            text_grid_print_once(&grid, end, page.out);
            text_grid_print(&grid, format, &page.terminal, page.out);
        }
        text_grid_free(&grid);
    }
    fputc('\n', page.out);
    print_words(m->words.answer, "", end, page.out);
    terminal_page_close(&page);
}

static void add_csv_line(struct text_grid *grid, const struct machines *m, size_t p, size_t c,
                         size_t at)
{
    const struct place *place = place_of(m, p, c, at);
    text_grid_add_row(grid);
    text_grid_add(grid, "%s", m->program[p].workload);
    text_grid_add(grid, "%s", m->program[p].dataset);
    text_grid_add(grid, "%s", agreement_names[m->program[p].agreement]);
    text_grid_add(grid, "%s", m->machine[at].name);
    text_grid_add(grid, "%s", m->configuration[c].name);
    text_grid_add(grid, "%s", case_status_name(place->of->status));
    text_grid_add(grid, "%s",
                  place->ranked && place->ranked->verdict ? place->ranked->verdict : "");
    text_grid_add_exact(grid, measured_wall_ns(place->of));
    if (!place->ranked)
        return;
    const struct statistics *const ratios[] = {&place->ranked->over_fastest,
                                               &place->ranked->speedup};
    for (size_t i = 0; i < 2; i++) {
        text_grid_add_exact(grid, ratios[i]->median);
        text_grid_add_exact(grid, ratios[i]->ci_lo);
        text_grid_add_exact(grid, ratios[i]->ci_hi);
    }
}

/* A line for each place: a program, a machine and a configuration. */
static void print_csv(const struct machines *m, FILE *out)
{
    struct text_grid grid =
        text_grid_of("workload|dataset|agreement|machine|name|status|verdict|time_ns|over_fastest|"
                     "over_lo|over_hi|speedup|speedup_lo|speedup_hi");
    for (size_t i = 0; i < m->compared_count; i++)
        for (size_t at = 0; at < m->machine_count; at++)
            for (size_t c = 0; c < m->configuration_count; c++)
                if (place_of(m, m->order[i], c, at)->of)
                    add_csv_line(&grid, m, m->order[i], c, at);
    text_grid_print(&grid, TABLE_CSV, NULL, out);
    text_grid_free(&grid);
}

int machines_print(const struct machines *m, enum table_format format, enum compare_show show,
                   FILE *out, struct error *error)
{
    if (format == TABLE_CSV)
        print_csv(m, out);
    else
        print_people(m, format, show, out);
    return text_flush(out, error);
}
