/* The traces that a command line names, files and folders of them, and their strategies. */
#ifndef GAMUT_CLI_TRACES_H
#define GAMUT_CLI_TRACES_H

#include "cli/flags.h"
#include "trace/trace.h"
#include "run/select/select.h"

struct traces {
    unsigned count, capacity;
    const char **paths; /* in the order of the command line; those of a folder by name */
    struct arena arena; /* owns them */
};

/* Makes the list of the positional arguments. A folder stands for all files in it whose names end
 * in ".trace". ERR_USAGE if it has none; ERR_IO. The caller calls traces_free in any case. */
int traces_named(const struct command_line *line, struct traces *traces, struct error *error);

/* Adds the traces of a suite, those in suites/NAME, behind the others. ERR_USAGE if there is no such suite. The
 * caller calls traces_free in any case. */
int traces_of_suite(const char *name, struct traces *traces, struct error *error);
/* Whether a suite consists of traces. */
bool traces_is_suite(const char *name);
/* All such suites: their names instead of paths. The caller calls traces_free. */
void traces_suites(struct traces *suites);

/* The strategies that a list names for traces. */
struct trace_strategies {
    struct selection selection; /* selection.strategies: the same for all traces */
    bool recorded;              /* the word `recorded`: the trace's own allocator too */
};
/* Reads the list. ERR_USAGE. The caller calls select_free for the selection in any case. */
int trace_strategies_named(const char *list, struct trace_strategies *strategies,
                           struct error *error);
/* The strategies of one trace; traces->arena owns what the list needs. ERR_USAGE where the trace
 * does not know its own; ERR_IO, ERR_PARSE. */
int trace_strategies_of(const struct trace_strategies *strategies, struct traces *traces,
                        size_t trace, struct names *of_trace, struct error *error);

/* How many events a trace has, by the sums at its end; by its size where it was cut off. ERR_IO,
 * ERR_PARSE. */
int trace_events(const char *path, uint64_t *events, struct error *error);

/* Prints what happened and is not in a trace. */
void traces_say_unseen(const struct trace_info *info, FILE *out);
void traces_free(struct traces *traces);

#endif
