/* src/plan/scale.h - how many machines a fleet should have.  Floor: domain. */
#ifndef BERTH_PLAN_SCALE_H
#define BERTH_PLAN_SCALE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/err.h"

#define SCALE_MOST 1000000000 /* machines of a fleet at most */

/* What is kept above what the load asks for: the largest of the four, so that two of them are
 * joined field by field. */
struct scale_headroom {
	int64_t machines;
	int64_t gpus; /* accelerators; of machines with rule.gpus each */
	double share; /* of the machines that the load asks for, before rounding up; at least one
			 machine where it asks for any; 0: none */
	int64_t percentile; /* 90: as many as the forecast's quantile 0.9 asks for
			       (scale_input.least); 0: none */
};

struct scale_rule {
	int64_t min, max;               /* machines; max also holds the quota */
	struct scale_headroom headroom; /* within max */
	int64_t gpus;                   /* accelerators of one machine; 0 counts as 1 */
	double unit;      /* load that one machine carries: 8 GPUs, 40 requests a second; > 0 */
	double target;    /* share of it that is used when all is well, 0 < target <= 1 */
	double tolerance; /* up only if wanted / have > 1 + this, down only if have / wanted > 1 +
			     this; 0.1 */
	int64_t boot_s;   /* from the order to a working machine */
	int64_t down_window_s; /* 0: max(300, 2 boot_s + billing_s) */
	int64_t billing_s;     /* granularity of the bill */
	double down_rate; /* share of the fleet that may go in 5 min, at least one machine; 0.2 */
	double
	    drain_s; /* time in which queued work is to be done; 0: queued work is not looked at */
};

/* What is measured now. NaN: not known; never taken for 0. Infinite ones and a load below 0 are no
 * measures: not known. */
struct scale_input {
	int64_t t;               /* s since epoch; where it falls the window begins anew */
	int64_t ready, starting; /* machines that work; ordered and not there yet */
	int64_t busy;            /* machines that must not go: work on them, or pinned */
	double load;             /* in the rule's unit: n times utilisation times unit */
	double queued;           /* load-seconds of work that waits */
	double forecast;         /* load at t + boot_s; may only raise */
	int64_t waiting; /* of starting: nothing is rented for them yet, so that they cost nothing
			    to take back */
	double soon;     /* most that is forecast until t + scale_restart(); may only hold */
	double least; /* load that the headroom's percentile tells, the most until t + boot_s; may
			 only raise */
	double least_soon; /* ... until t + scale_restart(); may only hold */
};

/* Recommendations of the last window: later and larger ones push out what can no longer be the
 * largest. */
#define SCALE_MEMORY 64

struct scale_state {
	struct {
		int64_t t;
		double n;
	} want[SCALE_MEMORY]; /* t rising, n falling: machines before rounding up */
	size_t n_want;
	int64_t had;            /* ready machines at the last step */
	int64_t arrived;        /* when machines last became ready; INT64_MIN: never */
	int64_t down_t, down_n; /* the 5 min in which machines go, and how many went */
	double last;            /* machines that the last known load asked for, without headroom */
	double move;            /* how they, headroom among them, differed from those before */
	double swing;  /* share of it that it has lately gone up and down again, halved in two
			  windows, or in 24 gaps (of two windows at most) */
	int64_t moved; /* when the load last changed; 0: not known */
	double gap;    /* s from one change to the next, lately; 0: not known */
	bool started;
};

enum scale_reason {
	SCALE_STEADY, /* within the tolerance */
	SCALE_UP,
	SCALE_DOWN,
	SCALE_HELD,  /* less would do, but the window, the rate or a fresh arrival says wait */
	SCALE_BUSY,  /* less would do, but the rest is busy or pinned */
	SCALE_LIMIT, /* more is wanted than max allows */
	SCALE_NO_METRIC,
	SCALE_REASON_COUNT
};
const char *scale_reason_name(enum scale_reason r); /* "up" */

struct scale_decision {
	int64_t want;   /* machines this input alone asks for, within min and max */
	int64_t asked;  /* ... without headroom and min, within max; -1: the load is not known */
	int64_t spare;  /* machines that the headroom adds to asked, within max */
	int64_t target; /* machines to have, what is starting among them: order or release the
			   difference */
	enum scale_reason reason;
};

/* Errors: BERTH_EINVAL names the field. */
BERTH_MUST_CHECK enum berth_code scale_check(const struct scale_rule *r, struct berth_err *err);

/* A load that has had one value in all that is known of it. */
struct scale_still {
	double value;
	int64_t known_s; /* time that is known; 0: it has had another one, or nothing is known */
};
/*
 * What the forecast's quantile at level says of a load ahead_s behind what is known. What has never
 * moved in known_s moves in ahead_s with a chance of ahead / (known + ahead), Laplace's rule of
 * succession; up or down is not told, so that each may be all of it: a quantile that is no nearer
 * to its end than that is the value itself. Else, and for all other loads: the forecast.
 */
double scale_foreseen(const struct scale_still *s, double level, int64_t ahead_s, double forecast);

/* down_window_s, or what stands for it. */
int64_t scale_window(const struct scale_rule *r);
/* Idle time that costs what an end and a new start do: a start is billed and brings nothing, a
 * billing step is paid whole. */
int64_t scale_restart(const struct scale_rule *r);
/* By how much less has to fit before machines go, for the swing of the load: three times its share,
 * at most from the lowest to the highest of a noise of half the tolerance either way; at least 1.
 */
double scale_room(const struct scale_rule *r, const struct scale_state *s);
/* Whether the headroom's percentile is wanted and no load is told for it. */
bool scale_blind(const struct scale_rule *r, const struct scale_input *in);
/* Machines that the percentile's load asks for; 0: none is wanted, or it is not known. */
double scale_least(const struct scale_rule *r, double load);
/* Machines that a load asks for, headroom among them but for its percentile, at least 0; NaN: 0. */
int64_t scale_carries(const struct scale_rule *r, double load);
/* The largest load that asks for no more than so many machines, headroom among them as above;
 * below 0: not even none. */
double scale_carried(const struct scale_rule *r, double machines);

/*
 * One step; state starts zeroed. need = max(load / (target unit), queued / (drain_s target unit),
 * forecast / (target unit)); want = ceil(need + headroom), the largest of machines, gpus over
 * rule.gpus, and max(1, share need) where share and need > 0, and at least least / (target unit)
 * where that is known: rounded once, so that noise moves it by no larger share than without. Up at
 * once, as soon as want passes what is ready and starting by more than the tolerance. Down only to
 * the largest want of the window, and only if that fits with room for the swing of the load as well
 * (scale_room): else noise around a whole number of machines would start one every few windows. Not
 * before a window has passed since machines last arrived, at most down_rate in 5 min, never below
 * busy, nor below what `soon` and `least_soon` ask for, nor while the percentile is wanted and
 * `least` is not known; machines that are waiting may go at once, for they never came. A missing
 * load asks for what is there: it never scales in or out. (Kubernetes' rule of metrics that are
 * missing.)
 */
void scale_step(const struct scale_rule *r, struct scale_state *s, const struct scale_input *in,
    struct scale_decision *out);

#endif
