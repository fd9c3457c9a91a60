/* Blocks, writes and their numbers, and what is said where they do not fit. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "tests/program/shadow_machine.h"

/* ---- saying so ------------------------------------------------------------------------------ */

int shadow_fail(struct machine *m, struct source_position at, const char *format, ...)
{
    char message[500];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return program_error(m->program, m->error, ERR_PROGRAM, at, "%s", message);
}

const char *shadow_violation_name(enum shadow_violation violation)
{
    static const char *const names[] = {
#define X(name, text) text,
        SHADOW_VIOLATION_LIST(X)
#undef X
    };
    return names[violation];
}

bool shadow_checks(const struct machine *m, enum shadow_violation violation)
{
    return !(m->options->unchecked >> violation & 1);
}

void shadow_violate(struct machine *m, enum shadow_violation violation, int array,
                    const char *format, ...)
{
    struct shadow_outcome *out = m->out;
    if (!shadow_checks(m, violation))
        return;
    bool again = out->violations[violation] && m->last_told[violation] == array &&
                 m->last_line[violation] == m->line;
    out->violation_count++;
    out->violations[violation]++;
    if (again || out->text_count == SHADOW_TEXTS)
        return;
    m->last_told[violation] = array;
    m->last_line[violation] = m->line;
    char message[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    out->texts[out->text_count++] =
        arena_printf(&out->arena, "%s:%u: %s%s%s%s: %s", m->program->path, m->line,
                     m->kernel ? "kernel '" : "", m->kernel ? m->kernel : "",
                     m->kernel ? "': " : "", shadow_violation_name(violation), message);
}

/* "x[1, 2]" */
static const char *element_text(struct machine *m, int array, int64_t flat, char text[200])
{
    const struct shadow_array *a = &m->arrays[array];
    int64_t index[RANK_MAX];
    int length = snprintf(text, 100, "%s[", m->fun->names[array].text);
    shadow_indices(a, flat, index);
    for (unsigned d = 0; d + a->threads < a->rank && length < 150; d++)
        length += snprintf(text + length, 200 - (size_t)length, "%s%lld", d ? ", " : "",
                           (long long)index[d]);
    snprintf(text + length, 200 - (size_t)length, "]");
    return text;
}

/* ---- expressions ---------------------------------------------------------------------------- */

int shadow_evaluate(struct machine *m, const struct expr *expr, union scalar *value)
{
    return expr_evaluate(m->program, expr, m->values, value, m->error);
}

int shadow_size(struct machine *m, const struct expr *expr, int64_t *size)
{
    union scalar value;
    TRY(shadow_evaluate(m, expr, &value));
    *size = value.i64;
    return 0;
}

/* ---- blocks and arrays ---------------------------------------------------------------------- */

int shadow_alloc(struct machine *m, int name, int64_t bytes, struct source_position at)
{
    const int64_t most = (int64_t)1 << 28;
    if (bytes < 0 || bytes > most)
        return shadow_fail(m, at, "a block of %lld bytes; the shadow machine takes 0 to %lld",
                           (long long)bytes, (long long)most);
    if (m->block_count == m->block_capacity) {
        m->block_capacity = m->block_capacity ? m->block_capacity * 2 : 32;
        m->blocks = must_realloc(m->blocks, m->block_capacity * sizeof *m->blocks);
    }
    struct block *b = &m->blocks[m->block_count];
    *b = (struct block){.name = name, .size = bytes};
    b->bytes = arena_alloc(&m->arena, (size_t)bytes);
    b->ids = arena_alloc(&m->arena, (size_t)bytes * sizeof *b->ids);
    memset(b->bytes, (int)(0xa5 ^ random_mix(m->options->seed)), (size_t)bytes);
    m->block_of[name] = (int)m->block_count++;
    m->out->alloc_count++;
    m->out->alloc_bytes += (uint64_t)bytes;
    return 0;
}

static int bind_layout(struct machine *m, const struct name *n, struct shadow_array *a)
{
    *a = (struct shadow_array){
        .rank = n->thread_rank + n->rank, .threads = n->thread_rank, .count = 1};
    for (unsigned d = 0; d < n->rank; d++) {
        int64_t *size = &a->shape[n->thread_rank + d];
        TRY(shadow_size(m, n->shape[d], size));
        if (*size < 0 || __builtin_mul_overflow(a->count, *size, &a->count))
            return shadow_fail(m, n->at, "dimension %u of '%s' has size %lld", d, n->text,
                               (long long)*size);
    }
    if (n->index.offset)
        TRY(shadow_size(m, n->index.offset, &a->offset));
    int64_t stride = 1;
    for (unsigned d = a->rank; d-- > 0;) {
        a->stride[d] = stride;
        stride *= a->shape[d];
        if (n->index.offset)
            TRY(shadow_size(m, n->index.stride[d], &a->stride[d]));
    }
    return 0;
}

int shadow_bind(struct machine *m, int name)
{
    const struct name *n = &m->fun->names[name];
    struct shadow_array *a = &m->arrays[name];
    TRY(bind_layout(m, n, a));
    a->block = n->memory == NO_NAME ? NO_BLOCK : m->block_of[n->memory];
    if (a->block == NO_BLOCK)
        return shadow_fail(m, n->at, "'%s' is in a block that is not allocated", n->text);
    if (n->thread_rank || a->count == 0)
        return 0;
    int64_t first = a->offset, last = a->offset;
    for (unsigned d = 0; d < a->rank; d++) {
        int64_t reach = (a->shape[d] - 1) * a->stride[d];
        *(reach < 0 ? &first : &last) += reach;
    }
    const struct block *b = &m->blocks[a->block];
    if (first < 0 || last >= b->size / (int64_t)element_bytes(n->element))
        shadow_violate(m, SHADOW_OUTSIDE, name,
                       "'%s' reaches from element %lld to %lld of block '%s' of %lld bytes",
                       n->text, (long long)first, (long long)last, m->fun->names[b->name].text,
                       (long long)b->size);
    return 0;
}

uint32_t *shadow_ids(struct machine *m, int64_t count)
{
    return arena_alloc(&m->arena, (size_t)count * sizeof(uint32_t));
}

uint32_t shadow_new_write(struct machine *m, int name)
{
    if (m->write_count == m->write_capacity) {
        m->write_capacity = m->write_capacity ? m->write_capacity * 2 : 1024;
        m->writes = must_realloc(m->writes, m->write_capacity * sizeof *m->writes);
        if (!m->write_count)
            m->write_count = 1; /* 0 is nobody's */
    }
    m->writes[m->write_count] = (struct write){name, m->line};
    return m->write_count++;
}

void shadow_indices(const struct shadow_array *a, int64_t flat, int64_t *index)
{
    for (unsigned d = a->rank; d-- > a->threads;) {
        index[d - a->threads] = flat % a->shape[d];
        flat /= a->shape[d];
    }
}

int64_t shadow_element(const struct shadow_array *a, int64_t flat)
{
    int64_t element = a->offset;
    for (unsigned d = a->rank; d-- > 0; flat /= a->shape[d])
        element += flat % a->shape[d] * a->stride[d];
    return element;
}

/* ---- reads and writes ----------------------------------------------------------------------- */

unsigned char *shadow_bytes(struct machine *m, int array, int64_t element, uint32_t **ids)
{
    const struct name *n = &m->fun->names[array];
    struct block *b = &m->blocks[m->arrays[array].block];
    int64_t bytes = (int64_t)element_bytes(n->element);
    if (element < 0 || element >= b->size / bytes) {
        shadow_violate(
            m, SHADOW_OUTSIDE, array, "element %lld of block '%s' of %lld bytes, by way of '%s'",
            (long long)element, m->fun->names[b->name].text, (long long)b->size, n->text);
        return NULL;
    }
    *ids = b->ids + element * bytes;
    return b->bytes + element * bytes;
}

void shadow_compare(struct machine *m, int array, int64_t flat, int64_t element)
{
    uint32_t *ids, id = m->arrays[array].ids[flat];
    unsigned bytes = (unsigned)element_bytes(m->fun->names[array].element), same = 0;
    if (!shadow_bytes(m, array, element, &ids))
        return;
    while (same < bytes && ids[same] == id)
        same++;
    if (same == bytes || !shadow_checks(m, SHADOW_STALE))
        return;
    char text[200];
    const struct block *b = &m->blocks[m->arrays[array].block];
    const struct write *made = &m->writes[id], *there = &m->writes[ids[same]];
    shadow_violate(m, SHADOW_STALE, array,
                   "%s was given to '%s' in line %u, but byte %lld of block '%s' holds what %s%s%s "
                   "in line %u",
                   element_text(m, array, flat, text), m->fun->names[made->name].text, made->line,
                   (long long)(element * bytes + same), m->fun->names[b->name].text,
                   ids[same] ? "was given to '" : "nobody wrote",
                   ids[same] ? m->fun->names[there->name].text : "", ids[same] ? "'" : "",
                   ids[same] ? there->line : 0);
}

void shadow_read(struct machine *m, int array, int64_t flat, int64_t element, void *value)
{
    uint32_t *ids;
    char text[200];
    size_t bytes = element_bytes(m->fun->names[array].element);
    if (!m->arrays[array].ids[flat])
        shadow_violate(m, SHADOW_UNWRITTEN, array, "%s", element_text(m, array, flat, text));
    else
        shadow_compare(m, array, flat, element);
    const unsigned char *from = shadow_bytes(m, array, element, &ids);
    if (from)
        memcpy(value, from, bytes);
    else
        memset(value, 0, bytes);
}

void shadow_write(struct machine *m, int array, int64_t flat, int64_t element, const void *value,
                  uint32_t id)
{
    uint32_t *ids;
    size_t bytes = element_bytes(m->fun->names[array].element);
    unsigned char *to = shadow_bytes(m, array, element, &ids);
    m->arrays[array].ids[flat] = id;
    if (!to)
        return;
    memcpy(to, value, bytes);
    for (size_t i = 0; i < bytes; i++)
        ids[i] = id;
}

void shadow_same_place(struct machine *m, int name, const struct shadow_array *a,
                       const struct shadow_array *b, const char *what)
{
    const char *text = m->fun->names[name].text;
    if (a->count != b->count) {
        shadow_violate(m, SHADOW_MISPLACED, name, "'%s' has %lld elements, %s %lld", text,
                       (long long)a->count, what, (long long)b->count);
        return;
    }
    if (a->count == 0)
        return;
    if (a->block != b->block) {
        shadow_violate(m, SHADOW_MISPLACED, name, "'%s' is in another block than %s", text, what);
        return;
    }
    for (int64_t i = 0; i < a->count; i++)
        if (shadow_element(a, i) != shadow_element(b, i)) {
            shadow_violate(m, SHADOW_MISPLACED, name,
                           "element %lld of '%s' lies at %lld of its block, that of %s at %lld",
                           (long long)i, text, (long long)shadow_element(a, i), what,
                           (long long)shadow_element(b, i));
            return;
        }
}

const uint32_t *shadow_order(struct machine *m, int64_t count)
{
    uint32_t *order = arena_alloc(&m->arena, (size_t)count * sizeof *order);
    struct random r = {random_split(m->options->seed, m->launch)};
    bool down = m->options->order == SHADOW_DESCENDING;
    for (int64_t i = 0; i < count; i++)
        order[i] = (uint32_t)(down ? count - 1 - i : i);
    if (m->options->order == SHADOW_SHUFFLED)
        for (int64_t i = count; i > 1; i--) {
            int64_t j = (int64_t)random_below(&r, (uint64_t)i);
            uint32_t swap = order[i - 1];
            order[i - 1] = order[j];
            order[j] = swap;
        }
    return order;
}
