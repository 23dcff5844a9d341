/* src/plan/verdict_impl.h - what the files of the verdict share.  Floor: domain; for
 * src/plan/verdict*.c alone. */
#ifndef BERTH_PLAN_VERDICT_IMPL_H
#define BERTH_PLAN_VERDICT_IMPL_H

#include <stdarg.h>

#include "model/accel.h"
#include "plan/verdict.h"

/* One judgement in the making. */
struct judge {
	const struct probe_result *r;
	const struct verdict_promise *p;
	const struct accel_table *table;
	const struct verdict_refs *refs;
	const struct verdict_limits *limits;
	struct arena *a;
	struct verdict *v;
	const struct accel *accel; /* what the references are taken of; NULL: unknown */
	double share;              /* of a whole device, for compute, of the GPU at hand; 1 */
	double memory_share;
	size_t cap_reasons, cap_ratios;
};

/* A reason [printf], gpu -1: of the machine; the verdict is as bad as its worst. */
void judge_reason(struct judge *j, enum verdict_kind kind, const char *code, int gpu,
    const char *fmt, ...) BERTH_PRINTF(5, 6);
void judge_ratio(struct judge *j, const struct verdict_ratio *ratio);

/* Is it what was sold: number, models, slices, sizes. Sets j->accel and the actual name where the
 * table has it. */
void judge_identity(struct judge *j);
/* Whose references count for one device: its own model's where that is what was sold, or where
 * nothing was. */
const struct accel *judge_accel_of(const struct judge *j, const struct probe_gpu *g);

/* Memory and arithmetic of each GPU against its references, the machine's speed, and a user's own
 * benchmark. */
void judge_rates(struct judge *j);
/* One slow GPU holds all others of a synchronous job; resource is "memory" or "compute", after
 * judge_rates(). */
void judge_straggler(struct judge *j, const char *resource);

/* Links to the host, between GPUs, and to another machine; each is silent where nothing of it was
 * measured. */
void judge_links(struct judge *j);
/* Result of a network test: against what was sold, one way against the other, RDMA against its
 * ports. */
void judge_network(struct judge *j);

#endif
