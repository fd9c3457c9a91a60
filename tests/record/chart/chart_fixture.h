/* A made-up result with something for every chart. */
#ifndef GAMUT_TESTS_RECORD_CHART_CHART_FIXTURE_H
#define GAMUT_TESTS_RECORD_CHART_CHART_FIXTURE_H

#include "record/result/result.h"

/* Merged cases under pool, an atlas and experiments of their device, and what their memory did. */
struct result_draft chart_fixture(void);

#endif
