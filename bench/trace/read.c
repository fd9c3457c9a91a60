#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

#include "base/arena.h"
#include "base/digest.h"
#include "trace/codec.h"
#include "trace/trace.h"

/* Writers number queues, threads and names one by one, and each is defined where an event uses it,
 * so a larger number is damage. It must not cost more time or memory than the file is large. */
enum { INDICES_FEW = 4096, INDICES_A_BYTE = 8 };

/* A reader that goes back to the start keeps the texts. is_defined[0] says that a text was defined
 * after that. */
struct name_list {
    unsigned capacity;
    struct trace_name *names;
};

struct trace_reader {
    char *path;
    FILE *in;
    struct trace_info info;
    long begins;           /* place of the first chunk in the file */
    uint64_t indices_most; /* that queues, threads and names of a file of this size can have */
    struct arena arena;
    struct name_list names[3]; /* names, queues, threads: in the order of DEFINE_* */
    struct trace_slots slots;
    struct codec_uses uses;
    /* The current chunk. */
    ZSTD_DCtx *unpacker;
    unsigned char *packed, *bytes;
    size_t packed_capacity, capacity;
    struct cursor cursor;
    struct codec_state state;
    unsigned events_left;
    uint64_t chunk_number, chunk_at; /* from 1 on; its place in the file */
    bool ended, has_end;
    uint64_t lost_bytes;
};

static uint32_t get_u32(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

/* ---- the head ---- */

static int head_error(const struct trace_reader *r, const char *what, struct error *error)
{
    return error_set(error, ERR_PARSE, "%s: %s", r->path, what);
}

static int read_info(struct trace_reader *r, const char *text, size_t length, struct error *error)
{
    json_error_t where;
    json_t *json = json_loadb(text, length, JSON_REJECT_DUPLICATES, &where);
    int code = json ? trace_info_from_json(json, &r->info, error)
                    : error_set(error, ERR_PARSE, "the info is no JSON: %s", where.text);
    json_decref(json);
    if (code)
        error_prefix(error, "%s: info: ", r->path);
    return code;
}

static int read_head(struct trace_reader *r, struct error *error)
{
    unsigned char head[TRACE_MAGIC_BYTES + 8], sum[4];
    size_t n = fread(head, 1, sizeof head, r->in);
    if (n < TRACE_MAGIC_BYTES || memcmp(head, TRACE_MAGIC, TRACE_MAGIC_BYTES) != 0)
        return head_error(r, "is no trace of gamut", error);
    if (n < sizeof head)
        return head_error(r, "the trace ends in its head: it was cut off", error);
    struct stat file;
    if (fstat(fileno(r->in), &file) != 0)
        return error_set(error, ERR_IO, "%s: %s", r->path, strerror(errno));
    r->indices_most = INDICES_FEW + INDICES_A_BYTE * (uint64_t)file.st_size;
    const uint32_t version = get_u32(head + TRACE_MAGIC_BYTES);
    const uint32_t length = get_u32(head + TRACE_MAGIC_BYTES + 4);
    if (version != TRACE_VERSION)
        return error_set(error, ERR_PARSE,
                         "%s: the trace has version %u, and this gamut reads version %d: import or "
                         "record it anew, or use %s",
                         r->path, version, TRACE_VERSION,
                         version < TRACE_VERSION ? "revision fef064f, the last that reads it"
                                                 : "the gamut that wrote it");
    if (length > TRACE_INFO_MOST)
        return head_error(r, "the trace is damaged: its info is too long", error);
    char *info = must_alloc((size_t)length + 1);
    int code = 0;
    if (fread(info, 1, length, r->in) != length || fread(sum, 1, 4, r->in) != 4)
        code = head_error(r, "the trace ends in its head: it was cut off", error);
    else if (crc32(0, (unsigned char *)info, length) != get_u32(sum))
        code = head_error(r, "the trace is damaged: the checksum of its info is wrong", error);
    else
        code = read_info(r, info, length, error);
    free(info);
    r->begins = ftell(r->in);
    return code;
}

int trace_open(const char *path, struct trace_reader **reader, struct error *error)
{
    struct trace_reader *r = must_alloc(sizeof *r);
    *reader = NULL;
    r->unpacker = must_have(ZSTD_createDCtx());
    r->path = must_have(strdup(path));
    r->in = fopen(path, "r");
    int code =
        r->in ? read_head(r, error) : error_set(error, ERR_IO, "%s: %s", path, strerror(errno));
    if (code) {
        trace_close(r);
        return code;
    }
    r->slots.knows_done = r->info.knows[TRACE_KNOWS_done];
    *reader = r;
    return 0;
}

void trace_close(struct trace_reader *r)
{
    if (!r)
        return;
    if (r->in)
        fclose(r->in);
    for (int i = 0; i < 3; i++)
        free(r->names[i].names);
    arena_free(&r->arena);
    slots_free(&r->slots);
    free(r->uses.uses);
    ZSTD_freeDCtx(r->unpacker);
    free(r->packed);
    free(r->bytes);
    trace_info_free(&r->info);
    free(r->path);
    free(r);
}

int trace_rewind(struct trace_reader *r, struct error *error)
{
    clearerr(r->in);
    if (fseek(r->in, r->begins, SEEK_SET) != 0)
        return error_set(error, ERR_IO, "%s: %s", r->path, strerror(errno));
    slots_restart(&r->slots);
    for (int i = 0; i < 3; i++)
        for (unsigned k = 0; k < r->names[i].capacity; k++)
            r->names[i].names[k].is_defined[0] = false;
    r->cursor = (struct cursor){0};
    r->events_left = 0;
    r->chunk_number = r->lost_bytes = 0;
    r->ended = r->has_end = false;
    return 0;
}

/* ---- definitions ---- */

static bool can_be(const struct trace_reader *r, uint64_t index)
{
    return index < TRACE_NAMES_MAX && index < r->indices_most;
}

static unsigned depth_of(const struct trace_reader *r, uint64_t frame)
{
    return frame < r->names[0].capacity ? r->names[0].names[frame].depth : 0;
}

/* A frame's caller stands before it, and what is defined first stays, so that no stack has a
 * cycle. */
static const char *read_definition(struct trace_reader *r, unsigned what)
{
    struct name_list *list = &r->names[what == DEFINE_FRAME ? 0 : what - DEFINE_NAME];
    struct trace_name name = {0};
    uint64_t index, twice = 0;
    if (what == DEFINE_FRAME) {
        index = r->state.frame + 1 + codec_get_difference(&r->cursor);
        twice = codec_get_number(&r->cursor);
        name = (struct trace_name){.caller = (unsigned)(index - twice / 2), .is_hidden = twice % 2};
        name.depth = (unsigned short)(1 + depth_of(r, name.caller));
        r->state.frame = (unsigned)index;
    } else {
        index = codec_get_number(&r->cursor);
    }
    const uint64_t length = codec_get_number(&r->cursor);
    if (r->cursor.failed || !can_be(r, index) || twice / 2 > index ||
        length > (size_t)(r->cursor.end - r->cursor.at))
        return "a definition is damaged";
    if (list == r->names && !index && (length || what == DEFINE_FRAME))
        return "name 0, which says that there is none, is defined";
    if (name.caller && name.depth == 1)
        return "a frame of a call stack stands before the frame that called it";
    if (name.depth > TRACE_STACK_MOST)
        return "a call stack has more than 1024 frames";
    list->names = must_reach(list->names, (unsigned)index, &list->capacity, sizeof *list->names);
    const char *text = (const char *)r->cursor.at;
    if (!list->names[index].text) {
        name.text = arena_copy(&r->arena, text, (size_t)length);
        name.digest = length ? digest_bytes(0, text, (size_t)length) : 0;
        list->names[index] = name;
    }
    list->names[index].is_defined[0] = true;
    r->cursor.at += length;
    return NULL;
}

/* Reads the definitions that stand before the next event. NULL, or what is wrong with one. */
static const char *read_definitions(struct trace_reader *r)
{
    const char *wrong = NULL;
    while (!wrong && r->cursor.at < r->cursor.end && (*r->cursor.at & 31) >= DEFINE_FRAME) {
        const unsigned what = *r->cursor.at++ & 31;
        wrong = read_definition(r, what);
    }
    return wrong;
}

/* ---- chunks ---- */

static int chunk_error(const struct trace_reader *r, const char *what, struct error *error)
{
    return error_set(error, ERR_PARSE, "%s: chunk %llu, at byte %llu, is damaged: %s", r->path,
                     (unsigned long long)r->chunk_number, (unsigned long long)r->chunk_at, what);
}

static unsigned char *room(unsigned char *bytes, size_t *capacity, size_t needed)
{
    if (needed <= *capacity)
        return bytes;
    *capacity = needed;
    return must_realloc(bytes, needed);
}

/* The file ends here, without an end chunk. */
static int note_cut(struct trace_reader *r, uint64_t lost_bytes)
{
    r->ended = true;
    r->lost_bytes = lost_bytes;
    return 0;
}

/* The current chunk is the end: reads its totals. */
static int read_end(const struct trace_reader *r, struct trace_totals *totals, struct error *error)
{
    json_t *json = json_loadb((const char *)r->cursor.at, (size_t)(r->cursor.end - r->cursor.at),
                              JSON_REJECT_DUPLICATES, NULL);
    int code = json ? trace_totals_from_json(json, totals, error) : ERR_PARSE;
    json_decref(json);
    return code;
}

static int check_end(struct trace_reader *r, struct error *error)
{
    struct trace_totals totals;
    if (read_end(r, &totals, NULL) || memcmp(&totals, &r->slots.totals, sizeof totals) != 0)
        return chunk_error(r, "its totals are not those of the events before it", error);
    r->ended = r->has_end = true;
    if (fgetc(r->in) != EOF)
        return chunk_error(r, "bytes follow the end of the trace", error);
    return 0;
}

struct chunk_head {
    uint32_t packed, bytes, events, sum; /* stored bytes, unpacked bytes, events, CRC of contents */
};

/* Reads the header of the next chunk; *got receives its bytes that are there. NULL, or what is
 * wrong with it. */
static const char *read_chunk_head(struct trace_reader *r, struct chunk_head *head, size_t *got)
{
    unsigned char bytes[TRACE_CHUNK_HEAD_BYTES];
    *got = fread(bytes, 1, sizeof bytes, r->in);
    if (*got < sizeof bytes)
        return NULL;
    *head = (struct chunk_head){get_u32(bytes), get_u32(bytes + 4), get_u32(bytes + 8),
                                get_u32(bytes + 12)};
    if (crc32(TRACE_VERSION, bytes, TRACE_HEAD_NUMBERS_BYTES) !=
        get_u32(bytes + TRACE_HEAD_NUMBERS_BYTES))
        return "the checksum of its header is wrong";
    if (head->packed > TRACE_CHUNK_MOST || head->bytes > TRACE_CHUNK_MOST ||
        head->events > TRACE_CHUNK_EVENTS)
        return "it claims to be larger than chunks are";
    return NULL;
}

/* Reads and unpacks the next chunk. *events receives how many it claims; r->ended: the file ends
 * here. */
static int load_chunk(struct trace_reader *r, uint32_t *events_out, struct error *error)
{
    struct chunk_head head;
    size_t n;
    r->chunk_at = (uint64_t)ftell(r->in);
    const char *wrong = read_chunk_head(r, &head, &n);
    if (ferror(r->in))
        return error_set(error, ERR_IO, "%s: %s", r->path, strerror(errno));
    r->chunk_number++;
    if (wrong)
        return chunk_error(r, wrong, error);
    if (n < TRACE_CHUNK_HEAD_BYTES)
        return note_cut(r, n);
    r->packed = room(r->packed, &r->packed_capacity, head.packed);
    r->bytes = room(r->bytes, &r->capacity, head.bytes);
    const size_t got = fread(r->packed, 1, head.packed, r->in);
    if (ferror(r->in))
        return error_set(error, ERR_IO, "%s: %s", r->path, strerror(errno));
    if (got < head.packed)
        return note_cut(r, n + got);
    if (crc32(0, r->packed, head.packed) != head.sum)
        return chunk_error(r, "its checksum is wrong", error);
    const size_t unpacked =
        ZSTD_decompressDCtx(r->unpacker, r->bytes, head.bytes, r->packed, head.packed);
    if (unpacked != head.bytes || !unpacked)
        return chunk_error(r, "it does not unpack", error);
    r->cursor = (struct cursor){.at = r->bytes, .end = r->bytes + head.bytes};
    r->state = (struct codec_state){0};
    *events_out = head.events;
    return 0;
}

static int next_chunk(struct trace_reader *r, struct error *error)
{
    uint32_t events = 0;
    TRY(load_chunk(r, &events, error));
    if (r->ended)
        return 0;
    r->events_left = events;
    if (events == 0)
        return check_end(r, error);
    const char *wrong = read_definitions(r);
    return wrong ? chunk_error(r, wrong, error) : 0;
}

/* ---- events ---- */

static int event_error(const struct trace_reader *r, const char *what, struct error *error)
{
    return error_set(error, ERR_PARSE, "%s: event %llu (chunk %llu, at byte %llu): %s", r->path,
                     (unsigned long long)r->slots.totals.events + 1,
                     (unsigned long long)r->chunk_number, (unsigned long long)r->chunk_at, what);
}

static const char *check_event(const struct trace_reader *r, const struct trace_event *e)
{
    const struct trace_totals *t = &r->slots.totals;
    if (e->kind == TRACE_held && t->events > t->by_kind[TRACE_held])
        return "a block that lived before the trace began stands after other events";
    if (!can_be(r, e->queue) || !can_be(r, e->thread) || !can_be(r, e->name) ||
        !can_be(r, e->other))
        return "it names a queue, a thread or a name that no trace can have";
    if (e->stack && !depth_of(r, e->stack))
        return "its call stack is not defined";
    return NULL;
}

static uint64_t digest_of_name(const struct trace_reader *r, unsigned what, unsigned index)
{
    const struct name_list *list = &r->names[what - DEFINE_NAME];
    return index < list->capacity && list->names[index].is_defined[0] ? list->names[index].digest
                                                                      : 0;
}

/* The digest is that of what events mean: files with other slots, other indices of names or other
 * chunks have the same. The products do not depend on each other, so that they run at once. */
static uint64_t digest_event(const struct trace_reader *r, const struct trace_event *e)
{
    const uint64_t members[] = {
        e->kind,
        digest_of_name(r, DEFINE_QUEUE, e->queue),
        digest_of_name(r, DEFINE_THREAD, e->thread),
        digest_of_name(r, DEFINE_NAME, e->name),
        e->kind == TRACE_order ? digest_of_name(r, DEFINE_QUEUE, e->other) : 0,
        e->time_ns,
        e->block,
        e->bytes,
        e->granted,
        e->alignment,
        e->address,
        (uint64_t)e->memory << 32 | e->pool,
        e->call_ns,
        e->device_ns,
        e->use_count,
        e->behind,
    };
    uint64_t sum = 0;
    for (unsigned i = 0; i < sizeof members / sizeof *members; i++)
        sum += (random_mix(i + 1) | 1) * (members[i] ^ members[i] >> 32);
    if (e->ended_ns)
        sum = random_mix(sum ^ e->ended_ns);
    for (unsigned i = 0; i < e->use_count; i++)
        sum = random_mix(sum ^ trace_block_in(r, e->uses[i].slot) << 2 ^ e->uses[i].access);
    return sum;
}

static const char *read_event(struct trace_reader *r, struct trace_event *event)
{
    if (r->cursor.at == r->cursor.end)
        return "the chunk has fewer events than it claims";
    const unsigned char first = *r->cursor.at++;
    codec_get(&r->cursor, first, &r->state, event, &r->uses);
    if (r->cursor.failed)
        return "it is damaged";
    event->time_ns *= r->info.time_unit_ns;
    const char *wrong = check_event(r, event);
    return wrong ? wrong : slots_follow(&r->slots, event);
}

int trace_next(struct trace_reader *r, struct trace_event *event, struct error *error)
{
    while (!r->ended && r->events_left == 0)
        TRY(next_chunk(r, error));
    if (r->ended)
        return 0;
    const char *wrong = read_event(r, event);
    if (wrong)
        return event_error(r, wrong, error);
    r->events_left--;
    wrong = read_definitions(r);
    if (wrong)
        return event_error(r, wrong, error);
    if (r->events_left == 0 && r->cursor.at != r->cursor.end)
        return event_error(r, "the chunk has more bytes than events", error);
    r->slots.totals.digest = random_mix(r->slots.totals.digest + digest_event(r, event));
    return 1;
}

/* ---- what is known --------------------------------------------------------------------------- */

static const char *text_of(const struct trace_reader *r, unsigned what, unsigned index)
{
    const struct name_list *list = &r->names[what - DEFINE_NAME];
    return index < list->capacity && list->names[index].is_defined[0] ? list->names[index].text
                                                                      : "";
}

const char *trace_name_of(const struct trace_reader *r, unsigned name)
{
    return text_of(r, DEFINE_NAME, name);
}
const char *trace_queue_of(const struct trace_reader *r, unsigned queue)
{
    return text_of(r, DEFINE_QUEUE, queue);
}
const char *trace_thread_of(const struct trace_reader *r, unsigned thread)
{
    return text_of(r, DEFINE_THREAD, thread);
}
const struct trace_name *trace_reader_names(const struct trace_reader *r)
{
    return r->names[0].names;
}
const struct trace_info *trace_reader_info(const struct trace_reader *r)
{
    return &r->info;
}
const char *trace_reader_path(const struct trace_reader *r)
{
    return r->path;
}
const struct trace_totals *trace_reader_totals(const struct trace_reader *r)
{
    return &r->slots.totals;
}
/* Skips from chunk to chunk up to the end. */
static bool seek_end(struct trace_reader *r)
{
    struct chunk_head head;
    size_t got;
    for (;;) {
        const long at = ftell(r->in);
        if (read_chunk_head(r, &head, &got) || got < TRACE_CHUNK_HEAD_BYTES)
            return false;
        if (head.events == 0)
            return fseek(r->in, at, SEEK_SET) == 0;
        if (fseek(r->in, (long)head.packed, SEEK_CUR) != 0)
            return false;
    }
}

bool trace_read_totals(struct trace_reader *r, struct trace_totals *totals)
{
    uint32_t events = 0;
    bool known = trace_rewind(r, NULL) == 0 && seek_end(r) && load_chunk(r, &events, NULL) == 0 &&
                 !r->ended && read_end(r, totals, NULL) == 0;
    return trace_rewind(r, NULL) == 0 && known;
}

bool trace_was_cut(const struct trace_reader *r, uint64_t *lost_bytes)
{
    *lost_bytes = r->lost_bytes;
    return r->ended && !r->has_end;
}
uint64_t trace_block_in(const struct trace_reader *r, unsigned slot)
{
    const bool taken = slot < r->slots.capacity && r->slots.slots[slot].state != SLOT_FREE;
    return taken ? r->slots.slots[slot].block : 0;
}
uint64_t trace_live_bytes(const struct trace_reader *r)
{
    return r->slots.live_bytes;
}
