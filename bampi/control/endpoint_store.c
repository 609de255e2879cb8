#include "bampi/control/endpoint_store.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/hex.h"
#include "common/base/text.h"

#include "bampi/control/deploy/deploy_json.h"
#include "bampi/control/endpoint_store_sql.h"

int endpoint_store_read(struct db *db, db_result_fn fn, void *context)
{
	return db_submit(db, &endpoint_read_query, NULL, fn, context);
}

int endpoint_store_read_one(struct db *db, int64_t node_id, db_result_fn fn, void *context)
{
	char id[24];
	const char *params[] = {id};

	(void)text_format(id, sizeof(id), "%lld", (long long)node_id);
	return db_submit(db, &endpoint_read_one_query, params, fn, context);
}

int endpoint_password_open(const char *sealed_hex, const struct seal_key *secret,
			   char ret[ENDPOINT_PASSWORD_SIZE])
{
	uint8_t sealed[SEAL_SIZE_MAX];
	size_t size = strlen(sealed_hex) / 2;

	if (size == 0)
		return 0;
	if (size > sizeof(sealed) || hex_decode(sealed_hex, sealed, size) != 0)
		return E_MALFORMED;
	return seal_key_open(secret, sealed, size, ret, ENDPOINT_PASSWORD_SIZE);
}

int endpoint_row_read(const PGresult *result, int row, const struct seal_key *secret,
		      struct bmc_endpoint *ret, struct problem *problem)
{
	struct bmc_endpoint endpoint = {
		.id = db_int(result, row, ENDPOINT_READ_NODE_ID, 0),
		.port = (uint16_t)db_int(result, row, ENDPOINT_READ_PORT, 0),
		.cipher_suite = (uint8_t)db_int(result, row, ENDPOINT_READ_CIPHER_SUITE, 0),
	};
	int rc;

	(void)text_copy(endpoint.node, sizeof(endpoint.node),
			db_text(result, row, ENDPOINT_READ_NODE, ""));
	(void)text_copy(endpoint.driver, sizeof(endpoint.driver),
			db_text(result, row, ENDPOINT_READ_DRIVER, ""));
	(void)text_copy(endpoint.address, sizeof(endpoint.address),
			db_text(result, row, ENDPOINT_READ_ADDRESS, ""));
	(void)text_copy(endpoint.username, sizeof(endpoint.username),
			db_text(result, row, ENDPOINT_READ_USERNAME, ""));
	if (endpoint.address[0] == '\0')
		(void)text_copy(endpoint.address, sizeof(endpoint.address),
				db_text(result, row, ENDPOINT_READ_URI, ""));
	endpoint.tls = bmc_tls_find(db_text(result, row, ENDPOINT_READ_TLS, ""));
	(void)text_copy(endpoint.pin, sizeof(endpoint.pin),
			db_text(result, row, ENDPOINT_READ_PIN, ""));
	rc = bmc_workarounds_parse(db_text(result, row, ENDPOINT_READ_WORKAROUNDS, ""),
				   &endpoint.workarounds, problem);
	if (rc)
		return rc;
	rc = endpoint_password_open(db_text(result, row, ENDPOINT_READ_PASSWORD, ""), secret,
				    endpoint.password);
	if (rc) {
		(void)problem_set(problem, rc, "the BMC password of node %s cannot be opened",
				  endpoint.node);
		problem_hint(problem, "it was sealed to another key: import it again");
	} else {
		*ret = endpoint;
	}
	bmc_endpoint_wipe(&endpoint);
	return rc;
}

int endpoint_store_publish(struct db *db, const struct seal_key *secret, db_result_fn fn,
			   void *context)
{
	char hex[2 * SEAL_KEY_SIZE + 1];
	const char *params[] = {hex};

	hex_encode(seal_key_public_key(secret), SEAL_KEY_SIZE, hex);
	return db_submit(db, &endpoint_publish_query, params, fn, context);
}

int endpoint_store_observe(struct db *db, const struct endpoint_seen rows[], size_t count,
			   db_result_fn fn, void *context)
{
	json_t *list = json_array();
	char *text;
	int rc;

	for (size_t i = 0; i < count; i++) {
		const struct bmc_observation *seen = &rows[i].observation;
		const char *power = seen->power_known ? (seen->power_on ? "on" : "off") : "unknown";

		(void)json_array_append_new(
			list,
			json_pack("{s:I, s:s, s:o, s:o, s:b}", "node_id",
				  (json_int_t)rows[i].node_id, "power", power, "at_us",
				  seen->power_at_us ? json_integer(seen->power_at_us) : json_null(),
				  "problem", json_of_problem(&seen->problem), "failing",
				  problem_is_set(&seen->problem) &&
					  seen->problem_at_us > seen->answered_at_us));
	}
	text = json_dumps(list, JSON_COMPACT);
	json_decref(list);
	if (!text)
		return -ENOMEM;

	const char *params[] = {text};

	rc = db_submit(db, &endpoint_observe_query, params, fn, context);
	free(text);
	return rc;
}
