/* src/cmd/plan_reclaim.c - what need not be bought if GPUs that stand idle are put to use first.
 * Floor: cmd. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "cmd/plan_join.h"
#include "util/arena.h"
#include "util/json.h"

static double
reclaim_idle(const struct plan_series *ps)
{
	return ps->idle_gpu_hours / (PLAN_IDLE_S / 3600);
}

/* The rules with a line more, that none of them counts: the machines are there. */
static struct commit_shares
reclaim_rules(const struct plan_series *ps, struct arena *a)
{
	struct commit_shares r = ps->alone;
	struct commit_quota *quota = arena_array(a, r.n_quotas + 1, sizeof(*quota));
	size_t *group = arena_array(a, ps->n_lines + 1, sizeof(*group));

	for (size_t q = 0; q < r.n_quotas; q++) {
		double *weight = arena_array(a, ps->n_lines + 1, sizeof(*weight));

		for (size_t i = 0; i < ps->n_lines; i++)
			weight[i] = r.quota[q].weight[i];
		quota[q] = (struct commit_quota){ r.quota[q].limit, weight };
	}
	for (size_t i = 0; i < ps->n_lines && r.n > 0; i++)
		group[i] = r.group[i];
	r.quota = quota;
	r.group = group;
	return r;
}

enum berth_code
plan_reclaim(struct plan_series *ps, struct arena *a, struct berth_err *err)
{
	struct commit_line *line = arena_array(a, ps->n_lines + 1, sizeof(*line));
	struct commit_problem p = ps->problem;
	struct commit_shares rules;
	struct commit_plan plan;
	int64_t gpus = (int64_t)floor(reclaim_idle(ps) + 1e-9);
	enum berth_code rc;

	ps->reclaim = (struct plan_reclaim){ 0 };
	if (gpus < 1 || ps->shares.n_quotas != ps->alone.n_quotas)
		return BERTH_OK;
	memcpy(line, ps->lines, ps->n_lines * sizeof(*line));
	line[ps->n_lines] = (struct commit_line){ .kind = COMMIT_OWNED,
		.ref = ps->n_lines,
		.gpus = 1,
		.min_count = gpus,
		.max_count = gpus };
	p.lines = line;
	p.n_lines = ps->n_lines + 1;
	rules = reclaim_rules(ps, a);
	rc = commit_solve_shares(&p, &rules, a, &plan, err);
	if (rc == BERTH_EINFEASIBLE) { /* a least share of what is owned, say */
		err_set(err, BERTH_OK, "%s", "");
		return BERTH_OK;
	}
	if (rc != BERTH_OK)
		return rc;
	ps->reclaim.fewer = arena_array(a, ps->n_lines + 1, sizeof(*ps->reclaim.fewer));
	for (size_t i = 0; i < ps->n_lines; i++)
		if (ps->lines[i].kind == COMMIT_RESERVED)
			ps->reclaim.fewer[i] = ps->plan.use[i].count - plan.use[i].count;
	ps->reclaim.gpus = gpus;
	ps->reclaim.saved_usd = fmax(0, ps->plan.cost_usd - plan.cost_usd);
	return BERTH_OK;
}

static const char *
reclaim_purchases(const struct plan_series *ps, int sign, struct arena *a)
{
	const char *text = "";

	for (size_t i = 0; i < ps->n_lines; i++)
		if (ps->reclaim.fewer[i] * sign > 0)
			text = arena_printf(a, "%s%s%lld x %s", text, text[0] != '\0' ? ", " : "",
			    (long long)(ps->reclaim.fewer[i] * sign), ps->names[i]);
	return text;
}

void
plan_reclaim_explain(struct plan_series *ps, struct arena *a)
{
	const struct plan_reclaim *r = &ps->reclaim;
	const char *fewer, *more;

	if (ps->idle_gpu_hours <= 0)
		return;
	plan_add(&ps->because, a,
	    arena_printf(a,
		"reclaim first: %.1f GPUs of this kind stood idle on average over the last four "
		"weeks (%.0f GPU-hours); `berth series --waste` names them",
		reclaim_idle(ps), ps->idle_gpu_hours));
	if (r->gpus == 0)
		return;
	fewer = reclaim_purchases(ps, 1, a);
	more = reclaim_purchases(ps, -1, a);
	plan_add(&ps->because, a,
	    arena_printf(a,
		"reclaim first: with %lld of them in use for this series, %s%s%s%s, and %.2f USD "
		"less would be spent in the horizon",
		(long long)r->gpus,
		fewer[0] != '\0' ? "these need not be bought: " : "nothing less would be bought",
		fewer, more[0] != '\0' ? "; instead of them: " : "", more, r->saved_usd));
}

void
plan_reclaim_json(struct jsonw *w, const struct plan_series *ps)
{
	const struct plan_reclaim *r = &ps->reclaim;

	jsonw_begin_object(w, "reclaim");
	jsonw_fixed(w, "gpu_hours", ps->idle_gpu_hours, 3);
	jsonw_fixed(w, "gpus", reclaim_idle(ps), 3);
	jsonw_int(w, "gpus_used", r->gpus);
	jsonw_fixed(w, "saves", r->saved_usd, 6);
	jsonw_begin_array(w, "not_bought");
	for (size_t i = 0; r->gpus > 0 && i < ps->n_lines; i++) {
		if (r->fewer[i] == 0)
			continue;
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "provider", ps->offers[i]->provider);
		jsonw_str_or_null(w, "region", ps->offers[i]->region);
		jsonw_str_or_null(w, "instance_type", ps->offers[i]->instance_type);
		jsonw_int(w, "term_months", ps->offers[i]->term_months);
		jsonw_str(w, "payment", payment_name(ps->offers[i]->payment));
		jsonw_money(w, "usage_price_per_hour", ps->offers[i]->usage);
		jsonw_int(w, "count", r->fewer[i]);
		jsonw_fixed(w, "bound",
		    (double)r->fewer[i] * ps->lines[i].fixed * commit_line_gpus(&ps->lines[i]) *
			ps->curve.hours,
		    6);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	jsonw_end_object(w);
}
