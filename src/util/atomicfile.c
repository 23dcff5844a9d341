#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/fileio.h"

static int
atomicfile_write_all(int fd, const char *p, size_t n)
{
	while (n > 0) {
		ssize_t put = write(fd, p, n);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return errno;
		p += put;
		n -= (size_t)put;
	}
	return 0;
}

/* A device or a pipe cannot be replaced: /dev/stdout, /dev/full. */
static enum berth_code
atomicfile_in_place(const char *path, const void *bytes, size_t n, struct berth_err *err)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), failed;

	if (fd < 0)
		return err_sys(err, BERTH_EIO, errno, "%s", path);
	failed = atomicfile_write_all(fd, bytes, n);
	if (close(fd) != 0 && failed == 0)
		failed = errno;
	return failed != 0 ? err_sys(err, BERTH_EIO, failed, "%s", path) : BERTH_OK;
}

/* Makes the new name last through a crash; file systems that cannot sync a directory keep it
 * anyway. */
static void
atomicfile_sync_dir(char *path)
{
	char *slash = strrchr(path, '/');
	int fd;

	if (slash != NULL)
		slash[slash == path] = '\0';
	fd = open(slash != NULL ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	(void)fsync(fd);
	close(fd);
}

static int
atomicfile_fill(int fd, const void *bytes, size_t n, mode_t mode)
{
	int failed = atomicfile_write_all(fd, bytes, n);

	if (failed == 0 && (fchmod(fd, mode) != 0 || fsync(fd) != 0))
		failed = errno;
	if (close(fd) != 0 && failed == 0)
		failed = errno;
	return failed;
}

enum berth_code
atomicfile_write(
    const char *path, const void *bytes, size_t n, unsigned mode, struct berth_err *err)
{
	char target[PATH_MAX], tmp[PATH_MAX];
	struct stat st;
	int fd, failed;

	if (stat(path, &st) == 0) {
		if (!S_ISREG(st.st_mode))
			return atomicfile_in_place(path, bytes, n, err);
		mode = st.st_mode & 07777;
	}
	if (realpath(path, target) == NULL &&
	    snprintf(target, sizeof(target), "%s", path) >= PATH_MAX)
		return err_set(err, BERTH_EINVAL, "%.80s...: the path is too long", path);
	if (snprintf(tmp, sizeof(tmp), "%s.tmp-XXXXXX", target) >= PATH_MAX)
		return err_set(err, BERTH_EINVAL, "%.80s...: the path is too long", path);
	fd = mkostemp(tmp, O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, BERTH_EIO, errno, "%s", path);
	failed = atomicfile_fill(fd, bytes, n, mode);
	if (failed == 0 && rename(tmp, target) != 0)
		failed = errno;
	if (failed != 0) {
		unlink(tmp);
		return err_sys(err, BERTH_EIO, failed, "%s", path);
	}
	atomicfile_sync_dir(target);
	return BERTH_OK;
}
