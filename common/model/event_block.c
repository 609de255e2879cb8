#include "common/model/event_block.h"

#include <assert.h>
#include <inttypes.h>
#include <sodium.h>
#include <string.h>

#include "common/base/json_text.h"

static_assert(2 * crypto_hash_sha256_BYTES + 1 == DIGEST_TEXT_SIZE, "SHA-256 in hex");

void event_block_body(const struct event_block_facts *facts, struct text *ret)
{
	json_begin_object(ret, NULL);
	json_put_string(ret, "format", EVENT_BLOCK_FORMAT);
	json_put_string(ret, "previous_hash", facts->previous_hash);
	json_put_int(ret, "block", facts->block);
	json_put_int(ret, "events", facts->events);
	json_put_string(ret, "digest", facts->digest);
	json_put_string(ret, "sealed_at", facts->sealed_at);
	json_end_object(ret);
}

struct certificate_chain event_block_chain(size_t first, const char *previous_hash)
{
	struct certificate_chain chain = {
		.format = EVENT_BLOCK_FORMAT, .noun = "block", .count = first - 1};

	(void)text_copy(chain.head, sizeof(chain.head), previous_hash);
	return chain;
}

void event_block_line(int64_t id, const char *text, size_t size, char ret[EVENT_LINE_SIZE])
{
	uint8_t hash[crypto_hash_sha256_BYTES];
	char hex[DIGEST_TEXT_SIZE];

	(void)crypto_hash_sha256(hash, (const unsigned char *)text, size);
	hex_encode(hash, sizeof(hash), hex);
	(void)text_format(ret, EVENT_LINE_SIZE, "%" PRId64 ":%s", id, hex);
}

void event_block_digest(const char *const lines[], size_t count, char ret[DIGEST_TEXT_SIZE])
{
	uint8_t hash[crypto_hash_sha256_BYTES];
	crypto_hash_sha256_state state;

	(void)crypto_hash_sha256_init(&state);
	for (size_t i = 0; i < count; i++) {
		(void)crypto_hash_sha256_update(&state, (const unsigned char *)lines[i],
						strlen(lines[i]));
		(void)crypto_hash_sha256_update(&state, (const unsigned char *)"\n", 1);
	}
	(void)crypto_hash_sha256_final(&state, hash);
	hex_encode(hash, sizeof(hash), ret);
}
