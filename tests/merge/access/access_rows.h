/* Kernels, whether their result y may be written over what they read, and whether that is needed.
 * The funs around them are those of test_access.c. */
#pragma once

#include "merge/access/access.h"

enum { YES = ACCESS_CHECKS };

/* The effect of running the row in place. */
enum truth {
    HOLDS,   /* the same answer; every allowed row has this */
    HARMS,   /* another answer: the refusal is needed */
    CAUTION, /* the same answer here, but not surely so everywhere, or not seen by the analysis */
    NO_C,    /* cannot be compiled for the host */
};

struct row {
    const char *statement; /* may have other statements before it */
    const char *killed;    /* names, separated by blanks; the first one gives its place */
    int expected;          /* YES or the check that refuses */
    enum truth truth;
};

static const struct row plain_rows[] = {
    /* the plain case, in all its forms */
    {"let y: [n]i32 = kernel k (i < n) { y[i] = x[i] + 1; }", "x", YES, HOLDS},
    {"let y: [n]i32 = kernel k (i < n) { y[i] = x[i] * x[i] + z[n - 1]; }", "x", YES, HOLDS},
    {"let y: [n]i32 = kernel k (i < n) { i32 t = x[i]; y[i] = t + x[i]; }", "x", YES, HOLDS},
    {"let y: [n]i32 = kernel k (i < n) { y[i] = x[i] + z[i]; }", "x z", YES, HOLDS},
    {"let y: [n]i32 = kernel k (i < n) { if (x[i] > 3) y[i] = twice(x[i]); else y[i] = 0; }", "x",
     YES, HOLDS},
    {"let y: [n]i32 = kernel k (i < n) { y[i] = x[i] > 3 ? x[i] : MIN(x[i], z[0]); }", "x", YES,
     HOLDS},
    {"let y: [n]i32 = kernel k (i < n) { y[i] = x[i]; if (y[i] < 3) y[i] = 3; }", "x", YES, HOLDS},
    {"let y: [n]i32 = kernel k (i < n) { y[i] = x[i]; y[i] += 3; y[i]++; }", "x", YES, HOLDS},
    {"let y: [n]i32 = kernel k (i < n) { /* y[i] = 0; */ y[i] = x[i]; // x[i]\n }", "x", YES,
     HOLDS},
    {"let y: [n]i32 = kernel k (i < n) { y[ /* i + 1 */ i] = x[i // ]\n]; }", "x", YES, HOLDS},
    {"let y: [n]i32 = kernel k (i < n) { i32 s = '{' + ';'; y[i] = x[i] + s; }", "x", YES, HOLDS},
    {"let y: [n]i32 = kernel k (i < n) { i32 t[2] = {x[i], 3}; y[i] = t[0]; }", "x", YES, HOLDS},
    {"let y: [n][m]i32 = kernel k (i < n, j < m) { y[i, j] = g[i, j] + 1; }", "g", YES, HOLDS},
    {"let y: [n][m]i32 = kernel k (i < n, j < m) { y[j, i] = g[j, i] + 1; }", "g", YES, HOLDS},
    {"let y: [n]i32 = kernel k (i < n - 1) { y[i + 1] = x[i + 1]; }", "x", YES, HOLDS},
    {"let y: [n]i32 = kernel k (i < n) { y[i] = z[x[i]]; }", "x", YES, HOLDS},
    {"let y: [n]u32 = kernel k (i < n) { y[i] = (u32)x[i]; }", "x", YES, HOLDS},

    /* loops before the write */
    {"let y: [n]i32 = kernel k (i < n) { i32 s = 0; for (i32 k = 0; k < (i32)n; k++) s += x[i];\n"
     "y[i] = s; }",
     "x", YES, HOLDS},
    {"let y: [n]i32 = kernel k (i < n) { i32 s = 0; while (s < 5) { s += x[i] + 1; } y[i] = s; }",
     "x", YES, HOLDS},
    {"let y: [n]i32 = kernel k (i < n) { i32 s = 0; do s += x[i] + 1; while (s < 5); y[i] = s; }",
     "x", YES, HOLDS},
    {"let y: [n]i32 = kernel k (i < n) { i32 s = x[i]; for (i32 k = 0; k < 3; k++) y[i] = s + k; }",
     "x", YES, HOLDS},

    /* reads at other indices than the write: two slices, a row that all read, neighbours */
    {"let y: [n]i32 = kernel k (i < n) { y[i] = x[i] + x[(i + 1) % n]; }", "x",
     ACCESS_CHECK_READ_INDEX, HARMS},
    {"let y: [n]i32 = kernel k (i < n) { y[i] = x[i] + x[0]; }", "x", ACCESS_CHECK_READ_INDEX,
     HARMS},
    {"let y: [n][m]i32 = kernel k (i < n, j < m) { y[i, j] = g[i, j] + g[i, 0]; }", "g",
     ACCESS_CHECK_READ_INDEX,
     CAUTION}, /* wrong unless all of a row's threads run in step, as on this host */
    {"let y: [n][m]i32 = kernel k (i < n, j < m) { y[i, j] = g[i, j] + g[0, j]; }", "g",
     ACCESS_CHECK_READ_INDEX, HARMS},
    {"let y: [n][m]i32 = kernel k (i < n, j < m) { y[i, j] = g[j, i]; }", "g",
     ACCESS_CHECK_READ_INDEX, HARMS},
    {"let y: [n][m]i32 = kernel k (i < n, j < m) { y[j, i] = g[i, j]; }", "g",
     ACCESS_CHECK_READ_INDEX, HARMS},
    {"let y: [n]i32 = kernel k (i < n) { y[i] = x[z[i]]; }", "x", ACCESS_CHECK_READ_INDEX, HARMS},
    {"let y: [n]i32 = kernel k (i < n) { y[i] = x[x[i]]; }", "x", ACCESS_CHECK_READ_INDEX, HARMS},
    {"let y: [n]i32 = kernel k (i < n) { y[i] = x[n - 1] + 1; }", "x", ACCESS_CHECK_READ_INDEX,
     HARMS},
    {"let y: [n]i32 = kernel k (i < n) { y[i] = i > 0 ? x[i - 1] : 0; }", "x",
     ACCESS_CHECK_READ_INDEX, HARMS},
    {"let y: [n]i32 = kernel k (i < n) { y[i] = z[i] + x[(i * 3) % n]; }", "z x",
     ACCESS_CHECK_READ_INDEX, CAUTION},
    {"let y: [n]i32 = kernel k (i < n) { y[i] = x[(i)]; }", "x", ACCESS_CHECK_READ_INDEX, CAUTION},
    {"let y: [n]i32 = kernel k (i < n) { y[i] = x[MAX(i, 3)] + 1; }", "x", ACCESS_CHECK_READ_INDEX,
     HARMS},
    {"let y: [n]i32 = kernel k (i < n) { y[i] = x[03 + i - 3]; }", "x", ACCESS_CHECK_READ_INDEX,
     CAUTION},
    {"let y: [n]i32 = kernel k (i < n - 1) { y[i + 1] = x[i]; }", "x", ACCESS_CHECK_READ_INDEX,
     HARMS},

    /* names that are not what they seem */
    {"let y: [n]i32 = kernel k (i < n) { pair s; s.i = 3; y[i] = x[i] + s.i; }", "x", YES, HOLDS},

    {"let y: [n]i32 = kernel k (i < n) { const i32 at = i; { const i32 i = 0, j = 1;\n"
     "y[i + at] = x[i + j] + 1; } }",
     "x", ACCESS_CHECK_WRITE_INDEX, HARMS},
    {"let (y: [n]i32, s: [n]i32) = kernel k (i < n) { s[i] = x[i]; y[i] = 1;\n"
     "{ i32 j = 1, i = 0; y[i] = j; } }",
     "x", ACCESS_CHECK_WRITE_INDEX, HARMS},
    {"let y: [n]i32 = kernel k (i < n) { i = 0; y[i] = x[i]; }", "x", ACCESS_CHECK_WRITE_INDEX,
     NO_C},
    {"let y: [n]i32 = kernel k (i < n) { y[i] = x[i]; (i)++; }", "x", ACCESS_CHECK_WRITE_INDEX,
     NO_C},
    {"let y: [n]i32 = kernel k (i < n) { if (n) (i) = 3; y[i] = x[i]; }", "x",
     ACCESS_CHECK_WRITE_INDEX, NO_C},
    {"let y: [n]i32 = kernel k (i < n) { if (n) z[i]; else ((i)) += 3; y[i] = x[i]; }", "x",
     ACCESS_CHECK_WRITE_INDEX, NO_C},
    {"let y: [n]i32 = kernel k (i < n) { i32 *p = (i32 *)&i; *p = 3; y[i] = x[i]; }", "x",
     ACCESS_CHECK_WRITE_INDEX, NO_C},
    {"let y: [n]i32 = kernel k (i < n) { typeof(n) i = 3; y[i] = x[i]; }", "x",
     ACCESS_CHECK_WRITE_INDEX, NO_C},
    {"let y: [n]i32 = kernel k (i < n) { BUMP(i); y[i] = x[i]; }", "x", ACCESS_CHECK_TEXT, NO_C},
    {"let y: [n]i32 = kernel k (i < n) { struct s { i32 i; } s; s.i = 3; y[i] = x[i]; }", "x",
     ACCESS_CHECK_TEXT, CAUTION},
    {"let y: [n]i32 = kernel k (i < n) { i32 t = 3; if (i) --t; y[i] = x[i] + t; }", "x", YES,
     HOLDS},

    /* writes that are not each thread's own */
    {"let y: [n]i32 = kernel k (i < n) { y[0] = x[0] + i; }", "x", ACCESS_CHECK_WRITE_INDEX, HARMS},
    {"let y: [n]i32 = kernel k (i < n) { y[(i + 1) % n] = x[(i + 1) % n]; }", "x",
     ACCESS_CHECK_WRITE_INDEX, CAUTION},
    {"let y: [n]i32 = kernel k (i < n, j < 2) { y[i] = x[i] + 1; }", "x",
     ACCESS_CHECK_WRITE_THREADS, HARMS},
    {"let y: [n][m]i32 = kernel k (i < n, j < 2) { y[i, i] = g[i, i] + 1; }", "g",
     ACCESS_CHECK_WRITE_THREADS, HARMS},
    {"let y: [n]i32 = kernel k (i < n, j < m) { if (j == 0) y[i] = x[i]; }", "x",
     ACCESS_CHECK_WRITE_THREADS, CAUTION},
    {"let y: [n]i32 = kernel k (i < n) { y[i] = x[i]; if (i == 0) y[0] = 3; }", "x",
     ACCESS_CHECK_WRITE_INDEX, CAUTION},
    {"let y: [n][m]i32 = kernel k (i < n, j < m) { y[i, j] = g[i, j];\n"
     "if (j == 0) y[i, j + 1] = 0; }",
     "g", ACCESS_CHECK_READ_INDEX, CAUTION},

    /* order */
    {"let y: [n]i32 = kernel k (i < n) { y[i] = (o[0] ? x[i] : 0); }", "x", YES, HOLDS},
    {"let (y: [n]i32, s: [n]i32) = kernel k (i < n) { y[i] = s[i] = x[i]; }", "x", YES, HOLDS},
    {"let y: [n]i32 = kernel k (i < n) { i32 t = 0; y[i] = x[i] + t++; }", "x", YES, HOLDS},
    {"let (y: [n]i32, s: [n]i32) = kernel k (i < n) { i32 t; y[i] = 1, put(&t, x[i]); s[i] = t; }",
     "x", ACCESS_CHECK_ORDER, HARMS},
    {"let (y: [n]i32, s: [n]i32) = kernel k (i < n) { s[i] = (y[i] = 1) + x[i]; }", "x",
     ACCESS_CHECK_ORDER, CAUTION},

    {"let y: [n]i32 = kernel k (i < n) { y[i] = 1; y[i] = x[i]; }", "x", ACCESS_CHECK_ORDER, HARMS},
    {"let y: [n]i32 = kernel k (i < n) { y[i] = x[i]; y[i] = x[i] + 1; }", "x", ACCESS_CHECK_ORDER,
     CAUTION},
    {"let (y: [n]i32, s: [n]i32) = kernel k (i < n) { y[i] = 2; s[i] = x[i]; }", "x",
     ACCESS_CHECK_ORDER, HARMS},
    {"let (y: [n]i32, s: [n]i32) = kernel k (i < n) { y[i] = 2, s[i] = x[i]; }", "x",
     ACCESS_CHECK_ORDER, HARMS},
    {"let y: [n]i32 = kernel k (i < n) { i32 t = (y[i] = 1) + x[i]; y[i] = t; }", "x",
     ACCESS_CHECK_ORDER, CAUTION},
    {"let (y: [n]i32, s: [n]i32) = kernel k (i < n) { s[i] = y[i] = x[i]; }", "x",
     ACCESS_CHECK_ORDER, CAUTION},
    {"let (y: [n]i32, s: [n]i32) = kernel k (i < n) {\n"
     "if (z[i] > 3) y[i] = 0; else y[i] = x[i]; s[i] = 0; }",
     "x", ACCESS_CHECK_ORDER, CAUTION},
    {"let (y: [n]i32, s: [n]i32) = kernel k (i < n) { y[i] = 4;\n"
     "for (i32 k = 0; k < 2; k++) s[i] = x[i]; }",
     "x", ACCESS_CHECK_ORDER, HARMS},
    {"let y: [n]i32 = kernel k (i < n) { (y[i]) = 1; y[i] = x[i]; }", "x", ACCESS_CHECK_ORDER,
     HARMS},

    /* loops around reads and writes */
    {"let y: [n]i32 = kernel k (i < n) { for (i32 k = 0; k < 2; k++) y[i] = x[i] + 1; }", "x",
     ACCESS_CHECK_LOOP, HARMS},
    {"let y: [n]i32 = kernel k (i < n) { for (i32 k = 0; k < 2; k++) for (i32 l = 0; l < 2; l++)\n"
     "y[i] = x[i] + 1; }",
     "x", ACCESS_CHECK_LOOP, HARMS},
    {"let y: [n]i32 = kernel k (i < n) { for (i32 k = 0; k < 2; k++)\n"
     "{ i32 s = 0; for (i32 l = 0; l < 2; l++) s += x[i]; y[i] = s; } }",
     "x", ACCESS_CHECK_LOOP, HARMS},
    {"let y: [n]i32 = kernel k (i < n) { i32 k = 0; while (k++ < 2) y[i] = x[i] + 1; }", "x",
     ACCESS_CHECK_LOOP, HARMS},
    {"let y: [n]i32 = kernel k (i < n) { i32 k = 0; do { y[i] = x[i] + 1; } while (k++ < 2); }",
     "x", ACCESS_CHECK_LOOP, HARMS},
    {"let y: [n]i32 = kernel k (i < n) { i32 k = 0; do y[i] = 9; while (k++ < x[i] % 2); }", "x",
     ACCESS_CHECK_LOOP, CAUTION},
    {"let y: [n]i32 = kernel k (i < n) { for (i32 k = 0; k < x[i]; k++) if (1) y[i] = 3; }", "x",
     ACCESS_CHECK_LOOP, CAUTION},

    /* reads of the result */
    {"let (y: [n]i32, s: [n]i32) = kernel k (i < n) { y[i] = x[i]; s[i] = y[0] * 0; }", "x",
     ACCESS_CHECK_OUT_READ, CAUTION},
    {"let y: [n]i32 = kernel k (i < n) { y[i] = x[i] + 0 * y[i]; }", "x", ACCESS_CHECK_OUT_READ,
     CAUTION},

    {"let y: [n]i32 = kernel k (i < n) { y[i] += x[i]; }", "x", ACCESS_CHECK_OUT_READ, CAUTION},
    {"let y: [n]i32 = kernel k (i < n) { y[i]++; y[i] = x[i]; }", "x", ACCESS_CHECK_OUT_READ,
     HARMS},
    {"let y: [n]i32 = kernel k (i < n) { i32 t = y[i] * 0; y[i] = x[i] + t; }", "x",
     ACCESS_CHECK_OUT_READ, CAUTION},
    {"let (y: [n]i32, s: [n]i32) = kernel k (i < n) {\ns[i] = x[i]; y[i] = 1; (y[0]) = 3; }", "x",
     ACCESS_CHECK_WRITE_INDEX, HARMS},
    {"let y: [n]i32 = kernel k (i < n) { y[i] = x[i] + y[n - 1] * 0; }", "x", ACCESS_CHECK_OUT_READ,
     CAUTION},

    /* arrays */
    {"let tm: mem = alloc(1024)\nlet t: [n]i32 @ tm(8: 2) = copy x\nlet ym: mem = alloc(1024)\n"
     "let y: [n]i32 @ ym(8: 2) = kernel k (i < n) { y[i] = t[i]; }",
     "t", YES, CAUTION},
    {"let tm: mem = alloc(1024)\nlet t: [n]i32 @ tm(8: 2) = copy x\nlet ym: mem = alloc(1024)\n"
     "let y: [n]i32 @ ym(8: 1) = kernel k (i < n) { y[i] = t[i]; }",
     "t", ACCESS_CHECK_PLACE, CAUTION},
    {"let tm: mem = alloc(1024)\nlet t: [n]i32 @ tm(8: 2) = copy x\nlet ym: mem = alloc(1024)\n"
     "let y: [n]i32 @ ym(9: 2) = kernel k (i < n) { y[i] = t[i]; }",
     "t", ACCESS_CHECK_PLACE, CAUTION},
    {"let pm: mem = alloc(1024)\nlet ym: mem = alloc(1024)\nlet y: [n]i32 @ ym(0: n) =\n"
     "kernel k (i < n) private p: [n]i32 @ pm(0: n, 1) { y[i] = p[i]; }",
     "p", ACCESS_CHECK_PLACE, NO_C},
    {"let y: [8]i32 = kernel k (i < 1) group l < 8 local p: [8]i32 { each { y[l] = p[l]; } }", "p",
     ACCESS_CHECK_PLACE, NO_C},
    {"let y: [n]i32 = kernel k (i < n) with y <- o { y[i] = x[i]; }", "x", ACCESS_CHECK_TAKEN_OVER,
     CAUTION},
    {"let y: [n]i32 = kernel k (i < n / 2) with y <- o { y[i] = x[i]; }", "x",
     ACCESS_CHECK_TAKEN_OVER, HARMS},
    {"let (y: [n]i32, s: [n]i32) = kernel k (i < n) with s <- o { s[i] += 1; y[i] = s[i] + 1; }",
     "s", ACCESS_CHECK_INPUT_WRITTEN, HARMS},
    {"let (y: [n]i32, s: [n]i32) = kernel k (i < n) { s[i] = 1; y[i] = x[i]; }", "s",
     ACCESS_CHECK_INPUT_WRITTEN, HARMS},
    {"let y: [n]i64 = kernel k (i < n) { y[i] = x[i]; }", "x", ACCESS_CHECK_SIZE, HARMS},
    {"let y: [n]u8 = kernel k (i < n) { y[i] = (u8)x[i]; }", "x", ACCESS_CHECK_SIZE, HARMS},
    {"let y: [n]bool = kernel k (i < n) { i32 t = b[i]; y[i] = t > 3; }", "b", YES, HOLDS},
    {"let t: [m][n]i32 = rearrange (1, 0) g\n"
     "let y: [n][m]i32 = kernel k (i < n, j < m) { y[i, j] = t[i, j]; }",
     "t", ACCESS_CHECK_PLACE, HARMS},
    {"let t: [n]i32 = g[:, 1]\n"
     "let y: [n]i32 = kernel k (i < n) { y[i] = t[i]; }",
     "t", ACCESS_CHECK_PLACE, HARMS},
    {"let t: [n - 1]i32 = x[1 :+ n - 1]\n"
     "let y: [n - 1]i32 = kernel k (i < n - 1) { y[i] = t[i]; }",
     "t", ACCESS_CHECK_PLACE, HARMS},
    {"let y: [n / 2][m * 2]i32 = kernel k (i < n / 2, j < m) { y[i, j] = g[i, j]; }", "g",
     ACCESS_CHECK_PLACE, HARMS},

    /* types */
    {"let y: [n]i32 = kernel k (i < n) { i32 t; y[i] = put(&t, (i32)v[i]); y[i] = t; }", "v",
     ACCESS_CHECK_TYPE, CAUTION},
    {"let y: [n]i32 = kernel k (i < n) { i32 t = 1; y[i] = (i32)v[i] + t; }", "v",
     ACCESS_CHECK_TYPE, CAUTION},
    {"let (y: [n]i32, s: [n]i32) = kernel k (i < n) { y[i] = s[i] = (i32)v[i]; }", "v",
     ACCESS_CHECK_TYPE, CAUTION},
    {"let y: [n]i32 = kernel k (i < n) { y[i] = twice((i32)v[i]) * (i32)n + i; }", "v", YES, HOLDS},
    {"let y: [n]f32 = kernel k (i < n) { y[i] = sqrtf((f32)x[i]); }", "x", YES, HOLDS},

    {"let y: [n]i32 = kernel k (i < n) { y[i] = (i32)v[i]; }", "v", YES, HOLDS},
    {"let y: [n]i32 = kernel k (i < n) { f32 t = v[i]; y[i] = (i32)t; }", "v", ACCESS_CHECK_TYPE,
     CAUTION},
    {"let y: [n]f64 = kernel k (i < n) { for (i32 k = 0; k < 1; k++) { y[i] = 0.5 * w[i]; } }", "w",
     ACCESS_CHECK_LOOP, CAUTION},

    {"let y: [n][m]i32 = kernel k (i < n) { for (i32 k = 0; k < (i32)m; k++) y[i, k] = g[i, k]; }",
     "g", ACCESS_CHECK_WRITE_INDEX, CAUTION},

    /* groups: the item is one more index of the thread */
    {"let y: [n][m]i32 = kernel k (i < n) group l < 8 { each { y[i, l] = g[i, l] + 1; } }", "g",
     YES, HOLDS},
    {"let y: [n][m]i32 = kernel k (i < n) group l < 8 local s: [8]i32 {\n"
     "each { s[l] = g[i, l]; } each { y[i, l] = s[7 - l]; } }",
     "g", YES, HOLDS},
    {"let y: [n]i32 = kernel k (i < n) group l < 8 { each { y[i] = x[i] + 1; } }", "x",
     ACCESS_CHECK_WRITE_THREADS, HARMS},
    {"let y: [n]i32 = kernel k (i < n) group l < 8 { each { if (l == 0) y[i] = x[i]; } }", "x",
     ACCESS_CHECK_WRITE_THREADS, CAUTION},
    {"let y: [n]i32 = kernel k (i < n) group l < 1 { each { y[i] = x[i] + 1; } }", "x", YES, HOLDS},
    {"let y: [n][m]i32 = kernel k (i < n) group l < 8 {\n"
     "each { y[i, l] = g[i, l] + g[i, 7 - l]; } }",
     "g", ACCESS_CHECK_READ_INDEX, HARMS},
    {"let y: [n][m]i32 = kernel k (i < n) group l < 8 {\n"
     "for (i32 k = 0; k < 2; k++) each { y[i, l] = g[i, l] + 1; } }",
     "g", ACCESS_CHECK_LOOP, HARMS},
    {"let y: [n]i32 = kernel k (i < 1) group l < 8 local s: [8]i32 {\n"
     "each { s[l] = x[l]; } each { y[l] = s[l] + s[0]; } }",
     "x", ACCESS_CHECK_WRITE_THREADS, CAUTION},

    /* texts that are not followed */
    {"let y: [n]i32 = kernel k (i < n) { i32 t = 3); y[i] = x[i]; }", "x", ACCESS_CHECK_TEXT, NO_C},
    {"let y: [n]i32 = kernel k (i < n) { do y[i] = x[i]; }", "x", ACCESS_CHECK_TEXT, NO_C},
    {"let y: [n]i32 = kernel k (i < n) { y[i] = x[i]; if (n) }", "x", ACCESS_CHECK_TEXT, NO_C},
    {"let y: [n]i32 = kernel k (i < n) { { if (n) } y[i] = x[i]; }", "x", ACCESS_CHECK_TEXT, NO_C},
    {"let y: [n]i32 = kernel k (i < n) { i32 t = R\"(a)\"[0]; y[i] = x[i] + t; }", "x",
     ACCESS_CHECK_TEXT, NO_C},
    {"let y: [n]i32 = kernel k (i < n) { if (1) { y[i] = x[i] } }", "x", ACCESS_CHECK_TEXT, NO_C},

    {"let y: [n]i32 = kernel k (i < n) { switch (x[i]) { default: y[i] = 3; } }", "x",
     ACCESS_CHECK_TEXT, CAUTION},
    {"let y: [n]i32 = kernel k (i < n) { i32 k = 0; again: while (k++ < 2) y[i] = x[i] + 1; }", "x",
     ACCESS_CHECK_TEXT, HARMS},
    {"let y: [n]i32 = kernel k (i < n) {\n#define BACK y[i] = 1; i32 t = x[i]\n y[i] = x[i]; }",
     "x", ACCESS_CHECK_TEXT, NO_C},
    {"let y: [n]i32 = kernel k (i < n) { y[i] = ({ i32 t = x[i]; t; }); }", "x", ACCESS_CHECK_TEXT,
     CAUTION},
    {"let y: [n]i32 = kernel k (i < n) { i32 t = 0; void f(void) { t = x[i]; }\n"
     "y[i] = 1; f(); y[i] = t; }",
     "x", ACCESS_CHECK_TEXT, NO_C},
    {"let y: [n]i32 = kernel k (i < n) { const i32 *p = &(x[0]); y[i] = p[(i + 7) % 8]; }", "x",
     ACCESS_CHECK_TEXT, HARMS},
    {"let y: [n]i32 = kernel k (i < n) { const i32 *p = (i32 *)&x[0]; y[i] = p[(i + 7) % 8]; }",
     "x", ACCESS_CHECK_TEXT, HARMS},
    {"let y: [n]i32 = kernel k (i < n) { i32 *p = & /* */ x[0]; y[i] = p[(i + 7) % 8]; }", "x",
     ACCESS_CHECK_TEXT, HARMS},
    {"let y: [n]i32 = kernel k (i < n) { // y[i] = \\\n y[i] = x[i]; }", "x", ACCESS_CHECK_TEXT,
     NO_C},
    {"let y: [n]i32 = kernel k (i < n) { gamut_p_x[i] = 1; y[i] = x[i]; }", "x", ACCESS_CHECK_TEXT,
     CAUTION},
    {"let y: [n]i32 = kernel k (i < n) { y[i] = x[i]; else }", "x", ACCESS_CHECK_TEXT, NO_C},
    {"let y: [n]i32 = kernel k (i < n) { y[i] = (x[i]; }", "x", ACCESS_CHECK_TEXT, NO_C},
    {"let y: [n]i32 = kernel k (i < n) { for y[i] = x[i]; }", "x", ACCESS_CHECK_TEXT, NO_C},
};

/* With `rows`: every thread has a part of the array of its own. */
static const struct row own_rows[] = {
    {"let y: [n][m]i32 = kernel k (i < n) { y[i, g[i, 0] % 8] = 3; }", "g", YES, HOLDS},
    {"let y: [n][m]i32 = kernel k (i < n) { y[i, g[i, 0] % 8] = 1; i32 t = y[i, g[i, 1] % 8]; y[i, "
     "0] = t; }",
     "g", ACCESS_CHECK_OUT_READ, CAUTION},
    {"let y: [n][m]i32 = kernel k (i < n) { y[i, a - 7] = 5; y[i, 0] = g[i, n - 6]; }", "g",
     ACCESS_CHECK_ORDER, CAUTION},
    {"let y: [n][m]i32 = kernel k (i < n) { for (i32 k = 0; k != 8; k++) y[i, k] = g[i, k]; }", "g",
     ACCESS_CHECK_LOOP, CAUTION},
    {"let y: [n][m]i32 = kernel k (i < n) { for (i32 k = 7; k < 8; k--) y[i, k] = g[i, k]; }", "g",
     ACCESS_CHECK_LOOP, NO_C},
    {"let y: [n][m]i32 = kernel k (i < n) { i32 t = 0; for (i32 k = 0; k < 8; k++, t += 2) y[i, k] "
     "= g[i, k] + t; }",
     "g", ACCESS_CHECK_LOOP, CAUTION},
    {"let (y: [n][m]i32, s: [n]i32) = kernel k (i < n) { i32 t = 0;\n"
     "for (i32 k = 0; k < 8; t += g[i, k], k++) y[i, k] = 1; s[i] = t; }",
     "g", ACCESS_CHECK_LOOP, HARMS},
    {"let y: [n][m]i32 = kernel k (i < n) {\n"
     "for (i32 k = 0; k < (i32)m; k++) y[i, k] = g[i, k] + 1; }",
     "g", YES, HOLDS},
    {"let y: [n][m]i32 = kernel k (i < n) { for (i32 k = 0; k < (i32)m; ++k) {\n"
     "i32 t = g[i, k]; if (t > 5) y[i, k] = t; else y[i, k] = 1; } }",
     "g", YES, HOLDS},
    {"let y: [n][m]i32 = kernel k (i < n) { i32 s = 0;\n"
     "for (i32 k = 0; k < (i32)m; k++) s += g[i, k];\n"
     "for (i32 k = 0; k < (i32)m; k++) y[i, k] = s; }",
     "g", YES, HOLDS},
    {"let y: [n][n][n]i32 = kernel k (i < n) { for (i32 k = 0; k < 8; k++)\n"
     "for (i32 l = 0; l < 8; l++) y[l, i, k] = c[l, i, k] * 3; }",
     "c", YES, HOLDS},
    {"let y: [n][n][n]i32 = kernel k (i < n) { for (i32 k = 0; k < 8; k++) { i32 s = 0;\n"
     "for (i32 l = 0; l < 8; l++) s += c[i, k, l]; y[i, k, s % 8] = s; } }",
     "c", YES, HOLDS},
    {"let y: [n][m]i32 = kernel k (i < n) { y[i, 0] = g[i, 0] + 1; y[i, 1] = g[i, 1] + 2; }", "g",
     YES, HOLDS},
    {"let y: [n][m]i32 = kernel k (i < n) { y[i, a - 8] = g[i, a - 8]; y[i, a - 7] = g[i, a - 7]; "
     "}",
     "g", YES, HOLDS},
    {"let y: [n][m]i32 = kernel k (i < n) { y[i, 0] = g[i, 0] + 1; y[i, 1] = g[i, 0] + 2; }", "g",
     ACCESS_CHECK_ORDER, HARMS},
    {"let y: [n][m]i32 = kernel k (i < n) { for (i32 k = 0; k < 7; k++) y[i, k] = g[i, k + 1]; }",
     "g", ACCESS_CHECK_LOOP, CAUTION},
    {"let y: [n][m]i32 = kernel k (i < n) { for (i32 k = 0; k < 7; k++) y[i, k + 1] = g[i, k]; }",
     "g", ACCESS_CHECK_LOOP, HARMS},
    {"let y: [n][m]i32 = kernel k (i < n) { for (i32 k = 0; k < 8; k++) y[i, k] = g[i, 7]; }", "g",
     ACCESS_CHECK_LOOP, CAUTION},
    {"let y: [n][m]i32 = kernel k (i < n) { for (i32 k = 0; k < 8; k++) y[i, k] = g[i, 0] + k + 1; "
     "}",
     "g", ACCESS_CHECK_LOOP, HARMS},
    {"let y: [n][m]i32 = kernel k (i < n) { for (i32 l = 0; l < 2; l++)\n"
     "for (i32 k = 0; k < 8; k++) y[i, k] = g[i, k] + 1; }",
     "g", ACCESS_CHECK_LOOP, HARMS},
    {"let y: [n][m]i32 = kernel k (i < n) { for (i32 k = 0; k < 8; k += 1) y[i, k] = g[i, k]; }",
     "g", ACCESS_CHECK_LOOP, CAUTION},
    {"let y: [n][m]i32 = kernel k (i < n) { i32 again = 1;\n"
     "for (i32 k = 0; k < 8; k++) { y[i, k] = g[i, k] + 1; if (k == 3) { k -= again; again = 0; } "
     "} }",
     "g", ACCESS_CHECK_LOOP, HARMS},
    {"let y: [n][m]i32 = kernel k (i < n) { for (i32 k = 0; k < 8; k++) { i32 l = k, k = l / 2;\n"
     "y[i, k] = g[i, k] + 1; } }",
     "g", ACCESS_CHECK_LOOP, HARMS},
    {"let y: [n][m]i32 = kernel k (i < n) { for (i32 k = 0; k < 4; k++) { i32 *p = &k;\n"
     "y[i, k] = g[i, k] + 1; if (i == *p) y[i, 7] = 0; } }",
     "g", ACCESS_CHECK_LOOP, CAUTION},
    {"let y: [n][m]i32 = kernel k (i < n) { for (i32 k = 0; k < 8; k++) y[k, i] = g[i, k]; }", "g",
     ACCESS_CHECK_READ_INDEX, HARMS},
    {"let y: [n][m]i32 = kernel k (i < n) { for (i32 k = 0; k < 8; k++) y[i, k] = g[k, 0]; }", "g",
     ACCESS_CHECK_READ_INDEX, HARMS},
    {"let y: [n][m]i32 = kernel k (i < n) { for (i32 i = 0; i < 8; i++) y[i, 0] = g[i, 0] + 1; }",
     "g", ACCESS_CHECK_WRITE_THREADS, HARMS},
    {"let y: [n][m]i32 = kernel k (i < n) {\n"
     "for (i32 k = 0; k < 8; k++) y[i, k] = k;\n"
     "for (i32 k = 0; k < 8; k++) if (g[i, k] > 9) y[i, k] = 0; }",
     "g", ACCESS_CHECK_ORDER, HARMS},
};

enum {
    PLAIN_ROWS = sizeof plain_rows / sizeof *plain_rows,
    ROWS = PLAIN_ROWS + sizeof own_rows / sizeof *own_rows
};

static const struct row *row_at(unsigned i)
{
    return i < PLAIN_ROWS ? &plain_rows[i] : &own_rows[i - PLAIN_ROWS];
}
