/* A decision in plain words. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "broker/placing_replay.h"
#include "cmd/explain.h"
#include "plan/cost.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/str.h"
#include "util/time.h"

/* Of a job that has no offer: the best that it was refused. */
static enum berth_code
explain_nearest(struct cmd_ctx *ctx, const struct jsonr *root, struct berth_err *err)
{
	struct jsonr n = jsonr_get(root, "nearest");
	const char *offer = "", *rule = "";
	enum refuse_code c;
	double usd = NAN;
	int64_t end = 0;
	char t[TIME_FMT_SIZE];
	enum berth_code rc = BERTH_OK;

	if (!json_is_object(n.v))
		return rc;
	if ((rc = jsonr_str(&n, "offer", &offer, err)) != BERTH_OK ||
	    (rc = jsonr_str(&n, "rule", &rule, err)) != BERTH_OK ||
	    (rc = jsonr_double(&n, "expected_cost", &usd, err)) != BERTH_OK ||
	    (rc = jsonr_time(&n, "expected_finish", &end, err)) != BERTH_OK)
		return rc;
	cmd_say_hung(ctx, 6,
	    "    the best that it could not have is %s, for %.2f USD, done by %s: %s", offer, usd,
	    time_fmt(t, end), refuse_parse(rule, &c) ? refuse_text(c) : rule);
	return rc;
}

/* What a probe measured of a machine that it rejected. */
static enum berth_code
explain_measured(struct cmd_ctx *ctx, const struct jsonr *root, struct berth_err *err)
{
	struct jsonr all = jsonr_get(root, "measured");
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; i < jsonr_len(&all) && rc == BERTH_OK; i++) {
		struct jsonr m = jsonr_at(&all, i);
		double value = NAN, expected = NAN, share = NAN;
		const char *test = "", *unit = "";
		int64_t gpu = -1;

		if ((rc = jsonr_str(&m, "test", &test, err)) != BERTH_OK ||
		    (rc = jsonr_str(&m, "unit", &unit, err)) != BERTH_OK ||
		    (rc = jsonr_int(&m, "gpu", -1, INT64_MAX, &gpu, err)) != BERTH_OK ||
		    (rc = jsonr_double(&m, "value", &value, err)) != BERTH_OK ||
		    (rc = jsonr_double(&m, "expected", &expected, err)) != BERTH_OK ||
		    (rc = jsonr_double(&m, "share", &share, err)) != BERTH_OK)
			return rc;
		cmd_say_hung(ctx, 6, "    %s%s: %.4g %s measured, %.4g expected (%.0f %%)", test,
		    gpu < 0 ? "" : arena_printf(ctx->arena, " of GPU %lld", (long long)gpu), value,
		    unit, expected, 100 * share);
	}
	return rc;
}

/* Whose turn it was, by fair_share of berth.yaml. */
static enum berth_code
explain_decision_share(struct cmd_ctx *ctx, const struct jsonr *root, struct berth_err *err)
{
	struct jsonr turn = jsonr_get(root, "fair_share");
	const char *owner = "";
	double weight = NAN, share = NAN, used = NAN, coming = NAN;
	int64_t at = 0;
	enum berth_code rc = BERTH_OK;

	if (!json_is_object(turn.v) || !json_is_integer(jsonr_get(&turn, "turn").v))
		return rc;
	if ((rc = jsonr_str(&turn, "owner", &owner, err)) != BERTH_OK ||
	    (rc = jsonr_double(&turn, "weight", &weight, err)) != BERTH_OK ||
	    (rc = jsonr_double(&turn, "share", &share, err)) != BERTH_OK ||
	    (rc = jsonr_double(&turn, "used_gpu_hours", &used, err)) != BERTH_OK ||
	    (rc = jsonr_double(&turn, "coming_gpu_hours", &coming, err)) != BERTH_OK ||
	    (rc = jsonr_int(&turn, "turn", 1, INT64_MAX, &at, err)) != BERTH_OK)
		return rc;
	cmd_say_hung(ctx, 6,
	    "    turn %lld by fair share: %s has a share of %.1f %% (weight %.6g), has used %.1f "
	    "GPU-hours and holds machines for %.1f more",
	    (long long)at, owner[0] == '\0' ? "who has no name" : owner, 100 * share, weight, used,
	    coming);
	return rc;
}

/* The runner-up, what binds, and how far from the least that the rest may cost. */
static enum berth_code
explain_move_more(struct cmd_ctx *ctx, const struct jsonr *root, struct berth_err *err)
{
	struct jsonr next = jsonr_get(root, "runner_up");
	double extra = NAN, saves = NAN, gap = NAN;
	const char *offer = "", *binds = "";
	enum refuse_code c;
	enum berth_code rc = jsonr_str(root, "binds", &binds, err);

	if (rc == BERTH_OK)
		rc = jsonr_double(root, "shadow_price", &saves, err);
	if (rc == BERTH_OK)
		rc = jsonr_double(root, "gap", &gap, err);
	if (rc == BERTH_OK && json_is_object(next.v))
		rc = jsonr_str(&next, "offer", &offer, err);
	if (rc == BERTH_OK && json_is_object(next.v))
		rc = jsonr_double(&next, "extra_cost", &extra, err);
	if (rc != BERTH_OK)
		return rc;
	if (offer[0] != '\0')
		cmd_say_hung(ctx, 6, "    next: %s, %.2f USD more", offer, extra);
	if (binds[0] != '\0' && !isnan(saves))
		cmd_say_hung(ctx, 6,
		    "    what binds: %s; without it the rest would cost %.2f USD less",
		    refuse_parse(binds, &c) && c != REFUSE_DEADLINE ? refuse_text(c)
								    : "the deadline",
		    saves);
	if (isfinite(gap))
		cmd_say_hung(ctx, 6,
		    "    that is at most %.2f %% above the least that the rest of the work costs "
		    "anywhere",
		    100 * fmax(0, gap));
	return rc;
}

/* Of a running job that left its machine: to where, at what cost, and what staying would have cost.
 */
static enum berth_code
explain_move(struct cmd_ctx *ctx, const struct jsonr *root, struct berth_err *err)
{
	const char *to = "";
	double usd = NAN, stay = NAN;
	enum berth_code rc = jsonr_str(root, "destination", &to, err);

	if (rc == BERTH_OK)
		rc = jsonr_double(root, "expected_cost", &usd, err);
	if (rc == BERTH_OK)
		rc = jsonr_double(root, "stay_cost", &stay, err);
	if (rc == BERTH_OK && to[0] != '\0')
		cmd_say_hung(ctx, 6, "    the rest of the work costs %.2f USD on %s%s", usd, to,
		    isnan(stay)
			? ""
			: arena_printf(ctx->arena,
			      ", and would have cost %.2f where it was, could it have stayed",
			      stay));
	if (rc == BERTH_OK && to[0] != '\0')
		rc = explain_move_more(ctx, root, err);
	return rc;
}

/* What would change it, how old the data are, and how far from the best the whole may be. */
static enum berth_code
explain_decision_more(struct cmd_ctx *ctx, const struct jsonr *root, struct berth_err *err)
{
	struct jsonr changes = jsonr_get(root, "changes");
	int64_t chosen = 0, oldest = 0;
	char t[TIME_FMT_SIZE];
	double gap = NAN;
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; i < jsonr_len(&changes) && rc == BERTH_OK; i++) {
		struct jsonr at = jsonr_at(&changes, i);
		const char *text = "";

		rc = jsonr_str(&at, "text", &text, err);
		if (rc == BERTH_OK)
			cmd_say_hung(
			    ctx, 6, "    %s %s", i == 0 ? "what would change it:" : "or", text);
	}
	if (rc == BERTH_OK)
		rc = jsonr_time(root, "price_as_of", &chosen, err);
	if (rc == BERTH_OK)
		rc = jsonr_time(root, "oldest_price", &oldest, err);
	if (rc == BERTH_OK)
		rc = jsonr_double(root, "gap", &gap, err);
	if (rc != BERTH_OK)
		return rc;
	rc = explain_move(ctx, root, err);
	if (rc != BERTH_OK)
		return rc;
	if (chosen > 0)
		cmd_say(ctx, "    its price is of %s\n", time_fmt(t, chosen));
	else if (json_is_object(jsonr_get(root, "offer").v))
		cmd_say(ctx, "    nobody said of when its price is\n");
	if (oldest > 0 && oldest != chosen)
		cmd_say(ctx, "    the oldest price that it was compared with is of %s\n",
		    time_fmt(t, oldest));
	if (json_is_string(jsonr_get(root, "destination").v))
		return rc; /* a move has said its own gap */
	if (gap == 0)
		cmd_say(ctx,
		    "    the placement is optimal: no other one of the same jobs costs less\n");
	else if (isfinite(gap))
		cmd_say(ctx, "    the placement costs at most %.2f %% more than any possible one\n",
		    100 * gap);
	return BERTH_OK;
}

/* The number by which it can be made again. */
static enum berth_code
explain_replay(struct cmd_ctx *ctx, const struct decision *d, struct berth_err *err)
{
	bool kept = false;
	enum berth_code rc = placing_replay_kept(ctx->store, d, ctx->arena, &kept, err);

	if (rc == BERTH_OK && kept)
		cmd_say(ctx, "    decision %lld: `berth place --replay %lld` makes it again\n",
		    (long long)d->id, (long long)d->id);
	return rc;
}

enum berth_code
explain_decision_say(
    struct cmd_ctx *ctx, const struct decision *d, const char *now, struct berth_err *err)
{
	const char *reason = "";
	struct jsonr root, refused;
	json_t *tree = NULL;
	char t[TIME_FMT_SIZE];
	enum berth_code rc = jsonr_parse(d->json, strlen(d->json), "decision", &tree, err);

	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(tree, "decision");
	rc = jsonr_str(&root, "reason", &reason, err);
	if (rc == BERTH_OK)
		rc = jsonr_object(&root, "refused", &refused, err);
	if (rc == BERTH_OK) {
		const char *key;
		json_t *v;

		cmd_say_hung(ctx, 4, "%s %s%s%s: %s", time_fmt(t, d->t), d->kind,
		    str_eq(d->kind, d->subject) ? "" : " ",
		    str_eq(d->kind, d->subject) ? "" : d->subject, reason);
		if (d->seen > d->t)
			cmd_say(ctx, "    this was still so at %s\n", time_fmt(t, d->seen));
		if (d->seen > d->t && now[0] != '\0' && !str_eq(now, reason) &&
		    str_eq(d->kind, "wait"))
			cmd_say_hung(ctx, 4, "    with its times as of then: %s", now);
		json_object_foreach((json_t *)(uintptr_t)refused.v, key, v)
		{
			enum refuse_code c;

			cmd_say_hung(ctx, 14, "    %6lld  %s: %s", (long long)json_integer_value(v),
			    key, refuse_parse(key, &c) ? refuse_text(c) : "");
		}
		rc = explain_measured(ctx, &root, err);
		if (rc == BERTH_OK)
			rc = explain_nearest(ctx, &root, err);
		if (rc == BERTH_OK)
			rc = explain_decision_share(ctx, &root, err);
		if (rc == BERTH_OK)
			rc = explain_decision_more(ctx, &root, err);
		if (rc == BERTH_OK)
			rc = explain_replay(ctx, d, err);
	}
	json_decref(tree);
	return rc;
}
