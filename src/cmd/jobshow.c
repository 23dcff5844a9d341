#include <stdlib.h>
#include <string.h>

#include "cmd/jobshow.h"
#include "store/job_rows.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/str.h"

const char *
jobshow_accelerators(const struct job_spec *spec, struct arena *a)
{
	const char *text = "";

	for (size_t i = 0; i < spec->n_variants; i++) {
		const struct job_variant *v = &spec->variants[i];
		const char *name = v->accelerator[0] != '\0' ? v->accelerator : "any";

		text = v->nodes > 1 ? arena_printf(a, "%s%s%dx%s:%d", text, i > 0 ? ", " : "",
					  v->nodes, name, v->count_min)
				    : arena_printf(a, "%s%s%s:%d", text, i > 0 ? ", " : "", name,
					  v->count_min);
	}
	return text;
}

static void
jobshow_variants(struct jsonw *w, const struct job_spec *spec)
{
	jsonw_begin_array(w, "variants");
	for (size_t i = 0; i < spec->n_variants; i++) {
		const struct job_variant *v = &spec->variants[i];

		jsonw_begin_object(w, NULL);
		jsonw_str_or_null(w, "name", v->name);
		jsonw_str_or_null(w, "accelerator", v->accelerator);
		jsonw_int(w, "count", v->count_min);
		jsonw_int(w, "count_max", v->count_max);
		jsonw_int(w, "nodes", v->nodes);
		jsonw_double(w, "memory_gib", v->memory_gib);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
}

static int
jobshow_nodes_cmp(const void *id, const void *nodes)
{
	return strcmp(id, ((const struct job_nodes *)nodes)->job_id);
}

const struct job_nodes *
jobshow_nodes(const struct job_nodes *nodes, size_t n, const char *id)
{
	return n > 0 ? bsearch(id, nodes, n, sizeof(*nodes), jobshow_nodes_cmp) : NULL;
}

const char *
jobshow_nodes_text(const struct job_nodes *nodes, struct arena *a)
{
	return nodes == NULL ? "" : arena_printf(a, "%d/%d", nodes->up, nodes->wanted);
}

void
jobshow_keys(struct jsonw *w, const struct job *j, const struct job_nodes *nodes, int64_t now)
{
	jsonw_str(w, "id", j->id);
	jsonw_str(w, "name", j->spec.name);
	jsonw_str_or_null(w, "user", j->spec.user);
	jsonw_str_or_null(w, "project", j->spec.project);
	jsonw_str(w, "state", job_state_name(j->state));
	jsonw_str_or_null(w, "reason", j->reason);
	jsonw_int(w, "priority", j->spec.priority);
	jsonw_fixed(w, "progress", j->progress, 4);
	jsonw_double(w, "work_hours", j->spec.work_hours);
	jobshow_variants(w, &j->spec);
	jsonw_time(w, "submitted", j->submitted);
	jsonw_time_or_null(w, "started", j->started);
	jsonw_time_or_null(w, "finished", j->finished);
	jsonw_time_or_null(w, "deadline", j->spec.deadline);
	jsonw_bool(w, "deadline_missed", job_missed(j, now));
	jsonw_int(w, "tries", j->tries);
	jsonw_int(w, "preemptions", j->preemptions);
	jsonw_money(w, "cost", j->cost);
	jsonw_money(w, "max_price", j->spec.max_price);
	jsonw_money(w, "max_cost", j->spec.max_cost);
	if (j->spec.idle_limit_s != 0)
		jsonw_int(w, "idle_limit_s", j->spec.idle_limit_s < 0 ? 0 : j->spec.idle_limit_s);
	else
		jsonw_null(w, "idle_limit_s");
	if (j->spec.replace_lost_s != 0)
		jsonw_int(w, "replace_lost_s", j->spec.replace_lost_s);
	else
		jsonw_null(w, "replace_lost_s");
	jsonw_int(w, "machines_up", nodes != NULL ? nodes->up : 0);
	jsonw_int(w, "machines_wanted", nodes != NULL ? nodes->wanted : 0);
}

const char *
jobshow_message(const char *data, struct arena *a)
{
	const char *text = "";
	struct berth_err ignored;
	struct jsonr root;
	json_t *v;

	if (jsonr_parse(data, strlen(data), "event", &v, &ignored) != BERTH_OK)
		return "";
	root = jsonr_root(v, "event");
	if (jsonr_str(&root, "message", &text, &ignored) != BERTH_OK)
		text = "";
	text = arena_strdup(a, text);
	json_decref(v);
	return text;
}
