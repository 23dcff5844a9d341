/*
 * The verdict. Whatever is missing, unreadable, wrong or impossible rejects; what is merely slow is
 * worth less. Rules after NVIDIA DCGM's diagnostics (health, 0.75) and SuperBench (ATC 2024: ratios
 * to sound machines of the same kind).
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "plan/verdict_fleet.h"
#include "plan/verdict_impl.h"
#include "plan/verdict_rate.h"
#include "plan/verdict_whole.h"
#include "util/arena.h"
#include "util/str.h"

static const char *const verdict_names[VERDICT_KIND_COUNT] = {
	[VERDICT_ACCEPT] = "accept",
	[VERDICT_DISCOUNT] = "discount",
	[VERDICT_REJECT] = "reject",
};

const char *
verdict_kind_name(enum verdict_kind k)
{
	return verdict_names[k];
}

bool
verdict_kind_parse(const char *s, enum verdict_kind *k_out)
{
	for (int i = 0; i < VERDICT_KIND_COUNT; i++)
		if (str_eq(verdict_names[i], s)) {
			*k_out = (enum verdict_kind)i;
			return true;
		}
	return false;
}

void
judge_reason(
    struct judge *j, enum verdict_kind kind, const char *code, int gpu, const char *fmt, ...)
{
	struct verdict_reason *r;
	va_list ap;

	if (j->v->n_reasons == j->cap_reasons) {
		size_t cap = j->cap_reasons == 0 ? 16 : j->cap_reasons * 2;

		r = arena_array_of(j->a, cap, struct verdict_reason);
		if (j->v->n_reasons > 0)
			memcpy(r, j->v->reasons, j->v->n_reasons * sizeof(*r));
		j->v->reasons = r;
		j->cap_reasons = cap;
	}
	r = &j->v->reasons[j->v->n_reasons++];
	*r = (struct verdict_reason){ .kind = kind, .code = code, .gpu = gpu };
	va_start(ap, fmt);
	r->text = arena_vprintf(j->a, fmt, ap);
	va_end(ap);
	if (kind > j->v->kind)
		j->v->kind = kind;
}

void
judge_ratio(struct judge *j, const struct verdict_ratio *ratio)
{
	if (j->v->n_ratios == j->cap_ratios) {
		size_t cap = j->cap_ratios == 0 ? 32 : j->cap_ratios * 2;
		struct verdict_ratio *r = arena_array_of(j->a, cap, struct verdict_ratio);

		if (j->v->n_ratios > 0)
			memcpy(r, j->v->ratios, j->v->n_ratios * sizeof(*r));
		j->v->ratios = r;
		j->cap_ratios = cap;
	}
	j->v->ratios[j->v->n_ratios++] = *ratio;
}

static bool
judge_is_share(const struct probe_check *c)
{
	static const char *const names[] = { "jitter", "utilization", "memory_free", NULL };

	return c->status == CHECK_NOTE && str_index(c->name, names) >= 0;
}

static void
judge_checks(struct judge *j, const struct probe_check *c, size_t n, const char *code)
{
	for (size_t i = 0; i < n; i++) {
		const char *detail =
		    c[i].detail[0] != '\0' ? c[i].detail : check_status_name(c[i].status);

		if (judge_is_share(&c[i])) {
			j->v->shared = true;
			judge_reason(
			    j, VERDICT_ACCEPT, "shared", c[i].gpu, "%s: %s", c[i].name, detail);
		} else if (c[i].status == CHECK_FAILED && c[i].gpu >= 0) {
			judge_reason(j, VERDICT_REJECT, code, c[i].gpu, "gpu %d: %s: %s", c[i].gpu,
			    c[i].name, detail);
		} else if (c[i].status == CHECK_FAILED) {
			judge_reason(j, VERDICT_REJECT, code, -1, "%s: %s", c[i].name, detail);
		} else if (c[i].status == CHECK_NOTE) {
			judge_reason(
			    j, VERDICT_ACCEPT, "note", c[i].gpu, "%s: %s", c[i].name, detail);
		}
	}
}

static const struct accel *
judge_accel_at(const struct judge *j, int gpu)
{
	for (size_t i = 0; i < j->r->n_gpus; i++)
		if (j->r->gpus[i].index == gpu)
			return judge_accel_of(j, &j->r->gpus[i]);
	return j->accel;
}

/* Failed tests, tests that claim success without a number, and rates that no such device can have.
 */
static void
judge_tests(struct judge *j)
{
	for (size_t i = 0; i < j->r->n_tests; i++) {
		const struct probe_test *t = &j->r->tests[i];
		const struct accel *accel = judge_accel_at(j, t->gpu);
		const double peak = verdict_peak(accel, t->name);

		if (t->status == PROBE_FAILED)
			judge_reason(j, VERDICT_REJECT, "test_failed", t->gpu, "%s failed: %s",
			    t->name, t->error);
		else if (t->status != PROBE_SKIPPED && !(t->value > 0.0))
			judge_reason(j, VERDICT_REJECT, "no_value", t->gpu,
			    "%s says %s without a value", t->name, probe_status_name(t->status));
		else if (t->status != PROBE_SKIPPED && t->value > j->limits->implausible * peak)
			judge_reason(j, VERDICT_REJECT, "implausible", t->gpu,
			    "%s of %.4g %s is beyond what a %s can do (%.4g)", t->name, t->value,
			    t->unit, accel->name, peak);
	}
}

/* What is missing without which the rest proves nothing. */
static void
judge_gaps(struct judge *j)
{
	struct verdict_gap *gaps;
	size_t n;

	verdict_gaps(j->r, j->a, &gaps, &n);
	for (size_t i = 0; i < n; i++)
		judge_reason(j, VERDICT_REJECT, gaps[i].code, gaps[i].gpu, "%s", gaps[i].text);
	if (j->r->only[0] != '\0')
		judge_reason(j, VERDICT_ACCEPT, "part", -1,
		    "only %s was measured, not the whole suite", j->r->only);
}

/* Worst first, else in the order of discovery: what the machine is, its health, its results, its
 * speed. */
static void
judge_sort(struct verdict *v)
{
	for (size_t i = 1; i < v->n_reasons; i++) {
		const struct verdict_reason r = v->reasons[i];
		size_t k = i;

		for (; k > 0 && v->reasons[k - 1].kind < r.kind; k--)
			v->reasons[k] = v->reasons[k - 1];
		v->reasons[k] = r;
	}
}

void
verdict_judge(const struct probe_result *r, const struct verdict_promise *p,
    const struct accel_table *table, const struct verdict_refs *refs,
    const struct verdict_limits *limits, struct arena *a, struct verdict *v_out)
{
	const struct probe_gpu *g = r->n_gpus > 0 ? &r->gpus[0] : NULL;
	const struct verdict_refs keyed = { refs->refs, refs->n,
		g != NULL
		    ? verdict_fleet_key(a, g->pci, g->mig, g->ecc, g->power_limit_w, r->kernels)
		    : "" };
	struct verdict_promise promise = *p;
	struct judge j = { .r = r,
		.p = &promise,
		.table = table,
		.refs = &keyed,
		.limits = limits,
		.a = a,
		.v = v_out,
		.accel = p->accel,
		.share = 1.0,
		.memory_share = 1.0 };

	promise.accelerator = p->accelerator != NULL ? p->accelerator : "";
	promise.mig = p->mig != NULL ? p->mig : "";
	promise.precision = p->precision != NULL ? p->precision : "";
	*v_out = (struct verdict){ .kind = VERDICT_ACCEPT,
		.speed = (double)NAN,
		.memory_gb_s = (double)NAN,
		.compute_tflops = (double)NAN,
		.compute_test = "",
		.actual = "",
		.straggler = -1 };
	v_out->gpus = (int)r->n_gpus;
	if (!r->complete)
		judge_reason(&j, VERDICT_REJECT, "cut_off", -1, "the result was cut off");
	judge_identity(&j);
	judge_checks(&j, r->health, r->n_health, "unhealthy");
	judge_checks(&j, r->checks, r->n_checks, "wrong_result");
	judge_tests(&j);
	judge_gaps(&j);
	judge_rates(&j);
	judge_straggler(&j, "memory");
	judge_straggler(&j, "compute");
	judge_links(&j);
	judge_network(&j);
	judge_sort(v_out);
}

double
verdict_price_factor(const struct verdict *v, double weight_memory)
{
	double worst = (double)NAN;

	for (size_t i = 0; i < v->n_ratios; i++) {
		double memory = (double)NAN, compute = (double)NAN, f;

		if (!str_eq(v->ratios[i].resource, "memory"))
			continue;
		memory = v->ratios[i].ratio;
		for (size_t k = 0; k < v->n_ratios; k++)
			if (v->ratios[k].gpu == v->ratios[i].gpu &&
			    str_eq(v->ratios[k].resource, "compute"))
				compute = v->ratios[k].ratio;
		f = weight_memory >= 1.0 ? 1.0 / memory
		    : weight_memory <= 0.0
			? 1.0 / compute
			: weight_memory / memory + (1.0 - weight_memory) / compute;
		if (!(f <= worst))
			worst = isnan(f) ? worst : f;
	}
	return worst;
}
