/* Names the application of a conversation, by nDPI. Packets per conversation are bounded. The
 * caller bounds the memory: it decides how many conversations there are. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

struct dpi;
struct dpi_flow;

enum { DPI_NAME_SIZE = 48 };

/* From its IP header on. */
struct dpi_packet {
	const void *bytes;
	size_t size;
	int64_t time_us;
};

MUST_USE int dpi_new(struct dpi **ret);
void dpi_free(struct dpi *dpi);

/* Takes one more packet of a conversation. A conversation begins with *flow
 * NULL. The flow is allocated here, and freed here as soon as its name is known or cannot be found.
 * `name` is written when a name is known ("TLS", "HTTP.Google"), and untouched before. `guessed`:
 * the name comes from a port number or an address alone. */
void dpi_look(struct dpi *dpi, struct dpi_flow **flow, const struct dpi_packet *packet,
	      char name[DPI_NAME_SIZE], bool *guessed);
/* What its first packets are guessed to be, when it ends or is asked for before nDPI is sure. NULL
 * is fine. */
void dpi_flow_free(struct dpi_flow *flow);
