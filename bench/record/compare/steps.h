/* Steps in a history: where the times of one case changed from one run to the next, and stayed so.
 *
 * The runs are merged from the bottom up (Keogh, Chu, Hart, Pazzani, "An online algorithm for
 * segmenting time series", ICDM 2001). Every run begins as a level of its own. The two neighbouring
 * levels that differ least become one, until all neighbours that are left differ by a step. A step
 * is what a comparison of the two levels calls a change (record/compare/compare.h):
 *
 *   p          of the rank test between the rounds of the six runs on either side is at most alpha
 *   estimate   by the same rounds is beyond the limit, and beyond the noise floors in the files
 *   spread     the estimate is beyond what the spread of the runs explains
 *
 * Between two single runs the first two are the comparison of these runs. The third is for what no
 * round knows: a disturbance that lasts as long as a run. From four runs on the history measures it
 * itself, as an A/A run does (record/compare/noise.h): by the median of the differences between
 * neighbouring runs, which a few steps do not change.
 *
 * How often a history of nothing but noise has a step, and how often a step of 5 % is found, of 400
 * and 200 simulated histories each of 10 rounds a run, limit 2 %:
 *
 *   standard deviation of runs, rounds   0, 2 %   0.5 %, 1 %   1 %, 1 %   3 %, 3 %   found (1 %, 1 %)
 *   2 runs                                2.5 %        3.2 %       19 %       51 %       98 %
 *   4 runs, step in the middle            0.8 %          0 %      2.2 %      4.2 %       23 %
 *   8 runs                                  0 %        0.2 %      3.2 %      7.5 %       86 %
 *   16 runs                               1.0 %          0 %      3.0 %      8.8 %       96 %
 *   16 runs, step at the newest one                                                      64 %
 *   64 runs, step in the middle           0.5 %        0.5 %      3.2 %      5.8 %       96 %
 *
 * The first row is why two runs that were made apart need a noise floor.
 *
 * A single run between two levels that do not differ is an outlier and no step. A drift is a stair
 * of steps. Merging from the bottom finds a level that goes up and comes back, which halving the
 * history in two does not: its halves have equal medians.
 *
 * asv finds steps by Potts' model with a penalty that is guessed from the data, and MongoDB by
 * E-divisive means with a permutation of runs (airspeed_velocity/asv, asv/step_detect.py, commit
 * 7032df7; mongodb/signal-processing-algorithms 2.1.3). Neither has the rounds within a run, so
 * neither can call a step at the newest run.
 */
#ifndef GAMUT_RECORD_COMPARE_STEPS_H
#define GAMUT_RECORD_COMPARE_STEPS_H

#include <stdbool.h>
#include <stddef.h>

#include "record/statistics/ranks.h"

/* One run of the history. */
struct step_run {
    const double *value; /* the logarithm of each round's median */
    size_t count;        /* at least 1 */
    double floor;        /* noise floor in its file, as a logarithm; 0: none is known */
    bool in_turns;   /* its rounds alternated with those of the run before: no floor is needed */
    bool is_outlier; /* set by steps_find */
};

/* What keeps a difference from being a step. */
enum step_doubt {
    STEP_CERTAIN,
    STEP_FEW_ROUNDS, /* one side has fewer than RANKS_LEAST_ROUNDS rounds */
    STEP_IN_FLOOR,   /* not beyond a noise floor */
    STEP_IN_SPREAD,  /* not beyond the spread of the runs */
    STEP_BY_CHANCE,  /* p is above alpha */
};

struct step {
    size_t at;               /* index of the first run of the new level */
    struct rank_shift shift; /* of the logarithms, from the old level to the new one */
    double floor, spread;    /* as logarithms */
    enum step_doubt doubt;
};

enum { STEP_SPREAD_RUNS = 4 }; /* with fewer runs the spread of runs is unknown */

struct step_rules {
    double alpha;  /* the largest p of a step */
    size_t series; /* the number of histories that are searched; 0: 1 */
    double limit;  /* the largest difference that does not matter, as a logarithm */
};

struct steps {
    size_t count;
    struct step *step; /* in the order of the runs: steps, and differences beyond the limit that may
                        * be steps (doubt); owned */
};

/* Finds the steps of a history, and marks its outliers. Free with steps_free. */
struct steps steps_find(struct step_run *run, size_t count, const struct step_rules *rules);
/* Frees what steps_find made. */
void steps_free(struct steps *steps);

#endif
