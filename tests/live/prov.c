/*
 * tests/live/prov.c - calls of the provider core from the shell: prov CONFIG ACCOUNT CALL [ARGUMENT...].
 *
 * $PROV_JSON: machines and offers as JSON, one a line, with all their fields. $PROV_NOW: the clock, s since 1970.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "model/accel.h"
#include "providers/prov.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/log.h"
#include "util/str.h"
#include "util/yaml.h"

static struct arena *a;
static struct { const char *zone, *type, *purchase; struct offer found; bool is_found; } wanted;

static const char *
say(const char *s)
{
	return s[0] != '\0' ? s : "-";
}

static bool
json_begin(struct jsonw *w)
{
	if (getenv("PROV_JSON") == NULL)
		return false;
	jsonw_init(w, stdout, JSONW_COMPACT);
	jsonw_begin_object(w, NULL);
	return true;
}

static enum berth_code
json_end(struct jsonw *w, struct berth_err *err)
{
	jsonw_end_object(w);
	putchar('\n');
	return jsonw_finish(w, err);
}

static enum berth_code
json_offer(struct jsonw *w, const struct offer *o, struct berth_err *err)
{
	jsonw_str(w, "region", o->region);
	jsonw_str(w, "zone", o->zone);
	jsonw_str(w, "instance_type", o->instance_type);
	jsonw_str(w, "accelerator", o->accelerator);
	jsonw_bool(w, "known", o->accelerator_known);
	jsonw_int(w, "count", o->accelerator_count);
	jsonw_double(w, "vcpus", o->vcpus);
	jsonw_double(w, "memory_gib", o->memory_gib);
	jsonw_str(w, "purchase", purchase_name(o->purchase));
	jsonw_int(w, "term_months", o->term_months);
	jsonw_str(w, "payment", payment_name(o->payment));
	jsonw_money(w, "upfront", o->upfront);
	jsonw_money(w, "price", o->price);
	jsonw_str(w, "currency", o->currency);
	jsonw_double(w, "interruption_rate", o->interruption_rate);
	jsonw_str(w, "available", availability_name(o->available));
	jsonw_int(w, "as_of", o->as_of);
	jsonw_str(w, "source", o->source);
	jsonw_str(w, "kind", offer_kind_name(o->kind));
	jsonw_int(w, "starts_at", o->starts_at);
	jsonw_int(w, "ends_at", o->ends_at);
	return json_end(w, err);
}

static enum berth_code
json_machine(struct jsonw *w, const struct prov_machine *m, struct berth_err *err)
{
	jsonw_str(w, "ref", m->ref);
	jsonw_str(w, "token", m->token);
	jsonw_str(w, "installation", m->installation);
	jsonw_str(w, "state", prov_state_name(m->state));
	jsonw_str(w, "instance_type", m->instance_type);
	jsonw_str(w, "region", m->region);
	jsonw_str(w, "zone", m->zone);
	jsonw_str(w, "address", m->address);
	jsonw_str(w, "purchase", purchase_name(m->purchase));
	jsonw_int(w, "created", m->created);
	jsonw_int(w, "notice_at", m->notice_at);
	jsonw_int(w, "reclaim_at", m->reclaim_at);
	jsonw_str(w, "why", m->why != BERTH_OK ? err_name(m->why) : "");
	jsonw_bool(w, "preempted", m->preempted);
	jsonw_str(w, "detail", m->detail);
	return json_end(w, err);
}

static enum berth_code
print_offer(void *arg, const struct offer *o, struct berth_err *err)
{
	struct jsonw w;

	(void)arg;
	if (json_begin(&w))
		return json_offer(&w, o, err);
	printf("%s %s %s %s x%d %s %s %s %g %g%s%s\n", say(o->region), say(o->zone), o->instance_type, say(o->accelerator),
	    o->accelerator_count, purchase_name(o->purchase), usd_known(o->price) ? usd_fmt((char[USD_FMT_SIZE]){ 0 },
	    USD_FMT_SIZE, o->price, 4) : "-", availability_name(o->available), o->vcpus, o->memory_gib,
	    o->kind != OFFER_PLAIN ? " " : "", o->kind != OFFER_PLAIN ? offer_kind_name(o->kind) : "");
	return BERTH_OK;
}

static enum berth_code
find_offer(void *arg, const struct offer *o, struct berth_err *err)
{
	(void)arg, (void)err;
	if (!wanted.is_found && str_eq(o->instance_type, wanted.type) && str_eq(purchase_name(o->purchase), wanted.purchase) &&
	    (str_eq(wanted.zone, "-") || str_eq(o->zone, wanted.zone))) {
		wanted.found = offer_copy(o, a);
		wanted.is_found = true;
	}
	return BERTH_OK;
}

static enum berth_code
print_quota(void *arg, const struct prov_quota *q, struct berth_err *err)
{
	(void)arg, (void)err;
	printf("%s|%s|%s|%g|%g\n", say(q->region), q->name, q->unit, q->limit, q->used);
	return BERTH_OK;
}

static enum berth_code
print_machine(void *arg, const struct prov_machine *m, struct berth_err *err)
{
	struct jsonw w;

	(void)arg;
	if (json_begin(&w))
		return json_machine(&w, m, err);
	printf("%s %s %s %s %s %s %s %s %s%s| %s\n", m->ref, say(m->token), prov_state_name(m->state), err_name(m->why),
	    say(m->zone), say(m->instance_type), purchase_name(m->purchase), say(m->address), m->preempted ? "preempted " : "",
	    m->reclaim_at != 0 ? "ends " : "", m->detail);
	return BERTH_OK;
}

static enum berth_code
create(struct prov_account *acc, char **argv, struct berth_err *err)
{
	struct prov_create c = { .token = argv[0], .image = getenv("PROV_IMAGE"), .user_data = getenv("PROV_USER_DATA") };
	struct prov_machine m;
	enum berth_code rc;

	wanted.zone = argv[1];
	wanted.type = argv[2];
	wanted.purchase = argv[3];
	rc = prov_offers(acc, NULL, find_offer, NULL, err);
	if (rc != BERTH_OK)
		return rc;
	if (!wanted.is_found)
		return err_set(err, BERTH_EUSAGE, "no such offer");
	c.offer = &wanted.found;
	rc = prov_create(acc, &c, &m, err);
	return rc == BERTH_OK ? print_machine(NULL, &m, err) : rc;
}

/* Lists, waits, and lists again: a token may have ended between. */
static enum berth_code
twice(struct prov_account *acc, const char *seconds, struct berth_err *err)
{
	int64_t s = 0;
	enum berth_code rc;

	if ((rc = str_to_i64(seconds, 0, 3600, &s, err)) != BERTH_OK ||
	    (rc = prov_list_ours(acc, print_machine, NULL, err)) != BERTH_OK)
		return rc;
	sleep((unsigned)s);
	prov_account_set_now(acc, time(NULL));
	return prov_list_ours(acc, print_machine, NULL, err);
}

/* As a tick lists them: with the notices that a list alone does not show. */
static enum berth_code
watch(struct prov_account *acc, struct berth_err *err)
{
	struct prov_many m = { .account = acc, .machine_fn = print_machine, .notices = true };

	prov_run_many(&m, 1, 0);
	*err = m.err;
	return m.code;
}

static enum berth_code
print_check(void *arg, const struct prov_check *c, struct berth_err *err)
{
	(void)arg, (void)err;
	printf("%s|%s|%s\n", c->name, err_name(c->code), c->detail);
	return BERTH_OK;
}

/* The same of an offer that nobody asked the prices of. */
static enum berth_code
launch(struct prov_account *acc, char **argv, struct berth_err *err)
{
	struct offer o = { .provider = "", .account = "", .region = argv[1], .zone = str_eq(argv[2], "-") ? "" : argv[2],
		.instance_type = argv[3], .accelerator = "", .accelerator_count = 1, .accelerator_memory_gib = NAN, .vcpus = NAN,
		.memory_gib = NAN, .price = USD_UNKNOWN, .currency = "USD", .interruption_rate = NAN, .measured = NAN, .source = "" };
	struct prov_create c = { .token = argv[0], .offer = &o, .image = getenv("PROV_IMAGE"), .user_data = getenv("PROV_USER_DATA") };
	struct prov_machine m;
	enum berth_code rc;

	if (!purchase_parse(argv[4], &o.purchase))
		return err_set(err, BERTH_EUSAGE, "no purchase '%s'", argv[4]);
	rc = prov_create(acc, &c, &m, err);
	if (rc == BERTH_OK && getenv("PROV_THEN_STATUS") != NULL)
		rc = prov_status(acc, m.ref, &m, err);
	return rc == BERTH_OK ? print_machine(NULL, &m, err) : rc;
}

static enum berth_code
call(struct prov_account *acc, int argc, char **argv, struct berth_err *err)
{
	struct prov_machine m;
	enum berth_code rc = BERTH_EUSAGE;

	if (str_eq(argv[0], "offers"))
		return prov_offers(acc, NULL, print_offer, NULL, err);
	if (str_eq(argv[0], "quota"))
		return prov_quotas(acc, print_quota, NULL, err);
	if (str_eq(argv[0], "list"))
		return prov_list_ours(acc, print_machine, NULL, err);
	if (str_eq(argv[0], "notices"))
		return prov_notices(acc, print_machine, NULL, err);
	if (str_eq(argv[0], "watch"))
		return watch(acc, err);
	if (str_eq(argv[0], "check"))
		return prov_checks(acc, print_check, NULL, err);
	if (str_eq(argv[0], "twice") && argc == 2)
		return twice(acc, argv[1], err);
	if (str_eq(argv[0], "create") && argc == 5)
		return create(acc, argv + 1, err);
	if (str_eq(argv[0], "launch") && argc == 6)
		return launch(acc, argv + 1, err);
	if (str_eq(argv[0], "status") && argc == 2)
		rc = prov_status(acc, argv[1], &m, err);
	else if (str_eq(argv[0], "destroy") && argc == 2)
		rc = prov_destroy(acc, argv[1], &m, err);
	else
		return err_set(err, rc, "offers | quota | list | notices | check | twice SECONDS | create TOKEN ZONE TYPE PURCHASE | "
		    "launch TOKEN REGION ZONE TYPE PURCHASE | status REF | destroy REF");
	return rc == BERTH_OK ? print_machine(NULL, &m, err) : rc;
}

static const struct yaml_node *
section_of(const struct yaml_node *root, const char *name)
{
	const struct yaml_node *list = yaml_get(root, "accounts");
	const char *s;

	for (size_t i = 0; list != NULL && i < list->n; i++) {
		s = "";
		if (yaml_str(list->items[i], "name", &s, NULL) == BERTH_OK && str_eq(s, name))
			return list->items[i];
	}
	return NULL;
}

int
main(int argc, char **argv)
{
	const char *installation = getenv("PROV_INSTALLATION");
	struct log log = { .level = getenv("PROV_DEBUG") != NULL ? LOG_DEBUG : LOG_ERROR, .f = stderr };
	struct prov_env env = { .now = time(NULL), .installation = installation != NULL ? installation : "inst", .log = &log };
	const struct yaml_node *root = NULL, *section;
	struct prov_account *acc = NULL;
	struct berth_err err = { 0 };
	enum berth_code rc;

	if (argc < 4)
		return 2;
	if (getenv("PROV_NOW") != NULL)
		env.now = strtoll(getenv("PROV_NOW"), NULL, 10);
	a = arena_new();
	rc = accel_table_open(a, &env.accels, &err);
	if (rc == BERTH_OK)
		rc = yaml_load(a, argv[1], &root, &err);
	section = rc == BERTH_OK ? section_of(root, argv[2]) : NULL;
	if (rc == BERTH_OK && section == NULL)
		rc = err_set(&err, BERTH_EUSAGE, "no account %s", argv[2]);
	if (rc == BERTH_OK)
		rc = prov_account_open(section, NULL, &env, &acc, &err);
	if (rc == BERTH_OK)
		rc = call(acc, argc - 3, argv + 3, &err);
	if (rc != BERTH_OK)
		printf("error %s %s\n", err_name(rc), err.msg);
	prov_account_close(acc);
	arena_free(a);
	return err_exit_status(rc);
}
