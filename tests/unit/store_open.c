/* Opening: modes, versions, foreign files, network file systems, and what each says. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "store/db.h"
#include "store/migrate.h"
#include "tests/tap.h"
#include "tests/unit/store_tmp.h"

/* Takes the place of libc's: with a flag every file system looks like NFS. */
static int looks_like_nfs;

int
statfs(const char *path, struct statfs *b)
{
	struct stat st;

	memset(b, 0, sizeof(*b));
	if (stat(path, &st) != 0)
		return -1;
	b->f_type = looks_like_nfs ? 0x6969 : 0xef53;
	return 0;
}

static void
spew(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) || fchmod(fd, mode) != 0)
		printf("Bail out! %s\n", path);
	close(fd);
}

static void
journal_is(const char *path, const char *mode, const char *what)
{
	char sql[128];

	/* pragma_journal_mode is a table in SQL, so that the plain connection can compare. */
	snprintf(sql, sizeof(sql), "SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = '%s'", mode);
	tap_is_long(store_tmp_number(path, sql), 1, "%s: the journal mode is %s", what, mode);
}

static void
test_create(void)
{
	const char *path = store_tmp_path("made/here/berth.db");
	char installation[32], dir[1024];
	struct berth_err err;
	struct store *s;
	struct stat st;

	umask(0);	/* whatever the umask allows, the store is private */
	tap_code(store_open(path, STORE_WRITE, T0, &s, &err), BERTH_ENOTFOUND, &err);
	tap_ok(strstr(err.msg, "berth init") != NULL && strstr(err.msg, path) != NULL, "names the file and berth init");
	tap_ok(stat(path, &st) != 0, "and makes nothing");
	s = store_tmp_open(path);
	stat(path, &st);
	tap_is_long(st.st_mode & 07777, 0600, "the file has mode 0600");
	snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(path, '/') - path), path);
	stat(dir, &st);
	tap_is_long(st.st_mode & 07777, 0700, "its folder 0700");
	snprintf(installation, sizeof(installation), "%s", store_installation(s));
	tap_is_long((long long)strspn(installation, "0123456789abcdef"), 16, "the installation is 16 hex digits");
	tap_is_str(store_warning(s), "", "no warning");
	tap_is_long(store_version(s), (long long)migrations_n, "newest version");
	store_close(s);
	journal_is(path, "wal", "local disk");
	tap_is_long(store_tmp_number(path, "SELECT count(*) FROM sqlite_schema WHERE sql LIKE 'CREATE TABLE%' "
	    "AND sql NOT LIKE '%STRICT%' AND name NOT LIKE 'sqlite_%'"), 0, "every table is STRICT");
	s = store_tmp_open(path);
	tap_is_str(store_installation(s), installation, "the installation stays");
	store_close(s);
}

static void
test_foreign(void)
{
	struct berth_err err;
	struct store *s;
	const char *path;

	path = store_tmp_path("text.db");
	spew(path, "this is no database, but it is long enough to look at: 0123456789 0123456789 0123456789 0123456789", 0600);
	tap_code(store_open(path, STORE_CREATE, T0, &s, &err), BERTH_EINVAL, &err);
	tap_ok(strstr(err.msg, "not a database") != NULL, "says so: %s", err.msg);
	path = store_tmp_path("other.db");
	store_tmp_exec(path, "PRAGMA application_id=77; CREATE TABLE x (y); PRAGMA user_version=3");
	tap_code(store_open(path, STORE_CREATE, T0, &s, &err), BERTH_EINVAL, &err);
	tap_ok(strstr(err.msg, "another program") != NULL, "says so: %s", err.msg);
	tap_is_long(store_tmp_number(path, "SELECT count(*) FROM sqlite_schema"), 1, "and adds nothing to it");
	journal_is(path, "delete", "another program's file is left as it is");
	path = store_tmp_path("nameless.db");
	store_tmp_exec(path, "CREATE TABLE x (y)");
	tap_code(store_open(path, STORE_CREATE, T0, &s, &err), BERTH_EINVAL, &err);
	journal_is(path, "delete", "so is a database without a name");
	tap_code(store_open("postgresql://host/db", STORE_READ, T0, &s, &err), BERTH_EUSAGE, &err);
}

static void
test_newer(void)
{
	const char *path = store_tmp_path("newer.db");
	struct berth_err err;
	struct store *s;

	store_close(store_tmp_open(path));
	store_tmp_exec(path, "PRAGMA user_version=99; CREATE TABLE of_the_future (x)");
	tap_code(store_open(path, STORE_WRITE, T0, &s, &err), BERTH_EINVAL, &err);
	tap_ok(strstr(err.msg, "99") != NULL && strstr(err.msg, "newer") != NULL, "says so: %s", err.msg);
	tap_code(store_open(path, STORE_READ, T0, &s, &err), BERTH_EINVAL, &err);
	tap_is_long(store_tmp_number(path, "PRAGMA user_version"), 99, "nothing was changed");
}

/* What somebody sees who may read the folder and the file, and nothing more. */
static void
read_only_as_somebody(const char *path)
{
	struct berth_err err;
	struct store *s = NULL;

	tap_code(store_open(path, STORE_WRITE, T0, &s, &err), BERTH_EIO, &err);
	tap_ok(strstr(err.msg, path) != NULL, "names the file: %s", err.msg);
	tap_code(store_open(path, STORE_READ, T0, &s, &err), BERTH_OK, &err);
	tap_is_long((long long)strlen(store_installation(s)), 16, "and reads it");
	store_close(s);
}

static void
test_read_only(void)
{
	const char *path = store_tmp_path("ro/berth.db");
	struct berth_err err;
	struct store *s;
	char dir[1024];

	s = store_tmp_open(path);
	tap_code(store_run_begin(s, "test", NULL, 0, T0, &err), BERTH_OK, &err);
	store_close(s);
	tap_code(store_open(path, STORE_READ, T0, &s, &err), BERTH_OK, &err);
	tap_code(store_run_begin(s, "test", NULL, 0, T0, &err), BERTH_EFAIL, &err);
	store_close(s);
	snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(path, '/') - path), path);
	chmod(path, 0444);
	chmod(dir, 0555);
	/* Root may write everywhere, whatever the modes say: then somebody else looks. */
	if (geteuid() != 0) {
		read_only_as_somebody(path);
	} else {
		chmod(store_tmp_path("."), 0755);
		path = store_tmp_path("ro/berth.db");
		if (seteuid(65534) == 0 && faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0)
			read_only_as_somebody(path);
		else
			tap_skip("a file that may only be read", "cannot look at it as another user");
		if (seteuid(0) != 0)
			exit(1);
	}
	chmod(dir, 0700);
}

static void
test_network(void)
{
	const char *path = store_tmp_path("nfs.db");
	struct store *s;

	s = store_tmp_open(path);
	store_close(s);
	journal_is(path, "wal", "before it moved");
	looks_like_nfs = 1;
	s = store_tmp_open(path);
	tap_ok(strstr(store_warning(s), "network file system") != NULL, "warns: %s", store_warning(s));
	store_close(s);
	looks_like_nfs = 0;
	journal_is(path, "delete", "on NFS");
}

/* A store of two migrations, opened by a berth that has four. */
static void
test_upgrade(void)
{
	static const char *const first[] = { "CREATE TABLE a (x {i64} NOT NULL) {strict};\n", NULL };
	static const char *const second[] = { "INSERT INTO a (x) VALUES (41);\n", NULL };
	static const char *const third[] = { "ALTER TABLE a ADD COLUMN y {text};\n", NULL };
	static const char *const fourth[] = { "UPDATE a SET x = x + 1, y = 'new';\n", NULL };
	static const char *const broken[] = { "UPDATE a SET x = 0;\n", "UPDATE nothing SET x = 0;\n", NULL };
	const struct migration list[] = { { 1, "0001_a.sql", first }, { 2, "0002_b.sql", second },
		{ 3, "0003_c.sql", third }, { 4, "0004_d.sql", fourth }, { 5, "0005_e.sql", broken } };
	char path[1024], copy[1100];
	struct db_open o = { .path = path, .write = true, .create = true, .busy_timeout_ms = 1000 };
	struct berth_err err;
	struct db *db;
	bool old;

	snprintf(path, sizeof(path), "%s", store_tmp_path("old.db"));
	tap_code(db_open(&o, &db, &err), BERTH_OK, &err);
	tap_code(migrate_run(db, path, list, 2, &err), BERTH_OK, &err);
	snprintf(copy, sizeof(copy), "%s.before-v2", path);
	tap_ok(access(copy, F_OK) != 0, "no copy of an empty file");
	tap_code(migrate_need(db, path, 4, &old, &err), BERTH_OK, &err);
	tap_ok(old, "two versions are missing");
	tap_code(migrate_run(db, path, list, 4, &err), BERTH_OK, &err);
	tap_is_long(store_tmp_number(path, "SELECT x FROM a WHERE y = 'new'"), 42, "upgraded in order, once");
	snprintf(copy, sizeof(copy), "%s.before-v4", path);
	tap_is_long(store_tmp_number(copy, "SELECT x FROM a"), 41, "the copy holds what was before");
	tap_is_long(store_tmp_number(copy, "PRAGMA user_version"), 2, "at its version");
	tap_code(migrate_run(db, path, list, 4, &err), BERTH_OK, &err);
	tap_is_long(store_tmp_number(path, "SELECT x FROM a"), 42, "a second run changes nothing");
	tap_code(migrate_run(db, path, list, 5, &err), BERTH_EFAIL, &err);
	tap_ok(strstr(err.msg, "0005_e.sql") != NULL, "names the migration: %s", err.msg);
	tap_is_long(store_tmp_number(path, "SELECT x FROM a"), 42, "a failed upgrade has not happened");
	tap_is_long(store_tmp_number(path, "PRAGMA user_version"), 4, "nor moved the version");
	db_close(db);
}

/* A store of the version before jobs had marks: what their reasons told becomes marks, and reservations of nothing are such. */
static void
test_marks(void)
{
	static const struct { const char *state, *reason, *marks; } jobs[] = {
		{ "queued", "not placed: over a quota by itself; its place is kept, so that it can start at 2026", "kept" },
		{ "queued", "waits to learn what became of a launch: no answer", "launch_unknown" },
		{ "queued", "not placed: costs more than is left. 2 offers seen, refused: over_budget 2", "unpaid" },
		{ "queued", "not placed: would end after the deadline; the deadline is at risk: on demand", "late at_risk" },
		{ "queued", "", "" },
		{ "running", "its place is kept", "" },
	};
	char path[1024], sql[1024];
	struct db_open o = { .path = path, .write = true, .create = true, .busy_timeout_ms = 1000 };
	struct berth_err err;
	struct store *s;
	struct db *db;

	snprintf(path, sizeof(path), "%s", store_tmp_path("v14.db"));
	tap_code(db_open(&o, &db, &err), BERTH_OK, &err);
	tap_code(migrate_run(db, path, migrations, 14, &err), BERTH_OK, &err);
	db_close(db);
	for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
		snprintf(sql, sizeof(sql), "INSERT INTO job (id, name, user_name, project, priority, state, reason, progress, "
		    "submitted, tries, preemptions, cost, spec) VALUES ('j-%zu', 'n', 'u', 'p', 0, '%s', '%s', 0, 1, 0, 0, 0, '{}')",
		    i, jobs[i].state, jobs[i].reason);
		store_tmp_exec(path, sql);
	}
	store_tmp_exec(path, "INSERT INTO reservation (intent_id, account, project, user_name, job_id, amount, held, made) "
	    "VALUES (7, '', '', '', 'j-0', 1, 0, 5), (8, '', '', '', 'j-1', 1, 1, 5), (9, '', '', '', 'j-2', 4000000, 100, 5)");
	s = store_tmp_open(path);
	store_close(s);
	for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
		snprintf(sql, sizeof(sql), "SELECT count(*) FROM job WHERE id = 'j-%zu' AND marks = '%s'", i, jobs[i].marks);
		tap_is_long(store_tmp_number(path, sql), 1, "'%s' has the marks '%s'", jobs[i].reason, jobs[i].marks);
	}
	tap_is_long(store_tmp_number(path, "SELECT sum(amount * (intent_id - 6)) FROM reservation WHERE held <= amount"), 12000002,
	    "reservations are as they were, but for what was none");
	store_tmp_exec(path, "INSERT INTO reservation (account, project, user_name, job_id, amount, held, made) "
	    "VALUES ('', '', '', 'j-3', 0, 0, 6)");
	tap_is_long(store_tmp_number(path, "SELECT max(id) FROM reservation"), 4, "and new ones get numbers of their own");
}

/* Values go by the number of their parameter, in whatever order the statement has them. */
static void
test_parameters(void)
{
	struct db_open o = { .path = store_tmp_path("parameters.db"), .write = true, .create = true };
	struct berth_err err;
	struct db *db;
	int64_t v;

	tap_code(db_open(&o, &db, &err), BERTH_OK, &err);
	tap_code(db_get_one(db, -1, &v, &err, "SELECT $3 * 100 + $1 * 10 + $2 + 0 * $1",
	    DB_ARGS(db_i64(1), db_i64(2), db_i64(3))), BERTH_OK, &err);
	tap_is_long(v, 312, "each value is where its number stands");
	db_close(db);
}

int
main(void)
{
	test_parameters();
	test_create();
	test_foreign();
	test_newer();
	test_read_only();
	test_network();
	test_upgrade();
	test_marks();
	store_tmp_end();
	return tap_done();
}
