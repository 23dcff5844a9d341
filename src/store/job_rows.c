#include <string.h>

#include "store/job_rows.h"
#include "store/priv.h"
#include "util/str.h"
#include "util/vec.h"

/* An id is the second of submission and a counter within it, in base 36: ids sort as jobs came. */
#define JOB_ID_DIGITS 10
#define JOB_ID_PER_SECOND INT64_C(100000)

static const char *
job_id_text(struct arena *a, int64_t v)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
	char id[2 + JOB_ID_DIGITS + 1] = "j-";

	for (int i = JOB_ID_DIGITS - 1; i >= 0; i--) {
		id[2 + i] = digits[v % 36];
		v /= 36;
	}
	id[2 + JOB_ID_DIGITS] = '\0';
	return arena_strdup(a, id);
}

/* Inside the transaction that inserts, so that two submissions never count alike. */
static enum berth_code
job_id_next(
    struct store *s, int64_t now, struct arena *a, const char **id_out, struct berth_err *err)
{
	const char *first = job_id_text(a, now * JOB_ID_PER_SECOND);
	const char *last = job_id_text(a, (now + 1) * JOB_ID_PER_SECOND);
	enum berth_code rc;
	int64_t n;

	rc = db_get_one(s->db, 0, &n, err, "SELECT count(*) FROM job WHERE id >= $1 AND id < $2",
	    DB_ARGS(db_text(first), db_text(last)));
	if (rc == BERTH_OK && n >= JOB_ID_PER_SECOND)
		rc = err_set(err, BERTH_ETRANSIENT, "more than %lld jobs in one second: try again",
		    (long long)JOB_ID_PER_SECOND);
	if (rc == BERTH_OK)
		*id_out = job_id_text(a, now * JOB_ID_PER_SECOND + n);
	return rc;
}

enum berth_code
store_job_insert(struct store *s, const struct job_spec *spec, int64_t now, struct arena *a,
    const char **id_out, struct berth_err *err)
{
	const char *text = "", *id = "";
	enum berth_code rc = pack_spec(spec, a, &text, err);

	if (rc == BERTH_OK)
		rc = store_begin(s, err);
	if (rc != BERTH_OK)
		return rc;
	rc = job_id_next(s, now, a, &id, err);
	if (rc == BERTH_OK)
		rc = db_run(s->db, err,
		    "INSERT INTO job (id, name, user_name, project, priority, state, reason, "
		    "progress, submitted, tries, preemptions, cost, spec, run) VALUES ($1, $2, $3, "
		    "$4, $5, $6, '', 0, $7, 0, 0, 0, $8, $9)",
		    DB_ARGS(db_text(id), db_text(spec->name), db_text(spec->user),
			db_text(spec->project), db_i64(spec->priority),
			db_text(job_state_name(JOB_QUEUED)), db_i64(now), db_text(text),
			db_id(s->run_id)));
	rc = store_end(s, rc, err);
	if (rc == BERTH_OK)
		*id_out = id;
	return rc;
}

struct job_list {
	struct arena *a;
	const struct job_query *q;
	VEC(struct job) v;
};

static enum berth_code
job_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct job_list *l = arg;
	struct job j = { 0 };
	enum berth_code rc;

	if (!job_state_parse(db_col_text(st, "state", l->a), &j.state))
		return err_set(err, BERTH_EINVAL,
		    "store: job %s: a state that this berth does not know",
		    db_col_text(st, "id", l->a));
	if (l->q->states != 0 && (l->q->states & JOB_BIT(j.state)) == 0)
		return BERTH_OK;
	if (!job_marks_parse(db_col_text(st, "marks", l->a), &j.marks))
		return err_set(err, BERTH_EINVAL,
		    "store: job %s: a mark that this berth does not know",
		    db_col_text(st, "id", l->a));
	rc = unpack_spec(db_col_text(st, "spec", l->a), l->a, &j.spec, err);
	if (rc != BERTH_OK)
		return rc;
	if ((l->q->user != NULL && strcmp(l->q->user, j.spec.user) != 0) ||
	    (l->q->project != NULL && strcmp(l->q->project, j.spec.project) != 0))
		return BERTH_OK;
	j.id = db_col_text(st, "id", l->a);
	j.reason = db_col_text(st, "reason", l->a);
	j.progress = db_col_real(st, "progress");
	j.submitted = db_col_i64(st, "submitted");
	j.started = db_col_i64(st, "started");
	j.finished = db_col_i64(st, "finished");
	j.tries = (int)db_col_i64(st, "tries");
	j.preemptions = (int)db_col_i64(st, "preemptions");
	j.cost = db_col_usd(st, "cost");
	VEC_PUSH(l->a, &l->v, j);
	return BERTH_OK;
}

/* The newest `limit` of jobs sorted by priority and time: those submitted last, in the same order.
 */
static void
job_list_cut(struct job_list *l, size_t limit)
{
	while (limit > 0 && l->v.n > limit) {
		size_t oldest = 0;

		for (size_t i = 1; i < l->v.n; i++)
			if (strcmp(l->v.v[i].id, l->v.v[oldest].id) < 0)
				oldest = i;
		memmove(&l->v.v[oldest], &l->v.v[oldest + 1],
		    (l->v.n - oldest - 1) * sizeof(l->v.v[0]));
		l->v.n--;
	}
}

enum berth_code
store_job_list(struct store *s, const struct job_query *q, struct arena *a, struct job **jobs_out,
    size_t *n_out, struct berth_err *err)
{
	static const struct job_query all = { 0 };
	struct job_list l = { .a = a, .q = q != NULL ? q : &all };
	enum berth_code rc;

	/* What is open is a small part of a long history: the index finds it. */
	if (l.q->states != 0 && (l.q->states & ~JOB_OPEN) == 0)
		rc = store_each(s, job_row, &l, err,
		    "SELECT * FROM job WHERE state IN ('queued', 'placed', 'running') AND "
		    "submitted >= $1 ORDER BY priority DESC, id",
		    DB_ARGS(db_i64(l.q->since)));
	else
		rc = store_each(s, job_row, &l, err,
		    "SELECT * FROM job WHERE submitted >= $1 ORDER BY priority DESC, id",
		    DB_ARGS(db_i64(l.q->since)));
	if (rc != BERTH_OK)
		return rc;
	job_list_cut(&l, l.q->limit);
	*jobs_out = l.v.v;
	*n_out = l.v.n;
	return BERTH_OK;
}

/* The only open job of that name, else the newest that has ended; none: l stays empty. */
static enum berth_code
job_by_name(struct store *s, const char *name, struct job_list *l, struct berth_err *err)
{
	enum berth_code rc = store_each(s, job_row, l, err,
	    "SELECT * FROM job WHERE name = $1 ORDER BY CASE WHEN state IN ('queued', 'placed', "
	    "'running') THEN 0 ELSE 1 END, id DESC LIMIT 2",
	    DB_ARGS(db_text(name)));

	if (rc == BERTH_OK && l->v.n > 1 && (JOB_BIT(l->v.v[1].state) & JOB_OPEN) != 0)
		return err_set(err, BERTH_EINVAL,
		    "several open jobs are named '%s', as %s and %s: name it by its id", name,
		    l->v.v[1].id, l->v.v[0].id);
	return rc;
}

enum berth_code
store_job_get(
    struct store *s, const char *id, struct arena *a, struct job *job_out, struct berth_err *err)
{
	static const struct job_query all = { 0 };
	struct job_list ids = { .a = a, .q = &all }, named = { .a = a, .q = &all };
	enum berth_code rc;

	/* All ids that begin with the given one lie between it and it with a sign behind 'z'. */
	rc = store_each(s, job_row, &ids, err,
	    "SELECT * FROM job WHERE id >= $1 AND id < $2 ORDER BY id LIMIT 3",
	    DB_ARGS(db_text(id), db_text(arena_printf(a, "%s~", id))));
	if (rc == BERTH_OK && id[0] != '\0' && (ids.v.n == 0 || strcmp(ids.v.v[0].id, id) != 0))
		rc = job_by_name(s, id, &named, err);
	if (rc != BERTH_OK)
		return rc;
	if (named.v.n == 0 && (ids.v.n == 0 || id[0] == '\0'))
		return err_set(
		    err, BERTH_ENOTFOUND, "there is no job '%s'; `berth jobs` lists them", id);
	if (named.v.n == 0 && ids.v.n > 1 && strcmp(ids.v.v[0].id, id) != 0)
		return err_set(err, BERTH_EINVAL, "'%s' could be %s or %s%s", id, ids.v.v[0].id,
		    ids.v.v[1].id, ids.v.n > 2 ? " or more" : "");
	*job_out = named.v.n > 0 ? named.v.v[0] : ids.v.v[0];
	return BERTH_OK;
}

static enum berth_code
job_state_now(struct store *s, const char *id, struct arena *a, enum job_state *state_out,
    struct berth_err *err)
{
	struct db_stmt *st;
	enum berth_code rc;
	bool row;

	rc = db_query(s->db, &st, err, "SELECT state FROM job WHERE id = $1", DB_ARGS(db_text(id)));
	if (rc == BERTH_OK)
		rc = db_next(st, &row, err);
	if (rc == BERTH_OK && !row)
		rc = err_set(
		    err, BERTH_ENOTFOUND, "there is no job '%s'; `berth jobs` lists them", id);
	if (rc == BERTH_OK && !job_state_parse(db_col_text(st, "state", a), state_out))
		rc = err_set(
		    err, BERTH_EINVAL, "store: job %s: a state that this berth does not know", id);
	db_done(st);
	return rc;
}

enum berth_code
store_job_update(struct store *s, const struct job *job, unsigned from, struct berth_err *err)
{
	struct arena *a = arena_new();
	enum berth_code rc = store_begin(s, err);
	unsigned marks = job->state == JOB_QUEUED ? job->marks : job->marks & JOB_MARKS_STAY;
	char text[JOB_MARKS_SIZE];
	enum job_state state;

	if (rc != BERTH_OK)
		goto out;
	rc = job_state_now(s, job->id, a, &state, err);
	if (rc == BERTH_OK && from != 0 && (from & JOB_BIT(state)) == 0)
		rc = err_set(err, BERTH_ETRANSIENT,
		    "job %s is %s by now and does not become %s: another run has moved it", job->id,
		    job_state_name(state), job_state_name(job->state));
	if (rc == BERTH_OK)
		rc = db_run(s->db, err,
		    "UPDATE job SET state = $1, reason = $2, progress = $3, started = $4, finished "
		    "= $5, tries = $6, preemptions = $7, cost = $8, marks = $9 WHERE id = $10",
		    DB_ARGS(db_text(job_state_name(job->state)), db_text(job->reason),
			db_real(job->progress), db_id(job->started), db_id(job->finished),
			db_i64(job->tries), db_i64(job->preemptions), db_usd(job->cost),
			db_text(job_marks_text(marks, text)), db_text(job->id)));
	rc = store_end(s, rc, err);
out:
	arena_free(a);
	return rc;
}

enum berth_code
store_job_deadline(struct store *s, const char *id, int64_t deadline, struct berth_err *err)
{
	const unsigned told = JOB_MARKS_STAY | (unsigned)JOB_MARK_LATE;
	struct arena *a = arena_new();
	const char *text = "";
	char marks[JOB_MARKS_SIZE];
	struct job job;
	enum berth_code rc = store_begin(s, err);

	if (rc != BERTH_OK)
		goto out;
	rc = store_job_get(s, id, a, &job, err);
	if (rc == BERTH_OK && (JOB_BIT(job.state) & JOB_OPEN) == 0)
		rc = err_set(err, BERTH_EINVAL, "%s is %s: its deadline stays as it was", job.id,
		    job_state_name(job.state));
	job.spec.deadline = deadline;
	if (rc == BERTH_OK)
		rc = pack_spec(&job.spec, a, &text, err);
	if (rc == BERTH_OK)
		rc = db_run(s->db, err, "UPDATE job SET spec = $1, marks = $2 WHERE id = $3",
		    DB_ARGS(db_text(text), db_text(job_marks_text(job.marks & ~told, marks)),
			db_text(job.id)));
	rc = store_end(s, rc, err);
out:
	arena_free(a);
	return rc;
}

enum berth_code
store_attempt_insert(
    struct store *s, const struct attempt *at, int64_t *id_out, struct berth_err *err)
{
	return store_insert(s, id_out, err,
	    "INSERT INTO attempt (job_id, instance_id, state, started, ended, progress_start, "
	    "progress_end, reason, run) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING id",
	    DB_ARGS(db_text(at->job_id), db_id(at->instance_id),
		db_text(attempt_state_name(at->state)), db_i64(at->started), db_id(at->ended),
		db_real(at->progress_start), db_real(at->progress_end), db_text(at->reason),
		db_id(s->run_id)));
}

enum berth_code
store_attempt_update(struct store *s, const struct attempt *at, struct berth_err *err)
{
	enum berth_code rc = store_begin(s, err);

	if (rc != BERTH_OK)
		return rc;
	rc = db_run(s->db, err,
	    "UPDATE attempt SET instance_id = $1, state = $2, ended = $3, progress_end = $4, "
	    "reason = $5 WHERE id = $6",
	    DB_ARGS(db_id(at->instance_id), db_text(attempt_state_name(at->state)),
		db_id(at->ended), db_real(at->progress_end), db_text(at->reason), db_i64(at->id)));
	return store_end(
	    s, store_met(s, rc, err, "there is no attempt %lld", (long long)at->id), err);
}

struct attempt_list {
	struct arena *a;
	VEC(struct attempt) v;
};

static enum berth_code
attempt_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct attempt_list *l = arg;
	struct attempt *at = VEC_ADD(l->a, &l->v);

	at->id = db_col_i64(st, "id");
	at->job_id = db_col_text(st, "job_id", l->a);
	at->instance_id = db_col_i64(st, "instance_id");
	at->started = db_col_i64(st, "started");
	at->ended = db_col_i64(st, "ended");
	at->progress_start = db_col_real(st, "progress_start");
	at->progress_end = db_col_real(st, "progress_end");
	at->reason = db_col_text(st, "reason", l->a);
	if (!attempt_state_parse(db_col_text(st, "state", l->a), &at->state))
		return err_set(err, BERTH_EINVAL,
		    "store: attempt %lld: a state that this berth does not know",
		    (long long)at->id);
	return BERTH_OK;
}

enum berth_code
store_attempt_list(struct store *s, const char *job_id, struct arena *a,
    struct attempt **attempts_out, size_t *n_out, struct berth_err *err)
{
	struct attempt_list l = { .a = a };
	enum berth_code rc;

	if (job_id != NULL)
		rc = store_each(s, attempt_row, &l, err,
		    "SELECT * FROM attempt WHERE job_id = $1 ORDER BY id",
		    DB_ARGS(db_text(job_id)));
	else
		rc = store_each(
		    s, attempt_row, &l, err, "SELECT * FROM attempt ORDER BY id", DB_NO_ARGS);
	if (rc == BERTH_OK) {
		*attempts_out = l.v.v;
		*n_out = l.v.n;
	}
	return rc;
}

struct nodes_list {
	struct arena *a;
	VEC(struct job_nodes) v;
};

static enum berth_code
nodes_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct nodes_list *l = arg;
	struct job_nodes *n = VEC_ADD(l->a, &l->v);

	(void)err;
	n->job_id = db_col_text(st, "job_id", l->a);
	n->up = (int)db_col_i64(st, "n_up");
	n->wanted = (int)db_col_i64(st, "wanted");
	return BERTH_OK;
}

enum berth_code
store_job_nodes(struct store *s, const char *job_id, struct arena *a, struct job_nodes **nodes_out,
    size_t *n_out, struct berth_err *err)
{
	struct nodes_list l = { .a = a };
	enum berth_code rc = store_each(s, nodes_row, &l, err,
	    "SELECT t.job_id AS job_id, SUM(CASE WHEN n.state IN ('ready', 'noticed') THEN 1 ELSE "
	    "0 END) AS n_up, MAX(i.machines) AS wanted FROM instance n JOIN attempt t ON "
	    "t.instance_id = n.id AND t.job_id = n.job_id AND t.ended IS NULL JOIN intent i ON "
	    "i.id = n.intent_id WHERE n.state <> 'gone' AND n.job_id = COALESCE($1, n.job_id) "
	    "GROUP BY t.job_id ORDER BY t.job_id",
	    DB_ARGS(job_id != NULL ? db_text(job_id) : db_null()));

	if (rc == BERTH_OK) {
		*nodes_out = l.v.v;
		*n_out = l.v.n;
	}
	return rc;
}

struct attempt_uses {
	struct arena *a;
	VEC(struct attempt_use) v;
};

static enum berth_code
attempt_use_row(struct db_stmt *st, void *arg, struct berth_err *err)
{
	struct attempt_uses *l = arg;
	struct attempt_use *u = VEC_ADD(l->a, &l->v);
	struct offer o;
	enum berth_code rc = unpack_offer(db_col_text(st, "offer", l->a), l->a, &o, err);

	if (rc != BERTH_OK)
		return rc;
	u->job_id = db_col_text(st, "job_id", l->a);
	u->user = db_col_text(st, "user_name", l->a);
	u->project = db_col_text(st, "project", l->a);
	u->from = db_col_i64(st, "started");
	u->until = db_col_i64(st, "ended");
	u->progress_start = db_col_real(st, "progress_start");
	u->gpus = o.accelerator_count;
	return BERTH_OK;
}

enum berth_code
store_attempt_uses(struct store *s, int64_t since, int64_t now, struct arena *a,
    struct attempt_use **uses_out, size_t *n_out, struct berth_err *err)
{
	struct attempt_uses l = { .a = a };
	enum berth_code rc = store_each(s, attempt_use_row, &l, err,
	    "SELECT t.job_id, t.started, COALESCE(t.ended, i.gone) AS ended, t.progress_start, "
	    "i.offer, j.user_name, j.project FROM attempt t JOIN instance i ON i.id = "
	    "t.instance_id JOIN job j ON j.id = t.job_id WHERE t.started < $1 AND "
	    "COALESCE(t.ended, i.gone, $1) > $2 ORDER BY t.id",
	    DB_ARGS(db_i64(now), db_i64(since)));

	if (rc == BERTH_OK) {
		*uses_out = l.v.v;
		*n_out = l.v.n;
	}
	return rc;
}
