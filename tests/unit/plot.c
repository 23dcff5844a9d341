#include <math.h>
#include <string.h>

#include "tests/tap.h"
#include "util/buf.h"
#include "util/plot.h"
#include "util/term.h"

enum { LABEL = 8 };	/* columns left of the canvas: six of label, a blank, the axis */

static struct buf out;
static char *line[64];
static int n_lines;

static void
draw(const struct plot_forecast *p, int columns, int rows, bool unicode)
{
	struct plot_style style = { columns, rows, unicode, false };
	char *save = NULL;

	buf_clear(&out);
	plot_forecast(p, &style, &out);
	n_lines = 0;
	for (char *s = strtok_r(out.p, "\n", &save); s != NULL && n_lines < 64; s = strtok_r(NULL, "\n", &save))
		line[n_lines++] = s;
}

/* A staircase of 72 steps on 72 columns and 10 rows: the mark of column x has to stand in row floor(v / top * 10). */
static void
test_steps(void)
{
	double v[72];
	struct plot_forecast p = { .title = "", .unit = "GPUs", .step_s = 3600, .history = v, .n_history = 72 };
	int wrong = 0;

	for (int i = 0; i < 72; i++)
		v[i] = i % 10 + 0.5;
	draw(&p, 80, 10, false);
	for (int x = 0; x < 72; x++) {
		int row = x % 10, at = 9 - row;

		if ((int)strlen(line[at]) <= LABEL + x || line[at][LABEL + x] != '#')
			wrong++;
	}
	tap_is_long(wrong, 0, "each value stands at its height");
	tap_ok(strncmp(line[0], "    10 +", 8) == 0, "the axis ends at the next round number: '%.8s'", line[0]);
	tap_ok(strncmp(line[4], "     6 +", 8) == 0, "and is labelled at its height: '%.8s'", line[4]);
}

/* A single spike among 7,000 steps must not be averaged away. */
static void
test_peak(void)
{
	static double v[7000];
	struct plot_forecast p = { .title = "peak", .unit = "GPUs", .step_s = 3600, .history = v, .n_history = 7000 };

	for (int i = 0; i < 7000; i++)
		v[i] = i == 3333 ? 100 : 10;
	draw(&p, 60, 8, false);
	tap_ok(strchr(line[1] + LABEL, '#') == line[1] + LABEL + 3333 * 52 / 7000, "the spike stands in its column");
	tap_ok(strchr(strchr(line[1] + LABEL, '#') + 1, '#') == NULL, "alone");
	tap_ok(strstr(line[0], "peak") != NULL, "under the title");
}

static void
test_band(void)
{
	double history[36], mid[36], hi[36];
	struct plot_forecast p = { .title = "", .unit = "GPUs", .step_s = 3600, .history = history, .n_history = 36,
		.mid = mid, .hi = hi, .n_ahead = 36 };

	for (int i = 0; i < 36; i++) {
		history[i] = i >= 10 && i < 20 ? NAN : 2.5;
		mid[i] = 4.5;
		hi[i] = 9.5;
	}
	draw(&p, 80, 10, false);
	tap_is_str(line[7] + LABEL, "##########          ################:", "history with its gap, then the line of now");
	tap_ok(strspn(line[5] + LABEL + 36, "o") == 36, "the median to the right");
	tap_ok(strspn(line[0] + LABEL + 36, "+") == 36, "P95 on top");
	tap_ok(strspn(line[2] + LABEL + 36, ".") == 36, "the band between");
}

/* Capacities: a line at the height of what is near, the number in the key of all. */
static void
test_rules(void)
{
	static const struct plot_rule rules[] = { { "quota", 8 }, { "fleet", 512 } };
	double v[72];
	struct plot_forecast p = { .title = "", .unit = "GPUs", .step_s = 3600, .history = v, .n_history = 72, .rules = rules,
		.n_rules = 2 };

	for (int i = 0; i < 72; i++)
		v[i] = 5;
	draw(&p, 80, 10, false);
	tap_ok(strncmp(line[0], "     8 +", 8) == 0, "the picture reaches to a capacity within twice the demand: '%.8s'", line[0]);
	tap_ok(strspn(line[0] + LABEL, "=") == 72, "which is drawn in its row");
	tap_ok(strspn(line[3] + LABEL, "#") == 72, "and hides no demand");
	tap_is_str(line[n_lines - 2], "        == quota of 8", "the key says its number");
	tap_is_str(line[n_lines - 1], "        == fleet of 512, above the picture", "also of one that lies above");
}

/* Numbers of any size keep to their columns. */
static void
test_labels(void)
{
	static const struct { double v; const char *want; } cases[] = {
		{ 13e6, "   15M +" }, { 4e9, "    4G +" }, { 1e15, "  1.0P +" }, { 2e18, " 2e+18 +" }, { 0.02, " 0.020 +" },
		{ 4, "   4.0 +" }, { 1e-6, " 1e-06 +" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double v[2] = { 0, cases[i].v };
		struct plot_forecast p = { .title = "", .unit = "GPUs", .step_s = 3600, .history = v, .n_history = 2 };

		draw(&p, 80, 10, false);
		tap_ok(strncmp(line[0], cases[i].want, 8) == 0, "%g: '%.8s'", cases[i].v, line[0]);
	}
}

/* Braille: 2 dots a column and 4 a row; a constant has one row of dots, at floor(v / top * 4 * rows). */
static void
test_braille(void)
{
	double v[144];
	struct plot_forecast p = { .title = "", .unit = "GPUs", .step_s = 3600, .history = v, .n_history = 144 };
	int widest = 0;

	for (int i = 0; i < 144; i++)
		v[i] = 5.1;
	v[0] = 10;
	draw(&p, 80, 10, true);
	/* dot 20 of 40 from below is the lowest dot of the sixth row: U+28C0 */
	tap_ok(strstr(line[4], "\xe2\xa3\x80\xe2\xa3\x80\xe2\xa3\x80") != NULL, "dots at their height: %s", line[4]);
	for (int i = 0; i < n_lines; i++)
		widest = term_width(line[i]) > widest ? term_width(line[i]) : widest;
	tap_is_long(widest, 80, "as wide as the terminal");
}

static void
test_odd(void)
{
	double none[3] = { NAN, NAN, NAN }, zero[3] = { 0, 0, 0 };
	struct plot_forecast p = { .title = "", .unit = "GPUs", .step_s = 3600, .history = none, .n_history = 3 };

	draw(&p, 80, 10, true);
	tap_ok(n_lines == 13, "nothing known: an empty canvas");
	p.history = zero;
	draw(&p, 10, 2, false);
	tap_ok(n_lines == 9 && strstr(line[5], "######") != NULL, "zeros lie on the axis, too small a terminal counts as 40 x 6");
	p.n_history = 0;
	buf_clear(&out);
	plot_forecast(&p, &(struct plot_style){ 80, 10, false, false }, &out);
	tap_ok(out.len == 0, "no steps, no picture");
}

static void
test_spark(void)
{
	const double v[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, NAN };

	buf_clear(&out);
	plot_spark(v, 10, 10, false, &out);
	tap_is_str(out.p, "__.-:=+*# ", "eight heights, a blank for what is not known");
	buf_clear(&out);
	plot_spark(v, 10, 2, false, &out);
	tap_is_str(out.p, ":#", "the greatest of each half");
}

int
main(void)
{
	buf_init(&out, 1 << 20);
	test_steps();
	test_peak();
	test_band();
	test_rules();
	test_labels();
	test_braille();
	test_odd();
	test_spark();
	buf_free(&out);
	return tap_done();
}
