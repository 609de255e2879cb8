/* From where a request comes: its address, the MAC that our kernel sees there, the port that DHCP
 * named last. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/text.h"
#include "common/http/server.h"
#include "common/io/neighbour.h"
#include "common/net/circuit_rule.h"
#include "common/net/ipv4.h"
#include "common/net/mac.h"

#include "bampi/bootd/boot/boot.h"

struct boot_asker {
	uint32_t address;
	uint32_t relay; /* 0 = it asks us itself */
	bool leased;    /* the address is lent, to this MAC: */
	struct mac owner;
	int64_t leased_s; /* DHCP confirmed it then; wall clock, 0 = not leased */
	bool seen;        /* our kernel has spoken to the address, at this MAC: */
	struct mac mac;
	struct circuit_place place; /* of the owner, by its last DHCP; without a port = not known */
	char connection[48];        /* names the TCP connection; "" = a relay's, which is of many */
};

/* neighbours may be NULL: then no MAC is seen. */
void boot_asker_read(const struct boot_options *options, struct neighbours *neighbours,
		     const struct http_request *request, struct boot_asker *ret);
/* Another machine than the lease's answers at this address. */
bool boot_asker_is_foreign(const struct boot_asker *asker);
/* As an object: {"address", "mac", "place", "relay"}, texts, "" = not known. */
void boot_asker_json(const struct boot_asker *asker, struct text *ret, const char *key);
