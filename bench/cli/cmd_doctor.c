#include <stdio.h>

#include "cli/commands.h"
#include "doctor/doctor.h"
#include "base/tree.h"

enum doctor_flag { DOCTOR_FORMAT, DOCTOR_RESULTS };
enum doctor_format { FORMAT_TABLE, FORMAT_JSON };

static const struct flag flags[] = {
    [DOCTOR_FORMAT] = {"format", 0, FLAG_CHOICE, "FORMAT", "table", "table|json", 0, 0,
                       "what is printed on stdout"},
    [DOCTOR_RESULTS] = {"results", 0, FLAG_TEXT, "RESULTS", "results", NULL, 0, 0,
                        "the folder of result files"},
    {NULL, 0, FLAG_SWITCH, NULL, NULL, NULL, 0, 0, NULL},
};

static int doctor_command(const struct command_line *line)
{
    struct doctor_facts facts;
    struct doctor_rows rows;
    doctor_collect(line->flag[DOCTOR_RESULTS].text, &facts);
    doctor_check(&facts, &rows);
    if (line->flag[DOCTOR_FORMAT].number == FORMAT_JSON) {
        json_t *json = doctor_json(&facts, &rows);
        json_dumpf(json, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
        putchar('\n');
        json_decref(json);
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
    .notes = "Prints one line for each check. fail: measurements would be wrong, or could\n"
             "not be saved. warn: measurements would be noisier or fewer than they could\n"
             "be. The exit code is 3 if a check fails. doctor changes nothing, asks\n"
             "nothing, and needs no device.\n"
             "\n"
             "--format json: {schema, verdict,\n"
             "  checks: [{check, subject, status, found, advice}],\n"
             "  facts: {devices, gpus, …}}; null is unknown or none.\n",
    .run = doctor_command,
};
