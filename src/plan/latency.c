#include <math.h>
#include <stdio.h>
#include <string.h>

#include "plan/latency.h"
#include "util/str.h"

#define LATENCY_EARTH_KM 6371.0
#define LATENCY_KM_PER_MS 100.0 /* there and back in glass: light goes 200 km in a millisecond */
#define LATENCY_DETOUR                                                                             \
	1.5 /* cables do not lie along great circles, and routers take their time                  \
	     */
#define LATENCY_LOCAL_MS 1.0

/* The city of a region, as its cloud names it. Degrees to a tenth: 11 km, a tenth of a millisecond.
 */
static const struct latency_row {
	const char *provider, *region;
	double lat, lon;
} latency_rows[] = {
	{ "aws", "us-east-1", 39.0, -77.5 },
	{ "aws", "us-east-2", 40.0, -83.0 },
	{ "aws", "us-west-1", 37.4, -121.9 },
	{ "aws", "us-west-2", 45.8, -119.7 },
	{ "aws", "ca-central-1", 45.5, -73.6 },
	{ "aws", "ca-west-1", 51.0, -114.1 },
	{ "aws", "sa-east-1", -23.5, -46.6 },
	{ "aws", "eu-west-1", 53.3, -6.3 },
	{ "aws", "eu-west-2", 51.5, -0.1 },
	{ "aws", "eu-west-3", 48.9, 2.4 },
	{ "aws", "eu-central-1", 50.1, 8.7 },
	{ "aws", "eu-central-2", 47.4, 8.5 },
	{ "aws", "eu-north-1", 59.3, 18.1 },
	{ "aws", "eu-south-1", 45.5, 9.2 },
	{ "aws", "eu-south-2", 41.6, -0.9 },
	{ "aws", "ap-northeast-1", 35.7, 139.7 },
	{ "aws", "ap-northeast-2", 37.6, 127.0 },
	{ "aws", "ap-northeast-3", 34.7, 135.5 },
	{ "aws", "ap-southeast-1", 1.4, 103.8 },
	{ "aws", "ap-southeast-2", -33.9, 151.2 },
	{ "aws", "ap-southeast-3", -6.2, 106.8 },
	{ "aws", "ap-southeast-4", -37.8, 145.0 },
	{ "aws", "ap-south-1", 19.1, 72.9 },
	{ "aws", "ap-south-2", 17.4, 78.5 },
	{ "aws", "ap-east-1", 22.3, 114.2 },
	{ "aws", "af-south-1", -33.9, 18.4 },
	{ "aws", "me-south-1", 26.1, 50.6 },
	{ "aws", "me-central-1", 24.5, 54.4 },
	{ "aws", "il-central-1", 32.1, 34.8 },
	{ "aws", "cn-north-1", 39.9, 116.4 },
	{ "aws", "cn-northwest-1", 37.5, 105.2 },
	{ "aws", "us-gov-west-1", 45.8, -119.7 },
	{ "aws", "us-gov-east-1", 40.0, -83.0 },
	{ "gcp", "us-central1", 41.3, -95.9 },
	{ "gcp", "us-east1", 33.2, -80.0 },
	{ "gcp", "us-east4", 39.0, -77.5 },
	{ "gcp", "us-east5", 40.0, -83.0 },
	{ "gcp", "us-south1", 32.8, -96.8 },
	{ "gcp", "us-west1", 45.6, -121.2 },
	{ "gcp", "us-west2", 34.1, -118.2 },
	{ "gcp", "us-west3", 40.8, -111.9 },
	{ "gcp", "us-west4", 36.2, -115.1 },
	{ "gcp", "northamerica-northeast1", 45.5, -73.6 },
	{ "gcp", "northamerica-northeast2", 43.7, -79.4 },
	{ "gcp", "southamerica-east1", -23.5, -46.6 },
	{ "gcp", "southamerica-west1", -33.4, -70.7 },
	{ "gcp", "europe-west1", 50.4, 3.8 },
	{ "gcp", "europe-west2", 51.5, -0.1 },
	{ "gcp", "europe-west3", 50.1, 8.7 },
	{ "gcp", "europe-west4", 53.4, 6.8 },
	{ "gcp", "europe-west6", 47.4, 8.5 },
	{ "gcp", "europe-west8", 45.5, 9.2 },
	{ "gcp", "europe-west9", 48.9, 2.4 },
	{ "gcp", "europe-west10", 52.5, 13.4 },
	{ "gcp", "europe-west12", 45.1, 7.7 },
	{ "gcp", "europe-north1", 60.6, 27.2 },
	{ "gcp", "europe-central2", 52.2, 21.0 },
	{ "gcp", "europe-southwest1", 40.4, -3.7 },
	{ "gcp", "asia-east1", 24.1, 120.5 },
	{ "gcp", "asia-east2", 22.3, 114.2 },
	{ "gcp", "asia-northeast1", 35.7, 139.7 },
	{ "gcp", "asia-northeast2", 34.7, 135.5 },
	{ "gcp", "asia-northeast3", 37.6, 127.0 },
	{ "gcp", "asia-south1", 19.1, 72.9 },
	{ "gcp", "asia-south2", 28.6, 77.2 },
	{ "gcp", "asia-southeast1", 1.4, 103.8 },
	{ "gcp", "asia-southeast2", -6.2, 106.8 },
	{ "gcp", "australia-southeast1", -33.9, 151.2 },
	{ "gcp", "australia-southeast2", -37.8, 145.0 },
	{ "gcp", "me-west1", 32.1, 34.8 },
	{ "gcp", "me-central1", 25.3, 51.5 },
	{ "gcp", "africa-south1", -26.2, 28.0 },
	{ "azure", "eastus", 37.4, -79.8 },
	{ "azure", "eastus2", 36.7, -78.4 },
	{ "azure", "centralus", 41.6, -93.6 },
	{ "azure", "northcentralus", 41.9, -87.6 },
	{ "azure", "southcentralus", 29.4, -98.5 },
	{ "azure", "westcentralus", 41.1, -104.8 },
	{ "azure", "westus", 37.8, -122.4 },
	{ "azure", "westus2", 47.2, -119.9 },
	{ "azure", "westus3", 33.4, -112.1 },
	{ "azure", "canadacentral", 43.7, -79.4 },
	{ "azure", "canadaeast", 46.8, -71.2 },
	{ "azure", "brazilsouth", -23.5, -46.6 },
	{ "azure", "northeurope", 53.3, -6.3 },
	{ "azure", "westeurope", 52.4, 4.9 },
	{ "azure", "uksouth", 51.5, -0.1 },
	{ "azure", "ukwest", 51.5, -3.2 },
	{ "azure", "francecentral", 48.9, 2.4 },
	{ "azure", "germanywestcentral", 50.1, 8.7 },
	{ "azure", "switzerlandnorth", 47.4, 8.5 },
	{ "azure", "norwayeast", 59.9, 10.8 },
	{ "azure", "swedencentral", 60.7, 17.1 },
	{ "azure", "polandcentral", 52.2, 21.0 },
	{ "azure", "italynorth", 45.5, 9.2 },
	{ "azure", "spaincentral", 40.4, -3.7 },
	{ "azure", "japaneast", 35.7, 139.7 },
	{ "azure", "japanwest", 34.7, 135.5 },
	{ "azure", "koreacentral", 37.6, 127.0 },
	{ "azure", "eastasia", 22.3, 114.2 },
	{ "azure", "southeastasia", 1.4, 103.8 },
	{ "azure", "australiaeast", -33.9, 151.2 },
	{ "azure", "centralindia", 18.6, 73.9 },
	{ "azure", "southindia", 13.1, 80.3 },
	{ "azure", "uaenorth", 25.3, 55.3 },
	{ "azure", "southafricanorth", -26.2, 28.0 },
	{ "azure", "israelcentral", 32.1, 34.8 },
	{ "lambda", "us-east-1", 39.0, -77.5 },
	{ "lambda", "us-west-1", 37.4, -121.9 },
	{ "lambda", "us-west-2", 45.8, -119.7 },
	{ "lambda", "us-south-1", 32.8, -96.8 },
	{ "lambda", "europe-central-1", 50.1, 8.7 },
	{ "nebius", "eu-north1", 60.2, 24.9 },
	{ "nebius", "eu-west1", 48.9, 2.4 },
	{ "nebius", "us-central1", 39.1, -94.6 },
	{ "oci", "us-ashburn-1", 39.0, -77.5 },
	{ "oci", "us-phoenix-1", 33.4, -112.1 },
	{ "oci", "us-chicago-1", 41.9, -87.6 },
	{ "oci", "eu-frankfurt-1", 50.1, 8.7 },
	{ "oci", "uk-london-1", 51.5, -0.1 },
	{ "oci", "ap-tokyo-1", 35.7, 139.7 },
	{ "alibaba", "cn-hangzhou", 30.3, 120.2 },
	{ "alibaba", "cn-shanghai", 31.2, 121.5 },
	{ "alibaba", "cn-beijing", 39.9, 116.4 },
	{ "alibaba", "cn-shenzhen", 22.5, 114.1 },
	{ "alibaba", "cn-hongkong", 22.3, 114.2 },
	{ "alibaba", "ap-southeast-1", 1.4, 103.8 },
	{ "alibaba", "eu-central-1", 50.1, 8.7 },
	{ "alibaba", "us-east-1", 39.0, -77.5 },
};

/* "aws/us-east-1", or a region alone: the first cloud that uses the name. */
static const struct latency_row *
latency_find(const char *place)
{
	const char *slash = strchr(place, '/'), *region = slash == NULL ? place : slash + 1;

	for (size_t i = 0; i < sizeof(latency_rows) / sizeof(latency_rows[0]); i++) {
		const struct latency_row *r = &latency_rows[i];

		if (str_ieq(r->region, region) &&
		    (slash == NULL || (strlen(r->provider) == (size_t)(slash - place) &&
					  str_istarts(place, r->provider))))
			return r;
	}
	return NULL;
}

bool
latency_known(const char *place)
{
	return latency_find(place) != NULL;
}

const char *
latency_suggest(const char *place)
{
	const char *names[sizeof(latency_rows) / sizeof(latency_rows[0]) + 1],
	    *slash = strchr(place, '/');
	size_t n = 0;

	for (size_t i = 0; i < sizeof(latency_rows) / sizeof(latency_rows[0]); i++)
		if (slash == NULL || (strlen(latency_rows[i].provider) == (size_t)(slash - place) &&
					 str_istarts(place, latency_rows[i].provider)))
			names[n++] = latency_rows[i].region;
	names[n] = NULL;
	return str_suggest(slash == NULL ? place : slash + 1, names);
}

double
latency_ms(const char *from, const char *to)
{
	const struct latency_row *a = latency_find(from), *b = latency_find(to);
	double rad = acos(-1) / 180, dlat, dlon, h;

	if (a == NULL || b == NULL)
		return str_ieq(from, to) ? LATENCY_LOCAL_MS : NAN;
	dlat = (b->lat - a->lat) * rad;
	dlon = (b->lon - a->lon) * rad;
	h = sin(dlat / 2) * sin(dlat / 2) +
	    cos(a->lat * rad) * cos(b->lat * rad) * sin(dlon / 2) * sin(dlon / 2);
	return LATENCY_LOCAL_MS +
	       2 * LATENCY_EARTH_KM * asin(sqrt(fmin(1, h))) / LATENCY_KM_PER_MS * LATENCY_DETOUR;
}
