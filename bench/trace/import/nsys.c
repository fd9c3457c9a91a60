/* The SQLite database of Nsight Systems: nsys profile --cuda-memory-usage=true, then
 * nsys export --type sqlite. A row of its table CUDA_GPU_MEMORY_USAGE_EVENTS is a call that
 * allocates or frees:
 *
 *     start      globalPid        deviceId  address          bytes    memKind  memoryOperationType
 *     712334815  281518374289408  0         140122104430592  2097152  2        0
 *
 * The calls are the application's calls to CUDA: of a program with an allocator of its own, such as
 * PyTorch, they are the segments and not the blocks. memKind is 0 pageable, 1 pinned, 2 device,
 * 3 array, 4 managed, 5 static, 6 managed static or 7 unknown; memoryOperationType is 0 for an
 * allocation and 1 for a free (ENUM_CUDA_MEM_KIND, ENUM_CUDA_DEV_MEM_EVENT_OPER of the export).
 * Memory that is mapped by cuMemCreate is not in the table. Bits 24 to 47 of globalPid are the
 * process.
 *
 * The database is read by libsqlite3, which is loaded when it is needed. It comes from strangers:
 * it is opened for reading, and the work is bounded by the size of the file.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/driver_memory.h"
#include "trace/import.h"

static const char magic[] = "SQLite format 3", library_name[] = "libsqlite3.so.0";

/* X(result, name, parameters), as sqlite3.h declares them. */
#define SQLITE_FUNCTION_LIST(X)                                                                    \
    X(int, sqlite3_open_v2, (const char *, void **, int, const char *))                            \
    X(int, sqlite3_close, (void *))                                                                \
    X(const char *, sqlite3_errmsg, (void *))                                                      \
    X(void, sqlite3_progress_handler, (void *, int, int (*)(void *), void *))                      \
    X(int, sqlite3_prepare_v2, (void *, const char *, int, void **, const char **))                \
    X(int, sqlite3_limit, (void *, int, int))                                                      \
    X(int, sqlite3_step, (void *))                                                                 \
    X(int, sqlite3_finalize, (void *))                                                             \
    X(const char *, sqlite3_column_name, (void *, int))                                            \
    X(int, sqlite3_column_type, (void *, int))                                                     \
    X(int64_t, sqlite3_column_int64, (void *, int))

enum { SQLITE_OPEN_READONLY = 1, SQLITE_INTEGER = 1, SQLITE_ROW = 100 };
enum { SQLITE_DONE = 101, SQLITE_LIMIT_LENGTH = 0, STEPS_A_CALL = 10000, VALUE_MOST = 1 << 20 };

#define MEMBER(result, name, parameters) result(*name) parameters;
struct sqlite_api {
    SQLITE_FUNCTION_LIST(MEMBER)
};

/* The columns that are asked for, in this order. Older exports lack the last ones. */
#define COLUMNS_OF_ALL "start, globalPid, deviceId, address, bytes, memKind, memoryOperationType"
enum { START, PROCESS, DEVICE, ADDRESS, BYTES, KIND, OPERATION, STREAM, POOL };

struct nsys {
    struct import *log;
    struct sqlite_api api;
    void *database;
    uint64_t calls_left; /* of STEPS_A_CALL steps of SQLite's machine */
    uint64_t first_ns;
    uint64_t row_count, pageable_count; /* pageable memory is left out */
    bool has_processes, has_streams;    /* several; the export says which */
};

/* ---- SQLite ---- */

static int load(struct nsys *n, struct error *error)
{
#define FUNCTION(result, name, parameters) {#name, offsetof(struct sqlite_api, name)},
    static const struct {
        const char *name;
        size_t offset;
    } functions[] = {SQLITE_FUNCTION_LIST(FUNCTION)};
    void *library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        return error_set(error, ERR_UNSUPPORTED,
                         "%s is an SQLite database, and there is no %s to read it: install SQLite "
                         "(Debian, Ubuntu: libsqlite3-0; Fedora: sqlite-libs)",
                         import_path(n->log), library_name);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *found = dlsym(library, functions[i].name);
        if (!found)
            return error_set(error, ERR_UNSUPPORTED, "%s has no %s", library_name,
                             functions[i].name);
        memcpy((char *)&n->api + functions[i].offset, &found, sizeof found);
    }
    return 0;
}

static int sqlite_error(const struct nsys *n, struct error *error)
{
    return import_error(n->log, error, "SQLite: %s%s", n->api.sqlite3_errmsg(n->database),
                        n->calls_left ? ""
                                      : " after more work than a good file of this size takes");
}

static int count_down(void *context)
{
    struct nsys *n = context;
    n->calls_left -= n->calls_left > 0;
    return n->calls_left == 0;
}

static int open_database(struct nsys *n, struct error *error)
{
    const char *path = import_path(n->log);
    struct stat file;
    unsigned char start[2] = {0};
    FILE *in = fopen(path, "rb");
    const bool read = in && fread(start, 1, 2, in) == 2 && fstat(fileno(in), &file) == 0;
    if (in)
        fclose(in);
    if (!read || start[0] != magic[0])
        return import_error(n->log, error,
                            "a compressed database: unpack it (gunzip), because SQLite does not");
    n->calls_left = 1000 + (uint64_t)file.st_size / 1000;
    const int code = n->api.sqlite3_open_v2(path, &n->database, SQLITE_OPEN_READONLY, NULL);
    if (code)
        return sqlite_error(n, error);
    n->api.sqlite3_limit(n->database, SQLITE_LIMIT_LENGTH, VALUE_MOST);
    n->api.sqlite3_progress_handler(n->database, STEPS_A_CALL, count_down, n);
    return 0;
}

/* The first number of the first row. */
static int ask(const struct nsys *n, const char *sql, int64_t *number, struct error *error)
{
    void *query = NULL;
    if (n->api.sqlite3_prepare_v2(n->database, sql, -1, &query, NULL))
        return sqlite_error(n, error);
    const int code = n->api.sqlite3_step(query) == SQLITE_ROW ? 0 : sqlite_error(n, error);
    *number = code ? 0 : n->api.sqlite3_column_int64(query, 0);
    n->api.sqlite3_finalize(query);
    return code;
}

/* ---- what the database is ---- */

/* Bits for the tables that are there. A view or a virtual table of these names would run what a
 * stranger wrote: they have no root page. */
static const char tables[] = "SELECT max(name = 'CUDA_GPU_MEMORY_USAGE_EVENTS')"
                             " + 2 * max(name IN ('StringIds', 'TARGET_INFO_GPU'))"
                             " + 4 * max(name LIKE 'rocpd%')"
                             " FROM sqlite_master WHERE type = 'table' AND rootpage > 0";

static int check_tables(struct nsys *n, struct error *error)
{
    int64_t there, processes = 0;
    TRY(ask(n, tables, &there, error));
    if (there & 1)
        TRY(ask(n, "SELECT count(DISTINCT globalPid) FROM CUDA_GPU_MEMORY_USAGE_EVENTS", &processes,
                error));
    n->has_processes = processes > 1;
    if (processes)
        return 0;
    if (there & 3)
        return import_error(n->log, error,
                            "an export of Nsight Systems without memory events: record with "
                            "nsys profile --cuda-memory-usage=true, and export again");
    return import_error(n->log, error,
                        "%s; gamut reads the SQLite files of nsys export --type sqlite",
                        there ? "a database of rocprofv3 (rocpd)"
                              : "a database without CUDA_GPU_MEMORY_USAGE_EVENTS");
}

/* ---- rows ---- */

static int check_row(const struct nsys *n, void *row, struct error *error)
{
    for (int i = START; i <= OPERATION; i++)
        if (n->api.sqlite3_column_type(row, i) != SQLITE_INTEGER)
            return import_error(n->log, error,
                                "row %" PRIu64 " of CUDA_GPU_MEMORY_USAGE_EVENTS: %s is no number",
                                n->row_count + 1, n->api.sqlite3_column_name(row, i));
    const int64_t bytes = n->api.sqlite3_column_int64(row, BYTES);
    const int64_t operation = n->api.sqlite3_column_int64(row, OPERATION);
    if (bytes < 0 || bytes > (int64_t)TRACE_TOTAL_MOST || operation < 0 || operation > 1)
        return import_error(n->log, error,
                            "row %" PRIu64 " of CUDA_GPU_MEMORY_USAGE_EVENTS: expected bytes from "
                            "0 on and the operation 0 or 1, found %" PRId64 " and %" PRId64,
                            n->row_count + 1, bytes, operation);
    return 0;
}

static int stream_of(const struct nsys *n, void *row, struct import_stream **stream,
                     struct error *error)
{
    struct trace_info info = {.source = "Nsight Systems", .time_unit_ns = 1};
    const int64_t device = n->api.sqlite3_column_int64(row, DEVICE);
    const uint64_t process = (uint64_t)n->api.sqlite3_column_int64(row, PROCESS) >> 24 & 0xffffff;
    int length = 0;
    if (n->has_processes)
        length = snprintf(info.device, sizeof info.device, "process-%" PRIu64 "-", process);
    snprintf(info.device + length, sizeof info.device - (size_t)length, "cuda:%" PRId64, device);
    snprintf(info.allocator, sizeof info.allocator, "raw"); /* these are calls to the driver */
    info.knows[TRACE_KNOWS_times] = info.knows[TRACE_KNOWS_frees] = true;
    info.knows[TRACE_KNOWS_addresses] = true;
    info.knows[TRACE_KNOWS_queues] = n->has_streams;
    return import_stream(n->log, info.device, &info, stream, error);
}

static int add_row(struct nsys *n, void *row, struct error *error)
{
    static const enum driver_memory memories[8] = {
        [1] = MEMORY_PINNED, [4] = MEMORY_MANAGED, [6] = MEMORY_MANAGED};
    TRY(check_row(n, row, error));
    const uint64_t start = (uint64_t)n->api.sqlite3_column_int64(row, START);
    const uint64_t kind = (uint64_t)n->api.sqlite3_column_int64(row, KIND);
    struct import_stream *stream;
    char queue[24];
    if (n->row_count++ == 0)
        n->first_ns = start;
    n->pageable_count += kind == 0;
    if (kind == 0)
        return 0;
    TRY(stream_of(n, row, &stream, error));
    struct trace_writer *w = import_writer(stream);
    if (n->api.sqlite3_column_int64(row, POOL)) /* cudaMallocAsync */
        *trace_writer_info(w)->allocator = 0;
    snprintf(queue, sizeof queue, "%" PRId64, n->api.sqlite3_column_int64(row, STREAM));
    struct trace_event e = {.queue = trace_queue(w, queue),
                            .time_ns = start - n->first_ns,
                            .bytes = (uint64_t)n->api.sqlite3_column_int64(row, BYTES),
                            .address = (uint64_t)n->api.sqlite3_column_int64(row, ADDRESS)};
    if (e.time_ns > TRACE_TOTAL_MOST)
        return import_error(n->log, error, "the times span more than 104 days");
    e.kind = n->api.sqlite3_column_int64(row, OPERATION) ? TRACE_free : TRACE_alloc;
    if (e.kind == TRACE_alloc)
        e.memory = kind < 8 ? memories[kind] : MEMORY_DEVICE;
    (e.kind == TRACE_alloc ? import_alloc : import_free)(stream, e.address, &e);
    return 0;
}

static int read_rows(struct nsys *n, struct error *error)
{
    static const char *const queries[] = {
#define QUERY(last)                                                                                \
    "SELECT " COLUMNS_OF_ALL ", " last " FROM CUDA_GPU_MEMORY_USAGE_EVENTS ORDER BY start, rowid"
        QUERY("streamId, localMemoryPoolAddress"), QUERY("0, localMemoryPoolAddress"),
        QUERY("0, 0")};
    void *query = NULL;
    int code = 0, step = SQLITE_DONE, i = 0;
    while (i < 3 && n->api.sqlite3_prepare_v2(n->database, queries[i], -1, &query, NULL))
        i++;
    n->has_streams = i == 0;
    while (query && !code && (step = n->api.sqlite3_step(query)) == SQLITE_ROW)
        code = add_row(n, query, error);
    if (!code && (!query || step != SQLITE_DONE))
        code = sqlite_error(n, error);
    n->api.sqlite3_finalize(query);
    if (!code && n->pageable_count == n->row_count)
        return import_error(n->log, error, "all memory events are of pageable memory of the host");
    return code;
}

int import_nsys(struct import *log, struct error *error)
{
    struct nsys n = {.log = log};
    TRY(load(&n, error));
    int code = open_database(&n, error);
    THEN(code, check_tables(&n, error));
    THEN(code, read_rows(&n, error));
    if (n.database)
        n.api.sqlite3_close(n.database);
    return code;
}
