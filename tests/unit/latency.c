/* Round trips between regions against bands around what public measurements between those cities show. */
#include <math.h>

#include "plan/latency.h"
#include "tests/tap.h"

static void
test_pairs(void)
{
	/* The floor is light in glass along the great circle; the ceiling about twice what is usually measured. */
	static const struct { const char *from, *to; double least, most; } pairs[] = {
		{ "aws/us-east-1", "aws/us-east-1", 0.1, 2 }, { "aws/us-east-1", "gcp/us-east4", 0.1, 3 },
		{ "aws/us-east-1", "aws/us-east-2", 5, 20 }, { "aws/us-east-1", "aws/us-west-2", 36, 90 },
		{ "aws/eu-west-2", "aws/eu-central-1", 6, 25 }, { "aws/us-east-1", "aws/eu-west-1", 54, 110 },
		{ "aws/us-east-1", "azure/westeurope", 61, 120 }, { "aws/us-west-2", "aws/ap-northeast-1", 77, 160 },
		{ "aws/us-east-1", "aws/ap-southeast-1", 155, 300 }, { "gcp/europe-west3", "oci/eu-frankfurt-1", 0.1, 3 },
		{ "aws/sa-east-1", "aws/us-east-1", 76, 180 }, { "aws/ap-southeast-1", "aws/ap-southeast-2", 62, 130 },
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		double ms = latency_ms(pairs[i].from, pairs[i].to);

		tap_ok(ms >= pairs[i].least && ms <= pairs[i].most, "%s to %s: %.1f ms in %g..%g", pairs[i].from, pairs[i].to, ms,
		    pairs[i].least, pairs[i].most);
		tap_near(latency_ms(pairs[i].to, pairs[i].from), ms, 1e-9, "... and back the same");
	}
	tap_ok(latency_ms("aws/us-east-1", "aws/us-east-2") < latency_ms("aws/us-east-1", "aws/us-west-2"), "nearer is faster");
	/* London to Sydney, 16,990 km along the great circle: 1 ms and 1.5 times 169.9 ms. */
	tap_near(latency_ms("azure/uksouth", "azure/australiaeast"), 255.9, 1.5, "by hand");
	/* Over the date line, not around the other way: Tokyo to San Francisco are 8,270 km. */
	tap_near(latency_ms("azure/japaneast", "azure/westus"), 125.1, 2, "over the date line");
}

static void
test_names(void)
{
	static const char *const unknown[] = { "", "/", "aws/", "/us-east-1", "aws/us-east-9", "nobody/us-east-1", "us-east",
		"aw/us-east-1", "awss/us-east-1", "aws/us-east-1/a", "us-east-1 " };

	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		tap_ok(!latency_known(unknown[i]), "'%s' is not known", unknown[i]);
		tap_ok(isnan(latency_ms(unknown[i], "aws/us-east-1")) && isnan(latency_ms("aws/us-east-1", unknown[i])),
		    "... and no round trip is made up, either way");
	}
	tap_ok(latency_known("AWS/US-East-1") && latency_ms("AWS/US-East-1", "aws/us-east-1") == latency_ms("aws/us-east-1", "aws/us-east-1"),
	    "in either case");
	tap_near(latency_ms("own/rack", "own/rack"), 1, 0, "the same text is one place, known or not");
	tap_ok(isnan(latency_ms("own/rack", "own/other")), "two of them are not");
	tap_ok(latency_known("us-east-1") && latency_known("gcp/us-east4") && latency_known("lambda/us-west-1"), "known ones");
	tap_near(latency_ms("eu-central-1", "aws/us-east-1"), latency_ms("aws/eu-central-1", "us-east-1"), 1e-9, "a region alone");
	tap_ok(fabs(latency_ms("us-central1", "gcp/us-central1") - 1) < 1e-9 && latency_ms("nebius/us-central1", "gcp/us-central1") > 2,
	    "one name of two clouds is two places");
}

int
main(void)
{
	test_pairs();
	test_names();
	return tap_done();
}
