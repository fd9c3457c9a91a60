/* Finds the traces and strategies that a command line names, and makes traces of logs. */
#include "cli/traces.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "alloc/pytorch_conf.h"
#include "alloc/registry.h"
#include "base/file_kind.h"
#include "base/text.h"
#include "base/tree.h"
#include "results/facts/case.h"
#include "replay/plan.h"
#include "trace/import.h"

static void add(struct traces *traces, const char *path)
{
    traces->paths = arena_grow(&traces->arena, traces->paths, traces->count, &traces->capacity,
                               sizeof *traces->paths);
    traces->paths[traces->count++] = path;
}

static int is_trace(const struct dirent *file)
{
    return file->d_name[trace_stem(file->d_name)] != 0;
}

static int add_folder(struct traces *traces, const char *folder, struct error *error)
{
    struct dirent **files;
    const int count = scandir(folder, &files, is_trace, alphasort);
    if (count < 0)
        return error_set(error, ERR_IO, "%s: %s", folder, strerror(errno));
    for (int i = 0; i < count; i++) {
        add(traces, arena_printf(&traces->arena, "%s/%s", folder, files[i]->d_name));
        free(files[i]);
    }
    free(files);
    return count ? 0
                 : error_set(error, ERR_USAGE, "%s: the folder has no file *%s", folder,
                             TRACE_SUFFIX);
}

/* ---- logs of other tools ---- */

static void keep_made(struct traces *traces, const char *path, const char *log)
{
    traces->made = arena_grow(&traces->arena, traces->made, traces->made_count,
                              &traces->made_capacity, sizeof *traces->made);
    traces->made[traces->made_count++] = (struct made_trace){path, log};
}

static void add_made(struct traces *traces, const char *path, const char *log)
{
    keep_made(traces, path, log);
    add(traces, path);
}

/* Each temporary trace has a folder of its own: two may have the same name. */
static int make_folder(struct traces *traces, const char **folder, struct error *error)
{
    const char *temporary = getenv("TMPDIR");
    char *made = arena_printf(&traces->arena, "%s/gamut.XXXXXX",
                              temporary && *temporary ? temporary : "/tmp");
    if (!mkdtemp(made))
        return error_set(error, ERR_IO, "%s: %s", made, strerror(errno));
    keep_made(traces, made, NULL);
    *folder = made;
    return 0;
}

int traces_make(struct traces *traces, const char *name, const char **path, struct error *error)
{
    const char *folder;
    TRY(make_folder(traces, &folder, error));
    *path = arena_printf(&traces->arena, "%s/%s" TRACE_SUFFIX, folder, name);
    add_made(traces, *path, name);
    return 0;
}

void traces_name_of_log(const char *log, struct text *name)
{
    const char *base = text_file_name(log);
    text_add_bytes(name, base, strcspn(base + (*base == '.'), ".") + (*base == '.'));
}

static int add_log(struct traces *traces, const char *log, const char *given, struct error *error)
{
    struct import_report report;
    struct text name = {0};
    const char *folder;
    TRY(make_folder(traces, &folder, error));
    traces_name_of_log(log, &name);
    const char *out =
        arena_printf(&traces->arena, "%s/%s" TRACE_SUFFIX, folder, given ? given : name.data);
    const int code = import_log(log, NULL, out, false, &report, error);
    for (unsigned i = 0; i < report.trace_count; i++)
        add_made(traces, arena_printf(&traces->arena, "%s", report.traces[i].path), log);
    import_report_free(&report);
    text_free(&name);
    return code;
}

int traces_add(struct traces *traces, const char *path, const char *name, struct error *error)
{
    if (!file_is(path, "trace"))
        return add_log(traces, path, name, error);
    add(traces, path);
    return 0;
}

int traces_add_one(struct traces *traces, const char *path, struct error *error)
{
    const unsigned before = traces->count;
    TRY(traces_add(traces, path, NULL, error));
    if (traces->count - before == 1)
        return 0;
    return error_set(
        error, ERR_USAGE,
        "%s: the log has %u devices: gamut trace import makes a trace of each, and one "
        "of them can be named here",
        path, traces->count - before);
}

int traces_listed(const struct command_line *line, struct traces *traces, struct error *error)
{
    *traces = (struct traces){0};
    for (size_t i = 0; i < line->positional_count; i++) {
        struct stat status;
        if (stat(line->positional[i], &status) == 0 && S_ISDIR(status.st_mode))
            TRY(add_folder(traces, line->positional[i], error));
        else
            add(traces, line->positional[i]);
    }
    return 0;
}

int traces_read(struct traces *traces, struct error *error)
{
    const char **listed = traces->paths;
    const unsigned count = traces->count;
    traces->paths = NULL;
    traces->count = traces->capacity = 0;
    for (unsigned i = 0; i < count; i++)
        TRY(traces_add(traces, listed[i], NULL, error));
    return 0;
}

/* The folder of a suite; NULL: there is none. */
static const char *suite_folder(const char *name, struct arena *arena)
{
    struct text folder = {0};
    struct stat status;
    text_own_folder(&folder, "suites");
    text_add(&folder, "/%s", name);
    const bool is_there = *name && !strchr(name, '/') && *name != '.' &&
                          stat(folder.data, &status) == 0 && S_ISDIR(status.st_mode);
    const char *path = is_there ? arena_printf(arena, "%s", folder.data) : NULL;
    text_free(&folder);
    return path;
}

/* Adds the traces of a list whose kind or half `part` is; "": all. */
static int add_corpus(struct traces *traces, const char *folder, const char *list, const char *part,
                      struct error *error)
{
    const unsigned before = traces->count;
    json_error_t why;
    const char *name;
    json_t *one;
    json_decref(traces->corpus);
    traces->corpus = json_load_file(list, 0, &why);
    if (!traces->corpus)
        return error_set(error, ERR_PARSE, "%s:%d: %s", list, why.line, why.text);
    json_object_foreach(json_object_get(traces->corpus, "traces"), name, one)
    {
        const bool is_part = !*part || strcmp(tree_get_text(one, "kind"), part) == 0 ||
                             strcmp(tree_get_text(one, "half"), part) == 0;
        const char *file = tree_get_text(one, "file");
        if (is_part && *file)
            add(traces, arena_printf(&traces->arena, "%s/%s", folder, file));
    }
    return traces->count > before
               ? 0
               : error_set(error, ERR_USAGE, "'%s' is no kind or half: gamut list corpus", part);
}

int traces_of_suite(const char *name, struct traces *traces, struct error *error)
{
    const size_t length = strcspn(name, ":");
    const char *own = arena_printf(&traces->arena, "%.*s", (int)length, name);
    const char *folder = suite_folder(own, &traces->arena);
    struct stat status;
    if (!folder)
        return error_set(error, ERR_USAGE,
                         "there is no suite of traces '%s': those are the folders of suites/", own);
    const char *list = arena_printf(&traces->arena, "%s/corpus.json", folder);
    if (stat(list, &status) == 0)
        return add_corpus(traces, folder, list, name + length + (name[length] == ':'), error);
    if (name[length])
        return error_set(error, ERR_USAGE, "the suite %s has no list of kinds and halves", own);
    return add_folder(traces, folder, error);
}

bool traces_is_suite(const char *name)
{
    struct arena arena = {0};
    const bool is = suite_folder(name, &arena) != NULL;
    arena_free(&arena);
    return is;
}

void traces_suites(struct traces *suites)
{
    struct text folder = {0};
    struct dirent **files = NULL;
    *suites = (struct traces){0};
    text_own_folder(&folder, "suites");
    const int count = scandir(folder.data, &files, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        if (traces_is_suite(files[i]->d_name))
            add(suites, arena_printf(&suites->arena, "%s", files[i]->d_name));
        free(files[i]);
    }
    free(files);
    text_free(&folder);
}

void traces_name_logs(const struct traces *traces, struct error *error)
{
    for (unsigned i = 0; i < traces->made_count; i++) {
        const struct made_trace *made = &traces->made[i];
        const char *at = made->log ? strstr(error->text, made->path) : NULL;
        if (!at)
            continue;
        struct error named = *error;
        error_set(error, named.code, "%.*s%s%s", (int)(at - error->text), named.text, made->log,
                  named.text + (at - error->text) + strlen(made->path));
    }
}

void traces_free(struct traces *traces)
{
    while (traces->made_count)
        remove(traces->made[--traces->made_count].path);
    json_decref(traces->corpus);
    arena_free(&traces->arena);
    *traces = (struct traces){0};
}

/* ---- strategies ---- */

/* Takes the word "recorded" out of a list of strategies. *has: it was there. */
static void take_recorded(const char *list, struct text *others, bool *has)
{
    for (size_t length; *list; list += length + (list[length] == ',')) {
        length = text_span(list, ",");
        if (length == strlen("recorded") && strncmp(list, "recorded", length) == 0)
            *has = true;
        else
            text_add(others, "%s%.*s", others->length ? "," : "", (int)length, list);
    }
}

int trace_strategies_named(const char *list, struct trace_strategies *s, struct error *error)
{
    struct text others = {0};
    s->selection.plans.make = plan_of_trace;
    take_recorded(list, &others, &s->recorded);
    int code = others.length || !s->recorded
                   ? select_strategies(&s->selection, others.length ? others.data : "", error)
                   : 0;
    text_free(&others);
    return code;
}

/* The allocator of a trace as a strategy, which the arena owns. */
static int recorded_strategy(const char *path, struct arena *arena, const char **strategy,
                             struct error *error)
{
    struct trace_reader *reader;
    const struct allocator_ops *ops;
    struct option_values values;
    struct text spec = {0}, notes = {0};
    TRY(trace_open(path, &reader, error));
    pytorch_recorded(trace_reader_info(reader)->allocator, &spec, &notes);
    fprintf(stderr, "%s", notes.data ? notes.data : "");
    const char *own = spec.data ? spec.data : "";
    const size_t most = sizeof((struct case_key *)NULL)->strategy;
    int code = 0;
    if (!*own || strlen(own) >= most)
        code = error_set(error, ERR_USAGE, "%s: the trace %s: name a strategy", path,
                         *own ? "has an allocator with a longer name than a case may have"
                              : "does not say which allocator was recorded");
    else
        code = allocator_parse(own, &ops, &values, error);
    *strategy = arena_printf(arena, "%s", own);
    text_free(&spec);
    text_free(&notes);
    trace_close(reader);
    return code;
}

int trace_strategies_of(const struct trace_strategies *s, struct traces *traces, size_t trace,
                        struct names *of_trace, struct error *error)
{
    const struct names *all = &s->selection.strategies;
    *of_trace = *all;
    if (!s->recorded)
        return 0;
    const char *recorded;
    TRY(recorded_strategy(traces->paths[trace], &traces->arena, &recorded, error));
    of_trace->items = arena_alloc(&traces->arena, (all->count + 1) * sizeof *all->items);
    bool has_recorded = false;
    for (size_t i = 0; i < all->count; i++) {
        of_trace->items[i] = all->items[i];
        has_recorded = has_recorded || strcmp(all->items[i], recorded) == 0;
    }
    if (!has_recorded)
        of_trace->items[of_trace->count++] = recorded;
    return 0;
}

int trace_events(const char *path, uint64_t *events, struct error *error)
{
    enum { BYTES_PER_EVENT = 4 }; /* of packed traces, about */
    struct trace_reader *reader;
    struct trace_totals totals;
    struct stat status;
    TRY(trace_open(path, &reader, error));
    *events = trace_read_totals(reader, &totals) ? totals.events
              : stat(path, &status) == 0         ? (uint64_t)status.st_size / BYTES_PER_EVENT
                                                 : 1;
    trace_close(reader);
    return 0;
}

void traces_say_unseen(const struct trace_info *info, FILE *out)
{
    const char *what;
    json_t *count;
    json_object_foreach(info->unseen, what, count)
    {
        char times[48];
        fprintf(out, "  not in the trace: %s, %s\n", what,
                text_count(times, json_number_value(count), "time"));
    }
}
