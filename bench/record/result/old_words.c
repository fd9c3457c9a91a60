#include "record/result/old_words.h"

#include <string.h>

#include "base/tree.h"

static const char old_word[] = "way", new_word[] = "method";

static void renew_key(json_t *object)
{
    json_t *value = json_object_get(object, old_word);
    if (value && !json_object_get(object, new_word)) {
        tree_put(object, new_word, json_incref(value));
        json_object_del(object, old_word);
    }
}

static void renew_experiment(json_t *experiment)
{
    size_t i;
    json_t *each;
    json_array_foreach(json_object_get(experiment, "parameters"), i, each)
    {
        if (strcmp(tree_get_text(each, "name"), old_word) == 0)
            tree_put(each, "name", tree_text(new_word));
    }
    json_array_foreach(json_object_get(experiment, "rows"), i, each)
        renew_key(json_object_get(each, "key"));
}

void result_renew_words(json_t *root)
{
    size_t i, j;
    json_t *each, *curve;
    json_array_foreach(json_object_get(root, "atlas"), i, each)
    {
        json_array_foreach(json_object_get(each, "curves"), j, curve) renew_key(curve);
    }
    json_array_foreach(json_object_get(root, "experiments"), i, each) renew_experiment(each);
}
