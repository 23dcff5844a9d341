#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/run.h"

/* What the driver says of the devices, through NVML. "Not supported" and "no permission" are never
 * zero. */

#define HEALTH_WAIT_S 10 /* after which NVML counts as hung */

struct health_job {
	pthread_mutex_t lock;
	pthread_cond_t done;
	struct run *run;
	void (*fn)(struct run *run);
	bool finished, left; /* left: nobody waits any more; the thread frees the job */
};

static void *
health_job_run(void *arg)
{
	struct health_job *j = arg;
	bool left;

	j->fn(j->run);
	pthread_mutex_lock(&j->lock);
	j->finished = true;
	left = j->left;
	pthread_cond_signal(&j->done);
	pthread_mutex_unlock(&j->lock);
	if (left)
		free(j);
	return NULL;
}

/* Runs fn in a thread of its own: a driver in trouble often answers no NVML call ever. */
static void
health_guard(struct run *run, void (*fn)(struct run *run))
{
	struct health_job *j = calloc(1, sizeof(*j));
	struct timespec until;
	pthread_t thread;
	int rc = 0;

	if (j == NULL || run->nvml_dead) {
		free(j);
		return;
	}
	pthread_mutex_init(&j->lock, NULL);
	pthread_cond_init(&j->done, NULL);
	j->run = run;
	j->fn = fn;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += HEALTH_WAIT_S;
	if (pthread_create(&thread, NULL, health_job_run, j) != 0) {
		free(j);
		return;
	}
	pthread_detach(thread);
	pthread_mutex_lock(&j->lock);
	while (!j->finished && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&j->done, &j->lock, &until);
	j->left = !j->finished;
	run->nvml_dead = j->left;
	pthread_mutex_unlock(&j->lock);
	if (run->nvml_dead)
		report_health(&run->report, "nvml", -1, REPORT_FAILED, (double)NAN,
		    "NVML gave no answer within %d s: the driver hangs", HEALTH_WAIT_S);
	else
		free(j);
}

static void
health_open_gpu(struct run *run, struct gpu *g)
{
	struct report_gpu *out = &run->report.gpus[g->index];
	struct nvml_pci pci;
	unsigned mw = 0;
	int rc, mode = 0, pending = 0;

	rc = NVML_CALL(&run->nvml, by_pci, out->bus, &g->nv);
	g->has_nv = rc == NVML_OK;
	if (!g->has_nv) {
		report_health(&run->report, "nvml", g->index,
		    rc == NVML_GPU_LOST ? REPORT_FAILED : REPORT_UNKNOWN, (double)NAN, "%s",
		    nvml_api_text(rc));
		return;
	}
	memset(&pci, 0, sizeof(pci));
	if (NVML_CALL(&run->nvml, pci, g->nv, &pci) == NVML_OK)
		snprintf(out->pci, sizeof(out->pci), "%04x:%04x:%04x:%04x",
		    pci.pci_device_id & 0xffff, pci.pci_device_id >> 16,
		    pci.pci_subsystem_id & 0xffff, pci.pci_subsystem_id >> 16);
	if (NVML_CALL(&run->nvml, power_limit, g->nv, &mw) == NVML_OK)
		out->power_limit_w = mw / 1000.0;
	if (NVML_CALL(&run->nvml, ecc_mode, g->nv, &mode, &pending) == NVML_OK)
		out->ecc = mode;
	if (run->nvml_events != NULL)
		(void)NVML_CALL(
		    &run->nvml, event_register, g->nv, NVML_EVENT_XID, run->nvml_events);
}

static void
health_open_all(struct run *run)
{
	struct report *r = &run->report;
	unsigned count = 0;
	char why[160];

	if (nvml_api_open(&run->nvml, why, sizeof(why)) < 0) {
		report_health(r, "nvml", -1, REPORT_UNKNOWN, (double)NAN, "%s", why);
		return;
	}
	run->has_nvml = true;
	if (NVML_CALL(&run->nvml, driver_version, r->driver, (unsigned)sizeof(r->driver)) !=
	    NVML_OK)
		r->driver[0] = '\0';
	if (NVML_CALL(&run->nvml, count, &count) == NVML_OK && count != (unsigned)run->n_gpus) {
		const char *hidden = getenv("CUDA_VISIBLE_DEVICES");

		report_health(r, "visible", -1, REPORT_NOTE, (double)count,
		    "the driver has %u devices, CUDA sees %d%s%s", count, run->n_gpus,
		    hidden != NULL ? "; CUDA_VISIBLE_DEVICES=" : "", hidden != NULL ? hidden : "");
	}
	if (NVML_CALL(&run->nvml, event_set, &run->nvml_events) != NVML_OK)
		run->nvml_events = NULL;
	for (int i = 0; i < run->n_gpus; i++)
		health_open_gpu(run, &run->gpus[i]);
}

void
health_open(struct run *run)
{
	health_guard(run, health_open_all);
}

/* A counter that must be zero (bad: what it means when it is not). */
static void
health_counter(struct gpu *g, const char *name, int rc, unsigned long long v,
    enum report_status bad, const char *text)
{
	if (rc != NVML_OK)
		report_health(&g->run->report, name, g->index,
		    rc == NVML_GPU_LOST ? REPORT_FAILED : REPORT_UNKNOWN, (double)NAN, "%s",
		    nvml_api_text(rc));
	else
		report_health(&g->run->report, name, g->index, v > 0 ? bad : REPORT_OK, (double)v,
		    "%s", v > 0 ? text : "none");
}

static void
health_ecc(struct gpu *g)
{
	const struct nvml_api *n = &g->run->nvml;
	unsigned long long v = 0;
	int rc;

	rc = NVML_CALL(n, ecc_total, g->nv, 1, 0, &v);
	health_counter(g, "ecc_uncorrected", rc, v, REPORT_FAILED,
	    "uncorrected memory errors since the driver loaded");
	g->before.ecc_uncorrected = v;
	g->before.valid = rc == NVML_OK;
	v = 0;
	rc = NVML_CALL(n, ecc_total, g->nv, 0, 0, &v);
	health_counter(g, "ecc_corrected", rc, v, REPORT_NOTE,
	    "corrected memory errors since the driver loaded");
	v = 0;
	rc = NVML_CALL(n, ecc_total, g->nv, 1, 1, &v);
	health_counter(g, "ecc_uncorrected_life", rc, v, REPORT_NOTE,
	    "uncorrected memory errors in this device's life");
}

static void
health_rows(struct gpu *g)
{
	const struct nvml_api *n = &g->run->nvml;
	unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
	int rc, wait = 0;

	rc = NVML_CALL(n, remapped, g->nv, &corrected, &uncorrected, &pending, &failed);
	health_counter(g, "remap_failure", rc, failed, REPORT_FAILED,
	    "a row could not be remapped: replace the GPU");
	health_counter(g, "remap_pending", rc, pending, REPORT_NOTE, "usable until the next reset");
	health_counter(g, "remap_uncorrectable", rc, uncorrected, REPORT_NOTE,
	    "rows remapped after uncorrectable errors");
	if (rc == NVML_NOT_SUPPORTED) { /* before Ampere, pages were retired instead */
		rc = NVML_CALL(n, retired_pending, g->nv, &wait);
		health_counter(g, "retired_pending", rc, (unsigned)wait, REPORT_NOTE,
		    "pages wait to be retired");
	}
}

static void
health_recovery(struct gpu *g)
{
	static const char *const what[] = { "none", "reset the GPU", "reboot the node",
		"drain peer to peer", "drain and reset" };
	struct nvml_field f = { .id = NVML_FIELD_RECOVERY_ACTION };
	int rc = NVML_CALL(&g->run->nvml, fields, g->nv, 1, &f);

	rc = rc == NVML_OK ? f.ret : rc;
	if (rc != NVML_OK)
		report_health(&g->run->report, "recovery_action", g->index, REPORT_UNKNOWN,
		    (double)NAN, "%s", nvml_api_text(rc));
	else
		report_health(&g->run->report, "recovery_action", g->index,
		    f.value.ui == 0 ? REPORT_OK : REPORT_FAILED, f.value.ui, "the driver asks: %s",
		    f.value.ui < sizeof(what) / sizeof(what[0]) ? what[f.value.ui]
								: "unknown action");
}

static unsigned long long
health_nvlink_errors(struct gpu *g, int *active_out, int *down_out)
{
	const struct nvml_api *n = &g->run->nvml;
	unsigned long long sum = 0;

	*active_out = *down_out = 0;
	for (unsigned link = 0; link < 18; link++) {
		int state = 0;

		if (NVML_CALL(n, nvlink_state, g->nv, link, &state) != NVML_OK)
			continue;
		*active_out += state != 0;
		*down_out += state == 0;
		for (int c = 0; c < 4; c++) {
			unsigned long long v = 0;

			if (NVML_CALL(n, nvlink_errors, g->nv, link, c, &v) == NVML_OK)
				sum += v;
		}
	}
	return sum;
}

static void
health_nvlink(struct gpu *g)
{
	int active, down;

	g->before.nvlink_errors = health_nvlink_errors(g, &active, &down);
	if (active + down == 0) {
		report_health(&g->run->report, "nvlink", g->index, REPORT_UNKNOWN, (double)NAN,
		    "none, or not shown here");
		return;
	}
	if (active > 0)
		snprintf(g->run->report.gpus[g->index].link,
		    sizeof(g->run->report.gpus[g->index].link), "nvlink");
	if (active > 0 && down > 0)
		report_health(&g->run->report, "nvlink", g->index, REPORT_FAILED, active,
		    "%d of %d links are down", down, active + down);
	else
		report_health(&g->run->report, "nvlink", g->index,
		    active > 0 ? REPORT_OK : REPORT_NOTE, active, "%d links are %s", active + down,
		    active > 0 ? "up" : "down: no bridge or switch, or no fabric");
}

static void
health_state(struct gpu *g)
{
	const struct nvml_api *n = &g->run->nvml;
	struct nvml_utilization u = { 0, 0 };
	unsigned limit = 0, usual = 0, replay = 0;
	int on = 0;

	if (NVML_CALL(n, persistence, g->nv, &on) == NVML_OK)
		report_health(&g->run->report, "persistence", g->index,
		    on ? REPORT_OK : REPORT_NOTE, on, "%s",
		    on ? "on" : "off: the first call of each program waits for the driver");
	if (NVML_CALL(n, utilization, g->nv, &u) == NVML_OK)
		report_health(&g->run->report, "utilization", g->index,
		    u.gpu > 10 ? REPORT_NOTE : REPORT_OK, u.gpu, "%u %% busy before the start%s",
		    u.gpu, u.gpu > 10 ? ": somebody else uses it" : "");
	if (NVML_CALL(n, power_limit, g->nv, &limit) == NVML_OK &&
	    NVML_CALL(n, power_default, g->nv, &usual) == NVML_OK && usual > 0)
		report_health(&g->run->report, "power_limit", g->index,
		    limit < usual ? REPORT_NOTE : REPORT_OK, limit / 1000.0, "%u of %u W",
		    limit / 1000, usual / 1000);
	if (NVML_CALL(n, pcie_replay, g->nv, &replay) == NVML_OK)
		g->before.replay = replay;
}

static void
health_before_all(struct run *run)
{
	for (int i = 0; i < run->n_gpus; i++) {
		struct gpu *g = &run->gpus[i];

		if (!g->has_nv)
			continue;
		health_ecc(g);
		health_rows(g);
		health_recovery(g);
		health_nvlink(g);
		health_state(g);
	}
}

void
health_before(struct run *run)
{
	if (run->has_nvml)
		health_guard(run, health_before_all);
}

static void
health_sample_all(struct run *run)
{
	for (int i = 0; i < run->n_gpus; i++) {
		struct gpu *g = &run->gpus[i];
		unsigned long long reasons = 0;
		unsigned v = 0;

		if (!g->has_nv)
			continue;
		g->load.reasons_rc = NVML_CALL(&run->nvml, reasons, g->nv, &reasons);
		if (g->load.reasons_rc == NVML_OK)
			g->load.reasons |= reasons;
		if (NVML_CALL(&run->nvml, temperature, g->nv, 0, &v) == NVML_OK &&
		    v > g->load.temp_max)
			g->load.temp_max = v;
		if (NVML_CALL(&run->nvml, clock, g->nv, NVML_CLOCK_SM, &v) == NVML_OK) {
			g->load.clock_min = v < g->load.clock_min ? v : g->load.clock_min;
			g->load.clock_max = v > g->load.clock_max ? v : g->load.clock_max;
		}
		if (NVML_CALL(&run->nvml, power, g->nv, &v) == NVML_OK && v > g->load.power_max_mw)
			g->load.power_max_mw = v;
		g->load.samples++;
	}
}

void
health_sample(struct run *run)
{
	if (run->has_nvml)
		health_guard(run, health_sample_all);
}

/* GB/s of a PCIe link, one way: generation 1 to 6, after the line code. */
static double
health_pcie_gb_s(unsigned gen, unsigned width)
{
	static const double lane[] = { 0, 0.25, 0.5, 0.985, 1.969, 3.938, 7.563 };

	return gen < sizeof(lane) / sizeof(lane[0]) ? lane[gen] * width : (double)NAN;
}

void
health_link(struct gpu *g)
{
	const struct nvml_api *n = &g->run->nvml;
	unsigned gen = 0, width = 0, gen_max = 0, width_max = 0;
	double now, best;
	int rc;

	if (!g->has_nv || g->run->nvml_dead)
		return;
	rc = NVML_CALL(n, pcie_gen, g->nv, &gen);
	rc = rc != NVML_OK ? rc : NVML_CALL(n, pcie_width, g->nv, &width);
	rc = rc != NVML_OK ? rc : NVML_CALL(n, pcie_gen_max, g->nv, &gen_max);
	rc = rc != NVML_OK ? rc : NVML_CALL(n, pcie_width_max, g->nv, &width_max);
	now = health_pcie_gb_s(gen, width);
	best = health_pcie_gb_s(gen_max, width_max);
	if (rc != NVML_OK || !(now > 0.0) || !(best > 0.0))
		report_health(&g->run->report, "pcie_link", g->index, REPORT_UNKNOWN, (double)NAN,
		    "%s", rc != NVML_OK ? nvml_api_text(rc) : "a link of no known kind");
	else
		report_health(&g->run->report, "pcie_link", g->index,
		    now < 0.49 * best   ? REPORT_FAILED
		    : now < 0.99 * best ? REPORT_NOTE
					: REPORT_OK,
		    now, "gen%u x%u under load, of gen%u x%u", gen, width, gen_max, width_max);
}

static void
health_load_report(struct gpu *g)
{
	const struct health_load *l = &g->load;
	struct report *r = &g->run->report;

	if (l->samples == 0)
		return;
	if (l->reasons_rc != NVML_OK)
		report_health(r, "throttle", g->index, REPORT_UNKNOWN, (double)NAN, "%s",
		    nvml_api_text(l->reasons_rc));
	else if (l->reasons & NVML_REASONS_BAD)
		report_health(r, "throttle", g->index, REPORT_FAILED, (double)l->reasons,
		    "slowed down under load:%s%s%s%s",
		    l->reasons & NVML_REASON_HW_SLOWDOWN ? " hardware" : "",
		    l->reasons & NVML_REASON_SW_THERMAL ? " thermal (software)" : "",
		    l->reasons & NVML_REASON_HW_THERMAL ? " thermal (hardware)" : "",
		    l->reasons & NVML_REASON_POWER_BRAKE ? " power brake" : "");
	else
		report_health(r, "throttle", g->index, REPORT_OK, (double)l->reasons, "%s",
		    l->reasons & NVML_REASON_POWER_CAP
			? "at the power limit, as is usual at full load"
			: "none");
	if (l->temp_max > 0)
		report_health(r, "temperature", g->index,
		    l->temp_max >= 90 ? REPORT_NOTE : REPORT_OK, l->temp_max, "%u C at most",
		    l->temp_max);
	if (l->clock_max > 0)
		report_health(r, "clock", g->index, REPORT_OK, l->clock_min, "%u to %u MHz",
		    l->clock_min, l->clock_max);
	if (l->power_max_mw > 0)
		report_health(r, "power", g->index, REPORT_OK, l->power_max_mw / 1000.0,
		    "%u W at most", l->power_max_mw / 1000);
}

/* Xids after which a device is not to be trusted (NVIDIA, XID Errors; those DCGM's diagnostics
 * reject). */
bool
health_xid_fatal(unsigned long long xid)
{
	return xid == 48 || xid == 64 || xid == 74 || xid == 79 || xid == 94 || xid == 95 ||
	       xid == 119 || xid == 120;
}

static void
health_events(struct run *run)
{
	struct nvml_event e;

	for (int i = 0; i < 64 && run->nvml_events != NULL; i++) {
		int index = -1;

		memset(&e, 0, sizeof(e));
		if (NVML_CALL(&run->nvml, event_wait, run->nvml_events, &e, 0) != NVML_OK)
			break;
		for (int j = 0; j < run->n_gpus; j++)
			if (run->gpus[j].has_nv && run->gpus[j].nv == e.device)
				index = j;
		report_health(&run->report, "xid", index,
		    health_xid_fatal(e.data) ? REPORT_FAILED : REPORT_NOTE, (double)e.data,
		    "Xid %llu during the run", e.data);
	}
}

static void
health_after_all(struct run *run)
{
	for (int i = 0; i < run->n_gpus; i++) {
		struct gpu *g = &run->gpus[i];
		unsigned long long v = 0;
		unsigned replay = 0;
		int active, down;

		if (!g->has_nv)
			continue;
		health_load_report(g);
		if (g->before.valid && NVML_CALL(&run->nvml, ecc_total, g->nv, 1, 0, &v) == NVML_OK)
			health_counter(g, "ecc_during_run", NVML_OK, v - g->before.ecc_uncorrected,
			    REPORT_FAILED, "uncorrected memory errors while the probe ran");
		v = health_nvlink_errors(g, &active, &down) - g->before.nvlink_errors;
		if (active > 0)
			health_counter(g, "nvlink_errors", NVML_OK, v,
			    v > 100 ? REPORT_FAILED : REPORT_NOTE,
			    "NVLink errors while the probe ran");
		if (NVML_CALL(&run->nvml, pcie_replay, g->nv, &replay) == NVML_OK)
			health_counter(g, "pcie_replay", NVML_OK,
			    replay - (unsigned)g->before.replay, REPORT_NOTE,
			    "PCIe packets sent again while the probe ran");
	}
	health_events(run);
}

void
health_after(struct run *run)
{
	if (run->has_nvml)
		health_guard(run, health_after_all);
	health_kmsg(run);
}
