/* src/cmd/joins.h - series that were renamed, merged or split: `joins` of berth.yaml.  Floor: cmd.
 */
#ifndef BERTH_CMD_JOINS_H
#define BERTH_CMD_JOINS_H

#include <stddef.h>
#include <stdint.h>

#include "cmd/config.h"
#include "forecast/forecast.h"
#include "util/err.h"

struct store;

/* Before its first sample a series has share times the sum of these. */
struct join {
	const char *series;
	const char *const *from; /* [n_from] */
	size_t n_from;
	double share;
	const struct yaml_node *node;
};
struct joins {
	struct join *v; /* [n] */
	size_t n;
};

/* BERTH_EINVAL with where = file:line:col. */
BERTH_MUST_CHECK enum berth_code joins_read(
    const struct config *c, struct arena *a, struct joins *out, struct berth_err *err);
/* The join of a series; NULL: it has none. */
const struct join *joins_of(const struct joins *j, const char *series);
/* Is all that this series has in the history of another? */
bool joins_uses(const struct joins *j, const char *series);
/*
 * Puts the history of what a series came from in front of io (hourly or coarser, as fc_to_hours()
 * leaves it), also over several joins in a row. *until_out: its first own step; 0: nothing was put
 * in front.
 * to: samples before it only; 0: all. Errors: BERTH_ENOTFOUND no such series; BERTH_EINVAL steps of
 * another length, or a ring.
 */
BERTH_MUST_CHECK enum berth_code joins_apply(struct store *store, const struct joins *j,
    const char *series, int64_t to, struct arena *a, struct fc_series *io, int64_t *until_out,
    struct berth_err *err);

/* Series i ended as `into` [n] began, at the same level. */
struct join_hint {
	size_t from;
	size_t *into;
	size_t n;
	int64_t t;
	double before, after;
};
/* Among series of one step length; those that end within the last three days of all have not ended.
 */
void joins_find(
    const struct fc_series *s, size_t n, struct arena *a, struct join_hint **out, size_t *n_out);

#endif
