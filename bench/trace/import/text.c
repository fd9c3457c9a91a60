/* gamut's own text form (trace/text.h). */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/driver_memory.h"
#include "trace/codec.h"
#include "trace/import.h"

enum { INDEX_MOST = (1 << 24) - 1 };

/* The writer's indices, by those of the file. */
struct indices {
    unsigned capacity;
    unsigned *index; /* the writer's + 1; 0: not defined */
};

struct reading {
    struct import *log;
    struct import_stream *stream;
    struct indices names, queues, threads;
    struct indices frames; /* the writer's; 0: not defined */
    struct trace_use *uses;
    unsigned use_capacity;
};

/* "12" or "0x7f", up to the end of the word. */
static bool to_number(const char *word, uint64_t *number)
{
    char *end;
    if (*word < '0' || *word > '9')
        return false;
    errno = 0;
    *number = strtoull(word, &end, strncmp(word, "0x", 2) == 0 ? 16 : 10);
    return *end == 0 && errno == 0;
}

static int get_number(const struct import *log, const char *word, uint64_t most, uint64_t *number,
                      struct error *error)
{
    if (to_number(word, number) && *number <= most)
        return 0;
    return import_error(log, error, "'%.40s': expected a number up to %" PRIu64, word, most);
}

typedef unsigned index_of(struct trace_writer *writer, const char *text);

static unsigned *index_at(struct indices *known, uint64_t number)
{
    known->index =
        must_reach(known->index, (unsigned)number, &known->capacity, sizeof *known->index);
    return &known->index[number];
}

/* An index that no line has defined gets its number as its text. */
static int get_index(struct reading *r, struct indices *known, index_of *add, const char *word,
                     unsigned *index, struct error *error)
{
    uint64_t number;
    TRY(get_number(r->log, word, INDEX_MOST, &number, error));
    unsigned *at = index_at(known, number);
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, number);
    if (!*at)
        *at = add(import_writer(r->stream), text) + 1;
    *index = *at - 1;
    return 0;
}

/* name 3 "text" */
static int read_definition(struct reading *r, struct indices *known, index_of *add, char *rest,
                           struct error *error)
{
    uint64_t number;
    char *quoted = strchr(rest, ' ');
    if (!quoted)
        return import_error(r->log, error, "expected a number and a text in double quotes");
    *quoted++ = 0;
    TRY(get_number(r->log, rest, INDEX_MOST, &number, error));
    json_t *text = json_loads(quoted, JSON_DECODE_ANY, NULL);
    int code =
        json_is_string(text) ? 0 : import_error(r->log, error, "expected a text in double quotes");
    if (!code)
        *index_at(known, number) = add(import_writer(r->stream), json_string_value(text)) + 1;
    json_decref(text);
    return code;
}

static int get_frame(struct reading *r, const char *word, unsigned *index, struct error *error)
{
    uint64_t number;
    TRY(get_number(r->log, word, INDEX_MOST, &number, error));
    *index = number ? *index_at(&r->frames, number) : 0;
    return number && !*index
               ? import_error(r->log, error, "frame %s stands in no line before", word)
               : 0;
}

/* frame 3 2 "text": of the frame that 2 called */
static int read_frame(struct reading *r, char *rest, bool is_hidden, struct error *error)
{
    uint64_t number;
    unsigned of;
    char *caller = strchr(rest, ' '), *quoted = caller ? strchr(caller + 1, ' ') : NULL;
    if (!quoted)
        return import_error(r->log, error, "expected two numbers and a text in double quotes");
    *caller++ = *quoted++ = 0;
    TRY(get_number(r->log, rest, INDEX_MOST, &number, error));
    TRY(get_frame(r, caller, &of, error));
    json_t *text = json_loads(quoted, JSON_DECODE_ANY, NULL);
    if (json_is_string(text))
        *index_at(&r->frames, number) =
            trace_frame(import_writer(r->stream), of, json_string_value(text), is_hidden);
    const bool good = json_is_string(text);
    json_decref(text);
    return good ? 0 : import_error(r->log, error, "expected a text in double quotes");
}

/* b1rw,b3r */
static int read_uses(struct reading *r, char *list, struct trace_event *e, struct error *error)
{
    for (char *rest = NULL, *word = strtok_r(list, ",", &rest); word;
         word = strtok_r(NULL, ",", &rest)) {
        uint64_t block = 0;
        unsigned access = 0;
        for (char *end = word + strlen(word); end > word && (end[-1] == 'r' || end[-1] == 'w');
             *--end = 0)
            access |= end[-1] == 'r' ? TRACE_READS : TRACE_WRITES;
        const struct import_block *b =
            word[0] == 'b' && to_number(word + 1, &block) ? import_find(r->stream, block) : NULL;
        if (!b)
            return import_error(r->log, error, "'%.40s': there is no such live block", word);
        r->uses = must_grow(r->uses, e->use_count, &r->use_capacity, sizeof *r->uses);
        r->uses[e->use_count++] = (struct trace_use){.slot = b->slot, .access = access};
        if (e->use_count > TRACE_USES_MAX)
            return import_error(r->log, error, "a command uses more than 65536 blocks");
    }
    e->uses = r->uses;
    return 0;
}

static int read_member(struct reading *r, char *name, char *value, struct trace_event *e,
                       struct error *error)
{
    uint64_t number;
    if (strcmp(name, "name") == 0)
        return get_index(r, &r->names, trace_name, value, &e->name, error);
    if (strcmp(name, "stack") == 0)
        return get_frame(r, value, &e->stack, error);
    if (strcmp(name, "other") == 0)
        return get_index(r, &r->queues, trace_queue, value, &e->other, error);
    if (strcmp(name, "uses") == 0)
        return read_uses(r, value, e, error);
    TRY(get_number(r->log, value, UINT64_MAX, &number, error));
    if (strcmp(name, "granted") == 0)
        e->granted = number;
    else if (strcmp(name, "address") == 0)
        e->address = number;
    else if (strcmp(name, "alignment") == 0)
        e->alignment = number;
    else if (strcmp(name, "call") == 0)
        e->call_ns = number;
    else if (strcmp(name, "behind") == 0)
        e->behind = number;
    else if (strcmp(name, "ended") == 0)
        e->ended_ns = number;
    else if (strcmp(name, "device") == 0)
        e->device_ns = number;
    else if (strcmp(name, "memory") == 0 && number <= MEMORY_MANAGED)
        e->memory = (unsigned)number;
    else if (strcmp(name, "pool") == 0 && number <= UINT_MAX)
        e->pool = (unsigned)number;
    else
        return import_error(r->log, error, "'%.40s' is no member of an event", name);
    return 0;
}

static int read_word(struct reading *r, char *word, struct trace_event *e, uint64_t *block,
                     struct error *error)
{
    char *value = strchr(word, '=');
    if (value) {
        *value++ = 0;
        return read_member(r, word, value, e, error);
    }
    switch (*word) {
    case 'b':
        return get_number(r->log, word + 1, UINT64_MAX, block, error);
    case 'q':
        return get_index(r, &r->queues, trace_queue, word + 1, &e->queue, error);
    case 't':
        return get_index(r, &r->threads, trace_thread, word + 1, &e->thread, error);
    case '@':
        return get_number(r->log, word + 1, UINT64_MAX, &e->time_ns, error);
    default:
        return get_number(r->log, word, UINT64_MAX, &e->bytes, error);
    }
}

static int put_event(struct reading *r, uint64_t block, struct trace_event *e, struct error *error)
{
    const bool begins = e->kind == TRACE_held || e->kind == TRACE_alloc;
    if (!begins && e->kind != TRACE_free && e->kind != TRACE_done) {
        import_event(r->stream, e);
        return 0;
    }
    if (!block)
        return import_error(r->log, error, "the event names no block");
    const struct import_block *live = import_find(r->stream, block);
    if (begins ? live != NULL : live == NULL || (e->kind == TRACE_free && live->let_go))
        return import_error(r->log, error,
                            begins ? "block b%" PRIu64 " lives already"
                                   : "block b%" PRIu64 " does not live",
                            block);
    if (begins)
        import_alloc(r->stream, block, e);
    else
        import_free(r->stream, block, e);
    return 0;
}

static int read_line(struct reading *r, char *line, struct error *error)
{
    char *rest = NULL, *word = strtok_r(line, " ", &rest);
    if (!word || *word == '#')
        return 0;
    if (strcmp(word, "name") == 0)
        return read_definition(r, &r->names, trace_name, rest, error);
    if (strcmp(word, "queue") == 0)
        return read_definition(r, &r->queues, trace_queue, rest, error);
    if (strcmp(word, "thread") == 0)
        return read_definition(r, &r->threads, trace_thread, rest, error);
    if (strcmp(word, "frame") == 0 || strcmp(word, "hidden") == 0)
        return read_frame(r, rest, *word == 'h', error);
    struct trace_event e = {.kind = TRACE_KINDS, .queue = UINT_MAX, .thread = UINT_MAX};
    for (int k = 0; k < TRACE_KINDS; k++)
        if (strcmp(word, trace_kind_name((enum trace_kind)k)) == 0)
            e.kind = (enum trace_kind)k;
    if (e.kind == TRACE_KINDS)
        return import_error(r->log, error, "'%.40s' is no kind of event", word);
    uint64_t block = 0;
    while ((word = strtok_r(NULL, " ", &rest)))
        TRY(read_word(r, word, &e, &block, error));
    if (e.queue == UINT_MAX)
        TRY(get_index(r, &r->queues, trace_queue, "0", &e.queue, error));
    if (e.thread == UINT_MAX) /* left out where its name is "" */
        e.thread = trace_thread(import_writer(r->stream), "");
    return put_event(r, block, &e, error);
}

static int read_info(struct reading *r, const char *line, struct error *error)
{
    struct trace_info info;
    struct error why = {0};
    json_t *json = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
    int code = json ? trace_info_from_json(json, &info, &why) : 0;
    if (!json)
        code = import_error(r->log, error, "expected the info, an object of JSON on one line");
    else if (code)
        code = import_error(r->log, error, "info: %s", why.text);
    else
        code = import_stream(r->log, "", &info, &r->stream, error);
    if (json && !why.code)
        trace_info_free(&info);
    json_decref(json);
    return code;
}

int import_text(struct import *log, struct error *error)
{
    struct reading r = {.log = log};
    char *line;
    int more = import_line(log, &line, error);
    if (more > 0)
        more = import_line(log, &line, error);
    int code = more > 0   ? read_info(&r, line, error)
               : more < 0 ? more
                          : import_error(log, error, "the text ends before its info");
    while (!code && (more = import_line(log, &line, error)) != 0)
        code = more < 0 ? more : read_line(&r, line, error);
    free(r.names.index);
    free(r.queues.index);
    free(r.threads.index);
    free(r.frames.index);
    free(r.uses);
    return code;
}
