#include "experiment/experiment.h"

#include <stdio.h>
#include <string.h>

#include "experiment/list.h"

static const struct experiment *const experiments[] = {
#define X(name) &experiment_##name,
    EXPERIMENT_LIST(X)
#undef X
};
enum { EXPERIMENTS = sizeof experiments / sizeof *experiments };

const struct experiment *const *experiment_list(size_t *count)
{
    *count = EXPERIMENTS;
    return experiments;
}

static const char *nth_name(void *context, size_t i)
{
    (void)context;
    return i < EXPERIMENTS ? experiments[i]->name : NULL;
}

static int verify(const struct experiment *e, struct error *error)
{
    const char *missing = !e->plan      ? "plan"
                          : !e->open    ? "open"
                          : !e->measure ? "measure"
                          : !e->close   ? "close"
                                        : NULL;
    if (e->version != EXPERIMENT_API_VERSION)
        return error_set(error, ERR_INTERNAL,
                         "experiment %s was written for version %d of the interface, this is %d",
                         e->name, e->version, EXPERIMENT_API_VERSION);
    if (missing || e->metric_count > EXPERIMENT_METRICS_MAX)
        return error_set(error, ERR_INTERNAL, "experiment %s lacks %s", e->name,
                         missing ? missing : "room for its metrics");
    return 0;
}

int experiment_parse(const char *spec, const struct experiment **experiment,
                     struct option_values *options, struct error *error)
{
    char name[64];
    const size_t length = strcspn(spec, ":");
    snprintf(name, sizeof name, "%.*s", (int)length, spec);
    size_t i = 0;
    while (i < EXPERIMENTS && strcmp(experiments[i]->name, name) != 0)
        i++;
    if (i == EXPERIMENTS)
        return text_unknown(error, name, nth_name, NULL, "there is no experiment");
    *experiment = experiments[i];
    TRY(verify(*experiment, error));
    return options_parse((*experiment)->options, name, spec + length + (spec[length] == ':'),
                         options, error);
}
