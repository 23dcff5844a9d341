#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"
#include "util/hash.h"
#include "util/money.h"

__extension__ typedef __int128 i128;

/* What decimal text is worth in micro-dollars, from a numerator and a power of ten: nothing of usd_parse() in it. */
static int
oracle_micro(i128 num, int decimals, int64_t *out)
{
	i128 den = 1, q, r, mag = num < 0 ? -num : num;

	for (int i = 6; i < decimals; i++)
		den *= 10;
	for (int i = decimals; i < 6; i++)
		mag *= 10;
	q = mag / den;
	r = mag % den;
	q += 2 * r >= den;
	if (q > INT64_MAX)
		return 0;
	*out = (int64_t)(num < 0 ? -q : q);
	return 1;
}

static void
test_parse_random(void)
{
	int same = 1, refused = 0, read = 0;

	for (uint64_t i = 0; i < 50000; i++) {
		uint64_t x = hash_u64(i);
		int decimals = (int)(x % 18);
		uint64_t whole = hash_u64(x) >> (x % 64), fraction = 0, ten = 1;
		struct usd_micro got = { 4711 };
		char text[80], frac[24];
		int64_t want = 0;
		i128 num;
		int ok;

		for (int j = 0; j < decimals; j++)
			ten *= 10;
		fraction = hash_u64(x + 1) % ten;
		frac[0] = '\0';
		if (decimals > 0)
			snprintf(frac, sizeof(frac), ".%0*" PRIu64, decimals, fraction);
		snprintf(text, sizeof(text), "%s%" PRIu64 "%s", x & 64 ? "-" : "", whole, frac);
		num = (i128)whole * (i128)ten + (i128)fraction;
		ok = oracle_micro(x & 64 ? -num : num, decimals, &want);
		read += ok;
		refused += !ok;
		same = same && (usd_parse(text, &got, NULL) == BERTH_OK) == ok && got.v == (ok ? want : 4711);
		if (!same) {
			tap_diag("%s gives %" PRId64 ", not %" PRId64, text, got.v, want);
			break;
		}
	}
	tap_ok(same, "random decimals are exact");
	tap_ok(read > 1000 && refused > 1000, "of which %d are in range and %d are not", read, refused);
}

static void
test_parse(void)
{
	static const struct { const char *s; int64_t v; } good[] = {
		{ "12.3456", 12345600 }, { "0", 0 }, { "-0", 0 }, { "-0.0000004", 0 }, { "0.0000005", 1 },
		{ "-0.0000005", -1 }, { "0.00000049999999999999999999999999999999", 0 }, { ".5", 500000 },
		{ "5.", 5000000 }, { "+1", 1000000 }, { "1e-05", 10 }, { "2.5E3", 2500000000 },
		{ "0e999999999999", 0 }, { "1e-999999999999", 0 }, { "9223372036854.775807", INT64_MAX },
		{ "-9223372036854.775807", -INT64_MAX }, { "0.000000000001e6", 1 }, { "123456e-3", 123456000 },
		{ "00012.5", 12500000 },
	};
	static const char *const bad[] = { "", " ", "nan", "inf", "-inf", "$5", "5 USD", " 5", "5 ", "1,000", "1e",
		"1e+", ".", "-", "+-1", "0x10", "1.2.3", "9223372036854.775808", "9223372036854.7758075",
		"-9223372036854.775808", "1e13", "1e999999999999", "99999999999999999999999999999999999999999999" };
	struct berth_err err = { 0 };

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct usd_micro m = { 4711 };

		tap_code(usd_parse(good[i].s, &m, &err), BERTH_OK, &err);
		tap_is_long(m.v, good[i].v, "'%s'", good[i].s);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct usd_micro m = { 4711 };

		tap_ok(usd_parse(bad[i], &m, &err) == BERTH_EINVAL && m.v == 4711, "'%s' is refused", bad[i]);
	}
}

static void
test_sums(void)
{
	struct usd_micro a = { 5 }, big = { INT64_MAX }, r = { 4711 };
	struct berth_err err = { 0 };

	tap_ok(usd_add(a, a, &r, &err) == BERTH_OK && r.v == 10, "add");
	tap_ok(usd_sub(a, big, &r, &err) == BERTH_OK && r.v == 5 - INT64_MAX, "sub");
	r.v = 4711;
	tap_ok(usd_add(big, (struct usd_micro){ 1 }, &r, &err) == BERTH_EINVAL && r.v == 4711, "a sum overflows");
	tap_ok(usd_sub((struct usd_micro){ -INT64_MAX }, (struct usd_micro){ 1 }, &r, &err) == BERTH_EINVAL,
	    "no known amount has the value of the unknown");
	tap_ok(usd_mul_i64(big, 2, &r, &err) == BERTH_EINVAL, "a product overflows");
	tap_ok(usd_mul_i64((struct usd_micro){ -3 }, 7, &r, &err) == BERTH_OK && r.v == -21, "mul");
	tap_ok(usd_add(USD_UNKNOWN, a, &r, &err) == BERTH_OK && !usd_known(r), "unknown + 5 is unknown");
	r = a;
	tap_ok(usd_mul_double(USD_UNKNOWN, 0, &r, &err) == BERTH_OK && !usd_known(r), "unknown * 0 is unknown");
	tap_ok(usd_div_i64(a, 0, &r, &err) == BERTH_EINVAL, "division by zero");
	tap_ok(usd_mul_ratio(a, 1, 0, &r, &err) == BERTH_EINVAL, "denominator 0");
	tap_ok(usd_cmp(a, big) < 0 && usd_cmp(USD_UNKNOWN, big) > 0 && usd_cmp(big, USD_UNKNOWN) < 0 &&
	    usd_cmp(USD_UNKNOWN, USD_UNKNOWN) == 0 && usd_cmp(a, a) == 0, "unknown ranks last");
	tap_ok(usd_mul_ratio((struct usd_micro){ 9000000000000 }, 9000000000000, 9000000000001, &r, &err) ==
	    BERTH_OK && r.v == 8999999999999, "the product within a ratio does not overflow");
}

/* q is a / k rounded half away from zero if |2(a - qk)| <= |k|, with equality only on the far side of zero. */
static void
test_div(void)
{
	int ok = 1;

	for (uint64_t i = 0; i < 50000 && ok; i++) {
		struct usd_micro a = { (int64_t)hash_u64(i) >> (i % 60) }, q;
		int64_t k = (int64_t)hash_u64(i + 1000000) >> (i % 61);
		i128 rest, mag;

		if (k == 0 || !usd_known(a) || usd_div_i64(a, k, &q, NULL) != BERTH_OK)
			continue;
		rest = (i128)a.v - (i128)q.v * k;
		mag = 2 * (rest < 0 ? -rest : rest);
		ok = mag < (k < 0 ? -(i128)k : k) ||
		    (mag == (k < 0 ? -(i128)k : k) && (q.v < 0) != ((rest < 0) != (k < 0)) && q.v != 0);
		if (!ok)
			tap_diag("%" PRId64 " / %" PRId64 " gave %" PRId64, a.v, k, q.v);
	}
	tap_ok(ok, "random quotients are rounded half away from zero");
}

/* Factors k / 2^s are exact doubles, so the product is a shift that integers can do too. */
static void
test_mul_double(void)
{
	struct usd_micro r;
	struct berth_err err = { 0 };
	int ok = 1;

	for (uint64_t i = 0; i < 50000 && ok; i++) {
		int64_t a = (int64_t)hash_u64(i) >> (i % 40 + 1), k = (int64_t)(hash_u64(i + 77) % 1000000) - 500000;
		int s = (int)(i % 20);
		i128 num = (i128)a * k, den = (i128)1 << s, mag = num < 0 ? -num : num;
		i128 q = mag / den + (2 * (mag % den) >= den);
		enum berth_code rc = usd_mul_double((struct usd_micro){ a }, ldexp((double)k, -s), &r, &err);

		ok = q > INT64_MAX ? rc == BERTH_EINVAL : rc == BERTH_OK && r.v == (int64_t)(num < 0 ? -q : q);
		if (!ok)
			tap_diag("%" PRId64 " * %" PRId64 "/2^%d", a, k, s);
	}
	tap_ok(ok, "random products are exact before rounding");
	tap_ok(usd_mul_double((struct usd_micro){ 1 }, 1e300, &r, &err) == BERTH_EINVAL, "1e300 is out of range");
	tap_ok(usd_mul_double((struct usd_micro){ 0 }, 1e300, &r, &err) == BERTH_OK && r.v == 0, "of nothing it is 0");
	tap_ok(usd_mul_double((struct usd_micro){ INT64_MAX }, 1e-300, &r, &err) == BERTH_OK && r.v == 0, "tiny");
	tap_ok(usd_mul_double((struct usd_micro){ 5 }, 0.5, &r, &err) == BERTH_OK && r.v == 3, "2.5 goes up");
	tap_ok(usd_mul_double((struct usd_micro){ -5 }, 0.5, &r, &err) == BERTH_OK && r.v == -3, "-2.5 goes down");
	tap_ok(usd_mul_double(r, (double)NAN, &r, &err) == BERTH_EINVAL, "NaN is refused");
	tap_ok(usd_mul_double(r, (double)INFINITY, &r, &err) == BERTH_EINVAL, "infinity is refused");
	tap_ok(usd_from_double((double)NAN, &r, &err) == BERTH_EINVAL, "NaN USD is refused");
	tap_ok(usd_from_double(9.3e12, &r, &err) == BERTH_EINVAL, "9.3e12 USD are out of range");
	tap_ok(usd_from_double(2.99, &r, &err) == BERTH_OK && r.v == 2990000, "2.99 USD");
	tap_ok(usd_from_double(-0.1, &r, &err) == BERTH_OK && r.v == -100000, "-0.1 USD");
	tap_near(usd_to_double((struct usd_micro){ 2990000 }), 2.99, 0, "and back");
	tap_ok(isnan(usd_to_double(USD_UNKNOWN)), "unknown is NaN");
}

static void
test_fmt(void)
{
	static const struct { int64_t v; int decimals; const char *want; } t[] = {
		{ 12345678, 2, "12.35" }, { -12345678, 6, "-12.345678" }, { 0, 2, "0.00" }, { -4, 2, "0.00" },
		{ 500000, 0, "1" }, { -500000, 0, "-1" }, { 499999, 0, "0" }, { 5000, 2, "0.01" }, { 4999, 2, "0.00" },
		{ INT64_MAX, 6, "9223372036854.775807" }, { INT64_MAX, 0, "9223372036855" },
		{ -INT64_MAX, 5, "-9223372036854.77581" }, { 1, 9, "0.000001" }, { 999999999, 2, "1000.00" },
	};
	char s[USD_FMT_SIZE];
	int same = 1;

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		tap_is_str(usd_fmt(s, sizeof(s), (struct usd_micro){ t[i].v }, t[i].decimals), t[i].want, "fmt %" PRId64,
		    t[i].v);
	tap_is_str(usd_fmt(s, sizeof(s), USD_UNKNOWN, 2), "-", "unknown is a dash");
	for (uint64_t i = 0; i < 10000; i++) {
		struct usd_micro a = { (int64_t)hash_u64(i) >> (i % 64) }, b = { 0 };

		same = same && (!usd_known(a) || (usd_parse(usd_fmt(s, sizeof(s), a, 6), &b, NULL) == BERTH_OK &&
		    a.v == b.v));
	}
	tap_ok(same, "six decimals read back as the same amount");
}

/* What is compared reads apart: of two amounts, one over the other, the first is rounded up and the second down. */
static void
test_apart(void)
{
	static const struct { double usd; const char *need, *have; } t[] = {
		{ 161.333, "161.34", "161.33" }, { 161.33, "161.33", "161.33" }, { 8.45, "8.45", "8.45" },
		{ 0.000001, "0.01", "0.00" }, { 0, "0.00", "0.00" }, { -0.005, "0.00", "-0.01" }, { -2, "-2.00", "-2.00" },
		{ 9e11 + 0.001, "900000000000.01", "900000000000.00" }, { NAN, "-", "-" }, { INFINITY, "-", "-" },
	};
	char a[USD_FMT_SIZE], b[USD_FMT_SIZE];
	bool over = true;

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		tap_is_str(usd_need(a, t[i].usd), t[i].need, "need of %g", t[i].usd);
		tap_is_str(usd_have(a, t[i].usd), t[i].have, "have of %g", t[i].usd);
	}
	for (uint64_t i = 0; i < 10000; i++) {
		double cap = (double)(hash_u64(i) % 1000000000) / 1e6, ask = cap + (double)(1 + hash_u64(~i) % 30000) / 1e6;

		over = over && strtod(usd_need(a, ask), NULL) > strtod(usd_have(b, cap), NULL);
	}
	tap_ok(over, "what is over reads as over");
}

int
main(void)
{
	test_parse();
	test_parse_random();
	test_sums();
	test_div();
	test_mul_double();
	test_fmt();
	test_apart();
	return tap_done();
}
