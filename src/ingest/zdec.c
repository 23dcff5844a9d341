#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "ingest/zdec.h"

struct zdec {
	z_stream gz;
	void *zstd; /* NULL: gzip */
	bool whole;
};

enum berth_code
zdec_new(const unsigned char *head, size_t n, const char *path, struct zdec **dec_out,
    struct berth_err *err)
{
	bool gzip = n >= 2 && head[0] == 0x1f && head[1] == 0x8b;
	bool zstd =
	    n >= 4 &&
	    (memcmp(head, "\x28\xb5\x2f\xfd", 4) == 0 ||
		((head[0] & 0xf0) == 0x50 && memcmp(head + 1, "\x2a\x4d\x18", 3) ==
						 0)); /* or a frame to skip, as pzstd writes */
	bool other = n >= 6 && (memcmp(head,
				    "\xfd"
				    "7zXZ",
				    6) == 0 ||
				   (memcmp(head, "BZh", 3) == 0 && head[3] >= '1' &&
				       head[3] <= '9' && memcmp(head + 4, "1A", 2) == 0));
	struct zdec *d;

	*dec_out = NULL;
	if (other)
		return err_set(err, BERTH_EINVAL,
		    "%s: is packed with xz or bzip2, where gzip and zstd are known: unpack it "
		    "first, %s -dc %s | berth ... -",
		    path, head[0] == 'B' ? "bzip2" : "xz", path);
	if (!gzip && !zstd)
		return BERTH_OK;
	if (zstd && !zstd_built)
		return err_set(err, BERTH_EINVAL,
		    "%s: is packed with zstd, which this berth was built without; unpack it first: "
		    "zstd -dc %s | berth ... -",
		    path, path);
	d = calloc(1, sizeof(*d));
	if (d == NULL || (zstd && (d->zstd = zstd_new()) == NULL) ||
	    (gzip && inflateInit2(&d->gz, 15 + 16) != Z_OK)) { /* 15: window; 16: a gzip header */
		free(d);
		return err_set(err, BERTH_ENOMEM, "%s: out of memory", path);
	}
	*dec_out = d;
	return BERTH_OK;
}

bool
zdec_run(struct zdec *d, const unsigned char *in, size_t *used, char *out, size_t n, size_t *got)
{
	size_t had = *used;
	int rc;

	if (d->zstd != NULL)
		return zstd_run(d->zstd, in, used, out, n, got, &d->whole);
	if (d->whole &&
	    in[0] == 0) { /* padding to whole blocks, as tapes and some tools leave it */
		for (*used = 0; *used < had && in[*used] == 0; (*used)++)
			;
		*got = 0;
		return true;
	}
	if (d->whole && inflateReset(&d->gz) != Z_OK)
		return false;
	d->whole = false;
	d->gz.next_in = (unsigned char *)(uintptr_t)in;
	d->gz.avail_in = (unsigned)had;
	d->gz.next_out = (unsigned char *)out;
	d->gz.avail_out = (unsigned)n;
	rc = inflate(&d->gz, Z_NO_FLUSH);
	*used = had - d->gz.avail_in;
	*got = n - d->gz.avail_out;
	d->whole = rc == Z_STREAM_END;
	return rc == Z_OK || rc == Z_STREAM_END || (rc == Z_BUF_ERROR && *used == had);
}

bool
zdec_whole(const struct zdec *d)
{
	return d->whole;
}

void
zdec_free(struct zdec *d)
{
	if (d == NULL)
		return;
	if (d->zstd != NULL)
		zstd_free(d->zstd);
	else
		inflateEnd(&d->gz);
	free(d);
}
