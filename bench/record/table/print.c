#include "record/table/print.h"

#include <string.h>

size_t print_width(const char *utf8)
{
    size_t count = 0;
    for (; *utf8; utf8++)
        count += ((unsigned char)*utf8 & 0xc0) != 0x80;
    return count;
}

void print_padded(const char *text, size_t width, bool to_the_right, const char *colour, FILE *out)
{
    const size_t own = print_width(text);
    const int padding = own < width ? (int)(width - own) : 0;
    fprintf(out, "%*s%s%s%s%*s", to_the_right ? padding : 0, "", colour, text,
            *colour ? PRINT_PLAIN : "", to_the_right ? 0 : padding, "");
}

void print_markdown_cell(const char *text, FILE *out)
{
    for (; *text && *text != '\n'; text++)
        fprintf(out, "%s%c", *text == '|' ? "\\" : "", *text);
}

void print_csv_cell(const char *text, FILE *out)
{
    if (!text[strcspn(text, ",\"\n\r")]) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}
