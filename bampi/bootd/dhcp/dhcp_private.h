/* What dhcp.c (start, packets, metrics), dhcp_facts.c and dhcp_action.c share. */
#pragma once

#include "bampi/bootd/dhcp/binding.h"
#include "bampi/bootd/dhcp/dhcp.h"
#include "bampi/bootd/dhcp/dhcp_counters.h"
#include "bampi/bootd/dhcp/dhcp_policy.h"
#include "bampi/bootd/dhcp/dhcp_report.h"
#include "bampi/bootd/dhcp/dhcp_server.h"
#include "bampi/bootd/dhcp/foreign_server.h"
#include "bampi/bootd/dhcp/throttle.h"

#define EXHAUSTED_MAX 16

struct exhausted_link {
	int64_t subnet_id;
	int64_t until_ms;
};

struct dhcp {
	struct loop *loop;
	struct dhcp_options options;
	struct dhcp_server *server;
	struct bindings bindings;
	struct dhcp_report *report;
	struct foreign_servers *foreign;
	struct loop_timer *sweep;
	struct throttle clients, relays;
	struct exhausted_link exhausted[EXHAUSTED_MAX];
	size_t exhausted_next;
	struct dhcp_counters counters;
	/* Kept here because they are large and one packet is handled at a time. */
	struct dhcp_message request, reply;
};

/* One request on its way through the policies. */
struct handling {
	const struct dhcp_arrival *arrival;
	struct dhcp_client who;
	const char *boot_file;                 /* of the configuration; NULL = none */
	const struct inventory_node *node;     /* NULL = none of ours */
	const struct inventory_subnet *link;   /* names the link; NULL = none of ours */
	const struct inventory_subnet *subnet; /* on the link: of the address */
	struct identity identity;
	struct dhcp_facts facts;
	struct dhcp_decision decision;
};

int64_t dhcp_wall_s(void);

/* dhcp_facts.c: in this order. */

/* Whose message it is and from which link. */
void dhcp_find_client(struct dhcp *dhcp, struct handling *handling);
/* REASON_OK, or why it is dropped before anything is decided. */
enum dhcp_reason dhcp_admit(struct dhcp *dhcp, const struct handling *handling);
/* Who asks, by all that it claims: MAC, UUID, port. */
void dhcp_conclude(struct dhcp *dhcp, struct handling *handling);
/* What the decision needs, the choice of an address among it. */
void dhcp_gather_facts(struct dhcp *dhcp, struct handling *handling);

/* dhcp_action.c */

/* Does what was decided. */
void dhcp_act(struct dhcp *dhcp, struct handling *handling);
/* Port 4011: firmware that has an address asks which file to boot (PXE 2.1, 2.2.5). */
void dhcp_act_pxe(struct dhcp *dhcp, struct handling *handling);
/* lease_store_options.on_commit: the ACK that waited. */
void dhcp_committed(void *context, struct lease *lease, void *waiter, int rc);
