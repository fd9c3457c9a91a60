/* Facts about the accesses of a kernel, and their printer. */
#include "merge/access/access.h"

#include <string.h>

#include "merge/access/access_text.h"

/* ---- indices -------------------------------------------------------------------------------- */

static bool is_name(const struct ctext *t, int token, const char *name)
{
    return t->tokens[token].kind == CTEXT_WORD && ctext_is(t, token, name);
}

/* Is the name another one somewhere in the text, or given another value? */
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
        if (name != NO_NAME && is_name(t, word, ka->fun->names[name].text)) {
            index.kind = ACCESS_THREAD;
            index.number = d;
            return index;
        }
    }
    for (unsigned i = 0; i < k->scalar_count; i++)
        if (is_name(t, word, ka->fun->names[k->scalars[i]].text)) {
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

static struct access_index classify(const struct kernel_access *ka, int begin, int end, int loop)
{
    const struct ctext *t = ka->text;
    const struct access_index any = {.kind = ACCESS_ANY, .name = NO_NAME};
    struct access_index index = {.kind = ACCESS_CONSTANT, .name = NO_NAME};
    int64_t value;
    if (end - begin == 1 && literal_value(t, begin, &index.constant))
        return index;
    if (end - begin == 2 && ctext_is(t, begin, "-") && literal_value(t, begin + 1, &value)) {
        index.constant = -value;
        return index;
    }
    if (end - begin == 1 && t->tokens[begin].kind == CTEXT_WORD)
        return resolve(ka, begin, loop);
    if (end - begin != 3)
        return any;
    bool plus = ctext_is(t, begin + 1, "+"), minus = ctext_is(t, begin + 1, "-");
    int word = t->tokens[begin].kind == CTEXT_WORD ? begin : begin + 2;
    int number = word == begin ? begin + 2 : begin;
    if (!(plus || (minus && word == begin)) || t->tokens[word].kind != CTEXT_WORD ||
        !literal_value(t, number, &value))
        return any;
    index = resolve(ka, word, loop);
    if (index.kind != ACCESS_ANY)
        index.constant = minus ? -value : value;
    return index;
}

/* ---- accesses ------------------------------------------------------------------------------- */

static const struct ctext_statement *statement_of(const struct ctext *t, int token)
{
    int low = 0, high = t->statement_count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (t->statements[middle].end <= token)
            low = middle + 1;
        else
            high = middle;
    }
    return low < t->statement_count && t->statements[low].begin <= token ? &t->statements[low]
                                                                         : NULL;
}

/* Does the statement assign once, and use only elements, functions and what the kernel is given?
 * A function could put something where a pointer among other names leads. */
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

struct kernel_access *access_analyse(const struct program *program, const struct fun *fun,
                                     const struct stm *stm, struct arena *arena)
{
    struct kernel_access *ka = arena_alloc(arena, sizeof *ka);
    struct ctext *t = ctext_read(program, stm->kernel, arena);
    *ka = (struct kernel_access){fun, stm, stm->kernel, stm->kernel->access_count, NULL, t};
    ka->facts = arena_alloc(arena, (ka->count + 1) * sizeof *ka->facts);
    for (unsigned i = 0; i < ka->count; i++)
        ka->facts[i] = read_fact(ka, t, &ka->kernel->accesses[i]);
    return ka;
}

const char *access_unclear(const struct kernel_access *ka)
{
    return ka->text->unclear;
}

/* ---- printing ------------------------------------------------------------------------------- */

unsigned access_line(const struct kernel_access *ka, size_t offset)
{
    unsigned line = ka->kernel->text_at.line;
    for (size_t i = 0; i < offset; i++)
        line += ka->kernel->text[i] == '\n';
    return line;
}

static void print_loop(const struct kernel_access *ka, int loop, struct text *out)
{
    const struct ctext *t = ka->text;
    int counter = t->loops[loop].counter;
    if (counter == CTEXT_NONE) {
        text_add(out, "loop");
        return;
    }
    text_add(out, "for ");
    text_add_bytes(out, t->text + t->tokens[counter].begin,
                   t->tokens[counter].end - t->tokens[counter].begin);
}

static void print_loops(const struct kernel_access *ka, int loop, struct text *out)
{
    if (loop == CTEXT_NONE)
        return;
    print_loops(ka, ka->text->loops[loop].parent, out);
    text_add(out, " in ");
    print_loop(ka, loop, out);
}

static void print_index(const struct kernel_access *ka, const struct access_index *x,
                        struct text *out)
{
    const struct kernel *k = ka->kernel;
    switch (x->kind) {
    case ACCESS_ANY:
        text_add(out, "?");
        return;
    case ACCESS_CONSTANT:
        text_add(out, "%lld", (long long)x->constant);
        return;
    case ACCESS_THREAD:
        text_add(out, "%s",
                 ka->fun->names[x->number < k->rank ? k->indices[x->number] : k->item].text);
        break;
    case ACCESS_NAME:
        text_add(out, "scalar %s", ka->fun->names[x->name].text);
        break;
    case ACCESS_COUNTER:
        print_loop(ka, (int)x->number, out);
        break;
    }
    if (x->constant)
        text_add(out, x->constant < 0 ? " - %lld" : " + %lld",
                 (long long)(x->constant < 0 ? -x->constant : x->constant));
}

void access_print(const struct kernel_access *ka, struct text *out)
{
    text_add(out, "kernel %s\n", ka->kernel->name);
    if (access_unclear(ka))
        text_add(out, "%3u unclear: %s\n", access_line(ka, ka->text->unclear_at),
                 access_unclear(ka));
    for (unsigned i = 0; i < ka->count; i++) {
        const struct access_fact *f = &ka->facts[i];
        text_add(out, "%3u %-6s %s[", access_line(ka, f->access->begin),
                 f->read && f->written ? "update"
                 : f->written          ? "write"
                                       : "read",
                 ka->fun->names[f->access->array].text);
        for (unsigned d = 0; d < f->access->rank; d++) {
            text_add(out, d ? ", " : "");
            print_index(ka, &f->index[d], out);
        }
        text_add(out, "]");
        print_loops(ka, f->loop, out);
        text_add(out, "\n");
    }
}
