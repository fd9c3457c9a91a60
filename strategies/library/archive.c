#include "library/gamut_strategies.h"

_Static_assert(GAMUT_STRATEGIES_API == ALLOCATOR_API_VERSION,
               "the library and its strategies have one version");

const int gamut_strategies_archive = GAMUT_STRATEGIES_API;
