/* The settings of an application for its memory, as strategies of gamut and in its own words. */
#pragma once

#include "base/text.h"

enum { SETTING_KNOBS_MAX = 4 };

/* An option of a strategy and the values that are tried, the default first. */
struct knob {
    const char *strategy, *option; /* of gamut */
    const char *values;            /* "0|64MiB": as gamut writes them */
    const char *word; /* ",max_split_size_mb:": of the application, before the number */
};

/* A strategy that the application has. */
struct family {
    const char *spec; /* with the options that are always set: "stream:threshold=max" */
    const char *head,
        *tail;         /* the application's words; those of knobs stand between them, the first
                              * without its comma after '='. NULL: as gamut writes it */
    const char *plain; /* the words if all knobs have their defaults; NULL: head and tail */
};

struct application {
    const char *name;              /* "pytorch" */
    const char *source;            /* traces of it have a source that begins so; NULL: any trace */
    const char *unlogged;          /* the strategy that it has if the log does not say */
    const struct family *families; /* ends with spec NULL; NULL: all strategies of gamut */
    const struct knob *knobs;      /* ends with strategy NULL */
};

/* One strategy with values for its knobs. */
struct allocator_setting {
    struct family family;
    unsigned knob_count;
    struct {
        const struct knob *knob;
        unsigned value; /* number of the value; 0: the default, which is not written */
    } at[SETTING_KNOBS_MAX];
};

/* The application of this name; "auto": that of a trace with this source. NULL: there is none. */
const struct application *application_find(const char *name, const char *source);
/* The families of an application: the i-th, with all knobs at their defaults. False after the last.
 * Knobs whose option the strategy lacks are left out. */
bool application_setting(const struct application *application, size_t i,
                         struct allocator_setting *setting);
/* The number of a knob's values. */
unsigned knob_value_count(const struct knob *knob);
/* Adds the setting as a strategy of gamut: "caching:max_split=64MiB". */
void setting_spec(const struct allocator_setting *setting, struct text *out);
/* Adds it in the application's words. */
void setting_words(const struct allocator_setting *setting, struct text *out);
