#include "tests/device/kernel_run.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "device/host_build.h"
#include "device/device.h"
#include "program/generate.h"

enum { BLOCK_BYTES = 8192, ARGUMENTS_MAX = 256 };
enum order { FORWARD, BACKWARD, AT_ONCE, ORDERS };

struct kernel_run {
    struct program *program;
    void *library;
};

/* One run: where every block lies, by the number of its name. */
struct one_run {
    struct kernel_run *run;
    const struct fun *fun;
    const struct kernel *kernel;
    union scalar *values; /* of scalars, by name */
    char **blocks;
    int moved, moved_to; /* this array lies in that block */
};

struct kernel_run *kernel_run_open(struct program *program, struct error *error)
{
    struct kernels kernels;
    struct text text = {0};
    struct kernel_run *run = must_alloc(sizeof *run);
    run->program = program;
    program_generate(program, KERNEL_HOST_C, &kernels);
    /* Hundreds of kernels that run for a microsecond: optimising them takes long. */
    text_add(&text, "#define GAMUT_NO_CLONES\n#pragma GCC optimize(\"O1\")\n%s", kernels.text);
    kernels_free(&kernels);
    int code = host_build("kernel_run", text.data, &run->library, error);
    text_free(&text);
    if (!code)
        return run;
    free(run);
    return NULL;
}

void kernel_run_close(struct kernel_run *run)
{
    if (run)
        dlclose(run->library);
    free(run);
}

static int64_t value_of(const struct one_run *l, const struct expr *e)
{
    union scalar value;
    struct error error;
    if (expr_evaluate(l->run->program, e, l->values, &value, &error)) {
        fprintf(stderr, "kernel_run: %s\n", error.text);
        abort();
    }
    return value.i64;
}

static int64_t elements_of(const struct one_run *l, const struct name *array)
{
    int64_t count = 1;
    for (unsigned d = 0; d < array->rank; d++)
        count *= value_of(l, array->shape[d]);
    return count;
}

/* Whole numbers below the number of elements, each once, so that an array can index another. */
static void fill_array(const struct one_run *l, const struct name *array, unsigned salt)
{
    int64_t count = elements_of(l, array);
    char *block = l->blocks[array->memory];
    for (int64_t e = 0; e < count; e++) {
        int64_t v = (e * 5 + 3 + salt) % count;
        switch (array->element) {
        case ELEMENT_f32:
            ((float *)block)[e] = (float)v;
            break;
        case ELEMENT_f64:
            ((double *)block)[e] = (double)v;
            break;
        case ELEMENT_i64:
            ((int64_t *)block)[e] = v;
            break;
        case ELEMENT_u8:
        case ELEMENT_bool:
            block[e] = (char)v;
            break;
        default:
            ((int32_t *)block)[e] = (int32_t)v;
        }
    }
}

static unsigned add_array(const struct one_run *l, int array, union launch_value *arguments)
{
    const struct name *n = &l->fun->names[array];
    unsigned count = 0;
    int block = array == l->moved ? l->moved_to : n->memory;
    arguments[count++].memory = (uint64_t)(uintptr_t)l->blocks[block];
    arguments[count++].i64 = value_of(l, index_offset(l->run->program, n));
    for (unsigned d = 0; d < n->thread_rank + n->rank; d++)
        arguments[count++].i64 = value_of(l, index_stride(l->run->program, n, d));
    return count;
}

static void run_threads(const struct one_run *l, enum order order)
{
    union launch_value arguments[ARGUMENTS_MAX] = {{0}};
    const struct kernel *k = l->kernel;
    unsigned count = 0;
    int64_t points = 1;
    for (unsigned i = 0; i < k->array_count; i++)
        count += add_array(l, k->arrays[i], arguments + count);
    for (unsigned i = 0; i < k->scalar_count; i++)
        arguments[count++].i64 = l->values[k->scalars[i]].i64;
    for (unsigned d = 0; d < k->rank; d++) {
        arguments[count++].i64 = value_of(l, k->extents[d]);
        if (d + 1 < k->rank || k->rank == 1 || k->item != NO_NAME)
            points *= value_of(l, k->extents[d]);
    }
    char name[128];
    snprintf(name, sizeof name, "gamut_host_%s", k->name);
    host_kernel_function *function;
    *(void **)&function = dlsym(l->run->library, name);
    if (!function) {
        fprintf(stderr, "kernel_run: there is no %s\n", name);
        abort();
    }
    for (int64_t p = 0; p < points && order == FORWARD; p++)
        function(arguments, p, p + 1);
    for (int64_t p = points; p-- > 0 && order == BACKWARD;)
        function(arguments, p, p + 1);
    if (order == AT_ONCE)
        function(arguments, 0, points);
}

/* Fresh blocks with the parameters' values, the others holding `fill`. */
static void set_up(struct one_run *l, int fill)
{
    for (unsigned i = 0; i < l->fun->name_count; i++)
        if (l->fun->names[i].kind == NAME_MEMORY)
            memset(l->blocks[i], fill, BLOCK_BYTES);
    for (unsigned i = 0; i < l->fun->param_count; i++)
        if (l->fun->names[l->fun->params[i]].kind == NAME_ARRAY)
            fill_array(l, &l->fun->names[l->fun->params[i]], i / 2);
}

static char **new_blocks(const struct fun *fun)
{
    char **blocks = must_alloc(fun->name_count * sizeof *blocks);
    for (unsigned i = 0; i < fun->name_count; i++)
        blocks[i] = fun->names[i].kind == NAME_MEMORY ? must_alloc(BLOCK_BYTES) : NULL;
    return blocks;
}

static void free_blocks(const struct fun *fun, char **blocks)
{
    for (unsigned i = 0; i < fun->name_count; i++)
        free(blocks[i]);
    free(blocks);
}

/* What is the same whatever was in the fresh blocks has been written, or was there before. */
static bool blocks_differ(const char *a, const char *same_as_a, const char *b)
{
    for (size_t i = 0; i < BLOCK_BYTES; i++)
        if (a[i] == same_as_a[i] && a[i] != b[i])
            return true;
    return false;
}

bool kernel_run_differs(struct kernel_run *run, const struct fun *fun, const struct stm *stm,
                        int out, int killed)
{
    union scalar *values = must_alloc(fun->name_count * sizeof *values);
    for (unsigned i = 0; i < fun->param_count; i++)
        values[fun->params[i]].i64 = RUN_EXTENT;
    char **expected[2] = {new_blocks(fun), new_blocks(fun)}, **merged = new_blocks(fun);
    struct one_run l = {run, fun, stm->kernel, values, NULL, NO_NAME, NO_NAME};
    bool differs = false;
    for (enum order order = FORWARD; order < ORDERS; order++) {
        l.moved = NO_NAME;
        for (int i = 0; i < 2; i++) {
            l.blocks = expected[i];
            set_up(&l, i ? 0x22 : 0x11);
            run_threads(&l, order);
        }
        l.moved = out;
        l.moved_to = fun->names[killed].memory;
        l.blocks = merged;
        set_up(&l, 0x11);
        run_threads(&l, order);
        for (unsigned o = 0; o < stm->out_count; o++) {
            int block = fun->names[stm->outs[o]].memory;
            differs |= blocks_differ(expected[0][block], expected[1][block],
                                     merged[stm->outs[o] == out ? l.moved_to : block]);
        }
    }
    free_blocks(fun, expected[0]);
    free_blocks(fun, expected[1]);
    free_blocks(fun, merged);
    free(values);
    return differs;
}
