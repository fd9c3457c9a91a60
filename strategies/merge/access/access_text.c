#include "merge/access/access_text.h"

#include <ctype.h>
#include <string.h>

#include "base/sort.h"

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
    unsigned i;
    FIND_PLACE(i, (unsigned)t->token_count, t->tokens[i].begin < offset);
    return (int)i;
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
        while (c_is_word_char(t->text[token.end]) || t->text[token.end] == '.')
            token.end++;
    } else if (c_is_word_char(*s)) {
        token.kind = CTEXT_WORD;
        while (c_is_word_char(t->text[token.end]))
            token.end++;
    } else if (*s == '"' || *s == '\'') {
        token.kind = CTEXT_LITERAL;
        token.end += c_literal_length(s);
    } else {
        token.end += mark_length(s);
    }
    return token;
}

/* Looks for text from which a compiler would read other tokens than these. */
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
    if (ctext_is(t, before, ")")) { /* a cast, if it holds only words and stars */
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

/* If [begin, end) is a declaration, marks the names that it declares. A declaration begins with a
 * word, perhaps with parentheses after it, and then another word or a star. No other useful
 * statement does. */
static void ctext_mark_declared(struct ctext *t, int begin, int end)
{
    int second = begin + 1;
    if (!ctext_is_word(t, begin))
        return;
    if (ctext_is(t, second, "(") && t->tokens[second].partner != CTEXT_NONE)
        second = t->tokens[second].partner + 1;
    if (second >= end || (!ctext_is_word(t, second) && !ctext_is(t, second, "*")))
        return;
    bool value = false; /* after the `=` of a declarator */
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

static size_t word_length(const char *text)
{
    size_t n = 0;
    while (c_is_word_char(text[n]))
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
        i = c_skip_blank(code->text, i + (code->text[i] == '#' ? 1 : 2));
        size_t length = word_length(code->text + i);
        if (bytes_are(code->text + i, length, "define")) {
            i = c_skip_blank(code->text, i + length);
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

/* ---- statements and loops -------------------------------------------------------------------- */

enum { DEPTH_MAX = 100 }; /* most levels of nested statements: the reader recurses */

static int read_statement(struct ctext *t, int i, int loop, int depth);

/* A control word must start a statement; a brace must start one or an initialiser. Otherwise there
 * is a `switch`, a function or another construct that the reader does not follow. */
static void check_inside(struct ctext *t, int begin, int end)
{
    static const char *const control[] = {"if",   "else",    "for",  "while", "do",      "switch",
                                          "case", "default", "each", "asm",   "_Pragma", NULL};
    for (int i = begin; i < end; i++) {
        if (ctext_is_one_of(t, i, control))
            ctext_set_unclear(t, i, "a word that is not followed here");
        bool initial = i > begin && (ctext_is(t, i - 1, "=") || ctext_is(t, i - 1, "{") ||
                                     ctext_is(t, i - 1, ","));
        if (ctext_is(t, i, "{") && !initial)
            ctext_set_unclear(t, i, "a brace that is not followed here");
    }
}

/* Is it `name[...] = expression`? Then it reads everything before it writes. */
static bool is_plain(const struct ctext *t, int begin, int end)
{
    int close = ctext_is(t, begin + 1, "[") ? t->tokens[begin + 1].partner : CTEXT_NONE;
    if (!ctext_is_word(t, begin) || close == CTEXT_NONE || !ctext_is(t, close + 1, "="))
        return false;
    for (int i = begin, depth = 0; i < end; i++) {
        if (t->tokens[i].partner != CTEXT_NONE)
            depth += t->tokens[i].partner > i ? 1 : -1;
        if (depth == 0 && ctext_is(t, i, ","))
            return false;
    }
    return true;
}

static void add_statement(struct ctext *t, int begin, int end, int loop)
{
    check_inside(t, begin, end);
    ctext_mark_declared(t, begin, end);
    t->statements[t->statement_count++] =
        (struct ctext_statement){begin, end, loop, is_plain(t, begin, end)};
}

/* An expression or declaration; returns the token after its `;`. */
static int read_simple(struct ctext *t, int begin, int loop)
{
    int i = begin;
    while (i < t->token_count && !ctext_is(t, i, ";")) {
        int partner = t->tokens[i].partner;
        if (partner != CTEXT_NONE && partner < i)
            break; /* the end of the statement around it */
        i = partner == CTEXT_NONE ? i + 1 : partner + 1;
    }
    if (!ctext_is(t, i, ";"))
        ctext_set_unclear(t, i, "a statement without ';'");
    add_statement(t, begin, i, loop);
    return i + ctext_is(t, i, ";");
}

/* `( ... )` after a control word; returns the token after it. */
static int read_header(struct ctext *t, int open, int loop)
{
    int close = ctext_is(t, open, "(") ? t->tokens[open].partner : CTEXT_NONE;
    if (close == CTEXT_NONE) {
        ctext_set_unclear(t, open, "no '(' where there should be one");
        return open;
    }
    add_statement(t, open, close + 1, loop);
    return close + 1;
}

static int add_loop(struct ctext *t, int begin, int parent)
{
    t->loops[t->loop_count] =
        (struct ctext_loop){.parent = parent, .begin = begin, .end = begin, .counter = CTEXT_NONE};
    return t->loop_count++;
}

/* The counter if the header at `open` is `(type k = A; k < B; k++)`; the body is not known yet.
 * Sets A and B of the loop. */
static int header_counter(const struct ctext *t, int open, struct ctext_loop *loop)
{
    static const char *const types[] = {"i32", "i64", "int", NULL};
    int close = t->tokens[open].partner, k = open + 2, parts[2], part_count = 0;
    if (!ctext_is(t, open, "(") || close == CTEXT_NONE || !ctext_is_one_of(t, open + 1, types) ||
        !ctext_is_word(t, k) || !ctext_is(t, k + 1, "="))
        return CTEXT_NONE;
    for (int i = k + 2; i < close; i++) {
        if (t->tokens[i].partner > i)
            i = t->tokens[i].partner;
        else if (ctext_is(t, i, ",") && part_count == 0)
            return CTEXT_NONE; /* a second name */
        else if (ctext_is(t, i, ";") && part_count == 2)
            return CTEXT_NONE;
        else if (ctext_is(t, i, ";"))
            parts[part_count++] = i;
    }
    if (part_count != 2 || close - parts[1] != 3)
        return CTEXT_NONE;
    int test = parts[0] + 1, step = parts[1] + 1;
    bool less =
        ctext_same_word(t, test, k) && (ctext_is(t, test + 1, "<") || ctext_is(t, test + 1, "<="));
    bool up = (ctext_same_word(t, step, k) && ctext_is(t, step + 1, "++")) ||
              (ctext_is(t, step, "++") && ctext_same_word(t, step + 1, k));
    loop->first = k + 2;
    loop->first_end = parts[0];
    loop->bound = test + 2;
    loop->bound_end = parts[1];
    loop->inclusive = ctext_is(t, test + 1, "<=");
    return less && up ? k : CTEXT_NONE;
}

/* Is k changed once, in the step, between its declaration and the end of the loop? */
static bool counts(const struct ctext *t, int k, int end)
{
    int changes = 0;
    for (int i = k + 1; i < end; i++)
        changes += t->tokens[i].modified && ctext_same_word(t, i, k);
    return changes == 1;
}

static int read_for_or_while(struct ctext *t, int word, int parent, int depth)
{
    int loop = add_loop(t, word, parent);
    int counter =
        ctext_is(t, word, "for") ? header_counter(t, word + 1, &t->loops[loop]) : CTEXT_NONE;
    int body = read_header(t, word + 1, loop);
    int end = read_statement(t, body, loop, depth + 1);
    t->loops[loop].end = end;
    if (counter != CTEXT_NONE && counts(t, counter, end))
        t->loops[loop].counter = counter;
    return end;
}

static int read_do(struct ctext *t, int word, int parent, int depth)
{
    int loop = add_loop(t, word, parent);
    int end = read_statement(t, word + 1, loop, depth + 1);
    if (!ctext_is(t, end, "while"))
        ctext_set_unclear(t, end, "no 'while' after 'do'");
    else
        end = read_header(t, end + 1, loop);
    t->loops[loop].end = end;
    return end + ctext_is(t, end, ";");
}

static int read_if(struct ctext *t, int word, int loop, int depth)
{
    int body = read_header(t, word + 1, loop);
    int end = read_statement(t, body, loop, depth + 1);
    if (ctext_is(t, end, "else"))
        end = read_statement(t, end + 1, loop, depth + 1);
    return end;
}

/* Reads a statement at token i; returns the token after it, which is always a later one unless the
 * text ends. */
static int read_statement(struct ctext *t, int i, int loop, int depth)
{
    if (i >= t->token_count || depth > DEPTH_MAX) {
        ctext_set_unclear(t, i, "no statement where there should be one, or one nested too deeply");
        return t->token_count;
    }
    if (ctext_is(t, i, "{")) {
        int close = t->tokens[i].partner;
        for (i++; i < t->token_count && i != close;)
            i = read_statement(t, i, loop, depth + 1);
        return i + 1 < t->token_count ? i + 1 : t->token_count;
    }
    if (ctext_is(t, i, "if"))
        return read_if(t, i, loop, depth);
    if (ctext_is(t, i, "for") || ctext_is(t, i, "while"))
        return read_for_or_while(t, i, loop, depth);
    if (ctext_is(t, i, "do"))
        return read_do(t, i, loop, depth);
    if (ctext_is(t, i, "each"))
        return read_statement(t, i + 1, loop, depth + 1);
    if (t->tokens[i].partner != CTEXT_NONE && t->tokens[i].partner < i)
        return ctext_set_unclear(t, i, "a bracket that closes too early"), i + 1;
    int end = read_simple(t, i, loop);
    return end > i ? end : i + 1;
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
    for (int i = 0; i < t->token_count;)
        i = read_statement(t, i, CTEXT_NONE, 0);
    return t;
}
