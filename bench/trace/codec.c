#include "trace/codec.h"

#include <limits.h>

#include "base/arena.h"

enum { TIME_DIFFERS = 1 << 5, PLACE_DIFFERS = 1 << 6, HAS_MASK = 1 << 7, KIND_BITS = 31 };

/* The optional members; each has a bit of the mask. */
enum {
    HAS_GRANTED = 1,
    HAS_ADDRESS = 2,
    HAS_NAME = 4,
    HAS_ALIGNMENT = 8,
    HAS_CALL = 16,
    HAS_DEVICE = 32,
    HAS_USES = 64,
    HAS_MEMORY = 128,
    HAS_POOL = 256,
    HAS_OTHER = 512,
    HAS_BEHIND = 1024,
    HAS_ENDED = 2048,
    HAS_STACK = 4096,
    HAS_ALL = 8191,
};

static bool has_slot(unsigned kind)
{
    return kind == TRACE_held || kind == TRACE_alloc || kind == TRACE_free || kind == TRACE_done;
}

static bool has_bytes(unsigned kind)
{
    return kind == TRACE_held || kind == TRACE_alloc || kind == TRACE_refused ||
           (kind >= TRACE_copy && kind <= TRACE_map) || kind >= TRACE_driver_alloc;
}

/* ---- numbers ---- */

void codec_put_number(struct text *out, uint64_t number)
{
    char bytes[10];
    unsigned count = 0;
    for (; number >= 128; number >>= 7)
        bytes[count++] = (char)((number & 127) | 128);
    bytes[count++] = (char)number;
    text_add_bytes(out, bytes, count);
}

uint64_t codec_get_number(struct cursor *in)
{
    uint64_t number = 0;
    for (unsigned shift = 0; in->at < in->end && shift < 64; shift += 7) {
        const unsigned char byte = *in->at++;
        number |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) {
            if (shift == 63 && byte > 1)
                break;
            return number;
        }
    }
    in->failed = true;
    return 0;
}

static unsigned get_unsigned(struct cursor *in)
{
    uint64_t number = codec_get_number(in);
    if (number > UINT_MAX)
        in->failed = true;
    return (unsigned)number;
}

void codec_put_difference(struct text *out, uint64_t difference)
{
    codec_put_number(out, difference << 1 ^ (difference >> 63 ? UINT64_MAX : 0));
}

uint64_t codec_get_difference(struct cursor *in)
{
    const uint64_t number = codec_get_number(in);
    return number >> 1 ^ (number & 1 ? UINT64_MAX : 0);
}

/* ---- events ---- */

static unsigned mask_of(const struct trace_event *e)
{
    return (e->granted ? HAS_GRANTED : 0) | (e->address ? HAS_ADDRESS : 0) |
           (e->name ? HAS_NAME : 0) | (e->alignment ? HAS_ALIGNMENT : 0) |
           (e->call_ns ? HAS_CALL : 0) | (e->device_ns ? HAS_DEVICE : 0) |
           (e->use_count ? HAS_USES : 0) | (e->memory ? HAS_MEMORY : 0) | (e->pool ? HAS_POOL : 0) |
           (e->other ? HAS_OTHER : 0) | (e->behind ? HAS_BEHIND : 0) |
           (e->ended_ns ? HAS_ENDED : 0) | (e->stack ? HAS_STACK : 0);
}

static void put_optional(struct text *out, struct codec_state *state, const struct trace_event *e,
                         unsigned mask)
{
    if (mask & HAS_GRANTED)
        codec_put_difference(out, e->granted - e->bytes);
    if (mask & HAS_ADDRESS) {
        codec_put_difference(out, e->address - state->address);
        state->address = e->address;
    }
    const struct {
        unsigned bit;
        uint64_t number;
    } plain[] = {
        {HAS_NAME, e->name},        {HAS_ALIGNMENT, e->alignment}, {HAS_CALL, e->call_ns},
        {HAS_DEVICE, e->device_ns}, {HAS_USES, e->use_count},
    };
    for (unsigned i = 0; i < sizeof plain / sizeof *plain; i++)
        if (mask & plain[i].bit)
            codec_put_number(out, plain[i].number);
    for (unsigned i = 0; i < e->use_count; i++)
        codec_put_number(out, (uint64_t)e->uses[i].slot << 2 | e->uses[i].access);
    if (mask & HAS_MEMORY)
        codec_put_number(out, e->memory);
    if (mask & HAS_POOL)
        codec_put_number(out, e->pool);
    if (mask & HAS_OTHER)
        codec_put_number(out, e->other);
    if (mask & HAS_BEHIND)
        codec_put_number(out, e->behind);
    if (mask & HAS_ENDED) {
        codec_put_difference(out, e->ended_ns - state->ended_ns);
        state->ended_ns = e->ended_ns;
    }
    if (mask & HAS_STACK)
        codec_put_number(out, e->stack);
}

void codec_put(struct text *out, struct codec_state *state, const struct trace_event *e,
               uint64_t time)
{
    const unsigned mask = mask_of(e);
    const bool moved = e->queue != state->queue || e->thread != state->thread;
    const unsigned char first =
        (unsigned char)(e->kind | (time != state->time ? TIME_DIFFERS : 0) |
                        (moved ? PLACE_DIFFERS : 0) | (mask ? HAS_MASK : 0));
    text_add_bytes(out, (const char *)&first, 1);
    if (mask)
        codec_put_number(out, mask);
    if (time != state->time)
        codec_put_difference(out, time - state->time);
    if (moved) {
        codec_put_number(out, e->queue);
        codec_put_number(out, e->thread);
    }
    state->time = time;
    state->queue = e->queue;
    state->thread = e->thread;
    if (has_slot(e->kind))
        codec_put_number(out, e->slot);
    if (has_bytes(e->kind))
        codec_put_number(out, e->bytes);
    put_optional(out, state, e, mask);
}

static void get_uses(struct cursor *in, struct trace_event *e, struct codec_uses *room)
{
    e->use_count = get_unsigned(in);
    if (e->use_count > TRACE_USES_MAX || e->use_count > (size_t)(in->end - in->at)) {
        in->failed = true;
        e->use_count = 0;
    }
    if (e->use_count > room->capacity) {
        room->capacity = e->use_count;
        room->uses = must_realloc(room->uses, room->capacity * sizeof *room->uses);
    }
    for (unsigned i = 0; i < e->use_count; i++) {
        uint64_t number = codec_get_number(in);
        in->failed |= number >> 2 > UINT_MAX;
        room->uses[i] = (struct trace_use){(unsigned)(number >> 2), (unsigned)(number & 3)};
    }
    e->uses = room->uses;
}

static void get_optional(struct cursor *in, struct codec_state *state, struct trace_event *e,
                         unsigned mask, struct codec_uses *room)
{
    if (mask & HAS_GRANTED)
        e->granted = e->bytes + codec_get_difference(in);
    if (mask & HAS_ADDRESS)
        e->address = state->address += codec_get_difference(in);
    if (mask & HAS_NAME)
        e->name = get_unsigned(in);
    if (mask & HAS_ALIGNMENT)
        e->alignment = codec_get_number(in);
    if (mask & HAS_CALL)
        e->call_ns = codec_get_number(in);
    if (mask & HAS_DEVICE)
        e->device_ns = codec_get_number(in);
    if (mask & HAS_USES)
        get_uses(in, e, room);
    if (mask & HAS_MEMORY)
        e->memory = get_unsigned(in);
    if (mask & HAS_POOL)
        e->pool = get_unsigned(in);
    if (mask & HAS_OTHER)
        e->other = get_unsigned(in);
    if (mask & HAS_BEHIND)
        e->behind = codec_get_number(in);
    if (mask & HAS_ENDED)
        e->ended_ns = state->ended_ns += codec_get_difference(in);
    if (mask & HAS_STACK)
        e->stack = get_unsigned(in);
    in->failed |= mask > HAS_ALL;
}

void codec_get(struct cursor *in, unsigned char first, struct codec_state *state,
               struct trace_event *e, struct codec_uses *room)
{
    const unsigned kind = first & KIND_BITS;
    *e = (struct trace_event){.kind = (enum trace_kind)kind};
    if (kind >= TRACE_KINDS) {
        in->failed = true;
        return;
    }
    const unsigned mask = first & HAS_MASK ? get_unsigned(in) : 0;
    if (first & TIME_DIFFERS)
        state->time += codec_get_difference(in);
    if (first & PLACE_DIFFERS) {
        state->queue = get_unsigned(in);
        state->thread = get_unsigned(in);
    }
    e->time_ns = state->time;
    e->queue = state->queue;
    e->thread = state->thread;
    if (has_slot(kind))
        e->slot = get_unsigned(in);
    if (has_bytes(kind))
        e->bytes = codec_get_number(in);
    if (mask)
        get_optional(in, state, e, mask, room);
}
