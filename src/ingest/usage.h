/* src/ingest/usage.h - sources of usage, the series they make, and readers of formats.  Floor:
 * ingest. */
#ifndef BERTH_INGEST_USAGE_H
#define BERTH_INGEST_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "ingest/spool.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/strmap.h"
#include "util/vec.h"

struct accel_table;
struct tz;

#define USAGE_SERIES_MAX 20000 /* series of one load: more is a label that is no label */
#define USAGE_VALUE_MAX 1e15
#define USAGE_AHEAD_S INT64_C(86400) /* how far in the future a time may lie */
#define USAGE_FIRST                                                                                \
	INT64_C(31536000) /* 1971: earlier times are of clocks that were not set, or no times at   \
			     all */

struct usage_label {
	const char *key, *value;
};

/* One signal as it was exported. */
struct usage_source {
	const char *key; /* all of what tells it from others */
	int64_t hash;    /* of key */
	uint32_t target;
	int64_t t_min, t_max; /* of its rows */
	const char *form;     /* what its GPUs are (model/formmix.h), also a mix; NULL: nothing
				 beside its labels */
};

/* One series that the load makes or adds to. */
struct usage_target {
	const char *name;
	const char *labels; /* JSON object text, keys sorted */
	uint32_t n_sources;
	int64_t t_min, t_max;
	const char *unit; /* NULL: that of the load */
	bool average; /* sources are averaged, and its peak is the highest of them; else they add up
		       */
	bool dropped; /* the load leaves it out */
};

struct usage_set {
	struct arena *a;
	struct strmap by_key, by_name;
	VEC(struct usage_source) sources;
	VEC(struct usage_target) targets;
};

void usage_set_init(struct usage_set *set, struct arena *a);
/* The source of this key; made with target if it is new. */
uint32_t usage_source_put(struct usage_set *set, const char *key, uint32_t target);
/* BERTH_EINVAL: more than USAGE_SERIES_MAX. */
BERTH_MUST_CHECK enum berth_code usage_target_put(struct usage_set *set, const char *name,
    const char *labels, uint32_t *target_out, struct berth_err *err);
/* Widens the times of a source and its target. */
void usage_seen(struct usage_set *set, uint32_t source, int64_t t);

/* The forms that sources say, each once. */
struct usage_forms {
	const char **form; /* [n] NULL: not said */
	size_t n;
	uint32_t *of_source; /* [sources] */
	bool *told;          /* [targets] counts GPUs, and a source says what they are */
};
/* unit: of targets that have none. False: no target is told. */
bool usage_forms(const struct usage_set *set, const char *unit, struct usage_forms *out);

/* "accelerator=H100,team=nlp": labels [n] sorted by key here; values with , = or " stand in quotes.
 * "total" for none. */
const char *usage_name(struct arena *a, struct usage_label *labels, size_t n);
/* {"accelerator":"H100","team":"nlp"}, of sorted labels */
const char *usage_labels_json(struct arena *a, const struct usage_label *labels, size_t n);

/* What a reader tells: a row is refused, or taken with a remark; what was done on purpose is a
 * note. */
enum usage_say { USAGE_REFUSED, USAGE_REMARK, USAGE_NOTE };
typedef void usage_say_fn(void *arg, enum usage_say kind, long line, const char *message);

/* Why t can be no time of use, as the end of a sentence; NULL: it can. One such row would make a
 * series of years. */
const char *usage_time_fault(int64_t t, int64_t now);
/* The key of a label whose value is no UTF-8, NULL if all are: as names of series they could not be
 * told apart. */
const char *usage_label_fault(const struct usage_label *labels, size_t n);

struct usage_csv_options {
	const char *time_column, *value_column; /* NULL: found by the names people use */
	const char *series;    /* all rows are this one series; NULL: by column or labels */
	const char *const *by; /* [n_by] only these labels; n_by 0: all that the file has */
	size_t n_by;
	const struct tz *tz; /* of times without zone; NULL: such times are refused */
	bool decimal_comma;
	bool serial_dates; /* times are days since 1899-12-30, as spreadsheets keep them */
	int64_t now;
	const struct accel_table
	    *accels; /* spells accelerator labels one way; NULL: left as they are */
};

struct usage_counts {
	int64_t read, refused;
};

typedef void usage_progress_fn(void *arg, int64_t rows);

/*
 * Reads CSV rows of f into the spool: a time, a value, optionally a peak and a series; every other
 * column is a label. name stands for the file in messages. A row that is bad in itself is refused
 * by line and reading goes on. Errors  BERTH_EINVAL: no such column, too many series, not CSV;
 * BERTH_EIO: reading failed.
 */
BERTH_MUST_CHECK enum berth_code usage_csv_read(FILE *f, const char *name,
    const struct usage_csv_options *o, struct usage_set *set, struct spool *sp,
    struct usage_counts *counts_out, usage_say_fn *say, void *arg, usage_progress_fn *progress,
    struct berth_err *err);

#endif
