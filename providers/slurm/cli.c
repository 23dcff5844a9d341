/* The cluster's commands in the place of slurmrestd: each request becomes one command, its text the
 * JSON of v0.0.38. */
#include <stdio.h>
#include <string.h>

#include "providers/slurm/slurm.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/child.h"
#include "util/str.h"

#define SLURM_TEXT_MAX ((size_t)64 << 20)
#define SLURM_ARGS_MAX 48
#define SLURM_SQUEUE                                                                               \
	"%i|%T|%r|%P|%q|%B|%N|%V|%S|%e|%u|%k" /* the comment last: anything may stand in it */
#define SLURM_SQUEUE_FIELDS 12

struct slurm_cli {
	const struct slurm *s;
	struct arena *a;
	const char *args[SLURM_ARGS_MAX + 1];
	size_t n;
	struct buf out, errs;
	int status;
};

static void
slurm_arg(struct slurm_cli *c, const char *arg)
{
	if (c->n < SLURM_ARGS_MAX)
		c->args[c->n++] = arg;
}

static void
slurm_program(struct slurm_cli *c, const char *name)
{
	c->n = 0;
	/* times as seconds since 1970, and nothing of the user's habits in the output */
	slurm_arg(c, "env");
	slurm_arg(c, "SLURM_TIME_FORMAT=%s");
	slurm_arg(c, "SQUEUE_FORMAT=");
	slurm_arg(c, "LC_ALL=C");
	slurm_arg(c, c->s->bin != NULL ? arena_printf(c->a, "%s/%s", c->s->bin, name) : name);
}

/* One word for the shell of the login node. */
static void
slurm_quote(struct buf *b, const char *s)
{
	buf_add_str(b, " '");
	for (; *s != '\0'; s++)
		if (*s == '\'')
			buf_add_str(b, "'\\''");
		else
			buf_add_char(b, *s);
	buf_add_char(b, '\'');
}

static enum berth_code
slurm_run(struct slurm_cli *c, const char *in, size_t in_len, struct berth_err *err)
{
	const char *ssh[] = { "ssh", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "-o",
		"ConnectTimeout=15", "-o", "ForwardAgent=no", "-o", "ClearAllForwardings=yes", "-T",
		"--", c->s->ssh, NULL, NULL };
	const char *const *argv = c->args;
	enum berth_code rc;
	struct buf line;

	c->args[c->n] = NULL;
	buf_init(&line, 65536);
	if (c->s->ssh != NULL) {
		for (size_t i = 0; i < c->n; i++)
			slurm_quote(&line, c->args[i]);
		ssh[14] = line.p;
		argv = ssh;
	}
	buf_clear(&c->out);
	buf_clear(&c->errs);
	rc = buf_check(&line, "the command", err);
	if (rc == BERTH_OK)
		rc = child_run(
		    argv, in, in_len, c->s->timeout_s, &c->out, &c->errs, &c->status, err);
	buf_free(&line);
	if (rc == BERTH_ENOTFOUND) /* a program is missing, not a machine */
		return err != NULL ? (err->code = BERTH_EFAIL) : BERTH_EFAIL;
	if (rc == BERTH_OK && c->status == 127)
		return err_set(err, BERTH_EFAIL, "%s: not found: %.200s", c->args[4],
		    c->errs.len > 0 ? c->errs.p : "");
	if (rc == BERTH_OK && c->s->ssh != NULL && c->status == 255)
		return err_set(err, BERTH_ETRANSIENT, "%s: %.300s", c->s->ssh,
		    c->errs.len > 0 ? c->errs.p : "ssh failed");
	return rc;
}

/* Value of " KEY=" in one line of scontrol -o, up to a blank; "" if it is not there. */
static const char *
slurm_field(struct arena *a, const char *line, const char *key)
{
	size_t n = strlen(key);

	for (const char *p = line; (p = strstr(p, key)) != NULL; p += n)
		if ((p == line || p[-1] == ' ') && p[n] == '=')
			return arena_strndup(a, p + n + 1, strcspn(p + n + 1, " "));
	return "";
}

static void
slurm_write_int(struct jsonw *w, const char *key, const char *text)
{
	int64_t v = 0;

	if (str_to_i64(text, 0, INT64_MAX / 2, &v, NULL) == BERTH_OK)
		jsonw_int(w, key, v);
	else
		jsonw_null(w, key);
}

static const char *
slurm_or_empty(const char *s)
{
	return str_eq(s, "(null)") || str_eq(s, "N/A") || str_eq(s, "None") || str_eq(s, "n/a") ? ""
												: s;
}

/* "MIXED+DRAIN", "IDLE*": what the signs mean is said in squeue's words. */
static void
slurm_write_state(struct jsonw *w, const char *state)
{
	static const struct {
		char sign;
		const char *word;
	} signs[] = {
		{ '*', "NOT_RESPONDING" },
		{ '~', "POWERED_DOWN" },
		{ '#', "POWERING_UP" },
		{ '%', "POWERING_DOWN" },
		{ '!', "POWER_DOWN" },
		{ '$', "MAINT" },
		{ '@', "REBOOT_REQUESTED" },
		{ '^', "REBOOT_ISSUED" },
		{ '-', "PLANNED" },
	};

	jsonw_begin_array(w, "state");
	for (const char *p = state;; p++) {
		size_t n = strcspn(p, "+*~#%!$@^-");

		if (n > 0)
			jsonw_strn(w, NULL, p, n);
		p += n;
		for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
			if (*p == signs[i].sign)
				jsonw_str(w, NULL, signs[i].word);
		if (*p == '\0')
			break;
	}
	jsonw_end_array(w);
}

static void
slurm_write_list(struct arena *a, struct jsonw *w, const char *key, const char *list)
{
	size_t n;
	char **items = str_split(a, list, ',', &n);

	jsonw_begin_array(w, key);
	for (size_t i = 0; i < n; i++)
		jsonw_str(w, NULL, items[i]);
	jsonw_end_array(w);
}

static void
slurm_write_node(struct slurm_cli *c, const char *line, struct jsonw *w)
{
	jsonw_begin_object(w, NULL);
	jsonw_str(w, "name", slurm_field(c->a, line, "NodeName"));
	slurm_write_state(w, slurm_field(c->a, line, "State"));
	jsonw_str(w, "gres", slurm_or_empty(slurm_field(c->a, line, "Gres")));
	jsonw_str(w, "gres_used", slurm_or_empty(slurm_field(c->a, line, "GresUsed")));
	jsonw_str(w, "features", slurm_or_empty(slurm_field(c->a, line, "ActiveFeatures")));
	slurm_write_int(w, "cpus", slurm_field(c->a, line, "CPUTot"));
	slurm_write_int(w, "alloc_cpus", slurm_field(c->a, line, "CPUAlloc"));
	slurm_write_int(w, "real_memory", slurm_field(c->a, line, "RealMemory"));
	slurm_write_int(w, "alloc_memory", slurm_field(c->a, line, "AllocMem"));
	slurm_write_list(c->a, w, "partitions", slurm_field(c->a, line, "Partitions"));
	jsonw_end_object(w);
}

static void
slurm_write_partition(struct slurm_cli *c, const char *line, struct jsonw *w)
{
	jsonw_begin_object(w, NULL);
	jsonw_str(w, "name", slurm_field(c->a, line, "PartitionName"));
	jsonw_str(w, "state", slurm_field(c->a, line, "State"));
	jsonw_end_object(w);
}

static void
slurm_write_job(struct slurm_cli *c, const char *line, struct jsonw *w)
{
	static const char *const keys[SLURM_SQUEUE_FIELDS] = { "job_id", "job_state",
		"state_reason", "partition", "qos", "batch_host", "nodes", "submit_time",
		"start_time", "end_time", "user_name", "comment" };

	jsonw_begin_object(w, NULL);
	for (size_t i = 0; i < SLURM_SQUEUE_FIELDS; i++) {
		size_t n = i + 1 < SLURM_SQUEUE_FIELDS ? strcspn(line, "|") : strlen(line);
		const char *v = arena_strndup(c->a, line, n);

		if (i == 0) /* "7_3", "7_[0-9]": an array, never ours */
			slurm_write_int(w, keys[i], arena_strndup(c->a, v, strcspn(v, "_+")));
		else if (i >= 7 && i <= 9)
			slurm_write_int(w, keys[i], v);
		else
			jsonw_str(w, keys[i], i == 2 ? v : slurm_or_empty(v));
		line += n + (line[n] == '|');
	}
	jsonw_end_object(w);
}

/* "cpu=4,gres/gpu=8,gres/gpu:a100=8": the generic resources of it. */
static void
slurm_write_tres(struct slurm_cli *c, struct jsonw *w, const char *key, const char *list)
{
	size_t n;
	char **items = str_split(c->a, list, ',', &n);

	jsonw_begin_array(w, key);
	for (size_t i = 0; i < n; i++) {
		size_t name = strcspn(items[i], "=");

		if (!str_starts(items[i], "gres/") || items[i][name] == '\0')
			continue;
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "type", "gres");
		jsonw_strn(w, "name", items[i] + 5, name - 5);
		slurm_write_int(w, "count", items[i] + name + 1);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
}

/* sacctmgr -P: Name|GrpTRES|MaxTRESPU|MaxTRESPA|MaxTRES */
static void
slurm_write_qos(struct slurm_cli *c, const char *line, struct jsonw *w)
{
	size_t n;
	char **f = str_split(c->a, line, '|', &n);

	if (n < 5)
		return;
	jsonw_begin_object(w, NULL);
	jsonw_str(w, "name", f[0]);
	jsonw_begin_object(w, "limits");
	jsonw_begin_object(w, "max");
	jsonw_begin_object(w, "tres");
	slurm_write_tres(c, w, "total", f[1]);
	jsonw_begin_object(w, "per");
	slurm_write_tres(c, w, "user", f[2]);
	slurm_write_tres(c, w, "account", f[3]);
	slurm_write_tres(c, w, "job", f[4]);
	jsonw_end_object(w);
	jsonw_end_object(w);
	jsonw_end_object(w);
	jsonw_end_object(w);
	jsonw_end_object(w);
}

typedef void slurm_line_fn(struct slurm_cli *c, const char *line, struct jsonw *w);

static void
slurm_write_lines(struct slurm_cli *c, const char *key, slurm_line_fn *fn, struct jsonw *w)
{
	jsonw_begin_array(w, key);
	for (const char *p = c->out.len > 0 ? c->out.p : ""; *p != '\0';) {
		size_t n = strcspn(p, "\n");

		if (n > 0)
			fn(c, arena_strndup(c->a, p, n), w);
		p += n + (p[n] == '\n');
	}
	jsonw_end_array(w);
}

static const char *
slurm_job_str(const struct jsonr *job, const char *key)
{
	const char *s = NULL;

	(void)!jsonr_str(job, key, &s, NULL);
	return s;
}

static void
slurm_opt_arg(struct slurm_cli *c, const char *option, const struct jsonr *job, const char *key)
{
	const char *v = slurm_job_str(job, key);
	int64_t n;

	if (v == NULL && slurm_number(job, key, &n))
		v = arena_printf(c->a, "%lld", (long long)n);
	if (v != NULL)
		slurm_arg(c, arena_printf(c->a, "%s=%s", option, v));
}

static void
slurm_sbatch(struct slurm_cli *c, const struct jsonr *body)
{
	struct jsonr job = jsonr_get(body, "job"), env = jsonr_get(&job, "environment");
	const char *gpus = slurm_job_str(&job, "gpus_per_node"),
		   *token = slurm_job_str(&env, "BERTH_TOKEN");

	slurm_program(c, "sbatch");
	slurm_arg(c, "--parsable");
	slurm_arg(c, "--no-requeue");
	slurm_arg(c, arena_printf(c->a, "--export=BERTH_TOKEN=%s", token != NULL ? token : ""));
	slurm_opt_arg(c, "--job-name", &job, "name");
	slurm_opt_arg(c, "--comment", &job, "comment");
	slurm_opt_arg(c, "--partition", &job, "partition");
	slurm_opt_arg(c, "--account", &job, "account");
	slurm_opt_arg(c, "--qos", &job, "qos");
	slurm_opt_arg(c, "--reservation", &job, "reservation");
	slurm_opt_arg(c, "--constraint", &job, "constraints");
	slurm_opt_arg(c, "--gres", &job, "gres");
	if (gpus != NULL)
		slurm_arg(c, arena_printf(c->a, "--gres=gpu:%s", gpus));
	slurm_opt_arg(c, "--ntasks", &job, "tasks");
	slurm_opt_arg(c, "--cpus-per-task", &job, "cpus_per_task");
	slurm_opt_arg(c, "--mem", &job, "memory_per_node");
	slurm_opt_arg(c, "--time", &job, "time_limit");
	slurm_opt_arg(c, "--chdir", &job, "current_working_directory");
	slurm_opt_arg(c, "--output", &job, "standard_output");
}

static void
slurm_squeue(struct slurm_cli *c, const char *id)
{
	slurm_program(c, "squeue");
	slurm_arg(c, "--noheader");
	slurm_arg(c, "--states=all");
	if (id != NULL)
		slurm_arg(c, arena_printf(c->a, "--jobs=%s", id));
	else
		slurm_arg(
		    c, c->s->user != NULL ? arena_printf(c->a, "--user=%s", c->s->user) : "--me");
	slurm_arg(c, "--format=" SLURM_SQUEUE);
}

/* The line of a command's complaints that says what is wrong; NULL: none does. */
static const char *
slurm_complaint(const struct slurm_cli *c)
{
	const char *line = c->errs.len > 0 ? c->errs.p : "", *found;

	found = strstr(line, "error:");
	while (found != NULL && found > line && found[-1] != '\n')
		found--;
	return found;
}

static void
slurm_refuse(struct slurm_cli *c, struct jsonw *w)
{
	const char *found = slurm_complaint(c),
		   *first = c->errs.len > 0 ? c->errs.p : "it failed without a word";
	const char *text = found != NULL ? found : first;

	jsonw_begin_array(w, "errors");
	jsonw_begin_object(w, NULL);
	jsonw_strn(w, "error", text, strcspn(text, "\n"));
	jsonw_end_object(w);
	jsonw_end_array(w);
}

static enum berth_code
slurm_submit(
    struct slurm_cli *c, const struct http_req *req, struct jsonw *w, struct berth_err *err)
{
	const char *script = "";
	struct jsonr body;
	json_t *v = NULL;
	enum berth_code rc = jsonr_parse(req->body, req->body_len, "request", &v, err);

	if (rc != BERTH_OK)
		return rc;
	body = jsonr_root(v, "request");
	(void)!jsonr_str(&body, "script", &script, NULL);
	slurm_sbatch(c, &body);
	rc = slurm_run(c, script, strlen(script), err);
	if (rc == BERTH_OK && c->status == 0) /* "12" or "12;cluster" */
		slurm_write_int(
		    w, "job_id", arena_strndup(c->a, c->out.p, strcspn(c->out.p, ";\n")));
	json_decref(v);
	return rc;
}

/* One request, one command. */
static enum berth_code
slurm_route(struct slurm_cli *c, const struct http_req *req, const char *path, struct jsonw *w,
    struct berth_err *err)
{
	const char *method = req->method != NULL ? req->method : "GET", *key = NULL;
	slurm_line_fn *fn = NULL;
	enum berth_code rc;

	if (str_eq(path, "slurm/v0.0.38/job/submit"))
		return slurm_submit(c, req, w, err);
	if (str_eq(path, "slurm/v0.0.38/nodes")) {
		slurm_program(c, "scontrol");
		slurm_arg(c, "--oneliner");
		slurm_arg(c, "--details");
		slurm_arg(c, "show");
		slurm_arg(c, "node");
		key = "nodes", fn = slurm_write_node;
	} else if (str_eq(path, "slurm/v0.0.38/partitions")) {
		slurm_program(c, "scontrol");
		slurm_arg(c, "--oneliner");
		slurm_arg(c, "show");
		slurm_arg(c, "partition");
		key = "partitions", fn = slurm_write_partition;
	} else if (str_eq(path, "slurm/v0.0.38/jobs")) {
		slurm_squeue(c, NULL);
		key = "jobs", fn = slurm_write_job;
	} else if (str_starts(path, "slurm/v0.0.38/job/") && str_eq(method, "DELETE")) {
		slurm_program(c, "scancel");
		slurm_arg(c, "--verbose"); /* without it an unknown job is passed over in silence */
		slurm_arg(c, path + strlen("slurm/v0.0.38/job/"));
	} else if (str_starts(path, "slurm/v0.0.38/job/")) {
		slurm_squeue(c, path + strlen("slurm/v0.0.38/job/"));
		key = "jobs", fn = slurm_write_job;
	} else if (str_eq(path, "slurmdb/v0.0.38/qos")) {
		slurm_program(c, "sacctmgr");
		slurm_arg(c, "--noheader");
		slurm_arg(c, "--parsable2");
		slurm_arg(c, "show");
		slurm_arg(c, "qos");
		slurm_arg(c, "format=Name,GrpTRES,MaxTRESPU,MaxTRESPA,MaxTRES");
		key = "qos", fn = slurm_write_qos;
	} else
		return err_set(err, BERTH_EPERMANENT, "no command for %s", path);
	if ((rc = slurm_run(c, "", 0, err)) != BERTH_OK)
		return rc;
	if (fn == NULL && slurm_complaint(c) != NULL) /* scancel ends with 0 all the same */
		c->status = 1;
	if (c->status == 0 && fn != NULL)
		slurm_write_lines(c, key, fn, w);
	return BERTH_OK;
}

enum berth_code
slurm_exchange(void *st, const struct http_req *req, struct http_resp *resp, struct berth_err *err)
{
	struct slurm_cli c = { .s = st, .a = req->arena };
	struct buf body;
	struct jsonw w;
	enum berth_code rc;

	buf_init(&c.out, SLURM_TEXT_MAX);
	buf_init(&c.errs, 4096);
	buf_init(&body, SLURM_TEXT_MAX);
	jsonw_init_buf(&w, &body, JSONW_COMPACT);
	jsonw_begin_object(&w, NULL);
	rc = slurm_route(&c, req, req->url + strlen(SLURM_LOCAL "/"), &w, err);
	if (rc == BERTH_OK && c.status != 0)
		slurm_refuse(&c, &w);
	jsonw_end_object(&w);
	if (rc == BERTH_OK)
		rc = jsonw_finish(&w, err);
	if (rc == BERTH_OK) {
		resp->status = c.status == 0 ? 200 : 500;
		resp->body = arena_strndup(req->arena, body.p, body.len);
		resp->body_len = body.len;
	}
	buf_free(&c.out);
	buf_free(&c.errs);
	buf_free(&body);
	return rc;
}
