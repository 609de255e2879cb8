#include "peregrine/control/switch_store.h"

#include <sodium.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/hex.h"
#include "common/base/text.h"
#include "common/http/json_reader.h"

#include "peregrine/control/switch_store_sql.h"

int switch_store_read(struct db *db, db_result_fn fn, void *context)
{
	return db_submit(db, &switch_read_query, NULL, fn, context);
}

int switch_store_publish(struct db *db, const struct seal_key *key, db_result_fn fn, void *context)
{
	char hex[2 * SEAL_KEY_SIZE + 1];
	const char *params[] = {hex};

	hex_encode(seal_key_public_key(key), SEAL_KEY_SIZE, hex);
	return db_submit(db, &switch_publish_query, params, fn, context);
}

int switch_store_host_key(struct db *db, int64_t switch_id, const char *key, db_result_fn fn,
			  void *context)
{
	char id[24];
	const char *params[] = {id, key};

	(void)text_format(id, sizeof(id), "%lld", (long long)switch_id);
	return db_submit(db, &switch_host_key_query, params, fn, context);
}

/* --- one row --- */

static void switch_store_take_text(const json_t *object, const char *key, char *ret, size_t room)
{
	const char *value = json_string_value(json_object_get(object, key));

	if (value)
		(void)text_copy(ret, room, value);
}

static uint16_t switch_store_port_of(const json_t *ports, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(ports, key));

	return value > 0 && value <= UINT16_MAX ? (uint16_t)value : 0;
}

static int switch_store_read_object(const char *text, json_t **ret)
{
	struct problem problem = {0};

	return json_read(text, strlen(text), SEAL_SIZE_MAX, ret, &problem);
}

static int switch_store_take_ports(const char *text, struct switch_endpoint *ret)
{
	CLEANUP(json_decrefp) json_t *ports = NULL;
	int rc = switch_store_read_object(text, &ports);

	if (rc)
		return rc;
	ret->snmp_port = switch_store_port_of(ports, "snmp");
	ret->cli_port = switch_store_port_of(ports, "cli");
	ret->netconf_port = switch_store_port_of(ports, "netconf");
	ret->ovsdb_port = switch_store_port_of(ports, "ovsdb");
	return 0;
}

static int take_credentials(const char *text, struct switch_endpoint *ret)
{
	CLEANUP(json_decrefp) json_t *members = NULL;
	char auth[16] = "";
	char priv[16] = "";
	int rc = switch_store_read_object(text, &members);

	if (rc)
		return rc;
	switch_store_take_text(members, "snmp_user", ret->snmp_user, sizeof(ret->snmp_user));
	switch_store_take_text(members, "ssh_user", ret->ssh_user, sizeof(ret->ssh_user));
	switch_store_take_text(members, "host_key", ret->host_key, sizeof(ret->host_key));
	ret->host_key_any = json_is_true(json_object_get(members, "host_key_any"));
	ret->snmp_insecure = json_is_true(json_object_get(members, "snmp_insecure"));
	ret->ssh_insecure = json_is_true(json_object_get(members, "ssh_insecure"));
	switch_store_take_text(members, "ovsdb_peer", ret->ovsdb_peer, sizeof(ret->ovsdb_peer));
	switch_store_take_text(members, "snmp_auth", auth, sizeof(auth));
	switch_store_take_text(members, "snmp_priv", priv, sizeof(priv));
	ret->snmp_auth = strcmp(auth, "sha256") == 0 ? SNMP_AUTH_SHA256
			 : strcmp(auth, "sha") == 0  ? SNMP_AUTH_SHA
						     : SNMP_AUTH_NONE;
	ret->snmp_priv = strcmp(priv, "aes") == 0 ? SNMP_PRIV_AES : SNMP_PRIV_NONE;
	return 0;
}

static int take_secrets(const char *sealed_hex, const struct seal_key *key,
			struct switch_endpoint *ret)
{
	uint8_t sealed[SEAL_SIZE_MAX];
	char opened[SEAL_SIZE_MAX];
	size_t size = strlen(sealed_hex) / 2;
	json_t *members = NULL;
	int rc;

	if (size == 0)
		return 0;
	if (size > sizeof(sealed) || hex_decode(sealed_hex, sealed, size) != 0)
		return E_MALFORMED;
	rc = seal_key_open(key, sealed, size, opened, sizeof(opened));
	if (rc == 0)
		rc = switch_store_read_object(opened, &members);
	sodium_memzero(opened, sizeof(opened));
	if (rc)
		return rc;
	switch_store_take_text(members, "snmp_community", ret->snmp_community,
			       sizeof(ret->snmp_community));
	switch_store_take_text(members, "snmp_write_community", ret->snmp_write_community,
			       sizeof(ret->snmp_write_community));
	switch_store_take_text(members, "snmp_auth_secret", ret->snmp_auth_secret,
			       sizeof(ret->snmp_auth_secret));
	switch_store_take_text(members, "snmp_priv_secret", ret->snmp_priv_secret,
			       sizeof(ret->snmp_priv_secret));
	switch_store_take_text(members, "ssh_password", ret->ssh_password,
			       sizeof(ret->ssh_password));
	switch_store_take_text(members, "ssh_enable", ret->ssh_enable, sizeof(ret->ssh_enable));
	json_decref(members); /* it is wiped: wipe_json_memory() */
	return 0;
}

int switch_endpoint_renew(const struct switch_endpoint *endpoint, const char *credentials,
			  const char *secrets_hex, const struct seal_key *key,
			  struct switch_endpoint *ret, struct problem *problem)
{
	struct switch_endpoint renewed = {.id = endpoint->id,
					  .snmp_port = endpoint->snmp_port,
					  .cli_port = endpoint->cli_port,
					  .netconf_port = endpoint->netconf_port,
					  .ovsdb_port = endpoint->ovsdb_port,
					  .retries = endpoint->retries};
	int rc;

	(void)text_copy(renewed.name, sizeof(renewed.name), endpoint->name);
	(void)text_copy(renewed.family, sizeof(renewed.family), endpoint->family);
	(void)text_copy(renewed.address, sizeof(renewed.address), endpoint->address);
	rc = take_credentials(credentials, &renewed);
	if (rc == 0)
		rc = take_secrets(secrets_hex, key, &renewed);
	if (rc == 0) {
		*ret = renewed;
	} else {
		(void)problem_set(problem, E_DENIED,
				  "the new secrets of switch %s cannot be opened", endpoint->name);
		problem_hint(problem, "they were sealed to another key: begin anew");
	}
	switch_endpoint_wipe(&renewed);
	return rc ? problem->code : 0;
}

int switch_row_read(const PGresult *result, int row, const struct seal_key *key,
		    struct switch_row *ret_row, struct switch_endpoint *ret)
{
	struct switch_endpoint endpoint = {.id = db_int(result, row, SWITCH_READ_SWITCH_ID, 0),
					   .retries = 2};
	int rc;

	*ret_row = (struct switch_row){
		.id = endpoint.id,
		.fabric_id = db_int(result, row, SWITCH_READ_FABRIC_ID, 0),
		.managed = db_bool(result, row, SWITCH_READ_MANAGED),
		.poll_ms = db_int(result, row, SWITCH_READ_POLL_S, 30) * 1000,
		.since_us = db_int(result, row, SWITCH_READ_SINCE_US, 0),
	};
	(void)text_copy(ret_row->name, sizeof(ret_row->name),
			db_text(result, row, SWITCH_READ_NAME, ""));
	(void)text_copy(endpoint.name, sizeof(endpoint.name), ret_row->name);
	(void)text_copy(endpoint.family, sizeof(endpoint.family),
			db_text(result, row, SWITCH_READ_FAMILY, ""));
	(void)text_copy(endpoint.address, sizeof(endpoint.address),
			db_text(result, row, SWITCH_READ_ADDRESS, ""));
	rc = switch_store_take_ports(db_text(result, row, SWITCH_READ_PORTS, "{}"), &endpoint);
	if (rc == 0)
		rc = take_credentials(db_text(result, row, SWITCH_READ_CREDENTIALS, "{}"),
				      &endpoint);
	if (rc == 0)
		rc = take_secrets(db_text(result, row, SWITCH_READ_SECRETS, ""), key, &endpoint);
	if (rc) {
		(void)problem_set(&ret_row->problem, rc,
				  "the secrets of switch %s cannot be opened", ret_row->name);
		problem_hint(&ret_row->problem,
			     "they were sealed to another key: haasctl switch add it again");
	} else {
		*ret = endpoint;
	}
	switch_endpoint_wipe(&endpoint);
	return rc;
}
