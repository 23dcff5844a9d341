/* tests/unit/aws_test.h - a home, accounts and a scripted wire, for the tests of AWS. */
#ifndef BERTH_TESTS_UNIT_AWS_TEST_H
#define BERTH_TESTS_UNIT_AWS_TEST_H

#include "model/accel.h"
#include "providers/account.h"
#include "providers/aws/aws.h"
#include "util/arena.h"
#include "util/log.h"

#define NOW INT64_C(1795996800)	/* 2026-11-30T00:00:00Z */
#define SECRET "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"

extern struct arena *a;
extern const struct accel_table *accels;
extern struct berth_err err;
extern char home[64];		/* a folder of the test's own */
extern struct log quiet;
extern const char *shared;	/* where the collected answers lie */

/* No variable of the environment names a key; HOME is the test's own. */
void clear_env(void);
/* A file of that home; its path. */
const char *put(const char *name, const char *text);
struct prov_account *open_account(const char *section, enum berth_code want);

/* What the wire is asked and answers, step by step. */
struct step {
	const char *url, *body;		/* parts that must be in the request */
	int status;
	const char *answer;
};
extern size_t n_steps, at_step;
extern char last_auth[4096], last_token[512];
void script(struct prov_account *acc, struct step *s, size_t n);
#define SCRIPT(acc, s) script((acc), (s), sizeof(s) / sizeof((s)[0]))

/* Price lists: in aws_price.c. */
const struct offer *find(const struct aws_scan *s, enum purchase p, int months, enum payment pay);
struct aws_scan *scan_json(const char *bytes, size_t n, enum berth_code want);
void test_prices(void);
void test_names(void);

/* Who gives the keys: in aws_auth.c. */
void test_files(void);
void test_roles(void);
void test_sources(void);

#endif
