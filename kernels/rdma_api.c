#include "config.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "kernels/rdma_api.h"

int
rdma_api_open(struct rdma_api *api, char *why, size_t n)
{
	void *p;

	memset(api, 0, sizeof(*api));
	api->so = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
	if (api->so == NULL) {
		snprintf(why, n, "libibverbs.so.1 is not installed");
		return -1;
	}
#define X(f, r, s, a)                                                                              \
	p = dlsym(api->so, s);                                                                     \
	if (p == NULL) {                                                                           \
		snprintf(why, n, "libibverbs.so.1 lacks %s", s);                                   \
		return -1;                                                                         \
	}                                                                                          \
	memcpy(&api->f, &p, sizeof(p));
	RDMA_FUNCS(X)
#undef X
	return 0;
}
