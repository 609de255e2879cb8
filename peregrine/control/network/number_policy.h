/* VLAN numbers of a fabric: the first free one of its range. A returned number rests until its time
 * is over, until no switch shows a port in it, and until none would start with one. Frames of its
 * old owner may still be in tables and in telemetry. A switch that was away or could not save may
 * still carry it, or bring it back when it reboots. */
#pragma once

#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/net/vlan_set.h"

enum number_state { NUMBER_USED, NUMBER_RESTING };

struct number_row {
	uint16_t vlan;
	enum number_state state;
	int64_t network_id; /* NUMBER_USED */
	int64_t until_ms;   /* NUMBER_RESTING, wall clock */
	/* NUMBER_RESTING: a switch that may start with a port in it, borrowed; NULL = none */
	const char *waits;
};

struct number_pool {
	const char *fabric;
	uint16_t low, high, parking;
	const struct number_row *rows;
	size_t row_count;
	/* VLANs of our range with a port in them on some switch, as last read. */
	struct vlan_set seen;
	struct vlan_set tables;   /* VLANs that exist on some switch, with ports or without */
	struct vlan_set reserved; /* that some switch of the fabric cannot carry */
};

/* *ret: the number. E_LIMIT with a problem that says where the range has gone. `taken` (may be
 * NULL): numbers given since `rows` was read. */
MUST_USE int number_assign(const struct number_pool *pool, const struct vlan_set *taken,
			   int64_t now_ms, uint16_t *ret, struct problem *problem);

/* Numbers whose rest is over. */
struct vlan_set number_rested(const struct number_pool *pool, int64_t now_ms);

/* The audit, both ways. `leaked`: on a switch, but nobody's (neither used nor resting).
 * `missing`: of `expected` (VLANs that are applied somewhere) what no switch shows. */
struct number_audit {
	struct vlan_set leaked, missing;
};
struct number_audit number_audit(const struct number_pool *pool, const struct vlan_set *expected);
