/* Byte by byte, for processors without a file of their own. */
#include "util/jsonscan.h"

#ifndef __SSE2__

size_t
jsonscan_skip(struct jsonscan *s, const char *p, size_t n)
{
	size_t i;

	n -= n % JSONSCAN_BLOCK;
	for (i = 0; i < n && s->depth > 0; i++) {
		if (s->escaped != 0)
			s->escaped = 0;
		else if (p[i] == '\\')
			s->escaped = 1;
		else if (p[i] == '"')
			s->in_string = ~s->in_string;
		else if (s->in_string == 0 && (p[i] == '{' || p[i] == '['))
			s->depth++;
		else if (s->in_string == 0 && (p[i] == '}' || p[i] == ']'))
			s->depth--;
		s->deepest = s->depth > s->deepest ? s->depth : s->deepest;
	}
	return i;
}

size_t
jsonscan_string(const char *p, size_t n, int *high_out)
{
	size_t i;

	for (i = 0; i < n && p[i] != '"' && p[i] != '\\' && (unsigned char)p[i] >= 0x20; i++)
		*high_out |= (unsigned char)p[i] >= 0x80;
	return i;
}

size_t
jsonscan_blank(const char *p, size_t n)
{
	size_t i = 0;

	while (i < n && (p[i] == ' ' || p[i] == '\t' || p[i] == '\n' || p[i] == '\r'))
		i++;
	return i;
}

#endif
