#include <limits.h>
#include <math.h>
#include <string.h>

#include "model/accel.h"
#include "util/str.h"

#define SPEC_TOLERANCE 0.03 /* of a size: 80 GB is also said of 79.6 */
#define SPEC_COUNT_MAX 1000000

/* Splits "LOW..HIGH", "LOW..", "..HIGH" and "LOW+"; a single value is both ends. False: both ends
 * are empty. */
static bool
spec_ends(struct arena *arena, const char *s, const char **low_out, const char **high_out)
{
	const char *dots = strstr(s, "..");
	size_t n = strlen(s);

	if (dots != NULL) {
		*low_out = arena_strndup(arena, s, (size_t)(dots - s));
		*high_out = dots + 2;
	} else if (n > 0 && s[n - 1] == '+') {
		*low_out = arena_strndup(arena, s, n - 1);
		*high_out = "";
	} else {
		*low_out = *high_out = s;
	}
	return **low_out != '\0' || **high_out != '\0';
}

/* "80GB", "80G", "80GiB": GPU makers write GB and mean GiB, so both are the nominal size. */
static bool
spec_size(struct arena *arena, const char *s, double *gib_out)
{
	static const char *const units[] = { "GiB", "GB", "G", "gib", "gb", "g", "Gb", "GIB",
		NULL };
	struct berth_err ignored;

	for (size_t u = 0; units[u] != NULL; u++)
		if (str_ends(s, units[u]))
			return str_to_double(arena_strndup(arena, s, strlen(s) - strlen(units[u])),
				   0.01, 1e6, gib_out, &ignored) == BERTH_OK;
	return false;
}

bool
accel_memory_parse(struct arena *arena, const char *text, double *min_gib_out, double *max_gib_out)
{
	const char *low, *high;
	double min = 0, max = INFINITY;

	if (!spec_ends(arena, text, &low, &high))
		return false;
	/* "24..80GB": the unit behind counts for both */
	if (*low != '\0' && *high != '\0' && !spec_size(arena, low, &min)) {
		size_t digits = strspn(high, "0123456789.");

		low = arena_printf(arena, "%s%s", low, high + digits);
	}
	if ((*low != '\0' && !spec_size(arena, low, &min)) ||
	    (*high != '\0' && !spec_size(arena, high, &max)))
		return false;
	*min_gib_out = min;
	*max_gib_out = max;
	return true;
}

static bool
spec_memory(struct arena *arena, const char *s, struct accel_spec *spec)
{
	return accel_memory_parse(arena, s, &spec->memory_min_gib, &spec->memory_max_gib);
}

static bool
spec_count(struct arena *arena, const char *s, struct accel_spec *spec)
{
	struct berth_err ignored;
	const char *low, *high;
	int64_t min = 1, max = INT_MAX;

	if (!spec_ends(arena, s, &low, &high))
		return false;
	if ((*low != '\0' && str_to_i64(low, 1, SPEC_COUNT_MAX, &min, &ignored) != BERTH_OK) ||
	    (*high != '\0' && str_to_i64(high, 1, SPEC_COUNT_MAX, &max, &ignored) != BERTH_OK))
		return false;
	spec->count_min = (int)min;
	spec->count_max = (int)max;
	spec->count_given = true;
	return true;
}

/* A number or a range of numbers without a unit: meant as a count. */
static bool
spec_is_number(const char *part)
{
	return *part != '\0' && part[strspn(part, "0123456789.+-")] == '\0' &&
	       strpbrk(part, "0123456789") != NULL;
}

static enum berth_code
spec_bad(const char *text, const char *part, bool count_given, struct berth_err *err)
{
	if (count_given)
		return err_set(err, BERTH_EINVAL,
		    "accelerator '%.80s': '%.40s' comes after the count, which is the last part; "
		    "say NAME:MEMORY:COUNT",
		    text, part);
	if (spec_is_number(part))
		return err_set(err, BERTH_EINVAL,
		    "accelerator '%.80s': the count '%.40s' is not a whole number from 1 to %d",
		    text, part, SPEC_COUNT_MAX);
	return err_set(err, BERTH_EINVAL,
	    "accelerator '%.80s': '%.40s' is neither a memory size (80GB, 24GB..80GB, 48GB+) nor a "
	    "count (8, 4..8)",
	    text, part);
}

static bool
spec_memory_fits(const struct accel_spec *spec, double memory_gib)
{
	return memory_gib >= spec->memory_min_gib * (1 - SPEC_TOLERANCE) &&
	       memory_gib <= spec->memory_max_gib * (1 + SPEC_TOLERANCE);
}

/* Refuses "A100:60GB": nothing could ever match it. */
static enum berth_code
spec_check_memory(
    const struct accel_spec *spec, struct arena *arena, const char *text, struct berth_err *err)
{
	const struct accel *a = spec->accel;
	const char *sizes = "";
	double last = NAN;

	if (a == NULL || isnan(a->memory_gib) || spec_memory_fits(spec, a->memory_gib))
		return BERTH_OK;
	for (size_t i = 0; i < a->n_members; i++) {
		double gib = a->members[i]->memory_gib;

		if (spec_memory_fits(spec, gib))
			return BERTH_OK;
		if (gib != last)
			sizes =
			    arena_printf(arena, "%s%s%gGB", sizes, *sizes == '\0' ? "" : ", ", gib);
		last = gib;
	}
	if (*sizes == '\0')
		sizes = arena_printf(arena, "%gGB", a->memory_gib);
	return err_set(
	    err, BERTH_EINVAL, "accelerator '%.80s': %s comes with %s", text, a->name, sizes);
}

enum berth_code
accel_spec_parse(const struct accel_table *tab, struct arena *arena, const char *text,
    struct accel_spec *spec_out, struct berth_err *err)
{
	struct accel_spec spec = { .name = "", .memory_max_gib = INFINITY, .count_max = INT_MAX };
	bool has_memory = false;
	size_t n, i = 0;
	char **part = str_split(arena, text, ':', &n);

	if (n == 0 || part[0][0] == '\0')
		return err_set(err, BERTH_EINVAL,
		    "accelerator '%.80s': no name; say NAME, NAME:COUNT, NAME:MEMORY:COUNT or any",
		    text);
	if (spec_memory(arena, part[0], &spec)) {
		has_memory = true;
		i = 1;
	} else if (str_ieq(part[0], "any")) {
		i = 1;
	} else {
		spec.name = part[0];
		if ((spec.accel = accel_find(tab, spec.name)) == NULL)
			return accel_unknown(tab, spec.name, err);
		i = 1;
	}
	for (; i < n; i++) {
		if (!has_memory && !spec.count_given && spec_memory(arena, part[i], &spec))
			has_memory = true;
		else if (spec.count_given || !spec_count(arena, part[i], &spec))
			return spec_bad(text, part[i], spec.count_given, err);
	}
	if (spec.memory_min_gib > spec.memory_max_gib || spec.count_min > spec.count_max)
		return err_set(err, BERTH_EINVAL,
		    "accelerator '%.80s': the range ends before it begins", text);
	if (has_memory && spec_check_memory(&spec, arena, text, err) != BERTH_OK)
		return BERTH_EINVAL;
	if (spec.accel != NULL && spec.memory_min_gib == spec.memory_max_gib)
		spec.accel = accel_narrow(tab, spec.accel, spec.memory_min_gib);
	*spec_out = spec;
	return BERTH_OK;
}

/* The most memory a machine of this product or group can have. */
static double
spec_greatest(const struct accel *a)
{
	double most = a->memory_gib;

	for (size_t i = 0; i < a->n_members; i++)
		most = fmax(most, a->members[i]->memory_gib);
	return most;
}

bool
accel_spec_match(const struct accel_spec *spec, const struct accel_table *tab,
    const char *accelerator, double memory_gib, int count)
{
	const struct accel *have = accel_find_sized(tab, accelerator, memory_gib);
	double least = memory_gib, most = memory_gib;

	if (count < spec->count_min || count > spec->count_max || !accel_is(have, spec->accel))
		return false;
	if (have != NULL) {
		least = fmin(memory_gib, have->memory_gib);
		most = isnan(memory_gib) ? spec_greatest(have) : least;
	}
	if (spec->memory_min_gib > 0 && !(least >= spec->memory_min_gib * (1 - SPEC_TOLERANCE)))
		return false;
	return isinf(spec->memory_max_gib) || most <= spec->memory_max_gib * (1 + SPEC_TOLERANCE);
}
