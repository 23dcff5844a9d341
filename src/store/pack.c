#include <math.h>
#include <string.h>

#include "store/priv.h"
#include "util/buf.h"
#include "util/json.h"

#define PACK_MAX ((size_t)16 * 1024 * 1024)

static enum berth_code
pack_end(
    struct jsonw *w, struct buf *b, struct arena *a, const char **text_out, struct berth_err *err)
{
	enum berth_code rc = jsonw_finish(w, err);

	if (rc == BERTH_OK)
		*text_out = arena_strndup(a, b->p, b->len);
	buf_free(b);
	return rc;
}

enum berth_code
pack_offer(const struct offer *o, struct arena *a, const char **text_out, struct berth_err *err)
{
	struct jsonw w;
	struct buf b;

	buf_init(&b, PACK_MAX);
	jsonw_init_buf(&w, &b, JSONW_COMPACT);
	jsonw_begin_object(&w, NULL);
	jsonw_int(&w, "id", o->id);
	jsonw_str(&w, "provider", o->provider);
	jsonw_str(&w, "account", o->account);
	jsonw_str(&w, "region", o->region);
	jsonw_str(&w, "zone", o->zone);
	jsonw_str(&w, "instance_type", o->instance_type);
	jsonw_str(&w, "accelerator", o->accelerator);
	jsonw_bool(&w, "accelerator_known", o->accelerator_known);
	jsonw_int(&w, "accelerator_count", o->accelerator_count);
	jsonw_double(&w, "accelerator_memory_gib", o->accelerator_memory_gib);
	jsonw_double(&w, "vcpus", o->vcpus);
	jsonw_double(&w, "memory_gib", o->memory_gib);
	jsonw_str(&w, "purchase", purchase_name(o->purchase));
	jsonw_int(&w, "term_months", o->term_months);
	jsonw_str(&w, "payment", payment_name(o->payment));
	jsonw_money(&w, "upfront", o->upfront);
	jsonw_money(&w, "price", o->price);
	if (o->usage.v != 0)
		jsonw_money(&w, "usage", o->usage);
	if (o->paid_from != 0)
		jsonw_int(&w, "paid_from", o->paid_from);
	if (o->paid_until != 0)
		jsonw_int(&w, "paid_until", o->paid_until);
	jsonw_str(&w, "currency", o->currency);
	jsonw_str(&w, "available", availability_name(o->available));
	jsonw_double(&w, "interruption_rate", o->interruption_rate);
	jsonw_double(&w, "measured", o->measured);
	jsonw_int(&w, "as_of", o->as_of);
	jsonw_str(&w, "source", o->source);
	jsonw_end_object(&w);
	return pack_end(&w, &b, a, text_out, err);
}

/*
 * The text is our own, but it may have been written by an older or a newer berth, or damaged: a
 * field of the wrong type is refused. The first failure is kept, so that a row reads as a list of
 * fields.
 */
struct unpack {
	struct jsonr at;
	struct arena *a;
	struct berth_err *err;
	enum berth_code rc;
};

static const char *
unpack_str(struct unpack *u, const char *key)
{
	const char *s = "";

	if (u->rc == BERTH_OK)
		u->rc = jsonr_str(&u->at, key, &s, u->err);
	return s[0] != '\0' ? arena_strdup(u->a, s) : "";
}

static int64_t
unpack_int(struct unpack *u, const char *key)
{
	int64_t v = 0;

	if (u->rc == BERTH_OK)
		u->rc = jsonr_int(&u->at, key, INT64_MIN, INT64_MAX, &v, u->err);
	return v;
}

static int
unpack_int32(struct unpack *u, const char *key)
{
	int64_t v = 0;

	if (u->rc == BERTH_OK)
		u->rc = jsonr_int(&u->at, key, INT32_MIN, INT32_MAX, &v, u->err);
	return (int)v;
}

static double
unpack_real(struct unpack *u, const char *key)
{
	double v = (double)NAN;

	if (u->rc == BERTH_OK)
		u->rc = jsonr_double(&u->at, key, &v, u->err);
	return v;
}

static bool
unpack_bool(struct unpack *u, const char *key)
{
	bool v = false;

	if (u->rc == BERTH_OK)
		u->rc = jsonr_bool(&u->at, key, &v, u->err);
	return v;
}

static struct usd_micro
unpack_usd(struct unpack *u, const char *key)
{
	struct usd_micro v = USD_UNKNOWN;

	if (u->rc == BERTH_OK)
		u->rc = jsonr_money(&u->at, key, &v, u->err);
	return v;
}

static void
unpack_word(struct unpack *u, const char *key, bool known)
{
	if (u->rc == BERTH_OK && !known)
		u->rc = jsonr_err(
		    &u->at, BERTH_EINVAL, u->err, "%s: a word that this berth does not know", key);
}

static enum availability
availability_of(const char *s)
{
	for (int i = 0; i < AVAIL_COUNT; i++)
		if (strcmp(s, availability_name((enum availability)i)) == 0)
			return (enum availability)i;
	return AVAIL_UNKNOWN;
}

enum berth_code
unpack_offer(const char *text, struct arena *a, struct offer *o_out, struct berth_err *err)
{
	struct unpack u = { .a = a, .err = err };
	struct offer o = { 0 };
	const char *currency;
	json_t *root = NULL;

	u.rc = jsonr_parse(text, strlen(text), "store: offer", &root, err);
	u.at = jsonr_root(root, "store: offer");
	o.id = unpack_int(&u, "id");
	o.provider = unpack_str(&u, "provider");
	o.account = unpack_str(&u, "account");
	o.region = unpack_str(&u, "region");
	o.zone = unpack_str(&u, "zone");
	o.instance_type = unpack_str(&u, "instance_type");
	o.accelerator = unpack_str(&u, "accelerator");
	o.accelerator_known = unpack_bool(&u, "accelerator_known");
	o.accelerator_count = unpack_int32(&u, "accelerator_count");
	o.accelerator_memory_gib = unpack_real(&u, "accelerator_memory_gib");
	o.vcpus = unpack_real(&u, "vcpus");
	o.memory_gib = unpack_real(&u, "memory_gib");
	unpack_word(&u, "purchase", purchase_parse(unpack_str(&u, "purchase"), &o.purchase));
	o.term_months = unpack_int32(&u, "term_months");
	unpack_word(&u, "payment", payment_parse(unpack_str(&u, "payment"), &o.payment));
	o.upfront = unpack_usd(&u, "upfront");
	o.price = unpack_usd(&u, "price");
	if (jsonr_get(&u.at, "usage").v != NULL) /* rare */
		o.usage = unpack_usd(&u, "usage");
	if (jsonr_get(&u.at, "paid_from").v != NULL)
		o.paid_from = unpack_int(&u, "paid_from");
	if (jsonr_get(&u.at, "paid_until").v != NULL)
		o.paid_until = unpack_int(&u, "paid_until");
	currency = unpack_str(&u, "currency");
	memcpy(o.currency, currency, strlen(currency) < sizeof(o.currency) ? strlen(currency) : 0);
	o.available = availability_of(unpack_str(&u, "available"));
	o.interruption_rate = unpack_real(&u, "interruption_rate");
	o.measured = unpack_real(&u, "measured");
	o.as_of = unpack_int(&u, "as_of");
	o.source = unpack_str(&u, "source");
	json_decref(root);
	if (u.rc == BERTH_OK)
		*o_out = o;
	return u.rc;
}

static void
pack_strings(struct jsonw *w, const char *key, const char *const *v, size_t n)
{
	jsonw_begin_array(w, key);
	for (size_t i = 0; i < n; i++)
		jsonw_str(w, NULL, v[i]);
	jsonw_end_array(w);
}

static void
pack_variant(struct jsonw *w, const struct job_variant *v)
{
	jsonw_begin_object(w, NULL);
	jsonw_str(w, "name", v->name);
	jsonw_str(w, "accelerator", v->accelerator);
	jsonw_int(w, "count_min", v->count_min);
	jsonw_int(w, "count_max", v->count_max);
	jsonw_int(w, "nodes", v->nodes);
	jsonw_double(w, "memory_gib", v->memory_gib);
	jsonw_double(w, "memory_max_gib", v->memory_max_gib); /* no limit: null */
	jsonw_double(w, "work_hours", v->work_hours);
	jsonw_double(w, "speed", v->speed);
	jsonw_end_object(w);
}

enum berth_code
pack_spec(
    const struct job_spec *spec, struct arena *a, const char **text_out, struct berth_err *err)
{
	struct jsonw w;
	struct buf b;

	buf_init(&b, PACK_MAX);
	jsonw_init_buf(&w, &b, JSONW_COMPACT);
	jsonw_begin_object(&w, NULL);
	jsonw_str(&w, "name", spec->name);
	jsonw_str(&w, "user", spec->user);
	jsonw_str(&w, "project", spec->project);
	jsonw_int(&w, "priority", spec->priority);
	jsonw_begin_array(&w, "variants");
	for (size_t i = 0; i < spec->n_variants; i++)
		pack_variant(&w, &spec->variants[i]);
	jsonw_end_array(&w);
	jsonw_double(&w, "work_hours", spec->work_hours);
	jsonw_str(&w, "precision", spec->precision);
	jsonw_double(&w, "checkpoint_gib", spec->checkpoint_gib);
	jsonw_int(&w, "checkpoint_write_s", spec->checkpoint_write_s);
	jsonw_int(&w, "checkpoint_interval_s", spec->checkpoint_interval_s);
	jsonw_int(&w, "restart_s", spec->restart_s);
	if (spec->idle_limit_s != 0)
		jsonw_int(&w, "idle_limit_s", spec->idle_limit_s);
	if (spec->replace_lost_s != 0)
		jsonw_int(&w, "replace_lost_s", spec->replace_lost_s);
	jsonw_bool(&w, "can_resume", spec->can_resume);
	jsonw_int(&w, "deadline", spec->deadline);
	jsonw_money(&w, "max_price", spec->max_price);
	jsonw_money(&w, "max_cost", spec->max_cost);
	jsonw_begin_array(&w, "purchase");
	for (int p = 0; p < PURCHASE_COUNT; p++)
		if (spec->purchase_ok[p])
			jsonw_str(&w, NULL, purchase_name((enum purchase)p));
	jsonw_end_array(&w);
	pack_strings(&w, "regions", spec->regions, spec->n_regions);
	pack_strings(&w, "providers", spec->providers, spec->n_providers);
	pack_strings(&w, "block", spec->block, spec->n_block);
	jsonw_str(&w, "data_region", spec->data_region);
	jsonw_double(&w, "data_gib", spec->data_gib);
	jsonw_str(&w, "latency_to", spec->latency_to);
	jsonw_double(&w, "latency_max_ms", spec->latency_max_ms);
	jsonw_double(&w, "link_gb_s", spec->link_gb_s);
	jsonw_str(&w, "after", spec->after);
	jsonw_double(&w, "after_gib", spec->after_gib);
	jsonw_str(&w, "run", spec->run);
	jsonw_int(&w, "retries", spec->retries);
	jsonw_end_object(&w);
	return pack_end(&w, &b, a, text_out, err);
}

static const char **
unpack_strings(struct unpack *u, const char *key, size_t *n_out)
{
	struct jsonr arr = { 0 };
	const char **v;

	*n_out = 0;
	if (u->rc == BERTH_OK)
		u->rc = jsonr_array(&u->at, key, &arr, u->err);
	v = arena_array_of(u->a, jsonr_len(&arr), const char *);
	for (size_t i = 0; u->rc == BERTH_OK && i < jsonr_len(&arr); i++) {
		struct jsonr item = jsonr_at(&arr, i);

		if (!json_is_string(item.v))
			u->rc = jsonr_err(&item, BERTH_EINVAL, u->err, "is not a string");
		else
			v[(*n_out)++] = arena_strdup(u->a, json_string_value(item.v));
	}
	return v;
}

static void
unpack_variants(struct unpack *u, struct job_spec *spec)
{
	struct jsonr arr = { 0 };

	if (u->rc == BERTH_OK)
		u->rc = jsonr_array(&u->at, "variants", &arr, u->err);
	spec->n_variants = jsonr_len(&arr);
	spec->variants = arena_array_of(u->a, spec->n_variants, struct job_variant);
	for (size_t i = 0; u->rc == BERTH_OK && i < spec->n_variants; i++) {
		struct unpack in = { .at = jsonr_at(&arr, i), .a = u->a, .err = u->err };
		struct job_variant *v = &spec->variants[i];

		v->name = unpack_str(&in, "name");
		v->accelerator = unpack_str(&in, "accelerator");
		v->count_min = unpack_int32(&in, "count_min");
		v->count_max = unpack_int32(&in, "count_max");
		v->nodes = unpack_int32(&in, "nodes");
		v->memory_gib = unpack_real(&in, "memory_gib");
		v->memory_max_gib = unpack_real(&in, "memory_max_gib");
		if (isnan(v->memory_max_gib))
			v->memory_max_gib = (double)INFINITY;
		v->work_hours = unpack_real(&in, "work_hours");
		v->speed = unpack_real(&in, "speed");
		u->rc = in.rc;
	}
}

static void
unpack_purchases(struct unpack *u, struct job_spec *spec)
{
	size_t n;
	const char **words = unpack_strings(u, "purchase", &n);
	enum purchase p;

	for (size_t i = 0; i < n; i++)
		if (purchase_parse(words[i], &p))
			spec->purchase_ok[p] = true;
}

enum berth_code
unpack_spec(const char *text, struct arena *a, struct job_spec *spec_out, struct berth_err *err)
{
	struct unpack u = { .a = a, .err = err };
	struct job_spec s = { 0 };
	json_t *root = NULL;

	u.rc = jsonr_parse(text, strlen(text), "store: job", &root, err);
	u.at = jsonr_root(root, "store: job");
	s.name = unpack_str(&u, "name");
	s.user = unpack_str(&u, "user");
	s.project = unpack_str(&u, "project");
	s.priority = unpack_int32(&u, "priority");
	unpack_variants(&u, &s);
	s.work_hours = unpack_real(&u, "work_hours");
	s.precision = unpack_str(&u, "precision");
	s.checkpoint_gib = unpack_real(&u, "checkpoint_gib");
	s.checkpoint_write_s = unpack_int(&u, "checkpoint_write_s");
	s.checkpoint_interval_s = unpack_int(&u, "checkpoint_interval_s");
	s.restart_s = unpack_int(&u, "restart_s");
	s.idle_limit_s = unpack_int(&u, "idle_limit_s");
	s.replace_lost_s = unpack_int(&u, "replace_lost_s");
	s.can_resume = unpack_bool(&u, "can_resume");
	s.deadline = unpack_int(&u, "deadline");
	s.max_price = unpack_usd(&u, "max_price");
	s.max_cost = unpack_usd(&u, "max_cost");
	unpack_purchases(&u, &s);
	s.regions = unpack_strings(&u, "regions", &s.n_regions);
	s.providers = unpack_strings(&u, "providers", &s.n_providers);
	s.block = unpack_strings(&u, "block", &s.n_block);
	s.data_region = unpack_str(&u, "data_region");
	s.data_gib = unpack_real(&u, "data_gib");
	s.latency_to = unpack_str(&u, "latency_to");
	s.latency_max_ms = unpack_real(&u, "latency_max_ms");
	s.link_gb_s = unpack_real(&u, "link_gb_s");
	s.after = unpack_str(&u, "after");
	s.after_gib = unpack_real(&u, "after_gib");
	if (isnan(s.after_gib))
		s.after_gib = 0;
	s.run = unpack_str(&u, "run");
	s.retries = unpack_int32(&u, "retries");
	json_decref(root);
	if (u.rc == BERTH_OK)
		*spec_out = s;
	return u.rc;
}
