/* src/model/block.h - places not to ask for a while, and what asking them brought.  Floor: model.
 */
#ifndef BERTH_MODEL_BLOCK_H
#define BERTH_MODEL_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/offer.h"
#include "util/err.h"

/* Where something was asked for. "" matches anything, so that a whole region or account can be
 * blocked. */
struct place_key {
	const char *provider, *account, *region, *zone, *instance_type;
	const char *purchase; /* purchase_name(); "" any */
};

/* How far a refusal reaches. */
enum key_scope {
	KEY_OFFER,   /* this machine type in this zone with this purchase: no capacity */
	KEY_TYPE,    /* this machine type and purchase in the region, for this account: quota */
	KEY_REGION,  /* the region, for this account: outage */
	KEY_ACCOUNT, /* the account everywhere: credentials, throttling */
	KEY_SCOPE_COUNT
};

struct block {
	int64_t id;
	struct place_key key;
	int64_t from, until; /* s since epoch */
	int repeats;         /* times in a row; each doubles the time */
	const char *code;    /* err_name() of the refusal */
	const char *reason;  /* the provider's words */
};

/* Won and lost launches of one place. */
struct capacity {
	struct place_key key;
	int64_t won, lost;              /* all of them */
	double won_recent, lost_recent; /* each counted with weight 2^(-age/half life of 6 h), as of
					   the asked time */
	int64_t last_won, last_lost;    /* s since epoch; 0: never */
};

/*
 * The one function that builds the key of an offer, for blocks and for the capacity memory.
 * Fields beyond the scope are ""; texts are borrowed from the offer.
 * KEY_OFFER leaves account "": capacity is the region's, not the account's.
 */
struct place_key place_key(const struct offer *o, enum key_scope scope);
/* True if every field that the key names equals the offer's. */
bool place_key_hits(const struct place_key *key, const struct offer *o);
/* "aws/main/us-east-1/use1-az1/p5.48xlarge/spot", "*" for any; cut if it does not fit. Returns buf.
 */
const char *place_key_text(const struct place_key *key, char *buf, size_t size);
/* The first of blocks [n] that hits the offer, NULL if none. */
const struct block *block_hit(const struct block *blocks, size_t n, const struct offer *o);

struct arena;
struct yaml_node;
/*
 * A user's own block list, `block:` of berth.yaml and of a job: a list of mappings of provider,
 * account, region, zone, instance_type, accelerator and purchase to patterns, of which all must
 * match. Each rule becomes a text, "provider=aws region=us-*", which block_rule_hits() reads.
 * BERTH_EINVAL at the place of a fault: no key, an empty pattern, one with blanks.
 */
BERTH_MUST_CHECK enum berth_code block_rules_read(const struct yaml_node *map, const char *key,
    struct arena *a, const char *const **rules_out, size_t *n_out, struct berth_err *err);
/* The first of rules [n] that hits the offer, NULL if none. */
const char *block_rules_hit(const char *const *rules, size_t n, const struct offer *o);

#endif
