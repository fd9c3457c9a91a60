#include "device/device.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/sort.h"
#include "base/text.h"
#include "device/list.h"

#define API(name) &device_##name,
static const struct device_ops *const apis[] = {DEVICE_API_LIST(API)};
enum { API_COUNT = sizeof apis / sizeof *apis };

const struct device_ops *const *device_api_list(size_t *count)
{
    *count = API_COUNT;
    return apis;
}

void device_enumerate(const struct device_ops *api, device_found *found, void *context)
{
    if (api->missing)
        found(context, NULL, api->missing);
    else
        api->enumerate(found, context);
}

/* The devices and reasons that the APIs reported. */
struct survey {
    size_t count;
    struct device_info *devices;
    const struct device_ops *asked; /* the API that is reporting */
    struct text absent;             /* a line for each API without a device: why */
};

static void note_device(void *context, const struct device_info *info, const char *why_not)
{
    struct survey *s = context;
    if (!info) {
        text_add(&s->absent, "\n  no %s device: %s", s->asked->name, why_not);
        return;
    }
    s->devices = must_realloc(s->devices, (s->count + 1) * sizeof *s->devices);
    s->devices[s->count++] = *info;
}

static void survey_api(struct survey *s, const struct device_ops *api)
{
    s->asked = api;
    device_enumerate(api, note_device, s);
}

/* The API that the word before ':' of a selector or an id names; NULL: none. */
static const struct device_ops *device_api_of(const char *selector)
{
    size_t length = strcspn(selector, ":");
    for (size_t i = 0; i < API_COUNT; i++)
        if (strlen(apis[i]->name) == length && memcmp(apis[i]->name, selector, length) == 0)
            return apis[i];
    return NULL;
}

/* The rank of a device for "best". */
static int preference(const struct device_info *info)
{
    if (info->language == KERNEL_HOST_C)
        return 1;
    if (info->kind != DEVICE_GPU)
        return 2;
    return info->language == KERNEL_CUDA_C ? 4 : 3;
}

static const struct device_info *best_device(const struct survey *s)
{
    const struct device_info *best = NULL;
    for (size_t i = 0; i < s->count; i++)
        if (!best || preference(&s->devices[i]) > preference(best))
            best = &s->devices[i];
    return best;
}

bool device_matches(const char *selector, const struct device_info *info)
{
    if (strpbrk(selector, "*?"))
        return text_glob(selector, info->id);
    size_t api_length = strlen(info->api);
    if (strncmp(selector, info->api, api_length) != 0)
        return false;
    const char *rest = selector + api_length;
    uint64_t number;
    if (*rest++ != ':' || !*rest || text_to_u64(rest, &number))
        return false; /* a number means an id, and never a part of a name */
    return strcasestr(info->name, rest) || strcasestr(info->platform, rest);
}

/* Whether the selector means this device, the `position`-th that its API reported. */
static bool selected(const char *selector, const struct device_info *info, size_t position)
{
    if (strcmp(selector, "all") == 0 || strcmp(selector, info->id) == 0)
        return true;
    if (strcmp(selector, info->api) == 0)
        return position == 0;
    return device_matches(selector, info);
}

/* The words that a misspelt selector may have meant: all, best, the APIs, the ids. */
static const char *known_word(void *context, size_t i)
{
    static const char *const words[] = {"all", "best"};
    enum { WORDS = sizeof words / sizeof *words };
    const struct survey *s = context;
    if (i < WORDS)
        return words[i];
    i -= WORDS;
    if (i < API_COUNT)
        return apis[i]->name;
    i -= API_COUNT;
    return i < s->count ? s->devices[i].id : NULL;
}

static int not_found(struct survey *s, const char *selector, struct error *error)
{
    struct text t = {0};
    int nearest = text_nearest(selector, known_word, s);
    const char *meant = nearest < 0 ? "" : known_word(s, (size_t)nearest);
    const struct device_ops *api = device_api_of(selector);
    text_add(&t, "no device matches '%s'", selector);
    if (*meant && !(api && strcmp(meant, api->name) == 0)) /* else the API was written right */
        text_add(&t, "; did you mean '%s'?", meant);
    text_add(&t, "\nDevices here:");
    for (size_t i = 0; i < s->count; i++) {
        const struct device_info *d = &s->devices[i];
        text_add(&t, "\n  %-10s %s%s%s", d->id, d->name, *d->platform ? ", " : "", d->platform);
    }
    if (s->absent.data)
        text_add_bytes(&t, s->absent.data, s->absent.length);
    error_set(error, ERR_NOT_FOUND, "%s", t.data);
    text_free(&t);
    return ERR_NOT_FOUND;
}

int device_select(const char *selector, device_found *found, void *context, struct error *error)
{
    /* Starting a driver takes up to a second: only those that the selector can mean are asked. */
    struct survey s = {0};
    const struct device_ops *only = device_api_of(selector);
    for (size_t i = 0; i < API_COUNT; i++)
        if (!only || apis[i] == only)
            survey_api(&s, apis[i]);

    size_t matches = 0, position = 0;
    for (size_t i = 0; i < s.count; i++) {
        position = i > 0 && strcmp(s.devices[i].api, s.devices[i - 1].api) == 0 ? position + 1 : 0;
        bool match = strcmp(selector, "best") == 0 ? &s.devices[i] == best_device(&s)
                                                   : selected(selector, &s.devices[i], position);
        if (match) {
            found(context, &s.devices[i], NULL);
            matches++;
        }
    }

    int code = 0;
    if (matches == 0) {
        for (size_t i = 0; only && i < API_COUNT; i++)
            if (apis[i] != only)
                survey_api(&s, apis[i]);
        code = not_found(&s, selector, error);
    }
    free(s.devices);
    text_free(&s.absent);
    return code;
}

int device_open(const char *id, struct device **device, struct error *error)
{
    const struct device_ops *api = device_api_of(id);
    if (!api)
        return error_set(error, ERR_NOT_FOUND, "'%s' is not the id of a device", id);
    if (api->missing)
        return error_set(error, ERR_UNSUPPORTED, "%s: %s", id, api->missing);
    return api->open(id, device, error);
}

static bool of_one_api(const char *const *ids, unsigned count)
{
    for (unsigned i = 1; i < count; i++)
        if (device_api_of(ids[i]) != device_api_of(ids[0]))
            return false;
    return true;
}

int device_open_all(const char *const *ids, unsigned count, struct device **devices, bool *together,
                    struct error *error)
{
    const struct device_ops *api = of_one_api(ids, count) ? device_api_of(ids[0]) : NULL;
    *together = api && api->peers;
    if (*together && api->peers->open_together) {
        int code = api->peers->open_together(ids, count, devices, error);
        if (code != ERR_UNSUPPORTED)
            return code;
        *together = false; /* devices of two platforms: each can be opened by itself */
    }
    int code = 0;
    for (unsigned i = 0; i < count && !code; i++) {
        code = device_open(ids[i], &devices[i], error);
        for (unsigned o = 0; o < i && code; o++)
            devices[o]->ops->close(devices[o]);
    }
    return code;
}

static int time_copy(struct device *d, uint64_t to, uint64_t from, uint64_t bytes, uint64_t *ns,
                     struct error *error)
{
    TRY(d->ops->mark(d, MARK_START, error));
    TRY(d->ops->copy(d, to, 0, from, 0, bytes, error));
    TRY(d->ops->mark(d, MARK_END, error));
    TRY(d->ops->sync(d, error));
    return d->ops->elapsed_ns(d, ns, error);
}

/* The best of a few copies of one memory to the other, after one that is not counted. */
static int best_copy(struct device *d, const uint64_t memory[2], uint64_t bytes, uint64_t *best_ns,
                     struct error *error)
{
    enum { COPIES = 6 };
    *best_ns = UINT64_MAX;
    for (int side = 0; side < 2; side++)
        TRY(d->ops->fill(d, memory[side], 0, 1, bytes, error));
    for (int i = 0; i < COPIES; i++) {
        uint64_t ns;
        TRY(time_copy(d, memory[1], memory[0], bytes, &ns, error));
        if (i > 0 && ns > 0 && ns < *best_ns)
            *best_ns = ns;
    }
    return 0;
}

static int copy_rate_at(struct device *d, uint64_t bytes, double *bytes_per_second,
                        struct error *error)
{
    uint64_t memory[2] = {0, 0}, best_ns = 0;
    int code = 0;
    for (int side = 0; side < 2 && !code; side++)
        code = d->ops->alloc(d, bytes, &memory[side], error);
    THEN(code, best_copy(d, memory, bytes, &best_ns, error));
    for (int side = 0; side < 2; side++)
        ALSO(code, memory[side] ? d->ops->free(d, memory[side], bytes, code ? NULL : error) : 0);
    if (!code && best_ns == UINT64_MAX)
        code =
            error_set(error, ERR_DEVICE, "%s: the clock of the device stands still", d->info->id);
    if (!code)
        *bytes_per_second = 2.0 * (double)bytes / ((double)best_ns * 1e-9);
    return code;
}

int device_copy_rate(struct device *device, double *bytes_per_second, struct error *error)
{
    const uint64_t mib = 1 << 20;
    const struct device_info *info = device->info;
    /* At its full rate a GPU copies 256 MiB in less than its launch overhead can be neglected. */
    uint64_t bytes = info->kind == DEVICE_GPU ? 2048 * mib : 256 * mib;
    bytes = larger(bytes, 4 * info->l2_bytes);
    bytes = smaller(bytes, smaller(info->memory_bytes / 8, info->max_alloc_bytes));
    int code;
    do {
        code = copy_rate_at(device, bytes, bytes_per_second, error);
        bytes /= 2;
    } while (code == ERR_OOM && bytes >= mib);
    return code;
}
