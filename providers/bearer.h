/* providers/bearer.h - an access token as OAuth 2 endpoints and metadata servers answer it.  Floor:
 * providers. */
#ifndef BERTH_PROVIDERS_BEARER_H
#define BERTH_PROVIDERS_BEARER_H

#include <stdbool.h>
#include <stdint.h>

#include "net/http.h"

/* Zeroed: none yet. The text is the heap's, wiped by bearer_drop(). */
struct bearer {
	char *token;
	int64_t got, ends; /* s since epoch; ends 0: not said, so good for one call */
	bool used;
};

/*
 * Reads {"access_token", "expires_in" | "expires_on"} (RFC 6749, 5.1, and what Azure makes of it):
 * expires_in as a number or a string of one, s from now; else expires_on as seconds since 1970, as
 * RFC 3339 or as "MM/DD/YYYY hh:mm:ss +00:00". expires_in goes first, for it does not depend on
 * whose clock is right. A token without either is used once. BERTH_EAUTH: no token, or one with
 * control characters or blanks; BERTH_EINVAL: a time that is none.
 */
BERTH_MUST_CHECK enum berth_code bearer_parse(
    struct bearer *b, const struct http_resp *resp, int64_t now, struct berth_err *err);
/*
 * Whether a new one must be had before a call at now: there is none, it was good for one call, or
 * it ends within 5 minutes (a tenth of its life if that is less, for some servers hand out what is
 * left of an older one).
 */
bool bearer_need(const struct bearer *b, int64_t now);
/* Puts "Authorization: Bearer ..." on the request, in place of one that is there. BERTH_EAUTH if
 * there is no token. */
BERTH_MUST_CHECK enum berth_code bearer_sign(
    struct bearer *b, struct http_req *req, struct berth_err *err);
void bearer_drop(struct bearer *b);

#endif
