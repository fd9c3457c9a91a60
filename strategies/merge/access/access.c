/* Facts about the accesses of a kernel, and the answers that follow from them. */
#include "merge/access/access.h"

#include <string.h>

#include "base/sort.h"
#include "base/text.h"
#include "merge/access/access_text.h"

/* ---- indices --------------------------------------------------------------------------------- */

/* Does the text declare the name again, or give it another value? */
static bool is_modified(const struct ctext *t, int word)
{
    for (int i = 0; i < t->token_count; i++)
        if (t->tokens[i].modified && ctext_same_word(t, i, word))
            return true;
    return false;
}

/* A loop's counter hides a name of the kernel; everything else that changes a name spoils it. */
static struct access_index resolve(const struct kernel_access *ka, int word, int loop)
{
    const struct ctext *t = ka->text;
    const struct kernel *k = ka->kernel;
    struct access_index index = {.kind = ACCESS_ANY, .name = NO_NAME};
    for (; loop != CTEXT_NONE; loop = t->loops[loop].parent)
        if (t->loops[loop].counter != CTEXT_NONE &&
            ctext_same_word(t, t->loops[loop].counter, word)) {
            index.kind = ACCESS_COUNTER;
            index.number = (unsigned)loop;
            return index;
        }
    if (is_modified(t, word))
        return index;
    for (unsigned d = 0; d <= k->rank; d++) {
        int name = d < k->rank ? k->indices[d] : k->item;
        if (name != NO_NAME && ctext_is(t, word, ka->fun->names[name].text)) {
            index.kind = ACCESS_THREAD;
            index.number = d;
            return index;
        }
    }
    for (unsigned i = 0; i < k->scalar_count; i++)
        if (ctext_is(t, word, ka->fun->names[k->scalars[i]].text)) {
            index.kind = ACCESS_NAME;
            index.name = k->scalars[i];
        }
    return index;
}

/* A plain decimal number of at most nine digits. */
static bool literal_value(const struct ctext *t, int token, int64_t *value)
{
    const struct ctext_token *k = &t->tokens[token];
    if (k->kind != CTEXT_NUMBER || k->end - k->begin > 9)
        return false;
    *value = 0;
    for (size_t i = k->begin; i < k->end; i++) {
        if (t->text[i] < '0' || t->text[i] > '9')
            return false;
        *value = *value * 10 + (t->text[i] - '0');
    }
    return t->text[k->begin] != '0' || k->end - k->begin == 1; /* else it is octal */
}

/* A literal, or what a word means; ACCESS_ANY for another token. */
static struct access_index operand(const struct kernel_access *ka, int token, int loop)
{
    struct access_index index = {.kind = ACCESS_CONSTANT, .name = NO_NAME};
    if (ka->text->tokens[token].kind == CTEXT_WORD)
        return resolve(ka, token, loop);
    if (!literal_value(ka->text, token, &index.constant))
        index.kind = ACCESS_ANY;
    return index;
}

static struct access_index classify(const struct kernel_access *ka, int begin, int end, int loop)
{
    const struct access_index any = {.kind = ACCESS_ANY, .name = NO_NAME};
    struct access_index x = end > begin ? operand(ka, begin, loop) : any, y = any;
    if (end - begin <= 1)
        return x;
    const bool minus = ctext_is(ka->text, end - 2, "-");
    y = operand(ka, end - 1, loop);
    if (end - begin == 2 && minus && y.kind == ACCESS_CONSTANT)
        x = (struct access_index){.kind = ACCESS_CONSTANT, .name = NO_NAME};
    else if (end - begin != 3 || !(minus || ctext_is(ka->text, end - 2, "+")))
        return any;
    if (x.kind == ACCESS_CONSTANT && !minus) { /* 1 + i */
        const struct access_index z = x;
        x = y;
        y = z;
    }
    if (x.kind == ACCESS_ANY || y.kind != ACCESS_CONSTANT)
        return any;
    x.constant += minus ? -y.constant : y.constant;
    return x;
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* Sums are read as C computes them: products of literals, of i64 scalars of the program, of thread
 * indices and of counters. One factor of a product at most may hold threads or counters. */
enum { SUM_DEPTH = 16 };

struct sum_reader {
    const struct kernel_access *ka;
    int at, end, loop; /* tokens, and the loop that the sum stands in */
    unsigned depth;
};

static bool read_terms(struct sum_reader *r, int end, struct access_sum *sum);

/* sum += other, or sum -= other; false: there are too many terms. */
static bool add_sum(const struct sum_reader *r, struct access_sum *sum, bool minus,
                    const struct access_sum *other)
{
    struct program *program = r->ka->program;
    const enum expr_op op = minus ? EXPR_SUB : EXPR_ADD;
    sum->start = expr_binary(program, op, sum->start, other->start);
    for (unsigned o = 0; o < other->count; o++) {
        const struct access_term *from = &other->terms[o];
        unsigned t = 0;
        while (t < sum->count && (sum->terms[t].index.kind != from->index.kind ||
                                  sum->terms[t].index.number != from->index.number))
            t++;
        if (t == ACCESS_TERMS)
            return false;
        if (t == sum->count)
            sum->terms[sum->count++] = (struct access_term){from->index, expr_constant(program, 0)};
        sum->terms[t].factor = expr_binary(program, op, sum->terms[t].factor, from->factor);
    }
    return true;
}

static bool read_factor(struct sum_reader *r, int end, struct access_sum *sum)
{
    const struct ctext *t = r->ka->text;
    const int token = r->at++;
    *sum = (struct access_sum){.start = expr_constant(r->ka->program, 0)};
    if (token >= end || r->depth == SUM_DEPTH)
        return false;
    if (ctext_is(t, token, "(")) {
        const int close = t->tokens[token].partner;
        const bool widens = close == token + 2 && ctext_is(t, token + 1, "i64");
        r->depth++;
        bool good =
            close > token && close < end &&
            (widens ? (r->at = close + 1, read_factor(r, end, sum)) : read_terms(r, close, sum));
        r->at += !widens;
        r->depth--;
        return good;
    }
    const struct access_index x = operand(r->ka, token, r->loop);
    if (x.kind == ACCESS_CONSTANT) {
        sum->start = expr_constant(r->ka->program, x.constant);
    } else if (x.kind == ACCESS_NAME && r->ka->fun->names[x.name].element == ELEMENT_i64) {
        sum->start = expr_name(r->ka->program, ELEMENT_i64, x.name);
    } else if (x.kind == ACCESS_COUNTER ||
               (x.kind == ACCESS_THREAD && x.number < r->ka->kernel->rank)) {
        sum->terms[sum->count++] = (struct access_term){x, expr_constant(r->ka->program, 1)};
    } else {
        return false;
    }
    return true;
}

static bool read_product(struct sum_reader *r, int end, struct access_sum *sum)
{
    struct access_sum other;
    if (!read_factor(r, end, sum))
        return false;
    while (r->at < end && ctext_is(r->ka->text, r->at, "*")) {
        r->at++;
        if (!read_factor(r, end, &other) || (sum->count && other.count))
            return false;
        struct expr *by = sum->count ? other.start : sum->start;
        if (!sum->count)
            *sum = other;
        sum->start = expr_binary(r->ka->program, EXPR_MUL, sum->start, by);
        for (unsigned i = 0; i < sum->count; i++)
            sum->terms[i].factor = expr_binary(r->ka->program, EXPR_MUL, sum->terms[i].factor, by);
    }
    return true;
}

static bool read_terms(struct sum_reader *r, int end, struct access_sum *sum)
{
    const struct ctext *t = r->ka->text;
    *sum = (struct access_sum){.start = expr_constant(r->ka->program, 0)};
    bool minus = r->at < end && ctext_is(t, r->at, "-");
    r->at += minus;
    for (;;) {
        struct access_sum product;
        if (!read_product(r, end, &product) || !add_sum(r, sum, minus, &product))
            return false;
        if (r->at == end)
            return true;
        minus = ctext_is(t, r->at, "-");
        if (!minus && !ctext_is(t, r->at, "+"))
            return false;
        r->at++;
    }
}

/* False: there is something else in it. */
static bool read_sum(const struct kernel_access *ka, int begin, int end, int loop,
                     struct access_sum *sum)
{
    struct sum_reader r = {ka, begin, end, loop, 0};
    return read_terms(&r, end, sum);
}

/* The values that the counter of a loop may take; false: they are not known. */
static bool counter_range(const struct kernel_access *ka, struct access_index *index)
{
    const struct ctext_loop *l = &ka->text->loops[index->number];
    struct access_sum first, bound;
    if (!read_sum(ka, l->first, l->first_end, l->parent, &first) ||
        !read_sum(ka, l->bound, l->bound_end, l->parent, &bound) || first.count || bound.count)
        return false;
    if (l->inclusive)
        bound.start =
            expr_binary(ka->program, EXPR_ADD, bound.start, expr_constant(ka->program, 1));
    index->first = first.start;
    index->count = expr_binary(ka->program, EXPR_SUB, bound.start, first.start);
    return true;
}

/* The sum that an index of an access is, with the ranges of its counters, or NULL. */
static const struct access_sum *index_sum(const struct kernel_access *ka,
                                          const struct access_fact *f, unsigned dim)
{
    struct access_sum *sum = arena_alloc(&ka->program->arena, sizeof *sum);
    bool good = read_sum(ka, ctext_token_at(ka->text, f->access->index[dim].begin),
                         ctext_token_at(ka->text, f->access->index[dim].end), f->loop, sum);
    for (unsigned t = 0; good && t < sum->count; t++)
        good = sum->terms[t].index.kind == ACCESS_THREAD || counter_range(ka, &sum->terms[t].index);
    return good ? sum : NULL;
}

/* ---- accesses -------------------------------------------------------------------------------- */

static const struct ctext_statement *statement_of(const struct ctext *t, int token)
{
    int i;
    FIND_PLACE(i, (size_t)t->statement_count, t->statements[i].end <= token);
    return i < t->statement_count && t->statements[i].begin <= token ? &t->statements[i] : NULL;
}

/* Does the statement assign once, and use only elements, functions and the kernel's own names? A
 * function could write through a pointer among other names. */
static bool is_pure(const struct kernel_access *ka, const struct ctext *t,
                    const struct ctext_statement *s)
{
    static const char *const types[] = {"i8",  "u8",  "i32", "u32",  "i64",
                                        "u64", "f32", "f64", "bool", NULL};
    unsigned a = 0, assignments = 0;
    for (int i = s->begin; i < s->end; i++) {
        assignments += ctext_assigns(t, i) || ctext_steps(t, i);
        while (a < ka->count && ka->kernel->accesses[a].begin < t->tokens[i].begin)
            a++;
        bool element = a < ka->count && ka->kernel->accesses[a].begin == t->tokens[i].begin;
        if (ctext_is_word(t, i) && !element && !ctext_is(t, i + 1, "(") &&
            !ctext_is_one_of(t, i, types) && resolve(ka, i, s->loop).kind == ACCESS_ANY)
            return false;
    }
    return assignments == 1;
}

static struct access_fact read_fact(const struct kernel_access *ka, struct ctext *t,
                                    const struct access *a)
{
    struct access_fact f = {.access = a, .loop = CTEXT_NONE};
    int first = ctext_token_at(t, a->begin), last = ctext_token_at(t, a->end) - 1;
    const struct ctext_statement *s = statement_of(t, first);
    if (!s || last >= s->end || t->tokens[first].begin != a->begin) {
        ctext_set_unclear(t, first, "an access outside of any statement");
    } else {
        f.loop = s->loop;
        f.begin = t->tokens[s->begin].begin;
        f.end = t->tokens[s->end].begin;
        f.plain = s->plain && s->begin == first;
        f.pure = f.plain && is_pure(ka, t, s);
    }
    for (unsigned d = 0; d < a->rank; d++)
        f.index[d] = classify(ka, ctext_token_at(t, a->index[d].begin),
                              ctext_token_at(t, a->index[d].end), f.loop);
    ctext_unwrap(t, &first, &last);
    bool steps = ctext_steps(t, last + 1) || ctext_steps(t, first - 1);
    f.written = a->written || steps || ctext_assigns(t, last + 1);
    f.read = !f.written || !ctext_is(t, last + 1, "=") || steps;
    if (ctext_takes_address(t, first - 1))
        ctext_set_unclear(t, first - 1, "the address of an element");
    return f;
}

struct kernel_access *access_analyse(struct program *program, const struct fun *fun,
                                     const struct stm *stm, struct arena *arena)
{
    struct kernel_access *ka = arena_alloc(arena, sizeof *ka);
    struct ctext *t = ctext_read(program, stm->kernel, arena);
    *ka =
        (struct kernel_access){program, fun, stm, stm->kernel, stm->kernel->access_count, NULL, t};
    ka->facts = arena_alloc(arena, (ka->count + 1) * sizeof *ka->facts);
    for (unsigned i = 0; i < ka->count; i++)
        ka->facts[i] = read_fact(ka, t, &ka->kernel->accesses[i]);
    return ka;
}

const char *access_unclear(const struct kernel_access *ka)
{
    return ka->text->unclear;
}

/* ---- printing -------------------------------------------------------------------------------- */

unsigned access_line(const struct kernel_access *ka, size_t offset)
{
    unsigned line = ka->kernel->text_at.line;
    for (size_t i = 0; i < offset; i++)
        line += ka->kernel->text[i] == '\n';
    return line;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Answers from the facts.
 *
 * Why a launch may write `out` over `killed`: take one write and one read. Where the thread's
 * indices, and the counters of the loops around both, stand in both at the same positions, they
 * touch the same element only in the same thread and the same iteration of those loops (PLACE,
 * WRITE_*, READ_INDEX, LOOP); and there the read comes first (ORDER, with TEXT and TYPE for what a
 * compiler may do to it). If that holds for all pairs, no read finds what the launch has written.
 */
/* A condition that is being checked. */
struct check {
    const struct kernel_access *ka;
    const struct access_question *question;
    struct access_refusal refusal;
};

static const struct name *access_name(const struct kernel_access *ka, int name)
{
    return &ka->fun->names[name];
}

static bool refuse(struct check *c, int killed, const struct access_fact *about)
{
    c->refusal.killed = killed;
    c->refusal.line = about ? access_line(c->ka, about->access->begin) : c->ka->kernel->at.line;
    return false;
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* Have both surely the same value, in the same thread and the same iterations? */
static bool same_index(const struct access_index *a, const struct access_index *b)
{
    return a->kind != ACCESS_ANY && a->kind != ACCESS_SUM && a->kind == b->kind &&
           a->number == b->number && a->name == b->name && a->constant == b->constant;
}

static bool same_indices(const struct access_fact *a, const struct access_fact *b)
{
    bool same = a->access->rank == b->access->rank;
    for (unsigned d = 0; same && d < a->access->rank; d++)
        same = same_index(&a->index[d], &b->index[d]);
    return same;
}

/* Are these surely different elements of arrays in one place, in all threads and iterations? */
static bool disjoint(const struct access_fact *a, const struct access_fact *b)
{
    for (unsigned d = 0; d < a->access->rank && d < b->access->rank; d++) {
        const struct access_index *x = &a->index[d], *y = &b->index[d];
        if ((x->kind == ACCESS_CONSTANT || x->kind == ACCESS_NAME) && x->kind == y->kind &&
            x->name == y->name && x->constant != y->constant)
            return true;
    }
    return false;
}

static bool is_around(const struct kernel_access *ka, int outer, int loop)
{
    while (loop != CTEXT_NONE && loop != outer)
        loop = ka->text->loops[loop].parent;
    return loop == outer;
}

/* The innermost loop around both, or CTEXT_NONE. */
static int common_loop(const struct kernel_access *ka, const struct access_fact *a,
                       const struct access_fact *b)
{
    int loop = a->loop;
    while (loop != CTEXT_NONE && !is_around(ka, loop, b->loop))
        loop = ka->text->loops[loop].parent;
    return loop;
}

/* To a compiler, may these be the same memory? i32 and u32 may, and bytes with everything. */
static bool types_alias(const struct name *a, const struct name *b)
{
    size_t x = element_bytes(a->element), y = element_bytes(b->element);
    return x == 1 || y == 1 ||
           (x == y && element_is_float(a->element) == element_is_float(b->element));
}

/* ---- conditions on arrays -------------------------------------------------------------------- */

static bool check_text(struct check *c)
{
    return !access_unclear(c->ka) || refuse(c, NO_NAME, NULL);
}

/* The position of an array among the kernel's results, or -1. */
static int result_position(const struct check *c, int array)
{
    for (unsigned o = 0; o < c->ka->stm->out_count; o++)
        if (c->ka->stm->outs[o] == array)
            return (int)o;
    return -1;
}

static bool check_out(struct check *c)
{
    return result_position(c, c->question->out) >= 0 || refuse(c, NO_NAME, NULL);
}

static bool check_taken_over(struct check *c)
{
    int o = result_position(c, c->question->out);
    return o < 0 || c->ka->kernel->taken_over[o] == NO_NAME || refuse(c, NO_NAME, NULL);
}

static bool check_input_written(struct check *c)
{
    for (unsigned i = 0; i < c->question->killed_count; i++) {
        int killed = c->question->killed[i];
        for (unsigned f = 0; f < c->ka->count; f++)
            if (c->ka->facts[f].written && c->ka->facts[f].access->array == killed)
                return refuse(c, killed, &c->ka->facts[f]);
    }
    return true;
}

static bool check_size(struct check *c)
{
    size_t bytes = element_bytes(access_name(c->ka, c->question->out)->element);
    for (unsigned i = 0; i < c->question->killed_count; i++)
        if (element_bytes(access_name(c->ka, c->question->killed[i])->element) != bytes)
            return refuse(c, c->question->killed[i], NULL);
    return true;
}

static bool check_place(struct check *c)
{
    const struct access_question *q = c->question;
    for (unsigned i = 0; i < q->killed_count; i++)
        if (!q->same_place(q->context, q->out, q->killed[i]))
            return refuse(c, q->killed[i], NULL);
    return true;
}

/* ---- conditions on the writes and on reads of the result ------------------------------------- */

typedef bool write_condition(const struct check *, const struct access_fact *write);

static bool each_write(struct check *c, write_condition *holds)
{
    for (unsigned i = 0; i < c->ka->count; i++) {
        const struct access_fact *f = &c->ka->facts[i];
        if (f->written && f->access->array == c->question->out && !holds(c, f))
            return refuse(c, NO_NAME, f);
    }
    return true;
}

static bool at_threads(const struct check *c, const struct access_fact *write)
{
    for (unsigned d = 0; d < write->access->rank && !c->question->rows; d++)
        if (write->index[d].kind != ACCESS_THREAD)
            return false;
    return true;
}

/* Does the write use all indices of the thread? Then another thread writes another element. */
static bool names_thread(const struct check *c, const struct access_fact *write)
{
    const struct kernel *k = c->ka->kernel;
    unsigned count = k->rank + (k->item != NO_NAME && k->group_items > 1);
    for (unsigned t = 0; t < count; t++) {
        bool found = false;
        for (unsigned d = 0; d < write->access->rank; d++)
            found |= write->index[d].kind == ACCESS_THREAD && write->index[d].number == t;
        if (!found)
            return false;
    }
    return true;
}

/* A read of a value that the same thread has written is harmless. Any other read finds no value of
 * use in a fresh array, or belongs to an operator that also assigns. */
static bool check_out_read(struct check *c)
{
    const struct access_fact *first = NULL;
    for (unsigned i = 0; i < c->ka->count; i++) {
        const struct access_fact *f = &c->ka->facts[i];
        if (f->access->array != c->question->out)
            continue;
        if (f->read && !(first && same_indices(first, f) && first->end <= f->begin))
            return refuse(c, NO_NAME, f);
        if (f->written && !first)
            first = f;
    }
    return true;
}

/* ---- conditions on a read and a write -------------------------------------------------------- */

typedef bool pair_condition(const struct check *, const struct access_fact *read,
                            const struct access_fact *write);

static bool is_killed(const struct check *c, int array)
{
    for (unsigned i = 0; i < c->question->killed_count; i++)
        if (c->question->killed[i] == array)
            return true;
    return false;
}

static bool each_pair(struct check *c, pair_condition *holds)
{
    for (unsigned w = 0; w < c->ka->count; w++) {
        const struct access_fact *write = &c->ka->facts[w];
        if (!write->written || write->access->array != c->question->out)
            continue;
        for (unsigned r = 0; r < c->ka->count; r++) {
            const struct access_fact *read = &c->ka->facts[r];
            if (!is_killed(c, read->access->array) || (c->question->rows && disjoint(read, write)))
                continue;
            if (!holds(c, read, write))
                return refuse(c, read->access->array, read);
        }
    }
    return true;
}

static bool reads_where_written(const struct check *c, const struct access_fact *read,
                                const struct access_fact *write)
{
    if (!c->question->rows)
        return same_indices(read, write);
    for (unsigned d = 0; d < write->access->rank; d++)
        if (write->index[d].kind == ACCESS_THREAD &&
            !(d < read->access->rank && same_index(&read->index[d], &write->index[d])))
            return false;
    return true;
}

/* Does every loop around both touch other elements in each iteration? */
static bool loops_move_on(const struct check *c, const struct access_fact *read,
                          const struct access_fact *write)
{
    int loop = common_loop(c->ka, read, write);
    for (; loop != CTEXT_NONE; loop = c->ka->text->loops[loop].parent) {
        bool found = false;
        for (unsigned d = 0; d < write->access->rank && d < read->access->rank; d++)
            found |= write->index[d].kind == ACCESS_COUNTER &&
                     write->index[d].number == (unsigned)loop &&
                     same_index(&write->index[d], &read->index[d]);
        if (!found)
            return false;
    }
    return true;
}

/* In one iteration of the loops around both: is all of `read` over before `write`? */
static bool read_first(const struct check *c, const struct access_fact *read,
                       const struct access_fact *write)
{
    if (read->begin == write->begin) /* `y[i] = ... x[i] ...;` */
        return write->plain;
    return read->end <= write->begin;
}

/* A compiler that assumes that f32 and i32 never share memory may move a read past a write, unless
 * the written value depends on the read. (C's effective types forbid the move; C++ lacks them.) */
static bool types_in_order(const struct check *c, const struct access_fact *read,
                           const struct access_fact *write)
{
    return types_alias(access_name(c->ka, read->access->array),
                       access_name(c->ka, write->access->array)) ||
           (write->pure && read->begin == write->begin);
}

/* ---- in place -------------------------------------------------------------------------------- */

/* Each has one of the three. */
static const struct condition {
    bool (*holds)(struct check *);
    write_condition *of_writes; /* holds for each write of the result */
    pair_condition *of_pairs; /* holds for each read of what is killed, with each of these writes */
} conditions[ACCESS_CHECKS] = {
    [ACCESS_CHECK_TEXT] = {.holds = check_text},
    [ACCESS_CHECK_OUT] = {.holds = check_out},
    [ACCESS_CHECK_TAKEN_OVER] = {.holds = check_taken_over},
    [ACCESS_CHECK_INPUT_WRITTEN] = {.holds = check_input_written},
    [ACCESS_CHECK_SIZE] = {.holds = check_size},
    [ACCESS_CHECK_PLACE] = {.holds = check_place},
    [ACCESS_CHECK_WRITE_INDEX] = {.of_writes = at_threads},
    [ACCESS_CHECK_WRITE_THREADS] = {.of_writes = names_thread},
    [ACCESS_CHECK_OUT_READ] = {.holds = check_out_read},
    [ACCESS_CHECK_READ_INDEX] = {.of_pairs = reads_where_written},
    [ACCESS_CHECK_LOOP] = {.of_pairs = loops_move_on},
    [ACCESS_CHECK_ORDER] = {.of_pairs = read_first},
    [ACCESS_CHECK_TYPE] = {.of_pairs = types_in_order},
};

static bool condition_holds(const struct condition *condition, struct check *c)
{
    return condition->holds       ? condition->holds(c)
           : condition->of_writes ? each_write(c, condition->of_writes)
                                  : each_pair(c, condition->of_pairs);
}

bool access_in_place(const struct kernel_access *ka, const struct access_question *question,
                     struct access_refusal *refusal)
{
    struct check c = {.ka = ka, .question = question};
    for (int i = 0; i < ACCESS_CHECKS; i++) {
        if (question->switches >> i & 1 || condition_holds(&conditions[i], &c))
            continue;
        c.refusal.check = (enum access_check)i;
        if (refusal)
            *refusal = c.refusal;
        return false;
    }
    return true;
}

static const char *const check_sentences[] = {ACCESS_CHECK_LIST(TEXT_SENTENCE)};

const char *access_check_sentence(enum access_check check)
{
    return check_sentences[check];
}

/* ---- private arrays -------------------------------------------------------------------------- */

static bool is_private(const struct kernel_access *ka, int array)
{
    for (unsigned i = 0; i < ka->kernel->private_count; i++)
        if (ka->kernel->privates[i] == array)
            return true;
    return false;
}

static bool all_before(const struct kernel_access *ka, int a, int b, unsigned switches)
{
    for (unsigned i = 0; i < ka->count; i++)
        for (unsigned j = 0; j < ka->count; j++) {
            const struct access_fact *x = &ka->facts[i], *y = &ka->facts[j];
            if (x->access->array != a || y->access->array != b)
                continue;
            if (!(switches & ACCESS_WITHOUT(LOOP)) && common_loop(ka, x, y) != CTEXT_NONE)
                return false;
            if (!(switches & ACCESS_WITHOUT(ORDER)) && x->end > y->begin)
                return false;
        }
    return true;
}

enum access_order access_private_order(const struct kernel_access *ka, int a, int b,
                                       unsigned switches)
{
    if (a == b || !is_private(ka, a) || !is_private(ka, b) ||
        (access_unclear(ka) && !(switches & ACCESS_WITHOUT(TEXT))) ||
        (!types_alias(access_name(ka, a), access_name(ka, b)) &&
         !(switches & ACCESS_WITHOUT(TYPE))))
        return ACCESS_OVERLAP;
    if (all_before(ka, a, b, switches))
        return ACCESS_BEFORE;
    return all_before(ka, b, a, switches) ? ACCESS_AFTER : ACCESS_OVERLAP;
}

/* ---- regions --------------------------------------------------------------------------------- */

struct access_region access_region_of(const struct kernel_access *ka, const struct access_fact *f)
{
    const struct access_index any = {.kind = ACCESS_ANY, .name = NO_NAME};
    struct access_region region = {.rank = f->access->rank};
    for (unsigned d = 0; d < region.rank; d++) {
        region.dim[d] = f->index[d];
        if (access_unclear(ka) ||
            (f->index[d].kind == ACCESS_COUNTER && !counter_range(ka, &region.dim[d])))
            region.dim[d] = any;
        else if (f->index[d].kind == ACCESS_ANY && (region.dim[d].sum = index_sum(ka, f, d)))
            region.dim[d].kind = ACCESS_SUM;
    }
    return region;
}

/* ---- copies between private arrays ----------------------------------------------------------- */

/* Is it the counter of a loop, times 1? */
static bool is_counter(const struct access_term *term)
{
    return term->index.kind == ACCESS_COUNTER && term->factor->op == EXPR_CONSTANT &&
           term->factor->value.i64 == 1;
}

/* Does each index of the source count in a loop of its own, and run along one dimension of the
 * destination? */
static bool read_copied_dims(const struct kernel_access *ka, struct access_copy *copy)
{
    const struct access *to = copy->write->access;
    int counter[RANK_MAX];
    unsigned counters = 0;
    for (unsigned e = 0; e < to->rank; e++) {
        struct access_sum sum;
        copy->dim[e] = -1;
        if (!read_sum(ka, ctext_token_at(ka->text, to->index[e].begin),
                      ctext_token_at(ka->text, to->index[e].end), copy->write->loop, &sum) ||
            sum.count > 1 || (sum.count == 1 && !is_counter(&sum.terms[0])))
            return false;
        copy->start[e] = sum.start;
        counter[e] = sum.count ? (int)sum.terms[0].index.number : CTEXT_NONE;
        counters += sum.count;
    }
    for (unsigned d = 0; d < copy->read->access->rank; d++) {
        const struct access_index *index = &copy->read->index[d];
        unsigned e = 0;
        while (e < to->rank && (counter[e] != (int)index->number || copy->dim[e] >= 0))
            e++;
        if (index->kind != ACCESS_COUNTER || index->constant != 0 || e == to->rank)
            return false;
        copy->dim[e] = (int)d;
    }
    return counters == copy->read->access->rank;
}

/* Is the statement of the first fact no more than `write = read;`? */
static bool is_copy(const struct kernel_access *ka, const struct access_fact *write,
                    const struct access_fact *read)
{
    const struct ctext *t = ka->text;
    int end = ctext_token_at(t, read->access->end);
    return write->plain && write->begin == read->begin &&
           ctext_token_at(t, write->access->end) + 1 == ctext_token_at(t, read->access->begin) &&
           t->tokens[end].begin == read->end && is_private(ka, write->access->array) &&
           is_private(ka, read->access->array) && write->access->array != read->access->array &&
           access_name(ka, write->access->array)->element ==
               access_name(ka, read->access->array)->element;
}

struct access_copies access_private_copies(const struct kernel_access *ka, struct arena *arena)
{
    struct access_copies all = {0, arena_alloc(arena, (ka->count + 1) * sizeof *all.items)};
    for (unsigned i = 0; i + 1 < ka->count && !access_unclear(ka); i++) {
        const struct access_fact *write = &ka->facts[i], *read = write + 1;
        struct access_copy copy = {.source = read->access->array,
                                   .destination = write->access->array,
                                   .read = read,
                                   .write = write};
        if (is_copy(ka, write, read) && read_copied_dims(ka, &copy))
            all.items[all.count++] = copy;
    }
    return all;
}

enum access_order access_copy_order(const struct kernel_access *ka, const struct access_copy *copy,
                                    const struct access_fact *fact)
{
    if (common_loop(ka, fact, copy->write) != CTEXT_NONE)
        return ACCESS_OVERLAP;
    if (fact->end <= copy->write->begin)
        return ACCESS_BEFORE;
    return copy->write->end <= fact->begin ? ACCESS_AFTER : ACCESS_OVERLAP;
}
