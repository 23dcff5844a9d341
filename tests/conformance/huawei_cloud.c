#include <stdlib.h>
#include <string.h>

#include "tests/conformance/clouds.h"
#include "tests/conformance/kit.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/time.h"

#define ECS "https://ecs.cn-nowhere.myhuaweicloud.com/"
#define BSS "https://bss-intl.myhuaweicloud.com/v2/bills/ratings/"
#define IAM "https://iam.myhuaweicloud.com/"
#define PROJECT "0a1b2c"

/* Machines that are made, and those whose job will fail. */
static struct kit_fleet fleet, failed;

void
huawei_cloud_reset(void)
{
	fleet.n = failed.n = 0;
}

static enum berth_code
refuse(struct http_resp *resp, int status, const char *code, const char *message)
{
	return kit_answer(resp, status, arena_printf(resp->arena, "{\"error\":{\"code\":\"%s\",\"message\":\"%s\"}}", code, message));
}

static const char *
as_json(struct arena *a, const struct kit_machine *m, int64_t now)
{
	char at[TIME_FMT_SIZE];

	return arena_printf(a, "{\"id\":\"%s\",\"name\":\"%s\",\"status\":\"%s\",\"OS-EXT-STS:task_state\":%s,\"created\":\"%s\",\"flavor\":{\"id\":"
	    "\"pi2.2xlarge.4\",\"name\":\"pi2.2xlarge.4\"},\"OS-EXT-AZ:availability_zone\":\"cn-nowherea\",\"metadata\":{\"charging_mode\":"
	    "\"%s\"},\"addresses\":{\"net\":[{\"version\":\"4\",\"addr\":\"10.0.0.2\",\"OS-EXT-IPS:type\":\"fixed\"},{\"version\":\"4\",\"addr\":"
	    "\"192.0.2.4\",\"OS-EXT-IPS:type\":\"floating\"}]},\"tags\":[\"team=x\",\"berth-installation=%s\",\"berth-token=%s\"]}", m->id,
	    m->name, now >= m->created + KIT_START_S ? "ACTIVE" : "BUILD", m->ended != 0 ? "\"deleting\"" : "null", time_fmt(at, m->created),
	    m->spot ? "2" : "0", m->installation, m->token);
}

/* Three pages: a GPU and a CPU; cards that are sold out and some that no price is known of; nothing. */
static enum berth_code
flavors(const struct http_req *req, struct http_resp *resp)
{
	const char *marker = strstr(req->url, "&marker=");

	if (marker == NULL)
		return kit_answer(resp, 200, "{\"flavors\":[{\"id\":\"pi2.2xlarge.4\",\"name\":\"pi2.2xlarge.4\",\"vcpus\":\"8\",\"ram\":32768,"
		    "\"os_extra_specs\":{\"ecs:performancetype\":\"gpu\",\"info:gpu:name\":\"1 * NVIDIA T4 / 1 * 16G\",\"cond:operation:status\":"
		    "\"abandon\",\"cond:operation:az\":\"cn-nowherea(normal)\"}},{\"id\":\"s6.small.1\",\"vcpus\":\"1\",\"ram\":1024,"
		    "\"os_extra_specs\":{\"ecs:performancetype\":\"normal\"}}]}");
	if (str_eq(marker, "&marker=s6.small.1"))
		return kit_answer(resp, 200, "{\"flavors\":[{\"id\":\"p2s.4xlarge.8\",\"vcpus\":\"16\",\"ram\":131072,\"os_extra_specs\":{"
		    "\"ecs:performancetype\":\"gpu\",\"pci_passthrough:alias\":\"nvidia-v100:2\",\"cond:operation:status\":\"sellout\"}},"
		    "{\"id\":\"ai1s.large.4\",\"vcpus\":\"2\",\"ram\":8192,\"os_extra_specs\":{\"ecs:performancetype\":\"ascend\","
		    "\"info:asic_accelerators\":\"[{\\\"name\\\":\\\"HUAWEI Ascend 310\\\",\\\"count\\\":1,\\\"memory_mb\\\":8192}]\"}}]}");
	return kit_answer(resp, 200, "{\"flavors\":[]}");
}

/* One unknown product refuses them all. */
static enum berth_code
prices(const struct http_req *req, struct http_resp *resp, bool hourly)
{
	const char *list = "", *num = kit_str(req, "product_infos.0.period_num"), *type = kit_str(req, "product_infos.0.period_type");

	if (!str_eq(kit_str(req, "project_id"), PROJECT))
		return kit_answer(resp, 400, "{\"error_code\":\"CBC.0100\",\"error_msg\":\"no\"}");
	for (int i = 0; i < 50; i++) {
		const char *at = arena_printf(req->arena, "product_infos.%d.", i);
		const char *spec = kit_str(req, arena_printf(req->arena, "%sresource_spec", at)), *id = kit_str(req, arena_printf(req->arena, "%sid", at));

		if (spec[0] == '\0')
			break;
		if (str_starts(spec, "ai1s") || !str_eq(kit_str(req, arena_printf(req->arena, "%scloud_service_type", at)), "hws.service.type.ec2") ||
		    !str_eq(kit_str(req, arena_printf(req->arena, "%sresource_type", at)), "hws.resource.type.vm") ||
		    !str_eq(kit_str(req, arena_printf(req->arena, "%sregion", at)), "cn-nowhere"))
			return kit_answer(resp, 400, "{\"error_code\":\"CBC.99006006\",\"error_msg\":\"Product not found.\"}");
		list = arena_printf(req->arena, "%s%s{\"id\":\"%s\",\"amount\":%s,\"discount_amount\":%s,\"official_website_amount\":%s,"
		    "\"measure_id\":1}", list, i > 0 ? "," : "", id, hourly ? "1.1" : "500", hourly ? "0.1" : "20", hourly ? "1.2" : "520");
	}
	if (hourly)
		return kit_answer(resp, 200, arena_printf(resp->arena, "{\"amount\":2.2,\"measure_id\":1,\"currency\":\"USD\","
		    "\"product_rating_results\":[%s]}", list));
	if (!(str_eq(type, "2") && str_eq(num, "1")) && !str_eq(type, "3"))
		return kit_answer(resp, 400, "{\"error_code\":\"CBC.0100\",\"error_msg\":\"no\"}");
	return kit_answer(resp, 200, arena_printf(resp->arena, "{\"currency\":\"USD\",\"official_website_rating_result\":{\"measure_id\":1,"
	    "\"product_rating_results\":[%s]},\"optional_discount_rating_results\":[{\"discount_id\":\"d\",\"best_offer\":1,"
	    "\"product_rating_results\":[%s]}]}", list, list));
}

static enum berth_code
launch(const struct http_req *req, struct http_resp *resp, int64_t now)
{
	const char *token = http_req_get_header(req, "X-Client-Token");
	struct kit_machine *m;

	if (token == NULL || !str_eq(kit_str(req, "server.flavorRef"), "pi2.2xlarge.4") || !str_eq(kit_str(req, "server.imageRef"), "img-1") ||
	    !str_eq(kit_str(req, "server.availability_zone"), "cn-nowherea") || !str_eq(kit_str(req, "server.vpcid"), "vpc-1") ||
	    !str_eq(kit_str(req, "server.nics.0.subnet_id"), "sub-1") || !str_eq(kit_str(req, "server.extendparam.chargingMode"), "postPaid") ||
	    !str_eq(kit_str(req, "server.server_tags.0.key"), "berth-installation") || !str_eq(kit_str(req, "server.count"), "1"))
		return refuse(resp, 400, "Ecs.0005", "no");
	for (size_t i = 0; i < fleet.n; i++)
		if (str_eq(fleet.v[i].key, token))
			return kit_answer(resp, 200, arena_printf(resp->arena, "{\"job_id\":\"job-%s\",\"serverIds\":[\"%s\"]}", fleet.v[i].id,
			    fleet.v[i].id));
	m = kit_full(&fleet, now) ? kit_add(&failed, "lost", now) : kit_add(&fleet, "vm", now);
	str_copy(m->key, sizeof(m->key), token);
	str_copy(m->name, sizeof(m->name), kit_str(req, "server.name"));
	str_copy(m->installation, sizeof(m->installation), kit_str(req, "server.server_tags.0.value"));
	str_copy(m->token, sizeof(m->token), kit_str(req, "server.server_tags.1.value"));
	m->spot = str_eq(kit_str(req, "server.extendparam.marketType"), "spot");
	return kit_answer(resp, 200, arena_printf(resp->arena, "{\"job_id\":\"job-%s\",\"serverIds\":[\"%s\"]}", m->id, m->id));
}

static enum berth_code
job(struct http_resp *resp, const char *id, int64_t now)
{
	const struct kit_machine *bad = kit_find(&failed, id, now);

	if (bad != NULL && now >= bad->created + KIT_START_S)
		return kit_answer(resp, 200, "{\"status\":\"FAIL\",\"job_id\":\"j\",\"error_code\":\"Ecs.0100\",\"fail_reason\":\"a part failed\","
		    "\"entities\":{\"sub_jobs_total\":1,\"sub_jobs\":[{\"status\":\"FAIL\",\"error_code\":\"Ecs.0319\",\"fail_reason\":"
		    "\"Check capacity: Capacity is not enough.\"}]}}");
	return kit_answer(resp, 200, bad != NULL ? "{\"status\":\"RUNNING\",\"job_id\":\"j\",\"error_code\":null,\"fail_reason\":null}" :
	    "{\"status\":\"SUCCESS\",\"job_id\":\"j\",\"error_code\":null,\"fail_reason\":null}");
}

/* One a page, by the beginning of its name. */
static enum berth_code
machines(const struct http_req *req, struct http_resp *resp, int64_t now)
{
	const char *name = strstr(req->url, "&name="), *offset = strstr(req->url, "&offset="), *one = "";
	long page = offset != NULL ? strtol(offset + strlen("&offset="), NULL, 10) : 1, n = 0;

	if (name == NULL)
		return refuse(resp, 400, "Ecs.0005", "no");
	name = arena_strndup(req->arena, name + strlen("&name="), strcspn(name + strlen("&name="), "&"));
	for (size_t i = 0; i < fleet.n; i++)
		if (!kit_gone(&fleet.v[i], now) && strstr(fleet.v[i].name, name) != NULL && ++n == page)
			one = as_json(resp->arena, &fleet.v[i], now);
	return kit_answer(resp, 200, arena_printf(resp->arena, "{\"count\":%ld,\"servers\":[%s]}", n, one));
}

static enum berth_code
ecs(const struct http_req *req, struct http_resp *resp, const char *path, int64_t now)
{
	struct kit_machine *m;

	if (str_eq(path, "v1.1/" PROJECT "/cloudservers"))
		return launch(req, resp, now);
	if (!str_starts(path, "v1/" PROJECT "/"))
		return refuse(resp, 404, "APIGW.0101", "no");
	path += strlen("v1/" PROJECT "/");
	if (str_eq(path, "availability-zones"))
		return kit_answer(resp, 200, "{\"availability_zones\":[{\"availability_zone_id\":\"cn-nowherea\",\"type\":\"Core\"},"
		    "{\"availability_zone_id\":\"cn-nowhereb\",\"type\":\"Core\"}]}");
	if (str_starts(path, "cloudservers/flavors?"))
		return flavors(req, resp);
	if (str_starts(path, "cloudservers/flavor-sell-policies?"))
		return kit_answer(resp, 200, "{\"count\":1,\"sell_policies\":[{\"id\":7,\"flavor_id\":\"pi2.2xlarge.4\",\"sell_status\":\"available\","
		    "\"availability_zone_id\":\"cn-nowherea\",\"sell_mode\":\"spot\"}]}");
	if (str_eq(path, "cloudservers/limits"))
		return kit_answer(resp, 200, "{\"absolute\":{\"maxTotalInstances\":100,\"totalInstancesUsed\":2,\"maxTotalCores\":-1,"
		    "\"totalCoresUsed\":16,\"maxTotalSpotInstances\":5,\"totalSpotInstancesUsed\":null}}");
	if (str_starts(path, "cloudservers/detail?"))
		return machines(req, resp, now);
	if (str_starts(path, "jobs/job-"))
		return job(resp, path + strlen("jobs/job-"), now);
	m = kit_find(&fleet, str_eq(path, "cloudservers/delete") ? kit_str(req, "servers.0.id") : path + strlen("cloudservers/"), now);
	if (m == NULL)
		return refuse(resp, 404, "Ecs.0614", "Instance could not be found.");
	if (!str_eq(path, "cloudservers/delete"))
		return kit_answer(resp, 200, arena_printf(resp->arena, "{\"server\":%s}", as_json(resp->arena, m, now)));
	if (m->ended == 0)
		m->ended = now;
	return kit_answer(resp, 200, "{\"job_id\":\"job-end\"}");
}

enum berth_code
huawei_cloud(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp, struct berth_err *err)
{
	const char *signature = http_req_get_header(req, "Authorization"), *project = http_req_get_header(req, "X-Project-Id");

	(void)arg, (void)err;
	memset(resp, 0, sizeof(*resp));
	resp->arena = req->arena;
	if (signature == NULL || !str_starts(signature, "SDK-HMAC-SHA256 Access=key-SECRET, "))
		return kit_answer(resp, 401, "{\"error_code\":\"APIGW.0301\",\"error_msg\":\"Incorrect IAM authentication information\"}");
	if (str_eq(req->url, IAM "v3/auth/projects"))
		return kit_answer(resp, 200, "{\"projects\":[{\"name\":\"MOS\",\"id\":\"ffff\",\"enabled\":true},{\"name\":\"cn-nowhere\",\"id\":\""
		    PROJECT "\",\"domain_id\":\"d0d0\",\"enabled\":true}]}");
	if (str_eq(req->url, BSS "on-demand-resources"))
		return prices(req, resp, true);
	if (str_eq(req->url, BSS "period-resources/subscribe-rate"))
		return prices(req, resp, false);
	if (!str_starts(req->url, ECS) || project == NULL || !str_eq(project, PROJECT))
		return refuse(resp, 404, "APIGW.0101", "no");
	return ecs(req, resp, req->url + strlen(ECS), acc->env.now);
}
