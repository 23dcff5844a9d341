#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/verdict_fleet.h"
#include "util/arena.h"

static int
fleet_group_cmp(const struct verdict_fleet_row *x, const struct verdict_fleet_row *y)
{
	int c = strcmp(x->accelerator, y->accelerator);

	c = c != 0 ? c : strcmp(x->test, y->test);
	return c != 0 ? c : strcmp(x->key != NULL ? x->key : "", y->key != NULL ? y->key : "");
}

/* By accelerator, test, key, machine; the newest of a machine first. */
static int
fleet_machine_cmp(const void *a, const void *b)
{
	const struct verdict_fleet_row *x = a, *y = b;
	int c = fleet_group_cmp(x, y);

	if (c == 0)
		c = strcmp(x->machine, y->machine);
	return c != 0 ? c : (x->t < y->t) - (x->t > y->t);
}

static int
fleet_time_cmp(const void *a, const void *b)
{
	const struct verdict_fleet_row *x = a, *y = b;

	return (x->t > y->t) - (x->t < y->t);
}

static int
fleet_double_cmp(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double
fleet_median(const struct verdict_fleet_row *rows, size_t n, double *scratch)
{
	for (size_t i = 0; i < n; i++)
		scratch[i] = rows[i].value;
	qsort(scratch, n, sizeof(*scratch), fleet_double_cmp);
	return n == 0       ? (double)NAN
	       : n % 2 == 1 ? scratch[n / 2]
			    : (scratch[n / 2 - 1] + scratch[n / 2]) / 2.0;
}

static int
fleet_providers(const struct verdict_fleet_row *rows, size_t n)
{
	int count = 0;

	for (size_t i = 0; i < n; i++) {
		size_t k = 0;

		while (k < i && strcmp(rows[k].provider, rows[i].provider) != 0)
			k++;
		count += k == i;
	}
	return count;
}

/* One group, one row a machine. */
static struct verdict_ref
fleet_ref(struct verdict_fleet_row *rows, size_t n, double *scratch)
{
	struct verdict_ref ref = { .accelerator = rows[0].accelerator,
		.test = rows[0].test,
		.key = rows[0].key,
		.of_peak = (double)NAN,
		.source = "the fleet's median",
		.machines = (int)n };

	ref.value = fleet_median(rows, n, scratch);
	ref.providers = fleet_providers(rows, n);
	qsort(rows, n, sizeof(*rows), fleet_time_cmp);
	ref.drift = n < 2 ? (double)NAN
			  : fleet_median(rows + n / 2, n - n / 2, scratch) /
				    fleet_median(rows, n / 2, scratch) -
				1.0;
	return ref;
}

const char *
verdict_fleet_key(
    struct arena *a, const char *pci, const char *mig, int ecc, double power_w, const char *kernels)
{
	if (pci[0] == '\0')
		return "";
	return arena_printf(a, "%s mig=%s ecc=%d power=%.0f %s", pci, mig, ecc,
	    isfinite(power_w) ? power_w : 0.0, kernels);
}

void
verdict_fleet_add(
    struct verdict_fleet_row *rows, size_t n, struct arena *a, struct verdict_refs *refs)
{
	double *scratch = arena_array_of(a, n + 1, double);
	struct verdict_ref *all = arena_array_of(a, refs->n + n + 1, struct verdict_ref);
	size_t votes = 0, kept = 0;

	for (size_t i = 0; i < n; i++)
		if (rows[i].value > 0.0 && isfinite(rows[i].value) && !rows[i].rejected)
			rows[votes++] = rows[i];
	if (votes > 0)
		qsort(rows, votes, sizeof(*rows), fleet_machine_cmp);
	for (size_t i = 0; i < votes; i++)
		if (kept == 0 || fleet_group_cmp(&rows[kept - 1], &rows[i]) != 0 ||
		    strcmp(rows[kept - 1].machine, rows[i].machine) != 0)
			rows[kept++] = rows[i];
	if (refs->n > 0)
		memcpy(all, refs->refs, refs->n * sizeof(*all));
	for (size_t i = 0, end; i < kept; i = end) {
		for (end = i + 1; end < kept && fleet_group_cmp(&rows[i], &rows[end]) == 0; end++)
			;
		all[refs->n++] = fleet_ref(rows + i, end - i, scratch);
	}
	refs->refs = all;
}
