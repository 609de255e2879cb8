/* The header of a checkpoint file, in front of the bytes of its regions:
 *
 *     u64  magic (as PNG's: a transfer as text, or without the eighth bit, breaks it)
 *     u32  version, u32 size of the header
 *     u64  step, u64 xxh64 of all bytes behind the header
 *          terms of the job (comm/terms_wire.h)
 *     u32  count of regions; each: u8 kind, u8 and so many bytes of the name, u64 bytes, u32 crc32c
 *     u64  xxh64 of the header so far
 *
 * Behind it the regions lie one behind the other, without gaps, as they lie in memory: little endian. The
 * header itself is in network byte order, as all of our files. The file ends behind the last region. */
#pragma once

#include <stdint.h>

#include "common/base/macros.h"

#include "trainer_image/comm/terms.h"

enum {
	CHECKPOINT_VERSION = 1,
	CHECKPOINT_NAME_SIZE = 96,
	CHECKPOINT_REGIONS_MAX = 65536,
	CHECKPOINT_BEGIN = 16, /* bytes that tell the size of the header */
	CHECKPOINT_HEADER_SIZE_MAX = 16 << 20,
};

enum checkpoint_kind {
	CHECKPOINT_WEIGHT,
	CHECKPOINT_OPTIMIZER, /* moments */
	CHECKPOINT_STATISTIC, /* running means and variances of batch norms */
	CHECKPOINT_RANDOM,
	CHECKPOINT_LOADER, /* where the consumer of the loader is */
	CHECKPOINT_SCALE,  /* of the loss */
	CHECKPOINT_LOST,   /* what codecs rounded away (error feedback) */
	CHECKPOINT_OTHER,
	CHECKPOINT_KINDS
};

struct checkpoint_row {
	enum checkpoint_kind kind;
	char name[CHECKPOINT_NAME_SIZE]; /* printable ASCII; once in a kind */
	uint64_t bytes;
	uint32_t crc;
};

struct checkpoint_header {
	uint64_t step;
	uint64_t digest;
	struct terms terms;
	struct checkpoint_row *rows; /* in the order of the file */
	size_t count;
};

/* "weight", "optimizer", ... */
const char *checkpoint_kind_text(enum checkpoint_kind kind);

/* Is it the begin of a checkpoint, whatever its version? */
bool checkpoint_wire_begins(const void *data, size_t size);
/* Bytes of the header, from its first CHECKPOINT_BEGIN. E_MALFORMED; E_UNSUPPORTED: another version. */
MUST_USE int checkpoint_wire_size(const void *data, size_t size, size_t *ret);
/* The caller frees `ret->rows`. E_MALFORMED, E_DIGEST, E_UNSUPPORTED, -ENOMEM. */
MUST_USE int checkpoint_wire_decode(const void *data, size_t size, struct checkpoint_header *ret);
/* Bytes that the header will have. E_INVALID: a name that no file can have, or too many regions. */
MUST_USE int checkpoint_wire_length(const struct checkpoint_header *header, size_t *ret);
/* `ret` holds checkpoint_wire_length() bytes. Allocates nothing. */
void checkpoint_wire_encode(const struct checkpoint_header *header, void *ret, size_t size);
/* Bytes of all regions. */
uint64_t checkpoint_bytes(const struct checkpoint_header *header);
