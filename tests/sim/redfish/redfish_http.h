/* Redfish BMCs over HTTP/1.1 or HTTPS: any number of them behind one listening socket, told apart
 * by the address that a connection came to. Keeps what redfish_bmc.h leaves to others: bytes,
 * delays, answers that never come, bodies that end in the middle. */
#pragma once

#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "tests/sim/redfish/redfish_bmc.h"

struct event_base;
struct redfish_http;

struct redfish_http_options {
	/* PEM with a certificate and its key, the same for all BMCs. NULL = plain HTTP. */
	const char *certificate;
	/* Answers a request that came to `local` (IPv4, host order); its strings end with the call.
	 */
	void (*serve)(void *context, uint32_t local, const struct redfish_bmc_request *request,
		      struct redfish_bmc_answer *ret);
	void *context;
};

/* E_INVALID: not a certificate with its key, with a problem. */
MUST_USE int redfish_http_new(struct event_base *base, const struct redfish_http_options *options,
			      struct redfish_http **ret, struct problem *problem);
/* Address 0 = every one that is ours. */
MUST_USE int redfish_http_listen(struct redfish_http *http, uint32_t address, uint16_t port,
				 struct problem *problem);
void redfish_http_free(struct redfish_http *http);
/* "sha256//BASE64" of the public key in a PEM file, as libcurl pins it. */
#define REDFISH_HTTP_PIN_SIZE 53
MUST_USE int redfish_http_pin(const char *certificate, char ret[REDFISH_HTTP_PIN_SIZE],
			      struct problem *problem);
