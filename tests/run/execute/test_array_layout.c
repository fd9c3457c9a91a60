/* Layouts in numbers: equality and overlap against a list of the elements themselves. */
#include <string.h>

#include "base/random.h"
#include "run/execute/executor.h"
#include "tests/base/cmocka.h"

enum { SPACE = 4096, MIDDLE = SPACE / 2 };

/* The element numbers of a layout in row-major order; returns how many. */
static int64_t elements(const struct layout *l, int64_t out[])
{
    int64_t count = layout_count(l);
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i, at = l->offset;
        for (unsigned d = l->rank; d-- > 0; rest /= l->shape[d])
            at += rest % l->shape[d] * l->stride[d];
        out[i] = at;
    }
    return count;
}

static struct layout random_layout(struct random *r, bool nested)
{
    struct layout l = {.rank = (unsigned)random_below(r, 4),
                       .offset = (int64_t)random_below(r, 40)};
    int64_t stride = 1;
    for (unsigned d = l.rank; d-- > 0;) {
        l.shape[d] = (int64_t)random_below(r, 5);
        /* Half of the layouts are real arrays (or parts of one), half are anything. */
        l.stride[d] = nested ? stride : (int64_t)random_below(r, 13) - 6;
        stride *= l.shape[d] + (int64_t)random_below(r, 2);
    }
    return l;
}

static void test_against_elements(void **state)
{
    (void)state;
    struct random r = {7};
    static int64_t a_list[SPACE], b_list[SPACE];
    unsigned overlapping = 0, equal = 0, contiguous = 0;
    for (unsigned i = 0; i < 200000; i++) {
        struct layout a = random_layout(&r, i % 2), b = random_layout(&r, i % 3);
        if (i % 5 == 0) { /* the same elements, cut up differently */
            b = a;
            b.rank++;
            memmove(b.shape + 1, a.shape, sizeof *b.shape * a.rank);
            memmove(b.stride + 1, a.stride, sizeof *b.stride * a.rank);
            b.shape[0] = 1;
            b.stride[0] = (int64_t)random_below(&r, 9);
        }
        int64_t na = elements(&a, a_list), nb = elements(&b, b_list);
        char used[SPACE] = {0};
        bool twice = false;
        for (int64_t k = 0; k < na; k++)
            twice |= used[MIDDLE + a_list[k]]++ > 0;
        assert_true(!twice || layout_overlaps_itself(&a));
        assert_true(i % 2 == 0 || !layout_overlaps_itself(&a));
        bool overlap = false;
        for (int64_t k = 0; k < nb; k++)
            overlap |= used[MIDDLE + b_list[k]];
        assert_int_equal(layout_overlap(&a, &b), overlap);
        assert_int_equal(layout_overlap(&b, &a), overlap);
        overlapping += overlap;
        if (na == 0)
            continue;
        int64_t first, last, least = a_list[0], most = a_list[0];
        bool in_order = true;
        for (int64_t k = 0; k < na; k++) {
            least = a_list[k] < least ? a_list[k] : least;
            most = a_list[k] > most ? a_list[k] : most;
            in_order &= a_list[k] == a_list[0] + k;
        }
        layout_range(&a, &first, &last);
        assert_int_equal(first, least);
        assert_int_equal(last, most);
        assert_int_equal(layout_contiguous(&a), in_order);
        contiguous += in_order;
        if (na != nb)
            continue;
        bool same = memcmp(a_list, b_list, (size_t)na * sizeof *a_list) == 0;
        if (layout_equal(&a, &b)) {
            assert_true(same);
            equal++;
        } else if (i % 5 == 0) {
            assert_false(same); /* an extra dimension of one element must not matter */
        }
    }
    assert_true(overlapping > 1000 && equal > 1000 && contiguous > 1000);
}

/* Columns of one matrix interleave but do not meet. */
static void test_columns(void **state)
{
    (void)state;
    struct layout left = {2, {1000, 2}, 0, {1000, 1}}, right = {2, {1000, 2}, 2, {1000, 1}};
    struct layout across = {2, {1000, 2}, 1, {1000, 1}};
    assert_false(layout_overlap(&left, &right));
    assert_true(layout_overlap(&left, &across));
    assert_false(layout_overlaps_itself(&left));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_elements),
        cmocka_unit_test(test_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
