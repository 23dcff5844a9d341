#include <stdio.h>
#include <string.h>

#include "cmd/record_metrics.h"
#include "ingest/metric.h"
#include "ingest/promjson.h"
#include "net/http.h"
#include "store/series_rows.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/duration.h"
#include "util/str.h"
#include "util/time.h"

#define PROM_DAY INT64_C(86400)
#define PROM_FIRST_POINTS                                                                          \
	60 /* of each series in the first request: only its answer tells how many series there are \
	    */
#define PROM_ANSWER_POINTS INT64_C(200000) /* aimed at in one answer */
#define PROM_LOADS 200                     /* so far back a load of the same query is looked for */

/*
 * What accelerators are there and who holds them, of every vendor: the type stands at the node,
 * where its labels are exported (kube-state-metrics --metric-labels-allowlist). A chip of Amazon is
 * told of as a device and as its cores.
 */
#define PROM_LABELS                                                                                \
	"label_nvidia_com_gpu_product, label_nvidia_com_gpu_replicas, "                            \
	"label_cloud_google_com_gke_accelerator, "                                                 \
	"label_cloud_google_com_gke_tpu_accelerator, label_amd_com_gpu_product_name, "             \
	"label_node_kubernetes_io_instance_type"
#define PROM_DEVICES                                                                               \
	"nvidia_com_gpu|nvidia_com_gpu_shared|nvidia_com_mig_.+|amd_com_gpu|google_com_tpu|"       \
	"aws_amazon_com_neuron|habana_ai_gaudi|gpu_intel_com_i915|gpu_intel_com_xe"
#define PROM_NODES                                                                                 \
	" * on (node) group_left (" PROM_LABELS ") (max by (node, " PROM_LABELS ") "               \
	"(kube_node_labels) or on (node) max by (node) (kube_node_info))"
#define PROM_REQUESTS                                                                              \
	"kube_pod_container_resource_requests{resource=~\"" PROM_DEVICES                           \
	"|aws_amazon_com_neuroncore\"}"
#define PROM_INSTALLED "kube_node_status_allocatable{resource=~\"" PROM_DEVICES "\"}"
#define PROM_PHASE(p)                                                                              \
	"on (namespace, pod) group_left () (max by (namespace, pod) "                              \
	"(kube_pod_status_phase{phase=\"" p "\"}) == 1)"

/* Ready-made queries: what the result is called, and the expression. */
static const struct {
	const char *ready, *metric, *query;
} prom_ready[] = {
	{ "dcgm", "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_GPU_UTIL" },
	{ "dcgm", "DCGM_FI_PROF_SM_ACTIVE", "DCGM_FI_PROF_SM_ACTIVE" },
	{ "dcgm", "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_USED" },
	{ "dcgm", "DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_GPU_TEMP" },
	{ "dcgm", "DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_POWER_USAGE" },
	{ "dcgm", "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS" },
	/* Kernels are there, the multiprocessors wait, and so does the host for its disks. */
	{ "dcgm", "berth:starved",
	    "count by (modelName) (max by (UUID, modelName, Hostname) (DCGM_FI_PROF_SM_ACTIVE) < "
	    "0.3 and on (UUID) max by (UUID) (DCGM_FI_DEV_GPU_UTIL) > 50 and on (Hostname) "
	    "label_replace(avg by (instance) (rate(node_cpu_seconds_total{mode=\"iowait\"}[5m])), "
	    "\"Hostname\", \"$1\", \"instance\", \"([^:]+).*\") > 0.1) or 0 * count by (modelName) "
	    "(max by (UUID, modelName) (DCGM_FI_PROF_SM_ACTIVE))" },
	{ "kubernetes", "berth:allocated",
	    "sum by (resource, " PROM_LABELS ") (" PROM_REQUESTS " * " PROM_PHASE("Running")
		PROM_NODES ") or 0 * sum by (resource, " PROM_LABELS ") (" PROM_INSTALLED PROM_NODES
			   ")" },
	{ "kubernetes", "berth:queued",
	    "sum by (resource) (" PROM_REQUESTS
	    " * " PROM_PHASE("Pending") ") or 0 * sum by (resource) (" PROM_INSTALLED ")" },
	{ "kubernetes", "berth:installed",
	    "sum by (resource, " PROM_LABELS ") (" PROM_INSTALLED PROM_NODES ")" },
	{ "kubernetes", "berth:wait",
	    "avg ((kube_pod_status_scheduled_time - on (namespace, pod) group_left () max by "
	    "(namespace, pod) (kube_pod_created)) and on (namespace, pod) " PROM_REQUESTS
	    " and (kube_pod_status_scheduled_time > time() - 3600))" },
	{ "kubernetes", "berth:wait_p95",
	    "quantile (0.95, (kube_pod_status_scheduled_time - on (namespace, pod) group_left () "
	    "max by (namespace, pod) (kube_pod_created)) and on (namespace, pod) " PROM_REQUESTS
	    " and (kube_pod_status_scheduled_time > time() - 3600))" },
	{ "kubernetes", "berth:wait_open",
	    "avg ((time() - max by (namespace, pod) (kube_pod_created)) and on (namespace, "
	    "pod) " PROM_REQUESTS
	    " and on (namespace, pod) (kube_pod_status_phase{phase=\"Pending\"} == 1))" },
	{ "slurm", "slurm_gpus_alloc", "sum (slurm_gpus_alloc)" },
	{ "slurm", "slurm_gpus_total", "sum (slurm_gpus_total)" },
	{ "vllm", "vllm:num_requests_running", "sum by (model_name) (vllm:num_requests_running)" },
	{ "vllm", "vllm:num_requests_waiting", "sum by (model_name) (vllm:num_requests_waiting)" },
	{ "vllm", "berth:wait",
	    "sum by (model_name) (rate(vllm:request_queue_time_seconds_sum[5m])) / (sum by "
	    "(model_name) (rate(vllm:request_queue_time_seconds_count[5m])) > 0)" },
	{ "vllm", "berth:wait_p50",
	    "histogram_quantile(0.5, sum by (model_name, le) "
	    "(rate(vllm:request_queue_time_seconds_bucket[5m])))" },
	{ "vllm", "berth:wait_p95",
	    "histogram_quantile(0.95, sum by (model_name, le) "
	    "(rate(vllm:request_queue_time_seconds_bucket[5m])))" },
	{ "vllm", "vllm:kv_cache_usage_perc",
	    "avg by (model_name) (vllm:kv_cache_usage_perc or vllm:gpu_cache_usage_perc)" },
};

#define PROM_READY (sizeof(prom_ready) / sizeof(prom_ready[0]))

/* One server and how it is asked. */
struct prom {
	struct record *r;
	const struct record_metrics_opts *o;
	struct http *http;
	const char *base;          /* without a slash at the end */
	const char *authorization; /* NULL: none */
	int64_t from, to;
	int64_t first; /* samples before are for counters alone; 0: none are */
	int64_t last;  /* time of the newest sample; 0: none */
	int64_t points;
	struct metrics *m;
};

static const char *
prom_base64(struct arena *a, const char *s)
{
	static const char digits[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t n = strlen(s), k = 0;
	char *out = arena_alloc(a, (n + 2) / 3 * 4 + 1);

	for (size_t i = 0; i < n; i += 3) {
		unsigned v = (unsigned)(unsigned char)s[i] << 16;

		v |= i + 1 < n ? (unsigned)(unsigned char)s[i + 1] << 8 : 0;
		v |= i + 2 < n ? (unsigned)(unsigned char)s[i + 2] : 0;
		out[k++] = digits[v >> 18];
		out[k++] = digits[v >> 12 & 63];
		out[k++] = i + 1 < n ? digits[v >> 6 & 63] : '=';
		out[k++] = i + 2 < n ? digits[v & 63] : '=';
	}
	return out;
}

/* Bearer from $BERTH_PROMETHEUS_TOKEN or --token-file, or basic from --user and
 * $BERTH_PROMETHEUS_PASSWORD. */
static enum berth_code
prom_auth(struct prom *p, struct berth_err *err)
{
	struct cmd_ctx *ctx = p->r->ctx;
	const char *secret;
	enum berth_code rc;

	if (p->o->user != NULL) {
		rc =
		    record_secret(ctx, p->o->token_file, "BERTH_PROMETHEUS_PASSWORD", &secret, err);
		if (rc == BERTH_OK && secret == NULL)
			rc = err_set(err, BERTH_EAUTH,
			    "--user needs the password in $BERTH_PROMETHEUS_PASSWORD or "
			    "--token-file");
		if (rc == BERTH_OK)
			p->authorization = arena_printf(ctx->arena, "Basic %s",
			    prom_base64(
				ctx->arena, arena_printf(ctx->arena, "%s:%s", p->o->user, secret)));
		return rc;
	}
	rc = record_secret(ctx, p->o->token_file, "BERTH_PROMETHEUS_TOKEN", &secret, err);
	if (rc == BERTH_OK && secret != NULL)
		p->authorization = arena_printf(ctx->arena, "Bearer %s", secret);
	return rc;
}

static enum berth_code
prom_refused(const struct http_resp *resp, const char *url, struct berth_err *err)
{
	const struct ingest_sink nobody = { 0 };
	enum berth_code code = resp->status == 401 || resp->status == 403 ? BERTH_EAUTH
			       : resp->status == 429                      ? BERTH_ETHROTTLED
			       : resp->status >= 500                      ? BERTH_ETRANSIENT
									  : BERTH_EINVAL;
	struct berth_err why = { 0 };
	int64_t points;

	if (promjson_read(resp->body, resp->body_len, "answer", "", &nobody, &points, &why) !=
		BERTH_OK &&
	    str_starts(why.msg, "the server says"))
		return err_set(err, code, "%s: HTTP status %d: %s", url, resp->status, why.msg);
	return err_set(err, code, "%s: HTTP status %d", url, resp->status);
}

static enum berth_code
prom_point(void *arg, const struct ingest_point *pt, struct berth_err *err)
{
	struct prom *p = arg;

	p->last = pt->t > p->last ? pt->t : p->last;
	return metrics_point(p->m, pt, err);
}

static void
prom_say(void *arg, enum usage_say kind, long line, const char *message)
{
	metrics_say(((struct prom *)arg)->m, kind, line, message);
}

/* One request; *points_out of its answer. */
static enum berth_code
prom_get(struct prom *p, const char *metric, const char *query, int64_t start, int64_t end,
    int64_t *points_out, struct berth_err *err)
{
	const struct ingest_sink sink = { .arg = p, .point = prom_point, .say = prom_say };
	struct arena *a = arena_new();
	struct http_req req = { .arena = a, .idempotent = true, .timeout_s = 120 };
	struct http_resp resp;
	enum berth_code rc = BERTH_OK;

	http_req_url(&req, "%s/api/v1/query_range?query=%s&start=%lld&end=%lld&step=%lld", p->base,
	    http_urlencode(a, query), (long long)start, (long long)end,
	    (long long)p->o->resolution_s);
	if (p->authorization != NULL)
		rc = http_req_header(&req, "Authorization", p->authorization, true, err);
	if (rc == BERTH_OK)
		rc = http_exchange(p->http, &req, &resp, err);
	if (rc == BERTH_OK && resp.status != 200)
		rc = prom_refused(&resp, p->base, err);
	if (rc == BERTH_OK)
		rc = promjson_read(
		    resp.body, resp.body_len, p->base, metric, &sink, points_out, err);
	arena_free(a);
	return rc;
}

/* A range in as many requests as the server's limit and the size of its answers ask for. */
static enum berth_code
prom_query(struct prom *p, const char *metric, const char *query, struct berth_err *err)
{
	int64_t each = PROM_FIRST_POINTS, at = p->from, start, end, got, asked, all = 0;
	enum berth_code rc = BERTH_OK;

	while (
	    rc == BERTH_OK && promjson_range(at, p->to, p->o->resolution_s, each, &start, &end)) {
		int64_t most;

		rc = prom_get(p, metric, query, start, end, &got, err);
		if (rc != BERTH_OK)
			return err_ctx(err, "query %s", metric);
		asked = (end - start) / p->o->resolution_s + 1;
		most = got > 0 ? PROM_ANSWER_POINTS * asked / got : PROMJSON_POINTS_MAX;
		each = most < 10 ? 10 : most > PROMJSON_POINTS_MAX ? PROMJSON_POINTS_MAX : most;
		all += got;
		at = end + p->o->resolution_s;
		p->points += got;
		record_progress(p->r, p->points);
	}
	if (all == 0)
		record_say(p->r, USAGE_REMARK, 0,
		    arena_printf(p->r->ctx->arena, "no sample of %s in this time", metric));
	return rc;
}

/* Where the last load of the same source ended: its last step is asked for again, as a whole. */
static enum berth_code
prom_resume(struct prom *p, const char *source, struct berth_err *err)
{
	struct cmd_ctx *ctx = p->r->ctx;
	int64_t step = p->o->step_s != 0 ? p->o->step_s : 3600;
	struct load *loads;
	size_t n;
	enum berth_code rc = store_load_list(ctx->store, PROM_LOADS, ctx->arena, &loads, &n, err);

	p->to = p->o->to != 0 ? p->o->to : ctx->now;
	p->from = p->o->from != 0 ? p->o->from : p->to - PROM_DAY;
	for (size_t i = 0; rc == BERTH_OK && p->o->from == 0 && i < n; i++) {
		if (!str_eq(loads[i].format, "prometheus") || !str_eq(loads[i].source, source) ||
		    loads[i].to == 0)
			continue;
		p->first = time_floor(loads[i].to, step);
		p->from = p->first - p->o->resolution_s;
		break;
	}
	if (rc == BERTH_OK && p->from > p->to)
		rc = err_set(err, BERTH_EUSAGE, "--from lies behind --to");
	return rc;
}

static enum berth_code
prom_all(struct prom *p, const char *ready, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	if (p->o->query != NULL)
		return prom_query(
		    p, p->o->metric != NULL ? p->o->metric : "query", p->o->query, err);
	for (size_t i = 0; rc == BERTH_OK && i < PROM_READY; i++)
		if (str_eq(prom_ready[i].ready, ready))
			rc = prom_query(p, prom_ready[i].metric, prom_ready[i].query, err);
	return rc;
}

static void
prom_stale(struct prom *p)
{
	char age[DURATION_FMT_SIZE];

	if (p->last != 0 && p->to - p->last > 5 * p->o->resolution_s && p->to - p->last > 300)
		record_say(p->r, USAGE_REMARK, 0,
		    arena_printf(p->r->ctx->arena,
			"the newest sample is %s older than the end of the range: does the "
			"exporter still run?",
			duration_fmt(age, p->to - p->last)));
}

enum berth_code
record_prom_live(struct cmd_ctx *ctx, const char *ready, struct berth_err *err)
{
	const struct record_metrics_opts *o = ctx->opts;
	const struct http_config conf = { .ca_file = o->ca_file };
	struct record r = { .ctx = ctx };
	struct prom p = { .r = &r, .o = o };
	struct metrics m = { 0 };
	const char *source;
	enum berth_code rc;

	if (ctx->offline)
		return err_set(err, BERTH_EUSAGE, "--offline: no server is asked");
	if ((o->query != NULL) == (ready != NULL))
		return err_set(err, BERTH_EUSAGE, "either --query or --ready, please");
	p.base =
	    arena_strndup(ctx->arena, o->url, strlen(o->url) - (str_ends(o->url, "/") ? 1 : 0));
	source = arena_printf(ctx->arena, "%s %s", p.base, ready != NULL ? ready : o->query);
	record_source(&r, p.base);
	rc = prom_auth(&p, err);
	if (rc == BERTH_OK)
		rc = prom_resume(&p, source, err);
	if (rc == BERTH_OK)
		rc = http_new(&conf, &p.http, err);
	if (rc == BERTH_OK)
		rc = metrics_begin(&m, &r, "prometheus", source, err);
	p.m = &m;
	if (rc == BERTH_OK)
		points_from(m.points, p.first);
	if (rc == BERTH_OK)
		rc = prom_all(&p, ready, err);
	if (rc == BERTH_OK)
		prom_stale(&p);
	rc = metrics_end(&m, rc, err);
	progress_end(&r.progress);
	http_free(p.http);
	return rc == BERTH_OK ? record_result(&r, err) : rc;
}

enum berth_code
record_kubernetes(struct cmd_ctx *ctx, struct berth_err *err)
{
	const struct record_metrics_opts *o = ctx->opts;

	if (o->url == NULL)
		return err_set(err, BERTH_EUSAGE,
		    "--url: which Prometheus server has the metrics of kube-state-metrics?");
	return record_prom_live(ctx, "kubernetes", err);
}
