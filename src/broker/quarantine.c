#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker/quarantine.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/fileio.h"
#include "util/json.h"
#include "util/str.h"
#include "util/time.h"
#include "util/vec.h"

#define QUARANTINE_FILE_MAX ((size_t)256 * 1024 * 1024)

static void
quarantine_csv_field(struct buf *b, const char *s)
{
	if (strpbrk(s, ",\"\r\n") == NULL) {
		buf_add_str(b, s);
		return;
	}
	buf_add_char(b, '"');
	for (; *s != '\0'; s++) {
		if (*s == '"')
			buf_add_char(b, '"');
		buf_add_char(b, *s);
	}
	buf_add_char(b, '"');
}

static void
quarantine_csv_number(struct buf *b, double x)
{
	char text[STR_DOUBLE_SIZE];

	if (!isnan(x))
		buf_add_str(b, str_from_double(text, x));
	buf_add_char(b, ',');
}

static void
quarantine_csv_money(struct buf *b, struct usd_micro v)
{
	char text[USD_FMT_SIZE];

	if (usd_known(v))
		buf_add_str(b, usd_fmt(text, sizeof(text), v, 6));
	buf_add_char(b, ',');
}

/* One row of berth's own layout, which `prices import` reads. */
static void
quarantine_csv_row(struct buf *b, const struct offer *o)
{
	const char *names[] = { o->provider, o->region, o->zone, o->instance_type, o->accelerator };
	char t[TIME_FMT_SIZE];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		quarantine_csv_field(b, names[i]);
		buf_add_char(b, ',');
	}
	buf_printf(b, "%d,", o->accelerator_count);
	quarantine_csv_number(b, o->accelerator_memory_gib);
	quarantine_csv_number(b, o->vcpus);
	quarantine_csv_number(b, o->memory_gib);
	buf_printf(b, "%s,", purchase_name(o->purchase));
	if (o->kind == OFFER_BLOCK)
		buf_printf(b, ",%s,", payment_name(o->payment));
	else if (o->purchase == PURCHASE_RESERVED)
		buf_printf(b, "%d,%s,", o->term_months, payment_name(o->payment));
	else
		buf_add_str(b, ",,");
	quarantine_csv_money(b, o->upfront);
	quarantine_csv_money(b, o->price);
	buf_printf(b, "%s,", o->currency);
	quarantine_csv_number(b, o->interruption_rate);
	buf_printf(b, "%s,", o->as_of != 0 ? time_fmt(t, o->as_of) : "");
	quarantine_csv_field(b, o->source);
	buf_printf(b, ",%s,%s,", offer_kind_name(o->kind),
	    o->starts_at != 0 ? time_fmt(t, o->starts_at) : "");
	buf_printf(b, "%s,", o->ends_at != 0 ? time_fmt(t, o->ends_at) : "");
	quarantine_csv_money(b, o->usage.v != 0 ? o->usage : USD_UNKNOWN);
	buf_printf(b, "%s\n", o->available != AVAIL_UNKNOWN ? availability_name(o->available) : "");
}

static const char *
quarantine_name(const struct quarantine *q, struct arena *a)
{
	const char *const parts[] = { q->provider, q->account, q->source };
	char *name = arena_strdup(a, "");

	for (size_t i = 0; i < 3; i++)
		if (parts[i][0] != '\0')
			name =
			    arena_printf(a, "%s%s%s", name, name[0] != '\0' ? "-" : "", parts[i]);
	for (char *p = name; *p != '\0'; p++)
		if (!str_is_alnum(*p) && *p != '-' && *p != '.')
			*p = '_';
	return name;
}

static enum berth_code
quarantine_write_csv(const char *path, const struct offer *offers, size_t n, struct berth_err *err)
{
	enum berth_code rc;
	struct buf b;

	buf_init(&b, QUARANTINE_FILE_MAX);
	buf_add_str(&b, "provider,region,zone,instance_type,accelerator,accelerator_count,"
			"accelerator_memory_gib,vcpus,"
			"memory_gib,purchase,term_months,payment,upfront,price_per_hour,currency,"
			"interruption_rate,as_of,source,kind,"
			"starts_at,ends_at,usage_price_per_hour,available\n");
	for (size_t i = 0; i < n; i++)
		quarantine_csv_row(&b, &offers[i]);
	rc = buf_check(&b, path, err);
	if (rc == BERTH_OK)
		rc = fileio_mkdirs_for(path, err);
	if (rc == BERTH_OK)
		rc = atomicfile_write(path, b.p, b.len, 0600, err);
	buf_free(&b);
	return rc;
}

static enum berth_code
quarantine_write_why(const char *path, const struct quarantine *q, struct berth_err *err)
{
	enum berth_code rc;
	struct jsonw w;
	struct buf b;

	buf_init(&b, 65536);
	jsonw_init_buf(&w, &b, JSONW_PRETTY);
	jsonw_begin_object(&w, NULL);
	jsonw_str(&w, "schema", "berth.quarantine/1");
	jsonw_str(&w, "provider", q->provider);
	jsonw_str(&w, "account", q->account);
	jsonw_str(&w, "source", q->source);
	jsonw_str(&w, "why", q->why);
	jsonw_int(&w, "offers", (int64_t)q->offers);
	jsonw_time(&w, "at", q->at);
	jsonw_end_object(&w);
	rc = jsonw_finish(&w, err);
	if (rc == BERTH_OK)
		rc = atomicfile_write(path, b.p, b.len, 0600, err);
	buf_free(&b);
	return rc;
}

enum berth_code
quarantine_put(const char *dir, struct quarantine *q, const struct offer *offers, size_t n,
    bool dry, struct arena *a, struct berth_err *err)
{
	enum berth_code rc;

	q->name = quarantine_name(q, a);
	q->path = arena_printf(a, "%s/%s.csv", dir, q->name);
	q->offers = n;
	if (dry)
		return BERTH_OK;
	rc = quarantine_write_csv(q->path, offers, n, err);
	return rc == BERTH_OK
		   ? quarantine_write_why(arena_printf(a, "%s/%s.json", dir, q->name), q, err)
		   : rc;
}

static enum berth_code
quarantine_read(
    const char *dir, const char *name, struct arena *a, struct quarantine *q, struct berth_err *err)
{
	const char *path = arena_printf(a, "%s/%s.json", dir, name);
	struct jsonr root;
	json_t *v = NULL;
	int64_t offers = 0;
	enum berth_code rc;
	char *bytes;
	size_t n;

	*q = (struct quarantine){ .name = name,
		.path = arena_printf(a, "%s/%s.csv", dir, name),
		.provider = "",
		.account = "",
		.source = "",
		.why = "" };
	if ((rc = fileio_slurp(a, path, 65536, &bytes, &n, err)) != BERTH_OK ||
	    (rc = jsonr_parse(bytes, n, path, &v, err)) != BERTH_OK)
		return rc;
	root = jsonr_root(v, path);
	if ((rc = jsonr_str(&root, "provider", &q->provider, err)) == BERTH_OK &&
	    (rc = jsonr_str(&root, "account", &q->account, err)) == BERTH_OK &&
	    (rc = jsonr_str(&root, "source", &q->source, err)) == BERTH_OK &&
	    (rc = jsonr_str(&root, "why", &q->why, err)) == BERTH_OK &&
	    (rc = jsonr_int(&root, "offers", 0, INT32_MAX, &offers, err)) == BERTH_OK)
		rc = jsonr_time(&root, "at", &q->at, err);
	q->provider = arena_strdup(a, q->provider);
	q->account = arena_strdup(a, q->account);
	q->source = arena_strdup(a, q->source);
	q->why = arena_strdup(a, q->why);
	q->offers = (size_t)offers;
	json_decref(v);
	return rc;
}

static int
quarantine_by_name(const void *a, const void *b)
{
	return strcmp(((const struct quarantine *)a)->name, ((const struct quarantine *)b)->name);
}

enum berth_code
quarantine_list(const char *dir, struct arena *a, struct quarantine **v_out, size_t *n_out,
    struct berth_err *err)
{
	VEC(struct quarantine) all = { 0 };
	enum berth_code rc = BERTH_OK;
	const struct dirent *e;
	DIR *d = opendir(dir);

	while (rc == BERTH_OK && d != NULL && (e = readdir(d)) != NULL) {
		size_t n = strlen(e->d_name);

		if (n > 5 && str_eq(e->d_name + n - 5, ".json"))
			rc = quarantine_read(
			    dir, arena_strndup(a, e->d_name, n - 5), a, VEC_ADD(a, &all), err);
	}
	if (d != NULL)
		(void)closedir(d);
	if (all.n > 1)
		qsort(all.v, all.n, sizeof(*all.v), quarantine_by_name);
	*v_out = all.v;
	*n_out = all.n;
	return rc;
}

void
quarantine_drop(const char *dir, const struct quarantine *q, struct arena *a)
{
	const char *name = quarantine_name(q, a);

	(void)unlink(arena_printf(a, "%s/%s.json", dir, name));
	(void)unlink(arena_printf(a, "%s/%s.csv", dir, name));
}
