/* Fuzz target for everything that reads a program: whatever the bytes, the parser ends with a
 * program or a message; and a program that is accepted survives printing, parsing, annotation and
 * generation. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program/generate.h"
#include "program/program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must_be_equal(const char *a, const char *b)
{
    if (strcmp(a, b) != 0) {
        fprintf(stderr, "the printed program differs:\n%s\n----\n%s\n", a, b);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct program *program, *again;
    struct error error = {0};
    if (program_read("fuzz", (const char *)data, size, &program, &error)) {
        if (!*error.text)
            abort(); /* a refusal without a message */
        return 0;
    }
    struct kernels kernels;
    program_generate(program, KERNEL_OPENCL_C, &kernels);
    kernels_free(&kernels);
    char *once = program_print(program);
    if (program_read("again", once, strlen(once), &again, &error)) {
        fprintf(stderr, "%s\n%s\n", once, error.text);
        abort();
    }
    char *twice = program_print(again);
    must_be_equal(once, twice);
    free(once);
    free(twice);
    program_free(again);
    program_free(program);
    return 0;
}
