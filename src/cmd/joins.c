#include "config.h"

#include <math.h>
#include <string.h>

#include "broker/usage_history.h"
#include "cmd/joins.h"
#include "store/series_rows.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/time.h"
#include "util/vec.h"
#include "util/yaml.h"

enum { JOIN_DEPTH_MAX = 8 };
#define JOIN_APART_S (48 * 3600) /* between the last sample of one and the first of the other */
#define JOIN_LOOK_S (7 * 86400)  /* levels are those of a week */
#define JOIN_NEED_S (24 * 3600)
#define JOIN_ENDED_S (72 * 3600)
#define JOIN_LEVEL 1.25 /* one over the other at most */
#define JOIN_SHAPE 0.7  /* correlation of the days' shapes, where both have one */
#define JOIN_RHYTHM 0.1 /* a shape: hours differ by so much of the level */

static enum berth_code
joins_entry(struct arena *a, const struct yaml_node *node, struct join *j, struct berth_err *err)
{
	static const char *const keys[] = { "series", "from", "share", NULL };
	static const char *const needed[] = { "series", "from", NULL };
	const char **from = NULL;
	enum berth_code rc;

	j->share = 1;
	j->node = node;
	if ((rc = yaml_check_keys(node, keys, err)) != BERTH_OK ||
	    (rc = yaml_need_keys(node, needed, err)) != BERTH_OK ||
	    (rc = yaml_str(node, "series", &j->series, err)) != BERTH_OK ||
	    (rc = yaml_str_list(a, node, "from", &from, &j->n_from, err)) != BERTH_OK ||
	    (rc = yaml_double(node, "share", 0, 1e6, &j->share, err)) != BERTH_OK)
		return rc;
	j->from = from;
	for (size_t i = 0; i < j->n_from; i++)
		if (str_eq(from[i], j->series))
			return yaml_err(yaml_get(node, "from"), err,
			    "'%s' can not come from itself", j->series);
	return BERTH_OK;
}

/* Does `series` come, over at most depth joins, from `from`? */
static bool
joins_reach(const struct joins *j, const char *series, const char *from, int depth)
{
	const struct join *one = joins_of(j, series);

	for (size_t i = 0; one != NULL && depth > 0 && i < one->n_from; i++)
		if (str_eq(one->from[i], from) || joins_reach(j, one->from[i], from, depth - 1))
			return true;
	return false;
}

enum berth_code
joins_read(const struct config *c, struct arena *a, struct joins *out, struct berth_err *err)
{
	const struct yaml_node *list = NULL;
	enum berth_code rc = c->root == NULL ? BERTH_OK : yaml_list(c->root, "joins", &list, err);

	*out = (struct joins){ 0 };
	if (rc != BERTH_OK || list == NULL)
		return rc;
	out->v = arena_array_of(a, list->n, struct join);
	for (; out->n < list->n; out->n++) {
		rc = joins_entry(a, list->items[out->n], &out->v[out->n], err);
		if (rc != BERTH_OK)
			return rc;
		if (joins_of(out, out->v[out->n].series) != NULL)
			return yaml_err(list->items[out->n], err,
			    "a second join of '%s': from takes a list", out->v[out->n].series);
	}
	for (size_t i = 0; i < out->n; i++)
		if (joins_reach(out, out->v[i].series, out->v[i].series, JOIN_DEPTH_MAX))
			return yaml_err(out->v[i].node, err,
			    "joins go round: '%s' comes from itself", out->v[i].series);
	return BERTH_OK;
}

const struct join *
joins_of(const struct joins *j, const char *series)
{
	for (size_t i = 0; i < j->n; i++)
		if (str_eq(j->v[i].series, series))
			return &j->v[i];
	return NULL;
}

bool
joins_uses(const struct joins *j, const char *series)
{
	for (size_t i = 0; i < j->n; i++)
		for (size_t k = 0; k < j->v[i].n_from; k++)
			if (str_eq(j->v[i].from[k], series))
				return true;
	return false;
}

static size_t
joins_first(const struct fc_series *s)
{
	size_t i = 0;

	while (i < s->n && isnan(s->mean[i]))
		i++;
	return i;
}

static size_t
joins_last(const struct fc_series *s)
{
	size_t i = s->n;

	while (i > 0 && isnan(s->mean[i - 1]))
		i--;
	return i;
}

/* Adds share times s to out from t0 on, up to step n; what out lacks becomes that of s. */
static void
joins_add(const struct fc_series *s, double share, int64_t t0, size_t n, double *mean, double *peak)
{
	for (size_t i = 0; i < n; i++) {
		int64_t k = (t0 - s->t0) / s->step_s + (int64_t)i;
		double m, p;

		if (k < 0 || k >= (int64_t)s->n || isnan(s->mean[k]))
			continue;
		m = share * s->mean[k];
		p = s->peak != NULL && !isnan(s->peak[k]) ? share * s->peak[k] : m;
		mean[i] = isnan(mean[i]) ? m : mean[i] + m;
		peak[i] = isnan(peak[i]) ? p : peak[i] + p;
	}
}

static enum berth_code
joins_load(struct store *store, const char *name, int64_t to, struct arena *a,
    struct fc_series *out, struct berth_err *err)
{
	struct series row;
	struct usage_history h;
	enum berth_code rc = store_series_get(store, name, a, &row, err);

	if (rc == BERTH_OK)
		rc = usage_history(store, &row, to != 0 ? time_floor(to, row.step_s) : 0,
		    USAGE_LOOK_S, a, &h, err);
	if (rc == BERTH_OK)
		*out = h.s;
	return rc;
}

static enum berth_code
joins_front(struct store *store, const struct joins *j, const struct join *one, int64_t to,
    int depth, struct arena *a, struct fc_series *io, struct berth_err *err)
{
	struct fc_series *from = arena_array(a, one->n_from, sizeof(*from)), own = *io;
	int64_t t0 = io->t0;
	size_t first = joins_first(io), n;
	double *mean, *peak;

	if (depth == JOIN_DEPTH_MAX)
		return yaml_err(
		    one->node, err, "joins go over more than %d series in a row", JOIN_DEPTH_MAX);
	for (size_t i = 0; i < one->n_from; i++) {
		const struct join *before = joins_of(j, one->from[i]);
		enum berth_code rc = joins_load(store, one->from[i], to, a, &from[i], err);

		if (rc == BERTH_OK && from[i].n > 0 && from[i].step_s != io->step_s)
			rc = err_set(err, BERTH_EINVAL,
			    "series %s and %s have steps of different length", one->series,
			    one->from[i]);
		if (rc == BERTH_OK && before != NULL && from[i].n > 0)
			rc = joins_front(store, j, before, to, depth + 1, a, &from[i], err);
		if (rc != BERTH_OK)
			return err_ctx(err, "joins of berth.yaml");
		t0 = from[i].n > 0 && from[i].t0 < t0 ? from[i].t0 : t0;
	}
	n = (size_t)((own.t0 - t0) / own.step_s);
	mean = arena_array(a, n + own.n, sizeof(*mean));
	peak = arena_array(a, n + own.n, sizeof(*peak));
	for (size_t i = 0; i < n + own.n; i++) {
		mean[i] = i < n ? NAN : own.mean[i - n];
		peak[i] = i < n ? NAN : own.peak != NULL ? own.peak[i - n] : own.mean[i - n];
	}
	for (size_t i = 0; i < one->n_from; i++)
		joins_add(&from[i], one->share, t0, n + first, mean, peak);
	*io = (struct fc_series){ own.name, t0, own.step_s, n + own.n, mean, peak };
	return BERTH_OK;
}

enum berth_code
joins_apply(struct store *store, const struct joins *j, const char *series, int64_t to,
    struct arena *a, struct fc_series *io, int64_t *until_out, struct berth_err *err)
{
	const struct join *one = joins_of(j, series);
	int64_t own;
	enum berth_code rc;

	*until_out = 0;
	if (one == NULL || io->n == 0)
		return BERTH_OK;
	own = io->t0 + (int64_t)joins_first(io) * io->step_s;
	rc = joins_front(store, j, one, to, 0, a, io, err);
	if (rc == BERTH_OK && io->t0 + (int64_t)joins_first(io) * io->step_s < own)
		*until_out = own;
	return rc;
}

/* Mean of the known steps of [from, to); NaN: too few. shape [24]: means by hour of the day over
 * the mean. */
static double
joins_level(const struct fc_series *s, int64_t from, int64_t to, double *shape)
{
	double sum = 0, by[24] = { 0 }, n_by[24] = { 0 };
	size_t known = 0;

	for (size_t i = 0; i < s->n; i++) {
		int64_t t = s->t0 + (int64_t)i * s->step_s;

		if (t < from || t >= to || isnan(s->mean[i]))
			continue;
		sum += s->mean[i];
		known++;
		by[t / 3600 % 24] += s->mean[i];
		n_by[t / 3600 % 24]++;
	}
	if ((int64_t)known * s->step_s < JOIN_NEED_S || !(sum > 0))
		return NAN;
	for (int h = 0; h < 24; h++)
		shape[h] = n_by[h] > 0 ? by[h] / n_by[h] / (sum / (double)known) - 1 : 0;
	return sum / (double)known;
}

/* Correlation of two shapes; 1 where one of them is flat. */
static double
joins_alike(const double *a, const double *b)
{
	double ab = 0, aa = 0, bb = 0;

	for (int h = 0; h < 24; h++) {
		ab += a[h] * b[h];
		aa += a[h] * a[h];
		bb += b[h] * b[h];
	}
	if (aa < 24 * JOIN_RHYTHM * JOIN_RHYTHM || bb < 24 * JOIN_RHYTHM * JOIN_RHYTHM)
		return 1;
	return ab / sqrt(aa * bb);
}

/* Levels of what began as series `from` ended, alone or all together; the hint, if one fits. */
static bool
joins_match(const struct fc_series *s, size_t n, size_t from, int64_t ended, struct arena *a,
    struct join_hint *hint)
{
	double shape[24], other[24], total = 0, both[24] = { 0 };
	size_t *into = arena_array(a, n, sizeof(*into)), m = 0;

	*hint = (struct join_hint){ .from = from, .into = into, .t = ended };
	hint->before = joins_level(&s[from], ended - JOIN_LOOK_S, ended, shape);
	for (size_t i = 0; i < n && !isnan(hint->before); i++) {
		int64_t began = s[i].t0 + (int64_t)joins_first(&s[i]) * s[i].step_s;
		double level;

		if (i == from || joins_first(&s[i]) == s[i].n || began < ended - JOIN_APART_S ||
		    began > ended + JOIN_APART_S)
			continue;
		level = joins_level(&s[i], began, began + JOIN_LOOK_S, other);
		if (isnan(level))
			continue;
		if (fmax(level, hint->before) <= JOIN_LEVEL * fmin(level, hint->before) &&
		    joins_alike(shape, other) >= JOIN_SHAPE) {
			into[0] = i;
			hint->n = 1;
			hint->after = level;
			return true;
		}
		into[m++] = i;
		total += level;
		for (int h = 0; h < 24; h++)
			both[h] += level * other[h];
	}
	for (int h = 0; h < 24 && total > 0; h++)
		both[h] /= total;
	hint->n = m;
	hint->after = total;
	return m > 1 && fmax(total, hint->before) <= JOIN_LEVEL * fmin(total, hint->before) &&
	       joins_alike(shape, both) >= JOIN_SHAPE;
}

void
joins_find(
    const struct fc_series *s, size_t n, struct arena *a, struct join_hint **out, size_t *n_out)
{
	VEC(struct join_hint) hints = { 0 };
	int64_t last = 0;

	for (size_t i = 0; i < n; i++) {
		int64_t end = s[i].t0 + (int64_t)joins_last(&s[i]) * s[i].step_s;

		last = end > last ? end : last;
	}
	for (size_t i = 0; i < n; i++) {
		int64_t end = s[i].t0 + (int64_t)joins_last(&s[i]) * s[i].step_s;
		struct join_hint hint;

		if (joins_last(&s[i]) > 0 && end < last - JOIN_ENDED_S &&
		    s[i].step_s == s[0].step_s && joins_match(s, n, i, end, a, &hint))
			VEC_PUSH(a, &hints, hint);
	}
	*out = hints.v;
	*n_out = hints.n;
}
