#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/record_jobs.h"
#include "ingest/sacct.h"
#include "store/series_rows.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/time.h"

#define SLURM_LOADS 200 /* so far back a load of the same cluster is looked for */
#define SLURM_FIRST_S (INT64_C(28) * 86400)

#define OFF(field) offsetof(struct record_jobs_opts, field)
const struct opt_row record_slurm_rows[] = {
	{ "by", 'b', OPT_LIST, "LABEL",
	    "one series per value of these: accelerator, user, account ...", OFF(by), 0, 0, NULL },
	{ "step", 0, OPT_DURATION, "DUR", "step of the series (1h)", OFF(step_s), 60, 31 * 86400,
	    NULL },
	{ "cluster", 0, OPT_STRING, "NAME", "cluster of jobs that name none", OFF(cluster), 0, 0,
	    NULL },
	{ "from", 0, OPT_TIME, "TIME", "jobs since then (the last load, or four weeks ago)",
	    OFF(from), 0, 0, NULL },
	{ "to", 0, OPT_TIME, "TIME", "jobs until then, of --url (now)", OFF(to), 0, 0, NULL },
	{ "url", 0, OPT_STRING, "URL", "ask slurmrestd there instead of calling sacct", OFF(url), 0,
	    0, NULL },
	{ "user", 0, OPT_STRING, "NAME", "whom the token is for (what the token says)", OFF(user),
	    0, 0, NULL },
	{ "token-file", 0, OPT_PATH, "FILE", "the token, instead of $SLURM_JWT", OFF(token_file), 0,
	    0, NULL },
	{ "ca-file", 0, OPT_PATH, "FILE", "authorities to trust instead of the system's",
	    OFF(ca_file), 0, 0, NULL },
	{ "api-version", 0, OPT_INT, "N", "38 to 44: v0.0.N of the server (the newest that it has)",
	    OFF(api_version), 38, 44, NULL },
	{ 0 },
};

#undef OFF

/* The output of sacct in a file without a name: it is read whole before the store is touched. */
static enum berth_code
slurm_run(int64_t from, FILE *out, struct berth_err *err)
{
	char since[TIME_FMT_SIZE];
	char *const argv[] = { (char *)(uintptr_t) "sacct", (char *)(uintptr_t) "-a",
		(char *)(uintptr_t) "-P", (char *)(uintptr_t) "-D", (char *)(uintptr_t) "-X",
		(char *)(uintptr_t) "-S", since, (char *)(uintptr_t) "-E",
		(char *)(uintptr_t) "now", (char *)(uintptr_t) "-o",
		(char *)(uintptr_t)sacct_columns, NULL };
	int status;
	pid_t pid;

	time_fmt(since, from);
	since[strlen(since) - 1] = '\0'; /* sacct wants no Z: its clock is UTC below */
	pid = fork();
	if (pid < 0)
		return err_sys(err, BERTH_EFAIL, errno, "cannot start sacct");
	if (pid == 0) {
		setenv("TZ", "UTC", 1);
		setenv("SLURM_TIME_FORMAT", "standard", 1);
		if (dup2(fileno(out), STDOUT_FILENO) >= 0)
			execvp(argv[0], argv);
		_exit(127);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_sys(err, BERTH_EFAIL, errno, "sacct");
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return err_set(err, BERTH_ENOTFOUND,
		    "sacct was not found: run this where Slurm's commands are, or use `berth "
		    "record sacct`");
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return err_set(err, BERTH_ETRANSIENT, "sacct ended with status %d",
		    WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	return BERTH_OK;
}

/* Where the last load of this cluster ended. Jobs that ran then are told again: they are in force
 * since. */
static enum berth_code
slurm_from(struct record *r, const struct record_jobs_opts *o, const char *source,
    int64_t *from_out, bool *covers_out, struct berth_err *err)
{
	struct load *loads;
	size_t n;
	enum berth_code rc =
	    store_load_list(r->ctx->store, SLURM_LOADS, r->ctx->arena, &loads, &n, err);

	*from_out = o->from != 0 ? o->from : r->ctx->now - SLURM_FIRST_S;
	*covers_out = o->from != 0;
	for (size_t i = 0; rc == BERTH_OK && o->from == 0 && i < n; i++) {
		if (!str_eq(loads[i].format, "slurm") || !str_eq(loads[i].source, source) ||
		    loads[i].to == 0)
			continue;
		*from_out = loads[i].to - (o->step_s != 0 ? o->step_s : 3600);
		*covers_out = true;
		break;
	}
	return rc;
}

/* Who is asked, in the log of loads: another server is another source. */
static const char *
slurm_source(struct cmd_ctx *ctx, const struct record_jobs_opts *o)
{
	if (o->url == NULL)
		return o->cluster;
	return arena_printf(
	    ctx->arena, "%s%s%s", o->url, *o->cluster != '\0' ? " " : "", o->cluster);
}

enum berth_code
record_slurm(struct cmd_ctx *ctx, struct berth_err *err)
{
	struct record_jobs_opts o = *(const struct record_jobs_opts *)ctx->opts;
	struct record r = { .ctx = ctx };
	struct jobs_file f = {
		.r = &r, .o = &o, .format = "slurm", .source = slurm_source(ctx, &o)
	};
	FILE *out = tmpfile();
	bool covers = false;
	int64_t from = 0;
	enum berth_code rc = record_zone(ctx, "UTC", &f.tz, err);

	if (out == NULL)
		return err_sys(err, BERTH_EIO, errno, "no temporary file for the jobs");
	if (rc == BERTH_OK && ctx->offline)
		rc = err_set(err, BERTH_EUSAGE, "--offline: the cluster is not asked");
	if (rc == BERTH_OK && o.url == NULL && o.to != 0)
		rc = err_set(err, BERTH_EUSAGE, "--to is for --url: sacct is asked until now");
	if (rc == BERTH_OK)
		rc = cmd_accels(ctx, &f.accels, err);
	if (rc == BERTH_OK)
		rc = slurm_from(&r, &o, f.source, &from, &covers, err);
	if (o.to == 0)
		o.to = ctx->now;
	record_source(&r, o.url != NULL ? o.url : "sacct");
	if (rc == BERTH_OK && from > o.to)
		rc = err_set(err, BERTH_EUSAGE, "--from lies behind --to");
	if (rc == BERTH_OK)
		rc = o.url != NULL ? slurmrest_fetch(&r, &o, from, o.to, out, err)
				   : slurm_run(from, out, err);
	o.from =
	    covers ? from : 0; /* of the first load nobody knows how far back the accounting goes */
	rewind(out);
	if (rc == BERTH_OK)
		rc = jobs_stream(&f, out, err);
	progress_end(&r.progress);
	fclose(out);
	return rc == BERTH_OK ? record_result(&r, err) : rc;
}
