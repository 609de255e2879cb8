#include "portal/server/seal.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/hex.h"

int seal_text(const char *public_key, const char *secret, char **ret)
{
	unsigned char key[crypto_box_PUBLICKEYBYTES];
	size_t size = strlen(secret);
	CLEANUP(freep) unsigned char *sealed = malloc(size + crypto_box_SEALBYTES);
	CLEANUP(freep) char *hex = malloc(2 * (size + crypto_box_SEALBYTES) + 1);

	if (!sealed || !hex)
		return -ENOMEM;
	if (hex_decode(public_key, key, sizeof(key)) != 0)
		return E_MALFORMED;
	if (crypto_box_seal(sealed, (const unsigned char *)secret, size, key) != 0)
		return E_MALFORMED;
	hex_encode(sealed, size + crypto_box_SEALBYTES, hex);
	*ret = TAKE(hex);
	return 0;
}
