#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cmd/record.h"
#include "cmd/record_metrics.h"
#include "ingest/expo.h"
#include "ingest/lines.h"
#include "ingest/promjson.h"
#include "ingest/smi.h"
#include "ingest/snapshot.h"
#include "ingest/zin.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/json.h"
#include "util/str.h"
#include "util/time.h"
#include "util/tz.h"

const struct record_metrics_opts record_metrics_defaults = {
	.unit = "gpu", .zone = "UTC", .resolution_s = 60
};

#define OFF(field) offsetof(struct record_metrics_opts, field)
#define METRICS_ROWS                                                                               \
	{ "by", 'b', OPT_LIST, "LABEL", "one series per value of these labels", OFF(by), 0, 0,     \
		NULL },                                                                            \
	    { "step", 0, OPT_DURATION, "DUR", "step of new series; default 1h", OFF(step_s), 1,    \
		    31 * 86400, NULL },                                                            \
	{                                                                                          \
		"at", 0, OPT_TIME, "TIME", "time of samples that have none; default now", OFF(at), \
		    0, 0, NULL                                                                     \
	}
#define METRIC_ROWS                                                                                \
	{ "metric", 'm', OPT_STRING, "NAME", "only this metric", OFF(metric), 0, 0, NULL },        \
	    { "unit", 0, OPT_STRING, "TEXT",                                                       \
		    "what metrics count that berth does not know; default gpu", OFF(unit), 0, 0,   \
		    NULL },                                                                        \
	{                                                                                          \
		"drop", 0, OPT_LIST, "LABEL", "leave these labels out of the series", OFF(drop),   \
		    0, 0, NULL                                                                     \
	}
#define PROM_ROWS                                                                                  \
	{ "url", 0, OPT_STRING, "URL", "the server: https://prometheus.example", OFF(url), 0, 0,   \
		NULL },                                                                            \
	    { "from", 0, OPT_TIME, "TIME",                                                         \
		    "first sample (where the last load ended, or a day ago)", OFF(from), 0, 0,     \
		    NULL },                                                                        \
	    { "to", 0, OPT_TIME, "TIME", "last sample (now)", OFF(to), 0, 0, NULL },               \
	    { "resolution", 0, OPT_DURATION, "DUR", "a sample each (1m)", OFF(resolution_s), 1,    \
		    86400, NULL },                                                                 \
	    { "user", 0, OPT_STRING, "NAME", "the password is in $BERTH_PROMETHEUS_PASSWORD",      \
		    OFF(user), 0, 0, NULL },                                                       \
	    { "token-file", 0, OPT_PATH, "FILE",                                                   \
		    "token or password, instead of $BERTH_PROMETHEUS_TOKEN", OFF(token_file), 0,   \
		    0, NULL },                                                                     \
	{                                                                                          \
		"ca-file", 0, OPT_PATH, "FILE", "authorities to trust instead of the system's",    \
		    OFF(ca_file), 0, 0, NULL                                                       \
	}
const struct opt_row record_prometheus_rows[] = {
	METRICS_ROWS,
	METRIC_ROWS,
	PROM_ROWS,
	{ "query", 0, OPT_STRING, "PROMQL", "any expression", OFF(query), 0, 0, NULL },
	{ "ready", 0, OPT_CHOICE, "dcgm|kubernetes|slurm|vllm", "queries that berth brings along",
	    OFF(ready), 0, 0, NULL },
	{ 0 },
};
const struct opt_row record_kubernetes_rows[] = { METRICS_ROWS, PROM_ROWS, { 0 } };
const struct opt_row record_openmetrics_rows[] = { METRICS_ROWS, METRIC_ROWS, { 0 } };
const struct opt_row record_snapshot_rows[] = { METRICS_ROWS, { 0 } };
const struct opt_row record_smi_rows[] = {
	METRICS_ROWS,
	{ "zone", 'z', OPT_STRING, "ZONE",
	    "zone of the machine's clock: Europe/Berlin; default UTC", OFF(zone), 0, 0, "tz" },
	{ 0 },
};
#undef OFF

/* Labels that say where a sample comes from, not what was measured. */
static const char *const *
metrics_drop(struct metrics *m)
{
	static const char *const scraped[] = { "instance", "job" }, *const smi[] = { "index",
		"uuid", "host" };
	const char **drop = arena_array_of(m->a, m->o->drop.n + 4, const char *);
	size_t n = m->o->drop.n;

	if (n > 0)
		memcpy(drop, m->o->drop.v, n * sizeof(*drop));
	for (size_t i = 0; i < 2 && str_eq(m->format, "prometheus"); i++)
		drop[n++] = scraped[i];
	for (size_t i = 0; i < 3 && str_eq(m->format, "nvidia-smi"); i++)
		drop[n++] = smi[i];
	return drop;
}

enum berth_code
metrics_begin(struct metrics *m, struct record *r, const char *format, const char *source,
    struct berth_err *err)
{
	static const char *const accelerator[] = { "accelerator" };
	const struct record_metrics_opts *o = r->ctx->opts;
	const struct accel_table *accels;
	enum berth_code rc = cmd_accels(r->ctx, &accels, err);
	struct points_options po = { .by = o->by.v,
		.n_by = o->by.n,
		.metric = o->metric,
		.unit = o->unit,
		.at = o->at != 0 ? o->at : r->ctx->now };

	*m = (struct metrics){ .r = r, .o = o, .format = format, .source = source };
	if (rc == BERTH_OK && po.at > r->ctx->now + USAGE_AHEAD_S)
		rc = err_set(err, BERTH_EUSAGE, "--at lies more than a day ahead");
	if (rc != BERTH_OK)
		return rc;
	m->a = arena_new();
	po.drop = metrics_drop(m);
	po.snapshot = str_eq(format, "squeue") || str_eq(format, "sinfo");
	if (po.snapshot && po.n_by == 0) {
		po.by = accelerator;
		po.n_by = 1;
	}
	po.accels = accels;
	usage_set_init(&m->set, m->a);
	rc = spool_new(SPOOL_ROWS, NULL, &m->sp, err);
	m->points = points_new(m->a, &po, &m->set, m->sp, metrics_say, m);
	m->sink = (struct ingest_sink){ .arg = m, .point = metrics_point, .say = metrics_say };
	return rc;
}

enum berth_code
metrics_point(void *arg, const struct ingest_point *p, struct berth_err *err)
{
	struct metrics *m = arg;
	const char *fault = p->t != 0 ? usage_time_fault(p->t, m->r->ctx->now) : NULL;
	const char *label = usage_label_fault(p->labels, p->n_labels);
	char at[TIME_FMT_SIZE], why[200];

	if (fault == NULL && label == NULL)
		return points_take(m->points, p, err);
	if (fault != NULL)
		snprintf(why, sizeof(why), "the time %s %s", time_fmt(at, p->t), fault);
	else
		snprintf(why, sizeof(why),
		    "label %.60s is no UTF-8: convert the file (iconv -f ISO-8859-1 -t UTF-8)",
		    label);
	if (p->line == 0)
		return err_set(err, BERTH_EINVAL, "%s", why);
	metrics_say(m, USAGE_REFUSED, p->line, why);
	return BERTH_OK;
}

void
metrics_say(void *arg, enum usage_say kind, long line, const char *message)
{
	struct metrics *m = arg;

	m->refused += kind == USAGE_REFUSED && line > 0;
	record_say(m->r, kind, line, message);
}

enum berth_code
metrics_end(struct metrics *m, enum berth_code rc, struct berth_err *err)
{
	struct usage_load_options o;
	struct usage_load_counts load = { 0 };
	struct usage_counts rows;
	struct points_counts c;

	if (m->a == NULL) /* it has not begun */
		return rc;
	o = (struct usage_load_options){ .step_s = m->o->step_s,
		.unit = m->o->unit,
		.format = m->format,
		.source = m->source,
		.digest = m->digest,
		.options = record_options(m->r->ctx),
		.now = m->r->ctx->now };
	if (rc == BERTH_OK)
		rc = points_end(m->points, err);
	c = points_counts(m->points);
	rows = (struct usage_counts){ c.read + m->refused, m->refused };
	if (rc == BERTH_OK)
		rc = usage_load(
		    m->r->ctx->store, &m->set, m->sp, &o, &rows, &load, metrics_say, m, err);
	if (rc == BERTH_OK) {
		record_touch(m->r, &m->set);
		record_count(m->r, &rows, &load);
		record_extra(m->r, "gpus", c.gpus);
		record_extra(m->r, "values_refused", c.absurd);
	}
	spool_free(m->sp);
	arena_free(m->a);
	return rc;
}

/* Lines of exposition text. */
static enum berth_code
metrics_lines(struct metrics *m, FILE *in, struct berth_err *err)
{
	struct expo *x = expo_new(m->a, &m->sink);
	struct lines *l = NULL;
	enum berth_code rc = lines_new(in, &l, err);
	char *line;
	size_t len;

	while (
	    rc == BERTH_OK && (rc = lines_next(l, &line, &len, err)) == BERTH_OK && line != NULL) {
		rc = expo_line(x, line, len, lines_number(l), err);
		if ((lines_number(l) & 0xfff) == 0)
			record_progress(m->r, lines_number(l));
	}
	lines_free(l);
	if (rc == BERTH_OK && expo_samples(x) == 0)
		rc = err_set(err, BERTH_EINVAL, "no sample in it");
	return rc;
}

/* A saved answer of query_range or query. */
static enum berth_code
metrics_json(struct metrics *m, FILE *in, struct berth_err *err)
{
	struct buf b;
	enum berth_code rc = BERTH_OK;
	int64_t points;
	size_t got;

	buf_init(&b, JSONR_BYTES_MAX);
	do {
		char *p = buf_reserve(&b, 65536);

		got = p != NULL ? fread(p, 1, 65536, in) : 0;
		buf_commit(&b, got);
	} while (got > 0);
	rc = buf_check(&b, m->r->file, err);
	if (rc == BERTH_OK && ferror(in))
		rc = err_set(err, BERTH_EIO, "reading failed");
	if (rc == BERTH_OK)
		rc = promjson_read(b.p != NULL ? b.p : "", b.len, m->r->file,
		    m->o->metric != NULL ? m->o->metric : "", &m->sink, &points, err);
	buf_free(&b);
	return rc;
}

static enum berth_code
metrics_smi(struct metrics *m, FILE *in, struct berth_err *err)
{
	struct smi_counts counts = { 0 };
	const struct tz *tz = NULL;
	enum berth_code rc = record_zone(m->r->ctx, m->o->zone, &tz, err);

	if (rc == BERTH_OK)
		rc = smi_read(in, m->r->file, tz, &m->sink, &counts, err);
	record_extra(m->r, "rows", counts.rows);
	record_extra(m->r, "faulty", counts.faulty);
	record_extra(m->r, "values_unknown", counts.unknown);
	return rc;
}

static enum berth_code
metrics_snapshot(struct metrics *m, FILE *in, struct berth_err *err)
{
	struct snapshot *s = snapshot_new(
	    m->a, str_eq(m->format, "squeue") ? SNAPSHOT_SQUEUE : SNAPSHOT_SINFO, &m->sink);
	struct snapshot_counts c = { 0 };
	struct lines *l = NULL;
	enum berth_code rc = lines_new(in, &l, err);
	char *line;
	size_t len;

	while (rc == BERTH_OK && (rc = lines_next(l, &line, &len, err)) == BERTH_OK && line != NULL)
		rc = snapshot_line(s, line, len, lines_number(l), err);
	lines_free(l);
	if (rc == BERTH_OK)
		rc = snapshot_end(s, &c, err);
	record_extra(m->r, "rows", c.rows);
	if (str_eq(m->format, "squeue")) {
		record_extra(m->r, "pending_tasks", c.pending_tasks);
		record_extra(m->r, "pending_gpus", (int64_t)c.pending_gpus);
		record_extra(m->r, "pending_gpus_at_once", (int64_t)c.pending_gpus_at_once);
		record_extra(m->r, "running_gpus", (int64_t)c.running_gpus);
	} else {
		record_extra(m->r, "devices", (int64_t)c.devices);
		record_extra(m->r, "devices_used", (int64_t)c.devices_used);
	}
	return rc;
}

typedef enum berth_code metrics_read_fn(struct metrics *m, FILE *in, struct berth_err *err);
struct metrics_format {
	const char *name;
	metrics_read_fn *read;
};

static enum berth_code
metrics_file(struct record *r, const char *path, struct berth_err *err)
{
	const struct metrics_format *format = r->own;
	struct metrics m;
	struct zin *z = NULL;
	enum berth_code rc = metrics_begin(&m, r, format->name, path, err);

	if (rc == BERTH_OK)
		rc = zin_open(path, &z, err);
	if (rc == BERTH_OK) {
		r->zin = z;
		rc = format->read(&m, zin_file(z), err);
		r->zin = NULL;
	}
	if (rc == BERTH_EIO && zin_fault(z) != NULL)
		rc = err_set(
		    err, BERTH_EINVAL, "%s: %s; nothing of it was stored", r->file, zin_fault(z));
	else if (rc == BERTH_EINVAL && strncmp(err->msg, r->file, strlen(r->file)) != 0)
		err_ctx(err, "%s", r->file);
	if (z != NULL)
		zin_digest(z, m.digest);
	zin_close(z);
	return metrics_end(&m, rc, err);
}

enum berth_code
record_openmetrics(struct cmd_ctx *ctx, struct berth_err *err)
{
	struct metrics_format format = { "openmetrics", metrics_lines };
	struct record r = { .ctx = ctx, .own = &format };

	return record_files(&r, metrics_file, err);
}

enum berth_code
record_smi(struct cmd_ctx *ctx, struct berth_err *err)
{
	struct metrics_format format = { "nvidia-smi", metrics_smi };
	struct record r = { .ctx = ctx, .own = &format };

	return record_files(&r, metrics_file, err);
}

enum berth_code
record_squeue(struct cmd_ctx *ctx, struct berth_err *err)
{
	struct metrics_format format = { "squeue", metrics_snapshot };
	struct record r = { .ctx = ctx, .own = &format };

	return record_files(&r, metrics_file, err);
}

enum berth_code
record_sinfo(struct cmd_ctx *ctx, struct berth_err *err)
{
	struct metrics_format format = { "sinfo", metrics_snapshot };
	struct record r = { .ctx = ctx, .own = &format };

	return record_files(&r, metrics_file, err);
}

enum berth_code
record_prometheus(struct cmd_ctx *ctx, struct berth_err *err)
{
	const struct record_metrics_opts *o = ctx->opts;
	struct metrics_format format = { "prometheus", metrics_json };
	struct record r = { .ctx = ctx, .own = &format };

	if (o->url != NULL && ctx->n_args > 0)
		return err_set(err, BERTH_EUSAGE, "either --url or files, please");
	if (o->url != NULL)
		return record_prom_live(ctx, o->ready, err);

	return record_files(&r, metrics_file, err);
}
