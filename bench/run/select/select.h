/* From the words of a command line to the list of cases. Lists are comma-separated, names may be
 * globs, "all" is "*"; a name that does not exist is ERR_USAGE with the nearest one and with what
 * exists. */
#ifndef GAMUT_RUN_SELECT_H
#define GAMUT_RUN_SELECT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "device/device.h"
#include "record/facts/case.h"
#include "run/select/catalogue.h"

struct select_request {
    /* NULL: the default, which select.c says and explains */
    const char *workloads;  /* an item that ends in ".mem" is a program file: all its funs */
    const char *strategies; /* "tagged:policy=v1|v4" stands for two strategies */
    const char *merges;     /* "coalesce:with=views|disjoint" is one set with two extensions */
    const char *datasets;
    const char *releases;
    const char *residencies; /* of groups of devices alone */
    bool smoke;              /* where no datasets are named: the smallest of each workload */
};

struct names {
    size_t count;
    const char **items;
};

/* The names that were asked for, in that order, and later the cases made of them. */
struct selection {
    struct arena arena; /* owns everything below */
    struct names files; /* program files, to be added to another catalogue in this order */
    size_t entry_count;
    const struct entry **entries;
    struct names strategies, merges, releases, residencies;
    const char *datasets; /* the request's */
    bool smoke;
    size_t case_count;
    struct case_key *cases;
};

/* Resolves everything but the datasets, which need the devices; adds program files to the
 * catalogue, which must outlive the selection. No driver is touched. ERR_USAGE, ERR_IO or
 * ERR_PARSE; the selection is to be freed either way. */
int select_names(const struct select_request *request, struct catalogue *catalogue,
                 struct selection *selection, struct error *error);
/* Makes the cases: devices x workloads x datasets x merge sets x release policies x strategies, and
 * for groups of devices x residencies. A workload that lacks a dataset that others have gets no
 * case of it. */
int select_cases(struct selection *selection, const struct device_info *devices,
                 size_t device_count, struct error *error);
/* Can this case be run: is there everything that its key names, the device aside? ERR_USAGE says
 * what there is not. */
int select_check_key(const struct catalogue *catalogue, const struct case_key *key,
                     struct error *error);
void select_free(struct selection *selection);

/* Checks that the word before ':' of each selector of the list is an API of this build, "all",
 * "best" or a glob; likewise each part of a group, "cuda:0+cuda:1". Whether there is such a device
 * is for device_select to find out. */
int select_check_devices(const char *list, struct error *error);

/* The merge sets of a list into s->merges: names or globs, with options as in merge/merge.h. */
int select_merges(struct selection *s, const char *list, struct error *error);

/* By name. NULL if there is none. */
const struct entry *select_entry(const struct catalogue *catalogue, const char *name);
/* The same for a name that a person typed. */
int select_workload(const struct catalogue *catalogue, const char *name, const struct entry **entry,
                    struct error *error);
const struct dataset *select_dataset(const struct entry *entry, const char *name);

/* The release policies that exist, each with a line of help. */
struct named_help {
    const char *name, *help;
};
extern const struct named_help release_policies[]; /* ends with a NULL name */

#endif
