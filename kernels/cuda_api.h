/* kernels/cuda_api.h - the CUDA driver API as far as it is needed, by dlopen: no cuda.h, nothing to
 * link. */
#ifndef BERTH_KERNELS_CUDA_API_H
#define BERTH_KERNELS_CUDA_API_H

#include <stddef.h>
#include <stdint.h>

typedef unsigned long long cuda_ptr;

/* name, symbol, arguments; every one has been in the driver since CUDA 9 */
#define CUDA_FUNCS(X)                                                                              \
	X(init, "cuInit", (unsigned))                                                              \
	X(driver_version, "cuDriverGetVersion", (int *))                                           \
	X(device_count, "cuDeviceGetCount", (int *))                                               \
	X(device_get, "cuDeviceGet", (int *, int))                                                 \
	X(device_name, "cuDeviceGetName", (char *, int, int))                                      \
	X(device_attr, "cuDeviceGetAttribute", (int *, int, int))                                  \
	X(device_memory, "cuDeviceTotalMem_v2", (size_t *, int))                                   \
	X(device_pci, "cuDeviceGetPCIBusId", (char *, int, int))                                   \
	X(ctx_retain, "cuDevicePrimaryCtxRetain", (void **, int))                                  \
	X(ctx_set, "cuCtxSetCurrent", (void *))                                                    \
	X(ctx_sync, "cuCtxSynchronize", (void))                                                    \
	X(module_load, "cuModuleLoadData", (void **, const void *))                                \
	X(module_function, "cuModuleGetFunction", (void **, void *, const char *))                 \
	X(mem_info, "cuMemGetInfo_v2", (size_t *, size_t *))                                       \
	X(mem_alloc, "cuMemAlloc_v2", (cuda_ptr *, size_t))                                        \
	X(mem_free, "cuMemFree_v2", (cuda_ptr))                                                    \
	X(mem_set, "cuMemsetD8_v2", (cuda_ptr, unsigned char, size_t))                             \
	X(copy_to_host, "cuMemcpyDtoH_v2", (void *, cuda_ptr, size_t))                             \
	X(copy_to_device, "cuMemcpyHtoD_v2", (cuda_ptr, const void *, size_t))                     \
	X(copy_to_host_async, "cuMemcpyDtoHAsync_v2", (void *, cuda_ptr, size_t, void *))          \
	X(copy_to_device_async, "cuMemcpyHtoDAsync_v2", (cuda_ptr, const void *, size_t, void *))  \
	X(copy_device_async, "cuMemcpyDtoDAsync_v2", (cuda_ptr, cuda_ptr, size_t, void *))         \
	X(copy_peer_async, "cuMemcpyPeerAsync",                                                    \
	    (cuda_ptr, void *, cuda_ptr, void *, size_t, void *))                                  \
	X(host_alloc, "cuMemHostAlloc", (void **, size_t, unsigned))                               \
	X(host_free, "cuMemFreeHost", (void *))                                                    \
	X(can_access_peer, "cuDeviceCanAccessPeer", (int *, int, int))                             \
	X(enable_peer, "cuCtxEnablePeerAccess", (void *, unsigned))                                \
	X(stream_create, "cuStreamCreate", (void **, unsigned))                                    \
	X(stream_sync, "cuStreamSynchronize", (void *))                                            \
	X(stream_wait, "cuStreamWaitEvent", (void *, void *, unsigned))                            \
	X(event_create, "cuEventCreate", (void **, unsigned))                                      \
	X(event_record, "cuEventRecord", (void *, void *))                                         \
	X(event_sync, "cuEventSynchronize", (void *))                                              \
	X(event_ms, "cuEventElapsedTime", (float *, void *, void *))                               \
	X(launch, "cuLaunchKernel",                                                                \
	    (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, \
		void **, void **))

struct cuda_api {
	void *so;
#define X(n, s, a) int(*n) a;
	CUDA_FUNCS(X)
#undef X
	int (*device_uuid)(unsigned char *, int); /* optional: 16 bytes */
};

enum {
	CUDA_ATTR_SMS = 16,
	CUDA_ATTR_CLOCK_KHZ = 13,
	CUDA_ATTR_ECC = 32,
	CUDA_ATTR_MEMORY_KHZ = 36,
	CUDA_ATTR_BUS_BITS = 37,
	CUDA_ATTR_L2 = 38,
	CUDA_ATTR_CC_MAJOR = 75,
	CUDA_ATTR_CC_MINOR = 76,
};

enum {
	CUDA_OUT_OF_MEMORY = 2,
	CUDA_STUB = 34,
	CUDA_NO_DEVICE = 100,
	CUDA_ECC = 214,
	CUDA_NOT_READY = 802,
	CUDA_MISMATCH = 803,
	CUDA_PEER_ALREADY = 704,
	CUDA_LIBRARY = 100000, /* ours: a call of cuBLASLt failed */
};

/* Opens libcuda.so.1. 0, or -1 with a sentence in why [n]. Does not call cuInit. */
int cuda_api_open(struct cuda_api *api, char *why, size_t n);
/* What a result code means and what to do about it; never NULL. */
const char *cuda_api_text(int code);

#endif
