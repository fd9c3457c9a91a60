#include "record/result/join.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/tree.h"
#include "record/result/result.h"
#include "record/result/shard.h"

static const json_t *run_of(const json_t *root)
{
    return json_object_get(root, "run");
}

static const json_t *shard_of(const json_t *root)
{
    return json_object_get(run_of(root), "shard");
}

static unsigned number_of(const json_t *root)
{
    return (unsigned)tree_get_number(shard_of(root), "number");
}

static bool is_complete(const json_t *root)
{
    return strcmp(tree_get_text(run_of(root), "status"), "complete") == 0;
}

/* ---- what does not belong together ----------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    const struct join_file *one = a, *other = b;
    const unsigned number = number_of(one->root), other_number = number_of(other->root);
    return number != other_number ? (number < other_number ? -1 : 1)
                                  : strcmp(one->path, other->path);
}

static int check_alike(const struct join_file *files, size_t count, struct error *error)
{
    for (size_t i = 0; i < count; i++)
        if (!shard_of(files[i].root))
            return error_set(error, ERR_USAGE,
                             "%s is no shard: join takes files that were made with --shard K/N",
                             files[i].path);
    for (size_t i = 1; i < count; i++)
        if (shard_check_alike(files[i].root, files[0].root, error)) {
            error_prefix(error, "%s: ", files[i].path);
            error_suffix(error,
                         " (%s): join the shards of one list, all made by one build and with the "
                         "same options",
                         files[0].path);
            return ERR_USAGE;
        }
    return 0;
}

/* What a person calls an item: the words of the case with this id, or the id. */
static const char *item_words(const json_t *root, const char *id, char words[512])
{
    const json_t *cases = json_object_get(root, "cases"), *one;
    snprintf(words, 512, "item %s", id);
    for (size_t i = 0; (one = json_array_get(cases, i)); i++) {
        const json_t *key = json_object_get(one, "key");
        if (strcmp(tree_get_text(one, "id"), id) == 0)
            snprintf(words, 512, "%s, %s on %s", tree_get_text(key, "workload"),
                     tree_get_text(key, "strategy"), tree_get_text(key, "device"));
    }
    return words;
}

/* Items of one machine that two files have. `seen`: {machine and id: path}. */
static int check_twice(const struct join_file *file, json_t *seen, struct error *error)
{
    struct text machine = {0};
    json_t *done = shard_done(file->root), *is;
    const char *id;
    int code = 0;
    shard_machine(file->root, &machine);
    json_object_foreach(done, id, is)
    {
        struct text name = {0};
        char words[512];
        text_add(&name, "%s %s", id, machine.length ? machine.data : "");
        const char *other = tree_get_text(seen, name.data);
        if (!code && *other)
            code = error_set(error, ERR_USAGE, "%s is in %s and in %s: leave one of them out",
                             item_words(file->root, id, words), other, file->path);
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
    const json_t *cases = json_object_get(file->root, "cases"), *one;
    for (size_t i = 0; (one = json_array_get(cases, i)); i++) {
        const json_t *key = json_object_get(one, "key");
        struct text name = {0}, digests = {0};
        text_add(&name, "%s %s", tree_get_text(key, "workload"), tree_get_text(key, "dataset"));
        text_add(&digests, "%s %s", tree_get_text(one, "program_digest"),
                 tree_get_text(one, "inputs_digest"));
        const json_t *before = json_object_get(seen, name.data);
        int code = 0;
        if (digests.length > 1 && !before)
            tree_put(seen, name.data, tree_pack("[s, s]", digests.data, file->path));
        else if (digests.length > 1 &&
                 strcmp(digests.data, json_string_value(json_array_get(before, 0))) != 0)
            code = error_set(
                error, ERR_USAGE,
                "%s is another trace or program, or has other data, in %s than in %s: run "
                "all shards with the same files",
                tree_get_text(key, "workload"), file->path,
                json_string_value(json_array_get(before, 1)));
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
        if (!code)
            code = check_contents(&files[i], contents, error);
    }
    json_decref(items);
    json_decref(contents);
    return code;
}

/* ---- what is missing ------------------------------------------------------------------------- */

static void add_word(struct text *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_./:=,+@%";
    const bool is_plain = *word && word[strspn(word, plain)] == 0;
    text_add(out, "%s%s", out->length ? " " : "", is_plain ? "" : "'");
    for (const char *c = word; *c; c++)
        text_add(out, *c == '\'' ? "'\\''" : "%c", *c);
    text_add(out, "%s", is_plain ? "" : "'");
}

/* A name of a shard's file with another shard's number: shards/007.json -> shards/012.json. As it is, if
 * its last part has no number of its own. */
static void add_renamed(struct text *out, const char *path, unsigned from, unsigned to)
{
    const char *slash = strrchr(path, '/'), *at = slash ? slash + 1 : path;
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

/* The value of a word such as --out=FILE or -o FILE; NULL if it is another one. *takes_next: the value
 * is the next word. */
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

/* The words of the command that made `file`, but for another shard; `number` 0: for the whole list, without
 * its file. The caller owns the array. */
static json_t *words_for(const struct join_file *file, unsigned number)
{
    const json_t *argv = json_object_get(run_of(file->root), "argv");
    json_t *words = tree_array();
    struct text shard = {0}, path = {0};
    text_add(&shard, "%u/%.0f", number, tree_get_number(shard_of(file->root), "of"));
    for (size_t i = 0; i < json_array_size(argv); i++) {
        const char *word = json_string_value(json_array_get(argv, i));
        bool takes_next;
        const char *out = value_in(word, "--out", "-o", &takes_next);
        const bool is_shard = !out && value_in(word, "--shard", NULL, &takes_next);
        if (takes_next) {
            const json_t *next = json_array_get(argv, ++i);
            out = out ? json_string_value(next) : NULL;
        }
        if (!out && !is_shard && strcmp(word, "--force") != 0)
            tree_append(words, tree_text(word));
        if (out)
            path.length = 0, add_renamed(&path, out, number_of(file->root), number);
    }
    if (number && !path.length) /* the environment named it */
        add_renamed(&path, file->path, number_of(file->root), number);
    if (number) {
        tree_append(words, tree_text("-o"));
        tree_append(words, tree_text(path.data));
        tree_append(words, tree_text("--shard"));
        tree_append(words, tree_text(shard.data));
    }
    text_free(&shard);
    text_free(&path);
    return words;
}

static void add_command(struct text *out, const struct join_file *file, unsigned number)
{
    json_t *words = words_for(file, number);
    struct text command = {0};
    for (size_t i = 0; i < json_array_size(words); i++)
        add_word(&command, json_string_value(json_array_get(words, i)));
    text_add(out, "%s", command.data);
    text_free(&command);
    json_decref(words);
}

static void add_missing(struct text *lines, const struct join_file *files, size_t count,
                        unsigned number)
{
    const struct join_file *partial = NULL;
    for (size_t i = 0; i < count; i++)
        if (number_of(files[i].root) == number)
            partial = &files[i];
    if (partial) {
        json_t *done = shard_done(partial->root);
        text_add(lines, "shard %u is not finished: %s has %zu of %.0f items: ", number,
                 partial->path, json_object_size(done),
                 tree_get_number(shard_of(partial->root), "own"));
        json_decref(done);
    } else {
        text_add(lines, "shard %u has no file: ", number);
    }
    add_command(lines, partial ? partial : &files[0], number);
    text_add(lines, "\n");
}

size_t join_missing(const struct join_file *files, size_t count, struct text *lines)
{
    const unsigned of = (unsigned)tree_get_number(shard_of(files[0].root), "of");
    bool *has = must_alloc(of + 1);
    size_t missing = 0;
    for (size_t i = 0; i < count; i++)
        if (number_of(files[i].root) <= of)
            has[number_of(files[i].root)] |= is_complete(files[i].root);
    for (unsigned number = 1; number <= of; number++)
        if (!has[number]) {
            add_missing(lines, files, count, number);
            missing++;
        }
    free(has);
    return missing;
}

/* ---- one result ------------------------------------------------------------------------------ */

static const char *const parts[] = {"cases", "experiments", "fits", "advice"};
enum { PARTS = sizeof parts / sizeof *parts };

static json_t *joined_shard(const json_t *root)
{
    const json_t *run = run_of(root);
    const json_t *host = json_object_get(json_object_get(root, "context"), "host");
    return tree_pack("{s:i, s:o, s:o, s:o, s:o, s:o}", "number", (int)number_of(root), "run",
                     tree_share(run, "id"), "started_at", tree_share(run, "started_at"),
                     "duration_ns", tree_share(run, "duration_ns"), "machine_id",
                     tree_share(host, "machine_id"), "sessions", tree_share(run, "sessions"));
}

static void add_file(json_t *joined, const json_t *root)
{
    for (size_t p = 0; p < PARTS; p++) {
        json_t *from = json_object_get(root, parts[p]), *to = json_object_get(joined, parts[p]);
        if (!from)
            continue;
        if (!to)
            tree_put(joined, parts[p], to = tree_array());
        json_array_extend(to, from);
    }
    json_t *origins = json_object_get(joined, "origins");
    if (origins)
        json_object_update_missing(origins, json_object_get(root, "origins"));
    json_t *run = json_object_get(joined, "run");
    tree_append(json_object_get(run, "joined"), joined_shard(root));
    const double before = tree_get_number(run, "duration_ns");
    const double more = tree_get_number(run_of(root), "duration_ns");
    tree_put(run, "duration_ns", tree_number(before + (isnan(more) ? 0 : more)));
    if (strcmp(tree_get_text(run_of(root), "started_at"), tree_get_text(run, "started_at")) < 0)
        tree_put(run, "started_at", tree_share(run_of(root), "started_at"));
}

/* The first file without its items: the facts that all files share. */
static json_t *begin(const struct join_file *first)
{
    json_t *joined = json_copy(first->root), *run = json_deep_copy(run_of(first->root));
    for (size_t p = 0; p < PARTS; p++)
        if (json_object_get(joined, parts[p]))
            tree_put(joined, parts[p], tree_array());
    if (json_object_get(joined, "origins"))
        tree_put(joined, "origins", json_deep_copy(json_object_get(joined, "origins")));
    json_object_del(run, "shard");
    json_t *session;
    size_t i;
    json_array_foreach(json_object_get(run, "sessions"), i, session)
    {
        json_object_del(session, "atlases"); /* those of one shard */
    }
    json_t *options = json_object_get(run, "options");
    json_object_del(options, "shard");
    json_object_del(options, "out");
    tree_put(run, "argv", words_for(first, 0));
    tree_put(run, "duration_ns", tree_count(0));
    tree_put(run, "joined", tree_array());
    tree_put(joined, "run", run);
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

/* Puts fits and advice into the order of their traces; what is for all traces comes last. */
static void sort_by_trace(json_t *root, const char *part)
{
    json_t *all = json_object_get(root, part), *sorted = tree_array();
    const size_t count = json_array_size(all);
    struct named *names = must_alloc((count + 1) * sizeof *names);
    for (size_t i = 0; i < count; i++) {
        json_t *one = json_array_get(all, i), *traces = json_object_get(one, "traces");
        names[i] = (struct named){!traces ? tree_get_text(one, "trace")
                                  : json_array_size(traces) == 1
                                      ? tree_get_text(json_array_get(traces, 0), "trace")
                                      : "\xff",
                                  i, one};
    }
    qsort(names, count, sizeof *names, by_name);
    for (size_t i = 0; i < count; i++)
        tree_append(sorted, json_incref(names[i].value));
    if (all)
        tree_put(root, part, sorted);
    else
        json_decref(sorted);
    free(names);
}

json_t *join_machine(const struct join_file *files, size_t count, bool *taken)
{
    struct text machine = {0};
    json_t *joined = NULL;
    for (size_t i = 0; i < count; i++) {
        struct text other = {0};
        if (taken[i])
            continue;
        if (!joined)
            shard_machine(files[i].root, &machine);
        shard_machine(files[i].root, &other);
        if (machine.length == other.length &&
            (!other.length || strcmp(machine.data, other.data) == 0)) {
            if (!joined)
                joined = begin(&files[i]);
            add_file(joined, files[i].root);
            taken[i] = true;
        }
        text_free(&other);
    }
    text_free(&machine);
    if (joined) {
        result_sort_cases(joined);
        sort_by_trace(joined, "fits");
        sort_by_trace(joined, "advice");
    }
    return joined;
}

int join_check_items(json_t *const *joined, size_t count, const json_t *shard, struct error *error)
{
    json_t *ids = tree_object(), *is;
    const char *id;
    uint64_t list = 0;
    char digest[17];
    for (size_t i = 0; i < count; i++) {
        json_t *done = shard_done(joined[i]);
        json_object_update(ids, done);
        json_decref(done);
    }
    json_object_foreach(ids, id, is) list = shard_list_add(list, id);
    snprintf(digest, sizeof digest, "%016" PRIx64, list);
    const size_t has = json_object_size(ids);
    json_decref(ids);
    if (strcmp(digest, tree_get_text(shard, "list")) == 0)
        return 0;
    return error_set(error, ERR_USAGE,
                     "the files have %zu items that are not the %.0f of the list: one of them was "
                     "changed; run its shard again",
                     has, tree_get_number(shard, "items"));
}
