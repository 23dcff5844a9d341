#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "util/buf.h"
#include "util/svg.h"

enum { SVG_WIDTH = 760, SVG_HEIGHT = 300, SVG_PALETTE = 8, SVG_HOVER_MAX = 400 };

/* Where data lie on the page. */
struct svg_frame {
	const struct svg_chart *chart;
	double left, right, top, bottom; /* pixels of the plot's box */
	double x_min, x_max, y_min, y_max;
};

/* Okabe and Ito's colours (2008), which colour-blind readers tell apart; paler ones for a dark
 * page. */
static const struct {
	const char *light, *dark;
} svg_palette[SVG_PALETTE] = {
	{ "#0072b2", "#4da3d9" },
	{ "#d55e00", "#ff8c42" },
	{ "#009e73", "#3fd0a4" },
	{ "#cc79a7", "#e6a3c7" },
	{ "#b37700", "#f0b93a" },
	{ "#3a9bd1", "#8ccbf2" },
	{ "#7a6a00", "#e8dc62" },
	{ "#666666", "#b0b0b0" },
};

void
svg_escape(const char *s, struct buf *out)
{
	for (; s != NULL && *s != '\0'; s++) {
		switch (*s) {
		case '&':
			buf_printf(out, "&amp;");
			break;
		case '<':
			buf_printf(out, "&lt;");
			break;
		case '>':
			buf_printf(out, "&gt;");
			break;
		case '"':
			buf_printf(out, "&quot;");
			break;
		case '\'':
			buf_printf(out, "&#39;");
			break;
		default:
			if ((unsigned char)*s >= 0x20 || *s == '\n' || *s == '\t')
				buf_printf(out, "%c", *s);
		}
	}
}

/* A number for people: no trailing zeros, no exponent for what a chart shows. */
static void
svg_number(double v, char *text, size_t size)
{
	size_t n;

	if (fabs(v) >= 1e6)
		snprintf(text, size, "%.3gM", v / 1e6);
	else if (fabs(v) >= 1e4)
		snprintf(text, size, "%.4gk", v / 1e3);
	else
		snprintf(text, size, "%.*f", fabs(v) >= 100 ? 1 : fabs(v) >= 1 ? 2 : 4, v);
	if (strchr(text, '.') == NULL || strpbrk(text, "kM") != NULL)
		return;
	for (n = strlen(text); n > 1 && text[n - 1] == '0'; n--)
		text[n - 1] = '\0';
	if (text[n - 1] == '.')
		text[n - 1] = '\0';
}

enum svg_time_form { SVG_TIME_FULL, SVG_TIME_HOUR, SVG_TIME_DAY, SVG_TIME_MONTH, SVG_TIME_YEAR };

static void
svg_time(double v, enum svg_time_form form, char *text, size_t size)
{
	time_t t = (time_t)v;
	struct tm tm;

	text[0] = '\0';
	if (gmtime_r(&t, &tm) == NULL)
		return;
	switch (form) {
	case SVG_TIME_FULL:
		strftime(text, size, "%Y-%m-%d %H:%M", &tm);
		return;
	case SVG_TIME_HOUR:
		strftime(text, size, "%b %d %H:%M", &tm);
		return;
	case SVG_TIME_DAY:
		strftime(text, size, "%b %d", &tm);
		return;
	case SVG_TIME_MONTH:
		strftime(text, size, "%b %Y", &tm);
		return;
	case SVG_TIME_YEAR:
		strftime(text, size, "%Y", &tm);
		return;
	}
}

static bool
svg_is_bar(enum svg_kind kind)
{
	return kind == SVG_BAR || kind == SVG_STACK;
}

static void
svg_grow(double v, double *lo, double *hi)
{
	if (!isfinite(v))
		return;
	*lo = v < *lo ? v : *lo;
	*hi = v > *hi ? v : *hi;
}

/* Height of the stack over category i. */
static double
svg_stacked(const struct svg_chart *c, size_t i, size_t below)
{
	double sum = 0;

	for (size_t s = 0; s < below; s++)
		if (c->series[s].kind == SVG_STACK && i < c->series[s].n &&
		    isfinite(c->series[s].y[i]))
			sum += c->series[s].y[i];
	return sum;
}

static double
svg_step(double length, int ticks)
{
	double raw = length / ticks, p = pow(10, floor(log10(raw))), m = raw / p;

	return (m <= 1 ? 1 : m <= 2 ? 2 : m <= 5 ? 5 : 10) * p;
}

static void
svg_range_x(struct svg_frame *f)
{
	const struct svg_chart *c = f->chart;
	double lo = INFINITY, hi = -INFINITY;

	for (size_t s = 0; s < c->n_series; s++)
		for (size_t i = 0; i < c->series[s].n && !svg_is_bar(c->series[s].kind) &&
				   c->series[s].kind != SVG_RULE;
		     i++)
			svg_grow(c->series[s].x[i], &lo, &hi);
	if (lo > hi)
		lo = 0, hi = 1;
	f->x_min = hi > lo ? lo : lo - 0.5; /* all at one place: in the middle */
	f->x_max = hi > lo ? hi : lo + 0.5;
}

static void
svg_range_y(struct svg_frame *f)
{
	const struct svg_chart *c = f->chart;
	double lo = 0, hi = 0, step;

	for (size_t s = 0; s < c->n_series; s++) {
		for (size_t i = 0; i < c->series[s].n; i++) {
			svg_grow(c->series[s].y[i], &lo, &hi);
			if (c->series[s].kind == SVG_BAND)
				svg_grow(c->series[s].y_low[i], &lo, &hi);
			if (c->series[s].kind == SVG_STACK)
				svg_grow(svg_stacked(c, i, s + 1), &lo, &hi);
		}
	}
	if (isfinite(c->y_min) && isfinite(c->y_max) && c->y_max > c->y_min) {
		f->y_min = c->y_min;
		f->y_max = c->y_max;
		return;
	}
	hi = hi > lo ? hi : lo + 1;
	step = svg_step(hi - lo, 5);
	f->y_min = floor(lo / step + 1e-9) * step;
	f->y_max = ceil(hi / step - 1e-9) * step;
}

static double
svg_x(const struct svg_frame *f, double x)
{
	return f->left + (x - f->x_min) / (f->x_max - f->x_min) * (f->right - f->left);
}

/* Values beyond a given range are drawn at its edge. */
static double
svg_y(const struct svg_frame *f, double y)
{
	double share = (y - f->y_min) / (f->y_max - f->y_min);

	share = share < 0 ? 0 : share > 1 ? 1 : share;
	return f->bottom - share * (f->bottom - f->top);
}

static void
svg_style(struct buf *out)
{
	buf_printf(out,
	    "<style>.bc{font:12px system-ui,sans-serif;--fg:#222;--mu:#666;--gr:#ddd;--bg:#fff");
	for (int i = 0; i < SVG_PALETTE; i++)
		buf_printf(out, ";--c%d:%s", i, svg_palette[i].light);
	buf_printf(out,
	    "}@media(prefers-color-scheme:dark){.bc{--fg:#eee;--mu:#aaa;--gr:#444;--bg:#1b1b1d");
	for (int i = 0; i < SVG_PALETTE; i++)
		buf_printf(out, ";--c%d:%s", i, svg_palette[i].dark);
	buf_printf(out,
	    "}}.bc text{fill:var(--fg)}.bc .m{fill:var(--mu)}.bc "
	    ".g{stroke:var(--gr);stroke-width:1}"
	    ".bc .l{fill:none;stroke-width:1.7;stroke-linejoin:round}.bc .h{fill:transparent}"
	    ".bc .h:hover{fill:var(--fg)}.bc .b:hover{opacity:.7}</style>\n");
}

/* Texts may be left out. */
static const char *
svg_or_empty(const char *s)
{
	return s != NULL ? s : "";
}

static void
svg_text(struct buf *out, double x, double y, const char *attributes, const char *text)
{
	buf_printf(out, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes);
	svg_escape(text, out);
	buf_printf(out, "</text>\n");
}

static void
svg_axis_y(const struct svg_frame *f, struct buf *out)
{
	double step = svg_step(f->y_max - f->y_min, 5);
	char text[32];

	for (double v = ceil(f->y_min / step - 1e-9) * step; v <= f->y_max + step * 1e-6;
	     v += step) {
		double y = svg_y(f, v);

		buf_printf(out,
		    "<line class=\"g\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n",
		    f->left, f->right, y, y);
		svg_number(fabs(v) < step * 1e-6 ? 0 : v, text, sizeof(text));
		svg_text(out, f->left - 6, y + 4, "class=\"m\" text-anchor=\"end\"", text);
	}
	if (svg_or_empty(f->chart->y_label)[0] != '\0') {
		buf_printf(out,
		    "<text class=\"m\" text-anchor=\"middle\" transform=\"translate(14 %.1f) "
		    "rotate(-90)\">",
		    (f->top + f->bottom) / 2);
		svg_escape(f->chart->y_label, out);
		buf_printf(out, "</text>\n");
	}
}

static void
svg_tick_x(const struct svg_frame *f, double x, const char *text, struct buf *out)
{
	buf_printf(out, "<line class=\"g\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n", x,
	    x, f->bottom, f->bottom + 5);
	svg_text(out, x, f->bottom + 18, "class=\"m\" text-anchor=\"middle\"", text);
}

/* Whole hours, days, weeks; months and years by the calendar. */
static void
svg_axis_time(const struct svg_frame *f, struct buf *out)
{
	static const double rows[] = { 3600, 10800, 21600, 43200, 86400, 172800, 604800, 1209600,
		2678400 };
	double length = f->x_max - f->x_min, step = 0;
	int months = 0;
	char text[32];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && step == 0; i++)
		step = length / rows[i] <= 8 ? rows[i] : 0;
	if (step == 0 || step == 2678400) {
		months = 1;
		while (length / (2678400.0 * months) > 8)
			months = months == 1   ? 3
				 : months == 3 ? 6
					       : months + (months < 12 ? 6 : 12);
	}
	if (months == 0) {
		double monday = step >= 604800 ? 4 * 86400.0 : 0; /* 1970-01-05 */

		for (double t = ceil((f->x_min - monday) / step) * step + monday; t <= f->x_max;
		     t += step) {
			svg_time(
			    t, step < 86400 ? SVG_TIME_HOUR : SVG_TIME_DAY, text, sizeof(text));
			svg_tick_x(f, svg_x(f, t), text, out);
		}
		return;
	}
	for (int n = 0, m0 = 0; n < 400; n++) {
		time_t t = (time_t)f->x_min;
		struct tm tm;

		if (gmtime_r(&t, &tm) == NULL)
			return;
		m0 = (tm.tm_year * 12 + tm.tm_mon + months) / months * months + n * months;
		tm = (struct tm){ .tm_year = m0 / 12, .tm_mon = m0 % 12, .tm_mday = 1 };
		t = timegm(&tm);
		if ((double)t > f->x_max)
			return;
		svg_time(
		    (double)t, months >= 12 ? SVG_TIME_YEAR : SVG_TIME_MONTH, text, sizeof(text));
		svg_tick_x(f, svg_x(f, (double)t), text, out);
	}
}

static void
svg_axis_numbers(const struct svg_frame *f, struct buf *out)
{
	double step = svg_step(f->x_max - f->x_min, 8);
	char text[32];

	for (double v = ceil(f->x_min / step - 1e-9) * step; v <= f->x_max + step * 1e-6;
	     v += step) {
		svg_number(fabs(v) < step * 1e-6 ? 0 : v, text, sizeof(text));
		svg_tick_x(f, svg_x(f, v), text, out);
	}
}

/* Names under bars; where they would run into each other every k-th is written. */
static void
svg_axis_categories(const struct svg_frame *f, struct buf *out)
{
	const struct svg_chart *c = f->chart;
	double slot = (f->right - f->left) / (double)c->n_categories;
	size_t longest = 1, every;

	for (size_t i = 0; i < c->n_categories; i++) {
		size_t n = strlen(c->categories[i]);

		longest = n > longest ? n : longest;
	}
	every = (size_t)ceil(((double)longest * 6.6 + 8) / slot);
	for (size_t i = 0; i < c->n_categories; i += every)
		svg_tick_x(f, f->left + ((double)i + 0.5) * slot, c->categories[i], out);
}

static void
svg_hover(const struct svg_frame *f, const struct svg_series *s, size_t i, struct buf *out)
{
	char x[32], y[32];

	if (f->chart->x_time)
		svg_time(s->x[i], SVG_TIME_FULL, x, sizeof(x));
	else
		svg_number(s->x[i], x, sizeof(x));
	svg_number(s->y[i], y, sizeof(y));
	buf_printf(out, "<title>");
	svg_escape(s->label, out);
	buf_printf(out, " %s: %s</title>", x, y);
}

static void
svg_line(const struct svg_frame *f, const struct svg_series *s, struct buf *out)
{
	bool pen = false;
	double before = 0;

	buf_printf(out, "<path class=\"l\" stroke=\"var(--c%d,%s)\" d=\"", s->color,
	    svg_palette[s->color].light);
	for (size_t i = 0; i < s->n; i++) {
		double x = svg_x(f, s->x[i]), y;

		if (!isfinite(s->y[i])) {
			pen = false;
			continue;
		}
		y = svg_y(f, s->y[i]);
		if (pen && s->kind == SVG_STEP)
			buf_printf(out, "L%.1f %.1f", x, before);
		buf_printf(out, "%c%.1f %.1f", pen ? 'L' : 'M', x, y);
		before = y;
		pen = true;
	}
	buf_printf(out, "\"/>\n");
}

static void
svg_points(const struct svg_frame *f, const struct svg_series *s, struct buf *out)
{
	if (s->kind != SVG_POINTS && s->n > SVG_HOVER_MAX)
		return;
	for (size_t i = 0; i < s->n; i++) {
		if (!isfinite(s->y[i]))
			continue;
		buf_printf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" ", svg_x(f, s->x[i]),
		    svg_y(f, s->y[i]));
		if (s->kind == SVG_POINTS)
			buf_printf(
			    out, "fill=\"var(--c%d,%s)\">", s->color, svg_palette[s->color].light);
		else
			buf_printf(out, "class=\"h\" fill=\"none\">");
		svg_hover(f, s, i, out);
		buf_printf(out, "</circle>\n");
	}
}

/* Each run of known values is one closed shape. */
static void
svg_band(const struct svg_frame *f, const struct svg_series *s, struct buf *out)
{
	size_t i = 0, j;

	while (i < s->n) {
		for (j = i; j < s->n && isfinite(s->y[j]) && isfinite(s->y_low[j]); j++)
			continue;
		if (j - i >= 2) {
			buf_printf(out, "<path fill=\"var(--c%d,%s)\" fill-opacity=\".25\" d=\"M",
			    s->color, svg_palette[s->color].light);
			for (size_t k = i; k < j; k++)
				buf_printf(out, "%.1f %.1f ", svg_x(f, s->x[k]), svg_y(f, s->y[k]));
			for (size_t k = j; k-- > i;)
				buf_printf(
				    out, "%.1f %.1f ", svg_x(f, s->x[k]), svg_y(f, s->y_low[k]));
			buf_printf(out, "Z\"/>\n");
		}
		i = j + 1;
	}
}

static void
svg_bars(const struct svg_frame *f, size_t at, struct buf *out)
{
	const struct svg_chart *c = f->chart;
	const struct svg_series *s = &c->series[at];
	double slot = (f->right - f->left) / (double)(c->n_categories > 0 ? c->n_categories : 1),
	       width;
	size_t beside = 0, mine = 0;
	char text[32];

	for (size_t k = 0; k < c->n_series; k++) {
		mine += k < at && c->series[k].kind == SVG_BAR;
		beside += c->series[k].kind == SVG_BAR;
	}
	width = slot * 0.76 / (double)(s->kind == SVG_BAR ? beside : 1);
	for (size_t i = 0; i < s->n && i < c->n_categories; i++) {
		double low = s->kind == SVG_STACK ? svg_stacked(c, i, at) : 0, y0, y1;
		double x = f->left + ((double)i + 0.12) * slot +
			   (s->kind == SVG_BAR ? (double)mine * width : 0);

		if (!isfinite(s->y[i]))
			continue;
		y0 = svg_y(f, low);
		y1 = svg_y(f, low + s->y[i]);
		svg_number(s->y[i], text, sizeof(text));
		buf_printf(out,
		    "<rect class=\"b\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
		    "fill=\"var(--c%d,%s)\"><title>",
		    x, y1 < y0 ? y1 : y0, width > 2 ? width - 1 : width, fabs(y0 - y1), s->color,
		    svg_palette[s->color].light);
		svg_escape(c->categories[i], out);
		buf_printf(out, " ");
		svg_escape(s->label, out);
		buf_printf(out, ": %s</title></rect>\n", text);
	}
}

static void
svg_rule(const struct svg_frame *f, const struct svg_series *s, struct buf *out)
{
	double y = svg_y(f, s->y[0]);

	buf_printf(out,
	    "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"var(--c%d,%s)\" "
	    "stroke-width=\"1.5\" stroke-dasharray=\"6 4\"/>\n",
	    f->left, f->right, y, y, s->color, svg_palette[s->color].light);
}

static void
svg_series_draw(const struct svg_frame *f, size_t at, struct buf *out)
{
	const struct svg_series *s = &f->chart->series[at];

	switch (s->kind) {
	case SVG_LINE:
	case SVG_STEP:
		svg_line(f, s, out);
		svg_points(f, s, out);
		break;
	case SVG_BAND:
		svg_band(f, s, out);
		break;
	case SVG_BAR:
	case SVG_STACK:
		svg_bars(f, at, out);
		break;
	case SVG_POINTS:
		svg_points(f, s, out);
		break;
	case SVG_RULE:
		if (s->n > 0 && isfinite(s->y[0]))
			svg_rule(f, s, out);
		break;
	}
}

/* One line of keys under the title; returns the pixels it takes. */
static double
svg_legend(const struct svg_chart *c, double x, double y, double right, struct buf *out)
{
	double start = x, first = y;
	bool any = false;

	for (size_t s = 0; s < c->n_series; s++) {
		const struct svg_series *e = &c->series[s];
		const char *label = svg_or_empty(e->label);
		double need = 30 + (double)strlen(label) * 7.6; /* of sans-serif in 12 px */

		if (label[0] == '\0')
			continue;
		if (any && x + need > right) {
			x = start;
			y += 17;
		}
		buf_printf(out,
		    "<rect x=\"%.1f\" y=\"%.1f\" width=\"14\" height=\"%d\" rx=\"1\" "
		    "fill=\"var(--c%d,%s)\"%s/>\n",
		    x, svg_is_bar(e->kind) || e->kind == SVG_BAND ? y - 9 : y - 5,
		    svg_is_bar(e->kind) || e->kind == SVG_BAND ? 10 : 3, e->color,
		    svg_palette[e->color].light, e->kind == SVG_BAND ? " fill-opacity=\".3\"" : "");
		svg_text(out, x + 19, y, "", label);
		x += need;
		any = true;
	}
	return any ? y - first + 18 : 0;
}

void
svg_chart_write(const struct svg_chart *chart, bool standalone, struct buf *out)
{
	int width = chart->width > 0 ? chart->width : SVG_WIDTH,
	    height = chart->height > 0 ? chart->height : SVG_HEIGHT;
	struct svg_frame f = {
		.chart = chart, .left = 62, .right = width - 24, .top = 14, .bottom = height - 30
	};

	if (standalone)
		buf_printf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	buf_printf(out,
	    "<svg class=\"bc\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
	    "width=\"%d\" height=\"%d\" role=\"img\" aria-label=\"",
	    width, height, width, height);
	svg_escape(chart->title, out);
	buf_printf(out, "\">\n");
	svg_style(out);
	if (standalone)
		buf_printf(out, "<rect width=\"100%%\" height=\"100%%\" fill=\"var(--bg)\"/>\n");
	if (svg_or_empty(chart->title)[0] != '\0') {
		svg_text(out, f.left, 20, "font-size=\"14\" font-weight=\"600\"", chart->title);
		f.top += 16;
	}
	f.top += svg_legend(chart, f.left, f.top + 10, f.right, out);
	if (svg_or_empty(chart->x_label)[0] != '\0') {
		f.bottom -= 16;
		svg_text(out, (f.left + f.right) / 2, height - 8,
		    "class=\"m\" text-anchor=\"middle\"", chart->x_label);
	}
	svg_range_x(&f);
	svg_range_y(&f);
	svg_axis_y(&f, out);
	if (chart->categories != NULL)
		svg_axis_categories(&f, out);
	else if (chart->x_time)
		svg_axis_time(&f, out);
	else
		svg_axis_numbers(&f, out);
	for (size_t s = 0; s < chart->n_series; s++)
		svg_series_draw(&f, s, out);
	buf_printf(out, "</svg>\n");
}
