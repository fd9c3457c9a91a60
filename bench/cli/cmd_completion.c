/* Completion of command lines in a shell. A short script for each shell asks `gamut completion
 * words -- COMMAND BEFORE TYPED` which words may be typed. The answers come from the tables of
 * commands and flags and from the built-in names, so nothing is listed twice. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "base/tree.h"
#include "cli/commands.h"
#include "device/device.h"
#include "run/select/select.h"

/* ---- lists of names -------------------------------------------------------------------------- */

/* A flag, or in capitals an argument or a value, with the topic of gamut list that has its
 * names. */
static const struct list {
    const char *one, *topic;
    bool has_all; /* "all" stands for each of them */
} lists[] = {
    {"workload", "workloads", true},
    {"dataset", "datasets", true},
    {"strategy", "strategies", true},
    {"merge", "merges", true},
    {"residency", "residencies", true},
    {"suite", "suites", false},
    {"experiment", "experiments", false},
    {"metric", "metrics", false},
    {"chart", "charts", true},
    {"atlas", "atlases", false},
    {"release", NULL, true},
    {"device", NULL, true},
    {"command", NULL, false},
};
enum { LISTS = sizeof lists / sizeof *lists };

/* The list that `name` is one of; NULL: none. */
static const struct list *find_list(const char *name, size_t length)
{
    for (int i = 0; i < LISTS; i++)
        if (strlen(lists[i].one) == length && strncasecmp(lists[i].one, name, length) == 0)
            return &lists[i];
    return NULL;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* The first line of an answer. It says how the shell uses the words in the lines below it. */
enum answer_kind { KIND_WORDS, KIND_LIST, KIND_FILE, KIND_TRACE, KIND_FOLDER };
static const char *const kind_names[] = {"words", "list", "file", "trace", "folder"};

struct completions {
    enum answer_kind kind;
    const char *typed; /* the word as far as it is typed */
    size_t kept;       /* bytes of it before the part that is completed */
    const struct command_line *line;
    struct text lines; /* each line: a word, a tab and its help */
};

/* Offers a word of `bytes` bytes, and `end` behind it, if it begins with the part that is typed. */
static void offer_with(struct completions *a, const char *word, size_t bytes, const char *end,
                       const char *help)
{
    const char *part = a->typed + a->kept;
    struct text line = {0};
    if (strlen(part) > bytes || strncmp(word, part, strlen(part)) != 0)
        return;
    text_add(&line, "%.*s%.*s%s\t%s\n", (int)a->kept, a->typed, (int)bytes, word, end, help);
    if (!a->lines.data || !strstr(a->lines.data, line.data)) /* datasets have the same names */
        text_add(&a->lines, "%s", line.data);
    text_free(&line);
}

static void offer(struct completions *a, const char *word, size_t bytes, const char *help)
{
    offer_with(a, word, bytes, "", help);
}

/* What is typed of the last of the items that `stop` parts is completed. */
static void keep_to(struct completions *a, const char *stop)
{
    for (size_t n; (n = text_span(a->typed + a->kept, stop), a->typed[a->kept + n]);)
        a->kept += n + 1;
}

/* Offers the names in a list of gamut list. */
static void offer_names(struct completions *a, const json_t *names)
{
    const char *name = json_is_string(names) ? json_string_value(names)
                                             : json_string_value(json_object_get(names, "name"));
    size_t i;
    json_t *each;
    if (name)
        offer(a, name, strlen(name), "");
    else if (json_is_object(names))
        offer_names(a,
                    json_object_get(names, json_object_get(names, "sets") ? "sets" : "datasets"));
    json_array_foreach((json_t *)names, i, each) offer_names(a, each);
}

/* Names the APIs of devices without looking for devices: a driver takes too long to start. */
static void offer_devices(struct completions *a)
{
    size_t count;
    const struct device_ops *const *apis = device_api_list(&count);
    offer(a, "best", 4, "");
    for (size_t i = 0; i < count; i++)
        offer(a, apis[i]->name, strlen(apis[i]->name), "");
}

/* The words of PyTorch's variable, in "conf={word:value,word:value}". */
static void offer_conf(struct completions *a)
{
    json_t *root = tree_object();
    const json_t *word;
    size_t i;
    a->kept += strlen("conf=") + (a->typed[a->kept + strlen("conf=")] == '{');
    keep_to(a, ",");
    if (list_topic("conf", root, NULL) == 0)
        json_array_foreach(json_object_get(root, "conf"), i, word)
            offer_with(a, tree_get_text(word, "name"), strlen(tree_get_text(word, "name")), ":",
                       tree_get_text(word, "summary"));
    json_decref(root);
}

/* Offers options and their values for the item "NAME:option=value:option=value" of a list. */
static void offer_options(struct completions *a, const json_t *items, const json_t *common)
{
    const char *name = a->typed + a->kept;
    const size_t length = strcspn(name, ":");
    const json_t *item, *option, *options[2] = {NULL, common};
    size_t i;
    json_array_foreach(items, i, item)
    {
        const char *of = tree_get_text(item, "name");
        if (strncmp(of, name, length) == 0 && !of[length])
            options[0] = json_object_get(item, "options");
    }
    a->kept += length + 1;
    keep_to(a, ":");
    if (options[0] && strncmp(a->typed + a->kept, "conf=", 5) == 0) {
        offer_conf(a);
        return;
    }
    const char *typed = a->typed + a->kept;
    const size_t value = strcspn(typed, "=");
    for (size_t l = 0; options[0] && l < 2; l++)
        json_array_foreach(options[l], i, option)
        {
            const char *of = tree_get_text(option, "name");
            const json_t *choice;
            size_t c;
            if (!typed[value])
                offer_with(a, of, strlen(of), "=", tree_get_text(option, "help"));
            if (!typed[value] || strncmp(of, typed, value) != 0 || of[value])
                continue;
            a->kept += value + 1;
            keep_to(a, "|");
            json_array_foreach(json_object_get(option, "choices"), c, choice)
                offer(a, json_string_value(choice), json_string_length(choice), "");
            return;
        }
}

/* `help`: of the flag; the words that it takes in addition to the names are in it. */
static void offer_list(struct completions *a, const struct list *list, const char *help)
{
    static const char *const words[] = {"recorded", "advised"};
    json_t *root = tree_object();
    const bool is_known = list->topic && list_topic(list->topic, root, NULL) == 0;
    const json_t *items = is_known ? json_object_get(root, list->topic) : NULL;
    if (a->kind == KIND_LIST)
        keep_to(a, ",");
    const bool has_options = json_object_get(json_array_get(items, 0), "options");
    if (has_options && strchr(a->typed + a->kept, ':')) {
        a->kind = KIND_LIST;
        offer_options(a, items, json_object_get(root, "options_of_every_strategy"));
        json_decref(root);
        return;
    }
    if (items)
        offer_names(a, items);
    for (size_t i = 0; strcmp(list->one, "strategy") == 0 && i < sizeof words / sizeof *words; i++)
        if (strstr(help, words[i]))
            offer(a, words[i], strlen(words[i]), "");
    json_decref(root);
    if (strcmp(list->one, "device") == 0)
        offer_devices(a);
    for (size_t i = 0; strcmp(list->one, "release") == 0 && release_policies[i].name; i++)
        offer(a, release_policies[i].name, strlen(release_policies[i].name), "");
    for (size_t i = 0; strcmp(list->one, "command") == 0 && i < a->line->command_count; i++)
        offer(a, a->line->commands[i]->name, strlen(a->line->commands[i]->name), "");
    if (list->has_all && a->kind == KIND_LIST)
        offer(a, "all", 3, "");
}

/* Offers the values of a flag: its choices, the names of the list with the name of the flag or its
 * value (METRIC:LIMIT), files or folders. For numbers and new names it offers nothing. */
static void answer_value(struct completions *a, const struct flag *flag)
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
    const struct list *list = find_list(flag->name, strlen(flag->name));
    list = list ? list : find_list(value, length);
    a->kind = flag->type == FLAG_LIST ? KIND_LIST : KIND_WORDS;
    if (list)
        offer_list(a, list, flag->help);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (strlen(files[i]) == length && strncmp(files[i], value, length) == 0)
            a->kind = KIND_FILE;
    for (size_t i = 0; i < sizeof folders / sizeof *folders && !list; i++)
        if (strlen(folders[i]) == length && strncmp(folders[i], value, length) == 0)
            a->kind = KIND_FOLDER;
}

/* Offers the arguments of a command. "[a | b]" are words, "WORKLOAD" is a list, other capitals
 * (FILE, BASE, NEW) are files. The user makes up "size=value", and "--by" is a flag. */
static void answer_argument(struct completions *a, const struct command *command)
{
    for (const char *at = command->arguments; *at; at += strspn(at, "[]|. ")) {
        const size_t length = strcspn(at, "[]|. ");
        const struct list *list = find_list(at, length);
        if (list)
            offer_list(a, list, "");
        else if (length && islower((unsigned char)*at) && !memchr(at, '=', length))
            offer(a, at, length, "");
        else if (length && isupper((unsigned char)*at))
            a->kind =
                strncmp(at, "TRACE", length) == 0 || a->kind == KIND_TRACE ? KIND_TRACE : KIND_FILE;
        at += length;
    }
}

static void answer_flag(struct completions *a, const struct command *command)
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

static void answer(struct completions *a, const char *command, const char *before)
{
    for (size_t i = 0; i < a->line->command_count; i++) {
        const struct command *c = a->line->commands[i];
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

/* ---- scripts --------------------------------------------------------------------------------- */

/* scripts/completion/ */
extern const char kernel_text_completion_bash[], kernel_text_completion_zsh[];

static int completion_command(const struct command_line *line)
{
    const char *shell = line->positional[0];
    struct error error = {0};
    if (strcmp(shell, "words") == 0 && line->positional_count == 4) {
        struct completions a = {.typed = line->positional[3], .line = line};
        answer(&a, line->positional[1], line->positional[2]);
        printf("%s\n%s", kind_names[a.kind], a.lines.data ? a.lines.data : "");
        text_free(&a.lines);
    } else if (strcmp(shell, "bash") == 0 && line->positional_count == 1)
        fputs(kernel_text_completion_bash, stdout);
    else if (strcmp(shell, "zsh") == 0 && line->positional_count == 1)
        fputs(kernel_text_completion_zsh, stdout);
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
    .run = completion_command,
};
