/* Damaged traces and logs: fuzz_trace [--count N] [--seed S] LOG...
 *
 * Each round takes one of the logs, changes some of its bytes, lines or numbers, and imports it. A
 * log that is accepted must give a trace that reads to its end, and whose text gives the same trace
 * again. The trace itself is damaged too: in its bytes, and in the contents and headers of its
 * chunks under right checksums. In raw recordings words become those of other records. Build it
 * with FLAVOUR=sanitize. A log that fails is kept beside the trace, whose folder is printed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/arena.h"
#include "base/gzip_file.h"
#include "base/random.h"
#include "replay/waits.h"
#include "trace/codec.h"
#include "trace/edit.h"
#include "trace/import.h"
#include "trace/raw.h"
#include "trace/text.h"

static char folder[] = "/dev/shm/gamut-fuzz-XXXXXX";
static unsigned long long accepted, refused, read_whole, waits_found;

static const char *path_of(const char *name)
{
    static char paths[4][64];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof *paths, "%s/%s", folder, name);
    return path;
}

static void give_up(const char *why, const struct error *error)
{
    printf("%s: %s: %s\n", folder, why, error->text);
    exit(1);
}

static void must_write(const struct text *t, const char *name)
{
    struct error error = {0};
    if (text_write_file(t, path_of(name), &error))
        give_up("the fuzzer itself", &error);
}

/* ---- mutations ---- */

static const char *const words[] = {
    "0",
    "1",
    "-1",
    "18446744073709551615",
    "99999999999999999999",
    "0x",
    ",",
    "\n",
    "\"",
    "{",
    "}",
    "]",
    "b1",
    "q0",
    "free",
    "=",
    "",
    ":",
    " ",
    "@7",
    "e9",
    "nan",
    "null",
    "\xff",
    "uses=b1rw",
};

static void splice(struct text *t, size_t at, size_t removed, const char *bytes, size_t length)
{
    struct text out = {0};
    text_add_bytes(&out, t->data, at);
    text_add_bytes(&out, bytes, length);
    text_add_bytes(&out, t->data + at + removed, t->length - at - removed);
    text_free(t);
    *t = out;
}

static size_t line_at(const struct text *t, size_t at)
{
    while (at > 0 && t->data[at - 1] != '\n')
        at--;
    return at;
}

static void mutate(struct text *t, struct random *r)
{
    for (uint64_t n = 1 + random_below(r, 4); n > 0 && t->length > 0; n--) {
        const size_t at = random_below(r, t->length), rest = t->length - at;
        const char *word = words[random_below(r, sizeof words / sizeof *words)];
        const size_t line = line_at(t, at), length = strcspn(t->data + line, "\n") + 1;
        char copy[256];
        const size_t copied = length < sizeof copy ? length : sizeof copy;
        switch (random_below(r, 8)) {
        case 0:
            t->data[at] ^= (char)(1 << random_below(r, 8));
            break;
        case 1:
            t->data[at] = (char)random_below(r, 256);
            break;
        case 2: /* a word or number becomes another */
            splice(t, at, strspn(t->data + at, "0123456789abcdefx"), word, strlen(word));
            break;
        case 3:
            splice(t, at, 0, word, strlen(word));
            break;
        case 4:
            splice(t, at, random_below(r, rest < 40 ? rest : 40), "", 0);
            break;
        case 5: /* a line goes */
            splice(t, line, length < t->length - line ? length : t->length - line, "", 0);
            break;
        case 6: /* a line comes twice */
            memcpy(copy, t->data + line, line + copied <= t->length ? copied : 0);
            splice(t, line, 0, copy, line + copied <= t->length ? copied : 0);
            break;
        default:
            if (random_below(r, 4) == 0)
                splice(t, at, rest, "", 0);
        }
    }
}

static uint64_t word_at(const struct text *t, size_t at)
{
    uint64_t word;
    memcpy(&word, t->data + at, sizeof word);
    return word;
}

static bool is_raw(const struct text *t)
{
    return t->length >= RAW_HEAD_BYTES + RAW_CHUNK_BYTES &&
           memcmp(t->data, RAW_MAGIC, strlen(RAW_MAGIC)) == 0;
}

/* Damages the records of a raw recording's first chunk, and now and then its head and the
 * chunk's. */
static void mutate_raw(struct text *t, struct random *r)
{
    const size_t chunk = RAW_HEAD_BYTES, first = chunk + sizeof(struct raw_chunk);
    const uint64_t used = word_at(t, chunk + offsetof(struct raw_chunk, used));
    for (uint64_t n = 1 + random_below(r, 6); n > 0 && used >= 8; n--) {
        size_t at = first + random_below(r, used) / 8 * 8;
        uint64_t word = word_at(t, first + random_below(r, used) / 8 * 8);
        if (random_below(r, 16) == 0)
            at = (random_below(r, 2) ? chunk : 0) + random_below(r, sizeof(struct raw_chunk));
        switch (random_below(r, 6)) {
        case 0:
            t->data[at + random_below(r, 8)] ^= (char)(1 << random_below(r, 8));
            continue;
        case 1:
            word = UINT64_MAX << random_below(r, 64);
            break;
        case 2:
            word = random_below(r, 5);
            break;
        case 3: /* another kind of record, if a record's second word is here */
            word = word_at(t, at);
            word ^= (word ^ random_below(r, RAW_KINDS) << 40) & UINT64_C(0xff0000000000);
            break;
        default: /* another handle, number or stamp of this recording */
            break;
        }
        memcpy(t->data + at, &word, sizeof word);
    }
}

static uint32_t get_u32(const char *bytes)
{
    const unsigned char *b = (const unsigned char *)bytes;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static void set_u32(char *bytes, uint32_t number)
{
    for (int i = 0; i < 4; i++)
        bytes[i] = (char)(number >> 8 * i);
}

/* Damages the contents of the first chunk, sometimes its header, and gives it right checksums. */
static void mutate_chunk(struct text *file, struct random *r)
{
    const size_t head = TRACE_MAGIC_BYTES + 8 + get_u32(file->data + TRACE_MAGIC_BYTES + 4) + 4;
    const uint32_t packed = get_u32(file->data + head), bytes = get_u32(file->data + head + 4);
    char *contents = must_alloc(bytes);
    if (ZSTD_decompress(contents, bytes, file->data + head + TRACE_CHUNK_HEAD_BYTES, packed) ==
            bytes &&
        bytes > 0) {
        for (uint64_t n = 1 + random_below(r, 3); n > 0; n--)
            contents[random_below(r, bytes)] ^= (char)(1 << random_below(r, 8));
        const size_t most = ZSTD_compressBound(bytes);
        char *again = must_alloc(most + TRACE_CHUNK_HEAD_BYTES);
        unsigned char *packed_again = (unsigned char *)again + TRACE_CHUNK_HEAD_BYTES;
        const size_t length = ZSTD_compress(packed_again, most, contents, bytes, 1);
        memcpy(again, file->data + head, TRACE_CHUNK_HEAD_BYTES);
        set_u32(again, (uint32_t)length);
        set_u32(again + 12, (uint32_t)crc32(0, packed_again, (unsigned)length));
        if (random_below(r, 4) == 0)
            again[random_below(r, 16)] ^= (char)(1 << random_below(r, 8));
        set_u32(again + 16, (uint32_t)crc32(TRACE_VERSION, (const unsigned char *)again, 16));
        splice(file, head, TRACE_CHUNK_HEAD_BYTES + packed, again, TRACE_CHUNK_HEAD_BYTES + length);
        free(again);
    }
    free(contents);
}

/* ---- what is checked ---- */

static int read_all(const char *path, struct trace_totals *totals, struct error *error)
{
    struct trace_reader *reader;
    struct trace_event event;
    TRY(trace_open(path, &reader, error));
    int more;
    while ((more = trace_next(reader, &event, error)) > 0)
        continue;
    *totals = *trace_reader_totals(reader);
    struct trace_totals at_end;
    if (!more && !trace_read_totals(reader, &at_end))
        more = 1;
    trace_close(reader);
    return more;
}

/* Reads each trace that the log gives; the first one stays as `out`. */
static int import_file(const char *log, const char *out, struct error *error)
{
    struct import_report report;
    struct trace_totals totals;
    int code = import_log(log, NULL, out, true, &report, error);
    for (unsigned i = 0; !code && i < report.trace_count; i++) {
        if (read_all(report.traces[i].path, &totals, error))
            give_up("an imported trace is not read", error);
        if (memcmp(&totals, &report.traces[i].totals, sizeof totals) != 0)
            give_up("an imported trace is another than was written", error);
    }
    if (!code && strcmp(report.traces[0].path, out) != 0 && rename(report.traces[0].path, out) != 0)
        give_up("the fuzzer itself", error);
    import_report_free(&report);
    return code;
}

/* The text of the trace gives the same trace. */
static void check_text(const char *trace, const struct trace_totals *totals)
{
    struct trace_reader *reader;
    struct error error = {0};
    struct trace_totals again;
    FILE *out = fopen(path_of("text"), "w");
    if (!out || trace_open(trace, &reader, &error) || trace_print(reader, out, &error))
        give_up("a trace that was read cannot be printed", &error);
    fclose(out);
    trace_close(reader);
    if (import_file(path_of("text"), path_of("again.trace"), &error) ||
        read_all(path_of("again.trace"), &again, &error))
        give_up("the text of a trace is not read", &error);
    if (again.digest != totals->digest)
        give_up("the text of a trace gives another trace", &error);
}

/* Who waited in a trace that is read to its end, if it has the times and commands that this
 * takes. */
static void check_waits(const char *trace)
{
    struct trace_reader *reader;
    struct error error = {0};
    struct waits waits;
    if (trace_open(trace, &reader, &error))
        give_up("a trace that was read is gone", &error);
    const int code = waits_read(reader, &waits, &error);
    waits_found += code == 0;
    if (code == ERR_PARSE || code == ERR_IO || code == ERR_INTERNAL)
        give_up("the waits of a trace that was read", &error);
    waits_free(&waits);
    trace_close(reader);
}

/* What a damaged trace gives before it is refused is no larger than a sound one of its size. */
static void check_export(const char *trace, size_t length)
{
    struct trace_reader *reader;
    struct error error;
    if (trace_open(trace, &reader, &error))
        return;
    FILE *out = fopen(path_of("export"), "w");
    if (out)
        trace_export_perfetto(reader, out, &error);
    if (!out || (uint64_t)ftell(out) > ((uint64_t)length + 64) << 14)
        give_up("an export is too large for its trace", &error);
    fclose(out);
    trace_close(reader);
}

/* Damages the trace; it may be refused, but must not do harm. */
static void check_damage(const char *trace, struct random *r)
{
    struct text file = {0};
    struct error error = {0};
    struct trace_totals totals;
    if (text_read_file(&file, trace, &error))
        give_up("a trace that was read is gone", &error);
    if (random_below(r, 4) == 0)
        mutate(&file, r);
    else
        mutate_chunk(&file, r);
    must_write(&file, "damaged.trace");
    check_export(path_of("damaged.trace"), file.length);
    text_free(&file);
    if (read_all(path_of("damaged.trace"), &totals, &error))
        return;
    read_whole++;
    if (random_below(r, 4) == 0)
        check_waits(path_of("damaged.trace"));
}

static void round_of(const struct text *log, struct random *r)
{
    struct text t = {0};
    struct error error = {0};
    struct trace_totals totals;
    text_add_bytes(&t, log->data, log->length);
    if (is_raw(&t) && random_below(r, 8))
        mutate_raw(&t, r);
    else if (random_below(r, 50))
        mutate(&t, r);
    must_write(&t, "log");
    text_free(&t);
    int code = import_file(path_of("log"), path_of("trace.trace"), &error);
    refused += code != 0;
    if (code)
        return;
    accepted++;
    if (read_all(path_of("trace.trace"), &totals, &error))
        give_up("an imported trace is not read", &error);
    check_text(path_of("trace.trace"), &totals);
    check_waits(path_of("trace.trace"));
    for (int i = 0; i < 20; i++)
        check_damage(path_of("trace.trace"), r);
}

int main(int argc, char **argv)
{
    unsigned long long count = 1000, seed = 1;
    struct text *logs = must_alloc((size_t)argc * sizeof *logs);
    unsigned log_count = 0;
    for (int i = 1; i < argc; i++) {
        struct error error = {0};
        if (strcmp(argv[i], "--count") == 0 && i + 1 < argc)
            count = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            seed = strtoull(argv[++i], NULL, 10);
        else if (gzip_read_file(&logs[log_count++], argv[i], TEXT_MOST_BYTES, &error))
            give_up("a log", &error);
    }
    if (!log_count || !mkdtemp(folder)) {
        fprintf(stderr, "usage: fuzz_trace [--count N] [--seed S] LOG...\n");
        return 2;
    }
    struct random r = {seed};
    for (unsigned long long i = 0; i < count; i++)
        round_of(&logs[i % log_count], &r);
    printf("fuzz_trace: %llu logs imported, %llu refused; %llu damaged traces read, and the waits "
           "of %llu\n",
           accepted, refused, read_whole, waits_found);
    for (unsigned i = 0; i < log_count; i++)
        text_free(&logs[i]);
    free(logs);
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}
