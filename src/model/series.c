/* src/model/series.c - what the labels of a series say.  Floor: model. */
#include "config.h"

#include <string.h>

#include "model/series.h"
#include "util/json.h"

const char *
series_label(const struct series *s, const char *key, struct arena *a)
{
	struct berth_err ignored;
	const char *value = NULL;
	json_t *root = NULL;
	struct jsonr r;

	if (jsonr_parse(s->labels, strlen(s->labels), s->name, &root, &ignored) != BERTH_OK)
		return NULL;
	r = jsonr_root(root, s->name);
	if (jsonr_str(&r, key, &value, &ignored) == BERTH_OK && value != NULL)
		value = arena_strdup(a, value);
	json_decref(root);
	return value;
}
