/* Shared by the files that speak to Open vSwitch. */
#pragma once

#include <jansson.h>

#include "tests/sim/switch/switch_ovs.h"
#include "tests/sim/switch/switch_rpc.h"

struct switch_ovs {
	struct switch_rpc database, control;
	char bridge[SWITCH_PORT_NAME];
};

/* switch_ovs_read.c: an integer, or the only one of a set; `none` when there is none. */
json_int_t switch_ovs_integer(json_t *row, const char *column, json_int_t none);
/* Consumes `params` (the words of a "transact"); returns when the data plane has it. */
MUST_USE int switch_ovs_transact(struct switch_ovs *ovs, json_t *params);
/* ovs-vsctl with these words, itself the first, NULL at their end; returns when the data plane has
 * what they say. */
enum { SWITCH_VSCTL_WORDS = 120 };
MUST_USE int switch_ovs_vsctl(const char *const words[SWITCH_VSCTL_WORDS]);
/* Flows that it has cached go: what they did before goes on until its revalidators have been there,
 * which nothing waits for. */
MUST_USE int switch_ovs_purge(struct switch_ovs *ovs);
