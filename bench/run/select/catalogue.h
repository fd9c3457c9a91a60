/* The workloads that can be run: those built in, and program files named on the command line. */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "base/text.h"
#include "program/program.h"
#include "workload.h"

/* A program text that is part of this binary. */
struct builtin {
    const char *name;                /* the folder's name */
    const char *path;                /* "workloads/stencil/stencil.mem", for messages */
    const char *text;                /* content of the .mem file */
    const struct workload *workload; /* inputs and reference */
    const char *host_text;           /* the host C the kernels below were compiled from */
    const struct host_kernel *host_kernels;
};
/* Written by the build from the folders below workloads/; ends with a NULL name. */
extern const struct builtin builtin_list[];

/* One runnable fun. */
struct entry {
    const char *name;              /* the fun's name */
    const struct program *program; /* the parsed, annotated file */
    const struct fun *fun;
    const struct builtin *builtin; /* NULL: a file given at run time */
};

struct catalogue {
    size_t entry_count;
    struct entry *entries;
    size_t program_count;
    struct program **programs;
};

/* Parses all built-in programs. The build has checked them, so a failure is ERR_INTERNAL. */
int catalogue_open(struct catalogue *catalogue, struct error *error);
/* Adds the funs of a program file, which may move the entries. ERR_IO; ERR_PARSE with
 * file:line:column, the line and what was expected, also for a name that another fun has. */
int catalogue_add_file(struct catalogue *catalogue, const char *path, struct error *error);
/* Adds what a workload is, in the words of its file: the first sentence of the comment at the top,
 * and in a file of several programs also that of the comment above the fun. Nothing where there is
 * no comment. */
void catalogue_about(const struct entry *entry, struct text *about);
/* Frees all programs. */
void catalogue_close(struct catalogue *catalogue);
