/* Who holds what: the blocks that live at one moment, by call site and by category.
 *
 * The site of a block is a text, to which importers may give a form:
 *
 *     [CATEGORY: ]OWN[ > CALLED]...     activations: train.py:9 loss > linear.py:134 forward
 *
 * OWN is the innermost line of the user's own code, and what follows was called from there. A
 * category with a question mark is a guess. A site without a category is of the category "not
 * known". Blocks with the same category and the same OWN are held by one.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/text.h"
#include "trace/trace.h"

/* Those of PyTorch, and of estimates: what kernels have while they run, and what is made or copied
 * to the GPU. Gradients: what a backward pass makes, of parameters and of activations. */
#define HOLDER_CATEGORIES                                                                          \
    "parameters|gradients|optimizer's state|optimizer's step|activations|" TRACE_SITE_WORKSPACE    \
    "|cuBLAS workspaces|temporaries|inputs"

enum { HOLDERS_SHOWN = 5, HOLDERS_LISTED = 20 }; /* sites in a text, and in JSON */

struct holder {
    const char *category, *site; /* "activations", "gradients?", "not known"; OWN */
    uint64_t bytes, blocks, largest_bytes;
    unsigned stack; /* of its largest block; 0: unknown */
};

/* Begins as zeros. */
struct holders {
    uint64_t event, bytes; /* after this event, so much is requested at once */
    unsigned count, capacity, category_count;
    struct holder *items, categories[20]; /* after holders_end: the largest first */
    struct arena arena;
};

/* Adds a block; "", 0: it has no site, no call stack. */
void holders_add(struct holders *holders, const char *site, unsigned stack, uint64_t bytes);
/* Puts together what is held by one. */
void holders_end(struct holders *holders);
/* All of it for the moment at which the trace requests most. Reads the trace, and goes
 * back to its first event. ERR_PARSE, ERR_IO. The caller calls holders_free in any case. */
int holders_at_peak(struct trace_reader *reader, struct holders *holders, struct error *error);
void holders_free(struct holders *holders);

/* Adds a line of text, and returns its label; NULL behind the last. Line 0 has the categories
 * ("holds": "activations 1.20 GiB (62 %), not known 300 MiB (15 %)"), the others an item each
 * ("at": "train.py:9 loss (activations): 753 MiB in 12 blocks"), and the last one the rest. What
 * holds less than a thousandth is left out. */
const char *holders_add_line(struct text *out, const struct holders *holders, unsigned i);
/* {"event", "requested_bytes", "categories", "sites"}, null without blocks; the caller owns it. */
json_t *holders_to_json(const struct holders *holders);
