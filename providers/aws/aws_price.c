#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "providers/aws/aws.h"
#include "util/arena.h"
#include "util/csv.h"
#include "util/jsonpull.h"
#include "util/str.h"

/* What tells the rows of one instance type apart. Only these fields of a product are read. */
enum price_attr {
	PRICE_TYPE,
	PRICE_REGION,
	PRICE_LOCATION,
	PRICE_TENANCY,
	PRICE_SYSTEM,
	PRICE_SOFTWARE,
	PRICE_STATUS,
	PRICE_MARKET,
	PRICE_LICENSE,
	PRICE_OPERATION,
	PRICE_GPU,
	PRICE_VCPU,
	PRICE_MEMORY,
	PRICE_ATTR_COUNT
};

static const struct {
	const char *json, *csv;
} price_attrs[PRICE_ATTR_COUNT] = {
	[PRICE_TYPE] = { "instanceType", "Instance Type" },
	[PRICE_REGION] = { "regionCode", "Region Code" },
	[PRICE_LOCATION] = { "location", "Location" },
	[PRICE_TENANCY] = { "tenancy", "Tenancy" },
	[PRICE_SYSTEM] = { "operatingSystem", "Operating System" },
	[PRICE_SOFTWARE] = { "preInstalledSw", "Pre Installed S/W" },
	[PRICE_STATUS] = { "capacitystatus", "CapacityStatus" },
	[PRICE_MARKET] = { "marketoption", "MarketOption" },
	[PRICE_LICENSE] = { "licenseModel", "License Model" },
	[PRICE_OPERATION] = { "operation", "operation" },
	[PRICE_GPU] = { "gpu", "GPU" },
	[PRICE_VCPU] = { "vcpu", "vCPU" },
	[PRICE_MEMORY] = { "memory", "Memory" },
};

#define PRICE_ATTR_SIZE 96

struct price_product {
	char family[64], attr[PRICE_ATTR_COUNT][PRICE_ATTR_SIZE];
};

/* A SKU that is wanted: a machine with accelerators. */
struct price_sku {
	const struct aws_type *type;
	const char *region;
	enum offer_kind kind;
};

struct price_list {
	struct aws_price *p;
	struct strmap by_sku; /* into skus */
	VEC(struct price_sku) skus;
	bool products; /* the list has some: an unknown SKU is one that was left out */
};

/* One price of one SKU, put together from its dimensions. */
struct price_term {
	struct usd_micro hourly, upfront;
	char currency[4];
	int64_t effective;
	int months;
	enum payment payment;
	bool convertible, known; /* known: its words were understood */
	char described[64];      /* instance type that a dimension speaks of */
};

static bool
price_is(const struct price_product *d, enum price_attr a, const char *want)
{
	return d->attr[a][0] == '\0' || str_eq(d->attr[a], want);
}

/*
 * What the price holds besides a plain machine: Linux, no software, shared hardware (a bare-metal
 * type is sold as dedicated, being a whole host). False: not a price of a machine in use on demand
 * (a reservation that waits, a capacity block, a host paid for elsewhere, a license brought along).
 */
static bool
price_kind(const struct price_product *d, enum offer_kind *kind_out)
{
	bool metal = str_ends(d->family, "(bare metal)"),
	     dedicated = str_eq(d->attr[PRICE_TENANCY], "Dedicated") && !metal;
	bool linux_os = str_eq(d->attr[PRICE_SYSTEM], "Linux"),
	     bare = price_is(d, PRICE_SOFTWARE, "NA");

	if (d->family[0] != '\0' && !str_eq(d->family, "Compute Instance") && !metal)
		return false;
	if ((!str_eq(d->attr[PRICE_TENANCY], "Shared") &&
		!str_eq(d->attr[PRICE_TENANCY], "Dedicated")) ||
	    d->attr[PRICE_SYSTEM][0] == '\0' || !price_is(d, PRICE_STATUS, "Used") ||
	    !price_is(d, PRICE_MARKET, "OnDemand") ||
	    !price_is(d, PRICE_LICENSE, "No License required"))
		return false;
	if (linux_os && bare && !price_is(d, PRICE_OPERATION, "RunInstances"))
		return false;
	*kind_out = dedicated                                          ? OFFER_DEDICATED
		    : linux_os && bare                                 ? OFFER_PLAIN
		    : str_eq(d->attr[PRICE_SYSTEM], "Windows") && bare ? OFFER_WINDOWS
								       : OFFER_LICENSED;
	return !dedicated || (linux_os && bare);
}

static double
price_number(const char *s)
{
	char text[32];
	double x = NAN;
	size_t n = 0;

	for (; *s != '\0' && *s != ' ' && n + 1 < sizeof(text); s++) /* "1,952 GiB" */
		if (*s != ',')
			text[n++] = *s;
	text[n] = '\0';
	return str_to_double(text, 0, 1e7, &x, NULL) == BERTH_OK ? x : (double)NAN;
}

/* A type with accelerators. */
static bool
price_known_type(const struct aws_price *p, const char *type)
{
	return aws_family_accelerator(type) != NULL ||
	       strmap_get(&p->scan->types_by_name, type) != NULL;
}

/* False: not wanted. */
static bool
price_wanted(struct aws_price *p, const struct price_product *d, struct price_sku *sku_out)
{
	double gpus = price_number(d->attr[PRICE_GPU]);
	const char *region = d->attr[PRICE_REGION];

	if (!price_known_type(p, d->attr[PRICE_TYPE]) || !price_kind(d, &sku_out->kind))
		return false;
	sku_out->type =
	    aws_scan_type(p->scan, d->attr[PRICE_TYPE], gpus >= 1 && gpus <= 1024 ? (int)gpus : 0,
		price_number(d->attr[PRICE_VCPU]), price_number(d->attr[PRICE_MEMORY]));
	if (sku_out->type == NULL)
		return false;
	if (region[0] == '\0')
		region = aws_region_of_location(p->scan->a, d->attr[PRICE_LOCATION]);
	if (region == NULL) { /* a place that nobody knows: kept by its own name */
		region = d->attr[PRICE_LOCATION];
		aws_scan_place(p->scan, region);
	}
	sku_out->region = arena_strdup(p->scan->a, region);
	return p->region == NULL || str_eq(p->region, region);
}

static void
price_copy(char *dst, size_t size, const struct jsonpull *j)
{
	str_copy(dst, size, j->text);
}

/* {productFamily, attributes, ...} */
static void
price_product_read(const struct aws_price *p, struct jsonpull *j, struct price_product *d)
{
	memset(d, 0, sizeof(*d));
	if (!jsonpull_object(j))
		return;
	while (jsonpull_key(j)) {
		if (jsonpull_is(j, "productFamily")) {
			if (jsonpull_text(j))
				price_copy(d->family, sizeof(d->family), j);
		} else if (jsonpull_is(j, "attributes") && jsonpull_object(j)) {
			while (jsonpull_key(j)) {
				size_t i = 0;

				while (i < PRICE_ATTR_COUNT && !jsonpull_is(j, price_attrs[i].json))
					i++;
				if (i == PRICE_ATTR_COUNT)
					jsonpull_skip(j);
				else if (jsonpull_text(j))
					price_copy(d->attr[i], sizeof(d->attr[i]), j);
				if (i == PRICE_TYPE && !price_known_type(p, d->attr[i])) {
					jsonpull_leave(
					    j); /* most of a list: the rest is passed unread */
					break;
				}
			}
		} else if (!jsonpull_is(j, "attributes")) {
			jsonpull_skip(j);
		}
	}
}

static void
price_add_sku(struct price_list *l, const char *sku, const struct price_sku *s)
{
	strmap_add(l->p->scan->a, &l->by_sku, sku, l->skus.n, NULL);
	VEC_PUSH(l->p->scan->a, &l->skus, *s);
}

static void
price_products(struct price_list *l, struct jsonpull *j)
{
	struct price_product d;
	struct price_sku s;
	char sku[64];

	l->products = true;
	if (!jsonpull_object(j))
		return;
	while (jsonpull_key(j)) {
		price_copy(sku, sizeof(sku), j);
		price_product_read(l->p, j, &d);
		if (price_wanted(l->p, &d, &s))
			price_add_sku(l, sku, &s);
	}
}

/* pricePerUnit: {"USD": "32.77"}; of several currencies the one with a price. */
static void
price_unit(struct jsonpull *j, struct usd_micro *price, char currency[4])
{
	struct usd_micro v;

	if (!jsonpull_object(j))
		return;
	while (jsonpull_key(j)) {
		char code[8];

		price_copy(code, sizeof(code), j);
		if (!jsonpull_text(j) || strlen(code) != 3 ||
		    usd_parse(j->text, &v, NULL) != BERTH_OK)
			continue;
		if (!usd_known(*price) || price->v == 0) {
			*price = v;
			str_copy(currency, 4, code);
		}
	}
}

/* "Linux/UNIX (Amazon VPC), p4d.24xlarge reserved instance applied" */
static void
price_described(const char *text, char dst[64])
{
	const char *end = strstr(text, " reserved instance applied"), *from = end;

	while (from != NULL && from > text && from[-1] != ' ')
		from--;
	if (end != NULL && (size_t)(end - from) < 64) {
		memcpy(dst, from, (size_t)(end - from));
		dst[end - from] = '\0';
	}
}

/* An ISO 4217 code. */
static bool
price_currency(const char *s)
{
	return strlen(s) == 3 && strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == 3;
}

/* One dimension's unit and price, into the term: "Hrs" is by the hour, "Quantity" is paid at the
 * start. */
static void
price_dimension_put(struct price_term *t, const char *unit, const char *begin,
    struct usd_micro price, const char *currency)
{
	if (!usd_known(price) || !price_currency(currency) ||
	    (t->currency[0] != '\0' && price.v != 0 && !str_eq(t->currency, currency)))
		return;
	if (str_ieq(unit, "Quantity")) {
		t->upfront = price;
	} else if ((str_ieq(unit, "Hrs") || str_ieq(unit, "Hours") || unit[0] == '\0') &&
		   (begin[0] == '\0' || str_eq(begin, "0"))) {
		t->hourly = price;
	} else {
		return;
	}
	if (t->currency[0] == '\0' || price.v != 0)
		str_copy(t->currency, sizeof(t->currency), currency);
}

static void
price_dimensions(struct jsonpull *j, struct price_term *t)
{
	if (!jsonpull_object(j))
		return;
	while (jsonpull_key(j)) {
		char unit[24] = "", begin[24] = "", currency[4] = "";
		struct usd_micro price = USD_UNKNOWN;

		if (!jsonpull_object(j))
			continue;
		while (jsonpull_key(j)) {
			if (jsonpull_is(j, "pricePerUnit")) {
				price_unit(j, &price, currency);
			} else if (jsonpull_is(j, "unit")) {
				if (jsonpull_text(j))
					price_copy(unit, sizeof(unit), j);
			} else if (jsonpull_is(j, "beginRange")) {
				if (jsonpull_text(j))
					price_copy(begin, sizeof(begin), j);
			} else if (jsonpull_is(j, "description")) {
				if (jsonpull_text(j))
					price_described(j->text, t->described);
			} else {
				jsonpull_skip(j);
			}
		}
		price_dimension_put(t, unit, begin, price, currency);
	}
}

static void
price_words(struct price_term *t, const char *lease, const char *option, const char *class)
{
	static const struct {
		const char *word;
		enum payment payment;
	} options[] = {
		{ "No Upfront", PAYMENT_NONE },
		{ "Partial Upfront", PAYMENT_PARTIAL },
		{ "All Upfront", PAYMENT_ALL },
		{ "NoUpfront", PAYMENT_NONE },
		{ "PartialUpfront", PAYMENT_PARTIAL },
		{ "AllUpfront", PAYMENT_ALL },
	};
	bool paid = false;

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (str_ieq(option, options[i].word)) {
			t->payment = options[i].payment;
			paid = true;
		}
	t->months = str_starts(lease, "1") ? 12 : str_starts(lease, "3") ? 36 : 0;
	t->convertible = str_ieq(class, "convertible");
	t->known = paid && t->months > 0 && (lease[1] == 'y' || lease[1] == ' ');
}

static void
price_term_attributes(struct jsonpull *j, struct price_term *t)
{
	char lease[16] = "", option[24] = "", class[24] = "";

	if (!jsonpull_object(j))
		return;
	while (jsonpull_key(j)) {
		char *dst = jsonpull_is(j, "LeaseContractLength") ? lease
			    : jsonpull_is(j, "PurchaseOption")    ? option
			    : jsonpull_is(j, "OfferingClass")     ? class
								  : NULL;
		size_t size = dst == lease ? sizeof(lease) : sizeof(option);

		if (dst == NULL)
			jsonpull_skip(j);
		else if (jsonpull_text(j))
			price_copy(dst, size, j);
	}
	price_words(t, lease, option, class);
}

static struct price_term
price_term_read(struct jsonpull *j)
{
	struct price_term t = { .hourly = USD_UNKNOWN, .upfront = USD_UNKNOWN };

	if (!jsonpull_object(j))
		return t;
	while (jsonpull_key(j)) {
		if (jsonpull_is(j, "priceDimensions")) {
			price_dimensions(j, &t);
		} else if (jsonpull_is(j, "termAttributes")) {
			price_term_attributes(j, &t);
		} else if (jsonpull_is(j, "effectiveDate")) {
			if (jsonpull_text(j))
				t.effective = aws_time(j->text);
		} else {
			jsonpull_skip(j);
		}
	}
	return t;
}

static void
price_keep(
    struct aws_price *p, const struct price_sku *s, const struct price_term *t, bool reserved)
{
	struct offer o = aws_offer(s->region, p->as_of,
	    arena_printf(p->scan->a, "%s%s", p->source,
		!reserved        ? ""
		: t->convertible ? " convertible reservation"
				 : " reservation"));

	if (t->effective > p->now || t->currency[0] == '\0')
		return; /* tomorrow's price is not today's */
	str_copy(o.currency, sizeof(o.currency), t->currency);
	o.price = t->hourly;
	o.kind = s->kind;
	if (reserved) {
		if (!t->known || s->kind != OFFER_PLAIN)
			return;
		o.purchase = PURCHASE_RESERVED;
		o.term_months = t->months;
		o.payment = t->payment;
		o.upfront = usd_known(t->upfront) ? t->upfront : USD_ZERO;
		if (!usd_known(o.price) && o.upfront.v > 0)
			o.price = USD_ZERO;
		if ((o.payment == PAYMENT_NONE) != (o.upfront.v == 0))
			return; /* a fee that is missing, or one that should not be there: no price
				 */
	}
	aws_scan_keep(p->scan, s->type, o);
}

/* {"SKU.TERM": {...}}: on demand, of several terms the one that came into force last. */
static void
price_sku_terms(struct aws_price *p, const struct price_sku *s, struct jsonpull *j, bool reserved)
{
	struct price_term best = { .effective = -1 };

	if (!jsonpull_object(j))
		return;
	while (jsonpull_key(j)) {
		struct price_term t = price_term_read(j);

		if (reserved)
			price_keep(p, s, &t, true);
		else if (t.effective <= p->now && t.effective > best.effective)
			best = t;
	}
	if (!reserved && best.effective >= 0)
		price_keep(p, s, &best, false);
}

/* A list with terms alone: what a SKU is stands in the words of its dimensions. */
static void
price_orphan(struct price_list *l, struct jsonpull *j)
{
	if (!jsonpull_object(j))
		return;
	while (jsonpull_key(j)) {
		struct price_term t = price_term_read(j);
		struct price_sku s = { NULL, l->p->region != NULL ? l->p->region : "",
			OFFER_PLAIN };

		if (t.described[0] != '\0')
			s.type = aws_scan_type(l->p->scan, t.described, 0, NAN, NAN);
		if (s.type != NULL)
			price_keep(l->p, &s, &t, true);
	}
}

static void
price_terms(struct price_list *l, struct jsonpull *j)
{
	if (!jsonpull_object(j))
		return;
	while (jsonpull_key(j)) {
		bool reserved = jsonpull_is(j, "Reserved");

		if ((!reserved && !jsonpull_is(j, "OnDemand")) ||
		    (reserved && !l->p->scan->reserved)) {
			jsonpull_skip(j);
			continue;
		}
		if (!jsonpull_object(j))
			continue;
		while (jsonpull_key(j)) {
			const size_t *at = strmap_get(&l->by_sku, j->text);

			if (at != NULL)
				price_sku_terms(l->p, &l->skus.v[*at], j, reserved);
			else if (reserved && !l->products)
				price_orphan(l, j);
			else
				jsonpull_skip(j);
		}
	}
}

/* A date alone in this form. */
static int64_t
price_date(const char *s)
{
	char text[32];

	snprintf(text, sizeof(text), "%.10sT00:00:00Z", s);
	return aws_time(strlen(s) == strlen("2026-11-01") ? text : s);
}

/* The age of a list that lies in a file; one that is dated behind our clock is as young as can be.
 */
static void
price_published(struct aws_price *p, const char *date)
{
	int64_t t = price_date(date);

	if (p->published && t != 0)
		p->as_of = t < p->now ? t : p->now;
}

/* One reading of the document; terms are passed over until products are known. */
static enum berth_code
price_pass(struct price_list *l, FILE *file, const char *bytes, size_t n, bool products,
    bool *late_out, struct berth_err *err)
{
	struct jsonpull j;
	bool terms = false, offers = false;

	*late_out = false;
	if (file != NULL)
		jsonpull_file(&j, file, "price list");
	else
		jsonpull_bytes(&j, bytes, n, "price list");
	if (jsonpull_object(&j))
		while (jsonpull_key(&j)) {
			if (products && jsonpull_is(&j, "products")) {
				*late_out = terms;
				price_products(l, &j);
			} else if (jsonpull_is(&j, "terms")) {
				terms = true;
				if (l->products || !products) {
					price_terms(l, &j);
					offers = true;
				} else {
					jsonpull_skip(&j);
				}
			} else if (jsonpull_is(&j, "publicationDate")) {
				if (jsonpull_text(&j))
					price_published(l->p, j.text);
			} else {
				jsonpull_skip(&j);
			}
		}
	if (j.type != JSONPULL_ERROR && jsonpull_next(&j) != JSONPULL_END)
		jsonpull_fail(&j, "something behind the price list");
	if (!terms && j.type != JSONPULL_ERROR)
		jsonpull_fail(&j, "no prices in it");
	*late_out = *late_out || (products && !l->products && !offers);
	return jsonpull_close(&j, err);
}

enum berth_code
aws_price_json(struct aws_price *p, FILE *file, const char *bytes, size_t n, struct berth_err *err)
{
	struct price_list l = { .p = p };
	bool late = false;
	long start = file != NULL ? ftell(file) : 0;
	enum berth_code rc = price_pass(&l, file, bytes, n, true, &late, err);

	if (rc != BERTH_OK || !late)
		return rc;
	if (file != NULL && fseek(file, start, SEEK_SET) != 0)
		return err_set(err, BERTH_EIO, "price list: cannot be read twice");
	return price_pass(&l, file, bytes, n, false, &late, err);
}

static void
price_entry_terms(struct aws_price *p, const struct price_sku *s, struct jsonpull *j)
{
	if (!jsonpull_object(j))
		return;
	while (jsonpull_key(j)) {
		bool reserved = jsonpull_is(j, "Reserved");

		if (jsonpull_is(j, "OnDemand") || (reserved && p->scan->reserved))
			price_sku_terms(p, s, j, reserved);
		else
			jsonpull_skip(j);
	}
}

/*
 * {"product": {...}, "terms": {"OnDemand": {"SKU.TERM": {...}}}}, in either order: without the bulk
 * list's level of SKUs.
 */
enum berth_code
aws_price_entry(struct aws_price *p, const char *bytes, size_t n, struct berth_err *err)
{
	struct price_product d = { .family = "" };
	struct price_sku s = { NULL, NULL, OFFER_PLAIN };
	struct jsonpull j;
	enum berth_code rc = BERTH_OK;

	for (int pass = 0; rc == BERTH_OK && pass < 2; pass++) {
		jsonpull_bytes(&j, bytes, n, "PriceList");
		if (jsonpull_object(&j))
			while (jsonpull_key(&j)) {
				if (pass == 0 && jsonpull_is(&j, "product"))
					price_product_read(p, &j, &d);
				else if (pass == 1 && jsonpull_is(&j, "terms"))
					price_entry_terms(p, &s, &j);
				else
					jsonpull_skip(&j);
			}
		rc = jsonpull_close(&j, err);
		if (pass == 0 && (rc != BERTH_OK || !price_wanted(p, &d, &s)))
			break;
	}
	return rc;
}

/* Rows of one SKU and term lie together in no order that is promised, so they are put together by
 * key. */
struct price_row {
	struct price_term t;
	struct price_sku s;
	bool reserved;
};

struct price_csv {
	struct aws_price *p;
	int attr[PRICE_ATTR_COUNT];
	int sku, term, kind, unit, price, currency, begin, effective, lease, option, class, family;
	struct strmap by_key;
	VEC(struct price_row) rows;
};

/* "Publication Date","2026-11-20T18:02:11Z" */
static void
price_csv_date(struct aws_price *p, const char *line)
{
	static const char name[] = "Publication Date";
	char text[40] = "";
	size_t n = 0;

	line += *line == '"';
	if (!str_starts(line, name))
		return;
	for (line += strlen(name); *line != '\0' && n + 1 < sizeof(text); line++)
		if (strchr("\",\r\n", *line) == NULL)
			text[n++] = *line;
	price_published(p, text);
}

/* Some lines about the file stand before the header: "FormatVersion","v1.0" ... */
static enum berth_code
price_csv_header(struct aws_price *p, FILE *file, struct berth_err *err)
{
	char line[256];

	for (int i = 0; i < 32; i++) {
		long at = ftell(file);
		bool first = true;

		do {
			if (fgets(line, sizeof(line), file) == NULL)
				return err_set(
				    err, BERTH_EINVAL, "price list: no header with SKU in it");
			if (first && (str_starts(line, "\"SKU\"") || str_starts(line, "SKU,")))
				return fseek(file, at, SEEK_SET) == 0
					   ? BERTH_OK
					   : err_set(err, BERTH_EIO,
						 "price list: cannot be read twice");
			if (first)
				price_csv_date(p, line);
			first = false;
		} while (strchr(line, '\n') == NULL);
	}
	return err_set(err, BERTH_EINVAL, "price list: no header with SKU in its first lines");
}

static enum berth_code
price_csv_columns(struct price_csv *c, struct csv *csv, struct berth_err *err)
{
	const struct {
		const char *name;
		int *col;
	} needed[] = { { "SKU", &c->sku }, { "OfferTermCode", &c->term }, { "TermType", &c->kind },
		{ "Unit", &c->unit }, { "PricePerUnit", &c->price }, { "Currency", &c->currency },
		{ "StartingRange", &c->begin }, { "EffectiveDate", &c->effective },
		{ "Product Family", &c->family } };
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; rc == BERTH_OK && i < sizeof(needed) / sizeof(needed[0]); i++)
		rc = csv_need(csv, needed[i].name, needed[i].col, err);
	c->lease = csv_column(csv, "LeaseContractLength");
	c->option = csv_column(csv, "PurchaseOption");
	c->class = csv_column(csv, "OfferingClass");
	for (size_t i = 0; i < PRICE_ATTR_COUNT; i++)
		c->attr[i] = csv_column(csv, price_attrs[i].csv);
	for (enum price_attr i = PRICE_TYPE; rc == BERTH_OK && i <= PRICE_SYSTEM; i++)
		if (c->attr[i] < 0 && i != PRICE_REGION)
			rc = csv_need(csv, price_attrs[i].csv, &c->attr[i], err);
	return rc;
}

static const char *
price_cell(const struct csv_row *row, int col)
{
	return col >= 0 ? row->field[col] : "";
}

static void
price_csv_row(struct price_csv *c, const struct csv_row *row)
{
	bool reserved = str_eq(row->field[c->kind], "Reserved");
	struct price_product d = { .family = "" };
	struct usd_micro price = USD_UNKNOWN;
	struct price_sku s;
	struct price_row *r;
	size_t *at;
	int added;

	if ((!reserved && !str_eq(row->field[c->kind], "OnDemand")) ||
	    aws_family_accelerator(price_cell(row, c->attr[PRICE_TYPE])) == NULL)
		return;
	str_copy(d.family, sizeof(d.family), row->field[c->family]);
	for (size_t i = 0; i < PRICE_ATTR_COUNT; i++)
		str_copy(d.attr[i], sizeof(d.attr[i]), price_cell(row, c->attr[i]));
	if (!price_wanted(c->p, &d, &s) ||
	    usd_parse(row->field[c->price], &price, NULL) != BERTH_OK)
		return;
	at = strmap_add(c->p->scan->a, &c->by_key,
	    arena_printf(c->p->scan->a, "%s.%s", row->field[c->sku], row->field[c->term]),
	    c->rows.n, &added);
	if (added)
		VEC_PUSH(c->p->scan->a, &c->rows,
		    ((struct price_row){ .s = s,
			.reserved = reserved,
			.t = { .hourly = USD_UNKNOWN, .upfront = USD_UNKNOWN } }));
	r = &c->rows.v[*at];
	r->t.effective = price_date(row->field[c->effective]);
	price_dimension_put(
	    &r->t, row->field[c->unit], row->field[c->begin], price, row->field[c->currency]);
	price_words(&r->t, price_cell(row, c->lease), price_cell(row, c->option),
	    price_cell(row, c->class));
}

enum berth_code
aws_price_csv(struct aws_price *p, FILE *file, struct berth_err *err)
{
	struct price_csv c = { .p = p };
	const struct csv_row *row = NULL;
	struct csv *csv = NULL;
	enum berth_code rc = price_csv_header(p, file, err);

	if (rc != BERTH_OK || (rc = csv_open_stream(file, "price list", &csv, err)) != BERTH_OK)
		return rc;
	rc = price_csv_columns(&c, csv, err);
	while (rc == BERTH_OK && (rc = csv_next(csv, &row, err)) == BERTH_OK && row != NULL)
		price_csv_row(&c, row);
	csv_close(csv);
	for (size_t i = 0; rc == BERTH_OK && i < c.rows.n; i++)
		if (!c.rows.v[i].reserved || p->scan->reserved)
			price_keep(p, &c.rows.v[i].s, &c.rows.v[i].t, c.rows.v[i].reserved);
	return rc;
}
