#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/report.h"
#include "kernels/tool.h"

static const char tool_dirs[] =
    "/opt/aws/neuron/bin:/opt/rocm/bin:/usr/local/bin:/usr/bin:/usr/sbin:/usr/local/sbin:"
    "/usr/local/Ascend/driver/tools";

static bool
tool_find_in(const char *dirs, const char *name, char *path, size_t n)
{
	while (dirs != NULL && *dirs != '\0') {
		const size_t len = strcspn(dirs, ":");

		if (len > 0 && (size_t)snprintf(path, n, "%.*s/%s", (int)len, dirs, name) < n &&
		    access(path, X_OK) == 0)
			return true;
		dirs += len + (dirs[len] == ':');
	}
	return false;
}

static bool
tool_find(const char *name, char *path, size_t n)
{
	if (strchr(name, '/') != NULL)
		return (size_t)snprintf(path, n, "%s", name) < n && access(path, X_OK) == 0;
	return tool_find_in(getenv("PATH"), name, path, n) ||
	       tool_find_in(tool_dirs, name, path, n);
}

bool
tool_exists(const char *name)
{
	char path[1024];

	return tool_find(name, path, sizeof(path));
}

static volatile sig_atomic_t tool_group; /* of the tool that runs; 0: none */

/* The tool ends with the program, and what it started with it. */
static void
tool_signal(int sig)
{
	if (tool_group > 0)
		kill(-(pid_t)tool_group, SIGKILL);
	raise(sig); /* held back until here; its handler is the default again */
}

static void
tool_catch(void)
{
	static const int sigs[] = { SIGTERM, SIGINT, SIGHUP };
	struct sigaction was, now = { .sa_handler = tool_signal, .sa_flags = (int)SA_RESETHAND };

	sigemptyset(&now.sa_mask);
	for (size_t i = 0; i < sizeof(sigs) / sizeof(sigs[0]); i++)
		if (sigaction(sigs[i], NULL, &was) == 0 && was.sa_handler == SIG_DFL)
			(void)sigaction(sigs[i], &now, NULL);
}

static pid_t
tool_start(const char *path, const char *const *argv, int *fd_out)
{
	int p[2];
	pid_t pid;

	if (pipe(p) != 0)
		return -1;
	tool_catch();
	pid = fork();
	if (pid == 0) {
		const int null = open("/dev/null", O_RDWR);

		setpgid(0, 0);
#ifdef __linux__
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
		if (null < 0 || dup2(null, 0) < 0 || dup2(p[1], 1) < 0 || dup2(null, 2) < 0)
			_exit(127);
		for (int fd = 3; fd < 256; fd++)
			close(fd);
		execv(path, (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	close(p[1]);
	if (pid < 0) {
		close(p[0]);
		return -1;
	}
	setpgid(pid, pid); /* whoever comes first */
	tool_group = (sig_atomic_t)pid;
	fcntl(p[0], F_SETFD, FD_CLOEXEC);
	*fd_out = p[0];
	return pid;
}

/* Reads until the end, the first line, the cap or the deadline; sets out->end. */
static void
tool_read(int fd, double deadline, bool one_line, struct tool_out *out)
{
	size_t cap = 0;

	for (;;) {
		const double left = deadline - report_now();
		struct pollfd pfd = { .fd = fd, .events = POLLIN };
		ssize_t got;
		int rc;

		if (out->len + 1 >= cap) {
			char *more = cap >= TOOL_BYTES_MAX
					 ? NULL
					 : realloc(out->text, cap == 0 ? 65536 : cap * 2);

			if (more == NULL) {
				out->end = TOOL_FAILED;
				snprintf(out->why, sizeof(out->why), "more output than %zu MiB",
				    TOOL_BYTES_MAX >> 20);
				return;
			}
			out->text = more;
			cap = cap == 0 ? 65536 : cap * 2;
		}
		out->text[out->len] = '\0';
		rc = left <= 0 ? 0 : poll(&pfd, 1, left > 1 ? 1000 : (int)(left * 1000) + 1);
		if (rc < 0 && errno != EINTR)
			return;
		if (rc <= 0 && report_now() >= deadline) {
			out->end = TOOL_HUNG;
			return;
		}
		if (rc <= 0)
			continue;
		got = read(fd, out->text + out->len, cap - 1 - out->len);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return;
		out->len += (size_t)got;
		out->text[out->len] = '\0';
		if (one_line && memchr(out->text, '\n', out->len) != NULL)
			return;
	}
}

/* A process that hangs in the kernel cannot be reaped: it is left alone after a second. */
static bool
tool_reap(pid_t pid, double until, int *status)
{
	for (;;) {
		siginfo_t si = { .si_pid = 0 };
		const int rc = waitid(P_PID, (id_t)pid, &si, WEXITED | WNOHANG | WNOWAIT);

		if (rc == 0 && si.si_pid == pid) {
			kill(-pid,
			    SIGKILL); /* what it left behind, while its number is still taken */
			return waitpid(pid, status, 0) == pid;
		}
		if ((rc < 0 && errno != EINTR) || report_now() > until)
			return false;
		usleep(2000);
	}
}

void
tool_run(const char *const *argv, double cap_s, bool one_line, struct tool_out *out)
{
	const double deadline = report_now() + cap_s;
	char path[1024];
	int fd = -1, status = 0;
	bool ended;
	pid_t pid;

	*out = (struct tool_out){ .end = TOOL_OK };
	if (!tool_find(argv[0], path, sizeof(path))) {
		out->end = TOOL_NONE;
		snprintf(out->why, sizeof(out->why), "%s is not installed", argv[0]);
		return;
	}
	pid = tool_start(path, argv, &fd);
	if (pid < 0) {
		out->end = TOOL_FAILED;
		snprintf(out->why, sizeof(out->why), "%s: %s", argv[0], strerror(errno));
		return;
	}
	tool_read(fd, deadline, one_line, out);
	close(fd);
	ended = out->end == TOOL_OK && !one_line && tool_reap(pid, deadline, &status);
	if (!ended) {
		kill(-pid, SIGKILL);
		kill(pid, SIGKILL);
		(void)tool_reap(pid, report_now() + 1, &status);
		if (out->end == TOOL_OK && !one_line)
			out->end = TOOL_HUNG;
	}
	tool_group = 0;
	if (out->end == TOOL_HUNG)
		snprintf(out->why, sizeof(out->why), "%s did not answer within %g s and was killed",
		    argv[0], cap_s);
	else if (ended && status != 0) {
		out->end = TOOL_FAILED;
		snprintf(out->why, sizeof(out->why), "%s ended with %s %d", argv[0],
		    WIFSIGNALED(status) ? "signal" : "status",
		    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	}
}

void
tool_free(struct tool_out *out)
{
	free(out->text);
	out->text = NULL;
	out->len = 0;
}
