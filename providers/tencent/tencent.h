/* providers/tencent/tencent.h - Tencent Cloud: Cloud Virtual Machine 2017-03-12.  Floor: providers.
 */
#ifndef BERTH_PROVIDERS_TENCENT_H
#define BERTH_PROVIDERS_TENCENT_H

#include "providers/provider.h"
#include "providers/rates.h"
#include "util/json.h"

extern const struct provider_ops provider_tencent;

/* This folder's own. */
struct tencent_refresh; /* one walk of types and prices: tencent_market.c */

struct tencent {
	const struct prov_env *env;
	const char *endpoint, *currency;
	const char *const *regions;
	size_t n_regions;
	struct rates words; /* `accelerators` alone */
	struct tencent_refresh *refresh;
	size_t list_region, quota_region;
	int64_t list_offset;
};

/* Every call is a POST of JSON to one path. begin opens the body's object, end closes it and makes
 * the request whole. */
struct tencent_call {
	struct http_req *req;
	const char *action, *region;
	struct buf *b;
	struct jsonw *w;
};
void tencent_begin(struct tencent_call *c);
enum berth_code tencent_end(
    const struct tencent *t, struct tencent_call *c, struct berth_err *err) BERTH_MUST_CHECK;
/* {"Name": name, "Values": [...]} of `Filters`; values ends with NULL. */
void tencent_filter(struct jsonw *w, const char *name, const char *const *values);
/* The answer's tree, the caller's to json_decref(), and a cursor on its "Response", whose root the
 * caller keeps. */
enum berth_code tencent_answer(const struct http_resp *resp, json_t **tree_out, struct jsonr *root,
    struct jsonr *response, struct berth_err *err) BERTH_MUST_CHECK;

extern const struct prov_market_ops tencent_market;
void tencent_market_close(struct tencent *t);
extern const struct prov_lease_ops tencent_lease;

#endif
