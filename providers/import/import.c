#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/accel.h"
#include "model/offerkey.h"
#include "providers/aws/aws_file.h"
#include "providers/import/row.h"
#include "providers/prov.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/strmap.h"

struct import_name {
	const char *spelled; /* one of texts; NULL: none yet */
	double memory_gib;   /* as the row has it */
	struct offer found;
};

struct import {
	const struct import_opts *opts;
	struct arena *a, *scratch;
	struct import_result *out;
	struct offerkey_set have; /* of offers */
	struct strmap unknown, places;
	struct strmap texts; /* one copy of each: a list says the same few over and over */
	struct row_memo memo;
	struct import_name name; /* that was resolved last */
	VEC(long) lines;         /* of each offer */
	VEC(const char *) names;
};

static char *
import_key_text(char *p, const char *s)
{
	size_t n = strlen(s);

	memcpy(p, s, n);
	p[n] = '\t';
	return p + n + 1;
}

static char *
import_key_int(char *p, int v)
{
	char digits[16];
	int n = 0;

	if (v < 0)
		*p++ = '-';
	for (unsigned u = v < 0 ? 0u - (unsigned)v : (unsigned)v; n == 0 || u > 0; u /= 10)
		digits[n++] = (char)('0' + u % 10);
	while (n > 0)
		*p++ = digits[--n];
	*p = '\t';
	return p + 1;
}

const char *
import_offer_key(const struct offer *o, struct arena *a)
{
	const char *const texts[] = { o->provider, o->region, o->zone, o->instance_type,
		o->accelerator, o->currency };
	const int ints[] = { o->accelerator_count, (int)o->kind, (int)o->purchase, o->term_months,
		(int)o->payment };
	size_t n = 12 * sizeof(ints) / sizeof(ints[0]) + sizeof(texts) / sizeof(texts[0]);
	char *key, *p;

	if (o->kind == OFFER_BLOCK || o->usage.v != 0)
		n += 48;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		n += strlen(texts[i]);
	key = p = arena_alloc(a, n + 1);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		p = import_key_text(p, texts[i]);
	for (size_t i = 0; i < sizeof(ints) / sizeof(ints[0]); i++)
		p = import_key_int(p, ints[i]);
	if (o->kind == OFFER_BLOCK)
		p += snprintf(p, 48, "%lld\t%lld", (long long)o->starts_at, (long long)o->ends_at);
	if (o->usage.v != 0)
		p += snprintf(p, 8, "parts\t");
	*p = '\0';
	return key;
}

static void
import_note(
    const struct import *im, long line, const char *provider, bool refused, const char *message)
{
	if (refused)
		im->out->refused++;
	if (im->opts->note != NULL)
		im->opts->note(im->opts->note_arg, line, provider, refused, message);
}

/* What an hour costs in all, in the order of prices; in another currency the price alone. */
static int
import_price_cmp(const struct offer *a, const struct offer *b)
{
	struct usd_micro x = offer_effective_hour(a), y = offer_effective_hour(b);

	return usd_known(x) && usd_known(y) ? usd_cmp(x, y) : usd_cmp(a->price, b->price);
}

/* Whether b should take a's place: younger, else dearer (nothing is promised too cheaply); a known
 * price before none. */
static bool
import_better(const struct offer *a, const struct offer *b)
{
	if (usd_known(a->price) != usd_known(b->price))
		return usd_known(b->price);
	if (a->as_of != b->as_of)
		return b->as_of > a->as_of;
	return import_price_cmp(b, a) > 0;
}

static void
import_double(struct import *im, size_t i, const struct offer *o, long line)
{
	struct offer *old = &im->out->offers.v[i];
	bool swap = import_better(old, o);
	const struct offer *win = swap ? o : old, *lose = swap ? old : o;
	long win_line = swap ? line : im->lines.v[i], lose_line = swap ? im->lines.v[i] : line;
	const char *why = usd_known(win->price) && !usd_known(lose->price) ? "has a price"
			  : win->as_of != lose->as_of                      ? "is younger"
			  : import_price_cmp(win, lose) != 0               ? "is dearer"
									   : "says the same";
	char text[160];

	snprintf(text, sizeof(text), "the same offer as line %ld, which %s", win_line, why);
	import_note(im, lose_line, lose->provider, true, text);
	if (swap) {
		*old = *o;
		im->lines.v[i] = line;
	}
}

static const char *
import_text(struct import *im, const char *s)
{
	return strmap_intern(im->a, &im->texts, s);
}

/* Feeds of AWS name regions by their places, each in its own spelling. */
static const char *
import_region(struct import *im, const char *provider, const char *region)
{
	const char *known;
	int added = 0;

	if (!str_eq(provider, "aws") || strpbrk(region, " (") == NULL)
		return region;
	arena_reset(im->scratch);
	known = aws_file_region(im->scratch, region);
	if (known == NULL)
		strmap_add(im->a, &im->places, region, 1, &added);
	if (added)
		VEC_PUSH(im->a, &im->out->unknown_places, region);
	return known != NULL ? import_text(im, known) : region;
}

/* prov_offer_resolve(), which rows that follow one another mostly ask the same of. */
static void
import_resolve(struct import *im, struct offer *o)
{
	struct import_name *m = &im->name;

	if (m->spelled != o->accelerator ||
	    !(m->memory_gib == o->accelerator_memory_gib ||
		(isnan(m->memory_gib) && isnan(o->accelerator_memory_gib)))) {
		m->spelled = o->accelerator;
		m->memory_gib = o->accelerator_memory_gib;
		m->found = *o;
		prov_offer_resolve(im->opts->accels, &m->found);
	}
	o->accelerator = m->found.accelerator;
	o->accelerator_known = m->found.accelerator_known;
	o->accelerator_memory_gib = m->found.accelerator_memory_gib;
}

static void
import_add(struct import *im, const struct offer *raw, long line)
{
	struct offer o = *raw;
	size_t at;
	int added = 0;

	o.provider = import_text(im, o.provider);
	o.region = import_region(im, o.provider, import_text(im, o.region));
	o.zone = import_text(im, o.zone);
	o.instance_type = import_text(im, o.instance_type);
	o.accelerator = import_text(im, o.accelerator);
	o.source = import_text(im, o.source);
	import_resolve(im, &o);
	if (!o.accelerator_known) {
		strmap_add(im->a, &im->unknown, o.accelerator, 0, &added);
		if (added)
			VEC_PUSH(im->a, &im->names, o.accelerator);
	}
	VEC_PUSH(im->a, &im->out->offers, o);
	at = offerkey_add(im->a, &im->have, im->out->offers.v, im->out->offers.n - 1);
	if (at + 1 == im->out->offers.n) {
		VEC_PUSH(im->a, &im->lines, line);
	} else {
		im->out->offers.n--;
		import_double(im, at, &o, line);
	}
}

static void
import_row(struct import *im, const struct layout *l, const struct csv_row *row)
{
	const char *provider;
	struct row_out out;
	struct berth_err err;

	row_trim(row->field, row->n);
	provider = row_provider(l, row->field, im->opts, im->a);
	if (row_read(l, row->field, im->opts, &im->memo, im->a, &out, &err) != BERTH_OK) {
		import_note(im, row->line, provider, true, err.msg);
		return;
	}
	im->out->skipped += out.n == 0;
	if (out.doubt != NULL)
		import_note(im, row->line, provider, false, out.doubt);
	for (size_t i = 0; i < out.n; i++)
		import_add(im, &out.offer[i], row->line);
}

enum berth_code
import_read(struct csv *csv, const struct import_opts *opts, struct arena *a,
    struct import_result *result_out, struct berth_err *err)
{
	struct import im = { .opts = opts, .a = a, .out = result_out };
	const struct csv_row *row;
	struct berth_err own;
	struct layout l;
	enum berth_code rc = layout_find(csv, &l, err);

	memset(result_out, 0, sizeof(*result_out));
	if (rc != BERTH_OK)
		return rc;
	result_out->format = l.format;
	im.scratch = arena_new();
	for (;;) {
		rc = csv_next(csv, &row, &own);
		if (rc == BERTH_EINVAL) {
			result_out->rows++;
			import_note(&im, csv_line(csv),
			    opts->provider != NULL ? opts->provider : "", true, own.msg);
			continue;
		}
		if (rc != BERTH_OK || row == NULL)
			break;
		result_out->rows++;
		import_row(&im, &l, row);
	}
	arena_free(im.scratch);
	for (size_t i = 0; i < result_out->offers.n; i++)
		result_out->unknown_price += !usd_known(result_out->offers.v[i].price);
	result_out->unknown_names = im.names.v;
	result_out->n_unknown_names = im.names.n;
	if (rc != BERTH_OK && err != NULL)
		*err = own;
	return rc;
}
