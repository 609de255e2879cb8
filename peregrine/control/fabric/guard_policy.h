/* Who is behind a port that belongs to a network. A cable that is moved leaves a port behind that
 * is still in the tenant's network. Whatever is plugged in next would be in it:
 *
 *   moved    the NIC that was seen there is seen elsewhere, and the port lost its link since
 *   foreign  a NIC of another tenant's node is seen there, or is heard there while it is elsewhere
 *
 * Such a port is blocked: it counts as free, and is parked. It is free again when its NIC is back
 * (moved), the other one is gone (foreign), or somebody states another intent for it.
 *
 * A MAC that is heard elsewhere, while the port keeps its link, blocks the port where it is heard
 * and not its own. Anybody can send under any MAC, and harms himself alone by it. */
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
	int64_t *look; /* owned: free(); switches whose last reading is too old to tell */
	size_t look_count;
};

/* NULL: nothing is meant for that port. */
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
