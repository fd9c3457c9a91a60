/* Inputs and reference of crypt.mem.
 *
 * The reference multiplies modulo 65537 by dividing, with 0 spelled out as 65536, and goes through
 * the rounds in the order of the cipher's description. Decryption must give the text again.
 */
#include <stdbool.h>
#include <string.h>

#include "workload.h"

#ifdef _OPENMP
#define PARALLEL_FOR _Pragma("omp parallel for schedule(static)")
#else
#define PARALLEL_FOR
#endif

enum { KEYS = 52, PARTS = 4 }; /* subkeys; 16-bit parts of a block */

static uint16_t multiply(uint16_t a, uint16_t b)
{
    uint64_t x = a ? a : 65536, y = b ? b : 65536;
    return (uint16_t)(x * y % 65537); /* 65536 becomes 0 again */
}

/* ---- inputs -------------------------------------------------------------------------------- */

/* The subkeys are the user's 128 bits, eight at a time, turned left by 25 bits in between. */
static void encryption_keys(uint64_t seed, uint16_t keys[KEYS])
{
    uint64_t high = random_split(seed, 0), low = random_split(seed, 1);
    for (int k = 0; k < KEYS; k++) {
        int part = k % 8;
        if (k && part == 0) {
            uint64_t turned = high << 25 | low >> 39;
            low = low << 25 | high >> 39;
            high = turned;
        }
        keys[k] = (uint16_t)((part < 4 ? high : low) >> (48 - 16 * (part % 4)));
    }
}

/* x^65535 modulo 65537, a prime: the inverse. */
static uint16_t inverse(uint16_t x)
{
    uint16_t power = 1;
    for (int bit = 0; bit < 16; bit++) {
        power = multiply(power, power);
        power = multiply(power, x);
    }
    return power;
}

static uint16_t negative(uint16_t x)
{
    return (uint16_t)-x;
}

/* The rounds in reverse with inverted keys. The middle words are exchanged after every round but
 * the last, so their keys are, too, except at both ends. */
static void decryption_keys(const uint16_t in[KEYS], uint16_t out[KEYS])
{
    for (int r = 0; r <= 8; r++) {
        const uint16_t *from = in + 6 * (8 - r);
        uint16_t *to = out + 6 * r;
        bool exchanged = r > 0 && r < 8;
        to[0] = inverse(from[0]);
        to[1] = negative(from[exchanged ? 2 : 1]);
        to[2] = negative(from[exchanged ? 1 : 2]);
        to[3] = inverse(from[3]);
        if (r < 8) {
            to[4] = from[-2];
            to[5] = from[-1];
        }
    }
}

static void pack_keys(const uint16_t keys[KEYS], uint32_t *words)
{
    for (int k = 0; k < KEYS / 2; k++)
        words[k] = keys[2 * k] | (uint32_t)keys[2 * k + 1] << 16;
}

/* Either program gets the same bytes. */
static void fill_text(struct host_array *text, uint64_t seed)
{
    const int64_t blocks = text->shape[0];
    uint8_t *bytes = text->data;
    uint32_t *words = text->data;
    PARALLEL_FOR
    for (int64_t b = 0; b < blocks; b++) {
        uint64_t block = random_split(seed, (uint64_t)b);
        if (text->element == ELEMENT_u8) {
            for (int i = 0; i < 8; i++)
                bytes[8 * b + i] = (uint8_t)(block >> 8 * i);
        } else {
            words[2 * b] = (uint32_t)block;
            words[2 * b + 1] = (uint32_t)(block >> 32);
        }
    }
}

static int fill(const struct arguments *arguments, const char *name, struct host_array *array,
                uint64_t seed, struct error *error)
{
    (void)arguments;
    if (strcmp(name, "keys") == 0) {
        uint16_t encryption[KEYS], decryption[KEYS];
        encryption_keys(seed, encryption);
        decryption_keys(encryption, decryption);
        uint32_t *words = array->data;
        pack_keys(encryption, words);
        pack_keys(decryption, words + KEYS / 2);
    } else if (strcmp(name, "text") == 0) {
        fill_text(array, seed);
    } else {
        return error_set(error, ERR_NOT_FOUND, "crypt: the program has no array named '%s'", name);
    }
    return 0;
}

/* ---- reference ----------------------------------------------------------------------------- */

/* Part q of block b: 16 bits, the lower byte first. */
static uint16_t part_of(const struct host_array *text, int64_t b, int q)
{
    if (text->element == ELEMENT_u8) {
        const uint8_t *bytes = (const uint8_t *)text->data + 8 * b + 2 * q;
        return (uint16_t)(bytes[0] | bytes[1] << 8);
    }
    const uint32_t *words = text->data;
    return (uint16_t)(words[2 * b + q / 2] >> 16 * (q % 2));
}

static void encrypt(const uint16_t key[KEYS], uint16_t x[PARTS])
{
    for (int r = 0; r < 8; r++, key += 6) {
        x[0] = multiply(x[0], key[0]);
        x[1] = (uint16_t)(x[1] + key[1]);
        x[2] = (uint16_t)(x[2] + key[2]);
        x[3] = multiply(x[3], key[3]);
        uint16_t left = multiply(x[0] ^ x[2], key[4]);
        uint16_t right = multiply((uint16_t)((x[1] ^ x[3]) + left), key[5]);
        left = (uint16_t)(left + right);
        x[0] ^= right;
        x[3] ^= left;
        uint16_t second = x[1] ^ left;
        x[1] = x[2] ^ right;
        x[2] = second;
    }
    uint16_t second = x[1];
    x[0] = multiply(x[0], key[0]);
    x[1] = (uint16_t)(x[2] + key[1]);
    x[2] = (uint16_t)(second + key[2]);
    x[3] = multiply(x[3], key[3]);
}

/* The first block that is wrong in either result, or `blocks`. */
static int64_t first_wrong(const struct host_array *text, const uint16_t key[KEYS],
                           const struct host_array *encrypted, const struct host_array *decrypted)
{
    const int64_t blocks = text->shape[0];
    int64_t first = blocks;
#ifdef _OPENMP
#pragma omp parallel for schedule(static) reduction(min : first)
#endif
    for (int64_t b = 0; b < blocks; b++) {
        uint16_t x[PARTS];
        bool right = true;
        for (int q = 0; q < PARTS; q++) {
            x[q] = part_of(text, b, q);
            right = right && part_of(decrypted, b, q) == x[q];
        }
        encrypt(key, x);
        for (int q = 0; q < PARTS; q++)
            right = right && part_of(encrypted, b, q) == x[q];
        if (!right && b < first)
            first = b;
    }
    return first;
}

static int wrong_block(const struct host_array *text, const uint16_t key[KEYS], int64_t b,
                       const struct host_array *encrypted, const struct host_array *decrypted,
                       struct error *error)
{
    uint16_t x[PARTS], expected[PARTS], e[PARTS], d[PARTS];
    for (int q = 0; q < PARTS; q++) {
        x[q] = expected[q] = part_of(text, b, q);
        e[q] = part_of(encrypted, b, q);
        d[q] = part_of(decrypted, b, q);
    }
    encrypt(key, expected);
    return error_set(error, ERR_WRONG,
                     "crypt: block %lld is encrypted to %04x %04x %04x %04x, expected %04x %04x "
                     "%04x %04x; decrypted to %04x %04x %04x %04x, expected %04x %04x %04x %04x",
                     (long long)b, e[0], e[1], e[2], e[3], expected[0], expected[1], expected[2],
                     expected[3], d[0], d[1], d[2], d[3], x[0], x[1], x[2], x[3]);
}

static int check(const struct arguments *arguments, const struct host_array *results,
                 size_t result_count, double *worst_error, struct error *error)
{
    const struct host_array *text = &argument(arguments, "text")->array;
    const uint32_t *words = argument(arguments, "keys")->array.data;
    *worst_error = 0; /* exact */
    if (result_count != 2 || results[0].count != text->count || results[1].count != text->count ||
        results[0].element != text->element || results[1].element != text->element)
        return error_set(error, ERR_WRONG, "crypt: expected two texts of %lld blocks as results",
                         (long long)text->shape[0]);
    uint16_t key[KEYS];
    for (int k = 0; k < KEYS; k++)
        key[k] = (uint16_t)(words[k / 2] >> 16 * (k % 2));
    int64_t wrong = first_wrong(text, key, &results[0], &results[1]);
    if (wrong == text->shape[0])
        return 0;
    return wrong_block(text, key, wrong, &results[0], &results[1], error);
}

const struct workload workload_crypt = {.fill = fill, .check = check};
