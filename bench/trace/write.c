#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/arena.h"
#include "trace/codec.h"
#include "trace/trace.h"

/* A chunk that is being filled. */
struct open_chunk {
    struct text bytes;
    struct codec_state state;
    unsigned events;
};

struct trace_writer {
    struct text path, part; /* the file; chunks so far */
    FILE *chunks;
    struct trace_info info;
    struct open_chunk chunk;
    struct open_chunk front; /* blocks that lived before the trace began */
    struct text packed_front;
    struct trace_names names[3]; /* names, queues, threads: in the order of DEFINE_* */
    unsigned slot_count, spare_count, spare_capacity;
    unsigned *spare_slots;
    int failed_errno; /* errno of the first write that failed; 0: none */
};

/* ---- chunks ---- */

static void put_u32(struct text *out, uint32_t number)
{
    const char bytes[4] = {(char)number, (char)(number >> 8), (char)(number >> 16),
                           (char)(number >> 24)};
    text_add_bytes(out, bytes, sizeof bytes);
}

/* Adds a packed chunk to `out`, and empties the chunk. */
static void pack(struct open_chunk *chunk, struct text *out)
{
    const size_t most = ZSTD_compressBound(chunk->bytes.length);
    char *packed = must_alloc(most);
    const size_t length =
        ZSTD_compress(packed, most, chunk->bytes.data, chunk->bytes.length, TRACE_ZSTD_LEVEL);
    must_have(ZSTD_isError(length) ? NULL : packed);
    const size_t at = out->length;
    put_u32(out, (uint32_t)length);
    put_u32(out, (uint32_t)chunk->bytes.length);
    put_u32(out, chunk->events);
    put_u32(out, (uint32_t)crc32(0, (const unsigned char *)packed, (unsigned)length));
    put_u32(out, (uint32_t)crc32(TRACE_VERSION, (const unsigned char *)out->data + at,
                                 (unsigned)(out->length - at)));
    text_add_bytes(out, packed, length);
    free(packed);
    chunk->bytes.length = 0;
    chunk->events = 0;
    chunk->state = (struct codec_state){0};
}

static void end_chunk(struct trace_writer *w)
{
    if (w->chunk.events == 0)
        return;
    struct text packed = {0};
    pack(&w->chunk, &packed);
    if (fwrite(packed.data, 1, packed.length, w->chunks) != packed.length && !w->failed_errno)
        w->failed_errno = errno ? errno : EIO;
    text_free(&packed);
}

static bool is_full(const struct open_chunk *chunk)
{
    return chunk->events >= TRACE_CHUNK_EVENTS || chunk->bytes.length >= TRACE_CHUNK_BYTES;
}

/* ---- names ---- */

static struct trace_names *names_of(struct trace_writer *w, unsigned char what)
{
    return &w->names[what == DEFINE_FRAME ? 0 : what - DEFINE_NAME];
}

unsigned trace_name(struct trace_writer *w, const char *name)
{
    return trace_names_add(names_of(w, DEFINE_NAME), name);
}
unsigned trace_queue(struct trace_writer *w, const char *name)
{
    return trace_names_add(names_of(w, DEFINE_QUEUE), name);
}
unsigned trace_thread(struct trace_writer *w, const char *name)
{
    return trace_names_add(names_of(w, DEFINE_THREAD), name);
}

unsigned trace_frame(struct trace_writer *w, unsigned caller, const char *text, bool is_hidden)
{
    return trace_names_add_frame(names_of(w, DEFINE_FRAME), caller, text, is_hidden);
}

unsigned trace_copy_frame(struct trace_writer *w, const struct trace_name *names, unsigned frame,
                          struct trace_known *known)
{
    if (!frame)
        return 0;
    const struct trace_name *n = &names[frame];
    known->index = must_reach(known->index, frame, &known->capacity, sizeof *known->index);
    if (!known->index[frame]) {
        const unsigned caller = trace_copy_frame(w, names, n->caller, known);
        known->index[frame] = trace_frame(w, caller, n->text, n->is_hidden);
    }
    return known->index[frame];
}

/* ---- events ---- */

static void define(struct trace_writer *w, struct open_chunk *chunk, unsigned char what,
                   unsigned index)
{
    struct trace_names *names = names_of(w, what);
    struct trace_name *n = index < names->count ? &names->items[index] : NULL;
    if (!n || n->is_defined[chunk == &w->front])
        return;
    n->is_defined[chunk == &w->front] = true;
    if (n->caller)
        define(w, chunk, DEFINE_FRAME, n->caller);
    text_add_bytes(&chunk->bytes, (const char *)&what, 1);
    if (what == DEFINE_FRAME) {
        codec_put_difference(&chunk->bytes, (uint64_t)index - chunk->state.frame - 1);
        codec_put_number(&chunk->bytes, 2 * (uint64_t)(index - n->caller) + n->is_hidden);
        chunk->state.frame = index;
    } else {
        codec_put_number(&chunk->bytes, index);
    }
    codec_put_number(&chunk->bytes, strlen(n->text));
    text_add_bytes(&chunk->bytes, n->text, strlen(n->text));
}

/* Names are defined where the first event uses them, so that no chunk has definitions alone. */
static void encode(struct trace_writer *w, struct open_chunk *chunk,
                   const struct trace_event *event)
{
    define(w, chunk, DEFINE_NAME, event->name);
    if (event->stack)
        define(w, chunk, DEFINE_FRAME, event->stack);
    define(w, chunk, DEFINE_QUEUE, event->queue);
    define(w, chunk, DEFINE_THREAD, event->thread);
    if (event->kind == TRACE_order)
        define(w, chunk, DEFINE_QUEUE, event->other);
    codec_put(&chunk->bytes, &chunk->state, event, event->time_ns / w->info.time_unit_ns);
    chunk->events++;
}

void trace_put(struct trace_writer *w, const struct trace_event *event)
{
    encode(w, &w->chunk, event);
    if (is_full(&w->chunk))
        end_chunk(w);
}

void trace_put_held(struct trace_writer *w, const struct trace_event *event)
{
    encode(w, &w->front, event);
    if (is_full(&w->front))
        pack(&w->front, &w->packed_front);
}

unsigned trace_new_slot(struct trace_writer *w)
{
    return w->slot_count++;
}

unsigned trace_take_slot(struct trace_writer *w)
{
    return w->spare_count ? w->spare_slots[--w->spare_count] : trace_new_slot(w);
}

void trace_give_slot(struct trace_writer *w, unsigned slot)
{
    w->spare_slots =
        must_grow(w->spare_slots, w->spare_count, &w->spare_capacity, sizeof *w->spare_slots);
    w->spare_slots[w->spare_count++] = slot;
}

/* ---- the file ---- */

static int write_error(const struct trace_writer *w, int why, struct error *error)
{
    return error_set(error, ERR_IO, "%s could not be written: %s", w->path.data, strerror(why));
}

int trace_create(const char *path, const struct trace_info *info, struct trace_writer **writer,
                 struct error *error)
{
    struct trace_writer *w = must_alloc(sizeof *w);
    *writer = w;
    text_add(&w->path, "%s", path);
    text_add(&w->part, "%s.%ld.part", path, (long)getpid());
    w->info = *info;
    w->info.settings = json_incref(info->settings);
    w->info.unseen = json_incref(info->unseen);
    trace_name(w, "");
    w->chunks = fopen(w->part.data, "w+");
    if (w->chunks)
        return 0;
    int code = write_error(w, errno, error);
    trace_abandon(w);
    *writer = NULL;
    return code;
}

struct trace_info *trace_writer_info(struct trace_writer *w)
{
    return &w->info;
}

void trace_set_path(struct trace_writer *w, const char *path)
{
    w->path.length = 0;
    text_add(&w->path, "%s", path);
}

void trace_abandon(struct trace_writer *w)
{
    if (!w)
        return;
    if (w->chunks) {
        fclose(w->chunks);
        unlink(w->part.data);
    }
    for (int i = 0; i < 3; i++)
        trace_names_free(&w->names[i]);
    free(w->spare_slots);
    text_free(&w->chunk.bytes);
    text_free(&w->front.bytes);
    text_free(&w->packed_front);
    text_free(&w->path);
    text_free(&w->part);
    trace_info_free(&w->info);
    free(w);
}

static bool write_text(FILE *out, const struct text *t)
{
    return t->length == 0 || fwrite(t->data, 1, t->length, out) == t->length;
}

static bool write_head(const struct trace_writer *w, FILE *out)
{
    json_t *json = trace_info_to_json(&w->info);
    char *info = json_dumps(json, JSON_COMPACT);
    struct text head = {0};
    const size_t length = strlen(info);
    text_add_bytes(&head, TRACE_MAGIC, TRACE_MAGIC_BYTES);
    put_u32(&head, TRACE_VERSION);
    put_u32(&head, (uint32_t)length);
    text_add_bytes(&head, info, length);
    put_u32(&head, (uint32_t)crc32(0, (const unsigned char *)info, (unsigned)length));
    bool good = write_text(out, &head);
    text_free(&head);
    free(info);
    json_decref(json);
    return good;
}

static bool copy_chunks(const struct trace_writer *w, FILE *out)
{
    rewind(w->chunks);
    char buffer[65536];
    size_t n;
    bool good = true;
    while (good && (n = fread(buffer, 1, sizeof buffer, w->chunks)) > 0)
        good = fwrite(buffer, 1, n, out) == n;
    return good && !ferror(w->chunks);
}

static bool write_end(const struct trace_totals *totals, FILE *out)
{
    json_t *json = trace_totals_to_json(totals);
    char *text = json_dumps(json, JSON_COMPACT);
    struct open_chunk end = {0};
    struct text packed = {0};
    text_add(&end.bytes, "%s", text);
    pack(&end, &packed);
    bool good = write_text(out, &packed);
    text_free(&packed);
    text_free(&end.bytes);
    free(text);
    json_decref(json);
    return good;
}

/* The totals of the finished file. They are counted by reading it: blocks that lived before are
 * known only at the end, and a file that does not read back is not delivered. */
static int count_totals(const char *path, struct trace_totals *totals, struct error *error)
{
    struct trace_reader *reader;
    TRY(trace_open(path, &reader, error));
    struct trace_event event;
    int more;
    while ((more = trace_next(reader, &event, error)) > 0)
        continue;
    *totals = *trace_reader_totals(reader);
    uint64_t lost_bytes = 0;
    trace_was_cut(reader, &lost_bytes);
    trace_close(reader);
    if (!more && lost_bytes)
        return error_set(error, ERR_IO, "%s does not read back: its last %llu bytes are no chunk",
                         path, (unsigned long long)lost_bytes);
    return more;
}

/* Writes the whole file under the name `temporary`. */
static int write_whole(struct trace_writer *w, const char *temporary, struct trace_totals *totals,
                       struct error *error)
{
    FILE *out = fopen(temporary, "w");
    if (!out)
        return write_error(w, errno, error);
    errno = 0;
    bool good = write_head(w, out) && write_text(out, &w->packed_front) && copy_chunks(w, out) &&
                fflush(out) == 0;
    int code = good ? 0 : write_error(w, errno, error);
    THEN(code, count_totals(temporary, totals, error));
    if (!code && !(write_end(totals, out) && fflush(out) == 0 && fsync(fileno(out)) == 0))
        code = write_error(w, errno, error);
    if (fclose(out) != 0 && !code)
        code = write_error(w, errno, error);
    return code;
}

int trace_finish(struct trace_writer *w, bool replace, struct trace_totals *totals,
                 struct error *error)
{
    end_chunk(w);
    if (w->front.events)
        pack(&w->front, &w->packed_front);
    struct text temporary = {0};
    struct trace_totals unused;
    text_add(&temporary, "%s.%ld.tmp", w->path.data, (long)getpid());
    int code = w->failed_errno || fflush(w->chunks) != 0
                   ? write_error(w, w->failed_errno ? w->failed_errno : errno, error)
                   : write_whole(w, temporary.data, totals ? totals : &unused, error);
    if (!code && replace && rename(temporary.data, w->path.data) != 0)
        code = write_error(w, errno, error);
    if (!code && !replace && link(temporary.data, w->path.data) != 0)
        code = errno == EEXIST ? error_set(error, ERR_USAGE,
                                           "%s is there already: --force replaces it", w->path.data)
                               : write_error(w, errno, error);
    unlink(temporary.data);
    text_free(&temporary);
    trace_abandon(w);
    return code;
}
