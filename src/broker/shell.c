/* One child process with a script on its standard input: sh here, or ssh to a machine. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "broker/shell.h"
#include "util/buf.h"
#include "util/time.h"

#define SHELL_OUTPUT_MAX (4U << 20)

extern char **environ;

struct shell_child {
	pid_t pid;
	int in, out, err;
};

static const char *const shell_ssh[] = { "ssh", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "-o",
	"ConnectTimeout=15", "-o", "ForwardAgent=no", "-o", "ClearAllForwardings=yes", "-T", "--", NULL };

static enum berth_code
shell_spawn(const char *address, struct arena *a, struct shell_child *c, struct berth_err *err)
{
	int in[2] = { -1, -1 }, out[2] = { -1, -1 }, errs[2] = { -1, -1 }, rc;
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t attr;
	sigset_t usual;
	const char *argv[24];
	size_t n = 0;

	if (strcmp(address, "localhost") != 0) {
		for (; shell_ssh[n] != NULL; n++)
			argv[n] = shell_ssh[n];
		argv[n++] = address;
	}
	argv[n++] = "sh";
	argv[n++] = "-s";
	argv[n] = NULL;
	if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 || pipe2(errs, O_CLOEXEC) != 0)
		return err_sys(err, BERTH_EIO, errno, "pipe");	/* the few descriptors end with the process */
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_adddup2(&fa, in[0], 0);
	posix_spawn_file_actions_adddup2(&fa, out[1], 1);
	posix_spawn_file_actions_adddup2(&fa, errs[1], 2);
	/* berth ignores these; a job must not: in it `yes | head` ends by one. */
	sigemptyset(&usual);
	sigaddset(&usual, SIGPIPE);
	sigaddset(&usual, SIGXFSZ);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigdefault(&attr, &usual);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
	rc = posix_spawnp(&c->pid, argv[0], &fa, &attr, (char *const *)arena_memdup(a, argv, sizeof(argv)), environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&fa);
	close(in[0]);
	close(out[1]);
	close(errs[1]);
	c->in = in[1];
	c->out = out[0];
	c->err = errs[0];
	return rc == 0 ? BERTH_OK : err_sys(err, BERTH_EIO, rc, "%s", argv[0]);
}

/* Moves what one ready descriptor has; closes it at its end. */
static void
shell_drain(int *fd, struct buf *to)
{
	char chunk[16384];
	ssize_t n = read(*fd, chunk, sizeof(chunk));

	if (n > 0) {
		buf_add(to, chunk, (size_t)n);
		return;
	}
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	close(*fd);
	*fd = -1;
}

static void
shell_feed(int *fd, const char *script, size_t len, size_t *sent)
{
	ssize_t n = write(*fd, script + *sent, len - *sent);

	if (n > 0)
		*sent += (size_t)n;
	if (*sent == len || (n < 0 && errno != EINTR && errno != EAGAIN)) {
		close(*fd);
		*fd = -1;
	}
}

/* Feeds and drains until both outputs end; false at the deadline. */
static bool
shell_talk(struct shell_child *c, const char *script, size_t len, int64_t deadline_ms, struct buf *out, struct buf *errs)
{
	size_t sent = 0;

	fcntl(c->in, F_SETFL, O_NONBLOCK);
	while (c->out >= 0 || c->err >= 0) {
		struct pollfd p[3] = { { c->in, POLLOUT, 0 }, { c->out, POLLIN, 0 }, { c->err, POLLIN, 0 } };
		int64_t left = deadline_ms - time_mono_ms();

		if (left <= 0)
			return false;
		if (poll(p, 3, (int)left) < 0 && errno != EINTR)
			return false;
		if (p[0].revents != 0 && c->in >= 0)
			shell_feed(&c->in, script, len, &sent);
		if (p[1].revents != 0)
			shell_drain(&c->out, out);
		if (p[2].revents != 0)
			shell_drain(&c->err, errs);
	}
	return true;
}

static int
shell_reap(struct shell_child *c, bool in_time)
{
	int status = 0;

	if (c->in >= 0)
		close(c->in);
	if (c->out >= 0)
		close(c->out);
	if (c->err >= 0)
		close(c->err);
	if (!in_time)
		kill(c->pid, SIGKILL);
	while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

enum berth_code
shell_run(const char *address, const char *script, size_t script_len, int timeout_s, struct arena *a,
    const char **text_out, int *status_out, struct berth_err *err)
{
	bool here = strcmp(address, "localhost") == 0, in_time;
	struct shell_child c = { .in = -1, .out = -1, .err = -1 };
	struct buf out, errs;
	enum berth_code rc;

	if (address[0] == '\0' || address[0] == '-')
		return err_set(err, BERTH_EINVAL, "'%s' is no address that ssh could reach", address);
	rc = shell_spawn(address, a, &c, err);
	if (rc != BERTH_OK)
		return rc;
	buf_init(&out, SHELL_OUTPUT_MAX);
	buf_init(&errs, 4096);
	in_time = shell_talk(&c, script, script_len, time_mono_ms() + (int64_t)timeout_s * 1000, &out, &errs);
	*status_out = shell_reap(&c, in_time);
	if (!in_time)
		rc = err_set(err, BERTH_ETRANSIENT, "%s: no answer within %d s", address, timeout_s);
	else if (!here && *status_out == 255)
		rc = err_set(err, BERTH_ETRANSIENT, "%s: %.300s", address, errs.len > 0 ? errs.p : "ssh failed");
	else
		rc = buf_check(&out, address, err);
	if (rc == BERTH_OK)
		*text_out = arena_strndup(a, out.len > 0 ? out.p : "", out.len);
	buf_free(&out);
	buf_free(&errs);
	return rc;
}
