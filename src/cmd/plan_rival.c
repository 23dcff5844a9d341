/* What a plan was chosen before: the best one without its dearest purchase, and the offers that are
 * not in it. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "cmd/plan_join.h"
#include "util/arena.h"
#include "util/json.h"

/* The purchase that costs most; n_lines: nothing is bought. */
static size_t
plan_dearest(const struct plan_series *ps)
{
	size_t best = ps->n_lines;

	for (size_t i = 0; i < ps->n_lines; i++)
		if (ps->lines[i].kind == COMMIT_RESERVED && ps->plan.use[i].count > 0 &&
		    (best == ps->n_lines || ps->plan.use[i].cost_usd > ps->plan.use[best].cost_usd))
			best = i;
	return best;
}

/* What could be bought at the least price, where nothing is; n_lines: there is nothing. */
static size_t
plan_first_to_buy(const struct plan_series *ps)
{
	size_t best = ps->n_lines;

	for (size_t i = 0; i < ps->n_lines; i++)
		if (ps->lines[i].kind == COMMIT_RESERVED && ps->lines[i].max_count > 0 &&
		    (best == ps->n_lines || ps->lines[i].fixed + ps->lines[i].usage <
						ps->lines[best].fixed + ps->lines[best].usage))
			best = i;
	return best;
}

static int64_t
plan_gpus_of(const struct plan_series *ps, const struct offer *o, enum commit_kind kind)
{
	int64_t gpus = 0;

	for (size_t i = 0; i < ps->n_lines; i++)
		gpus += ps->offers[i] == o && ps->lines[i].kind == kind
			    ? (int64_t)ps->plan.use[i].gpus
			    : 0;
	return gpus;
}

/* What does more in the other plan than in this one, by the most GPUs. */
static const char *
plan_instead(const struct plan_series *ps, const struct plan_series *other)
{
	const char *best = NULL;
	int64_t most = 0;

	for (size_t i = 0; i < other->n_lines; i++) {
		int64_t more = (int64_t)other->plan.use[i].gpus -
			       plan_gpus_of(ps, other->offers[i], other->lines[i].kind);

		if (more > most) {
			most = more;
			best = other->names[i];
		}
	}
	return best;
}

/* Nothing can be bought: all that the cheapest on demand carries, at the next one. */
static enum berth_code
plan_other_market(struct plan_series *ps, struct arena *a)
{
	size_t used = 0;

	while (used < ps->n_lines &&
	       (ps->lines[used].kind != COMMIT_ON_DEMAND || ps->plan.use[used].gpus == 0))
		used++;
	for (size_t i = 0; used < ps->n_lines && i < ps->n_market; i++) {
		const struct offer *o = ps->market[i];
		double hour = plan_gpu_hour(o, ps->speed[i]);

		if (o->purchase != PURCHASE_ON_DEMAND || o == ps->offers[used] ||
		    hour < ps->lines[used].usage)
			continue;
		ps->rival = (struct plan_rival){ ps->names[used], plan_market_name(ps, i, a),
			ps->plan.cost_usd +
			    (hour - ps->lines[used].usage) * ps->plan.use[used].gpu_hours };
		break;
	}
	return BERTH_OK;
}

/* What other series leave of each quota. */
static struct commit_shares
plan_left_alone(const struct plan_series *ps, const struct plan_series *other, struct arena *a)
{
	struct commit_shares r = other->shares;
	struct commit_quota *quota = arena_array(a, r.n_quotas + 1, sizeof(*quota));

	for (size_t q = 0; q < r.n_quotas; q++) {
		quota[q] = r.quota[q];
		if (r.n_quotas == ps->alone.n_quotas)
			quota[q].limit = fmin(quota[q].limit,
			    ps->alone.quota[q].limit); /* its own counts whole machines */
	}
	r.quota = quota;
	return r;
}

enum berth_code
plan_rival(
    struct plan_series *ps, const struct plan_options *o, struct arena *a, struct berth_err *err)
{
	size_t without = plan_dearest(ps), more = plan_first_to_buy(ps);
	struct commit_shares rules = ps->alone;
	struct plan_series other = *ps;
	enum berth_code rc;

	ps->rival = (struct plan_rival){ .cost_usd = NAN };
	if (without < ps->n_lines) {
		plan_without(ps, ps->offers[without], o, a, &other);
		rules = plan_left_alone(ps, &other, a);
	} else if (more < ps->n_lines) {
		struct commit_line *line = arena_memdup(a, ps->lines, ps->n_lines * sizeof(*line));

		line[more].min_count = 1;
		other.problem.lines = line;
	} else {
		return plan_other_market(ps, a);
	}
	rc = commit_solve_shares(&other.problem, &rules, a, &other.plan, err);
	if (rc == BERTH_EINFEASIBLE) {
		err_set(err, BERTH_OK, "%s", "");
		return BERTH_OK;
	}
	if (rc != BERTH_OK || other.plan.unserved_gpu_hours > ps->plan.unserved_gpu_hours + 1e-6)
		return rc;
	ps->rival.cost_usd = other.plan.cost_usd;
	ps->rival.without = without < ps->n_lines ? ps->names[without] : NULL;
	ps->rival.instead = without < ps->n_lines ? plan_instead(ps, &other) : ps->names[more];
	return BERTH_OK;
}

/* Offers that may be taken and are not. */
static size_t
plan_dearer(const struct plan_series *ps)
{
	size_t used = 0;

	for (size_t i = 0; i < ps->n_lines; i++)
		used += ps->lines[i].kind != COMMIT_OWNED && ps->plan.use[i].gpus > 0;
	return ps->n_market > used ? ps->n_market - used : 0;
}

static const char *
plan_refusal(enum refuse_code c)
{
	switch (c) {
	case REFUSE_ACCELERATOR:
		return "of another accelerator";
	case REFUSE_BLOCKED:
		return "on a block list";
	case REFUSE_PROVIDER:
		return "of providers that were not asked for";
	case REFUSE_RESIDENCY:
		return "in regions that were not asked for";
	case REFUSE_PURCHASE:
		return "of a purchase that is not to be used";
	case REFUSE_MAX_PRICE:
		return "over max_price of berth.yaml";
	case REFUSE_PRICE_STALE:
		return "with a price that is too old";
	case REFUSE_PRICE_UNKNOWN:
		return "without a price in USD";
	case REFUSE_NO_ACCOUNT:
		return "that no account can buy";
	default:
		return refuse_text(c);
	}
}

void
plan_rival_explain(struct plan_series *ps, struct arena *a)
{
	const struct plan_rival *r = &ps->rival;
	size_t seen = ps->n_market + ps->refused_term, dearer = plan_dearer(ps);
	const char *text = "";

	if (isfinite(r->cost_usd))
		plan_add(&ps->because, a,
		    r->without == NULL
			? arena_printf(a,
			      "next best: to reserve at least one of %s: %.2f USD, %.2f more",
			      r->instead, r->cost_usd, r->cost_usd - ps->plan.cost_usd)
			: arena_printf(a, "next best, without %s%s%s: %.2f USD, %.2f more",
			      r->without, r->instead == NULL ? "" : " but with more of ",
			      r->instead == NULL ? "" : r->instead, r->cost_usd,
			      r->cost_usd - ps->plan.cost_usd));
	for (size_t c = REFUSE_NOT + 1; c < REFUSE_COUNT; c++) {
		seen += ps->refused[c];
		if (ps->refused[c] > 0)
			text = arena_printf(a, "%s, %zu %s", text, ps->refused[c],
			    plan_refusal((enum refuse_code)c));
	}
	if (ps->refused_term > 0)
		text =
		    arena_printf(a, "%s, %zu with a term that is too long", text, ps->refused_term);
	if (dearer > 0)
		text = arena_printf(a, "%s, %zu that would cost more", text, dearer);
	plan_add(&ps->because, a,
	    arena_printf(a, "%zu offer%s seen%s%s", seen, seen == 1 ? " was" : "s were",
		text[0] == '\0' ? "" : "; not taken: ", text[0] == '\0' ? "" : text + 2));
}

void
plan_rival_json(struct jsonw *w, const struct plan_series *ps)
{
	size_t seen = ps->n_market + ps->refused_term;

	if (isfinite(ps->rival.cost_usd)) {
		jsonw_begin_object(w, "runner_up");
		jsonw_str(w, "without", ps->rival.without);
		jsonw_str(w, "offer", ps->rival.instead);
		jsonw_fixed(w, "expected_cost", ps->rival.cost_usd, 6);
		jsonw_fixed(w, "extra_cost", ps->rival.cost_usd - ps->plan.cost_usd, 6);
		jsonw_end_object(w);
	} else {
		jsonw_null(w, "runner_up");
	}
	for (size_t c = REFUSE_NOT + 1; c < REFUSE_COUNT; c++)
		seen += ps->refused[c];
	jsonw_int(w, "offers_seen", (int64_t)seen);
	jsonw_begin_object(w, "refused");
	for (size_t c = REFUSE_NOT + 1; c < REFUSE_COUNT; c++)
		if (ps->refused[c] > 0)
			jsonw_int(w, refuse_name((enum refuse_code)c), (int64_t)ps->refused[c]);
	if (ps->refused_term > 0)
		jsonw_int(w, "term", (int64_t)ps->refused_term);
	if (plan_dearer(ps) > 0)
		jsonw_int(w, "dearer", (int64_t)plan_dearer(ps));
	jsonw_end_object(w);
	jsonw_fixed(w, "gap",
	    ps->plan.lower_bound_usd > 0 ? fmax(0, ps->plan.cost_usd / ps->plan.lower_bound_usd - 1)
					 : 0,
	    9);
	jsonw_fixed(w, "budget_shadow_price", ps->plan.theta, 6);
	jsonw_time_or_null(w, "oldest_price", ps->price_oldest);
}
