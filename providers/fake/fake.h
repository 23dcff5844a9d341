/* providers/fake/fake.h - an adapter that exists to test the core: lines of text, no cloud.  Floor:
 * tests. */
#ifndef BERTH_PROVIDERS_FAKE_H
#define BERTH_PROVIDERS_FAKE_H

#include "providers/provider.h"

/*
 * Offers, machines: one a line, "TYPE PRICE" and "REF STATE INSTALLATION TOKEN"; a line "next
 * TOKEN" tells of a further page. A refusal is "error CODE TEXT", with any status. Its table knows
 * no_room (capacity, even as HTTP 500) and over_limit (quota). It honours no tokens, so that a
 * create is never repeated.
 */
extern const struct provider_ops provider_fake;

#endif
