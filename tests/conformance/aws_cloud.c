#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/sign_impl.h"
#include "providers/account.h"
#include "tests/conformance/clouds.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/time.h"

#define ROOM 2

static struct machine { char id[24], installation[64], token[80], type[40]; bool spot; int64_t created, ended; } machines[64];
static size_t n_machines;

void
aws_cloud_reset(void)
{
	n_machines = 0;
}

static enum berth_code
answer(struct http_resp *resp, int status, const char *type, const char *body)
{
	resp->status = status;
	resp->body = body;
	resp->body_len = strlen(body);
	resp->headers[0] = (struct http_header){ "Content-Type", type, false };
	resp->n_headers = 1;
	return BERTH_OK;
}

static enum berth_code
xml(struct http_resp *resp, const char *action, const char *inside)
{
	return answer(resp, 200, "text/xml;charset=UTF-8", arena_printf(resp->arena, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
	    "<%sResponse xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\"><requestId>r-1</requestId>%s</%sResponse>", action, inside, action));
}

static enum berth_code
refuse(struct http_resp *resp, int status, const char *code)
{
	return answer(resp, status, "text/xml", arena_printf(resp->arena, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Response><Errors><Error>"
	    "<Code>%s</Code><Message>no</Message></Error></Errors><RequestID>r-1</RequestID></Response>", code));
}

/* A parameter of the form, decoded; NULL if it is not there. */
static const char *
param(const struct http_req *req, const char *name)
{
	size_t n = strlen(name);

	for (const char *s = req->body; s != NULL && *s != '\0'; s = strchr(s, '&') != NULL ? strchr(s, '&') + 1 : NULL)
		if (strncmp(s, name, n) == 0 && s[n] == '=')
			return sign_decode(req->arena, s + n + 1, strcspn(s + n + 1, "&"));
	return NULL;
}

static bool
is(const struct http_req *req, const char *name, const char *value)
{
	const char *v = param(req, name);

	return v != NULL && str_eq(v, value);
}

static const char *
state(const struct machine *m, int64_t now)
{
	if (m->ended != 0)
		return now >= m->ended + 30 ? "terminated" : "shutting-down";
	return now >= m->created + 60 ? "running" : "pending";
}

static const char *
item(struct arena *a, const struct machine *m, int64_t now)
{
	char when[TIME_FMT_SIZE];
	const char *s = state(m, now);

	return arena_printf(a, "<item><instanceId>%s</instanceId><imageId>ami-1</imageId><instanceState><code>0</code><name>%s</name>"
	    "</instanceState><instanceType>%s</instanceType><launchTime>%s</launchTime><placement><availabilityZone>eu-north-9a"
	    "</availabilityZone><tenancy>default</tenancy></placement>%s%s<tagSet><item><key>Name</key><value>x</value></item><item>"
	    "<key>berth-installation</key><value>%s</value></item><item><key>berth-token</key><value>%s</value></item></tagSet></item>",
	    m->id, s, m->type, time_fmt(when, m->created), str_eq(s, "running") ? "<ipAddress>192.0.2.7</ipAddress>" : "",
	    m->spot ? "<instanceLifecycle>spot</instanceLifecycle>" : "", m->installation, m->token);
}

static size_t
up(int64_t now)
{
	size_t n = 0;

	for (size_t i = 0; i < n_machines; i++)
		n += !str_eq(state(&machines[i], now), "terminated");
	return n;
}

static enum berth_code
run(struct http_resp *resp, const struct http_req *req, int64_t now)
{
	const char *token = param(req, "ClientToken"), *type = param(req, "InstanceType");
	struct machine *m = NULL;

	if (token == NULL || type == NULL || !is(req, "ImageId", "ami-1") || !is(req, "MinCount", "1") || !is(req, "MaxCount", "1") ||
	    !is(req, "TagSpecification.1.ResourceType", "instance") || !is(req, "TagSpecification.1.Tag.1.Key", "berth-installation") ||
	    !is(req, "TagSpecification.1.Tag.2.Key", "berth-token"))
		return refuse(resp, 400, "MissingParameter");
	for (size_t i = 0; i < n_machines; i++)
		if (str_eq(machines[i].token, token))
			m = &machines[i];
	if (m != NULL && !str_eq(m->type, type))
		return refuse(resp, 400, "IdempotentParameterMismatch");
	if (m == NULL && up(now) >= ROOM)
		return refuse(resp, 500, "InsufficientInstanceCapacity");
	if (m == NULL) {
		m = &machines[n_machines++];
		memset(m, 0, sizeof(*m));
		snprintf(m->id, sizeof(m->id), "i-%017zu", n_machines);
		str_copy(m->token, sizeof(m->token), token);
		str_copy(m->type, sizeof(m->type), type);
		str_copy(m->installation, sizeof(m->installation), param(req, "TagSpecification.1.Tag.1.Value"));
		m->spot = is(req, "InstanceMarketOptions.MarketType", "spot");
		m->created = now;
	}
	return xml(resp, "RunInstances", arena_printf(resp->arena, "<reservationId>r-1</reservationId><instancesSet>%s</instancesSet>",
	    item(resp->arena, m, now)));
}

/* By id, or by tag one a page. */
static enum berth_code
describe(struct http_resp *resp, const struct http_req *req, int64_t now)
{
	const char *id = param(req, "InstanceId.1"), *next = param(req, "NextToken"), *list = "", *more = "";
	size_t from = next != NULL ? (size_t)strtoul(next, NULL, 10) : 0;

	for (size_t i = from; i < n_machines; i++) {
		const struct machine *m = &machines[i];

		if (id != NULL ? !str_eq(m->id, id) : !is(req, "Filter.1.Value.1", m->installation))
			continue;
		if (list[0] != '\0') {
			more = arena_printf(resp->arena, "<nextToken>%zu</nextToken>", i);
			break;
		}
		list = arena_printf(resp->arena, "<item><reservationId>r-1</reservationId><instancesSet>%s</instancesSet></item>",
		    item(resp->arena, m, now));
	}
	if (id != NULL && list[0] == '\0')
		return refuse(resp, 400, "InvalidInstanceID.NotFound");
	return xml(resp, "DescribeInstances", arena_printf(resp->arena, "<reservationSet>%s</reservationSet>%s", list, more));
}

static enum berth_code
terminate(struct http_resp *resp, const struct http_req *req, int64_t now)
{
	for (size_t i = 0; i < n_machines; i++)
		if (is(req, "InstanceId.1", machines[i].id)) {
			if (machines[i].ended == 0)
				machines[i].ended = now;
			return xml(resp, "TerminateInstances", arena_printf(resp->arena, "<instancesSet><item><instanceId>%s</instanceId>"
			    "<currentState><code>32</code><name>%s</name></currentState></item></instancesSet>", machines[i].id,
			    state(&machines[i], now)));
		}
	return refuse(resp, 400, "InvalidInstanceID.NotFound");
}

static enum berth_code
types(struct http_resp *resp, const struct http_req *req)
{
	if (param(req, "NextToken") == NULL)
		return xml(resp, "DescribeInstanceTypes", "<instanceTypeSet><item><instanceType>g6.xlarge</instanceType><supportedUsageClasses>"
		    "<item>on-demand</item><item>spot</item></supportedUsageClasses><vCpuInfo><defaultVCpus>4</defaultVCpus></vCpuInfo><memoryInfo>"
		    "<sizeInMiB>16384</sizeInMiB></memoryInfo><gpuInfo><gpus><item><name>L4</name><manufacturer>NVIDIA</manufacturer><count>1"
		    "</count><memoryInfo><sizeInMiB>22888</sizeInMiB></memoryInfo></item></gpus></gpuInfo></item><item><instanceType>g6f.large"
		    "</instanceType><vCpuInfo><defaultVCpus>2</defaultVCpus></vCpuInfo><memoryInfo><sizeInMiB>8192</sizeInMiB></memoryInfo><gpuInfo>"
		    "<gpus><item><name>L4</name><count>1</count><logicalGpuCount>0.125</logicalGpuCount><memoryInfo><sizeInMiB>2861</sizeInMiB>"
		    "</memoryInfo></item></gpus></gpuInfo></item></instanceTypeSet><nextToken>more+/=</nextToken>");
	return xml(resp, "DescribeInstanceTypes", "<instanceTypeSet><item><instanceType>trn1.32xlarge</instanceType><vCpuInfo><defaultVCpus>128"
	    "</defaultVCpus></vCpuInfo><memoryInfo><sizeInMiB>524288</sizeInMiB></memoryInfo><neuronInfo><neuronDevices><item><count>16</count>"
	    "<name>Trainium</name><memoryInfo><sizeInMiB>32768</sizeInMiB></memoryInfo></item></neuronDevices></neuronInfo></item>"
	    "<item><instanceType>p3.fake</instanceType></item></instanceTypeSet>");
}

static enum berth_code
spot(struct http_resp *resp)
{
	return xml(resp, "DescribeSpotPriceHistory", "<spotPriceHistorySet><item><instanceType>g6.xlarge</instanceType><productDescription>Linux/UNIX"
	    "</productDescription><spotPrice>0.310000</spotPrice><timestamp>2026-11-20T00:00:00.000Z</timestamp><availabilityZone>eu-north-9a"
	    "</availabilityZone></item><item><instanceType>g6.xlarge</instanceType><productDescription>Windows</productDescription>"
	    "<spotPrice>0.1</spotPrice><timestamp>2026-11-20T00:00:00.000Z</timestamp><availabilityZone>eu-north-9b</availabilityZone></item>"
	    "</spotPriceHistorySet><nextToken></nextToken>");
}

/* An entry of GetProducts: JSON text within JSON. */
static const char *
product(struct arena *a, const char *sku, const char *type, const char *gpu, const char *hour, const char *reserved)
{
	return arena_printf(a, "\"{\\\"product\\\":{\\\"productFamily\\\":\\\"Compute Instance\\\",\\\"attributes\\\":{\\\"instanceType\\\":\\\"%s\\\","
	    "\\\"regionCode\\\":\\\"eu-north-9\\\",\\\"tenancy\\\":\\\"Shared\\\",\\\"operatingSystem\\\":\\\"Linux\\\",\\\"preInstalledSw\\\":\\\"NA\\\","
	    "\\\"capacitystatus\\\":\\\"Used\\\",\\\"marketoption\\\":\\\"OnDemand\\\",\\\"gpu\\\":\\\"%s\\\",\\\"vcpu\\\":\\\"4\\\",\\\"memory\\\":\\\"16 GiB\\\"},"
	    "\\\"sku\\\":\\\"%s\\\"},\\\"terms\\\":{\\\"OnDemand\\\":{\\\"%s.T\\\":{\\\"effectiveDate\\\":\\\"2026-11-01T00:00:00Z\\\","
	    "\\\"priceDimensions\\\":{\\\"%s.T.D\\\":{\\\"unit\\\":\\\"Hrs\\\",\\\"beginRange\\\":\\\"0\\\",\\\"pricePerUnit\\\":{\\\"USD\\\":\\\"%s\\\"}}}}}%s}}\"",
	    type, gpu, sku, sku, sku, hour, reserved);
}

static enum berth_code
prices(struct http_resp *resp, const struct http_req *req)
{
	static const char reserved[] = ",\\\"Reserved\\\":{\\\"A.R\\\":{\\\"effectiveDate\\\":\\\"2026-01-01T00:00:00Z\\\",\\\"priceDimensions\\\":{"
	    "\\\"x\\\":{\\\"unit\\\":\\\"Quantity\\\",\\\"pricePerUnit\\\":{\\\"USD\\\":\\\"4000\\\"}},\\\"y\\\":{\\\"unit\\\":\\\"Hrs\\\",\\\"beginRange\\\":\\\"0\\\","
	    "\\\"pricePerUnit\\\":{\\\"USD\\\":\\\"0.0000000000\\\"}}},\\\"termAttributes\\\":{\\\"LeaseContractLength\\\":\\\"1yr\\\",\\\"OfferingClass\\\":"
	    "\\\"standard\\\",\\\"PurchaseOption\\\":\\\"All Upfront\\\"}}}";

	if (strstr(req->body, "\"NextToken\"") == NULL)
		return answer(resp, 200, "application/x-amz-json-1.1", arena_printf(resp->arena, "{\"FormatVersion\":\"aws_v1\",\"NextToken\":\"page:2\","
		    "\"PriceList\":[%s]}", product(resp->arena, "A", "g6.xlarge", "1", "0.8048", reserved)));
	return answer(resp, 200, "application/x-amz-json-1.1", arena_printf(resp->arena, "{\"FormatVersion\":\"aws_v1\",\"PriceList\":[%s,%s]}",
	    product(resp->arena, "B", "trn1.32xlarge", "", "21.50", ""), product(resp->arena, "C", "c5.large", "", "0.1", "")));
}

static enum berth_code
plans(struct http_resp *resp)
{
	return answer(resp, 200, "application/json", "{\"nextToken\":\"\",\"searchResults\":[{\"savingsPlanOffering\":{\"offeringId\":\"o\",\"paymentOption\":"
	    "\"Partial Upfront\",\"planType\":\"EC2Instance\",\"durationSeconds\":31536000,\"currency\":\"USD\"},\"rate\":\"0.5\",\"unit\":\"Hrs\","
	    "\"properties\":[{\"name\":\"region\",\"value\":\"eu-north-9\"},{\"name\":\"instanceType\",\"value\":\"g6.xlarge\"},"
	    "{\"name\":\"productDescription\",\"value\":\"Linux/UNIX\"},{\"name\":\"tenancy\",\"value\":\"shared\"}]}]}");
}

enum berth_code
aws_cloud(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp, struct berth_err *err)
{
	const char *auth = http_req_get_header(req, "Authorization"), *target = http_req_get_header(req, "X-Amz-Target");
	const char *action = param(req, "Action");
	int64_t now = acc->env.now;

	(void)arg, (void)err;
	*resp = (struct http_resp){ .arena = req->arena, .body = "" };
	if (auth == NULL || !str_starts(auth, "AWS4-HMAC-SHA256 Credential=key-SECRET/20261130/") || http_req_get_header(req, "X-Amz-Date") == NULL)
		return refuse(resp, 401, "AuthFailure");
	if (target != NULL && str_eq(target, "ServiceQuotasV20190624.ListServiceQuotas"))
		return answer(resp, 200, "application/x-amz-json-1.1", "{\"Quotas\":[{\"QuotaCode\":\"L-417A185B\",\"QuotaName\":"
		    "\"Running On-Demand P instances\",\"Value\":192.0},{\"QuotaCode\":\"L-1\",\"QuotaName\":\"EIPs\",\"Value\":5.0}]}");
	if (target != NULL)
		return str_eq(target, "AWSPriceListService.GetProducts") ? prices(resp, req) :
		    answer(resp, 400, "application/x-amz-json-1.1", "{\"__type\":\"UnknownOperationException\"}");
	if (str_starts(req->url, "https://savingsplans.amazonaws.com/"))
		return plans(resp);
	if (!str_eq(req->url, "https://ec2.eu-north-9.amazonaws.com/") || action == NULL || !is(req, "Version", "2016-11-15"))
		return refuse(resp, 400, "InvalidAction");
	if (str_eq(action, "DescribeInstanceTypes"))
		return types(resp, req);
	if (str_eq(action, "DescribeSpotPriceHistory"))
		return spot(resp);
	if (str_eq(action, "DescribeSpotInstanceRequests"))
		return answer(resp, 200, "text/xml", "<DescribeSpotInstanceRequestsResponse><requestId>r</requestId><spotInstanceRequestSet><item>"
		    "<spotInstanceRequestId>sir-1</spotInstanceRequestId><instanceId>i-1</instanceId><status><code>marked-for-termination</code>"
		    "<updateTime>2026-11-30T00:00:00.000Z</updateTime></status></item></spotInstanceRequestSet>"
		    "</DescribeSpotInstanceRequestsResponse>");
	if (str_eq(action, "RunInstances"))
		return run(resp, req, now);
	if (str_eq(action, "DescribeInstances"))
		return describe(resp, req, now);
	if (str_eq(action, "TerminateInstances"))
		return terminate(resp, req, now);
	return refuse(resp, 400, "InvalidAction");
}
