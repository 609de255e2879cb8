/* SFLOW-MIB of an agent (sflow.org, "sFlow Version 5", its MIB; enterprise 14706): receivers that
 * are claimed for a time, flow samplers and counter pollers of ports, and Open vSwitch's own sFlow
 * behind it. Written from the MIB's descriptions:
 *
 * A receiver is claimed by an owner and a time-out in one SET. Before that its other columns cannot
 * be set, and no sampler or poller can point to it. When the time has expired or the owner is
 * emptied, the row is reset to factory values. So is every sampler and poller that points to it. A
 * sampler is claimed by its receiver; set to 0 it is reset to factory values. A rate is adjusted to
 * one that the agent supports, and is read back as that.
 *
 * Open vSwitch has one receiver and one rate for a bridge: the first receiver that a port points
 * to, and the smallest rate of its ports. */
#pragma once

#include "tests/sim/switch/switch_mib.h"

enum { SWITCH_SFLOW_RECEIVERS = 2, SWITCH_SFLOW_OWNER = 128 };

struct switch_receiver {
	char owner[SWITCH_SFLOW_OWNER]; /* "" = free */
	int64_t ends_ms;                /* monotonic */
	uint32_t datagram, type, port;
	uint8_t address[16];
	size_t address_size;
};

/* Of one port; receivers are counted from 1. */
struct switch_sampler {
	uint32_t receiver, rate, header;
	uint32_t poll_receiver, interval;
};

struct switch_sflow {
	struct switch_receiver receivers[SWITCH_SFLOW_RECEIVERS];
	struct switch_sampler ports[SWITCH_PORT_MAX + 1];
};

MUST_USE int switch_sflow_new(struct switch_sflow **ret);
/* Lets go of receivers whose time is over. True: the data plane was told. */
bool switch_sflow_expire(struct switch_device *device);
void switch_sflow_show(const struct switch_device *device, struct switch_mib *mib);
/* As switch_like_set, for varbinds below SWITCH_SFLOW_OID. */
enum switch_error switch_sflow_set(struct switch_device *device,
				   const netsnmp_variable_list *const varbinds[], size_t count,
				   bool now);

#define SWITCH_SFLOW_OID 1, 3, 6, 1, 4, 1, 14706, 1, 1
