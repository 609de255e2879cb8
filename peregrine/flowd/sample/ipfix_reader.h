/* One message of NetFlow 9 or IPFIX into the harvest under way, on the same path as samples: what a
 * record says becomes a flow_key (FLOW_RECORD), its packets and bytes, scaled by the exporter's
 * sampling rate, are added to that flow. No socket, no clock. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "peregrine/flowd/sample/ipfix_book.h"
#include "peregrine/flowd/sample/sample_reader.h"

/* An exporter is the switch whose address its messages come from. `reader` has harvest, sources and
 * directory; `source` is IPv4 mapped. */
void ipfix_reader_take(struct sample_reader *reader, struct ipfix_book *book, const void *data,
		       size_t size, const uint8_t source[16]);
