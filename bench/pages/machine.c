/* The sections about the run itself: facts about machine and run, and the commands that repeat
 * it. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "pages/sections.h"

/* ---- facts ---------------------------------------------------------------------------------- */

/* Prints a fact, if there is one, and frees its value. */
static void print_fact(FILE *out, const char *name, struct text *value)
{
    if (value->length)
        html_print(out, "<dt>%s</dt><dd>%s</dd>\n", *name ? name : "?", value->data);
    text_free(value);
}

static void add_memory(struct text *out, uint64_t bytes)
{
    char size[32];
    if (bytes)
        text_add(out, ", %s", text_bytes(size, bytes));
}

static void add_text(struct text *out, const char *before, const char *value)
{
    if (value && *value)
        text_add(out, "%s%s", before, value);
}

static void device_fact(FILE *out, const struct record_device *device)
{
    struct text value = {0};
    text_add(&value, "%s", device->name);
    add_memory(&value, device->memory_bytes);
    if (device->compute_units)
        text_add(&value, ", %u units", device->compute_units);
    add_text(&value, ", ", device->arch);
    add_text(&value, ", driver ", device->driver);
    add_text(&value, ", ", device->platform);
    if (device->copy_bytes_per_second > 0)
        text_add(&value, ", copies %.1f GB/s", device->copy_bytes_per_second / 1e9);
    print_fact(out, device->id, &value);
}

static void host_facts(FILE *out, const struct record_host *host)
{
    struct text value = {0};
    text_add(&value, "%s", host->cpu);
    if (host->cpus)
        text_add(&value, ", %u cores", host->cpus);
    add_memory(&value, host->memory_bytes);
    add_text(&value, ", governor ", host->governor);
    if (!isnan(host->load1))
        text_add(&value, ", load %.2f when it began", host->load1);
    print_fact(out, "host", &value);
    text_add(&value, "%s", host->os);
    add_text(&value, ", kernel ", host->kernel);
    add_text(&value, ", ", host->arch);
    print_fact(out, "system", &value);
    add_text(&value, "", host->machine_id);
    print_fact(out, "machine", &value);
}

static void tool_fact(FILE *out, const struct record_tool *tool)
{
    struct text value = {0};
    text_add(&value, "%s, revision %s%s", tool->version, tool->git_rev ? tool->git_rev : "unknown",
             tool->git_dirty > 0 ? " with changes" : "");
    add_text(&value, ", ", tool->compiler);
    add_text(&value, " ", tool->cflags);
    add_text(&value, ", build ", tool->build);
    print_fact(out, "gamut", &value);
}

static void run_fact(FILE *out, const struct result_run *run)
{
    struct text value = {0};
    char rounds[48];
    const double minutes = (double)run->duration_ns / 60e9;
    text_add(&value, "%s, %s, seed %" PRIu64 ", %s", run->started_at,
             text_count(rounds, run->rounds, "round"), run->seed, run_status_name(run->status));
    if (run->duration_ns != UINT64_MAX)
        text_add(&value, minutes < 2 ? ", took %.0f s" : ", took %.0f min",
                 minutes < 2 ? 60 * minutes : minutes);
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

void section_machine(const struct page *page, const struct page_file *file)
{
    const struct result_context *context = &file->result.context;
    page_section(page, file, "machine", "Machine and run", NULL);
    fputs("<dl>\n", page->out);
    for (size_t i = 0; i < context->device_count; i++)
        device_fact(page->out, &context->devices[i]);
    host_facts(page->out, &context->host);
    tool_fact(page->out, &context->tool);
    run_fact(page->out, &file->result.run);
    environment_fact(page->out, context->env);
    fputs("</dl>\n</section>\n", page->out);
}

/* ---- how to reproduce ------------------------------------------------------------------------ */

void section_reproduce(const struct page *page, const struct page_file *file)
{
    const char *revision = file->result.context.tool.git_rev;
    const struct result_run *run = &file->result.run;
    const bool has_cases = file->result.case_count > 0;
    struct text command = {0}, copy = {0}, quoted = {0};
    for (size_t i = 0; i < run->argc; i++) {
        text_add(&command, i ? " " : "");
        text_add_word(&command, run->argv[i]);
    }
    text_add(&copy, "data/%s", file->name);
    text_add_word(&quoted, copy.data);
    page_section(page, file, "reproduce", "How to reproduce", NULL);
    fputs("<p>All numbers come from <a href=\"", page->out);
    html_path(page->out, copy.data);
    html_print(page->out, "\">%s</a>. This command made it:</p>\n<pre><code>%s</code></pre>\n",
               file->name, command.data ? command.data : "");
    if (revision)
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
               "<p>Charts in a terminal: <code>gamut plot %s -t dumb</code></p>\n</section>\n",
               quoted.data);
    text_free(&command);
    text_free(&quoted);
    text_free(&copy);
}
