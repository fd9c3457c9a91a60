/* Scripts for shells, made of the tables of commands and flags. */
#ifndef GAMUT_CLI_COMPLETION_H
#define GAMUT_CLI_COMPLETION_H

#include "base/error.h"
#include "base/text.h"

/* Adds the script. Fails only where a built-in program can't be read (ERR_INTERNAL). */
int completion_bash(struct text *script, struct error *error);
int completion_zsh(struct text *script, struct error *error);

#endif
