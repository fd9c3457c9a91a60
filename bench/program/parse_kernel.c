/* Kernels: parses the header; searches the body only for accesses, scalars and `each`. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "program/parser.h"

/* ---- the header ----------------------------------------------------------------------------- */

static int bind_thread_scalar(struct parser *p, const char *what)
{
    struct name n = {
        .kind = NAME_SCALAR, .element = ELEMENT_i32, .memory = NO_NAME, .scoped = true};
    struct source_position at = p->token.at;
    return parse_bind(p, parse_new_name(p, what), at, &n);
}

static void parse_device(struct parser *p, struct kernel *k)
{
    struct source_position at = p->token.at;
    union scalar number;
    if (!parse_constant(p, parse_typed(p, ELEMENT_i64, "the number of a device"), &number) ||
        number.i64 < 0 || number.i64 > DEVICE_NUMBER_MAX)
        parser_fail(p, at, "the number of a device must be a constant from 0 to %d",
                    DEVICE_NUMBER_MAX);
    k->on = (unsigned)number.i64;
}

static void parse_index_space(struct parser *p, struct kernel *k)
{
    parser_expect(p, "(", "before the index space");
    do {
        if (k->rank == RANK_MAX)
            parser_fail(p, p->token.at, "an index space has at most %d dimensions", RANK_MAX);
        k->indices[k->rank] = bind_thread_scalar(p, "the name of an index");
        parse_scope(p, k->indices[k->rank], false); /* extents cannot use the index */
        parser_expect(p, "<", "between an index and its extent");
        k->extents[k->rank++] = parse_typed(p, ELEMENT_i64, "an extent");
    } while (parser_take(p, ","));
    parser_expect(p, ")", "after the index space");
}

static void parse_taken_over(struct parser *p, struct stm *s, struct kernel *k)
{
    do {
        struct token t = p->token;
        int out = fun_find(p->fun, t.text, t.length);
        unsigned i = 0;
        while (i < s->out_count && s->outs[i] != out)
            i++;
        if (t.kind != TOKEN_WORD || i == s->out_count)
            parser_unexpected(p, "one of the names that this kernel binds, after 'with'");
        parser_advance(p);
        parser_expect(p, "<-", "between a result and the array whose place it takes");
        k->taken_over[i] = parse_take_use(p, NAME_ARRAY, "an array");
    } while (parser_take(p, ","));
}

static void parse_private(struct parser *p, struct kernel *k)
{
    struct ints names = {0};
    const unsigned thread_rank = kernel_thread_rank(k);
    do {
        struct source_position at = p->token.at;
        char *text = parse_new_name(p, "the name of a private array");
        struct name n = parse_type(p, thread_rank);
        if (n.kind != NAME_ARRAY || n.unique)
            parser_fail(p, at, "a private name must be an array: %s: [size]type", text);
        if (n.rank + thread_rank > RANK_MAX)
            parser_fail(p, at,
                        "the index space%s and a private array together have at most %d dimensions",
                        k->item == NO_NAME ? "" : ", the group", RANK_MAX);
        n.scoped = true;
        ints_push(p, &names, parse_bind(p, text, at, &n));
    } while (parser_take(p, ","));
    k->privates = names.data;
    k->private_count = names.count;
}

static void parse_locals(struct parser *p, struct kernel *k)
{
    struct ints names = {0};
    do {
        struct source_position at = p->token.at;
        char *text = parse_new_name(p, "the name of a local array");
        struct name n = parse_type(p, 0);
        if (n.kind != NAME_ARRAY || n.unique || n.memory != NO_NAME || n.block)
            parser_fail(p, at, "a local name must be an array: %s: [constant]type", text);
        for (unsigned d = 0; d < n.rank; d++) {
            union scalar size;
            if (!parse_constant(p, n.shape[d], &size) || size.i64 < 1 || size.i64 > 65536)
                parser_fail(p, at,
                            "the sizes of a local array must be constants from 1 to 65536: "
                            "numbers, or 'let's made of numbers");
            n.shape[d] = expr_constant(p->program, size.i64);
        }
        n.local = n.scoped = true;
        ints_push(p, &names, parse_bind(p, text, at, &n));
    } while (parser_take(p, ","));
    k->locals = names.data;
    k->local_count = names.count;
}

static void parse_group(struct parser *p, struct kernel *k)
{
    k->item = bind_thread_scalar(p, "the name of the item in its group");
    parser_expect(p, "<", "between the item and the size of the group");
    struct source_position at = p->token.at;
    union scalar items;
    if (!parse_constant(p, parse_typed(p, ELEMENT_i64, "the size of a group"), &items) ||
        items.i64 < 1 || items.i64 > 1024)
        parser_fail(p, at,
                    "the size of a group must be a constant from 1 to 1024: a number, or a 'let' "
                    "made of numbers");
    k->group_items = (unsigned)items.i64;
    if (k->rank < RANK_MAX) { /* for private arrays the item is one more index of the thread */
        k->indices[k->rank] = k->item;
        k->extents[k->rank] = expr_constant(p->program, items.i64);
    }
    if (parser_take(p, "local"))
        parse_locals(p, k);
}

/* ---- the text ------------------------------------------------------------------------------- */

struct scan {
    struct parser *p;
    struct stm *stm;
    struct kernel *k;
    struct ints arrays, scalars;
    unsigned access_capacity, each_capacity;
    size_t each_open_until; /* where the last `each` ends */
};

static _Noreturn void fail_at(struct scan *s, size_t offset, const char *message, const char *name)
{
    parser_fail(s->p, position_after(s->k->text_at, s->k->text, offset), message, name);
}

/* The last character before i that is not blank, at *at; 0 if there is none. Comments in between
 * are rare, and only make a message less exact. */
static char char_before(const char *text, size_t i, size_t *at)
{
    while (i > 0 && isspace((unsigned char)text[i - 1]))
        i--;
    *at = i ? i - 1 : 0;
    return i ? text[i - 1] : 0;
}

/* Does the text at s assign to the access before it? */
static bool text_assigns(const char *s)
{
    if ((s[0] == '+' && s[1] == '+') || (s[0] == '-' && s[1] == '-'))
        return true;
    if (*s == '=')
        return s[1] != '=';
    if (*s && strchr("+-*/%&|^", *s))
        return s[1] == '=';
    return (s[0] == '<' && s[1] == '<' && s[2] == '=') ||
           (s[0] == '>' && s[1] == '>' && s[2] == '=');
}

static void note_use(struct parser *p, struct ints *list, int name)
{
    for (unsigned i = 0; i < list->count; i++)
        if (list->data[i] == name)
            return;
    ints_push(p, list, name);
}

static void scan_range(struct scan *s, size_t i, size_t end);

/* Notes where the indices after the `[` at `open` are; returns the offset after `]`. */
static size_t scan_indices(struct scan *s, size_t open, struct access *a, const char *name)
{
    const char *text = s->k->text;
    unsigned depth = 0;
    a->index[0].begin = open + 1;
    for (size_t i = open; text[i];) {
        size_t n = c_skippable(text + i);
        if (n) {
            i += n;
            continue;
        }
        char c = text[i];
        if (c == '[' || c == '(' || c == '{')
            depth++;
        bool closes = c == ']' || c == ')' || c == '}';
        if ((closes && depth == 1) || (c == ',' && depth == 1)) {
            if (a->rank == RANK_MAX)
                fail_at(s, i, "'%s' has too many indices", name);
            a->index[a->rank++].end = i;
            if (closes)
                return i + 1;
            if (a->rank < RANK_MAX)
                a->index[a->rank].begin = i + 1;
        }
        depth -= closes;
        i++;
    }
    fail_at(s, open, "this '[' after '%s' has no matching ']'", name);
}

static size_t scan_access(struct scan *s, int array, size_t begin, size_t word_end)
{
    const struct name *n = &s->p->fun->names[array];
    struct kernel *k = s->k;
    const char *text = k->text;
    size_t open = c_skip_blank(text, word_end);
    if (text[open] != '[')
        fail_at(s, begin,
                "the array '%s' is used without its indices: write it as an element [i, j]",
                n->text);
    struct access a = {.array = array, .begin = begin};
    a.end = scan_indices(s, open, &a, n->text);
    if (a.rank != n->rank) {
        char message[200];
        snprintf(message, sizeof message, "'%%s' has %u dimension%s, but is given %u ind%s here",
                 n->rank, n->rank == 1 ? "" : "s", a.rank, a.rank == 1 ? "ex" : "ices");
        parser_fail(s->p, position_after(s->k->text_at, text, begin), message, n->text);
    }
    size_t at;
    char c = char_before(text, begin, &at);
    bool increments = at > 0 && (c == '+' || c == '-') && text[at - 1] == c;
    a.written = increments || text_assigns(text + c_skip_blank(text, a.end));
    if (c == '&' && !(at > 0 && text[at - 1] == '&')) {
        size_t unused;
        char operand = char_before(text, at, &unused);
        if (!c_is_word_char(operand) && operand != ')' && operand != ']')
            fail_at(s, at, "the address of an element of '%s' cannot be taken", n->text);
    }
    if (!n->local)
        note_use(s->p, &s->arrays, array);
    k->accesses = arena_grow(&s->p->program->arena, k->accesses, k->access_count,
                             &s->access_capacity, sizeof *k->accesses);
    k->accesses[k->access_count++] = a;
    for (unsigned d = 0; d < a.rank; d++) /* `x[index[i]]` */
        scan_range(s, a.index[d].begin, a.index[d].end);
    return a.end;
}

static size_t scan_each(struct scan *s, size_t keyword, size_t word_end)
{
    struct kernel *k = s->k;
    size_t open = c_skip_blank(k->text, word_end);
    if (k->item == NO_NAME)
        fail_at(s, keyword, "'%s' is allowed only in a kernel with 'group'", "each");
    if (keyword < s->each_open_until)
        fail_at(s, keyword, "'%s' is inside another one", "each");
    if (k->text[open] != '{')
        fail_at(s, keyword, "'%s' must be followed by '{'", "each");
    size_t close = open;
    for (unsigned depth = 0; k->text[close];) {
        size_t n = c_skippable(k->text + close);
        depth += k->text[close] == '{';
        if (!n && k->text[close] == '}' && --depth == 0)
            break;
        close += n ? n : 1;
    }
    k->eaches = arena_grow(&s->p->program->arena, k->eaches, k->each_count, &s->each_capacity,
                           sizeof *k->eaches);
    k->eaches[k->each_count++] = (struct each){keyword, open, close};
    s->each_open_until = close;
    return open + 1;
}

static size_t scan_word(struct scan *s, size_t begin, size_t end)
{
    const char *text = s->k->text;
    size_t length = end - begin, at;
    char c = char_before(text, begin, &at);
    if (c == '.' || (c == '>' && at > 0 && text[at - 1] == '-'))
        return end; /* a member of a struct */
    if ((length == 6 && memcmp(text + begin, "return", 6) == 0) ||
        (length == 4 && memcmp(text + begin, "goto", 4) == 0))
        fail_at(s, begin, "%s is not allowed in a kernel: put the rest of the body in an 'if'",
                length == 6 ? "'return'" : "'goto'");
    if (length == 4 && memcmp(text + begin, "each", 4) == 0)
        return scan_each(s, begin, end);
    struct token t = {.kind = TOKEN_WORD, .text = text + begin, .length = length};
    int name = parse_use(s->p, &t);
    if (name == NO_NAME)
        return end; /* C's own, or an error that the C compiler will find */
    const struct name *n = &s->p->fun->names[name];
    if (n->kind == NAME_ARRAY)
        return scan_access(s, name, begin, end);
    if (n->kind == NAME_MEMORY)
        fail_at(s, begin, "the memory block '%s' cannot be used in a kernel", n->text);
    bool own = name == s->k->item;
    for (unsigned d = 0; d < s->k->rank; d++)
        own |= name == s->k->indices[d];
    if (!own)
        note_use(s->p, &s->scalars, name);
    return end;
}

static void scan_range(struct scan *s, size_t i, size_t end)
{
    const char *text = s->k->text;
    while (i < end) {
        size_t n = c_skippable(text + i), word = i;
        while (word < end && c_is_word_char(text[word]))
            word++;
        if (n)
            i += n;
        else if (word > i && !isdigit((unsigned char)text[i]))
            i = scan_word(s, i, word);
        else
            i = word > i ? word : i + 1;
    }
}

static void check_writes(struct scan *s)
{
    const struct kernel *k = s->k;
    for (unsigned i = 0; i < k->access_count; i++) {
        const struct access *a = &k->accesses[i];
        bool own = s->p->fun->names[a->array].local || s->p->fun->names[a->array].thread_rank > 0;
        for (unsigned o = 0; o < s->stm->out_count; o++)
            own |= s->stm->outs[o] == a->array;
        if (a->written && !own)
            fail_at(s, a->begin, "'%s' is not a result of this kernel and may only be read",
                    s->p->fun->names[a->array].text);
        bool in_each = k->item == NO_NAME;
        for (unsigned e = 0; e < k->each_count; e++)
            in_each |= a->begin > k->eaches[e].open && a->begin < k->eaches[e].close;
        if (a->written && !in_each)
            fail_at(s, a->begin, "'%s' is written outside of 'each'",
                    s->p->fun->names[a->array].text);
        if (s->p->fun->names[a->array].thread_rank && !in_each)
            fail_at(s, a->begin,
                    "'%s' is private: each item has its own, so it is read and written in 'each'",
                    s->p->fun->names[a->array].text);
    }
    for (unsigned o = 0; o < s->stm->out_count; o++) {
        bool written = false;
        for (unsigned i = 0; i < k->access_count; i++)
            written |= k->accesses[i].written && k->accesses[i].array == s->stm->outs[o];
        if (!written)
            parser_fail(s->p, k->at, "the kernel never writes its result '%s'",
                        s->p->fun->names[s->stm->outs[o]].text);
    }
}

static void scan_text(struct parser *p, struct stm *stm, struct kernel *k)
{
    struct scan s = {.p = p, .stm = stm, .k = k};
    for (unsigned o = 0; o < stm->out_count; o++)
        ints_push(p, &s.arrays, stm->outs[o]);
    scan_range(&s, 0, k->length);
    check_writes(&s);
    k->arrays = s.arrays.data;
    k->array_count = s.arrays.count;
    k->scalars = s.scalars.data;
    k->scalar_count = s.scalars.count;
    if (k->item != NO_NAME && !k->each_count)
        parser_fail(p, k->at, "a kernel with 'group' needs at least one 'each { ... }'");
}

/* ---- together ------------------------------------------------------------------------------- */

struct named_kernel {
    struct treap_node node; /* first, so that a node's address is that of its kernel */
    const struct kernel *kernel;
};

static int by_kernel_name(const struct treap_node *a, const struct treap_node *b)
{
    return strcmp(((const struct named_kernel *)a)->kernel->name,
                  ((const struct named_kernel *)b)->kernel->name);
}

static void check_name(struct parser *p, const struct kernel *k)
{
    struct named_kernel *named = arena_alloc(&p->program->arena, sizeof *named);
    named->kernel = k;
    p->kernels.compare = by_kernel_name;
    const struct treap_node *found = treap_from(&p->kernels, &named->node);
    if (found && by_kernel_name(found, &named->node) == 0)
        parser_fail(p, k->at, "there is already a kernel '%s' in line %u", k->name,
                    ((const struct named_kernel *)found)->kernel->at.line);
    treap_insert(&p->kernels, &named->node);
}

static void scope_kernel(struct parser *p, const struct stm *s, const struct kernel *k, bool in)
{
    for (unsigned i = 0; i < s->out_count; i++)
        parse_scope(p, s->outs[i], in);
    for (unsigned i = 0; i < k->rank; i++)
        parse_scope(p, k->indices[i], in);
    for (unsigned i = 0; i < k->private_count; i++)
        parse_scope(p, k->privates[i], in);
    for (unsigned i = 0; i < k->local_count; i++)
        parse_scope(p, k->locals[i], in);
    if (k->item != NO_NAME)
        parse_scope(p, k->item, in);
}

struct kernel *parse_kernel(struct parser *p, struct stm *s)
{
    struct kernel *k = arena_alloc(&p->program->arena, sizeof *k);
    k->at = p->token.at;
    k->item = NO_NAME;
    k->name = parse_new_name(p, "the name of the kernel");
    check_name(p, k);
    k->next = p->fun->kernels;
    p->fun->kernels = k;
    k->taken_over = arena_alloc(&p->program->arena, s->out_count * sizeof *k->taken_over);
    for (unsigned i = 0; i < s->out_count; i++) {
        k->taken_over[i] = NO_NAME;
        if (p->fun->names[s->outs[i]].kind != NAME_ARRAY)
            parser_fail(p, s->at, "a kernel's results are arrays, but '%s' is not",
                        p->fun->names[s->outs[i]].text);
    }
    if (parser_take(p, "on"))
        parse_device(p, k);
    parse_index_space(p, k);
    if (parser_take(p, "with"))
        parse_taken_over(p, s, k);
    if (parser_take(p, "group"))
        parse_group(p, k);
    if (parser_take(p, "private"))
        parse_private(p, k);
    if (k->item == NO_NAME && parser_at(p, "group"))
        parser_fail(p, p->token.at, "'group' and its local arrays stand before 'private'");
    scope_kernel(p, s, k, true);
    parser_raw_block(p, &k->text, &k->length, &k->text_at);
    scan_text(p, s, k);
    scope_kernel(p, s, k, false);
    return k;
}
