#include "run/select/catalogue.h"

#include <stdlib.h>
#include <string.h>

static void add_program(struct catalogue *c, struct program *program, const struct builtin *builtin)
{
    c->programs = must_realloc(c->programs, (c->program_count + 1) * sizeof *c->programs);
    c->programs[c->program_count++] = program;
    c->entries =
        must_realloc(c->entries, (c->entry_count + program->fun_count) * sizeof *c->entries);
    for (unsigned f = 0; f < program->fun_count; f++)
        c->entries[c->entry_count++] = (struct entry){.name = program->funs[f].name,
                                                      .program = program,
                                                      .fun = &program->funs[f],
                                                      .builtin = builtin};
}

int catalogue_open(struct catalogue *c, struct error *error)
{
    *c = (struct catalogue){0};
    for (const struct builtin *b = builtin_list; b->name; b++) {
        struct program *program;
        int code = program_read(b->path, b->text, strlen(b->text), &program, error);
        if (code) {
            catalogue_close(c);
            return error_set(error, ERR_INTERNAL, "the built-in program %s does not parse",
                             b->path);
        }
        add_program(c, program, b);
    }
    return 0;
}

int catalogue_add_file(struct catalogue *c, const char *path, struct error *error)
{
    struct text text = {0};
    int code = text_read_file(&text, path, error);
    struct program *program = NULL;
    THEN(code, program_read(path, text.data, text.length, &program, error));
    text_free(&text);
    TRY(code);
    for (unsigned f = 0; f < program->fun_count && !code; f++)
        for (size_t i = 0; i < c->entry_count && !code; i++)
            if (strcmp(c->entries[i].name, program->funs[f].name) == 0)
                code = program_error(program, error, ERR_PARSE, program->funs[f].at,
                                     "there is already a workload '%s'", c->entries[i].name);
    if (code)
        program_free(program);
    else
        add_program(c, program, NULL);
    return code;
}

/* ---- what a program says of itself ----------------------------------------------------------- */

static const char *next_line(const char *line)
{
    const char *end = strchr(line, '\n');
    return end ? end + 1 : line + strlen(line);
}

static bool is_comment(const char *line)
{
    return strncmp(line, "--", 2) == 0;
}

/* The comment that ends above the line with this number, from 1; its first line. */
static const char *comment_above(const char *text, unsigned number)
{
    const char *line = text, *comment = NULL;
    for (unsigned i = 1; i < number && *line; i++, line = next_line(line))
        comment = !is_comment(line) ? NULL : comment ? comment : line;
    return comment;
}

/* Adds the comment up to the full stop of its first sentence, or to its first empty line. */
static void add_sentence(struct text *out, const char *comment)
{
    bool is_whole = false;
    for (const char *line = comment; is_comment(line) && !is_whole; line = next_line(line)) {
        const char *words = line + 2 + strspn(line + 2, " ");
        const size_t length = strcspn(words, "\n");
        size_t end = 0;
        while (end < length && !is_whole) {
            is_whole = words[end] == '.' && (end + 1 == length || words[end + 1] == ' ');
            end++;
        }
        is_whole |= length == 0;
        if (length)
            text_add(out, "%s%.*s", out->length ? " " : "", (int)end, words);
    }
}

void catalogue_about(const struct entry *entry, struct text *about)
{
    const char *text = entry->program->text;
    const char *above = comment_above(text, entry->fun->at.line);
    if (is_comment(text))
        add_sentence(about, text);
    if (above && above != text && (entry->program->fun_count > 1 || !is_comment(text)))
        add_sentence(about, above);
}

void catalogue_close(struct catalogue *c)
{
    for (size_t i = 0; i < c->program_count; i++)
        program_free(c->programs[i]);
    free(c->programs);
    free(c->entries);
    *c = (struct catalogue){0};
}
