/* The statements and loops of a kernel's text. */
#include "merge/access/access_text.h"

enum { DEPTH_MAX = 100 }; /* of statements in statements: the reader recurses */

static int read_statement(struct ctext *t, int i, int loop, int depth);

/* Words that direct control stand at the start of a statement, and braces where one begins or in an
 * initialiser: otherwise there is a `switch`, a function or something else that is not followed. */
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

/* Is it `name[...] = expression`? Then all that it reads is read before this is written. */
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

/* An expression or declaration; returns the token behind its `;`. */
static int read_simple(struct ctext *t, int begin, int loop)
{
    int i = begin;
    while (i < t->token_count && !ctext_is(t, i, ";")) {
        int partner = t->tokens[i].partner;
        if (partner != CTEXT_NONE && partner < i)
            break; /* the end of what is around it */
        i = partner == CTEXT_NONE ? i + 1 : partner + 1;
    }
    if (!ctext_is(t, i, ";"))
        ctext_set_unclear(t, i, "a statement without ';'");
    add_statement(t, begin, i, loop);
    return i + ctext_is(t, i, ";");
}

/* `( ... )` behind a word of control; returns the token behind it. */
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
    t->loops[t->loop_count] = (struct ctext_loop){parent, begin, begin, CTEXT_NONE};
    return t->loop_count++;
}

/* The counter if the header at `open` is `(type k = A; k < B; k++)`; the body is not known yet. */
static int header_counter(const struct ctext *t, int open)
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
    int counter = ctext_is(t, word, "for") ? header_counter(t, word + 1) : CTEXT_NONE;
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
        ctext_set_unclear(t, end, "no 'while' behind 'do'");
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

/* Reads a statement at token i; returns the token behind it, which is always a later one unless the
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

void ctext_read_statements(struct ctext *t)
{
    for (int i = 0; i < t->token_count;)
        i = read_statement(t, i, CTEXT_NONE, 0);
}
