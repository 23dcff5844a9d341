/* src/cmd/forecast.h - what the files of the forecast verb share.  Floor: cmd. */
#ifndef BERTH_CMD_FORECAST_H
#define BERTH_CMD_FORECAST_H

#include <stdio.h>

#include "cmd/cmd.h"
#include "cmd/joins.h"
#include "cmd/roadmap.h"
#include "cmd/unit.h"
#include "forecast/answer.h"
#include "forecast/forecast.h"
#include "forecast/tree.h"
#include "model/record.h"
#include "model/series.h"

/* Of a plan that is made again: the only series, and how far the history of each went. */
struct forecast_was {
	const char *const *series; /* [n] */
	const int64_t *at;         /* [n] */
	size_t n;
};

struct forecast_opts {
	const struct forecast_was *then; /* NULL: --at, and all series */
	struct opt_list series, capacity, by, cap;
	int64_t horizon_s, at, history_s, paths, seed, origins, threads, gpus_per_node;
	const char *svg, *zone, *events, *reconcile, *holidays;
	bool backtest, compare, points, windows, plot, scores, why, brief, no_events, total, sparse,
	    requested, keep_spikes;
	double spike_times; /* of a plan; 0: FC_SPIKE_ABSURD */
};

/* What a series' demand may pass: a quota, what is owned, a number of --capacity. */
struct forecast_capacity {
	const char *name;
	int64_t gpus;
	double *passed; /* [horizon] chance that demand has passed it by the end of this step */
};

struct answer_facts;

/* Series as picked and read; index i of all arrays is one series. */
struct forecast_set {
	size_t n;
	struct series *all; /* [n_all] of the store */
	size_t n_all;
	struct series *rows; /* [n] by name */
	double *queued;      /* [n] GPUs waited for, mean of the last four weeks */
	const char *
	    *coarse; /* [n_coarse] what of it is kept coarser, in a sentence; NULL nothing */
	size_t n_coarse;
	struct fc_series *recorded; /* [n] hourly or coarser, before --at */
	struct fc_series *in;       /* [n] the same as the events have left it: what is forecast */
	struct fc_result
	    *out; /* [n] of the series that is being shown alone, as are base and capacity */
	struct joins joins;
	int64_t *
	    joined; /* [n] before this its history is that of what it came from; 0: it is its own */
	struct unit *unit; /* [n] what a plan counts them in; NULL: in cards, whatever they are */
	enum accel_precision precision; /* whose rates compare them */
	struct fc_tree tree;            /* n_sums 0: none; series are the leaves, then the sums */
	struct roadmap map;             /* n 0: none */
	struct fc_event_use **uses;     /* [n][map.n] */
	const double **base; /* [n][horizon] mean without events; NULL without a roadmap */
	double *caps;        /* [n] what its demand can not pass; NaN: none */
	bool sum_capped;     /* a sum has one */
	struct opt_list capacity_words,
	    cap_words;              /* --capacity and --cap, as forecast_words() has them */
	struct answer_facts *facts; /* what capacities are made of */
	struct forecast_capacity **capacity; /* [n][n_capacity[i]] */
	size_t *n_capacity;
	int64_t as_of; /* --at, else the step after the last sample of any series */
	size_t n_left; /* series that were picked and have no history to forecast from */
};

/* Picks by words, globs and --series: rows, all. */
BERTH_MUST_CHECK enum berth_code forecast_pick(
    struct cmd_ctx *ctx, struct forecast_set *f, struct berth_err *err);
/* The same, and reads the samples before --at. */
BERTH_MUST_CHECK enum berth_code forecast_load(
    struct cmd_ctx *ctx, struct forecast_set *f, struct berth_err *err);
/* Samples of one series before `at` (0: all), hourly or coarser, in a; n 0: none. coarse: as
 * forecast_set has it. */
BERTH_MUST_CHECK enum berth_code forecast_read(struct cmd_ctx *ctx, const struct series *s,
    int64_t at, struct arena *a, struct fc_series *in, const char **coarse, struct berth_err *err);
/* The roadmap of the options, as it was known at --at, and in as its events leave it. */
BERTH_MUST_CHECK enum berth_code forecast_roadmap(
    struct cmd_ctx *ctx, struct forecast_set *f, struct berth_err *err);
/* Series i takes place k in all arrays that forecast_load() fills. */
void forecast_place(struct forecast_set *f, size_t k, size_t i);
/* Over how many times all others a single value is cut. */
double forecast_spike_times(const struct forecast_opts *o);

/* What was waited for beside this series: added to it with --requested, in a, else told where it is
 * much. */
BERTH_MUST_CHECK enum berth_code forecast_queue(struct cmd_ctx *ctx, const struct forecast_set *f,
    const struct series *s, struct arena *a, struct fc_series *in, double *queued_out,
    struct berth_err *err);
/* Options of the library from those of the verb; horizon is that of the series' step. */
BERTH_MUST_CHECK enum berth_code forecast_options(struct cmd_ctx *ctx, int64_t step_s,
    int64_t horizon_s, struct fc_options *o, struct berth_err *err);
/* Forecasts all and shows, draws and keeps each as it comes; series of one step length share a run.
 */
BERTH_MUST_CHECK enum berth_code forecast_flow(
    struct cmd_ctx *ctx, struct forecast_set *f, int64_t horizon_s, struct berth_err *err);
/* Capacities of each series, from --capacity, the limits of berth.yaml and the commitments that
 * hold; of one, in a. */
BERTH_MUST_CHECK enum berth_code forecast_capacities(
    struct cmd_ctx *ctx, struct forecast_set *f, struct berth_err *err);
/* --cap of each series and sum, behind forecast_capacities() and forecast_tree(). */
BERTH_MUST_CHECK enum berth_code forecast_caps(
    struct cmd_ctx *ctx, struct forecast_set *f, struct berth_err *err);
/* GPUs that the quotas of berth.yaml and machines of one's own have of its accelerator together;
 * -1: none is known. */
int64_t forecast_known_size(const struct forecast_set *f, const struct series *s, struct arena *a);
bool forecast_capacity_known(struct cmd_ctx *ctx, const struct forecast_set *f, size_t i,
    struct arena *a); /* is there one? */
void forecast_capacity(struct cmd_ctx *ctx, struct forecast_set *f, size_t i, struct arena *a);
/* Start of the first step by whose end the capacity is passed with a chance of at least p; 0: not
 * within the horizon. */
int64_t forecast_passed_by(const struct fc_result *r, const struct forecast_capacity *c, double p);
/* Peak, when, how sure, what drives it, capacities, events: in sentences, and as keys of the
 * series' JSON object. */
BERTH_MUST_CHECK enum berth_code forecast_why(
    struct cmd_ctx *ctx, const struct forecast_set *f, size_t i, struct berth_err *err);
void forecast_json_answers(struct jsonw *w, const struct forecast_set *f, size_t i);
/*
 * Words of a list option as they were meant: names such as "accelerator=H100,team=nlp" hold the
 * commas that cut the list. A word that names none of rows [n] by itself, or stands before such a
 * one, is put together with those behind it if they do together.
 */
struct opt_list forecast_words(
    const struct opt_list *cut, bool valued, const struct series *rows, size_t n, struct arena *a);
int64_t forecast_whole(double x); /* whole GPUs that carry x */
/* --total and --by: adds the sums; their events are those of their leaves. */
BERTH_MUST_CHECK enum berth_code forecast_tree(
    struct cmd_ctx *ctx, struct forecast_set *f, struct berth_err *err);
enum fc_reconcile forecast_tree_how(const struct cmd_ctx *ctx);
void forecast_tree_uses(struct forecast_set *f, size_t sum);
/* The same for a set whose results are all there at once: brought together; and behind their
 * events. */
void forecast_tree_reconcile(struct cmd_ctx *ctx, struct forecast_set *f);
void forecast_tree_events(struct forecast_set *f);
void forecast_json_sums(struct jsonw *w, const struct forecast_set *f);
int64_t forecast_horizon(struct cmd_ctx *ctx, const struct config *config);

/* What is shown of the forecasts, in their order: begun once all can be made, then one by one. */
struct forecast_view {
	struct jsonw *json;  /* NULL: a table */
	struct table *table; /* rows so far */
	double *mean;        /* [n] demand on average, of leaves; NULL without sums */
	size_t shown;
	FILE *why; /* sentences so far; NULL: none are wanted */
	char *why_text;
	size_t why_len;
};
BERTH_MUST_CHECK enum berth_code forecast_show_begin(struct cmd_ctx *ctx,
    const struct forecast_set *f, struct forecast_view *v, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code forecast_show(struct cmd_ctx *ctx, const struct forecast_set *f,
    size_t i, struct forecast_view *v, struct berth_err *err);
/* rc: how it went so far; with an error nothing more is shown. */
BERTH_MUST_CHECK enum berth_code forecast_show_end(
    struct cmd_ctx *ctx, struct forecast_view *v, enum berth_code rc, struct berth_err *err);
void forecast_json_series(struct jsonw *w, const struct forecast_set *f, size_t i);
/* The forecast as it will be scored when the truth is known: kept with others, and with end the
 * rest of them. */
struct forecast_kept;
struct forecast_kept *forecast_keep_begin(struct cmd_ctx *ctx);
BERTH_MUST_CHECK enum berth_code forecast_keep(struct cmd_ctx *ctx, const struct forecast_set *f,
    size_t i, struct forecast_kept *k, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code forecast_keep_end(
    struct cmd_ctx *ctx, struct forecast_kept *k, enum berth_code rc, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code forecast_svg(
    struct cmd_ctx *ctx, const struct forecast_set *f, size_t i, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code forecast_backtest(
    struct cmd_ctx *ctx, const struct forecast_set *f, int64_t horizon_s, struct berth_err *err);
/*
 * Behind a new forecast of s: of those two days older than the newest the first of each day is
 * kept, those that are over for a week are scored and not kept; of all that are not, the score is.
 */
BERTH_MUST_CHECK enum berth_code forecast_settle(
    struct cmd_ctx *ctx, const struct series *s, struct berth_err *err);
/* How all forecasts of s did as far as that is known, oldest first, in a; *made grows by how many
 * there were. */
BERTH_MUST_CHECK enum berth_code forecast_known_scores(struct cmd_ctx *ctx, const struct series *s,
    struct arena *a, struct forecast_score_row **rows_out, size_t *n_out, size_t *made,
    struct berth_err *err);
/* How the stored forecasts of one series did, as far as that is known: how many, and the mean of
 * their scores. */
BERTH_MUST_CHECK enum berth_code forecast_record(struct cmd_ctx *ctx, const struct series *s,
    size_t *n_out, struct fc_score *mean_out, struct berth_err *err);
/* Stored forecasts against what came. */
BERTH_MUST_CHECK enum berth_code forecast_scores(struct cmd_ctx *ctx, struct berth_err *err);

#endif
