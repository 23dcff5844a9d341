#include "model/accel.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/accelkey.h"
#include "model/acceltab.h"
#include "util/str.h"

#define ACCEL_MEMORY_TOLERANCE 0.03 /* of the nominal size: "80 GB" is also said of 79.6 */
#define ACCEL_SUGGEST_MAX 8

static const char *const accel_precision_names[] = {
	[PRECISION_FP64] = "fp64",
	[PRECISION_FP64_MMA] = "fp64_mma",
	[PRECISION_FP32] = "fp32",
	[PRECISION_TF32] = "tf32",
	[PRECISION_FP16] = "fp16",
	[PRECISION_BF16] = "bf16",
	[PRECISION_FP8] = "fp8",
	[PRECISION_INT8] = "int8",
	[PRECISION_FP4] = "fp4",
};

const char *
accel_precision_name(enum accel_precision p)
{
	return accel_precision_names[p];
}

bool
accel_precision_parse(const char *s, enum accel_precision *p_out)
{
	static const struct {
		const char *name;
		enum accel_precision p;
	} more[] = {
		{ "half", PRECISION_FP16 },
		{ "bfloat16", PRECISION_BF16 },
		{ "float", PRECISION_FP32 },
		{ "double", PRECISION_FP64 },
		{ "nvfp4", PRECISION_FP4 },
		{ "mxfp8", PRECISION_FP8 },
	};

	for (int p = 0; p < PRECISION_COUNT; p++)
		if (str_ieq(s, accel_precision_names[p])) {
			*p_out = (enum accel_precision)p;
			return true;
		}
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		if (str_ieq(s, more[i].name)) {
			*p_out = more[i].p;
			return true;
		}
	return false;
}

size_t
accel_count(const struct accel_table *tab)
{
	return tab->n;
}

const struct accel *
accel_at(const struct accel_table *tab, size_t i)
{
	return tab->all[i];
}

const struct accel *
accel_find(const struct accel_table *tab, const char *name)
{
	struct accelkey k;
	char key[ACCELKEY_BYTES];

	if (!accelkey_split(&k, name, strlen(name)))
		return NULL;
	for (int to = k.n; to > 0 && (to == k.n || accelkey_is_tail(k.word[to])); to--)
		for (int from = 0; from < to && (from == 0 || accelkey_is_maker(k.word[from - 1]));
		     from++) {
			const size_t *i;

			accelkey_join(&k, from, to, key);
			i = strmap_get(&tab->keys, key);
			if (i != NULL)
				return tab->all[*i];
		}
	return NULL;
}

static bool
accel_has_memory(const struct accel *a, double memory_gib)
{
	return fabs(a->memory_gib - memory_gib) <= ACCEL_MEMORY_TOLERANCE * memory_gib;
}

/* Whether every member of the group g is one of a's with that memory, and the other way round. */
static bool
accel_is_part(const struct accel *g, const struct accel *a, double memory_gib, size_t n)
{
	if (g->n_members != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!accel_is(g->members[i], a) || !accel_has_memory(g->members[i], memory_gib))
			return false;
	return true;
}

const struct accel *
accel_narrow(const struct accel_table *tab, const struct accel *a, double memory_gib)
{
	const struct accel *only = NULL;
	size_t n = 0;

	if (a == NULL || a->n_members == 0 || isnan(memory_gib))
		return a;
	for (size_t i = 0; i < a->n_members; i++)
		if (accel_has_memory(a->members[i], memory_gib)) {
			only = a->members[i];
			n++;
		}
	if (n == 0 || n == a->n_members)
		return a;
	if (n == 1)
		return only;
	for (size_t i = tab->n_products; i < tab->n; i++)
		if (accel_is_part(tab->all[i], a, memory_gib, n))
			return tab->all[i];
	return a;
}

const struct accel *
accel_find_sized(const struct accel_table *tab, const char *name, double memory_gib)
{
	return accel_narrow(tab, accel_find(tab, name), memory_gib);
}

const struct accel *
accel_model(const struct accel_table *tab, const struct accel *a)
{
	const struct accel *family = accel_find(tab, a->family);

	if (a->n_members > 0 || family == NULL || isnan(a->memory_gib))
		return a;
	return accel_narrow(tab, family, a->memory_gib);
}

bool
accel_is(const struct accel *have, const struct accel *want)
{
	if (want == NULL || have == want)
		return true;
	if (have == NULL || want->n_members == 0)
		return false;
	if (have->n_members > 0) {
		for (size_t i = 0; i < have->n_members; i++)
			if (!accel_is(have->members[i], want))
				return false;
		return true;
	}
	for (size_t i = 0; i < want->n_members; i++)
		if (want->members[i] == have)
			return true;
	return false;
}

double
accel_speed_ratio(const struct accel *a, const struct accel *b, enum accel_precision precision)
{
	double ratio;

	if (a == NULL || b == NULL)
		return NAN;
	ratio = a->peak_tflops[precision] / b->peak_tflops[precision];
	return isnan(ratio) ? a->bandwidth_gb_s / b->bandwidth_gb_s : ratio;
}

const struct accel *
accel_fastest(const struct accel *a, enum accel_precision precision)
{
	const struct accel *best = a != NULL && a->n_members > 0 ? a->members[0] : a;

	for (size_t i = 1; a != NULL && i < a->n_members; i++)
		if (accel_speed_ratio(a->members[i], best, precision) > 1)
			best = a->members[i];
	return best;
}

double
accel_work_ratio(const struct accel *have, const struct accel *want, enum accel_precision precision)
{
	return want == NULL || have == want ? 1
					    : accel_speed_ratio(accel_fastest(have, precision),
						  accel_fastest(want, precision), precision);
}

/* Sorts behind every name that begins with the typed text, or shares its family, by how many edits
 * it takes. */
static double
accel_likeness(const struct accel *a, const char *typed, const char *family)
{
	struct accelkey k;
	char key[ACCELKEY_BYTES], own[ACCELKEY_BYTES];
	size_t n = strlen(typed);
	double edits;
	/* A size is what people leave out or mistype most, so models go before forms. */
	double rank = a->n_members > 0 && a->form[0] == '\0' ? 0 : 0.5;

	accelkey_split(&k, a->name, strlen(a->name));
	accelkey_join(&k, 0, k.n, key);
	accelkey_split(&k, a->family, strlen(a->family));
	accelkey_join(&k, 0, k.n, own);
	edits = str_distance(typed, key);
	if (n >= 2 && strncmp(key, typed, n) == 0)
		return (double)(strlen(key) - n) + rank;
	if (family[0] != '\0' && strcmp(own, family) == 0)
		return 1000 + edits + rank;
	if (edits <= fmax(1, (double)(strlen(key) > n ? strlen(key) : n) / 3))
		return 2000 + edits + rank;
	return INFINITY;
}

/* Longest family name that the typed text begins with; only to suggest, never to resolve. */
static void
accel_typed_family(const struct accel_table *tab, const char *typed, char dst[ACCELKEY_BYTES])
{
	struct accelkey k;
	char key[ACCELKEY_BYTES];

	dst[0] = '\0';
	for (size_t i = 0; i < tab->n; i++) {
		accelkey_split(&k, tab->all[i]->family, strlen(tab->all[i]->family));
		accelkey_join(&k, 0, k.n, key);
		if (strlen(key) > strlen(dst) && strncmp(typed, key, strlen(key)) == 0)
			memcpy(dst, key, strlen(key) + 1);
	}
}

size_t
accel_suggest(const struct accel_table *tab, const char *name, const char **names_out, size_t max)
{
	double score[ACCEL_SUGGEST_MAX];
	char typed[ACCELKEY_BYTES], family[ACCELKEY_BYTES];
	struct accelkey k;
	size_t n = 0;
	int from = 0;

	if (!accelkey_split(&k, name, strlen(name)) || k.n == 0)
		return 0;
	max = max < ACCEL_SUGGEST_MAX ? max : ACCEL_SUGGEST_MAX;
	while (from < k.n - 1 && accelkey_is_maker(k.word[from]))
		from++;
	accelkey_join(&k, from, k.n, typed);
	accel_typed_family(tab, typed, family);
	for (size_t i = 0; i < tab->n; i++) {
		double s = accel_likeness(tab->all[i], typed, family);
		size_t at = n;

		while (at > 0 && score[at - 1] > s)
			at--;
		if (isinf(s) || at >= max)
			continue;
		n = n < max ? n + 1 : n;
		for (size_t j = n - 1; j > at; j--) {
			score[j] = score[j - 1];
			names_out[j] = names_out[j - 1];
		}
		score[at] = s;
		names_out[at] = tab->all[i]->name;
	}
	return n;
}

enum berth_code
accel_unknown(const struct accel_table *tab, const char *name, struct berth_err *err)
{
	const char *near[3];
	size_t n = accel_suggest(tab, name, near, 3);

	if (n == 0)
		return err_set(err, BERTH_ENOTFOUND, "unknown accelerator '%.80s'", name);
	if (n == 1)
		return err_set(err, BERTH_ENOTFOUND,
		    "unknown accelerator '%.80s': did you mean %s?", name, near[0]);
	return err_set(err, BERTH_ENOTFOUND,
	    "unknown accelerator '%.80s': did you mean %s%s%s or %s?", name, near[0],
	    n > 2 ? ", " : "", n > 2 ? near[1] : "", near[n - 1]);
}
