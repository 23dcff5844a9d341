/* tests/unit/import.c - price lists: layouts, doubtful prices, rows that cannot be, doubles. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/accel.h"
#include "providers/import/import.h"
#include "tests/tap.h"
#include "util/arena.h"
#include "util/fileio.h"
#include "util/str.h"

#define NOW INT64_C(1795996800)	/* 2026-11-30T00:00:00Z */

static struct notes { long refused, doubted, last_line; char last[256]; } notes;

static void
note(void *arg, long line, const char *provider, bool refused, const char *message)
{
	struct notes *n = arg;

	(void)provider;
	n->refused += refused;
	n->doubted += !refused;
	n->last_line = line;
	str_copy(n->last, sizeof(n->last), message);
}

static const struct accel_table *accels;
static struct arena *a;

static struct import_result
read_text(const char *text, const char *provider, enum berth_code want)
{
	struct import_opts o = { .provider = provider, .source = "test.csv", .accels = accels, .now = NOW, .note = note,
		.note_arg = &notes };
	struct import_result r = { 0 };
	struct berth_err err = { 0 };
	struct csv *csv = NULL;
	enum berth_code rc;

	memset(&notes, 0, sizeof(notes));
	rc = csv_open_bytes(text, strlen(text), "test.csv", &csv, &err);
	if (rc == BERTH_OK)
		rc = import_read(csv, &o, a, &r, &err);
	tap_code(rc, want, &err);
	csv_close(csv);
	return r;
}

#define HEAD "provider,region,zone,instance_type,accelerator,accelerator_count,accelerator_memory_gib,vcpus,memory_gib," \
	"purchase,term_months,payment,upfront,price_per_hour,currency,interruption_rate,as_of,source\n"
#define ROW(accel, count, purchase, term, pay, up, price, cur, date) \
	"acme,eu-1,,big," accel "," count ",80,8,64," purchase "," term "," pay "," up "," price "," cur ",," date ",s\n"

static void
test_berth_layout(void)
{
	struct import_result r = read_text(HEAD
	    "Acme,eu-1,eu-1a,h100x8,NVIDIA H100 80GB HBM3,8,80,192,2048,spot,,,,12.345678,USD,0.02,2026-11-01,page 3\n", NULL,
	    BERTH_OK);
	const struct offer *o = r.offers.v;

	tap_is_long((long long)r.offers.n, 1, "one offer");
	tap_is_str(o->provider, "acme", "provider in lower case");
	tap_is_long(o->price.v, 12345678, "price to the micro-dollar");
	tap_is_long(o->accelerator_count, 8, "eight");
	tap_ok(o->purchase == PURCHASE_SPOT && o->accelerator_known, "spot, and the name is known");
	tap_ok(strncmp(o->accelerator, "H100", 4) == 0 && strcmp(o->accelerator, "NVIDIA H100 80GB HBM3") != 0,
	    "the table's own name (%s)", o->accelerator);
	tap_near(o->interruption_rate, 0.02, 0, "rate");
	tap_is_long(o->as_of, NOW - 29 * 86400, "midnight of its date");
	tap_is_str(o->source, "page 3", "source of the row");
}

/* Each row has a price that is none: it is kept, and never ranks before the one real price; one below 0 is refused. */
static void
test_doubtful_prices(void)
{
	static const char *const prices[] = { "", "0", "0.000000", "-1.5", "1000000", "n/a", "NaN", "null" };
	char text[4096];
	struct import_result r;
	size_t n = (size_t)snprintf(text, sizeof(text), HEAD "acme,eu-1,,real,H100-SXM5-80GB,1,,,,on_demand,,,,2.5,USD,,,s\n");

	for (size_t i = 0; i < sizeof(prices) / sizeof(prices[0]); i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "acme,eu-1,,t%zu,H100-SXM5-80GB,1,,,,on_demand,,,,%s,USD,,,s\n", i,
		    prices[i]);
	r = read_text(text, NULL, BERTH_OK);
	tap_is_long((long long)r.offers.n, 8, "all rows are kept but the one below 0");
	tap_is_long((long long)r.refused, 1, "which is refused");
	tap_is_long(r.unknown_price, 7, "seven prices unknown");
	tap_is_long(notes.doubted, 7, "and each is told");
	for (size_t i = 1; i < r.offers.n; i++)
		tap_ok(offer_cmp(&r.offers.v[0], &r.offers.v[i]) < 0, "an offer without a price ranks behind 2.5 (%zu)", i);
}

/* A price of which a part is not known: what is paid upfront, or by use. One that says nothing of them has neither. */
static void
test_doubtful_parts(void)
{
	static const struct { const char *payment, *upfront, *usage; bool known; } parts[] = {
		{ "none", "", "", true }, { "none", "-", "none", true }, { "", "0", "0", true }, { "partial", "800", "", true },
		{ "none", "n/a", "", false }, { "none", "nan", "", false }, { "none", "", "NaN", false }, { "none", "unknown", "null", false },
		{ "partial", "", "", false }, { "all", "0", "", false }, { "partial", "n/a", "", false },
	};
	static const char head[] = "provider,region,instance_type,accelerator,purchase,term_months,payment,upfront,price_per_hour,"
	    "usage_price_per_hour,currency\n";

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		char text[1024];
		struct import_result r;

		snprintf(text, sizeof(text), "%sacme,eu,h,H100-SXM5-80GB,reserved,12,%s,%s,3,%s,USD\n", head, parts[i].payment,
		    parts[i].upfront, parts[i].usage);
		r = read_text(text, NULL, BERTH_OK);
		tap_ok(r.offers.n == 1 && usd_known(offer_effective_hour(r.offers.v)) == parts[i].known &&
			r.unknown_price == !parts[i].known && notes.doubted == !parts[i].known,
		    "payment '%s', upfront '%s', use '%s': the price is %sknown", parts[i].payment, parts[i].upfront, parts[i].usage,
		    parts[i].known ? "" : "not ");
	}
}

/* A bad row is refused by its line and reason; the good row beside it stays. */
static void
test_bad_rows(void)
{
	static const struct { const char *row, *reason; } bad[] = {
		{ ROW("H100-SXM5-80GB", "0.25", "spot", "", "", "", "1", "USD", ""), "part of an accelerator" },
		{ ROW("H100-SXM5-80GB", "1.5", "spot", "", "", "", "1", "USD", ""), "whole number" },
		{ ROW("H100-SXM5-80GB", "many", "spot", "", "", "", "1", "USD", ""), "number of accelerators" },
		{ ROW("H100-SXM5-80GB", "-1", "spot", "", "", "", "1", "USD", ""), "number of accelerators" },
		{ ROW("", "1", "spot", "", "", "", "1", "USD", ""), "accelerator is empty" },
		{ ROW("H100-SXM5-80GB", "1", "lease", "", "", "", "1", "USD", ""), "not on_demand, spot or reserved" },
		{ ROW("H100-SXM5-80GB", "1", "reserved", "", "", "", "1", "USD", ""), "without term_months" },
		{ ROW("H100-SXM5-80GB", "1", "reserved", "600", "all", "", "1", "USD", ""), "months from 0 to 120" },
		{ ROW("H100-SXM5-80GB", "1", "spot", "12", "", "", "1", "USD", ""), "only reserved" },
		{ ROW("H100-SXM5-80GB", "1", "reserved", "12", "some", "", "1", "USD", ""), "not none, partial or all" },
		{ ROW("H100-SXM5-80GB", "1", "reserved", "12", "all", "-3", "1", "USD", ""), "amount of money" },
		{ ROW("H100-SXM5-80GB", "1", "spot", "", "", "", "$2.10", "USD", ""), "not a price" },
		{ ROW("H100-SXM5-80GB", "1", "spot", "", "", "", "\"2,10\"", "USD", ""), "not a price" },
		{ ROW("H100-SXM5-80GB", "1", "spot", "", "", "", "1", "dollar", ""), "currency code" },
		{ ROW("H100-SXM5-80GB", "1", "spot", "", "", "", "1", "USD", "2026-13-01"), "not a date" },
		{ ROW("H100-SXM5-80GB", "1", "spot", "", "", "", "1", "USD", "2027-01-01"), "future" },
		{ "acme,eu-1,,big\n", "field" },
		{ "acme,eu-1,,\"big,H100-SXM5-80GB,1,,,,spot,,,,1,USD,,,s\n", "quote" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char text[2048];
		struct import_result r;

		snprintf(text, sizeof(text), HEAD "acme,eu-1,,ok,T4,1,,,,spot,,,,0.2,USD,,,s\n%s", bad[i].row);
		r = read_text(text, NULL, BERTH_OK);
		tap_ok(r.offers.n == 1 && r.refused == 1 && notes.last_line == 3 && strstr(notes.last, bad[i].reason) != NULL,
		    "line 3 refused: %s", bad[i].reason);
		tap_diag("%s", notes.last);
	}
}

static void
test_doubles(void)
{
	struct import_result r;

	r = read_text(HEAD ROW("T4", "1", "spot", "", "", "", "3", "USD", "2026-01-01")
	    ROW("T4", "1", "spot", "", "", "", "5", "USD", "2026-02-01")
	    ROW("Tesla T4", "1", "spot", "", "", "", "1", "USD", "2025-02-01"), NULL, BERTH_OK);
	tap_ok(r.offers.n == 1 && r.offers.v[0].price.v == 5000000, "the youngest of three spellings of one offer stays");
	tap_ok(r.refused == 2 && notes.last_line == 4 && strstr(notes.last, "line 3") != NULL,
	    "the others name the line that won: %s", notes.last);
	r = read_text(HEAD ROW("T4", "1", "spot", "", "", "", "3", "USD", "") ROW("T4", "1", "spot", "", "", "", "2", "USD", "")
	    ROW("T4", "1", "spot", "", "", "", "", "USD", "2026-02-01"), NULL, BERTH_OK);
	tap_ok(r.offers.n == 1 && r.offers.v[0].price.v == 3000000, "of one date the dearest; no price never wins");
	r = read_text(HEAD ROW("T4", "1", "spot", "", "", "", "3", "USD", "") ROW("T4", "2", "spot", "", "", "", "3", "USD", "")
	    ROW("T4", "1", "on_demand", "", "", "", "3", "USD", "") ROW("T4", "1", "reserved", "12", "all", "9", "0", "USD", "")
	    ROW("T4", "1", "reserved", "36", "all", "9", "0", "USD", "") ROW("T4", "1", "spot", "", "", "", "3", "CNY", ""), NULL,
	    BERTH_OK);
	tap_ok(r.offers.n == 6 && r.refused == 0, "count, purchase, term and currency tell offers apart");
	tap_ok(usd_known(r.offers.v[3].price) && r.offers.v[3].price.v == 0, "0 an hour is a price behind an upfront");
	tap_ok(!usd_known(offer_effective_hour(&r.offers.v[5])), "yuan are not ranked as dollars");
}

static void
test_unknown_names(void)
{
	struct import_result r = read_text(HEAD ROW("A10", "1", "spot", "", "", "", "3", "USD", "")
	    ROW("A10X-9000", "1", "spot", "", "", "", "1", "USD", "") ROW("A10X-9000", "2", "spot", "", "", "", "1", "USD", ""),
	    NULL, BERTH_OK);

	tap_is_long((long long)r.offers.n, 3, "an unknown card is kept");
	tap_is_str(r.offers.v[1].accelerator, "A10X-9000", "as it stands, not as an A10 or an A100");
	tap_ok(!r.offers.v[1].accelerator_known && r.offers.v[0].accelerator_known, "and is told apart");
	tap_ok(r.n_unknown_names == 1 && strcmp(r.unknown_names[0], "A10X-9000") == 0, "and named once");
}

static void
test_collected(void)
{
	struct import_result r = read_text("provider,region,zone,instance_type,accelerator,accelerator_count,accelerator_mem_gib,"
	    "vcpus,mem_gib,purchase,price_per_hour_usd,as_of,source\n"
	    "aws,x,,p,V100,8,16,1,1,reserved_1y_all_upfront,10,2026-01-01,s\n"
	    "aws,x,,p,V100,8,16,1,1,reserved_3y,9,2026-01-01,s\n"
	    "aws,x,,p,V100,8,16,1,1,reserved_3y_convertible_no_upfront,11,2026-01-01,s\n"
	    "aws,x,,p,V100,8,16,1,1,reserved,9,2026-01-01,s\n", NULL, BERTH_OK);

	tap_ok(r.format == IMPORT_COLLECTED && r.offers.n == 2 && r.refused == 2, "two terms; convertible is the dearer double");
	tap_ok(r.offers.v[0].term_months == 12 && r.offers.v[0].payment == PAYMENT_ALL, "one year, all upfront");
	tap_ok(r.offers.v[0].price.v == 0 && r.offers.v[0].upfront.v == INT64_C(87600000000), "10 an hour for 8760 hours");
	tap_is_long(offer_effective_hour(&r.offers.v[0]).v, 10000000, "which is 10 an hour again");
	tap_ok(r.offers.v[1].term_months == 36 && r.offers.v[1].payment == PAYMENT_NONE, "three years");
}

static void
test_skypilot(void)
{
	struct import_result r = read_text("InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,"
	    "Region,AvailabilityZone\n"
	    "m5.large,,,2,8,,0.096,0.03,us-east-1,us-east-1a\n"
	    "p4d.24xlarge,A100,8,96,1152,\"{'Gpus': [{'Name': 'A100', 'Count': 8, 'MemoryInfo': {'SizeInMiB': 40960}}]}\","
	    "32.7726,8.5,us-east-1,us-east-1a\n"
	    ",tpu-v4-8,1,,,,12.88,,us-central2,\n"
	    "g6.xlarge,L4,1.0,4,16,,,0.31,us-east-1,us-east-1b\n", "AWS", BERTH_OK);

	tap_is_long(r.skipped, 1, "a machine without an accelerator is no offer of ours");
	tap_is_long((long long)r.offers.n, 4, "two prices in a row are two offers");
	tap_ok(r.offers.v[0].price.v == 32772600 && r.offers.v[0].purchase == PURCHASE_ON_DEMAND, "on demand");
	tap_ok(r.offers.v[1].price.v == 8500000 && r.offers.v[1].purchase == PURCHASE_SPOT, "spot");
	tap_near(r.offers.v[0].accelerator_memory_gib, 40, 0, "memory out of GpuInfo");
	tap_ok(strstr(r.offers.v[0].accelerator, "40GB") != NULL, "so A100 is the one with 40 GB (%s)", r.offers.v[0].accelerator);
	tap_is_str(r.offers.v[0].provider, "aws", "provider from outside");
	tap_ok(r.offers.v[3].purchase == PURCHASE_SPOT && r.offers.v[3].price.v == 310000, "sold as spot alone");
	r = read_text("InstanceType,AcceleratorName,AcceleratorCount,Price,SpotPrice,Region\n,H100,8,57.6,20,us-east4\n", "gcp", BERTH_OK);
	tap_ok(r.offers.n == 1 && !usd_known(r.offers.v[0].price), "the price of cards without their machine is that of no machine");
	r = read_text("InstanceType,AcceleratorName,AcceleratorCount,Price,Region\nx,T4,1,1,r\n", NULL, BERTH_OK);
	tap_ok(r.refused == 1 && strstr(notes.last, "--provider") != NULL, "without a provider: %s", notes.last);
}

/* Price feeds of AWS name places, each in its own way; of other sellers a region is what they say. */
static void
test_places(void)
{
	static const struct { const char *said, *want; } rows[] = { { "EU (Ireland)", "eu-west-1" }, { "Europe (Ireland)", "eu-west-1" },
		{ "EU  (London)", "eu-west-2" }, { "US East (N.\xc2\xa0Virginia)", "us-east-1" }, { "us-east-2", "us-east-2" },
		{ "South Pole (Base)", "South Pole (Base)" } };
	char text[1024];
	size_t n = (size_t)snprintf(text, sizeof(text), "instance_name,location,price,cpu,memory,gpu_count,gpu_name,gpu_memory,spot,disk_size\n");
	struct import_result r;

	for (size_t i = 0; i < 6; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "t%zu,%s,0.5,8,32,1,T4,16,False,\n", i, rows[i].said);
	r = read_text(text, "aws", BERTH_OK);
	tap_is_long((long long)r.offers.n, 6, "none is lost");
	for (size_t i = 0; i < 6 && i < r.offers.n; i++)
		tap_is_str(r.offers.v[i].region, rows[i].want, "%s", rows[i].said);
	tap_ok(r.unknown_places.n == 1 && strcmp(r.unknown_places.v[0], "South Pole (Base)") == 0, "one is no region, and is named");
	r = read_text(text, "acme", BERTH_OK);
	tap_ok(r.unknown_places.n == 0 && strcmp(r.offers.v[0].region, "EU (Ireland)") == 0, "another seller's words are left alone");
}

static void
test_gpuhunt(void)
{
	struct import_result r = read_text("instance_name,location,price,cpu,memory,gpu_count,gpu_name,gpu_memory,spot,disk_size\n"
	    "n1,us-1,0.5,8,32,0,,,False,\n"
	    "a2,us-1,3.67,12,85,1,A100,40.0,False,\n"
	    "a2,us-1,1.10,12,85,1,A100,40.0,True,\n"
	    "a2,us-2,1.10,12,85,1,A100,40.0,maybe,\n", "gcp", BERTH_OK);

	tap_ok(r.format == IMPORT_GPUHUNT && r.offers.n == 2 && r.skipped == 1 && r.refused == 1, "two offers, one bad row");
	tap_ok(r.offers.v[0].purchase == PURCHASE_ON_DEMAND && r.offers.v[1].purchase == PURCHASE_SPOT, "by the spot column");
	tap_near(r.offers.v[0].memory_gib, 85, 0, "host memory");
}

static void
test_headers(void)
{
	struct csv *csv = NULL;
	struct berth_err err = { 0 };
	enum import_format f;
	const char *text = "a,b\n1,2\n";

	tap_code(csv_open_bytes(text, strlen(text), "x.csv", &csv, &err), BERTH_OK, &err);
	tap_code(import_detect(csv, &f, &err), BERTH_EINVAL, &err);
	tap_ok(strcmp(err.where, "x.csv:1") == 0 && strstr(err.msg, "skypilot lacks 'InstanceType'") != NULL, "%s", err.msg);
	csv_close(csv);
	read_text("instance_type;accelerator;provider;purchase;price_per_hour\nx;T4;acme;spot;0.20\n", NULL, BERTH_OK);
	tap_is_long(notes.refused, 0, "semicolons, other order, few columns");
}

/* The collected list of the shared data: every row is an offer or is refused, and each family is found. */
static void
test_shared(void)
{
	const char *shared = getenv("BERTH_SHARED"), *top = getenv("TOP_SRCDIR");
	const char *path = arena_printf(a, "%s/data/prices/gpu_prices.csv",
	    shared != NULL ? shared : arena_printf(a, "%s/../shared", top != NULL ? top : "."));
	struct import_opts o = { .source = "gpu_prices.csv", .accels = accels, .now = NOW, .note = note, .note_arg = &notes };
	struct import_result r = { 0 };
	struct berth_err err = { 0 };
	struct csv *csv = NULL;

	if (!fileio_exists(path)) {
		tap_skip("gpu_prices.csv", "no shared data");
		return;
	}
	memset(&notes, 0, sizeof(notes));
	tap_code(csv_open(path, &csv, &err), BERTH_OK, &err);
	tap_code(import_read(csv, &o, a, &r, &err), BERTH_OK, &err);
	csv_close(csv);
	tap_is_long(r.rows, 6214, "rows, as its README counts them");
	tap_is_long((long long)r.offers.n + r.refused, r.rows, "each row is an offer or refused");
	tap_is_long(notes.refused, r.refused, "and each refusal is told");
	tap_diag("%zu offers, %ld refused, %zu names unknown", r.offers.n, r.refused, r.n_unknown_names);
	for (size_t i = 0; i < r.n_unknown_names; i++)
		tap_diag("unknown: %s", r.unknown_names[i]);
}

int
main(void)
{
	struct berth_err err = { 0 };

	a = arena_new();
	if (accel_table_open(a, &accels, &err) != BERTH_OK)
		tap_diag("%s", err.msg);
	tap_ok(accels != NULL, "the accelerator table");
	test_berth_layout();
	test_doubtful_prices();
	test_doubtful_parts();
	test_bad_rows();
	test_doubles();
	test_unknown_names();
	test_collected();
	test_skypilot();
	test_gpuhunt();
	test_places();
	test_headers();
	test_shared();
	arena_free(a);
	return tap_done();
}
