#include "config.h"

#include "net/curl_load.h"

#ifdef LIBCURL_SONAME

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

struct curl_lib curl_lib;

enum berth_code
curl_load(struct berth_err *err)
{
	static bool loaded;
	void *so, *p;

	if (loaded)
		return BERTH_OK;
	so = dlopen(LIBCURL_SONAME, RTLD_NOW | RTLD_LOCAL);
	if (so == NULL)
		return err_set(err, BERTH_EFAIL,
		    "http: libcurl cannot be loaded (%s): install it (on Debian: libcurl4)",
		    dlerror());
#define X(f)                                                                                       \
	if ((p = dlsym(so, "curl_" #f)) == NULL)                                                   \
		return err_set(err, BERTH_EFAIL,                                                   \
		    "http: the %s here is too old, it has no curl_" #f                             \
		    ": install a newer libcurl, or build berth against this one",                  \
		    LIBCURL_SONAME);                                                               \
	memcpy(&curl_lib.f, &p, sizeof(p));
	CURL_LIB(X)
#undef X
	loaded = true;
	return BERTH_OK;
}

#else

enum berth_code
curl_load(struct berth_err *err)
{
	(void)err;
	return BERTH_OK;
}

#endif
