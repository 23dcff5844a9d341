/* src/broker/provision.h - what the files of the pass that rents share.  Floor: broker; for
 * src/broker/provision*.c alone. */
#ifndef BERTH_BROKER_PROVISION_H
#define BERTH_BROKER_PROVISION_H

#include "broker/broker.h"
#include "broker/placing.h"

/*
 * Ids of the queued jobs that wait for no other and that no unsettled create is out for; those of
 * others that wait for them go into o->behind. Why each of the rest waits is written down.
 */
BERTH_MUST_CHECK enum berth_code provision_queue(struct broker *b, const char ***ids_out,
    size_t *n_out, struct placing_options *o, struct berth_err *err);
/* Why the job waits, in words, and the marks of it: into its row, if it is still queued. */
BERTH_MUST_CHECK enum berth_code provision_reason(
    struct broker *b, struct job *job, const char *reason, unsigned marks, struct berth_err *err);
enum provision_step {
	STEP_MADE,
	STEP_NEXT,
	STEP_LATE,     /* the account has had its time in this pass */
	STEP_UNPAID,   /* the money of a budget lacks */
	STEP_UNKNOWN,  /* nobody knows what came of it */
	STEP_OVERTAKEN /* another broker has begun to rent since the placement was made */
};
/* One machine, and all that follows when it is not had: made, refused (step NEXT), or unknown_out
 * says why nobody knows. */
BERTH_MUST_CHECK enum berth_code provision_create(struct broker *b, struct broker_account *acc,
    struct job *job, const struct intent *it, enum provision_step *step_out,
    const char **unknown_out, struct berth_err *err);
/* A create is out whose outcome nobody knows. */
void provision_unknown(struct broker *b, const struct job *job);

#endif
