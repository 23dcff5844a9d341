/* src/cmd/plan_short.c - limits that cannot carry a peak: the most that they let be had, and which
 * of them are too small.  Floor: cmd. */
#include "config.h"

#include <math.h>

#include "cmd/plan_join.h"
#include "util/arena.h"
#include "util/time.h"

#define SHORT_NEXT                                                                                 \
	"have the providers raise the quotas and write it into limits: of berth.yaml, or plan "    \
	"for "                                                                                     \
	"less: --service-level, --horizon"

/* "quota cards (60 GPUs)" */
static const char *
short_name(const struct plan_series *ps, const struct plan_options *o, size_t q, struct arena *a)
{
	const char *name = plan_quota_name(o, q);
	int64_t gpus = q < o->n_limits ? plan_quota_most(ps, o, q) : o->on_demand_gpus;

	return arena_printf(a, "%s%s (%lld GPU%s)", q < o->n_limits ? "quota " : "",
	    name[0] != '\0' ? name : arena_printf(a, "number %zu", q + 1), (long long)gpus,
	    gpus == 1 ? "" : "s");
}

/* When the 95 % quantile of demand passes so many GPUs; 0: never, only its peaks do. */
static int64_t
short_from(const struct fc_result *f, double gpus)
{
	for (size_t t = 0; t < f->horizon; t++)
		if (f->q[t * FC_LEVEL_COUNT + FC_P95] > gpus + 1e-9)
			return f->t0 + (int64_t)t * f->step_s;
	return 0;
}

static const char *
short_ask(int64_t reached, const struct plan_options *o, struct arena *a)
{
	int64_t by = reached - PLAN_ASK_AHEAD_S > o->now ? reached - PLAN_ASK_AHEAD_S : o->now;
	char at[TIME_FMT_SIZE], ask[TIME_FMT_SIZE];

	if (reached == 0)
		return ": ask for more";
	return arena_printf(a, " from %s on: ask for more by %s", time_fmt_date(at, reached),
	    time_fmt_date(ask, by));
}

/* "quota a (8 GPUs), quota b (3 GPUs) and --on-demand-limit (5 GPUs)" */
static const char *
short_names(const struct plan_series *ps, const struct plan_options *o, const bool *binds,
    size_t *named_out, struct arena *a)
{
	const char *names = "";
	size_t last = 0;

	*named_out = 0;
	for (size_t q = 0; q < plan_quota_count(o); q++) {
		last = binds[q] ? q : last;
		*named_out += binds[q];
	}
	for (size_t q = 0; q <= last && *named_out > 0; q++)
		if (binds[q])
			names = arena_printf(a, "%s%s%s", names,
			    names[0] == '\0' ? ""
			    : q == last      ? " and "
					     : ", ",
			    short_name(ps, o, q, a));
	return names;
}

/* One series: all limits together. False: they let the peak be had. */
static bool
short_alone(
    struct plan_series *ps, const struct plan_options *o, struct arena *a, struct berth_err *err)
{
	bool *binds = arena_array(a, ps->shares.n_quotas + 1, sizeof(*binds));
	double most = commit_most(&ps->problem, &ps->shares, a, binds);
	size_t named;
	const char *names = short_names(ps, o, binds, &named, a);

	if (!(most < ceil(ps->peak - 1e-9) - 1e-6) || named == 0)
		return false;
	err_set(err, BERTH_EINFEASIBLE,
	    "a peak of %.0f GPUs cannot be carried: within all limits at most %.4g can be owned, "
	    "reserved or had on demand; %s %s too small%s%s",
	    ceil(ps->peak - 1e-9), floor(most + 1e-6), names, named == 1 ? "is" : "are",
	    named == 1 ? "" : " together", short_ask(short_from(&ps->forecast, most), o, a));
	return true;
}

/* Of several series: each quota that is too small at some time, as it is found for all. */
static void
short_each(const struct plan_series *ps, size_t n, const struct plan_options *o, struct arena *a,
    struct berth_err *err)
{
	const char *text = arena_strdup(a, err->msg);
	bool any = false;

	for (size_t q = 0; q < o->n_limits; q++) {
		const struct plan_runway *r = NULL;

		for (size_t i = 0; i < n && r == NULL; i++)
			for (size_t k = 0; k < ps[i].n_runway; k++)
				if (ps[i].runway[k].limit == o->limits[q].name)
					r = &ps[i].runway[k];
		if (r == NULL)
			continue;
		any = true;
		text = arena_printf(a, "%s; quota %s (%lld GPUs) is too small%s%s", text,
		    r->limit[0] != '\0' ? r->limit : arena_printf(a, "number %zu", q + 1),
		    (long long)r->gpus,
		    r->series > 1
			? arena_printf(a, " for the %zu series that it counts together", r->series)
			: "",
		    short_ask(r->reached, o, a));
	}
	if (any)
		err_set(err, err->code, "%s", text);
}

enum berth_code
plan_quota_short(struct plan_series *ps, size_t n, const struct plan_options *o, enum berth_code rc,
    struct arena *a, struct berth_err *err)
{
	if (rc != BERTH_EINFEASIBLE || plan_quota_count(o) == 0)
		return rc;
	if (n != 1 || !short_alone(ps, o, a, err))
		short_each(ps, n, o, a, err);
	else
		err_ctx(err, "series %s", ps->series.name);
	ps[0].next = SHORT_NEXT;
	return rc;
}

void
plan_short_explain(struct plan_series *ps, const struct plan_options *o, struct arena *a)
{
	bool *binds = arena_array(a, ps->shares.n_quotas + 1, sizeof(*binds));
	size_t named = 0;
	const char *names;

	if (!(ps->plan.unserved_gpu_hours > 0))
		return;
	for (size_t q = 0; q < plan_quota_count(o); q++) {
		binds[q] = plan_quota_price(ps, q) >= 0.005;
		named += binds[q];
	}
	if (named == 0) /* in hours so rare that none of them has a price */
		(void)commit_most(&ps->problem, &ps->shares, a, binds);
	names = short_names(ps, o, binds, &named, a);
	plan_add(&ps->because, a,
	    named == 0 ? "to serve it too something must be to be had on demand, or more be "
			 "reserved: --service-level"
		       : arena_printf(a,
			     "to serve it too: ask for more of %s, or reserve for a higher "
			     "--service-level",
			     names));
}
