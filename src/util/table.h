/* src/util/table.h - rows for people (table, wide) and for programs (csv).  Floor: util. */
#ifndef BERTH_UTIL_TABLE_H
#define BERTH_UTIL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/err.h"
#include "util/money.h"

struct arena;
struct buf;
struct opt_list;

enum table_type { /* which setter fills the column; numbers align right */
	TABLE_TEXT,
	TABLE_INT,
	TABLE_DOUBLE,   /* decimals places in tables; shortest exact form in csv */
	TABLE_SHARE,    /* double 0..1; "12.5%" in tables, the number itself in csv */
	TABLE_MONEY,    /* decimals places in tables (rounded half away from 0), 6 in csv */
	TABLE_TIME,     /* "2026-11-30 12:00" UTC in tables, RFC 3339 in csv; 0 is unknown */
	TABLE_AGE,      /* seconds; "3d" "4h" in tables, seconds in csv; < 0 is unknown */
	TABLE_DURATION, /* seconds; "1h30m" in tables, seconds in csv; < 0 is unknown */
	TABLE_BOOL,     /* yes no */
	TABLE_TYPE_COUNT
};

enum table_flag {
	TABLE_WIDE = 1, /* left out of -o table; shown by -o wide, csv and --columns */
	TABLE_CUT = 2,  /* text that may be cut to make the table fit; others never are */
	TABLE_NAME =
	    2 | 4, /* the same, from the middle: of names the end tells as much as the beginning */
	TABLE_SPARE = 8 /* left out of -o table, the last first, before what may be cut has less
			   than 20 columns */
};

struct table_col {
	const char *name; /* the JSON key, for csv and --columns: "price_per_gpu_hour" */
	const char *head; /* heading in tables; NULL: name in capitals, "_" as "-" */
	enum table_type type;
	int decimals;
	unsigned flags;
};

enum table_form { TABLE_FORM_TABLE, TABLE_FORM_WIDE, TABLE_FORM_CSV };

struct table_style {
	enum table_form form;
	int columns; /* terminal width to fit; 0: no limit (a pipe) */
	bool headers;
	bool color; /* bold headings */
	const struct opt_list
	    *select; /* --columns: names in order; NULL or empty: all of the form */
};

struct table;

/* cols [n] borrowed for the life of the table. The table lives in the arena. */
struct table *table_new(struct arena *a, const struct table_col *cols, size_t n);
/*
 * table_row() starts a row; then one setter a column, in the order of the columns, of the column's
 * type (an assert otherwise). Texts are copied. NULL, "", NaN, infinite, USD_UNKNOWN are unknown:
 * "-" in tables, empty in csv. Cells not set are unknown. Control characters of text are shown as
 * "?" in tables.
 */
void table_row(struct table *t);
void table_text(struct table *t, const char *s);
void table_int(struct table *t, int64_t v);
void table_double(struct table *t, double v); /* also TABLE_SHARE */
void table_double_to(struct table *t, double v,
    int decimals); /* a TABLE_DOUBLE of this row with other decimals, 0..9 */
void table_money(struct table *t, struct usd_micro v);
void table_time(struct table *t, int64_t v); /* also TABLE_AGE, TABLE_DURATION: seconds */
void table_bool(struct table *t, bool v);
void table_unknown(struct table *t); /* any type */
/* Marks the current row: dim, bold, red ... on a colour terminal only; no text is added. */
enum table_mark { TABLE_PLAIN, TABLE_BOLD, TABLE_DIM, TABLE_RED, TABLE_GREEN, TABLE_YELLOW };
void table_mark(struct table *t, enum table_mark mark);

size_t table_rows(const struct table *t);
/*
 * Renders into out. Widths count columns of the terminal (UTF-8, wide characters as 2).
 * A table that does not fit is narrowed by leaving out TABLE_SPARE columns, setting the others
 * closer and cutting TABLE_CUT ones, then printed as it is; the wide form is whole whatever the
 * width. Errors: BERTH_EUSAGE: select names a column that does not exist (with the list of names).
 */
BERTH_MUST_CHECK enum berth_code table_render(
    const struct table *t, const struct table_style *style, struct buf *out, struct berth_err *err);

#endif
