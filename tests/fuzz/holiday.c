#include <stdlib.h>
#include <string.h>

#include "model/holiday.h"
#include "tests/fuzz/fuzz.h"

const char fuzz_name[] = "holiday";

/* A rule that is taken gives days in order, within what was asked for, and as many as a year can have. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct holiday_rule r;
	struct berth_err err;
	char *text = malloc(size + 1);
	enum berth_code rc;

	if (text == NULL)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	rc = holiday_parse(text, &r, &err);
	free(text);
	for (int observed = 0; rc == BERTH_OK && observed < 3; observed++) {
		struct holidays h = { "fuzz", &r, 1 };
		struct arena *a = arena_new();
		int64_t *days;
		size_t n;

		r.observed = (enum holiday_observed)observed;
		holiday_days(&h, 18262, 18262 + 730, a, &days, &n);	/* 2020 and 2021 */
		FUZZ_CHECK(n <= 731);
		for (size_t i = 0; i < n; i++)
			FUZZ_CHECK(days[i] >= 18262 && days[i] <= 18262 + 730 && (i == 0 || days[i] > days[i - 1]));
		arena_free(a);
	}
	return 0;
}
