#include <errno.h>
#include <math.h>
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
	FILE *raw;
	FILE *out;		/* what the caller reads */
	struct zdec *dec;	/* NULL: not packed */
	struct hash_digest hash;
	const char *fault;
	bool eof;
	int64_t size, taken;	/* bytes of raw; size 0: not known */
	size_t pos, end;	/* bytes of buf not yet taken */
	unsigned char buf[ZIN_CHUNK];
};

/* More packed bytes; false at the end or on an error. */
static bool
zin_fill(struct zin *z)
{
	if (z->pos == z->end && !z->eof) {
		z->pos = 0;
		z->end = fread(z->buf, 1, sizeof(z->buf), z->raw);
		z->taken += (int64_t)z->end;
		z->eof = z->end == 0;
	}
	return z->pos < z->end;
}

static ssize_t
zin_read(void *cookie, char *to, size_t n)
{
	struct zin *z = cookie;
	size_t got = 0;

	if (z->dec == NULL) {
		if (z->pos == z->end) {	/* straight from the file */
			got = fread(to, 1, n, z->raw);
			z->taken += (int64_t)got;
			if (got == 0 && ferror(z->raw))
				return -1;
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

		if (!more && (ferror(z->raw) || zdec_whole(z->dec)))
			return ferror(z->raw) ? -1 : 0;
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

enum berth_code
zin_open(const char *path, struct zin **z_out, struct berth_err *err)
{
	cookie_io_functions_t io = { .read = zin_read };
	struct stat st;
	struct zin *z = calloc(1, sizeof(*z));
	enum berth_code rc;

	if (z == NULL)
		return err_set(err, BERTH_ENOMEM, "%s: out of memory", path);
	hash_digest_init(&z->hash);
	z->raw = str_eq(path, "-") ? stdin : fopen(path, "rbe");
	if (z->raw == NULL) {
		rc = err_sys(err, errno == ENOENT ? BERTH_ENOTFOUND : BERTH_EIO, errno, "%s", path);
		goto out;
	}
	if (fstat(fileno(z->raw), &st) == 0 && S_ISREG(st.st_mode))
		z->size = st.st_size;
	if (!zin_fill(z) && ferror(z->raw)) {
		rc = err_sys(err, BERTH_EIO, errno, "%s", path);
		goto out;
	}
	rc = zdec_new(z->buf, z->end, path, &z->dec, err);
	if (rc == BERTH_OK && (z->out = fopencookie(z, "rb", io)) == NULL)
		rc = err_sys(err, BERTH_EIO, errno, "%s", path);
	else if (rc == BERTH_OK)
		(void)setvbuf(z->out, NULL, _IOFBF, ZIN_CHUNK);
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
	if (z->raw != NULL && z->raw != stdin)
		fclose(z->raw);
	zdec_free(z->dec);
	free(z);
}
