#include "broker/shares.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store/job_rows.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/str.h"
#include "util/vec.h"
#include "util/yaml.h"

#define SHARES_HALVES 20 /* usage of so many half-lives ago has faded to a millionth */

static enum berth_code
shares_half_life(const struct yaml_node *map, double *s_out, struct berth_err *err)
{
	const char *text = "";
	int64_t s = SHARE_HALF_LIFE_S;
	enum berth_code rc = yaml_str(map, "half_life", &text, err);

	if (rc == BERTH_OK && str_eq(text, "forever")) {
		*s_out = INFINITY;
		return BERTH_OK;
	}
	if (rc == BERTH_OK)
		rc = yaml_duration(map, "half_life", &s, err);
	if (rc == BERTH_OK && s <= 0)
		rc = yaml_err(yaml_get(map, "half_life"), err,
		    "must be longer than 0, as in 7d: usage counts half as much after it; "
		    "forever lets none fade");
	*s_out = (double)s;
	return rc;
}

static enum berth_code
shares_weights(
    const struct yaml_node *map, struct arena *a, struct share_policy *p, struct berth_err *err)
{
	const struct yaml_node *node = NULL;
	struct share_weight *w;
	enum berth_code rc = yaml_map(map, "weights", &node, err);

	if (rc != BERTH_OK || node == NULL)
		return rc;
	w = arena_array_of(a, node->n, struct share_weight);
	for (size_t i = 0; i < node->n && rc == BERTH_OK; i++) {
		w[i].name = node->keys[i];
		rc = yaml_as_double(node->items[i], 0, SHARE_WEIGHT_MAX, &w[i].weight, err);
	}
	p->weights = w;
	p->n_weights = node->n;
	return rc;
}

enum berth_code
shares_read(const struct yaml_node *config, struct arena *a, const struct share_policy **policy_out,
    struct berth_err *err)
{
	static const char *const keys[] = { "by", "half_life", "weights", NULL };
	const struct yaml_node *map = NULL;
	struct share_policy *p;
	const char *by = "user";
	enum berth_code rc = config == NULL ? BERTH_OK : yaml_map(config, "fair_share", &map, err);

	*policy_out = NULL;
	if (rc != BERTH_OK || map == NULL)
		return rc;
	p = arena_new_of(a, struct share_policy);
	if ((rc = yaml_check_keys(map, keys, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "by", &by, err)) != BERTH_OK ||
	    (rc = shares_half_life(map, &p->half_life_s, err)) != BERTH_OK ||
	    (rc = shares_weights(map, a, p, err)) != BERTH_OK)
		return rc;
	if (!str_eq(by, "user") && !str_eq(by, "project"))
		return yaml_err(yaml_get(map, "by"), err,
		    "shares are by user or by project, not by '%.40s'", by);
	p->by_project = str_eq(by, "project");
	*policy_out = p;
	return BERTH_OK;
}

double
shares_gpu_hours(const struct job *j)
{
	const struct job_variant *v = j->spec.n_variants > 0 ? &j->spec.variants[0] : NULL;
	double left = 1 - fmin(1, fmax(0, j->progress));

	if (v == NULL)
		return 0;
	return (double)v->count_min * (v->nodes > 1 ? v->nodes : 1) *
	       (isfinite(j->spec.work_hours) ? j->spec.work_hours : 1) * left;
}

const char *
shares_owner_name(const struct share_policy *p, const struct job *j)
{
	return p->by_project ? j->spec.project : j->spec.user;
}

struct shares_build {
	struct shares *s;
	struct arena *a;
	VEC(struct share_owner) v;
};

static struct share_owner *
shares_get(struct shares_build *b, const char *name)
{
	int added = 0;
	size_t at = *strmap_add(b->a, &b->s->index, name, b->v.n, &added);

	if (added) {
		struct share_owner o = { .name = arena_strdup(b->a, name),
			.weight = share_weight_of(b->s->policy, name) };

		VEC_PUSH(b->a, &b->v, o);
	}
	return &b->v.v[at];
}

static int
shares_cmp(const void *x, const void *y)
{
	return strcmp(((const struct share_owner *)x)->name, ((const struct share_owner *)y)->name);
}

/* What a machine that runs will still be used for: the work that was left when it began, less the
 * time since. */
static double
shares_coming(const struct attempt_use *u, const struct job *j, int64_t now)
{
	double hours = isfinite(j->spec.work_hours) ? j->spec.work_hours : 1;

	return fmax(0, (1 - fmin(1, fmax(0, u->progress_start))) * hours -
			   (double)(now - u->from) / 3600) *
	       u->gpus;
}

static void
shares_add(struct shares_build *b, const struct attempt_use *u, size_t n, const struct job *running,
    size_t n_running, int64_t now)
{
	const struct share_policy *p = b->s->policy;
	struct strmap run = { 0 };

	for (size_t i = 0; i < n_running; i++)
		*strmap_add(b->a, &run, running[i].id, i, NULL) = i;
	for (size_t i = 0; i < n; i++) {
		struct share_owner *o = shares_get(b, p->by_project ? u[i].project : u[i].user);
		const size_t *job = u[i].until == 0 ? strmap_get(&run, u[i].job_id) : NULL;

		o->used += u[i].gpus * share_faded_hours(u[i].from,
					   u[i].until == 0 ? now : u[i].until, now, p->half_life_s);
		if (job != NULL)
			o->coming += shares_coming(&u[i], &running[*job], now);
	}
}

enum berth_code
shares_load(struct store *store, const struct share_policy *p, int64_t now,
    const struct job *const *queued, size_t n_queued, const struct job *running, size_t n_running,
    struct arena *a, struct shares *out, struct berth_err *err)
{
	struct shares_build b = { .s = out, .a = a };
	double back = SHARES_HALVES * p->half_life_s;
	struct attempt_use *uses;
	size_t n;
	enum berth_code rc;

	*out = (struct shares){ .policy = p };
	rc = store_attempt_uses(
	    store, back < (double)now ? now - (int64_t)back : 0, now, a, &uses, &n, err);
	if (rc != BERTH_OK)
		return rc;
	for (size_t i = 0; i < n_queued; i++)
		shares_get(&b, shares_owner_name(p, queued[i]));
	for (size_t i = 0; i < n_running; i++)
		shares_get(&b, shares_owner_name(p, &running[i]));
	shares_add(&b, uses, n, running, n_running, now);
	if (b.v.n > 0)
		qsort(b.v.v, b.v.n, sizeof(b.v.v[0]), shares_cmp);
	out->owners = b.v.v;
	out->n = b.v.n;
	for (size_t i = 0; i < out->n; i++) {
		*strmap_get(&out->index, out->owners[i].name) = i;
		out->weight_sum += out->owners[i].weight;
		out->used_sum += out->owners[i].used;
	}
	return BERTH_OK;
}

size_t
shares_owner(const struct shares *s, const struct job *j)
{
	const size_t *at = strmap_get(&s->index, shares_owner_name(s->policy, j));

	return at == NULL ? SIZE_MAX : *at;
}

const char *
shares_misspelt(const struct shares *s, struct arena *a, const char **near_out)
{
	const char **names = arena_array_of(a, s->n + 1, const char *);
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		if (s->owners[i].name[0] != '\0')
			names[n++] = s->owners[i].name;
	for (size_t i = 0; i < s->policy->n_weights; i++) {
		const char *name = s->policy->weights[i].name;

		if (strmap_get(&s->index, name) != NULL ||
		    (*near_out = str_suggest(name, names)) == NULL)
			continue;
		if (!str_eq(*near_out, name))
			return name;
	}
	return NULL;
}

double
shares_share(const struct shares *s, size_t owner)
{
	return s->weight_sum > 0 ? s->owners[owner].weight / s->weight_sum : 0;
}

double
shares_used(const struct shares *s, size_t owner)
{
	return s->used_sum > 0 ? s->owners[owner].used / s->used_sum : 0;
}

void
shares_json(struct jsonw *w, const struct shares *s)
{
	if (s == NULL) {
		jsonw_null(w, "fair_share");
		return;
	}
	jsonw_begin_object(w, "fair_share");
	jsonw_str(w, "by", s->policy->by_project ? "project" : "user");
	jsonw_fixed(
	    w, "half_life_s", isinf(s->policy->half_life_s) ? NAN : s->policy->half_life_s, 0);
	jsonw_begin_array(w, "shares");
	for (size_t i = 0; i < s->n; i++) {
		const struct share_owner *o = &s->owners[i];
		double level = share_level(o, 0);

		jsonw_begin_object(w, NULL);
		jsonw_str(w, "name", o->name);
		jsonw_fixed(w, "weight", o->weight, 6);
		jsonw_fixed(w, "share", shares_share(s, i), 6);
		jsonw_fixed(w, "used_gpu_hours", o->used, 4);
		jsonw_fixed(w, "used_share", shares_used(s, i), 6);
		jsonw_fixed(w, "coming_gpu_hours", o->coming, 4);
		jsonw_fixed(w, "gpu_hours_per_weight", isinf(level) ? NAN : level, 4);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	jsonw_end_object(w);
}
