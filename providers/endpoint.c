#include <stdio.h>
#include <string.h>

#include "providers/endpoint.h"
#include "providers/prov.h"
#include "util/str.h"

/* Host and port in a URL of http or https; false: neither. */
struct endpoint_parts {
	bool tls;
	const char *host;
	size_t host_len;
	const char *port;
	size_t port_len;
};

static bool
endpoint_split(const char *url, struct endpoint_parts *p)
{
	const char *end, *colon;

	memset(p, 0, sizeof(*p));
	p->tls = str_istarts(url, "https://");
	if (!p->tls && !str_istarts(url, "http://"))
		return false;
	p->host = url + (p->tls ? 8 : 7);
	end = p->host + strcspn(p->host, "/?#");
	if (memchr(p->host, '@', (size_t)(end - p->host)) != NULL)
		return false;
	colon = end;
	while (colon > p->host && str_is_digit(colon[-1]))
		colon--;
	if (colon > p->host && colon[-1] == ':' && colon < end) {
		p->port = colon;
		p->port_len = (size_t)(end - colon);
		end = colon - 1;
	} else {
		p->port = p->tls ? "443" : "80";
		p->port_len = strlen(p->port);
	}
	p->host_len = (size_t)(end - p->host);
	return p->host_len > 0;
}

static bool
endpoint_is(const struct endpoint_parts *p, const char *host)
{
	size_t n = strlen(host);

	if (n != p->host_len)
		return false;
	for (size_t i = 0; i < n; i++)
		if (str_lower_char(p->host[i]) != host[i])
			return false;
	return true;
}

/* The URL as a message may show it: no user, no password, no query. */
static void
endpoint_show(const char *url, char *dst, size_t size)
{
	const char *slashes = strstr(url, "//"), *from = slashes != NULL ? slashes + 2 : url,
		   *end = from + strcspn(from, "?#"), *at = NULL;

	for (const char *p = from; p < end; p++)
		if (*p == '@')
			at = p;
	snprintf(dst, size, "%.*s%s%.*s", (int)(from - url < 16 ? from - url : 16), url,
	    at != NULL ? "..." : "", (int)(at != NULL ? end - at : end - from),
	    at != NULL ? at : from);
}

enum berth_code
endpoint_check(const char *what, const char *url, enum endpoint_trust trust, struct berth_err *err)
{
	struct endpoint_parts p;
	char shown[200];

	endpoint_show(url, shown, sizeof(shown));
	if (!endpoint_split(url, &p))
		return err_set(err, BERTH_EINVAL, "%s: '%s' is no URL of http or https%s", what,
		    shown, strchr(url, '@') != NULL ? " without a password" : "");
	if (url[strcspn(url, "?#")] != '\0')
		return err_set(err, BERTH_EINVAL, "%s: '%s': no query belongs there", what, shown);
	if (trust == ENDPOINT_SECRETS && !p.tls && !endpoint_is(&p, "localhost") &&
	    !endpoint_is(&p, "127.0.0.1") && !endpoint_is(&p, "[::1]"))
		return err_set(err, BERTH_EINVAL, "%s '%s': must be https, for the key goes along",
		    what, shown);
	return BERTH_OK;
}

enum berth_code
endpoint_read(const struct prov_env *env, const char *key, const char *fallback,
    enum endpoint_trust trust, const char **url_out, struct berth_err *err)
{
	char *url = arena_strdup(env->arena, prov_conf_str(env->conf, key, fallback));
	size_t n = strlen(url);

	while (n > 0 && url[n - 1] == '/')
		url[--n] = '\0';
	*url_out = url;
	return endpoint_check(key, url, trust, err);
}

bool
endpoint_same(const char *a, const char *b)
{
	struct endpoint_parts p, q;

	if (!endpoint_split(a, &p) || !endpoint_split(b, &q) || p.tls != q.tls ||
	    p.host_len != q.host_len || p.port_len != q.port_len ||
	    memcmp(p.port, q.port, p.port_len) != 0)
		return false;
	for (size_t i = 0; i < p.host_len; i++)
		if (str_lower_char(p.host[i]) != str_lower_char(q.host[i]))
			return false;
	return true;
}
