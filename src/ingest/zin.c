#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "ingest/zdec.h"
#include "ingest/zin.h"
#include "util/str.h"

#define ZIN_CHUNK ((size_t)128 * 1024)

struct zin {
	int raw;          /* -1: not open */
	FILE *out;        /* zin_file() */
	struct zdec *dec; /* NULL: not packed */
	struct hash_digest hash;
	const char *fault;
	bool eof, failed;
	int failed_errno;
	int64_t size, taken; /* bytes of raw; size 0: not known */
	size_t pos, end;     /* bytes of buf not yet taken */
	unsigned char buf[ZIN_CHUNK];
	char room[ZIN_CHUNK]; /* of out */
};

/* n bytes of the file, fewer only at its end or where it fails. */
static size_t
zin_raw(struct zin *z, void *to, size_t n)
{
	size_t have = 0;

	while (have < n && !z->eof && !z->failed) {
		ssize_t got = read(z->raw, (char *)to + have, n - have);

		if (got > 0) {
			have += (size_t)got;
		} else if (got == 0) {
			z->eof = true;
		} else if (errno != EINTR) {
			z->failed = true;
			z->failed_errno = errno;
		}
	}
	z->taken += (int64_t)have;
	return have;
}

/* More packed bytes; false at the end or on an error. */
static bool
zin_fill(struct zin *z)
{
	if (z->pos == z->end) {
		z->pos = 0;
		z->end = zin_raw(z, z->buf, sizeof(z->buf));
	}
	return z->pos < z->end;
}

/* What the file could not give, as read(2) says it. */
static ssize_t
zin_failed(const struct zin *z)
{
	errno = z->failed_errno;
	return -1;
}

ssize_t
zin_read(struct zin *z, char *to, size_t n)
{
	size_t got = 0;

	if (z->dec == NULL) {
		if (z->pos == z->end) { /* straight from the file */
			got = zin_raw(z, to, n);
			if (got == 0 && z->failed)
				return zin_failed(z);
		} else {
			got = z->end - z->pos < n ? z->end - z->pos : n;
			memcpy(to, z->buf + z->pos, got);
			z->pos += got;
		}
		hash_digest_add(&z->hash, to, got);
		return (ssize_t)got;
	}
	while (got == 0) {
		bool more = zin_fill(z);
		size_t used = z->end - z->pos;

		if (!more && (z->failed || zdec_whole(z->dec)))
			return z->failed ? zin_failed(z) : 0;
		if (!more)
			z->fault = "the packed file ends too early";
		else if (!zdec_run(z->dec, z->buf + z->pos, &used, to, n, &got))
			z->fault = "the packed bytes are damaged";
		if (z->fault != NULL) {
			errno = EBADMSG;
			return -1;
		}
		z->pos += used;
	}
	hash_digest_add(&z->hash, to, got);
	return (ssize_t)got;
}

static ssize_t
zin_cookie(void *cookie, char *to, size_t n)
{
	return zin_read(cookie, to, n);
}

enum berth_code
zin_open(const char *path, struct zin **z_out, struct berth_err *err)
{
	cookie_io_functions_t io = { .read = zin_cookie };
	struct stat st;
	struct zin *z = calloc(1, sizeof(*z));
	enum berth_code rc;

	if (z == NULL)
		return err_set(err, BERTH_ENOMEM, "%s: out of memory", path);
	hash_digest_init(&z->hash);
	z->raw = str_eq(path, "-") ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	if (z->raw < 0) {
		rc = err_sys(err, errno == ENOENT ? BERTH_ENOTFOUND : BERTH_EIO, errno, "%s", path);
		goto out;
	}
	if (fstat(z->raw, &st) == 0 && S_ISREG(st.st_mode))
		z->size = st.st_size;
	if (!zin_fill(z) && z->failed) {
		rc = err_sys(err, BERTH_EIO, z->failed_errno, "%s", path);
		goto out;
	}
	rc = zdec_new(z->buf, z->end, path, &z->dec, err);
	if (rc == BERTH_OK && (z->out = fopencookie(z, "rb", io)) == NULL)
		rc = err_sys(err, BERTH_EIO, errno, "%s", path);
	else if (rc == BERTH_OK)
		(void)setvbuf(z->out, z->room, _IOFBF,
		    sizeof(z->room)); /* without room of ours it stays small */
out:
	if (rc != BERTH_OK)
		zin_close(z);
	else
		*z_out = z;
	return rc;
}

FILE *
zin_file(struct zin *z)
{
	return z->out;
}

bool
zin_packed(const struct zin *z)
{
	return z->dec != NULL;
}

const char *
zin_fault(const struct zin *z)
{
	return z->fault;
}

double
zin_share(const struct zin *z)
{
	double share = z->size > 0 ? (double)z->taken / (double)z->size : (double)NAN;

	return share < 1 ? share : share >= 1 ? 1 : (double)NAN;
}

void
zin_digest(const struct zin *z, char dst[HASH_DIGEST_SIZE])
{
	hash_digest_hex(&z->hash, dst);
}

void
zin_close(struct zin *z)
{
	if (z == NULL)
		return;
	if (z->out != NULL)
		fclose(z->out);
	if (z->raw > STDERR_FILENO)
		(void)close(z->raw);
	zdec_free(z->dec);
	free(z);
}
