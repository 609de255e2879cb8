/* The Internet checksum (RFC 1071). */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Adds `size` bytes to a running sum (start with 0; only the last piece may be odd). */
uint32_t checksum_add(uint32_t sum, const void *bytes, size_t size);
/* Folds and complements; the value to store in network byte order. */
uint16_t checksum_finish(uint32_t sum);
