#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "providers/lease.h"
#include "providers/prov.h"
#include "providers/wirejson.h"
#include "util/glob.h"
#include "util/str.h"

enum prov_state
lease_state(const struct lease_state *table, const char *word)
{
	for (; table->word != NULL; table++)
		if (str_eq(word, table->word))
			return table->to;
	return PROV_PENDING;
}

void
lease_asked(const struct prov_create *c, struct prov_machine *machine_out)
{
	memset(machine_out, 0, sizeof(*machine_out));
	machine_out->state = PROV_PENDING;
	machine_out->purchase = c->offer->purchase;
	str_copy(machine_out->instance_type, sizeof(machine_out->instance_type),
	    c->offer->instance_type);
	str_copy(machine_out->region, sizeof(machine_out->region), c->offer->region);
	str_copy(machine_out->zone, sizeof(machine_out->zone), c->offer->zone);
}

void
lease_ending(const char *ref, struct prov_machine *machine_out)
{
	str_copy(machine_out->ref, sizeof(machine_out->ref), ref);
	machine_out->state = PROV_ENDING;
}

enum berth_code
lease_destroy_parse(void *st, const struct http_resp *resp, const char *ref,
    struct prov_machine *machine_out, struct berth_err *err)
{
	(void)st, (void)resp, (void)err;
	memset(machine_out, 0, sizeof(*machine_out));
	lease_ending(ref, machine_out);
	return BERTH_OK;
}

enum berth_code
lease_one(const struct http_resp *resp, const char *key, lease_machine_fn *machine,
    struct prov_machine *machine_out, struct berth_err *err)
{
	struct jsonr root, one;
	json_t *v = NULL;
	enum berth_code rc = wirejson_parse(resp, &v, err);

	if (rc != BERTH_OK)
		return rc;
	root = jsonr_root(v, "answer");
	one = key != NULL ? jsonr_get(&root, key) : root;
	rc = machine(&one, machine_out, err);
	json_decref(v);
	return rc;
}

enum berth_code
lease_each(const struct jsonr *root, const char *key, const char *what, lease_machine_fn *machine,
    prov_machine_fn *emit, void *arg, struct berth_err *err)
{
	struct jsonr list, item;
	struct prov_machine m;
	enum berth_code rc = jsonr_array(root, key, &list, err);

	if (rc == BERTH_OK && list.v == NULL)
		rc = jsonr_err(root, BERTH_ETRANSIENT, err, "no %s in the answer", what);
	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(&list); i++) {
		item = jsonr_at(&list, i);
		rc = machine(&item, &m, err);
		if (rc == BERTH_OK)
			rc = emit(arg, &m, err);
	}
	return rc;
}

/* Of letters, digits, '-', '_' and '.', which is not the first: what stands in a URL or a text as
 * it is. */
static bool
lease_is_id(const char *s)
{
	if (s[0] == '.')
		return false;
	for (const char *p = s; *p != '\0'; p++)
		if (!str_is_alnum(*p) && *p != '-' && *p != '_' && *p != '.')
			return false;
	return s[0] != '\0';
}

enum berth_code
lease_ref(const struct jsonr *at, const char *region, const char *id, char *ref, size_t size,
    struct berth_err *err)
{
	int n;

	if (!lease_is_id(id))
		return jsonr_err(at, BERTH_EINVAL, err, "'%.40s' is no id of a machine", id);
	n = snprintf(ref, size, "%s/%s", region, id);
	return n > 0 && (size_t)n < size
		   ? BERTH_OK
		   : jsonr_err(at, BERTH_EINVAL, err, "the machine's id is too long");
}

enum berth_code
lease_ref_split(struct arena *a, const char *ref, const char *whose, const char *prefix,
    const char **region_out, const char **id_out, struct berth_err *err)
{
	const char *slash = strchr(ref, '/'), *id = slash != NULL ? slash + 1 : "";

	if (slash == NULL || slash == ref || !str_starts(id, prefix) || !lease_is_id(id))
		return err_set(err, BERTH_EINVAL, "'%.100s' is no machine of %s: REGION/%s...", ref,
		    whose, prefix);
	*region_out = arena_strndup(a, ref, (size_t)(slash - ref));
	*id_out = id;
	return BERTH_OK;
}

enum berth_code
lease_tags(const struct jsonr *tags, const char *key, const char *value, struct prov_machine *m,
    struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;
	struct jsonr tag;

	for (size_t i = 0; rc == BERTH_OK && i < jsonr_len(tags); i++) {
		const char *name = "";

		tag = jsonr_at(tags, i);
		if ((rc = jsonr_str(&tag, key, &name, err)) != BERTH_OK)
			return rc;
		if (str_eq(name, "berth-installation"))
			rc = wirejson_field(
			    &tag, value, m->installation, sizeof(m->installation), err);
		else if (str_eq(name, "berth-token"))
			rc = wirejson_field(&tag, value, m->token, sizeof(m->token), err);
	}
	return rc;
}

enum berth_code
lease_regions(const struct prov_env *env, const char *example, const char *const **regions_out,
    size_t *n_out, struct berth_err *err)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
	size_t n = prov_conf_strings(env->conf, "regions", regions_out);

	for (size_t i = 0; i < n; i++) {
		const char *r = (*regions_out)[i];

		if (r[0] == '\0' || r[strspn(r, letters)] != '\0')
			return err_set(err, BERTH_EINVAL, "region '%s': as the API spells it, '%s'",
			    r, example);
	}
	*n_out = n;
	return BERTH_OK;
}

enum berth_code
lease_spot_price(const struct prov_env *env, const char *currency, struct berth_err *err)
{
	const char *most = prov_conf_str(env->conf, "spot_max_price", "1");
	struct usd_micro v = USD_UNKNOWN;

	if (usd_parse(most, &v, NULL) == BERTH_OK && v.v > 0)
		return BERTH_OK;
	return err_set(err, BERTH_EINVAL, "spot_max_price '%s': a price an hour like 12.5, in %s",
	    most, currency);
}

const char *
lease_at_place(const struct prov_conf *conf, const char *key, const char *place)
{
	const char *const *v;
	size_t n = prov_conf_strings(conf, key, &v), len = strlen(place);

	for (size_t i = 0; i < n; i++)
		if (str_starts(v[i], place) && v[i][len] == '=')
			return v[i] + len + 1;
	return NULL;
}

size_t
lease_cursor(const char *next, const char **rest_out)
{
	const char *bar = strchr(next, '|');
	size_t n = 0;

	for (const char *p = next; bar != NULL && p < bar; p++)
		if (str_is_digit(*p))
			n = n * 10 + (size_t)(*p - '0');
	*rest_out = bar != NULL ? bar + 1 : "";
	return n;
}

void
lease_part(const char *const *names, size_t n, size_t at, struct prov_part *out)
{
	*out = (struct prov_part){ .region = at < n ? names[at] : "" };
	if (at + 1 < n)
		snprintf(out->next, sizeof(out->next), "%zu|", at + 1);
}

void
lease_wipe(char *secret)
{
	if (secret != NULL)
		explicit_bzero(secret, strlen(secret));
	free(secret);
}

void
lease_check(const struct provider_ops *ops, const struct http_resp *resp, const char *name,
    const char *const *ours, size_t n_ours, struct prov_check *check_out)
{
	enum berth_code code = check_out->code;
	struct prov_error e = { "", "" };
	bool refused = ops->error_read(resp, &e);

	str_copy(check_out->name, sizeof(check_out->name), name);
	if (refused &&
	    (code == BERTH_EAUTH || code == BERTH_ETHROTTLED || code == BERTH_ETRANSIENT ||
		(e.code[0] != '\0' && glob_match_any(ours, n_ours, e.code))))
		return;
	check_out->code = BERTH_OK;
	check_out->detail[0] = '\0';
}
