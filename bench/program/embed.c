/* A tool of the build: turns workloads into C that is linked into gamut.
 *
 *   embed program NAME PATH   the text of PATH, its host kernels and a table of them
 *   embed list NAME...        the list of all workloads
 *   embed suites PATH...      the texts of all suites (JSON), and their list
 *   embed text NAME PATH...   one text, that of all files, as kernel_text_NAME
 *
 * Writes to standard output. A program that does not parse ends the build with its message.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "program/generate.h"

static void print_string(const char *name, const char *text)
{
    printf("const char %s[] =\n    \"", name);
    for (const char *c = text; *c; c++)
        switch (*c) {
        case '\n':
            printf(c[1] ? "\\n\"\n    \"" : "\\n");
            break;
        case '"':
        case '\\':
            printf("\\%c", *c);
            break;
        case '\t':
            printf("\\t");
            break;
        default:
            putchar(*c);
        }
    printf("\";\n\n");
}

static int embed_program(const char *name, const char *path)
{
    struct text text = {0};
    struct error error;
    if (text_read_file(&text, path, &error)) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    struct program *program;
    if (program_read(path, text.data ? text.data : "", text.length, &program, &error)) {
        fprintf(stderr, "%s\n", error.text);
        text_free(&text);
        return 1;
    }
    struct kernels kernels;
    program_generate(program, KERNEL_HOST_C, &kernels);
    printf("%s\n", kernels.text);
    printf("#line 1 \"embedded %s\"\n", path);
    printf("const struct host_kernel host_kernels_%s[] = {\n", name);
    for (unsigned k = 0; k < kernels.count; k++)
        printf("    {\"%s\", gamut_host_%s},\n", kernels.names[k], kernels.names[k]);
    printf("    {0, 0}};\n\n");
    char symbol[128];
    snprintf(symbol, sizeof symbol, "program_text_%s", name);
    print_string(symbol, text.data);
    snprintf(symbol, sizeof symbol, "host_text_%s", name);
    print_string(symbol, kernels.text);
    kernels_free(&kernels);
    program_free(program);
    text_free(&text);
    return 0;
}

static void embed_list(char **names, int count)
{
    printf("#include \"device/device.h\"\n#include \"run/select/catalogue.h\"\n\n");
    for (int i = 0; i < count; i++)
        printf("extern const struct workload workload_%s;\n"
               "extern const char program_text_%s[], host_text_%s[];\n"
               "extern const struct host_kernel host_kernels_%s[];\n",
               names[i], names[i], names[i], names[i]);
    printf("\nconst struct builtin builtin_list[] = {\n");
    for (int i = 0; i < count; i++)
        printf(
            "    {\"%s\", \"workloads/%s/%s.mem\", program_text_%s, &workload_%s, host_text_%s,\n"
            "     host_kernels_%s},\n",
            names[i], names[i], names[i], names[i], names[i], names[i], names[i]);
    printf("    {0, 0, 0, 0, 0, 0}};\n");
}

/* The name of a suite is its file's. */
static int embed_suites(char **paths, int count)
{
    printf("#include \"run/select/suite.h\"\n\n");
    for (int i = 0; i < count; i++) {
        struct text text = {0};
        struct error error;
        char symbol[32];
        if (text_read_file(&text, paths[i], &error)) {
            fprintf(stderr, "%s\n", error.text);
            return 1;
        }
        snprintf(symbol, sizeof symbol, "suite_text_%d", i);
        printf("static ");
        print_string(symbol, text.data ? text.data : "");
        text_free(&text);
    }
    printf("const struct builtin_suite builtin_suites[] = {\n");
    for (int i = 0; i < count; i++) {
        const char *slash = strrchr(paths[i], '/'), *name = slash ? slash + 1 : paths[i];
        printf("    {\"%.*s\", \"%s\", suite_text_%d},\n", (int)strcspn(name, "."), name, paths[i],
               i);
    }
    printf("    {0, 0, 0}};\n");
    return 0;
}

/* Kernels that people wrote: what the host compiles is text for the devices as well. */
static int embed_text(const char *name, char **paths, int count)
{
    struct text all = {0};
    char symbol[128];
    for (int i = 0; i < count; i++) {
        struct text text = {0};
        struct error error;
        if (text_read_file(&text, paths[i], &error)) {
            fprintf(stderr, "%s\n", error.text);
            return 1;
        }
        text_add(&all, "%s\n", text.data ? text.data : "");
        text_free(&text);
    }
    snprintf(symbol, sizeof symbol, "kernel_text_%s", name);
    printf("extern const char %s[];\n", symbol);
    print_string(symbol, all.data ? all.data : "");
    text_free(&all);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "program") == 0)
        return embed_program(argv[2], argv[3]);
    if (argc >= 2 && strcmp(argv[1], "list") == 0) {
        embed_list(argv + 2, argc - 2);
        return 0;
    }
    if (argc >= 2 && strcmp(argv[1], "suites") == 0)
        return embed_suites(argv + 2, argc - 2);
    if (argc >= 4 && strcmp(argv[1], "text") == 0)
        return embed_text(argv[2], argv + 3, argc - 3);
    fprintf(stderr, "usage: embed program NAME PATH | embed list NAME... | embed suites PATH... |\n"
                    "       embed text NAME PATH...\n");
    return 2;
}
