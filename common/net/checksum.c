#include "common/net/checksum.h"

/* Carries are folded as they come, so a sum of any number of pieces never overflows. */
uint32_t checksum_add(uint32_t sum, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;

	for (size_t i = 0; i + 1 < size; i += 2) {
		sum += (uint32_t)at[i] << 8 | at[i + 1];
		sum = (sum & 0xffff) + (sum >> 16);
	}
	if (size % 2 != 0)
		sum += (uint32_t)at[size - 1] << 8;
	return (sum & 0xffff) + (sum >> 16);
}

uint16_t checksum_finish(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}
