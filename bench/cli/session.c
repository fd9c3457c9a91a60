/* Opens and closes the sessions of commands that replay traces. */
#include "cli/session.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/tree.h"
#include "replay/cases.h"
#include "trace/trace.h"

static uint64_t number_of(const struct command_line *line, const char *name)
{
    return flag_exists(line, name) ? flag_number(line, name) : 0;
}

static const char *text_of(const struct command_line *line, const char *name)
{
    return flag_exists(line, name) ? flag_text(line, name) : NULL;
}

/* Names the limits that replays without a device have because the traces show them. */
static int name_limits(const struct session *s, struct error *error)
{
    const bool on_device = flag_exists(s->line, "device") && flag_is_typed(s->line, "device");
    for (size_t i = 0; !s->capacity_bytes && !on_device && flag_exists(s->line, "mem-limit") &&
                       i < s->traces.count;
         i++) {
        struct trace_reader *reader;
        char name[64];
        TRY(replay_trace_name(s->traces.paths[i], name, error));
        TRY(trace_open(s->traces.paths[i], &reader, error));
        const uint64_t limit = trace_limit(trace_reader_info(reader));
        char bytes[64];
        if (limit)
            fprintf(stderr,
                    "gamut: %s: replays under %s, the limit inferred from its refusals; "
                    "--mem-limit sets another\n",
                    name, text_bytes_exact(bytes, limit));
        trace_close(reader);
    }
    return 0;
}

int session_open(struct session *s, const struct command_line *line, struct error *error)
{
    const char *suite = text_of(line, "suite"), *atlas = text_of(line, "atlas");
    s->line = line;
    s->capacity_bytes = number_of(line, "mem-limit");
    s->jobs = (unsigned)number_of(line, "jobs");
    s->free_at = number_of(line, "free-at") ? FREE_AT_LET_GO : FREE_AT_DONE;
    if (flag_exists(line, "strategy")) {
        const char *list = flag_text(line, "strategy"), *against = text_of(line, "against");
        struct text all = {0};
        text_add(&all, "%s%s%s", against ? against : "", against ? "," : "", list ? list : "all");
        const int code = trace_strategies_named(all.data, &s->strategies, error);
        text_free(&all);
        TRY(code);
    }
    TRY(traces_listed(line, &s->traces, error));
    s->is_list = s->list_from && s->traces.count >= s->list_from;
    if (!s->is_list)
        TRY(traces_read(&s->traces, error));
    if (suite)
        TRY(traces_of_suite(suite, &s->traces, error));
    if (!s->traces.count)
        return error_set(error, ERR_USAGE, "%s needs TRACE... or --suite; see gamut %s --help",
                         line->command->name, line->command->name);
    if (!s->is_list)
        TRY(name_limits(s, error));
    if (atlas) {
        TRY(recorded_atlas(atlas, &s->atlas_read, error));
        s->atlas = &s->atlas_read;
    }
    return 0;
}

void session_divide(struct session *s, size_t count)
{
    s->work.items = must_alloc((count + 1) * sizeof *s->work.items);
    s->work.count = count;
}

int session_item(struct session *s, size_t index, const char *sentence, const char *unit,
                 size_t trace, struct error *error)
{
    struct shard_item *item = &s->work.items[index];
    shard_id(sentence, item->id);
    item->unit = unit ? unit : item->id;
    /* Without --shard no item needs a cost. */
    return text_of(s->line, "shard") ? trace_events(s->traces.paths[trace], &item->cost, error) : 0;
}

/* The list of the result with this name. */
static json_t **list_of(struct result *result, const char *name)
{
    return strcmp(name, "fits") == 0 ? &result->fits : &result->advice;
}

int session_start(struct session *s, const char *list, struct error *error)
{
    TRY(recording_open_dry(&s->recording, s->line, s->capacity_bytes, s->atlas, error));
    TRY(recording_start(&s->recording, s->line, &s->work, error));
    struct result *result = &s->recording.draft.result;
    if (list && !*list_of(result, list))
        *list_of(result, list) = result_keep(result, tree_array());
    return 0;
}

int session_finish(struct session *s, int code, struct error *error)
{
    ALSO(code, recording_finish(&s->recording, s->interrupted, code != 0, code ? NULL : error));
    return code;
}

void session_print_json(struct session *s, const char *list)
{
    json_t *root = tree_object();
    tree_put(root, list, json_incref(*list_of(&s->recording.draft.result, list)));
    tree_print(root, JSON_INDENT(1), stdout);
}

int session_error(const struct session *s, struct error *error)
{
    traces_name_logs(&s->traces, error);
    return report_error(error);
}

void session_close(struct session *s)
{
    recording_free(&s->recording);
    free(s->work.items);
    free(s->work.own);
    select_free(&s->strategies.selection);
    atlas_free(&s->atlas_read);
    traces_free(&s->traces);
}
