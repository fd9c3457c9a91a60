#include "trace/import/raw_records.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/sort.h"

enum { ROOM = RAW_CHUNK_BYTES - sizeof(struct raw_chunk) };

static int map_file(struct raw_records *r, struct error *error)
{
    const int file = open(r->path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (file < 0 || fstat(file, &status) != 0) {
        const int code = error_set(error, ERR_IO, "%s: %s", r->path, strerror(errno));
        if (file >= 0)
            close(file);
        return code;
    }
    r->length = (size_t)status.st_size;
    void *bytes = r->length ? mmap(NULL, r->length, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
    close(file);
    if (bytes == MAP_FAILED)
        return error_set(error, ERR_IO, "%s: the file cannot be mapped", r->path);
    r->bytes = bytes;
    return 0;
}

static int check_head(struct raw_records *r, struct error *error)
{
    r->head = (const struct raw_head *)r->bytes;
    if (r->length < RAW_HEAD_BYTES || memcmp(r->head->magic, RAW_MAGIC, sizeof r->head->magic) != 0)
        return error_set(error, ERR_PARSE, "%s: this is no raw recording", r->path);
    if (r->head->version != RAW_VERSION || r->head->chunk_bytes != RAW_CHUNK_BYTES)
        return error_set(error, ERR_PARSE,
                         "%s: the recording has version %" PRIu32
                         ", and this gamut reads %d: import it with the gamut that recorded it",
                         r->path, r->head->version, RAW_VERSION);
    return 0;
}

static int by_thread(const void *left, const void *right)
{
    const struct raw_chunk_place *a = left, *b = right;
    ORDER_STEP(a->thread, b->thread);
    ORDER_STEP(a->sequence, b->sequence);
    /* The fuller copy first; of equal ones any. */
    return a->used > b->used ? -1 : a->used < b->used;
}

static int find_chunks(struct raw_records *r, struct error *error)
{
    unsigned capacity = 0;
    for (uint64_t at = RAW_HEAD_BYTES; at + RAW_CHUNK_BYTES <= r->length; at += RAW_CHUNK_BYTES) {
        const struct raw_chunk *chunk = (const struct raw_chunk *)(r->bytes + at);
        if (chunk->magic != RAW_CHUNK_MAGIC) /* never begun, or torn by a full disk */
            continue;
        if (chunk->used > ROOM || chunk->used % 8)
            return error_set(error, ERR_PARSE, "%s: the chunk at byte %" PRIu64 " is damaged",
                             r->path, at);
        r->chunks = must_grow(r->chunks, (unsigned)r->chunk_count, &capacity, sizeof *r->chunks);
        r->chunks[r->chunk_count++] =
            (struct raw_chunk_place){at, chunk->sequence, chunk->used, chunk->thread};
    }
    if (r->chunk_count)
        qsort(r->chunks, r->chunk_count, sizeof *r->chunks, by_thread);
    size_t kept = 0;
    for (size_t i = 0; i < r->chunk_count; i++)
        if (!kept || r->chunks[i].thread != r->chunks[kept - 1].thread ||
            r->chunks[i].sequence != r->chunks[kept - 1].sequence)
            r->chunks[kept++] = r->chunks[i];
    r->chunk_count = kept;
    for (size_t i = 0; i < kept; i++)
        r->thread_count += i == 0 || r->chunks[i].thread != r->chunks[i - 1].thread;
    return 0;
}

/* The line through the first and the latest pair of clocks. */
static void calibrate(struct raw_records *r)
{
    struct raw_moment first = r->head->began, latest = r->head->latest;
    for (size_t i = 0; i < r->chunk_count; i++) {
        const struct raw_chunk *chunk = (const struct raw_chunk *)(r->bytes + r->chunks[i].offset);
        if (chunk->moment.ns > latest.ns)
            latest = chunk->moment;
    }
    const double ticks = (double)(latest.ticks - first.ticks), ns = (double)(latest.ns - first.ns);
    r->first_ticks = first.ticks;
    r->ns_per_tick = latest.ticks > first.ticks && latest.ns > first.ns ? ns / ticks : 1;
}

int raw_records_open(struct raw_records *r, const char *path, struct error *error)
{
    *r = (struct raw_records){.path = path};
    TRY(map_file(r, error));
    TRY(check_head(r, error));
    TRY(find_chunks(r, error));
    calibrate(r);
    r->threads = must_alloc((r->thread_count + 1) * sizeof *r->threads);
    raw_records_rewind(r);
    return 0;
}

void raw_records_rewind(struct raw_records *r)
{
    for (unsigned t = 0; t < r->thread_count; t++)
        r->threads[t].first_chunk = r->threads[t].chunk_count = r->threads[t].begin =
            r->threads[t].end = 0;
    unsigned t = 0;
    for (size_t i = 0; i < r->chunk_count; i++) {
        t += i > 0 && r->chunks[i].thread != r->chunks[i - 1].thread;
        r->threads[t].number = r->chunks[i].thread;
        if (!r->threads[t].chunk_count++)
            r->threads[t].first_chunk = i;
    }
}

void raw_records_close(struct raw_records *r)
{
    for (unsigned t = 0; r->threads && t < r->thread_count; t++)
        free(r->threads[t].records);
    free(r->threads);
    free(r->chunks);
    if (r->bytes)
        munmap((void *)r->bytes, r->length);
    *r = (struct raw_records){0};
}

/* The arguments of a call are described at the tick of the call, by records of the kinds that come
 * first (raw.h); they may stand after it in the file. */
static int by_ticks(const void *left, const void *right)
{
    const struct raw_record *a = *(const struct raw_record *const *)left,
                            *b = *(const struct raw_record *const *)right;
    ORDER_STEP(a->ticks, b->ticks);
    ORDER_STEP(a->kind, b->kind);
    return a < b ? -1 : a > b;
}

/* Adds the records of the thread's next chunk. */
static int read_chunk(struct raw_records *r, struct raw_queue *q, struct error *error)
{
    const struct raw_chunk_place place = r->chunks[q->first_chunk];
    const unsigned char *at = r->bytes + place.offset + sizeof(struct raw_chunk),
                        *end = at + place.used;
    q->first_chunk++;
    q->chunk_count--;
    if (q->begin)
        memmove(q->records, q->records + q->begin, (q->end - q->begin) * sizeof *q->records);
    q->end -= q->begin;
    q->begin = 0;
    while (at < end) {
        const struct raw_record *record = (const struct raw_record *)at;
        if ((size_t)(end - at) < sizeof *record || record->kind >= RAW_KINDS ||
            (size_t)(end - at) - sizeof *record < 8u * record->words)
            return error_set(error, ERR_PARSE, "%s: the record at byte %td is damaged", r->path,
                             at - r->bytes);
        q->records = must_grow(q->records, q->end, &q->capacity, sizeof *q->records);
        q->records[q->end++] = record;
        at += sizeof *record + 8u * record->words;
    }
    if (q->end)
        qsort(q->records, q->end, sizeof *q->records, by_ticks);
    return 0;
}

int raw_records_next(struct raw_records *r, const struct raw_record **record, unsigned *thread,
                     struct error *error)
{
    enum { AHEAD = RAW_CHUNK_BYTES / 64 };
    const struct raw_queue *first = NULL;
    for (unsigned t = 0; t < r->thread_count; t++) {
        struct raw_queue *q = &r->threads[t];
        while (q->chunk_count && q->end - q->begin < AHEAD)
            TRY(read_chunk(r, q, error));
        if (q->begin < q->end &&
            (!first || q->records[q->begin]->ticks < first->records[first->begin]->ticks)) {
            first = q;
            *thread = t;
        }
    }
    if (!first)
        return 0;
    *record = first->records[r->threads[*thread].begin++];
    return 1;
}

uint64_t raw_records_span(const struct raw_records *r, uint64_t ticks)
{
    const double ns = (double)ticks * r->ns_per_tick;
    return ns < (double)INT64_MAX ? (uint64_t)ns : INT64_MAX; /* a damaged clock */
}

uint64_t raw_records_time(const struct raw_records *r, uint64_t ticks)
{
    return ticks > r->first_ticks ? raw_records_span(r, ticks - r->first_ticks) : 0;
}
