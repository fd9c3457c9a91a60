/* The IDEA workload: the published vector is right, its keys undo each other, one bit off is wrong.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/base/cmocka.h"
#include "workload.h"

extern const struct workload workload_crypt;

enum { TEXT, KEYS, VALUES };

/* A text in words (the program `crypt`) or bytes (`crypt_transposed`), and room for both answers.
 */
struct run {
    struct named_value values[VALUES];
    struct arguments arguments;
    struct host_array results[2];
};

static struct host_array new_array(enum element element, int64_t rows, int64_t columns)
{
    struct host_array a = {.element = element, .rank = 2, .shape = {rows, columns}};
    a.count = (size_t)(rows * columns);
    a.data = calloc(a.count, element_bytes(element));
    assert_non_null(a.data);
    return a;
}

static void run_open(struct run *run, enum element element, int64_t blocks)
{
    int64_t columns = 8 / (int64_t)element_bytes(element);
    *run = (struct run){.values = {{.name = "text"}, {.name = "keys"}}};
    run->values[TEXT].array = new_array(element, blocks, columns);
    run->values[KEYS].array = new_array(ELEMENT_u32, 2, 26);
    run->arguments = (struct arguments){"crypt", "test", VALUES, run->values};
    for (int r = 0; r < 2; r++)
        run->results[r] = new_array(element, blocks, columns);
}

static void run_close(struct run *run)
{
    free(run->values[TEXT].array.data);
    free(run->values[KEYS].array.data);
    free(run->results[0].data);
    free(run->results[1].data);
}

static int check(struct run *run, struct error *error)
{
    double worst = -1;
    int code = workload_crypt.check(&run->arguments, run->results, 2, &worst, error);
    assert_true(worst == 0);
    return code;
}

/* Writes 16 bits, the lower byte first. */
static void put(struct host_array *text, int part, uint16_t value)
{
    if (text->element == ELEMENT_u8) {
        uint8_t *bytes = (uint8_t *)text->data + 2 * part;
        bytes[0] = (uint8_t)value;
        bytes[1] = (uint8_t)(value >> 8);
    } else {
        uint32_t *word = (uint32_t *)text->data + part / 2;
        *word |= (uint32_t)value << 16 * (part % 2);
    }
}

/* The cipher's own example: the key 1, 2, .. 8, whose subkeys are written out here. */
static const uint16_t example_keys[52] = {
    0x0001, 0x0002, 0x0003, 0x0004, 0x0005, 0x0006, 0x0007, 0x0008, 0x0400, 0x0600, 0x0800,
    0x0a00, 0x0c00, 0x0e00, 0x1000, 0x0200, 0x0010, 0x0014, 0x0018, 0x001c, 0x0020, 0x0004,
    0x0008, 0x000c, 0x2800, 0x3000, 0x3800, 0x4000, 0x0800, 0x1000, 0x1800, 0x2000, 0x0070,
    0x0080, 0x0010, 0x0020, 0x0030, 0x0040, 0x0050, 0x0060, 0x0000, 0x2000, 0x4000, 0x6000,
    0x8000, 0xa000, 0xc000, 0xe001, 0x0080, 0x00c0, 0x0100, 0x0140};
static const uint16_t example_text[4] = {0, 1, 2, 3};
static const uint16_t example_cipher[4] = {0x11fb, 0xed2b, 0x0198, 0x6de5};

static void set_example(struct run *run)
{
    for (int k = 0; k < 52; k++)
        put(&run->values[KEYS].array, k, example_keys[k]);
    for (int q = 0; q < 4; q++) {
        put(&run->values[TEXT].array, q, example_text[q]);
        put(&run->results[0], q, example_cipher[q]);
        put(&run->results[1], q, example_text[q]);
    }
}

static void published_examples_are_right(void **state)
{
    (void)state;
    static const enum element elements[] = {ELEMENT_u32, ELEMENT_u8};
    for (int e = 0; e < 2; e++) {
        struct run run;
        struct error error = {0};
        run_open(&run, elements[e], 1);
        set_example(&run);
        assert_int_equal(check(&run, &error), 0);
        run_close(&run);

        /* Key and text are 0, so that 65536 is multiplied by itself. */
        run_open(&run, elements[e], 1);
        put(&run.results[0], 0, 1);
        put(&run.results[0], 1, 1);
        assert_int_equal(check(&run, &error), 0);
        run_close(&run);
    }
}

static void every_bit_counts(void **state)
{
    (void)state;
    struct run run;
    struct error error = {0};
    run_open(&run, ELEMENT_u8, 1);
    set_example(&run);
    for (int r = 0; r < 2; r++)
        for (int bit = 0; bit < 64; bit++) {
            uint8_t *byte = (uint8_t *)run.results[r].data + bit / 8;
            *byte ^= (uint8_t)(1 << bit % 8);
            assert_int_equal(check(&run, &error), ERR_WRONG);
            assert_non_null(strstr(error.text, "block 0"));
            assert_non_null(strstr(error.text, "expected 11fb ed2b 0198 6de5"));
            *byte ^= (uint8_t)(1 << bit % 8);
        }
    run.results[0].count--;
    assert_int_equal(check(&run, &error), ERR_WRONG);
    run_close(&run);
}

static uint16_t key_of(const struct run *run, int row, int k)
{
    const uint32_t *words = (const uint32_t *)run->values[KEYS].array.data + 26 * row;
    return (uint16_t)(words[k / 2] >> 16 * (k % 2));
}

static void fill(struct run *run, int value, uint64_t seed)
{
    struct error error;
    assert_int_equal(workload_crypt.fill(&run->arguments, run->values[value].name,
                                         &run->values[value].array, seed, &error),
                     0);
}

/* What has to hold of each pair of subkeys for decryption to undo encryption. */
static void the_keys_undo_each_other(void **state)
{
    (void)state;
    struct run run;
    run_open(&run, ELEMENT_u32, 1);
    for (uint64_t seed = 0; seed < 50; seed++) {
        fill(&run, KEYS, seed);
        for (int r = 0; r <= 8; r++)
            for (int part = 0; part < 4; part++) {
                int middle = part == 1 || part == 2, inside = r > 0 && r < 8;
                int with = middle && inside ? 3 - part : part;
                uint64_t x = key_of(&run, 0, 6 * (8 - r) + with), y = key_of(&run, 1, 6 * r + part);
                if (middle)
                    assert_int_equal((x + y) % 65536, 0);
                else
                    assert_int_equal((x ? x : 65536) * (y ? y : 65536) % 65537, 1);
            }
        for (int r = 0; r < 8; r++)
            for (int part = 4; part < 6; part++)
                assert_int_equal(key_of(&run, 1, 6 * r + part),
                                 key_of(&run, 0, 6 * (7 - r) + part));
        /* The schedule: 25 bits further after eight subkeys. */
        for (int k = 0; k < 44; k++) {
            int from = k / 8 * 8, a = (k + 1) % 8, b = (k + 2) % 8;
            uint32_t two = (uint32_t)key_of(&run, 0, from + a) << 16 | key_of(&run, 0, from + b);
            assert_int_equal(key_of(&run, 0, k + 8), two >> 7 & 65535);
        }
    }
    run_close(&run);
}

static void inputs_depend_on_the_seed_alone(void **state)
{
    (void)state;
    struct run words, bytes;
    run_open(&words, ELEMENT_u32, 100);
    run_open(&bytes, ELEMENT_u8, 100);
    fill(&words, TEXT, 7);
    fill(&bytes, TEXT, 7);
    const uint32_t *word = words.values[TEXT].array.data;
    uint8_t *byte = bytes.values[TEXT].array.data, first[800];
    for (int i = 0; i < 800; i++)
        assert_int_equal(byte[i], word[i / 4] >> 8 * (i % 4) & 255);
    memcpy(first, byte, sizeof first);
    fill(&bytes, TEXT, 8);
    assert_memory_not_equal(byte, first, sizeof first);

    struct error error;
    assert_int_equal(
        workload_crypt.fill(&words.arguments, "other", &words.values[TEXT].array, 7, &error),
        ERR_NOT_FOUND);
    run_close(&words);
    run_close(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_examples_are_right),
        cmocka_unit_test(every_bit_counts),
        cmocka_unit_test(the_keys_undo_each_other),
        cmocka_unit_test(inputs_depend_on_the_seed_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
