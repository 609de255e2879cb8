/* A file of metrics: a header with the names of the columns, and frames behind it.
 *
 *     header  u64  magic, u32 version, u32 size of the header
 *             u8   count of columns; each: u8 and so many bytes of the name
 *             u64  xxh64 of the header so far
 *     frame   u32  size of the frame, u32 crc32c of all behind it
 *             u8   kind, u64 step, u64 wall clock in microseconds
 *             STEP: a u64 for each column, the bits of a double */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

enum {
	METRICS_VERSION = 1,
	METRICS_COLUMNS_MAX = 64,
	METRICS_NAME_SIZE = 32,
	METRICS_BEGIN = 16, /* bytes that tell the size of the header */
	METRICS_HEADER_SIZE_MAX = METRICS_BEGIN + 1 + METRICS_COLUMNS_MAX * METRICS_NAME_SIZE + 8,
	METRICS_FRAME_SIZE_MAX = 8 + 17 + METRICS_COLUMNS_MAX * 8,
};

struct metrics_columns {
	char name[METRICS_COLUMNS_MAX][METRICS_NAME_SIZE]; /* a-z, 0-9, "_"; each once */
	size_t count;
};

enum metrics_kind {
	METRICS_STEP,
	METRICS_RESUME, /* training went on behind `step`: frames of later steps before this one are void */
	METRICS_KINDS
};

struct metrics_frame {
	enum metrics_kind kind;
	uint64_t step;
	int64_t wall_us;
	double value[METRICS_COLUMNS_MAX]; /* STEP: of each column */
};

/* Is it the begin of a file of metrics, whatever its version? */
bool metrics_wire_begins(const void *data, size_t size);
/* The size of the header in `ret_size`. E_MALFORMED, E_DIGEST; E_UNSUPPORTED: another version. */
MUST_USE int metrics_header_decode(const void *data, size_t size, struct metrics_columns *ret,
				   size_t *ret_size);
/* Bytes written. E_INVALID: names that no file can have. */
MUST_USE int metrics_header_encode(const struct metrics_columns *columns,
				   uint8_t ret[METRICS_HEADER_SIZE_MAX], size_t *ret_size);
/* The frame that begins at `data`, its size in `ret_size`. E_MALFORMED: there is none, or a part of one;
 * E_DIGEST. */
MUST_USE int metrics_frame_decode(const void *data, size_t size, size_t columns,
				  struct metrics_frame *ret, size_t *ret_size);
/* Bytes written. */
size_t metrics_frame_encode(const struct metrics_frame *frame, size_t columns,
			    uint8_t ret[METRICS_FRAME_SIZE_MAX]);
