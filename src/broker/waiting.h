/* src/broker/waiting.h - why queued jobs stay in the queue: one decision a job and reason.  Floor:
 * broker. */
#ifndef BERTH_BROKER_WAITING_H
#define BERTH_BROKER_WAITING_H

#include <stddef.h>
#include <stdint.h>

#include "broker/placing.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/vec.h"

struct store;

/* Rules beside those of refuse_name(). */
#define WAITING_AFTER "after"                   /* the end of another job */
#define WAITING_LAUNCH_REFUSED "launch_refused" /* every offer was asked for in vain */
#define WAITING_LAUNCH_UNKNOWN "launch_unknown" /* the outcome of a launch */
#define WAITING_ACCOUNT_BUSY "account_busy"     /* its account has had its time in this pass */

struct waiting {
	const struct job *job;
	const char *rule;
	const char *subject;                 /* the limit, or the job, that it waits for; "" */
	const char *reason;                  /* in plain words */
	const struct placing_job *placing;   /* NULL: it was left out of the placement */
	const struct placing_change *change; /* in the place of those of the placement; NULL */
	size_t tried;                        /* offers that were asked for in vain */
};

/* Those of one pass; begun with { .a = arena }. */
struct waiting_list {
	struct arena *a;
	VEC(struct waiting) v;
};

void waiting_add(struct waiting_list *l, const struct waiting *w);
/* One that the placement itself gave no offer, with its rule and limit. */
void waiting_add_refused(struct waiting_list *l, const struct placing_job *j, const char *reason);

struct jsonw;
/* The keys of one, into an open object. */
void waiting_json(struct jsonw *w, const struct placing *p, const struct waiting *x);

/*
 * Keeps them, in the caller's transaction: a reason that is another one than before is a new
 * decision (kind "wait"); one that stands has its decision brought up to date where its numbers
 * have changed, and is marked as seen now. Jobs that are not in the list wait no more. p NULL: no
 * placement was made.
 */
BERTH_MUST_CHECK enum berth_code waiting_keep(struct store *store, int64_t now,
    const struct placing *p, const struct waiting_list *l, struct berth_err *err);

#endif
