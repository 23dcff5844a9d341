/* What a placement problem must be, and what a plan of it must keep. */
#include <math.h>

#include "plan/place_impl.h"

static enum berth_code
place_check_job(const struct place_problem *p, size_t i, struct berth_err *err)
{
	if (p->cand_start[i] > p->cand_start[i + 1])
		return err_set(
		    err, BERTH_EINVAL, "job %zu: candidates end before they begin", i + 1);
	if (!isfinite(p->penalty[i]) || p->penalty[i] < 0)
		return err_set(
		    err, BERTH_EINVAL, "job %zu: penalty of %g USD", i + 1, p->penalty[i]);
	if (p->keep != NULL && p->keep[i] != PLACE_NONE &&
	    (p->keep[i] < p->cand_start[i] || p->keep[i] >= p->cand_start[i + 1]))
		return err_set(err, BERTH_EINVAL,
		    "job %zu: the last plan chose candidate %zu, of another job", i + 1,
		    p->keep[i] + 1);
	for (size_t k = p->cand_start[i]; k < p->cand_start[i + 1]; k++) {
		if (p->offer[k] >= p->n_offers)
			return err_set(
			    err, BERTH_EINVAL, "job %zu: no offer %zu", i + 1, p->offer[k]);
		if (!isfinite(p->cost[k]) || p->cost[k] < 0)
			return err_set(err, BERTH_EINVAL, "job %zu on offer %zu: cost of %g USD",
			    i + 1, p->offer[k] + 1, p->cost[k]);
		if (p->need[k] < 1 || p->need[k] > PLACE_MAX_UNITS)
			return err_set(err, BERTH_EINVAL, "job %zu on offer %zu: needs %lld", i + 1,
			    p->offer[k] + 1, (long long)p->need[k]);
	}
	return BERTH_OK;
}

static enum berth_code
place_check_more(const struct place_problem *p, struct berth_err *err)
{
	size_t n_cand = p->n_jobs > 0 ? p->cand_start[p->n_jobs] : 0;

	for (size_t k = 0; p->more != NULL && k < n_cand; k++)
		for (size_t u = p->more->start[k]; u < p->more->start[k + 1]; u++)
			if (p->more->resource[u] >= p->n_resources || p->more->units[u] < 1 ||
			    p->more->units[u] > PLACE_MAX_MORE)
				return err_set(err, BERTH_EINVAL,
				    "candidate %zu: %lld of resource %zu", k + 1,
				    (long long)p->more->units[u], p->more->resource[u]);
	return BERTH_OK;
}

enum berth_code
place_check_problem(const struct place_problem *p, struct berth_err *err)
{
	enum berth_code rc = place_check_more(p, err);

	for (size_t i = 0; i < p->n_jobs && rc == BERTH_OK; i++)
		rc = place_check_job(p, i, err);
	for (size_t r = 0; r < p->n_resources && rc == BERTH_OK; r++)
		if (p->limit[r] < 0)
			rc = err_set(
			    err, BERTH_EINVAL, "limit %zu is %lld", r + 1, (long long)p->limit[r]);
	for (size_t u = 0; p->n_offers > 0 && u < p->use_start[p->n_offers] && rc == BERTH_OK; u++)
		if (p->resource[u] >= p->n_resources || p->weight[u] < 1 ||
		    p->weight[u] > PLACE_MAX_UNITS)
			rc = err_set(err, BERTH_EINVAL, "use %zu: resource %zu, weight %lld", u + 1,
			    p->resource[u], (long long)p->weight[u]);
	return rc;
}

bool
place_check(const struct place_problem *p, const struct place_plan *plan)
{
	const struct place_more *m = p->more;
	double cost = 0, value = 0;

	for (size_t i = 0; i < p->n_jobs; i++) {
		size_t k = plan->chosen[i];

		if (k != PLACE_NONE && (k < p->cand_start[i] || k >= p->cand_start[i + 1]))
			return false;
		cost += k == PLACE_NONE ? 0 : p->cost[k];
		value += k == PLACE_NONE ? p->penalty[i] : p->cost[k];
	}
	for (size_t r = 0; r < p->n_resources; r++) {
		double used = 0;

		for (size_t i = 0; i < p->n_jobs; i++) {
			size_t k = plan->chosen[i], j = k == PLACE_NONE ? 0 : p->offer[k];

			for (size_t u = p->use_start[j]; k != PLACE_NONE && u < p->use_start[j + 1];
			     u++)
				used += p->resource[u] == r
					    ? (double)p->need[k] * (double)p->weight[u]
					    : 0;
			for (size_t u = k == PLACE_NONE || m == NULL ? 0 : m->start[k];
			     k != PLACE_NONE && m != NULL && u < m->start[k + 1]; u++)
				used += m->resource[u] == r ? (double)m->units[u] : 0;
		}
		if (p->limit[r] != PLACE_NO_LIMIT && used > (double)p->limit[r])
			return false;
	}
	return fabs(cost - plan->cost) <= 1e-9 * fmax(1, cost) &&
	       fabs(value - plan->value) <= 1e-9 * fmax(1, value);
}

size_t
place_never_fits(const struct place_problem *p, size_t k)
{
	const struct place_more *m = p->more;
	size_t j = p->offer[k];

	for (size_t u = p->use_start[j]; u < p->use_start[j + 1]; u++)
		if (p->limit[p->resource[u]] < p->need[k] * p->weight[u])
			return p->resource[u];
	for (size_t u = m == NULL ? 0 : m->start[k]; m != NULL && u < m->start[k + 1]; u++)
		if (p->limit[m->resource[u]] < m->units[u])
			return m->resource[u];
	return PLACE_NONE;
}
