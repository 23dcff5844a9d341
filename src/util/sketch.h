/* src/util/sketch.h - quantiles of many weighted values in few bytes.  Floor: util.
 *
 * Values are counted in bins whose edges grow by a fixed factor (Masson, Rim, Lee: "DDSketch",
 * PVLDB 12, 2019, section 2), so that any quantile is known to one percent of itself. Counts are
 * whole numbers: the order of values and of merges is of no account, and a merge loses nothing.
 */
#ifndef BERTH_UTIL_SKETCH_H
#define BERTH_UTIL_SKETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/arena.h"
#include "util/buf.h"
#include "util/err.h"

#define SKETCH_ERROR 0.01              /* of a quantile, as a share of it; less than 1e-9 is 0 */
#define SKETCH_BINS_MAX ((size_t)8192) /* of a packed sketch */
#define SKETCH_WEIGHT_MAX (UINT64_C(1) << 53) /* of all values of a packed sketch */

struct sketch_bin {
	int32_t i;  /* values in (g^(i-1), g^i], g = (1 + SKETCH_ERROR) / (1 - SKETCH_ERROR) */
	uint64_t w; /* > 0 */
};

struct sketch {
	struct arena *a;
	uint64_t zero;        /* weight of values that are 0 */
	struct sketch_bin *v; /* [n] by i */
	size_t n, cap;
};

void sketch_init(struct sketch *s, struct arena *a);
/* value >= 0, finite; weight 0 is fine */
void sketch_add(struct sketch *s, double value, uint64_t weight);
void sketch_merge(struct sketch *s, const struct sketch *other);
uint64_t sketch_weight(const struct sketch *s);
/* The least value such that a share q (0..1) of the weight lies at or below it, to SKETCH_ERROR;
 * NaN: it is empty. */
double sketch_quantile(const struct sketch *s, double q);

/* Appends it packed: version, unit of weights, zero, bins as distance and weight; all LEB128. */
void sketch_pack(const struct sketch *s, struct buf *out);
/* False: not what sketch_pack() wrote. The bytes may come from anywhere. */
bool sketch_unpack(const void *bytes, size_t n, struct arena *a, struct sketch *s_out);

#endif
