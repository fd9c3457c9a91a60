/* gamut join: makes one result of the files of all shards. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/flag_groups.h"
#include "results/file/result_file.h"
#include "results/file/shard.h"

static const struct flag flags[] = {
    {"out", 'o', FLAG_TEXT,
     .help = "the result file, FILE.gz is compressed; one for each machine, with its id in the "
             "name, where there are several"},
    FLAG_FORCE,
    FLAGS_END,
};

struct session {
    const struct command_line *line;
    struct join_file *files; /* positional_count of them */
    size_t file_count, joined_count;
    struct result *joined; /* by machine */
};

static int load_files(struct session *s, struct error *error)
{
    const struct command_line *line = s->line;
    if (!flag_text(line, "out"))
        return error_set(error, ERR_USAGE, "join needs --out FILE");
    s->files = must_alloc(line->positional_count * sizeof *s->files);
    for (; s->file_count < line->positional_count; s->file_count++) {
        struct join_file *file = &s->files[s->file_count];
        file->path = line->positional[s->file_count];
        TRY(result_open(file->path, &file->result, error));
    }
    return join_check(s->files, s->file_count, error);
}

static int join_all(struct session *s, struct error *error)
{
    bool *taken = must_alloc(s->file_count * sizeof *taken);
    s->joined = must_alloc(s->file_count * sizeof *s->joined);
    while (join_machine(s->files, s->file_count, taken, &s->joined[s->joined_count]))
        s->joined_count++;
    int code = join_check_items(s->joined, s->joined_count, s->files[0].result.run.shard, error);
    free(taken);
    return code;
}

/* OUT for one machine; all.json -> all-6827db66.json, or all-6827db66-2.json for the same machine
 * with another driver, where there are several. */
static void add_name(const struct session *s, size_t index, struct text *name)
{
    const char *out = flag_text(s->line, "out"), *slash = strrchr(out, '/');
    const char *base = slash ? slash + 1 : out, *dot = *base ? strchr(base + 1, '.') : NULL;
    const size_t stem = dot ? (size_t)(dot - out) : strlen(out);
    unsigned same = 1;
    const char *id = NULL;
    for (size_t i = 0; i <= index; i++) {
        const char *other = s->joined[index - i].context.host.machine_id;
        same += id && strcmp(id, other) == 0;
        id = id ? id : other;
    }
    if (s->joined_count == 1)
        text_add(name, "%s", out);
    else if (same == 1)
        text_add(name, "%.*s-%s%s", (int)stem, out, id, out + stem);
    else
        text_add(name, "%.*s-%s-%u%s", (int)stem, out, id, same, out + stem);
}

static int write_one(const struct session *s, size_t index, struct error *error)
{
    struct result_draft draft = {.result = s->joined[index],
                                 .started_ns = clock_ns(),
                                 .earlier_ns = s->joined[index].run.duration_ns};
    struct result_file file = {0};
    struct text name = {0};
    add_name(s, index, &name);
    int code = result_file_create(&file, &draft, name.data, flag_number(s->line, "force"), error);
    if (!code) {
        char shards[48];
        size_t counts[CASE_STATUSES];
        result_status_counts(&draft.result, counts);
        terminal_print(stderr, "gamut: %s: %s", name.data,
                       text_count(shards, (double)draft.result.run.joined_count, "shard"));
        for (int status = 0; status < CASE_STATUSES; status++)
            if (counts[status])
                fprintf(stderr, ", %zu %s", counts[status],
                        case_status_name((enum case_status)status));
        fputs("\n", stderr);
    }
    s->joined[index] = draft.result;
    result_file_close(&file);
    text_free(&name);
    return code;
}

/* Says on stderr what is missing; the first lines of it. */
static bool is_missing(const struct session *s)
{
    enum { LINES_MOST = 10 };
    struct text lines = {0};
    const size_t missing = join_missing(s->files, s->file_count, &lines);
    const char *at = lines.data;
    for (size_t i = 0; i < missing && i < LINES_MOST; i++) {
        const size_t length = strcspn(at, "\n");
        fprintf(stderr, "gamut: %.*s\n", (int)length, at);
        at += length + 1;
    }
    if (missing > LINES_MOST)
        fprintf(stderr, "gamut: and %zu more shards\n", missing - LINES_MOST);
    if (missing) {
        char count[48];
        fprintf(stderr, "gamut: %s missing from the list: nothing is joined\n",
                text_count(count, (double)missing, "shard"));
    }
    text_free(&lines);
    return missing > 0;
}

static int join_command(const struct command_line *line)
{
    struct session s = {.line = line};
    struct error error = {0};
    int exit_code = EXIT_OK;
    if (load_files(&s, &error))
        exit_code = report_error(&error);
    else if (is_missing(&s))
        exit_code = EXIT_CASE_FAILED;
    else if (join_all(&s, &error))
        exit_code = report_error(&error);
    for (size_t i = 0; i < s.joined_count && exit_code == EXIT_OK; i++)
        if (write_one(&s, i, &error))
            exit_code = report_error(&error);
    for (size_t i = 0; i < s.joined_count; i++)
        result_release(&s.joined[i]);
    for (size_t i = 0; i < s.file_count; i++)
        result_release(&s.files[i].result);
    free(s.files);
    free(s.joined);
    return exit_code;
}

const struct command command_join = {
    .name = "join",
    .summary = "join the result files of all shards of a list into one",
    .arguments = "FILE...",
    .least_positionals = 1,
    .most_positionals = POSITIONALS_ANY,
    .flags = flags,
    .run = join_command,
};
