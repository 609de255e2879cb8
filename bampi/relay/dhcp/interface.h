/* An interface with clients: as the configuration names it, and what the system says of it
 * now. */
#pragma once

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/net/mac.h"

#include "bampi/relay/dhcp/option82_wire.h"
#include "bampi/relay/dhcp/rate.h"

#define INTERFACES_MAX        256
#define INTERFACE_CIRCUIT_MAX 63
#define OWN_ADDRESSES         512

struct interface {
	/* from the configuration */
	char name[IF_NAMESIZE];
	char circuit[INTERFACE_CIRCUIT_MAX +
		     1];         /* the interface's name when nothing else is said */
	uint32_t wanted_address; /* 0 = the first of the interface */
	bool trusted;
	/* from the system */
	int index;        /* 0 = not there */
	uint32_t address; /* 0 = none yet */
	struct mac mac;
	/* made of both */
	struct option82_value option;
	struct rate_bucket bucket;
};

struct interfaces {
	struct interface *list;
	size_t count;
	uint32_t own[OWN_ADDRESSES]; /* every address of this node, for the detection of loops */
	size_t own_count;
	uint32_t upstream_address; /* giaddr instead of the interface's; 0 = the interface's */
	bool server_override;      /* RFC 5107 */
};

/* Words in a string: "eth1", "eth1 circuit=rack7-a address=10.2.0.2 trusted". The problem says what
 * is wrong. */
MUST_USE int interface_parse(const char *spec, struct interface *ret, struct problem *problem);
/* `specs`: NULL-ended. E_LIMIT, E_MALFORMED, E_CONFLICT: an interface twice. */
MUST_USE int interfaces_init(struct interfaces *interfaces, const char *const *specs,
			     struct problem *problem);
void interfaces_done(struct interfaces *interfaces);
/* Asks the system again. -errno. */
MUST_USE int interfaces_refresh(struct interfaces *interfaces);
/* NULL when it is none of ours. */
struct interface *interfaces_by_index(const struct interfaces *interfaces, int index);
bool interfaces_own_address(const struct interfaces *interfaces, uint32_t address);
uint32_t interfaces_giaddr(const struct interfaces *interfaces, const struct interface *interface);
