/* src/ingest/promjson.h - what Prometheus answers a query with.  Floor: domain, pure. */
#ifndef BERTH_INGEST_PROMJSON_H
#define BERTH_INGEST_PROMJSON_H

#include "ingest/ingest.h"
#include "util/arena.h"

#define PROMJSON_POINTS_MAX 11000 /* of one series that the server gives for one query */

/*
 * The body of /api/v1/query_range or /api/v1/query: points of each series by time. metric stands
 * for a series that has no
 * __name__, as the results of most expressions.
 * BERTH_EINVAL: not JSON, another shape, or status "error": then the message is the server's.
 * points_out  how many there were; warnings of the server are said as remarks
 */
BERTH_MUST_CHECK enum berth_code promjson_read(const char *bytes, size_t n, const char *name,
    const char *metric, const struct ingest_sink *sink, int64_t *points_out, struct berth_err *err);

/*
 * The next request of a range [from, to] with a point each resolution_s: *end_out so that at most
 * points points are asked for, aligned to the resolution as the server aligns. False: from > to,
 * nothing is left.
 */
bool promjson_range(int64_t from, int64_t to, int64_t resolution_s, int64_t points,
    int64_t *start_out, int64_t *end_out);

#endif
