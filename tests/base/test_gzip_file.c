/* Files that gzip may have compressed: what is read, and how a bad one is refused. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/gzip_file.h"
#include "tests/base/cmocka.h"

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

static int replace(const char *path, const char *bytes, size_t length, struct error *error)
{
    return gzip_write_file(path, bytes, length, false, NULL, error);
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
            assert_int_equal(replace(path, bytes, BYTES, &error), 0);
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
    assert_int_equal(replace(path_of(path, "a.gz"), "abc", 3, NULL), 0);
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
        assert_int_equal(replace(path_of(path, "bad.gz"), bytes, BYTES, &error), 0);
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
    assert_int_equal(replace(path_of(path, "bomb.gz"), zeros, ZEROS, NULL), 0);
    assert_true(file_size(path) < 64 << 10);
    assert_int_equal(gzip_read_file(&text, path, MOST, NULL), ERR_PARSE);
    assert_true(text.length < 2 * MOST);
    text_free(&text);
    assert_int_equal(replace(path_of(path, "plain"), zeros, ZEROS, NULL), 0);
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
    assert_int_equal(replace("/no/such/file.gz", "", 0, &error), ERR_IO);
    assert_non_null(strstr(error.text, "/no/such/file.gz"));
    assert_int_equal(replace(folder, "", 0, &error), ERR_IO);
    text_free(&text);
}

static void expect_text(const char *path, const char *expected)
{
    struct text text = {0};
    assert_int_equal(text_read_file(&text, path, NULL), 0);
    assert_string_equal(text.data, expected);
    text_free(&text);
}

static void what_is_there_stays_if_only_a_new_file_will_do(void **state)
{
    (void)state;
    char path[64], link[64];
    struct error error = {0};
    assert_int_equal(gzip_write_file(path_of(path, "new"), "1", 1, true, NULL, &error), 0);
    assert_int_equal(gzip_write_file(path, "2", 1, true, NULL, &error), ERR_EXISTS);
    assert_non_null(strstr(error.text, path));
    expect_text(path, "1");
    assert_int_equal(symlink("nowhere", path_of(link, "dangling")), 0);
    assert_int_equal(gzip_write_file(link, "2", 1, true, NULL, &error), ERR_EXISTS);
}

static void links_stay_and_their_files_are_replaced(void **state)
{
    (void)state;
    char path[64], link[64], second[64];
    struct stat status;
    assert_int_equal(symlink("target", path_of(link, "link")), 0);
    assert_int_equal(symlink(link, path_of(second, "second")), 0);
    static const char *const texts[] = {"a", "b"}; /* the target is new, and then it is not */
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(replace(second, texts[i], 1, NULL), 0);
        assert_int_equal(lstat(link, &status), 0);
        assert_true(S_ISLNK(status.st_mode));
        expect_text(path_of(path, "target"), texts[i]);
    }
}

static void a_file_is_locked_until_it_is_closed(void **state)
{
    (void)state;
    char path[64];
    int held;
    assert_int_equal(gzip_write_file(path_of(path, "held"), "1", 1, true, &held, NULL), 0);
    const int other = open(path, O_RDONLY);
    assert_int_equal(flock(other, LOCK_EX | LOCK_NB), -1);
    close(held);
    assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
    close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_read),
        cmocka_unit_test(the_first_bytes_count_and_not_the_name),
        cmocka_unit_test(bad_files_are_named),
        cmocka_unit_test(reading_stops_after_the_bound),
        cmocka_unit_test(what_cannot_be_opened),
        cmocka_unit_test(what_is_there_stays_if_only_a_new_file_will_do),
        cmocka_unit_test(links_stay_and_their_files_are_replaced),
        cmocka_unit_test(a_file_is_locked_until_it_is_closed),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
