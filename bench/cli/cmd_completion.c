/* Completion of command lines in a shell. A short script for each shell asks `gamut completion
 * words -- COMMAND BEFORE TYPED` which words may be typed. The answers come from the tables of
 * commands and flags and from the built-in names, so nothing is listed twice. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "alloc/registry.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/traces.h"
#include "device/device.h"
#include "experiment/experiment.h"
#include "merge/list.h"
#include "merge/merge.h"
#include "record/facts/counters.h"
#include "residency/residency.h"
#include "run/select/catalogue.h"
#include "run/select/select.h"
#include "run/select/suite.h"

/* ---- lists of names -------------------------------------------------------------------------- */

/* Each function returns the i-th name of a list, NULL after the last. */

static const char *workload_at(const struct catalogue *catalogue, size_t i)
{
    return i < catalogue->entry_count ? catalogue->entries[i].name : NULL;
}

static const char *dataset_at(const struct catalogue *catalogue, size_t i)
{
    for (size_t p = 0; p < catalogue->program_count; p++) {
        const struct program *program = catalogue->programs[p];
        if (i < program->dataset_count)
            return program->datasets[i].name;
        i -= program->dataset_count;
    }
    return NULL;
}

static const char *strategy_at(const struct catalogue *catalogue, size_t i)
{
    size_t count;
    const struct allocator_ops *const *ops = allocator_list(&count);
    (void)catalogue;
    return i < count ? ops[i]->name : NULL;
}

static const char *merge_at(const struct catalogue *catalogue, size_t i)
{
    (void)catalogue;
    return merge_sets[i].name;
}

static const char *release_at(const struct catalogue *catalogue, size_t i)
{
    (void)catalogue;
    return release_policies[i].name;
}

static const char *residency_at(const struct catalogue *catalogue, size_t i)
{
    size_t count;
    const struct residency_strategy *list = residency_list(&count);
    (void)catalogue;
    return i < count ? list[i].name : NULL;
}

static const char *suite_at(const struct catalogue *catalogue, size_t i)
{
    (void)catalogue;
    return builtin_suites[i].name;
}

static const char *experiment_at(const struct catalogue *catalogue, size_t i)
{
    size_t count;
    const struct experiment *const *all = experiment_list(&count);
    (void)catalogue;
    return i < count ? all[i]->name : NULL;
}

/* Names the APIs without looking for devices: a driver takes too long to start. */
static const char *device_at(const struct catalogue *catalogue, size_t i)
{
    size_t count;
    const struct device_ops *const *apis = device_api_list(&count);
    (void)catalogue;
    return i == 0 ? "best" : i <= count ? apis[i - 1]->name : NULL;
}

static const char *metric_at(const struct catalogue *catalogue, size_t i)
{
    size_t count;
    const struct counter_info *list = counter_list(&count);
    (void)catalogue;
    return i < count ? list[i].name : NULL;
}

static const char *command_at(const struct catalogue *catalogue, size_t i)
{
    static const char *const names[] = {
#define X(name) #name,
        COMMAND_LIST(X)
#undef X
    };
    (void)catalogue;
    return i < sizeof names / sizeof *names ? names[i] : NULL;
}

static const struct {
    const char *one; /* name of a flag; in capitals, of an argument or a value */
    bool has_all;    /* "all" stands for each of them */
    const char *(*name)(const struct catalogue *catalogue, size_t i);
} lists[] = {
    {"workload", true, workload_at},      {"dataset", true, dataset_at},
    {"strategy", true, strategy_at},      {"merge", true, merge_at},
    {"release", true, release_at},        {"residency", true, residency_at},
    {"suite", false, suite_at},           {"device", true, device_at},
    {"experiment", false, experiment_at}, {"metric", false, metric_at},
    {"command", false, command_at},
};
enum { LISTS = sizeof lists / sizeof *lists };

/* The list that `name` is one of, or -1. */
static int find_list(const char *name, size_t length)
{
    for (int i = 0; i < LISTS; i++)
        if (strlen(lists[i].one) == length && strncasecmp(lists[i].one, name, length) == 0)
            return i;
    return -1;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* The first line of an answer. It says how the shell uses the words in the lines below it. */
enum answer_kind { KIND_WORDS, KIND_LIST, KIND_FILE, KIND_FOLDER };
static const char *const kind_names[] = {"words", "list", "file", "folder"};

struct answer {
    enum answer_kind kind;
    const char *typed; /* the word as far as it is typed */
    struct catalogue catalogue;
    struct text lines; /* each line: a word, a tab and its help */
};

/* Offers a word of `bytes` bytes if it begins with the typed text, of which the last part of a list
 * counts. */
static void offer(struct answer *a, const char *word, size_t bytes, const char *help)
{
    const char *comma = a->kind == KIND_LIST ? strrchr(a->typed, ',') : NULL;
    const char *part = comma ? comma + 1 : a->typed;
    struct text line = {0};
    if (strlen(part) > bytes || strncmp(word, part, strlen(part)) != 0)
        return;
    text_add(&line, "%.*s%.*s\t%s\n", (int)(part - a->typed), a->typed, (int)bytes, word, help);
    if (!a->lines.data || !strstr(a->lines.data, line.data)) /* datasets have the same names */
        text_add(&a->lines, "%s", line.data);
    text_free(&line);
}

static void offer_list(struct answer *a, int list)
{
    const char *name;
    for (size_t i = 0; (name = lists[list].name(&a->catalogue, i)); i++)
        offer(a, name, strlen(name), "");
    if (lists[list].name == suite_at) {
        struct traces suites;
        traces_suites(&suites);
        for (unsigned i = 0; i < suites.count; i++)
            offer(a, suites.paths[i], strlen(suites.paths[i]), "");
        traces_free(&suites);
    }
    if (lists[list].has_all && a->kind == KIND_LIST)
        offer(a, "all", 3, "");
}

/* Offers the values of a flag: its choices, the names of the list with the name of the flag or its
 * value (METRIC:LIMIT), files or folders. For numbers and new names it offers nothing. */
static void answer_value(struct answer *a, const struct flag *flag)
{
    static const char *const folders[] = {"DIR", "RESULTS"}, *const files[] = {"FILE", "RESULT",
                                                                               "BASE"};
    const char *value = flag_value_name(flag);
    const size_t length = strcspn(value, ".:=[ "); /* "FILE" of "FILE.csv" */
    for (const char *choice = flag->choices; choice && *choice;) {
        const size_t bytes = strcspn(choice, "|");
        offer(a, choice, bytes, "");
        choice += bytes + (choice[bytes] == '|');
    }
    if (flag->type != FLAG_TEXT && flag->type != FLAG_LIST)
        return;
    int list = find_list(flag->name, strlen(flag->name));
    list = list < 0 ? find_list(value, length) : list;
    a->kind = flag->type == FLAG_LIST ? KIND_LIST : KIND_WORDS;
    if (list >= 0)
        offer_list(a, list);
    for (size_t i = 0; i < sizeof files / sizeof *files && list < 0; i++)
        if (strlen(files[i]) == length && strncmp(files[i], value, length) == 0)
            a->kind = KIND_FILE;
    for (size_t i = 0; i < sizeof folders / sizeof *folders && list < 0; i++)
        if (strlen(folders[i]) == length && strncmp(folders[i], value, length) == 0)
            a->kind = KIND_FOLDER;
}

/* Offers the arguments of a command. "[a | b]" are words, "WORKLOAD" is a list, other capitals (FILE,
 * BASE, NEW) are files. The user makes up "size=value", and "--by" is a flag. */
static void answer_argument(struct answer *a, const struct command *command)
{
    for (const char *at = command->arguments; *at; at += strspn(at, "[]|. ")) {
        const size_t length = strcspn(at, "[]|. ");
        const int list = find_list(at, length);
        if (list >= 0)
            offer_list(a, list);
        else if (length && islower((unsigned char)*at) && !memchr(at, '=', length))
            offer(a, at, length, "");
        else if (length && isupper((unsigned char)*at))
            a->kind = KIND_FILE;
        at += length;
    }
}

static void answer_flag(struct answer *a, const struct command *command)
{
    char name[64];
    for (const struct flag *f = command->flags; f->name; f++) {
        const int bytes = snprintf(name, sizeof name, "--%s", f->name);
        offer(a, name, (size_t)bytes, f->help);
    }
    offer(a, "--help", 6, "say more");
}

/* The flag with a value that `word` is: "--format", "-f"; NULL if it is none. */
static const struct flag *find_flag(const struct command *command, const char *word)
{
    for (const struct flag *f = command->flags; f->name; f++)
        if (f->type != FLAG_SWITCH && word[0] == '-' &&
            (word[1] == '-' ? strcmp(word + 2, f->name) == 0
                            : word[1] && word[1] == f->letter && !word[2]))
            return f;
    return NULL;
}

static void answer(struct answer *a, const struct command_line *line, const char *command,
                   const char *before)
{
    for (size_t i = 0; i < line->command_count; i++) {
        const struct command *c = line->commands[i];
        if (!*command)
            offer(a, c->name, strlen(c->name), c->summary);
        if (strcmp(command, c->name) != 0)
            continue;
        if (find_flag(c, before))
            answer_value(a, find_flag(c, before));
        else if (a->typed[0] == '-')
            answer_flag(a, c);
        else
            answer_argument(a, c);
    }
    if (!*command) {
        offer(a, "--help", 6, "say more");
        offer(a, "--version", 9, "name the build");
    }
}

static int print_answer(const struct command_line *line)
{
    struct error error = {0};
    struct answer a = {.typed = line->positional[3]};
    if (catalogue_open(&a.catalogue, &error))
        return report_error(&error);
    answer(&a, line, line->positional[1], line->positional[2]);
    printf("%s\n%s", kind_names[a.kind], a.lines.data ? a.lines.data : "");
    text_free(&a.lines);
    catalogue_close(&a.catalogue);
    return EXIT_OK;
}

/* ---- scripts --------------------------------------------------------------------------------- */

/* bash makes three words of --flag=value. Where no word fits, it offers files, but not for a value
 * that is no file. */
static const char bash_script[] =
    "# bash completion of gamut, made by: gamut completion bash\n"
    "_gamut() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    local command=${COMP_WORDS[1]} answer\n"
    "    if [[ $cur == = ]]; then\n"
    "        cur=\n"
    "    elif [[ $before == = ]]; then\n"
    "        before=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "    fi\n"
    "    ((COMP_CWORD > 1)) || command= before=\n"
    "    mapfile -t answer < <(gamut completion words -- \"$command\" \"$before\" \"$cur\" "
    "2>/dev/null)\n"
    "    COMPREPLY=(\"${answer[@]:1}\")\n"
    "    COMPREPLY=(\"${COMPREPLY[@]%%$'\\t'*}\")\n"
    "    case ${answer[0]} in\n"
    "    words) compopt +o default 2>/dev/null ;;\n"
    "    list) compopt +o default -o nospace 2>/dev/null ;;\n"
    "    file | folder)\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        [[ ${answer[0]} == file ]] && kind=-f || kind=-d\n"
    "        mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen $kind -- \"$cur\")\n"
    "        ;;\n"
    "    esac\n"
    "}\n"
    "complete -o bashdefault -o default -F _gamut gamut\n";

static const char zsh_script[] =
    "#compdef gamut\n"
    "# zsh completion of gamut, made by: gamut completion zsh\n"
    "_gamut() {\n"
    "    local cur=$words[CURRENT] before=$words[CURRENT-1] command=$words[2]\n"
    "    local -a answer found told\n"
    "    (( CURRENT > 2 )) || command= before=\n"
    "    if [[ $cur == --*=* ]]; then\n"
    "        before=${cur%%=*} cur=${cur#*=}\n"
    "        compset -P '*='\n"
    "    fi\n"
    "    answer=(\"${(@f)$(gamut completion words -- \"$command\" \"$before\" \"$cur\" "
    "2>/dev/null)}\")\n"
    "    found=(${answer[2,-1]%%$'\\t'*}) told=(${answer[2,-1]/$'\\t'/  })\n"
    "    case $answer[1] in\n"
    "    list) compadd -S '' -d told -a found ;;\n"
    "    *) compadd -d told -a found ;;\n"
    "    esac\n"
    "    case $answer[1] in\n"
    "    file) _files ;;\n"
    "    folder) _files -/ ;;\n"
    "    esac\n"
    "}\n"
    "_gamut \"$@\"\n";

static int completion_command(const struct command_line *line)
{
    const char *shell = line->positional[0];
    struct error error = {0};
    if (strcmp(shell, "words") == 0 && line->positional_count == 4)
        return print_answer(line);
    if (strcmp(shell, "bash") == 0 && line->positional_count == 1)
        fputs(bash_script, stdout);
    else if (strcmp(shell, "zsh") == 0 && line->positional_count == 1)
        fputs(zsh_script, stdout);
    else {
        error_set(&error, ERR_USAGE, "there is no completion for '%s'; there are: bash zsh", shell);
        return report_error(&error);
    }
    return EXIT_OK;
}

const struct command command_completion = {
    .name = "completion",
    .summary = "print a script that completes gamut's command lines in a shell",
    .arguments = "bash|zsh",
    .least_positionals = 1,
    .most_positionals = 4,
    .flags = flags_none,
    .notes = "For one session of bash: source <(gamut completion bash). make install puts\n"
             "the scripts where the shells look for them. The scripts call the gamut that\n"
             "is found in PATH.\n",
    .run = completion_command,
};
