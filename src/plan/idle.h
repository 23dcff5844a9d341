/* src/plan/idle.h - when a job counts as one that does nothing with its accelerators.  Floor:
 * domain. */
#ifndef BERTH_PLAN_IDLE_H
#define BERTH_PLAN_IDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "util/err.h"

#define IDLE_READINGS 5 /* fewer may all have fallen on a write of a checkpoint */

struct idle_rule {
	double below; /* share of time that the busiest accelerator works, 0 < below <= 1 */
	int64_t alert_s, stop_s; /* of idling, until it is told and until the job ends; 0: never */
};

/* Of one job on its machines; starts zeroed. */
struct idle_state {
	int64_t since; /* first reading of those below; 0: the last was not */
	int64_t last;  /* of the readings */
	int64_t n;     /* readings since then */
	bool told;     /* that it idles, since then */
	bool blind;    /* once, that nobody can say whether it does */
	double busy;   /* the last reading; meant only while since > 0 */
};

enum idle_verdict {
	IDLE_NO,
	IDLE_ALERT, /* to be told, once for each time that it idles */
	IDLE_STOP,  /* to be ended; said again until that is done */
	IDLE_BLIND  /* to be told, once: there is no reading */
};

/* Errors: BERTH_EINVAL names the field. */
BERTH_MUST_CHECK enum berth_code idle_check(const struct idle_rule *r, struct berth_err *err);

/*
 * One reading at t, busy 0..1; NaN or below 0: there is none, which never counts as idle: the time
 * begins anew, as it does at one of at least `below`, at a clock that goes back, and where readings
 * lie over half of the longer timer apart. Each timer needs IDLE_READINGS of them; nothing is
 * stopped that has not been told of at an earlier reading, unless it is never to be told.
 */
enum idle_verdict idle_step(
    const struct idle_rule *r, struct idle_state *s, int64_t t, double busy);

/* When it is to be told of, and to be ended, if nothing changes; 0: never. */
int64_t idle_alert_at(const struct idle_rule *r, const struct idle_state *s);
int64_t idle_stop_at(const struct idle_rule *r, const struct idle_state *s);

#endif
