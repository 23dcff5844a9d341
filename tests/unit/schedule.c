/* Purchases with start dates over sample paths against GLPK, whose program is written from the raw paths, hour by hour. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plan/schedule.h"
#include "tests/tap.h"
#include "util/arena.h"
#include "util/rng.h"

#define STEPS 36
#define PATHS 3
#define LINES 5		/* three reserved, spot, on demand */

struct world {
	double gpus[PATHS * STEPS], weight[PATHS];
	struct commit_line line[LINES];
	int64_t term[LINES];
	struct schedule_owned owned[2];
	double owned_weight[3], owned_takes[2][3], weights[3][LINES];	/* takes: what all of it takes of each quota */
	struct commit_quota quota[3];
	struct commit_share share[2];
	size_t group[LINES];
	struct commit_shares rules;
	struct commit_demand d;
	struct schedule_problem p;
	bool priced;	/* what is bought or owned asks for its use */
};

/* size: GPUs of the machines; 0: mixed. */
static void
make_world(struct world *w, struct rng *r, int64_t size, bool limits, bool parts, double budget)
{
	for (size_t k = 0; k < PATHS; k++) {
		w->weight[k] = 1 + (double)rng_below(r, 3);
		for (size_t t = 0; t < STEPS; t++)
			w->gpus[k * STEPS + t] = (double)rng_below(r, 9) + (t > 12 && t < 25 ? 6 : 0) + (rng_below(r, 2) && parts ? 0.25 : 0);
	}
	for (size_t i = 0; i < 3; i++)
		w->line[i] = (struct commit_line){ COMMIT_RESERVED, i, 0.8 - 0.15 * (double)i - 0.01 * (double)rng_below(r, 5), 0,
			size > 0 ? size : 1 + (int64_t)i, 0, limits && i == 2 ? 1 + (int64_t)rng_below(r, 3) : COMMIT_NO_LIMIT, 0 };
	w->line[3] = (struct commit_line){ COMMIT_SPOT, 3, 0, 0.55 + 0.05 * (double)rng_below(r, 3), 1, 0, 2, 0 };
	w->line[4] = (struct commit_line){ COMMIT_ON_DEMAND, 4, 0, 1, 1, 0, limits ? 8 : COMMIT_NO_LIMIT, 0 };
	w->term[0] = 5;
	w->term[1] = 12;
	w->term[2] = 60;
	w->owned[0] = (struct schedule_owned){ -3, 10 + (int64_t)rng_below(r, 8), 2, 1, w->owned_takes[0], 0 };
	w->owned[1] = (struct schedule_owned){ 7, INT64_MAX, 1, 2, w->owned_takes[1], 0 };
	w->priced = false;
	w->d = (struct commit_demand){ w->gpus, PATHS, STEPS, w->weight, 1, false };
	w->p = (struct schedule_problem){ &w->d, w->line, LINES, w->term, w->owned, 2, 4, 10, limits ? 11 : NAN, 0, budget, NULL, 0, NULL };
}

/* Most of it asks for its use: less whether it is used or not, and all of it more than before. */
static void
make_prices(struct world *w, struct rng *r, bool one)
{
	double left = 0.2 + 0.1 * (double)rng_below(r, 7);

	w->priced = true;
	for (size_t i = 0; i < 3; i++) {
		double was = w->line[i].fixed;

		if (!one && rng_below(r, 4) == 0)
			continue;
		left = one ? left : 0.15 + 0.1 * (double)rng_below(r, 8);
		w->line[i].usage = one ? 0.3 : was * (1 - left) * (0.9 + 0.05 * (double)rng_below(r, 8));
		w->line[i].fixed = was * left;
	}
	for (size_t i = 0; i < 2; i++)
		w->owned[i].usage = (double)rng_below(r, 3) * 0.45;
}

static int64_t
owned_at(const struct world *w, int64_t t)
{
	int64_t n = 0;

	for (size_t i = 0; i < 2; i++)
		n += w->owned[i].from <= t && t < w->owned[i].to ? (int64_t)w->owned[i].gpus : 0;
	return n;
}

/* Is s a start date? */
static bool
is_start(const struct world *w, int64_t s)
{
	bool chain = false;

	for (size_t k = 0; k < 3; k++)
		chain = chain || s % w->term[k] == 0;
	return s % 4 == 0 || chain || s == w->owned[0].to;
}

/* Purchases that run in step t, each times what a GPU of its line weighs; weight NULL: 1. */
static void
lp_running(FILE *f, const struct world *w, int t, const double *weight)
{
	for (size_t i = 0; i < 3; i++)
		for (int64_t s = 0; s <= t; s++)
			if (is_start(w, s) && s + w->term[i] > t && (weight == NULL || weight[i] != 0))
				fprintf(f, "\n %+.17g x%zu_%d", (weight == NULL ? 1 : weight[i]) * (double)w->line[i].gpus, i, (int)s);
}

static double
owned_weight(const struct world *w, size_t q, int64_t t)
{
	return w->owned_weight[q] * (double)owned_at(w, t);
}

static void
lp_rules(FILE *f, const struct world *w, int t)
{
	for (size_t i = 0; i < 3; i++) {
		double one[3] = { i == 0, i == 1, i == 2 };

		if (w->line[i].max_count == COMMIT_NO_LIMIT)
			continue;
		fprintf(f, " m%zu_%d: 0 zero", i, t);
		lp_running(f, w, t, one);
		fprintf(f, " <= %d\n", (int)(w->line[i].max_count * w->line[i].gpus));
	}
	for (size_t q = 0; w->p.rules != NULL && q < w->rules.n_quotas; q++)
		for (size_t k = 0; k <= PATHS; k++) {
			const double *weight = w->weights[q];

			fprintf(f, " q%zu_%zu_%d: 0 zero", q, k, t);
			lp_running(f, w, t, weight);
			if (k < PATHS)
				fprintf(f, " + %.17g s%zu_%d + %.17g o%zu_%d", weight[3], k, t, weight[4], k, t);
			else if (!isnan(w->p.peak))
				fprintf(f, " + %.17g v%d", weight[4], t);
			fprintf(f, " <= %.17g\n", fmax(0, w->quota[q].limit - owned_weight(w, q, t)));
		}
	for (size_t k = 0; w->p.rules != NULL && k < w->rules.n; k++)
		for (int side = 0; side < 2; side++) {
			double part = side == 0 ? w->share[k].max : w->share[k].min, weight[3], own = 0;

			for (size_t i = 0; i < 3; i++)
				weight[i] = (w->group[i] == k + 1) - part;
			for (size_t i = 0; i < 2; i++)
				if (w->owned[i].from <= t && t < w->owned[i].to)
					own += ((w->owned[i].group == k + 1) - part) * w->owned[i].gpus;
			fprintf(f, " h%zu_%d_%d: 0 zero", k, side, t);
			lp_running(f, w, t, weight);
			fprintf(f, side == 0 ? " <= %.17g\n" : " >= %.17g\n", -own);
		}
}

static void
lp_money(FILE *f, const struct world *w)
{
	for (size_t i = 0; i < 3; i++)
		for (int64_t s = 0; s < STEPS; s++)
			if (is_start(w, s))
				fprintf(f, "\n + %.10f x%zu_%d", w->line[i].fixed * (double)w->line[i].gpus *
				    (double)((s + w->term[i] < STEPS ? s + w->term[i] : STEPS) - s), i, (int)s);
}

/* GPUs in use of each line and of what is owned, one hour of one path. */
static void
lp_used(FILE *f, size_t k, int t)
{
	for (size_t i = 0; i < 3; i++)
		fprintf(f, " + r%zu_%zu_%d", i, k, t);
	for (size_t i = 0; i < 2; i++)
		fprintf(f, " + e%zu_%zu_%d", i, k, t);
}

static void
lp_uses(FILE *f, const struct world *w, size_t k, int t)
{
	for (size_t i = 0; i < 3; i++) {
		double one[3] = { -(double)(i == 0), -(double)(i == 1), -(double)(i == 2) };

		fprintf(f, " y%zu_%zu_%d: r%zu_%zu_%d", i, k, t, i, k, t);
		lp_running(f, w, t, one);
		fprintf(f, " <= 0\n");
	}
	for (size_t i = 0; i < 2; i++)
		fprintf(f, " z%zu_%zu_%d: e%zu_%zu_%d <= %d\n", i, k, t, i, k, t,
		    w->owned[i].from <= t && t < w->owned[i].to ? (int)w->owned[i].gpus : 0);
}

static void
write_lp(const struct world *w, const char *path, bool whole)
{
	FILE *f = fopen(path, "w");
	double total = 0;

	if (f == NULL)
		return;
	for (size_t k = 0; k < PATHS; k++)
		total += w->weight[k];
	fprintf(f, "Minimize\n c: 0 zero");
	lp_money(f, w);
	for (size_t k = 0; k < PATHS; k++)
		for (int t = 0; t < STEPS; t++)
			fprintf(f, "\n + %.17g s%zu_%d + %.17g o%zu_%d + %.17g u%zu_%d", w->line[3].usage * w->weight[k] / total, k, t,
			    w->line[4].usage * w->weight[k] / total, k, t, w->p.unserved * w->weight[k] / total, k, t);
	for (size_t k = 0; k < PATHS && w->priced; k++)
		for (int t = 0; t < STEPS; t++) {
			for (size_t i = 0; i < 3; i++)
				fprintf(f, "\n + %.17g r%zu_%zu_%d", w->line[i].usage * w->weight[k] / total, i, k, t);
			for (size_t i = 0; i < 2; i++)
				fprintf(f, "\n + %.17g e%zu_%zu_%d", w->owned[i].usage * w->weight[k] / total, i, k, t);
		}
	fprintf(f, "\nSubject To\n");
	for (int t = 0; t < STEPS; t++) {
		for (size_t k = 0; k <= PATHS; k++) {
			if (k == PATHS && isnan(w->p.peak))
				continue;
			if (k < PATHS)
				fprintf(f, " d%zu_%d: s%zu_%d + o%zu_%d + u%zu_%d", k, t, k, t, k, t, k, t);
			else
				fprintf(f, " p%d: v%d", t, t);
			if (k < PATHS && w->priced)
				lp_used(f, k, t);
			else
				lp_running(f, w, t, NULL);
			if (k < PATHS && w->priced)
				fprintf(f, " >= %.17g\n", w->gpus[k * STEPS + (size_t)t]);
			else if (k < PATHS)
				fprintf(f, " >= %.17g\n", fmax(0, w->gpus[k * STEPS + (size_t)t] - (double)owned_at(w, t)));
			else
				fprintf(f, " >= %.17g\n", fmax(0, w->p.peak - (double)owned_at(w, t)));
		}
		for (size_t k = 0; k < PATHS && w->priced; k++)
			lp_uses(f, w, k, t);
		lp_rules(f, w, t);
	}
	if (!isnan(w->p.budget)) {
		fprintf(f, " budget: 0 zero");
		lp_money(f, w);
		fprintf(f, " <= %.17g\n", w->p.budget);
	}
	fprintf(f, "Bounds\n zero = 0\n");
	for (int t = 0; t < STEPS; t++) {
		for (size_t k = 0; k < PATHS; k++) {
			fprintf(f, " s%zu_%d <= %d\n", k, t, (int)w->line[3].max_count);
			if (w->line[4].max_count != COMMIT_NO_LIMIT)
				fprintf(f, " o%zu_%d <= %d\n", k, t, (int)w->line[4].max_count);
		}
		if (!isnan(w->p.peak) && w->line[4].max_count != COMMIT_NO_LIMIT)
			fprintf(f, " v%d <= %d\n", t, (int)w->line[4].max_count);
	}
	if (whole) {
		fprintf(f, "General\n");
		for (size_t i = 0; i < 3; i++)
			for (int64_t s = 0; s < STEPS; s++)
				if (is_start(w, s))
					fprintf(f, " x%zu_%d\n", i, (int)s);
	}
	fprintf(f, "End\n");
	fclose(f);
}

static double
glpk(const struct world *w, const char *dir, bool whole)
{
	char lp[256], out[256], cmd[1024], line[256];
	double objective = NAN;	/* nothing keeps the rows: INFINITY */
	FILE *f;
	int rc;

	snprintf(lp, sizeof(lp), "%s/s.lp", dir);
	snprintf(out, sizeof(out), "%s/s.out", dir);
	write_lp(w, lp, whole);
	snprintf(cmd, sizeof(cmd), "timeout 60 glpsol --lp %s -w %s >/dev/null 2>&1", lp, out);
	rc = system(cmd);
	f = WIFEXITED(rc) && WEXITSTATUS(rc) == 0 ? fopen(out, "r") : NULL;
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "s bas %*d %*d f f %lf", &objective) == 1 ||
		    sscanf(line, "s mip %*d %*d o %lf", &objective) == 1)
			break;
		else if (strncmp(line, "s mip", 5) == 0 && strstr(line, " n ") != NULL)
			objective = INFINITY;
	if (f != NULL)
		fclose(f);
	remove(lp);
	remove(out);
	return objective;
}

/* Provider 1 sells lines 0 and 1, spot and on demand; 2 sells line 2. Nested: all of provider 1, on demand and spot in it, all. */
static void
make_rules(struct world *w, struct rng *r, bool quotas, bool shares)
{
	static const double of[3][LINES] = { { 1, 1, 0, 1, 1 }, { 0, 0, 0, 1, 1 }, { 1, 1, 1, 1, 1 } }, limit[3] = { 9, 5, 13 };
	static const double own[3] = { 1, 0, 1 };

	for (size_t q = 0; q < 3; q++) {
		w->owned_weight[q] = own[q], w->owned_takes[0][q] = own[q] * w->owned[0].gpus, w->owned_takes[1][q] = own[q] * w->owned[1].gpus;
		for (size_t i = 0; i < LINES; i++)
			w->weights[q][i] = of[q][i];
		w->quota[q] = (struct commit_quota){ limit[q] + (double)rng_below(r, 3), w->weights[q] };
	}
	for (size_t i = 0; i < LINES; i++)
		w->group[i] = i == 2 ? 2 : 1;
	w->share[0] = (struct commit_share){ 1, 0.2, 0.7 };
	w->share[1] = (struct commit_share){ 2, 0, 0.6 };
	w->rules = (struct commit_shares){ w->share, shares ? 2 : 0, w->group, w->quota, quotas ? 1 + rng_below(r, 3) : 0 };
	w->p.rules = &w->rules;
}

/* Quotas, shares, limits, sizes and a budget at once: GLPK's optimum, or as far from it as is told. */
static void
test_rules(struct rng *r, const char *dir, struct arena *a)
{
	static struct world w;
	int off = 0, above = 0, wrong = 0, proven = 0, checked = 0, none = 0;

	for (int k = 0; k < 16; k++) {
		struct schedule s;
		struct berth_err err;
		enum berth_code rc;
		double theirs;

		make_world(&w, r, k % 3, k % 4 == 3, k % 2 == 1, k % 6 == 5 ? 90 : NAN);
		make_rules(&w, r, k % 8 < 6, k % 4 >= 2);
		theirs = glpk(&w, dir, true);
		rc = schedule_solve(&w.p, a, &s, &err);
		if (rc != BERTH_OK || !isfinite(theirs)) {
			none++;
			wrong += rc == BERTH_OK;
			if (rc != BERTH_OK)
				tap_diag("case %d: %s; %g", k, err.msg, theirs);
			continue;
		}
		checked++;
		off += !(s.cost_usd >= theirs - 1e-7) || !(s.lower_bound_usd <= theirs * (1 + 1e-9) + 1e-7);
		proven += s.optimal;
		above += s.optimal && !(fabs(s.cost_usd - theirs) <= 1e-7 + 1e-9 * theirs);
		if (!s.optimal || off > 0 || above > 0)
			tap_diag("case %d: %.9g, theirs %.9g, bound %.9g", k, s.cost_usd, theirs, s.lower_bound_usd);
		arena_reset(a);
	}
	tap_ok(off == 0 && wrong == 0 && checked == 16, "%d schedules under rules, and %d that there are none for: the bound holds", checked,
	    none);
	tap_ok(above == 0 && proven == 16, "%d of them are proven, and are GLPK's", proven);
}

/* What purchases cost with reserved prices and demand at factors of theirs: hour by hour of the raw paths, by rising price of use. */
static double
price_buys(const struct world *w, const struct schedule *s, double price, double demand)
{
	double sum = 0, total = 0;

	for (size_t k = 0; k < PATHS; k++)
		total += w->weight[k];
	for (size_t i = 0; i < s->n; i++)
		sum += price * w->line[s->buy[i].line].fixed * (double)(w->line[s->buy[i].line].gpus * s->buy[i].count) *
		    (double)((s->buy[i].to < STEPS ? s->buy[i].to : STEPS) - s->buy[i].from);
	for (size_t k = 0; k < PATHS; k++)
		for (int64_t t = 0; t < STEPS; t++) {
			double gpus[7] = { 0 }, usage[7], left = demand * w->gpus[k * STEPS + (size_t)t];

			for (size_t i = 0; i < s->n; i++)
				if (s->buy[i].from <= t && t < s->buy[i].to)
					gpus[s->buy[i].line] += (double)(s->buy[i].count * w->line[s->buy[i].line].gpus);
			for (size_t i = 0; i < LINES; i++)
				usage[i] = (i < 3 ? price : 1) * w->line[i].usage;
			gpus[3] = (double)w->line[3].max_count;
			gpus[4] = w->line[4].max_count == COMMIT_NO_LIMIT ? INFINITY : (double)w->line[4].max_count;
			for (size_t i = 0; i < 2; i++) {
				gpus[5 + i] = w->owned[i].from <= t && t < w->owned[i].to ? w->owned[i].gpus : 0;
				usage[5 + i] = w->owned[i].usage;
			}
			for (int n = 0; n < 7; n++) {
				size_t least = 0;

				for (size_t i = 1; i < 7; i++)
					if (usage[i] < usage[least])
						least = i;
				sum += w->weight[k] / total * usage[least] * fmin(left, gpus[least]);
				left -= fmin(left, gpus[least]);
				usage[least] = INFINITY;
			}
			sum += w->weight[k] / total * left * w->p.unserved;
		}
	return sum;
}

/* The best there is at these factors. */
static double
price_best(const struct world *w, double price, double demand, struct arena *a)
{
	static struct world other;
	struct schedule s;
	struct berth_err err;

	other = *w;
	other.d.gpus = other.gpus;
	other.d.weight = other.weight;
	other.p.demand = &other.d;
	other.p.lines = other.line;
	other.p.term = other.term;
	other.p.owned = other.owned;
	for (size_t i = 0; i < PATHS * STEPS; i++)
		other.gpus[i] *= demand;
	for (size_t i = 0; i < 3; i++) {
		other.line[i].fixed *= price;
		other.line[i].usage *= price;
	}
	return schedule_solve(&other.p, a, &s, &err) == BERTH_OK ? s.cost_usd : INFINITY;
}

/* Just short of a turn nothing is cheaper than what was bought; just past it something is, as was told. */
static void
test_turns(struct rng *r, struct arena *a)
{
	static struct world w;
	int told = 0, near_by = 0, failed = 0, early = 0, late = 0, off = 0;

	for (int k = 0; k < 12; k++) {
		struct schedule s, *now = &s;
		struct schedule_change change;
		const struct schedule_turn *turn[4] = { &change.dearer, &change.cheaper, &change.more, &change.less };
		struct berth_err err;

		make_world(&w, r, k % 3, false, k % 2 == 1, NAN);
		if (k % 4 >= 2)
			make_prices(&w, r, false);
		failed += schedule_solve(&w.p, a, &s, &err) != BERTH_OK ||
		    schedule_change(&w.p, 1, NAN, &now, a, &change, &err) != BERTH_OK;
		off += !(fabs(price_buys(&w, &s, 1, 1) - s.cost_usd) <= 1e-5);	/* of rounded prices */
		for (int i = 0; i < 4; i++) {
			double f = turn[i]->factor, by = 1e-6 * f, price, demand, short_of, past;

			if (isnan(f))
				continue;
			told++;
			near_by += fabs(f / turn[i]->same - 1) <= (i < 2 ? 1e-6 : 5e-3);
			short_of = turn[i]->same + (f > 1 ? -by : by);
			past = f + (f > 1 ? by : -by);
			price = i < 2 ? short_of : 1;
			demand = i < 2 ? 1 : short_of;
			early += price_best(&w, price, demand, a) < price_buys(&w, &s, price, demand) - 2e-5;
			price = i < 2 ? past : 1;
			demand = i < 2 ? 1 : past;
			late += !(price_buys(&w, turn[i]->plan[0], price, demand) < price_buys(&w, &s, price, demand) + 1e-6) ||
			    !(price_best(&w, price, demand, a) < price_buys(&w, &s, price, demand));
		}
		arena_reset(a);
	}
	tap_is_long(failed + off, 0, "what is bought costs what is told");
	tap_ok(told > 24 && near_by == told, "%d factors are told at which others are cheaper", told);
	tap_is_long(early, 0, "just short of them nothing is");
	tap_is_long(late, 0, "just past them what is told is");
}

/* Prices of use: of all one, or many, alone and under all rules. BERTH_FUZZ: so many more. */
static void
test_prices(struct rng *r, const char *dir, struct arena *a)
{
	static struct world w;
	const char *fuzz = getenv("BERTH_FUZZ");
	int cases = 24 + (fuzz == NULL ? 0 : atoi(fuzz)), off = 0, proven = 0, used = 0, checked = 0;

	for (int k = 0; k < cases; k++) {
		struct schedule s;
		struct berth_err err;
		double theirs;
		enum berth_code rc;

		make_world(&w, r, k % 3, k % 4 == 3, k % 2 == 1, k % 6 == 5 ? 40 : NAN);
		make_prices(&w, r, k % 8 == 4);
		if (k % 3 == 2)
			make_rules(&w, r, k % 2 == 0, k % 4 >= 2);
		theirs = glpk(&w, dir, true);
		rc = schedule_solve(&w.p, a, &s, &err);
		if (rc != BERTH_OK || !isfinite(theirs)) {
			off += rc == BERTH_OK ? isinf(theirs) : isfinite(theirs) || rc != BERTH_EINFEASIBLE;
			tap_diag("case %d: %s; %.9g", k, rc == BERTH_OK ? "planned" : err.msg, theirs);	/* NaN: in no time */
			continue;
		}
		checked++;
		proven += s.optimal;
		for (size_t i = 0; i < s.n; i++)
			used += w.line[s.buy[i].line].usage > 0;
		if (!(fabs(s.cost_usd - theirs) <= 1e-7 + 1e-9 * theirs) || s.lower_bound_usd > theirs * (1 + 1e-9) + 1e-7 || !s.optimal) {
			off++;
			tap_diag("case %d: %.9g, theirs %.9g, bound %.9g", k, s.cost_usd, theirs, s.lower_bound_usd);
		}
		arena_reset(a);
	}
	tap_is_long(off, 0, "with prices of use: GLPK's optimum of the raw paths, hour by hour");
	tap_ok(checked > cases / 2 && proven == checked && used > checked / 2, "%d schedules, %d proven, of them %d purchases that ask for "
	    "their use", checked, proven, used);
}

/* USD of purchases of one line [starts], counted step by step on one path. */
static double
count_usd(const struct schedule_problem *p, const int64_t *count, double *bound)
{
	const struct commit_line *l = &p->lines[0];
	double usd = 0;

	*bound = 0;
	for (int64_t t = 0; t < (int64_t)p->demand->n_steps; t++) {
		double have = 0, need = p->demand->gpus[t];

		for (int64_t k = 0; k * p->every <= t; k++)
			have += t < k * p->every + p->term[0] ? (double)(count[k] * l->gpus) : 0;
		*bound += have * l->fixed;
		usd += fmin(have, need) * l->usage + fmax(0, need - have) * p->lines[1].usage;
	}
	return usd + *bound;
}

/* All counts up to `most` at each of n dates. */
static double
count_least(const struct schedule_problem *p, int64_t *count, int64_t k, int64_t n, int64_t most)
{
	double best = INFINITY, bound;

	if (k == n) {
		double usd = count_usd(p, count, &bound);

		return bound <= p->budget * (1 + 1e-10) ? usd : INFINITY;
	}
	for (count[k] = 0; count[k] <= most; count[k]++)
		best = fmin(best, count_least(p, count, k + 1, n, most));
	count[k] = 0;
	return best;
}

/* One offer, one series and a budget: beside all counts there are. */
static void
test_budgets(struct arena *a)
{
	struct rng seeded, *r = &seeded;
	int off = 0, wrong = 0, over = 0, bound = 0;

	rng_seed(r, 17);
	for (int c = 0; c < 300; c++) {
		int64_t dates = 3 + (int64_t)rng_below(r, 3), gpus = 1 + (int64_t)rng_below(r, 4), count[8] = { 0 };
		size_t steps = (size_t)dates * 4 - rng_below(r, 3);
		double demand[24], usage = 0.1 * (double)rng_below(r, 3), least;
		struct commit_line line[2] = { { COMMIT_RESERVED, 0, 0.35 + 0.01 * (double)rng_below(r, 30), usage, gpus, 0, COMMIT_NO_LIMIT, 0 },
			{ COMMIT_ON_DEMAND, 1, 0, 1, 1, 0, COMMIT_NO_LIMIT, 0 } };
		/* a multiple of the steps between dates, so that its end is no date of its own */
		const int64_t term[2] = { 4 * (1 + (int64_t)rng_below(r, 4)), 0 };
		struct commit_demand d = { demand, 1, steps, NULL, 1, false };
		struct schedule_problem p = { &d, line, 2, term, NULL, 0, 4, 10, NAN, 0, 2 + 0.5 * (double)rng_below(r, 60), NULL, 0, NULL };
		struct berth_err err = { 0 };
		struct schedule s;

		for (size_t t = 0; t < steps; t++)
			demand[t] = (double)rng_below(r, 4) + 0.25 * (double)rng_below(r, 4) + (t > 4 && t < 10 ? 2 : 0);
		least = count_least(&p, count, 0, (int64_t)(steps + 3) / 4, (6 + gpus - 1) / gpus);
		if (schedule_solve(&p, a, &s, &err) != BERTH_OK) {
			off++;
			continue;
		}
		bound += s.theta > 0;
		over += s.bound_usd > p.budget * (1 + 1e-9);
		off += !(fabs(s.cost_usd - least) <= 1e-9 * (1 + least));
		wrong += !s.optimal || s.lower_bound_usd > least * (1 + 1e-9);
		arena_reset(a);
	}
	tap_is_long(off + over, 0, "300 worlds of one offer and a budget: the best of all counts");
	tap_is_long(wrong, 0, "and proven");
	tap_ok(bound > 100, "%d budgets bind", bound);
}

int
main(void)
{
	struct arena *a = arena_new();
	char dir[] = "/tmp/berth-schedule.XXXXXX";
	struct rng r;
	static struct world w;
	struct schedule s;
	struct berth_err err = { 0 };
	int off = 0, wrong = 0, above = 0, failed = 0, linear = 0, bought = 0;
	double worst = 0;

	if (mkdtemp(dir) == NULL || system("command -v glpsol >/dev/null 2>&1") != 0) {
		tap_skip("schedules against GLPK", "no glpsol");
		arena_free(a);
		return tap_done();
	}
	rng_seed(&r, 3);
	for (int k = 0; k < 16; k++) {
		double theirs;

		make_world(&w, &r, 1 + k % 2, k >= 8, k % 2 == 1, NAN);
		theirs = glpk(&w, dir, true);
		failed += schedule_solve(&w.p, a, &s, &err) != BERTH_OK;
		off += !(fabs(s.cost_usd - theirs) <= 1e-7 + 1e-9 * theirs);
		wrong += !s.optimal;
		bought += s.n > 0;
		linear += k % 2 == 0 && !(fabs(glpk(&w, dir, false) - theirs) <= 1e-7 + 1e-9 * theirs);
		arena_reset(a);
	}
	tap_is_long(failed, 0, "16 schedules are found");
	tap_is_long(off, 0, "machines of one size: GLPK's optimum of the raw paths");
	tap_is_long(linear, 0, "of single GPUs the linear program has whole numbers too");
	tap_is_long(wrong, 0, "each is proven");
	tap_ok(bought > 8, "and buys something in most");
	for (int k = 0; k < 8; k++) {
		double theirs, bound;

		make_world(&w, &r, 1, false, false, 60);
		theirs = glpk(&w, dir, true);
		bound = glpk(&w, dir, false);
		failed += schedule_solve(&w.p, a, &s, &err) != BERTH_OK;
		off += !(s.bound_usd <= 60 + 1e-6) || !(s.lower_bound_usd >= bound - 1e-6 * bound);
		above += !(fabs(s.cost_usd - theirs) <= 1e-7 + 1e-9 * theirs);
		wrong += !s.optimal;
		arena_reset(a);
	}
	tap_is_long(off, 0, "a budget is kept, and the bound is no less than that of the linear program");
	tap_is_long(above, 0, "and the plan is GLPK's optimum");
	tap_is_long(wrong, 0, "which is proven");
	test_budgets(a);
	worst = 0;
	for (int k = 0; k < 8; k++) {
		double theirs;

		make_world(&w, &r, 0, false, true, NAN);
		theirs = glpk(&w, dir, true);
		failed += schedule_solve(&w.p, a, &s, &err) != BERTH_OK;
		above += !(s.lower_bound_usd <= theirs + 1e-6) || !(s.cost_usd >= theirs - 1e-6);
		worst = fmax(worst, s.cost_usd / theirs - 1);
		arena_reset(a);
	}
	tap_is_long(failed + above, 0, "machines of several sizes: the bound and the plan stand on their sides of the optimum");
	tap_ok(worst < 0.02, "the plan is %.2f %% above it at most", 100 * worst);
	test_rules(&r, dir, a);
	test_prices(&r, dir, a);
	test_turns(&r, a);
	make_world(&w, &r, 1, false, true, 0);
	tap_code(schedule_solve(&w.p, a, &s, &err), BERTH_OK, &err);
	tap_is_long((long)s.n, 0, "no budget buys nothing");
	w.p.budget = NAN;
	w.term[0] = 0;
	tap_code(schedule_solve(&w.p, a, &s, &err), BERTH_EINVAL, &err);
	rmdir(dir);
	arena_free(a);
	return tap_done();
}
