#include "trainer_image/record/record_wire.h"

#include <errno.h>
#include <stdlib.h>
#include <xxhash.h>

#include "common/base/error.h"
#include "common/net/wire.h"

#include "trainer_image/record/crc32c.h"
#include "trainer_image/record/record_words_wire.h"

#define RECORD_WIRE_PAGE    0x50414745U           /* "PAGE" */
#define RECORD_WIRE_PAGES   0x50544142U           /* "PTAB" */
#define RECORD_WIRE_INDEX   0x53494458U           /* "SIDX" */
#define RECORD_WIRE_TRAILER 0x48524543454e440aULL /* "HRECEND\n" */

static const enum record_format record_wire_formats[] = {[RECORD_JPEG] = RECORD_JPEG,
							 [RECORD_PIXELS] = RECORD_PIXELS,
							 [RECORD_WORDS] = RECORD_WORDS};

/* ---- Pages ---- */

int record_wire_page_decode(const void *data, size_t size, struct record_page_header *ret)
{
	struct wire_reader reader = wire_reader(data, size);
	struct record_page_header page = {0};

	if (wire_u32(&reader) != RECORD_WIRE_PAGE || size < RECORD_PAGE_HEADER_SIZE)
		return E_MALFORMED;
	if (crc32c(0, data, RECORD_PAGE_HEADER_SIZE - 4) !=
	    wire_at32((const uint8_t *)data + RECORD_PAGE_HEADER_SIZE - 4))
		return E_DIGEST;
	page.number = wire_u32(&reader);
	page.first_sample = wire_u64(&reader);
	page.file = wire_u64(&reader);
	page.mark = wire_u64(&reader);
	page.digest = wire_u64(&reader);
	page.samples = wire_u32(&reader);
	page.used = wire_u32(&reader);
	page.stored = wire_u32(&reader);
	page.entries_crc = wire_u32(&reader);
	if (wire_u32(&reader) != 0 || reader.bad)
		return E_MALFORMED;
	if (page.stored % RECORD_ALIGN != 0 || page.stored > RECORD_PAGE_SIZE_MAX ||
	    page.used > page.stored || page.stored - page.used >= RECORD_ALIGN)
		return E_MALFORMED;
	if (page.samples == 0 || page.used < RECORD_PAGE_HEADER_SIZE ||
	    page.samples > (page.used - RECORD_PAGE_HEADER_SIZE) / RECORD_ENTRY_SIZE ||
	    page.first_sample > UINT64_MAX - page.samples)
		return E_MALFORMED;

	*ret = page;
	return 0;
}

void record_wire_page_encode(const struct record_page_header *page, void *ret)
{
	struct wire_writer writer = wire_writer(ret, RECORD_PAGE_HEADER_SIZE);

	wire_put_u32(&writer, RECORD_WIRE_PAGE);
	wire_put_u32(&writer, page->number);
	wire_put_u64(&writer, page->first_sample);
	wire_put_u64(&writer, page->file);
	wire_put_u64(&writer, page->mark);
	wire_put_u64(&writer, page->digest);
	wire_put_u32(&writer, page->samples);
	wire_put_u32(&writer, page->used);
	wire_put_u32(&writer, page->stored);
	wire_put_u32(&writer, page->entries_crc);
	wire_put_u32(&writer, 0);
	wire_put_u32(&writer, crc32c(0, ret, RECORD_PAGE_HEADER_SIZE - 4));
}

int record_wire_entry_decode(const uint8_t *page, uint32_t used, uint32_t samples, uint32_t index,
			     struct record_entry *ret)
{
	uint32_t begin = used - samples * RECORD_ENTRY_SIZE; /* the page's header promises it */
	struct wire_reader reader =
		wire_reader(page + begin + (size_t)index * RECORD_ENTRY_SIZE, RECORD_ENTRY_SIZE);
	struct record_entry entry = {0};

	entry.offset = wire_u32(&reader);
	entry.length = wire_u32(&reader);
	entry.fields = wire_u32(&reader);
	entry.label = (int32_t)wire_u32(&reader);
	entry.crc = wire_u32(&reader);
	uint8_t format = wire_u8(&reader);
	entry.channels = wire_u8(&reader);
	entry.height = wire_u16(&reader);
	entry.width = wire_u16(&reader);
	if (wire_u16(&reader) != 0 || reader.bad || format >= COUNT_OF(record_wire_formats))
		return E_MALFORMED;
	entry.format = record_wire_formats[format];
	if (entry.offset < RECORD_PAGE_HEADER_SIZE || entry.offset > begin ||
	    entry.length > begin - entry.offset || entry.fields > entry.length)
		return E_MALFORMED;
	if (entry.format == RECORD_PIXELS &&
	    (uint64_t)entry.height * entry.width * entry.channels != entry.length - entry.fields)
		return E_MALFORMED;
	if (entry.format == RECORD_WORDS && (entry.height || entry.width || entry.channels))
		return E_MALFORMED;

	*ret = entry;
	return 0;
}

bool record_wire_sample_fits(const struct record_header *header, enum record_format format,
			     size_t size)
{
	if (header->vocabulary == 0)
		return format != RECORD_WORDS;
	return format == RECORD_WORDS && size == record_words_size(header);
}

void record_wire_entry_encode(const struct record_entry *entry, void *ret)
{
	struct wire_writer writer = wire_writer(ret, RECORD_ENTRY_SIZE);

	wire_put_u32(&writer, entry->offset);
	wire_put_u32(&writer, entry->length);
	wire_put_u32(&writer, entry->fields);
	wire_put_u32(&writer, (uint32_t)entry->label);
	wire_put_u32(&writer, entry->crc);
	wire_put_u8(&writer, (uint8_t)entry->format);
	wire_put_u8(&writer, entry->channels);
	wire_put_u16(&writer, entry->height);
	wire_put_u16(&writer, entry->width);
	wire_put_u16(&writer, 0);
}

/* ---- Tables ---- */

uint64_t record_wire_page_table_size(uint64_t count)
{
	return RECORD_TABLE_FRAME + count * RECORD_PAGE_ROW_SIZE;
}

uint64_t record_wire_index_table_size(uint64_t count)
{
	return RECORD_TABLE_FRAME + count * RECORD_INDEX_ROW_SIZE;
}

static int record_wire_table_check(const void *data, uint64_t size, uint64_t count, uint32_t magic)
{
	const uint8_t *bytes = data;
	struct wire_reader reader = wire_reader(data, size);

	if (wire_u32(&reader) != magic || wire_u32(&reader) != 0 || wire_u64(&reader) != count ||
	    reader.bad)
		return E_MALFORMED;
	struct wire_reader end = wire_reader(bytes + size - 8, 8);
	return wire_u64(&end) == XXH64(bytes, size - 8, 0) ? 0 : E_DIGEST;
}

int record_wire_page_table_check(const void *data, uint64_t size, uint64_t count)
{
	if (size < RECORD_TABLE_FRAME || size != record_wire_page_table_size(count))
		return E_MALFORMED;
	return record_wire_table_check(data, size, count, RECORD_WIRE_PAGES);
}

int record_wire_index_table_check(const void *data, uint64_t size, uint64_t count)
{
	if (size < RECORD_TABLE_FRAME || size != record_wire_index_table_size(count))
		return E_MALFORMED;
	return record_wire_table_check(data, size, count, RECORD_WIRE_INDEX);
}

void record_wire_page_row_decode(const uint8_t *table, uint64_t index, struct record_page_row *ret)
{
	struct wire_reader reader = wire_reader(
		table + RECORD_TABLE_ROWS + index * RECORD_PAGE_ROW_SIZE, RECORD_PAGE_ROW_SIZE);

	ret->offset = wire_u64(&reader);
	ret->first_sample = wire_u64(&reader);
	ret->digest = wire_u64(&reader);
	ret->samples = wire_u32(&reader);
	ret->stored = wire_u32(&reader);
}

void record_wire_index_row_decode(const uint8_t *table, uint64_t index,
				  struct record_index_row *ret)
{
	struct wire_reader reader = wire_reader(
		table + RECORD_TABLE_ROWS + index * RECORD_INDEX_ROW_SIZE, RECORD_INDEX_ROW_SIZE);

	ret->page = wire_u32(&reader);
	ret->offset = wire_u32(&reader);
	ret->length = wire_u32(&reader);
	ret->label = (int32_t)wire_u32(&reader);
	ret->crc = wire_u32(&reader);
}

static void record_wire_table_frame(uint8_t *table, uint64_t count, uint32_t magic, uint64_t size)
{
	struct wire_writer begin = wire_writer(table, RECORD_TABLE_ROWS);

	wire_put_u32(&begin, magic);
	wire_put_u32(&begin, 0);
	wire_put_u64(&begin, count);
	struct wire_writer end = wire_writer(table + size - 8, 8);
	wire_put_u64(&end, XXH64(table, size - 8, 0));
}

void record_wire_page_table_frame(uint8_t *table, uint64_t count)
{
	record_wire_table_frame(table, count, RECORD_WIRE_PAGES,
				record_wire_page_table_size(count));
}

void record_wire_index_table_frame(uint8_t *table, uint64_t count)
{
	record_wire_table_frame(table, count, RECORD_WIRE_INDEX,
				record_wire_index_table_size(count));
}

void record_wire_page_row_encode(const struct record_page_row *row, uint8_t *ret)
{
	struct wire_writer writer = wire_writer(ret, RECORD_PAGE_ROW_SIZE);

	wire_put_u64(&writer, row->offset);
	wire_put_u64(&writer, row->first_sample);
	wire_put_u64(&writer, row->digest);
	wire_put_u32(&writer, row->samples);
	wire_put_u32(&writer, row->stored);
}

void record_wire_index_row_encode(const struct record_index_row *row, uint8_t *ret)
{
	struct wire_writer writer = wire_writer(ret, RECORD_INDEX_ROW_SIZE);

	wire_put_u32(&writer, row->page);
	wire_put_u32(&writer, row->offset);
	wire_put_u32(&writer, row->length);
	wire_put_u32(&writer, (uint32_t)row->label);
	wire_put_u32(&writer, row->crc);
}

/* ---- Trailer ---- */

int record_wire_trailer_decode(const void *data, size_t size, uint64_t file_size,
			       struct record_trailer *ret)
{
	struct wire_reader reader = wire_reader(data, size);
	struct record_trailer trailer = {0};

	if (wire_u64(&reader) != RECORD_WIRE_TRAILER || size != RECORD_TRAILER_SIZE)
		return E_MALFORMED;
	if (crc32c(0, data, RECORD_TRAILER_SIZE - 4) !=
	    wire_at32((const uint8_t *)data + RECORD_TRAILER_SIZE - 4))
		return E_DIGEST;
	uint32_t version = wire_u32(&reader);
	trailer.pages = wire_u32(&reader);
	trailer.samples = wire_u64(&reader);
	trailer.mark = wire_u64(&reader);
	trailer.page_table = wire_u64(&reader);
	trailer.index_table = wire_u64(&reader);
	trailer.file = wire_u64(&reader);
	trailer.digest = wire_u64(&reader);
	trailer.size = wire_u64(&reader);
	if (version != RECORD_VERSION || wire_u32(&reader) != 0 || reader.bad ||
	    trailer.size != file_size || file_size < RECORD_ALIGN + RECORD_TRAILER_SIZE)
		return E_MALFORMED;
	/* The tables fill what is between the pages and the trailer, and their sizes are those of their counts. */
	uint64_t end = file_size - RECORD_TRAILER_SIZE;
	if (trailer.page_table % RECORD_ALIGN != 0 || trailer.page_table < RECORD_ALIGN ||
	    trailer.page_table > trailer.index_table || trailer.index_table > end)
		return E_MALFORMED;
	if (trailer.index_table - trailer.page_table !=
		    record_wire_page_table_size(trailer.pages) ||
	    trailer.samples > end / RECORD_INDEX_ROW_SIZE ||
	    end - trailer.index_table != record_wire_index_table_size(trailer.samples))
		return E_MALFORMED;

	*ret = trailer;
	return 0;
}

void record_wire_trailer_encode(const struct record_trailer *trailer, void *ret)
{
	struct wire_writer writer = wire_writer(ret, RECORD_TRAILER_SIZE);

	wire_put_u64(&writer, RECORD_WIRE_TRAILER);
	wire_put_u32(&writer, RECORD_VERSION);
	wire_put_u32(&writer, trailer->pages);
	wire_put_u64(&writer, trailer->samples);
	wire_put_u64(&writer, trailer->mark);
	wire_put_u64(&writer, trailer->page_table);
	wire_put_u64(&writer, trailer->index_table);
	wire_put_u64(&writer, trailer->file);
	wire_put_u64(&writer, trailer->digest);
	wire_put_u64(&writer, trailer->size);
	wire_put_u32(&writer, 0);
	wire_put_u32(&writer, crc32c(0, ret, RECORD_TRAILER_SIZE - 4));
}
