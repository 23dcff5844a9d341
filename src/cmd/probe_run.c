#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/probe.h"
#include "cmd/progpath.h"
#include "util/arena.h"
#include "util/buf.h"

#define PROBE_OUTPUT_MAX ((size_t)4 << 20)

/* In the child: ends with berth, however that ends. */
static void
probe_exec(const char *const *argv, pid_t parent, int out)
{
	const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

#ifdef __linux__
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid() != parent)
		_exit(127);
#else
	(void)parent;
#endif
	if (null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0)
		_exit(127);
	execv(argv[0], (char *const *)(uintptr_t)argv);
}

/* What execv() says comes back over a pipe of its own, which a program that was started closes. */
static enum berth_code
probe_spawn(const char *const *argv, int *fd_out, pid_t *pid_out, struct berth_err *err)
{
	const pid_t self = getpid();
	int p[2], said[2], why = 0;

	if (pipe2(p, O_CLOEXEC) != 0)
		return err_sys(err, BERTH_EIO, errno, "pipe");
	if (pipe2(said, O_CLOEXEC) != 0) {
		close(p[0]);
		close(p[1]);
		return err_sys(err, BERTH_EIO, errno, "pipe");
	}
	*pid_out = fork();
	if (*pid_out == 0) {
		probe_exec(argv, self, p[1]);
		why = errno;
		_exit(write(said[1], &why, sizeof(why)) == (ssize_t)sizeof(why) ? 127 : 126);
	}
	if (*pid_out < 0)
		why = errno;
	close(p[1]);
	close(said[1]);
	while (*pid_out > 0 && read(said[0], &why, sizeof(why)) < 0 && errno == EINTR)
		;
	close(said[0]);
	if (why != 0) {
		close(p[0]);
		while (*pid_out > 0 && waitpid(*pid_out, NULL, 0) < 0 && errno == EINTR)
			;
		return err_sys(err, BERTH_EIO, why, "%s", argv[0]);
	}
	*fd_out = p[0];
	return BERTH_OK;
}

/* All it prints; it ends by itself, its own time cap sees to that. */
static enum berth_code
probe_drain(int fd, struct buf *out, const char *name, struct berth_err *err)
{
	for (;;) {
		char *room = buf_reserve(out, 65536);
		ssize_t n;

		if (room == NULL)
			return buf_check(out, name, err);
		n = read(fd, room, 65536);
		if (n == 0)
			return BERTH_OK;
		if (n < 0 && errno != EINTR)
			return err_sys(err, BERTH_EIO, errno, "%s", name);
		if (n > 0)
			buf_commit(out, (size_t)n);
	}
}

enum berth_code
probe_run_here(struct cmd_ctx *ctx, const struct probe_opts *o, const struct bench *bench,
    const char **json_out, struct berth_err *err)
{
	const char *path = progpath_probe(ctx->arena), *argv[20];
	enum berth_code rc;
	struct buf out;
	size_t n = 0;
	int fd = -1, status = 0;
	pid_t pid = -1;

	if (path[0] == '\0') {
		cmd_next_step(ctx, "install berth-probe, or set BERTH_PROBE to it");
		return err_set(
		    err, BERTH_ENOTFOUND, "berth-probe, the measuring program, was not found");
	}
	argv[n++] = path;
	argv[n++] = "--json";
	if (o->quick || o->deep)
		argv[n++] = o->quick ? "--quick" : "--deep";
	if (o->only.n > 0) {
		argv[n++] = "--only";
		argv[n++] = o->only.v[0];
		for (size_t i = 1; i < o->only.n; i++)
			argv[n - 1] = arena_printf(ctx->arena, "%s,%s", argv[n - 1], o->only.v[i]);
	}
	if (bench != NULL) {
		argv[n++] = "--measure-command";
		argv[n++] = bench->command;
		argv[n++] = "--measure-devices";
		argv[n++] = arena_printf(ctx->arena, "%d", bench->devices);
		argv[n++] = "--measure-name";
		argv[n++] = bench->name;
		argv[n++] = "--cap";
		argv[n++] = arena_printf(ctx->arena, "%d", (int)bench->within_s);
	}
	argv[n] = NULL;
	rc = probe_spawn(argv, &fd, &pid, err);
	if (rc != BERTH_OK)
		return rc;
	buf_init(&out, PROBE_OUTPUT_MAX);
	rc = probe_drain(fd, &out, path, err);
	close(fd);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (rc == BERTH_OK && out.len == 0)
		rc = err_set(err, BERTH_EPROBE, "%s ended with %s %d and no result", path,
		    WIFSIGNALED(status) ? "signal" : "status",
		    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	if (rc == BERTH_OK)
		*json_out = arena_strndup(ctx->arena, out.p, out.len);
	buf_free(&out);
	return rc;
}
