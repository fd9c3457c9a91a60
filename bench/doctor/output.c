#include "base/arena.h"
#include "doctor/doctor.h"
#include "results/show/text_grid.h"
#include "base/tree.h"

/* ---- the table ------------------------------------------------------------------------------- */

static const enum text_grid_mood moods[DOCTOR_STATUSES] = {
    [DOCTOR_PASS] = GRID_BETTER, [DOCTOR_WARN] = GRID_UNSURE, [DOCTOR_FAIL] = GRID_WORSE};

static void add_row(struct text_grid *grid, const struct doctor_row *row)
{
    text_grid_add_row(grid)->mood = moods[row->status];
    text_grid_add(grid, "%s", doctor_status_name(row->status));
    text_grid_add(grid, "%s%s%s", row->check, *row->subject ? " " : "", row->subject);
    char *found =
        arena_printf(&grid->arena, "%s%s%s", row->found, *row->advice ? " -> " : "", row->advice);
    for (char *c = found; *c; c++) /* a compiler's log has several lines */
        *c = *c == '\n' ? ' ' : *c;
    text_grid_add(grid, "%s", found);
}

void doctor_print(const struct doctor_rows *rows, FILE *out)
{
    const size_t failed = rows->counts[DOCTOR_FAIL], warned = rows->counts[DOCTOR_WARN];
    struct text_grid grid = text_grid_of("status|check|~found");
    struct terminal_page page;
    terminal_page_open(&page, out);
    grid.no_titles = true;
    for (size_t i = 0; i < rows->count; i++)
        add_row(&grid, &rows->row[i]);
    text_grid_print(&grid, TABLE_TEXT, &page.terminal, page.out);
    fprintf(page.out, "%zu checks: %zu failed, %zu %s.\n", rows->count, failed, warned,
            warned == 1 ? "warning" : "warnings");
    terminal_page_close(&page);
    text_grid_free(&grid);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

json_t *doctor_json(const struct doctor_rows *rows)
{
    json_t *checks = tree_array();
    const enum doctor_status verdict = rows->counts[DOCTOR_FAIL]   ? DOCTOR_FAIL
                                       : rows->counts[DOCTOR_WARN] ? DOCTOR_WARN
                                                                   : DOCTOR_PASS;
    for (const struct doctor_row *row = rows->row; row < rows->row + rows->count; row++)
        tree_append(checks,
                    tree_pack("{s:s, s:o, s:s, s:o, s:o}", "check", row->check, "subject",
                              tree_text_or_null(row->subject), "status",
                              doctor_status_name(row->status), "found", tree_text(row->found),
                              "advice", tree_text_or_null(row->advice)));
    return tree_pack("{s:s, s:s, s:o}", "schema", "gamut.doctor/2", "verdict",
                     doctor_status_name(verdict), "checks", checks);
}
