#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/tap.h"
#include "util/progress.h"

static char text[4096];

/* What has been written to the terminal so far. */
static const char *
drain(int master)
{
	size_t n = 0;
	ssize_t got;

	while (n + 1 < sizeof(text) && (got = read(master, text + n, sizeof(text) - 1 - n)) > 0)
		n += (size_t)got;
	text[n] = '\0';
	return text;
}

static void
nap(long ms)
{
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 }, NULL);
}

static void
test_terminal(int master)
{
	struct progress p;
	int draws = 0;

	progress_start(&p, true, "usage.csv", "rows", 1000);
	progress_set(&p, 1);
	tap_is_str(drain(master), "", "what ends soon draws nothing");
	nap(650);
	for (int64_t i = 100; i < 500; i++)
		progress_set(&p, i);
	drain(master);
	tap_ok(strstr(text, "usage.csv: ") != NULL && strstr(text, " rows, ") != NULL && strstr(text, "%, ") != NULL &&
	    strstr(text, " left") != NULL, "count, rate, share and time left");
	for (const char *c = text; *c != '\0'; c++)
		draws += *c == '\r';
	tap_ok(draws >= 1 && draws <= 8, "400 calls in a moment draw a few times at most: %d", draws);
	progress_end(&p);
	tap_is_str(drain(master), "\r\033[K", "the line is wiped at the end");
	progress_start(&p, false, "x", "rows", 10);
	nap(650);
	progress_set(&p, 5);
	progress_end(&p);
	tap_is_str(drain(master), "", "nothing when it is not wanted");
}

int
main(void)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK), slave;
	struct progress p;

	if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0 ||
	    (slave = open(ptsname(master), O_RDWR | O_NOCTTY)) < 0) {
		tap_skip("progress on a terminal", "no pseudo terminal");
		return tap_done();
	}
	setenv("COLUMNS", "80", 1);
	dup2(slave, STDERR_FILENO);
	test_terminal(master);
	close(STDERR_FILENO);
	if (open("/dev/null", O_WRONLY) != STDERR_FILENO)
		return 99;
	progress_start(&p, true, "x", "rows", 10);
	tap_ok(!p.on, "no terminal, no progress");
	return tap_done();
}
