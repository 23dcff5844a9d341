/* src/cmd/prices.h - what the files of `berth prices` share, and other verbs with it.  Floor: cmd.
 */
#ifndef BERTH_CMD_PRICES_H
#define BERTH_CMD_PRICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "broker/pricelist.h"
#include "model/accel.h"
#include "plan/cost.h"
#include "store/offer_rows.h"
#include "util/err.h"
#include "util/opt.h"

struct cmd_ctx;
struct jsonw;
struct table;

/* Loads data/offers.csv as list prices, as `prices import --bundled` does; offers_out gets how many
 * are current. */
BERTH_MUST_CHECK enum berth_code prices_import_bundled(
    struct cmd_ctx *ctx, size_t *offers_out, struct berth_err *err);

/* Which offers: the same options for list, history and diff. */
struct prices_filter {
	struct opt_list gpu, purchase, region, provider, kind;
	const char *account, *type;
};
#define PRICES_FILTER_ROWS(base)                                                                   \
	{ "gpu", 'g', OPT_LIST, "SPEC",                                                            \
		"accelerator: H100:8, A100:80GB:4..8, 48GB+:1; any of them",                       \
		(base) + offsetof(struct prices_filter, gpu), 0, 0, NULL },                        \
	    { "purchase", 'p', OPT_LIST, "WAY", "on_demand, spot, reserved",                       \
		    (base) + offsetof(struct prices_filter, purchase), 0, 0, NULL },               \
	    { "kind", 'k', OPT_LIST, "KIND",                                                       \
		    "plain (default), windows, licensed, dedicated, block",                        \
		    (base) + offsetof(struct prices_filter, kind), 0, 0, NULL },                   \
	    { "region", 'r', OPT_LIST, "REGION", "patterns on the region, also as aws/eu-*",       \
		    (base) + offsetof(struct prices_filter, region), 0, 0, NULL },                 \
	    { "provider", 0, OPT_LIST, "PROVIDER", "patterns on who sells",                        \
		    (base) + offsetof(struct prices_filter, provider), 0, 0, NULL },               \
	    { "account", 0, OPT_STRING, "ACCOUNT", "offers that this account can rent",            \
		    (base) + offsetof(struct prices_filter, account), 0, 0, NULL },                \
	{                                                                                          \
		"type", 0, OPT_STRING, "NAME", "pattern on the instance type",                     \
		    (base) + offsetof(struct prices_filter, type), 0, 0, NULL                      \
	}

/* The options, understood. */
struct prices_match {
	const struct prices_filter *f;
	const struct accel_table *accels;
	struct accel_spec *specs;      /* [f->gpu.n] */
	bool purchase[PURCHASE_COUNT]; /* all true without --purchase */
	bool kind[OFFER_KIND_COUNT];   /* plain alone without --kind */
};
BERTH_MUST_CHECK enum berth_code prices_match_init(struct cmd_ctx *ctx,
    const struct prices_filter *f, struct prices_match *m_out, struct berth_err *err);
bool prices_match_fits(const struct prices_match *m, const struct offer *o);
/* What the store can see to already. */
struct offer_query prices_match_query(const struct prices_match *m);

/* The keys of one offer in berth.offers/1, into an open object. */
void prices_offer_keys(struct jsonw *w, const struct offer *o);
/* The name for people: one that the table lacks says so. */
const char *prices_accelerator(const struct cmd_ctx *ctx, const struct offer *o);
/* The way to buy, with its term in the short table: "reserved 12m". */
const char *prices_purchase(const struct cmd_ctx *ctx, const struct offer *o);
/* The price of an hour as a table may show it under "$/H": unknown in the short one if it is in
 * another currency. */
struct usd_micro prices_shown(const struct cmd_ctx *ctx, const struct offer *o);
/*
 * Which offer it is: provider, account, region, zone, instance_type, accelerator,
 * accelerator_count, and what tells offers of one machine apart: purchase, term_months, payment,
 * kind, currency. As keys, and as cells of a column "provider" and PRICES_WHICH_COLS.
 */
void prices_which_keys(struct jsonw *w, const struct offer *o);
void prices_which_cells(const struct cmd_ctx *ctx, struct table *t, const struct offer *o);

#define PRICES_WHICH_COLS                                                                          \
	{ "account", NULL, TABLE_TEXT, 0, TABLE_WIDE },                                            \
	    { "region", NULL, TABLE_TEXT, 0, TABLE_CUT },                                          \
	    { "zone", NULL, TABLE_TEXT, 0, TABLE_WIDE },                                           \
	    { "instance_type", "TYPE", TABLE_TEXT, 0, TABLE_CUT },                                 \
	    { "accelerator", NULL, TABLE_TEXT, 0, TABLE_CUT },                                     \
	    { "accelerator_count", "N", TABLE_INT, 0, 0 }, { "purchase", NULL, TABLE_TEXT, 0, 0 }, \
	    { "term_months", "MONTHS", TABLE_INT, 0, TABLE_WIDE },                                 \
	    { "payment", NULL, TABLE_TEXT, 0, TABLE_WIDE },                                        \
	    { "kind", NULL, TABLE_TEXT, 0, TABLE_WIDE },                                           \
	{                                                                                          \
		"currency", NULL, TABLE_TEXT, 0, TABLE_WIDE                                        \
	}

/* Prints the result of import or refresh; BERTH_EPARTIAL, or the one code there is, if anything was
 * refused. */
BERTH_MUST_CHECK enum berth_code prices_print_results(
    struct cmd_ctx *ctx, const struct pricelist_result *r, size_t n, struct berth_err *err);
/* What pricelist_put() needs of a verb. */
BERTH_MUST_CHECK enum berth_code prices_setup(
    struct cmd_ctx *ctx, bool force, struct pricelist_setup *setup_out, struct berth_err *err);

/* Subverbs, in files of their own. */
extern const struct opt_row prices_import_rows[], prices_refresh_rows[], prices_history_rows[],
    prices_diff_rows[];
struct prices_import_opts {
	bool bundled, force;
	const char *provider;
	int64_t as_of;
};
struct prices_refresh_opts {
	bool force;
	struct opt_list account;
};
struct prices_history_opts {
	struct prices_filter filter;
	int64_t since, until;
};
enum berth_code prices_import_run(struct cmd_ctx *ctx, struct berth_err *err);
enum berth_code prices_refresh_run(struct cmd_ctx *ctx, struct berth_err *err);
enum berth_code prices_quarantine_run(struct cmd_ctx *ctx, struct berth_err *err);
enum berth_code prices_accept_run(struct cmd_ctx *ctx, struct berth_err *err);
enum berth_code prices_reject_run(struct cmd_ctx *ctx, struct berth_err *err);
enum berth_code prices_drop_run(struct cmd_ctx *ctx, struct berth_err *err);
enum berth_code prices_history_run(struct cmd_ctx *ctx, struct berth_err *err);
enum berth_code prices_diff_run(struct cmd_ctx *ctx, struct berth_err *err);

/* How old prices may be: what the command line says, else berth.yaml; 0: not said there. */
BERTH_MUST_CHECK enum berth_code prices_ages(struct cmd_ctx *ctx, int64_t price_age_s,
    int64_t spot_age_s, struct cost_ages *ages_out, struct berth_err *err);

#endif
