/* tests/unit/aws_auth.c - who gives the keys of an AWS account: files, roles, and what else has some. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"
#include "tests/unit/aws_test.h"
#include "util/str.h"

static const struct aws_auth *
auth_of(const struct prov_account *acc)
{
	return &((const struct aws *)acc->st)->auth;
}

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
void
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
void
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

void
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
