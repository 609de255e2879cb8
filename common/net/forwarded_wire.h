/* The Forwarded header of HTTP (RFC 7239): for whom a relay asks. */
#pragma once

#include <stdint.h>

#include "common/base/macros.h"

#define FORWARDED_FIELD     "Forwarded"
#define FORWARDED_TEXT_SIZE 24

/* "for=10.2.0.7"; returns ret. */
const char *forwarded_encode(uint32_t client, char ret[FORWARDED_TEXT_SIZE]);
/* The IPv4 address that the last element was sent for: that element is the work of who speaks to
 * us. A port is ignored. E_MALFORMED: anything else, names and IPv6 included. */
MUST_USE int forwarded_decode(const char *value, uint32_t *ret_client);
