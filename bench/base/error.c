#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *error_sentence(int code)
{
    switch (code) {
#define X(name, value, sentence)                                                                   \
    case name:                                                                                     \
        return sentence;
        ERROR_LIST(X)
#undef X
    default:
        return code == 0 ? "no error" : "an error without a name";
    }
}

int error_set(struct error *e, int code, const char *format, ...)
{
    if (e) {
        va_list arguments;
        va_start(arguments, format);
        e->code = code;
        vsnprintf(e->text, sizeof e->text, format, arguments);
        va_end(arguments);
    }
    return code;
}

void error_prefix(struct error *e, const char *format, ...)
{
    if (!e)
        return;
    char rest[sizeof e->text];
    memcpy(rest, e->text, sizeof rest);
    va_list arguments;
    va_start(arguments, format);
    int used = vsnprintf(e->text, sizeof e->text, format, arguments);
    va_end(arguments);
    if (used >= 0 && (size_t)used < sizeof e->text)
        snprintf(e->text + used, sizeof e->text - (size_t)used, "%s", rest);
}

void error_suffix(struct error *e, const char *format, ...)
{
    if (!e)
        return;
    const size_t used = strlen(e->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(e->text + used, sizeof e->text - used, format, arguments);
    va_end(arguments);
}
