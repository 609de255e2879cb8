#include "bampi/bootd/boot/boot_client.h"

#include <string.h>

#include "common/net/forwarded_wire.h"

bool boot_client_is_relay(const struct boot_options *options, uint32_t address)
{
	for (size_t i = 0; i < options->relay_count; i++) {
		if (options->relays[i] == address)
			return true;
	}
	return false;
}

bool boot_client_is_relayed(const struct boot_options *options, const struct http_request *request)
{
	const struct http_peer *peer = http_request_peer(request);

	if (!boot_client_is_relay(options, peer->address))
		return false;
	if (!options->tls)
		return true;
	/* An address can be forged, a certificate cannot. */
	return peer->secure ? strcmp(peer->certified.role, TLS_ROLE_RELAY) == 0
			    : !options->https_only;
}

uint32_t boot_client_address(const struct boot_options *options, const struct http_request *request)
{
	uint32_t client = http_request_peer(request)->address;
	const char *forwarded = http_request_header(request, FORWARDED_FIELD);

	if (!forwarded || !boot_client_is_relayed(options, request))
		return client;
	/* One that we cannot read is for nobody: not for the relay, whose own address it came from.
	 */
	return forwarded_decode(forwarded, &client) ? 0 : client;
}
