/*
 * src/net/curl_load.h - libcurl, loaded at the first request.  Floor: net.
 *
 * With it come some thirty libraries, and loading them takes longer than all the rest of a command
 * that asks nobody. Its functions have their own names here, and are called in the library that
 * curl_load() has loaded. Configured with --disable-late-libcurl they are linked, which also has
 * the types of options checked.
 */
#ifndef BERTH_NET_CURL_LOAD_H
#define BERTH_NET_CURL_LOAD_H

#include <curl/curl.h>

#include "util/err.h"

/* Before any other; no other may be called where it fails. Idempotent. */
BERTH_MUST_CHECK enum berth_code curl_load(struct berth_err *err);

#ifdef LIBCURL_SONAME

#define CURL_LIB(X)                                                                                \
	X(easy_cleanup)                                                                            \
	X(easy_getinfo)                                                                            \
	X(easy_init)                                                                               \
	X(easy_reset)                                                                              \
	X(easy_setopt)                                                                             \
	X(easy_strerror)                                                                           \
	X(free)                                                                                    \
	X(getdate)                                                                                 \
	X(global_init)                                                                             \
	X(multi_add_handle)                                                                        \
	X(multi_cleanup)                                                                           \
	X(multi_info_read)                                                                         \
	X(multi_init)                                                                              \
	X(multi_perform)                                                                           \
	X(multi_poll)                                                                              \
	X(multi_remove_handle)                                                                     \
	X(multi_setopt)                                                                            \
	X(slist_append)                                                                            \
	X(slist_free_all)                                                                          \
	X(url)                                                                                     \
	X(url_cleanup)                                                                             \
	X(url_get)                                                                                 \
	X(url_set)                                                                                 \
	X(version_info)

struct curl_lib {
#define X(f) __typeof__(&curl_##f) f;
	CURL_LIB(X)
#undef X
};
extern struct curl_lib curl_lib;

#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt
#define curl_easy_cleanup curl_lib.easy_cleanup
#define curl_easy_getinfo curl_lib.easy_getinfo
#define curl_easy_init curl_lib.easy_init
#define curl_easy_reset curl_lib.easy_reset
#define curl_easy_setopt curl_lib.easy_setopt
#define curl_easy_strerror curl_lib.easy_strerror
#define curl_free curl_lib.free
#define curl_getdate curl_lib.getdate
#define curl_global_init curl_lib.global_init
#define curl_multi_add_handle curl_lib.multi_add_handle
#define curl_multi_cleanup curl_lib.multi_cleanup
#define curl_multi_info_read curl_lib.multi_info_read
#define curl_multi_init curl_lib.multi_init
#define curl_multi_perform curl_lib.multi_perform
#define curl_multi_poll curl_lib.multi_poll
#define curl_multi_remove_handle curl_lib.multi_remove_handle
#define curl_multi_setopt curl_lib.multi_setopt
#define curl_slist_append curl_lib.slist_append
#define curl_slist_free_all curl_lib.slist_free_all
#define curl_url curl_lib.url
#define curl_url_cleanup curl_lib.url_cleanup
#define curl_url_get curl_lib.url_get
#define curl_url_set curl_lib.url_set
#define curl_version_info curl_lib.version_info

#endif
#endif
