#include <stdio.h>
#include <string.h>

#include "providers/alibaba/alibaba.h"
#include "providers/lease.h"
#include "providers/nametag.h"
#include "providers/prov.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/str.h"

#define ALIBABA_NAME_MAX 128
#define ALIBABA_TOKEN_MAX 64
#define ALIBABA_PAGE "100"
#define ALIBABA_NOTICE_S 300
#define ALIBABA_CHECK_TYPE "ecs.g6.large" /* nothing is made of it */

static const struct lease_state alibaba_states[] = {
	{ "Pending", PROV_PENDING },
	{ "Starting", PROV_PENDING },
	{ "Running", PROV_READY },
	{ "Stopping", PROV_ENDING },
	{ "Stopped", PROV_FAILED },
	{ "Deleted", PROV_GONE },
	{ NULL, PROV_PENDING },
};

/* What a machine is asked with, but for whose it is. */
static void
alibaba_machine_args(const struct alibaba *o, const struct offer *f, const char *image,
    struct arena *a, struct alibaba_args *q)
{
	const struct prov_conf *conf = o->env->conf;
	const char *most = prov_conf_str(conf, "spot_max_price", NULL),
		   *vswitch = lease_at_place(o->env->conf, "vswitches", f->zone);
	int64_t mbps = prov_conf_int(conf, "bandwidth_mbps", 10);

	alibaba_arg(q, "RegionId", f->region);
	alibaba_arg(q, "ZoneId", f->zone);
	alibaba_arg(q, "InstanceType", f->instance_type);
	alibaba_arg(q, "ImageId", image);
	alibaba_arg(q, "SecurityGroupId", prov_conf_str(conf, "security_group", ""));
	if (vswitch != NULL)
		alibaba_arg(q, "VSwitchId", vswitch);
	alibaba_arg(q, "InstanceChargeType", "PostPaid");
	alibaba_arg(q, "SystemDisk.Category", prov_conf_str(conf, "disk_category", "cloud_essd"));
	alibaba_arg(q, "SystemDisk.Size",
	    arena_printf(a, "%lld", (long long)prov_conf_int(conf, "disk_gib", 100)));
	alibaba_arg(q, "Amount", "1");
	if (mbps > 0) {
		alibaba_arg(q, "InternetChargeType", "PayByTraffic");
		alibaba_arg(q, "InternetMaxBandwidthOut", arena_printf(a, "%lld", (long long)mbps));
	}
	if (f->purchase != PURCHASE_SPOT)
		return;
	alibaba_arg(q, "SpotStrategy", most != NULL ? "SpotWithPriceLimit" : "SpotAsPriceGo");
	if (most != NULL)
		alibaba_arg(q, "SpotPriceLimit", most);
	alibaba_arg(q, "SpotInterruptionBehavior", "Terminate");
}

static enum berth_code
alibaba_create_build(
    void *st, const struct prov_create *c, struct http_req *req, struct berth_err *err)
{
	const struct alibaba *o = st;
	const char *image =
		       c->image != NULL ? c->image : prov_conf_str(o->env->conf, "image", NULL),
		   *name = "";
	const char *key =
	    c->ssh_key != NULL ? c->ssh_key : prov_conf_str(o->env->conf, "ssh_key", NULL);
	struct alibaba_args q = { .n = 0 };
	enum berth_code rc;

	if (c->offer->purchase == PURCHASE_RESERVED) /* another machine, by the hour, would not be
							the one that was paid */
		return err_set(err, BERTH_EPERMANENT,
		    "a machine paid ahead is bought in the provider's console; berth rents by the "
		    "hour and as spot");
	if (image == NULL || !prov_conf_has(o->env->conf, "security_group"))
		return err_set(err, BERTH_EPERMANENT, "machines want '%s' in berth.yaml",
		    image == NULL ? "image" : "security_group");
	if (lease_at_place(o->env->conf, "vswitches", c->offer->zone) == NULL)
		return err_set(err, BERTH_EPERMANENT,
		    "'vswitches' of berth.yaml has none for zone %s: %s=vsw-...", c->offer->zone,
		    c->offer->zone);
	if (strlen(c->token) > ALIBABA_TOKEN_MAX)
		return err_set(
		    err, BERTH_EPERMANENT, "the token is longer than %d", ALIBABA_TOKEN_MAX);
	if ((rc = nametag_make(req->arena, o->env->installation, c->token, ALIBABA_NAME_MAX, &name,
		 err)) != BERTH_OK)
		return rc;
	alibaba_machine_args(o, c->offer, image, req->arena, &q);
	alibaba_arg(&q, "InstanceName", name);
	alibaba_arg(&q, "ClientToken", c->token);
	if (key != NULL)
		alibaba_arg(&q, "KeyPairName", key);
	alibaba_arg(&q, "Tag.1.Key", "berth-installation");
	alibaba_arg(&q, "Tag.1.Value", o->env->installation);
	alibaba_arg(&q, "Tag.2.Key", "berth-token");
	alibaba_arg(&q, "Tag.2.Value", c->token);
	if (c->user_data != NULL)
		alibaba_arg(&q, "UserData", wirejson_base64(req->arena, c->user_data));
	return alibaba_request(o, req, c->offer->region, "RunInstances", &q, err);
}

/* {"InstanceIdSets": {"InstanceIdSet": ["i-..."]}}. */
static enum berth_code
alibaba_create_parse(void *st, const struct http_resp *resp, const struct prov_create *c,
    struct prov_machine *machine_out, struct berth_err *err)
{
	struct jsonr root, outer, ids;
	json_t *v = NULL;
	const char *id;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	(void)st;
	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	outer = jsonr_get(&root, "InstanceIdSets");
	ids = jsonr_get(&outer, "InstanceIdSet");
	id = json_string_value(json_array_get(ids.v, 0));
	if (id == NULL || id[0] == '\0' || jsonr_len(&ids) != 1)
		rc =
		    jsonr_err(&root, BERTH_EINVAL, err, "InstanceIdSets does not hold one machine");
	lease_asked(c, machine_out);
	if (rc == BERTH_OK)
		rc = lease_ref(
		    &root, c->offer->region, id, machine_out->ref, sizeof(machine_out->ref), err);
	json_decref(v);
	return rc;
}

/* An elastic address, the machine's own public one, else the private one. */
static void
alibaba_address(const struct jsonr *item, struct prov_machine *m)
{
	struct jsonr eip = jsonr_get(item, "EipAddress"), pub = jsonr_get(item, "PublicIpAddress"),
		     vpc = jsonr_get(item, "VpcAttributes");
	struct jsonr own = jsonr_get(&vpc, "PrivateIpAddress"),
		     lists[2] = { jsonr_get(&pub, "IpAddress"), jsonr_get(&own, "IpAddress") };
	const char *ip = "";

	(void)!jsonr_str(&eip, "IpAddress", &ip, NULL);
	for (size_t i = 0; ip[0] == '\0' && i < 2; i++) {
		const char *first = json_string_value(json_array_get(lists[i].v, 0));

		ip = first != NULL ? first : "";
	}
	(void)str_copy(m->address, sizeof(m->address), ip);
}

/* A spot machine that is about to be taken back is locked for recycling: no more than five minutes
 * are left. */
static bool
alibaba_recycling(const struct jsonr *item)
{
	struct jsonr locks = jsonr_get(item, "OperationLocks"),
		     list = jsonr_get(&locks, "LockReason"), one;

	for (size_t i = 0; i < jsonr_len(&list); i++) {
		const char *why = "";

		one = jsonr_at(&list, i);
		(void)!jsonr_str(&one, "LockReason", &why, NULL);
		if (str_ieq(why, "recycling"))
			return true;
	}
	return false;
}

static enum berth_code
alibaba_machine(const struct alibaba *o, const struct jsonr *item, const char *region,
    struct prov_machine *m, struct berth_err *err)
{
	static const char *const needed[] = { "InstanceId", "Status", NULL };
	struct jsonr outer = jsonr_get(item, "Tags"), tags = jsonr_get(&outer, "Tag");
	const char *id = "", *state = "", *spot = "";
	enum berth_code rc;

	memset(m, 0, sizeof(*m));
	if ((rc = jsonr_need(item, needed, err)) != BERTH_OK ||
	    (rc = jsonr_str(item, "InstanceId", &id, err)) != BERTH_OK ||
	    (rc = jsonr_str(item, "Status", &state, err)) != BERTH_OK ||
	    (rc = jsonr_str(item, "SpotStrategy", &spot, err)) != BERTH_OK ||
	    (rc = wirejson_field(item, "InstanceType", m->instance_type, sizeof(m->instance_type),
		 err)) != BERTH_OK ||
	    (rc = wirejson_field(item, "ZoneId", m->zone, sizeof(m->zone), err)) != BERTH_OK ||
	    (rc = jsonr_time(item, "CreationTime", &m->created, err)) != BERTH_OK ||
	    (rc = lease_tags(&tags, "TagKey", "TagValue", m, err)) != BERTH_OK ||
	    (rc = lease_ref(item, region, id, m->ref, sizeof(m->ref), err)) != BERTH_OK)
		return rc;
	if (id[0] == '\0')
		return jsonr_err(item, BERTH_EINVAL, err, "InstanceId is empty");
	str_copy(m->region, sizeof(m->region), region);
	alibaba_address(item, m);
	m->purchase = str_starts(spot, "Spot") ? PURCHASE_SPOT : PURCHASE_ON_DEMAND;
	m->state = lease_state(alibaba_states, state);
	str_copy(m->detail, sizeof(m->detail), state);
	m->why = m->state == PROV_FAILED ? BERTH_EFAIL : BERTH_OK;
	if (m->purchase != PURCHASE_SPOT || !alibaba_recycling(item))
		return BERTH_OK;
	m->preempted = m->state == PROV_FAILED || m->state == PROV_ENDING;
	if (m->state == PROV_READY) {
		m->state = PROV_NOTICED;
		m->notice_at = o->env->now;
		m->reclaim_at = m->notice_at + ALIBABA_NOTICE_S;
	}
	str_copy(m->detail, sizeof(m->detail), m->preempted ? "preempted" : "to be taken back");
	return BERTH_OK;
}

static enum berth_code
alibaba_status_build(void *st, const char *ref, struct http_req *req, struct berth_err *err)
{
	struct alibaba_args q = { .n = 0 };
	const char *region = "", *id = "";
	enum berth_code rc = lease_ref_split(req->arena, ref, "Alibaba's", "i-", &region, &id, err);

	if (rc != BERTH_OK)
		return rc;
	alibaba_arg(&q, "RegionId", region);
	alibaba_arg(&q, "InstanceIds", arena_printf(req->arena, "[\"%s\"]", id));
	return alibaba_request(st, req, region, "DescribeInstances", &q, err);
}

/* The tree is the caller's, also where it refuses. */
static enum berth_code
alibaba_set(const struct http_resp *resp, json_t **v, struct jsonr *root, struct jsonr *outer,
    struct jsonr *set_out, struct berth_err *err)
{
	enum berth_code rc = wirejson_parse(resp, v, err);

	if (rc != BERTH_OK)
		return rc;
	*root = jsonr_root(*v, "answer");
	*outer = jsonr_get(root, "Instances");
	*set_out = jsonr_get(outer, "Instance");
	return json_is_array(set_out->v)
		   ? BERTH_OK
		   : jsonr_err(root, BERTH_ETRANSIENT, err, "no Instances in the answer");
}

/* A machine that is gone is no error here, but an empty list. */
static enum berth_code
alibaba_status_parse(void *st, const struct http_resp *resp, const char *ref,
    struct prov_machine *machine_out, struct berth_err *err)
{
	struct jsonr root, outer, set, item;
	json_t *v = NULL;
	enum berth_code rc = alibaba_set(resp, &v, &root, &outer, &set, err);

	if (rc == BERTH_OK && jsonr_len(&set) == 0)
		rc = err_set(err, BERTH_ENOTFOUND, "no such machine");
	if (rc == BERTH_OK) {
		item = jsonr_at(&set, 0);
		rc = alibaba_machine(st, &item, arena_strndup(resp->arena, ref, strcspn(ref, "/")),
		    machine_out, err);
	}
	if (rc == BERTH_OK && !str_eq(machine_out->ref, ref))
		rc = jsonr_err(
		    &root, BERTH_EINVAL, err, "the answer is about machine %s", machine_out->ref);
	json_decref(v);
	return rc;
}

static enum berth_code
alibaba_destroy_build(void *st, const char *ref, struct http_req *req, struct berth_err *err)
{
	struct alibaba_args q = { .n = 0 };
	const char *region = "", *id = "";
	enum berth_code rc = lease_ref_split(req->arena, ref, "Alibaba's", "i-", &region, &id, err);

	if (rc != BERTH_OK)
		return rc;
	alibaba_arg(&q, "RegionId", region);
	alibaba_arg(&q, "InstanceId.1", id);
	alibaba_arg(&q, "Force", "true");
	return alibaba_request(st, req, region, "DeleteInstances", &q, err);
}

static enum berth_code
alibaba_destroy_parse(void *st, const struct http_resp *resp, const char *ref,
    struct prov_machine *machine_out, struct berth_err *err)
{
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	(void)st;
	json_decref(v);
	if (rc != BERTH_OK)
		return rc;
	lease_ending(ref, machine_out);
	return BERTH_OK;
}

/* cur->next: "REGION|TOKEN". */
static enum berth_code
alibaba_list_build(
    void *st, const struct prov_cursor *cur, struct http_req *req, struct berth_err *err)
{
	struct alibaba *o = st;
	struct alibaba_args q = { .n = 0 };
	const char *token = "";

	o->list_region = lease_cursor(cur->next, &token);
	alibaba_arg(&q, "RegionId", o->regions[o->list_region]);
	alibaba_arg(&q, "Tag.1.Key", "berth-installation");
	alibaba_arg(&q, "Tag.1.Value", o->env->installation);
	alibaba_arg(&q, "MaxResults", ALIBABA_PAGE);
	if (token[0] != '\0')
		alibaba_arg(&q, "NextToken", token);
	return alibaba_request(o, req, o->regions[o->list_region], "DescribeInstances", &q, err);
}

static enum berth_code
alibaba_list_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_machine_fn *emit, void *arg, struct berth_err *err)
{
	const struct alibaba *o = st;
	struct jsonr root, outer, set, item;
	struct prov_machine m;
	const char *token = "";
	json_t *v = NULL;
	enum berth_code rc = alibaba_set(resp, &v, &root, &outer, &set, err);

	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&set); i++) {
		item = jsonr_at(&set, i);
		rc = alibaba_machine(o, &item, o->regions[o->list_region], &m, err);
		if (rc == BERTH_OK)
			rc = emit(arg, &m, err);
	}
	if (rc == BERTH_OK)
		rc = jsonr_str(&root, "NextToken", &token, err);
	if (rc == BERTH_OK && strlen(token) + 32 > sizeof(cur->next))
		rc = jsonr_err(&root, BERTH_EINVAL, err, "NextToken is too long");
	if (rc == BERTH_OK && token[0] != '\0')
		snprintf(cur->next, sizeof(cur->next), "%zu|%.2000s", o->list_region, token);
	else if (rc == BERTH_OK && o->list_region + 1 < o->n_regions)
		snprintf(cur->next, sizeof(cur->next), "%zu|", o->list_region + 1);
	json_decref(v);
	return rc;
}

/* May it launch? A dry run, which makes nothing; without image and network nothing can be asked
 * for. */
static enum berth_code
alibaba_check_build(void *st, int n, struct http_req *req, struct berth_err *err)
{
	const struct alibaba *o = st;
	const char *image = prov_conf_str(o->env->conf, "image", NULL), *const * v;
	size_t has = prov_conf_strings(o->env->conf, "vswitches", &v);
	struct alibaba_args q = { .n = 0 };
	struct offer f = { .instance_type = ALIBABA_CHECK_TYPE, .purchase = PURCHASE_ON_DEMAND };

	if (n > 0 || image == NULL || has == 0 || !prov_conf_has(o->env->conf, "security_group"))
		return BERTH_ENOTFOUND;
	f.region = o->regions[0];
	for (size_t i = 0; i < o->n_regions; i++)
		if (str_starts(v[0], o->regions[i]))
			f.region = o->regions[i];
	f.zone = arena_strndup(req->arena, v[0], strcspn(v[0], "="));
	alibaba_machine_args(o, &f, image, req->arena, &q);
	alibaba_arg(&q, "DryRun", "true");
	return alibaba_request(o, req, f.region, "RunInstances", &q, err);
}

/* What is refused of the type or the zone was allowed to be asked; what berth.yaml names must be
 * there. */
static enum berth_code
alibaba_check_parse(void *st, const struct http_resp *resp, int n, struct prov_check *check_out,
    struct berth_err *err)
{
	static const char *const ours[] = { "*Image*", "*VSwitch*", "*SecurityGroup*", "*KeyPair*",
		"InvalidAccountStatus.*" };

	(void)st, (void)n, (void)err;
	lease_check(&provider_alibaba, resp, "ecs:RunInstances", ours,
	    sizeof(ours) / sizeof(ours[0]), check_out);
	return BERTH_OK;
}

const struct prov_lease_ops alibaba_lease = {
	.create_build = alibaba_create_build,
	.create_parse = alibaba_create_parse,
	.status_build = alibaba_status_build,
	.status_parse = alibaba_status_parse,
	.destroy_build = alibaba_destroy_build,
	.destroy_parse = alibaba_destroy_parse,
	.list_build = alibaba_list_build,
	.list_parse = alibaba_list_parse,
	.check_build = alibaba_check_build,
	.check_parse = alibaba_check_parse,
};
