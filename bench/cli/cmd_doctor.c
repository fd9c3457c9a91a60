/* gamut doctor: checks whether this machine is fit to measure on. */
#include <stdio.h>

#include "base/tree.h"
#include "cli/commands.h"
#include "cli/flag_groups.h"
#include "doctor/doctor.h"

enum doctor_format { FORMAT_TABLE, FORMAT_JSON };

static const struct flag flags[] = {
    FLAG_FORMAT("table", "table|json"),
    FLAG_RESULTS,
    FLAGS_END,
};

static int doctor_command(const struct command_line *line)
{
    struct doctor_facts facts;
    struct doctor_rows rows;
    doctor_collect(flag_text(line, "results"), &facts);
    doctor_check(&facts, &rows);
    if (flag_number(line, "format") == FORMAT_JSON) {
        json_t *json = doctor_json(&rows);
        tree_print(json, JSON_INDENT(1) | JSON_REAL_PRECISION(9), stdout);
    } else {
        doctor_print(&rows, stdout);
    }
    int exit_code = rows.counts[DOCTOR_FAIL] ? EXIT_CASE_FAILED : EXIT_OK;
    doctor_rows_free(&rows);
    doctor_free(&facts);
    return exit_code;
}

const struct command command_doctor = {
    .name = "doctor",
    .summary = "check whether this machine is fit to measure on, and say what to do",
    .arguments = "",
    .flags = flags,
    .run = doctor_command,
};
