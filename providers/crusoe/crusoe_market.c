#include <math.h>
#include <string.h>

#include "providers/crusoe/crusoe.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/str.h"

static void
crusoe_forget(struct crusoe *c)
{
	arena_free(c->arena);
	c->arena = NULL;
	memset(&c->types, 0, sizeof(c->types));
}

/* What there is of each type and where, after what each type is. */
static enum berth_code
crusoe_offers_build(void *st, const struct prov_query *q, const struct prov_cursor *cur,
    struct http_req *req, struct berth_err *err)
{
	struct crusoe *c = st;

	(void)q;
	if (str_eq(cur->next, "capacities"))
		return crusoe_request(c, req, "GET", err, "capacities");
	crusoe_forget(c);
	return crusoe_request(c, req, "GET", err, "projects/%s/compute/vms/types", c->project);
}

static enum berth_code
crusoe_take_type(struct crusoe *c, const struct jsonr *item, struct berth_err *err)
{
	struct crusoe_type t = { .vcpus = NAN, .memory_gib = NAN };
	const char *name = "", *gpu = "";
	enum berth_code rc;

	if ((rc = jsonr_str(item, "product_name", &name, err)) != BERTH_OK ||
	    (rc = jsonr_str(item, "gpu_type", &gpu, err)) != BERTH_OK ||
	    (rc = jsonr_int(item, "num_gpu", 0, 4096, &t.gpus, err)) != BERTH_OK ||
	    (rc = jsonr_double(item, "cpu_cores", &t.vcpus, err)) != BERTH_OK ||
	    (rc = jsonr_double(item, "memory_gb", &t.memory_gib, err)) != BERTH_OK || t.gpus == 0 ||
	    name[0] == '\0')
		return rc;
	t.name = arena_strdup(c->arena, name);
	t.gpu = arena_strdup(c->arena, gpu);
	VEC_PUSH(c->arena, &c->types, t);
	return BERTH_OK;
}

static enum berth_code
crusoe_take_capacity(const struct crusoe *c, const struct jsonr *item, prov_offer_fn *emit,
    void *arg, struct berth_err *err)
{
	const char *name = "", *location = "", *known;
	int64_t quantity = 0;
	enum berth_code rc;

	if ((rc = jsonr_str(item, "type", &name, err)) != BERTH_OK ||
	    (rc = jsonr_str(item, "location", &location, err)) != BERTH_OK ||
	    (rc = jsonr_int(item, "quantity", 0, 1000000, &quantity, err)) != BERTH_OK)
		return rc;
	for (size_t i = 0; rc == BERTH_OK && i < c->types.n; i++) {
		const struct crusoe_type *t = &c->types.v[i];
		struct offer o = { .provider = "crusoe",
			.account = "",
			.region = location,
			.zone = "",
			.instance_type = t->name,
			.accelerator = t->gpu,
			.accelerator_count = (int)t->gpus,
			.accelerator_memory_gib = NAN,
			.vcpus = t->vcpus,
			.memory_gib = t->memory_gib,
			.upfront = USD_ZERO,
			.price = USD_UNKNOWN,
			.currency = "USD",
			.available = quantity > 0 ? AVAIL_YES : AVAIL_NO,
			.interruption_rate = NAN,
			.measured = NAN,
			.as_of = c->env->now,
			.source = c->endpoint };

		if (!str_eq(t->name, name))
			continue;
		known = rates_accelerator(&c->rates, t->gpu);
		if (known != NULL)
			o.accelerator = known;
		rates_price(&c->rates, t->gpu, &o);
		rc = emit(arg, &o, err);
	}
	return rc;
}

static enum berth_code
crusoe_offers_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_offer_fn *emit, void *arg, struct berth_err *err)
{
	struct crusoe *c = st;
	bool types = c->arena == NULL;
	struct jsonr root, list, item;
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	if (rc != BERTH_OK)
		goto out;
	if (types)
		c->arena = arena_new();
	root = jsonr_root(v, "answer");
	rc = jsonr_array(&root, "items", &list, err);
	if (rc == BERTH_OK && list.v == NULL)
		rc = jsonr_err(&root, BERTH_ETRANSIENT, err, "no items in the answer");
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&list); i++) {
		item = jsonr_at(&list, i);
		rc = types ? crusoe_take_type(c, &item, err)
			   : crusoe_take_capacity(c, &item, emit, arg, err);
	}
	json_decref(v);
	if (rc == BERTH_OK && types) {
		str_copy(cur->next, sizeof(cur->next), "capacities");
		return BERTH_OK;
	}
out:
	crusoe_forget(c);
	return rc;
}

static enum berth_code
crusoe_quota_build(
    void *st, const struct prov_cursor *cur, struct http_req *req, struct berth_err *err)
{
	const struct crusoe *c = st;

	(void)cur;
	return crusoe_request(c, req, "GET", err, "projects/%s/quotas", c->project);
}

static enum berth_code
crusoe_quota_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_quota_fn *emit, void *arg, struct berth_err *err)
{
	struct jsonr root, list, item;
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	(void)st, (void)cur;
	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	list = jsonr_get(&root, "quotas");
	if (!json_is_array(list.v))
		list = jsonr_get(&root, "items");
	if (!json_is_array(list.v))
		rc = jsonr_err(&root, BERTH_ETRANSIENT, err, "no quotas in the answer");
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&list); i++) {
		struct prov_quota q = {
			.limit = NAN, .used = NAN, .unit = "gpu", .purchase = PURCHASE_ON_DEMAND
		};
		const char *category = "";

		item = jsonr_at(&list, i);
		if ((rc = jsonr_str(&item, "category", &category, err)) != BERTH_OK ||
		    strstr(category, "Instance") == NULL ||
		    (rc = wirejson_field(
			 &item, "programmatic_name", q.name, sizeof(q.name), err)) != BERTH_OK ||
		    (rc = jsonr_double(&item, "max", &q.limit, err)) != BERTH_OK ||
		    (rc = jsonr_double(&item, "used", &q.used, err)) != BERTH_OK)
			continue;
		rc = emit(arg, &q, err);
	}
	json_decref(v);
	return rc;
}

const struct prov_market_ops crusoe_market = {
	.offers_build = crusoe_offers_build,
	.offers_parse = crusoe_offers_parse,
	.quota_build = crusoe_quota_build,
	.quota_parse = crusoe_quota_parse,
};
