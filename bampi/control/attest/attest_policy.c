#include "bampi/control/attest/attest_policy.h"

#include <sodium.h>
#include <string.h>

#include "common/base/attest_nonce.h"
#include "common/base/hex.h"
#include "common/base/macros.h"
#include "common/base/text.h"
#include "common/net/tpm_wire.h"

#include "bampi/control/attest/attest_signature.h"

enum attest_fault {
	ATTEST_OK,
	ATTEST_NO_TPM, /* why is the agent's word */
	ATTEST_MALFORMED,
	ATTEST_SIGNATURE,
	ATTEST_ANOTHER_BOOT,
	ATTEST_REGISTERS_DIFFER,
	ATTEST_NO_IMAGE,
	ATTEST_FOREIGN_IMAGE,
	ATTEST_ANOTHER_TPM,
	ATTEST_ANOTHER_FIRMWARE,
};

static const struct {
	const char *why, *hint;
} attest_faults[] = {
	[ATTEST_OK] = {"", ""},
	[ATTEST_NO_TPM] =
		{"",
		 "turn the TPM 2.0 on in the firmware's set-up, or import the node with secure_boot=signed"},
	[ATTEST_MALFORMED] = {"its quote cannot be read",
			      "the agent in the ramdisk and bampid may be of different versions"},
	[ATTEST_SIGNATURE] =
		{"the signature of its quote is wrong",
		 "somebody else answers for the node: look at its port and its console"},
	[ATTEST_ANOTHER_BOOT] =
		{"its quote is for another boot or another agent",
		 "somebody else answers for the node: look at its port and its console"},
	[ATTEST_REGISTERS_DIFFER] =
		{"its quote is not about the registers that it tells",
		 "somebody else answers for the node: look at its port and its console"},
	[ATTEST_NO_IMAGE] =
		{"no measurement of a signed image is known here",
		 "build the signed image: ramdisk/build --secure-boot; bampid reads agent.efi.pcr11 beside it"},
	[ATTEST_FOREIGN_IMAGE] =
		{"it runs something else than the site's signed image",
		 "enrol the site's certificate and turn Secure Boot on; after a build wait for its next boot"},
	[ATTEST_ANOTHER_TPM] =
		{"its TPM is another one than before",
		 "after a change of the board: import it with secure_boot=off, then with attested again"},
	[ATTEST_ANOTHER_FIRMWARE] =
		{"the Secure Boot keys of its firmware are others than before",
		 "if you changed them: import it with secure_boot=off, then with attested again"},
};

/* The bytes of a member in hex; false when they are not exactly `size`. */
static bool attest_bytes(const json_t *object, const char *name, void *ret, size_t size)
{
	const char *hex = json_string_value(json_object_get(object, name));

	return hex && strlen(hex) == 2 * size && hex_decode(hex, ret, size) == 0;
}

struct attest_told {
	struct tpm_key key;
	struct tpm_signature signature;
	uint8_t attest[TPM_ATTEST_MAX];
	size_t attest_size;
	uint8_t pcr7[TPM_DIGEST_SIZE], pcr11[TPM_DIGEST_SIZE];
};

static bool attest_read(const json_t *result, struct attest_told *ret)
{
	const char *quote = json_string_value(json_object_get(result, "quote"));
	size_t size = quote ? strlen(quote) / 2 : 0;

	if (size == 0 || size > sizeof(ret->attest) ||
	    !attest_bytes(result, "quote", ret->attest, size) ||
	    !attest_bytes(result, "key", &ret->key, sizeof(ret->key)) ||
	    !attest_bytes(result, "signature", &ret->signature, sizeof(ret->signature)) ||
	    !attest_bytes(result, "pcr7", ret->pcr7, sizeof(ret->pcr7)) ||
	    !attest_bytes(result, "pcr11", ret->pcr11, sizeof(ret->pcr11)))
		return false;
	ret->attest_size = size;
	return true;
}

/* The quote holds a digest of the registers' values, one after the other. */
static bool attest_is_of(const struct tpm_quote *quote, const struct attest_told *told)
{
	uint8_t values[2][TPM_DIGEST_SIZE];
	uint8_t digest[TPM_DIGEST_SIZE];

	memcpy(values[0], told->pcr7, TPM_DIGEST_SIZE);
	memcpy(values[1], told->pcr11, TPM_DIGEST_SIZE);
	(void)crypto_hash_sha256(digest, values[0], sizeof(values));
	return quote->registers == ATTEST_REGISTERS &&
	       memcmp(digest, quote->digest, sizeof(digest)) == 0;
}

static bool attest_knows(const struct attest_trust *trust, const uint8_t value[TPM_DIGEST_SIZE])
{
	for (size_t i = 0; i < trust->count; i++)
		if (memcmp(trust->values[i], value, TPM_DIGEST_SIZE) == 0)
			return true;
	return false;
}

static bool attest_is_pinned(const char *pin, const char *value)
{
	return !pin[0] || strcmp(pin, value) == 0;
}

static enum attest_fault attest_check(const struct attest_facts *facts, struct attest_pins *ret)
{
	struct attest_told told = {0};
	struct tpm_quote quote = {0};
	uint8_t nonce[ATTEST_NONCE_SIZE];

	if (!attest_read(facts->result, &told) ||
	    tpm_attest_decode(told.attest, told.attest_size, &quote))
		return ATTEST_MALFORMED;
	if (!attest_signature_verify(&told.key, told.attest, told.attest_size, &told.signature))
		return ATTEST_SIGNATURE;
	attest_nonce(facts->token, facts->seal, nonce);
	if (memcmp(nonce, quote.nonce, sizeof(nonce)) != 0)
		return ATTEST_ANOTHER_BOOT;
	if (!attest_is_of(&quote, &told))
		return ATTEST_REGISTERS_DIFFER;
	hex_encode(&told.key, sizeof(told.key), ret->key);
	hex_encode(told.pcr7, sizeof(told.pcr7), ret->pcr7);
	if (!attest_is_pinned(facts->pins.key, ret->key))
		return ATTEST_ANOTHER_TPM;
	if (facts->trust->count == 0)
		return ATTEST_NO_IMAGE;
	if (!attest_knows(facts->trust, told.pcr11))
		return ATTEST_FOREIGN_IMAGE;
	if (!attest_is_pinned(facts->pins.pcr7, ret->pcr7))
		return ATTEST_ANOTHER_FIRMWARE;
	return ATTEST_OK;
}

void attest_judge(const struct attest_facts *facts, struct attest_verdict *ret)
{
	struct attest_pins seen = {0};
	const char *problem = json_string_value(json_object_get(facts->result, "problem"));
	enum attest_fault fault =
		problem && problem[0] ? ATTEST_NO_TPM : attest_check(facts, &seen);

	*ret = (struct attest_verdict){.attested = fault == ATTEST_OK, .pins = facts->pins};
	if (fault == ATTEST_OK)
		ret->pins = seen;
	(void)text_copy(ret->hint, sizeof(ret->hint), attest_faults[fault].hint);
	/* The agent's words, cut to our room; they end on a terminal. */
	if (fault == ATTEST_NO_TPM)
		(void)text_format(ret->why, sizeof(ret->why), "%.120s", problem);
	else
		(void)text_copy(ret->why, sizeof(ret->why), attest_faults[fault].why);
	for (char *c = ret->why; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = ' ';
}
