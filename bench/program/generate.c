/* The generator: kernels of a program as OpenCL C 1.2, CUDA C or host C.
 *
 * An access x[i, j] becomes gamut_p_x[gamut_o_x + (i64)(i) * gamut_s0_x + (i64)(j) * gamut_s1_x]:
 * where an array lies is an argument, so moving it changes no source. In GPU languages sums are of
 * type GAMUT_INT, whose size is that of the variant that is compiled (below). A host kernel
 * is a loop over a part of the outermost dimension; it comes twice, once for arrays whose innermost
 * stride is 1, which is what the vectoriser needs to know.
 */
#include "program/generate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "program/prelude.h"

struct generator {
    const struct program *program;
    enum kernel_language language;
    struct text out;
    struct kernels *kernels;
    unsigned name_capacity, batch_capacity;
};

/* A kernel and the names it uses. */
struct source {
    const struct fun *fun;
    const struct kernel *kernel;
};

static const char *c_type(enum element element)
{
    return element == ELEMENT_bool ? "u8" : element_name(element);
}

static unsigned strides_of(const struct name *array)
{
    return array->thread_rank + array->rank;
}

/* ---- bodies ---------------------------------------------------------------------------------- */

static const struct name *emit_name(const struct source *s, int name)
{
    return &s->fun->names[name];
}

/* The type of a point's flat number. */
static const char *index_type(const struct generator *g)
{
    return g->language == KERNEL_HOST_C ? "i64" : "GAMUT_INT";
}

static void emit_range(struct generator *g, const struct source *s, size_t begin, size_t end);

static void emit_local_access(struct generator *g, const struct source *s, const struct access *a)
{
    const struct name *n = emit_name(s, a->array);
    text_add(&g->out, "gamut_l_%s[", n->text);
    for (unsigned d = 0; d < a->rank; d++) {
        int64_t stride = 1;
        for (unsigned e = d + 1; e < n->rank; e++)
            stride *= n->shape[e]->value.i64;
        text_add(&g->out, "%s(", d ? " + " : "");
        emit_range(g, s, a->index[d].begin, a->index[d].end);
        text_add(&g->out, ") * %lld", (long long)stride);
    }
    text_add(&g->out, "]");
}

static void emit_access(struct generator *g, const struct source *s, const struct access *a)
{
    const struct name *n = emit_name(s, a->array);
    if (n->local) {
        emit_local_access(g, s, a);
        return;
    }
    bool host = g->language == KERNEL_HOST_C;
    const char *before = host ? " + (i64)" : " + (GAMUT_INT)";
    const char *stride = host ? "" : "(GAMUT_INT)";
    text_add(&g->out, host ? "gamut_p_%s[gamut_o_%s" : "gamut_p_%s[GAMUT_FROM(gamut_o_%s)", n->text,
             n->text);
    for (unsigned t = 0; t < n->thread_rank; t++) {
        text_add(&g->out, "%s%s * %sgamut_s%u_%s", before,
                 emit_name(s, s->kernel->indices[t])->text, stride, t, n->text);
    }
    for (unsigned d = 0; d < a->rank; d++) {
        text_add(&g->out, "%s(", before);
        emit_range(g, s, a->index[d].begin, a->index[d].end);
        text_add(&g->out, ") * %sgamut_s%u_%s", stride, n->thread_rank + d, n->text);
    }
    text_add(&g->out, "]");
}

static void emit_each_open(struct generator *g, const struct source *s)
{
    const char *item = emit_name(s, s->kernel->item)->text;
    if (g->language == KERNEL_HOST_C)
        text_add(&g->out, "GAMUT_ITEMS for (i32 %s = 0; %s < %u; %s++) {", item, item,
                 s->kernel->group_items, item);
    else
        text_add(&g->out, "{ { const i32 %s = (i32)GAMUT_ITEM;", item);
}

static void emit_each_close(struct generator *g)
{
    text_add(&g->out, g->language == KERNEL_HOST_C ? "}" : "} GAMUT_BARRIER; }");
}

/* The text from begin to end with accesses and `each` replaced. Both lists are in order of begin;
 * an access inside the index of another follows it. */
static void emit_range(struct generator *g, const struct source *s, size_t begin, size_t end)
{
    const struct kernel *k = s->kernel;
    while (begin < end) {
        const struct access *access = NULL;
        const struct each *each = NULL, *closing = NULL;
        size_t next = end;
        for (unsigned i = 0; i < k->access_count && !access; i++)
            if (k->accesses[i].begin >= begin && k->accesses[i].begin < next)
                access = &k->accesses[i];
        if (access)
            next = access->begin;
        for (unsigned i = 0; i < k->each_count; i++) {
            if (k->eaches[i].keyword >= begin && k->eaches[i].keyword < next) {
                each = &k->eaches[i];
                next = each->keyword;
            }
            if (k->eaches[i].close >= begin && k->eaches[i].close < next) {
                closing = &k->eaches[i];
                next = closing->close;
            }
        }
        text_add_bytes(&g->out, k->text + begin, next - begin);
        if (next == end)
            return;
        if (closing && next == closing->close) {
            emit_each_close(g);
            begin = closing->close + 1;
        } else if (each && next == each->keyword) {
            emit_each_open(g, s);
            begin = each->open + 1;
        } else {
            emit_access(g, s, access);
            begin = access->end;
        }
    }
}

static void emit_body(struct generator *g, const struct source *s)
{
    const struct kernel *k = s->kernel;
    text_add(&g->out, "{\n#line %u \"%s\"\n", k->text_at.line, g->program->path);
    emit_range(g, s, 0, k->length);
    text_add(&g->out, "\n#line 1 \"generated after kernel %s\"\n}\n", k->name);
}

/* ---- parameters ------------------------------------------------------------------------------ */

/* The scalar that is the extent of dimension d and is also used in the body, or NO_NAME. The
 * compiler profits from knowing that both are the same. */
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

/* Is the scalar also an extent? Then a GPU kernel takes the extent, and not its parameter. */
static bool gpu_is_extent(const struct kernel *k, int scalar)
{
    for (unsigned d = 0; d < k->rank; d++)
        if (extent_scalar(k, d) == scalar)
            return true;
    return false;
}

static void emit_parameters(struct generator *g, const struct source *s)
{
    const struct kernel *k = s->kernel;
    for (unsigned i = 0; i < k->array_count; i++) {
        const struct name *n = emit_name(s, k->arrays[i]);
        const bool host = g->language == KERNEL_HOST_C;
        text_add(&g->out, "%sGAMUT_GLOBAL %s *%sgamut_p_%s, const i64 gamut_o_%s", i ? ", " : "",
                 c_type(n->element), host ? "" : "GAMUT_RESTRICT ", n->text, n->text);
        for (unsigned d = 0; d < strides_of(n); d++)
            text_add(&g->out, ", const i64 gamut_s%u_%s", d, n->text);
    }
    for (unsigned i = 0; i < k->scalar_count; i++) {
        bool unused = g->language != KERNEL_HOST_C && gpu_is_extent(k, k->scalars[i]);
        text_add(&g->out, ", const %s %s%s", c_type(emit_name(s, k->scalars[i])->element),
                 unused ? "gamut_unused_" : "", emit_name(s, k->scalars[i])->text);
    }
    for (unsigned d = 0; d < k->rank; d++)
        text_add(&g->out, ", const i64 gamut_e%u", d);
}

/* Declares the indices of dimensions [0, count) from their flat number gamut_q, last one fastest.
 */
static void emit_indices(struct generator *g, const struct source *s, unsigned count)
{
    const struct kernel *k = s->kernel;
    if (count > 1)
        text_add(&g->out, "%s gamut_r = gamut_q; ", index_type(g));
    for (unsigned d = count; d-- > 0;) {
        const char *index = emit_name(s, k->indices[d])->text;
        if (count == 1)
            text_add(&g->out, "const i32 %s = (i32)gamut_q;\n", index);
        else if (d == 0)
            text_add(&g->out, "const i32 %s = (i32)gamut_r;\n", index);
        else
            text_add(&g->out,
                     "const i32 %s = (i32)(gamut_r %% (%s)gamut_e%u); gamut_r /= (%s)gamut_e%u;\n",
                     index, index_type(g), d, index_type(g), d);
    }
}

static void emit_locals(struct generator *g, const struct source *s)
{
    for (unsigned i = 0; i < s->kernel->local_count; i++) {
        const struct name *n = emit_name(s, s->kernel->locals[i]);
        int64_t elements = 1;
        for (unsigned d = 0; d < n->rank; d++)
            elements *= n->shape[d]->value.i64;
        text_add(&g->out, "GAMUT_LOCAL %s gamut_l_%s[%lld];\n", c_type(n->element), n->text,
                 (long long)elements);
    }
}

/* ---- host ------------------------------------------------------------------------------------ */

/* The arguments of a call of the inner function; `unit` passes 1 for every innermost stride. */
static void emit_host_call(struct generator *g, const struct source *s, bool unit)
{
    const struct kernel *k = s->kernel;
    unsigned argument = 0;
    text_add(&g->out, "    gamut_inner_%s(", k->name);
    for (unsigned i = 0; i < k->array_count; i++) {
        const struct name *n = emit_name(s, k->arrays[i]);
        text_add(&g->out, "(%s *)(uintptr_t)a[%u].memory, a[%u].i64, ", c_type(n->element),
                 argument, argument + 1);
        argument += 2;
        for (unsigned d = 0; d < strides_of(n); d++, argument++) {
            if (unit && d + 1 == strides_of(n) && !n->thread_rank)
                text_add(&g->out, "1, ");
            else
                text_add(&g->out, "a[%u].i64, ", argument);
        }
    }
    for (unsigned i = 0; i < k->scalar_count; i++, argument++)
        text_add(&g->out, "a[%u].%s, ", argument, c_type(emit_name(s, k->scalars[i])->element));
    for (unsigned d = 0; d < k->rank; d++, argument++)
        text_add(&g->out, "a[%u].i64, ", argument);
    text_add(&g->out, "begin, end);\n");
}

static void emit_host_entry(struct generator *g, const struct source *s)
{
    const struct kernel *k = s->kernel;
    text_add(
        &g->out,
        "GAMUT_CLONES\nGAMUT_ENTRY void gamut_host_%s(const union launch_value *a, int64_t begin, "
        "int64_t end) {\n",
        k->name);
    text_add(&g->out, "  if (1");
    unsigned argument = 0;
    for (unsigned i = 0; i < k->array_count; i++) {
        const struct name *n = emit_name(s, k->arrays[i]);
        argument += 2 + strides_of(n);
        if (!n->thread_rank)
            text_add(&g->out, " && a[%u].i64 == 1", argument - 1);
    }
    text_add(&g->out, ")\n");
    emit_host_call(g, s, true);
    text_add(&g->out, "  else\n");
    emit_host_call(g, s, false);
    text_add(&g->out, "}\n\n");
}

static void emit_host_kernel(struct generator *g, const struct source *s)
{
    const struct kernel *k = s->kernel;
    text_add(&g->out, "static inline __attribute__((always_inline))\nvoid gamut_inner_%s(",
             k->name);
    emit_parameters(g, s);
    text_add(&g->out, ", const i64 begin, const i64 end) {\n");
    const char *inner = emit_name(s, k->indices[k->rank - 1])->text;
    if (k->group_items) {
        text_add(&g->out, "for (i64 gamut_q = begin; gamut_q < end; gamut_q++) {\n");
        emit_indices(g, s, k->rank);
        emit_locals(g, s);
    } else if (k->rank == 1) {
        text_add(&g->out, "{ GAMUT_ITEMS for (i32 %s = (i32)begin; %s < (i32)end; %s++)\n", inner,
                 inner, inner);
    } else {
        text_add(&g->out, "for (i64 gamut_q = begin; gamut_q < end; gamut_q++) {\n");
        emit_indices(g, s, k->rank - 1);
        text_add(&g->out, "GAMUT_ITEMS for (i32 %s = 0; %s < (i32)gamut_e%u; %s++)\n", inner, inner,
                 k->rank - 1, inner);
    }
    emit_body(g, s);
    text_add(&g->out, "}}\n");
    emit_host_entry(g, s);
}

/* ---- GPU ------------------------------------------------------------------------------------- */

/* Kernels for GPUs: one thread computes one item of the index space, guarded in x.
 *
 * If the arrays of a launch are apart, a thread of a short kernel computes a batch of neighbours in
 * y instead. One load of 4 bytes at a time in each thread that a GPU can hold does not keep its
 * memory busy, and a short thread spends much of its time on its start: on an H200 a 5-point
 * stencil reaches 69 % of the rate of a copy with one item a thread, and 97 % with four. Full
 * batches have no guard for each item, because a guard keeps the loads of one item after the stores
 * of the one before (82 %). The batch is in y and not in x: adjacent threads still touch adjacent
 * words.
 */
enum {
    BATCH = 4,
    /* Bodies with more accesses have enough loads of their own, and would run out of registers. */
    BATCH_ACCESSES_MAX = 12,
    BORDER = 2, /* most bodies look no further past their own index */
};

static bool has_loop(const char *text, size_t length)
{
    for (size_t i = 0; i < length;) {
        size_t word = 0, skipped = c_literal_length(text + i);
        while (i + word < length && c_is_word_char(text[i + word]))
            word++;
        if ((word == 3 && memcmp(text + i, "for", 3) == 0) ||
            (word == 5 && memcmp(text + i, "while", 5) == 0) ||
            (word == 2 && memcmp(text + i, "do", 2) == 0))
            return true;
        i += skipped ? skipped : word ? word : 1;
    }
    return false;
}

/* See kernels.batches. */
static unsigned gpu_batch(const struct kernel *k)
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

/* The body for one item a thread. */
static void emit_item(struct generator *g, const struct source *s)
{
    const struct kernel *k = s->kernel;
    const char *inner = emit_name(s, k->indices[k->rank - 1])->text;
    unsigned braces = emit_outer_indices(g, s);
    if (k->rank >= 2) {
        text_add(&g->out,
                 "GAMUT_FOR(gamut_y, GAMUT_Y, gamut_e%u) {\nconst i32 %s = (i32)gamut_y;\n",
                 k->rank - 2, emit_name(s, k->indices[k->rank - 2])->text);
        braces++;
    }
    text_add(&g->out, "const i32 %s = (i32)GAMUT_X;\nif (%s < (GAMUT_INT)gamut_e%u)\n", inner,
             inner, k->rank - 1);
    emit_body(g, s);
    while (braces--)
        text_add(&g->out, "}\n");
}

/* Does the body seem to choose something else at the border, as most that look at neighbours do? */
static bool has_border(const struct kernel *k)
{
    for (size_t i = 0; i < k->length; i++)
        if (k->text[i] == '?' || (i + 4 < k->length && (memcmp(k->text + i, "MIN(", 4) == 0 ||
                                                        memcmp(k->text + i, "MAX(", 4) == 0)))
            return true;
    return false;
}

/* Emits " && " and the condition that `index`, and the item `ahead` of it, are clear of dimension
 * d's border. */
static void emit_inside(struct generator *g, const char *index, const char *ahead, unsigned d)
{
    text_add(&g->out, " && %s > %d && %s%s + %d < (i32)gamut_e%u - 1", index, BORDER, index, ahead,
             BORDER, d);
}

/* Makes the compiler assume the same, in the comparisons that bodies use. */
static void emit_assumptions(struct generator *g, const char *index, unsigned d)
{
    for (int b = 0; b <= BORDER; b++)
        text_add(&g->out,
                 "GAMUT_ASSUME(%s > %d); GAMUT_ASSUME(%s - %d > 0); "
                 "GAMUT_ASSUME(%s < (i32)gamut_e%u - 1 - %d); "
                 "GAMUT_ASSUME(%s + %d < (i32)gamut_e%u - 1);\n",
                 index, b, index, b, index, d, b, index, b, d);
}

/* The body for a batch a thread: items gamut_b, gamut_b + step, … of dimension `d`, as far as they
 * exist. Whole batches clear of the border have a loop of their own: without the body's case for
 * the border its loads are fewer, and the same from item to item. */
static void emit_batch_loops(struct generator *g, const struct source *s, unsigned d,
                             const char *step, const char *ahead)
{
    const struct kernel *k = s->kernel;
    const char *index = emit_name(s, k->indices[d])->text;
    const char *inner = emit_name(s, k->indices[k->rank - 1])->text;
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
    const char *inner = emit_name(s, k->indices[k->rank - 1])->text;
    bool outer = emit_outer_indices(g, s);
    snprintf(ahead, sizeof ahead, " + %d", BATCH - 1);
    text_add(&g->out,
             "const i32 %s = (i32)GAMUT_X, gamut_b = (i32)GAMUT_Y * %d;\n"
             "if (%s < (i32)gamut_e%u) {\n",
             inner, BATCH, inner, k->rank - 1);
    emit_batch_loops(g, s, k->rank - 2, "1", ahead);
    text_add(&g->out, "}\n%s", outer ? "}\n" : "");
}

static void emit_gpu_kernel(struct generator *g, const struct source *s)
{
    const struct kernel *k = s->kernel;
    text_add(&g->out, "GAMUT_KERNEL(%u) void %s(", k->group_items ? k->group_items : 256, k->name);
    emit_parameters(g, s);
    text_add(&g->out, ") {\n");
    emit_locals(g, s);
    for (unsigned d = 0; d < k->rank; d++)
        if (extent_scalar(k, d) != NO_NAME)
            text_add(&g->out, "const i64 %s = gamut_e%u;\n",
                     emit_name(s, extent_scalar(k, d))->text, d);
    if (k->group_items) {
        text_add(&g->out, "const GAMUT_INT gamut_q = (GAMUT_INT)GAMUT_GROUP;\n");
        emit_indices(g, s, k->rank);
        emit_body(g, s);
    } else if (gpu_batch(k) > 1) {
        text_add(&g->out, "#if GAMUT_VARIANT == %d\n", KERNEL_APART);
        emit_batch(g, s);
        text_add(&g->out, "#else\n");
        emit_item(g, s);
        text_add(&g->out, "#endif\n");
    } else {
        emit_item(g, s);
    }
    text_add(&g->out, "}\n\n");
}

/* ---- kernels --------------------------------------------------------------------------------- */

static bool add_kernel_name(struct generator *g, const char *name)
{
    struct kernels *k = g->kernels;
    if (kernels_find(k, name) < k->count)
        return false;
    k->names = arena_grow(&k->arena, k->names, k->count, &g->name_capacity, sizeof *k->names);
    k->batches =
        arena_grow(&k->arena, k->batches, k->count, &g->batch_capacity, sizeof *k->batches);
    k->names[k->count++] = arena_copy(&k->arena, name, strlen(name));
    return true;
}

static void emit_kernel(struct generator *g, const struct source *s)
{
    unsigned *batch = &g->kernels->batches[g->kernels->count - 1];
    *batch = g->language == KERNEL_HOST_C ? 1 : gpu_batch(s->kernel);
    if (g->language == KERNEL_HOST_C)
        emit_host_kernel(g, s);
    else
        emit_gpu_kernel(g, s);
}

enum mover { MOVER_NONE, MOVER_COPY, MOVER_FILL, MOVER_IOTA };

/* The kernel that moves data for a statement; *rank receives that of its index space. */
static enum mover mover_of(const struct fun *fun, const struct stm *s, unsigned *rank)
{
    *rank = s->out_count ? fun->names[s->outs[0]].rank : 0;
    switch (s->kind) {
    case STM_IOTA:
        return MOVER_IOTA;
    case STM_UPDATE:
        *rank = 0;
        for (unsigned d = 0; d < s->slice_rank; d++)
            *rank += !s->slice[d].fixed;
        if (*rank == 0)
            *rank = 1; /* one element: a space of one thread */
        return s->expr ? MOVER_FILL : MOVER_COPY;
    case STM_COPY:
    case STM_CONCAT:
    case STM_REPLICATE:
        return s->expr ? MOVER_FILL : MOVER_COPY;
    default:
        return MOVER_NONE;
    }
}

bool kernel_mover_name(char name[KERNEL_NAME_MAX], const struct fun *fun, const struct stm *s)
{
    unsigned rank;
    const enum mover mover = mover_of(fun, s, &rank);
    if (mover == MOVER_NONE)
        return false;
    const enum element element = fun->names[s->outs[0]].element;
    if (mover == MOVER_COPY)
        snprintf(name, KERNEL_NAME_MAX, "gamut_copy_%u_%zu", rank, element_bytes(element));
    else if (mover == MOVER_FILL)
        snprintf(name, KERNEL_NAME_MAX, "gamut_fill_%s_%u", c_type(element), rank);
    else
        snprintf(name, KERNEL_NAME_MAX, "gamut_iota_%s", c_type(element));
    return true;
}

/* A kernel that moves data is written as a program and generated like any other kernel. */
static void emit_mover(struct generator *g, const struct fun *fun, const struct stm *s)
{
    char name[KERNEL_NAME_MAX];
    unsigned rank;
    if (!kernel_mover_name(name, fun, s) || !add_kernel_name(g, name))
        return;
    const enum mover mover = mover_of(fun, s, &rank);
    const enum element element = fun->names[s->outs[0]].element;
    const size_t bytes = element_bytes(element); /* all that matters to a copy */
    const char *type = mover != MOVER_COPY ? c_type(element)
                       : bytes == 1        ? "u8"
                       : bytes == 4        ? "u32"
                                           : "i64";
    struct text t = {0}, shape = {0}, space = {0}, index = {0};
    for (unsigned d = 0; d < rank; d++) {
        text_add(&shape, "[n%u]", d);
        text_add(&space, "%si%u < n%u", d ? ", " : "", d, d);
        text_add(&index, "%si%u", d ? ", " : "", d);
    }
    text_add(&t, "fun mover(");
    for (unsigned d = 0; d < rank; d++)
        text_add(&t, "n%u: i64, ", d);
    text_add(&t, "value: %s, from: %s%s) {\n let to: %s%s = kernel mover_kernel (%s) { to[%s] = ",
             mover == MOVER_FILL ? type : "i32", shape.data, type, shape.data, type, space.data,
             index.data);
    text_add(&t,
             mover == MOVER_COPY   ? "from[%s]"
             : mover == MOVER_FILL ? "value"
                                   : "i0",
             index.data);
    text_add(&t, "; }\n in to }\n");
    struct program *program;
    struct error error;
    if (program_parse("gamut's own kernels", t.data, t.length, &program, &error)) {
        fprintf(stderr, "gamut: bug: %s\n", error.text);
        abort();
    }
    struct kernel *k = program->funs[0].body.first->kernel;
    k->name = name;
    const struct program *outer = g->program;
    g->program = program;
    emit_kernel(g, &(struct source){&program->funs[0], k});
    g->program = outer;
    program_free(program);
    text_free(&t);
    text_free(&shape);
    text_free(&space);
    text_free(&index);
}

static void emit_statements(struct generator *g, const struct fun *fun, const struct body *body)
{
    for (const struct stm *s = body->first; s; s = s->next) {
        switch (s->kind) {
        case STM_KERNEL:
            if (add_kernel_name(g, s->kernel->name))
                emit_kernel(g, &(struct source){fun, s->kernel});
            break;
        case STM_IF:
            emit_statements(g, fun, s->then);
            emit_statements(g, fun, s->otherwise);
            break;
        case STM_LOOP:
            emit_statements(g, fun, &s->loop->body);
            break;
        default:
            emit_mover(g, fun, s);
            break;
        }
    }
}

void program_generate(const struct program *program, enum kernel_language language,
                      struct kernels *kernels)
{
    *kernels = (struct kernels){0};
    struct generator g = {.program = program, .language = language, .kernels = kernels};
    text_add(&g.out, "%s", prelude_text(language));
    for (unsigned i = 0; i < program->code_count; i++) {
        text_add(&g.out, "#line %u \"%s\"\n", program->codes[i].at.line, program->path);
        text_add_bytes(&g.out, program->codes[i].text, program->codes[i].length);
        text_add(&g.out, "\n");
    }
    for (unsigned f = 0; f < program->fun_count; f++)
        emit_statements(&g, &program->funs[f], &program->funs[f].body);
    kernels->text = arena_copy(&kernels->arena, g.out.data, g.out.length);
    text_free(&g.out);
}

void kernels_free(struct kernels *kernels)
{
    arena_free(&kernels->arena);
}

unsigned kernels_find(const struct kernels *kernels, const char *name)
{
    unsigned i = 0;
    while (i < kernels->count && strcmp(kernels->names[i], name) != 0)
        i++;
    return i;
}
