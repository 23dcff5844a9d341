#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "util/buf.h"
#include "util/plot.h"
#include "util/term.h"

enum {
	PLOT_LAYERS = 3,
	PLOT_COLS_MAX = 1000,
	PLOT_LABEL = 7,
	PLOT_TICKS_MAX = 12,
	PLOT_ROWS_MAX = 200
};
enum plot_layer { PLOT_HISTORY, PLOT_MID, PLOT_HI };

/* Dots from lo to hi, counted from the axis; lo > hi: nothing. */
struct plot_span {
	int lo, hi;
};

struct plot_canvas {
	int cols, rows; /* cells */
	int dw, dh;     /* dots a cell: 2 x 4 in braille, 1 x 1 in ASCII */
	int now_col;    /* cell where the forecast begins; -1: none */
	double top;     /* value at the upper edge */
	struct plot_span span[PLOT_LAYERS][PLOT_COLS_MAX * 2];
	bool rule[PLOT_ROWS_MAX]; /* [rows] a level is drawn here, where nothing else is */
};

/* 1, 2 or 5 times a power of ten, at least v. */
static double
plot_nice(double v)
{
	double p = pow(10, floor(log10(v))), m = v / p;

	return (m <= 1 ? 1 : m <= 2 ? 2 : m <= 5 ? 5 : 10) * p;
}

static double
plot_top(const struct plot_forecast *p)
{
	double top = 0, step, within;

	for (size_t i = 0; i < p->n_history; i++)
		top = p->history[i] > top ? p->history[i] : top;
	for (size_t i = 0; i < p->n_ahead; i++)
		top = p->hi[i] > top ? p->hi[i] : p->mid[i] > top ? p->mid[i] : top;
	if (!(top > 0) || isinf(top))
		return 1;
	within = 2 * top;
	for (size_t i = 0; i < p->n_rules; i++)
		top = p->rules[i].level <= within ? fmax(top, p->rules[i].level) : top;
	step = plot_nice(top / 5);
	return step * ceil(top / step - 1e-9);
}

/* Value of a layer at step i of history and forecast together; NaN where the layer has none. */
static double
plot_value(const struct plot_forecast *p, enum plot_layer layer, size_t i)
{
	if (layer == PLOT_HISTORY)
		return i < p->n_history ? p->history[i] : NAN;
	if (i < p->n_history)
		return NAN;
	return layer == PLOT_MID ? p->mid[i - p->n_history] : p->hi[i - p->n_history];
}

static int
plot_dot(const struct plot_canvas *c, double v)
{
	int n = c->rows * c->dh, y = (int)floor(v / c->top * n);

	return y < 0 ? 0 : y >= n ? n - 1 : y;
}

static struct plot_span
plot_column(
    const struct plot_canvas *c, const struct plot_forecast *p, enum plot_layer layer, int x)
{
	size_t n = p->n_history + p->n_ahead, dots = (size_t)(c->cols * c->dw);
	size_t from = (size_t)x * n / dots, to = (((size_t)x + 1) * n + dots - 1) / dots;
	double lo = INFINITY, hi = -INFINITY;

	for (size_t i = from; i < to && i < n; i++) {
		double v = plot_value(p, layer, i);

		if (!isfinite(v))
			continue;
		lo = v < lo ? v : lo;
		hi = v > hi ? v : hi;
	}
	if (lo > hi)
		return (struct plot_span){ 1, 0 };
	return (struct plot_span){ plot_dot(c, lo), plot_dot(c, hi) };
}

/* Spans of a layer, each stretched to touch its left neighbour so that the line has no holes. */
static void
plot_layer_fill(struct plot_canvas *c, const struct plot_forecast *p, enum plot_layer layer)
{
	struct plot_span *s = c->span[layer], raw, before = { 1, 0 };

	for (int x = 0; x < c->cols * c->dw; x++) {
		raw = plot_column(c, p, layer, x);
		s[x] = raw;
		if (before.lo <= before.hi && raw.lo <= raw.hi) {
			if (raw.lo > before.hi)
				s[x].lo = before.hi + 1;
			else if (raw.hi < before.lo)
				s[x].hi = before.lo - 1;
		}
		before = raw;
	}
}

static bool
plot_in(struct plot_span s, int y)
{
	return y >= s.lo && y <= s.hi;
}

/* Between the median and P95, edges left to their own layers. */
static bool
plot_in_band(const struct plot_canvas *c, int x, int y)
{
	struct plot_span mid = c->span[PLOT_MID][x], hi = c->span[PLOT_HI][x];

	return mid.lo <= mid.hi && hi.lo <= hi.hi && y > mid.hi && y <= hi.hi;
}

static const char *
plot_layer_color(int layer)
{
	static const char *const rows[] = { "\033[36m", "\033[1;33m", "\033[35m" };

	return rows[layer];
}

/* Braille pattern of a cell; *layer_out is the layer that gives the colour. */
static unsigned
plot_braille(const struct plot_canvas *c, int row, int col, int *layer_out)
{
	static const unsigned bits[4][2] = { { 0x40, 0x80 }, { 0x04, 0x20 }, { 0x02, 0x10 },
		{ 0x01, 0x08 } };
	unsigned cell = 0;
	int layer = -1;

	for (int dy = 0; dy < 4; dy++) {
		for (int dx = 0; dx < 2; dx++) {
			int x = col * 2 + dx, y = row * 4 + dy;
			bool mid = plot_in(c->span[PLOT_MID][x], y),
			     hist = plot_in(c->span[PLOT_HISTORY][x], y);
			bool edge = plot_in(c->span[PLOT_HI][x], y);
			bool fill = plot_in_band(c, x, y) && (x + y) % 2 == 0;

			if (mid || hist || edge || fill)
				cell |= bits[dy][dx];
			if (mid)
				layer = PLOT_MID;
			else if (hist && layer != PLOT_MID)
				layer = PLOT_HISTORY;
			else if ((edge || fill) && layer < 0)
				layer = PLOT_HI;
		}
	}
	*layer_out = layer;
	return cell;
}

static char
plot_ascii(const struct plot_canvas *c, int row, int col, int *layer_out)
{
	*layer_out = PLOT_MID;
	if (plot_in(c->span[PLOT_MID][col], row))
		return 'o';
	*layer_out = PLOT_HISTORY;
	if (plot_in(c->span[PLOT_HISTORY][col], row))
		return '#';
	*layer_out = PLOT_HI;
	if (plot_in(c->span[PLOT_HI][col], row))
		return '+';
	if (plot_in_band(c, col, row))
		return '.';
	*layer_out = -1;
	return 0;
}

static bool
plot_empty(const struct plot_canvas *c, const struct plot_style *style, int row, int col)
{
	int layer;

	if (style->unicode)
		plot_braille(c, row, col, &layer);
	else
		plot_ascii(c, row, col, &layer);
	return layer < 0 && col != c->now_col && !c->rule[row];
}

static const char *
plot_rule_sign(const struct plot_style *style)
{
	return style->unicode ? "\xe2\x95\x8c" : "=";
}

static void
plot_cell(
    const struct plot_canvas *c, const struct plot_style *style, int row, int col, struct buf *out)
{
	unsigned braille = 0;
	char ascii = 0;
	int layer;

	if (style->unicode)
		braille = plot_braille(c, row, col, &layer);
	else
		ascii = plot_ascii(c, row, col, &layer);
	if (layer < 0) {
		buf_printf(out, "%s",
		    col == c->now_col ? style->unicode ? "\xe2\x94\x8a" : ":"
		    : !c->rule[row]   ? " "
				      : plot_rule_sign(style));
		return;
	}
	if (style->color)
		buf_printf(out, "%s", plot_layer_color(layer));
	if (style->unicode)
		buf_printf(
		    out, "\xe2%c%c", (int)(0xa0 | braille >> 6), (int)(0x80 | (braille & 0x3f)));
	else
		buf_printf(out, "%c", ascii);
	if (style->color)
		buf_printf(out, "\033[0m");
}

/* The row whose label is value v, for the nice step below top. */
static bool
plot_row_label(const struct plot_canvas *c, int row, double *v_out)
{
	double step = plot_nice(c->top / 5);

	for (double v = step; v <= c->top * 1.0001; v += step) {
		int r = (int)floor(v / c->top * c->rows + 0.5) - 1;

		if (r == row) {
			*v_out = v;
			return true;
		}
	}
	return false;
}

/* A round number in at most PLOT_LABEL - 1 columns, alike on the whole axis. */
static void
plot_number(const struct plot_canvas *c, double v, char *text, size_t size)
{
	static const struct {
		double from;
		const char *sign;
	} units[] = { { 1e15, "P" }, { 1e12, "T" }, { 1e9, "G" }, { 1e6, "M" } };
	double step = plot_nice(c->top / 5);
	int places = step >= 1 ? 0 : (int)ceil(-log10(step) - 1e-9);

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (c->top >= units[i].from && c->top < 1000 * units[i].from) {
			snprintf(text, size, "%.*f%s", step < units[i].from ? 1 : 0,
			    v / units[i].from, units[i].sign);
			return;
		}
	if (places > 4 || c->top >= 1e18)
		snprintf(text, size, "%.0e", v);
	else
		snprintf(text, size, "%.*f", c->top < 5 && places == 0 ? 1 : places, v);
}

static void
plot_rows(const struct plot_canvas *c, const struct plot_style *style, struct buf *out)
{
	for (int row = c->rows - 1; row >= 0; row--) {
		int cols = c->cols;
		char text[32];
		double v;

		if (plot_row_label(c, row, &v)) {
			plot_number(c, v, text, sizeof(text));
			buf_printf(out, "%*s %s", PLOT_LABEL - 1, text,
			    style->unicode ? "\xe2\x94\xa4" : "+");
		} else {
			buf_printf(out, "%*s %s", PLOT_LABEL - 1, "",
			    style->unicode ? "\xe2\x94\x82" : "|");
		}
		while (cols > 0 && plot_empty(c, style, row, cols - 1))
			cols--;
		for (int col = 0; col < cols; col++)
			plot_cell(c, style, row, col, out);
		buf_printf(out, "\n");
	}
}

/* Seconds between dates under the axis: the smallest of these that leaves room for each label. */
static int64_t
plot_tick_s(int64_t length_s, int labels)
{
	static const int64_t rows[] = { 3600, 10800, 21600, 43200, 86400, 172800, 604800, 1209600,
		2419200, 7776000, 15552000, 31536000, 63072000, 157680000 };
	size_t i = 0;

	while (i + 1 < sizeof(rows) / sizeof(rows[0]) && length_s / rows[i] + 1 > labels)
		i++;
	return rows[i];
}

static void
plot_axis_label(int64_t t, int64_t tick, char *text, size_t size)
{
	time_t tt = (time_t)t;
	struct tm tm;

	gmtime_r(&tt, &tm);
	strftime(text, size, tick < 86400 ? "%d %H:%M" : tick < 7776000 ? "%m-%d" : "%Y-%m", &tm);
}

/* The axis with a mark at each date, and the dates under it, both laid out in text of one byte a
 * column. */
static void
plot_axis(const struct plot_canvas *c, const struct plot_forecast *p,
    const struct plot_style *style, struct buf *out)
{
	int64_t length = (int64_t)(p->n_history + p->n_ahead) * p->step_s;
	int64_t tick = plot_tick_s(length, c->cols / 9),
		monday = tick % 604800 == 0 ? 4 * 86400 : 0; /* 1970-01-05 */
	int64_t t = (p->t0 - monday + tick - 1) / tick * tick + monday;
	char marks[PLOT_COLS_MAX + 1], dates[PLOT_COLS_MAX + 32], text[24];
	int free_at = 0, n;

	memset(marks, '-', (size_t)c->cols);
	memset(dates, ' ', sizeof(dates));
	for (; t < p->t0 + length; t += tick) {
		int col = (int)((double)(t - p->t0) / (double)length * c->cols);

		plot_axis_label(t, tick, text, sizeof(text));
		n = (int)strlen(text);
		if (col >= c->cols || col < free_at || col + n > c->cols)
			continue;
		marks[col] = '+';
		memcpy(dates + col, text, (size_t)n);
		free_at = col + n + 2;
	}
	for (size_t i = 0; i < p->n_marks; i++)
		if (p->marks[i] >= p->t0 && p->marks[i] < p->t0 + length)
			marks[(int)((double)(p->marks[i] - p->t0) / (double)length * c->cols)] =
			    '^';
	dates[c->cols] = '\0';
	for (n = c->cols; n > 0 && dates[n - 1] == ' '; n--)
		dates[n - 1] = '\0';
	buf_printf(out, "%*s %s", PLOT_LABEL - 1, "0", style->unicode ? "\xe2\x94\xbc" : "+");
	for (int col = 0; col < c->cols; col++)
		buf_printf(out, "%.*s", !style->unicode ? 1 : 3,
		    !style->unicode     ? marks + col
		    : marks[col] == '^' ? "\xe2\x96\xb2"
		    : marks[col] == '+' ? "\xe2\x94\xac"
					: "\xe2\x94\x80");
	buf_printf(out, "\n%*s%s\n", PLOT_LABEL + 1, "", dates);
}

static void
plot_key(
    const struct plot_style *style, const char *sign, int layer, const char *text, struct buf *out)
{
	buf_printf(out, "%s%s%s %s", style->color ? plot_layer_color(layer) : "", sign,
	    style->color ? "\033[0m" : "", text);
}

static void
plot_legend(const struct plot_canvas *c, const struct plot_forecast *p,
    const struct plot_style *style, struct buf *out)
{
	buf_printf(out, "%*s", PLOT_LABEL + 1, "");
	plot_key(style, style->unicode ? "\xe2\xa0\x89\xe2\xa0\x89" : "##", PLOT_HISTORY,
	    "history  ", out);
	if (p->n_ahead > 0) {
		plot_key(style, style->unicode ? "\xe2\xa0\x89\xe2\xa0\x89" : "oo", PLOT_MID,
		    "P50  ", out);
		plot_key(style, style->unicode ? "\xe2\xa2\x95\xe2\xa2\x95" : "..", PLOT_HI,
		    "up to P95  ", out);
	}
	buf_printf(out, "(%s, UTC)\n", p->unit);
	for (size_t i = 0; i < p->n_rules; i++)
		buf_printf(out, "%*s%s%s %s of %.0f%s\n", PLOT_LABEL + 1, "", plot_rule_sign(style),
		    plot_rule_sign(style), p->rules[i].name, p->rules[i].level,
		    p->rules[i].level > c->top ? ", above the picture" : "");
}

void
plot_forecast(const struct plot_forecast *p, const struct plot_style *style, struct buf *out)
{
	int width = style->columns < 40              ? 40
		    : style->columns > PLOT_COLS_MAX ? PLOT_COLS_MAX
						     : style->columns;
	struct plot_canvas c = { 0 };

	if (p->n_history + p->n_ahead == 0)
		return;
	c.cols = width - PLOT_LABEL - 1;
	c.rows = style->rows < 6 ? 6 : style->rows > PLOT_ROWS_MAX ? PLOT_ROWS_MAX : style->rows;
	c.dw = style->unicode ? 2 : 1;
	c.dh = style->unicode ? 4 : 1;
	c.top = plot_top(p);
	for (size_t i = 0; i < p->n_rules; i++)
		if (p->rules[i].level > 0 && p->rules[i].level <= c.top)
			c.rule[plot_dot(&c, p->rules[i].level) / c.dh] = true;
	c.now_col = -1;
	if (p->n_ahead > 0 && p->n_history > 0)
		c.now_col = (int)(p->n_history * (size_t)c.cols / (p->n_history + p->n_ahead));
	for (int layer = 0; layer < PLOT_LAYERS; layer++)
		plot_layer_fill(&c, p, (enum plot_layer)layer);
	if (p->title != NULL && p->title[0] != '\0')
		buf_printf(out, "%*s%.*s\n", PLOT_LABEL + 1, "", (int)term_fit(p->title, c.cols),
		    p->title);
	plot_rows(&c, style, out);
	plot_axis(&c, p, style, out);
	plot_legend(&c, p, style, out);
}

void
plot_spark(const double *v, size_t n, int width, bool unicode, struct buf *out)
{
	static const char *const blocks[] = { "\xe2\x96\x81", "\xe2\x96\x82", "\xe2\x96\x83",
		"\xe2\x96\x84", "\xe2\x96\x85", "\xe2\x96\x86", "\xe2\x96\x87", "\xe2\x96\x88" };
	static const char ascii[] = "_.-:=+*#";
	double top = 0;

	for (size_t i = 0; i < n; i++)
		top = isfinite(v[i]) && v[i] > top ? v[i] : top;
	for (int x = 0; x < width && n > 0; x++) {
		size_t from = (size_t)x * n / (size_t)width,
		       to = ((size_t)x + 1) * n / (size_t)width;
		double hi = -1;
		int level;

		for (size_t i = from; i < n && (i < to || i == from); i++)
			hi = isfinite(v[i]) && v[i] > hi ? v[i] : hi;
		if (hi < 0) {
			buf_printf(out, " ");
			continue;
		}
		level = top > 0 ? (int)ceil(hi / top * 8) - 1 : 0;
		level = level < 0 ? 0 : level;
		if (unicode)
			buf_printf(out, "%s", blocks[level]);
		else
			buf_printf(out, "%c", ascii[level]);
	}
}
