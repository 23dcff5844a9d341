#include "cmd/unit.h"

#include <math.h>
#include <string.h>

#include "store/form_rows.h"
#include "store/series_rows.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/json.h"
#include "util/vec.h"

#define UNIT_JOINS_MAX 8     /* series in a row that a history is put together of */
#define UNIT_TRIFLE 1e-6     /* shares of the GPU-hours that are none */
#define UNIT_SAY_SHARE 0.005 /* what is not kept is told of from here on */

/* The weights of forms in each step, while runs are laid over them. */
struct unit_reading {
	struct store *s;
	const struct accel_table *accels;
	const struct joins *joins;
	const struct accel *accel;
	const struct fc_series *in;
	struct arena *a;
	VEC(struct unit_form) form;
};

/* The form of this name; NULL: none of the group. */
static struct unit_form *
unit_form(struct unit_reading *r, const char *name)
{
	const struct accel *accel = *name == '\0' ? r->accel : accel_find(r->accels, name);
	struct unit_form *f;

	if (accel == NULL || (accel != r->accel && !accel_is(accel, r->accel)))
		return NULL;
	for (size_t i = 0; i < r->form.n; i++)
		if (r->form.v[i].accel == accel)
			return &r->form.v[i];
	f = VEC_ADD(r->a, &r->form);
	f->accel = accel;
	f->part = arena_array(r->a, r->in->n + 1, sizeof(*f->part));
	return f;
}

/* Lays the part of a run in [from, to) over the steps, evenly. */
static void
unit_lay(struct unit_reading *r, const struct form_run *run, int64_t from, int64_t to)
{
	const struct fc_series *in = r->in;
	double density = run->unit_seconds / (double)(run->until - run->t);
	struct form_share *share;
	int64_t k;
	size_t n;

	from = run->t > from ? run->t : from;
	to = run->until < to ? run->until : to;
	from = from > in->t0 ? from : in->t0;
	if (from >= to || !formmix_parse(r->a, run->mix, &share, &n))
		return;
	k = (from - in->t0) / in->step_s;
	for (size_t f = 0; f < n; f++) {
		struct unit_form *form = unit_form(r, share[f].form);

		for (int64_t i = k; form != NULL && i < (int64_t)in->n; i++) {
			int64_t t0 = in->t0 + i * in->step_s, t1 = t0 + in->step_s;

			if (t0 >= to)
				break;
			form->part[i] += density * share[f].share *
					 (double)((t1 < to ? t1 : to) - (t0 > from ? t0 : from));
		}
	}
}

/* The runs of a series from `from` on, and before them those of what it was joined to. */
static enum berth_code
unit_runs(struct unit_reading *r, const char *name, int64_t from, int64_t to, int depth,
    struct berth_err *err)
{
	const struct join *j = r->joins != NULL ? joins_of(r->joins, name) : NULL;
	struct form_run *run;
	struct series row;
	enum berth_code rc = store_series_get(r->s, name, r->a, &row, err);
	size_t n;

	if (rc == BERTH_OK)
		rc = store_forms_list(r->s, row.id, to, r->a, &run, &n, err);
	for (size_t i = 0; rc == BERTH_OK && i < n; i++)
		unit_lay(r, &run[i], from, to);
	if (rc != BERTH_OK || j == NULL || depth == UNIT_JOINS_MAX || from == INT64_MIN)
		return rc;
	for (size_t i = 0; rc == BERTH_OK && i < j->n_from; i++) {
		struct series before;

		rc = store_series_get(r->s, j->from[i], r->a, &before, err);
		if (rc == BERTH_OK)
			rc = unit_runs(r, j->from[i],
			    joins_of(r->joins, j->from[i]) != NULL ? before.from : INT64_MIN, from,
			    depth + 1, err);
	}
	return rc;
}

/* GPU-hours by form, of steps whose forms are kept. */
static void
unit_hours(struct unit *u, const struct fc_series *in)
{
	double hours = (double)in->step_s / 3600;

	for (size_t i = 0; i < in->n; i++) {
		double sum = 0;

		if (!(in->mean[i] > 0))
			continue;
		u->gpu_hours += in->mean[i] * hours;
		for (size_t f = 0; f < u->n; f++)
			sum += u->form[f].part[i];
		if (!(sum > 0))
			u->unkept += in->mean[i] * hours;
		for (size_t f = 0; f < u->n && sum > 0; f++)
			u->form[f].gpu_hours += in->mean[i] * hours * u->form[f].part[i] / sum;
	}
}

enum berth_code
unit_read(struct store *s, const struct accel_table *accels, const struct joins *joins,
    const struct series *row, const struct accel *accel, const struct fc_series *in, int64_t joined,
    struct arena *a, struct unit *out, struct berth_err *err)
{
	struct unit_reading r = {
		.s = s, .accels = accels, .joins = joins, .accel = accel, .in = in, .a = a
	};
	enum berth_code rc = BERTH_OK;
	size_t kept = 0;

	*out = (struct unit){ .told = true };
	if (accel->n_members > 0)
		rc = unit_runs(&r, row->name, joined != 0 ? joined : INT64_MIN,
		    in->t0 + (int64_t)in->n * in->step_s, 0, err);
	if (rc != BERTH_OK)
		return rc;
	out->form = r.form.v;
	out->n = r.form.n;
	unit_hours(out, in);
	for (size_t f = 0; f < out->n; f++)
		if (out->form[f].gpu_hours > UNIT_TRIFLE * out->gpu_hours)
			out->form[kept++] = out->form[f];
	out->n = kept;
	for (size_t f = 1; f < out->n; f++)
		for (size_t k = f;
		     k > 0 && strcmp(out->form[k - 1].accel->name, out->form[k].accel->name) > 0;
		     k--) {
			struct unit_form swap = out->form[k];

			out->form[k] = out->form[k - 1];
			out->form[k - 1] = swap;
		}
	return BERTH_OK;
}

void
unit_choose(
    struct unit *const *u, size_t n, const struct accel *accel, enum accel_precision precision)
{
	const struct accel *only = NULL, *in;
	bool several = false;

	for (size_t i = 0; i < n; i++)
		for (size_t f = 0; f < u[i]->n; f++) {
			several = several || (only != NULL && only != u[i]->form[f].accel);
			only = u[i]->form[f].accel;
		}
	in = only != NULL && !several ? accel_fastest(only, precision)
				      : accel_fastest(accel, precision);
	for (size_t i = 0; i < n; i++) {
		u[i]->in = in;
		for (size_t f = 0; f < u[i]->n; f++) {
			double rate = accel_work_ratio(u[i]->form[f].accel, in, precision);

			u[i]->form[f].rate = rate > 0 ? rate : 1;
		}
	}
}

void
unit_apply(struct unit *u, struct fc_series *in, struct arena *a)
{
	double known = 0, work = 0, *mean, *peak;

	for (size_t f = 0; f < u->n; f++) {
		known += u->form[f].gpu_hours;
		work += u->form[f].gpu_hours * u->form[f].rate;
		u->mixed = u->mixed || u->form[f].rate != 1;
	}
	if (!u->mixed || !(known > 0))
		return;
	mean = arena_memdup(a, in->mean, in->n * sizeof(*mean));
	peak = in->peak != NULL ? arena_memdup(a, in->peak, in->n * sizeof(*peak)) : NULL;
	for (size_t i = 0; i < in->n; i++) {
		double sum = 0, rate = 0;

		for (size_t f = 0; f < u->n; f++) {
			sum += u->form[f].part[i];
			rate += u->form[f].part[i] * u->form[f].rate;
		}
		rate = sum > 0 ? rate / sum : work / known;
		mean[i] *= rate;
		if (peak != NULL)
			peak[i] *= rate;
	}
	in->mean = mean;
	in->peak = peak;
}

enum berth_code
unit_one(struct store *s, const struct accel_table *accels, const struct series *row,
    const struct accel *accel, struct fc_series *in, struct arena *a, struct unit *out,
    struct berth_err *err)
{
	struct unit *u = out;
	enum berth_code rc = unit_read(s, accels, NULL, row, accel, in, 0, a, out, err);

	if (rc != BERTH_OK)
		return rc;
	unit_choose(&u, 1, accel, PRECISION_BF16);
	unit_apply(out, in, a);
	return BERTH_OK;
}

struct unit
unit_sum(const struct unit *const *u, size_t n, struct arena *a)
{
	struct unit sum = { .in = n > 0 ? u[0]->in : NULL, .told = n > 0 && u[0]->told };
	VEC(struct unit_form) form = { 0 };

	for (size_t i = 0; i < n; i++) {
		sum.gpu_hours += u[i]->gpu_hours;
		sum.unkept += u[i]->unkept;
		sum.mixed = sum.mixed || u[i]->mixed;
		for (size_t f = 0; f < u[i]->n; f++) {
			size_t k = 0;

			while (k < form.n && form.v[k].accel != u[i]->form[f].accel)
				k++;
			if (k == form.n)
				VEC_PUSH(a, &form,
				    ((struct unit_form){
					u[i]->form[f].accel, 0, u[i]->form[f].rate, NULL }));
			form.v[k].gpu_hours += u[i]->form[f].gpu_hours;
		}
	}
	sum.form = form.v;
	sum.n = form.n;
	return sum;
}

static double
unit_known(const struct unit *u)
{
	double known = 0;

	for (size_t f = 0; f < u->n; f++)
		known += u->form[f].gpu_hours;
	return known;
}

void
unit_json(struct jsonw *w, const struct unit *u)
{
	double known = unit_known(u);

	jsonw_str(w, "unit", u->in->name);
	jsonw_begin_array(w, "forms");
	for (size_t f = 0; f < u->n; f++) {
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "accelerator", u->form[f].accel->name);
		jsonw_fixed(w, "share", u->form[f].gpu_hours / known, 6);
		jsonw_fixed(w, "rate", u->form[f].rate, 6);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	jsonw_fixed(w, "forms_unknown", u->gpu_hours > 0 ? u->unkept / u->gpu_hours : 0, 6);
}

/* GPU-seconds of the series in a run, by its samples. */
static double
unit_run_seconds(const struct dense *d, const struct form_run *r)
{
	int64_t i = r->t > d->t0 ? (r->t - d->t0) / d->step_s : 0;
	double sum = 0;

	for (; i < (int64_t)d->n; i++) {
		int64_t t0 = d->t0 + i * d->step_s, t1 = t0 + d->step_s;

		if (t0 >= r->until)
			break;
		if (!isnan(d->mean[i]))
			sum += d->mean[i] *
			       (double)((t1 < r->until ? t1 : r->until) - (t0 > r->t ? t0 : r->t));
	}
	return sum;
}

enum berth_code
unit_series_json(struct jsonw *w, struct store *s, const struct series *row, struct berth_err *err)
{
	struct arena *a = arena_new();
	VEC(const char *) mix = { 0 };
	VEC(double) amount = { 0 };
	struct form_run *run;
	struct form_share *share;
	size_t n, n_shares = 0;
	double sum = 0;
	const char *all = NULL;
	struct dense d = { .n = 0 };
	enum berth_code rc = store_forms_list(s, row->id, 0, a, &run, &n, err);

	if (rc == BERTH_OK && n > 0)
		rc = store_samples_range(s, row->id, 0, 0, a, &d, err);
	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		double seconds = unit_run_seconds(&d, &run[i]);

		VEC_PUSH(a, &mix, run[i].mix);
		VEC_PUSH(a, &amount, seconds);
		sum += seconds;
	}
	if (rc == BERTH_OK)
		all = formmix_text(a, mix.v, amount.v, n);
	if (all == NULL || !formmix_parse(a, all, &share, &n_shares))
		n_shares = 0;
	jsonw_begin_array(w, "forms");
	for (size_t i = 0; i < n_shares; i++) {
		jsonw_begin_object(w, NULL);
		jsonw_str_or_null(w, "accelerator", share[i].form);
		jsonw_fixed(w, "gpu_hours", share[i].share * sum / 3600, 3);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	arena_free(a);
	return rc;
}

/* "60 % H100-PCIE-80GB (each 0.76) and 40 % H100-SXM5-80GB" */
static const char *
unit_say_forms(const struct unit *u, struct arena *a)
{
	double known = unit_known(u);
	const char *text = "";

	for (size_t f = 0; f < u->n; f++) {
		const struct unit_form *x = &u->form[f];

		text = arena_printf(a, "%s%s%.3g %% %s%s", text,
		    f == 0          ? ""
		    : f + 1 == u->n ? " and "
				    : ", ",
		    100 * x->gpu_hours / known, x->accel->name,
		    x->accel->n_members > 0 ? " that does not say which" : "");
		if (fabs(x->rate - 1) >= 0.005)
			text = arena_printf(a, "%s (each %.2f of it)", text, x->rate);
	}
	return text;
}

const char *
unit_say(const struct unit *u, const struct accel *accel, struct arena *a)
{
	double unkept = u->gpu_hours > 0 ? u->unkept / u->gpu_hours : 0;
	const char *rest = "";

	if (!u->told || accel->n_members == 0)
		return NULL;
	if (u->n == 0 || (u->n == 1 && u->form[0].accel == accel))
		return arena_printf(a,
		    "GPUs are counted in %s: no record says which %s it was; --gpu says it, and so "
		    "does a `berth record` of a source that names the product",
		    u->in->name, accel->name);
	if (unkept >= UNIT_SAY_SHARE)
		rest = arena_printf(a,
		    "; of %.3g %% more of its GPU-hours it is not kept what they were: they count "
		    "as these do until `berth record` reads their source again",
		    100 * unkept / (1 - unkept));
	if (u->n == 1)
		return arena_printf(
		    a, "GPUs are counted in %s: history ran on no other%s", u->in->name, rest);
	return arena_printf(a, "GPUs are counted in %s: history ran on %s, by GPU-hours%s",
	    u->in->name, unit_say_forms(u, a), rest);
}
