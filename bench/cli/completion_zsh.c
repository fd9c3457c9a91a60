#include <string.h>

#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/words.h"

/* Inside single quotes; `special` are characters that _arguments and _describe would take as their
 * own. */
static void add_quoted(struct text *script, const char *text, const char *special)
{
    for (; *text; text++) {
        if (*text == '\'')
            text_add(script, "'\\''");
        else if (strchr(special, *text))
            text_add(script, "\\%c", *text);
        else
            text_add(script, "%c", *text);
    }
}

static void add_action(struct text *script, enum word_kind kind, const struct text *words)
{
    switch (kind) {
    case WORDS_NONE:
        text_add(script, " ");
        break;
    case WORDS_ONE_OF:
        text_add(script, "(%s)", words->data);
        break;
    case WORDS_LIST_OF:
        text_add(script, "_sequence compadd - %s", words->data);
        break;
    case WORDS_FILE:
        text_add(script, "_files");
        break;
    case WORDS_FOLDER:
        text_add(script, "_files -/");
        break;
    }
}

/* A list that is given again grows: "*" lets it stand more than once. */
static int add_flag(struct text *script, const struct flag *flag, struct error *error)
{
    const bool has_value = flag->type != FLAG_SWITCH, repeats = flag->type == FLAG_LIST;
    struct text words = {0};
    enum word_kind kind = WORDS_NONE;
    int code = has_value ? words_of_flag(flag, &kind, &words, error) : 0;
    text_add(script, " \\\n            ");
    if (repeats)
        text_add(script, "'*'");
    else if (flag->letter)
        text_add(script, "'(-%c --%s)'", flag->letter, flag->name);
    if (flag->letter)
        text_add(script, "{-%c%s,--%s%s}", flag->letter, has_value ? "+" : "", flag->name,
                 has_value ? "=" : "");
    else
        text_add(script, "--%s%s", flag->name, has_value ? "=" : "");
    text_add(script, "'[");
    add_quoted(script, flag->help, "[]:\\");
    text_add(script, "]");
    if (has_value) {
        text_add(script, ":");
        add_quoted(script, flag->value, ":\\");
        text_add(script, ":");
        add_action(script, kind, &words);
    }
    text_add(script, "'");
    text_free(&words);
    return code;
}

static int add_arguments(struct text *script, const struct command *command, struct error *error)
{
    struct text words = {0};
    enum word_kind kind;
    int code = words_of_arguments(command, &kind, &words, error);
    if (kind == WORDS_FILE && words.length)
        text_add(script, " \\\n            '*:argument:{ compadd - %s; _files }'", words.data);
    else if (kind != WORDS_NONE) {
        text_add(script, " \\\n            '*:argument:");
        add_action(script, kind, &words);
        text_add(script, "'");
    }
    text_free(&words);
    return code;
}

int completion_zsh(struct text *script, struct error *error)
{
    size_t count;
    const struct command *const *commands = commands_all(&count);
    int code = 0;
    text_add(script, "#compdef gamut\n"
                     "# zsh completion of gamut, made by: gamut completion zsh\n"
                     "_gamut() {\n"
                     "    local -a commands=(\n");
    for (size_t i = 0; i < count; i++) {
        text_add(script, "        '%s:", commands[i]->name);
        add_quoted(script, commands[i]->summary, "\\");
        text_add(script, "'\n");
    }
    text_add(script, "    )\n"
                     "    if (( CURRENT == 2 )); then\n"
                     "        _describe command commands\n"
                     "        compadd - --help --version\n"
                     "        return\n"
                     "    fi\n"
                     "    shift words\n"
                     "    (( CURRENT-- ))\n"
                     "    case $words[1] in\n");
    for (size_t i = 0; i < count && !code; i++) {
        text_add(script, "    %s)\n        _arguments", commands[i]->name);
        for (const struct flag *f = commands[i]->flags; f->name && !code; f++)
            code = add_flag(script, f, error);
        text_add(script, " \\\n            '(- *)--help[say more]'");
        if (!code)
            code = add_arguments(script, commands[i], error);
        text_add(script, "\n        ;;\n");
    }
    text_add(script, "    esac\n}\n_gamut \"$@\"\n");
    return code;
}
