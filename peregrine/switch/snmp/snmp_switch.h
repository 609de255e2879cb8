/* The state kept for one switch that is spoken to by SNMP, shared by the parts of the driver. */
#pragma once

#include "common/base/problem.h"

#include "peregrine/switch/snmp/snmp_client.h"
#include "peregrine/switch/snmp/snmp_dialect.h"
#include "peregrine/switch/snmp/snmp_facts.h"
#include "peregrine/switch/snmp/snmp_reader.h"
#include "peregrine/switch/switch_call.h"
#include "peregrine/switch/switch_family_table.h"

struct snmp_change;
struct snmp_saving;
struct snmp_sampling;
struct snmp_health;

struct snmp_switch {
	struct switch_call call;
	const struct snmp_dialect *dialect;
	struct loop *loop;
	struct snmp_client *client;
	struct snmp_peer *peer;
	struct snmp_peer *old_peer; /* of SNMPv1, for one look; NULL = none */

	struct snmp_facts facts;
	struct snmp_reader *reader;
	struct snmp_missing missing; /* of the last reading */
	struct snmp_change *change;
	struct snmp_saving *saving;
	struct snmp_sampling *sampling;
	struct snmp_health *health;

	struct sampling_adjusted adjusted; /* learnt */

	struct snmp_target_map map;
	struct snmp_target targets[TARGET_LIMIT]; /* of the call: the only ports that are read */
	size_t target_count;
	bool whole; /* they were not where they were remembered: all is read */

	uint32_t model; /* learnt: the arc of sysObjectID that the dialect wants; 0 = not yet */
	/* Learnt: dot1qPortAcceptableFrameTypes and IngressFiltering are not writable here. */
	bool fixed_frame_types;
	bool create_and_wait; /* learnt: RowStatus createAndGo is refused */
	bool vm_unsigned;     /* learnt: vmVlan is an Unsigned32 */
	bool by_steps;        /* learnt: a port takes what is of another mode only in that mode */

	/* ifIndex of ports that an edit took down and did not bring up again: the next one does. */
	uint32_t downed[16];
	size_t downed_count;
};

/* Empty facts with what was learnt of the switch. */
void snmp_switch_facts(struct snmp_switch *one);
/* Ends it with an rc of the client and a problem that says what it means. */
void snmp_switch_fail(struct snmp_switch *one, int rc, const char *doing, const char *why);
/* Fills a problem for an rc of the client. Returns rc. */
int snmp_switch_problem(const struct snmp_switch *one, int rc, const char *doing, const char *why,
			struct problem *ret);

/* snmp_version.c: a switch that never answered by v2c may have an agent of SNMPv1 alone. False: no
 * reason to look; else the call ends with what was found. */
bool snmp_switch_look_for_v1(struct snmp_switch *one, int rc);
void snmp_switch_forget_v1(struct snmp_switch *one);

/* Turns a plan that reads whole tables of ports into one that reads the rows of the call's ports,
 * where these are known. */
void snmp_switch_narrow(struct snmp_switch *one, struct snmp_reader_plan *plan);
/* After reading: learns from whole tables. False: the ports are elsewhere now, and what was read is
 * forgotten: start again, whole. */
bool snmp_switch_placed(struct snmp_switch *one);

/* snmp_change.c: SWITCH_CHANGE by the dialect's writer. */
int snmp_change_start(struct snmp_switch *one);
/* Forgets what is under way and frees. NULL is fine. */
void snmp_change_cancel(struct snmp_change *change);
/* snmp_save.c: SWITCH_SAVE. */
int snmp_save_start(struct snmp_switch *one);
void snmp_save_cancel(struct snmp_saving *saving);
/* snmp_sampling.c: SWITCH_SAMPLING by SFLOW-MIB. */
int snmp_sampling_start(struct snmp_switch *one);
void snmp_sampling_cancel(struct snmp_sampling *sampling);
/* snmp_health.c: SWITCH_HEALTH. */
int snmp_health_start(struct snmp_switch *one);
void snmp_health_cancel(struct snmp_health *state);
