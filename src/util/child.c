#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/child.h"
#include "util/time.h"

extern char **environ;

struct child {
	pid_t pid;
	int in, out, err;
};

static void
child_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static int
child_start(
    struct child *c, const char *const *argv, const int *in, const int *out, const int *errs)
{
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t attr;
	sigset_t usual;
	int rc;

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
	rc = posix_spawnp(&c->pid, argv[0], &fa, &attr, (char *const *)(uintptr_t)argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&fa);
	return rc;
}

static enum berth_code
child_spawn(struct child *c, const char *const *argv, struct berth_err *err)
{
	int in[2] = { -1, -1 }, out[2] = { -1, -1 }, errs[2] = { -1, -1 }, rc;

	if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 || pipe2(errs, O_CLOEXEC) != 0)
		rc = errno;
	else
		rc = child_start(c, argv, in, out, errs);
	child_close(&in[0]);
	child_close(&out[1]);
	child_close(&errs[1]);
	c->in = in[1];
	c->out = out[0];
	c->err = errs[0];
	if (rc == 0)
		return BERTH_OK;
	child_close(&c->in);
	child_close(&c->out);
	child_close(&c->err);
	return err_sys(err, rc == ENOENT ? BERTH_ENOTFOUND : BERTH_EIO, rc, "%s", argv[0]);
}

/* Moves what one ready descriptor has, cut at the cap if cut; closes it at its end. */
static void
child_drain(int *fd, struct buf *to, bool cut)
{
	char chunk[16384];
	ssize_t n = read(*fd, chunk, sizeof(chunk));

	if (n > 0)
		buf_add(to, chunk,
		    cut && (size_t)n > to->cap - to->len ? to->cap - to->len : (size_t)n);
	else if (n == 0 || (errno != EINTR && errno != EAGAIN))
		child_close(fd);
}

static void
child_feed(int *fd, const char *in, size_t n, size_t *sent)
{
	ssize_t got = *sent < n ? write(*fd, in + *sent, n - *sent) : 0;

	if (got > 0)
		*sent += (size_t)got;
	if (*sent >= n || (got < 0 && errno != EINTR && errno != EAGAIN))
		child_close(fd);
}

/* Feeds and drains until both outputs end; false at the deadline. */
static bool
child_talk(struct child *c, const char *in, size_t n, int64_t deadline_ms, struct buf *out,
    struct buf *errs)
{
	size_t sent = 0;

	fcntl(c->in, F_SETFL, O_NONBLOCK);
	while (c->out >= 0 || c->err >= 0) {
		struct pollfd p[3] = { { c->in, POLLOUT, 0 }, { c->out, POLLIN, 0 },
			{ c->err, POLLIN, 0 } };
		int64_t left = deadline_ms - time_mono_ms();

		if (left <= 0)
			return false;
		if (poll(p, 3, (int)left) < 0 && errno != EINTR)
			return false;
		if (p[0].revents != 0 && c->in >= 0)
			child_feed(&c->in, in, n, &sent);
		if (p[1].revents != 0)
			child_drain(&c->out, out, false);
		if (p[2].revents != 0)
			child_drain(&c->err, errs, true);
	}
	return true;
}

static int
child_reap(struct child *c, bool in_time)
{
	int status = 0;

	child_close(&c->in);
	child_close(&c->out);
	child_close(&c->err);
	if (!in_time)
		kill(c->pid, SIGKILL);
	while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

enum berth_code
child_run(const char *const *argv, const char *in, size_t n, int timeout_s, struct buf *out,
    struct buf *errs, int *status_out, struct berth_err *err)
{
	struct child c = { .in = -1, .out = -1, .err = -1 };
	enum berth_code rc = child_spawn(&c, argv, err);
	bool in_time;

	if (rc != BERTH_OK)
		return rc;
	in_time = child_talk(&c, in, n, time_mono_ms() + (int64_t)timeout_s * 1000, out, errs);
	*status_out = child_reap(&c, in_time);
	if (!in_time)
		return err_set(
		    err, BERTH_ETRANSIENT, "%s: no answer within %d s", argv[0], timeout_s);
	return buf_check(out, argv[0], err);
}
