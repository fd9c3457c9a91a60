/* Reports which arrays live in a block, and when: a merged program puts several into one. Events of
 * a trace name only blocks, so its listener gets the arrays separately, in a run made for that. */
#include "run/execute/executor.h"

void array_log_one(struct executor *e, int name, bool fresh)
{
    const struct name *n = &e->fun->names[name];
    const struct array_state *a = &e->arrays[name];
    /* Arrays private to a kernel's threads are gone after it. */
    if (n->kind != NAME_ARRAY || n->memory == NO_NAME || n->thread_rank ||
        layout_count(&a->layout) == 0)
        return;
    const int block = e->block_of[n->memory];
    if (block == NO_BLOCK)
        return;
    int64_t first, last;
    layout_range(&a->layout, &first, &last);
    const uint64_t each = element_bytes(n->element);
    run_log_array(e->trace, (unsigned)block, n->text,
                  (uint64_t)first * each - block_offset(&e->blocks[block].block),
                  (uint64_t)(last - first + 1) * each, fresh);
}

static void tell_used(struct executor *e, int name)
{
    if (name != NO_NAME)
        array_log_one(e, name, false);
}

static bool is_out(const struct stm *stm, int name)
{
    for (unsigned o = 0; o < stm->out_count; o++)
        if (stm->outs[o] == name)
            return true;
    return false;
}

/* A kernel uses the arrays that it reads. It uses the previous contents of its outs only if they
 * take them over. */
static void tell_used_by_kernel(struct executor *e, const struct stm *stm)
{
    const struct kernel *k = stm->kernel;
    for (unsigned i = 0; i < k->array_count; i++)
        if (!is_out(stm, k->arrays[i]))
            tell_used(e, k->arrays[i]);
    for (unsigned o = 0; o < stm->out_count; o++)
        tell_used(e, k->taken_over[o]);
}

/* Arrays that are read come first, because filled ones may lie in the same place. */
void array_log_statement(struct executor *e, const struct stm *stm)
{
    switch (stm->kind) {
    case STM_KERNEL:
        tell_used_by_kernel(e, stm);
        break;
    case STM_CONCAT:
        for (unsigned i = 0; i < stm->piece_count; i++)
            tell_used(e, stm->pieces[i].array);
        break;
    case STM_UPDATE:
        tell_used(e, stm->array);
        tell_used(e, stm->value);
        break;
    case STM_ELEMENT:
        tell_used(e, stm->array);
        return;
    case STM_COPY:
    case STM_REPLICATE: /* of an array; else it has none */
        tell_used(e, stm->array);
        break;
    case STM_IOTA:
    case STM_SCRATCH:
        break;
    default:
        return; /* views, and statements that only pass arrays on, move nothing */
    }
    for (unsigned o = 0; o < stm->out_count; o++)
        array_log_one(e, stm->outs[o], true);
}

void array_log_results(struct executor *e)
{
    if (!run_log_has_listener(e->trace))
        return;
    for (unsigned r = 0; r < e->fun->body.result_count; r++)
        tell_used(e, e->fun->body.results[r]);
}
