/* What doctor asks of permissions: EC2's by DryRun, which does nothing, the others by the smallest
 * read. */
#include <stdio.h>
#include <string.h>

#include "providers/aws/aws.h"
#include "providers/prov.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/json.h"
#include "util/str.h"

enum aws_need {
	AWS_NEED_ALWAYS,
	AWS_NEED_LAUNCH,
	AWS_NEED_SPOT_LAUNCH,
	AWS_NEED_SPOT,
	AWS_NEED_API,
	AWS_NEED_PLANS,
	AWS_NEED_OFFERINGS
};

static const struct aws_question {
	const char *name;   /* as IAM spells it, and what tells two apart */
	const char *action; /* of EC2; NULL: a service of its own */
	enum aws_need need;
} aws_questions[] = {
	{ "ec2:RunInstances", "RunInstances", AWS_NEED_LAUNCH },
	{ "ec2:RunInstances (spot)", "RunInstances", AWS_NEED_SPOT_LAUNCH },
	{ "ec2:DescribeInstances", "DescribeInstances", AWS_NEED_ALWAYS },
	{ "ec2:DescribeInstanceTypes", "DescribeInstanceTypes", AWS_NEED_ALWAYS },
	{ "ec2:DescribeSpotPriceHistory", "DescribeSpotPriceHistory", AWS_NEED_SPOT },
	{ "ec2:DescribeSpotInstanceRequests", "DescribeSpotInstanceRequests",
	    AWS_NEED_SPOT_LAUNCH },
	{ "ec2:DescribeReservedInstancesOfferings", "DescribeReservedInstancesOfferings",
	    AWS_NEED_OFFERINGS },
	{ "pricing:GetProducts", NULL, AWS_NEED_API },
	{ "savingsplans:DescribeSavingsPlansOfferingRates", NULL, AWS_NEED_PLANS },
};

static bool
aws_question_wanted(const struct aws *w, const struct aws_question *q)
{
	bool launch = prov_conf_str(w->env->conf, "image", NULL) != NULL,
	     spot = prov_conf_bool(w->env->conf, "spot", true);

	switch (q->need) {
	case AWS_NEED_ALWAYS:
		return true;
	case AWS_NEED_LAUNCH:
		return launch;
	case AWS_NEED_SPOT_LAUNCH:
		return launch && spot;
	case AWS_NEED_SPOT:
		return spot;
	case AWS_NEED_API:
		return str_eq(prov_conf_str(w->env->conf, "prices", "api"), "api");
	case AWS_NEED_PLANS:
		return aws_wants_commitment(w, "savings_plans");
	case AWS_NEED_OFFERINGS:
		return aws_wants_commitment(w, "offerings");
	}
	return false;
}

static const struct aws_question *
aws_question_of(const struct aws *w, int n)
{
	for (size_t i = 0; i < sizeof(aws_questions) / sizeof(aws_questions[0]); i++)
		if (aws_question_wanted(w, &aws_questions[i]) && n-- == 0)
			return &aws_questions[i];
	return NULL;
}

static enum berth_code
aws_check_dry(
    struct aws *w, const struct aws_question *q, struct http_req *req, struct berth_err *err)
{
	struct aws_form f;

	aws_form_begin(&f, req->arena, q->action, AWS_EC2_VERSION);
	aws_form_add(&f, "true", "DryRun");
	if (str_eq(q->action, "RunInstances")) {
		aws_form_add(&f, prov_conf_str(w->env->conf, "image", NULL), "ImageId");
		if (q->need == AWS_NEED_SPOT_LAUNCH)
			aws_form_add(&f, "spot", "InstanceMarketOptions.MarketType");
		aws_form_add(&f, "g4dn.xlarge", "InstanceType");
		aws_form_add(&f, "1", "MaxCount");
		aws_form_add(&f, "1", "MinCount");
	}
	return aws_form_post(&f, w, "ec2", w->regions[0], req, err);
}

/* One row of a list. */
static enum berth_code
aws_check_read(
    struct aws *w, const struct aws_question *q, struct http_req *req, struct berth_err *err)
{
	bool plans = q->need == AWS_NEED_PLANS;
	enum berth_code rc;
	struct jsonw j;
	struct buf b;

	buf_init(&b, 1024);
	jsonw_init_buf(&j, &b, JSONW_COMPACT);
	jsonw_begin_object(&j, NULL);
	if (!plans)
		jsonw_str(&j, "ServiceCode", "AmazonEC2");
	jsonw_int(&j, plans ? "maxResults" : "MaxResults", 1);
	jsonw_end_object(&j);
	if ((rc = jsonw_finish(&j, err)) != BERTH_OK) {
		buf_free(&b);
		return rc;
	}
	if (plans)
		return aws_json_post(w, "savingsplans", "us-east-1", NULL,
		    "/DescribeSavingsPlansOfferingRates", &b, req, err);
	return aws_json_post(w, "pricing", aws_pricing_region(w->regions[0]),
	    "AWSPriceListService.GetProducts", "/", &b, req, err);
}

enum berth_code
aws_check_build(void *st, int n, struct http_req *req, struct berth_err *err)
{
	struct aws *w = st;
	const struct aws_question *q = aws_question_of(w, n);

	if (q == NULL || w->regions[0] == NULL)
		return BERTH_ENOTFOUND;
	return q->action != NULL ? aws_check_dry(w, q, req, err) : aws_check_read(w, q, req, err);
}

enum berth_code
aws_check_parse(void *st, const struct http_resp *resp, int n, struct prov_check *check_out,
    struct berth_err *err)
{
	const struct aws_question *q = aws_question_of(st, n);
	struct prov_error e = { "", "" };

	(void)err;
	str_copy(check_out->name, sizeof(check_out->name), q->name);
	if (!aws_error_read(resp, &e) || str_eq(e.code, "DryRunOperation")) {
		check_out->code = BERTH_OK;
		check_out->detail[0] = '\0';
	}
	return BERTH_OK;
}
