/* tests/unit/xml.c - the XML reader: what it reads, what it refuses, and random damage. */
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"
#include "util/rng.h"
#include "util/str.h"
#include "util/xml.h"

static struct arena *a;
static struct berth_err err;

static const struct xml *
parse(const char *s, enum berth_code want)
{
	const struct xml *root = NULL;

	tap_code(xml_parse(a, s, strlen(s), "t", &root, &err), want, &err);
	return root;
}

static void
test_read(void)
{
	const struct xml *x = parse("\xef\xbb\xbf<?xml version=\"1.0\" encoding='utf-8'?>\n<!-- <no/> -->\n"
	    "<R xmlns=\"http://x/\" a='1>2'><id> i-1 </id><empty/><ns:n ns:b=\"c\">&lt;&amp;&gt;&quot;&apos;&#65;&#x1F600;</ns:n>"
	    "<set><item>1</item><!-- c --><other>x</other><item>2<b>t</b>3</item></set><c><![CDATA[<raw>&amp;]]> z</c></R>\n<!-- end -->\n",
	    BERTH_OK);
	const struct xml *item = xml_first(xml_get(x, "set"), "item");

	tap_is_str(x != NULL ? x->name : "", "R", "root");
	tap_is_str(xml_text(x, "id"), "i-1", "text, trimmed");
	tap_is_str(xml_text(x, "empty"), "", "an empty element");
	tap_is_str(xml_text(x, "n"), "<&>\"'A\xf0\x9f\x98\x80", "entities, and the prefix left out");
	tap_is_str(item->text, "1", "first item");
	item = xml_next(item, "item");
	tap_ok(item != NULL && str_eq(item->text, "23") && str_eq(xml_text(item, "b"), "t"), "second item, mixed content");
	tap_ok(xml_next(item, "item") == NULL, "no third");
	tap_is_str(xml_text(x, "c"), "<raw>&amp; z", "CDATA is not read");
	tap_ok(xml_get(x, "set/none") == NULL && xml_get(NULL, "x") == NULL, "what is not there");
	tap_is_str(xml_text(x, "set/none/deeper"), "", "nor its text");
	x = parse("<a/>", BERTH_OK);
	tap_ok(x != NULL && x->child == NULL, "an empty root");
}

static void
test_refuse(void)
{
	static const char *const bad[] = { "", " ", "text", "<a>", "<a></b>", "<a><b></a></b>", "<a/><b/>", "<a/>x", "<a b/>", "<a b=c/>",
		"<a b='c/>", "<a b='<'/>", "<a b='1'c='2'/>", "<a>&nbsp;</a>", "<a>&#0;</a>", "<a>&#xD800;</a>", "<a>&#x110000;</a>", "<a>&#;</a>",
		"<a>&", "<a>&amp", "<a><![CDATA[x</a>", "<a><!-- x</a>", "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", "<a><!DOCTYPE b></a>",
		"<1a/>", "<:/>", "<a:/>", "<:a/>", "< a/>", "<a>\xff</a>", "<a>\x01</a>", "<a", "<a/", "<a><?x", "</a>", "<a>\xed\xa0\x80</a>" };
	char deep[4 * XML_DEPTH_MAX + 16] = "";

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		parse(bad[i], BERTH_EINVAL);
		tap_ok(str_starts(err.where, "t:"), "refused at %s: %s", err.where, err.msg);
	}
	for (size_t i = 0; i <= XML_DEPTH_MAX; i++)
		memcpy(deep + 3 * i, "<a>", 4);
	parse(deep, BERTH_EINVAL);
	tap_is_str(err.msg, "XML: nested too deep", "depth is capped");
	parse("<a>\n\n<b></a>", BERTH_EINVAL);
	tap_is_str(err.where, "t:3", "the line");
}

/* Damage of a good document: never a crash (the sanitizer build says so), and a cut one is always refused. */
static void
test_damage(void)
{
	static const char good[] = "<?xml version=\"1.0\"?><R x='y'><s><item>a&amp;b<![CDATA[q]]></item><item/><!-- c --></s></R>";
	const size_t n = sizeof(good) - 1;
	const struct xml *root;
	int cut = 0;
	struct rng r;

	for (size_t i = 0; i < n; i++)
		cut += xml_parse(a, good, i, "t", &root, NULL) == BERTH_EINVAL;
	tap_is_long(cut, (long)n, "every cut is refused");
	rng_seed(&r, 1);
	for (int i = 0; i < 20000; i++) {
		char *copy = malloc(n);		/* of its exact size: what reads behind it is seen */

		if (copy == NULL)
			break;
		memcpy(copy, good, n);
		for (int k = 0; k < 3; k++)
			copy[rng_below(&r, n)] = (char)rng_below(&r, 256);
		(void)!xml_parse(a, copy, n, "t", &root, NULL);
		free(copy);
		arena_reset(a);
	}
	tap_ok(1, "damage does no harm");
}

int
main(void)
{
	a = arena_new();
	test_read();
	test_refuse();
	test_damage();
	arena_free(a);
	return tap_done();
}
