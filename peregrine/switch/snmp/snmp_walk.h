/* Reads whole columns of tables by GETBULK: the columns of one table side by side in each request,
 * each at its own pace, until each has left its subtree. Bounded in rows; a column
 * that does not go forward is ended. An agent that refuses GETBULK is asked by GETNEXT. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "peregrine/switch/snmp/snmp_client.h"

/* One value, borrowed for the call; `index` is what follows the column's object id. False ends the
 * walk with E_LIMIT. */
typedef bool (*snmp_row_fn)(void *context, size_t column, const uint32_t *index, size_t count,
			    const struct snmp_value *value);
/* rc 0, or E_TIMEOUT, E_AUTHENTICATION, E_PROTOCOL, E_LIMIT of the requests. `why` is a constant,
 * "" for what the requests themselves ended with:
 * a status' text       the agent broke the walk off; rc is the status' code
 * snmp_walk_disordered a row came that belongs before an earlier one: some are missing; E_PROTOCOL
 * snmp_walk_limited    row_limit, or row() wanted no more; E_LIMIT */
extern const char snmp_walk_disordered[], snmp_walk_limited[];
typedef void (*snmp_walked_fn)(void *context, int rc, const char *why);

struct snmp_walk_plan {
	const struct snmp_oid *columns; /* borrowed until the walk ends */
	size_t count;
	uint32_t row_limit; /* values in all */
	uint16_t vlan;      /* as in struct snmp_ask */
	uint8_t tries;      /* as there */
	snmp_row_fn row;
	snmp_walked_fn done; /* from the loop; the walk is freed before it is called */
	void *context;
};

struct snmp_walk;

/* The walk frees itself at its end. -ENOMEM, -EINVAL. */
MUST_USE int snmp_walk_start(struct snmp_peer *peer, const struct snmp_walk_plan *plan,
			     struct snmp_walk **ret);
/* Ends without `done`. NULL is fine. */
void snmp_walk_cancel(struct snmp_walk *walk);
