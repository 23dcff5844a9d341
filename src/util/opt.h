/* src/util/opt.h - option rows and their parser.  Floor: util. */
#ifndef BERTH_UTIL_OPT_H
#define BERTH_UTIL_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/err.h"
#include "util/money.h"

struct arena;
struct buf;
struct tz;

/* The C type of the field that an option fills in. */
enum opt_type {
	OPT_FLAG,     /* bool; takes no value */
	OPT_STRING,   /* const char * */
	OPT_PATH,     /* const char *; the shell completes file names */
	OPT_CHOICE,   /* const char *; one of the words of arg, "table|wide|json" */
	OPT_INT,      /* int64_t, decimal */
	OPT_DOUBLE,   /* double, finite, "." as the decimal mark in every locale */
	OPT_DURATION, /* int64_t seconds: 90m 36h 4w */
	OPT_TIME, /* int64_t seconds since the epoch: RFC 3339 with zone, now, +1h, epoch seconds */
	OPT_SIZE, /* int64_t bytes, as str_to_size() reads them: 512M 4GiB */
	OPT_MONEY, /* struct usd_micro: 12.50 */
	OPT_LIST,  /* struct opt_list; comma separated, and may be given more than once */
	OPT_TYPE_COUNT
};

struct opt_list {
	const char *const *v;
	size_t n;
};

/*
 * One option. The same rows feed the parser, -h, shell completion and the test that compares them
 * with the man page. A table of rows ends with a row whose name is NULL.
 */
struct opt_row {
	const char *name; /* long name without "--": "service-level" */
	char short_name;  /* 0: none */
	enum opt_type type;
	const char *
	    arg; /* placeholder for help, upper case: "DUR"; OPT_CHOICE: the words; NULL for a flag.
		  * These complete by name: SERIES GPU PROVIDER JOB INSTANCE ACCOUNT REGION */
	const char *help; /* one line, lower case, no full stop */
	size_t offset;    /* offsetof(struct verb_opts, field) */
	double min, max; /* numbers, durations, sizes and money (USD): allowed range; both 0: any */
	const char *alias; /* second spelling that is accepted but not shown ("dryrun"); NULL */
};

/* Rows and the structure they fill in; the caller has put the defaults there. */
struct opt_set {
	const struct opt_row *rows;
	void *base;
};

struct opt_env {
	struct arena *arena; /* texts and lists live there */
	const int64_t *now;  /* what "+1h" is relative to; read after all options are seen, OPT_TIME
				of sets[0] first */
	const struct tz *tz; /* of times without zone; NULL: a time must name its zone */
	bool stop_at_word;   /* stop at the first word that is not an option */
};

/*
 * Parses argv[0..argc): "--name VALUE", "--name=VALUE", "-x VALUE", "-xVALUE", grouped flags "-qv",
 * "--" ends the options, "-" is a word. Unique long names only: no abbreviations, so that a script
 * keeps its meaning when options are added. A flag may be undone by "--no-NAME" unless a row of
 * that name exists. words_out  [*n_out] the words that are no options, in order (arena); with
 * stop_at_word everything from the first word on Errors     BERTH_EUSAGE: unknown option (with a
 * suggestion), missing or unwanted value, value out of range; where is the option.
 */
BERTH_MUST_CHECK enum berth_code opt_parse(const struct opt_set *sets, size_t n_sets,
    const struct opt_env *env, int argc, char *const *argv, const char *const **words_out,
    size_t *n_out, struct berth_err *err);

/* The row with this long name, short name or alias; NULL if none. */
const struct opt_row *opt_find(const struct opt_row *rows, const char *name);
const struct opt_row *opt_find_short(const struct opt_row *rows, char short_name);

/* The rows as help text, aligned, wrapped to columns: "  -o, --output FORMAT   ...". */
void opt_help(const struct opt_row *rows, int columns, struct buf *out);
/* "flag" "string" "path" "choice" ... */
const char *opt_type_name(enum opt_type type);

#endif
