/* Tests change a result as the tree of its file, and give readers what is read from the tree. */
#pragma once

#include "results/file/draft.h"

struct result_tree {
    json_t *root;
};

/* The tree of a draft, summarised. Frees the draft. */
struct result_tree result_tree_of(struct result_draft *draft);
void result_tree_free(struct result_tree *tree);
/* The file of a tree, to be gone on with, and the other way round: result_tree_put replaces what is
 * in `root` and frees the draft. */
struct result_draft result_tree_draft(const json_t *root);
void result_tree_put(json_t *root, struct result_draft *draft);
/* Gives cases the ids of their keys. */
void result_tree_set_ids(json_t *root);
/* The same, and computes again what follows from the rounds. What was taken from the
 * tree before is no longer part of it. */
void result_tree_summarise(json_t *root);

/* What readers get of the tree: it is valid until the program ends, and is not checked. A tree may
 * have just the members that matter to a test. */
const struct result *result_tree_read(const json_t *root);
/* What the reader of files says of it. */
int result_tree_check(json_t *root, struct error *error);
/* The tree of a file, which the caller owns; NULL with an error. */
int result_tree_load(const char *path, json_t **root, struct error *error);
int result_tree_write(const json_t *root, const char *path, struct error *error);

/* A member of a metric's statistics in a case or a row; NaN if there is none. */
double result_tree_stat(const json_t *one_case, const char *metric, const char *member);
