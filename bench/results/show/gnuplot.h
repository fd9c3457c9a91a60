/* The interface between charts and gnuplot: data, variables, scripts, and running gnuplot. */
#pragma once

#include "base/error.h"
#include "base/text.h"
#include "results/show/matrix.h"

/* Texts of a result are values for gnuplot, never parts of its commands. Only gnuplot_variable,
 * gnuplot_word, gnuplot_data_text and gnuplot_comment write them: on one line, with quotes as in
 * print and with '?' for a control character. */

/* ---- data: words of a line, separated by spaces --------------------------------------------- */

/* Writes a line of comment. */
void gnuplot_comment(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Writes a space and the text between double quotes. */
void gnuplot_data_text(const char *text, FILE *out);
/* Writes a space and the number; "NaN" where it is not finite. */
void gnuplot_data(double value, FILE *out);
/* Writes a space, then "ok" if the value is known, else "n/a", or the case's status in capitals.
 * Returns whether it is known. `cell` may be NULL. */
bool gnuplot_status(const struct result_case *cell, double value, FILE *out);

/* ---- variables: lines name='text' or name = number; a later line with the same name wins ----- */

/* Adds a text. */
void gnuplot_variable(struct text *out, const char *name, const char *text);
/* Adds a number, with 12 digits. */
void gnuplot_number(struct text *out, const char *name, double value);
/* Adds a word, between double quotes, to a list that is to become a variable. */
void gnuplot_word(struct text *words, const char *word);
/* Adds a list that gnuplot_word made. */
void gnuplot_words(struct text *out, const char *name, const struct text *words);
/* Adds a list of these names. */
void gnuplot_labels(struct text *out, const char *name, const struct labels *labels);
/* Adds the variables of a matrix: series (its columns), strategy, and note (what was skipped). */
void gnuplot_matrix_variables(const struct matrix *matrix, struct text *out);
/* Adds a line that says where the numbers come from: device, driver, data
 * sets, revision, rounds, day. */
void gnuplot_caption(const struct chart_subject *of, struct text *out);

/* ---- scripts -------------------------------------------------------------------------------- */

/* Adds a script that needs no other file but its data: the variables, then <folder>/<chart>.gp, in
 * which each line `load "NAME.gp"` is replaced by <folder>/NAME.gp. ERR_IO; ERR_NOT_FOUND if
 * a script is missing. */
int gnuplot_script(const char *folder, const char *chart, const char *variables, struct text *out,
                   struct error *error);

/* Runs <name>.gp in its folder for the terminals (any of "svg", "png" and "dumb", separated by
 * spaces); `columns` is the width of dumb in characters. ERR_UNSUPPORTED if gnuplot is missing: the
 * message says what to do. */
int gnuplot_run(const char *folder, const char *name, const char *terminals, unsigned columns,
                struct error *error);
