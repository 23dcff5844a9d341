#include "model/acceltab.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/accelkey.h"
#include "model/datapath.h"
#include "util/csv.h"
#include "util/str.h"
#include "util/vec.h"

enum acceltab_column {
	COL_KIND,
	COL_NAME,
	COL_FAMILY,
	COL_FORM,
	COL_ALIASES,
	COL_VENDOR,
	COL_YEAR,
	COL_MEMORY,
	COL_BANDWIDTH,
	COL_FP64,
	COL_FP64_MMA,
	COL_FP32,
	COL_TF32,
	COL_FP16,
	COL_BF16,
	COL_FP8,
	COL_INT8,
	COL_FP4,
	COL_LINK,
	COL_TDP,
	COL_CC,
	COL_SM,
	COL_MIG,
	COL_CONFIDENCE,
	COL_SOURCE,
	COL_NOTE,
	COL_COUNT
};

static const char *const acceltab_columns[COL_COUNT] = {
	[COL_KIND] = "kind",
	[COL_NAME] = "name",
	[COL_FAMILY] = "family",
	[COL_FORM] = "form",
	[COL_ALIASES] = "aliases",
	[COL_VENDOR] = "vendor",
	[COL_YEAR] = "year",
	[COL_MEMORY] = "memory_gib",
	[COL_BANDWIDTH] = "bandwidth_gb_s",
	[COL_FP64] = "fp64",
	[COL_FP64_MMA] = "fp64_mma",
	[COL_FP32] = "fp32",
	[COL_TF32] = "tf32",
	[COL_FP16] = "fp16",
	[COL_BF16] = "bf16",
	[COL_FP8] = "fp8",
	[COL_INT8] = "int8",
	[COL_FP4] = "fp4",
	[COL_LINK] = "link_gb_s",
	[COL_TDP] = "tdp_w",
	[COL_CC] = "compute_capability",
	[COL_SM] = "sm_count",
	[COL_MIG] = "mig_slices",
	[COL_CONFIDENCE] = "confidence",
	[COL_SOURCE] = "source",
	[COL_NOTE] = "note",
};

/* One line of the file; a group's line only carries aliases of a group that the products make. */
struct acceltab_row {
	struct accel accel;
	bool is_group;
	const char *aliases;
	long line;
};

/* A group while its members are collected. */
struct acceltab_group {
	struct accel accel;
	const struct accel **members;
	size_t n;
};

struct acceltab_load {
	const char *path;
	struct csv *csv;
	struct arena *arena;
	struct accel_table *tab;
	VEC(struct acceltab_row) rows;
	VEC(const struct accel *) all;
	VEC(long) lines; /* of each in all: where it came from */
};

static enum berth_code
acceltab_number(struct acceltab_load *l, const struct csv_row *row, const int *col,
    enum acceltab_column c, double *out, struct berth_err *err)
{
	const char *s = row->field[col[c]];

	*out = NAN;
	if (s[0] == '\0')
		return BERTH_OK;
	if (str_to_double(s, 1e-6, 1e9, out, err) != BERTH_OK)
		return csv_err(l->csv, err, acceltab_columns[c]);
	return BERTH_OK;
}

static enum berth_code
acceltab_whole(struct acceltab_load *l, const struct csv_row *row, const int *col,
    enum acceltab_column c, int max, int *out, struct berth_err *err)
{
	const char *s = row->field[col[c]];
	int64_t v;

	*out = 0;
	if (s[0] == '\0')
		return BERTH_OK;
	if (str_to_i64(s, 1, max, &v, err) != BERTH_OK)
		return csv_err(l->csv, err, acceltab_columns[c]);
	*out = (int)v;
	return BERTH_OK;
}

static enum berth_code
acceltab_numbers(struct acceltab_load *l, const struct csv_row *row, const int *col,
    struct accel *a, struct berth_err *err)
{
	enum berth_code rc;

	if ((rc = acceltab_whole(l, row, col, COL_YEAR, 2100, &a->year, err)) != BERTH_OK ||
	    (rc = acceltab_whole(l, row, col, COL_SM, 100000, &a->sm_count, err)) != BERTH_OK ||
	    (rc = acceltab_whole(l, row, col, COL_MIG, 16, &a->mig_slices, err)) != BERTH_OK ||
	    (rc = acceltab_number(l, row, col, COL_MEMORY, &a->memory_gib, err)) != BERTH_OK ||
	    (rc = acceltab_number(l, row, col, COL_BANDWIDTH, &a->bandwidth_gb_s, err)) !=
		BERTH_OK ||
	    (rc = acceltab_number(l, row, col, COL_LINK, &a->link_gb_s, err)) != BERTH_OK ||
	    (rc = acceltab_number(l, row, col, COL_TDP, &a->tdp_w, err)) != BERTH_OK)
		return rc;
	for (int p = 0; p < PRECISION_COUNT; p++) {
		rc = acceltab_number(
		    l, row, col, (enum acceltab_column)(COL_FP64 + p), &a->peak_tflops[p], err);
		if (rc != BERTH_OK)
			return rc;
	}
	return BERTH_OK;
}

static enum berth_code
acceltab_read_row(
    struct acceltab_load *l, const struct csv_row *row, const int *col, struct berth_err *err)
{
	struct acceltab_row *r = VEC_ADD(l->arena, &l->rows);
	struct accel *a = &r->accel;
	const char *kind = row->field[col[COL_KIND]];

	r->line = row->line;
	r->is_group = str_eq(kind, "group");
	r->aliases = arena_strdup(l->arena, row->field[col[COL_ALIASES]]);
	a->name = str_trim(l->arena, row->field[col[COL_NAME]]);
	a->family = str_trim(l->arena, row->field[col[COL_FAMILY]]);
	a->form = arena_strdup(l->arena, row->field[col[COL_FORM]]);
	a->vendor = arena_strdup(l->arena, row->field[col[COL_VENDOR]]);
	a->compute_capability = arena_strdup(l->arena, row->field[col[COL_CC]]);
	a->confidence = arena_strdup(l->arena, row->field[col[COL_CONFIDENCE]]);
	a->source = arena_strdup(l->arena, row->field[col[COL_SOURCE]]);
	a->note = arena_strdup(l->arena, row->field[col[COL_NOTE]]);
	if (!r->is_group && !str_eq(kind, "product")) {
		err_set(err, BERTH_EINVAL, "'%.40s' is neither product nor group", kind);
		return csv_err(l->csv, err, "kind");
	}
	if (a->name[0] == '\0' ||
	    (!r->is_group && (a->family[0] == '\0' || a->vendor[0] == '\0'))) {
		err_set(
		    err, BERTH_EINVAL, "a product needs name, family and vendor, a group its name");
		return csv_err(l->csv, err, NULL);
	}
	return acceltab_numbers(l, row, col, a, err);
}

static enum berth_code
acceltab_read(struct acceltab_load *l, struct berth_err *err)
{
	const struct csv_row *row;
	int col[COL_COUNT];
	enum berth_code rc;

	for (int c = 0; c < COL_COUNT; c++)
		if ((rc = csv_need(l->csv, acceltab_columns[c], &col[c], err)) != BERTH_OK)
			return rc;
	while ((rc = csv_next(l->csv, &row, err)) == BERTH_OK && row != NULL)
		if ((rc = acceltab_read_row(l, row, col, err)) != BERTH_OK)
			return rc;
	if (rc == BERTH_OK && l->rows.n == 0) {
		err_set(err, BERTH_EINVAL, "no accelerator in it");
		rc = err_at(err, "%s", l->path);
	}
	return rc;
}

/* Makes one spelling mean the index-th accelerator; a spelling means one thing only. */
static enum berth_code
acceltab_claim(
    struct acceltab_load *l, const char *spelling, size_t index, long line, struct berth_err *err)
{
	struct accelkey k;
	char key[ACCELKEY_BYTES];
	size_t *at;
	int added;

	if (!accelkey_split(&k, spelling, strlen(spelling)) || k.n == 0) {
		err_set(err, BERTH_EINVAL, "name or alias '%.40s' is too long or says nothing",
		    spelling);
		return err_at(err, "%s:%ld", l->path, line);
	}
	accelkey_join(&k, 0, k.n, key);
	at = strmap_add(l->arena, &l->tab->keys, key, index, &added);
	if (!added && *at != index) {
		err_set(err, BERTH_EINVAL,
		    "'%.40s' means %s already (line %ld), it cannot mean %s too", spelling,
		    l->all.v[*at]->name, l->lines.v[*at], l->all.v[index]->name);
		return err_at(err, "%s:%ld", l->path, line);
	}
	return BERTH_OK;
}

static double
acceltab_least(double a, double b)
{
	return isnan(a) || isnan(b) ? NAN : fmin(a, b);
}

/* Takes what a group can promise: the least of its members' figures, and words only where they
 * agree. */
static void
acceltab_weaken(struct accel *g, const struct accel *m)
{
	g->bandwidth_gb_s = acceltab_least(g->bandwidth_gb_s, m->bandwidth_gb_s);
	g->memory_gib = acceltab_least(g->memory_gib, m->memory_gib);
	g->link_gb_s = acceltab_least(g->link_gb_s, m->link_gb_s);
	g->tdp_w = isnan(g->tdp_w) || isnan(m->tdp_w) ? NAN : fmax(g->tdp_w, m->tdp_w);
	for (int p = 0; p < PRECISION_COUNT; p++)
		g->peak_tflops[p] = acceltab_least(g->peak_tflops[p], m->peak_tflops[p]);
	g->year = g->year < m->year ? g->year : m->year;
	g->sm_count = g->sm_count < m->sm_count ? g->sm_count : m->sm_count;
	g->mig_slices = g->mig_slices == m->mig_slices ? g->mig_slices : 0;
	if (!str_eq(g->compute_capability, m->compute_capability))
		g->compute_capability = "";
}

static bool
acceltab_same_members(const struct accel *a, const struct acceltab_group *g)
{
	if (a->n_members != g->n)
		return false;
	for (size_t i = 0; i < g->n; i++)
		if (a->members[i] != g->members[i])
			return false;
	return true;
}

/* The index of the group, made if it is new; of the product if it is the only one. */
static size_t
acceltab_place(struct acceltab_load *l, struct acceltab_group *g, const char *name, long line)
{
	size_t n_products = l->tab->n_products;
	struct accel *a;

	if (g->n == 1)
		for (size_t i = 0; i < n_products; i++)
			if (l->all.v[i] == g->members[0])
				return i;
	for (size_t i = n_products; i < l->all.n; i++)
		if (acceltab_same_members(l->all.v[i], g))
			return i;
	a = arena_memdup(l->arena, &g->accel, sizeof(g->accel));
	a->name = name;
	a->confidence = a->source = "";
	a->note = "figures are the least of the group's";
	a->members = arena_memdup(l->arena, g->members, g->n * sizeof(*g->members));
	a->n_members = g->n;
	VEC_PUSH(l->arena, &l->all, a);
	VEC_PUSH(l->arena, &l->lines, line);
	return l->all.n - 1;
}

/* Members of p's family, and of its memory and form where those are asked for. */
static void
acceltab_collect(struct acceltab_load *l, const struct accel *p, bool by_memory, bool by_form,
    struct acceltab_group *g)
{
	g->n = 0;
	for (size_t i = 0; i < l->tab->n_products; i++) {
		const struct accel *m = l->all.v[i];

		if (!str_eq(m->family, p->family) || (by_form && !str_eq(m->form, p->form)) ||
		    (by_memory && !(fabs(m->memory_gib - p->memory_gib) < 0.5)))
			continue;
		if (g->n == 0)
			g->accel = *m;
		else
			acceltab_weaken(&g->accel, m);
		g->accel.form = by_form ? p->form : "";
		g->members[g->n++] = m;
	}
}

/* Family, family-memory and family-form of one product. */
static enum berth_code
acceltab_group(struct acceltab_load *l, size_t i, struct acceltab_group *g, struct berth_err *err)
{
	static const char *const units[] = { "GB", "G", "GiB" };
	const struct accel *p = l->all.v[i];
	long line = l->lines.v[i];
	enum berth_code rc;
	size_t at;

	acceltab_collect(l, p, false, false, g);
	at = acceltab_place(l, g, p->family, line);
	if ((rc = acceltab_claim(l, p->family, at, line, err)) != BERTH_OK)
		return rc;
	if (!isnan(p->memory_gib)) {
		acceltab_collect(l, p, true, false, g);
		at = acceltab_place(
		    l, g, arena_printf(l->arena, "%s-%gGB", p->family, p->memory_gib), line);
		for (size_t u = 0; u < sizeof(units) / sizeof(units[0]) && rc == BERTH_OK; u++)
			rc = acceltab_claim(l,
			    arena_printf(l->arena, "%s-%g%s", p->family, p->memory_gib, units[u]),
			    at, line, err);
	}
	if (rc == BERTH_OK && p->form[0] != '\0') {
		const char *name = arena_printf(l->arena, "%s-%s", p->family, p->form);

		acceltab_collect(l, p, false, true, g);
		rc = acceltab_claim(l, name, acceltab_place(l, g, name, line), line, err);
	}
	return rc;
}

static enum berth_code
acceltab_aliases(struct acceltab_load *l, const struct acceltab_row *r, struct berth_err *err)
{
	const struct accel *a = accel_find(l->tab, r->accel.name);
	enum berth_code rc = BERTH_OK;
	char **alias;
	size_t n, at = 0;

	if (a == NULL || (r->is_group && a->n_members == 0)) {
		err_set(err, BERTH_EINVAL, "no products make the group '%.40s'", r->accel.name);
		return err_at(err, "%s:%ld", l->path, r->line);
	}
	while (l->all.v[at] != a)
		at++;
	alias = str_split(l->arena, r->aliases, '|', &n);
	for (size_t i = 0; i < n && rc == BERTH_OK; i++)
		rc = acceltab_claim(l, alias[i], at, r->line, err);
	return rc;
}

static enum berth_code
acceltab_build(struct acceltab_load *l, struct berth_err *err)
{
	struct acceltab_group g = { .n = 0 };
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; i < l->rows.n; i++)
		if (!l->rows.v[i].is_group) {
			VEC_PUSH(l->arena, &l->all, &l->rows.v[i].accel);
			VEC_PUSH(l->arena, &l->lines, l->rows.v[i].line);
		}
	l->tab->n_products = l->all.n;
	g.members = arena_array_of(l->arena, l->all.n, const struct accel *);
	for (size_t i = 0; i < l->tab->n_products && rc == BERTH_OK; i++)
		rc = acceltab_claim(l, l->all.v[i]->name, i, l->lines.v[i], err);
	for (size_t i = 0; i < l->tab->n_products && rc == BERTH_OK; i++)
		rc = acceltab_group(l, i, &g, err);
	l->tab->all = l->all.v;
	l->tab->n = l->all.n;
	for (size_t i = 0; i < l->rows.n && rc == BERTH_OK; i++)
		rc = acceltab_aliases(l, &l->rows.v[i], err);
	return rc;
}

static enum berth_code
acceltab_load(struct csv *csv, const char *path, struct arena *arena,
    const struct accel_table **tab_out, struct berth_err *err)
{
	struct acceltab_load l = { .path = path, .csv = csv, .arena = arena };
	enum berth_code rc;

	l.tab = arena_new_of(arena, struct accel_table);
	rc = acceltab_read(&l, err);
	if (rc == BERTH_OK)
		rc = acceltab_build(&l, err);
	if (rc == BERTH_OK)
		*tab_out = l.tab;
	csv_close(csv);
	return rc;
}

enum berth_code
accel_table_load(const char *path, struct arena *arena, const struct accel_table **tab_out,
    struct berth_err *err)
{
	struct csv *csv;
	enum berth_code rc = csv_open(path, &csv, err);

	return rc != BERTH_OK ? rc : acceltab_load(csv, path, arena, tab_out, err);
}

enum berth_code
accel_table_parse(const char *name, const char *bytes, size_t len, struct arena *arena,
    const struct accel_table **tab_out, struct berth_err *err)
{
	struct csv *csv;
	enum berth_code rc = csv_open_bytes(bytes, len, name, &csv, err);

	return rc != BERTH_OK ? rc : acceltab_load(csv, name, arena, tab_out, err);
}

enum berth_code
accel_table_open(struct arena *arena, const struct accel_table **tab_out, struct berth_err *err)
{
	const char *path;
	enum berth_code rc = data_path(arena, "accelerators.csv", &path, err);

	return rc != BERTH_OK ? rc : accel_table_load(path, arena, tab_out, err);
}
