/* How families of switches write option 82: one row each, from manuals and captures (sources in
 * circuit_table.c). A rule names a family, or brings templates of its own. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct circuit_family {
	const char *name;
	const char *circuit;            /* template of the circuit-id */
	const char *remote;             /* template of the remote-id; "" = whatever it is */
	const char *switch_name, *port; /* formats of what it names; "" = a rule must say it */
	int32_t port_offset;            /* from the number on the wire to the one on the box */
	const char *help;
};

extern const struct circuit_family circuit_families[];
extern const size_t circuit_family_count;

/* NULL when there is none of this name. */
const struct circuit_family *circuit_family_find(const char *name);
