/* src/ingest/ingest.h - what the readers of other people's usage records hand on.  Floor: domain,
 * pure.
 *
 * A reader is given text and calls the functions of a sink; it opens nothing and asks no clock.
 * Texts that a sink is handed are borrowed until it returns.
 */
#ifndef BERTH_INGEST_INGEST_H
#define BERTH_INGEST_INGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ingest/usage.h"
#include "util/err.h"

#define INGEST_LABELS_MAX 48
#define INGEST_GRES_MAX 16

/* Accelerators of one type as the source spells it; "" is "not said". */
struct ingest_gres {
	const char *type;
	double count;
};

enum ingest_job_state {
	INGEST_PENDING, /* not started */
	INGEST_RUNNING, /* end is as far as the source has seen it */
	INGEST_DONE
};

#define INGEST_UNKNOWN INT64_C(-1) /* durations that the source does not say */
#define INGEST_NO_LIMIT INT64_C(-2)

/* One attempt of one job, or the tasks of an array that wait in one row. */
struct ingest_job {
	long line;
	const char
	    *id; /* with submit the source's own key: "318442" "4120_7" "4300+1" "4120_[0-9%4]" */
	const char *cluster;    /* "" not said */
	const char *state_text; /* "COMPLETED" */
	const char *name;       /* free text; "" not said */
	enum ingest_job_state state;
	int64_t submit; /* s UTC; start where the source has no submit time */
	bool submit_known;
	int64_t start, end;                       /* 0: not yet, never */
	int64_t elapsed_s, limit_s;               /* INGEST_UNKNOWN, INGEST_NO_LIMIT */
	int64_t tasks;                            /* 1, or how many the row stands for */
	int64_t tasks_at_once;                    /* how many of them may run at a time */
	struct ingest_gres gres[INGEST_GRES_MAX]; /* [n_gres] of all nodes and of one task */
	size_t n_gres;
	const struct usage_label *labels; /* [n_labels] user, account, partition, qos ... without
					     blanks; keys are literals */
	size_t n_labels;
	uint32_t labels_id; /* not 0: jobs of this reader with this number have the same labels and
			       cluster */
};

/* One sample of one metric. */
struct ingest_point {
	long line;                        /* 0: the source has no lines */
	const char *metric;               /* "DCGM_FI_DEV_GPU_UTIL"; "" the source gives no name */
	const struct usage_label *labels; /* [n_labels], keys ascending */
	size_t n_labels;
	int64_t t;    /* s UTC; 0: not said */
	double value; /* may be NaN or infinite: the source said so */
};

/* What a reader hands its rows to. A reader that has no jobs, or no points, leaves that function
 * NULL. */
struct ingest_sink {
	void *arg;
	enum berth_code (*job)(void *arg, const struct ingest_job *job, struct berth_err *err);
	enum berth_code (*point)(
	    void *arg, const struct ingest_point *point, struct berth_err *err);
	usage_say_fn *say;
};

#endif
