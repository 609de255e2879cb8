#include "bampi/control/deploy/certificate.h"

#include <sodium.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/io/key_file.h"

#include "bampi/control/deploy/steps/steps.h"
#include "bampi/control/inventory/node_inventory.h"

static void deploy_certificate_make_key(uint8_t ret[])
{
	uint8_t public_key[CERTIFICATE_PUBLIC_KEY_SIZE];

	(void)crypto_sign_keypair(public_key, ret);
}

int certificate_key_load(const char *path, struct certificate_key *ret, struct problem *problem)
{
	const struct key_file file = {.path = path,
				      .what = "certificate key",
				      .size = CERTIFICATE_SECRET_KEY_SIZE,
				      .make = deploy_certificate_make_key,
				      .exposed_hint = "chmod 600, and think about who has read it"};
	uint8_t public_key[CERTIFICATE_PUBLIC_KEY_SIZE];
	struct certificate_key key = {0};
	int rc = key_file_load(&file, key.secret, problem);

	if (rc)
		return rc;
	(void)crypto_sign_ed25519_sk_to_pk(public_key, key.secret);
	hex_encode(public_key, sizeof(public_key), key.public_text);
	*ret = key;
	certificate_key_wipe(&key);
	return 0;
}

void certificate_key_wipe(struct certificate_key *key)
{
	sodium_memzero(key->secret, sizeof(key->secret));
}

/* Both lists were bounded when the steps judged them. */
static size_t deploy_certificate_collect(const struct facts *facts,
					 struct certificate_drive drives[INVENTORY_DRIVES_MAX])
{
	const json_t *erased = json_object_get(json_object_get(facts->results, "erase"), "drives");
	const json_t *verified =
		json_object_get(json_object_get(facts->results, "verify_erased"), "drives");
	size_t count = 0;

	for (; count < json_array_size(erased) && count < INVENTORY_DRIVES_MAX; count++) {
		const json_t *drive = json_array_get(erased, count);
		const json_t *proof = find_by(verified, "serial", node_inventory_drive_key(drive));

		drives[count] = (struct certificate_drive){
			.serial = text_of(drive, "serial"),
			.name = text_of(drive, "name"),
			.model = text_of(drive, "model"),
			.size_bytes = json_integer_value(json_object_get(drive, "size_bytes")),
			.method = text_of(drive, "method"),
			.verdict = text_of(drive, "verdict"),
			.reason = text_of(drive, "reason"),
			.verified = text_of(proof, "verdict"),
			.samples = json_integer_value(json_object_get(proof, "samples")),
			.nonzero = json_integer_value(json_object_get(proof, "nonzero")),
		};
	}
	return count;
}

json_t *certificate_row(const struct facts *facts, int64_t now_ms, const char *previous_hash,
			const struct certificate_key *key)
{
	struct certificate_drive drives[INVENTORY_DRIVES_MAX];
	char asked_at[CLOCK_TEXT_SIZE];
	char issued_at[CLOCK_TEXT_SIZE];
	const struct certificate_facts body_facts = {
		.previous_hash = previous_hash,
		.node = facts->node.name,
		.serial = facts->node.serial,
		.deployment_id = facts->deployment.id,
		.tenant = facts->tenant,
		.asked_by = facts->deployment.actor,
		.asked_at = clock_text(facts->deployment.created_ms * 1000, asked_at),
		.issued_at = clock_text(now_ms * 1000, issued_at),
		.drives = drives,
		.drive_count = deploy_certificate_collect(facts, drives),
	};
	CLEANUP(text_done) struct text body = {0};
	char hash[DIGEST_TEXT_SIZE];
	char signature[CERTIFICATE_SIGNATURE_TEXT_SIZE];

	certificate_body(&body_facts, &body);
	if (body.failed)
		return NULL;
	certificate_sign(text_get(&body), key->secret, hash, signature);
	return json_pack("{s:I, s:s, s:s, s:s, s:s, s:s, s:s}", "deployment_id",
			 (json_int_t)facts->deployment.id, "node", facts->node.name, "body",
			 text_get(&body), "previous_hash", previous_hash, "hash", hash, "signature",
			 signature, "public_key", key->public_text);
}
