#include <string.h>

#include "util/hash.h"
#include "util/strmap.h"

/* The slot of key, or the free one where it belongs; cap is a power of two and never full. */
static struct strmap_slot *
strmap_slot(struct strmap_slot *slots, size_t cap, const char *key)
{
	size_t i = (size_t)hash_fast(key, strlen(key)) & (cap - 1);

	while (slots[i].key != NULL && strcmp(slots[i].key, key) != 0)
		i = (i + 1) & (cap - 1);
	return &slots[i];
}

size_t *
strmap_get(const struct strmap *m, const char *key)
{
	struct strmap_slot *s;

	if (m->n == 0)
		return NULL;
	s = strmap_slot(m->slots, m->cap, key);
	return s->key != NULL ? &s->value : NULL;
}

static struct strmap_slot *
strmap_put(struct arena *a, struct strmap *m, const char *key, size_t first, int *added_out)
{
	struct strmap_slot *s;

	if ((m->n + 1) * 2 > m->cap) {
		size_t cap = m->cap < 8 ? 16 : m->cap * 2;
		struct strmap_slot *slots = arena_array_of(a, cap, struct strmap_slot);

		for (size_t i = 0; i < m->cap; i++) {
			if (m->slots[i].key != NULL)
				*strmap_slot(slots, cap, m->slots[i].key) = m->slots[i];
		}
		m->slots = slots;
		m->cap = cap;
	}
	s = strmap_slot(m->slots, m->cap, key);
	if (added_out != NULL)
		*added_out = s->key == NULL;
	if (s->key == NULL) {
		*s = (struct strmap_slot){ arena_strdup(a, key), first };
		m->n++;
	}
	return s;
}

size_t *
strmap_add(struct arena *a, struct strmap *m, const char *key, size_t first, int *added_out)
{
	return &strmap_put(a, m, key, first, added_out)->value;
}

const char *
strmap_intern(struct arena *a, struct strmap *m, const char *s)
{
	return s[0] == '\0' ? "" : strmap_put(a, m, s, 0, NULL)->key;
}
