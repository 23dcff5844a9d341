/* tests/unit/child.c - a program run to its end: its input, both outputs, its status, and what goes wrong. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/tap.h"
#include "util/child.h"
#include "util/time.h"

static struct buf out, errs;

static enum berth_code
run(const char *script, const char *in, size_t n, int timeout_s, int *status, struct berth_err *err)
{
	const char *argv[] = { "sh", "-c", script, NULL };

	buf_clear(&out);
	buf_clear(&errs);
	return child_run(argv, in, n, timeout_s, &out, &errs, status, err);
}

static int
descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += dup2(fd, fd) == fd;
	return n;
}

int
main(void)
{
	const char *nobody[] = { "berth-no-such-program", NULL };
	struct berth_err err = { 0 };
	size_t big = 3000000;
	int64_t t0;
	char *text;
	int status = -1, before;

	signal(SIGPIPE, SIG_IGN);
	buf_init(&out, 4000000);
	buf_init(&errs, 100);
	before = descriptors();
	tap_code(run("cat; echo no >&2; exit 3", "in", 2, 10, &status, &err), BERTH_OK, &err);
	tap_is_str(out.p, "in", "what it read it printed");
	tap_is_str(errs.p, "no\n", "its other output");
	tap_is_long(status, 3, "its status");
	tap_code(run("kill -TERM $$", "", 0, 10, &status, &err), BERTH_OK, &err);
	tap_is_long(status, 128 + SIGTERM, "ended by a signal");
	text = malloc(big);
	memset(text, 'x', big);
	tap_code(run("cat", text, big, 20, &status, &err), BERTH_OK, &err);
	tap_ok(out.len == big && memcmp(out.p, text, big) == 0, "more than a pipe holds goes in and comes out");
	tap_code(run("exit 0", text, big, 20, &status, &err), BERTH_OK, &err);
	tap_is_long(status, 0, "input that nobody reads does no harm");
	tap_code(run("yes | head -c 5000000", "", 0, 20, &status, &err), BERTH_EINVAL, &err);
	tap_code(run("yes x | head -c 300 >&2", "", 0, 20, &status, &err), BERTH_OK, &err);
	tap_is_long((long)errs.len, 100, "its complaints are cut");
	t0 = time_mono_ms();
	tap_code(run("exec sleep 30", "", 0, 1, &status, &err), BERTH_ETRANSIENT, &err);
	tap_ok(time_mono_ms() - t0 < 10000 && strstr(err.msg, "within 1 s") != NULL, "%s", err.msg);
	tap_code(child_run(nobody, "", 0, 5, &out, &errs, &status, &err), BERTH_ENOTFOUND, &err);
	tap_is_long(descriptors(), before, "no descriptor is left open");
	free(text);
	buf_free(&out);
	buf_free(&errs);
	return tap_done();
}
