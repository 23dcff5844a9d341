/* tests/conformance/kit.h - what small clouds of ours have in common.  Floor: tests. */
#ifndef BERTH_TESTS_KIT_H
#define BERTH_TESTS_KIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "providers/account.h"
#include "util/json.h"

#define KIT_ROOM 2
#define KIT_START_S 60
#define KIT_STOP_S 30

/* A machine starts for KIT_START_S of the account's clock and is gone KIT_STOP_S after its end was asked for. */
struct kit_machine { char id[80], name[128], installation[64], token[80], key[80]; bool spot; int64_t created, ended; };
struct kit_fleet { struct kit_machine v[64]; size_t n; };

enum berth_code kit_answer(struct http_resp *resp, int status, const char *body);
bool kit_gone(const struct kit_machine *m, int64_t now);
size_t kit_up(const struct kit_fleet *f, int64_t now);
bool kit_full(const struct kit_fleet *f, int64_t now);
struct kit_machine *kit_find(struct kit_fleet *f, const char *id, int64_t now);
/* A new one with an id of its own behind prefix. */
struct kit_machine *kit_add(struct kit_fleet *f, const char *prefix, int64_t now);
/* "a,b,c" of each machine that is not gone. */
typedef const char *kit_text_fn(struct arena *a, const struct kit_machine *m, int64_t now);
const char *kit_list(const struct kit_fleet *f, struct arena *a, kit_text_fn *text, int64_t now);
/* A string at a path like "a.b.0.c" of the body; "" if there is none. In the request's arena. */
const char *kit_str(const struct http_req *req, const char *path);

/* Runs through an account's calls, records them under dir, and looks for what it must not find. */
void recorded_keeps_no_secret(const char *provider, struct prov_account *acc, prov_exchange_fn *cloud, const char *dir);

#endif
