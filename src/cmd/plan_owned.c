#include "config.h"

#include <math.h>
#include <string.h>

#include "cmd/plan_lines.h"
#include "util/arena.h"

#define PLAN_OWNED_USE                                                                             \
	0.999 /* of what nothing serves: what is owned serves before that, whatever its use costs  \
	       */

double
plan_owned_use(const struct plan_series *ps, const struct offer *x, double carries)
{
	return fmin(plan_use_hour(x) / carries, PLAN_OWNED_USE * plan_unserved(ps));
}

/* Whole GPUs of so many machines, in a schedule. */
double
plan_owned_whole(double machines, double carries)
{
	return floor(machines * carries + 1e-9);
}

bool
plan_owned_common(const struct plan_series *x, const struct plan_series *y, size_t commitment)
{
	return x->fits[commitment] > 0 && y->fits[commitment] > 0;
}

bool
plan_owned_shared(const struct plan_series *x, const struct plan_series *y)
{
	for (size_t c = 0; c < x->n_owned_all; c++)
		if (plan_owned_common(x, y, c))
			return true;
	return false;
}

bool
plan_owned_holds(
    const struct commitment *c, const struct plan_series *ps, int64_t *lo_out, int64_t *hi_out)
{
	int64_t from = ps->forecast.t0,
		to = from + (int64_t)ps->forecast.horizon * ps->forecast.step_s;

	*lo_out = c->from > from ? c->from : from;
	*hi_out = c->to < to ? c->to : to;
	return *hi_out > *lo_out && c->offer.accelerator_count >= 1 && c->count >= 1;
}

/* GPUs that one machine carries: what is owned is there, and counts whole over its machines alone.
 */
static double
owned_carries(const struct plan_options *o, const struct accel_table *accels,
    const struct plan_series *ps, const struct offer *x)
{
	return plan_speed(o, accels, ps, x) * x->accelerator_count;
}

/* Those that hold for at least half of the horizon are lines: their money is sunk. One whose
 * machines are with other series is told of with none: it could be used here. */
void
plan_owned(const struct commitment *c, size_t n, const struct plan_options *o,
    const struct accel_table *accels, struct plan_series *ps, struct plan_lines *l)
{
	int64_t from = ps->forecast.t0,
		to = from + (int64_t)ps->forecast.horizon * ps->forecast.step_s;

	ps->owned = arena_array(l->a, n + 1, sizeof(*ps->owned));
	ps->owned_name = arena_array(l->a, n + 1, sizeof(*ps->owned_name));
	ps->owned_count = arena_array(l->a, n + 1, sizeof(*ps->owned_count));
	ps->owned_offer = arena_array(l->a, n + 1, sizeof(*ps->owned_offer));
	ps->n_owned = 0;
	for (size_t i = 0; i < n; i++) {
		const struct offer *x = &c[i].offer;
		int64_t lo, hi, count = ps->owned_part[i],
				held = o->starts_s > 0 ? ps->owned_first[i] : count;
		double carries = owned_carries(o, accels, ps, x);
		struct commit_line line = {
			.kind = COMMIT_OWNED, .min_count = count, .max_count = count
		};

		if (!plan_owned_holds(&c[i], ps, &lo, &hi) || carries <= 0)
			continue;
		line.gpus = plan_units(carries, &line.speed);
		line.usage = plan_owned_use(ps, x, carries);
		ps->owned_name[ps->n_owned] = plan_name(x, l->a);
		ps->owned_offer[ps->n_owned] = x;
		ps->owned_count[ps->n_owned] = held;
		ps->owned[ps->n_owned++] =
		    (struct schedule_owned){ (lo - from) / ps->forecast.step_s,
			    hi == to ? INT64_MAX : (hi - from) / ps->forecast.step_s,
			    plan_owned_whole((double)held, carries), 0, NULL, line.usage };
		if (count < 1 || (hi - lo) * 2 < to - from)
			continue;
		plan_add_line(l, line, carries, x,
		    arena_printf(
			l->a, ", owned%s", plan_note(ps, carries / x->accelerator_count, l->a)));
	}
}

/* USD that the use of levels from..to is worth in an hour, on demand: what else would serve it. */
static double
owned_worth(const struct plan_series *ps, double from, double to)
{
	double use = 0, usd = 1;

	for (size_t i = 0; i < ps->n_market; i++)
		if (ps->market[i]->purchase == PURCHASE_ON_DEMAND) {
			usd = plan_gpu_hour(ps->market[i], ps->speed[i]);
			break;
		}
	for (size_t l = (size_t)from; l < ps->curve.levels && (double)l < to; l++)
		use += ps->curve.use[l] * (fmin(to, (double)l + 1) - fmax(from, (double)l));
	return usd * use;
}

/* A machine goes where its hours are worth most; where they are worth nothing, to the peak that
 * lacks most; then to the first. */
static size_t
owned_next(const struct plan_series *ps, size_t n, const double *carries, const double *have)
{
	size_t best = n;
	double most = -1, lacks = 0;

	for (size_t k = 0; k < n; k++) {
		double usd, lack = fmax(0, ps[k].peak - have[k]);

		if (!(carries[k] > 0))
			continue;
		usd = owned_worth(&ps[k], have[k], have[k] + carries[k]);
		if (best < n && !(usd > most + 1e-12) && !(usd >= most - 1e-12 && lack > lacks))
			continue;
		best = k;
		most = usd;
		lacks = lack;
	}
	return best;
}

/* GPUs of earlier commitments that series k has while this one holds. */
static double
owned_have(const struct commitment *c, size_t i, const double *const *carries,
    const struct plan_series *ps, size_t k)
{
	double sum = 0;

	for (size_t e = 0; e < i; e++)
		if (c[e].from < c[i].to && c[i].from < c[e].to)
			sum += (double)ps[k].owned_part[e] * carries[e][k];
	return sum;
}

void
plan_owned_part(const struct commitment *c, size_t n_owned, const struct plan_options *o,
    const struct accel_table *accels, struct plan_series *ps, size_t n, struct arena *a)
{
	const double **all = arena_array(a, n_owned + 1, sizeof(*all));
	double *have = arena_array(a, n + 1, sizeof(*have)),
	       **fits = arena_array(a, n + 1, sizeof(*fits));

	for (size_t k = 0; k < n; k++) {
		ps[k].owned_part = arena_array(a, n_owned + 1, sizeof(*ps[k].owned_part));
		ps[k].owned_notes.n = 0;
		ps[k].owned_all = c;
		ps[k].n_owned_all = n_owned;
		ps[k].deal_lower_usd = NAN;
		fits[k] = arena_array(a, n_owned + 1, sizeof(**fits));
		ps[k].fits = fits[k];
	}
	for (size_t i = 0; i < n_owned; i++) {
		double *carries = arena_array(a, n + 1, sizeof(*carries));

		for (size_t k = 0; k < n; k++) {
			int64_t lo, hi;

			if (plan_owned_holds(&c[i], &ps[k], &lo, &hi))
				carries[k] = owned_carries(o, accels, &ps[k], &c[i].offer);
			fits[k][i] = carries[k];
			have[k] = owned_have(c, i, all, ps, k);
		}
		all[i] = carries;
		for (int64_t m = 0; m < c[i].count; m++) {
			size_t to = owned_next(ps, n, carries, have);

			if (to == n)
				break;
			ps[to].owned_part[i]++;
			have[to] += carries[to];
		}
	}
	for (size_t k = 0; k < n; k++)
		ps[k].owned_first =
		    arena_memdup(a, ps[k].owned_part, (n_owned + 1) * sizeof(*ps[k].owned_first));
}

static size_t
owned_users(const struct plan_series *ps, size_t n, size_t commitment)
{
	size_t can = 0;

	for (size_t k = 0; k < n; k++)
		can += ps[k].fits[commitment] > 0;
	return can;
}

void
plan_owned_note(struct plan_series *ps, size_t n, struct arena *a)
{
	for (size_t k = 0; k < n; k++)
		for (size_t i = 0; i < ps[k].n_owned_all; i++)
			if (ps[k].fits[i] > 0 && owned_users(ps, n, i) > 1)
				VEC_PUSH(a, &ps[k].owned_notes,
				    arena_printf(a,
					"owned: %lld of the %lld machines of %s count here, the "
					"others for series that they serve as well: so that all "
					"of these cost least",
					(long long)ps[k].owned_part[i],
					(long long)ps[k].owned_all[i].count,
					plan_name(&ps[k].owned_all[i].offer, a)));
}

double
plan_owned_idle(const struct plan_series *ps, size_t i, double *usd_out)
{
	const struct commit_use *u = &ps->plan.use[i];
	double idle = fmax(0, u->gpus * ps->curve.hours - u->gpu_hours);

	*usd_out = (double)NAN;
	for (size_t c = 0; c < ps->n_owned_all; c++) {
		const struct commitment *own = &ps->owned_all[c];
		double hours = (double)(own->to - own->from) / 3600;

		if (&own->offer == ps->offers[i] && u->gpus > 0)
			*usd_out = idle * (double)u->count / u->gpus *
				   (usd_to_double(own->offer.price) +
				       usd_to_double(own->offer.upfront) / hours);
	}
	return idle;
}

/* What is paid in any case, and not used. */
static void
owned_idle_explain(struct plan_series *ps, struct arena *a)
{
	double have = 0, idle = 0, usd = 0;

	for (size_t i = 0; i < ps->n_lines; i++) {
		double paid;

		if (ps->lines[i].kind != COMMIT_OWNED || !(ps->plan.use[i].gpus > 0))
			continue;
		have += ps->plan.use[i].gpus * ps->curve.hours;
		idle += plan_owned_idle(ps, i, &paid);
		usd += paid;
	}
	if (!(have > 0))
		return;
	plan_add(&ps->because, a,
	    arena_printf(a, "owned: %.1f %% of its GPU-hours stand idle on average%s",
		100 * idle / have,
		isnan(usd)
		    ? ", at a cost that nobody said"
		    : arena_printf(a, ", %.2f USD of what is paid for them in any case", usd)));
}

void
plan_owned_explain(struct plan_series *ps, struct arena *a)
{
	owned_idle_explain(ps, a);
	for (size_t i = 0; i < ps->owned_notes.n; i++)
		plan_add(&ps->because, a, ps->owned_notes.v[i]);
}
