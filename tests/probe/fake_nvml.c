/*
 * A libnvidia-ml.so.1 for tests, told by BERTH_FAKE as the fake driver is. Device keys may carry @N.
 *   nvml=CODE nvml_hang=1 nvml_n lost noperm driver power plimit pdefault temp clock reasons gen gen_max width
 *   width_max replay ecc_mode unc cor life unc_after (what it rises by) norow row_unc row_pending row_failed
 *   recovery norecovery links links_down link_errors persistence util xid mig pci
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <unistd.h>

#include "kernels/nvml_api.h"
#include "tests/probe/fake.h"

#define EXPORT __attribute__((visibility("default")))
#define DEV(d) ((int)(uintptr_t)(d) - 1)
#define HIDDEN(d) (fake_number("lost", DEV(d), 0) != 0 ? NVML_GPU_LOST : fake_number("noperm", DEV(d), 0) != 0 ? \
	NVML_NO_PERMISSION : NVML_OK)

static int
fake_value(nvml_dev d, const char *key, double dflt, unsigned *out)
{
	*out = (unsigned)fake_number(key, DEV(d), dflt);
	return HIDDEN(d);
}

EXPORT int
nvmlInit_v2(void)
{
	while (fake_number("nvml_hang", -1, 0) != 0)
		sleep(1);
	return (int)fake_number("nvml", -1, 0);
}

EXPORT int nvmlSystemGetDriverVersion(char *s, unsigned n) { fake_text("driver", -1, "580.65.06", s, n); return 0; }

EXPORT int
nvmlDeviceGetCount_v2(unsigned *n)
{
	*n = (unsigned)fake_number("nvml_n", -1, fake_number("ndev", -1, 1));
	return 0;
}

EXPORT int
nvmlDeviceGetHandleByPciBusId_v2(const char *bus, nvml_dev *d)
{
	unsigned domain, b;

	if (sscanf(bus, "%x:%x:", &domain, &b) != 2)
		return 2;
	*d = (void *)(uintptr_t)(b - 0x10 + 1);
	return fake_number("lost", (int)b - 0x10, 0) != 0 ? NVML_GPU_LOST : 0;
}

EXPORT int
nvmlDeviceGetPciInfo_v3(nvml_dev d, struct nvml_pci *p)
{
	(void)d;
	p->pci_device_id = 0x233010de;
	p->pci_subsystem_id = 0x16c110de;
	return 0;
}

EXPORT int nvmlDeviceGetTemperature(nvml_dev d, int s, unsigned *v) { (void)s; return fake_value(d, "temp", 60, v); }
EXPORT int nvmlDeviceGetClockInfo(nvml_dev d, int c, unsigned *v) { (void)c; return fake_value(d, "clock_mhz", 1980, v); }
EXPORT int nvmlDeviceGetCurrPcieLinkGeneration(nvml_dev d, unsigned *v) { return fake_value(d, "gen", 5, v); }
EXPORT int nvmlDeviceGetMaxPcieLinkGeneration(nvml_dev d, unsigned *v) { return fake_value(d, "gen_max", 5, v); }
EXPORT int nvmlDeviceGetCurrPcieLinkWidth(nvml_dev d, unsigned *v) { return fake_value(d, "width", 16, v); }
EXPORT int nvmlDeviceGetMaxPcieLinkWidth(nvml_dev d, unsigned *v) { return fake_value(d, "width_max", 16, v); }
EXPORT int nvmlDeviceGetPcieReplayCounter(nvml_dev d, unsigned *v) { return fake_value(d, "replay", 0, v); }

static int
fake_milli(nvml_dev d, const char *key, double dflt, unsigned *v)
{
	*v = (unsigned)(fake_number(key, DEV(d), dflt) * 1000);
	return HIDDEN(d);
}

EXPORT int nvmlDeviceGetPowerUsage(nvml_dev d, unsigned *v) { return fake_milli(d, "power", 690, v); }
EXPORT int nvmlDeviceGetEnforcedPowerLimit(nvml_dev d, unsigned *v) { return fake_milli(d, "plimit", 700, v); }
EXPORT int nvmlDeviceGetPowerManagementDefaultLimit(nvml_dev d, unsigned *v) { return fake_milli(d, "pdefault", 700, v); }

EXPORT int
nvmlDeviceGetCurrentClocksThrottleReasons(nvml_dev d, unsigned long long *v)
{
	*v = (unsigned long long)fake_number("reasons", DEV(d), 4);
	return HIDDEN(d);
}

EXPORT int
nvmlDeviceGetEccMode(nvml_dev d, int *now, int *next)
{
	*now = *next = (int)fake_number("ecc_mode", DEV(d), 1);
	return HIDDEN(d);
}

EXPORT int
nvmlDeviceGetTotalEccErrors(nvml_dev d, int type, int counter, unsigned long long *v)
{
	static int calls[64];
	const int dev = DEV(d);

	if (fake_number("noecc", dev, 0) != 0)
		return NVML_NOT_SUPPORTED;
	if (type == 0) {
		*v = (unsigned long long)fake_number("cor", dev, 0);
	} else if (counter == 1) {
		*v = (unsigned long long)fake_number("life", dev, 0);
	} else {
		*v = (unsigned long long)fake_number("unc", dev, 0);
		if (calls[dev]++ > 0)
			*v += (unsigned long long)fake_number("unc_after", dev, 0);
	}
	return HIDDEN(d);
}

EXPORT int
nvmlDeviceGetRemappedRows(nvml_dev d, unsigned *c, unsigned *u, unsigned *p, unsigned *f)
{
	if (fake_number("norow", DEV(d), 0) != 0)
		return NVML_NOT_SUPPORTED;
	*c = 0;
	*u = (unsigned)fake_number("row_unc", DEV(d), 0);
	*p = (unsigned)fake_number("row_pending", DEV(d), 0);
	*f = (unsigned)fake_number("row_failed", DEV(d), 0);
	return HIDDEN(d);
}

EXPORT int
nvmlDeviceGetRetiredPagesPendingStatus(nvml_dev d, int *v)
{
	*v = (int)fake_number("retired", DEV(d), 0);
	return HIDDEN(d);
}

EXPORT int
nvmlDeviceGetFieldValues(nvml_dev d, int n, struct nvml_field *f)
{
	for (int i = 0; i < n; i++) {
		f[i].ret = f[i].id == NVML_FIELD_RECOVERY_ACTION && fake_number("norecovery", DEV(d), 0) == 0 ? 0 :
		    NVML_NOT_SUPPORTED;
		f[i].value.ui = (unsigned)fake_number("recovery", DEV(d), 0);
	}
	return HIDDEN(d);
}

EXPORT int
nvmlDeviceGetNvLinkState(nvml_dev d, unsigned link, int *on)
{
	const double links = fake_number("links", DEV(d), 0), down = fake_number("links_down", DEV(d), 0);

	if (link >= (unsigned)links)
		return NVML_NOT_SUPPORTED;
	*on = link >= (unsigned)down;
	return HIDDEN(d);
}

EXPORT int
nvmlDeviceGetNvLinkErrorCounter(nvml_dev d, unsigned link, int c, unsigned long long *v)
{
	static unsigned calls[64];

	(void)c;
	*v = link == 0 && calls[DEV(d)]++ >= 4 ? (unsigned long long)fake_number("link_errors", DEV(d), 0) : 0;
	return HIDDEN(d);
}

EXPORT int
nvmlDeviceGetPersistenceMode(nvml_dev d, int *on)
{
	*on = (int)fake_number("persistence", DEV(d), 1);
	return HIDDEN(d);
}

EXPORT int
nvmlDeviceGetUtilizationRates(nvml_dev d, struct nvml_utilization *u)
{
	u->gpu = (unsigned)fake_number("util", DEV(d), 0);
	u->memory = 0;
	return HIDDEN(d);
}

EXPORT int nvmlEventSetCreate(void **set) { *set = (void *)(uintptr_t)1; return 0; }
EXPORT int nvmlDeviceRegisterEvents(nvml_dev d, unsigned long long t, void *set) { (void)d; (void)t; (void)set; return 0; }

EXPORT int
nvmlEventSetWait_v2(void *set, struct nvml_event *e, unsigned ms)
{
	static int given;
	const double xid = fake_number("xid", -1, 0);

	(void)set;
	(void)ms;
	if (xid == 0 || given++ > 0)
		return 10;	/* timeout */
	e->device = (void *)(uintptr_t)1;
	e->type = NVML_EVENT_XID;
	e->data = (unsigned long long)xid;
	return 0;
}
