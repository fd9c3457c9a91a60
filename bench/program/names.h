/* The table of a fun's names. */
#pragma once

#include "program/program.h"

/* An empty table. */
struct name_table *names_new(void);
/* Frees the table and the names of a fun. */
void names_free(struct fun *fun);
/* Gives a copied fun a table and names of its own. */
void names_clone(struct fun *fun);
/* Is the text a word of this language, or one with a meaning in a kernel's C? */
bool name_is_reserved(const char *text);
