#include "tests/base/golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tests/base/cmocka.h"

char *golden_read(const char *path)
{
    struct text full = {0}, contents = {0};
    text_add(&full, "%s/%s", GAMUT_ROOT, path);
    int code = text_read_file(&contents, full.data, NULL);
    text_free(&full);
    if (code)
        text_free(&contents);
    return contents.data;
}

static void update(const char *path, const char *text)
{
    struct text full = {0};
    text_add(&full, "%s/%s", GAMUT_ROOT, path);
    FILE *file = fopen(full.data, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    text_free(&full);
}

void golden_check(const char *name, const char *text)
{
    struct text path = {0};
    text_add(&path, "tests/golden/%s", name);
    if (getenv("GAMUT_UPDATE_GOLDEN"))
        update(path.data, text);
    char *expected = golden_read(path.data);
    if (!expected)
        fail_msg("%s can't be read below %s", path.data, GAMUT_ROOT);
    if (strcmp(expected, text) != 0)
        print_error("%s differs from what was printed:\n%s", path.data, text);
    assert_string_equal(expected, text);
    free(expected);
    text_free(&path);
}
