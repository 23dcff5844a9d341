#include "broker/usage_history.h"

#include <math.h>
#include <stdlib.h>

#include "store/tier_rows.h"
#include "util/time.h"

#define HISTORY_DAY_S INT64_C(86400)
#define HISTORY_WEEK_S (7 * HISTORY_DAY_S)
#define HISTORY_RHYTHM_S                                                                           \
	(2 * HISTORY_DAY_S) /* known entries that show a rhythm of the day; of the week: */
#define HISTORY_OVER 0.75   /* share of a last step that must be known for it to count */
#define HISTORY_WEEKS_S (2 * HISTORY_WEEK_S)

/* Days being laid out over the entries of a series. */
struct layout {
	struct history *h;
	double *rhythm; /* [period] mean of known entries; 0 unknown */
	size_t period;
	double ratio;  /* peak to mean of known entries */
	size_t *order; /* [per_day] scratch */
};

static size_t
layout_entry(const struct history *h, int64_t t)
{
	return t <= h->d.t0 ? 0 : (size_t)((t - h->d.t0) / h->d.step_s);
}

static size_t
layout_slot(const struct layout *l, int64_t t)
{
	return (size_t)(t / l->h->d.step_s % (int64_t)l->period);
}

/* The rhythm of entries behind the days; false: too few are known. */
static bool
layout_learn(struct layout *l, struct arena *a)
{
	const struct dense *d = &l->h->d;
	size_t from = layout_entry(l->h, l->h->days_until);
	double known_s = 0, means = 0, peaks = 0, *n;

	for (size_t i = from; i < d->n; i++) {
		if (isnan(d->mean[i]))
			continue;
		known_s += (double)d->step_s;
		means += d->mean[i];
		peaks += d->peak[i];
	}
	if (known_s < (double)HISTORY_RHYTHM_S)
		return false;
	l->ratio = means > 0 ? peaks / means : 1;
	l->period = (size_t)((known_s < (double)HISTORY_WEEKS_S ? HISTORY_DAY_S : HISTORY_WEEK_S) /
			     d->step_s);
	l->rhythm = arena_array_of(a, l->period, double);
	n = arena_array_of(a, l->period, double);
	for (size_t i = from; i < d->n; i++) {
		size_t slot = layout_slot(l, d->t0 + (int64_t)i * d->step_s);

		if (isnan(d->mean[i]))
			continue;
		l->rhythm[slot] += d->mean[i];
		n[slot]++;
	}
	for (size_t k = 0; k < l->period; k++)
		l->rhythm[k] = n[k] > 0 ? l->rhythm[k] / n[k] : 0;
	l->order = arena_array_of(a, (size_t)(HISTORY_DAY_S / d->step_s), size_t);
	return true;
}

/* Entries of a day by the rhythm, the quiet ones first; of a few dozen, inserting is sorting. */
static size_t
layout_sort(struct layout *l, size_t from, size_t to)
{
	const struct dense *d = &l->h->d;
	size_t m = 0;

	for (size_t i = from; i < to; i++) {
		double key = l->rhythm[layout_slot(l, d->t0 + (int64_t)i * d->step_s)];
		size_t k = m;

		if (isnan(d->mean[i]))
			continue;
		for (;
		     k > 0 &&
		     l->rhythm[layout_slot(l, d->t0 + (int64_t)l->order[k - 1] * d->step_s)] > key;
		     k--)
			l->order[k] = l->order[k - 1];
		l->order[k] = i;
		m++;
	}
	return m;
}

static enum berth_code
layout_day(void *arg, const struct tier_view *v, struct berth_err *err)
{
	struct layout *l = arg;
	struct dense *d = &l->h->d;
	size_t from = layout_entry(l->h, v->t), to = layout_entry(l->h, v->t + v->len_s), m;
	double sum = 0, want = 0;

	(void)err;
	if (v->len_s != HISTORY_DAY_S || v->t + v->len_s <= d->t0)
		return BERTH_OK;
	to = to < d->n ? to : d->n;
	m = layout_sort(l, from, to);
	for (size_t k = 0; k < m; k++) {
		size_t i = l->order[k];

		want += d->mean[i] * l->h->covered[i]; /* laid out evenly until now */
		d->mean[i] = sketch_quantile(&v->sketch, ((double)k + 0.5) / (double)m);
		sum += d->mean[i] * l->h->covered[i];
	}
	for (size_t k = 0; k < m; k++) {
		size_t i = l->order[k];
		double mean = sum > 0 ? d->mean[i] * want / sum : 0, peak = mean * l->ratio;

		d->mean[i] = mean < v->peak ? mean : v->peak;
		d->peak[i] = k + 1 == m || peak > v->peak ? v->peak : peak;
	}
	return BERTH_OK;
}

/* What is known of a bucket in which to lies was not known then. */
static void
history_cut(struct history *h, int64_t to)
{
	struct dense *d = &h->d;
	int64_t from = to;

	if (to == 0)
		return;
	if (h->hours_until > to)
		from = time_floor(to, 3600);
	if (h->days_until > to)
		from = time_floor(to, HISTORY_DAY_S);
	if (from == to)
		return;
	for (size_t i = layout_entry(h, from); i < d->n; i++) {
		d->missing += isnan(d->mean[i]) ? 0 : 1;
		d->mean[i] = d->peak[i] = (double)NAN;
	}
}

static bool
history_near(const struct usage_history *u, int64_t look_s)
{
	return look_s == 0 || u->days_until > u->s.t0 + (int64_t)u->s.n * u->s.step_s - look_s;
}

/* A last step that is not over is none: its peak may still come. */
static void
history_end(struct history *h)
{
	if (h->d.n < 2 || !(h->covered[h->d.n - 1] > 0) || h->covered[h->d.n - 1] >= HISTORY_OVER)
		return;
	h->d.missing -= isnan(h->d.mean[h->d.n - 1]) ? 1 : 0;
	h->d.n--;
}

static enum berth_code
history_read(struct store *s, const struct series *row, int64_t step_s, int64_t to, struct arena *a,
    struct history *h, struct usage_history *out, struct berth_err *err)
{
	enum berth_code rc = store_history(s, row->id, step_s, 0, to, a, h, err);

	if (rc != BERTH_OK)
		return rc;
	history_cut(h, to);
	history_end(h);
	*out = (struct usage_history){ .s = { .name = row->name, .step_s = h->d.step_s },
		.days_until = h->days_until };
	if (h->d.n > 0 && h->d.missing < h->d.n)
		out->s = (struct fc_series){ row->name, h->d.t0, h->d.step_s, h->d.n, h->d.mean,
			h->d.peak };
	return BERTH_OK;
}

enum berth_code
usage_history(struct store *s, const struct series *row, int64_t to, int64_t look_s,
    struct arena *a, struct usage_history *out, struct berth_err *err)
{
	int64_t step_s = row->step_s < 3600 && 3600 % row->step_s == 0 ? 3600 : row->step_s;
	struct arena *scratch;
	struct layout l = { .period = 0 };
	char at[TIME_FMT_SIZE];
	struct history h;
	enum berth_code rc;

	*out = (struct usage_history){ .s = { .name = row->name, .step_s = step_s } };
	if (row->samples == 0 || (to != 0 && to <= row->from))
		return BERTH_OK;
	rc = history_read(s, row, step_s, to, a, &h, out, err);
	if (rc != BERTH_OK || out->s.n == 0 || h.days_until <= h.d.t0 || step_s >= HISTORY_DAY_S)
		return rc;
	scratch = arena_new();
	l.h = &h;
	if (!layout_learn(&l, scratch)) {
		rc = history_read(s, row, HISTORY_DAY_S, to, a, &h, out, err);
		out->days_until = 0;
		out->warning =
		    "nearly all of its history is kept as days: it is forecast by the day";
	} else {
		rc = store_tier_each(
		    s, row->id, h.d.t0 - HISTORY_DAY_S, h.days_until, layout_day, &l, err);
		if (history_near(out, look_s))
			out->warning = arena_printf(a,
			    "its history before %s is kept as days: their shorter steps are laid "
			    "out by the rhythm of those behind, with the sum, the quantiles and "
			    "the peak of each day",
			    time_fmt(at, h.days_until));
	}
	arena_free(scratch);
	return rc;
}
