
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/tree.h"
#include "results/file/draft.h"
#include "results/file/shard.h"

/* ---- what does not belong together ----------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    const struct join_file *one = a, *other = b;
    const unsigned number = one->result.run.shard->number,
                   other_number = other->result.run.shard->number;
    return number != other_number ? (number < other_number ? -1 : 1)
                                  : strcmp(one->path, other->path);
}

static int check_alike(const struct join_file *files, size_t count, struct error *error)
{
    for (size_t i = 0; i < count; i++)
        if (!files[i].result.run.shard)
            return error_set(error, ERR_USAGE,
                             "%s is no shard: join takes files that were made with --shard K/N",
                             files[i].path);
    for (size_t i = 1; i < count; i++)
        if (shard_check_alike(&files[i].result, &files[0].result, error)) {
            error_prefix(error, "%s: ", files[i].path);
            error_suffix(error,
                         " (%s): join the shards of one list, all made by one build and with the "
                         "same options",
                         files[0].path);
            return ERR_USAGE;
        }
    return 0;
}

/* A person's name for an item: the words of the case with this id, or the id. */
static const char *item_words(const struct result *result, const char *id, char words[512])
{
    const struct result_case *one = result_case_of(result, id);
    if (one)
        snprintf(words, 512, "%s, %s on %s", one->key.workload, one->key.strategy, one->key.device);
    else
        snprintf(words, 512, "item %s", id);
    return words;
}

/* Items of one machine that two files have. `seen`: {machine and id: path}. */
static int check_twice(const struct join_file *file, json_t *seen, struct error *error)
{
    struct text machine = {0};
    json_t *done = shard_done(&file->result), *is;
    const char *id;
    int code = 0;
    shard_machine(&file->result, &machine);
    json_object_foreach(done, id, is)
    {
        struct text name = {0};
        char words[512];
        text_add(&name, "%s %s", id, machine.length ? machine.data : "");
        const char *other = tree_get_text(seen, name.data);
        if (!code && *other)
            code = error_set(error, ERR_USAGE, "%s is in %s and in %s: leave one of them out",
                             item_words(&file->result, id, words), other, file->path);
        tree_put(seen, name.data, tree_text(file->path));
        text_free(&name);
    }
    json_decref(done);
    text_free(&machine);
    return code;
}

/* `seen`: {workload and dataset: [digests of its program and inputs, path]}. */
static int check_contents(const struct join_file *file, json_t *seen, struct error *error)
{
    for (size_t i = 0; i < file->result.case_count; i++) {
        const struct result_case *one = &file->result.cases[i];
        struct text name = {0}, digests = {0};
        text_add(&name, "%s %s", one->key.workload, one->key.dataset);
        text_add(&digests, "%s %s", one->program_digest ? one->program_digest : "",
                 one->inputs_digest ? one->inputs_digest : "");
        const json_t *before = json_object_get(seen, name.data);
        int code = 0;
        if (digests.length > 1 && !before)
            tree_put(seen, name.data, tree_pack("[s, o]", digests.data, tree_text(file->path)));
        else if (digests.length > 1 &&
                 strcmp(digests.data, json_string_value(json_array_get(before, 0))) != 0)
            code = error_set(
                error, ERR_USAGE,
                "%s is another trace or program, or has other data, in %s than in %s: run "
                "all shards with the same files",
                one->key.workload, file->path, json_string_value(json_array_get(before, 1)));
        text_free(&name);
        text_free(&digests);
        TRY(code);
    }
    return 0;
}

int join_check(struct join_file *files, size_t count, struct error *error)
{
    TRY(check_alike(files, count, error));
    qsort(files, count, sizeof *files, by_number);
    json_t *items = tree_object(), *contents = tree_object();
    int code = 0;
    for (size_t i = 0; i < count && !code; i++) {
        code = check_twice(&files[i], items, error);
        THEN(code, check_contents(&files[i], contents, error));
    }
    json_decref(items);
    json_decref(contents);
    return code;
}

/* ---- what is missing ------------------------------------------------------------------------- */

/* A name of a shard's file with another shard's number: shards/007.json -> shards/012.json. As it
 * is, if its last part has no number of its own. */
static void add_renamed(struct text *out, const char *path, unsigned from, unsigned to)
{
    const char *at = text_file_name(path);
    for (size_t length; *at; at += length) {
        length = strspn(at, "0123456789");
        if (length && strtoul(at, NULL, 10) == from) {
            text_add(out, "%.*s%0*u%s", (int)(at - path), path, (int)length, to, at + length);
            return;
        }
        length += length == 0;
    }
    text_add(out, "%s", path);
}

/* The value of a word such as --out=FILE or -o FILE; NULL if it is another one. *takes_next: the
 * value is the next word. */
static const char *value_in(const char *word, const char *name, const char *letter,
                            bool *takes_next)
{
    const size_t length = strlen(name);
    *takes_next = strcmp(word, name) == 0 || (letter && strcmp(word, letter) == 0);
    if (strncmp(word, name, length) == 0 && word[length] == '=')
        return word + length + 1;
    if (letter && strncmp(word, letter, 2) == 0 && word[2] && word[1] != '-')
        return word + 2;
    return *takes_next ? "" : NULL;
}

/* The words of the command that made `file`, but for another shard; `number` 0: for the whole list,
 * without its file. Returns how many there are. */
static size_t words_for(const struct join_file *file, unsigned number, struct arena *arena,
                        const char ***words)
{
    const struct result_run *run = &file->result.run;
    struct text path = {0};
    size_t count = 0;
    *words = arena_alloc(arena, (run->argc + 5) * sizeof **words);
    for (size_t i = 0; i < run->argc; i++) {
        const char *word = run->argv[i];
        bool takes_next;
        const char *out = value_in(word, "--out", "-o", &takes_next);
        const bool is_shard = !out && value_in(word, "--shard", NULL, &takes_next);
        if (takes_next) {
            i++;
            out = out && i < run->argc ? run->argv[i] : NULL;
        }
        if (!out && !is_shard && strcmp(word, "--force") != 0)
            (*words)[count++] = word;
        if (out)
            path.length = 0, add_renamed(&path, out, run->shard->number, number);
    }
    if (number && !path.length) /* the environment named it */
        add_renamed(&path, file->path, run->shard->number, number);
    if (number) {
        (*words)[count++] = "-o";
        (*words)[count++] = arena_copy(arena, path.data, path.length);
        (*words)[count++] = "--shard";
        (*words)[count++] = arena_printf(arena, "%u/%u", number, run->shard->of);
    }
    text_free(&path);
    return count;
}

static void add_command(struct text *out, const struct join_file *file, unsigned number)
{
    struct arena arena = {0};
    const char **words;
    const size_t count = words_for(file, number, &arena, &words);
    for (size_t i = 0; i < count; i++) {
        text_add(out, i ? " " : "");
        text_add_word(out, words[i]);
    }
    arena_free(&arena);
}

static void add_missing(struct text *lines, const struct join_file *files, size_t count,
                        unsigned number)
{
    const struct join_file *partial = NULL;
    for (size_t i = 0; i < count; i++)
        if (files[i].result.run.shard->number == number)
            partial = &files[i];
    if (partial) {
        json_t *done = shard_done(&partial->result);
        text_add(lines, "shard %u is not finished: %s has %zu of %" PRIu64 " items: ", number,
                 partial->path, json_object_size(done), partial->result.run.shard->own);
        json_decref(done);
    } else {
        text_add(lines, "shard %u has no file: ", number);
    }
    add_command(lines, partial ? partial : &files[0], number);
    text_add(lines, "\n");
}

size_t join_missing(const struct join_file *files, size_t count, struct text *lines)
{
    const unsigned of = files[0].result.run.shard->of;
    bool *has = must_alloc(of + 1);
    size_t missing = 0;
    for (size_t i = 0; i < count; i++) {
        const struct result_run *run = &files[i].result.run;
        if (run->shard->number <= of)
            has[run->shard->number] |= run->status == RUN_COMPLETE;
    }
    for (unsigned number = 1; number <= of; number++)
        if (!has[number]) {
            add_missing(lines, files, count, number);
            missing++;
        }
    free(has);
    return missing;
}

/* ---- one result ------------------------------------------------------------------------------ */

/* Adds copies of `count` items of `each` bytes at the end of an array. */
static void *joined_items(struct arena *arena, void *items, size_t *has, const void *more,
                          size_t count, size_t each)
{
    char *all = arena_alloc(arena, (*has + count + 1) * each);
    if (*has)
        memcpy(all, items, *has * each);
    if (count)
        memcpy(all + *has * each, more, count * each);
    *has += count;
    return all;
}

static void add_array(struct result *joined, json_t **to, const json_t *from)
{
    if (!*to && from)
        *to = result_keep(joined, tree_array());
    if (from)
        json_array_extend(*to, (json_t *)from);
}

static void add_file(struct result *joined, const struct result *from)
{
    struct arena *arena = &joined->arena;
    struct result_run *run = &joined->run;
    const struct result_joined shard = {from->run.shard->number, from->run.id,
                                        from->run.started_at,    from->context.host.machine_id,
                                        from->run.duration_ns,   from->run.session_count,
                                        from->run.sessions};
    joined->cases = joined_items(arena, joined->cases, &joined->case_count, from->cases,
                                 from->case_count, sizeof *from->cases);
    run->joined = joined_items(arena, run->joined, &run->joined_count, &shard, 1, sizeof shard);
    add_array(joined, &joined->fits, from->fits);
    add_array(joined, &joined->advice, from->advice);
    if (joined->origins)
        json_object_update_missing(joined->origins, from->origins);
    run->duration_ns += from->run.duration_ns == UINT64_MAX ? 0 : from->run.duration_ns;
    if (strcmp(from->run.started_at, run->started_at) < 0)
        run->started_at = from->run.started_at;
}

/* The first file without its items: the facts that all files share. */
static struct result begin(const struct join_file *first)
{
    struct result joined = first->result;
    struct result_run *run = &joined.run;
    joined.arena = joined.derived = (struct arena){0};
    joined.root = joined.kept = NULL;
    joined.case_count = run->joined_count = 0;
    joined.fits = joined.advice = NULL;
    if (joined.origins)
        joined.origins = result_keep(&joined, json_deep_copy(joined.origins));
    run->shard = NULL;
    run->sessions = arena_alloc(&joined.arena, (run->session_count + 1) * sizeof *run->sessions);
    for (size_t i = 0; i < run->session_count; i++) {
        run->sessions[i] = first->result.run.sessions[i];
        run->sessions[i].atlases = NULL; /* those of one shard */
    }
    run->options = result_keep(&joined, json_deep_copy(run->options));
    json_object_del(run->options, "shard");
    json_object_del(run->options, "out");
    run->argc = words_for(first, 0, &joined.arena, &run->argv);
    run->duration_ns = 0;
    return joined;
}

struct named {
    const char *name;
    size_t at;
    json_t *value;
};

static int by_name(const void *a, const void *b)
{
    const struct named *one = a, *other = b;
    const int order = strcmp(one->name, other->name);
    return order ? order : one->at < other->at ? -1 : one->at > other->at;
}

/* Puts fits or advice into the order of their traces; what is for all traces comes last. */
static void sort_by_trace(json_t *all)
{
    const size_t count = json_array_size(all);
    struct named *names = must_alloc((count + 1) * sizeof *names);
    for (size_t i = 0; i < count; i++) {
        json_t *one = json_array_get(all, i), *traces = json_object_get(one, "traces");
        names[i] = (struct named){!traces ? tree_get_text(one, "trace")
                                  : json_array_size(traces) == 1
                                      ? tree_get_text(json_array_get(traces, 0), "trace")
                                      : "\xff",
                                  i, json_incref(one)};
    }
    qsort(names, count, sizeof *names, by_name);
    for (size_t i = 0; i < count; i++)
        json_array_set_new(all, i, names[i].value);
    free(names);
}

bool join_machine(const struct join_file *files, size_t count, bool *taken, struct result *joined)
{
    const struct join_file *first = NULL;
    for (size_t i = 0; i < count; i++) {
        if (taken[i] || (first && !shard_same_machine(&first->result, &files[i].result)))
            continue;
        if (!first) {
            first = &files[i];
            *joined = begin(first);
        }
        add_file(joined, &files[i].result);
        taken[i] = true;
    }
    if (first) {
        result_sort_cases(joined);
        sort_by_trace(joined->fits);
        sort_by_trace(joined->advice);
    }
    return first;
}

int join_check_items(const struct result *joined, size_t count, const struct result_shard *shard,
                     struct error *error)
{
    json_t *ids = tree_object(), *is;
    const char *id;
    uint64_t list = 0;
    char digest[17];
    for (size_t i = 0; i < count; i++) {
        json_t *done = shard_done(&joined[i]);
        json_object_update(ids, done);
        json_decref(done);
    }
    json_object_foreach(ids, id, is) list = shard_list_add(list, id);
    snprintf(digest, sizeof digest, "%016" PRIx64, list);
    const size_t has = json_object_size(ids);
    json_decref(ids);
    if (strcmp(digest, shard->list) == 0)
        return 0;
    return error_set(error, ERR_USAGE,
                     "the files have %zu items that are not the %" PRIu64
                     " of the list: one of them was changed; run its shard again",
                     has, shard->items);
}
