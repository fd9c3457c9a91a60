/* The types of scalars and array elements. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RANK_MAX = 8 };

/* X(name, C type, bytes, field of union scalar) */
#define ELEMENT_LIST(X)                                                                            \
    X(bool, uint8_t, 1, u8)                                                                        \
    X(u8, uint8_t, 1, u8)                                                                          \
    X(i32, int32_t, 4, i32)                                                                        \
    X(u32, uint32_t, 4, u32)                                                                       \
    X(i64, int64_t, 8, i64)                                                                        \
    X(f32, float, 4, f32)                                                                          \
    X(f64, double, 8, f64)

#define ELEMENT(name, ...) ELEMENT_##name,
enum element { ELEMENT_LIST(ELEMENT) ELEMENTS };

/* The value of a scalar; which field holds it follows from its element type. */
union scalar {
    uint8_t u8;
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    float f32;
    double f64;
};

const char *element_name(enum element element); /* "f32", … */
size_t element_bytes(enum element element);     /* the bytes of one element */
bool element_is_float(enum element element);    /* f32 or f64 */
