#include <stdlib.h>

#include "broker/usage_load.h"
#include "ingest/rollup.h"
#include "model/formmix.h"
#include "store/form_rows.h"
#include "store/series_rows.h"
#include "store/tier_rows.h"
#include "util/duration.h"
#include "util/str.h"
#include "util/time.h"

#define LOAD_HOUR_S INT64_C(3600)
#define LOAD_CHUNK ((size_t)16384) /* steps that are stored at once */
#define LOAD_DAY_S INT64_C(86400)
#define LOAD_ROOM                                                                                  \
	(LOAD_CHUNK + (size_t)LOAD_DAY_S) /* a day that is rolled up is stored in one piece */

struct load_target {
	int64_t id;     /* 0: not opened yet */
	int64_t step_s; /* of a series that exists; 0: it does not */
	int64_t hint_s; /* interval of its rows as earlier loads had it; 0: not known */
	int64_t
	    plain_s; /* least interval that was plain to see in a source of this load; 0: none */
	int64_t *partial; /* [n_partial] steps of the store that are not full, ascending */
	size_t n_partial;
	int64_t left_out;   /* steps that are there whole and that the load covers in part */
	int64_t late_until; /* steps before this are rolled up */
};

/* A source of the load by what the store knows of it. */
struct load_known {
	uint32_t target, source;
	int64_t hash;
};

struct loader {
	struct store *s;
	struct usage_set *set;
	struct spool *sp, *sums; /* as read; rows with an end, of targets with several sources */
	const struct usage_load_options *o;
	struct usage_load_counts counts;
	usage_say_fn *say;
	void *arg;
	struct load_target *targets; /* [set->targets.n] */
	uint32_t *rank;              /* target of each source */
	struct load_known *known;    /* [n_known] sorted */
	size_t n_known;
	struct hold *hold;
	struct rollup *rollup;
	uint32_t target; /* that the rollup is at */
	bool open;
	struct put_rule rule;
	struct usage_forms forms;
	const char *mix[LOAD_ROOM]; /* of each sample, in scratch */
	struct sample samples[LOAD_ROOM];
	int64_t rows[LOAD_ROOM]; /* behind each sample */
	long lines[LOAD_ROOM];   /* of the first row of each */
	unsigned char fate[LOAD_ROOM];
	size_t n;
	int64_t conflicts;  /* rows of a time that another row gave another value */
	long conflict_line; /* of the first of them; 0 not known */
	struct arena *scratch;
};

static int
load_known_cmp(const void *a, const void *b)
{
	const struct load_known *x = a, *y = b;

	if (x->target != y->target)
		return x->target < y->target ? -1 : 1;
	return x->hash == y->hash ? 0 : x->hash < y->hash ? -1 : 1;
}

static void
load_index(struct loader *l)
{
	l->n_known = l->set->sources.n;
	l->known = arena_array_of(l->set->a, l->n_known, struct load_known);
	for (uint32_t i = 0; i < l->n_known; i++)
		l->known[i] = (struct load_known){ l->set->sources.v[i].target, i,
			l->set->sources.v[i].hash };
	qsort(l->known, l->n_known, sizeof(*l->known), load_known_cmp);
}

/* The source of a kept row; one that this load does not have is added. */
static uint32_t
load_kept_source(struct loader *l, uint32_t target, int64_t hash, const char *form)
{
	const struct load_known key = { .target = target, .hash = hash };
	const struct load_known *known =
	    bsearch(&key, l->known, l->n_known, sizeof(key), load_known_cmp);
	uint32_t source;

	if (known != NULL)
		return known->source;
	source = usage_source_put(
	    l->set, arena_printf(l->set->a, "kept\n%u\n%lld", target, (long long)hash), target);
	l->set->sources.v[source].hash = hash;
	l->set->sources.v[source].form = form != NULL ? arena_strdup(l->set->a, form) : NULL;
	return source;
}

/* Rows that an earlier load left of steps that were not full come back among the new ones, under
 * their old source. */
static enum berth_code
load_kept(struct loader *l, uint32_t target, int64_t series_id, struct berth_err *err)
{
	const struct usage_target *g = &l->set->targets.v[target];
	struct load_target *t = &l->targets[target];
	struct arena *a = arena_new();
	struct raw_row *rows;
	enum berth_code rc;
	size_t n;

	rc = store_raw_list(l->s, series_id, time_floor(g->t_min, t->step_s) - t->step_s,
	    time_floor(g->t_max, t->step_s) + 2 * t->step_s, a, &rows, &n, err);
	if (rc == BERTH_OK)
		t->partial = arena_array_of(l->set->a, n, int64_t);
	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		const struct usage_row u = { .source = load_kept_source(
						 l, target, rows[i].source, rows[i].form),
			.flags = USAGE_KEPT,
			.t = rows[i].t,
			.value = rows[i].value,
			.peak = rows[i].peak };

		if (t->n_partial == 0 || t->partial[t->n_partial - 1] != rows[i].step)
			t->partial[t->n_partial++] = rows[i].step;
		rc = spool_add(l->sp, &u, err);
	}
	arena_free(a);
	return rc;
}

static enum berth_code
load_existing(struct loader *l, struct berth_err *err)
{
	size_t n = l->set->targets.n;

	for (uint32_t i = 0; i < n; i++) {
		const struct usage_target *g = &l->set->targets.v[i];
		struct load_target *t = &l->targets[i];
		struct arena *a = arena_new();
		struct series have;
		enum berth_code rc = store_series_get(l->s, g->name, a, &have, err);

		arena_free(a);
		if (rc == BERTH_ENOTFOUND)
			continue;
		if (rc != BERTH_OK)
			return rc;
		t->step_s = have.step_s;
		t->hint_s = have.interval_s;
		rc = load_kept(l, i, have.id, err);
		if (rc != BERTH_OK)
			return rc;
	}
	return BERTH_OK;
}

/* Rows a day apart make a series of days: hours of it would say more than anybody knows. */
static int64_t
load_step(struct loader *l, uint32_t target)
{
	const struct usage_target *g = &l->set->targets.v[target];
	int64_t interval_s = l->o->interval_s != 0 ? l->o->interval_s : l->targets[target].plain_s;
	char text[DURATION_FMT_SIZE];

	if (l->targets[target].step_s != 0)
		return l->o->step_s != 0 ? l->o->step_s : l->targets[target].step_s;
	if (l->o->step_s != 0)
		return l->o->step_s;
	if (interval_s <= LOAD_HOUR_S || interval_s % LOAD_HOUR_S != 0 ||
	    g->t_min % interval_s != 0)
		return LOAD_HOUR_S;
	l->say(l->arg, USAGE_REMARK, 0,
	    arena_printf(l->set->a, "series %s: its rows are %s apart, so it has a step of %s",
		g->name, duration_fmt(text, interval_s), text));
	return interval_s;
}

/* Step i and those of the same day behind it were refused; returns how many. */
static size_t
load_say_refused(struct loader *l, size_t i)
{
	char at[TIME_FMT_SIZE];
	int64_t day = time_floor(l->samples[i].t, LOAD_DAY_S), rows = 0;
	size_t n = 0;

	for (; i + n < l->n && l->fate[i + n] == PUT_REFUSED &&
	       l->samples[i + n].t < day + LOAD_DAY_S;
	     n++)
		rows += l->rows[i + n];
	l->counts.refused += rows;
	l->say(l->arg, USAGE_REFUSED, l->lines[i],
	    arena_printf(l->set->a,
		"%lld rows of series %s from %s on cover a part of what is kept as one sum by now: "
		"only an export of the whole day can correct it",
		(long long)rows, l->set->targets.v[l->target].name, time_fmt(at, l->samples[i].t)));
	return n;
}

/* What the GPUs of the steps were, of those that the store took; where nothing was used, as before.
 */
static enum berth_code
load_forms(struct loader *l, struct berth_err *err)
{
	const struct load_target *t = &l->targets[l->target];
	struct form_run *run = arena_array_of(l->scratch, l->n, struct form_run);
	size_t n = 0;

	for (size_t i = 0; i < l->n && l->forms.told[l->target]; i++) {
		const struct sample *v = &l->samples[i];
		int64_t covered_s = v->covered_s != 0 ? v->covered_s : t->step_s;

		if (l->fate[i] != PUT_REFUSED)
			form_run_add(
			    run, &n, v->t, t->step_s, v->mean * (double)covered_s, l->mix[i]);
	}
	return store_forms_put(l->s, t->id, run, n, err);
}

static enum berth_code
load_flush(struct loader *l, struct berth_err *err)
{
	struct put_counts counts = { 0 };
	enum berth_code rc;

	rc = store_samples_late(
	    l->s, l->targets[l->target].id, l->samples, l->n, &l->rule, l->fate, &counts, err);
	for (size_t i = 0; rc == BERTH_OK && i < l->n; i++) {
		if (l->fate[i] == PUT_REFUSED) {
			i += load_say_refused(l, i) - 1;
			continue;
		}
		if (l->fate[i] == PUT_DUPLICATE)
			l->counts.duplicate += l->rows[i];
		else
			l->counts.stored += l->rows[i];
		if (l->fate[i] == PUT_REPLACED)
			l->counts.replaced += l->rows[i];
	}
	if (rc == BERTH_OK)
		rc = load_forms(l, err);
	l->n = 0;
	arena_reset(l->scratch);
	return rc;
}

/* The rows of a step that is not full wait for the rest of it; those of one that is now full are
 * not needed. */
static enum berth_code
load_keep(struct loader *l, const struct rollup_step *step, bool full, bool partial,
    struct berth_err *err)
{
	size_t n = full ? 0 : step->n_window;
	struct raw_row *rows;

	if (full && !partial)
		return BERTH_OK;
	rows = arena_array_of(l->scratch, n, struct raw_row);
	for (size_t i = 0; i < n; i++) {
		const struct usage_row *u = &step->window[i];

		rows[i] = (struct raw_row){ step->t, l->set->sources.v[u->source].hash, u->t,
			u->value, u->peak, l->set->sources.v[u->source].form };
	}
	return store_raw_replace(l->s, l->targets[l->target].id, step->t, rows, n, err);
}

static int
load_time_cmp(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x == y ? 0 : x < y ? -1 : 1;
}

static enum berth_code
load_is_stored(struct loader *l, int64_t t, bool *stored_out, struct berth_err *err)
{
	const struct load_target *g = &l->targets[l->target];
	struct arena *a = arena_new();
	struct dense d;
	enum berth_code rc = store_samples_range(l->s, g->id, t, t + g->step_s, a, &d, err);

	*stored_out = rc == BERTH_OK && d.n == 1 && d.missing == 0;
	arena_free(a);
	return rc;
}

/* A day that is rolled up must be handed over in one piece. */
static bool
load_may_flush(const struct loader *l, int64_t next_t)
{
	const struct load_target *g = &l->targets[l->target];

	return next_t >= g->late_until ||
	       time_floor(next_t, LOAD_DAY_S) != time_floor(l->samples[l->n - 1].t, LOAD_DAY_S);
}

static enum berth_code
load_take_step(void *arg, const struct rollup_step *step, struct berth_err *err)
{
	struct loader *l = arg;
	struct load_target *g = &l->targets[l->target];
	bool full = step->covered_s == g->step_s && !step->assumed, stored = false, partial,
	     late = step->t < g->late_until;
	enum berth_code rc = BERTH_OK;

	if (!step->touched)
		return BERTH_OK;
	if (l->n >= LOAD_CHUNK && load_may_flush(l, step->t))
		rc = load_flush(l, err);
	partial =
	    !late && g->n_partial > 0 &&
	    bsearch(&step->t, g->partial, g->n_partial, sizeof(step->t), load_time_cmp) != NULL;
	if (rc == BERTH_OK && !full && !partial && !late)
		rc = load_is_stored(l, step->t, &stored, err);
	if (rc == BERTH_OK && stored) {
		g->left_out++;
		l->counts.duplicate += step->rows;
		return BERTH_OK;
	}
	if (rc == BERTH_OK && !late)
		rc = load_keep(l, step, full, partial, err);
	if (rc != BERTH_OK)
		return rc;
	l->lines[l->n] = step->line;
	l->mix[l->n] = l->forms.told[l->target]
			   ? formmix_text(l->scratch, l->forms.form, step->form, l->forms.n)
			   : NULL;
	l->samples[l->n] = (struct sample){ step->t, step->mean, step->peak, step->covered_s };
	l->rows[l->n++] = step->rows;
	return BERTH_OK;
}

static const char *
load_unit(const struct loader *l, uint32_t target)
{
	return l->set->targets.v[target].unit != NULL ? l->set->targets.v[target].unit : l->o->unit;
}

/* The series of the target, made if it is new; the rollup starts with it. */
static enum berth_code
load_open(struct loader *l, uint32_t target, struct berth_err *err)
{
	const struct usage_target *g = &l->set->targets.v[target];
	struct load_target *t = &l->targets[target];
	enum berth_code rc;

	t->step_s = load_step(l, target);
	rc = store_series_put(
	    l->s, g->name, g->labels, load_unit(l, target), t->step_s, &t->id, err);
	if (rc != BERTH_OK)
		return rc;
	if (t->plain_s != 0 && t->plain_s != t->hint_s)
		rc = store_series_interval(l->s, t->id, t->plain_s, err);
	if (rc == BERTH_OK)
		rc = store_late_until(l->s, t->id, &t->late_until, err);
	if (rc != BERTH_OK)
		return rc;
	l->target = target;
	l->open = true;
	rollup_begin(l->rollup, t->step_s, g->average, load_take_step, l);
	return BERTH_OK;
}

static enum berth_code
load_close(struct loader *l, struct berth_err *err)
{
	const struct load_target *t = &l->targets[l->target];
	enum berth_code rc;

	if (!l->open)
		return BERTH_OK;
	l->open = false;
	rc = rollup_end(l->rollup, err);
	if (rc == BERTH_OK)
		rc = load_flush(l, err);
	if (t->left_out > 0)
		l->say(l->arg, USAGE_REMARK, 0,
		    arena_printf(l->set->a,
			"series %s: %lld steps that are stored whole are covered in part only by "
			"this load; they stay as they are",
			l->set->targets.v[l->target].name, (long long)t->left_out));
	arena_reset(l->scratch);
	return rc;
}

/* A row that knows how long it is in force: straight into its series if that has no other source.
 */
static enum berth_code
load_held(void *arg, const struct usage_row *row, int64_t plain_s, struct berth_err *err)
{
	struct loader *l = arg;
	uint32_t target = l->set->sources.v[row->source].target;
	struct load_target *t = &l->targets[target];
	enum berth_code rc = BERTH_OK;

	if (l->set->targets.v[target].dropped)
		return BERTH_OK;
	if ((row->flags & USAGE_KEPT) == 0 && str_eq(load_unit(l, target), "gpu"))
		l->counts.gpu_seconds += row->value * (double)(row->end - row->t);
	if (plain_s != 0 && (t->plain_s == 0 || plain_s < t->plain_s))
		t->plain_s = plain_s;
	if (l->set->targets.v[target].n_sources > 1)
		return spool_add(l->sums, row, err);
	if (!l->open)
		rc = load_open(l, target, err);
	return rc == BERTH_OK ? rollup_add(l->rollup, row, err) : rc;
}

static enum berth_code
load_source_end(struct loader *l, struct berth_err *err)
{
	struct hold_ends ends;
	enum berth_code rc = hold_end(l->hold, &ends, err);

	l->counts.duplicate += ends.dropped;
	l->conflicts += ends.conflicts;
	if (ends.line > 0 && (l->conflict_line == 0 || ends.line < l->conflict_line))
		l->conflict_line = ends.line;
	return rc == BERTH_OK ? load_close(l, err) : rc;
}

/* First pass: source by source. */
static enum berth_code
load_sources(struct loader *l, struct berth_err *err)
{
	const struct usage_row *row;
	uint32_t source = UINT32_MAX;
	enum berth_code rc = spool_sort(l->sp, err);

	while (rc == BERTH_OK && (rc = spool_next(l->sp, &row, err)) == BERTH_OK && row != NULL) {
		if (row->source != source) {
			const struct load_target *t =
			    &l->targets[l->set->sources.v[row->source].target];
			const struct hold_options ho = { .step_s = t->step_s != 0 ? t->step_s
								   : l->o->step_s != 0
								       ? l->o->step_s
								       : LOAD_HOUR_S,
				.given_s = l->o->interval_s,
				.hint_s = t->hint_s };

			if (source != UINT32_MAX && (rc = load_source_end(l, err)) != BERTH_OK)
				break;
			source = row->source;
			hold_begin(l->hold, &ho, load_held, l);
		}
		rc = hold_add(l->hold, row, err);
	}
	return rc == BERTH_OK && source != UINT32_MAX ? load_source_end(l, err) : rc;
}

/* Second pass: series that are sums of sources, by time. */
static enum berth_code
load_sums(struct loader *l, struct berth_err *err)
{
	const struct usage_row *row;
	enum berth_code rc = spool_sort(l->sums, err);

	while (rc == BERTH_OK && (rc = spool_next(l->sums, &row, err)) == BERTH_OK && row != NULL) {
		uint32_t target = l->set->sources.v[row->source].target;

		if (l->open && target != l->target)
			rc = load_close(l, err);
		if (rc == BERTH_OK && !l->open)
			rc = load_open(l, target, err);
		if (rc == BERTH_OK)
			rc = rollup_add(l->rollup, row, err);
	}
	return rc == BERTH_OK ? load_close(l, err) : rc;
}

static enum berth_code
load_log(struct loader *l, const struct usage_counts *read, struct berth_err *err)
{
	struct load row = { .t = l->o->now,
		.format = l->o->format,
		.source = l->o->source,
		.digest = l->o->digest,
		.options = l->o->options,
		.rows_read = read->read,
		.rows_stored = l->counts.stored,
		.rows_duplicate = l->counts.duplicate,
		.rows_replaced = l->counts.replaced,
		.rows_refused = read->refused + l->counts.refused,
		.late = l->counts.refused };

	for (size_t i = 0; i < l->set->targets.n; i++) {
		const struct usage_target *g = &l->set->targets.v[i];

		row.from = i == 0 || g->t_min < row.from ? g->t_min : row.from;
		row.to = i == 0 || g->t_max > row.to ? g->t_max : row.to;
	}
	return store_load_insert(l->s, &row, err);
}

static void
load_say_conflicts(struct loader *l)
{
	l->say(l->arg, USAGE_REMARK, l->conflict_line,
	    arena_printf(l->set->a,
		"another row has another value for the same series and time: the higher one counts "
		"(%lld such row%s)",
		(long long)l->conflicts, l->conflicts == 1 ? "" : "s, of which this is the first"));
}

static enum berth_code
load_all(struct loader *l, const struct usage_counts *read, struct berth_err *err)
{
	bool sums = false;
	enum berth_code rc = load_existing(l, err);

	if (rc == BERTH_OK && l->o->digest != NULL)
		rc = store_load_find(l->s, l->o->format, l->o->digest,
		    l->o->options != NULL ? l->o->options : "", &l->counts.before, err);
	l->rule.loaded_before = l->counts.before != 0;
	if (rc == BERTH_OK && usage_forms(l->set, l->o->unit, &l->forms))
		rc = rollup_forms(l->rollup, l->forms.of_source, l->forms.n, err);
	if (rc != BERTH_OK)
		return rc;
	/* Kept rows may have brought sources that this load does not have. */
	l->rank = arena_array_of(l->set->a, l->set->sources.n, uint32_t);
	for (size_t i = 0; i < l->set->sources.n; i++)
		l->rank[i] = l->set->sources.v[i].target;
	for (size_t i = 0; i < l->set->targets.n; i++)
		sums = sums || l->set->targets.v[i].n_sources > 1;
	if (sums)
		rc = spool_new(SPOOL_ROWS / 4, l->rank, &l->sums, err);
	if (rc == BERTH_OK)
		rc = load_sources(l, err);
	if (rc == BERTH_OK && sums)
		rc = load_sums(l, err);
	if (rc == BERTH_OK && l->conflicts > 0)
		load_say_conflicts(l);
	return rc == BERTH_OK ? load_log(l, read, err) : rc;
}

enum berth_code
usage_load(struct store *s, struct usage_set *set, struct spool *sp,
    const struct usage_load_options *o, const struct usage_counts *read,
    struct usage_load_counts *counts_out, usage_say_fn *say, void *arg, struct berth_err *err)
{
	struct loader *l = calloc(1, sizeof(*l));
	enum berth_code rc;

	if (l == NULL)
		return err_set(err, BERTH_ENOMEM, "out of memory");
	l->s = s;
	l->set = set;
	l->sp = sp;
	l->o = o;
	l->say = say;
	l->arg = arg;
	l->scratch = arena_new();
	l->targets = arena_array_of(set->a, set->targets.n, struct load_target);
	load_index(l);
	rc = hold_new(&l->hold, err);
	if (rc == BERTH_OK)
		rc = rollup_new(&l->rollup, err);
	if (rc == BERTH_OK)
		rc = store_begin(s, err);
	if (rc == BERTH_OK) {
		rc = load_all(l, read, err);
		if (rc == BERTH_OK)
			rc = store_commit(s, err);
		else
			store_rollback(s);
	}
	if (rc == BERTH_OK)
		*counts_out = l->counts;
	spool_free(l->sums);
	rollup_free(l->rollup);
	hold_free(l->hold);
	arena_free(l->scratch);
	free(l);
	return rc;
}
