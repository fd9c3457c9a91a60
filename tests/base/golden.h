/* Compares what a test printed with a file that a person has reviewed. */
#pragma once

/* The folder of the source tree; the build says where it is, so that a test runs from anywhere. */
#ifndef GAMUT_ROOT
#define GAMUT_ROOT "."
#endif

/* Fails the running cmocka test unless `text` is the contents of tests/golden/<name>. With
 * GAMUT_UPDATE_GOLDEN=1 in the environment it writes the file instead: review the diff. */
void golden_check(const char *name, const char *text);

/* The contents of a file of the tree, by its path from the root, or NULL; the caller frees it. */
char *golden_read(const char *path);
