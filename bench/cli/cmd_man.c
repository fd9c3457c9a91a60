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

static void add_head(struct text *page)
{
    /* The date of the source, so that two builds of one revision have the same manual. */
    text_add(page,
             ".\\\" Made by: gamut man\n.TH GAMUT 1 \"%s\" \"gamut %s\" \"User Commands\"\n"
             ".SH NAME\ngamut \\- benchmark memory strategies of GPU programs\n"
             ".SH SYNOPSIS\n.B gamut\n.I command\n.RI [ flags ]\n.RI [ arguments ]\n"
             ".SH DESCRIPTION\n",
             GAMUT_SOURCE_DATE, context_tool().version);
    add_text(page, commands_summary);
    text_add(page, "\n.PP\n");
    add_text(page, commands_trust);
    text_add(page, "\n.PP\n"
                   "Data goes to stdout, everything else to stderr. Flags can stand anywhere\n"
                   "after the command; what follows\n.B \\-\\-\nis an argument. A default stands\n"
                   "in brackets.\n.SH COMMANDS\n");
}

static void add_tail(struct text *page, const struct command_line *line)
{
    char variable[64];
    text_add(page, ".SH EXIT STATUS\n");
#define X(name, code, sentence) text_add(page, ".TP\n.B %d\n%s\n", code, sentence);
    EXIT_CODE_LIST(X)
#undef X
    text_add(page,
             ".SH ENVIRONMENT\nThe environment sets flags too,\n.B \\-\\-min\\-time\n"
             "as\n.BR %s ;\nthe flag wins.\n"
             ".TP\n.B CC\nthe compiler of the host device, for programs that are not built in\n"
             ".TP\n.B CUDA_PATH\nthe folder of a CUDA toolkit, in which NVRTC is looked for\n"
             ".SH FILES\n.TP\n.I results/MACHINE/TIME\\-REVISION.json\na result file\n"
             ".TP\n.I share/gamut/plots\nnext to the folder of the binary: the scripts of the "
             "charts\n",
             flags_variable(variable, "min-time"));
    text_add(page, ".SH EXAMPLES\n");
    struct text examples = {0};
    for (size_t i = 0; i < line->command_count; i++)
        command_add_examples(&examples, line->commands[i]->name);
    add_block(page, &examples);
    text_add(page, ".SH SEE ALSO\n.BR clinfo (1),\n.BR gnuplot (1),\n.BR hyperfine (1),\n"
                   ".BR nvidia\\-smi (1)\n"
                   ".PP\nThe source has pages on numbers, terms and findings in\n.I docs\n"
                   "and on the language of programs in\n.IR bench/program/README.md .\n");
}

static int man_command(const struct command_line *line)
{
    struct text page = {0};
    add_head(&page);
    for (size_t i = 0; i < line->command_count; i++)
        add_command(&page, line->commands[i]);
    add_tail(&page, line);
    fputs(page.data, stdout);
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
