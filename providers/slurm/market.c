#include <math.h>
#include <stdio.h>
#include <string.h>

#include "providers/prov.h"
#include "providers/slurm/slurm.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/strmap.h"
#include "util/vec.h"

/* What can be asked for in one partition: so many of a kind on one node, with their share of it. */
struct slurm_shape {
	const char *partition, *gres, *type, *features;
	int64_t count, cpus, memory_mib; /* least share of any node that can serve it */
	bool free;
};

struct slurm_node {
	const char *features;
	int64_t cpus, alloc_cpus, memory_mib, alloc_mib;
	bool usable;
};

struct slurm_offers {
	struct slurm *s;
	struct arena *a;
	VEC(struct slurm_shape) shapes;
	struct strmap index;
};

static bool
slurm_listed(const char *const *list, size_t n, const char *word)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(list[i], word))
			return true;
	return n == 0;
}

/* First the partitions, for their states; then the nodes. */
static enum berth_code
slurm_offers_build(void *st, const struct prov_query *q, const struct prov_cursor *cur,
    struct http_req *req, struct berth_err *err)
{
	(void)q;
	return slurm_request(
	    st, req, "GET", false, cur->next[0] == '\0' ? "partitions" : "nodes", err);
}

static enum berth_code
slurm_partitions(struct slurm *s, const struct jsonr *list, struct berth_err *err)
{
	arena_reset(s->pass);
	s->down = arena_new_of(s->pass, struct strmap);
	for (size_t i = 0; i < jsonr_len(list); i++) {
		struct jsonr p = jsonr_at(list, i), inner = jsonr_get(&p, "partition");
		const struct jsonr *holds =
		    json_is_object(inner.v) ? &inner : &p; /* from v0.0.40 on */
		struct jsonr state = jsonr_get(holds, "state");
		const char *name = "";
		enum berth_code rc = jsonr_str(&p, "name", &name, err);

		if (rc != BERTH_OK)
			return rc;
		/* v0.0.39 says nothing of it: then the scheduler decides */
		if (!jsonr_none(&state) && !slurm_has_word(holds, "state", "UP"))
			strmap_add(s->pass, s->down, name, 1, NULL);
	}
	return BERTH_OK;
}

static bool
slurm_usable(const struct slurm *s, const struct jsonr *o)
{
	static const char *const no[] = { "DOWN", "DRAIN", "DRAINED", "DRAINING", "ERROR", "FAIL",
		"FAILING", "FUTURE", "DYNAMIC_FUTURE", "MAINT", "MAINTENANCE", "NOT_RESPONDING",
		"NO_RESPOND", "INVAL", "INVALID", "INVALID_REG", "REBOOT_ISSUED",
		"REBOOT_REQUESTED", "POWERING_DOWN", "POWER_DOWN", "POWER_DRAIN", "UNKNOWN",
		"PLANNED", "BLOCKED", "EXTERNAL" };

	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		if (slurm_has_word(o, "state", no[i]) || slurm_has_word(o, "state_flags", no[i]))
			return false;
	return s->reservation != NULL || (!slurm_has_word(o, "state", "RESERVED") &&
					     !slurm_has_word(o, "state_flags", "RESERVED"));
}

static struct slurm_shape *
slurm_shape(struct slurm_offers *f, const char *partition, const struct slurm_gres *g,
    int64_t count, const char *features)
{
	const char *key =
	    arena_printf(f->a, "%s\n%s\n%s\n%lld", partition, g->name, g->type, (long long)count);
	int added = 0;
	size_t *at = strmap_add(f->a, &f->index, key, f->shapes.n, &added);

	if (added)
		VEC_PUSH(f->a, &f->shapes,
		    (struct slurm_shape){ partition, g->name, g->type, features, count, INT64_MAX,
			INT64_MAX, false });
	return &f->shapes.v[*at];
}

static void
slurm_add_shape(struct slurm_offers *f, const char *partition, const struct slurm_node *n,
    const struct slurm_gres *g, int64_t used, int64_t count)
{
	struct slurm_shape *s = slurm_shape(f, partition, g, count, n->features);
	int64_t cpus = n->cpus * count / g->count, mib = n->memory_mib * count / g->count;

	if (cpus < s->cpus)
		s->cpus = cpus;
	if (mib < s->memory_mib)
		s->memory_mib = mib;
	s->free |= n->usable && g->count - used >= count && n->cpus - n->alloc_cpus >= cpus &&
		   n->memory_mib - n->alloc_mib >= mib &&
		   (f->s->down == NULL || strmap_get(f->s->down, partition) == NULL);
}

/* Of one kind on one node: 1, 2, 4 ... and all of them. */
static void
slurm_add_sizes(struct slurm_offers *f, const char *partition, const struct slurm_node *n,
    const struct slurm_gres *g, int64_t used)
{
	for (int64_t k = 1; k < g->count; k *= 2)
		slurm_add_shape(f, partition, n, g, used, k);
	slurm_add_shape(f, partition, n, g, used, g->count);
}

static int64_t
slurm_used(struct arena *a, const char *used, const struct slurm_gres *of)
{
	const struct slurm_gres *g;
	int64_t n = 0;

	while ((g = slurm_gres_next(a, &used)) != NULL)
		if (str_eq(g->name, of->name) && str_eq(g->type, of->type) && g->count <= of->count)
			n += g->count;
	return n;
}

static const char *
slurm_text(struct arena *a, const struct jsonr *o, const char *key)
{
	struct jsonr v = jsonr_get(o, key);
	const char *s = "";

	if (json_is_array(v.v)) /* features, from v0.0.40 on */
		for (size_t i = 0; i < jsonr_len(&v); i++) {
			const char *item = json_string_value(json_array_get(v.v, i));

			s = arena_printf(
			    a, "%s%s%s", s, i > 0 ? "," : "", item != NULL ? item : "");
		}
	else if (json_is_string(v.v))
		s = json_string_value(v.v);
	return s;
}

static enum berth_code
slurm_add_node(struct slurm_offers *f, const struct jsonr *o, struct berth_err *err)
{
	static const char *const needed[] = { "name", "gres", "partitions", NULL };
	const char *gres = slurm_text(f->a, o, "gres"), *used = slurm_text(f->a, o, "gres_used");
	struct slurm_node n = { .features = slurm_text(f->a, o, "features"),
		.usable = slurm_usable(f->s, o) };
	struct jsonr parts;
	const struct slurm_gres *g;
	enum berth_code rc;

	if ((rc = jsonr_need(o, needed, err)) != BERTH_OK ||
	    (rc = jsonr_array(o, "partitions", &parts, err)) != BERTH_OK)
		return rc;
	(void)!slurm_number(o, "cpus", &n.cpus);
	(void)!slurm_number(o, "alloc_cpus", &n.alloc_cpus);
	(void)!slurm_number(o, "real_memory", &n.memory_mib);
	(void)!slurm_number(o, "alloc_memory", &n.alloc_mib);
	while ((g = slurm_gres_next(f->a, &gres)) != NULL) {
		if (!slurm_listed(f->s->gres, f->s->n_gres, g->name) || g->count < 1 ||
		    g->count > 4096)
			continue;
		for (size_t i = 0; i < jsonr_len(&parts); i++) {
			const char *name = json_string_value(json_array_get(parts.v, i));

			if (name != NULL &&
			    slurm_listed(f->s->partitions, f->s->n_partitions, name))
				slurm_add_sizes(f, name, &n, g, slurm_used(f->a, used, g));
		}
	}
	return BERTH_OK;
}

/* The name of a shape's accelerator: as the account says it, by type or by a feature of its nodes;
 * else the type. */
static const char *
slurm_accelerator(const struct slurm_offers *f, const struct slurm_shape *p)
{
	const char *name = rates_accelerator(&f->s->rates, p->type[0] != '\0' ? p->type : p->gres);
	char **words;
	size_t n;

	if (name != NULL)
		return name;
	words = str_split(f->a, p->features, ',', &n);
	for (size_t i = 0; i < n; i++)
		if ((name = rates_accelerator(&f->s->rates, words[i])) != NULL)
			return name;
	return p->type[0] != '\0' ? p->type : p->gres;
}

static enum berth_code
slurm_emit_shape(const struct slurm_offers *f, const struct slurm_shape *p, prov_offer_fn *emit,
    void *arg, struct berth_err *err)
{
	const struct slurm *s = f->s;
	struct offer o = {
		.provider = "slurm",
		.account = "",
		.region = s->region,
		.zone = p->partition,
		.instance_type = arena_printf(f->a, "%s%s%s:%lld", p->gres,
		    p->type[0] != '\0' ? ":" : "", p->type, (long long)p->count),
		.accelerator = slurm_accelerator(f, p),
		.accelerator_count = (int)p->count,
		.accelerator_memory_gib = NAN,
		.vcpus = p->cpus > 0 ? (double)p->cpus : NAN,
		.memory_gib = p->memory_mib > 0 ? (double)p->memory_mib / 1024 : NAN,
		.purchase = PURCHASE_ON_DEMAND,
		.upfront = USD_ZERO,
		.price = USD_UNKNOWN,
		.currency = "USD",
		.available = p->free ? AVAIL_YES : AVAIL_NO,
		.interruption_rate = NAN,
		.measured = NAN,
		.as_of = s->env->now,
		.source = "berth.yaml",
	};
	enum berth_code rc;

	rates_price(&s->rates, p->type, &o);
	rc = emit(arg, &o, err);
	if (rc != BERTH_OK || s->spot_qos == NULL)
		return rc;
	o.purchase = PURCHASE_SPOT;
	o.price = USD_UNKNOWN;
	rates_price(&s->rates, p->type, &o);
	return emit(arg, &o, err);
}

static enum berth_code
slurm_nodes(struct slurm *s, const struct http_resp *resp, const struct jsonr *list,
    prov_offer_fn *emit, void *arg, struct berth_err *err)
{
	struct slurm_offers f = { .s = s, .a = resp->arena };
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(list); i++) {
		struct jsonr node = jsonr_at(list, i);

		rc = slurm_add_node(&f, &node, err);
	}
	for (size_t i = 0; rc == BERTH_OK && i < f.shapes.n; i++)
		rc = slurm_emit_shape(&f, &f.shapes.v[i], emit, arg, err);
	return rc;
}

static enum berth_code
slurm_offers_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_offer_fn *emit, void *arg, struct berth_err *err)
{
	const bool first = cur->page == 0;
	struct jsonr root, list;
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	rc = jsonr_array(&root, first ? "partitions" : "nodes", &list, err);
	if (rc == BERTH_OK && list.v == NULL)
		rc = jsonr_err(&root, BERTH_ETRANSIENT, err, "no %s in the answer",
		    first ? "partitions" : "nodes");
	if (rc == BERTH_OK && first) {
		rc = slurm_partitions(st, &list, err);
		str_copy(cur->next, sizeof(cur->next), "nodes");
	} else if (rc == BERTH_OK)
		rc = slurm_nodes(st, resp, &list, emit, arg, err);
	json_decref(v);
	return rc;
}

static enum berth_code
slurm_quota_build(
    void *st, const struct prov_cursor *cur, struct http_req *req, struct berth_err *err)
{
	(void)cur;
	return slurm_request(st, req, "GET", true, "qos", err);
}

/* Limits on accelerators in one list of TRES. */
static enum berth_code
slurm_limits(const struct slurm *s, const struct jsonr *tres, const char *qos, const char *scope,
    prov_quota_fn *emit, void *arg, struct berth_err *err)
{
	for (size_t i = 0; i < jsonr_len(tres); i++) {
		struct jsonr t = jsonr_at(tres, i);
		struct prov_quota q = {
			.unit = "gpu", .purchase = PURCHASE_ON_DEMAND, .used = NAN
		};
		const char *type = "", *name = "";
		int64_t count = 0;
		enum berth_code rc;
		char *base;

		if ((rc = jsonr_str(&t, "type", &type, err)) != BERTH_OK ||
		    (rc = jsonr_str(&t, "name", &name, err)) != BERTH_OK)
			return rc;
		base = arena_strndup(s->pass, name, strcspn(name, ":"));
		if (!str_eq(type, "gres") || !slurm_listed(s->gres, s->n_gres, base) ||
		    !slurm_number(&t, "count", &count))
			continue;
		q.limit = (double)count;
		q.purchase = s->spot_qos != NULL && str_eq(qos, s->spot_qos) ? PURCHASE_SPOT
									     : PURCHASE_ON_DEMAND;
		str_copy(q.region, sizeof(q.region), s->region);
		snprintf(q.name, sizeof(q.name), "qos %s %s gres/%s", qos, scope, name);
		if ((rc = emit(arg, &q, err)) != BERTH_OK)
			return rc;
	}
	return BERTH_OK;
}

static enum berth_code
slurm_qos(const struct slurm *s, const struct jsonr *qos, prov_quota_fn *emit, void *arg,
    struct berth_err *err)
{
	struct jsonr limits = jsonr_get(qos, "limits"), max = jsonr_get(&limits, "max"),
		     tres = jsonr_get(&max, "tres");
	struct jsonr per = jsonr_get(&tres, "per"), total = jsonr_get(&tres, "total");
	struct jsonr user = jsonr_get(&per, "user"), account = jsonr_get(&per, "account"),
		     job = jsonr_get(&per, "job");
	const char *name = "";
	enum berth_code rc;

	if ((rc = jsonr_str(qos, "name", &name, err)) != BERTH_OK ||
	    (rc = slurm_limits(s, &total, name, "GrpTRES", emit, arg, err)) != BERTH_OK ||
	    (rc = slurm_limits(s, &user, name, "MaxTRESPerUser", emit, arg, err)) != BERTH_OK ||
	    (rc = slurm_limits(s, &account, name, "MaxTRESPerAccount", emit, arg, err)) != BERTH_OK)
		return rc;
	return slurm_limits(s, &job, name, "MaxTRESPerJob", emit, arg, err);
}

static enum berth_code
slurm_quota_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_quota_fn *emit, void *arg, struct berth_err *err)
{
	struct jsonr root, list;
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	(void)cur;
	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	rc = jsonr_array(&root, "qos", &list, err);
	if (rc == BERTH_OK && list.v == NULL)
		rc = jsonr_array(&root, "QOS", &list, err); /* v0.0.38 */
	if (rc == BERTH_OK && list.v == NULL)
		rc = jsonr_err(&root, BERTH_ETRANSIENT, err, "no qos in the answer");
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&list); i++) {
		struct jsonr qos = jsonr_at(&list, i);

		rc = slurm_qos(st, &qos, emit, arg, err);
	}
	json_decref(v);
	return rc;
}

static enum berth_code
slurm_notices_build(
    void *st, const struct prov_cursor *cur, struct http_req *req, struct berth_err *err)
{
	(void)cur;
	return slurm_request(st, req, "GET", false, "jobs", err);
}

static enum berth_code
slurm_notices_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_machine_fn *emit, void *arg, struct berth_err *err)
{
	(void)cur;
	return slurm_jobs(st, resp, true, emit, arg, err);
}

const struct prov_market_ops slurm_market = {
	.offers_build = slurm_offers_build,
	.offers_parse = slurm_offers_parse,
	.quota_build = slurm_quota_build,
	.quota_parse = slurm_quota_parse,
	.notices_build = slurm_notices_build,
	.notices_parse = slurm_notices_parse,
};
