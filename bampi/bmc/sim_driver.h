/* Simulated BMCs: the driver "sim" and the rack it speaks to. They serve rehearsals and tests with
 * hundreds of nodes; nothing above bmc_driver.h knows them. The rack is one shared mapping. With a
 * path it outlives `kill -9` of a daemon, and several processes may share it. A test may turn a
 * node's faults on while the daemon runs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bampi/bmc/bmc_driver.h"

extern const struct bmc_driver sim_driver;

enum sim_fault {
	SIM_FAULT_DEAD = 1 << 0, /* no answer to anything */
	SIM_FAULT_REFUSES_PASSWORD = 1 << 1,
	SIM_FAULT_BUSY = 1 << 2,          /* node busy */
	SIM_FAULT_IGNORES_POWER = 1 << 3, /* takes power commands, does nothing */
	SIM_FAULT_LOSES_ANSWERS = 1 << 4, /* executes, but the answer to a command never arrives */
	SIM_FAULT_DROPS_BOOT_FLAGS = 1 << 5,  /* keeps only the boot device, as ipmi_sim does */
	SIM_FAULT_WRONG_BOOT_DEVICE = 1 << 6, /* shows another device than was set */
};

/* One simulated node; plain data in the mapping. Read and write it between sim_rack_lock and
 * sim_rack_unlock. */
struct sim_node {
	char address[64]; /* of the BMC; with `port` the key. "" = free slot */
	uint32_t port;
	uint32_t faults;         /* bits of enum sim_fault */
	uint32_t latency_ms;     /* of each answer */
	uint32_t power_delay_ms; /* from a power command to its effect */
	uint32_t soft_delay_ms;  /* the same for the ACPI button; 0 = the OS ignores it */
	char password[21];       /* "" = any */
	bool blocks; /* its calls count as holding a thread, as those of a blocking library */
	bool power_on;
	bool power_pending; /* power becomes power_wanted at power_at_ms */
	bool power_wanted;
	int64_t power_at_ms; /* clock_monotonic_ms, which all processes of one node share */
	struct bmc_boot boot;
	bool boot_valid;
	struct bmc_boot booted;                 /* what the last power-on booted */
	uint64_t power_ons, power_offs, resets; /* effects, for tests */
	uint64_t calls;                         /* anything asked, answered or not */
};

struct sim_rack;

struct sim_rack_options {
	const char
		*path;   /* of the shared mapping, created when missing; NULL = only this process */
	size_t capacity; /* nodes; 0 = 4096. An existing mapping keeps its own */
	uint32_t latency_ms;     /* of new nodes */
	uint32_t power_delay_ms; /* of new nodes */
};

MUST_USE int sim_rack_new(const struct sim_rack_options *options, struct sim_rack **ret);
void sim_rack_free(struct sim_rack *rack);
/* The lock is for a few instructions; it holds between processes and between racks of one process.
 */
void sim_rack_lock(struct sim_rack *rack);
void sim_rack_unlock(struct sim_rack *rack);
/* The node at this address, made on first use; NULL when the rack is full. Its power is brought up
 * to date. Lock held; the pointer is valid until sim_rack_free. */
struct sim_node *sim_rack_node(struct sim_rack *rack, const char *address, unsigned port);
/* Slot `index`, or NULL behind the last used one. Lock held. */
struct sim_node *sim_rack_each(struct sim_rack *rack, size_t index);
