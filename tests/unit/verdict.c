/*
 * Results with planted faults. The oracle is the row itself: one sound result, one edit, and what a person would say to it;
 * ratios are computed by hand from the seeds of data/probe_reference.csv (H100 SXM: 2970 GB/s and 794.5 TFLOP/s).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/accel.h"
#include "plan/verdict.h"
#include "plan/verdict_rate.h"
#include "tests/tap.h"
#include "util/arena.h"
#include "util/fileio.h"

#define GPU(i) "{\"index\":" i ",\"name\":\"NVIDIA H100 80GB HBM3\",\"uuid\":\"GPU-" i "\",\"pci\":\"10de:2330:10de:16c1\"," \
	"\"cc\":\"9.0\",\"sms\":132,\"memory_mib\":81559,\"power_limit_w\":700,\"ecc\":true,\"mig\":null,\"link\":\"nvlink\"}"
#define TEST(name, i, v, unit) "{\"name\":\"" name "\",\"gpu\":" i ",\"peer\":null,\"value\":" v ",\"unit\":\"" unit "\"," \
	"\"median\":" v ",\"min\":" v ",\"max\":" v ",\"iqr\":0,\"n\":9,\"status\":\"ok\",\"error\":null}"
#define TESTS(i) TEST("dram_triad", i, "2970", "GB/s") "," TEST("gemm_bf16", i, "794.5", "TFLOP/s") "," \
	TEST("pcie_h2d", i, "52", "GB/s") "," TEST("pcie_d2h", i, "51", "GB/s") "," TEST("hot_cold", i, "0.97", "1")
#define CHECK(name, i, status) "{\"name\":\"" name "\",\"gpu\":" i ",\"status\":\"" status "\",\"value\":null,\"detail\":\"-\"}"

#define CHECKS(i) CHECK("dram_triad.sum", i, "ok") "," CHECK("gemm_bf16.product", i, "ok") "," CHECK("pcie_h2d.sum", i, "ok") "," \
	CHECK("pcie_d2h.sum", i, "ok")

#define LINK "{\"name\":\"pcie_link\",\"gpu\":0,\"status\":\"ok\",\"value\":63.0,\"detail\":\"gen5 x16\"}"
#define PEER(name, v) "{\"name\":\"" name "\",\"gpu\":0,\"peer\":1,\"value\":" v ",\"unit\":\"GB/s\",\"median\":" v ",\"min\":" v \
	",\"max\":" v ",\"iqr\":0,\"n\":5,\"status\":\"ok\",\"error\":null}"
#define PEER_BACK(name, v) "{\"name\":\"" name "\",\"gpu\":1,\"peer\":0,\"value\":" v ",\"unit\":\"GB/s\",\"n\":5," \
	"\"status\":\"ok\",\"error\":null}"
#define REST(i) TEST("memory_patterns", i, "900", "GB/s") "," TEST("steady", i, "780", "TFLOP/s")
#define PEERS(alone, all) "," PEER("p2p", alone) "," PEER("p2p_all", all) "],\"checks\""

static const char sound[] =
    "{\"schema\":\"berth.probe-result/1\",\"probe\":\"0.1\",\"kernels\":\"fnv1a:1\",\"mode\":\"gpu\",\"level\":\"quick\","
    "\"host\":\"h\",\"driver\":\"580.65.06\",\"cuda\":\"13.0\",\"image\":\"sass\",\"at\":\"2026-11-30T00:00:00Z\",\"gpus\":["
    GPU("0") "," GPU("1") "],\"health\":[" CHECK("ecc_uncorrected", "0", "ok") ","
    LINK "," CHECK("throttle", "1", "ok")
    "],\"tests\":[" TESTS("0") "," TESTS("1") "],\"checks\":[" CHECKS("0") ","
    CHECKS("1") "],\"errors\":[],\"duration_s\":24.5}";

static const struct edit {
	const char *label, *from, *to;
	enum verdict_kind kind;
	const char *code;	/* a reason that must be given; "" none, NULL: parse must refuse */
} edits[] = {
	{ "sound", "", "", VERDICT_ACCEPT, "" },
	{ "a note is no fault", "\"ecc_uncorrected\",\"gpu\":0,\"status\":\"ok\"", "\"remap_pending\",\"gpu\":0,\"status\":\"note\"", VERDICT_ACCEPT, "note" },
	{ "unknown health is no fault", "\"ecc_uncorrected\",\"gpu\":0,\"status\":\"ok\"", "\"ecc_uncorrected\",\"gpu\":0,\"status\":\"unknown\"", VERDICT_ACCEPT, "" },
	{ "a skipped test is no fault", TEST("hot_cold", "1", "0.97", "1"), "{\"name\":\"gemm_fp4\",\"gpu\":1,\"value\":null,\"unit\":\"TFLOP/s\",\"n\":0,\"status\":\"skipped\",\"error\":\"no units\"}", VERDICT_ACCEPT, "" },
	{ "uncorrected ECC", "\"ecc_uncorrected\",\"gpu\":0,\"status\":\"ok\"", "\"ecc_uncorrected\",\"gpu\":0,\"status\":\"failed\"", VERDICT_REJECT, "unhealthy" },
	{ "throttled", "\"throttle\",\"gpu\":1,\"status\":\"ok\"", "\"throttle\",\"gpu\":1,\"status\":\"failed\"", VERDICT_REJECT, "unhealthy" },
	{ "wrong sum", "\"dram_triad.sum\",\"gpu\":1,\"status\":\"ok\"", "\"dram_triad.sum\",\"gpu\":1,\"status\":\"failed\"", VERDICT_REJECT, "wrong_result" },
	{ "memory at 96 %", "\"gpu\":0,\"peer\":null,\"value\":2970", "\"gpu\":0,\"peer\":null,\"value\":2851.3", VERDICT_ACCEPT, "" },
	{ "memory at 94 %", "\"gpu\":0,\"peer\":null,\"value\":2970", "\"gpu\":0,\"peer\":null,\"value\":2791", VERDICT_DISCOUNT, "slow" },
	{ "memory at 74 %", "\"gpu\":0,\"peer\":null,\"value\":2970", "\"gpu\":0,\"peer\":null,\"value\":2197", VERDICT_REJECT, "slow" },
	{ "memory at 76 %", "\"gpu\":1,\"peer\":null,\"value\":2970", "\"gpu\":1,\"peer\":null,\"value\":2258", VERDICT_DISCOUNT, "slow" },
	{ "GEMM at half", "\"gpu\":1,\"peer\":null,\"value\":794.5", "\"gpu\":1,\"peer\":null,\"value\":397", VERDICT_REJECT, "slow" },
	{ "GEMM at 90 %: straggler", "\"gpu\":1,\"peer\":null,\"value\":794.5", "\"gpu\":1,\"peer\":null,\"value\":680", VERDICT_DISCOUNT, "straggler" },
	{ "faster than any H100", "\"gpu\":0,\"peer\":null,\"value\":2970", "\"gpu\":0,\"peer\":null,\"value\":9999", VERDICT_REJECT, "implausible" },
	{ "zero is no rate", "\"gpu\":0,\"peer\":null,\"value\":2970", "\"gpu\":0,\"peer\":null,\"value\":0", VERDICT_REJECT, "no_value" },
	{ "ok without a value", "\"gpu\":0,\"peer\":null,\"value\":2970", "\"gpu\":0,\"peer\":null,\"value\":null", VERDICT_REJECT, "no_value" },
	{ "memory was not measured", "\"dram_triad\",\"gpu\":1", "\"something\",\"gpu\":1", VERDICT_REJECT, "not_measured" },
	{ "arithmetic was not measured", "\"gemm_bf16\",\"gpu\":1", "\"something\",\"gpu\":1", VERDICT_REJECT, "not_measured" },
	{ "all skipped is nothing measured", "\"iqr\":0,\"n\":9,\"status\":\"ok\"", "\"iqr\":0,\"n\":0,\"status\":\"skipped\"", VERDICT_REJECT, "not_measured" },
	{ "a failed test", "\"n\":9,\"status\":\"ok\",\"error\":null},{\"name\":\"hot_cold\",\"gpu\":0", "\"n\":9,\"status\":\"failed\",\"error\":\"x\"},{\"name\":\"hot_cold\",\"gpu\":0", VERDICT_REJECT, "test_failed" },
	{ "partial still counts", "\"iqr\":0,\"n\":9,\"status\":\"ok\"", "\"iqr\":0,\"n\":3,\"status\":\"partial\"", VERDICT_ACCEPT, "" },
	{ "bad cooling", "\"gpu\":0,\"peer\":null,\"value\":0.97", "\"gpu\":0,\"peer\":null,\"value\":0.85", VERDICT_DISCOUNT, "heat" },
	{ "no cooling", "\"gpu\":0,\"peer\":null,\"value\":0.97", "\"gpu\":0,\"peer\":null,\"value\":0.5", VERDICT_REJECT, "heat" },
	{ "slow link from the host", "\"gpu\":0,\"peer\":null,\"value\":52", "\"gpu\":0,\"peer\":null,\"value\":26", VERDICT_DISCOUNT, "slow_link" },
	{ "lame link to the host", "\"gpu\":0,\"peer\":null,\"value\":51", "\"gpu\":0,\"peer\":null,\"value\":6.27", VERDICT_DISCOUNT, "lame_link" },
	{ "NVLink as it should be", "],\"checks\"", PEERS("376", "355"), VERDICT_ACCEPT, "" },
	{ "a slow NVLink", "],\"checks\"", PEERS("180", "180"), VERDICT_DISCOUNT, "slow_peer" },
	{ "an NVLink that falls when all talk", "],\"checks\"", PEERS("376", "188"), VERDICT_DISCOUNT, "crowded_peer" },
	{ "an A100 sold as an H100", "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB", VERDICT_REJECT, "wrong_model" },
	{ "an H100 PCIe sold as SXM", "NVIDIA H100 80GB HBM3", "NVIDIA H100 PCIe", VERDICT_REJECT, "wrong_model" },
	{ "an H200 sold as an H100", "\"name\":\"NVIDIA H100 80GB HBM3\",\"uuid\":\"GPU-1\"", "\"name\":\"NVIDIA H200\",\"uuid\":\"GPU-1\"", VERDICT_ACCEPT, "other_model" },
	{ "a name nobody knows", "NVIDIA H100 80GB HBM3", "NVIDIA Graphics Device", VERDICT_DISCOUNT, "unknown_model" },
	{ "half of the memory", "\"memory_mib\":81559", "\"memory_mib\":40536", VERDICT_REJECT, "less_memory" },
	{ "memory not told", "\"memory_mib\":81559", "\"memory_mib\":null", VERDICT_REJECT, "less_memory" },
	{ "another compute capability", "\"cc\":\"9.0\"", "\"cc\":\"8.0\"", VERDICT_REJECT, "wrong_capability" },
	{ "fewer multiprocessors", "\"sms\":132", "\"sms\":114", VERDICT_DISCOUNT, "fewer_sms" },
	{ "a slice sold as a whole", "\"mig\":null", "\"mig\":\"3g.40gb\"", VERDICT_REJECT, "slice" },
	{ "the largest slice sold as a whole", "\"mig\":null", "\"mig\":\"7g.80gb\"", VERDICT_DISCOUNT, "slice" },
	{ "ECC is off", "\"ecc\":true", "\"ecc\":false", VERDICT_ACCEPT, "no_ecc" },
	{ "one GPU is missing", "," GPU("1") "]", "]", VERDICT_REJECT, NULL },
	{ "no GPU at all", "\"mode\":\"gpu\"", "\"mode\":\"host\"", VERDICT_REJECT, "no_gpu" },
	{ "a neighbour", "\"ecc_uncorrected\",\"gpu\":0,\"status\":\"ok\"", "\"jitter\",\"gpu\":0,\"status\":\"note\"", VERDICT_ACCEPT, "shared" },
	{ "the end is missing", ",\"duration_s\":24.5}", "}", VERDICT_REJECT, "cut_off" },
	{ "a rate that nobody checked", CHECK("dram_triad.sum", "1", "ok") ",", "", VERDICT_REJECT, "unchecked" },
	{ "a check of another device", "\"dram_triad.sum\",\"gpu\":1", "\"dram_triad.sum2\",\"gpu\":0", VERDICT_REJECT, "unchecked" },
	{ "a check that knows nothing", CHECK("gemm_bf16.product", "0", "ok"), CHECK("gemm_bf16.product", "0", "unknown"), VERDICT_REJECT, "unchecked" },
	{ "nothing of health", "\"health\":[" CHECK("ecc_uncorrected", "0", "ok") "," LINK "," CHECK("throttle", "1", "ok"), "\"health\":[", VERDICT_REJECT, "no_health" },
	{ "a call that failed", "\"errors\":[]", "\"errors\":[{\"where\":\"cuLaunchKernel\",\"code\":700,\"message\":\"illegal address\"}]", VERDICT_REJECT, "call_failed" },
	{ "a tenth of the suite", "\"level\":\"quick\"", "\"level\":\"standard\"", VERDICT_REJECT, "missing_test" },
	{ "a tenth of the suite, as asked", "\"level\":\"quick\"", "\"level\":\"standard\",\"only\":\"dram,gemm\"", VERDICT_ACCEPT, "part" },
	{ "MB/s", "\"value\":2970,\"unit\":\"GB/s\"", "\"value\":2970,\"unit\":\"MB/s\"", VERDICT_REJECT, "wrong_unit" },
	{ "a level of another world", "\"level\":\"quick\"", "\"level\":\"fast\"", VERDICT_REJECT, NULL },
	{ "less than no time", "\"duration_s\":24.5", "\"duration_s\":-1", VERDICT_REJECT, NULL },
	{ "one test twice", "\"dram_triad\",\"gpu\":1", "\"dram_triad\",\"gpu\":0", VERDICT_REJECT, NULL },
	{ "health of a GPU nobody listed", "\"throttle\",\"gpu\":1", "\"throttle\",\"gpu\":2", VERDICT_REJECT, NULL },
	{ "a check of a GPU nobody listed", "\"dram_triad.sum\",\"gpu\":1", "\"dram_triad.sum\",\"gpu\":2", VERDICT_REJECT, NULL },
	{ "another schema", "berth.probe-result/1", "berth.probe-result/2", VERDICT_REJECT, NULL },
	{ "no tests", "\"tests\":", "\"tests_\":", VERDICT_REJECT, NULL },
	{ "no health", "\"health\":", "\"health_\":", VERDICT_REJECT, NULL },
	{ "no checks", "\"checks\":", "\"checks_\":", VERDICT_REJECT, NULL },
	{ "a status of another world", "\"status\":\"ok\",\"error\"", "\"status\":\"fine\",\"error\"", VERDICT_REJECT, NULL },
	{ "a negative rate", "\"value\":2970", "\"value\":-2970", VERDICT_REJECT, NULL },
	{ "a rate that is text", "\"value\":2970", "\"value\":\"fast\"", VERDICT_REJECT, NULL },
	{ "a rate of a GPU nobody listed", "\"dram_triad\",\"gpu\":1", "\"dram_triad\",\"gpu\":7", VERDICT_REJECT, NULL },
	{ "the same GPU twice", "\"index\":1", "\"index\":0", VERDICT_REJECT, NULL },
	{ "a GPU number out of range", "\"index\":1", "\"index\":99999", VERDICT_REJECT, NULL },
	{ "health that is no list", "\"errors\":[]", "\"errors\":{}", VERDICT_REJECT, NULL },
};

/* text with every "from" replaced by "to" */
static char *
edited(struct arena *a, const char *text, const char *from, const char *to)
{
	size_t n = strlen(text) + 1, step = strlen(from), k = 0;
	char *out;

	for (const char *p = text; step > 0 && (p = strstr(p, from)) != NULL; p += step)
		n += strlen(to);
	out = arena_alloc(a, n);
	for (const char *p = text; *p != '\0';) {
		if (step > 0 && strncmp(p, from, step) == 0) {
			memcpy(out + k, to, strlen(to));
			k += strlen(to);
			p += step;
		} else {
			out[k++] = *p++;
		}
	}
	return out;
}

struct world {
	struct arena *a;
	const struct accel_table *table;
	struct verdict_refs refs;
	struct verdict_limits limits;
	struct verdict_promise sold;
};

static int
has_reason(const struct verdict *v, const char *code)
{
	for (size_t i = 0; i < v->n_reasons; i++)
		if (strcmp(v->reasons[i].code, code) == 0)
			return 1;
	return 0;
}

static int
judged(struct world *w, const char *text, struct verdict *v)
{
	struct berth_err err;
	struct probe_result r;

	if (verdict_parse(text, strlen(text), w->a, &r, &err) != BERTH_OK) {
		*v = (struct verdict){ .kind = VERDICT_REJECT };
		return 0;
	}
	verdict_judge(&r, &w->sold, w->table, &w->refs, &w->limits, w->a, v);
	return 1;
}

static void
test_edits(struct world *w)
{
	for (size_t i = 0; i < sizeof(edits) / sizeof(edits[0]); i++) {
		const struct edit *e = &edits[i];
		char *text = edited(w->a, sound, e->from, e->to);
		struct verdict v;
		int parsed;

		tap_ok(e->from[0] == '\0' || strcmp(text, sound) != 0, "%s: the edit took", e->label);
		parsed = judged(w, text, &v);
		if (e->code == NULL)
			tap_ok(!parsed, "%s: refused as unreadable", e->label);
		else
			tap_ok(parsed && v.kind == e->kind && (e->code[0] == '\0' ? v.n_reasons == 0 : has_reason(&v, e->code)),
			    "%s: %s %s", e->label, verdict_kind_name(e->kind), e->code);
		if (parsed && e->code != NULL && v.kind != e->kind)
			tap_diag("got %s: %s", verdict_kind_name(v.kind), v.n_reasons > 0 ? v.reasons[0].text : "no reason");
		for (size_t k = 0; parsed && e->code != NULL && e->code[0] == '\0' && k < v.n_reasons; k++)
			tap_diag("%s", v.reasons[k].text);
	}
}

/* Cut anywhere, a result never passes. */
static void
test_cuts(struct world *w)
{
	size_t passed = 0;

	for (size_t n = 0; n < sizeof(sound) - 1; n += 7) {
		char *text = arena_strndup(w->a, sound, n);
		struct verdict v;

		(void)judged(w, text, &v);
		passed += v.kind != VERDICT_REJECT;
	}
	tap_is_long((long)passed, 0, "no cut result passes");
}

static void
test_numbers(struct world *w)
{
	struct verdict v;
	char *text = edited(w->a, sound, "\"gpu\":1,\"peer\":null,\"value\":2970", "\"gpu\":1,\"peer\":null,\"value\":2376");

	tap_ok(judged(w, sound, &v), "the sound result is read");
	tap_near(v.speed, 1.0, 1e-12, "as promised: speed 1");
	tap_near(v.memory_gb_s, 2970, 1e-9, "memory rate");
	tap_near(v.compute_tflops, 794.5, 1e-9, "arithmetic rate");
	tap_is_str(v.compute_test, "gemm_bf16", "measured by gemm_bf16");
	tap_is_str(v.actual, "H100-SXM5-80GB", "the machine is named");
	tap_near(verdict_price_factor(&v, 0.8), 1.0, 1e-12, "price as asked");

	/* memory at 2376/2970 = 0.8, arithmetic at 1: half and half gives 1/(0.5/0.8 + 0.5) = 1/1.125 */
	tap_ok(judged(w, text, &v), "the slower result is read");
	tap_near(v.speed, 1.0 / 1.125, 1e-12, "the slowest GPU sets the speed");
	tap_near(verdict_price_factor(&v, 0.8), 0.8 / 0.8 + 0.2, 1e-12, "dearer for decoding");
	tap_near(verdict_price_factor(&v, 0.0), 1.0, 1e-12, "as asked for arithmetic");
	tap_is_long(v.straggler, 1, "the straggler is named");

	/* nothing promised: health and results alone are judged, against the model's own reference */
	w->sold = (struct verdict_promise){ .accelerator = "", .memory_gib = (double)NAN, .mig = "", .precision = "" };
	tap_ok(judged(w, sound, &v) && v.kind == VERDICT_ACCEPT, "a machine of one's own passes");
	tap_near(v.speed, 1.0, 1e-12, "it is compared with its own model");
	text = edited(w->a, sound, "\"mode\":\"gpu\"", "\"mode\":\"host\"");
	text = edited(w->a, text, "," TESTS("1"), "");
	text = edited(w->a, text, "\"gpus\":[" GPU("0") "," GPU("1") "]", "\"gpus\":[]");
	text = edited(w->a, text, "\"gpu\":0", "\"gpu\":null");
	text = edited(w->a, text, "\"gpu\":1", "\"gpu\":null");
	tap_ok(judged(w, text, &v) && v.kind == VERDICT_ACCEPT && isnan(v.speed), "a host without a GPU has no speed");
}

/* A slice beside a whole device of one's own: each is held to what is its own. */
static void
test_shares(struct world *w)
{
	struct verdict v;
	char *text = edited(w->a, sound, "\"name\":\"NVIDIA H100 80GB HBM3\",\"uuid\":\"GPU-1\"",
	    "\"name\":\"NVIDIA H100 80GB HBM3\",\"uuid\":\"MIG-1\"");

	text = edited(w->a, text, "\"mig\":null,\"link\":\"nvlink\"}]", "\"mig\":\"1g.10gb\",\"link\":null}]");
	text = edited(w->a, text, "\"gpu\":0,\"peer\":null,\"value\":2970", "\"gpu\":0,\"peer\":null,\"value\":1188");
	tap_ok(judged(w, text, &v) && v.kind == VERDICT_REJECT && has_reason(&v, "slow"),
	    "a whole device is not held to its neighbour's slice");
	text = edited(w->a, sound, "\"level\":\"quick\"", "\"level\":\"standard\"");
	text = edited(w->a, text, "\"tests\":[", "\"tests\":[" REST("0") "," REST("1") ",");
	text = edited(w->a, text, "\"checks\":[", "\"checks\":[" CHECK("memory_patterns.words", "0", "ok") ","
	    CHECK("memory_patterns.words", "1", "ok") ",");
	tap_ok(judged(w, text, &v) && v.kind == VERDICT_REJECT && has_reason(&v, "missing_test"),
	    "two devices of which nobody measured the way between them");
	text = edited(w->a, text, "],\"checks\"", "," PEER("p2p", "376") "," PEER_BACK("p2p", "376") "],\"checks\"");
	tap_ok(judged(w, text, &v) && v.kind == VERDICT_ACCEPT && v.n_reasons == 0, "the whole suite passes");
}

/* A slice that was sold as one is compared with the slice: 2970/8 GB/s of memory, 794.5/7 TFLOP/s. */
static void
test_sold_slices(struct world *w)
{
	static const struct {
		const char *sold, *mig;
		enum verdict_kind kind;
		const char *code;
	} rows[] = {
		{ "H100-SXM5-80GB-1g.10gb", "1g.10gb", VERDICT_ACCEPT, "" },
		{ "NVIDIA H100 80GB HBM3 MIG 1g.10gb", "1g.10gb", VERDICT_ACCEPT, "" },
		{ "H100-SXM5-80GB-2g.20gb", "1g.10gb", VERDICT_REJECT, "slice" },
		{ "H100-SXM5-80GB", "1g.10gb", VERDICT_REJECT, "slice" },
	};
	const char *text = edited(w->a, sound, "," GPU("1"), "");

	text = edited(w->a, text, "," TESTS("1"), "");
	text = edited(w->a, text, "," CHECKS("1"), "");
	text = edited(w->a, text, "," CHECK("throttle", "1", "ok"), "");
	text = edited(w->a, text, "\"memory_mib\":81559", "\"memory_mib\":9984");
	text = edited(w->a, text, "\"sms\":132", "\"sms\":16");
	text = edited(w->a, text, "\"value\":2970", "\"value\":371");
	text = edited(w->a, text, "\"value\":794.5", "\"value\":113.5");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *mig = edited(w->a, text, "\"mig\":null", arena_printf(w->a, "\"mig\":\"%s\"", rows[i].mig));
		struct verdict v;

		w->sold = (struct verdict_promise){ .accelerator = "", .count = 1, .memory_gib = NAN, .mig = "", .precision = "" };
		verdict_promise_name(&w->sold, w->table, w->a, rows[i].sold);
		tap_ok(judged(w, mig, &v) && v.kind == rows[i].kind &&
		    (rows[i].code[0] == '\0' ? v.n_reasons == 0 : has_reason(&v, rows[i].code)), "%s sold as %s: %s", rows[i].mig,
		    rows[i].sold, v.n_reasons > 0 ? v.reasons[0].text : "accepted");
	}
}

/* Two models in one machine: each against its own references. */
static void
test_mixed(struct world *w)
{
	const char *text = edited(w->a, sound, "\"name\":\"NVIDIA H100 80GB HBM3\",\"uuid\":\"GPU-1\"",
	    "\"name\":\"NVIDIA H100 PCIe\",\"uuid\":\"GPU-1\"");
	struct verdict v;

	text = edited(w->a, text, "\"sms\":132,\"memory_mib\":81559,\"power_limit_w\":700,\"ecc\":true,\"mig\":null,\"link\":\"nvlink\"}]",
	    "\"sms\":114,\"memory_mib\":81559,\"power_limit_w\":350,\"ecc\":true,\"mig\":null,\"link\":\"pcie\"}]");
	text = edited(w->a, text, "\"gpu\":1,\"peer\":null,\"value\":2970", "\"gpu\":1,\"peer\":null,\"value\":1700");
	text = edited(w->a, text, "\"gpu\":1,\"peer\":null,\"value\":794.5", "\"gpu\":1,\"peer\":null,\"value\":640");
	w->sold = (struct verdict_promise){ .accelerator = "", .memory_gib = NAN, .mig = "", .precision = "fp4" };
	tap_ok(judged(w, text, &v) && has_reason(&v, "mixed_models") && !has_reason(&v, "slow") && v.kind == VERDICT_DISCOUNT &&
	    has_reason(&v, "straggler"), "a PCIe card beside an SXM one is not slow, but it lags");
	tap_ok(has_reason(&v, "other_precision"), "that another precision counts is said");
}

/* A report must not be forged by what a machine says of itself. */
static void
test_forged(struct world *w)
{
	const char *text = edited(w->a, sound, "\"host\":\"h\"", "\"host\":\"a\\u001b[2J\\nfile x: accept\"");
	struct probe_result r;
	struct berth_err err;

	tap_code(verdict_parse(text, strlen(text), w->a, &r, &err), BERTH_OK, &err);
	tap_is_str(r.host, "a?[2J?file x: accept", "control characters are taken out");
}

/* By hand: 400 Gb/s are 50 GB/s, of which 0.8 is expected and below 0.75 of that (30 GB/s) refused. */
static void
test_network(struct world *w)
{
	static const struct {
		const char *label, *send, *recv, *status, *port;	/* of RDMA; port in Gb/s */
		enum verdict_kind kind;
		const char *code;
	} rows[] = {
		{ "48.5 GB/s over 400 Gb/s", "48.5", "48.4", "ok", "400", VERDICT_ACCEPT, "" },
		{ "just enough", "40.1", "40.1", "ok", "400", VERDICT_ACCEPT, "" },
		{ "39 GB/s to the peer", "39", "48.4", "ok", "400", VERDICT_DISCOUNT, "slow_rdma" },
		{ "31 GB/s from it", "48.5", "31", "ok", "400", VERDICT_DISCOUNT, "slow_rdma" },
		{ "a port of 100 Gb/s in place of 400", "29", "29", "ok", "400", VERDICT_REJECT, "slow_rdma" },
		{ "a slower port that is filled", "12.1", "12.1", "ok", "100", VERDICT_ACCEPT, "" },
		{ "a port whose rate is not known", "12.1", "12.1", "ok", "null", VERDICT_ACCEPT, "" },
		{ "no device on one side", "null", "null", "skipped", "null", VERDICT_ACCEPT, "" },
		{ "a transfer that failed", "null", "null", "failed", "400", VERDICT_REJECT, "test_failed" },
		{ "a rate of nothing", "0", "0", "ok", "400", VERDICT_REJECT, "no_value" },
	};
	struct verdict_promise none = { .accelerator = "", .memory_gib = NAN, .mig = "", .precision = "" };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *text = arena_printf(w->a, "{\"schema\":\"berth.probe-result/1\",\"mode\":\"network\",\"gpus\":[],"
		    "\"health\":[],\"tests\":[{\"name\":\"tcp_send\",\"value\":1.2,\"unit\":\"GB/s\",\"status\":\"ok\"},"
		    "{\"name\":\"tcp_recv\",\"value\":1.2,\"unit\":\"GB/s\",\"status\":\"ok\"},"
		    "{\"name\":\"rdma_send\",\"value\":%s,\"unit\":\"GB/s\",\"status\":\"%s\",\"error\":\"-\"},"
		    "{\"name\":\"rdma_recv\",\"value\":%s,\"unit\":\"GB/s\",\"status\":\"%s\",\"error\":\"-\"}],"
		    "\"checks\":[{\"name\":\"rdma_path\",\"status\":\"ok\",\"value\":%s,\"detail\":\"mlx5_0\"}],\"errors\":[],"
		    "\"duration_s\":5}", rows[i].send, rows[i].status, rows[i].recv, rows[i].status, rows[i].port);
		struct probe_result r;
		struct berth_err err;
		struct verdict v;

		tap_code(verdict_parse(text, strlen(text), w->a, &r, &err), BERTH_OK, &err);
		verdict_judge(&r, &none, w->table, &w->refs, &w->limits, w->a, &v);
		tap_ok(v.kind == rows[i].kind && (rows[i].code[0] == '\0' ? v.n_reasons == 0 : has_reason(&v, rows[i].code)),
		    "RDMA: %s (%s)", rows[i].label, verdict_kind_name(v.kind));
	}
}

/* A part is judged on what was asked for, and is said to be one. */
static void
test_network_part(struct world *w)
{
#define ROW(name, value) "{\"name\":\"" name "\",\"value\":" value ",\"unit\":\"GB/s\",\"status\":\"ok\",\"error\":\"-\"}"
	static const struct {
		const char *only, *tests;
		enum verdict_kind kind;
		const char *code;
	} rows[] = {
		{ "\"tcp_send\"", ROW("tcp_send", "12"), VERDICT_ACCEPT, "part" },
		{ "\"tcp_send\"", ROW("tcp_send", "1"), VERDICT_REJECT, "slow_network" },
		{ "\"tcp_send\"", ROW("tcp_recv", "12"), VERDICT_REJECT, "not_measured" },
		{ "\"tcp\"", ROW("tcp_send", "12") "," ROW("tcp_latency", "20"), VERDICT_REJECT, "not_measured" },
		{ "\"tcp_latency\"", ROW("tcp_latency", "20"), VERDICT_ACCEPT, "part" },
		{ "\"tcp_latency\"", "", VERDICT_REJECT, "not_measured" },
		{ "\"rdma\"", ROW("rdma_latency", "2") "," ROW("rdma_send", "12") "," ROW("rdma_recv", "12"), VERDICT_ACCEPT, "part" },
		{ "\"rdma\"", ROW("rdma_send", "12"), VERDICT_REJECT, "not_measured" },
		{ "\"dram\"", "", VERDICT_REJECT, "not_measured" },
		{ "\"\"", ROW("tcp_send", "12"), VERDICT_REJECT, "not_measured" },
		{ "null", ROW("tcp_send", "12"), VERDICT_REJECT, "not_measured" },
	};
#undef ROW
	struct verdict_promise sold = { .accelerator = "", .memory_gib = NAN, .mig = "", .precision = "", .network_gbps = 100 };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *text = arena_printf(w->a, "{\"schema\":\"berth.probe-result/1\",\"mode\":\"network\",\"only\":%s,\"gpus\":[],"
		    "\"health\":[],\"tests\":[%s],\"checks\":[],\"errors\":[],\"duration_s\":5}", rows[i].only, rows[i].tests);
		struct probe_result r;
		struct berth_err err;
		struct verdict v;

		tap_code(verdict_parse(text, strlen(text), w->a, &r, &err), BERTH_OK, &err);
		verdict_judge(&r, &sold, w->table, &w->refs, &w->limits, w->a, &v);
		tap_ok(v.kind == rows[i].kind && has_reason(&v, rows[i].code), "a part, row %zu: %s (%s)", i, rows[i].code,
		    verdict_kind_name(v.kind));
		sold.accelerator = "H100-SXM5-80GB";
		sold.count = 8;
		verdict_judge(&r, &sold, w->table, &w->refs, &w->limits, w->a, &v);
		tap_ok(v.kind == VERDICT_REJECT && has_reason(&v, "not_measured"), "and no proof of GPUs that were sold");
		sold.accelerator = "";
		sold.count = 0;
	}
}

static void
test_references(struct world *w)
{
	const struct accel *h100 = accel_find(w->table, "H100-SXM5-80GB"), *l20 = accel_find(w->table, "L20");
	struct verdict_ref rows[3];
	struct verdict_refs refs = { .refs = rows, .n = 3 };
	const char *source;

	tap_near(verdict_reference(l20, "dram_triad", &w->refs, &w->limits, &source), 0.80 * 864, 1e-9, "share of the peak");
	rows[0] = (struct verdict_ref){ .accelerator = "*", .test = "dram_triad", .value = (double)NAN, .of_peak = 0.5,
		.source = "any", .drift = (double)NAN };
	rows[1] = (struct verdict_ref){ .accelerator = "H100-SXM5-80GB", .test = "dram_triad", .value = 3000,
		.of_peak = (double)NAN, .source = "seed", .drift = (double)NAN };
	rows[2] = (struct verdict_ref){ .accelerator = "H100-SXM5-80GB", .test = "dram_triad", .value = 2900,
		.of_peak = (double)NAN, .source = "fleet", .machines = 19, .providers = 2, .drift = (double)NAN };
	tap_near(verdict_reference(h100, "dram_triad", &refs, &w->limits, &source), 3000, 1e-9, "19 machines are no fleet");
	rows[2].machines = 20;
	tap_near(verdict_reference(h100, "dram_triad", &refs, &w->limits, &source), 2900, 1e-9, "20 machines are");
	tap_is_str(source, "fleet", "and the source says so");
	rows[2].providers = 1;
	tap_near(verdict_reference(h100, "dram_triad", &refs, &w->limits, &source), 3000, 1e-9, "one provider is not enough");
	rows[2].providers = 3;
	rows[2].drift = -0.04;
	tap_near(verdict_reference(h100, "dram_triad", &refs, &w->limits, &source), 3000, 1e-9, "a median that moved asks a person");
	rows[2].drift = -0.02;
	rows[2].value = 1500;
	tap_near(verdict_reference(h100, "dram_triad", &refs, &w->limits, &source), 2700, 1e-9,
	    "a fleet of slow machines does not become normal");
	tap_ok(isnan(verdict_reference(NULL, "dram_triad", &refs, &w->limits, &source)), "no accelerator, no reference");
}

/* Every seed is below the table's peak and not absurdly so. */
static void
test_seeds(struct world *w)
{
	int bad = 0;

	for (size_t i = 0; i < w->refs.n; i++) {
		const struct verdict_ref *r = &w->refs.refs[i];
		const struct accel *a = strcmp(r->accelerator, "*") != 0 ? accel_find(w->table, r->accelerator) : NULL;
		const double peak = verdict_peak(a, r->test), share = a != NULL ? r->value / peak : r->of_peak;

		if (strcmp(r->accelerator, "*") != 0 && a == NULL) {
			tap_diag("%s is not in the table", r->accelerator);
			bad++;
		} else if (!(share > 0.5 && share < 1.0)) {
			tap_diag("%s %s is %.2f of the peak", r->accelerator, r->test, share);
			bad++;
		}
	}
	tap_is_long(bad, 0, "seeds are between half and all of the peak");
}

static void
test_tables(struct world *w)
{
	static const char bad_name[] = "name,value,why\nacept,0.9,x\n";
	static const char missing[] = "name,value,why\naccept,0.9,x\n";
	static const char no_value[] = "accelerator,test,value,of_peak,source\nH100,dram_triad,,,x\n";
	static const char both[] = "accelerator,test,value,of_peak,source\nH100,dram_triad,1,0.5,x\n";
	struct verdict_limits l;
	struct verdict_refs r;
	struct berth_err err;

	tap_code(verdict_limits_parse(bad_name, sizeof(bad_name) - 1, &l, &err), BERTH_EINVAL, &err);
	tap_code(verdict_limits_parse(missing, sizeof(missing) - 1, &l, &err), BERTH_EINVAL, &err);
	tap_code(verdict_refs_parse(no_value, sizeof(no_value) - 1, w->a, &r, &err), BERTH_EINVAL, &err);
	tap_code(verdict_refs_parse(both, sizeof(both) - 1, w->a, &r, &err), BERTH_EINVAL, &err);
}

/* A machine of another vendor: identified only, measured by its user, and sold as what it is not. */
static void
test_other(struct world *w)
{
	static const char gpu[] = "{\"index\":0,\"name\":\"Gaudi3\",\"memory_mib\":131072}";
	static const struct {
		const char *label, *gpus, *tests;
		enum verdict_kind kind;
		const char *code;
		double speed;	/* over the 1243 TFLOP/s of BF16 that mamf-finder published for a Gaudi3 */
	} rows[] = {
		{ "identified only", gpu, "", VERDICT_ACCEPT, "not_measured", NAN },
		{ "an NVIDIA device that nothing measured", "{\"index\":0,\"name\":\"NVIDIA H100 80GB HBM3\",\"memory_mib\":81559}", "",
		  VERDICT_REJECT, "not_measured", NAN },
		{ "one by its PCI numbers", "{\"index\":0,\"name\":\"X\",\"pci\":\"10de:2330:10de:16c1\",\"memory_mib\":131072}", "",
		  VERDICT_REJECT, "not_measured", NAN },
		{ "measured as gemm_bf16", gpu, "\"gemm_bf16\",\"value\":1243,\"unit\":\"TFLOP/s\"", VERDICT_ACCEPT, "", 1.0 },
		{ "measured at 80 %", gpu, "\"gemm_bf16\",\"value\":994.4,\"unit\":\"TFLOP/s\"", VERDICT_DISCOUNT, "slow", 0.8 },
		{ "measured at half", gpu, "\"gemm_bf16\",\"value\":621.5,\"unit\":\"TFLOP/s\"", VERDICT_REJECT, "slow", 0.5 },
		{ "faster than any", gpu, "\"gemm_bf16\",\"value\":9999,\"unit\":\"TFLOP/s\"", VERDICT_REJECT, "implausible", NAN },
		{ "a name without a reference", gpu, "\"user_img\",\"value\":800,\"unit\":\"img/s\"", VERDICT_ACCEPT, "no_reference", NAN },
		{ "a name that the fleet knows", gpu, "\"user_llm\",\"value\":700,\"unit\":\"tok/s\"", VERDICT_REJECT, "slow", 0.7 },
		{ "no device", "", "", VERDICT_REJECT, "missing_gpus", NAN },
		{ "another device", "{\"index\":0,\"name\":\"Gaudi2\",\"memory_mib\":98304}", "", VERDICT_REJECT, "wrong_model", NAN },
		{ "no memory told", "{\"index\":0,\"name\":\"Gaudi3\",\"memory_mib\":null}", "", VERDICT_REJECT, "less_memory", NAN },
	};
	struct verdict_promise sold = { .accel = accel_find(w->table, "Gaudi3"), .accelerator = "Gaudi3", .count = 1,
		.memory_gib = NAN, .mig = "", .precision = "" };
	struct verdict_ref *refs = arena_array_of(w->a, w->refs.n + 1, struct verdict_ref);
	const struct verdict_refs all = { .refs = refs, .n = w->refs.n + 1 };

	memcpy(refs, w->refs.refs, w->refs.n * sizeof(*refs));
	refs[w->refs.n] = (struct verdict_ref){ .accelerator = "Gaudi3", .test = "user_llm", .value = 1000, .of_peak = NAN,
		.source = "fleet", .machines = 30, .providers = 3, .drift = 0 };
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *text = arena_printf(w->a, "{\"schema\":\"berth.probe-result/1\",\"mode\":\"other\",\"gpus\":[%s],"
		    "\"health\":[],\"tests\":[%s%s%s],\"checks\":[],\"errors\":[],\"duration_s\":3}", rows[i].gpus,
		    rows[i].tests[0] != '\0' ? "{\"name\":" : "", rows[i].tests,
		    rows[i].tests[0] != '\0' ? ",\"gpu\":null,\"n\":3,\"status\":\"ok\"}" : "");
		struct probe_result r;
		struct berth_err err;
		struct verdict v;
		bool given = rows[i].code[0] == '\0';

		tap_code(verdict_parse(text, strlen(text), w->a, &r, &err), BERTH_OK, &err);
		verdict_judge(&r, &sold, w->table, &all, &w->limits, w->a, &v);
		for (size_t k = 0; k < v.n_reasons; k++)
			given = given || strcmp(v.reasons[k].code, rows[i].code) == 0;
		tap_ok(v.kind == rows[i].kind && given && (isnan(rows[i].speed) || fabs(v.speed - rows[i].speed) < 1e-4),
		    "another vendor: %s (%s, %g)", rows[i].label, verdict_kind_name(v.kind), v.speed);
	}
}

static int
world_open(struct world *w)
{
	const char *top = getenv("TOP_SRCDIR");
	struct berth_err err;
	char *bytes;
	size_t n;

	w->a = arena_new();
	if (top == NULL)
		top = ".";
	if (accel_table_load(arena_printf(w->a, "%s/data/accelerators.csv", top), w->a, &w->table, &err) != BERTH_OK ||
	    fileio_slurp(w->a, arena_printf(w->a, "%s/data/probe_reference.csv", top), 1 << 20, &bytes, &n, &err) != BERTH_OK ||
	    verdict_refs_parse(bytes, n, w->a, &w->refs, &err) != BERTH_OK ||
	    fileio_slurp(w->a, arena_printf(w->a, "%s/data/probe_thresholds.csv", top), 1 << 20, &bytes, &n, &err) != BERTH_OK ||
	    verdict_limits_parse(bytes, n, &w->limits, &err) != BERTH_OK) {
		tap_diag("%s: %s", err.where, err.msg);
		return -1;
	}
	w->sold = (struct verdict_promise){ .accel = accel_find(w->table, "H100-SXM5-80GB"), .accelerator = "H100-SXM5-80GB",
		.count = 2, .memory_gib = 80, .mig = "", .precision = "" };
	return 0;
}

int
main(void)
{
	struct world w;

	if (world_open(&w) != 0) {
		tap_ok(0, "the tables can be read");
		return tap_done();
	}
	test_edits(&w);
	test_cuts(&w);
	test_tables(&w);
	test_references(&w);
	test_other(&w);
	test_seeds(&w);
	test_numbers(&w);
	test_shares(&w);
	test_network(&w);
	test_network_part(&w);
	test_sold_slices(&w);
	test_forged(&w);
	test_mixed(&w);
	arena_free(w.a);
	return tap_done();
}
