/* A PyTorch allocator history as plain CSV, one line an entry of `device_traces`:
 *
 *     action,addr,size,stream,time_us
 *     segment_alloc,139733705424896,2097152,0,1795325451017622
 *     alloc,139733705424896,37632,0,1795325451017627
 *
 * The size of an `alloc` is what was requested. The names of the actions are those of PyTorch's
 * c10/cuda/CUDACachingAllocator.h, TraceEntry::Action.
 */
#include <string.h>

#include "trace/import.h"
#include "trace/import/pytorch.h"

/* Cuts the next field off; NULL: there is none. */
static char *next_field(char **rest)
{
    return *rest ? strsep(rest, ",") : NULL;
}

static int read_entry(struct import *log, char *line, struct pytorch_entry *entry,
                      struct error *error)
{
    char *rest = line;
    const char *action = next_field(&rest);
    uint64_t number[4];
    static const char *const names[] = {"addr", "size", "stream", "time_us"};
    for (int i = 0; i < 4; i++) {
        const char *field = next_field(&rest);
        if (!field || !text_to_u64(field, &number[i]))
            return import_error(log, error, "expected a number for %s, found '%.40s'", names[i],
                                field ? field : "");
    }
    if (rest)
        return import_error(log, error, "expected five fields");
    *entry = (struct pytorch_entry){.action = action,
                                    .address = number[0],
                                    .size = number[1],
                                    .stream = number[2],
                                    .time_us = number[3],
                                    .has_time = true};
    return 0;
}

/* Reads the lines after the head. */
static int read_all(struct import *log, struct pytorch_trace *trace, bool is_look,
                    struct error *error)
{
    char *line;
    struct pytorch_entry entry;
    int more = import_line(log, &line, error), code = more < 0 ? more : 0;
    while (!code && (more = import_line(log, &line, error)) != 0) {
        code = more < 0 ? more : *line ? read_entry(log, line, &entry, error) : 0;
        if (code || !*line)
            continue;
        if (is_look)
            pytorch_look(trace, &entry);
        else
            code = pytorch_add(trace, &entry, error);
    }
    return code;
}

int import_pytorch_csv(struct import *log, struct error *error)
{
    struct pytorch_trace trace;
    TRY(pytorch_begin(&trace, log, "", "PyTorch allocator history (CSV)", NULL, error));
    int code = read_all(log, &trace, true, error);
    THEN(code, import_rewind(log, error));
    if (!code)
        pytorch_add_start(&trace);
    THEN(code, read_all(log, &trace, false, error));
    pytorch_end(&trace);
    return code;
}
