/* A status line: overwritten on a terminal, a line every ten seconds elsewhere. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/terminal.h"
#include "tests/base/cmocka.h"

/* What is written for a line that was shown `pause_ns` ago. */
static char *shown(bool redraws, bool drawn, uint64_t pause_ns, const char *text)
{
    char *written;
    size_t length;
    struct status_line line;
    FILE *out = open_memstream(&written, &length);
    status_line_open(&line, out);
    assert_false(line.redraws); /* a stream into memory is no terminal */
    line.redraws = redraws;
    line.drawn = drawn;
    line.shown_ns = clock_ns() - pause_ns;
    status_line_show(&line, "%s", text);
    fclose(out);
    return written;
}

static void a_line_is_not_shown_too_often(void **state)
{
    static const struct {
        bool redraws, drawn;
        uint64_t pause_ms;
        const char *written;
    } table[] = {
        {true, false, 0, "\rsome text\033[K"},
        {true, true, 0, ""},
        {true, true, 200, "\rsome text\033[K"},
        {false, false, 0, ""},
        {false, false, 9000, ""},
        {false, false, 10000, "gamut: some text\n"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char *written = NULL;
        for (unsigned tries = 0; tries < 50; tries++) { /* what else runs may lengthen a pause */
            free(written);
            written =
                shown(table[i].redraws, table[i].drawn, table[i].pause_ms * 1000000, "some text");
            if (!strcmp(written, table[i].written))
                break;
        }
        assert_string_equal(written, table[i].written);
        free(written);
    }
}

static void a_terminal_shows_whole_characters_in_one_line(void **state)
{
    static const struct {
        const char *text, *written;
    } table[] = {
        {"eleven char", "\releven char\033[K"},
        {"twelve chars", "\rtwelve char\033[K"},
        {"0123456789\u00b5s", "\r0123456789\u00b5\033[K"},
        {"a\033[2Jb", "\ra?[2Jb\033[K"},
        {"", "\r\033[K"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char *written = shown(true, false, 0, table[i].text);
        assert_string_equal(written, table[i].written);
        free(written);
    }
    char *whole = shown(false, false, 10000000000, "a log has all of it");
    assert_string_equal(whole, "gamut: a log has all of it\n");
    free(whole);
}

static void only_a_drawn_line_is_erased(void **state)
{
    char *written;
    size_t length;
    struct status_line line;
    FILE *out = open_memstream(&written, &length);
    (void)state;
    status_line_open(&line, out);
    status_line_clear(&line);
    line.redraws = true;
    status_line_show(&line, "x");
    status_line_clear(&line);
    status_line_clear(&line);
    fclose(out);
    assert_string_equal(written, "\rx\033[K\r\033[K");
    free(written);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_not_shown_too_often),
        cmocka_unit_test(a_terminal_shows_whole_characters_in_one_line),
        cmocka_unit_test(only_a_drawn_line_is_erased),
    };
    setenv("COLUMNS", "12", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
