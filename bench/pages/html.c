#include "pages/page.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The length of the UTF-8 sequence at s, or 0 where there is none, or none of a character that HTML
 * allows. The first byte says the length; overlong forms, surrogates and non-characters are found
 * by their value. */
static size_t character_length(const char *s)
{
    const unsigned char *byte = (const unsigned char *)s;
    if (byte[0] < 0x80)
        return (byte[0] >= 0x20 && byte[0] != 0x7f) || byte[0] == '\t' || byte[0] == '\n';
    const size_t length = byte[0] >= 0xf0 ? 4 : byte[0] >= 0xe0 ? 3 : 2;
    static const unsigned long least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned long value = byte[0] & (0xffu >> (length + 1));
    if (byte[0] < 0xc0 || byte[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((byte[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (byte[i] & 0x3f);
    }
    const int is_wrong = value < least[length] || value > 0x10ffff || (value & 0xfffe) == 0xfffe ||
                         (value >= 0xd800 && value < 0xe000) || (value >= 0x80 && value < 0xa0) ||
                         (value >= 0xfdd0 && value < 0xfdf0);
    return is_wrong ? 0 : length;
}

void html_text(FILE *out, const char *text)
{
    static const char special[] = "&<>\"'";
    static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    while (*text) {
        const size_t length = character_length(text);
        const char *found = strchr(special, *text);
        if (found)
            fputs(entities[found - special], out);
        else if (length)
            fwrite(text, 1, length, out);
        else
            fputs("\xef\xbf\xbd", out);
        text += length ? length : 1;
    }
}

void html_path(FILE *out, const char *path)
{
    for (; *path; path++) {
        const unsigned char c = (unsigned char)*path;
        const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                              (c >= '0' && c <= '9') || strchr("/-._~", c);
        fprintf(out, is_plain ? "%c" : "%%%02X", c);
    }
}

static _Noreturn void bad_format(const char *format)
{
    fprintf(stderr, "gamut: html_print does not know the format \"%s\"\n", format);
    abort();
}

/* Prints a number by the conversion `spec`. */
static void print_number(FILE *out, const char *spec, char conversion, va_list *arguments)
{
    char number[512];
    if (conversion == 'd')
        snprintf(number, sizeof number, spec, va_arg(*arguments, int));
    else if (conversion == 'u')
        snprintf(number, sizeof number, spec, va_arg(*arguments, size_t));
    else
        snprintf(number, sizeof number, spec, va_arg(*arguments, double));
    html_text(out, number);
}

void html_print(FILE *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    for (const char *c = format; *c; c++) {
        if (*c != '%') {
            fputc(*c, out);
            continue;
        }
        char spec[16];
        size_t length = strcspn(c + 1, "sdufge%") + 2;
        if (length >= sizeof spec || !c[length - 1])
            bad_format(format);
        memcpy(spec, c, length);
        spec[length] = 0;
        c += length - 1;
        if (*c == '%' && length == 2)
            fputc('%', out);
        else if (*c == 's' && length == 2)
            html_text(out, va_arg(arguments, const char *));
        else if (strchr(spec, '*') || strchr("s%", *c) || (*c == 'u') != !!strchr(spec, 'z'))
            bad_format(format);
        else
            print_number(out, spec, *c, &arguments);
    }
    va_end(arguments);
}

void html_policy(FILE *out, const char *hash)
{
    fprintf(
        out,
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src "
        "'%.51s'; style-src 'unsafe-inline'; img-src 'self' file:; base-uri 'none'; form-action "
        "'none'\"/>\n",
        hash);
}
