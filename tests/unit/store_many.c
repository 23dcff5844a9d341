/* Many processes at once, processes that are killed, disks that are full, stores that are busy. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "store/db.h"
#include "store/event_rows.h"
#include "store/migrate.h"
#include "store/series_rows.h"
#include "tests/tap.h"
#include "tests/unit/store_tmp.h"

#define WRITERS 50
#define ROUNDS 3
#define STEP INT64_C(3600)
#define BATCH 20000

/* Opens (the first one makes the store), then writes short transactions of three kinds. */
static int
writer(const char *path, int me)
{
	struct event e = { .t = T0, .type = "test.write", .subject = "s", .data = "{}" };
	struct put_counts counts = { 0 };
	struct berth_err err;
	struct store *s;
	char name[32];
	int64_t id;

	snprintf(name, sizeof(name), "series-%d", me);
	if (store_open(path, STORE_CREATE, T0, &s, &err) != BERTH_OK)
		goto fail;
	for (int i = 0; i < ROUNDS; i++) {
		struct sample v = { T0 + i * STEP, me, me, 0 };

		if (store_run_begin(s, "writer", NULL, 0, T0, &err) != BERTH_OK || store_begin(s, &err) != BERTH_OK ||
		    store_series_put(s, name, NULL, "gpu", STEP, &id, &err) != BERTH_OK ||
		    store_samples_put(s, id, &v, 1, NULL, &counts, &err) != BERTH_OK ||
		    store_event_append(s, &e, &err) != BERTH_OK || store_commit(s, &err) != BERTH_OK ||
		    store_run_end(s, 0, T0, &err) != BERTH_OK)
			goto fail;
	}
	store_close(s);
	return 0;
fail:
	fprintf(stderr, "writer %d: %s\n", me, err.msg);
	return 1;
}

static void
test_writers(const char *path)
{
	int failed = 0, status;
	pid_t pid;

	fflush(stdout);
	for (int i = 0; i < WRITERS; i++)
		if ((pid = fork()) == 0)
			_exit(writer(path, i));
	while (wait(&status) > 0)
		failed += status != 0;
	tap_is_long(failed, 0, "none of %d processes failed, though all of them made and opened the store at once", WRITERS);
	tap_is_long(store_tmp_number(path, "SELECT count(*) FROM event"), WRITERS * ROUNDS, "every event is there");
	tap_is_long(store_tmp_number(path, "SELECT count(*) FROM sample"), WRITERS * ROUNDS, "every sample");
	tap_is_long(store_tmp_number(path, "SELECT count(*) FROM meta WHERE key = 'installation'"), 1, "one installation");
	tap_is_long(store_tmp_number(path, "SELECT count(*) FROM run WHERE ended IS NULL"), 0, "every run ended");
}

/* Loads batch after batch, each twice BATCH samples in one transaction, until it is killed. */
static void
loader(const char *path)
{
	static struct sample v[BATCH];
	struct put_counts counts = { 0 };
	struct berth_err err;
	struct store *s;
	int64_t a, b;

	if (store_open(path, STORE_WRITE, T0, &s, &err) != BERTH_OK)
		_exit(1);
	for (int64_t batch = 0;; batch++) {
		for (int i = 0; i < BATCH; i++)
			v[i] = (struct sample){ T0 + (batch * BATCH + i) * STEP, 1.5, 2, 0 };
		if (store_begin(s, &err) != BERTH_OK || store_series_put(s, "a", NULL, "gpu", STEP, &a, &err) != BERTH_OK ||
		    store_series_put(s, "b", NULL, "gpu", STEP, &b, &err) != BERTH_OK ||
		    store_samples_put(s, a, v, BATCH, NULL, &counts, &err) != BERTH_OK ||
		    store_samples_put(s, b, v, BATCH, NULL, &counts, &err) != BERTH_OK || store_commit(s, &err) != BERTH_OK)
			_exit(1);
	}
}

static void
quiet_say(void *arg, const char *what)
{
	(void)arg;
	tap_diag("%s", what);
}

static void
test_kill(const char *path)
{
	int64_t na = 0, nb = 0;
	size_t faults = 1;
	struct berth_err err;
	struct store *s;
	int torn = 0, status;
	pid_t pid;

	store_close(store_tmp_open(path));
	/* 10 ms to 320 ms; longer on a machine so busy that nothing was loaded by then. */
	for (int i = 0; i < 12 || (na == 0 && i < 20); i++) {
		int64_t ns = INT64_C(10000000) << (i / 2);
		struct timespec nap = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

		fflush(stdout);
		if ((pid = fork()) == 0)
			loader(path);
		nanosleep(&nap, NULL);
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		if (!WIFSIGNALED(status))
			tap_ok(0, "the loader ended by itself");
		na = store_tmp_number(path, "SELECT count(*) FROM sample WHERE series_id = "
		    "(SELECT id FROM series WHERE name = 'a')");
		nb = store_tmp_number(path, "SELECT count(*) FROM sample WHERE series_id = "
		    "(SELECT id FROM series WHERE name = 'b')");
		torn += na != nb || na % BATCH != 0;
	}
	tap_is_long(torn, 0, "killed again and again, a batch was all there or not at all");
	tap_ok(na > 0, "and some were: %lld samples", (long long)(na + nb));
	tap_code(store_open(path, STORE_WRITE, T0, &s, &err), BERTH_OK, &err);
	tap_code(store_check(s, quiet_say, NULL, &faults, &err), BERTH_OK, &err);
	tap_is_long((long long)faults, 0, "the store is sound");
	store_close(s);
}

/* A file may grow to 2 MB and no further: what a full disk does, without one. */
static int
filler(const char *path)
{
	struct rlimit limit = { 2000000, 2000000 };
	static struct sample v[BATCH * 10];
	struct put_counts counts = { 0 };
	struct berth_err err;
	struct store *s;
	int64_t id;

	signal(SIGXFSZ, SIG_IGN);
	if (store_open(path, STORE_WRITE, T0, &s, &err) != BERTH_OK || setrlimit(RLIMIT_FSIZE, &limit) != 0)
		return 10;
	for (int i = 0; i < BATCH * 10; i++)
		v[i] = (struct sample){ T0 + i * STEP, i + 0.1, i + 0.1, 0 };
	if (store_series_put(s, "full", NULL, "gpu", STEP, &id, &err) != BERTH_OK)
		return 11;
	if (store_samples_put(s, id, v, BATCH * 10, NULL, &counts, &err) != BERTH_EIO)
		return 12;
	if (strstr(err.msg, path) == NULL || (strstr(err.msg, "full") == NULL && strstr(err.msg, "large") == NULL))
		return 13;
	if (counts.stored != 0)
		return 14;
	/* The store can still be used in the room that is left. */
	if (store_samples_put(s, id, v, 10, NULL, &counts, &err) != BERTH_OK)
		return 15;
	store_close(s);
	return 0;
}

static void
test_full(const char *path)
{
	int status;
	pid_t pid;

	store_close(store_tmp_open(path));
	fflush(stdout);
	if ((pid = fork()) == 0)
		_exit(filler(path));
	waitpid(pid, &status, 0);
	tap_ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a full disk is an error that names the file (%d)",
	    WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	tap_is_long(store_tmp_number(path, "SELECT count(*) FROM sample"), 10, "nothing of the load was stored");
}

/* Holds the store's write lock until the pipe says enough, and 200 ms longer. */
static int
holder(const char *path, int ready, int enough)
{
	struct db_open o = { .path = path, .write = true, .busy_timeout_ms = 20000 };
	struct timespec nap = { .tv_nsec = 200000000L };
	struct berth_err err;
	struct db *db;
	char c = 'x';

	if (db_open(&o, &db, &err) != BERTH_OK || db_begin(db, true, &err) != BERTH_OK || write(ready, &c, 1) != 1 ||
	    read(enough, &c, 1) != 1)
		return 21;
	nanosleep(&nap, NULL);
	if (db_commit(db, &err) != BERTH_OK)
		return 22;
	db_close(db);
	return 0;
}

/* Another process holds the store: a short wait is fine, a long one ends with the name of the file. */
static void
test_busy(const char *path)
{
	struct db_open o = { .path = path, .write = true, .busy_timeout_ms = 400 };
	int ready[2], enough[2], status;
	struct berth_err err;
	struct store *s;
	struct db *db;
	char c = 'x';
	pid_t pid;

	store_close(store_tmp_open(path));
	fflush(stdout);
	tap_ok(pipe(ready) == 0 && pipe(enough) == 0, "two pipes");
	if ((pid = fork()) == 0)
		_exit(holder(path, ready[1], enough[0]));
	tap_is_long(read(ready[0], &c, 1), 1, "the other one holds it");
	tap_code(db_open(&o, &db, &err), BERTH_OK, &err);
	tap_code(db_begin(db, true, &err), BERTH_ETRANSIENT, &err);
	tap_ok(strstr(err.msg, path) != NULL && strstr(err.msg, "again") != NULL, "says: %s", err.msg);
	db_close(db);
	tap_is_long(write(enough[1], &c, 1), 1, "it lets go soon");
	tap_code(store_open(path, STORE_WRITE, T0, &s, &err), BERTH_OK, &err);
	tap_code(store_run_begin(s, "waits", NULL, 0, T0, &err), BERTH_OK, &err);
	store_close(s);
	waitpid(pid, &status, 0);
	tap_is_long(status, 0, "the other one had its way");
}

static void
test_lock(const char *path)
{
	struct berth_err err;
	struct store *a = store_tmp_open(path);
	int status;
	pid_t pid;

	tap_code(store_lock(a, "tick", &err), BERTH_OK, &err);
	fflush(stdout);
	if ((pid = fork()) == 0) {
		struct store *b;

		if (store_open(path, STORE_WRITE, T0, &b, &err) != BERTH_OK)
			_exit(1);
		_exit(store_lock(b, "tick", &err) == BERTH_ELOCKED ? 0 : 2);
	}
	waitpid(pid, &status, 0);
	tap_is_long(status, 0, "one pass at a time");
	store_unlock(a);
	if ((pid = fork()) == 0) {
		struct store *b;

		if (store_open(path, STORE_WRITE, T0, &b, &err) != BERTH_OK)
			_exit(1);
		_exit(store_lock(b, "tick", &err) == BERTH_OK ? 0 : 2);
	}
	waitpid(pid, &status, 0);
	tap_is_long(status, 0, "then the next");
	store_close(a);
}

int
main(void)
{
	char path[1024];

	snprintf(path, sizeof(path), "%s", store_tmp_path("many.db"));
	test_writers(path);
	snprintf(path, sizeof(path), "%s", store_tmp_path("kill.db"));
	test_kill(path);
	snprintf(path, sizeof(path), "%s", store_tmp_path("full.db"));
	test_full(path);
	snprintf(path, sizeof(path), "%s", store_tmp_path("busy.db"));
	test_busy(path);
	snprintf(path, sizeof(path), "%s", store_tmp_path("lock.db"));
	test_lock(path);
	store_tmp_end();
	return tap_done();
}
