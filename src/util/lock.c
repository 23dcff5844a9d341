#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "util/lock.h"
#include "util/time.h"

/* A lock of the open file, where the platform has it: another close() of the same file does not
 * drop it. */
#ifdef F_OFD_SETLK
#define LOCK_SET F_OFD_SETLK
#else
#define LOCK_SET F_SETLK
#endif
#define LOCK_PAUSE_MS 20

static int
lockfile_try(int fd)
{
	struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fcntl(fd, LOCK_SET, &fl) == 0 ? 0 : errno;
}

static enum berth_code
lockfile_busy(int fd, const char *path, struct berth_err *err)
{
	char text[32] = "";
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	long pid = n > 0 ? strtol(text, NULL, 10) : 0;

	if (pid > 0)
		return err_set(err, BERTH_ELOCKED,
		    "%s: process %ld holds the lock: wait until it ends", path, pid);
	return err_set(
	    err, BERTH_ELOCKED, "%s: another process holds the lock: wait until it ends", path);
}

enum berth_code
lockfile_take(const char *path, int wait_ms, struct lockfile *lock_out, struct berth_err *err)
{
	const struct timespec pause = { 0, LOCK_PAUSE_MS * 1000000L };
	int64_t deadline = time_mono_ms() + wait_ms;
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600), failed;
	enum berth_code rc;

	*lock_out = LOCKFILE_NONE;
	if (fd < 0)
		return err_sys(err, BERTH_EIO, errno, "%s", path);
	while ((failed = lockfile_try(fd)) == EACCES || failed == EAGAIN || failed == EINTR) {
		if (time_mono_ms() >= deadline) {
			rc = lockfile_busy(fd, path, err);
			close(fd);
			return rc;
		}
		nanosleep(&pause, NULL);
	}
	if (failed != 0) {
		close(fd);
		return err_sys(err, BERTH_EIO, failed, "%s: cannot be locked", path);
	}
	/* Only a hint for messages: the lock holds without it, on a full disk too. */
	if (ftruncate(fd, 0) == 0)
		dprintf(fd, "%ld\n", (long)getpid());
	lock_out->fd = fd;
	return BERTH_OK;
}

void
lockfile_release(struct lockfile *lock)
{
	if (lock->fd >= 0)
		close(lock->fd);
	*lock = LOCKFILE_NONE;
}
