/* The main of a room's tests. The Makefile gives TESTS, the names of the room's files:
 * TEST(test_arena) ..., and gives each file's main the file's name. The binary runs the file by
 * whose name it is called:
 *     test_arena [PATTERN]      its tests, or those whose name matches, such as '*grow*' */
#include <stdio.h>
#include <string.h>

#include "tests/base/cmocka.h"

#define TEST(name) int name(void);
TESTS
#undef TEST

static const struct {
    const char *name;
    int (*run)(void);
} files[] = {
#define TEST(name) {#name, name},
    TESTS
#undef TEST
};

int main(int argc, char **argv)
{
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    const char *called = slash ? slash + 1 : argc > 0 ? argv[0] : "";
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (strcmp(files[i].name, called) == 0) {
            cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
            return files[i].run();
        }
    fprintf(stderr, "%s: call it by the name of a test in its folder\n", called);
    return 2;
}
