#include "pages/data.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/arena.h"
#include "base/sort.h"
#include "base/text.h"
#include "base/tree.h"
#include "pages/view.h"
#include "trace/holders.h"

/* ---- packed columns ---- */

/* Adds a number: seven bits a byte (LEB128). */
static void pack_number(struct text *bytes, uint64_t number)
{
    char packed[10];
    size_t length = 0;
    for (; number >= 128; number >>= 7)
        packed[length++] = (char)(number | 128);
    packed[length++] = (char)number;
    text_add_bytes(bytes, packed, length);
}

/* Adds a difference, from -2^62 to 2^62. */
static void pack_difference(struct text *bytes, int64_t difference)
{
    pack_number(bytes, difference < 0 ? (uint64_t)-difference * 2 - 1 : (uint64_t)difference * 2);
}

static void write_base64(FILE *out, const unsigned char *bytes, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < length; i += 3) {
        const size_t left = length - i;
        const unsigned second = left > 1 ? bytes[i + 1] : 0, third = left > 2 ? bytes[i + 2] : 0;
        const unsigned three = (unsigned)bytes[i] << 16 | second << 8 | third;
        const char four[] = {digits[three >> 18], digits[three >> 12 & 63],
                             left > 1 ? digits[three >> 6 & 63] : '=',
                             left > 2 ? digits[three & 63] : '='};
        fwrite(four, 1, sizeof four, out);
    }
}

/* Prints the element that holds packed bytes, deflated by zlib, in base64. Empties `bytes`. Returns
 * its number, by which the page's script finds it. */
static json_t *put(struct view_data *data, struct text *bytes)
{
    uLongf length = compressBound(bytes->length);
    unsigned char *packed = must_alloc(length);
    compress2(packed, &length, (const unsigned char *)(bytes->length ? bytes->data : ""),
              bytes->length, 6); /* the room is enough, and there is no other error */
    fprintf(data->out, "<script type=\"text/plain\" id=\"b%u\">", data->count);
    write_base64(data->out, packed, length);
    fputs("</script>\n", data->out);
    free(packed);
    bytes->length = 0;
    return tree_count(data->count++);
}

/* A signed difference to the value before. */
static void pack_step(struct text *bytes, uint64_t *before, uint64_t value)
{
    pack_difference(bytes, (int64_t)(value - *before));
    *before = value;
}

/* ---- what all strategies share ---- */

/* Texts, links of frames to their callers, and names of stacks, each by index. */
static json_t *names_of(struct view_data *data, const struct view_history *h)
{
    enum { NAME = 1, FRAME };
    const struct trace_name *all = trace_reader_names(h->reader);
    unsigned char *used = must_alloc(h->name_count + 1);
    struct text bytes = {0};
    for (unsigned i = 0; i < h->phase_count; i++)
        used[h->phases[i].name] = NAME;
    used[h->refusal.name] |= h->refusal.moment > 0;
    for (unsigned i = 0; i < h->blocks.count; i++) {
        const struct view_block *b = &h->blocks.items[i];
        used[b->name] |= NAME;
        for (unsigned f = b->site == b->name ? 0 : b->site; f && used[f] != FRAME;
             f = all[f].caller)
            used[f] = FRAME;
    }
    for (unsigned i = 0; i < h->name_count; i++) {
        const char *text = used[i] ? trace_name_of(h->reader, i) : "";
        text_add_bytes(&bytes, text, strlen(text) + 1);
    }
    json_t *texts = put(data, &bytes);
    for (unsigned i = 0; i < h->name_count; i++)
        pack_number(&bytes,
                    used[i] != FRAME
                        ? 0
                        : 1 + all[i].is_hidden + (all[i].caller ? 2ULL * (i - all[i].caller) : 0));
    for (unsigned i = 0; i < h->name_count; i++)
        pack_number(&bytes, i < h->label_capacity ? h->labels[i] : 0);
    json_t *frames = put(data, &bytes);
    text_free(&bytes);
    free(used);
    return tree_pack("{s:o, s:o, s:o}", "count", tree_count(h->name_count), "texts", texts,
                     "frames", frames);
}

static json_t *phases_of(struct view_data *data, const struct view_history *h)
{
    struct text bytes = {0};
    uint64_t before = 0;
    for (unsigned i = 0; i < h->phase_count; i++)
        pack_step(&bytes, &before, h->phases[i].moment);
    for (unsigned i = 0; i < h->phase_count; i++)
        pack_number(&bytes, h->phases[i].name);
    json_t *number = put(data, &bytes);
    text_free(&bytes);
    return number;
}

static json_t *summary_of(struct view_data *data, const struct view_summary *s)
{
    json_t *levels = tree_array();
    struct text bytes = {0};
    for (unsigned l = 0; l < s->level_count; l++) {
        const struct view_level *level = &s->levels[l];
        uint64_t requested = 0, time_ns = 0;
        for (uint32_t i = 0; i < level->count; i++)
            pack_step(&bytes, &requested, level->buckets[i].requested);
        for (uint32_t i = 0; i < level->count; i++) {
            const uint64_t begin = s->first + (uint64_t)i * level->stride;
            pack_number(&bytes, level->buckets[i].at > begin ? level->buckets[i].at - begin : 0);
        }
        for (uint32_t i = 0; i < level->count; i++)
            pack_step(&bytes, &time_ns, level->buckets[i].time_ns);
        tree_append(levels,
                    tree_pack("{s:o, s:o, s:o}", "stride", tree_count(level->stride), "count",
                              tree_count(level->count), "data", put(data, &bytes)));
    }
    text_free(&bytes);
    return levels;
}

/* Birth, life and bytes of the blocks of a chunk. */
static void pack_lives(struct text *bytes, const struct view_blocks *blocks, const uint32_t *order,
                       unsigned count)
{
    uint64_t born = 0;
    for (unsigned i = 0; i < count; i++)
        pack_step(bytes, &born, blocks->items[order[i]].born);
    for (unsigned i = 0; i < count; i++)
        pack_number(bytes, blocks->items[order[i]].died - blocks->items[order[i]].born);
    for (unsigned i = 0; i < count; i++)
        pack_number(bytes, blocks->items[order[i]].bytes);
}

static json_t *chunk_of(const struct view_chunk *c, json_t *number)
{
    return tree_pack("[o, o, o, o, o]", tree_count(c->level), tree_count(c->first),
                     tree_count(c->last), tree_count(c->count), number);
}

static json_t *blocks_of(struct view_data *data, const struct view_blocks *blocks,
                         const struct view_levels *levels)
{
    json_t *chunks = tree_array();
    struct text bytes = {0};
    for (unsigned c = 0; c < levels->chunk_count; c++) {
        const struct view_chunk *chunk = &levels->chunks[c];
        const uint32_t *order = levels->order + chunk->begin;
        pack_lives(&bytes, blocks, order, chunk->count);
        for (unsigned i = 0; i < chunk->count; i++)
            pack_number(&bytes, blocks->items[order[i]].site);
        tree_append(chunks, chunk_of(chunk, put(data, &bytes)));
    }
    text_free(&bytes);
    return chunks;
}

static json_t *refusal_of(const struct view_history *h)
{
    const struct view_refusal *r = &h->refusal;
    return r->moment ? tree_pack("{s:o, s:o, s:o, s:o}", "at", tree_count(r->moment), "bytes",
                                 tree_count(r->bytes), "requested", tree_count(r->requested),
                                 "name", tree_count(r->name))
                     : json_null();
}

json_t *data_of_history(struct view_data *data, const struct view_history *h,
                        const struct view_levels *levels)
{
    return tree_pack("{s:s, s:o, s:o, s:o, s:b, s:b, s:o, s:o, s:o, s:o, s:o, s:o}", "categories",
                     HOLDER_CATEGORIES, "refusal", refusal_of(h), "first", tree_count(h->first),
                     "last", tree_count(h->last), "has_times", h->has_times, "has_sites",
                     trace_reader_info(h->reader)->knows[TRACE_KNOWS_sites], "names",
                     names_of(data, h), "phase_count", tree_count(h->phase_count), "phases",
                     phases_of(data, h), "summary", summary_of(data, &h->summary), "levels",
                     tree_count(levels->level_count), "blocks",
                     blocks_of(data, &h->blocks, levels));
}

/* ---- a strategy ---- */

/* The largest power of two that all addresses are multiples of. */
static uint64_t unit_of(const struct view_strategy *s)
{
    uint64_t bits = UINT64_C(1) << 30;
    for (unsigned i = 0; i < s->place_count; i++)
        bits |= s->places[i].address == VIEW_NOWHERE ? 0 : s->places[i].address;
    for (unsigned i = 0; i < s->held.count; i++)
        bits |= s->held_addresses[i];
    return bits & -bits;
}

static json_t *strategy_summary(struct view_data *data, const struct view_summary *s,
                                const struct view_strategy_summary *of)
{
    json_t *levels = tree_array();
    struct text bytes = {0};
    for (unsigned l = 0; l < s->level_count; l++) {
        uint64_t granted = 0, reserved = 0;
        for (uint32_t i = 0; i < s->levels[l].count; i++)
            pack_step(&bytes, &granted, of->granted[l][i]);
        for (uint32_t i = 0; i < s->levels[l].count; i++)
            pack_step(&bytes, &reserved, of->reserved[l][i]);
        tree_append(levels, put(data, &bytes));
    }
    text_free(&bytes);
    return levels;
}

static json_t *places_of(struct view_data *data, const struct view_history *h,
                         const struct view_levels *levels, const struct view_strategy *s,
                         uint64_t unit)
{
    json_t *chunks = tree_array();
    struct text bytes = {0};
    for (unsigned c = 0; c < levels->chunk_count; c++) {
        const struct view_chunk *chunk = &levels->chunks[c];
        const uint32_t *order = levels->order + chunk->begin;
        uint64_t before = 0;
        for (unsigned i = 0; i < chunk->count; i++) {
            const uint64_t address = s->places[order[i]].address;
            pack_step(&bytes, &before, address == VIEW_NOWHERE ? 0 : address / unit + 1);
        }
        for (unsigned i = 0; i < chunk->count; i++) {
            const uint64_t granted = s->places[order[i]].granted;
            const uint64_t requested = h->blocks.items[order[i]].bytes;
            pack_number(&bytes, granted > requested ? granted - requested : 0);
        }
        tree_append(chunks, put(data, &bytes));
    }
    text_free(&bytes);
    return chunks;
}

static json_t *held_of(struct view_data *data, const struct view_history *h,
                       const struct view_strategy *s, uint64_t unit)
{
    json_t *chunks = tree_array();
    struct text bytes = {0};
    struct view_levels levels;
    levels_make(&levels, &s->held, h->first, h->last);
    for (unsigned c = 0; c < levels.chunk_count; c++) {
        const struct view_chunk *chunk = &levels.chunks[c];
        const uint32_t *order = levels.order + chunk->begin;
        uint64_t before = 0;
        pack_lives(&bytes, &s->held, order, chunk->count);
        for (unsigned i = 0; i < chunk->count; i++)
            pack_step(&bytes, &before, s->held_addresses[order[i]] / unit);
        tree_append(chunks, chunk_of(chunk, put(data, &bytes)));
    }
    levels_free(&levels);
    text_free(&bytes);
    return chunks;
}

static uint64_t top_of(const struct view_strategy *s)
{
    uint64_t top = 0;
    for (unsigned i = 0; i < s->held.count; i++)
        top = larger(top, s->held_addresses[i] + s->held.items[i].bytes);
    return top;
}

json_t *data_of_strategy(struct view_data *data, const struct view_history *h,
                         const struct view_levels *levels, const char *name,
                         uint64_t measured_bytes, const struct view_strategy *s)
{
    const uint64_t unit = unit_of(s);
    return tree_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s}", "name",
                     tree_text(name), "unit", tree_count(unit), "top", tree_count(top_of(s)),
                     "reserved", tree_count(s->outcome.counts.peak_reserved_bytes), "measured",
                     tree_count_or_null(measured_bytes), "scattered", tree_count(s->scattered),
                     "nowhere", tree_count(s->nowhere), "summary",
                     strategy_summary(data, &h->summary, &s->summary), "blocks",
                     places_of(data, h, levels, s, unit), "cover", cover_to_json(&s->cover), "held",
                     held_of(data, h, s, unit), "words", view_words(name));
}
