// links: trainer_record
/* Any bytes as the parts of a record file, the first byte says which. What is decoded encodes to the same bytes. An
 * entry lies in its page, tables and pages in their file; free fields lie in their sample; words are of the vocabulary. */
#undef NDEBUG /* the invariants are the test */

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "trainer_image/record/crc32c.h"
#include "trainer_image/record/record_header_wire.h"
#include "trainer_image/record/record_wire.h"
#include "trainer_image/record/record_words_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A checksum that is right, so that what is behind it is reached: no fuzzer finds one. */
static void checksum_put(uint8_t *at, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		at[i] = (uint8_t)(value >> 8 * (size - 1 - i));
}

static void header_try(uint8_t *data, size_t size)
{
	struct record_header header = {0};
	uint8_t *again = NULL;
	uint64_t digest = 0;
	uint64_t same = 0;
	size_t again_size = 0;
	size_t told = 0;

	if (record_wire_header_size(data, size, &told) == 0)
		assert(told >= RECORD_ALIGN && told <= RECORD_HEADER_SIZE_MAX);
	if (size >= 8)
		checksum_put(data + size - 8, XXH64(data, size - 8, 0), 8);
	if (record_wire_header_decode(data, size, &header, &digest) != 0)
		return;
	assert(header.field_count <= RECORD_FIELDS_MAX && header.page_size % RECORD_ALIGN == 0);
	assert((header.vocabulary > 0) == (header.length > 0));
	assert(record_wire_header_encode(&header, &again, &again_size, &same) == 0);
	assert(again_size == size && memcmp(again, data, size) == 0 && same == digest);
	free(again);
	record_header_done(&header);
}

static void page_try(uint8_t *data, size_t size)
{
	uint8_t again[RECORD_PAGE_HEADER_SIZE];
	struct record_page_header page;
	struct record_entry entry;

	if (size >= RECORD_PAGE_HEADER_SIZE)
		checksum_put(data + RECORD_PAGE_HEADER_SIZE - 4,
			     crc32c(0, data, RECORD_PAGE_HEADER_SIZE - 4), 4);
	if (record_wire_page_decode(data, size, &page) != 0)
		return;
	record_wire_page_encode(&page, again);
	assert(memcmp(again, data, sizeof(again)) == 0);
	for (uint32_t i = 0; page.used <= size && i < page.samples; i++) {
		uint8_t bytes[RECORD_ENTRY_SIZE];
		uint32_t begin = page.used - page.samples * RECORD_ENTRY_SIZE;

		if (record_wire_entry_decode(data, page.used, page.samples, i, &entry) != 0)
			continue;
		assert(entry.offset >= RECORD_PAGE_HEADER_SIZE && entry.offset <= begin);
		assert(entry.length <= begin - entry.offset && entry.fields <= entry.length);
		record_wire_entry_encode(&entry, bytes);
		assert(memcmp(bytes, data + begin + (size_t)i * RECORD_ENTRY_SIZE, sizeof(bytes)) ==
		       0);
	}
}

static void trailer_try(uint8_t *data, size_t size)
{
	uint8_t again[RECORD_TRAILER_SIZE];
	struct record_trailer trailer;

	if (size < RECORD_TRAILER_SIZE + 8)
		return;
	uint64_t file_size = 0;
	memcpy(&file_size, data, sizeof(file_size));
	data += 8;
	checksum_put(data + RECORD_TRAILER_SIZE - 4, crc32c(0, data, RECORD_TRAILER_SIZE - 4), 4);
	/* As if the file had the size that the trailer tells, too. */
	for (unsigned i = 0; i < 2; i++) {
		if (record_wire_trailer_decode(data, RECORD_TRAILER_SIZE, file_size, &trailer) ==
		    0) {
			assert(trailer.size == file_size);
			assert(trailer.page_table <= trailer.index_table);
			assert(trailer.index_table + record_wire_index_table_size(trailer.samples) +
				       RECORD_TRAILER_SIZE ==
			       file_size);
			record_wire_trailer_encode(&trailer, again);
			assert(memcmp(again, data, sizeof(again)) == 0);
		}
		file_size = 0;
		for (unsigned k = 64; k < 72; k++)
			file_size = file_size << 8 | data[k];
	}
}

static void table_try(uint8_t *data, size_t size)
{
	uint64_t count = size < RECORD_TABLE_FRAME ? 0 : size - RECORD_TABLE_FRAME;

	if (size < RECORD_TABLE_FRAME)
		return;
	checksum_put(data + size - 8, XXH64(data, size - 8, 0), 8);
	if (record_wire_page_table_check(data, size, count / RECORD_PAGE_ROW_SIZE) == 0)
		for (uint64_t i = 0; i < count / RECORD_PAGE_ROW_SIZE; i++) {
			uint8_t again[RECORD_PAGE_ROW_SIZE];
			struct record_page_row row;

			record_wire_page_row_decode(data, i, &row);
			record_wire_page_row_encode(&row, again);
			assert(memcmp(again, data + RECORD_TABLE_ROWS + i * sizeof(again),
				      sizeof(again)) == 0);
		}
	if (record_wire_index_table_check(data, size, count / RECORD_INDEX_ROW_SIZE) == 0)
		for (uint64_t i = 0; i < count / RECORD_INDEX_ROW_SIZE; i++) {
			uint8_t again[RECORD_INDEX_ROW_SIZE];
			struct record_index_row row;

			record_wire_index_row_decode(data, i, &row);
			record_wire_index_row_encode(&row, again);
			assert(memcmp(again, data + RECORD_TABLE_ROWS + i * sizeof(again),
				      sizeof(again)) == 0);
		}
}

static void fields_try(uint8_t *data, size_t size)
{
	static const struct record_header header = {
		.field = {{"a", RECORD_TEXT},
			  {"b", RECORD_INT32},
			  {"c", RECORD_BYTES},
			  {"d", RECORD_INT64}},
		.field_count = 4,
	};
	struct record_value value[RECORD_FIELDS_MAX];
	size_t again_size = 0;

	if (record_wire_fields_decode(&header, data, size, value) != 0)
		return;
	assert(record_wire_fields_size(&header, value, &again_size) == 0 && again_size == size);
	uint8_t *again = malloc(size);
	assert(again);
	record_wire_fields_encode(&header, value, again, size);
	assert(memcmp(again, data, size) == 0);
	free(again);
}

/* Four bytes are the vocabulary, the rest the words. */
static void words_try(uint8_t *data, size_t size)
{
	struct record_header header = {0};

	if (size < 4 + 2 * 4)
		return;
	memcpy(&header.vocabulary, data, sizeof(header.vocabulary));
	header.vocabulary = header.vocabulary % INT32_MAX + 1;
	data += 4;
	size -= 4;
	header.length = (uint32_t)(size / record_words_width(&header)) - 1;
	int32_t *words = calloc((size_t)header.length + 1, sizeof(*words));
	uint8_t *again = malloc(size);
	assert(words && again);
	if (record_words_decode(&header, data, size, words) == 0) {
		for (uint32_t i = 0; i <= header.length; i++)
			assert(words[i] >= 0 && (uint32_t)words[i] < header.vocabulary);
		assert(size == record_words_size(&header));
		assert(record_wire_sample_fits(&header, RECORD_WORDS, size));
		record_words_encode(&header, words, again);
		assert(memcmp(again, data, size) == 0);
	}
	free(words);
	free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const tries[])(uint8_t *, size_t) = {header_try, page_try,   trailer_try,
							   table_try,  fields_try, words_try};

	if (size < 2)
		return 0;
	uint8_t *copy = malloc(size - 1);
	assert(copy);
	memcpy(copy, data + 1, size - 1);
	tries[data[0] % COUNT_OF(tries)](copy, size - 1);
	free(copy);
	return 0;
}
