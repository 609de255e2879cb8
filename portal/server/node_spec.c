#include "portal/server/node_spec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/db/array.h"

#include "portal/server/member_check.h"
#include "portal/server/seal.h"
#include "portal/server/word_table.h"

/* clang-format off */
static const struct member_row node_spec_node_members[] = {
	{"class",    MEMBER_TEXT,   0,               0, 63,  NULL},
	{"rack",     MEMBER_TEXT,   0,               0, 63,  NULL},
	{"unit",     MEMBER_INT,    MEMBER_NULLABLE, 1, 100, NULL},
	{"firmware", MEMBER_WORD,   0,               0, 0,   node_firmware_words},
	{"secure_boot", MEMBER_WORD, 0,              0, 0,   node_secure_boot_words},
	{"arch",     MEMBER_WORD,   0,               0, 0,   node_arch_words},
	{"serial",   MEMBER_TEXT,   0,               0, 255, NULL},
	{"uuid",     MEMBER_UUID,   MEMBER_NULLABLE, 0, 0,   NULL},
	{"nics",     MEMBER_LIST,   0,               0, 32,  NULL},
	{"bmc",      MEMBER_OBJECT, 0,               0, 0,   NULL},
	{"name",     MEMBER_NAME,   MEMBER_REQUIRED, 0, 0,   NULL}, /* last: not in a patch */
};
static const struct member_row node_spec_nic_members[] = {
	{"name", MEMBER_TEXT, MEMBER_REQUIRED, 1, 15, NULL},
	{"mac",  MEMBER_MAC,  MEMBER_REQUIRED, 0, 0,  NULL},
	{"boot", MEMBER_BOOL, 0,               0, 0,  NULL},
};
static const struct member_row bmc_members[] = {
	{"driver",       MEMBER_WORD, 0, 0, 0,     bmc_driver_words},
	{"port",         MEMBER_INT,  0, 1, 65535, NULL},
	{"username",     MEMBER_TEXT, 0, 0, 16,    NULL},
	{"password",     MEMBER_TEXT, 0, 0, 20,    NULL},
	{"cipher_suite", MEMBER_INT,  0, 0, 19,    NULL},
	{"insecure",     MEMBER_BOOL, 0, 0, 0,     NULL},
	{"workarounds",  MEMBER_LIST, 0, 0, 16,    NULL},
	{"address",      MEMBER_IPV4, 0, 0, 0,     NULL},
	{"tls",          MEMBER_WORD, 0, 0, 0,     bmc_tls_words},
	{"fingerprint",  MEMBER_PIN,  0, 0, 0,     NULL},
	{"uri",          MEMBER_TEXT, 0, 1, 127,   NULL},
};
/* clang-format on */

/* A list of another kind was already refused with its member. */
static const json_t *node_spec_list_of(const json_t *object, const char *name)
{
	const json_t *list = json_object_get(object, name);

	return json_is_array(list) ? list : NULL;
}

static void check_nics(const json_t *nics, struct error_list *errors)
{
	CLEANUP(json_decrefp) json_t *seen = json_object();
	size_t boots = 0;

	for (size_t i = 0; i < json_array_size(nics); i++) {
		const json_t *nic = json_array_get(nics, i);
		const char *mac = json_string_value(json_object_get(nic, "mac"));
		const char *name = json_string_value(json_object_get(nic, "name"));

		boots += json_is_true(json_object_get(nic, "boot"));
		if ((mac && json_object_get(seen, mac)) || (name && json_object_get(seen, name)))
			error_list_pointer(errors, "/nics", "a MAC or a name is there twice", NULL);
		if (mac)
			(void)json_object_set_new(seen, mac, json_true());
		if (name)
			(void)json_object_set_new(seen, name, json_true());
	}
	if (boots > 1)
		error_list_pointer(errors, "/nics", "the node can boot from one NIC only", NULL);
}

void node_body_check(json_t *body, bool patch, struct error_list *errors)
{
	const struct member_row workaround = {.kind = MEMBER_WORD, .words = bmc_workaround_words};
	json_t *bmc = json_object_get(body, "bmc");

	members_check(body, node_spec_node_members,
		      COUNT_OF(node_spec_node_members) - (patch ? 1 : 0), "", errors);
	if (patch && json_object_size(body) == 0)
		error_list_pointer(errors, "", "there is nothing to change", NULL);
	objects_check(node_spec_list_of(body, "nics"), node_spec_nic_members,
		      COUNT_OF(node_spec_nic_members), "/nics", errors);
	check_nics(node_spec_list_of(body, "nics"), errors);
	if (!json_is_object(bmc))
		return;
	members_check(bmc, bmc_members, COUNT_OF(bmc_members), "/bmc", errors);
	elements_check(node_spec_list_of(bmc, "workarounds"), &workaround, true, "/bmc/workarounds",
		       errors);
	if (!patch && !json_object_get(bmc, "address") && !json_object_get(bmc, "uri"))
		error_list_pointer(errors, "/bmc/address", "is needed", NULL);
}

void node_names_check(const json_t *body, struct error_list *errors)
{
	const struct member_row name = {.kind = MEMBER_NAME};
	const json_t *nodes = json_object_get(body, "nodes");

	if (json_is_array(nodes))
		elements_check(nodes, &name, true, "/nodes", errors);
}

void node_names_array(const json_t *body, struct text *ret)
{
	const json_t *nodes = json_object_get(body, "nodes");

	array_begin(ret);
	for (size_t i = 0; i < json_array_size(nodes); i++)
		array_add(ret, json_string_value(json_array_get(nodes, i)));
	array_end(ret);
}

char *node_specs_digest_text(const json_t *specs)
{
	CLEANUP(json_decrefp) json_t *copy = json_deep_copy(specs);

	for (size_t i = 0; i < json_array_size(copy); i++)
		(void)json_object_del(json_object_get(json_array_get(copy, i), "bmc"), "password");
	return json_dumps(copy, JSON_COMPACT | JSON_SORT_KEYS);
}

static int seal_one(json_t *bmc, const char *public_key, struct problem *problem)
{
	const char *password = json_string_value(json_object_get(bmc, "password"));
	CLEANUP(freep) char *sealed = NULL;
	int rc;

	if (!password)
		return 0;
	if (!public_key) {
		(void)problem_set(problem, E_UNAVAILABLE,
				  "bampid has not published the key that passwords are sealed to");
		problem_hint(problem, "start bampid once, then repeat the request");
		return E_UNAVAILABLE;
	}
	rc = seal_text(public_key, password, &sealed);
	if (rc != 0)
		return problem_set(problem, rc, "a password could not be sealed: %s",
				   error_text(rc));
	if (json_object_set_new(bmc, "password_sealed", json_of_utf8(sealed)) != 0 ||
	    json_object_del(bmc, "password") != 0)
		return problem_set(problem, -ENOMEM, "a password could not be sealed: %s",
				   error_text(-ENOMEM));
	return 0;
}

int node_specs_seal(json_t *specs, const char *public_key, struct problem *problem)
{
	int rc = 0;

	for (size_t i = 0; i < json_array_size(specs) && rc == 0; i++)
		rc = seal_one(json_object_get(json_array_get(specs, i), "bmc"), public_key,
			      problem);
	return rc;
}
