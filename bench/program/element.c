#include "program/element.h"

const char *element_name(enum element element)
{
    static const char *const names[] = {
#define X(name, type, bytes, field) #name,
        ELEMENT_LIST(X)
#undef X
    };
    return names[element];
}

size_t element_bytes(enum element element)
{
    static const size_t sizes[] = {
#define X(name, type, bytes, field) bytes,
        ELEMENT_LIST(X)
#undef X
    };
    return sizes[element];
}

bool element_is_float(enum element element)
{
    return element == ELEMENT_f32 || element == ELEMENT_f64;
}
