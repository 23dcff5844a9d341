#include "ingest/points.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ingest/metric.h"
#include "model/formmix.h"
#include "util/buf.h"
#include "util/str.h"
#include "util/time.h"

#define POINTS_IDLE_PERCENT 5.0

/* One signal: what was seen of it last. */
struct points_signal {
	const struct metric_rule *rule;
	uint32_t target;
	uint32_t source, idle, held, idle_held, cover; /* sources of the spool */
	double share;                 /* of a whole card, where the accelerator is a slice */
	bool used, has_prev, watched; /* watched: idle and holders are told from it */
	int64_t prev_t;
	double prev;
	int64_t n, absurd, absurd_t;
	double absurd_value;
	const char *what;
	const char *form; /* of its GPUs (model/formmix.h) */
};

struct points {
	struct arena *a;
	struct points_options o;
	struct usage_set *set;
	struct spool *sp;
	usage_say_fn *say;
	void *arg;
	struct strmap by_key, gpus, unknown, covered;
	VEC(struct points_signal) signals;
	VEC(uint32_t) held_targets;
	struct buf key;
	uint32_t line; /* of the point, as a part of the flags of its rows */
	int64_t from;
	bool holders; /* some GPU's labels name who holds it */
	struct points_counts counts;
	VEC(double) sums; /* of a snapshot: by target; NaN nothing */
	VEC(struct points_part {
		uint32_t target;
		const char *form;
		double v;
	})
	parts; /* ... by target and form */
};

struct points *
points_new(struct arena *a, const struct points_options *o, struct usage_set *set, struct spool *sp,
    usage_say_fn *say, void *arg)
{
	struct points *p = arena_new_of(a, struct points);

	p->a = a;
	p->o = *o;
	p->set = set;
	p->sp = sp;
	p->say = say;
	p->arg = arg;
	return p;
}

void
points_from(struct points *pts, int64_t from)
{
	pts->from = from;
}

static const char *
points_accel(struct points *pts, const char *name)
{
	struct accel_ref ref;
	const struct accel *model;
	int added;

	if (str_eq(name, "unknown"))
		return "unknown";
	if (accel_resolve(pts->o.accels, pts->a, name, &ref)) {
		if (ref.accel == NULL) /* a slice of whatever card */
			return "unknown";
		model = accel_model(pts->o.accels, ref.accel);
		return model->name;
	}
	strmap_add(pts->a, &pts->unknown, name, 0, &added);
	if (added)
		pts->say(pts->arg, USAGE_REMARK, 0,
		    arena_printf(pts->a,
			"nobody knows the accelerator '%s': it is kept under this name", name));
	return arena_strdup(pts->a, name);
}

/* The value of a label as people ask for it: "accelerator" and "host" have many spellings. */
static const char *
points_label(struct points *pts, const struct ingest_point *p, const char *name)
{
	const char *one[] = { name, NULL }, *v;
	char model[METRIC_MODEL_SIZE];

	if (str_eq(name, "accelerator")) {
		v = metric_model(p, model);
		return v != NULL ? points_accel(pts, v) : NULL;
	}
	v = metric_label(p, one);
	if (v == NULL && (str_eq(name, "host") || str_eq(name, "node"))) {
		v = metric_label(p, metric_labels_host);
		if (v != NULL)
			v = arena_strndup(pts->a, v, strcspn(v, ":"));
	}
	return v;
}

/* "1g.10gb"; NULL: a whole card. */
static const char *
points_slice(struct points *pts, const struct ingest_point *p)
{
	char model[METRIC_MODEL_SIZE];
	const char *name = metric_model(p, model);
	struct accel_ref ref;

	if (name == NULL || !accel_resolve(pts->o.accels, pts->a, name, &ref) || *ref.slice == '\0')
		return NULL;
	return arena_strdup(pts->a, ref.slice);
}

static bool
points_dropped(const struct points *pts, const char *key)
{
	return pts->o.drop != NULL && str_index(key, pts->o.drop) >= 0;
}

/* Labels of the series that p adds to, in out [INGEST_LABELS_MAX + 2]. means: label "metric"; ""
 * none. */
static size_t
points_series_labels(struct points *pts, const struct ingest_point *p,
    const struct metric_rule *rule, const char *means, struct usage_label *out)
{
	size_t n = 0;

	if (pts->o.n_by > 0) {
		for (size_t i = 0; i < pts->o.n_by; i++) {
			const char *v = points_label(pts, p, pts->o.by[i]);

			if (v != NULL && n < INGEST_LABELS_MAX)
				out[n++] =
				    (struct usage_label){ pts->o.by[i], arena_strdup(pts->a, v) };
		}
	} else if (rule != NULL && (rule->average || metric_model_only(rule))) {
		const char *v = points_label(pts, p, "accelerator");
		const char *slice = metric_model_only(rule) ? points_slice(pts, p) : NULL;

		if (v != NULL)
			out[n++] = (struct usage_label){ "accelerator", v };
		if (slice != NULL)
			out[n++] = (struct usage_label){ "slice", slice };
	} else {
		for (size_t i = 0; i < p->n_labels; i++) {
			const char *key = p->labels[i].key, *v = p->labels[i].value;

			if (*v == '\0' || points_dropped(pts, key) || str_eq(key, "metric"))
				continue;
			if (str_index(key, metric_labels_model) >= 0) {
				key = "accelerator";
				v = points_accel(pts, v);
			}
			out[n++] = (struct usage_label){ arena_strdup(pts->a, key),
				arena_strdup(pts->a, v) };
		}
	}
	if (*means != '\0' && (rule != NULL || pts->o.metric == NULL))
		out[n++] =
		    (struct usage_label){ str_eq(means, "queued") ? "state" : "metric", means };
	return n;
}

static enum berth_code
points_target(struct points *pts, const struct ingest_point *p, const struct metric_rule *rule,
    const char *means, const char *unit, bool average, uint32_t *target_out, struct berth_err *err)
{
	struct usage_label labels[INGEST_LABELS_MAX + 2];
	size_t n = points_series_labels(pts, p, rule, means, labels);
	const char *name = usage_name(pts->a, labels, n);
	enum berth_code rc =
	    usage_target_put(pts->set, name, usage_labels_json(pts->a, labels, n), target_out, err);

	if (rc == BERTH_OK) {
		pts->set->targets.v[*target_out].unit = unit;
		pts->set->targets.v[*target_out].average = average;
	}
	return rc;
}

/* What tells the signal from others: its metric and GPU, or all labels where there is no GPU. */
static void
points_key(struct points *pts, const struct ingest_point *p, const struct metric_rule *rule,
    const char **gpu_out)
{
	static const char *const index[] = { "gpu", "minor_number", "index", NULL };
	static const char *const instance[] = { "GPU_I_ID", "gpu_instance", NULL };
	const char *gpu = NULL, *part = metric_label(p, instance);

	buf_clear(&pts->key);
	buf_printf(&pts->key, "%s\n", p->metric);
	if (rule != NULL && rule->average) {
		gpu = metric_label(p, metric_labels_gpu);
		if (gpu == NULL && metric_label(p, index) != NULL) {
			const char *host = metric_label(p, metric_labels_host);

			gpu = arena_printf(
			    pts->a, "%s/%s", host != NULL ? host : "", metric_label(p, index));
		}
	}
	*gpu_out = gpu;
	if (gpu != NULL) {
		buf_printf(&pts->key, "gpu\n%s\n%s", gpu, part != NULL ? part : "");
		return;
	}
	for (size_t i = 0; i < p->n_labels; i++)
		buf_printf(&pts->key, "%s\n%s\n", p->labels[i].key, p->labels[i].value);
}

static uint32_t
points_source(struct points *pts, const char *kind, const char *key, uint32_t target)
{
	return usage_source_put(pts->set, arena_printf(pts->a, "%s\n%s", kind, key), target);
}

/* Sources for GPUs that are held, and that are idle, beside the busy share of the same GPU. */
static enum berth_code
points_watch(struct points *pts, const struct ingest_point *p, struct points_signal *s,
    struct berth_err *err)
{
	const char *key = pts->key.p;
	uint32_t held, idle, idle_held;
	char cover[32];
	enum berth_code rc;

	rc = points_target(pts, p, s->rule, "idle", "gpu_idle", false, &idle, err);
	if (rc == BERTH_OK)
		rc = points_target(
		    pts, p, s->rule, "held_idle", "gpu_held_idle", false, &idle_held, err);
	if (rc == BERTH_OK)
		rc = points_target(pts, p, s->rule, "", "gpu", false, &held, err);
	if (rc != BERTH_OK)
		return rc;
	s->watched = true;
	s->idle = points_source(pts, "idle", key, idle);
	s->held = points_source(pts, "held", key, held);
	s->idle_held = points_source(pts, "held_idle", key, idle_held);
	pts->set->sources.v[s->held].form = pts->set->sources.v[s->idle].form =
	    pts->set->sources.v[s->idle_held].form = s->form;
	snprintf(cover, sizeof(cover), "%u", held);
	s->cover = points_source(pts, "cover", cover, held);
	VEC_PUSH(pts->a, &pts->held_targets, held);
	VEC_PUSH(pts->a, &pts->held_targets, idle_held);
	return BERTH_OK;
}

/* A MIG slice counts as its part of the card where cards are counted. */
static double
points_share(struct points *pts, const struct ingest_point *p, const struct metric_rule *rule)
{
	char model[METRIC_MODEL_SIZE];
	const char *name = metric_model(p, model);
	struct accel_ref ref;

	if (rule == NULL || !str_starts(rule->unit, "gpu"))
		return 1;
	if (name == NULL || !accel_resolve(pts->o.accels, pts->a, name, &ref))
		return metric_share(p);
	return ref.share * metric_share(p);
}

/* What the GPUs are beside the label of their series; NULL: nothing. */
static const char *
points_form(struct points *pts, const struct ingest_point *p)
{
	char model[METRIC_MODEL_SIZE];
	const char *name = metric_model(p, model);
	struct accel_ref ref;

	if (name == NULL || !accel_resolve(pts->o.accels, pts->a, name, &ref) || ref.accel == NULL)
		return NULL;
	return form_of(ref.accel, accel_model(pts->o.accels, ref.accel));
}

static void
points_sum_form(struct points *pts, const struct points_signal *s, double v)
{
	for (size_t i = 0; i < pts->parts.n; i++)
		if (pts->parts.v[i].target == s->target && pts->parts.v[i].form == s->form) {
			pts->parts.v[i].v += v;
			return;
		}
	VEC_PUSH(pts->a, &pts->parts, ((struct points_part){ s->target, s->form, v }));
}

/* The mix of a series of a snapshot; NULL: nothing says what its GPUs are. */
static const char *
points_mix(struct points *pts, uint32_t target)
{
	const char **form = arena_array_of(pts->a, pts->parts.n + 1, const char *);
	double *v = arena_array_of(pts->a, pts->parts.n + 1, double);
	bool any = false;
	size_t n = 0;

	for (size_t i = 0; i < pts->parts.n; i++)
		if (pts->parts.v[i].target == target) {
			any = any || pts->parts.v[i].form != NULL;
			form[n] = pts->parts.v[i].form != NULL ? pts->parts.v[i].form : "";
			v[n++] = pts->parts.v[i].v;
		}
	return any ? formmix_text(pts->a, form, v, n) : NULL;
}

static void
points_sum(struct points *pts, uint32_t target, double v)
{
	while (pts->sums.n <= target)
		VEC_PUSH(pts->a, &pts->sums, (double)NAN);
	pts->sums.v[target] = isnan(pts->sums.v[target]) ? v : pts->sums.v[target] + v;
}

static enum berth_code
points_new_signal(struct points *pts, const struct ingest_point *p, const struct metric_rule *rule,
    const char *gpu, size_t *i_out, struct berth_err *err)
{
	struct points_signal *s;
	uint32_t target;
	const char *means = rule != NULL ? rule->means : p->metric;
	enum berth_code rc = points_target(pts, p, rule, means,
	    rule != NULL ? rule->unit : pts->o.unit, rule != NULL && rule->average, &target, err);
	int added;

	if (rc != BERTH_OK)
		return rc;
	*i_out = pts->signals.n;
	s = VEC_ADD(pts->a, &pts->signals);
	s->rule = rule;
	s->target = target;
	s->share = points_share(pts, p, rule);
	s->form = points_form(pts, p);
	s->source = points_source(pts, "point", pts->key.p, target);
	pts->set->sources.v[s->source].form = s->form;
	s->what = arena_printf(
	    pts->a, "%s%s%s", p->metric, gpu != NULL ? " of " : "", gpu != NULL ? gpu : "");
	if (gpu != NULL) {
		strmap_add(pts->a, &pts->gpus, gpu, 0, &added);
		pts->counts.gpus += added;
	}
	if (rule != NULL && str_eq(rule->means, "busy") && gpu != NULL)
		rc = points_watch(pts, p, s, err);
	return rc;
}

static enum berth_code
points_put(struct points *pts, uint32_t source, uint32_t flags, int64_t t, int64_t end, double v,
    struct berth_err *err)
{
	const struct usage_row row = { .source = source,
		.flags = flags | pts->line,
		.t = t,
		.end = end,
		.value = v,
		.peak = v };

	usage_seen(pts->set, source, t);
	return spool_add(pts->sp, &row, err);
}

static enum berth_code
points_put_watched(struct points *pts, const struct ingest_point *p, const struct points_signal *s,
    double busy, struct berth_err *err)
{
	bool held = metric_label(p, metric_labels_holder) != NULL,
	     idle = busy < POINTS_IDLE_PERCENT;
	enum berth_code rc = points_put(pts, s->idle, USAGE_DERIVED, p->t, 0, idle ? 1 : 0, err);

	pts->holders = pts->holders || held;
	if (rc == BERTH_OK)
		rc = points_put(pts, s->cover, USAGE_DERIVED, p->t, 0, 0,
		    err); /* it was looked at: no GPU held is none, not unknown */
	if (rc == BERTH_OK && held)
		rc = points_put(pts, s->held, USAGE_DERIVED, p->t, 0, 1, err);
	if (rc == BERTH_OK && held)
		rc = points_put(pts, s->idle_held, USAGE_DERIVED, p->t, 0, idle ? 1 : 0, err);
	return rc;
}

static void
points_absurd(struct points *pts, struct points_signal *s, const struct ingest_point *p)
{
	if (s->absurd++ == 0) {
		s->absurd_t = p->t;
		s->absurd_value = p->value;
	}
	pts->counts.absurd++;
}

static enum berth_code
points_counter(struct points *pts, const struct ingest_point *p, struct points_signal *s,
    struct berth_err *err)
{
	double rate, v;
	enum berth_code rc = BERTH_OK;

	if (!isfinite(p->value) || p->value < 0 || p->value > 9.2e18) {
		points_absurd(pts, s, p);
		return BERTH_OK;
	}
	if (s->has_prev && p->t > s->prev_t) {
		rate = metric_increase(s->prev, p->value) / (double)(p->t - s->prev_t);
		if (metric_value(s->rule, rate, &v))
			rc = p->t <= pts->from
				 ? BERTH_OK
				 : points_put(pts, s->source, 0,
				       s->prev_t > pts->from ? s->prev_t : pts->from, p->t, v, err);
		else
			points_absurd(pts, s, p);
	}
	if (!s->has_prev || p->t > s->prev_t) {
		s->prev = p->value;
		s->prev_t = p->t;
		s->has_prev = true;
	}
	return rc;
}

static enum berth_code
points_value(struct points *pts, const struct ingest_point *p, struct points_signal *s,
    struct berth_err *err)
{
	double v = p->value;
	enum berth_code rc;

	if (s->rule != NULL && s->rule->kind == METRIC_COUNTER)
		return points_counter(pts, p, s, err);
	if (s->rule != NULL ? !metric_value(s->rule, p->value, &v)
			    : !(v >= 0 && v <= USAGE_VALUE_MAX)) {
		points_absurd(pts, s, p);
		return points_put(pts, s->source, USAGE_GAP, p->t, 0, 0, err);
	}
	v *= s->share;
	if (pts->o.snapshot) {
		points_sum(pts, s->target, v);
		points_sum_form(pts, s, v);
		return BERTH_OK;
	}
	rc = points_put(pts, s->source, 0, p->t, 0, v, err);
	if (rc == BERTH_OK && s->watched)
		rc = points_put_watched(pts, p, s, v, err);
	return rc;
}

enum berth_code
points_take(void *arg, const struct ingest_point *given, struct berth_err *err)
{
	struct points *pts = arg;
	struct ingest_point p = *given;
	const struct metric_rule *rule = metric_rule_find(p.metric);
	const char *gpu;
	enum berth_code rc;
	size_t i;
	int added;

	if (pts->o.metric != NULL && !str_eq(p.metric, pts->o.metric)) {
		pts->counts.left_out++;
		return BERTH_OK;
	}
	if (p.t == 0)
		p.t = pts->o.at;
	if (p.t < pts->from && (rule == NULL || rule->kind != METRIC_COUNTER))
		return BERTH_OK;
	pts->counts.read++;
	pts->line = usage_line_flag(p.line);
	if (pts->key.cap == 0)
		buf_init(&pts->key, (size_t)1 << 20);
	points_key(pts, &p, rule, &gpu);
	rc = buf_check(&pts->key, "labels", err);
	if (rc != BERTH_OK)
		return rc;
	i = *strmap_add(pts->a, &pts->by_key, pts->key.p, pts->signals.n, &added);
	if (added) {
		rc = points_new_signal(pts, &p, rule, gpu, &i, err);
		if (rc != BERTH_OK)
			return rc;
	}
	pts->signals.v[i].n++;
	return points_value(pts, &p, &pts->signals.v[i], err);
}

/* A snapshot has one row a series: what is gone at the next one is gone from it. */
static enum berth_code
points_snapshot(struct points *pts, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	for (uint32_t i = 0; rc == BERTH_OK && i < pts->sums.n; i++)
		if (!isnan(pts->sums.v[i])) {
			uint32_t source =
			    usage_source_put(pts->set, arena_printf(pts->a, "snapshot\n%u", i), i);

			pts->set->sources.v[source].form = points_mix(pts, i);
			rc = points_put(pts, source, 0, pts->o.at, 0, pts->sums.v[i], err);
		}
	return rc;
}

enum berth_code
points_end(struct points *pts, struct berth_err *err)
{
	char at[TIME_FMT_SIZE];

	for (size_t i = 0; i < pts->signals.n; i++) {
		const struct points_signal *s = &pts->signals.v[i];

		if (s->absurd > 0)
			pts->say(pts->arg, USAGE_REMARK, 0,
			    arena_printf(pts->a,
				"%s: %lld of %lld values cannot be (the first, %.17g at %s) and "
				"are left out",
				s->what, (long long)s->absurd, (long long)s->n, s->absurd_value,
				time_fmt(at, s->absurd_t)));
	}
	for (size_t i = 0; i < pts->held_targets.n && !pts->holders; i++)
		pts->set->targets.v[pts->held_targets.v[i]].dropped = true;
	buf_free(&pts->key);
	return points_snapshot(pts, err);
}

struct points_counts
points_counts(const struct points *pts)
{
	return pts->counts;
}
