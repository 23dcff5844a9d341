#include <stdlib.h>
#include <string.h>

#include "net/sign.h"
#include "providers/huawei/huawei.h"
#include "providers/inifile.h"
#include "providers/lease.h"
#include "providers/prov.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/fileio.h"
#include "util/str.h"

#define HUAWEI_FILE_MAX 65536

struct huawei_keys {
	char *id, *secret, *token;
};

static void
huawei_keys_wipe(struct huawei_keys *k)
{
	lease_wipe(k->id);
	lease_wipe(k->secret);
	lease_wipe(k->token);
}

static const char *
huawei_getenv(const char *name)
{
	const char *v = getenv(name);

	return v != NULL && v[0] != '\0' ? v : NULL;
}

static enum berth_code
huawei_keys_conf(const struct prov_conf *conf, struct huawei_keys *k, struct berth_err *err)
{
	enum berth_code rc = prov_conf_secret(conf, "access_key", &k->id, err);

	if (rc == BERTH_OK)
		rc = prov_conf_secret(conf, "secret_key", &k->secret, err);
	if (rc == BERTH_OK && prov_conf_has(conf, "security_token"))
		rc = prov_conf_secret(conf, "security_token", &k->token, err);
	return rc;
}

/* Copies, each cleaned of what stands around it; the arena is the caller's to throw away. */
static enum berth_code
huawei_keys_take(struct arena *a, const char *id, const char *secret, const char *token,
    struct huawei_keys *k, struct berth_err *err)
{
	const char *const names[] = { "access key", "secret key", "security token" };
	const char *const texts[] = { id, secret, token };
	char **const places[] = { &k->id, &k->secret, &k->token };

	for (size_t i = 0; i < 3; i++) {
		char *clean = NULL;
		enum berth_code rc;

		if (texts[i] == NULL || (i == 2 && texts[i][0] == '\0'))
			continue;
		if ((rc = sign_key_text(a, names[i], texts[i], &clean, err)) != BERTH_OK)
			return rc;
		*places[i] = strdup(clean);
		explicit_bzero(clean, strlen(clean));
		if (*places[i] == NULL)
			return err_set(err, BERTH_ENOMEM, "no memory for a key");
	}
	return BERTH_OK;
}

/* [basic] of ~/.huaweicloud/credentials, or of the file that HUAWEICLOUD_SDK_CREDENTIALS_FILE
 * names. */
static enum berth_code
huawei_keys_file(struct arena *a, struct huawei_keys *k, struct berth_err *err)
{
	const char *path = huawei_getenv("HUAWEICLOUD_SDK_CREDENTIALS_FILE"),
		   *home = huawei_getenv("HOME");
	const char *id, *secret;
	struct inifile ini = { 0 };
	char *text = NULL;
	enum berth_code rc;

	if (path == NULL)
		path = arena_printf(a, "%s/.huaweicloud/credentials", home != NULL ? home : "");
	if (!fileio_exists(path))
		return err_set(err, BERTH_EAUTH,
		    "no keys: neither access_key and secret_key of berth.yaml, nor "
		    "HUAWEICLOUD_SDK_AK and HUAWEICLOUD_SDK_SK, nor [basic] in %s",
		    path);
	if ((rc = fileio_slurp(a, path, HUAWEI_FILE_MAX, &text, NULL, err)) != BERTH_OK)
		return rc;
	inifile_read(&ini, a, text);
	explicit_bzero(text, strlen(text));
	id = inifile_get(&ini, "basic", "ak");
	secret = inifile_get(&ini, "basic", "sk");
	if (id == NULL || secret == NULL)
		rc = err_set(
		    err, BERTH_EAUTH, "%s: [basic] has no %s", path, id == NULL ? "ak" : "sk");
	else if ((rc = huawei_keys_take(a, id, secret, inifile_get(&ini, "basic", "security_token"),
		      k, err)) != BERTH_OK)
		err_ctx(err, "%s", path);
	inifile_wipe(&ini, "");
	return rc;
}

/* Read anew at each signature, as a key may be changed while a command runs. */
static enum berth_code
huawei_keys_read(
    const struct huawei *h, struct arena *a, struct huawei_keys *k, struct berth_err *err)
{
	const char *id = huawei_getenv("HUAWEICLOUD_SDK_AK"),
		   *secret = huawei_getenv("HUAWEICLOUD_SDK_SK");

	if (prov_conf_has(h->env->conf, "access_key"))
		return huawei_keys_conf(h->env->conf, k, err);
	if (id != NULL && secret != NULL)
		return huawei_keys_take(
		    a, id, secret, huawei_getenv("HUAWEICLOUD_SDK_SECURITY_TOKEN"), k, err);
	return huawei_keys_file(a, k, err);
}

static enum berth_code
huawei_sign(void *st, struct http_req *req, int64_t now, struct berth_err *err)
{
	struct huawei_keys k = { NULL, NULL, NULL };
	struct arena *a = arena_new();
	enum berth_code rc = huawei_keys_read(st, a, &k, err);

	if (rc == BERTH_OK) {
		struct sign_sdk s = { .keys = { .id = k.id, .secret = k.secret, .token = k.token },
			.now = now };

		rc = sign_sdk(req, &s, NULL, err);
	}
	huawei_keys_wipe(&k);
	arena_free(a);
	return rc;
}

const char *
huawei_project(const struct huawei *h, const char *region)
{
	for (size_t i = 0; i < h->projects.n; i++)
		if (str_eq(h->projects.v[i].region, region))
			return h->projects.v[i].id;
	return NULL;
}

static bool
huawei_is_id(const char *s)
{
	for (const char *p = s; *p != '\0'; p++)
		if (!str_is_alnum(*p) && *p != '-' && *p != '_')
			return false;
	return s[0] != '\0';
}

enum berth_code
huawei_projects_read(struct huawei *h, struct berth_err *err)
{
	const char *const *v;
	size_t n = prov_conf_strings(h->env->conf, "projects", &v);

	for (size_t i = 0; i < n; i++) {
		const char *eq = strchr(v[i], '=');

		if (eq == NULL || eq == v[i] || !huawei_is_id(eq + 1))
			return err_set(err, BERTH_EINVAL,
			    "projects '%s': REGION=ID, as in cn-north-4=0123456789abcdef", v[i]);
		VEC_PUSH(h->env->arena, &h->projects,
		    ((struct huawei_project){
			arena_strndup(h->env->arena, v[i], (size_t)(eq - v[i])), eq + 1 }));
	}
	return BERTH_OK;
}

/* Every call names the region's project; those that berth.yaml does not say are asked of IAM once.
 */
static bool
huawei_need(void *st, int64_t now)
{
	const struct huawei *h = st;

	(void)now;
	for (size_t i = 0; !h->asked && i < h->n_regions; i++)
		if (huawei_project(h, h->regions[i]) == NULL)
			return true;
	return false;
}

static enum berth_code
huawei_step_build(void *st, int64_t now, struct http_req *req, struct berth_err *err)
{
	const struct huawei *h = st;

	http_req_url(req, "%s/v3/auth/projects", huawei_base(req, h->iam, h->regions[0]));
	if (h->domain[0] != '\0') {
		enum berth_code rc = http_req_header(req, "X-Domain-Id", h->domain, false, err);

		if (rc != BERTH_OK)
			return rc;
	}
	return huawei_sign(st, req, now, err);
}

static enum berth_code
huawei_step_parse(void *st, const struct http_resp *resp, int64_t now, struct berth_err *err)
{
	struct huawei *h = st;
	struct arena *a = h->env->arena;
	struct jsonr root, list, item;
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	(void)now;
	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	rc = jsonr_array(&root, "projects", &list, err);
	if (rc == BERTH_OK && list.v == NULL)
		rc = jsonr_err(&root, BERTH_ETRANSIENT, err, "no projects in the answer");
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&list); i++) {
		const char *name = "", *id = "", *domain = "";
		bool enabled = true;

		item = jsonr_at(&list, i);
		if ((rc = jsonr_str(&item, "name", &name, err)) != BERTH_OK ||
		    (rc = jsonr_str(&item, "id", &id, err)) != BERTH_OK ||
		    (rc = jsonr_str(&item, "domain_id", &domain, err)) != BERTH_OK ||
		    (rc = jsonr_bool(&item, "enabled", &enabled, err)) != BERTH_OK)
			break;
		if (!enabled || !huawei_is_id(id) || huawei_project(h, name) != NULL)
			continue;
		VEC_PUSH(a, &h->projects,
		    ((struct huawei_project){ arena_strdup(a, name), arena_strdup(a, id) }));
		if (h->domain[0] == '\0' && huawei_is_id(domain))
			h->domain = arena_strdup(a, domain);
	}
	h->asked = h->asked || rc == BERTH_OK;
	json_decref(v);
	return rc;
}

const struct prov_auth_ops huawei_auth = {
	.need = huawei_need,
	.step_build = huawei_step_build,
	.step_parse = huawei_step_parse,
	.sign = huawei_sign,
};
