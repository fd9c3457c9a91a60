/* Random programs that are valid by construction, biased towards what merging memory likes: values
 * that die early, chains of elementwise kernels, copies of arrays just made, loops that carry
 * arrays. */
#pragma once

#include <stdint.h>

/* The text of a program of one fun and one dataset, the same for the same seed. `statements` is
 * about how many it has; 0: 5 to 40. Owned by the caller (free). Every element that is read was
 * written, and no thread depends on another: the program by itself has no violation. */
char *generate_program_text(uint64_t seed, unsigned statements);
