/* Jobs and the probe as scripts for a shell: each may be sent twice without harm. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "broker/shell.h"
#include "util/buf.h"
#include "util/fileio.h"
#include "util/str.h"
#include "util/time.h"

/* a release is under 1 MiB; one with debug information and sanitizers is several */
#define PROBE_PROGRAM_MAX ((size_t)8 << 20)

#define SHELL_TIMEOUT_S 30
#define SHELL_MASTER_PORT 29500 /* as torchrun has it */
#define SHELL_PROBE_TIMEOUT_S 90
#define SHELL_SCRIPT_MAX (64U << 20) /* four characters a byte of the program */

/* 'it'\''s' : any text as one word of sh. */
static void
shell_quote(struct buf *b, const char *s)
{
	buf_add_char(b, '\'');
	for (; *s != '\0'; s++) {
		if (*s == '\'')
			buf_add_str(b, "'\\''");
		else
			buf_add_char(b, *s);
	}
	buf_add_char(b, '\'');
}

static void
shell_begin(struct buf *b, const char *job_id, int rank)
{
	buf_init(b, SHELL_SCRIPT_MAX);
	buf_add_str(b, "umask 077\nid=");
	shell_quote(b, job_id);
	if (rank > 0) /* machines of a gang may share their home */
		buf_printf(b, "\nd=\"$HOME/.berth/$id.%d\"\n", rank);
	else
		buf_add_str(b, "\nd=\"$HOME/.berth/$id\"\n");
}

/*
 * Where a gang's machine stands, in the words of launchers: those of torchrun and PyTorch, and a
 * host file as mpirun reads it.
 */
static void
shell_gang(struct buf *b, const struct prov_job *pj)
{
	if (pj->nodes <= 1)
		return;
	buf_add_str(b, "cat >\"$d/hosts\" <<'BERTH_END_OF_HOSTS'\n");
	for (int i = 0; i < pj->nodes; i++)
		buf_printf(b, "%s slots=%d\n", pj->hosts[i], pj->gpus);
	buf_printf(b,
	    "BERTH_END_OF_HOSTS\nNODE_RANK=%d RANK=%d NNODES=%d WORLD_SIZE=%d MASTER_PORT=%d "
	    "BERTH_GPUS_PER_NODE=%d\n",
	    pj->rank, pj->rank, pj->nodes, pj->nodes, SHELL_MASTER_PORT, pj->gpus);
	buf_add_str(b, "MASTER_ADDR=");
	shell_quote(b, pj->hosts[0]);
	buf_add_str(b, " BERTH_HOSTFILE=\"$d/hosts\" BERTH_NODES=");
	for (int i = 0; i < pj->nodes; i++) {
		if (i > 0)
			buf_add_char(b, ',');
		shell_quote(b, pj->hosts[i]);
	}
	buf_add_str(b, "\nexport NODE_RANK RANK NNODES WORLD_SIZE MASTER_ADDR MASTER_PORT "
		       "BERTH_GPUS_PER_NODE BERTH_HOSTFILE BERTH_NODES\n");
}

enum berth_code
shell_start(const char *address, const struct job *job, const struct prov_job *pj, struct arena *a,
    struct prov_run *run_out, struct berth_err *err)
{
	const char *text;
	enum berth_code rc;
	struct buf b;
	int status;

	shell_begin(&b, job->id, pj->rank);
	/* Of an earlier attempt in the same home nothing is left but its log's name; one from
	 * before attempts were told is this one if it runs. */
	buf_printf(&b,
	    "mkdir -p \"$d\" || exit 3\na=%" PRId64 "\nif [ -f \"$d/pid\" ]; then\n"
	    "if [ -f \"$d/attempt\" ]; then [ \"$(cat \"$d/attempt\")\" = $a ] && exit 0\n"
	    "else kill -0 \"$(cat \"$d/pid\")\" 2>/dev/null && exit 0; fi; fi\n"
	    "rm -f \"$d/pid\" \"$d/status\" \"$d/started\" \"$d/progress\"\n"
	    "echo $a >\"$d/attempt\"\ncat >\"$d/run.sh\" <<'BERTH_END_OF_JOB'\n",
	    pj->attempt);
	buf_add_str(&b, pj->command != NULL ? pj->command : ":");
	buf_add_str(&b, "\nBERTH_END_OF_JOB\n");
	buf_printf(&b,
	    "BERTH_JOB=$id BERTH_PROGRESS=%.6f BERTH_CHECKPOINT_INTERVAL=%" PRId64
	    " BERTH_PROGRESS_FILE=\"$d/progress\" BERTH_CHECKPOINT_FILE=\"$d/interval\"\n",
	    pj->progress, pj->checkpoint_interval_s);
	buf_add_str(&b, "export BERTH_JOB BERTH_PROGRESS BERTH_CHECKPOINT_INTERVAL "
			"BERTH_PROGRESS_FILE BERTH_CHECKPOINT_FILE\n"
			"echo $BERTH_CHECKPOINT_INTERVAL >\"$d/interval\"\n");
	shell_gang(&b, pj);
	buf_add_str(&b, "date +%s >\"$d/started\"\n"
			"setsid sh -c 'sh \"$1/run.sh\" >\"$1/out.log\" 2>&1; echo $? "
			">\"$1/status.new\"; mv \"$1/status.new\" \"$1/status\"'"
			" berth \"$d\" </dev/null >/dev/null 2>&1 &\n"
			"echo $! >\"$d/pid\"\n");
	rc = buf_check(&b, "job script", err);
	if (rc == BERTH_OK)
		rc = shell_run(address, b.p, b.len, SHELL_TIMEOUT_S, a, &text, &status, err);
	buf_free(&b);
	if (rc == BERTH_OK && status != 0)
		rc = err_set(err, BERTH_ETRANSIENT,
		    "%s: the job's folder could not be made (status %d)", address, status);
	if (rc == BERTH_OK)
		*run_out = (struct prov_run){ .state = PROV_RUN_RUNNING,
			.progress = pj->progress,
			.safe_progress = pj->progress };
	return rc;
}

/* "state status started busy progress" as the poll script prints it; the last is the job's own
 * word.
 */
static enum berth_code
shell_read_poll(
    const char *text, const char *job_id, struct prov_run *run_out, struct berth_err *err)
{
	int64_t started = 0, exit_status = 0, busy = 0;
	double progress = 0;
	char copy[128], *field[5], *rest = copy, *word;
	bool silent;
	size_t n = 0;

	snprintf(copy, sizeof(copy), "%.*s", (int)strcspn(text, "\r\n"), text);
	while (n < 5 && (field[n] = strsep(&rest, " \t")) != NULL)
		n += field[n][0] != '\0';
	word = field[0];
	if (n < 4 || str_to_i64(field[1], INT32_MIN, INT32_MAX, &exit_status, NULL) != BERTH_OK ||
	    str_to_i64(field[2], TIME_MIN, TIME_MAX, &started, NULL) != BERTH_OK)
		return err_set(
		    err, BERTH_ETRANSIENT, "job %s: the machine's answer makes no sense", job_id);
	if (strcmp(word, "none") == 0)
		return err_set(err, BERTH_ENOTFOUND, "job %s was never started there", job_id);
	silent = n < 5 || str_to_double(field[4], 0, 1, &progress, NULL) != BERTH_OK;
	if (silent)
		progress = 0;
	*run_out = (struct prov_run){ .started = started,
		.exit_status = (int)exit_status,
		.progress = progress,
		.safe_progress = progress,
		.silent = silent,
		.busy_known = str_to_i64(field[3], 0, 100, &busy, NULL) == BERTH_OK };
	run_out->busy = run_out->busy_known ? (double)busy / 100 : 0;
	if (strcmp(word, "running") == 0) {
		run_out->state = PROV_RUN_RUNNING;
	} else if (strcmp(word, "ended") == 0) {
		run_out->state = exit_status == 0 ? PROV_RUN_DONE : PROV_RUN_FAILED;
		run_out->progress = exit_status == 0 ? 1 : progress;
	} else {
		run_out->state = PROV_RUN_LOST;
		snprintf(run_out->detail, sizeof(run_out->detail),
		    "its process is gone and left no status");
	}
	return BERTH_OK;
}

/* The status is looked for once more when the process is gone: it may have ended in between. */
static const char shell_poll_text[] =
    "[ -f \"$d/pid\" ] || { echo none 0 0 - -; exit 0; }\n"
    "p=$(cat \"$d/progress\" 2>/dev/null | head -c 20); s=$(cat \"$d/started\" 2>/dev/null || echo "
    "0)\n"
    "if [ ! -f \"$d/status\" ] && kill -0 \"$(cat \"$d/pid\")\" 2>/dev/null; then\n"
    "echo running 0 \"$s\" \"${g:--}\" \"${p:--}\"\n"
    "elif [ -f \"$d/status\" ]; then echo ended \"$(cat \"$d/status\")\" \"$s\" - \"${p:--}\"\n"
    "else echo gone 0 \"$s\" - \"${p:--}\"; fi\n";

/*
 * The busiest accelerator of the machine, in percent, into g; "-": not known, as where one of them
 * tells no number. A driver that hangs holds up neither the poll nor, by one more process each, the
 * machine.
 */
static const char shell_busy_text[] =
    "g=-\n"
    "if { [ -f \"$d/smi\" ] || ! kill -0 \"$(cat \"$d/smi.pid\" 2>/dev/null)\" 2>/dev/null; } &&\n"
    "command -v nvidia-smi >/dev/null 2>&1; then\n"
    "rm -f \"$d/smi\"\n"
    "{ nvidia-smi --query-gpu=utilization.gpu --format=csv,noheader,nounits >\"$d/smi.new\" ||\n"
    ": >\"$d/smi.new\"; mv \"$d/smi.new\" \"$d/smi\"; } </dev/null >/dev/null 2>&1 &\n"
    "echo $! >\"$d/smi.pid\"; i=0\n"
    "while [ $i -lt 14 ] && [ ! -f \"$d/smi\" ]; do\n"
    "[ $i -lt 10 ] && sleep 0.1 2>/dev/null || sleep 1; i=$((i + 1)); done\n"
    "[ ! -f \"$d/smi\" ] || while read -r v; do case $v in '' | *[!0-9]*) g=-; break ;; esac\n"
    "if [ \"$g\" = - ] || [ \"$v\" -gt \"$g\" ]; then g=$v; fi; done <\"$d/smi\"\n"
    "fi\n";

enum berth_code
shell_poll(const char *address, const struct job *job, int rank, int64_t interval_s, bool busy,
    struct arena *a, struct prov_run *run_out, struct berth_err *err)
{
	const char *text;
	enum berth_code rc;
	struct buf b;
	int status;

	shell_begin(&b, job->id, rank);
	/* Renamed into place: a job never reads half a number. */
	buf_printf(&b,
	    "[ ! -f \"$d/interval\" ] || { echo %" PRId64
	    " >\"$d/interval.new\" && mv \"$d/interval.new\" \"$d/interval\"; }\n",
	    interval_s);
	if (busy)
		buf_printf(&b, "[ ! -f \"$d/pid\" ] || {\n%s}\n", shell_busy_text);
	buf_add_str(&b, shell_poll_text);
	rc = buf_check(&b, "poll script", err);
	if (rc == BERTH_OK)
		rc = shell_run(address, b.p, b.len, SHELL_TIMEOUT_S, a, &text, &status, err);
	buf_free(&b);
	return rc == BERTH_OK ? shell_read_poll(text, job->id, run_out, err) : rc;
}

enum berth_code
shell_stop(const char *address, const struct job *job, int rank, struct arena *a,
    struct prov_run *run_out, struct berth_err *err)
{
	const char *text;
	enum berth_code rc;
	struct buf b;
	int status;

	shell_begin(&b, job->id, rank);
	/* "kill -TERM -- -PID" is refused by the sh of Debian, "kill -s TERM -PID" too. */
	buf_add_str(&b, "if [ -f \"$d/pid\" ] && [ ! -f \"$d/status\" ]; then p=$(cat \"$d/pid\"); "
			"kill -TERM \"-$p\" 2>/dev/null\n"
			"i=0; while [ $i -lt 19 ] && kill -0 \"$p\" 2>/dev/null; do [ $i -lt 10 ] "
			"&& sleep 0.1 2>/dev/null || sleep 1; i=$((i + 1)); done\n"
			"kill -KILL \"-$p\" 2>/dev/null; fi\n");
	buf_add_str(&b, shell_poll_text);
	rc = buf_check(&b, "stop script", err);
	if (rc == BERTH_OK)
		rc = shell_run(address, b.p, b.len, SHELL_TIMEOUT_S, a, &text, &status, err);
	buf_free(&b);
	if (rc == BERTH_OK)
		rc = shell_read_poll(text, job->id, run_out, err);
	if (rc == BERTH_OK && run_out->state != PROV_RUN_DONE)
		run_out->state = PROV_RUN_STOPPED;
	return rc;
}

/* A program as text that printf of any sh turns back into its bytes; base64 may be missing on a
 * bare machine. */
static void
shell_octal(struct buf *b, const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i += 512) {
		buf_add_str(b, "printf '");
		for (size_t j = i; j < n && j < i + 512; j++)
			buf_printf(b, "\\%03o", (unsigned)(unsigned char)bytes[j]);
		buf_add_str(b, "'\n");
	}
}

/* What the probe is called with. */
static void
shell_probe_options(struct buf *b, const struct bench *bench)
{
	buf_add_str(b, " --json");
	if (bench == NULL)
		return;
	buf_add_str(b, " --measure-command ");
	shell_quote(b, bench->command);
	buf_add_str(b, " --measure-name ");
	shell_quote(b, bench->name);
	buf_printf(b, " --measure-devices %d --cap %" PRId64, bench->devices, bench->within_s);
}

enum berth_code
shell_measure(const char *address, const char *probe_path, const struct bench *bench,
    struct arena *a, const char **json_out, struct berth_err *err)
{
	const int timeout_s =
	    bench != NULL ? (int)bench->within_s + SHELL_TIMEOUT_S : SHELL_PROBE_TIMEOUT_S;
	bool here = strcmp(address, "localhost") == 0;
	enum berth_code rc = BERTH_OK;
	char *bytes;
	struct buf b;
	size_t n;
	int status;

	buf_init(&b, SHELL_SCRIPT_MAX);
	if (here) {
		shell_quote(&b, probe_path);
		shell_probe_options(&b, bench);
		buf_add_str(&b, " </dev/null\n");
	} else {
		rc = fileio_slurp(a, probe_path, PROBE_PROGRAM_MAX, &bytes, &n, err);
		if (rc == BERTH_OK) {
			buf_add_str(&b, "umask 077; t=$(mktemp) || exit 3\n{\n");
			shell_octal(&b, bytes, n);
			buf_add_str(&b, "} >\"$t\" && chmod 700 \"$t\" && \"$t\"");
			shell_probe_options(&b, bench);
			buf_add_str(&b, " </dev/null; s=$?; rm -f \"$t\"; exit $s\n");
		}
	}
	if (rc == BERTH_OK)
		rc = buf_check(&b, "probe script", err);
	if (rc == BERTH_OK)
		rc = shell_run(address, b.p, b.len, timeout_s, a, json_out, &status, err);
	buf_free(&b);
	return rc;
}
