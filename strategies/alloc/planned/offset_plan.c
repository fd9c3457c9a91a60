#include "alloc/planned/offset_plan.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "base/text.h"
#include "base/treap.h"

static const char first_line[] = "gamut plan 2";

void plan_mark_name(char out[128], const char *name)
{
    size_t length = 0;
    while (*name && length < 127) {
        const bool number = isdigit((unsigned char)*name);
        out[length++] = *name;
        if (number)
            out[length - 1] = '*';
        do
            name++;
        while (number && isdigit((unsigned char)*name));
    }
    out[length] = 0;
}

ORDER_BY_BOTH(compare_sized, struct plan_sized, size, time)

struct plan_sized *plan_sort_by_size(const struct plan_queue *q)
{
    struct plan_sized *slots = must_alloc((q->count + (size_t)1) * sizeof *slots);
    for (uint32_t i = 0; i < q->count; i++)
        slots[i] = (struct plan_sized){q->slots[i].size, i};
    qsort(slots, q->count, sizeof *slots, compare_sized);
    return slots;
}

const struct plan_sized *plan_sized_from(const struct plan_sized *slots, uint32_t count,
                                         uint64_t size, uint32_t time)
{
    const struct plan_sized key = {size, time};
    uint32_t at;
    FIND_PLACE(at, count, compare_sized(&slots[at], &key) < 0);
    return slots + at;
}

uint32_t plan_nearest_mark(const struct plan_queue *q, uint32_t begin, uint32_t end, uint32_t time)
{
    uint32_t nearest = time, least = UINT32_MAX;
    if (q->round_count) {
        nearest = end;
        least = end - time;
    }
    for (uint32_t i = 0; i < q->mark_count; i++) {
        const uint32_t mark = q->marks[i];
        const uint32_t distance = mark > time ? mark - time : time - mark;
        if (mark >= begin && mark <= end && distance < least) {
            least = distance;
            nearest = mark;
        }
    }
    return nearest;
}

void plan_free(struct offset_plan *plan)
{
    arena_free(&plan->arena);
    *plan = (struct offset_plan){0};
}

/* ---- checks ---- */

/* Bytes that a slot has at some time. Ranges that live at once do not overlap, so the order of
 * their ends is that of their offsets. */
struct range {
    struct treap_node node; /* first */
    uint64_t offset, end;
    uint32_t slot;  /* its index */
    uint32_t until; /* the time at which it ends, in the round that is looked at */
    uint32_t next;  /* of those that end at one time */
};

enum { NO_RANGE = UINT32_MAX };

static int by_end(const struct treap_node *left, const struct treap_node *right)
{
    const struct range *a = (const struct range *)left, *b = (const struct range *)right;
    return a->end < b->end ? -1 : a->end > b->end;
}

/* One way through the slots before the first round, or through a round. */
struct sweep {
    const struct plan_queue *q;
    struct treap live;
    struct range *ranges;
    uint32_t range_count;
    uint32_t *ending; /* by time: the first range that ends then */
};

/* Adds the range of a slot that lives from now until a time; `until` count: longer. */
static int begin_range(struct sweep *s, uint32_t slot, uint32_t until, struct error *error)
{
    const struct plan_slot *of = &s->q->slots[slot];
    if (of->offset == PLAN_NOT_PLANNED)
        return 0;
    struct range *r = &s->ranges[s->range_count], key = {.end = of->offset + 1};
    *r = (struct range){.offset = of->offset, .end = of->offset + of->size, .slot = slot};
    struct range *other = (struct range *)treap_from(&s->live, &key.node);
    if (other && other->offset < r->end)
        return error_set(error, ERR_PARSE, "queue %u: slots %u and %u overlap", s->q->queue,
                         other->slot + 1, slot + 1);
    r->until = until;
    r->next = s->ending[until];
    s->ending[until] = s->range_count++;
    treap_insert(&s->live, &r->node);
    return 0;
}

struct carried {
    uint64_t offset, size;
    uint32_t slot, end;
};

static int by_place(const void *left, const void *right)
{
    const struct carried *a = left, *b = right;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    if (a->size != b->size)
        return a->size < b->size ? -1 : 1;
    return a->end > b->end ? -1 : a->end < b->end;
}

/* Blocks that the rounds before this one, or the slots before the first round, may leave to it.
 * Slots of several rounds may have one place, because only one of the rounds is the last one. */
static int begin_carried(struct sweep *s, int round, bool first, struct error *error)
{
    const struct plan_queue *q = s->q;
    const uint32_t length = plan_round_end(q, round) - q->rounds[round];
    struct carried *all = must_alloc((q->count + (size_t)1) * sizeof *all);
    uint32_t count = 0;
    int code = 0;
    for (int r = first ? -1 : 0; r < (first ? 0 : (int)q->round_count); r++) {
        if (!first && q->turns == 2 && (r - round) % 2 == 0)
            continue;
        for (uint32_t i = r < 0 ? 0 : q->rounds[r]; i < plan_round_end(q, r); i++)
            if (q->slots[i].carried && q->slots[i].end && q->slots[i].offset != PLAN_NOT_PLANNED)
                all[count++] =
                    (struct carried){q->slots[i].offset, q->slots[i].size, i, q->slots[i].end};
    }
    qsort(all, count, sizeof *all, by_place);
    for (uint32_t i = 0; i < count && !code; i++)
        if (!i || all[i].offset != all[i - 1].offset || all[i].size != all[i - 1].size)
            code =
                begin_range(s, all[i].slot,
                            q->rounds[round] + (all[i].end < length ? all[i].end : length), error);
    free(all);
    return code;
}

static int sweep_round(struct sweep *s, int round, bool first, struct error *error)
{
    const struct plan_queue *q = s->q;
    const uint32_t begin = round < 0 ? 0 : q->rounds[round], end = plan_round_end(q, round);
    memset(s->ending, 0xff, (q->count + (size_t)1) * sizeof *s->ending);
    s->live.root = NULL;
    s->range_count = 0;
    for (uint32_t i = 0; round >= 0 && i < q->rounds[0]; i++)
        if (q->slots[i].end == PLAN_FOREVER)
            TRY(begin_range(s, i, q->count, error));
    if (round >= 0)
        TRY(begin_carried(s, round, first, error));
    for (uint32_t t = begin; t < end; t++) {
        for (uint32_t i = s->ending[t]; i != NO_RANGE; i = s->ranges[i].next)
            treap_remove(&s->live, &s->ranges[i].node);
        s->ending[t] = NO_RANGE;
        TRY(begin_range(s, t, q->slots[t].carried || q->slots[t].end > end ? end : q->slots[t].end,
                        error));
    }
    return 0;
}

static int verify_overlaps(const struct plan_queue *q, struct error *error)
{
    struct sweep s = {.q = q, .live.compare = by_end};
    s.ranges = must_alloc((2 * (size_t)q->count + 1) * sizeof *s.ranges);
    s.ending = must_alloc((q->count + (size_t)1) * sizeof *s.ending);
    int code = sweep_round(&s, -1, false, error);
    for (int r = 0; r < (int)q->round_count && !code; r++) {
        code = sweep_round(&s, r, false, error);
        if (!code && r % (int)q->turns == 0)
            code = sweep_round(&s, r, true, error);
    }
    free(s.ranges);
    free(s.ending);
    return code;
}

static const char *wrong_with(const struct offset_plan *plan, const struct plan_queue *q,
                              uint32_t i, uint32_t round_end, uint32_t longest)
{
    const struct plan_slot *s = &q->slots[i];
    if (s->size == 0)
        return "it has no bytes";
    if (s->tag >= plan->tag_count)
        return "there is no such tag";
    if (s->carried && (!q->round_count || s->end > longest))
        return "it ends after the next round";
    if (!s->carried && s->end != PLAN_FOREVER && s->end > round_end)
        return "it ends after its round";
    if (!s->carried && s->end <= i)
        return "it ends before it begins";
    if (s->offset == PLAN_NOT_PLANNED)
        return NULL;
    if (!s->carried && s->end == PLAN_FOREVER && q->round_count && i >= q->rounds[0])
        return "it lives forever and is in a round";
    if (s->offset % plan->unit)
        return "its offset is not a multiple of the unit";
    if (s->size > q->height || s->offset > q->height - s->size)
        return "it ends above the height";
    return NULL;
}

static int verify_times(const struct plan_queue *q, uint32_t *longest, struct error *error)
{
    *longest = 0;
    if (q->turns < 1 || q->turns > 2 || q->round_count % q->turns)
        return error_set(error, ERR_PARSE, "queue %u: %u rounds have %u turns", q->queue,
                         q->round_count, q->turns);
    for (unsigned r = 0; r < q->round_count; r++) {
        const uint32_t end = plan_round_end(q, (int)r);
        if (q->rounds[r] >= end || end > q->count)
            return error_set(error, ERR_PARSE, "queue %u: round %u has no slot", q->queue, r + 1);
        *longest = end - q->rounds[r] > *longest ? end - q->rounds[r] : *longest;
    }
    for (uint32_t i = 0; i < q->mark_count; i++)
        if (q->marks[i] > q->count || (i && q->marks[i] < q->marks[i - 1]))
            return error_set(error, ERR_PARSE, "queue %u: mark %u is out of order", q->queue,
                             i + 1);
    return 0;
}

int plan_verify(const struct offset_plan *plan, struct error *error)
{
    if (plan->unit == 0 || (plan->unit & (plan->unit - 1)))
        return error_set(error, ERR_PARSE, "the unit is %" PRIu64 ", expected a power of two",
                         plan->unit);
    for (unsigned k = 0; k < plan->queue_count; k++) {
        const struct plan_queue *q = &plan->queues[k];
        uint32_t longest;
        TRY(verify_times(q, &longest, error));
        int round = -1;
        for (uint32_t i = 0; i < q->count; i++) {
            while (i >= plan_round_end(q, round))
                round++;
            const char *wrong = wrong_with(plan, q, i, plan_round_end(q, round), longest);
            if (wrong)
                return error_set(error, ERR_PARSE, "queue %u: slot %u: %s", q->queue, i + 1, wrong);
        }
        TRY(verify_overlaps(q, error));
    }
    return 0;
}

/* ---- the file ---- */

bool plan_is_file(const char *path)
{
    char begin[sizeof first_line] = "";
    FILE *file = fopen(path, "rb");
    if (!file)
        return false;
    size_t count = fread(begin, 1, sizeof first_line - 1, file);
    fclose(file);
    return count == sizeof first_line - 1 && strcmp(begin, first_line) == 0;
}

struct lines {
    const char *path;
    char *at;
    unsigned number;
    struct error *error;
};

/* Takes the next line; NULL after the last. */
static char *next_line(struct lines *l)
{
    char *line = l->at, *end = line ? strchr(line, '\n') : NULL;
    if (!end)
        return NULL; /* each line ends with a newline: else the file was cut off */
    *end = 0;
    l->at = end + 1;
    l->number++;
    return line;
}

static int bad_line(const struct lines *l, const char *expected)
{
    return error_set(l->error, ERR_PARSE, "%s:%u: expected %s", l->path, l->number, expected);
}

/* Takes the next word of a line. */
static char *next_word(char **line)
{
    char *word = *line;
    *line += strcspn(*line, " ");
    if (**line)
        *(*line)++ = 0;
    return word;
}

static bool number_word(char **line, uint64_t most, uint64_t *value)
{
    return text_to_u64(next_word(line), value) && *value <= most;
}

/* "word value", and moves the line after the word. */
static bool take_word(char **line, const char *word)
{
    const size_t length = strlen(word);
    if (strncmp(*line, word, length) != 0 || (*line)[length] != ' ')
        return false;
    *line += length + 1;
    return true;
}

static bool take_number(char **line, const char *word, uint64_t most, uint64_t *value)
{
    return take_word(line, word) && number_word(line, most, value);
}

static bool parse_slot(char *line, struct plan_slot *slot)
{
    uint64_t end = PLAN_FOREVER, tag;
    slot->offset = PLAN_NOT_PLANNED;
    if (!number_word(&line, UINT64_MAX / 4, &slot->size))
        return false;
    if (strncmp(line, "none ", 5) == 0)
        next_word(&line);
    else if (!number_word(&line, UINT64_MAX / 4, &slot->offset))
        return false;
    slot->carried = *line == '+';
    line += slot->carried;
    if (!slot->carried && strncmp(line, "forever ", 8) == 0)
        next_word(&line);
    else if (!number_word(&line, PLAN_SLOTS_MOST, &end))
        return false;
    if (!number_word(&line, PLAN_SLOTS_MOST, &tag) || *line)
        return false;
    slot->end = (uint32_t)end;
    slot->tag = (uint32_t)tag;
    return true;
}

/* Lines of a word and a time. */
static int read_times(struct lines *l, const char *word, uint32_t *times, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        char *line = next_line(l);
        uint64_t at;
        if (!line || !take_number(&line, word, PLAN_SLOTS_MOST, &at) || *line) {
            char expected[32];
            snprintf(expected, sizeof expected, "%s TIME", word);
            return bad_line(l, expected);
        }
        times[i] = (uint32_t)at;
    }
    return 0;
}

static int read_queue(struct lines *l, struct offset_plan *plan, char *line)
{
    uint64_t queue, turns, rounds, marks, slots;
    struct plan_queue *q = &plan->queues[plan->queue_count];
    const size_t left = strlen(l->at);
    if (!number_word(&line, UINT32_MAX, &queue) ||
        !take_number(&line, "height", UINT64_MAX / 4, &q->height) ||
        !take_number(&line, "bound", UINT64_MAX / 4, &q->bound) ||
        !take_number(&line, "turns", 2, &turns) || !take_number(&line, "rounds", left, &rounds) ||
        !take_number(&line, "marks", left, &marks) ||
        !take_number(&line, "slots", left < PLAN_SLOTS_MOST ? left : PLAN_SLOTS_MOST, &slots) ||
        *line)
        return bad_line(l,
                        "queue N height BYTES bound BYTES turns N rounds N marks N slots N, with "
                        "so many lines after it");
    q->queue = (unsigned)queue;
    q->turns = (unsigned)turns;
    q->round_count = (unsigned)rounds;
    q->mark_count = (uint32_t)marks;
    q->count = (uint32_t)slots;
    q->rounds = arena_alloc(&plan->arena, (rounds + 1) * sizeof *q->rounds);
    q->marks = arena_alloc(&plan->arena, (marks + 1) * sizeof *q->marks);
    q->slots = arena_alloc(&plan->arena, (slots + 1) * sizeof *q->slots);
    plan->queue_count++;
    TRY(read_times(l, "round", q->rounds, q->round_count));
    TRY(read_times(l, "at", q->marks, q->mark_count));
    for (uint32_t i = 0; i < q->count; i++) {
        char *slot = next_line(l);
        if (!slot || !parse_slot(slot, &q->slots[i]))
            return bad_line(l, "BYTES OFFSET|none END|+END|forever TAG");
    }
    return 0;
}

/* The lines before the first queue; *line is then that of the queue, or NULL. */
static int read_head(struct lines *l, struct offset_plan *plan, char **line)
{
    char *at = next_line(l), *end;
    if (!at || strcmp(at, first_line) != 0)
        return bad_line(l, "'gamut plan 2'");
    if (!(at = next_line(l)) || !take_number(&at, "unit", UINT64_C(1) << 60, &plan->unit))
        return bad_line(l, "unit BYTES");
    if (!(at = next_line(l)) || !take_word(&at, "digest"))
        return bad_line(l, "digest HEX");
    plan->digest = strtoull(at, &end, 16);
    if (end == at || *end)
        return bad_line(l, "digest HEX");
    if (!(at = next_line(l)) || !take_word(&at, "mark"))
        return bad_line(l, "mark NAME");
    plan->mark = arena_printf(&plan->arena, "%s", at);
    while ((*line = next_line(l)) && take_word(line, "tag"))
        plan->tags[plan->tag_count++] = arena_printf(&plan->arena, "%s", *line);
    return 0;
}

static size_t count_lines(const char *text, const char *word)
{
    size_t count = 0;
    const size_t length = strlen(word);
    for (const char *at = text; at; at = strchr(at, '\n')) {
        at += *at == '\n';
        count += strncmp(at, word, length) == 0;
    }
    return count;
}

static int read_all(struct lines *l, struct offset_plan *plan)
{
    plan->tags = arena_alloc(&plan->arena, (count_lines(l->at, "tag ") + 1) * sizeof *plan->tags);
    plan->queues =
        arena_alloc(&plan->arena, (count_lines(l->at, "queue ") + 1) * sizeof *plan->queues);
    plan->tags[0] = "";
    plan->tag_count = 1;
    char *line = NULL;
    TRY(read_head(l, plan, &line));
    for (; line; line = next_line(l))
        if (!take_word(&line, "queue"))
            return bad_line(l, "queue");
        else
            TRY(read_queue(l, plan, line));
    return *l->at ? bad_line(l, "a newline at the end: the file was cut off") : 0;
}

int plan_read(const char *path, struct offset_plan *plan, struct error *error)
{
    struct text text = {0};
    *plan = (struct offset_plan){0};
    int code = text_read_file(&text, path, error);
    struct lines lines = {.path = path, .at = text.data ? text.data : "", .error = error};
    if (!code && text.length != strlen(lines.at))
        code = error_set(error, ERR_PARSE, "%s is no plan: gamut trace plan makes one of a trace",
                         path);
    THEN(code, read_all(&lines, plan));
    if (!code && (code = plan_verify(plan, error)))
        error_prefix(error, "%s: ", path);
    text_free(&text);
    if (code)
        plan_free(plan);
    return code;
}

static void print_queue(struct text *t, const struct plan_queue *q)
{
    text_add(t,
             "queue %u height %" PRIu64 " bound %" PRIu64 " turns %u rounds %u marks %u slots %u\n",
             q->queue, q->height, q->bound, q->turns, q->round_count, q->mark_count, q->count);
    for (uint32_t i = 0; i < q->round_count; i++)
        text_add(t, "round %u\n", q->rounds[i]);
    for (uint32_t i = 0; i < q->mark_count; i++)
        text_add(t, "at %u\n", q->marks[i]);
    for (uint32_t i = 0; i < q->count; i++) {
        const struct plan_slot *s = &q->slots[i];
        char offset[24] = "none", end[24] = "forever";
        if (s->offset != PLAN_NOT_PLANNED)
            snprintf(offset, sizeof offset, "%" PRIu64, s->offset);
        if (s->carried || s->end != PLAN_FOREVER)
            snprintf(end, sizeof end, s->carried ? "+%u" : "%u", s->end);
        text_add(t, "%" PRIu64 " %s %s %u\n", s->size, offset, end, s->tag);
    }
}

int plan_write(const struct offset_plan *plan, const char *path, bool replace, struct error *error)
{
    FILE *there = replace ? NULL : fopen(path, "rb");
    if (there) {
        fclose(there);
        return error_set(error, ERR_USAGE, "%s exists; --force replaces it", path);
    }
    struct text t = {0};
    text_add(&t, "%s\nunit %" PRIu64 "\ndigest %016" PRIx64 "\nmark %s\n", first_line, plan->unit,
             plan->digest, plan->mark);
    for (uint32_t i = 1; i < plan->tag_count; i++)
        text_add(&t, "tag %s\n", plan->tags[i]);
    for (unsigned i = 0; i < plan->queue_count; i++)
        print_queue(&t, &plan->queues[i]);
    int code = text_write_file(&t, path, error);
    text_free(&t);
    return code;
}
