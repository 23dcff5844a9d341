#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/accel.h"
#include "providers/openstack/openstack.h"
#include "providers/prov.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/glob.h"
#include "util/str.h"

#define OPENSTACK_GROUPS 16

/* A resource or trait key's group: "resources1:VGPU" -> "1"; false: it is none. */
static bool
openstack_group(
    const char *key, const char *prefix, const char **suffix, size_t *len, const char **name)
{
	const char *colon;

	if (!str_starts(key, prefix))
		return false;
	*suffix = key + strlen(prefix);
	colon = strchr(*suffix, ':');
	if (colon == NULL || colon[1] == '\0')
		return false;
	*len = (size_t)(colon - *suffix);
	*name = colon + 1;
	for (size_t i = 0; i < *len; i++)
		if (!str_is_alnum((*suffix)[i]) && (*suffix)[i] != '_')
			return false;
	return true;
}

/* The table's name or the account's for a word of the cloud; NULL: it says no accelerator that we
 * know. */
static const char *
openstack_name(const struct openstack *s, const char *word)
{
	static const char *const prefixes[] = { "CUSTOM_PCI_", "CUSTOM_GPU_", "CUSTOM_", "GPU_",
		"PCI_" };
	const char *name = rates_accelerator(&s->rates, word);
	const struct accel *a;

	if (name != NULL || s->env->accels == NULL)
		return name;
	if ((a = accel_find(s->env->accels, word)) != NULL)
		return a->name;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (str_starts(word, prefixes[i]) &&
		    (a = accel_find(s->env->accels, word + strlen(prefixes[i]))) != NULL)
			return a->name;
	return NULL;
}

/* A word that speaks of GPUs although nobody knows which. */
static bool
openstack_speaks(const char *word)
{
	return glob_match("*gpu*", word) || glob_match("*cuda*", word) ||
	       glob_match("*nvidia*", word) || glob_match("*npu*", word);
}

static void
openstack_take(
    struct openstack_flavor *f, const char *word, const char *name, int64_t count, bool placed)
{
	f->word = word;
	f->accelerator = name != NULL ? name : word;
	f->count = (int)count;
	f->placed = placed;
}

/* pci_passthrough:alias "a100:2,nic:1": the operator's own names; the one that is an accelerator
 * counts. */
static bool
openstack_alias(
    const struct openstack *s, const char *list, struct arena *a, struct openstack_flavor *f)
{
	size_t n;
	char **items = str_split(a, list, ',', &n);

	for (size_t i = 0; i < n; i++) {
		char *colon = strrchr(items[i], ':');
		int64_t count = 1;
		const char *name;

		if (colon != NULL && str_to_i64(colon + 1, 1, 4096, &count, NULL) == BERTH_OK)
			*colon = '\0';
		name = openstack_name(s, items[i]);
		if (name == NULL && !openstack_speaks(items[i]))
			continue;
		openstack_take(f, items[i], name, count, false);
		return true;
	}
	return false;
}

/* resources:VGPU=1 and the like; a required trait may say which. */
static bool
openstack_resources(const struct openstack *s, const struct jsonr *specs, struct arena *a,
    struct openstack_flavor *f)
{
	const char *key, *suffix, *class, *trait, *name = NULL, *word = NULL;
	int64_t count = 0, n = 0;
	size_t len;
	json_t *v;

	json_object_foreach((json_t *)(uintptr_t)specs->v, key, v)
	{
		if (!openstack_group(key, "resources", &suffix, &len, &class) ||
		    !json_is_string(v) ||
		    str_to_i64(json_string_value(v), 0, 4096, &n, NULL) != BERTH_OK || n == 0)
			continue;
		if (str_eq(class, "VCPU") || str_eq(class, "PCPU") || str_eq(class, "MEMORY_MB") ||
		    str_eq(class, "DISK_GB"))
			continue;
		if (openstack_name(s, class) == NULL && !openstack_speaks(class))
			continue;
		count += n;
		word = arena_strdup(a, class);
		name = openstack_name(s, class);
	}
	if (count == 0 || count > 4096)
		return false;
	json_object_foreach((json_t *)(uintptr_t)specs->v, key,
	    v) if (openstack_group(key, "trait", &suffix, &len, &trait) && json_is_string(v) &&
		   str_eq(json_string_value(v), "required") && openstack_name(s, trait) != NULL)
	{
		name = openstack_name(s, trait);
		word = arena_strdup(a, trait);
	}
	openstack_take(f, word, name, count, true);
	return true;
}

static const char *
openstack_spec(const struct jsonr *specs, const char *key)
{
	struct jsonr v = jsonr_get(specs, key);

	return json_is_string(v.v) ? json_string_value(v.v) : NULL;
}

bool
openstack_flavor_read(const struct openstack *s, const struct jsonr *flavor, struct arena *a,
    struct openstack_flavor *f)
{
	struct jsonr specs = jsonr_get(flavor, "extra_specs");
	const char *alias = openstack_spec(&specs, "pci_passthrough:alias");
	const char *profile = openstack_spec(&specs, "accel:device_profile");

	if (!json_is_object(specs.v))
		return false;
	if (alias != NULL && openstack_alias(s, alias, a, f))
		return true;
	if (openstack_resources(s, &specs, a, f))
		return true;
	if (profile == NULL)
		return false;
	openstack_take(f, arena_strdup(a, profile), openstack_name(s, profile), 1, false);
	return true;
}

/* The flavour as a question to placement:
 * "resources=DISK_GB:20,MEMORY_MB:..,VCPU:8&resources1=VGPU:1&required1=...". */
struct openstack_fit {
	const char *suffix[OPENSTACK_GROUPS], *resources[OPENSTACK_GROUPS],
	    *required[OPENSTACK_GROUPS];
	size_t n;
};

static size_t
openstack_fit_group(struct openstack_fit *q, struct arena *a, const char *suffix, size_t len)
{
	for (size_t i = 0; i < q->n; i++)
		if (strlen(q->suffix[i]) == len && strncmp(q->suffix[i], suffix, len) == 0)
			return i;
	if (q->n == OPENSTACK_GROUPS)
		return 0;
	q->suffix[q->n] = arena_strndup(a, suffix, len);
	q->resources[q->n] = q->required[q->n] = "";
	return q->n++;
}

static const char *
openstack_joined(struct arena *a, const char *list, const char *item)
{
	return arena_printf(a, "%s%s%s", list, list[0] != '\0' ? "," : "", item);
}

/* What the flavour says by its numbers, unless an extra spec says it otherwise. */
static void
openstack_fit_base(struct openstack_fit *q, const struct jsonr *flavor, const struct jsonr *specs,
    bool volume, struct arena *a)
{
	static const struct {
		const char *key, *class;
	} base[] = { { "vcpus", "VCPU" }, { "ram", "MEMORY_MB" }, { "disk", "DISK_GB" } };

	for (size_t i = 0; i < 3; i++) {
		int64_t n = 0;

		(void)!jsonr_int(flavor, base[i].key, 0, INT32_MAX, &n, NULL);
		if (n > 0 &&
		    openstack_spec(specs, arena_printf(a, "resources:%s", base[i].class)) == NULL &&
		    (i < 2 || !volume))
			q->resources[0] = openstack_joined(a, q->resources[0],
			    arena_printf(a, "%s:%lld", base[i].class, (long long)n));
	}
}

static const char *
openstack_fit(const struct openstack *s, const struct jsonr *flavor, struct arena *a)
{
	struct jsonr specs = jsonr_get(flavor, "extra_specs");
	struct openstack_fit q = {
		.suffix = { "" }, .resources = { "" }, .required = { "" }, .n = 1
	};
	const char *key, *suffix, *name, *out = "limit=1";
	const char *policy = openstack_spec(&specs, "group_policy");
	size_t len, numbered = 0;
	json_t *v;

	openstack_fit_base(&q, flavor, &specs, s->boot_volume_gib > 0, a);
	json_object_foreach((json_t *)(uintptr_t)specs.v, key, v)
	{
		const char *value = json_string_value(v);

		if (value != NULL && openstack_group(key, "resources", &suffix, &len, &name) &&
		    !str_eq(value, "0")) {
			size_t g = openstack_fit_group(&q, a, suffix, len);

			q.resources[g] = openstack_joined(a, q.resources[g],
			    arena_printf(
				a, "%s:%s", http_urlencode(a, name), http_urlencode(a, value)));
		} else if (value != NULL && openstack_group(key, "trait", &suffix, &len, &name)) {
			size_t g = openstack_fit_group(&q, a, suffix, len);

			q.required[g] = openstack_joined(a, q.required[g],
			    arena_printf(a, "%s%s", str_eq(value, "forbidden") ? "!" : "",
				http_urlencode(a, name)));
		}
	}
	for (size_t i = 0; i < q.n; i++) {
		if (q.resources[i][0] != '\0')
			out =
			    arena_printf(a, "%s&resources%s=%s", out, q.suffix[i], q.resources[i]);
		if (q.required[i][0] != '\0')
			out = arena_printf(a, "%s&required%s=%s", out, q.suffix[i], q.required[i]);
		numbered += q.suffix[i][0] != '\0' && q.resources[i][0] != '\0';
	}
	return numbered < 2 ? out
			    : arena_printf(a, "%s&group_policy=%s", out,
				  policy != NULL ? http_urlencode(a, policy) : "none");
}

static enum berth_code
openstack_add_flavor(struct openstack *s, const struct jsonr *o, struct berth_err *err)
{
	static const char *const needed[] = { "id", "name", "vcpus", "ram", NULL };
	struct openstack_flavor f = { .vcpus = NAN, .memory_mib = NAN, .memory_gib_each = NAN };
	bool disabled = false;
	enum berth_code rc;

	if ((rc = jsonr_need(o, needed, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "name", &f.name, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "id", &f.id, err)) != BERTH_OK ||
	    (rc = jsonr_double(o, "vcpus", &f.vcpus, err)) != BERTH_OK ||
	    (rc = jsonr_double(o, "ram", &f.memory_mib, err)) != BERTH_OK ||
	    (rc = jsonr_bool(o, "OS-FLV-DISABLED:disabled", &disabled, err)) != BERTH_OK)
		return rc;
	if (disabled || !glob_match_any(s->flavors, s->n_flavors, f.name) ||
	    !openstack_flavor_read(s, o, s->pass, &f))
		return BERTH_OK;
	f.name = arena_strdup(s->pass, f.name);
	f.id = arena_strdup(s->pass, f.id);
	f.fit = openstack_fit(s, o, s->pass);
	VEC_PUSH(s->pass, &s->found, f);
	return BERTH_OK;
}

static enum berth_code
openstack_emit(const struct openstack *s, const struct openstack_flavor *f,
    enum availability available, prov_offer_fn *emit, void *arg, struct berth_err *err)
{
	struct offer o = {
		.provider = "openstack",
		.account = "",
		.region = s->who.region,
		.zone = s->zone,
		.instance_type = f->name,
		.accelerator = f->accelerator,
		.accelerator_count = f->count,
		.accelerator_memory_gib = f->memory_gib_each,
		.vcpus = f->vcpus,
		.memory_gib = f->memory_mib / 1024,
		.purchase = PURCHASE_ON_DEMAND,
		.upfront = USD_ZERO,
		.price = USD_UNKNOWN,
		.currency = "USD",
		.available = available,
		.interruption_rate = NAN,
		.measured = NAN,
		.as_of = s->env->now,
		.source = s->compute,
	};

	rates_price(&s->rates, f->word, &o);
	return emit(arg, &o, err);
}

/* Pages of flavours ("f" + marker), then for each found one whether it fits ("c" + number). */
static enum berth_code
openstack_offers_build(void *st, const struct prov_query *q, const struct prov_cursor *cur,
    struct http_req *req, struct berth_err *err)
{
	struct openstack *s = st;
	struct arena *a = req->arena;
	int64_t i = 0;

	(void)q;
	s->asking = SIZE_MAX;
	if (cur->next[0] == 'c' &&
	    str_to_i64(cur->next + 1, 0, (int64_t)s->found.n - 1, &i, NULL) == BERTH_OK) {
		s->asking = (size_t)i;
		req->any_status = true; /* a right that most projects lack */
		return openstack_request(s, req, "GET", s->placement, OPENSTACK_PLACEMENT,
		    arena_printf(a, "allocation_candidates?%s", s->found.v[i].fit), err);
	}
	return openstack_request(s, req, "GET", s->compute, OPENSTACK_NOVA,
	    arena_printf(a, "flavors/detail?is_public=None&limit=500%s%s",
		cur->next[0] == 'f' ? "&marker=" : "", cur->next[0] == 'f' ? cur->next + 1 : ""),
	    err);
}

static enum berth_code
openstack_flavors_parse(struct openstack *s, const struct http_resp *resp, struct prov_cursor *cur,
    prov_offer_fn *emit, void *arg, struct berth_err *err)
{
	struct jsonr root, list;
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	if (rc != BERTH_OK)
		return rc;
	if (cur->page == 0) {
		arena_reset(s->pass);
		memset(&s->found, 0, sizeof(s->found));
		memset(&s->broken, 0, sizeof(s->broken));
	}
	root = jsonr_root(v, "answer");
	rc = jsonr_array(&root, "flavors", &list, err);
	if (rc == BERTH_OK && list.v == NULL)
		rc = jsonr_err(&root, BERTH_ETRANSIENT, err, "no flavors in the answer");
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&list); i++) {
		struct jsonr f = jsonr_at(&list, i);

		rc = openstack_add_flavor(s, &f, err);
	}
	cur->next[0] = 'f';
	if (rc == BERTH_OK)
		rc = openstack_next(
		    &root, "flavors_links", cur->next + 1, sizeof(cur->next) - 1, err);
	json_decref(v);
	if (rc != BERTH_OK || cur->next[1] != '\0')
		return rc;
	cur->next[0] = '\0';
	if (s->ask_placement && s->placement[0] != '\0' && s->found.n > 0) {
		str_copy(cur->next, sizeof(cur->next), "c0");
		return BERTH_OK;
	}
	for (size_t i = 0; rc == BERTH_OK && i < s->found.n; i++)
		rc = openstack_emit(s, &s->found.v[i], AVAIL_UNKNOWN, emit, arg, err);
	return rc;
}

/* No candidate: it does not fit now. A candidate: it does, if placement counts the accelerators of
 * this flavour at all. */
static enum availability
openstack_fits(const struct http_resp *resp, const struct openstack_flavor *f)
{
	struct jsonr root, list;
	json_t *v = NULL;
	enum availability out = AVAIL_UNKNOWN;

	if (resp->status == 200 && wirejson_parse(resp, &v, NULL) == BERTH_OK) {
		root = jsonr_root(v, "answer");
		list = jsonr_get(&root, "allocation_requests");
		if (json_is_array(list.v))
			out = jsonr_len(&list) == 0 ? AVAIL_NO
			      : f->placed           ? AVAIL_YES
						    : AVAIL_UNKNOWN;
	}
	json_decref(v);
	return out;
}

static enum berth_code
openstack_candidates_parse(struct openstack *s, const struct http_resp *resp,
    struct prov_cursor *cur, size_t i, prov_offer_fn *emit, void *arg, struct berth_err *err)
{
	const bool allowed = resp->status != 401 && resp->status != 403 && resp->status != 404;
	enum berth_code rc =
	    openstack_emit(s, &s->found.v[i], openstack_fits(resp, &s->found.v[i]), emit, arg, err);

	for (i++; !allowed && rc == BERTH_OK && i < s->found.n; i++)
		rc = openstack_emit(s, &s->found.v[i], AVAIL_UNKNOWN, emit, arg, err);
	if (i < s->found.n)
		snprintf(cur->next, sizeof(cur->next), "c%zu", i);
	return rc;
}

static enum berth_code
openstack_offers_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_offer_fn *emit, void *arg, struct berth_err *err)
{
	struct openstack *s = st;

	if (s->asking < s->found.n)
		return openstack_candidates_parse(s, resp, cur, s->asking, emit, arg, err);
	return openstack_flavors_parse(s, resp, cur, emit, arg, err);
}

static enum berth_code
openstack_quota_build(
    void *st, const struct prov_cursor *cur, struct http_req *req, struct berth_err *err)
{
	const struct openstack *s = st;

	(void)cur;
	return openstack_request(s, req, "GET", s->compute, NULL, "limits", err);
}

static enum berth_code
openstack_quota_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_quota_fn *emit, void *arg, struct berth_err *err)
{
	static const struct {
		const char *limit, *used, *unit;
	} rows[] = {
		{ "maxTotalInstances", "totalInstancesUsed", "machine" },
		{ "maxTotalCores", "totalCoresUsed", "vcpu" },
		{ "maxTotalRAMSize", "totalRAMUsed", "mib" },
	};
	const struct openstack *s = st;
	struct jsonr root, limits, absolute;
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	(void)cur;
	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	limits = jsonr_get(&root, "limits");
	absolute = jsonr_get(&limits, "absolute");
	if (!json_is_object(absolute.v))
		rc = jsonr_err(&root, BERTH_ETRANSIENT, err, "no limits in the answer");
	for (size_t i = 0; rc == BERTH_OK && i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct prov_quota q = { .purchase = PURCHASE_ON_DEMAND, .limit = NAN, .used = NAN };

		if ((rc = jsonr_double(&absolute, rows[i].limit, &q.limit, err)) != BERTH_OK ||
		    (rc = jsonr_double(&absolute, rows[i].used, &q.used, err)) != BERTH_OK ||
		    !(q.limit >= 0))
			continue; /* -1: without a limit */
		str_copy(q.region, sizeof(q.region), s->who.region);
		str_copy(q.name, sizeof(q.name), rows[i].limit);
		str_copy(q.unit, sizeof(q.unit), rows[i].unit);
		q.counts = q.any_purchase = !str_eq(q.unit, "mib");
		rc = emit(arg, &q, err);
	}
	json_decref(v);
	return rc;
}

const struct prov_market_ops openstack_market = {
	.offers_build = openstack_offers_build,
	.offers_parse = openstack_offers_parse,
	.quota_build = openstack_quota_build,
	.quota_parse = openstack_quota_parse,
};
