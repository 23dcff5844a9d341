/* tests/unit/gcp_test.h - accounts, answers and what was found, for the tests of Google Cloud. */
#ifndef BERTH_TESTS_UNIT_GCP_TEST_H
#define BERTH_TESTS_UNIT_GCP_TEST_H

#include "model/accel.h"
#include "providers/account.h"
#include "util/arena.h"
#include "util/log.h"
#include "util/vec.h"

#define NOW INT64_C(1796040000)		/* 2026-11-30T12:00:00Z */

extern struct arena *a;
extern const struct accel_table *accels;
extern struct log quiet;

/* What the wire answers: the first row whose part is in the URL. */
struct wire { const char *part, *body; };

/* An account of these further keys; the code of opening it is a test. */
struct prov_account *open_account(const char *more, enum berth_code want);
struct http_resp say(int status, const char *body);

/* What walk() met; emitters that put more there. */
extern struct got {
	VEC(struct offer) offers;
	VEC(struct prov_machine) machines;
	VEC(struct prov_quota) quotas;
	int requests;
} got;
enum berth_code got_offer(void *arg, const struct offer *o, struct berth_err *err);
enum berth_code got_quota(void *arg, const struct prov_quota *q, struct berth_err *err);

/* A whole list, without the core: 'o' offers, 'm' machines, 'q' quotas. */
enum berth_code walk(struct prov_account *acc, char what, const struct wire *wire, struct berth_err *err);
const struct offer *find(const char *type, const char *region, enum purchase p, int months);
void is_price(const char *type, const char *region, enum purchase p, int months, double want);

/* One SKU of the catalogue; a zone without accelerators. */
const char *sku(const char *description, const char *group, const char *usage, const char *unit, const char *region, double usd);
extern const char no_cards[];

/* A file beside the checkout: its path; its text, NULL where it is not there. */
const char *shared(const char *path);
char *slurp(const char *path);

/* Prices: in gcp_price.c. */
void test_composition(void);
void test_cases(void);
void test_regions_apart(void);
void test_old_tpu(void);

#endif
