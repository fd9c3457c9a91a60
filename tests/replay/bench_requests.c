/* What a program asks for, as a trace, without a device: for plans of `planned` (scripts/gpu_box).
 *   bench_requests PROGRAM DATASET SET FILE
 */
#include <stdio.h>
#include <string.h>

#include "run/select/program_trace.h"
#include "run/select/select.h"

int main(int argc, char **argv)
{
    struct catalogue all;
    struct error error = {0};
    struct dry_run counts;
    const struct dataset *dataset = NULL;
    int code = argc == 5 ? catalogue_open(&all, &error) : 2;
    for (size_t i = 0; code == 0 && i < all.entry_count && !dataset; i++) {
        struct program_run run = {.entry = &all.entries[i],
                                  .merge = argv[3],
                                  .policy = RELEASE_LAST_USE,
                                  .seed = 42,
                                  .alignment_bytes = 256};
        struct trace_info info = {.source = "A program run without a device"};
        if (strcmp(run.entry->name, argv[1]) || !(dataset = select_dataset(run.entry, argv[2])))
            continue;
        run.dataset = dataset;
        snprintf(info.application, sizeof info.application, "%.60s %.30s", argv[1], argv[2]);
        code = program_trace(&run, &info, argv[4], &counts, &error);
    }
    if (code || !dataset)
        fprintf(stderr, "bench_requests PROGRAM DATASET SET FILE: %s\n", error.text);
    return code || !dataset;
}
