#include "bampi/storage/volume_account.h"

#include <sodium.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#define BYTES ((size_t)VOLUME_SECRET_LENGTH / 4 * 3)

void volume_account_name(int64_t volume, int64_t number, int64_t node, char ret[STORAGE_USER_SIZE])
{
	if (node)
		(void)text_format(ret, STORAGE_USER_SIZE, "v%lld-%lld-n%lld", (long long)volume,
				  (long long)number, (long long)node);
	else
		(void)text_format(ret, STORAGE_USER_SIZE, "v%lld-%lld", (long long)volume,
				  (long long)number);
}

int volume_account_secret(const char *secret, const char *name, char ret[STORAGE_SECRET_SIZE])
{
	uint8_t digest[crypto_generichash_BYTES];

	if (strlen(secret) < crypto_generichash_KEYBYTES_MIN ||
	    strlen(secret) > crypto_generichash_KEYBYTES_MAX)
		return E_INVALID;
	(void)crypto_generichash(digest, sizeof(digest), (const uint8_t *)name, strlen(name),
				 (const uint8_t *)secret, strlen(secret));
	(void)sodium_bin2base64(ret, STORAGE_SECRET_SIZE, digest, BYTES,
				sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	sodium_memzero(digest, sizeof(digest));
	return 0;
}
