/* IPv4 addresses and prefixes, in host byte order everywhere outside _wire files. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"

#define IPV4_TEXT_SIZE   16
#define PREFIX_TEXT_SIZE 20

struct ipv4_prefix {
	uint32_t address; /* network address */
	uint8_t length;   /* 0..32 */
};

MUST_USE int ipv4_parse(const char *text, uint32_t *ret);
const char *ipv4_text(uint32_t address, char ret[IPV4_TEXT_SIZE]);
/* "10.2.0.0/24"; host bits must be zero. */
MUST_USE int ipv4_prefix_parse(const char *text, struct ipv4_prefix *ret);
const char *ipv4_prefix_text(struct ipv4_prefix prefix, char ret[PREFIX_TEXT_SIZE]);
uint32_t ipv4_mask(uint8_t length);
bool ipv4_in_prefix(uint32_t address, struct ipv4_prefix prefix);
