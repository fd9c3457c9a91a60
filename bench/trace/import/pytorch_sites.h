/* The call site of a block, from the frames that PyTorch keeps of its call stack. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

/* A site in the making. It begins as zeros. */
struct pytorch_site {
    struct text text; /* "adam.py:182 step < train.py:9 main"; empty: no frame says where */
    unsigned frames;  /* in the text */
    bool has_python, has_user, is_workspace;
};

/* Begins the next site; its text keeps its memory. */
void pytorch_site_begin(struct pytorch_site *site);

/* Adds a frame; the innermost one comes first. file and name may be NULL. */
void pytorch_site_add(struct pytorch_site *site, const char *file, const char *name, uint64_t line);
