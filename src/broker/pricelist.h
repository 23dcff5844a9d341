/* src/broker/pricelist.h - a new price list takes the old one's place, if it can be believed.
 * Floor: broker. */
#ifndef BERTH_BROKER_PRICELIST_H
#define BERTH_BROKER_PRICELIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/offer.h"
#include "plan/cost.h"
#include "providers/prov.h"
#include "store/store.h"
#include "util/err.h"

struct quarantine;
struct rates;
struct yaml_node;

/* The default policy. */
#define PRICELIST_MOVED                                                                            \
	0.5 /* a price that moves by more than this share of itself is suspect ... */
#define PRICELIST_MOVED_SHARE 0.2 /* ... and at most this share of the prices may be */
#define PRICELIST_LOST_SHARE 0.5  /* of the accelerators that the old list had */
#define PRICELIST_ALERT 0.2       /* a price that moves by more is told as an event */
#define PRICELIST_SMALL 5         /* fewer prices in common than this say nothing */

struct pricelist_gate {
	bool pass;
	size_t common, moved;  /* prices that the old list had of offers in both; of those, moved by
				  more than PRICELIST_MOVED */
	size_t unknown;        /* of the moved, those that are no price any more */
	size_t families, lost; /* accelerators of the old list; of those, not in the new one */
	char why[200];         /* why it does not pass; "" */
};

/* What is believed, and what is told: `prices:` of berth.yaml. */
struct pricelist_policy {
	double moved, moved_share; /* a move by more than `moved` of itself is suspect; at most this
				      share may */
	double lost_share;         /* of the accelerators */
	double alert;              /* a move by more than this share is an event; 0: none is */
	struct cost_ages ages;     /* older prices are not placed on, and not planned with */
	const struct rates *rates; /* NULL: what is not in USD is not comparable */
};
extern const struct pricelist_policy pricelist_policy_default;
/* BERTH_EINVAL with file:line:col, and what rates_load() says. config NULL: the default. */
BERTH_MUST_CHECK enum berth_code pricelist_policy_read(const struct yaml_node *config,
    const char *config_dir, int64_t now, struct arena *a, struct pricelist_policy *policy_out,
    struct berth_err *err);

/*
 * Whether the new list can be believed beside the old one. Pure; either may be empty; policy NULL:
 * the default. own: of own machines (PROV_CAP_OWN), whose prices may be unknown.
 */
void pricelist_judge(const struct pricelist_policy *policy, bool own, const struct offer *old,
    size_t n_old, const struct offer *fresh, size_t n_fresh, struct pricelist_gate *gate_out);

struct pricelist_setup {
	struct store *store;
	int64_t now;
	bool force;                 /* whatever the gate says */
	bool dry_run;               /* no file is written (the caller rolls the store back) */
	const char *quarantine_dir; /* where a list goes that does not pass, as berth's own CSV */
	const struct pricelist_policy *policy; /* NULL: the default */
};

struct pricelist_result {
	const char *name;       /* provider, or account */
	size_t offers, refused; /* in the new list; rows refused (the reader's to count) */
	bool stale;             /* the old list stands, marked */
	enum berth_code code;
	char error[320]; /* "" */
};

/*
 * Puts offers [n], all of one provider, in the place of the list (provider, account, source), or
 * quarantines them (code BERTH_EPRICE, stale set). Other errors are the store's and the disk's.
 */
BERTH_MUST_CHECK enum berth_code pricelist_put(const struct pricelist_setup *s,
    const char *provider, const char *account, const char *source, const struct offer *offers,
    size_t n, struct arena *a, struct pricelist_result *result_out, struct berth_err *err);

/*
 * Asks accounts [n] for their offers, all at once, and puts them: one list a provider that an
 * account sells, all or none of an account. A failure of a provider (or no whole answer within
 * deadline_s; 0: no limit) is not one of the call: it stands in results_out [n], and the old lists
 * are marked stale.
 */
BERTH_MUST_CHECK enum berth_code pricelist_refresh(const struct pricelist_setup *s,
    struct prov_account *const *accounts, size_t n, int deadline_s, struct arena *a,
    struct pricelist_result *results_out, struct berth_err *err);
/* Puts a quarantined list in place after all, as read from its file, and takes it out of the
 * quarantine. */
BERTH_MUST_CHECK enum berth_code pricelist_accept(const struct pricelist_setup *s,
    const struct quarantine *q, const struct offer *offers, size_t n, struct arena *a,
    struct pricelist_result *result_out, struct berth_err *err);
/* The account could not even be opened: the old lists are marked stale. */
BERTH_MUST_CHECK enum berth_code pricelist_failed(const struct pricelist_setup *s,
    const char *account, const char *provider, enum berth_code code, const char *why,
    struct arena *a, struct pricelist_result *result_out, struct berth_err *err);

#endif
