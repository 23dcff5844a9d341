#include <stdlib.h>
#include <string.h>

#include "tests/conformance/clouds.h"
#include "tests/conformance/kit.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/time.h"

static struct kit_fleet fleet;

void
tencent_cloud_reset(void)
{
	fleet.n = 0;
}

static enum berth_code
say(struct http_resp *resp, const char *inside)
{
	return kit_answer(resp, 200, arena_printf(resp->arena, "{\"Response\":{%s,\"RequestId\":\"r-1\"}}", inside));
}

static enum berth_code
refuse(struct http_resp *resp, const char *code, const char *message)
{
	return say(resp, arena_printf(resp->arena, "\"Error\":{\"Code\":\"%s\",\"Message\":\"%s\"}", code, message));
}

static const char *
as_json(struct arena *a, const struct kit_machine *m, int64_t now)
{
	char at[TIME_FMT_SIZE];

	return arena_printf(a, "{\"InstanceId\":\"%s\",\"InstanceName\":\"%s\",\"InstanceType\":\"GN7.2XLARGE32\",\"Placement\":{\"Zone\":"
	    "\"ap-nowhere-1\"},\"InstanceChargeType\":\"%s\",\"InstanceState\":\"%s\",\"CreatedTime\":\"%s\",\"PublicIpAddresses\":"
	    "[\"192.0.2.4\"],\"PrivateIpAddresses\":[\"10.0.0.2\"],\"RenewFlag\":null,\"LatestOperationErrorMsg\":null,\"Tags\":["
	    "{\"Key\":\"berth-installation\",\"Value\":\"%s\"},{\"Key\":\"berth-token\",\"Value\":\"%s\"}]}", m->id, m->name,
	    m->spot ? "SPOTPAID" : "POSTPAID_BY_HOUR", m->ended != 0 ? "TERMINATING" : now >= m->created + KIT_START_S ? "RUNNING" :
	    "PENDING", time_fmt(at, m->created), m->installation, m->token);
}

static enum berth_code
prices(const struct http_req *req, struct http_resp *resp)
{
	const char *charge = kit_str(req, "Filters.0.Values.0"), *hour = "\"UnitPrice\":1.26,\"UnitPriceDiscount\":1.13,\"ChargeUnit\":\"HOUR\"";
	const char *ahead = "\"OriginalPrice\":600,\"DiscountPrice\":560,\"OriginalPriceOneYear\":7200,\"DiscountPriceOneYear\":6000";

	if (!str_eq(kit_str(req, "Filters.0.Name"), "instance-charge-type"))
		return refuse(resp, "InvalidFilter", "no");
	return say(resp, arena_printf(resp->arena, "\"InstanceTypeQuotaSet\":[{\"Zone\":\"ap-nowhere-1\",\"InstanceType\":\"S5.MEDIUM2\","
	    "\"InstanceChargeType\":\"%s\",\"InstanceFamily\":\"S5\",\"Cpu\":2,\"Memory\":2,\"Gpu\":0,\"GpuCount\":0,\"Status\":\"SELL\",\"Price\":{%s}},"
	    "{\"Zone\":\"ap-nowhere-1\",\"InstanceType\":\"GN7.2XLARGE32\",\"InstanceChargeType\":\"%s\",\"InstanceFamily\":\"GN7\",\"Cpu\":8,"
	    "\"Memory\":32,\"Gpu\":1,\"GpuCount\":1,\"Status\":\"SELL\",\"StatusCategory\":\"NormalStock\",\"Price\":{%s}},"
	    "{\"Zone\":\"ap-nowhere-1\",\"InstanceType\":\"GN7.2XLARGE40\",\"InstanceChargeType\":\"%s\",\"InstanceFamily\":\"GN7\",\"Cpu\":10,"
	    "\"Memory\":40,\"Gpu\":1,\"GpuCount\":0.5,\"Status\":\"SOLD_OUT\",\"StatusCategory\":\"WithoutStock\",\"Price\":{%s}}]", charge,
	    str_eq(charge, "PREPAID") ? ahead : hour, charge, str_eq(charge, "PREPAID") ? ahead : hour, charge,
	    str_eq(charge, "PREPAID") ? ahead : hour));
}

static enum berth_code
launch(const struct http_req *req, struct http_resp *resp, int64_t now)
{
	const char *token = kit_str(req, "ClientToken"), *charge = kit_str(req, "InstanceChargeType");
	struct kit_machine *m;

	if (token[0] == '\0' || !str_eq(kit_str(req, "InstanceType"), "GN7.2XLARGE32") || !str_eq(kit_str(req, "ImageId"), "img-1") ||
	    !str_eq(kit_str(req, "Placement.Zone"), "ap-nowhere-1") || !str_eq(kit_str(req, "InstanceCount"), "1") ||
	    !str_eq(kit_str(req, "TagSpecification.0.ResourceType"), "instance") ||
	    !str_eq(kit_str(req, "TagSpecification.0.Tags.0.Key"), "berth-installation") ||
	    !str_eq(kit_str(req, "TagSpecification.0.Tags.1.Key"), "berth-token"))
		return refuse(resp, "InvalidParameter", "no");
	for (size_t i = 0; i < fleet.n; i++)
		if (str_eq(fleet.v[i].key, token))
			return say(resp, arena_printf(resp->arena, "\"InstanceIdSet\":[\"%s\"]", fleet.v[i].id));
	if (kit_full(&fleet, now))
		return refuse(resp, "ResourceInsufficient.SpecifiedInstanceType", "The specified instance type is insufficient.");
	m = kit_add(&fleet, "ins-", now);
	str_copy(m->key, sizeof(m->key), token);
	str_copy(m->name, sizeof(m->name), kit_str(req, "InstanceName"));
	str_copy(m->installation, sizeof(m->installation), kit_str(req, "TagSpecification.0.Tags.0.Value"));
	str_copy(m->token, sizeof(m->token), kit_str(req, "TagSpecification.0.Tags.1.Value"));
	m->spot = str_eq(charge, "SPOTPAID");
	return say(resp, arena_printf(resp->arena, "\"InstanceIdSet\":[\"%s\"]", m->id));
}

/* By id, or by the installation's tag, one a page. */
static enum berth_code
machines(const struct http_req *req, struct http_resp *resp, int64_t now)
{
	const char *id = kit_str(req, "InstanceIds.0"), *mine = kit_str(req, "Filters.0.Values.0"), *one = "";
	long offset = strtol(kit_str(req, "Offset"), NULL, 10), n = 0;

	if (id[0] == '\0' && !str_eq(kit_str(req, "Filters.0.Name"), "tag:berth-installation"))
		return refuse(resp, "InvalidFilter", "no");
	for (size_t i = 0; i < fleet.n; i++) {
		const struct kit_machine *m = &fleet.v[i];

		if (kit_gone(m, now) || !(id[0] != '\0' ? str_eq(m->id, id) : str_eq(m->installation, mine)))
			continue;
		if (n++ == offset)
			one = as_json(resp->arena, m, now);
	}
	return say(resp, arena_printf(resp->arena, "\"TotalCount\":%ld,\"InstanceSet\":[%s]", n, one));
}

enum berth_code
tencent_cloud(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp, struct berth_err *err)
{
	const char *signature = http_req_get_header(req, "Authorization"), *action = http_req_get_header(req, "X-TC-Action");
	const char *region = http_req_get_header(req, "X-TC-Region"), *version = http_req_get_header(req, "X-TC-Version");
	int64_t now = acc->env.now;
	struct kit_machine *m;

	(void)arg, (void)err;
	memset(resp, 0, sizeof(*resp));
	resp->arena = req->arena;
	if (signature == NULL || !str_starts(signature, "TC3-HMAC-SHA256 Credential=key-SECRET/"))
		return refuse(resp, "AuthFailure.SecretIdNotFound", "no");
	if (!str_eq(req->url, "https://cvm.tencentcloudapi.com/") || region == NULL || !str_eq(region, "ap-nowhere") || action == NULL ||
	    version == NULL || !str_eq(version, "2017-03-12"))
		return refuse(resp, "InvalidAction", "no");
	if (str_eq(action, "DescribeInstanceTypeConfigs"))
		return say(resp, "\"InstanceTypeConfigSet\":[{\"Zone\":\"ap-nowhere-1\",\"InstanceType\":\"GN7.2XLARGE32\",\"InstanceFamily\":\"GN7\","
		    "\"GPU\":1,\"CPU\":8,\"Memory\":32,\"GpuCount\":1,\"GpuType\":\"NVIDIA T4\",\"GpuMemory\":16}]");
	if (str_eq(action, "DescribeZoneInstanceConfigInfos"))
		return prices(req, resp);
	if (str_eq(action, "DescribeAccountQuota"))
		return say(resp, "\"AppId\":1,\"AccountQuotaOverview\":{\"Region\":\"ap-nowhere\",\"AccountQuota\":{\"PostPaidQuotaSet\":[{\"Zone\":"
		    "\"ap-nowhere-1\",\"TotalQuota\":10,\"UsedQuota\":1,\"RemainingQuota\":9}],\"SpotPaidQuotaSet\":[{\"Zone\":\"ap-nowhere-1\","
		    "\"TotalQuota\":32,\"UsedQuota\":0,\"RemainingQuota\":32}]}}");
	if (str_eq(action, "RunInstances"))
		return launch(req, resp, now);
	if (str_eq(action, "DescribeInstances"))
		return machines(req, resp, now);
	if (!str_eq(action, "TerminateInstances"))
		return refuse(resp, "InvalidAction", "no");
	m = kit_find(&fleet, kit_str(req, "InstanceIds.0"), now);
	if (m == NULL)
		return refuse(resp, "InvalidInstanceId.NotFound", "no");
	if (m->ended == 0)
		m->ended = now;
	return kit_answer(resp, 200, "{\"Response\":{\"RequestId\":\"r-1\"}}");
}
