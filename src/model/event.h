/* src/model/event.h - what happened, kept and sent on.  Floor: model. */
#ifndef BERTH_MODEL_EVENT_H
#define BERTH_MODEL_EVENT_H

#include <stdint.h>

struct event {
	int64_t id;          /* grows */
	int64_t t;           /* s since epoch */
	const char *type;    /* "job.placed", "instance.preempted": noun.verb, never changes */
	const char *subject; /* id of what it is about: "j-…", "instance:12", "provider:aws" */
	const char *data;    /* JSON object text; "{}" none */
	int64_t run;         /* the run that wrote it */
};

/* An event that waits to be sent to one sink. */
struct outbox_row {
	struct event event;
	const char *sink;
	int tries;
	int64_t next_try;  /* s since epoch */
	const char *error; /* of the last try; "" */
};

#endif
