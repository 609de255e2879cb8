/* Which nodes a PDCI gets, or what could be had instead (why: alloc_reason_policy.h). A pure
 * decision over all nodes as they are now. Its caller takes the nodes in one transaction, which
 * fails when somebody was faster, and asks again. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/model/vocabulary.h"

#include "bampi/control/alloc/alloc_disk_policy.h"

#define ALLOC_GROUPS_MAX 16

enum alloc_spread {
	/* Packed: as few leaf switches as possible, then as few racks. The rest stays in large
	 * pieces for the next request that wants to be near. */
	ALLOC_NEAR,
	/* Over as many racks as possible, evenly, so that one rack's power takes as little as
	   possible. */
	ALLOC_RACK,
	ALLOC_SPREAD_COUNT
};

extern const char *const alloc_spread_words[ALLOC_SPREAD_COUNT + 1];

struct alloc_node {
	int64_t id;
	char name[64], class[64];
	char rack[64]; /* "" = not told: a rack of its own kind, shared by all such nodes */
	char leaf[64]; /* switch that its boot NIC is plugged into; "" = not known */
	enum node_state state;
	enum node_firmware firmware;
	bool dirty, busy; /* busy: a deployment is under way, or a PDCI still has it */
	bool bootable;    /* it has a BMC and a boot NIC */
	bool unseen;      /* neither its BMC nor an agent in it was ever heard */
	bool kept;        /* for a PDCI that waits longer (alloc_queue_policy.h) */
	char label[64];   /* a health label that forbids giving it out; "" = none */
	/* Per group of the request, by its place: can its NICs be what the group asks for? Letters
	 * of node_fits (db/schema); '-' and 0 = yes. */
	char fits[ALLOC_GROUPS_MAX + 1];
	struct alloc_disks disks; /* borrowed */
	/* Why its ports would not be taken into networks, and why its fabric has no numbers for
	 * the request's; "" = they would be, it has. Cut where they are longer. */
	char cable[128], numbers[96];
};

struct alloc_group {
	char class[64];     /* "" = any */
	unsigned count;     /* 1 or more */
	unsigned firmwares; /* bits 1 << enum node_firmware that its image boots under */
	size_t place;       /* in the request; below ALLOC_GROUPS_MAX */
	struct alloc_disks_wanted disks; /* of each node */
};

struct alloc_request {
	const struct alloc_group *groups;
	size_t group_count; /* 1..ALLOC_GROUPS_MAX */
	enum alloc_spread spread;
};

struct alloc_pick {
	size_t node;  /* index into the nodes given */
	size_t group; /* index into the groups given */
};

struct alloc_answer {
	bool feasible;
	struct alloc_pick *picks; /* owned; in order of groups, then names. Not feasible: what could
				     be had, so `got` is the nearest possible request */
	size_t pick_count;
	unsigned got[ALLOC_GROUPS_MAX];
	unsigned racks, leaves; /* that the picks lie in; unknown ones count as one */
};

void alloc_answer_done(struct alloc_answer *answer);

/* -ENOMEM, or -EINVAL for no or too many groups. */
MUST_USE int alloc_choose(const struct alloc_node nodes[], size_t count,
			  const struct alloc_request *request, struct alloc_answer *ret);
