/* Quantile sketches against sorted arrays, in any order of values and merges, packed and unpacked. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"
#include "util/rng.h"
#include "util/sketch.h"

#define VALUES 4000

struct weighted {
	double v;
	uint64_t w;
};

static int
by_value(const void *a, const void *b)
{
	const struct weighted *x = a, *y = b;

	return x->v < y->v ? -1 : x->v > y->v;
}

/* The least value with a share q of the weight at or below it. */
static double
exact(const struct weighted *sorted, size_t n, double q)
{
	double all = 0, below = 0;

	for (size_t i = 0; i < n; i++)
		all += (double)sorted[i].w;
	for (size_t i = 0; i < n; i++) {
		below += (double)sorted[i].w;
		if (below >= q * all && sorted[i].w > 0)
			return sorted[i].v;
	}
	return sorted[n - 1].v;
}

static void
draw(struct rng *r, int kind, struct weighted *v)
{
	double u = rng_unit(r);

	v->w = rng_u64(r) % 3600;
	switch (kind) {
	case 0:		/* whole GPUs, often none */
		v->v = u < 0.3 ? 0 : floor(u * 512);
		break;
	case 1:		/* over many decades */
		v->v = exp(60 * u - 20);
		break;
	case 2:		/* all the same */
		v->v = 17;
		break;
	default:
		v->v = u * 1e15;
	}
}

static void
test_error(void)
{
	static const double qs[] = { 0, 0.001, 0.25, 0.5, 0.9, 0.95, 0.99, 1 };
	static struct weighted v[VALUES];
	struct arena *a = arena_new();
	struct rng r;

	rng_seed(&r, 20260403);
	for (int kind = 0; kind < 4; kind++) {
		double worst = 0;
		struct sketch s;

		sketch_init(&s, a);
		for (size_t i = 0; i < VALUES; i++) {
			draw(&r, kind, &v[i]);
			sketch_add(&s, v[i].v, v[i].w);
		}
		qsort(v, VALUES, sizeof(v[0]), by_value);
		for (size_t k = 0; k < sizeof(qs) / sizeof(qs[0]); k++) {
			double want = exact(v, VALUES, qs[k]), got = sketch_quantile(&s, qs[k]);
			double off = want < 1e-9 ? got : fabs(got - want) / want;

			worst = off > worst ? off : worst;
		}
		tap_ok(worst <= SKETCH_ERROR * (1 + 1e-9), "kind %d: quantiles within %g, worst %g", kind, SKETCH_ERROR, worst);
	}
	arena_free(a);
}

static size_t
pack(const struct sketch *s, char *to, size_t room)
{
	struct buf b;
	size_t n;

	buf_init(&b, room);
	sketch_pack(s, &b);
	n = b.len;
	memcpy(to, b.p, n);
	buf_free(&b);
	return n;
}

/* Ten parts, each a sketch, merged in two orders, against all values in one. */
static void
test_merge(void)
{
	static struct weighted v[VALUES];
	static char x[65536], y[65536], z[65536];
	struct arena *a = arena_new();
	struct sketch parts[10], all, forth, back, read;
	size_t nx, ny, nz;
	struct rng r;

	rng_seed(&r, 7);
	sketch_init(&all, a);
	sketch_init(&forth, a);
	sketch_init(&back, a);
	for (size_t k = 0; k < 10; k++)
		sketch_init(&parts[k], a);
	for (size_t i = 0; i < VALUES; i++) {
		draw(&r, (int)(i % 2), &v[i]);
		sketch_add(&all, v[i].v, v[i].w);
	}
	for (size_t i = VALUES; i-- > 0;)
		sketch_add(&parts[rng_u64(&r) % 10], v[i].v, v[i].w);
	for (size_t k = 0; k < 10; k++) {
		sketch_merge(&forth, &parts[k]);
		sketch_merge(&back, &parts[9 - k]);
	}
	nx = pack(&all, x, sizeof(x));
	ny = pack(&forth, y, sizeof(y));
	nz = pack(&back, z, sizeof(z));
	tap_ok(nx == ny && memcmp(x, y, nx) == 0, "ten parts merged are byte for byte one sketch of all");
	tap_ok(nx == nz && memcmp(x, z, nx) == 0, "in any order");
	tap_ok(sketch_unpack(x, nx, a, &read) && pack(&read, y, sizeof(y)) == nx && memcmp(x, y, nx) == 0,
	    "packed, unpacked and packed again it is the same");
	tap_is_long((long long)sketch_weight(&read), (long long)sketch_weight(&all), "no second is lost");
	arena_free(a);
}

static void
test_small(void)
{
	struct arena *a = arena_new();
	struct sketch s, t;
	char x[512];
	size_t n;

	sketch_init(&s, a);
	tap_ok(isnan(sketch_quantile(&s, 0.5)), "an empty sketch has no quantile");
	n = pack(&s, x, sizeof(x));
	tap_ok(sketch_unpack(x, n, a, &t) && sketch_weight(&t) == 0, "an empty sketch can be packed: %zu bytes", n);
	for (int h = 0; h < 24; h++)
		sketch_add(&s, 100 + h * 8, 3600);
	n = pack(&s, x, sizeof(x));
	tap_ok(n <= 60, "a day of hours takes %zu bytes", n);
	for (size_t cut = 1; cut < n; cut++)
		if (sketch_unpack(x, cut, a, &t) && sketch_weight(&t) >= sketch_weight(&s))
			tap_ok(0, "%zu of %zu bytes are taken for all", cut, n);
	arena_free(a);
}

static void
test_hostile(void)
{
	struct arena *a = arena_new();
	struct sketch s;
	unsigned char bytes[64];
	struct rng r;
	size_t taken = 0, bad = 0;

	tap_ok(!sketch_unpack("", 0, a, &s), "no bytes are no sketch");
	tap_ok(!sketch_unpack("\002\001\000", 3, a, &s), "another version is refused");
	tap_ok(!sketch_unpack("\001\000\000", 3, a, &s), "weights of nothing are refused");
	tap_ok(!sketch_unpack("\001\001\000\002\000", 5, a, &s), "an empty bin is refused");
	tap_ok(!sketch_unpack("\001\001\377\377\377\377\377\377\377\377\377\377\001", 13, a, &s), "a number without end is refused");
	rng_seed(&r, 99);
	for (int i = 0; i < 200000; i++) {
		size_t n = rng_u64(&r) % sizeof(bytes);

		for (size_t k = 0; k < n; k++)
			bytes[k] = (unsigned char)(rng_u64(&r) >> (rng_u64(&r) % 64));
		bytes[0] = 1;
		if (!sketch_unpack(bytes, n, a, &s))
			continue;
		taken++;
		for (size_t k = 0; k < s.n; k++)
			bad += s.v[k].w == 0 || (k > 0 && s.v[k].i <= s.v[k - 1].i);
		bad += sketch_weight(&s) > SKETCH_WEIGHT_MAX || sketch_quantile(&s, 0.5) < 0;
	}
	tap_ok(taken > 0 && bad == 0, "%zu of 200000 random texts are sketches, all of them sound", taken);
	arena_free(a);
}

int
main(void)
{
	test_error();
	test_merge();
	test_small();
	test_hostile();
	return tap_done();
}
