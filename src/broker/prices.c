/* prices: each account's own list, when it has grown old; placements want what is asked and free
 * now. */
#include <string.h>

#include "broker/broker.h"
#include "broker/pricelist.h"
#include "store/machine_rows.h"
#include "store/offer_rows.h"

/* When the account's lists were last right; 0: never, or one of them is stale. */
static int64_t
prices_fetched(const struct price_list *lists, size_t n, const char *account)
{
	int64_t oldest = 0;
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		if (strcmp(lists[i].account, account) != 0)
			continue;
		if (lists[i].stale)
			return 0;
		if (!any || lists[i].fetched < oldest)
			oldest = lists[i].fetched;
		any = true;
	}
	return oldest;
}

/* The account can be asked now, and its list is old, or says of a machine that is free again that
 * it is taken. */
static enum berth_code
prices_due(const struct broker *b, const struct broker_account *acc, const struct price_list *lists,
    size_t n, bool *due_out, struct berth_err *err)
{
	int64_t fetched, gone;
	enum berth_code rc;

	*due_out = false;
	if (acc->prov == NULL || acc->down != BERTH_OK ||
	    (prov_account_ops(acc->prov)->caps & PROV_CAP_OFFERS) == 0 ||
	    (b->offline && !provider_is_local(prov_account_ops(acc->prov))))
		return BERTH_OK;
	fetched = prices_fetched(lists, n, acc->name);
	*due_out = b->now - fetched >= b->policy.prices_s;
	if (*due_out || (prov_account_ops(acc->prov)->caps & PROV_CAP_FREE) == 0)
		return BERTH_OK;
	rc = store_instance_last_gone(b->store, acc->name, &gone, err);
	*due_out = gone >= fetched;
	return rc;
}

enum berth_code
pass_prices(struct broker *b, struct berth_err *err)
{
	struct pricelist_setup setup = { .store = b->store,
		.now = b->now,
		.quarantine_dir = b->quarantine_dir,
		.policy = &b->prices };
	struct pricelist_result *results =
	    arena_array_of(b->tick_arena, b->n_accounts, struct pricelist_result);
	struct prov_account **ask =
	    arena_array_of(b->tick_arena, b->n_accounts, struct prov_account *);
	struct price_list *lists;
	enum berth_code rc;
	size_t n, due = 0;

	rc = store_price_list_list(b->store, b->tick_arena, &lists, &n, err);
	for (size_t i = 0; rc == BERTH_OK && i < b->n_accounts; i++) {
		bool old;

		rc = prices_due(b, &b->accounts[i], lists, n, &old, err);
		if (rc == BERTH_OK && old)
			ask[due++] = b->accounts[i].prov;
	}
	if (rc == BERTH_OK)
		rc = pricelist_refresh(
		    &setup, ask, due, b->policy.prices_pass_s, b->tick_arena, results, err);
	for (size_t i = 0; rc == BERTH_OK && i < due; i++)
		if (results[i].code != BERTH_OK) {
			b->counts.errors++;
			log_warn(b->log, "prices of %s: %s", results[i].name, results[i].error);
		}
	return rc;
}
