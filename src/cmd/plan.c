#include "config.h"

#include <string.h>

#include "cmd/cmd.h"
#include "cmd/forecast.h"
#include "cmd/line.h"
#include "cmd/plan_approve.h"
#include "cmd/plan_deal.h"
#include "cmd/plan_inputs.h"
#include "cmd/plan_join.h"
#include "cmd/plan_opts.h"
#include "cmd/series_waste.h"
#include "store/money_rows.h"
#include "store/offer_rows.h"
#include "store/plan_rows.h"
#include "store/store.h"
#include "store/tier_rows.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/time.h"

static enum berth_code plan_run(struct cmd_ctx *ctx, struct berth_err *err);

const struct cmd cmd_plan = {
	.name = "plan",
	.summary = "say what to reserve, and what to leave on demand or spot",
	.args = "[SERIES ...]",
	.opts = plan_rows,
	.opts_default = &plan_defaults,
	.opts_size = sizeof(plan_defaults),
	.flags = CMD_STORE_RW,
	.args_max = -1,
	.run = plan_run,
};

/* A series that cannot be planned is named and left out; the first one's error is kept for when
 * none is left. */
struct plan_left {
	size_t n;
	struct berth_err first;
};

static void
plan_keep(struct cmd_ctx *ctx, struct plan_series *ps, size_t *n, const struct berth_err *why,
    struct plan_left *left)
{
	size_t kept = 0;

	for (size_t i = 0; i < *n; i++) {
		if (why[i].code == BERTH_OK) {
			ps[kept++] = ps[i];
			continue;
		}
		left->n++;
		if (left->first.code == BERTH_OK)
			left->first = why[i];
		cmd_warn(ctx, "left out: %s", why[i].msg);
	}
	*n = kept;
}

/* Store faults end the plan; what a series says of itself does not. */
static bool
plan_own_fault(enum berth_code rc)
{
	return rc == BERTH_EINFEASIBLE || rc == BERTH_EINVAL;
}

static enum berth_code
plan_market_all(struct cmd_ctx *ctx, const struct accel_table *accels, const struct offer *offers,
    size_t n_offers, const struct plan_options *o, struct plan_series *ps, size_t *n,
    struct plan_left *left, struct berth_err *err)
{
	struct berth_err *why = arena_array(ctx->arena, *n, sizeof(*why));

	for (size_t i = 0; i < *n; i++) {
		enum berth_code rc =
		    plan_market(accels, offers, n_offers, o, ctx->arena, &ps[i], err);

		if (rc != BERTH_OK && (*n == 1 || !plan_own_fault(rc)))
			return rc;
		if (rc != BERTH_OK)
			why[i] = *err;
	}
	plan_keep(ctx, ps, n, why, left);
	return BERTH_OK;
}

/* Each series is used or built; those that cannot be are left out. only: none is to be. */
static enum berth_code
plan_each(struct cmd_ctx *ctx, const struct accel_table *accels, const struct commitment *owned,
    size_t n_owned, bool use, bool only, const struct plan_options *o, struct plan_series *ps,
    size_t *n, struct plan_left *left, struct berth_err *err)
{
	struct berth_err *why = arena_array(ctx->arena, *n + 1, sizeof(*why));

	for (size_t i = 0; i < *n; i++) {
		enum berth_code rc;

		if (!use)
			plan_build(accels, owned, n_owned, o, ctx->arena, &ps[i]);
		rc = use ? plan_use(o, ctx->arena, &ps[i], err)
			 : plan_feasible(&ps[i], o, ctx->arena, err);
		if (rc != BERTH_OK && (only || !plan_own_fault(rc)))
			return rc;
		if (rc != BERTH_OK)
			why[i] = *err;
	}
	plan_keep(ctx, ps, n, why, left);
	return BERTH_OK;
}

/* What is owned is dealt anew where a series drops out: its part goes to the others. */
static enum berth_code
plan_build_all(struct cmd_ctx *ctx, const struct accel_table *accels,
    const struct commitment *owned, size_t n_owned, const struct plan_options *o,
    struct plan_series *ps, size_t *n, struct plan_left *left, struct berth_err *err)
{
	bool only = *n + left->n == 1;
	enum berth_code rc =
	    plan_each(ctx, accels, owned, n_owned, true, only, o, ps, n, left, err);

	for (size_t was = *n + 1; rc == BERTH_OK && was > *n;) {
		was = *n;
		plan_owned_part(owned, n_owned, o, accels, ps, *n, ctx->arena);
		for (size_t i = 0; i < *n; i++)
			plan_build(accels, owned, n_owned, o, ctx->arena, &ps[i]);
		rc = plan_deal(ps, *n, o, ctx->arena, err);
		if (rc != BERTH_OK)
			return rc;
		plan_owned_note(ps, *n, ctx->arena);
		rc = plan_each(ctx, accels, owned, n_owned, false, only, o, ps, n, left, err);
	}
	if (rc == BERTH_OK)
		plan_quota_runway(ps, *n, false, o, ctx->arena);
	return rc;
}

/* A plan in the making: what plan_run() prints, or a replay compares. */
struct plan_made {
	struct plan_then then;
	struct plan_options o;
	struct plan_series *ps;
	size_t n;
	struct plan_left left;
};

/* Of a replay only what was there when the plan was made. */
static void
plan_own(struct cmd_ctx *ctx, const struct plan_then *then, struct plan_made *m,
    struct commitment *owned, size_t *n)
{
	size_t kept = 0;

	m->then.owned = arena_array(ctx->arena, *n + 1, sizeof(*m->then.owned));
	for (size_t i = 0; i < *n; i++) {
		bool was = then == NULL;

		for (size_t k = 0; then != NULL && k < then->n_owned; k++)
			was = was || then->owned[k] == owned[i].id;
		if (!was)
			continue;
		m->then.owned[kept] = owned[i].id;
		owned[kept++] = owned[i];
	}
	*n = m->then.n_owned = kept;
}

/* Which series there were, how far their history went, and how much of it was rolled up. */
static enum berth_code
plan_note_picked(
    struct cmd_ctx *ctx, const struct forecast_set *f, struct plan_made *m, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;
	int64_t *rolled = arena_array(ctx->arena, f->n_coarse + 1, sizeof(*rolled));
	const char **name = arena_array(ctx->arena, f->n_coarse + 1, sizeof(*name));
	int64_t *at = arena_array(ctx->arena, f->n_coarse + 1, sizeof(*at));

	for (size_t i = 0; rc == BERTH_OK && i < f->n_coarse; i++) {
		rc = store_late_until(ctx->store, f->rows[i].id, &rolled[i], err);
		name[i] = f->rows[i].name;
		at[i] = m->o.at != 0 ? m->o.at : f->rows[i].to + f->rows[i].step_s;
	}
	m->then.demand = (struct forecast_was){ name, at, f->n_coarse };
	m->then.rolled = rolled;
	return rc;
}

/* at: offers as they were then, and `then` what else there was; 0 and NULL: those of now. */
/* A plan that is made again goes by what berth.yaml said then. */
static void
plan_rules_then(struct plan_options *o, const struct plan_then *then)
{
	o->rails = then->rails;
	if (then->horizon_s > 0)
		o->horizon_s = then->horizon_s;
	if (then->service_level > 0)
		o->service_level = then->service_level;
	if (then->block == NULL)
		return;
	o->block = then->block;
	o->n_block = then->n_block;
}

static enum berth_code
plan_make(struct cmd_ctx *ctx, int64_t at, const struct plan_then *then, struct plan_made *m,
    struct berth_err *err)
{
	const struct accel_table *accels;
	struct forecast_set f = { 0 };
	struct offer *offers;
	struct offer_gap *gaps = NULL;
	struct commitment *owned;
	size_t n_offers, n_owned;
	enum berth_code rc = plan_options(ctx, &m->o, err);

	if (rc == BERTH_OK)
		rc = cmd_accels(ctx, &accels, err);
	m->o.then = then == NULL ? NULL : &then->demand;
	m->o.no_forms = then != NULL && !then->has_forms;
	if (rc == BERTH_OK && then == NULL) {
		rc = plan_money_read(ctx, accels, &m->o, err);
	} else if (rc == BERTH_OK) {
		m->o.money = then->money;
		m->o.n_money = then->n_money;
	}
	plan_money_apply(&m->o);
	m->o.was_stale = then == NULL || !then->has_stale ? NULL : &then->stale;
	m->o.stale = &m->then.stale;
	if (then != NULL)
		plan_rules_then(&m->o, then);
	m->o.was_gone = then == NULL || !then->has_gone ? NULL : &then->gone;
	m->o.gone = &m->then.gone;
	m->o.read = &m->then.read;
	m->o.n_others = then == NULL ? 0 : then->read.others;
	if (rc == BERTH_OK)
		rc = plan_demand_load(ctx, accels, &m->o, &f, &m->ps, &m->n, err);
	m->left.n = f.n_left;
	if (rc == BERTH_OK)
		rc = plan_note_picked(ctx, &f, m, err);
	if (rc == BERTH_OK)
		rc = then == NULL
			 ? store_offer_list(ctx->store, NULL, ctx->arena, &offers, &n_offers, err)
			 : plan_then_offers(ctx, then, at, &offers, &n_offers, err);
	if (rc == BERTH_OK && then == NULL)
		rc = store_offer_gaps(
		    ctx->store, ctx->now - PLAN_IDLE_S, ctx->arena, &gaps, &m->o.n_gaps, err);
	m->o.gaps = gaps;
	if (rc == BERTH_OK)
		rc = store_commitment_list(ctx->store, 0, ctx->arena, &owned, &n_owned, err);
	if (rc == BERTH_OK)
		plan_own(ctx, then, m, owned, &n_owned);
	if (rc == BERTH_OK)
		plan_names_check(
		    ctx, &m->o, &(struct plan_sellers){ offers, n_offers, owned, n_owned });
	if (rc == BERTH_OK)
		rc = plan_market_all(
		    ctx, accels, offers, n_offers, &m->o, m->ps, &m->n, &m->left, err);
	if (rc == BERTH_OK)
		plan_read_end(&m->then.read, n_offers);
	if (rc == BERTH_OK)
		rc = plan_demand_forecast(ctx, &m->o, &f, m->ps, m->n, err);
	if (rc == BERTH_OK)
		rc =
		    plan_build_all(ctx, accels, owned, n_owned, &m->o, m->ps, &m->n, &m->left, err);
	if (rc == BERTH_OK && m->n == 0) {
		*err = m->left.first;
		return err->code;
	}
	return rc;
}

static enum berth_code
plan_finish(struct cmd_ctx *ctx, struct plan_made *m, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;
	struct plan_progress told = { .done = 0 };

	progress_start(&told.bar, cmd_progress(ctx), "plan", "steps", 1 + 3 * (int64_t)m->n);
	m->o.progress = &told;
	for (size_t i = 0; i < m->n && rc == BERTH_OK; i++)
		rc = series_idle_hours(ctx, m->ps[i].accel, ctx->now - PLAN_IDLE_S, ctx->now,
		    &m->ps[i].idle_gpu_hours, err);
	if (rc == BERTH_OK)
		rc = plan_solve_all(m->ps, m->n, &m->o, ctx->arena, err);
	progress_end(&told.bar);
	m->o.progress = NULL;
	if (rc == BERTH_OK) {
		plan_demand_explain(m->ps, m->n, ctx->arena);
		plan_events_explain(m->ps, m->n, ctx->arena);
		plan_money_explain(m->ps, m->n, &m->o, ctx->arena);
	}
	return rc;
}

/* The plan as it is kept. The caller frees b. */
static enum berth_code
plan_text(const struct plan_made *m, struct buf *b, struct berth_err *err)
{
	struct jsonw w;
	enum berth_code rc;

	buf_init(b, JSONR_BYTES_MAX);
	jsonw_init_buf(&w, b, JSONW_COMPACT);
	jsonw_begin_object(&w, NULL);
	jsonw_str(&w, "schema", "berth.plan/1");
	plan_json(&w, 0, m->ps, m->n, &m->o);
	jsonw_end_object(&w);
	rc = jsonw_finish(&w, err);
	if (rc != BERTH_OK)
		buf_free(b);
	return rc;
}

static enum berth_code
plan_store(struct cmd_ctx *ctx, const struct plan_made *m, int64_t *id_out, struct berth_err *err)
{
	struct plan_row row = { .made = ctx->now };
	struct buf b;
	enum berth_code rc = plan_inputs_write(ctx, m->ps, m->n, &m->o, &m->then, &row.inputs, err);

	if (rc == BERTH_OK)
		rc = plan_text(m, &b, err);
	if (rc != BERTH_OK)
		return rc;
	row.json = b.p;
	rc = store_plan_insert(ctx->store, &row, id_out, err);
	buf_free(&b);
	return rc;
}

/* The first series of which more is rolled up than the plan found so; "". */
static const char *
plan_rolled_up(
    struct cmd_ctx *ctx, const struct plan_then *was, const struct plan_then *is, int64_t *t_out)
{
	for (size_t i = 0; i < is->demand.n; i++)
		for (size_t k = 0; k < was->demand.n; k++)
			if (strcmp(was->demand.series[k], is->demand.series[i]) == 0 &&
			    is->rolled[i] > was->rolled[k]) {
				*t_out = is->rolled[i];
				return arena_strdup(ctx->arena, is->demand.series[i]);
			}
	return "";
}

/* Where two texts part, with what stands around it. */
static enum berth_code
plan_differs(struct cmd_ctx *ctx, const char *was, const char *is, int64_t id,
    const struct plan_then *then, const struct plan_then *now, struct berth_err *err)
{
	char before[TIME_FMT_SIZE];
	int64_t t = 0;
	const char *rolled = plan_rolled_up(ctx, then, now, &t);
	size_t k = 0, from;

	while (was[k] != '\0' && was[k] == is[k])
		k++;
	from = k > 40 ? k - 40 : 0;
	if (rolled[0] != '\0')
		return err_set(err, BERTH_EFAIL,
		    "plan %lld comes out otherwise now, from byte %zu on: the history of %s before "
		    "%s has been rolled up since, and its single steps are not kept",
		    (long long)id, k, rolled, time_fmt(before, t));
	return err_set(err, BERTH_EFAIL,
	    "plan %lld comes out otherwise now, from byte %zu on: it was ...%.80s..., it is "
	    "...%.80s...: commitments, config or measured speeds have changed since",
	    (long long)id, k, was + from, is + from);
}

static enum berth_code
plan_replay(struct cmd_ctx *ctx, int64_t id, struct berth_err *err)
{
	struct cmd_ctx then = *ctx;
	struct plan_made m = { 0 };
	struct plan_row row;
	struct line line;
	struct plan_then was;
	struct buf b;
	enum berth_code rc = store_plan_get(ctx->store, id, ctx->arena, &row, err);

	if (rc == BERTH_OK)
		rc = plan_inputs_read(ctx, &row, &line, &was, err);
	if (rc != BERTH_OK)
		return rc;
	then.opts = line.opts;
	then.args = line.words;
	then.n_args = line.n_words;
	then.now = row.made;
	store_history_as_of(ctx->store, id);
	rc = plan_make(&then, row.made, &was, &m, err);
	for (size_t i = 0; i < m.n && i < was.n_oldest && rc == BERTH_OK; i++)
		m.ps[i].price_oldest = was.oldest[i]; /* an offer that goes on unchanged is looked
							 at again and again */
	if (rc == BERTH_OK)
		rc = plan_finish(&then, &m, err);
	store_history_as_of(ctx->store, 0);
	if (rc != BERTH_OK)
		return rc;
	rc = plan_text(&m, &b, err);
	if (rc == BERTH_OK && strcmp(b.p, row.json) != 0)
		rc = plan_differs(ctx, row.json, b.p, id, &was, &m.then, err);
	if (rc == BERTH_OK && cmd_wants_json(ctx)) {
		struct jsonw *w = cmd_json_begin(ctx, "berth.plan-replay/1");

		jsonw_int(w, "id", id);
		jsonw_bool(w, "same", true);
		jsonw_int(w, "bytes", (int64_t)strlen(row.json));
		rc = cmd_json_end(ctx, err);
	} else if (rc == BERTH_OK) {
		cmd_say(ctx, "Plan %lld comes out the same, byte for byte (%zu bytes).\n",
		    (long long)id, strlen(row.json));
	}
	buf_free(&b);
	return rc;
}

static enum berth_code
plan_run(struct cmd_ctx *ctx, struct berth_err *err)
{
	const struct plan_opts *v = ctx->opts;
	struct plan_made m = { 0 };
	int64_t id = 0;
	enum berth_code rc;

	if (v->approve > 0)
		return plan_approve(ctx, err);
	if (v->later) {
		err_set(err, BERTH_EUSAGE, "it goes with --approve alone");
		return err_at(err, "--later");
	}
	if (v->replay > 0)
		return plan_replay(ctx, v->replay, err);
	rc = plan_make(ctx, 0, NULL, &m, err);
	if (rc == BERTH_OK)
		rc = plan_finish(ctx, &m, err);
	for (size_t i = 0; i < m.n && rc == BERTH_EINFEASIBLE; i++)
		if (m.ps[i].next != NULL)
			cmd_next_step(ctx, "%s", m.ps[i].next);
	if (rc == BERTH_OK && v->lp != NULL)
		rc = m.o.starts_s > 0 ? plan_schedule_lp(ctx, m.ps, m.n, &m.o, v->lp, err)
				      : plan_lp(ctx, m.ps, m.n, &m.o, v->lp, err);
	if (rc == BERTH_OK && v->demand != NULL)
		rc = plan_paths_write(ctx, m.ps, m.n, v->demand, err);
	if (rc == BERTH_OK)
		rc = plan_store(ctx, &m, &id, err);
	if (rc != BERTH_OK)
		return rc;
	if (!cmd_wants_json(ctx)) {
		rc = plan_table(ctx, m.ps, m.n, &m.o, err);
	} else {
		plan_json(cmd_json_begin(ctx, "berth.plan/1"), id, m.ps, m.n, &m.o);
		rc = cmd_json_end(ctx, err);
	}
	if (rc == BERTH_OK && m.left.n > 0)
		rc = err_set(err, BERTH_EPARTIAL,
		    "%zu of %zu series could not be planned; each is named above", m.left.n,
		    m.n + m.left.n);
	return rc;
}
