/* Disjointness: what is proved of regions must be so of the lists of their elements. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/disjoint.h"
#include "tests/base/cmocka.h"
#include "tests/merge/size/size_print.h"
#include "tests/merge/size/size_simulation.h"

/* All arrays are parts of one block; what they hold does not matter. */
#define HEADER                                                                                     \
    "fun f(n: i64, m: i64, b: i64, p_mem: mem(8), dn: [n][m]i32 @ p_mem, db: [b]i32 @ p_mem) {\n"

static struct program *parse(const char *text)
{
    struct program *program;
    struct error error = {0};
    if (program_parse("test", text, strlen(text), &program, &error))
        fail_msg("%s\n%s", error.text, text);
    return program;
}

static int name_of(const struct fun *fun, const char *text)
{
    return fun_find(fun, text, strlen(text));
}

/* ---- the elements themselves ---------------------------------------------------------------- */

enum { BYTES = 1 << 14, LEAST = -BYTES / 2 };
struct elements {
    bool has[BYTES];
    bool overflow;
};

/* Which iterations of a counter belong to a region: none but this one, all, those after, before. */
enum over { THIS, ALL, LATER, EARLIER };
struct subject {
    int array;
    int counter; /* or NO_NAME, then THIS */
    enum over over;
};

static void add_elements(struct simulation *sim, const struct subject *subject,
                         struct elements *set)
{
    const struct name *n = &sim->fun->names[subject->array];
    struct program *program = (struct program *)sim->program;
    int64_t shape[RANK_MAX], stride[RANK_MAX], offset, count = 1;
    bool fine = simulation_value(sim, index_offset(program, n), &offset);
    for (unsigned d = 0; d < n->rank && fine; d++) {
        fine = simulation_value(sim, n->shape[d], &shape[d]) &&
               simulation_value(sim, index_stride(program, n, d), &stride[d]);
        count = fine && shape[d] > 0 && count < BYTES ? count * shape[d] : 0;
    }
    for (int64_t i = 0; i < count && fine; i++) {
        int64_t rest = i, at = offset, bytes = (int64_t)element_bytes(n->element);
        for (unsigned d = n->rank; d-- > 0; rest /= shape[d])
            at += rest % shape[d] * stride[d];
        for (int64_t byte = at * bytes; byte < (at + 1) * bytes; byte++)
            if (byte >= LEAST && byte < LEAST + BYTES)
                set->has[byte - LEAST] = true;
            else
                set->overflow = true;
    }
    set->overflow |= !fine;
}

/* The definitions in the loop are computed anew for each value of the counter. */
static void redefine(struct simulation *sim, const struct body *body)
{
    for (const struct stm *stm = body->first; stm; stm = stm->next) {
        int64_t value;
        if (stm->kind == STM_SCALAR && simulation_value(sim, stm->expr, &value))
            sim->values[stm->outs[0]].i64 = value;
        if (stm->kind == STM_LOOP)
            redefine(sim, &stm->loop->body);
    }
}

static const struct loop *loop_of(const struct body *body, int counter)
{
    const struct loop *found = NULL;
    for (const struct stm *stm = body->first; stm && !found; stm = stm->next)
        if (stm->kind == STM_LOOP)
            found = stm->loop->counter == counter ? stm->loop : loop_of(&stm->loop->body, counter);
    return found;
}

static void collect(struct simulation *sim, const struct subject *subject, struct elements *set)
{
    memset(set, 0, sizeof *set);
    if (subject->over == THIS) {
        add_elements(sim, subject, set);
        return;
    }
    const struct loop *loop = loop_of(&sim->fun->body, subject->counter);
    size_t size = sim->fun->name_count * sizeof *sim->values;
    union scalar *now = memcpy(malloc(size), sim->values, size);
    int64_t here = now[subject->counter].i64, count = 0;
    set->overflow |= !simulation_value(sim, loop->bound, &count);
    for (int64_t i = subject->over == LATER ? here + 1 : 0;
         i < (subject->over == EARLIER ? here : count); i++) {
        sim->values[subject->counter].i64 = i;
        redefine(sim, &loop->body);
        add_elements(sim, subject, set);
    }
    memcpy(sim->values, now, size);
    free(now);
}

static struct region region_of(struct sizes *s, const struct subject *subject)
{
    struct region r = region_of_array(s, subject->array);
    if (subject->over == THIS)
        return r;
    const struct poly *i = sizes_of_name(s, subject->counter), *one = sizes_constant(s, 1);
    const struct poly *range = sizes_range(s, subject->counter);
    switch (subject->over) {
    case LATER:
        return region_over(s, &r, subject->counter, sizes_add(s, i, one),
                           sizes_subtract(s, sizes_subtract(s, range, i), one));
    case EARLIER:
        return region_over(s, &r, subject->counter, sizes_constant(s, 0), i);
    default:
        return region_over_all(s, &r, subject->counter);
    }
}

/* ---- the table ------------------------------------------------------------------------------ */

#define LOOP(counter, bound, body)                                                                 \
    "let r" counter ": i64 = loop (p" counter ": i64 = 0) for " counter " < " bound " { " body     \
    " in p" counter " } "
#define ARRAY(name, type, place) "let " name ": " type " @ p_mem" place " = scratch "
/* Blocked LU decomposition of an (m*b) x (m*b) matrix: the b x b block (row, column). */
#define BLOCK(name, row, column)                                                                   \
    ARRAY(name, "[b][b]f32", "((" row ") * b * m * b + (" column ") * b: m * b, 1)")

/* The blocks of anti-diagonal k of a matrix of n x n blocks of 4 x 4, and a row and column more:
 * parts of each. */
#define DIAGONAL(body) "assert n > 2 let w: i64 = 4 * n + 1 " LOOP("k", "n", body)
#define BLOCKS(name, first, shape, strides)                                                        \
    ARRAY(name, "[k + 1]" shape "f32", "(" first ": 4 * w - 4, " strides ")")

/* Regions `x` and `y` at the statement that makes y. */
static const struct {
    enum { OVERLAP, DISJOINT, UNKNOWN } is;
    const char *body, *counter; /* the counter of x.over and y.over */
    enum over x, y;
} rows[] = {
    /* clang-format off */
    /* ranges */
    {DISJOINT, ARRAY("x", "[n]f32", "(0: 1)") ARRAY("y", "[n]f32", "(n: 1)"), NULL, THIS, THIS},
    {DISJOINT, ARRAY("x", "[n]f32", "(n + 5: 1)") ARRAY("y", "[n]f32", "(2: 1)"), NULL, THIS, THIS},
    {OVERLAP, ARRAY("x", "[n]f32", "(0: 1)") ARRAY("y", "[n]f32", "(n - 1: 1)"), NULL, THIS, THIS},
    {OVERLAP, ARRAY("x", "[n]f32", "(0: 1)") ARRAY("y", "[n]f32", "(m: 1)"), NULL, THIS, THIS},
    {DISJOINT, ARRAY("x", "[n]f32", "(0: 1)") "assert m >= n " ARRAY("y", "[n]f32", "(m: 1)"), NULL, THIS, THIS},
    {DISJOINT, ARRAY("x", "[min(n, m)]f32", "(0: 1)") ARRAY("y", "[n]f32", "(m: 1)"), NULL, THIS, THIS},
    {DISJOINT, "let h: i64 = n / 2 " ARRAY("x", "[h]f32", "(0: 1)") ARRAY("y", "[h]f32", "(n - h: 1)"), NULL, THIS, THIS},
    {DISJOINT, ARRAY("x", "[n][m]f32", "") ARRAY("y", "[m][n]f32", "(n * m: n, 1)"), NULL, THIS, THIS},
    {DISJOINT, ARRAY("x", "[n]f32", "(n - 1: -1)") ARRAY("y", "[n]f32", "(n: 1)"), NULL, THIS, THIS},
    {DISJOINT, ARRAY("x", "[m][n]f32", "(n - 1: n, -1)") ARRAY("y", "[n]f32", "(n * m: 1)"), NULL, THIS, THIS},
    {OVERLAP, ARRAY("x", "[n]f32", "(n: -1)") ARRAY("y", "[n]f32", "(n: 1)"), NULL, THIS, THIS},
    /* m == 0 */
    {OVERLAP, ARRAY("x", "[n]f32", "(0: m)") ARRAY("y", "[n]f32", "(n * m: m)"), NULL, THIS, THIS},
    {DISJOINT, "assert m > 0 " ARRAY("x", "[n]f32", "(0: m)") ARRAY("y", "[n]f32", "(n * m: m)"), NULL, THIS, THIS},
    {OVERLAP, ARRAY("x", "[n]f32", "(0: m)") ARRAY("y", "[n]f32", "(n: 1)"), NULL, THIS, THIS},
    /* element sizes */
    {DISJOINT, ARRAY("x", "[n]f32", "(0: 1)") ARRAY("y", "[n]f64", "(n: 1)"), NULL, THIS, THIS},
    {DISJOINT, ARRAY("x", "[2 * n]f32", "(0: 1)") ARRAY("y", "[n]f64", "(n: 1)"), NULL, THIS, THIS},
    {OVERLAP, ARRAY("x", "[2 * n + 1]f32", "(0: 1)") ARRAY("y", "[n]f64", "(n: 1)"), NULL, THIS, THIS},
    {DISJOINT, ARRAY("x", "[n]u8", "(4: 8)") ARRAY("y", "[m]f32", "(0: 2)"), NULL, THIS, THIS},
    {OVERLAP, ARRAY("x", "[n]u8", "(3: 8)") ARRAY("y", "[m]f32", "(0: 2)"), NULL, THIS, THIS},
    /* empty regions */
    {DISJOINT, ARRAY("x", "[0]f32", "(0: 1)") ARRAY("y", "[n]f32", "(0: 1)"), NULL, THIS, THIS},
    {OVERLAP, ARRAY("x", "[1]f32", "(0: 1)") ARRAY("y", "[n]f32", "(0: 1)"), NULL, THIS, THIS},
    /* divisors */
    {DISJOINT, ARRAY("x", "[n]f32", "(0: 2)") ARRAY("y", "[m]f32", "(1: 2)"), NULL, THIS, THIS},
    {DISJOINT, ARRAY("x", "[n][m]f32", "(0: 6, 4)") ARRAY("y", "[m]f32", "(7: 8)"), NULL, THIS, THIS},
    {DISJOINT, ARRAY("x", "[n]f32", "(0: 2 * m)") ARRAY("y", "[m]f32", "(2 * b + 1: 4)"), NULL, THIS, THIS},
    {OVERLAP, ARRAY("x", "[n]f32", "(0: 2)") ARRAY("y", "[m]f32", "(2: 2)"), NULL, THIS, THIS},
    {OVERLAP, ARRAY("x", "[n]f32", "(0: 2)") ARRAY("y", "[m]f32", "(b: 2)"), NULL, THIS, THIS},
    {OVERLAP, ARRAY("x", "[n]f32", "(0: 2)") ARRAY("y", "[m]f32", "(1: 3)"), NULL, THIS, THIS},
    /* columns and rows of an [n][m] matrix */
    {DISJOINT, "assert b <= m " ARRAY("x", "[n][b]f32", "(0: m, 1)") ARRAY("y", "[n][m - b]f32", "(b: m, 1)"), NULL, THIS, THIS},
    {DISJOINT, ARRAY("x", "[n][b]f32", "(0: m, 1)") ARRAY("y", "[n][m - b]f32", "(b: m, 1)"), NULL, THIS, THIS},
    {OVERLAP, ARRAY("x", "[n][b]f32", "(0: m, 1)") ARRAY("y", "[n][m - b + 1]f32", "(b: m, 1)"), NULL, THIS, THIS},
    {OVERLAP, ARRAY("x", "[n][b + 1]f32", "(0: m, 1)") ARRAY("y", "[n][m - b]f32", "(b: m, 1)"), NULL, THIS, THIS},
    {DISJOINT, ARRAY("x", "[n - b][m]f32", "(b * m: m, 1)") ARRAY("y", "[b][m]f32", "(0: m, 1)"), NULL, THIS, THIS},
    {DISJOINT, ARRAY("x", "[n]f32", "(0: m + 2)") ARRAY("y", "[n][m]f32", "(1: m + 2, 1)"), NULL, THIS, THIS},
    {DISJOINT, ARRAY("x", "[n]f32", "(m + 1: m + 2)") ARRAY("y", "[n][m]f32", "(1: m + 2, 1)"), NULL, THIS, THIS},
    {OVERLAP, ARRAY("x", "[n]f32", "(m: m + 2)") ARRAY("y", "[n][m]f32", "(1: m + 2, 1)"), NULL, THIS, THIS},
    {DISJOINT, ARRAY("x", "[n][2]f32", "(0: 5, 1)") ARRAY("y", "[m][3]f32", "(2: 5, 1)"), NULL, THIS, THIS},
    {DISJOINT, ARRAY("x", "[n][2]f32", "(3: 5, 1)") ARRAY("y", "[m][3]f32", "(0: 5, 1)"), NULL, THIS, THIS},
    /* wraps round */
    {DISJOINT, ARRAY("x", "[n][2]f32", "(0: 5, 1)") ARRAY("y", "[m][2]f32", "(8: 5, 1)"), NULL, THIS, THIS},
    {OVERLAP, ARRAY("x", "[n][2]f32", "(0: 5, 1)") ARRAY("y", "[m][4]f32", "(2: 5, 1)"), NULL, THIS, THIS},
    {DISJOINT, "assert m < b && b < 2 * m " ARRAY("x", "[n]f32", "(0: m)") ARRAY("y", "[n]f32", "(b: m)"), NULL, THIS, THIS},
    {OVERLAP, "assert m <= b && b < 2 * m " ARRAY("x", "[n]f32", "(0: m)") ARRAY("y", "[n]f32", "(b: m)"), NULL, THIS, THIS},
    /* one iteration and others */
    {DISJOINT, LOOP("i", "n", ARRAY("x", "[m]f32", "(i * m: 1)") ARRAY("y", "[m]f32", "(i * m: 1)")), "i", THIS, LATER},
    {DISJOINT, LOOP("i", "n", ARRAY("x", "[m]f32", "(i * m: 1)") ARRAY("y", "[m]f32", "(i * m: 1)")), "i", EARLIER, LATER},
    {DISJOINT, LOOP("i", "n", ARRAY("x", "[m]f32", "(i: n)") ARRAY("y", "[m]f32", "(i: n)")), "i", THIS, LATER},
    {DISJOINT, LOOP("i", "n", ARRAY("x", "[m]f32", "(i: n)") ARRAY("y", "[m]f32", "(i: n)")), "i", EARLIER, THIS},
    {OVERLAP, LOOP("i", "n", ARRAY("x", "[m]f32", "(i: n)") ARRAY("y", "[m]f32", "(i: n)")), "i", THIS, ALL},
    {DISJOINT, LOOP("i", "n", ARRAY("x", "[m]f32", "(i * m: 1)") ARRAY("y", "[m + 1]f32", "(i * m: 1)")), "i", EARLIER, LATER},
    {OVERLAP, LOOP("i", "n", ARRAY("x", "[m + 1]f32", "(i * m: 1)") ARRAY("y", "[m]f32", "(i * m: 1)")), "i", EARLIER, THIS},
    {DISJOINT, LOOP("i", "n", ARRAY("x", "[i]f32", "(i * n: 1)") ARRAY("y", "[n - i]f32", "(i * n + i: 1)")), "i", THIS, THIS},
    {DISJOINT, LOOP("i", "n", ARRAY("x", "[i]f32", "(i * n: 1)") ARRAY("y", "[n]f32", "(n * n: 1)")), "i", ALL, THIS},
    {OVERLAP, LOOP("i", "n", ARRAY("x", "[i]f32", "(0: 1)") ARRAY("y", "[1]f32", "(n - 2: 1)")), "i", ALL, THIS},
    {DISJOINT, LOOP("i", "n", ARRAY("x", "[i]f32", "(0: 1)") ARRAY("y", "[1]f32", "(n - 1: 1)")), "i", ALL, THIS},
    {DISJOINT, LOOP("i", "n", ARRAY("x", "[n - i]f32", "(0: 1)") ARRAY("y", "[1]f32", "(n: 1)")), "i", ALL, THIS},
    {DISJOINT, LOOP("i", "n", "let s: i64 = i + 1 " ARRAY("x", "[m]f32", "(i * m: 1)") ARRAY("y", "[m]f32", "(s * m: 1)")), "i", THIS, THIS},
    {UNKNOWN, LOOP("i", "n", "let s: i64 = i * i " ARRAY("x", "[m]f32", "(s * m: 1)") ARRAY("y", "[m]f32", "(n * n * m: 1)")), "i", ALL, THIS},
    {UNKNOWN, LOOP("i", "n", "let s: i64 = i / 2 " ARRAY("x", "[m]f32", "(s * m: 1)") ARRAY("y", "[m]f32", "(n * m: 1)")), "i", ALL, THIS},
    {DISJOINT, "let q: [n][m]i32 @ p_mem = kernel t (i < n, j < m) { q[i, j] = 0; } " ARRAY("x", "[n]f32", "(0: 1)") ARRAY("y", "[m]f32", "(n: 1)"), NULL, THIS, THIS},
    /* blocked LU, step k: the diagonal block, row and column of blocks, and the interior */
    {DISJOINT, LOOP("k", "m", LOOP("i", "m - k - 1", BLOCK("x", "k", "k") BLOCK("y", "k", "k + 1 + i"))), "i", THIS, ALL},
    {DISJOINT, LOOP("k", "m", LOOP("i", "m - k - 1", BLOCK("x", "k", "k") BLOCK("y", "k + 1 + i", "k"))), "i", THIS, ALL},
    {DISJOINT, LOOP("k", "m", LOOP("i", "m - k - 1", BLOCK("x", "k", "k + 1 + i") BLOCK("y", "k + 1 + i", "k"))), "i", ALL, ALL},
    {DISJOINT, LOOP("k", "m", ARRAY("x", "[m - k - 1][b][m - k - 1][b]f32", "((k + 1) * b * m * b + (k + 1) * b: b * m * b, m * b, b, 1)")
                          ARRAY("y", "[m - k - 1][b][b]f32", "(k * b * m * b + (k + 1) * b: b, m * b, 1)")), NULL, THIS, THIS},
    {DISJOINT, LOOP("k", "m", ARRAY("x", "[m - k - 1][b][m - k - 1][b]f32", "((k + 1) * b * m * b + (k + 1) * b: b * m * b, m * b, b, 1)")
                          ARRAY("y", "[m - k - 1][b][b]f32", "((k + 1) * b * m * b + k * b: b * m * b, m * b, 1)")), NULL, THIS, THIS},
    {OVERLAP, LOOP("k", "m", ARRAY("x", "[m - k - 1][b][m - k - 1][b]f32", "((k + 1) * b * m * b + (k + 1) * b: b * m * b, m * b, b, 1)")
                           ARRAY("y", "[m - k - 1][b][b]f32", "((k + 1) * b * m * b + (m - 1) * b: b * m * b, m * b, 1)")), NULL, THIS, THIS},
    {OVERLAP, LOOP("k", "m", LOOP("i", "m - k - 1", BLOCK("x", "k", "k") BLOCK("y", "k", "k + i"))), "i", THIS, ALL},
    /* anti-diagonals of an n x n matrix (Needleman-Wunsch): each reads the two before */
    {DISJOINT, ARRAY("x", "[m + 1]f32", "(m: n - 1)") "assert n > m + 3 " ARRAY("y", "[m + 2]f32", "(m + 1: n - 1)"), NULL, THIS, THIS},
    /* blocks along an anti-diagonal: what is above them and on their left, and they themselves */
    {DISJOINT, DIAGONAL(BLOCKS("x", "w + 1 + 4 * k", "[4][4]", "w, 1") BLOCKS("y", "4 * k", "[5]", "1")), NULL, THIS, THIS},
    {DISJOINT, DIAGONAL(BLOCKS("x", "w + 1 + 4 * k", "[4][4]", "w, 1") BLOCKS("y", "w + 4 * k", "[4]", "w")), NULL, THIS, THIS},
    {OVERLAP, DIAGONAL(BLOCKS("x", "w + 1 + 4 * k", "[4][4]", "w, 1") BLOCKS("y", "w + 4 * k", "[4][2]", "w, 1")), NULL, THIS, THIS},
    {OVERLAP, DIAGONAL(BLOCKS("x", "w + 1 + 4 * k", "[4][5]", "w, 1") BLOCKS("y", "w + 4 + 4 * k", "[4]", "w")), NULL, THIS, THIS},
    /* elements that another iteration takes in another way */
    {OVERLAP, LOOP("i", "n", ARRAY("x", "[1]f32", "(i * i: 1)") ARRAY("y", "[1]f32", "(n * (2 * i + 1): 1)")), "i", ALL, THIS},
    {OVERLAP, LOOP("i", "n", ARRAY("x", "[2]f32", "(0: i)") ARRAY("y", "[1]f32", "(i + 1: 1)")), "i", ALL, THIS},
    {OVERLAP, LOOP("i", "n", ARRAY("x", "[i + 1]f32", "(0: 1)") ARRAY("y", "[1]f32", "(i + 1: 1)")), "i", ALL, THIS},
    {OVERLAP, LOOP("i", "n", ARRAY("x", "[1]f32", "(i / 2: 1)") ARRAY("y", "[1]f32", "(i / 2 + 1: 1)")), "i", ALL, THIS},
    /* not known: a size that nothing bounds, a stride of any sign */
    {OVERLAP, "let u: i32 = dn[0, 0] " ARRAY("x", "[n]f32", "(0: 1)") ARRAY("y", "[n]f32", "(n + i64(u): 1)"), NULL, THIS, THIS},
    {OVERLAP, "let u: i32 = dn[0, 0] " ARRAY("x", "[n]f32", "(0: i64(u))") ARRAY("y", "[n]f32", "(n: i64(u))"), NULL, THIS, THIS},
    {OVERLAP, "let u: i32 = dn[0, 0] " ARRAY("x", "[2]f32", "(0: i64(u))") ARRAY("y", "[1]f32", "(2: 1)"), NULL, THIS, THIS},
    {UNKNOWN, LOOP("i", "n", "let u: i32 = dn[0, i] " ARRAY("x", "[1]f32", "(i64(u): 1)") ARRAY("y", "[1]f32", "(i64(u) + 1: 1)")), "i", ALL, THIS},
    /* clang-format on */
};

struct check {
    const char *text;
    const struct stm *at;
    struct subject a, b;
    bool proved;
    bool overlap;           /* seen */
    unsigned checked, full; /* runs; those in which neither is empty */
    struct elements sets[2];
};

static void check(struct simulation *sim, const struct stm *stm)
{
    struct check *c = sim->context;
    if (stm != c->at)
        return;
    collect(sim, &c->a, &c->sets[0]);
    collect(sim, &c->b, &c->sets[1]);
    bool some_a = false, some_b = false;
    for (int i = 0; i < BYTES; i++) {
        some_a |= c->sets[0].has[i];
        some_b |= c->sets[1].has[i];
        c->overlap |= c->sets[0].has[i] && c->sets[1].has[i];
    }
    c->checked++;
    c->full += some_a && some_b;
    if (c->overlap && c->proved)
        fail_msg("%s\n%s and %s overlap with n = %d, m = %d, b = %d", c->text,
                 sim->fun->names[c->a.array].text, sim->fun->names[c->b.array].text,
                 (int)sim->values[0].i64, (int)sim->values[1].i64, (int)sim->values[2].i64);
}

static void run_checks(const struct program *program, const struct fun *fun, struct check *c,
                       unsigned seed, unsigned runs)
{
    struct simulation sim = {.program = program,
                             .fun = fun,
                             .random = {seed},
                             .visit = check,
                             .context = c,
                             .values = calloc(fun->name_count, sizeof(union scalar))};
    for (unsigned run = 0; run < runs; run++)
        simulate(&sim, 5);
    free(sim.values);
}

static void test_table(void **state)
{
    (void)state;
    struct check *c = calloc(1, sizeof *c);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct text text = {0};
        text_add(&text, "%s%s\nin n\n}\n", HEADER, rows[i].body);
        struct program *program = parse(text.data);
        const struct fun *fun = program->funs;
        struct sizes *s = sizes_open(program, fun, 0);
        int counter = rows[i].counter ? name_of(fun, rows[i].counter) : NO_NAME;
        *c = (struct check){.text = text.data,
                            .a = {name_of(fun, "x"), counter, rows[i].x},
                            .b = {name_of(fun, "y"), counter, rows[i].y}};
        c->at = simulation_find(&fun->body, c->b.array);
        struct region a = region_of(s, &c->a), b = region_of(s, &c->b);
        unsigned position = c->at->size_position;
        c->proved = disjoint_proved(s, &a, &b, position, NULL);
        if (c->proved != (rows[i].is == DISJOINT) ||
            disjoint_proved(s, &b, &a, position, NULL) != c->proved)
            fail_msg("%s\nis %sproved", text.data, c->proved ? "" : "not ");
        run_checks(program, fun, c, (unsigned)i, 400);
        assert_true(c->checked > 0);
        if (c->overlap != (rows[i].is == OVERLAP))
            fail_msg("%s\nno overlap was seen", text.data);
        sizes_close(s);
        program_free(program);
        text_free(&text);
    }
    free(c);
}

/* ---- slices, private arrays, unknown regions ------------------------------------------------ */

static void assert_region(const struct sizes *s, struct region r, const char *expected)
{
    struct text text = {0};
    region_print(s, &r, &text);
    assert_string_equal(text.data, expected);
    text_free(&text);
}

static void test_regions(void **state)
{
    (void)state;
    struct program *program = parse(
        HEADER "let q_mem: mem = alloc(8 * n) let row_mem: mem = alloc(8 * n * b)\n"
               "let q: [n]f64 @ q_mem = kernel t (i < n) private row: [b]f64 @ row_mem(0: 1, n) {"
               " row[0] = 1.0; q[i] = row[0]; }\n"
               "let part: [b][m]i32 @ p_mem(m: 2 * m, 1) = dn[1 :+ b : 2, :]\n"
               "let one: [n]i32 @ p_mem(3: m) = dn[:, 3]\n"
               "let dn2: [n][m]i32 @ p_mem = dn with [b, 0 :+ 2] <- 0\n"
               "let g: [1]f32 @ q_mem = kernel u (z < 1) group l < 8 local c: [8]f32 {"
               " each { c[l] = 0.0f; } each { if (l == 0) g[z] = c[1]; } }\n in n }");
    const struct fun *fun = program->funs;
    struct sizes *s = sizes_open(program, fun, 0);
    struct region dn = region_of_array(s, name_of(fun, "dn"));
    assert_region(s, dn, "0; n by m; m by 1");
    assert_region(s, region_of_array(s, name_of(fun, "row")), "0; n by 1; b by n");
    assert_region(s, region_of_array(s, name_of(fun, "c")), "unknown");
    assert_region(s, region_of_array(s, name_of(fun, "n")), "unknown");
    const struct stm *part = simulation_find(&fun->body, name_of(fun, "part"));
    assert_region(s, region_slice(s, &dn, part->slice, part->slice_rank), "m; b by 2*m; m by 1");
    const struct stm *one = simulation_find(&fun->body, name_of(fun, "one"));
    assert_region(s, region_slice(s, &dn, one->slice, one->slice_rank), "3; n by m");
    const struct stm *put = simulation_find(&fun->body, name_of(fun, "dn2"));
    assert_region(s, region_slice(s, &dn, put->slice, put->slice_rank), "m*b; 2 by 1");
    assert_region(s, region_slice(s, &dn, one->slice, 1), "unknown");
    const struct stm *launch = simulation_find(&fun->body, name_of(fun, "q"));
    int thread = launch->kernel->indices[0];
    const struct poly *i = sizes_of_name(s, thread), *m = sizes_of_name(s, name_of(fun, "m"));
    const struct poly *next = sizes_add(s, i, sizes_constant(s, 1));
    struct region row = dn;
    row.rank = 1;
    row.dim[0] = dn.dim[1];
    row.offset = sizes_multiply(s, i, m);
    assert_region(s, region_over_all(s, &row, thread), "0; n by m; m by 1");
    const struct poly *left = sizes_subtract(s, sizes_range(s, thread), next);
    struct region later = region_over(s, &row, thread, next, left);
    assert_region(s, later, "m*i + m; n - i - 1 by m; m by 1");
    assert_true(disjoint_proved(s, &row, &later, launch->size_position, NULL));
    row.dim[0].extent = sizes_add(s, m, sizes_constant(s, 1));
    assert_false(disjoint_proved(s, &row, &later, launch->size_position, NULL));
    struct region unknown = {.known = false};
    assert_region(s, region_over_all(s, &row, name_of(fun, "n")), "unknown");
    assert_false(disjoint_proved(s, &unknown, &dn, 0, NULL) ||
                 disjoint_proved(s, &dn, &unknown, 0, NULL));
    sizes_close(s);
    program_free(program);
}

/* ---- random regions ------------------------------------------------------------------------- */

static const char *pick(struct random *r, const char *const *list, unsigned count)
{
    return list[random_below(r, count)];
}
#define PICK(r, ...)                                                                               \
    pick(r, (const char *const[]){__VA_ARGS__},                                                    \
         sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

/* A part of a matrix of this width: most often rows and columns from somewhere to somewhere, so
 * that neighbours meet exactly, sometimes anything. */
static void write_array(struct text *text, struct random *r, unsigned number, const char *width)
{
    static const struct {
        const char *from, *count;
    } row_parts[] = {{"0", "i"},    {"i", "1"}, {"i + 1", "n - i - 1"},
                     {"0", "n"},    {"n", "b"}, {"i", "n - i"},
                     {"k", "1"},    {"0", "k"}, {"s", "1"},
                     {"i * b", "b"}},
      column_parts[] = {{"0", "b"}, {"b", "m - b"}, {"j", "1"}, {"0", "j"}, {"j + 1", "m - j - 1"},
                        {"0", "m"}, {"q", "1"},     {"0", "q"}, {"m", "2"}, {"j * b", "b"}};
    unsigned p = (unsigned)random_below(r, 10), q = (unsigned)random_below(r, 10);
    const char *row = row_parts[p].from, *rows_kept = row_parts[p].count;
    const char *column = column_parts[q].from, *columns_kept = column_parts[q].count;
    const char *type = PICK(r, "f32", "f32", "f32", "f32", "f32", "f64", "u8");
    const char *scale = "", *inner = "1";
    if (random_below(r, 3) == 0) {
        row = PICK(r, "0", "i", "i + 1", "j", "k", "n", "1", "n - i", "i * b", "s", "q");
        column = PICK(r, "0", "0", "1", "i", "j", "b", "k", "m - 1", "s", "2", "q");
        rows_kept = PICK(r, "n", "i", "1", "n - i", "b", "n - i - 1", "j", "m", "3");
        columns_kept = PICK(r, "m", "1", "b", "m - b", "m - j", "j", "n", "2", "q");
        scale = PICK(r, "", "", "2 * ");
        inner = PICK(r, "1", "1", "2", "0 - 1", "b");
    }
    text_add(text, "let a%u: [%s][%s]%s @ p_mem((%s) * (%s) + %s: %s%s, %s) = scratch\n", number,
             rows_kept, columns_kept, type, row, width, column, scale, width, inner);
}

static char *write_program(struct random *r)
{
    struct text text = {0};
    text_add(&text, "%s", HEADER);
    if (random_below(r, 3) == 0)
        text_add(
            &text, "assert %s\n",
            PICK(r, "n == m", "b <= m", "n == 2 * b", "m == b * 2", "n > 2", "m >= b && b > 0"));
    text_add(&text, "let k: i64 = %s\n", PICK(r, "n / 2", "min(n, m)", "m % 3", "n - 1", "n + 1"));
    text_add(&text, "let ri: i64 = loop (pi: i64 = 0) for i < %s {\n", PICK(r, "n", "m", "k", "b"));
    text_add(&text, "let rj: i64 = loop (pj: i64 = 0) for j < %s {\n",
             PICK(r, "m", "n", "i", "n - i", "m - i", "b"));
    text_add(&text, "let s: i64 = %s\n", PICK(r, "i + j", "i * j", "m - j", "i / 2", "max(i, j)"));
    text_add(&text, "let q: i64 = %s\n", PICK(r, "m - b", "k - j", "s", "j + 1", "min(b, j)"));
    if (random_below(r, 4) == 0)
        text_add(&text, "assert %s\n", PICK(r, "j == s", "i == b", "j <= b", "i < b", "q >= 0"));
    const char *width = PICK(r, "m", "m", "m", "m + 2", "4", "m * b");
    for (unsigned a = 0; a < 6; a++)
        write_array(&text, r, a, width);
    text_add(&text, "let last: i64 = 0\nin last }\nin rj }\nin ri }\n");
    return text.data;
}

static void test_random(void **state)
{
    (void)state;
    struct check *c = calloc(1, sizeof *c);
    unsigned proved = 0, asked = 0;
    for (unsigned seed = 0; seed < 1000; seed++) {
        struct random r = {random_split(5, seed)};
        char *text = write_program(&r);
        struct program *program = parse(text);
        const struct fun *fun = program->funs;
        struct sizes *s = sizes_open(program, fun, 0);
        for (unsigned pair = 0; pair < 20; pair++) {
            struct subject subjects[2];
            char name[8];
            for (int i = 0; i < 2; i++) {
                snprintf(name, sizeof name, "a%u", (unsigned)random_below(&r, 6));
                bool j = random_below(&r, 2);
                subjects[i] = (struct subject){name_of(fun, name), name_of(fun, j ? "j" : "i"),
                                               (enum over)random_below(&r, 4)};
            }
            *c = (struct check){.text = text, .a = subjects[0], .b = subjects[1]};
            c->at = simulation_find(&fun->body, name_of(fun, "last"));
            struct region a = region_of(s, &c->a), b = region_of(s, &c->b);
            c->proved = disjoint_proved(s, &a, &b, c->at->size_position, NULL);
            asked++;
            if (c->proved)
                run_checks(program, fun, c, seed * 20 + pair, 200);
            proved += c->full > 3; /* what only says that one is empty does not count */
        }
        sizes_close(s);
        program_free(program);
        free(text);
    }
    print_message("%u asked, %u proved disjoint and seen to be\n", asked, proved);
    assert_true(proved > 300);
    free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_regions),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
