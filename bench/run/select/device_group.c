#include "run/select/device_group.h"

#include <stdio.h>
#include <string.h>

bool device_group_is_named(const char *selector)
{
    return strchr(selector, '+');
}

/* ---- which devices --------------------------------------------------------------------------- */

bool device_group_member(const char *selector, unsigned number, char *member, size_t size)
{
    for (; number > 0 && selector; number--) {
        selector = strchr(selector, '+');
        selector += selector ? 1 : 0;
    }
    if (selector)
        snprintf(member, size, "%.*s", (int)strcspn(selector, "+"), selector);
    return selector;
}

static const struct device_info *of_id(const char *id, const struct device_info *devices,
                                       size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(devices[i].id, id) == 0)
            return &devices[i];
    return NULL;
}

/* The first matching device that is not chosen yet. */
static const struct device_info *next_match(const char *member, const struct device_info *devices,
                                            size_t count, const struct device_info *const *chosen,
                                            unsigned chosen_count)
{
    for (size_t i = 0; i < count; i++) {
        bool taken = false;
        for (unsigned c = 0; c < chosen_count; c++)
            taken |= chosen[c] == &devices[i];
        if (!taken && (strcmp(member, devices[i].api) == 0 || device_matches(member, &devices[i])))
            return &devices[i];
    }
    return NULL;
}

int device_group_select(const char *selector, const struct device_info *devices, size_t count,
                        struct device_info *group, struct error *error)
{
    const struct device_info *chosen[RESIDENCY_MEMBERS_MAX + 1], *here[RESIDENCY_MEMBERS_MAX + 1];
    char member[128], ids[sizeof group->id] = "";
    unsigned members = 0, here_count = 0;
    for (; device_group_member(selector, members, member, sizeof member); members++) {
        if (members == RESIDENCY_MEMBERS_MAX)
            return error_set(error, ERR_USAGE, "'%s': a group has at most %d devices", selector,
                             RESIDENCY_MEMBERS_MAX);
        const struct device_info *found = of_id(member, devices, count);
        chosen[members] = found ? found : next_match(member, devices, count, chosen, members);
        if (chosen[members])
            here[here_count++] = chosen[members];
        const char *id = chosen[members] ? chosen[members]->id : member;
        if (strlen(ids) + strlen(id) + 2 > sizeof ids)
            return error_set(error, ERR_USAGE, "'%s': too long", selector);
        strcat(strcat(ids, members ? "+" : ""), id);
    }
    if (!here_count)
        return error_set(error, ERR_NOT_FOUND,
                         "no device matches any member of '%s'; gamut list devices shows all",
                         selector);
    int code = residency_describe(here, here_count, group, error);
    group->members = members;
    snprintf(group->id, sizeof group->id, "%s", ids);
    return code;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int open_group(const char *id, const char *residency, struct device **device,
                      struct error *error)
{
#ifdef GAMUT_DEBUG
    const bool check_order = true;
#else
    const bool check_order = false;
#endif
    struct residency_options options = {.check_order = check_order};
    struct device *devices[RESIDENCY_MEMBERS_MAX];
    char parts[RESIDENCY_MEMBERS_MAX][128];
    const char *ids[RESIDENCY_MEMBERS_MAX];
    unsigned count = 0;
    while (count < RESIDENCY_MEMBERS_MAX &&
           device_group_member(id, count, parts[count], sizeof parts[0])) {
        ids[count] = parts[count];
        count++;
    }
    int code =
        residency_parse(*residency ? residency : DEFAULT_RESIDENCY, &options.residency, error);
    THEN(code, device_open_all(ids, count, devices, &options.together, error));
    return code ? code : residency_open(devices, count, &options, device, error);
}

int device_group_open(const char *id, const char *residency, struct device **device,
                      struct error *error)
{
    if (!device_group_is_named(id))
        return device_open(id, device, error);
    int code = open_group(id, residency, device, error);
    if (code != ERR_NOT_FOUND)
        return code;
    error_prefix(error, "not all devices of the group are here: ");
    return error->code = ERR_UNSUPPORTED;
}

/* ---- counts ---------------------------------------------------------------------------------- */

struct residency_counts device_group_counts(const struct device *device)
{
    return device->info->members > 1 ? *residency_counts(device) : (struct residency_counts){0};
}

void device_group_count_since(const struct device *device, const struct residency_counts *before,
                              struct sample *sample, struct exact_counts *counts)
{
    if (device->info->members < 2)
        return;
    const struct residency_counts *now = residency_counts(device);
    sample->driver_alloc_ns = now->alloc_ns - before->alloc_ns;
    sample->driver_free_ns = now->free_ns - before->free_ns;
    counts->driver_alloc_count = now->alloc_count - before->alloc_count;
    counts->driver_free_count = now->free_count - before->free_count;
    counts->peak_reserved_bytes = now->peak_held_bytes;
    counts->copy[COPY_migration].count += now->migration_count - before->migration_count;
    counts->copy[COPY_migration].bytes += now->migration_bytes - before->migration_bytes;
}
