/* gamut new: writes the beginning of an allocator, which is raw under another name. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "alloc/registry.h"
#include "base/gzip_file.h"
#include "base/text.h"
#include "cli/commands.h"

extern const char kernel_text_new_allocator[]; /* raw.c and new_exported.txt */

static const char told[] =
    "gamut: wrote %s: it asks the driver for each block. Build it, run it, and judge it:\n"
    "  cc -shared -fPIC -O2 -o %s.so %s $(pkg-config --cflags --libs gamut-strategies)\n"
    "  gamut run stencil -s raw,./%s.so\n"
    "  gamut fit --suite corpus:judge -s ./%s.so --against caching --free-at let-go --atlas h200\n"
    "After make install PREFIX=FOLDER pkg-config needs PKG_CONFIG_PATH=FOLDER/lib/pkgconfig.\n"
    "In the tree of gamut it is strategies/alloc/%s, with X(%s) in list.h\n"
    "and {\"%s\", 0} in tests/alloc/alloc_variants.h.\n";

static int check_name(const char *what, const char *name, struct error *error)
{
    const struct allocator_ops *ops;
    if (strcmp(what, "allocator") != 0)
        return error_set(error, ERR_USAGE, "there is no new '%s'; there is: allocator", what);
    if (!islower((unsigned char)*name) ||
        name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_")])
        return error_set(error, ERR_USAGE, "'%s' is no name in lower case: a-z, 0-9, _", name);
    if (allocator_find(name, &ops, NULL) == 0)
        return error_set(error, ERR_USAGE, "there is an allocator %s already", name);
    return 0;
}

static int new_command(const struct command_line *line)
{
    const char *name = line->positional[1];
    struct text code = {0}, path = {0};
    struct error error = {0};
    int failed = check_name(line->positional[0], name, &error);
    text_add(&path, "%s.c", name);
    const char *from = kernel_text_new_allocator;
    for (const char *at; (at = strstr(from, "raw")); from = at + strlen("raw"))
        text_add(&code, "%.*s%s", (int)(at - from), from, name);
    text_add_bytes(&code, from, strlen(from) - 1); /* an embedded text has a newline more */
    THEN(failed, gzip_write_file(path.data, code.data, code.length, true, NULL, &error));
    if (!failed)
        printf(told, path.data, name, path.data, name, name, path.data, name, name);
    text_free(&code);
    text_free(&path);
    return failed ? report_error(&error) : EXIT_OK;
}

const struct command command_new = {
    .name = "new",
    .summary = "write the beginning of an allocator of your own",
    .arguments = "allocator NAME",
    .least_positionals = 2,
    .most_positionals = 2,
    .flags = flags_none,
    .run = new_command,
};
