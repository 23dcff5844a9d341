#include <stdio.h>
#include <string.h>

#include "model/block.h"

struct place_key
place_key(const struct offer *o, enum key_scope scope)
{
	struct place_key k = { o->provider, o->account, o->region, o->zone, o->instance_type,
		purchase_name(o->purchase) };

	switch (scope) {
	case KEY_OFFER:
		k.account = "";
		break;
	case KEY_TYPE:
		k.zone = "";
		break;
	case KEY_REGION:
		k.zone = k.instance_type = k.purchase = "";
		break;
	case KEY_ACCOUNT:
		k.region = k.zone = k.instance_type = k.purchase = "";
		break;
	case KEY_SCOPE_COUNT:
		break;
	}
	return k;
}

static bool
block_field(const char *want, const char *have)
{
	return want[0] == '\0' || strcmp(want, have) == 0;
}

bool
place_key_hits(const struct place_key *key, const struct offer *o)
{
	return block_field(key->provider, o->provider) && block_field(key->account, o->account) &&
	    block_field(key->region, o->region) && block_field(key->zone, o->zone) &&
	    block_field(key->instance_type, o->instance_type) &&
	    block_field(key->purchase, purchase_name(o->purchase));
}

const char *
place_key_text(const struct place_key *key, char *buf, size_t size)
{
	const char *const fields[] = { key->provider, key->account, key->region, key->zone, key->instance_type,
		key->purchase };
	size_t used = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]) && used < size; i++) {
		int n = snprintf(buf + used, size - used, "%s%s", i > 0 ? "/" : "",
		    fields[i][0] != '\0' ? fields[i] : "*");

		used += n > 0 ? (size_t)n : 0;
	}
	return buf;
}

const struct block *
block_hit(const struct block *blocks, size_t n, const struct offer *o)
{
	for (size_t i = 0; i < n; i++)
		if (place_key_hits(&blocks[i].key, o))
			return &blocks[i];
	return NULL;
}
