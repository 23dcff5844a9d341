#include "ingest/sacct.h"

#include <stdio.h>
#include <string.h>

#include "ingest/sacct_row.h"
#include "ingest/tres.h"
#include "util/hash.h"
#include "util/str.h"
#include "util/time.h"

const char sacct_columns[] = "JobID,Cluster,User,Account,Partition,QOS,State,Submit,Start,End,Elapsed,TimelimitRaw,"
    "ReqTRES,AllocTRES";

#define SACCT_TRES_SLOTS 256		/* a power of two */
#define SACCT_TRES_MAX 512		/* longer lists of resources are read each time */
#define SACCT_TRES_FILLS 4096		/* so many are kept, and then no others */

/* A list of resources that was read: most jobs ask for what others have asked for. */
struct sacct_tres {
	size_t len;
	const char *text;		/* as the export has it; NULL: empty */
	struct ingest_gres gres[INGEST_GRES_MAX];
	size_t n;
};

struct sacct {
	const struct ingest_sink *sink;
	struct arena *a;
	struct sacct_tres *tres;	/* [SACCT_TRES_SLOTS] */
	int tres_fills;
	struct slurmclock clock;
	struct sacct_head head;
	bool has_head;
	int64_t rows, steps;
	struct usage_label labels[5];
};

/* The row at hand. */
struct sacct_row {
	char *field[SACCT_FIELDS_MAX];
	struct slurmtime submit, start, end;
	char why[240];
	bool doubtful;			/* either reading of a local time fits */
	const char *skipped;		/* a time of it that clocks never showed; NULL none */
};

struct sacct *
sacct_new(struct arena *a, const struct tz *tz, const struct ingest_sink *sink)
{
	struct sacct *r = arena_new_of(a, struct sacct);

	r->sink = sink;
	r->a = a;
	r->tres = arena_array_of(a, SACCT_TRES_SLOTS, struct sacct_tres);
	slurmclock_init(&r->clock, tz);
	return r;
}

static char *
sacct_get(const struct sacct *r, const struct sacct_row *row, enum sacct_col col)
{
	return r->head.col[col] < 0 ? NULL : row->field[r->head.col[col]];
}

static bool
sacct_why(struct sacct_row *row, const char *what, const char *text)
{
	snprintf(row->why, sizeof(row->why), "%s '%.80s'", what, text);
	return false;
}

static bool
sacct_time(struct sacct *r, struct sacct_row *row, enum sacct_col col, const char *name, struct slurmtime *out)
{
	const char *s = sacct_get(r, row, col);

	*out = (struct slurmtime){ 0 };
	if (s != NULL && !slurmtime_parse(&r->clock, s, out))
		return sacct_why(row, name, s);
	if (out->skipped)
		row->skipped = s;
	return true;
}

/* How long the row says it ran; in j->limit_s its limit. */
static bool
sacct_spans(const struct sacct *r, struct sacct_row *row, struct ingest_job *j)
{
	const char *raw = sacct_get(r, row, SACCT_ELAPSEDRAW), *text = sacct_get(r, row, SACCT_ELAPSED);

	j->elapsed_s = j->limit_s = INGEST_UNKNOWN;
	if (raw != NULL && *raw != '\0') {
		if (str_to_i64(raw, 0, INT64_C(10000000000), &j->elapsed_s, NULL) != BERTH_OK)
			return sacct_why(row, "ElapsedRaw is no number of seconds:", raw);
	} else if (text != NULL && (!slurmtime_duration(text, &j->elapsed_s) || j->elapsed_s == INGEST_NO_LIMIT)) {
		return sacct_why(row, "Elapsed is no duration:", text);
	}
	raw = sacct_get(r, row, SACCT_TIMELIMITRAW);
	text = sacct_get(r, row, SACCT_TIMELIMIT);
	if (text == NULL)
		text = raw;		/* minutes, or one of the same words */
	if (text != NULL && !slurmtime_duration(text, &j->limit_s))
		return sacct_why(row, "Timelimit is no duration:", text);
	return true;
}

/* tres_gpus(), from memory where the same text was there before. */
static bool
sacct_tres(struct sacct *r, char *text, struct ingest_job *j)
{
	size_t len = strlen(text);
	struct sacct_tres *t = &r->tres[hash_fast(text, len) & (SACCT_TRES_SLOTS - 1)];
	char *copy;

	if (t->text != NULL && t->len == len && memcmp(t->text, text, len) == 0) {
		memcpy(j->gres, t->gres, t->n * sizeof(*t->gres));
		j->n_gres = t->n;
		return true;
	}
	if (len > SACCT_TRES_MAX || r->tres_fills >= SACCT_TRES_FILLS)
		return tres_gpus(text, j->gres, INGEST_GRES_MAX, &j->n_gres);
	r->tres_fills++;
	copy = arena_strdup(r->a, text);
	if (!tres_gpus(copy, t->gres, INGEST_GRES_MAX, &t->n)) {
		t->text = NULL;
		return false;
	}
	t->text = arena_strdup(r->a, text);
	t->len = len;
	memcpy(j->gres, t->gres, t->n * sizeof(*t->gres));
	j->n_gres = t->n;
	return true;
}

static bool
sacct_gpus(struct sacct *r, struct sacct_row *row, struct ingest_job *j)
{
	char *alloc = sacct_get(r, row, SACCT_ALLOCTRES), *req = sacct_get(r, row, SACCT_REQTRES);

	/* Cancelled in the queue, a job has no start, or that of its end. */
	if (*alloc != '\0' || req == NULL || (j->start != 0 && j->end != j->start)) {
		if (sacct_tres(r, alloc, j))
			return true;
		return sacct_why(row, "AllocTRES is no list of resources:", alloc);
	}
	if (sacct_tres(r, req, j))
		return true;
	return sacct_why(row, "ReqTRES is no list of resources:", req);
}

static bool
sacct_state_is(const char *state, const char *const *words)
{
	size_t n;

	if (strcmp(state, "COMPLETED") == 0)	/* most are, and it is in no list */
		return false;
	n = strcspn(state, " +,");
	for (; *words != NULL; words++)
		if (strlen(*words) == n && strncmp(state, *words, n) == 0)
			return true;
	return false;
}

/* Start, end and state; all that the row says must agree. */
static bool
sacct_span_of(const struct sacct *r, struct sacct_row *row, struct ingest_job *j)
{
	static const char *const running[] = { "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "STOPPED", "RESIZING",
		"SIGNALING", "STAGE_OUT", NULL };
	static const char *const waiting[] = { "PENDING", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD", NULL };
	char at[2][TIME_FMT_SIZE];

	j->state_text = sacct_get(r, row, SACCT_STATE);
	if (j->state_text == NULL)
		j->state_text = "";
	j->state = INGEST_DONE;
	if (sacct_state_is(j->state_text, waiting) || (!row->start.known && !row->end.known)) {
		j->state = INGEST_PENDING;
		row->start.known = row->end.known = false;
	}
	if (!row->start.known && row->end.known && j->elapsed_s > 0 && j->state == INGEST_DONE) {	/* it did run */
		row->start = row->end;
		row->start.t -= j->elapsed_s;
		row->start.later -= j->elapsed_s;
	}
	if (!row->start.known) {	/* it never ran: cancelled in the queue, or it waits */
		j->end = row->end.known ? row->end.later : 0;
		j->elapsed_s = 0;
		return true;
	}
	if (!row->end.known) {
		j->state = INGEST_RUNNING;
		j->start = row->start.t;
		row->doubtful = row->start.t != row->start.later;
		j->end = j->elapsed_s >= 0 ? j->start + j->elapsed_s : 0;
		return true;
	}
	if (sacct_state_is(j->state_text, running))
		j->state = INGEST_RUNNING;
	row->doubtful = !slurmtime_settle(&row->start, &row->end, j->elapsed_s, &j->start, &j->end);
	if (j->end < j->start) {
		snprintf(row->why, sizeof(row->why), "End %s lies before Start %s", time_fmt(at[0], j->end),
		    time_fmt(at[1], j->start));
		return false;
	}
	if (j->elapsed_s < 0)
		j->elapsed_s = j->end - j->start;
	return true;
}

static void
sacct_labels(struct sacct *r, const struct sacct_row *row, struct ingest_job *j)
{
	static const struct { enum sacct_col col; const char *key; } keys[] = {
		{ SACCT_USER, "user" }, { SACCT_ACCOUNT, "account" }, { SACCT_PARTITION, "partition" },
		{ SACCT_QOS, "qos" }, { SACCT_CLUSTER, "cluster" }
	};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const char *v = sacct_get(r, row, keys[i].col);

		if (v != NULL && *v != '\0')
			r->labels[n++] = (struct usage_label){ keys[i].key, v };
	}
	j->labels = r->labels;
	j->n_labels = n;
}

static bool
sacct_row(struct sacct *r, struct sacct_row *row, struct ingest_job *j)
{
	const char *s;

	s = sacct_get(r, row, SACCT_JOBID);
	j->id = s != NULL && *s != '\0' ? s : sacct_get(r, row, SACCT_JOBIDRAW);
	if (j->id == NULL || !tres_tasks(j->id, &j->tasks, &j->tasks_at_once))
		return sacct_why(row, "JobID is no job:", j->id == NULL ? "" : j->id);
	s = sacct_get(r, row, SACCT_CLUSTER);
	j->cluster = s != NULL ? s : "";
	s = sacct_get(r, row, SACCT_JOBNAME);
	j->name = s != NULL ? s : "";
	if (!sacct_time(r, row, SACCT_SUBMIT, "Submit is no time:", &row->submit) ||
	    !sacct_time(r, row, SACCT_START, "Start is no time:", &row->start) ||
	    !sacct_time(r, row, SACCT_END, "End is no time:", &row->end) || !sacct_spans(r, row, j) ||
	    !sacct_span_of(r, row, j) || !sacct_gpus(r, row, j))
		return false;
	if (j->n_gres > 0 && !row->submit.known && !row->start.known)
		return sacct_why(row, "neither Submit nor Start is known of", j->id);
	j->submit_known = row->submit.known;
	j->submit = row->submit.known ? row->submit.t : j->start;
	if (j->end != 0 && j->start == 0 && j->end < j->submit)
		return sacct_why(row, "End lies before Submit of a job that never started:", j->id);
	sacct_labels(r, row, j);
	return true;
}

/* Most lines of an export are steps: those are told by their first column and need not be cut up. */
static bool
sacct_starts_as_step(const struct sacct *r, const char *line)
{
	const char *p = line;

	if (r->head.col[SACCT_JOBID] != 0 && r->head.col[SACCT_JOBIDRAW] != 0)
		return false;
	while ((*p >= '0' && *p <= '9') || *p == '_' || *p == '+')
		p++;
	return *p == '.' && p > line;
}

/* A line behind the header. */
static void
sacct_say_skipped(const struct sacct *r, long number, const char *text)
{
	char line[256];

	snprintf(line, sizeof(line), "the clock time %.40s does not exist: clocks went forward then. It is taken as if they had not; "
	    "is --zone right?", text);
	r->sink->say(r->sink->arg, USAGE_REMARK, number, line);
}

static enum berth_code
sacct_body(struct sacct *r, char *line, size_t len, long number, struct berth_err *err)
{
	struct ingest_job j;		/* sacct_row() sets all of it: clearing it takes as long as reading it */
	struct sacct_row row;
	const char *bad = sacct_split(&r->head, line, len, row.field);

	j.line = number;
	j.start = j.end = 0;
	j.n_gres = 0;
	row.doubtful = false;
	row.skipped = NULL;
	if (bad == NULL) {
		const char *id = sacct_get(r, &row, SACCT_JOBID);

		if (tres_is_step(id != NULL ? id : sacct_get(r, &row, SACCT_JOBIDRAW))) {
			r->steps++;
			return BERTH_OK;
		}
		if (!sacct_row(r, &row, &j))
			bad = row.why;
	}
	if (bad != NULL) {
		r->sink->say(r->sink->arg, USAGE_REFUSED, number, bad);
		return BERTH_OK;
	}
	if (row.doubtful)
		r->sink->say(r->sink->arg, USAGE_REMARK, number, "a local time of the hour that runs twice when clocks go "
		    "back, and nothing tells which: the earlier is taken");
	if (row.skipped != NULL)
		sacct_say_skipped(r, number, row.skipped);
	return r->sink->job(r->sink->arg, &j, err);
}

enum berth_code
sacct_line(struct sacct *r, char *line, size_t len, long number, struct berth_err *err)
{
	if (len > 0 && line[len - 1] == '\r')
		line[--len] = '\0';
	if (len == 0 || line[0] == '#')
		return BERTH_OK;
	if (r->has_head) {
		r->rows++;
		if (!sacct_starts_as_step(r, line))
			return sacct_body(r, line, len, number, err);
		r->steps++;
		return BERTH_OK;
	}
	if (len >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0)
		line += 3;
	r->has_head = true;
	return sacct_head_parse(&r->head, line, err);
}

int64_t
sacct_rows(const struct sacct *r)
{
	return r->rows;
}

int64_t
sacct_steps(const struct sacct *r)
{
	return r->steps;
}

enum berth_code
sacct_end(const struct sacct *r, struct berth_err *err)
{
	if (!r->has_head)
		return err_set(err, BERTH_EINVAL, "nothing in it: not even the header of sacct -P");
	return BERTH_OK;
}
