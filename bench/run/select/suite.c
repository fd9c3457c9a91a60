#include "run/select/suite.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_rules.h"
#include "base/text.h"
#include "base/tree.h"

static const char format_name[] = "gamut.suite/1";

/* ---- the keys of a file ---------------------------------------------------------------------- */

enum { OPTIONAL_TEXT = RULE_TEXT | RULE_PRINTABLE | RULE_ABSENT };

static const struct json_rule rules[] = {
    {"", RULE_OBJECT | RULE_CLOSED},
    {"format", RULE_TEXT | RULE_PRINTABLE},
    {"title", RULE_TEXT | RULE_PRINTABLE},
    {"source", RULE_TEXT | RULE_PRINTABLE},
    {"compare", RULE_OBJECT},
    {"strategies", OPTIONAL_TEXT},
    {"merges", OPTIONAL_TEXT},
    {"releases", OPTIONAL_TEXT},
    {"rows", RULE_ARRAY},
    {"rows[]", RULE_OBJECT | RULE_CLOSED},
    {"rows[].name", RULE_TEXT | RULE_PRINTABLE},
    {"rows[].workload", OPTIONAL_TEXT},
    {"rows[].dataset", OPTIONAL_TEXT},
    {"rows[].published", RULE_NUMBER | RULE_ABSENT},
    {"rows[].not_under", OPTIONAL_TEXT},
    {"rows[].note", OPTIONAL_TEXT},
    {"rows[].missing", OPTIONAL_TEXT},
    {NULL, 0},
};

/* The axes of a case's key, by their names in `compare`. */
static const struct axis {
    const char *name, *list; /* `list`: the file's key for the axis; NULL: each row has `name` */
} axes[] = {
    {"workload", NULL},      {"dataset", NULL},          {"merge", "merges"},
    {"release", "releases"}, {"strategy", "strategies"},
};
enum { AXES = sizeof axes / sizeof *axes, AXIS_WORKLOAD = 0, AXIS_DATASET = 1 };

/* For messages: the part of the file that is being checked, "rows[3]". */
struct reader {
    const char *path;
    struct error *error;
    char where[160];
};

static int suite_fail(const struct reader *r, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int suite_fail(const struct reader *r, const char *key, const char *format, ...)
{
    char what[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return error_set(r->error, ERR_PARSE, "%s: %s%s%s%s%s", r->path, r->where,
                     *r->where && key ? "." : "", key ? key : "", *r->where || key ? ": " : "",
                     what);
}

/* ---- what is compared ------------------------------------------------------------------------ */

/* Checks `compare`: one axis with its two values. */
static int check_compare(struct reader *r, const json_t *json, const struct axis **axis)
{
    json_t *compare = json_object_get(json, "compare");
    const char *key = json_object_iter_key(json_object_iter(compare));
    *axis = NULL;
    snprintf(r->where, sizeof r->where, "compare");
    for (size_t p = 0; p < AXES; p++)
        if (key && strcmp(key, axes[p].name) == 0)
            *axis = &axes[p];
    if (json_object_size(compare) != 1 || !*axis)
        return suite_fail(r, NULL,
                          "expected one of workload, dataset, merge, release, strategy, with "
                          "its two values");
    const json_t *pair = json_object_get(compare, key);
    const char *first = json_string_value(json_array_get(pair, 0));
    const char *second = json_string_value(json_array_get(pair, 1));
    if (json_array_size(pair) != 2 || !first || !second || strcmp(first, second) == 0 || !*first ||
        !*second || strpbrk(first, ",*?|") || strpbrk(second, ",*?|") ||
        strcmp(first, "all") == 0 || strcmp(second, "all") == 0)
        return suite_fail(r, key, "expected two different names, without globs: [\"a\", \"b\"]");
    r->where[0] = 0;
    if ((*axis)->list && json_object_get(json, (*axis)->list))
        return suite_fail(r, (*axis)->list, "%s is compared: its values stand in compare", key);
    return 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The value of an axis from the comparison, the suite or the row; NULL if none has it. The caller
 * frees it. */
static char *axis_text(const json_t *json, const json_t *row, const struct axis *axis,
                       const struct axis *compared)
{
    struct text text = {0};
    if (axis == compared) {
        const json_t *pair = json_object_get(json_object_get(json, "compare"), axis->name);
        text_add(&text, "%s,%s", json_string_value(json_array_get(pair, 0)),
                 json_string_value(json_array_get(pair, 1)));
    } else {
        const char *said = json_string_value(axis->list ? json_object_get(json, axis->list)
                                                        : json_object_get(row, axis->name));
        if (said)
            text_add(&text, "%s", said);
    }
    return text.data;
}

/* Checks the axes in a row. They are single names, because a row is one line of the table. */
static int check_row_axes(struct reader *r, const json_t *row, const struct axis *compared)
{
    const bool missing = json_object_get(row, "missing");
    for (const struct axis *p = axes; p < axes + AXES; p++) {
        const char *said = json_string_value(json_object_get(row, p->name));
        if (p->list)
            continue;
        if (missing && said)
            return suite_fail(r, p->name, "a row with `missing` has none");
        if (!missing && p == compared && said)
            return suite_fail(r, p->name, "is compared: its values stand in compare");
        if (!missing && p != compared && !said)
            return suite_fail(r, p->name, "is missing");
        if (said && (strpbrk(said, ",*?") || strcmp(said, "all") == 0))
            return suite_fail(r, p->name, "expected one name, without globs");
    }
    const json_t *published = json_object_get(row, "published");
    if (published && !(json_number_value(published) > 0 && json_number_value(published) < 1e9))
        return suite_fail(r, "published", "expected a ratio above 0");
    return 0;
}

/* Checks that every workload has every dataset: without it a pair would silently have no case. */
static int check_datasets(const struct reader *r, const struct selection *s)
{
    for (size_t e = 0; e < s->entry_count; e++) {
        const char *list = s->datasets;
        char name[64];
        while (text_next_item(&list, name, sizeof name))
            if (!select_dataset(s->entries[e], name))
                return suite_fail(r, "dataset", "%s has no dataset '%s'", s->entries[e]->name,
                                  name);
    }
    return 0;
}

static int read_row(struct reader *r, const json_t *json, json_t *row, const struct axis *compared,
                    struct catalogue *catalogue, struct selection *selection)
{
    int code = check_row_axes(r, row, compared);
    if (code || json_object_get(row, "missing"))
        return code;
    char *text[AXES];
    for (size_t p = 0; p < AXES; p++)
        text[p] = axis_text(json, row, &axes[p], compared);
    const struct select_request request = {.workloads = text[AXIS_WORKLOAD],
                                           .datasets = text[AXIS_DATASET],
                                           .merges = text[2],
                                           .releases = text[3],
                                           .strategies = text[4]};
    code = strstr(request.workloads, ".mem")
               ? suite_fail(r, "workload", "program files cannot be part of a suite")
               : select_names(&request, catalogue, selection, r->error);
    if (code && code != ERR_PARSE)
        error_prefix(r->error, "%s: %s: ", r->path, r->where);
    THEN(code, check_datasets(r, selection));
    selection->datasets = code ? NULL : arena_printf(&selection->arena, "%s", text[AXIS_DATASET]);
    for (size_t p = 0; p < AXES; p++)
        free(text[p]);
    return code;
}

static int check_names(struct reader *r, const json_t *rows)
{
    for (size_t i = 0; i < json_array_size(rows); i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(tree_get_text(json_array_get(rows, i), "name"),
                       tree_get_text(json_array_get(rows, j), "name")) == 0) {
                snprintf(r->where, sizeof r->where, "rows[%zu]", i);
                return suite_fail(r, "name", "rows[%zu] has the same", j);
            }
    return 0;
}

static int read_rows(struct reader *r, struct suite *suite, struct catalogue *catalogue)
{
    const struct axis *compared;
    json_t *rows = json_object_get(suite->json, "rows");
    TRY(check_compare(r, suite->json, &compared));
    if (json_array_size(rows) == 0)
        return suite_fail(r, "rows", "there are none");
    suite->rows = must_alloc(json_array_size(rows) * sizeof *suite->rows);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        snprintf(r->where, sizeof r->where, "rows[%zu]", i);
        suite->row_count++;
        TRY(read_row(r, suite->json, json_array_get(rows, i), compared, catalogue,
                     &suite->rows[i]));
    }
    return check_names(r, rows);
}

/* ---- reading --------------------------------------------------------------------------------- */

static void set_name(struct suite *suite, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t length = strlen(name);
    const bool is_json = length > 5 && strcmp(name + length - 5, ".json") == 0;
    struct text text = {0};
    text_add(&text, "%.*s", (int)(is_json ? length - 5 : length), name);
    suite->name = text.data;
    text = (struct text){0};
    text_add(&text, "%s", path);
    suite->path = text.data;
}

int suite_read(const char *path, const char *text, size_t length, struct catalogue *catalogue,
               struct suite *suite, struct error *error)
{
    json_error_t at;
    struct reader r = {.path = path, .error = error};
    *suite = (struct suite){0};
    suite->json = json_loadb(text, length, JSON_REJECT_DUPLICATES, &at);
    if (!suite->json)
        return error_set(error, ERR_PARSE, "%s:%d:%d: %s", path, at.line, at.column, at.text);
    set_name(suite, path);
    int code = json_check(suite->json, rules, error);
    if (code)
        error_prefix(error, "%s: ", path);
    else if (strcmp(tree_get_text(suite->json, "format"), format_name) != 0)
        code = suite_fail(&r, "format", "expected \"%s\"", format_name);
    THEN(code, read_rows(&r, suite, catalogue));
    if (code)
        suite_close(suite);
    return code;
}

static const char *builtin_name(void *context, size_t i)
{
    return builtin_suites[i].name;
}

int suite_open(const char *name_or_path, struct catalogue *catalogue, struct suite *suite,
               struct error *error)
{
    for (const struct builtin_suite *b = builtin_suites; b->name; b++)
        if (strcmp(b->name, name_or_path) == 0)
            return suite_read(b->path, b->text, strlen(b->text), catalogue, suite, error);
    size_t length = strlen(name_or_path);
    if (length <= 5 || strcmp(name_or_path + length - 5, ".json") != 0) {
        text_unknown(error, name_or_path, builtin_name, NULL, "there is no suite");
        strncat(error->text, ", or a file (*.json)", sizeof error->text - strlen(error->text) - 1);
        return error->code;
    }
    struct text text = {0};
    int code = text_read_file(&text, name_or_path, error);
    THEN(code, suite_read(name_or_path, text.data ? text.data : "", text.length, catalogue, suite,
                          error));
    text_free(&text);
    return code;
}

void suite_close(struct suite *suite)
{
    for (size_t i = 0; i < suite->row_count; i++)
        select_free(&suite->rows[i]);
    free(suite->rows);
    free(suite->name);
    free(suite->path);
    json_decref(suite->json);
    *suite = (struct suite){0};
}

/* ---- cases ----------------------------------------------------------------------------------- */

static bool list_matches(const char *list, const char *name)
{
    char pattern[128];
    if (!list)
        return true;
    while (text_next_item(&list, pattern, sizeof pattern))
        if (strcmp(pattern, "all") == 0 || text_glob(pattern, name))
            return true;
    return false;
}

static bool row_matches(const struct selection *row, const char *workloads, const char *datasets)
{
    bool matches = false;
    for (size_t e = 0; e < row->entry_count; e++)
        matches |= list_matches(workloads, row->entries[e]->name);
    return matches && list_matches(datasets, row->datasets);
}

int suite_narrow(struct suite *suite, const char *workloads, const char *datasets,
                 struct error *error)
{
    if (!workloads && !datasets)
        return 0;
    json_t *rows = json_object_get(suite->json, "rows");
    size_t kept = 0;
    for (size_t i = 0; i < suite->row_count; i++) {
        if (row_matches(&suite->rows[i], workloads, datasets)) {
            suite->rows[kept++] = suite->rows[i];
        } else {
            select_free(&suite->rows[i]);
            json_array_remove(rows, kept);
        }
    }
    suite->row_count = kept;
    return kept ? 0
                : error_set(error, ERR_USAGE, "no row of the suite %s has %s%s%s%s%s", suite->name,
                            workloads ? "the workload " : "", workloads ? workloads : "",
                            workloads && datasets ? " and " : "", datasets ? "the dataset " : "",
                            datasets ? datasets : "");
}

static void add_case(struct selection *s, const struct case_key *key)
{
    for (size_t i = 0; i < s->case_count; i++)
        if (memcmp(&s->cases[i], key, sizeof *key) == 0)
            return;
    s->cases[s->case_count++] = *key;
}

int suite_cases(struct suite *suite, const struct device_info *devices, size_t device_count,
                struct selection *selection, struct error *error)
{
    size_t most = 0;
    *selection = (struct selection){0};
    for (size_t i = 0; i < suite->row_count; i++) {
        if (suite->rows[i].entry_count)
            TRY(select_cases(&suite->rows[i], devices, device_count, error));
        most += suite->rows[i].case_count;
    }
    selection->cases = arena_alloc(&selection->arena, most * sizeof *selection->cases);
    for (size_t i = 0; i < suite->row_count; i++)
        for (size_t c = 0; c < suite->rows[i].case_count; c++)
            add_case(selection, &suite->rows[i].cases[c]);
    return selection->case_count
               ? 0
               : error_set(error, ERR_USAGE, "the suite %s has no row that can be run",
                           suite->name);
}
