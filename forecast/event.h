/* forecast/event.h - what history can not know: launches, projects, teams that leave.  Floor:
 * domain.
 *
 * An event adds GPUs, multiplies demand or makes it grow. It is drawn once for each sample path,
 * with the same draw in every series, so that maxima, point quantiles and sums over series stay
 * coherent. What has already begun explains history: the history is brought to the present state
 * before the fit, so that nothing is counted twice.
 */
#ifndef BERTH_FORECAST_EVENT_H
#define BERTH_FORECAST_EVENT_H

#include "forecast/forecast.h"

/* Triangular between least and most with its mode at likely; all three equal: certain. */
struct fc_range {
	double least, likely, most;
};

enum fc_event_kind {
	FC_EVENT_GPUS,   /* size GPUs more (or, negative, less) */
	FC_EVENT_FACTOR, /* demand times size; 0: it ends */
	FC_EVENT_GROWTH  /* demand times size for each year since the start */
};

struct fc_event {
	const char *name;
	double probability; /* 0..1 that it comes at all */
	enum fc_event_kind kind;
	struct fc_range size;
	struct fc_range start;         /* s since epoch */
	bool has_until;                /* it ends at until, else after length */
	struct fc_range until;         /* s since epoch */
	struct fc_range length;        /* s, > 0; likely infinite: for good */
	double ramp_up_s, ramp_down_s; /* it grows over its first and fades over its last so many
					  seconds, in a straight line */
};

/* How an event stands to a series' history. */
enum fc_event_state {
	FC_EVENT_AHEAD, /* begins behind the history: drawn for each path */
	FC_EVENT_SEEN,  /* has begun, and the history shows it (or can not contradict) */
	FC_EVENT_OVER,  /* seen, and over */
	FC_EVENT_OPEN,  /* has begun too lately to be seen: drawn, and what it may have added so far
			   is left as it is */
	FC_EVENT_ABSENT /* should have begun, but the history shows nothing of it: left out */
};
const char *fc_event_state_name(enum fc_event_state s); /* "ahead" "seen" "over" "open" "absent" */

/* One event in one series. */
struct fc_event_use {
	const struct fc_event *event;
	double share; /* of the event's GPUs that fall on this series */
	double rate;  /* GPUs of the series that one of the event counts as; 0: 1 */
	enum fc_event_state state;
	double size; /* SEEN, OVER: what is taken for its size (all of it, not the share's) */
	double
	    measured; /* change of level found in the history, of the share; NaN: not to be seen */
	double mean;  /* GPUs that it adds to the forecast, mean over horizon and paths */
	double at_peak; /* ... at the peak's likeliest step */
	double happens; /* share of the paths in which it comes */
};

/*
 * Brings the history to the state of its end: GPUs of what has begun are added to the time before
 * it, GPUs of what is over are taken off, factors likewise; steps where a factor was 0 become
 * missing. in's arrays are borrowed where nothing changes. use [n] event and share are given (share
 * 0: does not concern the series), state, size and measured are set.
 */
void fc_events_history(const struct fc_series *in, struct fc_event_use *use, size_t n,
    struct arena *a, struct fc_series *out);
/*
 * Adds the events to a forecast of that history: paths, mean, quantiles, peak and windows; use gets
 * mean, at_peak, happens. r must have paths; its arrays are written. cap as in fc_options. The
 * draws depend on the seed and the event's name alone.
 */
void fc_events_apply(
    struct fc_result *r, struct fc_event_use *use, size_t n, uint64_t seed, double cap);

/*
 * What the roadmap knew of series that are cut at past instants: uses_out [m][*n_out] with event
 * and share. which [m]: their places in the series of the backtest. Lives in a; *n_out 0: nothing.
 */
typedef enum berth_code fc_uses_fn(void *arg, const struct fc_series *cut, const size_t *which,
    size_t m, struct arena *a, struct fc_event_use **uses_out, size_t *n_out,
    struct berth_err *err);
/* fc_backtest() with the events that were known at each origin, and without_out [n] without any at
 * the same origins. */
BERTH_MUST_CHECK enum berth_code fc_backtest_events(const struct fc_series *s, size_t n,
    const struct fc_options *opt, size_t origins, fc_uses_fn *uses, void *arg, struct arena *a,
    struct fc_backtest *out, struct fc_backtest *without_out, struct berth_err *err);

#endif
