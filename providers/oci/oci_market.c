#include <math.h>
#include <stdio.h>
#include <string.h>

#include "providers/oci/oci.h"
#include "providers/lease.h"
#include "providers/prov.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/glob.h"
#include "util/log.h"
#include "util/str.h"
#include "util/vec.h"

#define OCI_REPORT_MAX 10 /* shapes of one capacity report */
#define OCI_PRICES_CACHE_S 21600

/* Shapes, the product that their GPU-hours are sold as (the end of its display name), and what is
 * in them. */
static const struct {
	const char *shape, *product, *accelerator;
} oci_shapes[] = {
	{ "*.GPU2.*", "GPU Standard - X7", "P100-SXM2-16GB" },
	{ "*.GPU3.*", "GPU Standard - V2", "V100-SXM2-16GB" },
	{ "BM.GPU4.*", "GPU - E3", "A100-SXM4-40GB" },
	{ "BM.GPU.A100-v2.*", "GPU - A100 - v2", "A100-SXM4-80GB" },
	{ "*.GPU.A10.*", "GPU - A10", "A10" },
	{ "*.GPU.L40S.*", "GPU - L40S", "L40S" },
	{ "BM.GPU.H100.*", "GPU - H100", "H100-SXM5-80GB" },
	{ "BM.GPU.H200.*", "GPU - H200", "H200-SXM-141GB" },
	{ "BM.GPU.B200.*", "GPU - B200", "B200-180GB" },
	{ "BM.GPU.GB200.*", "GPU - GB200", "GB200-186GB" },
	{ "BM.GPU.B300.*", "GPU - B300", "B300-288GB" },
	{ "BM.GPU.GB300.*", "GPU - GB300", "GB300-279GB" },
	{ "BM.GPU.MI300X.*", "GPU - MI300X", "MI300X" },
};
#define OCI_SHAPES (sizeof(oci_shapes) / sizeof(oci_shapes[0]))

/* The walk: prices; then for each region its domains, for each domain its shapes and what there is
 * of them. */
enum oci_phase {
	OCI_PRICES_PHASE = 'p',
	OCI_DOMAINS = 'd',
	OCI_SHAPES_PHASE = 's',
	OCI_ROOM = 'c'
};

struct oci_shape {
	const char *name;
	int64_t gpus;
	double ocpus, memory_gib;
	size_t kind;
	enum availability room;
};

struct oci_refresh {
	struct arena *arena;
	char phase;
	size_t region, domain, chunk;
	struct usd_micro prices[OCI_SHAPES];
	VEC(const char *) domains;
	VEC(struct oci_shape) shapes;
};

void
oci_market_close(struct oci *o)
{
	if (o->refresh != NULL)
		arena_free(o->refresh->arena);
	o->refresh = NULL;
}

/* cur->next is "PHASE REGION.DOMAIN.CHUNK|PAGE"; returns the page. */
static const char *
oci_at(struct oci *o, const struct prov_cursor *cur)
{
	const char *bar = strchr(cur->next, '|');
	size_t n[3] = { 0, 0, 0 }, i = 0;
	struct arena *a;

	if (o->refresh == NULL || bar == NULL) {
		oci_market_close(o);
		a = arena_new();
		o->refresh = arena_new_of(a, struct oci_refresh);
		o->refresh->arena = a;
		o->refresh->phase = OCI_PRICES_PHASE;
		for (size_t k = 0; k < OCI_SHAPES; k++)
			o->refresh->prices[k] = USD_UNKNOWN;
		return "";
	}
	for (const char *p = cur->next + 1; p < bar; p++)
		if (*p == '.')
			i++;
		else if (i < 3)
			n[i] = n[i] * 10 + (size_t)(*p - '0');
	o->refresh->phase = cur->next[0];
	o->refresh->region = n[0];
	o->refresh->domain = n[1];
	o->refresh->chunk = n[2];
	return bar + 1;
}

static bool
oci_goto(struct prov_cursor *cur, char phase, size_t region, size_t domain, size_t chunk,
    const char *page)
{
	int n = snprintf(
	    cur->next, sizeof(cur->next), "%c%zu.%zu.%zu|%s", phase, region, domain, chunk, page);

	return n > 0 && (size_t)n < sizeof(cur->next);
}

static enum berth_code
oci_room_build(const struct oci *o, const char *region, struct http_req *req, struct berth_err *err)
{
	const struct oci_refresh *r = o->refresh;
	enum berth_code rc =
	    oci_request(o, req, "POST", "iaas", region, err, "20160918/computeCapacityReports");
	struct jsonw w;
	struct buf b;

	if (rc != BERTH_OK)
		return rc;
	buf_init(&b, 16384);
	jsonw_init_buf(&w, &b, JSONW_COMPACT);
	jsonw_begin_object(&w, NULL);
	jsonw_str(&w, "compartmentId", o->tenancy);
	jsonw_str(&w, "availabilityDomain", r->domains.v[r->domain]);
	jsonw_begin_array(&w, "shapeAvailabilities");
	for (size_t i = r->chunk; i < r->shapes.n && i < r->chunk + OCI_REPORT_MAX; i++) {
		jsonw_begin_object(&w, NULL);
		jsonw_str(&w, "instanceShape", r->shapes.v[i].name);
		jsonw_end_object(&w);
	}
	jsonw_end_array(&w);
	jsonw_end_object(&w);
	rc = wirejson_body(&w, &b, req, err);
	req->any_status = true; /* the report is the tenancy's alone to ask for; without it nothing
				   is known of room */
	return rc;
}

static enum berth_code
oci_offers_build(void *st, const struct prov_query *q, const struct prov_cursor *cur,
    struct http_req *req, struct berth_err *err)
{
	struct oci *o = st;
	const char *page = oci_at(o, cur), *region;
	const struct oci_refresh *r = o->refresh;

	(void)q;
	if (r->phase == OCI_PRICES_PHASE) {
		http_req_url(
		    req, "%s/pls/apex/cetools/api/v1/products/?currencyCode=USD", o->prices);
		req->cache_key = arena_printf(req->arena, "oci-prices-%s", o->prices);
		req->cache_ttl_s = OCI_PRICES_CACHE_S;
		return http_req_header(req, "Accept", "application/json", false, err);
	}
	region = o->regions[r->region];
	if (r->phase == OCI_DOMAINS)
		return oci_request(o, req, "GET", "identity", region, err,
		    "20160918/availabilityDomains?compartmentId=%s",
		    http_urlencode(req->arena, o->tenancy));
	if (r->phase == OCI_ROOM)
		return oci_room_build(o, region, req, err);
	return oci_request(o, req, "GET", "iaas", region, err,
	    "20160918/shapes?compartmentId=%s&availabilityDomain=%s&limit=500%s",
	    http_urlencode(req->arena, o->compartment),
	    http_urlencode(req->arena, r->domains.v[r->domain]), oci_page_arg(req->arena, page));
}

/* Whether the display name ends with the product's, blanks apart. */
static bool
oci_product_is(struct arena *a, const char *display, const char *product)
{
	char *s = arena_strdup(a, display), *p = s;

	for (const char *d = display; *d != '\0'; d++)
		if (*d != ' ' || (p != s && p[-1] != ' '))
			*p++ = *d;
	*p = '\0';
	return str_ends(s, arena_printf(a, "- %s", product));
}

static enum berth_code
oci_take_price(struct oci_refresh *r, const struct jsonr *item, struct berth_err *err)
{
	struct jsonr all = jsonr_get(item, "currencyCodeLocalizations"), local, prices, price;
	const char *name = "", *metric = "", *currency = "", *model = "";
	enum berth_code rc;

	if ((rc = jsonr_str(item, "displayName", &name, err)) != BERTH_OK ||
	    (rc = jsonr_str(item, "metricName", &metric, err)) != BERTH_OK ||
	    !str_eq(metric, "GPU Per Hour"))
		return rc;
	for (size_t i = 0; i < jsonr_len(&all); i++) {
		local = jsonr_at(&all, i);
		prices = jsonr_get(&local, "prices");
		if ((rc = jsonr_str(&local, "currencyCode", &currency, err)) != BERTH_OK)
			return rc;
		for (size_t k = 0; str_eq(currency, "USD") && k < jsonr_len(&prices); k++) {
			struct usd_micro v = USD_UNKNOWN;

			price = jsonr_at(&prices, k);
			if ((rc = jsonr_str(&price, "model", &model, err)) != BERTH_OK ||
			    (rc = jsonr_price(&price, "value", &v, err)) != BERTH_OK)
				return rc;
			for (size_t s = 0; s < OCI_SHAPES && str_eq(model, "PAY_AS_YOU_GO") &&
					   usd_known(v) && v.v > 0;
			     s++)
				if (oci_product_is(r->arena, name, oci_shapes[s].product))
					r->prices[s] = v;
		}
	}
	return BERTH_OK;
}

static enum berth_code
oci_take_shape(struct oci_refresh *r, const struct jsonr *item, struct berth_err *err)
{
	struct oci_shape s = { .ocpus = NAN, .memory_gib = NAN };
	const char *name = "";
	enum berth_code rc;

	if ((rc = jsonr_str(item, "shape", &name, err)) != BERTH_OK ||
	    (rc = jsonr_int(item, "gpus", 0, 4096, &s.gpus, err)) != BERTH_OK ||
	    (rc = jsonr_double(item, "ocpus", &s.ocpus, err)) != BERTH_OK ||
	    (rc = jsonr_double(item, "memoryInGBs", &s.memory_gib, err)) != BERTH_OK || s.gpus == 0)
		return rc;
	for (s.kind = 0; s.kind < OCI_SHAPES; s.kind++)
		if (glob_match(oci_shapes[s.kind].shape, name))
			break;
	if (s.kind == OCI_SHAPES)
		return BERTH_OK;
	s.name = arena_strdup(r->arena, name);
	VEC_PUSH(r->arena, &r->shapes, s);
	return BERTH_OK;
}

static enum berth_code
oci_take_room(struct oci_refresh *r, const struct jsonr *root, struct berth_err *err)
{
	struct jsonr list = jsonr_get(root, "shapeAvailabilities"), item;
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&list); i++) {
		const char *name = "", *status = "";

		item = jsonr_at(&list, i);
		if ((rc = jsonr_str(&item, "instanceShape", &name, err)) == BERTH_OK)
			rc = jsonr_str(&item, "availabilityStatus", &status, err);
		for (size_t k = 0; rc == BERTH_OK && k < r->shapes.n; k++)
			if (str_eq(r->shapes.v[k].name, name) && status[0] != '\0')
				r->shapes.v[k].room =
				    str_eq(status, "AVAILABLE") ? AVAIL_YES : AVAIL_NO;
	}
	return rc;
}

/* An OCPU is two threads. Preemptible capacity costs half and is for virtual machines alone. */
static enum berth_code
oci_emit_domain(const struct oci *o, prov_offer_fn *emit, void *arg, struct berth_err *err)
{
	struct oci_refresh *r = o->refresh;
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; rc == BERTH_OK && i < r->shapes.n; i++) {
		const struct oci_shape *s = &r->shapes.v[i];
		struct offer f = { .provider = "oci",
			.account = "",
			.region = o->regions[r->region],
			.zone = r->domains.v[r->domain],
			.instance_type = s->name,
			.accelerator = oci_shapes[s->kind].accelerator,
			.accelerator_count = (int)s->gpus,
			.accelerator_memory_gib = NAN,
			.vcpus = 2 * s->ocpus,
			.memory_gib = s->memory_gib,
			.upfront = USD_ZERO,
			.price = USD_UNKNOWN,
			.currency = "USD",
			.available = s->room,
			.interruption_rate = NAN,
			.measured = NAN,
			.source = o->prices };

		if (usd_known(r->prices[s->kind]))
			rc = usd_mul_i64(r->prices[s->kind], s->gpus, &f.price, err);
		if (rc == BERTH_OK)
			rc = emit(arg, &f, err);
		if (rc != BERTH_OK || !str_starts(s->name, "VM."))
			continue;
		f.purchase = PURCHASE_SPOT;
		if (usd_known(f.price))
			rc = usd_div_i64(f.price, 2, &f.price, err);
		if (rc == BERTH_OK)
			rc = emit(arg, &f, err);
	}
	r->shapes.n = 0;
	return rc;
}

static enum berth_code
oci_take_list(const struct oci *o, const struct jsonr *root, struct berth_err *err)
{
	struct oci_refresh *r = o->refresh;
	struct jsonr list = *root, item;
	enum berth_code rc = BERTH_OK;

	if (r->phase == OCI_PRICES_PHASE)
		list = jsonr_get(root, "items");
	if (!json_is_array(list.v))
		return jsonr_err(root, BERTH_ETRANSIENT, err, "no %s in the answer",
		    r->phase == OCI_PRICES_PHASE ? "prices" : "list");
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&list); i++) {
		const char *name = "";

		item = jsonr_at(&list, i);
		if (r->phase == OCI_PRICES_PHASE)
			rc = oci_take_price(r, &item, err);
		else if (r->phase == OCI_SHAPES_PHASE)
			rc = oci_take_shape(r, &item, err);
		else if ((rc = jsonr_str(&item, "name", &name, err)) == BERTH_OK && name[0] != '\0')
			VEC_PUSH(r->arena, &r->domains, arena_strdup(r->arena, name));
	}
	return rc;
}

/* Behind a domain: the next one, the next region, or the end. */
static void
oci_after_domain(struct oci *o, struct prov_cursor *cur)
{
	struct oci_refresh *r = o->refresh;

	if (r->domain + 1 < r->domains.n)
		oci_goto(cur, OCI_SHAPES_PHASE, r->region, r->domain + 1, 0, "");
	else if (r->region + 1 < o->n_regions)
		oci_goto(cur, OCI_DOMAINS, r->region + 1, 0, 0, "");
	else
		oci_market_close(o);
}

static enum berth_code
oci_offers_next(struct oci *o, const struct http_resp *resp, struct prov_cursor *cur,
    prov_offer_fn *emit, void *arg, struct berth_err *err)
{
	struct oci_refresh *r = o->refresh;
	const char *page = r->phase == OCI_SHAPES_PHASE ? oci_page(resp) : "";
	enum berth_code rc;

	if (page[0] != '\0')
		return oci_goto(cur, r->phase, r->region, r->domain, 0, page)
			   ? BERTH_OK
			   : err_set(err, BERTH_EINVAL, "opc-next-page is too long");
	if (r->phase == OCI_PRICES_PHASE) {
		oci_goto(cur, OCI_DOMAINS, 0, 0, 0, "");
		return BERTH_OK;
	}
	if (r->phase == OCI_DOMAINS && r->domains.n > 0) {
		oci_goto(cur, OCI_SHAPES_PHASE, r->region, 0, 0, "");
		return BERTH_OK;
	}
	if (r->phase == OCI_SHAPES_PHASE && r->shapes.n > 0) {
		oci_goto(cur, OCI_ROOM, r->region, r->domain, 0, "");
		return BERTH_OK;
	}
	if (r->phase == OCI_ROOM && r->chunk + OCI_REPORT_MAX < r->shapes.n) {
		oci_goto(cur, OCI_ROOM, r->region, r->domain, r->chunk + OCI_REPORT_MAX, "");
		return BERTH_OK;
	}
	rc = oci_emit_domain(o, emit, arg, err);
	oci_after_domain(o, cur);
	return rc;
}

static enum berth_code
oci_offers_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_offer_fn *emit, void *arg, struct berth_err *err)
{
	struct oci *o = st;
	struct jsonr root;
	json_t *v = NULL;
	enum berth_code rc = BERTH_OK;

	if (o->refresh->phase == OCI_ROOM && resp->status / 100 != 2) {
		log_warn(
		    o->env->log, "%s: no capacity report: HTTP %d", o->env->account, resp->status);
		return oci_offers_next(o, resp, cur, emit, arg, err);
	}
	if ((rc = wirejson_parse(resp, &v, err)) != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	if (o->refresh->phase == OCI_DOMAINS)
		o->refresh->domains.n = 0;
	rc = o->refresh->phase == OCI_ROOM ? oci_take_room(o->refresh, &root, err)
					   : oci_take_list(o, &root, err);
	if (rc == BERTH_OK)
		rc = oci_offers_next(o, resp, cur, emit, arg, err);
	json_decref(v);
	return rc;
}

/* cur->next: "REGION|PAGE". */
static enum berth_code
oci_quota_build(
    void *st, const struct prov_cursor *cur, struct http_req *req, struct berth_err *err)
{
	struct oci *o = st;
	const char *bar = strchr(cur->next, '|');

	o->quota_region = 0;
	for (const char *p = cur->next; bar != NULL && p < bar; p++)
		o->quota_region = o->quota_region * 10 + (size_t)(*p - '0');
	return oci_request(o, req, "GET", "limits", o->regions[o->quota_region], err,
	    "20190729/limitValues?compartmentId=%s&serviceName=compute&limit=1000%s",
	    http_urlencode(req->arena, o->tenancy),
	    oci_page_arg(req->arena, bar != NULL ? bar + 1 : ""));
}

/* "gpu-a10-count" counts the GPUs of "*.GPU.A10.*", "gpu4-count" those of "*.GPU4.*", however
 * bought. */
static void
oci_quota_types(struct prov_quota *q)
{
	size_t n = strlen(q->name);
	const char *series = q->name + strlen("gpu");

	if (!str_starts(q->name, "gpu") || !str_ends(q->name, "-count") ||
	    n <= strlen("gpu") + strlen("-count"))
		return;
	n -= strlen("gpu") + strlen("-count");
	snprintf(q->types, sizeof(q->types), "*.GPU%s%.*s.*", series[0] == '-' ? "." : "",
	    (int)(series[0] == '-' ? n - 1 : n), series[0] == '-' ? series + 1 : series);
	q->counts = q->any_purchase = true;
}

/* Limits alone: what is used is a question for each of them. */
static void
oci_quota_part(const void *st, struct prov_part *out)
{
	const struct oci *o = st;

	lease_part(o->regions, o->n_regions, o->quota_region, out);
}

static enum berth_code
oci_quota_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_quota_fn *emit, void *arg, struct berth_err *err)
{
	const struct oci *o = st;
	struct jsonr root, item;
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	if (!json_is_array(v))
		rc = jsonr_err(&root, BERTH_ETRANSIENT, err, "no limits in the answer");
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&root); i++) {
		struct prov_quota q = {
			.limit = NAN, .used = NAN, .unit = "gpu", .purchase = PURCHASE_ON_DEMAND
		};

		item = jsonr_at(&root, i);
		if ((rc = wirejson_field(&item, "name", q.name, sizeof(q.name), err)) != BERTH_OK ||
		    strstr(q.name, "gpu") == NULL)
			continue;
		str_copy(q.region, sizeof(q.region), o->regions[o->quota_region]);
		oci_quota_types(&q);
		if ((rc = wirejson_field(
			 &item, "availabilityDomain", q.zone, sizeof(q.zone), err)) == BERTH_OK &&
		    (rc = jsonr_double(&item, "value", &q.limit, err)) == BERTH_OK)
			rc = emit(arg, &q, err);
	}
	if (rc == BERTH_OK && oci_page(resp)[0] != '\0')
		snprintf(
		    cur->next, sizeof(cur->next), "%zu|%.1900s", o->quota_region, oci_page(resp));
	else if (rc == BERTH_OK && o->quota_region + 1 < o->n_regions)
		snprintf(cur->next, sizeof(cur->next), "%zu|", o->quota_region + 1);
	json_decref(v);
	return rc;
}

const struct prov_market_ops oci_market = {
	.offers_build = oci_offers_build,
	.offers_parse = oci_offers_parse,
	.quota_build = oci_quota_build,
	.quota_parse = oci_quota_parse,
	.quota_part = oci_quota_part,
};
