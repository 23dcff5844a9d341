/* tests/unit/aws_price.c - price lists of AWS in every form. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"
#include "tests/unit/aws_test.h"
#include "util/glob.h"
#include "util/str.h"

/* One list in JSON, its rows in another order, and in CSV: the same offers. */

#define ATTR(type, more) "\"productFamily\":\"Compute Instance\",\"attributes\":{\"instanceType\":\"" type "\",\"location\":\"EU (Ireland)\"," \
	"\"vcpu\":\"96\",\"memory\":\"1,152 GiB\",\"gpu\":\"8\",\"operation\":\"RunInstances\"," more "}"
#define PLAIN "\"tenancy\":\"Shared\",\"operatingSystem\":\"Linux\",\"preInstalledSw\":\"NA\",\"capacitystatus\":\"Used\",\"marketoption\":\"OnDemand\"," \
	"\"licenseModel\":\"No License required\""
#define OD(sku, date, usd) "\"" sku ".T" date "\":{\"effectiveDate\":\"" date "\",\"priceDimensions\":{\"" sku ".T.D\":{\"unit\":\"Hrs\"," \
	"\"beginRange\":\"0\",\"endRange\":\"Inf\",\"pricePerUnit\":{\"USD\":\"" usd "\"}}}}"
#define RI(sku, code, lease, class, option, dims) "\"" sku "." code "\":{\"effectiveDate\":\"2026-01-01T00:00:00Z\",\"priceDimensions\":{" dims "}," \
	"\"termAttributes\":{\"LeaseContractLength\":\"" lease "\",\"OfferingClass\":\"" class "\",\"PurchaseOption\":\"" option "\"}}"
#define FEE(usd) "\"q\":{\"unit\":\"Quantity\",\"pricePerUnit\":{\"USD\":\"" usd "\"}}"
#define HRS(usd) "\"h\":{\"unit\":\"Hrs\",\"beginRange\":\"0\",\"pricePerUnit\":{\"USD\":\"" usd "\"}}"

#define PRODUCTS "\"products\":{" \
	"\"WAIT\":{" ATTR("p4d.24xlarge", "\"tenancy\":\"Shared\",\"operatingSystem\":\"Linux\",\"capacitystatus\":\"AllocatedCapacityReservation\"") "}," \
	"\"BLOCK\":{" ATTR("p4d.24xlarge", "\"tenancy\":\"Shared\",\"operatingSystem\":\"Linux\",\"marketoption\":\"CapacityBlock\"") "}," \
	"\"GOOD\":{\"sku\":\"GOOD\"," ATTR("p4d.24xlarge", PLAIN) "}," \
	"\"DED\":{" ATTR("p4d.24xlarge", "\"tenancy\":\"Dedicated\",\"operatingSystem\":\"Linux\"") "}," \
	"\"WIN\":{" ATTR("p4d.24xlarge", "\"tenancy\":\"Shared\",\"operatingSystem\":\"Windows\"") "}," \
	"\"SQL\":{" ATTR("p4d.24xlarge", "\"tenancy\":\"Shared\",\"operatingSystem\":\"Linux\",\"preInstalledSw\":\"SQL Ent\"") "}," \
	"\"CPU\":{" ATTR("m5.large", PLAIN) "},\"DISK\":{\"productFamily\":\"Storage\",\"attributes\":{\"x\":[1,{\"y\":2}]}}}"
#define ONDEMAND "\"OnDemand\":{\"WAIT\":{" OD("WAIT", "2026-11-01T00:00:00Z", "0.0000000000") "},\"BLOCK\":{" OD("BLOCK", "2026-11-01T00:00:00Z", "0") \
	"},\"GOOD\":{" OD("GOOD", "2025-01-01T00:00:00Z", "40") "," OD("GOOD", "2026-11-01T00:00:00Z", "32.7726000000") "," \
	OD("GOOD", "2027-01-01T00:00:00Z", "1") "},\"DED\":{" OD("DED", "2026-11-01T00:00:00Z", "36") "},\"WIN\":{" \
	OD("WIN", "2026-11-01T00:00:00Z", "3") "},\"SQL\":{" OD("SQL", "2026-11-01T00:00:00Z", "2") "},\"CPU\":{" OD("CPU", "2026-11-01T00:00:00Z", "0.1") "}}"
#define RESERVED "\"Reserved\":{\"GOOD\":{" RI("GOOD", "a", "3yr", "standard", "All Upfront", FEE("296000") "," HRS("0.0000000000")) "," \
	RI("GOOD", "b", "3yr", "standard", "Partial Upfront", HRS("5.89") "," FEE("155000")) "," \
	RI("GOOD", "c", "3yr", "standard", "No Upfront", HRS("14.08")) "," RI("GOOD", "d", "3yr", "convertible", "No Upfront", HRS("16")) "," \
	RI("GOOD", "e", "1yr", "standard", "All Upfront", HRS("0")) "}}"

static const char products[] = PRODUCTS, ondemand[] = ONDEMAND, reserved[] = RESERVED;

#define CSV_ROW(sku, term, kind, price, unit, currency, lease, option, tenancy, os, sw, status, market) \
	"\"" sku "\",\"" term "\",\"x\",\"" kind "\",\"d\",\"2026-11-01\",\"0\",\"Inf\",\"" unit "\",\"" price "\",\"" currency "\",\"" lease "\",\"" option \
	"\",\"standard\",\"Compute Instance\",\"EU (Ireland)\",\"p4d.24xlarge\",\"96\",\"1,152 GiB\",\"" tenancy "\",\"" os "\",\"" sw "\",\"" status \
	"\",\"" market "\",\"8\"\n"
static const char list_csv[] = "\"FormatVersion\",\"v1.0\"\n\"Disclaimer\",\"This, and \"\"that\"\".\"\n\"Publication Date\",\"2026-11-20T00:00:00Z\"\n"
	"\"Version\",\"1\"\n\"OfferCode\",\"AmazonEC2\"\n"
	"\"SKU\",\"OfferTermCode\",\"RateCode\",\"TermType\",\"PriceDescription\",\"EffectiveDate\",\"StartingRange\",\"EndingRange\",\"Unit\",\"PricePerUnit\","
	"\"Currency\",\"LeaseContractLength\",\"PurchaseOption\",\"OfferingClass\",\"Product Family\",\"Location\",\"Instance Type\",\"vCPU\",\"Memory\",\"Tenancy\","
	"\"Operating System\",\"Pre Installed S/W\",\"CapacityStatus\",\"MarketOption\",\"GPU\"\n"
	CSV_ROW("WAIT", "T", "OnDemand", "0.0000000000", "Hrs", "USD", "", "", "Shared", "Linux", "NA", "AllocatedCapacityReservation", "OnDemand")
	CSV_ROW("GOOD", "a", "Reserved", "296000", "Quantity", "USD", "3yr", "All Upfront", "Shared", "Linux", "NA", "Used", "OnDemand")
	CSV_ROW("GOOD", "T", "OnDemand", "32.7726000000", "Hrs", "USD", "", "", "Shared", "Linux", "NA", "Used", "OnDemand")
	CSV_ROW("WIN", "T", "OnDemand", "3", "Hrs", "USD", "", "", "Shared", "Windows", "NA", "Used", "OnDemand")
	CSV_ROW("GOOD", "b", "Reserved", "155000", "Quantity", "USD", "3yr", "Partial Upfront", "Shared", "Linux", "NA", "Used", "OnDemand")
	CSV_ROW("GOOD", "c", "Reserved", "14.08", "Hrs", "USD", "3yr", "No Upfront", "Shared", "Linux", "NA", "Used", "OnDemand")
	CSV_ROW("GOOD", "b", "Reserved", "5.89", "Hrs", "USD", "3yr", "Partial Upfront", "Shared", "Linux", "NA", "Used", "OnDemand")
	CSV_ROW("GOOD", "a", "Reserved", "0.0000000000", "Hrs", "USD", "3yr", "All Upfront", "Shared", "Linux", "NA", "Used", "OnDemand")
	CSV_ROW("DED", "T", "OnDemand", "36", "Hrs", "USD", "", "", "Dedicated", "Linux", "NA", "Used", "OnDemand");

const struct offer *
find(const struct aws_scan *s, enum purchase p, int months, enum payment pay)
{
	for (size_t i = 0; i < s->offers.n; i++)
		if (s->offers.v[i].kind == OFFER_PLAIN && s->offers.v[i].purchase == p && s->offers.v[i].term_months == months && (p != PURCHASE_RESERVED || s->offers.v[i].payment == pay))
			return &s->offers.v[i];
	return NULL;
}

static void
check_list(const struct aws_scan *s, const char *what)
{
	size_t kinds[OFFER_KIND_COUNT] = { 0 };
	const struct offer *other = NULL;

	const struct offer *od = find(s, PURCHASE_ON_DEMAND, 0, PAYMENT_NONE), *all = find(s, PURCHASE_RESERVED, 36, PAYMENT_ALL),
	    *part = find(s, PURCHASE_RESERVED, 36, PAYMENT_PARTIAL), *none = find(s, PURCHASE_RESERVED, 36, PAYMENT_NONE);

	for (size_t i = 0; i < s->offers.n; i++) {
		kinds[s->offers.v[i].kind]++;
		if (s->offers.v[i].kind == OFFER_DEDICATED)
			other = &s->offers.v[i];
	}
	tap_ok(kinds[OFFER_PLAIN] == 4 && kinds[OFFER_WINDOWS] == 1 && kinds[OFFER_DEDICATED] == 1 && kinds[OFFER_LICENSED] <= 1 &&
	    kinds[OFFER_BLOCK] == 0, "%s: four plain offers and no more, the others under their kinds", what);
	tap_ok(other != NULL && other->price.v == 36000000 && other->purchase == PURCHASE_ON_DEMAND, "%s: dedicated", what);
	tap_ok(od != NULL && od->price.v == 32772600 && str_eq(od->region, "eu-west-1") && str_eq(od->accelerator, "A100-SXM4-40GB") &&
	    od->accelerator_count == 8 && od->vcpus == 96 && od->memory_gib == 1152, "%s: on demand, the price in force", what);
	/* The whole term's money over its 26,280 hours. */
	tap_near(all != NULL ? usd_to_double(offer_effective_hour(all)) : (double)NAN, 296000.0 / 26280, 1e-6, "%s: all upfront", what);
	tap_near(part != NULL ? usd_to_double(offer_effective_hour(part)) : (double)NAN, 155000.0 / 26280 + 5.89, 1e-6, "%s: partial", what);
	tap_ok(od != NULL && od->as_of == NOW - 60, "%s: as old as its reading, not as its term", what);
	tap_ok(none != NULL && none->price.v == 14080000, "%s: nothing upfront, and the standard class is the cheaper one", what);
}

struct aws_scan *
scan_json(const char *bytes, size_t n, enum berth_code want)
{
	struct aws_scan *s = aws_scan_new();
	struct aws_price p = { .scan = s, .now = NOW, .as_of = NOW - 60, .source = "list" };

	s->reserved = true;
	tap_code(aws_price_json(&p, NULL, bytes, n, &err), want, &err);
	return s;
}

static FILE *
as_file(const char *bytes, size_t n)
{
	FILE *f = tmpfile();

	if (f != NULL && (fwrite(bytes, 1, n, f) != n || fseek(f, 0, SEEK_SET) != 0))
		tap_diag("no temporary file");
	return f;
}

void
test_prices(void)
{
	static const char twice[] = "{\"products\":{\"A\":{" ATTR("p4d.24xlarge", PLAIN) "},\"B\":{" ATTR("p4d.24xlarge", PLAIN)
	    "}},\"terms\":{\"OnDemand\":{\"B\":{" OD("B", "2026-11-01T00:00:00Z", "30") "},\"A\":{" OD("A", "2026-11-01T00:00:00Z", "33") "}}}}";
	static const char empty[] = "{\"offerCode\":\"AmazonEC2\",\"products\":{}}", none[] = "[]", cut[] = "{\"products\":{\"A\":{";
	const char *list_json = arena_printf(a, "{\"formatVersion\":\"v1.0\",\"offerCode\":\"AmazonEC2\",%s,\"terms\":{%s,%s}}", products, ondemand,
	    reserved), *list_turned = arena_printf(a, "{\"terms\":{%s,%s},%s,\"offerCode\":\"AmazonEC2\"}", reserved, ondemand, products);
	struct aws_scan *s = scan_json(list_json, strlen(list_json), BERTH_OK);
	struct aws_price p = { .now = NOW, .as_of = NOW - 60, .source = "list" };
	FILE *f;

	check_list(s, "JSON");
	aws_scan_free(s);
	s = scan_json(list_turned, strlen(list_turned), BERTH_OK);
	check_list(s, "JSON, terms before products");
	aws_scan_free(s);
	s = aws_scan_new();
	s->reserved = true;
	p.scan = s;
	f = as_file(list_turned, strlen(list_turned));
	tap_code(aws_price_json(&p, f, NULL, 0, &err), BERTH_OK, &err);
	fclose(f);
	check_list(s, "JSON of a file, read twice");
	aws_scan_free(s);
	p.scan = s = aws_scan_new();
	s->reserved = true;
	f = as_file(list_csv, sizeof(list_csv) - 1);
	tap_code(aws_price_csv(&p, f, &err), BERTH_OK, &err);
	fclose(f);
	check_list(s, "CSV");
	aws_scan_free(s);
	s = scan_json(twice, sizeof(twice) - 1, BERTH_OK);
	tap_ok(s->offers.n == 1 && s->offers.v[0].price.v == 30000000, "of two rows of one thing the cheaper");
	aws_scan_free(s);
	aws_scan_free(scan_json(empty, sizeof(empty) - 1, BERTH_EINVAL));
	aws_scan_free(scan_json(none, sizeof(none) - 1, BERTH_EINVAL));
	aws_scan_free(scan_json(cut, sizeof(cut) - 1, BERTH_EINVAL));
	p.scan = s = aws_scan_new();
	f = as_file("nothing\n", 8);
	tap_code(aws_price_csv(&p, f, &err), BERTH_EINVAL, &err);
	fclose(f);
	aws_scan_free(s);
}

void
test_names(void)
{
	static const struct { const char *location, *region; } places[] = { { "EU (Ireland)", "eu-west-1" }, { "Europe (Ireland)", "eu-west-1" },
		{ "eu-west-1", "eu-west-1" }, { "EU  (London)", "eu-west-2" }, { "Europe\xc2\xa0(London)", "eu-west-2" },
		{ "US East (N. Virginia)", "us-east-1" }, { "South Pole (Base)", NULL }, { "", NULL } };
	char family[64], types[256];
	enum purchase purchase = PURCHASE_RESERVED;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const char *r = aws_region_of_location(a, places[i].location);

		tap_is_str(r != NULL ? r : "-", places[i].region != NULL ? places[i].region : "-", "'%s'", places[i].location);
	}
	tap_ok(aws_quota_name("Running On-Demand P instances", family, &purchase) && str_eq(family, "P") && purchase == PURCHASE_ON_DEMAND, "P");
	tap_ok(aws_quota_name("All G and VT Spot Instance Requests", family, &purchase) && str_eq(family, "G and VT") && purchase == PURCHASE_SPOT,
	    "G and VT, spot");
	tap_ok(!aws_quota_name("Number of EIPs", family, &purchase), "another quota");
	tap_ok(aws_quota_types("P", types, sizeof(types)) && glob_match(types, "p5.48xlarge") && glob_match(types, "p4d.24xlarge") &&
	    !glob_match(types, "g5.xlarge"), "P counts P4 and P5: %s", types);
	tap_is_str(aws_quota_types("P4, P3 and P2", types, sizeof(types)) ? types : "-", "p4* p3* p2*", "generations by number");
	tap_is_str(aws_quota_types("G and VT", types, sizeof(types)) ? types : "-", "g[0-9]* gr[0-9]* vt[0-9]*", "G has GR with it");
	tap_ok(aws_quota_name("Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances", family, &purchase) &&
	    aws_quota_types(family, types, sizeof(types)), "the standard ones");
	tap_is_str(types, "a[0-9]* c[0-9]* d[0-9]* h[0-9]* i[0-9]* m[0-9]* r[0-9]* t[0-9]* z[0-9]*", "each letter");
	tap_ok(!aws_quota_types("High Memory", types, sizeof(types)), "a family that is not told by its name counts nothing");
	for (const char *const *t = (const char *const []){ "p5.48xlarge", "g5.xlarge", "trn2.48xlarge", "inf2.xlarge", "dl1.24xlarge", "p6-b300.48xlarge",
	    "g7e.2xlarge", "g4ad.xlarge", "vt1.3xlarge", NULL }; *t != NULL; t++)
		tap_ok(aws_family_accelerator(*t) != NULL && accel_find(accels, aws_family_accelerator(*t)) != NULL, "%s: %s is in the table", *t,
		    aws_family_accelerator(*t));
	tap_ok(aws_family_accelerator("m5.large") == NULL && aws_family_accelerator("p5") != NULL, "no accelerator in m5");
}
