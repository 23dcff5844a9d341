#include <stdlib.h>
#include <string.h>

#include "broker/usage_jobs.h"
#include "model/formmix.h"
#include "store/tier_rows.h"
#include "util/buf.h"
#include "util/hash.h"
#include "util/pages.h"
#include "util/str.h"
#include "util/time.h"

#define JOBS_BATCH ((size_t)16384)
#define JOBS_LABEL_SLOTS 4096
#define JOBS_NUMBERED ((size_t)4096) /* a power of two */
#define JOBS_KEY_MAX 1024            /* labels longer than this are looked up in the store */

#define JOBS_LABEL_BAD INT64_C(-1) /* labels that are no UTF-8 */
#define JOBS_IDS_WAIT 64

/* Every different id once, as its hash. They go in by groups, so that the memory for one is fetched
 * while others come. */
struct jobs_ids {
	uint64_t *slot;
	size_t n, cap;
	uint64_t wait[JOBS_IDS_WAIT]; /* [n_wait] */
	size_t n_wait;
};

/* A set of labels that was seen, in a chain of those with nearly the same hash. */
struct jobs_label {
	uint64_t hash;
	struct jobs_label *next;
	const char *key; /* [len] of jobs_label_key() */
	size_t len;
	int64_t id;
};

/* What labels_id of a reader and an accelerator come to. */
struct jobs_numbered {
	uint32_t labels_id; /* 0: empty */
	const char *card;
	int64_t id;
};

struct usage_jobs {
	struct store *s;
	struct usage_set *set;
	struct usage_jobs_options o;
	usage_say_fn *say;
	void *arg;
	struct arena *batch_arena;
	struct usage_job *batch; /* [n], room for JOBS_BATCH */
	size_t n;
	VEC(struct usage_job) later; /* whose end is as far as the whole export has seen */
	int64_t seen;                /* latest time of the export */
	bool begun, added;           /* added: the grouping is new */
	int64_t had_from, had_to;    /* of the jobs that the store has; 0 and 0: none */
	struct jobs_label *labels[JOBS_LABEL_SLOTS];
	struct jobs_numbered numbered[JOBS_NUMBERED];
	struct strmap types; /* type as the source spells it -> index of refs */
	VEC(struct jobs_type) refs;
	struct strmap waiting;        /* "submit id_[" of the store: 1 once a task of it was seen */
	VEC(struct usage_job) waited; /* the same, in order */
	struct jobs_ids ids;
	struct usage_span changed;
	struct usage_jobs_counts counts;
};

struct jobs_type {
	const char *name; /* of the whole card */
	const char *form; /* model/formmix.h */
	double share;
};

struct usage_jobs *
usage_jobs_new(struct store *s, struct usage_set *set, const struct usage_jobs_options *o,
    usage_say_fn *say, void *arg)
{
	struct usage_jobs *u = arena_new_of(set->a, struct usage_jobs);

	u->s = s;
	u->set = set;
	u->o = *o;
	u->say = say;
	u->arg = arg;
	u->batch_arena = arena_new();
	u->batch = arena_array_of(set->a, JOBS_BATCH, struct usage_job);
	u->changed = USAGE_SPAN_NONE;
	return u;
}

void
usage_jobs_free(struct usage_jobs *u)
{
	if (u == NULL)
		return;
	if (u->begun)
		store_rollback(u->s);
	arena_free(u->batch_arena);
	pages_free(u->ids.slot, u->ids.cap * sizeof(*u->ids.slot));
}

static void
jobs_id_put(struct jobs_ids *ids, uint64_t h)
{
	size_t i = h & (ids->cap - 1);

	while (ids->slot[i] != 0 && ids->slot[i] != h)
		i = (i + 1) & (ids->cap - 1);
	ids->n += ids->slot[i] == 0;
	ids->slot[i] = h;
}

/* Those that wait go in; afterwards there is room for as many again. */
static enum berth_code
jobs_ids_flush(struct jobs_ids *ids, struct berth_err *err)
{
	for (size_t i = 0; i < ids->n_wait; i++)
		jobs_id_put(ids, ids->wait[i]);
	ids->n_wait = 0;
	if ((ids->n + JOBS_IDS_WAIT) * 4 >= ids->cap * 3) {
		struct jobs_ids bigger = { .cap = ids->cap == 0 ? 4096 : ids->cap * 4 };

		bigger.slot = pages_new(bigger.cap * sizeof(*bigger.slot));
		if (bigger.slot == NULL)
			return err_set(err, BERTH_ENOMEM, "out of memory for %zu jobs", ids->n);
		for (size_t i = 0; i < ids->cap; i++)
			if (ids->slot[i] != 0)
				jobs_id_put(&bigger, ids->slot[i]);
		pages_free(ids->slot, ids->cap * sizeof(*ids->slot));
		*ids = bigger;
	}
	return BERTH_OK;
}

static enum berth_code
jobs_id(struct jobs_ids *ids, const char *key, struct berth_err *err)
{
	uint64_t h = hash_u64(hash_fast(key, strlen(key)));

	if (ids->n_wait == JOBS_IDS_WAIT || ids->cap == 0) {
		enum berth_code rc = jobs_ids_flush(ids, err);

		if (rc != BERTH_OK)
			return rc;
	}
	h += h == 0;
	__builtin_prefetch(&ids->slot[h & (ids->cap - 1)], 1);
	ids->wait[ids->n_wait++] = h;
	return BERTH_OK;
}

/* The whole card that a type is, or is a slice of. */
static const struct jobs_type *
jobs_type(struct usage_jobs *u, const char *type)
{
	int added;
	size_t *at = strmap_add(u->set->a, &u->types, type, u->refs.n, &added);
	struct jobs_type *t;
	struct accel_ref ref;

	if (!added)
		return &u->refs.v[*at];
	t = VEC_ADD(u->set->a, &u->refs);
	t->name = *type != '\0' ? arena_strdup(u->set->a, type) : "unknown";
	t->share = 1;
	if (*type == '\0')
		return t;
	if (accel_resolve(u->o.accels, u->set->a, type, &ref)) {
		t->share = ref.share;
		if (ref.accel != NULL) {
			const struct accel *model = accel_model(u->o.accels, ref.accel);

			t->name = model->name;
			t->form = form_of(ref.accel, model);
		}
	} else {
		u->say(u->arg, USAGE_REMARK, 0,
		    arena_printf(u->set->a,
			"nobody knows the accelerator '%s': it is kept under this name", type));
	}
	return t;
}

/* One text for each card. */
static const char *
jobs_card(const struct jobs_type *type)
{
	return type->form != NULL && *type->form != '\0' ? type->form : type->name;
}

/*
 * All of what tells a set of labels: the card, and each value behind its key. Returns its
 * length, 0: it is too long.
 */
static size_t
jobs_label_key(const struct ingest_job *j, const char *card, char *out, size_t size)
{
	char *p = out, *const end = out + size;

	memcpy(p, &card,
	    sizeof(card)); /* one text for each card, of jobs_card(), and one for each key */
	p += sizeof(card);
	for (size_t i = 0; i < j->n_labels; i++) {
		const char *key = j->labels[i].key;
		size_t len = strlen(j->labels[i].value) + 1;

		if ((size_t)(end - p) < sizeof(key) + len)
			return 0;
		memcpy(p, &key, sizeof(key));
		memcpy(p + sizeof(key), j->labels[i].value, len);
		p += sizeof(key) + len;
	}
	return (size_t)(p - out);
}

/* A set of labels that this load has not had yet. */
static enum berth_code
jobs_label_new(struct usage_jobs *u, const struct ingest_job *j, const struct jobs_type *type,
    int64_t *id_out, struct berth_err *err)
{
	struct usage_label labels[INGEST_LABELS_MAX + 3];
	size_t n = j->n_labels;

	for (size_t i = 0; i < n; i++)
		labels[i] = j->labels[i];
	labels[n++] = (struct usage_label){ "accelerator", type->name };
	if (type->form != NULL)
		labels[n++] = (struct usage_label){ "form", type->form };
	if (*u->o.cluster != '\0' && *j->cluster == '\0')
		labels[n++] = (struct usage_label){ "cluster", u->o.cluster };
	if (usage_label_fault(labels, n) != NULL) {
		*id_out = JOBS_LABEL_BAD;
		return BERTH_OK;
	}
	(void)usage_name(u->set->a, labels, n); /* sorts them */
	return store_usage_label(u->s, usage_labels_json(u->set->a, labels, n), id_out, err);
}

/* jobs_label() by all of the labels. */
static enum berth_code
jobs_label_find(struct usage_jobs *u, const struct ingest_job *j, const struct jobs_type *type,
    int64_t *id_out, struct berth_err *err)
{
	char key[JOBS_KEY_MAX];
	size_t len = jobs_label_key(j, jobs_card(type), key, sizeof(key));
	uint64_t h = hash_fast(key, len);
	struct jobs_label **at = &u->labels[h % JOBS_LABEL_SLOTS], *l = *at;
	enum berth_code rc;

	if (len == 0)
		return jobs_label_new(u, j, type, id_out, err);
	while (l != NULL && (l->hash != h || l->len != len || memcmp(l->key, key, len) != 0))
		l = l->next;
	if (l != NULL) {
		*id_out = l->id;
		return BERTH_OK;
	}
	rc = jobs_label_new(u, j, type, id_out, err);
	if (rc != BERTH_OK)
		return rc;
	l = arena_new_of(u->set->a, struct jobs_label);
	*l = (struct jobs_label){ h, *at, arena_memdup(u->set->a, key, len), len, *id_out };
	*at = l;
	return BERTH_OK;
}

/* The id in the store of a job's labels with one type of card. */
static enum berth_code
jobs_label(struct usage_jobs *u, const struct ingest_job *j, const struct jobs_type *type,
    int64_t *id_out, struct berth_err *err)
{
	const char *card = jobs_card(type);
	uint64_t h = hash_u64((uint64_t)(uintptr_t)card ^ (uint64_t)j->labels_id << 32);
	struct jobs_numbered *t = &u->numbered[h & (JOBS_NUMBERED - 1)];
	enum berth_code rc;

	if (j->labels_id != 0 && t->labels_id == j->labels_id && t->card == card) {
		*id_out = t->id;
		return BERTH_OK;
	}
	rc = jobs_label_find(u, j, type, id_out, err);
	if (rc == BERTH_OK && j->labels_id != 0)
		*t = (struct jobs_numbered){ j->labels_id, card, *id_out };
	return rc;
}

static enum berth_code
jobs_flush(struct usage_jobs *u, struct berth_err *err)
{
	struct put_counts counts = { 0 };
	enum berth_code rc = store_usage_put(u->s, u->batch, u->n, &counts, &u->changed, err);

	u->n = 0;
	arena_reset(u->batch_arena);
	u->counts.rows.stored += counts.stored + counts.replaced + counts.removed;
	u->counts.rows.replaced += counts.replaced + counts.removed;
	u->counts.without_gpus -= counts.removed;
	u->counts.rows.duplicate += counts.duplicate;
	return rc;
}

static enum berth_code
jobs_add(struct usage_jobs *u, const struct usage_job *row, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	if (row->part == 0 &&
	    u->n + INGEST_GRES_MAX > JOBS_BATCH) /* all parts of a job go together */
		rc = jobs_flush(u, err);
	u->batch[u->n] = *row;
	u->batch[u->n++].job = arena_strdup(u->batch_arena, row->job);
	return rc;
}

static const char *
jobs_view(struct usage_jobs *u)
{
	struct buf b;
	const char *keys;

	if (u->o.n_by == 0)
		return "accelerator";
	buf_init(&b, 4096);
	for (size_t i = 0; i < u->o.n_by; i++)
		buf_printf(&b, "%s%s", i > 0 ? "," : "", u->o.by[i]);
	keys = arena_strdup(u->set->a, b.p);
	buf_free(&b);
	return keys;
}

/* Arrays that wait in the store: where their tasks have started, what waits of them is less or
 * nothing. */
static enum berth_code
jobs_begin(struct usage_jobs *u, struct berth_err *err)
{
	struct usage_job *rows;
	enum berth_code rc = store_begin(u->s, err);
	size_t n;

	if (rc != BERTH_OK)
		return rc;
	u->begun = true;
	rc = store_usage_view_put(u->s, jobs_view(u), u->o.step_s, &u->added, err);
	if (rc == BERTH_OK)
		rc = store_usage_bounds(u->s, &u->had_from, &u->had_to, err);
	if (rc == BERTH_OK)
		rc = store_usage_waiting(u->s, u->set->a, &rows, &n, err);
	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		if (!str_ends(rows[i].job, "_["))
			continue;
		strmap_add(u->set->a, &u->waiting,
		    arena_printf(u->set->a, "%lld %s", (long long)rows[i].submit, rows[i].job), 0,
		    NULL);
		VEC_PUSH(u->set->a, &u->waited, rows[i]);
	}
	return rc;
}

/* "cluster/id"; the tasks of an array that wait are "id_[", however many they are by now. */
static const char *
jobs_key(struct usage_jobs *u, const struct ingest_job *j)
{
	const char *cluster = *j->cluster != '\0' ? j->cluster : u->o.cluster,
		   *bracket = strchr(j->id, '[');
	size_t n = bracket != NULL ? (size_t)(bracket - j->id) + 1 : strlen(j->id);

	if (*cluster == '\0' && bracket == NULL)
		return j->id;
	return arena_printf(
	    u->batch_arena, "%s%s%.*s", cluster, *cluster != '\0' ? "/" : "", (int)n, j->id);
}

static void
jobs_saw_task(struct usage_jobs *u, const struct ingest_job *j, const char *key)
{
	const char *task = u->waiting.n > 0 ? strrchr(key, '_') : NULL;
	char text[256];
	size_t *at;

	if (task == NULL || task[1] == '[')
		return;
	snprintf(text, sizeof(text), "%lld %.*s_[", (long long)j->submit, (int)(task - key), key);
	at = strmap_get(&u->waiting, text);
	if (at != NULL)
		*at = 1;
}

static void
jobs_seen(struct usage_jobs *u, int64_t t)
{
	if (t > u->seen)
		u->seen = t;
}

static enum berth_code
jobs_put(struct usage_jobs *u, struct usage_job *row, struct berth_err *err)
{
	if (row->until != 0)
		return jobs_add(u, row, err);
	row->job = arena_strdup(u->set->a, row->job);
	VEC_PUSH(u->set->a, &u->later, *row);
	return BERTH_OK;
}

static const enum usage_state jobs_states[] = { USAGE_WAITS, USAGE_RUNS, USAGE_OVER };

/* A job without GPUs: where the store has some of it, they are taken away. */
static enum berth_code
jobs_none(struct usage_jobs *u, const struct ingest_job *j, struct berth_err *err)
{
	struct usage_job row = { .submit = j->submit,
		.start = j->start,
		.until = j->end,
		.label = USAGE_LABEL_NONE,
		.state = jobs_states[j->state] };

	u->counts.without_gpus++;
	if (j->n_gres > 0 || j->submit < u->had_from || j->submit > u->had_to)
		return BERTH_OK;
	row.job = jobs_key(u, j);
	return jobs_put(u, &row, err);
}

/* The GPUs of one type of one job. */
static enum berth_code
jobs_part(struct usage_jobs *u, const struct ingest_job *j, size_t i, const char *key,
    struct berth_err *err)
{
	const struct jobs_type *type = jobs_type(u, j->gres[i].type);
	struct usage_job row = { .submit = j->submit,
		.job = key,
		.part = (int64_t)i,
		.start = j->start,
		.until = j->end,
		.state = jobs_states[j->state],
		.gpus = j->gres[i].count * type->share * (double)j->tasks };
	enum berth_code rc = jobs_label(u, j, type, &row.label, err);

	if (rc != BERTH_OK)
		return rc;
	if (row.label == JOBS_LABEL_BAD) {
		if (i == 0)
			u->say(u->arg, USAGE_REFUSED, j->line,
			    "a label is no UTF-8: convert the file (iconv -f ISO-8859-1 -t UTF-8)");
		u->counts.attempts -= i == 0;
		return BERTH_OK;
	}
	if (j->start != 0 && j->end != 0)
		u->counts.rows.gpu_seconds += row.gpus * (double)(j->end - j->start);
	return jobs_put(u, &row, err);
}

enum berth_code
usage_jobs_take(void *arg, const struct ingest_job *j, struct berth_err *err)
{
	struct usage_jobs *u = arg;
	enum berth_code rc = BERTH_OK;
	const char *key;

	if (!u->begun)
		rc = jobs_begin(u, err);
	jobs_seen(u, j->submit);
	jobs_seen(u, j->start);
	jobs_seen(u, j->end);
	if (j->n_gres == 0 || (j->submit == 0 && j->start == 0))
		return rc == BERTH_OK ? jobs_none(u, j, err) : rc;
	key = jobs_key(u, j);
	if (rc == BERTH_OK)
		rc = jobs_id(&u->ids, key, err);
	if (rc != BERTH_OK)
		return rc;
	u->counts.attempts++;
	jobs_saw_task(u, j, key);
	for (size_t i = 0; rc == BERTH_OK && i < j->n_gres; i++)
		rc = jobs_part(u, j, i, key, err);
	return rc;
}

/* Rows without an end are as long as the export has looked. */
static enum berth_code
jobs_put_later(struct usage_jobs *u, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	if (u->o.to != 0)
		u->seen = u->o.to;
	for (size_t i = 0; rc == BERTH_OK && i < u->later.n; i++) {
		struct usage_job row = u->later.v[i];

		row.until = u->seen > row.submit ? u->seen : row.submit;
		if (row.start != 0) {
			row.until = u->seen > row.start ? u->seen : row.start;
			u->counts.rows.gpu_seconds += row.gpus * (double)(row.until - row.start);
		}
		if (row.start == 0 &&
		    strmap_get(&u->waiting,
			arena_printf(u->set->a, "%lld %s", (long long)row.submit, row.job)) != NULL)
			*strmap_get(&u->waiting,
			    arena_printf(u->set->a, "%lld %s", (long long)row.submit, row.job)) = 0;
		rc = jobs_add(u, &row, err);
	}
	if (rc == BERTH_OK)
		rc = jobs_flush(u, err);
	for (size_t i = 0; rc == BERTH_OK && i < u->waited.n; i++) {
		const struct usage_job *w = &u->waited.v[i];
		const size_t *at = strmap_get(
		    &u->waiting, arena_printf(u->set->a, "%lld %s", (long long)w->submit, w->job));

		if (at == NULL || *at == 0)
			continue;
		rc = store_usage_remove(u->s, w->submit, w->job, err);
		u->changed.from = w->submit < u->changed.from ? w->submit : u->changed.from;
		u->changed.to = w->until > u->changed.to ? w->until : u->changed.to;
	}
	return rc;
}

static enum berth_code
jobs_finish(struct usage_jobs *u, const struct usage_counts *read, struct berth_err *err)
{
	struct load l = { .t = u->o.now,
		.format = u->o.format,
		.source = u->o.source,
		.digest = u->o.digest,
		.options = u->o.options,
		.rows_read = read->read,
		.rows_refused = read->refused };
	enum berth_code rc = BERTH_OK;

	if (!u->begun)
		rc = jobs_begin(u, err);
	if (rc == BERTH_OK)
		rc = jobs_ids_flush(&u->ids, err);
	u->counts.jobs = (int64_t)u->ids.n;
	if (rc == BERTH_OK && u->o.digest != NULL)
		rc = store_load_find(u->s, u->o.format, u->o.digest,
		    u->o.options != NULL ? u->o.options : "", &u->counts.rows.before, err);
	if (rc == BERTH_OK)
		rc = jobs_put_later(u, err);
	if (u->o.from != 0 && u->o.from < u->changed.from)
		u->changed.from = u->o.from;
	if (u->o.from != 0 && u->seen > u->changed.to)
		u->changed.to = u->seen;
	if (rc == BERTH_OK)
		rc = usage_demand_make(
		    u->s, u->set, u->changed, u->added ? jobs_view(u) : NULL, err);
	l.rows_stored = u->counts.rows.stored;
	l.rows_duplicate = u->counts.rows.duplicate;
	l.rows_replaced = u->counts.rows.replaced;
	l.from = u->changed.from <= u->changed.to ? u->changed.from : 0;
	l.to = u->changed.from <= u->changed.to ? u->changed.to : 0;
	if (rc == BERTH_OK)
		rc = store_load_insert(u->s, &l, err);
	return rc;
}

void
usage_jobs_digest(struct usage_jobs *u, const char *digest)
{
	u->o.digest = arena_strdup(u->set->a, digest);
}

enum berth_code
usage_jobs_end(struct usage_jobs *u, enum berth_code rc, const struct usage_counts *read,
    struct usage_jobs_counts *counts_out, struct berth_err *err)
{
	if (rc == BERTH_OK)
		rc = jobs_finish(u, read, err);
	if (rc == BERTH_OK) {
		u->begun = false;
		rc = store_commit(u->s, err);
	}
	if (rc == BERTH_OK)
		*counts_out = u->counts;
	return rc;
}
