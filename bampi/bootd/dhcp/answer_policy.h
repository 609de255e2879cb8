/* Which boot options a client gets: the answer matrix, one row per kind of client. Pure. */
#pragma once

#include "common/net/dhcp_wire.h"

#include "bampi/bootd/dhcp/client_policy.h"

struct answer_facts {
	enum client_kind client;
	enum client_family family;
	const char *boot_file; /* of the configuration, for CLIENT_UNSUPPORTED; NULL = none */
	bool secure_boot;      /* the node starts what the site signed, and nothing else */
	bool disk;             /* it is to start its own disk */
	bool node;             /* the MAC is a NIC of a node; others get an address at most */
	struct mac mac;
	uint32_t server; /* our address as this client reaches it */
	uint16_t http_port;
	uint16_t https_port; /* 0 = none */
};

/* Adds siaddr, file and options to a reply. True when the client was told to boot something. */
bool answer_policy(const struct answer_facts *facts, struct dhcp_message *reply);
