/* A fabric in memory: switches for driver "sim", cables between them, and a data plane. The data
 * plane floods frames by VLAN through the configuration of that moment. It has the faults of real
 * switches, for tests and benches; nothing above switch_driver.h knows it. Single-threaded, on the
 * loop. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/io/loop.h"

#include "peregrine/switch/switch_driver.h"

extern const struct switch_driver sim_switch_driver;

struct sim_fabric;

struct sim_port {
	char name[32];
	bool up;
	uint32_t peer_switch, peer_port; /* index; UINT32_MAX = no cable to a switch */
	struct port_vlans vlans;
	struct port_vlans shown; /* in the last reading that was not late */
	struct port_vlans saved;
	char lag[32],
		saved_lag[32]; /* its aggregate, whose VLANs all its members have; "" = none */
};

/* What goes wrong from now on; counters count down to zero. */
struct sim_trouble {
	bool unreachable;      /* no answer to anything */
	uint32_t delay_ms;     /* of each answer */
	bool hold;             /* a change waits until this is false again, or too long */
	bool hold_read;        /* so does a reading */
	uint32_t refuse;       /* so many edits are refused */
	uint32_t half;         /* so many port edits are done by half, then no answer */
	uint32_t silent;       /* so many edits are done, but the answer is lost */
	uint32_t reboot_after; /* after so many edits it reboots: no answer, saved configuration */
	uint32_t reboot_ms;    /* and is away so long */
	uint32_t refuse_save;  /* so many savings fail */
	bool apart_untold;     /* it does not show which ports hear each other */
	bool unproven;         /* of its access ports it does not say whether tags are dropped */
	bool loses_save;       /* says that it saved */
	bool no_ports;         /* it answers, and does not show its ports */
	bool busy;             /* somebody else holds its configuration */
	uint32_t refuse_trunk; /* so many edits that make a trunk are refused */
	uint32_t late;         /* so many readings show ports as the one before them did */
	uint32_t refuse_lag;   /* so many aggregates are not made or unmade */
	uint32_t half_lag;     /* so many are by half, then no answer */
};

struct sim_switch {
	int64_t id;
	char name[64];
	char chassis[64]; /* LLDP's; "" = it tells none */
	struct sim_port *ports;
	uint32_t port_count;
	struct vlan_set vlans, saved_vlans;
	struct sim_trouble trouble;
	int64_t away_until_ms; /* it reboots */
	int64_t up_since_ms;
	uint64_t vlan_changes;
	/* As by SNMP: the mark of its VLANs stays when a port moves, a digest of ports tells. */
	bool tells_members;
	uint64_t calls, edits, reads, saves; /* what it was asked, for tests */
};

MUST_USE int sim_fabric_new(struct loop *loop, struct sim_fabric **ret);
void sim_fabric_free(struct sim_fabric *fabric);

/* `ports` ports p1..pN, all access VLAN 1, up. Returns its index; UINT32_MAX: no memory. */
uint32_t sim_fabric_add(struct sim_fabric *fabric, int64_t id, const char *name, uint32_t ports);
/* Borrowed until the next add. */
struct sim_switch *sim_fabric_switch(struct sim_fabric *fabric, uint32_t index);
uint32_t sim_fabric_count(const struct sim_fabric *fabric);
/* Both ends become trunks with native VLAN 1. */
void sim_fabric_cable(struct sim_fabric *fabric, uint32_t a, uint32_t a_port, uint32_t b,
		      uint32_t b_port);
/* Somebody at the console: no driver is involved. */
void sim_fabric_set(struct sim_fabric *fabric, uint32_t at, uint32_t port,
		    const struct port_vlans *vlans);
/* Saved configuration, away for trouble.reboot_ms. */
void sim_fabric_reboot(struct sim_fabric *fabric, uint32_t at);

/* A broadcast from whoever is behind a port: `arrived` is called for each port without a cable to
 * a switch that it leaves by; tag 0 = untagged. Returns how many copies came back to a switch that
 * had it already (0 without a circle). */
typedef void (*sim_arrived_fn)(void *context, uint32_t at, uint32_t port, unsigned tag);
unsigned sim_fabric_send(struct sim_fabric *fabric, uint32_t at, uint32_t port, unsigned tag,
			 sim_arrived_fn arrived, void *context);
