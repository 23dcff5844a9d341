#include <locale.h>
#include <math.h>
#include <string.h>

#include "tests/tap.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/opt.h"
#include "util/table.h"
#include "util/term.h"

static const struct table_col cols[] = {
	{ .name = "name", .type = TABLE_TEXT, .flags = TABLE_CUT },
	{ .name = "gpus", .type = TABLE_INT },
	{ .name = "price_per_hour", .head = "$/H", .type = TABLE_MONEY, .decimals = 2 },
	{ .name = "share", .type = TABLE_SHARE, .decimals = 1 },
	{ .name = "as_of", .type = TABLE_TIME, .flags = TABLE_WIDE },
	{ .name = "age", .type = TABLE_AGE, .flags = TABLE_WIDE },
	{ .name = "term", .type = TABLE_DURATION, .flags = TABLE_WIDE },
	{ .name = "speed", .type = TABLE_DOUBLE, .decimals = 2, .flags = TABLE_WIDE },
	{ .name = "ok", .type = TABLE_BOOL, .flags = TABLE_WIDE },
};

static struct table *
make(struct arena *a)
{
	struct table *t = table_new(a, cols, sizeof(cols) / sizeof(cols[0]));

	table_row(t);
	table_text(t, "p5.48xlarge");
	table_int(t, 8);
	table_money(t, (struct usd_micro){ 98320000 });
	table_double(t, 0.125);
	table_time(t, 1764547200);	/* 2025-12-01T00:00:00Z: date -u -d @1764547200 */
	table_time(t, 3 * 86400);
	table_time(t, 5400);
	table_double(t, 0.1);
	table_bool(t, true);
	table_row(t);
	table_text(t, "odd, \"type\"\n");
	table_unknown(t);
	table_money(t, USD_UNKNOWN);
	table_double(t, NAN);
	table_row(t);
	table_text(t, "\xe4\xb8\xad\xe6\x96\x87");	/* two characters, four columns */
	table_int(t, -1);
	table_money(t, (struct usd_micro){ 5000 });	/* half a cent rounds away from zero */
	return t;
}

static void
render(const struct table *t, struct table_style style, const char *want, const char *name)
{
	struct berth_err err = { 0 };
	struct buf b;

	buf_init(&b, 65536);
	tap_code(table_render(t, &style, &b, &err), BERTH_OK, &err);
	tap_is_str(b.p, want, "%s", name);
	buf_free(&b);
}

/* A row may show more places than its column; csv shows all in any case. */
static void
test_decimals(struct arena *a)
{
	static const struct table_col one[] = { { "x", NULL, TABLE_DOUBLE, 1, 0 } };
	struct table *t = table_new(a, one, 1);

	table_row(t);
	table_double(t, 0.125);
	table_row(t);
	table_double_to(t, 0.125, 4);
	render(t, (struct table_style){ .form = TABLE_FORM_TABLE, .headers = true }, "     X\n   0.1\n0.1250\n", "decimals of a row");
	render(t, (struct table_style){ .form = TABLE_FORM_CSV, .headers = true }, "x\n0.125\n0.125\n", "csv has all of them");
}

static void
test_forms(const struct table *t)
{
	static const char *const pick[] = { "price_per_hour", "NAME" };
	struct opt_list list = { pick, 2 };

	render(t, (struct table_style){ .form = TABLE_FORM_TABLE, .headers = true },
	    "NAME          GPUS    $/H  SHARE\n"
	    "p5.48xlarge      8  98.32  12.5%\n"
	    "odd, \"type\"?     -      -      -\n"
	    "\xe4\xb8\xad\xe6\x96\x87            -1   0.01      -\n", "table: numbers right, wide columns left out");
	render(t, (struct table_style){ .form = TABLE_FORM_CSV, .headers = true },
	    "name,gpus,price_per_hour,share,as_of,age,term,speed,ok\n"
	    "p5.48xlarge,8,98.320000,0.125,2025-12-01T00:00:00Z,259200,5400,0.1,yes\n"
	    "\"odd, \"\"type\"\"\n\",,,,,,,,\n"
	    "\xe4\xb8\xad\xe6\x96\x87,-1,0.005000,,,,,,\n", "csv: all columns, exact numbers, quotes");
	render(t, (struct table_style){ .form = TABLE_FORM_TABLE, .select = &list },
	    "98.32  p5.48xlarge\n    -  odd, \"type\"?\n 0.01  \xe4\xb8\xad\xe6\x96\x87\n",
	    "--columns by key or heading, without headings");
	render(t, (struct table_style){ .form = TABLE_FORM_TABLE, .headers = true, .columns = 30 },
	    "NAME         GPUS   $/H SHARE\n"
	    "p5.48xlarge     8 98.32 12.5%\n"
	    "odd, \"type\"?    -     -     -\n"
	    "\xe4\xb8\xad\xe6\x96\x87           -1  0.01     -\n", "columns set closer in 30");
	render(t, (struct table_style){ .form = TABLE_FORM_TABLE, .headers = true, .columns = 27 },
	    "NAME       GPUS   $/H SHARE\n"
	    "p5.48xlar~    8 98.32 12.5%\n"
	    "odd, \"typ~    -     -     -\n"
	    "\xe4\xb8\xad\xe6\x96\x87         -1  0.01     -\n", "and cut to 27");
}

static void
test_wide(const struct table *t)
{
	struct table_style style = { .form = TABLE_FORM_WIDE, .headers = false, .columns = 40 };	/* whole all the same */
	struct berth_err err = { 0 };
	struct buf b;

	buf_init(&b, 65536);
	tap_code(table_render(t, &style, &b, &err), BERTH_OK, &err);
	b.p[strcspn(b.p, "\n")] = '\0';
	tap_is_str(b.p, "p5.48xlarge    8  98.32  12.5%  2025-12-01 00:00  3d  1h30m  0.10  yes", "wide");
	buf_free(&b);
}

static void
test_unknown_column(const struct table *t)
{
	static const char *const pick[] = { "shar" };
	struct opt_list list = { pick, 1 };
	struct table_style style = { .select = &list };
	struct berth_err err = { 0 };
	struct buf b;

	buf_init(&b, 65536);
	tap_code(table_render(t, &style, &b, &err), BERTH_EUSAGE, &err);
	tap_ok(strstr(err.msg, "did you mean 'share'") != NULL, "%s", err.msg);
	tap_is_str(err.where, "--columns", "where");
	buf_free(&b);
}

static void
test_term(void)
{
	tap_is_long(term_width("abc"), 3, "ASCII");
	tap_is_long(term_width("\xe4\xb8\xad"), 2, "a wide character");
	tap_is_long(term_width("e\xcc\x81"), 1, "a combining accent");
	tap_is_long(term_width("\xff\xfe"), 2, "bytes that are no UTF-8");
	tap_is_long((long long)term_fit("a\xe4\xb8\xad" "b", 2), 1, "a wide character is not halved");
	tap_is_long((long long)term_fit("a\xe4\xb8\xad" "b", 3), 4, "and fits into two columns");
}

/* Spare columns go, the last first, before a name has less than 20 columns; then gaps; a name is cut from its middle. */
static void
test_fit(struct arena *a)
{
	static const struct table_col fit[] = {
		{ .name = "series", .type = TABLE_TEXT, .flags = TABLE_NAME }, { .name = "last", .type = TABLE_INT, .flags = TABLE_SPARE },
		{ .name = "peak", .type = TABLE_INT }, { .name = "nodes", .type = TABLE_INT, .flags = TABLE_SPARE },
	};
	static const struct { int columns; const char *want; } cases[] = {
		{ 46, "SERIES                      LAST  PEAK  NODES\naccelerator=A100,team=nlp\xc3\xa4     1    20      3\n" },
		{ 36, "SERIES                    LAST  PEAK\naccelera~=A100,team=nlp\xc3\xa4     1    20\n" },
		{ 20, "SERIES          PEAK\naccel~team=nlp\xc3\xa4   20\n" },
	};
	struct table *t = table_new(a, fit, sizeof(fit) / sizeof(fit[0]));

	table_row(t);
	table_text(t, "accelerator=A100,team=nlp\xc3\xa4");
	table_int(t, 1);
	table_int(t, 20);
	table_int(t, 3);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct table_style style = { .form = TABLE_FORM_TABLE, .columns = cases[i].columns, .headers = true };
		struct berth_err err;
		struct buf b;

		buf_init(&b, 10000);
		tap_code(table_render(t, &style, &b, &err), BERTH_OK, &err);
		tap_is_str(b.p, cases[i].want, "in %d columns", cases[i].columns);
		buf_free(&b);
	}
}

static void
test_wrap(void)
{
	static const char text[] = "The peak is at most accelerator=H100,team=nlp b.";
	struct buf b;

	buf_init(&b, 1000);
	term_wrap(text, strlen(text), 4, 4, 20, &b);
	tap_is_str(b.p, "The peak is at\n    most\n    accelerator=H100,team=nlp\n    b.", "lines as long as fit, a longer word alone");
	buf_clear(&b);
	term_wrap("store   /var  (made here)", 25, 0, 8, 20, &b);
	tap_is_str(b.p, "store   /var  (made\n        here)", "spaces inside a line stay");
	buf_free(&b);
}

int
main(void)
{
	struct arena *a = arena_new();
	const struct table *t = make(a);

	setlocale(LC_ALL, "C");
	test_decimals(a);
	test_forms(t);
	test_wide(t);
	test_unknown_column(t);
	test_fit(a);
	test_wrap();
	test_term();
	tap_is_long((long long)table_rows(t), 3, "rows");
	arena_free(a);
	return tap_done();
}
