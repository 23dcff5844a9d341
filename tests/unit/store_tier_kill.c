/* Killed at each single write to the file system, half of it written: nothing is lost, nothing is there twice. */
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/series_rows.h"
#include "store/tier_rows.h"
#include "tests/tap.h"
#include "tests/unit/store_tmp.h"

#define DAY INT64_C(86400)
#define STEP INT64_C(900)
#define DAYS 8
#define NOW (T0 + (DAYS + 4) * DAY)

/* A file system that lets the process die at the n-th change. */
static sqlite3_vfs *real_vfs;
static sqlite3_vfs dying_vfs;
static sqlite3_io_methods dying_io;
static long writes_left = -1;	/* -1: it lives for ever */
static long writes_done;

struct dying_file {
	sqlite3_file base;
	sqlite3_file *real;
};

static sqlite3_file *
real_of(sqlite3_file *f)
{
	return ((struct dying_file *)f)->real;
}

static int
dies(void)
{
	writes_done++;
	return writes_left >= 0 && writes_left-- == 0;
}

static int
dying_close(sqlite3_file *f)
{
	int rc = real_of(f)->pMethods->xClose(real_of(f));

	sqlite3_free(real_of(f));
	return rc;
}

static int dying_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at) { return real_of(f)->pMethods->xRead(real_of(f), p, n, at); }

static int
dying_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
	if (dies()) {
		(void)real_of(f)->pMethods->xWrite(real_of(f), p, n / 2, at);
		_exit(77);
	}
	return real_of(f)->pMethods->xWrite(real_of(f), p, n, at);
}

static int
dying_truncate(sqlite3_file *f, sqlite3_int64 n)
{
	if (dies())
		_exit(77);
	return real_of(f)->pMethods->xTruncate(real_of(f), n);
}

static int
dying_sync(sqlite3_file *f, int flags)
{
	if (dies())
		_exit(77);
	return real_of(f)->pMethods->xSync(real_of(f), flags);
}

static int dying_size(sqlite3_file *f, sqlite3_int64 *n) { return real_of(f)->pMethods->xFileSize(real_of(f), n); }
static int dying_lock(sqlite3_file *f, int l) { return real_of(f)->pMethods->xLock(real_of(f), l); }
static int dying_unlock(sqlite3_file *f, int l) { return real_of(f)->pMethods->xUnlock(real_of(f), l); }
static int dying_reserved(sqlite3_file *f, int *r) { return real_of(f)->pMethods->xCheckReservedLock(real_of(f), r); }
static int dying_control(sqlite3_file *f, int op, void *p) { return real_of(f)->pMethods->xFileControl(real_of(f), op, p); }
static int dying_sector(sqlite3_file *f) { return real_of(f)->pMethods->xSectorSize(real_of(f)); }
static int dying_traits(sqlite3_file *f) { return real_of(f)->pMethods->xDeviceCharacteristics(real_of(f)); }
static int dying_map(sqlite3_file *f, int i, int n, int w, void volatile **p) { return real_of(f)->pMethods->xShmMap(real_of(f), i, n, w, p); }
static int dying_shm_lock(sqlite3_file *f, int o, int n, int l) { return real_of(f)->pMethods->xShmLock(real_of(f), o, n, l); }
static void dying_barrier(sqlite3_file *f) { real_of(f)->pMethods->xShmBarrier(real_of(f)); }
static int dying_unmap(sqlite3_file *f, int d) { return real_of(f)->pMethods->xShmUnmap(real_of(f), d); }

static int
dying_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags, int *out)
{
	struct dying_file *d = (struct dying_file *)f;
	int rc;

	(void)v;
	d->base.pMethods = NULL;
	d->real = sqlite3_malloc(real_vfs->szOsFile);
	if (d->real == NULL)
		return SQLITE_NOMEM;
	rc = real_vfs->xOpen(real_vfs, name, d->real, flags, out);
	if (rc != SQLITE_OK)
		sqlite3_free(d->real);
	else
		d->base.pMethods = &dying_io;
	return rc;
}

static int
dying_delete(sqlite3_vfs *v, const char *name, int sync)
{
	(void)v;
	if (dies())
		_exit(77);
	return real_vfs->xDelete(real_vfs, name, sync);
}

static void
dying_register(void)
{
	real_vfs = sqlite3_vfs_find(NULL);
	dying_vfs = *real_vfs;
	dying_vfs.zName = "dying";
	dying_vfs.szOsFile = (int)sizeof(struct dying_file);
	dying_vfs.xOpen = dying_open;
	dying_vfs.xDelete = dying_delete;
	dying_io = (sqlite3_io_methods){ .iVersion = 2, .xClose = dying_close, .xRead = dying_read, .xWrite = dying_write,
		.xTruncate = dying_truncate, .xSync = dying_sync, .xFileSize = dying_size, .xLock = dying_lock,
		.xUnlock = dying_unlock, .xCheckReservedLock = dying_reserved, .xFileControl = dying_control,
		.xSectorSize = dying_sector, .xDeviceCharacteristics = dying_traits, .xShmMap = dying_map,
		.xShmLock = dying_shm_lock, .xShmBarrier = dying_barrier, .xShmUnmap = dying_unmap };
	if (sqlite3_vfs_register(&dying_vfs, 1) != SQLITE_OK)
		exit(1);
}

static void
copy_file(const char *from, const char *to)
{
	static char part[65536];
	FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
	size_t n;

	if (in == NULL || out == NULL)
		exit(1);
	while ((n = fread(part, 1, sizeof(part), in)) > 0)
		if (fwrite(part, 1, n, out) != n)
			exit(1);
	fclose(in);
	fclose(out);
}

/* The step's value, by its number and how often it was corrected. */
static struct sample
step(int64_t i, int64_t corrected)
{
	double mean = (double)((i * 7 + corrected * 11) % 64) + (double)(i % 3) / 8;

	return (struct sample){ T0 / DAY * DAY + i * STEP, mean, mean + (double)(i % 5), i % 97 == 5 ? STEP / 3 : 0 };
}

/* What each job of the test does to a store; all of it is one or more transactions. */
static enum berth_code
job_rollup(struct store *s, struct berth_err *err)
{
	const struct tier_policy policy = { 4 * DAY, 8 * DAY };
	struct tier_moved moved;

	return store_rollup(s, &policy, NOW, 0, NULL, NULL, &moved, err);
}

/* A day that is rolled up is corrected, one that is not is loaded for the first time. */
static enum berth_code
job_load(struct store *s, struct berth_err *err)
{
	static struct sample v[2 * DAY / STEP];
	struct load l = { .t = T0, .format = "csv", .source = "x", .digest = "" };
	const struct put_rule rule = { .loaded_before = false };
	struct put_counts counts = { 0 };
	size_t n = 0;
	enum berth_code rc;

	for (int64_t i = DAY / STEP; i < 2 * DAY / STEP; i++)
		v[n++] = step(i, 1);
	for (int64_t i = DAYS * DAY / STEP; i < (DAYS + 1) * DAY / STEP; i++)
		v[n++] = step(i, 0);
	rc = store_begin(s, err);
	if (rc != BERTH_OK)
		return rc;
	rc = store_samples_late(s, 1, v, n, &rule, NULL, &counts, err);
	if (rc == BERTH_OK)
		rc = store_load_insert(s, &l, err);
	if (rc == BERTH_OK)
		return store_commit(s, err);
	store_rollback(s);
	return rc;
}

typedef enum berth_code job_fn(struct store *s, struct berth_err *err);

static void
quiet(void *arg, const char *what)
{
	(void)arg;
	tap_diag("%s", what);
}

/* What is told from the outside: sums by a plain connection, and the peak. */
struct state { int64_t steps, buckets; double area, peak; };

static struct state
state_of(const char *path, size_t *faults)
{
	struct state x = { 0 };
	struct series_sum sum;
	struct series row;
	struct arena *a = arena_new();
	struct berth_err err;
	struct store *s;

	if (store_open(path, STORE_WRITE, T0, &s, &err) != BERTH_OK || store_check(s, quiet, NULL, faults, &err) != BERTH_OK ||
	    store_series_sum(s, 1, &sum, &err) != BERTH_OK || store_series_get(s, "x", a, &row, &err) != BERTH_OK) {
		tap_diag("%s", err.msg);
		exit(1);
	}
	x.area = sum.unit_seconds;
	x.peak = row.peak;
	store_close(s);
	arena_free(a);
	x.steps = store_tmp_number(path, "SELECT (SELECT count(*) FROM sample) + (SELECT coalesce(sum(steps), 0) FROM rollup)");
	x.buckets = store_tmp_number(path, "SELECT count(*) FROM rollup");
	return x;
}

static bool
state_eq(const struct state *x, const struct state *y)
{
	return x->steps == y->steps && x->area == y->area && x->peak == y->peak;
}

/* Runs the job in a process that dies at change n (-1: it lives); true: it came to its end. */
static bool
run(const char *path, job_fn *job, long n)
{
	struct berth_err err;
	struct store *s;
	int status;
	pid_t pid;

	fflush(stdout);
	if ((pid = fork()) == 0) {
		if (store_open(path, STORE_WRITE, T0, &s, &err) != BERTH_OK)
			_exit(1);
		writes_left = n;
		if (job(s, &err) != BERTH_OK) {
			printf("# %s\n", err.msg);
			fflush(stdout);
			_exit(1);
		}
		store_close(s);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	if (!WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 77))
		tap_ok(0, "the process ended as it should: %d", status);
	return WEXITSTATUS(status) == 0;
}

/*
 * The job killed at its first change, its second, and so on: afterwards the store says what it said before the job or what it
 * says after it (of a job that keeps sums these are one), and the job done again ends where it ends without being killed.
 */
static void
test_kill(const char *base, job_fn *job, const char *name)
{
	char path[1100];
	size_t faults = 0, bad = 0;
	struct state before, after, x;
	long n = 0;
	bool done = false;

	snprintf(path, sizeof(path), "%s.run", base);
	before = state_of(base, &faults);
	copy_file(base, path);
	run(path, job, -1);
	after = state_of(path, &faults);
	for (; !done && n < 2000; n++) {
		copy_file(base, path);
		done = run(path, job, n);
		x = state_of(path, &faults);
		bad += faults + (!state_eq(&x, &before) && !state_eq(&x, &after));
		run(path, job, -1);
		x = state_of(path, &faults);
		bad += faults + !state_eq(&x, &after) + (x.buckets != after.buckets);
	}
	tap_ok(done && n > 10, "%s: %ld instants at which it was killed", name, n - 1);
	tap_is_long((long long)bad, 0, "%s: nothing lost, nothing twice, and the next run ends it", name);
}

/* A store of some days, all of them single steps, closed and in one file. */
static void
make(const char *path)
{
	static struct sample v[DAYS * DAY / STEP];
	struct put_counts counts = { 0 };
	struct berth_err err;
	struct store *s = store_tmp_open(path);
	int64_t id;
	size_t n = 0;

	for (int64_t i = 0; i < DAYS * DAY / STEP; i++)
		if (i % 41 != 3)
			v[n++] = step(i, 0);
	tap_code(store_series_put(s, "x", NULL, "gpu", STEP, &id, &err), BERTH_OK, &err);
	tap_code(store_samples_put(s, id, v, n, NULL, &counts, &err), BERTH_OK, &err);
	store_close(s);
	store_tmp_exec(path, "PRAGMA wal_checkpoint(TRUNCATE)");
}

int
main(void)
{
	char path[1024];
	struct berth_err err;
	struct store *s;

	dying_register();
	snprintf(path, sizeof(path), "%s", store_tmp_path("kill.db"));
	make(path);
	test_kill(path, job_rollup, "rolling up");
	s = store_tmp_open(path);
	tap_code(job_rollup(s, &err), BERTH_OK, &err);
	store_close(s);
	store_tmp_exec(path, "PRAGMA wal_checkpoint(TRUNCATE)");
	test_kill(path, job_load, "a load with a correction of what is rolled up");
	store_tmp_end();
	return tap_done();
}
