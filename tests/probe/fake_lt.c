/*
 * A libcublasLt.so.13 for tests: multiplies on the CPU, checks that it is called as the library's documents demand,
 * and takes virtual time by BERTH_FAKE: gemm=TFLOP/s of FP16 and BF16, other precisions in proportion  lt=CODE (of cublasLtCreate)  lt_none=PRECISION
 * lt_flip=1 (one wrong element, each time)  lt_flaky=1 (every second time)  lt_fail=1  gemm_late=TFLOP/s (after lt_after)
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>

#include "kernels/lt_api.h"
#include "tests/probe/fake.h"

#define EXPORT __attribute__((visibility("default")))

struct fake_desc { int compute, scale, transa, transb, scales; };
struct fake_layout { int type; uint64_t rows, cols; int64_t ld; };

static void (*advance)(double ms);
static int (*device)(void);

EXPORT size_t cublasLtGetVersion(void) { return 130100; }

EXPORT int
cublasLtCreate(void **h)
{
	void *so = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), *p;

	if (so == NULL)
		return 1;
	p = dlsym(so, "fake_cuda_advance");
	memcpy(&advance, &p, sizeof(p));
	p = dlsym(so, "fake_cuda_device");
	memcpy(&device, &p, sizeof(p));
	*h = &advance;
	return (int)fake_number("lt", -1, 0);
}

EXPORT int cublasLtDestroy(void *h) { (void)h; return 0; }

EXPORT int
cublasLtMatmulDescCreate(void **d, int compute, int scale)
{
	struct fake_desc *n = calloc(1, sizeof(*n));

	n->compute = compute;
	n->scale = scale;
	*d = n;
	return 0;
}

EXPORT int cublasLtMatmulDescDestroy(void *d) { free(d); return 0; }

EXPORT int
cublasLtMatmulDescSetAttribute(void *v, int attr, const void *value, size_t n)
{
	struct fake_desc *d = v;
	int32_t i = 0;

	if (attr == LT_DESC_FAST_ACCUM)
		return n == 1 ? 0 : 7;
	if (attr == LT_DESC_A_SCALE || attr == LT_DESC_B_SCALE) {
		uint64_t p;

		if (n != 8)
			return 7;
		memcpy(&p, value, 8);
		d->scales += *(unsigned char *)(uintptr_t)p == 0x38;	/* 1.0 in UE4M3 */
		return 0;
	}
	if (n != 4)
		return 7;
	memcpy(&i, value, 4);
	if (attr == LT_DESC_TRANSA)
		d->transa = i;
	else if (attr == LT_DESC_TRANSB)
		d->transb = i;
	else if ((attr == LT_DESC_A_SCALE_MODE || attr == LT_DESC_B_SCALE_MODE) && i == LT_SCALE_VEC16_UE4M3)
		d->scales += 10;
	else
		return 7;
	return 0;
}

EXPORT int
cublasLtMatrixLayoutCreate(void **l, int type, uint64_t rows, uint64_t cols, int64_t ld)
{
	struct fake_layout *n = calloc(1, sizeof(*n));

	*n = (struct fake_layout){ type, rows, cols, ld };
	*l = n;
	return 0;
}

EXPORT int cublasLtMatrixLayoutDestroy(void *l) { free(l); return 0; }
EXPORT int cublasLtMatmulPreferenceCreate(void **p) { *p = calloc(1, 8); return 0; }
EXPORT int cublasLtMatmulPreferenceDestroy(void *p) { free(p); return 0; }

EXPORT int
cublasLtMatmulPreferenceSetAttribute(void *p, int attr, const void *v, size_t n)
{
	(void)p;
	(void)v;
	return attr == LT_PREF_WORKSPACE && n == 8 ? 0 : 7;
}

static const char *
fake_precision(const struct fake_desc *d, const struct fake_layout *a)
{
	switch (a->type) {
	case LT_R_64F:
		return "fp64";
	case LT_R_32F:
		return d->compute == LT_COMPUTE_TF32 ? "tf32" : "fp32";
	case LT_R_16F:
		return "fp16";
	case LT_R_16BF:
		return "bf16";
	case LT_R_E4M3:
		return "fp8";
	case LT_R_8I:
		return "int8";
	default:
		return "fp4";
	}
}

EXPORT int
cublasLtMatmulAlgoGetHeuristic(void *h, void *op, void *la, void *lb, void *lc, void *ld, void *pref, int want,
    struct lt_choice *out, int *got)
{
	const struct fake_desc *d = op;
	const struct fake_layout *a = la, *b = lb, *r = ld;

	(void)h;
	(void)lc;
	(void)pref;
	*got = 0;
	/* TN, agreeing sizes, and scales where the type is block-scaled: anything else is our mistake */
	if (d->transa != LT_OP_T || d->transb != LT_OP_N || a->type != b->type || a->rows != b->rows ||
	    a->cols != r->rows || b->cols != r->cols || (uint64_t)a->ld != a->rows || (uint64_t)r->ld != r->rows)
		return 7;
	if (a->type == LT_R_E2M1 && d->scales != 22)
		return 7;
	if (fake_is("lt_none", -1, fake_precision(d, a)))
		return LT_STATUS_NOT_SUPPORTED;
	for (int i = 0; i < want && i < 2; i++) {
		memset(&out[i], 0, sizeof(out[i]));
		out[i].algo.data[0] = (uint64_t)i;
		*got = i + 1;
	}
	return 0;
}

/* Of the rate of FP16, as Hopper's and Blackwell's units have it. */
static double
fake_factor(const char *precision)
{
	static const struct { const char *name; double factor; } rows[] = {
		{ "fp64", 1.0 / 16 }, { "fp32", 1.0 / 16 }, { "tf32", 0.5 }, { "fp8", 2 }, { "int8", 2 }, { "fp4", 4 },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].name, precision) == 0)
			return rows[i].factor;
	return 1;
}

static double
fake_small(unsigned v, int exponent_bits, int mantissa_bits, int bias)
{
	const unsigned m = v & ((1u << mantissa_bits) - 1), e = (v >> mantissa_bits) & ((1u << exponent_bits) - 1);
	const double s = v >> (exponent_bits + mantissa_bits) & 1 ? -1 : 1;

	return s * (e == 0 ? ldexp((double)m, 1 - bias - mantissa_bits) :
	    ldexp(1.0 + (double)m / (double)(1u << mantissa_bits), (int)e - bias));
}

static double
fake_get(int type, const void *p, uint64_t i)
{
	uint32_t w;
	float f;

	switch (type) {
	case LT_R_64F:
		return ((const double *)p)[i];
	case LT_R_32F:
		return ((const float *)p)[i];
	case LT_R_16F:
		return fake_small(((const uint16_t *)p)[i], 5, 10, 15);
	case LT_R_16BF:
		w = (uint32_t)((const uint16_t *)p)[i] << 16;
		memcpy(&f, &w, 4);
		return f;
	case LT_R_E4M3:
		return fake_small(((const uint8_t *)p)[i], 4, 3, 7);
	case LT_R_8I:
		return ((const int8_t *)p)[i];
	default:
		return fake_small(((const uint8_t *)p)[i / 2] >> (i % 2 * 4) & 0xf, 2, 1, 1);
	}
}

static void
fake_put(int type, void *p, uint64_t i, double v)
{
	float f = (float)v;
	uint32_t w;

	memcpy(&w, &f, 4);
	if (type == LT_R_64F)
		((double *)p)[i] = v;
	else if (type == LT_R_32F)
		((float *)p)[i] = f;
	else if (type == LT_R_32I)
		((int32_t *)p)[i] = (int32_t)v;
	else
		((uint16_t *)p)[i] = (uint16_t)(w >> 16);	/* never checked in these types */
}

/* Each element as a number, once: the product asks for it as often as the other side has columns. */
static double *
fake_numbers(const struct fake_layout *l, const void *p)
{
	const uint64_t n = l->rows * l->cols;
	double *v = malloc(n * sizeof(*v));

	for (uint64_t i = 0; v != NULL && i < n; i++)
		v[i] = fake_get(l->type, p, i);
	return v;
}

static int
fake_product(const struct fake_layout *x, const void *a, const struct fake_layout *y, const void *b,
    const struct fake_layout *r, void *d)
{
	double *na = fake_numbers(x, a), *nb = fake_numbers(y, b);
	const int rc = na == NULL || nb == NULL ? 3 : 0;

	for (uint64_t j = 0; rc == 0 && j < r->cols; j++)
		for (uint64_t i = 0; i < r->rows; i += 4) {	/* four sums at once do not wait for each other */
			const double *row[4], *col = nb + j * y->rows;
			double s[4] = { 0 };

			for (uint64_t q = 0; q < 4; q++)
				row[q] = na + (i + q < r->rows ? i + q : i) * x->rows;
			for (uint64_t k = 0; k < x->rows; k++) {
				s[0] += row[0][k] * col[k];
				s[1] += row[1][k] * col[k];
				s[2] += row[2][k] * col[k];
				s[3] += row[3][k] * col[k];
			}
			for (uint64_t q = 0; q < 4 && i + q < r->rows; q++)
				fake_put(r->type, d, i + q + j * r->rows, s[q]);
		}
	free(na);
	free(nb);
	return rc;
}

EXPORT int
cublasLtMatmul(void *h, void *op, const void *alpha, const void *a, void *la, const void *b, void *lb,
    const void *beta, const void *c, void *lc, void *d, void *ld, const struct lt_algo *algo, void *ws, size_t wn,
    void *stream)
{
	const struct fake_layout *x = la, *y = lb, *r = ld;
	static unsigned calls[64];
	const int dev = device();
	double rate = fake_number("gemm", dev, 700);
	int rc;

	(void)h; (void)op; (void)alpha; (void)beta; (void)c; (void)lc; (void)algo; (void)ws; (void)wn; (void)stream;
	if (fake_number("lt_fail", dev, 0) != 0)
		return 13;
	rc = fake_product(x, a, y, b, r, d);
	if (rc != 0)
		return rc;
	calls[dev]++;
	if (fake_number("lt_flip", dev, 0) != 0 || (fake_number("lt_flaky", dev, 0) != 0 && calls[dev] % 2 == 0))
		fake_put(r->type, d, r->rows + 1, fake_get(LT_R_32F, d, r->rows + 1) + 1);
	if (calls[dev] > fake_number("late_after", dev, 1e9))
		rate = fake_number("gemm_late", dev, rate);
	/* few columns are bound by reading the weights */
	if (r->cols <= 16)
		advance((double)(x->rows * x->cols) * (x->type == LT_R_16F ? 2 : 1) / fake_number("bw", dev, 3000) * 1e-6);
	else
		advance(2.0 * (double)(r->rows * r->cols * x->rows) / (rate * fake_factor(fake_precision(op, x))) * 1e-9);
	return 0;
}
