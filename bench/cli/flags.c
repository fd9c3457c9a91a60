/* Parses command lines and the environment by the tables of flags, and prints help from them. */
#include "cli/flags.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "cli/commands.h"
#include "results/show/text_grid.h"

const struct flag flags_none[1] = {FLAGS_END};

static size_t flag_count(const struct flag *flags)
{
    size_t n = 0;
    while (flags[n].name)
        n++;
    return n;
}

const char *flag_value_name(const struct flag *flag)
{
    static const char *const names[] = {
        [FLAG_TEXT] = "FILE",  [FLAG_LIST] = "LIST", [FLAG_COUNT] = "N",
        [FLAG_BYTES] = "SIZE", [FLAG_TIME] = "TIME", [FLAG_CHOICE] = "WORD"};
    return flag->value ? flag->value : names[flag->type];
}

/* The number of flags where there is none of this name. */
static size_t flag_index(const struct flag *flags, const char *name)
{
    size_t i = 0;
    while (flags[i].name && strcmp(flags[i].name, name) != 0)
        i++;
    return i;
}

bool flag_exists(const struct command_line *line, const char *name)
{
    return line->command->flags[flag_index(line->command->flags, name)].name;
}

const struct flag_value *flag_of(const struct command_line *line, const char *name)
{
    if (!flag_exists(line, name)) {
        fprintf(stderr, "gamut: %s has no flag --%s\n", line->command->name, name);
        abort();
    }
    return &line->flag[flag_index(line->command->flags, name)];
}

int flags_exclude(const struct command_line *line, const char *name, const char *others,
                  struct error *error)
{
    char other[32];
    while (flag_is_given(line, name) && text_next_item(&others, other, sizeof other))
        if (flag_is_given(line, other))
            return error_set(error, ERR_USAGE, "--%s and --%s exclude each other", name, other);
    return 0;
}

int flags_refuse(const struct command_line *line, const char *names, const char *why,
                 struct error *error)
{
    char name[32];
    while (text_next_item(&names, name, sizeof name))
        if (flag_is_typed(line, name))
            return error_set(error, ERR_USAGE, "--%s %s", name, why);
    return 0;
}

static const char *flag_name(void *flags, size_t i)
{
    return ((const struct flag *)flags)[i].name;
}

/* The environment variable of a flag: "GAMUT_MEM_LIMIT" for "mem-limit". */
static char *variable_of(char out[64], const char *name)
{
    size_t n = (size_t)snprintf(out, 64, "GAMUT_%s", name);
    for (size_t i = 6; i < n && i < 63; i++)
        out[i] = out[i] == '-' ? '_' : (char)toupper((unsigned char)out[i]);
    return out;
}

/* "; other commands have it: replay, advise" */
static void add_owners(struct text *out, const struct command_line *line, const char *name)
{
    unsigned owners = 0;
    for (size_t i = 0; i < line->command_count; i++)
        for (const struct flag *f = line->commands[i]->flags; f && f->name; f++)
            if (strcmp(f->name, name) == 0)
                text_add(out, owners++ ? ", %s" : "; other commands have it: %s",
                         line->commands[i]->name);
}

static int unknown_flag(const struct command_line *line, const struct command *command,
                        const char *word, struct error *error)
{
    struct text known = {0};
    for (const struct flag *f = command->flags; f->name; f++)
        text_add(&known, "--%s ", f->name);
    text_add(&known, "--help");
    const char *name = word + strspn(word, "-");
    add_owners(&known, line, name);
    int nearest = text_nearest(name, flag_name, (void *)command->flags);
    int code = error_set(error, ERR_USAGE, "%s: there is no flag %s%s%s%s; there are: %s",
                         command->name, word, nearest >= 0 ? " (did you mean --" : "",
                         nearest >= 0 ? command->flags[nearest].name : "", nearest >= 0 ? "?)" : "",
                         known.data);
    text_free(&known);
    return code;
}

static int set_flag(struct command_line *line, size_t i, const char *where, const char *text,
                    struct error *error)
{
    const struct flag *flag = &line->command->flags[i];
    struct flag_value *value = &line->flag[i];
    const struct option_spec spec = {.name = flag->name,
                                     .type = flag->type == FLAG_BYTES  ? OPTION_BYTES
                                             : flag->type == FLAG_TIME ? OPTION_TIME
                                             : flag->choices           ? OPTION_CHOICE
                                                                       : OPTION_COUNT,
                                     .choices = flag->choices,
                                     .least = flag->least,
                                     .most = flag->most};
    if ((flag->type == FLAG_TEXT || flag->type == FLAG_LIST) && !*text)
        return error_set(error, ERR_USAGE,
                         "%s is empty, expected %s: is a variable of a script not set?", where,
                         flag_value_name(flag));
    if (flag->type == FLAG_SWITCH) {
        if (strcmp(text, "1") != 0 && strcmp(text, "0") != 0)
            return error_set(error, ERR_USAGE, "%s is '%s', expected 1 or 0", where, text);
        value->number = text[0] == '1';
    } else if (flag->type == FLAG_LIST && value->given) {
        text = arena_printf(&line->arena, "%s,%s", value->text, text);
    } else if (flag->type != FLAG_LIST && flag->type != FLAG_TEXT) {
        TRY(option_value(&spec, where, text, &value->number, error));
    }
    value->text = text;
    return 0;
}

int flags_set(struct command_line *line, size_t i, const char *where, const char *text,
              struct error *error)
{
    int code = set_flag(line, i, where, text, error);
    line->flag[i].given = true;
    return code;
}

static int read_word(struct command_line *line, int argc, char **argv, int *at, struct error *error)
{
    const struct command *command = line->command;
    char *word = argv[*at];
    bool is_long = word[1] == '-';
    size_t length = is_long ? strcspn(word + 2, "=") : 1;
    const char *value = is_long ? word + 2 + length : word + 2;
    size_t i = 0, count = flag_count(command->flags);
    while (i < count && (is_long ? strlen(command->flags[i].name) != length ||
                                       strncmp(command->flags[i].name, word + 2, length) != 0
                                 : command->flags[i].letter != word[1]))
        i++;
    if (i == count) {
        if (is_long)
            word[2 + length] = 0;
        return unknown_flag(line, command, word, error);
    }
    char where[80];
    snprintf(where, sizeof where, "--%s", command->flags[i].name);
    bool has_value = *value != 0;
    if (is_long && has_value)
        value++;
    if (command->flags[i].type == FLAG_SWITCH)
        return has_value ? error_set(error, ERR_USAGE, "%s takes no value", where)
                         : flags_set(line, i, where, "1", error);
    if (!has_value && ++*at == argc)
        return error_set(error, ERR_USAGE, "%s needs a value: %s", where,
                         flag_value_name(&command->flags[i]));
    return flags_set(line, i, where, has_value ? value : argv[*at], error);
}

static int read_words(struct command_line *line, int argc, char **argv, struct error *error)
{
    const struct command *command = line->command;
    bool only_positionals = false;
    for (int at = 0; at < argc; at++) {
        const char *word = argv[at];
        if (!only_positionals && strcmp(word, "--") == 0) {
            only_positionals = true;
        } else if (command->takes_program && (only_positionals || word[0] != '-')) {
            line->program = argv + at;
            return 0;
        } else if (!only_positionals && word[0] == '-' && word[1]) {
            TRY(read_word(line, argc, argv, &at, error));
        } else if (line->positional_count == command->most_positionals) {
            return error_set(error, ERR_USAGE, "%s: '%s' is one argument too many", command->name,
                             word);
        } else {
            line->positional =
                arena_grow(&line->arena, line->positional, (unsigned)line->positional_count,
                           &line->positional_capacity, sizeof *line->positional);
            line->positional[line->positional_count++] = word;
        }
    }
    if (line->positional_count < command->least_positionals || command->takes_program)
        return error_set(error, ERR_USAGE, "%s needs %s; see gamut %s --help", command->name,
                         command->arguments, command->name);
    return 0;
}

int flags_parse(const struct command *command, int argc, char **argv, struct command_line *line,
                struct error *error)
{
    line->command = command;
    size_t count = flag_count(command->flags);
    for (size_t i = 0; i < count; i++) {
        const struct flag *flag = &command->flags[i];
        if (flag->fallback && set_flag(line, i, flag->name, flag->fallback, error))
            return ERR_USAGE;
    }
    TRY(read_words(line, argc, argv, error));
    for (size_t i = 0; i < count; i++) {
        char variable[64];
        const char *text = getenv(variable_of(variable, command->flags[i].name));
        if (line->flag[i].given || !text || !*text)
            continue;
        TRY(flags_set(line, i, variable, text, error));
        line->flag[i].in_environment = true;
    }
    return 0;
}

/* A section of help.txt begins with "== " and the commands that it speaks of. Its examples follow
 * its notes and a line that says so. */
static void add_part(struct text *out, const char *command, bool examples)
{
    static const char heading[] = "\nexamples:\n";
    extern const char kernel_text_help[];
    const size_t length = strlen(command);
    for (const char *at = kernel_text_help, *end; (at = strstr(at, "== ")); at = end) {
        const char *notes = strchr(at, '\n') + 1, *name = at + 2;
        end = strstr(notes - 1, "\n== ");
        end = end ? end + 1 : strchr(notes, '\0');
        while (*name == ' ' &&
               (strncmp(name + 1, command, length) != 0 || isalpha(name[length + 1])))
            name += 1 + strcspn(name + 1, " \n");
        const char *split = strstr(notes - 1, heading);
        const bool has = split && split < end;
        const char *notes_end = has ? split : end;
        if (*name == ' ' && !examples && notes_end > notes)
            text_add(out, "%s%.*s", out->length ? "\n" : "", (int)(notes_end - notes), notes);
        else if (*name == ' ' && examples && has)
            text_add(out, "%.*s", (int)(end - split - (int)sizeof heading + 1),
                     split + sizeof heading - 1);
    }
}

void command_add_notes(struct text *out, const char *command)
{
    add_part(out, command, false);
}

void command_add_examples(struct text *out, const char *command)
{
    add_part(out, command, true);
}

void flags_help(const struct command *command, FILE *out)
{
    struct text_grid grid = text_grid_of("flag|~help");
    struct terminal_page page;
    terminal_page_open(&page, out);
    out = page.out;
    grid.indent = 2;
    grid.no_titles = true;
    fprintf(out, "%s\n\nusage: gamut %s%s%s%s%s\n", command->summary, command->name,
            command->takes_program ? " [flags]" : "", *command->arguments ? " " : "",
            command->arguments, command->flags->name && !command->takes_program ? " [flags]" : "");
    if (command->flags->name)
        fputs("\nflags:\n", out);
    for (const struct flag *f = command->flags; f->name; f++) {
        text_grid_add_row(&grid);
        const char *value = flag_value_name(f);
        text_grid_add(&grid, f->letter ? "-%c, --%s%s%s" : "%c   --%s%s%s",
                      f->letter ? f->letter : ' ', f->name, value ? " " : "", value ? value : "");
        text_grid_add(&grid, "%s%s%s%s%s%s", f->help, f->choices ? ": " : "",
                      f->choices ? f->choices : "", f->fallback ? " [" : "",
                      f->fallback ? f->fallback : "", f->fallback ? "]" : "");
    }
    text_grid_print(&grid, TABLE_TEXT, &page.terminal, out);
    text_grid_free(&grid);
    if (command->flags->name) {
        char variable[64];
        fprintf(out,
                "\nThe environment sets flags too, --%s as %s; the flag wins.\n"
                "A list that is given twice grows; of another flag the last value counts.\n",
                command->flags->name, variable_of(variable, command->flags->name));
    }
    struct text notes = {0}, examples = {0};
    command_add_notes(&notes, command->name);
    command_add_examples(&examples, command->name);
    if (notes.length)
        fprintf(out, "\n%s", notes.data);
    if (examples.length)
        fprintf(out, "\nexamples:\n%s", examples.data);
    text_free(&notes);
    text_free(&examples);
    terminal_page_close(&page);
}

int report_error(const struct error *error)
{
    terminal_print(stderr, "gamut: %s\n", error->text);
    return EXIT_INPUT;
}
