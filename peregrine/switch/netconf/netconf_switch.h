/* The state kept for one switch that is spoken to by NETCONF, shared by the parts of the driver. */
#pragma once

#include "common/base/problem.h"

#include "peregrine/switch/netconf/netconf_config_wire.h"
#include "peregrine/switch/netconf/netconf_dialect.h"
#include "peregrine/switch/netconf/netconf_session.h"
#include "peregrine/switch/switch_call.h"
#include "peregrine/switch/switch_family_table.h"

struct netconf_change;
struct netconf_read;
struct netconf_switch;

typedef void (*netconf_config_fn)(struct netconf_switch *one, int rc,
				  const struct problem *problem);

struct netconf_switch {
	struct switch_call call;
	const struct netconf_dialect *dialect;
	struct netconf_session *session;

	struct netconf_config *config; /* as last read in this call */
	netconf_config_fn looked;
	struct netconf_change *change;
	struct netconf_read *read;
};

/* Runs one operation of the call under way. */
void netconf_switch_run(struct netconf_switch *one, const char *what, const char *operation,
			enum netconf_expect expect, netconf_answer_fn fn, void *context);
/* <get> with a filter. */
void netconf_switch_get(struct netconf_switch *one, const char *what, const char *filter,
			netconf_answer_fn fn, void *context);
/* Reads VLANs and ports into one->config; `looked` comes from the loop, rc 0 or with a problem. */
void netconf_switch_look(struct netconf_switch *one, netconf_config_fn looked);

/* netconf_change.c */
int netconf_change_start(struct netconf_switch *one);
int netconf_save_start(struct netconf_switch *one);
void netconf_change_free(struct netconf_change *change);
/* netconf_read.c */
int netconf_read_start(struct netconf_switch *one);
void netconf_read_free(struct netconf_read *read);
