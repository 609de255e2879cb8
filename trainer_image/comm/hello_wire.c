#include "trainer_image/comm/hello_wire.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#include "common/base/error.h"
#include "common/net/wire.h"

#define HELLO_MAGIC      "HAASRANK"
#define HELLO_MAGIC_SIZE (sizeof(HELLO_MAGIC) - 1)

static_assert(HELLO_PROOF_SIZE == crypto_auth_BYTES && HELLO_KEY_SIZE == crypto_auth_KEYBYTES,
	      "HMAC of libsodium");

void hello_encode(const struct hello *hello, uint8_t ret[HELLO_SIZE])
{
	struct wire_writer writer = wire_writer(ret, HELLO_SIZE);

	wire_put_bytes(&writer, HELLO_MAGIC, HELLO_MAGIC_SIZE);
	wire_put_u16(&writer, HELLO_VERSION);
	wire_put_u16(&writer, hello->rank);
	wire_put_u16(&writer, hello->ranks);
	wire_put_bytes(&writer, hello->nonce, HELLO_NONCE_SIZE);
}

int hello_decode(const uint8_t *data, size_t size, struct hello *ret)
{
	struct wire_reader reader = wire_reader(data, size);
	const uint8_t *magic = wire_bytes(&reader, HELLO_MAGIC_SIZE);
	uint16_t version = wire_u16(&reader);
	struct hello hello = {.rank = wire_u16(&reader)};

	hello.ranks = wire_u16(&reader);
	wire_copy(&reader, hello.nonce, HELLO_NONCE_SIZE);
	if (reader.bad || wire_left(&reader) > 0 ||
	    memcmp(magic, HELLO_MAGIC, HELLO_MAGIC_SIZE) != 0)
		return E_MALFORMED;
	if (version != HELLO_VERSION)
		return E_UNSUPPORTED;
	if (hello.rank >= hello.ranks)
		return E_INVALID;
	*ret = hello;
	return 0;
}

enum { HELLO_PROVEN_SIZE = 4 + 2 * HELLO_NONCE_SIZE };

static void hello_proven(const struct hello *mine, const struct hello *theirs,
			 uint8_t ret[HELLO_PROVEN_SIZE])
{
	struct wire_writer writer = wire_writer(ret, HELLO_PROVEN_SIZE);

	wire_put_u16(&writer, mine->rank);
	wire_put_u16(&writer, mine->ranks);
	wire_put_bytes(&writer, mine->nonce, HELLO_NONCE_SIZE);
	wire_put_bytes(&writer, theirs->nonce, HELLO_NONCE_SIZE);
}

void hello_prove(const struct hello *mine, const struct hello *theirs,
		 const uint8_t key[HELLO_KEY_SIZE], uint8_t ret[HELLO_PROOF_SIZE])
{
	uint8_t proven[HELLO_PROVEN_SIZE];

	hello_proven(mine, theirs, proven);
	(void)crypto_auth(ret, proven, sizeof(proven), key);
}

int hello_check(const struct hello *mine, const struct hello *theirs,
		const uint8_t key[HELLO_KEY_SIZE], const uint8_t proof[HELLO_PROOF_SIZE])
{
	uint8_t proven[HELLO_PROVEN_SIZE];

	hello_proven(theirs, mine, proven);
	return crypto_auth_verify(proof, proven, sizeof(proven), key) == 0 ? 0 : E_AUTHENTICATION;
}
