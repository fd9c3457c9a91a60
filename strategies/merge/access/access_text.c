#include "merge/access/access_text.h"

#include <ctype.h>
#include <string.h>

/* ---- tokens --------------------------------------------------------------------------------- */

void ctext_set_unclear(struct ctext *t, int token, const char *why)
{
    if (t->unclear)
        return;
    t->unclear = why;
    t->unclear_at = t->tokens[token].begin;
}

static bool bytes_are(const char *bytes, size_t length, const char *text)
{
    return strlen(text) == length && memcmp(bytes, text, length) == 0;
}

static bool in_list(const char *bytes, size_t length, const char *const *list)
{
    for (; *list; list++)
        if (bytes_are(bytes, length, *list))
            return true;
    return false;
}

bool ctext_is(const struct ctext *t, int token, const char *text)
{
    if (token < 0 || token >= t->token_count || t->tokens[token].kind == CTEXT_LITERAL)
        return false;
    const struct ctext_token *k = &t->tokens[token];
    return bytes_are(t->text + k->begin, k->end - k->begin, text);
}

bool ctext_is_word(const struct ctext *t, int token)
{
    return token >= 0 && t->tokens[token].kind == CTEXT_WORD;
}

bool ctext_is_one_of(const struct ctext *t, int token, const char *const *list)
{
    if (token < 0 || t->tokens[token].kind == CTEXT_LITERAL)
        return false;
    const struct ctext_token *k = &t->tokens[token];
    return in_list(t->text + k->begin, k->end - k->begin, list);
}

bool ctext_same_word(const struct ctext *t, int a, int b)
{
    const struct ctext_token *x = &t->tokens[a], *y = &t->tokens[b];
    return x->kind == CTEXT_WORD && y->kind == CTEXT_WORD &&
           x->end - x->begin == y->end - y->begin &&
           memcmp(t->text + x->begin, t->text + y->begin, x->end - x->begin) == 0;
}

int ctext_token_at(const struct ctext *t, size_t offset)
{
    int low = 0, high = t->token_count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (t->tokens[middle].begin < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static size_t mark_length(const char *s)
{
    static const char *const marks[] = {"<<=", ">>=", "++", "--", "+=", "-=", "*=", "/=", "%=",
                                        "&=",  "|=",  "^=", "==", "!=", "<=", ">=", "&&", "||",
                                        "<<",  ">>",  "->", "<:", ":>", "<%", "%>", "%:", NULL};
    for (const char *const *m = marks; *m; m++)
        if (strncmp(s, *m, strlen(*m)) == 0)
            return strlen(*m);
    return 1;
}

/* The token at s, which is no blank and no comment. */
static struct ctext_token next_token(const struct ctext *t, size_t at)
{
    const char *s = t->text + at;
    struct ctext_token token = {CTEXT_MARK, at, at, CTEXT_NONE, false};
    if (isdigit((unsigned char)*s) || (*s == '.' && isdigit((unsigned char)s[1]))) {
        token.kind = CTEXT_NUMBER;
        while (is_word_char(t->text[token.end]) || t->text[token.end] == '.')
            token.end++;
    } else if (is_word_char(*s)) {
        token.kind = CTEXT_WORD;
        while (is_word_char(t->text[token.end]))
            token.end++;
    } else if (*s == '"' || *s == '\'') {
        token.kind = CTEXT_LITERAL;
        token.end += c_literal_length(s);
    } else {
        token.end += mark_length(s);
    }
    return token;
}

/* Things that let the compiler read other tokens than these. */
static void check_lexical(struct ctext *t, int token)
{
    static const char *const strange[] = {"#", "\\", "<:", ":>", "<%", "%>", "%:", "@", NULL};
    const struct ctext_token *k = &t->tokens[token];
    if (ctext_is_one_of(t, token, strange))
        ctext_set_unclear(t, token, "a preprocessor line, a backslash or a digraph");
    if (k->kind == CTEXT_LITERAL && token > 0 && t->tokens[token - 1].kind == CTEXT_WORD &&
        t->tokens[token - 1].end == k->begin)
        ctext_set_unclear(t, token, "a literal with a prefix");
    if (k->kind == CTEXT_WORD && (strncmp(t->text + k->begin, "gamut_", 6) == 0 ||
                                  strncmp(t->text + k->begin, "GAMUT_", 6) == 0 ||
                                  strncmp(t->text + k->begin, "__", 2) == 0))
        ctext_set_unclear(t, token, "a word of the implementation");
}

static void tokenise(struct ctext *t, size_t length)
{
    for (size_t i = 0; i < length;) {
        const char *s = t->text + i;
        if (isspace((unsigned char)*s)) {
            i++;
            continue;
        }
        struct ctext_token *k = &t->tokens[t->token_count];
        if (s[0] == '/' && (s[1] == '/' || s[1] == '*')) {
            size_t comment = c_literal_length(s);
            *k = (struct ctext_token){.begin = i, .end = i, .partner = CTEXT_NONE};
            if (s[1] == '/' && memchr(s, '\\', comment)) /* it may go on in the next line */
                ctext_set_unclear(t, t->token_count, "a backslash in a comment");
            i += comment;
            continue;
        }
        *k = next_token(t, i);
        i = k->end;
        check_lexical(t, t->token_count++);
    }
    t->tokens[t->token_count] =
        (struct ctext_token){.begin = length, .end = length, .partner = CTEXT_NONE};
}

static void pair_brackets(struct ctext *t)
{
    int open = CTEXT_NONE; /* the innermost one; its partner is the next one outwards for now */
    for (int i = 0; i < t->token_count; i++) {
        static const char *const opening[] = {"(", "[", "{", NULL}, *const closing[] = {")", "]",
                                                                                        "}", NULL};
        if (ctext_is_one_of(t, i, opening)) {
            t->tokens[i].partner = open;
            open = i;
        } else if (ctext_is_one_of(t, i, closing)) {
            char o = open == CTEXT_NONE ? 0 : t->text[t->tokens[open].begin];
            char c = t->text[t->tokens[i].begin];
            if (!((o == '(' && c == ')') || (o == '[' && c == ']') || (o == '{' && c == '}'))) {
                ctext_set_unclear(t, i, "brackets that do not match");
                continue;
            }
            int outer = t->tokens[open].partner;
            t->tokens[open].partner = i;
            t->tokens[i].partner = open;
            open = outer;
        }
    }
    while (open != CTEXT_NONE) {
        int outer = t->tokens[open].partner;
        t->tokens[open].partner = CTEXT_NONE;
        ctext_set_unclear(t, open, "a bracket that is not closed");
        open = outer;
    }
}

/* ---- names that change ---------------------------------------------------------------------- */

bool ctext_assigns(const struct ctext *t, int token)
{
    static const char *const marks[] = {
        "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", NULL};
    return ctext_is_one_of(t, token, marks);
}

bool ctext_steps(const struct ctext *t, int token)
{
    return ctext_is(t, token, "++") || ctext_is(t, token, "--");
}

bool ctext_takes_address(const struct ctext *t, int token)
{
    if (!ctext_is(t, token, "&"))
        return false;
    int before = token - 1;
    if (before < 0)
        return true;
    if (ctext_is(t, before, ")")) { /* a cast, where words and stars are all there is in it */
        int open = t->tokens[before].partner;
        if (open == CTEXT_NONE || ctext_is_word(t, open - 1))
            return open == CTEXT_NONE;
        for (int i = open + 1; i < before; i++)
            if (!ctext_is_word(t, i) && !ctext_is(t, i, "*"))
                return false;
        return true;
    }
    return t->tokens[before].kind == CTEXT_MARK && !ctext_is(t, before, "]") &&
           !ctext_steps(t, before);
}

void ctext_unwrap(const struct ctext *t, int *first, int *last)
{
    static const char *const control[] = {"if", "while", "for", NULL}; /* `if (x) ++y;` */
    while (ctext_is(t, *first - 1, "(") && t->tokens[*first - 1].partner == *last + 1 &&
           !ctext_is_one_of(t, *first - 2, control)) {
        --*first;
        ++*last;
    }
}

static void mark_assigned(struct ctext *t)
{
    for (int i = 0; i < t->token_count; i++) {
        if (!ctext_is_word(t, i) || ctext_is(t, i - 1, ".") || ctext_is(t, i - 1, "->"))
            continue;
        int first = i, last = i;
        ctext_unwrap(t, &first, &last);
        t->tokens[i].modified = ctext_assigns(t, last + 1) || ctext_steps(t, last + 1) ||
                                ctext_steps(t, first - 1) || ctext_takes_address(t, first - 1);
    }
}

/* Marks the names that [begin, end) declares if it is a declaration: a word, or one with something
 * in parentheses, before another word or a star; nothing else of use begins so. */
void ctext_mark_declared(struct ctext *t, int begin, int end)
{
    int second = begin + 1;
    if (!ctext_is_word(t, begin))
        return;
    if (ctext_is(t, second, "(") && t->tokens[second].partner != CTEXT_NONE)
        second = t->tokens[second].partner + 1;
    if (second >= end || (!ctext_is_word(t, second) && !ctext_is(t, second, "*")))
        return;
    bool value = false; /* behind the `=` of a declarator */
    for (int i = begin, depth = 0; i < end; i++) {
        depth += ctext_is(t, i, "(") || ctext_is(t, i, "{");
        depth -= ctext_is(t, i, ")") || ctext_is(t, i, "}");
        if (ctext_is(t, i, "[") && t->tokens[i].partner > i)
            i = t->tokens[i].partner;
        else if (depth == 0 && ctext_is(t, i, "="))
            value = true;
        else if (depth == 0 && ctext_is(t, i, ","))
            value = false;
        else if (!value && ctext_is_word(t, i))
            t->tokens[i].modified = true;
    }
}

/* ---- macros --------------------------------------------------------------------------------- */

static size_t skip_blank(const char *text, size_t i)
{
    for (size_t n; text[i] && text[i] != '"' && text[i] != '\'';) {
        n = isspace((unsigned char)text[i]) ? 1 : c_literal_length(text + i);
        if (!n)
            break;
        i += n;
    }
    return i;
}

static size_t word_length(const char *text)
{
    size_t n = 0;
    while (is_word_char(text[n]))
        n++;
    return n;
}

static void check_macro(struct ctext *t, const char *name, size_t length)
{
    for (int i = 0; i < t->token_count; i++)
        if (ctext_is_word(t, i) && t->tokens[i].end - t->tokens[i].begin == length &&
            memcmp(t->text + t->tokens[i].begin, name, length) == 0)
            ctext_set_unclear(t, i, "a macro of the program");
}

/* A macro of the program's own could hold anything; so could a file that it includes. */
static void check_macros(struct ctext *t, const struct code *code)
{
    static const char *const harmless[] = {"if",    "ifdef", "ifndef", "elif",   "else",
                                           "endif", "undef", "error",  "pragma", NULL};
    for (size_t i = 0; i < code->length;) {
        size_t literal = c_literal_length(code->text + i);
        if (literal || (code->text[i] != '#' && strncmp(code->text + i, "%:", 2) != 0)) {
            i += literal ? literal : 1;
            continue;
        }
        i = skip_blank(code->text, i + (code->text[i] == '#' ? 1 : 2));
        size_t length = word_length(code->text + i);
        if (bytes_are(code->text + i, length, "define")) {
            i = skip_blank(code->text, i + length);
            length = word_length(code->text + i);
            check_macro(t, code->text + i, length);
            if (!length || code->text[i + length] == '\\')
                ctext_set_unclear(t, 0, "a macro of the program whose name is not clear");
        } else if (!in_list(code->text + i, length, harmless)) {
            ctext_set_unclear(t, 0, "a line of the preprocessor in the program's code");
        }
        i += length;
    }
}

/* ---- together ------------------------------------------------------------------------------- */

struct ctext *ctext_read(const struct program *program, const struct kernel *kernel,
                         struct arena *arena)
{
    struct ctext *t = arena_alloc(arena, sizeof *t);
    t->text = kernel->text;
    t->tokens = arena_alloc(arena, (kernel->length + 1) * sizeof *t->tokens);
    tokenise(t, kernel->length);
    /* Every statement and every loop has a token of its own. */
    size_t most = (size_t)t->token_count + 1;
    t->statements = arena_alloc(arena, most * sizeof *t->statements);
    t->loops = arena_alloc(arena, most * sizeof *t->loops);
    pair_brackets(t);
    mark_assigned(t);
    for (unsigned c = 0; c < program->code_count; c++)
        check_macros(t, &program->codes[c]);
    ctext_read_statements(t);
    return t;
}
