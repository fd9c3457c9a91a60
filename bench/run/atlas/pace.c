#include "run/atlas/pace.h"

#include <math.h>

#include "base/clock.h"
#include "base/sort.h"

enum { USED_BYTES = 256 };

const uint64_t pace_sizes[PACE_SIZES] = {4096, 4 << 20};

/* `other` is a memory that lives. */
static int live_once(struct device *d, uint64_t bytes, uint64_t other, uint64_t *ns,
                     struct error *error)
{
    uint64_t memory, began = clock_ns();
    TRY(d->ops->alloc(d, bytes, &memory, error));
    int code = d->ops->copy(d, memory, 0, other, 0, USED_BYTES, error);
    *ns = clock_ns() - began;
    const int synced = d->ops->sync(d, code ? NULL : error);
    began = clock_ns();
    const int freed = d->ops->free(d, memory, bytes, code || synced ? NULL : error);
    *ns += clock_ns() - began;
    return code ? code : synced ? synced : freed;
}

int pace_life(struct device *d, uint64_t bytes, unsigned lives, uint64_t *ns, struct error *error)
{
    uint64_t other, times[PACE_LIVES];
    TRY(d->ops->alloc(d, pace_sizes[0], &other, error));
    int code = d->ops->fill(d, other, 0, 0, pace_sizes[0], error);
    for (unsigned i = 0; i < lives && !code; i++)
        code = live_once(d, bytes, other, &times[i], error);
    ALSO(code, d->ops->free(d, other, pace_sizes[0], code ? NULL : error));
    TRY(code);
    const unsigned first = lives / 2, count = lives - first;
    sort_u64(times + first, count);
    *ns = times[first + (count - 1) / 2];
    return 0;
}

struct pace pace_against(const struct atlas *atlas, const uint64_t ns[PACE_SIZES])
{
    struct pace pace = {.is_known = true};
    for (int i = 0; i < PACE_SIZES; i++) {
        double then_ns;
        if (!atlas_paced_cost_ns(atlas, "raw", "life", pace_sizes[i], &then_ns) || !(then_ns > 0))
            return (struct pace){0};
        pace.factor[i] = (double)ns[i] / then_ns;
    }
    return pace;
}

double pace_at(const struct pace *p, uint64_t bytes)
{
    const double low = log((double)pace_sizes[0]), high = log((double)pace_sizes[1]);
    if (!p->is_known)
        return 1;
    if (bytes <= pace_sizes[0] || bytes >= pace_sizes[1])
        return p->factor[bytes > pace_sizes[0]];
    const double part = (log((double)bytes) - low) / (high - low);
    return p->factor[0] + part * (p->factor[1] - p->factor[0]);
}
