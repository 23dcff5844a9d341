#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "util/money.h"
#include "util/str.h"

__extension__ typedef __int128 money_i128;
__extension__ typedef unsigned __int128 money_u128;

static enum berth_code
money_range(struct berth_err *err, const char *what)
{
	return err_set(err, BERTH_EINVAL, "money: %s is out of range (9.2e12 USD)", what);
}

static enum berth_code
money_store(money_i128 v, struct usd_micro *out, const char *what, struct berth_err *err)
{
	if (v > INT64_MAX || v < -INT64_MAX)
		return money_range(err, what);
	out->v = (int64_t)v;
	return BERTH_OK;
}

enum berth_code
usd_add(struct usd_micro a, struct usd_micro b, struct usd_micro *out, struct berth_err *err)
{
	if (!usd_known(a) || !usd_known(b)) {
		*out = USD_UNKNOWN;
		return BERTH_OK;
	}
	return money_store((money_i128)a.v + b.v, out, "a sum", err);
}

enum berth_code
usd_sub(struct usd_micro a, struct usd_micro b, struct usd_micro *out, struct berth_err *err)
{
	if (!usd_known(a) || !usd_known(b)) {
		*out = USD_UNKNOWN;
		return BERTH_OK;
	}
	return money_store((money_i128)a.v - b.v, out, "a difference", err);
}

enum berth_code
usd_mul_i64(struct usd_micro a, int64_t k, struct usd_micro *out, struct berth_err *err)
{
	if (!usd_known(a)) {
		*out = USD_UNKNOWN;
		return BERTH_OK;
	}
	return money_store((money_i128)a.v * k, out, "a product", err);
}

/* num / den rounded half away from zero; den > 0. |num| < 2^126. */
static money_i128
money_div(money_i128 num, money_i128 den)
{
	money_i128 half = den / 2, q = num / den, r = num % den;

	if (den % 2 != 0)
		half++;
	if (r >= half)
		return q + 1;
	return -r >= half ? q - 1 : q;
}

enum berth_code
usd_div_i64(struct usd_micro a, int64_t k, struct usd_micro *out, struct berth_err *err)
{
	money_i128 den = k < 0 ? -(money_i128)k : k;

	if (k == 0)
		return err_set(err, BERTH_EINVAL, "money: division by zero");
	if (!usd_known(a)) {
		*out = USD_UNKNOWN;
		return BERTH_OK;
	}
	return money_store(money_div(k < 0 ? -(money_i128)a.v : a.v, den), out, "a quotient", err);
}

enum berth_code
usd_mul_ratio(
    struct usd_micro a, int64_t num, int64_t den, struct usd_micro *out, struct berth_err *err)
{
	if (den <= 0)
		return err_set(
		    err, BERTH_EINVAL, "money: denominator %" PRId64 " is not positive", den);
	if (!usd_known(a)) {
		*out = USD_UNKNOWN;
		return BERTH_OK;
	}
	return money_store(money_div((money_i128)a.v * num, den), out, "a product", err);
}

enum berth_code
usd_mul_double(struct usd_micro a, double x, struct usd_micro *out, struct berth_err *err)
{
	money_u128 mag, q;
	money_i128 prod;
	int e, s;

	if (!isfinite(x))
		return err_set(err, BERTH_EINVAL, "money: a factor is not a number");
	if (!usd_known(a)) {
		*out = USD_UNKNOWN;
		return BERTH_OK;
	}
	/* x is m * 2^e with m a whole number of 53 bits: the product is exact, only the shift
	 * rounds. */
	prod = (money_i128)a.v * (int64_t)ldexp(frexp(x, &e), 53);
	e -= 53;
	mag = (money_u128)(prod < 0 ? -prod : prod);
	s = e < -127 ? 127 : -e;
	if (s > 0)
		q = (mag >> s) + ((mag >> (s - 1)) & 1);
	else if (mag == 0 || (s > -63 && mag <= (money_u128)INT64_MAX >> -s))
		q = mag == 0 ? 0 : mag << -s;
	else
		return money_range(err, "a product");
	if (q > INT64_MAX)
		return money_range(err, "a product");
	out->v = prod < 0 ? -(int64_t)q : (int64_t)q;
	return BERTH_OK;
}

enum berth_code
usd_from_double(double usd, struct usd_micro *out, struct berth_err *err)
{
	if (!isfinite(usd))
		return err_set(err, BERTH_EINVAL, "money: not a number");
	return usd_mul_double((struct usd_micro){ 1000000 }, usd, out, err);
}

double
usd_to_double(struct usd_micro a)
{
	return usd_known(a) ? (double)a.v / 1e6 : (double)NAN;
}

/* Text of the form [+-]digits[.digits][e[+-]digits], taken apart. */
struct money_text {
	const char *digits, *end; /* mantissa, with a '.' in it perhaps */
	bool negative;
	int64_t n_int, n_all; /* digits before the '.', digits in all */
	int64_t exponent;
};

static bool
money_scan_exponent(const char *s, int64_t *e_out)
{
	bool negative = *s == '-';
	int64_t e = 0;

	if (*s == '-' || *s == '+')
		s++;
	if (!str_is_digit(*s))
		return false;
	for (; str_is_digit(*s); s++)
		e = e > 1000000000 ? e : e * 10 + (*s - '0');
	*e_out = negative ? -e : e;
	return *s == '\0';
}

static bool
money_scan(const char *s, struct money_text *t)
{
	bool point = false;

	*t = (struct money_text){ .negative = *s == '-' };
	if (*s == '-' || *s == '+')
		s++;
	t->digits = s;
	for (; str_is_digit(*s) || (*s == '.' && !point); s++) {
		if (*s == '.') {
			point = true;
		} else {
			t->n_int += !point;
			t->n_all++;
		}
	}
	t->end = s;
	if (t->n_all == 0)
		return false;
	if (*s == 'e' || *s == 'E')
		return money_scan_exponent(s + 1, &t->exponent);
	return *s == '\0';
}

enum berth_code
usd_parse(const char *s, struct usd_micro *out, struct berth_err *err)
{
	struct money_text t;
	money_i128 v = 0;
	int64_t keep, i = 0;
	const char *p;
	bool up = false;

	if (!money_scan(s, &t))
		return err_set(err, BERTH_EINVAL,
		    "money: '%.60s' is not a plain number of USD, as in 12.3456", s);
	keep = t.n_int + t.exponent + 6; /* digits left of the point of the micro-dollars */
	for (p = t.digits; p < t.end; p++) {
		if (*p == '.')
			continue;
		if (i == keep)
			up = *p >= '5';
		else if (i < keep && v <= INT64_MAX)
			v = v * 10 + (*p - '0');
		i++;
	}
	for (; i < keep && v != 0 && v <= INT64_MAX; i++)
		v *= 10;
	v += up;
	if (v > INT64_MAX)
		return err_set(err, BERTH_EINVAL, "money: '%.60s' is out of range (9.2e12 USD)", s);
	out->v = t.negative ? -(int64_t)v : (int64_t)v;
	return BERTH_OK;
}

char *
usd_fmt(char *dst, size_t size, struct usd_micro a, int decimals)
{
	int64_t unit = 1, scale = 1000000;
	money_i128 q;
	uint64_t mag;

	if (!usd_known(a)) {
		snprintf(dst, size, "-");
		return dst;
	}
	decimals = decimals < 0 ? 0 : decimals > 6 ? 6 : decimals;
	for (int i = 0; i < decimals; i++) {
		unit *= 10;
		scale /= 10;
	}
	q = money_div(a.v, scale);
	mag = (uint64_t)(q < 0 ? -q : q);
	if (decimals == 0)
		snprintf(dst, size, "%s%" PRIu64, q < 0 ? "-" : "", mag);
	else
		snprintf(dst, size, "%s%" PRIu64 ".%0*" PRIu64, q < 0 ? "-" : "",
		    mag / (uint64_t)unit, decimals, mag % (uint64_t)unit);
	return dst;
}

int
usd_cmp(struct usd_micro a, struct usd_micro b)
{
	if (!usd_known(a) || !usd_known(b))
		return (int)!usd_known(a) - (int)!usd_known(b);
	return (a.v > b.v) - (a.v < b.v);
}

/* Whole cents at or beside usd; a micro is as exact as money is. */
static char *
usd_cents(char *dst, double usd, bool up)
{
	const int64_t cent = 10000;
	struct usd_micro a;
	int64_t over;

	if (usd_from_double(usd, &a, NULL) != BERTH_OK || fabs(usd) > 9e12)
		return usd_fmt(dst, USD_FMT_SIZE, USD_UNKNOWN, 2);
	over = (a.v % cent + cent) % cent;
	a.v -= over;
	if (up && over > 0)
		a.v += cent;
	return usd_fmt(dst, USD_FMT_SIZE, a, 2);
}

char *
usd_need(char *dst, double usd)
{
	return usd_cents(dst, usd, true);
}

char *
usd_have(char *dst, double usd)
{
	return usd_cents(dst, usd, false);
}
