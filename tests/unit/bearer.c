/* tests/unit/bearer.c - how long a token lives, in every form that servers say it in. */
#include <stdlib.h>
#include <string.h>

#include "providers/bearer.h"
#include "providers/endpoint.h"
#include "tests/tap.h"
#include "util/arena.h"
#include "util/fileio.h"
#include "util/json.h"
#include "util/str.h"
#include "util/time.h"

static struct arena *a;

static enum berth_code
take(struct bearer *b, const char *body, int64_t now, struct berth_err *err)
{
	struct http_resp resp = { .arena = a, .status = 200, .body = body, .body_len = strlen(body) };

	return bearer_parse(b, &resp, now, err);
}

static void
test_forms(void)
{
	static const struct { const char *body; int64_t ends; } good[] = {
		{ "{\"access_token\":\"t\",\"expires_in\":3599}", 1003599 }, { "{\"access_token\":\"t\",\"expires_in\":\"60\"}", 1000060 },
		{ "{\"access_token\":\"t\",\"expires_on\":\"1003600\"}", 1003600 }, { "{\"access_token\":\"t\",\"expires_on\":1003600}", 1003600 },
		{ "{\"access_token\":\"t\",\"expires_on\":\"01/12/1970 14:46:40 +01:00\"}", 1000000 },
		{ "{\"access_token\":\"t\",\"expires_on\":\"01/12/1970 13:46:40\"}", 1000000 },
		{ "{\"access_token\":\"t\",\"expires_on\":\"1970-01-12T13:46:40Z\"}", 1000000 },
		{ "{\"access_token\":\"t\",\"expires_on\":\"99\",\"expires_in\":\"100\"}", 1000100 }, { "{\"access_token\":\"t\"}", 0 },
	};
	static const char *const bad[] = { "{}", "{\"access_token\":\"\"}", "{\"access_token\":\"a b\"}", "{\"access_token\":\"a\\nb\"}",
		"{\"access_token\":\"t\",\"expires_in\":-1}", "{\"access_token\":\"t\",\"expires_in\":\"soon\"}", "{\"access_token\":1}",
		"{\"access_token\":\"t\",\"expires_on\":\"31/12/2026 10:00:00\"}", "{\"access_token\":\"t\",\"expires_on\":\"tomorrow\"}",
		"{\"access_token\":\"t\",\"expires_on\":\"1/2/3 4\"}", "<html>", "" };
	struct bearer b = { 0 };
	struct berth_err err = { 0 };

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		tap_code(take(&b, good[i].body, 1000000, &err), BERTH_OK, &err);
		tap_is_long(b.ends, good[i].ends, "%s", good[i].body);
	}
	tap_ok(!bearer_need(&b, 1000000), "a token without an end serves once");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		tap_ok(take(&b, bad[i], 1000000, &err) != BERTH_OK, "refused: %s (%s)", bad[i], err.msg);
	bearer_drop(&b);
	tap_ok(bearer_need(&b, 0), "none is none");
}

/* The collected case: six answers, one clock. */
static void
test_case(void)
{
	static const char *const want[] = { "2026-11-05T21:59:59Z", "2026-11-05T14:59:59Z", "2026-11-05T15:00:00Z",
		"2026-11-05T15:18:31Z", "2026-11-05T16:00:00Z", NULL };
	const char *dir = getenv("BERTH_SHARED"), *top = getenv("TOP_SRCDIR");
	const int64_t now = 1793887200;		/* 2026-11-05T14:00:00Z */
	struct bearer b = { 0 };
	struct berth_err err = { 0 };
	json_t *v = NULL, *one;
	char *text = NULL;
	size_t i, n;

	dir = dir != NULL ? dir : arena_printf(a, "%s/../shared", top != NULL ? top : ".");
	if (fileio_slurp(a, arena_printf(a, "%s/cases/inputs/case-067-tokens.json", dir), 65536, &text, &n, NULL) != BERTH_OK ||
	    jsonr_parse(text, n, "case", &v, &err) != BERTH_OK) {
		tap_skip("tokens of the collected case", "no shared data");
		return;
	}
	json_array_foreach(json_object_get(v, "tokens"), i, one) {
		char *body = json_dumps(one, JSON_COMPACT), at[TIME_FMT_SIZE];
		struct http_req req = { .arena = a };

		tap_code(take(&b, body, now, &err), BERTH_OK, &err);
		if (want[i] != NULL) {
			tap_is_str(time_fmt(at, b.ends), want[i], "%s", body);
			tap_ok(!bearer_need(&b, now) && bearer_need(&b, b.ends - 1), "renewed before it ends");
		} else {
			tap_ok(b.ends == 0 && !bearer_need(&b, now) && bearer_sign(&b, &req, &err) == BERTH_OK && bearer_need(&b, now),
			    "used once, then asked for anew");
		}
		free(body);
	}
	tap_is_long((long long)json_array_size(json_object_get(v, "tokens")), 6, "all of them");
	json_decref(v);
	bearer_drop(&b);
}

static void
test_hosts(void)
{
	static const struct { const char *a, *b; bool same; } pairs[] = {
		{ "https://prices.azure.com/x", "https://prices.azure.com:443/api?y", true }, { "https://h", "HTTPS://H/", true },
		{ "https://h", "http://h", false }, { "https://h", "https://h:8443", false }, { "https://h", "https://h.evil", false },
		{ "https://h", "https://h@evil/", false }, { "https://h", "https://evil/h", false }, { "http://h:80/", "http://h", true },
		{ "https://h", "ftp://h", false }, { "https://h", "", false }, { "https://h", "https:///x", false },
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		tap_ok(endpoint_same(pairs[i].a, pairs[i].b) == pairs[i].same, "%s and %s", pairs[i].a, pairs[i].b);
}

int
main(void)
{
	a = arena_new();
	test_forms();
	test_case();
	test_hosts();
	arena_free(a);
	return tap_done();
}
