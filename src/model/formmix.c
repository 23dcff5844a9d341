#include "model/formmix.h"

#include <stdlib.h>
#include <string.h>

#include "util/buf.h"
#include "util/json.h"
#include "util/vec.h"

#define FORMMIX_BYTES ((size_t)64 * 1024)
#define FORMMIX_LEAST 1e-6 /* shares below are left out */

struct formmix_sum {
	struct arena *a;
	VEC(struct form_share) v;
};

static void
formmix_add(struct formmix_sum *s, const char *form, double amount)
{
	for (size_t i = 0; i < s->v.n; i++)
		if (strcmp(s->v.v[i].form, form) == 0) {
			s->v.v[i].share += amount;
			return;
		}
	VEC_PUSH(s->a, &s->v, ((struct form_share){ form, amount }));
}

static int
formmix_cmp(const void *a, const void *b)
{
	return strcmp(((const struct form_share *)a)->form, ((const struct form_share *)b)->form);
}

const char *
formmix_text(struct arena *a, const char *const *text, const double *amount, size_t n)
{
	struct formmix_sum s = { .a = a };
	const char *out = NULL;
	double total = 0;
	struct jsonw w;
	struct buf b;

	for (size_t i = 0; i < n; i++) {
		struct form_share *part;
		size_t n_part;

		if (!(amount[i] > 0) || text[i] == NULL)
			continue;
		total += amount[i];
		if (text[i][0] != '{' || !formmix_parse(a, text[i], &part, &n_part)) {
			formmix_add(&s, text[i], amount[i]);
			continue;
		}
		for (size_t k = 0; k < n_part; k++)
			formmix_add(&s, part[k].form, part[k].share * amount[i]);
	}
	if (s.v.n == 0)
		return NULL;
	qsort(s.v.v, s.v.n, sizeof(*s.v.v), formmix_cmp);
	buf_init(&b, FORMMIX_BYTES);
	jsonw_init_buf(&w, &b, JSONW_COMPACT);
	jsonw_begin_object(&w, NULL);
	for (size_t i = 0; i < s.v.n; i++)
		if (s.v.v[i].share >= FORMMIX_LEAST * total)
			jsonw_fixed(&w, s.v.v[i].form, s.v.v[i].share / total, 6);
	jsonw_end_object(&w);
	if (jsonw_finish(&w, NULL) == BERTH_OK)
		out = arena_strdup(a, b.p);
	buf_free(&b);
	return out;
}

bool
formmix_parse(struct arena *a, const char *mix, struct form_share **shares_out, size_t *n_out)
{
	struct berth_err ignored;
	json_t *root = NULL, *v;
	const char *key;
	size_t n = 0;

	if (jsonr_parse(mix, strlen(mix), "forms", &root, &ignored) != BERTH_OK)
		return false;
	*shares_out = arena_array(a, json_object_size(root) + 1, sizeof(**shares_out));
	json_object_foreach(root, key, v)
	{
		(*shares_out)[n].form = arena_strdup(a, key);
		(*shares_out)[n++].share = json_number_value(v);
	}
	json_decref(root);
	*n_out = n;
	return true;
}

void
form_run_add(struct form_run *run, size_t *n, int64_t t, int64_t step_s, double unit_seconds,
    const char *mix)
{
	struct form_run *last = *n > 0 ? &run[*n - 1] : NULL;
	bool next = last != NULL && last->until == t;

	if (mix == NULL && (unit_seconds > 0 || !next))
		return;
	if (next && (mix == NULL || strcmp(last->mix, mix) == 0)) {
		last->until = t + step_s;
		last->unit_seconds += unit_seconds;
	} else {
		run[(*n)++] = (struct form_run){ t, t + step_s, mix, unit_seconds };
	}
}
