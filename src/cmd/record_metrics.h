/* src/cmd/record_metrics.h - one load of metrics, from files or a server.  Floor: cmd, inside
 * record*.c. */
#ifndef BERTH_CMD_RECORD_METRICS_H
#define BERTH_CMD_RECORD_METRICS_H

#include "cmd/record.h"
#include "ingest/points.h"
#include "util/hash.h"

struct metrics {
	struct record *r;
	const struct record_metrics_opts *o;
	const char *format, *source;
	struct arena *a;
	struct usage_set set;
	struct spool *sp;
	struct points *points;
	struct ingest_sink sink; /* for the reader */
	int64_t refused;
	char digest[HASH_DIGEST_SIZE]; /* of the input; "" a server that was asked */
};

/* metrics_end() is due in any case; it stores what was read if rc is BERTH_OK, and gives what came
 * of it. */
BERTH_MUST_CHECK enum berth_code metrics_begin(struct metrics *m, struct record *r,
    const char *format, const char *source, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code metrics_end(
    struct metrics *m, enum berth_code rc, struct berth_err *err);
enum berth_code metrics_point(void *arg, const struct ingest_point *p, struct berth_err *err);
void metrics_say(void *arg, enum usage_say kind, long line, const char *message);

#endif
