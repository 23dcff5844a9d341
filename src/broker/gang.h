/* src/broker/gang.h - the machines of one job that spans several.  Floor: broker. */
#ifndef BERTH_BROKER_GANG_H
#define BERTH_BROKER_GANG_H

#include "broker/broker.h"

/* One machine of a gang, by rank. */
struct gang_member {
	struct intent it;
	struct instance in; /* once it is made */
	struct attempt at;  /* while it is open */
	size_t asked;       /* how often it was asked for again, in place of one that was lost */
	bool made, open;
	bool lost; /* made, and its attempt has ended */
};

struct gang {
	struct gang_member *m; /* [n] by rank; n 0: the machine is alone */
	size_t n;
	size_t open;    /* members whose attempt has not ended */
	size_t pending; /* creates of which nobody knows the end */
	size_t lost;  /* members whose attempt has ended, that nothing was asked for in place of */
	bool refused; /* a create failed */
	bool broken;  /* refused, or lost: it never becomes whole by itself */
};

/* Whether some way to run the job needs several machines: others need not be looked up. */
bool gang_may(const struct job *job);
/* The gang of the intent that made a machine. */
BERTH_MUST_CHECK enum berth_code gang_load(struct broker *b, int64_t intent_id, const char *job_id,
    struct gang *out, struct berth_err *err);
/* The gang whose machines the job holds; n 0: it holds none, or one alone. */
BERTH_MUST_CHECK enum berth_code gang_held(
    struct broker *b, const char *job_id, struct gang *out, struct berth_err *err);
/* All machines are made, passed their probe, and are neither noticed nor given back. */
bool gang_ready(const struct gang *g);
/* Names by which the machines reach one another: their addresses without the user, by rank. */
const char **gang_hosts(const struct gang *g, struct arena *a);
/* The others are kept for one in place of what was lost (refill.c). */
bool gang_waits(const struct job *job, const struct gang *g);
/*
 * Attempts end together (job_attempt_end), the job goes back to the queue, and each machine is
 * given back at once as far as its provider answers.
 */
BERTH_MUST_CHECK enum berth_code gang_give_back(struct broker *b, const struct job *job,
    const struct gang *g, const struct attempt_end *end, struct berth_err *err);
/*
 * What all ranks together say of the job: failed or lost as soon as one is, done when all are;
 * progress is the least of the ranks that tell any. who_out: the rank that decided.
 * BERTH_ETRANSIENT: one did not answer and none has failed; BERTH_ENOTFOUND: one no longer knows
 * the job.
 */
BERTH_MUST_CHECK enum berth_code gang_poll(struct broker *b, const struct job *job,
    const struct gang *g, struct prov_run *run_out, size_t *who_out, struct berth_err *err);
/*
 * Stops the work on every machine, for a checkpoint of all; BERTH_ETRANSIENT: some did not answer,
 * the others stand still.
 */
BERTH_MUST_CHECK enum berth_code gang_stop(struct broker *b, const struct job *job,
    const struct gang *g, struct prov_run *run_out, struct berth_err *err);
/* watch.c: what one machine says; how long one has not answered is kept, and told of. */
BERTH_MUST_CHECK enum berth_code watch_poll(struct broker *b, const struct job *job,
    const struct instance *in, int rank, int64_t interval_s, struct prov_run *run_out,
    struct berth_err *err);
/* Gangs that will never be whole: they are taken apart, and the job asks again. */
BERTH_MUST_CHECK enum berth_code gang_repair(struct broker *b, struct berth_err *err);

#endif
