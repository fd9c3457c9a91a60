/* The passes `spaces` and `spaces_early`: memories move to another space than the device's, where
 * `with=` asks for that.
 *
 *   pinned  A program that asks the device whether to go on reads an element of an array: it waits,
 *           and then copies some bytes. If the array lies in pinned memory of the host, into
 *           which the device writes, the value is there after the wait, and the host loads it.
 *           Kernels reach such memory across a bus, so only small blocks are worth moving.
 *
 * A block stays in its space (the verifier sees to that), and loops and branches pass blocks on. So
 * the unit that moves is a *move set*: all memories that may be one another's block (memory.h).
 *
 * The candidates are the move sets of the arrays of which the host reads an element. One moves if
 *
 *   R7  none of its blocks is the caller's: parameters are in device memory
 *   V2  the sizes of its blocks are known: as numbers, or by a bound that assertions give
 *   P1  none of its blocks is larger than PINNED_BYTES_MAX
 *   P2  for each block: all the others of the move set may move as well
 *
 * The results are right whatever moves: a statement that needs a value waits for it.
 *
 * `spaces` is the last pass of every set: blocks that earlier passes have merged move together or
 * stay together. Alone, it would nearly always leave an array that the host reads where it is,
 * because `reuse` or `plan` has put it into a large block. So `spaces_early` runs before these two;
 * they leave moved blocks alone (R8). It runs after `coalesce`, which can then remove all the
 * copies that it could without extensions.
 */
#include <stdlib.h>

#include "merge/analysis.h"
#include "merge/list.h"

enum { PINNED_BYTES_MAX = 4096 }; /* a page: room for flags and counters, not for data */

struct mover {
    struct analysis a;
    struct numbers *numbers; /* without what the program reads */
    int *set;                /* by memory name: another one of its move set, or itself; a forest */
    bool early;              /* blocks that stay are not noted: `spaces` tries them again */
    struct expr *largest;    /* PINNED_BYTES_MAX */
};

static struct name *moved_name(const struct mover *p, int name)
{
    return &p->a.m->fun->names[name];
}

/* ---- move sets ------------------------------------------------------------------------------ */

/* The root of the move set that `memory` is in. */
static int set_of(const struct mover *p, int memory)
{
    while (p->set[memory] != memory)
        memory = p->set[memory] = p->set[p->set[memory]];
    return memory;
}

static void find_sets(struct mover *p)
{
    const unsigned names = p->a.m->fun->name_count;
    p->set = must_alloc((names + 1) * sizeof *p->set);
    for (unsigned n = 0; n < names; n++)
        p->set[n] = (int)n;
    for (unsigned n = 0; n < names; n++) {
        const struct memory *of = &p->a.map->of[n];
        for (unsigned i = 0; i < of->actual_count; i++)
            p->set[set_of(p, of->actuals[i])] = set_of(p, (int)n);
    }
}

/* Notes that a block moves, or why it stays. */
static void note_move(struct mover *p, int block, enum merge_condition refused, const char *detail)
{
    const struct stm *alloc = p->a.map->of[block].alloc;
    merge_note(p->a.m, &(struct merge_event){.action = MERGE_MOVED,
                                             .refused = refused,
                                             .at = alloc ? alloc->at : moved_name(p, block)->at,
                                             .array = NO_NAME,
                                             .from = block,
                                             .into = NO_NAME,
                                             .space = SPACE_PINNED,
                                             .detail = detail});
}

/* ---- moving --------------------------------------------------------------------------------- */

/* The reason that a block cannot move, whatever the other blocks do; or MERGE_ALLOWED. */
static enum merge_condition pinned_refuses(struct mover *p, int block)
{
    const struct memory *of = &p->a.map->of[block];
    const int64_t bytes = p->numbers->bytes[block];
    if (of->kind == MEMORY_PARAMETER)
        return merge_checks(p->a.m, CONDITION_foreign) ? CONDITION_foreign : MERGE_ALLOWED;
    if (bytes != UNKNOWN_BYTES)
        return bytes <= PINNED_BYTES_MAX ? MERGE_ALLOWED : CONDITION_too_large;
    if (analysis_enough_bytes(&p->a, p->largest, of->alloc->expr, of->position))
        return MERGE_ALLOWED;
    return p->numbers->reached[block] ? CONDITION_unknown_size : CONDITION_untaken;
}

/* A block of the move set that cannot move, or NO_NAME. */
static int pinned_obstacle(struct mover *p, int set)
{
    for (unsigned b = 0; b < p->a.map->block_count; b++) {
        int block = p->a.map->blocks[b];
        if (set_of(p, block) == set && pinned_refuses(p, block))
            return block;
    }
    return NO_NAME;
}

static const char *pinned_detail(struct mover *p, enum merge_condition refused, int read, int other)
{
    struct arena *arena = &p->a.m->program->arena;
    return refused == CONDITION_shared
               ? arena_printf(arena, "'%s'", moved_name(p, other)->text)
               : arena_printf(arena, "the host reads '%s'", moved_name(p, read)->text);
}

/* Moves every block grouped with the array `read`; if P2 is disabled (tests), the movable ones. */
static void move_pinned(struct mover *p, int read)
{
    const int set = set_of(p, moved_name(p, read)->memory), other = pinned_obstacle(p, set);
    for (unsigned n = 0; n < p->a.o->name_count; n++) {
        const struct memory *of = &p->a.map->of[n];
        if (moved_name(p, (int)n)->kind != NAME_MEMORY || set_of(p, (int)n) != set)
            continue;
        if (of->kind == MEMORY_EXISTENTIAL) {
            if (other == NO_NAME)
                moved_name(p, (int)n)->space = SPACE_PINNED;
            continue;
        }
        enum merge_condition refused = pinned_refuses(p, (int)n);
        if (!refused && other != NO_NAME && merge_checks(p->a.m, CONDITION_shared))
            refused = CONDITION_shared;
        if (!refused || !p->early)
            note_move(p, (int)n, refused, pinned_detail(p, refused, read, other));
        if (!refused)
            moved_name(p, (int)n)->space = SPACE_PINNED;
    }
}

static void move_read_by_host(struct mover *p)
{
    bool *done = must_alloc(p->a.o->name_count + 1); /* by move set */
    for (unsigned position = 0; position < p->a.o->position_count; position++) {
        const struct stm *s = p->a.o->at[position];
        if (!s || s->kind != STM_ELEMENT)
            continue;
        const int memory = moved_name(p, s->array)->memory, set = set_of(p, memory);
        if (done[set] || moved_name(p, memory)->space != SPACE_DEVICE)
            continue;
        done[set] = true;
        move_pinned(p, s->array);
    }
    free(done);
}

/* ---- the passes ----------------------------------------------------------------------------- */

static void move_all(struct merge *m, bool early)
{
    struct mover p = {.early = early};
    if (!merge_extends(m, EXTENSION_pinned))
        return;
    analysis_open(&p.a, m, MEMORY_BY_BRANCH);
    p.numbers = numbers_new(m->fun, m->options.values, NULL);
    p.largest = expr_constant(m->program, PINNED_BYTES_MAX);
    find_sets(&p);
    move_read_by_host(&p);
    free(p.set);
    numbers_free(p.numbers);
    analysis_close(&p.a);
}

int merge_run_spaces_early(struct merge *m)
{
    move_all(m, true);
    return 0;
}

int merge_run_spaces(struct merge *m)
{
    move_all(m, false);
    return 0;
}
