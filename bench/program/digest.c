#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "program/program.h"

/* Parsing the text again gives the program as it was before annotation. */
uint64_t program_digest(const struct fun *fun)
{
    const struct program *program = fun->program;
    struct program *written;
    uint64_t digest = 0;
    if (program_parse(program->path, program->text, strlen(program->text), &written, NULL))
        return 1; /* it was parsed before, so this can't be */
    for (unsigned i = 0; i < written->fun_count; i++) {
        if (strcmp(written->funs[i].name, fun->name) != 0)
            continue;
        struct program *alone = program_clone(&written->funs[i]);
        char *text = program_print(alone);
        digest = digest_bytes(0, text, strlen(text));
        free(text);
        program_free(alone);
    }
    program_free(written);
    return digest ? digest : 1;
}
