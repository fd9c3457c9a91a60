#include "cli/traces.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "alloc/registry.h"
#include "base/text.h"
#include "record/facts/case.h"
#include "trace/trace.h"

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

int traces_named(const struct command_line *line, struct traces *traces, struct error *error)
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

int traces_of_suite(const char *name, struct traces *traces, struct error *error)
{
    const char *folder = suite_folder(name, &traces->arena);
    if (!folder)
        return error_set(error, ERR_USAGE,
                         "there is no suite of traces '%s': those are the folders of suites/",
                         name);
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

void traces_free(struct traces *traces)
{
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
    TRY(trace_open(path, &reader, error));
    const char *own = trace_reader_info(reader)->allocator;
    const size_t most = sizeof((struct case_key *)NULL)->strategy;
    int code = 0;
    if (!*own || strlen(own) >= most)
        code = error_set(error, ERR_USAGE, "%s: the trace %s: name a strategy", path,
                         *own ? "has an allocator with a longer name than a case may have"
                              : "does not say which allocator was recorded");
    else
        code = allocator_parse(own, &ops, &values, error);
    *strategy = arena_printf(arena, "%s", own);
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
