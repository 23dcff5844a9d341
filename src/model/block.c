#include <stdio.h>
#include <string.h>

#include "model/block.h"
#include "util/arena.h"
#include "util/glob.h"
#include "util/str.h"
#include "util/yaml.h"

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
	const char *const fields[] = { key->provider, key->account, key->region, key->zone,
		key->instance_type, key->purchase };
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

#define BLOCK_PATTERN_MAX 255

static const char *const block_keys[] = { "provider", "account", "region", "zone", "instance_type",
	"accelerator", "purchase", NULL };

static const char *
block_value(const struct offer *o, size_t key)
{
	const char *const values[] = { o->provider, o->account, o->region, o->zone,
		o->instance_type, o->accelerator, purchase_name(offer_counts_as(o)) };

	return values[key];
}

static enum berth_code
block_rule_read(
    const struct yaml_node *node, struct arena *a, const char **rule_out, struct berth_err *err)
{
	enum berth_code rc = yaml_need_kind(node, YAML_KIND_MAP, err);
	const char *rule = "";

	if (rc == BERTH_OK)
		rc = yaml_check_keys(node, block_keys, err);
	for (size_t k = 0; rc == BERTH_OK && block_keys[k] != NULL; k++) {
		const char *pattern = NULL;

		rc = yaml_str(node, block_keys[k], &pattern, err);
		if (rc != BERTH_OK || pattern == NULL)
			continue;
		if (pattern[0] == '\0' || strlen(pattern) > BLOCK_PATTERN_MAX ||
		    strpbrk(pattern, " \t\r\n") != NULL)
			return yaml_err(yaml_get(node, block_keys[k]), err,
			    "a pattern has 1 to %d characters and no blanks", BLOCK_PATTERN_MAX);
		rule = arena_printf(
		    a, "%s%s%s=%s", rule, rule[0] == '\0' ? "" : " ", block_keys[k], pattern);
	}
	if (rc == BERTH_OK && rule[0] == '\0')
		return yaml_err(node, err,
		    "blocks nothing: name a provider, account, region, zone, instance_type, "
		    "accelerator or purchase");
	*rule_out = rule;
	return rc;
}

enum berth_code
block_rules_read(const struct yaml_node *map, const char *key, struct arena *a,
    const char *const **rules_out, size_t *n_out, struct berth_err *err)
{
	const struct yaml_node *list = NULL;
	const char **rules;
	enum berth_code rc = map == NULL ? BERTH_OK : yaml_list(map, key, &list, err);

	*rules_out = NULL;
	*n_out = 0;
	if (rc != BERTH_OK || list == NULL)
		return rc;
	rules = arena_array_of(a, list->n, const char *);
	for (size_t i = 0; i < list->n && rc == BERTH_OK; i++)
		rc = block_rule_read(list->items[i], a, &rules[i], err);
	*rules_out = rules;
	*n_out = list->n;
	return rc;
}

/* One "key=pattern" of a rule, which ends at `end`. */
static bool
block_part_hits(const char *part, const char *end, const struct offer *o)
{
	const char *eq = memchr(part, '=', (size_t)(end - part));
	char pattern[BLOCK_PATTERN_MAX + 1];
	size_t n = eq == NULL ? sizeof(pattern) : (size_t)(end - eq - 1);

	if (n >= sizeof(pattern))
		return false;
	memcpy(pattern, eq + 1, n);
	pattern[n] = '\0';
	for (size_t k = 0; block_keys[k] != NULL; k++)
		if (strlen(block_keys[k]) == (size_t)(eq - part) &&
		    strncmp(block_keys[k], part, (size_t)(eq - part)) == 0)
			return str_eq(block_keys[k], "region")
				   ? offer_region_hits(pattern, o)
				   : glob_match(pattern, block_value(o, k));
	return false;
}

/* All parts of "provider=aws region=us-*". */
static bool
block_rule_hits(const char *rule, const struct offer *o)
{
	for (const char *end; *rule != '\0'; rule = *end == ' ' ? end + 1 : end) {
		end = rule + strcspn(rule, " ");
		if (!block_part_hits(rule, end, o))
			return false;
	}
	return true;
}

const char *
block_rules_hit(const char *const *rules, size_t n, const struct offer *o)
{
	for (size_t i = 0; i < n; i++)
		if (block_rule_hits(rules[i], o))
			return rules[i];
	return NULL;
}
