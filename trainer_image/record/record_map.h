/* What the verifier and the listing see of a reader besides its face: the bytes, and rows of the tables. */
#pragma once

#include "trainer_image/record/record_wire.h"

/* The whole file. */
const uint8_t *record_map_bytes(const struct record_reader *reader, uint64_t *ret_size);
const struct record_page_row *record_map_page(const struct record_reader *reader, uint32_t page);
/* Bytes of the header: the first page begins there. */
uint64_t record_map_header_size(const struct record_reader *reader);
/* The table of samples; NULL of a prefix. */
const uint8_t *record_map_index(const struct record_reader *reader);
/* record_writer_mark() of the whole file; of a prefix that of its last page. */
uint64_t record_map_mark(const struct record_reader *reader);
/* Of all bytes of a whole file, as its trailer has it: other bytes, another digest. 0 of a prefix. */
uint64_t record_map_digest(const struct record_reader *reader);
/* Counts a fault and tells it; gives `code` back. */
int record_map_fault(struct record_reader *reader, uint32_t page, uint64_t sample, int code,
		     const char *why);
