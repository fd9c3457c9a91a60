#include "serve/serve_settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "run/plan/plan.h"
#include "run/replay/serving.h"

static int copy(char *to, size_t size, const char *variable, struct error *error)
{
    const char *value = getenv(variable);
    to[0] = 0;
    if (!value)
        return 0;
    if (strlen(value) >= size)
        return error_set(error, ERR_USAGE, "%s has more than %zu characters", variable, size - 1);
    strcpy(to, value);
    return 0;
}

/* The same for a file: "%p" in its name stands for the process. */
static int copy_path(char *to, size_t size, const char *variable, struct error *error)
{
    char process[16], after[4000];
    TRY(copy(to, size, variable, error));
    char *mark = strstr(to, "%p");
    if (!mark)
        return 0;
    snprintf(process, sizeof process, "%ld", (long)getpid());
    snprintf(after, sizeof after, "%s", mark + 2);
    if ((size_t)snprintf(mark, size - (size_t)(mark - to), "%s%s", process, after) >=
        size - (size_t)(mark - to))
        return error_set(error, ERR_USAGE, "%s has more than %zu characters", variable, size - 1);
    return 0;
}

static int read_capacity(uint64_t *bytes, struct error *error)
{
    const char *value = getenv("GAMUT_SERVE_CAPACITY");
    *bytes = 0;
    if (!value || !*value || text_to_bytes(value, bytes))
        return 0;
    return error_set(error, ERR_USAGE,
                     "GAMUT_SERVE_CAPACITY is '%.100s': a size such as 8GiB is "
                     "expected",
                     value);
}

int serve_settings_read(const char *strategy, enum serving_api api, struct serve_settings *s,
                        struct error *error)
{
    const char *debug = getenv("GAMUT_SERVE_DEBUG");
    *s = (struct serve_settings){.options.debug = debug && *debug && strcmp(debug, "0") != 0};
    TRY(copy(s->strategy, sizeof s->strategy, "GAMUT_SERVE", error));
    if (strategy && strlen(strategy) >= sizeof s->strategy)
        return error_set(error, ERR_USAGE, "the strategy has more than %zu characters",
                         sizeof s->strategy - 1);
    if (strategy)
        strcpy(s->strategy, strategy);
    if (!*s->strategy)
        strcpy(s->strategy, "caching");
    TRY(copy(s->record, sizeof s->record, "GAMUT_SERVE_RECORD", error));
    TRY(copy_path(s->result, sizeof s->result, "GAMUT_SERVE_RESULT", error));
    TRY(copy_path(s->statistics, sizeof s->statistics, "GAMUT_SERVE_STATISTICS", error));
    TRY(copy(s->name, sizeof s->name, "GAMUT_SERVE_NAME", error));
    if (!*s->name)
        snprintf(s->name, sizeof s->name, "%s", program_invocation_short_name);
    s->options.records = *s->record;
    TRY(read_capacity(&s->options.capacity_bytes, error));
    s->plans.make = plan_of_trace;
    const int code =
        serving_parse(&s->plans, s->strategy, api, &s->options.strategy, &s->options.values, error);
    if (code)
        error_prefix(error, "GAMUT_SERVE is '%s': ", s->strategy);
    return code;
}
