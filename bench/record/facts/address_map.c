#include "record/facts/address_map.h"

#include <string.h>

#include "base/tree.h"

void map_open(struct address_map *m)
{
    *m = (struct address_map){.left_out_from = MAP_ALIVE, .smallest = MAP_NONE};
}

static void note_left_out(struct address_map *m, size_t *count, uint64_t born)
{
    ++*count;
    if (born < m->left_out_from)
        m->left_out_from = born;
}

/* ---- blocks --------------------------------------------------------------------------------- */

/* The row that makes room: the last one of the smallest blocks. */
static int find_smallest(const struct address_map *m)
{
    int found = 0;
    for (int i = 1; i < MAP_BLOCKS; i++) {
        const struct map_block *a = &m->blocks[i], *b = &m->blocks[found];
        if (a->bytes < b->bytes || (a->bytes == b->bytes && a->born > b->born))
            found = i;
    }
    return found;
}

static void leave_out(struct address_map *m, int row)
{
    note_left_out(m, &m->blocks_out, m->blocks[row].born);
    for (size_t i = 0; i < m->array_count; i++)
        if (m->arrays[i].block == row) {
            m->arrays[i].block = MAP_NONE;
            note_left_out(m, &m->arrays_out, m->arrays[i].born);
        }
}

/* The number of the memory that has this handle at present; a new number if none has. */
static uint64_t memory_of(struct address_map *m, uint64_t handle)
{
    for (size_t i = 0; i < m->block_count; i++)
        if (m->blocks[i].memory == handle && m->blocks[i].given_back == MAP_ALIVE)
            return m->blocks[i].memory_number;
    return m->memories++;
}

int map_add_block(struct address_map *m, const struct map_block *block)
{
    int row = (int)m->block_count;
    if (m->block_count < MAP_BLOCKS) {
        m->blocks[m->block_count++] = (struct map_block){.given_back = 0};
    } else {
        if (m->smallest == MAP_NONE)
            m->smallest = find_smallest(m);
        row = m->smallest;
        if (block->bytes <= m->blocks[row].bytes) {
            note_left_out(m, &m->blocks_out, block->born);
            return MAP_NONE;
        }
        leave_out(m, row);
        m->smallest = MAP_NONE;
    }
    const uint64_t number = memory_of(m, block->memory);
    m->blocks[row] = *block;
    m->blocks[row].memory_number = number;
    m->blocks[row].given_back = MAP_ALIVE;
    m->blocks[row].died = MAP_ALIVE;
    m->blocks[row].last_array = MAP_NONE;
    return row;
}

void map_end_block(struct address_map *m, int row, uint64_t step)
{
    if (row != MAP_NONE)
        m->blocks[row].died = step;
}

void map_end_memory(struct address_map *m, uint64_t memory, uint64_t step)
{
    for (size_t i = 0; i < m->block_count; i++)
        if (m->blocks[i].memory == memory && m->blocks[i].given_back == MAP_ALIVE)
            m->blocks[i].given_back = step;
}

/* ---- arrays --------------------------------------------------------------------------------- */

static bool contains(const struct map_array *a, uint64_t first, uint64_t bytes)
{
    return a->first <= first && first + bytes <= a->first + a->bytes;
}

void map_add_array(struct address_map *m, int row, const char *name, uint64_t first, uint64_t bytes,
                   uint64_t step)
{
    if (row == MAP_NONE || bytes == 0)
        return;
    struct map_block *block = &m->blocks[row];
    /* Overwrites the arrays that the new one covers, and its namesakes from earlier iterations,
     * even if there is no row for the new one. */
    for (int i = block->last_array; i != MAP_NONE; i = m->arrays[i].before) {
        struct map_array *a = &m->arrays[i];
        bool covered = first <= a->first && a->first + a->bytes <= first + bytes;
        a->overwritten |= covered || strcmp(a->name, name) == 0;
    }
    if (m->array_count == MAP_ARRAYS) {
        note_left_out(m, &m->arrays_out, step);
        return;
    }
    m->arrays[m->array_count] = (struct map_array){.block = row,
                                                   .name = name,
                                                   .first = first,
                                                   .bytes = bytes,
                                                   .born = step,
                                                   .died = step + 1,
                                                   .before = block->last_array};
    block->last_array = (int)m->array_count++;
}

void map_use_array(struct address_map *m, int row, const char *name, uint64_t first, uint64_t bytes,
                   uint64_t step)
{
    if (row == MAP_NONE || bytes == 0)
        return;
    struct map_array *used = NULL;
    for (int i = m->blocks[row].last_array; i != MAP_NONE; i = m->arrays[i].before) {
        struct map_array *a = &m->arrays[i];
        if (a->overwritten)
            continue;
        if (strcmp(a->name, name) == 0) {
            used = a;
            break;
        }
        if (!used && contains(a, first, bytes))
            used = a;
    }
    if (used)
        used->died = step + 1;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

/* The index of a name in a list of different names; adds it if it is new. */
static json_t *name_index(json_t *names, const char *name)
{
    size_t i = 0, count = json_array_size(names);
    while (i < count && strcmp(json_string_value(json_array_get(names, i)), name) != 0)
        i++;
    if (i == count)
        tree_append(names, tree_text(name));
    return tree_count(i);
}

static json_t *death_to_json(uint64_t died)
{
    return died == MAP_ALIVE ? json_null() : tree_count(died);
}

/* Numbers the memories of the rows densely, as they appear, and fills in their deaths. */
static void number_memories(const struct address_map *m, uint64_t number[MAP_BLOCKS], json_t *died)
{
    uint64_t next = 0;
    for (size_t i = 0; i < m->block_count; i++) {
        size_t first = 0;
        while (m->blocks[first].memory_number != m->blocks[i].memory_number)
            first++;
        number[i] = first == i ? next++ : number[first];
        if (first == i)
            tree_append(died, death_to_json(m->blocks[i].given_back));
    }
}

static json_t *blocks_to_json(const struct address_map *m, json_t *names, json_t *memories_died)
{
    json_t *memory = tree_array(), *offset = tree_array();
    json_t *bytes = tree_array(), *requested = tree_array(), *born = tree_array();
    json_t *died = tree_array(), *tag = tree_array();
    uint64_t number[MAP_BLOCKS];
    number_memories(m, number, memories_died);
    for (size_t i = 0; i < m->block_count; i++) {
        const struct map_block *b = &m->blocks[i];
        tree_append(memory, tree_count(number[i]));
        tree_append(offset, tree_count(b->offset));
        tree_append(bytes, tree_count(b->bytes));
        tree_append(requested, tree_count(b->requested));
        tree_append(born, tree_count(b->born));
        tree_append(died, death_to_json(b->died));
        tree_append(tag, name_index(names, b->tag));
    }
    return tree_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "memory", memory, "offset_bytes",
                     offset, "bytes", bytes, "requested_bytes", requested, "born", born, "died",
                     died, "tag", tag);
}

/* An array alone in its block only repeats the block. */
static bool is_alone(const struct address_map *m, const struct map_array *a)
{
    return m->blocks[a->block].last_array == a - m->arrays && a->before == MAP_NONE;
}

static json_t *arrays_to_json(const struct address_map *m, json_t *names)
{
    json_t *block = tree_array(), *offset = tree_array();
    json_t *bytes = tree_array(), *born = tree_array(), *died = tree_array(), *name = tree_array();
    for (size_t i = 0; i < m->array_count; i++) {
        const struct map_array *a = &m->arrays[i];
        if (a->block == MAP_NONE || is_alone(m, a))
            continue;
        tree_append(block, tree_count((uint64_t)a->block));
        tree_append(offset, tree_count(a->first));
        tree_append(bytes, tree_count(a->bytes));
        tree_append(born, tree_count(a->born));
        tree_append(died, tree_count(a->died));
        tree_append(name, name_index(names, a->name));
    }
    return tree_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "block", block, "offset_bytes", offset,
                     "bytes", bytes, "born", born, "died", died, "name", name);
}

json_t *map_to_json(const struct address_map *m)
{
    json_t *names = tree_array(), *died = tree_array();
    json_t *blocks = blocks_to_json(m, names, died), *arrays = arrays_to_json(m, names);
    return tree_pack("{s:o, s:{s:o}, s:o, s:o, s:o, s:o, s:o}", "blocks", blocks, "memories",
                     "died", died, "arrays", arrays, "names", names, "blocks_left_out",
                     tree_count(m->blocks_out), "arrays_left_out", tree_count(m->arrays_out),
                     "left_out_from", death_to_json(m->left_out_from));
}
