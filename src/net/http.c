#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "net/http_int.h"

static char *
http_dup(const char *s)
{
	return s != NULL && s[0] != '\0' ? strdup(s) : NULL;
}

static void
http_defaults(struct http_config *c)
{
	const char *tmp = getenv("TMPDIR");

	if (c->timeout_s <= 0)
		c->timeout_s = 60;
	if (c->connect_timeout_s <= 0)
		c->connect_timeout_s = 10;
	if (c->stall_s <= 0)
		c->stall_s = 30;
	if (c->max_bytes == 0)
		c->max_bytes = (size_t)64 * 1024 * 1024;
	if (c->max_spool == 0)
		c->max_spool = (size_t)4 * 1024 * 1024 * 1024;
	if (c->max_redirects <= 0)
		c->max_redirects = 5;
	if (c->spool_dir == NULL)
		c->spool_dir = tmp != NULL && tmp[0] == '/' ? tmp : "/tmp";
}

enum berth_code
http_new(const struct http_config *conf, struct http **http_out, struct berth_err *err)
{
	struct http *h = calloc(1, sizeof(*h));

	if (h == NULL)
		return err_set(err, BERTH_ENOMEM, "http: no memory for a client");
	if (conf != NULL)
		h->conf = *conf;
	http_defaults(&h->conf);
	h->ca_file = http_dup(h->conf.ca_file);
	h->proxy = http_dup(h->conf.proxy);
	h->user_agent = http_dup(
	    h->conf.user_agent != NULL ? h->conf.user_agent : PACKAGE_NAME "/" PACKAGE_VERSION);
	h->conf.ca_file = h->ca_file;
	h->conf.proxy = h->proxy;
	h->conf.user_agent = h->user_agent;
	*http_out = h;
	return BERTH_OK;
}

enum berth_code
http_start(struct http *http, struct berth_err *err)
{
	curl_version_info_data *v;
	enum berth_code rc;

	if (http->multi != NULL)
		return BERTH_OK;
	if ((rc = curl_load(err)) != BERTH_OK)
		return rc;
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return err_set(err, BERTH_EFAIL, "http: libcurl cannot start");
	v = curl_version_info(CURLVERSION_NOW);
	if ((v->features & CURL_VERSION_SSL) == 0)
		return err_set(err, BERTH_EFAIL, "http: this libcurl (%s) has no TLS", v->version);
	if ((http->multi = curl_multi_init()) == NULL)
		return err_set(err, BERTH_ENOMEM, "http: no memory for a client");
	(void)curl_multi_setopt(http->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, 128L);
	(void)curl_multi_setopt(http->multi, CURLMOPT_MAXCONNECTS, 64L);
	return BERTH_OK;
}

static void
http_give_up(struct http_call *c)
{
	(void)curl_multi_remove_handle(c->http->multi, c->curl);
	curl_easy_cleanup(c->curl);
	curl_slist_free_all(c->list);
	http_origin_free(&c->origin);
	buf_free(&c->hop.body);
	if (c->hop.file != NULL)
		(void)fclose(c->hop.file);
	free(c);
}

void
http_cancel(struct http *http)
{
	while (http->calls != NULL) {
		struct http_call *c = http->calls;

		http->calls = c->next;
		http_give_up(c);
	}
}

void
http_free(struct http *http)
{
	if (http == NULL)
		return;
	http_cancel(http);
	for (size_t i = 0; i < http->n_idle; i++)
		curl_easy_cleanup(http->idle[i]);
	if (http->multi != NULL)
		(void)curl_multi_cleanup(http->multi);
	free(http->ca_file);
	free(http->proxy);
	free(http->user_agent);
	free(http);
}
