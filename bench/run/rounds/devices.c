#include "run/execute/device_source.h"
#include "run/rounds/devices.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/json_rules.h"
#include "base/tree.h"
#include "run/rounds/process.h"
#include "run/select/device_group.h"

/* A first call of a driver may compile for a minute. */
static const uint64_t devices_silence_ns = 300000000000;

/* ---- a device as JSON ------------------------------------------------------------------------ */

#define X(type, name) JSON_FIELD_AS(#name, type, struct found_device, info.name)
static const struct json_field fields[] = {
    X(TEXT, id),
    X(TEXT, api),
    X(TEXT, name),
    X(TEXT, platform),
    X(TEXT, driver),
    X(TEXT, arch),
    X(TEXT, bus_id),
    X(COUNT, kind),
    X(COUNT, language),
    X(COUNT_OR_UNKNOWN, memory_bytes),
    X(COUNT_OR_UNKNOWN, max_alloc_bytes),
    X(COUNT, alignment_bytes),
    X(COUNT, l2_bytes),
    X(COUNT, compute_units),
    X(COUNT, members),
    X(COUNT, max_group_items),
    X(BOOLEAN, has_f64),
    X(BOOLEAN, can_split),
    JSON_FIELD(BOOLEAN, struct found_device, selected),
    JSON_FIELD(COUNT_OR_UNKNOWN, struct found_device, free_bytes),
    JSON_FIELD(NUMBER, struct found_device, copy_rate),
    JSON_FIELDS_END,
};
#undef X

void device_to_record(const struct found_device *found, struct record_device *record)
{
    *record = device_record(&found->info);
    record->used = found->selected;
    record->memory_free_start_bytes = found->free_bytes;
    record->copy_bytes_per_second = found->copy_rate;
}

/* ---- the parent's side ----------------------------------------------------------------------- */

struct found {
    struct found_device **devices;
    size_t *count;
    struct text *missing;
    char listed[32]; /* the API whose devices the worker is listing; "": none */
};

static void hear_device(void *context, const json_t *line)
{
    struct found *found = context;
    const json_t *device = json_object_get(line, "device");
    const char *api = json_string_value(json_object_get(line, "missing"));
    if (json_object_get(line, "listed"))
        snprintf(found->listed, sizeof found->listed, "%s", tree_get_text(line, "listed"));
    if (device) {
        *found->devices =
            must_realloc(*found->devices, (*found->count + 1) * sizeof **found->devices);
        struct found_device *next = &(*found->devices)[*found->count];
        *next = (struct found_device){0};
        *found->count += json_get_fields(device, "device", fields, next, NULL) == 0;
    }
    if (api)
        text_add(found->missing, "%s: %s\n", api, tree_get_text(line, "why"));
}

/* Asks once. `unusable` are APIs that are left out. */
static int ask_for_devices(struct found *found, const char *selectors, bool copy_rate,
                           json_t *unusable, struct error *error)
{
    json_t *job = tree_object();
    tree_put(job, "selectors", tree_text(selectors));
    tree_put(job, "copy_rate", json_boolean(copy_rate));
    tree_put(job, "unusable", json_incref(unusable));
    found->listed[0] = 0;
    int code = process_ask("devices", job, devices_silence_ns, hear_device, found, NULL, error);
    if (code) {
        free(*found->devices);
        *found->devices = NULL;
        *found->count = 0;
    }
    return code;
}

int devices_find(const char *selectors, bool copy_rate, struct found_device **devices,
                 size_t *count, struct text *missing, struct error *error)
{
    struct text absent = {0}, broken = {0}; /* APIs without devices, and those left out */
    struct found found = {devices, count, &absent, ""};
    json_t *unusable = tree_array();
    *devices = NULL;
    *count = 0;
    int code;
    while ((code = ask_for_devices(&found, selectors, copy_rate, unusable, error)) == ERR_DEVICE &&
           *found.listed) {
        tree_append(unusable, tree_text(found.listed));
        text_add(&broken, "%s: a driver ends the process that lists its devices: %s\n",
                 found.listed, error->text);
        text_free(&absent);
    }
    json_decref(unusable);
    if (missing)
        text_add(missing, "%s%s", absent.data ? absent.data : "", broken.data ? broken.data : "");
    if (code == ERR_DEVICE) {
        const struct error why = *error;
        error_set(error, code, "no list of devices: %s%s%.*s", why.text, broken.length ? "; " : "",
                  broken.length ? (int)strcspn(broken.data, "\n") : 0,
                  broken.length ? broken.data : "");
    }
    text_free(&absent);
    text_free(&broken);
    return code;
}

/* ---- the worker's side ----------------------------------------------------------------------- */

struct survey {
    FILE *out;
    const char *api;
    size_t count;
    struct found_device *devices;
    size_t selected_count;
    size_t *selected; /* positions in `devices`, in the order of the selectors */
};

static void note_found(void *context, const struct device_info *info, const char *why_not)
{
    struct survey *s = context;
    if (!info) {
        json_t *line = tree_object();
        tree_put(line, "missing", tree_text(s->api));
        tree_put(line, "why", tree_text(why_not));
        worker_send(s->out, line);
        return;
    }
    s->devices = must_realloc(s->devices, (s->count + 1) * sizeof *s->devices);
    s->devices[s->count++] = (struct found_device){.info = *info};
}

static void note_selected(void *context, const struct device_info *info, const char *why_not)
{
    struct survey *s = context;
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->devices[i].info.id, info->id) == 0 && !s->devices[i].selected) {
            s->devices[i].selected = true;
            s->selected = must_realloc(s->selected, (s->selected_count + 1) * sizeof *s->selected);
            s->selected[s->selected_count++] = i;
        }
}

/* Adds a device group as one more device, after those that were found. */
static int select_group(struct survey *s, const char *selector, struct error *error)
{
    struct device_info *infos = must_alloc((s->count + 1) * sizeof *infos), group;
    for (size_t i = 0; i < s->count; i++)
        infos[i] = s->devices[i].info;
    int code = device_group_select(selector, infos, s->count, &group, error);
    free(infos);
    TRY(code);
    note_found(s, &group, NULL);
    note_selected(s, &group, NULL);
    return 0;
}

static int select_all(struct survey *s, const char *selectors, struct error *error)
{
    char *list = must_alloc(strlen(selectors) + 1), *rest = strcpy(list, selectors);
    int code = 0;
    for (char *selector; !code && (selector = strsep(&rest, ","));)
        if (device_group_is_named(selector))
            code = select_group(s, selector, error);
        else if (*selector)
            code = device_select(selector, note_selected, s, error);
    free(list);
    return code;
}

static int look_at_device(struct found_device *found, bool copy_rate, struct error *error)
{
    struct device *device;
    int code = device_group_open(found->info.id, "", &device, error);
    if (code)
        return device_group_is_named(found->info.id) && code == ERR_UNSUPPORTED ? 0 : code;
    found->info = *device->info;
    found->free_bytes = device->ops->free_bytes(device);
    /* A device whose copy rate cannot be measured may still run cases; if not, they say why. */
    if (copy_rate && device_copy_rate(device, &found->copy_rate, NULL))
        found->copy_rate = 0;
    device->ops->close(device);
    return 0;
}

static void send_device(FILE *out, const struct found_device *device)
{
    json_t *line = tree_object();
    tree_put(line, "device", json_of_fields(fields, device));
    worker_send(out, line);
}

/* The parent learns which API's drivers a worker does not survive. */
static void tell_listed(FILE *out, const char *api)
{
    json_t *line = tree_object();
    tree_put(line, "listed", tree_text(api));
    worker_send(out, line);
}

static bool is_unusable(const json_t *job, const char *api)
{
    const json_t *unusable = json_object_get(job, "unusable");
    for (size_t i = 0; i < json_array_size(unusable); i++)
        if (strcmp(json_string_value(json_array_get(unusable, i)), api) == 0)
            return true;
    return false;
}

int devices_work(const json_t *job, FILE *out, struct error *error)
{
    const bool copy_rate = json_is_true(json_object_get(job, "copy_rate"));
    struct survey s = {.out = out};
    size_t count;
    const struct device_ops *const *apis = device_api_list(&count);
    for (size_t i = 0; i < count; i++) {
        s.api = apis[i]->name;
        if (is_unusable(job, s.api))
            continue;
        tell_listed(out, s.api);
        device_enumerate(apis[i], note_found, &s);
    }
    tell_listed(out, "");
    int code = select_all(&s, tree_get_text(job, "selectors"), error);
    for (size_t i = 0; !code && i < s.selected_count; i++) {
        code = look_at_device(&s.devices[s.selected[i]], copy_rate, error);
        if (!code)
            send_device(out, &s.devices[s.selected[i]]);
    }
    for (size_t i = 0; !code && i < s.count; i++)
        if (!s.devices[i].selected)
            send_device(out, &s.devices[i]);
    free(s.selected);
    free(s.devices);
    return code;
}
