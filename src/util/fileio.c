#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/fileio.h"

#define FILEIO_CHUNK ((size_t)64 * 1024)

/* read(2) that goes on after a signal. */
static ssize_t
fileio_read_some(int fd, void *p, size_t n)
{
	ssize_t got;

	do
		got = read(fd, p, n);
	while (got < 0 && errno == EINTR);
	return got;
}

static enum berth_code
fileio_read_fd(int fd, const char *path, struct buf *b, struct berth_err *err)
{
	for (;;) {
		size_t room = b->cap - b->len, want = room < FILEIO_CHUNK ? room : FILEIO_CHUNK;
		char probe, *p = want > 0 ? buf_reserve(b, want) : &probe;
		ssize_t got;

		if (p == NULL)
			return buf_check(b, path, err);
		got = fileio_read_some(fd, p, want > 0 ? want : 1);
		if (got < 0)
			return err_sys(err, BERTH_EIO, errno, "%s", path);
		if (got == 0)
			return BERTH_OK;
		if (want == 0)
			return err_set(err, BERTH_EINVAL, "%s: more than %zu bytes", path, b->cap);
		buf_commit(b, (size_t)got);
	}
}

enum berth_code
fileio_read(const char *path, struct buf *b, struct berth_err *err)
{
	enum berth_code rc;
	int fd;

	if (strcmp(path, "-") == 0)
		return fileio_read_fd(STDIN_FILENO, "stdin", b, err);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(err,
		    errno == ENOENT || errno == ENOTDIR ? BERTH_ENOTFOUND : BERTH_EIO, errno, "%s",
		    path);
	rc = fileio_read_fd(fd, path, b, err);
	close(fd);
	return rc;
}

enum berth_code
fileio_slurp(struct arena *a, const char *path, size_t cap, char **bytes_out, size_t *n_out,
    struct berth_err *err)
{
	enum berth_code rc;
	struct buf b;

	buf_init(&b, cap);
	rc = fileio_read(path, &b, err);
	if (rc == BERTH_OK) {
		*bytes_out = arena_memdup(a, b.p, b.len + 1);
		if (n_out != NULL)
			*n_out = b.len;
	}
	buf_free(&b);
	return rc;
}

bool
fileio_exists(const char *path)
{
	return access(path, F_OK) == 0;
}

enum berth_code
fileio_mkdirs(const char *path, struct berth_err *err)
{
	char part[PATH_MAX];
	size_t n = strlen(path);
	struct stat st;

	if (n >= sizeof(part))
		return err_set(err, BERTH_EINVAL, "%.80s...: the path is too long", path);
	memcpy(part, path, n + 1);
	for (size_t i = 1; i <= n; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		part[i] = '\0';
		if (mkdir(part, 0700) != 0 &&
		    (errno != EEXIST || stat(part, &st) != 0 || !S_ISDIR(st.st_mode)))
			return err_sys(
			    err, BERTH_EIO, errno == EEXIST ? ENOTDIR : errno, "%s", part);
		part[i] = path[i];
	}
	return BERTH_OK;
}

enum berth_code
fileio_mkdirs_for(const char *path, struct berth_err *err)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX];
	size_t n = slash != NULL ? (size_t)(slash - path) : 0;

	if (n == 0)
		return BERTH_OK;
	if (n >= sizeof(dir))
		return err_set(err, BERTH_EINVAL, "%.80s...: the path is too long", path);
	memcpy(dir, path, n);
	dir[n] = '\0';
	return fileio_mkdirs(dir, err);
}

FILE *
fileio_temporary(void)
{
	const char *dir = getenv("TMPDIR");
	char path[PATH_MAX];
	FILE *f;
	int fd;

	if (snprintf(path, sizeof(path), "%s/berth.XXXXXX",
		dir != NULL && dir[0] == '/' ? dir : "/tmp") >= (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	fd = mkstemp(path);
	if (fd < 0)
		return NULL;
	unlink(path);
	f = fdopen(fd, "w+b");
	if (f == NULL)
		close(fd);
	return f;
}

enum berth_code
fileio_flush(FILE *f, const char *name, struct berth_err *err)
{
	errno = 0;
	if (fflush(f) != 0 || ferror(f))
		return err_sys(err, BERTH_EIO, errno != 0 ? errno : EIO, "%s", name);
	return BERTH_OK;
}
