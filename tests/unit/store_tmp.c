#include <dirent.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/store_tmp.h"

static char tmp_dir[512];
static char tmp_path[1024];

static void
tmp_bail(const char *what, const char *why)
{
	printf("Bail out! %s: %s\n", what, why);
	exit(1);
}

const char *
store_tmp_path(const char *name)
{
	const char *base = getenv("TMPDIR");

	if (tmp_dir[0] == '\0') {
		snprintf(tmp_dir, sizeof(tmp_dir), "%s/berth-store.XXXXXX", base != NULL ? base : "/tmp");
		if (mkdtemp(tmp_dir) == NULL)
			tmp_bail("mkdtemp", tmp_dir);
	}
	snprintf(tmp_path, sizeof(tmp_path), "%s/%s", tmp_dir, name);
	return tmp_path;
}

struct store *
store_tmp_open(const char *path)
{
	struct store *s = NULL;
	struct berth_err err;

	if (store_open(path, STORE_CREATE, T0, &s, &err) != BERTH_OK)
		tmp_bail(path, err.msg);
	return s;
}

static void
tmp_remove(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	char path[2048];

	if (d == NULL)
		return;
	while ((e = readdir(d)) != NULL) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		if (unlink(path) != 0)
			tmp_remove(path);
	}
	closedir(d);
	rmdir(dir);
}

void
store_tmp_end(void)
{
	if (tmp_dir[0] != '\0')
		tmp_remove(tmp_dir);
}

int64_t
store_tmp_number(const char *path, const char *sql)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *st = NULL;
	int64_t v;

	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
		tmp_bail(path, "cannot be opened");
	sqlite3_busy_timeout(db, 30000);
	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK || sqlite3_step(st) != SQLITE_ROW)
		tmp_bail(sql, sqlite3_errmsg(db));
	v = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	sqlite3_close(db);
	return v;
}

void
store_tmp_exec(const char *path, const char *sql)
{
	sqlite3 *db = NULL;

	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) != SQLITE_OK ||
	    sqlite3_busy_timeout(db, 30000) != SQLITE_OK || sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		tmp_bail(sql, sqlite3_errmsg(db));
	sqlite3_close(db);
}

uint64_t
store_tmp_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}
