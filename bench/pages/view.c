#include "pages/view.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/tree.h"
#include "alloc/planned/plans.h"
#include "replay/plan.h"
#include "pages/data.h"

extern const char kernel_text_view[]; /* view.js */

/* JSON within a script element: no '<' could end or begin anything. */
static void write_json(FILE *out, const json_t *json)
{
    char *text = json_dumps(json, JSON_COMPACT | JSON_ENSURE_ASCII);
    fputs("<script type=\"application/json\" id=\"data\">", out);
    for (const char *c = text; c && *c; c++)
        if (*c == '<')
            fputs("\\u003c", out);
        else
            fputc(*c, out);
    fputs("</script>\n", out);
    free(text);
}

/* A strategy that cannot have this trace is no error of the trace. */
static int record_one(struct view_history *h, const struct view_options *o,
                      struct allocator_plans *plans, const char *spec, struct view_strategy *s,
                      struct view_result *result, struct error *error)
{
    struct option_values values;
    struct error why = {0};
    struct replay_options options = {
        .options = &values, .device = replay_device(0, NULL), .free_at = o->free_at};
    TRY(allocator_parse_planned(plans, spec, &options.strategy, &values, error));
    const int code = view_record(h, &options, s, &why);
    if (code == ERR_IO || code == ERR_PARSE || code == ERR_USAGE)
        return error_set(error, code, "%s", why.text);
    const char *reason = code ? why.text : s->outcome.reason;
    snprintf(result->reason, sizeof result->reason, "%.1023s",
             code || s->outcome.status != CASE_ok ? *reason ? reason : "it failed" : "");
    return 0;
}

/* The history is that of the first strategy that serves the whole trace. */
static int record_history(struct view_history *h, const struct view_options *o,
                          struct allocator_plans *plans, struct view_strategy *strategies,
                          struct view_report *report, size_t *served, struct error *error)
{
    for (*served = 0; *served < o->strategy_count; ++*served) {
        struct view_result *result = &report->strategies[*served];
        *h = (struct view_history){.reader = h->reader, .first = o->first, .last = o->last};
        TRY(record_one(h, o, plans, o->strategies[*served], &strategies[*served], result, error));
        if (!*result->reason)
            return 0;
        view_strategy_free(&strategies[*served]);
        view_history_free(h);
    }
    return error_set(error, ERR_USAGE, "%s: no strategy serves the trace; %s: %s", o->name,
                     o->strategies[0], report->strategies[0].reason);
}

static int write_strategies(struct view_data *data, struct view_history *h,
                            const struct view_options *o, struct allocator_plans *plans,
                            const struct view_levels *levels, struct view_strategy *strategies,
                            struct view_report *report, size_t served, json_t *all,
                            struct error *error)
{
    for (size_t i = served; i < o->strategy_count; i++) {
        struct view_strategy *s = &strategies[i];
        struct view_result *result = &report->strategies[i];
        if (i > served)
            TRY(record_one(h, o, plans, o->strategies[i], s, result, error));
        if (!*result->reason)
            tree_append(
                all, data_of_strategy(data, h, levels, o->strategies[i], view_measured(o, i), s));
        /* The picture needs the summary alone; blocks of several strategies at once would not
         * fit. */
        free(s->places);
        s->places = NULL;
    }
    return 0;
}

static int write_page(struct view_history *h, const struct view_options *o,
                      struct allocator_plans *plans, FILE *out, struct view_strategy *strategies,
                      struct view_report *report, struct error *error)
{
    struct view_data data = {.out = out};
    struct view_levels levels;
    size_t served;
    TRY(record_history(h, o, plans, strategies, report, &served, error));
    report->blocks = h->blocks.count;
    report->events = h->last;
    report->peak_bytes = view_peak(h)->requested;
    report->peak_event = view_peak(h)->at;
    view_page_begin(out, o, h);
    levels_make(&levels, &h->blocks, h->first, h->last);
    json_t *json = data_of_history(&data, h, &levels), *all = tree_array();
    tree_put(json, "strategies", all);
    const int code =
        write_strategies(&data, h, o, plans, &levels, strategies, report, served, all, error);
    levels_free(&levels);
    if (!code) {
        view_page_picture(out, o, h, strategies, report->strategies);
        view_page_peak(out, h);
        view_page_end(out, o, h, report->strategies);
        write_json(out, json);
        fprintf(out, "<script>%s</script>\n</body>\n</html>\n", kernel_text_view);
    }
    json_decref(json);
    return code;
}

int view_write(struct trace_reader *reader, const struct view_options *o, FILE *out,
               struct view_report *report, struct error *error)
{
    struct allocator_plans plans = {.make = plan_of_trace};
    struct view_history history = {.reader = reader};
    struct view_strategy *strategies = must_alloc(o->strategy_count * sizeof *strategies);
    *report = (struct view_report){.strategies =
                                       must_alloc(o->strategy_count * sizeof(struct view_result))};
    const int code = write_page(&history, o, &plans, out, strategies, report, error);
    for (size_t i = 0; i < o->strategy_count; i++)
        view_strategy_free(&strategies[i]);
    view_history_free(&history);
    allocator_plans_free(&plans);
    free(strategies);
    return code;
}
