/* The exact values of a picture: lines as gnuplot 5.4 writes them, and what is made of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/text.h"
#include "record/chart/svg.h"

#define HEAD "<svg viewBox=\"0 0 9 9\">\n<title>Gnuplot</title>\n"
#define VALUE(text, place)                                                                         \
    "\t<g onmousemove=\"gnuplot_svg.showHypertext(evt,'" text "')\" "                              \
    "onmouseout=\"gnuplot_svg.hideHypertext()\"><title> </title>\n"                                \
    "\t<use xlink:href='#gpPt6' transform='" place "' color='rgb(  0,   0,   0)' "                 \
    "opacity='0.00'/></g>\n"
#define GROUP "<g fill=\"none\" color=\"black\" stroke=\"currentColor\">\n"
#define VALUES                                                                                     \
    "<g class=\"values\" fill=\"none\" stroke=\"#888\" stroke-opacity=\"0\" "                      \
    "pointer-events=\"stroke\">\n"
#define DOTS(width) "<g stroke-width=\"" width "\" stroke-linecap=\"round\">"
#define BARS(width) "<g stroke-width=\"" width "\">"

static const struct {
    const char *of, *made;
} pictures[] = {
    /* nothing to do */
    {HEAD GROUP "\t<path d='M1,1 L2,2'/></g>\n</svg>\n",
     HEAD GROUP "\t<path d='M1,1 L2,2'/></g>\n</svg>\n"},
    /* the name of a plot, and groups with nothing in them */
    {HEAD "\t<g id=\"gnuplot_plot_1\" ><title>gnuplot_plot_1</title>\n" GROUP "</g>\n" GROUP
          "\t<path d='M1,1'/>\n</g>\n\t</g>\n</svg>\n",
     HEAD "\t<g id=\"gnuplot_plot_1\" >\n" GROUP "\t<path d='M1,1'/>\n</g>\n\t</g>\n</svg>\n"},
    /* dots, of which one text is at two heights */
    {HEAD GROUP VALUE("a &lt; 1", "translate(12.4,7.6) scale(5.00)") "</g>\n" GROUP VALUE(
         "b", "translate(20.00,30.00) scale(5.00)")
         VALUE("b", "translate(20.00,40.00) scale(2.50)") "</g>\n</svg>\n",
     HEAD VALUES DOTS(
         "10") "\n<path d=\"M12 8H12\"><title>a &lt; 1</title></path>"
               "\n<path d=\"M20 30H20\"><title>b</title></path></g>\n" DOTS(
                   "5") "\n<path d=\"M20 40H20\"><title>b</title></path></g></g>\n</svg>\n"},
    /* both ends of a bar, in any order; no bar is too short to be hit */
    {HEAD GROUP VALUE("long", "translate(90.00,7.00) scale(5.00)")
         VALUE("short", "translate(10.20,9.00) scale(5.00)")
             VALUE("long", "translate(10.00,7.00) scale(5.00)")
                 VALUE("short", "translate(10.00,9.00) scale(5.00)") "</g>\n</svg>\n",
     HEAD VALUES BARS("10") "\n<path d=\"M10 7H90\"><title>long</title></path>"
                            "\n<path d=\"M10 9H12\"><title>short</title></path></g></g>\n</svg>\n"},
    /* cut in the middle: what is there stays */
    {HEAD "\t<g onmousemove=\"gnuplot_svg.showHypertext(evt,'a",
     HEAD "\t<g onmousemove=\"gnuplot_svg.showHypertext(evt,'a"},
    {HEAD VALUE("a", "rotate(7)") "</svg>\n", HEAD VALUE("a", "rotate(7)") "</svg>\n"},
};

static void pictures_have_values(void **state)
{
    char path[] = "/tmp/gamut-test-XXXXXX";
    (void)state;
    const int made = mkstemp(path);
    assert_true(made >= 0);
    close(made);
    for (size_t i = 0; i < sizeof pictures / sizeof *pictures; i++) {
        struct text svg = {0}, finished = {0};
        struct error error = {0};
        text_add_bytes(&svg, pictures[i].of, strlen(pictures[i].of));
        assert_int_equal(text_write_file(&svg, path, NULL), 0);
        if (svg_finish(path, &error))
            fail_msg("%s", error.text);
        assert_int_equal(text_read_file(&finished, path, NULL), 0);
        assert_string_equal(finished.data, pictures[i].made);
        text_free(&svg);
        text_free(&finished);
    }
    unlink(path);
}

static void a_missing_picture_is_an_error(void **state)
{
    struct error error = {0};
    (void)state;
    assert_int_equal(svg_finish("/nowhere/a.svg", &error), ERR_IO);
    assert_non_null(strstr(error.text, "/nowhere/a.svg"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pictures_have_values),
        cmocka_unit_test(a_missing_picture_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
