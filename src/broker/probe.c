/* probe: every new machine is measured before it gets work; what fails is given back and its place
 * is left alone. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "broker/broker.h"
#include "broker/decide.h"
#include "broker/fleet.h"
#include "broker/runner.h"
#include "model/accel.h"
#include "util/time.h"

/* What was measured on one machine, and the verdict on it. */
struct probed {
	struct probe_result result;
	struct verdict verdict;
	const char *json;
	const char *reason;
};

static const char *
probed_reason(struct broker *b, const struct verdict *v)
{
	const char *text = v->n_reasons > 0 ? v->reasons[0].text : "as promised";

	if (v->n_reasons > 1)
		return arena_printf(b->tick_arena, "%s (and %zu more)", text, v->n_reasons - 1);
	return text;
}

/* A result that cannot be had or read is a failed probe, never a pass. */
static void
probed_judge(
    struct broker *b, const struct verdict_refs *refs, const struct instance *in, struct probed *p)
{
	struct verdict_promise promise = { .accelerator = "",
		.count = in->offer.accelerator_count,
		.memory_gib = in->offer.accelerator_memory_gib,
		.mig = "",
		.precision = "" };
	struct berth_err why;

	verdict_promise_name(&promise, b->accels, b->tick_arena, in->offer.accelerator);
	p->verdict = (struct verdict){
		.kind = VERDICT_REJECT, .speed = NAN, .actual = "", .compute_test = ""
	};
	if (runner_measure(b, in, &p->json, &why) != BERTH_OK) {
		p->json = "";
		p->reason = arena_printf(b->tick_arena, "the probe could not be run: %s", why.msg);
		return;
	}
	if (verdict_parse(p->json, strlen(p->json), b->tick_arena, &p->result, &why) != BERTH_OK) {
		p->reason =
		    arena_printf(b->tick_arena, "the probe's result cannot be read: %s", why.msg);
		return;
	}
	verdict_judge(
	    &p->result, &promise, b->accels, refs, &b->verdict_limits, b->tick_arena, &p->verdict);
	p->reason = probed_reason(b, &p->verdict);
}

static enum berth_code
probed_store(
    struct broker *b, const struct instance *in, const struct probed *p, struct berth_err *err)
{
	const struct probe_result *r = &p->result;
	struct measurement m = { .instance_id = in->id,
		.t = b->now,
		.provider = in->offer.provider,
		.region = in->offer.region,
		.zone = in->offer.zone,
		.instance_type = in->offer.instance_type,
		.accelerator = in->offer.accelerator,
		.host = r->host != NULL ? r->host : "",
		.mode = p->json[0] != '\0' ? probe_mode_name(r->mode) : "",
		.level = r->level != NULL ? r->level : "",
		.speed = p->verdict.speed,
		.verdict = verdict_kind_name(p->verdict.kind),
		.reason = p->reason,
		.json = p->json };
	struct measure_row *rows = arena_array_of(b->tick_arena, r->n_tests, struct measure_row);
	int64_t id;

	for (size_t i = 0; i < r->n_tests; i++) {
		rows[i] = (struct measure_row){ .test = r->tests[i].name,
			.gpu = r->tests[i].gpu,
			.peer = r->tests[i].peer,
			.value = r->tests[i].value,
			.unit = r->tests[i].unit,
			.status = probe_status_name(r->tests[i].status) };
	}
	return store_measurement_insert(b->store, &m, rows, r->n_tests, &id, err);
}

/* The rules that it broke, each with its measured value where there is one. */
static void
probe_json(struct broker *b, struct jsonw *w, const struct instance *in, const struct probed *p)
{
	const struct verdict *v = &p->verdict;

	broker_json_machine(w, b, in);
	jsonw_str(w, "verdict", verdict_kind_name(v->kind));
	jsonw_double(w, "speed", v->speed);
	jsonw_str_or_null(w, "accelerator", v->actual);
	jsonw_begin_array(w, "rules");
	for (size_t i = 0; i < v->n_reasons && v->reasons[i].kind == VERDICT_REJECT; i++) {
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "rule", v->reasons[i].code);
		jsonw_int(w, "gpu", v->reasons[i].gpu);
		jsonw_str(w, "text", v->reasons[i].text);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	jsonw_begin_array(w, "measured");
	for (size_t i = 0; i < v->n_ratios; i++) {
		const struct verdict_ratio *r = &v->ratios[i];

		if (!(r->ratio < b->verdict_limits.accept))
			continue;
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "test", r->test);
		jsonw_int(w, "gpu", r->gpu);
		jsonw_double(w, "value", r->measured);
		jsonw_double(w, "expected", r->reference);
		jsonw_double(w, "share", r->ratio);
		jsonw_str(w, "unit", r->unit);
		jsonw_str(w, "source", r->source);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	jsonw_double(w, "rejected_below", b->verdict_limits.reject);
}

/* Why a machine is given back, and what follows: its place, or where it is known by name the
 * machine itself, is left alone for a while. */
static enum berth_code
probe_decide(struct broker *b, const struct instance *in, const struct probed *p, bool avoid,
    struct berth_err *err)
{
	const char *where = in->offer.zone[0] != '\0' ? in->offer.zone : in->offer.region,
		   *subject = in->job_id[0] != '\0'
				  ? in->job_id
				  : arena_printf(b->tick_arena, "instance:%" PRId64, in->id);
	int64_t until = b->now + b->policy.avoid_rejected_s;
	const struct placing_change *c;
	struct decide d;
	char t[TIME_FMT_SIZE];
	enum berth_code rc = avoid ? BERTH_OK : decide_held(b, &in->offer, &until, err);

	if (rc != BERTH_OK)
		return rc;
	c = decide_change(b, "probe_failed", "", until,
	    arena_printf(b->tick_arena,
		"the end of the hold on %s at %s, when it is asked for again",
		avoid ? "this machine" : "this place", time_fmt(t, until)));
	decide_begin(
	    &d, arena_printf(b->tick_arena,
		    "%s %s in %s is rejected: %s; it is given back, %s is left alone until %s, %s",
		    in->offer.provider, in->offer.instance_type, where, p->reason,
		    avoid ? "this machine alone" : "its place", t,
		    in->job_id[0] != '\0' ? "and the next tick places the job elsewhere"
					  : "and it had no job"));
	probe_json(b, &d.w, in, p);
	jsonw_time_or_null(&d.w, "held_until", until);
	jsonw_begin_array(&d.w, "changes");
	placing_json_change(&d.w, c);
	jsonw_end_array(&d.w);
	return decide_end(b, &d, "probe", subject, err);
}

static enum berth_code
probe_reject(struct broker *b, struct instance *in, const struct probed *p, struct berth_err *err)
{
	struct attempt_end end = { .state = ATTEMPT_REJECTED, .alone = true };
	struct berth_err why = { .code = BERTH_EPROBE };
	const struct broker_account *acc = broker_account(b, in->account);
	struct attempt at;
	enum berth_code rc = BERTH_OK;
	bool avoid = acc != NULL && acc->prov != NULL &&
		     (prov_account_ops(acc->prov)->caps & PROV_CAP_AVOID) != 0;

	b->counts.rejected++;
	snprintf(why.msg, sizeof(why.msg), "%s", p->reason);
	end.reason = arena_printf(b->tick_arena, "the probe rejected the machine: %s", p->reason);
	if (!avoid) /* else that machine alone is left out */
		rc = broker_refused(b, &in->offer, &why, err);
	if (rc == BERTH_OK)
		rc = probe_decide(b, in, p, avoid, err);
	if (rc == BERTH_OK && in->job_id[0] != '\0') {
		rc = job_attempt_open(b, in->job_id, in->id, &at, err);
		if (rc == BERTH_OK) {
			end.progress = at.progress_start;
			rc = job_attempt_end(b, in->job_id, in->id, &end, err);
		} else if (rc == BERTH_ENOTFOUND) {
			rc = BERTH_OK;
		}
	}
	return rc == BERTH_OK ? machine_release(b, in, "probe_rejected", err) : rc;
}

static enum berth_code
probe_machine(
    struct broker *b, const struct verdict_refs *refs, struct instance *in, struct berth_err *err)
{
	struct probed p = { .json = "" };
	enum berth_code rc;

	probed_judge(b, refs, in, &p);
	b->counts.probed++;
	in->verdict = verdict_kind_name(p.verdict.kind);
	in->speed = p.verdict.speed;
	rc = probed_store(b, in, &p, err);
	if (rc == BERTH_OK)
		rc = store_instance_update(b->store, in, err);
	if (rc == BERTH_OK)
		rc = broker_event(b, err,
		    p.verdict.kind == VERDICT_REJECT ? "instance.rejected" : "instance.probed",
		    arena_printf(b->tick_arena, "instance:%" PRId64, in->id), in->job_id, in,
		    "%s: %s", in->verdict, p.reason);
	if (rc == BERTH_OK && p.verdict.kind == VERDICT_REJECT)
		rc = probe_reject(b, in, &p, err);
	return rc;
}

enum berth_code
pass_probe(struct broker *b, struct berth_err *err)
{
	struct verdict_refs refs = b->refs;
	struct instance *ins;
	bool fleet = false;
	enum berth_code rc;
	size_t n;

	rc = store_instance_list(
	    b->store, INSTANCE_BIT(INSTANCE_READY), b->tick_arena, &ins, &n, err);
	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		const struct broker_account *acc = broker_account(b, ins[i].account);

		if (ins[i].verdict[0] != '\0' || acc == NULL || acc->prov == NULL ||
		    acc->down != BERTH_OK)
			continue;
		if (!fleet) /* once a pass, and only in a tick that measures */
			rc = fleet_refs(b->store, b->now, b->tick_arena, &refs, err);
		fleet = true;
		if (rc == BERTH_OK)
			rc = probe_machine(b, &refs, &ins[i], err);
	}
	return rc;
}
