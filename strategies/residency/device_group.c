/* A group of devices as one device. For every command the group picks the member, brings the
 * contents there, waits for the commands that must come first, and records what was written. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/sort.h"
#include "residency/device_group.h"

struct device_program {
    struct device_program *of[RESIDENCY_MEMBERS_MAX];
};

static struct device_group *self(const struct device *device)
{
    return (struct device_group *)device;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* A copy of a buffer lies in the memory of one member. A buffer is made before its first copy, so a
 * size that no member could hold is refused here. */
static int check_bytes(const struct device_group *g, uint64_t bytes, struct error *error)
{
    uint64_t most_bytes = 0;
    for (unsigned m = 0; m < g->count; m++)
        most_bytes = larger(most_bytes, g->members[m].device->info->memory_bytes);
    if (bytes <= most_bytes)
        return 0;
    return error_set(error, ERR_OOM, "asked for %llu bytes: no member of %s has more than %llu",
                     (unsigned long long)bytes, g->info.id, (unsigned long long)most_bytes);
}

static int group_alloc(struct device *device, uint64_t bytes, uint64_t *memory, struct error *error)
{
    struct device_group *g = self(device);
    TRY(check_bytes(g, bytes, error));
    struct buffer *b = buffer_make(g, bytes);
    int code = 0;
    for (unsigned m = 0; m < g->count && g->how.eager && !code; m++)
        code = buffer_need(g, b, m, error);
    if (code)
        buffer_destroy(g, b, NULL);
    else
        *memory = (uint64_t)(uintptr_t)b;
    return code;
}

static int group_free(struct device *device, uint64_t memory, uint64_t bytes, struct error *error)
{
    return buffer_destroy(self(device), buffer_of(memory), error);
}

/* Only copies that exist are made resident. */
static int group_touch(struct device *device, uint64_t memory, uint64_t bytes, struct error *error)
{
    struct device_group *g = self(device);
    const struct buffer *b = buffer_of(memory);
    int code = 0;
    for (unsigned m = 0; m < g->count && !code; m++) {
        struct device *d = g->members[m].device;
        if (b->memory[m] && d->ops->touch)
            code = group_member_said(g, m, d->ops->touch(d, b->memory[m], bytes, error), error);
    }
    return code;
}

static uint64_t group_free_bytes(struct device *device)
{
    const struct device_group *g = self(device);
    uint64_t least = UINT64_MAX;
    for (unsigned m = 0; m < g->count; m++) {
        struct device *d = g->members[m].device;
        least = smaller(least, d->ops->free_bytes(d));
    }
    return least;
}

static int group_discard(struct device *device, uint64_t memory, uint64_t offset, uint64_t bytes,
                         struct error *error)
{
    struct device_group *g = self(device);
    struct buffer *b = buffer_of(memory);
    if (bytes == 0)
        return 0;
    struct use use = {b, offset, offset + bytes, USE_REPLACES};
    if (use_replaces(g, &use))
        pieces_merge(g, b, use.begin, use.end)->current = 0;
    for (struct piece *p = pieces_cut(g, b, use.begin, use.end); p && p->begin < use.end;
         p = p->next)
        p->writer = MEMBER_NONE;
    return 0;
}

/* ---- moving bytes ---------------------------------------------------------------------------- */

static int group_read(struct device *device, void *host, uint64_t memory, uint64_t offset,
                      uint64_t bytes, struct error *error)
{
    struct device_group *g = self(device);
    struct buffer *b = buffer_of(memory);
    if (bytes == 0)
        return 0;
    TRY(order_check(g, order_lane(g, 0, LANE_COMMANDS), b, offset, offset + bytes, false, error));
    return migrate_read(g, b, offset, bytes, host, error);
}

static int group_write(struct device *device, uint64_t memory, uint64_t offset, const void *host,
                       uint64_t bytes, struct error *error)
{
    struct device_group *g = self(device);
    struct use use = {buffer_of(memory), offset, offset + bytes, USE_REPLACES};
    if (bytes == 0)
        return 0;
    const struct command c = command_on(g, 0, &use, 1);
    struct device *d = g->members[0].device;
    TRY(command_before(g, &c, error));
    int code = d->ops->write(d, use.buffer->memory[0], offset, host, bytes, error);
    return command_after(g, &c, code, error);
}

static int group_copy(struct device *device, uint64_t to, uint64_t to_offset, uint64_t from,
                      uint64_t from_offset, uint64_t bytes, struct error *error)
{
    struct device_group *g = self(device);
    struct use uses[] = {{buffer_of(from), from_offset, from_offset + bytes, USE_READS},
                         {buffer_of(to), to_offset, to_offset + bytes, USE_REPLACES}};
    if (bytes == 0)
        return 0;
    const struct command c = command_on(g, command_member(uses, 2), uses, 2);
    struct device *d = g->members[c.member].device;
    TRY(command_before(g, &c, error));
    int code = d->ops->copy(d, uses[1].buffer->memory[c.member], to_offset,
                            uses[0].buffer->memory[c.member], from_offset, bytes, error);
    return command_after(g, &c, code, error);
}

static int group_fill(struct device *device, uint64_t memory, uint64_t offset, uint8_t byte,
                      uint64_t bytes, struct error *error)
{
    struct device_group *g = self(device);
    struct use use = {buffer_of(memory), offset, offset + bytes, USE_REPLACES};
    if (bytes == 0)
        return 0;
    const struct command c = command_on(g, command_member(&use, 1), &use, 1);
    struct device *d = g->members[c.member].device;
    TRY(command_before(g, &c, error));
    int code = d->ops->fill(d, use.buffer->memory[c.member], offset, byte, bytes, error);
    return command_after(g, &c, code, error);
}

/* ---- kernels --------------------------------------------------------------------------------- */

static void group_unbuild(struct device *device, struct device_program *program)
{
    struct device_group *g = self(device);
    for (unsigned m = 0; m < g->count; m++)
        if (program->of[m])
            g->members[m].device->ops->unbuild(g->members[m].device, program->of[m]);
    free(program);
}

static int group_build(struct device *device, const struct kernel_source *source,
                       struct device_program **program, struct error *error)
{
    struct device_group *g = self(device);
    struct device_program *p = must_alloc(sizeof *p);
    int code = 0;
    /* A compiler's messages stand without the member's name in front. */
    for (unsigned m = 0; m < g->count && !code; m++)
        code = g->members[m].device->ops->build(g->members[m].device, source, &p->of[m], error);
    if (code)
        group_unbuild(device, p);
    else
        *program = p;
    return code;
}

/* Grows the two arrays for a launch that has more arguments or arrays than any before. */
static void make_room(struct device_group *g, size_t argument_count, size_t use_count)
{
    if (argument_count > g->argument_capacity) {
        g->arguments = must_realloc(g->arguments, argument_count * sizeof *g->arguments);
        g->argument_capacity = argument_count;
    }
    if (use_count > g->use_capacity) {
        g->uses = must_realloc(g->uses, use_count * sizeof *g->uses);
        g->use_capacity = use_count;
    }
}

/* Replaces the group's memories among the arguments by the member's. An argument may be the sum of
 * a memory and an offset; no kernel looks at the argument of an array of no bytes. */
static void translate(struct device_group *g, unsigned member, const struct launch *launch,
                      size_t argument_count, const enum launch_arg_kind *kinds,
                      const union launch_value *arguments)
{
    memcpy(g->arguments, arguments, argument_count * sizeof *arguments);
    for (size_t i = 0; i < argument_count; i++)
        if (kinds[i] == ARG_MEMORY)
            g->arguments[i].memory = 0;
    for (unsigned a = 0; a < launch->array_count; a++) {
        const struct launch_array *array = &launch->arrays[a];
        uint64_t added = arguments[array->argument].memory - array->memory;
        g->arguments[array->argument].memory = buffer_of(array->memory)->memory[member] + added;
    }
}

static int group_launch(struct device *device, struct device_program *program, size_t kernel,
                        const struct launch *launch, size_t argument_count,
                        const enum launch_arg_kind *kinds, const union launch_value *arguments,
                        struct error *error)
{
    struct device_group *g = self(device);
    unsigned count = launch->array_count;
    if (!launch->arrays)
        return error_set(error, ERR_INTERNAL, "%s: a launch names no arrays", g->info.id);
    make_room(g, argument_count, count);
    for (unsigned i = 0; i < count; i++) {
        const struct launch_array *a = &launch->arrays[i];
        g->uses[i] = (struct use){buffer_of(a->memory), a->offset, a->offset + a->bytes, a->use};
    }
    unsigned member = launch->member == MEMBER_OF_CONTENTS ? command_member(g->uses, count)
                                                           : (unsigned)launch->member;
    if (member >= g->count)
        return error_set(error, ERR_UNSUPPORTED, "device %u of %s, whose last is device %u", member,
                         g->info.id, g->count - 1);
    const struct command c = command_on(g, member, g->uses, count);
    TRY(command_before(g, &c, error));
    translate(g, member, launch, argument_count, kinds, arguments);
    struct device *d = g->members[member].device;
    int code = d->ops->launch(d, program->of[member], kernel, launch, argument_count, kinds,
                              g->arguments, error);
    return command_after(g, &c, code, error);
}

/* ---- queues and time ------------------------------------------------------------------------- */

/* Debug builds check the copies and their contents whenever the host waits for all members. */
static void debug_check(const struct device *group)
{
#ifdef GAMUT_DEBUG
    if (residency_check(group) != 0)
        abort();
#endif
}

static int group_sync(struct device *device, struct error *error)
{
    struct device_group *g = self(device);
    int code = 0;
    for (unsigned m = 0; m < g->count && !code; m++) {
        struct device *d = g->members[m].device;
        code = group_member_said(g, m, d->ops->sync(d, error), error);
        if (!code)
            order_completed_member(g, m);
    }
    debug_check(device);
    return code;
}

static int group_use_queue(struct device *device, unsigned queue, struct error *error)
{
    struct device_group *g = self(device);
    if (queue >= g->queues)
        return error_set(error, ERR_INTERNAL, "queue %u: this group was opened with %u", queue,
                         g->queues);
    g->queue = queue;
    return 0;
}

static int group_sync_queue(struct device *device, unsigned queue, struct error *error)
{
    struct device_group *g = self(device);
    int code = 0;
    for (unsigned l = 0; l < g->lane_count && !code; l++) {
        const struct lane *lane = &g->lanes[l];
        struct device *d = g->members[lane->member].device;
        if (lane->queue != queue)
            continue;
        code = group_member_said(g, lane->member,
                                 d->ops->queues->sync(d, lane->member_queue, error), error);
        if (!code)
            order_completed_lane(g, l);
    }
    return code;
}

/* Uses the first member's clock if its last mark can wait for all other members. Otherwise the time
 * is the sum of the members' busy times, which followed each other. */
static int group_mark(struct device *device, enum device_mark which, struct error *error)
{
    struct device_group *g = self(device);
    int code = 0;
    for (unsigned l = 1; l < g->lane_count && which == MARK_END && !code; l++)
        code = order_join(g, 0, l, error);
    THEN(code, order_use(g, 0, error));
    for (unsigned m = 0; m < (g->lane_count ? 1 : g->count) && !code; m++) {
        struct device *d = g->members[m].device;
        code = group_member_said(g, m, d->ops->mark(d, which, error), error);
    }
    return code;
}

static int group_elapsed_ns(struct device *device, uint64_t *ns, struct error *error)
{
    struct device_group *g = self(device);
    int code = 0;
    *ns = 0;
    for (unsigned m = 0; m < (g->lane_count ? 1 : g->count) && !code; m++) {
        struct device *d = g->members[m].device;
        uint64_t own = 0;
        code = group_member_said(g, m, d->ops->elapsed_ns(d, &own, error), error);
        *ns += own;
    }
    return code;
}

/* ---- opening and closing --------------------------------------------------------------------- */

static void group_close(struct device *device)
{
    struct device_group *g = self(device);
    while (g->first)
        buffer_destroy(g, g->first, NULL);
    order_close(g);
    for (unsigned m = 0; m < g->count; m++)
        g->members[m].device->ops->close(g->members[m].device);
    slab_free(&g->pieces);
    slab_free(&g->buffers);
    free(g->arguments);
    free(g->uses);
    free(g);
}

static const struct device_queue_ops group_queues = {.use = group_use_queue,
                                                     .sync = group_sync_queue};

static const struct device_ops group_ops = {
    .name = "group",
    .summary = "several devices as one",
    .close = group_close,
    .free_bytes = group_free_bytes,
    .alloc = group_alloc,
    .free = group_free,
    .touch = group_touch,
    .read = group_read,
    .write = group_write,
    .copy = group_copy,
    .fill = group_fill,
    .build = group_build,
    .unbuild = group_unbuild,
    .launch = group_launch,
    .sync = group_sync,
    .mark = group_mark,
    .elapsed_ns = group_elapsed_ns,
    .discard = group_discard,
    .queues = &group_queues,
};

int residency_describe(const struct device_info *const *members, unsigned count,
                       struct device_info *info, struct error *error)
{
    *info = *members[0];
    info->members = count;
    info->bus_id[0] = 0;
    for (unsigned m = 1; m < count; m++) {
        const struct device_info *d = members[m];
        if (d->language != info->language || d->adds_offsets != info->adds_offsets)
            return error_set(
                error, ERR_UNSUPPORTED,
                "%s and %s can't be one group: their kernels are of different languages",
                members[0]->id, d->id);
        if (strlen(info->id) + strlen(d->id) + 2 > sizeof info->id)
            return error_set(error, ERR_UNSUPPORTED, "a group of too many devices");
        strcat(strcat(info->id, "+"), d->id);
        if (d->kind != info->kind)
            info->kind = DEVICE_OTHER;
        info->memory_bytes = smaller(info->memory_bytes, d->memory_bytes);
        info->max_alloc_bytes = smaller(info->max_alloc_bytes, d->max_alloc_bytes);
        info->alignment_bytes = larger(info->alignment_bytes, d->alignment_bytes);
        if (d->max_group_items &&
            (!info->max_group_items || d->max_group_items < info->max_group_items))
            info->max_group_items = d->max_group_items;
        info->compute_units += d->compute_units;
        info->has_f64 &= d->has_f64;
        info->can_split &= d->can_split;
        info->peers_whole |= d->peers_whole;
    }
    return 0;
}

int residency_open(struct device *const *members, unsigned count,
                   const struct residency_options *options, struct device **group,
                   struct error *error)
{
    struct device_group *g = must_alloc(sizeof *g);
    const struct device_info *infos[RESIDENCY_MEMBERS_MAX];
    g->base = (struct device){&group_ops, &g->info};
    g->how = options->residency;
    g->together = options->together;
    g->check_order = options->check_order;
    g->queues = options->queues ? options->queues : 1;
    int code = 0;
    for (unsigned m = 0; m < count && m < RESIDENCY_MEMBERS_MAX; m++) {
        infos[m] = members[m]->info;
        g->members[g->count++] = (struct member){.device = members[m], .id = infos[m]->id};
    }
    if (count < 2 || count > RESIDENCY_MEMBERS_MAX || g->queues > RESIDENCY_QUEUES_MAX)
        code = error_set(error, ERR_UNSUPPORTED, "a group of %u devices: 2 to %d can be one", count,
                         RESIDENCY_MEMBERS_MAX);
    THEN(code, residency_describe(infos, count, &g->info, error));
    g->direct = g->together && (g->how.route == ROUTE_DIRECT ||
                                (g->how.route == ROUTE_BEST && !g->info.peers_whole));
    THEN(code, order_open(g, error));
    g->buffers.item_bytes = sizeof(struct buffer);
    g->pieces.item_bytes = sizeof(struct piece) + 2 * g->count * g->lane_count * sizeof(uint64_t);
    for (unsigned m = RESIDENCY_MEMBERS_MAX; m < count; m++)
        members[m]->ops->close(members[m]);
    if (code)
        group_close(&g->base);
    else
        *group = &g->base;
    return code;
}

void residency_limit(struct device *group, uint64_t bytes)
{
    self(group)->capacity_bytes = bytes;
}

const struct residency_counts *residency_counts(const struct device *group)
{
    return &self(group)->counts;
}

void residency_reset_peak(struct device *group)
{
    self(group)->counts.peak_held_bytes = self(group)->counts.held_bytes;
}
