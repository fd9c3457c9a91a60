/* Files that gzip may have compressed: what is read, and how a bad one is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/gzip_file.h"

enum { BYTES = 100000 };

static char folder[] = "/tmp/gamut-test-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static char *path_of(char path[64], const char *name)
{
    snprintf(path, 64, "%s/%s", folder, name);
    return path;
}

/* Text that shrinks, but not to nothing. */
static void fill(char bytes[BYTES])
{
    uint32_t x = 1;
    for (size_t i = 0; i < BYTES; i++) {
        x = x * 1664525 + 1013904223;
        bytes[i] = (char)('0' + (x >> 24) % 10);
    }
}

static size_t file_size(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    const long size = ftell(file);
    fclose(file);
    return (size_t)size;
}

/* Writes the compressed file, cut to `length`, with the byte at `at` changed. */
static void damage(const char *path, size_t length, size_t at)
{
    struct text text = {0};
    struct error error = {0};
    assert_int_equal(text_read_file(&text, path, &error), 0);
    if (at < text.length)
        text.data[at] ^= 0x55;
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fwrite(text.data, 1, length < text.length ? length : text.length, file);
    fclose(file);
    text_free(&text);
}

static void what_was_written_is_read(void **state)
{
    (void)state;
    static char bytes[BYTES];
    fill(bytes);
    static const struct {
        const char *name;
        bool shrinks;
    } cases[] = {{"plain.json", false}, {"packed.json.gz", true}, {"no_suffix", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[64];
        struct text text = {0};
        struct error error = {0};
        path_of(path, cases[i].name);
        for (int again = 0; again < 2; again++) /* new, and over an old one */
            assert_int_equal(gzip_replace_file(path, bytes, BYTES, &error), 0);
        if (cases[i].shrinks)
            assert_true(file_size(path) < BYTES / 2);
        text_add(&text, "before ");
        assert_int_equal(gzip_read_file(&text, path, BYTES, &error), 0);
        assert_int_equal(text.length, BYTES + 7);
        assert_memory_equal(text.data + 7, bytes, BYTES);
        text_free(&text);
    }
}

static void the_first_bytes_count_and_not_the_name(void **state)
{
    (void)state;
    char path[64], other[64];
    struct text text = {0};
    assert_int_equal(gzip_replace_file(path_of(path, "a.gz"), "abc", 3, NULL), 0);
    assert_int_equal(rename(path, path_of(other, "a.json")), 0);
    assert_int_equal(gzip_read_file(&text, other, 3, NULL), 0);
    assert_string_equal(text.data, "abc");
    text_free(&text);
}

static void bad_files_are_named(void **state)
{
    (void)state;
    static char bytes[BYTES];
    fill(bytes);
    static const size_t whole = SIZE_MAX, nowhere = SIZE_MAX;
    const struct {
        size_t length, damaged_at, most_bytes;
        const char *message;
    } cases[] = {
        {1000, nowhere, BYTES, "ends too early"},
        {15, nowhere, BYTES, "ends too early"},
        {whole, 10, BYTES, "is damaged"},
        {whole, 20000, BYTES, "is damaged"},
        {whole, nowhere, BYTES - 1, "expected at most 97.7 KiB unpacked"},
        {whole, nowhere, 16, "expected at most 16 B unpacked"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[64];
        struct text text = {0};
        struct error error = {0};
        assert_int_equal(gzip_replace_file(path_of(path, "bad.gz"), bytes, BYTES, &error), 0);
        damage(path, cases[i].length, cases[i].damaged_at);
        assert_int_equal(gzip_read_file(&text, path, cases[i].most_bytes, &error), ERR_PARSE);
        assert_non_null(strstr(error.text, path));
        if (!strstr(error.text, cases[i].message))
            fail_msg("\"%s\" does not contain %s", error.text, cases[i].message);
        text_free(&text);
    }
}

/* A megabyte of zeros takes a kilobyte: reading stops soon after the bound. A plain file may be a
 * device. */
static void reading_stops_after_the_bound(void **state)
{
    (void)state;
    enum { ZEROS = 16 << 20, MOST = 1 << 20 };
    char path[64], *zeros = calloc(ZEROS, 1);
    struct text text = {0};
    assert_non_null(zeros);
    assert_int_equal(gzip_replace_file(path_of(path, "bomb.gz"), zeros, ZEROS, NULL), 0);
    assert_true(file_size(path) < 64 << 10);
    assert_int_equal(gzip_read_file(&text, path, MOST, NULL), ERR_PARSE);
    assert_true(text.length < 2 * MOST);
    text_free(&text);
    assert_int_equal(gzip_replace_file(path_of(path, "plain"), zeros, ZEROS, NULL), 0);
    assert_int_equal(gzip_read_file(&text, path, MOST, NULL), ERR_PARSE);
    assert_true(text.length < 2 * MOST);
    text_free(&text);
    free(zeros);
}

static void what_cannot_be_opened(void **state)
{
    (void)state;
    struct text text = {0};
    struct error error = {0};
    assert_int_equal(gzip_read_file(&text, "/no/such/file", 1, &error), ERR_IO);
    assert_string_equal(error.text, "/no/such/file: No such file or directory");
    assert_int_equal(gzip_read_file(&text, folder, 1, &error), ERR_IO);
    assert_non_null(strstr(error.text, "Is a directory"));
    assert_int_equal(gzip_replace_file("/no/such/file.gz", "", 0, &error), ERR_IO);
    assert_non_null(strstr(error.text, "/no/such/file.gz"));
    assert_int_equal(gzip_replace_file(folder, "", 0, &error), ERR_IO);
    text_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_read),
        cmocka_unit_test(the_first_bytes_count_and_not_the_name),
        cmocka_unit_test(bad_files_are_named),
        cmocka_unit_test(reading_stops_after_the_bound),
        cmocka_unit_test(what_cannot_be_opened),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
