#include <stdio.h>
#include <string.h>

#include "providers/lease.h"
#include "providers/nametag.h"
#include "providers/prov.h"
#include "providers/tencent/tencent.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/glob.h"
#include "util/str.h"

#define TENCENT_NAME_MAX 128
#define TENCENT_TOKEN_MAX 64
#define TENCENT_PAGE 100
#define TENCENT_CHECK_TYPE "S5.MEDIUM2" /* sold in every region; nothing is made of it */

static const struct lease_state tencent_states[] = {
	{ "PENDING", PROV_PENDING },
	{ "STARTING", PROV_PENDING },
	{ "REBOOTING", PROV_PENDING },
	{ "RUNNING", PROV_READY },
	{ "LAUNCH_FAILED", PROV_FAILED },
	{ "STOPPING", PROV_ENDING },
	{ "STOPPED", PROV_FAILED },
	{ "SHUTDOWN", PROV_ENDING },
	{ "TERMINATING", PROV_ENDING },
	{ NULL, PROV_PENDING },
};

static void
tencent_strings(struct jsonw *w, const char *key, const char *const *v, size_t n)
{
	if (n == 0)
		return;
	jsonw_begin_array(w, key);
	for (size_t i = 0; i < n; i++)
		jsonw_str(w, NULL, v[i]);
	jsonw_end_array(w);
}

static void
tencent_network(const struct tencent *t, const char *zone, struct jsonw *w)
{
	const char *vpc = prov_conf_str(t->env->conf, "vpc", "DEFAULT"),
		   *subnet = lease_at_place(t->env->conf, "subnets", zone);
	int64_t mbps = prov_conf_int(t->env->conf, "bandwidth_mbps", 10);

	jsonw_begin_object(w, "VirtualPrivateCloud");
	jsonw_str(w, "VpcId", vpc);
	jsonw_str(w, "SubnetId", subnet != NULL ? subnet : "DEFAULT");
	jsonw_end_object(w);
	if (mbps <= 0)
		return;
	jsonw_begin_object(w, "InternetAccessible");
	jsonw_str(w, "InternetChargeType", "TRAFFIC_POSTPAID_BY_HOUR");
	jsonw_int(w, "InternetMaxBandwidthOut", mbps);
	jsonw_bool(w, "PublicIpAssigned", true);
	jsonw_end_object(w);
}

/* Without a price of its own a spot machine is asked for at what it costs now. */
static void
tencent_spot(const struct tencent *t, struct jsonw *w)
{
	const char *most = prov_conf_str(t->env->conf, "spot_max_price", NULL);

	if (most == NULL)
		return;
	jsonw_begin_object(w, "InstanceMarketOptions");
	jsonw_str(w, "MarketType", "spot");
	jsonw_begin_object(w, "SpotOptions");
	jsonw_str(w, "MaxPrice", most);
	jsonw_str(w, "SpotInstanceType", "one-time");
	jsonw_end_object(w);
	jsonw_end_object(w);
}

static void
tencent_tag(struct jsonw *w, const char *key, const char *value)
{
	jsonw_begin_object(w, NULL);
	jsonw_str(w, "Key", key);
	jsonw_str(w, "Value", value);
	jsonw_end_object(w);
}

/* What a machine is asked with, but for whose it is. */
static void
tencent_machine_body(const struct tencent *t, const char *zone, const char *type, const char *image,
    bool spot, struct jsonw *w)
{
	const char *const *groups;
	size_t n = prov_conf_strings(t->env->conf, "security_groups", &groups);

	jsonw_str(w, "InstanceChargeType", spot ? "SPOTPAID" : "POSTPAID_BY_HOUR");
	jsonw_begin_object(w, "Placement");
	jsonw_str(w, "Zone", zone);
	jsonw_end_object(w);
	jsonw_str(w, "InstanceType", type);
	jsonw_str(w, "ImageId", image);
	jsonw_begin_object(w, "SystemDisk");
	jsonw_str(w, "DiskType", prov_conf_str(t->env->conf, "disk_type", "CLOUD_PREMIUM"));
	jsonw_int(w, "DiskSize", prov_conf_int(t->env->conf, "disk_gib", 100));
	jsonw_end_object(w);
	tencent_network(t, zone, w);
	jsonw_int(w, "InstanceCount", 1);
	tencent_strings(w, "SecurityGroupIds", groups, n);
	if (spot)
		tencent_spot(t, w);
}

static void
tencent_create_body(const struct tencent *t, const struct prov_create *c, const char *name,
    const char *image, struct jsonw *w)
{
	const char *const *keys;
	size_t n = prov_conf_strings(t->env->conf, "ssh_keys", &keys);

	tencent_machine_body(t, c->offer->zone, c->offer->instance_type, image,
	    c->offer->purchase == PURCHASE_SPOT, w);
	jsonw_str(w, "InstanceName", name);
	if (c->ssh_key != NULL || n > 0) {
		jsonw_begin_object(w, "LoginSettings");
		tencent_strings(w, "KeyIds", c->ssh_key != NULL ? &c->ssh_key : keys,
		    c->ssh_key != NULL ? 1 : n);
		jsonw_end_object(w);
	}
	jsonw_str(w, "ClientToken", c->token);
	jsonw_begin_array(w, "TagSpecification");
	jsonw_begin_object(w, NULL);
	jsonw_str(w, "ResourceType", "instance");
	jsonw_begin_array(w, "Tags");
	tencent_tag(w, "berth-installation", t->env->installation);
	tencent_tag(w, "berth-token", c->token);
	jsonw_end_array(w);
	jsonw_end_object(w);
	jsonw_end_array(w);
	if (c->user_data != NULL)
		jsonw_str(w, "UserData", wirejson_base64(t->env->arena, c->user_data));
}

static enum berth_code
tencent_create_build(
    void *st, const struct prov_create *c, struct http_req *req, struct berth_err *err)
{
	const struct tencent *t = st;
	const char *image =
		       c->image != NULL ? c->image : prov_conf_str(t->env->conf, "image", NULL),
		   *name = "";
	struct jsonw w;
	struct buf b;
	struct tencent_call call = {
		.req = req, .action = "RunInstances", .region = c->offer->region, .b = &b, .w = &w
	};
	enum berth_code rc;

	if (c->offer->purchase == PURCHASE_RESERVED) /* another machine, by the hour, would not be
							the one that was paid */
		return err_set(err, BERTH_EPERMANENT,
		    "a machine paid ahead is bought in the provider's console; berth rents by the "
		    "hour and as spot");
	if (image == NULL)
		return err_set(err, BERTH_EPERMANENT, "machines want 'image' in berth.yaml");
	if (prov_conf_has(t->env->conf, "vpc") &&
	    lease_at_place(t->env->conf, "subnets", c->offer->zone) == NULL)
		return err_set(err, BERTH_EPERMANENT,
		    "'subnets' of berth.yaml has none for zone %s: %s=subnet-...", c->offer->zone,
		    c->offer->zone);
	if (strlen(c->token) > TENCENT_TOKEN_MAX)
		return err_set(
		    err, BERTH_EPERMANENT, "the token is longer than %d", TENCENT_TOKEN_MAX);
	if ((rc = nametag_make(req->arena, t->env->installation, c->token, TENCENT_NAME_MAX, &name,
		 err)) != BERTH_OK)
		return rc;
	tencent_begin(&call);
	tencent_create_body(t, c, name, image, &w);
	return tencent_end(t, &call, err);
}

/* {"InstanceIdSet": ["ins-..."]}: accepted; whether it comes up is told by its state. */
static enum berth_code
tencent_create_parse(void *st, const struct http_resp *resp, const struct prov_create *c,
    struct prov_machine *machine_out, struct berth_err *err)
{
	struct jsonr root, response, ids;
	json_t *v = NULL;
	const char *id;
	enum berth_code rc = tencent_answer(resp, &v, &root, &response, err);

	(void)st;
	if (rc != BERTH_OK)
		return rc;
	ids = jsonr_get(&response, "InstanceIdSet");
	id = json_string_value(json_array_get(ids.v, 0));
	if (id == NULL || id[0] == '\0' || jsonr_len(&ids) != 1)
		rc = jsonr_err(
		    &response, BERTH_EINVAL, err, "InstanceIdSet does not hold one machine");
	lease_asked(c, machine_out);
	if (rc == BERTH_OK)
		rc = lease_ref(&response, c->offer->region, id, machine_out->ref,
		    sizeof(machine_out->ref), err);
	json_decref(v);
	return rc;
}

static void
tencent_address(const struct jsonr *item, struct prov_machine *m)
{
	static const char *const keys[] = { "PublicIpAddresses", "PrivateIpAddresses" };

	for (size_t i = 0; m->address[0] == '\0' && i < sizeof(keys) / sizeof(keys[0]); i++) {
		struct jsonr list = jsonr_get(item, keys[i]);
		const char *ip = json_string_value(json_array_get(list.v, 0));

		if (ip != NULL)
			(void)str_copy(m->address, sizeof(m->address), ip);
	}
}

/* Why one did not come up is told in words of the last operation alone. */
static enum berth_code
tencent_why(const char *text)
{
	if (glob_match("*insufficient*", text) || glob_match("*sold*out*", text))
		return BERTH_ECAPACITY;
	return glob_match("*quota*", text) || glob_match("*LimitExceeded*", text) ? BERTH_EQUOTA
										  : BERTH_EFAIL;
}

static enum berth_code
tencent_machine(
    const struct jsonr *item, const char *region, struct prov_machine *m, struct berth_err *err)
{
	static const char *const needed[] = { "InstanceId", "InstanceState", NULL };
	struct jsonr place = jsonr_get(item, "Placement"), tags = jsonr_get(item, "Tags");
	const char *id = "", *state = "", *charge = "", *text = "";
	enum berth_code rc;

	memset(m, 0, sizeof(*m));
	if ((rc = jsonr_need(item, needed, err)) != BERTH_OK ||
	    (rc = jsonr_str(item, "InstanceId", &id, err)) != BERTH_OK ||
	    (rc = jsonr_str(item, "InstanceState", &state, err)) != BERTH_OK ||
	    (rc = jsonr_str(item, "InstanceChargeType", &charge, err)) != BERTH_OK ||
	    (rc = jsonr_str(item, "LatestOperationErrorMsg", &text, err)) != BERTH_OK ||
	    (rc = wirejson_field(item, "InstanceType", m->instance_type, sizeof(m->instance_type),
		 err)) != BERTH_OK ||
	    (rc = wirejson_field(&place, "Zone", m->zone, sizeof(m->zone), err)) != BERTH_OK ||
	    (rc = jsonr_time(item, "CreatedTime", &m->created, err)) != BERTH_OK ||
	    (rc = lease_tags(&tags, "Key", "Value", m, err)) != BERTH_OK ||
	    (rc = lease_ref(item, region, id, m->ref, sizeof(m->ref), err)) != BERTH_OK)
		return rc;
	if (id[0] == '\0')
		return jsonr_err(item, BERTH_EINVAL, err, "InstanceId is empty");
	str_copy(m->region, sizeof(m->region), region);
	tencent_address(item, m);
	m->purchase = str_eq(charge, "SPOTPAID") ? PURCHASE_SPOT : PURCHASE_ON_DEMAND;
	m->state = lease_state(tencent_states, state);
	str_copy(m->detail, sizeof(m->detail), text[0] != '\0' ? text : state);
	m->why = m->state == PROV_FAILED ? tencent_why(text) : BERTH_OK;
	return BERTH_OK;
}

/* "REGION/ins-..." of a region that is looked at or not. */
static enum berth_code
tencent_ref_build(const struct tencent *t, const char *action, const char *ref,
    struct http_req *req, struct berth_err *err)
{
	struct jsonw w;
	struct buf b;
	struct tencent_call c = { .req = req, .action = action, .b = &b, .w = &w };
	const char *id = "";
	enum berth_code rc =
	    lease_ref_split(req->arena, ref, "Tencent's", "ins-", &c.region, &id, err);

	if (rc != BERTH_OK)
		return rc;
	tencent_begin(&c);
	tencent_strings(&w, "InstanceIds", &id, 1);
	return tencent_end(t, &c, err);
}

static enum berth_code
tencent_status_build(void *st, const char *ref, struct http_req *req, struct berth_err *err)
{
	return tencent_ref_build(st, "DescribeInstances", ref, req, err);
}

static enum berth_code
tencent_set(const struct http_resp *resp, json_t **v, struct jsonr *root, struct jsonr *response,
    struct jsonr *set_out, struct berth_err *err)
{
	enum berth_code rc = tencent_answer(resp, v, root, response, err);

	if (rc == BERTH_OK)
		rc = jsonr_array(response, "InstanceSet", set_out, err);
	if (rc == BERTH_OK && set_out->v == NULL)
		rc = jsonr_err(response, BERTH_ETRANSIENT, err, "no InstanceSet in the answer");
	return rc;
}

/* A machine that is gone is no error here, but an empty list. */
static enum berth_code
tencent_status_parse(void *st, const struct http_resp *resp, const char *ref,
    struct prov_machine *machine_out, struct berth_err *err)
{
	struct jsonr root, response, set, item;
	json_t *v = NULL;
	enum berth_code rc = tencent_set(resp, &v, &root, &response, &set, err);

	(void)st;
	if (rc == BERTH_OK && jsonr_len(&set) == 0)
		rc = err_set(err, BERTH_ENOTFOUND, "no such machine");
	if (rc == BERTH_OK) {
		item = jsonr_at(&set, 0);
		rc = tencent_machine(
		    &item, arena_strndup(resp->arena, ref, strcspn(ref, "/")), machine_out, err);
	}
	if (rc == BERTH_OK && !str_eq(machine_out->ref, ref))
		rc = jsonr_err(&response, BERTH_EINVAL, err, "the answer is about machine %s",
		    machine_out->ref);
	json_decref(v);
	return rc;
}

static enum berth_code
tencent_destroy_build(void *st, const char *ref, struct http_req *req, struct berth_err *err)
{
	return tencent_ref_build(st, "TerminateInstances", ref, req, err);
}

static enum berth_code
tencent_destroy_parse(void *st, const struct http_resp *resp, const char *ref,
    struct prov_machine *machine_out, struct berth_err *err)
{
	struct jsonr root, response;
	json_t *v = NULL;
	enum berth_code rc = tencent_answer(resp, &v, &root, &response, err);

	(void)st;
	json_decref(v);
	if (rc != BERTH_OK)
		return rc;
	lease_ending(ref, machine_out);
	return BERTH_OK;
}

/* cur->next: "REGION|OFFSET". */
static enum berth_code
tencent_list_build(
    void *st, const struct prov_cursor *cur, struct http_req *req, struct berth_err *err)
{
	struct tencent *t = st;
	const char *offset = "";
	int64_t from = 0;
	struct jsonw w;
	struct buf b;
	struct tencent_call c = { .req = req, .action = "DescribeInstances", .b = &b, .w = &w };

	t->list_region = lease_cursor(cur->next, &offset);
	if (offset[0] != '\0' && str_to_i64(offset, 0, INT64_MAX, &from, err) != BERTH_OK)
		return err->code;
	c.region = t->regions[t->list_region];
	t->list_offset = from;
	tencent_begin(&c);
	jsonw_begin_array(&w, "Filters");
	tencent_filter(
	    &w, "tag:berth-installation", (const char *const[]){ t->env->installation, NULL });
	jsonw_end_array(&w);
	jsonw_int(&w, "Offset", from);
	jsonw_int(&w, "Limit", TENCENT_PAGE);
	return tencent_end(t, &c, err);
}

static enum berth_code
tencent_list_next(const struct tencent *t, const struct jsonr *response, size_t n,
    struct prov_cursor *cur, struct berth_err *err)
{
	int64_t total = -1, seen = t->list_offset + (int64_t)n;
	enum berth_code rc = jsonr_int(response, "TotalCount", 0, INT64_MAX, &total, err);

	if (rc != BERTH_OK)
		return rc;
	if (total < 0 || (n == 0 && seen < total))
		return jsonr_err(
		    response, BERTH_ETRANSIENT, err, "the list of machines is not whole");
	if (seen < total)
		snprintf(cur->next, sizeof(cur->next), "%zu|%lld", t->list_region, (long long)seen);
	else if (t->list_region + 1 < t->n_regions)
		snprintf(cur->next, sizeof(cur->next), "%zu|0", t->list_region + 1);
	return BERTH_OK;
}

static enum berth_code
tencent_list_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_machine_fn *emit, void *arg, struct berth_err *err)
{
	const struct tencent *t = st;
	struct jsonr root, response, set, item;
	struct prov_machine m;
	json_t *v = NULL;
	enum berth_code rc = tencent_set(resp, &v, &root, &response, &set, err);

	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&set); i++) {
		item = jsonr_at(&set, i);
		rc = tencent_machine(&item, t->regions[t->list_region], &m, err);
		if (rc == BERTH_OK)
			rc = emit(arg, &m, err);
	}
	if (rc == BERTH_OK)
		rc = tencent_list_next(t, &response, jsonr_len(&set), cur, err);
	json_decref(v);
	return rc;
}

/* May it launch? A dry run, which makes nothing; without an image nothing can be asked for. */
static enum berth_code
tencent_check_build(void *st, int n, struct http_req *req, struct berth_err *err)
{
	const struct tencent *t = st;
	const char *image = prov_conf_str(t->env->conf, "image", NULL), *const * subnets, *zone;
	size_t has = prov_conf_strings(t->env->conf, "subnets", &subnets);
	struct jsonw w;
	struct buf b;
	struct tencent_call c = {
		.req = req, .action = "RunInstances", .region = t->regions[0], .b = &b, .w = &w
	};

	if (n > 0 || image == NULL || t->n_regions == 0)
		return BERTH_ENOTFOUND;
	zone = has > 0 && str_starts(subnets[0], t->regions[0])
		   ? arena_strndup(req->arena, subnets[0], strcspn(subnets[0], "="))
		   : arena_printf(req->arena, "%s-1", t->regions[0]);
	tencent_begin(&c);
	tencent_machine_body(t, zone, TENCENT_CHECK_TYPE, image, false, &w);
	jsonw_bool(&w, "DryRun", true);
	return tencent_end(t, &c, err);
}

/* What is refused of the type or the zone was allowed to be asked; what berth.yaml names must be
 * there. */
static enum berth_code
tencent_check_parse(void *st, const struct http_resp *resp, int n, struct prov_check *check_out,
    struct berth_err *err)
{
	static const char *const ours[] = { "*Image*", "*Vpc*", "*Subnet*", "*SecurityGroup*",
		"*KeyPair*", "InvalidAccount.*" };

	(void)st, (void)n, (void)err;
	lease_check(&provider_tencent, resp, "cvm:RunInstances", ours,
	    sizeof(ours) / sizeof(ours[0]), check_out);
	return BERTH_OK;
}

const struct prov_lease_ops tencent_lease = {
	.create_build = tencent_create_build,
	.create_parse = tencent_create_parse,
	.status_build = tencent_status_build,
	.status_parse = tencent_status_parse,
	.destroy_build = tencent_destroy_build,
	.destroy_parse = tencent_destroy_parse,
	.list_build = tencent_list_build,
	.list_parse = tencent_list_parse,
	.check_build = tencent_check_build,
	.check_parse = tencent_check_parse,
};
