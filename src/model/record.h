/* src/model/record.h - rows of what berth itself did: runs, loads, forecasts, plans, decisions.
 * Floor: model. */
#ifndef BERTH_MODEL_RECORD_H
#define BERTH_MODEL_RECORD_H

#include <stddef.h>
#include <stdint.h>

/* One start of berth that wrote to the store. */
struct run {
	int64_t id;
	const char *verb;
	const char *args; /* as given, without secrets: credentials never come by argv */
	const char *host;
	int64_t pid;
	int64_t started, ended; /* ended 0: still going, or killed */
	int exit_status;        /* -1: not ended */
};

/* One file or query that was loaded into series. */
struct load {
	int64_t id, t, run;
	const char *format;  /* "csv" "sacct" "prometheus" ... */
	const char *source;  /* path, "-" or URL without credentials */
	const char *digest;  /* of the bytes, unpacked (hash_digest_hex()); "" unknown */
	const char *options; /* what else decides on what comes of the bytes; NULL: "" */
	int64_t rows_read, rows_stored, rows_duplicate, rows_replaced, rows_refused;
	int64_t
	    late; /* of rows_refused: steps that are rolled up, and that the rows cover in part */
	int64_t from, to; /* first and last step touched; 0 none */
	/* What all series grew by: set by the store. */
	int64_t steps, covered_s;
	double unit_seconds;
};

/* Of a forecast what it will be scored by. */
enum { FORECAST_ROW_LEVELS = 5, FORECAST_ROW_PEAKS = 4 };
struct forecast_row {
	int64_t id, run;
	const char *series; /* name */
	int64_t as_of;      /* history lies strictly before; the first step */
	int64_t horizon_s;
	int64_t made; /* s since epoch */
	int64_t step_s;
	size_t n;                        /* steps */
	double peak[FORECAST_ROW_PEAKS]; /* of the maximum over all steps: .50 .90 .95 .99 */
	const double *mean;              /* [n] */
	const double *q;                 /* [n][FORECAST_ROW_LEVELS] .05 .50 .90 .95 .99 */
};

/* How a forecast did, as far as the truth was known; NaN where that can not be said (struct
 * fc_score). */
struct forecast_score_row {
	const char *series;
	int64_t as_of, horizon_s, made;
	int64_t known_s; /* of the horizon */
	double mase, smape, pinball, coverage90, peak_pinball95, peak_exceeded95;
};

struct plan_row {
	int64_t id, run;
	int64_t made;
	const char *json; /* berth.plan/1 */
	const char
	    *inputs; /* JSON object: forecast ids, price lists, options: enough to repeat it */
};

struct decision {
	int64_t id, run, t;
	int64_t seen;        /* the last time that it was still so; 0: it is of its moment */
	int64_t placement;   /* decision that what it was made from is kept under; 0: not kept */
	const char *kind;    /* "place" "placement" "move" "wait" "preemption" "probe" "scale" */
	const char *subject; /* job id, fleet or series name */
	const char *json;    /* what was chosen, the runner-up, what was refused and why */
};

#endif
