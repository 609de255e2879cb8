#include "common/model/certificate.h"

#include <sodium.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/json_text.h"

/* A body starts with these bytes, then the 64 digits: the link is read without a parser. */
#define BODY_HEAD "{\"format\":\"haas-certificate-1\",\"previous_hash\":\""

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

void certificate_body(const struct certificate_facts *facts, struct text *ret)
{
	json_begin_object(ret, NULL);
	json_put_string(ret, "format", "haas-certificate-1");
	json_put_string(ret, "previous_hash", or_empty(facts->previous_hash));
	json_put_string(ret, "node", or_empty(facts->node));
	json_put_string(ret, "serial", or_empty(facts->serial));
	json_put_int(ret, "deployment", facts->deployment_id);
	json_put_string(ret, "tenant", or_empty(facts->tenant));
	json_put_string(ret, "asked_by", or_empty(facts->asked_by));
	json_put_string(ret, "asked_at", or_empty(facts->asked_at));
	json_put_string(ret, "issued_at", or_empty(facts->issued_at));
	json_begin_array(ret, "drives");
	for (size_t i = 0; i < facts->drive_count; i++) {
		const struct certificate_drive *drive = &facts->drives[i];

		json_begin_object(ret, NULL);
		json_put_string(ret, "serial", or_empty(drive->serial));
		json_put_string(ret, "name", or_empty(drive->name));
		json_put_string(ret, "model", or_empty(drive->model));
		json_put_int(ret, "size_bytes", drive->size_bytes);
		json_put_string(ret, "method", or_empty(drive->method));
		json_put_string(ret, "verdict", or_empty(drive->verdict));
		json_put_string(ret, "reason", or_empty(drive->reason));
		json_put_string(ret, "verified", or_empty(drive->verified));
		json_put_int(ret, "samples", drive->samples);
		json_put_int(ret, "nonzero", drive->nonzero);
		json_end_object(ret);
	}
	json_end_array(ret);
	json_end_object(ret);
}

void certificate_sign(const char *body, const uint8_t secret_key[CERTIFICATE_SECRET_KEY_SIZE],
		      char ret_hash[DIGEST_TEXT_SIZE],
		      char ret_signature[CERTIFICATE_SIGNATURE_TEXT_SIZE])
{
	uint8_t signature[crypto_sign_BYTES];

	digest_text(body, strlen(body), ret_hash);
	(void)crypto_sign_detached(signature, NULL, (const unsigned char *)body, strlen(body),
				   secret_key);
	hex_encode(signature, sizeof(signature), ret_signature);
}

struct certificate_chain certificate_chain(void)
{
	return (struct certificate_chain){.head = CERTIFICATE_FIRST_HASH};
}

static bool is_linked(const struct certificate_chain *chain, const struct certificate *next)
{
	return strcmp(next->previous_hash, chain->head) == 0 &&
	       strncmp(next->body, BODY_HEAD, strlen(BODY_HEAD)) == 0 &&
	       strncmp(next->body + strlen(BODY_HEAD), chain->head, strlen(chain->head)) == 0;
}

static bool model_certificate_is_known(const char *key, const char *const keys[])
{
	if (!keys)
		return true;
	for (; *keys; keys++)
		if (strcmp(*keys, key) == 0)
			return true;
	return false;
}

static bool is_signed(const struct certificate *certificate)
{
	uint8_t signature[crypto_sign_BYTES];
	uint8_t key[CERTIFICATE_PUBLIC_KEY_SIZE];

	return hex_decode(certificate->signature, signature, sizeof(signature)) == 0 &&
	       hex_decode(certificate->public_key, key, sizeof(key)) == 0 &&
	       crypto_sign_verify_detached(signature, (const unsigned char *)certificate->body,
					   strlen(certificate->body), key) == 0;
}

int certificate_chain_next(struct certificate_chain *chain, const struct certificate *next,
			   const char *const keys[], struct problem *problem)
{
	char hash[DIGEST_TEXT_SIZE];

	digest_text(next->body, strlen(next->body), hash);
	if (strcmp(hash, next->hash) != 0)
		return problem_set(problem, E_DIGEST,
				   "certificate %zu was changed: its hash does not match",
				   chain->count + 1);
	if (!is_linked(chain, next))
		return problem_set(
			problem, E_DIGEST,
			"certificate %zu does not follow the one before: one is missing or out of order",
			chain->count + 1);
	if (!model_certificate_is_known(next->public_key, keys))
		return problem_set(
			problem, E_DIGEST,
			"certificate %zu is signed with a key that is not trusted: %.64s",
			chain->count + 1, next->public_key);
	if (!is_signed(next))
		return problem_set(problem, E_DIGEST,
				   "the signature of certificate %zu is not valid",
				   chain->count + 1);
	(void)text_copy(chain->head, sizeof(chain->head), hash);
	chain->count++;
	return 0;
}
