#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"
#include "util/buf.h"
#include "util/svg.h"

static struct buf out;

/* Tags open and close in pairs, attributes are quoted, no bare & or <: enough for a parser to accept it. */
static bool
well_formed(const char *s)
{
	char stack[64][32];
	int depth = 0;

	while ((s = strpbrk(s, "<&")) != NULL) {
		size_t n;

		if (*s == '&') {
			n = strcspn(s, ";");
			if (n < 3 || n > 6)
				return false;
			s++;
			continue;
		}
		n = strcspn(s, ">");
		if (s[n] == '\0')
			return false;
		if (s[1] == '/') {
			if (depth == 0 || strncmp(stack[depth - 1], s + 2, n - 2) != 0 || strlen(stack[depth - 1]) != n - 2)
				return false;
			depth--;
		} else if (s[1] != '?' && s[n - 1] != '/') {
			size_t name = strcspn(s + 1, " >");

			if (depth == 64 || name >= 32)
				return false;
			memcpy(stack[depth], s + 1, name);
			stack[depth++][name] = '\0';
		}
		s += n;
	}
	return depth == 0;
}

/* The path of a line: its points, by the pixels of the frame. */
static void
test_line(void)
{
	const double x[] = { 0, 1, 2, 3, 4 }, y[] = { 0, 50, NAN, 100, 25 };
	struct svg_series s = { SVG_LINE, "a<b", x, y, NULL, 5, 0 };
	struct svg_chart c = { .title = "t & \"u\"", .x_label = "", .y_label = "", .y_min = 0, .y_max = 100, .width = 1000,
		.height = 500, .series = &s, .n_series = 1 };
	double px[8], py[8], left, right, top, bottom;
	const char *d;
	int n = 0, moves = 0;

	buf_clear(&out);
	svg_chart_write(&c, true, &out);
	tap_ok(well_formed(out.p), "well formed");
	tap_ok(strstr(out.p, "a&lt;b") != NULL && strstr(out.p, "t &amp; &quot;u&quot;") != NULL, "texts are escaped");
	tap_ok(strstr(out.p, "href") == NULL && strstr(out.p, "url(") == NULL && strstr(out.p, "@import") == NULL,
	    "no outside resources");
	d = strstr(out.p, " d=\"");
	for (d += 4; *d != '"' && n < 8; n++) {
		moves += *d == 'M';
		px[n] = strtod(d + 1, (char **)&d);
		py[n] = strtod(d, (char **)&d);
	}
	tap_ok(n == 4 && moves == 2, "four points in two strokes: a gap where nothing is known");
	left = px[0], right = px[3], bottom = py[0], top = py[2];
	tap_near(px[1], left + (right - left) / 4, 0.06, "x is linear");
	tap_near(px[2], left + (right - left) * 3 / 4, 0.06, "also behind the gap");
	tap_near(py[1], (top + bottom) / 2, 0.06, "half way up");
	tap_near(py[3], bottom + (top - bottom) / 4, 0.06, "a quarter up");
	tap_ok(left > 0 && right < 1000 && top > 0 && bottom < 500 && top < bottom, "inside the picture");
}

/* Heights of rectangles with a given fill. */
static int
heights(const char *fill, double *h, double *y, int max)
{
	int n = 0;

	for (const char *p = out.p; (p = strstr(p, "<rect class=\"b\"")) != NULL && n < max; p++) {
		const char *end = strchr(p, '>'), *f = strstr(p, fill);

		if (f == NULL || f > end)
			continue;
		y[n] = strtod(strstr(p, " y=\"") + 4, NULL);
		h[n++] = strtod(strstr(p, " height=\"") + 9, NULL);
	}
	return n;
}

static void
test_stack(void)
{
	const char *const names[] = { "Jan", "Feb" };
	const double a[] = { 10, 20 }, b[] = { 30, 40 };
	struct svg_series s[] = { { SVG_STACK, "a", NULL, a, NULL, 2, 0 }, { SVG_STACK, "b", NULL, b, NULL, 2, 1 } };
	struct svg_chart c = { .title = "", .x_label = "", .y_label = "", .categories = names, .n_categories = 2,
		.y_min = NAN, .y_max = NAN, .series = s, .n_series = 2 };
	double ha[2], ya[2], hb[2], yb[2];

	buf_clear(&out);
	svg_chart_write(&c, false, &out);
	tap_ok(well_formed(out.p), "well formed");
	tap_ok(heights("--c0", ha, ya, 2) == 2 && heights("--c1", hb, yb, 2) == 2, "two bars of each");
	tap_near(ha[1] / ha[0], 2, 0.01, "heights are in proportion");
	tap_near(hb[1] / ha[0], 4, 0.02, "between series too");
	tap_near(yb[0] + hb[0], ya[0], 0.11, "the second stands on the first");
	tap_ok(strstr(out.p, "<?xml") == NULL, "no declaration inside a page");
}

static void
test_time_axis(void)
{
	/* 2026-01-15 to 2026-06-15: the first days of five months */
	const double x[] = { 1768435200, 1781481600 }, y[] = { 1, 2 };
	struct svg_series s = { SVG_LINE, "", x, y, NULL, 2, 0 };
	struct svg_chart c = { .title = "", .x_label = "", .y_label = "", .x_time = true, .y_min = NAN, .y_max = NAN,
		.series = &s, .n_series = 1 };

	buf_clear(&out);
	svg_chart_write(&c, false, &out);
	tap_ok(strstr(out.p, ">Feb 2026<") != NULL && strstr(out.p, ">Jun 2026<") != NULL, "ticks at months");
	tap_ok(strstr(out.p, ">Jan 2026<") == NULL && strstr(out.p, ">Jul 2026<") == NULL, "within the data only");
}

static void
test_odd(void)
{
	const double nan2[] = { NAN, NAN }, x[] = { 5, 5 };
	struct svg_series s[] = { { SVG_LINE, "l", x, nan2, NULL, 2, 0 }, { SVG_BAND, "b", x, nan2, nan2, 2, 1 },
		{ SVG_RULE, "r", NULL, nan2, NULL, 1, 2 } };
	struct svg_chart c = { .title = "", .x_label = "", .y_label = "", .y_min = NAN, .y_max = NAN, .series = s,
		.n_series = 3 };

	buf_clear(&out);
	svg_chart_write(&c, false, &out);
	tap_ok(well_formed(out.p) && strstr(out.p, "nan") == NULL && strstr(out.p, "inf") == NULL,
	    "nothing known: a chart without NaN");
	buf_clear(&out);
	svg_chart_write(&(struct svg_chart){ .series = (struct svg_series[]){ { .kind = SVG_LINE } }, .n_series = 1 }, true, &out);
	tap_ok(well_formed(out.p), "no texts and no points: an empty frame");
	buf_clear(&out);
	svg_escape("a\x01<b>&\"'", &out);
	tap_is_str(out.p, "a&lt;b&gt;&amp;&quot;&#39;", "escape");
}

int
main(void)
{
	buf_init(&out, 1 << 20);
	test_line();
	test_stack();
	test_time_axis();
	test_odd();
	buf_free(&out);
	return tap_done();
}
