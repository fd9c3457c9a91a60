#include "trace/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/tree.h"

static void add_member(struct text *out, const char *name, uint64_t number)
{
    if (number)
        text_add(out, " %s=%" PRIu64, name, number);
}

void trace_uses_text(const struct trace_reader *reader, const struct trace_event *e,
                     struct text *out)
{
    for (unsigned i = 0; i < e->use_count; i++)
        text_add(out, "%sb%" PRIu64 "%s%s",
                 i ? "," : " uses=", trace_block_in(reader, e->uses[i].slot),
                 e->uses[i].access & TRACE_READS ? "r" : "",
                 e->uses[i].access & TRACE_WRITES ? "w" : "");
}

void trace_event_text(const struct trace_reader *reader, const struct trace_event *e,
                      struct text *out)
{
    text_add(out, "%s", trace_kind_name(e->kind));
    if (e->block)
        text_add(out, " b%" PRIu64, e->block);
    if (e->bytes)
        text_add(out, " %" PRIu64, e->bytes);
    text_add(out, " q%u", e->queue);
    if (e->thread || *trace_thread_of(reader, 0))
        text_add(out, " t%u", e->thread);
    if (e->time_ns)
        text_add(out, " @%" PRIu64, e->time_ns);
    add_member(out, "granted", e->granted);
    if (e->address)
        text_add(out, " address=0x%" PRIx64, e->address);
    add_member(out, "name", e->name);
    add_member(out, "stack", e->stack);
    add_member(out, "alignment", e->alignment);
    add_member(out, "call", e->call_ns);
    add_member(out, "device", e->device_ns);
    add_member(out, "memory", e->memory);
    add_member(out, "pool", e->pool);
    if (e->kind ==
        TRACE_order) /* an index, which a reader may give another number: never left out */
        text_add(out, " other=%u", e->other);
    add_member(out, "behind", e->behind);
    add_member(out, "ended", e->ended_ns);
    trace_uses_text(reader, e, out);
}

char *trace_quoted(const char *text)
{
    json_t *json = tree_text(text);
    char *quoted = json_dumps(json, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
    json_decref(json);
    return quoted;
}

/* The names, queues or threads that were defined in the text. */
struct defined {
    unsigned capacity;
    bool *is;
};

static bool is_new(struct defined *defined, unsigned index)
{
    defined->is = must_reach(defined->is, index, &defined->capacity, sizeof *defined->is);
    const bool was_new = !defined->is[index];
    defined->is[index] = true;
    return was_new;
}

/* Prints the definition of an index before the first event that needs it. */
static void print_definition(FILE *out, const char *what, unsigned index, struct defined *defined,
                             const char *text)
{
    /* Queues alone are in each line, where one without a definition has its number as its name. */
    if ((!*text && index == 0 && *what != 'q') || !is_new(defined, index))
        return;
    char *quoted = trace_quoted(text);
    fprintf(out, "%s %u %s\n", what, index, quoted);
    free(quoted);
}

/* Prints a frame after those that called it. */
static void print_frame(FILE *out, const struct trace_name *names, unsigned frame,
                        struct defined *defined)
{
    if (!frame || !is_new(defined, frame))
        return;
    const struct trace_name *n = &names[frame];
    print_frame(out, names, n->caller, defined);
    char *quoted = trace_quoted(n->text);
    fprintf(out, "%s %u %u %s\n", n->is_hidden ? "hidden" : "frame", frame, n->caller, quoted);
    free(quoted);
}

static void print_definitions(FILE *out, const struct trace_reader *r, const struct trace_event *e,
                              struct defined defined[3])
{
    print_frame(out, trace_reader_names(r), e->stack, &defined[0]);
    print_definition(out, "name", e->name, &defined[0], trace_name_of(r, e->name));
    print_definition(out, "queue", e->queue, &defined[1], trace_queue_of(r, e->queue));
    if (e->kind == TRACE_order)
        print_definition(out, "queue", e->other, &defined[1], trace_queue_of(r, e->other));
    print_definition(out, "thread", e->thread, &defined[2], trace_thread_of(r, e->thread));
}

int trace_print(struct trace_reader *reader, FILE *out, struct error *error)
{
    json_t *json = trace_info_to_json(trace_reader_info(reader));
    char *info = json_dumps(json, JSON_COMPACT | JSON_ENSURE_ASCII);
    fprintf(out, "%s\n%s\n", TRACE_TEXT_HEAD, info);
    free(info);
    json_decref(json);

    struct defined defined[3] = {0};
    struct trace_event event;
    struct text line = {0};
    int more = trace_rewind(reader, error);
    while (!more && (more = trace_next(reader, &event, error)) > 0) {
        print_definitions(out, reader, &event, defined);
        line.length = 0;
        trace_event_text(reader, &event, &line);
        fprintf(out, "%s\n", line.data);
        more = ferror(out)
                   ? error_set(error, ERR_IO, "the text could not be written: %s", strerror(errno))
                   : 0;
    }
    text_free(&line);
    for (int i = 0; i < 3; i++)
        free(defined[i].is);
    return more;
}
