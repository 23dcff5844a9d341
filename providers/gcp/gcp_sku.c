#include <stdio.h>
#include <string.h>

#include "providers/gcp/gcp_sku.h"
#include "util/arena.h"
#include "util/str.h"

#define GCP_HOURS_A_MONTH 730 /* the price pages' own month */
#define GCP_UNITS_MAX 1000    /* USD of one part: more is no price of an hour */
#define GCP_NAME_MAX 96

enum { GCP_NO_HOST = 1, GCP_NO_ON_DEMAND = 2, GCP_NO_COMMITMENT = 4 };

/*
 * Machine series and the names that their parts go by in SKU descriptions. ssd_gib: bundled local
 * disk per card. The first row whose prefix fits decides. Cards of a3-highgpu below eight,
 * a3-ultragpu, a4 and a4x are sold as spot or against a reservation only.
 */
static const struct gcp_family {
	const char *prefix;
	const char *host[2], *card[3];
	int ssd_gib;
	unsigned flags;
} gcp_families[] = {
	{ "a2-highgpu-", { "A2" }, { "Nvidia Tesla A100 GPU" }, 0, 0 },
	{ "a2-megagpu-", { "A2" }, { "Nvidia Tesla A100 GPU" }, 0, 0 },
	{ "a2-ultragpu-", { "A2" }, { "Nvidia Tesla A100 80GB GPU", "Nvidia A100 80GB GPU" }, 375,
	    0 },
	{ "a3-highgpu-8g", { "A3" }, { "Nvidia H100 80GB GPU" }, 750, 0 },
	{ "a3-highgpu-", { "A3" }, { "Nvidia H100 80GB GPU" }, 750,
	    GCP_NO_ON_DEMAND | GCP_NO_COMMITMENT },
	{ "a3-megagpu-", { "A3Plus", "A3 Plus" },
	    { "Nvidia H100 80GB Mega GPU", "Nvidia H100 80GB Plus GPU",
		"Nvidia H100 Mega 80GB GPU" },
	    750, 0 },
	{ "a3-ultragpu-", { "A3Ultra", "A3 Ultra" }, { "H200 141GB GPU", "Nvidia H200 141GB GPU" },
	    1500, GCP_NO_ON_DEMAND },
	{ "a4-highgpu-", { NULL }, { "A4 Nvidia B200 (1 gpu slice)" }, 0,
	    GCP_NO_HOST | GCP_NO_ON_DEMAND },
	{ "a4x-highgpu-", { NULL }, { "A4X Nvidia GB200 (1 gpu slice)" }, 0,
	    GCP_NO_HOST | GCP_NO_ON_DEMAND },
	{ "g2-standard-", { "G2" }, { "Nvidia L4 GPU" }, 0, 0 },
	{ "g4-standard-", { "G4" }, { "RTX 6000 96GB", "Nvidia RTX PRO 6000 GPU" }, 0, 0 },
	{ "n1-", { "N1 Predefined" }, { NULL }, 0, 0 },
	{ NULL, { NULL }, { NULL }, 0, 0 },
};

const struct gcp_card gcp_cards[] = {
	{ "nvidia-tesla-t4", "Nvidia Tesla T4 GPU", { { 1, 48 }, { 2, 48 }, { 4, 96 }, { 0, 0 } } },
	{ "nvidia-tesla-v100", "Nvidia Tesla V100 GPU",
	    { { 1, 12 }, { 2, 24 }, { 4, 48 }, { 8, 96 } } },
	{ "nvidia-tesla-p100", "Nvidia Tesla P100 GPU",
	    { { 1, 16 }, { 2, 32 }, { 4, 96 }, { 0, 0 } } },
	{ "nvidia-tesla-p4", "Nvidia Tesla P4 GPU", { { 1, 24 }, { 2, 48 }, { 4, 96 }, { 0, 0 } } },
	{ NULL, NULL, { { 0, 0 } } },
};

/* c core, r memory, g card, s local disk, t TPU chip; 0: none of ours. */
struct gcp_part {
	char kind;
	enum gcp_buy buy;
	char name[GCP_NAME_MAX];
};

static bool
gcp_sku_cut(char *s, const char *suffix)
{
	if (!str_ends(s, suffix))
		return false;
	s[strlen(s) - strlen(suffix)] = '\0';
	return true;
}

static void
gcp_sku_until(char *s, const char *word)
{
	char *at = strstr(s, word);

	if (at != NULL)
		*at = '\0';
}

static bool
gcp_sku_buy(const char *usage, bool commitment, bool spot, enum gcp_buy *buy_out)
{
	if (str_eq(usage, "Commit1Yr") || str_eq(usage, "Commit3Yr")) {
		*buy_out = str_eq(usage, "Commit1Yr") ? GCP_1_YEAR : GCP_3_YEARS;
		return commitment;
	}
	if (commitment || (!str_eq(usage, "OnDemand") && !str_eq(usage, "Preemptible")))
		return false;
	*buy_out = spot || str_eq(usage, "Preemptible") ? GCP_SPOT : GCP_ON_DEMAND;
	return true;
}

/*
 * "TPU-v2 Accelerator USA", "Preemptible Tpu-v3 Pod Europe": TPUs up to v4 have a catalogue of
 * their own, by the eight cores, a pod apart from a single device; the usage type of preemptible
 * ones says OnDemand.
 */
static bool
gcp_sku_old_tpu(const char *description, const char *usage, struct gcp_part *part)
{
	const char *at = description;

	while (*at != '\0' && !str_istarts(at, "tpu-v"))
		at++;
	if (*at == '\0' || at[5] < '2' || at[5] > '4' || str_is_alnum(at[6]) ||
	    str_istarts(description, "Commitment"))
		return false;
	snprintf(part->name, sizeof(part->name), "TPU v%c%s", at[5],
	    strstr(description, "Pod") != NULL ? " pod" : "");
	part->kind = 't';
	return gcp_sku_buy(usage, false, strstr(description, "Preemptible") != NULL, &part->buy);
}

/*
 * "Spot Preemptible A2 Instance Core running in Americas", "Nvidia L4 GPU attached to Spot
 * Preemptible VMs running in Iowa", "Commitment v1: A2 Cpu in Americas for 1 Year": what is left
 * when region and way of buying are taken off. Spot shows in the words too, for a few spot SKUs are
 * filed as OnDemand.
 */
static bool
gcp_sku_part(const char *description, const char *usage, const char *group, struct gcp_part *part)
{
	bool commitment = str_starts(description, "Commitment v1: "), spot = false;
	char *s = part->name;

	if (str_eq(group, "TPU") && gcp_sku_old_tpu(description, usage, part))
		return true;
	if (commitment)
		description += strlen("Commitment v1: ");
	if (str_starts(description, "Spot Preemptible ")) {
		spot = true;
		description += strlen("Spot Preemptible ");
	}
	if (!str_copy(s, sizeof(part->name), description))
		return false;
	gcp_sku_until(s, " running in ");
	gcp_sku_until(s, " in ");
	spot |= gcp_sku_cut(s, " attached to Spot Preemptible VMs");
	if (!gcp_sku_buy(usage, commitment, spot, &part->buy))
		return false;
	part->kind = 0;
	if (str_eq(group, "GPU"))
		part->kind = 'g';
	else if (str_eq(group, "TPU"))
		part->kind = 't';
	else if (str_eq(group, "LocalSSD"))
		part->kind = 's';
	else if (gcp_sku_cut(s, commitment ? "Cpu" : " Instance Core"))
		part->kind = 'c';
	else if (gcp_sku_cut(s, commitment ? "Ram" : " Instance Ram"))
		part->kind = 'r';
	if (commitment && (part->kind == 'c' || part->kind == 'r') && !gcp_sku_cut(s, " ") &&
	    s[0] == '\0')
		str_copy(s, sizeof(part->name), "N1 Predefined");
	return part->kind != 0;
}

/* Nanos of the last tier (the first may be a free allowance), per hour of the unit that the kind is
 * sold by. */
static bool
gcp_sku_nanos(const struct jsonr *sku, char kind, int64_t *nanos_out)
{
	struct jsonr infos = jsonr_get(sku, "pricingInfo"), info = jsonr_at(&infos, 0);
	struct jsonr expr = jsonr_get(&info, "pricingExpression"),
		     tiers = jsonr_get(&expr, "tieredRates");
	const char *unit = "", *currency = "",
		   *want = kind == 'r'   ? "GiBy.h"
			   : kind == 's' ? "GiBy.mo"
					 : "h";
	int64_t units = 0, nanos = 0;
	struct jsonr tier, price;

	if (jsonr_len(&tiers) == 0)
		return false;
	tier = jsonr_at(&tiers, jsonr_len(&tiers) - 1);
	price = jsonr_get(&tier, "unitPrice");
	if (jsonr_none(&price) || jsonr_str(&expr, "usageUnit", &unit, NULL) != BERTH_OK ||
	    !str_eq(unit, want) || jsonr_str(&price, "currencyCode", &currency, NULL) != BERTH_OK ||
	    !str_eq(currency, "USD") ||
	    jsonr_int(&price, "units", 0, GCP_UNITS_MAX, &units, NULL) != BERTH_OK ||
	    jsonr_int(&price, "nanos", 0, 999999999, &nanos, NULL) != BERTH_OK)
		return false;
	*nanos_out = units * 1000000000 + nanos;
	return *nanos_out > 0;
}

static const char *
gcp_sku_key(
    char *dst, size_t size, char kind, const char *name, const char *region, enum gcp_buy buy)
{
	size_t n = 0;

	dst[n++] = kind;
	dst[n++] = (char)('0' + (int)buy);
	str_copy(dst + n, size - n, region);
	n += strlen(dst + n);
	if (n + 1 < size) {
		dst[n++] = '|';
		str_copy(dst + n, size - n, name);
	}
	return dst;
}

void
gcp_sku_add(struct gcp_prices *p, const struct jsonr *sku)
{
	struct jsonr category = jsonr_get(sku, "category"),
		     regions = jsonr_get(sku, "serviceRegions");
	const char *description = "", *usage = "", *group = "";
	struct gcp_part part;
	char key[192];
	int64_t nanos;

	if (jsonr_str(sku, "description", &description, NULL) != BERTH_OK ||
	    jsonr_str(&category, "usageType", &usage, NULL) != BERTH_OK ||
	    jsonr_str(&category, "resourceGroup", &group, NULL) != BERTH_OK ||
	    !gcp_sku_part(description, usage, group, &part) ||
	    !gcp_sku_nanos(sku, part.kind, &nanos))
		return;
	for (size_t i = 0; i < jsonr_len(&regions); i++) {
		const char *region = json_string_value(json_array_get(regions.v, i));
		size_t *at;
		int added = 0;

		if (region == NULL)
			continue;
		at = strmap_add(p->arena, &p->index,
		    gcp_sku_key(key, sizeof(key), part.kind, part.name, region, part.buy),
		    p->nanos.n, &added);
		if (added)
			VEC_PUSH(p->arena, &p->nanos, nanos);
		else if (p->nanos.v[*at] < nanos)
			p->nanos.v[*at] = nanos;
	}
}

static bool
gcp_sku_get(const struct gcp_prices *p, char kind, const char *const *names, size_t n,
    const char *region, enum gcp_buy buy, int64_t *nanos_out)
{
	char key[192];

	for (size_t i = 0; i < n && names[i] != NULL; i++) {
		const size_t *at = strmap_get(
		    &p->index, gcp_sku_key(key, sizeof(key), kind, names[i], region, buy));

		if (at != NULL) {
			*nanos_out = p->nanos.v[*at];
			return true;
		}
	}
	return false;
}

static const struct gcp_family *
gcp_sku_family(const char *type)
{
	for (const struct gcp_family *f = gcp_families; f->prefix != NULL; f++)
		if (str_starts(type, f->prefix))
			return f;
	return NULL;
}

static bool
gcp_sku_sold(const struct gcp_family *f, enum gcp_buy buy)
{
	switch (buy) {
	case GCP_ON_DEMAND:
		return (f->flags & GCP_NO_ON_DEMAND) == 0;
	case GCP_1_YEAR:
	case GCP_3_YEARS:
		return (f->flags & GCP_NO_COMMITMENT) == 0;
	case GCP_SPOT:
		return true;
	case GCP_BUYS:
		break;
	}
	return false;
}

bool
gcp_sku_price(
    const struct gcp_prices *p, const struct gcp_machine *m, enum gcp_buy buy, int64_t *micro_out)
{
	const struct gcp_family *f = gcp_sku_family(m->name);
	static const char *const disk[] = { "SSD backed Local Storage" };
	const char *const *cards = f != NULL ? f->card : NULL;
	const char *attached[1] = { NULL };
	int64_t core = 0, ram = 0, card = 0, ssd = 0, nanos;

	if (f == NULL || !gcp_sku_sold(f, buy) || m->cards < 1 || m->cards > 64 || m->vcpus < 1 ||
	    m->vcpus > 4096 || m->memory_mib < 1 || m->memory_mib > (1 << 26))
		return false;
	if (f->card[0] == NULL) {
		for (const struct gcp_card *c = gcp_cards; c->name != NULL; c++)
			if (str_eq(c->name, m->card))
				attached[0] = c->sku;
		cards = attached;
	}
	if (!gcp_sku_get(p, 'g', cards, f->card[0] != NULL ? 3 : 1, m->region, buy, &card))
		return false;
	if ((f->flags & GCP_NO_HOST) == 0 &&
	    (!gcp_sku_get(p, 'c', f->host, 2, m->region, buy, &core) ||
		!gcp_sku_get(p, 'r', f->host, 2, m->region, buy, &ram)))
		return false;
	if (f->ssd_gib > 0 && !gcp_sku_get(p, 's', disk, 1, m->region,
				  buy == GCP_SPOT ? GCP_SPOT : GCP_ON_DEMAND, &ssd))
		return false;
	/* no part is over 1e12: at most 4096e12 + 65537e12 + 64e12 + 96000e12, within 64 bits */
	nanos = m->vcpus * core + m->memory_mib / 1024 * ram + m->memory_mib % 1024 * ram / 1024 +
		m->cards * card +
		(m->cards * f->ssd_gib * ssd + GCP_HOURS_A_MONTH / 2) / GCP_HOURS_A_MONTH;
	*micro_out = (nanos + 500) / 1000;
	return true;
}

/* Of one SKU so many chips are sold; a pod is what has more of them, and every v4. */
static const struct {
	const char *version, *names[3], *pod[3];
	int chips;
} gcp_tpu_skus[] = {
	{ "v2", { "TPU v2" }, { "TPU v2 pod" }, 4 },
	{ "v3", { "TPU v3" }, { "TPU v3 pod" }, 4 },
	{ "v4", { "TPU v4 pod" }, { "TPU v4 pod" }, 4 },
	{ "v5litepod", { "TpuV5e" }, { "TpuV5e" }, 1 },
	{ "v5p", { "TpuV5p" }, { "TpuV5p" }, 1 },
	{ "v6e", { "TpuV6e" }, { "TpuV6e" }, 1 },
	{ "tpu7x", { "Tpu7x", "TpuV7x" }, { "Tpu7x", "TpuV7x" }, 1 },
};

bool
gcp_sku_old(const char *version)
{
	return str_eq(version, "v2") || str_eq(version, "v3") || str_eq(version, "v4");
}

bool
gcp_sku_tpu(const struct gcp_prices *p, const char *version, int64_t chips, const char *region,
    enum gcp_buy buy, int64_t *nanos_out)
{
	int64_t nanos;

	for (size_t i = 0; i < sizeof(gcp_tpu_skus) / sizeof(gcp_tpu_skus[0]); i++) {
		const char *const *names =
		    chips > gcp_tpu_skus[i].chips ? gcp_tpu_skus[i].pod : gcp_tpu_skus[i].names;

		if (!str_eq(version, gcp_tpu_skus[i].version))
			continue;
		if (!gcp_sku_get(p, 't', names, 3, region, buy, &nanos))
			return false;
		*nanos_out = nanos * chips / gcp_tpu_skus[i].chips;
		return true;
	}
	return false;
}
