/* src/cmd/plan_paths.c - the sample paths of demand that a plan was made on, as a file.  Floor:
 * cmd. */
#include "config.h"

#include "cmd/cmd.h"
#include "cmd/plan_join.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/time.h"

#define PATHS_BYTES ((size_t)1 << 30)

static void
paths_name(struct buf *b, const char *name)
{
	buf_add_char(b, '"');
	for (; *name != '\0'; name++) {
		if (*name == '"')
			buf_add_char(b, '"');
		buf_add_char(b, *name);
	}
	buf_add_char(b, '"');
}

static void
paths_series(struct buf *b, const struct plan_series *ps)
{
	const struct commit_demand *d = &ps->demand;
	char at[TIME_FMT_SIZE];

	for (size_t p = 0; p < d->n_paths; p++)
		for (size_t t = 0; t < d->n_steps && b->code == BERTH_OK; t++) {
			paths_name(b, ps->series.name);
			buf_printf(b, ",%zu,%s,%.17g,%.17g\n", p + 1,
			    time_fmt(at, ps->forecast.t0 + (int64_t)t * ps->forecast.step_s),
			    d->gpus[p * d->n_steps + t], ps->peaks.gpus[p * d->n_steps + t]);
		}
}

enum berth_code
plan_paths_write(struct cmd_ctx *ctx, const struct plan_series *ps, size_t n, const char *path,
    struct berth_err *err)
{
	struct buf b;
	enum berth_code rc;

	buf_init(&b, PATHS_BYTES);
	buf_add_str(&b, "series,path,t,gpus,peak\n");
	for (size_t i = 0; i < n; i++)
		paths_series(&b, &ps[i]);
	rc = buf_check(&b, path, err);
	if (rc == BERTH_OK)
		rc = cmd_write_file(ctx, path, b.p, b.len, err);
	else
		err_ctx(err, "so many sample paths are too large for a file: take fewer --paths or "
			     "a shorter --horizon");
	buf_free(&b);
	return rc;
}
