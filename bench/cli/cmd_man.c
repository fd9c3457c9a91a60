/* The manual page, made of the same tables as the help. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/commands.h"
#include "results/facts/context.h"

/* Adds text that roff takes literally; man itself reads the UTF-8. */
static void add_text(struct text *page, const char *text)
{
    bool at_line_start = page->length && page->data[page->length - 1] == '\n';
    for (; *text; text++) {
        const bool is_request = at_line_start && (*text == '.' || *text == '\'');
        at_line_start = *text == '\n';
        text_add(page, "%s%s%c", is_request ? "\\&" : "",
                 *text == '-'    ? "\\"
                 : *text == '\\' ? "\\e"
                                 : "",
                 *text);
    }
}

static void add_flag(struct text *page, const struct flag *flag)
{
    text_add(page, ".TP\n");
    if (flag->letter)
        text_add(page, "\\fB\\-%c\\fR, ", flag->letter);
    text_add(page, "\\fB\\-\\-");
    add_text(page, flag->name);
    text_add(page, "\\fR \\fI");
    add_text(page, flag_value_name(flag) ? flag_value_name(flag) : "");
    text_add(page, "\\fR\n");
    add_text(page, flag->help);
    add_text(page, flag->choices ? ": " : "");
    add_text(page, flag->choices ? flag->choices : "");
    add_text(page, flag->fallback ? " [" : "");
    add_text(page, flag->fallback ? flag->fallback : "");
    text_add(page, flag->fallback ? "]\n" : "\n");
}

/* Adds what is set by hand for a terminal. */
static void add_block(struct text *page, struct text *block)
{
    text_add(page, ".PP\n.nf\n");
    add_text(page, block->data);
    text_add(page, ".fi\n");
    text_free(block);
}

static void add_command(struct text *page, const struct command *command)
{
    text_add(page, ".SS \"gamut %s%s%s%s\"\n", command->name, *command->arguments ? " " : "",
             command->arguments, command->flags->name ? " [flags]" : "");
    add_text(page, command->summary);
    text_add(page, "\n");
    for (const struct flag *f = command->flags; f->name; f++)
        add_flag(page, f);
    struct text notes = {0};
    command_add_notes(&notes, command->name);
    if (notes.length)
        add_block(page, &notes);
}

extern const char kernel_text_man[]; /* man.roff: the page, in which %s are the parts made here */

static int man_command(const struct command_line *line)
{
    struct text about = {0}, commands = {0}, codes = {0}, all = {0}, examples = {0}, page = {0};
    add_text(&about, commands_summary);
    text_add(&about, "\n.PP\n");
    add_text(&about, commands_trust);
    for (size_t i = 0; i < line->command_count; i++) {
        add_command(&commands, line->commands[i]);
        command_add_examples(&all, line->commands[i]->name);
    }
#define X(name, code, sentence) text_add(&codes, ".TP\n.B %d\n%s\n", code, sentence);
    EXIT_CODE_LIST(X)
#undef X
    add_block(&examples, &all);
    /* The date of the source, so that two builds of one revision have the same manual. */
    text_add(&page, kernel_text_man, GAMUT_SOURCE_DATE, context_tool().version, about.data,
             commands.data, codes.data, examples.data);
    fwrite(page.data, 1, page.length - 1, stdout); /* an embedded text has a newline more */
    text_free(&about);
    text_free(&commands);
    text_free(&codes);
    text_free(&examples);
    text_free(&page);
    return EXIT_OK;
}

const struct command command_man = {
    .name = "man",
    .summary = "print the manual page, as man reads it: gamut man | man -l -",
    .arguments = "",
    .flags = flags_none,
    .run = man_command,
};
