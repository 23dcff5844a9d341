#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/config.h"
#include "providers/prov.h"
#include "store/prune.h"
#include "util/arena.h"
#include "util/fileio.h"
#include "util/str.h"
#include "util/xdg.h"
#include "util/yaml.h"

#define CONFIG_SCHEMA "berth.config/1"
#define CONFIG_KEEP_MIN_S INT64_C(86400)
#define CONFIG_SYSTEM "/etc/berth/berth.yaml"

static const char *const config_keys[] = { "schema", "store", "accounts", "defaults", "retention",
	"limits", "quotas", "sinks", "roadmap", "joins", "network", "prices", "measure", "fleets",
	"fair_share", "block", "idle", NULL };
static const char *const config_default_keys[] = { "service_level", "horizon", "zone", "holidays",
	"purchase", "region", "max_price", NULL };

const char *
config_find(struct arena *a, const char *option)
{
	const char *env = getenv("BERTH_CONFIG");
	struct berth_err ignored;
	char *path;

	if (option != NULL)
		return option;
	if (env != NULL && *env != '\0')
		return env;
	if (xdg_path(a, XDG_CONFIG, "berth.yaml", "--config FILE", &path, &ignored) == BERTH_OK &&
	    fileio_exists(path))
		return path;
	return fileio_exists(CONFIG_SYSTEM) ? CONFIG_SYSTEM : "";
}

const struct config_account *
config_account_find(const struct config *c, const char *name)
{
	for (size_t i = 0; i < c->n_accounts; i++)
		if (strcmp(c->accounts[i].name, name) == 0)
			return &c->accounts[i];
	return NULL;
}

static bool
config_name_ok(const char *s)
{
	size_t n = strlen(s);

	return n >= 1 && n <= 63 && strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789._-") == n;
}

static enum berth_code
config_account(const struct yaml_node *node, const struct config *c, struct config_account *out,
    struct berth_err *err)
{
	static const char *const needed[] = { "name", "provider", NULL };
	enum berth_code rc;

	if ((rc = yaml_need_kind(node, YAML_KIND_MAP, err)) != BERTH_OK ||
	    (rc = yaml_need_keys(node, needed, err)) != BERTH_OK ||
	    (rc = yaml_str(node, "name", &out->name, err)) != BERTH_OK ||
	    (rc = yaml_str(node, "provider", &out->provider, err)) != BERTH_OK)
		return rc;
	out->node = node;
	if (!config_name_ok(out->name))
		return yaml_err(yaml_get(node, "name"), err,
		    "'%s' is no account name: use 1 to 63 of a-z, 0-9, '.', '_' and '-'",
		    out->name);
	if (config_account_find(c, out->name) != NULL)
		return yaml_err(
		    yaml_get(node, "name"), err, "a second account named '%s'", out->name);
	return prov_section_check(node, err);
}

static enum berth_code
config_accounts(
    struct arena *a, const struct yaml_node *root, struct config *c, struct berth_err *err)
{
	const struct yaml_node *list = NULL;
	struct config_account *accounts;
	enum berth_code rc;

	rc = yaml_list(root, "accounts", &list, err);
	if (rc != BERTH_OK || list == NULL)
		return rc;
	accounts = arena_array_of(a, list->n, struct config_account);
	c->accounts = accounts;
	for (size_t i = 0; i < list->n && rc == BERTH_OK; i++) {
		rc = config_account(list->items[i], c, &accounts[i], err);
		c->n_accounts = i + 1;
	}
	return rc;
}

static enum berth_code
config_defaults(
    struct arena *a, const struct yaml_node *root, struct config_defaults *d, struct berth_err *err)
{
	const struct yaml_node *map = NULL;
	enum berth_code rc;

	rc = yaml_map(root, "defaults", &map, err);
	if (rc != BERTH_OK || map == NULL)
		return rc;
	if ((rc = yaml_check_keys(map, config_default_keys, err)) != BERTH_OK ||
	    (rc = yaml_double(map, "service_level", 0, 1, &d->service_level, err)) != BERTH_OK ||
	    (rc = yaml_duration(map, "horizon", &d->horizon_s, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "zone", &d->zone, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "holidays", &d->holidays, err)) != BERTH_OK)
		return rc;
	if (d->service_level <= 0 || d->service_level >= 1)
		return yaml_err(
		    yaml_get(map, "service_level"), err, "must lie between 0 and 1, as in 0.95");
	if (yaml_get(map, "horizon") != NULL && d->horizon_s <= 0)
		return yaml_err(yaml_get(map, "horizon"), err, "must be longer than 0, as in 4w");
	return job_defaults_read(root, a, &d->job, err);
}

static enum berth_code
config_keep(const struct yaml_node *map, const char *key, int64_t *s_out, struct berth_err *err)
{
	const struct yaml_node *node = yaml_get(map, key);
	const char *text = "";
	enum berth_code rc = yaml_str(map, key, &text, err);

	if (rc == BERTH_OK && str_eq(text, "forever")) {
		*s_out = 0;
		return BERTH_OK;
	}
	if (rc == BERTH_OK)
		rc = yaml_duration(map, key, s_out, err);
	if (rc == BERTH_OK && node != NULL && *s_out < CONFIG_KEEP_MIN_S)
		rc = yaml_err(node, err, "must be a day or more, as in 100d, or forever");
	return rc;
}

static enum berth_code
config_retention(const struct yaml_node *root, struct config_retention *k, struct berth_err *err)
{
	static const char *const keys[] = { "raw", "hourly", "records", NULL };
	const struct yaml_node *map = NULL;
	enum berth_code rc;

	rc = yaml_map(root, "retention", &map, err);
	if (rc != BERTH_OK || map == NULL)
		return rc;
	if ((rc = yaml_check_keys(map, keys, err)) != BERTH_OK ||
	    (rc = config_keep(map, "raw", &k->raw_s, err)) != BERTH_OK ||
	    (rc = config_keep(map, "hourly", &k->hourly_s, err)) != BERTH_OK ||
	    (rc = config_keep(map, "records", &k->records_s, err)) != BERTH_OK)
		return rc;
	if (k->hourly_s != 0 && (k->raw_s == 0 || k->raw_s > k->hourly_s))
		return yaml_err(yaml_get(map, yaml_get(map, "hourly") != NULL ? "hourly" : "raw"),
		    err,
		    "hourly must be at least as long as raw: hours are made of the steps that raw "
		    "is about");
	return rc;
}

static enum berth_code
config_read(struct arena *a, const struct yaml_node *root, struct config *c, struct berth_err *err)
{
	const char *schema = CONFIG_SCHEMA;
	enum berth_code rc;

	if ((rc = yaml_need_kind(root, YAML_KIND_MAP, err)) != BERTH_OK ||
	    (rc = yaml_str(root, "schema", &schema, err)) != BERTH_OK)
		return rc;
	if (!str_eq(schema, CONFIG_SCHEMA))
		return yaml_err(yaml_get(root, "schema"), err,
		    "'%s' is not what this berth reads: " CONFIG_SCHEMA, schema);
	if ((rc = yaml_check_keys(root, config_keys, err)) != BERTH_OK ||
	    (rc = yaml_str(root, "store", &c->store, err)) != BERTH_OK ||
	    (rc = yaml_str(root, "roadmap", &c->roadmap, err)) != BERTH_OK ||
	    (rc = config_accounts(a, root, c, err)) != BERTH_OK)
		return rc;
	rc = config_retention(root, &c->retention, err);
	return rc == BERTH_OK ? config_defaults(a, root, &c->defaults, err) : rc;
}

enum berth_code
config_load(struct arena *a, const char *path, struct config *config_out, struct berth_err *err)
{
	const char *slash = strrchr(path, '/');
	struct config c = { .path = path, .dir = "" };
	enum berth_code rc;

	if (slash != NULL)
		c.dir = arena_strndup(a, path, slash == path ? 1 : (size_t)(slash - path));
	c.defaults =
	    (struct config_defaults){ .service_level = 0.95, .job = { .max_price = USD_UNKNOWN } };
	c.retention = (struct config_retention){ INT64_C(100) * 86400, INT64_C(1096) * 86400,
		STORE_RECORDS_S };
	if (path[0] != '\0') {
		rc = yaml_load(a, path, &c.root, err);
		if (rc == BERTH_OK)
			rc = config_read(a, c.root, &c, err);
		if (rc != BERTH_OK)
			return rc;
	}
	*config_out = c;
	return BERTH_OK;
}
