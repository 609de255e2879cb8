#include "portal/server/totp_policy.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sodium.h>
#include <string.h>

#include "common/base/text.h"

#define TOTP_MODULUS 1000000 /* of TOTP_DIGITS */

void totp_base32(const uint8_t *bytes, unsigned size, char *ret)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

	for (unsigned i = 0; i < size; i += 5) {
		uint64_t group = 0;

		for (unsigned k = 0; k < 5; k++)
			group = group << 8 | bytes[i + k];
		for (unsigned k = 0; k < 8; k++)
			*ret++ = letters[group >> (35 - 5 * k) & 31];
	}
	*ret = '\0';
}

uint32_t totp_code(const uint8_t secret[TOTP_SECRET_SIZE], uint64_t counter)
{
	uint8_t message[8];
	uint8_t mac[EVP_MAX_MD_SIZE] = {0};
	unsigned size = 0;
	unsigned at;
	uint32_t number;

	for (unsigned i = 0; i < sizeof(message); i++)
		message[i] = (uint8_t)(counter >> (56 - 8 * i));
	(void)HMAC(EVP_sha1(), secret, TOTP_SECRET_SIZE, message, sizeof(message), mac, &size);
	at = mac[19] & 15U; /* RFC 4226, 5.3 */
	number = (uint32_t)mac[at] << 24 | (uint32_t)mac[at + 1] << 16 |
		 (uint32_t)mac[at + 2] << 8 | mac[at + 3];
	sodium_memzero(mac, sizeof(mac));
	return (number & 0x7fffffffU) % TOTP_MODULUS;
}

int64_t totp_find(const uint8_t secret[TOTP_SECRET_SIZE], const char *code, int64_t now_s,
		  int64_t used)
{
	int64_t now = now_s / TOTP_STEP_S;
	int64_t found = 0;

	if (strlen(code) != TOTP_DIGITS || now_s < 0)
		return 0;
	for (int64_t counter = now - TOTP_WINDOW; counter <= now + TOTP_WINDOW; counter++) {
		char wanted[TOTP_DIGITS + 1];

		if (counter <= used || counter <= 0)
			continue;
		(void)text_format(wanted, sizeof(wanted), "%06u",
				  totp_code(secret, (uint64_t)counter));
		if (sodium_memcmp(wanted, code, TOTP_DIGITS) == 0)
			found = counter;
		sodium_memzero(wanted, sizeof(wanted));
	}
	return found;
}
