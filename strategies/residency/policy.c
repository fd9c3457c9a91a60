/* The strategies: each adds one thing to the one before it.
 *
 *   always     1. A copy is made at its first use. 2. One copy is current, that of the last user:
 *              whenever the device changes, the whole buffer moves, through the host, which waits.
 *   lazy       3. A reader leaves other copies current; a writer makes its own copy the only one.
 *   eager      As lazy, but the copies are made with the buffer.
 *   versioned  As lazy, and 4. contents are known by ranges of bytes. 5. Contents that a command
 *              replaces, and those of a new block, move nowhere. 6. The route is from device to
 *              device where that is good. 7. Transfers have queues of their own, ordered by events.
 *
 * 4 is not PoCL's, which has one version for a buffer, however large. Allocators cut a memory into
 * blocks, so with whole buffers a block would move because its neighbour is used.
 */
#include <string.h>

#include "base/text.h"
#include "residency/residency.h"

enum { OPTION_GRAIN, OPTION_CONTENTS, OPTION_ROUTE, OPTION_ORDER };

static const struct option_spec versioned_options[] = {
    [OPTION_GRAIN] = {"grain", OPTION_CHOICE, "range", "range|memory", 0, 0,
                      "versions are kept of ranges of bytes, or (as in PoCL) of memories"},
    [OPTION_CONTENTS] =
        {"contents", OPTION_CHOICE, "needed", "needed|all", 0, 0,
         "all: also move contents that a command replaces or that were never written"},
    [OPTION_ROUTE] = {"route", OPTION_CHOICE, "best", "best|direct|host", 0, 0,
                      "host: in two hops, even if the devices can copy from each other; direct: "
                      "from device to device, even if that moves whole memories"},
    [OPTION_ORDER] = {"order", OPTION_CHOICE, "events", "events|wait", 0, 0,
                      "events: devices wait for each other; wait: the host waits instead"},
    {.name = NULL}};

static const struct residency_strategy strategies[] = {
    {"always",
     "one current copy: a buffer moves whenever the device that uses it changes",
     "the naive baseline",
     NULL,
     {0}},
    {"eager",
     "a copy on every device from the start; many readers or one writer",
     "PoCL before 2021",
     NULL,
     {.eager = true, .shared = true}},
    {"lazy",
     "as eager, but a copy is made at its first use",
     "PoCL since 2021, its rule for making copies",
     NULL,
     {.shared = true}},
    {"versioned",
     "as lazy, but only the missing bytes move, from device to device, ordered by events",
     "PoCL's versions, for ranges of bytes",
     versioned_options,
     {.by_range = true, .shared = true, .discards = true, .route = ROUTE_BEST, .by_events = true}},
};
enum { STRATEGY_COUNT = sizeof strategies / sizeof *strategies };

const struct residency_strategy *residency_list(size_t *count)
{
    *count = STRATEGY_COUNT;
    return strategies;
}

TEXT_NAMES(strategy_name, STRATEGY_COUNT, strategies[i].name)

int residency_parse(const char *spec, struct residency *residency, struct error *error)
{
    char name[32];
    size_t length = strcspn(spec, ":");
    if (length >= sizeof name)
        return error_set(error, ERR_USAGE, "the residency '%.40s...' is too long", spec);
    memcpy(name, spec, length);
    name[length] = 0;
    const struct residency_strategy *s = strategies;
    while (s < strategies + STRATEGY_COUNT && strcmp(s->name, name) != 0)
        s++;
    if (s == strategies + STRATEGY_COUNT)
        return text_unknown(error, name, strategy_name, NULL, "there is no residency");
    struct option_values values;
    int code =
        options_parse(s->options, name, spec + length + (spec[length] == ':'), &values, error);
    *residency = s->residency;
    if (s->options == versioned_options) {
        residency->by_range = values.value[OPTION_GRAIN] == 0;
        residency->discards = values.value[OPTION_CONTENTS] == 0;
        static const enum residency_route routes[] = {ROUTE_BEST, ROUTE_DIRECT, ROUTE_HOST};
        residency->route = routes[values.value[OPTION_ROUTE]];
        residency->by_events = values.value[OPTION_ORDER] == 0;
    }
    return code;
}
