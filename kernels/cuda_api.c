#include "config.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "kernels/cuda_api.h"

/* ISO C has no cast from an object pointer to a function pointer; POSIX promises that the bytes
 * agree. */
static int
cuda_api_symbol(void *so, const char *name, void *fn_out)
{
	void *p = dlsym(so, name);

	memcpy(fn_out, &p, sizeof(p));
	return p != NULL ? 0 : -1;
}

int
cuda_api_open(struct cuda_api *api, char *why, size_t n)
{
	memset(api, 0, sizeof(*api));
	api->so = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (api->so == NULL) {
		snprintf(why, n, "no NVIDIA driver: libcuda.so.1 was not found");
		return -1;
	}
#define X(f, s, a)                                                                                 \
	if (cuda_api_symbol(api->so, s, &api->f) < 0) {                                            \
		snprintf(why, n, "the NVIDIA driver is too old: it lacks %s", s);                  \
		return -1;                                                                         \
	}
	CUDA_FUNCS(X)
#undef X
	if (cuda_api_symbol(api->so, "cuDeviceGetUuid_v2", &api->device_uuid) < 0)
		(void)cuda_api_symbol(api->so, "cuDeviceGetUuid", &api->device_uuid);
	return 0;
}

static const struct cuda_text {
	int code;
	const char *text;
} cuda_texts[] = {
	{ 1, "invalid value" },
	{ CUDA_OUT_OF_MEMORY, "out of device memory; another process may hold it" },
	{ 3, "driver not initialized" },
	{ CUDA_STUB, "libcuda is the toolkit's stub, not a driver" },
	{ 36, "needs a newer driver" },
	{ 46, "device unavailable: another process holds it exclusively" },
	{ CUDA_NO_DEVICE, "no CUDA device is visible" },
	{ 101, "invalid device" },
	{ 200, "device kernel image is invalid" },
	{ 209, "no kernel image for this GPU" },
	{ CUDA_ECC, "uncorrectable ECC error" },
	{ 218, "PTX could not be compiled" },
	{ 220, "uncorrectable NVLink error" },
	{ 221, "the driver has no PTX compiler" },
	{ 222, "PTX is newer than the driver" },
	{ 226, "contained ECC error" },
	{ 700, "illegal address" },
	{ 702, "launch timed out" },
	{ 715, "illegal instruction" },
	{ 719, "launch failed" },
	{ 800, "not permitted" },
	{ 801, "not supported" },
	{ CUDA_NOT_READY,
	    "system not ready: the fabric manager is not running (NVSwitch machines need it)" },
	{ CUDA_MISMATCH,
	    "libcuda and the kernel driver differ in version; reboot or reinstall the driver" },
	{ 804, "the compatibility libcuda does not support this GPU" },
	{ 805, "cannot reach the MPS server" },
	{ CUDA_LIBRARY, "cuBLASLt failed" },
	{ 999, "unknown error; the device may have fallen off the bus" },
};

const char *
cuda_api_text(int code)
{
	for (size_t i = 0; i < sizeof(cuda_texts) / sizeof(cuda_texts[0]); i++)
		if (cuda_texts[i].code == code)
			return cuda_texts[i].text;
	return "see CUresult in cuda.h";
}
