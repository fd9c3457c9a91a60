#include "merge/analysis.h"

void analysis_open(struct analysis *a, struct merge *m, unsigned how)
{
    *a = (struct analysis){.m = m, .o = outline_new(m->fun)};
    a->map = memory_map_new(a->o, how);
    a->numbers = numbers_new(m->fun, m->options.values);
    touch_open(&a->touch, m, a->o);
    if (m->options.veto)
        bound_open(&a->bound, a->map, a->numbers);
}

void analysis_close(struct analysis *a)
{
    if (a->m->options.veto)
        bound_close(&a->bound);
    touch_close(&a->touch);
    numbers_free(a->numbers);
    memory_map_free(a->map);
    outline_free(a->o);
}
