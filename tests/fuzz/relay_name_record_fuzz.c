// links: relay_cache
/* Any bytes as the record of a boot file: what is accepted has a name and a
 * digest, and is the same when written and read again. */
#undef NDEBUG /* the invariants are the test */

#include <assert.h>
#include <stdint.h>

#include "bampi/relay/cache/file_book.h"
#include "bampi/relay/cache/name_record_wire.h"
#include "tests/support/fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	char again[NAME_RECORD_MAX];
	char target[UPSTREAM_TARGET_MAX];
	struct name_record record;
	struct name_record same;
	size_t again_size;

	if (name_record_decode(text, &record) == 0) {
		assert(record.name[0] && !strpbrk(record.name, "\r\n"));
		assert(strlen(record.digest) == DIGEST_TEXT_SIZE - 1);
		assert(name_record_encode(&record, again, &again_size) == 0);
		assert(again_size == strlen(again) && strcmp(again, text) == 0);
		assert(name_record_decode(again, &same) == 0 && same.size == record.size);
		assert(strcmp(same.name, record.name) == 0 && strcmp(same.tag, record.tag) == 0);
		file_book_target(record.name, target);
		assert(strpbrk(target, " \"\r\n%?#") == NULL || strchr(target, '%'));
	}
	free(text);
	return 0;
}
