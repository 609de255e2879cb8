/* The proof that no two networks meet in one state of a fabric, wanted or observed. It follows
 * frames: a VLAN inside a switch is one domain; an uplink carries it to the domain that the other
 * end puts the frame into, which is another VLAN when their native VLANs differ. Where the answer
 * depends on the make of a switch (a tag equal to the native VLAN), the worse is taken.
 *
 * A proof is about numbers as much as about cables: each finding names the networks and the path on
 * which their frames would meet. */
#pragma once

#include "peregrine/control/network/fabric_model.h"

enum isolation_fault {
	FAULT_ONE_NUMBER,   /* two networks have the same VLAN */
	FAULT_STRANGER,     /* a port of ours is in a network it is not meant for */
	FAULT_TAGS,         /* a port that should be access takes frames with tags */
	FAULT_FOREIGN_PORT, /* a port that is not ours is in one of our networks */
	FAULT_JOINED,       /* two networks are one domain */
	FAULT_FOREIGN_VLAN, /* a network is one domain with a VLAN that is not ours */
	FAULT_PARKING,      /* the parking VLAN leaves a switch */
	FAULT_LOOP,         /* a VLAN of ours runs in a circle */
	ISOLATION_FAULT_COUNT
};

/* "networks_joined"; also the kind of alert. Static. */
const char *isolation_fault_text(enum isolation_fault fault);

struct isolation_finding {
	enum isolation_fault fault;
	uint32_t network, other; /* MODEL_NONE where there is none */
	uint16_t vlan, other_vlan;
	uint32_t port;  /* where it can be put right; MODEL_NONE = no single one */
	char path[320]; /* "leaf1 VLAN 101, up1 - d1, spine1 VLAN 102" */
};

enum { ISOLATION_FINDINGS = 32 };

struct isolation_report {
	size_t count; /* all of them; the first ISOLATION_FINDINGS are in the list */
	struct isolation_finding findings[ISOLATION_FINDINGS];
	struct vlan_set tainted; /* VLANs of ours in any of them, listed or not */
};

/* `state` and `meant` have model->port_count elements. A port of ours (PORT_EDGE) may carry what
 * `meant` says, or what `before` says (what it was shown to have when this change began; may be
 * NULL, as may each of its elements), but never a mixture of both. -ENOMEM. */
MUST_USE int isolation_check(const struct fabric_model *model, const port_state state[],
			     const port_state meant[], const port_state before[],
			     struct isolation_report *ret);

/* Is it the same fault at the same place? To tell what a change would bring from what was there. */
bool isolation_same(const struct isolation_finding *a, const struct isolation_finding *b);
/* As a problem: E_CONFLICT, the networks in the message, the path as detail. */
void isolation_problem(const struct fabric_model *model, const struct isolation_finding *finding,
		       struct problem *ret);
