/* src/util/term.h - what the terminal can do.  Floor: util. */
#ifndef BERTH_UTIL_TERM_H
#define BERTH_UTIL_TERM_H

#include <stdbool.h>
#include <stdio.h>

bool term_is_tty(FILE *f);
/*
 * Width: COLUMNS if it is a number in 20..1000, also into a pipe; else the terminal's own, else 80;
 * 0 when f is no terminal.
 */
int term_columns(FILE *f);
/* Colour: f is a terminal, TERM is not "dumb" or empty, NO_COLOR is unset or empty. */
bool term_color(FILE *f);
/* The locale's character set is UTF-8 (after setlocale(LC_CTYPE, "")). */
bool term_unicode(void);
/* Columns of a terminal that a UTF-8 text takes; bytes that are not UTF-8 count 1 each. */
int term_width(const char *s);
/* Bytes of s that fit into columns. */
size_t term_fit(const char *s, int columns);
/*
 * Words of a line of text, broken at spaces into lines of at most columns (a longer word stands
 * alone), each behind the first with so many spaces before it; the first has taken `used` columns
 * already. Several spaces inside a line stay. No newline at the end.
 */
struct buf;
void term_wrap(const char *text, size_t len, int used, int indent, int columns, struct buf *out);

#endif
