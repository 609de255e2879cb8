/* The storage's side of the networks that lead to it: which interfaces and portals are to be there,
 * against those that are. One interface per VLAN, called "haas" and its number; nothing else on the
 * machine is touched. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#include "bampi/storage/driver/storage_driver.h"

#define NETWORK_INTERFACE_PREFIX "haas"
#define NETWORK_INTERFACE_SIZE   16

/* One that is to be there. */
struct storage_network {
	int64_t id;
	char name[64];
	int vlan; /* 1..4094 */
	char address[STORAGE_ADDRESS_SIZE];
	int length;                       /* of its prefix */
	char portal[STORAGE_PORTAL_SIZE]; /* "100.96.0.1:3260" */
	bool told_up;                     /* its row says so */
	char told[200];                   /* and what is wrong with it; "" = nothing */
};

/* An interface of the machine, with one of its IPv4 addresses ("" = it has none). */
struct network_interface {
	char name[NETWORK_INTERFACE_SIZE];
	char address[STORAGE_ADDRESS_SIZE];
	int length;
	bool up;
	bool forwards; /* it would pass packets on to other networks */
};

struct network_sight {
	const struct network_interface *interfaces;
	size_t interface_count;
	const struct storage_portal *portals;
	size_t portal_count;
};

enum network_deed {
	NETWORK_UP,     /* make or put right the interface */
	NETWORK_DOWN,   /* take it away */
	NETWORK_LISTEN, /* open the portal */
	NETWORK_DEAF,   /* close the portal */
};

struct network_step {
	enum network_deed deed;
	int vlan;                              /* UP, DOWN */
	const struct storage_network *network; /* UP, LISTEN */
	const struct storage_portal *portal;   /* DEAF */
};

/* VLAN of an interface of ours, or 0. */
int network_interface_vlan(const char *name);
/* Whether it is as it is to be; *ret_why (static text) when not. */
bool network_is_up(const struct storage_network *network, const struct network_sight *sight,
		   const char **ret_why);
/* What is done next, in order; at most `room`. A portal is opened when its interface is right, and
 * closed when its address leads to an interface that goes, or to none. */
size_t network_decide(const struct storage_network networks[], size_t count,
		      const struct network_sight *sight, struct network_step ret[], size_t room);
