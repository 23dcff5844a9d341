#include <stdlib.h>
#include <string.h>

#include "tests/conformance/clouds.h"
#include "tests/conformance/kit.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/time.h"

static struct kit_fleet fleet;

void
alibaba_cloud_reset(void)
{
	fleet.n = 0;
}

static enum berth_code
refuse(struct http_resp *resp, int status, const char *code, const char *message)
{
	return kit_answer(resp, status, arena_printf(resp->arena, "{\"RequestId\":\"r\",\"HostId\":\"h\",\"Code\":\"%s\",\"Message\":\"%s\"}",
	    code, message));
}

/* An argument of the query, decoded as far as the cases here need it; "" if there is none. */
static const char *
arg_of(const struct http_req *req, const char *name)
{
	size_t n = strlen(name);
	const char *p = strchr(req->url, '?');
	char *out, *w;

	for (; p != NULL; p = strchr(p + 1, '&'))
		if (strncmp(p + 1, name, n) == 0 && p[1 + n] == '=')
			break;
	if (p == NULL)
		return "";
	p += n + 2;
	out = w = arena_strndup(req->arena, p, strcspn(p, "&"));
	for (const char *r = out; *r != '\0'; r++)
		if (*r == '%' && r[1] != '\0' && r[2] != '\0') {
			*w++ = (char)strtol(arena_strndup(req->arena, r + 1, 2), NULL, 16);
			r += 2;
		} else {
			*w++ = *r;
		}
	*w = '\0';
	return out;
}

static const char *
as_json(struct arena *a, const struct kit_machine *m, int64_t now)
{
	char at[TIME_FMT_SIZE];

	return arena_printf(a, "{\"InstanceId\":\"%s\",\"InstanceName\":\"%s\",\"InstanceType\":\"ecs.gn6i-c4g1.xlarge\",\"ZoneId\":\"cn-nowhere-a\","
	    "\"Status\":\"%s\",\"SpotStrategy\":\"%s\",\"CreationTime\":\"%.16sZ\",\"PublicIpAddress\":{\"IpAddress\":[\"192.0.2.5\"]},"
	    "\"VpcAttributes\":{\"PrivateIpAddress\":{\"IpAddress\":[\"10.0.0.3\"]}},\"Tags\":{\"Tag\":[{\"TagKey\":\"berth-installation\","
	    "\"TagValue\":\"%s\"},{\"TagKey\":\"berth-token\",\"TagValue\":\"%s\"}]},\"OperationLocks\":{\"LockReason\":[]}}", m->id, m->name,
	    m->ended != 0 ? "Stopping" : now >= m->created + KIT_START_S ? "Running" : "Pending", m->spot ? "SpotAsPriceGo" : "NoSpot",
	    time_fmt(at, m->created), m->installation, m->token);
}

static enum berth_code
launch(const struct http_req *req, struct http_resp *resp, int64_t now)
{
	const char *token = arg_of(req, "ClientToken");
	struct kit_machine *m = NULL;

	if (token[0] == '\0' || !str_eq(arg_of(req, "InstanceType"), "ecs.gn6i-c4g1.xlarge") || !str_eq(arg_of(req, "ImageId"), "img") ||
	    !str_eq(arg_of(req, "ZoneId"), "cn-nowhere-a") || !str_eq(arg_of(req, "VSwitchId"), "vsw-1") ||
	    !str_eq(arg_of(req, "SecurityGroupId"), "sg-1") || !str_eq(arg_of(req, "Amount"), "1") ||
	    !str_eq(arg_of(req, "Tag.1.Key"), "berth-installation") || !str_eq(arg_of(req, "Tag.2.Key"), "berth-token"))
		return refuse(resp, 400, "InvalidParameter", "no");
	for (size_t i = 0; i < fleet.n; i++)
		if (str_eq(fleet.v[i].key, token))
			m = &fleet.v[i];
	if (m == NULL) {
		if (kit_full(&fleet, now))
			return refuse(resp, 403, "OperationDenied.NoStock", "The requested resource is sold out in the specified zone.");
		m = kit_add(&fleet, "i-", now);
		str_copy(m->key, sizeof(m->key), token);
		str_copy(m->name, sizeof(m->name), arg_of(req, "InstanceName"));
		str_copy(m->installation, sizeof(m->installation), arg_of(req, "Tag.1.Value"));
		str_copy(m->token, sizeof(m->token), arg_of(req, "Tag.2.Value"));
		m->spot = str_starts(arg_of(req, "SpotStrategy"), "Spot");
	}
	return kit_answer(resp, 200, arena_printf(resp->arena, "{\"RequestId\":\"r\",\"InstanceIdSets\":{\"InstanceIdSet\":[\"%s\"]}}", m->id));
}

/* By id, or by the installation's tag, one a page. */
static enum berth_code
machines(const struct http_req *req, struct http_resp *resp, int64_t now)
{
	const char *ids = arg_of(req, "InstanceIds"), *mine = arg_of(req, "Tag.1.Value"), *one = "";
	long offset = strtol(arg_of(req, "NextToken"), NULL, 10), n = 0;

	if (ids[0] == '\0' && !str_eq(arg_of(req, "Tag.1.Key"), "berth-installation"))
		return refuse(resp, 400, "InvalidParameter", "no");
	for (size_t i = 0; i < fleet.n; i++) {
		const struct kit_machine *m = &fleet.v[i];

		if (kit_gone(m, now) || !(ids[0] != '\0' ? strstr(ids, m->id) != NULL : str_eq(m->installation, mine)))
			continue;
		if (n++ == offset)
			one = as_json(resp->arena, m, now);
	}
	return kit_answer(resp, 200, arena_printf(resp->arena, "{\"RequestId\":\"r\",\"TotalCount\":%ld,\"NextToken\":\"%s\",\"Instances\":{"
	    "\"Instance\":[%s]}}", n, offset + 1 < n ? arena_printf(resp->arena, "%ld", offset + 1) : "", one));
}

/* Types on two pages, a price of the machine apart from its disk's. */
static enum berth_code
market(const struct http_req *req, struct http_resp *resp, const char *action)
{
	if (str_eq(action, "DescribeInstanceTypes") && arg_of(req, "NextToken")[0] == '\0')
		return kit_answer(resp, 200, "{\"RequestId\":\"r\",\"NextToken\":\"two\",\"InstanceTypes\":{\"InstanceType\":[{\"InstanceTypeId\":"
		    "\"ecs.g6.large\",\"GPUAmount\":0,\"GPUSpec\":\"\",\"CpuCoreCount\":2,\"MemorySize\":8.0}]}}");
	if (str_eq(action, "DescribeInstanceTypes"))
		return kit_answer(resp, 200, "{\"RequestId\":\"r\",\"NextToken\":\"\",\"InstanceTypes\":{\"InstanceType\":[{\"InstanceTypeId\":"
		    "\"ecs.gn6i-c4g1.xlarge\",\"GPUAmount\":1,\"GPUSpec\":\"NVIDIA T4\",\"GPUMemorySize\":16.0,\"CpuCoreCount\":4,\"MemorySize\":15.0}]}}");
	if (str_eq(action, "DescribeAvailableResource"))
		return kit_answer(resp, 200, "{\"RequestId\":\"r\",\"AvailableZones\":{\"AvailableZone\":[{\"ZoneId\":\"cn-nowhere-a\",\"Status\":"
		    "\"Available\",\"AvailableResources\":{\"AvailableResource\":[{\"Type\":\"InstanceType\",\"SupportedResources\":{"
		    "\"SupportedResource\":[{\"Value\":\"ecs.g6.large\",\"Status\":\"Available\"},{\"Value\":\"ecs.gn6i-c4g1.xlarge\",\"Status\":"
		    "\"Available\",\"StatusCategory\":\"WithStock\"}]}}]}}]}}");
	if (str_eq(action, "DescribeSpotAdvice"))
		return kit_answer(resp, 200, "{\"RequestId\":\"r\",\"RegionId\":\"cn-nowhere\",\"AvailableSpotZones\":{\"AvailableSpotZone\":[{"
		    "\"ZoneId\":\"cn-nowhere-a\",\"AvailableSpotResources\":{\"AvailableSpotResource\":[{\"InstanceType\":"
		    "\"ecs.gn6i-c4g1.xlarge\",\"InterruptionRate\":3.0,\"InterruptRateDesc\":\"0-3%\",\"AverageSpotDiscount\":30}]}}]}}");
	if (str_eq(action, "DescribeSpotPriceHistory"))
		return kit_answer(resp, 200, "{\"RequestId\":\"r\",\"Currency\":\"USD\",\"NextOffset\":0,\"SpotPrices\":{\"SpotPriceType\":["
		    "{\"InstanceType\":\"ecs.gn6i-c4g1.xlarge\",\"ZoneId\":\"cn-nowhere-a\",\"SpotPrice\":0.3,\"OriginPrice\":1.5,\"Timestamp\":"
		    "\"2026-11-29T23:00:00Z\"}]}}");
	if (str_eq(action, "DescribeAccountAttributes"))
		return kit_answer(resp, 200, "{\"RequestId\":\"r\",\"AccountAttributeItems\":{\"AccountAttributeItem\":[{\"AttributeName\":"
		    "\"max-postpaid-instance-vcpu-count\",\"AttributeValues\":{\"ValueItem\":[{\"Value\":\"100\"}]}},{\"AttributeName\":"
		    "\"max-spot-instance-vcpu-count\",\"AttributeValues\":{\"ValueItem\":[{\"Value\":\"200\"}]}}]}}");
	return kit_answer(resp, 200, "{\"RequestId\":\"r\",\"PriceInfo\":{\"Price\":{\"Currency\":\"USD\",\"OriginalPrice\":1.6,\"TradePrice\":1.5,"
	    "\"DetailInfos\":{\"DetailInfo\":[{\"Resource\":\"systemDisk\",\"OriginalPrice\":0.1,\"TradePrice\":0.1},{\"Resource\":"
	    "\"instanceType\",\"OriginalPrice\":1.5,\"TradePrice\":1.4}]}}}}");
}

enum berth_code
alibaba_cloud(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp, struct berth_err *err)
{
	const char *signature = http_req_get_header(req, "Authorization"), *action = http_req_get_header(req, "x-acs-action");
	const char *nonce = http_req_get_header(req, "x-acs-signature-nonce");
	static char last[80];
	int64_t now = acc->env.now;
	struct kit_machine *m;

	(void)arg, (void)err;
	memset(resp, 0, sizeof(*resp));
	resp->arena = req->arena;
	if (signature == NULL || !str_starts(signature, "ACS3-HMAC-SHA256 Credential=key-SECRET,"))
		return refuse(resp, 404, "InvalidAccessKeyId.NotFound", "no");
	if (nonce == NULL || str_eq(nonce, last))
		return refuse(resp, 400, "SignatureNonceUsed", "no");
	str_copy(last, sizeof(last), nonce);
	if (!str_starts(req->url, "https://ecs.cn-nowhere.aliyuncs.com/?") || action == NULL ||
	    !str_eq(arg_of(req, "RegionId"), str_eq(action, "DescribeInstanceTypes") ? "" : "cn-nowhere"))
		return refuse(resp, 400, "InvalidParameter", "no");
	if (str_eq(action, "RunInstances"))
		return launch(req, resp, now);
	if (str_eq(action, "DescribeInstances"))
		return machines(req, resp, now);
	if (!str_eq(action, "DeleteInstances"))
		return market(req, resp, action);
	m = kit_find(&fleet, arg_of(req, "InstanceId.1"), now);
	if (m == NULL)
		return refuse(resp, 404, "InvalidInstanceId.NotFound", "no");
	if (m->ended == 0)
		m->ended = now;
	return kit_answer(resp, 200, "{\"RequestId\":\"r\"}");
}
