/* Makes logged requests again to the model of the driver's pool: check < LOG, lines
 * "a QUEUE BLOCK BYTES ADDRESS RESERVED NOW", "f QUEUE BLOCK 0 0 0 DONE" (when that free is done),
 * "s QUEUE" (the host waited for it; 32: for all), "o QUEUE OTHER" (the queue waits for the other)
 * and "# NAME" before each pool. Prints how many addresses are the same, and the peaks. */
#include <stdio.h>
#include <stdlib.h>

#include "run/predict/stream_pool.h"

enum { BLOCKS = 200000 };

int main(void)
{
    static struct stream_piece *blocks[BLOCKS];
    struct stream_pool pool = {0};
    char line[300] = "", name[300] = "";
    unsigned long long bytes, address, reserved, base = 0, asked = 0, same = 0, peak = 0, most = 0,
                                                 wrong = 0;
    for (bool more = true; more;) {
        char what;
        unsigned queue, block;
        double ns;
        more = fgets(line, sizeof line, stdin) != NULL;
        if (!more || *line == '#') {
            if (asked)
                printf("%-60.60s %6llu of %6llu addresses the same, peak %5llu MiB, the driver's "
                       "%5llu MiB\n",
                       name, same, asked, peak >> 20, most >> 20);
            wrong += same != asked;
            name[0] = 0;
            sscanf(line, "# %299[^\n]", name);
            stream_pool_free(&pool);
            asked = same = peak = most = 0;
        } else if (sscanf(line, "s %u", &queue) == 1) {
            stream_pool_wait(&pool, queue);
        } else if (sscanf(line, "o %u %u", &queue, &block) == 2) {
            stream_pool_order(&pool, queue, block);
        } else if (sscanf(line, "%c %u %u %llu %llx %llu %lf", &what, &queue, &block, &bytes,
                          &address, &reserved, &ns) == 7 &&
                   block < BLOCKS) {
            if (what == 'f') {
                stream_pool_give(&pool, queue, blocks[block], ns);
                continue;
            }
            base = asked++ ? base : address;
            pool.now_ns = ns;
            stream_pool_take(&pool, queue, bytes, 0, &blocks[block]);
            same += blocks[block]->start == address - base;
            peak = pool.reserved_bytes > peak ? pool.reserved_bytes : peak;
            most = reserved > most ? reserved : most;
        }
    }
    printf("%llu pools differ\n", wrong);
    return wrong > 0;
}
