/* The traces that a command line names, and their strategies. A name is that of a trace, of a log
 * that gamut trace import reads, or of a folder of traces. */
#pragma once

#include "cli/flags.h"
#include "trace/trace.h"
#include "run/select/select.h"

struct traces {
    unsigned count, capacity;
    const char **paths; /* in the order of the command line; those of a folder by name */
    unsigned made_count, made_capacity;
    struct made_trace {
        const char *path, *log; /* log NULL: the folder of those that follow */
    } * made;                   /* temporary files and folders */
    json_t *corpus;             /* of a suite that says what its traces are; or NULL */
    struct arena arena;         /* owns all of it */
};

/* Adds a trace, or a log of one device. ERR_USAGE: the log has several; ERR_IO, ERR_PARSE: it is
 * neither. The caller calls traces_free in any case. */
int traces_add_one(struct traces *traces, const char *path, struct error *error);
/* Adds a trace, or the traces of a log, one for each of its devices, which are then files of the
 * name `name`; NULL: of the log's own. ERR_IO, ERR_PARSE. */
int traces_add(struct traces *traces, const char *path, const char *name, struct error *error);
/* Adds a temporary trace that the caller is to write: *path is its place. ERR_IO. */
int traces_make(struct traces *traces, const char *name, const char **path, struct error *error);
/* Makes the list of the positional arguments: `paths` are traces and logs. A folder stands for
 * all files in it whose names end in ".trace". ERR_USAGE if it has none. The caller calls
 * traces_free in any case. */
int traces_listed(const struct command_line *line, struct traces *traces, struct error *error);
/* Puts the traces of each log in its place. ERR_IO, ERR_PARSE. */
int traces_read(struct traces *traces, struct error *error);

/* Adds the traces of a suite, those in suites/NAME, after the others. A suite with a file
 * corpus.json has the traces of that list, and NAME:WORD are those of them whose kind or half WORD
 * is. ERR_USAGE if there is no such suite; ERR_IO, ERR_PARSE: of the list. The caller calls
 * traces_free in any case. */
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

/* Counts the events of a trace, by the sums at its end; by its size where it was cut off. ERR_IO,
 * ERR_PARSE. */
int trace_events(const char *path, uint64_t *events, struct error *error);

/* Prints what happened and is not in a trace. */
void traces_say_unseen(const struct trace_info *info, FILE *out);
/* Adds the name of the trace of a log: that of the log without folder and endings. */
void traces_name_of_log(const char *log, struct text *name);
/* Puts the name of the log in place of that of the temporary trace that a message has. */
void traces_name_logs(const struct traces *traces, struct error *error);
/* Removes the temporary traces. */
void traces_free(struct traces *traces);
