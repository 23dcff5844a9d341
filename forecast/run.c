/* forecast/run.c - the way of all series through the library.  Floor: domain.
 *
 * At most FC_POOL_MAX series, evenly spaced in the order of their names, make the shared regression
 * and the pool of errors; they are kept until their results are handed out. All others go through
 * one by one when their result is asked for, so that memory does not grow with the number of
 * series. Work on a series depends on the shared state alone and sums are taken in the order of
 * names, so neither threads nor the order given change a byte.
 */
#include "forecast/fc.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { FC_POOL_MAX = 256, FC_BLOCK = 32, FC_THREADS_MAX = 64, FC_TRIAL_MAX = 48 };

/* A series without its days off, and that by the clock on the wall. */
struct run_view {
	struct fc_series clean, in;
	struct fc_local local;
	struct fc_holiday holiday;
};

struct run_spikes {
	struct fc_spike v[FC_SPIKE_MAX];
	size_t n;
};

struct fc_run {
	const struct fc_series *s; /* without spikes */
	size_t n;
	struct run_spikes **spikes;   /* [n] NULL: none; NULL: of none */
	struct fc_options asked, opt; /* what results are for; what fits are for: longer by an hour
					 where clocks change */
	struct arena *a;
	size_t *order, *rank;   /* [n] by name; place of each in it */
	struct fc_job *pooled;  /* [n_pooled] */
	struct run_view *views; /* [n_pooled] */
	size_t n_pooled;
	struct fc_hier *blocks[(FC_POOL_MAX + FC_BLOCK - 1) / FC_BLOCK][FC_MAPS];
	struct fc_hier *hier[FC_MAPS];
	size_t day; /* steps of a day that the regression is for: of the most series */
	struct fc_trial trial[FC_TRIAL_MAX];
	size_t n_trial;
	size_t sharp[FC_GROUPS]; /* which of the powers of the weights */
	struct fc_pool pool;
	struct fc_cold *cold;
};

void
fc_options_init(struct fc_options *o)
{
	*o = (struct fc_options){
		.n_paths = 200, .seed = 1, .cap = NAN, .threads = 1, .spike_times = FC_SPIKE_ABSURD
	};
}

/* Position in the order of names of pooled job k. */
static size_t
run_rank(const struct fc_run *r, size_t k)
{
	return k * r->n / r->n_pooled;
}

/* Pooled job of rank i; n_pooled if it has none. */
static size_t
run_pooled(const struct fc_run *r, size_t i)
{
	size_t k = (i * r->n_pooled + r->n - 1) / r->n;

	return k < r->n_pooled && run_rank(r, k) == i ? k : r->n_pooled;
}

static void
run_clean(void *arg, size_t i, struct arena *a, struct fc_series *out)
{
	const struct fc_run *r = arg;
	struct fc_holiday ignored;

	*out = r->s[i];
	if (r->asked.n_holidays > 0)
		fc_holiday_history(&r->s[i], &r->asked, a, out, &ignored);
}

/* A series that keeps its steps in a run that is longer by an hour for the sake of others. */
static void
run_shorten(const struct fc_options *o, struct fc_local *l, size_t ahead, struct arena *a)
{
	if (l->changes || ahead == o->horizon)
		return;
	l->changes = true;
	l->n = l->in.n;
	l->index = arena_array(a, o->horizon, sizeof(*l->index));
	l->utc = arena_array(a, l->n + 1, sizeof(*l->utc));
	for (size_t i = 0; i < o->horizon; i++)
		l->index[i] = i;
	for (size_t i = 0; i <= l->n; i++)
		l->utc[i] = l->in.t0 + (int64_t)i * l->in.step_s;
}

static void
run_look(const struct fc_run *r, size_t i, struct arena *a, struct run_view *v)
{
	*v = (struct run_view){ .clean = r->s[i] };
	if (r->asked.n_holidays > 0)
		fc_holiday_history(&r->s[i], &r->asked, a, &v->clean, &v->holiday);
	v->in = v->clean;
	if (r->asked.utc_offset == NULL)
		return;
	fc_local_map(&v->clean, &r->asked, a, &v->local);
	fc_local_series(&v->local, &r->asked, a, &v->in);
	run_shorten(&r->asked, &v->local, r->opt.horizon, a);
}

static double
run_cap(const struct fc_run *r, size_t i)
{
	return r->asked.caps != NULL ? r->asked.caps[i] : r->asked.cap;
}

static void
run_job_init(const struct fc_run *r, size_t i, struct arena *a, struct arena *tmp,
    struct run_view *v, struct fc_job *j)
{
	run_look(r, i, a, v);
	*j = (struct fc_job){
		.in = &v->in, .opt = &r->opt, .cap = run_cap(r, i), .a = a, .tmp = tmp
	};
	fc_prepare(j);
}

/* All candidates of a job. */
static void
run_fit(const struct fc_run *r, struct fc_job *j)
{
	fc_cand_simple(j);
	fc_cand_es(j);
	fc_cand_arx(j);
	fc_cand_harm(j);
	for (int l = 0; l < FC_MAPS; l++)
		if (r->hier[l] != NULL)
			fc_cand_hier(j, r->hier[l]);
}

static void
run_candidates(const struct fc_run *r, struct fc_job *j)
{
	run_fit(r, j);
	fc_combine(j, r->sharp);
	fc_band_scores(j);
	fc_windows(j);
	fc_peak_scores(j);
	fc_moves(j);
}

/* Phases: work on item i with the worker's scratch. */
typedef void run_fn(struct fc_run *r, size_t i, struct arena *tmp);

static void
run_prepare(struct fc_run *r, size_t block, struct arena *tmp)
{
	for (size_t k = block * FC_BLOCK; k < r->n_pooled && k < (block + 1) * FC_BLOCK; k++) {
		struct fc_job *j = &r->pooled[k];

		run_job_init(r, r->order[run_rank(r, k)], arena_new(), tmp, &r->views[k], j);
		for (int l = 0; l < FC_MAPS; l++)
			if (r->blocks[block][l] != NULL)
				fc_hier_add(r->blocks[block][l], j);
		arena_reset(tmp);
	}
}

/* A few series show how far past errors can be trusted; with half of the origins, for this is a
 * matter of means. */
static void
run_trial(struct fc_run *r, size_t k, struct arena *tmp)
{
	struct run_view v;
	struct fc_job j;

	run_look(r, r->order[k * r->n / r->n_trial], tmp, &v);
	j = (struct fc_job){
		.in = &v.in, .opt = &r->opt, .cap = NAN, .a = tmp, .tmp = tmp, .thin = 2
	};
	fc_prepare(&j);
	run_fit(r, &j);
	fc_trial(&j, &r->trial[k]);
}

static void
run_score(struct fc_run *r, size_t k, struct arena *tmp)
{
	r->pooled[k].tmp = tmp;
	run_candidates(r, &r->pooled[k]);
}

struct crew {
	struct fc_run *r;
	run_fn *fn;
	size_t n;
	atomic_size_t next;
};

static void *
run_worker(void *arg)
{
	struct crew *c = arg;
	struct arena *tmp = arena_new();

	for (;;) {
		size_t i = atomic_fetch_add(&c->next, 1);

		if (i >= c->n)
			break;
		c->fn(c->r, i, tmp);
		arena_reset(tmp);
	}
	arena_free(tmp);
	return NULL;
}

static void
run_all(struct fc_run *r, run_fn *fn, size_t n)
{
	struct crew c = { .r = r, .fn = fn, .n = n };
	pthread_t t[FC_THREADS_MAX];
	size_t want = r->opt.threads < n ? r->opt.threads : n, got = 0;

	while (got + 1 < want && got < FC_THREADS_MAX &&
	       pthread_create(&t[got], NULL, run_worker, &c) == 0)
		got++;
	(void)run_worker(&c);
	while (got > 0)
		(void)pthread_join(t[--got], NULL);
}

/* Sums the blocks in their order and solves for the shared maps. */
static void
run_share(struct fc_run *r, size_t n_blocks, struct arena *tmp)
{
	for (int l = 0; l < FC_MAPS; l++) {
		if (r->hier[l] == NULL)
			continue;
		for (size_t b = 0; b < n_blocks; b++)
			fc_hier_merge(r->hier[l], r->blocks[b][l]);
		fc_hier_solve(r->hier[l], tmp);
	}
}

/* The regression is for the step length that most series have. */
static void
run_day(struct fc_run *r)
{
	size_t best = 0;

	for (size_t i = 0; i < r->n; i++) {
		int64_t step = r->s[r->order[i]].step_s;
		size_t same = 0;

		if (step > 21600 || 86400 % step != 0 || step < 3600)
			continue;
		for (size_t k = 0; k < r->n && k < 1000; k++)
			same += r->s[r->order[k]].step_s == step;
		if (same > best) {
			best = same;
			r->day = (size_t)(86400 / step);
		}
		if (2 * best >= r->n)
			break;
	}
}

/* What all results rest on: the shared maps, the powers of the weights, the pool of errors, the
 * fleet's shapes. */
static void
run_evidence(struct fc_run *r)
{
	struct arena *blocks = arena_new(), *tmp = arena_new();
	size_t n_blocks;

	r->n_pooled = r->n < FC_POOL_MAX ? r->n : FC_POOL_MAX;
	n_blocks = (r->n_pooled + FC_BLOCK - 1) / FC_BLOCK;
	r->n_trial = r->n < FC_TRIAL_MAX ? r->n : FC_TRIAL_MAX;
	r->pooled = arena_array(r->a, r->n_pooled, sizeof(*r->pooled));
	r->views = arena_array(r->a, r->n_pooled, sizeof(*r->views));
	run_day(r);
	for (int l = 0; l < FC_MAPS && r->day > 0; l++) {
		r->hier[l] = fc_hier_new(r->a, r->day, l % 2 == 1, l < 2);
		for (size_t b = 0; b < n_blocks; b++)
			r->blocks[b][l] = fc_hier_new(blocks, r->day, l % 2 == 1, l < 2);
	}
	run_all(r, run_prepare, n_blocks);
	run_share(r, n_blocks, tmp);
	arena_free(blocks);
	run_all(r, run_trial, r->n_trial);
	fc_trial_choose(r->trial, r->n_trial, r->sharp);
	run_all(r, run_score, r->n_pooled);
	arena_reset(tmp);
	fc_pool_build(&r->pool, r->pooled, r->n_pooled, tmp);
	if (r->opt.n_paths > 0)
		r->cold = fc_cold_learn(r->s, r->n, run_clean, r, r->a);
	arena_free(tmp);
}

static enum berth_code
run_check(const struct fc_series *s, const struct fc_options *opt, struct berth_err *err)
{
	size_t known = 0;

	if (s->step_s < 1 || opt->horizon < 1)
		return err_set(
		    err, BERTH_EINVAL, "series %s: step and horizon must be positive", s->name);
	for (size_t i = 0; i < s->n; i++) {
		if (isnan(s->mean[i]))
			continue;
		known++;
		if (!(s->mean[i] >= 0) || isinf(s->mean[i]) ||
		    (s->peak != NULL && (s->peak[i] < 0 || isinf(s->peak[i]))))
			return err_set(err, BERTH_EINVAL,
			    "series %s: step %zu: demand must be finite and not negative", s->name,
			    i);
	}
	if (known == 0)
		return err_set(err, BERTH_EINVAL, "series %s: no value in its history", s->name);
	return BERTH_OK;
}

struct ranked {
	const char *name;
	size_t i;
};

static int
run_cmp(const void *a, const void *b)
{
	return strcmp(((const struct ranked *)a)->name, ((const struct ranked *)b)->name);
}

static enum berth_code
run_sort(struct fc_run *r, struct berth_err *err)
{
	struct arena *tmp = arena_new();
	struct ranked *k = arena_array(tmp, r->n, sizeof(*k));
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; i < r->n; i++)
		k[i] = (struct ranked){ r->s[i].name, i };
	qsort(k, r->n, sizeof(*k), run_cmp);
	r->order = arena_array(r->a, r->n, sizeof(*r->order));
	r->rank = arena_array(r->a, r->n, sizeof(*r->rank));
	for (size_t i = 0; i < r->n && rc == BERTH_OK; i++) {
		if (i > 0 && strcmp(k[i].name, k[i - 1].name) == 0)
			rc = err_set(err, BERTH_EINVAL, "series %s is given twice", k[i].name);
		r->order[i] = k[i].i;
		r->rank[k[i].i] = i;
	}
	arena_free(tmp);
	return rc;
}

/* The horizon of the fits is the longest that any series needs in its local time. */
static void
run_localise(struct fc_run *r)
{
	struct arena *tmp = arena_new();

	for (size_t i = 0; i < r->n; i++) {
		struct fc_local l;

		fc_local_map(&r->s[i], &r->asked, tmp, &l);
		r->opt.horizon = l.ahead > r->opt.horizon ? l.ahead : r->opt.horizon;
		if (l.changes && r->opt.n_paths == 0)
			r->opt.n_paths = 200; /* the windows are found again on UTC steps */
		arena_reset(tmp);
	}
	arena_free(tmp);
}

/* The series without what stands far over all else in them. */
static void
run_unspike(struct fc_run *r)
{
	struct fc_series *own = NULL;

	for (size_t i = 0; i < r->n; i++) {
		struct run_spikes found;
		struct fc_series cut;

		fc_spikes(&r->s[i], r->asked.spike_times, r->a, &cut, found.v, &found.n);
		if (found.n == 0)
			continue;
		if (own == NULL) {
			own = arena_memdup(r->a, r->s, r->n * sizeof(*own));
			r->spikes = arena_array(r->a, r->n, sizeof(struct run_spikes *));
			r->s = own;
		}
		own[i] = cut;
		r->spikes[i] = arena_memdup(r->a, &found, sizeof(found));
	}
}

enum berth_code
fc_run_open(const struct fc_series *s, size_t n, const struct fc_options *opt,
    struct fc_run **run_out, struct berth_err *err)
{
	struct arena *a = arena_new();
	struct fc_run *r = arena_alloc(a, sizeof(*r));
	enum berth_code rc = BERTH_OK;

	*r = (struct fc_run){ .s = s, .n = n, .asked = *opt, .a = a };
	for (size_t i = 0; i < n && rc == BERTH_OK; i++)
		rc = run_check(&s[i], opt, err);
	if (rc == BERTH_OK)
		rc = run_sort(r, err);
	if (rc != BERTH_OK) {
		arena_free(a);
		return rc;
	}
	run_unspike(r);
	if (opt->n_holidays > 0 && opt->n_paths == 0)
		r->asked.n_paths = 200; /* peaks are found again with the days off ahead */
	r->opt = r->asked;
	if (opt->utc_offset != NULL)
		run_localise(r);
	if (n > 0)
		run_evidence(r);
	*run_out = r;
	return BERTH_OK;
}

void
fc_run_close(struct fc_run *r)
{
	if (r == NULL)
		return;
	for (size_t k = 0; k < r->n_pooled; k++)
		arena_free(r->pooled[k].a);
	arena_free(r->a);
}

unsigned
fc_run_threads(const struct fc_run *r)
{
	return r->opt.threads;
}

void
fc_run_finish(struct fc_run *r, size_t i, bool last, struct arena *tmp, struct arena *a,
    struct fc_result *out)
{
	size_t k = run_pooled(r, r->rank[i]);
	struct run_view own_view, *v = &own_view;
	struct fc_job own, *j = &own;

	if (k < r->n_pooled) {
		v = &r->views[k];
		j = &r->pooled[k];
		j->tmp = tmp;
	} else {
		run_job_init(r, i, tmp, tmp, v, j);
		run_candidates(r, j);
	}
	fc_result_alloc(&v->in, &r->opt, a, out);
	fc_result_fill(j, &r->pool, out);
	if (r->asked.utc_offset != NULL)
		fc_local_result(&v->local, &r->asked, a, out);
	fc_cold_apply(r->cold, &v->clean, out);
	fc_growth_apply(&v->clean, run_cap(r, i), out);
	if (r->asked.n_holidays > 0) {
		out->holiday = v->holiday;
		fc_holiday_apply(&v->clean, &r->asked, out);
	}
	if (r->spikes != NULL && r->spikes[i] != NULL)
		fc_spikes_result(r->spikes[i]->v, r->spikes[i]->n, out);
	if (k < r->n_pooled && last) {
		arena_free(j->a);
		j->a = NULL;
	}
}

struct run_keep {
	struct arena *a;
	struct fc_result *out;
};

static enum berth_code
run_keep(void *arg, size_t i, struct fc_result *r, struct arena *a, struct berth_err *err)
{
	struct run_keep *k = arg;

	(void)a;
	(void)err;
	fc_result_copy(r, k->a, &k->out[i]);
	return BERTH_OK;
}

enum berth_code
fc_run_many(const struct fc_series *s, size_t n, const struct fc_options *opt, struct arena *a,
    struct fc_result *results_out, struct berth_err *err)
{
	struct run_keep keep = { a, results_out };
	struct fc_run *r;
	enum berth_code rc = fc_run_open(s, n, opt, &r, err);

	if (rc != BERTH_OK)
		return rc;
	rc = fc_run_each(r, NULL, n, true, run_keep, &keep, err);
	fc_run_close(r);
	return rc;
}

enum berth_code
fc_run(const struct fc_series *s, const struct fc_options *opt, struct arena *a,
    struct fc_result *result_out, struct berth_err *err)
{
	return fc_run_many(s, 1, opt, a, result_out, err);
}
