#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "providers/aws/aws.h"
#include "util/arena.h"
#include "util/str.h"

struct aws_scan *
aws_scan_new(void)
{
	struct aws_scan *s = calloc(1, sizeof(*s));

	if (s != NULL)
		s->a = arena_new();
	return s;
}

void
aws_scan_free(struct aws_scan *s)
{
	if (s == NULL)
		return;
	arena_free(s->a);
	free(s);
}

const struct aws_type *
aws_scan_type(struct aws_scan *s, const char *name, int count, double vcpus, double memory_gib)
{
	const size_t *at = strmap_get(&s->types_by_name, name);
	const char *accelerator = aws_family_accelerator(name);
	struct aws_type t;

	if (at != NULL)
		return s->types.v[*at].count > 0 ? &s->types.v[*at] : NULL;
	if (accelerator == NULL)
		return NULL;
	if (count == 0)
		count = aws_family_count(name);
	/* The list says 1 of a machine with a slice (g6f): only DescribeInstanceTypes knows how
	 * big, so that it is left out. */
	if (count <= 0 || str_starts(name, "g6f.") || str_starts(name, "gr6f."))
		return NULL;
	t = (struct aws_type){ arena_strdup(s->a, name), accelerator, count, NAN, vcpus, memory_gib,
		false };
	strmap_add(s->a, &s->types_by_name, t.name, s->types.n, NULL);
	VEC_PUSH(s->a, &s->types, t);
	return &s->types.v[s->types.n - 1];
}

struct offer
aws_offer(const char *region, int64_t as_of, const char *source)
{
	return (struct offer){ .provider = "aws",
		.account = "",
		.region = region,
		.zone = "",
		.instance_type = "",
		.accelerator = "",
		.accelerator_memory_gib = NAN,
		.vcpus = NAN,
		.memory_gib = NAN,
		.upfront = USD_ZERO,
		.price = USD_UNKNOWN,
		.currency = "USD",
		.interruption_rate = NAN,
		.measured = NAN,
		.as_of = as_of,
		.source = source };
}

static void
aws_scan_fill(struct aws_scan *s, const struct aws_type *t, struct offer *o)
{
	o->instance_type = t->name;
	o->accelerator = t->accelerator;
	o->accelerator_count = t->count;
	o->accelerator_memory_gib = t->memory_gib_each;
	o->vcpus = t->vcpus;
	o->memory_gib = t->memory_gib;
	o->region = arena_strdup(s->a, o->region);
	o->zone = arena_strdup(s->a, o->zone);
	o->source = arena_strdup(s->a, o->source);
}

/* What an hour costs in all, in the offer's own currency, for choosing between two rows of one
 * thing. */
static double
aws_scan_hour(const struct offer *o)
{
	double hours = offer_term_hours(o);

	return usd_to_double(o->price) + (hours > 0 ? usd_to_double(o->upfront) / hours : 0);
}

void
aws_scan_place(struct aws_scan *s, const char *place)
{
	int added;

	strmap_add(s->a, &s->places_seen, place, 1, &added);
	if (added)
		VEC_PUSH(s->a, &s->places, arena_strdup(s->a, place));
}

void
aws_scan_keep(struct aws_scan *s, const struct aws_type *t, struct offer o)
{
	const char *key;
	size_t *at;
	int added;

	if (!usd_known(o.price) || !usd_known(o.upfront) || o.price.v < 0 || o.upfront.v < 0 ||
	    (o.price.v == 0 && o.upfront.v == 0))
		return;
	aws_scan_fill(s, t, &o);
	key = arena_printf(s->a, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%s\t%lld\t%lld", o.region, o.zone,
	    o.instance_type, (int)o.kind, (int)o.purchase, o.term_months, (int)o.payment,
	    o.currency, (long long)o.starts_at, (long long)o.ends_at);
	at = strmap_add(s->a, &s->by_key, key, s->offers.n, &added);
	if (added)
		VEC_PUSH(s->a, &s->offers, o);
	else if (o.purchase == PURCHASE_SPOT ? o.as_of > s->offers.v[*at].as_of
					     : aws_scan_hour(&o) < aws_scan_hour(&s->offers.v[*at]))
		s->offers.v[*at] =
		    o; /* spot: the last change is the price in force; else the lower of two */
}
