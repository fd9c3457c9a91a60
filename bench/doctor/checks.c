#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "doctor/doctor.h"

const char *doctor_status_name(enum doctor_status status)
{
    static const char *const names[] = {
        [DOCTOR_PASS] = "pass",
        [DOCTOR_INFO] = "info",
        [DOCTOR_WARN] = "warn",
        [DOCTOR_FAIL] = "fail",
    };
    return names[status];
}

struct doctor_row *doctor_row(struct doctor_rows *rows, const char *check, const char *subject)
{
    rows->row = must_realloc(rows->row, (rows->count + 1) * sizeof *rows->row);
    struct doctor_row *row = &rows->row[rows->count++];
    *row = (struct doctor_row){.check = check};
    snprintf(row->subject, sizeof row->subject, "%s", subject);
    return row;
}

void doctor_found(struct doctor_row *row, enum doctor_status status, const char *advice,
                  const char *found, ...)
{
    va_list arguments;
    va_start(arguments, found);
    vsnprintf(row->found, sizeof row->found, found, arguments);
    va_end(arguments);
    row->status = status;
    snprintf(row->advice, sizeof row->advice, "%s", advice ? advice : "");
}

void doctor_check(const struct doctor_facts *facts, struct doctor_rows *rows)
{
    *rows = (struct doctor_rows){0};
    doctor_check_devices(facts, rows);
    doctor_check_host(facts, rows);
    for (size_t i = 0; i < rows->count; i++)
        rows->counts[rows->row[i].status]++;
}

void doctor_rows_free(struct doctor_rows *rows)
{
    free(rows->row);
    *rows = (struct doctor_rows){0};
}
