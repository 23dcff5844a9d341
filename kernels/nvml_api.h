/* kernels/nvml_api.h - NVML as far as it is needed, by dlopen: no nvml.h. nvml_abi.c compares it
 * with a real one. */
#ifndef BERTH_KERNELS_NVML_API_H
#define BERTH_KERNELS_NVML_API_H

#include <stddef.h>
#include <stdint.h>

typedef void *nvml_dev;

enum {
	NVML_OK = 0,
	NVML_NOT_SUPPORTED = 3,
	NVML_NO_PERMISSION = 4,
	NVML_NO_DRIVER = 9,
	NVML_GPU_LOST = 15,
	NVML_ABSENT = -1
}; /* the library has no such function */

struct nvml_pci { /* nvmlPciInfo_t, version 3 */
	char bus_id_legacy[16];
	unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
	char bus_id[32];
};

struct nvml_field { /* nvmlFieldValue_t */
	unsigned id, scope;
	long long timestamp, latency_us;
	int type, ret;
	union {
		double d;
		unsigned ui;
		unsigned long ul;
		unsigned long long ull;
		long long sll;
	} value;
};

struct nvml_event { /* nvmlEventData_t */
	nvml_dev device;
	unsigned long long type, data;
	unsigned gpu_instance, compute_instance;
};

struct nvml_utilization {
	unsigned gpu, memory;
};

enum {
	NVML_FIELD_RECOVERY_ACTION = 230,
	NVML_EVENT_XID = 8,
	NVML_CLOCK_SM = 1,
	NVML_CLOCK_MEM = 2
};

/* nvmlClocksThrottleReason... */
enum {
	NVML_REASON_IDLE = 0x1,
	NVML_REASON_POWER_CAP = 0x4,
	NVML_REASON_HW_SLOWDOWN = 0x8,
	NVML_REASON_SW_THERMAL = 0x20,
	NVML_REASON_HW_THERMAL = 0x40,
	NVML_REASON_POWER_BRAKE = 0x80,
};
#define NVML_REASONS_BAD                                                                           \
	(NVML_REASON_HW_SLOWDOWN | NVML_REASON_SW_THERMAL | NVML_REASON_HW_THERMAL |               \
	    NVML_REASON_POWER_BRAKE)

#define NVML_FUNCS(X)                                                                              \
	X(init, "nvmlInit_v2", (void))                                                             \
	X(driver_version, "nvmlSystemGetDriverVersion", (char *, unsigned))                        \
	X(count, "nvmlDeviceGetCount_v2", (unsigned *))                                            \
	X(by_pci, "nvmlDeviceGetHandleByPciBusId_v2", (const char *, nvml_dev *))                  \
	X(pci, "nvmlDeviceGetPciInfo_v3", (nvml_dev, struct nvml_pci *))                           \
	X(uuid, "nvmlDeviceGetUUID", (nvml_dev, char *, unsigned))                                 \
	X(temperature, "nvmlDeviceGetTemperature", (nvml_dev, int, unsigned *))                    \
	X(power, "nvmlDeviceGetPowerUsage", (nvml_dev, unsigned *))                                \
	X(power_limit, "nvmlDeviceGetEnforcedPowerLimit", (nvml_dev, unsigned *))                  \
	X(power_default, "nvmlDeviceGetPowerManagementDefaultLimit", (nvml_dev, unsigned *))       \
	X(clock, "nvmlDeviceGetClockInfo", (nvml_dev, int, unsigned *))                            \
	X(reasons, "nvmlDeviceGetCurrentClocksThrottleReasons", (nvml_dev, unsigned long long *))  \
	X(pcie_gen, "nvmlDeviceGetCurrPcieLinkGeneration", (nvml_dev, unsigned *))                 \
	X(pcie_gen_max, "nvmlDeviceGetMaxPcieLinkGeneration", (nvml_dev, unsigned *))              \
	X(pcie_width, "nvmlDeviceGetCurrPcieLinkWidth", (nvml_dev, unsigned *))                    \
	X(pcie_width_max, "nvmlDeviceGetMaxPcieLinkWidth", (nvml_dev, unsigned *))                 \
	X(pcie_replay, "nvmlDeviceGetPcieReplayCounter", (nvml_dev, unsigned *))                   \
	X(ecc_mode, "nvmlDeviceGetEccMode", (nvml_dev, int *, int *))                              \
	X(ecc_total, "nvmlDeviceGetTotalEccErrors", (nvml_dev, int, int, unsigned long long *))    \
	X(remapped, "nvmlDeviceGetRemappedRows",                                                   \
	    (nvml_dev, unsigned *, unsigned *, unsigned *, unsigned *))                            \
	X(retired_pending, "nvmlDeviceGetRetiredPagesPendingStatus", (nvml_dev, int *))            \
	X(retired, "nvmlDeviceGetRetiredPages", (nvml_dev, int, unsigned *, unsigned long long *)) \
	X(mig_mode, "nvmlDeviceGetMigMode", (nvml_dev, unsigned *, unsigned *))                    \
	X(nvlink_state, "nvmlDeviceGetNvLinkState", (nvml_dev, unsigned, int *))                   \
	X(nvlink_errors, "nvmlDeviceGetNvLinkErrorCounter",                                        \
	    (nvml_dev, unsigned, int, unsigned long long *))                                       \
	X(persistence, "nvmlDeviceGetPersistenceMode", (nvml_dev, int *))                          \
	X(utilization, "nvmlDeviceGetUtilizationRates", (nvml_dev, struct nvml_utilization *))     \
	X(fields, "nvmlDeviceGetFieldValues", (nvml_dev, int, struct nvml_field *))                \
	X(event_set, "nvmlEventSetCreate", (void **))                                              \
	X(event_register, "nvmlDeviceRegisterEvents", (nvml_dev, unsigned long long, void *))      \
	X(event_wait, "nvmlEventSetWait_v2", (void *, struct nvml_event *, unsigned))

struct nvml_api {
	void *so;
#define X(n, s, a) int(*n) a;
	NVML_FUNCS(X)
#undef X
};

/* Calls a function of the library, or gives NVML_ABSENT where an old driver lacks it. */
#define NVML_CALL(api, fn, ...) ((api)->fn != NULL ? (api)->fn(__VA_ARGS__) : NVML_ABSENT)

/* Opens libnvidia-ml.so.1 and calls nvmlInit. 0, or -1 with a sentence in why [n]. */
int nvml_api_open(struct nvml_api *api, char *why, size_t n);
/* "not supported", "no permission" ...; never NULL. */
const char *nvml_api_text(int code);

#endif
