/* Who waits for whom in the queue, and for whose sake it matters where a job goes. */
#include "broker/placing.h"
#include "store/job_rows.h"
#include "util/arena.h"
#include "util/strmap.h"

#define BEHIND_NONE SIZE_MAX

/* [n] what is known of a job on the way up. */
enum behind_way { WAY_UNKNOWN, WAY_ASKED, WAY_ROOT, WAY_NOWHERE };

/* Does the way up from job i end at a root? A ring ends nowhere. path [n] is scratch. */
static bool
behind_leads(const struct job *jobs, const size_t *before, const struct strmap *roots, size_t i,
    enum behind_way *way, size_t *path)
{
	enum behind_way end = WAY_UNKNOWN;
	size_t n = 0;

	while (end == WAY_UNKNOWN) {
		if (way[i] != WAY_UNKNOWN) {
			end = way[i] == WAY_ROOT ? WAY_ROOT : WAY_NOWHERE;
			break;
		}
		way[i] = WAY_ASKED;
		path[n++] = i;
		if (strmap_get(roots, jobs[i].spec.after) != NULL)
			end = WAY_ROOT;
		else if (before[i] == BEHIND_NONE)
			end = WAY_NOWHERE;
		else
			i = before[i];
	}
	while (n > 0)
		way[path[--n]] = end;
	return end == WAY_ROOT;
}

static bool
behind_waits(const struct job *j)
{
	return j->spec.after != NULL && j->spec.after[0] != '\0';
}

size_t
placing_behind(const struct job *jobs, size_t n, const char *const *roots, size_t n_roots,
    bool moves, struct arena *a, size_t *out)
{
	enum behind_way *way = arena_array_of(a, n, enum behind_way);
	size_t *before = arena_array_of(a, n, size_t), *path = arena_array_of(a, n, size_t), k = 0;
	bool *matters = arena_array_of(a, n, bool);
	struct strmap ids = { 0 }, root = { 0 };

	for (size_t i = 0; i < n_roots; i++)
		strmap_add(a, &root, roots[i], i, NULL);
	for (size_t i = 0; i < n; i++)
		strmap_add(a, &ids, jobs[i].id, i, NULL);
	for (size_t i = 0; i < n; i++) {
		const size_t *at =
		    behind_waits(&jobs[i]) ? strmap_get(&ids, jobs[i].spec.after) : NULL;

		before[i] = at == NULL ? BEHIND_NONE : *at;
		if (!behind_waits(&jobs[i]))
			way[i] = WAY_NOWHERE;
	}
	for (size_t i = 0; i < n; i++) {
		if (!(jobs[i].spec.deadline > 0 || (moves && jobs[i].spec.after_gib > 0)) ||
		    !behind_waits(&jobs[i]) || !behind_leads(jobs, before, &root, i, way, path))
			continue;
		for (size_t up = i;
		     up != BEHIND_NONE && !matters[up] && strmap_get(&root, jobs[up].id) == NULL;
		     up = before[up])
			matters[up] = true;
	}
	for (size_t i = 0; i < n; i++)
		if (matters[i])
			out[k++] = i;
	return k;
}

void
placing_view(const struct job *jobs, size_t n, const char *const *ids, size_t n_ids,
    struct arena *a, struct placing_options *o)
{
	size_t *behind = arena_array_of(a, n, size_t);
	const char **view;

	o->n_behind = n_ids > 0 ? placing_behind(jobs, n, ids, n_ids, true, a, behind) : 0;
	o->behind = view = arena_array_of(a, o->n_behind, const char *);
	for (size_t i = 0; i < o->n_behind; i++)
		view[i] = jobs[behind[i]].id;
}

enum berth_code
placing_view_named(struct store *store, const char *const *names, size_t n, struct arena *a,
    struct placing_options *o, struct berth_err *err)
{
	struct job_query q = { .states = JOB_BIT(JOB_QUEUED) };
	const char **ids = arena_array_of(a, n, const char *);
	struct job *jobs, one;
	size_t n_jobs;
	enum berth_code rc = store_job_list(store, &q, a, &jobs, &n_jobs, err);

	for (size_t i = 0; rc == BERTH_OK && i < n; i++) {
		rc = store_job_get(store, names[i], a, &one, err);
		ids[i] = rc == BERTH_OK ? one.id : "";
	}
	if (rc == BERTH_OK)
		placing_view(jobs, n_jobs, ids, n, a, o);
	return rc;
}
