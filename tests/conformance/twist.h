/* tests/conformance/twist.h - one value of an answer becomes another.  Floor: tests. */
#ifndef BERTH_TESTS_TWIST_H
#define BERTH_TESTS_TWIST_H

#include <stdbool.h>
#include <stddef.h>

#include "net/http.h"

struct twist {
	size_t at;		/* which value, counted over all answers; SIZE_MAX: none, they are only counted */
	size_t pick;		/* what it becomes */
	size_t seen;
	bool hit, is_state;	/* is_state: the value said how a machine is */
	char name[80];
	const char *value;	/* JSON text, in the answer's arena or static */
	char shown[100];	/* the same for a message */
};

/* The values of JSON (also within strings), of XML, of CSV, and of the headers that berth reads. */
void twist_answer(struct twist *t, struct arena *a, struct http_resp *resp);

#endif
