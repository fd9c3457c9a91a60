#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"

static void reserve(struct text *t, size_t more)
{
    if (t->length + more + 1 <= t->capacity)
        return;
    t->capacity = (t->length + more + 1) * 2;
    t->data = must_realloc(t->data, t->capacity);
}

void text_add(struct text *t, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    reserve(t, (size_t)length);
    vsnprintf(t->data + t->length, (size_t)length + 1, format, again);
    t->length += (size_t)length;
    va_end(again);
    va_end(arguments);
}

void text_add_bytes(struct text *t, const char *bytes, size_t length)
{
    reserve(t, length);
    memcpy(t->data + t->length, bytes, length);
    t->length += length;
    t->data[t->length] = 0;
}

void text_add_word(struct text *t, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./:=,+@%";
    const char *quote = *word && !word[strspn(word, plain)] ? "" : "'";
    text_add(t, "%s", quote);
    for (; *word; word++)
        text_add(t, *word == '\'' ? "'\\''" : "%c", *word);
    text_add(t, "%s", quote);
}

void text_free(struct text *t)
{
    free(t->data);
    *t = (struct text){0};
}

void text_own_folder(struct text *t, const char *name)
{
    char path[PATH_MAX];
    const ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
    path[size > 0 ? size : 0] = 0;
    const char *binary_folder = dirname(path);
    const size_t begin = t->length;
    text_add(t, "%s/../%s", binary_folder, name);
    if (access(t->data + begin, F_OK) == 0)
        return;
    t->length = begin;
    text_add(t, "%s/../share/gamut/%s", binary_folder, name);
}

int text_read_file(struct text *t, const char *path, struct error *error)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return error_set(error, ERR_IO, "%s: %s", path, strerror(errno));
    const size_t start = t->length;
    char chunk[4096], most[32];
    size_t n;
    text_add(t, "%s", "");
    while (t->length - start <= TEXT_MOST_BYTES && (n = fread(chunk, 1, sizeof chunk, file)) > 0)
        text_add_bytes(t, chunk, n);
    int code = 0;
    if (ferror(file))
        code = error_set(error, ERR_IO, "%s: %s", path, strerror(errno));
    else if (t->length - start > TEXT_MOST_BYTES)
        code = error_set(error, ERR_PARSE, "%s: expected at most %s, and there is more to read",
                         path, text_bytes(most, TEXT_MOST_BYTES));
    fclose(file);
    return code;
}

int text_write_file(const struct text *t, const char *path, struct error *error)
{
    FILE *file = fopen(path, "wb");
    if (!file)
        return error_set(error, ERR_IO, "%s could not be made: %s", path, strerror(errno));
    bool is_written = fwrite(t->data ? t->data : "", 1, t->length, file) == t->length;
    if (fclose(file) != 0 || !is_written)
        return error_set(error, ERR_IO, "%s could not be written: %s", path, strerror(errno));
    return 0;
}

const char *text_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int text_make_folders(const char *path, struct error *error)
{
    int code = 0;
    struct text part = {0};
    text_add(&part, "%s", path);
    for (char *slash = part.data + 1; code == 0 && *slash && (slash = strchr(slash, '/'));
         slash++) {
        *slash = 0;
        if (mkdir(part.data, 0777) != 0 && errno != EEXIST)
            code = error_set(error, ERR_IO, "the folder %s could not be made: %s", part.data,
                             strerror(errno));
        *slash = '/';
    }
    text_free(&part);
    return code;
}

/* Reads a finite, non-negative number at the start of text; *rest receives the text after it. */
static bool leading_number(const char *text, double *value, const char **rest)
{
    if (!isdigit((unsigned char)*text) && *text != '.')
        return false;
    char *end;
    *value = strtod(text, &end);
    *rest = end;
    return end != text && isfinite(*value);
}

bool text_to_bytes(const char *text, uint64_t *bytes)
{
    double value;
    const char *unit;
    if (!leading_number(text, &value, &unit))
        return false;
    double factor = 1;
    static const char prefixes[] = "kmgt";
    const char *prefix = *unit ? strchr(prefixes, tolower((unsigned char)*unit)) : NULL;
    if (prefix) {
        unit++;
        double base = strcasecmp(unit, "B") == 0 ? 1000 : 1024;
        for (const char *each = prefixes; each <= prefix; each++)
            factor *= base;
        if (tolower((unsigned char)*unit) == 'i')
            unit++;
    }
    if (tolower((unsigned char)*unit) == 'b')
        unit++;
    value *= factor;
    if (*unit || value >= 0x1p63)
        return false;
    *bytes = (uint64_t)value;
    return true;
}

bool text_to_ns(const char *text, uint64_t *ns)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"µs", 1e3}, {"ns", 1}, {"m", 60e9}};
    double value;
    const char *unit;
    if (!leading_number(text, &value, &unit))
        return false;
    *ns = 0;
    if (value == 0 && !*unit)
        return true;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i].name) == 0 && value * units[i].ns < 0x1p63) {
            *ns = (uint64_t)(value * units[i].ns);
            return true;
        }
    return false;
}

bool text_to_u64(const char *text, uint64_t *value)
{
    if (!isdigit((unsigned char)*text))
        return false;
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return !*end && errno == 0;
}

int text_flush(FILE *out, struct error *error)
{
    if (fflush(out) != 0 || ferror(out))
        return error_set(error, ERR_IO, "stdout could not be written: %s", strerror(errno));
    return 0;
}

double text_to_seconds(const char *date)
{
    int year, month, day, hour, minute, second;
    if (sscanf(date, "%4d-%2d-%2dT%2d:%2d:%2d", &year, &month, &day, &hour, &minute, &second) != 6)
        return NAN;
    /* Years that begin in March have their leap day at their end. */
    year -= month <= 2;
    const int day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    const int days = 365 * year + year / 4 - year / 100 + year / 400 + day_of_year - 719468;
    return 86400.0 * days + 3600 * hour + 60 * minute + second;
}

char *text_ns(char out[32], double ns)
{
    static const char *units[] = {"ns", "µs", "ms", "s"};
    size_t unit = 0;
    while (ns >= 1000 && unit + 1 < sizeof units / sizeof *units) {
        ns /= 1000;
        unit++;
    }
    snprintf(out, 32, ns < 10 ? "%.2f %s" : ns < 100 ? "%.1f %s" : "%.0f %s", ns, units[unit]);
    return out;
}

char *text_percent(char out[32], double percent)
{
    /* %g would write 99.6 as 1e+02, and 0.00001 as 1e-05. */
    if (percent > 0 && percent < 0.001)
        snprintf(out, 32, "<0.001 %%");
    else
        snprintf(out, 32, percent < 10 ? "%.2g %%" : "%.0f %%", percent);
    return out;
}

char *text_count(char out[48], double count, const char *thing)
{
    snprintf(out, 48, "%.0f %s%s", count, thing, count == 1 ? "" : "s");
    return out;
}

bool text_glob(const char *pattern, const char *name)
{
    const char *star = NULL, *resume = NULL;
    while (*name) {
        if (*pattern == '*') {
            star = pattern++;
            resume = name;
        } else if (*pattern == '?' || *pattern == *name) {
            pattern++;
            name++;
        } else if (star) {
            pattern = star + 1;
            name = ++resume;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

/* Optimal string alignment: Levenshtein's distance, in which two letters in the wrong order ("rnu")
 * are one mistake. Names longer than a row are never near. */
static unsigned distance(const char *a, const char *b)
{
    enum { LONGEST = 64 };
    size_t n = strlen(a), m = strlen(b);
    if (n >= LONGEST || m >= LONGEST)
        return LONGEST;
    unsigned rows[3][LONGEST + 1]; /* row i of the table is rows[i % 3] */
    for (size_t j = 0; j <= m; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        unsigned *row = rows[i % 3], *above = rows[(i - 1) % 3];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            unsigned substitute = above[j - 1] + (a[i - 1] != b[j - 1]);
            unsigned shorter = (above[j] < row[j - 1] ? above[j] : row[j - 1]) + 1;
            row[j] = substitute < shorter ? substitute : shorter;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                rows[(i - 2) % 3][j - 2] + 1 < row[j])
                row[j] = rows[(i - 2) % 3][j - 2] + 1;
        }
    }
    return rows[n % 3][m];
}

int text_nearest(const char *word, const char *(*name)(void *context, size_t i), void *context)
{
    /* With half of the letters wrong, the name was probably not meant. */
    unsigned best = (unsigned)strlen(word) / 2 + 1;
    int nearest = -1;
    const char *candidate;
    for (size_t i = 0; (candidate = name(context, i)); i++) {
        unsigned d = distance(word, candidate);
        if (strncmp(word, candidate, strlen(word)) == 0)
            d = 1;
        if (d < best) {
            best = d;
            nearest = (int)i;
        }
    }
    return nearest;
}

size_t text_span(const char *text, const char *stops)
{
    size_t i = 0;
    for (unsigned depth = 0; text[i] && (depth || !strchr(stops, text[i])); i++)
        depth += text[i] == '{' ? 1 : text[i] == '}' && depth ? -1u : 0;
    return i;
}

bool text_next_item(const char **list, char *item, size_t size)
{
    if (!**list)
        return false;
    const size_t length = text_span(*list, ",");
    snprintf(item, size, "%.*s", (int)length, *list);
    *list += length + ((*list)[length] == ',');
    return true;
}

bool text_is_listed(const char *list, const char *name)
{
    char pattern[160];
    while (text_next_item(&list, pattern, sizeof pattern))
        if (text_glob(pattern, name))
            return true;
    return false;
}

int text_unknown(struct error *error, const char *word,
                 const char *(*name)(void *context, size_t i), void *context, const char *format,
                 ...)
{
    char before[256];
    struct text known = {0};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(before, sizeof before, format, arguments);
    va_end(arguments);
    for (size_t i = 0; name(context, i); i++)
        text_add(&known, "%s%s", i ? ", " : "", name(context, i));
    const char *last = strrchr(word, '/'); /* of a path, such as a workload's folder */
    const int nearest = text_nearest(last && last[1] ? last + 1 : word, name, context);
    int code = error_set(error, ERR_USAGE, "%s '%s'%s%s%s; there are: %s", before, word,
                         nearest >= 0 ? " (did you mean " : "",
                         nearest >= 0 ? name(context, (size_t)nearest) : "",
                         nearest >= 0 ? "?)" : "", known.data ? known.data : "none");
    text_free(&known);
    return code;
}
