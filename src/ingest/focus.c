#include "ingest/focus.h"

#include <math.h>
#include <string.h>

#include "model/formmix.h"
#include "util/csv.h"
#include "util/hash.h"
#include "util/json.h"
#include "util/str.h"
#include "util/time.h"

#define FOCUS_PERIOD_MAX (INT64_C(32) * 86400)
#define FOCUS_AMOUNT_MAX 1e12
#define FOCUS_PROGRESS_ROWS 10000

enum focus_col {
	FOCUS_START,
	FOCUS_END,
	FOCUS_COST,
	FOCUS_CATEGORY,
	FOCUS_CONSUMED,
	FOCUS_CONSUMED_UNIT,
	FOCUS_PRICED,
	FOCUS_PRICED_UNIT,
	FOCUS_PROVIDER,
	FOCUS_REGION,
	FOCUS_ZONE,
	FOCUS_ACCOUNT,
	FOCUS_BILLING,
	FOCUS_SKU,
	FOCUS_DETAILS,
	FOCUS_INSTANCE,
	FOCUS_PRICING,
	FOCUS_COMMITMENT,
	FOCUS_STATUS,
	FOCUS_CURRENCY,
	FOCUS_RESERVED,
	FOCUS_BILL_START,
	FOCUS_RESOURCE,
	FOCUS_PRICE,
	FOCUS_CLASS,
	FOCUS_FREQUENCY,
	FOCUS_SERVICE,
	FOCUS_TEXT,
	FOCUS_COLS
};

/* In the order of the enum; a second spelling of some. The first four must be there. */
static const char *const focus_names[FOCUS_COLS][3] = { { "ChargePeriodStart" },
	{ "ChargePeriodEnd" }, { "EffectiveCost" }, { "ChargeCategory" }, { "ConsumedQuantity" },
	{ "ConsumedUnit" }, { "PricingQuantity" }, { "PricingUnit" },
	{ "ProviderName", "ServiceProviderName" }, { "RegionId", "Region" }, { "AvailabilityZone" },
	{ "SubAccountId" }, { "BillingAccountId" }, { "SkuId" },
	{ "SkuPriceDetails", "x_SkuDetails" },
	{ "x_InstanceType", "InstanceType", "x_SkuInstanceType" }, { "PricingCategory" },
	{ "CommitmentDiscountId" }, { "CommitmentDiscountStatus" }, { "BillingCurrency" },
	{ "CapacityReservationStatus" }, { "BillingPeriodStart" }, { "ResourceId" },
	{ "SkuPriceId" }, { "ChargeClass" }, { "ChargeFrequency" }, { "ServiceName" },
	{ "ChargeDescription" } };

/*
 * What identifies a row, as far as the format has it: no amount among them, nothing that is told of
 * rather than charged by.
 */
static const enum focus_col focus_key_cols[] = { FOCUS_PROVIDER, FOCUS_BILLING, FOCUS_ACCOUNT,
	FOCUS_BILL_START, FOCUS_START, FOCUS_END, FOCUS_CATEGORY, FOCUS_CLASS, FOCUS_FREQUENCY,
	FOCUS_SERVICE, FOCUS_RESOURCE, FOCUS_SKU, FOCUS_PRICE, FOCUS_PRICING, FOCUS_COMMITMENT,
	FOCUS_STATUS, FOCUS_RESERVED, FOCUS_CONSUMED_UNIT, FOCUS_PRICED_UNIT, FOCUS_CURRENCY,
	FOCUS_TEXT };
static const enum focus_col focus_scope_cols[] = { FOCUS_PROVIDER, FOCUS_BILLING, FOCUS_ACCOUNT,
	FOCUS_BILL_START };

struct focus {
	struct csv *csv;
	const struct focus_options *o;
	struct arena *a;
	struct focus_counts *counts;
	const struct focus_sink *sink;
	int col[FOCUS_COLS];
	struct strmap unknown;
};

/* One row. */
struct focus_row {
	char *const *field;
	int64_t start, end;
	double cost; /* NaN not said */
	double gpus, gpu_hours;
	const char *accelerator, *instance;
	bool used;
	json_t *details;
};

static const char *
focus_get(const struct focus *f, const struct focus_row *r, enum focus_col col)
{
	return f->col[col] >= 0 ? r->field[f->col[col]] : "";
}

static bool
focus_blank(const char *s)
{
	return *s == '\0' || str_ieq(s, "null");
}

static enum berth_code
focus_number(const struct focus *f, const struct focus_row *r, enum focus_col col, double *out,
    struct berth_err *err)
{
	const char *s = focus_get(f, r, col);
	enum berth_code rc;

	*out = (double)NAN;
	if (focus_blank(s))
		return BERTH_OK;
	rc = str_to_double(s, -FOCUS_AMOUNT_MAX, FOCUS_AMOUNT_MAX, out, err);
	return rc == BERTH_OK ? rc : csv_err(f->csv, err, focus_names[col][0]);
}

/* What one unit of the quantity is, in hours of use; 0: no time. *gpus_out: it counts GPUs, not
 * machines. */
static double
focus_unit_hours(const char *unit, bool *gpus_out)
{
	static const struct {
		const char *name;
		double hours;
	} units[] = { { "hours", 1 }, { "hour", 1 }, { "hrs", 1 }, { "hr", 1 }, { "h", 1 },
		{ "minutes", 1.0 / 60 }, { "minute", 1.0 / 60 }, { "min", 1.0 / 60 },
		{ "seconds", 1.0 / 3600 }, { "second", 1.0 / 3600 }, { "s", 1.0 / 3600 },
		{ "days", 24 }, { "day", 24 } };
	const char *last = strrchr(unit, ' ');
	const char *dash = strrchr(unit, '-');

	*gpus_out = str_istarts(unit, "gpu") || str_istarts(unit, "accelerator");
	last = last != NULL && (dash == NULL || last > dash) ? last + 1
	       : dash != NULL                                ? dash + 1
							     : unit;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (str_ieq(last, units[i].name))
			return units[i].hours;
	return 0;
}

static const char *
focus_detail(const struct focus_row *r, const char *key)
{
	const json_t *v = json_object_get(r->details, key);

	return json_is_string(v) ? json_string_value(v) : NULL;
}

/* How many GPUs the machine has and of which kind; false: none. */
static bool
focus_machine(struct focus *f, struct focus_row *r, double *count_out)
{
	const json_t *n = json_object_get(r->details, "GpuCount");
	const char *named = NULL;
	double count = 0;
	bool known;

	r->instance = focus_detail(r, "InstanceType");
	if (r->instance == NULL)
		r->instance = focus_get(f, r, FOCUS_INSTANCE);
	known =
	    *r->instance != '\0' && f->o->machine(f->o->machine_arg, r->instance, &named, &count);
	if (json_is_number(n))
		count = json_number_value(n);
	else if (json_is_string(n) &&
		 str_to_double(json_string_value(n), 0, 1e6, &count, NULL) != BERTH_OK)
		count = 0;
	r->accelerator = focus_detail(r, "GpuType");
	if (r->accelerator == NULL)
		r->accelerator = focus_detail(r, "GpuName");
	if (r->accelerator == NULL)
		r->accelerator = known ? named : "unknown";
	*count_out = count;
	return count > 0;
}

/* The label of the card, and its form beside it (model/formmix.h). */
static const char *
focus_accel(struct focus *f, const char *name, const char **form_out)
{
	struct accel_ref ref;
	int added;

	*form_out = NULL;
	if (str_eq(name, "unknown"))
		return name;
	if (accel_resolve(f->o->accels, f->a, name, &ref) && ref.accel != NULL) {
		const struct accel *model = accel_model(f->o->accels, ref.accel);

		*form_out = form_of(ref.accel, model);
		return model->name;
	}
	strmap_add(f->a, &f->unknown, name, 0, &added);
	if (added)
		f->sink->say(f->sink->arg, USAGE_REMARK, 0,
		    arena_printf(f->a,
			"nobody knows the accelerator '%s': it is kept under this name", name));
	return arena_strdup(f->a, name);
}

static const char *
focus_purchase(const struct focus *f, const struct focus_row *r)
{
	const char *s = focus_get(f, r, FOCUS_PRICING);

	if (str_ieq(s, "Committed") || !focus_blank(focus_get(f, r, FOCUS_COMMITMENT)))
		return "reserved";
	if (str_ieq(s, "Dynamic"))
		return "spot";
	return "on_demand";
}

/* A label that the row does not say is left out. */
static size_t
focus_labels(struct focus *f, const struct focus_row *r, struct usage_label *out)
{
	static const struct {
		const char *key;
		enum focus_col col;
	} keys[] = { { "provider", FOCUS_PROVIDER }, { "region", FOCUS_REGION },
		{ "zone", FOCUS_ZONE }, { "sku", FOCUS_SKU }, { "commitment", FOCUS_COMMITMENT } };
	const char *form;
	size_t n = 0;

	out[n++] = (struct usage_label){ "accelerator", focus_accel(f, r->accelerator, &form) };
	if (form != NULL)
		out[n++] = (struct usage_label){ "form", form };
	out[n++] = (struct usage_label){ "purchase", focus_purchase(f, r) };
	if (!focus_blank(r->instance))
		out[n++] = (struct usage_label){ "instance_type", r->instance };
	out[n] = (struct usage_label){ "account",
		focus_get(f, r,
		    focus_blank(focus_get(f, r, FOCUS_ACCOUNT)) ? FOCUS_BILLING : FOCUS_ACCOUNT) };
	n += !focus_blank(out[n].value);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		out[n] = (struct usage_label){ keys[i].key, focus_get(f, r, keys[i].col) };
		n += !focus_blank(out[n].value);
	}
	return n;
}

/* Of columns [n]: which they are, and what they have. "null" is as good as nothing. */
static void
focus_digest(const struct focus *f, const struct focus_row *r, const enum focus_col *cols, size_t n,
    uint64_t out[2])
{
	struct hash_digest d;
	char hex[HASH_DIGEST_SIZE];

	hash_digest_init(&d);
	for (size_t i = 0; i < n; i++) {
		const char *v = focus_get(f, r, cols[i]);

		if (!focus_blank(v))
			hash_digest_add(&d, v, strlen(v));
		hash_digest_add(&d, "\x1f", 1);
	}
	hash_digest_hex(&d, hex);
	out[0] = out[1] = 0;
	for (size_t i = 0; i < 32; i++)
		out[i / 16] =
		    out[i / 16] << 4 | (uint64_t)(hex[i] <= '9' ? hex[i] - '0' : hex[i] - 'a' + 10);
}

static enum berth_code
focus_period(const struct focus *f, struct focus_row *r, struct berth_err *err)
{
	enum berth_code rc =
	    time_parse(focus_get(f, r, FOCUS_START), 0, NULL, TIME_ABSOLUTE, &r->start, err);

	if (rc != BERTH_OK)
		return csv_err(f->csv, err, "ChargePeriodStart");
	rc = time_parse(focus_get(f, r, FOCUS_END), 0, NULL, TIME_ABSOLUTE, &r->end, err);
	if (rc != BERTH_OK)
		return csv_err(f->csv, err, "ChargePeriodEnd");
	if (r->end <= r->start || r->end - r->start > FOCUS_PERIOD_MAX)
		return err_set(
		    err, BERTH_EINVAL, "a charge period of %lld s", (long long)(r->end - r->start));
	return BERTH_OK;
}

/* GPU-hours of the row; *any_out false: it is about something else. */
static enum berth_code
focus_gpu_hours(struct focus *f, struct focus_row *r, bool *any_out, struct berth_err *err)
{
	double quantity, count = 0, hours;
	const char *unit = focus_get(f, r, FOCUS_CONSUMED_UNIT);
	bool gpus, machine;
	enum berth_code rc = focus_number(f, r, FOCUS_CONSUMED, &quantity, err);

	if (rc == BERTH_OK && isnan(quantity)) {
		unit = focus_get(f, r, FOCUS_PRICED_UNIT);
		rc = focus_number(f, r, FOCUS_PRICED, &quantity, err);
	}
	if (rc != BERTH_OK)
		return rc;
	hours = focus_unit_hours(unit, &gpus);
	machine = focus_machine(f, r, &count);
	*any_out = hours > 0 && (gpus || machine) && !isnan(quantity);
	r->gpu_hours = *any_out ? quantity * hours * (gpus ? 1 : count) : 0;
	r->used = !str_ieq(focus_get(f, r, FOCUS_STATUS), "Unused") &&
		  !str_ieq(focus_get(f, r, FOCUS_RESERVED), "Unused");
	if (!r->used)
		r->gpu_hours = 0;
	return BERTH_OK;
}

static enum berth_code
focus_usage(struct focus *f, struct focus_row *r, struct berth_err *err)
{
	struct usage_label labels[FOCUS_LABELS_MAX];
	struct focus_bill bill = { .labels = labels };
	uint64_t scope[2];
	bool any;
	enum berth_code rc = focus_gpu_hours(f, r, &any, err);

	if (rc == BERTH_OK && !any) {
		f->counts->without_gpus++;
		return BERTH_OK;
	}
	if (rc == BERTH_OK)
		rc = focus_period(f, r, err);
	if (rc == BERTH_OK)
		rc = focus_number(f, r, FOCUS_COST, &r->cost, err);
	if (rc != BERTH_OK)
		return rc;
	f->counts->gpu_hours += r->gpu_hours;
	f->counts->cost += isnan(r->cost) ? 0 : r->cost;
	bill.start = r->start;
	bill.end = r->end;
	bill.used = r->used;
	bill.gpu_hours = r->gpu_hours;
	bill.cost = r->cost;
	bill.currency =
	    focus_blank(focus_get(f, r, FOCUS_CURRENCY)) ? "USD" : focus_get(f, r, FOCUS_CURRENCY);
	bill.n_labels = focus_labels(f, r, labels);
	focus_digest(
	    f, r, focus_key_cols, sizeof(focus_key_cols) / sizeof(focus_key_cols[0]), bill.key);
	focus_digest(
	    f, r, focus_scope_cols, sizeof(focus_scope_cols) / sizeof(focus_scope_cols[0]), scope);
	bill.scope = scope[0];
	return f->sink->bill(f->sink->arg, &bill, err);
}

static enum berth_code
focus_row(struct focus *f, const struct csv_row *row, struct berth_err *err)
{
	struct focus_row r = { .field = row->field, .accelerator = "unknown", .instance = "" };
	const char *details;
	enum berth_code rc;

	if (!str_ieq(focus_get(f, &r, FOCUS_CATEGORY), "Usage")) {
		f->counts->without_gpus++;
		return BERTH_OK;
	}
	details = focus_get(f, &r, FOCUS_DETAILS);
	if (*details == '{' &&
	    jsonr_parse(details, strlen(details), "SkuPriceDetails", &r.details, err) != BERTH_OK)
		return csv_err(f->csv, err, "SkuPriceDetails");
	rc = focus_usage(f, &r, err);
	json_decref(r.details);
	return rc;
}

static enum berth_code
focus_open(struct focus *f, FILE *in, const char *name, struct berth_err *err)
{
	enum berth_code rc = csv_open_stream(in, name, &f->csv, err);

	for (size_t c = 0; rc == BERTH_OK && c < FOCUS_COLS; c++) {
		f->col[c] = -1;
		for (size_t k = 0; k < 3 && focus_names[c][k] != NULL && f->col[c] < 0; k++)
			f->col[c] = csv_column(f->csv, focus_names[c][k]);
		if (c <= FOCUS_CATEGORY && f->col[c] < 0)
			rc = err_set(err, BERTH_EINVAL, "%s: no column %s: FOCUS 1.0 to 1.2 has it",
			    name, focus_names[c][0]);
	}
	if (rc == BERTH_OK && f->col[FOCUS_CONSUMED] < 0 && f->col[FOCUS_PRICED] < 0)
		rc = err_set(
		    err, BERTH_EINVAL, "%s: no column ConsumedQuantity or PricingQuantity", name);
	return rc;
}

enum berth_code
focus_read(FILE *in, const char *name, const struct focus_options *o, struct arena *a,
    const struct focus_sink *sink, struct focus_counts *counts, struct berth_err *err)
{
	struct focus f = { .o = o, .a = a, .counts = counts, .sink = sink };
	const struct csv_row *row;
	enum berth_code rc = focus_open(&f, in, name, err);

	while (rc == BERTH_OK) {
		rc = csv_next(f.csv, &row, err);
		if (rc == BERTH_OK && row == NULL)
			break;
		counts->rows.read++;
		if (rc == BERTH_OK)
			rc = focus_row(&f, row, err);
		if (counts->rows.read % FOCUS_PROGRESS_ROWS == 0)
			sink->progress(sink->arg, counts->rows.read);
		if (rc != BERTH_EINVAL)
			continue;
		counts->rows.refused++;
		sink->say(sink->arg, USAGE_REFUSED, csv_line(f.csv), err->msg);
		rc = BERTH_OK;
	}
	csv_close(f.csv);
	return rc;
}
