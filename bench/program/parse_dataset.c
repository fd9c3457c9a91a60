/* Datasets: values by name, for the parameters and the results of the funs of the file. */
#include <string.h>

#include "program/names.h"
#include "program/parser.h"

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
        if (value.count == capacity) {
            capacity = capacity ? capacity * 2 : 8;
            struct literal *grown = arena_alloc(&p->program->arena, capacity * sizeof *grown);
            if (value.count)
                memcpy(grown, value.items, value.count * sizeof *grown);
            value.items = grown;
        }
        struct literal item = parse_literal(p);
        if (value.count && !item.scalar != !value.items[0].scalar)
            parser_fail(p, item.at, "a list holds either numbers or lists, not both");
        if (value.count && !item.scalar && item.count != value.items[0].count)
            parser_fail(p, item.at, "this list has %u items, those before it have %u", item.count,
                        value.items[0].count);
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
        if (*count == capacity) {
            capacity = capacity ? capacity * 2 : 8;
            struct setting *grown = arena_alloc(&p->program->arena, capacity * sizeof *grown);
            if (*count)
                memcpy(grown, *settings, *count * sizeof *grown);
            *settings = grown;
        }
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

void parse_dataset(struct parser *p, struct dataset *dataset)
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
