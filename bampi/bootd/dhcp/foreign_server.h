/* DHCP servers on our links that are not ours: they send nodes to the wrong place. Two things show
 * them: a reply that is heard on the link, and a client of ours that chooses another server. Both
 * become rows (db/schema/address.sql), and those an alert. Nothing is sent. */
#pragma once

#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/db/db.h"
#include "common/io/loop.h"
#include "common/net/mac.h"

#include "bampi/bootd/dhcp/dhcp_server.h"
#include "bampi/bootd/identify/inventory.h"

struct foreign_servers;

struct foreign_servers_options {
	const struct inventory *inventory; /* borrowed, as all of these */
	struct dhcp_server *server;        /* knows which interfaces are ours */
	struct db *db;
	uint32_t server_address; /* of this bootd; 0 = that of each subnet */
};

/* Opens a packet socket: called with privileges. */
MUST_USE int foreign_servers_new(struct loop *loop, const struct foreign_servers_options *options,
				 struct foreign_servers **ret, struct problem *problem);
/* After db_free, which calls back what is in flight. */
void foreign_servers_free(struct foreign_servers *servers);

/* A REQUEST on this link names this server; giaddr 0: no relay. */
void foreign_server_chosen(struct foreign_servers *servers, int interface, uint32_t giaddr,
			   uint32_t server);
/* Replies and choices of other servers so far. */
uint64_t foreign_servers_heard(const struct foreign_servers *servers);
