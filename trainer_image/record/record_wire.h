/* Bytes of a record file <-> structs; the layout is at the head of record.h. Big endian.
 *
 * What is decoded encodes to the same bytes, and every place in it lies within the file. Each block has
 * a checksum of its own: a changed byte is E_DIGEST or E_MALFORMED, never another value. */
#pragma once

#include "trainer_image/record/record_header_wire.h"

enum {
	RECORD_PAGE_HEADER_SIZE = 64, /* of a page: header, samples, entries, zeros */
	RECORD_ENTRY_SIZE = 28,
	RECORD_PAGE_ROW_SIZE = 32,
	RECORD_INDEX_ROW_SIZE = 20,
	RECORD_TABLE_FRAME = 24, /* of a table: magic, count, digest */
	RECORD_TRAILER_SIZE = 80,
};

struct record_page_header {
	uint32_t number, samples;
	uint64_t first_sample;
	uint64_t file; /* digest of the file's header: a page of another file is none of this one */
	uint64_t mark; /* record_writer_mark() when its last sample was added */
	uint64_t digest; /* xxh64 of all behind the header, to `stored` */
	uint32_t used,
		stored; /* bytes with the header; stored: used, made a multiple of RECORD_ALIGN */
	uint32_t entries_crc; /* crc32c of the entries */
};

struct record_entry {
	uint32_t offset, length; /* within the page: free fields, then the picture or the words */
	uint32_t fields;         /* bytes of the free fields */
	uint32_t crc;            /* crc32c of all `length` bytes */
	int32_t label;
	enum record_format format;
	uint16_t height, width;
	uint8_t channels;
};

struct record_page_row {
	uint64_t offset, first_sample, digest;
	uint32_t samples, stored;
};

struct record_index_row {
	uint32_t page, offset, length, crc;
	int32_t label;
};

struct record_trailer {
	uint32_t pages;
	uint64_t samples, mark;
	uint64_t page_table, index_table; /* where they begin */
	uint64_t file;                    /* as in struct record_page_header */
	uint64_t digest;                  /* xxh64 of all bytes before the trailer */
	uint64_t size;                    /* of the file */
};

/* E_MALFORMED: no page begins here. E_DIGEST: one did. */
MUST_USE int record_wire_page_decode(const void *data, size_t size, struct record_page_header *ret);
void record_wire_page_encode(const struct record_page_header *page, void *ret);
/* Entry `index` of a page whose entries end at `used`. E_MALFORMED: it points out of the page. */
MUST_USE int record_wire_entry_decode(const uint8_t *page, uint32_t used, uint32_t samples,
				      uint32_t index, struct record_entry *ret);
void record_wire_entry_encode(const struct record_entry *entry, void *ret);
/* Is a sample of this format and size one that the header says? */
bool record_wire_sample_fits(const struct record_header *header, enum record_format format,
			     size_t size);

/* Bytes of a table with `count` rows. */
uint64_t record_wire_page_table_size(uint64_t count);
uint64_t record_wire_index_table_size(uint64_t count);
/* The table in `data` has `count` rows; checks its frame and digest. Rows are read by the functions
 * below. E_MALFORMED, E_DIGEST. */
MUST_USE int record_wire_page_table_check(const void *data, uint64_t size, uint64_t count);
MUST_USE int record_wire_index_table_check(const void *data, uint64_t size, uint64_t count);
void record_wire_page_row_decode(const uint8_t *table, uint64_t index, struct record_page_row *ret);
void record_wire_index_row_decode(const uint8_t *table, uint64_t index,
				  struct record_index_row *ret);
/* Rows to a table whose rows are filled by the functions above them: frame and digest. */
void record_wire_page_table_frame(uint8_t *table, uint64_t count);
void record_wire_index_table_frame(uint8_t *table, uint64_t count);
void record_wire_page_row_encode(const struct record_page_row *row, uint8_t *ret);
void record_wire_index_row_encode(const struct record_index_row *row, uint8_t *ret);
/* Where the rows of a table begin. */
enum { RECORD_TABLE_ROWS = 16 };

/* `file_size` is that of the file that the bytes are the end of. E_MALFORMED, E_DIGEST. */
MUST_USE int record_wire_trailer_decode(const void *data, size_t size, uint64_t file_size,
					struct record_trailer *ret);
void record_wire_trailer_encode(const struct record_trailer *trailer, void *ret);
