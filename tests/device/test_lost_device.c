/* Devices that cannot do what is asked, or disappear: the run loop, real workers and a result file
 * on the host device, which is made to fail for good at a launch of the workload srad, and on a
 * group of two of them, at the first migration of the workload pipeline. The build sends every call
 * of device_open and device_open_all to this file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "results/file/draft.h"
#include "base/tree.h"
#include "run/rounds/process.h"
#include "run/select/inputs.h"
#include "run/rounds/rounds.h"
#include "tests/base/cmocka.h"

/* ---- a device that gets lost ---------------------------------------------------------------- */

static struct device_ops faulty;
static const struct device_ops *sound;
static const struct device_program
    *deadly; /* the program whose launch the device does not survive */
static bool is_lost, reads_are_deadly;

static int gone(struct error *error)
{
    return error_set(error, ERR_DEVICE_LOST, "fakeLaunch: FAKE_ERROR_ILLEGAL_ADDRESS (700)");
}

static int faulty_build(struct device *device, const struct kernel_source *source,
                        struct device_program **program, struct error *error)
{
    int code = is_lost ? gone(error) : sound->build(device, source, program, error);
    if (!code && strstr(source->name, "srad"))
        deadly = *program;
    reads_are_deadly |= strstr(source->name, "pipeline") != NULL;
    return code;
}

static int faulty_launch(struct device *device, struct device_program *program, size_t kernel,
                         const struct launch *launch, size_t argument_count,
                         const enum launch_arg_kind *kinds, const union launch_value *arguments,
                         struct error *error)
{
    is_lost |= program == deadly && kernel > 0; /* not the first thing it does */
    return is_lost ? gone(error)
                   : sound->launch(device, program, kernel, launch, argument_count, kinds,
                                   arguments, error);
}

static int faulty_read(struct device *device, void *host, uint64_t memory, uint64_t offset,
                       uint64_t bytes, struct error *error)
{
    is_lost |= reads_are_deadly;
    return is_lost ? gone(error) : sound->read(device, host, memory, offset, bytes, error);
}

static int faulty_sync(struct device *device, struct error *error)
{
    return is_lost ? gone(error) : sound->sync(device, error);
}

static int faulty_alloc(struct device *device, uint64_t bytes, uint64_t *memory,
                        struct error *error)
{
    return is_lost ? gone(error) : sound->alloc(device, bytes, memory, error);
}

static int faulty_free(struct device *device, uint64_t memory, uint64_t bytes, struct error *error)
{
    return is_lost ? gone(error) : sound->free(device, memory, bytes, error);
}

static void faulty_close(struct device *device)
{
    if (is_lost)
        _exit(9); /* a lost device is not to be closed */
    sound->close(device);
}

int __real_device_open(const char *id, struct device **device, struct error *error);
int __wrap_device_open(const char *id, struct device **device, struct error *error);

static void make_faulty(struct device *device)
{
    sound = device->ops;
    faulty = *sound;
    faulty.build = faulty_build;
    faulty.launch = faulty_launch;
    faulty.read = faulty_read;
    faulty.sync = faulty_sync;
    faulty.alloc = faulty_alloc;
    faulty.free = faulty_free;
    faulty.close = faulty_close;
    device->ops = &faulty;
}

int __wrap_device_open(const char *id, struct device **device, struct error *error)
{
    int code = __real_device_open(id, device, error);
    if (!code)
        make_faulty(*device);
    return code;
}

int __real_device_open_all(const char *const *ids, unsigned count, struct device **devices,
                           bool *together, struct error *error);
int __wrap_device_open_all(const char *const *ids, unsigned count, struct device **devices,
                           bool *together, struct error *error);

int __wrap_device_open_all(const char *const *ids, unsigned count, struct device **devices,
                           bool *together, struct error *error)
{
    int code = __real_device_open_all(ids, count, devices, together, error);
    for (unsigned i = 0; i < count && !code; i++)
        if (devices[i]->ops != &faulty)
            make_faulty(devices[i]);
    return code;
}

/* ---- runs ----------------------------------------------------------------------------------- */

enum { ROUNDS = 3 };

static void nothing(void *context, const struct items_state *state, const struct case_key *key)
{
    (void)context, (void)state, (void)key;
}

static void add(void *context, const struct items_state *state, const struct case_round *round)
{
    (void)state;
    draft_add_round(context, round);
}

static const char path[] = "lost_device_test.json";

static int save(void *context, const struct items_state *state, struct error *error)
{
    (void)state;
    return draft_write(context, path, error);
}

/* Runs the smallest datasets under raw and pool on the host, or on a group of two hosts; the caller
 * frees the tree that was written. */
static json_t *run(const char *workloads, const char *merges, uint64_t seed, unsigned hosts)
{
    static char *argv[] = {"gamut"};
    const struct select_request request = {.workloads = workloads,
                                           .strategies = "raw,pool",
                                           .merges = merges,
                                           .residencies = "lazy",
                                           .smoke = true};
    const struct rounds_options options = {
        .rounds = ROUNDS,
        .timeout_ns = 60000000000,
        .measure = {.least_samples = 2, .most_samples = 2, .seed = seed}};
    const struct result_command facts = {.argc = 1, .argv = argv, .seed = seed, .rounds = ROUNDS};
    struct device_info host = {.id = "host", .kind = DEVICE_CPU, .members = hosts};
    struct record_device record = {
        .id = "host", .api = "host", .name = "host", .kind = "cpu", .used = true};
    if (hosts > 1) {
        strcpy(host.id, "host+host");
        strcpy(record.id, "host+host");
    }
    struct catalogue catalogue;
    struct selection selection;
    struct result_draft result;
    struct error error = {0};
    bool interrupted;
    struct result loaded;
    if (catalogue_open(&catalogue, &error) ||
        select_names(&request, &catalogue, &selection, &error) ||
        select_cases(&selection, &host, 1, &error) || draft_create(&result, &facts, &error))
        fail_msg("%s", error.text);
    draft_set_devices(&result, &record, 1);
    const struct rounds_watcher watcher = {&result, nothing, add, save};
    if (rounds_run(&selection, &options, &watcher, &interrupted, &error))
        fail_msg("%s", error.text);
    draft_finish(&result, RUN_COMPLETE);
    if (draft_write(&result, path, &error) || result_open(path, &loaded, &error))
        fail_msg("%s", error.text); /* the file is whole */
    json_t *root = json_incref(loaded.root);
    result_release(&loaded);
    unlink(path);
    draft_free(&result);
    select_free(&selection);
    catalogue_close(&catalogue);
    return root;
}

/* How many rounds of a case had a status. */
static size_t rounds_with(const json_t *one_case, const char *status)
{
    size_t i, n = 0;
    json_t *round;
    json_array_foreach(json_object_get(one_case, "rounds"), i, round) n +=
        strcmp(tree_get_text(round, "status"), status) == 0;
    return n;
}

static void the_rest_of_the_round_is_skipped(void **state)
{
    (void)state;
    json_t *root = run("srad,stencil,lud", "none,best", 42, 1);
    size_t skipped = 0, lost = 0, i;
    json_t *c;
    json_array_foreach(json_object_get(root, "cases"), i, c)
    {
        const char *status = tree_get_text(c, "status");
        if (strcmp(tree_get_text(json_object_get(c, "key"), "workload"), "srad") == 0) {
            /* Each case loses the device at most once; a case that never ran to its end was
             * left out by the losses of others. */
            assert_true(rounds_with(c, "error") <= 1 && rounds_with(c, "ok") == 0);
            if (rounds_with(c, "error")) {
                assert_string_equal(status, "error");
                assert_non_null(strstr(tree_get_text(c, "reason"), "FAKE_ERROR_ILLEGAL_ADDRESS"));
                lost++;
            } else {
                assert_string_equal(status, "skipped");
            }
            continue;
        }
        const size_t left_out = rounds_with(c, "skipped");
        assert_int_equal(json_array_size(json_object_get(c, "rounds")), ROUNDS);
        assert_int_equal(rounds_with(c, "ok"), ROUNDS - left_out);
        assert_string_equal(status, left_out == ROUNDS ? "skipped" : "ok");
        json_t *warning = json_array_get(json_object_get(c, "warnings"), 0);
        if (left_out && left_out < ROUNDS) {
            assert_string_equal(tree_get_text(warning, "code"), "rounds-skipped");
            assert_non_null(strstr(tree_get_text(warning, "detail"), "srad/smoke"));
            assert_int_equal(
                tree_get_number(json_object_get(json_object_get(c, "stats"), "wall_ns"), "rounds"),
                ROUNDS - left_out);
        } else {
            assert_null(warning);
        }
        skipped += left_out;
    }
    assert_int_equal(lost, ROUNDS); /* one in each */
    assert_true(skipped > 0);
    json_decref(root);
}

/* A member that is gone takes the group along: the case fails, the others of the round are left
 * out, and the next round begins with new members. */
static void a_group_may_lose_a_member_in_a_migration(void **state)
{
    (void)state;
    json_t *root = run("pipeline,stencil", "none", 42, 2), *c;
    size_t i, lost = 0;
    json_array_foreach(json_object_get(root, "cases"), i, c)
    {
        const json_t *key = json_object_get(c, "key");
        assert_string_equal(tree_get_text(key, "device"), "host+host");
        assert_string_equal(tree_get_text(key, "residency"), "lazy");
        if (strcmp(tree_get_text(key, "workload"), "pipeline") == 0) {
            assert_int_equal(rounds_with(c, "ok"), 0);
            if (rounds_with(c, "error"))
                assert_non_null(strstr(tree_get_text(c, "reason"), "FAKE_ERROR_ILLEGAL_ADDRESS"));
            lost += rounds_with(c, "error");
        } else {
            assert_int_equal(rounds_with(c, "ok") + rounds_with(c, "skipped"), ROUNDS);
        }
    }
    assert_true(lost > 0 && lost <= ROUNDS);
    json_decref(root);
}

static void without_a_loss_nothing_is_skipped(void **state)
{
    (void)state;
    json_t *root = run("stencil", "none", 1, 1), *c;
    size_t i;
    json_array_foreach(json_object_get(root, "cases"), i, c)
    {
        assert_int_equal(rounds_with(c, "ok"), ROUNDS);
        assert_int_equal(json_array_size(json_object_get(c, "warnings")), 0);
    }
    json_decref(root);
}

/* ---- too little of a device ----------------------------------------------------------------- */

static void what_a_device_lacks_is_said(void **state)
{
    static const struct {
        const char *workload;
        struct device_info device;
        uint64_t limit;
        const char *reason; /* NULL: it can */
    } cases[] = {
        /* two grids of 64 x 80 cells of 4 bytes: 20 KiB each */
        {"stencil", {.memory_bytes = 40960, .max_alloc_bytes = 20480}, 0, NULL},
        {"stencil",
         {.memory_bytes = 40959, .max_alloc_bytes = 20480},
         0,
         "its inputs alone are 40.0 KiB, the device has 40.0 KiB"},
        {"stencil",
         {.memory_bytes = 1 << 20, .max_alloc_bytes = 20479},
         0,
         "an input is 20.0 KiB, a single memory of the device at most 20.0 KiB"},
        {"stencil", {.memory_bytes = 1 << 20, .max_alloc_bytes = 1 << 20}, 40960, NULL},
        {"stencil",
         {.memory_bytes = 1 << 20, .max_alloc_bytes = 1 << 20},
         16384,
         "its inputs alone are 40.0 KiB, the limit is 16.0 KiB"},
        {"series",
         {.memory_bytes = 1 << 20, .max_alloc_bytes = 1 << 20},
         0,
         "the device has no 64-bit floats"},
        {"series", {.memory_bytes = 1 << 20, .max_alloc_bytes = 1 << 20, .has_f64 = true}, 0, NULL},
    };
    (void)state;
    struct catalogue catalogue;
    struct error error = {0};
    assert_int_equal(catalogue_open(&catalogue, &error), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct entry *entry = select_entry(&catalogue, cases[i].workload);
        int code = inputs_check_device(entry, select_dataset(entry, "smoke"), &cases[i].device,
                                       cases[i].limit, &error);
        assert_int_equal(code, cases[i].reason ? ERR_UNSUPPORTED : 0);
        if (code && !strstr(error.text, cases[i].reason))
            fail_msg("%zu: %s", i, error.text);
    }
    catalogue_close(&catalogue);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return worker_main((const struct worker_job[]){{"cases", rounds_work}, {NULL, NULL}});
    char folder[] = "/tmp/gamut_lost_XXXXXX";
    if (!mkdtemp(folder) || chdir(folder))
        return 2;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rest_of_the_round_is_skipped),
        cmocka_unit_test(a_group_may_lose_a_member_in_a_migration),
        cmocka_unit_test(without_a_loss_nothing_is_skipped),
        cmocka_unit_test(what_a_device_lacks_is_said),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(folder);
    return failed;
}
