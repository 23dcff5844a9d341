/* forecast/fc.h - what the files of the forecast library share.  Floor: domain, internal. */
#ifndef BERTH_FORECAST_FC_H
#define BERTH_FORECAST_FC_H

#include "forecast/forecast.h"
#include "forecast/tree.h"
#include "util/rng.h"

enum {
	FC_BUCKETS = 6,  /* of the horizon: steps 1-6, 7-24, 25-72, 73-168, 169-336, beyond */
	FC_CV_MAX = 672, /* steps that rolling origins look ahead */
	FC_CAND_MAX = 40,
	FC_SCORE_POINTS = 40,
	FC_WIN_MAX = 60,
	FC_TOP = 2, /* within four weeks nothing is more than so many times the highest peak seen */
	FC_GROUPS = 3, /* of buckets that share a choice: steps 1-24, 25-72, beyond */
	FC_POWERS = 3,
	FC_MAPS =
	    4, /* shared regressions: of demand and of its logarithm, with a week ago and without */
	FC_PEAK_KINDS = 5, /* windows that are scored: the first day, weeks 1 to 4 */
	FC_SHIFT_MAX = 16,
	FC_SPAN_MAX = 32,
	FC_WARN_MAX = 12,
	FC_WARN_LEN = 192,
};

size_t fc_bucket(size_t step); /* bucket of step 0.. */
size_t fc_group(size_t bucket);
size_t fc_bucket_end(size_t bucket, size_t h); /* first step behind the bucket, at most h */

/* A candidate: its forecasts at every rolling origin and at the end of the history. Values are in
 * units of the job. */
struct fc_cand {
	const char *name;
	bool plain;             /* a last value: bears no handicap */
	double *cv;             /* [n_org][hc] */
	double *fin;            /* [h] */
	double err[FC_BUCKETS]; /* mean absolute error over the origins; NaN: bucket not seen */
};

struct fc_scores {
	bool seen[FC_BUCKETS];
	double scale[FC_BUCKETS]; /* mean absolute error of the combination, in units */
	double n_eff[FC_BUCKETS]; /* origins that do not overlap */
	double point[FC_BUCKETS][FC_SCORE_POINTS]; /* evenly spaced quantiles of error / scale */
	double own[FC_BUCKETS][FC_LEVEL_COUNT];    /* quantiles of the error, in units */
};
/* A window of the horizon whose maximum is forecast, and how two bases of it erred at the rolling
 * origins. */
struct fc_win {
	size_t first, count;
	size_t kind; /* 0: up to a day; else the week, from 1 */
	size_t n_own;
	double n_eff; /* of n_own, those that do not overlap */
	double point[2][FC_SCORE_POINTS],
	    own[2][FC_PEAK_LEVEL_COUNT]; /* (actual - base) / peak_scale */
};
struct fc_pool {
	double peak[FC_PEAK_KINDS][2][FC_PEAK_LEVEL_COUNT]; /* scores / fc_rough() */
	double rough[2];                                    /* typical */
	double move; /* typical root mean square of the changes of a week's level (log) */
	double rel_scale[FC_BUCKETS], growth[FC_BUCKETS], shape[FC_BUCKETS][FC_LEVEL_COUNT];
};

/* One series on its way through the library. */
struct fc_job {
	const struct fc_series *in;
	const struct fc_options *opt;
	double cap;        /* of this series; NaN: none */
	struct arena *a;   /* lives as long as the job */
	struct arena *tmp; /* scratch of the worker: gone when the combination stands */
	size_t n, h, hc;   /* steps of history, of the horizon, of it that rolling origins see */
	size_t day, week;  /* steps of the short and the long season; 0: none */
	size_t cycle;      /* steps of a week, at least 1: length of the windows */
	bool daily;        /* steps of more than six hours: the short season is the week */
	double unit;       /* y = demand / unit */
	double diff;       /* mean |y[t] - y[t - day]|: the scale of MASE, in units */
	double top;        /* highest peak seen, in units */
	bool rare;         /* hardly ever any demand: bands are those of the history itself */
	size_t skip;       /* steps of the input left out in front */
	struct fc_span *outage, *gap;
	size_t n_outage, n_gap, n_missing;
	double level;       /* mean of the last four weeks, in units */
	double *y, *peak;   /* [n] gaps filled */
	const double *calm; /* [n] peak without spikes that came but once */
	double *logy;       /* [n] log(y + log_shift) */
	double log_shift, log_diff;
	unsigned char *miss; /* [n] filled values: never scored */
	size_t thin;         /* every thin-th origin only; 0: all */
	size_t fit_n;        /* parameters for the rolling origins are fitted on [0, fit_n) */
	size_t n_org;
	size_t *org; /* [n_org] steps seen at each origin, ascending, the first is fit_n */
	struct fc_cand cand[FC_CAND_MAX];
	size_t n_cand;
	const char *failed[FC_CAND_MAX]; /* candidates that could not be fitted */
	size_t n_failed;
	double *weight;       /* [FC_BUCKETS][n_cand] */
	struct fc_part *part; /* [n_part] heaviest first */
	size_t n_part;
	double *cv;  /* [n_org][hc] the combination */
	double *fin; /* [h] */
	struct fc_scores scores;
	struct fc_win win[FC_WIN_MAX];
	size_t n_win;
	size_t since; /* peaks before this step tell nothing any more: a level shift lies between */
	struct fc_shift *shift; /* [n_shift] t counts steps */
	size_t n_shift;
	double peak_scale; /* mean weekly peak of the last eight weeks, in units */
	double rough[2];   /* mean change of the highest peak from one day to the next, one week to
			      the next / peak_scale */
	double n_rough[2]; /* ... over so many days, weeks */
	double *move; /* [n_move] log of a week's mean over that of the week before, a day apart,
			 the latest first */
	size_t n_move;
	double move_rms; /* root of their mean square */
};

/* stat.c */
int fc_cmp_double(const void *a, const void *b);
double fc_quantile_sorted(const double *x, size_t n, double p); /* type 8 (Hyndman & Fan, 1996) */
void fc_sort(double *x, size_t n);                              /* ascending, no NaN */
double fc_median(double *x, size_t n);                          /* reorders x */
double fc_mean(const double *x, size_t n);
/* Value at u of the quantile function with knots q at fc_levels, straight between them and level
 * behind its ends. */
double fc_level_quantile(const double *q, double u);
struct fc_rank {
	double x;
	size_t k;
};
void fc_rank(struct fc_rank *v, size_t n); /* by x, equals by k */

/* What was tuned on whole collections of series; never by name. */
struct fc_tuning {
	double powers[FC_POWERS]; /* weights go with error to one of these negative powers: the
				     first, unless a trial */
	double power_doubt; /* ... shows another to do better, its errors raised by this share in so
			       many series */
	double power_own;
	double now_share; /* a median that is the last value stands where that has so much of the
			     weight */
	double cuts[FC_POWERS]; /* share of the weight that is cut off at either end of the
				   candidates */
	double handicap;        /* errors of all but the last value count so much more */
	double flat_handicap;   /* ... plus so much in a series that never moves */
	double flat_step;       /* a move below this share of the level is none */
	double own_n; /* independent origins at which own and pooled errors weigh the same */
	double widen, widen_bucket; /* factor on all bands, and more for each bucket */
	double least_scale; /* no series errs less than this share of the pool's typical error */
	double hier_own;    /* penalty of a series' own map towards the shared one */
	double
	    rough_own; /* days or weeks of history at which own and pooled changes weigh the same */
	double rough_most[2]; /* of the typical change of days, of weeks: series that change more
				 than that are no steady ones */
	double peak_grow;     /* behind week 4 scores grow with this power of time */
	double peak_own;  /* days side by side in the past at which own and pooled scores weigh the
			     same; of weeks they always do */
	double move_own;  /* weeks of history at which own and pooled changes of the level weigh the
			     same */
	double move_grow; /* the spread of the level grows with this power of time, as bands and
			     peaks do */
	double peak_share[3][4]; /* shares of the peak's estimators: in the first day, the first
				    week, later weeks */
};
extern const struct fc_tuning fc_tuning;

/*
 * How the peaks of a day (kind 0) or a week (others) change from one to the next, as a share of
 * what the pool's do, at most 1: the series' own changes and, while it has few days or weeks, the
 * pool's. A series that never changed earns narrower peaks with every week that it stands still.
 */
double fc_rough(const struct fc_job *j, const struct fc_pool *pool, size_t kind);

/* Steps of origin k's forecast whose truth is in the history: what lies behind is not computed. */
size_t fc_seen(const struct fc_job *j, size_t k);

/* spike.c: into the result, with a warning */
void fc_spikes_result(const struct fc_spike *v, size_t n, struct fc_result *r);

/* prep.c, combine.c */
void fc_prepare(struct fc_job *j);                      /* j->in, opt, a are set */
void fc_combine(struct fc_job *j, const size_t *sharp); /* [FC_GROUPS] which of the powers */

/* How much smaller (log) the error of later origins is with weights of each power, from the errors
 * of earlier origins. */
struct fc_trial {
	double gain[FC_POWERS][FC_GROUPS]; /* against the first */
	bool seen[FC_GROUPS];
};
void fc_trial(struct fc_job *j, struct fc_trial *t); /* j has its candidates */
void fc_trial_choose(const struct fc_trial *t, size_t n, size_t *sharp);

/* band.c, peak.c, pool.c */
/* The windows of a horizon of h steps with weeks of cycle and days of day steps (0: none); returns
 * how many. */
size_t fc_windows_of(size_t h, size_t cycle, size_t day, struct fc_win *win);
void fc_windows(struct fc_job *j);
void fc_peak_scores(struct fc_job *j);
void fc_peak(const struct fc_job *j, const struct fc_pool *pool, size_t w, double *q);
void fc_band_scores(struct fc_job *j);
void fc_band(const struct fc_job *j, const struct fc_pool *pool, double *q);
void fc_pool_build(struct fc_pool *pool, const struct fc_job *jobs, size_t n, struct arena *a);

/* lin.c - symmetric positive definite systems, row-major */
bool fc_chol(double *a, size_t n); /* lower triangle in place; false: not definite */
void fc_axpy4(double *restrict y, const double *restrict x, size_t stride, const double *s,
    size_t n); /* y -= s0 x0 + ... */
void fc_chol_solve(
    const double *l, size_t n, double *b, size_t m); /* b [n][m] becomes the solution */

/* cand_*.c - each adds candidates to the job */
struct fc_cand *fc_cand_add(struct fc_job *j, const char *name);
void fc_cand_drop(struct fc_job *j, size_t c); /* takes candidate c out again: its fit failed */
void fc_cand_exp(const struct fc_job *j, struct fc_cand *c); /* from logarithms to demand */
void fc_cand_simple(struct fc_job *j);
void fc_cand_es(struct fc_job *j);
void fc_cand_harm(struct fc_job *j);
void fc_cand_arx(struct fc_job *j);

/* path.c: out [n][h] in units of the job, targets [n_win][FC_PEAK_LEVEL_COUNT] of the windows'
 * maxima */
void fc_paths(const struct fc_job *j, const struct fc_pool *pool, const double *targets, size_t n,
    double *out);

/* walk.c */
void fc_moves(struct fc_job *j);              /* sets move, n_move, move_rms */
size_t fc_walk_weeks(const struct fc_job *j); /* weeks of the horizon, the last begun one too */
/* out [fc_walk_weeks()]: log of the level over that of the forecast at the end of each week, of one
 * path. */
void fc_walk(const struct fc_job *j, const struct fc_pool *pool, struct rng *shared,
    struct rng *own, double *out);

/* result.c: alloc takes all that a result can need */
void fc_result_alloc(
    const struct fc_series *s, const struct fc_options *opt, struct arena *a, struct fc_result *r);
void fc_result_fill(struct fc_job *j, const struct fc_pool *pool, struct fc_result *r);

/* The maxima of r->paths (there must be some) over the first day and the weeks, and over all, into
 * windows and peak. */
void fc_result_windows(struct fc_result *r, struct arena *tmp);
/* answer.c: in the 24 h in which most of r->paths have their maximum the step in which most have it
 */
size_t fc_peak_step(const struct fc_result *r, struct arena *tmp);

/* run.c: result of series i, in a. last: nobody asks for it again */
void fc_run_finish(struct fc_run *r, size_t i, bool last, struct arena *tmp, struct arena *a,
    struct fc_result *out);
unsigned fc_run_threads(const struct fc_run *r);

/* cold.c: series of less than two days take the shape of the others' day and week. clean: series i
 * without its days off */
typedef void fc_series_fn(void *arg, size_t i, struct arena *a, struct fc_series *out);
struct fc_cold *fc_cold_learn(
    const struct fc_series *s, size_t n, fc_series_fn *clean, void *arg, struct arena *a);
void fc_cold_apply(const struct fc_cold *cold, const struct fc_series *s, struct fc_result *r);

/* growth.c: puts growth over months on a forecast of in, where it is earned */
void fc_growth_apply(const struct fc_series *in, double cap, struct fc_result *r);

/* holiday.c: the history as if there had been no days off, where an effect is earned; its effect on
 * a forecast made of that */
void fc_holiday_history(const struct fc_series *in, const struct fc_options *o, struct arena *a,
    struct fc_series *out, struct fc_holiday *h);
void fc_holiday_apply(
    const struct fc_series *clean, const struct fc_options *o, struct fc_result *r);

/* tree.c: how much of the gap between a sum and its leaves each leaf takes, from errors at the
 * rolling origins */
struct fc_tree_node {
	size_t n_origins;
	const size_t *origins;
	const double *errors; /* as in struct fc_result */
	double level;         /* mean of the forecast */
};
struct fc_tree_errors {
	const struct fc_tree *t;
	enum fc_reconcile how;
	size_t n;
	struct fc_tree_node *node; /* [n] leaves, then sums; for MINT */
};
void fc_tree_gives(const struct fc_tree_errors *w, struct arena *a,
    double **give); /* [FC_BUCKETS] each [n_leaves][n_sums] */
bool fc_tree_has(const struct fc_sum *s, size_t leaf);
/* Quantiles q move by what those of a sorted sample do [n], and stay in order. */
void fc_tree_move(double *q, const double *before, const double *after, size_t n);

/* local.c: how a series' steps lie on the wall clock of opt.utc_offset */
struct fc_local {
	struct fc_series in;
	bool changes;    /* else nothing is to be done */
	size_t n, ahead; /* local steps of history and horizon */
	size_t *index;   /* [horizon] local step ahead of each UTC step */
	int64_t *utc;    /* [n + 1] time of each local step */
};
void fc_local_map(
    const struct fc_series *s, const struct fc_options *o, struct arena *a, struct fc_local *l);
void fc_local_series(
    struct fc_local *l, const struct fc_options *o, struct arena *a, struct fc_series *out);
void fc_local_result(
    const struct fc_local *l, const struct fc_options *o, struct arena *a, struct fc_result *r);

/* shift.c */
void fc_shifts(struct fc_job *j); /* sets shift, n_shift, since */

/* cand_hier.c - [0]: what the rolling origins may know, [1]: all history */
struct fc_hier {
	size_t day, near, far, back; /* near + far lags, up to back */
	size_t in, out, centre;      /* windows are centred on the mean of the last so many steps */
	bool logs;
	double *gram[2], *map[2], windows[2];
	bool ready[2];
};
struct fc_hier *fc_hier_new(struct arena *a, size_t day, bool logs, bool far);
void fc_hier_add(struct fc_hier *g, const struct fc_job *j);
void fc_hier_merge(struct fc_hier *g, const struct fc_hier *part);
void fc_hier_solve(struct fc_hier *g, struct arena *a);
void fc_cand_hier(struct fc_job *j, const struct fc_hier *g);

#endif
