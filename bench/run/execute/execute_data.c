/* What goes into a run and comes out of it. */
#include <stdlib.h>
#include <string.h>

#include "run/execute/executor.h"

static int begin_param(struct executor *e, int param, const struct arguments *arguments)
{
    const struct name *n = &e->fun->names[param];
    if (n->kind == NAME_MEMORY)
        return blocks_alloc(e, param, n->bytes, n->at);
    const struct named_value *value = argument(arguments, n->text);
    if (!value && e->lacks && n->kind == NAME_SCALAR) {
        e->lacks[param] = param;
        return 0;
    }
    if (!value && !e->lacks)
        return error_set(e->error, ERR_USAGE, "%s needs a value for '%s'", e->fun->name, n->text);
    if (n->kind == NAME_SCALAR) {
        e->values[param] = value->scalar;
        return 0;
    }
    int code = execute_bind_array(e, param);
    if (code)
        return code;
    const struct array_state *a = &e->arrays[param];
    if (!layout_contiguous(&a->layout))
        return execute_fail(e, n->at, "the parameter '%s' must be row-major", n->text);
    size_t bytes = element_bytes(n->element);
    if (!e->lacks && value->array.count != (size_t)layout_count(&a->layout))
        return execute_fail(e, n->at, "'%s' has %lld elements, its value %zu", n->text,
                            (long long)layout_count(&a->layout), value->array.count);
    if (!n->unique) { /* the caller keeps it, so it lives as long as the run */
        int b = e->block_of[n->memory];
        blocks_add_reference(e, b);
    }
    if (e->lacks)
        return 0;
    trace_begin_call(e->trace);
    code = e->device->ops->write(e->device, a->memory, (uint64_t)a->layout.offset * bytes,
                                 value->array.data, value->array.count * bytes, e->error);
    trace_write(e->trace, a->memory, value->array.count * bytes);
    if (trace_has_listener(e->trace))
        tenants_tell_array(e, param, true);
    return code;
}

int executor_begin(struct executor *e, struct allocator *const allocators[SPACES],
                   const struct arguments *arguments, bool poison, struct error *error)
{
    memcpy(e->allocators, allocators, sizeof e->allocators);
    e->poison = poison;
    e->error = error;
    e->counts = (struct executor_counts){0};
    e->arguments = arguments;
    e->dry_iterations = 0;
    for (unsigned n = 0; e->lacks && n < e->fun->name_count; n++) {
        e->lacks[n] = NO_NAME;
        e->reads[n] = 0;
    }
    int code = 0;
    /* Scalars first: the sizes of the others mention them. */
    for (unsigned pass = 0; pass < 2; pass++)
        for (unsigned i = 0; i < e->fun->param_count && !code; i++) {
            bool scalar = e->fun->names[e->fun->params[i]].kind == NAME_SCALAR;
            if (scalar == (pass == 0))
                code = begin_param(e, e->fun->params[i], arguments);
        }
    return code || !e->deferred ? code : e->deferred->ops->begin(e);
}

/* Reads all elements between the first and the last and picks out those of the array. */
static int read_array(struct executor *e, int name, struct host_array *out)
{
    const struct layout *l = &e->arrays[name].layout;
    size_t bytes = element_bytes(e->fun->names[name].element);
    out->count = (size_t)layout_count(l);
    out->data = must_alloc(out->count * bytes);
    if (out->count == 0)
        return 0;
    int64_t first, last;
    layout_range(l, &first, &last);
    if (layout_contiguous(l))
        return e->device->ops->read(e->device, out->data, e->arrays[name].memory,
                                    (uint64_t)first * bytes, out->count * bytes, e->error);
    char *all = must_alloc((size_t)(last - first + 1) * bytes);
    int code = e->device->ops->read(e->device, all, e->arrays[name].memory, (uint64_t)first * bytes,
                                    (size_t)(last - first + 1) * bytes, e->error);
    for (size_t i = 0; i < out->count && !code; i++) {
        int64_t rest = (int64_t)i, element = l->offset;
        for (unsigned d = l->rank; d-- > 0; rest /= l->shape[d])
            element += rest % l->shape[d] * l->stride[d];
        memcpy((char *)out->data + i * bytes, all + (size_t)(element - first) * bytes, bytes);
    }
    free(all);
    return code;
}

int executor_results(struct executor *e, struct host_array *results, struct error *error)
{
    e->error = error;
    const struct body *body = &e->fun->body;
    int code = 0;
    for (unsigned r = 0; r < body->result_count; r++) {
        int name = body->results[r];
        const struct name *n = &e->fun->names[name];
        struct host_array *out = &results[r];
        *out = (struct host_array){.element = n->element, .rank = n->rank, .count = 1};
        if (code)
            continue;
        if (n->kind == NAME_SCALAR)
            code = execute_need(e, name);
        else if (blocks_in_heap(e, n->memory))
            code = execute_bind_array(e, name);
        if (code)
            continue;
        if (n->kind == NAME_ARRAY) {
            memcpy(out->shape, e->arrays[name].layout.shape, sizeof out->shape);
            code = read_array(e, name, out);
        } else {
            out->data = must_alloc(sizeof(union scalar));
            memcpy(out->data, &e->values[name], element_bytes(n->element));
        }
    }
    return code;
}

void executor_end(struct executor *e)
{
    blocks_free_all(e);
    if (e->deferred)
        e->deferred->ops->end(e);
}
