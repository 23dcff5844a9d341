#include <math.h>
#include <string.h>

#include "plan/schedule_rules.h"
#include "util/arena.h"

#define PRICE_STEPS 40    /* at most */
#define PRICE_STILL 8     /* steps that do not raise the bound, after which it ends */
#define PRICE_LITTLE 1e-6 /* of the bound */
#define PRICE_SMOOTH 0.3
#define PRICE_FIRST 8
#define PRICE_PLANS 2  /* steps between two plans of whole machines */
#define PRICE_WORK 2e7 /* cells of tableaus for whole machines of one member */

/*
 * In each hour what is bought and what is used of a quota keep its limit. With a price on that
 * (Everett 1963) the members part: each buys at its own dates, against hours that have prices of
 * their own, which is a flow. Prices are those of the hours' program at the mean of the flows so
 * far (Frank & Wolfe 1956, with the members' own costs left as they are: Larsson & Migdalas 1990),
 * and any prices make a bound.
 */
struct price {
	struct rules *s;
	double *mean, *flow; /* [n_offers] purchases */
	bool single;         /* hours are looked at one by one */
	bool whole;          /* flows of whole machines */
	bool root;           /* prices are those of the program as it was solved last */
	double *saves;       /* [n_atoms][n_quotas] USD, of the stretch that is looked at */
	double **kept;       /* [stretches] those of the steps so far, the last ones most */
	size_t steps;
	double *sum;                      /* [stretches][n_quotas] USD, of all hours of each */
	double theta;                     /* of the budget */
	struct schedule_work *w;          /* [n] with prices in their hours and offers */
	double **usd;                     /* [n] as those have it */
	struct schedule_problem *problem; /* [n] */
};

/* Prices of one step alone swing with its purchases where the quotas bind in most hours. */
static void
price_smooth(struct price *p, size_t t)
{
	struct rules *s = p->s;
	size_t n = s->r[t].n_atoms * s->n_quotas;
	double part = p->steps == 0 ? 1 : PRICE_SMOOTH;

	if (p->kept[t] == NULL)
		p->kept[t] = arena_array(s->a, n + 1, sizeof(**p->kept));
	for (size_t i = 0; i < n; i++)
		p->kept[t][i] += part * (p->saves[i] - p->kept[t][i]);
	p->saves = p->kept[t];
}

/* The prices that the program has: of each tangent by its own, of the hours where it was taken. */
static void
price_root(struct price *p, size_t t, struct arena *a)
{
	struct rules *s = p->s;
	size_t n = s->r[t].n_atoms * s->n_quotas;

	s->at.each_saves = arena_array(a, n + 1, sizeof(double));
	for (size_t i = 0; i < s->n_pieces; i++) {
		const size_t at = t * s->n_pieces + i;

		for (size_t k = 0; k < s->cut[at].n && s->piece[i].member == s->n; k++) {
			const struct rules_cut *c = &s->cut[at].v[k];
			double part = c->row != SIZE_MAX ? linear_price(&s->lp, c->row) : 0;

			if (part <= 0)
				continue;
			commit_recourse_at(&s->r[t], c->now, &s->at);
			s->work += 8 * (double)(s->r[t].n_atoms * s->n * (s->n + s->n_quotas));
			for (size_t h = 0; h < n; h++)
				p->saves[h] += part * s->at.each_saves[h];
		}
	}
	s->at.each_saves = NULL;
}

/* The prices of a stretch's hours at p->mean, and what the members' hours cost at those. */
static void
price_hours(struct price *p, size_t t)
{
	struct rules *s = p->s;
	struct arena *a = arena_new();
	struct commit_recourse was = s->r[t], *r = &s->r[t];

	if (p->single)
		was = rules_each(s, t, a);
	p->saves = arena_array(a, r->n_atoms * s->n_quotas + 1, sizeof(*p->saves));
	if (p->root) {
		price_root(p, t, a);
	} else {
		s->at.each_saves = p->saves;
		rules_at(s, t, p->mean);
		s->at.each_saves = NULL;
	}
	if (!p->single)
		price_smooth(p, t);
	for (size_t q = 0; q < s->n_quotas; q++) {
		double sum = 0;

		for (size_t h = 0; h < r->n_atoms; h++)
			sum += r->weight[h] * p->saves[h * s->n_quotas + q];
		p->sum[t * s->n_quotas + q] = sum * s->hours[t];
	}
	for (size_t q = 0; q < s->n_quotas && !p->root; q++)
		p->sum[t * s->n_quotas + q] += s->bought[t * s->n_quotas + q];
	for (size_t i = 0; i < s->rows && p->root; i++)
		if (s->row.v[i].stretch == t && s->row.v[i].quota != SIZE_MAX &&
		    s->row.v[i].member == s->n)
			p->sum[t * s->n_quotas + s->row.v[i].quota] += linear_price(&s->lp, i);
	for (size_t k = 0; k < s->n; k++)
		rules_price_stretch(
		    s, t, k, p->saves, p->usd[k] + t * ((size_t)s->w[k].rest.levels + 1));
	s->work += (double)(16 * r->n_atoms * s->n);
	was.failed = was.failed || r->failed;
	*r = was;
	arena_free(a);
}

/* Offers of a member at the prices that its machines have in the quotas, and of money. */
static void
price_offers(struct price *p, size_t k)
{
	struct rules *s = p->s;

	for (size_t j = s->at_member[k]; j < s->at_member[k + 1]; j++) {
		const struct rules_offer *o = &s->offer[j];
		double usd = (1 + p->theta) * o->usd;

		for (size_t q = 0; q < s->n_quotas; q++)
			for (size_t t = o->from; t < o->to; t++)
				usd += p->sum[t * s->n_quotas + q] * o->gpus *
				       s->member[k].rules->quota[q].weight[o->line];
		p->w[k].offer.v[j - s->at_member[k]].cost.v = (int64_t)fmin(9e17, floor(usd * 1e6));
	}
}

/* The least of whole machines of a member at these prices, into p->flow; the bound, which is no
 * less than the flow's. Its shares and quotas are left out: those of all are in the prices. */
static double
price_whole(struct price *p, size_t k)
{
	struct rules *s = p->s;
	struct schedule_work w = p->w[k];
	struct schedule_problem alone = *w.p;
	struct schedule plan, *out = &plan;
	struct schedule_effort e = { .work = PRICE_WORK };
	struct arena *a = arena_new();
	int64_t *const *start = &w.count;
	struct berth_err ignored;
	bool ruled;
	enum berth_code rc;

	alone.rules = NULL;
	w.p = &alone;
	w.a = a;
	w.priced = true;
	w.n_bands = 1;
	w.band_of = arena_array(a, alone.n_lines + 1, sizeof(*w.band_of));
	w.count = arena_array(a, w.offer.n + 1, sizeof(*w.count));
	rc = schedule_flow(&w, out, &ruled, &ignored);
	if (rc == BERTH_OK)
		rc = schedule_rules_solve(&w, 1, NAN,
		    isinf(plan.lower_bound_usd) ? -INFINITY : plan.lower_bound_usd, &start, 1, &e,
		    &out, &ignored);
	for (size_t j = s->at_member[k]; j < s->at_member[k + 1] && rc == BERTH_OK; j++)
		p->flow[j] = (double)w.count[j - s->at_member[k]];
	s->work += e.used;
	arena_free(a);
	return rc == BERTH_OK ? plan.lower_bound_usd : -INFINITY;
}

/* All members' flows at the prices of p->mean, into p->flow; the bound. -INFINITY: none. */
static double
price_bound(struct price *p)
{
	struct rules *s = p->s;
	double usd = isnan(s->budget) ? 0 : -p->theta * s->budget;

	for (size_t t = 0; t < s->stretches; t++)
		price_hours(p, t);
	for (size_t t = 0; t < s->stretches; t++)
		for (size_t q = 0; q < s->n_quotas; q++)
			usd -= p->sum[t * s->n_quotas + q] * s->r[t].quota[q];
	for (size_t k = 0; k < s->n; k++) {
		struct terms_plan plan;
		struct berth_err ignored;

		price_offers(p, k);
		if (p->whole) {
			usd += price_whole(p, k);
			continue;
		}
		p->w[k].a = arena_new();
		if (schedule_bound(&p->w[k], &plan, &ignored) != BERTH_OK)
			usd = -INFINITY;
		for (size_t j = s->at_member[k]; j < s->at_member[k + 1] && isfinite(usd); j++)
			p->flow[j] = (double)plan.count[j - s->at_member[k]] / s->offer[j].gpus;
		arena_free(p->w[k].a);
		usd += isfinite(usd) ? plan.lower_bound_usd : 0;
	}
	return usd;
}

/* Fewer machines until what is bought keeps the quotas: the dearest of an hour first. */
static void
price_mend(const struct rules *s, double *x)
{
	for (size_t r = 0; r < s->rows; r++) {
		double over = -s->lp.b[r];

		if (s->row.v[r].quota == SIZE_MAX || s->row.v[r].member < s->n)
			continue;
		for (size_t j = 0; j < s->n_offers; j++)
			over += s->lp.a[r][j] * x[j];
		while (over > RULES_ROOM * (1 + fabs(s->lp.b[r]))) {
			size_t worst = s->n_offers;
			double most = -1;

			for (size_t j = 0; j < s->n_offers; j++) {
				double usd = s->offer[j].usd /
					     (s->offer[j].gpus *
						 (double)(s->offer[j].to - s->offer[j].from));

				if (x[j] < 1 || s->lp.a[r][j] <= 0 || usd <= most)
					continue;
				most = usd;
				worst = j;
			}
			if (worst == s->n_offers)
				return;
			x[worst]--;
			over -= s->lp.a[r][worst];
		}
	}
}

/* Whole machines at these prices. */
static void
price_plan(struct price *p)
{
	struct rules *s = p->s;
	double *x = arena_array(s->a, s->n_offers + 1, sizeof(*x));
	bool found = true;

	for (size_t k = 0; k < s->n; k++) {
		struct schedule ignored;
		struct berth_err why;
		bool ruled;

		p->w[k].a = arena_new();
		found = schedule_flow(&p->w[k], &ignored, &ruled, &why) == BERTH_OK && found;
		for (size_t j = s->at_member[k]; j < s->at_member[k + 1]; j++)
			x[j] = (double)p->w[k].count[j - s->at_member[k]];
		arena_free(p->w[k].a);
	}
	if (!found)
		return;
	price_mend(s, x);
	rules_try(s, x);
}

static double
price_money(const struct rules *s, const double *x)
{
	double usd = 0;

	for (size_t j = 0; j < s->n_offers; j++)
		usd += x[j] * s->offer[j].usd;
	return usd;
}

static void
price_init(struct price *p, double *x)
{
	struct rules *s = p->s;

	p->mean = x;
	if (s->bought == NULL)
		s->bought = arena_array(s->a, s->stretches * s->n_quotas + 1, sizeof(*s->bought));
	p->flow = arena_array(s->a, s->n_offers + 1, sizeof(*p->flow));
	p->sum = arena_array(s->a, s->stretches * s->n_quotas + 1, sizeof(*p->sum));
	p->w = arena_memdup(s->a, s->w, s->n * sizeof(*p->w));
	p->kept = arena_array(s->a, s->stretches, sizeof(*p->kept));
	p->usd = arena_array(s->a, s->n, sizeof(*p->usd));
	p->problem = arena_array(s->a, s->n, sizeof(*p->problem));
	for (size_t k = 0; k < s->n; k++) {
		struct schedule_work *w = &p->w[k];

		p->problem[k] = *w->p;
		p->problem[k].theta = 0;
		p->problem[k].budget = NAN;
		p->usd[k] =
		    arena_array(s->a, w->rest.n * ((size_t)w->rest.levels + 1), sizeof(**p->usd));
		w->p = &p->problem[k];
		w->usd = p->usd[k];
		w->rest.usd = p->usd[k];
		w->offer.v = arena_array(s->a, w->offer.n + 1, sizeof(*w->offer.v));
		if (w->offer.n > 0)
			memcpy(w->offer.v, s->w[k].offer.v, w->offer.n * sizeof(*w->offer.v));
		w->count = arena_array(s->a, w->offer.n + 1, sizeof(*w->count));
	}
}

/* The dearest use on demand, USD an hour: how fast prices of what is bought move. */
static double
price_rate(const struct rules *s)
{
	double usd = 0;

	for (size_t v = 0; v < s->n_servers; v++) {
		const struct commit_server *sv = &s->server[v];

		if (sv->column == COMMIT_NOT_BOUGHT && sv->usage < s->w[sv->member].p->unserved)
			usd = fmax(usd, sv->usage);
	}
	return usd;
}

/* Hours price what is used beside purchases; that these alone keep a quota has a price too, which
 * rises where they are more than that. */
static void
price_bought(struct price *p, double part)
{
	struct rules *s = p->s;
	double rate = price_rate(s),
	       *used = arena_array(s->scratch, s->n_quotas + 1, sizeof(*used));

	for (size_t t = 0; t < s->stretches; t++) {
		memset(used, 0, s->n_quotas * sizeof(*used));
		for (size_t j = 0; j < s->n_offers; j++)
			for (size_t q = 0; q < s->n_quotas && rules_runs(s, j, t); q++)
				used[q] += p->flow[j] * s->offer[j].gpus *
					   s->member[s->offer[j].member]
					       .rules->quota[q]
					       .weight[s->offer[j].line];
		for (size_t q = 0; q < s->n_quotas; q++) {
			double *usd = &s->bought[t * s->n_quotas + q], most = s->r[t].quota[q];

			*usd = fmax(
			    0, *usd + part * rate * s->hours[t] * (used[q] - most) / fmax(1, most));
		}
	}
}

/* Toward the flows of now, by a part that falls with the steps. */
static void
price_step(struct price *p, size_t i)
{
	struct rules *s = p->s;
	double part = 2 / (double)(i + 2);

	p->steps++;
	if (!isnan(s->budget) && s->budget > 0)
		p->theta = fmax(0, p->theta + part * (price_money(s, p->flow) / s->budget - 1));
	price_bought(p, part);
	for (size_t j = 0; j < s->n_offers; j++)
		p->mean[j] += part * (p->flow[j] - p->mean[j]);
}

/* What one more of a quota, and of the budget, would save. */
static void
price_tell(const struct price *p)
{
	struct rules *s = p->s;

	for (size_t q = 0; q < s->n_quotas; q++) {
		s->price[q] = 0;
		for (size_t t = 0; t < s->stretches; t++)
			s->price[q] += p->sum[t * s->n_quotas + q];
	}
	s->budget_price = p->theta;
}

double
rules_price(struct rules *s, double *x, size_t from, size_t steps)
{
	struct price p = { .s = s };
	double best = -INFINITY;
	size_t still = 0;

	price_init(&p, x);
	for (size_t i = from; i < from + steps && still < PRICE_STILL && rules_better(s, best);
	     i++) {
		double usd = price_bound(&p);

		if (usd > best)
			price_tell(&p);
		still = usd > best + PRICE_LITTLE * fabs(best) || i <= PRICE_FIRST ? 0 : still + 1;
		best = fmax(best, usd);
		if (i > PRICE_FIRST && i % PRICE_PLANS == 0)
			price_plan(&p);
		price_step(&p, i);
	}
	return best;
}

double
rules_price_single(struct rules *s, double *x, bool root)
{
	struct price p = { .s = s, .single = true, .whole = true, .root = root };
	double usd;

	price_init(&p, x);
	if (root && !isnan(s->budget))
		p.theta = s->budget_price;
	usd = price_bound(&p);
	if (isinf(usd))
		return usd;
	price_mend(s, p.flow);
	rules_try(s, p.flow);
	return usd;
}
