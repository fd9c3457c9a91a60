/* From the text of a kernel, or of a `code` item, to a tree with types and slots. */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/program/shadow_c_parser.h"

_Noreturn void c_fail(struct c_parser *p, const char *format, ...)
{
    char message[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    error_set(p->error, ERR_UNSUPPORTED, "%s:%u: the interpreter of kernels: %s", p->program->path,
              p->line, message);
    longjmp(p->failed, 1);
}

/* ---- tokens --------------------------------------------------------------------------------- */

static size_t blank_length(const char *s, const char *end)
{
    if (isspace((unsigned char)*s))
        return 1;
    if (end - s < 2 || s[0] != '/' || (s[1] != '/' && s[1] != '*'))
        return 0;
    const char *stop = s + 2;
    if (s[1] == '/') {
        while (stop < end && *stop != '\n')
            stop++;
        return (size_t)(stop - s);
    }
    while (stop + 1 < end && !(stop[0] == '*' && stop[1] == '/'))
        stop++;
    return (size_t)(stop + 2 - s);
}

static size_t mark_length(const char *s, const char *end)
{
    /* Of the marks of two characters, one ends in '=' or both are the same; of the longer ones, two
     * are shifts. */
    if (end - s < 2 || !strchr("<>=!+-*/%&|^", s[0]))
        return 1;
    bool twice = s[0] == s[1] && strchr("<>&|+-", s[0]);
    if (twice && (s[0] == '<' || s[0] == '>') && end - s > 2 && s[2] == '=')
        return 3;
    return twice || s[1] == '=' ? 2 : 1;
}

void c_advance(struct c_parser *p)
{
    size_t n;
    while (p->at < p->end && (n = blank_length(p->at, p->end)) > 0)
        for (; n && p->at < p->end; n--)
            p->line += *p->at++ == '\n';
    const char *s = p->at;
    p->token = s;
    p->kind = TOKEN_MARK;
    if (s >= p->end) {
        p->kind = TOKEN_END;
        p->length = 0;
        return;
    }
    if (isalpha((unsigned char)*s) || *s == '_') {
        p->kind = TOKEN_WORD;
        while (s < p->end && (isalnum((unsigned char)*s) || *s == '_'))
            s++;
    } else if (isdigit((unsigned char)*s) ||
               (*s == '.' && s + 1 < p->end && isdigit((unsigned char)s[1]))) {
        p->kind = TOKEN_NUMBER;
        bool hex = *s == '0' && s + 1 < p->end && (s[1] == 'x' || s[1] == 'X');
        while (s < p->end && (isalnum((unsigned char)*s) || *s == '.' ||
                              ((*s == '+' || *s == '-') && !hex && (s[-1] == 'e' || s[-1] == 'E'))))
            s++;
    } else {
        s += mark_length(s, p->end);
    }
    p->length = (size_t)(s - p->token);
    p->at = s;
}

bool c_at(const struct c_parser *p, const char *text)
{
    if (p->kind == TOKEN_END || *p->token != *text) /* most often: this is asked a lot */
        return false;
    return strncmp(p->token, text, p->length) == 0 && text[p->length] == 0;
}

bool c_take(struct c_parser *p, const char *text)
{
    if (!c_at(p, text))
        return false;
    c_advance(p);
    return true;
}

void c_expect(struct c_parser *p, const char *text)
{
    if (!c_take(p, text))
        c_fail(p, "expected '%s', found '%.*s'", text, (int)p->length, p->token);
}

bool c_take_type(struct c_parser *p, enum c_type *type)
{
    static const char *const names[] = {
#define X(name, ctype, bits) #name,
        C_TYPE_LIST(X)
#undef X
    };
    for (int t = 0; t < C_TYPES; t++)
        if (p->kind == TOKEN_WORD && c_take(p, names[t])) {
            *type = (enum c_type)t;
            return true;
        }
    return false;
}

/* ---- names ---------------------------------------------------------------------------------- */

static struct c_variable *declare(struct c_parser *p, const char *name, size_t length,
                                  enum c_type type, unsigned count)
{
    if (p->variable_count == C_VARIABLES)
        c_fail(p, "more than %d variables in scope", C_VARIABLES);
    struct c_variable *v = &p->variables[p->variable_count++];
    *v = (struct c_variable){name, length, type, (int)p->slots, count};
    p->slots += count ? count : 1;
    return v;
}

static void take_name(struct c_parser *p, const char **name, size_t *length)
{
    if (p->kind != TOKEN_WORD)
        c_fail(p, "expected a name, found '%.*s'", (int)p->length, p->token);
    *name = p->token;
    *length = p->length;
    c_advance(p);
}

/* ---- statements ----------------------------------------------------------------------------- */

static struct c_node *statement(struct c_parser *p);

static struct c_node **append(struct c_node **link, struct c_node *n)
{
    *link = n;
    return &n->next;
}

/* `= value` or `= { values }` of a variable that was just declared. */
static struct c_node **initialise(struct c_parser *p, struct c_node **link,
                                  const struct c_variable *v)
{
    struct c_variable own = *v; /* an expression may not move it, but it is small */
    bool list = own.count && c_take(p, "{");
    if (own.count && !list)
        c_fail(p, "an array is initialised by a list");
    for (unsigned i = 0; !list || !c_at(p, "}"); i++) {
        if (list && i == own.count)
            c_fail(p, "more values than the array has elements");
        struct c_node *to = c_node(p, CX_VARIABLE, own.type);
        to->slot = own.slot + (int)i;
        struct c_node *set = c_node(p, CX_ASSIGN, own.type);
        set->kid[0] = to;
        set->kid[1] = c_converted(p, c_assignment(p), own.type);
        link = append(link, set);
        if (!list)
            return link;
        if (!c_take(p, ","))
            break;
    }
    c_expect(p, "}");
    return link;
}

/* Declarators behind a type, up to the `;`. */
static struct c_node *declaration(struct c_parser *p, enum c_type type)
{
    struct c_node *block = c_node(p, CX_BLOCK, C_i32), **link = &block->kid[0];
    do {
        const char *name;
        size_t length;
        take_name(p, &name, &length);
        unsigned count = 0;
        if (c_take(p, "[")) {
            struct c_node *size = c_expression(p);
            if (size->op != CX_CONSTANT || size->value.i < 1 || size->value.i > 1024)
                c_fail(p, "the size of an array must be a literal from 1 to 1024");
            count = (unsigned)size->value.i;
            c_expect(p, "]");
        }
        const struct c_variable *v = declare(p, name, length, type, count);
        if (c_take(p, "="))
            link = initialise(p, link, v);
    } while (c_take(p, ","));
    c_expect(p, ";");
    return block;
}

static struct c_node *block(struct c_parser *p)
{
    struct c_node *b = c_node(p, CX_BLOCK, C_i32), **link = &b->kid[0];
    unsigned outer = p->variable_count;
    while (!c_at(p, "}") && p->kind != TOKEN_END)
        link = append(link, statement(p));
    p->variable_count = outer;
    return b;
}

static struct c_node *for_loop(struct c_parser *p)
{
    struct c_node *all = c_node(p, CX_BLOCK, C_i32), *l = c_node(p, CX_LOOP, C_i32);
    unsigned outer = p->variable_count;
    enum c_type type;
    c_expect(p, "(");
    struct c_node *first = NULL;
    c_take(p, "const");
    if (c_take_type(p, &type)) {
        first = declaration(p, type);
    } else {
        if (!c_at(p, ";"))
            first = c_expression(p);
        c_expect(p, ";");
    }
    if (!c_at(p, ";"))
        l->kid[0] = c_expression(p);
    c_expect(p, ";");
    if (!c_at(p, ")"))
        l->kid[1] = c_expression(p);
    c_expect(p, ")");
    l->kid[2] = statement(p);
    p->variable_count = outer;
    struct c_node **link = &all->kid[0];
    if (first)
        link = append(link, first);
    append(link, l);
    return all;
}

static struct c_node *condition(struct c_parser *p)
{
    c_expect(p, "(");
    struct c_node *c = c_expression(p);
    c_expect(p, ")");
    return c;
}

static struct c_node *if_statement(struct c_parser *p)
{
    struct c_node *n = c_node(p, CX_IF, C_i32);
    n->kid[0] = condition(p);
    n->kid[1] = statement(p);
    if (c_take(p, "else"))
        n->kid[2] = statement(p);
    return n;
}

static struct c_node *while_loop(struct c_parser *p, bool test_last)
{
    struct c_node *n = c_node(p, CX_LOOP, C_i32);
    n->test_last = test_last;
    if (test_last) {
        n->kid[2] = statement(p);
        c_expect(p, "while");
        n->kid[0] = condition(p);
        c_expect(p, ";");
    } else {
        n->kid[0] = condition(p);
        n->kid[2] = statement(p);
    }
    return n;
}

static struct c_node *simple(struct c_parser *p, enum c_op op)
{
    struct c_node *n = c_node(p, op, C_i32);
    if (op == CX_RETURN) {
        if (!p->function)
            c_fail(p, "'return' outside of a function");
        n->kid[0] = c_converted(p, c_expression(p), p->function->type);
    }
    c_expect(p, ";");
    return n;
}

static struct c_node *each(struct c_parser *p)
{
    struct c_node *n = c_node(p, CX_EACH, C_i32);
    if (!p->kernel || p->kernel->item == NO_NAME)
        c_fail(p, "'each' outside of a kernel with 'group'");
    c_expect(p, "{");
    n->kid[0] = block(p);
    c_expect(p, "}");
    return n;
}

static struct c_node *statement(struct c_parser *p)
{
    enum c_type type;
    if (c_take(p, "{")) {
        struct c_node *b = block(p);
        c_expect(p, "}");
        return b;
    }
    if (c_take(p, ";"))
        return c_node(p, CX_BLOCK, C_i32);
    if (c_take(p, "if"))
        return if_statement(p);
    if (c_take(p, "for"))
        return for_loop(p);
    if (c_take(p, "while"))
        return while_loop(p, false);
    if (c_take(p, "do"))
        return while_loop(p, true);
    if (c_take(p, "break"))
        return simple(p, CX_BREAK);
    if (c_take(p, "continue"))
        return simple(p, CX_CONTINUE);
    if (c_take(p, "return"))
        return simple(p, CX_RETURN);
    if (c_take(p, "each"))
        return each(p);
    c_take(p, "const");
    if (c_take_type(p, &type)) {
        c_take(p, "const");
        return declaration(p, type);
    }
    struct c_node *e = c_expression(p);
    c_expect(p, ";");
    return e;
}

/* ---- texts ---------------------------------------------------------------------------------- */

static void begin(struct c_parser *p, const char *text, size_t length, unsigned line)
{
    p->at = text;
    p->end = text + length;
    p->line = line;
    p->variable_count = p->slots = 0;
    c_advance(p);
}

static void read_function(struct c_parser *p)
{
    struct c_function *f = arena_alloc(p->arena, sizeof *f);
    enum c_type type;
    c_expect(p, "FN");
    if (!c_take_type(p, &f->type))
        c_fail(p, "expected a type after FN, found '%.*s'", (int)p->length, p->token);
    take_name(p, &f->name, &f->length);
    p->variable_count = p->slots = 0;
    c_expect(p, "(");
    while (!c_at(p, ")")) {
        const char *name;
        size_t length;
        c_take(p, "const");
        if (f->parameter_count == C_PARAMETERS || !c_take_type(p, &type))
            c_fail(p, "expected at most %d parameters of the kernels' types", C_PARAMETERS);
        c_take(p, "const");
        take_name(p, &name, &length);
        f->parameters[f->parameter_count++] = type;
        declare(p, name, length, type, 0);
        if (!c_take(p, ","))
            break;
    }
    c_expect(p, ")");
    c_expect(p, "{");
    p->function = f;
    f->body = block(p);
    p->function = NULL;
    c_expect(p, "}");
    f->slots = p->slots;
    f->next = p->functions; /* from here on: a function cannot call itself */
    p->functions = f;
}

int c_read_functions(const struct program *program, struct arena *arena,
                     struct c_function **functions, struct error *error)
{
    struct c_parser *p = must_alloc(sizeof *p);
    p->program = program;
    p->arena = arena;
    p->error = error;
    int code = ERR_UNSUPPORTED;
    if (!setjmp(p->failed)) {
        for (unsigned i = 0; i < program->code_count; i++) {
            const struct code *c = &program->codes[i];
            begin(p, c->text, c->length, c->at.line);
            while (p->kind != TOKEN_END)
                read_function(p);
        }
        *functions = p->functions;
        code = 0;
    }
    free(p);
    return code;
}

static void declare_scalar(struct c_parser *p, int name)
{
    const struct name *n = &p->fun->names[name];
    declare(p, n->text, strlen(n->text), c_type_of(n->element), 0);
}

static void read_kernel(struct c_parser *p, struct c_kernel *c)
{
    const struct kernel *k = p->kernel;
    begin(p, k->text, k->length, k->text_at.line);
    for (unsigned d = 0; d < k->rank; d++)
        declare_scalar(p, k->indices[d]);
    c->item_slot = (int)p->slots;
    if (k->item != NO_NAME)
        declare_scalar(p, k->item);
    for (unsigned i = 0; i < k->scalar_count; i++)
        declare_scalar(p, k->scalars[i]);
    c->array_count = k->array_count + k->local_count;
    c->arrays = arena_alloc(p->arena, c->array_count * sizeof *c->arrays);
    for (unsigned i = 0; i < c->array_count; i++)
        c->arrays[i] = i < k->array_count ? k->arrays[i] : k->locals[i - k->array_count];
    p->compiled = c;
    c->body = block(p);
    if (p->kind != TOKEN_END)
        c_fail(p, "expected a statement, found '%.*s'", (int)p->length, p->token);
    c->slots = p->slots;
}

int c_read_kernel(const struct fun *fun, const struct kernel *kernel,
                  const struct c_function *functions, struct arena *arena,
                  struct c_kernel **compiled, struct error *error)
{
    struct c_parser *p = must_alloc(sizeof *p);
    p->program = fun->program;
    p->fun = fun;
    p->kernel = kernel;
    p->functions = (struct c_function *)functions;
    p->arena = arena;
    p->error = error;
    int code = ERR_UNSUPPORTED;
    if (!setjmp(p->failed)) {
        *compiled = arena_alloc(arena, sizeof **compiled);
        read_kernel(p, *compiled);
        code = 0;
    }
    free(p);
    return code;
}
