#include <limits.h>
#include <math.h>
#include <string.h>

#include "model/accel.h"
#include "model/datapath.h"
#include "tests/tap.h"
#include "util/str.h"

static struct arena *arena;
static const struct accel_table *tab;

static const char *
model_of(const char *name)
{
	const struct accel *a = accel_find(tab, name);

	return a == NULL ? "(unknown)" : accel_model(tab, a)->name;
}

/* One product under many spellings, and products that look alike. By hand from vendors' and clouds' documentation. */
static void
test_names(void)
{
	static const struct { const char *spelling, *name; } same[] = {
		{ "NVIDIA A100-SXM4-80GB", "A100-SXM4-80GB" }, { "nvidia_a100-sxm4-80gb", "A100-SXM4-80GB" },
		{ "NVIDIA-A100-SXM4-80GB", "A100-SXM4-80GB" }, { "nvidia-a100-80gb", "A100-SXM4-80GB" },
		{ "A100 80GB PCIe", "A100-PCIE-80GB" }, { "NVIDIA A100 80GB PCIe", "A100-PCIE-80GB" },
		{ "NVIDIA A100-PCIE-40GB", "A100-PCIE-40GB" }, { "nvidia-tesla-a100", "A100-SXM4-40GB" },
		{ "a100", "A100" }, { "NVIDIA A100", "A100" }, { "A100 NVLink", "A100" }, { "A100-80G", "A100-80GB" },
		{ "A100 PCIe", "A100-PCIE" }, { "A100 SXM", "A100-SXM4" }, { "A100-40GB", "A100-40GB" },
		{ "nvidia-tesla-v100", "V100-SXM2-16GB" }, { "Tesla V100", "V100" }, { "v100-32gb", "V100-32GB" },
		{ "h100", "H100" }, { "nvidia-h100-80gb", "H100-SXM5-80GB" }, { "nvidia-h100-mega-80gb", "H100-SXM5-80GB" },
		{ "NVIDIA H100 80GB HBM3", "H100-SXM5-80GB" }, { "NVIDIA H100 PCIe", "H100-PCIE-80GB" },
		{ "NVIDIA H100 NVL", "H100-NVL-94GB" }, { "H100-94GB", "H100-NVL-94GB" }, { "H100-80GB", "H100-80GB" },
		{ "NVIDIA H200", "H200-SXM-141GB" }, { "H200", "H200" }, { "NVIDIA H200 NVL", "H200-NVL-141GB" },
		{ "NVIDIA A10", "A10" }, { "NVIDIA A10 Tensor Core GPU", "A10" }, { "NVIDIA A10G", "A10G" },
		{ "NVIDIA L4", "L4" }, { "NVIDIA L40", "L40" }, { "NVIDIA L40S", "L40S" }, { "Tesla-T4", "T4" },
		{ "NVIDIA(R) L4", "L4" }, { "NVIDIA\302\256 L4", "L4" },
		{ "nvidia_geforce_rtx_2080_ti", "RTX 2080 Ti" }, { "RTX4090", "RTX 4090" }, { "a6000", "RTX A6000" },
		{ "NVIDIA GeForce RTX 4090 D", "RTX 4090 D" }, { "RTX 6000 Ada", "RTX 6000 Ada" },
		{ "NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX PRO 6000 Blackwell Server" },
		{ "tpu-v5-lite-podslice", "TPU v5e" }, { "v5litepod", "TPU v5e" }, { "tpu-v5p", "TPU v5p" },
		{ "TPU-v6e", "TPU v6e" }, { "trn1", "Trainium1" }, { "inf2", "Inferentia2" }, { "Gaudi", "Gaudi1" },
		{ "Intel Gaudi 3", "Gaudi3" }, { "AMD Instinct MI300X", "MI300X" }, { "Ascend 910B", "Ascend 910B" },
		{ "Ascend910B3", "Ascend 910B3" }, { "Standard_ND96asr_v4", "A100-SXM4-40GB" },
		{ "p4de.24xlarge", "A100-SXM4-80GB" }, { "Radeon Pro V520", "Radeon Pro V520" },
	};
	static const char *const unknown[] = { "A100-8", "A1000", "A10X", "L400", "H10", "GeForce", "NVIDIA", "", "  ", "-",
		"RTX 4090 Laptop GPU", "A100-SXM4-81GB", "Tesla", "RTX 6000", "gpu", "H100 A100", "100", "v5", NULL };

	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		const struct accel *a = accel_find(tab, same[i].spelling);

		tap_is_str(a != NULL ? a->name : NULL, same[i].name, "%s", same[i].spelling);
	}
	for (size_t i = 0; unknown[i] != NULL; i++)
		tap_ok(accel_find(tab, unknown[i]) == NULL, "'%s' is nobody", unknown[i]);
	tap_ok(accel_find(tab, arena_printf(arena, "%0500d", 7)) == NULL, "a name of 500 digits is nobody");
}

/* Spellings of one card are one model; look-alikes are not. */
static void
test_models(void)
{
	static const char *const groups[][4] = {
		{ "NVIDIA A100-SXM4-80GB", "NVIDIA A100 80GB PCIe", "nvidia-a100-80gb" },
		{ "A100-SXM4-40GB", "NVIDIA A100-PCIE-40GB", "nvidia-tesla-a100" },
		{ "Tesla V100-SXM2-16GB" }, { "Tesla V100-PCIE-32GB" },
		{ "NVIDIA A10", "NVIDIA A10 Tensor Core GPU" }, { "NVIDIA A10G" },
		{ "NVIDIA H100 80GB HBM3", "NVIDIA H100 PCIe" }, { "NVIDIA H100 NVL" }, { "NVIDIA H200" },
		{ "NVIDIA L4" }, { "NVIDIA L40S" }, { "NVIDIA L40" }, { "Tesla T4" },
		{ "nvidia_geforce_rtx_2080_ti", "NVIDIA GeForce RTX 2080 Ti" },
	};
	const size_t n = sizeof(groups) / sizeof(groups[0]);
	int wrong = 0, pairs = 0;

	for (size_t g = 0; g < n; g++)
		for (size_t h = g; h < n; h++)
			for (size_t i = 0; i < 4 && groups[g][i] != NULL; i++)
				for (size_t j = 0; j < 4 && groups[h][j] != NULL; j++, pairs++)
					if ((strcmp(model_of(groups[g][i]), model_of(groups[h][j])) == 0) != (g == h)) {
						tap_diag("%s and %s", groups[g][i], groups[h][j]);
						wrong++;
					}
	tap_is_long(wrong, 0, "%d pairs of spellings are one model exactly when they should be", pairs);
}

/* What must hold for every row, however the table grows. */
static void
test_table(void)
{
	size_t products = 0, lost = 0, outside = 0, dear = 0, loose = 0;

	for (size_t i = 0; i < accel_count(tab); i++) {
		const struct accel *a = accel_at(tab, i);

		lost += accel_find(tab, a->name) != a;
		products += a->n_members == 0;
		loose += a->n_members == 1;
		if (a->n_members == 0 && a->source[0] == '\0')
			tap_diag("%s has no source", a->name), outside++;
		for (size_t m = 0; m < a->n_members; m++) {
			outside += strcmp(a->members[m]->family, a->family) != 0;
			for (int p = 0; p < PRECISION_COUNT; p++)
				dear += a->peak_tflops[p] > a->members[m]->peak_tflops[p];
			dear += a->bandwidth_gb_s > a->members[m]->bandwidth_gb_s ||
			    a->memory_gib > a->members[m]->memory_gib;
		}
	}
	tap_ok(products >= 120, "%zu products", products);
	tap_ok(accel_count(tab) > products, "%zu groups", accel_count(tab) - products);
	tap_is_long((long long)lost, 0, "every name finds its own row");
	tap_is_long((long long)outside, 0, "members are of their group's family, and products have sources");
	tap_is_long((long long)dear, 0, "no group promises more than one of its members");
	tap_is_long((long long)loose, 0, "a group has several members");
}

static void
test_narrow(void)
{
	tap_is_str(accel_find_sized(tab, "A100", 80)->name, "A100-80GB", "A100 with 80 GB");
	tap_is_str(accel_find_sized(tab, "A100", 79.65)->name, "A100-80GB", "... as nvidia-smi counts it");
	tap_is_str(accel_find_sized(tab, "A100", NAN)->name, "A100", "A100 of unknown size");
	tap_is_str(accel_find_sized(tab, "A100", 64)->name, "A100", "A100 with a size that none has");
	tap_is_str(accel_find_sized(tab, "A100 PCIe", 80)->name, "A100-PCIE-80GB", "form and size are one product");
	tap_is_str(accel_find_sized(tab, "H100", 94)->name, "H100-NVL-94GB", "H100 with 94 GB");
	tap_is_str(accel_find_sized(tab, "L4", 24)->name, "L4", "a product stays");
	tap_ok(accel_find_sized(tab, "A1000", 8) == NULL, "an unknown one stays unknown");
}

static void
test_is(void)
{
	const struct accel *sxm80 = accel_find(tab, "A100-SXM4-80GB"), *m80 = accel_find(tab, "A100-80GB"),
	    *family = accel_find(tab, "A100"), *h100 = accel_find(tab, "H100"), *pcie = accel_find(tab, "A100 PCIe");

	tap_ok(accel_is(sxm80, m80) && accel_is(m80, family) && accel_is(sxm80, family) && accel_is(pcie, family),
	    "product, model and form are of the family");
	tap_ok(!accel_is(m80, sxm80), "a machine known as A100-80GB need not be an SXM4 one");
	tap_ok(!accel_is(family, m80) && !accel_is(pcie, m80), "one of unknown size need not have 80 GB");
	tap_ok(!accel_is(sxm80, h100) && !accel_is(h100, family), "another family is another family");
	tap_ok(accel_is(NULL, NULL) && accel_is(sxm80, NULL) && !accel_is(NULL, sxm80), "unknown is nothing but any");
}

static void
test_speed(void)
{
	const struct accel *h100 = accel_find(tab, "H100-SXM5-80GB"), *a100 = accel_find(tab, "A100-SXM4-80GB"),
	    *k80 = accel_find(tab, "K80"), *u30 = accel_find(tab, "Alveo U30"), *any = accel_find(tab, "A100");

	/* Dense BF16 of NVIDIA's data sheets: 989 and 312; memory 3350 and 2039 GB/s. */
	tap_near(accel_speed_ratio(h100, a100, PRECISION_BF16), 989.0 / 312, 1e-9, "H100 over A100 at bf16");
	tap_near(accel_speed_ratio(h100, a100, PRECISION_FP8), 3350.0 / 2039, 1e-9, "A100 has no fp8: by bandwidth");
	tap_near(accel_speed_ratio(a100, h100, PRECISION_BF16) * accel_speed_ratio(h100, a100, PRECISION_BF16), 1, 1e-12,
	    "there and back");
	tap_near(accel_speed_ratio(k80, a100, PRECISION_BF16), 240.0 / 2039, 1e-9, "K80 by bandwidth");
	tap_ok(isnan(accel_speed_ratio(u30, a100, PRECISION_BF16)), "neither known: unknown");
	tap_ok(isnan(accel_speed_ratio(NULL, a100, PRECISION_BF16)), "no such accelerator: unknown");
	tap_near(accel_speed_ratio(any, a100, PRECISION_FP8), 1555.0 / 2039, 1e-9, "a family is rated as its slowest");
}

static void
test_slices(void)
{
	static const struct { const char *name, *parent, *slice; double share, gib; } good[] = {
		{ "a100_1g.10gb", "A100-80GB", "1g.10gb", 1.0 / 7, 10 },
		{ "a100_3g.39gb", "A100-80GB", "3g.40gb", 3.0 / 7, 40 },
		{ "a100_3g.40gb", "A100-80GB", "3g.40gb", 3.0 / 7, 40 },
		{ "a100_3g.20gb", "A100-40GB", "3g.20gb", 3.0 / 7, 20 },
		{ "nvidia_h200_nvl_4g.71gb", "H200-NVL-141GB", "4g.71gb", 4.0 / 7, 70.5 },
		{ "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb", "A100-SXM4-80GB", "1g.10gb", 1.0 / 7, 10 },
		{ "nvidia_h100_80gb_hbm3_1g.10gb", "H100-SXM5-80GB", "1g.10gb", 1.0 / 7, 10 },
		{ "H100-NVL-94GB 1g.12gb", "H100-NVL-94GB", "1g.12gb", 1.0 / 7, 11.75 },
		{ "A30_2g.12gb", "A30", "2g.12gb", 0.5, 12 },
		{ "nvidia.com/mig-3g.20gb", NULL, "3g.20gb", 3.0 / 7, 20 },
		{ "1g.5gb", NULL, "1g.5gb", 1.0 / 7, 5 },
		{ "1g.10gb+me", NULL, "1g.10gb", 1.0 / 7, 10 },
		{ "A10-4Q", "A10", "4Q", 4.0 / 24, 4 }, { "GRID T4-8C", "T4", "8C", 0.5, 8 },
		{ "NVIDIA L4", "L4", "", 1, 24 },
	};
	static const char *const bad[] = { "A30_7g.24gb", "T4_1g.5gb", "A10-48Q", "8g.80gb", "1g", "0g.5gb", "1g.gb",
		"A10-4X", "nothing-4Q", "1g.10gbx", NULL };
	struct accel_ref r, q;
	double card = 0;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		bool known = accel_resolve(tab, arena, good[i].name, &r);

		tap_ok(known && r.share == good[i].share && fabs(r.memory_gib - good[i].gib) < 1e-9,
		    "%s is %.3f of a card with %g GiB", good[i].name, good[i].share, good[i].gib);
		tap_is_str(r.slice, good[i].slice, "... profile %s", good[i].slice);
		tap_is_str(r.accel != NULL ? r.accel->name : NULL, good[i].parent, "... of %s",
		    good[i].parent != NULL ? good[i].parent : "a card not named");
	}
	for (size_t i = 0; bad[i] != NULL; i++)
		tap_ok(!accel_resolve(tab, arena, bad[i], &r) && r.accel == NULL && r.share == 1, "%s is no slice",
		    bad[i]);
	/* A card cut into 4 x 1g and 1 x 3g is one card, not five. */
	accel_resolve(tab, arena, "a100_1g.10gb", &r);
	accel_resolve(tab, arena, "a100_3g.39gb", &q);
	card = 4 * r.share + q.share;
	tap_near(card, 1, 1e-12, "4 x 1g.10gb and 3g.39gb are one card");
	tap_ok(!accel_ref_same_class(&r, &q), "1g and 3g are two classes");
	accel_resolve(tab, arena, "a100_3g.40gb", &r);
	tap_ok(accel_ref_same_class(&r, &q), "3g.39gb and 3g.40gb are one");
}

static void
test_suggest(void)
{
	struct berth_err err;
	const char *near[4];
	size_t n = accel_suggest(tab, "A100-8", near, 4);
	bool has80 = false, has40 = false;

	for (size_t i = 0; i < n; i++) {
		has80 |= str_eq(near[i], "A100-80GB");
		has40 |= str_eq(near[i], "A100-40GB");
	}
	tap_ok(has80 && has40, "A100-8 may be A100-80GB or A100-40GB");
	tap_is_str(near[0], "A100-80GB", "... the first more likely");
	tap_ok(accel_suggest(tab, "NVIDIA H10O", near, 1) == 1 && str_eq(near[0], "H100"), "H10O may be H100");
	tap_ok(accel_suggest(tab, "MI300", near, 1) == 1 && str_starts(near[0], "MI300"), "MI300 may be MI300X or A");
	tap_is_long((long long)accel_suggest(tab, "qwertyuiop", near, 4), 0, "nothing is like qwertyuiop");
	tap_is_long((long long)accel_suggest(tab, "", near, 4), 0, "nothing is like nothing");
	tap_code(accel_unknown(tab, "A100-8", &err), BERTH_ENOTFOUND, &err);
	tap_is_str(err.msg, "unknown accelerator 'A100-8': did you mean A100-80GB, A100 or A100-40GB?", "the message");
}

static void
test_spec(void)
{
	static const struct { const char *text, *accel; double min, max; int low, high; } good[] = {
		{ "H100:8", "H100", 0, INFINITY, 8, 8 }, { "A100:80GB:4..8", "A100-80GB", 80, 80, 4, 8 },
		{ "A100-80GB", "A100-80GB", 0, INFINITY, 0, INT_MAX }, { "24GB..80GB", NULL, 24, 80, 0, INT_MAX },
		{ "any", NULL, 0, INFINITY, 0, INT_MAX }, { "any:8", NULL, 0, INFINITY, 8, 8 },
		{ "A100:48GB+", "A100", 48, INFINITY, 0, INT_MAX }, { "A100:..40GB:2", "A100", 0, 40, 2, 2 },
		{ "24..80GB:4+", NULL, 24, 80, 4, INT_MAX }, { "A100 PCIe:80GB", "A100-PCIE-80GB", 80, 80, 0, INT_MAX },
		{ "48GB..", NULL, 48, INFINITY, 0, INT_MAX }, { "a10g:..4", "A10G", 0, INFINITY, 1, 4 },
	};
	static const struct { const char *text; enum berth_code code; } bad[] = {
		{ "", BERTH_EINVAL }, { ":8", BERTH_EINVAL }, { "H100:0", BERTH_EINVAL }, { "H100:-1", BERTH_EINVAL },
		{ "H100:8:8", BERTH_EINVAL }, { "H100:8..4", BERTH_EINVAL }, { "H100:..", BERTH_EINVAL },
		{ "H100:x", BERTH_EINVAL }, { "A100:60GB", BERTH_EINVAL }, { "L4:80GB", BERTH_EINVAL },
		{ "H100:1e3", BERTH_EINVAL }, { "H100:8:80GB", BERTH_EINVAL }, { "A100:", BERTH_EINVAL },
		{ "A100-8:8", BERTH_ENOTFOUND }, { "A1000", BERTH_ENOTFOUND }, { "80GB..40GB", BERTH_EINVAL },
		{ "A100:99999999999999999999", BERTH_EINVAL },
	};
	static const struct { const char *text, *says; } why[] = {
		{ "L4:1000000000", "the count '1000000000' is not a whole number from 1 to 1000000" },
		{ "L4:4..1000001", "the count '4..1000001' is not a whole number from 1 to 1000000" },
		{ "L4:0", "from 1 to 1000000" }, { "L4:1.5", "not a whole number" }, { "H100:8:8", "'8' comes after the count" },
		{ "H100:8:80GB", "say NAME:MEMORY:COUNT" }, { "H100:x", "neither a memory size" },
	};
	struct accel_spec s;
	struct berth_err err;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		tap_code(accel_spec_parse(tab, arena, good[i].text, &s, &err), BERTH_OK, &err);
		tap_is_str(s.accel != NULL ? s.accel->name : NULL, good[i].accel, "%s names", good[i].text);
		tap_ok(s.memory_min_gib == good[i].min && s.memory_max_gib == good[i].max && s.count_min == good[i].low &&
		    s.count_max == good[i].high, "... memory %g..%g, count %d..%d", s.memory_min_gib, s.memory_max_gib,
		    s.count_min, s.count_max);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		enum berth_code rc = accel_spec_parse(tab, arena, bad[i].text, &s, &err);

		tap_ok(rc == bad[i].code, "'%s' is refused: %s", bad[i].text, rc != BERTH_OK ? err.msg : "it was not");
	}
	for (size_t i = 0; i < sizeof(why) / sizeof(why[0]); i++) {
		enum berth_code rc = accel_spec_parse(tab, arena, why[i].text, &s, &err);

		tap_ok(rc == BERTH_EINVAL && strstr(err.msg, why[i].says) != NULL, "'%s': %s", why[i].text,
		    rc != BERTH_OK ? err.msg : "it was taken");
	}
	tap_code(accel_spec_parse(tab, arena, "L4:1000000", &s, &err), BERTH_OK, &err);
}

/* A made list of offers, and by hand which of them each spec means. */
static void
test_match(void)
{
	static const struct { const char *name; double gib; int count; } offers[] = {
		{ "A100", 40, 1 }, { "A100", 80, 1 }, { "A100-SXM4-80GB", 80, 8 }, { "A10G", 24, 1 }, { "H100", 80, 8 },
		{ "A100", NAN, 1 }, { "Zeta 9000", 48, 1 }, { "A10-24GB", NAN, 4 }, { "L4", 3, 1 }, { "B200", 192, 8 },
	};
	static const struct { const char *spec, *want; } cases[] = {
		{ "A100", "AAA..A...." }, { "A100-80GB", ".AA......." }, { "A100:80GB", ".AA......." },
		{ "A100:48GB+", ".AA......." }, { "A100-80GB:1", ".A........" }, { "A100:8", "..A......." },
		{ "A100-40GB", "A........." }, { "A100:..40GB", "A........." }, { "A100-SXM4-80GB", "..A......." },
		{ "A10", ".......A.." }, { "A10G", "...A......" }, { "any", "AAAAAAAAAA" }, { "any:4..8", "..A.A..A.A" },
		{ "H100", "....A....." }, { "24GB..80GB", "AAAAAAAA.." }, { "L4:20GB+", ".........." },
		{ "B200:180GB", ".........A" }, { "48GB..", ".AA.A.A..A" }, { "A40", ".........." },
	};

	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct accel_spec s;
		struct berth_err err;
		char got[sizeof(offers) / sizeof(offers[0]) + 1] = "";

		if (accel_spec_parse(tab, arena, cases[c].spec, &s, &err) != BERTH_OK)
			tap_diag("%s", err.msg);
		else
			for (size_t i = 0; i < sizeof(got) - 1; i++)
				got[i] = accel_spec_match(&s, tab, offers[i].name, offers[i].gib, offers[i].count) ? 'A' : '.';
		tap_is_str(got, cases[c].want, "%s", cases[c].spec);
	}
}

#define HEAD "kind,name,family,form,aliases,vendor,year,memory_gib,bandwidth_gb_s,fp64,fp64_mma,fp32,tf32,fp16,bf16," \
	"fp8,int8,fp4,link_gb_s,tdp_w,compute_capability,sm_count,mig_slices,confidence,source,note\n"
#define ROW(name, family, form, aliases, memory) "product," name "," family "," form "," aliases ",V,2020," memory \
	",100,,,1,,,,,,,,,,,,read,s,\n"

static void
test_bad_tables(void)
{
	static const struct { const char *text, *where, *part; } bad[] = {
		{ HEAD, "t.csv", "no accelerator" },
		{ "kind,name\nproduct,x\n", "", "family" },
		{ HEAD ROW("X1", "X1", "", "", "abc"), "t.csv:2", "abc" },
		{ HEAD ROW("X1", "X1", "", "", "-8"), "t.csv:2", "-8" },
		{ HEAD ROW("X1", "X1", "", "", "0"), "t.csv:2", "0" },
		{ HEAD ROW("X1", "X1", "", "", "8") ROW("X-1", "X2", "", "", "8"), "t.csv:3", "X1" },
		{ HEAD ROW("X1", "X1", "", "pal", "8") ROW("X2", "X2", "", "P A L", "8"), "t.csv:3", "P A L" },
		{ HEAD ROW("X1", "X1", "", "x1-8gb|X 1 8G", "8") ROW("X2", "X2", "", "X1-8GB", "8"), "t.csv:3", "X1" },
		{ HEAD ROW("", "X1", "", "", "8"), "t.csv:2", "name" },
		{ HEAD ROW("X1", "", "", "", "8"), "t.csv:2", "family" },
		{ HEAD "thing" ROW("X1", "X1", "", "", "8"), "t.csv:2", "kind" },
		{ HEAD ROW("X1", "X1", "", "", "8") "group,X9,,,a,,,,,,,,,,,,,,,,,,,,,\n", "t.csv:3", "X9" },
		{ HEAD ROW("X", "X", "A", "", "8") ROW("X-9GB", "X", "B", "", "9"), "t.csv:2", "X" },
	};
	const struct accel_table *t = NULL;
	struct berth_err err = { 0 };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		enum berth_code rc = accel_table_parse("t.csv", bad[i].text, strlen(bad[i].text), arena, &t, &err);

		tap_ok(rc == BERTH_EINVAL && strncmp(err.where, bad[i].where, strlen(bad[i].where)) == 0 &&
		    strstr(err.msg, bad[i].part) != NULL && t == NULL, "table %zu is refused at %s: %s", i, err.where,
		    err.msg);
	}
	tap_code(accel_table_load("/nonexistent/a.csv", arena, &t, &err), BERTH_ENOTFOUND, &err);
}

int
main(void)
{
	struct berth_err err = { 0 };

	arena = arena_new();
	tap_code(accel_table_open(arena, &tab, &err), BERTH_OK, &err);
	if (tab == NULL) {
		tap_diag("%s: %s", err.where, err.msg);
		return tap_done();
	}
	test_table();
	test_names();
	test_models();
	test_narrow();
	test_is();
	test_speed();
	test_slices();
	test_suggest();
	test_spec();
	test_match();
	test_bad_tables();
	arena_free(arena);
	return tap_done();
}
