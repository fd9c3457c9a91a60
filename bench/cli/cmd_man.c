/* The manual page, made of the same tables as the help. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/commands.h"
#include "record/facts/context.h"
#include "base/tree.h"

/* ---- roff ------------------------------------------------------------------------------------ */

/* The code point of the UTF-8 at *text, which is moved behind it. */
static unsigned code_point(const char **text)
{
    const unsigned char *c = (const unsigned char *)*text;
    const unsigned length = *c < 0x80 ? 1 : *c < 0xE0 ? 2 : *c < 0xF0 ? 3 : 4;
    unsigned point = length == 1 ? *c : *c & (0x7Fu >> length);
    for (unsigned i = 1; i < length && c[i]; i++)
        point = point << 6 | (c[i] & 0x3F);
    *text += length;
    return point;
}

/* Text that roff takes literally; `at_line_start` guards what would be a request there. */
static void add_text(struct text *page, const char *text, size_t length, bool at_line_start)
{
    const char *end = text + length;
    if (at_line_start && length && (*text == '.' || *text == '\''))
        text_add(page, "\\&");
    while (text < end) {
        const unsigned point = code_point(&text);
        if (point == '\\')
            text_add(page, "\\e");
        else if (point == '-')
            text_add(page, "\\-");
        else if (point < 0x80)
            text_add(page, "%c", (int)point);
        else
            text_add(page, "\\[u%04X]", point);
    }
}

static void add_line(struct text *page, const char *text)
{
    add_text(page, text, strlen(text), true);
    text_add(page, "\n");
}

/* Notes are written for a terminal. A paragraph flows, unless its lines are set by hand: then the
 * second or a later one begins with blanks. */
static bool is_set_by_hand(const char *paragraph, const char *end)
{
    for (const char *line = paragraph; line < end; line += strcspn(line, "\n") + 1)
        if (*line == ' ')
            return true;
    return false;
}

static void add_notes(struct text *page, const char *notes)
{
    while (*notes) {
        const char *end = strstr(notes, "\n\n");
        end = end ? end + 1 : notes + strlen(notes);
        const bool by_hand = is_set_by_hand(notes, end);
        text_add(page, ".PP\n%s", by_hand ? ".nf\n" : "");
        for (const char *line = notes; line < end;) {
            const size_t length = strcspn(line, "\n");
            add_text(page, line, length, true);
            text_add(page, "\n");
            line += length + 1;
        }
        text_add(page, "%s", by_hand ? ".fi\n" : "");
        notes = end + strspn(end, "\n");
    }
}

/* ---- the page -------------------------------------------------------------------------------- */

static void add_flag(struct text *page, const struct flag *flag)
{
    text_add(page, ".TP\n");
    if (flag->letter)
        text_add(page, "\\fB\\-%c\\fR, ", flag->letter);
    text_add(page, "\\fB\\-\\-");
    add_text(page, flag->name, strlen(flag->name), false);
    text_add(page, "\\fR");
    if (flag->value) {
        text_add(page, " \\fI");
        add_text(page, flag->value, strlen(flag->value), false);
        text_add(page, "\\fR");
    }
    text_add(page, "\n");
    add_text(page, flag->help, strlen(flag->help), true);
    if (flag->choices) {
        text_add(page, ": ");
        add_text(page, flag->choices, strlen(flag->choices), false);
    }
    if (flag->fallback) {
        text_add(page, " [");
        add_text(page, flag->fallback, strlen(flag->fallback), false);
        text_add(page, "]");
    }
    text_add(page, "\n");
}

static void add_command(struct text *page, const struct command *command)
{
    text_add(page, ".SS \"gamut %s%s%s%s\"\n", command->name, *command->arguments ? " " : "",
             command->arguments, command->flags->name ? " [flags]" : "");
    add_line(page, command->summary);
    for (const struct flag *f = command->flags; f->name; f++)
        add_flag(page, f);
    if (command->notes)
        add_notes(page, command->notes);
}

static void add_head(struct text *page)
{
    json_t *tool = context_tool();
    text_add(page,
             ".\\\" Made by: gamut man\n.TH GAMUT 1 \"\" \"gamut %s\" \"User Commands\"\n"
             ".SH NAME\ngamut \\- benchmark memory strategies of GPU programs\n"
             ".SH SYNOPSIS\n.B gamut\n.I command\n.RI [ flags ]\n.RI [ arguments ]\n",
             tree_get_text(tool, "version"));
    json_decref(tool);
    text_add(page, ".SH DESCRIPTION\n");
    add_line(page, commands_summary);
    text_add(page,
             ".PP\nData goes to stdout, everything else to stderr. Flags can stand anywhere\n"
             "behind the command; what follows\n.B \\-\\-\nis an argument. A default stands in\n"
             "brackets.\n");
}

static void add_environment(struct text *page)
{
    char variable[64];
    text_add(page,
             ".SH ENVIRONMENT\nEach flag can be set in the environment too,\n.B \\-\\-min\\-time\n"
             "as\n.BR %s ;\nthe flag wins.\n",
             flags_variable(variable, "min-time"));
    text_add(page,
             ".TP\n.B CC\nthe compiler of the host device, for programs that are not built in\n"
             ".TP\n.B CUDA_PATH\nwhere NVRTC is looked for: the folder of a CUDA toolkit\n");
}

static int run(const struct command_line *line)
{
    struct text page = {0};
    size_t count;
    const struct command *const *commands = commands_all(&count);
    (void)line;
    add_head(&page);
    text_add(&page, ".SH COMMANDS\n");
    for (size_t i = 0; i < count; i++)
        add_command(&page, commands[i]);
    text_add(&page, ".SH EXIT STATUS\n");
#define X(name, code, sentence) text_add(&page, ".TP\n.B %d\n%s\n", code, sentence);
    EXIT_CODE_LIST(X)
#undef X
    add_environment(&page);
    text_add(&page,
             ".SH FILES\n.TP\n.I results/MACHINE/TIME\\-REVISION.json\na result file\n"
             ".TP\n.I share/gamut/plots\nbeside the folder of the binary: the scripts of the "
             "charts\n.SH SEE ALSO\n.BR gnuplot (1)\n");
    fputs(page.data, stdout);
    text_free(&page);
    return EXIT_OK;
}

static const struct flag flags[] = {{NULL, 0, FLAG_SWITCH, NULL, NULL, NULL, 0, 0, NULL}};

const struct command command_man = {
    .name = "man",
    .summary = "print the manual page, as man reads it: gamut man | man -l -",
    .arguments = "",
    .flags = flags,
    .run = run,
};
