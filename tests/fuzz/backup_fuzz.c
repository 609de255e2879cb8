// links: portal_cli
/* Any bytes as the header or trailer of a backup, and as a key file. An accepted header has a maker
 * that is safe in SQL and on a terminal, and is the same bytes when written again. An accepted key is
 * the same when written and read again. */
#undef NDEBUG /* the invariants are the test */

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "portal/cli/backup_wire.h"
#include "tests/support/fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void backup_fuzz_header(const uint8_t *data, size_t size)
{
	struct backup_header header;
	uint8_t again[BACKUP_HEADER_SIZE];

	if (backup_header_decode(data, size, &header) != 0)
		return;
	assert(size >= BACKUP_HEADER_SIZE && header.made_s >= 0);
	assert(header.maker[0] && strlen(header.maker) <= BACKUP_MAKER_SIZE);
	assert(!strpbrk(header.maker, "'\"\\\n\r\t\033 ;"));
	backup_header_encode(&header, again);
	assert(memcmp(again, data, sizeof(again)) == 0);
}

static void backup_fuzz_trailer(const uint8_t *data, size_t size)
{
	uint8_t signature[crypto_sign_BYTES];
	uint8_t again[BACKUP_TRAILER_SIZE];

	if (backup_trailer_decode(data, size, signature) != 0)
		return;
	backup_trailer_encode(signature, again);
	assert(size == sizeof(again) && memcmp(again, data, size) == 0);
}

static void backup_fuzz_key(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	char again[BACKUP_KEY_TEXT_SIZE];
	struct backup_key key;
	struct backup_key same;

	if (backup_key_decode(text, &key) == 0) {
		backup_key_encode(&key, again);
		assert(strlen(again) == strlen(text));
		assert(backup_key_decode(again, &same) == 0 && same.half == key.half);
		assert(memcmp(same.seal, key.seal, sizeof(key.seal)) == 0);
		assert(memcmp(same.sign, key.sign, sizeof(key.sign)) == 0);
	}
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	backup_fuzz_header(data, size);
	backup_fuzz_trailer(data, size);
	backup_fuzz_key(data, size);
	return 0;
}
