/* src/broker/decide.h - decisions of a tick beside those of the placement.  Floor: broker. */
#ifndef BERTH_BROKER_DECIDE_H
#define BERTH_BROKER_DECIDE_H

#include "broker/broker.h"
#include "util/buf.h"
#include "util/json.h"

/* A record in the making: an open object. */
struct decide {
	struct buf text;
	struct jsonw w;
};
void decide_begin(struct decide *d, const char *reason);
/* Keeps it and frees it, in the caller's transaction if one is open. */
BERTH_MUST_CHECK enum berth_code decide_end(struct broker *b, struct decide *d, const char *kind,
    const char *subject, struct berth_err *err);
/* A change that no number belongs to; at 0: no time. Lives in the tick's arena. */
struct placing_change *decide_change(
    struct broker *b, const char *what, const char *subject, int64_t at, const char *text);
/* Until when the offer is left alone; 0: it is not. */
BERTH_MUST_CHECK enum berth_code decide_held(
    struct broker *b, const struct offer *o, int64_t *until_out, struct berth_err *err);

/* A machine that was taken back under a job, until it is known what comes next. */
struct taken {
	const char *job_id;
	struct instance in;
	double progress; /* safe */
	const char *reason;
	struct taken *next;
};
/* preempt.c: notes it for preempt_keep() of the same tick. */
void preempt_note(
    struct broker *b, const char *job_id, const struct instance *in, const struct attempt_end *end);
/* What was chosen for each: another machine on spot or on demand, or to wait. p NULL: nothing was
 * placed. */
BERTH_MUST_CHECK enum berth_code preempt_keep(
    struct broker *b, const struct placing *p, struct berth_err *err);

#endif
