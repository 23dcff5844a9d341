/* probe: measures a machine, judges it against what was sold, and keeps what was found. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "broker/runner.h"
#include "broker/shell.h"
#include "cmd/brokerset.h"
#include "cmd/probe.h"
#include "cmd/progpath.h"
#include "model/datapath.h"
#include "store/machine_rows.h"
#include "util/arena.h"
#include "util/fileio.h"
#include "util/str.h"

#define PROBE_FILE_MAX ((size_t)4 << 20)

static const struct probe_opts probe_defaults = {
	.price = { INT64_MIN }, .limit = 50, .since_s = 180 * 86400, .measure_devices = 1
};

#define OFF(field) offsetof(struct probe_opts, field)
static const struct opt_row probe_rows[] = {
	{ "here", 0, OPT_FLAG, NULL,
	    "measure this machine (what is done when nothing else is named)", OFF(here), 0, 0,
	    NULL },
	{ "file", 'f', OPT_PATH, "FILE",
	    "judge a result that was measured before (- for standard input)", OFF(file), 0, 0,
	    NULL },
	{ "instance", 'i', OPT_INT, "INSTANCE", "measure a machine that berth rents", OFF(instance),
	    1, 9e15, NULL },
	{ "host", 0, OPT_STRING, "HOST", "measure a machine over ssh; its host key must be known",
	    OFF(host), 0, 0, NULL },
	{ "gpu", 'g', OPT_STRING, "GPU", "what was sold: H100-SXM5-80GB:8", OFF(gpu), 0, 0, NULL },
	{ "price", 0, OPT_MONEY, "USD", "what the machine costs an hour", OFF(price), 0, 9e6,
	    NULL },
	{ "network-gbps", 0, OPT_DOUBLE, "N", "the network that was sold, one way",
	    OFF(network_gbps), 0, 1e5, NULL },
	{ "precision", 0, OPT_STRING, "NAME", "whose rate counts: bf16, fp16, fp8, fp32 ...",
	    OFF(precision), 0, 0, NULL },
	{ "quick", 0, OPT_FLAG, NULL, "about 8 s; with --here", OFF(quick), 0, 0, NULL },
	{ "deep", 0, OPT_FLAG, NULL, "minutes; with --here", OFF(deep), 0, 0, NULL },
	{ "only", 0, OPT_LIST, "TEST", "these tests, or all that begin so; with --here", OFF(only),
	    0, 0, NULL },
	{ "measure-command", 0, OPT_STRING, "COMMAND",
	    "a benchmark of your own that prints a rate; with --here or --host", OFF(measure), 0, 0,
	    NULL },
	{ "measure-name", 0, OPT_STRING, "TEST", "the test that it stands for, or user_ and a name",
	    OFF(measure_name), 0, 0, NULL },
	{ "measure-devices", 0, OPT_INT, "N", "how many accelerators it keeps busy",
	    OFF(measure_devices), 1, 64, NULL },
	{ 0 },
};

static const struct opt_row probe_history_rows[] = {
	{ "instance", 'i', OPT_INT, "INSTANCE", "of this machine", OFF(instance), 1, 9e15, NULL },
	{ "gpu", 'g', OPT_STRING, "GPU", "of this accelerator", OFF(gpu), 0, 0, NULL },
	{ "provider", 0, OPT_STRING, "PROVIDER", "of this provider", OFF(provider), 0, 0, NULL },
	{ "test", 0, OPT_STRING, "TEST", "draw this test, not the speed", OFF(test), 0, 0, NULL },
	{ "since", 0, OPT_DURATION, "DUR", "how far back", OFF(since_s), 1, 3e9, NULL },
	{ "limit", 'n', OPT_INT, "N", "newest N", OFF(limit), 1, 100000, NULL },
	{ 0 },
};

static enum berth_code probe_main(struct cmd_ctx *ctx, struct berth_err *err);

static const struct cmd probe_subs[] = {
	{ .name = "history",
	    .summary = "what was measured before, and how it drifts",
	    .args = "",
	    .opts = probe_history_rows,
	    .opts_default = &probe_defaults,
	    .opts_size = sizeof(probe_defaults),
	    .flags = CMD_STORE_RO,
	    .run = probe_history },
	{ .name = "compare",
	    .summary = "two measurements or results, test by test",
	    .args = "A B",
	    .flags = CMD_STORE_RO | CMD_STORE_OPT,
	    .args_min = 2,
	    .args_max = 2,
	    .run = probe_compare },
	{ 0 },
};

const struct cmd cmd_probe = {
	.name = "probe",
	.summary = "measure a machine before it is trusted, and judge what it is worth",
	.args = "",
	.opts = probe_rows,
	.opts_default = &probe_defaults,
	.opts_size = sizeof(probe_defaults),
	.flags = CMD_STORE_RW | CMD_NET,
	.run = probe_main,
	.subs = probe_subs,
};

/* "H100-SXM5-80GB-1g.10gb", also with ":COUNT"; false: not a slice of a known accelerator. */
static bool
probe_promise_slice(struct cmd_ctx *ctx, const struct accel_table *accels, const char *text,
    struct verdict_promise *p)
{
	const size_t len = strcspn(text, ":");
	struct verdict_promise sold = *p;
	int64_t count = 1;

	if (text[len] == ':' && str_to_i64(text + len + 1, 1, 1024, &count, NULL) != BERTH_OK)
		return false;
	verdict_promise_name(&sold, accels, ctx->arena, arena_strndup(ctx->arena, text, len));
	if (sold.mig[0] == '\0')
		return false;
	sold.count = (int)count;
	*p = sold;
	return true;
}

/* What was sold, as the user says it. */
static enum berth_code
probe_promise(struct cmd_ctx *ctx, const struct probe_opts *o, struct probed_machine *m,
    struct berth_err *err)
{
	const struct accel_table *accels;
	struct accel_spec spec;
	enum accel_precision precision;
	enum berth_code rc = BERTH_OK;

	m->promise = (struct verdict_promise){ .accelerator = "",
		.memory_gib = (double)NAN,
		.mig = "",
		.network_gbps = o->network_gbps,
		.precision = o->precision != NULL ? o->precision : "" };
	m->price = o->price;
	if (o->precision != NULL && !accel_precision_parse(o->precision, &precision)) {
		err_set(err, BERTH_EUSAGE,
		    "'%s' is no precision: fp64, fp32, tf32, fp16, bf16, fp8, int8 or fp4",
		    o->precision);
		return err_at(err, "--precision");
	}
	if (o->gpu == NULL)
		return BERTH_OK;
	rc = cmd_accels(ctx, &accels, err);
	if (rc == BERTH_OK && probe_promise_slice(ctx, accels, o->gpu, &m->promise))
		return BERTH_OK;
	if (rc == BERTH_OK)
		rc = cmd_accel_next(ctx, accel_spec_parse(accels, ctx->arena, o->gpu, &spec, err));
	if (rc != BERTH_OK)
		return rc;
	m->promise.accel = spec.accel;
	m->promise.accelerator = spec.accel != NULL ? spec.accel->name : spec.name;
	m->promise.count = spec.count_given ? spec.count_min : 1;
	return BERTH_OK;
}

/* Asks the machine's own provider, or ssh, as a tick does. */
static enum berth_code
probe_instance_run(struct cmd_ctx *ctx, struct probed_machine *m, struct berth_err *err)
{
	const char *json;
	struct broker b;
	enum berth_code rc;

	rc = brokerset_open(ctx, 1, &b, err);
	if (rc != BERTH_OK)
		return rc;
	rc = runner_measure(&b, &m->instance, &json, err);
	if (rc == BERTH_OK)
		m->json = arena_strdup(ctx->arena, json);
	broker_close(&b);
	return rc;
}

static enum berth_code
probe_instance(struct cmd_ctx *ctx, const struct probe_opts *o, struct probed_machine *m,
    struct berth_err *err)
{
	const struct accel_table *accels;
	enum berth_code rc;

	m->source = arena_printf(ctx->arena, "instance %" PRId64, o->instance);
	rc = store_instance_get(ctx->store, o->instance, ctx->arena, &m->instance, err);
	if (rc == BERTH_OK)
		rc = cmd_accels(ctx, &accels, err);
	if (rc != BERTH_OK)
		return rc;
	if (m->instance.state != INSTANCE_READY && m->instance.state != INSTANCE_NOTICED)
		return err_set(err, BERTH_EINVAL,
		    "instance %" PRId64 " is %s: only a machine that is ready can be measured",
		    o->instance, instance_state_name(m->instance.state));
	if (o->gpu == NULL) {
		m->promise.count = m->instance.offer.accelerator_count;
		m->promise.memory_gib = m->instance.offer.accelerator_memory_gib;
		verdict_promise_name(
		    &m->promise, accels, ctx->arena, m->instance.offer.accelerator);
	}
	if (!usd_known(m->price))
		m->price = m->instance.offer.price;
	return probe_instance_run(ctx, m, err);
}

static enum berth_code
probe_file(struct cmd_ctx *ctx, const struct probe_opts *o, struct probed_machine *m,
    struct berth_err *err)
{
	char *bytes;
	size_t n;
	enum berth_code rc = fileio_slurp(ctx->arena, o->file, PROBE_FILE_MAX, &bytes, &n, err);

	m->source = arena_printf(ctx->arena, "file %s", o->file);
	m->json = rc == BERTH_OK ? bytes : "";
	for (size_t i = 0; rc == BERTH_OK && i < n;
	     i++) /* a NUL would hide what comes after it; as a blank it is no JSON */
		if (bytes[i] == '\0')
			bytes[i] = '\1';
	return rc;
}

/* The benchmark that is named, else that of what was sold in berth.yaml; NULL: none. */
static enum berth_code
probe_bench(struct cmd_ctx *ctx, const struct probe_opts *o, const struct probed_machine *m,
    const struct bench **bench_out, struct berth_err *err)
{
	const struct accel_table *accels;
	const struct config *config;
	struct bench *benches, *named;
	enum berth_code rc;
	size_t n;

	*bench_out = NULL;
	if (o->measure != NULL) {
		named = arena_array_of(ctx->arena, 1, struct bench);
		*named = (struct bench){ .command = o->measure,
			.name = o->measure_name != NULL ? o->measure_name : "user",
			.devices = (int)o->measure_devices,
			.within_s = BENCH_WITHIN_S };
		*bench_out = named;
		return BERTH_OK;
	}
	if (m->promise.accel == NULL)
		return BERTH_OK;
	rc = cmd_config(ctx, &config, err);
	if (rc == BERTH_OK)
		rc = cmd_accels(ctx, &accels, err);
	if (rc == BERTH_OK)
		rc = bench_read(config->root, accels, ctx->arena, &benches, &n, err);
	if (rc == BERTH_OK)
		*bench_out = bench_find(benches, n, m->promise.accel);
	return rc;
}

static enum berth_code
probe_fetch(struct cmd_ctx *ctx, const struct probe_opts *o, struct probed_machine *m,
    struct berth_err *err)
{
	const int named = o->here + (o->file != NULL) + (o->host != NULL) + (o->instance != 0);
	const struct bench *bench;

	if (named > 1)
		return err_set(
		    err, BERTH_EUSAGE, "--here, --file, --host and --instance exclude each other");
	if (o->quick && o->deep)
		return err_set(err, BERTH_EUSAGE, "--quick and --deep exclude each other");
	if (o->measure != NULL && (o->file != NULL || o->instance != 0))
		return err_set(err, BERTH_EUSAGE,
		    "--measure-command goes with --here and --host; for machines that berth rents "
		    "it is 'measure' in berth.yaml");
	if (o->measure == NULL && o->measure_name != NULL)
		return err_set(err, BERTH_EUSAGE,
		    "--measure-name names what --measure-command measures, which is missing");
	if ((o->quick || o->deep || o->only.n > 0) &&
	    (o->file != NULL || o->host != NULL || o->instance != 0))
		return err_set(err, BERTH_EUSAGE, "--%s goes with --here: %s",
		    o->quick  ? "quick"
		    : o->deep ? "deep"
			      : "only",
		    o->file != NULL ? "a file was measured before"
				    : "over ssh the standard suite is run");
	if (o->measure == NULL && o->measure_devices != 1)
		return err_set(err, BERTH_EUSAGE,
		    "--measure-devices says how many accelerators --measure-command keeps busy, "
		    "which is missing");
	if (o->file != NULL)
		return probe_file(ctx, o, m, err);
	if (o->instance != 0)
		return probe_instance(ctx, o, m, err);
	if (probe_bench(ctx, o, m, &bench, err) != BERTH_OK)
		return err->code;
	if (o->host != NULL) {
		m->source = arena_printf(ctx->arena, "host %s", o->host);
		if (ctx->offline)
			return err_set(err, BERTH_EFAIL,
			    "--host goes over the network, and --offline forbids it");
		return shell_measure(
		    o->host, progpath_probe(ctx->arena), bench, ctx->arena, &m->json, err);
	}
	m->source = "here";
	return probe_run_here(ctx, o, bench, &m->json, err);
}

/* A result that cannot be read is a failed probe. */
static enum berth_code
probe_judge(struct cmd_ctx *ctx, struct probed_machine *m, struct berth_err *err)
{
	const struct accel_table *accels;
	struct verdict_limits limits;
	struct verdict_refs refs;
	struct berth_err why;
	enum berth_code rc;

	rc = cmd_accels(ctx, &accels, err);
	if (rc == BERTH_OK)
		rc = probe_tables(ctx, &refs, &limits, err);
	if (rc != BERTH_OK)
		return rc;
	if (verdict_parse(m->json, strlen(m->json), ctx->arena, &m->result, &why) != BERTH_OK) {
		m->why = arena_printf(
		    ctx->arena, "%s%s%s", why.where, why.where[0] != '\0' ? ": " : "", why.msg);
		m->verdict = (struct verdict){ .kind = VERDICT_REJECT,
			.speed = (double)NAN,
			.memory_gb_s = (double)NAN,
			.compute_tflops = (double)NAN,
			.compute_test = "",
			.actual = "",
			.straggler = -1 };
		m->result = (struct probe_result){ .level = "",
			.only = "",
			.probe = "",
			.kernels = "",
			.host = "",
			.driver = "",
			.cuda = "",
			.image = "",
			.duration_s = (double)NAN };
		return BERTH_OK;
	}
	verdict_judge(&m->result, &m->promise, accels, &refs, &limits, ctx->arena, &m->verdict);
	return BERTH_OK;
}

/* Did a GPU, or what was sold as one, get a verdict? A host without one has none. */
static bool
probe_judged(const struct probed_machine *m)
{
	return m->why[0] != '\0' || m->result.mode != PROBE_MODE_HOST ||
	       m->promise.accelerator[0] != '\0' || m->verdict.kind != VERDICT_ACCEPT;
}

static const char *
probe_reason(const struct probed_machine *m)
{
	if (m->why[0] != '\0')
		return m->why;
	return m->verdict.n_reasons > 0 && m->verdict.reasons[0].kind == m->verdict.kind
		   ? m->verdict.reasons[0].text
		   : "";
}

static enum berth_code
probe_store(struct cmd_ctx *ctx, struct probed_machine *m, struct berth_err *err)
{
	const struct probe_result *r = &m->result;
	const struct offer *o = &m->instance.offer;
	const bool ours = m->instance.id != 0;
	struct measurement row = { .instance_id = m->instance.id,
		.t = ctx->now,
		.provider = ours ? o->provider : "",
		.region = ours ? o->region : "",
		.zone = ours ? o->zone : "",
		.instance_type = ours ? o->instance_type : "",
		.host = r->host,
		.mode = m->why[0] == '\0' ? probe_mode_name(r->mode) : "",
		.level = r->level,
		.speed = m->verdict.speed,
		.verdict = probe_judged(m) ? verdict_kind_name(m->verdict.kind) : "",
		.reason = probe_reason(m),
		.json = m->why[0] == '\0' ? m->json : "" };
	struct measure_row *rows = arena_array_of(ctx->arena, r->n_tests + 1, struct measure_row);
	enum berth_code rc;
	int64_t id;

	row.accelerator = m->verdict.actual[0] != '\0' ? m->verdict.actual : m->promise.accelerator;
	for (size_t i = 0; i < r->n_tests; i++)
		rows[i] = (struct measure_row){ .test = r->tests[i].name,
			.gpu = r->tests[i].gpu,
			.peer = r->tests[i].peer,
			.value = r->tests[i].value,
			.unit = r->tests[i].unit,
			.status = probe_status_name(r->tests[i].status) };
	rc = store_measurement_insert(ctx->store, &row, rows, r->n_tests, &id, err);
	if (rc == BERTH_OK && ours) {
		m->instance.verdict = verdict_kind_name(m->verdict.kind);
		m->instance.speed = m->verdict.speed;
		rc = store_instance_update(ctx->store, &m->instance, err);
	}
	return rc;
}

static enum berth_code
probe_main(struct cmd_ctx *ctx, struct berth_err *err)
{
	const struct probe_opts *o = ctx->opts;
	struct probed_machine m = { .json = "", .why = "", .source = "" };
	enum berth_code rc;

	rc = probe_promise(ctx, o, &m, err);
	if (rc == BERTH_OK)
		rc = probe_fetch(ctx, o, &m, err);
	if (rc == BERTH_OK)
		rc = probe_judge(ctx, &m, err);
	if (rc == BERTH_OK)
		rc = probe_store(ctx, &m, err);
	if (rc == BERTH_OK)
		rc = probe_show(ctx, &m, err);
	if (rc != BERTH_OK || m.verdict.kind != VERDICT_REJECT)
		return rc;
	if (m.instance.id != 0)
		cmd_next_step(ctx, "berth instances release %" PRId64, m.instance.id);
	return err_set(err, BERTH_EPROBE, "rejected: %s", probe_reason(&m));
}
