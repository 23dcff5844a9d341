#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/str.h"

static bool
str_scan_i64(const char *s, int64_t *out)
{
	bool negative = *s == '-';
	int64_t v = 0;

	if (*s == '-' || *s == '+')
		s++;
	if (!str_is_digit(*s))
		return false;
	for (; str_is_digit(*s); s++) {
		int digit = *s - '0';

		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_sub_overflow(v, negative ? digit : -digit, &v))
			return false;
	}
	*out = v;
	return *s == '\0';
}

enum berth_code
str_to_i64(const char *s, int64_t min, int64_t max, int64_t *out, struct berth_err *err)
{
	int64_t v;

	if (!str_scan_i64(s, &v))
		return err_set(err, BERTH_EINVAL, "'%.60s' is not a whole number", s);
	if (v < min || v > max)
		return err_set(
		    err, BERTH_EINVAL, "%" PRId64 " is not in %" PRId64 "..%" PRId64, v, min, max);
	*out = v;
	return BERTH_OK;
}

/*
 * Up to 19 digits and a small power of ten: both exact doubles, so that one operation rounds once
 * (Clinger, 1990).
 */
static bool
str_exact_double(uint64_t mantissa, int digits, int exponent, double *out)
{
	static const double tens[] = { 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
		1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };

	if (digits > 19 || mantissa > (UINT64_C(1) << 53) || exponent < -22 || exponent > 22 ||
	    FLT_EVAL_METHOD != 0)
		return false;
	*out =
	    exponent < 0 ? (double)mantissa / tens[-exponent] : (double)mantissa * tens[exponent];
	return true;
}

struct str_decimal {
	uint64_t mantissa; /* right if digits <= 19 */
	int digits, exponent;
};

/* digits[.digits], or .digits; NULL if there is no digit, else the place behind them. */
static const char *
str_scan_mantissa(const char *p, struct str_decimal *d)
{
	bool point = false, any = false;

	for (; str_is_digit(*p) || (*p == '.' && !point); p++) {
		if (*p == '.') {
			point = true;
			continue;
		}
		any = true;
		if (d->digits < 20)
			d->mantissa = d->mantissa * 10 + (uint64_t)(*p - '0');
		d->digits += d->digits < 20 && d->mantissa != 0;
		d->exponent -= point;
	}
	return any ? p : NULL;
}

static const char *
str_scan_exponent(const char *p, struct str_decimal *d)
{
	bool negative;
	int e = 0;

	if (*p != 'e' && *p != 'E')
		return p;
	negative = *++p == '-';
	p += *p == '-' || *p == '+';
	if (!str_is_digit(*p))
		return NULL;
	for (; str_is_digit(*p); p++)
		e = e > 100000 ? e : e * 10 + (*p - '0');
	d->exponent += negative ? -e : e;
	return p;
}

/* Checks the form, and computes what can be computed exactly; the rest is strtod()'s. */
static bool
str_scan_double(const char *s, double *out)
{
	struct str_decimal d = { 0 };
	const char *p = str_scan_mantissa(s + (*s == '-' || *s == '+'), &d);
	char *end;

	if (p != NULL)
		p = str_scan_exponent(p, &d);
	if (p == NULL || *p != '\0')
		return false;
	if (str_exact_double(d.mantissa, d.digits, d.exponent, out)) {
		*out = *s == '-' ? -*out : *out;
		return true;
	}
	*out = strtod(s, &end);
	return *end == '\0';
}

enum berth_code
str_to_double(const char *s, double min, double max, double *out, struct berth_err *err)
{
	double x;

	if (!str_scan_double(s, &x))
		return err_set(err, BERTH_EINVAL, "'%.60s' is not a number", s);
	if (!isfinite(x))
		return err_set(err, BERTH_EINVAL, "'%.60s' is too large a number", s);
	if (!(x >= min && x <= max))
		return err_set(err, BERTH_EINVAL, "%.60s is not in %g..%g", s, min, max);
	*out = x;
	return BERTH_OK;
}

enum berth_code
str_to_bool(const char *s, bool *out, struct berth_err *err)
{
	static const char *const words[] = { "false", "true", "no", "yes", "off", "on", "0", "1" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (str_ieq(s, words[i])) {
			*out = i % 2 == 1;
			return BERTH_OK;
		}
	}
	return err_set(err, BERTH_EINVAL, "'%.60s' is neither true nor false", s);
}

/* Bytes of a unit, 0: no such unit. */
static double
str_size_unit(const char *unit)
{
	static const char letters[] = "kmgtp";
	const char *at;
	double base = 1024, v = 1;

	if (*unit == '\0' || str_ieq(unit, "b"))
		return 1;
	at = strchr(letters, str_lower_char(*unit));
	if (at == NULL)
		return 0;
	if (str_ieq(unit + 1, "b"))
		base = 1000;
	else if (unit[1] != '\0' && !str_ieq(unit + 1, "ib") && !str_ieq(unit + 1, "i"))
		return 0;
	for (long i = 0; i <= at - letters; i++)
		v *= base;
	return v;
}

enum berth_code
str_to_size(const char *s, int64_t *bytes_out, struct berth_err *err)
{
	size_t n = strspn(s, "0123456789.");
	char number[32];
	double x, unit = str_size_unit(s + n);

	if (n == 0 || n >= sizeof(number) || unit == 0)
		return err_set(
		    err, BERTH_EINVAL, "'%.60s' is not a size, as in 512M, 4GiB, 2GB", s);
	memcpy(number, s, n);
	number[n] = '\0';
	if (str_to_double(number, 0, 1e18, &x, NULL) != BERTH_OK || x * unit > 9e18)
		return err_set(err, BERTH_EINVAL, "'%.60s' is not a size in range", s);
	*bytes_out = (int64_t)(x * unit + 0.5);
	return BERTH_OK;
}

char *
str_from_double(char dst[STR_DOUBLE_SIZE], double x)
{
	/* 15 digits always survive, and trailing zeros are not printed; below DBL_MIN fewer digits
	 * may do. */
	int digits = fabs(x) < DBL_MIN ? 1 : 15;

	if (isnan(x))
		snprintf(dst, STR_DOUBLE_SIZE, "nan");
	else if (isinf(x))
		snprintf(dst, STR_DOUBLE_SIZE, x < 0 ? "-inf" : "inf");
	else {
		do
			snprintf(dst, STR_DOUBLE_SIZE, "%.*g", digits, x);
		while (digits++ < 17 && strtod(dst, NULL) != x);
	}
	return dst;
}

int
str_digits_apart(double x, double y)
{
	char a[40], b[40];
	int digits = 6;

	for (; digits < 17; digits++) {
		snprintf(a, sizeof(a), "%.*g", digits, x);
		snprintf(b, sizeof(b), "%.*g", digits, y);
		if (strcmp(a, b) != 0)
			break;
	}
	return digits;
}
