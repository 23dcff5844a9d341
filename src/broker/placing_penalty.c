/* What it weighs to leave a job out: priority, then fair shares between users. */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "broker/placing_impl.h"
#include "util/arena.h"
#include "util/strmap.h"

#define PLACING_PENALTY                                                                            \
	10.0 /* times the dearest candidate: a job is left out only when nothing fits */
#define PLACING_LEVEL                                                                              \
	10.0                /* a level of priority weighs at least so many times the one below it  \
			     */
#define PLACING_WEIGHTS 1e9 /* highest level over lowest: beyond it sums lose the cents */

static double
placing_gpus(const struct job *j)
{
	const struct job_variant *v = j->spec.n_variants > 0 ? &j->spec.variants[0] : NULL;

	return v == NULL ? 0 : (double)(v->count_min * (v->nodes > 1 ? v->nodes : 1));
}

double *
placing_holds(struct placing_work_space *w, const size_t *start)
{
	double *holds = arena_array(w->a, w->n_jobs, sizeof(*holds)),
	       *of = arena_array(w->a, w->n_jobs + w->n_running, sizeof(*of));
	struct strmap users = { 0 };

	for (size_t i = 0; i < w->n_running; i++)
		of[*strmap_add(w->a, &users, w->running[i].spec.user, i, NULL)] +=
		    placing_gpus(&w->running[i]);
	for (size_t i = 0; i < w->n_jobs; i++) {
		double *mine = &of[*strmap_add(
		    w->a, &users, w->jobs[i].job.spec.user, w->n_running + i, NULL)];

		/* what can go nowhere takes nothing from anybody */
		holds[i] = *mine + (start[i + 1] > start[i] ? placing_gpus(&w->jobs[i].job) : 0);
		if (i < w->n_own)
			*mine = holds[i];
	}
	return holds;
}

/*
 * What jobs outweigh one another by. At one priority a job that has begun under a deadline goes
 * before those that have not; with shares, those that fit when their turn comes stand over all
 * others.
 */
int64_t
placing_level(const struct placing_work_space *w, size_t i)
{
	const struct job *j = &w->jobs[i].job;
	int64_t level = 2 * j->spec.priority + (j->spec.deadline > 0 && placing_begun(j));

	return w->ranks == NULL ? level : 2 * level + w->ranks[i].in;
}

/* The dearest that any job can become: its dearest candidate, and the farthest move of its input.
 */
static double
placing_dearest(const struct placing_work_space *w, const size_t *start)
{
	double most = 1, far = 0, gib = 0;

	for (size_t k = 0; k < start[w->n_jobs]; k++)
		most = fmax(most, w->cost.v[k]);
	for (size_t x = 0; w->chained && x < w->chain.n_places * w->chain.n_places; x++)
		far = fmax(far, w->chain.move[x]);
	for (size_t i = 0; w->chained && i < w->n_jobs; i++)
		gib = fmax(gib, w->chain.gib[i]);
	return most + far * gib;
}

/*
 * Weight of each level of priority [n], highest last: one job outweighs all jobs of lower levels
 * together, of which each may weigh up to twice its level and its own cost. Where that would go
 * beyond PLACING_WEIGHTS all steps shrink alike.
 */
static void
placing_weights(const size_t *jobs, size_t n, double *weight)
{
	double below = 0, shrink = 1;

	for (size_t l = 0; l < n; l++) {
		weight[l] = l == 0 ? 1 : fmax(PLACING_LEVEL * weight[l - 1], 1.01 * below);
		below += (2 + 1 / PLACING_PENALTY) * (double)jobs[l] * weight[l];
		if (!isfinite(below))
			weight[l] = below = weight[l - 1];
	}
	if (n > 0 && weight[n - 1] > PLACING_WEIGHTS)
		shrink = log(PLACING_WEIGHTS) / log(weight[n - 1]);
	for (size_t l = 0; shrink < 1 && l < n; l++)
		weight[l] = pow(weight[l], shrink);
}

struct placing_standing {
	int64_t level;
	double behind; /* turns or GPUs before it: fewer go first */
	size_t job;
};

static int
placing_cmp_standing(const void *a, const void *b)
{
	const struct placing_standing *x = a, *y = b;

	if (x->level != y->level)
		return x->level < y->level ? -1 : 1;
	return (x->behind > y->behind) - (x->behind < y->behind);
}

/*
 * What leaving each job out weighs beside its level's weight, 1 to 2: even steps between those who
 * stand differently at one level. s [n] sorted.
 */
static void
placing_steps(const struct placing_standing *s, size_t n, double *step)
{
	for (size_t i = 0, end; i < n; i = end) {
		size_t k = 0, kinds = 1;

		for (end = i + 1; end < n && s[end].level == s[i].level; end++)
			kinds += s[end].behind > s[end - 1].behind;
		for (size_t j = i; j < end; j++) {
			k += j > i && s[j].behind > s[j - 1].behind;
			step[s[j].job] = 1 + (double)(kinds - k) / (double)kinds;
		}
	}
}

/* The least that a job can cost: left out, it does not gain by it against a dearer one. */
static double
placing_own_cost(const struct placing_work_space *w, const size_t *start, size_t i)
{
	double least = w->cost.v[start[i]];

	for (size_t k = start[i] + 1; k < start[i + 1]; k++)
		least = fmin(least, w->cost.v[k]);
	return least;
}

/* Who is left out for whom: level by level, and in each by turns or by GPUs held. */
static size_t
placing_standings(
    struct placing_work_space *w, const size_t *start, struct placing_standing *standing)
{
	const double *holds = placing_holds(w, start);
	size_t n = 0;

	for (size_t i = 0; i < w->n_jobs; i++) {
		struct placing_turn *t = &w->jobs[i].turn;

		t->counted = holds[i];
		t->weight = 1;
		if (w->ranks != NULL) {
			t->rank = w->ranks[i].rank;
			t->counted = w->ranks[i].counted;
		}
		if (w->ranks != NULL && i < w->n_own) {
			t->weight =
			    w->shares.owners[shares_owner(&w->shares, &w->jobs[i].job)].weight;
		}
		if (start[i + 1] > start[i])
			standing[n++] = (struct placing_standing){ .level = placing_level(w, i),
				.behind = w->ranks != NULL ? (double)t->rank : holds[i],
				.job = i };
	}
	qsort(standing, n, sizeof(*standing), placing_cmp_standing);
	return n;
}

double *
placing_penalties(struct placing_work_space *w, const size_t *start)
{
	double *penalty = arena_array(w->a, w->n_jobs, sizeof(*penalty)),
	       *step = arena_array(w->a, w->n_jobs, sizeof(*step)),
	       *weight = arena_array(w->a, w->n_jobs, sizeof(*weight));
	double most = PLACING_PENALTY * placing_dearest(w, start);
	size_t *jobs = arena_array(w->a, w->n_jobs, sizeof(*jobs)), n, levels = 0;
	struct placing_standing *s = arena_array_of(w->a, w->n_jobs, struct placing_standing);

	if (w->o->shares != NULL)
		placing_share_order(w, start);
	n = placing_standings(w, start, s);
	for (size_t i = 0; i < n; i++) {
		levels += i == 0 || s[i].level != s[i - 1].level;
		jobs[levels - 1]++;
	}
	placing_weights(jobs, levels, weight);
	placing_steps(s, n, step);
	for (size_t i = 0, l = 0; i < n; i++) {
		size_t job = s[i].job;

		l += i > 0 && s[i].level != s[i - 1].level;
		penalty[job] = most * weight[l] * step[job] + placing_own_cost(w, start, job);
	}
	return penalty;
}
