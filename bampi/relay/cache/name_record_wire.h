/* What the cache remembers of a boot file: a small text file of its own, of which nothing is
 * believed that breaks its form. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/hex.h"
#include "common/base/macros.h"

#define NAME_RECORD_MAX  1024
#define NAME_RECORD_NAME 201 /* SERVED_NAME_MAX and NUL */
#define NAME_RECORD_TAG  128
#define NAME_RECORD_TYPE 64

struct name_record {
	char name[NAME_RECORD_NAME];
	char digest[DIGEST_TEXT_SIZE]; /* of its content */
	uint64_t size;
	char tag[NAME_RECORD_TAG]; /* the controller's ETag */
	char type[NAME_RECORD_TYPE];
};

/* "haas-relay-file 1", then name, digest, size, tag and type, a line each. E_LIMIT; E_MALFORMED: a
 * member that is no line. */
MUST_USE int name_record_encode(const struct name_record *record, char ret[NAME_RECORD_MAX],
				size_t *ret_size);
/* E_MALFORMED. `text` is NUL-terminated. Whether the name may be served is for the caller to say.
 */
MUST_USE int name_record_decode(const char *text, struct name_record *ret);
