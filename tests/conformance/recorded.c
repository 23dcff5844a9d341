/* tests/conformance/recorded.c - nothing secret of an account stands in a recording of its exchanges. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "net/http_tape.h"
#include "tests/conformance/kit.h"
#include "tests/tap.h"
#include "util/arena.h"
#include "util/base64.h"
#include "util/fileio.h"
#include "util/str.h"

#define RECORDED_USER_DATA "#!/bin/sh\n# of a person, who may write a pass-SECRET here\nexec sleep 9\n"
#define RECORDED_MAX 512

struct recorded {
	prov_exchange_fn *cloud;
	struct http_tape *tape;
	struct arena *a;
	const char *secrets[RECORDED_MAX];	/* what the requests carried in secret headers */
	size_t n, open, puts;
	struct offer offer;			/* the first one on demand */
};

/* What carries credentials must say so, or it is neither scrubbed nor dropped at a redirect. */
static bool
recorded_is_telling(const char *name)
{
	static const char *const names[] = { "Authorization", "Proxy-Authorization", "Cookie", "X-Auth-Token", "X-Amz-Security-Token",
		"X-SLURM-USER-TOKEN", "X-Crusoe-Signature", "X-Identity-Header", "X-Aws-Ec2-Metadata-Token", "X-Subject-Token" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcasecmp(names[i], name) == 0)
			return true;
	return false;
}

static enum berth_code
recorded_answer(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp, struct berth_err *err)
{
	struct recorded *r = arg;
	enum berth_code rc = r->cloud(NULL, acc, req, resp, err);

	for (size_t i = 0; i < req->n_headers; i++) {
		const struct http_header *h = &req->headers[i];
		const char *blank = strchr(h->value, ' ');

		r->open += !h->secret && recorded_is_telling(h->name);
		if (h->secret && r->n < RECORDED_MAX)
			r->secrets[r->n++] = arena_strdup(r->a, blank != NULL && blank - h->value < 24 ? blank + 1 : h->value);
	}
	if (rc != BERTH_OK)
		return rc;
	r->puts++;
	return http_tape_put(r->tape, "acc", req, resp, err);
}

static enum berth_code
recorded_offer(void *arg, const struct offer *o, struct berth_err *err)
{
	struct recorded *r = arg;
	struct offer *to = &r->offer;

	(void)err;
	if (to->provider != NULL || o->purchase != PURCHASE_ON_DEMAND)
		return BERTH_OK;
	*to = *o;
	to->provider = arena_strdup(r->a, o->provider);
	to->account = arena_strdup(r->a, o->account);
	to->region = arena_strdup(r->a, o->region);
	to->zone = arena_strdup(r->a, o->zone);
	to->instance_type = arena_strdup(r->a, o->instance_type);
	to->accelerator = arena_strdup(r->a, o->accelerator);
	to->source = arena_strdup(r->a, o->source);
	return BERTH_OK;
}

static enum berth_code
recorded_check(void *arg, const struct prov_check *c, struct berth_err *err)
{
	(void)arg, (void)c, (void)err;
	return BERTH_OK;
}

static enum berth_code
recorded_machine(void *arg, const struct prov_machine *m, struct berth_err *err)
{
	(void)arg, (void)m, (void)err;
	return BERTH_OK;
}

/* The life of a machine, with each call that the adapter has. */
static void
recorded_life(struct prov_account *acc, struct recorded *r)
{
	struct prov_create want = { .token = "tok-9", .offer = &r->offer, .user_data = RECORDED_USER_DATA };
	struct prov_machine m;
	struct berth_err err = { 0 };

	tap_code(prov_offers(acc, NULL, recorded_offer, r, &err), BERTH_OK, &err);
	tap_code(prov_create(acc, &want, &m, &err), BERTH_OK, &err);
	(void)!prov_checks(acc, recorded_check, NULL, &err);
	tap_code(prov_list_ours(acc, recorded_machine, NULL, &err), BERTH_OK, &err);
	tap_code(prov_destroy(acc, m.ref, &m, &err), BERTH_OK, &err);
}

static size_t
recorded_lines(const char *bytes, struct arena *a, const char *text)
{
	size_t found = 0, n;

	for (const char *p = text; *p != '\0'; p += n + (p[n] == '\n')) {
		n = strcspn(p, "\n");
		found += n > 20 && strncmp(p, "-----", 5) != 0 && strstr(bytes, arena_strndup(a, p, n)) != NULL;
	}
	return found;
}

void
recorded_keeps_no_secret(const char *provider, struct prov_account *acc, prov_exchange_fn *cloud, const char *dir)
{
	struct recorded r = { .cloud = cloud, .a = arena_new() };
	const char *path = arena_printf(r.a, "%s/tape-%s.jsonl", dir, provider), *b64;
	struct berth_err err = { 0 };
	size_t len = 0, found = 0;
	char *bytes = NULL;

	tap_code(http_tape_record(path, &r.tape, &err), BERTH_OK, &err);
	prov_account_hook(acc, recorded_answer, &r);
	recorded_life(acc, &r);
	http_tape_free(r.tape);
	tap_code(fileio_slurp(r.a, path, (size_t)64 << 20, &bytes, &len, &err), BERTH_OK, &err);
	tap_ok(r.puts > 3 && len > 200, "%s: %zu exchanges are written down", provider, r.puts);
	tap_is_long((long)r.open, 0, "%s: headers with credentials are marked secret", provider);
	for (size_t i = 0; i < r.n; i++)
		if (strlen(r.secrets[i]) >= 6 && strstr(bytes, r.secrets[i]) != NULL && found++ < 3)
			tap_diag("%s: %s", provider, r.secrets[i]);
	tap_is_long((long)found, 0, "%s: none of the secret headers is in the recording", provider);
	tap_ok(strstr(bytes, "SECRET") == NULL, "%s: nor a key, nor what a machine is to run", provider);
	b64 = base64_encode(r.a, RECORDED_USER_DATA, strlen(RECORDED_USER_DATA));
	tap_ok(strstr(bytes, arena_strndup(r.a, b64, 24)) == NULL, "%s: nor that in base64", provider);
	tap_is_long((long)recorded_lines(bytes, r.a, getenv("BERTH_TEST_PEM")), 0, "%s: nor a private key", provider);
	tap_ok(strstr(bytes, getenv("BERTH_TEST_B64")) == NULL && strstr(bytes, "\"sec\"") == NULL && strstr(bytes, "=sec&") == NULL &&
	    strstr(bytes, "=ref&") == NULL && strstr(bytes, "=ref\"") == NULL, "%s: nor a short one", provider);
	(void)unlink(path);
	arena_free(r.a);
}
