// links: bampi_agent
/* A decoded neighbour has a chassis and a port, all its texts are terminated and printable, and a
 * decoded frame stays decodable when octets follow it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bampi/agent/lldp_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char text[LLDP_TEXT_SIZE])
{
	size_t length = strnlen(text, LLDP_TEXT_SIZE);

	if (length == LLDP_TEXT_SIZE)
		abort();
	for (size_t i = 0; i < length; i++)
		if (text[i] < ' ' || text[i] > '~')
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lldp_neighbor neighbor;
	struct lldp_neighbor again;
	uint8_t longer[2048];

	if (lldp_decode(data, size, &neighbor))
		return 0;
	if (!neighbor.chassis[0] || !neighbor.port[0])
		abort();
	check_text(neighbor.chassis);
	check_text(neighbor.port);
	check_text(neighbor.system);
	if (size + 4 > sizeof(longer))
		return 0;
	memcpy(longer, data, size);
	memset(longer + size, 0, 4);
	if (lldp_decode(longer, size + 4, &again) || strcmp(neighbor.chassis, again.chassis) != 0 ||
	    strcmp(neighbor.port, again.port) != 0)
		abort();
	return 0;
}
