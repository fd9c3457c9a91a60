/* From the words of a command line to the list of cases. A list is comma-separated; its names may
 * be globs, "all" is "*". For a name that does not exist ERR_USAGE gives the nearest one and
 * lists all that exist. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "alloc/planned/plans.h"
#include "base/arena.h"
#include "device/device.h"
#include "results/facts/case.h"
#include "run/select/catalogue.h"

struct select_request {
    /* NULL in any of these lists: the default (see select.c) */
    const char *workloads;  /* an item that ends in ".mem" is a program file: all its funs */
    const char *strategies; /* "tagged:policy=v1|v4" stands for two strategies */
    const char *merges;     /* "coalesce:with=views|disjoint" is one set with two extensions */
    const char *datasets;
    const char *releases;
    const char *residencies; /* for device groups only */
    bool smoke;              /* if no datasets are named: the smallest of each workload */
};

struct names {
    size_t count;
    const char **items;
};

/* The names that were requested, in that order, and later the cases made of them. */
struct selection {
    struct arena arena; /* owns everything below */
    struct names
        files; /* program files, in the order in which a worker adds them to its catalogue */
    size_t entry_count;
    const struct entry **entries;
    struct names strategies, merges, releases, residencies;
    struct allocator_plans plans; /* of the strategies; its `make` is the caller's */
    const char *datasets;         /* the list in the request */
    bool smoke;
    size_t case_count;
    struct case_key *cases;
};

/* Resolves all names but the datasets', which depend on the devices. Adds program files to the
 * catalogue, which must outlive the selection. Calls no driver. ERR_USAGE, ERR_IO or ERR_PARSE.
 * The caller calls select_free also after an error. */
int select_names(const struct select_request *request, struct catalogue *catalogue,
                 struct selection *selection, struct error *error);
/* Puts the program files that a run with these options (run.options) was given, and nothing else,
 * into the catalogue and the selection. Errors of select_names; the caller calls select_free in any
 * case. */
int select_files_of_run(const json_t *options, struct catalogue *catalogue,
                        struct selection *selection, struct error *error);
/* Makes the cases: devices x workloads x datasets x merge sets x release policies x strategies, and
 * for groups of devices x residencies. A workload without one of the datasets gets no case for it.
 * ERR_USAGE if no workload has any of them. */
int select_cases(struct selection *selection, const struct device_info *devices,
                 size_t device_count, struct error *error);
/* Checks the numbers of the datasets of all cases, as inputs_check_values does. ERR_USAGE names
 * file, line and column of the first that its type does not have. */
int select_check_values(const struct selection *selection, const struct catalogue *catalogue,
                        struct error *error);
/* Checks that everything that a case's key names exists, except for the device. ERR_USAGE names
 * what is missing. */
int select_check_key(const struct catalogue *catalogue, const struct case_key *key,
                     struct error *error);
/* Frees everything that the selection owns. */
void select_free(struct selection *selection);

/* Checks that the word before ':' of each selector of the list, and of each member of a device
 * group, is an API of this build, "all", "best" or a glob. ERR_USAGE if not. Whether there is
 * such a device, device_select finds out. */
int select_check_devices(const char *list, struct error *error);

/* Puts the merge sets of a list into selection->merges: names or globs, with options as in
 * merge/merge.h. ERR_USAGE. */
int select_merges(struct selection *selection, const char *list, struct error *error);

/* Puts the strategies of a list into selection->strategies. ERR_USAGE. */
int select_strategies(struct selection *selection, const char *list, struct error *error);

/* The entry of this name; NULL if there is none. */
const struct entry *select_entry(const struct catalogue *catalogue, const char *name);
/* The same for a name from a command line: ERR_USAGE if there is none. */
int select_workload(const struct catalogue *catalogue, const char *name, const struct entry **entry,
                    struct error *error);
/* The entry's dataset of this name; NULL if there is none. */
const struct dataset *select_dataset(const struct entry *entry, const char *name);

/* The release policies that exist, each with a line of help. */
struct named_help {
    const char *name, *help;
};
extern const struct named_help release_policies[]; /* ends with a NULL name */
