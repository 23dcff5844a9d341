/*
 * A libcuda.so.1 for tests. Kernels run on the CPU through the functions of kernels/arith.h; time is virtual,
 * from the rates that BERTH_FAKE gives: results are exact, speeds are whatever the test asks for, faults are planted.
 *   ndev init init_times name cc sms mem_gib free_mib l2_mib drv bw fp32 fp64 tensor h2d d2h p2p can nosass noptx
 *   ctx=CODE oom=1 clock=0 ecc  flip=KERNEL (one bit, each run)  flaky=KERNEL (one bit, every second run)
 *   fail=KERNEL code=N  hang=KERNEL  idle=KERNEL (does nothing)  stuck=WORD  badcopy=h2d|d2h|p2p
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

#include "kernels/arith.h"
#include "tests/probe/fake.h"

#define EXPORT __attribute__((visibility("default")))

struct fake_ctx { int dev; };
struct fake_event { double t; };

static struct fake_ctx ctxs[64];
static double clocks[64];	/* ms, one a device; each is driven by one thread at a time */
static unsigned runs[64];
static __thread int current;

EXPORT void
fake_cuda_advance(double ms)
{
	clocks[current] += fake_number("clock", current, 1) != 0 ? ms : 0;
}

EXPORT int
fake_cuda_device(void)
{
	return current;
}

EXPORT int
cuInit(unsigned flags)
{
	static int calls;
	(void)flags;
	return calls++ < (int)fake_number("init_times", -1, 1e9) ? (int)fake_number("init", -1, 0) : 0;
}

EXPORT int cuDriverGetVersion(int *v) { *v = (int)fake_number("drv", -1, 13000); return 0; }
EXPORT int cuDeviceGetCount(int *n) { *n = (int)fake_number("ndev", -1, 1); return 0; }
EXPORT int cuDeviceGet(int *d, int i) { *d = i; return (int)fake_number("get", i, 0); }

EXPORT int
cuDeviceGetName(char *s, int n, int d)
{
	fake_text("name", d, "NVIDIA H100 80GB HBM3", s, (size_t)n);
	return 0;
}

EXPORT int
cuDeviceGetAttribute(int *v, int a, int d)
{
	const int cc = (int)fake_number("cc", d, 90);

	*v = a == 16 ? (int)fake_number("sms", d, 4) : a == 75 ? cc / 10 : a == 76 ? cc % 10 :
	    a == 38 ? (int)(fake_number("l2_mib", d, 0.125) * 1048576) : a == 32 ? (int)fake_number("ecc", d, 1) : 0;
	return 0;
}

EXPORT int
cuDeviceTotalMem_v2(size_t *n, int d)
{
	*n = (size_t)(fake_number("mem_gib", d, 79.6) * 1073741824.0);
	return 0;
}

EXPORT int
cuDeviceGetPCIBusId(char *s, int n, int d)
{
	snprintf(s, (size_t)n, "0000:%02X:00.0", 0x10 + d);
	return 0;
}

EXPORT int
cuDeviceGetUuid_v2(unsigned char *id, int d)
{
	memset(id, 0x11, 16);
	id[15] = (unsigned char)d;
	return 0;
}

EXPORT int
cuDevicePrimaryCtxRetain(void **c, int d)
{
	ctxs[d].dev = d;
	*c = &ctxs[d];
	return (int)fake_number("ctx", d, 0);
}

EXPORT int cuCtxSetCurrent(void *c) { current = ((struct fake_ctx *)c)->dev; return 0; }
EXPORT int cuCtxSynchronize(void) { return 0; }

EXPORT int
cuModuleLoadData(void **m, const void *img)
{
	const int text = memchr(img, '.', 8) != NULL || memcmp(img, "//", 2) == 0;

	*m = &clocks;
	return text ? (fake_number("noptx", -1, 0) != 0 ? 222 : 0) : fake_number("nosass", -1, 0) != 0 ? 209 : 0;
}

EXPORT int
cuModuleGetFunction(void **f, void *m, const char *name)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* devices ask at the same time */
	static char names[128][40];
	static int n;
	int i = 0;
	(void)m;

	pthread_mutex_lock(&lock);
	while (i < n && strcmp(names[i], name) != 0)
		i++;
	if (i == n && n < 128)
		snprintf(names[n++], sizeof(names[0]), "%s", name);
	*f = names[i < 128 ? i : 0];
	pthread_mutex_unlock(&lock);
	return i < 128 ? 0 : 500;
}

EXPORT int
cuMemGetInfo_v2(size_t *avail, size_t *total)
{
	cuDeviceTotalMem_v2(total, current);
	*avail = (size_t)(fake_number("free_mib", current, (double)*total / 1048576.0 * 0.98) * 1048576.0);
	return 0;
}

EXPORT int
cuMemAlloc_v2(unsigned long long *p, size_t n)
{
	void *q = fake_number("oom", current, 0) != 0 ? NULL : malloc(n);

	*p = (unsigned long long)(uintptr_t)q;
	return q != NULL ? 0 : 2;
}

EXPORT int cuMemFree_v2(unsigned long long p) { free((void *)(uintptr_t)p); return 0; }

EXPORT int
cuMemsetD8_v2(unsigned long long p, unsigned char v, size_t n)
{
	memset((void *)(uintptr_t)p, v, n);
	return 0;
}

static void
fake_copy(void *to, const void *from, size_t n, const char *way, double gb_s)
{
	memcpy(to, from, n);
	if (fake_is("badcopy", current, way) && n > 4096)
		((unsigned char *)to)[n / 2] ^= 4;
	if (n > 64)
		fake_cuda_advance((double)n / gb_s * 1e-6);
}

EXPORT int
cuMemcpyDtoH_v2(void *h, unsigned long long p, size_t n)
{
	fake_copy(h, (void *)(uintptr_t)p, n, "d2h", fake_number("d2h", current, 52));
	return 0;
}

EXPORT int
cuMemcpyHtoD_v2(unsigned long long p, const void *h, size_t n)
{
	fake_copy((void *)(uintptr_t)p, h, n, "h2d", fake_number("h2d", current, 52));
	return 0;
}

EXPORT int cuMemcpyDtoHAsync_v2(void *h, unsigned long long p, size_t n, void *s) { (void)s; return cuMemcpyDtoH_v2(h, p, n); }
EXPORT int cuMemcpyHtoDAsync_v2(unsigned long long p, const void *h, size_t n, void *s) { (void)s; return cuMemcpyHtoD_v2(p, h, n); }

EXPORT int
cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t n, void *s)
{
	(void)s;
	memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, n);
	fake_cuda_advance(2.0 * (double)n / fake_number("bw", current, 3000) * 1e-6);
	return 0;
}

EXPORT int
cuMemcpyPeerAsync(unsigned long long to, void *tc, unsigned long long from, void *fc, size_t n, void *s)
{
	(void)tc;
	(void)fc;
	(void)s;
	fake_copy((void *)(uintptr_t)to, (void *)(uintptr_t)from, n, "p2p", fake_number("p2p", current, 376));
	return 0;
}

EXPORT int cuMemHostAlloc(void **p, size_t n, unsigned f) { (void)f; *p = malloc(n); return *p != NULL ? 0 : 2; }
EXPORT int cuMemFreeHost(void *p) { free(p); return 0; }

EXPORT int
cuDeviceCanAccessPeer(int *can, int a, int b)
{
	(void)a;
	*can = (int)fake_number("can", b, 1);
	return 0;
}

EXPORT int cuCtxEnablePeerAccess(void *c, unsigned f) { (void)c; (void)f; return 0; }
EXPORT int cuStreamCreate(void **s, unsigned f) { (void)f; *s = &clocks; return 0; }
EXPORT int cuStreamSynchronize(void *s) { (void)s; return 0; }
EXPORT int cuStreamWaitEvent(void *s, void *e, unsigned f) { (void)s; (void)e; (void)f; return 0; }
EXPORT int cuEventCreate(void **e, unsigned f) { (void)f; *e = calloc(1, sizeof(struct fake_event)); return *e != NULL ? 0 : 2; }
EXPORT int cuEventRecord(void *e, void *s) { (void)s; ((struct fake_event *)e)->t = clocks[current]; return 0; }
EXPORT int cuEventSynchronize(void *e) { (void)e; return 0; }

EXPORT int
cuEventElapsedTime(float *t, void *a, void *b)
{
	*t = (float)(((struct fake_event *)b)->t - ((struct fake_event *)a)->t);
	return 0;
}

struct fake_launch {
	const char *name;
	unsigned long long threads;
	void **p;
	void *out;		/* what a planted fault hits */
	size_t out_bytes;
	double bytes, flop, rate;	/* rate: TFLOP/s */
};

#define ARG(l, i, T) (*(T *)(l)->p[i])
#define PTR(l, i, T) ((T *)(uintptr_t)ARG(l, i, unsigned long long))

static void
fake_memory_kernel(struct fake_launch *l)
{
	const char *k = l->name;

	if (strcmp(k, "berth_k_fill") == 0) {
		for (uint64_t i = 0; i < ARG(l, 1, uint64_t); i++)
			PTR(l, 0, double)[i] = arith_unit(ARG(l, 2, uint64_t), i);
		l->bytes = 8.0 * (double)ARG(l, 1, uint64_t);
	} else if (strcmp(k, "berth_k_read") == 0) {
		uint32_t x = 0;

		for (int pass = 0; pass < ARG(l, 2, int); pass++)
			for (uint64_t i = 0; i < 4 * ARG(l, 1, uint64_t); i++)
				x ^= PTR(l, 0, uint32_t)[i];
		*PTR(l, 3, uint32_t) ^= x;
		l->out = PTR(l, 3, uint32_t);
		l->out_bytes = 4;
		l->bytes = 16.0 * (double)ARG(l, 1, uint64_t) * ARG(l, 2, int);
	} else if (strcmp(k, "berth_k_copy") == 0) {
		l->out = PTR(l, 0, void);
		l->out_bytes = 16 * ARG(l, 2, uint64_t);
		memcpy(l->out, PTR(l, 1, void), l->out_bytes);
		l->bytes = 2.0 * (double)l->out_bytes;
	} else if (strcmp(k, "berth_k_triad") == 0) {
		for (uint64_t i = 0; i < 2 * ARG(l, 4, uint64_t); i++)
			PTR(l, 0, double)[i] = arith_triad(PTR(l, 1, double)[i], PTR(l, 2, double)[i], ARG(l, 3, double));
		l->out = PTR(l, 0, void);
		l->out_bytes = 16 * ARG(l, 4, uint64_t);
		l->bytes = 3.0 * (double)l->out_bytes;
	} else if (strcmp(k, "berth_k_stream") == 0) {
		for (uint64_t i = 0; i < ARG(l, 4, uint64_t); i++)
			PTR(l, 0, double)[i] = arith_triad(PTR(l, 1, double)[i], PTR(l, 2, double)[i], ARG(l, 3, double));
		l->out = PTR(l, 0, void);
		l->out_bytes = 8 * ARG(l, 4, uint64_t);
		l->bytes = 3.0 * (double)l->out_bytes;
	} else if (strcmp(k, "berth_k_sum") == 0) {
		for (uint64_t i = 0; i < ARG(l, 1, uint64_t); i++)
			*PTR(l, 2, uint64_t) += arith_term(PTR(l, 0, uint64_t)[i], i);
		l->bytes = 8.0 * (double)ARG(l, 1, uint64_t);
	} else if (strcmp(k, "berth_k_chase_fill") == 0) {
		for (uint64_t i = 0; i < ARG(l, 1, uint64_t); i++)
			PTR(l, 0, uint32_t)[i * ARITH_SLOT] = arith_next((uint32_t)i, (uint32_t)ARG(l, 1, uint64_t) - 1);
	} else if (strcmp(k, "berth_k_chase") == 0) {
		uint64_t i = ARG(l, 1, uint32_t);

		for (int s = 0; s < ARG(l, 2, int); s++)
			i = PTR(l, 0, uint32_t)[i * ARITH_SLOT];
		*PTR(l, 3, uint32_t) = (uint32_t)i;
		l->out = PTR(l, 3, void);
		l->out_bytes = 4;
		fake_cuda_advance(ARG(l, 2, int) * fake_number("latency_ns", current, 600) * 1e-6);
	}
}

static void
fake_pattern_kernel(struct fake_launch *l)
{
	uint64_t *a = PTR(l, 0, uint64_t), n = ARG(l, 1, uint64_t);
	const int kind = ARG(l, 2, int);
	const uint64_t seed = ARG(l, 3, uint64_t), invert = ARG(l, 4, uint64_t);
	const double stuck = fake_number("stuck", current, -1);

	l->bytes = 8.0 * (double)n;
	if (strcmp(l->name, "berth_k_pattern_write") == 0) {
		for (uint64_t i = 0; i < n; i++)
			a[i] = arith_pattern(kind, seed, i) ^ invert;
		if (stuck >= 0)
			a[(uint64_t)stuck % n] |= 1ull << 40;
		l->out = a;
		l->out_bytes = n * 8;
	} else {
		unsigned long long *r = PTR(l, 5, unsigned long long);

		for (uint64_t i = 0; i < n; i++) {
			const uint64_t d = a[i] ^ arith_pattern(kind, seed, i) ^ invert;

			if (d != 0) {
				r[0]++;
				r[1] = i + 1 < r[1] ? i + 1 : r[1];
				r[2] |= d;
			}
		}
	}
}

/* Long runs are only timed, never checked: their arithmetic is left out. */
static void
fake_fma_kernel(struct fake_launch *l)
{
	const int fp64 = strcmp(l->name, "berth_k_fma64") == 0, iters = ARG(l, 3, int);
	uint64_t bits[ARITH_STARTS], v = 0;

	l->flop = 2.0 * ARITH_CHAINS * iters * (double)l->threads;
	l->rate = fp64 ? fake_number("fp64", current, 33) : fake_number("fp32", current, 60);
	l->out = PTR(l, 0, void);
	l->out_bytes = 8;
	if (iters > 512)
		return;
	for (uint64_t i = 0; i < ARITH_STARTS; i++)
		bits[i] = fp64 ? arith_bits64(arith_chain64(arith_start64(i), ARG(l, 1, double), ARG(l, 2, double), iters)) :
		    arith_bits32(arith_chain32(arith_start32(i), ARG(l, 1, float), ARG(l, 2, float), iters));
	for (uint64_t i = 0; i < l->threads * ARITH_CHAINS; i++)
		v += arith_term(bits[i & (ARITH_STARTS - 1)], i);
	*PTR(l, 0, uint64_t) += v;
}

/* Every element right: what the kernel would count. The flop of a step are not known here: a step takes 1 us. */
static void
fake_tensor_kernel(struct fake_launch *l)
{
	const int wg = strstr(l->name, "wgmma") != NULL;
	const double elements = wg ? 128 : strstr(l->name, "f64") != NULL ? 8 : 16;
	const double flop = wg ? 2.0 * 64 * 256 * (strstr(l->name, "e4m3") != NULL ? 32 : 16) * 4 / 128 :
	    elements * 2 * 2 * (strstr(l->name, "s8") != NULL || strstr(l->name, "e4m3") != NULL ? 32 :
	    strstr(l->name, "f64") != NULL ? 4 : strstr(l->name, "tf32") != NULL || strstr(l->name, "turing") != NULL ? 8 : 16);

	*PTR(l, 0, uint64_t) += (uint64_t)elements * l->threads;
	l->flop = flop * ARG(l, 2, int) * (double)l->threads;
	l->rate = fake_number("tensor", current, 600) * (strstr(l->name, "f64") != NULL ? 1.0 / 16 :
	    strstr(l->name, "tf32") != NULL ? 0.5 : strstr(l->name, "s8") != NULL || strstr(l->name, "e4m3") != NULL ? 2 : 1);
	l->out = PTR(l, 0, void);
	l->out_bytes = 8;
}

static void
fake_operand_kernel(struct fake_launch *l)
{
	const uint64_t n = ARG(l, 1, uint64_t), seed = ARG(l, 4, uint64_t);
	const int kind = ARG(l, 2, int), random = ARG(l, 3, int);
	const int bytes = kind == ARITH_FP64 ? 8 : kind == ARITH_FP32 ? 4 : kind == ARITH_FP16 || kind == ARITH_BF16 ? 2 : 1;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t v = arith_operand(kind, random, seed, i);

		if (kind == ARITH_E2M1) {
			v |= arith_operand(kind, random, seed, i + 1) << 4;
			PTR(l, 0, unsigned char)[i / 2] = (unsigned char)v;
			i++;
		} else {
			memcpy(PTR(l, 0, unsigned char) + i * (unsigned)bytes, &v, (size_t)bytes);	/* little endian */
		}
	}
	l->bytes = (double)n * bytes;
}

static void
fake_product_kernel(struct fake_launch *l)
{
	const int type = ARG(l, 1, int);
	const uint64_t m = ARG(l, 2, uint64_t), n = ARG(l, 3, uint64_t);
	uint64_t h = 0;

	for (uint64_t i = 0; i < m * n; i++) {
		const double x = type == 0 ? PTR(l, 0, double)[i] : type == 1 ? (double)PTR(l, 0, float)[i] :
		    (double)PTR(l, 0, int)[i];

		h += arith_weight(ARITH_SEED_U, i % m) * arith_integer(x) * arith_weight(ARITH_SEED_V, i / m);
	}
	*PTR(l, 4, uint64_t) += h;
	l->bytes = 4.0 * (double)(m * n);
}

static void
fake_plant(struct fake_launch *l)
{
	const int flip = fake_is("flip", current, l->name) ||
	    (fake_is("flaky", current, l->name) && runs[current]++ % 2 == 1);

	if (flip && l->out != NULL && l->out_bytes > 0)
		((unsigned char *)l->out)[l->out_bytes / 2] ^= 2;
}

EXPORT int
cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned sh,
    void *st, void **p, void **x)
{
	struct fake_launch l = { .name = f, .threads = (unsigned long long)gx * bx, .p = p, .rate = 1 };
	(void)gy; (void)gz; (void)by; (void)bz; (void)sh; (void)st; (void)x;

	while (fake_is("hang", current, l.name))
		sleep(1);
	if (fake_is("fail", current, l.name))
		return (int)fake_number("code", current, 719);
	if (fake_is("idle", current, l.name)) {
		fake_cuda_advance(0.1);
		return 0;
	}
	if (strncmp(l.name, "berth_k_pattern", 15) == 0)
		fake_pattern_kernel(&l);
	else if (strncmp(l.name, "berth_k_fma", 11) == 0)
		fake_fma_kernel(&l);
	else if (strstr(l.name, "mma_") != NULL)
		fake_tensor_kernel(&l);
	else if (strcmp(l.name, "berth_k_operand") == 0)
		fake_operand_kernel(&l);
	else if (strcmp(l.name, "berth_k_product") == 0)
		fake_product_kernel(&l);
	else
		fake_memory_kernel(&l);
	fake_plant(&l);
	/* no launch cost: small arrays shall show the rates that the test gave */
	fake_cuda_advance(l.bytes / fake_number("bw", current, 3000) * 1e-6 + l.flop / l.rate * 1e-9);
	return 0;
}
