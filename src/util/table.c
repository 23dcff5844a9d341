#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "util/arena.h"
#include "util/buf.h"
#include "util/duration.h"
#include "util/opt.h"
#include "util/str.h"
#include "util/table.h"
#include "util/term.h"
#include "util/time.h"
#include "util/vec.h"

enum { TABLE_GAP = 2, TABLE_CUT_MIN = 6, TABLE_CUT_OTHER = 10, TABLE_CUT_WISH = 20 };

struct table_cell {
	bool known;
	int decimals; /* of its own, plus 1; 0: those of the column */
	union {
		const char *s;
		int64_t i;
		double d;
		struct usd_micro m;
	} u;
};

struct table_line {
	enum table_mark mark;
	struct table_cell *cells; /* [n_cols] */
};

struct table {
	struct arena *arena;
	const struct table_col *cols;
	size_t n_cols;
	size_t next; /* column that the next setter fills */
	VEC(struct table_line) lines;
};

struct table *
table_new(struct arena *a, const struct table_col *cols, size_t n)
{
	struct table *t = arena_new_of(a, struct table);

	t->arena = a;
	t->cols = cols;
	t->n_cols = n;
	return t;
}

void
table_row(struct table *t)
{
	struct table_line *line = VEC_ADD(t->arena, &t->lines);

	line->cells = arena_array_of(t->arena, t->n_cols, struct table_cell);
	t->next = 0;
}

/* The cell that the next setter fills. */
static struct table_cell *
table_next(struct table *t)
{
	assert(t->lines.n > 0 && t->next < t->n_cols);
	return &t->lines.v[t->lines.n - 1].cells[t->next++];
}

static enum table_type
table_next_type(const struct table *t)
{
	assert(t->next < t->n_cols);
	return t->cols[t->next].type;
}

void
table_text(struct table *t, const char *s)
{
	struct table_cell *c;

	assert(table_next_type(t) == TABLE_TEXT);
	c = table_next(t);
	c->known = s != NULL && *s != '\0';
	if (c->known)
		c->u.s = arena_strdup(t->arena, s);
}

void
table_int(struct table *t, int64_t v)
{
	assert(table_next_type(t) == TABLE_INT);
	*table_next(t) = (struct table_cell){ .known = true, .u.i = v };
}

void
table_double(struct table *t, double v)
{
	assert(table_next_type(t) == TABLE_DOUBLE || table_next_type(t) == TABLE_SHARE);
	*table_next(t) = (struct table_cell){ .known = isfinite(v), .u.d = v };
}

void
table_double_to(struct table *t, double v, int decimals)
{
	assert(table_next_type(t) == TABLE_DOUBLE && decimals >= 0 && decimals <= 9);
	*table_next(t) =
	    (struct table_cell){ .known = isfinite(v), .decimals = decimals + 1, .u.d = v };
}

void
table_money(struct table *t, struct usd_micro v)
{
	assert(table_next_type(t) == TABLE_MONEY);
	*table_next(t) = (struct table_cell){ .known = usd_known(v), .u.m = v };
}

void
table_time(struct table *t, int64_t v)
{
	enum table_type type = table_next_type(t);

	assert(type == TABLE_TIME || type == TABLE_AGE || type == TABLE_DURATION);
	*table_next(t) =
	    (struct table_cell){ .known = type == TABLE_TIME ? v != 0 : v >= 0, .u.i = v };
}

void
table_bool(struct table *t, bool v)
{
	assert(table_next_type(t) == TABLE_BOOL);
	*table_next(t) = (struct table_cell){ .known = true, .u.i = v };
}

void
table_unknown(struct table *t)
{
	table_next(t)->known = false;
}

void
table_mark(struct table *t, enum table_mark mark)
{
	assert(t->lines.n > 0);
	t->lines.v[t->lines.n - 1].mark = mark;
}

size_t
table_rows(const struct table *t)
{
	return t->lines.n;
}

static const char *
table_clean(struct arena *a, const char *s)
{
	char *copy = arena_strdup(a, s);

	for (char *p = copy; *p != '\0'; p++)
		for (size_t n = str_control_len(p); n > 0; n--)
			p[n - 1] = '?';
	return copy;
}

static const char *
table_age_text(struct arena *a, int64_t s)
{
	if (s < 120)
		return arena_printf(a, "%llds", (long long)s);
	if (s < 7200)
		return arena_printf(a, "%lldm", (long long)(s / 60));
	if (s < 2 * 86400)
		return arena_printf(a, "%lldh", (long long)(s / 3600));
	return arena_printf(a, "%lldd", (long long)(s / 86400));
}

static const char *
table_time_text(struct arena *a, int64_t t, bool csv)
{
	char text[TIME_FMT_SIZE];

	time_fmt(text, t);
	if (csv)
		return arena_strdup(a, text);
	text[10] = ' '; /* "2026-11-30 12:00": the heading or the manual says UTC */
	return arena_strndup(a, text, 16);
}

static const char *
table_double_text(
    struct arena *a, const struct table_col *col, const struct table_cell *c, bool csv)
{
	double v = c->u.d;
	char text[STR_DOUBLE_SIZE];

	if (csv)
		return arena_strdup(a, str_from_double(text, v));
	if (col->type == TABLE_SHARE)
		return arena_printf(a, "%.*f%%", col->decimals, v * 100);
	return arena_printf(a, "%.*f", c->decimals > 0 ? c->decimals - 1 : col->decimals, v);
}

static const char *
table_cell_text(struct arena *a, const struct table_col *col, const struct table_cell *c, bool csv)
{
	char text[USD_FMT_SIZE > DURATION_FMT_SIZE ? USD_FMT_SIZE : DURATION_FMT_SIZE];

	if (!c->known)
		return csv ? "" : "-";
	switch (col->type) {
	case TABLE_TEXT:
		return csv ? c->u.s : table_clean(a, c->u.s);
	case TABLE_INT:
		return arena_printf(a, "%lld", (long long)c->u.i);
	case TABLE_DOUBLE:
	case TABLE_SHARE:
		return table_double_text(a, col, c, csv);
	case TABLE_MONEY:
		return arena_strdup(
		    a, usd_fmt(text, sizeof(text), c->u.m, csv ? 6 : col->decimals));
	case TABLE_TIME:
		return table_time_text(a, c->u.i, csv);
	case TABLE_AGE:
	case TABLE_DURATION:
		if (csv)
			return arena_printf(a, "%lld", (long long)c->u.i);
		return col->type == TABLE_AGE ? table_age_text(a, c->u.i)
					      : arena_strdup(a, duration_fmt(text, c->u.i));
	case TABLE_BOOL:
		return c->u.i != 0 ? "yes" : "no";
	case TABLE_TYPE_COUNT:
		break;
	}
	assert(0 && "column type");
	return "";
}

static const char *
table_head_text(struct arena *a, const struct table_col *col)
{
	char *head;

	if (col->head != NULL)
		return col->head;
	head = arena_strdup(a, col->name);
	for (char *p = head; *p != '\0'; p++)
		*p = *p == '_' ? '-' : *p >= 'a' && *p <= 'z' ? (char)(*p - 'a' + 'A') : *p;
	return head;
}

/* Index of the column that the user calls name: the key or the heading, any case; n_cols if none.
 */
static size_t
table_find(const struct table *t, const char *name)
{
	size_t i;

	for (i = 0; i < t->n_cols; i++)
		if (str_ieq(t->cols[i].name, name) ||
		    str_ieq(table_head_text(t->arena, &t->cols[i]), name))
			break;
	return i;
}

static enum berth_code
table_unknown_column(const struct table *t, const char *name, struct berth_err *err)
{
	const char **names = arena_array_of(t->arena, t->n_cols + 1, const char *), *near;

	for (size_t i = 0; i < t->n_cols; i++)
		names[i] = t->cols[i].name;
	near = str_suggest(name, names);
	err_set(err, BERTH_EUSAGE, "no column '%s'%s%s%s; there are %s", name,
	    near != NULL ? " (did you mean '" : "", near != NULL ? near : "",
	    near != NULL ? "'?)" : "", str_join(t->arena, names, t->n_cols, ","));
	return err_at(err, "--columns");
}

/* Which columns are shown, in order: pick [*n_out]. */
static enum berth_code
table_pick(const struct table *t, const struct table_style *style, size_t **pick_out, size_t *n_out,
    struct berth_err *err)
{
	const struct opt_list *sel = style->select;
	size_t n = 0, *pick;

	if (sel != NULL && sel->n > 0) {
		pick = arena_array_of(t->arena, sel->n, size_t);
		for (; n < sel->n; n++) {
			pick[n] = table_find(t, sel->v[n]);
			if (pick[n] == t->n_cols)
				return table_unknown_column(t, sel->v[n], err);
		}
	} else {
		pick = arena_array_of(t->arena, t->n_cols, size_t);
		for (size_t i = 0; i < t->n_cols; i++)
			if (style->form != TABLE_FORM_TABLE || (t->cols[i].flags & TABLE_WIDE) == 0)
				pick[n++] = i;
	}
	*pick_out = pick;
	*n_out = n;
	return BERTH_OK;
}

static void
table_csv_field(const char *s, struct buf *out)
{
	bool plain = s[strcspn(s, ",\"\r\n")] == '\0' && s[0] != ' ' &&
		     (*s == '\0' || s[strlen(s) - 1] != ' ');

	if (plain) {
		buf_add_str(out, s);
		return;
	}
	buf_add_char(out, '"');
	for (; *s != '\0'; s++) {
		if (*s == '"')
			buf_add_char(out, '"');
		buf_add_char(out, *s);
	}
	buf_add_char(out, '"');
}

/* Cell by cell, since csv is what large results are asked for in. */
static void
table_render_csv(const struct table *t, bool headers, const size_t *pick, size_t n, struct buf *out)
{
	struct arena *scratch = arena_new();

	for (size_t i = 0; headers && i < n; i++) {
		table_csv_field(t->cols[pick[i]].name, out);
		buf_add_char(out, i + 1 < n ? ',' : '\n');
	}
	for (size_t r = 0; r < t->lines.n; r++) {
		for (size_t i = 0; i < n; i++) {
			table_csv_field(table_cell_text(scratch, &t->cols[pick[i]],
					    &t->lines.v[r].cells[pick[i]], true),
			    out);
			buf_add_char(out, i + 1 < n ? ',' : '\n');
		}
		if (r % 256 == 255)
			arena_reset(scratch);
	}
	arena_free(scratch);
}

/* The widest column that may be cut and is wider than least; n: there is none. names: also those of
 * names. */
static size_t
table_widest(
    const struct table *t, const size_t *pick, size_t n, const int *width, bool names, int least)
{
	size_t best = n;

	for (size_t i = 0; i < n; i++) {
		unsigned flags = t->cols[pick[i]].flags;

		if ((flags & TABLE_CUT) != 0 && (names || (flags & TABLE_NAME) != TABLE_NAME) &&
		    width[i] > least && (best == n || width[i] > width[best]))
			best = i;
	}
	return best;
}

/*
 * Narrows a column that may be cut, names last, one column of the terminal at a time, until the
 * table fits; before any has less than it should, one space between columns must do. Returns the
 * spaces between columns.
 */
static int
table_fit(const struct table *t, const size_t *pick, size_t n, int columns, int *width)
{
	int gaps = (int)(n > 0 ? n - 1 : 0), gap = TABLE_GAP, total = gaps * gap, wish = total;

	for (size_t i = 0; i < n; i++) {
		bool cut = (t->cols[pick[i]].flags & TABLE_CUT) != 0;

		total += width[i];
		wish += cut && width[i] > TABLE_CUT_WISH ? TABLE_CUT_WISH : width[i];
	}
	if (wish > columns) {
		gap = 1;
		total -= gaps * (TABLE_GAP - gap);
	}
	while (total > columns) {
		size_t best = table_widest(t, pick, n, width, false, TABLE_CUT_OTHER);

		if (best == n)
			best = table_widest(t, pick, n, width, true, TABLE_CUT_MIN);
		if (best == n)
			return gap;
		width[best]--;
		total--;
	}
	return gap;
}

static void
table_pad(struct buf *out, int n)
{
	for (; n > 0; n--)
		buf_add_char(out, ' ');
}

/* The end of s in at most so many columns; returns how many it takes. */
static int
table_tail(const char *s, int columns, struct buf *out)
{
	const char *at = s + strlen(s);

	while (at > s) {
		const char *before = at - 1;

		while (before > s && ((unsigned char)*before & 0xc0) == 0x80)
			before--;
		if (term_width(before) > columns)
			break;
		at = before;
	}
	buf_add_str(out, at);
	return term_width(at);
}

static void
table_field(const struct table_col *col, const char *s, int width, bool last, struct buf *out)
{
	int w = term_width(s);
	bool right = col->type != TABLE_TEXT && col->type != TABLE_BOOL && col->type != TABLE_TIME;

	if (w > width) { /* only columns that may be cut are narrower than their text */
		int tail = (col->flags & TABLE_NAME) == TABLE_NAME ? (width - 1) * 2 / 3 : 0, end;

		buf_add(out, s, term_fit(s, width - 1 - tail));
		buf_add_str(out, term_unicode() ? "\xe2\x80\xa6" : "~");
		end = tail > 0 ? table_tail(s, tail, out) : 0;
		table_pad(out, last ? 0 : tail - end);
		return;
	}
	if (right)
		table_pad(out, width - w);
	buf_add_str(out, s);
	if (!right && !last)
		table_pad(out, width - w);
}

static const char *
table_mark_code(enum table_mark mark)
{
	switch (mark) {
	case TABLE_PLAIN:
		return "";
	case TABLE_BOLD:
		return "\033[1m";
	case TABLE_DIM:
		return "\033[2m";
	case TABLE_RED:
		return "\033[31m";
	case TABLE_GREEN:
		return "\033[32m";
	case TABLE_YELLOW:
		return "\033[33m";
	}
	return "";
}

static void
table_render_text(const struct table *t, const struct table_style *style, const size_t *pick,
    size_t n, const char *const *text, struct buf *out)
{
	size_t head = style->headers ? 1 : 0, n_lines = t->lines.n + head;
	int *width = arena_array_of(t->arena, n, int), gap = TABLE_GAP;

	for (size_t k = 0; k < n_lines * n; k++) {
		int w = term_width(text[k]);

		width[k % n] = w > width[k % n] ? w : width[k % n];
	}
	if (style->columns > 0 && style->form == TABLE_FORM_TABLE)
		gap = table_fit(t, pick, n, style->columns, width);
	for (size_t r = 0; r < n_lines; r++) {
		enum table_mark mark = r < head ? TABLE_BOLD : t->lines.v[r - head].mark;
		bool color = style->color && mark != TABLE_PLAIN;

		if (color)
			buf_add_str(out, table_mark_code(mark));
		for (size_t i = 0; i < n; i++) {
			if (i > 0)
				table_pad(out, gap);
			table_field(&t->cols[pick[i]], text[r * n + i], width[i], i + 1 == n, out);
		}
		if (color)
			buf_add_str(out, "\033[0m");
		buf_add_char(out, '\n');
	}
}

/* Leaves out spare columns, the last first, until names have room; returns how many columns are
 * left. */
static size_t
table_spare(const struct table *t, bool headers, int columns, size_t *pick, size_t n)
{
	int *width = arena_array_of(t->arena, n, int), total = (int)n * TABLE_GAP - TABLE_GAP;

	for (size_t i = 0; i < n; i++) {
		const struct table_col *col = &t->cols[pick[i]];

		width[i] = headers ? term_width(table_head_text(t->arena, col)) : 0;
		for (size_t r = 0; r < t->lines.n; r++) {
			int w = term_width(
			    table_cell_text(t->arena, col, &t->lines.v[r].cells[pick[i]], false));

			width[i] = w > width[i] ? w : width[i];
		}
		if ((col->flags & TABLE_CUT) != 0 && width[i] > TABLE_CUT_WISH)
			width[i] = TABLE_CUT_WISH;
		total += width[i];
	}
	for (size_t i = n; i-- > 0 && total > columns;)
		if ((t->cols[pick[i]].flags & TABLE_SPARE) != 0) {
			total -= width[i] + TABLE_GAP;
			memmove(pick + i, pick + i + 1, (n - i - 1) * sizeof(*pick));
			n--;
		}
	return n;
}

/* Every cell as text, then what is on the page. */
static void
table_render_page(
    const struct table *t, const struct table_style *style, size_t *pick, size_t n, struct buf *out)
{
	size_t head = style->headers ? 1 : 0;
	const char **text;

	if (style->form == TABLE_FORM_TABLE && style->columns > 0 &&
	    (style->select == NULL || style->select->n == 0))
		n = table_spare(t, style->headers, style->columns, pick, n);
	text = arena_array_of(t->arena, (t->lines.n + head) * n, const char *);
	for (size_t i = 0; i < n; i++) {
		if (head == 1)
			text[i] = table_head_text(t->arena, &t->cols[pick[i]]);
		for (size_t r = 0; r < t->lines.n; r++)
			text[(r + head) * n + i] = table_cell_text(
			    t->arena, &t->cols[pick[i]], &t->lines.v[r].cells[pick[i]], false);
	}
	table_render_text(t, style, pick, n, text, out);
}

enum berth_code
table_render(
    const struct table *t, const struct table_style *style, struct buf *out, struct berth_err *err)
{
	size_t n = 0, *pick = NULL;
	enum berth_code rc;

	rc = table_pick(t, style, &pick, &n, err);
	if (rc != BERTH_OK || n == 0)
		return rc;
	if (style->form == TABLE_FORM_CSV)
		table_render_csv(t, style->headers, pick, n, out);
	else
		table_render_page(t, style, pick, n, out);
	return buf_check(out, "table", err);
}
