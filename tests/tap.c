#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tests/tap.h"

static int tap_ran, tap_failed;

static void tap_line(int ok, const char *fmt, va_list ap) BERTH_PRINTF(2, 0);

static void
tap_line(int ok, const char *fmt, va_list ap)
{
	printf("%sok %d - ", ok ? "" : "not ", ++tap_ran);
	vprintf(fmt, ap);
	putchar('\n');
	fflush(stdout);
	tap_failed += !ok;
}

#define TAP_LINE(ok, fmt) \
	do { \
		va_list ap_; \
		va_start(ap_, fmt); \
		tap_line((ok), (fmt), ap_); \
		va_end(ap_); \
	} while (0)

void
tap_ok(int ok, const char *fmt, ...)
{
	TAP_LINE(ok, fmt);
}

void
tap_is_long(long long got, long long want, const char *fmt, ...)
{
	TAP_LINE(got == want, fmt);
	if (got != want)
		tap_diag("got %lld, want %lld", got, want);
}

void
tap_is_str(const char *got, const char *want, const char *fmt, ...)
{
	int same = got != NULL && want != NULL ? strcmp(got, want) == 0 : got == want;

	TAP_LINE(same, fmt);
	if (!same)
		tap_diag("got \"%s\", want \"%s\"", got != NULL ? got : "(null)", want != NULL ? want : "(null)");
}

void
tap_near(double got, double want, double tol, const char *fmt, ...)
{
	int near = fabs(got - want) <= tol;

	TAP_LINE(near, fmt);
	if (!near)
		tap_diag("got %.12g, want %.12g within %.3g", got, want, tol);
}

void
tap_code(enum berth_code got, enum berth_code want, const struct berth_err *err)
{
	tap_ok(got == want, "code %s", err_name(want));
	if (got != want)
		tap_diag("got %s: %s", err_name(got), got != BERTH_OK && err != NULL ? err->msg : "");
}

void
tap_skip(const char *name, const char *why)
{
	printf("ok %d - %s # SKIP %s\n", ++tap_ran, name, why);
	fflush(stdout);
}

void
tap_diag(const char *fmt, ...)
{
	va_list ap;

	fputs("# ", stdout);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

int
tap_done(void)
{
	printf("1..%d\n", tap_ran);
	return tap_failed != 0;
}
