#include <math.h>
#include <string.h>

#include "providers/aws/aws.h"
#include "providers/prov.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/str.h"

#define AWS_MONTH_HOURS 730
#define AWS_SCORE_GOOD 7 /* of 10: from here on a request is likely to be served */

static double
aws_spot_rate(struct aws_scan *s, const char *region, const char *type)
{
	const size_t *at = strmap_get(&s->rates, arena_printf(s->a, "%s\t%s", region, type));

	return at != NULL ? s->rate.v[*at] : (double)NAN;
}

static size_t
aws_spot_score(struct aws_scan *s, const char *region, const char *zone, const char *type)
{
	const size_t *at = strmap_get(&s->scores, arena_printf(s->a, "%s\t%s", zone, type));

	if (at == NULL)
		at = strmap_get(&s->scores, arena_printf(s->a, "%s\t%s", region, type));
	return at != NULL ? *at : 0;
}

/* StartTime=now answers with the price in force of each zone, however long ago it came into force.
 */
enum berth_code
aws_spot_history(struct aws *w, const char *region, const struct http_resp *resp, char *next,
    size_t size, struct berth_err *err)
{
	struct aws_scan *s = w->scan;
	const struct xml *root = NULL, *set;
	enum berth_code rc = aws_xml(resp, "DescribeSpotPriceHistory", &root, err);

	if (rc != BERTH_OK)
		return rc;
	set = xml_get(root, "spotPriceHistorySet");
	if (set == NULL)
		return err_set(err, BERTH_EINVAL, "no spotPriceHistorySet in the answer");
	for (const struct xml *x = xml_first(set, "item"); x != NULL; x = xml_next(x, "item")) {
		const char *what = xml_text(x, "productDescription"),
			   *zone = xml_text(x, "availabilityZone");
		const struct aws_type *t =
		    aws_scan_type(s, xml_text(x, "instanceType"), 0, NAN, NAN);
		struct offer o =
		    aws_offer(region, aws_time(xml_text(x, "timestamp")), "spot price history");

		if (t == NULL ||
		    (!str_eq(what, "Linux/UNIX") && !str_eq(what, "Linux/UNIX (Amazon VPC)")))
			continue;
		if (zone[0] == '\0')
			return err_set(err, BERTH_EINVAL, "a spot price without a zone");
		if (usd_parse(xml_text(x, "spotPrice"), &o.price, NULL) != BERTH_OK)
			continue;
		o.purchase = PURCHASE_SPOT;
		o.zone = zone;
		o.interruption_rate = aws_spot_rate(s, region, t->name);
		if (aws_spot_score(s, region, zone, t->name) >= AWS_SCORE_GOOD)
			o.available = AVAIL_YES;
		if (o.as_of > w->env->now)
			o.as_of = w->env->now;
		aws_scan_keep(s, t, o);
	}
	return aws_field(root, "nextToken", false, next, size, err);
}

enum berth_code
aws_spot_scores(
    struct aws *w, const struct http_resp *resp, char *next, size_t size, struct berth_err *err)
{
	struct aws_scan *s = w->scan;
	const struct xml *root = NULL, *set;
	const char *const *types;
	size_t n = prov_conf_strings(w->env->conf, "spot_score", &types);
	enum berth_code rc = aws_xml(resp, "GetSpotPlacementScores", &root, err);

	if (rc != BERTH_OK)
		return rc;
	set = xml_get(root, "spotPlacementScoreSet");
	for (const struct xml *x = set != NULL ? xml_first(set, "item") : NULL; x != NULL;
	     x = xml_next(x, "item")) {
		int64_t score = 0;

		if (str_to_i64(xml_text(x, "score"), 1, 10, &score, err) != BERTH_OK)
			return err_ctx(err, "spot placement score");
		for (size_t i = 0; i < n; i++)
			*strmap_add(s->a, &s->scores,
			    arena_printf(s->a, "%s\t%s", xml_text(x, "region"), types[i]), 0,
			    NULL) = (size_t)score;
	}
	return aws_field(root, "nextToken", false, next, size, err);
}

/*
 * Share of machines that were taken back within the last month, in five steps: the middle of the
 * step, as a rate an hour. The last one, over 20 %, has no upper end: it bounds no rate from above,
 * and is unknown rather than a low number.
 */
static double
aws_spot_bucket(int64_t r)
{
	static const double share[] = { 0.025, 0.075, 0.125, 0.175 };

	return r >= 0 && r < (int64_t)(sizeof(share) / sizeof(share[0]))
		   ? -log1p(-share[r]) / AWS_MONTH_HOURS
		   : (double)NAN;
}

enum berth_code
aws_spot_advisor(struct aws *w, const struct http_resp *resp, struct berth_err *err)
{
	struct aws_scan *s = w->scan;
	struct jsonr root, all;
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "spot advisor");
	rc = jsonr_object(&root, "spot_advisor", &all, err);
	if (rc == BERTH_OK && all.v == NULL)
		rc = jsonr_err(&root, BERTH_ETRANSIENT, err, "no spot_advisor in the answer");
	for (size_t i = 0; rc == BERTH_OK && i < s->n_regions; i++) {
		struct jsonr region = jsonr_get(&all, s->regions[i]),
			     linux_types = jsonr_get(&region, "Linux");
		const char *type;
		json_t *e;

		json_object_foreach((json_t *)(uintptr_t)linux_types.v, type, e)
		{
			struct jsonr entry = jsonr_get(&linux_types, type);
			int64_t r = -1;

			if (aws_family_accelerator(type) == NULL ||
			    jsonr_int(&entry, "r", 0, 4, &r, NULL) != BERTH_OK)
				continue;
			strmap_add(s->a, &s->rates,
			    arena_printf(s->a, "%s\t%s", s->regions[i], type), s->rate.n, NULL);
			VEC_PUSH(s->a, &s->rate, aws_spot_bucket(r));
		}
	}
	json_decref(v);
	return rc;
}
