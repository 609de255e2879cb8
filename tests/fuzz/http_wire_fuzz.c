// links: common_net
/* Invariants. First byte: what the rest is.
 * 0 request, 1 response: a parsed head has a method or status, token names, no control characters
 * in values, one body framing. 2 chunks: the data is the same however the bytes are cut into
 * pieces; pieces lie in the input. 3 percent decoding never grows. 4 a range lies in the file. */
#undef NDEBUG /* the invariants are the test */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/net/http_wire.h"

#include "tests/support/fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_head(char *text, size_t size, bool request)
{
	size_t head_size = http_head_size(text, size);
	struct http_head head;
	enum http_framing framing;
	uint64_t length;
	int rc;

	assert(head_size <= size);
	if (head_size == 0)
		return;
	rc = request ? http_head_request(text, head_size, &head)
		     : http_head_response(text, head_size, &head);
	if (rc != 0)
		return;
	assert(head.field_count <= HTTP_FIELD_LIMIT && (head.minor == 0 || head.minor == 1));
	if (request)
		assert(*head.method && *head.target && !strpbrk(head.target, " \t\r\n"));
	else
		assert(head.status >= 100 && head.status <= 599);
	for (size_t i = 0; i < head.field_count; i++) {
		assert(*head.fields[i].name && !strpbrk(head.fields[i].name, " \t\r\n:"));
		assert(!strpbrk(head.fields[i].value, "\r\n"));
		assert(http_head_field(&head, head.fields[i].name) != NULL);
	}
	rc = request ? http_framing_request(&head, &framing, &length)
		     : http_framing_response(&head, false, &framing, &length);
	if (rc == 0 && framing == HTTP_FRAMING_CHUNKED)
		assert(!http_head_field(&head, "Content-Length"));
}

/* Decodes with the bytes cut every `cut`; the state or error where it ended. */
static int decode(const char *data, size_t size, size_t cut, struct text *ret)
{
	struct http_chunks chunks = {0};
	size_t at = 0;

	while (at < size && chunks.state != HTTP_CHUNKS_DONE) {
		size_t part = size - at < cut ? size - at : cut;
		const char *piece;
		size_t piece_size;
		size_t used;
		int rc = http_chunks_take(&chunks, data + at, part, &used, &piece, &piece_size);

		assert(used <= part && piece >= data && piece + piece_size <= data + size);
		if (rc != 0)
			return rc;
		assert(used > 0);
		text_add_bytes(ret, piece, piece_size);
		at += used;
	}
	return (int)chunks.state;
}

static void check_chunks(const char *data, size_t size)
{
	struct text whole = {0};
	struct text cut = {0};
	int at_once = decode(data, size, size ? size : 1, &whole);

	assert(decode(data, size, 1, &cut) == at_once);
	assert(whole.size == cut.size);
	assert(whole.size == 0 || memcmp(whole.data, cut.data, cut.size) == 0);
	text_done(&whole);
	text_done(&cut);
}

static void check_decode(char *text)
{
	size_t before = strlen(text);

	if (http_decode(text, true) == 0)
		assert(strlen(text) <= before);
}

static void check_range(const char *text)
{
	static const uint64_t sizes[] = {0, 1, 10, UINT64_MAX / 2};
	uint64_t first;
	uint64_t length;

	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		if (http_range(text, sizes[i], &first, &length) == 0)
			assert(length > 0 && first < sizes[i] && length <= sizes[i] - first);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (size == 0)
		return 0;
	text = fuzz_text(data + 1, size - 1);
	switch (data[0] % 5) {
	case 0: check_head(text, size - 1, true); break;
	case 1: check_head(text, size - 1, false); break;
	case 2: check_chunks(text, size - 1); break;
	case 3: check_decode(text); break;
	default: check_range(text); break;
	}
	free(text);
	return 0;
}
