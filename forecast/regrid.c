/* forecast/regrid.c - finer steps become hours: means of means, maxima of peaks.  Floor: domain. */
#include "forecast/fc.h"

#include <math.h>

void
fc_to_hours(const struct fc_series *in, struct arena *a, struct fc_series *out)
{
	int64_t hour = 3600, t0 = in->t0 - ((in->t0 % hour) + hour) % hour, per = hour / in->step_s;
	size_t n = (size_t)((in->t0 + (int64_t)in->n * in->step_s - t0 + hour - 1) / hour);
	double *mean, *peak, *seen;

	*out = *in;
	if (in->step_s >= hour || hour % in->step_s != 0)
		return;
	mean = arena_array(a, n, sizeof(*mean));
	peak = arena_array(a, n, sizeof(*peak));
	seen = arena_array(a, n, sizeof(*seen));
	for (size_t i = 0; i < in->n; i++) {
		size_t h = (size_t)((in->t0 + (int64_t)i * in->step_s - t0) / hour);
		double top = in->peak != NULL && !isnan(in->peak[i]) ? in->peak[i] : in->mean[i];

		if (isnan(in->mean[i]))
			continue;
		mean[h] += in->mean[i];
		peak[h] = top > peak[h] ? top : peak[h];
		seen[h]++;
	}
	for (size_t h = 0; h < n; h++) {
		/* Half an hour of data tells of the hour; less is no data. */
		mean[h] = seen[h] * 2 >= (double)per ? mean[h] / seen[h] : NAN;
		peak[h] = isnan(mean[h]) ? NAN : peak[h];
	}
	*out = (struct fc_series){ in->name, t0, hour, n, mean, peak };
}
