#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "util/time.h"

const char fuzz_name[] = "time";

#define NOW INT64_C(1796032800)

static void
check_text(const char *s, const struct tz *tz)
{
	char text[TIME_FMT_SIZE], dur[DURATION_FMT_SIZE];
	int64_t t, back, d;

	for (unsigned flags = 0; flags < 4; flags++) {
		struct berth_err err = { 0 };
		enum tz_note note = TZ_PLAIN;

		if (time_parse_noted(s, NOW, flags & 1 ? tz : NULL, flags, &t, &note, &err) != BERTH_OK) {
			FUZZ_CHECK(err.msg[0] != '\0');
			continue;
		}
		FUZZ_CHECK(t >= TIME_MIN && t <= TIME_MAX);
		FUZZ_CHECK(time_parse(time_fmt(text, t), NOW, NULL, TIME_ABSOLUTE, &back, NULL) == BERTH_OK);
		FUZZ_CHECK(back == t);
	}
	if (duration_parse(s, &d, NULL) == BERTH_OK) {
		FUZZ_CHECK(d >= 0);
		FUZZ_CHECK(duration_parse(duration_fmt(dur, d), &back, NULL) == BERTH_OK && back == d);
	}
}

/* A zone that was accepted answers for every instant, and its answers fit together. */
static void
check_zone(const struct tz *tz)
{
	for (int64_t t = TIME_MIN; t < TIME_MAX; t += 40000003) {
		int32_t off = tz_offset(tz, t);
		int64_t back;

		FUZZ_CHECK(off > -26 * 3600 && off < 26 * 3600);
		back = tz_instant(tz, t + off, NULL);
		FUZZ_CHECK(back > t - 4 * 86400 && back < t + 4 * 86400);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_new();
	const struct tz *tz = NULL;

	if (size > 4 && memcmp(data, "TZif", 4) == 0) {
		if (tz_parse(a, "fuzz", data, size, &tz, NULL) == BERTH_OK)
			check_zone(tz);
	} else if (tz_load(a, "+05:30", &tz, NULL) == BERTH_OK) {
		check_text(arena_strndup(a, (const char *)data, size), tz);
	}
	arena_free(a);
	return 0;
}
