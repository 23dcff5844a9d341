#include <limits.h>
#include <math.h>
#include <string.h>

#include "providers/replay/trace.h"
#include "util/arena.h"
#include "util/duration.h"
#include "util/fileio.h"
#include "util/str.h"
#include "util/time.h"
#include "util/vec.h"
#include "util/yaml.h"

#define TRACE_PRICE_MAX 1e6
#define TRACE_NOTICE_MAX_S 86400
#define TRACE_REPEAT_MIN_S 60 /* each turn costs a step of the simulation */

struct trace_reader {
	struct arena *a;
	int64_t start, repeat_s;
};

/* "2h30m", or 0 for the start. */
static enum berth_code
trace_offset(const struct yaml_node *n, int64_t *s_out, struct berth_err *err)
{
	const char *text = NULL;
	struct berth_err own;
	enum berth_code rc = yaml_as_str(n, &text, err);

	if (rc != BERTH_OK)
		return rc;
	if (duration_parse(text, s_out, &own) != BERTH_OK)
		return yaml_err(n, err, "%s", own.msg);
	return BERTH_OK;
}

/* One pair [OFFSET, VALUE] behind the step before. */
static enum berth_code
trace_step(const struct yaml_node *pair, double max, bool first, int64_t last, int64_t *at_out,
    double *value_out, struct berth_err *err)
{
	enum berth_code rc = yaml_need_kind(pair, YAML_KIND_LIST, err);

	if (rc != BERTH_OK)
		return rc;
	if (pair->n != 2)
		return yaml_err(pair, err, "must be [OFFSET, VALUE], as in [2h, 12.50]");
	if ((rc = trace_offset(pair->items[0], at_out, err)) != BERTH_OK)
		return rc;
	if (first ? *at_out != 0 : *at_out <= last)
		return yaml_err(
		    pair, err, first ? "the first offset must be 0" : "offsets must ascend");
	return yaml_as_double(pair->items[1], 0, max, value_out, err);
}

static enum berth_code
trace_curve(const struct trace_reader *r, const struct yaml_node *map, const char *key, double max,
    struct curve *c, struct berth_err *err)
{
	const struct yaml_node *n = yaml_get(map, key);
	int64_t *at, last = 0;
	double *value;
	enum berth_code rc;

	*c = (struct curve){ .start = r->start, .repeat_s = r->repeat_s };
	if (n == NULL)
		return BERTH_OK;
	c->n = n->kind == YAML_KIND_LIST ? n->n : 1;
	if (c->n == 0)
		return yaml_err(n, err, "no steps");
	c->at = at = arena_array(r->a, c->n, sizeof(*at));
	c->value = value = arena_array(r->a, c->n, sizeof(*value));
	if (n->kind != YAML_KIND_LIST)
		return yaml_as_double(n, 0, max, &value[0], err);
	for (size_t i = 0; i < c->n; i++) {
		rc = trace_step(n->items[i], max, i == 0, last, &at[i], &value[i], err);
		if (rc != BERTH_OK)
			return rc;
		last = at[i];
	}
	return BERTH_OK;
}

static enum berth_code
trace_preempts(const struct trace_reader *r, const struct yaml_node *map, struct trace_market *m,
    struct berth_err *err)
{
	const struct yaml_node *list = NULL;
	int64_t *t, at = 0, last = -1;
	enum berth_code rc = yaml_list(map, "preempt", &list, err);

	if (rc != BERTH_OK || list == NULL)
		return rc;
	m->n_preempt = list->n;
	m->preempt = t = arena_array(r->a, list->n, sizeof(*t));
	for (size_t i = 0; i < list->n; i++) {
		if ((rc = trace_offset(list->items[i], &at, err)) != BERTH_OK)
			return rc;
		if (at <= last)
			return yaml_err(list->items[i], err, "offsets must ascend");
		last = at;
		t[i] = r->start + at;
	}
	return BERTH_OK;
}

static enum berth_code
trace_market_read(const struct trace_reader *r, const struct yaml_node *pool, const char *key,
    int64_t notice_s, struct trace_market *m, struct berth_err *err)
{
	static const char *const keys[] = { "price", "capacity", "notice", "hazard", "preempt",
		"interruption_rate", "shown", NULL };
	static const char *const needed[] = { "price", NULL };
	const struct yaml_node *map = NULL;
	enum berth_code rc = yaml_map(pool, key, &map, err);

	*m = (struct trace_market){ .notice_s = notice_s, .interruption_rate = NAN, .shown = true };
	if (rc != BERTH_OK || map == NULL)
		return rc;
	m->sold = true;
	if ((rc = yaml_check_keys(map, keys, err)) != BERTH_OK ||
	    (rc = yaml_need_keys(map, needed, err)) != BERTH_OK ||
	    (rc = trace_curve(r, map, "price", TRACE_PRICE_MAX, &m->price, err)) != BERTH_OK ||
	    (rc = trace_curve(r, map, "capacity", INT_MAX, &m->capacity, err)) != BERTH_OK ||
	    (rc = yaml_duration(map, "notice", &m->notice_s, err)) != BERTH_OK ||
	    (rc = yaml_double(map, "hazard", 0, 1e4, &m->hazard, err)) != BERTH_OK ||
	    (rc = yaml_double(map, "interruption_rate", 0, 1e4, &m->interruption_rate, err)) !=
		BERTH_OK ||
	    (rc = yaml_bool(map, "shown", &m->shown, err)) != BERTH_OK)
		return rc;
	if (m->notice_s > TRACE_NOTICE_MAX_S)
		return yaml_err(yaml_get(map, "notice"), err, "a notice of more than a day");
	return trace_preempts(r, map, m, err);
}

static enum berth_code
trace_reserved_read(const struct yaml_node *map, struct trace_reserved *out, struct berth_err *err)
{
	static const char *const keys[] = { "term_months", "payment", "upfront", "price", NULL };
	static const char *const needed[] = { "term_months", "price", NULL };
	const char *payment = "none";
	int64_t months = 0;
	enum berth_code rc;

	out->upfront = USD_ZERO;
	if ((rc = yaml_need_kind(map, YAML_KIND_MAP, err)) != BERTH_OK ||
	    (rc = yaml_check_keys(map, keys, err)) != BERTH_OK ||
	    (rc = yaml_need_keys(map, needed, err)) != BERTH_OK ||
	    (rc = yaml_int(map, "term_months", 1, 120, &months, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "payment", &payment, err)) != BERTH_OK ||
	    (rc = yaml_money(map, "upfront", &out->upfront, err)) != BERTH_OK ||
	    (rc = yaml_money(map, "price", &out->price, err)) != BERTH_OK)
		return rc;
	out->term_months = (int)months;
	if (!payment_parse(payment, &out->payment))
		return yaml_err(yaml_get(map, "payment"), err, "must be none, partial or all");
	if (out->payment == PAYMENT_NONE && out->upfront.v != 0)
		return yaml_err(map, err, "payment none, but an upfront price");
	return BERTH_OK;
}

static enum berth_code
trace_reserved_list(const struct trace_reader *r, const struct yaml_node *pool,
    struct trace_pool *p, struct berth_err *err)
{
	const struct yaml_node *list = NULL;
	struct trace_reserved *v;
	enum berth_code rc = yaml_list(pool, "reserved", &list, err);

	if (rc != BERTH_OK || list == NULL)
		return rc;
	p->n_reserved = list->n;
	p->reserved = v = arena_array(r->a, list->n, sizeof(*v));
	for (size_t i = 0; i < list->n; i++)
		if ((rc = trace_reserved_read(list->items[i], &v[i], err)) != BERTH_OK)
			return rc;
	return BERTH_OK;
}

/* "3m", or a list of two durations. */
static enum berth_code
trace_startup(const struct yaml_node *map, struct trace_pool *p, struct berth_err *err)
{
	const struct yaml_node *n = yaml_get(map, "startup");
	enum berth_code rc;

	p->startup_min_s = p->startup_max_s = 120;
	if (n == NULL)
		return BERTH_OK;
	if (n->kind != YAML_KIND_LIST) {
		rc = trace_offset(n, &p->startup_min_s, err);
		p->startup_max_s = p->startup_min_s;
		return rc;
	}
	if (n->n != 2)
		return yaml_err(n, err, "must be a duration or [SHORTEST, LONGEST]");
	if ((rc = trace_offset(n->items[0], &p->startup_min_s, err)) != BERTH_OK ||
	    (rc = trace_offset(n->items[1], &p->startup_max_s, err)) != BERTH_OK)
		return rc;
	if (p->startup_max_s < p->startup_min_s)
		return yaml_err(n, err, "the longest is shorter than the shortest");
	return BERTH_OK;
}

static enum berth_code
trace_quality(const struct yaml_node *map, struct trace_pool *p, struct berth_err *err)
{
	static const char *const keys[] = { "share", "factor", NULL };
	const struct yaml_node *slow = NULL;
	enum berth_code rc;

	p->slow_factor = 1;
	if ((rc = yaml_map(map, "slow", &slow, err)) != BERTH_OK)
		return rc;
	if (slow != NULL &&
	    ((rc = yaml_check_keys(slow, keys, err)) != BERTH_OK ||
		(rc = yaml_need_keys(slow, keys, err)) != BERTH_OK ||
		(rc = yaml_double(slow, "share", 0, 1, &p->slow_share, err)) != BERTH_OK ||
		(rc = yaml_double(slow, "factor", 0.01, 1, &p->slow_factor, err)) != BERTH_OK))
		return rc;
	if ((rc = yaml_double(map, "broken", 0, 1, &p->broken_share, err)) != BERTH_OK ||
	    (rc = yaml_double(map, "fail", 0, 1, &p->fail_share, err)) != BERTH_OK ||
	    (rc = yaml_double(map, "jitter", 0, 0.2, &p->jitter, err)) != BERTH_OK)
		return rc;
	if (p->slow_share + p->broken_share > 1)
		return yaml_err(map, err, "slow and broken machines together are more than all");
	return BERTH_OK;
}

static enum berth_code
trace_pool_names(const struct yaml_node *map, struct trace_pool *p, struct berth_err *err)
{
	static const char *const keys[] = { "provider", "region", "zone", "instance_type",
		"accelerator", "accelerator_count", "accelerator_memory_gib", "vcpus", "memory_gib",
		"startup", "teardown", "slow", "broken", "fail", "jitter", "on_demand", "spot",
		"reserved", NULL };
	static const char *const needed[] = { "region", "instance_type", "accelerator", NULL };
	int64_t count = 1;
	enum berth_code rc;

	p->provider = "replay";
	p->zone = "";
	p->accelerator_memory_gib = p->vcpus = p->memory_gib = NAN;
	if ((rc = yaml_need_kind(map, YAML_KIND_MAP, err)) != BERTH_OK ||
	    (rc = yaml_check_keys(map, keys, err)) != BERTH_OK ||
	    (rc = yaml_need_keys(map, needed, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "provider", &p->provider, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "region", &p->region, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "zone", &p->zone, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "instance_type", &p->instance_type, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "accelerator", &p->accelerator, err)) != BERTH_OK ||
	    (rc = yaml_int(map, "accelerator_count", 1, 4096, &count, err)) != BERTH_OK ||
	    (rc = yaml_double(map, "accelerator_memory_gib", 0.1, 1e5, &p->accelerator_memory_gib,
		 err)) != BERTH_OK ||
	    (rc = yaml_double(map, "vcpus", 0, 1e6, &p->vcpus, err)) != BERTH_OK ||
	    (rc = yaml_double(map, "memory_gib", 0, 1e7, &p->memory_gib, err)) != BERTH_OK ||
	    (rc = yaml_duration(map, "teardown", &p->teardown_s, err)) != BERTH_OK)
		return rc;
	p->accelerator_count = (int)count;
	return BERTH_OK;
}

static enum berth_code
trace_pool_read(const struct trace_reader *r, const struct yaml_node *map, struct trace_pool *p,
    struct berth_err *err)
{
	enum berth_code rc;

	if ((rc = trace_pool_names(map, p, err)) != BERTH_OK ||
	    (rc = trace_startup(map, p, err)) != BERTH_OK ||
	    (rc = trace_quality(map, p, err)) != BERTH_OK ||
	    (rc = trace_market_read(r, map, "on_demand", 0, &p->market[PURCHASE_ON_DEMAND], err)) !=
		BERTH_OK ||
	    (rc = trace_market_read(r, map, "spot", 120, &p->market[PURCHASE_SPOT], err)) !=
		BERTH_OK)
		return rc;
	return trace_reserved_list(r, map, p, err);
}

static enum berth_code
trace_quota_read(const struct yaml_node *map, struct trace_quota *q, struct berth_err *err)
{
	static const char *const keys[] = { "provider", "region", "accelerator", "purchase",
		"limit", NULL };
	static const char *const needed[] = { "purchase", "limit", NULL };
	const char *purchase = "";
	int64_t limit = 0;
	enum berth_code rc;

	q->provider = q->region = q->accelerator = "*";
	if ((rc = yaml_need_kind(map, YAML_KIND_MAP, err)) != BERTH_OK ||
	    (rc = yaml_check_keys(map, keys, err)) != BERTH_OK ||
	    (rc = yaml_need_keys(map, needed, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "provider", &q->provider, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "region", &q->region, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "accelerator", &q->accelerator, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "purchase", &purchase, err)) != BERTH_OK ||
	    (rc = yaml_int(map, "limit", 0, INT_MAX, &limit, err)) != BERTH_OK)
		return rc;
	q->limit = (int)limit;
	if (!purchase_parse(purchase, &q->purchase) || q->purchase == PURCHASE_RESERVED)
		return yaml_err(yaml_get(map, "purchase"), err, "must be on_demand or spot");
	return BERTH_OK;
}

/* Two pools of one name could not be told apart in a create. */
static enum berth_code
trace_check_names(
    const struct trace *t, const struct yaml_node *list, struct arena *a, struct berth_err *err)
{
	for (size_t i = 0; i < t->n_pools; i++)
		for (size_t k = 0; k < i; k++)
			if (str_eq(
				trace_pool_key(&t->pools[i], a), trace_pool_key(&t->pools[k], a)))
				return yaml_err(list->items[i], err,
				    "the pool %s is there already (line %d)",
				    trace_pool_key(&t->pools[i], a), list->items[k]->line);
	return BERTH_OK;
}

static enum berth_code
trace_lists(const struct yaml_node *root, const struct trace_reader *r, struct trace *t,
    struct berth_err *err)
{
	const struct yaml_node *pools = NULL, *quotas = NULL;
	enum berth_code rc;

	if ((rc = yaml_list(root, "pools", &pools, err)) != BERTH_OK ||
	    (rc = yaml_list(root, "quotas", &quotas, err)) != BERTH_OK)
		return rc;
	t->n_pools = pools->n;
	t->pools = arena_array(r->a, pools->n, sizeof(*t->pools));
	for (size_t i = 0; i < pools->n; i++)
		if ((rc = trace_pool_read(r, pools->items[i], &t->pools[i], err)) != BERTH_OK)
			return rc;
	if ((rc = trace_check_names(t, pools, r->a, err)) != BERTH_OK || quotas == NULL)
		return rc;
	t->n_quotas = quotas->n;
	t->quotas = arena_array(r->a, quotas->n, sizeof(*t->quotas));
	for (size_t i = 0; i < quotas->n; i++)
		if ((rc = trace_quota_read(quotas->items[i], &t->quotas[i], err)) != BERTH_OK)
			return rc;
	return BERTH_OK;
}

static enum berth_code
trace_root(const struct yaml_node *root, int64_t start, struct arena *a, struct trace *trace_out,
    struct berth_err *err)
{
	static const char *const keys[] = { "schema", "start", "repeat", "pools", "quotas", NULL };
	static const char *const needed[] = { "schema", "start", "pools", NULL };
	struct trace_reader r = { .a = a };
	const char *schema = "", *slash;
	enum berth_code rc;

	if ((rc = yaml_need_kind(root, YAML_KIND_MAP, err)) != BERTH_OK ||
	    (rc = yaml_check_keys(root, keys, err)) != BERTH_OK ||
	    (rc = yaml_need_keys(root, needed, err)) != BERTH_OK ||
	    (rc = yaml_str(root, "schema", &schema, err)) != BERTH_OK)
		return rc;
	if (!str_eq(schema, "berth.replay/1"))
		return yaml_err(
		    yaml_get(root, "schema"), err, "'%s' is not berth.replay/1", schema);
	if ((rc = yaml_time(root, "start", 0, NULL, &r.start, err)) != BERTH_OK ||
	    (rc = yaml_duration(root, "repeat", &r.repeat_s, err)) != BERTH_OK)
		return rc;
	if (r.repeat_s != 0 && r.repeat_s < TRACE_REPEAT_MIN_S)
		return yaml_err(yaml_get(root, "repeat"), err, "must be 0s or at least %ds",
		    TRACE_REPEAT_MIN_S);
	if (start != 0)
		r.start = start;
	slash = strrchr(root->file, '/');
	trace_out->source = slash != NULL ? slash + 1 : root->file;
	trace_out->start = r.start;
	return trace_lists(root, &r, trace_out, err);
}

enum berth_code
trace_parse(const char *name, const char *bytes, size_t n, int64_t start, struct arena *a,
    struct trace *trace_out, struct berth_err *err)
{
	const struct yaml_node *root = NULL;
	enum berth_code rc;

	memset(trace_out, 0, sizeof(*trace_out));
	rc = yaml_parse(a, bytes, n, name, &root, err);
	return rc == BERTH_OK ? trace_root(root, start, a, trace_out, err) : rc;
}

enum berth_code
trace_load(const char *path, int64_t start, struct arena *a, struct trace *trace_out,
    struct berth_err *err)
{
	const struct yaml_node *root = NULL;
	enum berth_code rc;

	memset(trace_out, 0, sizeof(*trace_out));
	rc = yaml_load(a, path, &root, err);
	return rc == BERTH_OK ? trace_root(root, start, a, trace_out, err) : rc;
}
