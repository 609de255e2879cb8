// links: control_attest
/* Which quotes are believed: signed here as a chip signs, with a key of our own. */
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <sodium.h>
#include <string.h>

#include "common/base/attest_nonce.h"
#include "common/base/hex.h"
#include "common/base/macros.h"
#include "common/base/text.h"
#include "common/net/wire.h"

#include "bampi/control/attest/attest_policy.h"
#include "tests/support/cmocka.h"

#define TOKEN "0123456789abcdef0123456789abcdef"
#define SEAL  "5ea15ea15ea15ea15ea15ea15ea15ea15ea15ea15ea15ea15ea15ea15ea15ea1"
#define HALF  32

struct quote { /* what the chip is made to sign, and what the agent tells of it */
	const char *token, *seal;
	uint8_t pcr7[HALF], pcr11[HALF];
	uint32_t registers;
	uint16_t type;
};

static EVP_PKEY *chip, *another_chip;

static void put_hex(json_t *object, const char *name, const void *bytes, size_t size)
{
	char hex[2 * 512 + 1];

	hex_encode(bytes, size, hex);
	json_object_set_new(object, name, json_string(hex));
}

static void put_signature(json_t *object, EVP_PKEY *key, const uint8_t *bytes, size_t size)
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	uint8_t der[128];
	uint8_t pair[2 * HALF];
	size_t der_size = sizeof(der);
	const uint8_t *at = der;
	ECDSA_SIG *signature;

	assert_int_equal(EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key), 1);
	assert_int_equal(EVP_DigestSign(context, der, &der_size, bytes, size), 1);
	signature = d2i_ECDSA_SIG(NULL, &at, (long)der_size);
	BN_bn2binpad(ECDSA_SIG_get0_r(signature), pair, HALF);
	BN_bn2binpad(ECDSA_SIG_get0_s(signature), pair + HALF, HALF);
	put_hex(object, "signature", pair, sizeof(pair));
	ECDSA_SIG_free(signature);
	EVP_MD_CTX_free(context);
}

static void put_key(json_t *object, EVP_PKEY *key)
{
	uint8_t point[1 + 2 * HALF];
	size_t size = 0;

	assert_int_equal(EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY, point,
							 sizeof(point), &size),
			 1);
	assert_int_equal(size, sizeof(point));
	put_hex(object, "key", point + 1, 2 * HALF);
}

static json_t *result_of(EVP_PKEY *key, const struct quote *quote)
{
	json_t *result = json_object();
	uint8_t values[2][HALF];
	uint8_t digest[HALF];
	uint8_t nonce[ATTEST_NONCE_SIZE];
	uint8_t attest[256];
	struct wire_writer writer = wire_writer(attest, sizeof(attest));

	memcpy(values[0], quote->pcr7, HALF);
	memcpy(values[1], quote->pcr11, HALF);
	(void)crypto_hash_sha256(digest, values[0], sizeof(values));
	attest_nonce(quote->token, quote->seal, nonce);
	wire_put_u32(&writer, 0xff544347);
	wire_put_u16(&writer, quote->type);
	wire_put_u16(&writer, 2);
	wire_put_bytes(&writer, "ab", 2);
	wire_put_u16(&writer, HALF);
	wire_put_bytes(&writer, nonce, HALF);
	wire_put_zeros(&writer, 25);
	wire_put_u32(&writer, 1);
	wire_put_u16(&writer, 0x0b);
	wire_put_u8(&writer, 3);
	wire_put_u8(&writer, (uint8_t)quote->registers);
	wire_put_u8(&writer, (uint8_t)(quote->registers >> 8));
	wire_put_u8(&writer, 0);
	wire_put_u16(&writer, HALF);
	wire_put_bytes(&writer, digest, HALF);
	json_object_set_new(result, "tpm", json_true());
	json_object_set_new(result, "problem", json_string(""));
	put_key(result, key);
	put_hex(result, "quote", attest, wire_written(&writer));
	put_signature(result, key, attest, wire_written(&writer));
	put_hex(result, "pcr7", quote->pcr7, HALF);
	put_hex(result, "pcr11", quote->pcr11, HALF);
	return result;
}

static struct quote good(void)
{
	return (struct quote){.token = TOKEN,
			      .seal = SEAL,
			      .pcr7 = {7},
			      .pcr11 = {11},
			      .registers = ATTEST_REGISTERS,
			      .type = 0x8018};
}

static const struct attest_trust trust = {.values = {{10}, {11}}, .count = 2};

static struct attest_verdict judge(json_t *result, const struct attest_pins *pins)
{
	struct attest_facts facts = {
		.result = result, .token = TOKEN, .seal = SEAL, .trust = &trust};
	struct attest_verdict verdict;

	if (pins)
		facts.pins = *pins;
	attest_judge(&facts, &verdict);
	assert_int_equal(verdict.attested, verdict.why[0] == '\0');
	assert_int_equal(verdict.attested, verdict.hint[0] == '\0');
	json_decref(result);
	return verdict;
}

static void refused(json_t *result, const char *why)
{
	struct attest_verdict verdict = judge(result, NULL);

	assert_false(verdict.attested);
	assert_string_equal(verdict.why, why);
	assert_string_equal(verdict.pins.key,
			    ""); /* nothing is pinned by a quote that is not believed */
}

static void believes(void **state)
{
	struct quote quote = good();
	struct attest_verdict first = judge(result_of(chip, &quote), NULL);
	struct attest_verdict then;

	(void)state;
	assert_true(first.attested);
	assert_int_equal(strlen(first.pins.key), 128);
	assert_memory_equal(first.pins.pcr7, "0700", 4);
	then = judge(result_of(chip, &quote), &first.pins);
	assert_true(then.attested);
	assert_string_equal(then.pins.key, first.pins.key);
	/* a newer image of the site, on the same chip and firmware */
	quote.pcr11[0] = 10;
	assert_true(judge(result_of(chip, &quote), &first.pins).attested);
}

static void holds_its_pins(void **state)
{
	struct quote quote = good();
	struct attest_verdict first = judge(result_of(chip, &quote), NULL);
	struct attest_verdict then = judge(result_of(another_chip, &quote), &first.pins);

	(void)state;
	assert_string_equal(then.why, "its TPM is another one than before");
	assert_string_equal(then.pins.key, first.pins.key);
	quote.pcr7[0] = 8;
	then = judge(result_of(chip, &quote), &first.pins);
	assert_string_equal(then.why,
			    "the Secure Boot keys of its firmware are others than before");
	assert_string_equal(then.pins.pcr7, first.pins.pcr7);
}

static void refuses(void **state)
{
	struct quote quote = good();
	json_t *result;

	(void)state;
	quote.pcr11[0] = 12;
	refused(result_of(chip, &quote), "it runs something else than the site's signed image");
	quote = good();
	quote.token = "ffffffffffffffffffffffffffffffff"; /* an old quote, sent again */
	refused(result_of(chip, &quote), "its quote is for another boot or another agent");
	quote = good();
	quote.seal = ""; /* another program's key is to get the secrets */
	refused(result_of(chip, &quote), "its quote is for another boot or another agent");
	quote = good();
	quote.registers = 1U << 16;
	refused(result_of(chip, &quote), "its quote is not about the registers that it tells");
	quote = good();
	quote.type = 0x8014; /* a time that the chip signed, not a quote */
	refused(result_of(chip, &quote), "its quote cannot be read");

	quote = good();
	result = result_of(chip, &quote); /* the true quote, and other values told beside it */
	quote.pcr11[0] = 10;
	put_hex(result, "pcr11", quote.pcr11, HALF);
	refused(result, "its quote is not about the registers that it tells");
	quote = good();
	result = result_of(chip, &quote);
	put_key(result, another_chip);
	refused(result, "the signature of its quote is wrong");
	result = result_of(chip, &quote);
	json_object_set_new(result, "key", json_string("00"));
	refused(result, "its quote cannot be read");
	result = result_of(chip, &quote);
	put_hex(result, "key", (const uint8_t[2 * HALF]){1}, 2 * HALF); /* no point of the curve */
	refused(result, "the signature of its quote is wrong");
	result = json_pack("{s:b, s:s}", "tpm", 0, "problem", "it has no TPM 2.0");
	refused(result, "it has no TPM 2.0");
	refused(json_object(), "its quote cannot be read");
	refused(json_pack("{s:s}", "problem", "\x1b[31mred"), " [31mred");
}

static void needs_an_image(void **state)
{
	static const struct attest_trust none = {.count = 0};
	struct quote quote = good();
	struct attest_facts facts = {.token = TOKEN, .seal = SEAL, .trust = &none};
	struct attest_verdict verdict;
	json_t *result = result_of(chip, &quote);

	(void)state;
	facts.result = result;
	attest_judge(&facts, &verdict);
	assert_string_equal(verdict.why, "no measurement of a signed image is known here");
	json_decref(result);
}

static int make_chips(void **state)
{
	(void)state;
	chip = EVP_EC_gen("P-256");
	another_chip = EVP_EC_gen("P-256");
	return chip && another_chip && sodium_init() >= 0 ? 0 : -1;
}

static int free_chips(void **state)
{
	(void)state;
	EVP_PKEY_free(chip);
	EVP_PKEY_free(another_chip);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(believes),
		cmocka_unit_test(holds_its_pins),
		cmocka_unit_test(refuses),
		cmocka_unit_test(needs_an_image),
	};

	return cmocka_run_group_tests(tests, make_chips, free_chips);
}
