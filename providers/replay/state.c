#include <limits.h>
#include <math.h>
#include <string.h>

#include "providers/replay/state.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/fileio.h"
#include "util/json.h"
#include "util/str.h"

#define STATE_BYTES_MAX ((size_t)64 * 1024 * 1024)

static const char *const state_machine_keys[] = { "ref", "token", "installation", "pool",
	"purchase", "created", "ready_at", "speed", NULL };

static enum berth_code
state_str(struct cloud *c, const struct jsonr *o, const char *key, const char **out,
    struct berth_err *err)
{
	const char *s = "";
	enum berth_code rc = jsonr_str(o, key, &s, err);

	*out = arena_strdup(c->arena, s);
	return rc;
}

static enum berth_code
state_int(const struct jsonr *o, const char *key, int64_t *out, struct berth_err *err)
{
	return jsonr_int(o, key, 0, INT64_MAX / 2, out, err);
}

static enum berth_code
state_read_job(
    struct cloud *c, const struct jsonr *machine, struct cloud_job *j, struct berth_err *err)
{
	static const char *const keys[] = { "id", "work_hours", "progress", "asked", NULL };
	struct jsonr o;
	enum berth_code rc = jsonr_object(machine, "job", &o, err);

	if (rc != BERTH_OK || o.v == NULL)
		return rc;
	if ((rc = jsonr_need(&o, keys, err)) != BERTH_OK ||
	    (rc = state_str(c, &o, "id", &j->id, err)) != BERTH_OK ||
	    (rc = jsonr_double(&o, "work_hours", &j->work_hours, err)) != BERTH_OK ||
	    (rc = jsonr_double(&o, "progress", &j->progress, err)) != BERTH_OK ||
	    (rc = state_int(&o, "interval_s", &j->interval_s, err)) != BERTH_OK ||
	    (rc = state_int(&o, "write_s", &j->write_s, err)) != BERTH_OK ||
	    (rc = state_int(&o, "restart_s", &j->restart_s, err)) != BERTH_OK ||
	    (rc = state_int(&o, "asked", &j->asked, err)) != BERTH_OK)
		return rc;
	if (!(j->work_hours > 0) || !(j->progress >= 0 && j->progress < 1))
		return jsonr_err(&o, BERTH_EINVAL, err, "work or progress out of range");
	if ((rc = state_int(&o, "since", &j->since, err)) != BERTH_OK ||
	    (rc = jsonr_double(&o, "since_s", &j->since_s, err)) != BERTH_OK ||
	    (rc = state_int(&o, "next_s", &j->next_s, err)) != BERTH_OK ||
	    (rc = state_int(&o, "next_at", &j->next_at, err)) != BERTH_OK)
		return rc;
	return state_int(&o, "stopped", &j->stopped, err);
}

/* A file of before the job was told of intervals has no such figure. */
static void
state_job_begin(struct cloud_machine *m)
{
	struct cloud_job *j = &m->job;

	if (j->since == 0)
		j->since = (j->asked > m->ready_at ? j->asked : m->ready_at) +
			   (j->progress > 0 ? j->restart_s : 0);
}

static size_t
state_pool(const struct cloud *c, const char *key)
{
	for (size_t i = 0; i < c->trace->n_pools; i++)
		if (str_eq(trace_pool_key(&c->trace->pools[i], c->arena), key))
			return i;
	return SIZE_MAX;
}

static enum berth_code
state_read_machine(struct cloud *c, const struct jsonr *o, struct berth_err *err)
{
	struct cloud_machine *m = VEC_ADD(c->arena, &c->machines);
	const char *purchase = "";
	enum berth_code rc;

	if ((rc = jsonr_need(o, state_machine_keys, err)) != BERTH_OK ||
	    (rc = state_str(c, o, "ref", &m->ref, err)) != BERTH_OK ||
	    (rc = state_str(c, o, "token", &m->token, err)) != BERTH_OK ||
	    (rc = state_str(c, o, "installation", &m->installation, err)) != BERTH_OK ||
	    (rc = state_str(c, o, "pool", &m->pool_key, err)) != BERTH_OK ||
	    (rc = jsonr_str(o, "purchase", &purchase, err)) != BERTH_OK ||
	    (rc = state_int(o, "created", &m->created, err)) != BERTH_OK ||
	    (rc = state_int(o, "ready_at", &m->ready_at, err)) != BERTH_OK ||
	    (rc = jsonr_double(o, "speed", &m->speed, err)) != BERTH_OK ||
	    (rc = jsonr_bool(o, "broken", &m->broken, err)) != BERTH_OK ||
	    (rc = jsonr_bool(o, "fails", &m->fails, err)) != BERTH_OK ||
	    (rc = state_int(o, "notice_at", &m->notice_at, err)) != BERTH_OK ||
	    (rc = state_int(o, "reclaim_at", &m->reclaim_at, err)) != BERTH_OK ||
	    (rc = state_int(o, "ended", &m->ended, err)) != BERTH_OK)
		return rc;
	if (!(m->speed > 0) || !purchase_parse(purchase, &m->purchase) ||
	    m->purchase == PURCHASE_RESERVED)
		return jsonr_err(o, BERTH_EINVAL, err, "speed or purchase out of range");
	m->pool = state_pool(c, m->pool_key);
	if (m->pool == SIZE_MAX &&
	    m->ended == 0) /* its trace was changed under it: it can only be gone */
		m->ended = m->created;
	rc = state_read_job(c, o, &m->job, err);
	if (rc == BERTH_OK)
		state_job_begin(m);
	return rc;
}

static enum berth_code
state_read(struct cloud *c, const json_t *root, const char *path, struct berth_err *err)
{
	struct jsonr o = jsonr_root(root, path), list, item;
	const char *schema = "";
	enum berth_code rc;

	if ((rc = jsonr_str(&o, "schema", &schema, err)) != BERTH_OK)
		return rc;
	if (!str_eq(schema, "berth.replay-state/1"))
		return jsonr_err(
		    &o, BERTH_EINVAL, err, "schema '%s' is not berth.replay-state/1", schema);
	if ((rc = state_int(&o, "clock", &c->clock, err)) != BERTH_OK ||
	    (rc = state_int(&o, "next", &c->next, err)) != BERTH_OK ||
	    (rc = jsonr_array(&o, "machines", &list, err)) != BERTH_OK)
		return rc;
	for (size_t i = 0; i < jsonr_len(&list); i++) {
		item = jsonr_at(&list, i);
		if ((rc = state_read_machine(c, &item, err)) != BERTH_OK)
			return rc;
	}
	return BERTH_OK;
}

void
state_kept_free(struct state_kept *kept)
{
	if (kept->cloud.arena == NULL)
		return;
	arena_free(kept->cloud.arena);
	buf_free(&kept->bytes);
	*kept = (struct state_kept){ 0 };
}

/* Takes the bytes. */
static enum berth_code
state_keep(const char *path, const struct buf *b, const struct trace *trace,
    struct state_kept *kept, struct berth_err *err)
{
	json_t *root = NULL;
	enum berth_code rc;

	state_kept_free(kept);
	kept->bytes = *b;
	kept->cloud = (struct cloud){ .trace = trace, .next = 1, .arena = arena_new() };
	rc = jsonr_parse(b->p, b->len, path, &root, err);
	if (rc == BERTH_OK)
		rc = state_read(&kept->cloud, root, path, err);
	json_decref(root);
	if (rc != BERTH_OK)
		state_kept_free(kept);
	return rc;
}

enum berth_code
state_load(const char *path, struct state_kept *kept, struct cloud *c, struct berth_err *err)
{
	struct buf b;
	enum berth_code rc;

	c->clock = 0;
	c->next = 1;
	c->machines.n = 0;
	if (!fileio_exists(path))
		return BERTH_OK;
	buf_init(&b, STATE_BYTES_MAX);
	rc = fileio_read(path, &b, err);
	if (rc == BERTH_OK && kept->cloud.arena != NULL && b.len == kept->bytes.len &&
	    memcmp(b.p, kept->bytes.p, b.len) == 0)
		buf_free(&b);
	else if (rc == BERTH_OK)
		rc = state_keep(path, &b, c->trace, kept, err);
	else
		buf_free(&b);
	if (rc != BERTH_OK)
		return err_ctx(err, "%s, where the replayed cloud keeps its machines", path);
	c->clock = kept->cloud.clock;
	c->next = kept->cloud.next;
	for (size_t i = 0; i < kept->cloud.machines.n; i++)
		*VEC_ADD(c->arena, &c->machines) = kept->cloud.machines.v[i];
	return BERTH_OK;
}

static void
state_write_job(struct jsonw *w, const struct cloud_job *j)
{
	jsonw_begin_object(w, "job");
	jsonw_str(w, "id", j->id);
	jsonw_double(w, "work_hours", j->work_hours);
	jsonw_double(w, "progress", j->progress);
	jsonw_int(w, "interval_s", j->interval_s);
	jsonw_int(w, "since", j->since);
	jsonw_double(w, "since_s", j->since_s);
	jsonw_int(w, "next_s", j->next_s);
	jsonw_int(w, "next_at", j->next_at);
	jsonw_int(w, "write_s", j->write_s);
	jsonw_int(w, "restart_s", j->restart_s);
	jsonw_int(w, "asked", j->asked);
	jsonw_int(w, "stopped", j->stopped);
	jsonw_end_object(w);
}

static void
state_write_machine(struct jsonw *w, const struct cloud_machine *m)
{
	jsonw_begin_object(w, NULL);
	jsonw_str(w, "ref", m->ref);
	jsonw_str(w, "token", m->token);
	jsonw_str(w, "installation", m->installation);
	jsonw_str(w, "pool", m->pool_key);
	jsonw_str(w, "purchase", purchase_name(m->purchase));
	jsonw_int(w, "created", m->created);
	jsonw_int(w, "ready_at", m->ready_at);
	jsonw_double(w, "speed", m->speed);
	jsonw_bool(w, "broken", m->broken);
	jsonw_bool(w, "fails", m->fails);
	jsonw_int(w, "notice_at", m->notice_at);
	jsonw_int(w, "reclaim_at", m->reclaim_at);
	jsonw_int(w, "ended", m->ended);
	if (m->job.id != NULL)
		state_write_job(w, &m->job);
	jsonw_end_object(w);
}

enum berth_code
state_save(const char *path, const struct cloud *c, struct berth_err *err)
{
	struct jsonw w;
	struct buf b;
	enum berth_code rc;

	buf_init(&b, STATE_BYTES_MAX);
	jsonw_init_buf(&w, &b, JSONW_PRETTY);
	jsonw_begin_object(&w, NULL);
	jsonw_str(&w, "schema", "berth.replay-state/1");
	jsonw_int(&w, "clock", c->clock);
	jsonw_int(&w, "next", c->next);
	jsonw_begin_array(&w, "machines");
	for (size_t i = 0; i < c->machines.n; i++)
		state_write_machine(&w, &c->machines.v[i]);
	jsonw_end_array(&w);
	jsonw_end_object(&w);
	rc = jsonw_finish(&w, err);
	if (rc == BERTH_OK)
		rc = atomicfile_write(path, b.p, b.len, 0600, err);
	buf_free(&b);
	return rc;
}
