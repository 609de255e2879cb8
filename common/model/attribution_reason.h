/* Why traffic is nobody's (peregrine/flowd/flow/attribution_policy.h finds out): the reasons of
 * nobody:REASON in a drill path, of stored rows and of metrics. */
#pragma once

enum attribution_reason {
	REASON_NONE,          /* it is attributed */
	REASON_CONTROL,       /* between switches themselves: LLDP, spanning tree, LACP ... */
	REASON_SWITCH_ITSELF, /* it came from the switch's own processor */
	REASON_UNKNOWN_PORT,  /* an ifIndex that no reading of the switch has */
	REASON_PORT_UNBOUND,  /* an edge port that is in no network with that tag */
	REASON_FOREIGN_VLAN,  /* a tag that is none of our networks' */
	REASON_UNTAGGED,      /* on an uplink, no tag, and a MAC that is nowhere */
	REASON_FOLDED,        /* the second had too many flows to keep its addresses */
	ATTRIBUTION_REASON_COUNT
};

/* "" for none; NULL-ended. */
extern const char *const attribution_reason_words[ATTRIBUTION_REASON_COUNT + 1];
