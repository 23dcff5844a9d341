#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/arith.h"
#include "kernels/run.h"

/* What right results are: the kernels' own functions on the host, shared over a few threads. */

#define EXPECT_THREADS 8

struct expect_part {
	uint64_t from, to, x, copy, triad;
};

static void *
expect_part_run(void *arg)
{
	struct expect_part *p = arg;

	for (uint64_t i = p->from; i < p->to; i++) {
		const double b = arith_unit(1, i), c = arith_unit(2, i);
		const uint64_t bits = arith_bits64(b);

		p->x ^= bits;
		p->copy += arith_term(bits, i);
		p->triad += arith_term(arith_bits64(arith_triad(b, c, RUN_TRIAD_S)), i);
	}
	return NULL;
}

static void
expect_sums(uint64_t words, uint64_t *x_out, uint64_t *copy_out, uint64_t *triad_out)
{
	struct expect_part parts[EXPECT_THREADS];
	pthread_t threads[EXPECT_THREADS];
	int n = host_cpus() < EXPECT_THREADS ? host_cpus() : EXPECT_THREADS;
	bool started[EXPECT_THREADS] = { false };
	uint64_t x = 0;

	memset(parts, 0, sizeof(parts));
	*copy_out = *triad_out = 0;
	for (int i = 0; i < n; i++) {
		parts[i].from = words / (uint64_t)n * (uint64_t)i;
		parts[i].to = i == n - 1 ? words : words / (uint64_t)n * (uint64_t)(i + 1);
		started[i] =
		    i > 0 && pthread_create(&threads[i], NULL, expect_part_run, &parts[i]) == 0;
	}
	for (int i = 0; i < n; i++) {
		if (started[i])
			pthread_join(threads[i], NULL);
		else
			expect_part_run(&parts[i]);
		x ^= parts[i].x;
		*copy_out += parts[i].copy;
		*triad_out += parts[i].triad;
	}
	*x_out = (x >> 32 ^ x) & 0xffffffffu; /* the kernel folds 32-bit words */
}

void
expect_init(struct expect *e)
{
	memset(e, 0, sizeof(*e));
	pthread_mutex_init(&e->lock, NULL);
}

void
expect_arrays(
    struct expect *e, uint64_t words, uint64_t *xor_out, uint64_t *copy_out, uint64_t *triad_out)
{
	pthread_mutex_lock(&e->lock);
	if (!e->have_arrays || e->n != words) {
		expect_sums(words, &e->read_xor, &e->copy_sum, &e->triad_sum);
		e->n = words;
		e->have_arrays = true;
	}
	*xor_out = e->read_xor;
	*copy_out = e->copy_sum;
	*triad_out = e->triad_sum;
	pthread_mutex_unlock(&e->lock);
}

uint64_t
expect_copy(struct expect *e, uint64_t words)
{
	const int max = (int)(sizeof(e->copy) / sizeof(e->copy[0]));
	uint64_t x, copy = 0, triad;
	int i = 0;

	pthread_mutex_lock(&e->lock);
	while (i < e->copies && e->copy[i].words != words)
		i++;
	if (i < e->copies) {
		copy = e->copy[i].sum;
	} else {
		expect_sums(words, &x, &copy, &triad);
		if (i < max) {
			e->copy[i].words = words;
			e->copy[i].sum = copy;
			e->copies++;
		}
	}
	pthread_mutex_unlock(&e->lock);
	return copy;
}

/* sum over i, j of u_i C_ij v_j = sum over k of (u'A)_k (Bv)_k, mod 2^64: O(n^2) where the product
 * is O(n^3) */
static uint64_t
expect_product_sum(uint64_t m, uint64_t n, uint64_t k)
{
	uint64_t *ua = calloc(k, sizeof(*ua)), *bv = calloc(k, sizeof(*bv)), h = 0;

	if (ua == NULL || bv == NULL)
		goto out; /* 0 is no product's value here, so the check fails rather than passes */
	for (uint64_t i = 0; i < m; i++) {
		const uint64_t u = arith_weight(ARITH_SEED_U, i);

		for (uint64_t x = 0; x < k; x++)
			ua[x] += u * (uint64_t)(int64_t)arith_element(ARITH_SEED_A, i * k + x);
	}
	for (uint64_t j = 0; j < n; j++) {
		const uint64_t v = arith_weight(ARITH_SEED_V, j);

		for (uint64_t x = 0; x < k; x++)
			bv[x] += v * (uint64_t)(int64_t)arith_element(ARITH_SEED_B, j * k + x);
	}
	for (uint64_t x = 0; x < k; x++)
		h += ua[x] * bv[x];
out:
	free(ua);
	free(bv);
	return h;
}

uint64_t
expect_product(struct expect *e, uint64_t m, uint64_t n, uint64_t k)
{
	const int max = (int)(sizeof(e->product) / sizeof(e->product[0]));
	uint64_t h;

	pthread_mutex_lock(&e->lock);
	for (int i = 0; i < e->products; i++)
		if (e->product[i].m == m && e->product[i].n == n && e->product[i].k == k) {
			h = e->product[i].h;
			pthread_mutex_unlock(&e->lock);
			return h;
		}
	h = expect_product_sum(m, n, k);
	if (e->products < max) {
		e->product[e->products].m = m;
		e->product[e->products].n = n;
		e->product[e->products].k = k;
		e->product[e->products++].h = h;
	}
	pthread_mutex_unlock(&e->lock);
	return h;
}
