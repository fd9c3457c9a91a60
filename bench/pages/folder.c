#include "pages/folder.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const folders[] = {REPORT_FOLDER_LIST(TEXT_NAME)};
enum { FOLDERS = sizeof folders / sizeof *folders, HEAD_BYTES = 4096 };

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *level)
{
    return remove(path);
}

void report_folder_remove(const char *work)
{
    nftw(work, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static bool is_report(const char *out)
{
    struct text path = {0};
    char head[HEAD_BYTES];
    text_add(&path, "%s/index.html", out);
    FILE *file = fopen(path.data, "r");
    text_free(&path);
    if (!file)
        return false;
    head[fread(head, 1, sizeof head - 1, file)] = 0;
    fclose(file);
    return strstr(head, REPORT_MARK) != NULL;
}

enum folder_state { FOLDER_MISSING, FOLDER_EMPTY, FOLDER_REPORT, FOLDER_OTHER, FOLDER_NONE };

/* FOLDER_NONE: it cannot be opened as a folder; errno says why. */
static enum folder_state state_of(const char *out)
{
    DIR *folder = opendir(out);
    if (!folder)
        return errno == ENOENT ? FOLDER_MISSING : FOLDER_NONE;
    struct dirent *entry;
    bool is_empty = true;
    while ((entry = readdir(folder)))
        is_empty &= strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    closedir(folder);
    return is_empty ? FOLDER_EMPTY : is_report(out) ? FOLDER_REPORT : FOLDER_OTHER;
}

/* Refuses a folder that has the name of a report's folder and another origin: replacing it would
 * lose it, even with --force. */
static int check_names_are_free(const char *out, struct error *error)
{
    int code = 0;
    for (int i = 0; i < FOLDERS && !code; i++) {
        struct text path = {0};
        text_add(&path, "%s/%s", out, folders[i]);
        if (access(path.data, F_OK) == 0)
            code = error_set(error, ERR_USAGE,
                             "%s does not belong to a report, and a report needs that name: choose "
                             "another folder",
                             path.data);
        text_free(&path);
    }
    return code;
}

static size_t length_without_slash(const char *out)
{
    size_t length = strlen(out);
    while (length > 1 && out[length - 1] == '/')
        length--;
    return length;
}

int report_folder_begin(const char *out, bool force, struct text *work, struct error *error)
{
    const enum folder_state state = state_of(out);
    if (state == FOLDER_NONE)
        return error_set(error, ERR_IO, "the report cannot be written to %s: %s", out,
                         strerror(errno));
    if (state == FOLDER_OTHER && !force)
        return error_set(
            error, ERR_USAGE,
            "%s holds files and is not a report of gamut: choose a new folder, or add the "
            "report to these files with --force",
            out);
    TRY(state == FOLDER_OTHER ? check_names_are_free(out, error) : 0);
    TRY(text_make_folders(out, error));
    text_add(work, "%.*s.report-XXXXXX", (int)length_without_slash(out), out);
    mode_t mask = umask(0);
    umask(mask);
    if (!mkdtemp(work->data) || chmod(work->data, 0777 & ~mask) != 0)
        return error_set(error, ERR_IO, "no folder could be made next to %s: %s", out,
                         strerror(errno));
    return 0;
}

/* Moves index.html or a folder of the report to `out` and replaces that of an older report. */
static int folder_move(const char *work, const char *out, const char *name, struct error *error)
{
    struct text from = {0}, to = {0};
    text_add(&from, "%s/%s", work, name);
    text_add(&to, "%s/%s", out, name);
    int code = 0;
    const bool is_there = access(from.data, F_OK) == 0, is_folder = strcmp(name, "index.html") != 0;
    if (is_folder)
        report_folder_remove(to.data);
    if (is_there && rename(from.data, to.data) != 0)
        code = error_set(error, ERR_IO, "%s could not be replaced: %s", to.data, strerror(errno));
    text_free(&from);
    text_free(&to);
    return code;
}

int report_folder_finish(const char *work, const char *out, struct error *error)
{
    const enum folder_state state = state_of(out);
    if (state == FOLDER_MISSING || state == FOLDER_EMPTY) {
        if (rename(work, out) == 0)
            return 0;
        if (state == FOLDER_MISSING) /* an empty one may be a mount, or a link */
            return error_set(error, ERR_IO, "%s could not be made: %s", out, strerror(errno));
    }
    int code = 0;
    for (int i = 0; i < FOLDERS && !code; i++)
        code = folder_move(work, out, folders[i], error);
    THEN(code, folder_move(work, out, "index.html", error));
    if (!code)
        report_folder_remove(work);
    return code;
}
