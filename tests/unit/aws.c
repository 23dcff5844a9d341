/* tests/unit/aws.c - the AWS adapter: who gives the keys, price lists in every form, codes, machines. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/accel.h"
#include "providers/account.h"
#include "providers/aws/aws.h"
#include "providers/inifile.h"
#include "tests/tap.h"
#include "util/arena.h"
#include "util/fileio.h"
#include "util/json.h"
#include "util/log.h"
#include "util/str.h"
#include "util/yaml.h"

#define NOW INT64_C(1795996800)	/* 2026-11-30T00:00:00Z */
#define SECRET "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"

static struct arena *a;
static const struct accel_table *accels;
static struct berth_err err;
static char home[64];
static struct log quiet;
static const char *shared;

static void
clear_env(void)
{
	static const char *const names[] = { "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION",
		"AWS_DEFAULT_REGION", "AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
		"AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
		"AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "AWS_ROLE_SESSION_NAME" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unsetenv(names[i]);
	setenv("HOME", home, 1);
}

static const char *
put(const char *name, const char *text)
{
	const char *path = arena_printf(a, "%s/%s", home, name);

	if (fileio_mkdirs_for(path, &err) != BERTH_OK || atomicfile_write(path, text, strlen(text), 0600, &err) != BERTH_OK)
		tap_diag("%s", err.msg);
	return path;
}

static struct prov_account *
open_account(const char *section, enum berth_code want)
{
	struct prov_env env = { .now = NOW, .installation = "inst", .accels = accels, .log = &quiet, .config_dir = home };
	const struct yaml_node *n = NULL;
	struct prov_account *acc = NULL;

	memset(&err, 0, sizeof(err));
	tap_code(yaml_parse(a, section, strlen(section), "berth.yaml", &n, &err), BERTH_OK, &err);
	tap_code(prov_account_open(n, NULL, &env, &acc, &err), want, &err);
	return acc;
}

static const struct aws_auth *
auth_of(const struct prov_account *acc)
{
	return &((const struct aws *)acc->st)->auth;
}

/* What the wire is asked and answers, step by step. */
static struct step {
	const char *url, *body;		/* parts that must be in the request */
	int status;
	const char *answer;
} *steps;
static size_t n_steps, at_step;
static char last_auth[4096], last_token[512];

static enum berth_code
wire(void *arg, struct prov_account *acc, const struct http_req *req, struct http_resp *resp, struct berth_err *e)
{
	const struct step *s = at_step < n_steps ? &steps[at_step++] : NULL;
	const char *auth = http_req_get_header(req, "Authorization"), *token = http_req_get_header(req, "X-Amz-Security-Token");

	(void)arg;
	*resp = (struct http_resp){ .arena = req->arena, .body = "" };
	if (str_starts(req->url, "process://")) {
		at_step--;
		return prov_exchange_next(acc, req, resp, e);
	}
	str_copy(last_auth, sizeof(last_auth), auth != NULL ? auth : "");
	str_copy(last_token, sizeof(last_token), token != NULL ? token : "");
	if (s == NULL || strstr(req->url, s->url) == NULL || (s->body != NULL && (req->body == NULL || strstr(req->body, s->body) == NULL))) {
		tap_ok(0, "request %zu: %s %s", at_step, req->url, req->body != NULL ? req->body : "");
		return err_set(e, BERTH_EFAIL, "unexpected");
	}
	resp->status = s->status;
	resp->body = s->answer;
	resp->body_len = strlen(s->answer);
	return BERTH_OK;
}

static void
script(struct prov_account *acc, struct step *s, size_t n)
{
	steps = s;
	n_steps = n;
	at_step = 0;
	prov_account_hook(acc, wire, NULL);
}
#define SCRIPT(acc, s) script((acc), (s), sizeof(s) / sizeof((s)[0]))

#define EMPTY_LIST "<DescribeInstancesResponse><reservationSet/></DescribeInstancesResponse>"

static enum berth_code
no_machine(void *arg, const struct prov_machine *m, struct berth_err *e)
{
	(void)arg, (void)m, (void)e;
	return BERTH_OK;
}

static void
list_with(struct prov_account *acc, const char *who, const char *token, const char *what)
{
	tap_code(prov_list_ours(acc, no_machine, NULL, &err), BERTH_OK, &err);
	tap_ok(at_step == n_steps && strstr(last_auth, arena_printf(a, "Credential=%s/", who)) != NULL && str_eq(last_token, token),
	    "%s: signed by %s (%.60s)", what, who, last_auth);
}

/* Files as editors and copies leave them. */
static void
test_files(void)
{
	struct step s[] = { { "https://ec2.eu-west-3.amazonaws.com/", "Action=DescribeInstances", 200, EMPTY_LIST } };
	struct prov_account *acc;

	clear_env();
	put(".aws/credentials", "\xef\xbb\xbf[default]\r\naws_access_key_id = AKIDEXAMPLE \r\naws_secret_access_key = " SECRET "\t\r\n# foo = bar\r\n"
	    "\r\n[other]\r\naws_access_key_id=AKIDOTHER\r\naws_secret_access_key=short");
	put(".aws/config", "[default]\nregion = eu-west-3 # near\ns3 =\n  region = nowhere\n[profile far]\nregion=cn-north-1\n; x\n");
	acc = open_account("{name: x, provider: aws}", BERTH_OK);
	tap_is_str(auth_of(acc)->cred[0].secret, SECRET, "BOM, CRLF and blanks around are no part of a secret");
	SCRIPT(acc, s);
	list_with(acc, "AKIDEXAMPLE", "", "the default profile");
	prov_account_close(acc);
	acc = open_account("{name: x, provider: aws, profile: other, regions: [us-east-1]}", BERTH_OK);
	tap_ok(str_eq(auth_of(acc)->cred[0].id, "AKIDOTHER") && str_eq(auth_of(acc)->cred[0].secret, "short"), "no newline at the end");
	prov_account_close(acc);
	(void)open_account("{name: x, provider: aws, profile: nobody, regions: [us-east-1]}", BERTH_EAUTH);
	acc = open_account("{name: x, provider: aws, profile: far}", BERTH_OK);
	tap_ok(auth_of(acc)->source == AWS_SRC_NONE && strstr(auth_of(acc)->found, "profile 'far' holds no credentials") != NULL,
	    "a profile without keys: %s", auth_of(acc)->found);
	prov_account_close(acc);
	setenv("AWS_EC2_METADATA_DISABLED", "True", 1);
	(void)open_account("{name: x, provider: aws, profile: far}", BERTH_EAUTH);
	tap_ok(strstr(err.msg, "AWS_EC2_METADATA_DISABLED") != NULL, "which is not asked: %s", err.msg);
	unsetenv("AWS_EC2_METADATA_DISABLED");
	setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "no address", 1);
	(void)open_account("{name: x, provider: aws, profile: far}", BERTH_EINVAL);
	unsetenv("AWS_EC2_METADATA_SERVICE_ENDPOINT");
	put(".aws/credentials", "[default]\naws_access_key_id = AKID\naws_secret_access_key = wJalr\rXUt\n");
	(void)open_account("{name: x, provider: aws, regions: [us-east-1]}", BERTH_EAUTH);
	tap_ok(strstr(err.msg, "control character") != NULL && strstr(err.msg, "wJalr") == NULL, "refused before any call: %s", err.msg);
	setenv("AWS_ACCESS_KEY_ID", "AKIDENV", 1);
	(void)open_account("{name: x, provider: aws, regions: [us-east-1]}", BERTH_EAUTH);
	setenv("AWS_SECRET_ACCESS_KEY", SECRET "\n", 1);
	setenv("AWS_SESSION_TOKEN", "tok", 1);
	acc = open_account("{name: x, provider: aws, regions: [us-east-1]}", BERTH_OK);
	tap_ok(str_eq(auth_of(acc)->cred[0].id, "AKIDENV") && str_eq(auth_of(acc)->cred[0].token, "tok"), "the environment goes first");
	prov_account_close(acc);
	clear_env();
	setenv("K", "AKIDOWN\n", 1);
	setenv("S", SECRET, 1);
	acc = open_account("{name: x, provider: aws, access_key_id: env:K, secret_access_key: env:S, regions: [us-east-1]}", BERTH_OK);
	tap_is_str(auth_of(acc)->cred[0].id, "AKIDOWN", "keys of berth.yaml");
	prov_account_close(acc);
	put(".aws/credentials", "");
	put(".aws/config", "");
	(void)open_account("{name: x, provider: aws, access_key_id: env:K, secret_access_key: env:S}", BERTH_EINVAL);
	(void)open_account("{name: x, provider: aws, access_key_id: env:K, secret_access_key: env:S, regions: [us-east-1], "
	    "endpoint: \"http://far.example\"}", BERTH_EINVAL);
	(void)open_account("{name: x, provider: aws, access_key_id: env:K, secret_access_key: env:S, regions: [us-east-1], prices: html}",
	    BERTH_EINVAL);
}

#define ASSUMED(id, until) "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>" id "</AccessKeyId><SecretAccessKey>s" \
	"</SecretAccessKey><SessionToken>tok-" id "</SessionToken><Expiration>" until "</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"

/* A role of a role; renewed before it ends, and once after a refusal. */
static void
test_roles(void)
{
	struct step first[] = {
		{ "https://sts.us-east-1.amazonaws.com/", "Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3Aa%3Amid", 200,
		    ASSUMED("MID", "2026-11-30T01:00:00Z") },
		{ "https://sts.us-east-1.amazonaws.com/", "RoleArn=arn%3Aa%3Atop&RoleSessionName=me&ExternalId=ex", 200,
		    ASSUMED("TOP", "2026-11-30T00:30:00Z") },
		{ "https://ec2.us-east-1.amazonaws.com/", "", 200, EMPTY_LIST } };
	struct step second[] = { { "https://ec2.", "", 200, EMPTY_LIST } };
	struct step third[] = { { "https://sts.", "RoleArn=arn%3Aa%3Atop", 200, ASSUMED("TOP2", "2026-11-30T01:20:00Z") },
		{ "https://ec2.", "", 200, EMPTY_LIST } };
	struct step fourth[] = {
		{ "https://ec2.", "", 401, "<Response><Errors><Error><Code>AuthFailure</Code><Message>m</Message></Error></Errors></Response>" },
		{ "https://sts.", "RoleArn=arn%3Aa%3Amid", 200, ASSUMED("MID3", "2026-11-30T02:00:00Z") },
		{ "https://sts.", "RoleArn=arn%3Aa%3Atop", 200, ASSUMED("TOP3", "2026-11-30T02:00:00Z") },
		{ "https://ec2.", "", 200, EMPTY_LIST } };
	struct step refused[] = { { "https://sts.", "", 403, "<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>no</Message>"
		"</Error></ErrorResponse>" } };
	struct prov_account *acc;

	clear_env();
	put(".aws/config", "[profile top]\nrole_arn = arn:a:top\nrole_session_name = me\nexternal_id=ex\nsource_profile = mid\n"
	    "[profile mid]\nrole_arn = arn:a:mid\nsource_profile = base\n[profile base]\naws_access_key_id = BASE\naws_secret_access_key = s\n"
	    "[profile loop]\nrole_arn=arn:a:l\nsource_profile=loop2\n[profile loop2]\nrole_arn=arn:a:m\nsource_profile=loop\n"
	    "[profile bare]\nrole_arn=arn:a:l\n[profile sso]\nsso_session = s\n");
	acc = open_account("{name: x, provider: aws, profile: top, regions: [us-east-1]}", BERTH_OK);
	SCRIPT(acc, first);
	list_with(acc, "TOP", "tok-TOP", "a role of a role");
	prov_account_set_now(acc, NOW + 1400);
	SCRIPT(acc, second);
	list_with(acc, "TOP", "tok-TOP", "kept");
	prov_account_set_now(acc, NOW + 1510);
	SCRIPT(acc, third);
	list_with(acc, "TOP2", "tok-TOP2", "renewed five minutes before its end, the one under it kept");
	prov_account_set_now(acc, NOW + 1600);
	SCRIPT(acc, fourth);
	list_with(acc, "TOP3", "tok-TOP3", "made anew after a refusal");
	prov_account_close(acc);
	acc = open_account("{name: x, provider: aws, profile: top, regions: [us-east-1]}", BERTH_OK);
	SCRIPT(acc, refused);
	tap_code(prov_list_ours(acc, no_machine, NULL, &err), BERTH_EAUTH, &err);
	tap_ok(strstr(err.msg, "AccessDenied") != NULL, "a role that may not be assumed: %s", err.msg);
	prov_account_close(acc);
	(void)open_account("{name: x, provider: aws, profile: loop, regions: [us-east-1]}", BERTH_EINVAL);
	(void)open_account("{name: x, provider: aws, profile: bare, regions: [us-east-1]}", BERTH_EINVAL);
	(void)open_account("{name: x, provider: aws, profile: sso, regions: [us-east-1]}", BERTH_EAUTH);
	tap_ok(strstr(err.msg, "credential_process") != NULL, "SSO: what to do (%s)", err.msg);
}

#define KEYS(id, until) "{\"Code\":\"Success\",\"Type\":\"AWS-HMAC\",\"AccessKeyId\":\"" id "\",\"SecretAccessKey\":\"s\",\"Token\":\"t-" id \
	"\",\"Expiration\":\"" until "\"}"

static void
test_sources(void)
{
	struct step imds[] = { { "http://169.254.169.254/latest/api/token", NULL, 200, "TOKEN==" },
		{ "http://169.254.169.254/latest/meta-data/iam/security-credentials/", NULL, 200, "role-1" },
		{ "/latest/meta-data/iam/security-credentials/role-1", NULL, 200, KEYS("IMDS", "2026-11-30T06:00:00Z") },
		{ "https://ec2.", "", 200, EMPTY_LIST } };
	struct step none[] = { { "http://169.254.169.254/latest/api/token", NULL, 200, "TOKEN==" },
		{ "/security-credentials/", NULL, 404, "" } };
	struct step container[] = { { "http://169.254.170.2/v2/credentials/uuid", NULL, 200, KEYS("TASK", "2026-11-30T06:00:00Z") },
		{ "https://ec2.", "", 200, EMPTY_LIST } };
	struct step web[] = { { "https://sts.us-east-1.amazonaws.com/", "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aweb"
		"&RoleSessionName=berth&WebIdentityToken=eyJ.a.b", 200, "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>"
		"<AccessKeyId>WEB</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t-WEB</SessionToken><Expiration>2026-11-30T01:00:00Z"
		"</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>" },
		{ "https://ec2.", "", 200, EMPTY_LIST } };
	struct step ended[] = { { "http://169.254.170.2/v2/credentials/uuid", NULL, 200, KEYS("TASK", "2026-11-29T06:00:00Z") } };
	struct step process[] = { { "https://ec2.", "", 200, EMPTY_LIST } };
	const char *yaml = "{name: x, provider: aws, regions: [us-east-1]}";
	struct prov_account *acc;

	clear_env();
	put(".aws/config", "");
	acc = open_account(yaml, BERTH_OK);
	SCRIPT(acc, imds);
	list_with(acc, "IMDS", "t-IMDS", "the metadata service");
	prov_account_close(acc);
	acc = open_account(yaml, BERTH_OK);
	SCRIPT(acc, none);
	tap_code(prov_list_ours(acc, no_machine, NULL, &err), BERTH_EAUTH, &err);
	prov_account_close(acc);
	setenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/credentials/uuid", 1);
	acc = open_account(yaml, BERTH_OK);
	SCRIPT(acc, container);
	list_with(acc, "TASK", "t-TASK", "a container's task");
	prov_account_close(acc);
	acc = open_account(yaml, BERTH_OK);
	SCRIPT(acc, ended);
	tap_code(prov_list_ours(acc, no_machine, NULL, &err), BERTH_EAUTH, &err);
	tap_ok(strstr(err.msg, "ended already") != NULL, "keys that ended: %s", err.msg);
	prov_account_close(acc);
	clear_env();
	setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://evil.example/x", 1);
	(void)open_account(yaml, BERTH_EINVAL);
	clear_env();
	setenv("AWS_WEB_IDENTITY_TOKEN_FILE", put("token", "eyJ.a.b\n"), 1);
	setenv("AWS_ROLE_ARN", "arn:web", 1);
	acc = open_account(yaml, BERTH_OK);
	SCRIPT(acc, web);
	list_with(acc, "WEB", "t-WEB", "web identity");
	prov_account_close(acc);
	clear_env();
	put("keys.json", "{\"Version\":1,\"AccessKeyId\":\"PROC\",\"SecretAccessKey\":\"s\"}");
	put(".aws/config", arena_printf(a, "[default]\ncredential_process = cat \"%s/keys.json\"\n", home));
	acc = open_account(yaml, BERTH_OK);
	SCRIPT(acc, process);
	list_with(acc, "PROC", "", "a command");
	prov_account_close(acc);
	put(".aws/config", "[default]\ncredential_process = sh -c 'echo nothing here >&2; exit 3'\n");
	acc = open_account(yaml, BERTH_OK);
	SCRIPT(acc, process);
	tap_code(prov_list_ours(acc, no_machine, NULL, &err), BERTH_EAUTH, &err);
	tap_ok(strstr(err.msg, "ended with 3: nothing here") != NULL, "a command that fails: %s", err.msg);
	prov_account_close(acc);
	put(".aws/config", "");
}

/* One list in JSON, its rows in another order, and in CSV: the same offers. */

#define ATTR(type, more) "\"productFamily\":\"Compute Instance\",\"attributes\":{\"instanceType\":\"" type "\",\"location\":\"EU (Ireland)\"," \
	"\"vcpu\":\"96\",\"memory\":\"1,152 GiB\",\"gpu\":\"8\",\"operation\":\"RunInstances\"," more "}"
#define PLAIN "\"tenancy\":\"Shared\",\"operatingSystem\":\"Linux\",\"preInstalledSw\":\"NA\",\"capacitystatus\":\"Used\",\"marketoption\":\"OnDemand\"," \
	"\"licenseModel\":\"No License required\""
#define OD(sku, date, usd) "\"" sku ".T" date "\":{\"effectiveDate\":\"" date "\",\"priceDimensions\":{\"" sku ".T.D\":{\"unit\":\"Hrs\"," \
	"\"beginRange\":\"0\",\"endRange\":\"Inf\",\"pricePerUnit\":{\"USD\":\"" usd "\"}}}}"
#define RI(sku, code, lease, class, option, dims) "\"" sku "." code "\":{\"effectiveDate\":\"2026-01-01T00:00:00Z\",\"priceDimensions\":{" dims "}," \
	"\"termAttributes\":{\"LeaseContractLength\":\"" lease "\",\"OfferingClass\":\"" class "\",\"PurchaseOption\":\"" option "\"}}"
#define FEE(usd) "\"q\":{\"unit\":\"Quantity\",\"pricePerUnit\":{\"USD\":\"" usd "\"}}"
#define HRS(usd) "\"h\":{\"unit\":\"Hrs\",\"beginRange\":\"0\",\"pricePerUnit\":{\"USD\":\"" usd "\"}}"

#define PRODUCTS "\"products\":{" \
	"\"WAIT\":{" ATTR("p4d.24xlarge", "\"tenancy\":\"Shared\",\"operatingSystem\":\"Linux\",\"capacitystatus\":\"AllocatedCapacityReservation\"") "}," \
	"\"BLOCK\":{" ATTR("p4d.24xlarge", "\"tenancy\":\"Shared\",\"operatingSystem\":\"Linux\",\"marketoption\":\"CapacityBlock\"") "}," \
	"\"GOOD\":{\"sku\":\"GOOD\"," ATTR("p4d.24xlarge", PLAIN) "}," \
	"\"DED\":{" ATTR("p4d.24xlarge", "\"tenancy\":\"Dedicated\",\"operatingSystem\":\"Linux\"") "}," \
	"\"WIN\":{" ATTR("p4d.24xlarge", "\"tenancy\":\"Shared\",\"operatingSystem\":\"Windows\"") "}," \
	"\"SQL\":{" ATTR("p4d.24xlarge", "\"tenancy\":\"Shared\",\"operatingSystem\":\"Linux\",\"preInstalledSw\":\"SQL Ent\"") "}," \
	"\"CPU\":{" ATTR("m5.large", PLAIN) "},\"DISK\":{\"productFamily\":\"Storage\",\"attributes\":{\"x\":[1,{\"y\":2}]}}}"
#define ONDEMAND "\"OnDemand\":{\"WAIT\":{" OD("WAIT", "2026-11-01T00:00:00Z", "0.0000000000") "},\"BLOCK\":{" OD("BLOCK", "2026-11-01T00:00:00Z", "0") \
	"},\"GOOD\":{" OD("GOOD", "2025-01-01T00:00:00Z", "40") "," OD("GOOD", "2026-11-01T00:00:00Z", "32.7726000000") "," \
	OD("GOOD", "2027-01-01T00:00:00Z", "1") "},\"DED\":{" OD("DED", "2026-11-01T00:00:00Z", "36") "},\"WIN\":{" \
	OD("WIN", "2026-11-01T00:00:00Z", "3") "},\"SQL\":{" OD("SQL", "2026-11-01T00:00:00Z", "2") "},\"CPU\":{" OD("CPU", "2026-11-01T00:00:00Z", "0.1") "}}"
#define RESERVED "\"Reserved\":{\"GOOD\":{" RI("GOOD", "a", "3yr", "standard", "All Upfront", FEE("296000") "," HRS("0.0000000000")) "," \
	RI("GOOD", "b", "3yr", "standard", "Partial Upfront", HRS("5.89") "," FEE("155000")) "," \
	RI("GOOD", "c", "3yr", "standard", "No Upfront", HRS("14.08")) "," RI("GOOD", "d", "3yr", "convertible", "No Upfront", HRS("16")) "," \
	RI("GOOD", "e", "1yr", "standard", "All Upfront", HRS("0")) "}}"

static const char products[] = PRODUCTS, ondemand[] = ONDEMAND, reserved[] = RESERVED;

#define CSV_ROW(sku, term, kind, price, unit, currency, lease, option, tenancy, os, sw, status, market) \
	"\"" sku "\",\"" term "\",\"x\",\"" kind "\",\"d\",\"2026-11-01\",\"0\",\"Inf\",\"" unit "\",\"" price "\",\"" currency "\",\"" lease "\",\"" option \
	"\",\"standard\",\"Compute Instance\",\"EU (Ireland)\",\"p4d.24xlarge\",\"96\",\"1,152 GiB\",\"" tenancy "\",\"" os "\",\"" sw "\",\"" status \
	"\",\"" market "\",\"8\"\n"
static const char list_csv[] = "\"FormatVersion\",\"v1.0\"\n\"Disclaimer\",\"This, and \"\"that\"\".\"\n\"Publication Date\",\"2026-11-20T00:00:00Z\"\n"
	"\"Version\",\"1\"\n\"OfferCode\",\"AmazonEC2\"\n"
	"\"SKU\",\"OfferTermCode\",\"RateCode\",\"TermType\",\"PriceDescription\",\"EffectiveDate\",\"StartingRange\",\"EndingRange\",\"Unit\",\"PricePerUnit\","
	"\"Currency\",\"LeaseContractLength\",\"PurchaseOption\",\"OfferingClass\",\"Product Family\",\"Location\",\"Instance Type\",\"vCPU\",\"Memory\",\"Tenancy\","
	"\"Operating System\",\"Pre Installed S/W\",\"CapacityStatus\",\"MarketOption\",\"GPU\"\n"
	CSV_ROW("WAIT", "T", "OnDemand", "0.0000000000", "Hrs", "USD", "", "", "Shared", "Linux", "NA", "AllocatedCapacityReservation", "OnDemand")
	CSV_ROW("GOOD", "a", "Reserved", "296000", "Quantity", "USD", "3yr", "All Upfront", "Shared", "Linux", "NA", "Used", "OnDemand")
	CSV_ROW("GOOD", "T", "OnDemand", "32.7726000000", "Hrs", "USD", "", "", "Shared", "Linux", "NA", "Used", "OnDemand")
	CSV_ROW("WIN", "T", "OnDemand", "3", "Hrs", "USD", "", "", "Shared", "Windows", "NA", "Used", "OnDemand")
	CSV_ROW("GOOD", "b", "Reserved", "155000", "Quantity", "USD", "3yr", "Partial Upfront", "Shared", "Linux", "NA", "Used", "OnDemand")
	CSV_ROW("GOOD", "c", "Reserved", "14.08", "Hrs", "USD", "3yr", "No Upfront", "Shared", "Linux", "NA", "Used", "OnDemand")
	CSV_ROW("GOOD", "b", "Reserved", "5.89", "Hrs", "USD", "3yr", "Partial Upfront", "Shared", "Linux", "NA", "Used", "OnDemand")
	CSV_ROW("GOOD", "a", "Reserved", "0.0000000000", "Hrs", "USD", "3yr", "All Upfront", "Shared", "Linux", "NA", "Used", "OnDemand")
	CSV_ROW("DED", "T", "OnDemand", "36", "Hrs", "USD", "", "", "Dedicated", "Linux", "NA", "Used", "OnDemand");

static const struct offer *
find(const struct aws_scan *s, enum purchase p, int months, enum payment pay)
{
	for (size_t i = 0; i < s->offers.n; i++)
		if (s->offers.v[i].kind == OFFER_PLAIN && s->offers.v[i].purchase == p && s->offers.v[i].term_months == months && (p != PURCHASE_RESERVED || s->offers.v[i].payment == pay))
			return &s->offers.v[i];
	return NULL;
}

static void
check_list(const struct aws_scan *s, const char *what)
{
	size_t kinds[OFFER_KIND_COUNT] = { 0 };
	const struct offer *other = NULL;

	const struct offer *od = find(s, PURCHASE_ON_DEMAND, 0, PAYMENT_NONE), *all = find(s, PURCHASE_RESERVED, 36, PAYMENT_ALL),
	    *part = find(s, PURCHASE_RESERVED, 36, PAYMENT_PARTIAL), *none = find(s, PURCHASE_RESERVED, 36, PAYMENT_NONE);

	for (size_t i = 0; i < s->offers.n; i++) {
		kinds[s->offers.v[i].kind]++;
		if (s->offers.v[i].kind == OFFER_DEDICATED)
			other = &s->offers.v[i];
	}
	tap_ok(kinds[OFFER_PLAIN] == 4 && kinds[OFFER_WINDOWS] == 1 && kinds[OFFER_DEDICATED] == 1 && kinds[OFFER_LICENSED] <= 1 &&
	    kinds[OFFER_BLOCK] == 0, "%s: four plain offers and no more, the others under their kinds", what);
	tap_ok(other != NULL && other->price.v == 36000000 && other->purchase == PURCHASE_ON_DEMAND, "%s: dedicated", what);
	tap_ok(od != NULL && od->price.v == 32772600 && str_eq(od->region, "eu-west-1") && str_eq(od->accelerator, "A100-SXM4-40GB") &&
	    od->accelerator_count == 8 && od->vcpus == 96 && od->memory_gib == 1152, "%s: on demand, the price in force", what);
	/* The whole term's money over its 26,280 hours. */
	tap_near(all != NULL ? usd_to_double(offer_effective_hour(all)) : (double)NAN, 296000.0 / 26280, 1e-6, "%s: all upfront", what);
	tap_near(part != NULL ? usd_to_double(offer_effective_hour(part)) : (double)NAN, 155000.0 / 26280 + 5.89, 1e-6, "%s: partial", what);
	tap_ok(od != NULL && od->as_of == NOW - 60, "%s: as old as its reading, not as its term", what);
	tap_ok(none != NULL && none->price.v == 14080000, "%s: nothing upfront, and the standard class is the cheaper one", what);
}

static struct aws_scan *
scan_json(const char *bytes, size_t n, enum berth_code want)
{
	struct aws_scan *s = aws_scan_new();
	struct aws_price p = { .scan = s, .now = NOW, .as_of = NOW - 60, .source = "list" };

	s->reserved = true;
	tap_code(aws_price_json(&p, NULL, bytes, n, &err), want, &err);
	return s;
}

static FILE *
as_file(const char *bytes, size_t n)
{
	FILE *f = tmpfile();

	if (f != NULL && (fwrite(bytes, 1, n, f) != n || fseek(f, 0, SEEK_SET) != 0))
		tap_diag("no temporary file");
	return f;
}

static void
test_prices(void)
{
	static const char twice[] = "{\"products\":{\"A\":{" ATTR("p4d.24xlarge", PLAIN) "},\"B\":{" ATTR("p4d.24xlarge", PLAIN)
	    "}},\"terms\":{\"OnDemand\":{\"B\":{" OD("B", "2026-11-01T00:00:00Z", "30") "},\"A\":{" OD("A", "2026-11-01T00:00:00Z", "33") "}}}}";
	static const char empty[] = "{\"offerCode\":\"AmazonEC2\",\"products\":{}}", none[] = "[]", cut[] = "{\"products\":{\"A\":{";
	const char *list_json = arena_printf(a, "{\"formatVersion\":\"v1.0\",\"offerCode\":\"AmazonEC2\",%s,\"terms\":{%s,%s}}", products, ondemand,
	    reserved), *list_turned = arena_printf(a, "{\"terms\":{%s,%s},%s,\"offerCode\":\"AmazonEC2\"}", reserved, ondemand, products);
	struct aws_scan *s = scan_json(list_json, strlen(list_json), BERTH_OK);
	struct aws_price p = { .now = NOW, .as_of = NOW - 60, .source = "list" };
	FILE *f;

	check_list(s, "JSON");
	aws_scan_free(s);
	s = scan_json(list_turned, strlen(list_turned), BERTH_OK);
	check_list(s, "JSON, terms before products");
	aws_scan_free(s);
	s = aws_scan_new();
	s->reserved = true;
	p.scan = s;
	f = as_file(list_turned, strlen(list_turned));
	tap_code(aws_price_json(&p, f, NULL, 0, &err), BERTH_OK, &err);
	fclose(f);
	check_list(s, "JSON of a file, read twice");
	aws_scan_free(s);
	p.scan = s = aws_scan_new();
	s->reserved = true;
	f = as_file(list_csv, sizeof(list_csv) - 1);
	tap_code(aws_price_csv(&p, f, &err), BERTH_OK, &err);
	fclose(f);
	check_list(s, "CSV");
	aws_scan_free(s);
	s = scan_json(twice, sizeof(twice) - 1, BERTH_OK);
	tap_ok(s->offers.n == 1 && s->offers.v[0].price.v == 30000000, "of two rows of one thing the cheaper");
	aws_scan_free(s);
	aws_scan_free(scan_json(empty, sizeof(empty) - 1, BERTH_EINVAL));
	aws_scan_free(scan_json(none, sizeof(none) - 1, BERTH_EINVAL));
	aws_scan_free(scan_json(cut, sizeof(cut) - 1, BERTH_EINVAL));
	p.scan = s = aws_scan_new();
	f = as_file("nothing\n", 8);
	tap_code(aws_price_csv(&p, f, &err), BERTH_EINVAL, &err);
	fclose(f);
	aws_scan_free(s);
}

static void
test_names(void)
{
	static const struct { const char *location, *region; } places[] = { { "EU (Ireland)", "eu-west-1" }, { "Europe (Ireland)", "eu-west-1" },
		{ "eu-west-1", "eu-west-1" }, { "EU  (London)", "eu-west-2" }, { "Europe\xc2\xa0(London)", "eu-west-2" },
		{ "US East (N. Virginia)", "us-east-1" }, { "South Pole (Base)", NULL }, { "", NULL } };
	char family[32];
	enum purchase purchase = PURCHASE_RESERVED;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const char *r = aws_region_of_location(a, places[i].location);

		tap_is_str(r != NULL ? r : "-", places[i].region != NULL ? places[i].region : "-", "'%s'", places[i].location);
	}
	tap_ok(aws_quota_name("Running On-Demand P instances", family, &purchase) && str_eq(family, "P") && purchase == PURCHASE_ON_DEMAND, "P");
	tap_ok(aws_quota_name("All G and VT Spot Instance Requests", family, &purchase) && str_eq(family, "G and VT") && purchase == PURCHASE_SPOT,
	    "G and VT, spot");
	tap_ok(!aws_quota_name("Number of EIPs", family, &purchase), "another quota");
	for (const char *const *t = (const char *const []){ "p5.48xlarge", "g5.xlarge", "trn2.48xlarge", "inf2.xlarge", "dl1.24xlarge", "p6-b300.48xlarge",
	    "g7e.2xlarge", "g4ad.xlarge", "vt1.3xlarge", NULL }; *t != NULL; t++)
		tap_ok(aws_family_accelerator(*t) != NULL && accel_find(accels, aws_family_accelerator(*t)) != NULL, "%s: %s is in the table", *t,
		    aws_family_accelerator(*t));
	tap_ok(aws_family_accelerator("m5.large") == NULL && aws_family_accelerator("p5") != NULL, "no accelerator in m5");
}

static void
test_codes(void)
{
	static const struct { int status; const char *code; enum berth_code want; } codes[] = {
		{ 500, "InsufficientInstanceCapacity", BERTH_ECAPACITY }, { 400, "InsufficientHostCapacity", BERTH_ECAPACITY },
		{ 400, "InsufficientReservedInstanceCapacity", BERTH_ECAPACITY }, { 400, "UnfulfillableCapacity", BERTH_ECAPACITY },
		{ 400, "ReservationCapacityExceeded", BERTH_ECAPACITY }, { 400, "Unsupported", BERTH_ECAPACITY },
		{ 400, "SpotMaxPriceTooLow", BERTH_ECAPACITY }, { 400, "VcpuLimitExceeded", BERTH_EQUOTA },
		{ 400, "InstanceLimitExceeded", BERTH_EQUOTA }, { 400, "MaxSpotInstanceCountExceeded", BERTH_EQUOTA },
		{ 400, "MaxFleetCountExceeded", BERTH_EQUOTA }, { 400, "InsufficientFreeAddressesInSubnet", BERTH_EQUOTA },
		{ 503, "RequestLimitExceeded", BERTH_ETHROTTLED }, { 400, "Throttling", BERTH_ETHROTTLED },
		{ 400, "ThrottlingException", BERTH_ETHROTTLED }, { 400, "EC2ThrottledException", BERTH_ETHROTTLED },
		{ 400, "TooManyRequestsException", BERTH_ETHROTTLED }, { 400, "RequestThrottledException", BERTH_ETHROTTLED },
		{ 401, "AuthFailure", BERTH_EAUTH }, { 403, "UnauthorizedOperation", BERTH_EAUTH }, { 403, "SignatureDoesNotMatch", BERTH_EAUTH },
		{ 400, "RequestExpired", BERTH_EAUTH }, { 400, "ExpiredToken", BERTH_EAUTH }, { 400, "ExpiredTokenException", BERTH_EAUTH },
		{ 401, "OptInRequired", BERTH_EAUTH }, { 403, "InvalidClientTokenId", BERTH_EAUTH }, { 400, "PendingVerification", BERTH_EAUTH },
		{ 400, "AuthFailure.ServiceLinkedRoleCreationNotPermitted", BERTH_EAUTH }, { 400, "InvalidParameterValue", BERTH_EPERMANENT },
		{ 400, "MissingParameter", BERTH_EPERMANENT }, { 400, "InvalidAMIID.NotFound", BERTH_EPERMANENT },
		{ 400, "InvalidInstanceID.NotFound", BERTH_ENOTFOUND }, { 400, "IdempotentParameterMismatch", BERTH_EPERMANENT },
		{ 500, "InternalError", BERTH_ETRANSIENT }, { 503, "Unavailable", BERTH_ETRANSIENT }, { 503, "ServiceUnavailable", BERTH_ETRANSIENT },
		{ 500, "SomethingNew", BERTH_ETRANSIENT } };

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		const char *forms[] = { "<?xml version=\"1.0\"?><Response><Errors><Error><Code>%s</Code><Message>m</Message></Error></Errors></Response>",
			"<ErrorResponse><Error><Type>Sender</Type><Code>%s</Code><Message>m</Message></Error></ErrorResponse>",
			"<ErrorResponse><Errors><Error><Code>%s</Code><Message>m</Message></Error></Errors></ErrorResponse>",
			"{\"__type\":\"com.amazonaws.x#%s\",\"message\":\"m\"}", "{\"__type\":\"%s:http://x/\",\"Message\":\"m\"}" };
		int wrong = 0;

		for (size_t k = 0; k < sizeof(forms) / sizeof(forms[0]); k++) {
			const char *hole = strstr(forms[k], "%s");
			const char *body = arena_printf(a, "%.*s%s%s", (int)(hole - forms[k]), forms[k], codes[i].code, hole + 2);
			struct http_resp resp = { .arena = a, .status = codes[i].status, .body = body, .body_len = strlen(body) };
			struct prov_error e = { "", "" };

			wrong += !aws_error_read(&resp, &e) || !str_eq(e.code, codes[i].code) || !str_eq(e.text, "m") ||
			    prov_classify(&provider_aws, &resp, &e, false, NULL) != codes[i].want;
		}
		tap_is_long(wrong, 0, "%s is %s in each envelope", codes[i].code, err_name(codes[i].want));
	}
	tap_code(aws_code_of("InsufficientInstanceCapacity", "You've reached the limit of instances in this spread placement group"),
	    BERTH_EPERMANENT, NULL);
}

#define MACHINE(id, state, more) "<item><instanceId>" id "</instanceId><instanceType>p3.8xlarge</instanceType><instanceState><name>" state \
	"</name></instanceState><placement><availabilityZone>us-east-1a</availabilityZone></placement>" more "</item>"
#define RAN(m) "<RunInstancesResponse><instancesSet>" m "</instancesSet></RunInstancesResponse>"
#define DESCRIBED(m) "<DescribeInstancesResponse><reservationSet><item><instancesSet>" m "</instancesSet></item></reservationSet></DescribeInstancesResponse>"

static void
test_machines(void)
{
	struct offer o = aws_offer("us-east-1", NOW, "t");
	struct prov_create c = { .token = "tok-1", .offer = &o, .user_data = "#!/bin/sh\n" };
	struct step normal[] = { { "https://ec2.us-east-1.", "InstanceMarketOptions.MarketType=spot", 200,
		RAN(MACHINE("i-0a97", "pending", "")) }, { "https://ec2.us-east-1.", "Action=TerminateInstances&Version=2016-11-15&InstanceId.1=i-0a97",
		200, "<TerminateInstancesResponse><instancesSet><item><instanceId>i-0a97</instanceId><currentState><name>shutting-down</name>"
		"</currentState></item></instancesSet></TerminateInstancesResponse>" } };
	struct step stuck[] = { normal[0], { "https://ec2.us-east-1.", "Action=TerminateInstances", 403,
		"<Response><Errors><Error><Code>UnauthorizedOperation</Code></Error></Errors></Response>" } };
	struct step spot[] = { { "https://ec2.us-east-1.", "UserData=IyEvYmluL3NoCg%3D%3D", 200,
		RAN(MACHINE("i-1", "pending", "<instanceLifecycle>spot</instanceLifecycle>")) } };
	struct step taken[] = { { "https://ec2.us-east-1.", "InstanceId.1=i-1", 200, DESCRIBED(MACHINE("i-1", "terminated",
		"<instanceLifecycle>spot</instanceLifecycle><reason>Server.SpotInstanceTermination (2026-11-30 00:10:00 GMT)</reason><stateReason><code>"
		"Server.SpotInstanceTermination</code><message>Server.SpotInstanceTermination</message></stateReason>")) } };
	struct step full[] = { { "https://ec2.us-east-1.", "", 200, DESCRIBED(MACHINE("i-1", "terminated",
		"<stateReason><code>Server.InsufficientInstanceCapacity</code><message>no</message></stateReason>")) } };
	struct step other[] = { { "https://ec2.us-east-1.", "", 200, DESCRIBED(MACHINE("i-2", "running", "")) } };
	struct step notyet[] = { { "https://ec2.us-east-1.", "", 400, "<Response><Errors><Error><Code>InvalidInstanceID.NotFound</Code><Message>"
		"The instance ID 'i-1' does not exist</Message></Error></Errors></Response>" } };
	struct prov_account *acc;
	struct prov_machine m;

	clear_env();
	setenv("K", "AKID", 1);
	setenv("S", "s", 1);
	o.instance_type = "p3.8xlarge";
	o.purchase = PURCHASE_SPOT;
	acc = open_account("{name: x, provider: aws, access_key_id: env:K, secret_access_key: env:S, regions: [us-east-1], image: ami-1}", BERTH_OK);
	SCRIPT(acc, spot);
	tap_code(prov_create(acc, &c, &m, &err), BERTH_OK, &err);
	tap_ok(m.purchase == PURCHASE_SPOT && str_eq(m.ref, "us-east-1/i-1"), "a spot machine (%s)", m.ref);
	SCRIPT(acc, normal);
	tap_code(prov_create(acc, &c, &m, &err), BERTH_ECAPACITY, &err);
	tap_ok(at_step == 2 && strstr(err.msg, "us-east-1/i-0a97 came on demand") != NULL, "asked for spot and given what is none: ended at once (%s)",
	    err.msg);
	SCRIPT(acc, stuck);
	tap_code(prov_create(acc, &c, &m, &err), BERTH_OK, &err);
	tap_ok(m.purchase == PURCHASE_ON_DEMAND && m.other_market, "what cannot be ended stays known as what it is");
	SCRIPT(acc, taken);
	tap_code(prov_status(acc, "us-east-1/i-1", &m, &err), BERTH_OK, &err);
	tap_ok(m.state == PROV_GONE && m.preempted && str_eq(m.detail, "preempted") && m.ended == NOW + 600, "taken back");
	SCRIPT(acc, full);
	tap_code(prov_status(acc, "us-east-1/i-1", &m, &err), BERTH_OK, &err);
	tap_ok(m.state == PROV_GONE && !m.preempted && m.why == BERTH_ECAPACITY, "no capacity, told afterwards");
	SCRIPT(acc, other);
	tap_code(prov_status(acc, "us-east-1/i-1", &m, &err), BERTH_EINVAL, &err);
	SCRIPT(acc, notyet);
	tap_code(prov_status(acc, "us-east-1/i-1", &m, &err), BERTH_ENOTFOUND, &err);
	tap_code(prov_status(acc, "i-1", &m, &err), BERTH_EINVAL, &err);
	prov_account_close(acc);
}

#define FLEET(inside) "<CreateFleetResponse><fleetId>f</fleetId>" inside "</CreateFleetResponse>"
#define FLEET_ERROR(code) "<errorSet><item><lifecycle>on-demand</lifecycle><errorCode>" code "</errorCode><errorMessage>m</errorMessage></item></errorSet>"

static void
test_fleet(void)
{
	struct offer o = aws_offer("us-east-1", NOW, "t");
	struct prov_create c = { .token = "tok-1", .offer = &o };
	struct step part[] = { { "https://ec2.us-east-1.", "Overrides.2.SubnetId=subnet-b", 200, FLEET(FLEET_ERROR("InsufficientInstanceCapacity")
		"<fleetInstanceSet><item><launchTemplateAndOverrides><overrides><availabilityZone>us-east-1b</availabilityZone></overrides>"
		"</launchTemplateAndOverrides><lifecycle>on-demand</lifecycle><instanceIds><item>i-7</item></instanceIds><instanceType>p4d.24xlarge"
		"</instanceType></item></fleetInstanceSet>") } };
	struct step none[] = { { "https://ec2.", "Action=CreateFleet", 200, FLEET(FLEET_ERROR("InsufficientInstanceCapacity")) } };
	struct step quota[] = { { "https://ec2.", "Action=CreateFleet", 200, FLEET(FLEET_ERROR("MaxSpotInstanceCountExceeded")) } };
	struct step empty[] = { { "https://ec2.", "Action=CreateFleet", 200, FLEET("<fleetInstanceSet/>") } };
	struct prov_account *acc;
	struct prov_machine m;

	o.instance_type = "p4d.24xlarge";
	acc = open_account("{name: x, provider: aws, access_key_id: env:K, secret_access_key: env:S, regions: [us-east-1], launch_template: lt-1, "
	    "subnets: [us-east-1a=subnet-a, us-east-1b=subnet-b]}", BERTH_OK);
	SCRIPT(acc, part);
	tap_code(prov_create(acc, &c, &m, &err), BERTH_OK, &err);
	tap_ok(str_eq(m.ref, "us-east-1/i-7") && str_eq(m.zone, "us-east-1b") && m.purchase == PURCHASE_ON_DEMAND, "one pool of two had it");
	SCRIPT(acc, none);
	tap_code(prov_create(acc, &c, &m, &err), BERTH_ECAPACITY, &err);
	SCRIPT(acc, quota);
	tap_code(prov_create(acc, &c, &m, &err), BERTH_EQUOTA, &err);
	SCRIPT(acc, empty);
	tap_code(prov_create(acc, &c, &m, &err), BERTH_ECAPACITY, &err);
	prov_account_close(acc);
}

/* Recorded answers of others and the collected cases, where they lie. */

static char *
slurp(const char *name, size_t *n)
{
	char *text = NULL;

	return fileio_slurp(a, arena_printf(a, "%s/%s", shared, name), (size_t)4 << 20, &text, n, NULL) == BERTH_OK ? text : NULL;
}

static struct aws_scan *
scan_case(const char *name)
{
	size_t n = 0;
	char *text = slurp(name, &n);

	return text != NULL ? scan_json(text, n, BERTH_OK) : NULL;
}

static void
test_cases(void)
{
	struct aws_scan *s = scan_case("cases/inputs/case-033-aws-offer.json");
	const struct offer *o;
	size_t n = 0;
	char *text;

	if (s == NULL) {
		tap_skip("collected cases 33, 35, 47, 65", "no shared data");
		return;
	}
	tap_ok(s->offers.n == 1 && s->offers.v[0].price.v == 32772600 && s->offers.v[0].accelerator_count == 8, "33: one offer at 32.7726");
	aws_scan_free(s);
	s = scan_case("cases/inputs/case-035-aws-cn-offer.json");
	tap_ok(s->offers.n == 1 && s->offers.v[0].price.v == 21856800 && str_eq(s->offers.v[0].currency, "CNY") &&
	    str_eq(s->offers.v[0].region, "cn-northwest-1") && !usd_known(offer_effective_hour(&s->offers.v[0])), "35: 21.8568 yuan, not dollars");
	aws_scan_free(s);
	s = scan_case("cases/inputs/case-047-aws-reserved.json");
	o = find(s, PURCHASE_RESERVED, 36, PAYMENT_ALL);
	tap_near(o != NULL ? usd_to_double(offer_effective_hour(o)) : (double)NAN, 11.263318, 1e-6, "47: all upfront");
	o = find(s, PURCHASE_RESERVED, 36, PAYMENT_PARTIAL);
	tap_near(o != NULL ? usd_to_double(offer_effective_hour(o)) : (double)NAN, 11.788021, 1e-6, "47: partial upfront");
	o = find(s, PURCHASE_RESERVED, 36, PAYMENT_NONE);
	tap_near(o != NULL ? usd_to_double(offer_effective_hour(o)) : (double)NAN, 14.08, 1e-6, "47: none upfront");
	aws_scan_free(s);
	text = slurp("cases/inputs/case-065-credentials.ini", &n);
	if (text != NULL) {
		struct inifile ini = { 0 };

		inifile_read(&ini, a, text);
		tap_is_str(inifile_get(&ini, "default", "aws_secret_access_key"), SECRET, "65: the default profile");
		tap_is_str(inifile_get(&ini, "other", "aws_secret_access_key"), "short", "65: the other one");
		tap_is_long((long)ini.rows.n, 6, "65: two sections of two, and nothing else");
	}
}

static void
test_payloads(void)
{
	static const struct { const char *code; enum berth_code want; } codes[] = { { "InsufficientInstanceCapacity", BERTH_ECAPACITY },
		{ "VcpuLimitExceeded", BERTH_EQUOTA }, { "MaxSpotInstanceCountExceeded", BERTH_EQUOTA }, { "RequestLimitExceeded", BERTH_ETHROTTLED },
		{ "UnauthorizedOperation", BERTH_EAUTH }, { "AuthFailure", BERTH_EAUTH }, { "SignatureDoesNotMatch", BERTH_EAUTH },
		{ "RequestExpired", BERTH_EAUTH }, { "Unsupported", BERTH_ECAPACITY }, { "InternalError", BERTH_ETRANSIENT },
		{ "Unavailable", BERTH_ETRANSIENT }, { "IdempotentParameterMismatch", BERTH_EPERMANENT }, { "InvalidParameterValue", BERTH_EPERMANENT },
		{ "SpotMaxPriceTooLow", BERTH_ECAPACITY } };
	size_t n = 0, parsed = 0;
	char *text = slurp("payloads/aws/errors_constructed.json", &n);
	static const char *const files[] = { "libcloud_describe_instances.xml", "moto_describe_instances.xml", "moto_run_instances.xml",
		"libcloud_run_instances.xml", "libcloud_run_instances_spot.xml", "libcloud_describe_reserved_instances.xml",
		"describe_instance_types_gpu.xml", "moto_describe_instance_types.xml", "moto_create_fleet.xml", "libcloud_terminate_instances.xml" };
	const struct xml *root;
	struct aws_scan *s;
	json_t *v;

	if (text == NULL) {
		tap_skip("recorded answers of EC2", "no shared data");
		return;
	}
	v = json_loads(text, 0, NULL);
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		const json_t *e = json_object_get(v, codes[i].code);
		const char *body = json_string_value(json_object_get(e, "body"));
		struct http_resp resp = { .arena = a, .status = (int)json_integer_value(json_object_get(e, "http_status")), .body = body,
			.body_len = strlen(body) };
		struct prov_error got = { "", "" };

		tap_ok(aws_error_read(&resp, &got) && prov_classify(&provider_aws, &resp, &got, true, NULL) == codes[i].want, "%s", codes[i].code);
	}
	json_decref(v);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		text = slurp(arena_printf(a, "payloads/aws/%s", files[i]), &n);
		if (text != NULL && xml_parse(a, text, n, files[i], &root, &err) == BERTH_OK)
			parsed++;
		else
			tap_diag("%s: %s", files[i], err.msg);
	}
	tap_is_long((long)parsed, (long)(sizeof(files) / sizeof(files[0])), "every recorded XML answer is read");
	s = scan_case("payloads/aws/price_list_offer_sample_2.json");
	tap_ok(s != NULL && s->offers.n > 0 && str_eq(s->offers.v[0].instance_type, "p4d.24xlarge") && s->offers.v[0].price.v == 32772600,
	    "p4d.24xlarge at 32.7726 in a sample of the price list");
	aws_scan_free(s);
}

int
main(void)
{
	const char *top = getenv("TOP_SRCDIR");

	a = arena_new();
	quiet = (struct log){ .level = LOG_ERROR, .f = stderr };
	shared = getenv("BERTH_SHARED");
	if (shared == NULL)
		shared = arena_printf(a, "%s/../shared", top != NULL ? top : ".");
	snprintf(home, sizeof(home), "/tmp/berth-aws-XXXXXX");
	if (mkdtemp(home) == NULL || accel_table_open(a, &accels, &err) != BERTH_OK)
		tap_diag("%s", err.msg);
	test_files();
	test_roles();
	test_sources();
	test_prices();
	test_names();
	test_codes();
	test_machines();
	test_fleet();
	test_cases();
	test_payloads();
	for (const char *const *f = (const char *const []){ ".aws/config", ".aws/credentials", "token", "keys.json", NULL }; *f != NULL; f++)
		unlink(arena_printf(a, "%s/%s", home, *f));
	rmdir(arena_printf(a, "%s/.aws", home));
	rmdir(home);
	arena_free(a);
	return tap_done();
}
