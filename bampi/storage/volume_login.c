#include "bampi/storage/volume_login.h"

#include <sodium.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/hex.h"
#include "common/base/json_text.h"
#include "common/io/agent_key.h"
#include "common/io/log.h"

#include "bampi/storage/stored_key.h"
#include "bampi/storage/volume_account.h"
#include "bampi/storage/volume_store_sql.h"

#define STORAGE_VOLUME_LOGIN_SUBJECT "storage"

static void storage_volume_login_make(char ret[VOLUME_SECRET_LENGTH + 1])
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

	for (size_t i = 0; i < VOLUME_SECRET_LENGTH; i++)
		ret[i] = letters[randombytes_uniform(sizeof(letters) - 1)];
	ret[VOLUME_SECRET_LENGTH] = '\0';
}

/* By seal_key_seal or agent_key_seal. */
static int storage_volume_login_seal(int (*seal)(const uint8_t key[], const char *secret,
						 uint8_t *ret, size_t *ret_size),
				     const uint8_t public_key[], const char *secret,
				     char ret[2 * SEAL_SIZE_MAX + 1])
{
	uint8_t sealed[SEAL_SIZE_MAX];
	size_t size = 0;
	int rc = seal(public_key, secret, sealed, &size);

	if (rc == 0)
		hex_encode(sealed, size, ret);
	return rc;
}

static int open_own(const struct seal_key *key, const char *hex, char ret[STORAGE_SECRET_SIZE])
{
	uint8_t sealed[SEAL_SIZE_MAX];
	size_t size = strlen(hex) / 2;

	if (size > sizeof(sealed) || hex_decode(hex, sealed, size) != 0)
		return E_MALFORMED;
	return seal_key_open(key, sealed, size, ret, STORAGE_SECRET_SIZE);
}

static void storage_volume_login_begin(struct text *json)
{
	if (json->size == 0)
		json_begin_array(json, NULL);
}

static int add_secret(const struct seal_key *key, const PGresult *rows, int row, struct text *json)
{
	char secret[VOLUME_SECRET_LENGTH + 1];
	char sealed[2 * SEAL_SIZE_MAX + 1];
	int rc;

	storage_volume_login_make(secret);
	rc = storage_volume_login_seal(seal_key_seal, seal_key_public_key(key), secret, sealed);
	sodium_memzero(secret, sizeof(secret));
	if (rc)
		return rc;
	storage_volume_login_begin(json);
	json_begin_object(json, NULL);
	json_put_int(json, "volume", db_int(rows, row, VOLUME_LOGIN_WORK_VOLUME, 0));
	json_put_int(json, "number", db_int(rows, row, VOLUME_LOGIN_WORK_NUMBER, 0));
	json_put_string(json, "sealed", sealed);
	json_end_object(json);
	return 0;
}

static int add_login(const struct seal_key *key, const PGresult *rows, int row, struct text *json)
{
	const char *agent = db_text(rows, row, VOLUME_LOGIN_WORK_AGENT_KEY, "");
	int64_t volume = db_int(rows, row, VOLUME_LOGIN_WORK_VOLUME, 0);
	int64_t node = db_int(rows, row, VOLUME_LOGIN_WORK_NODE, 0);
	int64_t number = db_int(rows, row, VOLUME_LOGIN_WORK_NUMBER, 0);
	uint8_t agent_key[AGENT_KEY_SIZE];
	char name[STORAGE_USER_SIZE];
	char secret[STORAGE_SECRET_SIZE];
	char own[STORAGE_SECRET_SIZE];
	char sealed[2 * SEAL_SIZE_MAX + 1];
	int rc;

	if (strlen(agent) != 2 * sizeof(agent_key) ||
	    hex_decode(agent, agent_key, sizeof(agent_key)) != 0)
		return E_MALFORMED;
	volume_account_name(volume, number, node, name);
	rc = open_own(key, db_text(rows, row, VOLUME_LOGIN_WORK_SECRET, ""), secret);
	if (rc == 0)
		rc = volume_account_secret(secret, name, own);
	if (rc == 0)
		rc = storage_volume_login_seal(agent_key_seal, agent_key, own, sealed);
	sodium_memzero(secret, sizeof(secret));
	sodium_memzero(own, sizeof(own));
	if (rc)
		return rc;
	storage_volume_login_begin(json);
	json_begin_object(json, NULL);
	json_put_int(json, "volume", volume);
	json_put_int(json, "node", node);
	json_put_string(json, "key", agent);
	json_put_int(json, "number", number);
	json_put_string(json, "sealed", sealed);
	json_end_object(json);
	return 0;
}

void volume_logins_take(const struct volume_runner_options *options,
			const struct storage_claim *claim, const PGresult *rows, db_result_fn fn,
			void *context)
{
	const struct seal_key *key = stored_key_get(options->key);
	CLEANUP(text_done) struct text secrets = {0};
	CLEANUP(text_done) struct text logins = {0};
	int64_t made = 0; /* rows of one volume stand side by side */

	for (int row = 0; row < PQntuples(rows); row++) {
		int64_t volume = db_int(rows, row, VOLUME_LOGIN_WORK_VOLUME, 0);
		int rc = 0;

		if (!db_is_null(rows, row, VOLUME_LOGIN_WORK_SECRET))
			rc = add_login(key, rows, row, &logins);
		else if (volume != made)
			rc = add_secret(key, rows, row, &secrets);
		made = volume;
		if (rc)
			log_warn(STORAGE_VOLUME_LOGIN_SUBJECT,
				 "volume %lld: its secret cannot be sealed for node %lld: %s",
				 (long long)volume,
				 (long long)db_int(rows, row, VOLUME_LOGIN_WORK_NODE, 0),
				 error_text(rc));
	}
	if (secrets.size > 0) {
		json_end_array(&secrets);
		if (!secrets.failed)
			(void)!storage_store_secrets(options->db, claim, text_get(&secrets), fn,
						     context);
	}
	if (logins.size > 0) {
		json_end_array(&logins);
		if (!logins.failed)
			(void)!storage_store_logins(options->db, claim, text_get(&logins), fn,
						    context);
	}
}
