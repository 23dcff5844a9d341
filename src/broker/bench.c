#include "broker/bench.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/yaml.h"

static enum berth_code
bench_one(const struct yaml_node *n, const struct accel_table *accels, struct bench *b,
    struct berth_err *err)
{
	static const char *const keys[] = { "accelerator", "command", "name", "devices", "within",
		NULL };
	static const char *const needed[] = { "accelerator", "command", NULL };
	const char *accelerator = "";
	int64_t devices = 1;
	enum berth_code rc;

	*b = (struct bench){ .name = "user", .within_s = 300 };
	rc = yaml_check_keys(n, keys, err);
	if (rc == BERTH_OK)
		rc = yaml_need_keys(n, needed, err);
	if (rc == BERTH_OK)
		rc = yaml_str(n, "accelerator", &accelerator, err);
	if (rc == BERTH_OK)
		rc = yaml_str(n, "command", &b->command, err);
	if (rc == BERTH_OK)
		rc = yaml_str(n, "name", &b->name, err);
	if (rc == BERTH_OK)
		rc = yaml_int(n, "devices", 1, 64, &devices, err);
	if (rc == BERTH_OK)
		rc = yaml_duration(n, "within", &b->within_s, err);
	if (rc != BERTH_OK)
		return rc;
	b->devices = (int)devices;
	b->accel = accel_find(accels, accelerator);
	if (b->accel == NULL) {
		struct berth_err why;

		(void)accel_unknown(accels, accelerator, &why);
		return yaml_err(yaml_get(n, "accelerator"), err, "%s", why.msg);
	}
	if (b->command[0] == '\0')
		return yaml_err(yaml_get(n, "command"), err, "the command is empty");
	if (b->within_s < 10 || b->within_s > BENCH_WITHIN_S)
		return yaml_err(yaml_get(n, "within"), err, "must be 10s to 30m");
	return BERTH_OK;
}

enum berth_code
bench_read(const struct yaml_node *config, const struct accel_table *accels, struct arena *a,
    struct bench **benches_out, size_t *n_out, struct berth_err *err)
{
	const struct yaml_node *list = NULL;
	enum berth_code rc = config != NULL ? yaml_list(config, "measure", &list, err) : BERTH_OK;

	*n_out = 0;
	*benches_out = NULL;
	if (rc != BERTH_OK || list == NULL)
		return rc;
	*benches_out = arena_array_of(a, list->n + 1, struct bench);
	for (size_t i = 0; i < list->n; i++) {
		struct bench *b = &(*benches_out)[i];

		rc = bench_one(list->items[i], accels, b, err);
		if (rc != BERTH_OK)
			return rc;
		if (bench_find(*benches_out, i, b->accel) != NULL)
			return yaml_err(list->items[i], err, "there is a benchmark of %s already",
			    b->accel->name);
		*n_out = i + 1;
	}
	return BERTH_OK;
}

const struct bench *
bench_find(const struct bench *benches, size_t n, const struct accel *accel)
{
	for (size_t i = 0; i < n; i++)
		if (accel != NULL && accel_is(accel, benches[i].accel))
			return &benches[i];
	return NULL;
}
