#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "broker/usage_jobs.h"
#include "cmd/record.h"
#include "cmd/record_jobs.h"
#include "ingest/lines.h"
#include "ingest/sacct.h"
#include "ingest/zin.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/time.h"
#include "util/tz.h"

const struct record_jobs_opts record_jobs_defaults = { .zone = "UTC", .cluster = "" };

#define OFF(field) offsetof(struct record_jobs_opts, field)
const struct opt_row record_sacct_rows[] = {
	{ "by", 'b', OPT_LIST, "LABEL",
	    "one series per value of these: accelerator, user, account ...", OFF(by), 0, 0, NULL },
	{ "step", 0, OPT_DURATION, "DUR", "step of the series; default 1h", OFF(step_s), 60,
	    31 * 86400, NULL },
	{ "zone", 'z', OPT_STRING, "ZONE",
	    "zone of the cluster's clock: Europe/Berlin; default UTC", OFF(zone), 0, 0, "tz" },
	{ "cluster", 0, OPT_STRING, "NAME", "cluster of jobs that name none", OFF(cluster), 0, 0,
	    NULL },
	{ "from", 0, OPT_TIME, "TIME", "the export begins here: no job is no demand", OFF(from), 0,
	    0, NULL },
	{ "to", 0, OPT_TIME, "TIME", "the export ends here: running jobs ran until then", OFF(to),
	    0, 0, NULL },
	{ 0 },
};

struct jobs_reading {
	struct usage_jobs *jobs;
	struct sacct *sacct;
	struct usage_counts rows;
};

static void
jobs_say(void *arg, enum usage_say kind, long line, const char *message)
{
	record_say(((struct jobs_file *)arg)->r, kind, line, message);
}

static enum berth_code
jobs_lines(struct jobs_file *f, struct jobs_reading *g, FILE *in, struct berth_err *err)
{
	struct lines *l = NULL;
	enum berth_code rc =
	    f->zin != NULL ? lines_new_zin(f->zin, &l, err) : lines_new(in, &l, err);
	long number = 0;
	char *line;
	size_t len;

	while (
	    rc == BERTH_OK && (rc = lines_next(l, &line, &len, err)) == BERTH_OK && line != NULL) {
		rc = sacct_line(g->sacct, line, len, ++number, err);
		if ((number & 0xffff) == 0)
			record_progress(f->r, number);
	}
	lines_free(l);
	g->rows.read = sacct_rows(g->sacct);
	return rc == BERTH_OK ? sacct_end(g->sacct, err) : rc;
}

struct jobs_counter {
	struct jobs_file *f;
	int64_t refused;
};

static void
jobs_count_say(void *arg, enum usage_say kind, long line, const char *message)
{
	struct jobs_counter *c = arg;

	c->refused += kind == USAGE_REFUSED;
	jobs_say(c->f, kind, line, message);
}

/* A sink has one arg: this one hands jobs on and counts what is refused. */
struct jobs_sink {
	struct jobs_counter counter;
	struct usage_jobs *jobs;
};

static void
jobs_sink_say(void *arg, enum usage_say kind, long line, const char *message)
{
	jobs_count_say(&((struct jobs_sink *)arg)->counter, kind, line, message);
}

static enum berth_code
jobs_sink_job(void *arg, const struct ingest_job *job, struct berth_err *err)
{
	struct jobs_sink *s = arg;
	const struct {
		const char *name;
		int64_t t;
	} times[] = { { "Submit", job->submit }, { "Start", job->start }, { "End", job->end } };
	char at[TIME_FMT_SIZE], why[120];

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		const char *fault = times[i].t != 0
					? usage_time_fault(times[i].t, s->counter.f->r->ctx->now)
					: NULL;

		if (fault == NULL)
			continue;
		snprintf(
		    why, sizeof(why), "%s %s %s", times[i].name, time_fmt(at, times[i].t), fault);
		jobs_sink_say(arg, USAGE_REFUSED, job->line, why);
		return BERTH_OK;
	}
	return usage_jobs_take(s->jobs, job, err);
}

/* Of what was read of in. */
static void
jobs_digest(const struct jobs_file *f, FILE *in, char hex[HASH_DIGEST_SIZE])
{
	struct hash_digest h;
	char part[4096];
	size_t n;

	if (f->zin != NULL) {
		zin_digest(f->zin, hex);
		return;
	}
	hash_digest_init(&h);
	rewind(in);
	while ((n = fread(part, 1, sizeof(part), in)) > 0)
		hash_digest_add(&h, part, n);
	hash_digest_hex(&h, hex);
}

enum berth_code
jobs_stream(struct jobs_file *f, FILE *in, struct berth_err *err)
{
	static const char *const labels[] = { "accelerator", "user", "account", "team", "partition",
		"qos", "cluster", NULL };
	struct usage_jobs_options o = { .by = f->o->by.v,
		.n_by = f->o->by.n,
		.step_s = f->o->step_s,
		.from = f->o->from,
		.to = f->o->to,
		.cluster = f->o->cluster,
		.format = f->format,
		.source = f->source,
		.options = record_options(f->r->ctx),
		.now = f->r->ctx->now,
		.accels = f->accels };
	struct jobs_sink sink = { .counter = { .f = f } };
	const struct ingest_sink to = { .arg = &sink, .job = jobs_sink_job, .say = jobs_sink_say };
	struct usage_jobs_counts counts = { 0 };
	struct jobs_reading g = { 0 };
	char hex[HASH_DIGEST_SIZE] = "";
	struct arena *a = arena_new();
	struct usage_set set;
	enum berth_code rc;

	rc = record_check_by(&f->o->by, labels, "jobs", err);
	if (rc == BERTH_OK && o.to > o.now + USAGE_AHEAD_S)
		rc = err_set(err, BERTH_EUSAGE, "--to lies more than a day ahead");
	else if (rc == BERTH_OK && o.to != 0 && o.from >= o.to)
		rc = err_set(err, BERTH_EUSAGE, "--from does not lie before --to");
	if (rc != BERTH_OK) {
		arena_free(a);
		return rc;
	}
	usage_set_init(&set, a);
	sink.jobs = usage_jobs_new(f->r->ctx->store, &set, &o, jobs_count_say, &sink.counter);
	g.sacct = sacct_new(a, f->tz, &to);
	rc = jobs_lines(f, &g, in, err);
	g.rows.refused = sink.counter.refused;
	jobs_digest(f, in, hex);
	usage_jobs_digest(sink.jobs, hex);
	rc = usage_jobs_end(sink.jobs, rc, &g.rows, &counts, err);
	if (rc == BERTH_OK) {
		record_touch(f->r, &set);
		record_count(f->r, &g.rows, &counts.rows);
		record_extra(f->r, "jobs", counts.jobs);
		record_extra(f->r, "attempts", counts.attempts);
		record_extra(f->r, "rows_steps", sacct_steps(g.sacct));
		record_extra(f->r, "rows_without_gpus", counts.without_gpus);
	}
	usage_jobs_free(sink.jobs);
	arena_free(a);
	return rc;
}

static enum berth_code
jobs_file(struct record *r, const char *path, struct berth_err *err)
{
	struct jobs_file *f = r->own;
	struct zin *z;
	enum berth_code rc = zin_open(path, &z, err);

	if (rc != BERTH_OK)
		return rc;
	f->source = path;
	f->zin = z;
	r->zin = z;
	rc = jobs_stream(f, zin_file(z), err);
	r->zin = NULL;
	if (rc == BERTH_EIO && zin_fault(z) != NULL)
		rc = err_set(
		    err, BERTH_EINVAL, "%s: %s; nothing of it was stored", r->file, zin_fault(z));
	else if (rc == BERTH_EINVAL)
		err_ctx(err, "%s", r->file);
	zin_close(z);
	return rc;
}

enum berth_code
record_sacct(struct cmd_ctx *ctx, struct berth_err *err)
{
	struct record r = { .ctx = ctx };
	struct jobs_file f = { .r = &r, .o = ctx->opts, .format = "sacct" };
	enum berth_code rc = record_zone(ctx, f.o->zone, &f.tz, err);

	r.own = &f;
	if (rc == BERTH_OK)
		rc = cmd_accels(ctx, &f.accels, err);
	return rc == BERTH_OK ? record_files(&r, jobs_file, err) : rc;
}
