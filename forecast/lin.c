/* forecast/lin.c - small dense systems, laid out so that inner loops run along rows.  Floor: domain. */
#include "forecast/fc.h"

#include <math.h>

/* y[0..n) -= s * x[0..n) */
static void
lin_axpy(double *restrict y, const double *restrict x, double s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		y[i] -= s * x[i];
}

/* Upper form: a = u'u with u in the upper triangle; rows are contiguous, so the update of row i is one sweep. */
bool
fc_chol(double *a, size_t n)
{
	for (size_t k = 0; k < n; k++) {
		double *rk = a + k * n, d = rk[k];

		if (!(d > 0) || !isfinite(d))
			return false;
		d = 1 / sqrt(d);
		for (size_t i = k; i < n; i++)
			rk[i] *= d;
		for (size_t i = k + 1; i < n; i++)
			lin_axpy(a + i * n + i, rk + i, rk[i], n - i);
	}
	return true;
}

void
fc_chol_solve(const double *u, size_t n, double *b, size_t m)
{
	for (size_t k = 0; k < n; k++) {
		double *bk = b + k * m, d = 1 / u[k * n + k];

		for (size_t c = 0; c < m; c++)
			bk[c] *= d;
		for (size_t i = k + 1; i < n; i++)
			lin_axpy(b + i * m, bk, u[k * n + i], m);
	}
	for (size_t k = n; k-- > 0;) {
		double *bk = b + k * m, d = 1 / u[k * n + k];

		for (size_t i = k + 1; i < n; i++)
			lin_axpy(bk, b + i * m, u[k * n + i], m);
		for (size_t c = 0; c < m; c++)
			bk[c] *= d;
	}
}
