/* The table of a fun's names. */
#ifndef GAMUT_PROGRAM_NAMES_H
#define GAMUT_PROGRAM_NAMES_H

#include "program/program.h"

struct name_table *names_new(void);
void names_free(struct fun *fun);
/* Gives a copied fun a table and names of its own. */
void names_clone(struct fun *fun);
/* Words of this language, and those that a kernel's C would take for something else. */
bool name_is_reserved(const char *text);

#endif
