#include "trace/lifetime_table.h"

#include <stdlib.h>
#include <string.h>

struct cell {
    const char *text;
    size_t length;
};

struct lifetime_row {
    unsigned line;
    struct cell *cells;
};

enum column {
    COLUMN_ID,
    COLUMN_LOWER,
    COLUMN_UPPER,
    COLUMN_SIZE,
    COLUMN_ALIGNMENT, /* this and the next are optional */
    COLUMN_OFFSET,
    COLUMN_COUNT
};
static const char *const column_names[COLUMN_COUNT] = {"id",   "lower",     "upper",
                                                       "size", "alignment", "offset"};
enum { ABSENT = -1 };

struct reader {
    const char *path;
    struct cell rest; /* the text that is not read yet */
    unsigned line;    /* the line of the row that was read last */
    int at[COLUMN_COUNT];
    struct lifetime_table *table;
    struct error *error;
};

#define FAIL(reader, ...)                                                                          \
    error_prefix_line(reader, error_set((reader)->error, ERR_PARSE, __VA_ARGS__))
static int error_prefix_line(const struct reader *r, int code)
{
    error_prefix(r->error, "%s:%u: ", r->path, r->line);
    return code;
}

/* A cell in a message: its text, but no more than a line can hold. */
#define SHOWN(cell) (int)((cell).length < 40 ? (cell).length : 40), (cell).text

static bool cell_is(struct cell cell, const char *name)
{
    return cell.length == strlen(name) && memcmp(cell.text, name, cell.length) == 0;
}

static int compare_cells(struct cell a, struct cell b)
{
    if (a.length != b.length)
        return a.length < b.length ? -1 : 1;
    return memcmp(a.text, b.text, a.length);
}

/* The next line that is not empty; false at the end of the text. */
static bool next_line(struct reader *r, struct cell *line)
{
    while (r->rest.length) {
        const char *end = memchr(r->rest.text, '\n', r->rest.length);
        const size_t taken = end ? (size_t)(end - r->rest.text) + 1 : r->rest.length;
        *line = (struct cell){r->rest.text, end ? taken - 1 : taken};
        r->rest = (struct cell){r->rest.text + taken, r->rest.length - taken};
        r->line++;
        if (line->length && line->text[line->length - 1] == '\r')
            line->length--;
        if (line->length)
            return true;
    }
    return false;
}

/* The length of the cell at the start of a line; 0 or more, or -1 if a quote has no end. */
static ptrdiff_t cell_length(struct cell line)
{
    size_t i = 0;
    if (!line.length || line.text[0] != '"') {
        while (i < line.length && line.text[i] != ',')
            i++;
        return (ptrdiff_t)i;
    }
    for (i = 1; i < line.length; i++) {
        if (line.text[i] != '"')
            continue;
        if (i + 1 < line.length && line.text[i + 1] == '"')
            i++;
        else
            return (ptrdiff_t)i + 1;
    }
    return -1;
}

/* Cuts a line into `cells`, which has room for `most`; *count is how many there are. */
static int split_cells(struct reader *r, struct cell line, struct cell *cells, size_t most,
                       size_t *count)
{
    for (*count = 0;;) {
        const ptrdiff_t length = cell_length(line);
        if (length < 0)
            return FAIL(r, "a quote has no end; expected another \" before the end of the line");
        if ((size_t)length < line.length && line.text[length] != ',')
            return FAIL(r, "something follows a quoted cell; expected a comma");
        if (*count < most)
            cells[*count] = (struct cell){line.text, (size_t)length};
        ++*count;
        if ((size_t)length == line.length)
            return 0;
        line = (struct cell){line.text + length + 1, line.length - (size_t)length - 1};
    }
}

static int read_header(struct reader *r)
{
    struct cell line;
    if (!next_line(r, &line)) {
        r->line += !r->line;
        return FAIL(r, "the file is empty; expected the columns id,lower,upper,size[,alignment]");
    }
    struct lifetime_table *table = r->table;
    size_t most = 1;
    for (size_t i = 0; i < line.length; i++)
        most += line.text[i] == ',';
    table->header = arena_alloc(&table->arena, sizeof *table->header);
    table->header->cells = arena_alloc(&table->arena, most * sizeof(struct cell));
    TRY(split_cells(r, line, table->header->cells, most, &table->column_count));
    for (int c = 0; c < COLUMN_COUNT; c++) {
        r->at[c] = ABSENT;
        for (size_t i = 0; i < table->column_count; i++) {
            if (!cell_is(table->header->cells[i], column_names[c]))
                continue;
            if (r->at[c] != ABSENT)
                return FAIL(r, "there are two columns '%s'", column_names[c]);
            r->at[c] = (int)i;
        }
        if (r->at[c] == ABSENT && c < COLUMN_ALIGNMENT)
            return FAIL(r, "there is no column '%s'; expected id,lower,upper,size[,alignment]",
                        column_names[c]);
    }
    table->id_column = (size_t)r->at[COLUMN_ID];
    return 0;
}

static bool parse_number(struct cell cell, int64_t *value)
{
    const bool negative = cell.length && cell.text[0] == '-';
    int64_t sum = 0;
    for (size_t i = negative; i < cell.length; i++) {
        const int digit = cell.text[i] - '0';
        if (digit < 0 || digit > 9 || __builtin_mul_overflow(sum, 10, &sum) ||
            __builtin_add_overflow(sum, negative ? -digit : digit, &sum))
            return false;
    }
    *value = sum;
    return cell.length > negative;
}

static int read_number(struct reader *r, const struct lifetime_row *row, enum column column,
                       int64_t *value)
{
    const struct cell cell = row->cells[r->at[column]];
    if (!parse_number(cell, value))
        return FAIL(r, "%s is '%.*s'; expected a whole number of 64 bits", column_names[column],
                    SHOWN(cell));
    return 0;
}

static int read_buffer(struct reader *r, const struct lifetime_row *row, struct lifetime *b)
{
    TRY(read_number(r, row, COLUMN_LOWER, &b->lower));
    TRY(read_number(r, row, COLUMN_UPPER, &b->upper));
    TRY(read_number(r, row, COLUMN_SIZE, &b->size));
    b->alignment = 1;
    if (r->at[COLUMN_ALIGNMENT] != ABSENT)
        TRY(read_number(r, row, COLUMN_ALIGNMENT, &b->alignment));
    if (b->upper < b->lower)
        return FAIL(
            r, "upper is %lld, before lower, %lld; expected the end of a life not before its start",
            (long long)b->upper, (long long)b->lower);
    if (b->size < 0)
        return FAIL(r, "size is %lld; expected 0 or more bytes", (long long)b->size);
    if (b->alignment < 1)
        return FAIL(r, "alignment is %lld; expected 1 or more", (long long)b->alignment);
    return 0;
}

static int read_rows(struct reader *r)
{
    struct lifetime_table *table = r->table;
    struct cell line;
    size_t most = 1, cells;
    int64_t sum = 0;
    for (size_t i = 0; i < r->rest.length; i++)
        most += r->rest.text[i] == '\n';
    table->rows = arena_alloc(&table->arena, most * sizeof *table->rows);
    table->buffers = arena_alloc(&table->arena, most * sizeof *table->buffers);
    if (r->at[COLUMN_OFFSET] != ABSENT)
        table->offset = arena_alloc(&table->arena, most * sizeof *table->offset);
    for (; next_line(r, &line); table->count++) {
        struct lifetime_row *row = &table->rows[table->count];
        struct lifetime *buffer = &table->buffers[table->count];
        row->line = r->line;
        row->cells = arena_alloc(&table->arena, table->column_count * sizeof *row->cells);
        TRY(split_cells(r, line, row->cells, table->column_count, &cells));
        if (cells != table->column_count)
            return FAIL(r, "there are %zu cells; expected %zu, as in the first line", cells,
                        table->column_count);
        TRY(read_buffer(r, row, buffer));
        if (table->offset)
            TRY(read_number(r, row, COLUMN_OFFSET, &table->offset[table->count]));
        if (buffer->size > LIFETIMES_SUM_MOST - sum ||
            buffer->alignment > LIFETIMES_SUM_MOST - sum - buffer->size)
            return FAIL(r, "sizes and alignments up to here add up to more than %lld",
                        (long long)LIFETIMES_SUM_MOST);
        sum += buffer->size + buffer->alignment;
    }
    return 0;
}

struct id {
    struct cell cell;
    unsigned line;
};

static int by_id(const void *left, const void *right)
{
    const struct id *a = left, *b = right;
    const int order = compare_cells(a->cell, b->cell);
    return order ? order : (a->line > b->line) - (a->line < b->line);
}

static int check_ids(struct reader *r)
{
    const struct lifetime_table *table = r->table;
    struct id *ids = must_alloc((table->count + 1) * sizeof *ids);
    for (size_t i = 0; i < table->count; i++)
        ids[i] = (struct id){table->rows[i].cells[r->at[COLUMN_ID]], table->rows[i].line};
    qsort(ids, table->count, sizeof *ids, by_id);
    const struct id *first = NULL; /* the repetition that comes first in the file */
    for (size_t i = 1; i < table->count; i++)
        if (compare_cells(ids[i - 1].cell, ids[i].cell) == 0 &&
            (!first || ids[i].line < first->line))
            first = &ids[i];
    int code = 0;
    if (first) {
        r->line = first->line;
        code = FAIL(r, "the id '%.*s' is repeated; expected each id once", SHOWN(first->cell));
    }
    free(ids);
    return code;
}

int lifetime_table_read_text(const char *path, const char *text, size_t length,
                             struct lifetime_table *table, struct error *error)
{
    *table = (struct lifetime_table){0};
    struct reader r = {.path = path, .table = table, .error = error};
    r.rest = (struct cell){arena_copy(&table->arena, text, length), length};
    int code = read_header(&r);
    THEN(code, read_rows(&r));
    THEN(code, check_ids(&r));
    if (code)
        lifetime_table_free(table);
    return code;
}

int lifetime_table_read_file(const char *path, struct lifetime_table *table, struct error *error)
{
    struct text text = {0};
    int code = text_read_file(&text, path, error);
    THEN(code, lifetime_table_read_text(path, text.data, text.length, table, error));
    text_free(&text);
    return code;
}

void lifetime_table_id(const struct lifetime_table *table, size_t buffer, struct text *id)
{
    const struct cell cell = table->rows[buffer].cells[table->id_column];
    const bool quoted = cell.length && cell.text[0] == '"';
    for (size_t i = quoted; i + quoted < cell.length; i++) {
        text_add_bytes(id, &cell.text[i], 1);
        i += quoted && cell.text[i] == '"'; /* a quote stands there twice */
    }
}

static void write_row(const struct lifetime_table *table, const struct lifetime_row *row, FILE *out)
{
    for (size_t i = 0; i < table->column_count; i++)
        if (!cell_is(table->header->cells[i], column_names[COLUMN_OFFSET])) {
            fwrite(row->cells[i].text, 1, row->cells[i].length, out);
            fputc(',', out);
        }
}

void lifetime_table_write(const struct lifetime_table *table, const int64_t *offset, FILE *out)
{
    write_row(table, table->header, out);
    fprintf(out, "%s\n", column_names[COLUMN_OFFSET]);
    for (size_t i = 0; i < table->count; i++) {
        write_row(table, &table->rows[i], out);
        fprintf(out, "%lld\n", (long long)offset[i]);
    }
}

void lifetime_table_free(struct lifetime_table *table)
{
    arena_free(&table->arena);
    *table = (struct lifetime_table){0};
}
