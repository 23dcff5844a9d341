/* Slurm's exports: resources, durations, local times, arrays, steps and names with bars. */
#include <stdio.h>
#include <string.h>

#include "ingest/sacct.h"
#include "ingest/slurmtime.h"
#include "ingest/tres.h"
#include "tests/tap.h"
#include "util/buf.h"
#include "util/time.h"

static void
test_tres(void)
{
	static const struct { const char *in, *want; } t[] = {
		{ "billing=32,cpu=32,gres/gpu:h100=8,gres/gpu=8,mem=1T,node=2", "h100=8" },
		{ "cpu=8,gres/gpu=2,mem=64G,node=1", "=2" },
		{ "cpu=4,gres/gpu:nvidia_rtx_a6000=1,node=1", "nvidia_rtx_a6000=1" },
		{ "gres/gpu:l4=1,gres/gpu:t4=2,gres/gpu=5", "l4=1 t4=2 =2" },
		{ "cpu=16,gres/gpumem=42949672960,gres/gpuutil=100,mem=64G", "" },
		{ "gres/gpu:a100_1g.10gb=3,gres/gpu=3", "a100_1g.10gb=3" },
		{ "gres/gpu_x=3,gres/mps=100,gres/gpu=0", "" },
		{ "", "" }, { "no list", "bad" }, { "gres/gpu=many", "bad" }, { "gres/gpu=-1", "bad" }, { "gres/gpu:=1", "bad" }
	};
	static const struct { const char *in, *want; } g[] = {
		{ "gpu:h100:8", "h100=8" }, { "gres/gpu:2", "=2" }, { "gres:gpu:v100:1", "v100=1" }, { "gpu", "=1" },
		{ "gpu:a30", "a30=1" }, { "gpu:a100:4(S:0-1),lustre:1", "a100=4" }, { "N/A", "" }, { "(null)", "" },
		{ "gpu:h100_1g.12gb:7(IDX:0,2,4),gpu:h100_3g.47gb:0(IDX:N/A)", "h100_1g.12gb=7" },
		{ "mps:100,gpumem:3", "" }, { "gpu:a100:x", "bad" }, { "gres/gpu=4", "=4" }
	};
	struct ingest_gres v[INGEST_GRES_MAX];
	size_t n;

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]) + sizeof(g) / sizeof(g[0]); i++) {
		size_t nt = sizeof(t) / sizeof(t[0]);
		const char *in = i < nt ? t[i].in : g[i - nt].in;
		char text[200], got[200] = "";
		bool fine;

		snprintf(text, sizeof(text), "%s", in);
		fine = i < nt ? tres_gpus(text, v, INGEST_GRES_MAX, &n) : tres_gres(text, v, INGEST_GRES_MAX, &n);
		for (size_t k = 0; fine && k < n; k++)
			snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s=%g", k > 0 ? " " : "", v[k].type, v[k].count);
		tap_is_str(fine ? got : "bad", i < nt ? t[i].want : g[i - nt].want, "%s", in);
	}
}

static void
test_tasks(void)
{
	static const struct { const char *id; int64_t tasks, at_once; } t[] = {
		{ "77", 1, 1 }, { "77_3", 1, 1 }, { "77+2", 1, 1 }, { "77_[0-9%4]", 10, 4 }, { "77_[1,3,5-7]", 5, 5 },
		{ "77_[0-12:4]", 4, 4 }, { "77_[5]", 1, 1 }, { "77_[0-3,...]", 4, 4 }, { "77_[0-1%8]", 2, 2 },
		{ "77_[0x3E]", 5, 5 }, { "77_[0xFFFFFFFFFFFFFFFFFFFF%7]", 80, 7 }, { "77_[0x]", 0, 0 }, { "77_[0xg]", 0, 0 },
		{ "77_[9-1]", 0, 0 }, { "77_[", 0, 0 }, { "x", 0, 0 }, { "77_[0-99999999]", 0, 0 }, { "77_a", 0, 0 }
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		int64_t tasks, at_once;
		bool fine = tres_tasks(t[i].id, &tasks, &at_once);

		tap_ok(fine == (t[i].tasks > 0) && (!fine || (tasks == t[i].tasks && at_once == t[i].at_once)), "%s", t[i].id);
	}
	tap_ok(tres_is_step("77.batch") && tres_is_step("77_3.0") && !tres_is_step("77_3") && !tres_is_step("77_[1-2]"),
	    "steps");
}

static void
test_durations(void)
{
	static const struct { const char *in; int64_t want; } t[] = {
		{ "00:00:00", 0 }, { "02:03:04", 7384 }, { "3-00:00:01", 259201 }, { "45:00", 2700 }, { "1-06", 108000 },
		{ "1-06:30", 109800 }, { "90", 5400 }, { "12:34.567", 754 }, { "UNLIMITED", INGEST_NO_LIMIT },
		{ "Partition_Limit", INGEST_UNKNOWN }, { "", INGEST_UNKNOWN }, { "1:2:3:4", -9 }, { "soon", -9 },
		{ "-1", -9 }, { "1-", -9 }, { "99999999999999999999", -9 }
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		int64_t s = -9;

		if (!slurmtime_duration(t[i].in, &s))
			s = -9;
		tap_is_long(s, t[i].want, "'%s'", t[i].in);
	}
}

/* What a reader said, one line a row. */
struct heard { struct buf b; };

static enum berth_code
heard_job(void *arg, const struct ingest_job *j, struct berth_err *err)
{
	struct buf *b = &((struct heard *)arg)->b;
	char at[2][TIME_FMT_SIZE];
	static const char *const state[] = { "waits", "runs", "over" };

	(void)err;
	buf_printf(b, "%ld %s '%s' %s %s..%s %lld/%lld", j->line, j->id, j->name, state[j->state],
	    j->start == 0 ? "-" : time_fmt(at[0], j->start), j->end == 0 ? "-" : time_fmt(at[1], j->end),
	    (long long)j->elapsed_s, (long long)j->limit_s);
	for (size_t i = 0; i < j->n_gres; i++)
		buf_printf(b, " %s=%g", j->gres[i].type, j->gres[i].count);
	if (j->tasks != 1)
		buf_printf(b, " x%lld", (long long)j->tasks);
	buf_add_str(b, "\n");
	return BERTH_OK;
}

static void
heard_say(void *arg, enum usage_say kind, long line, const char *msg)
{
	buf_printf(&((struct heard *)arg)->b, "%ld %s: %.29s\n", line, kind == USAGE_REFUSED ? "refuse" : "warn", msg);
}

static void
check(const char *zone, const char *text, const char *want, const char *what)
{
	struct heard h;
	struct ingest_sink sink = { .arg = &h, .job = heard_job, .say = heard_say };
	struct arena *a = arena_new();
	struct berth_err err = { 0 };
	const struct tz *tz = NULL;
	char *copy = arena_strdup(a, text);
	enum berth_code rc;
	struct sacct *r;
	long line = 0;

	buf_init(&h.b, 65536);
	rc = tz_load(a, zone, &tz, &err);
	if (rc != BERTH_OK) {
		tap_skip(what, "no time zone files");
		goto out;
	}
	r = sacct_new(a, tz, &sink);
	for (char *p = copy, *end; rc == BERTH_OK && *p != '\0'; p = end) {
		size_t n = strcspn(p, "\n");

		end = p + n + (p[n] != '\0');
		p[n] = '\0';
		rc = sacct_line(r, p, n, ++line, &err);
	}
	if (rc == BERTH_OK)
		rc = sacct_end(r, &err);
	if (rc != BERTH_OK)
		buf_printf(&h.b, "%.38s", err.msg);
	tap_is_str(h.b.len > 0 ? h.b.p : "", want, "%s", what);
out:
	buf_free(&h.b);
	arena_free(a);
}

#define HEAD "JobID|JobName|State|Start|End|Elapsed|AllocTRES\n"

static void
test_rows(void)
{
	check("UTC", "JobID|State|Submit|Start|End|Elapsed|Timelimit|ReqTRES|AllocTRES\n"
	    "501|COMPLETED|2026-02-01T00:00:00|2026-02-01T01:00:00|2026-02-02T01:00:05|1-00:00:05|2-00|gres/gpu=1|gres/gpu:h100=1,gres/gpu=1\n"
	    "501.batch|COMPLETED|2026-02-01T01:00:00|2026-02-01T01:00:00|2026-02-02T01:00:05|1-00:00:05|||gres/gpu=1\n"
	    "502_[1-8%2]|PENDING|2026-02-01T00:00:00|Unknown|Unknown|00:00:00|10:00|gres/gpu=2|\n"
	    "503|CANCELLED by 4|2026-02-01T00:00:00|None|2026-02-01T00:10:00|00:00:00|10:00|gres/gpu=2|\n"
	    "504+1|RUNNING|2026-02-01T00:00:00|2026-02-01T00:30:00|Unknown|01:00:00|UNLIMITED|gres/gpu=2|gres/gpu=2\n"
	    "505|COMPLETED|2026-02-01T00:00:00|2026-02-01T02:30:00|2026-02-01T01:30:00|01:00:00|UNLIMITED||gres/gpu=2\n"
	    "506|COMPLETED|2026-02-01\n"
	    "507|FAILED|2026-02-01T00:00:00|never|2026-02-01T01:30:00|01:00:00|UNLIMITED||gres/gpu=2\n"
	    "508|FAILED|2026-02-01T00:00:00|2026-02-29T00:00:00|2026-03-01T01:30:00|01:00:00|UNLIMITED||gres/gpu=2\n"
	    "509|CANCELLED by 4|2026-02-01T00:00:00|2026-02-01T00:10:00|2026-02-01T00:10:00|00:00:00|10:00|gres/gpu=2|\n"
	    "510|COMPLETED|Unknown|Unknown|2026-02-01T02:00:00|01:00:00|||gres/gpu=2\n"
	    "511|COMPLETED|Unknown|Unknown|Unknown|00:00:00|||gres/gpu=2\n",
	    "2 501 '' over 2026-02-01T01:00:00Z..2026-02-02T01:00:05Z 86405/172800 h100=1\n"
	    "4 502_[1-8%2] '' waits -..- 0/600 =2 x8\n"
	    "5 503 '' over -..2026-02-01T00:10:00Z 0/600 =2\n"
	    "6 504+1 '' runs 2026-02-01T00:30:00Z..2026-02-01T01:30:00Z 3600/-2 =2\n"
	    "7 refuse: End 2026-02-01T01:30:00Z lies\n"
	    "8 refuse: fewer fields than the header \n"
	    "9 refuse: Start is no time: 'never'\n"
	    "10 refuse: Start is no time: '2026-02-29\n"
	    "11 509 '' over 2026-02-01T00:10:00Z..2026-02-01T00:10:00Z 0/600 =2\n"
	    "12 510 '' over 2026-02-01T01:00:00Z..2026-02-01T02:00:00Z 3600/-1 =2\n"
	    "13 refuse: neither Submit nor Start is k\n", "states, steps, arrays, components and bad rows");
	check("America/New_York", HEAD "1|z|COMPLETED|2026-02-01T00:00:00Z|2026-01-31T20:00:00|01:00:00|gres/gpu=1\n"
	    "2|z|COMPLETED|2026-02-01T02:00:00+0200|2026-02-01T03:30:00.5+02:30|01:00:00|gres/gpu=1\n"
	    "3|z|COMPLETED|2026-02-01T02:00:00+2|2026-02-01T02:30:00|01:00:00|gres/gpu=1\n"
	    "4|z|PENDING|1969-12-31T19:00:00|1969-12-31T19:00:00|00:00:00|\n",
	    "2 1 'z' over 2026-02-01T00:00:00Z..2026-02-01T01:00:00Z 3600/-1 =1\n"
	    "3 2 'z' over 2026-02-01T00:00:00Z..2026-02-01T01:00:00Z 3600/-1 =1\n"
	    "4 refuse: Start is no time: '2026-02-01\n"
	    "5 4 'z' waits -..- 0/-1\n", "zones of their own, and the second 0 in local time");
	check("UTC", HEAD "7|x|y||COMPLETED|2026-02-01T00:00:00|2026-02-01T00:01:00|00:01:00|gres/gpu=1\n"
	    "8||||RUNNING|2026-02-01T00:00:00|Unknown|00:02:00|gres/gpu=1\n"
	    "9|FAILED|COMPLETED|2026-02-01T00:00:00|2026-02-01T00:01:00|00:01:00|gres/gpu=1\n",
	    "2 7 'x|y|' over 2026-02-01T00:00:00Z..2026-02-01T00:01:00Z 60/-1 =1\n"
	    "3 8 '||' runs 2026-02-01T00:00:00Z..2026-02-01T00:02:00Z 120/-1 =1\n"
	    "4 9 'FAILED' over 2026-02-01T00:00:00Z..2026-02-01T00:01:00Z 60/-1 =1\n", "bars in names");
	check("UTC", "JobID|JobName|Start|End|AllocTRES|SubmitLine\n"
	    "7|a|b|2026-02-01T00:00:00|2026-02-01T00:01:00|gres/gpu=1|sbatch x | tee log\n"
	    "8|a|2026-02-01T00:00:00|2026-02-01T00:01:00|gres/gpu=1|2026-02-01T00:00:00|2026-02-01T00:01:00|gres/gpu=1|s\n",
	    "2 7 'a|b' over 2026-02-01T00:00:00Z..2026-02-01T00:01:00Z 60/-1 =1\n"
	    "3 refuse: more fields than the header h\n", "bars in two columns, where one reading fits and where two do");
	check("UTC", "\xef\xbb\xbfJobIDRaw|Start|End|AllocTRES|\r\n# a comment\r\n7|1780272000|1780272060|gres/gpu=1|\r\n",
	    "3 7 '' over 2026-06-01T00:00:00Z..2026-06-01T00:01:00Z 60/-1 =1\n", "sacct -p, CRLF, byte order mark, epoch times");
	check("UTC", "JobID|Start|End\n", "the header has no column AllocTRES: ex", "a column is missing");
	check("UTC", "       JobID    JobName\n", "no header with \"|\" between its columns", "columns of fixed width");
	check("UTC", "", "nothing in it: not even the header of ", "nothing at all");
}

static void
test_zones(void)
{
	/* New York goes back from 02:00 EDT to 01:00 EST on 2026-11-01. */
	check("America/New_York", HEAD
	    "1|n|COMPLETED|2026-11-01T01:40:00|2026-11-01T01:20:00|00:40:00|gres/gpu=1\n"
	    "2|n|COMPLETED|2026-11-01T00:30:00|2026-11-01T01:30:00|02:00:00|gres/gpu=1\n"
	    "3|n|COMPLETED|2026-11-01T00:30:00|2026-11-01T01:30:00|01:00:00|gres/gpu=1\n"
	    "4|n|COMPLETED|2026-11-01T01:10:00|2026-11-01T01:30:00|00:20:00|gres/gpu=1\n"
	    "5|n|COMPLETED|2026-07-01T01:10:00|2026-07-01T01:30:00|00:20:00|gres/gpu=1\n",
	    "2 1 'n' over 2026-11-01T05:40:00Z..2026-11-01T06:20:00Z 2400/-1 =1\n"
	    "3 2 'n' over 2026-11-01T04:30:00Z..2026-11-01T06:30:00Z 7200/-1 =1\n"
	    "4 3 'n' over 2026-11-01T04:30:00Z..2026-11-01T05:30:00Z 3600/-1 =1\n"
	    "5 warn: a local time of the hour that\n"
	    "5 4 'n' over 2026-11-01T05:10:00Z..2026-11-01T05:30:00Z 1200/-1 =1\n"
	    "6 5 'n' over 2026-07-01T05:10:00Z..2026-07-01T05:30:00Z 1200/-1 =1\n", "the hour that runs twice");
}

int
main(void)
{
	test_tres();
	test_tasks();
	test_durations();
	test_rows();
	test_zones();
	return tap_done();
}
