#include <stdio.h>
#include <string.h>

#include "providers/aws/aws.h"
#include "util/arena.h"
#include "util/str.h"

/*
 * Families and their accelerators, by the names of the accelerator table: the API says "A100" and
 * 40960 MiB, but not the form, and rounds some memories (A10G 22888 MiB for 24 GB); of Trainium and
 * Inferentia the GPU part says nothing.
 */
static const struct {
	const char *family, *accelerator;
} aws_families[] = {
	{ "p2", "K80" },
	{ "p3", "V100-SXM2-16GB" },
	{ "p3dn", "V100-SXM2-32GB" },
	{ "p4d", "A100-SXM4-40GB" },
	{ "p4de", "A100-SXM4-80GB" },
	{ "p5", "H100-SXM5-80GB" },
	{ "p5e", "H200-SXM-141GB" },
	{ "p5en", "H200-SXM-141GB" },
	{ "p6-b200", "B200-180GB" },
	{ "p6-b300", "B300-288GB" },
	{ "p6e-gb200", "GB200-186GB" },
	{ "p6e-gb300", "GB300-279GB" },
	{ "g3", "M60" },
	{ "g3s", "M60" },
	{ "g4dn", "T4" },
	{ "g4ad", "Radeon Pro V520" },
	{ "g5", "A10G" },
	{ "g5g", "T4G" },
	{ "g6", "L4" },
	{ "gr6", "L4" },
	{ "g6f", "L4" },
	{ "gr6f", "L4" },
	{ "g6e", "L40S" },
	{ "g7", "RTX PRO 4500 Blackwell" },
	{ "g7e", "RTX PRO 6000 Blackwell Server" },
	{ "inf1", "Inferentia1" },
	{ "inf2", "Inferentia2" },
	{ "trn1", "Trainium1" },
	{ "trn1n", "Trainium1" },
	{ "trn2", "Trainium2" },
	{ "trn2u", "Trainium2" },
	{ "trn3", "Trainium3" },
	{ "trn3u", "Trainium3" },
	{ "dl1", "Gaudi1" },
	{ "dl2q", "Qualcomm Cloud AI 100" },
	{ "vt1", "Alveo U30" },
};

static const struct {
	const char *type;
	int count;
} aws_counts[] = {
	{ "inf1.xlarge", 1 },
	{ "inf1.2xlarge", 1 },
	{ "inf1.6xlarge", 4 },
	{ "inf1.24xlarge", 16 },
	{ "inf2.xlarge", 1 },
	{ "inf2.8xlarge", 1 },
	{ "inf2.24xlarge", 6 },
	{ "inf2.48xlarge", 12 },
	{ "trn1.2xlarge", 1 },
	{ "trn1.32xlarge", 16 },
	{ "trn1n.32xlarge", 16 },
	{ "trn2.3xlarge", 1 },
	{ "trn2.48xlarge", 16 },
	{ "trn2u.48xlarge", 16 },
	{ "dl1.24xlarge", 8 },
	{ "dl2q.24xlarge", 8 },
	{ "p3.2xlarge", 1 },
	{ "p3.8xlarge", 4 },
	{ "p3.16xlarge", 8 },
	{ "p3dn.24xlarge", 8 },
	{ "p4d.24xlarge", 8 },
	{ "p4de.24xlarge", 8 },
	{ "p5.4xlarge", 1 },
	{ "p5.48xlarge", 8 },
	{ "p5e.48xlarge", 8 },
	{ "p5en.48xlarge", 8 },
	{ "p6-b200.48xlarge", 8 },
	{ "p6-b300.48xlarge", 8 },
};

const char *const aws_family_patterns[] = { "p*", "g*", "inf*", "trn*", "dl*", "vt*", NULL };

const char *
aws_family_accelerator(const char *type)
{
	size_t n = strcspn(type, ".");

	for (size_t i = 0; i < sizeof(aws_families) / sizeof(aws_families[0]); i++)
		if (strlen(aws_families[i].family) == n &&
		    strncmp(aws_families[i].family, type, n) == 0)
			return aws_families[i].accelerator;
	return NULL;
}

int
aws_family_count(const char *type)
{
	for (size_t i = 0; i < sizeof(aws_counts) / sizeof(aws_counts[0]); i++)
		if (str_eq(aws_counts[i].type, type))
			return aws_counts[i].count;
	return 0;
}

/* As aws_location_plain() leaves them. */
static const struct {
	const char *location, *region;
} aws_locations[] = {
	{ "us east (n. virginia)", "us-east-1" },
	{ "us east (ohio)", "us-east-2" },
	{ "us west (n. california)", "us-west-1" },
	{ "us west (oregon)", "us-west-2" },
	{ "canada (central)", "ca-central-1" },
	{ "canada west (calgary)", "ca-west-1" },
	{ "mexico (central)", "mx-central-1" },
	{ "south america (sao paulo)", "sa-east-1" },
	{ "europe (ireland)", "eu-west-1" },
	{ "europe (london)", "eu-west-2" },
	{ "europe (paris)", "eu-west-3" },
	{ "europe (frankfurt)", "eu-central-1" },
	{ "europe (zurich)", "eu-central-2" },
	{ "europe (stockholm)", "eu-north-1" },
	{ "europe (milan)", "eu-south-1" },
	{ "europe (spain)", "eu-south-2" },
	{ "africa (cape town)", "af-south-1" },
	{ "middle east (bahrain)", "me-south-1" },
	{ "middle east (uae)", "me-central-1" },
	{ "israel (tel aviv)", "il-central-1" },
	{ "asia pacific (hong kong)", "ap-east-1" },
	{ "asia pacific (taipei)", "ap-east-2" },
	{ "asia pacific (tokyo)", "ap-northeast-1" },
	{ "asia pacific (seoul)", "ap-northeast-2" },
	{ "asia pacific (osaka)", "ap-northeast-3" },
	{ "asia pacific (osaka-local)", "ap-northeast-3" },
	{ "asia pacific (mumbai)", "ap-south-1" },
	{ "asia pacific (hyderabad)", "ap-south-2" },
	{ "asia pacific (singapore)", "ap-southeast-1" },
	{ "asia pacific (sydney)", "ap-southeast-2" },
	{ "asia pacific (jakarta)", "ap-southeast-3" },
	{ "asia pacific (melbourne)", "ap-southeast-4" },
	{ "asia pacific (malaysia)", "ap-southeast-5" },
	{ "asia pacific (new zealand)", "ap-southeast-6" },
	{ "asia pacific (thailand)", "ap-southeast-7" },
	{ "china (beijing)", "cn-north-1" },
	{ "china (ningxia)", "cn-northwest-1" },
	{ "aws govcloud (us)", "us-gov-west-1" },
	{ "aws govcloud (us-west)", "us-gov-west-1" },
	{ "aws govcloud (us-east)", "us-gov-east-1" },
};

/*
 * Lower case, one blank between words (a no-break space is one), "eu " spelt out: the feeds do not
 * agree with each other.
 */
static char *
aws_location_plain(struct arena *a, const char *s)
{
	char *out = arena_alloc(a, strlen(s) + 1), *p = out;

	for (; *s != '\0'; s++) {
		bool nbsp = str_starts(s, "\xc2\xa0"), blank = nbsp || str_is_space(*s);

		s += nbsp;
		if (!blank)
			*p++ = str_lower_char(*s);
		else if (p != out && p[-1] != ' ')
			*p++ = ' ';
	}
	while (p != out && p[-1] == ' ')
		p--;
	*p = '\0';
	return str_starts(out, "eu (") ? arena_printf(a, "europe %s", out + 3) : out;
}

static bool
aws_is_region(const char *s)
{
	size_t dashes = 0;

	for (const char *p = s; *p != '\0'; p++) {
		if (*p == '-')
			dashes++;
		else if (!(*p >= 'a' && *p <= 'z') && !str_is_digit(*p))
			return false;
	}
	return dashes >= 2 && s[0] != '\0' && str_is_digit(s[strlen(s) - 1]);
}

const char *
aws_region_of_location(struct arena *a, const char *location)
{
	const char *plain = aws_location_plain(a, location);

	if (aws_is_region(plain))
		return plain;
	for (size_t i = 0; i < sizeof(aws_locations) / sizeof(aws_locations[0]); i++)
		if (str_eq(aws_locations[i].location, plain))
			return aws_locations[i].region;
	return NULL;
}

bool
aws_quota_name(const char *name, char family[64], enum purchase *purchase_out)
{
	static const struct {
		const char *front, *back;
		enum purchase purchase;
	} forms[] = {
		{ "Running On-Demand ", " instances", PURCHASE_ON_DEMAND },
		{ "All ", " Spot Instance Requests", PURCHASE_SPOT },
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		size_t front = strlen(forms[i].front), back = strlen(forms[i].back),
		       n = strlen(name);

		if (n <= front + back || !str_starts(name, forms[i].front) ||
		    !str_ends(name, forms[i].back))
			continue;
		snprintf(family, 64, "%.*s", (int)(n - front - back), name + front);
		*purchase_out = forms[i].purchase;
		return true;
	}
	return false;
}

/* "p4" for "p4*", "g" for "g[0-9]*" (and gr6, which is a G with more memory). */
static void
aws_quota_type(char *out, size_t size, const char *word, size_t n)
{
	size_t len = strlen(out);
	char low[16];

	for (size_t i = 0; i < n; i++)
		low[i] = str_lower_char(word[i]);
	low[n] = '\0';
	snprintf(out + len, size - len, "%s%s%s%s", len > 0 ? " " : "", low,
	    str_is_digit(low[n - 1]) ? "*" : "[0-9]*", str_eq(low, "g") ? " gr[0-9]*" : "");
}

bool
aws_quota_types(const char *family, char *out, size_t size)
{
	out[0] = '\0';
	for (const char *p = family; *p != '\0';) {
		size_t n = 0;

		while (str_is_alnum(p[n]))
			n++;
		/* families have short names: "Standard", "High" and "Memory" are none */
		if (n > 0 && n < 4 && strncmp(p, "and", n) != 0 && strlen(out) + 2 * n + 24 < size)
			aws_quota_type(out, size, p, n);
		p += n > 0 ? n : 1;
	}
	return out[0] != '\0';
}
