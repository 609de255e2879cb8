/* How the command lines of the families make an aggregate with LACP (IEEE 802.1AX) of access ports
 * and unmake it: constant rows, after the vendors' command references. A family without a row is
 * refused: `cli_lag_why_not` says why. Who is a member is read by the dialect's rules (FACT_LAG).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "peregrine/switch/cli/cli_dialect.h"

/* Lines, '\n' between them. A line that begins with '?' may be refused, which means nothing: an
 * option that some models do not know. Words in braces:
 *
 *   {number}  of the aggregate
 *   {vlan}    that it and its members are in as access ports
 *   {port}    a member
 *   {from}    the VLAN that the member is in before */
struct cli_lag {
	const struct cli_dialect *dialect;
	const char *name;  /* before its number, as readings of this family show it */
	uint16_t last;     /* the highest number; the first is 1 */
	const char *open;  /* the aggregate, without members: an access port of {vlan} */
	const char *join;  /* one member, which is an access port of {from} */
	const char *close; /* the aggregate, which has no member any more */
	/* One member out of it, which is an access port of {vlan} by the last of the lines. */
	const char *leave;
};

/* NULL: this family's aggregates are made by its operator. */
const struct cli_lag *cli_lag_of(const struct cli_dialect *dialect);
/* Why there is no row, to be read by an operator; never NULL. */
const char *cli_lag_why_not(const struct cli_dialect *dialect);
