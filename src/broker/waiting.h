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

struct buf;
struct store;

/* Rules beside those of refuse_name(). */
#define WAITING_AFTER "after"                   /* the end of another job */
#define WAITING_LAUNCH_REFUSED "launch_refused" /* every offer was asked for in vain */
#define WAITING_LAUNCH_UNKNOWN "launch_unknown" /* the outcome of a launch */
#define WAITING_ACCOUNT_BUSY "account_busy"     /* its account has had its time in this pass */

#define WAITING_OVER_BUDGET "over_budget" /* refuse_name(): a budget that had it before */
#define WAITING_UNKNOWN_TEXT "waits to learn what became of a launch"

/* What came of a job in a pass beside its placement: by it and the placement alone a record can be
 * made again. Texts are never NULL. */
struct waiting_fate {
	const char *rule;     /* WAITING_... */
	const char *subject;  /* the job that it waits for */
	const char *state;    /* of that job; "": it is not known */
	const char *said;     /* the words of a provider or the store; "" */
	const char *late;     /* account that had no time left for n_late of the tried offers; "" */
	size_t tried, n_late; /* over_budget: which of its offers was asked for */
	int64_t until;        /* end of the first hold on those tried; 0: none; of one that is late
				 behind another: its end */
	const char *more;     /* of that: what is added to the reason; "" */
	const char *help;     /* and what would help; "" */
};

struct waiting {
	const struct job *job;
	const char *rule;
	const char *subject;                 /* the limit, or the job, that it waits for; "" */
	const char *reason;                  /* in plain words */
	const struct placing_job *placing;   /* NULL: it was left out of the placement */
	const struct placing_change *change; /* in the place of those of the placement; NULL */
	size_t tried;                        /* offers that were asked for in vain */
	struct waiting_fate fate;            /* with fated: what it was made from */
	bool fated;
};

/* Does the job that it waits for still go on? */
bool waiting_ends(const struct waiting_fate *f);

/* Those of one pass; begun with { .a = arena }. */
struct waiting_list {
	struct arena *a;
	VEC(struct waiting) v;
	VEC(int64_t) made; /* ids of decisions that this pass has made or changed */
};

void waiting_add(struct waiting_list *l, const struct waiting *w);
/* The reason in words, and what would change it. pj: in the placement; NULL: left out of it. False:
 * no such rule, or the placement is not that of the fate. */
bool waiting_of_fate(struct arena *a, const struct job *job, const struct placing_job *pj,
    const struct waiting_fate *f, struct waiting *out);
/* Adds that, and returns it; the rule and the numbers are ours. */
const struct waiting *waiting_add_fate(struct waiting_list *l, const struct job *job,
    const struct placing_job *pj, const struct waiting_fate *f);
/* One that the placement itself gave no offer, with its rule and limit. */
void waiting_add_refused(struct waiting_list *l, const struct placing_job *j, const char *reason);

struct jsonr;
struct jsonw;
/* The key "waits" with all fates, into an open object; and one of them out of it, with the id and
 * the name of its job. */
void waiting_fates_json(struct jsonw *w, const struct waiting_list *l);
BERTH_MUST_CHECK enum berth_code waiting_fate_find(const struct jsonr *root, const char *job_id,
    struct arena *a, struct job *job, struct waiting_fate *f, bool *found_out,
    struct berth_err *err);
/* The keys of one, into an open object. */
void waiting_json(struct jsonw *w, const struct placing *p, const struct waiting *x);

/*
 * Keeps them, in the caller's transaction: a reason that is another one than before is a new
 * decision (kind "wait"); one that stands has its decision brought up to date where its numbers
 * have changed, and is marked as seen now. Jobs that are not in the list wait no more. p NULL: no
 * placement was made.
 */
BERTH_MUST_CHECK enum berth_code waiting_keep(struct store *store, int64_t now,
    const struct placing *p, struct waiting_list *l, struct berth_err *err);
/* The record of one. The caller frees out. */
BERTH_MUST_CHECK enum berth_code waiting_text(
    const struct placing *p, const struct waiting *x, struct buf *out, struct berth_err *err);

#endif
