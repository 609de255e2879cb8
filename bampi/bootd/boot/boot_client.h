/* Who asks over HTTP: the peer, or whom a relay of ours asks for. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/http/server.h"

#include "bampi/bootd/boot/boot.h"

/* What a relay sends with HEAD after it has sent a file from its cache: so many bytes, from the
 * start of the file, the client has now. */
#define BOOT_FETCHED_FIELD "Haas-Fetched"

/* Whether the address is a relay's. */
bool boot_client_is_relay(const struct boot_options *options, uint32_t address);
/* Whether the peer is a relay of the configuration; nobody else's word about others counts. */
bool boot_client_is_relayed(const struct boot_options *options, const struct http_request *request);
/* The node's address: the peer's own, or behind a relay what its Forwarded header says. */
uint32_t boot_client_address(const struct boot_options *options,
			     const struct http_request *request);
