/* Kernels for GPUs: one thread an item of the index space, guarded in x.
 *
 * Where the arrays of a launch are apart, a thread of a short kernel computes a batch of neighbours
 * in y instead. One load of 4 bytes at a time in each of the threads that a GPU can hold is too
 * little to keep its memory busy, and much of a short thread's time goes to its start: on an H200 a
 * 5-point stencil reaches 69 % of the rate of a copy with one item a thread, and 97 % with four.
 * Full batches are not guarded item by item: a guard keeps the loads of one item behind the stores
 * of the one before (82 %). Neighbours in y and not in x, so that threads side by side still touch
 * words side by side.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "program/generate_parts.h"

enum {
    BATCH = 4,
    /* Bodies with more accesses have loads enough of their own, and would run out of registers. */
    BATCH_ACCESSES_MAX = 12,
    BORDER = 2, /* how far bodies look past their own index, mostly */
};

/* The scalar that is the extent of dimension d and is used in the body, or NO_NAME: the compiler
 * may know that they are the same. */
static int extent_scalar(const struct kernel *k, unsigned d)
{
    if (k->extents[d]->op != EXPR_NAME)
        return NO_NAME;
    for (unsigned e = 0; e < d; e++)
        if (k->extents[e]->op == EXPR_NAME && k->extents[e]->name == k->extents[d]->name)
            return NO_NAME;
    for (unsigned i = 0; i < k->scalar_count; i++)
        if (k->scalars[i] == k->extents[d]->name)
            return k->scalars[i];
    return NO_NAME;
}

bool gpu_is_extent(const struct kernel *k, int scalar)
{
    for (unsigned d = 0; d < k->rank; d++)
        if (extent_scalar(k, d) == scalar)
            return true;
    return false;
}

static bool has_loop(const char *text, size_t length)
{
    for (size_t i = 0; i < length;) {
        size_t word = 0, skipped = c_literal_length(text + i);
        while (i + word < length &&
               (isalnum((unsigned char)text[i + word]) || text[i + word] == '_'))
            word++;
        if ((word == 3 && memcmp(text + i, "for", 3) == 0) ||
            (word == 5 && memcmp(text + i, "while", 5) == 0) ||
            (word == 2 && memcmp(text + i, "do", 2) == 0))
            return true;
        i += skipped ? skipped : word ? word : 1;
    }
    return false;
}

unsigned gpu_batch(const struct kernel *k)
{
    bool is_short =
        !k->group_items && k->access_count <= BATCH_ACCESSES_MAX && !has_loop(k->text, k->length);
    return is_short ? BATCH : 1;
}

/* Declares the indices of all but the two innermost dimensions, which share z. Returns whether a
 * brace was opened. */
static bool emit_outer_indices(struct generator *g, const struct source *s)
{
    const struct kernel *k = s->kernel;
    if (k->rank < 3)
        return false;
    text_add(&g->out, "i64 gamut_z = gamut_e0");
    for (unsigned d = 1; d + 2 < k->rank; d++)
        text_add(&g->out, " * gamut_e%u", d);
    text_add(&g->out, ";\nGAMUT_FOR(gamut_q, GAMUT_Z, gamut_z) {\n");
    emit_indices(g, s, k->rank - 2);
    return true;
}

/* One item a thread. */
static void emit_item(struct generator *g, const struct source *s)
{
    const struct kernel *k = s->kernel;
    const char *inner = name_at(s, k->indices[k->rank - 1])->text;
    unsigned braces = emit_outer_indices(g, s);
    if (k->rank >= 2) {
        text_add(&g->out,
                 "GAMUT_FOR(gamut_y, GAMUT_Y, gamut_e%u) {\nconst i32 %s = (i32)gamut_y;\n",
                 k->rank - 2, name_at(s, k->indices[k->rank - 2])->text);
        braces++;
    }
    text_add(&g->out, "const i32 %s = (i32)GAMUT_X;\nif (%s < (GAMUT_INT)gamut_e%u)\n", inner,
             inner, k->rank - 1);
    emit_body(g, s);
    while (braces--)
        text_add(&g->out, "}\n");
}

/* Bodies that look at neighbours mostly choose something else at the border. */
static bool has_border(const struct kernel *k)
{
    for (size_t i = 0; i < k->length; i++)
        if (k->text[i] == '?' || (i + 4 < k->length && (memcmp(k->text + i, "MIN(", 4) == 0 ||
                                                        memcmp(k->text + i, "MAX(", 4) == 0)))
            return true;
    return false;
}

/* " && " and what holds where `index` and the `ahead` after it keep clear of dimension d's ends. */
static void emit_inside(struct generator *g, const char *index, const char *ahead, unsigned d)
{
    text_add(&g->out, " && %s > %d && %s%s + %d < (i32)gamut_e%u - 1", index, BORDER, index, ahead,
             BORDER, d);
}

/* Tells the compiler, in the words in which bodies ask. */
static void emit_assumptions(struct generator *g, const char *index, unsigned d)
{
    for (int b = 0; b <= BORDER; b++)
        text_add(&g->out,
                 "GAMUT_ASSUME(%s > %d); GAMUT_ASSUME(%s - %d > 0); "
                 "GAMUT_ASSUME(%s < (i32)gamut_e%u - 1 - %d); "
                 "GAMUT_ASSUME(%s + %d < (i32)gamut_e%u - 1);\n",
                 index, b, index, b, index, d, b, index, b, d);
}

/* A batch a thread: items gamut_b, gamut_b + step, … of dimension `d`, all or those that there are.
 * Whole batches clear of the border are told apart: without what a body does at the border its
 * loads are the same from item to item, and fewer. */
static void emit_batch_loops(struct generator *g, const struct source *s, unsigned d,
                             const char *step, const char *ahead)
{
    const struct kernel *k = s->kernel;
    const char *index = name_at(s, k->indices[d])->text;
    const char *inner = name_at(s, k->indices[k->rank - 1])->text;
    bool border = has_border(k);
    text_add(&g->out, "if (gamut_b%s < (i32)gamut_e%u", ahead, d);
    if (border)
        emit_inside(g, "gamut_b", ahead, d);
    if (border && k->rank > 1)
        emit_inside(g, inner, "", k->rank - 1);
    text_add(&g->out,
             ") {\n#pragma unroll\nfor (i32 gamut_u = 0; gamut_u < %d; gamut_u++) {\n"
             "const i32 %s = gamut_b + gamut_u * %s;\n",
             BATCH, index, step);
    if (border)
        emit_assumptions(g, index, d);
    if (border && k->rank > 1)
        emit_assumptions(g, inner, k->rank - 1);
    emit_body(g, s);
    text_add(&g->out,
             "} } else {\n#pragma unroll 1\n"
             "for (i32 gamut_u = 0; gamut_u < %d; gamut_u++) {\n"
             "const i32 %s = gamut_b + gamut_u * %s;\nif (%s < (i32)gamut_e%u)\n",
             BATCH, index, step, index, d);
    emit_body(g, s);
    text_add(&g->out, "} }\n");
}

static void emit_batch(struct generator *g, const struct source *s)
{
    const struct kernel *k = s->kernel;
    char ahead[40];
    if (k->rank == 1) {
        snprintf(ahead, sizeof ahead, " + %d * GAMUT_X_ITEMS", BATCH - 1);
        text_add(&g->out, "const i32 gamut_b = GAMUT_X_BATCH(%d);\n", BATCH);
        emit_batch_loops(g, s, 0, "GAMUT_X_ITEMS", ahead);
        return;
    }
    const char *inner = name_at(s, k->indices[k->rank - 1])->text;
    bool outer = emit_outer_indices(g, s);
    snprintf(ahead, sizeof ahead, " + %d", BATCH - 1);
    text_add(&g->out,
             "const i32 %s = (i32)GAMUT_X, gamut_b = (i32)GAMUT_Y * %d;\n"
             "if (%s < (i32)gamut_e%u) {\n",
             inner, BATCH, inner, k->rank - 1);
    emit_batch_loops(g, s, k->rank - 2, "1", ahead);
    text_add(&g->out, "}\n%s", outer ? "}\n" : "");
}

/* Finds the blocks of the arrays that are in a heap of the device. */
static void emit_blocks(struct generator *g, const struct source *s)
{
    for (unsigned i = 0; i < s->kernel->array_count; i++) {
        const struct name *n = name_at(s, s->kernel->arrays[i]);
        const char *type = c_type(n->element), *x = n->text;
        if (!is_in_heap(s, n))
            continue;
        text_add(&g->out, "if (gamut_h_%s[0] & %du) return;\n", x, KERNEL_HEAP_FAILURES);
        text_add(&g->out,
                 "GAMUT_GLOBAL %s *gamut_p_%s = (GAMUT_GLOBAL %s *)((GAMUT_GLOBAL u32 *)gamut_a_%s "
                 "+ (u64)gamut_w_%s[gamut_k_%s + %d] * gamut_w_%s[gamut_k_%s + %d]);\n",
                 type, x, type, x, x, x, KERNEL_SLOT_INDEX, x, x, KERNEL_SLOT_STRIDE);
    }
}

void emit_gpu_kernel(struct generator *g, const struct source *s)
{
    const struct kernel *k = s->kernel;
    text_add(&g->out, "GAMUT_KERNEL(%u) void %s(", k->group_items ? k->group_items : 256, k->name);
    emit_parameters(g, s);
    text_add(&g->out, ") {\n");
    emit_blocks(g, s);
    emit_locals(g, s);
    for (unsigned d = 0; d < k->rank; d++)
        if (extent_scalar(k, d) != NO_NAME)
            text_add(&g->out, "const i64 %s = gamut_e%u;\n", name_at(s, extent_scalar(k, d))->text,
                     d);
    if (k->group_items) {
        text_add(&g->out, "const GAMUT_INT gamut_q = (GAMUT_INT)GAMUT_GROUP;\n");
        emit_indices(g, s, k->rank);
        emit_body(g, s);
    } else if (gpu_batch(k) > 1) {
        text_add(&g->out, "#if GAMUT_FORM == %d\n", KERNEL_APART);
        emit_batch(g, s);
        text_add(&g->out, "#else\n");
        emit_item(g, s);
        text_add(&g->out, "#endif\n");
    } else {
        emit_item(g, s);
    }
    text_add(&g->out, "}\n\n");
}
