#include <stdlib.h>
#include <string.h>

#include "net/http_cache.h"
#include "net/http_tape.h"
#include "providers/net.h"
#include "util/arena.h"
#include "util/xdg.h"
#include "util/yaml.h"

struct prov_net {
	int refs;
	struct http *http;
	struct http_cache *cache;
	struct http_tape *tape;
	int sync_within_s, prices_within_s, lease_within_s; /* 0: not said */
};

static enum berth_code
net_alloc(struct prov_net **net_out, struct berth_err *err)
{
	struct prov_net *net = calloc(1, sizeof(*net));

	if (net == NULL)
		return err_set(err, BERTH_ENOMEM, "no memory for a network");
	net->refs = 1;
	*net_out = net;
	return BERTH_OK;
}

enum berth_code
prov_net_new(const struct http_config *conf, struct prov_net **net_out, struct berth_err *err)
{
	struct prov_net *net = NULL;
	enum berth_code rc = net_alloc(&net, err);

	if (rc == BERTH_OK)
		rc = http_new(conf, &net->http, err);
	if (rc == BERTH_OK)
		*net_out = net;
	else
		free(net);
	return rc;
}

/* What the section says. */
struct net_section {
	struct http_config http;
	const char *record, *replay;
	bool cache;
	int64_t timeout_s, sync_within_s, prices_within_s, lease_within_s;
};

static const char *
net_path(struct arena *a, const char *dir, const char *path)
{
	if (path == NULL || path[0] == '/' || dir == NULL || dir[0] == '\0')
		return path;
	return arena_printf(a, "%s/%s", dir, path);
}

static enum berth_code
net_read(const struct yaml_node *config, const char *dir, struct arena *a, struct net_section *s,
    struct berth_err *err)
{
	static const char *const keys[] = { "proxy", "ca_file", "timeout", "cache", "record",
		"replay", "sync_within", "prices_within", "lease_within", NULL };
	const struct yaml_node *map = NULL;
	enum berth_code rc = config != NULL ? yaml_map(config, "network", &map, err) : BERTH_OK;

	if (rc != BERTH_OK || map == NULL)
		return rc;
	if ((rc = yaml_check_keys(map, keys, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "proxy", &s->http.proxy, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "ca_file", &s->http.ca_file, err)) != BERTH_OK ||
	    (rc = yaml_duration(map, "timeout", &s->timeout_s, err)) != BERTH_OK ||
	    (rc = yaml_bool(map, "cache", &s->cache, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "record", &s->record, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "replay", &s->replay, err)) != BERTH_OK ||
	    (rc = yaml_duration(map, "sync_within", &s->sync_within_s, err)) != BERTH_OK ||
	    (rc = yaml_duration(map, "prices_within", &s->prices_within_s, err)) != BERTH_OK ||
	    (rc = yaml_duration(map, "lease_within", &s->lease_within_s, err)) != BERTH_OK)
		return rc;
	if (s->timeout_s < 0 || s->timeout_s > 86400 || s->sync_within_s < 0 ||
	    s->sync_within_s > 86400 || s->prices_within_s < 0 || s->prices_within_s > 86400 ||
	    s->lease_within_s < 0 || s->lease_within_s > 86400)
		return yaml_err(map, err, "a limit of time must be at most a day");
	s->http.ca_file = net_path(a, dir, s->http.ca_file);
	s->record = net_path(a, dir, s->record);
	s->replay = net_path(a, dir, s->replay);
	if (s->timeout_s > 0)
		s->http.timeout_s = (int)s->timeout_s;
	return BERTH_OK;
}

static const char *
net_env(const char *name, const char *fallback)
{
	const char *s = getenv(name);

	return s != NULL && s[0] != '\0' ? s : fallback;
}

static enum berth_code
net_open(struct prov_net *net, const struct net_section *s, struct arena *a, struct berth_err *err)
{
	const char *record = net_env("BERTH_RECORD", s->record),
		   *replay = net_env("BERTH_REPLAY", s->replay);
	char *cache = NULL;
	enum berth_code rc = http_new(&s->http, &net->http, err);

	if (rc == BERTH_OK && replay != NULL)
		rc = http_tape_replay(replay, &net->tape, err);
	else if (rc == BERTH_OK && record != NULL)
		rc = http_tape_record(record, &net->tape, err);
	/* A recording holds what was said on the wire, so neither it nor its replay has a cache
	 * before it. */
	if (rc == BERTH_OK && net->tape == NULL && s->cache &&
	    xdg_path(a, XDG_CACHE, "http", "", &cache, NULL) == BERTH_OK)
		rc = http_cache_new(cache, &net->cache, err);
	net->sync_within_s = (int)s->sync_within_s;
	net->prices_within_s = (int)s->prices_within_s;
	net->lease_within_s = (int)s->lease_within_s;
	return rc;
}

enum berth_code
prov_net_open(const struct yaml_node *config, const char *config_dir, struct prov_net **net_out,
    struct berth_err *err)
{
	struct net_section s = { .cache = true, .http = { .timeout_s = PROV_NET_TIMEOUT_S } };
	struct prov_net *net = NULL;
	struct arena *a = arena_new();
	enum berth_code rc = net_read(config, config_dir, a, &s, err);

	if (rc == BERTH_OK)
		rc = net_alloc(&net, err);
	if (rc == BERTH_OK)
		rc = net_open(net, &s, a, err);
	arena_free(a);
	if (rc == BERTH_OK)
		*net_out = net;
	else
		prov_net_free(net);
	return rc;
}

struct prov_net *
prov_net_ref(struct prov_net *net)
{
	if (net != NULL)
		net->refs++;
	return net;
}

void
prov_net_free(struct prov_net *net)
{
	if (net == NULL || --net->refs > 0)
		return;
	http_free(net->http);
	http_cache_free(net->cache);
	http_tape_free(net->tape);
	free(net);
}

int
prov_net_sync_within_s(const struct prov_net *net, int fallback)
{
	return net != NULL && net->sync_within_s > 0 ? net->sync_within_s : fallback;
}

int
prov_net_prices_within_s(const struct prov_net *net, int fallback)
{
	return net != NULL && net->prices_within_s > 0 ? net->prices_within_s : fallback;
}

int
prov_net_lease_within_s(const struct prov_net *net, int fallback)
{
	return net != NULL && net->lease_within_s > 0 ? net->lease_within_s : fallback;
}

struct http *
net_http(struct prov_net *net)
{
	return net->http;
}

struct http_cache *
net_cache(const struct prov_net *net)
{
	return net != NULL ? net->cache : NULL;
}

struct http_tape *
net_tape(const struct prov_net *net)
{
	return net != NULL ? net->tape : NULL;
}
