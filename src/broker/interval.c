/* How often a job is to write a checkpoint on its machine. */
#include <math.h>
#include <string.h>

#include "broker/decide.h"
#include "broker/placing_spot.h"
#include "plan/checkpoint.h"
#include "plan/cost.h"
#include "plan/spot_job.h"
#include "model/record.h"
#include "store/machine_rows.h"
#include "store/plan_rows.h"
#include "util/duration.h"
#include "util/str.h"

#define INTERVAL_LEAST_S 60
#define INTERVAL_SAME 0.1 /* one that differs by less is no decision of its own */

/* Lives of spot machines of this kind; the rows are read once a tick. */
static enum berth_code
interval_evidence(
    struct broker *b, const struct offer *o, struct spot_evidence *seen, struct berth_err *err)
{
	memset(seen, 0, sizeof(*seen));
	if (!b->lives_read) {
		enum berth_code rc = store_instance_spot_lives(
		    b->store, b->now - PLACING_LIVES_S, b->tick_arena, &b->lives, &b->n_lives, err);

		if (rc != BERTH_OK)
			return rc;
		b->lives_read = true;
	}
	for (size_t i = 0; i < b->n_lives; i++) {
		const struct instance *in = &b->lives[i];

		if (str_eq(in->offer.provider, o->provider) &&
		    str_eq(in->offer.instance_type, o->instance_type))
			placing_spot_life(seen, in, b->now);
	}
	return BERTH_OK;
}

/* The interval is the broker's to choose: else the job, or nothing, tells it. */
static bool
interval_chosen(const struct job *job, const struct instance *in)
{
	return job->spec.can_resume && job->spec.checkpoint_interval_s <= 0 &&
	       in->offer.purchase == PURCHASE_SPOT;
}

/* Seconds since it was ready; 0 where the clock is behind that. */
static double
interval_age_s(const struct broker *b, const struct instance *in)
{
	return in->ready > 0 && b->now > in->ready ? (double)(b->now - in->ready) : 0;
}

/* Losses an hour of all machines, from this age on for so long, s. */
static double
interval_hazard(const struct spot_evidence *seen, const struct broker *b, const struct instance *in,
    int machines, double for_s)
{
	double hours = interval_age_s(b, in) / 3600;

	return machines *
	       spot_evidence_mean(seen, hours, hours + for_s / 3600, in->offer.interruption_rate);
}

struct interval_tables {
	const struct checkpoint_table *table;
	struct interval_tables *next;
};

/* Jobs alike share theirs within a tick. */
static const struct checkpoint_table *
interval_table(struct broker *b, const struct spot_evidence *seen, const struct instance *in,
    int machines, double write_s)
{
	struct interval_tables *t;
	double hazard[SPOT_AGES];

	for (size_t k = 0; k < SPOT_AGES; k++)
		hazard[k] = machines *
			    spot_evidence_hazard(seen, true, k, in->offer.interruption_rate, 1, 0);
	for (const struct interval_tables *k = b->intervals; k != NULL; k = k->next)
		if (checkpoint_table_is(k->table, hazard, write_s))
			return k->table;
	t = arena_array(b->tick_arena, 1, sizeof(*t));
	t->table = checkpoint_table_new(b->tick_arena, hazard, write_s);
	t->next = b->intervals;
	b->intervals = t;
	return t->table;
}

enum berth_code
broker_interval(struct broker *b, const struct job *job, const struct instance *in, int machines,
    int64_t *interval_out, struct berth_err *err)
{
	double write_s = (double)job->spec.checkpoint_write_s;
	struct spot_evidence seen;
	enum berth_code rc;

	*interval_out = !job->spec.can_resume                 ? 0
			: job->spec.checkpoint_interval_s > 0 ? job->spec.checkpoint_interval_s
							      : (int64_t)checkpoint_most_s(write_s);
	if (!interval_chosen(job, in))
		return BERTH_OK;
	rc = interval_evidence(b, &in->offer, &seen, err);
	if (rc != BERTH_OK)
		return rc;
	*interval_out = (int64_t)fmax(INTERVAL_LEAST_S,
	    round(checkpoint_next_s(
		interval_table(b, &seen, in, machines, write_s), interval_age_s(b, in))));
	return BERTH_OK;
}

/* Was it told on this machine already, and about the same? */
static enum berth_code
interval_told(struct broker *b, const struct job *job, const struct instance *in, int64_t interval,
    int64_t *former_out, bool *told_out, struct berth_err *err)
{
	struct berth_err ignored;
	struct jsonr root, machine;
	json_t *tree = NULL;
	struct decision *ds;
	int64_t id = 0, last = 0;
	size_t n;
	enum berth_code rc =
	    store_decision_list(b->store, "checkpoint", job->id, 1, b->tick_arena, &ds, &n, err);

	*told_out = false;
	*former_out = 0;
	if (rc != BERTH_OK || n == 0 ||
	    jsonr_parse(ds[0].json, strlen(ds[0].json), "checkpoint", &tree, &ignored) != BERTH_OK)
		return rc;
	root = jsonr_root(tree, "checkpoint");
	if (jsonr_object(&root, "instance", &machine, &ignored) == BERTH_OK &&
	    jsonr_int(&machine, "id", 0, INT64_MAX, &id, &ignored) == BERTH_OK &&
	    jsonr_int(&root, "interval_s", 0, INT64_MAX, &last, &ignored) == BERTH_OK &&
	    id == in->id) {
		*former_out = last;
		*told_out = fabs((double)(interval - last)) <= INTERVAL_SAME * (double)last;
	}
	json_decref(tree);
	return rc;
}

static double
interval_useful(const struct job *job, double s, double hazard)
{
	return cost_useful_share(s, (double)job->spec.checkpoint_write_s,
	    COST_START_S + (double)job->spec.restart_s, hazard);
}

static void
interval_json(struct jsonw *w, const char *key, const struct job *job, double s, double hazard)
{
	jsonw_begin_object(w, key);
	jsonw_fixed(w, "interval_s", s, 0);
	jsonw_fixed(w, "useful_share", interval_useful(job, s, hazard), 6);
	jsonw_end_object(w);
}

enum berth_code
broker_interval_keep(struct broker *b, const struct job *job, const struct instance *in,
    int machines, int64_t interval, struct berth_err *err)
{
	double write_s = (double)job->spec.checkpoint_write_s, s = (double)interval, hazard, age;
	char every[DURATION_FMT_SIZE];
	struct spot_evidence seen;
	enum berth_code rc;
	struct decide d;
	int64_t former;
	bool told;

	if (!interval_chosen(job, in))
		return BERTH_OK;
	rc = interval_told(b, job, in, interval, &former, &told, err);
	if (rc == BERTH_OK && !told)
		rc = interval_evidence(b, &in->offer, &seen, err);
	if (rc != BERTH_OK || told)
		return rc;
	hazard = interval_hazard(&seen, b, in, machines, s + write_s);
	age = interval_age_s(b, in) / 3600;
	decide_begin(&d,
	    arena_printf(b->tick_arena,
		"a checkpoint every %s: %s %.1f h old %s lost at %.2g an hour, and a write takes "
		"%.0f s; %.1f %% of the time does work that is kept, with half of that interval "
		"%.1f %%, with twice %.1f %%",
		duration_fmt(every, interval), machines > 1 ? "spot machines" : "a spot machine",
		age, machines > 1 ? "are together" : "is", hazard, write_s,
		100 * interval_useful(job, s, hazard), 100 * interval_useful(job, s / 2, hazard),
		100 * interval_useful(job, 2 * s, hazard)));
	broker_json_machine(&d.w, b, in);
	jsonw_int(&d.w, "interval_s", interval);
	if (former > 0)
		jsonw_int(&d.w, "former_s", former);
	else
		jsonw_null(&d.w, "former_s");
	jsonw_fixed(&d.w, "useful_share", interval_useful(job, s, hazard), 6);
	jsonw_fixed(&d.w, "ends_per_hour", hazard, 6);
	jsonw_fixed(&d.w, "age_hours", age, 3);
	jsonw_fixed(&d.w, "write_s", write_s, 0);
	interval_json(&d.w, "half", job, s / 2, hazard);
	interval_json(&d.w, "twice", job, 2 * s, hazard);
	jsonw_begin_array(&d.w, "changes");
	placing_json_change(
	    &d.w, decide_change(b, "interval", "", 0,
		      "checkpoint.interval of the job file, which is kept to on every machine"));
	jsonw_end_array(&d.w);
	return decide_end(b, &d, "checkpoint", job->id, err);
}
