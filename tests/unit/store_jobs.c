/* Jobs, attempts, intents, instances, blocks, capacity memory. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "store/job_rows.h"
#include "store/machine_rows.h"
#include "store/money_rows.h"
#include "tests/tap.h"
#include "tests/unit/store_tmp.h"

static struct offer
offer_make(const char *type)
{
	return (struct offer){ .id = 5, .provider = "aws", .account = "main", .region = "us-east-1", .zone = "use1-az1",
		.instance_type = type, .accelerator = "H100-80GB", .accelerator_known = true, .accelerator_count = 8,
		.accelerator_memory_gib = 80, .vcpus = 192, .memory_gib = 2048, .purchase = PURCHASE_RESERVED,
		.term_months = 12, .payment = PAYMENT_PARTIAL, .upfront = { 123456789 }, .price = { 98765432 },
		.currency = "USD", .available = AVAIL_YES, .interruption_rate = 0.1, .measured = (double)NAN,
		.as_of = T0, .source = "test \"quoted\" \xc3\xa9" };
}

static void
test_spec(struct store *s)
{
	struct job_variant variants[2] = {
		{ "bf16", "H100-80GB", 4, 8, 1, 80, 96, 10.25, 1.5 },
		{ "fp8", "", 1, 1, 2, 0, (double)INFINITY, (double)NAN, (double)NAN } };
	const char *regions[] = { "eu-*", "us-east-1" };
	struct job_spec spec = { .name = "train", .user = "ann", .project = "nlp", .priority = 7, .variants = variants,
		.n_variants = 2, .work_hours = 100.1, .precision = "bf16", .checkpoint_gib = 12.5, .checkpoint_write_s = 60,
		.checkpoint_interval_s = 0, .restart_s = 300, .idle_limit_s = -1, .replace_lost_s = 1800,
		.can_resume = true, .deadline = T0 + 86400,
		.max_price = { 12340001 }, .max_cost = USD_UNKNOWN, .purchase_ok = { true, true, false },
		.regions = regions, .n_regions = 2, .providers = NULL, .n_providers = 0, .data_region = "eu-west-1",
		.data_gib = 0.1, .run = "set -e\necho \"$X\" \xe4\xbd\xa0\n", .retries = 3 };
	struct arena *a = arena_new();
	struct berth_err err;
	const char *id;
	struct job j;

	tap_code(store_job_insert(s, &spec, T0, a, &id, &err), BERTH_OK, &err);
	tap_code(store_job_get(s, id, a, &j, &err), BERTH_OK, &err);
	tap_ok(strcmp(j.spec.name, "train") == 0 && strcmp(j.spec.user, "ann") == 0 &&
	    strcmp(j.spec.project, "nlp") == 0 && j.spec.priority == 7 && strcmp(j.spec.run, spec.run) == 0 &&
	    strcmp(j.spec.precision, "bf16") == 0 && strcmp(j.spec.data_region, "eu-west-1") == 0, "texts come back");
	tap_ok(j.spec.work_hours == 100.1 && j.spec.checkpoint_gib == 12.5 && j.spec.data_gib == 0.1 &&
	    j.spec.checkpoint_write_s == 60 && j.spec.restart_s == 300 && j.spec.idle_limit_s == -1 && j.spec.can_resume &&
	    j.spec.replace_lost_s == 1800 &&
	    j.spec.deadline == T0 + 86400 && j.spec.retries == 3, "numbers come back, to the last bit");
	tap_ok(j.spec.max_price.v == 12340001 && !usd_known(j.spec.max_cost), "money too, unknown stays unknown");
	tap_ok(j.spec.purchase_ok[0] && j.spec.purchase_ok[1] && !j.spec.purchase_ok[2], "purchases");
	tap_ok(j.spec.n_regions == 2 && strcmp(j.spec.regions[1], "us-east-1") == 0 && j.spec.n_providers == 0, "lists");
	tap_ok(j.spec.n_variants == 2 && j.spec.variants[0].speed == 1.5 && j.spec.variants[0].count_max == 8 &&
	    j.spec.variants[0].memory_max_gib == 96 && isinf(j.spec.variants[1].memory_max_gib) &&
	    isnan(j.spec.variants[1].work_hours) && j.spec.variants[1].nodes == 2, "variants");
	tap_ok(j.state == JOB_QUEUED && j.progress == 0 && j.cost.v == 0 && j.submitted == T0 && j.started == 0,
	    "a new job is queued");
	arena_free(a);
}

/* A name leads to the one open job that has it, and to the newest once all have ended. */
static void
test_names(struct store *s, struct arena *a)
{
	struct job_variant v = { "bf16", "H100-80GB", 1, 1, 1, 80, 0, 0, 1 };
	struct job_spec spec = { .name = "nightly", .user = "ann", .variants = &v, .n_variants = 1, .work_hours = 1,
		.run = "true" };
	struct berth_err err;
	const char *id[2];
	struct job j;

	for (size_t i = 0; i < 2; i++)
		tap_code(store_job_insert(s, &spec, T0 + 1000 + (int64_t)i, a, &id[i], &err), BERTH_OK, &err);
	tap_code(store_job_get(s, "nightly", a, &j, &err), BERTH_EINVAL, &err);
	tap_ok(strstr(err.msg, id[0]) != NULL && strstr(err.msg, id[1]) != NULL, "both are named: %s", err.msg);
	for (size_t i = 2; i-- > 0;) {
		tap_code(store_job_get(s, id[i], a, &j, &err), BERTH_OK, &err);
		j.state = JOB_DONE;
		j.finished = T0 + 2000;
		tap_code(store_job_update(s, &j, JOB_BIT(JOB_QUEUED), &err), BERTH_OK, &err);
		tap_code(store_job_get(s, "nightly", a, &j, &err), BERTH_OK, &err);
		tap_is_str(j.id, i == 1 ? id[0] : id[1], i == 1 ? "the one that is open" : "the newest that has ended");
	}
	tap_code(store_job_get(s, "nightl", a, &j, &err), BERTH_ENOTFOUND, &err);
}

static void
test_queue(struct store *s)
{
	struct job_variant v = { "", "A10", 1, 1, 1, 0, (double)INFINITY, 1, (double)NAN };
	struct job_spec spec = { .name = "q", .user = "bob", .project = "cv", .variants = &v, .n_variants = 1,
		.precision = "bf16", .data_region = "", .run = "true", .max_price = USD_UNKNOWN, .max_cost = USD_UNKNOWN };
	const int priorities[] = { 0, 5, 0, 9, 5 };
	const int order[] = { 3, 1, 4, 0, 2 };	/* by priority, then as they came */
	struct job_query q = { .states = JOB_BIT(JOB_QUEUED), .user = "bob" };
	struct arena *a = arena_new();
	struct berth_err err;
	const char *id[5];
	struct job *jobs, j;
	size_t n, wrong = 0;

	for (int i = 0; i < 5; i++) {
		spec.priority = priorities[i];
		/* Two in the same second, then the clock goes on. */
		tap_code(store_job_insert(s, &spec, T0 + 10 + i / 2, a, &id[i], &err), BERTH_OK, &err);
		tap_ok(strlen(id[i]) == 12 && strncmp(id[i], "j-", 2) == 0 && (i == 0 || strcmp(id[i - 1], id[i]) < 0),
		    "%s sorts behind the one before", id[i]);
	}
	tap_code(store_job_list(s, &q, a, &jobs, &n, &err), BERTH_OK, &err);
	for (size_t i = 0; i < n && n == 5; i++)
		wrong += strcmp(jobs[i].id, id[order[i]]) != 0;
	tap_ok(n == 5 && wrong == 0, "the queue is in order");
	tap_ok(jobs[0].marks == 0, "a new job has no marks");
	j = jobs[1];
	j.marks = JOB_MARK_KEPT | JOB_MARK_LAUNCH_UNKNOWN | JOB_MARK_UNPAID | JOB_MARK_LATE | JOB_MARK_AT_RISK;
	tap_code(store_job_update(s, &j, JOB_BIT(JOB_QUEUED), &err), BERTH_OK, &err);
	tap_code(store_job_get(s, j.id, a, &j, &err), BERTH_OK, &err);
	tap_is_long(j.marks, 31, "all marks come back");
	j.marks = JOB_MARK_LATE;
	j.state = JOB_PLACED;
	tap_code(store_job_update(s, &j, JOB_BIT(JOB_QUEUED), &err), BERTH_OK, &err);
	j.state = JOB_QUEUED;
	tap_code(store_job_get(s, j.id, a, &j, &err), BERTH_OK, &err);
	tap_ok(j.state == JOB_PLACED && j.marks == 0, "one that waits no more has none");
	j.state = JOB_QUEUED;
	tap_code(store_job_update(s, &j, JOB_BIT(JOB_PLACED), &err), BERTH_OK, &err);
	tap_ok(!job_marks_parse("kept lately", &j.marks), "a word that is no mark");
	j = jobs[0];
	j.state = JOB_PLACED;
	j.reason = "on aws";
	j.progress = 0.25;
	j.cost.v = 1500000;
	tap_code(store_job_update(s, &j, JOB_BIT(JOB_QUEUED), &err), BERTH_OK, &err);
	tap_code(store_job_update(s, &j, JOB_BIT(JOB_QUEUED), &err), BERTH_ETRANSIENT, &err);
	tap_ok(strstr(err.msg, "placed") != NULL, "a job that another run has moved is left alone: %s", err.msg);
	tap_code(store_job_get(s, j.id, a, &j, &err), BERTH_OK, &err);
	tap_ok(j.state == JOB_PLACED && j.progress == 0.25 && j.cost.v == 1500000 && strcmp(j.reason, "on aws") == 0,
	    "state, progress, cost and reason in one call");
	q.states = JOB_OPEN;
	q.limit = 2;
	tap_code(store_job_list(s, &q, a, &jobs, &n, &err), BERTH_OK, &err);
	tap_ok(n == 2 && strcmp(jobs[0].id, id[3]) == 0 && strcmp(jobs[1].id, id[4]) == 0, "the newest two, in order");
	tap_code(store_job_get(s, "j-", a, &j, &err), BERTH_EINVAL, &err);
	tap_code(store_job_get(s, "", a, &j, &err), BERTH_ENOTFOUND, &err);
	tap_code(store_job_get(s, "j-zzz", a, &j, &err), BERTH_ENOTFOUND, &err);
	test_names(s, a);
	j.id = "j-none";
	tap_code(store_job_update(s, &j, 0, &err), BERTH_ENOTFOUND, &err);
	arena_free(a);
}

static void
test_attempts(struct store *s)
{
	struct arena *a = arena_new();
	struct attempt at = { .state = ATTEMPT_PROVISIONING, .started = T0, .progress_end = (double)NAN, .reason = "" };
	struct attempt *got;
	struct job *jobs;
	struct berth_err err;
	int64_t id;
	size_t n;

	tap_code(store_job_list(s, NULL, a, &jobs, &n, &err), BERTH_OK, &err);
	at.job_id = jobs[0].id;
	tap_code(store_attempt_insert(s, &at, &id, &err), BERTH_OK, &err);
	at.id = id;
	at.state = ATTEMPT_PREEMPTED;
	at.instance_id = 3;
	at.ended = T0 + 50;
	at.progress_end = 0.5;
	at.reason = "taken back";
	tap_code(store_attempt_update(s, &at, &err), BERTH_OK, &err);
	tap_code(store_attempt_list(s, at.job_id, a, &got, &n, &err), BERTH_OK, &err);
	tap_ok(n == 1 && got[0].state == ATTEMPT_PREEMPTED && got[0].progress_end == 0.5 && got[0].ended == T0 + 50 &&
	    got[0].instance_id == 3 && strcmp(got[0].reason, "taken back") == 0, "an attempt and its end");
	at.id = 999;
	tap_code(store_attempt_update(s, &at, &err), BERTH_ENOTFOUND, &err);
	at.job_id = "j-none";
	tap_code(store_attempt_insert(s, &at, &id, &err), BERTH_EFAIL, &err);
	arena_free(a);
}

static void
test_intents(struct store *s, const char *path)
{
	struct intent it = { .kind = INTENT_CREATE, .account = "main", .token = "", .job_id = "j-1",
		.offer = offer_make("p5.48xlarge"), .created = T0, .reason = "" };
	struct arena *a = arena_new();
	struct intent out, *pending;
	struct instance in, got;
	struct berth_err err;
	int64_t id, again;
	size_t n;

	tap_code(store_intent_open(s, &it, NULL, a, &out, &err), BERTH_OK, &err);
	tap_is_long(store_tmp_number(path, "SELECT count(*) FROM intent WHERE state = 'pending'"), 1,
	    "committed when it returns");
	tap_is_long((long long)strspn(out.token, "0123456789abcdef"), 32, "with a token of its own");
	tap_code(store_intent_pending(s, a, &pending, &n, &err), BERTH_OK, &err);
	tap_ok(n == 1 && pending[0].offer.price.v == 98765432 && pending[0].offer.upfront.v == 123456789 &&
	    pending[0].offer.payment == PAYMENT_PARTIAL && isnan(pending[0].offer.measured) &&
	    strcmp(pending[0].offer.source, it.offer.source) == 0, "the offer comes back whole");
	it.token = out.token;
	tap_code(store_intent_open(s, &it, NULL, a, &out, &err), BERTH_EFAIL, &err);
	tap_code(store_intent_by_token(s, it.token, a, &out, &err), BERTH_OK, &err);
	in = (struct instance){ .account = "main", .provider_ref = "i-1", .intent_id = out.id, .job_id = "j-1",
		.offer = it.offer, .state = INSTANCE_STARTING, .address = "", .created = T0, .end_reason = "",
		.verdict = "", .speed = (double)NAN };
	tap_code(store_instance_insert(s, &in, &id, &err), BERTH_OK, &err);
	tap_code(store_instance_insert(s, &in, &again, &err), BERTH_OK, &err);
	tap_is_long(again, id, "the same machine twice is one row");
	in.intent_id = 0;
	tap_code(store_instance_insert(s, &in, &again, &err), BERTH_EFAIL, &err);
	tap_code(store_intent_settle(s, out.id, INTENT_DONE, id, "", T0 + 9, &err), BERTH_OK, &err);
	tap_code(store_intent_settle(s, out.id, INTENT_DONE, id, "", T0 + 99, &err), BERTH_OK, &err);
	tap_code(store_intent_by_token(s, it.token, a, &out, &err), BERTH_OK, &err);
	tap_ok(out.settled == T0 + 9 && out.instance_id == id && out.state == INTENT_DONE, "settled once");
	tap_code(store_intent_pending(s, a, &pending, &n, &err), BERTH_OK, &err);
	tap_is_long((long long)n, 0, "nothing is pending");
	tap_code(store_instance_by_token(s, it.token, a, &got, &err), BERTH_OK, &err);
	tap_is_long(got.id, id, "found by its token");
	tap_code(store_instance_by_ref(s, "main", "i-1", a, &got, &err), BERTH_OK, &err);
	tap_is_long(got.id, id, "and by the provider's id");
	tap_code(store_instance_by_ref(s, "other", "i-1", a, &got, &err), BERTH_ENOTFOUND, &err);
	arena_free(a);
}

static void
test_instances(struct store *s)
{
	struct arena *a = arena_new();
	struct instance *list, in;
	struct berth_err err;
	size_t n;

	tap_code(store_instance_list(s, INSTANCE_ALIVE, a, &list, &n, &err), BERTH_OK, &err);
	tap_is_long((long long)n, 1, "one is alive");
	in = list[0];
	in.state = INSTANCE_NOTICED;
	in.notice_at = T0 + 100;
	in.reclaim_at = T0 + 220;
	in.cost.v = 5000000;
	in.verdict = "discount";
	in.speed = 0.9;
	tap_code(store_instance_update(s, &in, &err), BERTH_OK, &err);
	tap_code(store_instance_get(s, in.id, a, &in, &err), BERTH_OK, &err);
	tap_ok(in.state == INSTANCE_NOTICED && in.reclaim_at == T0 + 220 && in.cost.v == 5000000 && in.speed == 0.9 &&
	    strcmp(in.verdict, "discount") == 0 && in.ready == 0, "updated");
	in.state = INSTANCE_GONE;
	in.gone = T0 + 220;
	in.end_reason = "preempted";
	tap_code(store_instance_update(s, &in, &err), BERTH_OK, &err);
	tap_code(store_instance_list(s, INSTANCE_ALIVE, a, &list, &n, &err), BERTH_OK, &err);
	tap_is_long((long long)n, 0, "none is alive");
	tap_code(store_instance_list(s, 0, a, &list, &n, &err), BERTH_OK, &err);
	tap_ok(n == 1 && strcmp(list[0].end_reason, "preempted") == 0, "but it is not forgotten");
	in.id = 77;
	tap_code(store_instance_update(s, &in, &err), BERTH_ENOTFOUND, &err);
	arena_free(a);
}

static void
test_blocks(struct store *s)
{
	struct offer hit = offer_make("p5.48xlarge"), other_zone = hit, other_region = hit;
	struct place_key key = place_key(&hit, KEY_OFFER), region = place_key(&hit, KEY_REGION);
	struct arena *a = arena_new();
	struct block *blocks;
	struct berth_err err;
	int64_t until, t = T0, len;
	char text[200];
	size_t n;

	other_zone.zone = "use1-az2";
	other_region.region = "eu-west-1";
	tap_is_str(place_key_text(&key, text, sizeof(text)), "aws/*/us-east-1/use1-az1/p5.48xlarge/reserved", "as text");
	/* 60 s, doubled while it goes on, never more than 300 s. */
	for (int i = 0; i < 5; i++) {
		len = i < 3 ? 60 << i : 300;
		tap_code(store_block_put(s, &key, 60, 300, "no_capacity", "none left", t, &until, &err), BERTH_OK, &err);
		tap_is_long(until - t, len, "blocked for %lld s", (long long)len);
		t = until + 1;
	}
	tap_code(store_block_active(s, until - 1, a, &blocks, &n, &err), BERTH_OK, &err);
	tap_ok(n == 1 && block_hit(blocks, n, &hit) != NULL && block_hit(blocks, n, &other_zone) == NULL,
	    "one place is blocked, its neighbour not");
	tap_is_str(blocks[0].reason, "none left", "with the provider's words");
	tap_code(store_block_active(s, until, a, &blocks, &n, &err), BERTH_OK, &err);
	tap_is_long((long long)n, 0, "until then and no longer");
	t = until + 300;	/* as long ago as it lasted: forgiven */
	tap_code(store_block_put(s, &key, 60, 300, "no_capacity", "", t, &until, &err), BERTH_OK, &err);
	tap_is_long(until - t, 60, "begins anew after a quiet time");
	tap_code(store_block_clear(s, &key, &err), BERTH_OK, &err);
	tap_code(store_block_put(s, &region, 600, 3600, "transient", "503", t, &until, &err), BERTH_OK, &err);
	tap_code(store_block_active(s, t, a, &blocks, &n, &err), BERTH_OK, &err);
	tap_ok(n == 1 && block_hit(blocks, n, &hit) != NULL && block_hit(blocks, n, &other_zone) != NULL &&
	    block_hit(blocks, n, &other_region) == NULL, "a region's block reaches all of it and nothing else");
	arena_free(a);
}

static void
test_capacity(struct store *s)
{
	const struct { int64_t t; bool won; } launches[] = { { T0, false }, { T0 + 3600, false }, { T0 + 7200, true },
		{ T0 + 7200, false }, { T0 + 90000, true } };
	struct offer o = offer_make("g5.xlarge");
	struct arena *a = arena_new();
	struct capacity *cs;
	struct berth_err err;
	double won = 0, lost = 0;
	size_t n;

	for (size_t i = 0; i < 5; i++) {
		double weight = pow(2, -(double)(T0 + 100000 - launches[i].t) / (6 * 3600));

		if (launches[i].won)
			won += weight;
		else
			lost += weight;
		tap_code(store_capacity_count(s, &o, launches[i].won, launches[i].t, &err), BERTH_OK, &err);
	}
	tap_code(store_capacity_list(s, T0 + 100000, a, &cs, &n, &err), BERTH_OK, &err);
	tap_ok(n == 1 && cs[0].won == 2 && cs[0].lost == 3 && cs[0].last_won == T0 + 90000 && cs[0].last_lost == T0 + 7200,
	    "all of them are counted");
	tap_near(cs[0].won_recent, won, 1e-9, "won, with half the weight after 6 h");
	tap_near(cs[0].lost_recent, lost, 1e-9, "and lost");
	tap_ok(place_key_hits(&cs[0].key, &o), "under the key of the offer");
	arena_free(a);
}

/* Two ranks of a job that waits for the second: one create more, and no two. */
static void
test_ranks(struct store *s)
{
	struct job_variant v = { "", "H100-80GB", 8, 8, 2, 0, (double)INFINITY, (double)NAN, (double)NAN };
	struct job_spec spec = { .name = "pair", .user = "", .project = "", .variants = &v, .n_variants = 1,
		.work_hours = 1, .precision = "bf16", .max_price = USD_UNKNOWN, .max_cost = USD_UNKNOWN,
		.purchase_ok = { true, true, true }, .data_region = "", .run = "x" };
	struct arena *a = arena_new();
	struct intent its[2] = { 0 }, more, *list;
	struct budget_ask ask = { .account = "main", .project = "", .user = "", .amount = { 1000 } };
	struct intent_turn turn = { 0 };
	struct attempt at = { .state = ATTEMPT_RUNNING, .started = T0, .reason = "" };
	struct job_nodes *nodes;
	struct instance in;
	struct berth_err err;
	const char *id;
	struct job j;
	size_t n;

	tap_code(store_job_insert(s, &spec, T0, a, &id, &err), BERTH_OK, &err);
	for (int i = 0; i < 2; i++)
		its[i] = (struct intent){ .kind = INTENT_CREATE, .account = "main", .token = "", .job_id = id,
			.offer = offer_make("p5.48xlarge"), .created = T0 };
	ask.job_id = id;
	tap_code(store_intent_open_gang(s, its, 2, &ask, a, &err), BERTH_OK, &err);
	for (int i = 0; i < 2; i++) {
		in = (struct instance){ .account = "main", .provider_ref = i == 0 ? "g-0" : "g-1", .intent_id = its[i].id,
			.job_id = id, .offer = its[i].offer, .state = INSTANCE_READY, .address = "", .created = T0,
			.end_reason = "", .verdict = "", .speed = (double)NAN };
		tap_code(store_instance_insert(s, &in, &in.id, &err), BERTH_OK, &err);
		tap_code(store_intent_settle(s, its[i].id, INTENT_DONE, in.id, "", T0, &err), BERTH_OK, &err);
		at.job_id = id;
		at.instance_id = in.id;
		tap_code(store_attempt_insert(s, &at, &at.id, &err), BERTH_OK, &err);
	}
	tap_code(store_job_get(s, id, a, &j, &err), BERTH_OK, &err);
	j.state = JOB_PLACED;
	tap_code(store_job_update(s, &j, JOB_BIT(JOB_QUEUED), &err), BERTH_OK, &err);
	tap_code(store_job_nodes(s, id, a, &nodes, &n, &err), BERTH_OK, &err);
	tap_ok(n == 1 && nodes[0].up == 2 && nodes[0].wanted == 2, "two of two are up");
	more = its[1];
	tap_code(store_intent_last(s, &turn.last, &err), BERTH_OK, &err);
	tap_code(store_intent_open_rank(s, &more, &ask, &turn, a, &err), BERTH_ELOCKED, &err);
	at.state = ATTEMPT_PREEMPTED;
	at.ended = T0 + 60;
	tap_code(store_attempt_update(s, &at, &err), BERTH_OK, &err);
	tap_code(store_job_nodes(s, NULL, a, &nodes, &n, &err), BERTH_OK, &err);
	tap_ok(n > 0 && nodes[n - 1].up == 1 && nodes[n - 1].wanted == 2, "one of two is, when the other is lost");
	more = its[1];
	tap_code(store_intent_open_rank(s, &more, &ask, &turn, a, &err), BERTH_OK, &err);
	tap_ok(more.id > its[1].id && more.gang == its[0].id && more.rank == 1 && more.machines == 2 && turn.own == 1 &&
	    strcmp(more.token, its[1].token) != 0, "another create of that rank, with a token of its own");
	more = its[1];
	tap_code(store_intent_open_rank(s, &more, &ask, &turn, a, &err), BERTH_ELOCKED, &err);
	tap_code(store_intent_gang(s, its[0].id, a, &list, &n, &err), BERTH_OK, &err);
	tap_ok(n == 3 && list[1].id == its[1].id && list[2].rank == 1, "a second one is not begun beside it");
	tap_code(store_intent_settle(s, list[2].id, INTENT_FAILED, 0, "none", T0, &err), BERTH_OK, &err);
	turn.last = 0;
	more = its[1];
	tap_code(store_intent_open_rank(s, &more, &ask, &turn, a, &err), BERTH_ELOCKED, &err);
	tap_code(store_intent_last(s, &turn.last, &err), BERTH_OK, &err);
	turn.own = 0;
	j.state = JOB_QUEUED;
	tap_code(store_job_update(s, &j, JOB_BIT(JOB_PLACED), &err), BERTH_OK, &err);
	more = its[1];
	tap_code(store_intent_open_rank(s, &more, &ask, &turn, a, &err), BERTH_ELOCKED, &err);
	arena_free(a);
}

int
main(void)
{
	char path[1024];
	struct store *s;

	snprintf(path, sizeof(path), "%s", store_tmp_path("berth.db"));
	s = store_tmp_open(path);
	test_spec(s);
	test_queue(s);
	test_attempts(s);
	test_intents(s, path);
	test_instances(s);
	test_blocks(s);
	test_capacity(s);
	test_ranks(s);
	store_close(s);
	store_tmp_end();
	return tap_done();
}
