/* Who asks, by all that a request claims: its MAC, its UUID, the port that it came through. Where
 * they disagree nobody is guessed: the answer is silence, and an event says what to look at. A UUID
 * that many boards have is no disagreement (docs/decision/shared-uuid.md). Pure; the rows are
 * in identity_policy.c, the first that fits decides. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Nodes by their id; 0 = none. */
struct identity_facts {
	int64_t by_mac;      /* it has a NIC with this MAC */
	int64_t by_uuid;     /* it was declared or seen with this UUID, and no other was */
	bool uuid_shared;    /* several were */
	bool uuid_declared;  /* an operator gave it to one of them */
	int64_t uuid_other;  /* one of them that is not the node by MAC */
	bool uuid_changed;   /* the node by its MAC is known with another UUID than this */
	bool uuid_node_nics; /* NICs are declared for the node by its UUID, and this is none of them
			      */
	bool located;        /* option 82 names the port */
	bool seen_elsewhere; /* the MAC was last seen at another port */
	int64_t port_node;   /* an operator says that it is behind this port */
	bool port_node_nics; /* NICs are declared for it, and this is none of them */
	int64_t last_node;   /* last seen at this port */
	bool last_fresh;     /* so lately, or so surely, that it must be thought there still */
	bool moved_silent;   /* the switch's policy */
	bool swapped_silent;
};

enum identity_outcome {
	IDENTITY_NEW,      /* nobody we know: what strangers get here */
	IDENTITY_KNOWN,    /* this node */
	IDENTITY_SWAPPED,  /* this node by port and UUID, with a NIC that nobody declared */
	IDENTITY_MOVED,    /* this node, at another port than before */
	IDENTITY_CONFLICT, /* two answers: none is given */
};
#define IDENTITY_OUTCOMES 5
const char *identity_outcome_text(enum identity_outcome outcome);

enum identity_reason {
	IDENTITY_STRANGER,
	IDENTITY_BY_MAC,
	IDENTITY_BY_PORT,          /* no NIC is declared for the node of this port: this is it */
	IDENTITY_BY_UUID,          /* the same for the node with this UUID */
	IDENTITY_NEW_BOARD,        /* MAC and port fit, the UUID is another one */
	IDENTITY_NEW_NIC,          /* port and UUID fit, the MAC is not known */
	IDENTITY_NEW_PORT,         /* the MAC fits, the port is another one */
	IDENTITY_UNDECLARED_NIC,   /* the UUID of a node, and nothing that confirms it */
	IDENTITY_UNKNOWN_AT_PORT,  /* a MAC that is not known on the port of a node */
	IDENTITY_PORT_OF_OTHER,    /* MAC or UUID say one node, the port's row another */
	IDENTITY_UUID_OF_OTHER,    /* MAC says one node, the UUID another */
	IDENTITY_UUID_SHARED,      /* two nodes have this UUID, and the MAC is not known */
	IDENTITY_UUID_NO_EVIDENCE, /* another node has this UUID too, but the MAC is known */
	IDENTITY_TWO_AT_PORT,      /* another node was at this port a moment ago */
	IDENTITY_NIC_IN_STRANGER, /* a known NIC at another port, with a UUID that is not its node's
				   */
	IDENTITY_ADDRESS_TAKEN,   /* the port's address is leased to another; found after this */
};
#define IDENTITY_REASONS 16

enum identity_answer {
	IDENTITY_ANSWER_NOTHING,
	IDENTITY_ANSWER_ADDRESS, /* that of the port, or what a stranger gets; nothing to boot */
	IDENTITY_ANSWER_NODE,    /* all that the node gets */
};

struct identity_decision {
	enum identity_outcome outcome;
	enum identity_reason reason;
	enum identity_answer answer;
	int64_t node_id;  /* whom it is about; 0 = nobody */
	int64_t other_id; /* whom it is at odds with; 0 = nobody */
};

struct identity_decision identity_policy(const struct identity_facts *facts);
