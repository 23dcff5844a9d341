#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/datapath.h"
#include "model/jobspec.h"
#include "model/offer.h"
#include "tests/tap.h"
#include "util/str.h"

#define NOW INT64_C(1796083200)		/* 2026-12-01T00:00:00Z */
#define HEAD "schema: berth.job/1\nname: t\nrun: ./t\n"

static struct arena *arena;
static const struct accel_table *tab;

static enum berth_code
parse(const char *text, struct job_spec *spec, struct berth_err *err)
{
	memset(err, 0, sizeof(*err));
	return jobspec_parse("j.yaml", text, strlen(text), tab, NOW, arena, spec, err);
}

/* Every key with a value that is not its default. */
static void
test_full(void)
{
	static const char text[] = HEAD "user: u\nproject: p\npriority: -3\naccelerators: [\"h100:4..8\", \"A100:80GB\"]\n"
	    "nodes: 2\nidle_limit: 2h\nwork: 90m\nprecision: FP8\ncheckpoint: {size: 2GiB, write: 10s, interval: 1h}\nrestart: 90s\n"
	    "deadline: 2026-12-02T01:00:00+01:00\nmax_price: 12.5\nmax_cost: 99.000001\npurchase: [spot]\n"
	    "regions: [eu-*, x]\nproviders: aws\ndata: {region: aws/us-east-1, size: 1073741824}\nretries: 0\n";
	struct job_spec s = { 0 };
	struct berth_err err;

	tap_code(parse(text, &s, &err), BERTH_OK, &err);
	tap_ok(str_eq(s.name, "t") && str_eq(s.user, "u") && str_eq(s.project, "p") && str_eq(s.run, "./t"), "texts");
	tap_ok(s.priority == -3 && s.retries == 0 && s.restart_s == 90 && s.idle_limit_s == 7200, "numbers");
	tap_is_long((long long)s.n_variants, 2, "two variants");
	tap_is_str(s.variants[0].accelerator, "H100", "a family by its own name");
	tap_ok(s.variants[0].count_min == 4 && s.variants[0].count_max == 8 && s.variants[0].nodes == 2, "4..8 in each of 2");
	tap_is_str(s.variants[1].accelerator, "A100-80GB", "a size makes it a model");
	tap_ok(s.variants[1].count_min == 1 && s.variants[1].count_max == 1 && s.variants[1].memory_gib == 80 &&
	    s.variants[1].memory_max_gib == 80, "one of exactly 80");
	tap_near(s.work_hours, 1.5, 0, "90 minutes");
	tap_is_str(s.precision, "fp8", "precision");
	tap_ok(s.can_resume && s.checkpoint_gib == 2 && s.checkpoint_write_s == 10 && s.checkpoint_interval_s == 3600,
	    "checkpoint");
	tap_is_long(s.deadline, NOW + 86400, "deadline with an offset");
	tap_ok(s.max_price.v == 12500000 && s.max_cost.v == 99000001, "money");
	tap_ok(s.purchase_ok[PURCHASE_SPOT] && !s.purchase_ok[PURCHASE_ON_DEMAND] && !s.purchase_ok[PURCHASE_RESERVED],
	    "spot only");
	tap_ok(s.n_regions == 2 && str_eq(s.regions[0], "eu-*") && s.n_providers == 1 && str_eq(s.providers[0], "aws"),
	    "a list, and one text as a list");
	tap_ok(str_eq(s.data_region, "aws/us-east-1") && s.data_gib == 1, "data");
}

static void
test_defaults(void)
{
	struct job_spec s = { 0 };
	struct berth_err err;

	tap_code(parse(HEAD "accelerators: any\nwork: 2h\n", &s, &err), BERTH_OK, &err);
	tap_ok(s.n_variants == 1 && str_eq(s.variants[0].accelerator, "") && s.variants[0].count_min == 1 &&
	    s.variants[0].memory_gib == 0 && s.variants[0].memory_max_gib == 0 && s.variants[0].nodes == 1, "any");
	tap_ok(isnan(s.variants[0].work_hours) && isnan(s.variants[0].speed), "speed is the table's");
	tap_ok(!s.can_resume && s.purchase_ok[PURCHASE_ON_DEMAND] && s.purchase_ok[PURCHASE_RESERVED] &&
	    !s.purchase_ok[PURCHASE_SPOT], "no spot for what cannot resume");
	tap_ok(s.deadline == 0 && !usd_known(s.max_price) && !usd_known(s.max_cost) && s.n_regions == 0 &&
	    s.n_providers == 0 && s.priority == 0 && s.data_gib == 0 && s.idle_limit_s == 0, "no limits");
	tap_code(parse(HEAD "accelerators: any\nwork: 2h\nidle_limit: off\n", &s, &err), BERTH_OK, &err);
	tap_is_long(s.idle_limit_s, -1, "idle for ever");
	tap_is_str(s.precision, "bf16", "precision");
	tap_code(parse(HEAD "accelerators: any\nwork: 2h\ncheckpoint: {size: 40GB}\n", &s, &err), BERTH_OK, &err);
	tap_ok(s.can_resume && s.purchase_ok[PURCHASE_SPOT], "spot for what can");
	tap_is_long(s.checkpoint_write_s, 38, "40e9 bytes at 1 GiB/s take 37.25 s");
	tap_code(parse(HEAD "accelerators: L4\nwork: 1h\ndeadline: +36h\n", &s, &err), BERTH_OK, &err);
	tap_is_long(s.deadline, NOW + 36 * 3600, "a relative deadline");
}

static void
test_variants(void)
{
	struct job_spec s = { 0 };
	struct berth_err err;

	tap_code(parse(HEAD "nodes: 2\nvariants:\n- {name: a, accelerator: \"L4:2\", memory: 20GB, work: 3h}\n"
	    "- {accelerator: any, memory: 24GB..48GB, speed: 1.5, nodes: 4}\n", &s, &err), BERTH_OK, &err);
	tap_near(s.work_hours, 3, 0, "the first variant's work is the job's");
	tap_ok(str_eq(s.variants[0].name, "a") && s.variants[0].memory_gib == 20 && s.variants[0].memory_max_gib == 0 &&
	    s.variants[0].nodes == 2 && s.variants[0].count_min == 2, "memory is a least");
	tap_ok(s.variants[1].memory_gib == 24 && s.variants[1].memory_max_gib == 48 && s.variants[1].speed == 1.5 &&
	    s.variants[1].nodes == 4 && isnan(s.variants[1].work_hours), "a range is also a most");
}

static void
test_bad(void)
{
	static const struct { const char *text, *where, *part; } bad[] = {
		{ "", "j.yaml", "schema" },
		{ "[]", "j.yaml:1:1", "" },
		{ HEAD "accelerator: L4\nwork: 1h\n", "j.yaml:4:", "accelerators" },	/* a suggestion */
		{ HEAD "accelerators: L4\nwork: 1h\ncheckpont: {size: 1GB}\n", "j.yaml:6:", "checkpoint" },
		{ HEAD "accelerators: L4\nwork: 1h\ncheckpoint: {sise: 1GB}\n", "j.yaml:6:", "size" },
		{ HEAD "accelerators: L4\nwork: 1h\nwork: 2h\n", "j.yaml:6:", "work" },
		{ HEAD "accelerators: L4\n", "j.yaml:", "work" },
		{ HEAD "work: 1h\n", "j.yaml:", "accelerators" },
		{ HEAD "accelerators: L4\nvariants: [{accelerator: L4}]\nwork: 1h\n", "j.yaml:", "one of the two" },
		{ HEAD "accelerators: [H100, A100-8]\nwork: 1h\n", "j.yaml:4:22", "A100-80GB" },
		{ HEAD "accelerators: [\"L4:0\"]\nwork: 1h\n", "j.yaml:4:", "L4:0" },
		{ HEAD "accelerators: []\nwork: 1h\n", "j.yaml:4:", "accelerators" },
		{ HEAD "accelerators: [\"L4:100000\"]\nwork: 1h\n", "j.yaml:4:", "4096" },
		{ HEAD "accelerators: L4\nwork: 10\n", "j.yaml:5:7", "work" },
		{ HEAD "accelerators: L4\nwork: 0s\n", "j.yaml:5:7", "work" },
		{ HEAD "accelerators: L4\nwork: 1h\nprecision: bf17\n", "j.yaml:6:", "bf17" },
		{ HEAD "accelerators: L4\nwork: 1h\npriority: 2000\n", "j.yaml:6:", "priority" },
		{ HEAD "accelerators: L4\nwork: 1h\npriority: high\n", "j.yaml:6:", "priority" },
		{ HEAD "accelerators: L4\nwork: 1h\nnodes: 0\n", "j.yaml:6:", "nodes" },
		{ HEAD "accelerators: L4\nwork: 1h\ncheckpoint: {}\n", "j.yaml:6:", "checkpoint" },
		{ HEAD "accelerators: L4\nwork: 1h\ncheckpoint: {write: 5m, interval: 2m}\n", "j.yaml:6:", "300" },
		{ HEAD "accelerators: L4\nwork: 1h\ncheckpoint: {size: -4GB}\n", "j.yaml:6:", "checkpoint.size" },
		{ HEAD "accelerators: L4\nwork: 1h\ndeadline: 2026-12-09 10:00\n", "j.yaml:6:", "zone" },
		{ HEAD "accelerators: L4\nwork: 1h\ndeadline: 2026-11-30T10:00:00Z\n", "j.yaml:6:", "past" },
		{ HEAD "accelerators: L4\nwork: 1h\nmax_price: -1\n", "j.yaml:6:", "max_price" },
		{ HEAD "accelerators: L4\nwork: 1h\nmax_cost: cheap\n", "j.yaml:6:", "max_cost" },
		{ HEAD "accelerators: L4\nwork: 1h\nidle_limit: none\n", "j.yaml:6:", "idle_limit" },
		{ HEAD "accelerators: L4\nwork: 1h\nidle_limit: 0s\n", "j.yaml:6:", "idle_limit" },
		{ HEAD "accelerators: L4\nwork: 1h\npurchase: [spot, spott]\n", "j.yaml:6:18", "spott" },
		{ HEAD "accelerators: L4\nwork: 1h\npurchase: []\n", "j.yaml:6:", "purchase" },
		{ HEAD "accelerators: L4\nwork: 1h\ndata: us-east-1\n", "j.yaml:6:", "data" },
		{ HEAD "variants: [{memory: 8GB}]\nwork: 1h\n", "j.yaml:4:", "accelerator" },
		{ HEAD "variants: [{accelerator: L4, memory: lots}]\nwork: 1h\n", "j.yaml:4:", "lots" },
		{ HEAD "variants: [{accelerator: \"A100:40GB\", memory: 48GB}]\nwork: 1h\n", "j.yaml:4:", "memory" },
		{ HEAD "variants: [L4]\nwork: 1h\n", "j.yaml:4:", "variants[0]" },
		{ HEAD "variants: [{accelerator: L4, speed: 0}]\nwork: 1h\n", "j.yaml:4:", "speed" },
		{ "schema: berth.job/2\nname: t\nrun: x\naccelerators: L4\nwork: 1h\n", "j.yaml:1:9", "berth.job/1" },
		{ "name: t\nrun: x\naccelerators: L4\nwork: 1h\n", "j.yaml:", "schema" },
		{ "schema: berth.job/1\nname: ''\nrun: x\naccelerators: L4\nwork: 1h\n", "j.yaml:2:", "name" },
		{ "schema: berth.job/1\nname: t\naccelerators: L4\nwork: 1h\n", "j.yaml:", "run" },
		{ HEAD "accelerators: [L4\n", "j.yaml:", "" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct job_spec s = { .priority = 4711 };
		struct berth_err err;
		enum berth_code rc = parse(bad[i].text, &s, &err);
		bool right = rc == BERTH_EINVAL && str_starts(err.where, bad[i].where) &&
		    strstr(err.msg, bad[i].part) != NULL && s.priority == 4711;

		tap_ok(right, "refused: %s: %s", err.where, err.msg);
		if (!right)
			tap_diag("want %s ... '%s' for\n# %s", bad[i].where, bad[i].part, bad[i].text);
	}
}

/* Cut anywhere, a job file is a job or refused at a place, never worse. */
static void
test_cut(void)
{
	static const char text[] = HEAD "accelerators: [\"H100:4..8\"]\nwork: 90m\ncheckpoint: {size: 2GiB, write: 10s}\n"
	    "deadline: +36h\npurchase: [spot]\ndata: {region: r, size: 1GB}\n";
	int odd = 0;

	for (size_t n = 0; n < sizeof(text); n++) {
		struct job_spec s;
		struct berth_err err = { 0 };
		enum berth_code rc = jobspec_parse("j.yaml", text, n, tab, NOW, arena, &s, &err);

		odd += rc != BERTH_OK && (rc != BERTH_EINVAL || !str_starts(err.where, "j.yaml"));
	}
	tap_is_long(odd, 0, "%zu cut files", sizeof(text));
}

/* The bundled examples are what their comments say. */
static void
test_examples(void)
{
	static const struct { const char *file, *accelerator; int count; bool resume, spot, deadline, regions; } jobs[] = {
		{ "jobs/pretrain-8xh100.yaml", "H100", 8, true, true, false, false },
		{ "jobs/finetune-a100-spot.yaml", "A100-80GB", 1, true, true, false, false },
		{ "jobs/batch-inference-l4.yaml", "L4", 1, true, true, false, false },
		{ "jobs/train-in-eu.yaml", "A100", 1, true, true, false, true },
		{ "jobs/report-by-deadline.yaml", "H100", 1, true, true, true, false },
		{ "jobs/render-cannot-resume.yaml", "L40S", 1, false, false, false, false },
	};

	for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
		struct berth_err err = { 0 };
		struct job_spec s = { .precision = "" };
		const char *path = "";
		enum berth_code rc = data_path(arena, jobs[i].file, &path, &err);

		if (rc == BERTH_OK)
			rc = jobspec_load(path, tab, NOW, arena, &s, &err);
		tap_code(rc, BERTH_OK, &err);
		tap_ok(rc == BERTH_OK && str_eq(s.variants[0].accelerator, jobs[i].accelerator) &&
		    s.variants[0].count_min == jobs[i].count && s.can_resume == jobs[i].resume &&
		    s.purchase_ok[PURCHASE_SPOT] == jobs[i].spot && (s.deadline != 0) == jobs[i].deadline &&
		    (s.n_regions > 0) == jobs[i].regions, "%s", jobs[i].file);
	}
}

int
main(void)
{
	struct berth_err err = { 0 };
	struct job_spec s;

	arena = arena_new();
	tap_code(accel_table_open(arena, &tab, &err), BERTH_OK, &err);
	if (tab != NULL) {
		test_full();
		test_defaults();
		test_variants();
		test_bad();
		test_cut();
		test_examples();
		tap_code(jobspec_load("/nonexistent/j.yaml", tab, NOW, arena, &s, &err), BERTH_ENOTFOUND, &err);
	}
	arena_free(arena);
	return tap_done();
}
