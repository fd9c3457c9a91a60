#include "results/file/baseline.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

const struct case_key baseline_raw = {.strategy = "raw"};

#define MEMBER(member) {offsetof(struct case_key, member), sizeof baseline_raw.member},
static const struct {
    size_t offset, size;
} members[] = {BASELINE_LIST(MEMBER)};
enum { MEMBERS = sizeof members / sizeof *members };

static const char *member_of(const struct case_key *key, size_t member)
{
    return (const char *)key + members[member].offset;
}

/* ---- the names ------------------------------------------------------------------------------- */

struct names {
    const struct case_key *keys;
    size_t count;
};

static bool is_first(const struct names *names, size_t member, size_t key)
{
    const char *name = member_of(&names->keys[key], member);
    for (size_t i = 0; i < key; i++)
        if (strcmp(member_of(&names->keys[i], member), name) == 0)
            return false;
    return *name;
}

/* The n-th name, each name of a member once. */
static const char *name_at(void *context, size_t n)
{
    const struct names *names = context;
    for (size_t member = 0; member < MEMBERS; member++)
        for (size_t i = 0; i < names->count; i++)
            if (is_first(names, member, i) && n-- == 0)
                return member_of(&names->keys[i], member);
    return NULL;
}

/* The first key with this name as one of its members, and which member it is; NULL if none has. */
static const struct case_key *key_with(const struct names *names, const char *name, size_t *member)
{
    for (*member = 0; *member < MEMBERS && *name; ++*member)
        for (size_t i = 0; i < names->count; i++)
            if (strcmp(member_of(&names->keys[i], *member), name) == 0)
                return &names->keys[i];
    return NULL;
}

/* Does the key have all members that the baseline names? */
static bool has_named(const struct case_key *baseline, const struct case_key *key)
{
    for (size_t member = 0; member < MEMBERS; member++)
        if (*member_of(baseline, member) &&
            strcmp(member_of(baseline, member), member_of(key, member)) != 0)
            return false;
    return true;
}

int baseline_read(const char *words, const struct case_key *keys, size_t count,
                  struct case_key *baseline, struct error *error)
{
    struct names names = {keys, count};
    const char *list = words;
    char word[128];
    bool found = false;
    *baseline = (struct case_key){0};
    while (text_next_item(&list, word, sizeof word)) {
        size_t member;
        const struct case_key *key = key_with(&names, word, &member);
        if (!key)
            return text_unknown(error, word, name_at, &names,
                                "--baseline: the run has no strategy or merge set");
        if (*member_of(baseline, member))
            return error_set(error, ERR_USAGE, "--baseline names both %s and %s: name one of them",
                             member_of(baseline, member), word);
        memcpy((char *)baseline + members[member].offset, member_of(key, member),
               members[member].size);
    }
    for (size_t i = 0; i < count && !found; i++)
        found = has_named(baseline, &keys[i]);
    if (!found || baseline_same(baseline, &(struct case_key){0}))
        return error_set(error, ERR_USAGE, "--baseline is '%s', which no case of the run has",
                         words);
    return 0;
}

/* ---- which case ------------------------------------------------------------------------------ */

/* Compares a member with what it should be; `lesser` is the rank of a difference. */
static int rank_of(const char *value, const char *wanted, int lesser)
{
    return strcmp(value, wanted) == 0 ? 0 : lesser;
}

int baseline_rank(const struct case_key *baseline, const struct case_key *of,
                  const struct case_key *candidate)
{
    const bool is_free = *baseline->strategy;
    const char *residency = *baseline->residency ? baseline->residency : of->residency;
    if (!has_named(baseline, candidate) || strcmp(candidate->residency, residency) != 0 ||
        (!is_free && strcmp(candidate->strategy, of->strategy) != 0))
        return -1;
    int rank = 0;
    if (!*baseline->merge && is_free)
        rank += rank_of(candidate->merge, "none", 2);
    else if (!*baseline->merge && strcmp(candidate->merge, of->merge) != 0)
        return -1;
    if (!*baseline->release && is_free)
        rank += rank_of(candidate->release, "last-use", 1);
    else if (!*baseline->release && strcmp(candidate->release, of->release) != 0)
        return -1;
    return rank;
}

bool baseline_same(const struct case_key *a, const struct case_key *b)
{
    for (size_t member = 0; member < MEMBERS; member++)
        if (strcmp(member_of(a, member), member_of(b, member)) != 0)
            return false;
    return true;
}

char *baseline_words(char out[384], const struct case_key *baseline)
{
    size_t used = 0;
    *out = 0;
    for (size_t member = 0; member < MEMBERS; member++)
        if (*member_of(baseline, member))
            used += (size_t)snprintf(out + used, 384 - used, "%s%s", used ? ", " : "",
                                     member_of(baseline, member));
    return out;
}
