// links: sim_switch
/* Whatever vswitchd prints: rows that are taken have a VID of 12 bits and a port of 16; printed
 * again they are read again the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "tests/sim/switch/switch_fdb_wire.h"

#define ROOM 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct switch_fdb_row rows[ROOM] = {{0}};
	struct switch_fdb_row again[ROOM] = {{0}};
	struct text text = {0};
	size_t count = 0;
	size_t count_again = 0;
	int rc = switch_fdb_read((const char *)data, size, rows, ROOM, &count);

	if (rc != 0 && rc != E_MALFORMED && rc != E_LIMIT)
		abort();
	if (rc != 0)
		return 0;
	text_add(&text, " port  VLAN  MAC                Age\n");
	for (size_t i = 0; i < count; i++) {
		char mac[MAC_TEXT_SIZE];

		if (rows[i].vid > 4095 || rows[i].port > UINT16_MAX)
			abort();
		text_addf(&text, "%5u  %4u  %s    0\n", rows[i].port, rows[i].vid,
			  mac_text(rows[i].mac, mac));
	}
	if (switch_fdb_read(text_get(&text), text.size, again, ROOM, &count_again) != 0 ||
	    count != count_again)
		abort();
	for (size_t i = 0; i < count; i++) {
		if (rows[i].vid != again[i].vid || rows[i].port != again[i].port ||
		    !mac_equal(rows[i].mac, again[i].mac))
			abort();
	}
	text_done(&text);
	return 0;
}
