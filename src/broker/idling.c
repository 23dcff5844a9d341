/* Jobs whose accelerators do nothing. */
#include <math.h>

#include "broker/decide.h"
#include "broker/idling.h"
#include "store/fleet_rows.h"
#include "util/duration.h"
#include "util/str.h"
#include "util/time.h"
#include "util/yaml.h"

#define IDLING_BELOW 0.05
#define IDLING_ALERT_S 3600 /* where nothing is ended */

/* "30m", or off: 0. *s stays if there is none. */
static enum berth_code
idling_timer(const struct yaml_node *map, const char *key, int64_t *s, struct berth_err *err)
{
	const struct yaml_node *n = yaml_get(map, key);
	enum berth_code rc;

	if (n == NULL)
		return BERTH_OK;
	*s = 0;
	if (n->kind == YAML_KIND_SCALAR && str_eq(n->text, "off"))
		return BERTH_OK;
	rc = yaml_duration(map, key, s, err);
	if (rc == BERTH_OK && *s <= 0)
		return yaml_err(n, err, "must be longer than 0, or off");
	return rc;
}

enum berth_code
idling_read(const struct yaml_node *config, struct idle_rule *out, struct berth_err *err)
{
	static const char *const keys[] = { "below", "alert", "stop", NULL };
	const struct yaml_node *map = NULL;
	struct berth_err why = { 0 };
	enum berth_code rc = config != NULL ? yaml_map(config, "idle", &map, err) : BERTH_OK;

	*out = (struct idle_rule){ .below = IDLING_BELOW };
	if (rc != BERTH_OK || map == NULL)
		return rc;
	if ((rc = yaml_check_keys(map, keys, err)) != BERTH_OK ||
	    (rc = yaml_double(map, "below", 0, 1, &out->below, err)) != BERTH_OK ||
	    (rc = idling_timer(map, "stop", &out->stop_s, err)) != BERTH_OK)
		return rc;
	out->alert_s = out->stop_s > 0 ? out->stop_s / 2 : IDLING_ALERT_S;
	if ((rc = idling_timer(map, "alert", &out->alert_s, err)) != BERTH_OK)
		return rc;
	return idle_check(out, &why) == BERTH_OK ? BERTH_OK : yaml_err(map, err, "%s", why.msg);
}

void
idling_rule(const struct idle_rule *config, const struct job_spec *spec, struct idle_rule *out)
{
	*out = *config;
	if (spec->idle_limit_s == 0)
		return;
	out->stop_s = spec->idle_limit_s > 0 ? spec->idle_limit_s : 0;
	if (out->stop_s == 0 || out->alert_s == 0 || out->alert_s >= out->stop_s)
		out->alert_s = out->stop_s / 2;
}

void
idling_state(const struct idling_row *row, struct idle_state *out)
{
	*out = (struct idle_state){ .since = row->since,
		.last = row->last,
		.n = row->readings,
		.told = row->told,
		.blind = row->blind,
		.busy = row->busy };
}

enum berth_code
idling_replica(
    struct store *s, struct arena *a, const char *job_id, bool *out, struct berth_err *err)
{
	const char *const *ids;
	size_t n;
	enum berth_code rc = store_replica_list(s, NULL, INT64_MAX, a, &ids, &n, err);

	*out = false;
	for (size_t i = 0; rc == BERTH_OK && i < n && !*out; i++)
		*out = str_eq(ids[i], job_id);
	return rc;
}

/* "its accelerators have worked less than 5 % of the time since 2026-11-30T12:00:00Z (1h), 0 % now"
 */
static const char *
idling_what(struct broker *b, const struct idle_rule *r, const struct idle_state *s)
{
	char at[TIME_FMT_SIZE], text[DURATION_FMT_SIZE];

	return arena_printf(b->tick_arena,
	    "its accelerators have worked less than %.3g %% of the time since %s (%s), %.3g %% now",
	    100 * r->below, time_fmt(at, s->since), duration_fmt(text, b->now - s->since),
	    100 * s->busy);
}

static const char *
idling_alert(struct broker *b, const struct idle_rule *r, const struct idle_state *s, bool replica)
{
	const char *what = idling_what(b, r, s);
	char at[TIME_FMT_SIZE];

	if (replica)
		return arena_printf(b->tick_arena, "%s: its fleet takes it away, or nobody", what);
	if (r->stop_s == 0)
		return arena_printf(b->tick_arena, "%s: nothing ends it, as no limit is set", what);
	return arena_printf(b->tick_arena, "%s: it is ended at %s, unless they work", what,
	    time_fmt(at, idle_stop_at(r, s)));
}

static enum berth_code
idling_tell(struct broker *b, const struct job *job, const struct instance *in,
    const struct idle_rule *r, const struct idle_state *s, const char *type, const char *reason,
    struct berth_err *err)
{
	enum berth_code rc = broker_event(b, err, type, job->id, job->id, in, "%s", reason);
	struct decide d;

	if (rc != BERTH_OK)
		return rc;
	decide_begin(&d, reason);
	jsonw_str(&d.w, "event", type);
	broker_json_machine(&d.w, b, in);
	jsonw_double(&d.w, "busy", s->since > 0 ? s->busy : NAN);
	jsonw_double(&d.w, "below", r->below);
	jsonw_time_or_null(&d.w, "since", s->since);
	jsonw_time_or_null(&d.w, "alert_at", idle_alert_at(r, s));
	jsonw_time_or_null(&d.w, "stop_at", idle_stop_at(r, s));
	jsonw_begin_array(&d.w, "changes");
	placing_json_change(&d.w,
	    decide_change(b, "idle", "", 0,
		"idle_limit of the job file, or idle of the config, with another time or off"));
	jsonw_end_array(&d.w);
	return decide_end(b, &d, "idle", job->id, err);
}

static enum berth_code
idling_rows(struct broker *b, const struct job *job, const struct instance *in,
    const struct idle_rule *r, const struct idle_state *s, enum idle_verdict v, bool replica,
    struct berth_err *err)
{
	struct idling_row row = { .job_id = job->id,
		.instance_id = in->id,
		.since = s->since,
		.last = s->last,
		.readings = s->n,
		.told = s->told,
		.blind = s->blind,
		.busy = s->busy };
	enum berth_code rc = store_idling_put(b->store, &row, err);

	if (rc == BERTH_OK && v == IDLE_ALERT)
		rc = idling_tell(b, job, in, r, s, "job.idle", idling_alert(b, r, s, replica), err);
	if (rc == BERTH_OK && v == IDLE_BLIND)
		rc = idling_tell(b, job, in, r, s, "job.idle_unknown",
		    "nothing tells whether its accelerators work (nvidia-smi is missing there, "
		    "gives "
		    "no number or does not answer), so it is not ended for being idle",
		    err);
	return rc;
}

enum berth_code
idling_watch(struct broker *b, const struct job *job, const struct instance *in,
    const struct prov_run *run, const char **why_out, struct berth_err *err)
{
	struct idling_row row;
	struct idle_state s;
	struct idle_rule r;
	enum idle_verdict v;
	bool replica = false;
	enum berth_code rc;

	*why_out = NULL;
	idling_rule(&b->idle, &job->spec, &r);
	if (r.alert_s == 0 && r.stop_s == 0)
		return BERTH_OK;
	rc = store_idling_get(b->store, job->id, in->id, &row, err);
	if (rc != BERTH_OK)
		return rc;
	idling_state(&row, &s);
	v = idle_step(&r, &s, b->now, run->busy_known ? run->busy : NAN);
	if (v == IDLE_ALERT || v == IDLE_STOP)
		rc = idling_replica(b->store, b->tick_arena, job->id, &replica, err);
	if (rc == BERTH_OK)
		rc = store_begin(b->store, err);
	if (rc != BERTH_OK)
		return rc;
	rc = idling_rows(b, job, in, &r, &s, v, replica, err);
	if (rc != BERTH_OK) {
		store_rollback(b->store);
		return rc;
	}
	if (v == IDLE_STOP && !replica)
		*why_out = idling_what(b, &r, &s);
	return store_commit(b->store, err);
}

enum berth_code
idling_ended(struct broker *b, const struct job *job, const struct instance *in, const char *reason,
    struct berth_err *err)
{
	struct idling_row row;
	struct idle_state s;
	struct idle_rule r;
	enum berth_code rc = store_idling_get(b->store, job->id, in->id, &row, err);

	if (rc == BERTH_OK)
		rc = store_begin(b->store, err);
	if (rc != BERTH_OK)
		return rc;
	idling_rule(&b->idle, &job->spec, &r);
	idling_state(&row, &s);
	rc = idling_tell(b, job, in, &r, &s, "job.idle_stopped", reason, err);
	if (rc == BERTH_OK)
		return store_commit(b->store, err);
	store_rollback(b->store);
	return rc;
}
