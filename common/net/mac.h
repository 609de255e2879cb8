/* Ethernet addresses. Text is lower case with colons; parsing accepts ':', '-', Cisco dots and bare
 * hex. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"

#define MAC_TEXT_SIZE 18

struct mac {
	uint8_t bytes[6];
};

MUST_USE int mac_parse(const char *text, struct mac *ret);
const char *mac_text(struct mac mac, char ret[MAC_TEXT_SIZE]);
bool mac_equal(struct mac a, struct mac b);
bool mac_is_zero(struct mac mac);
/* A key for hash tables: the 48 bits as a number. */
uint64_t mac_key(struct mac mac);
