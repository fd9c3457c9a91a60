#include "pages/view.h"

#include <stdlib.h>

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

/* Plays the trace under the limit that its refusals show; a strategy that cannot serve it so,
 * without one. A strategy that cannot have this trace is no error of the trace. */
static int record_one(struct view_pane *p, bool fills_history, struct allocator_plans *plans,
                      size_t i, struct error *error)
{
    const struct view_options *o = p->options;
    struct view_strategy *s = &p->strategies[i];
    struct view_result *result = &p->report->strategies[i];
    struct option_values values;
    struct error why = {0};
    struct replay_options options = {.options = &values, .free_at = o->free_at};
    TRY(allocator_parse_planned(plans, o->strategies[i], &options.strategy, &values, error));
    for (uint64_t limit = trace_limit(trace_reader_info(o->reader));; limit = 0) {
        if (fills_history) {
            view_history_free(p->history);
            *p->history =
                (struct view_history){.reader = o->reader, .first = o->first, .last = o->last};
        }
        view_strategy_free(s);
        options.device = replay_device(limit, NULL);
        const int code = view_record(p->history, &options, s, &why);
        if (code == ERR_IO || code == ERR_PARSE || code == ERR_USAGE)
            return error_set(error, code, "%s", why.text);
        const char *reason = code ? why.text : s->outcome.reason;
        snprintf(result->reason, sizeof result->reason, "%.1023s",
                 code || s->outcome.status != CASE_ok ? *reason ? reason : "it failed" : "");
        result->limit_bytes = limit;
        if (!*result->reason || !limit)
            return 0;
    }
}

/* The history is that of the first strategy that serves the whole trace, or of an earlier pane. */
static int record_history(struct view_pane *p, bool has_history, struct allocator_plans *plans,
                          size_t *served, struct error *error)
{
    const struct view_options *o = p->options;
    for (*served = 0; *served < o->strategy_count; ++*served) {
        TRY(record_one(p, !has_history, plans, *served, error));
        if (!*p->report->strategies[*served].reason)
            return 0;
        view_strategy_free(&p->strategies[*served]);
    }
    return error_set(error, ERR_USAGE, "%s: no strategy serves the trace; %s: %s", o->name,
                     o->strategies[0], p->report->strategies[0].reason);
}

static int write_strategies(struct view_data *data, struct view_pane *p,
                            struct allocator_plans *plans, const struct view_levels *levels,
                            size_t served, json_t *all, struct error *error)
{
    const struct view_options *o = p->options;
    for (size_t i = served; i < o->strategy_count; i++) {
        struct view_strategy *s = &p->strategies[i];
        struct view_result *result = &p->report->strategies[i];
        if (i > served)
            TRY(record_one(p, false, plans, i, error));
        if (!*result->reason) {
            json_t *json = data_of_strategy(data, p->history, levels, o->strategies[i],
                                            view_measured(o, i), s);
            tree_put(json, "limit", tree_count_or_null(result->limit_bytes));
            tree_append(all, json);
        }
        /* The picture needs the summary alone; blocks of several strategies at once would not
         * fit. */
        free(s->places);
        s->places = NULL;
    }
    return 0;
}

/* Plays the trace of a pane, and writes its columns. The script takes what the object of the second
 * pane lacks from the first. */
static int write_pane(struct view_data *data, struct view_pane *panes, size_t count, size_t i,
                      json_t **json, struct error *error)
{
    struct allocator_plans plans = {.make = plan_of_trace};
    struct view_pane *p = &panes[i];
    struct view_levels levels;
    size_t served;
    const bool has_history = p->history == panes[0].history && i > 0;
    int code = record_history(p, has_history, &plans, &served, error);
    if (!code) {
        const struct view_history *h = p->history;
        const struct view_bucket *peak = view_peak(h);
        p->report->blocks = h->blocks.count;
        p->report->events = h->last;
        p->report->peak_bytes = peak->requested;
        p->report->peak_event = peak->at;
        if (i == 0)
            view_page_begin(data->out, panes, count);
        levels_make(&levels, &h->blocks, h->first, h->last);
        *json = has_history ? tree_object() : data_of_history(data, h, &levels);
        json_t *all = tree_array();
        tree_put(*json, "strategies", all);
        if (count > 1)
            tree_put(*json, "word", tree_text(p->options->word));
        code = write_strategies(data, p, &plans, &levels, served, all, error);
        levels_free(&levels);
    }
    allocator_plans_free(&plans);
    return code;
}

int view_write(const struct view_options *options, size_t count, FILE *out,
               struct view_report *reports, struct error *error)
{
    struct view_data data = {.out = out};
    struct view_history histories[PANES_MOST] = {0};
    struct view_pane panes[PANES_MOST] = {0};
    json_t *json[PANES_MOST] = {0};
    int code = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t strategy_count = options[i].strategy_count;
        reports[i] = (struct view_report){
            .strategies = must_alloc(strategy_count * sizeof(struct view_result))};
        panes[i] = (struct view_pane){
            &options[i], &histories[options[i].reader == options[0].reader ? 0 : i],
            must_alloc(strategy_count * sizeof(struct view_strategy)), &reports[i]};
    }
    for (size_t i = 0; i < count; i++)
        THEN(code, write_pane(&data, panes, count, i, &json[i], error));
    if (!code) {
        view_page_difference(out, panes, count);
        view_page_picture(out, panes, count);
        view_page_peak(out, panes, count);
        view_page_end(out, panes, count);
        if (count > 1)
            tree_put(json[0], "beside", json_incref(json[1]));
        write_json(out, json[0]);
        fprintf(out, "<script>%s</script>\n</body>\n</html>\n", kernel_text_view);
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < options[i].strategy_count; k++)
            view_strategy_free(&panes[i].strategies[k]);
        view_history_free(&histories[i]);
        free(panes[i].strategies);
        json_decref(json[i]);
    }
    return code;
}
