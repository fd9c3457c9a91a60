/* The call site of a block, from the frames that PyTorch keeps of its call stack. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

enum { PYTORCH_SITE_FRAMES = 8 };

/* Sites of blocks without frames, in a history that has some: of those that lived before it, and of
 * those that a thread without Python asked for, where the stacks have frames of Python only. Such
 * threads are those of the backward pass, as a rule. */
#define PYTORCH_SITE_BEFORE    "before the recording"
#define PYTORCH_SITE_NO_PYTHON "gradients?: a thread without Python"

/* Where a block was asked for. */
struct pytorch_call {
    const char *label; /* the text of its site */
    unsigned stack;    /* of the trace's frames; 0: the log has none */
};

/* A site in the making. It begins as zeros. */
struct pytorch_site {
    struct text text;     /* after pytorch_site_end; empty: no frame says where */
    const char *category; /* that the innermost frame with one says; NULL: none does */
    unsigned count;
    struct pytorch_frame {
        const char *file, *name; /* borrowed */
        uint64_t line;
    } frames[PYTORCH_SITE_FRAMES]; /* the innermost first; the last one is the user's own */
    bool has_python, has_native, has_own;
};

/* Begins the next site; its text keeps its memory. */
void pytorch_site_begin(struct pytorch_site *site);
/* Adds a frame; the innermost one comes first. file and name may be NULL, and are borrowed. */
void pytorch_site_add(struct pytorch_site *site, const char *file, const char *name, uint64_t line);
/* The text of a frame: "torch/optim/adam.py:182 step". Of a path it has what follows the folder of
 * installed packages, or its end: a trace says nothing of the folders of its machine. Returns
 * whether the frame is hidden: all requests have it, or it is a wrapper of PyTorch. */
bool pytorch_frame_text(const char *file, const char *name, uint64_t line, struct text *text);
/* Makes the text: "optimizer's step: train.py:9 main > adam.py:182 step". */
void pytorch_site_end(struct pytorch_site *site);
