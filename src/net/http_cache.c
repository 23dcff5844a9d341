#include "net/http_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/arena.h"
#include "util/fileio.h"
#include "util/hash.h"
#include "util/json.h"
#include "util/str.h"

#define CACHE_KEEP_S (INT64_C(30) * 86400) /* an entry that nobody renewed for so long goes */
#define CACHE_HEAD_MAX ((size_t)64 * 1024)

struct http_cache {
	char *dir;
	bool tidied;
};

/* A head as read. */
struct cache_head {
	const char *etag, *modified, *type, *body; /* body: file name in the folder */
	int64_t fetched, length;
};

enum berth_code
http_cache_new(const char *dir, struct http_cache **cache_out, struct berth_err *err)
{
	struct http_cache *c = calloc(1, sizeof(*c));

	if (c == NULL || (c->dir = strdup(dir)) == NULL) {
		free(c);
		return err_set(err, BERTH_ENOMEM, "no memory for a cache");
	}
	*cache_out = c;
	return BERTH_OK;
}

void
http_cache_free(struct http_cache *cache)
{
	if (cache == NULL)
		return;
	free(cache->dir);
	free(cache);
}

static const char *
cache_name(const struct http_req *req)
{
	char hex[HASH_SHA256_SIZE];

	if (req->cache_key == NULL || (req->method != NULL && !str_eq(req->method, "GET")) ||
	    hash_sha256_hex(req->cache_key, strlen(req->cache_key), hex, NULL) != BERTH_OK)
		return NULL;
	return arena_strndup(req->arena, hex, 40);
}

static const char *
cache_path(const struct http_cache *c, struct arena *a, const char *name, const char *end)
{
	return arena_printf(a, "%s/%s%s", c->dir, name, end);
}

static bool
cache_head_read(const struct http_cache *c, const struct http_req *req, struct cache_head *h)
{
	const char *name = cache_name(req);
	struct jsonr root;
	json_t *v = NULL;
	char *bytes;
	bool ok;
	size_t n;

	*h = (struct cache_head){ .etag = "", .modified = "", .type = "", .body = "" };
	if (name == NULL ||
	    fileio_slurp(req->arena, cache_path(c, req->arena, name, ".json"), CACHE_HEAD_MAX,
		&bytes, &n, NULL) != BERTH_OK ||
	    jsonr_parse(bytes, n, "cache", &v, NULL) != BERTH_OK)
		return false;
	root = jsonr_root(v, "cache");
	ok = jsonr_str(&root, "etag", &h->etag, NULL) == BERTH_OK &&
	     jsonr_str(&root, "modified", &h->modified, NULL) == BERTH_OK &&
	     jsonr_str(&root, "type", &h->type, NULL) == BERTH_OK &&
	     jsonr_str(&root, "body", &h->body, NULL) == BERTH_OK &&
	     jsonr_int(&root, "fetched", 1, INT64_MAX, &h->fetched, NULL) == BERTH_OK &&
	     jsonr_int(&root, "length", 0, INT64_MAX, &h->length, NULL) == BERTH_OK &&
	     h->body[0] != '\0' && strchr(h->body, '/') == NULL;
	h->etag = arena_strdup(req->arena, h->etag);
	h->modified = arena_strdup(req->arena, h->modified);
	h->type = arena_strdup(req->arena, h->type);
	h->body = arena_strdup(req->arena, h->body);
	json_decref(v);
	return ok;
}

static bool
cache_head_write(const struct http_cache *c, const struct http_req *req, const struct cache_head *h)
{
	struct buf b;
	struct jsonw w;
	bool ok;

	buf_init(&b, CACHE_HEAD_MAX);
	jsonw_init_buf(&w, &b, JSONW_PRETTY);
	jsonw_begin_object(&w, NULL);
	jsonw_str(&w, "key", req->cache_key);
	jsonw_int(&w, "fetched", h->fetched);
	jsonw_str(&w, "etag", h->etag);
	jsonw_str(&w, "modified", h->modified);
	jsonw_str(&w, "type", h->type);
	jsonw_str(&w, "body", h->body);
	jsonw_int(&w, "length", h->length);
	jsonw_end_object(&w);
	ok = jsonw_finish(&w, NULL) == BERTH_OK &&
	     atomicfile_write(cache_path(c, req->arena, cache_name(req), ".json"), b.p, b.len, 0600,
		 NULL) == BERTH_OK;
	buf_free(&b);
	return ok;
}

static bool
cache_whole(const struct http_cache *c, struct arena *a, const struct cache_head *h)
{
	struct stat st;

	return stat(cache_path(c, a, h->body, ""), &st) == 0 && st.st_size == h->length;
}

/* The kept body as resp: a file for a spooled request, else memory. */
static bool
cache_load(const struct http_cache *c, const struct http_req *req, const struct cache_head *h,
    struct http_resp *resp)
{
	const char *path = cache_path(c, req->arena, h->body, "");
	char *bytes;
	size_t n;
	FILE *f = NULL;

	if (!cache_whole(c, req->arena, h))
		return false;
	memset(resp, 0, sizeof(*resp));
	resp->arena = req->arena;
	resp->status = 200;
	resp->body = "";
	resp->cached = h->fetched;
	resp->headers[resp->n_headers++] = (struct http_header){ "Content-Type", h->type, false };
	if (req->spool) {
		f = fopen(path, "re");
		resp->file = f;
		return f != NULL;
	}
	if (fileio_slurp(req->arena, path, (size_t)h->length + 1, &bytes, &n, NULL) != BERTH_OK ||
	    n != (size_t)h->length)
		return false;
	resp->body = bytes;
	resp->body_len = n;
	return true;
}

bool
http_cache_fresh(
    struct http_cache *cache, const struct http_req *req, int64_t now, struct http_resp *resp)
{
	struct cache_head h;

	return cache != NULL && cache_head_read(cache, req, &h) && now >= h.fetched &&
	       now - h.fetched < req->cache_ttl_s && cache_load(cache, req, &h, resp);
}

void
http_cache_ask(struct http_cache *cache, struct http_req *req)
{
	struct cache_head h;

	if (cache == NULL || !cache_head_read(cache, req, &h) ||
	    !cache_whole(cache, req->arena, &h))
		return;
	if (h.etag[0] != '\0')
		(void)!http_req_set_header(req, "If-None-Match", h.etag, false, NULL);
	else if (h.modified[0] != '\0')
		(void)!http_req_set_header(req, "If-Modified-Since", h.modified, false, NULL);
}

bool
http_cache_revive(
    struct http_cache *cache, const struct http_req *req, int64_t now, struct http_resp *resp)
{
	struct cache_head h;
	int64_t date = resp->date;

	if (cache == NULL || !cache_head_read(cache, req, &h) || !cache_load(cache, req, &h, resp))
		return false;
	resp->date = date;
	resp->cached = 0; /* the server says that it still holds */
	h.fetched = now;
	(void)cache_head_write(cache, req, &h);
	return true;
}

/* Entries that nobody has renewed, and what a killed run left. */
static void
cache_tidy(struct http_cache *c, int64_t now)
{
	DIR *d = opendir(c->dir);
	const struct dirent *e;

	c->tidied = true;
	while (d != NULL && (e = readdir(d)) != NULL) {
		struct stat st;

		if (e->d_name[0] != '.' &&
		    fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode) && now - st.st_mtime > CACHE_KEEP_S)
			(void)unlinkat(dirfd(d), e->d_name, 0);
	}
	if (d != NULL)
		(void)closedir(d);
}

static bool
cache_copy(FILE *from, int fd, int64_t *length_out)
{
	static const size_t step = 1024 * 1024;
	char *block = malloc(step);
	bool ok = block != NULL && fseeko(from, 0, SEEK_SET) == 0;
	size_t n;

	*length_out = 0;
	while (ok && (n = fread(block, 1, step, from)) > 0) {
		ok = write(fd, block, n) == (ssize_t)n;
		*length_out += (int64_t)n;
	}
	free(block);
	return ok && !ferror(from);
}

void
http_cache_keep(
    struct http_cache *cache, const struct http_req *req, const struct http_resp *resp, int64_t now)
{
	const char *name = cache != NULL ? cache_name(req) : NULL, *etag, *modified, *type;
	struct cache_head old, h = { .fetched = now, .length = (int64_t)resp->body_len };
	bool had, ok;
	char *path;
	int fd;

	if (name == NULL || resp->status != 200 || resp->cached != 0 ||
	    fileio_mkdirs(cache->dir, NULL) != BERTH_OK)
		return;
	if (!cache->tidied)
		cache_tidy(cache, now);
	path = arena_printf(req->arena, "%s/%s.XXXXXX", cache->dir, name);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return;
	ok = resp->file != NULL ? cache_copy(resp->file, fd, &h.length)
				: write(fd, resp->body, resp->body_len) == (ssize_t)resp->body_len;
	ok = close(fd) == 0 && ok;
	had = cache_head_read(cache, req, &old);
	etag = http_resp_header(resp, "ETag");
	modified = http_resp_header(resp, "Last-Modified");
	type = http_resp_header(resp, "Content-Type");
	h.etag = etag != NULL ? etag : "";
	h.modified = modified != NULL ? modified : "";
	h.type = type != NULL ? type : "";
	h.body = strrchr(path, '/') + 1;
	if (!ok || !cache_head_write(cache, req, &h))
		(void)unlink(path);
	else if (had)
		(void)unlink(cache_path(cache, req->arena, old.body, ""));
}

void
http_cache_drop(struct http_cache *cache, const struct http_req *req)
{
	struct cache_head h;

	if (cache == NULL || !cache_head_read(cache, req, &h))
		return;
	(void)unlink(cache_path(cache, req->arena, cache_name(req), ".json"));
	(void)unlink(cache_path(cache, req->arena, h.body, ""));
}
