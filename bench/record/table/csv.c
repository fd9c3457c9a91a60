#include "record/table/csv.h"

#include <string.h>

#include "record/facts/case.h"
#include "record/table/print.h"
#include "base/tree.h"

static const char *const key_names[] = {
#define X(member) #member,
    CASE_KEY_ALL_LIST(X)
#undef X
};
enum { KEY_NAMES = sizeof key_names / sizeof *key_names };

static void print_value(const json_t *value, FILE *out)
{
    fputc(',', out);
    if (json_is_integer(value))
        fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        fprintf(out, "%.12g", json_real_value(value));
}

static void print_case(const json_t *root, const json_t *one_case, FILE *out)
{
    const json_t *key = json_object_get(one_case, "key");
    fprintf(out, "%s,%s", tree_get_text(json_object_get(root, "schema"), "version"),
            tree_get_text(one_case, "id"));
    for (int i = 0; i < KEY_NAMES; i++) {
        fputc(',', out);
        print_csv_cell(tree_get_text(key, key_names[i]), out);
    }
    fprintf(out, ",%s,", tree_get_text(one_case, "status"));
}

static void print_interval(const json_t *stats, const char *cold, FILE *out)
{
    print_value(json_object_get(stats, "median"), out);
    print_value(json_object_get(stats, "ci_lo"), out);
    print_value(json_object_get(stats, "ci_hi"), out);
    print_value(cold ? json_object_get(stats, cold) : NULL, out);
    fputc('\n', out);
}

static void print_metric(const json_t *one_case, const char *name, const json_t *metric, FILE *out)
{
    const char *kind = tree_get_text(metric, "kind");
    fprintf(out, "%s,%s,%s", name, tree_get_text(metric, "unit"), kind);
    if (strcmp(kind, "sampled") == 0) {
        print_interval(json_object_get(json_object_get(one_case, "stats"), name), "cold_median",
                       out);
        return;
    }
    const json_t *counters = json_object_get(one_case, "counters");
    print_value(json_object_get(json_object_get(counters, "warm"), name), out);
    fputs(",,", out);
    print_value(json_object_get(json_object_get(counters, "cold"), name), out);
    fputc('\n', out);
}

/* Predictions of a case, where there are any. */
static void print_model(const json_t *root, const json_t *one_case, FILE *out)
{
    static const char *const names[] = {
#define X(name, help) #name,
        MODEL_LIST(X)
#undef X
    };
    const json_t *model = json_object_get(one_case, "model");
    for (size_t i = 0; i < sizeof names / sizeof *names && json_is_object(model); i++) {
        print_case(root, one_case, out);
        fprintf(out, "model.%s,ns,sampled", names[i]);
        print_value(json_object_get(model, names[i]), out);
        fputs(",,,\n", out);
    }
}

void csv_print(const json_t *root, FILE *out)
{
    size_t i;
    const char *name;
    json_t *one_case, *metric;
    fputs("schema_version,id", out);
    for (int k = 0; k < KEY_NAMES; k++)
        fprintf(out, ",%s", key_names[k]);
    fputs(",status,metric,unit,kind,value,ci_lo,ci_hi,cold\n", out);
    json_array_foreach(json_object_get(root, "cases"), i, one_case)
    {
        if (strcmp(tree_get_text(one_case, "status"), case_status_name(CASE_ok)) != 0) {
            print_case(root, one_case, out);
            fputs(",,,,,,\n", out);
            continue;
        }
        json_object_foreach(json_object_get(root, "metrics"), name, metric)
        {
            print_case(root, one_case, out);
            print_metric(one_case, name, metric, out);
        }
        print_model(root, one_case, out);
        print_case(root, one_case, out);
        fputs("speedup_over_raw,ratio,sampled", out);
        print_interval(json_object_get(one_case, "speedup_over_raw"), NULL, out);
        print_case(root, one_case, out);
        fputs("peak_over_best,ratio,exact", out);
        print_value(json_object_get(one_case, "peak_over_best"), out);
        fputs(",,,\n", out);
        print_case(root, one_case, out);
        fputs("floor_ns,ns,sampled", out);
        print_value(json_object_get(one_case, "floor_ns"), out);
        fputs(",,,\n", out);
        print_case(root, one_case, out);
        fputs("of_floor,ratio,sampled", out);
        print_value(json_object_get(one_case, "of_floor"), out);
        fputs(",,,\n", out);
    }
}
