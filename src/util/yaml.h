/* src/util/yaml.h - YAML as a tree that remembers where each node stood.  Floor: util. */
#ifndef BERTH_UTIL_YAML_H
#define BERTH_UTIL_YAML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/arena.h"
#include "util/err.h"
#include "util/money.h"
#include "util/tz.h"

enum yaml_kind { YAML_KIND_SCALAR, YAML_KIND_LIST, YAML_KIND_MAP };

struct yaml_node {
	enum yaml_kind kind;
	bool quoted;   /* scalar: in quotes or a block, or !!str; "null" is not null */
	int line, col; /* from 1 */
	const char *file;
	const char *text; /* scalar: as written, quotes undone; never a NUL within */
	size_t n;
	struct yaml_node **items;     /* list: [n]; map: values [n], in order */
	const char **keys;            /* map: [n] */
	struct yaml_node **key_nodes; /* map: [n]: where each key stands */
	const struct yaml_node *up;   /* what it stands in, NULL for the root */
	const char *key;              /* of up, or NULL: item number index */
	size_t index;
};

#define YAML_BYTES_MAX (4 * 1024 * 1024)
#define YAML_NODES_MAX 200000 /* aliases count as often as they are used */
#define YAML_DEPTH_MAX 32

/*
 * One document. Duplicate keys, a second document, keys that are not scalars, tags other than the
 * core ones, "<<", and anything over the caps are BERTH_EINVAL with where = "file:line:col". An
 * empty file is an empty map. Everything lives in the arena.
 */
BERTH_MUST_CHECK enum berth_code yaml_parse(struct arena *a, const char *bytes, size_t n,
    const char *file, const struct yaml_node **root_out, struct berth_err *err);
/* "-" is stdin; BERTH_ENOTFOUND if there is no such file. */
BERTH_MUST_CHECK enum berth_code yaml_load(
    struct arena *a, const char *path, const struct yaml_node **root_out, struct berth_err *err);

/* "accounts[0].name"; "" for the root. Returns dst. */
char *yaml_path(const struct yaml_node *n, char *dst, size_t size);
/* Refuses at a node: where = "file:line:col", message "key 'PATH': ...". Returns BERTH_EINVAL. */
enum berth_code yaml_err(const struct yaml_node *n, struct berth_err *err, const char *fmt, ...)
    BERTH_PRINTF(3, 4);
/* Every key of the map is in the NULL-terminated list, else BERTH_EINVAL with a suggestion. */
BERTH_MUST_CHECK enum berth_code yaml_check_keys(
    const struct yaml_node *map, const char *const *allowed, struct berth_err *err);
/* Every key of the NULL-terminated list is in the map and not null. */
BERTH_MUST_CHECK enum berth_code yaml_need_keys(
    const struct yaml_node *map, const char *const *needed, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code yaml_need_kind(
    const struct yaml_node *n, enum yaml_kind kind, struct berth_err *err);

/* The value at key; NULL if the map has none, or it is null (plain "null", "~" or nothing). */
const struct yaml_node *yaml_get(const struct yaml_node *map, const char *key);
bool yaml_is_null(const struct yaml_node *n);

/*
 * Getters by key. Absent or null: *out stays as it was (set the default before) and BERTH_OK. A
 * value that is not of the kind is refused at its place.
 */
BERTH_MUST_CHECK enum berth_code yaml_str(
    const struct yaml_node *map, const char *key, const char **out, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code yaml_int(const struct yaml_node *map, const char *key, int64_t min,
    int64_t max, int64_t *out, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code yaml_double(const struct yaml_node *map, const char *key,
    double min, double max, double *out, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code yaml_bool(
    const struct yaml_node *map, const char *key, bool *out, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code yaml_duration(
    const struct yaml_node *map, const char *key, int64_t *s_out, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code yaml_time(const struct yaml_node *map, const char *key,
    int64_t now, const struct tz *tz, int64_t *t_out,
    struct berth_err *err); /* as time_parse(), no flags */
BERTH_MUST_CHECK enum berth_code yaml_money(const struct yaml_node *map, const char *key,
    struct usd_micro *out, struct berth_err *err); /* >= 0 */
/* A map or a list at key; NULL if absent. */
BERTH_MUST_CHECK enum berth_code yaml_map(const struct yaml_node *map, const char *key,
    const struct yaml_node **out, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code yaml_list(const struct yaml_node *map, const char *key,
    const struct yaml_node **out, struct berth_err *err);
/* A list of strings, or one string as a list of one; the array is in the arena. */
BERTH_MUST_CHECK enum berth_code yaml_str_list(struct arena *a, const struct yaml_node *map,
    const char *key, const char ***out, size_t *n_out, struct berth_err *err);

/* The same for a node in hand (an item of a list); never absent, so null is refused. */
BERTH_MUST_CHECK enum berth_code yaml_as_str(
    const struct yaml_node *n, const char **out, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code yaml_as_int(
    const struct yaml_node *n, int64_t min, int64_t max, int64_t *out, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code yaml_as_double(
    const struct yaml_node *n, double min, double max, double *out, struct berth_err *err);
BERTH_MUST_CHECK enum berth_code yaml_as_bool(
    const struct yaml_node *n, bool *out, struct berth_err *err);

#endif
