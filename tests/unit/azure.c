/* tests/unit/azure.c - Azure: meters told apart, sizes, bodies, states, codes, whose host gets what; the answers of others. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/accel.h"
#include "providers/account.h"
#include "providers/azure/azure.h"
#include "tests/tap.h"
#include "util/arena.h"
#include "util/fileio.h"
#include "util/log.h"
#include "util/str.h"
#include "util/vec.h"
#include "util/yaml.h"

#define NOW INT64_C(1796040000)		/* 2026-11-30T12:00:00Z */

static struct arena *a;
static const struct accel_table *accels;
static struct log quiet;

/* What the wire answers: the first row whose part is in the URL. */
struct wire { const char *part; int status; const char *body; };
static struct { const struct wire *rows; int requests, with_token; char last[2048], body[4096]; } line;

static enum berth_code
exchange(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp, struct berth_err *err)
{
	const struct wire *w = line.rows;

	(void)arg, (void)acc, (void)err;
	memset(resp, 0, sizeof(*resp));
	resp->arena = req->arena;
	while (w->part != NULL && strstr(req->url, w->part) == NULL)
		w++;
	resp->status = w->part != NULL ? w->status : 404;
	resp->body = w->part != NULL ? w->body : "{\"error\":{\"code\":\"NotFound\"}}";
	resp->body_len = strlen(resp->body);
	if (strstr(req->url, "/oauth2/") != NULL)
		return BERTH_OK;
	line.requests++;
	line.with_token += http_req_get_header(req, "Authorization") != NULL;
	str_copy(line.last, sizeof(line.last), req->url);
	str_copy(line.body, sizeof(line.body), req->body != NULL ? req->body : "");
	return BERTH_OK;
}

static struct prov_account *
open_account(const char *more, enum berth_code want)
{
	const char *yaml = arena_printf(a, "{name: z, provider: azure, locations: eastus%s}", more);
	struct prov_env env = { .now = NOW, .installation = "78199d8e1c8ed013", .accels = accels, .log = &quiet };
	const struct yaml_node *n = NULL;
	struct prov_account *acc = NULL;
	struct berth_err err = { 0 };

	tap_code(yaml_parse(a, yaml, strlen(yaml), "berth.yaml", &n, &err), BERTH_OK, &err);
	tap_code(prov_account_open(n, NULL, &env, &acc, &err), want, &err);
	if (acc != NULL)
		prov_account_hook(acc, exchange, NULL);
	memset(&line, 0, sizeof(line));
	return acc;
}

#define MACHINES ", subscription: sub, resource_group: rg, tenant: t, client_id: c, client_secret: env:AZURE_TEST_SECRET, " \
	"image: '/i', ssh_key: 'ssh-rsa AAAA', subnet: /subs/LOCATION/s"

static const struct wire token = { "/oauth2/", 200, "{\"access_token\":\"tok\",\"expires_in\":3599}" };

static VEC(struct offer) offers;

static enum berth_code
got_offer(void *arg, const struct offer *o, struct berth_err *err)
{
	(void)arg, (void)err;
	VEC_PUSH(a, &offers, offer_copy(o, a));
	return BERTH_OK;
}

static enum berth_code
read_offers(struct prov_account *acc, const struct wire *rows, struct berth_err *err)
{
	offers.n = 0;
	line.rows = rows;
	line.requests = line.with_token = 0;
	return prov_offers(acc, NULL, got_offer, NULL, err);
}

static const struct offer *
find(const char *size, enum purchase p, int months, enum payment pay)
{
	for (size_t i = 0; i < offers.n; i++)
		if (str_eq(offers.v[i].instance_type, size) && offers.v[i].purchase == p && offers.v[i].term_months == months &&
		    offers.v[i].payment == pay && offers.v[i].kind == OFFER_PLAIN)
			return &offers.v[i];
	return NULL;
}

static double
hour(const char *size, enum purchase p, int months, enum payment pay)
{
	const struct offer *o = find(size, p, months, pay);

	return o != NULL ? usd_to_double(offer_effective_hour(o)) : NAN;
}

static double
windows_hour(const char *size, enum purchase p)
{
	const struct offer *o = NULL;

	for (size_t i = 0; i < offers.n; i++)
		if (str_eq(offers.v[i].instance_type, size) && offers.v[i].purchase == p && offers.v[i].kind == OFFER_WINDOWS)
			o = &offers.v[i];

	return o != NULL ? usd_to_double(offer_effective_hour(o)) : NAN;
}

static const char *
shared(const char *path)
{
	const char *dir = getenv("BERTH_SHARED"), *top = getenv("TOP_SRCDIR");

	return arena_printf(a, "%s/%s", dir != NULL ? dir : arena_printf(a, "%s/../shared", top != NULL ? top : "."), path);
}

static char *
slurp(const char *path)
{
	char *body = NULL;

	return fileio_slurp(a, shared(path), 8 << 20, &body, NULL, NULL) == BERTH_OK ? body : NULL;
}

#define NC "Standard_NC24ads_A100_v4"

static const char *
item(const char *type, const char *product, const char *meter, double price, const char *more)
{
	return arena_printf(a, "{\"currencyCode\":\"USD\",\"tierMinimumUnits\":0,\"retailPrice\":%.10g,\"armRegionName\":\"eastus\",\"meterName\":"
	    "\"%s\",\"productName\":\"%s\",\"skuName\":\"%s\",\"unitOfMeasure\":\"1 Hour\",\"type\":\"%s\",\"armSkuName\":\"" NC "\"%s}", price,
	    meter, product, meter, type, more);
}

static const char linux_product[] = "Virtual Machines NCads A100 v4 Series", windows_product[] = "Virtual Machines NCads A100 v4 Series Windows";

/* One size, many meters, in any order: what each way of buying costs. */
static void
test_meters(void)
{
	const char *items[] = {
		item("Consumption", linux_product, "NC24ads A100 v4", 3.673, ",\"effectiveStartDate\":\"2026-01-01T00:00:00Z\",\"savingsPlan\":["
		    "{\"term\":\"1 Year\",\"retailPrice\":2.571},{\"term\":\"3 Years\",\"retailPrice\":1.836}]"),
		item("Consumption", linux_product, "NC24ads A100 v4", 3.0, ",\"effectiveStartDate\":\"2025-01-01T00:00:00Z\""),
		item("Consumption", linux_product, "NC24ads A100 v4", 1.0, ",\"effectiveStartDate\":\"2027-01-01T00:00:00Z\""),
		item("Consumption", linux_product, "NC24ads A100 v4", 0.5, ",\"effectiveStartDate\":\"2026-02-01T00:00:00Z\",\"effectiveEndDate\":"
		    "\"2026-03-01T00:00:00Z\""),
		item("Consumption", linux_product, "NC24ads A100 v4", 0, ",\"effectiveStartDate\":\"2026-05-01T00:00:00Z\""),
		item("Consumption", linux_product, "NC24ads A100 v4 Spot", 0.918, ""),
		item("Consumption", linux_product, "NC24ads A100 v4 Low Priority", 0.7346, ""),
		item("Consumption", windows_product, "NC24ads A100 v4", 4.777, ""),
		item("Consumption", windows_product, "NC24ads A100 v4 Spot", 1.194, ""),
		item("DevTestConsumption", windows_product, "NC24ads A100 v4", 3.673, ""),
		item("Consumption", "NCads A100 v4 Series Cloud Services", "NC24ads A100 v4", 4.777, ""),
		item("Consumption", "NCads A100 v4 Series Dedicated Host", "NC24ads A100 v4", 0.1, ""),
		item("Consumption", linux_product, "NC24ads A100 v4", 0.2, ",\"isPrimaryMeterRegion\":false,\"effectiveStartDate\":\"2026-06-01T00:00:00Z\""),
		item("Reservation", linux_product, "NC24ads A100 v4", 21033, ",\"reservationTerm\":\"1 Year\""),
		item("Reservation", linux_product, "NC24ads A100 v4", 43000, ",\"reservationTerm\":\"3 Years\""),
		item("Reservation", linux_product, "NC24ads A100 v4", 99, ",\"reservationTerm\":\"1 Month\""),
	};
	size_t n = sizeof(items) / sizeof(items[0]);
	struct berth_err err = { 0 };

	for (int way = 0; way < 3; way++) {	/* forwards, backwards, from the middle */
		struct prov_account *acc = open_account("", BERTH_OK);
		char *text = arena_strdup(a, "");

		for (size_t i = 0; i < n; i++)
			text = arena_printf(a, "%s%s%s", text, i > 0 ? "," : "", items[way == 0 ? i : way == 1 ? n - 1 - i : (i + n / 2) % n]);
		tap_code(read_offers(acc, (struct wire[]){ { "/retail/", 200, arena_printf(a, "{\"Items\":[%s]}", text) }, { NULL, 0, NULL } },
		    &err), BERTH_OK, &err);
		tap_near(hour(NC, PURCHASE_ON_DEMAND, 0, PAYMENT_NONE), 3.673, 1e-9, "on demand");
		tap_near(hour(NC, PURCHASE_SPOT, 0, PAYMENT_NONE), 0.918, 1e-9, "spot");
		tap_near(windows_hour(NC, PURCHASE_ON_DEMAND), 4.777, 1e-9, "on demand with Windows");
		tap_near(windows_hour(NC, PURCHASE_SPOT), 1.194, 1e-9, "spot with Windows");
		tap_near(hour(NC, PURCHASE_RESERVED, 12, PAYMENT_ALL), 21033.0 / 8760, 1e-6, "a year, whole-term total");
		tap_near(hour(NC, PURCHASE_RESERVED, 36, PAYMENT_ALL), 43000.0 / 26280, 1e-6, "three years");
		tap_near(hour(NC, PURCHASE_RESERVED, 12, PAYMENT_NONE), 2.571, 1e-9, "savings plan of a year");
		tap_near(hour(NC, PURCHASE_RESERVED, 36, PAYMENT_NONE), 1.836, 1e-9, "of three");
		tap_is_long((long long)offers.n, 8, "and no other");
		tap_is_str(offers.n > 0 ? offers.v[0].accelerator : "", "A100-PCIE-80GB", "its card");
		tap_is_long(line.with_token, 0, "the price list is asked without a token");
		prov_account_close(acc);
	}
}

/* The collected cases: meters, and pages with an empty one in the middle or a loop at the end. */
static void
test_cases(void)
{
	char *meters = slurp("cases/inputs/case-037-azure-page.json"), *p[4];
	static const char *const pages[] = { "page1", "page2-empty", "page3", "page3-loop" };
	struct prov_account *acc;
	struct berth_err err = { 0 };
	double least = INFINITY;

	if (meters == NULL) {
		tap_skip("collected cases", "no shared data");
		return;
	}
	acc = open_account("", BERTH_OK);
	tap_code(read_offers(acc, (struct wire[]){ { "/retail/", 200, meters }, { NULL, 0, NULL } }, &err), BERTH_OK, &err);
	tap_near(hour(NC, PURCHASE_ON_DEMAND, 0, PAYMENT_NONE), 3.673, 1e-9, "on demand, Linux");
	tap_near(hour(NC, PURCHASE_SPOT, 0, PAYMENT_NONE), 0.918, 1e-9, "spot, Linux");
	tap_near(windows_hour(NC, PURCHASE_ON_DEMAND), 4.777, 1e-9, "on demand, Windows");
	tap_near(windows_hour(NC, PURCHASE_SPOT), 1.194, 1e-9, "spot, Windows");
	tap_is_long((long long)offers.n, 4, "nothing else");
	prov_account_close(acc);
	for (size_t i = 0; i < 4; i++) {	/* the case's links, with its server's name in place */
		p[i] = slurp(arena_printf(a, "cases/inputs/case-039-%s.json", pages[i]));
		for (char *at; (at = strstr(p[i], "http://127.0.0.1:PORT")) != NULL;)
			p[i] = arena_printf(a, "%.*shttps://prices.azure.com%s", (int)(at - p[i]), p[i], at + strlen("http://127.0.0.1:PORT"));
	}
	acc = open_account("", BERTH_OK);
	tap_code(read_offers(acc, (struct wire[]){ { "$skip=2", 200, p[1] }, { "$skip=3", 200, p[2] }, { "/retail/", 200, p[0] },
	    { NULL, 0, NULL } }, &err), BERTH_OK, &err);
	for (size_t i = 0; i < offers.n; i++)
		least = fmin(least, usd_to_double(offers.v[i].price));
	tap_is_long(line.requests, 3, "three pages, one of them empty");
	tap_ok(offers.n == 5 && least == 3.673 && find("Standard_NC40ads_H100_v5", PURCHASE_ON_DEMAND, 0, PAYMENT_NONE) != NULL,
	    "five offers, the last page's too");
	tap_code(read_offers(acc, (struct wire[]){ { "$skip=2", 200, p[1] }, { "$skip=3", 200, p[3] }, { "/retail/", 200, p[0] },
	    { NULL, 0, NULL } }, &err), BERTH_EINVAL, &err);
	tap_ok(line.requests <= 4 && strstr(err.msg, "leads back to") != NULL, "a loop of pages is refused: %s", err.msg);
	prov_account_close(acc);
}

static void
test_hosts(void)
{
	static const char *const links[] = { "https://evil.example/api/retail/prices?$skip=1", "http://prices.azure.com/x",
		"https://prices.azure.com.evil/x", "https://prices.azure.com:8443/x", "/api/retail/prices", "//evil/x" };
	struct prov_account *acc = open_account("", BERTH_OK);
	struct berth_err err = { 0 };

	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		tap_code(read_offers(acc, (struct wire[]){ { "/retail/", 200, arena_printf(a, "{\"Items\":[],\"NextPageLink\":\"%s\"}", links[i]) },
		    { NULL, 0, NULL } }, &err), BERTH_EINVAL, &err);
		tap_is_long(line.requests, 1, "never followed: %s", links[i]);
	}
	prov_account_close(acc);
	acc = open_account(MACHINES, BERTH_OK);
	line.rows = (struct wire[]){ token, { "publicIPAddresses", 200, "{\"value\":[],\"nextLink\":\"https://evil.example/x\"}" },
	    { NULL, 0, NULL } };
	tap_code(prov_list_ours(acc, NULL, NULL, &err), BERTH_EINVAL, &err);
	tap_is_long(line.requests, 1, "nor with a token");
	prov_account_close(acc);
}

static void
test_sizes(void)
{
	static const struct { const char *size; int64_t gpus; const char *name; int count; } sizes[] = {
		{ "Standard_NC4as_T4_v3", 1, "T4", 1 }, { "Standard_NC16as_T4_v3", 1, "T4", 1 }, { "Standard_NC64as_T4_v3", 4, "T4", 4 },
		{ "Standard_NC24ads_A100_v4", 1, "A100-PCIE-80GB", 1 }, { "Standard_NC96ads_A100_v4", 4, "A100-PCIE-80GB", 4 },
		{ "Standard_ND96asr_v4", 8, "A100-SXM4-40GB", 8 }, { "Standard_ND96amsr_A100_v4", 8, "A100-SXM4-80GB", 8 },
		{ "Standard_NC40ads_H100_v5", 1, "H100-NVL-94GB", 1 }, { "Standard_NC80adis_H100_v5", 2, "H100-NVL-94GB", 2 },
		{ "Standard_NCC40ads_H100_v5", 1, "H100-NVL-94GB", 1 }, { "Standard_ND96isr_H100_v5", 8, "H100-SXM5-80GB", 8 },
		{ "Standard_ND96isr_H200_v5", 8, "H200-SXM-141GB", 8 }, { "Standard_ND96isr_MI300X_v5", 8, "MI300X", 8 },
		{ "Standard_ND128isr_NDR_GB200_v6", 4, "GB200-186GB", 4 }, { "Standard_NV36ads_A10_v5", 1, "A10", 1 },
		{ "Standard_NV36adms_A10_v5", 1, "A10", 1 }, { "Standard_NV72ads_A10_v5", 2, "A10", 2 },
		{ "Standard_NV6ads_A10_v5", 1, "A10-4Q", 1 }, { "Standard_NC24s_v3", 4, "V100-PCIE-16GB", 4 },
		{ "Standard_ND40rs_v2", 8, "V100-SXM2-32GB", 8 }, { "Standard_NV48s_v3", 4, "M60", 4 },
		{ "Standard_NC128lds_xl_RTXPRO6000BSE_v6", 1, "RTX PRO 6000 Blackwell Server", 1 },
		{ "Standard_D4s_v3", 0, NULL, 0 }, { "Standard_NP10s", 0, NULL, 0 }, { "", 0, NULL, 0 },
		{ "Standard_NC128lds_xl_RTXPRO6000BSE_v6", 0, NULL, 0 },
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const char *name = NULL;
		struct accel_ref ref;
		int count = 0;
		bool found = azure_size(sizes[i].size, sizes[i].gpus, &name, &count);

		tap_ok(found == (sizes[i].name != NULL) && (!found || (str_eq(name, sizes[i].name) && count == sizes[i].count &&
		    accel_resolve(accels, a, name, &ref))), "%s is %d of %s", sizes[i].size, count, found ? name : "none");
	}
}

/* Sizes that the subscription may not use, or the region lacks; the real answer of a region beside made-up prices. */
static void
test_region(void)
{
	char *skus = slurp("payloads/azure/resource_skus_recorded_southcentralus.json"), *meters = NULL;
	struct prov_account *acc;
	struct berth_err err = { 0 };
	const struct offer *o;

	if (skus == NULL) {
		tap_skip("a recorded region", "no shared data");
		return;
	}
	meters = arena_printf(a, "{\"Items\":[%s,%s,%s]}", item("Consumption", linux_product, "NC24ads A100 v4", 3.673, ""),
	    item("Consumption", linux_product, "NC24ads A100 v4 Spot", 0.9, ""), item("Consumption", linux_product, "x", 1, ""));
	*strstr(strstr(meters, "\"meterName\":\"x\""), "NC24ads") = 'X';	/* a size that the region lacks */
	acc = open_account(MACHINES, BERTH_OK);
	tap_code(read_offers(acc, (struct wire[]){ token, { "ResourceGraph", 200, "{\"data\":[{\"size\":\"standard_nc24ads_a100_v4\",\"location\":"
	    "\"eastus\",\"rate\":\"20+\"}],\"$skipToken\":\"\"}" }, { "/skus?", 200, skus }, { "/retail/", 200, meters }, { NULL, 0, NULL } },
	    &err), BERTH_OK, &err);
	o = find(NC, PURCHASE_SPOT, 0, PAYMENT_NONE);
	tap_is_long((long long)offers.n, 2, "what the region has");
	tap_ok(o != NULL && o->vcpus == 24 && o->memory_gib == 220 && o->accelerator_count == 1, "24 cores, 220 GiB");
	tap_near(o != NULL ? o->interruption_rate : NAN, -log(1 - 0.25), 1e-12, "a quarter an hour, as a rate");
	tap_ok(line.with_token == 2 && line.requests == 3, "the token goes to Resource Manager, not to the price list");
	tap_code(read_offers(acc, (struct wire[]){ { "ResourceGraph", 200, "{\"data\":[]}" }, { "/skus?", 200, "{\"value\":[{\"resourceType\":"
	    "\"virtualMachines\",\"name\":\"" NC "\",\"capabilities\":[{\"name\":\"LowPriorityCapable\",\"value\":\"False\"}],\"restrictions\":["
	    "{\"type\":\"Location\",\"reasonCode\":\"NotAvailableForSubscription\"}]}]}" }, { "/retail/", 200, meters }, { NULL, 0, NULL } },
	    &err), BERTH_OK, &err);
	tap_ok(offers.n == 1 && offers.v[0].available == AVAIL_NO, "one that the subscription may not use, and not as spot at all");
	prov_account_close(acc);
}

static const struct offer spot_offer = { .provider = "azure", .account = "z", .region = "eastus", .zone = "", .instance_type = NC,
	.purchase = PURCHASE_SPOT, .currency = "USD", .source = "" };

static void
test_create(void)
{
	struct prov_account *acc = open_account(MACHINES, BERTH_OK);
	struct prov_create c = { .token = "0123456789abcdef0123456789abcdef", .offer = &spot_offer, .user_data = "#!/bin/sh\n" };
	struct prov_machine m;
	struct berth_err err = { 0 };

	line.rows = (struct wire[]){ token, { "/virtualMachines/", 201, "{\"name\":\"berth-78199d8e1c8ed013-0123456789abcdef0123456789abcdef\","
	    "\"location\":\"eastus\",\"properties\":{\"provisioningState\":\"Creating\",\"priority\":\"Spot\"}}" }, { NULL, 0, NULL } };
	tap_code(prov_create(acc, &c, &m, &err), BERTH_OK, &err);
	tap_is_str(line.last, "https://management.azure.com/subscriptions/sub/resourceGroups/rg/providers/Microsoft.Compute/virtualMachines/"
	    "berth-78199d8e1c8ed013-0123456789abcdef0123456789abcdef?api-version=2024-07-01", "where a machine is made");
	tap_is_str(line.body, "{\"location\":\"eastus\",\"tags\":{\"berth-installation\":\"78199d8e1c8ed013\",\"berth-token\":"
	    "\"0123456789abcdef0123456789abcdef\"},\"properties\":{\"hardwareProfile\":{\"vmSize\":\"" NC "\"},\"storageProfile\":{"
	    "\"imageReference\":{\"id\":\"/i\"},\"osDisk\":{\"createOption\":\"FromImage\",\"deleteOption\":\"Delete\",\"diskSizeGB\":128,"
	    "\"managedDisk\":{\"storageAccountType\":\"Premium_LRS\"}}},\"osProfile\":{\"computerName\":"
	    "\"berth-78199d8e1c8ed013-0123456789abcdef0123456789abcdef\",\"adminUsername\":\"berth\",\"customData\":\"IyEvYmluL3NoCg==\","
	    "\"linuxConfiguration\":{\"disablePasswordAuthentication\":true,\"ssh\":{\"publicKeys\":[{\"path\":"
	    "\"/home/berth/.ssh/authorized_keys\",\"keyData\":\"ssh-rsa AAAA\"}]}}},\"networkProfile\":{\"networkApiVersion\":\"2022-11-01\","
	    "\"networkInterfaceConfigurations\":[{\"name\":\"berth\",\"properties\":{\"primary\":true,\"deleteOption\":\"Delete\","
	    "\"ipConfigurations\":[{\"name\":\"berth\",\"properties\":{\"subnet\":{\"id\":\"/subs/eastus/s\"},\"publicIPAddressConfiguration\":{"
	    "\"name\":\"berth\",\"properties\":{\"deleteOption\":\"Delete\",\"publicIPAllocationMethod\":\"Static\"},\"sku\":{\"name\":"
	    "\"Standard\"}}}}]}}]},\"priority\":\"Spot\",\"evictionPolicy\":\"Delete\",\"billingProfile\":{\"maxPrice\":-1}}}",
	    "what it is asked with");
	tap_ok(m.state == PROV_PENDING && m.purchase == PURCHASE_SPOT, "accepted");
	line.rows = (struct wire[]){ token, { "/virtualMachines/", 200, "{\"name\":\"other\",\"location\":\"eastus\",\"properties\":{}}" },
	    { NULL, 0, NULL } };
	tap_code(prov_create(acc, &c, &m, &err), BERTH_ETRANSIENT, &err);
	tap_code(prov_destroy(acc, "../x", &m, &err), BERTH_EINVAL, &err);
	prov_account_close(acc);
	acc = open_account(", subscription: sub, tenant: t, client_id: c, client_secret: env:AZURE_TEST_SECRET", BERTH_OK);
	line.rows = (struct wire[]){ token, { NULL, 0, NULL } };
	tap_code(prov_create(acc, &c, &m, &err), BERTH_EPERMANENT, &err);
	tap_ok(strstr(err.msg, "resource_group") != NULL && line.requests == 0, "%s", err.msg);
	prov_account_close(acc);
}

static void
test_states(void)
{
	static const struct { const char *properties; enum prov_state state; enum berth_code why; bool preempted; } rows[] = {
		{ "\"provisioningState\":\"Creating\"", PROV_PENDING, BERTH_OK, false },
		{ "\"provisioningState\":\"Succeeded\",\"instanceView\":{\"statuses\":[{\"code\":\"PowerState/starting\"}]}", PROV_PENDING, BERTH_OK, false },
		{ "\"provisioningState\":\"Succeeded\",\"instanceView\":{\"statuses\":[{\"code\":\"PowerState/running\"}]}", PROV_READY, BERTH_OK, false },
		{ "\"provisioningState\":\"Updating\",\"instanceView\":{\"statuses\":[{\"code\":\"PowerState/running\"}]}", PROV_READY, BERTH_OK, false },
		{ "\"provisioningState\":\"Deleting\",\"instanceView\":{\"statuses\":[{\"code\":\"PowerState/running\"}]}", PROV_ENDING, BERTH_OK, false },
		{ "\"provisioningState\":\"Failed\",\"instanceView\":{\"statuses\":[{\"code\":\"ProvisioningState/failed/AllocationFailed\","
		    "\"message\":\"Allocation failed.\"}]}", PROV_FAILED, BERTH_ECAPACITY, false },
		{ "\"provisioningState\":\"Failed\",\"instanceView\":{\"statuses\":[{\"code\":\"ProvisioningState/failed/ZonalAllocationFailed\"}]}",
		    PROV_FAILED, BERTH_ECAPACITY, false },
		{ "\"provisioningState\":\"Failed\",\"instanceView\":{\"statuses\":[{\"code\":\"ProvisioningState/failed/OperationNotAllowed\","
		    "\"message\":\"exceeding approved Total Regional Cores quota\"}]}", PROV_FAILED, BERTH_EQUOTA, false },
		{ "\"priority\":\"Spot\",\"provisioningState\":\"Succeeded\",\"instanceView\":{\"statuses\":[{\"code\":\"PowerState/deallocated\"}]}",
		    PROV_FAILED, BERTH_EFAIL, true },
		{ "\"provisioningState\":\"Succeeded\",\"instanceView\":{\"statuses\":[{\"code\":\"PowerState/stopped\"}]}", PROV_FAILED, BERTH_EFAIL, false },
		{ "\"provisioningState\":\"Teleporting\"", PROV_PENDING, BERTH_OK, false },
	};
	struct prov_account *acc = open_account(MACHINES, BERTH_OK);
	struct prov_machine m;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct berth_err err = { 0 };

		line.rows = (struct wire[]){ token, { "/virtualMachines/", 200, arena_printf(a, "{\"name\":\"n\",\"location\":\"eastus\",\"properties\":{%s}}",
		    rows[i].properties) }, { NULL, 0, NULL } };
		tap_code(prov_status(acc, "n", &m, &err), BERTH_OK, &err);
		tap_ok(m.state == rows[i].state && m.why == rows[i].why && m.preempted == rows[i].preempted, "%s: %s, %s", rows[i].properties,
		    prov_state_name(m.state), err_name(m.why));
	}
	prov_account_close(acc);
}

static enum berth_code
judge(int status, const char *body, bool create)
{
	struct http_resp resp = { .arena = a, .status = status, .body = body, .body_len = strlen(body) };
	struct prov_error e;

	return provider_azure.error_read(&resp, &e) ? prov_classify(&provider_azure, &resp, &e, create, NULL) : BERTH_OK;
}

static void
test_codes(void)
{
	static const struct { int status; const char *body; enum berth_code want; } codes[] = {
		{ 404, "{\"error\":{\"code\":\"ResourceNotFound\",\"message\":\"x\"}}", BERTH_ENOTFOUND },
		{ 404, "{\"error\":{\"code\":\"ResourceGroupNotFound\",\"message\":\"x\"}}", BERTH_EPERMANENT },
		{ 404, "{\"error\":{\"code\":\"SubscriptionNotFound\",\"message\":\"x\"}}", BERTH_EAUTH },
		{ 409, "{\"error\":{\"code\":\"Conflict\",\"message\":\"x\"}}", BERTH_ETRANSIENT },
		{ 409, "{\"error\":{\"code\":\"OperationNotAllowed\",\"message\":\"The VM is being deleted\"}}", BERTH_EPERMANENT },
		{ 400, "{\"error\":{\"code\":\"InvalidParameter\",\"message\":\"x\"}}", BERTH_EPERMANENT },
		{ 400, "{\"error\":\"invalid_client\",\"error_description\":\"AADSTS7000215: Invalid client secret\"}", BERTH_EAUTH },
		{ 200, "{\"status\":\"Failed\",\"error\":{\"code\":\"DeploymentFailed\",\"details\":[{\"code\":\"SkuNotAvailable\",\"message\":\"x\"}]}}",
		    BERTH_ECAPACITY },
		{ 500, "{\"error\":{\"code\":\"InternalServerError\",\"message\":\"x\"}}", BERTH_ETRANSIENT },
		{ 400, "{\"Error\":{\"Code\":\"400\",\"Message\":\"bad filter\"}}", BERTH_EPERMANENT },
		{ 202, "", BERTH_OK }, { 204, "", BERTH_OK },
	};
	char *text = slurp("payloads/azure/errors_arm.json");
	json_t *v = NULL, *one;
	const char *name;

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		tap_is_long(judge(codes[i].status, codes[i].body, false), codes[i].want, "%d %s", codes[i].status, codes[i].body);
	if (text == NULL || jsonr_parse(text, strlen(text), "payload", &v, NULL) != BERTH_OK) {
		tap_skip("collected answers", "no shared data");
		return;
	}
	json_object_foreach(json_object_get(v, "cases"), name, one) {
		char *body = json_dumps(json_object_get(one, "body"), JSON_COMPACT);
		enum berth_code want = strstr(name, "OperationNotAllowed") != NULL ? BERTH_EQUOTA : strstr(name, "TooMany") != NULL ?
		    BERTH_ETHROTTLED : strstr(name, "Auth") != NULL ? BERTH_EAUTH : BERTH_ECAPACITY;

		tap_is_long(judge((int)json_integer_value(json_object_get(one, "http_status")), body, true), want, "%s", name);
		free(body);
	}
	json_decref(v);
}

static VEC(struct prov_quota) quotas;

static enum berth_code
got_quota(void *arg, const struct prov_quota *q, struct berth_err *err)
{
	(void)arg, (void)err;
	VEC_PUSH(a, &quotas, *q);
	return BERTH_OK;
}

static void
test_quota(void)
{
	struct prov_account *acc = open_account(MACHINES, BERTH_OK);
	struct berth_err err = { 0 };

	line.rows = (struct wire[]){ token, { "$skiptoken", 200, "{\"value\":[{\"unit\":\"Count\",\"currentValue\":3,\"limit\":8,\"name\":{\"value\":"
	    "\"lowPriorityCores\"}}]}" }, { "/locations/eastus/usages?", 200, "{\"value\":[{\"currentValue\":24,\"limit\":96,\"name\":{\"value\":"
	    "\"StandardNCADSA100v4Family\"}},{\"currentValue\":1,\"limit\":2,\"name\":{\"value\":\"standardDSv3Family\"}}],\"nextLink\":"
	    "\"https://management.azure.com/subscriptions/sub/providers/Microsoft.Compute/locations/eastus/usages?$skiptoken=1\"}" },
	    { NULL, 0, NULL } };
	tap_code(prov_quotas(acc, got_quota, NULL, &err), BERTH_OK, &err);
	tap_ok(quotas.n == 2 && quotas.v[0].limit == 96 && quotas.v[0].used == 24 && str_eq(quotas.v[0].region, "eastus") &&
	    quotas.v[1].purchase == PURCHASE_SPOT && quotas.v[1].limit == 8, "families with cards, and the spot cores of the next page");
	tap_ok(quotas.v[0].counts && str_eq(quotas.v[0].types, "Standard_NC[0-9]*ads_A100_v4") && quotas.v[1].counts &&
	    quotas.v[1].types[0] == '\0', "what they count: %s", quotas.v[0].types);
	prov_account_close(acc);
}

static VEC(struct prov_check) checks;

static enum berth_code
got_check(void *arg, const struct prov_check *c, struct berth_err *err)
{
	(void)arg, (void)err;
	VEC_PUSH(a, &checks, *c);
	return BERTH_OK;
}

/* Patterns of roles: one that takes away is outdone by another that gives. Eviction rates are not for everybody. */
static void
test_permissions(void)
{
	struct prov_account *acc = open_account(MACHINES, BERTH_OK);
	struct berth_err err = { 0 };

	line.rows = (struct wire[]){ token, { "/permissions?", 200, "{\"value\":[{\"actions\":[\"Microsoft.Compute/*\"],\"notActions\":["
	    "\"Microsoft.Compute/virtualMachines/delete\"]},{\"actions\":[\"*/read\"]},{\"actions\":[\"microsoft.network/networkinterfaces/*\"]}]}" },
	    { NULL, 0, NULL } };
	tap_code(prov_checks(acc, got_check, NULL, &err), BERTH_OK, &err);
	tap_ok(checks.n == 1 && checks.v[0].code == BERTH_EAUTH, "something is missing");
	tap_is_str(checks.n > 0 ? checks.v[0].detail : "", "missing: Microsoft.Compute/virtualMachines/delete, "
	    "Microsoft.Network/publicIPAddresses/write", "and what");
	line.rows = (struct wire[]){ token, { "/permissions?", 200, "{\"value\":[{\"actions\":[\"*\"],\"notActions\":[]}]}" }, { NULL, 0, NULL } };
	checks.n = 0;
	tap_code(prov_checks(acc, got_check, NULL, &err), BERTH_OK, &err);
	tap_ok(checks.n == 1 && checks.v[0].code == BERTH_OK && checks.v[0].detail[0] == '\0', "an owner may do it all");
	tap_code(read_offers(acc, (struct wire[]){ token, { "ResourceGraph", 403, "{\"error\":{\"code\":\"Forbidden\"}}" }, { "/skus?", 200,
	    "{\"value\":[{\"resourceType\":\"virtualMachines\",\"name\":\"" NC "\"}]}" }, { "/retail/", 200, arena_printf(a, "{\"Items\":[%s]}",
	    item("Consumption", linux_product, "NC24ads A100 v4", 3.673, "")) }, { NULL, 0, NULL } }, &err), BERTH_OK, &err);
	tap_ok(offers.n == 1 && isnan(offers.v[0].interruption_rate), "offers without eviction rates");
	prov_account_close(acc);
}

/* Where a token comes from. */
static void
test_credentials(void)
{
	struct prov_account *acc = open_account(", subscription: sub, client_id: uami, cloud: usgov", BERTH_OK);
	struct http_req req = { .arena = a };
	struct berth_err err = { 0 };

	unsetenv("AZURE_CLIENT_SECRET");
	unsetenv("AZURE_FEDERATED_TOKEN_FILE");
	unsetenv("AZURE_CLIENT_ID");
	tap_code(azure_auth.step_build(acc->st, NOW, &req, &err), BERTH_OK, &err);
	tap_is_str(req.url, "http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01&resource="
	    "https%3A%2F%2Fmanagement.usgovcloudapi.net&client_id=uami", "a managed identity, of a sovereign cloud");
	tap_is_str(http_req_get_header(&req, "Metadata"), "true", "with the header that proxies do not set");
	prov_account_close(acc);
	setenv("AZURE_TEST_ASSERTION", "ey.jwt.sig", 1);
	acc = open_account(", subscription: sub, tenant: t, client_id: c, client_assertion: env:AZURE_TEST_ASSERTION, cloud: china", BERTH_OK);
	req = (struct http_req){ .arena = a };
	tap_code(azure_auth.step_build(acc->st, NOW, &req, &err), BERTH_OK, &err);
	tap_is_str(req.url, "https://login.chinacloudapi.cn/t/oauth2/v2.0/token", "federated");
	tap_is_str(req.body, "client_assertion=ey.jwt.sig&client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3A"
	    "jwt-bearer&client_id=c&grant_type=client_credentials&scope=https%3A%2F%2Fmanagement.chinacloudapi.cn%2F.default", "with its token");
	prov_account_close(acc);
	acc = open_account(", subscription: sub, client_secret: env:AZURE_TEST_SECRET", BERTH_OK);
	tap_code(azure_auth.step_build(acc->st, NOW, &(struct http_req){ .arena = a }, &err), BERTH_EAUTH, &err);
	prov_account_close(acc);
	open_account(", cloud: moon", BERTH_EINVAL);
	open_account(", subscription: '../x'", BERTH_EINVAL);
	open_account(", endpoint: 'http://far.example'", BERTH_EINVAL);
}

/* Machines recorded by others, a page that leads to another and one that leads to itself. */
static void
test_recorded(void)
{
	char *page = slurp("payloads/azure/libcloud_subscriptions_99999999_providers_Microsoft_Compute_virtualMachines.json");
	char *last = slurp("payloads/azure/libcloud_subscriptions_99999999_providers_Microsoft_Compute_virtualMachines_1.json");
	char *loop = slurp("payloads/azure/libcloud_subscriptions_99999999_providers_Microsoft_Compute_virtualMachines_PAGINATION_INFINITE_LOOP.json");
	struct prov_account *acc;
	struct berth_err err = { 0 };
	struct prov_machine m;

	if (page == NULL) {
		tap_skip("recorded machines", "no shared data");
		return;
	}
	acc = open_account(MACHINES, BERTH_OK);
	line.rows = (struct wire[]){ token, { "publicIP", 200, "{\"value\":[]}" }, { "networkInterf", 200, "{\"value\":[]}" },
	    { "$skiptoken", 200, last }, { "virtualMachines", 200, page }, { NULL, 0, NULL } };
	tap_code(prov_list_ours(acc, NULL, NULL, &err), BERTH_OK, &err);
	tap_is_long(line.requests, 4, "two pages of machines; none of them ours");
	line.rows = (struct wire[]){ token, { "publicIP", 200, "{\"value\":[]}" }, { "networkInterf", 200, "{\"value\":[]}" },
	    { "virtualMachines", 200, loop }, { NULL, 0, NULL } };
	tap_code(prov_list_ours(acc, NULL, NULL, &err), BERTH_EINVAL, &err);
	line.rows = (struct wire[]){ token, { "virtualMachines/", 200, slurp("payloads/azure/"
	    "libcloud_subscriptions_99999999_resourceGroups_000000_providers_Microsoft_Compute_virtualMachines_test_node_1.json") }, { NULL, 0, NULL } };
	tap_code(prov_status(acc, "test-node-1", &m, &err), BERTH_OK, &err);
	tap_ok(m.ref[0] != '\0' && m.instance_type[0] != '\0' && m.installation[0] == '\0', "%s, %s", m.ref, m.detail);
	prov_account_close(acc);
}

int
main(void)
{
	struct berth_err err = { 0 };

	a = arena_new();
	quiet = (struct log){ .level = LOG_ERROR, .f = stderr };
	setenv("AZURE_TEST_SECRET", "s3cret", 1);
	if (accel_table_open(a, &accels, &err) != BERTH_OK)
		tap_diag("%s", err.msg);
	test_meters();
	test_cases();
	test_hosts();
	test_sizes();
	test_region();
	test_create();
	test_states();
	test_codes();
	test_quota();
	test_permissions();
	test_credentials();
	test_recorded();
	arena_free(a);
	return tap_done();
}
