/* Budgets, reservations, ledger, commitments, events; and a race for the last dollars of a cap. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/event_rows.h"
#include "store/machine_rows.h"
#include "store/money_rows.h"
#include "store/forecast_rows.h"
#include "store/plan_rows.h"
#include "tests/tap.h"
#include "tests/unit/store_tmp.h"

#define USD(x) ((struct usd_micro){ (x) * INT64_C(1000000) })
#define RACERS 20

static struct budget
budget_of(struct store *s, const char *name, int64_t now, struct arena *a)
{
	struct budget *bs, none = { .name = "" };
	struct berth_err err;
	size_t n;

	if (store_budget_list(s, now, a, &bs, &n, &err) == BERTH_OK)
		for (size_t i = 0; i < n; i++)
			if (strcmp(bs[i].name, name) == 0)
				return bs[i];
	return none;
}

static void
test_periods(void)
{
	/* 2026-11-30 is a Monday; dates by hand. */
	static const struct { enum budget_period p; int64_t t, from, to; } rows[] = {
		{ BUDGET_HOUR, T0, T0 - T0 % 3600, T0 - T0 % 3600 + 3600 },
		{ BUDGET_DAY, T0, 1795996800, 1796083200 },
		{ BUDGET_WEEK, T0, 1795996800, 1796601600 },		/* Monday 30 Nov .. Monday 7 Dec */
		{ BUDGET_WEEK, 1795996799, 1795392000, 1795996800 },	/* the second before */
		{ BUDGET_MONTH, T0, 1793491200, 1796083200 },		/* 1 Nov .. 1 Dec */
	};
	int64_t from, to;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		budget_period_span(rows[i].p, rows[i].t, &from, &to);
		tap_ok(from == rows[i].from && to == rows[i].to, "%s of %lld: %lld .. %lld",
		    budget_period_name(rows[i].p), (long long)rows[i].t, (long long)from, (long long)to);
	}
	budget_period_span(BUDGET_TOTAL, T0, &from, &to);
	tap_ok(from == INT64_MIN && to == INT64_MAX, "a total holds all time");
}

/* A cap for an hour holds against what the machines ask, not against what they cost in all. */
static void
test_hour(struct store *s)
{
	const struct budget rate = { .name = "rate", .scope = "user:eve", .period = BUDGET_HOUR, .cap = USD(5) };
	struct budget_ask ask = { .account = "main", .project = "", .user = "eve", .job_id = "", .amount = USD(900),
		.hour = USD(5) };
	struct arena *a = arena_new();
	struct berth_err err;
	struct budget b;
	int64_t id;

	tap_code(store_budget_set(s, &rate, T0, &err), BERTH_OK, &err);
	tap_code(store_budget_reserve(s, &ask, 900, T0, &id, &err), BERTH_OK, &err);
	ask.hour.v++;
	tap_code(store_budget_reserve(s, &ask, 901, T0, &id, &err), BERTH_EBUDGET, &err);
	tap_ok(strstr(err.msg, "cap 5.000000 USD an hour") != NULL && strstr(err.msg, "asked for 5.000001") != NULL,
	    "names the rate: %s", err.msg);
	b = budget_of(s, "rate", T0, a);
	tap_ok(b.spent.v == 0 && b.reserved.v == 0, "without an intent no machine is there, and none asks for anything");
	tap_code(store_budget_delete(s, "rate", &err), BERTH_OK, &err);
	tap_code(store_budget_settle(s, 900, T0, &err), BERTH_OK, &err);
	arena_free(a);
}

static void
test_budget(struct store *s)
{
	const struct budget month = { .name = "", .scope = "project:nlp", .period = BUDGET_MONTH, .cap = USD(100) };
	const struct budget bad = { .name = "x", .scope = "team:nlp", .period = BUDGET_MONTH, .cap = USD(1) };
	const struct budget_ask ask = { .account = "main", .project = "nlp", .user = "ann", .job_id = "j-1",
		.amount = USD(60) }, small = { .account = "main", .project = "nlp", .user = "ann", .job_id = "j-1",
		.amount = USD(40) }, elsewhere = { .account = "main", .project = "cv", .user = "ann", .job_id = "j-2",
		.amount = USD(1000) }, nothing = { .project = "nlp", .account = "", .user = "", .job_id = "",
		.amount = USD_UNKNOWN }, over = { .account = "main", .project = "nlp", .user = "ann", .job_id = "j-1",
		.amount = { 40000051 } }, free_of = { .account = "main", .project = "nlp", .user = "ann", .job_id = "j-3",
		.amount = { 0 } }, below = { .account = "main", .project = "nlp", .user = "ann", .job_id = "j-3",
		.amount = { -1 } };
	struct ledger_row row = { .t = T0, .kind = LEDGER_COMPUTE, .account = "main", .project = "nlp", .user = "ann",
		.job_id = "j-1", .instance_id = 4, .amount = USD(25), .note = "" };
	struct arena *a = arena_new();
	struct ledger_row *rows;
	struct berth_err err;
	struct budget b;
	int64_t id;
	size_t n;

	tap_code(store_budget_set(s, &bad, T0, &err), BERTH_EINVAL, &err);
	tap_code(store_budget_set(s, &month, T0, &err), BERTH_OK, &err);
	tap_code(store_budget_reserve(s, &ask, 1, T0, &id, &err), BERTH_OK, &err);
	tap_code(store_budget_reserve(s, &ask, 2, T0, &id, &err), BERTH_EBUDGET, &err);
	tap_ok(strstr(err.msg, "project:nlp/month") != NULL && strstr(err.msg, "100.00") != NULL &&
	    strstr(err.msg, "reserved 60.00") != NULL && strstr(err.msg, "asked for 60.00") != NULL,
	    "names the numbers: %s", err.msg);
	tap_code(store_budget_reserve(s, &over, 2, T0, &id, &err), BERTH_EBUDGET, &err);
	tap_ok(strstr(err.msg, "cap 100.0000 USD, spent 0.0000, reserved 60.0000, asked for 40.0001") != NULL,
	    "as many places as it takes to see that it is over: %s", err.msg);
	tap_code(store_budget_reserve(s, &small, 2, T0, &id, &err), BERTH_OK, &err);
	tap_code(store_budget_reserve(s, &free_of, 5, T0, &id, &err), BERTH_OK, &err);
	tap_is_long(store_tmp_number(store_path(s), "SELECT amount FROM reservation WHERE job_id = 'j-3'"), 0,
	    "a reservation of nothing is one of nothing");
	tap_code(store_budget_reserve(s, &below, 6, T0, &id, &err), BERTH_EINVAL, &err);
	tap_code(store_budget_hold(s, 5, (struct usd_micro){ 0 }, &err), BERTH_OK, &err);
	tap_code(store_budget_reserve(s, &elsewhere, 3, T0, &id, &err), BERTH_OK, &err);
	tap_code(store_budget_reserve(s, &nothing, 4, T0, &id, &err), BERTH_EINVAL, &err);
	tap_code(store_budget_charge(s, 1, &row, &err), BERTH_OK, &err);
	b = budget_of(s, "project:nlp/month", T0, a);
	tap_ok(b.spent.v == USD(25).v && b.reserved.v == USD(75).v, "what is charged moves from reserved to spent");
	row.amount = USD(50);
	tap_code(store_budget_charge(s, 1, &row, &err), BERTH_OK, &err);
	b = budget_of(s, "project:nlp/month", T0, a);
	tap_ok(b.spent.v == USD(75).v && b.reserved.v == USD(40).v, "a charge beyond the reservation is still counted");
	tap_code(store_budget_settle(s, 2, T0, &err), BERTH_OK, &err);
	b = budget_of(s, "project:nlp/month", T0, a);
	tap_is_long(b.reserved.v, 0, "settling frees the rest");
	b = budget_of(s, "project:nlp/month", T0 + 86400 * 5, a);
	tap_is_long(b.spent.v, 0, "a new month starts at nothing");
	row.amount = (struct usd_micro){ -USD(5).v };
	tap_code(store_ledger_add(s, &row, &err), BERTH_OK, &err);
	tap_code(store_ledger_list(s, &(struct ledger_query){ .project = "nlp" }, a, &rows, &n, &err), BERTH_OK, &err);
	tap_ok(n == 3 && rows[2].amount.v == -USD(5).v && rows[0].instance_id == 4, "the ledger has each row");
	tap_code(store_budget_delete(s, "project:nlp/month", &err), BERTH_OK, &err);
	tap_code(store_budget_delete(s, "project:nlp/month", &err), BERTH_ENOTFOUND, &err);
	arena_free(a);
}

/* An intent that is refused by a budget leaves nothing behind; one that fails gives its money back. */
static void
test_intent(struct store *s, const char *path)
{
	const struct budget cap = { .name = "cap", .scope = "all", .period = BUDGET_TOTAL, .cap = USD(2000) };
	const struct budget_ask much = { .account = "m", .project = "", .user = "", .job_id = "", .amount = USD(1001) };
	const struct intent it = { .kind = INTENT_CREATE, .account = "m", .token = "", .job_id = "", .created = T0,
		.reason = "", .offer = { .provider = "p", .account = "m", .region = "", .zone = "", .instance_type = "t",
		.accelerator = "", .currency = "USD", .source = "" } };
	struct arena *a = arena_new();
	struct berth_err err;
	struct intent out;

	tap_code(store_budget_set(s, &cap, T0, &err), BERTH_OK, &err);	/* 1000 of project cv are reserved already */
	tap_code(store_intent_open(s, &it, &much, a, &out, &err), BERTH_EBUDGET, &err);
	tap_is_long(store_tmp_number(path, "SELECT count(*) FROM intent"), 0, "no intent without its money");
	tap_code(store_budget_settle(s, 3, T0, &err), BERTH_OK, &err);
	tap_code(store_intent_open(s, &it, &much, a, &out, &err), BERTH_OK, &err);
	tap_is_long(budget_of(s, "cap", T0, a).reserved.v, USD(1001).v, "reserved with the intent");
	tap_code(store_intent_settle(s, out.id, INTENT_FAILED, 0, "no_capacity", T0, &err), BERTH_OK, &err);
	tap_is_long(budget_of(s, "cap", T0, a).reserved.v, 0, "given back when it failed");
	tap_code(store_budget_delete(s, "cap", &err), BERTH_OK, &err);
	arena_free(a);
}

/* Each racer asks for 7 dollars again and again until the cap of 1000 refuses it. */
static int
race(const char *path, int me)
{
	const struct budget_ask ask = { .account = "", .project = "race", .user = "", .job_id = "", .amount = USD(7) };
	struct berth_err err;
	struct store *s;
	int64_t id;
	int won = 0;

	if (store_open(path, STORE_WRITE, T0, &s, &err) != BERTH_OK)
		return 255;
	while (store_budget_reserve(s, &ask, 1000 + me, T0, &id, &err) == BERTH_OK)
		won++;
	store_close(s);
	return err.code == BERTH_EBUDGET ? won : 255;
}

static void
test_race(const char *path)
{
	const struct budget b = { .name = "race", .scope = "project:race", .period = BUDGET_DAY, .cap = USD(1000) };
	struct store *s = store_tmp_open(path);
	struct berth_err err;
	int won = 0, failed = 0, status;
	pid_t pid;

	tap_code(store_budget_set(s, &b, T0, &err), BERTH_OK, &err);
	store_close(s);
	fflush(stdout);
	for (int i = 0; i < RACERS; i++)
		if ((pid = fork()) == 0)
			_exit(race(path, i));
	while (wait(&status) > 0) {
		failed += !WIFEXITED(status) || WEXITSTATUS(status) == 255;
		won += WIFEXITED(status) && WEXITSTATUS(status) != 255 ? WEXITSTATUS(status) : 0;
	}
	tap_is_long(failed, 0, "each of %d processes ended at the cap and at nothing else", RACERS);
	tap_is_long(won, 1000 / 7, "together they got what fits under the cap");
	tap_is_long(store_tmp_number(path, "SELECT sum(held) FROM reservation WHERE project = 'race'"),
	    1000 / 7 * USD(7).v, "and so says the store");
}

static void
test_commitments(struct store *s)
{
	struct commitment c = { .offer = { .provider = "p", .account = "m", .region = "r", .zone = "", .instance_type = "t",
		.accelerator = "H100-80GB", .accelerator_count = 8, .currency = "USD", .source = "", .price = USD(10),
		.upfront = USD(5), .purchase = PURCHASE_RESERVED, .term_months = 12 }, .count = 3, .from = T0,
		.to = T0 + 1000, .source = "plan:1", .note = "" };
	struct arena *a = arena_new();
	struct commitment *cs;
	struct berth_err err;
	int64_t id;
	size_t n;

	tap_code(store_commitment_insert(s, &c, &id, &err), BERTH_OK, &err);
	tap_code(store_commitment_list(s, T0 + 999, a, &cs, &n, &err), BERTH_OK, &err);
	tap_ok(n == 1 && cs[0].count == 3 && cs[0].offer.term_months == 12 && cs[0].offer.price.v == USD(10).v, "owned");
	tap_code(store_commitment_list(s, T0 + 1000, a, &cs, &n, &err), BERTH_OK, &err);
	tap_is_long((long long)n, 0, "up to its end and no longer");
	tap_code(store_commitment_list(s, 0, a, &cs, &n, &err), BERTH_OK, &err);
	tap_is_long((long long)n, 1, "listed all the same");
	c.count = 0;
	tap_code(store_commitment_insert(s, &c, &id, &err), BERTH_EINVAL, &err);
	tap_code(store_commitment_delete(s, id, &err), BERTH_OK, &err);
	arena_free(a);
}

static void
test_events(struct store *s)
{
	const char *const sinks[] = { "hook", "mail" };
	struct event e = { .t = T0, .type = "job.placed", .subject = "j-1", .data = "{\"x\":1}" };
	struct arena *a = arena_new();
	struct outbox_row *rows;
	struct event *es;
	struct berth_err err;
	int64_t first;
	size_t n;

	tap_code(store_event_append(s, &e, &err), BERTH_OK, &err);
	tap_code(store_sinks_set(s, sinks, 2, &err), BERTH_OK, &err);
	for (int i = 0; i < 5; i++) {
		e.t = T0 + i;
		e.type = i % 2 ? "job.done" : "instance.gone";
		e.data = "";
		tap_code(store_event_append(s, &e, &err), BERTH_OK, &err);
	}
	tap_code(store_event_list(s, NULL, a, &es, &n, &err), BERTH_OK, &err);
	tap_ok(n == 6 && strcmp(es[0].data, "{\"x\":1}") == 0 && strcmp(es[5].data, "{}") == 0 && es[0].id < es[5].id,
	    "all, oldest first");
	first = es[0].id;
	tap_code(store_event_list(s, &(struct event_query){ .type = "job.*", .after = first }, a, &es, &n, &err), BERTH_OK,
	    &err);
	tap_is_long((long long)n, 2, "by type and after an id");
	tap_code(store_event_list(s, &(struct event_query){ .limit = 2 }, a, &es, &n, &err), BERTH_OK, &err);
	tap_ok(n == 2 && es[0].t == T0 + 3 && es[1].t == T0 + 4, "the newest two, oldest first");
	tap_code(store_outbox_due(s, "hook", T0 + 2, 0, a, &rows, &n, &err), BERTH_OK, &err);
	tap_is_long((long long)n, 3, "due for a sink; the event before the sinks is not");
	tap_code(store_outbox_delivered(s, rows[0].event.id, "hook", T0 + 9, &err), BERTH_OK, &err);
	tap_code(store_outbox_failed(s, rows[1].event.id, "hook", "503", T0 + 600, &err), BERTH_OK, &err);
	tap_code(store_outbox_due(s, "hook", T0 + 2, 0, a, &rows, &n, &err), BERTH_OK, &err);
	tap_is_long((long long)n, 1, "one is delivered, one waits");
	tap_code(store_outbox_due(s, "hook", T0 + 600, 1, a, &rows, &n, &err), BERTH_OK, &err);
	tap_ok(n == 1 && rows[0].tries == 1 && strcmp(rows[0].error, "503") == 0, "and comes again with its story");
	tap_code(store_outbox_due(s, "mail", T0 + 600, 0, a, &rows, &n, &err), BERTH_OK, &err);
	tap_is_long((long long)n, 5, "the other sink has had none");
	tap_code(store_outbox_delivered(s, 12345, "hook", T0, &err), BERTH_ENOTFOUND, &err);
	arena_free(a);
}

/* A forecast that an earlier version kept as JSON. */
static void
test_old_forecast(struct store *s, const char *path)
{
	struct arena *a = arena_new();
	struct forecast_row *fs;
	struct berth_err err;
	size_t n;

	store_tmp_exec(path, "INSERT INTO forecast (series, as_of, horizon_s, made, json) VALUES ('old', 3600, 7200, 1, "
	    "'{\"step_s\":3600,\"points\":[{\"mean\":2,\"p05\":1,\"p50\":2,\"p90\":3,\"p95\":4,\"p99\":5},"
	    "{\"mean\":3.5,\"p05\":1,\"p50\":2,\"p90\":3,\"p95\":4,\"p99\":7}],\"peak\":{\"p50\":3,\"p90\":4,\"p95\":5,\"p99\":6}}'), "
	    "('old', 7200, 7200, 1, 'damaged')");
	tap_code(store_forecast_repack(s, "old", &err), BERTH_OK, &err);
	tap_is_long(store_tmp_number(path, "SELECT count(*) FROM forecast WHERE series = 'old' AND json = '' AND packed IS NOT NULL"), 1,
	    "what can be read is packed");
	tap_is_long(store_tmp_number(path, "SELECT count(*) FROM forecast WHERE series = 'old' AND json = 'damaged'"), 1,
	    "what can not stays");
	tap_code(store_forecast_list(s, "old", 0, a, &fs, &n, &err), BERTH_EINVAL, &err);
	store_tmp_exec(path, "DELETE FROM forecast WHERE json = 'damaged'");
	tap_code(store_forecast_list(s, "old", 0, a, &fs, &n, &err), BERTH_OK, &err);
	tap_ok(n == 1 && fs[0].n == 2 && fs[0].mean[1] == 3.5 && fs[0].q[9] == 7 && fs[0].peak[2] == 5, "and says what it said");
	store_tmp_exec(path, "UPDATE forecast SET packed = x'01ff' WHERE series = 'old'");
	tap_code(store_forecast_list(s, "old", 0, a, &fs, &n, &err), BERTH_EINVAL, &err);
	store_tmp_exec(path, "UPDATE forecast SET packed = x'07' WHERE series = 'old'");
	tap_code(store_forecast_list(s, "old", 0, a, &fs, &n, &err), BERTH_EINVAL, &err);
	store_tmp_exec(path, "DELETE FROM forecast WHERE series = 'old'");
	arena_free(a);
}

static void
test_plans(struct store *s)
{
	const double mean[2] = { 1.5, 1e6 }, q[2 * FORECAST_ROW_LEVELS] = { 0, 1, 2, 3, 4, 9e5, 1e6, 1.1e6, 1.2e6, 1.3e6 };
	struct forecast_row f = { .series = "s", .as_of = T0, .horizon_s = 7200, .made = T0, .step_s = 3600, .n = 2,
		.peak = { 1, 2, 3, 4.25 }, .mean = mean, .q = q };
	struct forecast_score_row score = { "s", T0, 7200, T0, 3600, .5, NAN, .1, .9, 2, 0 }, *scores;
	struct plan_row p = { .made = T0, .json = "{}", .inputs = "{\"f\":1}" }, got;
	struct decision d = { .t = T0, .kind = "place", .subject = "j-1", .json = "{}" };
	struct arena *a = arena_new();
	struct forecast_row *fs;
	struct decision *ds;
	struct plan_row *ps;
	struct berth_err err;
	int64_t id;
	size_t n;

	tap_code(store_forecast_insert(s, &f, &id, &err), BERTH_OK, &err);
	f.as_of = T0 + 1;
	tap_code(store_forecast_insert(s, &f, &id, &err), BERTH_OK, &err);
	tap_code(store_forecast_list(s, "s", 1, a, &fs, &n, &err), BERTH_OK, &err);
	tap_ok(n == 1 && fs[0].as_of == T0 + 1 && fs[0].n == 2 && fs[0].step_s == 3600 && fs[0].peak[3] == 4.25, "newest forecast first");
	tap_near(fs[0].mean[0], 1.5, 3, "small beside a large one");
	for (size_t i = 0; i < 2 * FORECAST_ROW_LEVELS; i++)
		tap_near(fs[0].q[i], q[i], 1.3e6 * 4e-6, "quantile %zu", i);
	f.peak[0] = 2;
	tap_code(store_forecast_insert(s, &f, &id, &err), BERTH_OK, &err);
	tap_code(store_forecast_list(s, "s", 0, a, &fs, &n, &err), BERTH_OK, &err);
	tap_ok(n == 2 && fs[0].peak[0] == 2 && fs[1].peak[0] == 1,
	    "made again from the same history as far ahead: it takes the place of the first");
	tap_code(store_forecast_list(s, "none", 0, a, &fs, &n, &err), BERTH_OK, &err);
	tap_is_long((long long)n, 0, "none of another series");
	tap_code(store_forecast_heads(s, "s", a, &fs, &n, &err), BERTH_OK, &err);
	tap_ok(n == 2 && fs[0].as_of == T0 && fs[0].n == 0, "heads alone, oldest first");
	tap_code(store_forecast_settle(s, fs[0].id, &score, &err), BERTH_OK, &err);
	tap_code(store_forecast_get(s, fs[0].id, a, &f, &err), BERTH_ENOTFOUND, &err);
	tap_code(store_forecast_scores(s, "s", a, &scores, &n, &err), BERTH_OK, &err);
	tap_ok(n == 1 && scores[0].known_s == 3600 && scores[0].mase == .5 && isnan(scores[0].smape), "its score stays");
	tap_code(store_plan_insert(s, &p, &id, &err), BERTH_OK, &err);
	tap_code(store_plan_get(s, id, a, &got, &err), BERTH_OK, &err);
	tap_is_str(got.inputs, "{\"f\":1}", "a plan with what it was made from");
	tap_code(store_plan_get(s, id + 1, a, &got, &err), BERTH_ENOTFOUND, &err);
	tap_code(store_plan_list(s, 0, a, &ps, &n, &err), BERTH_OK, &err);
	tap_is_long((long long)n, 1, "listed");
	tap_code(store_decision_insert(s, &d, &id, &err), BERTH_OK, &err);
	tap_code(store_decision_list(s, "place", "j-1", 0, a, &ds, &n, &err), BERTH_OK, &err);
	tap_is_long((long long)n, 1, "a decision by subject");
	tap_code(store_decision_list(s, "scale", NULL, 0, a, &ds, &n, &err), BERTH_OK, &err);
	tap_is_long((long long)n, 0, "and none of another kind");
	arena_free(a);
}

int
main(void)
{
	char path[1024];
	struct store *s;

	snprintf(path, sizeof(path), "%s", store_tmp_path("berth.db"));
	s = store_tmp_open(path);
	test_periods();
	test_budget(s);
	test_hour(s);
	test_intent(s, path);
	test_commitments(s);
	test_events(s);
	test_plans(s);
	test_old_forecast(s, path);
	store_close(s);
	test_race(path);
	store_tmp_end();
	return tap_done();
}
