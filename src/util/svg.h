/* src/util/svg.h - charts as SVG.  Floor: util. */
#ifndef BERTH_UTIL_SVG_H
#define BERTH_UTIL_SVG_H

#include <stdbool.h>
#include <stddef.h>

struct buf;

enum svg_kind { SVG_LINE, SVG_STEP, SVG_BAND, SVG_BAR, SVG_STACK, SVG_POINTS, SVG_RULE };

/* One thing that is drawn. */
struct svg_series {
	enum svg_kind kind;
	const char *label;   /* legend; NULL or "" none */
	const double *x;     /* [n] ignored for bars: one category each; SVG_RULE: none */
	const double *y;     /* [n] NaN is a gap; SVG_RULE: y[0] is the level */
	const double *y_low; /* [n] SVG_BAND: the lower edge */
	size_t n;
	int color; /* 0..7 of the palette */
};

struct svg_chart {
	const char *title, *x_label, *y_label; /* NULL or "" none */
	bool x_time;                   /* x are seconds since the epoch, ticks are dates (UTC) */
	const char *const *categories; /* [n_categories] under bars; NULL for an axis of numbers */
	size_t n_categories;
	double y_min, y_max;             /* both NaN, or both 0: from the data, with 0 included */
	int width, height;               /* pixels of the viewBox; 0: 760 x 300 */
	const struct svg_series *series; /* [n_series] drawn in order; bars of one chart stand side
					    by side, stacks on each other */
	size_t n_series;
};

/*
 * Writes one <svg> element without outside resources. Colours are CSS variables with fallbacks and
 * follow prefers-color-scheme, so that the page may be light or dark; <title> elements say each
 * value on hover. standalone adds the XML declaration, for a file of its own.
 */
void svg_chart_write(const struct svg_chart *chart, bool standalone, struct buf *out);
/* Text with & < > " ' escaped and control characters dropped, for SVG and HTML. */
void svg_escape(const char *s, struct buf *out);

#endif
