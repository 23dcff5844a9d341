#include "model/jobspec.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "model/block.h"
#include "model/offer.h"
#include "util/fileio.h"
#include "util/str.h"
#include "util/time.h"
#include "util/yaml.h"

#define JOBSPEC_BYTES_MAX (1024 * 1024)
#define JOBSPEC_SCHEMA "berth.job/1"
#define JOBSPEC_COUNT_MAX 4096 /* accelerators of one machine */
#define JOBSPEC_VARIANTS_MAX 64
#define JOBSPEC_RESTART_S 300 /* until a resumed job does new work, where the file does not say */
#define JOBSPEC_RETRIES 2
#define JOBSPEC_WRITE_GIB_S                                                                        \
	1.0 /* a checkpoint's way to storage, where the file gives its size alone */
#define GIB 1073741824.0

struct jobspec {
	const struct yaml_node *root;
	const struct accel_table *tab;
	struct arena *arena;
	int64_t now;
	struct job_spec *spec;
};

static const char *const jobspec_keys[] = { "schema", "name", "user", "project", "priority",
	"accelerators", "variants", "nodes", "work", "precision", "checkpoint", "restart",
	"deadline", "max_price", "max_cost", "purchase", "regions", "providers", "block", "data",
	"latency", "link", "after", "run", "retries", "idle_limit", "replace_lost", NULL };

/* The value's node, for a message about it. */
static const struct yaml_node *
jobspec_at(const struct yaml_node *map, const char *key)
{
	const struct yaml_node *n = yaml_get(map, key);

	return n != NULL ? n : map;
}

/* A duration of at least one second, in hours; *hours stays if there is none. */
static enum berth_code
jobspec_hours(const struct yaml_node *map, const char *key, double *hours, struct berth_err *err)
{
	int64_t s = 0;
	enum berth_code rc = yaml_duration(map, key, &s, err);

	if (rc != BERTH_OK || yaml_get(map, key) == NULL)
		return rc;
	if (s == 0)
		return yaml_err(jobspec_at(map, key), err, "must be longer than 0");
	*hours = (double)s / 3600;
	return BERTH_OK;
}

/* A number of bytes ("40GB", "64GiB") in GiB; *gib stays if there is none. */
static enum berth_code
jobspec_gib(const struct yaml_node *map, const char *key, double *gib, struct berth_err *err)
{
	const char *text = NULL;
	int64_t bytes;
	enum berth_code rc = yaml_str(map, key, &text, err);
	struct berth_err why;

	if (rc != BERTH_OK || text == NULL)
		return rc;
	if (str_to_size(text, &bytes, &why) != BERTH_OK)
		return yaml_err(jobspec_at(map, key), err, "%s", why.msg);
	if (bytes < 0)
		return yaml_err(jobspec_at(map, key), err, "cannot be negative");
	*gib = (double)bytes / GIB;
	return BERTH_OK;
}

/* "H100:8" into the variant; at is where it stands. */
static enum berth_code
jobspec_accelerator(const struct jobspec *js, const struct yaml_node *at, const char *text,
    struct job_variant *v, struct berth_err *err)
{
	struct accel_spec a;
	struct berth_err why;

	if (accel_spec_parse(js->tab, js->arena, text, &a, &why) != BERTH_OK)
		return yaml_err(at, err, "%s", why.msg);
	v->accelerator = a.accel != NULL ? a.accel->name : "";
	v->memory_gib = a.memory_min_gib;
	v->memory_max_gib = isinf(a.memory_max_gib) ? 0 : a.memory_max_gib;
	v->count_min = v->count_max = 1;
	if (a.count_given) {
		v->count_min = a.count_min;
		v->count_max = a.count_max;
	}
	if (v->count_min > JOBSPEC_COUNT_MAX)
		return yaml_err(
		    at, err, "more than %d accelerators in one machine", JOBSPEC_COUNT_MAX);
	if (v->count_max > JOBSPEC_COUNT_MAX)
		v->count_max = JOBSPEC_COUNT_MAX;
	return BERTH_OK;
}

/* accelerators: ["H100:8", "A100-80GB:16"], or one text. */
static enum berth_code
jobspec_accelerators(struct jobspec *js, struct berth_err *err)
{
	const struct yaml_node *list = yaml_get(js->root, "accelerators");
	struct job_spec *spec = js->spec;
	const char **text;
	enum berth_code rc;

	if ((rc = yaml_str_list(
		 js->arena, js->root, "accelerators", &text, &spec->n_variants, err)) != BERTH_OK)
		return rc;
	if (spec->n_variants == 0 || spec->n_variants > JOBSPEC_VARIANTS_MAX)
		return yaml_err(
		    list, err, "names no accelerator, or more than %d", JOBSPEC_VARIANTS_MAX);
	spec->variants = arena_array_of(js->arena, spec->n_variants, struct job_variant);
	for (size_t i = 0; i < spec->n_variants && rc == BERTH_OK; i++) {
		struct job_variant *v = &spec->variants[i];

		*v = (struct job_variant){ .name = "", .work_hours = NAN, .speed = NAN };
		rc = jobspec_accelerator(
		    js, list->kind == YAML_KIND_LIST ? list->items[i] : list, text[i], v, err);
	}
	return rc;
}

/* memory: what each accelerator must have at least; a range also caps it. */
static enum berth_code
jobspec_variant_memory(const struct jobspec *js, const struct yaml_node *map, struct job_variant *v,
    struct berth_err *err)
{
	const char *text = NULL;
	double min, max;
	enum berth_code rc = yaml_str(map, "memory", &text, err);

	if (rc != BERTH_OK || text == NULL)
		return rc;
	if (!accel_memory_parse(js->arena, text, &min, &max))
		return yaml_err(jobspec_at(map, "memory"), err,
		    "'%.40s' is no memory size: say 48GB or 24GB..80GB", text);
	v->memory_gib = fmax(v->memory_gib, min);
	if (min != max && !isinf(max) && (v->memory_max_gib == 0 || max < v->memory_max_gib))
		v->memory_max_gib = max;
	if (v->memory_max_gib > 0 && v->memory_gib > v->memory_max_gib)
		return yaml_err(
		    jobspec_at(map, "memory"), err, "no size is both this and the accelerator's");
	return BERTH_OK;
}

/* A name that lists and messages show. */
static enum berth_code
jobspec_name(const struct yaml_node *map, const char *key, const char **name, struct berth_err *err)
{
	enum berth_code rc = yaml_str(map, key, name, err);

	if (rc == BERTH_OK && str_control(*name) >= 0)
		return yaml_err(jobspec_at(map, key), err, "a control character, byte %td",
		    str_control(*name) + 1);
	if (rc == BERTH_OK && strlen(*name) > JOBSPEC_NAME_MAX)
		return yaml_err(jobspec_at(map, key), err, "%zu bytes long, at most %d are allowed",
		    strlen(*name), JOBSPEC_NAME_MAX);
	return rc;
}

static enum berth_code
jobspec_variant(const struct jobspec *js, const struct yaml_node *map, struct job_variant *v,
    struct berth_err *err)
{
	static const char *const keys[] = { "name", "accelerator", "memory", "work", "speed",
		"nodes", NULL };
	static const char *const needed[] = { "accelerator", NULL };
	const char *text = NULL;
	int64_t nodes = 0;
	enum berth_code rc;

	*v = (struct job_variant){ .name = "", .work_hours = NAN, .speed = NAN };
	if ((rc = yaml_need_kind(map, YAML_KIND_MAP, err)) != BERTH_OK ||
	    (rc = yaml_check_keys(map, keys, err)) != BERTH_OK ||
	    (rc = yaml_need_keys(map, needed, err)) != BERTH_OK ||
	    (rc = jobspec_name(map, "name", &v->name, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "accelerator", &text, err)) != BERTH_OK ||
	    (rc = jobspec_accelerator(js, jobspec_at(map, "accelerator"), text, v, err)) !=
		BERTH_OK ||
	    (rc = jobspec_variant_memory(js, map, v, err)) != BERTH_OK ||
	    (rc = jobspec_hours(map, "work", &v->work_hours, err)) != BERTH_OK ||
	    (rc = yaml_double(map, "speed", 1e-3, 1e3, &v->speed, err)) != BERTH_OK)
		return rc;
	rc = yaml_int(map, "nodes", 1, JOBSPEC_COUNT_MAX, &nodes, err);
	v->nodes = (int)nodes;
	return rc;
}

static enum berth_code
jobspec_variants(struct jobspec *js, struct berth_err *err)
{
	struct job_spec *spec = js->spec;
	const struct yaml_node *list = NULL;
	enum berth_code rc = yaml_list(js->root, "variants", &list, err);

	if (rc != BERTH_OK)
		return rc;
	if (list->n == 0 || list->n > JOBSPEC_VARIANTS_MAX)
		return yaml_err(
		    list, err, "names no variant, or more than %d", JOBSPEC_VARIANTS_MAX);
	spec->n_variants = list->n;
	spec->variants = arena_array_of(js->arena, list->n, struct job_variant);
	for (size_t i = 0; i < list->n && rc == BERTH_OK; i++)
		rc = jobspec_variant(js, list->items[i], &spec->variants[i], err);
	return rc;
}

/* What runs, on what, for how long. */
static enum berth_code
jobspec_work(struct jobspec *js, struct berth_err *err)
{
	bool by_list = yaml_get(js->root, "accelerators") != NULL,
	     by_variant = yaml_get(js->root, "variants") != NULL;
	struct job_spec *spec = js->spec;
	enum accel_precision precision;
	int64_t nodes = 1;
	enum berth_code rc;

	if (by_list == by_variant)
		return yaml_err(jobspec_at(js->root, "variants"), err,
		    "give accelerators or variants, one of the two");
	if ((rc = by_list ? jobspec_accelerators(js, err) : jobspec_variants(js, err)) !=
		BERTH_OK ||
	    (rc = yaml_int(js->root, "nodes", 1, JOBSPEC_COUNT_MAX, &nodes, err)) != BERTH_OK ||
	    (rc = jobspec_hours(js->root, "work", &spec->work_hours, err)) != BERTH_OK ||
	    (rc = yaml_str(js->root, "precision", &spec->precision, err)) != BERTH_OK)
		return rc;
	if (!accel_precision_parse(spec->precision, &precision))
		return yaml_err(jobspec_at(js->root, "precision"), err,
		    "'%.40s' is none of fp64 fp64_mma fp32 tf32 fp16 bf16 fp8 int8 fp4",
		    spec->precision);
	spec->precision = accel_precision_name(precision);
	for (size_t i = 0; i < spec->n_variants; i++)
		if (spec->variants[i].nodes == 0)
			spec->variants[i].nodes = (int)nodes;
	if (isnan(spec->work_hours))
		spec->work_hours = spec->variants[0].work_hours;
	if (isnan(spec->work_hours))
		return yaml_err(js->root, err,
		    "work is missing: how long the job runs on its first accelerator (work: 10h)");
	return BERTH_OK;
}

static enum berth_code
jobspec_checkpoint(struct jobspec *js, struct berth_err *err)
{
	static const char *const keys[] = { "size", "write", "interval", NULL };
	const struct yaml_node *map = NULL;
	struct job_spec *spec = js->spec;
	enum berth_code rc;

	if ((rc = yaml_map(js->root, "checkpoint", &map, err)) != BERTH_OK || map == NULL)
		return rc;
	if ((rc = yaml_check_keys(map, keys, err)) != BERTH_OK ||
	    (rc = jobspec_gib(map, "size", &spec->checkpoint_gib, err)) != BERTH_OK ||
	    (rc = yaml_duration(map, "write", &spec->checkpoint_write_s, err)) != BERTH_OK ||
	    (rc = yaml_duration(map, "interval", &spec->checkpoint_interval_s, err)) != BERTH_OK)
		return rc;
	if (spec->checkpoint_write_s == 0)
		spec->checkpoint_write_s =
		    (int64_t)ceil(spec->checkpoint_gib / JOBSPEC_WRITE_GIB_S);
	if (spec->checkpoint_write_s == 0)
		return yaml_err(map, err, "needs size, or how long it takes to write");
	if (spec->checkpoint_interval_s != 0 &&
	    spec->checkpoint_interval_s <= spec->checkpoint_write_s)
		return yaml_err(jobspec_at(map, "interval"), err,
		    "a checkpoint takes longer to write (%lld s)",
		    (long long)spec->checkpoint_write_s);
	spec->can_resume = true;
	return BERTH_OK;
}

/* Without the key: whatever is safe, so spot only for a job that can resume. */
static enum berth_code
jobspec_purchase(struct jobspec *js, struct berth_err *err)
{
	const struct yaml_node *list = yaml_get(js->root, "purchase");
	struct job_spec *spec = js->spec;
	const char **text = NULL;
	size_t n = 0;
	enum berth_code rc = yaml_str_list(js->arena, js->root, "purchase", &text, &n, err);

	if (rc != BERTH_OK)
		return rc;
	spec->purchase_said = list != NULL;
	spec->purchase_ok[PURCHASE_ON_DEMAND] = spec->purchase_ok[PURCHASE_RESERVED] = list == NULL;
	spec->purchase_ok[PURCHASE_SPOT] = list == NULL && spec->can_resume;
	if (list != NULL && n == 0)
		return yaml_err(list, err, "allows nothing: name on_demand, spot or reserved");
	for (size_t i = 0; i < n; i++) {
		enum purchase p;

		if (!purchase_parse(text[i], &p))
			return yaml_err(list->kind == YAML_KIND_LIST ? list->items[i] : list, err,
			    "'%.40s' is none of on_demand, spot and reserved", text[i]);
		spec->purchase_ok[p] = true;
	}
	return BERTH_OK;
}

/* latency: {to: aws/us-east-1, max: 40ms} */
static enum berth_code
jobspec_latency(struct jobspec *js, struct berth_err *err)
{
	static const char *const keys[] = { "to", "max", NULL };
	const struct yaml_node *map = NULL;
	const char *text = NULL;
	char number[32], *end;
	enum berth_code rc = yaml_map(js->root, "latency", &map, err);

	if (rc != BERTH_OK || map == NULL)
		return rc;
	if ((rc = yaml_check_keys(map, keys, err)) != BERTH_OK ||
	    (rc = yaml_need_keys(map, keys, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "to", &js->spec->latency_to, err)) != BERTH_OK ||
	    (rc = yaml_str(map, "max", &text, err)) != BERTH_OK)
		return rc;
	if (js->spec->latency_to[0] == '\0')
		return yaml_err(jobspec_at(map, "to"), err, "is empty");
	end = strstr(text, "ms");
	if (end == NULL || end[2] != '\0' || end == text || (size_t)(end - text) >= sizeof(number))
		return yaml_err(jobspec_at(map, "max"), err,
		    "'%.40s' is no time of a round trip: say 40ms", text);
	memcpy(number, text, (size_t)(end - text));
	number[end - text] = '\0';
	if (str_to_double(number, 0.01, 1e5, &js->spec->latency_max_ms, &(struct berth_err){ 0 }) !=
	    BERTH_OK)
		return yaml_err(jobspec_at(map, "max"), err,
		    "'%.40s' is no time of a round trip: say 40ms", text);
	return BERTH_OK;
}

/* link: 400GB, bytes a second */
static enum berth_code
jobspec_link(struct jobspec *js, struct berth_err *err)
{
	double gib = NAN;
	enum berth_code rc = jobspec_gib(js->root, "link", &gib, err);

	if (rc == BERTH_OK && !isnan(gib) && !(gib > 0))
		return yaml_err(jobspec_at(js->root, "link"), err, "must be more than 0");
	js->spec->link_gb_s = gib * GIB / 1e9;
	return rc;
}

/* after: {job: prepare, size: 50GB} */
static enum berth_code
jobspec_after(struct jobspec *js, struct berth_err *err)
{
	static const char *const keys[] = { "job", "size", NULL };
	static const char *const needed[] = { "job", NULL };
	const struct yaml_node *map = NULL;
	enum berth_code rc = yaml_map(js->root, "after", &map, err);

	if (rc != BERTH_OK || map == NULL)
		return rc;
	if ((rc = yaml_check_keys(map, keys, err)) != BERTH_OK ||
	    (rc = yaml_need_keys(map, needed, err)) != BERTH_OK ||
	    (rc = jobspec_name(map, "job", &js->spec->after, err)) != BERTH_OK)
		return rc;
	if (js->spec->after[0] == '\0')
		return yaml_err(jobspec_at(map, "job"), err, "is empty");
	return jobspec_gib(map, "size", &js->spec->after_gib, err);
}

/* idle_limit: 2h, or off */
static enum berth_code
jobspec_idle(struct jobspec *js, struct berth_err *err)
{
	const struct yaml_node *n = yaml_get(js->root, "idle_limit");
	enum berth_code rc;

	if (n == NULL)
		return BERTH_OK;
	if (n->kind == YAML_KIND_SCALAR && str_eq(n->text, "off")) {
		js->spec->idle_limit_s = -1;
		return BERTH_OK;
	}
	rc = yaml_duration(js->root, "idle_limit", &js->spec->idle_limit_s, err);
	if (rc == BERTH_OK && js->spec->idle_limit_s <= 0)
		return yaml_err(n, err, "must be longer than 0, or off");
	return rc;
}

/* replace_lost: 30m, of a job on several machines */
static enum berth_code
jobspec_replace(struct jobspec *js, struct berth_err *err)
{
	const struct job_spec *spec = js->spec;
	const struct yaml_node *n = yaml_get(js->root, "replace_lost");
	bool gang = false;
	enum berth_code rc;

	if (n == NULL)
		return BERTH_OK;
	rc = yaml_duration(js->root, "replace_lost", &js->spec->replace_lost_s, err);
	if (rc != BERTH_OK)
		return rc;
	if (spec->replace_lost_s <= 0)
		return yaml_err(n, err, "must be longer than 0; leave it out to restart at once");
	for (size_t i = 0; i < spec->n_variants; i++)
		gang = gang || spec->variants[i].nodes > 1;
	return gang ? BERTH_OK
		    : yaml_err(n, err, "is of jobs on several machines: this one has nodes: 1");
}

/* Patterns of which one must match: "" never would. */
static enum berth_code
jobspec_patterns(struct jobspec *js, const char *key, const char ***list_out, size_t *n_out,
    struct berth_err *err)
{
	enum berth_code rc = yaml_str_list(js->arena, js->root, key, list_out, n_out, err);

	for (size_t i = 0; rc == BERTH_OK && i < *n_out; i++)
		if ((*list_out)[i][0] == '\0')
			return yaml_err(jobspec_at(js->root, key), err,
			    "pattern %zu is empty and matches nothing: leave it out, or say '*'",
			    i + 1);
	return rc;
}

static enum berth_code
jobspec_limits(struct jobspec *js, struct berth_err *err)
{
	static const char *const data_keys[] = { "region", "size", NULL };
	const struct yaml_node *data = NULL;
	struct job_spec *spec = js->spec;
	enum berth_code rc;

	if ((rc = yaml_money(js->root, "max_price", &spec->max_price, err)) != BERTH_OK ||
	    (rc = yaml_money(js->root, "max_cost", &spec->max_cost, err)) != BERTH_OK ||
	    (rc = yaml_time(js->root, "deadline", js->now, NULL, &spec->deadline, err)) !=
		BERTH_OK ||
	    (rc = jobspec_patterns(js, "regions", &spec->regions, &spec->n_regions, err)) !=
		BERTH_OK ||
	    (rc = jobspec_patterns(js, "providers", &spec->providers, &spec->n_providers, err)) !=
		BERTH_OK ||
	    (rc = block_rules_read(
		 js->root, "block", js->arena, &spec->block, &spec->n_block, err)) != BERTH_OK ||
	    (rc = yaml_map(js->root, "data", &data, err)) != BERTH_OK)
		return rc;
	if ((rc = jobspec_latency(js, err)) != BERTH_OK ||
	    (rc = jobspec_link(js, err)) != BERTH_OK || (rc = jobspec_after(js, err)) != BERTH_OK ||
	    (rc = jobspec_replace(js, err)) != BERTH_OK || (rc = jobspec_idle(js, err)) != BERTH_OK)
		return rc;
	if (spec->deadline != 0 && spec->deadline <= js->now)
		return yaml_err(jobspec_at(js->root, "deadline"), err, "lies in the past");
	if (data == NULL)
		return BERTH_OK;
	if ((rc = yaml_check_keys(data, data_keys, err)) != BERTH_OK ||
	    (rc = yaml_need_keys(data, data_keys, err)) != BERTH_OK ||
	    (rc = yaml_str(data, "region", &spec->data_region, err)) != BERTH_OK)
		return rc;
	return jobspec_gib(data, "size", &spec->data_gib, err);
}

static enum berth_code
jobspec_head(struct jobspec *js, struct berth_err *err)
{
	static const char *const needed[] = { "schema", "name", "run", NULL };
	struct job_spec *spec = js->spec;
	const char *schema = JOBSPEC_SCHEMA;
	int64_t priority = 0, retries = JOBSPEC_RETRIES;
	enum berth_code rc;

	/* The schema first: of another one the keys are other ones too. */
	if ((rc = yaml_need_kind(js->root, YAML_KIND_MAP, err)) != BERTH_OK ||
	    (rc = yaml_str(js->root, "schema", &schema, err)) != BERTH_OK)
		return rc;
	if (!str_eq(schema, JOBSPEC_SCHEMA))
		return yaml_err(jobspec_at(js->root, "schema"), err,
		    "this berth reads %s, not '%.40s'", JOBSPEC_SCHEMA, schema);
	if ((rc = yaml_check_keys(js->root, jobspec_keys, err)) != BERTH_OK ||
	    (rc = yaml_need_keys(js->root, needed, err)) != BERTH_OK ||
	    (rc = jobspec_name(js->root, "name", &spec->name, err)) != BERTH_OK ||
	    (rc = jobspec_name(js->root, "user", &spec->user, err)) != BERTH_OK ||
	    (rc = jobspec_name(js->root, "project", &spec->project, err)) != BERTH_OK ||
	    (rc = yaml_str(js->root, "run", &spec->run, err)) != BERTH_OK ||
	    (rc = yaml_int(js->root, "priority", -1000, 1000, &priority, err)) != BERTH_OK ||
	    (rc = yaml_int(js->root, "retries", 0, 1000, &retries, err)) != BERTH_OK)
		return rc;
	spec->priority = (int)priority;
	spec->retries = (int)retries;
	if (spec->name[0] == '\0')
		return yaml_err(jobspec_at(js->root, "name"), err, "is empty");
	if (spec->run[0] == '\0')
		return yaml_err(jobspec_at(js->root, "run"), err, "is empty");
	return yaml_duration(js->root, "restart", &spec->restart_s, err);
}

enum berth_code
jobspec_parse(const char *name, const char *bytes, size_t len, const struct accel_table *tab,
    int64_t now, struct arena *arena, struct job_spec *spec_out, struct berth_err *err)
{
	struct job_spec spec = { .name = "",
		.user = "",
		.project = "",
		.run = "",
		.precision = "bf16",
		.data_region = "",
		.latency_to = "",
		.after = "",
		.latency_max_ms = NAN,
		.link_gb_s = NAN,
		.work_hours = NAN,
		.restart_s = JOBSPEC_RESTART_S,
		.max_price = USD_UNKNOWN,
		.max_cost = USD_UNKNOWN };
	struct jobspec js = { .tab = tab, .arena = arena, .now = now, .spec = &spec };
	enum berth_code rc;

	if ((rc = yaml_parse(arena, bytes, len, name, &js.root, err)) != BERTH_OK ||
	    (rc = jobspec_head(&js, err)) != BERTH_OK ||
	    (rc = jobspec_work(&js, err)) != BERTH_OK ||
	    (rc = jobspec_checkpoint(&js, err)) != BERTH_OK ||
	    (rc = jobspec_purchase(&js, err)) != BERTH_OK ||
	    (rc = jobspec_limits(&js, err)) != BERTH_OK)
		return rc;
	*spec_out = spec;
	return BERTH_OK;
}

enum berth_code
jobspec_load(const char *path, const struct accel_table *tab, int64_t now, struct arena *arena,
    struct job_spec *spec_out, struct berth_err *err)
{
	char *bytes;
	size_t n;
	enum berth_code rc = fileio_slurp(arena, path, JOBSPEC_BYTES_MAX, &bytes, &n, err);

	return rc != BERTH_OK ? rc : jobspec_parse(path, bytes, n, tab, now, arena, spec_out, err);
}
