#include "common/model/certificate.h"

#include <sodium.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/json_text.h"

#define CERTIFICATE_FORMAT "haas-certificate-1"

/* A body starts with these bytes, then the 64 digits: the link is read without a parser. */
#define BODY_HEAD      "{\"format\":\"%s\",\"previous_hash\":\"%s\","
#define BODY_HEAD_SIZE ((size_t)160)

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

void certificate_body(const struct certificate_facts *facts, struct text *ret)
{
	json_begin_object(ret, NULL);
	json_put_string(ret, "format", CERTIFICATE_FORMAT);
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
	return (struct certificate_chain){.format = CERTIFICATE_FORMAT,
					  .noun = "certificate",
					  .head = CERTIFICATE_FIRST_HASH};
}

static bool is_linked(const struct certificate_chain *chain, const struct certificate *next)
{
	char head[BODY_HEAD_SIZE];

	return strcmp(next->previous_hash, chain->head) == 0 &&
	       text_format(head, sizeof(head), BODY_HEAD, chain->format, chain->head) &&
	       strncmp(next->body, head, strlen(head)) == 0;
}

static bool model_certificate_is_signed(const char *text, const char *signature_text,
					const char *key_text)
{
	uint8_t signature[crypto_sign_BYTES];
	uint8_t key[CERTIFICATE_PUBLIC_KEY_SIZE];

	return hex_decode(signature_text, signature, sizeof(signature)) == 0 &&
	       hex_decode(key_text, key, sizeof(key)) == 0 &&
	       crypto_sign_verify_detached(signature, (const unsigned char *)text, strlen(text),
					   key) == 0;
}

static int model_certificate_check_signer(const struct certificate_chain *chain,
					  const struct certificate *next,
					  const struct certificate_signer *signer,
					  struct problem *problem)
{
	while (signer->public_key && strcmp(signer->public_key, next->public_key) != 0)
		signer++;
	if (!signer->public_key)
		return problem_set(problem, E_DIGEST,
				   "%s %zu is signed with a key that is not trusted: %.64s",
				   chain->noun, chain->count + 1, next->public_key);
	if (!next->issued_at)
		return 0;
	if ((!signer->since || strcmp(next->issued_at, signer->since) >= 0) &&
	    (!signer->until || strcmp(next->issued_at, signer->until) <= 0))
		return 0;
	(void)problem_set(problem, E_DIGEST,
			  "%s %zu is signed with a key that was not in use then: %.64s",
			  chain->noun, chain->count + 1, next->public_key);
	problem_hint(problem, "issued %s; the key is good from %s to %s", next->issued_at,
		     signer->since ? signer->since : "the beginning",
		     signer->until ? signer->until : "now");
	return E_DIGEST;
}

int certificate_chain_next(struct certificate_chain *chain, const struct certificate *next,
			   const struct certificate_signer signers[], struct problem *problem)
{
	int rc;
	char hash[DIGEST_TEXT_SIZE];

	digest_text(next->body, strlen(next->body), hash);
	if (strcmp(hash, next->hash) != 0)
		return problem_set(problem, E_DIGEST, "%s %zu was changed: its hash does not match",
				   chain->noun, chain->count + 1);
	if (!is_linked(chain, next))
		return problem_set(
			problem, E_DIGEST,
			"%s %zu does not follow the one before: one is missing or out of order",
			chain->noun, chain->count + 1);
	rc = signers ? model_certificate_check_signer(chain, next, signers, problem) : 0;
	if (rc)
		return rc;
	if (!model_certificate_is_signed(next->body, next->signature, next->public_key))
		return problem_set(problem, E_DIGEST, "the signature of %s %zu is not valid",
				   chain->noun, chain->count + 1);
	(void)text_copy(chain->head, sizeof(chain->head), hash);
	chain->count++;
	return 0;
}

void certificate_key_statement(const char *follows, const char *public_key, const char *since,
			       struct text *ret)
{
	json_begin_object(ret, NULL);
	json_put_string(ret, "format", "haas-certificate-key-1");
	json_put_string(ret, "follows", follows);
	json_put_string(ret, "public_key", public_key);
	json_put_string(ret, "since", since);
	json_end_object(ret);
}

bool certificate_key_vouched(const char *statement, const char *signature, const char *follows)
{
	return model_certificate_is_signed(statement, signature, follows);
}
