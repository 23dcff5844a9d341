#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"
#include "util/fileio.h"
#include "util/lock.h"
#include "util/log.h"
#include "util/xdg.h"

static char *
path_in(struct arena *a, const char *dir, const char *name)
{
	return arena_printf(a, "%s/%s", dir, name);
}

static int
files_in(const char *dir)
{
	char command[300], line[16] = "";
	FILE *f;

	snprintf(command, sizeof(command), "ls -A '%s' | wc -l", dir);
	f = popen(command, "r");
	if (fgets(line, sizeof(line), f) == NULL)
		line[0] = '\0';
	pclose(f);
	return atoi(line);
}

static void
test_read(struct arena *a, const char *dir)
{
	struct berth_err err = { 0 };
	const char *path = path_in(a, dir, "read");
	char *bytes = NULL;
	struct buf b;
	size_t n = 0;

	tap_code(atomicfile_write(path, "a\0b", 3, 0600, &err), BERTH_OK, &err);
	tap_code(fileio_slurp(a, path, 3, &bytes, &n, &err), BERTH_OK, &err);
	tap_ok(n == 3 && memcmp(bytes, "a\0b", 4) == 0, "exactly the cap is read, with a NUL behind");
	tap_code(fileio_slurp(a, path, 2, &bytes, &n, &err), BERTH_EINVAL, &err);
	tap_ok(strstr(err.msg, "more than 2 bytes") != NULL, "over it is said: %s", err.msg);
	tap_code(fileio_slurp(a, path_in(a, dir, "none"), 10, &bytes, &n, &err), BERTH_ENOTFOUND, &err);
	tap_code(fileio_slurp(a, dir, 10, &bytes, &n, &err), BERTH_EIO, &err);
	buf_init(&b, 10);
	buf_add_str(&b, "x");
	tap_code(fileio_read("/dev/zero", &b, &err), BERTH_EINVAL, &err);
	buf_free(&b);
	tap_ok(fileio_exists(path) && !fileio_exists(path_in(a, dir, "none")), "exists");
}

static void
test_write(struct arena *a, const char *dir)
{
	struct berth_err err = { 0 };
	const char *path = path_in(a, dir, "file"), *link = path_in(a, dir, "link");
	struct stat st;
	char *bytes = NULL;
	int before;

	tap_code(atomicfile_write(path, "one", 3, 0600, &err), BERTH_OK, &err);
	tap_ok(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600, "a new file has the mode asked for");
	chmod(path, 0640);
	tap_ok(symlink("file", link) == 0, "a link");
	tap_code(atomicfile_write(link, "two", 3, 0600, &err), BERTH_OK, &err);
	tap_ok(lstat(link, &st) == 0 && S_ISLNK(st.st_mode), "stays one");
	tap_ok(stat(path, &st) == 0 && (st.st_mode & 0777) == 0640, "and its file keeps its mode");
	tap_code(fileio_slurp(a, path, 10, &bytes, NULL, &err), BERTH_OK, &err);
	tap_is_str(bytes, "two", "with the new bytes");
	before = files_in(dir);
	tap_code(atomicfile_write(path_in(a, dir, "no/file"), "x", 1, 0600, &err), BERTH_EIO, &err);
	tap_code(atomicfile_write("/dev/full", "x", 1, 0600, &err), BERTH_EIO, &err);
	tap_ok(strstr(err.msg, "No space left") != NULL, "a full device: %s", err.msg);
	tap_code(atomicfile_write("/dev/null", "x", 1, 0600, &err), BERTH_OK, &err);
	tap_ok(stat("/dev/null", &st) == 0 && S_ISCHR(st.st_mode), "a device stays one");
	tap_is_long(files_in(dir), before, "no temporary file stays behind");
}

/* A child that may write 4 KiB at most (a full disk, to it) leaves the old bytes and no litter. */
static void
test_full(struct arena *a, const char *dir)
{
	struct berth_err err = { 0 };
	const char *path = path_in(a, dir, "full");
	static char big[1 << 20];
	char *bytes = NULL, command[600];
	int before, status;

	tap_code(atomicfile_write(path, "old", 3, 0600, &err), BERTH_OK, &err);
	before = files_in(dir);
	fflush(stdout);
	if (fork() == 0) {
		snprintf(command, sizeof(command), "ulimit -f 4; trap '' XFSZ; exec \"$0\" write '%s'", path);
		execl("/bin/sh", "sh", "-c", command, getenv("TEST_SELF"), (char *)NULL);
		_exit(126);
	}
	wait(&status);
	tap_ok(WIFEXITED(status) && WEXITSTATUS(status) == 7, "a write that does not fit fails");
	tap_code(fileio_slurp(a, path, sizeof(big), &bytes, NULL, &err), BERTH_OK, &err);
	tap_is_str(bytes, "old", "the old bytes are there");
	tap_is_long(files_in(dir), before, "and nothing else");
}

static int
write_big(const char *path)
{
	static char big[1 << 20];
	struct berth_err err = { 0 };

	return atomicfile_write(path, big, sizeof(big), 0600, &err) == BERTH_EIO ? 7 : 1;
}

static void
test_dirs(struct arena *a, const char *dir)
{
	struct berth_err err = { 0 };
	struct stat st;

	tap_code(fileio_mkdirs(path_in(a, dir, "p/q//r/"), &err), BERTH_OK, &err);
	tap_ok(stat(path_in(a, dir, "p/q/r"), &st) == 0 && (st.st_mode & 0777) == 0700, "directories of one's own");
	tap_code(fileio_mkdirs(path_in(a, dir, "p/q"), &err), BERTH_OK, &err);
	tap_code(fileio_mkdirs_for(path_in(a, dir, "s/t/file"), &err), BERTH_OK, &err);
	tap_ok(stat(path_in(a, dir, "s/t"), &st) == 0 && !fileio_exists(path_in(a, dir, "s/t/file")), "for a file");
	tap_code(fileio_mkdirs_for("file", &err), BERTH_OK, &err);
	tap_code(fileio_mkdirs(path_in(a, dir, "file/x"), &err), BERTH_EIO, &err);
}

static void
test_lock(struct arena *a, const char *dir)
{
	struct berth_err err = { 0 };
	struct lockfile one = LOCKFILE_NONE, two = LOCKFILE_NONE;
	const char *path = path_in(a, dir, "lock");
	char pid[32];
	int status, held[2];

	tap_code(lockfile_take(path, 0, &one, &err), BERTH_OK, &err);
	tap_code(lockfile_take(path, 50, &two, &err), BERTH_ELOCKED, &err);
	snprintf(pid, sizeof(pid), "process %ld ", (long)getpid());
	tap_ok(strstr(err.msg, pid) != NULL, "the holder is named: %s", err.msg);
	fflush(stdout);
	if (fork() == 0)
		_exit(lockfile_take(path, 0, &two, &err) == BERTH_ELOCKED ? 9 : 0);
	wait(&status);
	tap_is_long(WEXITSTATUS(status), 9, "another process is kept out");
	lockfile_release(&one);
	lockfile_release(&one);
	fflush(stdout);
	tap_ok(pipe(held) == 0, "a pipe");
	if (fork() == 0) {	/* a holder that dies */
		if (lockfile_take(path, 0, &two, NULL) != BERTH_OK || write(held[1], "h", 1) != 1)
			_exit(1);
		usleep(200000);
		_exit(0);
	}
	close(held[1]);
	tap_is_long(read(held[0], pid, 1), 1, "another process holds it");
	close(held[0]);
	tap_code(lockfile_take(path, 60000, &one, &err), BERTH_OK, &err);
	wait(&status);
	lockfile_release(&one);
	tap_code(lockfile_take(path_in(a, dir, "no/lock"), 0, &one, &err), BERTH_EIO, &err);
}

static void
test_xdg(struct arena *a)
{
	struct berth_err err = { 0 };
	char *path = NULL;

	setenv("HOME", "/home/u", 1);
	unsetenv("XDG_CONFIG_HOME");
	tap_code(xdg_path(a, XDG_CONFIG, "berth.yaml", "--config FILE", &path, &err), BERTH_OK, &err);
	tap_is_str(path, "/home/u/.config/berth/berth.yaml", "the default");
	setenv("XDG_CONFIG_HOME", "/c", 1);
	tap_code(xdg_path(a, XDG_CONFIG, "berth.yaml", "--config FILE", &path, &err), BERTH_OK, &err);
	tap_is_str(path, "/c/berth/berth.yaml", "the variable");
	setenv("XDG_STATE_HOME", "relative", 1);
	tap_code(xdg_path(a, XDG_STATE, "store.db", "--store PATH", &path, &err), BERTH_OK, &err);
	tap_is_str(path, "/home/u/.local/state/berth/store.db", "a relative one is ignored");
	unsetenv("HOME");
	tap_code(xdg_path(a, XDG_STATE, "store.db", "--store PATH", &path, &err), BERTH_EUSAGE, &err);
	tap_is_str(err.msg, "no home directory: set HOME, or give --store PATH", "no home");
}

static void
test_log(void)
{
	struct berth_err err = { 0 };
	struct log l = { .level = LOG_INFO, .f = tmpfile() };
	char text[2000] = "";

	log_debug(&l, "not shown");
	log_info(&l, "info %d", 1);
	log_warn(&l, "a\033[2J\nb\xff\xc2\x9b" "c \xc3\xa4");
	err_set(&err, BERTH_EINVAL, "bad");
	log_err(&l, &err);
	err_at(&err, "f:1");
	log_err(&l, &err);
	rewind(l.f);
	text[fread(text, 1, sizeof(text) - 1, l.f)] = '\0';
	tap_is_str(text, "berth: info 1\nberth: warning: a\\x1B[2J\\x0Ab\\xFF\\xC2\\x9Bc \xc3\xa4\nberth: bad\n"
	    "berth: f:1: bad\n", "messages, with control bytes shown");
	fclose(l.f);
}

static void
test_flush(void)
{
	struct berth_err err = { 0 };
	FILE *f = fopen("/dev/full", "w");

	fputs("x", f);
	tap_code(fileio_flush(f, "stdout", &err), BERTH_EIO, &err);
	tap_is_str(err.msg, "stdout: No space left on device", "a full disk is said");
	fclose(f);
}

int
main(int argc, char **argv)
{
	char dir[] = "/tmp/berth-fileio-XXXXXX", command[64];
	struct arena *a;

	if (argc > 2)
		return write_big(argv[2]);
	a = arena_new();
	setenv("TEST_SELF", argv[0], 1);
	if (mkdtemp(dir) == NULL)
		return 1;
	test_read(a, dir);
	test_write(a, dir);
	test_full(a, dir);
	test_dirs(a, dir);
	test_lock(a, dir);
	test_log();
	test_flush();
	test_xdg(a);
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	tap_ok(system(command) == 0, "cleaned up");
	arena_free(a);
	return tap_done();
}
