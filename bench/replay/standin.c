#include "replay/schedule.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/text.h"
#include "program/prelude.h"

enum {
    WORD_BYTES = 4,
    PAGE_WORDS = 1024,
    /* Arguments: items, spin (ticks; USE_...: use all words), step (words), number of blocks, and
     * for each block memory, offset and words. */
    FIRST_BLOCK = 4,
    BLOCK_ARGUMENTS = 3,
    ARGUMENTS_MAX = FIRST_BLOCK + BLOCK_ARGUMENTS * STANDIN_USES_MAX,
    GROUP_ITEMS = 256,
    GROUPS_PER_UNIT = 16,
    /* How the items of a launch share the words of a block: on a GPU neighbours take neighbouring
     * words, on a CPU each takes a piece of its own, since there a core runs an item to its end. */
    USE_WORDS = -1,
    USE_PIECES = -2,
};

struct standins {
    struct device *device;
    struct device_program *program;
    struct text text;
    size_t kernel_of[STANDIN_USES_MAX + 1]; /* by number of blocks */
    size_t count;
    char names[STANDIN_USES_MAX + 1][16];
    const char *name_list[STANDIN_USES_MAX + 1];
    struct host_kernel host[STANDIN_USES_MAX + 1];
    enum launch_arg_kind kinds[ARGUMENTS_MAX];
    double ticks_per_ns;
};

/* ---- for the host ---- */

static void host_use(const union launch_value *block, int64_t items, int64_t begin, int64_t end)
{
    uint32_t *words = (uint32_t *)(uintptr_t)block[0].memory + block[1].i64;
    const int64_t count = block[2].i64;
    const int64_t from = (int64_t)((double)count / (double)items * (double)begin);
    const int64_t to =
        end == items ? count : (int64_t)((double)count / (double)items * (double)end);
    for (int64_t i = from; i < to; i++)
        words[i]++;
}

static void host_touch(const union launch_value *a, const union launch_value *block, int64_t begin,
                       int64_t end)
{
    const int64_t items = a[0].i64, step = a[2].i64;
    uint32_t *words = (uint32_t *)(uintptr_t)block[0].memory + block[1].i64;
    for (int64_t item = (begin + GROUP_ITEMS - 1) / GROUP_ITEMS * GROUP_ITEMS; item < end;
         item += GROUP_ITEMS)
        for (int64_t i = item / GROUP_ITEMS * step; i < block[2].i64;
             i += (items + GROUP_ITEMS - 1) / GROUP_ITEMS * step)
            words[i]++;
}

/* On the host a tick is a nanosecond. */
static void host_standin(const union launch_value *a, int64_t begin, int64_t end)
{
    const uint64_t start_ns = clock_ns();
    const int64_t spin_ns = a[1].i64, count = a[3].i64;
    for (int64_t b = 0; b < count; b++) {
        const union launch_value *block = &a[FIRST_BLOCK + BLOCK_ARGUMENTS * b];
        if (spin_ns < 0)
            host_use(block, a[0].i64, begin, end);
        else
            host_touch(a, block, begin, end);
    }
    while (begin == 0 && spin_ns > 0 && clock_ns() - start_ns < (uint64_t)spin_ns)
        continue;
}

/* ---- for other devices ---- */

/* A counter that runs evenly enough for a kernel's time. Where a compiler has none, ticks are turns
 * of a loop. For processors it is a builtin of the compiler: PoCL 5.0 ends the process at assembly
 * without arguments (vortexgpgpu/vortex#102). */
static const char counters[] =
    "#if GAMUT_NO_COUNTER\n"
    "#define GAMUT_HAS_COUNTER 0\n"
    "#elif defined(__CUDACC_RTC__)\n"
    "#define GAMUT_HAS_COUNTER 1\n"
    "FN i64 gamut_ticks(void) { return clock64(); }\n"
    "#elif defined(__NV_CL_C_VERSION)\n"
    "#define GAMUT_HAS_COUNTER 1\n"
    "FN i64 gamut_ticks(void) { ulong t; __asm__ volatile(\"mov.u64 %0, %%clock64;\" : \"=l\"(t)); "
    "return (i64)t; }\n"
    "#elif defined(__x86_64__)\n"
    "#define GAMUT_HAS_COUNTER 1\n"
    "FN i64 gamut_ticks(void) { return (i64)__builtin_ia32_rdtsc(); }\n"
    "#elif defined(__aarch64__)\n"
    "#define GAMUT_HAS_COUNTER 1\n"
    "FN i64 gamut_ticks(void) { return (i64)__builtin_arm_rsr64(\"cntvct_el0\"); }\n"
    "#else\n"
    "#define GAMUT_HAS_COUNTER 0\n"
    "#endif\n"
    "#if GAMUT_HAS_COUNTER\n"
    "#define GAMUT_START const i64 start = gamut_ticks();\n"
    "#define GAMUT_SPIN(ticks) while (gamut_ticks() - start < (ticks)) {}\n"
    "#else\n"
    "#define GAMUT_START\n"
    "#define GAMUT_SPIN(turns) volatile u32 kept; u32 x = (u32)(turns); for (i64 t = 0; t < "
    "(turns); t++) x = x * 1664525u + 1013904223u; kept = x; (void)kept;\n"
    "#endif\n";

static void add_kernel(struct standins *s, unsigned count)
{
    struct text *t = &s->text;
    text_add(t, "GAMUT_KERNEL(256) void %s(i64 items, i64 spin, i64 step, i64 count",
             s->names[s->count]);
    for (unsigned b = 0; b < count; b++)
        text_add(t, ", GAMUT_GLOBAL u32 *b%u, i64 o%u, i64 n%u", b, b, b);
    text_add(
        t,
        ") {\n    const i64 item = GAMUT_X;\n    if (spin >= 0) {\n        if (item %% %d != 0) "
        "return;\n        GAMUT_START\n        const i64 every = (items + %d) / %d * step;\n",
        GROUP_ITEMS, GROUP_ITEMS - 1, GROUP_ITEMS);
    for (unsigned b = 0; b < count; b++)
        text_add(
            t, "        for (i64 i = item / %d * step; i < n%u; i += every) b%u[o%u + i] += 1u;\n",
            GROUP_ITEMS, b, b, b);
    text_add(t, "        (void)every;\n        if (item != 0) return;\n        GAMUT_SPIN(spin)\n"
                "        return;\n    }\n    if (item >= items) return;\n");
    text_add(t, "    const int in_pieces = spin == %d;\n    i64 piece, i;\n", USE_PIECES);
    for (unsigned b = 0; b < count; b++)
        text_add(t,
                 "    piece = (n%u + items - 1) / items;\n"
                 "    i = in_pieces ? item * piece : item;\n"
                 "    for (i64 k = 0; k < piece && i < n%u; k++, i += in_pieces ? 1 : items) "
                 "b%u[o%u + i] += 1u;\n",
                 b, b, b, b);
    text_add(t, "    (void)in_pieces, (void)piece, (void)i;\n}\n");
}

static void name_kernels(struct standins *s, const bool wanted[STANDIN_USES_MAX + 1])
{
    for (unsigned n = 0; n <= STANDIN_USES_MAX; n++) {
        if (n && !wanted[n]) /* the one without blocks measures how fast all spin */
            continue;
        snprintf(s->names[s->count], sizeof s->names[0], "standin_%u", n);
        s->name_list[s->count] = s->names[s->count];
        s->host[s->count] = (struct host_kernel){s->names[s->count], host_standin};
        s->kernel_of[n] = s->count;
        add_kernel(s, n);
        s->count++;
    }
    for (unsigned a = 0; a < ARGUMENTS_MAX; a++)
        s->kinds[a] =
            a >= FIRST_BLOCK && (a - FIRST_BLOCK) % BLOCK_ARGUMENTS == 0 ? ARG_MEMORY : ARG_I64;
}

static int build(struct standins *s, const bool wanted[STANDIN_USES_MAX + 1], bool has_counter,
                 struct error *error)
{
    const enum kernel_language language = s->device->info->language;
    text_free(&s->text);
    s->text = (struct text){0};
    s->count = 0;
    text_add(&s->text, "%s#define GAMUT_NO_COUNTER %d\n%s", prelude_text(language), !has_counter,
             counters);
    name_kernels(s, wanted);
    const struct kernel_source source = {.name = "stand-ins",
                                         .text = s->text.data,
                                         .kernel_count = s->count,
                                         .kernel_names = s->name_list,
                                         .host_kernels =
                                             language == KERNEL_HOST_C ? s->host : NULL};
    return s->device->ops->build(s->device, &source, &s->program, error);
}

/* ---- launches ---- */

/* One item of each group touches pages, and as many groups as there are cores: the system makes a
 * fresh page at its first touch, which takes a core about as long as all of a short kernel. */
static int64_t touching_items(const struct device_info *info, int64_t most_words)
{
    const int64_t pages = (most_words + PAGE_WORDS - 1) / PAGE_WORDS;
    const int64_t groups = pages < info->compute_units ? pages : info->compute_units;
    return groups > 1 ? groups * GROUP_ITEMS : 1;
}

static int launch(struct standins *s, const struct standin_use *uses, unsigned count, int64_t spin,
                  struct error *error)
{
    const struct device_info *info = s->device->info;
    union launch_value values[ARGUMENTS_MAX];
    int64_t most_words = 1;
    for (unsigned b = 0; b < count; b++) {
        union launch_value *v = &values[FIRST_BLOCK + BLOCK_ARGUMENTS * b];
        const uint64_t offset = uses[b].offset;
        int64_t words = (int64_t)(uses[b].bytes / WORD_BYTES);
        if (spin >= 0 && words > 1 && !(uses[b].is_fresh && info->kind == DEVICE_CPU))
            words = 1;
        v[0].memory = uses[b].memory + (info->adds_offsets ? offset : 0);
        v[1].i64 = info->adds_offsets ? 0 : (int64_t)(offset / WORD_BYTES);
        v[2].i64 = words;
        most_words = words > most_words ? words : most_words;
    }
    const int64_t most_items = (int64_t)info->compute_units * GROUP_ITEMS * GROUPS_PER_UNIT;
    const int64_t items = spin >= 0                 ? touching_items(info, most_words)
                          : most_words < most_items ? most_words
                                                    : most_items;
    values[0].i64 = items;
    values[1].i64 = spin;
    values[2].i64 = PAGE_WORDS;
    values[3].i64 = count;
    const struct launch launch = {.extent = {items, 1, 1}, .rank = 1};
    return s->device->ops->launch(s->device, s->program, s->kernel_of[count], &launch,
                                  FIRST_BLOCK + BLOCK_ARGUMENTS * count, s->kinds, values, error);
}

int standins_launch(struct standins *s, const struct standin_use *uses, unsigned count,
                    uint64_t device_ns, struct error *error)
{
    const double ticks = (double)device_ns * s->ticks_per_ns;
    const int64_t use = s->device->info->kind == DEVICE_CPU ? USE_PIECES : USE_WORDS;
    return launch(s, uses, count, device_ns ? (int64_t)(ticks + 0.5) : use, error);
}

/* ---- how fast they spin ---- */

/* *best_ns gets the shortest time of a few more launches. */
static int time_spin(struct standins *s, int64_t ticks, uint64_t *best_ns, struct error *error)
{
    enum { TRIES = 5 };
    for (int i = 0; i < TRIES; i++) {
        TRY(s->device->ops->sync(s->device, error));
        const uint64_t start_ns = clock_ns();
        TRY(launch(s, NULL, 0, ticks, error));
        TRY(s->device->ops->sync(s->device, error));
        const uint64_t ns = clock_ns() - start_ns;
        *best_ns = ns < *best_ns ? ns : *best_ns;
    }
    return 0;
}

/* The difference of two times is free of what a launch costs. A busy machine takes its cores away
 * for longer than a kernel spins: then both are tried again. */
static int measure_spin(struct standins *s, struct error *error)
{
    enum { SHORT = 1 << 20, LONG = 1 << 23, ROUNDS = 20 };
    uint64_t short_ns = UINT64_MAX, long_ns = UINT64_MAX;
    s->ticks_per_ns = 1;
    if (s->device->info->language == KERNEL_HOST_C)
        return 0;
    for (int i = 0; i < ROUNDS; i++) {
        TRY(time_spin(s, SHORT, &short_ns, error));
        TRY(time_spin(s, LONG, &long_ns, error));
        if (long_ns < 4 * short_ns)
            continue;
        s->ticks_per_ns = (double)(LONG - SHORT) / (double)(long_ns - short_ns);
        return 0;
    }
    return error_set(
        error, ERR_DEVICE,
        "%s: kernels that spin 8 times as long take %.1f times as long: the machine may "
        "be too busy",
        s->device->info->id, (double)long_ns / (double)short_ns);
}

int standins_open(struct device *device, const bool wanted[STANDIN_USES_MAX + 1],
                  struct standins **standins, struct error *error)
{
    struct standins *s = must_alloc(sizeof *s);
    s->device = device;
    int code = build(s, wanted, true, error);
    if (code == ERR_BUILD)
        code = build(s, wanted, false, error);
    THEN(code, measure_spin(s, error));
    if (code)
        standins_close(s);
    else
        *standins = s;
    return code;
}

void standins_close(struct standins *s)
{
    if (!s)
        return;
    if (s->program)
        s->device->ops->unbuild(s->device, s->program);
    text_free(&s->text);
    free(s);
}
