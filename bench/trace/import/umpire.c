/* The replay file of Umpire (UMPIRE_REPLAY=On), one JSON object a line, in either form:
 *
 *     { "kind":"replay", "uid":27494, "timestamp":1558388052211477678, "event": "allocate",
 *       "payload": { "allocator_ref": "0x101b2c90", "size": 128 },
 *       "result": { "memory_ptr": "0x101b2e60" } }
 *     {"category":"operation","name":"allocate","numeric_args":{"size":128},"string_args":{
 *      "allocator_ref":"0x10210640","pointer":"0x102219d0"},"timestamp":1656026907658189775}
 *
 * A memory resource (HOST, DEVICE, PINNED, UM) is a device with a trace of its own. Every allocator
 * on it is a private pool, since Umpire's pools do not share memory; an allocator on an allocator,
 * such as a lock around a pool, asks the one below. The old form logs a call where it begins and
 * again, with its result, where it ends: the second counts. Lines that begin with # are comments,
 * as in the logs of Umpire's tutorial.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/tree.h"
#include "trace/import.h"

struct allocator {
    uint64_t reference;
    char name[64], resource[64];
    unsigned pool; /* 0: the resource itself */
};

struct umpire {
    struct import *log;
    uint64_t first_ns;
    bool began;
    unsigned pools;
    struct allocator *allocators;
    json_t *indices; /* of the last allocator with a reference, or a name after "=" */
    unsigned count, capacity;
    struct {
        uint64_t pointer, size;
        unsigned inner_calls; /* calls that it has made so far */
    } reallocate;             /* the last one */
};

/* A line, in the words of both forms. */
struct call {
    const char *name;
    json_t *arguments[3];    /* payload, result; or string_args, numeric_args, tags */
    bool is_old, has_result; /* the old form; it has ended */
};

static json_t *argument(const struct call *call, const char *name)
{
    json_t *value = NULL;
    for (int i = 0; i < 3 && !value; i++)
        value = json_object_get(call->arguments[i], name);
    return value;
}

/* A pointer or reference, a text such as "0x101b2e60"; 0: there is none. */
static uint64_t pointer_of(const struct call *call, const char *name)
{
    const char *text = json_string_value(argument(call, name));
    return text ? strtoull(text, NULL, 16) : 0;
}

static int size_of(const struct umpire *u, const struct call *call, uint64_t *size,
                   struct error *error)
{
    const json_t *value = argument(call, "size");
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return import_error(u->log, error, "%s: expected a number for 'size'", call->name);
    *size = (uint64_t)json_integer_value(value);
    return 0;
}

/* ---- allocators ---- */

static const struct allocator *find_allocator(const struct umpire *u, uint64_t reference)
{
    char key[32];
    snprintf(key, sizeof key, "%" PRIx64, reference);
    const json_t *index = json_object_get(u->indices, key);
    return index ? &u->allocators[json_integer_value(index)] : NULL;
}

static const struct allocator *find_name(const struct umpire *u, const char *name)
{
    char key[sizeof u->allocators->name + 1];
    const json_t *index = NULL;
    if (snprintf(key, sizeof key, "=%s", name) < (int)sizeof key)
        index = json_object_get(u->indices, key);
    return index ? &u->allocators[json_integer_value(index)] : NULL;
}

/* The first text in the arguments that names another allocator, or is its reference: the one
 * below. */
static const struct allocator *allocator_below(const struct umpire *u, const json_t *value,
                                               const struct allocator *itself, unsigned depth)
{
    const char *key, *text = json_string_value(value);
    json_t *member;
    size_t i;
    if (text && strcmp(text, itself->name) == 0)
        return NULL;
    if (text) {
        const uint64_t reference = strncmp(text, "0x", 2) == 0 ? strtoull(text, NULL, 16) : 0;
        return reference == 0                   ? find_name(u, text)
               : reference != itself->reference ? find_allocator(u, reference)
                                                : NULL;
    }
    const struct allocator *found = NULL;
    if (depth && json_is_array(value))
        json_array_foreach(value, i, member) found =
            found ? found : allocator_below(u, member, itself, depth - 1);
    else if (depth && json_is_object(value))
        json_object_foreach((json_t *)value, key, member) found =
            found ? found : allocator_below(u, member, itself, depth - 1);
    return found;
}

static void add_allocator(struct umpire *u, const struct call *call, uint64_t reference,
                          bool is_resource)
{
    struct allocator made = {.reference = reference};
    const char *name = json_string_value(argument(call, "name"));
    name = name ? name : json_string_value(argument(call, "allocator_name"));
    snprintf(made.name, sizeof made.name, "%s", name ? name : "");
    const struct allocator *below = NULL;
    for (int i = 0; i < 3 && !below && !is_resource; i++)
        below = allocator_below(u, call->arguments[i], &made, 4);
    snprintf(made.resource, sizeof made.resource, "%s",
             is_resource && name ? name
             : below             ? below->resource
                                 : "unknown");
    made.pool = is_resource ? 0 : below && below->pool ? below->pool : ++u->pools;
    u->allocators = must_grow(u->allocators, u->count, &u->capacity, sizeof *u->allocators);
    char key[32], named[sizeof made.name + 1];
    snprintf(key, sizeof key, "%" PRIx64, reference);
    snprintf(named, sizeof named, "=%s", made.name);
    json_object_set_new_nocheck(u->indices, key, tree_count(u->count));
    json_object_set_new_nocheck(u->indices, named, tree_count(u->count));
    u->allocators[u->count++] = made;
}

/* ---- blocks ---- */

static uint64_t since_first(struct umpire *u, const json_t *line)
{
    const json_t *value = json_object_get(line, "timestamp");
    const uint64_t ns = json_is_integer(value) ? (uint64_t)json_integer_value(value) : 0;
    if (!u->began && ns) {
        u->first_ns = ns;
        u->began = true;
    }
    return ns > u->first_ns ? ns - u->first_ns : 0;
}

/* The trace of an allocator's resource. *pool: its private pool. */
static int stream_of(struct umpire *u, uint64_t reference, struct import_stream **stream,
                     unsigned *pool, struct error *error)
{
    struct trace_info info = {.source = "Umpire replay", .time_unit_ns = 1};
    const struct allocator *a = find_allocator(u, reference);
    snprintf(info.device, sizeof info.device, "%s", a ? a->resource : "unknown");
    info.knows[TRACE_KNOWS_times] = info.knows[TRACE_KNOWS_frees] = true;
    info.knows[TRACE_KNOWS_addresses] = info.knows[TRACE_KNOWS_pools] = true;
    *pool = a ? a->pool : 0;
    return import_stream(u->log, info.device, &info, stream, error);
}

static int add_alloc(struct umpire *u, const struct call *call, uint64_t pointer, uint64_t size,
                     uint64_t time_ns, struct error *error)
{
    struct import_stream *stream;
    struct trace_event e = {
        .kind = TRACE_alloc, .bytes = size, .time_ns = time_ns, .address = pointer};
    TRY(stream_of(u, pointer_of(call, "allocator_ref"), &stream, &e.pool, error));
    e.queue = trace_queue(import_writer(stream), "0");
    import_alloc(stream, pointer, &e);
    return 0;
}

static int add_free(struct umpire *u, const struct call *call, uint64_t pointer, uint64_t time_ns,
                    struct error *error)
{
    struct import_stream *stream;
    unsigned pool;
    TRY(stream_of(u, pointer_of(call, "allocator_ref"), &stream, &pool, error));
    struct trace_event e = {
        .kind = TRACE_free, .time_ns = time_ns, .queue = trace_queue(import_writer(stream), "0")};
    import_free(stream, pointer, &e);
    return 0;
}

/* A block that grows or shrinks. If that takes an allocate and a deallocate, they are logged
 * between its begin and its end. */
static int read_reallocate(struct umpire *u, const struct call *call, uint64_t time_ns,
                           struct error *error)
{
    const uint64_t new_pointer = pointer_of(call, call->is_old ? "memory_ptr" : "new_ptr");
    const uint64_t old_pointer = pointer_of(call, call->is_old ? "ptr" : "current_ptr");
    if (!new_pointer) { /* its begin */
        u->reallocate.pointer = old_pointer;
        u->reallocate.inner_calls = 0;
        return size_of(u, call, &u->reallocate.size, error);
    }
    if (u->reallocate.inner_calls || !u->reallocate.pointer)
        return 0;
    TRY(add_free(u, call, u->reallocate.pointer, time_ns, error));
    return add_alloc(u, call, new_pointer, u->reallocate.size, time_ns, error);
}

static int read_call(struct umpire *u, const struct call *call, uint64_t time_ns,
                     struct error *error)
{
    const char *name = call->name;
    const bool allocates = strcmp(name, "allocate") == 0;
    uint64_t pointer = pointer_of(call, "memory_ptr");
    pointer = pointer ? pointer : pointer_of(call, "pointer");
    if (allocates || strcmp(name, "deallocate") == 0) {
        uint64_t size = 0;
        if (allocates && !call->has_result)
            return 0;
        u->reallocate.inner_calls++;
        if (!pointer)
            return import_error(u->log, error, "%s: expected a pointer as 0x101b2e60", name);
        if (!allocates)
            return add_free(u, call, pointer, time_ns, error);
        TRY(size_of(u, call, &size, error));
        return add_alloc(u, call, pointer, size, time_ns, error);
    }
    if (strcmp(name, "reallocate") == 0)
        return read_reallocate(u, call, time_ns, error);
    const bool resource =
        strcmp(name, "makeMemoryResource") == 0 || strcmp(name, "make_memory_resource") == 0;
    const bool allocator =
        strcmp(name, "makeAllocator") == 0 || strcmp(name, "make_allocator") == 0;
    if ((resource || allocator) && call->has_result) {
        uint64_t reference = pointer_of(call, "result");
        reference = reference ? reference : pointer_of(call, "allocator_ref");
        if (reference)
            add_allocator(u, call, reference, resource);
    }
    return 0;
}

static int read_line(struct umpire *u, const char *line, struct error *error)
{
    json_error_t where;
    json_t *json = json_loads(line, JSON_DISABLE_EOF_CHECK, &where);
    if (!json_is_object(json)) {
        json_decref(json);
        return import_error(u->log, error, "expected an object of JSON: column %d: %s",
                            where.column, where.text);
    }
    json_t *result = json_object_get(json, "result");
    const bool is_old = json_object_get(json, "event") != NULL;
    struct call call = {.name = json_string_value(json_object_get(json, is_old ? "event" : "name")),
                        .is_old = is_old,
                        .has_result = !is_old || result};
    json_t *results = NULL;
    if (is_old) {
        call.arguments[0] = json_object_get(json, "payload");
        results =
            json_is_object(result) ? json_incref(result) : json_pack("{sO*}", "result", result);
        call.arguments[1] = results;
    } else {
        call.arguments[0] = json_object_get(json, "string_args");
        call.arguments[1] = json_object_get(json, "numeric_args");
        call.arguments[2] = json_object_get(json, "tags");
    }
    int code = call.name ? read_call(u, &call, since_first(u, json), error)
                         : import_error(u->log, error, "expected an 'event' or a 'name'");
    json_decref(results);
    json_decref(json);
    return code;
}

int import_umpire(struct import *log, struct error *error)
{
    struct umpire u = {.log = log, .indices = tree_object()};
    char *line;
    int more, code = 0;
    while (!code && (more = import_line(log, &line, error)) != 0)
        code = more < 0 ? more : *line && *line != '#' ? read_line(&u, line, error) : 0;
    json_decref(u.indices);
    free(u.allocators);
    return code;
}
