/* The parser: recursive descent over README.md's grammar. It resolves names and types expressions;
 * the verifier checks rules that need the whole statement. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program/parser.h"

static void scope_all(struct parser *p, const int *names, unsigned count, bool in_scope)
{
    for (unsigned i = 0; i < count; i++)
        parse_scope(p, names[i], in_scope);
}

static int parse_binding(struct parser *p, const char *what)
{
    struct source_position at = p->token.at;
    char *text = parse_new_name(p, what);
    struct name n = parse_type(p, 0);
    if (n.kind == NAME_MEMORY && n.bytes)
        parser_fail(p, at, "only a memory parameter of a fun has its size in its type");
    return parse_bind(p, text, at, &n);
}

/* ---- expressions of a statement -------------------------------------------------------------- */

static int parse_operand(struct parser *p, int receiver, const char *base);

static void parse_flat_slice(struct parser *p, struct stm *s)
{
    do {
        if (s->slice_rank == RANK_MAX)
            parser_fail(p, p->token.at, "an array has at most %d dimensions", RANK_MAX);
        struct slice_dim *d = &s->slice[s->slice_rank++];
        if (s->slice_rank == 1) {
            d->start = parse_size(p);
            parser_expect(p, ":+", "after the first element's number");
        }
        d->length = parse_size(p);
        parser_expect(p, ":", "between a number of elements and their distance");
        d->step = parse_size(p);
    } while (parser_take(p, ","));
    parser_expect(p, "}", "after the dimensions");
}

static void parse_slice(struct parser *p, struct stm *s)
{
    if (parser_take(p, "{")) {
        parse_flat_slice(p, s);
        return;
    }
    parser_expect(p, "[", "before indices");
    do {
        if (s->slice_rank == RANK_MAX)
            parser_fail(p, p->token.at, "an array has at most %d indices", RANK_MAX);
        struct slice_dim *d = &s->slice[s->slice_rank++];
        if (parser_take(p, ":"))
            continue;
        d->start = parse_size(p);
        if (!parser_take(p, ":+")) {
            d->fixed = true;
            continue;
        }
        d->length = parse_size(p);
        if (parser_take(p, ":"))
            d->step = parse_size(p);
    } while (parser_take(p, ","));
    parser_expect(p, "]", "after the indices");
}

static void parse_update(struct parser *p, struct stm *s)
{
    s->kind = STM_UPDATE;
    parse_slice(p, s);
    parser_expect(p, "<-", "before the value that is put in");
    int name = parse_use(p, &p->token);
    if (parser_take(p, "copy")) {
        s->value_copied = true;
        s->value = parse_take_use(p, NAME_ARRAY, "an array after 'copy'");
    } else if (name != NO_NAME && p->fun->names[name].kind == NAME_ARRAY) {
        s->value = parse_take_use(p, NAME_ARRAY, "an array");
    } else {
        s->expr = parse_typed(p, p->fun->names[s->array].element, "the value put in");
    }
}

/* Parses what may begin with an array's name: an element, a slice, an update or an alias. */
static void parse_array_expression(struct parser *p, struct stm *s)
{
    s->array = parse_take_use(p, NAME_ARRAY, "an array");
    if (parser_at(p, "[") || parser_at(p, "{")) {
        parse_slice(p, s);
        bool all_fixed = true;
        for (unsigned d = 0; d < s->slice_rank; d++)
            all_fixed &= s->slice[d].fixed;
        s->kind = all_fixed ? STM_ELEMENT : STM_SLICE;
    } else if (parser_take(p, "with")) {
        parse_update(p, s);
    } else {
        s->kind = STM_ALIAS;
    }
}

/* Does an expression begin here that makes or views an array, or takes an element of one? */
static bool begins_array(const struct parser *p)
{
    static const char *const words[] = {"scratch", "iota",    "replicate", "copy",
                                        "concat",  "reshape", "rearrange"};
    int name = parse_use((struct parser *)p, &p->token);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (parser_at(p, words[i]))
            return true;
    return name != NO_NAME && p->fun->names[name].kind == NAME_ARRAY;
}

static void parse_replicate(struct parser *p, struct stm *s, const struct name *out)
{
    s->kind = STM_REPLICATE;
    parser_expect(p, "(", "after 'replicate'");
    int name = parse_use(p, &p->token);
    if (name != NO_NAME && p->fun->names[name].kind == NAME_ARRAY)
        s->array = parse_take_use(p, NAME_ARRAY, "an array");
    else
        s->expr = out ? parse_typed(p, out->element, "the value") : parse_expression(p);
    parser_expect(p, ")",
                  s->expr ? "after the value"
                          : "after the array: a part of one needs a name of its own, by 'let'");
}

static void parse_concat(struct parser *p, struct stm *s)
{
    struct ints arrays = {0}, copied = {0};
    const char *base =
        s->out_count ? arena_printf(&p->program->arena, "%s_piece", p->fun->names[s->outs[0]].text)
                     : "piece";
    s->kind = STM_CONCAT;
    parser_expect(p, "(", "after 'concat'");
    do {
        ints_push(p, &copied, parser_take(p, "copy"));
        struct source_position at = p->token.at;
        int piece = begins_array(p) ? parse_operand(p, NO_NAME, base)
                                    : parse_take_use(p, NAME_ARRAY, "an array");
        if (p->fun->names[piece].kind != NAME_ARRAY)
            parser_fail(p, at, "expected an array, but this is one element");
        ints_push(p, &arrays, piece);
    } while (parser_take(p, ","));
    parser_expect(p, ")", "after the arrays");
    s->piece_count = arrays.count;
    s->pieces = arena_alloc(&p->program->arena, arrays.count * sizeof *s->pieces);
    for (unsigned i = 0; i < arrays.count; i++)
        s->pieces[i] = (struct piece){arrays.data[i], copied.data[i]};
}

static void parse_rearrange(struct parser *p, struct stm *s)
{
    s->kind = STM_REARRANGE;
    parser_expect(p, "(", "before the permutation, after 'rearrange'");
    unsigned count = 0;
    struct source_position at = p->token.at;
    do {
        if (p->token.kind != TOKEN_INTEGER || p->token.length != 1 || count == RANK_MAX)
            parser_unexpected(p, "the number of a dimension");
        s->permutation[count++] = (unsigned)(p->token.text[0] - '0');
        parser_advance(p);
    } while (parser_take(p, ","));
    parser_expect(p, ")", "after the permutation");
    s->array = parse_take_use(p, NAME_ARRAY, "the array to rearrange");
    unsigned seen = 0;
    for (unsigned i = 0; i < count; i++)
        seen |= 1u << s->permutation[i];
    if (count != p->fun->names[s->array].rank || seen != (1u << count) - 1)
        parser_fail(p, at, "expected each of the %u dimensions of '%s' once, numbered from 0",
                    p->fun->names[s->array].rank, p->fun->names[s->array].text);
}

static struct body parse_body(struct parser *p, const int *receivers, unsigned count);

/* `receivers` are the names that the results go to: none for those of a fun. */
static struct body *parse_braced(struct parser *p, const int *receivers, unsigned count)
{
    struct body *body = arena_alloc(&p->program->arena, sizeof *body);
    parser_expect(p, "{", "before the statements");
    *body = parse_body(p, receivers, count);
    parser_expect(p, "}", "after the results");
    return body;
}

static void parse_if(struct parser *p, struct stm *s)
{
    s->kind = STM_IF;
    s->expr = parse_typed(p, ELEMENT_bool, "the condition");
    s->then = parse_braced(p, s->outs, s->out_count);
    parser_expect(p, "else", "before the other branch");
    s->otherwise = parse_braced(p, s->outs, s->out_count);
}

static void parse_loop_params(struct parser *p, struct loop *l)
{
    struct ints params = {0}, names = {0};
    struct expr *exprs[256];
    parser_expect(p, "(", "before the loop's variables, after 'loop'");
    while (!parser_at(p, ")")) {
        if (params.count == sizeof exprs / sizeof *exprs)
            parser_fail(p, p->token.at, "a loop has at most 256 variables");
        /* The initial value is outside of the loop: it cannot use the loop's names. */
        int param = parse_binding(p, "the name of a loop variable");
        struct name *n = &p->fun->names[param];
        parser_expect(p, "=", "before the initial value of the loop variable");
        scope_all(p, params.data, params.count, false);
        parse_scope(p, param, false);
        exprs[params.count] = NULL;
        int init = NO_NAME;
        if (n->kind == NAME_SCALAR)
            exprs[params.count] = parse_typed(p, n->element, "the initial value");
        else
            init =
                parse_take_use(p, n->kind, n->kind == NAME_ARRAY ? "an array" : "a memory block");
        ints_push(p, &names, init);
        ints_push(p, &params, param);
        scope_all(p, params.data, params.count, true);
        if (!parser_take(p, ","))
            break;
    }
    parser_expect(p, ")", "after the loop's variables");
    l->param_count = params.count;
    l->params = params.data;
    l->init_names = names.data;
    l->init_exprs = arena_alloc(&p->program->arena, params.count * sizeof *l->init_exprs);
    if (params.count)
        memcpy(l->init_exprs, exprs, params.count * sizeof *exprs);
}

static void parse_loop(struct parser *p, struct stm *s)
{
    struct loop *l = s->loop = arena_alloc(&p->program->arena, sizeof *l);
    s->kind = STM_LOOP;
    l->counter = l->condition = NO_NAME;
    parse_loop_params(p, l);
    if (parser_take(p, "for")) {
        struct source_position at = p->token.at;
        char *counter = parse_new_name(p, "the name of the loop's counter");
        parser_expect(p, "<", "between the counter and the number of iterations");
        scope_all(p, l->params, l->param_count, false);
        l->bound = parse_size(p);
        scope_all(p, l->params, l->param_count, true);
        struct name n = {
            .kind = NAME_SCALAR, .element = ELEMENT_i64, .memory = NO_NAME, .scoped = true};
        l->counter = parse_bind(p, counter, at, &n);
    } else {
        parser_expect(p, "while", "or 'for' after the loop's variables");
        struct source_position at = p->token.at;
        l->condition = parse_take_use(p, NAME_SCALAR, "the bool that keeps the loop running");
        bool found = false;
        for (unsigned i = 0; i < l->param_count; i++)
            found |= l->params[i] == l->condition;
        if (!found || p->fun->names[l->condition].element != ELEMENT_bool)
            parser_fail(p, at, "the condition must be a loop variable of type bool");
    }
    parser_expect(p, "{", "before the loop's body");
    l->body = parse_body(p, l->params, l->param_count);
    parser_expect(p, "}", "after the loop's results");
    scope_all(p, l->params, l->param_count, false);
    if (l->counter != NO_NAME)
        parse_scope(p, l->counter, false);
}

static void parse_right_side(struct parser *p, struct stm *s)
{
    const struct name *out = s->out_count ? &p->fun->names[s->outs[0]] : NULL;
    int name = parse_use(p, &p->token);
    if (parser_take(p, "alloc")) {
        s->kind = STM_ALLOC;
        parser_expect(p, "(", "after 'alloc'");
        s->expr = parse_size(p);
        parser_expect(p, ")", "after the number of bytes");
    } else if (parser_take(p, "scratch")) {
        s->kind = STM_SCRATCH;
    } else if (parser_take(p, "iota")) {
        s->kind = STM_IOTA;
    } else if (parser_take(p, "replicate")) {
        parse_replicate(p, s, out);
    } else if (parser_take(p, "copy")) {
        s->kind = STM_COPY;
        s->array = parse_take_use(p, NAME_ARRAY, "an array after 'copy'");
    } else if (parser_take(p, "concat")) {
        parse_concat(p, s);
    } else if (parser_take(p, "reshape")) {
        s->kind = STM_RESHAPE;
        s->array = parse_take_use(p, NAME_ARRAY, "an array after 'reshape'");
    } else if (parser_take(p, "rearrange")) {
        parse_rearrange(p, s);
    } else if (parser_take(p, "if")) {
        parse_if(p, s);
    } else if (parser_take(p, "loop")) {
        parse_loop(p, s);
    } else if (parser_take(p, "kernel")) {
        s->kind = STM_KERNEL;
        s->kernel = parse_kernel(p, s);
    } else if (name != NO_NAME && p->fun->names[name].kind == NAME_ARRAY) {
        parse_array_expression(p, s);
    } else {
        s->kind = STM_SCALAR;
        if (!out || out->kind != NAME_SCALAR)
            parser_unexpected(
                p, out && out->kind == NAME_MEMORY
                       ? "'alloc', 'if' or 'loop' for a memory block"
                       : "an array, or a word that makes one (scratch iota replicate copy "
                         "concat reshape rearrange if loop kernel)");
        s->expr = parse_typed(p, out->element, "the value");
    }
}

/* ---- expressions where a name is needed ------------------------------------------------------ */

/* Sets *type to the type of what the statement makes, and is true, if its own text says it. */
static bool says_type(struct parser *p, const struct stm *s, struct name *type)
{
    if (s->kind == STM_SCALAR) {
        *type = (struct name){.kind = NAME_SCALAR, .element = s->expr->type};
        return true;
    }
    int source = s->kind == STM_CONCAT ? s->pieces[0].array : s->array;
    if (source == NO_NAME || s->kind == STM_REPLICATE || s->kind == STM_RESHAPE)
        return false;
    const struct name whole = p->fun->names[source];
    *type = (struct name){.kind = s->kind == STM_ELEMENT ? NAME_SCALAR : NAME_ARRAY,
                          .element = whole.element};
    if (s->kind == STM_ELEMENT)
        return true;
    for (unsigned d = 0; d < (whole.rank > s->slice_rank ? whole.rank : s->slice_rank); d++) {
        const struct slice_dim *dim = s->kind == STM_SLICE ? &s->slice[d] : NULL;
        if (dim && (dim->fixed || d >= s->slice_rank))
            continue;
        unsigned from = s->kind == STM_REARRANGE ? s->permutation[d] : d;
        type->shape[type->rank++] = dim && dim->length ? dim->length : whole.shape[from];
    }
    for (unsigned i = 1; i < s->piece_count; i++) {
        const struct name *piece = &p->fun->names[s->pieces[i].array];
        type->shape[0] = expr_binary(p->program, EXPR_ADD, type->shape[0], piece->shape[0]);
    }
    return true;
}

static void append(struct parser *p, struct stm *s)
{
    *p->end = s;
    p->end = &s->next;
}

/* Binds what `s` makes to a name of the parser's, begun with `base`, which the text cannot use. */
static int bind_operand(struct parser *p, struct stm *s, int receiver, const char *base)
{
    struct name type;
    if (!says_type(p, s, &type)) {
        const struct name *like = receiver == NO_NAME ? NULL : &p->fun->names[receiver];
        if (!like || like->kind != NAME_ARRAY)
            parser_fail(p, s->at,
                        "this does not say the type of what it makes: write 'let NAME: TYPE = ...' "
                        "in front, and NAME here");
        type = (struct name){.kind = NAME_ARRAY, .element = like->element, .rank = like->rank};
        memcpy(type.shape, like->shape, sizeof type.shape);
    }
    type.memory = NO_NAME;
    type.at = s->at;
    type.made = true;
    if (receiver != NO_NAME)
        base = arena_printf(&p->program->arena, "%s_%s", p->fun->names[receiver].text, base);
    int out = fun_add_name(p->program, p->fun, base, &type);
    parse_scope(p, out, false);
    struct ints outs = {0};
    ints_push(p, &outs, out);
    s->outs = outs.data;
    s->out_count = 1;
    append(p, s);
    return out;
}

/* Parses a name, or an expression, which becomes a statement in front of the present one. The value
 * goes to the name `receiver`, which has its type (NO_NAME: not known). */
static int parse_operand(struct parser *p, int receiver, const char *base)
{
    static const char *const words[] = {"kernel", "if", "loop", "alloc"};
    struct stm *s = arena_alloc(&p->program->arena, sizeof *s);
    int name = parse_use(p, &p->token);
    s->at = p->token.at;
    s->array = s->value = NO_NAME;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (parser_at(p, words[i]))
            parser_fail(p, s->at,
                        "'%s' needs names for what it makes: write 'let NAME: TYPE = %s "
                        "...' in front, and NAME here",
                        words[i], words[i]);
    if (name != NO_NAME && p->fun->names[name].kind == NAME_MEMORY) {
        parser_advance(p);
        return name;
    }
    if (begins_array(p)) {
        int outs[] = {receiver};
        s->outs = outs;
        s->out_count = receiver != NO_NAME;
        parse_right_side(p, s);
        if (s->kind == STM_ALIAS)
            return s->array;
    } else {
        bool typed = receiver != NO_NAME && p->fun->names[receiver].kind == NAME_SCALAR;
        s->kind = STM_SCALAR;
        s->expr = typed ? parse_typed(p, p->fun->names[receiver].element, "the result")
                        : parse_expression(p);
        s->expr->untyped = false;
        if (s->expr->op == EXPR_NAME)
            return s->expr->name;
    }
    return bind_operand(p, s, receiver, base);
}

static void parse_pattern(struct parser *p, struct stm *s)
{
    struct ints outs = {0};
    if (parser_take(p, "(")) {
        do
            ints_push(p, &outs, parse_binding(p, "the name of a result"));
        while (parser_take(p, ","));
        parser_expect(p, ")", "after the names");
    } else {
        ints_push(p, &outs, parse_binding(p, "a name, or several in parentheses, after 'let'"));
    }
    s->outs = outs.data;
    s->out_count = outs.count;
}

static struct stm *parse_statement(struct parser *p)
{
    struct stm *s = arena_alloc(&p->program->arena, sizeof *s);
    s->at = p->token.at;
    s->array = s->value = NO_NAME;
    if (parser_take(p, "assert")) {
        s->kind = STM_ASSERT;
        s->expr = parse_typed(p, ELEMENT_bool, "an assertion");
        return s;
    }
    parser_expect(p, "let", "or 'assert' or 'in'");
    parse_pattern(p, s);
    parser_expect(p, "=", "after the names");
    scope_all(p, s->outs, s->out_count, false);
    parse_right_side(p, s);
    scope_all(p, s->outs, s->out_count, true);
    if (s->kind == STM_SCALAR)
        parse_note_constant(p, s->outs[0], s->expr);
    return s;
}

static struct body parse_body(struct parser *p, const int *receivers, unsigned count)
{
    struct body body = {.at = p->token.at};
    struct stm **outer = p->end;
    p->end = &body.first;
    parse_nest(p);
    while (!parser_at(p, "in"))
        append(p, parse_statement(p));
    body.results_at = p->token.at;
    parser_advance(p);
    struct ints results = {0};
    do {
        if (p->token.kind == TOKEN_END || parser_at(p, "}"))
            parser_unexpected(p, "the name of a result");
        int receiver = results.count < count ? receivers[results.count] : NO_NAME;
        ints_push(p, &results, parse_operand(p, receiver, "result"));
    } while (parser_take(p, ","));
    body.results = results.data;
    body.result_count = results.count;
    for (struct stm *s = body.first; s; s = s->next)
        scope_all(p, s->outs, s->out_count, false);
    p->nesting--;
    p->end = outer;
    return body;
}

/* ---- datasets: values by name, for the parameters and the results of the funs ---------------- */

static struct literal parse_literal(struct parser *p)
{
    struct literal value = {.at = p->token.at};
    if (!parser_take(p, "[")) {
        value.scalar = parse_expression(p);
        return value;
    }
    parse_nest(p);
    unsigned capacity = 0;
    while (!parser_at(p, "]")) {
        value.items = arena_grow(&p->program->arena, value.items, value.count, &capacity,
                                 sizeof *value.items);
        struct literal item = parse_literal(p);
        if (value.count && !item.scalar != !value.items[0].scalar)
            parser_fail(p, item.at, "a list holds either numbers or lists, not both");
        if (value.count && !item.scalar && item.count != value.items[0].count)
            parser_fail(p, item.at, "this list has %u items, but those before it have %u",
                        item.count, value.items[0].count);
        value.items[value.count++] = item;
        if (!parser_take(p, ","))
            break;
    }
    parser_expect(p, "]", "after the values");
    p->nesting--;
    return value;
}

static void parse_settings(struct parser *p, struct setting **settings, unsigned *count,
                           bool expect)
{
    unsigned capacity = 0;
    parser_expect(p, "{", "before the values");
    while (!parser_at(p, "}")) {
        *settings = arena_grow(&p->program->arena, *settings, *count, &capacity, sizeof **settings);
        struct setting *s = &(*settings)[*count];
        *s = (struct setting){.at = p->token.at, .scalar = NO_NAME};
        s->name = parse_new_name(p, "the name of a parameter or result");
        for (unsigned i = 0; i < *count; i++)
            if (strcmp((*settings)[i].name, s->name) == 0)
                parser_fail(p, s->at, "'%s' is already set in line %u", s->name,
                            (*settings)[i].at.line);
        (*count)++;
        parser_expect(p, "=", "after the name");
        s->value = parse_literal(p);
        if (s->value.scalar && !expect) {
            struct name n = {
                .kind = NAME_SCALAR, .element = s->value.scalar->type, .memory = NO_NAME};
            s->scalar = parse_bind(p, s->name, s->at, &n);
        }
        parser_expect(p, ";", "after the value");
    }
    parser_advance(p);
}

static void parse_dataset(struct parser *p, struct dataset *dataset)
{
    dataset->at = p->token.at;
    if (p->token.kind != TOKEN_WORD)
        parser_unexpected(p, "the name of the dataset");
    dataset->name = arena_copy(&p->program->arena, p->token.text, p->token.length);
    for (unsigned i = 0; i + 1 < p->program->dataset_count; i++)
        if (strcmp(p->program->datasets[i].name, dataset->name) == 0)
            parser_fail(p, dataset->at, "there is already a dataset '%s' in line %u", dataset->name,
                        p->program->datasets[i].at.line);
    parser_advance(p);
    dataset->names = arena_alloc(&p->program->arena, sizeof *dataset->names);
    dataset->names->table = names_new();
    p->fun = dataset->names;
    if (p->in_scope)
        memset(p->in_scope, 0, p->in_scope_capacity);
    parse_settings(p, &dataset->settings, &dataset->setting_count, false);
    if (parser_take(p, "expect"))
        parse_settings(p, &dataset->expects, &dataset->expect_count, true);
}

/* ---- the items of a file --------------------------------------------------------------------- */

static void parse_fun(struct parser *p, struct fun *fun)
{
    p->fun = fun;
    if (p->in_scope)
        memset(p->in_scope, 0, p->in_scope_capacity);
    if (p->constant)
        memset(p->constant, 0, p->constant_capacity);
    fun->at = p->token.at;
    fun->program = p->program;
    fun->table = names_new();
    fun->name = parse_new_name(p, "the name of the fun");
    for (unsigned i = 0; i + 1 < p->program->fun_count; i++)
        if (strcmp(p->program->funs[i].name, fun->name) == 0)
            parser_fail(p, fun->at, "there is already a fun '%s' in line %u", fun->name,
                        p->program->funs[i].at.line);
    struct ints params = {0};
    parser_expect(p, "(", "before the parameters");
    while (!parser_at(p, ")")) {
        struct source_position at = p->token.at;
        char *text = parse_new_name(p, "the name of a parameter");
        struct name n = parse_type(p, 0);
        if (n.kind == NAME_MEMORY && !n.bytes)
            parser_fail(p, at, "a memory parameter needs its size: %s: mem(bytes)", text);
        ints_push(p, &params, parse_bind(p, text, at, &n));
        if (!parser_take(p, ","))
            break;
    }
    parser_expect(p, ")", "after the parameters");
    fun->params = params.data;
    fun->param_count = params.count;
    if (parser_take(p, "traffic"))
        fun->traffic = parse_typed(p, ELEMENT_i64, "the traffic in bytes");
    fun->body = *parse_braced(p, NULL, 0);
}

static void parse_item(struct parser *p)
{
    struct program *g = p->program;
    if (parser_take(p, "fun")) {
        unsigned capacity = g->fun_count;
        g->funs = arena_grow(&p->program->arena, g->funs, g->fun_count, &capacity, sizeof *g->funs);
        parse_fun(p, &g->funs[g->fun_count++]);
    } else if (parser_take(p, "dataset")) {
        unsigned capacity = g->dataset_count;
        g->datasets = arena_grow(&p->program->arena, g->datasets, g->dataset_count, &capacity,
                                 sizeof *g->datasets);
        parse_dataset(p, &g->datasets[g->dataset_count++]);
    } else if (parser_take(p, "code")) {
        unsigned capacity = g->code_count;
        g->codes =
            arena_grow(&p->program->arena, g->codes, g->code_count, &capacity, sizeof *g->codes);
        struct code *code = &g->codes[g->code_count++];
        parser_raw_block(p, &code->text, &code->length, &code->at);
    } else {
        parser_unexpected(p, "'fun', 'dataset' or 'code'");
    }
}

/* Plans print bodies of kernels as they are, also to a terminal. */
static void check_characters(struct parser *p, size_t length)
{
    const char *text = p->program->text;
    for (size_t i = 0; i < length; i++)
        if (iscntrl((unsigned char)text[i]) && !isspace((unsigned char)text[i]))
            parser_fail(p, position_after(p->cursor_at, text, i),
                        "the file holds the control character %d; a program is plain text",
                        text[i]);
}

int program_parse(const char *path, const char *text, size_t length, struct program **out,
                  struct error *error)
{
    struct program *program = must_alloc(sizeof *program);
    program->path = arena_copy(&program->arena, path, strlen(path));
    program->text = arena_copy(&program->arena, text, length);
    struct parser *p = must_alloc(sizeof *p);
    *p = (struct parser){
        .program = program, .cursor = program->text, .cursor_at = {1, 1}, .error = error};
    int code = 0;
    if (setjmp(p->failed) == 0) {
        check_characters(p, length);
        parser_advance(p);
        while (p->token.kind != TOKEN_END)
            parse_item(p);
        if (!program->fun_count)
            parser_fail(p, p->token.at, "the file has no 'fun'");
    } else {
        code = ERR_PARSE;
    }
    /* The array of funs does not move any more. */
    for (unsigned i = 0; i < program->fun_count; i++)
        program->funs[i].program = program;
    free(p->in_scope);
    free(p->constant);
    free(p->values);
    free(p);
    if (code) {
        program_free(program);
        program = NULL;
    }
    *out = program;
    return code;
}

void program_free(struct program *program)
{
    if (!program)
        return;
    for (unsigned i = 0; i < program->fun_count; i++)
        names_free(&program->funs[i]);
    for (unsigned i = 0; i < program->dataset_count; i++)
        if (program->datasets[i].names)
            names_free(program->datasets[i].names);
    arena_free(&program->arena);
    free(program);
}
