/* Reading of berth.probe-result/1: hostile bytes into rows. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/verdict.h"
#include "util/arena.h"
#include "util/jsonr.h"
#include "util/str.h"

#define VERDICT_BYTES_MAX ((size_t)4 << 20)
#define VERDICT_GPUS_MAX 1024
#define VERDICT_ROWS_MAX 65536

/* A string of the tree, kept; "" where it is absent or null. Control characters could forge lines
 * of a report. */
static enum berth_code
verdict_str(const struct jsonr *o, const char *key, struct arena *a, const char **out,
    struct berth_err *err)
{
	const char *s = "";
	enum berth_code rc = jsonr_str(o, key, &s, err);
	char *kept = arena_strdup(a, rc == BERTH_OK ? s : "");

	for (char *c = kept; *c != '\0'; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
	*out = kept;
	return rc;
}

static enum berth_code
verdict_double(const struct jsonr *o, const char *key, double *out, struct berth_err *err)
{
	*out = (double)NAN;
	return jsonr_double(o, key, out, err);
}

static enum berth_code
verdict_index(const struct jsonr *o, const char *key, int *out, struct berth_err *err)
{
	int64_t v = -1;
	enum berth_code rc = jsonr_int(o, key, -1, VERDICT_GPUS_MAX - 1, &v, err);

	*out = (int)v;
	return rc;
}

/* A word of a fixed list; it must be there. */
#define VERDICT_WORD(o, key, parse, out, err)                                                      \
	(jsonr_str((o), (key), &word, (err)) != BERTH_OK ? (err)->code                             \
	    : (parse)(word, (out))                       ? BERTH_OK                                \
							 : jsonr_err((o), BERTH_EINVAL, (err),     \
							       "%s: '%.40s' is no word of the schema", (key), word))

static enum berth_code
verdict_parse_gpu(
    const struct jsonr *o, struct arena *a, struct probe_gpu *g, struct berth_err *err)
{
	int64_t sms = -1;
	bool ecc = false;
	struct jsonr e = jsonr_get(o, "ecc");
	enum berth_code rc;

	if ((rc = verdict_index(o, "index", &g->index, err)) != BERTH_OK ||
	    (rc = verdict_str(o, "name", a, &g->name, err)) != BERTH_OK ||
	    (rc = verdict_str(o, "uuid", a, &g->uuid, err)) != BERTH_OK ||
	    (rc = verdict_str(o, "pci", a, &g->pci, err)) != BERTH_OK ||
	    (rc = verdict_str(o, "cc", a, &g->cc, err)) != BERTH_OK ||
	    (rc = verdict_str(o, "mig", a, &g->mig, err)) != BERTH_OK ||
	    (rc = verdict_str(o, "link", a, &g->link, err)) != BERTH_OK ||
	    (rc = jsonr_int(o, "sms", 0, 100000, &sms, err)) != BERTH_OK ||
	    (rc = verdict_double(o, "memory_mib", &g->memory_mib, err)) != BERTH_OK ||
	    (rc = verdict_double(o, "power_limit_w", &g->power_limit_w, err)) != BERTH_OK ||
	    (rc = jsonr_bool(o, "ecc", &ecc, err)) != BERTH_OK)
		return rc;
	g->sms = (int)sms;
	g->ecc = jsonr_none(&e) ? -1 : ecc;
	if (g->index < 0)
		return jsonr_err(o, BERTH_EINVAL, err, "index: a GPU without one");
	if (g->memory_mib < 0 || g->memory_mib > 1e9)
		return jsonr_err(
		    o, BERTH_EINVAL, err, "memory_mib: %g is no memory size", g->memory_mib);
	return BERTH_OK;
}

static enum berth_code
verdict_parse_test(
    const struct jsonr *o, struct arena *a, struct probe_test *t, struct berth_err *err)
{
	const char *word = "";
	int64_t n = 0;
	enum berth_code rc;

	if ((rc = verdict_str(o, "name", a, &t->name, err)) != BERTH_OK ||
	    (rc = verdict_index(o, "gpu", &t->gpu, err)) != BERTH_OK ||
	    (rc = verdict_index(o, "peer", &t->peer, err)) != BERTH_OK ||
	    (rc = verdict_double(o, "value", &t->value, err)) != BERTH_OK ||
	    (rc = verdict_str(o, "unit", a, &t->unit, err)) != BERTH_OK ||
	    (rc = verdict_double(o, "median", &t->median, err)) != BERTH_OK ||
	    (rc = verdict_double(o, "min", &t->min, err)) != BERTH_OK ||
	    (rc = verdict_double(o, "max", &t->max, err)) != BERTH_OK ||
	    (rc = verdict_double(o, "iqr", &t->iqr, err)) != BERTH_OK ||
	    (rc = jsonr_int(o, "n", 0, INT32_MAX, &n, err)) != BERTH_OK ||
	    (rc = VERDICT_WORD(o, "status", probe_status_parse, &t->status, err)) != BERTH_OK ||
	    (rc = verdict_str(o, "error", a, &t->error, err)) != BERTH_OK)
		return rc;
	t->n = (int)n;
	if (t->name[0] == '\0')
		return jsonr_err(o, BERTH_EINVAL, err, "name: a test without one");
	if (t->value < 0 || t->value > 1e12)
		return jsonr_err(o, BERTH_EINVAL, err, "value: %g is no rate", t->value);
	return BERTH_OK;
}

static enum berth_code
verdict_parse_check(
    const struct jsonr *o, struct arena *a, struct probe_check *c, struct berth_err *err)
{
	const char *word = "";
	enum berth_code rc;

	if ((rc = verdict_str(o, "name", a, &c->name, err)) != BERTH_OK ||
	    (rc = verdict_index(o, "gpu", &c->gpu, err)) != BERTH_OK ||
	    (rc = VERDICT_WORD(o, "status", check_status_parse, &c->status, err)) != BERTH_OK ||
	    (rc = verdict_double(o, "value", &c->value, err)) != BERTH_OK ||
	    (rc = verdict_str(o, "detail", a, &c->detail, err)) != BERTH_OK)
		return rc;
	return c->name[0] != '\0' ? BERTH_OK
				  : jsonr_err(o, BERTH_EINVAL, err, "name: a check without one");
}

static enum berth_code
verdict_parse_error(
    const struct jsonr *o, struct arena *a, struct probe_error *e, struct berth_err *err)
{
	int64_t code = 0;
	enum berth_code rc;

	if ((rc = verdict_str(o, "where", a, &e->where, err)) != BERTH_OK ||
	    (rc = jsonr_int(o, "code", INT32_MIN, INT32_MAX, &code, err)) != BERTH_OK ||
	    (rc = verdict_str(o, "message", a, &e->message, err)) != BERTH_OK)
		return rc;
	e->code = (int)code;
	return BERTH_OK;
}

/* The list at key, which must be there: n rows of type, each read by fn. */
#define VERDICT_LIST(root, key, max, type, fn, a, rows_out, n_out, err)                            \
	do {                                                                                       \
		struct jsonr list_;                                                                \
		rc = jsonr_array((root), (key), &list_, (err));                                    \
		if (rc == BERTH_OK && list_.v == NULL)                                             \
			rc = jsonr_err((root), BERTH_EINVAL, (err), "%s: missing", (key));         \
		if (rc == BERTH_OK && jsonr_len(&list_) > (max))                                   \
			rc = jsonr_err(&list_, BERTH_EINVAL, (err), "%zu rows; at most %d",        \
			    jsonr_len(&list_), (int)(max));                                        \
		if (rc != BERTH_OK)                                                                \
			return rc;                                                                 \
		*(n_out) = jsonr_len(&list_);                                                      \
		*(rows_out) = arena_array_of((a), *(n_out), type);                                 \
		for (size_t i_ = 0; i_ < *(n_out); i_++) {                                         \
			struct jsonr row_ = jsonr_at(&list_, i_);                                  \
			if (!json_is_object(row_.v))                                               \
				return jsonr_err(&row_, BERTH_EINVAL, (err), "not an object");     \
			rc = (fn)(&row_, (a), &(*(rows_out))[i_], (err));                          \
			if (rc != BERTH_OK)                                                        \
				return rc;                                                         \
		}                                                                                  \
	} while (0)

static enum berth_code
verdict_parse_lists(
    const struct jsonr *root, struct arena *a, struct probe_result *r, struct berth_err *err)
{
	enum berth_code rc;

	VERDICT_LIST(root, "gpus", VERDICT_GPUS_MAX, struct probe_gpu, verdict_parse_gpu, a,
	    &r->gpus, &r->n_gpus, err);
	VERDICT_LIST(root, "health", VERDICT_ROWS_MAX, struct probe_check, verdict_parse_check, a,
	    &r->health, &r->n_health, err);
	VERDICT_LIST(root, "tests", VERDICT_ROWS_MAX, struct probe_test, verdict_parse_test, a,
	    &r->tests, &r->n_tests, err);
	VERDICT_LIST(root, "checks", VERDICT_ROWS_MAX, struct probe_check, verdict_parse_check, a,
	    &r->checks, &r->n_checks, err);
	VERDICT_LIST(root, "errors", VERDICT_ROWS_MAX, struct probe_error, verdict_parse_error, a,
	    &r->errors, &r->n_errors, err);
	return BERTH_OK;
}

static const char *const verdict_levels[] = { "quick", "standard", "deep", NULL };

static enum berth_code
verdict_parse_root(
    const struct jsonr *root, struct arena *a, struct probe_result *r, struct berth_err *err)
{
	const char *schema = "", *word = "";
	enum berth_code rc;

	if ((rc = jsonr_str(root, "schema", &schema, err)) != BERTH_OK)
		return rc;
	if (!str_eq(schema, "berth.probe-result/1"))
		return jsonr_err(
		    root, BERTH_EINVAL, err, "schema: '%.60s' is not berth.probe-result/1", schema);
	if ((rc = VERDICT_WORD(root, "mode", probe_mode_parse, &r->mode, err)) != BERTH_OK ||
	    (rc = verdict_str(root, "level", a, &r->level, err)) != BERTH_OK ||
	    (rc = verdict_str(root, "only", a, &r->only, err)) != BERTH_OK ||
	    (rc = verdict_str(root, "probe", a, &r->probe, err)) != BERTH_OK ||
	    (rc = verdict_str(root, "kernels", a, &r->kernels, err)) != BERTH_OK ||
	    (rc = verdict_str(root, "host", a, &r->host, err)) != BERTH_OK ||
	    (rc = verdict_str(root, "driver", a, &r->driver, err)) != BERTH_OK ||
	    (rc = verdict_str(root, "cuda", a, &r->cuda, err)) != BERTH_OK ||
	    (rc = verdict_str(root, "image", a, &r->image, err)) != BERTH_OK ||
	    (rc = jsonr_time(root, "at", &r->at, err)) != BERTH_OK ||
	    (rc = verdict_double(root, "duration_s", &r->duration_s, err)) != BERTH_OK)
		return rc;
	if (r->level[0] != '\0' && str_index(r->level, verdict_levels) < 0)
		return jsonr_err(
		    root, BERTH_EINVAL, err, "level: '%.40s' is no word of the schema", r->level);
	if (r->duration_s < 0)
		return jsonr_err(
		    root, BERTH_EINVAL, err, "duration_s: %g is no time", r->duration_s);
	r->complete = isfinite(r->duration_s);
	return verdict_parse_lists(root, a, r, err);
}

static int
verdict_test_cmp(const void *a, const void *b)
{
	const struct probe_test *x = *(const struct probe_test *const *)a,
				*y = *(const struct probe_test *const *)b;

	if (x->gpu != y->gpu)
		return (x->gpu > y->gpu) - (x->gpu < y->gpu);
	if (x->peer != y->peer)
		return (x->peer > y->peer) - (x->peer < y->peer);
	return strcmp(x->name, y->name);
}

/* Of two rows of one test nobody could say which is true. */
static enum berth_code
verdict_parse_twice(const struct probe_result *r, struct arena *a, struct berth_err *err)
{
	const struct probe_test **t = arena_array_of(a, r->n_tests + 1, const struct probe_test *);

	for (size_t i = 0; i < r->n_tests; i++)
		t[i] = &r->tests[i];
	qsort(t, r->n_tests, sizeof(*t), verdict_test_cmp);
	for (size_t i = 1; i < r->n_tests; i++)
		if (verdict_test_cmp(&t[i - 1], &t[i]) == 0)
			return err_set(err, BERTH_EINVAL,
			    "tests: %s stands there twice for one device", t[i]->name);
	return BERTH_OK;
}

/* Rows must speak of GPUs that are listed, each once. */
static enum berth_code
verdict_parse_indexes(const struct probe_result *r, struct arena *a, struct berth_err *err)
{
	bool *seen = arena_array_of(a, VERDICT_GPUS_MAX, bool);

	for (size_t i = 0; i < r->n_gpus; i++) {
		if (seen[r->gpus[i].index])
			return err_set(err, BERTH_EINVAL, "gpus: index %d twice", r->gpus[i].index);
		seen[r->gpus[i].index] = true;
	}
	for (size_t i = 0; i < r->n_tests; i++) {
		if (r->tests[i].gpu >= 0 && !seen[r->tests[i].gpu])
			return err_set(err, BERTH_EINVAL, "tests[%zu]: gpu %d is not listed", i,
			    r->tests[i].gpu);
		if (r->tests[i].peer >= 0 && !seen[r->tests[i].peer])
			return err_set(err, BERTH_EINVAL, "tests[%zu]: peer %d is not listed", i,
			    r->tests[i].peer);
	}
	for (size_t i = 0; i < r->n_health; i++)
		if (r->health[i].gpu >= 0 && !seen[r->health[i].gpu])
			return err_set(err, BERTH_EINVAL, "health[%zu]: gpu %d is not listed", i,
			    r->health[i].gpu);
	for (size_t i = 0; i < r->n_checks; i++)
		if (r->checks[i].gpu >= 0 && !seen[r->checks[i].gpu])
			return err_set(err, BERTH_EINVAL, "checks[%zu]: gpu %d is not listed", i,
			    r->checks[i].gpu);
	return verdict_parse_twice(r, a, err);
}

enum berth_code
verdict_parse(const char *text, size_t len, struct arena *a, struct probe_result *r_out,
    struct berth_err *err)
{
	struct probe_result r = { .level = "",
		.probe = "",
		.kernels = "",
		.host = "",
		.driver = "",
		.cuda = "",
		.image = "",
		.only = "" };
	struct jsonr root;
	json_t *tree;
	enum berth_code rc;

	if (len > VERDICT_BYTES_MAX)
		return err_set(err, BERTH_EINVAL, "probe result: %zu bytes, at most %zu", len,
		    VERDICT_BYTES_MAX);
	rc = jsonr_parse(text, len, "probe result", &tree, err);
	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(tree, "probe result");
	rc = json_is_object(tree) ? verdict_parse_root(&root, a, &r, err)
				  : jsonr_err(&root, BERTH_EINVAL, err, "not an object");
	if (rc == BERTH_OK)
		rc = verdict_parse_indexes(&r, a, err);
	if (rc == BERTH_OK)
		*r_out = r;
	json_decref(tree);
	return rc;
}
