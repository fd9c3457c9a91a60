/* What a launch costs the host: `bench_launch [DEVICES]`.
 *
 * A loop that launches one kernel over 8 x 8 elements, of five arrays in two dimensions and five
 * scalars, and allocates nothing. On the device that does nothing it is what the executor needs:
 * the bindings of the arrays, the choice of the variant, and the arguments. On a real one the
 * driver's call is added. Launches are timed until the last was accepted, in runs short enough for
 * a queue; the time until the device is idle is printed too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/registry.h"
#include "base/clock.h"
#include "run/execute/execute.h"
#include "run/select/inputs.h"
#include "run/execute/spaces.h"

enum { LAUNCHES = 1000, RUNS = 200 };

static const char text[] =
    "fun launches(n: i64, count: i64, a: f32, b: f32, c: f32, d: f32, e: f32, x: [n][n]f32,\n"
    "             y: [n][n]f32, z: [n][n]f32, w: [n][n]f32, s: *[n][n]f32) {\n"
    "  let r: [n][n]f32 = loop (u: *[n][n]f32 = s) for k < count {\n"
    "    let v: [n][n]f32 = kernel accumulate (i < n, j < n) with v <- u {\n"
    "      v[i, j] = v[i, j] * a + x[i, j] * b + y[i, j] * c + z[i, j] * d + w[i, j] * e;\n"
    "    }\n"
    "    in v\n"
    "  }\n"
    "  in r\n"
    "}\n"
    "dataset work { n = 8; count = 1000; a = 0.5; b = 1; c = 1; d = 1; e = 1; }\n";

static void must(int code, const struct error *error)
{
    if (!code)
        return;
    fprintf(stderr, "%s\n", error->text);
    exit(1);
}

/* The null device as a GPU, for which the executor does more. */
static struct device_info gpu_info;

static struct device *open_null(struct device_ops *ops, struct error *error)
{
    struct device *device;
    must(device_null.open("null", &device, error), error);
    gpu_info = *device->info;
    gpu_info.kind = DEVICE_GPU;
    gpu_info.adds_offsets = true;
    *ops = *device->ops;
    device->info = &gpu_info;
    device->ops = ops;
    return device;
}

static void measure(struct device *device, const struct entry *entry)
{
    struct error error;
    struct kernels kernels;
    struct device_program *built;
    struct inputs inputs;
    const struct device_info *info = device->info;
    program_generate(entry->program, info->language, &kernels);
    struct kernel_source source = {.name = "launches",
                                   .text = kernels.text,
                                   .kernel_count = kernels.count,
                                   .kernel_names = kernels.names,
                                   .variant = info->kind == DEVICE_GPU ? KERNEL_APART : KERNEL_ANY};
    must(device->ops->build(device, &source, &built, &error), &error);
    must(inputs_make(entry, &entry->program->datasets[0], 1, &inputs, &error), &error);
    const struct allocator_ops *ops;
    struct option_values options;
    struct spaces spaces;
    must(allocator_parse("pool", &ops, &options, &error), &error);
    must(spaces_open(&spaces, entry->fun, device, ops, &options, 0, &error), &error);
    struct executor *executor =
        executor_open(entry->fun, device, &kernels, built, RELEASE_LAST_USE);
    uint64_t accepted = UINT64_MAX, done = UINT64_MAX;
    for (unsigned run = 0; run < RUNS; run++) {
        must(executor_begin(executor, spaces.of, &inputs.arguments, false, &error), &error);
        must(device->ops->sync(device, &error), &error);
        uint64_t begin = clock_ns();
        must(executor_run(executor, &error), &error);
        uint64_t middle = clock_ns();
        must(device->ops->sync(device, &error), &error);
        uint64_t end = clock_ns();
        accepted = middle - begin < accepted ? middle - begin : accepted;
        done = end - begin < done ? end - begin : done;
        executor_end(executor);
    }
    printf("%-12s %8.0f ns a launch until it is accepted, %8.0f until it is done\n", info->id,
           (double)accepted / LAUNCHES, (double)done / LAUNCHES);
    fflush(stdout);
    executor_close(executor);
    spaces_close(&spaces);
    inputs_free(&inputs);
    device->ops->unbuild(device, built);
    kernels_free(&kernels);
}

static void measure_found(void *context, const struct device_info *info, const char *why_not)
{
    struct error error;
    struct device *device;
    if (!info) {
        printf("%s\n", why_not);
        return;
    }
    must(device_open(info->id, &device, &error), &error);
    measure(device, context);
    device->ops->close(device);
}

int main(int argc, char **argv)
{
    struct program *program;
    struct device_ops ops;
    struct error error;
    must(program_read("launches.mem", text, strlen(text), &program, &error), &error);
    struct entry entry = {.name = "launches", .program = program, .fun = &program->funs[0]};
    struct device *null = open_null(&ops, &error);
    clock_print_cost(stdout);
    measure(null, &entry);
    null->ops->close(null);
    must(device_select(argc > 1 ? argv[1] : "all", measure_found, &entry, &error), &error);
    program_free(program);
    return 0;
}
