#include "ingest/slurmrest.h"

#include <stdlib.h>
#include <string.h>

#include "ingest/sacct.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/str.h"
#include "util/strmap.h"
#include "util/time.h"

#define SLURMREST_NOTHING 9003 /* ESLURM_REST_EMPTY_RESULT: no job in this window */

/* Jobs of the window before and of this one that last beyond their window, "cluster/id/submit". */
struct slurmrest {
	struct arena *arena[2];
	struct strmap seen[2];
	int now;
};

/* One job as sacct's columns name it. */
struct slurmrest_job {
	const char *cluster, *user, *account, *partition, *qos;
	char state[80];
	int64_t id, submit, start, end, elapsed;
	char limit[24];
};

struct slurmrest *
slurmrest_new(void)
{
	struct slurmrest *s = calloc(1, sizeof(*s));

	for (int i = 0; s != NULL && i < 2; i++)
		s->arena[i] = arena_new();
	return s;
}

void
slurmrest_free(struct slurmrest *s)
{
	for (int i = 0; s != NULL && i < 2; i++)
		arena_free(s->arena[i]);
	free(s);
}

void
slurmrest_header(struct buf *out)
{
	for (const char *p = sacct_columns; *p != '\0'; p++)
		(void)buf_add_char(out, *p == ',' ? '|' : *p);
	(void)buf_add_char(out, '\n');
}

/*
 * A number that is plain, or since v0.0.39 {"set": true, "infinite": false, "number": 5}. False:
 * there is none; *infinite_out may be NULL.
 */
static bool
slurmrest_number(const json_t *v, int64_t *out, bool *infinite_out)
{
	if (infinite_out != NULL)
		*infinite_out = json_is_object(v) && json_is_true(json_object_get(v, "infinite"));
	if (json_is_object(v)) {
		if (json_is_false(json_object_get(v, "set")) ||
		    json_is_true(json_object_get(v, "infinite")))
			return false;
		v = json_object_get(v, "number");
	}
	if (!json_is_integer(v))
		return false;
	*out = json_integer_value(v);
	return true;
}

/* A time; 0, what is absent and what no clock shows is "not yet". */
static int64_t
slurmrest_time(const json_t *time, const char *key)
{
	int64_t t = 0;

	return slurmrest_number(json_object_get(time, key), &t, NULL) && t > 0 && t <= TIME_MAX ? t
												: 0;
}

static const char *
slurmrest_text(const json_t *job, const char *key)
{
	const char *s = json_string_value(json_object_get(job, key));

	/* The separator and ends of lines are in no name that Slurm lets anyone make. */
	return s != NULL && s[strcspn(s, "|\r\n")] == '\0' ? s : "";
}

/* "RUNNING", or since v0.0.40 ["RUNNING", "COMPLETING"]: the first is the state, the others qualify
 * it. */
static void
slurmrest_state(const json_t *state, char *out, size_t size)
{
	const json_t *v = json_object_get(state, "current");
	const char *s = json_string_value(json_is_array(v) ? json_array_get(v, 0) : v);

	snprintf(out, size, "%s", s != NULL && s[strcspn(s, "|\r\n")] == '\0' ? s : "");
}

/*
 * As sacct's JobID: "12", "12_3", "12_[4-7]" for tasks that wait, "12+1" for a part of a
 * heterogeneous job; nothing for 0.
 */
static void
slurmrest_put_id(const json_t *job, int64_t id, struct buf *out)
{
	const json_t *array = json_object_get(job, "array"), *het = json_object_get(job, "het");
	const char *tasks = json_string_value(json_object_get(array, "task"));
	int64_t of = 0, part;

	if (id == 0)
		return;
	if (slurmrest_number(json_object_get(array, "job_id"), &of, NULL) && of > 0) {
		if (slurmrest_number(json_object_get(array, "task_id"), &part, NULL)) {
			(void)buf_printf(out, "%lld_%lld", (long long)of, (long long)part);
			return;
		}
		if (tasks != NULL && *tasks != '\0' && tasks[strcspn(tasks, "|\r\n")] == '\0') {
			(void)buf_printf(out, "%lld_[%s]", (long long)of, tasks);
			return;
		}
	} else if (slurmrest_number(json_object_get(het, "job_id"), &of, NULL) && of > 0 &&
		   slurmrest_number(json_object_get(het, "job_offset"), &part, NULL)) {
		(void)buf_printf(out, "%lld+%lld", (long long)of, (long long)part);
		return;
	}
	(void)buf_printf(out, "%lld", (long long)id);
}

/* The GPUs of a list of resources as sacct writes them: "gres/gpu:a100=4,gres/gpu=4". */
static void
slurmrest_gres(const json_t *job, const char *which, struct buf *out)
{
	const json_t *list = json_object_get(json_object_get(job, "tres"), which), *one;
	size_t i, n = 0;

	json_array_foreach(list, i, one)
	{
		const char *type = json_string_value(json_object_get(one, "type"));
		const char *name = json_string_value(json_object_get(one, "name"));
		int64_t count;

		if (type == NULL || name == NULL || !str_eq(type, "gres") ||
		    name[strcspn(name, "|,=\r\n")] != '\0' ||
		    !slurmrest_number(json_object_get(one, "count"), &count, NULL) || count < 0)
			continue;
		(void)buf_printf(out, "%sgres/%s=%lld", n++ > 0 ? "," : "", name, (long long)count);
	}
}

static void
slurmrest_put_time(struct buf *out, int64_t t)
{
	char text[TIME_FMT_SIZE];

	if (t == 0)
		(void)buf_add_str(out, "Unknown|");
	else /* without the Z */
		(void)buf_printf(out, "%.*s|", (int)strlen(time_fmt(text, t)) - 1, text);
}

static void
slurmrest_line(const json_t *job, const struct slurmrest_job *j, struct buf *out)
{
	slurmrest_put_id(job, j->id, out);
	(void)buf_printf(out, "|%s|%s|%s|%s|%s|%s|", j->cluster, j->user, j->account, j->partition,
	    j->qos, j->state);
	slurmrest_put_time(out, j->submit);
	slurmrest_put_time(out, j->start);
	slurmrest_put_time(out, j->end);
	(void)buf_printf(out, "%lld-%02lld:%02lld:%02lld|%s|", (long long)(j->elapsed / 86400),
	    (long long)(j->elapsed / 3600 % 24), (long long)(j->elapsed / 60 % 60),
	    (long long)(j->elapsed % 60), j->limit);
	slurmrest_gres(job, "requested", out);
	(void)buf_add_char(out, '|');
	slurmrest_gres(job, "allocated", out);
	(void)buf_add_char(out, '\n');
}

static void
slurmrest_fields(const json_t *job, struct slurmrest_job *j)
{
	const json_t *time = json_object_get(job, "time");
	bool infinite;
	int64_t limit;

	j->id = 0;
	if (!json_is_object(time) ||
	    !slurmrest_number(json_object_get(job, "job_id"), &j->id, NULL) || j->id < 0)
		j->id = 0; /* the reader of the line refuses it, by number */
	j->cluster = slurmrest_text(job, "cluster");
	j->user = slurmrest_text(job, "user");
	j->account = slurmrest_text(job, "account");
	j->partition = slurmrest_text(job, "partition");
	j->qos = slurmrest_text(job, "qos");
	slurmrest_state(json_object_get(job, "state"), j->state, sizeof(j->state));
	j->submit = slurmrest_time(time, "submission");
	j->start = slurmrest_time(time, "start");
	j->end = slurmrest_time(time, "end");
	j->elapsed = 0;
	if (!slurmrest_number(json_object_get(time, "elapsed"), &j->elapsed, NULL) ||
	    j->elapsed < 0)
		j->elapsed = 0;
	if (slurmrest_number(json_object_get(time, "limit"), &limit, &infinite) && limit >= 0)
		snprintf(j->limit, sizeof(j->limit), "%lld", (long long)limit);
	else
		snprintf(j->limit, sizeof(j->limit), "%s", infinite ? "UNLIMITED" : "");
}

/* Whether the window before has had this job; remembers it for the next one if it lasts beyond
 * until. */
static bool
slurmrest_seen(struct slurmrest *s, const struct slurmrest_job *j, int64_t until)
{
	char key[256];

	if (j->id == 0)
		return false;
	snprintf(
	    key, sizeof(key), "%s/%lld/%lld", j->cluster, (long long)j->id, (long long)j->submit);
	if (j->end == 0 || j->end >= until)
		(void)strmap_add(s->arena[s->now], &s->seen[s->now], key, 1, NULL);
	return strmap_get(&s->seen[1 - s->now], key) != NULL;
}

static enum berth_code
slurmrest_errors(const struct jsonr *root, bool *nothing_out, struct berth_err *err)
{
	struct jsonr errors;
	enum berth_code rc = jsonr_array(root, "errors", &errors, err);

	*nothing_out = false;
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&errors); i++) {
		struct jsonr one = jsonr_at(&errors, i);
		const char *text = "", *more = "";
		int64_t number = 0;

		(void)slurmrest_number(json_object_get(one.v, "error_number"), &number, NULL);
		if (number == SLURMREST_NOTHING) {
			*nothing_out = true;
			continue;
		}
		rc = jsonr_str(&one, "error", &text, err);
		if (rc == BERTH_OK)
			rc = jsonr_str(&one, "description", &more, err);
		if (rc == BERTH_OK)
			rc = err_set(err,
			    strstr(text, "uthentication") != NULL ||
				    strstr(text, "credential") != NULL
				? BERTH_EAUTH
				: BERTH_EINVAL,
			    "the server says: %.200s%s%.200s", text,
			    *text != '\0' && *more != '\0' ? ": " : "", more);
	}
	return rc;
}

static enum berth_code
slurmrest_jobs(struct slurmrest *s, const struct jsonr *jobs, int64_t until, struct buf *out,
    int64_t *jobs_out, struct berth_err *err)
{
	arena_reset(s->arena[1 - s->now]); /* of the window before the last */
	s->now = 1 - s->now;
	s->seen[s->now] = (struct strmap){ 0 };
	for (size_t i = 0; i < jsonr_len(jobs); i++) {
		struct jsonr job = jsonr_at(jobs, i);
		struct slurmrest_job j;

		slurmrest_fields(job.v, &j);
		if (slurmrest_seen(s, &j, until))
			continue;
		slurmrest_line(job.v, &j, out);
		(*jobs_out)++;
	}
	return buf_check(out, "jobs", err);
}

enum berth_code
slurmrest_read(struct slurmrest *s, const char *bytes, size_t n, const char *name, int64_t until,
    struct buf *out, int64_t *jobs_out, struct berth_err *err)
{
	struct jsonr root, jobs;
	json_t *tree = NULL;
	bool nothing;
	enum berth_code rc = jsonr_parse(bytes, n, name, &tree, err);

	*jobs_out = 0;
	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(tree, name);
	rc = slurmrest_errors(&root, &nothing, err);
	if (rc == BERTH_OK)
		rc = jsonr_array(&root, "jobs", &jobs, err);
	if (rc == BERTH_OK && jobs.v == NULL && !nothing)
		rc = jsonr_err(
		    &root, BERTH_EINVAL, err, "no list of jobs: is this slurmrestd's /slurmdb?");
	if (rc == BERTH_OK)
		rc = slurmrest_jobs(s, &jobs, until, out, jobs_out, err);
	json_decref(tree);
	return rc;
}
