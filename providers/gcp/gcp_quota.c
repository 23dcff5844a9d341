#include <math.h>
#include <stdio.h>
#include <string.h>

#include "providers/gcp/gcp.h"
#include "providers/wirejson.h"
#include "util/arena.h"
#include "util/log.h"
#include "util/str.h"

/*
 * "r|TOKEN": a page of regions; "p": the project's own; "c|TOKEN": a page of Cloud Quotas, which
 * alone tells the limits of H100 and newer cards (region by region and family by family).
 */
enum berth_code
gcp_quota_build(
    void *st, const struct prov_cursor *cur, struct http_req *req, struct berth_err *err)
{
	struct gcp *g = st;

	g->quota_page = cur->next[0] != '\0' ? cur->next[0] : 'r';
	if (g->quota_page == 'c') {
		req->any_status = true; /* an API of its own, which may not be on */
		return gcp_request(req, "GET", g->quotas, err,
		    "v1/projects/%s/locations/global/services/compute.googleapis.com/"
		    "quotaInfos?pageSize=500%s",
		    g->project, gcp_page(req->arena, cur->next[1] == '|' ? cur->next + 2 : ""));
	}
	if (g->quota_page == 'p')
		return gcp_request(
		    req, "GET", g->compute, err, "compute/v1/projects/%s", g->project);
	return gcp_request(req, "GET", g->compute, err,
	    "compute/v1/projects/%s/regions?maxResults=500%s", g->project,
	    gcp_page(req->arena, cur->next[0] == 'r' ? cur->next + 2 : ""));
}

/* What the cards of a quota are in offers: by their name, or by the machines that have them. */
static void
gcp_quota_counts(const char *card, size_t n, struct prov_quota *q)
{
	static const struct {
		const char *card, *accelerator, *types;
	} cards[] = {
		{ "NVIDIA_K80", "K80", "" },
		{ "NVIDIA_P4", "P4", "" },
		{ "NVIDIA_P100", "P100-*", "" },
		{ "NVIDIA_V100", "V100-*", "" },
		{ "NVIDIA_T4", "T4", "" },
		{ "NVIDIA_L4", "L4", "" },
		{ "NVIDIA_A100", "A100-*-40GB", "" },
		{ "NVIDIA_A100_80GB", "A100-*-80GB", "" },
		{ "NVIDIA_H100", "", "a3-highgpu-* a3-edgegpu-*" },
		{ "NVIDIA_H100_MEGA", "", "a3-megagpu-*" },
		{ "NVIDIA_H200", "H200-*", "" },
		{ "NVIDIA_B200", "B200-*", "" },
		{ "GPUS_ALL_REGIONS", "", "n1-* a2-* g2-*" },
	};

	for (size_t i = 0; i < sizeof(cards) / sizeof(cards[0]); i++)
		if (strlen(cards[i].card) == n && strncmp(cards[i].card, card, n) == 0)
			q->counts = str_copy(q->accelerator, sizeof(q->accelerator),
					cards[i].accelerator) &&
				    str_copy(q->types, sizeof(q->types), cards[i].types);
}

static bool
gcp_quota_read(const char *metric, struct prov_quota *q)
{
	if (str_ends(metric, "CPUS") || str_eq(metric, "CPUS_ALL_REGIONS"))
		str_copy(q->unit, sizeof(q->unit), "vcpu");
	else if (str_ends(metric, "_GPUS") || str_eq(metric, "GPUS_ALL_REGIONS") ||
		 strstr(metric, "TPU_") != NULL)
		str_copy(q->unit, sizeof(q->unit), "gpu");
	else
		return false;
	q->purchase = str_starts(metric, "PREEMPTIBLE_") ? PURCHASE_SPOT
		      : str_starts(metric, "COMMITTED_") ? PURCHASE_RESERVED
							 : PURCHASE_ON_DEMAND;
	if (q->purchase != PURCHASE_RESERVED) {
		const char *card =
		    q->purchase == PURCHASE_SPOT ? metric + strlen("PREEMPTIBLE_") : metric;
		size_t n = strlen(card);

		gcp_quota_counts(card, n - (str_ends(card, "_GPUS") ? strlen("_GPUS") : 0), q);
	}
	return str_copy(q->name, sizeof(q->name), metric);
}

static enum berth_code
gcp_quotas_of(const struct jsonr *owner, const char *region, prov_quota_fn *emit, void *arg,
    struct berth_err *err)
{
	struct jsonr list, item;
	enum berth_code rc = jsonr_array(owner, "quotas", &list, err);

	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&list); i++) {
		struct prov_quota q = { .limit = NAN, .used = NAN };
		const char *metric = "";

		item = jsonr_at(&list, i);
		if ((rc = jsonr_str(&item, "metric", &metric, err)) != BERTH_OK ||
		    !gcp_quota_read(metric, &q))
			continue;
		str_copy(q.region, sizeof(q.region), region);
		if ((rc = jsonr_double(&item, "limit", &q.limit, err)) != BERTH_OK ||
		    (rc = jsonr_double(&item, "usage", &q.used, err)) != BERTH_OK)
			break;
		if (q.purchase == PURCHASE_SPOT && !(q.limit > 0))
			q.counts = false; /* without one of its own spot is of the other */
		rc = emit(arg, &q, err);
	}
	return rc;
}

static enum berth_code
gcp_quota_regions(const struct jsonr *root, struct prov_cursor *cur, prov_quota_fn *emit, void *arg,
    struct berth_err *err)
{
	const char *token = "", *name = "";
	struct jsonr list, item;
	enum berth_code rc = jsonr_array(root, "items", &list, err);

	if (rc == BERTH_OK && list.v == NULL)
		return jsonr_err(root, BERTH_ETRANSIENT, err, "no regions in the answer");
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&list); i++) {
		item = jsonr_at(&list, i);
		if ((rc = jsonr_str(&item, "name", &name, err)) == BERTH_OK)
			rc = gcp_quotas_of(&item, name, emit, arg, err);
	}
	if (rc == BERTH_OK)
		rc = jsonr_str(root, "nextPageToken", &token, err);
	if (rc != BERTH_OK)
		return rc;
	if (!str_copy(cur->next, sizeof(cur->next), token[0] != '\0' ? "r|" : "p") ||
	    !str_copy(cur->next + strlen(cur->next), sizeof(cur->next) - 2, token))
		return jsonr_err(root, BERTH_EINVAL, err, "nextPageToken is too long");
	return BERTH_OK;
}

/* One limit of a family in a region: {"dimensions": {region, gpu_family}, "details": {value}}. */
static enum berth_code
gcp_quota_family(const struct jsonr *info, const char *metric, prov_quota_fn *emit, void *arg,
    struct berth_err *err)
{
	struct jsonr list = jsonr_get(info, "dimensionsInfos"), one, dimensions, details;
	enum berth_code rc = BERTH_OK;

	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&list); i++) {
		struct prov_quota q = { .limit = NAN, .used = NAN, .unit = "gpu" };

		one = jsonr_at(&list, i);
		dimensions = jsonr_get(&one, "dimensions");
		details = jsonr_get(&one, "details");
		if ((rc = wirejson_field(&dimensions, "region", q.region, sizeof(q.region), err)) !=
			BERTH_OK ||
		    (rc = wirejson_field(&dimensions, "gpu_family", q.name, sizeof(q.name), err)) !=
			BERTH_OK ||
		    (rc = jsonr_double(&details, "value", &q.limit, err)) != BERTH_OK ||
		    q.name[0] == '\0')
			continue;
		q.purchase =
		    strstr(metric, "preemptible") != NULL ? PURCHASE_SPOT : PURCHASE_ON_DEMAND;
		if (q.limit < 0) /* -1: no limit */
			q.limit = NAN;
		gcp_quota_counts(q.name, strlen(q.name), &q);
		if (q.purchase == PURCHASE_SPOT && !(q.limit > 0))
			q.counts = false;
		rc = emit(arg, &q, err);
	}
	return rc;
}

static enum berth_code
gcp_quota_infos(const struct jsonr *root, struct prov_cursor *cur, prov_quota_fn *emit, void *arg,
    struct berth_err *err)
{
	const char *token = "", *metric;
	struct jsonr list, info;
	enum berth_code rc = jsonr_array(root, "quotaInfos", &list, err);

	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&list); i++) {
		info = jsonr_at(&list, i);
		metric = "";
		if ((rc = jsonr_str(&info, "metric", &metric, err)) == BERTH_OK &&
		    strstr(metric, "gpus_per_gpu_family") != NULL)
			rc = gcp_quota_family(&info, metric, emit, arg, err);
	}
	if (rc == BERTH_OK)
		rc = jsonr_str(root, "nextPageToken", &token, err);
	if (rc == BERTH_OK && token[0] != '\0' &&
	    snprintf(cur->next, sizeof(cur->next), "c|%s", token) >= (int)sizeof(cur->next))
		return jsonr_err(root, BERTH_EINVAL, err, "nextPageToken is too long");
	return rc;
}

enum berth_code
gcp_quota_parse(void *st, const struct http_resp *resp, struct prov_cursor *cur,
    prov_quota_fn *emit, void *arg, struct berth_err *err)
{
	const struct gcp *g = st;
	struct jsonr root;
	json_t *v = NULL;
	enum berth_code rc;

	if (g->quota_page == 'c' && resp->status / 100 != 2) {
		log_debug(g->env->log, "%s: Cloud Quotas: HTTP %d", g->env->account, resp->status);
		return BERTH_OK;
	}
	rc = wirejson_parse(resp, &v, err);
	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	if (g->quota_page == 'c')
		rc = gcp_quota_infos(&root, cur, emit, arg, err);
	else if (g->quota_page == 'p')
		rc = gcp_quotas_of(&root, "", emit, arg, err);
	else
		rc = gcp_quota_regions(&root, cur, emit, arg, err);
	json_decref(v);
	if (rc == BERTH_OK && g->quota_page == 'p')
		str_copy(cur->next, sizeof(cur->next), "c");
	return rc;
}
