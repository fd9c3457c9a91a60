/* A shard: one of N parts of a list of work, which one process does, on any machine. A fleet does a
 * list by doing all of its shards; join_machine puts their files together.
 *
 * Every process splits the whole list by itself, so the split follows from the list alone: not from
 * the order of its items, the machine, or a clock. Items of one unit stay together, because their
 * times are compared with each other. Units are dealt to shards in the order of their cost, the
 * largest first, each to the shard that has least so far (Graham, Bounds on Multiprocessing Timing
 * Anomalies, 1969: the fullest shard has at most 4/3 of the least possible). */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "results/file/result.h"

enum { SHARDS_MAX = 100000 };

struct shard {
    unsigned number, of; /* from 1 to `of`; of 0: the whole list */
};

struct shard_item {
    char id[13];      /* the id of a case, or shard_id of another item */
    const char *unit; /* items with the same text stay together; borrowed */
    uint64_t cost;    /* expected time, in any unit */
};

/* Reads "3/10". ERR_USAGE. */
int shard_parse(const char *text, struct shard *shard, struct error *error);

/* The id of an item that is no case: a hash of its description. */
void shard_id(const char *description, char id[13]);

/* Sets own[i] where the i-th item belongs to the shard. */
void shard_split(struct shard shard, const struct shard_item *items, size_t count, bool *own);

/* Sets run.shard of a result. */
void shard_set(struct result *result, struct shard shard, const struct shard_item *items,
               size_t count, const bool *own);
/* Adds an id to the digest of a list, which begins with 0. */
uint64_t shard_list_add(uint64_t list, const char *id);

/* The ids of the items that a result has finished, each with `true`: cases that have all
 * planned rounds or failed, fits, and advice. The caller owns the object. */
json_t *shard_done(const struct result *result);

/* Checks that two results are of one list, split into as many shards, of one build and with the
 * same options. ERR_USAGE says what `theirs` has ("it") that `ours` ("this one") has not. */
int shard_check_alike(const struct result *theirs, const struct result *ours, struct error *error);

/* Adds a text that is the same for results of the same machine: its id, and the devices that were
 * used with their drivers. Nothing for results that are the same on every machine: replays without
 * a device, fits and advice. */
void shard_machine(const struct result *result, struct text *machine);
bool shard_same_machine(const struct result *a, const struct result *b);

/* The files of shards as the result of one list. */
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
