/* Cases of a result file as a trace: the file does not have their blocks, so the program is run
 * again without a device (run/select/program_trace.h), and what it counts shows that it is the run
 * of the file. */
#pragma once

#include <stdio.h>

#include "base/arena.h"
#include "results/file/result.h"
#include "run/select/select.h"

/* A choice of cases: lists of patterns (text_is_listed) of the members of their keys, and ids. */
struct case_choice {
    const char *workloads, *datasets, *merges, *releases, *devices;
    size_t id_count;
    const char *const *ids; /* 0: of any id */
    bool second;  /* the choice may have two programs: the cases of the second one in the file */
    bool may_run; /* as in struct program_run */
    FILE *notes;  /* receives a line for each of them that is left out; NULL: no lines */
};

/* Facts about the cases. */
struct viewed_cases {
    struct arena arena; /* owns the texts */
    struct names strategies;
    const char *name;  /* of the program and its data: "stencil small" */
    const char *about; /* where the blocks are from: sentences */
    size_t count;
    const struct result_case **chosen; /* in the result, which must outlive them */
    bool has_second;                   /* the choice has two programs */
};

/* Writes the trace of the program that the chosen cases of a result have in common, or of one of
 * two programs, to the new file `trace`. Cases that are not ok are left out. `path` is the result's
 * file, for messages. ERR_USAGE: there are no such cases, or they are of three programs or more;
 * ERR_UNSUPPORTED: the program cannot be had again, and why; ERR_IO, ERR_PARSE. The caller calls
 * viewed_cases_free in any case. */
int view_cases(const struct result *result, const char *path, const struct case_choice *choice,
               const char *trace, struct viewed_cases *cases, struct error *error);
/* The most bytes that this strategy reserved in the file; 0: the file does not have it. */
uint64_t viewed_cases_reserved(const struct viewed_cases *cases, const char *strategy);
void viewed_cases_free(struct viewed_cases *cases);

/* The flags that choose the program of a case: "-w srad -d small -m none --release last-use -D
 * host". */
const char *viewed_case_flags(struct arena *arena, const struct result_case *one);
