#include "ingest/zdec.h"

const bool zstd_built = false;

void *
zstd_new(void)
{
	return NULL;
}

bool
zstd_run(
    void *ctx, const unsigned char *in, size_t *used, char *out, size_t n, size_t *got, bool *whole)
{
	(void)ctx;
	(void)in;
	(void)out;
	(void)n;
	*used = 0;
	*got = 0;
	*whole = false;
	return false;
}

void
zstd_free(void *ctx)
{
	(void)ctx;
}
