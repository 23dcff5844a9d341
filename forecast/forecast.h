/* forecast/forecast.h - the distribution of demand and of its peak.  Floor: domain; util only.
 *
 * Arrays in, arrays out: no I/O, no clock, no global state; chance only from fc_options.seed.
 * Results do not depend on the order of the series, on threads, or on the unit (all values times c
 * gives all results times c).
 */
#ifndef BERTH_FORECAST_FORECAST_H
#define BERTH_FORECAST_FORECAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/arena.h"
#include "util/err.h"

/* Levels of the pointwise quantiles, in this order: .01 .025 .05 .10 .25 .50 .75 .90 .95 .975 .99
 */
enum fc_level {
	FC_P01,
	FC_P025,
	FC_P05,
	FC_P10,
	FC_P25,
	FC_P50,
	FC_P75,
	FC_P90,
	FC_P95,
	FC_P975,
	FC_P99,
	FC_LEVEL_COUNT
};
extern const double fc_levels[FC_LEVEL_COUNT];

/* Levels of the peak quantiles: .50 .90 .95 .99 */
enum fc_peak_level { FC_PEAK50, FC_PEAK90, FC_PEAK95, FC_PEAK99, FC_PEAK_LEVEL_COUNT };
extern const double fc_peak_levels[FC_PEAK_LEVEL_COUNT];

/*
 * One demand signal on a regular grid: entry i covers [t0 + i*step_s, t0 + (i+1)*step_s), UTC.
 * mean  [n] average demand in the step, >= 0; NaN = no data (never 0 for no data)
 * peak  [n] highest demand in the step, >= mean; NaN = no data; NULL: the mean is the peak
 * All borrowed. name must be unique in a run: it orders the series, nothing else.
 */
struct fc_series {
	const char *name;
	int64_t t0, step_s;
	size_t n;
	const double *mean, *peak;
};

/* Local time minus UTC in seconds at the instant t. */
typedef int64_t fc_offset_fn(void *arg, int64_t t);

struct fc_options {
	size_t horizon; /* steps, >= 1 */
	size_t n_paths; /* sample paths, 0: none; 200 is the default of the commands */
	uint64_t seed;
	double cap;         /* fleet or quota size that demand met can not pass; NaN: none */
	const double *caps; /* [n] of each series instead, NaN: none; NULL: cap for all */
	size_t max_history; /* use at most the last so many steps; 0: all */
	fc_offset_fn
	    *utc_offset; /* seasons follow this clock, also over days of 23 and 25 h; NULL: UTC */
	void *utc_offset_arg;
	const int64_t
	    *holidays; /* [n_holidays] days off by that clock, days since 1970-01-01, ascending */
	size_t n_holidays;
	unsigned threads;   /* over series; 0 or 1: none */
	double spike_times; /* single values over so many times all others are cut (fc_spikes);
			       INFINITY: none */
	bool errors;        /* results keep the errors at the rolling origins (forecast/tree.h) */
};
void fc_options_init(struct fc_options
	*o); /* horizon 0, 200 paths, seed 1, no cap, no zone, one thread, FC_SPIKE_ABSURD */

/*
 * Steps of less than an hour (a divisor of it) joined to hours: mean of the means, maximum of the
 * peaks; an hour with less than half of its steps is missing. Other series are handed through. What
 * out points to lies in a, or is borrowed from in.
 */
void fc_to_hours(const struct fc_series *in, struct arena *a, struct fc_series *out);

/*
 * Values far over all others come down to the highest of those (winsorised): one run of at most 3
 * h, over since a day or more, over `times` all else in a series that is mostly more than 0; or at
 * most three such runs over FC_SPIKE_ABSURD times all else. Never more than one step in 50, and
 * none in steps of more than a day. mean and peak are looked at each by itself. A level that stays,
 * or a height that comes back, is demand. spike_out [FC_SPIKE_MAX]: so many are listed, all are
 * cut. What out points to lies in a, or is borrowed from in.
 */
enum { FC_SPIKE_MAX = 16 };
#define FC_SPIKE_ABSURD 100.0 /* nothing that ever was grows so within hours and falls back */
#define FC_SPIKE_ONCE                                                                              \
	5.0 /* no base for what is bought for a year; the peak's P99 has to remember it */
struct fc_spike;
void fc_spikes(const struct fc_series *in, double times, struct arena *a, struct fc_series *out,
    struct fc_spike *spike_out, size_t *n_out);

/* A part of the combination and its mean weight over the horizon (weights of all parts add up to
 * 1). */
struct fc_part {
	const char *name;
	double weight;
};

/* Quantiles of the maximum over steps [first, first + count) of the horizon. */
struct fc_window {
	size_t first, count;
	double q[FC_PEAK_LEVEL_COUNT];
	size_t likeliest; /* step where most of the sample paths have their maximum */
};

/* Growth over months, where the past quarters show one that goes on (berth-planning(7)). */
enum fc_growth_kind {
	FC_GROWTH_NONE,
	FC_GROWTH_LINE,
	FC_GROWTH_RATE,    /* so much, or such a share, more each week; damped */
	FC_GROWTH_LOGISTIC /* towards a level that it does not pass */
};
struct fc_growth {
	enum fc_growth_kind kind;
	double gain; /* share of the error of no growth that it takes away over past quarters; NaN:
			none */
	double factor;    /* level at the end of the horizon over that at its start */
	double saturates; /* LOGISTIC: the level that it comes to; else NaN */
};

/* What days off on weekdays did in the past of a series; an effect has to be earned on them
 * (berth-planning(7)). */
enum fc_holiday_effect {
	FC_HOLIDAY_NONE,
	FC_HOLIDAY_FACTOR, /* demand times ratio */
	FC_HOLIDAY_SUNDAY  /* like Sundays, hour by hour */
};
struct fc_holiday {
	enum fc_holiday_effect effect;
	size_t past, ahead; /* days off on weekdays in the history that can be compared, and in the
			       horizon */
	double ratio;       /* demand on them over that of usual days */
	double gain; /* share of the error that the effect takes away, each day by what the others
			tell; NaN: no day */
};

struct fc_span {
	int64_t from, to;
}; /* [from, to), s since epoch */
struct fc_spike {
	int64_t t;
	double value, to;
}; /* a step that was cut, from and to */
struct fc_shift {
	int64_t t;
	double before, after;
}; /* level of the 72 h before and after */

struct fc_result {
	const char *name;   /* borrowed from the series */
	int64_t t0, step_s; /* of the first forecast step */
	size_t horizon;
	int64_t history_from, history_to; /* first step, last step's start */
	size_t n_used, n_missing;
	double *mean; /* [horizon], >= 0 */
	double *
	    q; /* [horizon][FC_LEVEL_COUNT], >= 0, not decreasing along a row: of the step's mean */
	double peak[FC_PEAK_LEVEL_COUNT]; /* of the maximum over the whole horizon, of the steps'
					     peaks */
	struct fc_window *windows;        /* [n_windows] first day, then each week of the horizon */
	size_t n_windows;
	double *paths; /* [n_paths][horizon] path k follows the same past instant in all series;
			* demand to be met in each step (its peak), >= 0; equally likely futures;
			* the quantiles of their maxima over the horizon and over each window are
			* peak and windows[].q */
	size_t n_paths;
	size_t *origins; /* [n_origins] with opt.errors: how many steps before the end each rolling
			    origin lay */
	double *errors;  /* [n_origins][6] mean of truth minus forecast over steps 1-6, 7-24, 25-72,
			  * 73-168, 169-336  and beyond; NaN: not all of them known */
	size_t n_origins;
	const char *model;     /* "combination", "level", "intermittent", "zero", "fleet" */
	struct fc_part *parts; /* [n_parts], heaviest first */
	size_t n_parts;
	struct fc_shift *shifts; /* confirmed changes of level, oldest first */
	size_t n_shifts;
	struct fc_span *outages,
	    *gaps; /* left out of the fit; gaps: missing for more than 3 steps */
	size_t n_outages, n_gaps;
	struct fc_spike *spikes; /* cut, as fc_spikes() says; without opt.keep_spikes */
	size_t n_spikes;
	struct fc_growth growth;   /* with paths */
	struct fc_holiday holiday; /* with opt.holidays */
	bool censored;             /* the history sits at opt.cap: demand above it was not seen */
	const char **warnings;     /* [n_warnings] whole sentences */
	size_t n_warnings;
};

/*
 * Expected demand of a step: its quantiles integrated by the trapezoid rule, the tails at their
 * last level. mean[] is the forecast with the least absolute error, which for demand that is mostly
 * nothing is nothing.
 */
double fc_expected(const struct fc_result *r, size_t step);

/*
 * Forecasts n series together: they share the normal matrix of the pooled regression and the pool
 * of past errors, which gives short histories their bands. Everything in results_out [n] lies in a;
 * order as given. Errors: BERTH_EINVAL names the series: no value at all, an infinite or negative
 * value, step_s < 1, horizon 0, two series with one name. A fit that fails falls back to a simpler
 * model and says so in warnings; it is no error.
 */
BERTH_MUST_CHECK enum berth_code fc_run_many(const struct fc_series *s, size_t n,
    const struct fc_options *opt, struct arena *a, struct fc_result *results_out,
    struct berth_err *err);
/*
 * The same in bounded memory, for any number of series: the run holds what all results rest on, and
 * results are handed out one by one. s is borrowed until the run is closed. Errors of opening:
 * those of fc_run_many().
 */
struct fc_run;
BERTH_MUST_CHECK enum berth_code fc_run_open(const struct fc_series *s, size_t n,
    const struct fc_options *opt, struct fc_run **run_out, struct berth_err *err);
void fc_run_close(struct fc_run *r); /* NULL is fine */
/* Takes the result of series i; r and all in it lie in a, which is gone after the call. Anything
 * but BERTH_OK ends the run. */
typedef enum berth_code fc_sink_fn(
    void *arg, size_t i, struct fc_result *r, struct arena *a, struct berth_err *err);
/*
 * Hands out the results of which [n] (NULL: 0 to n - 1), in this order and in the caller's thread;
 * with threads at most two a thread wait for it. last: none of them is asked for again, and what is
 * held for them can go. Asked for twice, a result is the same twice.
 */
BERTH_MUST_CHECK enum berth_code fc_run_each(struct fc_run *r, const size_t *which, size_t n,
    bool last, fc_sink_fn *sink, void *arg, struct berth_err *err);
void fc_result_copy(
    const struct fc_result *r, struct arena *a, struct fc_result *out); /* name stays borrowed */

/* One series alone: bands of a short history come from the built-in pool. */
BERTH_MUST_CHECK enum berth_code fc_run(const struct fc_series *s, const struct fc_options *opt,
    struct arena *a, struct fc_result *result_out, struct berth_err *err);

/* How a forecast did against what came; NaN where it can not be said. */
struct fc_score {
	double mase;  /* by the mean |y[t] - y[t - day]| of the history (Hyndman & Koehler, 2006) */
	double smape; /* percent, 0..200; steps where both are 0 count 0 */
	double pinball;         /* mean over .5 .9 .95 .99, by the same scale */
	double coverage90;      /* share of steps in [p05, p95] */
	double peak_pinball95;  /* of the maximum over the horizon, by the mean weekly peak of the
				   history */
	double peak_exceeded95; /* share of origins whose maximum passed the peak's p95 */
};
/* Simple methods of others, for comparison: [horizon] means. */
enum fc_peer {
	FC_PEER_NAIVE,
	FC_PEER_SNAIVE,
	FC_PEER_NAIVE2,
	FC_PEER_SES,
	FC_PEER_THETA,
	FC_PEER_COUNT
};
const char *fc_peer_name(enum fc_peer p); /* "last value" "seasonal naive" "Naive2" "SES" "Theta" */
/* As the benchmarks of the M4 competition define them (Makridakis, Spiliotis & Assimakopoulos,
 * 2020); no NaN in y. */
BERTH_MUST_CHECK enum berth_code fc_peer(enum fc_peer p, const double *y, size_t n, size_t season,
    size_t horizon, double *mean_out, struct berth_err *err);

struct fc_backtest {
	const char *name;
	size_t origins;
	struct fc_score score; /* means over the origins */
	double peer_mase[FC_PEER_COUNT],
	    peer_smape[FC_PEER_COUNT]; /* of the simple methods at the same origins */
};
/*
 * Forecasts from up to `origins` past instants, spread evenly over the last half of each history,
 * each with nothing but what lies before it in any series, and scores them. Where series have dates
 * of their own, origins may lie a little earlier, so that they fall on common instants. The peers
 * see the same history with its gaps held. out [n].
 */
BERTH_MUST_CHECK enum berth_code fc_backtest(const struct fc_series *s, size_t n,
    const struct fc_options *opt, size_t origins, struct arena *a, struct fc_backtest *out,
    struct berth_err *err);
/* Scores one result against the truth: actual mean and peak [n] from r->t0 on (n <= horizon, NaN =
 * unknown). */
void fc_score_result(const struct fc_result *r, const struct fc_series *history, const double *mean,
    const double *peak, size_t n, struct fc_score *score_out);

#endif
