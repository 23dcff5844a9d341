#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/conformance/kit.h"
#include "util/arena.h"
#include "util/str.h"

enum berth_code
kit_answer(struct http_resp *resp, int status, const char *body)
{
	resp->status = status;
	resp->body = body;
	resp->body_len = strlen(body);
	resp->headers[0] = (struct http_header){ "Content-Type", "application/json", false };
	resp->n_headers = 1;
	return BERTH_OK;
}

bool
kit_gone(const struct kit_machine *m, int64_t now)
{
	return m->ended != 0 && now >= m->ended + KIT_STOP_S;
}

size_t
kit_up(const struct kit_fleet *f, int64_t now)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++)
		n += !kit_gone(&f->v[i], now);
	return n;
}

bool
kit_full(const struct kit_fleet *f, int64_t now)
{
	return kit_up(f, now) >= KIT_ROOM || f->n >= 64;
}

struct kit_machine *
kit_find(struct kit_fleet *f, const char *id, int64_t now)
{
	for (size_t i = 0; i < f->n; i++)
		if (str_eq(f->v[i].id, id) && !kit_gone(&f->v[i], now))
			return &f->v[i];
	return NULL;
}

struct kit_machine *
kit_add(struct kit_fleet *f, const char *prefix, int64_t now)
{
	struct kit_machine *m = &f->v[f->n++];

	memset(m, 0, sizeof(*m));
	snprintf(m->id, sizeof(m->id), "%s%zu", prefix, f->n + 1000);
	m->created = now;
	return m;
}

const char *
kit_list(const struct kit_fleet *f, struct arena *a, kit_text_fn *text, int64_t now)
{
	const char *all = "";

	for (size_t i = 0; i < f->n; i++)
		if (!kit_gone(&f->v[i], now))
			all = arena_printf(a, "%s%s%s", all, all[0] != '\0' ? "," : "", text(a, &f->v[i], now));
	return all;
}

const char *
kit_str(const struct http_req *req, const char *path)
{
	json_t *root = NULL;
	const json_t *v;
	const char *s;
	char **keys;
	size_t n;

	if (req->body == NULL || jsonr_parse(req->body, req->body_len, "body", &root, NULL) != BERTH_OK)
		return "";
	keys = str_split(req->arena, path, '.', &n);
	v = root;
	for (size_t i = 0; i < n; i++)
		v = json_is_array(v) ? json_array_get(v, (size_t)(keys[i][0] - '0')) : json_object_get(v, keys[i]);
	s = json_is_string(v) ? arena_strdup(req->arena, json_string_value(v)) :
	    json_is_integer(v) ? arena_printf(req->arena, "%lld", (long long)json_integer_value(v)) :
	    json_is_boolean(v) ? (json_is_true(v) ? "true" : "false") : "";
	json_decref(root);
	return s;
}
