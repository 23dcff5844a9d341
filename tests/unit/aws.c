/* tests/unit/aws.c - the AWS adapter: codes, machines, fleets; the answers of others. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "providers/inifile.h"
#include "tests/tap.h"
#include "tests/unit/aws_test.h"
#include "util/fileio.h"
#include "util/json.h"
#include "util/str.h"

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
