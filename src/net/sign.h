/* src/net/sign.h - request signatures of the clouds.  Floor: net. */
#ifndef BERTH_NET_SIGN_H
#define BERTH_NET_SIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/http.h"
#include "util/err.h"

/*
 * Pure functions: a request in, the same request with its signature out. Each may be called again
 * on the same request (another try, another clock): what it set before is replaced. The headers
 * that a request holds are signed as they stand, so a signature is the last thing before sending.
 * Clock: now, s since epoch UTC. All refuse (BERTH_EINVAL) a URL that is not scheme://host/...;
 * BERTH_EAUTH is a private key that cannot be read.
 */
struct sign_keys {
	const char *id, *secret;
	const char *token; /* of temporary keys; NULL or "": none */
};

/* What was signed, in the request's arena; for tests and for reading a refusal. It holds no secret.
 */
struct sign_text {
	const char *canonical, *to_sign, *signature;
};

struct sign_pair {
	const char *name, *value;
}; /* of a query, as meant: not encoded */

/*
 * "a=1&b=%2F": names and values percent-encoded but for A-Z a-z 0-9 - . _ ~, sorted by encoded
 * name, then by encoded value; an empty value keeps its "=". The text is right for the URL as well
 * as for every signature here.
 */
char *sign_query(struct arena *arena, const struct sign_pair *pairs, size_t n);

/*
 * A key, secret or token as files and variables hold it: a byte order mark and blanks or line ends
 * around it are taken off. Empty, or a control character inside: BERTH_EAUTH naming what (never the
 * text).
 */
BERTH_MUST_CHECK enum berth_code sign_key_text(
    struct arena *arena, const char *what, const char *text, char **key_out, struct berth_err *err);

/* AWS Signature Version 4 (docs.aws.amazon.com, "Create a signed AWS API request"). */
struct sign_v4 {
	struct sign_keys keys;
	const char *region, *service;
	int64_t now;
	bool raw_path;       /* "." ".." and "//" of the path stay as they are */
	bool body_header;    /* X-Amz-Content-Sha256 is sent and signed */
	bool token_unsigned; /* the token goes along outside the signature */
	int expires_s;       /* of a signed URL */
};

/* Sets X-Amz-Date, X-Amz-Security-Token, Authorization. text_out may be NULL, here and below. */
BERTH_MUST_CHECK enum berth_code sign_v4(struct http_req *req, const struct sign_v4 *s,
    struct sign_text *text_out, struct berth_err *err);
/* Puts everything into the URL instead; no header is added. Not to be repeated on the same request.
 */
BERTH_MUST_CHECK enum berth_code sign_v4_url(struct http_req *req, const struct sign_v4 *s,
    struct sign_text *text_out, struct berth_err *err);

/*
 * Tencent Cloud TC3-HMAC-SHA256. The request has Content-Type, X-TC-Action, X-TC-Version and
 * X-TC-Region; sets X-TC-Timestamp, X-TC-Token, Authorization. The date of the scope is that of now
 * in UTC.
 */
struct sign_tc3 {
	struct sign_keys keys;
	const char *service;
	int64_t now;
	bool action; /* X-TC-Action is signed too */
};
BERTH_MUST_CHECK enum berth_code sign_tc3(struct http_req *req, const struct sign_tc3 *s,
    struct sign_text *text_out, struct berth_err *err);

/*
 * Alibaba Cloud ACS3-HMAC-SHA256: signs host, content-type and x-acs-*. The request has
 * x-acs-action and x-acs-version; sets x-acs-date, x-acs-signature-nonce, x-acs-content-sha256,
 * x-acs-security-token, Authorization. A nonce must be new at each try.
 */
struct sign_acs3 {
	struct sign_keys keys;
	const char *nonce;
	int64_t now;
	bool as_is; /* the request has its x-acs-* headers (and Host) already: set Authorization
		       alone */
	const char *payload_hash; /* with as_is; NULL: of the body */
};
BERTH_MUST_CHECK enum berth_code sign_acs3(struct http_req *req, const struct sign_acs3 *s,
    struct sign_text *text_out, struct berth_err *err);

/*
 * Huawei Cloud SDK-HMAC-SHA256, or with a region V11-HMAC-SHA256 (the key derived by HKDF). Signs
 * every header but those with "_" in their name; sets X-Sdk-Date, X-Security-Token, Authorization.
 */
struct sign_sdk {
	struct sign_keys keys;
	int64_t now;
	const char *region, *service; /* NULL: not derived */
	bool no_host,
	    no_content_type; /* left out of the signature, as one of the official clients does */
};
BERTH_MUST_CHECK enum berth_code sign_sdk(struct http_req *req, const struct sign_sdk *s,
    struct sign_text *text_out, struct berth_err *err);

/*
 * Oracle Cloud: HTTP signature (draft-cavage), rsa-sha256, version 1. Sets Date, for POST PUT PATCH
 * also X-Content-SHA256 (Content-Length is signed and left to the client), and Authorization.
 * text_out->canonical is "".
 */
struct sign_oci {
	const char *key_id;     /* tenancy/user/fingerprint, or ST$token */
	const char *key_pem;    /* RSA private key */
	const char *passphrase; /* NULL: none */
	int64_t now;
	const char *date; /* NULL: from now */
};
BERTH_MUST_CHECK enum berth_code sign_oci(struct http_req *req, const struct sign_oci *s,
    struct sign_text *text_out, struct berth_err *err);

/*
 * Crusoe Cloud, version 1.0: HMAC-SHA256 over path, query, method and time, the secret being
 * base64url. Sets X-Crusoe-Timestamp and Authorization. BERTH_EAUTH: a secret that is not
 * base64url.
 */
BERTH_MUST_CHECK enum berth_code sign_crusoe(struct http_req *req, const struct sign_keys *keys,
    int64_t now, struct sign_text *text_out, struct berth_err *err);

/*
 * JSON Web Token, RS256 (RFC 7515, RFC 7518 3.3):
 * base64url(header).base64url(claims).base64url(signature), byte for byte from the texts given.
 * key_pem: PKCS#8 or PKCS#1, without a passphrase.
 */
BERTH_MUST_CHECK enum berth_code sign_jwt_rs256(struct arena *arena, const char *key_pem,
    const char *header_json, const char *claims_json, char **jwt_out, struct berth_err *err);

#endif
