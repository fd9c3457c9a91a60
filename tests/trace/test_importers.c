/* The logs of other tools: small ones of each form beside the trace that they give, and wrong lines
 * beside what is said of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dlfcn.h>

#include "tests/base/cmocka.h"
#include "tests/trace/trace_fixture.h"
#include "trace/raw.h"

static void gives(const char *log, const char *importer, const char *const devices[],
                  const char *const events[])
{
    struct import_report report;
    struct error error = {0};
    char path[256];
    snprintf(path, sizeof path, "%s/tests/traces/%s", GAMUT_ROOT, log);
    if (import_log(path, NULL, trace_path("log.trace"), true, &report, &error))
        fail_msg("%s", error.text);
    assert_string_equal(report.importer, importer);
    import_report_free(&report);
    for (unsigned i = 0; devices[i]; i++) {
        char *text = events_of(devices[i]);
        assert_string_equal(text, events[i]);
        free(text);
    }
}

/* With two threads, a midnight, a block from before, a free that stands too late. */
static void rmm(void **state)
{
    (void)state;
    gives("rmm/small.csv", "rmm", (const char *const[]){"log", NULL},
          (const char *const[]){"queue 0 \"0\"\n"
                                "thread 0 \"2342727\"\n"
                                "held b1 512 q0 t0 address=0x10012300000\n"
                                "free b1 q0 t0\n"
                                "alloc b2 1048576 q0 t0 @90000 address=0x10012400000\n"
                                "queue 1 \"0x7f8a38001020\"\n"
                                "alloc b3 2097152 q1 t0 @95000 address=0x10012500000\n"
                                "free b2 q0 t0 @110000\n"
                                "thread 1 \"2342730\"\n"
                                "alloc b4 4096 q1 t1 @110000 address=0x10012400000\n"
                                "refused 99999999999 q0 t1 @200000\n"
                                "free b4 q1 t1 @300000\n"});
}

static void times_of_rmm_have_three_forms(void **state)
{
    (void)state;
    static const char *const times[][2] = {{"15:47:02.841961", "15:47:02.841963"},
                                           {"15:47:02:841961", "15:47:02:841963"},
                                           {"1634567890.123456", "1634567890.123458"}};
    for (unsigned i = 0; i < 3; i++) {
        char log[256];
        snprintf(log, sizeof log,
                 "Thread,Time,Action,Pointer,Size,Stream\n"
                 "1,%s,allocate,0x10,5,0\n1,%s,free,0x10,5,0\n",
                 times[i][0], times[i][1]);
        import_good("times", log);
        assert_int_equal(totals_of("times").last_ns, 2000);
    }
}

static void rmm_frees_have_two_names(void **state)
{
    (void)state;
    import_good("names", "Thread,Time,Action,Pointer,Size,Stream\n"
                         "1,1634567890.123456,allocate,0x7f8a40000000,1024,0x7f8a38001020\n"
                         "1,1634567890.234567,deallocate,0x7f8a40000000,1024,0x7f8a38001020\n"
                         "1,1634567890.345678,allocate,0x7f8a40000000,2048,0x7f8a38001020\n"
                         "1,1634567890.456789,free,0x7f8a40000000,2048,0x7f8a38001020\n");
    assert_int_equal(totals_of("names").peak_bytes, 2048);
    assert_int_equal(totals_of("names").last_ns, 333333000);
}

/* A pool on a resource; reallocate with and without an allocate within. */
static void umpire_old_form(void **state)
{
    (void)state;
    gives("umpire/small-old.replay", "umpire", (const char *const[]){"log", NULL},
          (const char *const[]){"queue 0 \"0\"\n"
                                "alloc b1 128 q0 @3000 address=0x101b2e60 pool=1\n"
                                "alloc b2 64 q0 @4000 address=0x101c0000\n"
                                "free b1 q0 @7000\n"
                                "alloc b3 512 q0 @7000 address=0x101b3000 pool=1\n"
                                "alloc b4 96 q0 @9000 address=0x101c1000\n"
                                "free b2 q0 @10000\n"
                                "free b3 q0 @13000\n"});
}

/* Two resources are two traces; a lock around a pool asks the pool. */
static void umpire_new_form(void **state)
{
    (void)state;
    gives("umpire/small-new.replay", "umpire",
          (const char *const[]){"log-HOST", "log-DEVICE", NULL},
          (const char *const[]){"queue 0 \"0\"\n"
                                "alloc b1 128 q0 @1000 address=0x102219d0\n"
                                "free b1 q0 @5000\n",
                                "queue 0 \"0\"\n"
                                "alloc b1 4096 q0 @2000 address=0x7f0000000000 pool=1\n"
                                "alloc b2 8192 q0 @3000 address=0x7f0000001000 pool=1\n"
                                "free b1 q0 @4000\n"
                                "free b2 q0 @7000\n"
                                "alloc b3 16384 q0 @7000 address=0x7f0000004000 pool=1\n"});
}

/* Events by thread, not by time; a block from before that the log frees, and the rest of what lived
 * then; memory that PyTorch reserved; two devices; a gap in the totals. */
static void kineto(void **state)
{
    (void)state;
    gives("kineto/small.json", "kineto", (const char *const[]){"log-cuda_0", "log-cpu", NULL},
          (const char *const[]){"queue 0 \"0\"\n"
                                "thread 0 \"11\"\n"
                                "held b1 1024 q0 t0 address=0x3000\n"
                                "held b2 4096 q0 t0\n"
                                "name 1 \"ProfilerStep#5\"\n"
                                "begin q0 t0 name=1\n"
                                "driver_alloc 2097152 q0 t0 @1500\n"
                                "alloc b3 512 q0 t0 @1500 address=0x1000\n"
                                "thread 1 \"12\"\n"
                                "driver_alloc 20971520 q0 t1 @2000\n"
                                "alloc b4 2048000 q0 t1 @2000 address=0x2000\n"
                                "free b1 q0 t0 @3000\n"
                                "refused 99999999744 q0 t0 @3500\n"
                                "driver_free 20971520 q0 t0 @4000\n"
                                "free b4 q0 t0 @4000\n"
                                "alloc b5 512 q0 t0 @4500 address=0x4000\n"
                                "end q0 t0 @5250 name=1\n",
                                "name 1 \"ProfilerStep#5\"\n"
                                "queue 0 \"0\"\n"
                                "thread 0 \"11\"\n"
                                "begin q0 t0 name=1\n"
                                "alloc b1 8 q0 t0 @2500 address=0x5000\n"
                                "free b1 q0 t0 @2600\n"
                                "end q0 t0 @5250 name=1\n"});
    char *info = info_of("log-cuda_0");
    assert_non_null(strstr(info, "\"lost_beginning\":true"));
    assert_non_null(strstr(info, "changed without an event\":1"));
    assert_non_null(strstr(info, "sizes as the allocator rounded them"));
    free(info);
}

/* The CPU has one trace, whatever number a log gives it. Both numbers had totals that do not add:
 * what was unseen of the one was lost with the memory that held it. */
static void kineto_has_one_cpu(void **state)
{
    (void)state;
    struct text log = {0};
    text_add(&log, "{\"traceEvents\": [");
    for (int i = 0; i < 4; i++)
        text_add(&log,
                 "%s{\"name\": \"[memory]\", \"tid\": 1, \"ts\": %d.0, \"args\": {\"Bytes\": 8, "
                 "\"Device Type\": 0, \"Device Id\": %d, \"Addr\": %d, \"Total Allocated\": 8}}",
                 i ? "," : "", i, i % 2 ? -1 : 8, 8 * i + 8);
    text_add(&log, "]}");
    import_good("cpus", log.data);
    text_free(&log);
    assert_int_equal(totals_of("cpus").peak_bytes, 32);
    char *info = info_of("cpus");
    assert_non_null(strstr(info, "changed without an event\":3"));
    free(info);
}

/* Of PyTorch 2.11 on an H200. The most that its "Total Allocated" says, and what it reserved. */
static void kineto_of_a_real_program(void **state)
{
    (void)state;
    struct import_report report;
    struct error error = {0};
    if (import_log(GAMUT_ROOT "/tests/traces/kineto/mlp.json.gz", NULL, trace_path("mlp.trace"),
                   true, &report, &error))
        fail_msg("%s", error.text);
    import_report_free(&report);
    assert_int_equal(totals_of("mlp-cuda_0").blocks, 146);
    assert_int_equal(totals_of("mlp-cuda_0").peak_bytes, 131251712);
    assert_int_equal(totals_of("mlp-cpu").peak_bytes, 24);
}

static void skip_without_sqlite(void)
{
    void *library = dlopen("libsqlite3.so.0", RTLD_NOW);
    if (!library) {
        print_message("there is no libsqlite3.so.0 (Debian: libsqlite3-0)\n");
        skip();
    }
    dlclose(library);
}

/* Rows out of order; pinned, pageable, managed and static memory; two devices; a free of a block
 * from before. */
static void nsys(void **state)
{
    (void)state;
    skip_without_sqlite();
    gives("nsys/small.sqlite", "nsys", (const char *const[]){"log-cuda_0", "log-cuda_1", NULL},
          (const char *const[]){"queue 0 \"7\"\n"
                                "held b1 4096 q0 address=0x30000\n"
                                "alloc b2 2097152 q0 address=0x10000\n"
                                "alloc b3 65536 q0 @500 address=0x20000 memory=1\n"
                                "free b1 q0 @2000\n"
                                "free b2 q0 @3000\n"
                                "queue 1 \"14\"\n"
                                "alloc b4 512 q1 @3000 address=0x10000\n"
                                "free b3 q0 @4000\n",
                                "queue 0 \"13\"\n"
                                "alloc b1 1048576 q0 @1000 address=0x10000 memory=4\n"});
}

/* The small export with names of its tables and columns replaced by others of the same length. */
static void databases_that_are_no_such_export(void **state)
{
    (void)state;
    skip_without_sqlite();
    static const struct {
        const char *from, *to, *and_from, *and_to, *message;
    } cases[] = {
        {"USAGE_EVENTS", "POWER_EVENTS", "", "",
         "an export of Nsight Systems without memory events: record with nsys profile "
         "--cuda-memory-usage=true"},
        {"USAGE_EVENTS", "POWER_EVENTS", "StringIds", "rocpd_str",
         "a database of rocprofv3 (rocpd); gamut reads the SQLite files of nsys export"},
        {"USAGE_EVENTS", "POWER_EVENTS", "StringIds", "Something",
         "a database without CUDA_GPU_MEMORY_USAGE_EVENTS"},
        {" bytes ", " bites ", "", "", "SQLite: no such column: bytes"},
        {"CREATE TABLE", "CREATE TAXES", "", "", "SQLite: malformed database schema"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct import_report report;
        struct error error = {0};
        struct text file = {0};
        assert_int_equal(text_read_file(&file, GAMUT_ROOT "/tests/traces/nsys/small.sqlite", NULL),
                         0);
        for (size_t at = 0; at + 12 <= file.length; at++) {
            if (memcmp(file.data + at, cases[i].from, strlen(cases[i].from)) == 0)
                memcpy(file.data + at, cases[i].to, strlen(cases[i].to));
            if (memcmp(file.data + at, cases[i].and_from, strlen(cases[i].and_from)) == 0)
                memcpy(file.data + at, cases[i].and_to, strlen(cases[i].and_to));
        }
        int code = import_bytes("database", file.data, file.length, &report, &error);
        import_report_free(&report);
        text_free(&file);
        if (code != ERR_PARSE || !strstr(error.text, cases[i].message))
            fail_msg("%s: code %d, %s", cases[i].message, code, error.text);
    }
}

/* Lifetimes are half open: b2 may have the place of b1. */
static void minimalloc(void **state)
{
    (void)state;
    gives("minimalloc/small.csv", "minimalloc", (const char *const[]){"log", NULL},
          (const char *const[]){"queue 0 \"0\"\n"
                                "alloc b1 4 q0\n"
                                "alloc b2 6 q0\n"
                                "alloc b3 8 q0\n"
                                "free b1 q0\n"
                                "alloc b4 5 q0\n"
                                "free b4 q0\n"
                                "free b2 q0\n"
                                "alloc b5 7 q0\n"
                                "free b5 q0\n"
                                "free b3 q0\n"});
    assert_int_equal(totals_of("log").peak_bytes, 19);
}

static void columns_of_minimalloc_stand_in_any_order(void **state)
{
    (void)state;
    import_good("columns", "size,alignment,lower,upper,offset,id\n"
                           "64,1,5,9,0,x\n"
                           "16,1,5,5,0,never\n"
                           "32,256,-1,5,0,y\n");
    char *text = events_of("columns");
    assert_string_equal(text, "queue 0 \"0\"\n"
                              "alloc b1 32 q0 alignment=256\n"
                              "free b1 q0\n"
                              "alloc b2 64 q0\n"
                              "free b2 q0\n");
    free(text);
}

static void xla_without_times_lives_throughout(void **state)
{
    (void)state;
    gives("xla/small-buffer-assignment.txt", "xla", (const char *const[]){"log", NULL},
          (const char *const[]){
              "name 1 \"allocation 0, parameter 0, shape |f32[100]| at ShapeIndex {}\"\n"
              "queue 0 \"0\"\n"
              "alloc b1 400 q0 name=1\n"
              "name 2 \"allocation 1, output shape is |f32[50]|, maybe-live-out\"\n"
              "alloc b2 200 q0 name=2\n"
              "name 3 \"allocation 2, preallocated-temp\"\n"
              "alloc b3 800 q0 name=3\n"});
    char *info = info_of("log");
    assert_non_null(strstr(info, "\"source\":\"XLA buffer assignment, static\""));
    assert_non_null(strstr(info, "\"knows\":[\"sites\"]"));
    free(info);
}

static void xla_with_live_ranges(void **state)
{
    (void)state;
    gives("xla/small-with-live-range.txt", "xla", (const char *const[]){"log", NULL},
          (const char *const[]){"name 1 \"param.1{}\"\n"
                                "queue 0 \"0\"\n"
                                "alloc b1 400 q0 name=1\n"
                                "name 2 \"fusion.2{0}\"\n"
                                "alloc b2 600 q0 name=2\n"
                                "name 3 \"copy.4{}\"\n"
                                "alloc b3 200 q0 name=3\n"
                                "free b2 q0\n"
                                "name 4 \"add.3{}\"\n"
                                "alloc b4 200 q0 name=4\n"
                                "free b3 q0\n"
                                "free b1 q0\n"
                                "free b4 q0\n"});
}

/* Of JAX 0.11.2 on an H100. XLA reports 20,928,592 bytes at the peak; the trace has the tuples of
 * pointers to results too. */
static void xla_of_a_real_program(void **state)
{
    (void)state;
    struct import_report report;
    struct error error = {0};
    if (import_log(GAMUT_ROOT "/tests/traces/xla/jit_step.txt.gz", NULL, trace_path("jit.trace"),
                   true, &report, &error))
        fail_msg("%s", error.text);
    assert_string_equal(report.importer, "xla");
    import_report_free(&report);
    const struct trace_totals totals = totals_of("jit");
    assert_int_equal(totals.blocks, 67);
    assert_int_equal(totals.peak_bytes, 20928592 + 120);
}

/* Of a recorder: two devices of one name; parts of a block, one of a part; an event of the
 * application's own; a launch of a kernel's copy; a block that is freed before it is done. */
static void raw_of_opencl(void **state)
{
    (void)state;
    gives("raw/small-opencl.raw", "raw",
          (const char *const[]){"log-a_device", "log-a_device_2", NULL},
          (const char *const[]){"name 1 \"app main+0x10\"\n"
                                "queue 0 \"0\"\n"
                                "thread 0 \"0\"\n"
                                "alloc b1 1024 q0 t0 @1000 name=1 call=10 memory=1\n"
                                "alloc b2 2048 q0 t0 @1100 name=1 call=10\n"
                                "alloc b3 4096 q0 t0 @1200 name=1 call=10 memory=1\n"
                                "alloc b4 8192 q0 t0 @1300 name=1 call=10\n"
                                "refused 1099511627776 q0 t0 @1800 name=1 call=10\n"
                                "write 100 q0 t0 @2600 call=10 uses=b1w\n"
                                "wait q0 t0 @2600\n"
                                "queue 1 \"1 (out of order)\"\n"
                                "fill 64 q1 t0 @2700 call=10 uses=b2w\n"
                                "name 2 \"add\"\n"
                                "launch q0 t0 @2800 name=2 call=10 device=777 uses=b1rw\n"
                                "order q1 t0 @2900 other=0\n"
                                "launch q1 t0 @2900 name=2 call=10 device=888 uses=b1rw,b3rw\n"
                                "copy 256 q0 t0 @3000 call=10 uses=b2r,b3w\n"
                                "map 64 q0 t0 @3100 call=10 uses=b3r\n"
                                "wait q0 t0 @3100\n"
                                "unmap q0 t0 @3200 call=10 uses=b3rw\n"
                                "order q0 t0 @3400 other=1\n"
                                "wait q1 t0 @3600 call=10\n"
                                "wait q0 t0 @3600\n"
                                "read 99 q0 t0 @3900 call=10 uses=b1r\n"
                                "wait q0 t0 @3900\n"
                                "name 3 \"phase\"\n"
                                "begin q0 t0 @4100 name=3\n"
                                "free b1 q0 t0 @4500 call=10\n"
                                "done b1 q0 t0 @4500\n"
                                "free b2 q0 t0 @4700 call=10\n"
                                "done b2 q0 t0 @4800\n"
                                "wait q0 t0 @4900 call=10\n"
                                "wait q0 t0 @5000 call=10\n"
                                "wait q1 t0 @5000\n"
                                "end q0 t0 @5100 name=3\n"
                                "free b3 q0 t0 @5200 call=10\n"
                                "done b3 q0 t0 @5200\n"
                                "free b4 q0 t0 @5300 call=10\n"
                                "done b4 q0 t0 @5400\n",
                                "name 1 \"app main+0x10\"\n"
                                "queue 0 \"0\"\n"
                                "thread 0 \"0\"\n"
                                "alloc b1 333 q0 t0 @1400 name=1 call=10\n"
                                "launch q0 t0 @4000 call=10 uses=b1rw\n"
                                "name 2 \"phase\"\n"
                                "begin q0 t0 @4100 name=2\n"
                                "end q0 t0 @5100 name=2\n"
                                "free b1 q0 t0 @5500 call=10\n"});
}

/* Appends a record to the chunk that begins at a byte of the file. */
static void put_raw(unsigned char *chunk_bytes, enum raw_kind kind, uint64_t ticks, uint64_t object,
                    uint64_t result, const uint64_t *words, unsigned count)
{
    struct raw_chunk *chunk = (struct raw_chunk *)chunk_bytes;
    const struct raw_record record = {.ticks = ticks,
                                      .duration = 5,
                                      .kind = kind,
                                      .words = count,
                                      .object = object,
                                      .result = result};
    unsigned char *to = chunk_bytes + sizeof *chunk + chunk->used;
    memcpy(to, &record, sizeof record);
    memcpy(to + sizeof record, words, 8u * count);
    chunk->used += sizeof record + 8u * count;
}

static const struct raw_head cuda_head = {.magic = RAW_MAGIC,
                                          .version = RAW_VERSION,
                                          .chunk_bytes = RAW_CHUNK_BYTES,
                                          .api = "CUDA",
                                          .via = "cupti",
                                          .latest = {10000, 10000}};

/* A device, its context 2 and its queue 3. */
static void put_queue(unsigned char *chunk)
{
    uint64_t device[2] = {1 << 20};
    memcpy(&device[1], "one", 3);
    put_raw(chunk, RAW_device, 100, 1, 0, device, 2);
    put_raw(chunk, RAW_context, 100, 2, 0, (uint64_t[]){1}, 1);
    put_raw(chunk, RAW_queue, 100, 3, 0, (uint64_t[]){2, 0}, 2);
}

static void import_bytes_as_raw(const char *name, const unsigned char *bytes, size_t length)
{
    struct import_report report;
    struct error error = {0};
    if (import_bytes(name, (const char *)bytes, length, &report, &error))
        fail_msg("%s", error.text);
    import_report_free(&report);
}

/* A launch stands in the chunk in progress, and its kernel, which was described at the same tick,
 * in the full one before it, whose copy is further on in the file. */
static void raw_of_a_kernel_that_is_described_at_the_end_of_a_chunk(void **state)
{
    (void)state;
    enum { BYTES = RAW_HEAD_BYTES + 2 * RAW_CHUNK_BYTES };
    unsigned char *bytes = calloc(1, BYTES);
    unsigned char *now = bytes + RAW_HEAD_BYTES, *full = now + RAW_CHUNK_BYTES;
    *(struct raw_head *)bytes = cuda_head;
    *(struct raw_chunk *)now = (struct raw_chunk){.magic = RAW_CHUNK_MAGIC, .sequence = 1};
    *(struct raw_chunk *)full = (struct raw_chunk){.magic = RAW_CHUNK_MAGIC};
    uint64_t name = 0;
    memcpy(&name, "scale", 5);
    put_queue(full);
    put_raw(full, RAW_kernel, 200, 4, 0, &name, 1);
    put_raw(now, RAW_launch, 200, 3, 0, (uint64_t[]){0, 4, 0, 0, 0}, RAW_COMMAND_WORDS);
    struct import_report report;
    struct error error = {0};
    import_bytes_as_raw("chunks", bytes, BYTES);
    ((struct raw_head *)bytes)->version = 3;
    assert_int_equal(import_bytes("older", (const char *)bytes, BYTES, &report, &error), ERR_PARSE);
    assert_non_null(strstr(error.text, "the recording has version 3, and this gamut reads 4"));
    free(bytes);
    char *text = events_of("chunks"), *info = info_of("chunks");
    assert_non_null(strstr(text, "name 1 \"scale\"\n"));
    assert_non_null(strstr(text, "launch q0 t0 @200 name=1 call=5\n"));
    assert_null(strstr(info, "never made"));
    free(text);
    free(info);
}

/* A command of kind `kind` and `bytes` bytes; of what the device did it has `ran`, unless that is
 * NULL. */
static void put_timed(unsigned char *chunk, enum raw_kind kind, uint64_t number, uint64_t bytes,
                      const uint64_t *ran)
{
    const uint64_t event = RAW_EVENT_CORRELATION | number;
    put_raw(chunk, kind, 200 + number, 3, event, (uint64_t[]){0, 0, bytes, 0, 0},
            RAW_COMMAND_WORDS);
    if (ran)
        put_raw(chunk, RAW_ran, 9000, event, 0, ran, 3);
}

static void raw_whose_times_were_lost(void **state)
{
    (void)state;
    enum { BYTES = RAW_HEAD_BYTES + RAW_CHUNK_BYTES };
    static const char lost[] = "\"device times of commands (lost where the application ends by "
                               "_exit or a signal: let it end by exit)\":3";
    static const uint64_t some[] = {70, 500, 0}, none[] = {0, 500, 0};
    unsigned char *bytes = calloc(1, BYTES), *chunk = bytes + RAW_HEAD_BYTES;
    *(struct raw_head *)bytes = cuda_head;
    *(struct raw_chunk *)chunk = (struct raw_chunk){.magic = RAW_CHUNK_MAGIC};
    put_queue(chunk);
    put_timed(chunk, RAW_launch, 1, 0, NULL);
    put_timed(chunk, RAW_fill, 2, 100, NULL);
    put_timed(chunk, RAW_write, 3, 100, NULL);
    /* These lack nothing. */
    put_timed(chunk, RAW_write, 4, 0, NULL);
    put_timed(chunk, RAW_marker, 5, 0, NULL);
    import_bytes_as_raw("untimed", bytes, BYTES);
    char *info = info_of("untimed");
    assert_null(strstr(info, "of commands"));
    free(info);
    /* None of the times was written. */
    ((struct raw_head *)bytes)->timed = 1;
    import_bytes_as_raw("lost", bytes, BYTES);
    info = info_of("lost");
    assert_non_null(strstr(info, lost));
    assert_null(strstr(info, "device_times"));
    assert_null(strstr(info, "\"ends\""));
    free(info);
    /* Some were; the last command took less than a tick of the device's clock. */
    put_timed(chunk, RAW_launch, 6, 0, some);
    put_timed(chunk, RAW_launch, 7, 0, none);
    import_bytes_as_raw("some", bytes, BYTES);
    info = info_of("some");
    assert_non_null(strstr(info, lost));
    assert_non_null(strstr(info, "\"device_times\",\"ends\""));
    free(info);
    free(bytes);
}

/* ---- wrong logs ---- */

#define RMM "Thread,Time,Action,Pointer,Size,Stream\n"
static void wrong_lines_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *log, *message;
    } cases[] = {
        {"hello\n",
         "log: this is no log of a kind that gamut knows; it knows: text, raw, pytorch, "},
        {RMM "1,2\n", "log:2: expected the six fields Thread,Time,Action,Pointer,Size,Stream"},
        {RMM "1,1.5,free,0x1,1,0,7\n", "log:2: expected the six fields Thread,Time,Action,Pointer,"
                                       "Size,Stream, found more"},
        {RMM "1,noon,free,0x1,1,0\n", "log:2: expected a time as 15:47:02.841961, found 'noon'"},
        {RMM "1,1.5,free,zz,1,0\n", "log:2: expected a pointer as 0x10012400000, found 'zz'"},
        {RMM "1,1.5,free,0x1,-1,0\n", "log:2: expected a size in bytes, found '-1'"},
        {RMM "1,1.5,lend,0x1,1,0\n",
         "log:2: expected the action allocate, free, deallocate or allocate failure, found 'lend'"},
        {"{\"General\": {\"bufferImageGranularity\": 1}}",
         "log is a state of VulkanMemoryAllocator"},
        {"{\"schema\": \"1.1.1-chakra.0.0.4\", \"pid\": 7, \"nodes\": []}",
         "log is an execution trace of PyTorch (Chakra)"},
        {"Name,Size(KB),Allocation Time(us),Duration(us),Allocation Total Allocated(MB)\n",
         "log is a table of Ascend's profiler (operator_memory.csv"},
        {"Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Device Type\n",
         "and write a snapshot: torch_npu.npu.memory._dump_snapshot(FILE)"},
        {"# a comment\n#\n{\"kind\":\"replay\",\"event\":\"version\"}\n",
         "log:3: the log has no events"},
        {"PK\3\4", "log is a zip archive, as torch.save writes"},
        {"id,lower,upper,size\n1,x,3,4\n", "log:2: lower is 'x'; expected a whole number"},
        {"{\"category\":\"operation\",\"name\":\"allocate\"}\n",
         "log:1: allocate: expected a pointer as 0x101b2e60"},
        {"{\"category\":\"operation\",\"name\":\"allocate\",\"string_args\":{\"pointer\":\"0x1\"}}"
         "\n",
         "log:1: allocate: expected a number for 'size'"},
        {"{\"category\":\"operation\",\"name\":7}\n{\n", "log:1: expected an 'event' or a 'name'"},
        {"{\"kind\":\"replay\",\"event\":\"version\"}\n{\"kind\n",
         "log:2: expected an object of JSON"},
        {"{\"kind\":\"replay\",\"event\":\"version\"}\n", "log:1: the log has no events"},
        {"{\"traceEvents\": [{\"name\": \"a\"}, {}]}",
         "log: 2 events, and none of them is a [memory] event of PyTorch's profiler: record with "
         "torch.profiler.profile(profile_memory=True)"},
        {"{\"traceEvents\": [{\"name\": \"[mem", "the log ends in the middle, after event 0"},
        {"{\"traceEvents\": [{\"name\": \"[memory]\", \"ts\": 1}]}",
         "event 1 of traceEvents: Object item not found: args"},
        {"{\"traceEvents\": [{\"name\": \"[memory]\", \"ts\": 1, \"args\": {\"Device Type\": 1, "
         "\"Device Id\": 0, \"Bytes\": 4}}]}",
         "event 1 of traceEvents: expected bytes below 2^53, and an address: PyTorch 1.10 and "
         "later "
         "write 'Addr'"},
        {"{\"traceEvents\": [[{\"name\": \"[memory]\"}], {\"name\": \"[memory]\",}]}",
         "event 2 of traceEvents: string or '}' expected"},
        {"{\"traceEvents\": []}}", "after event 0: a '}' too many"},
        {"BufferAssignment:\nallocation x\n",
         "log:2: expected 'allocation N: size BYTES', found 'allocation x'"},
        {"BufferAssignment:\nallocation 0: size 4, constant:\n value: <0 x>\n",
         "log:3: expected 'value: <N NAME> (size=BYTES,offset=N)'"},
        {"BufferAssignment:\n", "the buffer assignment has no allocation"},
        {"BufferAssignment:\nallocation 0: size 4, constant:\n  BufferLiveRange:\n    x{}:5-4\n",
         "log:4: expected 'NAME{INDEX}:FIRST-LAST', found 'x{}:5-4'"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct import_report report;
        struct error error = {0};
        int code = import_bytes("wrong", cases[i].log, strlen(cases[i].log), &report, &error);
        import_report_free(&report);
        if (code != ERR_PARSE || !strstr(error.text, cases[i].message))
            fail_msg("%s: code %d, %s", cases[i].log, code, error.text);
    }
}

/* A memory resource of Umpire, and a block on it. */
static void add_resource(struct text *log, const char *name, unsigned reference, unsigned bytes)
{
    text_add(log,
             "{\"category\":\"operation\",\"name\":\"make_memory_resource\",\"string_args\":"
             "{\"allocator_ref\":\"%#x\"},\"tags\":{\"allocator_name\":\"%s\"}}\n"
             "{\"category\":\"operation\",\"name\":\"allocate\",\"numeric_args\":{\"size\":%u},"
             "\"string_args\":{\"allocator_ref\":\"%#x\",\"pointer\":\"%#x\"}}\n",
             reference, name, bytes, reference, reference);
}

/* The name of a device chooses no folder, and characters that a file's name does not keep still
 * make devices of their own. */
static void devices_have_a_file_each(void **state)
{
    (void)state;
    struct text log = {0};
    add_resource(&log, "../../x/y", 1, 5);
    add_resource(&log, "a^b", 2, 6);
    add_resource(&log, "a/b", 3, 7);
    import_good("paths", log.data);
    text_free(&log);
    assert_int_equal(totals_of("paths-.._.._x_y").requested_bytes, 5);
    assert_int_equal(totals_of("paths-a_b").requested_bytes, 6);
    assert_int_equal(totals_of("paths-a_b-2").requested_bytes, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rmm),
        cmocka_unit_test(times_of_rmm_have_three_forms),
        cmocka_unit_test(rmm_frees_have_two_names),
        cmocka_unit_test(umpire_old_form),
        cmocka_unit_test(umpire_new_form),
        cmocka_unit_test(kineto),
        cmocka_unit_test(kineto_has_one_cpu),
        cmocka_unit_test(kineto_of_a_real_program),
        cmocka_unit_test(nsys),
        cmocka_unit_test(databases_that_are_no_such_export),
        cmocka_unit_test(minimalloc),
        cmocka_unit_test(columns_of_minimalloc_stand_in_any_order),
        cmocka_unit_test(xla_without_times_lives_throughout),
        cmocka_unit_test(xla_with_live_ranges),
        cmocka_unit_test(xla_of_a_real_program),
        cmocka_unit_test(raw_of_opencl),
        cmocka_unit_test(raw_of_a_kernel_that_is_described_at_the_end_of_a_chunk),
        cmocka_unit_test(raw_whose_times_were_lost),
        cmocka_unit_test(wrong_lines_are_named),
        cmocka_unit_test(devices_have_a_file_each),
    };
    return cmocka_run_group_tests(tests, trace_folder_make, trace_folder_remove);
}
