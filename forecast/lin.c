/* forecast/lin.c - small dense systems, laid out so that inner loops run along rows.  Floor:
 * domain. */
#include "forecast/fc.h"

#include <math.h>

/* Rows are taken four at a time: each pass over y then does four times the work. */
enum { LIN_ROWS = 4 };

/* y[0..n) -= s * x[0..n) */
static void
lin_axpy(double *restrict y, const double *restrict x, double s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		y[i] -= s * x[i];
}

/* y[0..n) -= s[0] * x[0..n) + ... + s[3] * x[3 * stride ..) */
void
fc_axpy4(double *restrict y, const double *restrict x, size_t stride, const double *s, size_t n)
{
	const double *x1 = x + stride, *x2 = x1 + stride, *x3 = x2 + stride;
	double s0 = s[0], s1 = s[1], s2 = s[2], s3 = s[3];

	for (size_t i = 0; i < n; i++)
		y[i] -= (s0 * x[i] + s1 * x1[i]) + (s2 * x2[i] + s3 * x3[i]);
}

/* Upper form: a = u'u with u in the upper triangle; rows are contiguous, so the update of row i is
 * one sweep. */
bool
fc_chol(double *a, size_t n)
{
	for (size_t k0 = 0; k0 < n; k0 += LIN_ROWS) {
		size_t k1 = k0 + LIN_ROWS < n ? k0 + LIN_ROWS : n;

		for (size_t k = k0; k < k1; k++) {
			double *rk = a + k * n, d;

			for (size_t p = k0; p < k; p++)
				lin_axpy(rk + k, a + p * n + k, a[p * n + k], n - k);
			d = rk[k];
			if (!(d > 0) || !isfinite(d))
				return false;
			d = 1 / sqrt(d);
			for (size_t i = k; i < n; i++)
				rk[i] *= d;
		}
		for (size_t i = k1; i < n && k1 - k0 == LIN_ROWS; i++) {
			const double *x = a + k0 * n + i,
				     s[LIN_ROWS] = { x[0], x[n], x[2 * n], x[3 * n] };

			fc_axpy4(a + i * n + i, x, n, s, n - i);
		}
	}
	return true;
}

static void
lin_scale(double *x, double s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] *= s;
}

/* b [n][m] := inverse of u' times b */
static void
lin_forward(const double *u, size_t n, double *b, size_t m)
{
	for (size_t k0 = 0; k0 < n; k0 += LIN_ROWS) {
		size_t k1 = k0 + LIN_ROWS < n ? k0 + LIN_ROWS : n;

		for (size_t k = k0; k < k1; k++) {
			for (size_t p = k0; p < k; p++)
				lin_axpy(b + k * m, b + p * m, u[p * n + k], m);
			lin_scale(b + k * m, 1 / u[k * n + k], m);
		}
		for (size_t i = k1; i < n && k1 - k0 == LIN_ROWS; i++) {
			const double *x = u + k0 * n + i,
				     s[LIN_ROWS] = { x[0], x[n], x[2 * n], x[3 * n] };

			fc_axpy4(b + i * m, b + k0 * m, m, s, m);
		}
	}
}

/* b := inverse of u times b */
static void
lin_backward(const double *u, size_t n, double *b, size_t m)
{
	for (size_t k = n; k-- > 0;) {
		double *bk = b + k * m;
		const double *row = u + k * n;
		size_t i = k + 1;

		for (; i + LIN_ROWS <= n; i += LIN_ROWS)
			fc_axpy4(bk, b + i * m, m, row + i, m);
		for (; i < n; i++)
			lin_axpy(bk, b + i * m, row[i], m);
		lin_scale(bk, 1 / row[k], m);
	}
}

void
fc_chol_solve(const double *u, size_t n, double *b, size_t m)
{
	lin_forward(u, n, b, m);
	lin_backward(u, n, b, m);
}
