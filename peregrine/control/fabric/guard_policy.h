/* Blocks ports whose neighbour is not the expected node. A moved cable leaves a port behind that is
 * still in the tenant's network. The next device plugged in there would be in that network.
 * Reasons:
 *
 *   moved    the NIC that was seen there is seen elsewhere, and the port lost its link since
 *   foreign  a NIC of another tenant's node is seen there, or is heard there while plugged in
 *            elsewhere
 *
 * A blocked port counts as free and is parked. It is unblocked when its NIC is back (moved), when
 * the other NIC is gone (foreign), or when the port gets another intent.
 *
 * If a MAC is heard elsewhere while its own port keeps its link, the port where it is heard is
 * blocked, not its own. So a sender with a forged MAC blocks only its own port. */
#pragma once

#include "common/base/macros.h"

#include "peregrine/control/fabric/cable_model.h"

/* A port with attachments; rows are sorted by (switch_id, port). */
struct guard_port {
	int64_t switch_id;
	const char *port;
	int64_t version;      /* port_intent.wanted_version */
	int64_t tenant_id;    /* of its networks; 0 = of the system */
	const char *networks; /* names, for people */
};

enum guard_kind { GUARD_MOVED, GUARD_FOREIGN, GUARD_KIND_COUNT };
extern const char *const guard_kind_words[GUARD_KIND_COUNT];

struct guard_block {
	int64_t switch_id;
	char port[64];
	enum guard_kind kind;
	struct mac mac; /* the NIC that left, or that came */
	int64_t version;
	bool is_new;
	char subject[160]; /* "leaf1:p3" */
	char message[200], hint[200];
};

struct guard_found {
	struct guard_block *items; /* owned: free() */
	size_t count;
	int64_t *
		look; /* owned: free(); switches to read again, because their last reading is too old to decide */
	size_t look_count;
};

/* NULL: the port has no intent. */
const struct guard_port *guard_port_find(const struct guard_port ports[], size_t count,
					 int64_t switch_id, const char *port);

struct guard_facts {
	const struct guard_port *ports;
	size_t port_count;
	const struct guard_block *before; /* as found the last time */
	size_t before_count;
};

/* After place_policy. -ENOMEM. */
MUST_USE int guard_policy_decide(const struct fabric_facts *facts,
				 const struct fabric_conclusion *conclusion,
				 const struct guard_facts *guard, struct guard_found *ret);
