#include "broker/shares.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/job_rows.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/str.h"
#include "util/vec.h"
#include "util/yaml.h"

#define SHARES_KEY 4096
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
		    "must be longer than 0, as in 7d: usage counts half as much after it; forever "
		    "lets none fade");
	*s_out = (double)s;
	return rc;
}

static enum berth_code
shares_weights(const struct yaml_node *map, const char *key, struct arena *a,
    const struct share_weight **weights_out, size_t *n_out, struct berth_err *err)
{
	const struct yaml_node *node = NULL;
	struct share_weight *w;
	enum berth_code rc = yaml_map(map, key, &node, err);

	if (rc != BERTH_OK || node == NULL)
		return rc;
	w = arena_array_of(a, node->n, struct share_weight);
	for (size_t i = 0; i < node->n && rc == BERTH_OK; i++) {
		w[i].name = node->keys[i];
		rc = yaml_as_double(node->items[i], 0, SHARE_WEIGHT_MAX, &w[i].weight, err);
	}
	*weights_out = w;
	*n_out = node->n;
	return rc;
}

enum berth_code
shares_read(const struct yaml_node *config, struct arena *a, const struct share_policy **policy_out,
    struct berth_err *err)
{
	static const char *const keys[] = { "by", "then", "half_life", "weights", "user_weights",
		NULL };
	const struct yaml_node *map = NULL;
	struct share_policy *p;
	const char *by = "user", *then = "";
	enum berth_code rc = config == NULL ? BERTH_OK : yaml_map(config, "fair_share", &map, err);

	*policy_out = NULL;
	if (rc != BERTH_OK || map == NULL)
		return rc;
	p = arena_new_of(a, struct share_policy);
	if ((rc = yaml_check_keys(map, keys, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "by", &by, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "then", &then, err)) != BERTH_OK ||
	    (rc = shares_half_life(map, &p->half_life_s, err)) != BERTH_OK ||
	    (rc = shares_weights(map, "weights", a, &p->weights, &p->n_weights, err)) != BERTH_OK ||
	    (rc = shares_weights(
		 map, "user_weights", a, &p->user_weights, &p->n_user_weights, err)) != BERTH_OK)
		return rc;
	if (!str_eq(by, "user") && !str_eq(by, "project"))
		return yaml_err(yaml_get(map, "by"), err,
		    "shares are by user or by project, not by '%.40s'", by);
	p->by_project = str_eq(by, "project");
	p->then_user = str_eq(then, "user");
	if (then[0] != '\0' && (!p->then_user || !p->by_project))
		return yaml_err(yaml_get(map, "then"), err,
		    "within projects shares may be of users: `by: project` and `then: user`, not "
		    "'%.40s'",
		    then);
	if (p->n_user_weights > 0 && !p->then_user)
		return yaml_err(yaml_get(map, "user_weights"), err,
		    "weigh the users of a project: they need `by: project` and `then: user`");
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

struct shares_build {
	struct shares *s;
	struct arena *a;
	VEC(struct share_owner) v, groups;
};

/* A project and a user of it as one key; the names alone could run into one another. */
static const char *
shares_key(
    const struct share_policy *p, const char *project, const char *user, char *buf, size_t size)
{
	if (!p->then_user)
		return p->by_project ? project : user;
	snprintf(buf, size, "%s\x1f%s", project, user);
	return buf;
}

static double
shares_user_weight(const struct share_policy *p, const char *user)
{
	const struct share_policy users = { .weights = p->user_weights,
		.n_weights = p->n_user_weights };

	return share_weight_of(&users, user);
}

static size_t
shares_group(struct shares_build *b, const char *project)
{
	int added = 0;
	size_t at = *strmap_add(b->a, &b->s->group_index, project, b->groups.n, &added);

	if (added) {
		struct share_owner o = { .name = arena_strdup(b->a, project),
			.weight = share_weight_of(b->s->policy, project) };

		VEC_PUSH(b->a, &b->groups, o);
	}
	return at;
}

/* "project/user"; "" of a job that names neither. */
static const char *
shares_name(const struct share_policy *p, const char *project, const char *user, struct arena *a)
{
	if (p->then_user && (project[0] != '\0' || user[0] != '\0'))
		return arena_printf(a, "%s/%s", project, user);
	return arena_strdup(a, p->then_user ? "" : p->by_project ? project : user);
}

static struct share_owner *
shares_get(struct shares_build *b, const char *project, const char *user)
{
	const struct share_policy *p = b->s->policy;
	char buf[SHARES_KEY];
	const char *key = shares_key(p, project, user, buf, sizeof(buf));
	int added = 0;
	size_t at = *strmap_add(b->a, &b->s->index, key, b->v.n, &added);

	if (added) {
		struct share_owner o = { .name = shares_name(p, project, user, b->a),
			.weight =
			    p->then_user ? shares_user_weight(p, user) : share_weight_of(p, key) };

		o.group = p->then_user ? shares_group(b, project) : 0;
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
		struct share_owner *o = shares_get(b, u[i].project, u[i].user);
		const size_t *job = u[i].until == 0 ? strmap_get(&run, u[i].job_id) : NULL;

		o->used += u[i].gpus * share_faded_hours(u[i].from,
					   u[i].until == 0 ? now : u[i].until, now, p->half_life_s);
		if (job != NULL)
			o->coming += shares_coming(&u[i], &running[*job], now);
	}
}

/* The owners by name, and the sums of all and of each project. */
static void
shares_sum(struct shares_build *b)
{
	struct shares *s = b->s;
	size_t *at = arena_array_of(b->a, b->v.n, size_t);

	for (size_t i = 0; i < b->v.n; i++) { /* told apart again by where they stood */
		b->v.v[i].at = i;
		s->used_sum += b->v.v[i].used;
		if (s->policy->then_user) {
			b->groups.v[b->v.v[i].group].used += b->v.v[i].used;
			b->groups.v[b->v.v[i].group].coming += b->v.v[i].coming;
		} else {
			s->weight_sum += b->v.v[i].weight;
		}
	}
	if (b->v.n > 0)
		qsort(b->v.v, b->v.n, sizeof(b->v.v[0]), shares_cmp);
	for (size_t i = 0; i < b->v.n; i++)
		at[b->v.v[i].at] = i;
	for (size_t i = 0; i < b->groups.n; i++)
		s->weight_sum += b->groups.v[i].weight;
	s->place = at;
	s->owners = b->v.v;
	s->n = b->v.n;
	s->groups = b->groups.v;
	s->n_groups = b->groups.n;
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
		shares_get(&b, queued[i]->spec.project, queued[i]->spec.user);
	for (size_t i = 0; i < n_running; i++)
		shares_get(&b, running[i].spec.project, running[i].spec.user);
	shares_add(&b, uses, n, running, n_running, now);
	shares_sum(&b);
	return BERTH_OK;
}

const struct share_owner *
shares_top(const struct shares *s, size_t owner)
{
	return s->n_groups > 0 ? &s->groups[s->owners[owner].group] : &s->owners[owner];
}

size_t
shares_owner(const struct shares *s, const struct job *j)
{
	char buf[SHARES_KEY];
	const size_t *at = strmap_get(
	    &s->index, shares_key(s->policy, j->spec.project, j->spec.user, buf, sizeof(buf)));

	return at == NULL ? SIZE_MAX : s->place[*at];
}

const char *
shares_misspelt(const struct shares *s, struct arena *a, const char **near_out)
{
	const struct share_owner *v = s->n_groups > 0 ? s->groups : s->owners;
	size_t n = 0, n_owners = s->n_groups > 0 ? s->n_groups : s->n;
	const struct strmap *index = s->n_groups > 0 ? &s->group_index : &s->index;
	const char **names = arena_array_of(a, n_owners + 1, const char *);

	for (size_t i = 0; i < n_owners; i++)
		if (v[i].name[0] != '\0')
			names[n++] = v[i].name;
	for (size_t i = 0; i < s->policy->n_weights; i++) {
		const char *name = s->policy->weights[i].name;

		if (strmap_get(index, name) != NULL ||
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
	double all = 0, mine = s->owners[owner].weight;

	if (s->n_groups == 0)
		return s->weight_sum > 0 ? mine / s->weight_sum : 0;
	for (size_t i = 0; i < s->n; i++)
		if (s->owners[i].group == s->owners[owner].group)
			all += s->owners[i].weight;
	return s->weight_sum > 0 && all > 0
		   ? shares_top(s, owner)->weight / s->weight_sum * mine / all
		   : 0;
}

double
shares_used(const struct shares *s, size_t owner)
{
	return s->used_sum > 0 ? s->owners[owner].used / s->used_sum : 0;
}

static void
shares_json_owner(struct jsonw *w, const struct share_owner *o, double share, double used)
{
	double level = share_level(o, 0);

	jsonw_begin_object(w, NULL);
	jsonw_str(w, "name", o->name);
	jsonw_fixed(w, "weight", o->weight, 6);
	jsonw_fixed(w, "share", share, 6);
	jsonw_fixed(w, "used_gpu_hours", o->used, 4);
	jsonw_fixed(w, "used_share", used, 6);
	jsonw_fixed(w, "coming_gpu_hours", o->coming, 4);
	jsonw_fixed(w, "gpu_hours_per_weight", isinf(level) ? NAN : level, 4);
	jsonw_end_object(w);
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
	jsonw_str_or_null(w, "then", s->policy->then_user ? "user" : "");
	jsonw_fixed(
	    w, "half_life_s", isinf(s->policy->half_life_s) ? NAN : s->policy->half_life_s, 0);
	jsonw_begin_array(w, "shares");
	for (size_t i = 0; i < s->n; i++)
		shares_json_owner(w, &s->owners[i], shares_share(s, i), shares_used(s, i));
	jsonw_end_array(w);
	jsonw_begin_array(w, "projects");
	for (size_t i = 0; i < s->n_groups; i++)
		shares_json_owner(w, &s->groups[i],
		    s->weight_sum > 0 ? s->groups[i].weight / s->weight_sum : 0,
		    s->used_sum > 0 ? s->groups[i].used / s->used_sum : 0);
	jsonw_end_array(w);
	jsonw_end_object(w);
}
