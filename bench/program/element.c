#include "program/element.h"

#include "base/text.h"

const char *element_name(enum element element)
{
    static const char *const names[] = {ELEMENT_LIST(TEXT_NAME)};
    return names[element];
}

size_t element_bytes(enum element element)
{
#define BYTES(name, type, bytes, field) bytes,
    static const size_t sizes[] = {ELEMENT_LIST(BYTES)};
    return sizes[element];
}

bool element_is_float(enum element element)
{
    return element == ELEMENT_f32 || element == ELEMENT_f64;
}
