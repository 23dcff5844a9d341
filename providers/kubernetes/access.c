#include <stdlib.h>
#include <string.h>

#include "providers/endpoint.h"
#include "providers/kubernetes/kubernetes.h"
#include "providers/prov.h"
#include "util/arena.h"
#include "util/base64.h"
#include "util/fileio.h"
#include "util/str.h"
#include "util/yaml.h"

#define KUBE_POD "/var/run/secrets/kubernetes.io/serviceaccount"
#define KUBE_FILES_MAX 16
#define KUBE_PEM_MAX ((size_t)1 << 20)

/* The files of a KUBECONFIG list; the first that says something counts. */
struct kube_files {
	const struct yaml_node *root[KUBE_FILES_MAX];
	const char *path[KUBE_FILES_MAX];
	size_t n;
};

static enum berth_code
kube_load(
    struct kube *s, struct kube_files *f, const char *path, bool needed, struct berth_err *err)
{
	if (f->n == KUBE_FILES_MAX || (!needed && !fileio_exists(path)))
		return BERTH_OK;
	f->path[f->n] = path;
	return yaml_load(s->env->arena, path, &f->root[f->n++], err);
}

static enum berth_code
kube_load_all(struct kube *s, struct kube_files *f, struct berth_err *err)
{
	const char *said = prov_conf_path(s->env->conf, "kubeconfig", NULL),
		   *env = getenv("KUBECONFIG"), *home = getenv("HOME");
	enum berth_code rc = BERTH_OK;
	char **list;
	size_t n;

	if (said != NULL)
		return kube_load(s, f, said, true, err);
	if (env != NULL && env[0] != '\0') {
		list = str_split(s->env->arena, env, ':', &n);
		for (size_t i = 0; rc == BERTH_OK && i < n; i++)
			if (list[i][0] != '\0')
				rc = kube_load(s, f, list[i], false, err);
		return rc;
	}
	return home != NULL ? kube_load(s, f, arena_printf(s->env->arena, "%s/.kube/config", home),
				  false, err)
			    : BERTH_OK;
}

/* The named item of a list of all files, and the folder of the file that it stands in. */
static const struct yaml_node *
kube_named(const struct kube_files *f, const char *list, const char *name, const char *inner,
    const char **path_out)
{
	for (size_t i = 0; i < f->n; i++) {
		const struct yaml_node *items = yaml_get(f->root[i], list);

		for (size_t k = 0; items != NULL && items->kind == YAML_KIND_LIST && k < items->n;
		     k++) {
			const char *n = NULL;

			if (items->items[k]->kind == YAML_KIND_MAP &&
			    yaml_str(items->items[k], "name", &n, NULL) == BERTH_OK && n != NULL &&
			    str_eq(n, name)) {
				*path_out = f->path[i];
				return yaml_get(items->items[k], inner);
			}
		}
	}
	return NULL;
}

static const char *
kube_beside(struct arena *a, const char *file, const char *path)
{
	const char *slash = strrchr(file, '/');

	return path[0] == '/' || slash == NULL
		   ? path
		   : arena_printf(a, "%.*s%s", (int)(slash + 1 - file), file, path);
}

/* KEY-data (base64) or KEY (a path beside the file) as text; NULL if neither is there. */
static enum berth_code
kube_pem(struct kube *s, const struct yaml_node *map, const char *file, const char *key,
    const char **out, struct berth_err *err)
{
	struct arena *a = s->env->arena;
	const char *data = NULL, *path = NULL, *data_key = arena_printf(a, "%s-data", key);
	char *bytes = NULL;
	size_t n;
	enum berth_code rc;

	if ((rc = yaml_str(map, data_key, &data, err)) != BERTH_OK ||
	    (rc = yaml_str(map, key, &path, err)) != BERTH_OK)
		return rc;
	if (data != NULL && data[0] != '\0') {
		rc = base64_decode(a, data, &bytes, &n, err);
		if (rc != BERTH_OK)
			return yaml_err(yaml_get(map, data_key), err, "it is no base64");
	} else if (path != NULL && path[0] != '\0' &&
		   (rc = fileio_slurp(
			a, kube_beside(a, file, path), KUBE_PEM_MAX, &bytes, &n, err)) != BERTH_OK)
		return err_ctx(err, "%s", key);
	*out = bytes;
	return BERTH_OK;
}

static enum berth_code
kube_read_cluster(
    struct kube *s, const struct yaml_node *map, const char *file, struct berth_err *err)
{
	struct kube_access *c = &s->access;
	bool lax = false;
	const char *name = NULL, *server = NULL;
	char *url;
	size_t n;
	enum berth_code rc;

	if ((rc = yaml_bool(map, "insecure-skip-tls-verify", &lax, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "tls-server-name", &name, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "proxy-url", &c->proxy, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "server", &server, err)) != BERTH_OK ||
	    (rc = kube_pem(s, map, file, "certificate-authority", &c->ca_pem, err)) != BERTH_OK)
		return rc;
	if (lax)
		return yaml_err(yaml_get(map, "insecure-skip-tls-verify"), err,
		    "certificates are always verified: name the authority by certificate-authority "
		    "instead");
	if (name != NULL)
		return yaml_err(yaml_get(map, "tls-server-name"), err,
		    "not supported: let 'server' be a name of the certificate");
	if (server == NULL)
		return yaml_err(map, err, "the cluster has no 'server'");
	url = arena_strdup(s->env->arena, server);
	for (n = strlen(url); n > 0 && url[n - 1] == '/';)
		url[--n] = '\0';
	c->server = url;
	return endpoint_check("server", url, ENDPOINT_SECRETS, err);
}

static enum berth_code
kube_read_user(struct kube *s, const struct yaml_node *map, const char *file, struct berth_err *err)
{
	static const char *const programs[] = { "exec", "auth-provider" }, *const refused[] = {
		"username", "as"
	};
	struct kube_access *c = &s->access;
	const char *token = NULL, *path = NULL, *key = NULL;
	enum berth_code rc;

	for (size_t i = 0; i < 2; i++)
		if (yaml_get(map, programs[i]) != NULL)
			return yaml_err(yaml_get(map, programs[i]), err,
			    "berth runs no programs for tokens: use a service account's token "
			    "(kubectl create token), a client certificate, or berth within the "
			    "cluster");
	for (size_t i = 0; i < 2; i++)
		if (yaml_get(map, refused[i]) != NULL)
			return yaml_err(yaml_get(map, refused[i]), err, "not supported");
	if ((rc = yaml_str(map, "token", &token, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "tokenFile", &path, err)) != BERTH_OK ||
	    (rc = kube_pem(s, map, file, "client-certificate", &c->cert_pem, err)) != BERTH_OK ||
	    (rc = kube_pem(s, map, file, "client-key", &key, err)) != BERTH_OK)
		return rc;
	if ((c->cert_pem != NULL) != (key != NULL))
		return yaml_err(map, err, "client-certificate and client-key go together");
	if (path != NULL)
		c->token_file = kube_beside(s->env->arena, file, arena_strdup(s->env->arena, path));
	if ((token != NULL && path == NULL && (c->token = strdup(token)) == NULL) ||
	    (key != NULL && (c->key_pem = strdup(key)) == NULL))
		return err_set(err, BERTH_ENOMEM, "no memory for a key");
	if (token == NULL && path == NULL && c->cert_pem == NULL)
		return yaml_err(map, err, "the user has no token and no client certificate");
	return BERTH_OK;
}

static enum berth_code
kube_read_context(struct kube *s, const struct kube_files *f, struct berth_err *err)
{
	const char *context = prov_conf_str(s->env->conf, "context", NULL), *cluster = NULL,
		   *user = NULL, *path = f->path[0];
	const struct yaml_node *map;
	enum berth_code rc;

	for (size_t i = 0; context == NULL && i < f->n; i++)
		if ((rc = yaml_str(f->root[i], "current-context", &context, err)) != BERTH_OK)
			return rc;
	if (context == NULL || context[0] == '\0')
		return err_set(err, BERTH_EINVAL,
		    "%s has no current-context: name one by 'context'", f->path[0]);
	map = kube_named(f, "contexts", context, "context", &path);
	if (map == NULL)
		return err_set(err, BERTH_EINVAL, "%s has no context '%s'", f->path[0], context);
	if ((rc = yaml_str(map, "cluster", &cluster, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "user", &user, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "namespace", &s->access.namespace, err)) != BERTH_OK)
		return rc;
	map = cluster != NULL ? kube_named(f, "clusters", cluster, "cluster", &path) : NULL;
	if (map == NULL)
		return err_set(
		    err, BERTH_EINVAL, "%s: context '%s' has no cluster", f->path[0], context);
	if ((rc = kube_read_cluster(s, map, path, err)) != BERTH_OK)
		return rc;
	map = user != NULL ? kube_named(f, "users", user, "user", &path) : NULL;
	if (map == NULL)
		return err_set(
		    err, BERTH_EINVAL, "%s: context '%s' has no user", f->path[0], context);
	return kube_read_user(s, map, path, err);
}

/* A pod finds all of it in its own files; the token there is renewed by the hour. */
static enum berth_code
kube_in_cluster(struct kube *s, const char *folder, struct berth_err *err)
{
	const char *host = getenv("KUBERNETES_SERVICE_HOST"),
		   *port = getenv("KUBERNETES_SERVICE_PORT");
	struct kube_access *c = &s->access;
	struct arena *a = s->env->arena;
	char *bytes = NULL;
	enum berth_code rc;

	if (host == NULL || host[0] == '\0')
		return err_set(err, BERTH_EINVAL,
		    "no kubeconfig, and this is no pod: name the file by 'kubeconfig'");
	c->server = arena_printf(a, strchr(host, ':') != NULL ? "https://[%s]:%s" : "https://%s:%s",
	    host, port != NULL && port[0] != '\0' ? port : "443");
	c->token_file = arena_printf(a, "%s/token", folder);
	if ((rc = fileio_slurp(a, arena_printf(a, "%s/ca.crt", folder), KUBE_PEM_MAX, &bytes, NULL,
		 err)) != BERTH_OK)
		return rc;
	c->ca_pem = bytes;
	if (fileio_slurp(a, arena_printf(a, "%s/namespace", folder), 256, &bytes, NULL, NULL) ==
	    BERTH_OK)
		c->namespace = str_trim(a, bytes);
	return endpoint_check("KUBERNETES_SERVICE_HOST", c->server, ENDPOINT_SECRETS, err);
}

static bool
kube_is_name(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-");

	return n > 0 && s[n] == '\0' && n <= 63;
}

enum berth_code
kube_access_read(struct kube *s, struct berth_err *err)
{
	const char *folder = prov_conf_path(s->env->conf, "in_cluster", NULL);
	struct kube_files f = { .n = 0 };
	enum berth_code rc = folder == NULL ? kube_load_all(s, &f, err) : BERTH_OK;

	if (rc == BERTH_OK)
		rc = f.n > 0 ? kube_read_context(s, &f, err)
			     : kube_in_cluster(s, folder != NULL ? folder : KUBE_POD, err);
	if (rc != BERTH_OK)
		return rc;
	s->access.namespace = prov_conf_str(s->env->conf, "namespace",
	    s->access.namespace != NULL ? s->access.namespace : "default");
	if (!kube_is_name(s->access.namespace))
		return err_set(
		    err, BERTH_EINVAL, "'%s' is no name of a namespace", s->access.namespace);
	return BERTH_OK;
}
