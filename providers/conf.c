#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "providers/conf.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/fileio.h"
#include "util/str.h"
#include "util/vec.h"
#include "util/yaml.h"

#define CONF_SECRET_MAX 65536

const struct prov_key prov_wire_keys[] = {
	{ "ca_file", PROV_KEY_PATH, false,
	    "PEM file of authorities to trust instead of the system's" },
	{ "proxy", PROV_KEY_STRING, false, "proxy URL" },
	{ "timeout", PROV_KEY_DURATION, false, "limit of one request with its repeats; 30s" },
	{ "rate", PROV_KEY_DOUBLE, false, "most requests a second; no limit" },
	{ NULL, PROV_KEY_STRING, false, NULL },
};

static const struct prov_key *
conf_key_in(const struct prov_key *keys, const char *name)
{
	for (; keys != NULL && keys->name != NULL; keys++)
		if (str_eq(keys->name, name))
			return keys;
	return NULL;
}

static const struct prov_key *
conf_key(const struct prov_conf *conf, const char *name)
{
	const struct prov_key *k = conf_key_in(conf->ops->keys, name);

	if (k == NULL && !provider_is_local(conf->ops))
		k = conf_key_in(prov_wire_keys, name);
	return k;
}

bool
prov_conf_knows(const struct prov_conf *conf, const char *name)
{
	return conf_key(conf, name) != NULL;
}

static void
conf_add_names(struct arena *a, const struct prov_key *keys, const char ***v, size_t *n)
{
	VEC(const char *) names = { *v, *n, *n };

	for (; keys != NULL && keys->name != NULL; keys++)
		VEC_PUSH(a, &names, keys->name);
	*v = names.v;
	*n = names.n;
}

static enum berth_code
conf_check_secret(const struct yaml_node *node, const char *text, struct berth_err *err)
{
	if ((str_starts(text, "env:") && text[4] != '\0') ||
	    (str_starts(text, "file:") && text[5] != '\0'))
		return BERTH_OK;
	return yaml_err(node, err,
	    "must be env:NAME or file:PATH; the secret itself does not belong in this file");
}

static enum berth_code
conf_check_value(const struct prov_conf *conf, const struct prov_key *key, struct berth_err *err)
{
	const struct yaml_node *map = conf->node, *v = yaml_get(map, key->name);
	const char *s = NULL, **list;
	int64_t i;
	double d;
	size_t n;
	bool b;
	enum berth_code rc;

	if (v == NULL)
		return key->required ? yaml_err(map, err, "%s accounts need '%s' (%s)",
					   conf->ops->name, key->name, key->help)
				     : BERTH_OK;
	switch (key->type) {
	case PROV_KEY_STRING:
	case PROV_KEY_PATH:
		return yaml_str(map, key->name, &s, err);
	case PROV_KEY_INT:
		return yaml_int(map, key->name, INT64_MIN, INT64_MAX, &i, err);
	case PROV_KEY_DOUBLE:
		return yaml_double(map, key->name, -1e300, 1e300, &d, err);
	case PROV_KEY_DURATION:
		return yaml_duration(map, key->name, &i, err);
	case PROV_KEY_BOOL:
		return yaml_bool(map, key->name, &b, err);
	case PROV_KEY_STRINGS:
		return yaml_str_list(conf->arena, map, key->name, &list, &n, err);
	case PROV_KEY_SECRET:
		rc = yaml_str(map, key->name, &s, err);
		return rc == BERTH_OK ? conf_check_secret(v, s, err) : rc;
	case PROV_KEY_NODE:
		return BERTH_OK;
	}
	return BERTH_OK;
}

enum berth_code
prov_conf_check(const struct prov_conf *conf, struct berth_err *err)
{
	const bool wire = !provider_is_local(conf->ops);
	const char **names = NULL, **list;
	size_t n = 0;
	enum berth_code rc;
	static const struct prov_key own[] = {
		{ "name", PROV_KEY_STRING, false, NULL }, { "provider", PROV_KEY_STRING, false, NULL },
		{ NULL, PROV_KEY_STRING, false, NULL },
	}, end[] = { { NULL, PROV_KEY_STRING, false, NULL } };

	if (conf->node == NULL) {
		for (const struct prov_key *k = conf->ops->keys; k != NULL && k->name != NULL; k++)
			if (k->required)
				return err_set(err, BERTH_EINVAL,
				    "%s accounts need '%s' in berth.yaml", conf->ops->name,
				    k->name);
		return BERTH_OK;
	}
	conf_add_names(conf->arena, own, &names, &n);
	conf_add_names(conf->arena, conf->ops->keys, &names, &n);
	conf_add_names(conf->arena, wire ? prov_wire_keys : end, &names, &n);
	list = arena_array(conf->arena, n + 1, sizeof(*list));
	memcpy(list, names, n * sizeof(*list));
	if ((rc = yaml_check_keys(conf->node, list, err)) != BERTH_OK)
		return rc;
	for (const struct prov_key *k = conf->ops->keys; k != NULL && k->name != NULL; k++)
		if ((rc = conf_check_value(conf, k, err)) != BERTH_OK)
			return rc;
	for (const struct prov_key *k = prov_wire_keys; wire && k->name != NULL; k++)
		if ((rc = conf_check_value(conf, k, err)) != BERTH_OK)
			return rc;
	return BERTH_OK;
}

const struct yaml_node *
prov_conf_node(const struct prov_conf *conf, const char *key)
{
	assert(conf_key(conf, key) != NULL);
	return conf->node != NULL ? yaml_get(conf->node, key) : NULL;
}

bool
prov_conf_has(const struct prov_conf *conf, const char *key)
{
	return prov_conf_node(conf, key) != NULL;
}

/* The getters cannot fail: prov_conf_check() has read every value once. */

const char *
prov_conf_str(const struct prov_conf *conf, const char *key, const char *fallback)
{
	const char *s = fallback;

	if (prov_conf_has(conf, key))
		(void)!yaml_str(conf->node, key, &s, NULL);
	return s;
}

const char *
prov_conf_path(const struct prov_conf *conf, const char *key, const char *fallback)
{
	const char *s = prov_conf_str(conf, key, fallback);

	if (s == NULL || s[0] == '/' || s[0] == '\0' || conf->dir == NULL || conf->dir[0] == '\0')
		return s;
	return arena_printf(conf->arena, "%s/%s", conf->dir, s);
}

int64_t
prov_conf_int(const struct prov_conf *conf, const char *key, int64_t fallback)
{
	int64_t v = fallback;

	if (!prov_conf_has(conf, key))
		return fallback;
	if (conf_key(conf, key)->type == PROV_KEY_DURATION)
		(void)!yaml_duration(conf->node, key, &v, NULL);
	else
		(void)!yaml_int(conf->node, key, INT64_MIN, INT64_MAX, &v, NULL);
	return v;
}

double
prov_conf_double(const struct prov_conf *conf, const char *key, double fallback)
{
	double v = fallback;

	if (prov_conf_has(conf, key))
		(void)!yaml_double(conf->node, key, -1e300, 1e300, &v, NULL);
	return v;
}

bool
prov_conf_bool(const struct prov_conf *conf, const char *key, bool fallback)
{
	bool v = fallback;

	if (prov_conf_has(conf, key))
		(void)!yaml_bool(conf->node, key, &v, NULL);
	return v;
}

size_t
prov_conf_strings(const struct prov_conf *conf, const char *key, const char *const **strings_out)
{
	const char **list = NULL;
	size_t n = 0;

	if (prov_conf_has(conf, key))
		(void)!yaml_str_list(conf->arena, conf->node, key, &list, &n, NULL);
	*strings_out = list;
	return n;
}

static enum berth_code
conf_secret_file(
    const char *dir, const char *key, const char *path, char **secret_out, struct berth_err *err)
{
	char full[4096];
	enum berth_code rc;
	struct buf b;

	if (path[0] != '/' && dir != NULL && dir[0] != '\0') {
		snprintf(full, sizeof(full), "%s/%s", dir, path);
		path = full;
	}
	buf_init(&b, CONF_SECRET_MAX);
	rc = fileio_read(path, &b, err);
	if (rc != BERTH_OK) {
		err_ctx(err, "%s", key);
		rc = err != NULL ? (err->code = BERTH_EAUTH) : BERTH_EAUTH;
		goto out;
	}
	while (b.len > 0 && (b.p[b.len - 1] == '\n' || b.p[b.len - 1] == '\r'))
		b.p[--b.len] = '\0';
	if (b.len == 0) {
		rc = err_set(err, BERTH_EAUTH, "%s: %s is empty", key, path);
		goto out;
	}
	*secret_out = strdup(b.p);
	if (*secret_out == NULL)
		rc = err_set(err, BERTH_ENOMEM, "%s: no memory", key);
out:
	buf_wipe(&b);
	return rc;
}

enum berth_code
prov_conf_secret(
    const struct prov_conf *conf, const char *key, char **secret_out, struct berth_err *err)
{
	const char *from = prov_conf_str(conf, key, NULL);

	if (from == NULL)
		return err_set(err, BERTH_EAUTH, "no '%s' in berth.yaml", key);
	return prov_secret(from, conf->dir, key, secret_out, err);
}

enum berth_code
prov_secret(
    const char *from, const char *dir, const char *key, char **secret_out, struct berth_err *err)
{
	const char *s;

	if (str_starts(from, "file:"))
		return conf_secret_file(dir, key, from + 5, secret_out, err);
	if (!str_starts(from, "env:"))
		return err_set(err, BERTH_EINVAL, "%s: must be env:NAME or file:PATH", key);
	s = getenv(from + 4);
	if (s == NULL || s[0] == '\0')
		return err_set(err, BERTH_EAUTH,
		    "%s: the environment has no %s: set it, or use file:PATH", key, from + 4);
	*secret_out = strdup(s);
	return *secret_out != NULL ? BERTH_OK : err_set(err, BERTH_ENOMEM, "%s: no memory", key);
}
