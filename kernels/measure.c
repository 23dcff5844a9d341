#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/run.h"

int
gpu_measure(struct gpu *g, gpu_op op, void *arg, int warm, int reps, double deadline,
    struct gpu_times *t_out)
{
	const struct cuda_api *cu = &g->run->cuda;
	const int max = (int)(sizeof(t_out->s) / sizeof(t_out->s[0]));
	float ms = 0;
	int rc = 0;

	memset(t_out, 0, sizeof(*t_out));
	for (int i = 0; i < warm && rc == 0 && report_now() < deadline; i++)
		rc = op(g, arg);
	if (rc == 0)
		rc = cu->ctx_sync();
	for (int i = 0; i < reps && i < max && rc == 0; i++) {
		if (i > 0 && report_now() >= deadline) {
			t_out->partial = true;
			break;
		}
		rc = cu->event_record(g->ev[0], NULL);
		rc = rc != 0 ? rc : op(g, arg);
		rc = rc != 0 ? rc : cu->event_record(g->ev[1], NULL);
		rc = rc != 0 ? rc : cu->event_sync(g->ev[1]);
		rc = rc != 0 ? rc : cu->event_ms(&ms, g->ev[0], g->ev[1]);
		if (rc == 0)
			t_out->s[t_out->n++] = (double)ms * 1e-3;
	}
	return rc;
}

static int
gpu_times_cmp(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Quantile by linear interpolation between order statistics (Hyndman & Fan, 1996, type 7). */
static double
gpu_quantile(const double *sorted, int n, double q)
{
	double h = (n - 1) * q;
	int i = (int)h;

	return i + 1 < n ? sorted[i] + (h - i) * (sorted[i + 1] - sorted[i]) : sorted[n - 1];
}

void
gpu_rates(const struct gpu_times *t, double work, double scale, struct report_test *out)
{
	double v[sizeof(t->s) / sizeof(t->s[0])];

	out->n = t->n;
	out->value = out->median = out->min = out->max = out->iqr = (double)NAN;
	for (int i = 0; i < t->n; i++) {
		if (!(t->s[i] > 0.0) || !isfinite(t->s[i]))
			return; /* no time passed: the clock is broken, there is no rate */
		v[i] = work > 0.0 ? work / t->s[i] * scale : t->s[i] * scale;
	}
	if (t->n == 0)
		return;
	qsort(v, (size_t)t->n, sizeof(v[0]), gpu_times_cmp);
	out->median = out->value = gpu_quantile(v, t->n, 0.5);
	out->min = v[0];
	out->max = v[t->n - 1];
	out->iqr = gpu_quantile(v, t->n, 0.75) - gpu_quantile(v, t->n, 0.25);
}

void
gpu_report(struct gpu *g, const struct suite_row *row, const struct gpu_times *t, double work,
    double scale, bool right)
{
	struct report_test out = { .gpu = g->index, .peer = -1 };

	snprintf(out.name, sizeof(out.name), "%s", row->name);
	snprintf(out.unit, sizeof(out.unit), "%s", row->unit);
	gpu_rates(t, work, scale, &out);
	out.status = t->partial ? REPORT_PARTIAL : REPORT_OK;
	if (t->partial)
		snprintf(out.error, sizeof(out.error), "time cap of %g s", row->cap_s);
	if (!right || !isfinite(out.value)) {
		out.status = REPORT_FAILED;
		snprintf(out.error, sizeof(out.error), "%s",
		    right ? "the device's clock did not advance" : "wrong result, see the checks");
	}
	report_test(&g->run->report, &out);
}

void
gpu_failed(struct gpu *g, const struct suite_row *row, const char *where, int code)
{
	report_test_none(&g->run->report, row->name, g->index, row->unit, REPORT_FAILED, "%s: %s",
	    where, cuda_api_text(code));
	report_error(&g->run->report, where, code, "gpu %d, %s: %s", g->index, row->name,
	    cuda_api_text(code));
}

bool
gpu_check_twice(struct gpu *g, const struct suite_row *row, const char *what, gpu_op op, void *arg,
    uint64_t want)
{
	const struct cuda_api *cu = &g->run->cuda;
	struct report *r = &g->run->report;
	uint64_t got[2] = { 0, 0 };
	char name[64];
	int rc = 0;

	snprintf(name, sizeof(name), "%s.%s", row->name, what);
	for (int i = 0; i < 2 && rc == 0; i++) {
		rc = cu->mem_set(g->acc, 0, 64);
		rc = rc != 0 ? rc : op(g, arg);
		rc = rc != 0 ? rc : cu->ctx_sync();
		rc = rc != 0 ? rc : cu->copy_to_host(&got[i], g->acc, 8);
	}
	if (rc != 0) {
		report_check(
		    r, name, g->index, REPORT_FAILED, (double)NAN, "%s", cuda_api_text(rc));
		report_error(r, name, rc, "gpu %d: %s", g->index, cuda_api_text(rc));
	} else if (got[0] == want && got[1] == want) {
		report_check(r, name, g->index, REPORT_OK, (double)NAN, "0x%016llx",
		    (unsigned long long)want);
	} else if (got[0] == got[1]) {
		report_check(r, name, g->index, REPORT_FAILED, (double)NAN,
		    "wrong twice alike (0x%016llx, expected 0x%016llx): wrong kernel, library or a "
		    "stuck fault",
		    (unsigned long long)got[0], (unsigned long long)want);
	} else {
		report_check(r, name, g->index, REPORT_FAILED, (double)NAN,
		    "two runs differ (0x%016llx, 0x%016llx, expected 0x%016llx): silent corruption",
		    (unsigned long long)got[0], (unsigned long long)got[1],
		    (unsigned long long)want);
	}
	return rc == 0 && got[0] == want && got[1] == want;
}
