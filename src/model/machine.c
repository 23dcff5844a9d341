#include <string.h>

#include "model/machine.h"

static const char *const intent_state_names[INTENT_STATE_COUNT] = {
	[INTENT_PENDING] = "pending",
	[INTENT_DONE] = "done",
	[INTENT_FAILED] = "failed",
};

static const char *const intent_kind_names[INTENT_KIND_COUNT] = {
	[INTENT_CREATE] = "create",
	[INTENT_DESTROY] = "destroy",
};

static const char *const instance_state_names[INSTANCE_STATE_COUNT] = {
	[INSTANCE_STARTING] = "starting",
	[INSTANCE_READY] = "ready",
	[INSTANCE_NOTICED] = "noticed",
	[INSTANCE_RELEASING] = "releasing",
	[INSTANCE_GONE] = "gone",
};

/* Index of s in names [n], -1 if it is not there. */
static int
machine_find(const char *const *names, int n, const char *s)
{
	for (int i = 0; i < n; i++)
		if (strcmp(s, names[i]) == 0)
			return i;
	return -1;
}

const char *
intent_state_name(enum intent_state s)
{
	return s < INTENT_STATE_COUNT ? intent_state_names[s] : "unknown";
}

bool
intent_state_parse(const char *s, enum intent_state *s_out)
{
	int i = machine_find(intent_state_names, INTENT_STATE_COUNT, s);

	if (i >= 0)
		*s_out = (enum intent_state)i;
	return i >= 0;
}

const char *
intent_kind_name(enum intent_kind k)
{
	return k < INTENT_KIND_COUNT ? intent_kind_names[k] : "unknown";
}

bool
intent_kind_parse(const char *s, enum intent_kind *k_out)
{
	int i = machine_find(intent_kind_names, INTENT_KIND_COUNT, s);

	if (i >= 0)
		*k_out = (enum intent_kind)i;
	return i >= 0;
}

const char *
instance_state_name(enum instance_state s)
{
	return s < INSTANCE_STATE_COUNT ? instance_state_names[s] : "unknown";
}

bool
instance_state_parse(const char *s, enum instance_state *s_out)
{
	int i = machine_find(instance_state_names, INSTANCE_STATE_COUNT, s);

	if (i >= 0)
		*s_out = (enum instance_state)i;
	return i >= 0;
}

const char *
instance_purchase(const struct instance *in, int64_t t)
{
	if (in->gone != 0 && in->gone < t)
		t = in->gone;
	return purchase_name(offer_paid_at(&in->offer, t) ? PURCHASE_RESERVED : in->offer.purchase);
}
