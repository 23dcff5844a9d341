/* src/broker/broker.h - what the passes of a tick share.  Floor: broker. */
#ifndef BERTH_BROKER_BROKER_H
#define BERTH_BROKER_BROKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "broker/bench.h"
#include "broker/placing.h"
#include "broker/pricelist.h"
#include "broker/quotas.h"
#include "model/job.h"
#include "model/jobdefaults.h"
#include "model/machine.h"
#include "plan/idle.h"
#include "plan/spot_job.h"
#include "plan/verdict.h"
#include "providers/prov.h"
#include "store/machine_rows.h"
#include "store/tier_rows.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/log.h"

struct accel_table;
struct gang;
struct pace;
struct prov_net;
struct scaling_fleet;
struct store;
struct taken;
struct waiting_list;
struct yaml_node;

/* Where events go: a file of JSON lines, or a URL that gets one POST an event. */
struct broker_sink {
	const char *name;
	enum { SINK_FILE, SINK_WEBHOOK } kind;
	const char *target;
};

/* One account of berth.yaml as this tick sees it. */
struct broker_account {
	const char *name;
	struct prov_account *prov; /* NULL: it did not open */
	bool listed; /* machines[] is what the provider says now: a machine that is not there is
			gone */
	struct prov_machine *machines; /* [n_machines] that carry our installation id */
	size_t n_machines, cap_machines;
	enum berth_code down; /* BERTH_OK, or why this tick leaves the account alone */
	char why[512];
	int64_t spent_ms; /* on the calls of this pass, one machine after the other */
};

/* What one tick did; counts add up over the ticks of a replay. */
struct broker_counts {
	int64_t ticks;
	int64_t placed, created, adopted, refused, probed, rejected, started, finished, failed,
	    preempted, released, lost;
	int64_t events_sent, errors, rolled_up, scaled_up, scaled_down, idled;
	int64_t unpaid;   /* jobs of the last tick that nothing but money keeps back */
	int64_t unplaced; /* jobs of the last tick whose every offer was refused, or of whose launch
			     nobody knows yet */
};

/* Seconds and tries; the defaults are those of berth-tick(1). */
struct broker_policy {
	int64_t prices_s; /* an account's price list is fetched again when it is so old: 15 min */
	int sync_pass_s, prices_pass_s; /* what has not answered by then is left alone in this tick:
					   30 s, 5 min */
	int lease_pass_s; /* so long a pass rents or ends machines of one account: 1 min */
	int64_t block_capacity_s, block_capacity_max_s; /* 3 min doubling to 1 h */
	int64_t block_quota_s;                          /* 1 h */
	int64_t block_preempted_s; /* 10 min: never straight back to where it was taken away */
	int64_t block_rejected_s,
	    block_rejected_max_s; /* 10 min doubling to 6 h: one bad card is no bad pool */
	int64_t avoid_rejected_s; /* an own machine that a probe rejected is left out: 1 h */
	int64_t lost_after_s;     /* grace in which a new machine may be missing from the provider's
				     list: 120 s */
	int64_t silent_s;         /* a machine that has not answered for so long is told of: 10 min
				   */
	int64_t start_timeout_s;  /* a machine that is not ready by then is given back: 15 min */
	size_t max_attempts;      /* offers tried for one job in one tick: 25 */
	struct tier_policy tiers; /* how long samples are kept singly */
	int64_t rollup_max;       /* samples rolled up in one tick, about: 100000 */
	int64_t records_s;        /* how long decisions and events are kept; 0: for ever */
	int64_t prune_max;        /* rows of each kind deleted in one tick: 20000 */
};

struct broker {
	struct store *store;
	const struct accel_table *accels;
	const struct log *log;
	struct arena *arena;            /* of the command */
	struct arena *tick_arena;       /* of this tick: emptied at its start */
	struct spot_tables spot_tables; /* of all ticks */
	int64_t now;
	int64_t tick_s; /* until the next tick, as ticks have come so far; 0: not known */
	uint64_t seed;
	struct broker_account *accounts;
	size_t n_accounts;
	struct placing_limit *limits;
	size_t n_limits;
	struct quota_policy quotas;        /* when providers are asked for theirs */
	const struct share_policy *shares; /* NULL: none */
	const char *const *block;          /* [n_block] `block:` of berth.yaml */
	size_t n_block;
	struct job_defaults job_defaults; /* of berth.yaml, for replicas of fleets */
	struct broker_sink *sinks;
	size_t n_sinks;
	struct broker_policy policy;
	struct verdict_refs refs;
	struct verdict_limits verdict_limits;
	struct broker_counts counts;
	struct instance
	    *lives; /* [n_lives] spot machines of the last 30 days, once lives_read in this tick */
	size_t n_lives;
	bool lives_read;
	struct interval_tables *intervals; /* checkpoint intervals worked out in this tick */
	const char *probe_path;            /* berth-probe, for machines that are reached by ssh */
	struct bench *benches;             /* [n_benches] that it runs there beside its own tests */
	size_t n_benches;
	struct prov_net *net; /* of all accounts and webhooks; NULL: there are none */
	bool offline;
	const char *quarantine_dir;     /* for price lists that cannot be believed */
	struct pricelist_policy prices; /* what is believed of them */
	struct scaling_fleet *fleets;
	size_t n_fleets;
	struct idle_rule idle;      /* of jobs that name no limit */
	struct waiting_list *waits; /* of this pass */
	struct taken *taken;        /* machines that were taken back in this tick */
	struct pace *paces;         /* what running jobs said of their progress in this tick */
};

struct broker_setup {
	struct store *store;
	const struct accel_table *accels;
	const struct log *log;
	struct arena *arena;
	int64_t now;
	uint64_t seed;
	bool offline;
	const char *state_dir, *config_dir;
	const struct yaml_node *config; /* root of berth.yaml; NULL: no accounts */
	const char *refs_path,
	    *limits_path;           /* data/probe_reference.csv, data/probe_thresholds.csv */
	const char *probe_path;     /* berth-probe */
	const char *quarantine_dir; /* where a price list goes that cannot be believed */
};

/*
 * Opens every account of the config; one that does not open is marked down with its reason and left
 * alone. Errors: BERTH_EINVAL for the config's own faults (limits, sinks, an account's section)
 * with file:line:col.
 */
BERTH_MUST_CHECK enum berth_code broker_open(
    const struct broker_setup *setup, struct broker *b, struct berth_err *err);
void broker_close(struct broker *b);
/* Moves the clock of the broker and of every account; never backwards. */
void broker_set_now(struct broker *b, int64_t now);
struct broker_account *broker_account(
    struct broker *b, const char *name); /* NULL: not in the config */
/*
 * A pass that calls one machine after the other gives each account its own share of time, so that a
 * slow cloud holds up neither the tick nor the others: begin for all, then broker_pass_left()
 * before a call and broker_pass_spent() after.
 */
void broker_pass_begin(struct broker *b);
bool broker_pass_left(const struct broker *b, const struct broker_account *acc);
void broker_pass_spent(
    struct broker_account *acc, int64_t since_ms); /* time_mono_ms() before the call */

/* By what its ticks place: the limits, rules and prices of berth.yaml, offers of its accounts. */
struct placing_options broker_placing_options(struct broker *b);
/*
 * One pass over everything: sync prices quotas recover watch move scale release refill provision
 * (places, then creates) probe start notify rollup. Any tick may be killed at any instant and the
 * next one repairs it. Faults of one account or one job are events and counts, never an error of
 * the tick; errors are those of the store.
 */
BERTH_MUST_CHECK enum berth_code broker_tick(struct broker *b, struct berth_err *err);
/* The next instant at which a tick could find something new, given a replayed clock: now + step
 * unless nothing is open. */
BERTH_MUST_CHECK enum berth_code broker_idle(
    struct broker *b, bool *idle_out, struct berth_err *err);

/* `sinks:` of berth.yaml; *sinks_out NULL: it has no such list. BERTH_EINVAL with file:line:col. */
BERTH_MUST_CHECK enum berth_code broker_sinks_read(const struct yaml_node *config,
    const char *config_dir, struct arena *a, struct broker_sink **sinks_out, size_t *n_out,
    struct berth_err *err);
/*
 * Quotas under `limits:` of berth.yaml; config NULL: none. An accelerator of the table counts every
 * product that it is or holds. BERTH_EINVAL with file:line:col.
 */
BERTH_MUST_CHECK enum berth_code broker_limits_read(const struct yaml_node *config,
    const struct accel_table *accels, struct arena *a, struct placing_limit **limits_out,
    size_t *n_out, struct berth_err *err);

/* The passes, in the order of a tick. */
BERTH_MUST_CHECK enum berth_code pass_sync(struct broker *b, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code pass_prices(struct broker *b, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code pass_quotas(struct broker *b, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code pass_recover(struct broker *b, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code pass_watch(struct broker *b, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code pass_move(struct broker *b, struct berth_err *err);
/* move.c: jobs whose machines have passed the probe, and would lose the deadline there that another
 * keeps, give them back before they start. */
BERTH_MUST_CHECK enum berth_code move_before_start(struct broker *b, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code pass_scale(struct broker *b, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code pass_refill(struct broker *b, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code pass_provision(struct broker *b, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code pass_probe(struct broker *b, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code pass_start(struct broker *b, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code pass_release(struct broker *b, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code pass_notify(struct broker *b, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code pass_rollup(struct broker *b, struct berth_err *err);

/* event.c: one event, in the caller's transaction if one is open. fmt makes the value of "message"
 * in its data. */
BERTH_MUST_CHECK enum berth_code broker_event(struct broker *b, struct berth_err *err,
    const char *type, const char *subject, const char *job_id, const struct instance *in,
    const char *fmt, ...) BERTH_PRINTF(7, 8);

/*
 * owned.c: machines [n] that run on demand and that a commitment has room for are booked on it, the
 * oldest first, from its start, or from now where more is booked by then. Once: one that a
 * commitment pays or has paid for stays as it is.
 */
BERTH_MUST_CHECK enum berth_code owned_book(
    struct broker *b, struct instance *ins, size_t n, struct berth_err *err);

/* The key "instance" of events and decisions, into an open object. */
struct jsonw;
void broker_json_machine(struct jsonw *w, const struct broker *b, const struct instance *in);

/* machine.c: changes of one machine, each in one transaction with its job, its money and its event.
 */

/* The provider has made the machine of this intent: instance, attempt and job rows; done twice it
 * changes nothing. */
BERTH_MUST_CHECK enum berth_code machine_adopt(struct broker *b, const struct intent *it,
    const struct prov_machine *pm, struct berth_err *err);
/*
 * The provider made a machine on demand where spot was asked for, and has ended it: a row that is
 * gone, at the shortest time that is billed (60 s), at the price on demand if the lists have it. In
 * the caller's transaction; job may be NULL.
 */
BERTH_MUST_CHECK enum berth_code machine_mistaken(struct broker *b, const struct intent *it,
    const struct prov_machine *pm, struct job *job, struct berth_err *err);
/* Cost up to t at the launch price; whole hours, and the rest once it is gone, go to the ledger. */
BERTH_MUST_CHECK enum berth_code machine_accrue(
    struct broker *b, struct instance *in, int64_t t, bool final, struct berth_err *err);
/* To be given back: the release pass destroys it. reason is kept as end_reason. */
BERTH_MUST_CHECK enum berth_code machine_release(
    struct broker *b, struct instance *in, const char *reason, struct berth_err *err);
/* The same, and asks the provider at once; what it does not answer the release pass asks again.
 * release.c */
BERTH_MUST_CHECK enum berth_code broker_give_back(
    struct broker *b, struct instance *in, const char *reason, struct berth_err *err);
/* The provider confirmed that it is gone since `ended`. */
BERTH_MUST_CHECK enum berth_code machine_gone(struct broker *b, struct instance *in, int64_t ended,
    const char *reason, struct berth_err *err);

/*
 * interval.c: seconds between checkpoints that lose least on this machine at its age
 * (cost_checkpoint_s() with the hazard of spot_evidence_hazard()), 60 to 7,200; the job's own if it
 * names one; 0: it cannot resume. machines  of the gang: the first to be taken stops all
 */
BERTH_MUST_CHECK enum berth_code broker_interval(struct broker *b, const struct job *job,
    const struct instance *in, int machines, int64_t *interval_out, struct berth_err *err);

/* Keeps the decision (kind "checkpoint"), where the interval is the broker's to choose and is the
 * first on this machine, or another one than the last by over a tenth. */
BERTH_MUST_CHECK enum berth_code broker_interval_keep(struct broker *b, const struct job *job,
    const struct instance *in, int machines, int64_t interval, struct berth_err *err);

/* jobs.c: ends of attempts, each with the job's next state. The open attempts of one job, those of
 * a gang, end as one. */
struct attempt_end {
	enum attempt_state state;
	double progress; /* safe share of the work */
	const char *reason;
	bool counts; /* a failure of the work itself: uses up a try */
	bool over;   /* the job does not ask again: it is cancelled */
	bool alone;  /* only this machine is lost: a gang that may wait for another keeps the rest
		      */
};
BERTH_MUST_CHECK enum berth_code job_attempt_end(struct broker *b, const char *job_id,
    int64_t instance_id, const struct attempt_end *end, struct berth_err *err);
/* The attempt of this machine that has not ended; BERTH_ENOTFOUND. */
BERTH_MUST_CHECK enum berth_code job_attempt_open(struct broker *b, const char *job_id,
    int64_t instance_id, struct attempt *at_out, struct berth_err *err);

/* silent.c: a machine of a job that runs or is to begin did not answer, or did. One that has not
 * for silent_s is told of once (job.node_silent; next: what is done about it, why: its error), and
 * once more when it answers again (job.node_answers). */
BERTH_MUST_CHECK enum berth_code silent_unheard(struct broker *b, const struct instance *in,
    const char *job_id, const char *next, const char *why, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code silent_heard(
    struct broker *b, const struct instance *in, const char *job_id, struct berth_err *err);

/*
 * egress.c: books what moving the data of a job to the machines of `in` costs, as its placement
 * counted it: the input from its home (cost_input_usd()), and the output of the job before it from
 * where that ran. One ledger row of kind egress a machine, an equal part each of a gang, off what
 * its reservation holds, and in the job's cost. A machine that has such a row has the data: nothing
 * is booked again. In the caller's transaction, in which the work begins; the job is changed, not
 * stored. g: n 0: `in` alone.
 */
BERTH_MUST_CHECK enum berth_code egress_book(struct broker *b, struct job *job,
    const struct instance *in, const struct gang *g, struct berth_err *err);

/* account.c: a fault of an account or an offer becomes a block, so that the next pass looks
 * elsewhere. */
BERTH_MUST_CHECK enum berth_code broker_refused(
    struct broker *b, const struct offer *o, const struct berth_err *why, struct berth_err *err);
/* A machine is taken back: counted, and its place is left alone for a while. */
BERTH_MUST_CHECK enum berth_code broker_preempted(
    struct broker *b, const struct instance *in, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code broker_account_down(struct broker *b, struct broker_account *acc,
    const struct berth_err *why, struct berth_err *err);

#endif
