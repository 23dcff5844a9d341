#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "providers/openstack/openstack.h"
#include "providers/prov.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/str.h"

static bool
openstack_is_id(const char *s)
{
	size_t n = strspn(s, "0123456789abcdefABCDEF-");

	return s[n] == '\0' && (n == 36 || n == 32);
}

/* Names that need no look-up are their own ids. */
static enum berth_code
openstack_open(void *st, const struct prov_env *env, struct berth_err *err)
{
	struct openstack *s = st;
	const struct prov_conf *conf = env->conf;
	enum berth_code rc;

	s->env = env;
	s->catalog = arena_new();
	s->pass = arena_new();
	s->compute = s->placement = s->image_url = s->network_url = s->marker = "";
	s->plain_http = prov_conf_bool(conf, "plain_http", false);
	s->ask_placement = prov_conf_bool(conf, "placement", true);
	s->image = prov_conf_str(conf, "image", "");
	s->network = prov_conf_str(conf, "network", "auto");
	s->key_name = prov_conf_str(conf, "key_name", NULL);
	s->zone = prov_conf_str(conf, "availability_zone", "");
	s->boot_volume_gib = (int)prov_conf_int(conf, "boot_volume_gib", 0);
	s->n_groups = prov_conf_strings(conf, "security_groups", &s->groups);
	s->n_flavors = prov_conf_strings(conf, "flavors", &s->flavors);
	if (s->image[0] == '\0' || openstack_is_id(s->image))
		s->image_id = s->image;
	if (str_eq(s->network, "auto") || str_eq(s->network, "none") || openstack_is_id(s->network))
		s->network_id = s->network;
	if (s->boot_volume_gib < 0 || s->boot_volume_gib > 65536)
		return err_set(err, BERTH_EINVAL, "boot_volume_gib: 1 to 65536");
	rc = rates_read(prov_conf_node(conf, "prices"), prov_conf_node(conf, "accelerators"),
	    env->arena, &s->rates, err);
	return rc == BERTH_OK ? openstack_who_read(s, err) : rc;
}

static void
openstack_close(void *st)
{
	struct openstack *s = st;

	openstack_auth.drop(s);
	if (s->who.secret != NULL)
		explicit_bzero(s->who.secret, strlen(s->who.secret));
	free(s->who.secret);
	arena_free(s->catalog);
	arena_free(s->pass);
}

static void
openstack_wire(void *st, struct http_config *conf)
{
	const struct openstack *s = st;

	if (conf->ca_file == NULL && s->who.cacert != NULL && s->who.cacert[0] != '\0')
		conf->ca_file = s->who.cacert;
}

static const struct prov_key openstack_keys[] = {
	{ "cloud", PROV_KEY_STRING, false, "name of a cloud in clouds.yaml; OS_CLOUD, else OS_*" },
	{ "clouds_file", PROV_KEY_PATH, false, "the file; as openstack looks for it" },
	{ "auth_url", PROV_KEY_STRING, false, "keystone, instead of clouds.yaml" },
	{ "plain_http", PROV_KEY_BOOL, false,
	    "endpoints may be http on other machines: tokens then travel in the clear" },
	{ "username", PROV_KEY_STRING, false, "user" },
	{ "user_id", PROV_KEY_STRING, false, "user, by id" },
	{ "user_domain_name", PROV_KEY_STRING, false, "domain of the user; Default" },
	{ "user_domain_id", PROV_KEY_STRING, false, "the same by id" },
	{ "password", PROV_KEY_SECRET, false, "password: env:NAME or file:PATH" },
	{ "project_name", PROV_KEY_STRING, false, "project" },
	{ "project_id", PROV_KEY_STRING, false, "project, by id" },
	{ "project_domain_name", PROV_KEY_STRING, false, "domain of the project; Default" },
	{ "project_domain_id", PROV_KEY_STRING, false, "the same by id" },
	{ "application_credential_id", PROV_KEY_STRING, false,
	    "application credential instead of user and project" },
	{ "application_credential_name", PROV_KEY_STRING, false,
	    "the same by name, with its user" },
	{ "application_credential_secret", PROV_KEY_SECRET, false,
	    "its secret: env:NAME or file:PATH" },
	{ "region", PROV_KEY_STRING, false, "region of the catalogue; the first" },
	{ "interface", PROV_KEY_STRING, false, "public, internal or admin; public" },
	{ "compute_endpoint", PROV_KEY_STRING, false,
	    "nova instead of the catalogue's; likewise the next three" },
	{ "placement_endpoint", PROV_KEY_STRING, false, "placement" },
	{ "image_endpoint", PROV_KEY_STRING, false, "glance" },
	{ "network_endpoint", PROV_KEY_STRING, false, "neutron" },
	{ "placement", PROV_KEY_BOOL, false, "ask placement what is free; true, where it answers" },
	{ "flavors", PROV_KEY_STRINGS, false,
	    "patterns of the flavours to use; all with accelerators" },
	{ "image", PROV_KEY_STRING, false, "image, by id or name; needed to rent" },
	{ "network", PROV_KEY_STRING, false, "network by id or name, auto or none; auto" },
	{ "key_name", PROV_KEY_STRING, false, "key pair put on every machine" },
	{ "security_groups", PROV_KEY_STRINGS, false, "security groups; the project's default" },
	{ "availability_zone", PROV_KEY_STRING, false, "availability zone; nova's choice" },
	{ "boot_volume_gib", PROV_KEY_INT, false,
	    "boot from a new volume of this size, deleted with the machine" },
	{ "prices", PROV_KEY_NODE, false, "what an hour costs: a list, see below" },
	{ "accelerators", PROV_KEY_NODE, false,
	    "names for aliases, resource classes and traits: a map, see below" },
	{ NULL, PROV_KEY_STRING, false, NULL },
};

/* Nova names a refusal by the key that its answer has; only the message tells a quota from a
 * missing right. */
static const struct prov_error_row openstack_errors[] = {
	{ 0, NULL, "Quota exceeded", BERTH_EQUOTA },
	{ 0, NULL, "quota is exceeded", BERTH_EQUOTA },
	{ 0, NULL, "Maximum number of ports exceeded", BERTH_EQUOTA },
	{ 0, NULL, "Exceeded maximum number of retries", BERTH_ECAPACITY },
	{ 0, NULL, "No valid host", BERTH_ECAPACITY },
	{ 0, NULL, "Exhausted all hosts", BERTH_ECAPACITY },
	{ 413, NULL, NULL, BERTH_ETHROTTLED },
	{ 429, NULL, NULL, BERTH_ETHROTTLED },
	{ 0, "overLimit", NULL, BERTH_ETHROTTLED },
	{ 401, NULL, NULL, BERTH_EAUTH },
	{ 403, NULL, NULL, BERTH_EAUTH },
	{ 404, NULL, NULL, BERTH_ENOTFOUND },
	{ 400, NULL, NULL, BERTH_EPERMANENT },
	{ 406, NULL, NULL, BERTH_EPERMANENT },
	{ 409, NULL, NULL, BERTH_EPERMANENT },
	/* an unexpected fault of the API may have made the server all the same */
	{ 500, NULL, NULL, BERTH_ETRANSIENT },
	{ 503, NULL, NULL, BERTH_ETRANSIENT },
	{ 0, NULL, NULL, BERTH_OK },
};

/* {"badRequest": {"code", "message"}}, {"error": {...}} of keystone, {"errors": [{"title",
 * "detail"}]} of placement. */
static bool
openstack_error_read(const struct http_resp *resp, struct prov_error *error_out)
{
	const char *code = "", *text = "", *key;
	json_t *v = NULL, *item;

	memset(error_out, 0, sizeof(*error_out));
	if (resp->status / 100 == 2)
		return false;
	if (wirejson_parse(resp, &v, NULL) == BERTH_OK)
		json_object_foreach(v, key, item)
		{
			struct jsonr root = jsonr_root(
			    json_is_array(item) ? json_array_get(item, 0) : item, "answer");

			code = key;
			(void)!jsonr_str(&root, "title", &code, NULL);
			if (json_is_object(item) && !str_eq(key, "error"))
				code = key;
			(void)!jsonr_str(&root, "detail", &text, NULL);
			(void)!jsonr_str(&root, "message", &text, NULL);
			if (text[0] != '\0')
				break;
		}
	str_copy(error_out->code, sizeof(error_out->code), code);
	snprintf(error_out->text, sizeof(error_out->text), "%s", text);
	for (char *p = error_out->text; *p != '\0'; p++)
		if (str_is_space(*p))
			*p = ' ';
	json_decref(v);
	return true;
}

const struct provider_ops provider_openstack = {
	.abi = PROVIDER_ABI,
	.caps = PROV_CAP_OFFERS | PROV_CAP_QUOTA | PROV_CAP_LEASE | PROV_CAP_OWN,
	.name = "openstack",
	.summary = "OpenStack clouds: keystone v3, nova, placement",
	.state_size = sizeof(struct openstack),
	.keys = openstack_keys,
	.errors = openstack_errors,
	.error_read = openstack_error_read,
	.open = openstack_open,
	.close = openstack_close,
	.wire = openstack_wire,
	.auth = &openstack_auth,
	.market = &openstack_market,
	.lease = &openstack_lease,
};

enum berth_code
openstack_request(const struct openstack *s, struct http_req *req, const char *method,
    const char *base, const char *version, const char *path, struct berth_err *err)
{
	enum berth_code rc = http_req_header(req, "Accept", "application/json", false, err);

	(void)s;
	req->method = method;
	http_req_url(req, "%s/%s", base, path);
	if (rc == BERTH_OK && version != NULL)
		rc = http_req_header(req, "OpenStack-API-Version", version, false, err);
	return rc;
}

enum berth_code
openstack_next(
    const struct jsonr *root, const char *key, char *dst, size_t size, struct berth_err *err)
{
	struct jsonr list;
	enum berth_code rc = jsonr_array(root, key, &list, err);

	dst[0] = '\0';
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&list); i++) {
		struct jsonr link = jsonr_at(&list, i);
		const char *rel = "", *href = "", *marker;

		if ((rc = jsonr_str(&link, "rel", &rel, err)) != BERTH_OK ||
		    (rc = jsonr_str(&link, "href", &href, err)) != BERTH_OK)
			return rc;
		marker = strstr(href, "marker=");
		if (!str_eq(rel, "next") || marker == NULL)
			continue;
		marker += strlen("marker=");
		if (strcspn(marker, "&") >= size)
			return jsonr_err(&link, BERTH_EINVAL, err, "the marker is too long");
		memcpy(dst, marker, strcspn(marker, "&"));
		dst[strcspn(marker, "&")] = '\0';
		if (strpbrk(dst, "# \"<>") != NULL || str_control(dst) >= 0)
			return jsonr_err(&link, BERTH_EINVAL, err, "'%.80s' is no marker", dst);
	}
	return rc;
}
