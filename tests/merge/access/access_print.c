#include "tests/merge/access/access_print.h"

#include "merge/access/access_text.h"

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
    case ACCESS_SUM: /* regions alone have it */
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

bool access_spelt_same_place(void *context, int out, int killed)
{
    const struct fun *fun = context;
    const struct name *a = &fun->names[out], *b = &fun->names[killed];
    if (a->rank != b->rank || a->thread_rank || b->thread_rank || a->local || b->local ||
        !a->index.offset != !b->index.offset)
        return false;
    bool same = !a->index.offset || expr_equal(a->index.offset, b->index.offset);
    for (unsigned d = 0; same && d < a->rank; d++)
        same = expr_equal(a->shape[d], b->shape[d]) &&
               (!a->index.offset || expr_equal(a->index.stride[d], b->index.stride[d]));
    return same;
}
