#include <stdlib.h>
#include <string.h>

#include "providers/endpoint.h"
#include "providers/openstack/openstack.h"
#include "providers/prov.h"
#include "util/arena.h"
#include "util/fileio.h"
#include "util/str.h"
#include "util/yaml.h"

/* One datum by its names in berth.yaml, in clouds.yaml (under auth or beside it) and in the
 * environment. */
static const struct {
	const char *key, *cloud, *env;
	size_t at;
} openstack_data[] = {
#define AT(field) offsetof(struct openstack_who, field)
	{ "auth_url", "auth_url", "OS_AUTH_URL", AT(auth_url) },
	{ "username", "username", "OS_USERNAME", AT(username) },
	{ "user_id", "user_id", "OS_USER_ID", AT(user_id) },
	{ "user_domain_name", "user_domain_name", "OS_USER_DOMAIN_NAME", AT(user_domain_name) },
	{ "user_domain_id", "user_domain_id", "OS_USER_DOMAIN_ID", AT(user_domain_id) },
	{ "project_name", "project_name", "OS_PROJECT_NAME", AT(project_name) },
	{ "project_id", "project_id", "OS_PROJECT_ID", AT(project_id) },
	{ "project_domain_name", "project_domain_name", "OS_PROJECT_DOMAIN_NAME",
	    AT(project_domain_name) },
	{ "project_domain_id", "project_domain_id", "OS_PROJECT_DOMAIN_ID", AT(project_domain_id) },
	{ "application_credential_id", "application_credential_id", "OS_APPLICATION_CREDENTIAL_ID",
	    AT(app_id) },
	{ "application_credential_name", "application_credential_name",
	    "OS_APPLICATION_CREDENTIAL_NAME", AT(app_name) },
	{ "region", "region_name", "OS_REGION_NAME", AT(region) },
	{ "interface", "interface", "OS_INTERFACE", AT(interface) },
	{ NULL, "cacert", "OS_CACERT", AT(cacert) },
	{ "compute_endpoint", "compute_endpoint_override", NULL, AT(compute) },
	{ "placement_endpoint", "placement_endpoint_override", NULL, AT(placement) },
	{ "image_endpoint", "image_endpoint_override", NULL, AT(image_url) },
	{ "network_endpoint", "network_endpoint_override", NULL, AT(network_url) },
#undef AT
};
#define OPENSTACK_DATA (sizeof(openstack_data) / sizeof(openstack_data[0]))

static const char **
openstack_at(struct openstack_who *w, size_t i)
{
	return (const char **)(void *)((char *)w + openstack_data[i].at);
}

static enum berth_code
openstack_keep_secret(struct openstack_who *w, const char *secret, struct berth_err *err)
{
	if (secret == NULL || secret[0] == '\0')
		return BERTH_OK;
	if (w->secret != NULL)
		explicit_bzero(w->secret, strlen(w->secret));
	free(w->secret);
	w->secret = strdup(secret);
	return w->secret != NULL ? BERTH_OK
				 : err_set(err, BERTH_ENOMEM, "no memory for a password");
}

/* Fills in what is not said yet. */
static enum berth_code
openstack_from_map(struct openstack *s, const struct yaml_node *map, struct berth_err *err)
{
	const char *secret = NULL;
	enum berth_code rc;

	if (map == NULL || map->kind != YAML_KIND_MAP)
		return BERTH_OK;
	for (size_t i = 0; i < OPENSTACK_DATA; i++) {
		const char **field = openstack_at(&s->who, i), *v = NULL;
		const struct yaml_node *n = yaml_get(map, openstack_data[i].cloud);

		if (n == NULL || n->kind != YAML_KIND_SCALAR || *field[0] != '\0')
			continue;
		if ((rc = yaml_str(map, openstack_data[i].cloud, &v, err)) != BERTH_OK)
			return rc;
		*field = arena_strdup(s->env->arena, v);
	}
	if (s->who.secret != NULL)
		return BERTH_OK;
	if ((rc = yaml_str(map, "application_credential_secret", &secret, err)) != BERTH_OK ||
	    (secret == NULL && (rc = yaml_str(map, "password", &secret, err)) != BERTH_OK))
		return rc;
	return openstack_keep_secret(&s->who, secret, err);
}

static enum berth_code
openstack_from_cloud(struct openstack *s, const struct yaml_node *cloud, struct berth_err *err)
{
	const struct yaml_node *verify;
	bool v = true;
	enum berth_code rc;

	if ((rc = openstack_from_map(s, yaml_get(cloud, "auth"), err)) != BERTH_OK ||
	    (rc = openstack_from_map(s, cloud, err)) != BERTH_OK)
		return rc;
	verify = yaml_get(cloud, "verify");
	if (verify != NULL && yaml_as_bool(verify, &v, NULL) == BERTH_OK && !v)
		return yaml_err(verify, err,
		    "certificates are always verified: name the authority by cacert instead");
	return BERTH_OK;
}

/* The cloud of a file like clouds.yaml; BERTH_ENOTFOUND if it has none of that name. */
static enum berth_code
openstack_from_file(struct openstack *s, const char *path, const char *name, struct berth_err *err)
{
	struct arena *a = arena_new();
	const struct yaml_node *root = NULL, *clouds = NULL, *cloud;
	enum berth_code rc = yaml_load(a, path, &root, err);

	if (rc == BERTH_OK)
		rc = yaml_map(root, "clouds", &clouds, err);
	cloud = rc == BERTH_OK && clouds != NULL ? yaml_get(clouds, name) : NULL;
	if (rc == BERTH_OK && cloud == NULL)
		rc = err_set(err, BERTH_ENOTFOUND, "%s has no cloud '%s'", path, name);
	if (rc == BERTH_OK)
		rc = openstack_from_cloud(s, cloud, err);
	arena_free(a);
	return rc;
}

/* clouds.yaml where the other tools look for it. */
static const char *
openstack_clouds_path(const struct openstack *s)
{
	const char *said = prov_conf_path(s->env->conf, "clouds_file", NULL),
		   *env = getenv("OS_CLIENT_CONFIG_FILE");
	const char *home = getenv("HOME"), *config = getenv("XDG_CONFIG_HOME");
	const char *tries[] = { "clouds.yaml",
		config != NULL && config[0] == '/'
		    ? arena_printf(s->env->arena, "%s/openstack/clouds.yaml", config)
		    : arena_printf(s->env->arena, "%s/.config/openstack/clouds.yaml",
			  home != NULL ? home : ""),
		"/etc/openstack/clouds.yaml" };

	if (said != NULL)
		return said;
	if (env != NULL && env[0] != '\0')
		return env;
	for (size_t i = 0; i < 3; i++)
		if (fileio_exists(tries[i]))
			return tries[i];
	return tries[1];
}

static enum berth_code
openstack_from_clouds(struct openstack *s, const char *name, struct berth_err *err)
{
	const char *path = openstack_clouds_path(s), *slash = strrchr(path, '/');
	const char *secure = arena_printf(
	    s->env->arena, "%.*ssecure.yaml", slash != NULL ? (int)(slash + 1 - path) : 0, path);
	struct berth_err none = { 0 };
	enum berth_code rc;

	if (fileio_exists(secure)) {
		rc = openstack_from_file(s, secure, name, &none);
		if (rc != BERTH_OK && rc != BERTH_ENOTFOUND) {
			if (err != NULL)
				*err = none;
			return rc;
		}
	}
	rc = openstack_from_file(s, path, name, err);
	return rc == BERTH_ENOTFOUND ? (err != NULL ? (err->code = BERTH_EINVAL) : BERTH_EINVAL)
				     : rc;
}

static enum berth_code
openstack_from_env(struct openstack *s, struct berth_err *err)
{
	const char *secret = getenv("OS_APPLICATION_CREDENTIAL_SECRET");

	for (size_t i = 0; i < OPENSTACK_DATA; i++) {
		const char **field = openstack_at(&s->who, i);
		const char *v =
		    openstack_data[i].env != NULL ? getenv(openstack_data[i].env) : NULL;

		if (v != NULL && *field[0] == '\0')
			*field = arena_strdup(s->env->arena, v);
	}
	if (s->who.secret != NULL)
		return BERTH_OK;
	return openstack_keep_secret(
	    &s->who, secret != NULL && secret[0] != '\0' ? secret : getenv("OS_PASSWORD"), err);
}

static enum berth_code
openstack_from_keys(struct openstack *s, struct berth_err *err)
{
	static const char *const secrets[] = { "application_credential_secret", "password" };
	char *secret = NULL;
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; i < OPENSTACK_DATA; i++)
		*openstack_at(&s->who, i) =
		    openstack_data[i].key != NULL
			? prov_conf_str(s->env->conf, openstack_data[i].key, "")
			: "";
	for (size_t i = 0; rc == BERTH_OK && i < 2 && s->who.secret == NULL; i++)
		if (prov_conf_has(s->env->conf, secrets[i])) {
			rc = prov_conf_secret(s->env->conf, secrets[i], &secret, err);
			s->who.secret = secret;
		}
	return rc;
}

/* The URL of keystone, of whatever form people write it: with /v3, with a slash, or bare. */
static enum berth_code
openstack_auth_url(struct openstack *s, struct berth_err *err)
{
	char *url = arena_strdup(s->env->arena, s->who.auth_url);
	size_t n = strlen(url);
	enum berth_code rc;

	while (n > 0 && url[n - 1] == '/')
		url[--n] = '\0';
	rc =
	    endpoint_check("auth_url", url, s->plain_http ? ENDPOINT_LOCAL : ENDPOINT_SECRETS, err);
	if (rc != BERTH_OK)
		return rc;
	s->who.auth_url = str_ends(url, "/v3") ? url : arena_printf(s->env->arena, "%s/v3", url);
	return BERTH_OK;
}

static enum berth_code
openstack_check_who(struct openstack *s, struct berth_err *err)
{
	struct openstack_who *w = &s->who;
	const bool app = w->app_id[0] != '\0' || w->app_name[0] != '\0';

	if (w->auth_url[0] == '\0')
		return err_set(err, BERTH_EINVAL,
		    "needs 'cloud' (a name in clouds.yaml), 'auth_url', or OS_AUTH_URL");
	if (!app && w->username[0] == '\0' && w->user_id[0] == '\0')
		return err_set(err, BERTH_EINVAL, "no user and no application credential");
	if (w->app_id[0] == '\0' && w->app_name[0] != '\0' && w->username[0] == '\0' &&
	    w->user_id[0] == '\0')
		return err_set(
		    err, BERTH_EINVAL, "an application credential by name needs its user");
	if (w->secret == NULL)
		return err_set(err, BERTH_EAUTH,
		    app ? "no secret of the application credential" : "no password");
	if (!app && w->project_name[0] == '\0' && w->project_id[0] == '\0')
		return err_set(
		    err, BERTH_EINVAL, "no project: name it by project_name or project_id");
	if (w->interface[0] == '\0')
		w->interface = "public";
	if (str_ends(w->interface, "URL"))
		w->interface = arena_strndup(s->env->arena, w->interface, strlen(w->interface) - 3);
	return openstack_auth_url(s, err);
}

enum berth_code
openstack_who_read(struct openstack *s, struct berth_err *err)
{
	const char *cloud = prov_conf_str(s->env->conf, "cloud", NULL), *env = getenv("OS_CLOUD");
	enum berth_code rc = openstack_from_keys(s, err);

	if (rc == BERTH_OK && cloud == NULL && s->who.auth_url[0] == '\0' && env != NULL &&
	    env[0] != '\0')
		cloud = env;
	if (rc == BERTH_OK && cloud != NULL)
		rc = openstack_from_clouds(s, cloud, err);
	else if (rc == BERTH_OK && s->who.auth_url[0] == '\0')
		rc = openstack_from_env(s, err);
	return rc == BERTH_OK ? openstack_check_who(s, err) : rc;
}
