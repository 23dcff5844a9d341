#include "config.h"

#include <math.h>
#include <string.h>

#include "cmd/plan_join.h"
#include "model/offer.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/fileio.h"
#include "util/json.h"
#include "util/time.h"

#define SCHEDULE_BUDGET_STEPS 40
#define SCHEDULE_SAID 24
#define SCHEDULE_LP_BYTES ((size_t)256 << 20)

static struct schedule_problem
schedule_of(const struct plan_series *ps, const struct plan_options *o, struct arena *a)
{
	int64_t *term = arena_array(a, ps->n_lines + 1, sizeof(*term)), every = o->starts_s / ps->forecast.step_s;

	for (size_t i = 0; i < ps->n_lines; i++)
		if (ps->lines[i].kind == COMMIT_RESERVED)
			term[i] = (int64_t)fmax(1, rint(offer_term_hours(ps->offers[i]) * 3600 / (double)ps->forecast.step_s));
	return (struct schedule_problem){ &ps->demand, ps->lines, ps->n_lines, term, ps->owned, ps->n_owned, every > 0 ? every : 1,
		ps->problem.unserved, ps->problem.peak, 0, NAN, &ps->shares };
}

/* All series at one price of money; *bound_out: what that binds. */
static enum berth_code
schedule_at(struct plan_series *ps, struct schedule_problem *p, size_t n, double theta, struct arena *a, double *bound_out,
    struct berth_err *err)
{
	*bound_out = 0;
	for (size_t i = 0; i < n; i++) {
		enum berth_code rc;

		p[i].theta = theta;
		p[i].budget = NAN;
		rc = schedule_solve(&p[i], a, ps[i].schedule, err);
		if (rc != BERTH_OK)
			return err_ctx(err, "series %s", ps[i].series.name);
		*bound_out += ps[i].schedule->bound_usd;
	}
	return BERTH_OK;
}

/* As plan_budget(): one price for all, then what is left goes to them in turn. */
static enum berth_code
schedule_budget(struct plan_series *ps, struct schedule_problem *p, size_t n, double budget, struct arena *a,
    struct berth_err *err)
{
	double lo = 0, hi = 1, bound, left = budget;
	enum berth_code rc = BERTH_OK;

	for (; n > 1; hi *= 4) {
		rc = schedule_at(ps, p, n, hi, a, &bound, err);
		if (rc != BERTH_OK)
			return rc;
		if (bound <= budget)
			break;
		if (hi > 100)
			return err_set(err, BERTH_EINFEASIBLE, "what must be bought binds %.2f USD, the budget is %.2f USD", bound, budget);
		lo = hi;
	}
	for (int k = 0; k < SCHEDULE_BUDGET_STEPS && n > 1 && rc == BERTH_OK; k++) {
		double mid = lo + (hi - lo) / 2;

		rc = schedule_at(ps, p, n, mid, a, &bound, err);
		*(bound <= budget ? &hi : &lo) = mid;
	}
	if (n > 1 && rc == BERTH_OK) {
		rc = schedule_at(ps, p, n, hi, a, &bound, err);
		left = budget - bound;
	}
	for (size_t i = 0; i < n && rc == BERTH_OK; i++) {
		left += n > 1 ? ps[i].schedule->bound_usd : 0;
		p[i].theta = 0;
		p[i].budget = left;
		rc = schedule_solve(&p[i], a, ps[i].schedule, err);
		left -= ps[i].schedule->bound_usd;
	}
	return rc;
}

enum berth_code
plan_schedule(struct plan_series *ps, size_t n, const struct plan_options *o, struct arena *a, struct berth_err *err)
{
	struct schedule_problem *p = arena_array(a, n + 1, sizeof(*p));
	double bound, *lower = arena_array(a, n + 1, sizeof(*lower));
	bool any = false;
	enum berth_code rc;

	if (o->starts_s <= 0)
		return BERTH_OK;
	for (size_t i = 0; i < n; i++) {
		p[i] = schedule_of(&ps[i], o, a);
		ps[i].schedule = arena_array(a, 1, sizeof(*ps[i].schedule));
	}
	rc = schedule_at(ps, p, n, 0, a, &bound, err);
	for (size_t i = 0; i < n && rc == BERTH_OK; i++) {
		lower[i] = ps[i].schedule->lower_bound_usd;
		p[i].rules = plan_quota_allot(ps, n, i, a);
		ps[i].allotted = p[i].rules != &ps[i].shares;
		any = any || ps[i].allotted;
	}
	if (rc == BERTH_OK && any)
		rc = schedule_at(ps, p, n, 0, a, &bound, err);
	if (rc == BERTH_OK && !isnan(o->budget_usd) && bound > o->budget_usd)
		rc = schedule_budget(ps, p, n, o->budget_usd, a, err);
	for (size_t i = 0; i < n && rc == BERTH_OK; i++) {
		struct schedule *s = ps[i].schedule;

		if (!ps[i].allotted)
			continue;
		s->lower_bound_usd = fmin(lower[i], s->cost_usd);	/* as if the others left it all */
		s->optimal = s->cost_usd - s->lower_bound_usd <= 1e-9 * fmax(1, s->cost_usd);
	}
	return rc;
}

static int64_t
schedule_time(const struct plan_series *ps, int64_t step)
{
	return ps->forecast.t0 + step * ps->forecast.step_s;
}

/* Machines of this line that end at a step. */
static int64_t
schedule_ending(const struct schedule *s, size_t line, int64_t step)
{
	int64_t n = 0;

	for (size_t k = 0; k < s->n; k++)
		n += s->buy[k].line == line && s->buy[k].to == step ? s->buy[k].count : 0;
	return n;
}

/* Machines of this line that begin at a step. */
static int64_t
schedule_beginning(const struct schedule *s, size_t line, int64_t step)
{
	for (size_t k = 0; k < s->n; k++)
		if (s->buy[k].line == line && s->buy[k].from == step)
			return s->buy[k].count;
	return 0;
}

static int64_t
schedule_renews(const struct schedule *s, const struct schedule_buy *b)
{
	int64_t ending = schedule_ending(s, b->line, b->from);

	return ending < b->count ? ending : b->count;
}

/* What ends inside the horizon and is not bought again then: machines of this purchase. */
static int64_t
schedule_lapses(const struct plan_series *ps, const struct schedule_buy *b)
{
	const struct schedule *s = ps->schedule;
	int64_t ending, again;

	if (b->to >= (int64_t)ps->demand.n_steps)
		return 0;
	ending = schedule_ending(s, b->line, b->to);
	again = schedule_beginning(s, b->line, b->to);
	if (again >= ending)
		return 0;
	return ending - again < b->count ? ending - again : b->count;
}

static void
schedule_say(struct plan_series *ps, const struct schedule_buy *b, struct arena *a)
{
	char from[TIME_FMT_SIZE], to[TIME_FMT_SIZE];
	int64_t renews = schedule_renews(ps->schedule, b), lapses = schedule_lapses(ps, b);
	const char *text = arena_printf(a, "schedule: on %s buy %lld x %s, to %s (%.2f USD in the horizon)",
	    time_fmt_date(from, schedule_time(ps, b->from)), (long long)b->count, ps->names[b->line],
	    time_fmt_date(to, schedule_time(ps, b->to)), b->usd);

	if (renews > 0)
		text = arena_printf(a, "%s; %lld of them renew what ends then", text, (long long)renews);
	if (lapses > 0)
		text = arena_printf(a, "%s; let %lld of them end", text, (long long)lapses);
	plan_add(&ps->because, a, text);
}

void
plan_schedule_explain(struct plan_series *ps, const struct plan_options *o, struct arena *a)
{
	const struct schedule *s = ps->schedule;
	double gap;

	if (s == NULL)
		return;
	gap = s->lower_bound_usd > 0 ? 100 * (s->cost_usd - s->lower_bound_usd) / s->lower_bound_usd : 0;
	plan_add(&ps->because, a, arena_printf(a, "schedule: with start dates every %.6g weeks, and counting what is owned only while it "
	    "holds, %.2f USD are expected, %s", (double)o->starts_s / (7 * 86400), s->cost_usd, s->optimal ?
	    "the least there is on this forecast" : arena_printf(a, "at most %.2f %% above any other (bound %.2f USD)", gap,
	    s->lower_bound_usd)));
	if (ps->allotted)
		plan_add(&ps->because, a, "schedule: of quotas that other series draw on too it has the part that the plan at one date "
		    "takes; the bound is as if they left it all");
	for (size_t k = 0; k < s->n && k < SCHEDULE_SAID; k++)
		schedule_say(ps, &s->buy[k], a);
	if (s->n == 0)
		plan_add(&ps->because, a, "schedule: buy nothing, at no date");
	if (s->n > SCHEDULE_SAID)
		plan_add(&ps->because, a, arena_printf(a, "schedule: %zu more purchases (-o json has them all)", s->n - SCHEDULE_SAID));
	if (s->theta > 0)
		plan_add(&ps->because, a, arena_printf(a, "schedule: the budget binds: one USD more of it would save %.2f USD", s->theta));
}

void
plan_schedule_json(struct jsonw *w, const struct plan_series *ps, const struct plan_options *o)
{
	const struct schedule *s = ps->schedule;

	jsonw_begin_object(w, "schedule");
	jsonw_int(w, "every_s", o->starts_s);
	jsonw_fixed(w, "expected_cost", s->cost_usd, 6);
	jsonw_fixed(w, "lower_bound", s->lower_bound_usd, 6);
	jsonw_fixed(w, "bound", s->bound_usd, 6);
	jsonw_bool(w, "optimal", s->optimal);
	jsonw_fixed(w, "budget_price", s->theta, 6);
	jsonw_begin_array(w, "buys");
	for (size_t k = 0; k < s->n; k++) {
		const struct schedule_buy *b = &s->buy[k];
		const struct offer *x = ps->offers[b->line];

		jsonw_begin_object(w, NULL);
		jsonw_time(w, "t", schedule_time(ps, b->from));
		jsonw_time(w, "until", schedule_time(ps, b->to));
		jsonw_str(w, "provider", x->provider);
		jsonw_str_or_null(w, "region", x->region);
		jsonw_str_or_null(w, "instance_type", x->instance_type);
		jsonw_int(w, "term_months", x->term_months);
		jsonw_str(w, "payment", payment_name(x->payment));
		jsonw_int(w, "count", b->count);
		jsonw_int(w, "gpus", b->count * ps->lines[b->line].gpus);
		jsonw_int(w, "renews", schedule_renews(s, b));
		jsonw_int(w, "lapses", schedule_lapses(ps, b));
		jsonw_fixed(w, "cost", b->usd, 6);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	jsonw_end_object(w);
}

/* z_t_k: GPUs of a run of levels with one slope that nothing reserved carries in stretch t; the rest's cost is their sum. */
static void
schedule_lp_rest(struct buf *b, const struct terms_rest *r, bool objective, size_t t)
{
	const double *v = r->usd + t * ((size_t)r->levels + 1);

	for (int64_t k = 0; k < r->levels;) {
		double slope = v[k] - v[k + 1];
		int64_t n = 1;

		while (k + n < r->levels && v[k + n] - v[k + n + 1] == slope)
			n++;
		if (objective)
			buf_printf(b, " + %.17g z%zu_%lld\n", slope, t, (long long)k);
		else
			buf_printf(b, " z%zu_%lld <= %lld\n", t, (long long)k, (long long)n);
		k += n;
	}
}

/* A provider's part of what runs in stretch t, with what is owned on the right. */
static void
schedule_lp_share(struct buf *b, const struct plan_series *ps, size_t k, bool most, size_t t)
{
	const struct schedule_form *f = &ps->schedule->form;
	double part = most ? ps->shares.share[k].max : ps->shares.share[k].min, owned = 0;

	buf_printf(b, " s%zu_%zu_%d: 0 one", t, k, most);
	for (size_t j = 0; j < f->n_offers; j++)
		if (f->offers[j].from <= t && t < f->offers[j].to)
			buf_printf(b, "\n %+.17g x%zu", ((ps->shares.group[f->line[j]] == k + 1) - part) *
			    (double)ps->lines[f->line[j]].gpus, j);
	for (size_t i = 0; i < ps->n_owned; i++)
		if (ps->owned[i].from <= f->border[t] && f->border[t + 1] <= ps->owned[i].to)
			owned += ((ps->owned[i].group == k + 1) - part) * (double)ps->owned[i].gpus;
	buf_printf(b, " %s= %.17g\n", most ? "<" : ">", -owned);
}

static void
schedule_lp_rows(struct buf *b, const struct schedule_form *f, const struct commit_line *lines)
{
	const struct terms_rest *r = f->rest;

	for (size_t t = 0; t < r->n; t++) {
		const double *v = r->usd + t * ((size_t)r->levels + 1);

		buf_printf(b, " d%zu: 0 one", t);
		for (size_t j = 0; j < f->n_offers; j++)
			if (f->offers[j].from <= t && t < f->offers[j].to)
				buf_printf(b, "\n + %lld x%zu", (long long)lines[f->line[j]].gpus, j);
		for (int64_t k = 0; k < r->levels; k++)
			if (k == 0 || v[k] - v[k + 1] != v[k - 1] - v[k])
				buf_printf(b, "\n + z%zu_%lld", t, (long long)k);
		buf_printf(b, " >= %lld\n", (long long)r->levels);
		if (r->least == NULL || r->least[t] == 0)
			continue;
		buf_printf(b, " p%zu: 0 one", t);
		for (size_t j = 0; j < f->n_offers; j++)
			if (f->offers[j].from <= t && t < f->offers[j].to)
				buf_printf(b, "\n + %lld x%zu", (long long)lines[f->line[j]].gpus, j);
		buf_printf(b, " >= %lld\n", (long long)r->least[t]);
	}
}

enum berth_code
plan_schedule_lp(const struct plan_series *ps, const struct plan_options *o, const char *path, struct berth_err *err)
{
	const struct schedule_form *f = &ps->schedule->form;
	double rest = 0;
	struct buf b;
	enum berth_code rc;

	if (ps->shares.n_quotas > 0) {
		err_set(err, BERTH_EUSAGE, "the program of --starts is written without quotas: leave --on-demand-limit and the limits of "
		    "berth.yaml out");
		return err_at(err, "--write-lp");
	}
	buf_init(&b, SCHEDULE_LP_BYTES);
	for (size_t t = 0; t < f->rest->n; t++)
		rest += f->rest->usd[t * ((size_t)f->rest->levels + 1) + (size_t)f->rest->levels];
	buf_printf(&b, "\\ berth plan --starts: x = machines bought, z = GPUs that nothing reserved carries\nMinimize\n cost: %.17g one\n",
	    rest);
	for (size_t j = 0; j < f->n_offers; j++)
		buf_printf(&b, " + %.17g x%zu\n", usd_to_double(f->offers[j].cost), j);
	for (size_t t = 0; t < f->rest->n; t++)
		schedule_lp_rest(&b, f->rest, true, t);
	buf_printf(&b, "Subject To\n");
	schedule_lp_rows(&b, f, ps->lines);
	for (size_t k = 0; k < 2 * ps->shares.n * f->rest->n; k++)
		schedule_lp_share(&b, ps, k / 2 % ps->shares.n, k % 2 == 0, k / 2 / ps->shares.n);
	if (!isnan(o->budget_usd)) {
		buf_printf(&b, " budget: 0 one");
		for (size_t j = 0; j < f->n_offers; j++)
			buf_printf(&b, "\n + %.17g x%zu", usd_to_double(f->offers[j].cost), j);
		buf_printf(&b, " <= %.17g\n", o->budget_usd);
	}
	buf_printf(&b, "Bounds\n one = 1\n");
	for (size_t j = 0; j < f->n_offers; j++)
		if (f->offers[j].max < INT64_MAX)
			buf_printf(&b, " x%zu <= %lld\n", j, (long long)f->offers[j].max);
	for (size_t t = 0; t < f->rest->n; t++)
		schedule_lp_rest(&b, f->rest, false, t);
	buf_printf(&b, "General\n");
	for (size_t j = 0; j < f->n_offers; j++)
		buf_printf(&b, " x%zu\n", j);
	buf_printf(&b, "End\n");
	rc = buf_check(&b, path, err);
	if (rc == BERTH_OK)
		rc = atomicfile_write(path, b.p, b.len, 0644, err);
	buf_free(&b);
	return rc;
}
