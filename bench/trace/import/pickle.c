/* Pickles, as Python's pickletools.py describes them: a program for a machine with a stack and a
 * memo. This machine makes values; it has no way to find or call a function, and refuses the
 * opcodes that ask for that. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trace/import/value.h"

struct pickle {
    struct arena *arena;
    const unsigned char *start, *at, *end;
    struct value *stack, *memo;
    unsigned stack_count, stack_capacity, mark_count, mark_capacity;
    unsigned *marks; /* heights of the stack */
    uint64_t memo_count, memo_capacity;
    size_t opcode_at;
    struct error *error;
};

static int pickle_error(const struct pickle *p, const char *what)
{
    return error_set(p->error, ERR_PARSE, "byte %zu: %s", p->opcode_at, what);
}

/* ---- bytes ---- */

/* The next `count` bytes as a number, the least byte first. */
static int get_number(struct pickle *p, unsigned count, uint64_t *number)
{
    if ((size_t)(p->end - p->at) < count)
        return pickle_error(p, "the pickle ends in the middle of an opcode: it was cut off");
    *number = 0;
    for (unsigned i = 0; i < count; i++)
        *number |= (uint64_t)p->at[i] << 8 * i;
    p->at += count;
    return 0;
}

/* The next bytes, whose count stands before them in `size` bytes. */
static int get_bytes(struct pickle *p, unsigned size, const unsigned char **bytes, uint64_t *count)
{
    TRY(get_number(p, size, count));
    if (*count > (uint64_t)(p->end - p->at))
        return pickle_error(p, "the pickle ends in the middle of a text: it was cut off");
    *bytes = p->at;
    p->at += *count;
    return 0;
}

/* ---- the stack ---- */

static int push(struct pickle *p, struct value value)
{
    p->stack = must_grow(p->stack, p->stack_count, &p->stack_capacity, sizeof *p->stack);
    p->stack[p->stack_count++] = value;
    return 0;
}

static int push_text(struct pickle *p, unsigned size)
{
    const unsigned char *bytes = NULL;
    uint64_t count;
    TRY(get_bytes(p, size, &bytes, &count));
    return push(p, (struct value){.type = VALUE_TEXT,
                                  .text = arena_copy(p->arena, (const char *)bytes, count)});
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
    (void)unused;
    return push(p, (struct value){.type = VALUE_NONE});
}

static int push_boolean(struct pickle *p, unsigned boolean)
{
    return push(p, (struct value){.type = VALUE_BOOLEAN, .integer = boolean});
}

static int push_empty(struct pickle *p, unsigned type)
{
    return push(p, value_new_list(p->arena, (enum value_type)type));
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
                           struct value_list **list)
{
    if (height == 0 || p->stack[height - 1].type != type)
        return pickle_error(p, type == VALUE_LIST
                                   ? "the pickle is damaged: it adds items to what is no list"
                                   : "the pickle is damaged: it adds members to what is no dict");
    *list = p->stack[height - 1].list;
    return 0;
}

/* Moves the values from `height` on to a container. */
static int move_items(struct pickle *p, unsigned height, struct value_list *list,
                      enum value_type type)
{
    if (type == VALUE_DICT && (p->stack_count - height) % 2)
        return pickle_error(p, "the pickle is damaged: a dict has a key without a value");
    const unsigned count = p->stack_count - height;
    if (list->capacity == 0 && count > 0) { /* no more room than it needs */
        list->items = arena_alloc(p->arena, count * sizeof *list->items);
        list->capacity = count;
    }
    for (unsigned i = height; i < p->stack_count; i++)
        value_append(p->arena, list, p->stack[i]);
    p->stack_count = height;
    return 0;
}

/* Adds to the container below: `count` values, or, if that is 0, those from the mark on. */
static int add_items(struct pickle *p, unsigned count, enum value_type type)
{
    struct value_list *list = NULL;
    unsigned height = 0;
    if (count) {
        TRY(needs(p, count + 1));
        height = p->stack_count - count;
    } else {
        TRY(pop_mark(p, &height));
    }
    TRY(container_below(p, height, type, &list));
    return move_items(p, height, list, type);
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
    struct value value = value_new_list(p->arena, type);
    TRY(move_items(p, height, value.list, type));
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
    (void)unused;
    p->marks = must_grow(p->marks, p->mark_count, &p->mark_capacity, sizeof *p->marks);
    p->marks[p->mark_count++] = p->stack_count;
    return 0;
}

static int pop(struct pickle *p, unsigned unused)
{
    (void)unused;
    TRY(needs(p, 1));
    p->stack_count--;
    return 0;
}

static int pop_to_mark(struct pickle *p, unsigned unused)
{
    (void)unused;
    unsigned height = 0;
    TRY(pop_mark(p, &height));
    p->stack_count = height;
    return 0;
}

/* ---- the memo ---- */

/* Picklers number values one by one, so that no index reaches the pickle's length. */
static int put(struct pickle *p, uint64_t index)
{
    TRY(needs(p, 1));
    if (index >= (uint64_t)(p->end - p->start))
        return pickle_error(p, "the pickle is damaged: an index of its memo is too large");
    if (index >= p->memo_capacity) {
        const uint64_t capacity = 2 * index + 64;
        p->memo = must_realloc(p->memo, capacity * sizeof *p->memo);
        memset(p->memo + p->memo_capacity, 0, (capacity - p->memo_capacity) * sizeof *p->memo);
        p->memo_capacity = capacity;
    }
    p->memo_count = index >= p->memo_count ? index + 1 : p->memo_count;
    p->memo[index] = p->stack[p->stack_count - 1];
    return 0;
}

static int put_next(struct pickle *p, unsigned unused)
{
    (void)unused;
    return put(p, p->memo_count);
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
    if (index >= p->memo_count)
        return pickle_error(p, "the pickle is damaged: its memo lacks a value");
    return push(p, p->memo[index]);
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
            return error_set(p->error, ERR_PARSE,
                             "byte %zu: %s is refused: it makes an object by running code, and a "
                             "log needs none",
                             p->opcode_at, refused[i].name);
    return error_set(p->error, ERR_PARSE,
                     "byte %zu: 0x%02x is no opcode that a log of numbers, texts, lists and dicts "
                     "needs",
                     p->opcode_at, opcode);
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

static int run(struct pickle *p, struct value *value)
{
    if (p->end - p->at < 2 || p->at[0] != 0x80 || p->at[1] < 2 || p->at[1] > 5)
        return pickle_error(p, "expected a pickle of protocol 2 to 5");
    p->at += 2;
    while (p->at < p->end) {
        p->opcode_at = (size_t)(p->at - p->start);
        const unsigned char opcode = *p->at++;
        if (opcode == '.') {
            TRY(needs(p, 1));
            *value = p->stack[p->stack_count - 1];
            return 0;
        }
        if (!opcodes[opcode].run)
            return refuse(p, opcode);
        TRY(opcodes[opcode].run(p, opcodes[opcode].argument));
    }
    p->opcode_at = (size_t)(p->at - p->start);
    return pickle_error(p, "the pickle has no end: it was cut off");
}

int pickle_read(struct arena *arena, const char *bytes, size_t length, struct value *value,
                struct error *error)
{
    const unsigned char *start = (const unsigned char *)bytes;
    struct pickle p = {
        .arena = arena, .start = start, .at = start, .end = start + length, .error = error};
    int code = run(&p, value);
    free(p.stack);
    free(p.memo);
    free(p.marks);
    return code;
}
