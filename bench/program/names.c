/* Names by text: an open-addressing table of numbers into fun->names. */
#include "program/parser.h"

#include <stdlib.h>
#include <string.h>

struct name_table {
    int *slots;    /* number + 1; 0 is empty */
    unsigned size; /* a power of two, at most half full */
    unsigned name_capacity;
};

const char *space_name(enum space space)
{
#define SPACE_TEXT(name, text, sentence) [SPACE_##name] = text,
    static const char *const names[] = {SPACE_LIST(SPACE_TEXT)};
    return names[space];
}

unsigned kernel_thread_rank(const struct kernel *kernel)
{
    return kernel->rank + (kernel->item != NO_NAME);
}

struct name_table *names_new(void)
{
    struct name_table *t = must_alloc(sizeof *t);
    t->size = 64;
    t->slots = must_alloc(t->size * sizeof *t->slots);
    return t;
}

void names_free(struct fun *fun)
{
    if (fun->table)
        free(fun->table->slots);
    free(fun->table);
    free(fun->names);
}

void names_clone(struct fun *fun)
{
    const struct name_table *from = fun->table;
    struct name_table *to = must_alloc(sizeof *to);
    *to = *from;
    to->slots = must_alloc(to->size * sizeof *to->slots);
    memcpy(to->slots, from->slots, to->size * sizeof *to->slots);
    const struct name *names = fun->names;
    fun->names = must_alloc((to->name_capacity + 1) * sizeof *fun->names);
    if (fun->name_count)
        memcpy(fun->names, names, fun->name_count * sizeof *names);
    fun->table = to;
}

static unsigned hash(const char *text, size_t length)
{
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        h = (h ^ (unsigned char)text[i]) * 0x100000001b3u;
    return (unsigned)(h ^ (h >> 32));
}

/* The slot that holds the name, or the empty one where it would go. */
static int *find_slot(const struct fun *fun, const char *text, size_t length)
{
    struct name_table *t = fun->table;
    for (unsigned i = hash(text, length);; i++) {
        int *slot = &t->slots[i & (t->size - 1)];
        if (!*slot)
            return slot;
        const char *other = fun->names[*slot - 1].text;
        if (strlen(other) == length && memcmp(other, text, length) == 0)
            return slot;
    }
}

int fun_find(const struct fun *fun, const char *text, size_t length)
{
    return *find_slot(fun, text, length) - 1;
}

static void fill_slots(struct fun *fun)
{
    memset(fun->table->slots, 0, fun->table->size * sizeof *fun->table->slots);
    for (unsigned i = 0; i < fun->name_count; i++)
        *find_slot(fun, fun->names[i].text, strlen(fun->names[i].text)) = (int)i + 1;
}

static void grow(struct fun *fun)
{
    struct name_table *t = fun->table;
    free(t->slots);
    t->size *= 2;
    t->slots = must_alloc(t->size * sizeof *t->slots);
    fill_slots(fun);
}

/* The text, followed by digits if it is taken and may not be bound again. */
static const char *free_text(struct program *program, const struct fun *fun, const char *text,
                             bool scoped)
{
    const char *unique = arena_copy(&program->arena, text, strlen(text));
    unsigned digits = 1;
    for (int old; (old = fun_find(fun, unique, strlen(unique))) != NO_NAME;) {
        if (fun->names[old].scoped && scoped)
            break;
        unique = arena_printf(&program->arena, "%s_%u", text, digits++);
    }
    return unique;
}

void fun_rename(struct program *program, struct fun *fun, int name)
{
    fun->names[name].text = free_text(program, fun, fun->names[name].text, false);
    fill_slots(fun); /* in order: the last of the scoped names with one text is found */
}

int fun_add_name(struct program *program, struct fun *fun, const char *text,
                 const struct name *properties)
{
    const char *unique = free_text(program, fun, text, properties->scoped);
    struct name_table *t = fun->table;
    fun->names = must_grow(fun->names, fun->name_count, &t->name_capacity, sizeof *fun->names);
    int number = (int)fun->name_count;
    fun->names[number] = *properties;
    fun->names[number].text = unique;
    *find_slot(fun, unique, strlen(unique)) = number + 1;
    fun->name_count++;
    if (fun->name_count * 2 > t->size)
        grow(fun);
    return number;
}

bool name_is_reserved(const char *text)
{
    /* clang-format off */
    static const char *const words[] = {
        /* words of this language */
        "fun", "code", "dataset", "expect", "traffic", "let", "in", "assert", "mem", "alloc",
        "scratch", "iota", "replicate", "copy", "concat", "reshape", "rearrange", "with", "loop",
        "kernel", "private", "local", "group", "each", "min", "max", "sqrt", "exp", "log", "sin",
        "cos", "true", "false", "bool", "i8", "u8", "i32", "u32", "i64", "u64", "f32", "f64",
        /* words of C and of the dialects that kernels are compiled as */
        "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else",
        "enum", "extern", "float", "for", "goto", "if", "inline", "int", "long", "register",
        "restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch", "typedef",
        "union", "unsigned", "void", "volatile", "while", "half", "global", "constant", "image",
        "sampler", "event", "pipe", "uint", "uchar", "ushort", "ulong", "class", "new", "delete",
        "template", "this", "operator", "namespace", "using", "public", "protected", "asm", "main",
        "FN", "MIN", "MAX",
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(text, words[i]) == 0)
            return true;
    return strncmp(text, "gamut_", 6) == 0;
}
