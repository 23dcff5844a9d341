/* tests/conformance/wires.h - what holds whatever a cloud says.  Floor: tests. */
#ifndef BERTH_TESTS_WIRES_H
#define BERTH_TESTS_WIRES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "providers/prov.h"
#include "util/log.h"

#define WIRES_NOW INT64_C(1795996800)

struct wires_case {
	const char *provider;
	unsigned caps;
	prov_exchange_fn *cloud;	/* a cloud of ours with room for two machines */
	int64_t startup_s;
	bool told_where;		/* the cloud's own answer says where its services are */
	struct prov_account *(*open)(const void *arg, int64_t now);	/* of one installation always */
	const void *arg;
	void (*fresh)(void);		/* the cloud has no machines */
	struct log *log;		/* that the accounts write to: taken meanwhile */
};

/*
 * Twists one value at a time in the answers of every call, gives ids that lead elsewhere, and loses the answers of
 * launches: one line of TAP.
 */
void wires_hold(const struct wires_case *c);

#endif
