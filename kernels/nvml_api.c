#include "config.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "kernels/nvml_api.h"

int
nvml_api_open(struct nvml_api *api, char *why, size_t n)
{
	int rc;

	memset(api, 0, sizeof(*api));
	api->so = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	if (api->so == NULL) {
		snprintf(why, n, "libnvidia-ml.so.1 was not found");
		return -1;
	}
#define X(f, s, a)                                                                                 \
	do {                                                                                       \
		void *p = dlsym(api->so, s);                                                       \
		memcpy(&api->f, &p, sizeof(p));                                                    \
	} while (0);
	NVML_FUNCS(X)
#undef X
	rc = api->init != NULL ? api->init() : NVML_ABSENT;
	if (rc != NVML_OK) {
		snprintf(why, n, "nvmlInit: %s", nvml_api_text(rc));
		return -1;
	}
	return 0;
}

const char *
nvml_api_text(int code)
{
	switch (code) {
	case NVML_OK:
		return "ok";
	case NVML_NOT_SUPPORTED:
		return "not supported";
	case NVML_NO_PERMISSION:
		return "no permission";
	case NVML_NO_DRIVER:
		return "driver not loaded";
	case NVML_GPU_LOST:
		return "the GPU has fallen off the bus";
	case NVML_ABSENT:
		return "the driver is too old to tell";
	default:
		return "failed";
	}
}
