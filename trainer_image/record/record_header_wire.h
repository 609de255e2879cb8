/* The header of a record file, and the free fields of a sample, whose types stand in the header. */
#pragma once

#include "trainer_image/record/record.h"

enum {
	RECORD_VERSION = 1,
	RECORD_HEADER_SIZE_MAX = 32 << 20,
	RECORD_HEADER_BEGIN = 16, /* bytes that tell the size of the header */
	RECORD_TEXT_MAX = 65536,
	RECORD_BYTES_MAX = 16 << 20,
};

/* Bytes of the header, from its first RECORD_HEADER_BEGIN. E_MALFORMED; E_UNSUPPORTED: another version. */
MUST_USE int record_wire_header_size(const void *data, size_t size, size_t *ret);
/* The caller frees by record_header_done(). E_MALFORMED, E_DIGEST, E_UNSUPPORTED, -ENOMEM. */
MUST_USE int record_wire_header_decode(const void *data, size_t size, struct record_header *ret,
				       uint64_t *ret_digest);
/* E_INVALID: a header that no file can have. The caller frees `ret`. */
MUST_USE int record_wire_header_encode(const struct record_header *header, uint8_t **ret,
				       size_t *ret_size, uint64_t *ret_digest);
MUST_USE int record_header_copy(const struct record_header *header, struct record_header *ret);
void record_header_done(struct record_header *header);

/* Bytes of the free fields. E_INVALID: a value that its type does not hold; E_LIMIT. */
MUST_USE int record_wire_fields_size(const struct record_header *header,
				     const struct record_value value[], size_t *ret);
void record_wire_fields_encode(const struct record_header *header,
			       const struct record_value value[], void *ret, size_t room);
MUST_USE int record_wire_fields_decode(const struct record_header *header, const void *data,
				       size_t size, struct record_value ret[RECORD_FIELDS_MAX]);
