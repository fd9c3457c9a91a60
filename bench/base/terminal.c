#include "base/terminal.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

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

/* The bytes of an escape sequence that `text` begins with; 0 if it begins with none. */
static size_t escape_length(const char *text, size_t bytes)
{
    if (bytes < 2 || text[0] != '\033' || text[1] != '[')
        return 0;
    const char *end = memchr(text, 'm', bytes);
    return end ? (size_t)(end - text) + 1 : 0;
}

size_t terminal_characters(const char *text, size_t bytes)
{
    size_t count = 0;
    for (size_t i = 0; i < bytes;) {
        const size_t escape = escape_length(text + i, bytes - i);
        count += !escape && ((unsigned char)text[i] & 0xc0) != 0x80;
        i += escape ? escape : 1;
    }
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
    if (page->terminal.width != SIZE_MAX)
        page->out = open_memstream(&page->text, &page->length);
    if (!page->out)
        page->out = target;
}

void terminal_page_close(struct terminal_page *page)
{
    const size_t width = page->terminal.width;
    if (page->out == page->target)
        return;
    fclose(page->out);
    for (const char *line = page->text, *end = line + page->length; line < end;) {
        const size_t length = strcspn(line, "\n");
        const size_t indent = strspn(line, " ") + 2;
        if (terminal_characters(line, length) > width)
            terminal_fold(line, length, 0, indent < width / 2 ? indent : 2, width, page->target);
        else
            fwrite(line, 1, length, page->target);
        fputs(line[length] ? "\n" : "", page->target);
        line += length + (line[length] != 0);
    }
    free(page->text);
}
