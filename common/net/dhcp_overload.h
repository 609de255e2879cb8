/* Options that find no room among the others go on in `file` and in `sname` (option overload, RFC
 * 2131 4.1, RFC 2132 9.3). An option stays whole where any area has room for it: not all clients
 * join pieces (RFC 3396). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/net/dhcp_wire.h"
#include "common/net/wire.h"

/* Values of option 52, a bit each. */
enum dhcp_overload { DHCP_OVERLOAD_FILE = 1, DHCP_OVERLOAD_SNAME = 2 };

/* Where an option stands when all have room: type first, boot file late, option 82 last. Others
 * follow `first` by number. */
extern const uint8_t dhcp_options_first[3];
extern const uint8_t dhcp_options_last[2];

/* One option, in pieces where it is long. */
void dhcp_write_option(struct wire_writer *writer, const struct dhcp_message *message,
		       uint8_t code);

/* Whether the field may carry options: it is empty, or the boot file's name stands in option 67
 * too. */
bool dhcp_may_overload(const struct dhcp_message *message, uint8_t overload);
/* Writes all options, with END, to `options` and to the fields that `overload` names; the other
 * field is left alone. False: there is no room. */
MUST_USE bool dhcp_overload(const struct dhcp_message *message, uint8_t overload,
			    struct wire_writer *options, uint8_t file[DHCP_FILE_SIZE],
			    uint8_t sname[DHCP_SNAME_SIZE]);
