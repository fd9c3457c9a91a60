#include "pages/data.h"

#include <stdlib.h>
#include <zlib.h>

#include "base/arena.h"

void packed_number(struct text *bytes, uint64_t number)
{
    char packed[10];
    size_t length = 0;
    for (; number >= 128; number >>= 7)
        packed[length++] = (char)(number | 128);
    packed[length++] = (char)number;
    text_add_bytes(bytes, packed, length);
}

void packed_difference(struct text *bytes, int64_t difference)
{
    packed_number(bytes, difference < 0 ? (uint64_t)-difference * 2 - 1 : (uint64_t)difference * 2);
}

static void write_base64(FILE *out, const unsigned char *bytes, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < length; i += 3) {
        const size_t left = length - i;
        const unsigned second = left > 1 ? bytes[i + 1] : 0, third = left > 2 ? bytes[i + 2] : 0;
        const unsigned three = (unsigned)bytes[i] << 16 | second << 8 | third;
        const char four[] = {digits[three >> 18], digits[three >> 12 & 63],
                             left > 1 ? digits[three >> 6 & 63] : '=',
                             left > 2 ? digits[three & 63] : '='};
        fwrite(four, 1, sizeof four, out);
    }
}

void packed_write(FILE *out, unsigned number, struct text *bytes)
{
    uLongf length = compressBound(bytes->length);
    unsigned char *packed = must_alloc(length);
    compress2(packed, &length, (const unsigned char *)(bytes->length ? bytes->data : ""),
              bytes->length, 6); /* the room is enough, and there is no other error */
    fprintf(out, "<script type=\"text/plain\" id=\"b%u\">", number);
    write_base64(out, packed, length);
    fputs("</script>\n", out);
    free(packed);
    bytes->length = 0;
}
