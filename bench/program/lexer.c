/* The base of the parser's files: tokens, names in scope, and errors with the line that they are
 * about. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "program/parser.h"

struct source_position position_after(struct source_position at, const char *text, size_t offset)
{
    for (size_t i = 0; i < offset; i++) {
        at.column++;
        if (text[i] == '\n') {
            at.line++;
            at.column = 1;
        }
    }
    return at;
}

static void skip(struct parser *p, size_t bytes)
{
    p->cursor_at = position_after(p->cursor_at, p->cursor, bytes);
    p->cursor += bytes;
}

static void skip_space(struct parser *p)
{
    for (;;) {
        if (isspace((unsigned char)*p->cursor))
            skip(p, 1);
        else if (p->cursor[0] == '-' && p->cursor[1] == '-')
            skip(p, strcspn(p->cursor, "\n"));
        else
            return;
    }
}

static size_t number_length(const char *s, enum token_kind *kind)
{
    size_t n = strspn(s, "0123456789");
    *kind = TOKEN_INTEGER;
    if (s[n] == '.' && isdigit((unsigned char)s[n + 1])) {
        n++;
        n += strspn(s + n, "0123456789");
        *kind = TOKEN_REAL;
    }
    if (s[n] == 'e' || s[n] == 'E') {
        size_t sign = s[n + 1] == '-' || s[n + 1] == '+';
        size_t digits = strspn(s + n + 1 + sign, "0123456789");
        if (digits) {
            n += 1 + sign + digits;
            *kind = TOKEN_REAL;
        }
    }
    return n;
}

static size_t mark_length(const char *s)
{
    static const char *const pairs[] = {":+", "<-", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (s[0] == pairs[i][0] && s[1] == pairs[i][1])
            return 2;
    return 1;
}

void parser_advance(struct parser *p)
{
    skip_space(p);
    const char *s = p->cursor;
    struct token t = {.text = s, .at = p->cursor_at};
    if (!*s) {
        t.kind = TOKEN_END;
    } else if (isalpha((unsigned char)*s) || *s == '_') {
        t.kind = TOKEN_WORD;
        while (c_is_word_char(s[t.length]))
            t.length++;
    } else if (isdigit((unsigned char)*s)) {
        t.length = number_length(s, &t.kind);
    } else {
        t.kind = TOKEN_MARK;
        t.length = mark_length(s);
    }
    skip(p, t.length);
    p->token = t;
}

bool parser_at(const struct parser *p, const char *text)
{
    return (p->token.kind == TOKEN_WORD || p->token.kind == TOKEN_MARK) &&
           strlen(text) == p->token.length && memcmp(text, p->token.text, p->token.length) == 0;
}

bool parser_take(struct parser *p, const char *text)
{
    if (!parser_at(p, text))
        return false;
    parser_advance(p);
    return true;
}

void parser_expect(struct parser *p, const char *text, const char *why)
{
    if (parser_take(p, text))
        return;
    char expected[160];
    snprintf(expected, sizeof expected, "'%s' %s", text, why);
    parser_unexpected(p, expected);
}

size_t c_literal_length(const char *s)
{
    if (s[0] == '/' && s[1] == '/')
        return strcspn(s, "\n");
    if (s[0] == '/' && s[1] == '*') {
        const char *end = strstr(s + 2, "*/");
        return end ? (size_t)(end - s) + 2 : strlen(s);
    }
    if (*s == '"' || *s == '\'') {
        size_t n = 1;
        while (s[n] && s[n] != *s && s[n] != '\n')
            n += s[n] == '\\' && s[n + 1] ? 2 : 1;
        return n + (s[n] == *s);
    }
    return 0;
}

size_t c_skippable(const char *s)
{
    return isspace((unsigned char)*s) ? 1 : c_literal_length(s);
}

size_t c_skip_blank(const char *text, size_t i)
{
    for (size_t n; text[i] && text[i] != '"' && text[i] != '\''; i += n)
        if ((n = c_skippable(text + i)) == 0)
            break;
    return i;
}

bool c_is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

void parser_raw_block(struct parser *p, const char **text, size_t *length,
                      struct source_position *at)
{
    if (!parser_at(p, "{"))
        parser_unexpected(p, "'{' before C text");
    struct source_position open = p->token.at;
    const char *start = p->cursor, *s = start;
    *at = p->cursor_at;
    for (unsigned depth = 1;; s++) {
        for (size_t literal; (literal = c_literal_length(s)) > 0;)
            s += literal;
        if (!*s)
            parser_fail(p, open, "this '{' of a C text has no matching '}'");
        depth += *s == '{';
        if (*s == '}' && --depth == 0)
            break;
    }
    *length = (size_t)(s - start);
    *text = arena_copy(&p->program->arena, start, *length);
    skip(p, *length + 1);
    parser_advance(p);
}

static void describe(const struct parser *p, char *out, size_t size)
{
    if (p->token.kind == TOKEN_END)
        snprintf(out, size, "the end of the file");
    else
        snprintf(out, size, "'%.*s'", (int)(p->token.length < 40 ? p->token.length : 40),
                 p->token.text);
}

void parser_unexpected(struct parser *p, const char *expected)
{
    char found[64];
    describe(p, found, sizeof found);
    parser_fail(p, p->token.at, "expected %s, found %s", expected, found);
}

void parser_fail(struct parser *p, struct source_position at, const char *format, ...)
{
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    program_error(p->program, p->error, ERR_PARSE, at, "%s", message);
    longjmp(p->failed, 1);
}

/* ---- names --------------------------------------------------------------------------------- */

char *parse_new_name(struct parser *p, const char *what)
{
    if (p->token.kind != TOKEN_WORD)
        parser_unexpected(p, what);
    char *text = arena_copy(&p->program->arena, p->token.text, p->token.length);
    if (name_is_reserved(text))
        parser_fail(p, p->token.at, "'%s' is a word of the language or of C; choose another name",
                    text);
    parser_advance(p);
    return text;
}

void parse_scope(struct parser *p, int name, bool in_scope)
{
    p->in_scope =
        must_reach(p->in_scope, (unsigned)name, &p->in_scope_capacity, sizeof *p->in_scope);
    p->in_scope[name] = in_scope;
    const char *block = p->fun->names[name].block;
    if (block) /* it has the scope of its array */
        p->in_scope[fun_find(p->fun, block, strlen(block))] = in_scope;
}

int parse_bind(struct parser *p, const char *text, struct source_position at,
               const struct name *properties)
{
    int old = fun_find(p->fun, text, strlen(text));
    if (old != NO_NAME && p->fun->names[old].made) {
        fun_rename(p->program, p->fun, old);
        old = NO_NAME;
    }
    if (old != NO_NAME && (p->in_scope[old] || !p->fun->names[old].scoped || !properties->scoped))
        parser_fail(p, at, "'%s' is already bound in line %u; every name is bound once", text,
                    p->fun->names[old].at.line);
    struct name n = *properties;
    n.at = at;
    int number = fun_add_name(p->program, p->fun, text, &n);
    parse_scope(p, number, true);
    return number;
}

int parse_use(struct parser *p, const struct token *t)
{
    int name = t->kind == TOKEN_WORD ? fun_find(p->fun, t->text, t->length) : NO_NAME;
    return name != NO_NAME && p->in_scope[name] ? name : NO_NAME;
}

int parse_take_use(struct parser *p, enum name_kind kind, const char *what)
{
    int name = parse_use(p, &p->token);
    if (name == NO_NAME && p->token.kind == TOKEN_WORD)
        parser_fail(p, p->token.at, "expected %s, but there is no name '%.*s' here", what,
                    (int)p->token.length, p->token.text);
    if (name == NO_NAME || p->fun->names[name].kind != kind)
        parser_unexpected(p, what);
    parser_advance(p);
    return name;
}

void parse_nest(struct parser *p)
{
    if (++p->nesting > NESTING_MAX)
        parser_fail(p, p->token.at, "this is nested more than %d levels deep", NESTING_MAX);
}

void ints_push(struct parser *p, struct ints *list, int value)
{
    list->data = arena_grow(&p->program->arena, list->data, list->count, &list->capacity,
                            sizeof *list->data);
    list->data[list->count++] = value;
}

/* ---- errors ---------------------------------------------------------------------------------- */

const char *program_line(const struct program *program, unsigned number)
{
    const char *line = number ? program->text : NULL;
    for (unsigned i = 1; i < number && line; i++) {
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return line;
}

int program_error(const struct program *program, struct error *error, int code,
                  struct source_position at, const char *format, ...)
{
    char message[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);

    const char *line = program_line(program, at.line);
    if (!line)
        return error_set(error, code, "%s: %s", program->path, message);
    int width = (int)strcspn(line, "\n");
    /* Tabs stay in front of the caret, so that it is under its column. */
    char caret[256];
    unsigned n = 0;
    for (; n + 1 < at.column && n < sizeof caret - 1 && (int)n < width; n++)
        caret[n] = line[n] == '\t' ? '\t' : ' ';
    caret[n] = 0;
    return error_set(error, code, "%s:%u:%u: %s\n  %.*s\n  %s^", program->path, at.line, at.column,
                     message, width < 200 ? width : 200, line, caret);
}
