#include <stddef.h>
#include <string.h>

#include "tests/tap.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/opt.h"

struct opts {
	bool flag, other;
	const char *text, *path, *choice;
	int64_t count, period, at, bytes, now;
	double level;
	struct usd_micro price;
	struct opt_list list;
};

#define FIELD(f) offsetof(struct opts, f)

static const struct opt_row global_rows[] = {
	{ .name = "now", .type = OPT_TIME, .arg = "TIME", .help = "clock", .offset = FIELD(now) },
	{ .name = "dry-run", .short_name = 'n', .type = OPT_FLAG, .help = "change nothing", .offset = FIELD(other),
	    .alias = "dryrun" },
	{ .name = NULL },
};

static const struct opt_row rows[] = {
	{ .name = "flag", .short_name = 'f', .type = OPT_FLAG, .help = "a flag", .offset = FIELD(flag) },
	{ .name = "text", .short_name = 't', .type = OPT_STRING, .arg = "TEXT", .help = "a text", .offset = FIELD(text) },
	{ .name = "file", .type = OPT_PATH, .arg = "FILE", .help = "a path", .offset = FIELD(path) },
	{ .name = "output", .short_name = 'o', .type = OPT_CHOICE, .arg = "table|json", .help = "form",
	    .offset = FIELD(choice) },
	{ .name = "origins", .type = OPT_INT, .arg = "N", .help = "how many", .offset = FIELD(count), .min = 1, .max = 100 },
	{ .name = "horizon", .type = OPT_DURATION, .arg = "DUR", .help = "how far", .offset = FIELD(period), .min = 3600,
	    .max = 31536000 },
	{ .name = "at", .type = OPT_TIME, .arg = "TIME", .help = "when", .offset = FIELD(at) },
	{ .name = "memory", .type = OPT_SIZE, .arg = "SIZE", .help = "how much", .offset = FIELD(bytes) },
	{ .name = "service-level", .type = OPT_DOUBLE, .arg = "SHARE", .help = "how sure", .offset = FIELD(level),
	    .min = 0.01, .max = 0.99 },
	{ .name = "max-price", .type = OPT_MONEY, .arg = "USD", .help = "limit", .offset = FIELD(price) },
	{ .name = "by", .type = OPT_LIST, .arg = "LABEL,...", .help = "labels", .offset = FIELD(list) },
	{ .name = "secret-row", .type = OPT_FLAG, .offset = FIELD(other) },
	{ .name = NULL },
};

static struct arena *arena;
static struct opts got, got_global;
static const char *const *words;
static size_t n_words;
static struct berth_err err;

/* Parses a line of blank-separated arguments. */
static enum berth_code
parse(const char *line, bool stop)
{
	struct opt_set sets[] = { { global_rows, &got_global }, { rows, &got } };
	struct opt_env env = { .arena = arena, .now = &got_global.now, .stop_at_word = stop };
	char *copy = arena_strdup(arena, line), *save = NULL, *argv[32];
	int argc = 0;

	got = (struct opts){ .choice = "table", .price = USD_UNKNOWN, .list = { (const char *const[]){ "x" }, 1 } };
	got_global = (struct opts){ .now = 1000000 };
	memset(&err, 0, sizeof(err));
	for (char *w = strtok_r(copy, " ", &save); w != NULL; w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	return opt_parse(sets, 2, &env, argc, argv, &words, &n_words, &err);
}

static void
test_values(void)
{
	tap_code(parse("a --flag -t hello --file=x.csv -ojson b --origins 7 --horizon 36h --memory 2k "
	    "--service-level 0.95 --max-price 12.5 --by team,cluster --by gpu c", false), BERTH_OK, &err);
	tap_ok(got.flag && !got.other, "a flag");
	tap_is_str(got.text, "hello", "short option with a value behind a blank");
	tap_is_str(got.path, "x.csv", "long option with =");
	tap_is_str(got.choice, "json", "short option with its value attached");
	tap_is_long(got.count, 7, "int");
	tap_is_long(got.period, 36 * 3600, "duration in seconds");
	tap_is_long(got.bytes, 2048, "size in bytes");
	tap_near(got.level, 0.95, 0, "double");
	tap_is_long(got.price.v, 12500000, "money in micro-USD");
	tap_is_long((long long)got.list.n, 3, "a list replaces its default and grows with each use");
	tap_is_str(got.list.v[2], "gpu", "third item");
	tap_is_long((long long)n_words, 3, "words between options");
	tap_is_str(words[2], "c", "last word");
	tap_is_long(parse("--by ,", false), BERTH_EUSAGE, "a list of nothing");
	tap_is_str(err.msg, "--by ',': names nothing", "and why");
	tap_is_long(parse("--by a --by=", false), BERTH_EUSAGE, "nor when it grows by nothing");
	tap_is_long(parse("--file=", false), BERTH_EUSAGE, "a file without a name");
	tap_is_str(err.msg, "the name of the file is empty: give --file FILE", "and why");
}

static void
test_forms(void)
{
	tap_code(parse("-fn", false), BERTH_OK, &err);
	tap_ok(got.flag && got_global.other, "grouped flags of two sets");
	tap_code(parse("--dryrun", false), BERTH_OK, &err);
	tap_ok(got_global.other, "an alias");
	tap_code(parse("--flag --no-flag", false), BERTH_OK, &err);
	tap_ok(!got.flag, "--no- undoes a flag");
	tap_code(parse("-- --flag -", false), BERTH_OK, &err);
	tap_ok(!got.flag && n_words == 2, "behind -- all are words");
	tap_code(parse("-f verb --flag -x", true), BERTH_OK, &err);
	tap_ok(n_words == 3 && strcmp(words[1], "--flag") == 0, "stops at the first word");
	tap_code(parse("verb -- -x", true), BERTH_OK, &err);
	tap_ok(n_words == 3 && strcmp(words[1], "--") == 0, "and keeps the -- behind it");
}

static void
test_times(void)
{
	tap_code(parse("--at +1h", false), BERTH_OK, &err);
	tap_is_long(got.at, 1000000 + 3600, "relative to the clock");
	tap_code(parse("--at +1h --now 1970-01-02T00:00:00Z", false), BERTH_OK, &err);
	tap_is_long(got.at, 86400 + 3600, "relative to --now although that stands behind it");
	tap_code(parse("--at 1970-01-02T00:00:00", false), BERTH_EUSAGE, &err);
	tap_ok(strstr(err.msg, "zone") != NULL, "a time without zone is refused: %s", err.msg);
}

static void
refuse(const char *line, const char *part)
{
	tap_code(parse(line, false), BERTH_EUSAGE, &err);
	tap_ok(strstr(err.msg, part) != NULL, "%s: %s", line, err.msg);
}

static void
test_refusals(void)
{
	refuse("--orgins 3", "did you mean '--origins'");
	refuse("--zzz", "unknown option '--zzz'");
	refuse("-z", "unknown option '-z'");
	refuse("--origins", "needs a value");
	refuse("--text --flag", "needs a value");
	refuse("--flag=yes", "takes no value");
	refuse("--origins 0", "between 1 and 100");
	refuse("--origins 7x", "7x");
	refuse("--horizon 30m", "between 1h and");
	refuse("--horizon 5", "unit");
	refuse("--output yaml", "table|json");
	refuse("--output tabel", "did you mean 'table'");
	refuse("--service-level 1.5", "0.99");
	refuse("--service-level nan", "nan");
	refuse("--max-price $3", "$3");
	refuse("--no-text", "unknown option");
	refuse("--secret-ro", "unknown option '--secret-ro'");
	tap_ok(strstr(err.msg, "did you mean") == NULL, "a hidden option is not suggested");
	refuse("--fla", "did you mean '--flag'");	/* and not taken for it */
}

static void
test_help(void)
{
	struct buf b;
	size_t longest = 0;

	buf_init(&b, 65536);
	opt_help(rows, 60, &b);
	for (char *line = b.p, *end; (end = strchr(line, '\n')) != NULL; line = end + 1)
		longest = (size_t)(end - line) > longest ? (size_t)(end - line) : longest;
	tap_ok(longest <= 60, "help fits: %zu columns", longest);
	tap_ok(strstr(b.p, "-o, --output table|json") != NULL, "names and placeholder");
	tap_ok(strstr(b.p, "secret-row") == NULL, "a hidden row is not shown");
	buf_free(&b);
}

int
main(void)
{
	arena = arena_new();
	test_values();
	test_forms();
	test_times();
	test_refusals();
	test_help();
	arena_free(arena);
	return tap_done();
}
