/* Finds the calls of an application that made its host wait for the device, and their durations.
 *
 * A call can only wait for commands that were given before it. What is said of one depends on the
 * record:
 *
 *   1. With the ends of commands (TRACE_KNOWS_ends), a call that has to wait for certain commands
 *      (a wait, a blocking copy or map) waited from its begin until the last of them had ended.
 *   2. Any other call waited from its begin until the last command that ended within it, but not
 *      for the time that such calls take while the device is idle: a call that returns before a
 *      command ends did not wait for that command.
 *   3. Without the ends, a call before which all commands had been waited for did not wait. Any
 *      other waited at most for the time that it took beyond that of such calls. This is a bound,
 *      and is called one.
 *
 * The time of such calls while the device is idle is the median of those in the same trace that are
 * of the same kind and of as many bytes, to a power of two. A wait is unknown if the
 * call's duration is unknown, or if the end of any command that could have delayed it is missing.
 * Waits of several threads at once are added.
 *
 * A first launch is that of a kernel: drivers load or compile its code then. A first use is that of
 * a block: drivers may make its memory then.
 *
 * Waits that the application asked for show how long the device worked. Hidden ones are a side
 * effect of a call that is about memory, and can go away: a free that an allocator serves from its
 * own memory calls no driver.
 */
#pragma once

#include <jansson.h>

#include "base/arena.h"
#include "trace/trace.h"

/* X(name, hidden, title): what a call is that may wait. */
#define WAIT_KIND_LIST(X)                                                                          \
    X(wait, false, "wait")                                                                         \
    X(read, false, "blocking read")                                                                \
    X(write, false, "blocking write")                                                              \
    X(map, true, "blocking map")                                                                   \
    X(alloc, true, "allocation")                                                                   \
    X(free, true, "free")                                                                          \
    X(first_launch, true, "first launch")                                                          \
    X(first_use, true, "first use")                                                                \
    X(command, true, "other command")

#define WAIT_KIND(name, ...) WAIT_##name,
enum wait_kind { WAIT_KIND_LIST(WAIT_KIND) WAIT_KINDS };
const char *wait_kind_title(enum wait_kind kind);
bool wait_is_hidden(enum wait_kind kind);

struct wait_sum {
    uint64_t calls;   /* all of the kind */
    uint64_t waited;  /* those that waited */
    uint64_t unknown; /* those of which it is unknown */
    uint64_t ns, longest_ns;
};

/* The waits of one kind at one place. */
struct wait_place {
    enum wait_kind kind;
    const char *at;   /* call site or kernel; NULL: unknown */
    const char *last; /* kernel or kind of the last command that was waited for; NULL: unknown */
    struct wait_sum sum;
};

struct waits {
    bool by_ends;         /* false: the figures are bounds */
    uint64_t commands;    /* all that the record has */
    uint64_t without_end; /* those that had something to do, and whose end it lacks */
    uint64_t duration_ns; /* from the begin of the first call to the end of the last */
    struct wait_sum kinds[WAIT_KINDS];
    unsigned place_count;
    struct wait_place *places; /* the longest first */
    struct arena arena;        /* owns places and their texts */
};

/* Reads a trace. ERR_UNSUPPORTED: it has no times or no commands; ERR_PARSE, ERR_IO. The caller
 * calls waits_free in any case. */
int waits_read(struct trace_reader *reader, struct waits *waits, struct error *error);
/* Sums over the kinds: those that the application asked for, or the hidden ones. */
struct wait_sum waits_sum(const struct waits *waits, bool hidden);
/* The waits as an object; the caller owns it. `most`: places at most. */
json_t *waits_to_json(const struct waits *waits, unsigned most);
void waits_free(struct waits *waits);
