/* What moving data to machines costs: booked when the work begins that needs them there. */
#include <math.h>

#include "broker/broker.h"
#include "broker/gang.h"
#include "plan/cost.h"
#include "store/money_rows.h"

/* All that is moved to the machines of one start. */
struct egress {
	double usd;
	const char *what; /* for people */
};

static const char *
egress_also(struct arena *a, const char *what, double gib, const char *name, const char *from)
{
	return arena_printf(
	    a, "%s%s%.6g GiB %s from %s", what, what[0] != '\0' ? ", " : "", gib, name, from);
}

static enum berth_code
egress_of(struct broker *b, const struct job *job, const struct offer *o, struct egress *out,
    struct berth_err *err)
{
	const struct job_spec *s = &job->spec;
	struct arena *a = b->tick_arena;
	const char *from = "", *to;
	enum berth_code rc = BERTH_OK;
	double usd = cost_input_usd(s, o);

	*out = (struct egress){ .usd = usd, .what = "" };
	if (usd > 0)
		out->what = egress_also(a, "", s->data_gib, "of input", s->data_region);
	if (s->after == NULL || s->after[0] == '\0' || !(s->after_gib > 0))
		return BERTH_OK;
	rc = placing_after_where(b->store, s->after, a, &from, err);
	if (rc != BERTH_OK || from[0] == '\0')
		return rc;
	to = arena_printf(a, "%s/%s", o->provider, o->region);
	usd = s->after_gib * cost_egress_rate(from, to, NULL);
	out->usd += usd;
	if (usd > 0)
		out->what = egress_also(a, out->what, s->after_gib, "of output", from);
	return BERTH_OK;
}

/* Has the machine its data? */
static enum berth_code
egress_there(struct broker *b, const struct instance *in, bool *there_out, struct berth_err *err)
{
	struct ledger_query q = { .instance_id = in->id };
	struct ledger_row *rows;
	enum berth_code rc;
	size_t n;

	*there_out = false;
	rc = store_ledger_list(b->store, &q, b->tick_arena, &rows, &n, err);
	for (size_t i = 0; rc == BERTH_OK && i < n; i++)
		*there_out |= rows[i].kind == LEDGER_EGRESS;
	return rc;
}

static enum berth_code
egress_machine(struct broker *b, struct job *job, const struct instance *in,
    struct usd_micro amount, const char *what, struct berth_err *err)
{
	const struct ledger_row row = { .t = b->now,
		.kind = LEDGER_EGRESS,
		.account = in->account,
		.job_id = job->id,
		.project = job->spec.project,
		.user = job->spec.user,
		.instance_id = in->id,
		.amount = amount,
		.note = what };
	enum berth_code rc;
	bool there;

	if (amount.v <= 0)
		return BERTH_OK;
	rc = egress_there(b, in, &there, err);
	if (rc != BERTH_OK || there)
		return rc;
	rc = usd_add(job->cost, amount, &job->cost, err);
	return rc == BERTH_OK ? store_budget_charge(b->store, in->intent_id, &row, err) : rc;
}

enum berth_code
egress_book(struct broker *b, struct job *job, const struct instance *in, const struct gang *g,
    struct berth_err *err)
{
	int64_t n = g->n > 0 ? (int64_t)g->n : 1;
	struct usd_micro all, part;
	struct egress e;
	enum berth_code rc = egress_of(b, job, &in->offer, &e, err);

	if (rc != BERTH_OK || !(e.usd > 0))
		return rc;
	rc = usd_from_double(e.usd, &all, err);
	for (int64_t i = 0; i < n && rc == BERTH_OK; i++) { /* the last has what division leaves */
		part.v = i + 1 < n ? all.v / n : all.v - all.v / n * (n - 1);
		rc = egress_machine(b, job, g->n > 0 ? &g->m[i].in : in, part, e.what, err);
	}
	return rc;
}
