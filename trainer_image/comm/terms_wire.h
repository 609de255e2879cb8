/* Terms as bytes:
 *
 *     u8   count
 *     each: u8 and so many bytes of the name, u8 and so many bytes of the value; names ascend */
#pragma once

#include <stdint.h>

#include "common/net/wire.h"

#include "trainer_image/comm/terms.h"

enum { TERMS_SIZE_MAX = 1 + TERMS_MAX * (TERM_NAME_SIZE + TERM_VALUE_SIZE) };

/* TERMS_SIZE_MAX bytes are enough. `terms` is not bad. */
void terms_encode(const struct terms *terms, struct wire_writer *writer);
/* Bytes of terms_encode(). */
size_t terms_size(const struct terms *terms);
/* Consumes them. E_MALFORMED: too short, too many, not printable, names that do not ascend. */
MUST_USE int terms_decode(struct wire_reader *reader, struct terms *ret);
