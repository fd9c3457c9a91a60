/* The entries of one device's history, in order. The last ones stand in memory, the others in a
 * file without a name, so that a history of any length takes a few MiB. */
#pragma once

#include "trace/import/pytorch.h"

struct pytorch_entries {
    unsigned count;
    int file; /* if `has_file` */
    bool has_file;
    struct pytorch_entry *last; /* the chunk that is being filled */
    struct pytorch_entry *mapped;
    unsigned mapped_chunk;
};

/* Adds a copy. Texts are borrowed and live as long as the entries. ERR_IO. */
int pytorch_entries_add(struct pytorch_entries *entries, const struct pytorch_entry *entry,
                        const struct import *log, struct error *error);
/* The entry with this index, until the next call; what is changed stays. Neighbours are near: both
 * ways are fast. */
struct pytorch_entry *pytorch_entry_at(struct pytorch_entries *entries, unsigned index);
void pytorch_entries_free(struct pytorch_entries *entries);
