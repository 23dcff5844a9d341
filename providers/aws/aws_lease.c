#include <stdio.h>
#include <string.h>

#include "providers/aws/aws.h"
#include "providers/prov.h"
#include "util/arena.h"
#include "util/str.h"

#define AWS_TOKEN_SIZE_MAX 64 /* bytes of a ClientToken */

static const struct {
	const char *name;
	enum prov_state state;
} aws_states[] = {
	{ "pending", PROV_PENDING }, { "running", PROV_READY }, { "shutting-down", PROV_ENDING },
	{ "terminated", PROV_GONE }, { "stopping", PROV_ENDING },
	{ "stopped", PROV_FAILED }, /* its disk costs until it is destroyed */
};

enum berth_code
aws_ref_split(const char *ref, char region[64], const char **id_out, struct berth_err *err)
{
	const char *slash = strchr(ref, '/');

	if (slash == NULL || slash == ref || slash[1] == '\0' || (size_t)(slash - ref) >= 64)
		return err_set(err, BERTH_EINVAL, "'%.100s' is no REGION/INSTANCE", ref);
	memcpy(region, ref, (size_t)(slash - ref));
	region[slash - ref] = '\0';
	*id_out = slash + 1;
	return BERTH_OK;
}

/* "us-east-1a=subnet-1" for its zone, "subnet-1" for any; NULL: none fits. */
static const char *
aws_subnet(const struct aws *w, struct arena *a, const char *zone)
{
	const char *const *v, *any = NULL;
	size_t n = prov_conf_strings(w->env->conf, "subnets", &v);

	for (size_t i = 0; i < n; i++) {
		const char *eq = strchr(v[i], '=');

		if (eq == NULL)
			any = any != NULL ? any : v[i];
		else if (zone[0] == '\0' ||
			 str_eq(arena_strndup(a, v[i], (size_t)(eq - v[i])), zone))
			return eq + 1;
	}
	return any;
}

static const char *
aws_base64(struct arena *a, const char *s)
{
	static const char digits[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t n = strlen(s), k = 0;
	char *out = arena_alloc(a, 4 * ((n + 2) / 3) + 1);

	for (size_t i = 0; i < n; i += 3) {
		unsigned v = (unsigned)(unsigned char)s[i] << 16 |
			     (i + 1 < n ? (unsigned)(unsigned char)s[i + 1] << 8 : 0) |
			     (i + 2 < n ? (unsigned)(unsigned char)s[i + 2] : 0);

		out[k++] = digits[v >> 18];
		out[k++] = digits[v >> 12 & 63];
		out[k++] = i + 1 < n ? digits[v >> 6 & 63] : '=';
		out[k++] = i + 2 < n ? digits[v & 63] : '=';
	}
	return out;
}

static enum berth_code
aws_may_create(const struct aws *w, const struct prov_create *c, struct berth_err *err)
{
	if (c->image == NULL && !prov_conf_has(w->env->conf, "image") &&
	    !prov_conf_has(w->env->conf, "launch_template"))
		return err_set(err, BERTH_EPERMANENT,
		    "the account needs 'image' (an AMI) or 'launch_template' in berth.yaml");
	if (strlen(c->token) > AWS_TOKEN_SIZE_MAX)
		return err_set(
		    err, BERTH_EPERMANENT, "the token is longer than %d", AWS_TOKEN_SIZE_MAX);
	if (c->offer->region[0] == '\0')
		return err_set(err, BERTH_EPERMANENT, "the offer names no region");
	return BERTH_OK;
}

static void
aws_create_market(struct aws_form *f, const struct prov_create *c)
{
	if (c->offer->purchase != PURCHASE_SPOT)
		return;
	aws_form_add(f, "spot", "InstanceMarketOptions.MarketType");
	aws_form_add(
	    f, "terminate", "InstanceMarketOptions.SpotOptions.InstanceInterruptionBehavior");
	aws_form_add(f, "one-time", "InstanceMarketOptions.SpotOptions.SpotInstanceType");
}

static void
aws_create_disk(struct aws_form *f, const struct aws *w)
{
	int64_t gib = prov_conf_int(w->env->conf, "disk_gib", 0);

	if (gib <= 0)
		return;
	aws_form_add(f, prov_conf_str(w->env->conf, "root_device", "/dev/sda1"),
	    "BlockDeviceMapping.1.DeviceName");
	aws_form_add(f, "true", "BlockDeviceMapping.1.Ebs.DeleteOnTermination");
	aws_form_add(
	    f, arena_printf(f->a, "%lld", (long long)gib), "BlockDeviceMapping.1.Ebs.VolumeSize");
}

/* RunInstances for one machine; with a launch template what it says holds where nothing is said
 * here. */
static void
aws_run_form(struct aws_form *f, const struct aws *w, const struct prov_create *c)
{
	const struct prov_conf *conf = w->env->conf;
	const char *image = c->image != NULL ? c->image : prov_conf_str(conf, "image", NULL);
	const char *key = c->ssh_key != NULL ? c->ssh_key : prov_conf_str(conf, "ssh_key", NULL);
	const char *subnet = aws_subnet(w, f->a, c->offer->zone),
		   *profile = prov_conf_str(conf, "instance_profile", NULL);
	const char *template = prov_conf_str(conf, "launch_template", NULL), *const * groups;
	size_t n = prov_conf_strings(conf, "security_groups", &groups);

	aws_create_disk(f, w);
	aws_form_add(f, c->token, "ClientToken");
	if (profile != NULL)
		aws_form_add(f, profile, "IamInstanceProfile.Name");
	if (image != NULL)
		aws_form_add(f, image, "ImageId");
	aws_form_add(f, "terminate", "InstanceInitiatedShutdownBehavior");
	aws_create_market(f, c);
	aws_form_add(f, c->offer->instance_type, "InstanceType");
	if (key != NULL)
		aws_form_add(f, key, "KeyName");
	if (template != NULL) {
		aws_form_add(f, template, "LaunchTemplate.LaunchTemplateId");
		aws_form_add(f, "$Default", "LaunchTemplate.Version");
	}
	aws_form_add(f, "1", "MaxCount");
	aws_form_add(f, "1", "MinCount");
	if (subnet != NULL)
		aws_form_add(f, subnet, "SubnetId");
	else if (c->offer->zone[0] != '\0')
		aws_form_add(f, c->offer->zone, "Placement.AvailabilityZone");
	for (size_t i = 0; i < n; i++)
		aws_form_add(f, groups[i], "SecurityGroupId.%zu", i + 1);
	aws_form_tags(f, w, 1, "instance", c);
	aws_form_tags(f, w, 2, "volume", c);
	if (c->offer->purchase == PURCHASE_SPOT)
		aws_form_tags(f, w, 3, "spot-instances-request", c);
	if (c->user_data != NULL)
		aws_form_add(f, aws_base64(f->a, c->user_data), "UserData");
}

/* Several pools at once: one machine of whichever subnet has it. */
static bool
aws_by_fleet(const struct aws *w, const struct prov_create *c)
{
	const char *const *subnets;

	return prov_conf_has(w->env->conf, "launch_template") && c->offer->zone[0] == '\0' &&
	       c->user_data == NULL && c->image == NULL && c->ssh_key == NULL &&
	       prov_conf_strings(w->env->conf, "subnets", &subnets) > 1;
}

static void
aws_fleet_form(struct aws_form *f, const struct aws *w, const struct prov_create *c)
{
	const char *const *subnets;
	size_t n = prov_conf_strings(w->env->conf, "subnets", &subnets);
	bool spot = c->offer->purchase == PURCHASE_SPOT;

	aws_form_add(f, c->token, "ClientToken");
	aws_form_add(f, prov_conf_str(w->env->conf, "launch_template", ""),
	    "LaunchTemplateConfigs.1.LaunchTemplateSpecification.LaunchTemplateId");
	aws_form_add(f, "$Default", "LaunchTemplateConfigs.1.LaunchTemplateSpecification.Version");
	for (size_t i = 0; i < n; i++) {
		const char *eq = strchr(subnets[i], '=');

		aws_form_add(f, c->offer->instance_type,
		    "LaunchTemplateConfigs.1.Overrides.%zu.InstanceType", i + 1);
		aws_form_add(f, eq != NULL ? eq + 1 : subnets[i],
		    "LaunchTemplateConfigs.1.Overrides.%zu.SubnetId", i + 1);
	}
	if (spot)
		aws_form_add(f, "price-capacity-optimized", "SpotOptions.AllocationStrategy");
	else
		aws_form_add(f, "lowest-price", "OnDemandOptions.AllocationStrategy");
	aws_form_tags(f, w, 1, "instance", c);
	aws_form_add(f, spot ? "spot" : "on-demand",
	    "TargetCapacitySpecification.DefaultTargetCapacityType");
	aws_form_add(f, "1", "TargetCapacitySpecification.TotalTargetCapacity");
	aws_form_add(f, "instant", "Type");
}

static enum berth_code
aws_create_build(void *st, const struct prov_create *c, struct http_req *req, struct berth_err *err)
{
	struct aws *w = st;
	struct aws_form f;
	enum berth_code rc = aws_may_create(w, c, err);

	if (rc != BERTH_OK)
		return rc;
	if (aws_by_fleet(w, c)) {
		aws_form_begin(&f, req->arena, "CreateFleet", AWS_EC2_VERSION);
		aws_fleet_form(&f, w, c);
	} else {
		aws_form_begin(&f, req->arena, "RunInstances", AWS_EC2_VERSION);
		aws_run_form(&f, w, c);
	}
	return aws_form_post(&f, w, "ec2", c->offer->region, req, err);
}

static void
aws_read_tags(const struct xml *x, struct prov_machine *m)
{
	const struct xml *set = xml_get(x, "tagSet");

	for (const struct xml *t = set != NULL ? xml_first(set, "item") : NULL; t != NULL;
	     t = xml_next(t, "item")) {
		if (str_eq(xml_text(t, "key"), AWS_TAG_INSTALLATION))
			str_copy(m->installation, sizeof(m->installation), xml_text(t, "value"));
		else if (str_eq(xml_text(t, "key"), AWS_TAG_TOKEN))
			str_copy(m->token, sizeof(m->token), xml_text(t, "value"));
	}
}

/* Why it ended, from stateReason: the cloud's own words and what they mean. */
static void
aws_read_reason(const struct xml *x, struct prov_machine *m)
{
	const char *code = xml_text(x, "stateReason/code"),
		   *text = xml_text(x, "stateReason/message");

	if (code[0] == '\0')
		return;
	snprintf(m->detail, sizeof(m->detail), "%.180s", text[0] != '\0' ? text : code);
	m->preempted = str_eq(code, "Server.SpotInstanceTermination") ||
		       str_eq(code, "Server.SpotInstanceShutdown");
	if (m->preempted)
		str_copy(m->detail, sizeof(m->detail), "preempted");
	if (str_eq(code, "Server.InsufficientInstanceCapacity"))
		m->why = BERTH_ECAPACITY;
	else if (str_starts(code, "Client.VolumeLimitExceeded") ||
		 str_starts(code, "Client.InstanceLimitExceeded"))
		m->why = BERTH_EQUOTA;
	else if (str_starts(code, "Server.") && !m->preempted && m->state == PROV_FAILED)
		m->why = BERTH_EFAIL;
}

/* "User initiated (2026-11-30 10:00:00 GMT)" */
static int64_t
aws_read_end(const char *transition)
{
	const char *open = strrchr(transition, '(');
	char text[32];

	if (open == NULL || strlen(open) < strlen("(2026-11-30 10:00:00 GMT)"))
		return 0;
	snprintf(text, sizeof(text), "%.10sT%.8sZ", open + 1, open + 12);
	return aws_time(text);
}

static enum berth_code
aws_machine(const struct aws *w, const char *region, const struct xml *x, struct prov_machine *m,
    struct berth_err *err)
{
	bool private = str_eq(prov_conf_str(w->env->conf, "address", "public"), "private");
	char id[64];
	const char *name = xml_text(x, "instanceState/name"),
		   *address = private ? "" : xml_text(x, "ipAddress");
	enum berth_code rc;

	memset(m, 0, sizeof(*m));
	if ((rc = aws_field(x, "instanceId", true, id, sizeof(id), err)) != BERTH_OK ||
	    (rc = aws_field(x, "instanceType", false, m->instance_type, sizeof(m->instance_type),
		 err)) != BERTH_OK ||
	    (rc = aws_field(x, "placement/availabilityZone", false, m->zone, sizeof(m->zone),
		 err)) != BERTH_OK)
		return rc;
	if (name[0] == '\0')
		return err_set(err, BERTH_EINVAL, "instance %s has no state", id);
	snprintf(m->ref, sizeof(m->ref), "%.60s/%.64s", region, id);
	str_copy(m->region, sizeof(m->region), region);
	if (!str_copy(m->address, sizeof(m->address),
		address[0] != '\0' ? address : xml_text(x, "privateIpAddress")))
		return err_set(err, BERTH_EINVAL, "instance %s: the address is too long", id);
	m->purchase =
	    str_eq(xml_text(x, "instanceLifecycle"), "spot") ? PURCHASE_SPOT : PURCHASE_ON_DEMAND;
	m->created = aws_time(xml_text(x, "launchTime"));
	m->state = PROV_PENDING; /* a word of tomorrow's API: it is there, it costs, and it is not
				    known to be usable */
	for (size_t i = 0; i < sizeof(aws_states) / sizeof(aws_states[0]); i++)
		if (str_eq(name, aws_states[i].name))
			m->state = aws_states[i].state;
	str_copy(m->detail, sizeof(m->detail), name);
	aws_read_tags(x, m);
	aws_read_reason(x, m);
	if (m->state == PROV_FAILED && m->why == BERTH_OK)
		m->why = BERTH_EFAIL;
	if (m->state == PROV_GONE)
		m->ended = aws_read_end(xml_text(x, "reason"));
	return BERTH_OK;
}

/* A fleet answers 200 whatever became of it: machines, errors, or both. */
static enum berth_code
aws_fleet_parse(const struct http_resp *resp, const struct prov_create *c, struct prov_machine *m,
    struct berth_err *err)
{
	const struct xml *root = NULL, *x, *e;
	const char *id, *code, *text;
	enum berth_code rc = aws_xml(resp, "CreateFleet", &root, err), mean;

	if (rc != BERTH_OK)
		return rc;
	x = xml_get(root, "fleetInstanceSet/item");
	id = xml_text(x, "instanceIds/item");
	if (x == NULL || id[0] == '\0') {
		e = xml_get(root, "errorSet/item");
		code = xml_text(e, "errorCode");
		text = xml_text(e, "errorMessage");
		mean = code[0] != '\0' ? aws_code_of(code, text) : BERTH_ECAPACITY;
		return err_set(err, mean, "%s%s%.200s",
		    code[0] != '\0' ? code : "the fleet has no machine",
		    text[0] != '\0' ? ": " : "", text);
	}
	snprintf(m->ref, sizeof(m->ref), "%.60s/%.64s", c->offer->region, id);
	m->state = PROV_PENDING;
	m->purchase = str_eq(xml_text(x, "lifecycle"), "spot") ? PURCHASE_SPOT : PURCHASE_ON_DEMAND;
	m->other_market = c->offer->purchase == PURCHASE_SPOT && m->purchase != PURCHASE_SPOT;
	str_copy(m->region, sizeof(m->region), c->offer->region);
	str_copy(m->zone, sizeof(m->zone),
	    xml_text(x, "launchTemplateAndOverrides/overrides/availabilityZone"));
	str_copy(m->instance_type, sizeof(m->instance_type), xml_text(x, "instanceType"));
	return BERTH_OK;
}

static enum berth_code
aws_create_parse(void *st, const struct http_resp *resp, const struct prov_create *c,
    struct prov_machine *machine_out, struct berth_err *err)
{
	const struct aws *w = st;
	const struct xml *root = NULL, *x;
	enum berth_code rc;

	if (aws_by_fleet(w, c))
		return aws_fleet_parse(resp, c, machine_out, err);
	if ((rc = aws_xml(resp, "RunInstances", &root, err)) != BERTH_OK)
		return rc;
	x = xml_get(root, "instancesSet/item");
	if (x == NULL || xml_next(x, "item") != NULL)
		return err_set(
		    err, BERTH_EINVAL, "the answer to a create does not hold one instance");
	rc = aws_machine(w, c->offer->region, x, machine_out, err);
	machine_out->other_market = rc == BERTH_OK && c->offer->purchase == PURCHASE_SPOT &&
				    machine_out->purchase != PURCHASE_SPOT;
	return rc;
}

static enum berth_code
aws_status_build(void *st, const char *ref, struct http_req *req, struct berth_err *err)
{
	struct aws_form f;
	char region[64];
	const char *id = "";
	enum berth_code rc = aws_ref_split(ref, region, &id, err);

	if (rc != BERTH_OK)
		return rc;
	aws_form_begin(&f, req->arena, "DescribeInstances", AWS_EC2_VERSION);
	aws_form_add(&f, id, "InstanceId.1");
	return aws_form_post(&f, st, "ec2", region, req, err);
}

static enum berth_code
aws_status_parse(void *st, const struct http_resp *resp, const char *ref,
    struct prov_machine *machine_out, struct berth_err *err)
{
	const struct xml *root = NULL, *x;
	char region[64];
	const char *id = "";
	enum berth_code rc;

	if ((rc = aws_ref_split(ref, region, &id, err)) != BERTH_OK ||
	    (rc = aws_xml(resp, "DescribeInstances", &root, err)) != BERTH_OK)
		return rc;
	if ((x = xml_get(root, "reservationSet")) == NULL)
		return err_set(err, BERTH_EINVAL, "no reservationSet in the answer");
	x = xml_get(x, "item/instancesSet/item");
	if (x == NULL)
		return err_set(err, BERTH_ENOTFOUND, "no instance %s", id);
	if (!str_eq(xml_text(x, "instanceId"), id))
		return err_set(err, BERTH_EINVAL, "the answer is about instance '%.40s'",
		    xml_text(x, "instanceId"));
	return aws_machine(st, region, x, machine_out, err);
}

static enum berth_code
aws_destroy_build(void *st, const char *ref, struct http_req *req, struct berth_err *err)
{
	struct aws_form f;
	char region[64];
	const char *id = "";
	enum berth_code rc = aws_ref_split(ref, region, &id, err);

	if (rc != BERTH_OK)
		return rc;
	aws_form_begin(&f, req->arena, "TerminateInstances", AWS_EC2_VERSION);
	aws_form_add(&f, id, "InstanceId.1");
	return aws_form_post(&f, st, "ec2", region, req, err);
}

static enum berth_code
aws_destroy_parse(void *st, const struct http_resp *resp, const char *ref,
    struct prov_machine *machine_out, struct berth_err *err)
{
	const struct xml *root = NULL, *set;
	char region[64];
	const char *id = "";
	enum berth_code rc;

	(void)st;
	if ((rc = aws_ref_split(ref, region, &id, err)) != BERTH_OK ||
	    (rc = aws_xml(resp, "TerminateInstances", &root, err)) != BERTH_OK)
		return rc;
	set = xml_get(root, "instancesSet");
	for (const struct xml *x = set != NULL ? xml_first(set, "item") : NULL; x != NULL;
	     x = xml_next(x, "item")) {
		if (!str_eq(xml_text(x, "instanceId"), id))
			continue;
		memset(machine_out, 0, sizeof(*machine_out));
		str_copy(machine_out->ref, sizeof(machine_out->ref), ref);
		str_copy(machine_out->region, sizeof(machine_out->region), region);
		str_copy(machine_out->detail, sizeof(machine_out->detail),
		    xml_text(x, "currentState/name"));
		machine_out->state =
		    str_eq(machine_out->detail, "terminated") ? PROV_GONE : PROV_ENDING;
		return BERTH_OK;
	}
	return err_set(err, BERTH_EINVAL, "the answer does not name the machine");
}

static enum berth_code
aws_list_build(void *st, const struct prov_cursor *cur, struct http_req *req, struct berth_err *err)
{
	struct aws *w = st;
	struct aws_place p = aws_place_read(w, cur);
	struct aws_form f;

	if (aws_regions_pending(w))
		return aws_regions_build(w, req, err);
	aws_form_begin(&f, req->arena, "DescribeInstances", AWS_EC2_VERSION);
	aws_form_add(&f, "tag:" AWS_TAG_INSTALLATION, "Filter.1.Name");
	aws_form_add(&f, w->env->installation, "Filter.1.Value.1");
	aws_form_add(&f, "1000", "MaxResults");
	if (p.token[0] != '\0')
		aws_form_add(&f, p.token, "NextToken");
	return aws_form_post(&f, w, "ec2", w->regions[p.region], req, err);
}

static enum berth_code
aws_list_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_machine_fn *emit, void *arg, struct berth_err *err)
{
	struct aws *w = st;
	struct aws_place p = w->place;
	const struct xml *root = NULL, *set, *list;
	struct prov_machine m;
	char next[1900] = "";
	enum berth_code rc;

	if (aws_regions_pending(w))
		return aws_regions_parse(w, resp, cur, err);
	if ((rc = aws_xml(resp, "DescribeInstances", &root, err)) != BERTH_OK)
		return rc;
	if ((set = xml_get(root, "reservationSet")) == NULL) /* no list is not an empty list */
		return err_set(err, BERTH_EINVAL, "no reservationSet in the answer");
	for (const struct xml *r = xml_first(set, "item"); r != NULL; r = xml_next(r, "item")) {
		list = xml_get(r, "instancesSet");
		for (const struct xml *x = list != NULL ? xml_first(list, "item") : NULL; x != NULL;
		     x = xml_next(x, "item"))
			if ((rc = aws_machine(w, w->regions[p.region], x, &m, err)) != BERTH_OK ||
			    (rc = emit(arg, &m, err)) != BERTH_OK)
				return rc;
	}
	if ((rc = aws_field(root, "nextToken", false, next, sizeof(next), err)) != BERTH_OK)
		return rc;
	return aws_place_on(w, cur, &p, next, err);
}

const struct prov_lease_ops aws_lease = {
	.create_build = aws_create_build,
	.create_parse = aws_create_parse,
	.status_build = aws_status_build,
	.status_parse = aws_status_parse,
	.destroy_build = aws_destroy_build,
	.destroy_parse = aws_destroy_parse,
	.list_build = aws_list_build,
	.list_parse = aws_list_parse,
	.check_build = aws_check_build,
	.check_parse = aws_check_parse,
};
