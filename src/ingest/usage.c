#include <stdlib.h>
#include <string.h>

#include "ingest/usage.h"
#include "model/series.h"
#include "util/buf.h"
#include "util/hash.h"
#include "util/jsonw.h"
#include "util/str.h"

#define USAGE_NAME_FIT ((size_t)480) /* bytes of a series' name */
#define USAGE_NAME_MAX ((size_t)64 * 1024)

const char *
usage_time_fault(int64_t t, int64_t now)
{
	if (t > now + USAGE_AHEAD_S)
		return "lies more than a day ahead";
	return t < USAGE_FIRST ? "lies before 1971: is it a time?" : NULL;
}

const char *
usage_label_fault(const struct usage_label *labels, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!str_utf8_valid(labels[i].value, strlen(labels[i].value)))
			return labels[i].key;
	return NULL;
}

void
usage_set_init(struct usage_set *set, struct arena *a)
{
	*set = (struct usage_set){ .a = a };
}

uint32_t
usage_source_put(struct usage_set *set, const char *key, uint32_t target)
{
	int added;
	size_t *at = strmap_add(set->a, &set->by_key, key, set->sources.n, &added);

	if (added) {
		struct usage_source *s = VEC_ADD(set->a, &set->sources);

		*s = (struct usage_source){ arena_strdup(set->a, key), (int64_t)hash_str(key),
			target, INT64_MAX, INT64_MIN, NULL };
		set->targets.v[target].n_sources++;
	}
	return (uint32_t)*at;
}

enum berth_code
usage_target_put(struct usage_set *set, const char *name, const char *labels, uint32_t *target_out,
    struct berth_err *err)
{
	int added;
	size_t *at = strmap_add(set->a, &set->by_name, name, set->targets.n, &added);

	if (added) {
		struct usage_target *t;

		if (set->targets.n == USAGE_SERIES_MAX)
			return err_set(err, BERTH_EINVAL,
			    "more than %d series: choose the labels that count with --by",
			    USAGE_SERIES_MAX);
		t = VEC_ADD(set->a, &set->targets);
		*t = (struct usage_target){ .name = arena_strdup(set->a, name),
			.labels = labels,
			.t_min = INT64_MAX,
			.t_max = INT64_MIN };
	}
	*target_out = (uint32_t)*at;
	return BERTH_OK;
}

void
usage_seen(struct usage_set *set, uint32_t source, int64_t t)
{
	struct usage_source *s = &set->sources.v[source];
	struct usage_target *g = &set->targets.v[s->target];

	s->t_min = t < s->t_min ? t : s->t_min;
	s->t_max = t > s->t_max ? t : s->t_max;
	g->t_min = t < g->t_min ? t : g->t_min;
	g->t_max = t > g->t_max ? t : g->t_max;
}

bool
usage_forms(const struct usage_set *set, const char *unit, struct usage_forms *out)
{
	struct strmap at = { 0 };
	bool any = false;

	out->n = 0;
	out->form = arena_array_of(set->a, set->sources.n, const char *);
	out->of_source = arena_array_of(set->a, set->sources.n, uint32_t);
	out->told = arena_array_of(set->a, set->targets.n, bool);
	for (size_t i = 0; i < set->sources.n; i++) {
		const struct usage_source *s = &set->sources.v[i];
		const struct usage_target *g = &set->targets.v[s->target];
		const struct series as = { .unit = g->unit != NULL ? g->unit : unit };
		int added;

		out->of_source[i] = (uint32_t)*strmap_add(
		    set->a, &at, s->form != NULL ? s->form : "\n", out->n, &added);
		if (added)
			out->form[out->n++] = s->form;
		if (s->form != NULL && !g->average && series_is_gpus(&as))
			any = out->told[s->target] = true;
	}
	return any;
}

static int
usage_label_cmp(const void *a, const void *b)
{
	const struct usage_label *x = a, *y = b;

	return strcmp(x->key, y->key);
}

/* A name that the store takes: control characters shown, and what is too long cut with a hash of
 * all of it. */
static const char *
usage_name_fit(struct arena *a, const char *name, size_t len)
{
	const char *text;
	struct buf b;

	buf_init(&b, 4 * USAGE_NAME_MAX);
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)name[i];

		if (c < 0x20 || c == 0x7f)
			buf_printf(&b, "\\x%02x", c);
		else
			buf_add_char(&b, name[i]);
	}
	if (b.len <= USAGE_NAME_FIT) {
		text = arena_strdup(a, b.p);
	} else {
		char cut[USAGE_NAME_FIT];

		(void)str_copy(cut, sizeof(cut), b.p);
		text = arena_printf(a, "%s~%016llx", cut, (unsigned long long)hash_str(name));
	}
	buf_free(&b);
	return text;
}

const char *
usage_name(struct arena *a, struct usage_label *labels, size_t n)
{
	const char *name;
	struct buf b;

	if (n == 0)
		return "total";
	qsort(labels, n, sizeof(*labels), usage_label_cmp);
	buf_init(&b, USAGE_NAME_MAX);
	for (size_t i = 0; i < n; i++) {
		buf_printf(&b, "%s%s=", i > 0 ? "," : "", labels[i].key);
		if (labels[i].value[strcspn(labels[i].value, ",=\"")] == '\0') {
			buf_add_str(&b, labels[i].value);
			continue;
		}
		buf_add_char(&b, '"');
		for (const char *p = labels[i].value; *p != '\0'; p++) {
			if (*p == '"')
				buf_add_char(&b, '"');
			buf_add_char(&b, *p);
		}
		buf_add_char(&b, '"');
	}
	name = b.code == BERTH_OK ? usage_name_fit(a, b.p, b.len) : "";
	buf_free(&b);
	return name;
}

const char *
usage_labels_json(struct arena *a, const struct usage_label *labels, size_t n)
{
	const char *text = "{}";
	struct jsonw w;
	struct buf b;

	buf_init(&b, USAGE_NAME_MAX);
	jsonw_init_buf(&w, &b, JSONW_COMPACT);
	jsonw_begin_object(&w, NULL);
	for (size_t i = 0; i < n; i++)
		jsonw_str(&w, labels[i].key, labels[i].value);
	jsonw_end_object(&w);
	if (jsonw_finish(&w, NULL) == BERTH_OK)
		text = arena_strdup(a, b.p);
	buf_free(&b);
	return text;
}
