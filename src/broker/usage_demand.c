#include <stdlib.h>
#include <stdbool.h>
#include <string.h>

#include "broker/usage_jobs.h"
#include "ingest/demand.h"
#include "model/formmix.h"
#include "store/form_rows.h"
#include "store/tier_rows.h"
#include "util/buf.h"
#include "util/json.h"
#include "util/str.h"
#include "util/time.h"

#define DEMAND_EVENTS ((size_t)4 * 1024 * 1024) /* 32 MiB of them */
#define DEMAND_DAY_S INT64_C(86400)
#define DEMAND_GROUPS_MAX 16 /* series that one job counts in: views and the total */

/* A series that is being made. */
struct demand_series {
	int64_t id; /* 0: not made yet */
	uint32_t target;
	const char *unit;
	bool none;               /* nothing ever waited for it: no series of zeros is made */
	const char *form;        /* of all of its GPUs where n_parts is 0; NULL: nothing says any */
	uint32_t part;           /* the first of its parts; behind it: */
	uint32_t n_parts;        /* 0: its GPUs are all of one form */
	VEC(const char *) forms; /* that occur */
};

/* What a series has of one form (NULL: it is not said), as a group of its own. */
struct demand_part {
	uint32_t series;
	const char *form;
	const struct sample *v; /* of the steps that are handed on, in scratch */
};

/* Jobs of one label set with one number of GPUs; class 2i is when they hold them, 2i+1 when they
 * wait. */
struct demand_kind {
	double gpus;
	uint32_t next; /* of the same label set; UINT32_MAX none */
	bool waits;    /* some of them wait within the window */
};

struct demand_label {
	int64_t id;
	uint32_t first; /* kind; UINT32_MAX none */
	uint32_t like; /* the first label that counts in the same series: its kinds serve for all of
			  them */
	uint32_t held[DEMAND_GROUPS_MAX], queued[DEMAND_GROUPS_MAX]; /* [n] series */
	size_t n;
	const char *form; /* of its GPUs (model/formmix.h) */
};

struct making {
	struct store *s;
	struct usage_set *set;
	struct arena *a;
	int64_t step_s;
	struct put_rule rule;
	struct demand_label *labels; /* [n_labels] by id */
	size_t n_labels;
	VEC(struct demand_kind) kinds;
	VEC(uint32_t) kind_label; /* label of each kind */
	VEC(struct demand_series) series;
	VEC(struct demand_part) parts; /* groups behind the series */
	struct arena *scratch;
	struct strmap by_name, by_series;
	struct demand *demand;
};

/* Index of the series with these labels, which are changed. */
static enum berth_code
making_series(struct making *m, struct usage_label *labels, size_t n, const char *unit,
    uint32_t *i_out, struct berth_err *err)
{
	const char *name = usage_name(m->set->a, labels, n);
	int added;
	size_t *at = strmap_add(m->a, &m->by_name, name, m->series.n, &added);
	enum berth_code rc = BERTH_OK;

	if (added) {
		struct demand_series *s = VEC_ADD(m->a, &m->series);

		s->unit = unit;
		rc = usage_target_put(
		    m->set, name, usage_labels_json(m->set->a, labels, n), &s->target, err);
	}
	*i_out = (uint32_t)*at;
	return rc;
}

/* The pair of series, GPUs held and GPUs waited for, of some of a label set. */
static enum berth_code
making_pair(struct making *m, struct demand_label *l, const struct usage_label *of, size_t n,
    struct berth_err *err)
{
	struct usage_label labels[INGEST_LABELS_MAX + 2];
	enum berth_code rc;

	if (l->n == DEMAND_GROUPS_MAX)
		return err_set(err, BERTH_EINVAL, "more than %d groupings of jobs are kept",
		    DEMAND_GROUPS_MAX - 1);
	for (size_t i = 0; i < n; i++)
		labels[i] = of[i];
	rc = making_series(m, labels, n, "gpu", &l->held[l->n], err);
	labels[n] = (struct usage_label){ "state", "queued" };
	if (rc == BERTH_OK)
		rc = making_series(m, labels, n + 1, "gpu_queued", &l->queued[l->n], err);
	l->n++;
	return rc;
}

/* Labels tell users apart, series often do not: fewer kinds of jobs make a sweep that stays in the
 * cache. */
static enum berth_code
making_like(struct making *m, struct demand_label *l, struct berth_err *err)
{
	enum berth_code rc;
	struct buf b;

	buf_init(&b, 4096);
	for (size_t k = 0; k < l->n; k++)
		buf_printf(&b, "%u,", l->held[k]);
	buf_printf(&b, "%s", l->form != NULL ? l->form : "-");
	rc = buf_check(&b, "series of a job", err);
	if (rc == BERTH_OK)
		l->like =
		    (uint32_t)*strmap_add(m->a, &m->by_series, b.p, (size_t)(l - m->labels), NULL);
	buf_free(&b);
	return rc;
}

/* The value of a label; "team" is the account where jobs have no team. */
static const char *
making_value(const json_t *labels, const char *key)
{
	const char *v = json_string_value(json_object_get(labels, key));

	if (v == NULL && str_eq(key, "team"))
		v = json_string_value(json_object_get(labels, "account"));
	return v != NULL ? v : "unknown";
}

static enum berth_code
making_label(struct making *m, const struct usage_label_row *row, const struct usage_view *views,
    size_t n_views, struct demand_label *l, struct berth_err *err)
{
	json_t *tree = NULL;
	enum berth_code rc =
	    jsonr_parse(row->labels, strlen(row->labels), "labels of jobs", &tree, err);

	if (rc != BERTH_OK)
		return rc;
	l->id = row->id;
	l->first = UINT32_MAX;
	l->form = json_string_value(json_object_get(tree, "form"));
	l->form = l->form != NULL ? arena_strdup(m->a, l->form) : NULL;
	for (size_t v = 0; rc == BERTH_OK && v < n_views; v++) {
		struct usage_label labels[INGEST_LABELS_MAX];
		size_t n;
		char **keys;

		if (views[v].step_s != m->step_s)
			continue;
		keys = str_split(m->a, views[v].keys, ',', &n);
		for (size_t i = 0; i < n && i < INGEST_LABELS_MAX - 2; i++)
			labels[i] = (struct usage_label){ keys[i],
				arena_strdup(m->set->a, making_value(tree, keys[i])) };
		rc = making_pair(m, l, labels, n, err);
	}
	if (rc == BERTH_OK)
		rc = making_pair(m, l, NULL, 0, err);
	if (rc == BERTH_OK)
		rc = making_like(m, l, err);
	json_decref(tree);
	return rc;
}

static enum berth_code
making_labels(
    struct making *m, const struct usage_view *views, size_t n_views, struct berth_err *err)
{
	struct usage_label_row *rows;
	enum berth_code rc = store_usage_labels(m->s, m->a, &rows, &m->n_labels, err);

	if (rc != BERTH_OK)
		return rc;
	m->labels = arena_array_of(m->a, m->n_labels, struct demand_label);
	for (size_t i = 0; rc == BERTH_OK && i < m->n_labels; i++)
		rc = making_label(m, &rows[i], views, n_views, &m->labels[i], err);
	return rc;
}

static struct demand_label *
making_find(struct making *m, int64_t id)
{
	size_t lo = 0, hi = m->n_labels;

	if (id >= 1 && (size_t)id <= m->n_labels && m->labels[id - 1].id == id)
		return &m->labels[id - 1];
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (m->labels[mid].id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < m->n_labels && m->labels[lo].id == id ? &m->labels[lo] : NULL;
}

static uint32_t
making_kind(struct making *m, struct demand_label *l, double gpus)
{
	uint32_t i = l->first;

	while (i != UINT32_MAX && m->kinds.v[i].gpus != gpus)
		i = m->kinds.v[i].next;
	if (i != UINT32_MAX)
		return i;
	VEC_PUSH(m->a, &m->kinds, (struct demand_kind){ .gpus = gpus, .next = l->first });
	VEC_PUSH(m->a, &m->kind_label, (uint32_t)(l - m->labels));
	l->first = (uint32_t)m->kinds.n - 1;
	return l->first;
}

/* A job waits from its submission until it starts, and holds its GPUs from then on. */
static enum berth_code
making_job(void *arg, const struct usage_job *j, struct berth_err *err)
{
	struct making *m = arg;
	struct demand_label *l = making_find(m, j->label);
	enum berth_code rc = BERTH_OK;
	uint32_t kind;

	if (l == NULL)
		return err_set(err, BERTH_EINVAL,
		    "a job has labels that do not exist: run `berth store check`");
	kind = making_kind(m, &m->labels[l->like], j->gpus);
	m->kinds.v[kind].waits = m->kinds.v[kind].waits || j->start == 0 || j->start > j->submit;
	if (j->start == 0 || j->start > j->submit)
		rc = demand_add(
		    m->demand, 2 * kind + 1, j->submit, j->start != 0 ? j->start : j->until, err);
	if (rc == BERTH_OK && j->start != 0)
		rc = demand_add(m->demand, 2 * kind, j->start, j->until, err);
	return rc;
}

static bool
making_same_form(const char *x, const char *y)
{
	return x == NULL || y == NULL ? x == y : strcmp(x, y) == 0;
}

/* Puts what the GPUs of steps [n] were: mix[i], NULL where it is not known. */
static enum berth_code
making_forms(struct making *m, int64_t series_id, const struct sample *v, const char *const *mix,
    size_t n, struct arena *a, struct berth_err *err)
{
	struct form_run *run = arena_array_of(a, n, struct form_run);
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		form_run_add(run, &k, v[i].t, m->step_s, v[i].mean * (double)m->step_s, mix[i]);
	return store_forms_put(m->s, series_id, run, k, err);
}

/* Steps of a series all of whose GPUs are of one form. */
static enum berth_code
making_one_form(struct making *m, const struct demand_series *s, const struct sample *v, size_t n,
    struct berth_err *err)
{
	const double all = 1;
	struct arena *a = arena_new();
	const char **mix = arena_array_of(a, n, const char *);
	const char *text = formmix_text(a, &s->form, &all, 1);
	enum berth_code rc;

	for (size_t i = 0; i < n; i++)
		mix[i] = v[i].mean > 0 ? text : NULL;
	rc = making_forms(m, s->id, v, mix, n, a, err);
	arena_free(a);
	return rc;
}

/* Steps of one part; with the last part of a series its mixes are whole. */
static enum berth_code
making_emit_part(
    struct making *m, uint32_t part, const struct sample *v, size_t n, struct berth_err *err)
{
	const struct demand_series *s = &m->series.v[m->parts.v[part].series];
	enum berth_code rc = BERTH_OK;

	m->parts.v[part].v = arena_memdup(m->scratch, v, n * sizeof(*v));
	if (part + 1 == s->part + s->n_parts && s->id != 0) {
		struct sample *sum = arena_array_of(m->scratch, n, struct sample);
		const char **mix = arena_array_of(m->scratch, n, const char *);
		const char **form = arena_array_of(m->scratch, s->n_parts, const char *);
		double *amount = arena_array_of(m->scratch, s->n_parts, double);

		for (size_t i = 0; i < n; i++) {
			sum[i] = (struct sample){ .t = v[i].t };
			for (size_t k = 0; k < s->n_parts; k++) {
				form[k] = m->parts.v[s->part + k].form;
				amount[k] = m->parts.v[s->part + k].v[i].mean;
				sum[i].mean += amount[k];
			}
			mix[i] = formmix_text(m->scratch, form, amount, s->n_parts);
		}
		rc = making_forms(m, s->id, sum, mix, n, m->scratch, err);
	}
	if (part + 1 == m->parts.n)
		arena_reset(m->scratch);
	return rc;
}

static enum berth_code
making_emit(void *arg, uint32_t group, const struct sample *v, size_t n, struct berth_err *err)
{
	struct making *m = arg;
	struct demand_series *s;
	struct usage_target *t;
	struct put_counts counts = { 0 };
	enum berth_code rc = BERTH_OK;

	if (group >= m->series.n)
		return making_emit_part(m, group - (uint32_t)m->series.n, v, n, err);
	s = &m->series.v[group];
	t = &m->set->targets.v[s->target];
	if (s->none)
		return BERTH_OK;
	if (s->id == 0)
		rc = store_series_put(m->s, t->name, t->labels, s->unit, m->step_s, &s->id, err);
	if (rc == BERTH_OK)
		rc = store_samples_late(m->s, s->id, v, n, &m->rule, NULL, &counts, err);
	if (rc == BERTH_OK && s->form != NULL)
		rc = making_one_form(m, s, v, n, err);
	t->t_min = v[0].t < t->t_min ? v[0].t : t->t_min;
	t->t_max = v[n - 1].t > t->t_max ? v[n - 1].t : t->t_max;
	return rc;
}

/* Series of waiting GPUs that do not exist and would be nothing but zeros. */
static enum berth_code
making_leave_out(struct making *m, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; i < m->series.n; i++)
		m->series.v[i].none =
		    m->series.v[i].id == 0 && strcmp(m->series.v[i].unit, "gpu") != 0;
	for (size_t k = 0; k < m->kinds.n; k++)
		for (size_t i = 0; m->kinds.v[k].waits && i < m->labels[m->kind_label.v[k]].n; i++)
			m->series.v[m->labels[m->kind_label.v[k]].queued[i]].none = false;
	for (size_t i = 0; rc == BERTH_OK && i < m->series.n; i++) {
		struct arena *a = arena_new();
		struct series have;

		if (m->series.v[i].none) {
			rc = store_series_get(
			    m->s, m->set->targets.v[m->series.v[i].target].name, a, &have, err);
			m->series.v[i].none = rc == BERTH_ENOTFOUND;
			rc = rc == BERTH_ENOTFOUND ? BERTH_OK : rc;
		}
		arena_free(a);
	}
	return rc;
}

/* Which forms each series has in this window, and the parts of those that have several. */
static void
making_parts(struct making *m)
{
	m->parts.n = 0;
	for (size_t i = 0; i < m->series.n; i++)
		m->series.v[i].forms.n = 0;
	for (size_t k = 0; k < m->kinds.n; k++) {
		const struct demand_label *l = &m->labels[m->kind_label.v[k]];

		for (size_t i = 0; i < l->n; i++) {
			struct demand_series *s = &m->series.v[l->held[i]];
			bool there = false;

			for (size_t f = 0; f < s->forms.n && !there; f++)
				there = making_same_form(s->forms.v[f], l->form);
			if (!there)
				VEC_PUSH(m->a, &s->forms, l->form);
		}
	}
	for (size_t i = 0; i < m->series.n; i++) {
		struct demand_series *s = &m->series.v[i];

		s->part = (uint32_t)m->parts.n;
		s->n_parts = s->forms.n > 1 ? (uint32_t)s->forms.n : 0;
		s->form = s->forms.n == 1 ? s->forms.v[0] : NULL;
		for (size_t f = 0; f < s->n_parts; f++)
			VEC_PUSH(m->a, &m->parts,
			    ((struct demand_part){ (uint32_t)i, s->forms.v[f], NULL }));
	}
}

/* The groups that jobs of a label count in while they hold their GPUs. */
static size_t
making_held(
    const struct making *m, const struct demand_label *l, struct arena *a, const uint32_t **out)
{
	uint32_t *group = arena_array_of(a, 2 * l->n, uint32_t);
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++) {
		const struct demand_series *s = &m->series.v[l->held[i]];

		group[n++] = l->held[i];
		for (uint32_t p = s->part; p < s->part + s->n_parts; p++)
			if (making_same_form(m->parts.v[p].form, l->form))
				group[n++] = (uint32_t)m->series.n + p;
	}
	*out = group;
	return n;
}

static enum berth_code
making_sweep(struct making *m, struct berth_err *err)
{
	struct arena *a = arena_new();
	struct demand_class *classes = arena_array_of(a, 2 * m->kinds.n, struct demand_class);
	enum berth_code rc;

	making_parts(m);
	for (size_t k = 0; k < m->kinds.n; k++) {
		const struct demand_label *l = &m->labels[m->kind_label.v[k]];

		classes[2 * k].amount = m->kinds.v[k].gpus;
		classes[2 * k].n_groups = making_held(m, l, a, &classes[2 * k].groups);
		classes[2 * k + 1] = (struct demand_class){ m->kinds.v[k].gpus, l->queued, l->n };
	}
	rc = making_leave_out(m, err);
	if (rc == BERTH_OK)
		rc = demand_run(m->demand, classes, m->series.n + m->parts.n, making_emit, m, err);
	arena_free(a);
	return rc;
}

/* Where one of the series is rolled up, whole days are made again, and the store takes of them what
 * it needs. */
static enum berth_code
making_widen(struct making *m, int64_t *from, int64_t *to, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;
	int64_t late = INT64_MIN;

	for (size_t i = 0; rc == BERTH_OK && i < m->series.n; i++) {
		struct arena *a = arena_new();
		struct series have;
		int64_t until = 0;

		rc = store_series_get(
		    m->s, m->set->targets.v[m->series.v[i].target].name, a, &have, err);
		if (rc == BERTH_OK)
			rc = store_late_until(m->s, have.id, &until, err);
		else if (rc == BERTH_ENOTFOUND)
			rc = BERTH_OK;
		late = until > late ? until : late;
		arena_free(a);
	}
	if (rc != BERTH_OK || *from >= *to || *from >= late || DEMAND_DAY_S % m->step_s != 0)
		return rc;
	m->rule = (struct put_rule){ .remade = true, .from = *from, .to = *to };
	*from = time_floor(*from, DEMAND_DAY_S);
	*to = time_floor(*to + DEMAND_DAY_S - 1, DEMAND_DAY_S);
	return rc;
}

/* All groupings with one step, in windows of as many jobs as memory is for. */
static enum berth_code
making_step(struct store *s, struct usage_set *set, struct usage_span span, int64_t step_s,
    const struct usage_view *views, size_t n_views, struct berth_err *err)
{
	struct making m = {
		.s = s, .set = set, .a = arena_new(), .step_s = step_s, .scratch = arena_new()
	};
	int64_t from = time_floor(span.from, step_s), to = time_floor(span.to + step_s - 1, step_s);
	enum berth_code rc = making_labels(&m, views, n_views, err);

	if (rc == BERTH_OK)
		rc = making_widen(&m, &from, &to, err);
	while (rc == BERTH_OK && from < to) {
		rc = demand_new(step_s, from, to, DEMAND_EVENTS, &m.demand, err);
		if (rc == BERTH_OK && m.rule.remade)
			demand_align(m.demand, DEMAND_DAY_S);
		if (rc == BERTH_OK)
			rc = store_usage_each(s, from, to, making_job, &m, err);
		if (rc == BERTH_OK)
			rc = making_sweep(&m, err);
		if (rc == BERTH_OK)
			from = demand_to(m.demand);
		demand_free(m.demand);
		m.demand = NULL;
	}
	arena_free(m.scratch);
	arena_free(m.a);
	return rc;
}

/* Widens span to all jobs. */
static enum berth_code
demand_all(struct store *s, struct usage_span *span, struct berth_err *err)
{
	struct usage_span all;
	enum berth_code rc = store_usage_bounds(s, &all.from, &all.to, err);

	if (rc == BERTH_OK && all.from < all.to) {
		span->from = all.from < span->from ? all.from : span->from;
		span->to = all.to > span->to ? all.to : span->to;
	}
	return rc;
}

enum berth_code
usage_demand_make(struct store *s, struct usage_set *set, struct usage_span span, const char *added,
    struct berth_err *err)
{
	struct usage_view *views;
	size_t n;
	enum berth_code rc = store_usage_view_list(s, set->a, &views, &n, err);

	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		struct usage_span part = span;
		size_t first = 0;

		while (views[first].step_s != views[i].step_s)
			first++;
		if (first != i)
			continue; /* made with that one */
		for (size_t k = i; k < n && added != NULL; k++)
			if (views[k].step_s == views[i].step_s && strcmp(views[k].keys, added) == 0)
				rc = demand_all(s, &part, err);
		if (part.from >= part.to) /* nothing changed: the series are only named */
			part = (struct usage_span){ 0, 0 };
		if (rc == BERTH_OK)
			rc = making_step(s, set, part, views[i].step_s, views, n, err);
	}
	return rc;
}
