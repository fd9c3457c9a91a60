#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "base/tree.h"
#include "cli/cmd_compare.h"
#include "cli/commands.h"
#include "record/compare/history.h"
#include "record/result/result.h"
#include "report/history_page.h"

enum history_flag {
    HISTORY_METRIC,
    HISTORY_WORKLOAD,
    HISTORY_STRATEGY,
    HISTORY_DEVICE,
    HISTORY_THRESHOLD,
    HISTORY_ALPHA,
    HISTORY_ORDER,
    HISTORY_SHOW,
    HISTORY_FORMAT,
    HISTORY_OUT,
    HISTORY_OVER,
    HISTORY_SCRIPTS,
    HISTORY_STRICT,
    HISTORY_FORCE,
};

enum history_order { ORDER_AUTO, ORDER_TIME };

/* clang-format off */
static const struct flag flags[] = {
    [HISTORY_METRIC] = {"metric", 0, FLAG_LIST, "METRIC", "wall_ns,peak_reserved_bytes", NULL, 0, 0,
        "the metrics, * and ? allowed"},
    [HISTORY_WORKLOAD] = {"workload", 'w', FLAG_LIST, "LIST", "*", NULL, 0, 0,
        "only cases of these workloads, * and ? allowed"},
    [HISTORY_STRATEGY] = {"strategy", 's', FLAG_LIST, "LIST", "*", NULL, 0, 0,
        "only cases of these strategies, with their options, * and ? allowed"},
    [HISTORY_DEVICE] = {"device", 'D', FLAG_LIST, "LIST", "*", NULL, 0, 0,
        "only cases of these devices, * and ? allowed"},
    [HISTORY_THRESHOLD] = {"threshold", 't', FLAG_TEXT, "PART", "2%", NULL, 0, 0,
        "the largest change of a time that does not matter"},
    [HISTORY_ALPHA] = {"alpha", 0, FLAG_TEXT, "P", "0.05", NULL, 0, 0,
        "the probability of one false step of a time or more between two neighbouring runs"},
    [HISTORY_ORDER] = {"order", 0, FLAG_CHOICE, "ORDER", "auto", "auto|time", 0, 0,
        "auto: of the commits if git knows all revisions, else of the runs' times"},
    [HISTORY_SHOW] = {"show", 0, FLAG_CHOICE, "WHAT", "changed", "all|changed|worst", 0, 0,
        "which series are printed; worst: worse or failing since the newest run"},
    [HISTORY_FORMAT] = {"format", 'f', FLAG_CHOICE, "FORMAT", "table", "table|md|csv|json|jsonl", 0, 0,
        "how the history is printed; csv and jsonl have a line a result of a series"},
    [HISTORY_OUT] = {"out", 'o', FLAG_TEXT, "DIR", NULL, NULL, 0, 0,
        "also make a page in this folder, with charts; an older page in it is replaced"},
    [HISTORY_OVER] = {"force", 0, FLAG_SWITCH, NULL, NULL, NULL, 0, 0,
        "write into a folder that holds other files too"},
    [HISTORY_SCRIPTS] = {"scripts", 0, FLAG_TEXT, "DIR", NULL, NULL, 0, 0,
        "the folder of the gnuplot scripts [those of this build]"},
    [HISTORY_STRICT] = {"strict", 0, FLAG_SWITCH, NULL, NULL, NULL, 0, 0,
        "exit 5 where the newest run is unsure in a gated metric, or a file was left out"},
    [HISTORY_FORCE] = {"force-compare", 0, FLAG_SWITCH, NULL, NULL, NULL, 0, 0,
        "join what has the same names, although device, driver, machine, program or data differ"},
    {NULL, 0, FLAG_SWITCH, NULL, NULL, NULL, 0, 0, NULL},
};
/* clang-format on */

/* ---- the commits ---------------------------------------------------------------------------- */

/* The time of a revision's commit by the git history of this folder, in seconds; -1: unknown. The
 * revision stands in a stranger's file: only hexadecimal digits reach the command. */
static int64_t commit_time(const char *rev)
{
    char command[160];
    const size_t length = strspn(rev, "0123456789abcdef");
    int64_t seconds = -1;
    if (length < 7 || length > 64 || rev[length])
        return -1;
    snprintf(command, sizeof command,
             "git rev-list --no-walk --timestamp --ignore-missing %s 2>/dev/null", rev);
    FILE *git = popen(command, "r");
    if (!git)
        return -1;
    if (fscanf(git, "%" SCNd64, &seconds) != 1)
        seconds = -1;
    pclose(git);
    return seconds;
}

/* ---- the files ------------------------------------------------------------------------------ */

struct files {
    const struct command_line *line;
    struct history *history;
    size_t added;
};

static void add_result(struct files *files, json_t *root, const char *path)
{
    const json_t *tool = json_object_get(json_object_get(root, "context"), "tool");
    const bool by_time = files->line->flag[HISTORY_ORDER].number == ORDER_TIME;
    result_summarise(root);
    history_add(files->history, root, path,
                by_time ? -1 : commit_time(tree_get_text(tool, "git_rev")));
    files->added++;
}

static bool is_result_name(const char *name)
{
    const size_t length = strlen(name);
    return (length > 5 && strcmp(name + length - 5, ".json") == 0) ||
           (length > 8 && strcmp(name + length - 8, ".json.gz") == 0);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* In a folder may be files that are not gamut's: they are left out, by their names. */
static void add_found(struct files *files, const char *path)
{
    struct error error = {0};
    json_t *root;
    if (result_load(path, &root, &error) == 0) {
        add_result(files, root, path);
        json_decref(root);
    } else {
        history_leave_out(files->history, path, error.text);
    }
}

/* Folders in folders that are looked into: a link may lead back. */
enum { DEPTH_MOST = 8 };

/* Adds what is in a folder and in the folders in it. */
static int add_folder(struct files *files, const char *folder, size_t depth, struct error *error)
{
    struct dirent **entry;
    const int count = scandir(folder, &entry, NULL, by_name);
    int code = 0;
    if (count < 0)
        return error_set(error, ERR_IO, "the folder %s could not be read: %s", folder,
                         strerror(errno));
    for (int i = 0; i < count; i++) {
        struct text path = {0};
        struct stat status;
        text_add(&path, "%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/",
                 entry[i]->d_name);
        if (entry[i]->d_name[0] != '.' && code == 0 && stat(path.data, &status) == 0) {
            if (S_ISDIR(status.st_mode))
                code = depth < DEPTH_MOST ? add_folder(files, path.data, depth + 1, error) : 0;
            else if (S_ISREG(status.st_mode) && is_result_name(entry[i]->d_name))
                add_found(files, path.data);
        }
        text_free(&path);
        free(entry[i]);
    }
    free(entry);
    return code;
}

/* A file that the user named must be a result: a history without it would look like a whole one. */
static int add_path(struct files *files, const char *path, struct error *error)
{
    struct stat status;
    json_t *root;
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
        const size_t before = files->added;
        const int code = add_folder(files, path, 0, error);
        if (code == 0 && files->added == before)
            return error_set(error, ERR_NOT_FOUND,
                             "the folder %s has no result file: gamut run --out %s/NAME.json makes "
                             "one",
                             path, path);
        return code;
    }
    const int code = result_load(path, &root, error);
    if (code == 0)
        add_result(files, root, path);
    json_decref(root);
    return code;
}

/* ---- the command ---------------------------------------------------------------------------- */

static int read_options(const struct command_line *line, struct history_options *options,
                        struct error *error)
{
    options->workloads = line->flag[HISTORY_WORKLOAD].text;
    options->strategies = line->flag[HISTORY_STRATEGY].text;
    options->devices = line->flag[HISTORY_DEVICE].text;
    options->compare.force = line->flag[HISTORY_FORCE].number;
    int code = compare_read_limits(line->flag[HISTORY_THRESHOLD].text,
                                   line->flag[HISTORY_ALPHA].text, &options->compare, error);
    if (code)
        return code;
    options->compare.gates = gates_default(options->compare.threshold);
    return compare_choose_metrics(line->flag[HISTORY_METRIC].text, options->compare.leave_out,
                                  error);
}

static int make_page(const struct command_line *line, json_t *tree, struct error *error)
{
    struct text scripts = {0};
    if (!line->flag[HISTORY_OUT].text)
        return 0;
    if (line->flag[HISTORY_SCRIPTS].text)
        text_add(&scripts, "%s", line->flag[HISTORY_SCRIPTS].text);
    else
        text_own_folder(&scripts, "plots");
    const struct history_page_options options = {
        .history = tree,
        .out = line->flag[HISTORY_OUT].text,
        .scripts = scripts.data,
        .force = line->flag[HISTORY_OVER].number,
    };
    const int code = history_page_make(&options, error);
    if (code == 0)
        fprintf(stderr, "gamut: wrote %s/index.html\n", options.out);
    text_free(&scripts);
    return code;
}

static int history_command(const struct command_line *line)
{
    struct history_options options = {0};
    struct error error = {0};
    int code = read_options(line, &options, &error);
    if (code)
        return report_error(&error);
    struct files files = {line, history_new(&options), 0};
    for (size_t i = 0; i < line->positional_count && code == 0; i++)
        code = add_path(&files, line->positional[i], &error);
    json_t *tree = code ? NULL : history_tree(files.history);
    if (code == 0)
        code = make_page(line, tree, &error);
    if (code == 0)
        code = history_print(tree, (enum table_format)line->flag[HISTORY_FORMAT].number,
                             (enum compare_show)line->flag[HISTORY_SHOW].number, stdout, &error);
    const int exit_code = code ? report_error(&error)
                               : (int)compare_exit_code(tree, line->flag[HISTORY_STRICT].number);
    json_decref(tree);
    history_free(files.history);
    return exit_code;
}

const struct command command_history = {
    .name = "history",
    .summary = "show how metrics changed over commits and machines, and where they stepped",
    .arguments = "FILES...|DIR...",
    .least_positionals = 1,
    .most_positionals = POSITIONALS_MAX,
    .flags = flags,
    .notes = "Results that gamut compare would compare form a series: the same case, program,\n"
             "data and device, and for times the same machine, driver and kind of build.\n"
             "\n"
             "A time has a step where it changed and stayed so: by a rank test of the rounds,\n"
             "by more than the threshold and the noise floors, and by more than the spread of\n"
             "the runs explains (from four runs on). One run that is off between others that\n"
             "agree is an outlier. A counter has a step wherever it changes. A step is printed\n"
             "as a range of commits that git log takes. A run that failed has no value.\n"
             "\n"
             "Of a folder, files that are no results are left out and named; a FILE that is\n"
             "none is an error. A run that stands in two files counts once. gamut plot draws\n"
             "what --format json prints.\n"
             "\n"
             "Exit codes, by the newest run of each machine: 0 no gated metric is worse since\n"
             "it, 1 one is, 2 a file cannot be read or an argument is wrong, 3 a case fails\n"
             "since it, 4 no series has two results, 5 (with --strict) unsure or left out. The\n"
             "gated metrics are those of gamut compare. An older step is shown and fails\n"
             "nothing.\n",
    .run = history_command,
};
