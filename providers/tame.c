#include <math.h>
#include <string.h>

#include "providers/tame.h"
#include "util/arena.h"
#include "util/str.h"

#define TAME_POD_MAX 16384 /* a whole pod of TPUs has 9,216 chips */
#define TAME_VCPUS_MAX 1e6
#define TAME_GIB_MAX 1e7 /* 10 PiB */
#define TAME_ACCELERATOR_GIB_MAX 1e5
#define TAME_DAY_S 86400

enum berth_code
tame_url(const char *url, struct berth_err *err)
{
	const char *host = strstr(url, "://"),
		   *path = host != NULL ? host + 3 + strcspn(host + 3, "/?#") : "";

	for (const char *p = url; *p != '\0'; p++)
		if ((unsigned char)*p <= ' ' || *p == 0x7f)
			return err_set(
			    err, BERTH_EINVAL, "a blank or a control character in a URL: not sent");
	while (*path == '/') {
		size_t n = strcspn(path + 1, "/?#");
		const char *part = path + 1;

		path += 1 + n;
		for (int dots = 0; n > 0; dots++) {
			size_t len =
			    *part == '.' ? 1
			    : n >= 3 && part[0] == '%' && part[1] == '2' && (part[2] | 32) == 'e'
				? 3
				: 0;

			if (len == 0 || dots == 2)
				break;
			part += len;
			n -= len;
			if (n == 0)
				return err_set(err, BERTH_EINVAL,
				    "'.' or '..' as a part of a URL would lead to something else: "
				    "not sent");
		}
	}
	return BERTH_OK;
}

static void
tame_words(char *s)
{
	for (; *s != '\0'; s++)
		for (size_t n = str_control_len(s); n > 0; n--)
			s[n - 1] = '?';
}

/* A name or number, [user@]host, ssh://[user@]host[:port]: what no program takes for an option or a
 * command. */
static bool
tame_is_address(const char *s)
{
	static const char plain[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:@/%[],";
	const char *host = str_starts(s, "ssh://") ? s + 6 : s, *at = strrchr(host, '@');

	if (s[strspn(s, plain)] != '\0' || host[0] == '-' || host[0] == '\0')
		return false;
	return at == NULL || (at[1] != '-' && at[1] != '\0');
}

enum berth_code
tame_machine(
    const struct provider_ops *ops, int64_t now, struct prov_machine *m, struct berth_err *err)
{
	if (provider_is_local(ops))
		return BERTH_OK;
	for (const char *p = m->ref; *p != '\0'; p++)
		if (str_control_len(p) > 0)
			return err_set(err, BERTH_EINVAL,
			    "a machine's id with a control character in it, byte %td",
			    p - m->ref + 1);
	tame_words(m->instance_type);
	tame_words(m->region);
	tame_words(m->zone);
	tame_words(m->detail);
	if (m->address[0] != '\0' && !tame_is_address(m->address))
		m->address[0] = '\0';
	if (m->created < 0 || m->created > now + TAME_DAY_S)
		m->created = 0;
	if (m->ready_at < 0)
		m->ready_at = 0;
	if (m->ended < m->created || m->ended < 0)
		m->ended = 0;
	if (m->notice_at < 0)
		m->notice_at = 0;
	if (m->reclaim_at < 0)
		m->reclaim_at = 0;
	return BERTH_OK;
}

static double
tame_size(double v, double most)
{
	return v >= 0 && v <= most ? v : NAN;
}

void
tame_quota(struct prov_quota *q)
{
	tame_words(q->name);
	tame_words(q->region);
	tame_words(q->zone);
	if (!(q->limit >= 0) || isinf(q->limit)) /* -1 is how some say that there is none */
		q->limit = NAN;
	if (!(q->used >= 0) || isinf(q->used))
		q->used = NAN;
}

/* As it is, or a copy whose control characters are '?'. */
static const char *
tame_copy(const char *s, struct arena *a)
{
	char *copy;

	for (const char *p = s; p != NULL && *p != '\0'; p++)
		if (str_control_len(p) > 0) {
			copy = arena_strdup(a, s);
			tame_words(copy);
			return copy;
		}
	return s;
}

void
tame_offer(struct offer *o, struct arena *a)
{
	const char **const words[] = { &o->region, &o->zone, &o->instance_type, &o->accelerator };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		*words[i] = tame_copy(*words[i], a);
	if (o->accelerator_count < 0 || o->accelerator_count > TAME_POD_MAX)
		o->accelerator_count = 0;
	o->accelerator_memory_gib = tame_size(o->accelerator_memory_gib, TAME_ACCELERATOR_GIB_MAX);
	o->vcpus = tame_size(o->vcpus, TAME_VCPUS_MAX);
	o->memory_gib = tame_size(o->memory_gib, TAME_GIB_MAX);
	if (o->interruption_rate < 0)
		o->interruption_rate = NAN;
}
