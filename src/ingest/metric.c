#include "ingest/metric.h"

#include <math.h>
#include <string.h>

/* NVML and DCGM: power cap, hardware slowdown, thermal slowdowns of software and hardware, power brake. */
#define METRIC_SLOW_BITS UINT64_C(0xec)

static const struct metric_rule metric_rules[] = {
	{ "DCGM_FI_DEV_GPU_UTIL", "busy", "percent", METRIC_GAUGE, 1, 0, 100, true },
	{ "DCGM_FI_DEV_MEM_COPY_UTIL", "memory_busy", "percent", METRIC_GAUGE, 1, 0, 100, true },
	{ "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "engine_active", "percent", METRIC_GAUGE, 100, 0, 100, true },
	{ "DCGM_FI_PROF_SM_ACTIVE", "sm_active", "percent", METRIC_GAUGE, 100, 0, 100, true },
	{ "DCGM_FI_PROF_SM_OCCUPANCY", "sm_occupancy", "percent", METRIC_GAUGE, 100, 0, 100, true },
	{ "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "tensor_active", "percent", METRIC_GAUGE, 100, 0, 100, true },
	{ "DCGM_FI_PROF_DRAM_ACTIVE", "dram_active", "percent", METRIC_GAUGE, 100, 0, 100, true },
	{ "DCGM_FI_DEV_FB_USED", "memory", "gib", METRIC_GAUGE, 1.0 / 1024, 0, 4096, true },
	{ "DCGM_FI_DEV_GPU_TEMP", "temperature", "celsius", METRIC_GAUGE, 1, 0, 150, true },
	{ "DCGM_FI_DEV_MEMORY_TEMP", "memory_temperature", "celsius", METRIC_GAUGE, 1, 0, 150, true },
	{ "DCGM_FI_DEV_POWER_USAGE", "power", "watt", METRIC_GAUGE, 1, 0, 5000, true },
	{ "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "mean_power", "watt", METRIC_COUNTER, 1e-3, 0, 5000, true },
	{ "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "throttled", "percent", METRIC_MASK, 100, 0, 100, true },
	{ "DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "throttled", "percent", METRIC_MASK, 100, 0, 100, true },
	{ "nvidia_smi_utilization_gpu_ratio", "busy", "percent", METRIC_GAUGE, 100, 0, 100, true },
	{ "nvidia_smi_utilization_memory_ratio", "memory_busy", "percent", METRIC_GAUGE, 100, 0, 100, true },
	{ "nvidia_smi_memory_used_bytes", "memory", "gib", METRIC_GAUGE, 1.0 / (1024.0 * 1024 * 1024), 0, 4096, true },
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
	{ "vllm:num_requests_running", "requests_running", "request", METRIC_GAUGE, 1, 0, 1e9, false },
	{ "vllm:num_requests_waiting", "requests_waiting", "request", METRIC_GAUGE, 1, 0, 1e9, false },
	{ "vllm:gpu_cache_usage_perc", "kv_cache", "percent", METRIC_GAUGE, 100, 0, 100, true },
	{ "vllm:kv_cache_usage_perc", "kv_cache", "percent", METRIC_GAUGE, 100, 0, 100, true },
	{ "berth:allocated", "", "gpu", METRIC_GAUGE, 1, 0, 1e7, false },
	{ "berth:queued", "queued", "gpu_queued", METRIC_GAUGE, 1, 0, 1e7, false },
	{ "berth:installed", "installed", "gpu_installed", METRIC_GAUGE, 1, 0, 1e7, false },
	{ "berth:idle", "idle", "gpu_idle", METRIC_GAUGE, 1, 0, 1e7, false },
	{ "berth:starved", "starved", "gpu_starved", METRIC_GAUGE, 1, 0, 1e7, false },
	{ "berth:busy", "busy", "percent", METRIC_GAUGE, 1, 0, 100, true },
	{ "berth:sm_active", "sm_active", "percent", METRIC_GAUGE, 100, 0, 100, true },
	{ "berth:power", "power", "watt", METRIC_GAUGE, 1, 0, 5000, true },
	{ "berth:temperature", "temperature", "celsius", METRIC_GAUGE, 1, 0, 150, true },
	{ "berth:memory", "memory", "gib", METRIC_GAUGE, 1.0 / 1024, 0, 4096, true },
};

const char *const metric_labels_gpu[] = { "UUID", "uuid", "gpu_uuid", "GPU_UUID", NULL };
const char *const metric_labels_model[] = { "accelerator", "modelName", "gpu_model", "gpu_name", "gpu_type",
	"DCGM_FI_DEV_NAME", "label_nvidia_com_gpu_product", NULL };
const char *const metric_labels_host[] = { "Hostname", "hostname", "host", "node", "kubernetes_node", "instance", NULL };
const char *const metric_labels_holder[] = { "exported_pod", "pod", "hpc_job", "jobid", "job_id", "slurm_job_id", NULL };

const struct metric_rule *
metric_rule_find(const char *name)
{
	for (size_t i = 0; i < sizeof(metric_rules) / sizeof(metric_rules[0]); i++)
		if (strcmp(metric_rules[i].metric, name) == 0)
			return &metric_rules[i];
	return NULL;
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
