/* src/net/http_cache.h - answers on disk, with their age.  Floor: net. */
#ifndef BERTH_NET_HTTP_CACHE_H
#define BERTH_NET_HTTP_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "net/http.h"
#include "util/err.h"

/*
 * One entry a req->cache_key: a head KEY.json (URL, when fetched, ETag, Last-Modified, name and
 * length of the body) and a body, both 0600 in a folder 0700. A head is replaced in one step; a
 * body that is not as long as its head says is no entry. Faults of the disk are misses, never
 * errors: the cache only saves time. now: s since epoch.
 */
struct http_cache;

BERTH_MUST_CHECK enum berth_code http_cache_new(
    const char *dir, struct http_cache **cache_out, struct berth_err *err);
void http_cache_free(struct http_cache *cache); /* NULL is allowed */

/* The answer, if one is kept that is younger than req->cache_ttl_s: resp whole, with resp->cached
 * set. */
bool http_cache_fresh(
    struct http_cache *cache, const struct http_req *req, int64_t now, struct http_resp *resp);
/* Adds If-None-Match or If-Modified-Since of an older entry. */
void http_cache_ask(struct http_cache *cache, struct http_req *req);
/* resp is a 304: the entry takes its place, as fetched now. False: there is none any more. */
bool http_cache_revive(
    struct http_cache *cache, const struct http_req *req, int64_t now, struct http_resp *resp);
/* Keeps a 200 that could be read; resp->file is read from its start. */
void http_cache_keep(struct http_cache *cache, const struct http_req *req,
    const struct http_resp *resp, int64_t now);
/* Forgets an entry that could not be read. */
void http_cache_drop(struct http_cache *cache, const struct http_req *req);

#endif
