/* CRC-32C (Castagnoli, RFC 3720 B.4): by the processor where it can, else by a table. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Goes on from `crc`; 0 to begin. */
uint32_t crc32c(uint32_t crc, const void *data, size_t size);
/* The same by the table alone: what the other is tested against. */
uint32_t crc32c_table(uint32_t crc, const void *data, size_t size);
