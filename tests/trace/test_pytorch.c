/* Snapshots of PyTorch: pickles of all protocols and JSON give the same trace, real ones give what
 * PyTorch's own history says, and a pickle that would run code is refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/gzip_file.h"
#include "tests/base/cmocka.h"
#include "tests/trace/trace_fixture.h"
#include "trace/import/pytorch.h"
#include "trace/import/pytorch_sites.h"

#define TRACES GAMUT_ROOT "/tests/traces/pytorch/"

static void import_file(const char *file, const char *name)
{
    struct import_report report;
    struct error error = {0};
    char path[256], out[64];
    snprintf(path, sizeof path, TRACES "%s", file);
    snprintf(out, sizeof out, "%s.trace", name);
    if (import_log(path, NULL, trace_path(out), true, &report, &error))
        fail_msg("%s", error.text);
    import_report_free(&report);
}

static const char device_0[] =
    "frame 1 0 \"train.py:9 <module>\"\n"
    "frame 2 1 \"adam.py:182 step\"\n"
    "hidden 3 2 \"torch::unwind\"\n"
    "name 4 \"optimizer's step: train.py:9 <module> > adam.py:182 step\"\n"
    "queue 0 \"0\"\n"
    "held b1 400 q0 granted=512 address=0x7f0000000000 name=4 stack=3\n"
    "name 5 \"before the recording\"\n"
    "held b2 300 q0 address=0x7f0000001000 name=5\n"
    "driver_alloc 2097152 q0 address=0x7f0000000000\n"
    "driver_alloc 2097152 q0 address=0x7f0000600000\n"
    "start q0\n"
    "name 6 \"iteration\"\n"
    "begin q0 name=6\n"
    "done b2 q0\n"
    "driver_alloc 2097152 q0 @10000 address=0x7f0000200000\n"
    "alloc b3 1000 q0 @11000 address=0x7f0000200000 name=4 stack=3\n"
    "queue 1 \"77\"\n"
    "driver_alloc 2097152 q1 @20000 address=0x7f0000400000 pool=1\n"
    "frame 7 0 \"c10::alloc\"\n"
    "name 8 \"c10::alloc\"\n"
    "alloc b4 5000 q1 @21000 address=0x7f0000400000 name=8 stack=7 pool=1\n"
    "end q0 @25000 name=6\n"
    "begin q0 @26000 name=6\n"
    "free b3 q0 @30000\n"
    "alloc b5 2000 q0 @31000 address=0x7f0000200400 name=4 stack=3\n"
    "done b3 q0 @40000\n"
    "refused 1099511627776 q0 @50000\n"
    "free b4 q1 @60000\n"
    "trim q0 @70000\n"
    "driver_free 2097152 q0 @70000 address=0x7f0000600000\n";

static const char device_1[] = "name 1 \"other device\"\n"
                               "queue 0 \"0\"\n"
                               "begin q0 name=1\n"
                               "driver_map 20971520 q0 address=0x7f0000000000\n"
                               "alloc b1 20000000 q0 @1000 address=0x7f0000000000\n"
                               "driver_map 20971520 q0 @2000 address=0x7f0001400000\n"
                               "trim q0 @4000\n"
                               "driver_unmap 20971520 q0 @4000 address=0x7f0001400000\n";

/* Blocks that lived before, phases, call stacks, a private pool, a refused request, two devices. */
static void all_forms_give_the_same_trace(void **state)
{
    (void)state;
    static const char *const files[] = {"small.snapshot-2.pickle", "small.snapshot-3.pickle",
                                        "small.snapshot-4.pickle", "small.snapshot-5.pickle",
                                        "small.snapshot.json"};
    for (unsigned i = 0; i < sizeof files / sizeof *files; i++) {
        import_file(files[i], "small");
        char *first = events_of("small-cuda0"), *second = events_of("small-cuda1");
        assert_string_equal(first, device_0);
        assert_string_equal(second, device_1);
        free(first);
        free(second);
        char *info = info_of("small-cuda0");
        assert_non_null(strstr(info, "\"device\":\"cuda:0\""));
        assert_non_null(strstr(info, "\"lost_beginning\":true"));
        assert_non_null(strstr(info, "\"PYTORCH_CUDA_ALLOC_CONF\":\"max_split_size_mb:64\""));
        free(info);
        info = info_of("small-cuda1");
        assert_non_null(strstr(info, "\"lost_beginning\":false"));
        free(info);
    }
}

/* Leaves out lines that begin with these words. */
static void drop_lines(char *text, const char *const words[])
{
    char *out = text;
    for (char *line = text, *end; *line; line = end) {
        end = strchr(line, '\n') + 1;
        bool keep = true;
        for (unsigned i = 0; words[i]; i++)
            keep = keep && strncmp(line, words[i], strlen(words[i])) != 0;
        if (keep) {
            memmove(out, line, (size_t)(end - line));
            out += end - line;
        }
    }
    *out = 0;
}

static void a_real_snapshot_is_its_history(void **state)
{
    (void)state;
    import_file("gnn.snapshot.pickle.gz", "gnn");
    import_file("gnn.trace.csv.gz", "gnn_csv");
    const struct trace_totals t = totals_of("gnn");
    assert_int_equal(t.blocks, 2120);
    assert_int_equal(t.by_kind[TRACE_begin], 40);
    assert_int_equal(t.by_kind[TRACE_driver_alloc], 20);
    assert_int_equal(t.peak_bytes / 1048576, 1800); /* as PyTorch reported it */
    char *snapshot = events_of("gnn"), *csv = events_of("gnn_csv");
    drop_lines(snapshot, (const char *const[]){"name ", "begin ", "end ", NULL});
    assert_string_equal(snapshot, csv);
    free(snapshot);
    free(csv);
}

static void is_refused(const char *bytes, size_t length, const char *message)
{
    struct import_report report;
    struct error error = {0};
    int code = import_bytes("refused", bytes, length, &report, &error);
    import_report_free(&report);
    if (code != ERR_PARSE || !strstr(error.text, message))
        fail_msg("expected '%s': code %d, %s", message, code, error.text);
}

#define PICKLE(bytes) bytes, sizeof bytes - 1

static void a_pickle_that_would_run_code_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t length;
        const char *message;
    } cases[] = {
        {PICKLE("\x80\x04"
                "cos\nsystem\n."),
         "log: byte 2: GLOBAL is refused"},
        {PICKLE("\x80\x04\x8c\x02os\x8c\x06system\x93."), "log: byte 14: STACK_GLOBAL is refused"},
        {PICKLE("\x80\x02NNR."), "byte 4: REDUCE is refused"},
        {PICKLE("\x80\x02N}b."), "byte 4: BUILD is refused"},
        {PICKLE("\x80\x02(ios\nsystem\n."), "byte 3: INST is refused"},
        {PICKLE("\x80\x02(No."), "byte 4: OBJ is refused"},
        {PICKLE("\x80\x02N)\x81."), "byte 4: NEWOBJ is refused"},
        {PICKLE("\x80\x04N)}\x92."), "byte 5: NEWOBJ_EX is refused"},
        {PICKLE("\x80\x02\x82\x01."), "byte 2: EXT1 is refused"},
        {PICKLE("\x80\x02\x83\x01\x01."), "byte 2: EXT2 is refused"},
        {PICKLE("\x80\x02\x84\x01\x01\x01\x01."), "byte 2: EXT4 is refused"},
        {PICKLE("\x80\x02Pname\n."), "byte 2: PERSID is refused"},
        {PICKLE("\x80\x02NQ."), "byte 3: BINPERSID is refused"},
        {PICKLE("\x80\x05\x97."), "byte 2: NEXT_BUFFER is refused"},
        {PICKLE("\x80\x02\x8f."), "byte 2: 0x8f is no opcode that a log"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        is_refused(cases[i].bytes, cases[i].length, cases[i].message);
}

/* A few hundred bytes can name one list in many places. What is made of it is bounded. */
static void a_pickle_that_shares_values_is_bounded(void **state)
{
    static const char begin[] = "\200\2}(\214\15device_traces]]}(\214\6action\214\10snapshot"
                                "\214\4addrK\0\214\4sizeK\0uaa";
    static const char settings[] = "\214\22allocator_settings}\214\1x]q\0";
    static const char segments[] = "\214\10segments](}(\214\7addressK\0\214\6blocks]}aq\0u}("
                                   "\214\7addressK\1\214\6blocksh\0ueu.";
    struct text pickle = {0};
    (void)state;
    text_add_bytes(&pickle, begin, sizeof begin - 1);
    text_add_bytes(&pickle, settings, sizeof settings - 1);
    for (char level = 0; level < 12; level++) {
        text_add(&pickle, "0](");
        for (unsigned i = 0; i < 10; i++)
            text_add_bytes(&pickle, (const char[]){'h', level}, 2);
        text_add_bytes(&pickle, (const char[]){'e', 'q', (char)(level + 1)}, 3);
    }
    text_add(&pickle, "su.");
    is_refused(pickle.data, pickle.length, "allocator_settings have more than 64 KiB");
    pickle.length = 0;
    text_add_bytes(&pickle, begin, sizeof begin - 1);
    text_add_bytes(&pickle, segments, sizeof segments - 1);
    is_refused(pickle.data, pickle.length, "the blocks of segments[1] are those of another");
    pickle.length = 0;
    text_add(&pickle, "\x80\x02}(");
    for (unsigned i = 0; i <= 4096; i++)
        text_add(&pickle, "NN");
    text_add(&pickle, "u.");
    is_refused(pickle.data, pickle.length, "byte 8198: a dict has more than 4096 members");
    text_free(&pickle);
}

static void a_damaged_pickle_is_refused(void **state)
{
    (void)state;
    is_refused(PICKLE("\x80\x02]"), "byte 3: the pickle has no end: it was cut off");
    is_refused(PICKLE("\x80\x02J\x01\x02"), "byte 2: the pickle ends in the middle of an opcode");
    is_refused(PICKLE("\x80\x02\x8c\x09"
                      "abc"),
               "byte 2: the pickle ends in the middle of a text");
    is_refused(PICKLE("\x80\x02X\xff\xff\xff\xff."), "byte 2: the pickle ends in the middle of");
    is_refused(PICKLE("\x80\x02\x8d\xff\xff\xff\xff\xff\xff\xff\xff."), "byte 2: the pickle ends");
    is_refused(PICKLE("\x80\x02"
                      "a."),
               "byte 2: the pickle is damaged: its stack has too few");
    is_refused(PICKLE("\x80\x02"
                      "NNa."),
               "byte 4: the pickle is damaged: it adds items to what is no");
    is_refused(PICKLE("\x80\x02}NNN\x87s."),
               "byte 7: the pickle is damaged: its stack has too few");
    is_refused(PICKLE("\x80\x02}(Nu."), "byte 5: the pickle is damaged: a dict has a key without");
    is_refused(PICKLE("\x80\x02"
                      "e."),
               "byte 2: the pickle is damaged: there is no mark");
    is_refused(PICKLE("\x80\x02h\x05."), "byte 2: the pickle is damaged: its memo lacks a value");
    is_refused(PICKLE("\x80\x02Nr\xff\xff\xff\x7f."), "byte 3: the pickle is damaged: an index of");
    is_refused(PICKLE("\x80\x02."), "byte 2: the pickle is damaged: its stack has too few");
    is_refused(PICKLE("\x80\x02]."), "expected a snapshot of PyTorch with 'device_traces'");
    /* A list that contains itself. */
    is_refused(PICKLE("\x80\x02]q\x00h\x00"
                      "a."),
               "expected a snapshot of PyTorch");
    is_refused(PICKLE("\x80\x02}q\x00X\x12\x00\x00\x00"
                      "allocator_settingsh\x00sX\x0d\x00\x00\x00"
                      "device_traces]]]aas."),
               "expected a text for 'action'");
}

/* ---- histories of any length ---- */

#define TEXT_OP(t, text) text_add(t, "\x8c%c%s", (int)(sizeof(text) - 1), text)

static void number_op(struct text *t, uint64_t number)
{
    char bytes[10] = {(char)0x8a, 8};
    for (int i = 0; i < 8; i++)
        bytes[2 + i] = (char)(number >> 8 * i);
    text_add_bytes(t, bytes, sizeof bytes);
}

enum { KEYS = 5 };
static const char *const keys[KEYS] = {"action", "addr", "size", "time_us", "frames"};

/* How a pickle is written: items that are added at once (0: one without a mark), members of a dict
 * all at once, the frames from the memo, and the entry itself from the memo. */
struct form {
    unsigned batch;
    bool members_at_once, shares_frames, shares_entries;
};

static void entry_op(struct text *t, unsigned i, const struct form *form, bool is_first)
{
    static const char *const actions[] = {"alloc", "free_requested", "free_completed"};
    text_add(t, "}%s", form->members_at_once ? "(" : "");
    for (unsigned k = 0; k < KEYS; k++) {
        text_add(t, "h%c", (int)k + 1);
        if (k == 0)
            text_add(t, "\x8c%c%s", (int)strlen(actions[i % 3]), actions[i % 3]);
        else if (k < KEYS - 1)
            number_op(t, k == 1 ? 4096 + i / 3 % 64 * 512 : k == 2 ? 512 : 1000 + i);
        else if (form->shares_frames && !is_first)
            text_add(t, "h%c", KEYS + 1);
        else { /* [{"filename": ..., "name": ...}] */
            text_add(t, "]q%c}", KEYS + 1);
            TEXT_OP(t, "filename");
            TEXT_OP(t, "a.py");
            text_add(t, "s");
            TEXT_OP(t, "name");
            TEXT_OP(t, "step");
            text_add(t, "sa");
        }
        text_add(t, form->members_at_once ? "" : "s");
    }
    text_add(t, form->members_at_once ? "u" : "");
    if (form->shares_entries) /* out of the memo and back */
        text_add(t, "q%c0h%c", KEYS + 2, KEYS + 2);
}

static void history_op(struct text *t, unsigned count, const struct form *form)
{
    text_add(t, "]");
    for (unsigned i = 0; i < count; i++) {
        if (form->batch && i % form->batch == 0)
            text_add(t, "(");
        entry_op(t, i, form, i == 0);
        if (!form->batch)
            text_add(t, "a");
        else if (i % form->batch == form->batch - 1 || i == count - 1)
            text_add(t, "e");
    }
}

/* The most memory that this process had. */
static long most_kib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

static void a_history_is_the_same_in_all_forms(void **state)
{
    (void)state;
    enum { ENTRIES = 120000 }; /* some chunks of a file */
    static const struct form forms[] = {
        {ENTRIES, true, true, false},  {1000, true, true, false}, {0, false, true, false},
        {ENTRIES, true, false, false}, {1, true, true, false},    {1000, false, false, true},
        {ENTRIES, true, true, true},
    };
    uint64_t digests[2] = {0};
    long before_kib = 0;
    for (unsigned f = 0; f < sizeof forms / sizeof *forms; f++) {
        struct text t = {0};
        text_add(&t, "\x80\x02");
        for (unsigned k = 0; k < KEYS; k++)
            text_add(&t, "\x8c%c%sq%c0", (int)strlen(keys[k]), keys[k], (int)k + 1);
        text_add(&t, "}(");
        TEXT_OP(&t, "device_traces");
        text_add(&t, "](");
        history_op(&t, ENTRIES, &forms[f]);
        text_add(&t, "]");
        history_op(&t, 6, &forms[f]);
        text_add(&t, "e");
        TEXT_OP(&t, "segments");
        text_add(&t, "]u.");
        struct import_report report;
        struct error error = {0};
        before_kib = f == 0 ? most_kib() : before_kib;
        if (import_bytes("form", t.data, t.length, &report, &error))
            fail_msg("form %u: %s", f, error.text);
        assert_int_equal(report.trace_count, 2);
        for (unsigned d = 0; d < 2; d++) {
            assert_int_equal(report.traces[d].totals.events, d ? 6 : ENTRIES);
            if (f == 0)
                digests[d] = report.traces[d].totals.digest;
            assert_int_equal(report.traces[d].totals.digest, digests[d]);
        }
        import_report_free(&report);
        text_free(&t);
#ifndef GAMUT_DEBUG /* the sanitizers keep what is freed */
        /* The entries of one history would take 40 MiB as values. */
        if (f == 0 && most_kib() - before_kib > 16 << 10)
            fail_msg("the import takes %ld KiB", most_kib() - before_kib);
#endif
    }
}

/* What was left out of a history is unknown of the trace. */
static void skipped_actions_are_unknown(void **state)
{
    (void)state;
#define ENTRY(action, addr) "{\"action\": \"" action "\", \"addr\": " addr ", \"size\": 512}"
#define HISTORY(entries)    "{\"segments\": [], \"device_traces\": [[" entries "]]}"
    static const struct {
        const char *log, *known, *unknown;
    } cases[] = {
        {HISTORY(ENTRY("alloc", "1") "," ENTRY("free_requested", "1")), "\"frees\"", "\"done\""},
        {HISTORY(ENTRY("alloc", "1") "," ENTRY("free_completed", "1")), "\"done\"", "\"frees\""},
    };
    for (unsigned i = 0; i < 2; i++) {
        import_good("skip", cases[i].log);
        char *info = info_of("skip");
        if (!strstr(info, cases[i].known) || strstr(info, cases[i].unknown))
            fail_msg("case %u: %s", i, info);
        free(info);
    }
    const char *no_alloc = HISTORY(ENTRY("segment_alloc", "1") "," ENTRY("free_requested", "1"));
    is_refused(no_alloc, strlen(no_alloc), "device_traces[0] has segments and frees, but no alloc");
}

static void what_has_no_history_is_named(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"[{\"total_size\": 2, \"blocks\": []}]", "this is a list of segments (1), as"},
        {"{\"segments\": [{\"total_size\": 2}]}", "this is a list of segments (1), as"},
        {"{\"segments\": [{}], \"device_traces\": []}", "has segments (1), but no history"},
        {"{\"segments\": [], \"device_traces\": [[]]}", "has segments (0), but no history"},
        {"{\"segments\": []}", "found a dict without them"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        is_refused(cases[i][0], strlen(cases[i][0]), cases[i][1]);
    is_refused(PICKLE("\x80\x02]}\x8c\x0atotal_sizeK\x01sa."),
               "this is a list of segments (1), as");
    is_refused(PICKLE("\x80\x02K\x01."), "found a number without them");
}

static void a_snapshot_cut_anywhere_is_refused(void **state)
{
    (void)state;
    static const char *const files[] = {TRACES "small.snapshot-2.pickle",
                                        TRACES "small.snapshot-4.pickle",
                                        TRACES "small.snapshot-5.pickle"};
    for (unsigned i = 0; i < sizeof files / sizeof *files; i++) {
        struct text whole = {0};
        struct error error = {0};
        assert_int_equal(gzip_read_file(&whole, files[i], 1 << 20, &error), 0);
        for (size_t length = 3; length < whole.length; length++)
            is_refused(whole.data, length, "cut off");
        text_free(&whole);
    }
}

/* The machine that gives entries away one by one is not led to what it gave away. */
static void a_history_that_is_used_again_is_refused(void **state)
{
    (void)state;
#define TRACES_KEY                                                                                 \
    "}\x8c\x0d"                                                                                    \
    "device_traces"
    is_refused(PICKLE("\x80\x02" TRACES_KEY "]]q\x01"
                      "ah\x01"
                      "as."),
               "two devices have the same history");
    /* The pickle ends inside of an entry, which is then the root. */
    is_refused(PICKLE("\x80\x02" TRACES_KEY "]](}\x8c\x01xK\x01s."), "found a dict without them");
    struct text deep = {0};
    text_add(&deep, "\x80\x02" TRACES_KEY "]](}\x8c\x01x");
    for (unsigned i = 0; i < 70; i++)
        text_add(&deep, "]");
    for (unsigned i = 1; i < 70; i++)
        text_add(&deep, "a");
    text_add(&deep, "q\x01h\x01.");
    is_refused(deep.data, deep.length, "more than 64 lists in each other");
    text_free(&deep);
}

static void a_wrong_snapshot_is_named_with_its_entry(void **state)
{
    (void)state;
    static const struct {
        const char *json, *message;
    } cases[] = {
        {"{\"segments\": []}", "expected a snapshot of PyTorch with 'device_traces'"},
        {"{\"segments\": [], \"device_traces\": [[], []]}",
         "but no history: call torch.cuda.memory._record_memory_history()"},
        {"{\"segments\": [], \"device_traces\": [[], [{}]]}",
         "device_traces[1][0]: expected a text for 'action'"},
        {"{\"segments\": [], \"device_traces\": [[{\"action\": \"alloc\"}]]}",
         "device_traces[0][0]: expected a number for 'addr'"},
        {"{\"segments\": [], \"device_traces\": [[{\"action\": \"alloc\", \"addr\": 1}]]}",
         "device_traces[0][0]: expected a number for 'size'"},
        {"{\"segments\": [], \"device_traces\": [[{\"action\": \"lend\", \"addr\": 1, \"size\": "
         "1}]]}",
         "'lend' is no action of an allocator history"},
        {"{\"segments\": [{\"device\": 0}], \"device_traces\": [[{\"action\": \"alloc\", \"addr\": "
         "1, "
         "\"size\": 1}]]}",
         "segments[0]: expected a number for 'address'"},
        {"{\"segments\": [\n1,,", "line 2, column 3: "},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        is_refused(cases[i].json, strlen(cases[i].json), cases[i].message);
}

static void is_events(const char *name, const char *expected)
{
    char *events = events_of(name);
    assert_string_equal(events, expected);
    free(events);
}

#define BLOCK_ENTRY(action, address)                                                               \
    "{\"action\": \"" action "\", \"addr\": " address ", \"size\": 512, \"stream\": 0}"
#define ENTRIES(entries) "{\"segments\": [], \"device_traces\": [[" entries "]]}"

#define FINAL_BLOCK(address, size)                                                                 \
    "{\"address\": " address ", \"size\": " size ", \"state\": \"active_allocated\"}"
#define SEGMENT(address, bytes, blocks)                                                            \
    "{\"device\": 0, \"address\": " address ", \"total_size\": " bytes ", \"blocks\": [" blocks "]}"
#define SEGMENTS(first, second)                                                                    \
    "{\"segments\": [" first "," second                                                            \
    "], \"device_traces\": [[" BLOCK_ENTRY("snapshot", "0") "]]}"

static void a_snapshot_that_contradicts_itself_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *json, *message;
    } cases[] = {
        {ENTRIES(BLOCK_ENTRY("snapshot", "0") "," BLOCK_ENTRY("alloc", "4096") "," BLOCK_ENTRY(
             "alloc", "4096")),
         "entry 2 allocates a block where one lives, by entry 1, at address 0x1000"},
        {ENTRIES(BLOCK_ENTRY("free_completed", "512") "," BLOCK_ENTRY("free_completed", "512")),
         "entry 1 frees a block that is free, by entry 0, at address 0x200"},
        {"{\"segments\": [{\"device\": 0, \"address\": 4096, \"total_size\": 2097152, "
         "\"blocks\": [{\"address\": 4096, \"size\": 512, \"state\": \"active_allocated\"}]}], "
         "\"device_traces\": [[" BLOCK_ENTRY("free_completed", "4096") "]]}",
         "the list of segments has a block that is free, by entry 0, at address 0x1000"},
        {SEGMENTS(SEGMENT("8192", "8192", ""), SEGMENT("4096", "4097", "")),
         "segments[0], at address 0x2000, overlaps segments[1], 4097 bytes at 0x1000. Something"},
        {SEGMENTS(SEGMENT("4096", "4096", ""),
                  SEGMENT("4096", "0", "") "," SEGMENT("8191", "4096", "")),
         "segments[2], at address 0x1fff, overlaps segments[0], 4096 bytes at 0x1000"},
        {SEGMENTS(
             SEGMENT("4096", "1024", FINAL_BLOCK("4096", "512") "," FINAL_BLOCK("4607", "512")),
             SEGMENT("0", "4096", "")),
         "blocks[1] of segments[0], 512 bytes at address 0x11ff, overlaps the block before it, "
         "which ends at 0x1200"},
        {SEGMENTS(SEGMENT("4096", "1024", FINAL_BLOCK("4608", "512") ", {\"size\": 1}"),
                  SEGMENT("8192", "4096", "")),
         "blocks[1] of segments[0], 1 bytes at address 0x1400, lies outside of its segment, which "
         "ends at 0x1400"},
        {SEGMENTS(SEGMENT("4096", "1024", ""), SEGMENT("8192", "4096", FINAL_BLOCK("4096", "512"))),
         "blocks[0] of segments[1], 512 bytes at address 0x1000, lies outside of its segment, "
         "which ends at 0x3000"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        is_refused(cases[i].json, strlen(cases[i].json), cases[i].message);
    /* Segments that touch; a block that is left out; memory of another device. */
    import_good("apart",
                SEGMENTS(SEGMENT("4096", "1024", FINAL_BLOCK("4608", "512")),
                         "{\"device\": 1, \"address\": 4096, \"total_size\": 4096}, " SEGMENT(
                             "5120", "1024", FINAL_BLOCK("5120", "1024"))));
    import_good("again", ENTRIES(BLOCK_ENTRY("free_requested", "512") "," BLOCK_ENTRY(
                             "free_completed", "512") "," BLOCK_ENTRY("alloc", "512")));
}

/* What is granted of a block that lived at the start: the next block began where it ended. One that
 * was given up before the start is still the allocator's. */
static void blocks_of_the_start_end_where_the_next_one_begins(void **state)
{
    (void)state;
    import_good("start",
                "{\"segments\": [{\"device\": 0, \"address\": 4096, \"total_size\": 20971520, "
                "\"stream\": 0, \"blocks\": []}], \"device_traces\": [[" BLOCK_ENTRY(
                    "alloc", "8192") "," BLOCK_ENTRY("free_completed", "4096") "]]}");
    is_events("start", "queue 0 \"0\"\n"
                       "held b1 512 q0 granted=4096 address=0x1000\n"
                       "driver_alloc 20971520 q0 address=0x1000\n"
                       "start q0\n"
                       "alloc b2 512 q0 address=0x2000\n"
                       "done b1 q0\n");
}

/* The history begins in the middle: what an expandable segment had before is what it has at the
 * end, less what was mapped, and more what was unmapped. */
static void an_expandable_segment_begins_with_what_it_had(void **state)
{
    (void)state;
    import_good(
        "ring",
        "{\"segments\": [{\"device\": 0, \"address\": 4194304, \"total_size\": 4194304, "
        "\"stream\": 0, \"is_expandable\": true, \"blocks\": []}, {\"device\": 0, \"address\": "
        "10485760, \"total_size\": 2097152, \"stream\": 0, \"is_expandable\": true, \"blocks\": "
        "[]}], \"device_traces\": [["
        "{\"action\": \"segment_map\", \"addr\": 8388608, \"size\": 4194304, \"stream\": 0},"
        "{\"action\": \"segment_unmap\", \"addr\": 8388608, \"size\": 2097152, "
        "\"stream\": 0}]]}");
    char *text = events_of("ring");
    const char *early = strstr(text, "driver_map q0 granted=20971520 address=0x400000\n"
                                     "driver_map 4194304 q0 address=0x400000\nstart q0\n");
    assert_non_null(early);
    assert_true(early < strstr(text, "driver_map 4194304 q0 address=0x800000\n"));
    free(text);
    char *info = info_of("ring");
    assert_non_null(strstr(info, "\"lost_beginning\":true"));
    free(info);
}

/* Two segments, of which the snapshot has the second only: of a block in the first nothing says
 * whether its pool was private, unless the entries do. */
static void pools_are_known_of_segments_that_are_left(void **state)
{
    (void)state;
    static const struct {
        const char *address, *entry_pool;
        bool known;
        const char *event;
    } cases[] = {
        {"1048576", "", false, "alloc b2 512 q0 address=0x100000\n"},
        {"1048576", ", \"pool_id\": [0, 3]", true, "alloc b2 512 q0 address=0x100000 pool=2\n"},
        {"4194304", "", true, "alloc b2 512 q0 address=0x400000 pool=1\n"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        char json[1024];
        snprintf(
            json, sizeof json,
            "{\"segments\": [{\"device\": 0, \"address\": 4194304, \"total_size\": 2097152, "
            "\"stream\": 0, \"segment_pool_id\": [0, 7], \"blocks\": []}], "
            "\"device_traces\": [["
            "{\"action\": \"free_completed\", \"addr\": 4195328, \"size\": 512, \"stream\": 0},"
            "{\"action\": \"alloc\", \"addr\": %s, \"size\": 512, \"stream\": 0%s},"
            "{\"action\": \"segment_free\", \"addr\": 1048576, \"size\": 2097152, "
            "\"stream\": 0}]]}",
            cases[i].address, cases[i].entry_pool);
        import_good("pools", json);
        char *events = events_of("pools"), *info = info_of("pools");
        assert_non_null(strstr(events, "held b1 512 q0 address=0x400400 pool=1\n"));
        assert_non_null(strstr(events, "done b1 q0\n"));
        if (!strstr(events, cases[i].event) || cases[i].known != !!strstr(info, "\"pools\""))
            fail_msg("case %u: %s%s", i, info, events);
        free(events);
        free(info);
    }
}

/* A snapshot of entries "ACTION ADDRESS BYTES STREAM[ POOL]" and segments of the end
 * "ADDRESS BYTES STREAM POOL", where addresses and bytes are in KiB. */
static void import_kib(const char *const segments[], const char *const entries[])
{
    struct text json = {0};
    char action[24];
    unsigned address, bytes, stream, pool;
    text_add(&json, "{\"segments\": [");
    for (unsigned i = 0; segments[i]; i++) {
        sscanf(segments[i], "%u %u %u %u", &address, &bytes, &stream, &pool);
        text_add(&json,
                 "%s{\"device\": 0, \"address\": %u, \"total_size\": %u, \"stream\": %u, "
                 "\"segment_pool_id\": [%u, 0], \"blocks\": []}",
                 i ? ", " : "", address << 10, bytes << 10, stream, pool);
    }
    text_add(&json, "], \"device_traces\": [[");
    for (unsigned i = 0; entries[i]; i++) {
        const int found =
            sscanf(entries[i], "%23s %u %u %u %u", action, &address, &bytes, &stream, &pool);
        text_add(&json, "%s{\"action\": \"%s\", \"addr\": %u, \"size\": %u, \"stream\": %u",
                 i ? ", " : "", action, address << 10, bytes << 10, stream);
        if (found == 5)
            text_add(&json, ", \"pool_id\": [%u, 0]", pool);
        text_add(&json, "}");
    }
    text_add(&json, "]]}");
    import_good("kib", json.data);
    text_free(&json);
}

/* The rules of pytorch_pools.h. Stream 0 is the program's, stream 5 is that of captures. */
static void pools_of_released_segments_are_inferred(void **state)
{
    (void)state;
    enum { LINES = 12 };
    static const struct {
        const char *name, *segments[LINES], *entries[LINES];
        const char *events; /* without those of blocks that are freed */
        bool known;
    } cases[] = {
        {"the end says that the stream is one of captures",
         {"81920 20480 5 1"},
         {"segment_free 40960 20480 5"},
         "driver_alloc 20971520 q1 address=0x2800000 pool=2\n"
         "driver_alloc 20971520 q1 address=0x5000000 pool=1\n"
         "start q0\ntrim q1\ntrim q1 pool=2\n"
         "driver_free 20971520 q1 address=0x2800000 pool=2\n",
         true},
        {"the end says that the stream's segments are of the common pool too",
         {"81920 20480 5 1", "122880 20480 5 0"},
         {"segment_free 40960 20480 5"},
         "driver_alloc 20971520 q1 address=0x2800000\n"
         "driver_alloc 20971520 q1 address=0x5000000 pool=1\n"
         "driver_alloc 20971520 q1 address=0x7800000\n"
         "start q0\n"
         "driver_free 20971520 q1 address=0x2800000\n",
         true},
        {"small common segments say nothing of large ones",
         {"81920 20480 5 1", "122880 2048 5 0"},
         {"segment_free 40960 20480 5"},
         "driver_alloc 20971520 q1 address=0x2800000 pool=2\n"
         "driver_alloc 20971520 q1 address=0x5000000 pool=1\n"
         "driver_alloc 2097152 q1 address=0x7800000\n"
         "start q0\ntrim q1 pool=2\n"
         "driver_free 20971520 q1 address=0x2800000 pool=2\n",
         true},
        {"another stream is the common pool's",
         {"81920 20480 5 1"},
         {"segment_free 40960 20480 0"},
         "driver_alloc 20971520 q0 address=0x2800000\n"
         "driver_alloc 20971520 q1 address=0x5000000 pool=1\n"
         "start q0\ntrim q0\n"
         "driver_free 20971520 q0 address=0x2800000\n",
         true},
        {"what one stream allocates at a time is of one pool: the end knows it",
         {"81920 20480 5 1", "122880 20480 5 0"},
         {"segment_alloc 40960 20480 5", "alloc 40960 4096 5", "alloc 81920 4096 5",
          "segment_free 40960 20480 5"},
         "driver_alloc 20971520 q1 address=0x5000000 pool=1\n"
         "driver_alloc 20971520 q1 address=0x7800000\n"
         "start q0\n"
         "driver_alloc 20971520 q1 address=0x2800000 pool=1\n"
         "alloc b1 4194304 q1 address=0x2800000 pool=1\n"
         "alloc b2 4194304 q1 address=0x5000000 pool=1\n"
         "trim q1 pool=1\n"
         "driver_free 20971520 q1 address=0x2800000 pool=1\n",
         false},
        {"an allocation of another stream ends a capture",
         {"81920 20480 5 1", "122880 20480 0 0"},
         {"segment_alloc 40960 20480 5", "alloc 40960 4096 5", "alloc 122880 4096 0",
          "alloc 81920 4096 5", "segment_free 40960 20480 5"},
         "driver_alloc 20971520 q1 address=0x5000000 pool=1\n"
         "driver_alloc 20971520 q0 address=0x7800000\n"
         "start q0\n"
         "driver_alloc 20971520 q1 address=0x2800000 pool=2\n"
         "alloc b1 4194304 q1 address=0x2800000 pool=2\n"
         "alloc b2 4194304 q0 address=0x7800000\n"
         "alloc b3 4194304 q1 address=0x5000000 pool=1\n"
         "trim q1\ntrim q1 pool=2\n"
         "driver_free 20971520 q1 address=0x2800000 pool=2\n",
         false},
        {"segments of one run are of one pool, of two runs of two",
         {"81920 20480 5 1"},
         {"segment_free 20480 10240 5", "segment_free 40960 20480 5", "alloc 81920 4 5",
          "segment_free 163840 20480 5"},
         "driver_alloc 10485760 q1 address=0x1400000 pool=3\n"
         "driver_alloc 20971520 q1 address=0x2800000 pool=3\n"
         "driver_alloc 20971520 q1 address=0x5000000 pool=1\n"
         "driver_alloc 20971520 q1 address=0xa000000 pool=2\n"
         "start q0\ntrim q1\ntrim q1 pool=3\n"
         "driver_free 10485760 q1 address=0x1400000 pool=3\n"
         "driver_free 20971520 q1 address=0x2800000 pool=3\n"
         "alloc b1 4096 q1 address=0x5000000 pool=1\n"
         "trim q1\ntrim q1 pool=2\n"
         "driver_free 20971520 q1 address=0xa000000 pool=2\n",
         true},
        {"the end does not know an expandable segment that is unmapped",
         {"81920 20480 5 1"},
         {"free 41984 4 5", "segment_unmap 40960 20480 5"},
         "held b1 4096 q1 address=0x2900000 pool=2\n"
         "driver_map q1 granted=2097152 address=0x2800000 pool=2\n"
         "driver_map 20971520 q1 address=0x2800000 pool=2\n"
         "driver_alloc 20971520 q1 address=0x5000000 pool=1\n"
         "start q0\ndone b1 q1\ntrim q1\ntrim q1 pool=2\n"
         "driver_unmap 20971520 q1 address=0x2800000 pool=2\n",
         false},
        {"a trim before a capture does not say that a later run is one",
         {"81920 2048 5 1"},
         {"segment_free 40960 20480 0 0", "segment_alloc 81920 2048 5 1",
          "segment_alloc 40960 20480 0 0", "segment_free 40960 20480 0 0",
          "segment_alloc 40960 30720 0 0"},
         "driver_alloc 20971520 q0 address=0x2800000\n"
         "start q0\ntrim q0\n"
         "driver_free 20971520 q0 address=0x2800000\n"
         "driver_alloc 2097152 q1 address=0x5000000 pool=1\n"
         "driver_alloc 20971520 q0 address=0x2800000\n"
         "driver_free 20971520 q0 address=0x2800000\n"
         "driver_alloc 31457280 q0 address=0x2800000\n",
         true},
        {"entries of newer versions say it",
         {"81920 20480 5 1"},
         {"alloc 40960 4096 5 9", "segment_free 163840 20480 5 0"},
         "driver_alloc 20971520 q1 address=0x5000000 pool=1\n"
         "driver_alloc 20971520 q1 address=0xa000000\n"
         "start q0\n"
         "alloc b1 4194304 q1 address=0x2800000 pool=2\n"
         "trim q1\n"
         "driver_free 20971520 q1 address=0xa000000\n",
         true},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        import_kib(cases[i].segments, cases[i].entries);
        char *events = events_of("kib"), *info = info_of("kib");
        drop_lines(events, (const char *const[]){"queue ", "name ", NULL});
        if (strcmp(events, cases[i].events) || cases[i].known != !!strstr(info, "\"pools\""))
            fail_msg("%s: %s%s", cases[i].name, info, events);
        free(events);
        free(info);
    }
}

/* Adds the pool of each allocation, trim and released segment: "a1 t0 t2 f2". */
static void add_pools(const char *events, struct text *out)
{
    static const char *const words[] = {"alloc b", "trim ", "driver_free "};
    for (const char *line = events; *line; line += strcspn(line, "\n") + 1) {
        const int length = (int)strcspn(line, "\n");
        const char *pool = memmem(line, (size_t)length, " pool=", 6);
        for (unsigned w = 0; w < 3; w++)
            if (strncmp(line, words[w], strlen(words[w])) == 0)
                text_add(out, "%s%c%u", out->length ? " " : "", "atf"[w],
                         pool ? (unsigned)atoi(pool + 6) : 0);
    }
}

/* Where the rules of pytorch_pools.h end. "81920 20480 5 1" is of a capture in all cases; what is
 * between two releases keeps them from being one run. */
static void rules_of_inferred_pools_have_bounds(void **state)
{
    (void)state;
    enum { LINES = 12 };
    static const struct {
        const char *name, *segments[LINES], *entries[LINES], *pools;
    } cases[] = {
        {"an allocation of another stream ends a stretch, whatever its pool is",
         {"81920 20480 5 1", "245760 20480 7 2"},
         {"alloc 40960 4 5", "alloc 204800 4 7", "alloc 163840 4 5", "segment_free 40960 20480 5",
          "alloc 81920 4 5", "segment_free 204800 20480 7", "alloc 81924 4 5",
          "segment_free 163840 20480 5"},
         "a5 a4 a3 t0 t5 f5 a1 t0 t4 f4 a1 t0 t3 f3"},
        {"so does one in a common segment, which is of no stretch",
         {"81920 20480 5 1", "122880 2048 5 0"},
         {"alloc 40960 4 5", "alloc 122880 4 5", "alloc 163840 4 5", "segment_free 40960 20480 5",
          "alloc 81920 4 5", "segment_free 163840 20480 5"},
         "a3 a0 a2 t0 t3 f3 a1 t0 t2 f2"},
        {"so does a release",
         {"81920 20480 5 1"},
         {"alloc 40960 4 5", "segment_free 204800 20480 5", "alloc 163840 4 5",
          "segment_free 40960 20480 5", "alloc 81920 4 5", "segment_free 163840 20480 5"},
         "a3 t0 t4 f4 a2 t0 t3 f3 a1 t0 t2 f2"},
        {"a stretch joins no two pools that the end knows",
         {"81920 20480 5 1", "163840 20480 5 2"},
         {"alloc 81920 4 5", "alloc 40960 4 5", "alloc 163840 4 5", "segment_free 40960 20480 5"},
         "a1 a2 a2 t0 t2 f2"},
        {"a number comes again when its pool is gone",
         {"81920 20480 5 1"},
         {"segment_alloc 40960 20480 5", "alloc 40960 4 5", "segment_free 40960 20480 5",
          "segment_alloc 163840 20480 5", "alloc 163840 4 5", "segment_free 163840 20480 5"},
         "a2 t0 t2 f2 a2 t0 t2 f2"},
        {"a pool begins with the first of its segments",
         {"81920 20480 5 1"},
         {"segment_alloc 40960 20480 5", "segment_free 204800 20480 5",
          "segment_alloc 163840 20480 5", "alloc 40960 4 5", "alloc 163840 4 5",
          "segment_free 40960 20480 5", "alloc 81920 4 5", "segment_free 163840 20480 5"},
         "t0 t3 f3 a2 a2 t0 t2 f2 a1 t0 t2 f2"},
        {"a MemPool of the default stream has no stretches, and none of the stream's releases",
         {"81920 20480 0 1"},
         {"alloc 40960 4 0", "alloc 81920 4 0", "segment_free 163840 20480 0", "alloc 40964 4 0",
          "segment_free 40960 20480 0"},
         "a0 a1 t0 f0 a0 t0 f0"},
        {"a run has a pool for each stream",
         {"81920 20480 5 1", "245760 20480 7 2"},
         {"segment_free 40960 20480 5", "segment_free 204800 20480 7"},
         "t0 t4 t3 f4 f3"},
        {"a run says nothing of segments that the history makes",
         {"81920 20480 5 1"},
         {"segment_alloc 40960 20480 5", "alloc 40960 4 5", "segment_free 204800 20480 0",
          "segment_alloc 163840 20480 5", "alloc 163840 4 5", "segment_free 40960 20480 5",
          "segment_free 163840 20480 5"},
         "a3 t0 f0 a2 t0 t3 t2 f3 f2"},
        {"large segments speak for small ones where the end has none",
         {"81920 20480 5 1"},
         {"segment_free 40960 2048 5"},
         "t0 t2 f2"},
        {"what was at an address before a segment is not the segment's",
         {"81920 20480 5 1"},
         {"alloc 83968 4 5", "segment_free 71680 20480 5", "segment_alloc 81920 20480 5"},
         "a2 t0 t2 f2"},
        {"a trim releases the common pool first",
         {"81920 20480 5 1", "122880 2048 5 0"},
         {"alloc 122880 4 5", "segment_free 204800 2048 5", "segment_free 40960 20480 5"},
         "a0 t0 t2 f0 f2"},
        {"in another order the common pool is not trimmed",
         {"81920 20480 5 1"},
         {"segment_free 40960 20480 5", "segment_free 204800 20480 0"},
         "t2 f2 f0"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text pools = {0};
        import_kib(cases[i].segments, cases[i].entries);
        char *events = events_of("kib");
        add_pools(events, &pools);
        if (strcmp(pools.data, cases[i].pools))
            fail_msg("%s: %s, not %s\n%s", cases[i].name, pools.data, cases[i].pools, events);
        text_free(&pools);
        free(events);
    }
}

/* A replay has no room for more pools than these. */
static void inferred_pools_are_at_most_32(void **state)
{
    (void)state;
    enum { SEGMENTS = 40 };
    char text[2 * SEGMENTS][40];
    const char *entries[2 * SEGMENTS + 1] = {NULL};
    const char *const segments[] = {"81920 20480 5 1", NULL};
    for (unsigned i = 0; i < SEGMENTS; i++) {
        snprintf(text[2 * i], sizeof *text, "segment_free %u 20480 5", 122880 + i * 20480);
        snprintf(text[2 * i + 1], sizeof *text, "alloc %u 4 5", 81920 + 4 * i);
        entries[2 * i] = text[2 * i];
        entries[2 * i + 1] = text[2 * i + 1];
    }
    import_kib(segments, entries);
    char *events = events_of("kib");
    assert_non_null(strstr(events, " pool=33\n"));
    assert_null(strstr(events, " pool=34\n"));
    free(events);
}

/* Newer versions say whether the ring was full. */
static void the_log_says_whether_it_lost_its_beginning(void **state)
{
    (void)state;
    static const char *const words[] = {"false", "true"};
    for (int i = 0; i < 2; i++) {
        char json[256];
        snprintf(json, sizeof json,
                 "{\"segments\": [], \"trace_alloc_overflowed\": [%s], \"device_traces\": "
                 "[[{\"action\": \"alloc\", \"addr\": 1, \"size\": 1, \"stream\": 0}]]}",
                 words[i]);
        import_good("ring", json);
        char *info = info_of("ring"), expected[64];
        snprintf(expected, sizeof expected, "\"lost_beginning\":%s", words[i]);
        assert_non_null(strstr(info, expected));
        free(info);
    }
}

#define HEAD "action,addr,size,stream,time_us\n"
#define BLOCK(address)                                                                             \
    "alloc," address ",2000000,0,1\nfree_requested," address ",2000000,0,1\n"                      \
    "free_completed," address ",2000000,0,1\n"

/* A history does not say what made the allocator release memory. */
static void releases_are_trims_unless_pytorch_had_another_reason(void **state)
{
    (void)state;
    static const char twice[] = HEAD "segment_alloc,20000000,20971520,0,1\n" BLOCK(
        "20000000") "segment_alloc,60000000,31457280,0,1\n";
    static const struct {
        const char *what, *log;
        unsigned trims;
    } cases[] = {
        {"all that is free goes, and nothing is asked for",
         "segment_free,20000000,20971520,0,2\nsegment_free,60000000,31457280,0,2\n", 1},
        {"then less is held than before",
         "segment_free,20000000,20971520,0,2\nsegment_free,60000000,31457280,0,2\n"
         "segment_alloc,20000000,2097152,0,3\nsegment_alloc,30000000,41943040,0,3\n"
         "segment_alloc,80000000,20971520,0,3\n",
         1},
        {"a retry: more would be held than ever",
         "segment_free,20000000,20971520,0,2\nsegment_free,60000000,31457280,0,2\n"
         "segment_alloc,20000000,41943040,0,3\n",
         0},
        {"a free segment is left", "segment_free,20000000,20971520,0,2\n", 0},
        {"a block is allocated right after a trim of segments below its own",
         "segment_alloc,100000000,41943040,0,2\nalloc,100000000,20000000,0,2\n"
         "segment_free,20000000,20971520,0,2\nsegment_free,60000000,31457280,0,2\n" BLOCK(
             "130000000") "segment_alloc,20000000,20971520,0,3\n"
                          "segment_free,20000000,20971520,0,3\n",
         2},
        {"not the smallest first",
         "segment_free,60000000,31457280,0,2\nsegment_free,20000000,20971520,0,2\n", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text log = {0};
        text_add(&log, "%s%s", twice, cases[i].log);
        import_good("releases", log.data);
        text_free(&log);
        const struct trace_totals totals = totals_of("releases");
        if (totals.by_kind[TRACE_trim] != cases[i].trims)
            fail_msg("%s: %u trims", cases[i].what, (unsigned)totals.by_kind[TRACE_trim]);
    }
}

static void refusals_show_what_could_be_held(void **state)
{
    (void)state;
#define RETRY "segment_free,20000000,20971520,0,2\nsegment_alloc,80000000,41943040,0,3\n"
#define AGAIN "segment_free,80000000,41943040,0,4\nsegment_alloc,20000000,44040192,0,5\n"
    static const struct {
        const char *what, *log, *limit;
    } cases[] = {
        {"no refusal", "", NULL},
        {"a retry", RETRY, "\"limit_least_bytes\":41943040,\"limit_most_bytes\":62914559"},
        {"two retries", RETRY AGAIN,
         "\"limit_least_bytes\":44040192,\"limit_most_bytes\":62914559"},
        {"an oom", "oom,0,31457280,0,2\n",
         "\"limit_least_bytes\":20971520,\"limit_most_bytes\":52428799"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text log = {0};
        text_add(&log, HEAD "segment_alloc,20000000,20971520,0,1\n" BLOCK("20000000") "%s",
                 cases[i].log);
        import_good("limits", log.data);
        text_free(&log);
        char *info = info_of("limits");
        if (cases[i].limit ? !strstr(info, cases[i].limit) : strstr(info, "limit_") != NULL)
            fail_msg("%s: %s", cases[i].what, info);
        free(info);
    }
}

/* Half of what may be held is less than was held when a segment was collected, and no less than was
 * held when a wholly free one was left. */
static void collections_show_what_could_be_held(void **state)
{
    (void)state;
#define CALL(action, address, bytes)                                                               \
    "{\"action\": \"" action "\", \"addr\": " address ", \"size\": " bytes ", \"stream\": 0},"
#define MORE                                                                                       \
    CALL("segment_alloc", "20000000", "2097152") CALL("segment_alloc", "200000000", "104857600")
    static const struct {
        const char *what, *collected, *limit;
        unsigned trims;
    } cases[] = {
        {"nothing is collected", "", NULL, 0},
        {"one of two free segments",
         CALL("segment_free", "20000000", "20971520") CALL("segment_alloc", "20000000", "2097152"),
         "\"limit_least_bytes\":146800640,\"limit_most_bytes\":188743679", 0},
        {"all that is free goes, out of order: less was held before the second round",
         CALL("segment_free", "60000000", "31457280") CALL("segment_free", "20000000", "20971520")
             CALL("segment_free", "100000000", "41943040")
                 CALL("segment_alloc", "20000000", "2097152"),
         "\"limit_least_bytes\":104857600,\"limit_most_bytes\":125829119", 0},
        {"all that is free goes, and more is held than before a collection",
         CALL("segment_free", "20000000", "20971520") CALL("segment_alloc", "20000000", "23068672")
             CALL("segment_free", "20000000", "23068672")
                 CALL("segment_free", "60000000", "31457280")
                     CALL("segment_free", "100000000", "41943040") MORE,
         "\"limit_least_bytes\":146800640,\"limit_most_bytes\":188743679", 0},
        {"all that is free goes, which may be a trim",
         CALL("segment_free", "20000000", "20971520") CALL("segment_free", "60000000", "31457280")
             CALL("segment_free", "100000000", "41943040") MORE,
         NULL, 1},
        {"an oversize segment goes, as it does where the driver refuses",
         CALL("segment_free", "100000000", "41943040")
             CALL("segment_alloc", "200000000", "33554432"),
         NULL, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text json = {0};
        text_add(&json,
                 "{\"segments\": [], \"allocator_settings\": {\"PYTORCH_CUDA_ALLOC_CONF\": "
                 "\"garbage_collection_threshold:0.5,max_split_size_mb:34\"}, \"device_traces\": "
                 "[[" CALL("segment_alloc", "20000000", "20971520") CALL("segment_alloc",
                                                                         "60000000", "31457280")
                     CALL("segment_alloc", "100000000", "41943040") "%s" CALL("snapshot", "0", "0")
                         BLOCK_ENTRY("alloc", "20000000") "]]}",
                 cases[i].collected);
        import_good("collected", json.data);
        text_free(&json);
        const struct trace_totals totals = totals_of("collected");
        char *info = info_of("collected");
        if (totals.by_kind[TRACE_trim] != cases[i].trims)
            fail_msg("%s: %u trims", cases[i].what, (unsigned)totals.by_kind[TRACE_trim]);
        if (cases[i].limit ? !strstr(info, cases[i].limit) : strstr(info, "limit_") != NULL)
            fail_msg("%s: %s", cases[i].what, info);
        free(info);
    }
}

/* A refused request of less than 10 MiB asked for a large segment. */
static void large_segments_bound_what_was_refused(void **state)
{
    (void)state;
#define SIZED(action, bytes)                                                                       \
    "{\"action\":\"" action "\",\"addr\":4096,\"size\":" bytes ",\"stream\":0}"
    static const char head[] =
        "{\"segments\":[],\"device_traces\":[[" SIZED("segment_alloc", "20971520") "," SIZED(
            "alloc",
            "2000000") "," SIZED("free_completed",
                                 "2000000") "," SIZED("oom",
                                                      "9437184") "]],\"allocator_settings\":{"
                                                                 "\"PYTORCH_CUDA_ALLOC_CONF\":\"";
    static const char *const cases[][2] = {{"max_split_size_mb:64", "41943039"},
                                           {"large_segment_size_mb:32", "54525951"},
                                           {"large_segment_size_mb:0", "41943039"},
                                           {"large_segment_size_mb:99999999999", "41943039"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text log = {0};
        text_add(&log, "%s%s\"}}", head, cases[i][0]);
        import_good("sized", log.data);
        text_free(&log);
        char *info = info_of("sized"), *most = strstr(info, "\"limit_most_bytes\":");
        if (!most || strncmp(most + strlen("\"limit_most_bytes\":"), cases[i][1], 8) != 0)
            fail_msg("%s: %s", cases[i][0], info);
        free(info);
    }
}

/* The strategy of the recorded settings is that of their words, or of their values. */
static void settings_are_a_strategy(void **state)
{
    (void)state;
#define LONG "pinned_num_register_threads:1,pinned_use_background_threads:False,"
    static const struct {
        const char *settings, *strategy;
    } cases[] = {
        {"{\"PYTORCH_CUDA_ALLOC_CONF\":\"\",\"max_split_size\":-1}", "caching"},
        {"{\"PYTORCH_CUDA_ALLOC_CONF\":\"expandable_segments:True\"}",
         "caching:conf={expandable_segments:True}"},
        {"{\"PYTORCH_CUDA_ALLOC_CONF\":\"a}:b{\",\"expandable_segments\":true}",
         "caching:conf={expandable_segments:True}"},
        {"{\"PYTORCH_CUDA_ALLOC_CONF\":\"" LONG LONG LONG LONG "\",\"expandable_segments\":true}",
         "caching:conf={expandable_segments:True}"},
        {"{\"max_split_size\":67108864,\"garbage_collection_threshold\":0.5,"
         "\"roundup_power2_divisions\":{\"1\":4,\"2\":2}}",
         "caching:conf={max_split_size_mb:64,garbage_collection_threshold:0.5,"
         "roundup_power2_divisions:[1:4,2:2]}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char strategy[256];
        json_t *settings = json_loads(cases[i].settings, 0, NULL);
        pytorch_strategy(settings, strategy, sizeof strategy);
        json_decref(settings);
        assert_string_equal(strategy, cases[i].strategy);
    }
}

/* ---- sites ---- */

struct frame {
    const char *file, *name;
};

#define TORCH       "/opt/lib/python3.11/site-packages/torch/"
#define MODULE_CALL TORCH "nn/modules/module.py", "_call_impl"
#define LAYER       TORCH "nn/modules/container.py", "forward"
#define UNWOUND                                                                                    \
    {"??", "torch::unwind::unwind()"},                                                             \
        {"??", "torch::CapturedTraceback::gather(bool, bool, bool)"},                              \
        {"memory_snapshot.cpp", "torch::cuda::(anonymous namespace)::gather_with_cpp()"},          \
    {                                                                                              \
        "", "c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::allocate(unsigned "  \
            "long)"                                                                                \
    }
#define BACKWARD                                                                                   \
    {"Functions.cpp", "torch::autograd::generated::ConvolutionBackward0_apply_functional(std::"    \
                      "vector<at::Tensor>)"},                                                      \
        {"??",                                                                                     \
         "torch::autograd::generated::ConvolutionBackward0::apply(std::vector<at::Tensor>)"},      \
        {"??", "torch::autograd::Engine::evaluate_function(std::shared_ptr<int>&)"},               \
        {"??", "std::error_code::default_error_condition() const"},                                \
    {                                                                                              \
        "??", "__clone"                                                                            \
    }

static const struct {
    struct frame frames[16];
    const char *site;
} sites[] = {
    /* Frames of Python alone, base names, and the innermost line of the user's own. */
    {{{"", "at::detail::empty_cuda(c10::Allocator*)"},
      {"/home/me/train.py", "main"},
      {"/home/me/run.py", "<module>"},
      {"<frozen runpy>", "run"}},
     "train.py:7 main"},
    /* What every request has is cut; libraries stand behind the user's own function. */
    {{UNWOUND,
      {"??", "c10::cuda::CUDACachingAllocator::Native::(anonymous namespace)::malloc"},
      {"??", "void c10::StorageImpl::StorageImpl<int, void (*)(long)>(unsigned long)"},
      {"??", "at::detail::empty_generic(c10::ArrayRef<long>)"},
      {"??", "??"},
      {"??", "at::native::add"},
      {"m.cpp", "mine(c10::Allocator*)"}},
     "m.cpp:7 mine > c10::StorageImpl::StorageImpl"},
    {{UNWOUND, {"??", "??"}}, NULL},
    {{{"??", "at::native::add"}, {"m.cpp", "Format::run(int)"}},
     "m.cpp:7 Format::run > at::native::add"},
    /* The last place is for the user's own line. */
    {{{LAYER},
      {LAYER},
      {LAYER},
      {LAYER},
      {LAYER},
      {LAYER},
      {LAYER},
      {LAYER},
      {LAYER},
      {"/a/mine.py", "f"},
      {"/a/main.py", "g"}},
     "mine.py:7 f > container.py:7 forward > container.py:7 forward > container.py:7 forward > "
     "container.py:7 forward > container.py:7 forward > container.py:7 forward > "
     "container.py:7 forward"},
    /* Categories. */
    {{{TORCH "nn/modules/linear.py", "forward"},
      {MODULE_CALL},
      {TORCH "nn/modules/module.py", "_wrapped_call_impl"},
      {"/a/m.py", "loss"}},
     "activations: m.py:7 loss > linear.py:7 forward"},
    {{{TORCH "nn/functional.py", "relu"}, {"/a/m.py", "loss"}},
     "activations: m.py:7 loss > functional.py:7 relu"},
    {{{"/a/m.py", "forward"}, {MODULE_CALL}, {"/a/m.py", "loss"}}, "activations: m.py:7 forward"},
    {{{"/a/m.py", "_call_impl"}, {"/a/m.py", "loss"}}, "m.py:7 _call_impl"},
    {{{TORCH "nn/modules/module.py", "<lambda>"},
      {TORCH "nn/modules/module.py", "_apply"},
      {TORCH "nn/modules/module.py", "cuda"},
      {"/a/m.py", "main"}},
     "parameters: m.py:7 main > module.py:7 cuda > module.py:7 <lambda>"},
    {{{TORCH "nn/modules/linear.py", "__init__"}, {"/a/m.py", "__init__"}},
     "parameters: m.py:7 __init__ > linear.py:7 __init__"},
    /* A lazy module makes its parameters in its first forward pass. */
    {{{TORCH "nn/parameter.py", "materialize"}, {MODULE_CALL}, {"/a/m.py", "main"}},
     "parameters: m.py:7 main > parameter.py:7 materialize"},
    {{{TORCH "optim/adam.py", "_init_group"},
      {TORCH "optim/adam.py", "step"},
      {TORCH "optim/optimizer.py", "wrapper"},
      {"/a/m.py", "main"}},
     "optimizer's state: m.py:7 main > adam.py:7 step > adam.py:7 _init_group"},
    {{{TORCH "optim/adam.py", "adam"}, {"/a/m.py", "main"}},
     "optimizer's step: m.py:7 main > adam.py:7 adam"},
    {{{TORCH "optim/sgd.py", "_multi_tensor_sgd"}, {"/a/m.py", "main"}},
     "optimizer's state?: m.py:7 main > sgd.py:7 _multi_tensor_sgd"},
    {{{TORCH "optim/optimizer.py", "_process_value_according_to_param_policy"},
      {"/a/m.py", "load"}},
     "optimizer's state: m.py:7 load > optimizer.py:7 _process_value_according_to_param_policy"},
    {{{TORCH "autograd/__init__.py", "_make_grads"},
      {TORCH "_tensor.py", "backward"},
      {"/a/m.py", "main"}},
     "gradients: m.py:7 main > _tensor.py:7 backward > __init__.py:7 _make_grads"},
    /* What is computed again in the backward pass is an activation. */
    {{{TORCH "nn/modules/linear.py", "forward"},
      {MODULE_CALL},
      {"/a/m.py", "block"},
      {"/a/m.py", "backward"}},
     "activations: m.py:7 block > linear.py:7 forward"},
    /* A thread of the backward pass has the operator in the place of the user's own line. */
    {{UNWOUND,
      {"??", "at::detail::empty_cuda(c10::ArrayRef<long>)"},
      {"??", "at::native::cudnn_convolution_backward_input(char const*, c10::ArrayRef<long>)"},
      BACKWARD},
     "gradients: ConvolutionBackward0 > at::native::cudnn_convolution_backward_input"},
    {{UNWOUND,
      {"??", "at::(anonymous namespace)::(anonymous namespace)::wrapper_CUDA__mm(at::Tensor)"},
      {"??", "at::_ops::mm::call(at::Tensor const&)"},
      BACKWARD},
     "gradients: ConvolutionBackward0"},
    {{UNWOUND, {"??", "at::native::run_conv_plan(cudnnContext*)"}, BACKWARD},
     "cuDNN workspaces: ConvolutionBackward0 > at::native::run_conv_plan"},
    {{UNWOUND,
      {"??", "at::native::run_conv_plan(cudnnContext*)"},
      {TORCH "nn/modules/conv.py", "forward"},
      {MODULE_CALL},
      {"/a/m.py", "loss"}},
     "cuDNN workspaces: m.py:7 loss > conv.py:7 forward"},
    {{UNWOUND, {"??", "at::cuda::getCUDABlasLtWorkspace()"}, {"/a/m.py", "main"}},
     "cuBLAS workspaces: m.py:7 main"},
};

static void a_site_has_the_frames_that_say_where(void **state)
{
    (void)state;
    struct pytorch_site site = {0};
    for (unsigned i = 0; i < sizeof sites / sizeof *sites; i++) {
        pytorch_site_begin(&site);
        for (const struct frame *f = sites[i].frames; f->name; f++)
            pytorch_site_add(&site, f->file, f->name,
                             strchr(f->file, '/') || f->file[0] == 'm' ? 7 : 0);
        pytorch_site_end(&site);
        if (sites[i].site)
            assert_string_equal(site.text.data, sites[i].site);
        else
            assert_int_equal(site.text.length, 0);
    }
    text_free(&site.text);
}

static void a_frame_says_no_folder_of_its_machine(void **state)
{
    static const struct {
        const char *file, *name, *text;
        bool is_hidden;
    } cases[] = {
        {"/home/me/train.py", "main", "train.py:7 main", false},
        {MODULE_CALL, "torch/nn/modules/module.py:7 _call_impl", true},
        {LAYER, "torch/nn/modules/container.py:7 forward", false},
        {"/usr/lib/python3.12/runpy.py", "run", "python3.12/runpy.py:7 run", false},
        {"/usr/lib/python3/dist-packages/a/b.py", "f", "a/b.py:7 f", false},
        {"/build/m.cpp", "at::native::add(at::Tensor const&)", "m.cpp:7 at::native::add", false},
        {"ceval.c", "_PyEval_EvalFrameDefault", "ceval.c:7 _PyEval_EvalFrameDefault", true},
        {"??", "torch::unwind::unwind()", "torch::unwind::unwind", true},
        {"??", "??", "??", true},
        {"<stdin>", "<module>", "<stdin>:7 <module>", true},
        {NULL, NULL, "?", false},
    };
    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text text = {0};
        assert_int_equal(pytorch_frame_text(cases[i].file, cases[i].name, 7, &text),
                         cases[i].is_hidden);
        assert_string_equal(text.data, cases[i].text);
        text_free(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_forms_give_the_same_trace),
        cmocka_unit_test(a_real_snapshot_is_its_history),
        cmocka_unit_test(a_pickle_that_would_run_code_is_refused),
        cmocka_unit_test(a_damaged_pickle_is_refused),
        cmocka_unit_test(a_pickle_that_shares_values_is_bounded),
        cmocka_unit_test(a_history_is_the_same_in_all_forms),
        cmocka_unit_test(skipped_actions_are_unknown),
        cmocka_unit_test(what_has_no_history_is_named),
        cmocka_unit_test(a_snapshot_cut_anywhere_is_refused),
        cmocka_unit_test(a_history_that_is_used_again_is_refused),
        cmocka_unit_test(a_wrong_snapshot_is_named_with_its_entry),
        cmocka_unit_test(a_snapshot_that_contradicts_itself_is_refused),
        cmocka_unit_test(blocks_of_the_start_end_where_the_next_one_begins),
        cmocka_unit_test(an_expandable_segment_begins_with_what_it_had),
        cmocka_unit_test(pools_are_known_of_segments_that_are_left),
        cmocka_unit_test(pools_of_released_segments_are_inferred),
        cmocka_unit_test(rules_of_inferred_pools_have_bounds),
        cmocka_unit_test(inferred_pools_are_at_most_32),
        cmocka_unit_test(the_log_says_whether_it_lost_its_beginning),
        cmocka_unit_test(releases_are_trims_unless_pytorch_had_another_reason),
        cmocka_unit_test(refusals_show_what_could_be_held),
        cmocka_unit_test(collections_show_what_could_be_held),
        cmocka_unit_test(large_segments_bound_what_was_refused),
        cmocka_unit_test(settings_are_a_strategy),
        cmocka_unit_test(a_site_has_the_frames_that_say_where),
        cmocka_unit_test(a_frame_says_no_folder_of_its_machine),
    };
    return cmocka_run_group_tests(tests, trace_folder_make, trace_folder_remove);
}
