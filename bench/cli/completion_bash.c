#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/words.h"

/* What is the same for all commands. Where no word fits, bash offers files. It makes three words of
 * --flag=value, and the colons of a value words of their own, which a name of ours has none of. */
static const char helpers[] =
    "# bash completion of gamut, made by: gamut completion bash\n"
    "_gamut_words() {\n"
    "    COMPREPLY=($(compgen -W \"$1\" -- \"$cur\"))\n"
    "}\n"
    "_gamut_list() { # the part behind the last comma\n"
    "    local before=${cur%\"${cur##*,}\"}\n"
    "    COMPREPLY=($(compgen -P \"$before\" -W \"$1\" -- \"${cur##*,}\"))\n"
    "    compopt -o nospace 2>/dev/null\n"
    "}\n"
    "_gamut_files() {\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    mapfile -t COMPREPLY < <(compgen \"$1\" -- \"$cur\")\n"
    "}\n";

static const char function_head[] =
    "_gamut() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    local command=${COMP_WORDS[1]}\n"
    "    COMPREPLY=()\n"
    "    if [[ $cur == = ]]; then\n"
    "        cur=\n"
    "    elif [[ $before == = ]]; then\n"
    "        before=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "    fi\n";

static void add_values(struct text *script, enum word_kind kind, const struct text *words)
{
    switch (kind) {
    case WORDS_NONE:
        text_add(script, "compopt +o default 2>/dev/null");
        break;
    case WORDS_ONE_OF:
        text_add(script, "_gamut_words \"%s\"", words->data);
        break;
    case WORDS_LIST_OF:
        text_add(script, "_gamut_list \"%s\"", words->data);
        break;
    case WORDS_FILE:
        text_add(script, "_gamut_files -f");
        break;
    case WORDS_FOLDER:
        text_add(script, "_gamut_files -d");
        break;
    }
}

static int add_flag(struct text *script, const struct command *command, const struct flag *flag,
                    struct error *error)
{
    struct text words = {0};
    enum word_kind kind;
    int code = words_of_flag(flag, &kind, &words, error);
    text_add(script, "    %s:--%s", command->name, flag->name);
    if (flag->letter)
        text_add(script, " | %s:-%c", command->name, flag->letter);
    text_add(script, ") ");
    add_values(script, kind, &words);
    text_add(script, "; return ;;\n");
    text_free(&words);
    return code;
}

static int add_arguments(struct text *script, const struct command *command, struct error *error)
{
    struct text words = {0};
    enum word_kind kind;
    int code = words_of_arguments(command, &kind, &words, error);
    text_add(script, "    %s) ", command->name);
    if (kind == WORDS_FILE && words.length) {
        text_add(script, "_gamut_files -f; COMPREPLY+=($(compgen -W \"%s\" -- \"$cur\"))",
                 words.data);
    } else {
        add_values(script, kind, &words);
    }
    text_add(script, " ;;\n");
    text_free(&words);
    return code;
}

int completion_bash(struct text *script, struct error *error)
{
    size_t count;
    const struct command *const *commands = commands_all(&count);
    int code = 0;
    text_add(script, "%s%s    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        _gamut_words \"", helpers,
             function_head);
    for (size_t i = 0; i < count; i++)
        text_add(script, "%s ", commands[i]->name);
    text_add(script, "--help --version\"\n        return\n    fi\n    case $command:$before in\n");
    for (size_t i = 0; i < count; i++)
        for (const struct flag *f = commands[i]->flags; f->name && !code; f++)
            if (f->type != FLAG_SWITCH)
                code = add_flag(script, commands[i], f, error);
    text_add(script, "    esac\n    case $command:$cur in\n");
    for (size_t i = 0; i < count; i++) {
        text_add(script, "    %s:-*) _gamut_words \"", commands[i]->name);
        for (const struct flag *f = commands[i]->flags; f->name; f++)
            text_add(script, "--%s ", f->name);
        text_add(script, "--help\"; return ;;\n");
    }
    text_add(script, "    esac\n    case $command in\n");
    for (size_t i = 0; i < count && !code; i++)
        code = add_arguments(script, commands[i], error);
    text_add(script, "    esac\n}\ncomplete -o bashdefault -o default -F _gamut gamut\n");
    return code;
}
