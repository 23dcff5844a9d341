#include <stdlib.h>
#include <string.h>

#include "providers/aws/aws.h"
#include "providers/endpoint.h"
#include "providers/prov.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/yaml.h"

static const struct prov_key aws_keys[] = {
	{ "regions", PROV_KEY_STRINGS, false,
	    "regions to use, or all (those that the account has opted into); that of the profile "
	    "or AWS_REGION" },
	{ "profile", PROV_KEY_STRING, false,
	    "of ~/.aws/config and ~/.aws/credentials; AWS_PROFILE, else default" },
	{ "access_key_id", PROV_KEY_SECRET, false, "key of its own: env:NAME or file:PATH" },
	{ "secret_access_key", PROV_KEY_SECRET, false, "and its secret" },
	{ "session_token", PROV_KEY_SECRET, false, "of temporary keys" },
	{ "role_arn", PROV_KEY_STRING, false, "role to assume with whatever keys were found" },
	{ "external_id", PROV_KEY_STRING, false, "of that role" },
	{ "prices", PROV_KEY_STRING, false,
	    "where prices come from: api (GetProducts), json or csv (the bulk list of a region); "
	    "api" },
	{ "commitments", PROV_KEY_STRINGS, false,
	    "what to list besides: reserved, offerings, savings_plans, capacity_blocks, none; "
	    "reserved and savings_plans" },
	{ "block_length", PROV_KEY_DURATION, false,
	    "length of the capacity blocks to ask for, in whole days; 24h" },
	{ "spot", PROV_KEY_BOOL, false, "list spot prices; yes" },
	{ "spot_score", PROV_KEY_STRINGS, false,
	    "instance types to ask the spot placement score of: few, for the API allows few a "
	    "day" },
	{ "spot_advisor", PROV_KEY_BOOL, false, "read the public interruption rates too; no" },
	{ "image", PROV_KEY_STRING, false,
	    "image (AMI) of new machines, or resolve:ssm:PATH; needed to rent, unless the launch "
	    "template has one" },
	{ "ssh_key", PROV_KEY_STRING, false, "name of a key pair of the region" },
	{ "subnets", PROV_KEY_STRINGS, false,
	    "subnets, one a zone, as ZONE=SUBNET or SUBNET; the default VPC's" },
	{ "security_groups", PROV_KEY_STRINGS, false, "security group ids" },
	{ "instance_profile", PROV_KEY_STRING, false,
	    "name of an IAM instance profile for new machines" },
	{ "launch_template", PROV_KEY_STRING, false,
	    "id of a launch template; with several subnets a machine is then asked of all of them "
	    "at once (CreateFleet)" },
	{ "disk_gib", PROV_KEY_INT, false,
	    "size of the root disk (/dev/sda1 or what root_device says)" },
	{ "root_device", PROV_KEY_STRING, false, "device of the root disk; /dev/sda1" },
	{ "address", PROV_KEY_STRING, false,
	    "which address ssh takes: public or private; public, else private" },
	{ "endpoint", PROV_KEY_STRING, false,
	    "base URL of every service: a proxy or an emulator; https, or http to this machine" },
	{ "endpoints", PROV_KEY_NODE, false,
	    "base URLs of single services: ec2, sts, pricing, savingsplans, servicequotas, bulk, "
	    "advisor, imds" },
	{ NULL, PROV_KEY_STRING, false, NULL },
};

/*
 * Codes of EC2, STS, Pricing, Service Quotas and Savings Plans. The same code may come with several
 * statuses, and "no capacity" comes as a 500.
 */
const struct prov_error_row aws_errors[] = {
	{ 0, "InsufficientInstanceCapacity", "spread placement group", BERTH_EPERMANENT },
	{ 0, "Insufficient*Capacity*", NULL, BERTH_ECAPACITY },
	{ 0, "UnfulfillableCapacity", NULL, BERTH_ECAPACITY },
	{ 0, "ReservationCapacityExceeded", NULL, BERTH_ECAPACITY },
	{ 0, "CapacityReservation*", NULL, BERTH_ECAPACITY },
	{ 0, "SpotMaxPriceTooLow", NULL, BERTH_ECAPACITY },
	{ 0, "Unsupported", NULL, BERTH_ECAPACITY }, /* this type, in this zone */
	{ 0, "RequestLimitExceeded", NULL, BERTH_ETHROTTLED },
	{ 0, "*Throttl*", NULL, BERTH_ETHROTTLED },
	{ 0, "TooManyRequestsException", NULL, BERTH_ETHROTTLED },
	{ 0, "SlowDown", NULL, BERTH_ETHROTTLED },
	{ 0, "BandwidthLimitExceeded", NULL, BERTH_ETHROTTLED },
	{ 0, "ResourceCountLimitExceeded", NULL, BERTH_EQUOTA },
	{ 0, "Max*Exceeded", NULL,
	    BERTH_EQUOTA }, /* MaxSpotInstanceCountExceeded, MaxFleetCountExceeded */
	{ 0, "*LimitExceeded*", NULL,
	    BERTH_EQUOTA }, /* VcpuLimitExceeded, InstanceLimitExceeded, VolumeLimitExceeded */
	{ 0, "InsufficientFreeAddressesInSubnet", NULL, BERTH_EQUOTA },
	{ 0, "AuthFailure*", NULL, BERTH_EAUTH },
	{ 0, "UnauthorizedOperation", NULL, BERTH_EAUTH },
	{ 0, "AccessDenied*", NULL, BERTH_EAUTH },
	{ 0, "SignatureDoesNotMatch", NULL, BERTH_EAUTH },
	{ 0, "InvalidSignatureException", NULL, BERTH_EAUTH },
	{ 0, "IncompleteSignature*", NULL, BERTH_EAUTH },
	{ 0, "RequestExpired", NULL, BERTH_EAUTH },
	{ 0, "Expired*", NULL, BERTH_EAUTH }, /* ExpiredToken, ExpiredTokenException */
	{ 0, "OptInRequired", NULL, BERTH_EAUTH },
	{ 0, "InvalidClientTokenId", NULL, BERTH_EAUTH },
	{ 0, "InvalidIdentityToken", NULL, BERTH_EAUTH },
	{ 0, "IDPRejectedClaim", NULL, BERTH_EAUTH },
	{ 0, "UnrecognizedClientException", NULL, BERTH_EAUTH },
	{ 0, "MissingAuthenticationToken*", NULL, BERTH_EAUTH },
	{ 0, "PendingVerification", NULL, BERTH_EAUTH },
	{ 0, "Blocked", NULL, BERTH_EAUTH },
	{ 0, "InternalError", NULL, BERTH_ETRANSIENT },
	{ 0, "InternalFailure", NULL, BERTH_ETRANSIENT },
	{ 0, "*Unavailable*", NULL, BERTH_ETRANSIENT },
	{ 0, "RequestTimeout*", NULL, BERTH_ETRANSIENT },
	{ 0, "IDPCommunicationError", NULL, BERTH_ETRANSIENT },
	{ 0, "InvalidInstanceID.NotFound", NULL,
	    BERTH_ENOTFOUND }, /* just after a create: not yet */
	{ 0, "InvalidSpotInstanceRequestID.NotFound", NULL, BERTH_ENOTFOUND },
	{ 0, "IdempotentParameterMismatch", NULL,
	    BERTH_EPERMANENT }, /* the token made something else: look, never invent another */
	{ 0, "Invalid*", NULL, BERTH_EPERMANENT },
	{ 0, "Missing*", NULL, BERTH_EPERMANENT },
	{ 0, "Malformed*", NULL, BERTH_EPERMANENT },
	{ 0, "Unknown*", NULL, BERTH_EPERMANENT },
	{ 0, "Validation*", NULL, BERTH_EPERMANENT },
	{ 0, "UnsupportedOperation", NULL, BERTH_EPERMANENT },
	{ 0, NULL, NULL, BERTH_OK },
};

const char *
aws_partition_suffix(const char *region)
{
	static const struct {
		const char *front, *suffix;
	} parts[] = {
		{ "cn-", "amazonaws.com.cn" },
		{ "us-iso-", "c2s.ic.gov" },
		{ "us-isob-", "sc2s.sgov.gov" },
		{ "eusc-", "amazonaws.eu" },
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (str_starts(region, parts[i].front))
			return parts[i].suffix;
	return "amazonaws.com";
}

static const char *
aws_endpoint_of(const struct aws *w, const char *service)
{
	const struct yaml_node *n = prov_conf_node(w->env->conf, "endpoints");
	const char *url = NULL;

	if (n != NULL)
		(void)!yaml_str(n, service, &url, NULL);
	return url != NULL ? url : w->endpoint;
}

const char *
aws_url(const struct aws *w, struct arena *a, const char *service, const char *region)
{
	const char *own = aws_endpoint_of(w, service), *suffix = aws_partition_suffix(region);
	size_t n;

	if (own != NULL) {
		n = strlen(own);
		while (n > 0 && own[n - 1] == '/')
			n--;
		return arena_strndup(a, own, n);
	}
	if (str_eq(service, "imds"))
		return w->imds;
	if (str_eq(service, "savingsplans"))
		return "https://savingsplans.amazonaws.com";
	if (str_eq(service, "advisor"))
		return "https://spot-bid-advisor.s3.amazonaws.com";
	if (str_eq(service, "pricing"))
		return arena_printf(a, "https://api.pricing.%s.%s", region, suffix);
	if (str_eq(service, "bulk"))
		return arena_printf(a, "https://pricing.%s.%s",
		    str_starts(region, "cn-") ? "cn-northwest-1" : "us-east-1", suffix);
	return arena_printf(a, "https://%s.%s.%s", service, region, suffix);
}

void
aws_scope(struct aws *w, const char *service, const char *region)
{
	str_copy(w->scope.service, sizeof(w->scope.service), service);
	str_copy(w->scope.region, sizeof(w->scope.region), region);
}

/* The official tools' variable for another metadata service, such as that of IPv6. */
static enum berth_code
aws_check_imds(struct aws *w, struct berth_err *err)
{
	const char *own = getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT");
	size_t n = own != NULL ? strlen(own) : 0;

	while (n > 0 && own[n - 1] == '/')
		n--;
	w->imds = n > 0 ? arena_strndup(w->env->arena, own, n) : "http://169.254.169.254";
	return n > 0 ? endpoint_check(
			   "AWS_EC2_METADATA_SERVICE_ENDPOINT", w->imds, ENDPOINT_LOCAL, err)
		     : BERTH_OK;
}

static enum berth_code
aws_check_endpoints(struct aws *w, struct berth_err *err)
{
	static const char *const services[] = { "ec2", "sts", "pricing", "savingsplans",
		"servicequotas", "bulk", "advisor", "imds", NULL };
	const struct yaml_node *n = prov_conf_node(w->env->conf, "endpoints");
	enum berth_code rc;

	w->endpoint = prov_conf_str(w->env->conf, "endpoint", NULL);
	if ((rc = aws_check_imds(w, err)) != BERTH_OK)
		return rc;
	if (w->endpoint != NULL &&
	    (rc = endpoint_check("endpoint", w->endpoint, ENDPOINT_SECRETS, err)) != BERTH_OK)
		return rc;
	if (n != NULL && (rc = yaml_check_keys(n, services, err)) != BERTH_OK)
		return rc;
	for (size_t i = 0; n != NULL && services[i] != NULL; i++) {
		const char *url = NULL;

		if ((rc = yaml_str(n, services[i], &url, err)) != BERTH_OK ||
		    (url != NULL &&
			(rc = endpoint_check(services[i], url,
			     str_eq(services[i], "imds") ? ENDPOINT_LOCAL : ENDPOINT_SECRETS,
			     err)) != BERTH_OK))
			return rc;
	}
	return BERTH_OK;
}

static enum berth_code
aws_check_words(const struct prov_env *env, struct berth_err *err)
{
	static const char *const prices[] = { "api", "json", "csv", NULL },
				 *const addresses[] = { "public", "private", NULL },
				 *const words[] = { "reserved", "offerings", "savings_plans",
					 "capacity_blocks", "none", NULL };
	const char *const *v;
	size_t n = prov_conf_strings(env->conf, "commitments", &v);

	if (str_index(prov_conf_str(env->conf, "prices", "api"), prices) < 0)
		return err_set(err, BERTH_EINVAL, "prices '%s': must be api, json or csv",
		    prov_conf_str(env->conf, "prices", ""));
	if (str_index(prov_conf_str(env->conf, "address", "public"), addresses) < 0)
		return err_set(err, BERTH_EINVAL, "address '%s': must be public or private",
		    prov_conf_str(env->conf, "address", ""));
	for (size_t i = 0; i < n; i++)
		if (str_index(v[i], words) < 0)
			return err_set(err, BERTH_EINVAL,
			    "commitments '%s': must be reserved, offerings, savings_plans, "
			    "capacity_blocks or none",
			    v[i]);
	return BERTH_OK;
}

static enum berth_code
aws_open(void *st, const struct prov_env *env, struct berth_err *err)
{
	struct aws *w = st;
	const char *region = NULL, **one;
	enum berth_code rc;

	w->env = env;
	if ((rc = aws_check_endpoints(w, err)) != BERTH_OK ||
	    (rc = aws_check_words(env, err)) != BERTH_OK ||
	    (rc = aws_chain_find(w, &region, err)) != BERTH_OK)
		return rc;
	w->n_regions = prov_conf_strings(env->conf, "regions", &w->regions);
	w->regions_all = w->n_regions == 1 && str_eq(w->regions[0], "all");
	if (w->n_regions == 0 || w->regions_all) {
		if (region == NULL && !w->regions_all)
			return err_set(err, BERTH_EINVAL,
			    "no region: set 'regions' here, AWS_REGION, or region in the profile");
		one = arena_array_of(env->arena, 1, const char *);
		one[0] = region != NULL ? region : "us-east-1";
		w->regions = one;
		w->n_regions = 1;
	}
	return BERTH_OK;
}

static void
aws_close(void *st)
{
	struct aws *w = st;

	aws_scan_free(w->scan);
	w->scan = NULL;
	aws_auth_wipe(&w->auth);
}

/* "com.amazonaws.x#ThrottlingException:http://..." -> "ThrottlingException" */
static const char *
aws_short_code(struct arena *a, const char *s)
{
	const char *hash = strchr(s, '#');

	s = hash != NULL ? hash + 1 : s;
	return arena_strndup(a, s, strcspn(s, ":"));
}

static bool
aws_error_xml(const struct http_resp *resp, const char **code, const char **text)
{
	static const char *const at[] = { "Errors/Error", "Error", NULL };
	const struct xml *root = NULL, *e = NULL;

	if (xml_parse(resp->arena, resp->body, resp->body_len, "answer", &root, NULL) != BERTH_OK ||
	    (!str_eq(root->name, "Response") && !str_eq(root->name, "ErrorResponse") &&
		!str_eq(root->name, "Error")))
		return false;
	for (size_t i = 0; e == NULL && at[i] != NULL; i++)
		e = xml_get(root, at[i]);
	e = e != NULL ? e : root;
	*code = xml_text(e, "Code");
	*text = xml_text(e, "Message");
	return true;
}

static void
aws_error_json(const struct http_resp *resp, const char **code, const char **text)
{
	static const char *const code_keys[] = { "__type", "code", "Code", NULL },
				 *const text_keys[] = { "message", "Message", NULL };
	json_t *v = NULL;
	struct jsonr root;

	if (wirejson_parse(resp, &v, NULL) != BERTH_OK)
		return;
	root = jsonr_root(v, "answer");
	for (size_t i = 0; code_keys[i] != NULL && (*code)[0] == '\0'; i++)
		(void)!jsonr_str(&root, code_keys[i], code, NULL);
	for (size_t i = 0; text_keys[i] != NULL && (*text)[0] == '\0'; i++)
		(void)!jsonr_str(&root, text_keys[i], text, NULL);
	*code = aws_short_code(resp->arena, *code);
	*text = arena_strdup(resp->arena, *text);
	json_decref(v);
}

bool
aws_error_read(const struct http_resp *resp, struct prov_error *error_out)
{
	const char *code = "", *text = "", *p = resp->body,
		   *type = http_resp_header(resp, "x-amzn-ErrorType");
	bool found = false;

	if (str_starts(p, "\xef\xbb\xbf"))
		p += 3;
	while (str_is_space(*p))
		p++;
	if (*p == '<')
		found = aws_error_xml(resp, &code, &text);
	else if (*p == '{' && resp->status / 100 != 2)
		aws_error_json(resp, &code, &text);
	if (type != NULL && resp->status / 100 != 2)
		code = aws_short_code(resp->arena, type);
	str_copy(error_out->code, sizeof(error_out->code), code);
	str_copy(error_out->text, sizeof(error_out->text), text);
	return found || resp->status / 100 != 2;
}

enum berth_code
aws_code_of(const char *code, const char *text)
{
	const struct http_resp resp = { .status = 200, .body = "" };
	struct prov_error e;

	str_copy(e.code, sizeof(e.code), code);
	str_copy(e.text, sizeof(e.text), text);
	return prov_classify(&provider_aws, &resp, &e, true, NULL);
}

const struct provider_ops provider_aws = {
	.abi = PROVIDER_ABI,
	.caps = PROV_CAP_OFFERS | PROV_CAP_QUOTA | PROV_CAP_NOTICES | PROV_CAP_APART |
		PROV_CAP_LEASE | PROV_CAP_TOKEN | PROV_CAP_SPOT,
	.name = "aws",
	.summary = "Amazon EC2",
	.state_size = sizeof(struct aws),
	.keys = aws_keys,
	.errors = aws_errors,
	.error_read = aws_error_read,
	.open = aws_open,
	.close = aws_close,
	.auth = &aws_auth_ops,
	.market = &aws_market,
	.lease = &aws_lease,
	.exchange = aws_exchange,
};
