#include "store/forecast_pack.h"

#include <math.h>
#include <string.h>

#include "util/json.h"

enum {
	PACK_BITS = 18,
	PACK_BIAS = 1100,
	PACK_VALUES = 1 + FORECAST_ROW_LEVELS,
	PACK_NUMBER_MAX = 10
};

static void
pack_number(struct buf *b, uint64_t v)
{
	unsigned char text[PACK_NUMBER_MAX];
	size_t n = 0;

	for (; v > 0x7f; v >>= 7)
		text[n++] = (unsigned char)((v & 0x7f) | 0x80);
	text[n++] = (unsigned char)v;
	buf_add(b, (const char *)text, n);
}

static void
pack_signed(struct buf *b, int64_t v)
{
	pack_number(b, v < 0 ? ~((uint64_t)v << 1) : (uint64_t)v << 1);
}

/* Exponent of the unit that the largest value is 2^(PACK_BITS - 1) of or more, and less than twice
 * that. */
static int
pack_exponent(const struct forecast_row *f)
{
	double top = 0;
	int e;

	for (size_t i = 0; i < f->n; i++)
		top = fmax(top, f->mean[i]);
	for (size_t i = 0; i < f->n * FORECAST_ROW_LEVELS; i++)
		top = fmax(top, f->q[i]);
	(void)frexp(top > 0 ? top : 1, &e);
	return e - PACK_BITS;
}

void
forecast_pack(const struct forecast_row *f, struct buf *out)
{
	int e = pack_exponent(f);
	int64_t before[PACK_VALUES] = { 0 };

	buf_add(out, (const char[]){ FORECAST_PACK_VERSION }, 1);
	pack_number(out, (uint64_t)f->step_s);
	pack_number(out, f->n);
	pack_number(out, (uint64_t)(e + PACK_BIAS));
	buf_add(out, (const char *)f->peak, sizeof(f->peak));
	for (size_t i = 0; i < f->n; i++) {
		int64_t below = (int64_t)rint(ldexp(f->mean[i], -e));

		pack_signed(out, below - before[0]);
		before[0] = below;
		for (size_t l = 0; l < FORECAST_ROW_LEVELS; l++) {
			int64_t x = (int64_t)rint(ldexp(f->q[i * FORECAST_ROW_LEVELS + l], -e)),
				up = x - below;

			pack_signed(out, up - before[1 + l]);
			before[1 + l] = up;
			below = x;
		}
	}
}

struct unpack {
	const unsigned char *p, *end;
	bool bad;
};

static uint64_t
unpack_number(struct unpack *u)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		unsigned char c;

		if (u->p == u->end)
			break;
		c = *u->p++;
		v |= (uint64_t)(c & 0x7f) << shift;
		if (c < 0x80)
			return v;
	}
	u->bad = true;
	return 0;
}

static int64_t
unpack_signed(struct unpack *u)
{
	uint64_t v = unpack_number(u);

	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

static void
unpack_steps(struct unpack *u, size_t n, int e, double *mean, double *q)
{
	int64_t before[PACK_VALUES] = { 0 };

	for (size_t i = 0; i < n && !u->bad; i++) {
		uint64_t x =
		    (uint64_t)before[0] +
		    (uint64_t)unpack_signed(u); /* damaged numbers may wrap: they do no harm */

		before[0] = (int64_t)x;
		mean[i] = ldexp((double)(int64_t)x, e);
		for (size_t l = 0; l < FORECAST_ROW_LEVELS; l++) {
			before[1 + l] =
			    (int64_t)((uint64_t)before[1 + l] + (uint64_t)unpack_signed(u));
			x += (uint64_t)before[1 + l];
			q[i * FORECAST_ROW_LEVELS + l] = ldexp((double)(int64_t)x, e);
		}
	}
}

enum berth_code
forecast_unpack(
    const void *bytes, size_t n, struct arena *a, struct forecast_row *f, struct berth_err *err)
{
	struct unpack u = { bytes, (const unsigned char *)bytes + n, false };
	uint64_t step_s, steps, e;
	double *mean, *q;

	if (n == 0 || *u.p++ != FORECAST_PACK_VERSION)
		return err_set(err, BERTH_EINVAL,
		    "a stored forecast of %s was made by a newer berth, or is damaged", f->series);
	step_s = unpack_number(&u);
	steps = unpack_number(&u);
	e = unpack_number(&u);
	/* Each step takes a byte for each of its values at least. */
	if (u.bad || step_s < 1 || step_s > INT64_MAX || e > 2 * PACK_BIAS ||
	    (size_t)(u.end - u.p) < sizeof(f->peak) || steps > (size_t)(u.end - u.p) / PACK_VALUES)
		return err_set(err, BERTH_EINVAL, "a stored forecast of %s is damaged", f->series);
	memcpy(f->peak, u.p, sizeof(f->peak));
	u.p += sizeof(f->peak);
	f->step_s = (int64_t)step_s;
	f->n = (size_t)steps;
	f->mean = mean = arena_array(a, f->n, sizeof(*mean));
	f->q = q = arena_array(a, f->n * FORECAST_ROW_LEVELS, sizeof(*q));
	unpack_steps(&u, f->n, (int)e - PACK_BIAS, mean, q);
	if (u.bad || u.p != u.end)
		return err_set(err, BERTH_EINVAL, "a stored forecast of %s is damaged", f->series);
	return BERTH_OK;
}

static enum berth_code
unpack_json_points(
    const struct jsonr *root, struct arena *a, struct forecast_row *f, struct berth_err *err)
{
	static const char *const keys[FORECAST_ROW_LEVELS] = { "p05", "p50", "p90", "p95", "p99" };
	struct jsonr points;
	double *mean, *q;
	enum berth_code rc = jsonr_array(root, "points", &points, err);

	f->n = rc == BERTH_OK ? jsonr_len(&points) : 0;
	f->mean = mean = arena_array(a, f->n, sizeof(*mean));
	f->q = q = arena_array(a, f->n * FORECAST_ROW_LEVELS, sizeof(*q));
	for (size_t i = 0; rc == BERTH_OK && i < f->n; i++) {
		struct jsonr p = jsonr_at(&points, i);

		rc = jsonr_double(&p, "mean", &mean[i], err);
		for (size_t l = 0; rc == BERTH_OK && l < FORECAST_ROW_LEVELS; l++)
			rc = jsonr_double(&p, keys[l], &q[i * FORECAST_ROW_LEVELS + l], err);
	}
	return rc;
}

enum berth_code
forecast_unpack_json(
    const char *json, struct arena *a, struct forecast_row *f, struct berth_err *err)
{
	static const char *const keys[FORECAST_ROW_PEAKS] = { "p50", "p90", "p95", "p99" };
	struct jsonr root, peak;
	json_t *tree = NULL;
	enum berth_code rc = jsonr_parse(json, strlen(json), f->series, &tree, err);

	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(tree, f->series);
	rc = jsonr_int(&root, "step_s", 1, INT64_MAX, &f->step_s, err);
	if (rc == BERTH_OK)
		rc = jsonr_object(&root, "peak", &peak, err);
	for (size_t l = 0; rc == BERTH_OK && l < FORECAST_ROW_PEAKS; l++)
		rc = jsonr_double(&peak, keys[l], &f->peak[l], err);
	if (rc == BERTH_OK)
		rc = unpack_json_points(&root, a, f, err);
	json_decref(tree);
	return rc;
}
