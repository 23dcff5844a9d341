#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "util/fileio.h"
#include "util/vec.h"
#include "util/yaml.h"

#define YAML_KEY_MAX 1024
#define YAML_ANCHORS_MAX 1000

struct yaml_anchor {
	const char *name;
	const struct yaml_node *node;
};

struct yaml_reader {
	struct arena *a;
	yaml_parser_t parser;
	const char *bytes, *file;
	size_t size, n_nodes;
	VEC(struct yaml_anchor) anchors;
	struct berth_err *err;
};

/* Where a new node is put. */
struct yaml_place {
	const struct yaml_node *up;
	const char *key;
	size_t index;
	int depth;
};

static enum berth_code yaml_build(
    struct yaml_reader *r, yaml_event_t *e, struct yaml_place at, struct yaml_node **out);

static enum berth_code
yaml_refuse(struct yaml_reader *r, yaml_mark_t mark, const char *why)
{
	err_set(r->err, BERTH_EINVAL, "%s", why);
	err_at(r->err, "%s:%zu:%zu", r->file, mark.line + 1, mark.column + 1);
	return BERTH_EINVAL;
}

/* Whether the byte at the mark is a tab, which YAML does not take for indentation. */
static bool
yaml_is_tab(const struct yaml_reader *r, yaml_mark_t mark)
{
	const char *p = r->bytes, *end = p + r->size;

	for (size_t line = 0; line < mark.line && p != NULL; line++) {
		p = memchr(p, '\n', (size_t)(end - p));
		p = p != NULL ? p + 1 : NULL;
	}
	return p != NULL && mark.column < (size_t)(end - p) && p[mark.column] == '\t';
}

static enum berth_code
yaml_syntax(struct yaml_reader *r)
{
	const yaml_parser_t *p = &r->parser;
	yaml_mark_t mark = p->problem_mark;

	if (p->error == YAML_MEMORY_ERROR)
		return err_set(r->err, BERTH_ENOMEM, "%s: out of memory", r->file);
	if (p->error == YAML_READER_ERROR)
		return err_set(r->err, BERTH_EINVAL, "%s: byte %zu: %s", r->file, p->problem_offset,
		    p->problem);
	if (yaml_is_tab(r, mark))
		return yaml_refuse(r, mark, "a tab: YAML is indented with blanks");
	yaml_refuse(r, mark, p->problem != NULL ? p->problem : "not YAML");
	if (p->context != NULL)
		err_ctx(r->err, "%s that begins in line %zu", p->context, p->context_mark.line + 1);
	return BERTH_EINVAL;
}

static enum berth_code
yaml_event(struct yaml_reader *r, yaml_event_t *e)
{
	return yaml_parser_parse(&r->parser, e) ? BERTH_OK : yaml_syntax(r);
}

static enum berth_code
yaml_node_new(struct yaml_reader *r, yaml_mark_t mark, struct yaml_place at, struct yaml_node **out)
{
	struct yaml_node *n;

	if (++r->n_nodes > YAML_NODES_MAX)
		return yaml_refuse(
		    r, mark, "more than 200000 values: too large, or aliases that multiply");
	if (at.depth > YAML_DEPTH_MAX)
		return yaml_refuse(r, mark, "nested deeper than 32 levels");
	n = arena_new_of(r->a, struct yaml_node);
	n->line = (int)mark.line + 1;
	n->col = (int)mark.column + 1;
	n->file = r->file;
	n->up = at.up;
	n->key = at.key;
	n->index = at.index;
	n->text = "";
	*out = n;
	return BERTH_OK;
}

/* The core tags say what the text says anyway; !!str and ! make it a string. */
static bool
yaml_tag(const yaml_char_t *tag, bool *is_string)
{
	static const char *const core[] = { "str", "int", "float", "bool", "null", "map", "seq" };
	static const char prefix[] = "tag:yaml.org,2002:";
	const char *s = (const char *)tag;

	*is_string = false;
	if (s == NULL)
		return true;
	if (strcmp(s, "!") == 0)
		return *is_string = true;
	if (strncmp(s, prefix, sizeof(prefix) - 1) != 0)
		return false;
	for (size_t i = 0; i < sizeof(core) / sizeof(core[0]); i++) {
		if (strcmp(s + sizeof(prefix) - 1, core[i]) == 0) {
			*is_string = i == 0;
			return true;
		}
	}
	return false;
}

static enum berth_code
yaml_build_scalar(
    struct yaml_reader *r, const yaml_event_t *e, struct yaml_place at, struct yaml_node **out)
{
	const char *value = (const char *)e->data.scalar.value;
	size_t length = e->data.scalar.length;
	enum berth_code rc = yaml_node_new(r, e->start_mark, at, out);
	bool is_string;

	if (rc != BERTH_OK)
		return rc;
	if (!yaml_tag(e->data.scalar.tag, &is_string))
		return yaml_refuse(r, e->start_mark, "this tag is not known here");
	if (memchr(value, '\0', length) != NULL)
		return yaml_refuse(r, e->start_mark, "a NUL character in a value");
	(*out)->kind = YAML_KIND_SCALAR;
	(*out)->quoted = is_string || e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
	(*out)->text = arena_strndup(r->a, value, length);
	return BERTH_OK;
}

static enum berth_code
yaml_build_list(struct yaml_reader *r, struct yaml_place at, struct yaml_node *n)
{
	VEC(struct yaml_node *) items = { 0 };
	enum berth_code rc;
	yaml_event_t e;

	n->kind = YAML_KIND_LIST;
	while ((rc = yaml_event(r, &e)) == BERTH_OK) {
		struct yaml_node *item;
		bool end = e.type == YAML_SEQUENCE_END_EVENT;

		if (!end)
			rc = yaml_build(
			    r, &e, (struct yaml_place){ n, NULL, items.n, at.depth + 1 }, &item);
		yaml_event_delete(&e);
		if (end || rc != BERTH_OK)
			break;
		VEC_PUSH(r->a, &items, item);
	}
	n->items = items.v;
	n->n = items.n;
	return rc;
}

static int
yaml_key_cmp(const void *a, const void *b)
{
	const struct yaml_node *x = *(const struct yaml_node *const *)a;
	const struct yaml_node *y = *(const struct yaml_node *const *)b;
	int d = strcmp(x->text, y->text);

	if (d == 0)
		d = (x->line > y->line) - (x->line < y->line);
	return d != 0 ? d : (x->col > y->col) - (x->col < y->col);
}

static enum berth_code
yaml_check_twice(struct yaml_reader *r, const struct yaml_node *map)
{
	struct yaml_node **sorted;

	if (map->n < 2)
		return BERTH_OK;
	sorted = arena_memdup(r->a, map->key_nodes, map->n * sizeof(struct yaml_node *));
	qsort(sorted, map->n, sizeof(struct yaml_node *), yaml_key_cmp);
	for (size_t i = 1; i < map->n; i++) {
		if (strcmp(sorted[i]->text, sorted[i - 1]->text) == 0)
			return yaml_err(sorted[i], r->err, "stands twice, first in line %d",
			    sorted[i - 1]->line);
	}
	return BERTH_OK;
}

/* One key and its value; *end_out if the map ends instead. */
static enum berth_code
yaml_build_pair(struct yaml_reader *r, struct yaml_place at, const struct yaml_node *map,
    struct yaml_node **key, struct yaml_node **value, bool *end_out)
{
	enum berth_code rc;
	yaml_event_t e;

	rc = yaml_event(r, &e);
	if (rc != BERTH_OK)
		return rc;
	*end_out = e.type == YAML_MAPPING_END_EVENT;
	if (!*end_out && e.type != YAML_SCALAR_EVENT)
		rc = yaml_refuse(r, e.start_mark, "a key must be plain text");
	else if (!*end_out)
		rc = yaml_build_scalar(
		    r, &e, (struct yaml_place){ map, NULL, 0, at.depth + 1 }, key);
	yaml_event_delete(&e);
	if (*end_out || rc != BERTH_OK)
		return rc;
	(*key)->key = (*key)->text;
	if (strlen((*key)->text) > YAML_KEY_MAX)
		return yaml_refuse(r, e.start_mark, "a key of more than 1024 bytes");
	if (strcmp((*key)->text, "<<") == 0 && !(*key)->quoted)
		return yaml_err(*key, r->err, "merge keys are not read: write the values out");
	rc = yaml_event(r, &e);
	if (rc != BERTH_OK)
		return rc;
	rc = yaml_build(r, &e, (struct yaml_place){ map, (*key)->text, 0, at.depth + 1 }, value);
	yaml_event_delete(&e);
	return rc;
}

static enum berth_code
yaml_build_map(struct yaml_reader *r, struct yaml_place at, struct yaml_node *n)
{
	VEC(struct yaml_node *) values = { 0 };
	VEC(struct yaml_node *) key_nodes = { 0 };
	struct yaml_node *key = NULL, *value = NULL;
	enum berth_code rc;
	bool end = false;

	n->kind = YAML_KIND_MAP;
	while ((rc = yaml_build_pair(r, at, n, &key, &value, &end)) == BERTH_OK && !end) {
		VEC_PUSH(r->a, &key_nodes, key);
		VEC_PUSH(r->a, &values, value);
	}
	if (rc != BERTH_OK)
		return rc;
	n->items = values.v;
	n->key_nodes = key_nodes.v;
	n->n = values.n;
	n->keys = arena_array_of(r->a, n->n, const char *);
	for (size_t i = 0; i < n->n; i++)
		n->keys[i] = n->key_nodes[i]->text;
	return yaml_check_twice(r, n);
}

/* A copy of an anchored node, counted against the caps and with its new path. */
static enum berth_code
yaml_copy(struct yaml_reader *r, const struct yaml_node *from, yaml_mark_t mark,
    struct yaml_place at, struct yaml_node **out)
{
	enum berth_code rc = yaml_node_new(r, mark, at, out);
	struct yaml_node *n = *out;

	if (rc != BERTH_OK)
		return rc;
	*n = *from;
	n->up = at.up;
	n->key = at.key;
	n->index = at.index;
	n->items = arena_array_of(r->a, from->n, struct yaml_node *);
	for (size_t i = 0; i < from->n && rc == BERTH_OK; i++) {
		struct yaml_place below = { n, from->keys != NULL ? from->keys[i] : NULL, i,
			at.depth + 1 };

		rc = yaml_copy(r, from->items[i], mark, below, &n->items[i]);
	}
	return rc;
}

static enum berth_code
yaml_build_alias(
    struct yaml_reader *r, const yaml_event_t *e, struct yaml_place at, struct yaml_node **out)
{
	for (size_t i = r->anchors.n; i > 0; i--) {
		if (strcmp(r->anchors.v[i - 1].name, (const char *)e->data.alias.anchor) == 0)
			return yaml_copy(r, r->anchors.v[i - 1].node, e->start_mark, at, out);
	}
	return yaml_refuse(r, e->start_mark, "an alias whose anchor is not complete above it");
}

static enum berth_code
yaml_build_nested(
    struct yaml_reader *r, const yaml_event_t *e, struct yaml_place at, struct yaml_node **out)
{
	bool is_map = e->type == YAML_MAPPING_START_EVENT, is_string;
	const yaml_char_t *tag;
	enum berth_code rc = yaml_node_new(r, e->start_mark, at, out);

	if (rc != BERTH_OK)
		return rc;
	tag = is_map ? e->data.mapping_start.tag : e->data.sequence_start.tag;
	if (!yaml_tag(tag, &is_string) || is_string)
		return yaml_refuse(r, e->start_mark, "this tag is not known here");
	return is_map ? yaml_build_map(r, at, *out) : yaml_build_list(r, at, *out);
}

static enum berth_code
yaml_build(struct yaml_reader *r, yaml_event_t *e, struct yaml_place at, struct yaml_node **out)
{
	const yaml_char_t *anchor = NULL;
	enum berth_code rc;

	if (e->type == YAML_ALIAS_EVENT)
		return yaml_build_alias(r, e, at, out);
	if (e->type == YAML_SCALAR_EVENT) {
		anchor = e->data.scalar.anchor;
		rc = yaml_build_scalar(r, e, at, out);
	} else if (e->type == YAML_SEQUENCE_START_EVENT || e->type == YAML_MAPPING_START_EVENT) {
		anchor = e->type == YAML_MAPPING_START_EVENT ? e->data.mapping_start.anchor
							     : e->data.sequence_start.anchor;
		rc = yaml_build_nested(r, e, at, out);
	} else {
		return yaml_refuse(r, e->start_mark, "a value is needed here");
	}
	if (rc == BERTH_OK && anchor != NULL && r->anchors.n == YAML_ANCHORS_MAX)
		return yaml_refuse(r, e->start_mark, "more than 1000 anchors");
	if (rc == BERTH_OK && anchor != NULL)
		VEC_PUSH(r->a, &r->anchors,
		    (struct yaml_anchor){ arena_strdup(r->a, (const char *)anchor), *out });
	return rc;
}

/* The stream: one document, or none. */
static enum berth_code
yaml_build_document(struct yaml_reader *r, struct yaml_node **root)
{
	enum berth_code rc;
	yaml_event_t e;
	bool done = false;

	while (!done && (rc = yaml_event(r, &e)) == BERTH_OK) {
		switch (e.type) {
		case YAML_STREAM_END_EVENT:
			done = true;
			break;
		case YAML_NO_EVENT:
		case YAML_STREAM_START_EVENT:
		case YAML_DOCUMENT_END_EVENT:
			break;
		case YAML_DOCUMENT_START_EVENT:
			if (*root != NULL)
				rc = yaml_refuse(
				    r, e.start_mark, "a second document: one a file is read");
			break;
		case YAML_ALIAS_EVENT:
		case YAML_SCALAR_EVENT:
		case YAML_SEQUENCE_START_EVENT:
		case YAML_SEQUENCE_END_EVENT:
		case YAML_MAPPING_START_EVENT:
		case YAML_MAPPING_END_EVENT:
			rc = yaml_build(r, &e, (struct yaml_place){ 0 }, root);
			break;
		}
		yaml_event_delete(&e);
		if (rc != BERTH_OK)
			break;
	}
	return rc;
}

enum berth_code
yaml_parse(struct arena *a, const char *bytes, size_t n, const char *file,
    const struct yaml_node **root_out, struct berth_err *err)
{
	struct yaml_reader r = {
		.a = a, .bytes = bytes, .size = n, .file = arena_strdup(a, file), .err = err
	};
	struct yaml_node *root = NULL;
	enum berth_code rc;

	if (n > YAML_BYTES_MAX)
		return err_set(err, BERTH_EINVAL, "%s: more than 4 MiB", file);
	if (!yaml_parser_initialize(&r.parser))
		return err_set(err, BERTH_ENOMEM, "%s: out of memory", file);
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)bytes, n);
	rc = yaml_build_document(&r, &root);
	yaml_parser_delete(&r.parser);
	if (rc != BERTH_OK)
		return rc;
	if (root == NULL || yaml_is_null(root)) {
		root = arena_new_of(a, struct yaml_node);
		*root = (struct yaml_node){
			.kind = YAML_KIND_MAP, .line = 1, .col = 1, .file = r.file, .text = ""
		};
	}
	*root_out = root;
	return BERTH_OK;
}

enum berth_code
yaml_load(
    struct arena *a, const char *path, const struct yaml_node **root_out, struct berth_err *err)
{
	enum berth_code rc;
	char *bytes;
	size_t n;

	rc = fileio_slurp(a, path, YAML_BYTES_MAX, &bytes, &n, err);
	if (rc != BERTH_OK)
		return rc;
	return yaml_parse(a, bytes, n, strcmp(path, "-") == 0 ? "stdin" : path, root_out, err);
}
