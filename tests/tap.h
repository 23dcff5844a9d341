/* tests/tap.h - a test is one process that speaks TAP. */
#ifndef BERTH_TAP_H
#define BERTH_TAP_H

#include <stddef.h>

#include "util/err.h"

void tap_ok(int ok, const char *fmt, ...) BERTH_PRINTF(2, 3);
void tap_is_long(long long got, long long want, const char *fmt, ...) BERTH_PRINTF(3, 4);
void tap_is_str(const char *got, const char *want, const char *fmt, ...) BERTH_PRINTF(3, 4);
/* |got - want| <= tol; NaN never passes. */
void tap_near(double got, double want, double tol, const char *fmt, ...) BERTH_PRINTF(4, 5);
/* The code is the wanted one; err->msg is shown as a comment when it is not. */
void tap_code(enum berth_code got, enum berth_code want, const struct berth_err *err);
void tap_skip(const char *name, const char *why);
void tap_diag(const char *fmt, ...) BERTH_PRINTF(1, 2);
int tap_done(void);	/* prints the plan; the exit status of main */

#endif
