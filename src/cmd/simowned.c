/* src/cmd/simowned.c - what is owned in a replay of purchases: whose it is, and what of it is there
 * when.  Floor: cmd. */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "cmd/cmd.h"
#include "cmd/plan_join.h"
#include "cmd/simowned.h"
#include "cmd/unit.h"
#include "model/accel.h"
#include "model/commitment.h"
#include "store/money_rows.h"
#include "util/arena.h"

/* As `berth plan` counts it: in the unit of the series, of which a group is its fastest card. */
static double
simowned_speed(const struct accel *has, const struct accel *want)
{
	double ratio = accel_work_ratio(has, want, PRECISION_BF16);

	return ratio > 0 ? ratio : 1; /* a card whose rates nobody knows is what it says */
}

enum berth_code
simowned_read(struct cmd_ctx *ctx, const struct series *rows, size_t n, const struct unit *units,
    struct simcommit_own **own_out, size_t *n_out, struct berth_err *err)
{
	const struct accel_table *accels;
	struct commitment *c;
	size_t n_owned;
	enum berth_code rc = store_commitment_list(ctx->store, 0, ctx->arena, &c, &n_owned, err);

	if (rc == BERTH_OK)
		rc = cmd_accels(ctx, &accels, err);
	if (rc != BERTH_OK)
		return rc;
	*own_out = arena_array(ctx->arena, n_owned + 1, sizeof(**own_out));
	*n_out = n_owned;
	for (size_t i = 0; i < n_owned; i++) {
		const struct offer *x = &c[i].offer;
		const struct accel *has =
		    accel_find_sized(accels, x->accelerator, x->accelerator_memory_gib);
		double *speed = arena_array(ctx->arena, n + 1, sizeof(*speed));

		for (size_t k = 0; k < n; k++) {
			const char *name;
			const struct accel *want =
			    plan_accel(accels, &rows[k], NULL, ctx->arena, &name);

			if (has != NULL && want != NULL && accel_is(has, want))
				speed[k] =
				    simowned_speed(has, units[k].in != NULL ? units[k].in : want);
		}
		(*own_out)[i] = (struct simcommit_own){ x->accelerator_count, c[i].count, c[i].from,
			c[i].to, speed, usd_known(x->usage) ? usd_to_double(x->usage) : 0, 0 };
	}
	return BERTH_OK;
}

void
simowned_note(struct cmd_ctx *ctx, const struct simcommit_own *own, size_t n)
{
	size_t none = 0, usage = 0;

	for (size_t i = 0; i < n; i++) {
		none += own[i].used == 0;
		usage += own[i].used > 0 && own[i].usage > 0;
	}
	if (n > none)
		cmd_note(ctx,
		    "%zu commitment%s that you own serve%s first in every rule, at no cost: each "
		    "rule "
		    "buys beside %s",
		    n - none, n - none == 1 ? "" : "s", n - none == 1 ? "s" : "",
		    n - none == 1 ? "it" : "them");
	if (none > 0)
		cmd_note(ctx,
		    "%zu of the %zu commitments that you own %s not counted: of no accelerator of "
		    "these series, or at no time that is replayed",
		    none, n, none == 1 ? "is" : "are");
	if (usage > 0)
		cmd_note(ctx,
		    "what %zu of them ask%s for %s use is not counted: the replay knows no prices",
		    usage, usage == 1 ? "s" : "", usage == 1 ? "its" : "their");
}

/* E min(D, S) of what was known, from its sorted values and their sums. */
struct simowned_past {
	double *v, *below; /* [n], [n + 1] */
	size_t n;
};

static int
simowned_cmp(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static struct simowned_past
simowned_past(const struct fc_series *s, size_t first, struct arena *a)
{
	struct simowned_past p = { .v = arena_array(a, first + 1, sizeof(*p.v)),
		.below = arena_array(a, first + 1, sizeof(*p.below)) };

	for (size_t i = 0; i < first; i++)
		if (!isnan(s->mean[i]))
			p.v[p.n++] = s->mean[i];
	qsort(p.v, p.n, sizeof(*p.v), simowned_cmp);
	for (size_t i = 0; i < p.n; i++)
		p.below[i + 1] = p.below[i] + p.v[i];
	return p;
}

static double
simowned_use(const struct simowned_past *p, double gpus)
{
	size_t lo = 0, hi = p->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (p->v[mid] <= gpus)
			lo = mid + 1;
		else
			hi = mid;
	}
	return p->n == 0 ? 0 : (p->below[lo] + gpus * (double)(p->n - lo)) / (double)p->n;
}

static bool
simowned_holds(const struct simcommit_own *c, const struct fc_series *s, size_t first)
{
	return c->from < s->t0 + (int64_t)s->n * s->step_s &&
	       c->to > s->t0 + (int64_t)first * s->step_s;
}

/* GPUs that series k has of the commitments before c at some time in which c holds as well. */
static double
simowned_beside(const struct simcommit_own *own, size_t c, const int64_t *dealt, size_t n, size_t k)
{
	double sum = 0;

	for (size_t e = 0; e < c; e++)
		if (own[e].from < own[c].to && own[c].from < own[e].to)
			sum += own[e].gpus * own[e].speed[k] * (double)dealt[e * n + k];
	return sum;
}

void
simowned_deal(const struct fc_series *s, size_t n, const size_t *first, struct simcommit_own *own,
    size_t n_own, struct arena *a, int64_t **dealt_out)
{
	int64_t *dealt = arena_array(a, n_own * n + 1, sizeof(*dealt));
	struct simowned_past *past = arena_array(a, n + 1, sizeof(*past));
	double *have = arena_array(a, n + 1, sizeof(*have));

	for (size_t k = 0; k < n && n_own > 0; k++)
		past[k] = simowned_past(&s[k], first[k], a);
	for (size_t c = 0; c < n_own; c++) {
		own[c].used = 0;
		for (size_t k = 0; k < n; k++)
			have[k] = simowned_beside(own, c, dealt, n, k);
		for (int64_t m = 0; m < own[c].count; m++) {
			size_t to = n;
			double most = -1;

			for (size_t k = 0; k < n; k++) {
				double use, gpus;

				gpus = own[c].gpus * own[c].speed[k];
				if (gpus == 0 || !simowned_holds(&own[c], &s[k], first[k]))
					continue;
				use = simowned_use(&past[k], have[k] + gpus) -
				      simowned_use(&past[k], have[k]);
				if (use > most + 1e-12) {
					most = use;
					to = k;
				}
			}
			if (to == n)
				break;
			have[to] += own[c].gpus * own[c].speed[to];
			dealt[c * n + to]++;
			own[c].used++;
		}
	}
	*dealt_out = dealt;
}

void
simowned_have(const struct fc_series *s, const struct simcommit_own *own, size_t n_own,
    const int64_t *dealt, size_t n, size_t k, size_t from, size_t n_steps, double *out)
{
	for (size_t i = 0; i < n_steps; i++) {
		int64_t t = s[k].t0 + (int64_t)(from + i) * s[k].step_s, end = t + s[k].step_s;

		out[i] = 0;
		for (size_t c = 0; c < n_own; c++) {
			int64_t lo = own[c].from > t ? own[c].from : t,
				hi = own[c].to < end ? own[c].to : end;

			if (hi > lo && dealt[c * n + k] > 0)
				out[i] += own[c].gpus * own[c].speed[k] * (double)dealt[c * n + k] *
					  (double)(hi - lo) / (double)s[k].step_s;
		}
	}
}
