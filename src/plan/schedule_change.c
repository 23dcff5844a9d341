#include <math.h>
#include <string.h>

#include "plan/commit_joint.h"
#include "plan/schedule_impl.h"
#include "util/arena.h"

#define CHANGE_REACH 4.0     /* reserved prices: times as dear, or a quarter */
#define CHANGE_STEPS 12      /* solves for one turn at most */
#define CHANGE_PRICE_CUTS 24 /* halvings between two factors */
#define CHANGE_DEMAND_CUTS 8
#define CHANGE_WORK 6e8  /* of all solves of one turn, in cells of tableaus */
#define CHANGE_LEAST 1e7 /* of one, however little it is */
#define CHANGE_PART 4    /* ... of which one has at most this part */
#define CHANGE_TINY 1e-9
#define CHANGE_MEANS 1e-6 /* of the cost, where hours are taken as one */

struct change {
	const struct schedule_problem *p; /* [n] */
	size_t n;
	double budget;
	struct schedule *const *now;
	double gap, work;
	const struct commit_recourse *hours;
	const struct schedule_work *like; /* [n] at the factor 1 */
	bool price;                       /* the factor is of reserved prices; else of demand */
	bool straight;                    /* what schedules cost is a line in the factor */
	struct arena *a;
};

/* Schedules of all, and what they cost at one factor. */
struct change_plan {
	struct schedule **s; /* [n] */
	double usd, bound;
};

static const struct commit_line *
change_lines(const struct schedule_problem *p, double price, struct arena *a)
{
	struct commit_line *line = arena_array(a, p->n_lines + 1, sizeof(*line));

	for (size_t i = 0; i < p->n_lines; i++) {
		line[i] = p->lines[i];
		if (line[i].kind != COMMIT_RESERVED)
			continue;
		line[i].fixed *= price;
		line[i].usage = fmin(line[i].usage * price, p->unserved * (1 - 1e-9));
	}
	return line;
}

/* The problems at a factor, as works. */
static enum berth_code
change_works(const struct change *c, double factor, struct arena *a, struct schedule_work **w_out,
    struct berth_err *err)
{
	struct schedule_problem *p = arena_memdup(a, c->p, c->n * sizeof(*p));

	*w_out = arena_array(a, c->n, sizeof(**w_out));
	for (size_t k = 0; k < c->n; k++) {
		p[k].theta = 0;
		p[k].budget = c->n == 1 ? c->budget : NAN;
		if (c->price)
			p[k].lines = change_lines(&p[k], factor, a);
		else
			p[k].peak *= factor;
	}
	return schedule_meet(*w_out, p, c->n, c->like, c->price ? 1 : factor, a, err);
}

static int64_t **
change_counts(const struct change *c, const struct schedule_work *w, struct schedule *const *s,
    struct arena *a)
{
	int64_t **count = arena_array(a, c->n, sizeof(*count));

	for (size_t k = 0; k < c->n; k++)
		count[k] = schedule_counts(&w[k], s[k]);
	return count;
}

/* Each by itself, to begin with. *whole: there is nothing more to see to. */
static enum berth_code
change_flows(const struct change *c, struct schedule_work *w, struct schedule **s, int64_t ***count,
    bool *whole, struct arena *a, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	*count = arena_array(a, c->n, sizeof(**count));
	*whole = c->n == 1;
	for (size_t k = 0; k < c->n && rc == BERTH_OK; k++) {
		bool ruled;

		rc = schedule_flow(&w[k], s[k], &ruled, err);
		(*count)[k] = arena_memdup(a, w[k].count, (w[k].offer.n + 1) * sizeof(int64_t));
		*whole = *whole && !ruled;
	}
	return rc;
}

static struct schedule **
change_new(size_t n, struct arena *a)
{
	struct schedule **s = arena_array(a, n, sizeof(*s));

	for (size_t k = 0; k < n; k++) {
		s[k] = arena_array(a, 1, sizeof(**s));
		s[k]->cost_usd = NAN;
	}
	return s;
}

/* What is bought of them, kept beyond the solve. */
static void
change_keep(
    const struct change *c, struct schedule_work *w, struct schedule **s, struct change_plan *out)
{
	out->usd = out->bound = 0;
	out->s = change_new(c->n, c->a);
	for (size_t k = 0; k < c->n; k++) {
		schedule_report(&w[k], s[k]);
		out->usd += s[k]->cost_usd;
		out->bound += s[k]->bound_usd;
		out->s[k]->buy = arena_memdup(c->a, s[k]->buy, (s[k]->n + 1) * sizeof(*s[k]->buy));
		out->s[k]->n = s[k]->n;
		out->s[k]->cost_usd = s[k]->cost_usd;
		out->s[k]->bound_usd = s[k]->bound_usd;
	}
}

/* Hours of all stretches, kept beyond the solve. */
static const struct commit_recourse *
change_hours(const struct change *c, const struct commit_recourse *r, size_t stretches)
{
	struct commit_recourse *out = arena_memdup(c->a, r, stretches * sizeof(*r));

	for (size_t t = 0; t < stretches; t++) {
		size_t n = r[t].n_atoms;

		out[t].demand = arena_memdup(c->a, r[t].demand, n * c->n * sizeof(*r[t].demand));
		out[t].weight = arena_memdup(c->a, r[t].weight, n * sizeof(*r[t].weight));
	}
	return out;
}

/*
 * The best at a factor, from the schedules in from [n_from]; what cannot cost less than `enough` is
 * not looked for. work < 0: the first of those that keep the rules is priced. BERTH_EINFEASIBLE:
 * there is none.
 */
static enum berth_code
change_run(struct change *c, double factor, double work, double enough,
    struct schedule *const *const *from, size_t n_from, struct change_plan *out,
    struct berth_err *err)
{
	struct arena *a = arena_new();
	struct schedule_work *w;
	struct schedule **s = change_new(c->n, a);
	struct schedule_effort e = {
		.work = work, .hours = c->hours, .scale = 1, .enough = enough
	};
	int64_t **start[3], *const *given[3];
	bool whole = false;
	size_t n = 0;
	enum berth_code rc = change_works(c, factor, a, &w, err);

	e.scale = c->price ? 1 : factor;
	if (rc == BERTH_OK && work >= 0) {
		rc = change_flows(c, w, s, &start[0], &whole, a, err);
		n += rc == BERTH_OK;
		if (rc == BERTH_EINFEASIBLE && c->n > 1) /* what begins elsewhere may be there */
			rc = BERTH_OK;
	}
	for (size_t k = 0; k < n_from && rc == BERTH_OK && !whole; k++)
		if (from[k] != NULL)
			start[n++] = change_counts(c, w, from[k], a);
	for (size_t k = 0; k < n; k++)
		given[k] = start[k];
	for (size_t k = 0; k < c->n && !whole; k++)
		*s[k] = (struct schedule){ .cost_usd = NAN };
	if (rc == BERTH_OK && !whole)
		rc = schedule_rules_solve(w, c->n, c->budget, -INFINITY, given, n, &e, s, err);
	c->work -= fmax(e.used, CHANGE_LEAST);
	if (rc == BERTH_OK)
		change_keep(c, w, s, out);
	if (rc == BERTH_OK && c->hours == NULL && e.left != NULL)
		c->hours = change_hours(c, e.left, w->rest.n);
	arena_free(a);
	return rc;
}

static bool
change_better(const struct change *c, double usd, double now)
{
	return usd < now * (1 - c->gap - CHANGE_TINY) || (isinf(now) && isfinite(usd));
}

/* The best there is, from the schedules of now, which cost so much, and others. False: nothing
 * better, or not in reach. */
static bool
change_solve(struct change *c, double factor, double now, struct schedule *const *other,
    struct change_plan *out)
{
	struct schedule *const *from[2] = { c->now, other };
	struct berth_err ignored;
	double work = fmin(c->work, CHANGE_WORK / CHANGE_PART);

	if (work <= 0)
		return false;
	return change_run(c, factor, work, now * (1 - c->gap - CHANGE_TINY), from, 2, out,
		   &ignored) == BERTH_OK &&
	       change_better(c, out->usd, now);
}

/* USD of schedules [n] at a factor, INFINITY where they keep no rules. */
static void
change_usd(struct change *c, double factor, struct schedule *const *const *s, size_t n, double *usd)
{
	struct arena *a = arena_new();
	struct schedule_work *w;
	struct schedule **out = change_new(c->n, a);
	struct schedule_effort e = {
		.work = -1, .hours = c->hours, .scale = c->price ? 1 : factor, .priced = usd
	};
	int64_t *const *start[2];
	struct berth_err ignored;
	enum berth_code rc = change_works(c, factor, a, &w, &ignored);

	for (size_t i = 0; i < n; i++) {
		usd[i] = INFINITY;
		start[i] = rc == BERTH_OK ? change_counts(c, w, s[i], a) : NULL;
	}
	if (rc == BERTH_OK && schedule_rules_solve(w, c->n, c->budget, -INFINITY, start, n, &e, out,
				  &ignored) == BERTH_EFAIL)
		usd[0] = INFINITY;
	arena_free(a);
}

/* Two factors between same and turned: at the first those of now still cost no more than the
 * others, at the second they do; one where both cost the same. */
static void
change_cross(struct change *c, const struct change_plan *now, const struct change_plan *other,
    double *same, double *turned)
{
	double bound = other->bound / (c->price ? *turned : 1), rest = other->usd - other->bound;
	double cross = (rest - (now->usd - now->bound)) / (now->bound - bound);

	if (c->straight && cross > fmin(*same, *turned) && cross < fmax(*same, *turned)) {
		*same = *turned = cross;
		return;
	}
	for (int k = 0; k < (c->price ? CHANGE_PRICE_CUTS : CHANGE_DEMAND_CUTS); k++) {
		double mid = c->price ? sqrt(*same * *turned) : (*same + *turned) / 2, usd[2];
		struct schedule *const *both[2] = { other->s, c->now };

		change_usd(c, mid, both, 2, usd);
		*(change_better(c, usd[0], usd[1]) ? turned : same) = mid;
	}
}

static double
change_now(struct change *c, const struct change_plan *now, double factor)
{
	double usd = factor * now->bound + now->usd - now->bound;

	if (!c->straight)
		change_usd(c, factor, &c->now, 1, &usd);
	return usd;
}

static void
change_turn(
    struct change *c, const struct change_plan *now, double reach, struct schedule_turn *out)
{
	struct change_plan other, at;
	double turned = reach, same = 1;

	*out = (struct schedule_turn){ NAN, NAN, NULL };
	c->work = CHANGE_WORK;
	if (!change_solve(c, reach, change_now(c, now, reach), NULL, &other))
		return;
	for (int k = 0; k < CHANGE_STEPS; k++) {
		same = 1;
		change_cross(c, now, &other, &same, &turned);
		if (same == 1 || !change_solve(c, same, change_now(c, now, same), other.s, &at))
			break;
		other = at;
		turned = same;
	}
	*out = (struct schedule_turn){ turned, same, other.s };
}

static bool
change_used(const struct schedule_problem *p, size_t n)
{
	for (size_t k = 0; k < n; k++)
		for (size_t i = 0; i < p[k].n_lines; i++)
			if (p[k].lines[i].kind == COMMIT_RESERVED && p[k].lines[i].usage > 0)
				return true;
	return false;
}

enum berth_code
schedule_change(const struct schedule_problem *p, size_t n, double budget,
    struct schedule *const *now, struct arena *a, struct schedule_change *out,
    struct berth_err *err)
{
	static const struct schedule_turn none = { NAN, NAN, NULL };
	struct change c = { .p = p, .n = n, .budget = budget, .now = now, .a = a, .price = true };
	struct change_plan is;
	struct schedule_work *like;
	double cost = 0, lower = 0;
	enum berth_code rc;

	*out = (struct schedule_change){ none, none, none, none };
	rc = change_works(&c, 1, a, &like, err);
	if (rc != BERTH_OK)
		return rc;
	c.like = like;
	rc = change_run(
	    &c, 1, -1, INFINITY, &now, 1, &is, err); /* and its hours, parted as they are used */
	if (rc != BERTH_OK)
		return rc == BERTH_EINFEASIBLE ? BERTH_OK : rc;
	for (size_t k = 0; k < n; k++) {
		cost += now[k]->cost_usd;
		lower += now[k]->lower_bound_usd;
	}
	c.gap = fmax(0, 1 - lower / fmax(cost, 1e-9)) + (c.hours != NULL ? CHANGE_MEANS : 0);
	c.straight = isnan(budget) && !change_used(p, n);
	change_turn(&c, &is, CHANGE_REACH, &out->dearer);
	change_turn(&c, &is, 1 / CHANGE_REACH, &out->cheaper);
	c.price = c.straight = false;
	change_turn(&c, &is, 2, &out->more);
	change_turn(&c, &is, 0.5, &out->less);
	return BERTH_OK;
}
