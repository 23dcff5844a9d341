/* src/broker/idling.h - running jobs whose accelerators do nothing: told of, then ended
 * (plan/idle.h).  Floor: broker. */
#ifndef BERTH_BROKER_IDLING_H
#define BERTH_BROKER_IDLING_H

#include "broker/broker.h"
#include "plan/idle.h"
#include "store/idling_rows.h"

/* `idle:` of berth.yaml; config NULL or without it: neither timer. BERTH_EINVAL with file:line:col.
 */
BERTH_MUST_CHECK enum berth_code idling_read(
    const struct yaml_node *config, struct idle_rule *out, struct berth_err *err);
/* What holds for a job: its own limit goes before the config's. */
void idling_rule(
    const struct idle_rule *config, const struct job_spec *spec, struct idle_rule *out);
/* What is kept of a job in the words of plan/idle.h. */
void idling_state(const struct idling_row *row, struct idle_state *out);

/* Whether the job is a replica of a fleet, which takes it away itself. */
BERTH_MUST_CHECK enum berth_code idling_replica(
    struct store *s, struct arena *a, const char *job_id, bool *out, struct berth_err *err);

/*
 * One reading of a running job; in: its machine, of a gang the first. What is to be told goes into
 * events and a decision (kind "idle"). *why_out: why it is to be ended now, NULL: it is not. A
 * replica of a fleet never is. Errors: those of the store.
 */
BERTH_MUST_CHECK enum berth_code idling_watch(struct broker *b, const struct job *job,
    const struct instance *in, const struct prov_run *run, const char **why_out,
    struct berth_err *err);
/* The end that idling_watch() asked for: its event and decision, in a transaction of its own. */
BERTH_MUST_CHECK enum berth_code idling_ended(struct broker *b, const struct job *job,
    const struct instance *in, const char *reason, struct berth_err *err);

#endif
