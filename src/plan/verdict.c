/*
 * The verdict. Whatever is missing, unreadable, wrong or impossible rejects; what is merely slow is worth less. Rules
 * after NVIDIA DCGM's diagnostics (health, 0.75) and SuperBench (ATC 2024: ratios to sound machines of the same kind).
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "plan/verdict.h"
#include "plan/verdict_fleet.h"
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

struct judge {
	const struct probe_result *r;
	const struct verdict_promise *p;
	const struct accel_table *table;
	const struct verdict_refs *refs;
	const struct verdict_limits *limits;
	struct arena *a;
	struct verdict *v;
	const struct accel *accel;	/* what the references are taken of; NULL: unknown */
	double share;			/* of a whole device, for compute, of the GPU at hand; 1 */
	double memory_share;
	size_t cap_reasons, cap_ratios;
};

static void BERTH_PRINTF(5, 6)
judge_reason(struct judge *j, enum verdict_kind kind, const char *code, int gpu, const char *fmt, ...)
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

static void
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

/* Which device is it, by its own account, and is it what was sold? */
static void
judge_model(struct judge *j, const struct probe_gpu *g)
{
	const struct accel *sold = j->p->accel, *have;
	double faster;

	have = j->table != NULL ? accel_find_sized(j->table, g->name, g->memory_mib / 1024.0) : NULL;
	if (have != NULL && (j->v->actual[0] == '\0'))
		j->v->actual = have->name;
	if (j->accel == NULL)
		j->accel = have;
	if (sold == NULL)
		return;
	if (have == NULL) {
		judge_reason(j, VERDICT_DISCOUNT, "unknown_model", g->index, "gpu %d calls itself '%s', which the table "
		    "of accelerators lacks; it was sold as %s", g->index, g->name, j->p->accelerator);
		return;
	}
	if (accel_is(have, sold) || accel_is(sold, have)) {
		if (accel_is(have, sold))
			j->accel = have;
		return;
	}
	faster = accel_speed_ratio(have, sold, PRECISION_BF16);
	if (faster >= 1.0 && have->bandwidth_gb_s >= sold->bandwidth_gb_s && have->memory_gib >= sold->memory_gib)
		judge_reason(j, VERDICT_ACCEPT, "other_model", g->index, "gpu %d is a %s, sold as %s: another, no slower "
		    "model", g->index, have->name, j->p->accelerator);
	else
		judge_reason(j, VERDICT_REJECT, "wrong_model", g->index, "gpu %d is a %s, sold as %s", g->index, have->name,
		    j->p->accelerator);
}

/* Whose references count for one device: its own model's where that is what was sold, or where nothing was. */
static const struct accel *
judge_accel_of(const struct judge *j, const struct probe_gpu *g)
{
	const struct accel *sold = j->p->accel;
	const struct accel *have = j->table != NULL ? accel_find_sized(j->table, g->name, g->memory_mib / 1024.0) : NULL;

	if (have != NULL && (sold == NULL || accel_is(have, sold)))
		return have;
	return sold != NULL ? sold : j->accel;
}

static void
judge_mixed(struct judge *j)
{
	const struct probe_gpu *g = j->r->gpus;

	for (size_t i = 1; i < j->r->n_gpus; i++)
		if (!str_eq(g[i].name, g[0].name)) {
			judge_reason(j, VERDICT_ACCEPT, "mixed_models", -1, "the machine has several models: gpu %d is a %s, gpu %d "
			    "a %s; a job on all of them runs at the pace of the slowest", g[0].index, g[0].name, g[i].index,
			    g[i].name);
			return;
		}
}

static void
judge_slice(struct judge *j, const struct probe_gpu *g)
{
	const struct accel *a = j->accel;
	const int of = a != NULL ? a->mig_slices : 0;

	if (g->mig[0] != '\0' && j->p->mig[0] == '\0' && j->p->accelerator[0] != '\0' && of > 0 &&
	    strtol(g->mig, NULL, 10) == of && g->memory_mib / 1024.0 >= j->limits->memory * a->memory_gib)
		judge_reason(j, VERDICT_DISCOUNT, "slice", g->index, "gpu %d is the slice %s, the largest of a %s: all of its "
		    "memory, but no NVLink and perhaps fewer multiprocessors; sold as a whole one", g->index, g->mig, a->name);
	else if (g->mig[0] != '\0' && j->p->mig[0] == '\0' && j->p->accelerator[0] != '\0')
		judge_reason(j, VERDICT_REJECT, "slice", g->index, "gpu %d is a slice (%s), sold as a whole %s", g->index,
		    g->mig, j->p->accelerator);
	else if (j->p->mig[0] != '\0' && g->mig[0] != '\0' && strtol(g->mig, NULL, 10) != strtol(j->p->mig, NULL, 10))
		judge_reason(j, VERDICT_REJECT, "slice", g->index, "gpu %d is the slice %s, sold as %s", g->index, g->mig,
		    j->p->mig);
}

/* What part of the whole device's rates the GPU at hand may be held to. */
static void
judge_share(struct judge *j, const struct probe_gpu *g)
{
	struct accel_ref ref = { .share = 1.0 };

	j->share = j->memory_share = 1.0;
	if (g->mig[0] == '\0')
		return;
	if (j->accel != NULL && j->table != NULL &&
	    accel_resolve(j->table, j->a, arena_printf(j->a, "%s %s", j->accel->name, g->mig), &ref) && ref.slice_g > 0)
		j->share = ref.share;
	else if (j->accel != NULL && j->accel->sm_count > 0 && g->sms > 0)
		j->share = (double)g->sms / j->accel->sm_count;
	if (j->accel != NULL && j->accel->memory_gib > 0 && isfinite(g->memory_mib))
		j->memory_share = fmin(1.0, g->memory_mib / 1024.0 / j->accel->memory_gib);
}

static void
judge_size(struct judge *j, const struct probe_gpu *g)
{
	const struct accel *accel = j->p->accel;
	double promised = j->p->memory_gib, have = g->memory_mib / 1024.0;

	if (isnan(promised) && accel != NULL && g->mig[0] == '\0')
		promised = accel->memory_gib;
	if (isfinite(promised) && promised > 0 && !(have >= j->limits->memory * promised))
		judge_reason(j, VERDICT_REJECT, "less_memory", g->index, "gpu %d has %.1f GiB of memory, %.4g were sold",
		    g->index, have, promised);
	if (g->mig[0] != '\0' || j->accel == NULL || j->accel->n_members > 0)
		return;
	if (j->accel->compute_capability[0] != '\0' && g->cc[0] != '\0' && !str_eq(j->accel->compute_capability, g->cc))
		judge_reason(j, VERDICT_REJECT, "wrong_capability", g->index, "gpu %d has compute capability %s; a %s has %s",
		    g->index, g->cc, j->accel->name, j->accel->compute_capability);
	if (j->accel->sm_count > 0 && g->sms > 0 && g->sms < j->accel->sm_count)
		judge_reason(j, VERDICT_DISCOUNT, "fewer_sms", g->index, "gpu %d has %d multiprocessors; a %s has %d",
		    g->index, g->sms, j->accel->name, j->accel->sm_count);
}

/* RDMA against the slower of the two ports, where it was measured. */
static void
judge_rdma(struct judge *j)
{
	static const char *const names[] = { "rdma_send", "rdma_recv" };
	double port = (double)NAN;

	for (size_t i = 0; i < j->r->n_checks; i++)
		if (str_eq(j->r->checks[i].name, "rdma_path"))
			port = j->r->checks[i].value / 8.0;
	for (size_t i = 0; i < 2; i++) {
		const struct probe_test *t = probe_test_find(j->r, names[i], -1, -1);
		struct verdict_ratio r = { .gpu = -1, .resource = "network", .test = names[i], .unit = "GB/s",
			.reference = j->limits->rdma * port, .source = "rate of the port" };

		if (t == NULL || t->status != PROBE_OK || !(t->value > 0.0) || !(r.reference > 0.0))
			continue;
		r.measured = t->value;
		r.ratio = r.measured / r.reference;
		judge_ratio(j, &r);
		if (r.ratio < 1.0)
			judge_reason(j, r.ratio < j->limits->reject ? VERDICT_REJECT : VERDICT_DISCOUNT, "slow_rdma", -1,
			    "%s %.4g GB/s over ports of %.4g GB/s", names[i], r.measured, port);
	}
}

/* Was the test asked for? Of a part as berth-probe --only takes it: "tcp" names all that begin so. */
static bool
judge_asked(const struct judge *j, const char *name)
{
	const char *list = j->r->only;

	while (*list != '\0') {
		const size_t n = strcspn(list, ",");

		if (n > 0 && strncmp(list, name, n) == 0)
			return true;
		list += n + (list[n] == ',');
	}
	return j->r->only[0] == '\0';
}

/* Of a part: what was asked for is there, and something was measured. */
static void
judge_network_part(struct judge *j)
{
	static const char *const names[] = { "tcp_latency", "rdma_latency", "rdma_send", "rdma_recv", "tcp_send", "tcp_recv" };
	size_t measured = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct probe_test *t = probe_test_find(j->r, names[i], -1, -1);

		measured += t != NULL && t->status == PROBE_OK && t->value > 0.0;
		if (t == NULL && i < 4 && judge_asked(j, names[i]))	/* of the last two judge_network() tells */
			judge_reason(j, VERDICT_REJECT, "not_measured", -1, "%s was not measured", names[i]);
	}
	if (measured == 0)
		judge_reason(j, VERDICT_REJECT, "not_measured", -1, "nothing was measured between the two machines");
}

/* Between two machines: against what was sold, and one way against the other. */
static void
judge_network(struct judge *j)
{
	static const char *const names[] = { "tcp_send", "tcp_recv", NULL };
	double rate[2] = { (double)NAN, (double)NAN };

	if (j->r->mode != PROBE_MODE_NETWORK)
		return;
	if (j->r->only[0] != '\0')
		judge_network_part(j);
	for (int i = 0; i < 2; i++) {
		const struct probe_test *t = probe_test_find(j->r, names[i], -1, -1);
		struct verdict_ratio r = { .gpu = -1, .resource = "network", .test = names[i], .unit = "GB/s",
			.reference = j->limits->network * j->p->network_gbps / 8.0, .source = "the network that was sold" };

		if (t == NULL || t->status != PROBE_OK || !(t->value > 0.0)) {
			if (judge_asked(j, names[i]))
				judge_reason(j, VERDICT_REJECT, "not_measured", -1, "%s was not measured", names[i]);
			continue;
		}
		rate[i] = r.measured = t->value;
		r.ratio = r.measured / r.reference;
		if (!(r.reference > 0.0))
			continue;
		judge_ratio(j, &r);
		if (r.ratio < 1.0)
			judge_reason(j, r.ratio < j->limits->reject ? VERDICT_REJECT : VERDICT_DISCOUNT, "slow_network", -1,
			    "%s %.4g GB/s over a network of %.4g Gb/s (%.4g GB/s)", names[i], r.measured, j->p->network_gbps,
			    j->p->network_gbps / 8.0);
	}
	if (isfinite(rate[0]) && isfinite(rate[1]) && fmin(rate[0], rate[1]) < j->limits->network_balance * fmax(rate[0], rate[1]))
		judge_reason(j, VERDICT_DISCOUNT, "lame_network", -1, "%.4g GB/s to the peer, %.4g from it", rate[0], rate[1]);
	judge_rdma(j);
}

static void
judge_identity(struct judge *j)
{
	const struct probe_result *r = j->r;
	size_t no_ecc = 0;
	const int promised = j->p->count > 0 ? j->p->count : j->p->accelerator[0] != '\0' ? 1 : 0;

	if (r->mode == PROBE_MODE_NETWORK && promised > 0)
		judge_reason(j, VERDICT_REJECT, "not_measured", -1, "only the network was measured, not the %d %s that were sold",
		    promised, j->p->accelerator[0] != '\0' ? j->p->accelerator : "GPUs");
	else if (r->mode == PROBE_MODE_HOST && promised > 0)
		judge_reason(j, VERDICT_REJECT, "no_gpu", -1, "no GPU could be used where %d %s were sold%s%s", promised,
		    j->p->accelerator, r->n_errors > 0 ? ": " : "", r->n_errors > 0 ? r->errors[0].message : "");
	else if (r->n_gpus < (size_t)promised)
		judge_reason(j, VERDICT_REJECT, "missing_gpus", -1, "%zu of %d %s are there", r->n_gpus, promised,
		    j->p->accelerator[0] != '\0' ? j->p->accelerator : "GPUs");
	else if (promised > 0 && r->n_gpus > (size_t)promised)
		judge_reason(j, VERDICT_ACCEPT, "more_gpus", -1, "%zu GPUs where %d were sold", r->n_gpus, promised);
	if (r->n_gpus == 0 && (r->mode == PROBE_MODE_GPU || (r->mode == PROBE_MODE_OTHER && r->n_tests == 0)))
		judge_reason(j, VERDICT_REJECT, "not_measured", -1, "neither an accelerator nor a measurement is in the result");
	for (size_t i = 0; i < r->n_gpus; i++) {
		judge_model(j, &r->gpus[i]);
		judge_slice(j, &r->gpus[i]);
		judge_size(j, &r->gpus[i]);
		no_ecc += r->gpus[i].ecc == 0;
	}
	judge_mixed(j);
	if (no_ecc > 0)
		judge_reason(j, VERDICT_ACCEPT, "no_ecc", -1, "ECC is off on %zu of %zu GPUs: memory errors would not be seen",
		    no_ecc, r->n_gpus);
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
		const char *detail = c[i].detail[0] != '\0' ? c[i].detail : check_status_name(c[i].status);

		if (judge_is_share(&c[i])) {
			j->v->shared = true;
			judge_reason(j, VERDICT_ACCEPT, "shared", c[i].gpu, "%s: %s", c[i].name, detail);
		} else if (c[i].status == CHECK_FAILED && c[i].gpu >= 0) {
			judge_reason(j, VERDICT_REJECT, code, c[i].gpu, "gpu %d: %s: %s", c[i].gpu, c[i].name, detail);
		} else if (c[i].status == CHECK_FAILED) {
			judge_reason(j, VERDICT_REJECT, code, -1, "%s: %s", c[i].name, detail);
		} else if (c[i].status == CHECK_NOTE) {
			judge_reason(j, VERDICT_ACCEPT, "note", c[i].gpu, "%s: %s", c[i].name, detail);
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

/* Failed tests, tests that claim success without a number, and rates that no such device can have. */
static void
judge_tests(struct judge *j)
{
	for (size_t i = 0; i < j->r->n_tests; i++) {
		const struct probe_test *t = &j->r->tests[i];
		const struct accel *accel = judge_accel_at(j, t->gpu);
		const double peak = verdict_peak(accel, t->name);

		if (t->status == PROBE_FAILED)
			judge_reason(j, VERDICT_REJECT, "test_failed", t->gpu, "%s failed: %s", t->name, t->error);
		else if (t->status != PROBE_SKIPPED && !(t->value > 0.0))
			judge_reason(j, VERDICT_REJECT, "no_value", t->gpu, "%s says %s without a value", t->name,
			    probe_status_name(t->status));
		else if (t->status != PROBE_SKIPPED && t->value > j->limits->implausible * peak)
			judge_reason(j, VERDICT_REJECT, "implausible", t->gpu, "%s of %.4g %s is beyond what a %s can do (%.4g)",
			    t->name, t->value, t->unit, accel->name, peak);
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
		judge_reason(j, VERDICT_ACCEPT, "part", -1, "only %s was measured, not the whole suite", j->r->only);
}

/*
 * First test of the list that was measured on the GPU and has a reference, else the first that was measured (ratio NaN);
 * false if none was.
 */
static bool
judge_pick(struct judge *j, int gpu, const char *const *names, double share, struct verdict_ratio *out)
{
	bool found = false;

	for (; *names != NULL; names++) {
		const struct probe_test *t = probe_test_find(j->r, *names, gpu, -1);
		struct verdict_ratio r = { .gpu = gpu };

		if (t == NULL && j->r->mode == PROBE_MODE_OTHER)	/* a user's benchmark: of one accelerator, for all */
			t = probe_test_find(j->r, *names, -1, -1);
		if (t == NULL || (t->status != PROBE_OK && t->status != PROBE_PARTIAL) || !(t->value > 0.0))
			continue;
		r.test = t->name;
		r.measured = t->value;
		r.unit = t->unit;
		r.reference = share * verdict_reference(j->accel, *names, j->refs, j->limits, &r.source);
		r.ratio = r.measured / r.reference;
		if (!found || isfinite(r.ratio))
			*out = r;
		found = true;
		if (isfinite(r.ratio))
			return true;
	}
	return found;
}

static void
judge_class(struct judge *j, const struct verdict_ratio *r)
{
	if (isnan(r->ratio))
		return;
	if (r->ratio < j->limits->reject)
		judge_reason(j, VERDICT_REJECT, "slow", r->gpu, "gpu %d: %s %.4g %s, %.0f %% of the %.4g that a sound one "
		    "reaches", r->gpu, r->test, r->measured, r->unit, 100.0 * r->ratio, r->reference);
	else if (r->ratio < j->limits->accept)
		judge_reason(j, VERDICT_DISCOUNT, "slow", r->gpu, "gpu %d: %s %.4g %s, %.0f %% of the %.4g that a sound one "
		    "reaches", r->gpu, r->test, r->measured, r->unit, 100.0 * r->ratio, r->reference);
}

static const char *const judge_memory_tests[] = { "dram_triad", "dram_copy", "dram_read", NULL };
static const char *const judge_compute_tests[] = { "gemm_bf16", "gemm_fp16", "gemm_fp32", "wgmma_bf16", "mma_bf16",
	"mma_f16", "fma_fp32", NULL };

static bool
judge_compute(struct judge *j, int gpu, struct verdict_ratio *out)
{
	const char *asked[2] = { arena_printf(j->a, "gemm_%s", j->p->precision), NULL };

	if (j->p->precision[0] != '\0' && judge_pick(j, gpu, asked, j->share, out))
		return true;
	if (!judge_pick(j, gpu, judge_compute_tests, j->share, out))
		return false;
	if (j->p->precision[0] != '\0')
		judge_reason(j, VERDICT_ACCEPT, "other_precision", gpu, "gpu %d: %s was not measured; %s counts in its place", gpu,
		    asked[0], out->test);
	return true;
}

/* Rates at the end of the steady part against its start: what heat costs. */
static double
judge_heat(struct judge *j, int gpu)
{
	const struct probe_test *t = probe_test_find(j->r, "hot_cold", gpu, -1);

	if (t == NULL || t->status != PROBE_OK || !(t->value > 0.0) || t->value >= j->limits->hot_cold)
		return 1.0;
	judge_reason(j, t->value < j->limits->reject ? VERDICT_REJECT : VERDICT_DISCOUNT, "heat", gpu,
	    "gpu %d falls to %.0f %% of its speed within the steady part: bad cooling", gpu, 100.0 * t->value);
	return t->value;
}

/* A user's own benchmark under a name of its own has the reference that the table or the fleet gives that name. */
static bool
judge_user(struct judge *j, int gpu, struct verdict_ratio *out)
{
	bool found = false;

	for (size_t i = 0; i < j->r->n_tests; i++) {
		const char *const names[] = { j->r->tests[i].name, NULL };

		if (j->r->tests[i].gpu < 0 && strncmp(names[0], "user", 4) == 0 && judge_pick(j, gpu, names, j->share, out)) {
			found = true;
			if (isfinite(out->ratio))
				break;
		}
	}
	return found;
}

/* No tool of NVIDIA's is asked for a result: one that names such a device and measured nothing was made up, or is broken. */
static bool
judge_is_nvidia(const struct judge *j, const struct probe_gpu *g)
{
	const struct accel *have = j->table != NULL ? accel_find_sized(j->table, g->name, g->memory_mib / 1024.0) : NULL;

	return (have != NULL && str_eq(have->vendor, "NVIDIA")) || (j->p->accel != NULL && str_eq(j->p->accel->vendor, "NVIDIA")) ||
	    strncasecmp(g->name, "NVIDIA", 6) == 0 || str_starts(g->pci, "10de:");
}

static void
judge_unmeasured(struct judge *j, int gpu)
{
	for (size_t i = 0; i < j->r->n_gpus; i++) {
		if (j->r->gpus[i].index != gpu || !judge_is_nvidia(j, &j->r->gpus[i]))
			continue;
		judge_reason(j, VERDICT_REJECT, "not_measured", gpu, "gpu %d is an NVIDIA device that was not measured: measure it "
		    "with berth-probe, or with a benchmark of your own", gpu);
		return;
	}
	judge_reason(j, VERDICT_ACCEPT, "not_measured", gpu, "gpu %d was identified by its vendor's tool, not measured", gpu);
}

/* What no kernel of ours measured: a user's benchmark if there is one, else what the vendor's tool says is all. */
static void
judge_other(struct judge *j, int gpu, const struct verdict_ratio *memory, const struct verdict_ratio *compute)
{
	struct verdict_ratio user = { .measured = (double)NAN, .ratio = (double)NAN };

	if (memory->measured > 0.0 || compute->measured > 0.0)
		return;
	if (!judge_user(j, gpu, &user)) {
		judge_unmeasured(j, gpu);
		return;
	}
	user.resource = "user";
	judge_class(j, &user);
	judge_ratio(j, &user);
	if (isnan(user.ratio))
		judge_reason(j, VERDICT_ACCEPT, "no_reference", gpu, "gpu %d: %s %.4g %s, for which there is no reference yet", gpu,
		    user.test, user.measured, user.unit);
	else if (!(user.ratio >= j->v->speed))
		j->v->speed = user.ratio;
}

static void
judge_gpu_speed(struct judge *j, const struct verdict_ratio *memory, const struct verdict_ratio *compute)
{
	const double w = j->limits->weight_memory;
	double speed = (double)NAN;

	if (isfinite(memory->ratio) && isfinite(compute->ratio))
		speed = 1.0 / (w / memory->ratio + (1.0 - w) / compute->ratio);
	else if (isfinite(memory->ratio))
		speed = memory->ratio;
	else if (isfinite(compute->ratio))
		speed = compute->ratio;
	if (!(speed >= j->v->speed))	/* the slowest counts; also true while v->speed is NaN */
		j->v->speed = isnan(speed) ? j->v->speed : speed;
	if (!(memory->measured >= j->v->memory_gb_s) && memory->measured > 0.0)
		j->v->memory_gb_s = memory->measured;
	if (!(compute->measured >= j->v->compute_tflops) && compute->measured > 0.0) {
		j->v->compute_tflops = compute->measured;
		j->v->compute_test = compute->test;
	}
}

static void
judge_rates(struct judge *j)
{
	for (size_t i = 0; i < j->r->n_gpus; i++) {
		const int gpu = j->r->gpus[i].index;
		struct verdict_ratio memory = { .measured = (double)NAN, .ratio = (double)NAN };
		struct verdict_ratio compute = memory;

		j->accel = judge_accel_of(j, &j->r->gpus[i]);
		judge_share(j, &j->r->gpus[i]);
		if (judge_pick(j, gpu, judge_memory_tests, j->memory_share, &memory)) {
			memory.resource = "memory";
			judge_class(j, &memory);
			judge_ratio(j, &memory);
		} else if (j->r->mode == PROBE_MODE_GPU) {
			judge_reason(j, VERDICT_REJECT, "not_measured", gpu, "gpu %d: its memory was not measured", gpu);
		}
		if (judge_compute(j, gpu, &compute)) {
			compute.resource = "compute";
			judge_class(j, &compute);
			compute.ratio *= judge_heat(j, gpu);
			judge_ratio(j, &compute);
		} else if (j->r->mode == PROBE_MODE_GPU) {
			judge_reason(j, VERDICT_REJECT, "not_measured", gpu, "gpu %d: its arithmetic was not measured", gpu);
		}
		judge_gpu_speed(j, &memory, &compute);
		if (j->r->mode == PROBE_MODE_OTHER)
			judge_other(j, gpu, &memory, &compute);
	}
	if (j->r->mode == PROBE_MODE_GPU && j->accel == NULL && j->r->n_gpus > 0)
		judge_reason(j, VERDICT_ACCEPT, "no_reference", -1, "no reference for '%s': only health and results were judged",
		    j->r->gpus[0].name);
}

static int
judge_double_cmp(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* One slow GPU holds all others of a synchronous job. */
static void
judge_straggler(struct judge *j, const char *resource)
{
	double *v = arena_array_of(j->a, j->v->n_ratios + 1, double), median;
	const struct verdict_ratio *least = NULL;
	size_t n = 0;

	for (size_t i = 0; i < j->v->n_ratios; i++) {
		const struct verdict_ratio *r = &j->v->ratios[i];

		if (!str_eq(r->resource, resource))
			continue;
		v[n++] = r->measured;
		if (least == NULL || r->measured < least->measured)
			least = r;
	}
	if (n < 2)
		return;
	qsort(v, n, sizeof(*v), judge_double_cmp);
	median = n % 2 == 1 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2.0;
	if (least->measured >= j->limits->straggler * median)
		return;
	j->v->straggler = least->gpu;
	judge_reason(j, VERDICT_DISCOUNT, "straggler", least->gpu, "gpu %d lags: %s %.4g %s where the median of the machine "
	    "is %.4g", least->gpu, least->test, least->measured, least->unit, median);
}

static double
judge_value(const struct judge *j, const char *name, int gpu)
{
	const struct probe_test *t = probe_test_find(j->r, name, gpu, -1);

	return t != NULL && (t->status == PROBE_OK || t->status == PROBE_PARTIAL) ? t->value : (double)NAN;
}

static void
judge_link(struct judge *j, int gpu)
{
	const double in = judge_value(j, "pcie_h2d", gpu), out = judge_value(j, "pcie_d2h", gpu);
	double link = (double)NAN;

	for (size_t i = 0; i < j->r->n_health; i++)
		if (j->r->health[i].gpu == gpu && str_eq(j->r->health[i].name, "pcie_link"))
			link = j->r->health[i].value;
	if (isfinite(in) && link > 0.0) {
		struct verdict_ratio r = { .gpu = gpu, .resource = "host_link", .test = "pcie_h2d", .measured = in,
			.reference = j->limits->pcie * link, .unit = "GB/s", .source = "PCIe generation and width" };

		r.ratio = in / r.reference;
		judge_ratio(j, &r);
		if (r.ratio < 1.0)
			judge_reason(j, VERDICT_DISCOUNT, "slow_link", gpu, "gpu %d: %.3g GB/s from the host over a link of %.3g",
			    gpu, in, link);
	}
	if (isfinite(in) && isfinite(out) && out < j->limits->pcie_balance * in)
		judge_reason(j, VERDICT_DISCOUNT, "lame_link", gpu, "gpu %d: %.3g GB/s to the host, %.3g from it", gpu, out, in);
}

static void
judge_peers(struct judge *j)
{
	const double one_way = j->accel != NULL ? j->accel->link_gb_s / 2.0 : (double)NAN;

	for (size_t i = 0; i < j->r->n_tests; i++) {
		const struct probe_test *t = &j->r->tests[i];
		struct verdict_ratio r = { .gpu = t->gpu, .resource = "peer_link", .test = t->name, .measured = t->value,
			.reference = j->limits->p2p * one_way, .unit = t->unit, .source = "NVLink, one direction" };

		if (t->peer < 0 || !str_eq(t->name, "p2p") || !(t->value > 0.0) || !(one_way > 0.0))
			continue;
		r.ratio = t->value / r.reference;
		judge_ratio(j, &r);
		if (r.ratio < 1.0)
			judge_reason(j, VERDICT_DISCOUNT, "slow_peer", t->gpu, "gpu %d to gpu %d: %.4g GB/s where NVLink has %.4g "
			    "one way", t->gpu, t->peer, t->value, one_way);
	}
}

/* A link that holds while it is alone and falls when all devices talk: a lame lane, or a switch that is not the one sold. */
static void
judge_mesh(struct judge *j)
{
	const bool nvlink = j->accel != NULL && j->accel->link_gb_s > 0.0;

	for (size_t i = 0; i < j->r->n_tests; i++) {
		const struct probe_test *t = &j->r->tests[i];
		const struct probe_test *alone = t->peer >= 0 ? probe_test_find(j->r, "p2p", t->gpu, t->peer) : NULL;

		/* over PCIe pairs share the way by design */
		if (!nvlink || alone == NULL || !str_eq(t->name, "p2p_all") || !(t->value > 0.0) || !(alone->value > 0.0))
			continue;
		if (t->value < j->limits->p2p_all * alone->value)
			judge_reason(j, VERDICT_DISCOUNT, "crowded_peer", t->gpu, "gpu %d to gpu %d: %.4g GB/s while all "
			    "talk, %.4g alone", t->gpu, t->peer, t->value, alone->value);
	}
}

/* Worst first, else in the order of discovery: what the machine is, its health, its results, its speed. */
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
verdict_judge(const struct probe_result *r, const struct verdict_promise *p, const struct accel_table *table,
    const struct verdict_refs *refs, const struct verdict_limits *limits, struct arena *a, struct verdict *v_out)
{
	const struct probe_gpu *g = r->n_gpus > 0 ? &r->gpus[0] : NULL;
	const struct verdict_refs keyed = { refs->refs, refs->n, g != NULL ? verdict_fleet_key(a, g->pci, g->mig, g->ecc,
	    g->power_limit_w, r->kernels) : "" };
	struct verdict_promise promise = *p;
	struct judge j = { .r = r, .p = &promise, .table = table, .refs = &keyed, .limits = limits, .a = a, .v = v_out,
		.accel = p->accel, .share = 1.0, .memory_share = 1.0 };

	promise.accelerator = p->accelerator != NULL ? p->accelerator : "";
	promise.mig = p->mig != NULL ? p->mig : "";
	promise.precision = p->precision != NULL ? p->precision : "";
	*v_out = (struct verdict){ .kind = VERDICT_ACCEPT, .speed = (double)NAN, .memory_gb_s = (double)NAN,
		.compute_tflops = (double)NAN, .compute_test = "", .actual = "", .straggler = -1 };
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
	for (size_t i = 0; i < r->n_gpus; i++)
		judge_link(&j, r->gpus[i].index);
	judge_peers(&j);
	judge_mesh(&j);
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
			if (v->ratios[k].gpu == v->ratios[i].gpu && str_eq(v->ratios[k].resource, "compute"))
				compute = v->ratios[k].ratio;
		f = weight_memory >= 1.0 ? 1.0 / memory : weight_memory <= 0.0 ? 1.0 / compute :
		    weight_memory / memory + (1.0 - weight_memory) / compute;
		if (!(f <= worst))
			worst = isnan(f) ? worst : f;
	}
	return worst;
}
