/* How to come by these numbers again. */
#include <string.h>

#include "base/text.h"
#include "base/tree.h"
#include "report/page.h"

/* A word as a shell reads it. */
static void add_word(struct text *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./:=,+@%";
    if (*word && !word[strspn(word, plain)]) {
        text_add(out, "%s", word);
        return;
    }
    text_add(out, "'");
    for (; *word; word++)
        text_add(out, *word == '\'' ? "'\\''" : "%c", *word);
    text_add(out, "'");
}

static void add_command(struct text *out, const json_t *argv)
{
    size_t i;
    json_t *word;
    json_array_foreach(argv, i, word)
    {
        text_add(out, i ? " " : "");
        add_word(out, json_string_value(word) ? json_string_value(word) : "");
    }
}

void page_reproduce(struct page *page, const struct page_file *file)
{
    const json_t *run = json_object_get(file->root, "run");
    const json_t *tool = json_object_get(json_object_get(file->root, "context"), "tool");
    const char *revision = tree_get_text(tool, "git_rev");
    const bool has_cases = json_array_size(json_object_get(file->root, "cases")) > 0;
    struct text command = {0}, copy = {0}, quoted = {0};
    add_command(&command, json_object_get(run, "argv"));
    text_add(&copy, "data/%s", file->name);
    add_word(&quoted, copy.data);
    page_section(page, file, "reproduce", "How to reproduce", NULL);
    fputs("<p>The numbers are those of <a href=\"", page->out);
    html_path(page->out, copy.data);
    html_print(page->out, "\">%s</a>, which was made by</p>\n<pre><code>%s</code></pre>\n",
               file->name, command.data ? command.data : "");
    if (*revision)
        html_print(page->out,
                   "<p>The build:</p>\n<pre><code>git checkout %s &amp;&amp; make setup all"
                   "</code></pre>\n",
                   revision);
    if (has_cases)
        html_print(page->out,
                   "<p>The same cases, with the same settings and seed, on another machine or day "
                   "(from the folder of this page):</p>\n"
                   "<pre><code>gamut run --like %s</code></pre>\n",
                   quoted.data);
    html_print(page->out,
               "<p>What is above, in the terminal: <code>gamut plot %s</code></p>\n</section>\n",
               quoted.data);
    text_free(&command);
    text_free(&quoted);
    text_free(&copy);
}
