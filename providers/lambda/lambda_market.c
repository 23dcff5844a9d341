#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/accel.h"
#include "providers/lambda/lambda.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/str.h"

#define LAMBDA_CENTS 100 /* of a dollar */

/* Behind "8x " and "Tesla ". */
static const char *
lambda_skip_count(const char *s)
{
	const char *p = s;

	while (str_is_digit(*p))
		p++;
	if (p != s && p[0] == 'x' && p[1] == ' ')
		s = p + 2;
	return str_starts(s, "Tesla ") ? s + strlen("Tesla ") : s;
}

const char *
lambda_gpu(
    const struct accel_table *accels, const char *description, struct arena *a, double *memory_out)
{
	const char *s = lambda_skip_count(description), *open = strrchr(s, '('), *form;
	char *name, *whole, *inside;

	*memory_out = NAN;
	if (open == NULL || open == s)
		return arena_strdup(a, s);
	name = str_trim(a, arena_strndup(a, s, (size_t)(open - s)));
	inside = arena_strndup(a, open + 1, strcspn(open + 1, ")"));
	form = strstr(inside, " GB");
	if (form == NULL || str_to_double(arena_strndup(a, inside, (size_t)(form - inside)), 1, 1e5,
				memory_out, NULL) != BERTH_OK)
		return name;
	form = str_trim(a, form + strlen(" GB"));
	whole =
	    arena_printf(a, "%s%s%s-%.0fGB", name, form[0] != '\0' ? "-" : "", form, *memory_out);
	return accels != NULL && accel_find(accels, whole) != NULL ? whole : name;
}

static enum berth_code
lambda_offers_build(void *st, const struct prov_query *q, const struct prov_cursor *cur,
    struct http_req *req, struct berth_err *err)
{
	(void)q, (void)cur;
	return lambda_request(st, req, "GET", "instance-types", err);
}

/* One type; false: it has no GPU. */
static enum berth_code
lambda_type(const struct lambda *l, const struct jsonr *entry, struct arena *a, struct offer *o,
    bool *gpu_out, struct berth_err *err)
{
	static const char *const needed[] = { "name", "description", "price_cents_per_hour",
		"specs", NULL };
	struct jsonr type = jsonr_get(entry, "instance_type"), specs = jsonr_get(&type, "specs");
	struct usd_micro cents = USD_UNKNOWN;
	int64_t gpus = 0;
	const char *description = "";
	enum berth_code rc;

	*o = (struct offer){ .provider = "lambda",
		.account = "",
		.region = "",
		.zone = "",
		.vcpus = NAN,
		.memory_gib = NAN,
		.upfront = USD_ZERO,
		.price = USD_UNKNOWN,
		.currency = "USD",
		.interruption_rate = NAN,
		.measured = NAN,
		.as_of = l->env->now,
		.source = l->endpoint };
	if ((rc = jsonr_need(&type, needed, err)) != BERTH_OK ||
	    (rc = jsonr_str(&type, "name", &o->instance_type, err)) != BERTH_OK ||
	    (rc = jsonr_str(&type, "description", &description, err)) != BERTH_OK ||
	    (rc = jsonr_price(&type, "price_cents_per_hour", &cents, err)) != BERTH_OK ||
	    (rc = jsonr_int(&specs, "gpus", 0, 4096, &gpus, err)) != BERTH_OK ||
	    (rc = jsonr_double(&specs, "vcpus", &o->vcpus, err)) != BERTH_OK ||
	    (rc = jsonr_double(&specs, "memory_gib", &o->memory_gib, err)) != BERTH_OK)
		return rc;
	*gpu_out = gpus > 0;
	o->accelerator_count = (int)gpus;
	o->accelerator = lambda_gpu(l->env->accels, description, a, &o->accelerator_memory_gib);
	if (usd_known(cents) && cents.v >= LAMBDA_CENTS)
		o->price.v = cents.v / LAMBDA_CENTS;
	return BERTH_OK;
}

/* One offer a region that has room; without any, one without region that says so. */
static enum berth_code
lambda_emit(const struct jsonr *entry, struct offer *o, prov_offer_fn *emit, void *arg,
    struct berth_err *err)
{
	struct jsonr regions;
	enum berth_code rc = jsonr_array(entry, "regions_with_capacity_available", &regions, err);

	if (rc != BERTH_OK)
		return rc;
	o->available = AVAIL_NO;
	if (jsonr_len(&regions) == 0)
		return emit(arg, o, err);
	o->available = AVAIL_YES;
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&regions); i++) {
		struct jsonr region = jsonr_at(&regions, i);

		rc = jsonr_str(&region, "name", &o->region, err);
		if (rc == BERTH_OK)
			rc = emit(arg, o, err);
	}
	return rc;
}

static enum berth_code
lambda_types(const struct lambda *l, const struct http_resp *resp, const struct jsonr *data,
    prov_offer_fn *emit, void *arg, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;
	const char *name;
	json_t *v;

	json_object_foreach((json_t *)(uintptr_t)data->v, name, v)
	{
		struct jsonr entry = jsonr_get(data, name);
		bool gpu = false;
		struct offer o;

		rc = lambda_type(l, &entry, resp->arena, &o, &gpu, err);
		if (rc == BERTH_OK && gpu)
			rc = lambda_emit(&entry, &o, emit, arg, err);
		if (rc != BERTH_OK)
			return rc;
	}
	return rc;
}

static enum berth_code
lambda_offers_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_offer_fn *emit, void *arg, struct berth_err *err)
{
	struct jsonr root, data;
	json_t *v = NULL;
	enum berth_code rc;

	(void)cur;
	if ((rc = wirejson_parse(resp, &v, err)) != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	rc = jsonr_object(&root, "data", &data, err);
	if (rc == BERTH_OK && !json_is_object(data.v))
		rc = jsonr_err(&root, BERTH_ETRANSIENT, err, "no prices in the answer");
	if (rc == BERTH_OK)
		rc = lambda_types(st, resp, &data, emit, arg, err);
	json_decref(v);
	return rc;
}

const struct prov_market_ops lambda_market = {
	.offers_build = lambda_offers_build,
	.offers_parse = lambda_offers_parse,
};
