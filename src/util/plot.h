/* src/util/plot.h - a forecast drawn in a terminal.  Floor: util. */
#ifndef BERTH_UTIL_PLOT_H
#define BERTH_UTIL_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

struct plot_rule {
	const char *name;
	double level;
};

/* History, then the median and a band of what comes. NaN anywhere is a gap. */
struct plot_forecast {
	const char *title;     /* NULL or "" none */
	const char *unit;      /* "GPUs" */
	int64_t t0, step_s;    /* start of history[0] */
	const double *history; /* [n_history] */
	size_t n_history;
	const double *mid; /* [n_ahead] P50; the first step follows history's last */
	const double *hi;  /* [n_ahead] P95, >= mid */
	size_t n_ahead;
	const int64_t
	    *marks; /* [n_marks] instants with a sign on the axis; those outside are left out */
	size_t n_marks;
	const struct plot_rule *rules; /* [n_rules] drawn level where they lie within twice the
					  rest; the key names all */
	size_t n_rules;
};

struct plot_style {
	int columns, rows; /* of the terminal; rows counts the plot without title and axis; at least
			      40 x 6 */
	bool unicode;      /* braille and blocks; else ASCII */
	bool color;
};

/* Several steps that share a column are drawn from their least to their greatest value: peaks are
 * kept. */
void plot_forecast(const struct plot_forecast *p, const struct plot_style *style, struct buf *out);

/* One line of block characters, [n] values scaled 0..max (NaN a blank); for tables. width columns.
 */
void plot_spark(const double *v, size_t n, int width, bool unicode, struct buf *out);

#endif
