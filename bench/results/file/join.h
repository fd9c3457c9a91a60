/* The files of shards (shard.h) as the result of one list. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text.h"
#include "results/file/result.h"

struct join_file {
    const char *path;
    struct result result;
};

/* Checks that the files are shards of one list, of one build and with the same options; that no
 * machine has an item twice; and that all of them read the same traces, programs and data. Puts
 * them into the order of their shards. ERR_USAGE names the files. */
int join_check(struct join_file *files, size_t count, struct error *error);

/* Adds a line for each shard that no file has finished, with the command that would do that.
 * Returns how many there are. The files have been checked. */
size_t join_missing(const struct join_file *files, size_t count, struct text *lines);

/* Joins the files of the machine of the first one that has not been taken, and sets taken[i] for
 * each of them. False after the last machine. Results that are the same on every machine
 * (shard_machine) are of one. *joined needs result_summarise; the files must outlive it. The caller
 * calls result_release. */
bool join_machine(const struct join_file *files, size_t count, bool *taken, struct result *joined);

/* Checks that the results that were joined have all items of the list. ERR_USAGE: a file was
 * changed. */
int join_check_items(const struct result *joined, size_t count, const struct result_shard *shard,
                     struct error *error);
