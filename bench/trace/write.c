#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/tree.h"
#include "trace/codec.h"
#include "trace/trace.h"

/* The names of one kind, each with an index; an open hash table finds them. */
struct names {
    unsigned count, capacity, buckets; /* buckets: a power of two, or 0 */
    struct name {
        char *text;
        bool defined[2]; /* in the chunks; in the front, which stands before them */
    } * names;
    unsigned *bucket; /* index + 1; 0: empty */
};

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
    struct names names[3]; /* names, queues, threads: in the order of DEFINE_* */
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

static unsigned *bucket_of(const struct names *n, const char *text)
{
    uint64_t at = digest_bytes(0, text, strlen(text));
    for (;; at++) {
        unsigned *bucket = &n->bucket[at & (n->buckets - 1)];
        if (*bucket == 0 || strcmp(n->names[*bucket - 1].text, text) == 0)
            return bucket;
    }
}

static void widen(struct names *n)
{
    n->buckets = n->buckets ? 4 * n->buckets : 64;
    free(n->bucket);
    n->bucket = must_alloc(n->buckets * sizeof *n->bucket);
    for (unsigned i = 0; i < n->count; i++)
        *bucket_of(n, n->names[i].text) = i + 1;
}

/* The text as a trace may have it: UTF-8, and not too long. The caller frees it. */
static char *clean_name(const char *text)
{
    struct text cut = {0};
    text_add_bytes(&cut, text, strnlen(text, TRACE_NAME_BYTES));
    json_t *json = tree_text(cut.data);
    text_free(&cut);
    text_add(&cut, "%s", json_string_value(json));
    json_decref(json);
    return cut.data;
}

static unsigned find_or_add(struct trace_writer *w, unsigned char what, const char *text)
{
    struct names *n = &w->names[what - DEFINE_NAME];
    if (2 * (n->count + 1) > n->buckets)
        widen(n);
    unsigned *bucket = bucket_of(n, text);
    if (*bucket)
        return *bucket - 1;
    char *clean = clean_name(text);
    bucket = bucket_of(n, clean);
    if (*bucket) {
        free(clean);
        return *bucket - 1;
    }
    n->names = must_grow(n->names, n->count, &n->capacity, sizeof *n->names);
    n->names[n->count] = (struct name){.text = clean};
    *bucket = ++n->count;
    return n->count - 1;
}

unsigned trace_name(struct trace_writer *w, const char *name)
{
    return find_or_add(w, DEFINE_NAME, name);
}
unsigned trace_queue(struct trace_writer *w, const char *name)
{
    return find_or_add(w, DEFINE_QUEUE, name);
}
unsigned trace_thread(struct trace_writer *w, const char *name)
{
    return find_or_add(w, DEFINE_THREAD, name);
}

/* ---- events ---- */

static void define(struct trace_writer *w, struct open_chunk *chunk, unsigned char what,
                   unsigned index)
{
    struct names *n = &w->names[what - DEFINE_NAME];
    if (index >= n->count || n->names[index].defined[chunk == &w->front])
        return;
    n->names[index].defined[chunk == &w->front] = true;
    const size_t length = strlen(n->names[index].text);
    text_add_bytes(&chunk->bytes, (const char *)&what, 1);
    codec_put_number(&chunk->bytes, index);
    codec_put_number(&chunk->bytes, length);
    text_add_bytes(&chunk->bytes, n->names[index].text, length);
}

/* Names are defined where the first event uses them, so that no chunk has definitions alone. */
static void encode(struct trace_writer *w, struct open_chunk *chunk,
                   const struct trace_event *event)
{
    define(w, chunk, DEFINE_NAME, event->name);
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
    for (int i = 0; i < 3; i++) {
        struct names *n = &w->names[i];
        for (unsigned k = 0; k < n->count; k++)
            free(n->names[k].text);
        free(n->names);
        free(n->bucket);
    }
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
