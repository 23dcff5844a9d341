#include <zstd.h>

#include "ingest/zdec.h"

#define ZSTD_WINDOW_LOG_MAX 27 /* 128 MiB: what zstd itself takes without --long */

const bool zstd_built = true;

void *
zstd_new(void)
{
	ZSTD_DCtx *ctx = ZSTD_createDCtx();

	if (ctx != NULL)
		ZSTD_DCtx_setParameter(ctx, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG_MAX);
	return ctx;
}

bool
zstd_run(
    void *ctx, const unsigned char *in, size_t *used, char *out, size_t n, size_t *got, bool *whole)
{
	ZSTD_inBuffer from = { in, *used, 0 };
	ZSTD_outBuffer to = { out, n, 0 };
	size_t rc = ZSTD_decompressStream(ctx, &to, &from);

	*used = from.pos;
	*got = to.pos;
	*whole = rc == 0;
	return !ZSTD_isError(rc);
}

void
zstd_free(void *ctx)
{
	ZSTD_freeDCtx(ctx);
}
