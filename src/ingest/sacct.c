#include "ingest/sacct.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "ingest/sacct_row.h"
#include "ingest/tres.h"
#include "util/hash.h"
#include "util/str.h"
#include "util/time.h"

const char sacct_columns[] =
    "JobID,Cluster,User,Account,Partition,QOS,State,Submit,Start,End,Elapsed,TimelimitRaw,"
    "ReqTRES,AllocTRES";

#define SACCT_TRES_SLOTS 256      /* a power of two */
#define SACCT_TRES_MAX 512        /* longer lists of resources are read each time */
#define SACCT_TRES_FILLS 4096     /* so many are kept, and then no others */
#define SACCT_PLAIN_MAX 12        /* digits of a job's id, as tres_tasks() takes */
#define SACCT_SETS ((size_t)1024) /* a power of two; sets of labels that are told again */
#define SACCT_SET_MAX 256         /* bytes of one */
#define SACCT_SET_FILLS 16384

/* A list of resources that was read: most jobs ask for what others have asked for. */
struct sacct_tres {
	size_t len;
	const char *text; /* as the export has it; NULL: empty */
	struct ingest_gres gres[INGEST_GRES_MAX];
	size_t n;
};

/* The columns of a row that are labels, as the export has them, with a number of their own. */
struct sacct_set {
	size_t len;
	const char *text; /* NULL: empty */
	uint32_t id;
};

struct sacct {
	const struct ingest_sink *sink;
	struct arena *a;
	struct sacct_tres *tres; /* [SACCT_TRES_SLOTS] */
	int tres_fills;
	struct sacct_set *sets; /* [SACCT_SETS] */
	uint32_t set_fills;
	int set_from, set_to; /* the columns that are labels lie side by side; -1: they do not */
	struct slurmclock clock;
	struct sacct_head head;
	bool has_head;
	int64_t rows, steps;
	struct usage_label labels[5];
};

/* What the first column shows of a line that is not cut up yet. */
enum sacct_start {
	SACCT_ANY_START,
	SACCT_STEP_START,
	SACCT_PLAIN_START
}; /* plain: the job's id, a number */

/* The row at hand. */
struct sacct_row {
	char *field[SACCT_FIELDS_MAX];
	struct slurmtime submit, start, end;
	char why[240];
	bool plain;          /* its id is a number and no more */
	bool doubtful;       /* either reading of a local time fits */
	const char *skipped; /* a time of it that clocks never showed; NULL none */
};

struct sacct *
sacct_new(struct arena *a, const struct tz *tz, const struct ingest_sink *sink)
{
	struct sacct *r = arena_new_of(a, struct sacct);

	r->sink = sink;
	r->a = a;
	r->tres = arena_array_of(a, SACCT_TRES_SLOTS, struct sacct_tres);
	r->sets = arena_array_of(a, SACCT_SETS, struct sacct_set);
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
sacct_time(struct sacct *r, struct sacct_row *row, enum sacct_col col, const char *name,
    struct slurmtime *out)
{
	const char *s = sacct_get(r, row, col);

	if (s == NULL)
		*out = (struct slurmtime){ 0 };
	else if (!slurmtime_parse(&r->clock, s, out))
		return sacct_why(row, name, s);
	if (out->skipped)
		row->skipped = s;
	return true;
}

/* How long the row says it ran; in j->limit_s its limit. */
static bool
sacct_spans(const struct sacct *r, struct sacct_row *row, struct ingest_job *j)
{
	const char *raw = sacct_get(r, row, SACCT_ELAPSEDRAW),
		   *text = sacct_get(r, row, SACCT_ELAPSED);

	j->elapsed_s = j->limit_s = INGEST_UNKNOWN;
	if (raw != NULL && *raw != '\0') {
		if (str_to_i64(raw, 0, INT64_C(10000000000), &j->elapsed_s, NULL) != BERTH_OK)
			return sacct_why(row, "ElapsedRaw is no number of seconds:", raw);
	} else if (text != NULL &&
		   (!slurmtime_duration(text, &j->elapsed_s) || j->elapsed_s == INGEST_NO_LIMIT)) {
		return sacct_why(row, "Elapsed is no duration:", text);
	}
	raw = sacct_get(r, row, SACCT_TIMELIMITRAW);
	text = sacct_get(r, row, SACCT_TIMELIMIT);
	if (text == NULL)
		text = raw; /* minutes, or one of the same words */
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
	if (strcmp(state, "COMPLETED") == 0) /* most are, and it is in no list */
		return false;
	for (; *words != NULL; words++) {
		const char *p = state, *w = *words;

		while (*w != '\0' && *p == *w) {
			p++;
			w++;
		}
		if (*w == '\0' && (*p == '\0' || *p == ' ' || *p == '+' || *p == ','))
			return true;
	}
	return false;
}

/* Start, end and state; all that the row says must agree. */
static bool
sacct_span_of(const struct sacct *r, struct sacct_row *row, struct ingest_job *j)
{
	static const char *const running[] = { "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED",
		"STOPPED", "RESIZING", "SIGNALING", "STAGE_OUT", NULL };
	static const char *const waiting[] = { "PENDING", "REQUEUE_HOLD", "SPECIAL_EXIT",
		"RESV_DEL_HOLD", NULL };
	char at[2][TIME_FMT_SIZE];

	j->state_text = sacct_get(r, row, SACCT_STATE);
	if (j->state_text == NULL)
		j->state_text = "";
	j->state = INGEST_DONE;
	if (sacct_state_is(j->state_text, waiting) || (!row->start.known && !row->end.known)) {
		j->state = INGEST_PENDING;
		row->start.known = row->end.known = false;
	}
	if (!row->start.known && row->end.known && j->elapsed_s > 0 &&
	    j->state == INGEST_DONE) { /* it did run */
		row->start = row->end;
		row->start.t -= j->elapsed_s;
		row->start.later -= j->elapsed_s;
	}
	if (!row->start.known) { /* it never ran: cancelled in the queue, or it waits */
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
		snprintf(row->why, sizeof(row->why), "End %s lies before Start %s",
		    time_fmt(at[0], j->end), time_fmt(at[1], j->start));
		return false;
	}
	if (j->elapsed_s < 0)
		j->elapsed_s = j->end - j->start;
	return true;
}

static const struct {
	enum sacct_col col;
	const char *key;
} sacct_keys[] = { { SACCT_USER, "user" }, { SACCT_ACCOUNT, "account" },
	{ SACCT_PARTITION, "partition" }, { SACCT_QOS, "qos" }, { SACCT_CLUSTER, "cluster" } };
#define SACCT_KEYS (sizeof(sacct_keys) / sizeof(sacct_keys[0]))

/* Where the columns of labels lie, if no other column lies between them. */
static void
sacct_find_set(struct sacct *r)
{
	int n = 0, from = INT_MAX, to = -1;

	for (size_t i = 0; i < SACCT_KEYS; i++) {
		int at = r->head.col[sacct_keys[i].col];

		if (at < 0)
			continue;
		n++;
		from = at < from ? at : from;
		to = at > to ? at : to;
	}
	r->set_from = n > 0 && to - from + 1 == n ? from : -1;
	r->set_to = to;
}

/* A number of the row's labels, the same where they are: told by the bytes of all of them. 0: this
 * row has none. */
static uint32_t
sacct_set(struct sacct *r, const struct sacct_row *row)
{
	const char *text, *last;
	struct sacct_set *t;
	size_t len;

	if (r->set_from < 0)
		return 0;
	text = row->field[r->set_from];
	last = row->field[r->set_to];
	len = (size_t)(last - text) + strlen(last);
	t = &r->sets[hash_fast(text, len) & (SACCT_SETS - 1)];
	if (t->text != NULL && t->len == len && memcmp(t->text, text, len) == 0)
		return t->id;
	if (len > SACCT_SET_MAX || r->set_fills >= SACCT_SET_FILLS)
		return 0;
	*t = (struct sacct_set){ len, arena_memdup(r->a, text, len), ++r->set_fills };
	return t->id;
}

static void
sacct_labels(struct sacct *r, const struct sacct_row *row, struct ingest_job *j)
{
	size_t n = 0;

	for (size_t i = 0; i < SACCT_KEYS; i++) {
		const char *v = sacct_get(r, row, sacct_keys[i].col);

		if (v != NULL && *v != '\0')
			r->labels[n++] = (struct usage_label){ sacct_keys[i].key, v };
	}
	j->labels = r->labels;
	j->n_labels = n;
	j->labels_id = sacct_set(r, row);
}

static bool
sacct_row(struct sacct *r, struct sacct_row *row, struct ingest_job *j)
{
	const char *s;

	s = sacct_get(r, row, SACCT_JOBID);
	j->id = s != NULL && *s != '\0' ? s : sacct_get(r, row, SACCT_JOBIDRAW);
	j->tasks = j->tasks_at_once = 1;
	if (j->id == NULL || (!row->plain && !tres_tasks(j->id, &j->tasks, &j->tasks_at_once)))
		return sacct_why(row, "JobID is no job:", j->id == NULL ? "" : j->id);
	s = sacct_get(r, row, SACCT_CLUSTER);
	j->cluster = s != NULL ? s : "";
	s = sacct_get(r, row, SACCT_JOBNAME);
	j->name = s != NULL ? s : "";
	if (!sacct_time(r, row, SACCT_SUBMIT, "Submit is no time:", &row->submit) ||
	    !sacct_time(r, row, SACCT_START, "Start is no time:", &row->start) ||
	    !sacct_time(r, row, SACCT_END, "End is no time:", &row->end) ||
	    !sacct_spans(r, row, j) || !sacct_span_of(r, row, j) || !sacct_gpus(r, row, j))
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

/* How many digits p [8] begins with, for machines whose low byte comes first. */
static inline unsigned
sacct_digits8(const char *p)
{
	uint64_t w, no;

	memcpy(&w, p, sizeof(w));
	w ^= UINT64_C(0x3030303030303030); /* digits become 0 to 9; a carry goes no further than
					      behind the first that is none */
	no = ((w + UINT64_C(0x7676767676767676)) | w) & UINT64_C(0x8080808080808080);
	return no == 0 ? 8 : (unsigned)__builtin_ctzll(no) / 8;
}

/* Most lines of an export are steps: those are told by their first column and need not be cut up.
 */
static enum sacct_start
sacct_starts(const struct sacct *r, const char *line, size_t len)
{
	const int id = r->head.col[SACCT_JOBID], raw = r->head.col[SACCT_JOBIDRAW];
	const char *p = line;

	if (id != 0 && raw != 0)
		return SACCT_ANY_START;
	if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && len >= 8)
		p += sacct_digits8(p);
	while (*p >= '0' && *p <= '9')
		p++;
	if (*p == r->head.sep && p > line && p - line <= SACCT_PLAIN_MAX && id <= 0)
		return SACCT_PLAIN_START;
	while ((*p >= '0' && *p <= '9') || *p == '_' || *p == '+')
		p++;
	return *p == '.' && p > line ? SACCT_STEP_START : SACCT_ANY_START;
}

static void
sacct_say_skipped(const struct sacct *r, long number, const char *text)
{
	char line[256];

	snprintf(line, sizeof(line),
	    "the clock time %.40s does not exist: clocks went forward then. It is taken as if they "
	    "had not; is --zone right?",
	    text);
	r->sink->say(r->sink->arg, USAGE_REMARK, number, line);
}

/* A line behind the header. */
static enum berth_code
sacct_body(struct sacct *r, char *line, size_t len, long number, bool plain, struct berth_err *err)
{
	struct ingest_job
	    j; /* sacct_row() sets all of it: clearing it takes as long as reading it */
	struct sacct_row row;
	const char *bad = sacct_split(&r->head, line, len, row.field);

	j.line = number;
	j.start = j.end = 0;
	j.n_gres = 0;
	row.plain = plain;
	row.doubtful = false;
	row.skipped = NULL;
	if (bad == NULL && !plain) {
		const char *id = sacct_get(r, &row, SACCT_JOBID);

		if (tres_is_step(id != NULL ? id : sacct_get(r, &row, SACCT_JOBIDRAW))) {
			r->steps++;
			return BERTH_OK;
		}
	}
	if (bad == NULL && !sacct_row(r, &row, &j))
		bad = row.why;
	if (bad != NULL) {
		r->sink->say(r->sink->arg, USAGE_REFUSED, number, bad);
		return BERTH_OK;
	}
	if (row.doubtful)
		r->sink->say(r->sink->arg, USAGE_REMARK, number,
		    "a local time of the hour that runs twice when clocks go back, and nothing "
		    "tells which: the earlier is taken");
	if (row.skipped != NULL)
		sacct_say_skipped(r, number, row.skipped);
	return r->sink->job(r->sink->arg, &j, err);
}

enum berth_code
sacct_line(struct sacct *r, char *line, size_t len, long number, struct berth_err *err)
{
	enum berth_code rc;

	if (len > 0 && line[len - 1] == '\r')
		line[--len] = '\0';
	if (len == 0 || line[0] == '#')
		return BERTH_OK;
	if (r->has_head) {
		enum sacct_start start = sacct_starts(r, line, len);

		r->rows++;
		if (start != SACCT_STEP_START)
			return sacct_body(r, line, len, number, start == SACCT_PLAIN_START, err);
		r->steps++;
		return BERTH_OK;
	}
	if (len >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0)
		line += 3;
	r->has_head = true;
	rc = sacct_head_parse(&r->head, line, err);
	if (rc == BERTH_OK)
		sacct_find_set(r);
	return rc;
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
