/* Identifies an LLDP neighbour: one of our switches, and one of its ports. Vendors differ in the
 * port id (802.1AB 8.5.3): a name, a name spelled differently, a MAC, an ifIndex, a number on the
 * front panel. So the answer is a short list of ports, each with a certainty. The neighbour's own
 * LLDP decides between them (link_policy.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#include "peregrine/control/fabric/cable_model.h"

enum { MATCH_MAX = 4 };

struct port_match {
	uint32_t port;
	unsigned certainty;
	const char *how; /* static */
};

/* The texts in a neighbour's LLDP; any may be empty, none NULL. */
struct match_words {
	uint8_t port_subtype; /* 0 = not known */
	const char *chassis, *port, *port_text, *system;
	bool by_name_only; /* `port` is never an ifIndex or a base port, even if it is a number */
};

/* Index of the source with this chassis id. When two share the id, or none has it: the source with
 * this system name. -1 = none of ours or more than one. */
int match_switch(const struct fabric_facts *facts, const struct match_words *words);
/* Ports of one switch that was read, best first; returns how many (0: it has no such port). When
 * several fit equally well, the certainty of each is halved. */
size_t match_ports(const struct fabric_facts *facts, uint32_t source,
		   const struct match_words *words, struct port_match ret[MATCH_MAX]);
/* Do both name the same port in different spelling? "GigabitEthernet1/0/3" and "Gi1/0/3". */
bool match_names(const char *a, const char *b);
