/* A page as its script reads it: every block of the trace is there once, with its own numbers, at a
 * place that the strategy held and no other block had; and names that are written to be carried out
 * stay names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/arena.h"
#include "base/random.h"
#include "base/tree.h"
#include "tests/base/cmocka.h"
#include "tests/trace/trace_fixture.h"
#include "pages/view.h"

enum { EVENTS = 6000, LIVE = 200 };

static const char *const names[] = {"conv.py:12",
                                    "</script><script>alert(1)</script>",
                                    "<!--<script>",
                                    "\"><img src=x onerror=alert(1)>",
                                    "&lt;b&gt; ${1} `2` \\u003c '3'",
                                    "\x1b[31m\xff\xfe\x01",
                                    "]]></style><svg onload=alert(1)>"};
enum { NAMES = sizeof names / sizeof *names };

static void must(int code, const struct error *error)
{
    if (code)
        fail_msg("%s", error->text);
}

/* ---- the trace ---- */

struct made {
    unsigned count;
    struct view_block blocks[EVENTS]; /* by birth; the name is an index of `names` */
};

static void end_all(struct made *made, const unsigned *live, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        made->blocks[live[i]].died = EVENTS + 1;
}

static void make_trace(const char *path, struct made *made)
{
    struct trace_info info = {.time_unit_ns = 1000};
    snprintf(info.source, sizeof info.source, "%s", names[1]);
    snprintf(info.application, sizeof info.application, "%s", names[3]);
    info.knows[TRACE_KNOWS_times] = info.knows[TRACE_KNOWS_frees] = true;
    info.knows[TRACE_KNOWS_sites] = info.knows[TRACE_KNOWS_phases] = true;
    struct random random = {7};
    struct trace_writer *writer;
    struct error error;
    unsigned live[LIVE], slots[LIVE], count = 0;
    made->count = 0;
    must(trace_create(path, &info, &writer, &error), &error);
    for (uint32_t moment = 1; moment <= EVENTS; moment++) {
        struct trace_event e = {.time_ns = 1000 * (uint64_t)moment, .kind = TRACE_begin};
        const bool is_phase = moment % 500 == 1;
        const bool is_refused = moment % 500 == 2, is_dispensable = moment % 500 == 3;
        const bool is_birth = !is_phase && !is_refused && !is_dispensable &&
                              (count == 0 || (count < LIVE && random_below(&random, 100) < 52));
        const unsigned name = (unsigned)random_below(&random, NAMES);
        const unsigned at = is_birth || !count ? count : (unsigned)random_below(&random, count);
        if (is_phase) {
            e.name = trace_name(writer, names[name]);
        } else if (is_refused || is_dispensable) {
            e.kind = TRACE_refused;
            e.bytes = moment;
            e.name = trace_name(writer, is_refused ? names[1] : "cuDNN workspaces: a.py:1");
        } else if (is_birth) {
            e.kind = TRACE_alloc;
            e.bytes = random_below(&random, 3000000) + 1;
            e.name = trace_name(writer, names[name]);
            e.slot = trace_take_slot(writer);
            slots[count] = e.slot;
            live[count++] = made->count;
            made->blocks[made->count++] = (struct view_block){e.bytes, moment, 0, name, name};
        } else {
            e.kind = TRACE_free;
            e.slot = slots[at];
            made->blocks[live[at]].died = moment;
        }
        trace_put(writer, &e);
        if (e.kind == TRACE_free) {
            trace_give_slot(writer, slots[at]);
            slots[at] = slots[--count];
            live[at] = live[count];
        }
    }
    end_all(made, live, count);
    must(trace_finish(writer, true, NULL, &error), &error);
}

static char *make_page(const char *path, const char *const *strategies, size_t count,
                       struct view_report *report)
{
    struct view_options options = {.name = names[1],
                                   .strategy_count = count,
                                   .strategies = strategies,
                                   .free_at = FREE_AT_DONE,
                                   .last = UINT32_MAX};
    struct error error;
    char *page;
    size_t length;
    must(trace_open(path, &options.reader, &error), &error);
    FILE *out = open_memstream(&page, &length);
    must(view_write(&options, 1, out, report, &error), &error);
    fclose(out);
    trace_close(options.reader);
    assert_int_equal(strlen(page), length);
    return page;
}

/* ---- what the script reads ---- */

struct numbers {
    unsigned char *bytes;
    size_t at, length;
};

static int digit_of(char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

static struct numbers element_of(const char *page, json_int_t number)
{
    static unsigned char packed[1 << 20];
    struct numbers n = {.length = 1 << 22};
    char head[80];
    size_t length = 0;
    unsigned bits = 0, value = 0;
    snprintf(head, sizeof head, "<script type=\"text/plain\" id=\"b%d\">", (int)number);
    const char *c = strstr(page, head);
    assert_non_null(c);
    for (c += strlen(head); digit_of(*c) >= 0; c++) {
        value = value << 6 | (unsigned)digit_of(*c);
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            packed[length++] = (unsigned char)(value >> bits);
        }
    }
    n.bytes = must_alloc(n.length);
    uLongf out = n.length;
    assert_int_equal(uncompress(n.bytes, &out, packed, length), Z_OK);
    n.length = out;
    return n;
}

static uint64_t plain(struct numbers *n)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        assert_true(n->at < n->length);
        const unsigned char byte = n->bytes[n->at++];
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return value;
    }
}

static uint64_t step(struct numbers *n, uint64_t *before)
{
    const uint64_t value = plain(n);
    return *before += value % 2 ? -(value / 2 + 1) : value / 2;
}

static json_t *data_of(const char *page)
{
    static const char head[] = "<script type=\"application/json\" id=\"data\">";
    const char *text = strstr(page, head);
    assert_non_null(text);
    text += strlen(head);
    json_t *json = json_loadb(text, strcspn(text, "<"), 0, NULL);
    assert_non_null(json);
    return json;
}

struct drawn {
    struct view_block block;
    uint64_t address, granted; /* of the strategy in question */
};

/* The blocks of the page, and where a strategy has them. */
static unsigned read_blocks(const char *page, const json_t *json, const json_t *strategy,
                            struct drawn *all)
{
    const json_t *chunks = json_object_get(json, "blocks"), *chunk;
    const uint64_t unit = (uint64_t)json_integer_value(json_object_get(strategy, "unit"));
    unsigned count = 0;
    size_t c;
    json_array_foreach((json_t *)chunks, c, chunk)
    {
        const unsigned many = (unsigned)json_integer_value(json_array_get(chunk, 3));
        struct numbers n = element_of(page, json_integer_value(json_array_get(chunk, 4)));
        struct numbers p = element_of(
            page, json_integer_value(json_array_get(json_object_get(strategy, "blocks"), c)));
        struct drawn *of = &all[count];
        uint64_t born = 0, address = 0;
        count += many;
        assert_true(count <= EVENTS);
        for (unsigned i = 0; i < many; i++)
            of[i].block.born = (uint32_t)step(&n, &born);
        for (unsigned i = 0; i < many; i++)
            of[i].block.died = of[i].block.born + (uint32_t)plain(&n);
        for (unsigned i = 0; i < many; i++)
            of[i].block.bytes = plain(&n);
        for (unsigned i = 0; i < many; i++)
            of[i].block.name = (uint32_t)plain(&n);
        for (unsigned i = 0; i < many; i++)
            of[i].address = step(&p, &address) ? (address - 1) * unit : VIEW_NOWHERE;
        for (unsigned i = 0; i < many; i++)
            of[i].granted = of[i].block.bytes + plain(&p);
        assert_true(n.at == n.length && p.at == p.length);
        free(n.bytes);
        free(p.bytes);
    }
    return count;
}

static unsigned read_held(const char *page, const json_t *strategy, struct drawn *all)
{
    const json_t *chunks = json_object_get(strategy, "held"), *chunk;
    const uint64_t unit = (uint64_t)json_integer_value(json_object_get(strategy, "unit"));
    unsigned count = 0;
    size_t c;
    json_array_foreach((json_t *)chunks, c, chunk)
    {
        const unsigned many = (unsigned)json_integer_value(json_array_get(chunk, 3));
        struct numbers n = element_of(page, json_integer_value(json_array_get(chunk, 4)));
        struct drawn *of = &all[count];
        uint64_t born = 0, address = 0;
        count += many;
        assert_true(count <= EVENTS);
        for (unsigned i = 0; i < many; i++)
            of[i].block.born = (uint32_t)step(&n, &born);
        for (unsigned i = 0; i < many; i++)
            of[i].block.died = of[i].block.born + (uint32_t)plain(&n);
        for (unsigned i = 0; i < many; i++)
            of[i].granted = plain(&n);
        for (unsigned i = 0; i < many; i++)
            of[i].address = step(&n, &address) * unit;
        free(n.bytes);
    }
    return count;
}

static int by_birth(const void *a, const void *b)
{
    const struct drawn *x = a, *y = b;
    return (x->block.born > y->block.born) - (x->block.born < y->block.born);
}

/* No two blocks are at one place at one time, and each lies in memory that is held while it
 * lives. */
static void check_places(const struct drawn *all, unsigned count, const struct drawn *held,
                         unsigned held_count)
{
    for (unsigned i = 0; i < count; i++) {
        const struct drawn *a = &all[i];
        bool is_held = false;
        assert_true(a->address != VIEW_NOWHERE && a->granted >= a->block.bytes);
        for (unsigned k = i + 1; k < count; k++)
            assert_true(all[k].block.born >= a->block.died ||
                        all[k].address >= a->address + a->granted ||
                        a->address >= all[k].address + all[k].granted);
        for (unsigned k = 0; k < held_count && !is_held; k++)
            is_held = held[k].block.born <= a->block.born && held[k].block.died >= a->block.died &&
                      held[k].address <= a->address &&
                      a->address + a->granted <= held[k].address + held[k].granted;
        assert_true(is_held);
    }
}

/* Bytes that are not UTF-8 are "?" in a trace and in the page. */
static void check_name(const char *page, const json_t *json, unsigned index, const char *expected)
{
    struct numbers n = element_of(
        page, json_integer_value(json_object_get(json_object_get(json, "names"), "texts")));
    const char *name = (const char *)n.bytes;
    for (unsigned i = 0; i < index; i++)
        name += strlen(name) + 1;
    json_t *whole = tree_text(expected);
    assert_string_equal(name, json_string_value(whole));
    json_decref(whole);
    free(n.bytes);
}

static unsigned count_of(const char *page, const char *what)
{
    unsigned count = 0;
    for (const char *at = page; (at = strstr(at, what)); at += strlen(what))
        count++;
    return count;
}

/* The last refused request that the program could not do without. */
static void check_refusal(const char *page, json_t *json, const struct made *made)
{
    enum { LAST = EVENTS - 498 };
    json_int_t at = 0, bytes = 0, requested = 0, name = 0, live = 0;
    json_unpack(json, "{s:{s:I, s:I, s:I, s:I}}", "refusal", "at", &at, "bytes", &bytes,
                "requested", &requested, "name", &name);
    for (unsigned i = 0; i < made->count; i++)
        if (made->blocks[i].born <= LAST && made->blocks[i].died > LAST)
            live += (json_int_t)made->blocks[i].bytes;
    assert_int_equal(at, LAST);
    assert_int_equal(bytes, LAST);
    assert_int_equal(requested, live);
    check_name(page, json, (unsigned)name, names[1]);
    assert_non_null(strstr(page, "At event 5502 the recorded allocator refused"));
}

static void test_page(void **state)
{
    static const char *const strategies[] = {"caching", "raw", "tlsf"};
    static struct made made;
    static struct drawn all[EVENTS], held[EVENTS];
    const char *path = trace_path("page.trace");
    struct view_report report;
    uint64_t peak = 0;
    (void)state;
    make_trace(path, &made);
    char *page = make_page(path, strategies, 3, &report);
    json_t *json = data_of(page), *strategy;
    size_t s;
    assert_int_equal(report.blocks, made.count);
    assert_int_equal(json_array_size(json_object_get(json, "strategies")), 3);
    json_array_foreach(json_object_get(json, "strategies"), s, strategy)
    {
        const unsigned count = read_blocks(page, json, strategy, all);
        assert_int_equal(count, made.count);
        qsort(all, count, sizeof *all, by_birth);
        for (unsigned i = 0; i < count; i++) {
            assert_int_equal(all[i].block.born, made.blocks[i].born);
            assert_int_equal(all[i].block.died, made.blocks[i].died);
            assert_true(all[i].block.bytes == made.blocks[i].bytes);
            check_name(page, json, all[i].block.name, names[made.blocks[i].name]);
        }
        check_places(all, count, held, read_held(page, strategy, held));
    }
    for (unsigned i = 0; i < made.count; i++) {
        uint64_t live = 0;
        for (unsigned k = 0; k <= i; k++)
            live += made.blocks[k].died > made.blocks[i].born ? made.blocks[k].bytes : 0;
        peak = live > peak ? live : peak;
    }
    assert_true(report.peak_bytes == peak);
    check_refusal(page, json, &made);
    assert_non_null(strstr(page, "<td class=\"n\">")); /* a number, which the style sheet aligns */
    assert_non_null(strstr(page, "td.n,th.n{text-align:right}"));
    json_decref(json);
    free(page);
    free(report.strategies);
}

static void test_hostile_names(void **state)
{
    static const char *const strategies[] = {"pool", "raw:kind=pinned"};
    static struct made made;
    const char *path = trace_path("hostile.trace");
    struct view_report report;
    (void)state;
    make_trace(path, &made);
    char *page = make_page(path, strategies, 2, &report);
    assert_true(*report.strategies[1].reason);
    /* Only the page's own elements begin, and each of them ends. */
    assert_int_equal(count_of(page, "<script"), count_of(page, "</script>"));
    assert_int_equal(count_of(page, "<script>"), 1);
    assert_int_equal(count_of(page, "<script type=\"application/json\" id=\"data\">"), 1);
    assert_int_equal(count_of(page, "<style>"), 1);
    assert_int_equal(count_of(page, "</style>"), 1);
    for (unsigned i = 1; i < NAMES; i++)
        assert_null(strstr(page, names[i]));
    assert_null(strstr(page, "<!--"));
    assert_null(strstr(page, "<img"));
    assert_null(strstr(page, "<svg onload"));
    free(page);
    free(report.strategies);
}

/* The first strategy does not serve the trace: the page is that of the others. */
static void test_first_fails(void **state)
{
    static const char *const strategies[] = {"raw:kind=pinned", "pool"};
    static struct made made;
    const char *path = trace_path("first.trace");
    struct view_report report;
    (void)state;
    make_trace(path, &made);
    char *page = make_page(path, strategies, 2, &report);
    json_t *json = data_of(page);
    assert_int_equal(report.blocks, made.count);
    assert_int_equal(json_array_size(json_object_get(json, "strategies")), 1);
    json_decref(json);
    free(page);
    free(report.strategies);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_page),
                                       cmocka_unit_test(test_hostile_names),
                                       cmocka_unit_test(test_first_fails)};
    return cmocka_run_group_tests(tests, trace_folder_make, trace_folder_remove);
}
