/* A session of a command that replays traces: replay, fit and advise. It has the traces and
 * strategies of the command line, the limits, the prices, and the result file. */
#pragma once

#include "base/terminal.h"
#include "cli/recording.h"
#include "cli/traces.h"
#include "replay/replay.h"

struct session {
    const struct command_line *line;
    struct traces traces;
    size_t list_from; /* set before session_open: from this number of files on, traces.paths are
                       * the files as they were named; 0: never. Else logs are imported. */
    bool is_list;     /* they are */
    struct trace_strategies strategies;
    enum replay_free_at free_at;
    uint64_t capacity_bytes;   /* of --mem-limit; 0: none */
    const struct atlas *atlas; /* of --atlas; NULL: none */
    unsigned jobs;
    struct recording recording; /* without a file, if none was asked for */
    struct work work;
    struct status_line status;
    bool interrupted;
    struct atlas atlas_read; /* owns what `atlas` points at */
};

/* Reads the flags and what they name, as far as the command has them. ERR_USAGE, ERR_IO, ERR_PARSE.
 * The caller calls session_close in any case. */
int session_open(struct session *session, const struct command_line *line, struct error *error);
/* Makes room for the items that --shard divides. Each is then set by session_item. */
void session_divide(struct session *session, size_t count);
/* An item has the id of a sentence, stays with the items of the same unit (NULL: it stays alone;
 * else borrowed), and costs as much as its trace has events. ERR_IO, ERR_PARSE. */
int session_item(struct session *session, size_t index, const char *sentence, const char *unit,
                 size_t trace, struct error *error);

/* Makes the result of replays without a device, and begins its file; `list` (NULL: none) is an
 * array that it has. */
int session_start(struct session *session, const char *list, struct error *error);
/* Ends the result file. `code` says how the work ended. Returns it, or the error of writing. */
int session_finish(struct session *session, int code, struct error *error);
/* Prints a list of the result, and nothing else, as JSON on stdout. */
void session_print_json(struct session *session, const char *list);
/* Prints an error, in which a log has its own name, and returns its exit code. */
int session_error(const struct session *session, struct error *error);
void session_close(struct session *session);
