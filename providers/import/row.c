#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "providers/import/row.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/time.h"

#define ROW_FUTURE_S 86400 /* a list may be dated by a zone ahead of ours */
#define ROW_MONTHS_MAX 120

struct row {
	const struct layout *l;
	char **field;
	const struct import_opts *opts;
	struct row_memo *memo;
	struct arena *a;
	struct row_out *out;
};

/* The field, which row_trim() has taken blanks from; "" where the layout has none. Lives as long as
 * the record. */
static const char *
row_text(const struct row *r, enum layout_field f)
{
	return r->l->col[f] >= 0 ? r->field[r->l->col[f]] : "";
}

void
row_trim(char **field, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char *s = field[i], *end;

		while (str_is_space(*s))
			s++;
		end = s + strlen(s);
		while (end > s && str_is_space(end[-1]))
			end--;
		*end = '\0';
		field[i] = s;
	}
}

/* Ways to write "not known" in place of a number. */
static bool
row_is_blank(const char *s)
{
	static const char *const words[] = { "-", "n/a", "na", "nan", "none", "null", "unknown",
		NULL };

	if (s[0] == '\0')
		return true;
	if (s[0] >= '0' && s[0] <= '9')
		return false;
	for (size_t i = 0; words[i] != NULL; i++)
		if (str_ieq(s, words[i]))
			return true;
	return false;
}

/* Nothing said is nothing asked; but a word for "not known" is no 0. */
static bool
row_is_unsaid(const char *s)
{
	return row_is_blank(s) && s[0] != '\0' && s[0] != '-' && !str_ieq(s, "none");
}

static enum berth_code
row_refuse(const struct row *r, enum layout_field f, struct berth_err *err, const char *why)
{
	return err_set(
	    err, BERTH_EINVAL, "%s '%.80s': %s", layout_column(r->l, f), row_text(r, f), why);
}

static enum berth_code
row_double(const struct row *r, enum layout_field f, double min, double max, double *out,
    struct berth_err *err)
{
	const char *s = row_text(r, f);

	*out = NAN;
	if (row_is_blank(s))
		return BERTH_OK;
	if (str_to_double(s, min, max, out, NULL) != BERTH_OK)
		return row_refuse(r, f, err, "not a number in range");
	if (*out == 0)
		*out = NAN; /* no machine has 0 GiB: it is not known */
	return BERTH_OK;
}

/* A price, or USD_UNKNOWN with the doubt noted. zero_ok: something is paid besides. */
static enum berth_code
row_price(const struct row *r, enum layout_field f, bool zero_ok, struct usd_micro *out,
    struct berth_err *err)
{
	const char *s = row_text(r, f), *why;
	struct offer o = { 0 };

	*out = USD_UNKNOWN;
	if (row_is_blank(s)) {
		r->out->doubt = "no price";
		return BERTH_OK;
	}
	if (usd_parse(s, &o.price, NULL) != BERTH_OK)
		return row_refuse(r, f, err, "not a price");
	if (o.price.v < 0)
		return row_refuse(r, f, err, "a price below 0 is no price");
	o.upfront = zero_ok ? (struct usd_micro){ 1 } : USD_ZERO;
	if ((why = offer_doubt_price(&o)) != NULL)
		r->out->doubt = why;
	*out = o.price;
	return BERTH_OK;
}

static enum berth_code
row_count(const struct row *r, int *count_out, struct berth_err *err)
{
	const char *s = row_text(r, LAYOUT_COUNT);
	double n = 0;

	*count_out = 1;
	if (r->l->col[LAYOUT_COUNT] < 0)
		return BERTH_OK;
	if (str_to_double(s, 0, 4096, &n, NULL) != BERTH_OK)
		return row_refuse(r, LAYOUT_COUNT, err, "not a number of accelerators");
	if (n > 0 && n < 1)
		return row_refuse(r, LAYOUT_COUNT, err, "part of an accelerator");
	if (n != floor(n))
		return row_refuse(r, LAYOUT_COUNT, err, "not a whole number");
	*count_out = (int)n;
	return BERTH_OK;
}

/* "reserved_1y_all_upfront" and its like; the price of these is what an hour of the term costs in
 * all. */
static bool
row_reserved(const char *s, struct offer *o)
{
	const char *rest;

	if (!str_istarts(s, "reserved_") || !str_is_digit(s[9]) || str_lower_char(s[10]) != 'y')
		return false;
	o->purchase = PURCHASE_RESERVED;
	o->term_months = 12 * (s[9] - '0');
	rest = s + 11;
	o->payment = str_ieq(rest, "_all_upfront")       ? PAYMENT_ALL
		     : str_ieq(rest, "_partial_upfront") ? PAYMENT_PARTIAL
							 : PAYMENT_NONE;
	return o->term_months > 0 && (*rest == '\0' || *rest == '_');
}

/* Both dates of a block; false: it is none. */
static bool
row_block(const struct row *r, struct offer *o)
{
	const char *from = row_text(r, LAYOUT_STARTS), *to = row_text(r, LAYOUT_ENDS);

	if (row_is_blank(from) && row_is_blank(to))
		return false;
	if (time_parse(from, 0, NULL, TIME_ABSOLUTE, &o->starts_at, NULL) != BERTH_OK)
		o->starts_at = 0;
	if (time_parse(to, 0, NULL, TIME_ABSOLUTE, &o->ends_at, NULL) != BERTH_OK)
		o->ends_at = 1;
	return o->purchase == PURCHASE_RESERVED && o->term_months == 0 && o->starts_at > 0 &&
	       o->ends_at > o->starts_at;
}

static enum berth_code
row_terms(const struct row *r, struct offer *o, struct berth_err *err)
{
	const char *s = row_text(r, LAYOUT_TERM), *payment = row_text(r, LAYOUT_PAYMENT);
	int64_t months = 0;

	if (!row_is_blank(s) && str_to_i64(s, 0, ROW_MONTHS_MAX, &months, NULL) != BERTH_OK)
		return row_refuse(r, LAYOUT_TERM, err,
		    arena_printf(
			r->a, "not a whole number of months from 0 to %d", ROW_MONTHS_MAX));
	o->term_months = (int)months;
	if (row_block(r, o))
		months = 1;
	else if (o->starts_at != 0 || o->ends_at != 0)
		return row_refuse(r, LAYOUT_ENDS, err,
		    "only a block (reserved, without a term) has two dates, the end behind the "
		    "start");
	if (o->purchase == PURCHASE_RESERVED && months == 0)
		return err_set(err, BERTH_EINVAL, "a reserved offer without %s",
		    layout_column(r->l, LAYOUT_TERM));
	if (o->purchase != PURCHASE_RESERVED && months != 0)
		return row_refuse(r, LAYOUT_TERM, err, "only reserved offers have a term");
	if (!row_is_blank(payment) && !payment_parse(payment, &o->payment))
		return row_refuse(r, LAYOUT_PAYMENT, err, "not none, partial or all");
	if (!row_is_blank(row_text(r, LAYOUT_UPFRONT)) &&
	    (usd_parse(row_text(r, LAYOUT_UPFRONT), &o->upfront, NULL) != BERTH_OK ||
		o->upfront.v < 0))
		return row_refuse(r, LAYOUT_UPFRONT, err, "not an amount of money");
	if (row_is_blank(row_text(r, LAYOUT_USAGE)))
		return BERTH_OK;
	if (usd_parse(row_text(r, LAYOUT_USAGE), &o->usage, NULL) != BERTH_OK || o->usage.v < 0 ||
	    o->usage.v > OFFER_PRICE_MAX)
		return row_refuse(r, LAYOUT_USAGE, err, "not a price");
	if (o->purchase != PURCHASE_RESERVED && o->usage.v > 0)
		return row_refuse(
		    r, LAYOUT_USAGE, err, "only reserved offers have a price of use besides");
	return BERTH_OK;
}

static enum berth_code
row_purchase(const struct row *r, struct offer *o, struct berth_err *err)
{
	const char *s = row_text(r, LAYOUT_PURCHASE);
	bool spot = false;

	if (r->l->col[LAYOUT_IS_SPOT] >= 0) {
		if (str_to_bool(row_text(r, LAYOUT_IS_SPOT), &spot, NULL) != BERTH_OK)
			return row_refuse(r, LAYOUT_IS_SPOT, err, "neither true nor false");
		o->purchase = spot ? PURCHASE_SPOT : PURCHASE_ON_DEMAND;
		return BERTH_OK;
	}
	if (r->l->col[LAYOUT_PURCHASE] < 0)
		return BERTH_OK;
	if (row_reserved(s, o))
		return BERTH_OK;
	if (!purchase_parse(s, &o->purchase))
		return row_refuse(r, LAYOUT_PURCHASE, err, "not on_demand, spot or reserved");
	return r->l->format == IMPORT_BERTH ? row_terms(r, o, err)
	       : o->purchase != PURCHASE_RESERVED
		   ? BERTH_OK
		   : row_refuse(r, LAYOUT_PURCHASE, err, "which term?");
}

static enum berth_code
row_as_of(const struct row *r, struct offer *o, struct berth_err *err)
{
	const char *s = row_text(r, LAYOUT_AS_OF), *said = s;

	o->as_of = r->opts->as_of;
	if (row_is_blank(s))
		return BERTH_OK;
	if (str_eq(s, r->memo->as_of)) {
		o->as_of = r->memo->as_of_t;
		return BERTH_OK;
	}
	if (strlen(s) == 10)
		s = arena_printf(r->a, "%sT00:00:00Z", s);
	if (time_parse(s, r->opts->now, NULL, TIME_ABSOLUTE, &o->as_of, NULL) != BERTH_OK)
		return row_refuse(r, LAYOUT_AS_OF, err, "not a date or a time with zone");
	if (o->as_of > r->opts->now + ROW_FUTURE_S)
		return row_refuse(r, LAYOUT_AS_OF, err, "lies in the future");
	if (str_copy(r->memo->as_of, sizeof(r->memo->as_of), said))
		r->memo->as_of_t = o->as_of;
	else
		r->memo->as_of[0] = '\0';
	return BERTH_OK;
}

static enum berth_code
row_currency(const struct row *r, struct offer *o, struct berth_err *err)
{
	const char *s = row_text(r, LAYOUT_CURRENCY);

	memcpy(o->currency, "USD", 4);
	if (s[0] == '\0')
		return BERTH_OK;
	if (strlen(s) != 3 || !str_is_alnum(s[0]) || !str_is_alnum(s[1]) || !str_is_alnum(s[2]))
		return row_refuse(r, LAYOUT_CURRENCY, err, "not a currency code");
	for (int i = 0; i < 3; i++)
		o->currency[i] = (char)(s[i] >= 'a' && s[i] <= 'z' ? s[i] - 'a' + 'A' : s[i]);
	return BERTH_OK;
}

/* SkyPilot writes what it knows of memory into a text: ... 'MemoryInfo': {'SizeInMiB': 81920} ...
 */
static double
row_info_memory(const char *info)
{
	static const char mark[] = "'SizeInMiB': ";
	const char *p = strstr(info, mark);
	double mib;

	if (p == NULL)
		p = strstr(info, "\"SizeInMiB\": ");
	if (p == NULL)
		return NAN;
	p += sizeof(mark) - 1;
	mib = 0;
	for (int i = 0; i < 9 && str_is_digit(p[i]); i++)
		mib = mib * 10 + (p[i] - '0');
	return mib > 0 ? mib / 1024 : NAN;
}

static enum berth_code
row_size(const struct row *r, struct offer *o, struct berth_err *err)
{
	enum berth_code rc;

	if ((rc = row_count(r, &o->accelerator_count, err)) != BERTH_OK ||
	    (rc = row_double(r, LAYOUT_MEMORY, 0, 1e5, &o->accelerator_memory_gib, err)) !=
		BERTH_OK ||
	    (rc = row_double(r, LAYOUT_VCPUS, 0, 1e6, &o->vcpus, err)) != BERTH_OK ||
	    (rc = row_double(r, LAYOUT_RAM, 0, 1e7, &o->memory_gib, err)) != BERTH_OK)
		return rc;
	if (r->l->col[LAYOUT_INFO] >= 0 && isnan(o->accelerator_memory_gib))
		o->accelerator_memory_gib = row_info_memory(r->field[r->l->col[LAYOUT_INFO]]);
	return BERTH_OK;
}

static enum berth_code
row_rest(const struct row *r, struct offer *o, struct berth_err *err)
{
	const char *avail = row_text(r, LAYOUT_AVAILABLE), *rate = row_text(r, LAYOUT_RATE);
	const char *kind = row_text(r, LAYOUT_KIND);
	enum berth_code rc;

	if (kind[0] != '\0' && !offer_kind_parse(kind, &o->kind))
		return row_refuse(
		    r, LAYOUT_KIND, err, "not plain, windows, licensed, dedicated or block");
	o->interruption_rate = NAN;
	if (!row_is_blank(rate) &&
	    str_to_double(rate, 0, 1e4, &o->interruption_rate, NULL) != BERTH_OK)
		return row_refuse(r, LAYOUT_RATE, err, "not a rate an hour");
	o->available = str_ieq(avail, "yes") || str_ieq(avail, "true")   ? AVAIL_YES
		       : str_ieq(avail, "no") || str_ieq(avail, "false") ? AVAIL_NO
									 : AVAIL_UNKNOWN;
	if ((rc = row_as_of(r, o, err)) != BERTH_OK)
		return rc;
	o->source = row_text(r, LAYOUT_SOURCE);
	if (o->source[0] == '\0')
		o->source = r->opts->source;
	return row_currency(r, o, err);
}

const char *
row_provider(const struct layout *l, char **field, const struct import_opts *opts, struct arena *a)
{
	const char *s = l->col[LAYOUT_PROVIDER] >= 0 ? field[l->col[LAYOUT_PROVIDER]] : "";

	if (s[0] == '\0' && opts->provider != NULL)
		s = opts->provider;
	for (const char *p = s; *p != '\0'; p++)
		if (*p >= 'A' && *p <= 'Z')
			return str_lower(a, s);
	return s;
}

/* Printable ASCII, as nearly all names are. */
static bool
row_is_ascii(const char *s)
{
	while (*s >= 0x20 && *s < 0x7f)
		s++;
	return *s == '\0';
}

static enum berth_code
row_names(const struct row *r, struct offer *o, struct berth_err *err)
{
	static const enum layout_field names[] = { LAYOUT_PROVIDER, LAYOUT_REGION, LAYOUT_ZONE,
		LAYOUT_TYPE, LAYOUT_ACCELERATOR, LAYOUT_SOURCE };

	o->provider = row_provider(r->l, r->field, r->opts, r->a);
	o->account = "";
	o->region = row_text(r, LAYOUT_REGION);
	o->zone = row_text(r, LAYOUT_ZONE);
	o->instance_type = row_text(r, LAYOUT_TYPE);
	o->accelerator = row_text(r, LAYOUT_ACCELERATOR);
	o->measured = NAN;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *s = row_text(r, names[i]);

		if (row_is_ascii(s))
			continue;
		if (str_control(s) >= 0)
			return row_refuse(r, names[i], err, "a control character");
		if (!str_utf8_valid(s, strlen(s)))
			return row_refuse(r, names[i], err, "no UTF-8");
	}
	if (o->provider[0] == '\0')
		return err_set(err, BERTH_EINVAL, "the provider is not said: --provider NAME");
	if (o->accelerator[0] == '\0')
		return err_set(
		    err, BERTH_EINVAL, "%s is empty", layout_column(r->l, LAYOUT_ACCELERATOR));
	if (o->instance_type[0] == '\0') /* a TPU of SkyPilot's list has no type of its own */
		o->instance_type = o->accelerator;
	return BERTH_OK;
}

/* A second offer for the spot price of the same row. */
static enum berth_code
row_spot_too(const struct row *r, struct berth_err *err)
{
	struct row_out *out = r->out;
	const char *doubt = out->doubt;
	struct offer *spot = &out->offer[1];
	enum berth_code rc;

	if (r->l->col[LAYOUT_SPOT_PRICE] < 0 || row_is_blank(row_text(r, LAYOUT_SPOT_PRICE)))
		return BERTH_OK;
	*spot = out->offer[0];
	spot->purchase = PURCHASE_SPOT;
	if ((rc = row_price(r, LAYOUT_SPOT_PRICE, false, &spot->price, err)) != BERTH_OK)
		return rc;
	if (!usd_known(out->offer[0].price) && row_is_blank(row_text(r, LAYOUT_PRICE))) {
		out->offer[0] = *spot; /* sold as spot alone */
		return BERTH_OK;
	}
	if (out->doubt == NULL)
		out->doubt = doubt;
	out->n = 2;
	return BERTH_OK;
}

/* A price of which a part is not known is not known. */
static void
row_parts(const struct row *r, struct offer *o)
{
	const char *why =
	    row_is_unsaid(row_text(r, LAYOUT_UPFRONT)) ? "nobody says what is paid upfront"
	    : row_is_unsaid(row_text(r, LAYOUT_USAGE)) ? "nobody says what its use costs"
	    : r->l->col[LAYOUT_UPFRONT] >= 0 && o->payment != PAYMENT_NONE && o->upfront.v == 0
		? "it is paid upfront in part or whole, and nobody says how much"
		: NULL;

	if (why == NULL || !usd_known(o->price))
		return;
	o->price = USD_UNKNOWN;
	r->out->doubt = why;
}

/* Nothing is paid by the hour where all is paid upfront: the figure times the hours of the term. */
static enum berth_code
row_all_upfront(const struct row *r, struct offer *o, struct berth_err *err)
{
	struct usd_micro all = USD_UNKNOWN;

	if (o->payment != PAYMENT_ALL || !usd_known(o->price))
		return BERTH_OK;
	if (usd_mul_double(o->price, offer_term_hours(o), &all, NULL) != BERTH_OK)
		return row_refuse(r, LAYOUT_PRICE, err, "times its term is no amount of money");
	o->upfront = all;
	o->price = USD_ZERO;
	return BERTH_OK;
}

/* SkyPilot's list of Google Cloud prices cards and their machines in rows apart; TPUs come with
 * theirs. */
static bool
row_cards_alone(const struct row *r)
{
	return r->l->format == IMPORT_SKYPILOT && row_is_blank(row_text(r, LAYOUT_TYPE)) &&
	       !str_istarts(row_text(r, LAYOUT_ACCELERATOR), "tpu");
}

enum berth_code
row_read(const struct layout *l, char **field, const struct import_opts *opts,
    struct row_memo *memo, struct arena *a, struct row_out *out, struct berth_err *err)
{
	struct row r = { l, field, opts, memo, a, out };
	struct offer *o = &out->offer[0];
	const char *why;
	enum berth_code rc;

	memset(out, 0, sizeof(*out));
	if ((l->format == IMPORT_SKYPILOT || l->format == IMPORT_GPUHUNT) &&
	    row_is_blank(row_text(&r, LAYOUT_ACCELERATOR)))
		return BERTH_OK;
	if ((rc = row_size(&r, o, err)) != BERTH_OK)
		return rc;
	if (o->accelerator_count == 0)
		return BERTH_OK;
	if ((rc = row_names(&r, o, err)) != BERTH_OK ||
	    (rc = row_purchase(&r, o, err)) != BERTH_OK ||
	    (rc = row_rest(&r, o, err)) != BERTH_OK ||
	    (rc = row_price(&r, LAYOUT_PRICE,
		 (usd_known(o->upfront) && o->upfront.v > 0) || o->usage.v > 0, &o->price, err)) !=
		BERTH_OK)
		return rc;
	if (o->usage.v > 0 && usd_known(o->price) && (why = offer_doubt_price(o)) != NULL)
		out->doubt = why; /* with its use */
	out->n = 1;
	if (row_cards_alone(&r)) {
		o->price = USD_UNKNOWN;
		out->doubt = "it is that of the cards alone, the machine that holds them is priced "
			     "in another row";
		return BERTH_OK;
	}
	row_parts(&r, o);
	if (l->format == IMPORT_COLLECTED && (rc = row_all_upfront(&r, o, err)) != BERTH_OK)
		return rc;
	return row_spot_too(&r, err);
}
