#include <stdio.h>
#include <string.h>

#include "model/job.h"
#include "model/offer.h"
#include "plan/cost.h"
#include "util/str.h"

/* USD per GiB that leaves a region, list prices of the first paid tier. */
static const struct cost_egress_row {
	const char *provider;
	double inside;  /* to another region of the same cloud */
	double outside; /* to the internet or another cloud */
	const char *source;
} cost_egress_rows[] = {
	{ "aws", 0.02, 0.09, "aws.amazon.com/ec2/pricing/on-demand, data transfer, 2026" },
	{ "azure", 0.02, 0.087, "azure.microsoft.com/pricing/details/bandwidth, 2026" },
	{ "gcp", 0.02, 0.12, "cloud.google.com/vpc/network-pricing, premium tier, 2026" },
	{ "oci", 0.0085, 0.0085,
	    "oracle.com/cloud/networking/pricing, beyond 10 TB a month, 2026" },
	{ "nebius", 0.015, 0.015, "docs.nebius.com/object-storage/resources/pricing, 2026" },
	{ "digitalocean", 0.01, 0.01, "docs.digitalocean.com/platform/billing/bandwidth, 2026" },
	{ "coreweave", 0, 0, "coreweave.com/pricing: no egress fees, 2026" },
	{ "lambda", 0, 0, "lambda.ai/pricing: no egress fees, 2026" },
	{ "runpod", 0, 0, "runpod.io/pricing: no egress fees, 2026" },
};

static const char *
cost_region_of(const char *place)
{
	const char *slash = strchr(place, '/');

	return slash == NULL ? place : slash + 1;
}

/* Do both name the same cloud, as far as they say one? */
static bool
cost_same_cloud(const char *from, const char *to)
{
	const char *a = strchr(from, '/'), *b = strchr(to, '/');

	if (a == NULL || b == NULL)
		return true;
	if (a - from != b - to)
		return false;
	for (; from < a; from++, to++)
		if (str_lower_char(*from) != str_lower_char(*to))
			return false;
	return true;
}

double
cost_egress_rate(const char *from, const char *to, const char **source_out)
{
	const char *slash = strchr(from, '/');
	bool same = cost_same_cloud(from, to);

	if (source_out != NULL)
		*source_out = "default";
	if (same && str_ieq(cost_region_of(from), cost_region_of(to))) {
		if (source_out != NULL)
			*source_out = "within one region";
		return 0;
	}
	for (size_t i = 0;
	     slash != NULL && i < sizeof(cost_egress_rows) / sizeof(cost_egress_rows[0]); i++) {
		const struct cost_egress_row *r = &cost_egress_rows[i];

		if (strlen(r->provider) != (size_t)(slash - from) ||
		    !str_istarts(from, r->provider))
			continue;
		if (source_out != NULL)
			*source_out = r->source;
		return same ? r->inside : r->outside;
	}
	return COST_EGRESS_DEFAULT;
}

double
cost_input_usd(const struct job_spec *s, const struct offer *o)
{
	char to[256];

	if (s->data_gib <= 0 || s->data_region[0] == '\0')
		return 0;
	if ((size_t)snprintf(to, sizeof(to), "%s/%s", o->provider, o->region) >= sizeof(to))
		return s->data_gib * COST_EGRESS_DEFAULT;
	return s->data_gib * cost_egress_rate(s->data_region, to, NULL);
}
