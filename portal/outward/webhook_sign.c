#include "portal/outward/webhook_sign.h"

#include <inttypes.h>
#include <sodium.h>
#include <string.h>

#include "common/base/hex.h"
#include "common/base/text.h"

void webhook_sign(const char *secret, int64_t time_s, const char *body, char ret[WEBHOOK_SIGN_SIZE])
{
	char hex[2 * crypto_auth_hmacsha256_BYTES + 1];
	uint8_t mac[crypto_auth_hmacsha256_BYTES];
	crypto_auth_hmacsha256_state state;
	char time_text[24];

	(void)text_format(time_text, sizeof(time_text), "%" PRId64 ".", time_s);
	crypto_auth_hmacsha256_init(&state, (const uint8_t *)secret, strlen(secret));
	crypto_auth_hmacsha256_update(&state, (const uint8_t *)time_text, strlen(time_text));
	crypto_auth_hmacsha256_update(&state, (const uint8_t *)body, strlen(body));
	crypto_auth_hmacsha256_final(&state, mac);
	sodium_memzero(&state, sizeof(state));
	hex_encode(mac, sizeof(mac), hex);
	(void)text_format(ret, WEBHOOK_SIGN_SIZE, "Haas-Signature: t=%" PRId64 ",v1=%s", time_s,
			  hex);
}
