#include <string.h>

#include "model/rates.h"
#include "util/arena.h"
#include "util/csv.h"
#include "util/str.h"
#include "util/time.h"
#include "util/vec.h"

struct rate {
	char currency[4];
	int64_t num, den;  /* USD = amount * num / den */
	const char *words; /* "7.10 a USD" */
	int64_t as_of;     /* 0: not said */
};

struct rates {
	VEC(struct rate) v;
};

/* The columns of the file. */
struct rates_cols {
	int from, to, rate, as_of;
};

static enum berth_code
rates_row(const struct csv *csv, const struct csv_row *row, const struct rates_cols *cols,
    int64_t now, struct arena *a, struct rate *out, struct berth_err *err)
{
	const char *from = str_trim(a, row->field[cols->from]),
		   *to = str_trim(a, row->field[cols->to]);
	const char *text = str_trim(a, row->field[cols->rate]),
		   *other = str_eq(from, "USD") ? to : from;
	const char *as_of = cols->as_of >= 0 ? str_trim(a, row->field[cols->as_of]) : "";
	struct usd_micro v = USD_ZERO;

	if (usd_parse(text, &v, NULL) != BERTH_OK || v.v <= 0) {
		err_set(err, BERTH_EINVAL, "'%s' is no rate over 0", text);
		return csv_err(csv, err, "rate");
	}
	if (str_eq(from, "USD") == str_eq(to, "USD") || strlen(other) != 3) {
		err_set(err, BERTH_EINVAL,
		    "'%s' to '%s': one must be USD, the other a currency of three letters", from,
		    to);
		return csv_err(csv, err, NULL);
	}
	*out = (struct rate){ .num = str_eq(from, "USD") ? 1000000 : v.v,
		.den = str_eq(from, "USD") ? v.v : 1000000 };
	str_copy(out->currency, sizeof(out->currency), other);
	out->words = arena_printf(a, str_eq(from, "USD") ? "%s a USD" : "%s USD each", text);
	if (as_of[0] == '\0')
		return BERTH_OK;
	if (strlen(as_of) == 10)
		as_of = arena_printf(a, "%sT00:00:00Z", as_of);
	if (time_parse(as_of, now, NULL, TIME_ABSOLUTE, &out->as_of, NULL) == BERTH_OK)
		return BERTH_OK;
	err_set(err, BERTH_EINVAL, "'%s' is no date and no time with zone", as_of);
	return csv_err(csv, err, "as_of");
}

static const struct rate *
rates_find(const struct rates *r, const char *currency)
{
	for (size_t i = 0; r != NULL && i < r->v.n; i++)
		if (str_eq(r->v.v[i].currency, currency))
			return &r->v.v[i];
	return NULL;
}

static void
rates_add(struct rates *r, const struct rate *rate, struct arena *a)
{
	struct rate *old = (struct rate *)(uintptr_t)rates_find(r, rate->currency);

	if (old == NULL)
		VEC_PUSH(a, &r->v, *rate);
	else if (rate->as_of >= old->as_of)
		*old = *rate;
}

enum berth_code
rates_load(
    const char *path, int64_t now, struct arena *a, struct rates **rates_out, struct berth_err *err)
{
	struct rates *r = arena_new_of(a, struct rates);
	struct rates_cols cols = { 0 };
	const struct csv_row *row = NULL;
	struct csv *csv = NULL;
	struct rate rate;
	enum berth_code rc = csv_open(path, &csv, err);

	if (rc != BERTH_OK)
		return rc;
	cols.as_of = csv_column(csv, "as_of");
	if ((rc = csv_need(csv, "from", &cols.from, err)) != BERTH_OK ||
	    (rc = csv_need(csv, "to", &cols.to, err)) != BERTH_OK ||
	    (rc = csv_need(csv, "rate", &cols.rate, err)) != BERTH_OK)
		goto out;
	while ((rc = csv_next(csv, &row, err)) == BERTH_OK && row != NULL) {
		rc = rates_row(csv, row, &cols, now, a, &rate, err);
		if (rc != BERTH_OK)
			break;
		rates_add(r, &rate, a);
	}
	*rates_out = r;
out:
	csv_close(csv);
	return rc;
}

void
rates_convert(const struct rates *rates, struct offer *o, struct arena *a)
{
	const struct rate *r = str_eq(o->currency, "USD") ? NULL : rates_find(rates, o->currency);
	struct usd_micro price = o->price, upfront = o->upfront, usage = o->usage;
	char when[TIME_FMT_SIZE] = "";

	if (r == NULL ||
	    (usd_known(price) && usd_mul_ratio(price, r->num, r->den, &price, NULL) != BERTH_OK) ||
	    (usd_known(upfront) &&
		usd_mul_ratio(upfront, r->num, r->den, &upfront, NULL) != BERTH_OK) ||
	    (usd_known(usage) && usd_mul_ratio(usage, r->num, r->den, &usage, NULL) != BERTH_OK))
		return;
	o->price = price;
	o->upfront = upfront;
	o->usage = usage;
	if (r->as_of != 0)
		(void)time_fmt(when, r->as_of);
	o->source =
	    arena_printf(a, "%s%s%s at %s%s%.10s", o->source, o->source[0] != '\0' ? ", " : "",
		o->currency, r->words, when[0] != '\0' ? " of " : "", when);
	memcpy(o->currency, "USD", 4);
}
