/* What the charts of a case's memory share: a panel for each way to run a workload that was looked
 * at (`memory` of its case), and an axis of bytes. */
#ifndef GAMUT_RECORD_CHART_MEMORY_H
#define GAMUT_RECORD_CHART_MEMORY_H

#include "record/chart/matrix.h"

struct memory_panel {
    const json_t *memory; /* of the case; borrowed */
    struct text title;    /* "pool", "pool best": what differs between cases of the device */
};

struct memory_panels {
    size_t count;
    struct memory_panel *panel;
    size_t left_out; /* ways to run beyond `most` */
};

/* In the order of the result's cases. ERR_NOT_FOUND where no case has been looked at, and what to
 * do. The caller frees the panels if there is no error. */
int memory_panels_make(const struct chart *chart, const struct chart_subject *of, size_t most,
                       struct memory_panels *panels, struct error *error);
void memory_panels_free(struct memory_panels *panels);

/* The variables series (the titles) and what (workload and dataset), and note for what is left out;
 * `more` (or "") is added to the note. */
void memory_panels_variables(const struct memory_panels *panels, const struct chart_subject *of,
                             const char *more, struct text *out);
/* The variables unit ("MiB") and, in bytes, unit_bytes and top, for an axis up to `top` bytes. */
void memory_axis_variables(double top, struct text *out);

/* An element of a column; NaN where it is null or missing. */
double memory_column(const json_t *columns, const char *name, size_t i);
/* The same where it is a place in something; SIZE_MAX where it is none. */
size_t memory_place(const json_t *columns, const char *name, size_t i);

#endif
