/* src/util/money.h - money as whole micro-dollars, checked.  Floor: util. */
#ifndef BERTH_UTIL_MONEY_H
#define BERTH_UTIL_MONEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/err.h"

struct usd_micro {
	int64_t v;
};

#define USD_UNKNOWN ((struct usd_micro){ INT64_MIN }) /* no price is not a price of 0 */
#define USD_ZERO ((struct usd_micro){ 0 })

static inline bool
usd_known(struct usd_micro a)
{
	return a.v != INT64_MIN;
}

/*
 * Arithmetic: an unknown operand makes an unknown result (BERTH_OK). A result beyond +-9.2e12 USD
 * is BERTH_EINVAL "money: ... is out of range"; *out is then left alone. out may be one of the
 * operands' variables.
 */
BERTH_MUST_CHECK enum berth_code usd_add(
    struct usd_micro a, struct usd_micro b, struct usd_micro *out, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code usd_sub(
    struct usd_micro a, struct usd_micro b, struct usd_micro *out, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code usd_mul_i64(
    struct usd_micro a, int64_t k, struct usd_micro *out, struct berth_err *err);
/* Exact division, rounded half away from zero; k == 0 is BERTH_EINVAL. */
BERTH_MUST_CHECK enum berth_code usd_div_i64(
    struct usd_micro a, int64_t k, struct usd_micro *out, struct berth_err *err);
/* a * x rounded half away from zero to a whole micro; x NaN or infinite is BERTH_EINVAL. */
BERTH_MUST_CHECK enum berth_code usd_mul_double(
    struct usd_micro a, double x, struct usd_micro *out, struct berth_err *err);
/*
 * a * num / den with the product exact (price an hour * seconds / 3600), rounded half away from
 * zero; den > 0.
 */
BERTH_MUST_CHECK enum berth_code usd_mul_ratio(
    struct usd_micro a, int64_t num, int64_t den, struct usd_micro *out, struct berth_err *err);

/* USD, rounded half away from zero to a micro; NaN, infinite or out of range: BERTH_EINVAL. */
BERTH_MUST_CHECK enum berth_code usd_from_double(
    double usd, struct usd_micro *out, struct berth_err *err);
double usd_to_double(struct usd_micro a); /* USD; NaN if unknown */
/*
 * Decimal text -> micro, exactly: "12.3456", "-0.5", "1e-05"; digits beyond the sixth decimal
 * round half away from zero. Refused (BERTH_EINVAL): empty, blanks, "nan", "inf", a currency
 * sign, separators of thousands, overflow.
 */
BERTH_MUST_CHECK enum berth_code usd_parse(
    const char *s, struct usd_micro *out, struct berth_err *err);

#define USD_FMT_SIZE 32
/*
 * "12.35", decimals 0..6, rounded half away from zero; "-" if unknown. Returns dst (size bytes,
 * USD_FMT_SIZE do).
 */
char *usd_fmt(char *dst, size_t size, struct usd_micro a, int decimals);

/*
 * What something needs, in whole cents rounded up, and what there is for it, rounded down, so that
 * of two that are compared the larger one also reads as larger: "161.34" of 161.333. Returns dst
 * [USD_FMT_SIZE]; "-" for what is not finite or beyond +-9e12 USD.
 */
char *usd_need(char *dst, double usd);
char *usd_have(char *dst, double usd);

/* <0, 0, >0; unknown after everything known. */
int usd_cmp(struct usd_micro a, struct usd_micro b);

#endif
