/* The bundled data as a whole: every table parses, every name resolves, no price is out of its range. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/accel.h"
#include "model/datapath.h"
#include "model/offer.h"
#include "tests/tap.h"
#include "util/csv.h"
#include "util/fileio.h"
#include "util/money.h"
#include "util/str.h"
#include "util/strmap.h"
#include "util/time.h"
#include "util/tz.h"
#include "util/vec.h"

static struct arena *arena;
static const struct accel_table *tab;

/* USD that one accelerator of the family may cost an hour, from what the market asked in 2024 to 2026. */
static const struct { const char *family; double low, high; } ranges[] = {
	{ "H100", 0.5, 20 }, { "H200", 0.8, 20 }, { "A100", 0.2, 8 }, { "B200", 1, 20 }, { "B300", 1.5, 25 },
	{ "GB200", 3, 40 }, { "GB300", 2, 40 }, { "GH200", 1, 6 }, { "A800", 0.5, 6 }, { "L4", 0.08, 3 },
	{ "L40S", 0.2, 5 }, { "L40", 0.4, 3 }, { "A10", 0.1, 6 }, { "A10G", 0.1, 6 }, { "A30", 0.1, 2 },
	{ "A40", 0.2, 3 }, { "A16", 0.2, 2 }, { "T4", 0.05, 8 }, { "T4G", 0.05, 2 }, { "V100", 0.04, 5 },
	{ "RTX PRO 6000", 0.4, 8 }, { "MI300X", 0.5, 10 }, { "RTX 4090", 0.1, 2 }, { "RTX 5090", 0.2, 3 },
	{ "TPU v5e", 0.3, 2.5 }, { "TPU v5p", 1, 8 }, { "TPU v6e", 0.5, 5 }, { "Inferentia2", 0.1, 4 },
	{ "Trainium1", 0.1, 3 }, { "Gaudi1", 0.3, 3 },
};

struct sheet {
	VEC(struct offer) offers;
	size_t unresolved, renamed, undated, unsourced, bad_numbers;
};

static bool
sheet_money(const char *s, struct usd_micro *out)
{
	struct berth_err err;

	return s[0] == '\0' || (usd_parse(s, out, &err) == BERTH_OK && out->v >= 0);
}

static double
sheet_double(const char *s, double min, double max, size_t *bad)
{
	struct berth_err err;
	double v = NAN;

	if (s[0] != '\0' && str_to_double(s, min, max, &v, &err) != BERTH_OK)
		++*bad;
	return v;
}

static void
sheet_row(struct sheet *sh, char **f)
{
	struct offer *o = VEC_ADD(arena, &sh->offers);
	const struct accel *a;
	struct berth_err err;
	double term;

	o->provider = arena_strdup(arena, f[0]);
	o->region = arena_strdup(arena, f[1]);
	o->zone = arena_strdup(arena, f[2]);
	o->instance_type = arena_strdup(arena, f[3]);
	o->accelerator = arena_strdup(arena, f[4]);
	o->accelerator_count = (int)sheet_double(f[5], 1, 256, &sh->bad_numbers);
	o->accelerator_memory_gib = sheet_double(f[6], 1, 400, &sh->bad_numbers);
	o->vcpus = sheet_double(f[7], 1, 1024, &sh->bad_numbers);
	o->memory_gib = sheet_double(f[8], 1, 8192, &sh->bad_numbers);
	term = sheet_double(f[10], 1, 60, &sh->bad_numbers);
	o->term_months = isnan(term) ? 0 : (int)term;
	sh->bad_numbers += !purchase_parse(f[9], &o->purchase) || (o->purchase == PURCHASE_RESERVED) != (term > 0) ||
	    (f[11][0] != '\0' ? !payment_parse(f[11], &o->payment) : o->purchase == PURCHASE_RESERVED) ||
	    !sheet_money(f[12], &o->upfront) || f[13][0] == '\0' || !sheet_money(f[13], &o->price) ||
	    !str_eq(f[14], "USD");
	memcpy(o->currency, "USD", 4);
	o->interruption_rate = sheet_double(f[15], 0, 1, &sh->bad_numbers);
	sh->undated += time_parse(f[16], 0, NULL, TIME_ABSOLUTE, &o->as_of, &err) != BERTH_OK;
	o->source = arena_strdup(arena, f[17]);
	sh->unsourced += f[17][0] == '\0';
	a = accel_find(tab, o->accelerator);
	sh->unresolved += a == NULL;
	sh->renamed += a != NULL && !str_eq(a->name, o->accelerator);
	if (a == NULL)
		tap_diag("nobody knows %s", o->accelerator);
}

static bool
sheet_read(struct sheet *sh)
{
	static const char *const columns[] = { "provider", "region", "zone", "instance_type", "accelerator",
		"accelerator_count", "accelerator_memory_gib", "vcpus", "memory_gib", "purchase", "term_months",
		"payment", "upfront", "price_per_hour", "currency", "interruption_rate", "as_of", "source" };
	struct berth_err err = { 0 };
	const struct csv_row *row;
	const char *path;
	struct csv *csv = NULL;
	enum berth_code rc;
	size_t named = 0;

	if (data_path(arena, "offers.csv", &path, &err) != BERTH_OK || csv_open(path, &csv, &err) != BERTH_OK) {
		tap_ok(0, "offers.csv: %s", err.msg);
		return false;
	}
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		named += csv_column(csv, columns[i]) == (int)i;
	tap_is_long((long long)named, 18, "offers.csv has the columns of a price file");
	while ((rc = csv_next(csv, &row, &err)) == BERTH_OK && row != NULL && row->n == 18)
		sheet_row(sh, row->field);
	tap_code(rc, BERTH_OK, &err);
	csv_close(csv);
	return true;
}

static void
test_counts(const struct sheet *sh)
{
	struct strmap providers = { 0 }, by_purchase = { 0 };
	size_t old = 0;

	for (size_t i = 0; i < sh->offers.n; i++) {
		strmap_add(arena, &providers, sh->offers.v[i].provider, 0, NULL);
		++*strmap_add(arena, &by_purchase, purchase_name(sh->offers.v[i].purchase), 0, NULL);
		old += sh->offers.v[i].as_of < INT64_C(1704067200);	/* 2024-01-01 */
	}
	tap_ok(sh->offers.n >= 400, "%zu offers", sh->offers.n);
	tap_ok(providers.n >= 12, "%zu providers", providers.n);
	tap_ok(by_purchase.n == PURCHASE_COUNT && *strmap_get(&by_purchase, "reserved") >= 50 &&
	    *strmap_get(&by_purchase, "spot") >= 100, "on demand, spot and reserved");
	tap_is_long((long long)sh->unresolved, 0, "every accelerator is known");
	tap_is_long((long long)sh->renamed, 0, "... and written as the table writes it");
	tap_is_long((long long)sh->undated, 0, "every row has a date");
	tap_is_long((long long)old, 0, "... and none is from before 2024");
	tap_is_long((long long)sh->unsourced, 0, "every row has a source");
	tap_is_long((long long)sh->bad_numbers, 0, "every number is in its range");
}

static void
test_prices(const struct sheet *sh)
{
	size_t wild = 0, checked = 0, free_of_charge = 0, size_wrong = 0;

	for (size_t i = 0; i < sh->offers.n; i++) {
		const struct offer *o = &sh->offers.v[i];
		const struct accel *a = accel_find(tab, o->accelerator);
		double usd = usd_to_double(offer_effective_gpu_hour(o));

		free_of_charge += !(usd > 0);
		if (a == NULL)
			continue;
		size_wrong += !(o->accelerator_memory_gib <= a->memory_gib * 1.03 &&
		    o->accelerator_memory_gib >= a->memory_gib * 0.85);
		for (size_t r = 0; r < sizeof(ranges) / sizeof(ranges[0]); r++) {
			if (!str_eq(ranges[r].family, a->family))
				continue;
			checked++;
			if (usd < ranges[r].low || usd > ranges[r].high) {
				tap_diag("%s %s %s: %s at %g", o->provider, o->region, o->instance_type, o->accelerator,
				    usd);
				wild++;
			}
		}
	}
	tap_is_long((long long)free_of_charge, 0, "nothing is free");
	tap_is_long((long long)size_wrong, 0, "memory is the table's, within what a cloud may keep back");
	tap_ok(wild == 0 && checked * 10 > sh->offers.n * 8, "%zu of %zu prices are in their accelerator's range",
	    checked - wild, checked);
}

/* Spot and reserved below on demand for one type in one region; one row for one offer. */
static void
test_pairs(const struct sheet *sh)
{
	struct strmap seen = { 0 };
	size_t dearer = 0, pairs = 0, twice = 0;

	for (size_t i = 0; i < sh->offers.n; i++) {
		const struct offer *a = &sh->offers.v[i];
		int added;

		strmap_add(arena, &seen, arena_printf(arena, "%s|%s|%s|%s|%s|%d|%d|%d", a->provider, a->region, a->zone,
		    a->instance_type, a->accelerator, (int)a->purchase, a->term_months, (int)a->payment), i, &added);
		twice += !added;
		for (size_t j = 0; a->purchase == PURCHASE_ON_DEMAND && j < sh->offers.n; j++) {
			const struct offer *b = &sh->offers.v[j];

			if (b->purchase == PURCHASE_ON_DEMAND || !str_eq(a->provider, b->provider) ||
			    !str_eq(a->region, b->region) || !str_eq(a->instance_type, b->instance_type))
				continue;
			pairs++;
			if (usd_cmp(offer_effective_hour(b), offer_effective_hour(a)) >= 0) {
				tap_diag("%s %s %s %s", b->provider, b->region, b->instance_type,
				    purchase_name(b->purchase));
				dearer++;
			}
		}
	}
	tap_is_long((long long)twice, 0, "no offer stands there twice");
	tap_ok(pairs > 300 && dearer == 0, "%zu spot and reserved rows are below on demand", pairs - dearer);
}

/* Every spelling that collected price lists use means something, and not always the same thing. */
static void
test_collected(void)
{
	const char *shared = getenv("BERTH_SHARED"), *top = getenv("TOP_SRCDIR");
	const char *path = shared != NULL ? arena_printf(arena, "%s/data/prices/gpu_prices.csv", shared) :
	    arena_printf(arena, "%s/../shared/data/prices/gpu_prices.csv", top != NULL ? top : ".");
	struct strmap spellings = { 0 };
	const struct csv_row *row;
	struct berth_err err;
	struct csv *csv;
	size_t unknown = 0, mixed = 0;
	int name, gib;

	if (!fileio_exists(path) || csv_open(path, &csv, &err) != BERTH_OK) {
		tap_skip("collected price lists", "no shared/data/prices/gpu_prices.csv");
		return;
	}
	name = csv_column(csv, "accelerator");
	gib = csv_column(csv, "accelerator_mem_gib");
	while (name >= 0 && gib >= 0 && csv_next(csv, &row, &err) == BERTH_OK && row != NULL) {
		double memory = NAN;
		const struct accel *a;

		if (str_to_double(row->field[gib], 0, 1000, &memory, &err) != BERTH_OK || memory == 0)
			memory = NAN;
		a = accel_find_sized(tab, row->field[name], memory);
		strmap_add(arena, &spellings, row->field[name], 0, NULL);
		if (a == NULL)
			tap_diag("nobody knows %s", row->field[name]), unknown++;
		else if (!isnan(memory) && a->n_members > 0 && !(fabs(a->memory_gib - memory) < 0.05 * memory))
			tap_diag("%s with %g GB is %s", row->field[name], memory, a->name), mixed++;
	}
	csv_close(csv);
	tap_ok(spellings.n > 100 && unknown == 0, "all %zu spellings are known", spellings.n);
	tap_is_long((long long)mixed, 0, "a size beside the name settles which of a family it is");
}

static void
test_datapath(void)
{
	struct berth_err err = { 0 };
	const char *path = "";

	tap_code(data_path(arena, "no such file.csv", &path, &err), BERTH_ENOTFOUND, &err);
	tap_ok(strstr(err.msg, "no such file.csv") != NULL && strstr(err.msg, "BERTH_DATA") != NULL, "says what to set: %s",
	    err.msg);
	tap_code(data_path(arena, "history/gpu-usage.csv", &path, &err), BERTH_OK, &err);
	tap_ok(fileio_exists(path), "%s", path);
}

int
main(void)
{
	struct berth_err err = { 0 };
	struct sheet sheet = { 0 };

	arena = arena_new();
	tap_code(accel_table_open(arena, &tab, &err), BERTH_OK, &err);
	if (tab != NULL && sheet_read(&sheet)) {
		test_counts(&sheet);
		test_prices(&sheet);
		test_pairs(&sheet);
		test_collected();
		test_datapath();
	}
	arena_free(arena);
	return tap_done();
}
