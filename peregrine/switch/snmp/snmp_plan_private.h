/* What the writers share: a plan under construction. */
#pragma once

#include "peregrine/switch/snmp/snmp_plan.h"

/* One way of writing. Neither is asked for no edits, or for several kinds. */
struct snmp_plan_writer {
	int (*ports)(struct snmp_facts *facts, const struct switch_edit *edits, size_t count,
		     struct snmp_plan *ret, struct problem *problem);
	int (*vlans)(const struct snmp_facts *facts, const struct switch_edit *edits, size_t count,
		     struct snmp_plan *ret, struct problem *problem);
	bool (*has_vlan)(const struct snmp_facts *facts, unsigned vlan);
};

extern const struct snmp_plan_writer snmp_plan_qbridge, snmp_plan_vtp;

void snmp_plan_put(struct snmp_plan *plan, const struct snmp_oid *root, uint32_t index,
		   const struct snmp_value *value);
void snmp_plan_number(struct snmp_plan *plan, const struct snmp_oid *root, uint32_t index,
		      enum snmp_type type, uint32_t number);
void snmp_plan_octets(struct snmp_plan *plan, const struct snmp_oid *root, uint32_t index,
		      const struct fact_octets *octets);
/* What was put since the last cut is one part, and goes before what is put next. */
void snmp_plan_cut(struct snmp_plan *plan, enum snmp_act act);
/* Keeps octets as long as the plan. NULL: no more room, and the plan has failed. */
const uint8_t *snmp_plan_keep(struct snmp_plan *plan, const void *bytes, size_t size);
/* About how large a SET of all of it would be. */
size_t snmp_plan_bytes(const struct snmp_plan *plan);

/* Borrowed; NULL when there is none of that name. */
/* NULL: there is none, or several ports are called so; snmp_plan_no_port() says which. */
const struct fact_interface *snmp_plan_interface(const struct snmp_facts *facts, const char *name);
int snmp_plan_no_port(const struct snmp_facts *facts, const char *name, struct problem *problem);
