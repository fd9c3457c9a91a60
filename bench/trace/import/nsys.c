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
    X(int, sqlite3_column_count, (void *))                                                         \
    X(const char *, sqlite3_column_name, (void *, int))                                            \
    X(int, sqlite3_column_type, (void *, int))                                                     \
    X(int64_t, sqlite3_column_int64, (void *, int))

enum { SQLITE_OPEN_READONLY = 1, SQLITE_INTEGER = 1, SQLITE_NULL = 5, SQLITE_ROW = 100 };
enum { SQLITE_DONE = 101, SQLITE_LIMIT_LENGTH = 0, STEPS_A_CALL = 10000, VALUE_MOST = 1 << 20 };

struct sqlite_api {
#define X(result, name, parameters) result(*name) parameters;
    SQLITE_FUNCTION_LIST(X)
#undef X
};

/* X(name, whether each export has it) */
#define COLUMN_LIST(X)                                                                             \
    X(start, true)                                                                                 \
    X(globalPid, true)                                                                             \
    X(deviceId, true)                                                                              \
    X(address, true)                                                                               \
    X(bytes, true)                                                                                 \
    X(memKind, true)                                                                               \
    X(memoryOperationType, true)                                                                   \
    X(streamId, false)                                                                             \
    X(localMemoryPoolAddress, false)

enum column {
#define X(name, needed) COLUMN_##name,
    COLUMN_LIST(X)
#undef X
        COLUMNS
};

struct nsys {
    struct import *log;
    struct sqlite_api api;
    void *database;
    uint64_t calls_left; /* of STEPS_A_CALL steps of SQLite's machine */
    int place[COLUMNS];  /* of each column; -1: the export has none */
    int64_t first_ns;
    uint64_t row_count;
    bool has_processes; /* several */
    uint64_t pageable;  /* rows that are left out */
};

static bool recognises(const char *start, size_t length)
{
    return length >= sizeof magic && memcmp(start, magic, sizeof magic) == 0;
}

/* ---- SQLite ---- */

static int load(struct nsys *n, struct error *error)
{
    static const struct {
        const char *name;
        size_t offset;
    } functions[] = {
#define X(result, name, parameters) {#name, offsetof(struct sqlite_api, name)},
        SQLITE_FUNCTION_LIST(X)
#undef X
    };
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

/* The first number of the first row; 0: there is no row. */
static int ask(const struct nsys *n, const char *sql, int64_t *number, struct error *error)
{
    void *query = NULL;
    *number = 0;
    if (n->api.sqlite3_prepare_v2(n->database, sql, -1, &query, NULL))
        return sqlite_error(n, error);
    const int step = n->api.sqlite3_step(query);
    if (step == SQLITE_ROW)
        *number = n->api.sqlite3_column_int64(query, 0);
    const int code = step == SQLITE_ROW || step == SQLITE_DONE ? 0 : sqlite_error(n, error);
    n->api.sqlite3_finalize(query);
    return code;
}

/* ---- what the database is ---- */

/* A view or a virtual table of that name would run what a stranger wrote. */
#define TABLES "SELECT count(*) FROM sqlite_master WHERE rootpage > 0 AND type = 'table' AND name "

static int check_tables(const struct nsys *n, struct error *error)
{
    int64_t events, export, rocpd, rows = 0;
    TRY(ask(n, TABLES "= 'CUDA_GPU_MEMORY_USAGE_EVENTS'", &events, error));
    TRY(ask(n, TABLES "IN ('StringIds', 'TARGET_INFO_GPU', 'META_DATA_EXPORT')", &export, error));
    TRY(ask(n, TABLES "LIKE 'rocpd%'", &rocpd, error));
    if (events)
        TRY(ask(n, "SELECT count(*) FROM CUDA_GPU_MEMORY_USAGE_EVENTS", &rows, error));
    if (rows)
        return 0;
    if (events || export)
        return import_error(n->log, error,
                            "an export of Nsight Systems without memory events: record with "
                            "nsys profile --cuda-memory-usage=true, and export again");
    return import_error(n->log, error,
                        "%s; gamut reads the SQLite files of nsys export --type sqlite",
                        rocpd ? "a database of rocprofv3 (rocpd)"
                              : "a database without CUDA_GPU_MEMORY_USAGE_EVENTS");
}

static int find_columns(struct nsys *n, void *query, struct error *error)
{
    static const struct {
        const char *name;
        bool needed;
    } columns[] = {
#define X(name, needed) {#name, needed},
        COLUMN_LIST(X)
#undef X
    };
    for (int i = 0; i < COLUMNS; i++) {
        n->place[i] = -1;
        for (int c = 0; c < n->api.sqlite3_column_count(query); c++)
            if (strcmp(n->api.sqlite3_column_name(query, c), columns[i].name) == 0)
                n->place[i] = c;
        if (columns[i].needed && n->place[i] < 0)
            return import_error(n->log, error,
                                "CUDA_GPU_MEMORY_USAGE_EVENTS has no column %s: export again with "
                                "a newer nsys",
                                columns[i].name);
    }
    return 0;
}

/* ---- rows ---- */

static int64_t number_in(const struct nsys *n, void *query, enum column column)
{
    return n->place[column] < 0 ? 0 : n->api.sqlite3_column_int64(query, n->place[column]);
}

static int check_row(const struct nsys *n, void *query, struct error *error)
{
    for (int i = 0; i <= COLUMN_memoryOperationType; i++)
        if (n->api.sqlite3_column_type(query, n->place[i]) != SQLITE_INTEGER)
            return import_error(n->log, error,
                                "row %" PRIu64 " of CUDA_GPU_MEMORY_USAGE_EVENTS: %s is no number",
                                n->row_count, n->api.sqlite3_column_name(query, n->place[i]));
    const int64_t bytes = number_in(n, query, COLUMN_bytes);
    const int64_t operation = number_in(n, query, COLUMN_memoryOperationType);
    if (bytes < 0 || bytes > (int64_t)TRACE_TOTAL_MOST || operation < 0 || operation > 1)
        return import_error(n->log, error,
                            "row %" PRIu64 " of CUDA_GPU_MEMORY_USAGE_EVENTS: expected bytes from "
                            "0 on and the operation 0 or 1, found %" PRId64 " and %" PRId64,
                            n->row_count, bytes, operation);
    return 0;
}

static int stream_of(const struct nsys *n, void *query, struct import_stream **stream,
                     struct error *error)
{
    struct trace_info info = {.source = "Nsight Systems", .time_unit_ns = 1};
    const int64_t device = number_in(n, query, COLUMN_deviceId);
    const uint64_t process = (uint64_t)number_in(n, query, COLUMN_globalPid) >> 24 & 0xffffff;
    if (n->has_processes)
        snprintf(info.device, sizeof info.device, "process-%" PRIu64 "-cuda:%" PRId64, process,
                 device);
    else
        snprintf(info.device, sizeof info.device, "cuda:%" PRId64, device);
    snprintf(info.allocator, sizeof info.allocator, "raw"); /* these are calls to the driver */
    info.knows[TRACE_KNOWS_times] = info.knows[TRACE_KNOWS_frees] = true;
    info.knows[TRACE_KNOWS_addresses] = true;
    info.knows[TRACE_KNOWS_queues] = n->place[COLUMN_streamId] >= 0;
    return import_stream(n->log, info.device, &info, stream, error);
}

static int add_row(struct nsys *n, void *query, struct error *error)
{
    static const enum driver_memory memories[] = {
        [1] = MEMORY_PINNED, [4] = MEMORY_MANAGED, [6] = MEMORY_MANAGED, [7] = MEMORY_DEVICE};
    const int64_t start = number_in(n, query, COLUMN_start);
    const uint64_t kind = (uint64_t)number_in(n, query, COLUMN_memKind);
    const uint64_t address = (uint64_t)number_in(n, query, COLUMN_address);
    struct import_stream *stream;
    char queue[24];
    TRY(check_row(n, query, error));
    if (n->row_count++ == 0)
        n->first_ns = start;
    n->pageable += kind == 0;
    if (kind == 0) /* no memory of a device */
        return 0;
    TRY(stream_of(n, query, &stream, error));
    struct trace_writer *w = import_writer(stream);
    if (number_in(n, query, COLUMN_localMemoryPoolAddress)) /* cudaMallocAsync */
        *trace_writer_info(w)->allocator = 0;
    snprintf(queue, sizeof queue, "%" PRId64, number_in(n, query, COLUMN_streamId));
    struct trace_event e = {.queue = trace_queue(w, queue),
                            .time_ns = (uint64_t)start - (uint64_t)n->first_ns,
                            .bytes = (uint64_t)number_in(n, query, COLUMN_bytes),
                            .address = address};
    if (e.time_ns > TRACE_TOTAL_MOST)
        return import_error(n->log, error, "the times span more than 104 days");
    if (number_in(n, query, COLUMN_memoryOperationType) == 0) {
        e.kind = TRACE_alloc;
        e.memory = kind < sizeof memories / sizeof *memories ? memories[kind] : MEMORY_DEVICE;
        import_alloc(stream, address, &e);
    } else {
        e.kind = TRACE_free;
        import_free(stream, address, &e);
    }
    return 0;
}

static int read_rows(struct nsys *n, struct error *error)
{
    void *query = NULL;
    int step = SQLITE_DONE;
    int64_t processes;
    TRY(ask(n, "SELECT count(DISTINCT globalPid) FROM CUDA_GPU_MEMORY_USAGE_EVENTS", &processes,
            error));
    n->has_processes = processes > 1;
    if (n->api.sqlite3_prepare_v2(
            n->database, "SELECT * FROM CUDA_GPU_MEMORY_USAGE_EVENTS ORDER BY start, rowid", -1,
            &query, NULL))
        return sqlite_error(n, error);
    int code = find_columns(n, query, error);
    while (!code && (step = n->api.sqlite3_step(query)) == SQLITE_ROW)
        code = add_row(n, query, error);
    if (!code && step != SQLITE_DONE)
        code = sqlite_error(n, error);
    n->api.sqlite3_finalize(query);
    if (!code && n->pageable == n->row_count)
        return import_error(n->log, error, "all memory events are of pageable memory of the host");
    return code;
}

static int import_nsys(struct import *log, struct error *error)
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

const struct importer importer_nsys = {
    .name = "nsys",
    .recognises = recognises,
    .import = import_nsys,
};
