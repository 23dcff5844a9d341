#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "providers/aws/aws.h"
#include "providers/prov.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/str.h"
#include "util/time.h"

#define AWS_YEAR_S INT64_C(31536000)

static bool
aws_term(int64_t seconds, int *months_out)
{
	*months_out = seconds == AWS_YEAR_S ? 12 : seconds == 3 * AWS_YEAR_S ? 36 : 0;
	return *months_out > 0;
}

static bool
aws_payment(const char *option, enum payment *p_out)
{
	static const struct {
		const char *word;
		enum payment payment;
	} options[] = {
		{ "No Upfront", PAYMENT_NONE },
		{ "Partial Upfront", PAYMENT_PARTIAL },
		{ "All Upfront", PAYMENT_ALL },
	};

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (str_ieq(option, options[i].word)) {
			*p_out = options[i].payment;
			return true;
		}
	return false;
}

/* What is left to pay each hour: the recurring charge; a usage price of older offerings comes on
 * top. */
static enum berth_code
aws_reserved_hourly(const struct xml *x, struct usd_micro *price_out, struct berth_err *err)
{
	const struct xml *set = xml_get(x, "recurringCharges");
	struct usd_micro part;
	enum berth_code rc = BERTH_OK;

	*price_out = USD_ZERO;
	if (xml_text(x, "usagePrice")[0] != '\0' &&
	    (rc = usd_parse(xml_text(x, "usagePrice"), price_out, err)) != BERTH_OK)
		return rc;
	for (const struct xml *c = set != NULL ? xml_first(set, "item") : NULL;
	     rc == BERTH_OK && c != NULL; c = xml_next(c, "item")) {
		if (!str_ieq(xml_text(c, "frequency"), "Hourly"))
			return err_set(err, BERTH_EINVAL, "a reserved offering charged '%.20s'",
			    xml_text(c, "frequency"));
		if ((rc = usd_parse(xml_text(c, "amount"), &part, err)) == BERTH_OK)
			rc = usd_add(*price_out, part, price_out, err);
	}
	return rc;
}

enum berth_code
aws_reserved_offerings(struct aws *w, const char *region, const struct http_resp *resp, char *next,
    size_t size, struct berth_err *err)
{
	struct aws_scan *s = w->scan;
	const struct xml *root = NULL, *set;
	enum berth_code rc = aws_xml(resp, "DescribeReservedInstancesOfferings", &root, err);

	if (rc != BERTH_OK)
		return rc;
	set = xml_get(root, "reservedInstancesOfferingsSet");
	if (set == NULL)
		return err_set(err, BERTH_EINVAL, "no reservedInstancesOfferingsSet in the answer");
	for (const struct xml *x = xml_first(set, "item"); rc == BERTH_OK && x != NULL;
	     x = xml_next(x, "item")) {
		const struct aws_type *t =
		    aws_scan_type(s, xml_text(x, "instanceType"), 0, NAN, NAN);
		const char *what = xml_text(x, "productDescription"),
			   *zone = xml_text(x, "availabilityZone");
		struct offer o = aws_offer(region, w->env->now, "reserved instances offerings");
		int64_t seconds = 0;

		if (t == NULL ||
		    (!str_eq(what, "Linux/UNIX") && !str_eq(what, "Linux/UNIX (Amazon VPC)")) ||
		    str_eq(xml_text(x, "instanceTenancy"), "dedicated") ||
		    str_eq(xml_text(x, "marketplace"), "true"))
			continue;
		if (str_to_i64(xml_text(x, "duration"), 1, 10 * AWS_YEAR_S, &seconds, NULL) !=
			BERTH_OK ||
		    !aws_term(seconds, &o.term_months) ||
		    !aws_payment(xml_text(x, "offeringType"), &o.payment) ||
		    usd_parse(xml_text(x, "fixedPrice"), &o.upfront, NULL) != BERTH_OK)
			continue;
		o.purchase = PURCHASE_RESERVED;
		o.zone = zone;
		if (strlen(xml_text(x, "currencyCode")) == 3)
			str_copy(o.currency, sizeof(o.currency), xml_text(x, "currencyCode"));
		rc = aws_reserved_hourly(x, &o.price, err);
		if (rc == BERTH_OK)
			aws_scan_keep(s, t, o);
	}
	return rc == BERTH_OK ? aws_field(root, "nextToken", false, next, size, err) : rc;
}

static void
aws_savings_filter(struct jsonw *w, const char *name, const char *const *values, size_t n)
{
	jsonw_begin_object(w, NULL);
	jsonw_str(w, "name", name);
	jsonw_begin_array(w, "values");
	for (size_t i = 0; i < n; i++)
		jsonw_str(w, NULL, values[i]);
	jsonw_end_array(w);
	jsonw_end_object(w);
}

enum berth_code
aws_savings_build(struct aws *w, const char *region, const char *token, struct http_req *req,
    struct berth_err *err)
{
	const char **families = arena_array_of(req->arena, w->scan->types.n + 2, const char *);
	struct jsonw j;
	struct buf b;
	size_t n = 0;
	enum berth_code rc;

	for (size_t i = 0; i < w->scan->types.n; i++) {
		const char *name = w->scan->types.v[i].name,
			   *family = arena_strndup(req->arena, name, strcspn(name, "."));

		if (str_index(family, families) < 0)
			families[n++] = family;
	}
	buf_init(&b, 262144);
	jsonw_init_buf(&j, &b, JSONW_COMPACT);
	jsonw_begin_object(&j, NULL);
	jsonw_begin_array(&j, "savingsPlanTypes");
	jsonw_str(&j, NULL, "Compute");
	jsonw_str(&j, NULL, "EC2Instance");
	jsonw_end_array(&j);
	jsonw_begin_array(&j, "products");
	jsonw_str(&j, NULL, "EC2");
	jsonw_end_array(&j);
	jsonw_begin_array(&j, "filters");
	aws_savings_filter(&j, "region", &region, 1);
	aws_savings_filter(&j, "productDescription", (const char *const[]){ "Linux/UNIX" }, 1);
	aws_savings_filter(&j, "tenancy", (const char *const[]){ "shared" }, 1);
	aws_savings_filter(&j, "instanceFamily", families, n);
	jsonw_end_array(&j);
	if (token[0] != '\0')
		jsonw_str(&j, "nextToken", token);
	jsonw_int(&j, "maxResults", 1000);
	jsonw_end_object(&j);
	if ((rc = jsonw_finish(&j, err)) != BERTH_OK) {
		buf_free(&b);
		return rc;
	}
	return aws_json_post(w, "savingsplans", "us-east-1", NULL,
	    "/DescribeSavingsPlansOfferingRates", &b, req, err);
}

static const char *
aws_savings_property(const struct jsonr *row, const char *name)
{
	struct jsonr all;
	const char *n, *v;

	if (jsonr_array(row, "properties", &all, NULL) != BERTH_OK)
		return "";
	for (size_t i = 0; i < jsonr_len(&all); i++) {
		struct jsonr p = jsonr_at(&all, i);

		n = v = "";
		if (jsonr_str(&p, "name", &n, NULL) == BERTH_OK &&
		    jsonr_str(&p, "value", &v, NULL) == BERTH_OK && str_eq(n, name))
			return v;
	}
	return "";
}

/*
 * The rate is what an hour costs in all, whatever the payment: all upfront is rate x hours of the
 * term paid at the start, partial upfront half of that and half of the rate each hour.
 */
static enum berth_code
aws_savings_split(struct offer *o, struct usd_micro rate, struct berth_err *err)
{
	int64_t hours = (int64_t)offer_term_hours(o);
	enum berth_code rc = BERTH_OK;

	o->price = rate;
	if (o->payment == PAYMENT_NONE)
		return BERTH_OK;
	if (o->payment == PAYMENT_PARTIAL)
		rc = usd_div_i64(rate, 2, &o->price, err);
	else
		o->price = USD_ZERO;
	if (rc == BERTH_OK)
		rc = usd_sub(rate, o->price, &rate, err);
	return rc == BERTH_OK ? usd_mul_i64(rate, hours, &o->upfront, err) : rc;
}

static enum berth_code
aws_savings_row(struct aws *w, const char *region, const struct jsonr *row, struct berth_err *err)
{
	struct jsonr plan = jsonr_get(row, "savingsPlanOffering");
	const char *type = aws_savings_property(row, "instanceType"), *unit = "", *option = "",
		   *currency = "USD", *kind = "";
	const char *system = aws_savings_property(row, "productDescription"),
		   *tenancy = aws_savings_property(row, "tenancy");
	const struct aws_type *t = aws_scan_type(w->scan, type, 0, NAN, NAN);
	struct offer o = aws_offer(region, w->env->now, "");
	struct usd_micro rate = USD_UNKNOWN;
	int64_t seconds = 0;
	enum berth_code rc;

	if (t == NULL || !str_eq(system, "Linux/UNIX") || !str_ieq(tenancy, "shared") ||
	    (aws_savings_property(row, "region")[0] != '\0' &&
		!str_eq(aws_savings_property(row, "region"), region)))
		return BERTH_OK;
	if ((rc = jsonr_price(row, "rate", &rate, err)) != BERTH_OK ||
	    (rc = jsonr_str(row, "unit", &unit, err)) != BERTH_OK ||
	    (rc = jsonr_str(&plan, "paymentOption", &option, err)) != BERTH_OK ||
	    (rc = jsonr_str(&plan, "planType", &kind, err)) != BERTH_OK ||
	    (rc = jsonr_str(&plan, "currency", &currency, err)) != BERTH_OK ||
	    (rc = jsonr_int(&plan, "durationSeconds", 0, 10 * AWS_YEAR_S, &seconds, err)) !=
		BERTH_OK)
		return rc;
	if (!str_ieq(unit, "Hrs") || !aws_payment(option, &o.payment) ||
	    !aws_term(seconds, &o.term_months) || strlen(currency) != 3)
		return BERTH_OK;
	o.purchase = PURCHASE_RESERVED;
	o.source = arena_printf(w->scan->a, "%s savings plan", kind);
	str_copy(o.currency, sizeof(o.currency), currency);
	if (usd_known(rate) && rate.v > 0 && (rc = aws_savings_split(&o, rate, err)) == BERTH_OK)
		aws_scan_keep(w->scan, t, o);
	return rc;
}

enum berth_code
aws_savings_rates(struct aws *w, const char *region, const struct http_resp *resp, char *next,
    size_t size, struct berth_err *err)
{
	struct jsonr root, rows, row;
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "savings plans");
	rc = jsonr_array(&root, "searchResults", &rows, err);
	if (rc == BERTH_OK && rows.v == NULL)
		rc = jsonr_err(&root, BERTH_ETRANSIENT, err, "no searchResults in the answer");
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&rows); i++) {
		row = jsonr_at(&rows, i);
		rc = aws_savings_row(w, region, &row, err);
	}
	if (rc == BERTH_OK)
		rc = wirejson_field(&root, "nextToken", next, size, err);
	json_decref(v);
	return rc;
}

/* Capacity blocks: machines for a stretch of days that begins soon, paid whole at the start. */

#define AWS_BLOCK_HOURS 24 /* asked for unless the account says otherwise */

bool
aws_blocks_type(const struct aws_scan *s, const char *region, size_t *index)
{
	for (; *index < s->types.n; ++*index)
		if (s->types.v[*index].block &&
		    strmap_get(&s->seen,
			arena_printf(s->a, "%s\t%s", region, s->types.v[*index].name)) != NULL)
			return true;
	return false;
}

enum berth_code
aws_blocks_build(struct aws *w, const char *region, const char *token, struct http_req *req,
    struct berth_err *err)
{
	const char *colon = strchr(token, ':'), *page = colon != NULL ? colon + 1 : "";
	size_t i = (size_t)strtoul(token, NULL, 10);
	struct aws_form f;
	char t[TIME_FMT_SIZE];

	if (!aws_blocks_type(w->scan, region, &i))
		return err_set(err, BERTH_EINVAL, "no type is sold as a capacity block here");
	w->block_type = i;
	aws_form_begin(&f, req->arena, "DescribeCapacityBlockOfferings", AWS_EC2_VERSION);
	aws_form_add(&f,
	    arena_printf(req->arena, "%lld",
		(long long)(prov_conf_int(w->env->conf, "block_length", AWS_BLOCK_HOURS * 3600) /
			    3600)),
	    "CapacityDurationHours");
	aws_form_add(&f, "1", "InstanceCount");
	aws_form_add(&f, w->scan->types.v[i].name, "InstanceType");
	aws_form_add(&f, "100", "MaxResults");
	if (page[0] != '\0')
		aws_form_add(&f, page, "NextToken");
	aws_form_add(&f, time_fmt(t, w->env->now), "StartDateRange");
	return aws_form_post(&f, w, "ec2", region, req, err);
}

static enum berth_code
aws_block(struct aws *w, const char *region, const struct xml *x, struct berth_err *err)
{
	const struct aws_type *t = aws_scan_type(w->scan, xml_text(x, "instanceType"), 0, NAN, NAN);
	struct offer o = aws_offer(region, w->env->now, "capacity block");
	const char *count = xml_text(x, "instanceCount"), *currency = xml_text(x, "currencyCode");

	if (t == NULL || (count[0] != '\0' && !str_eq(count, "1")) ||
	    str_eq(xml_text(x, "tenancy"), "dedicated"))
		return BERTH_OK;
	o.starts_at = aws_time(xml_text(x, "startDate"));
	o.ends_at = aws_time(xml_text(x, "endDate"));
	if (o.starts_at == 0 || o.ends_at <= o.starts_at ||
	    usd_parse(xml_text(x, "upfrontFee"), &o.upfront, NULL) != BERTH_OK)
		return err_set(err, BERTH_EINVAL, "a capacity block without dates or fee");
	o.kind = OFFER_BLOCK;
	o.purchase = PURCHASE_RESERVED;
	o.payment = PAYMENT_ALL;
	o.price = USD_ZERO;
	o.zone = xml_text(x, "availabilityZone");
	o.available = AVAIL_YES;
	if (strlen(currency) == 3)
		str_copy(o.currency, sizeof(o.currency), currency);
	aws_scan_keep(w->scan, t, o);
	return BERTH_OK;
}

enum berth_code
aws_blocks_parse(struct aws *w, const char *region, const struct http_resp *resp, char *next,
    size_t size, struct berth_err *err)
{
	const struct xml *root = NULL, *set;
	char page[1800] = "";
	size_t i = w->block_type;
	enum berth_code rc = aws_xml(resp, "DescribeCapacityBlockOfferings", &root, err);

	if (rc == BERTH_OK && (set = xml_get(root, "capacityBlockOfferingSet")) == NULL)
		rc = err_set(err, BERTH_EINVAL, "no capacityBlockOfferingSet in the answer");
	for (const struct xml *x = rc == BERTH_OK ? xml_first(set, "item") : NULL;
	     rc == BERTH_OK && x != NULL; x = xml_next(x, "item"))
		rc = aws_block(w, region, x, err);
	if (rc == BERTH_OK)
		rc = aws_field(root, "nextToken", false, page, sizeof(page), err);
	if (rc != BERTH_OK)
		return rc;
	next[0] = '\0';
	if (page[0] != '\0')
		snprintf(next, size, "%zu:%s", i, page);
	else if (++i, aws_blocks_type(w->scan, region, &i))
		snprintf(next, size, "%zu:", i);
	return BERTH_OK;
}
