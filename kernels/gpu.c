#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/run.h"

#define GPU_BLOCK 256

/* cuInit answers 802 until the fabric manager of an NVSwitch machine is up: wait a little, never
 * for long. */
static int
gpu_init(struct run *run)
{
	int rc = run->cuda.init(0);

	for (int i = 0; i < 3 && rc == CUDA_NOT_READY; i++) {
		sleep(1);
		rc = run->cuda.init(0);
	}
	return rc;
}

static void
gpu_identity(struct gpu *g)
{
	const struct cuda_api *cu = &g->run->cuda;
	struct report_gpu *out = &g->run->report.gpus[g->index];
	int major = 0, minor = 0, l2 = 0;
	unsigned char id[16];
	char *mig;

	out->present = true;
	out->sms = out->ecc = -1;
	out->memory_mib = out->power_limit_w = (double)NAN;
	snprintf(out->link, sizeof(out->link), "pcie");
	if (cu->device_name(out->name, (int)sizeof(out->name), g->dev) != 0)
		out->name[0] = '\0';
	mig = strstr(out->name, " MIG ");
	if (mig != NULL) {
		snprintf(out->mig, sizeof(out->mig), "%.31s", mig + 5);
		*mig = '\0';
	}
	if (cu->device_attr(&major, CUDA_ATTR_CC_MAJOR, g->dev) == 0 &&
	    cu->device_attr(&minor, CUDA_ATTR_CC_MINOR, g->dev) == 0 && major > 0 && major < 100) {
		g->cc = major * 10 + minor;
		snprintf(out->cc, sizeof(out->cc), "%d.%d", major, minor % 10);
	}
	if (cu->device_attr(&out->sms, CUDA_ATTR_SMS, g->dev) != 0)
		out->sms = -1;
	g->sms = out->sms;
	if (cu->device_attr(&out->ecc, CUDA_ATTR_ECC, g->dev) != 0)
		out->ecc = -1;
	if (cu->device_attr(&l2, CUDA_ATTR_L2, g->dev) == 0 && l2 > 0)
		g->l2 = (size_t)l2;
	if (cu->device_memory(&g->memory, g->dev) == 0)
		out->memory_mib = (double)g->memory / 1048576.0;
	if (cu->device_pci(out->bus, (int)sizeof(out->bus), g->dev) != 0)
		out->bus[0] = '\0';
	if (cu->device_uuid != NULL && cu->device_uuid(id, g->dev) == 0) {
		int n =
		    snprintf(out->uuid, sizeof(out->uuid), out->mig[0] != '\0' ? "MIG-" : "GPU-");

		for (int i = 0; i < 16; i++)
			n += snprintf(out->uuid + n, sizeof(out->uuid) - (size_t)n,
			    i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", id[i]);
	}
}

int
gpu_list(struct run *run)
{
	struct report *r = &run->report;
	char why[200];
	int rc, count = 0, version = 0;

	report_running(r, -1, "cuInit", 60);
	if (cuda_api_open(&run->cuda, why, sizeof(why)) < 0) {
		report_error(r, "libcuda", 0, "%s", why);
		return -1;
	}
	rc = gpu_init(run);
	if (rc == 0)
		rc = run->cuda.device_count(&count);
	if (rc != 0 || count <= 0) {
		const char *hidden = getenv("CUDA_VISIBLE_DEVICES");

		report_error(r, "cuInit", rc, "%s%s%s",
		    rc != 0 ? cuda_api_text(rc) : "no CUDA device is visible",
		    hidden != NULL ? "; CUDA_VISIBLE_DEVICES hides devices: " : "",
		    hidden != NULL ? hidden : "");
		return -1;
	}
	if (run->cuda.driver_version(&version) == 0)
		snprintf(r->cuda, sizeof(r->cuda), "%d.%d", version / 1000, version % 1000 / 10);
	if (count > REPORT_MAX_GPUS) {
		report_error(r, "cuDeviceGetCount", 0, "%d devices; only the first %d are measured",
		    count, REPORT_MAX_GPUS);
		count = REPORT_MAX_GPUS;
	}
	run->gpus = calloc((size_t)count, sizeof(*run->gpus));
	if (run->gpus == NULL) {
		report_error(r, "memory", 0, "out of memory");
		return -1;
	}
	run->n_gpus = count;
	r->mode = "gpu";
	for (int i = 0; i < count; i++) {
		struct gpu *g = &run->gpus[i];

		g->run = run;
		g->index = i;
		g->cold_tflops = (double)NAN;
		g->load.clock_min = ~0u;
		for (int j = 0; j < IMAGE_GROUPS; j++)
			g->mod_rc[j] = -1;
		rc = run->cuda.device_get(&g->dev, i);
		if (rc != 0) {
			report_check(r, "open", i, REPORT_FAILED, (double)NAN, "cuDeviceGet: %s",
			    cuda_api_text(rc));
			continue;
		}
		gpu_identity(g);
	}
	report_running(r, -1, NULL, 0);
	return 0;
}

/* Machine code first; PTX, which the driver compiles, where the driver is older than the machine
 * code. */
static int
gpu_module(struct gpu *g, enum image_group group)
{
	const struct image im = image_get(group);
	int rc = 209;

	if (g->mod_rc[group] >= 0)
		return g->mod_rc[group];
	if (im.sass_size > 0)
		rc = g->run->cuda.module_load(&g->mod[group], im.sass);
	if (rc == 0 && group == IMAGE_BASE)
		snprintf(g->run->report.image, sizeof(g->run->report.image), "sass");
	if (rc != 0 && im.ptx_size > 0) {
		rc = g->run->cuda.module_load(&g->mod[group], im.ptx);
		if (rc == 0 && group == IMAGE_BASE)
			snprintf(g->run->report.image, sizeof(g->run->report.image), "ptx");
	}
	g->mod_rc[group] = rc;
	return rc;
}

void *
gpu_kernel(struct gpu *g, enum image_group group, const char *name, const char **why, bool *missing)
{
	const struct image im = image_get(group);
	void *fn = NULL;
	int rc;

	*missing = true;
	*why = "no device code was built in";
	if (im.sass_size + im.ptx_size == 0)
		return NULL;
	*why = "this device has no such unit";
	if (g->cc < im.cc_min || g->cc > im.cc_max)
		return NULL;
	rc = gpu_module(g, group);
	*missing = group != IMAGE_BASE && (rc == 209 || rc == 218 || rc == 221 || rc == 222);
	if (rc == 0)
		rc = g->run->cuda.module_function(&fn, g->mod[group], name);
	*why = cuda_api_text(rc);
	return rc == 0 ? fn : NULL;
}

unsigned
gpu_grid(const struct gpu *g)
{
	return (unsigned)g->sms * 8;
}

int
gpu_launch(struct gpu *g, const struct gpu_launch *l)
{
	return g->run->cuda.launch(l->fn, l->grid, 1, 1, l->block, 1, 1, 0, NULL, l->args, NULL);
}

int
gpu_run(struct gpu *g, enum image_group group, const char *name, unsigned grid, unsigned block,
    void **args)
{
	struct gpu_launch l = { .grid = grid, .block = block, .args = args };
	const char *why;
	bool missing;
	int rc;

	l.fn = gpu_kernel(g, group, name, &why, &missing);
	if (l.fn == NULL)
		return g->mod_rc[group] > 0 ? g->mod_rc[group] : 209;
	rc = gpu_launch(g, &l);
	return rc != 0 ? rc : g->run->cuda.ctx_sync();
}

int
gpu_fill(struct gpu *g)
{
	uint64_t one = 1, two = 2;
	void *b[] = { &g->b, &g->words, &one }, *c[] = { &g->c, &g->words, &two };
	int rc = 0;

	if (!g->filled) {
		rc = gpu_run(g, IMAGE_BASE, "berth_k_fill", gpu_grid(g), GPU_BLOCK, b);
		if (rc == 0)
			rc = gpu_run(g, IMAGE_BASE, "berth_k_fill", gpu_grid(g), GPU_BLOCK, c);
		g->filled = rc == 0;
	}
	return rc;
}

static int
gpu_open_arrays(struct gpu *g, const char **where)
{
	const struct cuda_api *cu = &g->run->cuda;
	size_t bytes = g->run->opts.array_bytes, avail = 0, total = 0;
	int rc;

	*where = "cuMemGetInfo";
	rc = cu->mem_info(&avail, &total);
	if (rc != 0)
		return rc;
	if (total > 0 && (double)avail < 0.9 * (double)total)
		report_check(&g->run->report, "memory_free", g->index, REPORT_NOTE,
		    (double)avail / 1048576.0,
		    "%.0f of %.0f MiB are in use before the start: another process?",
		    (double)(total - avail) / 1048576.0, (double)total / 1048576.0);
	while (bytes > 1 << 20 && bytes * 3 + (128u << 20) > avail)
		bytes /= 2;
	g->words = bytes / 8;
	*where = "cuMemAlloc";
	rc = cu->mem_alloc(&g->a, bytes);
	rc = rc != 0 ? rc : cu->mem_alloc(&g->b, bytes);
	rc = rc != 0 ? rc : cu->mem_alloc(&g->c, bytes);
	rc = rc != 0 ? rc : cu->mem_alloc(&g->acc, 64);
	if (rc == 0) {
		*where = "cuEventCreate";
		rc = cu->event_create(&g->ev[0], 0);
		rc = rc != 0 ? rc : cu->event_create(&g->ev[1], 0);
	}
	return rc;
}

void
gpu_open(struct gpu *g)
{
	const struct cuda_api *cu = &g->run->cuda;
	const char *where = "cuDevicePrimaryCtxRetain", *why;
	bool missing;
	int rc;

	report_running(&g->run->report, g->index, "open", 120);
	rc = cu->ctx_retain(&g->ctx, g->dev);
	if (rc == 0) {
		where = "cuCtxSetCurrent";
		rc = cu->ctx_set(g->ctx);
	}
	if (rc == 0 && g->sms <= 0) {
		where = "multiprocessor count";
		rc = 101;
	}
	if (rc == 0 && gpu_kernel(g, IMAGE_BASE, "berth_k_fill", &why, &missing) == NULL) {
		report_check(&g->run->report, "open", g->index, REPORT_FAILED, (double)NAN,
		    "device code: %s", why);
		report_running(&g->run->report, g->index, NULL, 0);
		return;
	}
	if (rc == 0)
		rc = gpu_open_arrays(g, &where);
	if (rc == 0) {
		where = "berth_k_fill";
		rc = gpu_fill(g);
	}
	report_check(&g->run->report, "open", g->index, rc == 0 ? REPORT_OK : REPORT_FAILED,
	    (double)NAN, "%s%s%s", rc == 0 ? "context, device code and arrays" : where,
	    rc == 0 ? "" : ": ", rc == 0 ? "" : cuda_api_text(rc));
	if (rc != 0)
		report_error(&g->run->report, where, rc, "gpu %d: %s", g->index, cuda_api_text(rc));
	g->ready = rc == 0;
	report_running(&g->run->report, g->index, NULL, 0);
}
