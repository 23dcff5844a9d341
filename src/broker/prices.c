/* prices: each account's own list, when it has grown old; placements want what is asked and free now. */
#include <string.h>

#include "broker/broker.h"
#include "broker/pricelist.h"
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

static enum berth_code
prices_account(struct broker *b, struct broker_account *acc, struct berth_err *err)
{
	struct pricelist_setup setup = { .store = b->store, .now = b->now, .quarantine_dir = b->quarantine_dir };
	struct pricelist_result result = { 0 };
	enum berth_code rc;

	rc = pricelist_refresh(&setup, acc->prov, b->tick_arena, &result, err);
	if (rc == BERTH_OK && result.code != BERTH_OK) {
		b->counts.errors++;
		log_warn(b->log, "prices of %s: %s", acc->name, result.error);
	}
	return rc;
}

enum berth_code
pass_prices(struct broker *b, struct berth_err *err)
{
	struct price_list *lists;
	enum berth_code rc;
	size_t n;

	rc = store_price_list_list(b->store, b->tick_arena, &lists, &n, err);
	for (size_t i = 0; rc == BERTH_OK && i < b->n_accounts; i++) {
		struct broker_account *acc = &b->accounts[i];

		if (acc->prov == NULL || acc->down != BERTH_OK ||
		    (prov_account_ops(acc->prov)->caps & PROV_CAP_OFFERS) == 0 ||
		    (b->offline && prov_account_ops(acc->prov)->exchange == NULL))
			continue;
		if (b->now - prices_fetched(lists, n, acc->name) >= b->policy.prices_s)
			rc = prices_account(b, acc, err);
	}
	return rc;
}
