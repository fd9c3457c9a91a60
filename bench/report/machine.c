/* The sections about the run itself: tiles with the main figures, facts about machine and run, and
 * the commands that repeat it. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "base/tree.h"
#include "record/result/answer.h"
#include "record/result/case_tree.h"
#include "report/sections.h"

/* ---- tiles ---------------------------------------------------------------------------------- */

static void print_tile(FILE *out, const char *figure, const char *of)
{
    html_print(out, "<div class=\"tile\"><b>%s</b><span>%s</span></div>\n", figure, of);
}

/* Without times the configuration with the least memory is the first. */
static void print_least(FILE *out, const json_t *device)
{
    const json_t *least = json_array_get(json_object_get(device, "ranking"), 0);
    const double over = tree_get_number(least, "memory_over_bound");
    if (isnan(over))
        return;
    struct text figure = {0}, of = {0};
    text_add(&figure, "%.2f×", over);
    text_add(&of, "the lower bound in held memory: %s on %s", tree_get_text(least, "name"),
             tree_get_text(device, "device"));
    print_tile(out, figure.data, of.data);
    text_free(&figure);
    text_free(&of);
}

/* Prints the fastest configuration of a device, unless it is what ratios are over. */
static void print_fastest(FILE *out, const json_t *device)
{
    const json_t *fastest = json_array_get(json_object_get(device, "ranking"), 0);
    const double ratio = tree_get_number(json_object_get(fastest, "speedup"), "median");
    if (!(tree_get_number(device, "rounds") > 0)) {
        print_least(out, device);
        return;
    }
    if (isnan(ratio) || json_is_true(json_object_get(fastest, "is_baseline")))
        return;
    struct text figure = {0}, of = {0};
    text_add(&figure, "%.2f×", ratio);
    text_add(&of, "as fast as %s: %s on %s", tree_get_text(device, "against"),
             tree_get_text(fastest, "name"), tree_get_text(device, "device"));
    print_tile(out, figure.data, of.data);
    text_free(&figure);
    text_free(&of);
}

static void print_sentences(FILE *out, const json_t *answer)
{
    const char *before = "<ul class=\"plain\">\n";
    size_t i, j;
    json_t *device, *sentence;
    json_array_foreach((json_t *)answer, i, device)
        json_array_foreach(json_object_get(device, "sentences"), j, sentence)
    {
        fputs(before, out);
        html_print(out, "<li>%s</li>\n", json_string_value(sentence));
        before = "";
    }
    fputs(*before ? "" : "</ul>\n", out);
}

void section_tiles(const struct page *page, const struct page_file *file)
{
    const json_t *run = json_object_get(file->root, "run");
    const json_t *cases = json_object_get(file->root, "cases"), *each;
    json_t *answer = answer_of(file->root, NULL);
    const double duration = tree_get_number(run, "duration_ns");
    size_t ok = 0, skipped = 0, i;
    char figure[64], of[128];
    json_array_foreach(cases, i, each)
    {
        ok += case_is_ok(each);
        skipped += case_is_skipped(each);
    }
    fputs("<div class=\"tiles\">\n", page->out);
    if (json_array_size(cases)) {
        snprintf(figure, sizeof figure, "%zu of %zu", ok, json_array_size(cases));
        snprintf(of, sizeof of, skipped ? "cases are ok, %zu were skipped" : "cases are ok",
                 skipped);
        print_tile(page->out, figure, of);
    }
    json_array_foreach(answer, i, each) print_fastest(page->out, each);
    if (case_some_has_time(file->root, NULL)) {
        text_count(figure, tree_get_number(run, "rounds"), "round");
        snprintf(of, sizeof of, "a fresh process each%s",
                 tree_get_number(run, "rounds") < 6 ? "; intervals need 6" : "");
        print_tile(page->out, figure, of);
    }
    if (!isnan(duration)) {
        if (duration < 120e9)
            text_ns(figure, duration);
        else
            snprintf(figure, sizeof figure, "%.0f min", duration / 60e9);
        snprintf(of, sizeof of, "of %s, %.10s", page_is_replay(file) ? "replaying" : "measuring",
                 tree_get_text(run, "started_at"));
        print_tile(page->out, figure, of);
    }
    fputs("</div>\n", page->out);
    print_sentences(page->out, answer);
    json_decref(answer);
}

/* ---- facts ---------------------------------------------------------------------------------- */

/* Prints a fact, if there is one, and frees its value. */
static void print_fact(FILE *out, const char *name, struct text *value)
{
    if (value->length)
        html_print(out, "<dt>%s</dt><dd>%s</dd>\n", *name ? name : "?", value->data);
    text_free(value);
}

static void add_memory(struct text *out, const json_t *object)
{
    const double bytes = tree_get_number(object, "memory_bytes");
    char size[32];
    if (bytes > 0)
        text_add(out, ", %s", text_bytes(size, (uint64_t)bytes));
}

static void add_text(struct text *out, const char *before, const json_t *object, const char *member)
{
    if (*tree_get_text(object, member))
        text_add(out, "%s%s", before, tree_get_text(object, member));
}

static void device_fact(FILE *out, const json_t *device)
{
    struct text value = {0};
    const double rate = tree_get_number(device, "copy_bytes_per_second");
    const double units = tree_get_number(device, "compute_units");
    text_add(&value, "%s", tree_get_text(device, "name"));
    add_memory(&value, device);
    if (units > 0)
        text_add(&value, ", %.0f units", units);
    add_text(&value, ", ", device, "arch");
    add_text(&value, ", driver ", device, "driver");
    add_text(&value, ", ", device, "platform");
    if (rate > 0)
        text_add(&value, ", copies %.1f GB/s", rate / 1e9);
    print_fact(out, tree_get_text(device, "id"), &value);
}

static void host_facts(FILE *out, const json_t *host)
{
    struct text value = {0};
    text_add(&value, "%s", tree_get_text(host, "cpu"));
    if (tree_get_number(host, "cpus") > 0)
        text_add(&value, ", %.0f cores", tree_get_number(host, "cpus"));
    add_memory(&value, host);
    add_text(&value, ", governor ", host, "governor");
    if (!isnan(tree_get_number(host, "load1")))
        text_add(&value, ", load %.2f when it began", tree_get_number(host, "load1"));
    print_fact(out, "host", &value);
    text_add(&value, "%s", tree_get_text(host, "os"));
    add_text(&value, ", kernel ", host, "kernel");
    add_text(&value, ", ", host, "arch");
    print_fact(out, "system", &value);
    add_text(&value, "", host, "machine_id");
    print_fact(out, "machine", &value);
}

static void tool_fact(FILE *out, const json_t *tool)
{
    struct text value = {0};
    const char *revision = tree_get_text(tool, "git_rev");
    text_add(&value, "%s, revision %s%s", tree_get_text(tool, "version"),
             *revision ? revision : "unknown",
             json_is_true(json_object_get(tool, "git_dirty")) ? " with changes" : "");
    add_text(&value, ", ", tool, "compiler");
    add_text(&value, " ", tool, "cflags");
    add_text(&value, ", build ", tool, "build");
    print_fact(out, "gamut", &value);
}

static void run_fact(FILE *out, const json_t *run)
{
    struct text value = {0};
    char rounds[48];
    text_add(&value, "%s, %s, seed %.0f, %s", tree_get_text(run, "started_at"),
             text_count(rounds, tree_get_number(run, "rounds"), "round"),
             tree_get_number(run, "seed"), tree_get_text(run, "status"));
    print_fact(out, "run", &value);
}

static void environment_fact(FILE *out, const json_t *env)
{
    const char *name;
    json_t *value;
    if (!json_object_size(env))
        return;
    fputs("<dt>environment</dt><dd>", out);
    json_object_foreach((json_t *)env, name, value) html_print(
        out, "<code>%s=%s</code> ", name, json_string_value(value) ? json_string_value(value) : "");
    fputs("</dd>\n", out);
}

/* ---- reasons to doubt the figures --------------------------------------------------------- */

static void print_doubts(FILE *out, const json_t *root)
{
    const json_t *tool = json_object_get(json_object_get(root, "context"), "tool");
    const json_t *run = json_object_get(root, "run");
    const char *build = tree_get_text(tool, "build");
    fputs("<ul class=\"plain warn\">\n", out);
    if (json_is_true(json_object_get(tool, "git_dirty")))
        fputs("<li>! The source had uncommitted changes: this build cannot be made again.</li>\n",
              out);
    if (*build && strcmp(build, "release") != 0)
        html_print(out, "<li>! The build is “%s”: its times are not those of a release.</li>\n",
                   build);
    if (case_some_has_time(root, NULL) && tree_get_number(run, "rounds") < 6)
        fputs(
            "<li>! Fewer than 6 rounds give no intervals, so no difference is established.</li>\n",
            out);
    if (strcmp(tree_get_text(run, "status"), "complete") != 0)
        html_print(out, "<li>! The run is %s.</li>\n", tree_get_text(run, "status"));
    fputs("</ul>\n", out);
}

void section_machine(const struct page *page, const struct page_file *file)
{
    const json_t *context = json_object_get(file->root, "context"), *device;
    size_t i;
    page_section(page, file, "machine", "Machine and run", NULL);
    fputs("<dl>\n", page->out);
    json_array_foreach(json_object_get(context, "devices"), i, device)
        device_fact(page->out, device);
    host_facts(page->out, json_object_get(context, "host"));
    tool_fact(page->out, json_object_get(context, "tool"));
    run_fact(page->out, json_object_get(file->root, "run"));
    environment_fact(page->out, json_object_get(context, "env"));
    fputs("</dl>\n", page->out);
    print_doubts(page->out, file->root);
    fputs("</section>\n", page->out);
}

/* ---- how to reproduce ------------------------------------------------------------------------ */

/* Adds a word, quoted where a shell would read it otherwise. */
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

void section_reproduce(const struct page *page, const struct page_file *file)
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
    fputs("<p>All numbers come from <a href=\"", page->out);
    html_path(page->out, copy.data);
    html_print(page->out, "\">%s</a>. This command made it:</p>\n<pre><code>%s</code></pre>\n",
               file->name, command.data ? command.data : "");
    if (*revision)
        html_print(page->out,
                   "<p>To build the same revision:</p>\n<pre><code>git checkout %s &amp;&amp; make "
                   "setup all</code></pre>\n",
                   revision);
    if (has_cases && !page_is_replay(file))
        html_print(
            page->out,
            "<p>To run the same cases with the same settings and seed again, in the folder of "
            "this page:</p>\n"
            "<pre><code>gamut run --like %s</code></pre>\n",
            quoted.data);
    html_print(page->out,
               "<p>To draw the charts in a terminal: <code>gamut plot %s</code></p>\n</section>\n",
               quoted.data);
    text_free(&command);
    text_free(&quoted);
    text_free(&copy);
}
