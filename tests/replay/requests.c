/* What a program asks for, as a trace, without a device: requests PROGRAM DATASET SET FILE.
 * scripts/crossed makes plans of it for `planned`. */
#include <stdio.h>
#include <string.h>

#include "run/select/program_trace.h"
#include "run/select/select.h"

int main(int argc, char **argv)
{
    struct catalogue all;
    struct error error = {0};
    struct dry_run counts;
    struct trace_info info = {.source = "A program run without a device"};
    struct program_run run = {.policy = RELEASE_LAST_USE, .seed = 42, .alignment_bytes = 256};
    int code = argc == 5 ? catalogue_open(&all, &error) : 2;
    for (size_t i = 0; code == 0 && i < all.entry_count && !run.entry; i++)
        if (!strcmp(all.entries[i].name, argv[1]))
            run.entry = &all.entries[i];
    if (code == 0 && run.entry && (run.dataset = select_dataset(run.entry, argv[2]))) {
        run.merge = argv[3];
        snprintf(info.application, sizeof info.application, "%.60s %.30s", argv[1], argv[2]);
        if (!program_trace(&run, &info, argv[4], &counts, &error))
            return 0;
    }
    fprintf(stderr, "requests PROGRAM DATASET SET FILE: %s\n", error.text);
    return 1;
}
