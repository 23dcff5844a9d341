/* providers/lease.h - what the machines and accounts of many clouds have in common.  Floor:
 * providers. */
#ifndef BERTH_PROVIDERS_LEASE_H
#define BERTH_PROVIDERS_LEASE_H

#include "providers/provider.h"
#include "util/arena.h"
#include "util/json.h"

struct lease_state {
	const char *word;
	enum prov_state to;
};
/*
 * What a cloud's word for a state means, by a table that ends with a NULL word. A word that it
 * lacks is PROV_PENDING: the machine is there, it costs, and it is not known to be usable.
 */
enum prov_state lease_state(const struct lease_state *table, const char *word);
/* A machine that was just asked for: pending, with what the offer says of it, and nothing else. */
void lease_asked(const struct prov_create *c, struct prov_machine *machine_out);
/* A machine whose end was asked for. */
void lease_ending(const char *ref, struct prov_machine *machine_out);
/* destroy_parse of a cloud whose answer says no more than that. */
BERTH_MUST_CHECK enum berth_code lease_destroy_parse(void *st, const struct http_resp *resp,
    const char *ref, struct prov_machine *machine_out, struct berth_err *err);

/* One machine out of its object. */
typedef enum berth_code lease_machine_fn(
    const struct jsonr *o, struct prov_machine *machine_out, struct berth_err *err);
/* An answer that is one machine, or has it at key; NULL: is. */
BERTH_MUST_CHECK enum berth_code lease_one(const struct http_resp *resp, const char *key,
    lease_machine_fn *machine, struct prov_machine *machine_out, struct berth_err *err);
/* Every machine of root's array key. An answer without it is BERTH_ETRANSIENT, "no WHAT in the
 * answer". */
BERTH_MUST_CHECK enum berth_code lease_each(const struct jsonr *root, const char *key,
    const char *what, lease_machine_fn *machine, prov_machine_fn *emit, void *arg,
    struct berth_err *err);

/* "REGION/ID" into ref [size]; BERTH_EINVAL at the cursor if it does not fit or the id is none, as
 * below. */
BERTH_MUST_CHECK enum berth_code lease_ref(const struct jsonr *at, const char *region,
    const char *id, char *ref, size_t size, struct berth_err *err);
/*
 * Back from it; the id begins with prefix and is of letters, digits, '-', '_' and '.' alone, so
 * that it is safe in a URL and in a text of JSON. Else BERTH_EINVAL, "is no machine of " whose.
 */
BERTH_MUST_CHECK enum berth_code lease_ref_split(struct arena *a, const char *ref,
    const char *whose, const char *prefix, const char **region_out, const char **id_out,
    struct berth_err *err);

/* Installation and token out of [{key: "berth-installation", value: "..."}, ...]; key and value are
 * the cloud's names. */
BERTH_MUST_CHECK enum berth_code lease_tags(const struct jsonr *tags, const char *key,
    const char *value, struct prov_machine *m, struct berth_err *err);

/* The account's `regions`; one that is not of a-z 0-9 and '-' is BERTH_EINVAL, which shows example.
 */
BERTH_MUST_CHECK enum berth_code lease_regions(const struct prov_env *env, const char *example,
    const char *const **regions_out, size_t *n_out, struct berth_err *err);
/* `spot_max_price` is absent or a price; currency stands in the message. */
BERTH_MUST_CHECK enum berth_code lease_spot_price(
    const struct prov_env *env, const char *currency, struct berth_err *err);
/* The ID of the first "PLACE=ID" of a key that is a list of strings; NULL: none. */
const char *lease_at_place(const struct prov_conf *conf, const char *key, const char *place);

/* The number before the first '|' of a cursor, 0 if there is none; *rest_out stands behind it. */
size_t lease_cursor(const char *next, const char **rest_out);
struct prov_part;
/* The region at `at` of names [n], where the cursor of each is its number with '|' behind it. */
void lease_part(const char *const *names, size_t n, size_t at, struct prov_part *out);
/* Overwrites a secret and frees it; NULL is allowed. */
void lease_wipe(char *secret);
/*
 * A dry run was answered. What is refused of the type or the place was allowed to be asked, so all
 * but refusals of the account (credentials, throttling, passing) and codes that fit one of the
 * globs ours [n_ours] becomes BERTH_OK.
 */
void lease_check(const struct provider_ops *ops, const struct http_resp *resp, const char *name,
    const char *const *ours, size_t n_ours, struct prov_check *check_out);

#endif
