/* Results of a probe as a machine that nobody trusts may print them: read or refused, and judged whatever they say. */
#include <math.h>
#include <string.h>

#include "plan/verdict.h"
#include "tests/fuzz/fuzz.h"
#include "util/arena.h"

const char fuzz_name[] = "verdict";

static const struct verdict_limits limits = { .accept = 0.95, .reject = 0.75, .implausible = 1.25, .memory = 0.9,
	.straggler = 0.93, .hot_cold = 0.93, .pcie = 0.8, .pcie_balance = 0.8, .p2p = 0.8, .network = 0.8,
	.network_balance = 0.8, .jitter = 1.3, .fleet_machines = 20, .fleet_providers = 2, .fleet_drift = 0.03,
	.fleet_floor = 0.9, .weight_memory = 0.5 };

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct verdict_promise nothing = { .accelerator = "", .memory_gib = (double)NAN, .mig = "", .precision = "" };
	struct verdict_promise sold = nothing;
	const struct verdict_refs refs = { .refs = NULL };
	struct arena *a = arena_new();
	struct berth_err err = { 0 };
	struct probe_result r;
	struct verdict v;
	int failed = 0;

	if (verdict_parse((const char *)data, size, a, &r, &err) != BERTH_OK) {
		FUZZ_CHECK(err.msg[0] != '\0');
		arena_free(a);
		return 0;
	}
	for (size_t i = 0; i < r.n_tests; i++)
		FUZZ_CHECK(!(r.tests[i].value < 0) && r.tests[i].name[0] != '\0');
	for (size_t i = 0; i < r.n_health; i++)
		failed += r.health[i].status == CHECK_FAILED;
	for (size_t i = 0; i < r.n_checks; i++)
		failed += r.checks[i].status == CHECK_FAILED;
	for (size_t i = 0; i < r.n_tests; i++)
		failed += r.tests[i].status == PROBE_FAILED;
	verdict_judge(&r, &nothing, NULL, &refs, &limits, a, &v);
	FUZZ_CHECK(failed == 0 || v.kind == VERDICT_REJECT);
	FUZZ_CHECK(r.complete || v.kind == VERDICT_REJECT);
	FUZZ_CHECK(v.kind == VERDICT_ACCEPT || v.n_reasons > 0);
	FUZZ_CHECK(v.n_reasons == 0 || v.reasons[0].kind == v.kind);
	sold.accelerator = "H100-SXM5-80GB";
	sold.count = 8;
	verdict_judge(&r, &sold, NULL, &refs, &limits, a, &v);
	FUZZ_CHECK(r.n_gpus >= 8 || r.mode == PROBE_MODE_NETWORK || v.kind == VERDICT_REJECT);
	arena_free(a);
	return 0;
}
