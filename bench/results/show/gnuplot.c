#include "results/show/gnuplot.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/terminal.h"

/* ---- texts ---- */

/* Adds the text on one line, without anything that could end a text of gnuplot: quotes become
 * those of print, because gnuplot 5.4 does not read every quote that is doubled as one. '?' stands
 * for what a terminal does not show. */
static void add_plain(struct text *out, const char *text)
{
    const char *const end = text + strlen(text);
    while (text < end) {
        const size_t length = terminal_shown(text, (size_t)(end - text));
        if (*text == '\n' || *text == '\t')
            text_add(out, " ");
        else if (*text == '\'' || *text == '"' || *text == '`')
            text_add(out, *text == '\'' ? "’" : *text == '"' ? "”" : "‘");
        else if (length)
            text_add_bytes(out, text, length);
        else
            text_add(out, "?");
        text += length ? length : 1;
    }
}

/* ---- data ---- */

void gnuplot_comment(FILE *out, const char *format, ...)
{
    struct text plain = {0};
    char *line;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&line, format, arguments) >= 0) {
        add_plain(&plain, line);
        fprintf(out, "# %s\n", plain.data ? plain.data : "");
        free(line);
    }
    va_end(arguments);
    text_free(&plain);
}

/* gnuplot reads a backslash in such a text as the beginning of an escape. */
void gnuplot_data_text(const char *text, FILE *out)
{
    struct text plain = {0};
    add_plain(&plain, text);
    fputs(" \"", out);
    for (size_t i = 0; i < plain.length; i++)
        fprintf(out, plain.data[i] == '\\' ? "\\\\" : "%c", plain.data[i]);
    fputc('"', out);
    text_free(&plain);
}

void gnuplot_data(double value, FILE *out)
{
    if (isfinite(value))
        fprintf(out, " %.12g", value);
    else
        fputs(" NaN", out);
}

bool gnuplot_status(const struct result_case *cell, double value, FILE *out)
{
    if (!isnan(value)) {
        fputs(" ok", out);
    } else if (!cell || cell->status == CASE_ok) {
        fputs(" n/a", out);
    } else {
        fputc(' ', out);
        for (const char *status = case_status_name(cell->status); *status; status++)
            fputc(toupper((unsigned char)*status), out);
    }
    return !isnan(value);
}

/* ---- variables ---- */

void gnuplot_variable(struct text *out, const char *name, const char *text)
{
    struct text plain = {0};
    add_plain(&plain, text);
    gnuplot_words(out, name, &plain);
    text_free(&plain);
}

void gnuplot_word(struct text *words, const char *word)
{
    text_add(words, words->length ? " \"" : "\"");
    add_plain(words, word);
    text_add(words, "\"");
}

void gnuplot_words(struct text *out, const char *name, const struct text *words)
{
    text_add(out, "%s = '%s'\n", name, words->length ? words->data : "");
}

void gnuplot_number(struct text *out, const char *name, double value)
{
    text_add(out, "%s = %.12g\n", name, value);
}

void gnuplot_labels(struct text *out, const char *name, const struct labels *labels)
{
    struct text words = {0};
    for (size_t i = 0; i < labels->count; i++)
        gnuplot_word(&words, labels->name[i]);
    gnuplot_words(out, name, &words);
    text_free(&words);
}

void gnuplot_matrix_variables(const struct matrix *matrix, struct text *out)
{
    struct text note = {0};
    for (size_t i = 0; i < matrix->skipped.count; i++) /* configurations without a run case */
        if (labels_find(&matrix->columns, matrix->skipped.name[i]) == matrix->columns.count)
            text_add(&note, "%s%s", note.length ? ", " : "; skipped: ", matrix->skipped.name[i]);
    gnuplot_labels(out, "series", &matrix->columns);
    gnuplot_variable(out, "strategy", matrix->of->strategy ? matrix->of->strategy : "");
    gnuplot_variable(out, "note", note.data ? note.data : "");
    text_free(&note);
}

/* Adds "data set medium, ", "data sets small, medium, ", or how many there are. */
static void add_datasets(const struct chart_subject *of, struct text *out)
{
    struct labels names = {0};
    const struct result_case *one;
    for (size_t i = 0; (one = case_next(of, &i));)
        if (*one->key.dataset)
            labels_add(&names, one->key.dataset);
    if (names.count > 3)
        text_add(out, "%zu data sets, ", names.count);
    for (size_t i = 0; i < names.count && names.count <= 3; i++)
        text_add(out, "%s%s, ",
                 i                 ? ""
                 : names.count > 1 ? "data sets "
                                   : "data set ",
                 names.name[i]);
    labels_free(&names);
}

void gnuplot_caption(const struct chart_subject *of, struct text *out)
{
    const struct result_run *run = &of->result->run;
    const struct record_tool *tool = &of->result->context.tool;
    const struct record_device *device = result_device(of->result, of->device);
    unsigned rounds = 0; /* those that were made, if the file says so: a partial run planned more */
    for (size_t i = 0; i < run->session_count; i++)
        rounds += run->sessions[i].rounds;
    rounds = rounds ? rounds : run->rounds;
    if (device)
        text_add(out, "%s (%s)%s%s, ", device->name, of->device, *device->driver ? ", driver " : "",
                 device->driver);
    add_datasets(of, out);
    text_add(out, "rev %.12s%s, %u %s, %.10s", tool->git_rev ? tool->git_rev : "unknown",
             tool->git_dirty > 0 ? "-dirty" : "", rounds, rounds == 1 ? "round" : "rounds",
             run->started_at ? run->started_at : "");
}

/* ---- scripts ---- */

/* Adds a script, with each line `load "NAME.gp"` replaced by that script. */
static int add_script(const char *folder, const char *file, struct text *out, struct error *error)
{
    struct text path = {0}, script = {0};
    text_add(&path, "%s/%s", folder, file);
    int code = text_read_file(&script, path.data, error);
    for (const char *line = script.data; code == 0 && line && *line;) {
        char loaded[64];
        const size_t length = strcspn(line, "\n");
        if (sscanf(line + strspn(line, " "), "load \"%63[^\"\n]\"", loaded) == 1)
            code = add_script(folder, loaded, out, error);
        else
            text_add(out, "%.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
    text_free(&path);
    text_free(&script);
    return code;
}

int gnuplot_script(const char *folder, const char *chart, const char *variables, struct text *out,
                   struct error *error)
{
    struct text file = {0};
    text_add(&file, "%s.gp", chart);
    text_add(out,
             "# Made by `gamut plot`. In this folder, `gnuplot <this file>` draws it again as .svg "
             "and .png,\n# `gnuplot -e \"terminals='dumb'\" <this file>` on the terminal.\n\n%s\n",
             variables);
    int code = add_script(folder, file.data, out, error);
    text_free(&file);
    return code;
}

/* Reads everything that a child writes until it ends. */
static void read_all(int from, struct text *out)
{
    char bytes[512];
    ssize_t got;
    while ((got = read(from, bytes, sizeof bytes)) > 0 || (got < 0 && errno == EINTR))
        if (got > 0)
            text_add_bytes(out, bytes, (size_t)got);
}

/* Runs gnuplot in the folder. If it fails, the error quotes its output. If it succeeds, the output
 * is dropped: it warns of harmless things, such as a panel without points. */
static int gnuplot_start(char *const argv[], const char *folder, const char *script,
                         struct error *error)
{
    posix_spawn_file_actions_t actions;
    struct text printed = {0};
    pid_t child;
    int status = 0, pipes[2];
    if (pipe2(pipes, O_CLOEXEC) != 0)
        return error_set(error, ERR_IO, "no pipe for gnuplot: %s", strerror(errno));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipes[1], STDERR_FILENO);
    posix_spawn_file_actions_addchdir_np(&actions, folder);
    int failed = posix_spawnp(&child, "gnuplot", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(pipes[1]);
    read_all(pipes[0], &printed);
    close(pipes[0]);
    while (failed == 0 && waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            failed = errno;
    /* A missing program may also show as a child that exits with 127. */
    int code = 0;
    if (failed == ENOENT || (failed == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 127))
        code = error_set(error, ERR_UNSUPPORTED,
                         "gnuplot is not installed, so %s was not drawn: install it (apt install "
                         "gnuplot-nox) and try again",
                         script);
    else if (failed)
        code = error_set(error, ERR_IO, "gnuplot could not be run: %s", strerror(failed));
    else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        code = error_set(error, ERR_IO, "gnuplot failed on %s: %s", script,
                         printed.data ? printed.data : "it printed no reason");
    text_free(&printed);
    return code;
}

int gnuplot_run(const char *folder, const char *name, const char *terminals, unsigned columns,
                struct error *error)
{
    struct text before = {0}, script = {0};
    text_add(&before, "terminals = '%s'; columns = %u", terminals, columns);
    text_add(&script, "%s.gp", name);
    fflush(stdout); /* what gnuplot prints comes after */
    char *const argv[] = {"gnuplot", "--default-settings", "-e", before.data, script.data, NULL};
    const int code = gnuplot_start(argv, folder, script.data, error);
    text_free(&before);
    text_free(&script);
    return code;
}
