#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "providers/aws/aws.h"
#include "providers/prov.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/time.h"

#define AWS_BULK_MAX ((size_t)2 * 1024 * 1024 * 1024)
#define AWS_BULK_TIMEOUT_S 900
#define AWS_SCORE_CAPACITY "1"

bool
aws_wants_commitment(const struct aws *w, const char *word)
{
	const char *const *v;
	size_t n = prov_conf_strings(w->env->conf, "commitments", &v);

	for (size_t i = 0; i < n; i++)
		if (str_eq(v[i], word))
			return true;
	return n == 0 && (str_eq(word, "reserved") || str_eq(word, "savings_plans"));
}

static enum berth_code
aws_scan_start(struct aws *w, const struct prov_query *q, struct berth_err *err)
{
	struct aws_scan *s = aws_scan_new();
	const char *const *v, **one;

	aws_scan_free(w->scan);
	w->scan = s;
	if (s == NULL)
		return err_set(err, BERTH_ENOMEM, "no memory for a price list");
	s->regions = w->regions;
	s->n_regions = w->n_regions;
	if (q != NULL && q->region != NULL) {
		one = arena_array_of(s->a, 1, const char *);
		one[0] = arena_strdup(s->a, q->region);
		s->regions = one;
		s->n_regions = 1;
	}
	s->reserved = aws_wants_commitment(w, "reserved");
	s->wanted[AWS_PH_ADVISOR] = prov_conf_bool(w->env->conf, "spot", true) &&
				    prov_conf_bool(w->env->conf, "spot_advisor", false);
	s->wanted[AWS_PH_TYPES] = true;
	s->wanted[AWS_PH_SCORE] = prov_conf_strings(w->env->conf, "spot_score", &v) > 0;
	s->wanted[AWS_PH_SPOT] = prov_conf_bool(w->env->conf, "spot", true);
	s->wanted[AWS_PH_PRICES] = true;
	s->wanted[AWS_PH_METAL] = str_eq(prov_conf_str(w->env->conf, "prices", "api"), "api");
	s->wanted[AWS_PH_RESERVED] = aws_wants_commitment(w, "offerings");
	s->wanted[AWS_PH_PLANS] = aws_wants_commitment(w, "savings_plans");
	s->wanted[AWS_PH_BLOCKS] = aws_wants_commitment(w, "capacity_blocks");
	return BERTH_OK;
}

/* The order of the phases: what one tells, the next ones need. */
static const enum aws_phase aws_order[] = { AWS_PH_ADVISOR, AWS_PH_TYPES, AWS_PH_SCORE, AWS_PH_SPOT,
	AWS_PH_PRICES, AWS_PH_METAL, AWS_PH_RESERVED, AWS_PH_PLANS, AWS_PH_BLOCKS };

static bool
aws_once(enum aws_phase p)
{
	return p == AWS_PH_ADVISOR || p == AWS_PH_SCORE;
}

/* Some lists are asked for only where the region has a type that would be in them. */
static bool
aws_place_wanted(const struct aws_scan *s, enum aws_phase p, const char *region)
{
	size_t from = 0;

	if (p == AWS_PH_BLOCKS)
		return aws_blocks_type(s, region, &from);
	if (p != AWS_PH_METAL)
		return true;
	for (size_t i = 0; i < s->types.n; i++)
		if (strstr(s->types.v[i].name, ".metal") != NULL &&
		    strmap_get(
			&s->seen, arena_printf(s->a, "%s\t%s", region, s->types.v[i].name)) != NULL)
			return true;
	return false;
}

/* The next place behind (at, region) that is wanted: region by region within a phase. False: the
 * end. */
static bool
aws_place_next(const struct aws_scan *s, int *at, size_t *region, bool first)
{
	int n = (int)(sizeof(aws_order) / sizeof(aws_order[0]));

	if (!first && !aws_once(aws_order[*at]))
		for (++*region; *region < s->n_regions; ++*region)
			if (aws_place_wanted(s, aws_order[*at], s->regions[*region]))
				return true;
	for (*at += !first; *at < n; ++*at)
		for (*region = 0; s->wanted[aws_order[*at]] && *region < s->n_regions; ++*region)
			if (aws_place_wanted(s, aws_order[*at], s->regions[*region]))
				return true;
	return false;
}

static enum berth_code
aws_build_types(struct aws *w, const char *region, const char *token, struct http_req *req,
    struct berth_err *err)
{
	struct aws_form f;

	aws_form_begin(&f, req->arena, "DescribeInstanceTypes", AWS_EC2_VERSION);
	aws_form_add(&f, "instance-type", "Filter.1.Name");
	for (int i = 0; aws_family_patterns[i] != NULL; i++)
		aws_form_add(&f, aws_family_patterns[i], "Filter.1.Value.%d", i + 1);
	aws_form_add(&f, "100", "MaxResults");
	if (token[0] != '\0')
		aws_form_add(&f, token, "NextToken");
	return aws_form_post(&f, w, "ec2", region, req, err);
}

static void
aws_form_types(struct aws_form *f, const struct aws_scan *s, const char *region, const char *name)
{
	int n = 0;

	for (size_t i = 0; i < s->types.n; i++)
		if (strmap_get(
			&s->seen, arena_printf(f->a, "%s\t%s", region, s->types.v[i].name)) != NULL)
			aws_form_add(f, s->types.v[i].name, "%s.%d", name, ++n);
}

static enum berth_code
aws_build_spot(struct aws *w, const char *region, const char *token, struct http_req *req,
    struct berth_err *err)
{
	char now[TIME_FMT_SIZE];
	struct aws_form f;

	aws_form_begin(&f, req->arena, "DescribeSpotPriceHistory", AWS_EC2_VERSION);
	aws_form_types(&f, w->scan, region, "InstanceType");
	aws_form_add(&f, "1000", "MaxResults");
	if (token[0] != '\0')
		aws_form_add(&f, token, "NextToken");
	aws_form_add(&f, "Linux/UNIX", "ProductDescription.1");
	aws_form_add(&f, time_fmt(now, w->env->now), "StartTime");
	return aws_form_post(&f, w, "ec2", region, req, err);
}

static enum berth_code
aws_build_score(struct aws *w, const char *token, struct http_req *req, struct berth_err *err)
{
	const char *const *types;
	size_t n = prov_conf_strings(w->env->conf, "spot_score", &types);
	struct aws_form f;

	aws_form_begin(&f, req->arena, "GetSpotPlacementScores", AWS_EC2_VERSION);
	for (size_t i = 0; i < n; i++)
		aws_form_add(&f, types[i], "InstanceType.%zu", i + 1);
	aws_form_add(&f, AWS_SCORE_CAPACITY, "TargetCapacity");
	for (size_t i = 0; i < w->scan->n_regions; i++)
		aws_form_add(&f, w->scan->regions[i], "RegionName.%zu", i + 1);
	if (token[0] != '\0')
		aws_form_add(&f, token, "NextToken");
	return aws_form_post(&f, w, "ec2", w->scan->regions[0], req, err);
}

static enum berth_code
aws_build_reserved(struct aws *w, const char *region, const char *token, struct http_req *req,
    struct berth_err *err)
{
	struct aws_form f;

	aws_form_begin(&f, req->arena, "DescribeReservedInstancesOfferings", AWS_EC2_VERSION);
	aws_form_add(&f, "false", "IncludeMarketplace");
	aws_form_add(&f, "Linux/UNIX", "ProductDescription");
	aws_form_add(&f, "instance-type", "Filter.1.Name");
	for (int i = 0; aws_family_patterns[i] != NULL; i++)
		aws_form_add(&f, aws_family_patterns[i], "Filter.1.Value.%d", i + 1);
	aws_form_add(&f, "default", "InstanceTenancy");
	aws_form_add(&f, "100", "MaxResults");
	if (token[0] != '\0')
		aws_form_add(&f, token, "NextToken");
	return aws_form_post(&f, w, "ec2", region, req, err);
}

const char *
aws_pricing_region(const char *region)
{
	return str_starts(region, "cn-")   ? "cn-northwest-1"
	       : str_starts(region, "eu-") ? "eu-central-1"
	       : str_starts(region, "ap-") ? "ap-south-1"
					   : "us-east-1";
}

/*
 * Every filter together, or shared and dedicated, Linux and Windows, used and waiting rows mix
 * without a word. A bare-metal type is a whole host: its rows are dedicated ones, and only their
 * family tells them from dedicated machines.
 */
static enum berth_code
aws_build_products(struct aws *w, const char *region, bool metal, const char *token,
    struct http_req *req, struct berth_err *err)
{
	const char *const filters[][2] = { { "operatingSystem", "Linux" },
		{ "preInstalledSw", "NA" }, { "capacitystatus", "Used" },
		{ "marketoption", "OnDemand" }, { "tenancy", metal ? "Dedicated" : "Shared" },
		{ "regionCode", region }, { "productFamily", "Compute Instance (bare metal)" } };
	const size_t n = sizeof(filters) / sizeof(filters[0]) - !metal;
	enum berth_code rc;
	struct jsonw j;
	struct buf b;

	buf_init(&b, 65536);
	jsonw_init_buf(&j, &b, JSONW_COMPACT);
	jsonw_begin_object(&j, NULL);
	jsonw_str(&j, "ServiceCode", "AmazonEC2");
	jsonw_begin_array(&j, "Filters");
	for (size_t i = 0; i < n; i++) {
		jsonw_begin_object(&j, NULL);
		jsonw_str(&j, "Type", "TERM_MATCH");
		jsonw_str(&j, "Field", filters[i][0]);
		jsonw_str(&j, "Value", filters[i][1]);
		jsonw_end_object(&j);
	}
	jsonw_end_array(&j);
	jsonw_str(&j, "FormatVersion", "aws_v1");
	if (token[0] != '\0')
		jsonw_str(&j, "NextToken", token);
	jsonw_int(&j, "MaxResults", 100);
	jsonw_end_object(&j);
	if ((rc = jsonw_finish(&j, err)) != BERTH_OK) {
		buf_free(&b);
		return rc;
	}
	return aws_json_post(w, "pricing", aws_pricing_region(region),
	    "AWSPriceListService.GetProducts", "/", &b, req, err);
}

static enum berth_code
aws_build_prices(struct aws *w, const char *region, const char *token, struct http_req *req,
    struct berth_err *err)
{
	const char *form = prov_conf_str(w->env->conf, "prices", "api");

	if (str_eq(form, "api"))
		return aws_build_products(w, region, false, token, req, err);
	w->scope.service[0] = '\0';
	http_req_url(req, "%s/offers/v1.0/%s/AmazonEC2/current/%s/index.%s",
	    aws_url(w, req->arena, "bulk", region), str_starts(region, "cn-") ? "cn" : "aws",
	    http_urlencode(req->arena, region), form);
	req->spool = true;
	req->max_bytes = AWS_BULK_MAX;
	req->timeout_s = AWS_BULK_TIMEOUT_S;
	return BERTH_OK;
}

static enum berth_code
aws_offers_build(void *st, const struct prov_query *q, const struct prov_cursor *cur,
    struct http_req *req, struct berth_err *err)
{
	struct aws *w = st;
	struct aws_place p = aws_place_read(w, cur);
	const char *region;
	enum berth_code rc = BERTH_OK;

	if (aws_regions_pending(w))
		return aws_regions_build(w, req, err);
	if (p.start) {
		if ((rc = aws_scan_start(w, q, err)) != BERTH_OK)
			return rc;
		(void)aws_place_next(w->scan, &p.phase, &p.region, true);
		w->place = p;
	}
	region = w->scan->regions[p.region];
	switch (aws_order[p.phase]) {
	case AWS_PH_ADVISOR:
		w->scope.service[0] = '\0';
		http_req_url(
		    req, "%s/spot-advisor-data.json", aws_url(w, req->arena, "advisor", region));
		req->cache_key = "aws-spot-advisor";
		req->cache_ttl_s = 6 * 3600;
		return BERTH_OK;
	case AWS_PH_TYPES:
		return aws_build_types(w, region, p.token, req, err);
	case AWS_PH_SCORE:
		return aws_build_score(w, p.token, req, err);
	case AWS_PH_SPOT:
		return aws_build_spot(w, region, p.token, req, err);
	case AWS_PH_PRICES:
		return aws_build_prices(w, region, p.token, req, err);
	case AWS_PH_METAL:
		return aws_build_products(w, region, true, p.token, req, err);
	case AWS_PH_RESERVED:
		return aws_build_reserved(w, region, p.token, req, err);
	case AWS_PH_PLANS:
		return aws_savings_build(w, region, p.token, req, err);
	case AWS_PH_BLOCKS:
		return aws_blocks_build(w, region, p.token, req, err);
	case AWS_PH_COUNT:
		break;
	}
	return err_set(err, BERTH_EINVAL, "no such phase");
}

static double
aws_number(const struct xml *x, const char *path)
{
	double v = NAN;

	(void)!str_to_double(xml_text(x, path), 0, 1e12, &v, NULL);
	return v;
}

/* GPUs, else neuron devices, else the older inference chips; the family table knows the exact
 * product. */
static void
aws_type_devices(const struct xml *x, struct aws_type *t)
{
	static const char *const where[] = { "gpuInfo/gpus/item", "neuronInfo/neuronDevices/item",
		"inferenceAcceleratorInfo/accelerators/item",
		"mediaAcceleratorInfo/accelerators/item", NULL };
	const struct xml *d = NULL;
	double count, part;

	for (size_t i = 0; d == NULL && where[i] != NULL; i++)
		d = xml_get(x, where[i]);
	if (d == NULL)
		return;
	count = aws_number(d, "count");
	t->count = count >= 1 && count <= 1024 ? (int)count : 0;
	if (t->accelerator == NULL)
		t->accelerator = xml_text(d, "name");
	part = aws_number(d, "logicalGpuCount");
	if (isnan(part))
		part = aws_number(d, "gpuPartitionSize");
	t->memory_gib_each = aws_number(d, "memoryInfo/sizeInMiB") / 1024;
	if (aws_family_accelerator(t->name) !=
	    NULL) /* its exact memory stands in the accelerator table */
		t->memory_gib_each = NAN;
	if (part > 0 && part < 1) { /* an eighth of an L4 is what the table calls L4-3Q */
		t->count = 1;
		t->memory_gib_each = round(part * 24);
		t->accelerator = NULL;
	}
}

static enum berth_code
aws_parse_types(struct aws *w, const char *region, const struct http_resp *resp, char *next,
    size_t size, struct berth_err *err)
{
	struct aws_scan *s = w->scan;
	const struct xml *root = NULL, *set, *usage;
	enum berth_code rc = aws_xml(resp, "DescribeInstanceTypes", &root, err);

	if (rc != BERTH_OK)
		return rc;
	if ((set = xml_get(root, "instanceTypeSet")) == NULL)
		return err_set(err, BERTH_EINVAL, "no instanceTypeSet in the answer");
	for (const struct xml *x = xml_first(set, "item"); x != NULL; x = xml_next(x, "item")) {
		struct aws_type t = { .name = xml_text(x, "instanceType"),
			.vcpus = aws_number(x, "vCpuInfo/defaultVCpus"),
			.memory_gib = aws_number(x, "memoryInfo/sizeInMiB") / 1024,
			.memory_gib_each = NAN };
		size_t *at;
		int added;

		if (t.name[0] == '\0')
			return err_set(err, BERTH_EINVAL, "an instance type without a name");
		t.accelerator = aws_family_accelerator(t.name);
		aws_type_devices(x, &t);
		if (t.count == 0)
			continue;
		if (t.accelerator == NULL)
			t.accelerator = arena_printf(s->a, "L4-%.0fQ", t.memory_gib_each);
		usage = xml_get(x, "supportedUsageClasses");
		for (const struct xml *u = usage != NULL ? xml_first(usage, "item") : NULL;
		     u != NULL; u = xml_next(u, "item"))
			t.block |= str_eq(u->text, "capacity-block");
		t.name = arena_strdup(s->a, t.name);
		t.accelerator = arena_strdup(s->a, t.accelerator);
		strmap_add(s->a, &s->seen, arena_printf(s->a, "%s\t%s", region, t.name), 0, NULL);
		at = strmap_add(s->a, &s->types_by_name, t.name, s->types.n, &added);
		if (added)
			VEC_PUSH(s->a, &s->types, t);
		else
			s->types.v[*at] = t;
	}
	return aws_field(root, "nextToken", false, next, size, err);
}

static enum berth_code
aws_parse_products(struct aws_price *p, const struct http_resp *resp, char *next, size_t size,
    struct berth_err *err)
{
	struct jsonr root, list;
	json_t *v = NULL, *e;
	size_t i;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "prices");
	rc = jsonr_array(&root, "PriceList", &list, err);
	if (rc == BERTH_OK && list.v == NULL)
		rc = jsonr_err(&root, BERTH_ETRANSIENT, err, "no PriceList in the answer");
	json_array_foreach(list.v, i, e)
	{
		if (rc == BERTH_OK && !json_is_string(e))
			rc = jsonr_err(&list, BERTH_EINVAL, err, "an entry is no text");
		if (rc == BERTH_OK)
			rc = aws_price_entry(p, json_string_value(e), json_string_length(e), err);
	}
	if (rc == BERTH_OK)
		rc = wirejson_field(&root, "NextToken", next, size, err);
	json_decref(v);
	return rc;
}

static enum berth_code
aws_parse_prices(struct aws *w, const char *region, const struct http_resp *resp, char *next,
    size_t size, struct berth_err *err)
{
	const char *form = prov_conf_str(w->env->conf, "prices", "api");
	struct aws_price p = { .scan = w->scan,
		.now = w->env->now,
		.as_of = w->env->now,
		.region = region,
		.source = str_eq(form, "api") ? "GetProducts" : "bulk price list" };

	if (str_eq(form, "api"))
		return aws_parse_products(&p, resp, next, size, err);
	if (resp->file == NULL)
		return err_set(err, BERTH_ETRANSIENT, "no price list in the answer");
	return str_eq(form, "csv") ? aws_price_csv(&p, resp->file, err)
				   : aws_price_json(&p, resp->file, NULL, 0, err);
}

/* All pages are in: told in the order they came. */
static enum berth_code
aws_scan_tell(struct aws *w, prov_offer_fn *emit, void *arg, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;
	bool priced = false;

	for (size_t i = 0; i < w->scan->offers.n; i++) {
		struct offer *o = &w->scan->offers.v[i];

		priced |= o->purchase == PURCHASE_ON_DEMAND;
		if (o->purchase == PURCHASE_SPOT) /* the last change of its zone, however old, is
						     the price of now */
			o->as_of = w->env->now;
	}
	if (!priced)
		rc = err_set(err, BERTH_ETRANSIENT, "no on-demand price in the lists: not taken");
	for (size_t i = 0; rc == BERTH_OK && i < w->scan->offers.n; i++)
		rc = emit(arg, &w->scan->offers.v[i], err);
	aws_scan_free(w->scan);
	w->scan = NULL;
	return rc;
}

static enum berth_code
aws_offers_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_offer_fn *emit, void *arg, struct berth_err *err)
{
	struct aws *w = st;
	struct aws_place p = w->place;
	char next[1900] = "";
	const char *region;
	enum berth_code rc = BERTH_OK;

	if (aws_regions_pending(w))
		return aws_regions_parse(w, resp, cur, err);
	region = w->scan->regions[p.region];
	switch (aws_order[p.phase]) {
	case AWS_PH_ADVISOR:
		rc = aws_spot_advisor(w, resp, err);
		break;
	case AWS_PH_TYPES:
		rc = aws_parse_types(w, region, resp, next, sizeof(next), err);
		break;
	case AWS_PH_SCORE:
		rc = aws_spot_scores(w, resp, next, sizeof(next), err);
		break;
	case AWS_PH_SPOT:
		rc = aws_spot_history(w, region, resp, next, sizeof(next), err);
		break;
	case AWS_PH_PRICES:
	case AWS_PH_METAL:
		rc = aws_parse_prices(w, region, resp, next, sizeof(next), err);
		break;
	case AWS_PH_RESERVED:
		rc = aws_reserved_offerings(w, region, resp, next, sizeof(next), err);
		break;
	case AWS_PH_PLANS:
		rc = aws_savings_rates(w, region, resp, next, sizeof(next), err);
		break;
	case AWS_PH_BLOCKS:
		rc = aws_blocks_parse(w, region, resp, next, sizeof(next), err);
		break;
	case AWS_PH_COUNT:
		break;
	}
	if (rc != BERTH_OK)
		return rc;
	if (next[0] != '\0')
		return aws_place_write(cur, p.phase, p.region, next, err);
	if (aws_place_next(w->scan, &p.phase, &p.region, false))
		return aws_place_write(cur, p.phase, p.region, "", err);
	cur->next[0] = '\0';
	return aws_scan_tell(w, emit, arg, err);
}

/* Service Quotas: machines are limited by the vCPUs of a family. */
static enum berth_code
aws_quota_build(
    void *st, const struct prov_cursor *cur, struct http_req *req, struct berth_err *err)
{
	struct aws *w = st;
	struct aws_place p = aws_place_read(w, cur);
	enum berth_code rc;
	struct jsonw j;
	struct buf b;

	if (aws_regions_pending(w))
		return aws_regions_build(w, req, err);
	buf_init(&b, 8192);
	jsonw_init_buf(&j, &b, JSONW_COMPACT);
	jsonw_begin_object(&j, NULL);
	jsonw_str(&j, "ServiceCode", "ec2");
	if (p.token[0] != '\0')
		jsonw_str(&j, "NextToken", p.token);
	jsonw_int(&j, "MaxResults", 100);
	jsonw_end_object(&j);
	if ((rc = jsonw_finish(&j, err)) != BERTH_OK) {
		buf_free(&b);
		return rc;
	}
	return aws_json_post(w, "servicequotas", w->regions[p.region],
	    "ServiceQuotasV20190624.ListServiceQuotas", "/", &b, req, err);
}

static enum berth_code
aws_quota_row(const char *region, const struct jsonr *row, prov_quota_fn *emit, void *arg,
    struct berth_err *err)
{
	static const char *const needed[] = { "QuotaCode", "QuotaName", "Value", NULL };
	struct prov_quota q = { .unit = "vcpu", .used = NAN, .limit = NAN };
	const char *code = "", *name = "";
	char family[64];
	enum berth_code rc;

	if ((rc = jsonr_need(row, needed, err)) != BERTH_OK ||
	    (rc = jsonr_str(row, "QuotaCode", &code, err)) != BERTH_OK ||
	    (rc = jsonr_str(row, "QuotaName", &name, err)) != BERTH_OK ||
	    (rc = jsonr_double(row, "Value", &q.limit, err)) != BERTH_OK)
		return rc;
	if (!aws_quota_name(name, family, &q.purchase))
		return BERTH_OK;
	str_copy(q.region, sizeof(q.region), region);
	snprintf(q.name, sizeof(q.name), "%.40s %.80s", code, name);
	q.counts = aws_quota_types(family, q.types, sizeof(q.types));
	return emit(arg, &q, err);
}

static void
aws_quota_part(const void *st, struct prov_part *out)
{
	const struct aws *w = st;
	size_t at = w->place.region;

	*out = (struct prov_part){ .region = "" };
	if (aws_regions_pending(w) || at >= w->n_regions)
		return;
	out->region = w->regions[at];
	if (at + 1 < w->n_regions)
		snprintf(out->next, sizeof(out->next), "0/%zu/", at + 1);
}

static enum berth_code
aws_quota_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_quota_fn *emit, void *arg, struct berth_err *err)
{
	struct aws *w = st;
	struct aws_place p = w->place;
	char next[1900] = "";
	struct jsonr root, list, row;
	json_t *v = NULL;
	enum berth_code rc;

	if (aws_regions_pending(w))
		return aws_regions_parse(w, resp, cur, err);
	if ((rc = wirejson_parse(resp, &v, err)) != BERTH_OK)
		return rc;
	root = jsonr_root(v, "quotas");
	rc = jsonr_array(&root, "Quotas", &list, err);
	if (rc == BERTH_OK && list.v == NULL)
		rc = jsonr_err(&root, BERTH_ETRANSIENT, err, "no Quotas in the answer");
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&list); i++) {
		row = jsonr_at(&list, i);
		rc = aws_quota_row(w->regions[p.region], &row, emit, arg, err);
	}
	if (rc == BERTH_OK)
		rc = wirejson_field(&root, "NextToken", next, sizeof(next), err);
	json_decref(v);
	if (rc != BERTH_OK)
		return rc;
	return aws_place_on(w, cur, &p, next, err);
}

/*
 * Spot requests whose machine will be taken or was: two minutes' notice. A fleet puts no tags on
 * its requests, so that they are told apart by their machines alone.
 */
#define AWS_NOTICE_S 120

static enum berth_code
aws_notices_build(
    void *st, const struct prov_cursor *cur, struct http_req *req, struct berth_err *err)
{
	struct aws *w = st;
	struct aws_place p = aws_place_read(w, cur);
	struct aws_form f;

	if (aws_regions_pending(w))
		return aws_regions_build(w, req, err);
	aws_form_begin(&f, req->arena, "DescribeSpotInstanceRequests", AWS_EC2_VERSION);
	aws_form_add(&f, "status-code", "Filter.1.Name");
	aws_form_add(&f, "marked-for-termination", "Filter.1.Value.1");
	aws_form_add(&f, "marked-for-stop", "Filter.1.Value.2");
	aws_form_add(&f, "1000", "MaxResults");
	if (p.token[0] != '\0')
		aws_form_add(&f, p.token, "NextToken");
	return aws_form_post(&f, w, "ec2", w->regions[p.region], req, err);
}

static enum berth_code
aws_notice(const struct aws *w, const char *region, const struct xml *x, prov_machine_fn *emit,
    void *arg, struct berth_err *err)
{
	struct prov_machine m = { .state = PROV_NOTICED, .purchase = PURCHASE_SPOT };
	const struct xml *tags = xml_get(x, "tagSet");
	const char *id = xml_text(x, "instanceId");

	if (id[0] == '\0' || !str_starts(xml_text(x, "status/code"), "marked-for-"))
		return BERTH_OK;
	if ((size_t)snprintf(m.ref, sizeof(m.ref), "%s/%s", region, id) >= sizeof(m.ref))
		return err_set(err, BERTH_EINVAL, "an instance id is too long");
	for (const struct xml *t = tags != NULL ? xml_first(tags, "item") : NULL; t != NULL;
	     t = xml_next(t, "item"))
		if (str_eq(xml_text(t, "key"), AWS_TAG_TOKEN))
			str_copy(m.token, sizeof(m.token), xml_text(t, "value"));
		else if (str_eq(xml_text(t, "key"), AWS_TAG_INSTALLATION))
			str_copy(m.installation, sizeof(m.installation), xml_text(t, "value"));
	str_copy(m.region, sizeof(m.region), region);
	str_copy(m.zone, sizeof(m.zone), xml_text(x, "launchedAvailabilityZone"));
	str_copy(m.instance_type, sizeof(m.instance_type),
	    xml_text(x, "launchSpecification/instanceType"));
	str_copy(m.detail, sizeof(m.detail), xml_text(x, "status/message"));
	m.notice_at = aws_time(xml_text(x, "status/updateTime"));
	if (m.notice_at == 0)
		m.notice_at = w->env->now;
	m.reclaim_at = m.notice_at + AWS_NOTICE_S;
	return emit(arg, &m, err);
}

static enum berth_code
aws_notices_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_machine_fn *emit, void *arg, struct berth_err *err)
{
	struct aws *w = st;
	struct aws_place p = w->place;
	const struct xml *root = NULL, *set;
	char next[1900] = "";
	enum berth_code rc;

	if (aws_regions_pending(w))
		return aws_regions_parse(w, resp, cur, err);
	rc = aws_xml(resp, "DescribeSpotInstanceRequests", &root, err);
	if (rc == BERTH_OK && (set = xml_get(root, "spotInstanceRequestSet")) == NULL)
		rc = err_set(err, BERTH_EINVAL, "no spotInstanceRequestSet in the answer");
	for (const struct xml *x = rc == BERTH_OK ? xml_first(set, "item") : NULL;
	     rc == BERTH_OK && x != NULL; x = xml_next(x, "item"))
		rc = aws_notice(w, w->regions[p.region], x, emit, arg, err);
	if (rc == BERTH_OK)
		rc = aws_field(root, "nextToken", false, next, sizeof(next), err);
	if (rc != BERTH_OK)
		return rc;
	return aws_place_on(w, cur, &p, next, err);
}

const struct prov_market_ops aws_market = {
	.offers_build = aws_offers_build,
	.offers_parse = aws_offers_parse,
	.quota_build = aws_quota_build,
	.quota_parse = aws_quota_parse,
	.quota_part = aws_quota_part,
	.notices_build = aws_notices_build,
	.notices_parse = aws_notices_parse,
};
