#include "base/terminal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"

size_t terminal_columns(int file)
{
    const char *columns = getenv("COLUMNS");
    struct winsize size = {0};
    uint64_t asked = 0;
    if (columns && text_to_u64(columns, &asked) && asked)
        return asked;
    return ioctl(file, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

struct terminal terminal_of(FILE *out)
{
    const char *no_colour = getenv("NO_COLOR"), *name = getenv("TERM");
    const int file = fileno(out);
    if (file < 0 || !isatty(file))
        return (struct terminal){.width = SIZE_MAX};
    const size_t columns = terminal_columns(file);
    return (struct terminal){
        .width = columns ? columns : SIZE_MAX,
        .colour = !(no_colour && *no_colour) && !(name && strcmp(name, "dumb") == 0),
    };
}

static bool is_colour(char byte)
{
    return byte >= *TERMINAL_PLAIN && byte <= *TERMINAL_BOLD;
}

size_t terminal_shown(const char *text, size_t bytes)
{
    const unsigned char first = (unsigned char)*text;
    const size_t length = first < 0x80         ? 1
                          : first >> 5 == 0x06 ? 2
                          : first >> 4 == 0x0e ? 3
                          : first >> 3 == 0x1e ? 4
                                               : 0;
    uint32_t code = length == 1 ? first : first & 0x7fU >> length;
    for (size_t i = 1; i < length; i++) {
        if (i >= bytes || ((unsigned char)text[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | ((unsigned char)text[i] & 0x3f);
    }
    const bool controls = code < ' ' ? code != '\n' && code != '\t' : code >= 127 && code < 0xa0;
    const bool turns = (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
    return controls || turns ? 0 : length;
}

/* Writes a text with '?' for what a terminal would not show as a character; colours stay if the
 * terminal has them. */
static void write_shown(const char *text, size_t bytes, bool colour, FILE *out)
{
    static const char *const sequences[] = {"\033[0m", "\033[32m", "\033[31m", "\033[33m",
                                            "\033[1m"};
    for (size_t i = 0, start = 0; i <= bytes;) {
        const size_t length = i < bytes ? terminal_shown(text + i, bytes - i) : 0;
        i += length;
        if (length)
            continue;
        fwrite(text + start, 1, i - start, out);
        if (i < bytes)
            fputs(colour && is_colour(text[i]) ? sequences[text[i] - *TERMINAL_PLAIN] : "?", out);
        do /* one '?' for the whole character */
            start = ++i;
        while (i < bytes && ((unsigned char)text[i] & 0xc0) == 0x80);
    }
}

/* A stream into memory. The process ends if there is none, as in base/arena.h. */
static FILE *open_memory(char **text, size_t *length)
{
    FILE *memory = open_memstream(text, length);
    if (!memory)
        abort();
    return memory;
}

/* The formatted text, which the caller frees. */
static char *format_text(const char *format, va_list arguments, size_t *length)
{
    char *text;
    FILE *memory = open_memory(&text, length);
    vfprintf(memory, format, arguments);
    fclose(memory);
    return text;
}

void terminal_print(FILE *out, const char *format, ...)
{
    size_t length;
    va_list arguments;
    va_start(arguments, format);
    char *text = format_text(format, arguments, &length);
    va_end(arguments);
    write_shown(text, length, false, out);
    free(text);
}

size_t terminal_characters(const char *text, size_t bytes)
{
    size_t count = 0;
    for (size_t i = 0; i < bytes; i++)
        count += ((unsigned char)text[i] & 0xc0) != 0x80 && !is_colour(text[i]);
    return count;
}

void terminal_fold(const char *text, size_t bytes, size_t at, size_t indent, size_t width,
                   FILE *out)
{
    const char *end = text + bytes;
    while (text < end) {
        const char *word = text;
        while (word < end && *word == ' ')
            word++;
        const char *after = word;
        while (after < end && *after != ' ')
            after++;
        const size_t blanks = (size_t)(word - text), length = (size_t)(after - word);
        const size_t characters = terminal_characters(word, length);
        if (at + blanks + characters > width && at > indent) {
            fprintf(out, "\n%*s", (int)indent, "");
            at = indent;
        } else {
            fwrite(text, 1, blanks, out);
            at += blanks;
        }
        fwrite(word, 1, length, out);
        at += characters;
        text = after;
    }
}

void terminal_page_open(struct terminal_page *page, FILE *target)
{
    *page = (struct terminal_page){.terminal = terminal_of(target), .target = target};
    page->out = open_memory(&page->text, &page->length);
}

/* Writes the lines of a page, of which those that are too long are folded. */
static void fold_lines(const struct terminal_page *page, FILE *out)
{
    const size_t width = page->terminal.width;
    for (const char *line = page->text, *end = line + page->length; line < end;) {
        const size_t length = strcspn(line, "\n");
        const size_t indent = strspn(line, " ") + 2;
        if (terminal_characters(line, length) > width)
            terminal_fold(line, length, 0, indent < width / 2 ? indent : 2, width, out);
        else
            fwrite(line, 1, length, out);
        fputs(line[length] ? "\n" : "", out);
        line += length + (line[length] != 0);
    }
}

void terminal_page_close(struct terminal_page *page)
{
    struct terminal_page folded = *page;
    fclose(page->out);
    folded.out = open_memory(&folded.text, &folded.length);
    fold_lines(page, folded.out);
    fclose(folded.out);
    write_shown(folded.text, folded.length, page->terminal.colour, page->target);
    free(folded.text);
    free(page->text);
}

/* ---- status lines ---- */

static const uint64_t redraw_pause_ns = 100000000, plain_pause_ns = 10000000000;

void status_line_open(struct status_line *line, FILE *out)
{
    const char *name = getenv("TERM");
    const int file = fileno(out);
    *line = (struct status_line){.out = out, .shown_ns = clock_ns()};
    line->redraws = file >= 0 && isatty(file) && !(name && strcmp(name, "dumb") == 0);
}

/* The bytes of a text that fit into a line of the terminal. The last column stays free: it would
 * wrap on some terminals. */
static size_t shown_bytes(const struct status_line *line, const char *text, size_t length)
{
    const size_t columns = terminal_columns(fileno(line->out));
    const size_t width = columns > 1 && columns < 10000 ? columns - 1 : 79;
    while (terminal_characters(text, length) > width ||
           ((unsigned char)text[length] & 0xc0) == 0x80)
        length--;
    return length;
}

static void draw(struct status_line *line, const char *text, size_t length)
{
    fputs(line->redraws ? "\r" : "gamut: ", line->out);
    write_shown(text, line->redraws ? shown_bytes(line, text, length) : length, false, line->out);
    fputs(line->redraws ? "\033[K" : "\n", line->out);
    fflush(line->out);
    line->drawn = line->redraws;
}

void status_line_show(struct status_line *line, const char *format, ...)
{
    const uint64_t now = clock_ns();
    flockfile(line->out);
    const bool is_due = line->redraws ? !line->drawn || now - line->shown_ns >= redraw_pause_ns
                                      : now - line->shown_ns >= plain_pause_ns;
    if (is_due) {
        size_t length;
        va_list arguments;
        va_start(arguments, format);
        char *text = format_text(format, arguments, &length);
        va_end(arguments);
        draw(line, text, length);
        free(text);
        line->shown_ns = now;
    }
    funlockfile(line->out);
}

void status_line_clear(struct status_line *line)
{
    flockfile(line->out);
    if (line->drawn)
        fputs("\r\033[K", line->out);
    line->drawn = false;
    funlockfile(line->out);
}
