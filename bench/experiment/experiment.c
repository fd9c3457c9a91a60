#include "experiment/experiment.h"

#include <stdio.h>
#include <string.h>

#include "experiment/list.h"

#define EXPERIMENT(name) &experiment_##name,
static const struct experiment *const experiments[] = {EXPERIMENT_LIST(EXPERIMENT)};
enum { EXPERIMENTS = sizeof experiments / sizeof *experiments };

const struct experiment *const *experiment_list(size_t *count)
{
    *count = EXPERIMENTS;
    return experiments;
}

TEXT_NAMES(nth_name, EXPERIMENTS, experiments[i]->name)

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
    return options_parse((*experiment)->options, name, spec + length + (spec[length] == ':'),
                         options, error);
}
