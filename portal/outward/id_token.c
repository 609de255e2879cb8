#include "portal/outward/id_token.h"

#include <cjose/jwk.h>
#include <cjose/jws.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/http/json_reader.h"

#define KEYS_COUNT_MAX 64
#define HEADER_MAX     4096 /* bytes of JSON */
#define RSA_DIGITS_MIN 342  /* base64url of 2048 bits */
#define RSA_DIGITS_MAX 1366 /* of 8192 */

static const struct json_bounds header_bounds = {.size = HEADER_MAX, .depth = 4, .values = 64};
static const struct json_bounds claim_bounds = {.size = ID_TOKEN_MAX, .depth = 8, .values = 512};
static const struct json_bounds key_bounds = {
	.size = ID_TOKEN_KEYS_MAX, .depth = 5, .values = 2048};

/* What we take: neither "none" nor a key that both sides know. */
static const struct {
	const char *alg, *kty, *crv;
} id_token_algorithms[] = {
	{"RS256", "RSA", NULL},
	{"ES256", "EC", "P-256"},
};

static int id_token_refuse(struct problem *problem, int rc, const char *message)
{
	return problem_set(problem, rc, "the provider's ID token is refused: %s", message);
}

static const char *id_token_text(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

static bool id_token_is(const json_t *object, const char *name, const char *wanted)
{
	const char *value = id_token_text(object, name);

	return value && strcmp(value, wanted) == 0;
}

int id_token_keys(const char *data, size_t size, json_t **ret, struct problem *problem)
{
	CLEANUP(json_decrefp) json_t *json = NULL;
	const json_t *keys;
	int rc = json_read_bounded(data, size, &key_bounds, &json, problem);

	if (rc != 0)
		return rc;
	keys = json_object_get(json, "keys");
	if (!json_is_array(keys))
		return problem_set(problem, E_MALFORMED, "the provider's keys are no list of keys");
	if (json_array_size(keys) > KEYS_COUNT_MAX)
		return problem_set(problem, E_LIMIT, "the provider has more than %d keys",
				   KEYS_COUNT_MAX);
	*ret = TAKE(json);
	return 0;
}

/* --- the three parts --- */

/* The JSON of one part in base64url. */
static int id_token_part(const char *text, size_t size, const struct json_bounds *bounds,
			 json_t **ret, struct problem *problem)
{
	CLEANUP(freep) char *bytes = malloc(size + 1);
	const char *end = NULL;
	size_t length = 0;

	if (!bytes)
		return id_token_refuse(problem, E_LIMIT, "no memory");
	if (sodium_base642bin((unsigned char *)bytes, size + 1, text, size, NULL, &length, &end,
			      sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0 ||
	    end != text + size)
		return id_token_refuse(problem, E_MALFORMED, "it is not base64url");
	if (json_read_bounded(bytes, length, bounds, ret, problem) != 0)
		return id_token_refuse(problem, E_MALFORMED, "it is no JSON that we read");
	return json_is_object(*ret) ? 0
				    : id_token_refuse(problem, E_MALFORMED, "it is no JSON object");
}

static int id_token_parts(const char *token, json_t **header, json_t **claims,
			  struct problem *problem)
{
	size_t size = strnlen(token, ID_TOKEN_MAX + 1);
	const char *first = strchr(token, '.');
	const char *second = first ? strchr(first + 1, '.') : NULL;
	int rc;

	if (size > ID_TOKEN_MAX)
		return id_token_refuse(problem, E_LIMIT, "it is too long");
	if (!second || strchr(second + 1, '.') || second[1] == '\0')
		return id_token_refuse(problem, E_MALFORMED, "it has not three parts");
	rc = id_token_part(token, (size_t)(first - token), &header_bounds, header, problem);
	return rc == 0 ? id_token_part(first + 1, (size_t)(second - first - 1), &claim_bounds,
				       claims, problem)
		       : rc;
}

/* --- the key --- */

static bool id_token_key_fits(const json_t *key, const json_t *header, size_t algorithm)
{
	const char *kid = id_token_text(header, "kid");
	const char *modulus = id_token_text(key, "n");
	size_t digits = modulus ? strlen(modulus) : 0;

	if (!json_is_object(key) || !id_token_is(key, "kty", id_token_algorithms[algorithm].kty) ||
	    (kid && !id_token_is(key, "kid", kid)))
		return false;
	if (json_object_get(key, "use") && !id_token_is(key, "use", "sig"))
		return false;
	if (json_object_get(key, "alg") &&
	    !id_token_is(key, "alg", id_token_algorithms[algorithm].alg))
		return false;
	if (id_token_algorithms[algorithm].crv)
		return id_token_is(key, "crv", id_token_algorithms[algorithm].crv);
	return digits >= RSA_DIGITS_MIN && digits <= RSA_DIGITS_MAX;
}

/* The one key that may have signed it. */
static int id_token_key(const json_t *keys, const json_t *header, size_t algorithm,
			const json_t **ret, struct problem *problem)
{
	const json_t *key;
	size_t count = 0;
	size_t i;

	json_array_foreach(json_object_get(keys, "keys"), i, key)
	{
		if (!id_token_key_fits(key, header, algorithm))
			continue;
		*ret = key;
		count++;
	}
	if (count == 1)
		return 0;
	return id_token_refuse(problem, E_NOT_FOUND,
			       count ? "several keys of the provider may have signed it"
				     : "no key of the provider may have signed it");
}

static int id_token_algorithm(const json_t *header, size_t *ret, struct problem *problem)
{
	if (json_object_get(header, "crit"))
		return id_token_refuse(problem, E_AUTHENTICATION,
				       "it asks for what we do not know (crit)");
	for (size_t i = 0; i < COUNT_OF(id_token_algorithms); i++) {
		if (id_token_is(header, "alg", id_token_algorithms[i].alg)) {
			*ret = i;
			return 0;
		}
	}
	return id_token_refuse(problem, E_AUTHENTICATION,
			       "it is signed neither by RS256 nor by ES256");
}

static int id_token_signature(const char *token, const json_t *key, struct problem *problem)
{
	CLEANUP(freep) char *text = json_dumps(key, JSON_COMPACT);
	cjose_err error;
	cjose_jwk_t *jwk = text ? cjose_jwk_import(text, strlen(text), &error) : NULL;
	cjose_jws_t *jws = jwk ? cjose_jws_import(token, strlen(token), &error) : NULL;
	bool good = jws && cjose_jws_verify(jws, jwk, &error);

	cjose_jws_release(jws);
	cjose_jwk_release(jwk);
	return good ? 0 : id_token_refuse(problem, E_AUTHENTICATION, "its signature is not right");
}

/* --- the claims: OpenID Connect Core, 3.1.3.7 --- */

static bool id_token_is_for(const json_t *claims, const char *client)
{
	const json_t *aud = json_object_get(claims, "aud");
	const json_t *each;
	bool named = id_token_is(claims, "aud", client);
	size_t i;

	json_array_foreach(aud, i, each)
	{
		const char *value = json_string_value(each);

		named = named || (value && strcmp(value, client) == 0);
	}
	if (json_is_array(aud) && json_array_size(aud) > 1 && !json_object_get(claims, "azp"))
		return false;
	return named && (!json_object_get(claims, "azp") || id_token_is(claims, "azp", client));
}

static bool id_token_is_of_now(const json_t *claims, int64_t now_s)
{
	const json_t *exp = json_object_get(claims, "exp");
	const json_t *iat = json_object_get(claims, "iat");
	const json_t *nbf = json_object_get(claims, "nbf");

	return json_is_integer(exp) && json_integer_value(exp) > now_s - ID_TOKEN_SKEW_S &&
	       json_is_integer(iat) && json_integer_value(iat) < now_s + ID_TOKEN_SKEW_S &&
	       (!nbf ||
		(json_is_integer(nbf) && json_integer_value(nbf) < now_s + ID_TOKEN_SKEW_S));
}

static int id_token_claims(const json_t *claims, const struct id_token_want *want,
			   char subject[ID_TOKEN_SUBJECT_SIZE], struct problem *problem)
{
	const char *sub = id_token_text(claims, "sub");

	if (!id_token_is(claims, "iss", want->issuer))
		return id_token_refuse(problem, E_AUTHENTICATION, "another one issued it (iss)");
	if (!id_token_is_for(claims, want->client))
		return id_token_refuse(problem, E_AUTHENTICATION,
				       "it is made out to somebody else (aud, azp)");
	if (!id_token_is_of_now(claims, want->now_s))
		return id_token_refuse(problem, E_AUTHENTICATION,
				       "it is too old, or not of now (exp, iat, nbf)");
	if (!id_token_is(claims, "nonce", want->nonce))
		return id_token_refuse(problem, E_AUTHENTICATION, "it is of another login (nonce)");
	if (!sub || sub[0] == '\0' || strlen(sub) >= ID_TOKEN_SUBJECT_SIZE ||
	    strlen(sub) != json_string_length(json_object_get(claims, "sub")))
		return id_token_refuse(problem, E_AUTHENTICATION,
				       "it does not say who it is about (sub)");
	(void)text_copy(subject, ID_TOKEN_SUBJECT_SIZE, sub);
	return 0;
}

int id_token_verify(const char *token, const json_t *keys, const struct id_token_want *want,
		    char subject[ID_TOKEN_SUBJECT_SIZE], struct problem *problem)
{
	CLEANUP(json_decrefp) json_t *header = NULL;
	CLEANUP(json_decrefp) json_t *claims = NULL;
	const json_t *key = NULL;
	size_t algorithm = 0;
	int rc = id_token_parts(token, &header, &claims, problem);

	if (rc == 0)
		rc = id_token_algorithm(header, &algorithm, problem);
	if (rc == 0)
		rc = id_token_key(keys, header, algorithm, &key, problem);
	if (rc == 0)
		rc = id_token_signature(token, key, problem);
	return rc == 0 ? id_token_claims(claims, want, subject, problem) : rc;
}
