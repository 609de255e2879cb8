/* The machine's UUID as DHCP carries it: option 97, type 0 and 16 bytes (RFC 4578 2.3). SMBIOS
 * stores the first three fields little-endian (DSP0134 7.2.1), its text is big-endian, and firmware
 * sends either; so both orders are one UUID here: the smaller one stands for it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#define UUID_SIZE      16
#define UUID_TEXT_SIZE 37

/* Zero bytes are none. */
struct uuid {
	uint8_t bytes[UUID_SIZE];
};

/* False when the option is absent, of another type or size, or one of the values that boards
 * without a number of their own share. */
bool uuid_decode(const void *option, size_t size, struct uuid *ret);
/* "4c4c4544-0031-...", as PostgreSQL writes it. E_MALFORMED. A shared value becomes none. */
MUST_USE int uuid_parse(const char *text, struct uuid *ret);
const char *uuid_text(struct uuid uuid, char ret[UUID_TEXT_SIZE]);
bool uuid_equal(struct uuid a, struct uuid b);
bool uuid_none(struct uuid uuid);
