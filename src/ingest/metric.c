#include "ingest/metric.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "util/str.h"

/* NVML and DCGM: power cap, hardware slowdown, thermal slowdowns of software and hardware, power
 * brake. */
#define METRIC_SLOW_BITS UINT64_C(0xec)

static const struct metric_rule metric_rules[] = {
	{ "DCGM_FI_DEV_GPU_UTIL", "busy", "percent", METRIC_GAUGE, 1, 0, 100, true },
	{ "DCGM_FI_DEV_MEM_COPY_UTIL", "memory_busy", "percent", METRIC_GAUGE, 1, 0, 100, true },
	{ "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "engine_active", "percent", METRIC_GAUGE, 100, 0, 100,
	    true },
	{ "DCGM_FI_PROF_SM_ACTIVE", "sm_active", "percent", METRIC_GAUGE, 100, 0, 100, true },
	{ "DCGM_FI_PROF_SM_OCCUPANCY", "sm_occupancy", "percent", METRIC_GAUGE, 100, 0, 100, true },
	{ "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "tensor_active", "percent", METRIC_GAUGE, 100, 0, 100,
	    true },
	{ "DCGM_FI_PROF_DRAM_ACTIVE", "dram_active", "percent", METRIC_GAUGE, 100, 0, 100, true },
	{ "DCGM_FI_DEV_FB_USED", "memory", "gib", METRIC_GAUGE, 1.0 / 1024, 0, 4096, true },
	{ "DCGM_FI_DEV_GPU_TEMP", "temperature", "celsius", METRIC_GAUGE, 1, 0, 150, true },
	{ "DCGM_FI_DEV_MEMORY_TEMP", "memory_temperature", "celsius", METRIC_GAUGE, 1, 0, 150,
	    true },
	{ "DCGM_FI_DEV_POWER_USAGE", "power", "watt", METRIC_GAUGE, 1, 0, 5000, true },
	{ "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "mean_power", "watt", METRIC_COUNTER, 1e-3, 0,
	    5000, true },
	{ "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "throttled", "percent", METRIC_MASK, 100, 0, 100,
	    true },
	{ "DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "throttled", "percent", METRIC_MASK, 100, 0, 100,
	    true },
	{ "nvidia_smi_utilization_gpu_ratio", "busy", "percent", METRIC_GAUGE, 100, 0, 100, true },
	{ "nvidia_smi_utilization_memory_ratio", "memory_busy", "percent", METRIC_GAUGE, 100, 0,
	    100, true },
	{ "nvidia_smi_memory_used_bytes", "memory", "gib", METRIC_GAUGE,
	    1.0 / (1024.0 * 1024 * 1024), 0, 4096, true },
	{ "nvidia_smi_temperature_gpu", "temperature", "celsius", METRIC_GAUGE, 1, 0, 150, true },
	{ "nvidia_smi_power_draw_watts", "power", "watt", METRIC_GAUGE, 1, 0, 5000, true },
	/* What smi.c makes of the columns of nvidia-smi. */
	{ "smi:utilization.gpu", "busy", "percent", METRIC_GAUGE, 1, 0, 100, true },
	{ "smi:utilization.memory", "memory_busy", "percent", METRIC_GAUGE, 1, 0, 100, true },
	{ "smi:memory.used", "memory", "gib", METRIC_GAUGE, 1.0 / 1024, 0, 4096, true },
	{ "smi:memory.total", "memory_total", "gib", METRIC_GAUGE, 1.0 / 1024, 0, 4096, true },
	{ "smi:temperature.gpu", "temperature", "celsius", METRIC_GAUGE, 1, 0, 150, true },
	{ "smi:power.draw", "power", "watt", METRIC_GAUGE, 1, 0, 5000, true },
	{ "smi:throttled", "throttled", "percent", METRIC_MASK, 100, 0, 100, true },
	{ "smi:usable", "usable", "gpu_installed", METRIC_GAUGE, 1, 0, 1, false },
	/* Exporters of Slurm, vLLM; names that the ready-made queries give their results. */
	{ "slurm_gpus_alloc", "", "gpu", METRIC_GAUGE, 1, 0, 1e7, false },
	{ "slurm_gpus_total", "installed", "gpu_installed", METRIC_GAUGE, 1, 0, 1e7, false },
	{ "slurm_gpus_idle", "free", "gpu_free", METRIC_GAUGE, 1, 0, 1e7, false },
	{ "vllm:num_requests_running", "requests_running", "request", METRIC_GAUGE, 1, 0, 1e9,
	    false },
	{ "vllm:num_requests_waiting", "requests_waiting", "request", METRIC_GAUGE, 1, 0, 1e9,
	    false },
	{ "vllm:gpu_cache_usage_perc", "kv_cache", "percent", METRIC_GAUGE, 100, 0, 100, true },
	{ "vllm:kv_cache_usage_perc", "kv_cache", "percent", METRIC_GAUGE, 100, 0, 100, true },
	{ "berth:allocated", "", "gpu", METRIC_GAUGE, 1, 0, 1e7, false },
	{ "berth:queued", "queued", "gpu_queued", METRIC_GAUGE, 1, 0, 1e7, false },
	{ "berth:installed", "installed", "gpu_installed", METRIC_GAUGE, 1, 0, 1e7, false },
	{ "berth:idle", "idle", "gpu_idle", METRIC_GAUGE, 1, 0, 1e7, false },
	{ "berth:starved", "starved", "gpu_starved", METRIC_GAUGE, 1, 0, 1e7, false },
	{ "berth:wait", "wait", "second", METRIC_GAUGE, 1, 0, 1e9, false },
	{ "berth:wait_p50", "wait_p50", "second", METRIC_GAUGE, 1, 0, 1e9, false },
	{ "berth:wait_p95", "wait_p95", "second", METRIC_GAUGE, 1, 0, 1e9, false },
	{ "berth:wait_open", "wait_open", "second", METRIC_GAUGE, 1, 0, 1e9, false },
	{ "berth:busy", "busy", "percent", METRIC_GAUGE, 1, 0, 100, true },
	{ "berth:sm_active", "sm_active", "percent", METRIC_GAUGE, 100, 0, 100, true },
	{ "berth:power", "power", "watt", METRIC_GAUGE, 1, 0, 5000, true },
	{ "berth:temperature", "temperature", "celsius", METRIC_GAUGE, 1, 0, 150, true },
	{ "berth:memory", "memory", "gib", METRIC_GAUGE, 1.0 / 1024, 0, 4096, true },
};

const char *const metric_labels_gpu[] = { "UUID", "uuid", "gpu_uuid", "GPU_UUID", NULL };
const char *const metric_labels_model[] = { "accelerator", "modelName", "gpu_model", "gpu_name",
	"gpu_type", "DCGM_FI_DEV_NAME", "label_nvidia_com_gpu_product",
	"label_cloud_google_com_gke_accelerator", "label_amd_com_gpu_product_name",
	"label_cloud_google_com_gke_tpu_accelerator", NULL };
const char *const metric_labels_host[] = { "Hostname", "hostname", "host", "node",
	"kubernetes_node", "instance", NULL };
const char *const metric_labels_holder[] = { "exported_pod", "pod", "hpc_job", "jobid", "job_id",
	"slurm_job_id", NULL };

const struct metric_rule *
metric_rule_find(const char *name)
{
	for (size_t i = 0; i < sizeof(metric_rules) / sizeof(metric_rules[0]); i++)
		if (strcmp(metric_rules[i].metric, name) == 0)
			return &metric_rules[i];
	return NULL;
}

bool
metric_model_only(const struct metric_rule *rule)
{
	return strncmp(rule->metric, "berth:", 6) == 0 && strncmp(rule->unit, "gpu", 3) == 0;
}

const char *
metric_label(const struct ingest_point *p, const char *const *names)
{
	for (; *names != NULL; names++)
		for (size_t i = 0; i < p->n_labels; i++)
			if (strcmp(p->labels[i].key, *names) == 0 && p->labels[i].value[0] != '\0')
				return p->labels[i].value;
	return NULL;
}

/* Chips of Amazon by the machines that have them, and how many cores each has. */
static const struct {
	const char *machine, *chip;
	double cores;
} metric_neuron[] = { { "inf1", "Inferentia1", 4 }, { "inf2", "Inferentia2", 2 },
	{ "trn1", "Trainium1", 2 }, { "trn2", "Trainium2", 8 }, { "trn3", "Trainium3", 8 } };

static int
metric_neuron_of(const struct ingest_point *p)
{
	static const char *const type[] = { "label_node_kubernetes_io_instance_type", NULL };
	const char *machine = metric_label(p, type);

	for (size_t i = 0; machine != NULL && i < sizeof(metric_neuron) / sizeof(metric_neuron[0]);
	     i++)
		if (strncmp(machine, metric_neuron[i].machine, 4) == 0)
			return (int)i;
	return -1;
}

/* "1g_10gb", "1g_10gb_me" as the profile is written: "1g.10gb", "1g.10gb.me". */
static void
metric_profile(const char *from, char *out, size_t size)
{
	size_t n = 0;

	for (; *from != '\0' && n + 1 < size; from++)
		out[n++] = *from == '_' ? '.' : *from;
	out[n] = '\0';
}

/* A device that no label of its node tells more of. */
static const char *
metric_plain_device(const char *resource)
{
	static const struct {
		const char *begins, *model;
	} plain[] = { { "google_com_tpu", "TPU" }, { "amd_com_gpu", "AMD GPU" },
		{ "gpu_intel_com_", "Intel GPU" }, { "habana_ai_gaudi", "Gaudi" } };

	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		if (strncmp(resource, plain[i].begins, strlen(plain[i].begins)) == 0)
			return plain[i].model;
	return NULL;
}

const char *
metric_model(const struct ingest_point *p, char buf[METRIC_MODEL_SIZE])
{
	static const char *const resources[] = { "resource", NULL };
	const char *r = metric_label(p, resources), *model = metric_label(p, metric_labels_model),
		   *end;
	char profile[64];
	int chip;

	if (r != NULL && strncmp(r, "nvidia_com_mig_", 15) == 0) {
		metric_profile(r + 15, profile, sizeof(profile));
		if (model != NULL && strstr(model, "MIG") != NULL)
			return model;
		snprintf(buf, METRIC_MODEL_SIZE, "%.100s%s%s",
		    model != NULL ? model : "nvidia.com/mig-", model != NULL ? "_" : "", profile);
		return buf;
	}
	if (r != NULL && strncmp(r, "aws_amazon_com_neuron", 21) == 0) {
		chip = metric_neuron_of(p);
		return chip >= 0 ? metric_neuron[chip].chip : "Neuron";
	}
	if (r != NULL && model == NULL)
		return metric_plain_device(r);
	end = model != NULL ? strstr(model, "-SHARED") : NULL;
	if (end == NULL)
		return model;
	snprintf(buf, METRIC_MODEL_SIZE, "%.*s", (int)(end - model), model);
	return buf;
}

double
metric_share(const struct ingest_point *p)
{
	static const char *const resources[] = { "resource", NULL }, *const shared[] = {
		"label_nvidia_com_gpu_replicas", NULL
	};
	const char *r = metric_label(p, resources), *model = metric_label(p, metric_labels_model),
		   *n = metric_label(p, shared);
	int64_t shares;
	int chip;

	if (r == NULL)
		return 1;
	if (strcmp(r, "aws_amazon_com_neuroncore") == 0) {
		chip = metric_neuron_of(p);
		return chip >= 0 ? 1 / metric_neuron[chip].cores : 0.5;
	}
	if (n != NULL && str_to_i64(n, 2, 10000, &shares, NULL) == BERTH_OK &&
	    (strcmp(r, "nvidia_com_gpu_shared") == 0 ||
		(model != NULL && strcmp(r, "nvidia_com_gpu") == 0 &&
		    strstr(model, "-SHARED") != NULL)))
		return 1 / (double)shares;
	return 1;
}

bool
metric_value(const struct metric_rule *rule, double raw, double *out)
{
	double v;

	if (!isfinite(raw))
		return false;
	if (rule->kind == METRIC_MASK) {
		if (raw < 0 || raw >= 4294967296.0)
			return false;
		v = ((uint64_t)raw & METRIC_SLOW_BITS) != 0 ? rule->scale : 0;
	} else {
		v = raw * rule->scale;
	}
	*out = v;
	return v >= rule->min && v <= rule->max;
}

double
metric_increase(double from, double to)
{
	return to >= from ? to - from : to;
}
