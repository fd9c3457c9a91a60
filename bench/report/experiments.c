/* Experiments: what each says of itself, its table, and what failed. */
#include <stdlib.h>

#include "record/result/case_tree.h"
#include "record/result/experiment.h"
#include "record/table/experiment_table.h"
#include "base/tree.h"
#include "report/page.h"

static void print_metrics(FILE *out, const json_t *experiment)
{
    const char *name;
    json_t *metric, *parameter;
    size_t i;
    fputs("<details><summary>What the columns are</summary>\n<dl>\n", out);
    json_array_foreach(json_object_get(experiment, "parameters"), i, parameter)
        html_print(out, "<dt>%s</dt><dd>%s</dd>\n", tree_get_text(parameter, "name"),
                   tree_get_text(parameter, "help"));
    json_object_foreach(json_object_get(experiment, "metrics"), name, metric)
        html_print(out, "<dt>%s</dt><dd>%s</dd>\n", name, tree_get_text(metric, "help"));
    fputs("</dl></details>\n", out);
}

static void print_warnings(FILE *out, const json_t *experiment)
{
    size_t i, j;
    json_t *row, *warning;
    json_array_foreach(json_object_get(experiment, "rows"), i, row)
        json_array_foreach(json_object_get(row, "warnings"), j, warning)
    {
        struct text words = {0};
        experiment_row_words(experiment, row, &words);
        html_print(out, "<p class=\"soft\">%s: <strong>%s</strong> %s: %s</p>\n", words.data,
                   tree_get_text(warning, "code"), tree_get_text(warning, "subject"),
                   tree_get_text(warning, "detail"));
        text_free(&words);
    }
}

void page_experiments(struct page *page, const struct page_file *file)
{
    const json_t *experiments = json_object_get(file->root, "experiments");
    size_t i;
    json_t *each;
    if (!json_array_size(experiments))
        return;
    page_section(page, file, "experiments", "Experiments",
                 "Medians over rounds. A wrong answer has no numbers.");
    json_array_foreach(experiments, i, each)
    {
        char *text = NULL;
        size_t length;
        FILE *buffer = open_memstream(&text, &length);
        experiment_table_print(each, TABLE_TEXT, buffer);
        fclose(buffer);
        fputs("<pre>", page->out);
        html_text(page->out, text);
        fputs("</pre>\n", page->out);
        print_warnings(page->out, each);
        print_metrics(page->out, each);
        free(text);
    }
    fputs("</section>\n", page->out);
}
