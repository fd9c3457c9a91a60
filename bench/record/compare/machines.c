#include "record/compare/machines.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "base/tree.h"
#include "record/result/answer.h"
#include "record/result/baseline.h"
#include "record/result/case_tree.h"
#include "record/statistics/ranks.h"

struct machine {
    const char *identity, *name;
    const json_t *root, *device; /* of its first file */
    json_t *files;               /* their names; owned */
    json_t *ids;                 /* of its cases, as keys; owned */
    unsigned case_count, case_room;
    const json_t **cases;
};

/* A case of a program and a configuration on a machine. */
struct place {
    const json_t *one_case; /* NULL: not run there */
    const json_t *ranked;   /* its element in the ranking of the program; NULL: no right answer */
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
    json_t *answers;                             /* owns what `ranked` is in */
    json_t *notes;                               /* owned */
    size_t *order; /* programs that are compared, in the order of the tree */
    size_t compared_count, agree_count[3];
    const struct machine_configuration *safest; /* NULL: none is everywhere */
};

const char *const machines_titles[] = {
#define X(name, title, about) title,
    MACHINES_TABLE_LIST(X)
#undef X
};
const char *const machines_abouts[] = {
#define X(name, title, about) about,
    MACHINES_TABLE_LIST(X)
#undef X
};

static struct place *place_of(const struct machines *m, size_t p, size_t c, size_t at)
{
    return &m->place[(p * m->configuration_count + c) * m->machine_count + at];
}

/* ---- the machines ---------------------------------------------------------------------------- */

static const char *identity_of(struct machines *m, const json_t *root, const json_t *device)
{
    const json_t *host = json_object_get(json_object_get(root, "context"), "host");
    return arena_printf(&m->arena, "%s\n%s\n%s\n%s", tree_get_text(host, "machine_id"),
                        tree_get_text(device, "id"), tree_get_text(device, "name"),
                        tree_get_text(device, "driver"));
}

static bool has_case_of(const struct machine *machine, const json_t *root, const char *device)
{
    const json_t *cases = json_object_get(root, "cases"), *each;
    for (size_t i = 0; (each = json_array_get(cases, i)); i++)
        if (strcmp(tree_get_text(json_object_get(each, "key"), "device"), device) == 0 &&
            (!machine || json_object_get(machine->ids, tree_get_text(each, "id"))))
            return true;
    return false;
}

/* The machine with this identity that has none of the file's cases; a new one if there is none. */
static struct machine *machine_for(struct machines *m, const json_t *root, const json_t *device)
{
    const char *identity = identity_of(m, root, device);
    for (size_t i = 0; i < m->machine_count; i++)
        if (strcmp(m->machine[i].identity, identity) == 0 &&
            !has_case_of(&m->machine[i], root, tree_get_text(device, "id")))
            return &m->machine[i];
    m->machine =
        arena_grow(&m->arena, m->machine, m->machine_count, &m->machine_room, sizeof *m->machine);
    m->machine[m->machine_count] = (struct machine){.identity = identity,
                                                    .root = root,
                                                    .device = device,
                                                    .files = tree_array(),
                                                    .ids = tree_object()};
    return &m->machine[m->machine_count++];
}

static void add_device(struct machines *m, const struct compare_file *file, const json_t *device)
{
    const char *id = tree_get_text(device, "id");
    const json_t *cases = json_object_get(file->root, "cases"), *each;
    struct machine *machine = machine_for(m, file->root, device);
    tree_append(machine->files, tree_text(file->name));
    for (size_t i = 0; (each = json_array_get(cases, i)); i++) {
        if (strcmp(tree_get_text(json_object_get(each, "key"), "device"), id) != 0)
            continue;
        machine->cases = arena_grow(&m->arena, machine->cases, machine->case_count,
                                    &machine->case_room, sizeof *machine->cases);
        machine->cases[machine->case_count++] = each;
        tree_put(machine->ids, tree_get_text(each, "id"), json_true());
    }
}

/* Adds the machines of a file's cases. */
static void add_machines(struct machines *m, const struct compare_file *file)
{
    const json_t *context = json_object_get(file->root, "context"), *device;
    const json_t *devices = json_object_get(context, "devices");
    for (size_t i = 0; (device = json_array_get(devices, i)); i++)
        if (has_case_of(NULL, file->root, tree_get_text(device, "id")))
            add_device(m, file, device);
}

static const char *machine_id_of(const struct machine *machine)
{
    return tree_get_text(json_object_get(json_object_get(machine->root, "context"), "host"),
                         "machine_id");
}

/* The device's id, with the machine's where that is not unique, and numbered where both are not. */
static const char *name_in_words(struct machines *m, const struct machine *machine)
{
    const char *id = tree_get_text(machine->device, "id");
    bool same_id = false, other_machine = false;
    unsigned number = 1;
    for (size_t i = 0; i < m->machine_count; i++) {
        const struct machine *other = &m->machine[i];
        if (other == machine || strcmp(tree_get_text(other->device, "id"), id) != 0)
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
        add_machines(m, &files[i]);
    for (size_t i = 0; i < m->machine_count; i++)
        m->machine[i].name = name_in_words(m, &m->machine[i]);
    if (m->machine_count > 1)
        return 0;
    return error_set(error, ERR_USAGE,
                     "%s: give files of several machines, or one with cases on several devices",
                     m->machine_count ? "all cases are of one device of one machine"
                                      : "the files have no cases");
}

/* ---- programs and configurations -------------------------------------------------------------- */

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

static const char *configuration_id(struct machines *m, const char *strategy, const char *merge,
                                    const char *release, const char *residency)
{
    return arena_printf(&m->arena, "%s\n%s\n%s\n%s", strategy, merge, release, residency);
}

static size_t configuration_of(struct machines *m, const struct case_key *key)
{
    const char *id = configuration_id(m, key->strategy, key->merge, key->release, key->residency);
    const size_t at = tree_index_of(m->configuration_names, id, m->configuration_count);
    if (at == m->configuration_count) {
        m->configuration = arena_grow(&m->arena, m->configuration, m->configuration_count,
                                      &m->configuration_room, sizeof *m->configuration);
        m->configuration[m->configuration_count++] =
            (struct machine_configuration){.key = *key, .worst_loss = NAN};
    }
    return at;
}

/* Calls `each` with program, configuration and machine of every case. */
static void walk(struct machines *m, void (*each)(struct machines *m, size_t p, size_t c, size_t at,
                                                  const json_t *one_case))
{
    for (size_t at = 0; at < m->machine_count; at++)
        for (size_t i = 0; i < m->machine[at].case_count; i++) {
            const json_t *one_case = m->machine[at].cases[i];
            struct case_key key;
            if (case_key_from_json(json_object_get(one_case, "key"), &key, NULL))
                continue;
            const size_t p = program_of(m, &key), c = configuration_of(m, &key);
            if (each)
                each(m, p, c, at, one_case);
        }
}

static void put_place(struct machines *m, size_t p, size_t c, size_t at, const json_t *one_case)
{
    place_of(m, p, c, at)->one_case = one_case;
}

/* A configuration counts in a program if every machine has tried it. Forgets the other places. */
static void keep_common(struct machines *m)
{
    for (size_t p = 0; p < m->program_count; p++)
        for (size_t c = 0; c < m->configuration_count; c++) {
            bool is_common = true;
            for (size_t at = 0; at < m->machine_count; at++)
                is_common &= place_of(m, p, c, at)->one_case != NULL;
            for (size_t at = 0; at < m->machine_count && !is_common; at++)
                place_of(m, p, c, at)->one_case = NULL;
            m->configuration[c].is_used |= is_common;
        }
}

/* "pool", or with what else varies "pool (best, scope)". */
static void name_configurations(struct machines *m)
{
    bool varies[3] = {false};
    for (size_t c = 1; c < m->configuration_count; c++) {
        const struct case_key *a = &m->configuration[0].key, *b = &m->configuration[c].key;
        varies[0] |= strcmp(a->merge, b->merge) != 0;
        varies[1] |= strcmp(a->release, b->release) != 0;
        varies[2] |= strcmp(a->residency, b->residency) != 0;
    }
    for (size_t c = 0; c < m->configuration_count; c++) {
        const struct case_key *key = &m->configuration[c].key;
        const char *const members[] = {key->merge, key->release, key->residency};
        const char *more = NULL;
        for (size_t i = 0; i < 3; i++)
            if (varies[i] && *members[i])
                more = more ? arena_printf(&m->arena, "%s, %s", more, members[i]) : members[i];
        m->configuration[c].name =
            more ? arena_printf(&m->arena, "%s (%s)", key->strategy, more) : key->strategy;
    }
}

/* Why a program cannot be compared; NULL if it can. */
static const char *obstacle(struct machines *m, size_t p)
{
    static const char *const digests[] = {"program_digest", "inputs_digest"};
    bool is_common = false;
    for (size_t c = 0; c < m->configuration_count; c++)
        is_common |= place_of(m, p, c, 0)->one_case != NULL;
    if (!is_common)
        return "not run on every machine with the same configurations";
    for (size_t d = 0; d < 2; d++) {
        const char *first = "";
        for (size_t i = 0; i < m->configuration_count * m->machine_count; i++) {
            const size_t at = i % m->machine_count;
            const struct place *place = place_of(m, p, i / m->machine_count, at);
            const char *own = place->one_case ? tree_get_text(place->one_case, digests[d]) : "";
            if (*first && *own && strcmp(first, own) != 0)
                return d ? "other data on the machines" : "another program on the machines";
            first = *own ? own : first;
        }
    }
    return NULL;
}

/* ---- the answer on each machine --------------------------------------------------------------- */

/* Finds the place of each element of a program's ranking on a machine. */
static void take_ranking(struct machines *m, size_t p, size_t at, const json_t *ranking)
{
    const json_t *each;
    for (size_t i = 0; (each = json_array_get(ranking, i)); i++) {
        const char *id =
            configuration_id(m, tree_get_text(each, "strategy"), tree_get_text(each, "merge"),
                             tree_get_text(each, "release"), tree_get_text(each, "residency"));
        const size_t c = tree_index_of(m->configuration_names, id, m->configuration_count);
        if (c < m->configuration_count && place_of(m, p, c, at)->one_case)
            place_of(m, p, c, at)->ranked = each;
    }
}

/* The answer to one program on one machine. */
static void answer_program(struct machines *m, size_t p, size_t at)
{
    const struct machine *machine = &m->machine[at];
    json_t *root = tree_object(), *cases = tree_array();
    for (size_t c = 0; c < m->configuration_count; c++) {
        const json_t *one_case = place_of(m, p, c, at)->one_case;
        if (one_case)
            tree_append(cases, json_incref((json_t *)one_case));
    }
    tree_put(root, "run", tree_share(machine->root, "run"));
    tree_put(root, "cases", cases);
    json_t *answer = answer_of(root, NULL);
    const json_t *own = json_array_get(answer, 0), *ranking = json_object_get(own, "ranking");
    if (!json_array_size(ranking))
        m->program[p].left_out = arena_printf(&m->arena, "no right answer on %s", machine->name);
    else if (!(tree_get_number(own, "rounds") > 0))
        m->program[p].left_out = arena_printf(&m->arena, "no times on %s", machine->name);
    else
        take_ranking(m, p, at, ranking);
    tree_append(m->answers, answer);
    json_decref(root);
}

/* At least 1: where two are as fast, the median of the ratios in all rounds may be below. */
static double loss_of(const struct place *place)
{
    const double loss = tree_get_number(json_object_get(place->ranked, "over_fastest"), "median");
    return loss < 1 ? 1 : loss;
}

static bool is_fastest(const struct place *place)
{
    const char *verdict = tree_get_text(place->ranked, "verdict");
    return strcmp(verdict, "fastest") == 0 || strcmp(verdict, "within") == 0 ||
           strcmp(verdict, "unsure") == 0;
}

/* Is the order of the program on a machine established? */
static bool is_established(const struct machines *m, size_t p, size_t at)
{
    size_t ranked = 0;
    bool has_intervals = true;
    for (size_t c = 0; c < m->configuration_count; c++) {
        const struct place *place = place_of(m, p, c, at);
        const json_t *over = json_object_get(place->ranked, "over_fastest");
        ranked += place->ranked != NULL;
        has_intervals &= !place->ranked || !isnan(tree_get_number(over, "ci_lo"));
    }
    return ranked < 2 || has_intervals;
}

static void agree(struct machines *m, size_t p)
{
    struct program *program = &m->program[p];
    program->agreement = AGREE_differs;
    for (size_t c = 0; c < m->configuration_count; c++) {
        bool is_fastest_on_all = true;
        double loss = 0;
        for (size_t at = 0; at < m->machine_count; at++) {
            const struct place *place = place_of(m, p, c, at);
            is_fastest_on_all &= is_fastest(place);
            loss = place->ranked ? fmax(loss, loss_of(place)) : INFINITY;
        }
        if (is_fastest_on_all)
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

/* ---- programs together ------------------------------------------------------------------------ */

static void add_place(struct configuration_on *on, const struct place *place, size_t p)
{
    const double loss = loss_of(place);
    on->mean_loss += log(loss);
    if (!on->count++ || loss > on->worst_loss) {
        on->worst_loss = loss;
        on->worst = p;
    }
    on->fastest_count += is_fastest(place);
}

static void sum_up(struct machines *m, size_t c)
{
    struct machine_configuration *one = &m->configuration[c];
    one->on = arena_alloc(&m->arena, m->machine_count * sizeof *one->on);
    one->is_everywhere = m->compared_count > 0;
    for (size_t at = 0; at < m->machine_count; at++) {
        struct configuration_on *on = &one->on[at];
        for (size_t i = 0; i < m->compared_count; i++) {
            const struct place *place = place_of(m, m->order[i], c, at);
            if (place->ranked)
                add_place(on, place, m->order[i]);
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
    walk(m, NULL);
    m->place = arena_alloc(&m->arena, (size_t)m->program_count * m->configuration_count *
                                              m->machine_count * sizeof *m->place +
                                          1);
    walk(m, put_place);
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

/* ---- as JSON ----------------------------------------------------------------------------------- */

static json_t *machine_json(const struct machine *machine)
{
    static const char *const facts[] = {"name", "driver", "backend", "alignment_bytes",
                                        "can_split"};
    const json_t *context = json_object_get(machine->root, "context");
    json_t *out =
        tree_pack("{s:o, s:o, s:o, s:o, s:o}", "name", tree_text(machine->name), "machine_id",
                  tree_share(json_object_get(context, "host"), "machine_id"), "device",
                  tree_share(machine->device, "id"), "files", json_incref(machine->files),
                  "git_rev", tree_share(json_object_get(context, "tool"), "git_rev"));
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        tree_put(out, i ? facts[i] : "device_name", tree_share(machine->device, facts[i]));
    return out;
}

static json_t *place_json(const struct machines *m, size_t p, size_t c, size_t at)
{
    const struct place *place = place_of(m, p, c, at);
    json_t *out = tree_pack("{s:o, s:o, s:o}", "name", tree_text(m->configuration[c].name),
                            "status", tree_share(place->one_case, "status"), "verdict",
                            tree_share(place->ranked, "verdict"));
    tree_put(out, "is_fastest", json_boolean(is_fastest(place)));
    tree_put(out, "speedup", tree_share(place->ranked, "speedup"));
    tree_put(out, "over_fastest", tree_share(place->ranked, "over_fastest"));
    tree_put(out, "time_ns", tree_number(case_stat(place->one_case, "wall_ns", "median")));
    return out;
}

/* Why a program differs, if a fastest configuration cannot run everywhere: "stream is skipped on opencl:1". */
static json_t *reason_of(struct machines *m, size_t p)
{
    struct text reason = {0};
    for (size_t c = 0; c < m->configuration_count && m->program[p].agreement == AGREE_differs; c++)
        for (size_t at = 0; at < m->machine_count; at++) {
            const json_t *one_case = place_of(m, p, c, at)->one_case;
            bool is_first = false;
            for (size_t other = 0; other < m->machine_count; other++)
                is_first |= is_fastest(place_of(m, p, c, other));
            if (is_first && !place_of(m, p, c, at)->ranked)
                text_add(&reason, "%s%s %s on %s", reason.length ? ", " : "",
                         m->configuration[c].name, tree_get_text(one_case, "status"),
                         m->machine[at].name);
        }
    json_t *out = tree_text_or_null(reason.data);
    text_free(&reason);
    return out;
}

static json_t *program_json(struct machines *m, size_t p)
{
    const struct program *program = &m->program[p];
    json_t *on = tree_array(), *common = tree_array();
    for (size_t at = 0; at < m->machine_count; at++) {
        json_t *places = tree_array();
        for (size_t c = 0; c < m->configuration_count; c++)
            if (place_of(m, p, c, at)->one_case)
                tree_append(places, place_json(m, p, c, at));
        tree_append(on, places);
    }
    for (size_t c = 0; c < m->configuration_count; c++) {
        bool is_common = true;
        for (size_t at = 0; at < m->machine_count; at++)
            is_common &= is_fastest(place_of(m, p, c, at));
        if (is_common)
            tree_append(common, tree_text(m->configuration[c].name));
    }
    return tree_pack(
        "{s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o}", "workload", tree_text(program->workload),
        "dataset", tree_text(program->dataset), "agreement", agreement_names[program->agreement],
        "reason", reason_of(m, p), "fastest_on_all", common, "choice",
        isnan(program->choice_loss) ? json_null()
                                    : tree_text(m->configuration[program->choice].name),
        "choice_loss", tree_number(program->choice_loss), "machines", on);
}

static json_t *on_json(const struct machines *m, const struct configuration_on *on)
{
    const struct program *worst = on->count ? &m->program[on->worst] : NULL;
    return tree_pack("{s:o, s:o, s:o, s:o, s:o}", "programs", tree_count(on->count), "fastest",
                     tree_count(on->fastest_count), "mean_loss", tree_number(on->mean_loss),
                     "worst_loss", tree_number(on->worst_loss), "worst",
                     worst ? tree_pack("{s:o, s:o}", "workload", tree_text(worst->workload),
                                       "dataset", tree_text(worst->dataset))
                           : json_null());
}

static json_t *configuration_json(const struct machines *m, size_t c)
{
    const struct machine_configuration *one = &m->configuration[c];
    json_t *on = tree_array(), *out = tree_object();
    for (size_t at = 0; at < m->machine_count; at++)
        tree_append(on, on_json(m, &one->on[at]));
    tree_put(out, "name", tree_text(one->name));
#define X(member)                                                                                  \
    if (*one->key.member)                                                                          \
        tree_put(out, #member, tree_text(one->key.member));
    BASELINE_LIST(X)
#undef X
    tree_put(out, "worst_loss", tree_number(one->worst_loss));
    tree_put(out, "is_safest", json_boolean(one == m->safest));
    tree_put(out, "machines", on);
    return out;
}

/* The safest first; those that are not everywhere come last. */
static void put_configurations(const struct machines *m, json_t *out)
{
    for (size_t c = 0; c < m->configuration_count; c++) {
        const double worst = m->configuration[c].worst_loss;
        size_t i = json_array_size(out);
        if (!m->configuration[c].is_used)
            continue;
        while (i > 0 && !isnan(worst) &&
               !(tree_get_number(json_array_get(out, i - 1), "worst_loss") <= worst))
            i--;
        tree_insert(out, i, configuration_json(m, c));
    }
}

/* ---- in words ---------------------------------------------------------------------------------- */

static void say(json_t *to, struct text *words)
{
    tree_append(to, tree_text(words->data));
    text_free(words);
}

/* "alignment_bytes: 256 on cuda:0, 512 on opencl:1", if machines differ in a fact of their device or tool. */
static void note_fact(struct machines *m, const char *owner, const char *fact)
{
    const json_t *first = NULL;
    bool differ = false;
    struct text words = {0};
    for (size_t at = 0; at < m->machine_count; at++) {
        const struct machine *machine = &m->machine[at];
        const json_t *context = json_object_get(machine->root, "context");
        const json_t *value =
            json_object_get(owner ? json_object_get(context, owner) : machine->device, fact);
        char *shown = json_dumps(value, JSON_ENCODE_ANY);
        text_add(&words, "%s%s on %s", at ? ", " : "", shown ? shown : "unknown", machine->name);
        differ |= first && value && !json_equal(first, value);
        first = first ? first : value;
        free(shown);
    }
    if (differ)
        tree_append(m->notes, json_sprintf("%s: %s", fact, words.data));
    text_free(&words);
}

static void add_to_list(struct text *list, const char *name)
{
    text_add(list, "%s%s", list->length ? ", " : "", name);
}

static void note_what_lacks(struct machines *m)
{
    struct text configurations = {0};
    for (size_t c = 0; c < m->configuration_count; c++)
        if (!m->configuration[c].is_used)
            add_to_list(&configurations, m->configuration[c].name);
    if (configurations.length)
        tree_append(m->notes, json_sprintf("left out, because not every machine ran a program with "
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
    text_add(&words,
             "the same configuration is among the fastest everywhere in %zu, in %zu none is",
             m->agree_count[AGREE_same], m->agree_count[AGREE_differs]);
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
    text_add(&words, "safest: %s, at most %.2f times as long as the fastest (%s %s on %s%s); mean",
             safest->name, safest->worst_loss, m->program[p].workload, m->program[p].dataset,
             m->machine[at].name, is_noise ? ", not told apart from it" : "");
    for (size_t i = 0; i < m->machine_count; i++)
        text_add(&words, "%s %.2f on %s", i ? "," : "", safest->on[i].mean_loss,
                 m->machine[i].name);
    if (next)
        text_add(&words, "; next: %s, at most %.2f", next->name, next->worst_loss);
    say(to, &words);
}

static json_t *sentences_of(const struct machines *m)
{
    json_t *sentences = tree_array();
    if (m->compared_count) {
        say_agreement(m, sentences);
        say_safest(m, sentences);
    }
    return sentences;
}

/* ---- the tree ---------------------------------------------------------------------------------- */

/* What the ratios of every answer are over: "raw"; else a word for several. */
static const char *against(const struct machines *m)
{
    const char *common = NULL;
    for (size_t i = 0; i < json_array_size(m->answers); i++) {
        const char *own = answer_against(json_array_get(m->answers, i));
        common = !common || strcmp(common, own) == 0 ? own : ANSWER_SEVERAL;
    }
    return common ? common : "raw";
}

static json_t *tree_of(struct machines *m)
{
    json_t *machines = tree_array(), *programs = tree_array(), *configurations = tree_array();
    json_t *left_out = tree_array();
    for (size_t at = 0; at < m->machine_count; at++)
        tree_append(machines, machine_json(&m->machine[at]));
    for (size_t i = 0; i < m->compared_count; i++)
        tree_append(programs, program_json(m, m->order[i]));
    for (size_t p = 0; p < m->program_count; p++)
        if (m->program[p].left_out)
            tree_append(left_out,
                        tree_pack("{s:o, s:o, s:o}", "workload", tree_text(m->program[p].workload),
                                  "dataset", tree_text(m->program[p].dataset), "reason",
                                  tree_text(m->program[p].left_out)));
    put_configurations(m, configurations);
    /* Strategies may make other calls under these. */
    note_fact(m, NULL, "backend");
    note_fact(m, NULL, "alignment_bytes");
    note_fact(m, NULL, "can_split");
    note_fact(m, "tool", "git_rev");
    note_fact(m, "tool", "build");
    note_what_lacks(m);
    return tree_pack("{s:s, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:O}", "schema", MACHINES_SCHEMA,
                     "sentences", sentences_of(m), "against", against(m), "agreement",
                     tree_pack("{s:o, s:o, s:o}", "same", tree_count(m->agree_count[AGREE_same]),
                               "differs", tree_count(m->agree_count[AGREE_differs]), "unsure",
                               tree_count(m->agree_count[AGREE_unsure])),
                     "machines", machines, "programs", programs, "configurations", configurations,
                     "left_out", left_out, "notes", m->notes);
}

static void machines_free(struct machines *m)
{
    for (size_t at = 0; at < m->machine_count; at++) {
        json_decref(m->machine[at].files);
        json_decref(m->machine[at].ids);
    }
    json_decref(m->program_names);
    json_decref(m->configuration_names);
    json_decref(m->answers);
    json_decref(m->notes);
    arena_free(&m->arena);
}

int machines_compare(const struct compare_file *files, size_t count, json_t **tree,
                     struct error *error)
{
    struct machines m = {.program_names = tree_object(),
                         .configuration_names = tree_object(),
                         .answers = tree_array(),
                         .notes = tree_array()};
    int code = find_machines(&m, files, count, error);
    if (!code) {
        compare_programs(&m);
        *tree = tree_of(&m);
    }
    machines_free(&m);
    return code;
}

bool machines_have_any(const json_t *tree)
{
    return json_array_size(json_object_get(tree, "programs")) > 0;
}
