/* providers/aws/aws.h - Amazon EC2 (API 2016-11-15), with its price lists, quotas and credentials.
 * Floor: providers. */
#ifndef BERTH_PROVIDERS_AWS_H
#define BERTH_PROVIDERS_AWS_H

#include "net/sign.h"
#include "providers/provider.h"
#include "util/buf.h"
#include "util/strmap.h"
#include "util/vec.h"
#include "util/xml.h"

extern const struct provider_ops provider_aws;

/* This folder's own from here on. */

#define AWS_ROLES_MAX 4
#define AWS_EC2_VERSION "2016-11-15"
#define AWS_STS_VERSION "2011-06-15"
#define AWS_TAG_INSTALLATION "berth-installation"
#define AWS_TAG_TOKEN "berth-token"

enum aws_source {     /* where the first keys come from */
	AWS_SRC_NONE, /* none was found: the metadata service is asked */
	AWS_SRC_KEYS, /* they are here: configuration, environment or a shared file */
	AWS_SRC_PROCESS,
	AWS_SRC_WEB,
	AWS_SRC_CONTAINER,
	AWS_SRC_IMDS
};

struct aws_cred {
	char id[160], secret[256], token[8192];
	bool set;
	int64_t expires, renew_at; /* s since epoch; 0: never */
};

struct aws_role {
	const char *arn, *session, *external_id;
};

struct aws_auth {
	enum aws_source source;
	const char *found;    /* where, for messages: "profile 'lab'" */
	const char *command;  /* AWS_SRC_PROCESS */
	const char *web_file; /* AWS_SRC_WEB: token file, of web_role */
	struct aws_role web_role;
	const char *container_url, *container_token, *container_token_file;
	struct aws_role roles[AWS_ROLES_MAX]; /* assumed one from the other */
	size_t n_roles;
	struct aws_cred cred[AWS_ROLES_MAX + 1]; /* [0] is the source's */
	char imds_token[512], imds_role[160];
	int64_t imds_token_until;
	enum aws_step {
		AWS_STEP_PROCESS,
		AWS_STEP_WEB,
		AWS_STEP_CONTAINER,
		AWS_STEP_IMDS_TOKEN,
		AWS_STEP_IMDS_ROLE,
		AWS_STEP_IMDS_KEYS,
		AWS_STEP_ASSUME
	} step;
	size_t level; /* of cred that the step in progress renews */
};

struct aws_type { /* an instance type with accelerators */
	const char *name, *accelerator;
	int count;
	double memory_gib_each, vcpus, memory_gib;
	bool block; /* sold as capacity block */
};

struct aws_scan;

struct aws_place {
	int phase;
	size_t region;
	const char *token;
	bool start;
}; /* token: of the cursor, for the build alone */

struct aws {
	const struct prov_env *env;
	const char *const
	    *regions; /* [n_regions]; with regions_all one to ask DescribeRegions in */
	size_t n_regions;
	bool regions_all;     /* and they are not known yet */
	const char *endpoint; /* of every service; NULL: each its own */
	const char *imds;     /* the metadata service where no endpoint is set */
	struct aws_auth auth;
	struct {
		char service[24], region[64];
	} scope;                /* of the request built last: what its signature is for */
	struct aws_place place; /* of the list request built last */
	size_t
	    block_type; /* of the capacity block request built last: index into the scan's types */
	struct aws_scan *scan; /* of the offers being read; NULL: none */
};

/* aws.c */
/* Base URL of a service, without a slash at its end; "" region for those that have none. */
const char *aws_url(const struct aws *w, struct arena *a, const char *service, const char *region);
const char *aws_partition_suffix(const char *region); /* "amazonaws.com" */
/* What an error code of the API means; for errors within an answer that is none. */
enum berth_code aws_code_of(const char *code, const char *text);
bool aws_error_read(const struct http_resp *resp, struct prov_error *error_out);
extern const struct prov_error_row aws_errors[];

void aws_scope(struct aws *w, const char *service, const char *region);

/* aws_form.c: requests */
struct aws_form {
	struct buf b;
	struct arena *a;
};
void aws_form_begin(struct aws_form *f, struct arena *a, const char *action, const char *version);
void aws_form_add(struct aws_form *f, const char *value, const char *fmt, ...)
    BERTH_PRINTF(3, 4); /* fmt: the name; "" is sent */
void aws_form_tags(struct aws_form *f, const struct aws *w, int n, const char *resource,
    const struct prov_create *c);
/* Ends the form and makes it the request; service "ec2" or "sts". */
BERTH_MUST_CHECK enum berth_code aws_form_post(struct aws_form *f, struct aws *w,
    const char *service, const char *region, struct http_req *req, struct berth_err *err);
/* A JSON call: target NULL is a rest-json path. b is freed. */
BERTH_MUST_CHECK enum berth_code aws_json_post(struct aws *w, const char *service,
    const char *region, const char *target, const char *path, struct buf *b, struct http_req *req,
    struct berth_err *err);
/* The answer as XML whose root is ACTIONResponse; what is no XML is BERTH_ETRANSIENT. */
BERTH_MUST_CHECK enum berth_code aws_xml(const struct http_resp *resp, const char *action,
    const struct xml **root_out, struct berth_err *err);
/* A child's text into its place; a needed one that is absent or one that does not fit is
 * BERTH_EINVAL. */
BERTH_MUST_CHECK enum berth_code aws_field(const struct xml *x, const char *path, bool needed,
    char *dst, size_t size, struct berth_err *err);
int64_t aws_time(const char *s); /* RFC 3339; 0: none */

/* aws_chain.c: who gives the keys */
BERTH_MUST_CHECK enum berth_code aws_chain_find(
    struct aws *w, const char **region_out, struct berth_err *err);
/* aws_auth.c: getting them */
extern const struct prov_auth_ops aws_auth_ops;
void aws_auth_wipe(struct aws_auth *auth);
BERTH_MUST_CHECK enum berth_code aws_exchange(
    void *st, const struct http_req *req, struct http_resp *resp, struct berth_err *err);

/* aws_family.c: what AWS calls things */
/* The accelerator of an instance type by its family ("p5.48xlarge" -> "H100-SXM5-80GB"); NULL: none
 * known. */
const char *aws_family_accelerator(const char *type);
/* How many, for those whose price list row does not say (Trainium, Inferentia, Gaudi; reservations
 * alone); 0: not known. */
int aws_family_count(const char *type);
/* Patterns of DescribeInstanceTypes' filter instance-type that hold every accelerator family;
 * NULL-terminated. */
extern const char *const aws_family_patterns[];
/* Region of a "location" of the price list, however it is spelt; NULL: none known. A region's own
 * code is itself. */
const char *aws_region_of_location(struct arena *a, const char *location);
/* "Running On-Demand P instances" -> "P", on demand. False: no quota of machines. */
bool aws_quota_name(const char *name, char family[64], enum purchase *purchase_out);
/* "P4, P3 and P2" -> "p4* p3* p2*", "G and VT" -> "g[0-9]* gr[0-9]* vt[0-9]*": globs on instance
 * types; false: it names none. */
bool aws_quota_types(const char *family, char *out, size_t size);

/* aws_scan.c: the offers of a pass, gathered before any is told */
enum aws_phase {
	AWS_PH_ADVISOR,
	AWS_PH_TYPES,
	AWS_PH_SPOT,
	AWS_PH_SCORE,
	AWS_PH_PRICES,
	AWS_PH_METAL,
	AWS_PH_RESERVED,
	AWS_PH_PLANS,
	AWS_PH_BLOCKS,
	AWS_PH_COUNT
};
struct aws_scan {
	struct arena *a;
	const char *const *regions;
	size_t n_regions;
	bool wanted[AWS_PH_COUNT];
	bool reserved;               /* reservations of the price list are kept */
	struct strmap seen;          /* "region\ttype": it is sold there */
	struct strmap types_by_name; /* into types */
	VEC(struct aws_type) types;
	struct strmap by_key; /* into offers */
	VEC(struct offer) offers;
	struct strmap rates;  /* "region\ttype" into rate */
	VEC(double) rate;     /* interruptions an hour */
	struct strmap scores; /* zone id or region, and type: 1..10 */
	struct strmap places_seen;
	VEC(const char *)
	places; /* of the price list, in whose words no region is known; once each */
};
struct aws_scan *aws_scan_new(void);
void aws_scan_free(struct aws_scan *s);
/*
 * The type, known by DescribeInstanceTypes or by its family and the list's own count (0: not said).
 * NULL: no accelerator.
 */
const struct aws_type *aws_scan_type(
    struct aws_scan *s, const char *name, int count, double vcpus, double memory_gib);
/* Keeps an offer; of two with the same key the cheaper one stays. Strings are copied. Prices of 0
 * are no offer. */
void aws_scan_keep(struct aws_scan *s, const struct aws_type *t, struct offer o);
/* Remembers a place that is no known region. */
void aws_scan_place(struct aws_scan *s, const char *place);
struct offer aws_offer(const char *region, int64_t as_of, const char *source);

/* aws_price.c: the price list, in its forms */
struct aws_price {
	struct aws_scan *scan;
	int64_t now, as_of; /* as_of: when the list was read, or published; what is in force is told
			       by now */
	const char *source, *region;
	bool published; /* takes its as_of from the list, which says when it was published */
};
/* The whole list, JSON: products and terms, in any order. */
BERTH_MUST_CHECK enum berth_code aws_price_json(
    struct aws_price *p, FILE *file, const char *bytes, size_t n, struct berth_err *err);
/* One entry of GetProducts. */
BERTH_MUST_CHECK enum berth_code aws_price_entry(
    struct aws_price *p, const char *bytes, size_t n, struct berth_err *err);
/* The whole list, CSV. */
BERTH_MUST_CHECK enum berth_code aws_price_csv(
    struct aws_price *p, FILE *file, struct berth_err *err);

/* aws_spot.c, aws_plans.c: other answers that make offers */
BERTH_MUST_CHECK enum berth_code aws_spot_history(struct aws *w, const char *region,
    const struct http_resp *resp, char *next, size_t size, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code aws_spot_scores(
    struct aws *w, const struct http_resp *resp, char *next, size_t size, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code aws_spot_advisor(
    struct aws *w, const struct http_resp *resp, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code aws_reserved_offerings(struct aws *w, const char *region,
    const struct http_resp *resp, char *next, size_t size, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code aws_savings_rates(struct aws *w, const char *region,
    const struct http_resp *resp, char *next, size_t size, struct berth_err *err);
/*
 * Capacity blocks, type by type: token is "INDEX:NEXT"; the parse writes the next one, "" at the
 * end. False from aws_blocks_type(): no type from index on is sold so in the region.
 */
bool aws_blocks_type(const struct aws_scan *s, const char *region, size_t *index);
BERTH_MUST_CHECK enum berth_code aws_blocks_build(struct aws *w, const char *region,
    const char *token, struct http_req *req, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code aws_blocks_parse(struct aws *w, const char *region,
    const struct http_resp *resp, char *next, size_t size, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code aws_savings_build(struct aws *w, const char *region,
    const char *token, struct http_req *req, struct berth_err *err);

/* aws_place.c: where a list is, region by region: "phase/region/token" */
/* At a build: where cur is, kept in w for the parse (which gets an empty cursor to write the next
 * place in). */
struct aws_place aws_place_read(struct aws *w, const struct prov_cursor *cur);
BERTH_MUST_CHECK enum berth_code aws_place_write(
    struct prov_cursor *cur, int phase, size_t region, const char *token, struct berth_err *err);
/* Behind the page read at p: its next page, the next region, or the end. */
BERTH_MUST_CHECK enum berth_code aws_place_on(const struct aws *w, struct prov_cursor *cur,
    const struct aws_place *p, const char *next, struct berth_err *err);
/* "all" regions: the first page of the first list is DescribeRegions. */
bool aws_regions_pending(const struct aws *w);
BERTH_MUST_CHECK enum berth_code aws_regions_build(
    struct aws *w, struct http_req *req, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code aws_regions_parse(
    struct aws *w, const struct http_resp *resp, struct prov_cursor *cur, struct berth_err *err);

/* Two parts of a machine's ref: "eu-west-1/i-0abc". */
BERTH_MUST_CHECK enum berth_code aws_ref_split(
    const char *ref, char region[64], const char **id_out, struct berth_err *err);

/* aws_market.c */
/* Whether the section's commitments name it. */
bool aws_wants_commitment(const struct aws *w, const char *word);
/* Where the price list API is, for a region. */
const char *aws_pricing_region(const char *region);

/* aws_check.c: permissions, for doctor; as struct prov_lease_ops has them */
enum berth_code aws_check_build(void *st, int n, struct http_req *req, struct berth_err *err);
enum berth_code aws_check_parse(void *st, const struct http_resp *resp, int n,
    struct prov_check *check_out, struct berth_err *err);

extern const struct prov_market_ops aws_market;
extern const struct prov_lease_ops aws_lease;

#endif
