/* The services that experiments call: rows and samples. */
#include "experiment/experiment.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/tree.h"

struct experiment_row *experiment_add_row(struct experiment_plan *plan)
{
    plan->rows = must_realloc(plan->rows, (plan->count + 1) * sizeof *plan->rows);
    struct experiment_row *row = &plan->rows[plan->count++];
    *row = (struct experiment_row){0};
    return row;
}

void experiment_plan_free(struct experiment_plan *plan)
{
    free(plan->rows);
    *plan = (struct experiment_plan){0};
}

bool experiment_strategy(const struct experiment_settings *settings, bool uses_allocator, size_t i,
                         char out[EXPERIMENT_WORD_MAX])
{
    const char *at = !uses_allocator ? "-" : settings->strategies ? settings->strategies : "";
    while (text_next_item(&at, out, EXPERIMENT_WORD_MAX))
        if (*out && i-- == 0)
            return true;
    return false;
}

void experiment_put_word(struct experiment_row *row, size_t parameter, const char *word)
{
    snprintf(row->word[parameter], EXPERIMENT_WORD_MAX, "%s", word);
}

void experiment_take(struct experiment_record *record, size_t metric, double value)
{
    if (metric >= EXPERIMENT_METRICS_MAX || isnan(value))
        return;
    struct experiment_values *taken = &record->metric[metric];
    taken->values = must_grow(taken->values, taken->count, &taken->room, sizeof *taken->values);
    taken->values[taken->count++] = value;
}

void experiment_record_free(struct experiment_record *record)
{
    for (size_t m = 0; m < EXPERIMENT_METRICS_MAX; m++)
        free(record->metric[m].values);
    *record = (struct experiment_record){0};
}

/* ---- as a result has it ---------------------------------------------------------------------- */

/* The text between bars, of a choice. */
static json_t *choice_to_json(const char *choices, uint64_t position)
{
    char word[64];
    for (; position > 0 && *choices; position--)
        choices += strcspn(choices, "|") + 1;
    snprintf(word, sizeof word, "%.*s", (int)strcspn(choices, "|"), choices);
    return tree_text(word);
}

json_t *experiment_options_to_json(const struct experiment *experiment,
                                   const struct experiment_settings *settings)
{
    json_t *json = tree_object();
    const struct option_spec *o = experiment->options;
    for (size_t i = 0; o && o[i].name; i++) {
        const uint64_t value = settings->options.value[i];
        tree_put(json, o[i].name,
                 o[i].type == OPTION_CHOICE ? choice_to_json(o[i].choices, value)
                                            : tree_count(value));
    }
    tree_put(json, "strategies", tree_text(settings->strategies));
    tree_put(json, "seed", tree_count(settings->seed));
    tree_put(json, "capacity_bytes", tree_count_or_null(settings->capacity_bytes));
    return json;
}

json_t *experiment_key_to_json(const struct experiment *experiment,
                               const struct experiment_row *row)
{
    json_t *json = tree_object();
    const struct experiment_parameter *p = experiment->parameters;
    for (size_t i = 0; p[i].name; i++)
        tree_put(json, p[i].name, tree_text(row->word[i]));
    return json;
}
