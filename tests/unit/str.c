#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"
#include "util/glob.h"
#include "util/hash.h"
#include "util/str.h"

static void
test_i64(void)
{
	static const struct { const char *s; int ok; long long v; } t[] = {
		{ "0", 1, 0 }, { "-0", 1, 0 }, { "+7", 1, 7 }, { "007", 1, 7 },
		{ "9223372036854775807", 1, INT64_MAX }, { "-9223372036854775808", 1, INT64_MIN },
		{ "9223372036854775808", 0, 0 }, { "-9223372036854775809", 0, 0 },
		{ "99999999999999999999999", 0, 0 }, { "", 0, 0 }, { "-", 0, 0 }, { " 1", 0, 0 },
		{ "1 ", 0, 0 }, { "0x10", 0, 0 }, { "1e3", 0, 0 }, { "1,000", 0, 0 }, { "1.0", 0, 0 },
	};
	struct berth_err err = { 0 };
	int64_t v;

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		v = 4711;
		tap_ok((str_to_i64(t[i].s, INT64_MIN, INT64_MAX, &v, &err) == BERTH_OK) == t[i].ok,
		    "i64 '%s' is %s", t[i].s, t[i].ok ? "read" : "refused");
		tap_is_long(v, t[i].ok ? t[i].v : 4711, "i64 '%s' has its value", t[i].s);
	}
	tap_code(str_to_i64("8", 1, 7, &v, &err), BERTH_EINVAL, &err);
	tap_is_str(err.msg, "8 is not in 1..7", "the message gives the range");
}

/* The C library is the oracle for values; the grammar is checked by the list of what must be refused. */
static void
test_double(void)
{
	static const char *const good[] = { "0", "-0", "1", "0.1", ".5", "5.", "1e3", "1E-3", "+2.5e+2",
		"3.14159265358979323846264338327950288", "1e22", "1e23", "9007199254740993", "1e-400",
		"123456789012345678901234567890", "2.2250738585072011e-308", "4.9406564584124654e-324",
		"1.7976931348623157e308", "0.000000000000000000000000000000000001", "100000000000000000000" };
	static const char *const bad[] = { "", "-", "+", ".", "-.", "e5", "1e", "1e+", "nan", "inf", "-inf",
		"infinity", "0x1p3", "1,5", "1 ", " 1", "1_000", "1.2.3", "1e5.0", "1e999", "--1", "1d5" };
	struct berth_err err = { 0 };
	double v;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		double want = strtod(good[i], NULL);

		v = 4711;
		tap_code(str_to_double(good[i], -DBL_MAX, DBL_MAX, &v, &err), BERTH_OK, &err);
		tap_ok(memcmp(&v, &want, sizeof(v)) == 0, "double %s is the nearest one", good[i]);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		tap_ok(str_to_double(bad[i], -DBL_MAX, DBL_MAX, &v, &err) == BERTH_EINVAL, "double '%s' is refused",
		    bad[i]);
	tap_ok(str_to_double("1.5", 0, 1, &v, &err) == BERTH_EINVAL, "out of range is refused");
}

/* Random decimals against strtod(), and random bit patterns through text and back. */
static void
test_double_random(void)
{
	uint64_t x = 1;
	int nearest = 1, same = 1, shortest = 1;

	for (int i = 0; i < 20000; i++) {
		char text[64], back[STR_DOUBLE_SIZE], less[64];
		double want, got = 0, d;

		x = hash_u64(x);
		snprintf(text, sizeof(text), "%s%llu.%03lluE%d", x & 1 ? "-" : "",
		    (unsigned long long)(x >> (x % 60)), (unsigned long long)(hash_u64(x) % 1000),
		    (int)(x % 61) - 30);
		want = strtod(text, NULL);
		nearest = nearest && str_to_double(text, -DBL_MAX, DBL_MAX, &got, NULL) == BERTH_OK && got == want;
		memcpy(&d, &x, sizeof(d));
		if (!isfinite(d))
			continue;
		str_from_double(back, d);
		got = strtod(back, NULL);
		same = same && memcmp(&got, &d, sizeof(d)) == 0;
		for (int digits = 1; digits < 17; digits++) {	/* no shorter text reads back */
			snprintf(less, sizeof(less), "%.*g", digits, d);
			if (strtod(less, NULL) == d) {
				shortest = shortest && strlen(back) <= strlen(less);
				break;
			}
		}
	}
	tap_ok(nearest, "20000 random decimals are read as the nearest double");
	tap_ok(same, "20000 random doubles survive text");
	tap_ok(shortest, "and no shorter text would do");
}

static void
test_units(void)
{
	static const struct { const char *s; long long want; } t[] = {
		{ "4096", 4096 }, { "64k", 65536 }, { "64KiB", 65536 }, { "2MB", 2000000 }, { "1.5GiB", 1610612736 },
		{ "1T", 1099511627776 }, { "10b", 10 }, { "0", 0 }, { "", -1 }, { "k", -1 }, { "-1k", -1 },
		{ "1x", -1 }, { "1kk", -1 }, { "1e3", -1 }, { "99999999999P", -1 }, { "1.2.3k", -1 },
	};
	int64_t v;
	bool b;

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		v = -1;
		if (str_to_size(t[i].s, &v, NULL) != BERTH_OK)
			v = -1;
		tap_is_long(v, t[i].want, "size '%s'", t[i].s);
	}
	tap_ok(str_to_bool("Yes", &b, NULL) == BERTH_OK && b, "Yes is true");
	tap_ok(str_to_bool("off", &b, NULL) == BERTH_OK && !b, "off is false");
	tap_ok(str_to_bool("", &b, NULL) == BERTH_EINVAL && str_to_bool("y", &b, NULL) == BERTH_EINVAL,
	    "'' and y are neither");
}

static void
test_lists(struct arena *a)
{
	static const char *const words[] = { "one", "", "three", NULL };
	char small[4];
	char **v;
	size_t n;

	tap_is_str(str_join(a, words, 3, ", "), "one, , three", "join");
	tap_is_str(str_join(a, words, 0, ","), "", "join of none");
	v = str_split(a, " a , b,,c d ", ',', &n);
	tap_ok(n == 4 && strcmp(v[0], "a") == 0 && strcmp(v[1], "b") == 0 && v[2][0] == '\0' &&
	    strcmp(v[3], "c d") == 0 && v[4] == NULL, "split");
	str_split(a, "", ',', &n);
	tap_is_long((long long)n, 0, "split of nothing");
	str_split(a, ",", ',', &n);
	tap_is_long((long long)n, 2, "one separator, two pieces");
	tap_is_str(str_trim(a, "\t x y \n"), "x y", "trim");
	tap_is_str(str_lower(a, "NVIDIA H100-\xc3\x84"), "nvidia h100-\xc3\x84", "lower touches ASCII only");
	tap_ok(!str_copy(small, sizeof(small), "ab\xe2\x82\xac"), "cut");
	tap_is_str(small, "ab", "never inside a character");
	tap_ok(str_copy(small, sizeof(small), "abc"), "fits");
	tap_is_long(str_index("three", words), 2, "index");
	tap_is_long(str_index("four", words), -1, "no index");
	tap_ok(str_ieq("H100", "h100") && !str_ieq("H100", "h10") && str_ends("a.csv", ".csv") &&
	    !str_ends("csv", ".csv") && str_istarts("NVIDIA", "nv") && !str_starts("NVIDIA", "nv"), "compares");
}

/* The definition, by plain recursion, for words of a few letters. */
static int
slow_distance(const char *a, size_t n, const char *b, size_t m)
{
	int best, d;

	if (n == 0 || m == 0)
		return (int)(n + m);
	best = slow_distance(a, n - 1, b, m - 1) + (a[n - 1] != b[m - 1]);
	d = slow_distance(a, n - 1, b, m) + 1;
	best = d < best ? d : best;
	d = slow_distance(a, n, b, m - 1) + 1;
	best = d < best ? d : best;
	if (n > 1 && m > 1 && a[n - 1] == b[m - 2] && a[n - 2] == b[m - 1]) {
		d = slow_distance(a, n - 2, b, m - 2) + 1;
		best = d < best ? d : best;
	}
	return best;
}

static void
test_suggest(void)
{
	static const char *const verbs[] = { "forecast", "place", "plan", "prices", "probe", "record", "report",
		"series", NULL };
	int same = 1;

	for (uint64_t i = 0; i < 2000; i++) {
		char a[7] = "", b[7] = "";
		uint64_t x = hash_u64(i);
		size_t n = x % 7, m = (x >> 8) % 7;

		for (size_t j = 0; j < n; j++)
			a[j] = (char)('a' + (hash_join(x, j) % 3));
		for (size_t j = 0; j < m; j++)
			b[j] = (char)('a' + (hash_join(x, j + 100) % 3));
		same = same && str_distance(a, b) == slow_distance(a, n, b, m);
	}
	tap_ok(same, "2000 distances are those of the definition");
	tap_is_str(str_suggest("forcast", verbs), "forecast", "a letter left out");
	tap_is_str(str_suggest("palce", verbs), "place", "letters swapped");
	tap_is_str(str_suggest("PLAN", verbs), "plan", "case");
	tap_is_str(str_suggest("fore", verbs), "forecast", "a beginning");
	tap_ok(str_suggest("xyzzy", verbs) == NULL, "nothing like it");
	tap_ok(str_suggest("x", verbs) == NULL, "one letter says nothing");
	tap_ok(str_suggest("", verbs) == NULL, "no letter says nothing");
}

static bool
slow_glob(const char *p, const char *s)
{
	if (*p == '\0')
		return *s == '\0';
	if (*p == '*')
		return slow_glob(p + 1, s) || (*s != '\0' && slow_glob(p, s + 1));
	return *s != '\0' && (*p == '?' || *p == *s) && slow_glob(p + 1, s + 1);
}

static void
test_glob(void)
{
	static const char *const list[] = { "us-*", "eu-?est-1" };
	char many[4001];
	int same = 1;

	for (uint64_t i = 0; i < 20000; i++) {
		char p[8] = "", s[10] = "";
		uint64_t x = hash_u64(i);

		for (size_t j = 0; j < x % 8 && j < 7; j++)
			p[j] = "ab*?*"[hash_join(x, j) % 5];
		for (size_t j = 0; j < (x >> 8) % 10 && j < 9; j++)
			s[j] = "ab"[hash_join(x, j + 50) % 2];
		same = same && glob_match(p, s) == slow_glob(p, s);
	}
	tap_ok(same, "20000 matches are those of the definition");
	tap_ok(glob_match("[a-c]x[!0-9]", "Bxy") && !glob_match("[a-c]x[!0-9]", "bx5"), "sets");
	tap_ok(glob_match("[]x]", "]") && glob_match("[x", "[x") && glob_match("\\*", "*") && !glob_match("\\*", "a"),
	    "a bracket in a set, a bracket alone, an escape");
	tap_ok(glob_match_any(list, 2, "EU-west-1") && !glob_match_any(list, 2, "ap-east-1"), "any of");
	tap_ok(glob_match_any(list, 0, "anything"), "no pattern is no limit");
	memset(many, 'a', 4000);
	many[4000] = '\0';
	tap_ok(!glob_match("*a*a*a*a*a*a*a*a*a*a*b", many), "many stars end soon");
}

static void
test_utf8(void)
{
	static const struct { const char *s; int valid; } t[] = {
		{ "", 1 }, { "abc", 1 }, { "\xc3\xa4", 1 }, { "\xe2\x82\xac", 1 }, { "\xf0\x9f\x9a\xa2", 1 },
		{ "\xf4\x8f\xbf\xbf", 1 }, { "\x80", 0 }, { "\xc0\xaf", 0 }, { "\xc1\xbf", 0 }, { "\xe0\x80\xaf", 0 },
		{ "\xed\xa0\x80", 0 }, { "\xf4\x90\x80\x80", 0 }, { "\xf5\x80\x80\x80", 0 }, { "\xe2\x82", 0 },
		{ "\xc3", 0 }, { "\xff", 0 }, { "a\xfe", 0 },
	};
	size_t len;

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		tap_ok(str_utf8_valid(t[i].s, strlen(t[i].s)) == t[i].valid, "utf-8 case %zu", i);
	tap_is_long(str_utf8_next("\xf0\x9f\x9a\xa2", 4, &len), 0x1f6a2, "a ship");
	tap_is_long((long long)len, 4, "has four bytes");
}

static void
test_outside_text(void)
{
	static const struct { const char *s, *shown; } t[] = {
		{ "postgresql://u:pw@h:5432/db", "postgresql://u:**@h:5432/db" },
		{ "--store=postgres://u:p@ss@h", "--store=postgres://u:****@h" },
		{ "postgresql://u@h:5432/db", "postgresql://u@h:5432/db" }, { "a.csv", "a.csv" },
		{ "https://h/x:y@z", "https://h/x:y@z" }, { "https://u:@h", "https://u:@h" }, { "://", "://" },
		{ "a://b:c@d e://f:gh@i", "a://b:*@d e://f:**@i" },
	};
	char text[64];

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		snprintf(text, sizeof(text), "%s", t[i].s);
		tap_ok(str_hide_password(text) == (strcmp(t[i].s, t[i].shown) != 0), "%s: has it a password?", t[i].s);
		tap_is_str(text, t[i].shown, "%s without its password", t[i].shown);
	}
	tap_is_long(str_control("Z\xc3\xbcrich 4"), -1, "no control character");
	tap_is_long(str_control("ab\x1b[31m"), 2, "an escape");
	tap_is_long(str_control("\x7f"), 0, "DEL");
}

int
main(void)
{
	struct arena *a = arena_new();

	test_i64();
	test_double();
	test_double_random();
	test_units();
	test_lists(a);
	test_suggest();
	test_glob();
	test_utf8();
	test_outside_text();
	arena_free(a);
	return tap_done();
}
