#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "providers/aws/aws.h"
#include "util/arena.h"
#include "util/str.h"

#define AWS_START "start" /* the regions are known now: the list itself begins */

struct aws_place
aws_place_read(struct aws *w, const struct prov_cursor *cur)
{
	struct aws_place p = { 0, 0, "", cur->next[0] == '\0' || str_eq(cur->next, AWS_START) };
	const char *slash = strchr(cur->next, '/'),
		   *second = slash != NULL ? strchr(slash + 1, '/') : NULL;

	if (second != NULL) {
		p.phase = (int)strtol(cur->next, NULL, 10);
		p.region = (size_t)strtoul(slash + 1, NULL, 10);
		p.token = second + 1;
	}
	w->place = p;
	return p;
}

enum berth_code
aws_place_write(
    struct prov_cursor *cur, int phase, size_t region, const char *token, struct berth_err *err)
{
	int n = snprintf(cur->next, sizeof(cur->next), "%d/%zu/%s", phase, region, token);

	return n > 0 && (size_t)n < sizeof(cur->next)
		   ? BERTH_OK
		   : err_set(err, BERTH_EINVAL, "a page's token is too long");
}

enum berth_code
aws_place_on(const struct aws *w, struct prov_cursor *cur, const struct aws_place *p,
    const char *next, struct berth_err *err)
{
	if (next[0] != '\0')
		return aws_place_write(cur, 0, p->region, next, err);
	if (p->region + 1 < w->n_regions)
		return aws_place_write(cur, 0, p->region + 1, "", err);
	cur->next[0] = '\0';
	return BERTH_OK;
}

bool
aws_regions_pending(const struct aws *w)
{
	return w->regions_all;
}

enum berth_code
aws_regions_build(struct aws *w, struct http_req *req, struct berth_err *err)
{
	struct aws_form f;

	aws_form_begin(&f, req->arena, "DescribeRegions", AWS_EC2_VERSION);
	return aws_form_post(&f, w, "ec2", w->regions[0], req, err);
}

enum berth_code
aws_regions_parse(
    struct aws *w, const struct http_resp *resp, struct prov_cursor *cur, struct berth_err *err)
{
	VEC(const char *) names = { 0 };
	const struct xml *root = NULL, *set;
	enum berth_code rc = aws_xml(resp, "DescribeRegions", &root, err);

	if (rc != BERTH_OK)
		return rc;
	set = xml_get(root, "regionInfo");
	for (const struct xml *x = set != NULL ? xml_first(set, "item") : NULL; x != NULL;
	     x = xml_next(x, "item"))
		if (xml_text(x, "regionName")[0] != '\0' &&
		    !str_eq(xml_text(x, "optInStatus"), "not-opted-in"))
			VEC_PUSH(w->env->arena, &names,
			    arena_strdup(w->env->arena, xml_text(x, "regionName")));
	if (names.n == 0)
		return err_set(err, BERTH_EINVAL, "no region in the answer");
	w->regions = names.v;
	w->n_regions = names.n;
	w->regions_all = false;
	str_copy(cur->next, sizeof(cur->next), AWS_START);
	return BERTH_OK;
}
