/* src/plan/benchlog_impl.h - the readers of benchlog.c, one a program.  Floor: domain. */
#ifndef BERTH_PLAN_BENCHLOG_IMPL_H
#define BERTH_PLAN_BENCHLOG_IMPL_H

#include "plan/benchlog.h"

enum benchlog_found {
	BENCHLOG_OTHER, /* not of this program */
	BENCHLOG_READ,
	BENCHLOG_REFUSED /* of this program, and of no use: err says why */
};

/* Sets err and is BENCHLOG_REFUSED. */
#define benchlog_refuse(err, ...) (err_set(err, BERTH_EINVAL, __VA_ARGS__), BENCHLOG_REFUSED)

enum benchlog_found benchlog_vllm(
    const char *text, struct arena *a, struct benchlog *out, struct berth_err *err);
enum benchlog_found benchlog_tvm(
    const char *text, struct arena *a, struct benchlog *out, struct berth_err *err);

#endif
