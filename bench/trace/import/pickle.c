/* Pickles, as Python's pickletools.py describes them: a program for a machine with a stack and a
 * memo. This machine makes values; it has no way to find or call a function, and refuses the
 * opcodes that ask for that.
 *
 * Python puts every list, dict and text into the memo, and takes few of them out again. So the
 * opcodes are read twice: the first time only to see which indices of the memo are taken out.
 *
 * Values die with the item of the sink that they are part of, unless they are kept: those outside
 * of items, those in the memo, and all that these hold. A value that comes to be kept is copied.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trace/import/value.h"

enum {
    STACK_MOST = 1 << 24,
    PIECE_MOST_BYTES = 1 << 24,
    /* A text or dict can be shared by all entries, each of which looks through it. */
    TEXT_KEPT_BYTES = 1 << 14, /* longer ones are cut; names of functions are shorter */
    MEMBERS_MOST = 1 << 12,
#ifdef GAMUT_DEBUG
    ITEM_ROOM_BYTES = 0, /* so that the sanitizers see what is used after its item */
#else
    ITEM_ROOM_BYTES = 1 << 18, /* that dead items may fill before they are freed */
#endif
    NESTED_MOST = 64, /* containers in each other, in a kept one of an item */
};
static const uint64_t values_most_bytes = UINT64_C(4) << 30;

struct pickle {
    struct import *log;
    struct arena *kept, items;
    uint64_t kept_bytes, item_bytes; /* about what values take */
    const struct pickle_sink *sink;
    const unsigned char *window, *at, *end; /* of the log */
    uint64_t taken_bytes;                   /* before the window */
    struct value *stack;
    unsigned stack_count, stack_capacity, mark_count, mark_capacity;
    unsigned *marks; /* heights of the stack */
    /* The list of lists of the sink on the stack, and the one of them whose items it gets; 0: not
     * there, for the root is lowest. */
    unsigned lists_at, list_at, list_marks;
    struct memo {
        uint64_t *fetched; /* a bit an index */
        size_t words;
        unsigned *before;     /* indices that are fetched before each word */
        struct value *values; /* of those */
        uint64_t count;       /* the highest index that was put, and 1 */
    } memo;
    uint64_t opcode_at;
    struct error *error;
};

static int pickle_error(const struct pickle *p, const char *what)
{
    return import_error(p->log, p->error, "byte %llu: %s", (unsigned long long)p->opcode_at, what);
}

/* ---- bytes ---- */

static uint64_t place(const struct pickle *p)
{
    return p->taken_bytes + (uint64_t)(p->at - p->window);
}

/* Makes `count` bytes stand in the window; *has: the log has them. */
static int have(struct pickle *p, uint64_t count, bool *has)
{
    *has = (uint64_t)(p->end - p->at) >= count;
    if (*has)
        return 0;
    size_t length;
    const char *bytes;
    p->taken_bytes = place(p);
    import_take(p->log, (size_t)(p->at - p->window));
    p->window = p->at = p->end = NULL;
    TRY(import_peek(p->log, count, &bytes, &length, p->error));
    p->window = p->at = (const unsigned char *)bytes;
    p->end = p->at + length;
    *has = length >= count;
    return 0;
}

/* The next `count` bytes as a number, the least byte first. */
static int get_number(struct pickle *p, unsigned count, uint64_t *number)
{
    bool has;
    TRY(have(p, count, &has));
    if (!has)
        return pickle_error(p, "the pickle ends in the middle of an opcode: it was cut off");
    *number = 0;
    for (unsigned i = 0; i < count; i++)
        *number |= (uint64_t)p->at[i] << 8 * i;
    p->at += count;
    return 0;
}

/* The next bytes, whose count stands before them in `size` bytes. Valid until more are read. */
static int get_bytes(struct pickle *p, unsigned size, const unsigned char **bytes, uint64_t *count)
{
    bool has;
    TRY(get_number(p, size, count));
    TRY(have(p, *count < PIECE_MOST_BYTES ? *count : PIECE_MOST_BYTES, &has));
    if (!has)
        return pickle_error(p, "the pickle ends in the middle of a text: it was cut off");
    if (*count > PIECE_MOST_BYTES)
        return pickle_error(p, "a text has more than 16 MiB: this is no log");
    *bytes = p->at;
    p->at += *count;
    return 0;
}

/* ---- values that are kept ---- */

static bool in_item(const struct pickle *p)
{
    return p->list_at && p->stack_count > p->list_at;
}

/* Where a value of about so many bytes is made. */
static struct arena *room_for(struct pickle *p, uint64_t bytes)
{
    *(in_item(p) ? &p->item_bytes : &p->kept_bytes) += bytes + 16;
    return in_item(p) ? &p->items : p->kept;
}

/* Moves a value of an item to the values that are kept. It is a tree: what is in the memo is kept
 * already. */
static int keep(struct pickle *p, struct value *value, unsigned depth)
{
    if (value->is_kept || value->type < VALUE_TEXT)
        return 0;
    if (depth > NESTED_MOST)
        return pickle_error(p, "more than 64 lists in each other: this is no log");
    value->is_kept = true;
    if (value->type == VALUE_TEXT) {
        const size_t length = strlen(value->text);
        p->kept_bytes += length + 16;
        value->text = arena_copy(p->kept, value->text, length);
        return 0;
    }
    const struct value_list *old = value->list;
    value->list = value_new_list(p->kept, value->type).list;
    p->kept_bytes += sizeof *value->list + old->count * sizeof *value;
    if (old->count)
        value->list->items = arena_alloc(p->kept, old->count * sizeof *value);
    value->list->capacity = old->count;
    for (unsigned i = 0; i < old->count; i++) {
        TRY(keep(p, &old->items[i], depth + 1));
        value_append(p->kept, value->list, old->items[i]);
    }
    return 0;
}

/* Gives the values from `height` on to the sink. They are dead then. */
static int give_items(struct pickle *p, unsigned height)
{
    const unsigned list = p->stack[p->lists_at].list->count + p->list_at - p->lists_at - 1;
    for (unsigned i = height; i < p->stack_count; i++)
        TRY(p->sink->take(p->sink->user, list, &p->stack[i], p->error));
    p->stack_count = height;
    if (p->item_bytes > ITEM_ROOM_BYTES) {
        arena_free(&p->items);
        p->item_bytes = 0;
    }
    return 0;
}

/* A dict is no key, so the dict before it in the list of the sink is complete. */
static int before_dict(struct pickle *p)
{
    const unsigned height = p->list_at + 1;
    if (p->list_at && p->stack_count == height + 1 && p->mark_count &&
        p->marks[p->mark_count - 1] == height)
        return give_items(p, height);
    return 0;
}

/* Sees whether the empty list on the top is the sink's. */
static int after_list(struct pickle *p)
{
    const unsigned at = p->stack_count - 1, marks = p->mark_count;
    if (!p->sink || at < 2 || p->stack[0].type != VALUE_DICT)
        return 0;
    const struct value *below = &p->stack[at - 1];
    if (!p->lists_at && at % 2 == 0 && (marks == 0 || (marks == 1 && p->marks[0] == 1)) &&
        below->type == VALUE_TEXT && strcmp(below->text, p->sink->key) == 0) {
        p->lists_at = at;
        p->list_marks = marks;
        return 0;
    }
    const bool is_first = at == p->lists_at + 1;
    if (!p->lists_at || !(is_first || (below->type == VALUE_LIST && below->list->is_taken)) ||
        !((is_first && marks == p->list_marks) ||
          (marks == p->list_marks + 1 && p->marks[marks - 1] == p->lists_at + 1)))
        return 0;
    TRY(keep(p, &p->stack[at], 0)); /* the list before it has no items on the stack */
    p->stack[at].list->is_taken = true;
    p->list_at = at;
    return 0;
}

/* ---- the stack ---- */

static int push(struct pickle *p, struct value value)
{
    if (p->stack_count == STACK_MOST)
        return pickle_error(p, "more than 16 million values wait for their list: this is no log");
    p->stack = must_grow(p->stack, p->stack_count, &p->stack_capacity, sizeof *p->stack);
    p->stack[p->stack_count++] = value;
    return 0;
}

static int push_text(struct pickle *p, unsigned size)
{
    const unsigned char *bytes = NULL;
    uint64_t count;
    TRY(get_bytes(p, size, &bytes, &count));
    count = count < TEXT_KEPT_BYTES ? count : TEXT_KEPT_BYTES;
    return push(p,
                (struct value){.type = VALUE_TEXT,
                               .is_kept = !in_item(p),
                               .text = arena_copy(room_for(p, count), (const char *)bytes, count)});
}

static int push_unsigned(struct pickle *p, unsigned size)
{
    uint64_t number;
    TRY(get_number(p, size, &number));
    return push(p, (struct value){.type = VALUE_INTEGER, .integer = (int64_t)number});
}

static int push_signed(struct pickle *p, unsigned size)
{
    uint64_t number;
    TRY(get_number(p, size, &number));
    return push(p, (struct value){.type = VALUE_INTEGER, .integer = (int32_t)(uint32_t)number});
}

static int push_none(struct pickle *p, unsigned unused)
{
    return push(p, (struct value){.type = VALUE_NONE});
}

static int push_boolean(struct pickle *p, unsigned boolean)
{
    return push(p, (struct value){.type = VALUE_BOOLEAN, .integer = boolean});
}

static int push_empty(struct pickle *p, unsigned type)
{
    if (type == VALUE_DICT)
        TRY(before_dict(p));
    const bool is_kept = !in_item(p);
    struct value value =
        value_new_list(room_for(p, sizeof(struct value_list)), (enum value_type)type);
    value.is_kept = is_kept;
    TRY(push(p, value));
    return type == VALUE_LIST ? after_list(p) : 0;
}

/* A long integer in two's complement. What does not fit becomes a real number. */
static int push_long(struct pickle *p, unsigned size)
{
    const unsigned char *bytes = NULL;
    uint64_t count;
    TRY(get_bytes(p, size, &bytes, &count));
    const bool negative = count > 0 && bytes[count - 1] >= 128;
    uint64_t low = negative ? UINT64_MAX : 0;
    bool fits = true;
    for (uint64_t i = 0; i < count; i++)
        if (i < 8)
            low = (low & ~(UINT64_C(255) << 8 * i)) | (uint64_t)bytes[i] << 8 * i;
        else
            fits = fits && bytes[i] == (negative ? 255 : 0);
    fits = fits && (low >> 63) == negative;
    return push(p,
                fits ? (struct value){.type = VALUE_INTEGER, .integer = (int64_t)low}
                     : (struct value){.type = VALUE_REAL, .real = negative ? -HUGE_VAL : HUGE_VAL});
}

static int push_real(struct pickle *p, unsigned size)
{
    uint64_t number, bits = 0;
    struct value value = {.type = VALUE_REAL};
    TRY(get_number(p, size, &number));
    for (int i = 0; i < 8; i++) /* the greatest byte stands first */
        bits |= (number >> 8 * i & 255) << 8 * (7 - i);
    memcpy(&value.real, &bits, sizeof bits);
    return push(p, value);
}

static int needs(const struct pickle *p, unsigned count)
{
    const unsigned floor = p->mark_count ? p->marks[p->mark_count - 1] : 0;
    if (p->stack_count < floor + count)
        return pickle_error(p, "the pickle is damaged: its stack has too few values");
    return 0;
}

/* The height of the stack at the last mark, which goes. */
static int pop_mark(struct pickle *p, unsigned *height)
{
    if (p->mark_count == 0)
        return pickle_error(p, "the pickle is damaged: there is no mark");
    *height = p->marks[--p->mark_count];
    return 0;
}

/* The list or dict on which the values from `height` on stand. */
static int container_below(const struct pickle *p, unsigned height, enum value_type type,
                           struct value **container)
{
    if (height == 0 || p->stack[height - 1].type != type)
        return pickle_error(p, type == VALUE_LIST
                                   ? "the pickle is damaged: it adds items to what is no list"
                                   : "the pickle is damaged: it adds members to what is no dict");
    *container = &p->stack[height - 1];
    return 0;
}

/* Moves the values from `height` on to a container. */
static int move_items(struct pickle *p, unsigned height, const struct value *container)
{
    const unsigned count = p->stack_count - height;
    if (container->type == VALUE_DICT && count % 2)
        return pickle_error(p, "the pickle is damaged: a dict has a key without a value");
    struct value_list *list = container->list;
    if (container->type == VALUE_DICT && (uint64_t)list->count + count > 2 * MEMBERS_MOST)
        return pickle_error(p, "a dict has more than 4096 members: this is no log");
    struct arena *arena = container->is_kept ? p->kept : &p->items;
    *(container->is_kept ? &p->kept_bytes : &p->item_bytes) += count * sizeof *list->items;
    if (list->capacity == 0 && count > 0) { /* no more room than it needs */
        list->items = arena_alloc(arena, count * sizeof *list->items);
        list->capacity = count;
    }
    for (unsigned i = height; i < p->stack_count; i++) {
        if (container->is_kept)
            TRY(keep(p, &p->stack[i], 0));
        value_append(arena, list, p->stack[i]);
    }
    p->stack_count = height;
    return 0;
}

/* Adds to the container below: `count` values, or, if that is 0, those from the mark on. */
static int add_items(struct pickle *p, unsigned count, enum value_type type)
{
    struct value *container = NULL;
    unsigned height = 0;
    if (count) {
        TRY(needs(p, count + 1));
        height = p->stack_count - count;
    } else {
        TRY(pop_mark(p, &height));
    }
    TRY(container_below(p, height, type, &container));
    if (p->list_at && height == p->list_at + 1)
        return give_items(p, height);
    const struct value copy = *container;
    return move_items(p, height, &copy);
}

static int append(struct pickle *p, unsigned count)
{
    return add_items(p, count, VALUE_LIST);
}

static int set_items(struct pickle *p, unsigned count)
{
    return add_items(p, count, VALUE_DICT);
}

/* A new container of the values from `height` on. */
static int make_container(struct pickle *p, unsigned height, enum value_type type)
{
    const bool is_kept = !(p->list_at && height > p->list_at);
    struct value value = value_new_list(is_kept ? p->kept : &p->items, type);
    value.is_kept = is_kept;
    TRY(move_items(p, height, &value));
    return push(p, value);
}

static int make_from_mark(struct pickle *p, unsigned type)
{
    unsigned height = 0;
    TRY(pop_mark(p, &height));
    return make_container(p, height, (enum value_type)type);
}

static int make_tuple(struct pickle *p, unsigned count)
{
    TRY(needs(p, count));
    return make_container(p, p->stack_count - count, VALUE_LIST);
}

static int push_mark(struct pickle *p, unsigned unused)
{
    p->marks = must_grow(p->marks, p->mark_count, &p->mark_capacity, sizeof *p->marks);
    p->marks[p->mark_count++] = p->stack_count;
    return 0;
}

static int pop(struct pickle *p, unsigned unused)
{
    TRY(needs(p, 1));
    p->stack_count--;
    return 0;
}

static int pop_to_mark(struct pickle *p, unsigned unused)
{
    return pop_mark(p, &p->stack_count);
}

/* ---- the memo ---- */

/* The place of a value that is taken out later; NULL: it is not. */
static struct value *memo_slot(const struct memo *memo, uint64_t index)
{
    const uint64_t word = index / 64, bit = UINT64_C(1) << index % 64;
    if (word >= memo->words || !(memo->fetched[word] & bit))
        return NULL;
    return &memo->values[memo->before[word] +
                         (unsigned)__builtin_popcountll(memo->fetched[word] & (bit - 1))];
}

/* Picklers number values one by one, so that no index reaches the pickle's length. */
static int put(struct pickle *p, uint64_t index)
{
    TRY(needs(p, 1));
    if (index >= place(p))
        return pickle_error(p, "the pickle is damaged: an index of its memo is too large");
    struct memo *memo = &p->memo;
    memo->count = index >= memo->count ? index + 1 : memo->count;
    struct value *slot = memo_slot(memo, index), *top = &p->stack[p->stack_count - 1];
    if (!slot)
        return 0;
    TRY(keep(p, top, 0));
    *slot = *top;
    return 0;
}

static int put_next(struct pickle *p, unsigned unused)
{
    return put(p, p->memo.count);
}

static int put_at(struct pickle *p, unsigned size)
{
    uint64_t index;
    TRY(get_number(p, size, &index));
    return put(p, index);
}

static int get_from(struct pickle *p, unsigned size)
{
    uint64_t index;
    TRY(get_number(p, size, &index));
    const struct value *slot = memo_slot(&p->memo, index);
    if (!slot || index >= p->memo.count)
        return pickle_error(p, "the pickle is damaged: its memo lacks a value");
    if (slot->type == VALUE_LIST && slot->list->is_taken)
        return pickle_error(p, "two devices have the same history: PyTorch writes no such log");
    if (slot->type == VALUE_DICT)
        TRY(before_dict(p));
    return push(p, *slot);
}

/* ---- opcodes ---- */

static const struct {
    unsigned char opcode;
    const char *name;
} refused[] = {
    {'c', "GLOBAL"},    {0x93, "STACK_GLOBAL"}, {'R', "REDUCE"},
    {'b', "BUILD"},     {'i', "INST"},          {'o', "OBJ"},
    {0x81, "NEWOBJ"},   {0x92, "NEWOBJ_EX"},    {0x82, "EXT1"},
    {0x83, "EXT2"},     {0x84, "EXT4"},         {'P', "PERSID"},
    {'Q', "BINPERSID"}, {0x97, "NEXT_BUFFER"},  {0x98, "READONLY_BUFFER"},
};

static int refuse(const struct pickle *p, unsigned char opcode)
{
    for (unsigned i = 0; i < sizeof refused / sizeof *refused; i++)
        if (refused[i].opcode == opcode)
            return import_error(p->log, p->error,
                                "byte %llu: %s is refused: it makes an object by running code, and "
                                "a log needs none",
                                (unsigned long long)p->opcode_at, refused[i].name);
    return import_error(p->log, p->error,
                        "byte %llu: 0x%02x is no opcode that a log of numbers, texts, lists and "
                        "dicts needs",
                        (unsigned long long)p->opcode_at, opcode);
}

static int skip_number(struct pickle *p, unsigned size)
{
    uint64_t ignored;
    return get_number(p, size, &ignored);
}

/* The opcodes that logs have. Bytes are texts here; texts and bytes have their lengths in 1, 4 or 8
 * bytes. */
static const struct {
    int (*run)(struct pickle *p, unsigned argument);
    unsigned argument;
} opcodes[256] = {
    ['('] = {push_mark, 0},
    ['0'] = {pop, 0},
    ['1'] = {pop_to_mark, 0},
    ['N'] = {push_none, 0},
    [0x88] = {push_boolean, 1},
    [0x89] = {push_boolean, 0},
    ['K'] = {push_unsigned, 1},
    ['M'] = {push_unsigned, 2},
    ['J'] = {push_signed, 4},
    [0x8a] = {push_long, 1},
    [0x8b] = {push_long, 4},
    ['G'] = {push_real, 8},
    [0x8c] = {push_text, 1},
    ['X'] = {push_text, 4},
    [0x8d] = {push_text, 8},
    ['C'] = {push_text, 1},
    ['B'] = {push_text, 4},
    [0x8e] = {push_text, 8},
    [']'] = {push_empty, VALUE_LIST},
    [')'] = {push_empty, VALUE_LIST},
    ['}'] = {push_empty, VALUE_DICT},
    ['l'] = {make_from_mark, VALUE_LIST},
    ['t'] = {make_from_mark, VALUE_LIST},
    ['d'] = {make_from_mark, VALUE_DICT},
    [0x85] = {make_tuple, 1},
    [0x86] = {make_tuple, 2},
    [0x87] = {make_tuple, 3},
    ['a'] = {append, 1},
    ['e'] = {append, 0},
    ['s'] = {set_items, 2},
    ['u'] = {set_items, 0},
    [0x94] = {put_next, 0},
    ['q'] = {put_at, 1},
    ['r'] = {put_at, 4},
    ['h'] = {get_from, 1},
    ['j'] = {get_from, 4},
    [0x95] = {skip_number, 8}, /* the length of a frame */
};

/* The next opcode; 0 at the end of the log. */
static int get_opcode(struct pickle *p, unsigned char *opcode)
{
    bool has;
    p->opcode_at = place(p);
    TRY(have(p, 1, &has));
    *opcode = has ? *p->at++ : 0;
    return 0;
}

static int begin(struct pickle *p)
{
    bool has;
    TRY(have(p, 2, &has));
    if (!has || p->at[0] != 0x80 || p->at[1] < 2 || p->at[1] > 5)
        return pickle_error(p, "expected a pickle of protocol 2 to 5");
    p->at += 2;
    return 0;
}

/* Marks an index of the memo as one that is taken out. */
static int mark_fetched(struct pickle *p, unsigned size)
{
    uint64_t index;
    TRY(get_number(p, size, &index));
    struct memo *memo = &p->memo;
    if (index >= place(p)) /* none was put there */
        return 0;
    if (index / 64 >= memo->words) {
        const size_t words = 2 * (index / 64) + 64;
        memo->fetched = must_realloc(memo->fetched, words * sizeof *memo->fetched);
        memset(memo->fetched + memo->words, 0, (words - memo->words) * sizeof *memo->fetched);
        memo->words = words;
    }
    memo->fetched[index / 64] |= UINT64_C(1) << index % 64;
    return 0;
}

/* Reads the opcodes up to the end, or to the first that `run` refuses. */
static int mark_all_fetched(struct pickle *p)
{
    TRY(begin(p));
    unsigned char opcode;
    for (;;) {
        TRY(get_opcode(p, &opcode));
        int (*const execute)(struct pickle *, unsigned) = opcodes[opcode].run;
        const unsigned size = opcodes[opcode].argument;
        const unsigned char *bytes;
        uint64_t number;
        if (!execute)
            return 0;
        if (execute == get_from)
            TRY(mark_fetched(p, size));
        else if (execute == push_text || execute == push_long)
            TRY(get_bytes(p, size, &bytes, &number));
        else if (execute == push_unsigned || execute == push_signed || execute == push_real ||
                 execute == put_at || execute == skip_number)
            TRY(get_number(p, size, &number));
    }
}

static void make_memo(struct memo *memo)
{
    unsigned count = 0;
    memo->before = must_alloc(memo->words * sizeof *memo->before);
    for (size_t i = 0; i < memo->words; i++) {
        memo->before[i] = count;
        count += (unsigned)__builtin_popcountll(memo->fetched[i]);
    }
    memo->values = must_alloc(count * sizeof *memo->values);
}

static int run(struct pickle *p, struct value *value)
{
    TRY(begin(p));
    for (;;) {
        unsigned char opcode;
        TRY(get_opcode(p, &opcode));
        if (opcode == '.') {
            TRY(needs(p, 1));
            *value = p->stack[p->stack_count - 1];
            return keep(p, value, 0);
        }
        if (!opcodes[opcode].run && place(p) == p->opcode_at)
            return pickle_error(p, "the pickle has no end: it was cut off");
        if (!opcodes[opcode].run)
            return refuse(p, opcode);
        TRY(opcodes[opcode].run(p, opcodes[opcode].argument));
        if (p->stack_count <= p->lists_at)
            p->lists_at = 0;
        if (p->stack_count <= p->list_at || !p->lists_at)
            p->list_at = 0;
        if (p->kept_bytes > values_most_bytes || p->item_bytes > values_most_bytes)
            return pickle_error(p, "the log has more than 4096 MiB of values outside of its "
                                   "history, or in one entry");
    }
}

int pickle_read(struct import *log, struct arena *arena, const struct pickle_sink *sink,
                struct value *value, struct error *error)
{
    struct pickle p = {.log = log, .kept = arena, .sink = sink, .error = error};
    int code = mark_all_fetched(&p);
    if (code == ERR_PARSE)
        code = 0; /* run() comes to it, or to what is wrong before */
    THEN(code, import_rewind(log, error));
    make_memo(&p.memo);
    p.window = p.at = p.end = NULL;
    p.taken_bytes = p.opcode_at = 0;
    THEN(code, run(&p, value));
    arena_free(&p.items);
    free(p.stack);
    free(p.marks);
    free(p.memo.fetched);
    free(p.memo.before);
    free(p.memo.values);
    return code;
}
