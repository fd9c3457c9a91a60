/* gamut atlas: measures what memory costs on a device. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/terminal.h"
#include "cli/commands.h"
#include "cli/flag_groups.h"
#include "cli/recording.h"
#include "results/show/table.h"
#include "results/file/draft.h"
#include "run/rounds/atlas_run.h"

enum atlas_format { FORMAT_TABLE, FORMAT_JSON };

static const struct flag flags[] = {
    FLAG_DEVICES,
    {"quick", 0, FLAG_SWITCH, .help = "few sizes and samples: seconds instead of a minute or two"},
    FLAG_SEED("the seed of the order of measurements"),
    FLAG_FORMAT("table", "table|json"),
    FLAGS_RESULT_FILE,
    FLAGS_END,
};

struct session {
    const struct command_line *line;
    struct recording recording;
    const char *device; /* the device that is measured */
    char doing[96];     /* the progress that was printed last */
    uint64_t began_ns;
    struct status_line status;
    size_t measured, failed;
    bool interrupted;
};

/* ---- one device ---- */

/* Prints progress: on a terminal one line that is overwritten, elsewhere a line per step. */
static void atlas_progress(void *context, const char *doing, const struct atlas *atlas)
{
    struct session *s = context;
    const double seconds = (double)(clock_ns() - s->began_ns) * 1e-9;
    if (s->status.redraws) {
        status_line_show(&s->status, "atlas of %s, %.0f s: %s", s->device, seconds, doing);
        return;
    }
    size_t length = strcspn(doing, ",:");
    if (strcspn(s->doing, ",:") != length || strncmp(s->doing, doing, length) != 0)
        fprintf(stderr, "gamut: atlas of %s, %.1f s: %.*s\n", s->device, seconds, (int)length,
                doing);
    snprintf(s->doing, sizeof s->doing, "%s", doing);
}

static void measure_device(struct session *s, const struct found_device *found)
{
    const struct atlas_options options = {.quick = flag_number(s->line, "quick") != 0,
                                          .seed = flag_number(s->line, "seed")};
    struct atlas atlas;
    struct error error = {0};
    s->device = found->info.id;
    s->began_ns = clock_ns();
    int code = atlas_run(s->device, &options, atlas_progress, s, &atlas, &s->interrupted, &error);
    status_line_clear(&s->status);
    if (atlas.curve_count) { /* also of what ended early */
        draft_set_atlas(&s->recording.draft, &atlas);
        if (flag_number(s->line, "format") == FORMAT_TABLE) {
            fputs(s->measured ? "\n" : "", stdout);
            atlas_print(&atlas, stdout);
            fflush(stdout);
        }
        s->measured++;
    }
    if (code) {
        report_error(&error);
        s->failed++;
    }
    atlas_free(&atlas);
}

static int measure_all(struct session *s, struct error *error)
{
    int code = 0;
    const struct recording *r = &s->recording;
    for (size_t i = 0; i < r->device_count && !s->interrupted && !code; i++)
        if (r->devices[i].selected) {
            measure_device(s, &r->devices[i]);
            code = recording_save(&s->recording, error);
        }
    return code ? code : recording_finish(&s->recording, s->interrupted, s->failed > 0, error);
}

/* ---- the command ---- */

static int run_session(struct session *s)
{
    struct error error = {0};
    int code = recording_open(&s->recording, s->line, &error);
    THEN(code, recording_start(&s->recording, s->line, NULL, &error));
    if (code == ERR_NOT_FOUND) {
        report_error(&error);
        return EXIT_NOTHING_RAN;
    }
    if (code)
        return report_error(&error);
    const int measured = measure_all(s, &error);
    if (measured)
        report_error(&error); /* what was measured is printed all the same */
    if (flag_number(s->line, "format") == FORMAT_JSON &&
        result_print(&s->recording.draft.result, stdout, &error))
        return report_error(&error);
    char what[64];
    snprintf(what, sizeof what, "%zu measured", s->measured);
    const int exit_code = report_end(what, &s->recording.file, !measured, s->interrupted);
    return exit_code     ? exit_code
           : s->failed   ? EXIT_CASE_FAILED
           : s->measured ? EXIT_OK
                         : EXIT_NOTHING_RAN;
}

static int atlas_command(const struct command_line *line)
{
    struct session s = {.line = line};
    status_line_open(&s.status, stderr);
    int exit_code = run_session(&s);
    recording_free(&s.recording);
    return exit_code;
}

const struct command command_atlas = {
    .name = "atlas",
    .summary = "measure what memory costs on a device: each method to get it, by size",
    .arguments = "",
    .flags = flags,
    .run = atlas_command,
};
