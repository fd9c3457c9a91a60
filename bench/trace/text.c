#include "trace/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void add_member(struct text *out, const char *name, uint64_t number)
{
    if (number)
        text_add(out, " %s=%" PRIu64, name, number);
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
    if (e->thread)
        text_add(out, " t%u", e->thread);
    if (e->time_ns)
        text_add(out, " @%" PRIu64, e->time_ns);
    add_member(out, "granted", e->granted);
    if (e->address)
        text_add(out, " address=0x%" PRIx64, e->address);
    add_member(out, "name", e->name);
    add_member(out, "alignment", e->alignment);
    add_member(out, "call", e->call_ns);
    add_member(out, "device", e->device_ns);
    add_member(out, "memory", e->memory);
    add_member(out, "pool", e->pool);
    add_member(out, "other", e->other);
    for (unsigned i = 0; i < e->use_count; i++)
        text_add(out, "%sb%" PRIu64 "%s%s",
                 i ? "," : " uses=", trace_block_in(reader, e->uses[i].slot),
                 e->uses[i].access & TRACE_READS ? "r" : "",
                 e->uses[i].access & TRACE_WRITES ? "w" : "");
}

/* Prints definitions up to the index that an event needs. *done: how many are printed. */
static void print_definitions(FILE *out, const char *what, unsigned index, unsigned *done,
                              const char *(*text_of)(const struct trace_reader *, unsigned),
                              const struct trace_reader *reader)
{
    for (; *done <= index; ++*done) {
        const char *text = text_of(reader, *done);
        if (!*text)
            continue;
        json_t *json = json_string(text);
        char *quoted = json ? json_dumps(json, JSON_ENCODE_ANY | JSON_ENSURE_ASCII) : NULL;
        fprintf(out, "%s %u %s\n", what, *done, quoted ? quoted : "\"?\"");
        free(quoted);
        json_decref(json);
    }
}

int trace_print(struct trace_reader *reader, FILE *out, struct error *error)
{
    json_t *json = trace_info_to_json(trace_reader_info(reader));
    char *info = json_dumps(json, JSON_COMPACT | JSON_ENSURE_ASCII);
    fprintf(out, "gamut trace %d\n%s\n", TRACE_VERSION, info);
    free(info);
    json_decref(json);

    unsigned names = 0, queues = 0, threads = 0;
    struct trace_event event;
    struct text line = {0};
    int more = trace_rewind(reader, error);
    while (!more && (more = trace_next(reader, &event, error)) > 0) {
        print_definitions(out, "name", event.name, &names, trace_name_of, reader);
        print_definitions(out, "queue", event.queue, &queues, trace_queue_of, reader);
        print_definitions(out, "thread", event.thread, &threads, trace_thread_of, reader);
        line.length = 0;
        trace_event_text(reader, &event, &line);
        fprintf(out, "%s\n", line.data);
        more = ferror(out)
                   ? error_set(error, ERR_IO, "the text could not be written: %s", strerror(errno))
                   : 0;
    }
    text_free(&line);
    return more;
}
